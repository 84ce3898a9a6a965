/* iceberg/evaluate.c - predicates against what is known of a partition, a manifest or a file.
 *
 * "May match" errs towards true, "all match" towards false. A predicate with NOT is pushed down before it comes here
 * (nl_predicate_not does so). Source: Java's Evaluator, ManifestEvaluator, InclusiveMetricsEvaluator and
 * StrictMetricsEvaluator.
 */
#include "iceberg/expression.h"

static bool is_nan_value(const nl_value *value)
{
    return (value->type->id == NL_TYPE_FLOAT || value->type->id == NL_TYPE_DOUBLE) && value->real != value->real;
}

static bool has_prefix(const nl_value *value, const nl_value *prefix)
{
    return nl_str_starts(value->text, prefix->text);
}

static bool is_among(const nl_predicate *leaf, const nl_value *value)
{
    for (uint32_t i = 0; i < leaf->value_count; i++)
        if (nl_value_compare(&leaf->values[i], value) == 0) return true;
    return false;
}

/* ---- one value ------------------------------------------------------------------------------------------------- */

static bool value_matches(const nl_predicate *leaf, const nl_value *value)
{
    const bool is_null = value->is_null;
    switch (leaf->kind) {
    case NL_PREDICATE_IS_NULL: return is_null;
    case NL_PREDICATE_NOT_NULL: return !is_null;
    case NL_PREDICATE_IS_NAN: return !is_null && is_nan_value(value);
    case NL_PREDICATE_NOT_NAN: return is_null || !is_nan_value(value);
    case NL_PREDICATE_LT: return !is_null && nl_value_compare(value, &leaf->values[0]) < 0;
    case NL_PREDICATE_LTE: return !is_null && nl_value_compare(value, &leaf->values[0]) <= 0;
    case NL_PREDICATE_GT: return !is_null && nl_value_compare(value, &leaf->values[0]) > 0;
    case NL_PREDICATE_GTE: return !is_null && nl_value_compare(value, &leaf->values[0]) >= 0;
    case NL_PREDICATE_EQ: return !is_null && nl_value_compare(value, &leaf->values[0]) == 0;
    case NL_PREDICATE_NEQ: return is_null || nl_value_compare(value, &leaf->values[0]) != 0;
    case NL_PREDICATE_IN: return !is_null && is_among(leaf, value);
    case NL_PREDICATE_NOT_IN: return is_null || !is_among(leaf, value);
    case NL_PREDICATE_STARTS_WITH: return !is_null && has_prefix(value, &leaf->values[0]);
    case NL_PREDICATE_NOT_STARTS_WITH: return is_null || !has_prefix(value, &leaf->values[0]);
    case NL_PREDICATE_TRUE: return true;
    case NL_PREDICATE_FALSE:
    case NL_PREDICATE_AND:
    case NL_PREDICATE_OR:
    case NL_PREDICATE_NOT: break;
    }
    return false;
}

static int32_t field_position(const nl_partition_spec *spec, int32_t field_id)
{
    for (uint32_t i = 0; i < spec->field_count; i++)
        if (spec->fields[i].field_id == field_id) return (int32_t)i;
    return NL_NONE;
}

bool nl_predicate_matches_partition(const nl_predicate *projected, const nl_partition_spec *spec, const nl_value *partition)
{
    if (projected->kind == NL_PREDICATE_AND || projected->kind == NL_PREDICATE_OR) {
        const bool stops_at = projected->kind == NL_PREDICATE_OR;
        for (uint32_t i = 0; i < projected->child_count; i++)
            if (nl_predicate_matches_partition(projected->children[i], spec, partition) == stops_at) return stops_at;
        return !stops_at;
    }
    if (projected->kind == NL_PREDICATE_TRUE || projected->kind == NL_PREDICATE_FALSE) return projected->kind == NL_PREDICATE_TRUE;
    const int32_t position = field_position(spec, projected->field_id);
    return position >= 0 && value_matches(projected, &partition[position]);
}

/* ---- bounds and counts ----------------------------------------------------------------------------------------- */

/* Of one column in one file, or of a partition field in one manifest. */
typedef nl_column_facts column_facts;

static bool prefix_may_match(const nl_predicate *leaf, const column_facts *facts)
{
    const nl_str prefix = leaf->values[0].text;
    if (facts->has_lower && nl_str_compare(nl_str_slice(facts->lower.text, 0, prefix.length), prefix) > 0) return false;
    if (facts->has_upper && nl_str_compare(nl_str_slice(facts->upper.text, 0, prefix.length), prefix) < 0) return false;
    return true;
}

