/* iceberg/prune.c - a predicate over all entries of a manifest at once: bounds are columns, a leaf is one loop.
 *
 * The result of a node is one byte per entry: 1 "may match". AND and OR combine bytes; partition predicates are
 * evaluated once per distinct partition, by the caller.
 */
#include "iceberg/expression.h"

#include <stdlib.h>

typedef struct pruning {
    const nl_schema *schema;
    const nl_manifest *manifest;
    nl_arena *arena; /* scratch */
} pruning;

/* What one entry's statistics say, read from the columns. */
typedef struct leaf_columns {
    nl_reader lower, upper, values, nulls;
    const nl_vector *lower_vector, *upper_vector;
} leaf_columns;

static int64_t count_at(const nl_reader *reader, uint32_t row)
{
    return nl_reader_is_null(reader, row) ? NL_NONE : ((const int64_t *)reader->values)[nl_reader_index(reader, row)];
}

/* Integers of 4 and 8 bytes: the columns of nearly every filter. An entry lives when some value may lie in
 * [least, most]: x < v is x <= v - 1. */
#define PRUNE_INTEGERS(name, type)                                                                          \
    static void name(const leaf_columns *c, int64_t least, int64_t most, uint32_t count, uint8_t *may)      \
    {                                                                                                       \
        const type *lower = c->lower.values, *upper = c->upper.values;                                      \
        for (uint32_t i = 0; i < count; i++) {                                                              \
            const bool is_above = !nl_reader_is_null(&c->lower, i) && (int64_t)lower[i] > most;             \
            const bool is_below = !nl_reader_is_null(&c->upper, i) && (int64_t)upper[i] < least;            \
            may[i] = (uint8_t)(may[i] & !(is_above || is_below));                                           \
        }                                                                                                   \
    }
PRUNE_INTEGERS(prune_i32, int32_t)
PRUNE_INTEGERS(prune_i64, int64_t)

static bool is_comparison(nl_predicate_kind kind)
{
    return kind == NL_PREDICATE_LT || kind == NL_PREDICATE_LTE || kind == NL_PREDICATE_GT || kind == NL_PREDICATE_GTE || kind == NL_PREDICATE_EQ;
}

static bool has_integer_path(const leaf_columns *columns, const nl_predicate *leaf)
{
    const nl_physical physical = columns->lower_vector->type->physical;
    const int64_t value = leaf->value_count == 1 ? leaf->values[0].integer : 0;
    return is_comparison(leaf->kind) && columns->lower_vector->encoding == NL_FLAT && columns->upper_vector->encoding == NL_FLAT &&
           leaf->values[0].type->id != NL_TYPE_DECIMAL && (physical == NL_PHYS_I32 || physical == NL_PHYS_I64) && value > INT64_MIN && value < INT64_MAX;
}

/* Everything else: one entry after the other, through the evaluator of single files. */
static nl_status prune_slowly(pruning *self, const nl_predicate *leaf, uint8_t *may)
{
    static const nl_partition_spec unpartitioned = {0};
    for (uint32_t i = 0; i < self->manifest->entry_count; i++) {
        if (!may[i]) continue;
        bool may_match = true;
        NL_TRY(nl_predicate_may_match_file(leaf, self->schema, &unpartitioned, &self->manifest->entries[i].file, &may_match));
        may[i] = may_match;
    }
    return NULL;
}

/* A file whose column is null in every row cannot match a comparison. */
static void prune_all_null(const leaf_columns *columns, uint32_t count, uint8_t *may)
{
    for (uint32_t i = 0; i < count; i++) {
        const int64_t values = count_at(&columns->values, i), nulls = count_at(&columns->nulls, i);
        may[i] = (uint8_t)(may[i] & !(values >= 0 && values == nulls));
    }
}

