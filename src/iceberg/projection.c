/* iceberg/projection.c - predicates on rows as predicates on partition values.
 *
 * Inclusive: holds for the partition of every row that matches. Strict: where it holds, all rows match. For a monotone
 * transform f, x < v implies f(x) <= f(v-1) on discrete sources, and f(x) < f(v) implies x < v. Source: Iceberg spec,
 * "Scan Planning"; Java's Projections and ProjectionUtil.
 */
#include "iceberg/expression.h"

typedef struct projection {
    nl_arena *arena;
    const nl_schema *schema;
    const nl_partition_spec *spec;
    bool is_strict;
} projection;

static bool is_time(const nl_transform *transform)
{
    return transform->kind == NL_TRANSFORM_YEAR || transform->kind == NL_TRANSFORM_MONTH || transform->kind == NL_TRANSFORM_DAY ||
           transform->kind == NL_TRANSFORM_HOUR;
}

/* v + step in the source's smallest unit. False where there is none (text, binary) or at the end of the range. */
static bool neighbour(const nl_value *value, int step, nl_value *out)
{
    *out = *value;
    if (value->type->id == NL_TYPE_DECIMAL) {
        out->decimal = value->decimal + step;
        return nl_decimal_fits(out->decimal, NL_DECIMAL_PRECISION_MAX);
    }
    if (value->type->physical == NL_PHYS_I32 || value->type->physical == NL_PHYS_I64)
        return !__builtin_add_overflow(value->integer, (int64_t)step, &out->integer);
    return false;
}

static const nl_predicate *partition_leaf(projection *self, const nl_partition_field *field, nl_predicate_kind kind, const nl_value *values,
                                          uint32_t value_count)
{
    return nl_predicate_leaf(self->arena, kind, field->field_id, values, value_count);
}

static nl_status apply(projection *self, const nl_partition_field *field, const nl_ice_type *source, const nl_value *in, nl_value *out)
{
    return nl_transform_value(&field->transform, source, in, self->arena, out);
}

/* Old Java versions rounded times before 1970 towards zero: one unit too high. Inclusive bounds make room for them. */
static void widen_old_times(const nl_partition_field *field, nl_predicate_kind kind, nl_value *value)
{
    if (is_time(&field->transform) && kind == NL_PREDICATE_LTE && value->integer < 0) value->integer++;
}

/* truncate of the integers next to the smallest one wraps round to the greatest, as in Java: there it is not monotone.
 * *limit: partition values above it may hold such rows. False where nothing wraps. */
static bool wraps_above(const nl_partition_field *field, const nl_ice_type *source, nl_value *limit)
{
    if (field->transform.kind != NL_TRANSFORM_TRUNCATE || (source->id != NL_ICE_INT && source->id != NL_ICE_LONG)) return false;
    limit->integer = (source->id == NL_ICE_INT ? INT32_MAX : INT64_MAX) - field->transform.width;
    return true;
}

/* A comparison with one bound through a monotone transform. *projected NULL: nothing can be said. */
static nl_status project_bound(projection *self, const nl_partition_field *field, const nl_ice_type *source, const nl_predicate *leaf,
                               const nl_predicate **projected)
{
    const bool is_upper = leaf->kind == NL_PREDICATE_LT || leaf->kind == NL_PREDICATE_LTE;
    const bool is_open = leaf->kind == NL_PREDICATE_LT || leaf->kind == NL_PREDICATE_GT;
    nl_value bound = leaf->values[0], result;
    /* Inclusive moves open bounds inwards; strict moves closed bounds outwards. Text has no neighbours: the bound stays. */
    const bool moves = self->is_strict ? !is_open : is_open;
    if (moves) {
        const int step = (is_upper ? -1 : 1) * (self->is_strict ? -1 : 1);
        nl_value moved;
        if (neighbour(&bound, step, &moved))
            bound = moved;
        else if (bound.type->physical != NL_PHYS_STRING)
            return NULL;
    }
    NL_TRY(apply(self, field, source, &bound, &result));
    nl_predicate_kind kind;
    if (self->is_strict)
        kind = is_upper ? NL_PREDICATE_LT : NL_PREDICATE_GT;
    else
        kind = is_upper ? NL_PREDICATE_LTE : NL_PREDICATE_GTE;
    if (!self->is_strict) widen_old_times(field, kind, &result);
    *projected = partition_leaf(self, field, kind, &result, 1);
    nl_value limit = result;
    if (!wraps_above(field, source, &limit)) return NULL;
    if (result.integer > bound.integer) *projected = NULL; /* the bound itself wraps */
    else if (!self->is_strict && is_upper)
        *projected = nl_predicate_or(self->arena, *projected, partition_leaf(self, field, NL_PREDICATE_GT, &limit, 1));
    else if (self->is_strict && !is_upper)
        *projected = nl_predicate_and(self->arena, *projected, partition_leaf(self, field, NL_PREDICATE_LTE, &limit, 1));
    return NULL;
}