static bool not_prefix_may_match(const nl_predicate *leaf, const column_facts *facts)
{
    if (facts->may_have_null || !facts->has_lower || !facts->has_upper) return true;
    return !(has_prefix(&facts->lower, &leaf->values[0]) && has_prefix(&facts->upper, &leaf->values[0]));
}

static bool any_inside(const nl_predicate *leaf, const column_facts *facts)
{
    for (uint32_t i = 0; i < leaf->value_count; i++) {
        const bool is_below = facts->has_lower && nl_value_compare(&leaf->values[i], &facts->lower) < 0;
        const bool is_above = facts->has_upper && nl_value_compare(&leaf->values[i], &facts->upper) > 0;
        if (!is_below && !is_above) return true;
    }
    return false;
}

static bool facts_may_match(const nl_predicate *leaf, const column_facts *facts)
{
    const bool has_no_values = facts->has_only_null || facts->has_only_nan;
    switch (leaf->kind) {
    case NL_PREDICATE_IS_NULL: return facts->may_have_null;
    case NL_PREDICATE_NOT_NULL: return !facts->has_only_null;
    case NL_PREDICATE_IS_NAN: return facts->may_have_nan && !facts->has_only_null;
    case NL_PREDICATE_NOT_NAN: return !facts->has_only_nan;
    case NL_PREDICATE_LT: return !has_no_values && !(facts->has_lower && nl_value_compare(&facts->lower, &leaf->values[0]) >= 0);
    case NL_PREDICATE_LTE: return !has_no_values && !(facts->has_lower && nl_value_compare(&facts->lower, &leaf->values[0]) > 0);
    case NL_PREDICATE_GT: /* NaN is greater than all */
        return !facts->has_only_null && (facts->may_have_nan || !(facts->has_upper && nl_value_compare(&facts->upper, &leaf->values[0]) <= 0));
    case NL_PREDICATE_GTE:
        return !facts->has_only_null && (facts->may_have_nan || !(facts->has_upper && nl_value_compare(&facts->upper, &leaf->values[0]) < 0));
    case NL_PREDICATE_EQ:
    case NL_PREDICATE_IN:
        if (facts->has_only_null) return false;
        return (facts->may_have_nan && leaf->value_count > 0 && is_nan_value(&leaf->values[0])) || (!has_no_values && any_inside(leaf, facts));
    case NL_PREDICATE_STARTS_WITH: return !has_no_values && prefix_may_match(leaf, facts);
    case NL_PREDICATE_NOT_STARTS_WITH: return not_prefix_may_match(leaf, facts);
    case NL_PREDICATE_NEQ:
    case NL_PREDICATE_NOT_IN:
    case NL_PREDICATE_TRUE:
    case NL_PREDICATE_FALSE:
    case NL_PREDICATE_AND:
    case NL_PREDICATE_OR:
    case NL_PREDICATE_NOT: break;
    }
    return leaf->kind != NL_PREDICATE_FALSE;
}

/* Bounds are exact or wider than the values: equal bounds are the one value there is. */
static bool all_are(const nl_predicate *leaf, const column_facts *facts)
{
    return facts->has_lower && facts->has_upper && nl_value_compare(&facts->lower, &facts->upper) == 0 && is_among(leaf, &facts->lower);
}

static bool none_is(const nl_predicate *leaf, const column_facts *facts)
{
    return !facts->may_have_nan && facts->has_lower && facts->has_upper && !any_inside(leaf, facts);
}