static nl_status prune_leaf(pruning *self, const nl_predicate *leaf, uint8_t *may)
{
    const nl_schema_column *column = nl_schema_find_id(self->schema, leaf->field_id);
    if (!column || leaf->transform.kind != NL_TRANSFORM_IDENTITY || nl_ice_type_is_nested(column->field->type)) return NULL;
    const nl_column_statistics *statistics = NULL;
    NL_TRY(nl_manifest_statistics(self->manifest, leaf->field_id, column->field->type, &statistics));
    leaf_columns columns = {.lower_vector = &statistics->lower, .upper_vector = &statistics->upper};
    if (!has_integer_path(&columns, leaf)) return prune_slowly(self, leaf, may);
    nl_reader_init(&columns.lower, &statistics->lower);
    nl_reader_init(&columns.upper, &statistics->upper);
    nl_reader_init(&columns.values, &statistics->value_count);
    nl_reader_init(&columns.nulls, &statistics->null_count);
    prune_all_null(&columns, self->manifest->entry_count, may);
    const int64_t value = leaf->values[0].integer;
    const bool has_most = leaf->kind == NL_PREDICATE_LT || leaf->kind == NL_PREDICATE_LTE || leaf->kind == NL_PREDICATE_EQ;
    const bool has_least = leaf->kind == NL_PREDICATE_GT || leaf->kind == NL_PREDICATE_GTE || leaf->kind == NL_PREDICATE_EQ;
    const int64_t most = has_most ? value - (leaf->kind == NL_PREDICATE_LT) : INT64_MAX;
    const int64_t least = has_least ? value + (leaf->kind == NL_PREDICATE_GT) : INT64_MIN;
    if (statistics->lower.type->physical == NL_PHYS_I32)
        prune_i32(&columns, least, most, self->manifest->entry_count, may);
    else
        prune_i64(&columns, least, most, self->manifest->entry_count, may);
    return NULL;
}

static nl_status prune_node(pruning *self, const nl_predicate *predicate, uint8_t *may);

/* OR: each child narrows a copy; an entry lives if any copy keeps it. */
static nl_status prune_or(pruning *self, const nl_predicate *predicate, uint8_t *may)
{
    const uint32_t count = self->manifest->entry_count;
    uint8_t *any = nl_arena_alloc(self->arena, count);
    uint8_t *one = nl_arena_alloc(self->arena, count);
    for (uint32_t c = 0; c < predicate->child_count; c++) {
        memcpy(one, may, count);
        NL_TRY(prune_node(self, predicate->children[c], one));
        for (uint32_t i = 0; i < count; i++)
            any[i] |= one[i];
    }
    memcpy(may, any, count);
    return NULL;
}

static nl_status prune_node(pruning *self, const nl_predicate *predicate, uint8_t *may)
{
    if (predicate->kind == NL_PREDICATE_TRUE) return NULL;
    if (predicate->kind == NL_PREDICATE_FALSE) {
        memset(may, 0, self->manifest->entry_count);
        return NULL;
    }
    if (predicate->kind == NL_PREDICATE_NOT) return prune_node(self, nl_predicate_not(self->arena, predicate->children[0]), may);
    if (predicate->kind == NL_PREDICATE_OR) return prune_or(self, predicate, may);
    if (predicate->kind != NL_PREDICATE_AND) return prune_leaf(self, predicate, may);
    for (uint32_t i = 0; i < predicate->child_count; i++)
        NL_TRY(prune_node(self, predicate->children[i], may));
    return NULL;
}

nl_status nl_predicate_prune_entries(const nl_predicate *predicate, const nl_schema *schema, const nl_manifest *manifest, uint8_t *alive)
{
    if (predicate->kind == NL_PREDICATE_TRUE || manifest->entry_count == 0) return NULL;
    pruning self = {.schema = schema, .manifest = manifest, .arena = nl_arena_new(NULL)};
    uint8_t *may = nl_arena_alloc(self.arena, manifest->entry_count);
    for (uint32_t i = 0; i < manifest->entry_count; i++)
        may[i] = nl_bit_get(alive, i);
    nl_status status = prune_node(&self, predicate, may);
    for (uint32_t i = 0; !status && i < manifest->entry_count; i++)
        if (!may[i]) nl_bit_clear(alive, i);
    nl_arena_free(self.arena);
    return status;
}