static nl_status project_values(projection *self, const nl_partition_field *field, const nl_ice_type *source, const nl_predicate *leaf,
                                const nl_predicate **projected)
{
    const bool is_negative = leaf->kind == NL_PREDICATE_NEQ || leaf->kind == NL_PREDICATE_NOT_IN;
    if (is_negative != self->is_strict) return NULL;
    nl_value *results = NL_NEW_ARRAY(self->arena, nl_value, leaf->value_count * 2);
    uint32_t count = 0;
    for (uint32_t i = 0; i < leaf->value_count; i++) {
        NL_TRY(apply(self, field, source, &leaf->values[i], &results[count]));
        count++;
        if (is_time(&field->transform) && !self->is_strict && results[count - 1].integer < 0) { /* see widen_old_times */
            results[count] = results[count - 1];
            results[count++].integer++;
        }
    }
    const nl_predicate_kind one = is_negative ? NL_PREDICATE_NEQ : NL_PREDICATE_EQ;
    const nl_predicate_kind many = is_negative ? NL_PREDICATE_NOT_IN : NL_PREDICATE_IN;
    *projected = partition_leaf(self, field, count == 1 ? one : many, results, count);
    return NULL;
}

/* truncate on text: a prefix of the prefix. */
static nl_status project_prefix(projection *self, const nl_partition_field *field, const nl_ice_type *source, const nl_predicate *leaf,
                                const nl_predicate **projected)
{
    if (field->transform.kind != NL_TRANSFORM_TRUNCATE) return NULL;
    const size_t characters = nl_utf8_length(leaf->values[0].text);
    const size_t width = (size_t)field->transform.width;
    nl_value prefix;
    NL_TRY(apply(self, field, source, &leaf->values[0], &prefix));
    const bool is_negative = leaf->kind == NL_PREDICATE_NOT_STARTS_WITH;
    if (characters == width) {
        *projected = partition_leaf(self, field, is_negative ? NL_PREDICATE_NEQ : NL_PREDICATE_EQ, &prefix, 1);
    } else if (characters < width) {
        *projected = partition_leaf(self, field, leaf->kind, &prefix, 1);
    } else if (!is_negative && !self->is_strict) {
        *projected = partition_leaf(self, field, NL_PREDICATE_EQ, &prefix, 1);
    } else if (is_negative && self->is_strict) {
        *projected = partition_leaf(self, field, NL_PREDICATE_NEQ, &prefix, 1);
    }
    return NULL;
}