static bool facts_all_match(const nl_predicate *leaf, const column_facts *facts)
{
    const bool has_gaps = facts->may_have_null || facts->may_have_nan;
    switch (leaf->kind) {
    case NL_PREDICATE_IS_NULL: return facts->has_only_null;
    case NL_PREDICATE_NOT_NULL: return !facts->may_have_null;
    case NL_PREDICATE_IS_NAN: return facts->has_only_nan;
    case NL_PREDICATE_NOT_NAN: return !facts->may_have_nan;
    case NL_PREDICATE_LT: return !has_gaps && facts->has_upper && nl_value_compare(&facts->upper, &leaf->values[0]) < 0;
    case NL_PREDICATE_LTE: return !has_gaps && facts->has_upper && nl_value_compare(&facts->upper, &leaf->values[0]) <= 0;
    case NL_PREDICATE_GT: return !has_gaps && facts->has_lower && nl_value_compare(&facts->lower, &leaf->values[0]) > 0;
    case NL_PREDICATE_GTE: return !has_gaps && facts->has_lower && nl_value_compare(&facts->lower, &leaf->values[0]) >= 0;
    case NL_PREDICATE_EQ:
    case NL_PREDICATE_IN: return !has_gaps && all_are(leaf, facts);
    case NL_PREDICATE_NEQ:
    case NL_PREDICATE_NOT_IN: return facts->has_only_null || facts->has_only_nan || none_is(leaf, facts);
    case NL_PREDICATE_TRUE: return true;
    case NL_PREDICATE_STARTS_WITH:
    case NL_PREDICATE_NOT_STARTS_WITH:
    case NL_PREDICATE_FALSE:
    case NL_PREDICATE_AND:
    case NL_PREDICATE_OR:
    case NL_PREDICATE_NOT: break;
    }
    return false;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

typedef struct file_evaluation {
    nl_arena *arena; /* decoded bounds */
    const nl_schema *schema;
    const nl_data_file *file;
    bool is_strict;
} file_evaluation;

static bool is_float(const nl_ice_type *type)
{
    return type->id == NL_ICE_FLOAT || type->id == NL_ICE_DOUBLE;
}

static nl_status gather_facts(file_evaluation *self, int32_t field_id, const nl_ice_type *type, column_facts *facts)
{
    int64_t values = NL_NONE, nulls = NL_NONE, nans = NL_NONE;
    nl_bytes bytes;
    const nl_data_file *file = self->file;
    const bool knows_values = nl_metric_find(&file->value_counts, field_id, &values);
    const bool knows_nulls = nl_metric_find(&file->null_value_counts, field_id, &nulls);
    const bool knows_nans = nl_metric_find(&file->nan_value_counts, field_id, &nans);
    *facts = (column_facts){
        .may_have_null = !knows_nulls || nulls != 0,
        .has_only_null = knows_values && knows_nulls && values == nulls && values >= 0,
        .may_have_nan = is_float(type) && (!knows_nans || nans != 0),
        .has_only_nan = knows_values && knows_nans && values == nans && values > 0,
    };
    if (nl_bound_find(&file->lower_bounds, field_id, &bytes)) {
        NL_TRY(nl_single_value_decode(type, bytes, self->arena, &facts->lower));
        facts->has_lower = !facts->lower.is_null && !is_nan_value(&facts->lower);
    }
    if (nl_bound_find(&file->upper_bounds, field_id, &bytes)) {
        NL_TRY(nl_single_value_decode(type, bytes, self->arena, &facts->upper));
        facts->has_upper = !facts->upper.is_null && !is_nan_value(&facts->upper);
    }
    return NULL;
}

static nl_status evaluate_leaf(file_evaluation *self, const nl_predicate *leaf, bool *result)
{
    const nl_schema_column *column = nl_schema_find_id(self->schema, leaf->field_id);
    *result = !self->is_strict; /* what nothing is known of */
    if (!column || leaf->transform.kind != NL_TRANSFORM_IDENTITY || nl_ice_type_is_nested(column->field->type)) return NULL;
    /* Counts of columns below optional structs do not tell of the rows where the struct is null. */
    if (self->is_strict && column->parent_id != 0) return NULL;
    column_facts facts;
    NL_TRY(gather_facts(self, leaf->field_id, column->field->type, &facts));
    *result = self->is_strict ? facts_all_match(leaf, &facts) : facts_may_match(leaf, &facts);
    return NULL;
}

static nl_status evaluate_file(file_evaluation *self, const nl_predicate *predicate, bool *result)
{
    if (predicate->kind == NL_PREDICATE_TRUE || predicate->kind == NL_PREDICATE_FALSE) {
        *result = predicate->kind == NL_PREDICATE_TRUE;
        return NULL;
    }
    if (predicate->kind == NL_PREDICATE_NOT) return evaluate_file(self, nl_predicate_not(self->arena, predicate->children[0]), result);
    if (predicate->kind != NL_PREDICATE_AND && predicate->kind != NL_PREDICATE_OR) return evaluate_leaf(self, predicate, result);
    const bool stops_at = predicate->kind == NL_PREDICATE_OR;
    for (uint32_t i = 0; i < predicate->child_count; i++) {
        NL_TRY(evaluate_file(self, predicate->children[i], result));
        if (*result == stops_at) return NULL;
    }
    *result = !stops_at;
    return NULL;
}

nl_status nl_predicate_may_match_file(const nl_predicate *predicate, const nl_schema *schema, const nl_partition_spec *spec, const nl_data_file *file,
                                      bool *may_match)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_predicate *projected = NULL;
    file_evaluation self = {.arena = arena, .schema = schema, .file = file, .is_strict = false};
    *may_match = file->record_count != 0;
    nl_status status = *may_match ? nl_predicate_project_inclusive(arena, predicate, schema, spec, &projected) : NULL;
    if (!status && projected) *may_match = nl_predicate_matches_partition(projected, spec, file->partition);
    if (!status && *may_match) status = evaluate_file(&self, predicate, may_match);
    nl_arena_free(arena);
    return status;
}

nl_status nl_predicate_strict_match(const nl_predicate *predicate, const nl_schema *schema, const nl_partition_spec *spec, const nl_data_file *file,
                                    bool *all_match)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_predicate *projected = NULL;
    file_evaluation self = {.arena = arena, .schema = schema, .file = file, .is_strict = true};
    *all_match = file->record_count == 0;
    nl_status status = *all_match ? NULL : nl_predicate_project_strict(arena, predicate, schema, spec, &projected);
    if (!status && projected) *all_match = nl_predicate_matches_partition(projected, spec, file->partition);
    if (!status && !*all_match) status = evaluate_file(&self, predicate, all_match);
    nl_arena_free(arena);
    return status;
}

/* ---- manifests ------------------------------------------------------------------------------------------------- */

static bool summary_may_match(const nl_predicate *leaf, const nl_partition_spec *spec, const nl_schema *schema, const nl_manifest_file *file, nl_arena *arena)
{
    const int32_t position = field_position(spec, leaf->field_id);
    if (position < 0 || (uint32_t)position >= file->partition_count) return true;
    const nl_field_summary *summary = &file->partitions[position];
    const nl_schema_column *column = nl_schema_find_id(schema, spec->fields[position].source_id);
    if (!column) return true;
    const nl_ice_type *type = nl_transform_result_type(&spec->fields[position].transform, column->field->type);
    column_facts facts = {
        .may_have_null = summary->contains_null,
        .may_have_nan = is_float(type) && summary->contains_nan != 0,
        .has_only_null = summary->contains_null && !summary->lower.data && summary->contains_nan == 0,
    };
    nl_error *error = NULL; /* bounds that do not decode tell nothing */
    if (summary->lower.data) error = nl_single_value_decode(type, summary->lower, arena, &facts.lower);
    facts.has_lower = summary->lower.data && !error && !facts.lower.is_null;
    nl_error_free(error);
    error = NULL;
    if (summary->upper.data) error = nl_single_value_decode(type, summary->upper, arena, &facts.upper);
    facts.has_upper = summary->upper.data && !error && !facts.upper.is_null;
    nl_error_free(error);
    return facts_may_match(leaf, &facts);
}

static bool manifest_may_match(const nl_predicate *projected, const nl_partition_spec *spec, const nl_schema *schema, const nl_manifest_file *file,
                               nl_arena *arena)
{
    if (projected->kind == NL_PREDICATE_AND || projected->kind == NL_PREDICATE_OR) {
        const bool stops_at = projected->kind == NL_PREDICATE_OR;
        for (uint32_t i = 0; i < projected->child_count; i++)
            if (manifest_may_match(projected->children[i], spec, schema, file, arena) == stops_at) return stops_at;
        return !stops_at;
    }
    if (projected->kind == NL_PREDICATE_TRUE || projected->kind == NL_PREDICATE_FALSE) return projected->kind == NL_PREDICATE_TRUE;
    return summary_may_match(projected, spec, schema, file, arena);
}

bool nl_predicate_may_match_manifest(const nl_predicate *projected, const nl_partition_spec *spec, const nl_schema *schema, const nl_manifest_file *file)
{
    if (!file->partitions) return projected->kind != NL_PREDICATE_FALSE;
    nl_arena *arena = nl_arena_new(NULL);
    const bool may_match = manifest_may_match(projected, spec, schema, file, arena);
    nl_arena_free(arena);
    return may_match;
}

nl_status nl_predicate_may_match_facts(const nl_predicate *predicate, nl_facts_fn facts, void *argument, bool *may_match)
{
    if (predicate->kind == NL_PREDICATE_AND || predicate->kind == NL_PREDICATE_OR) {
        const bool stops_at = predicate->kind == NL_PREDICATE_OR;
        for (uint32_t i = 0; i < predicate->child_count; i++) {
            NL_TRY(nl_predicate_may_match_facts(predicate->children[i], facts, argument, may_match));
            if (*may_match == stops_at) return NULL;
        }
        *may_match = !stops_at;
        return NULL;
    }
    *may_match = predicate->kind != NL_PREDICATE_FALSE;
    if (predicate->kind == NL_PREDICATE_TRUE || predicate->kind == NL_PREDICATE_FALSE || predicate->kind == NL_PREDICATE_NOT) return NULL;
    column_facts known;
    bool is_known = false;
    NL_TRY(facts(argument, predicate, &known, &is_known));
    if (is_known) *may_match = facts_may_match(predicate, &known);
    return NULL;
}