static nl_status project_field(projection *self, const nl_partition_field *field, const nl_ice_type *source, const nl_predicate *leaf,
                               const nl_predicate **projected)
{
    *projected = NULL;
    const nl_transform *transform = &field->transform;
    if (transform->kind == NL_TRANSFORM_VOID || transform->kind == NL_TRANSFORM_UNKNOWN || field->source_count > 1) return NULL;
    if (leaf->transform.kind != NL_TRANSFORM_IDENTITY) { /* bucket(4, c) = 2 where the table is partitioned by just that */
        if (nl_transform_equal(&leaf->transform, transform)) *projected = partition_leaf(self, field, leaf->kind, leaf->values, leaf->value_count);
        return NULL;
    }
    if (transform->kind == NL_TRANSFORM_IDENTITY || leaf->kind == NL_PREDICATE_IS_NULL || leaf->kind == NL_PREDICATE_NOT_NULL) {
        *projected = partition_leaf(self, field, leaf->kind, leaf->values, leaf->value_count);
        return NULL;
    }
    switch (leaf->kind) {
    case NL_PREDICATE_LT:
    case NL_PREDICATE_LTE:
    case NL_PREDICATE_GT:
    case NL_PREDICATE_GTE:
        return transform->kind == NL_TRANSFORM_BUCKET ? NULL : project_bound(self, field, source, leaf, projected);
    case NL_PREDICATE_EQ:
    case NL_PREDICATE_NEQ:
    case NL_PREDICATE_IN:
    case NL_PREDICATE_NOT_IN: return project_values(self, field, source, leaf, projected);
    case NL_PREDICATE_STARTS_WITH:
    case NL_PREDICATE_NOT_STARTS_WITH: return project_prefix(self, field, source, leaf, projected);
    case NL_PREDICATE_TRUE:
    case NL_PREDICATE_FALSE:
    case NL_PREDICATE_AND:
    case NL_PREDICATE_OR:
    case NL_PREDICATE_NOT:
    case NL_PREDICATE_IS_NULL:
    case NL_PREDICATE_NOT_NULL:
    case NL_PREDICATE_IS_NAN:
    case NL_PREDICATE_NOT_NAN: break;
    }
    return NULL;
}

/* Several partition fields may come from one column: each inclusive projection holds, any strict one suffices. */
static nl_status project_leaf(projection *self, const nl_predicate *leaf, const nl_predicate **result)
{
    const nl_schema_column *column = nl_schema_find_id(self->schema, leaf->field_id);
    const nl_predicate *combined = self->is_strict ? nl_predicate_false() : nl_predicate_true();
    for (uint32_t i = 0; column && i < self->spec->field_count; i++) {
        if (self->spec->fields[i].source_id != leaf->field_id) continue;
        const nl_predicate *projected;
        NL_TRY(project_field(self, &self->spec->fields[i], column->field->type, leaf, &projected));
        if (!projected) continue;
        combined = self->is_strict ? nl_predicate_or(self->arena, combined, projected) : nl_predicate_and(self->arena, combined, projected);
    }
    *result = combined;
    return NULL;
}

static nl_status project(projection *self, const nl_predicate *predicate, const nl_predicate **result)
{
    const bool is_and = predicate->kind == NL_PREDICATE_AND;
    if (predicate->kind == NL_PREDICATE_NOT) return project(self, nl_predicate_not(self->arena, predicate->children[0]), result);
    if (predicate->kind == NL_PREDICATE_TRUE || predicate->kind == NL_PREDICATE_FALSE) {
        *result = predicate;
        return NULL;
    }
    if (!is_and && predicate->kind != NL_PREDICATE_OR) return project_leaf(self, predicate, result);
    const nl_predicate *combined = is_and ? nl_predicate_true() : nl_predicate_false();
    for (uint32_t i = 0; i < predicate->child_count; i++) {
        const nl_predicate *child;
        NL_TRY(project(self, predicate->children[i], &child));
        combined = is_and ? nl_predicate_and(self->arena, combined, child) : nl_predicate_or(self->arena, combined, child);
    }
    *result = combined;
    return NULL;
}

nl_status nl_predicate_project_inclusive(nl_arena *arena, const nl_predicate *predicate, const nl_schema *schema, const nl_partition_spec *spec,
                                         const nl_predicate **projected)
{
    projection self = {.arena = arena, .schema = schema, .spec = spec, .is_strict = false};
    return project(&self, predicate, projected);
}

nl_status nl_predicate_project_strict(nl_arena *arena, const nl_predicate *predicate, const nl_schema *schema, const nl_partition_spec *spec,
                                      const nl_predicate **projected)
{
    projection self = {.arena = arena, .schema = schema, .spec = spec, .is_strict = true};
    return project(&self, predicate, projected);
}
