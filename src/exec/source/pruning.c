/* exec/source/pruning.c - see pruning.h. Conjuncts narrow one after the other; what cannot be judged keeps everything. */
#include "exec/source/pruning.h"

typedef struct group_question {
    nl_parquet_reader *reader;
    uint32_t row_group;
    nl_arena *arena;
} group_question;

static nl_column_facts facts_of(const nl_parquet_bounds *bounds, bool is_float)
{
    return (nl_column_facts){
        .has_lower = bounds->has_min,
        .has_upper = bounds->has_max,
        .lower = bounds->min,
        .upper = bounds->max,
        .may_have_null = !bounds->has_null_count || bounds->null_count > 0,
        .has_only_null = bounds->is_all_null || (bounds->has_null_count && bounds->null_count == bounds->value_count),
        .may_have_nan = is_float, /* Parquet does not count them */
    };
}

static bool is_float_value(const nl_predicate *leaf)
{
    return leaf->value_count > 0 && (leaf->values[0].type->id == NL_TYPE_FLOAT || leaf->values[0].type->id == NL_TYPE_DOUBLE);
}

/* Values and bounds are compared only when they are of one kind. */
static bool is_comparable(const nl_predicate *leaf, const nl_parquet_bounds *bounds)
{
    if (leaf->value_count == 0) return true;
    const nl_type *bound_type = bounds->has_min ? bounds->min.type : bounds->has_max ? bounds->max.type : NULL;
    return !bound_type || (bound_type->physical == leaf->values[0].type->physical && bound_type->scale == leaf->values[0].type->scale);
}

static nl_status group_facts(void *argument, const nl_predicate *leaf, nl_column_facts *facts, bool *is_known)
{
    group_question *self = argument;
    const uint32_t column = nl_parquet_reader_leaf_by_id(self->reader, leaf->field_id);
    nl_parquet_bounds bounds;
    *is_known = false;
    if (column == NL_PARQUET_NO_LEAF || leaf->transform.kind != NL_TRANSFORM_IDENTITY) return NULL;
    NL_TRY(nl_parquet_chunk_bounds(self->reader, self->row_group, column, self->arena, &bounds));
    *facts = facts_of(&bounds, is_float_value(leaf));
    *is_known = is_comparable(leaf, &bounds);
    return NULL;
}

/* A Bloom filter answers for equality alone: it must be asked of conjuncts, where "no" rules the row group out. */
static nl_status bloom_may_match(group_question *self, const nl_predicate *predicate, bool *may_match)
{
    *may_match = true;
    if (predicate->kind == NL_PREDICATE_AND) {
        for (uint32_t i = 0; *may_match && i < predicate->child_count; i++)
            NL_TRY(bloom_may_match(self, predicate->children[i], may_match));
        return NULL;
    }
    if (predicate->kind != NL_PREDICATE_EQ && predicate->kind != NL_PREDICATE_IN) return NULL;
    const uint32_t leaf = nl_parquet_reader_leaf_by_id(self->reader, predicate->field_id);
    if (leaf == NL_PARQUET_NO_LEAF || !nl_parquet_has_bloom(self->reader, self->row_group, leaf)) return NULL;
    *may_match = false;
    for (uint32_t i = 0; !*may_match && i < predicate->value_count; i++)
        NL_TRY(nl_parquet_bloom_check(self->reader, self->row_group, leaf, &predicate->values[i], may_match));
    return NULL;
}

nl_status nl_row_group_may_match(nl_parquet_reader *reader, uint32_t row_group, const nl_predicate *predicate, bool *may_match)
{
    group_question self = {.reader = reader, .row_group = row_group, .arena = nl_arena_new(NULL)};
    nl_status status = nl_predicate_may_match_facts(predicate, group_facts, &self, may_match);
    if (!status && *may_match) status = bloom_may_match(&self, predicate, may_match);
    nl_arena_free(self.arena);
    return status;
}

/* ---- parts of files of other formats --------------------------------------------------------------------------- */

typedef struct part_question {
    nl_data_reader *reader;
    uint32_t part;
    nl_arena *arena;
} part_question;

static nl_parquet_bounds as_parquet(const nl_data_bounds *bounds)
{
    return (nl_parquet_bounds){.has_min = bounds->has_bounds,
                               .has_max = bounds->has_bounds,
                               .min = bounds->min,
                               .max = bounds->max,
                               .has_null_count = bounds->has_null_count,
                               .null_count = bounds->null_count,
                               .value_count = bounds->value_count};
}

static nl_status part_facts(void *argument, const nl_predicate *leaf, nl_column_facts *facts, bool *is_known)
{
    part_question *self = argument;
    nl_data_bounds bounds = {0};
    *is_known = false;
    if (leaf->transform.kind != NL_TRANSFORM_IDENTITY) return NULL;
    NL_TRY(self->reader->format->part_bounds(self->reader, self->part, leaf->field_id, self->arena, &bounds));
    const nl_parquet_bounds same = as_parquet(&bounds);
    *facts = facts_of(&same, bounds.may_have_nan);
    *is_known = (bounds.has_bounds || bounds.has_null_count) && is_comparable(leaf, &same);
    return NULL;
}

nl_status nl_data_part_may_match(nl_data_reader *reader, uint32_t part, const nl_predicate *predicate, bool *may_match)
{
    *may_match = true;
    if (!reader->format->part_bounds) return NULL;
    part_question self = {.reader = reader, .part = part, .arena = nl_arena_new(NULL)};
    nl_status status = nl_predicate_may_match_facts(predicate, part_facts, &self, may_match);
    nl_arena_free(self.arena);
    return status;
}

/* ---- pages ----------------------------------------------------------------------------------------------------- */

typedef struct row_ranges {
    nl_parquet_rows *items;
    uint32_t count;
} row_ranges;

typedef struct page_question {
    const nl_parquet_bounds *page;
    bool is_float;
} page_question;

static nl_status page_facts(void *argument, const nl_predicate *leaf, nl_column_facts *facts, bool *is_known)
{
    const page_question *self = argument;
    *facts = facts_of(self->page, self->is_float);
    *is_known = is_comparable(leaf, self->page);
    return NULL;
}

/* Where the pages of a leaf's column come from: a row group of Parquet, or a part of another format. */
typedef struct page_source {
    nl_parquet_reader *parquet;
    nl_data_reader *data;
    uint32_t group;
    uint64_t row_count;
} page_source;

static nl_status pages_of(const page_source *source, int32_t field_id, nl_arena *arena, nl_parquet_bounds **pages, uint32_t *page_count)
{
    nl_data_bounds *groups = NULL;
    uint64_t group_rows = 0;
    *page_count = 0;
    if (source->parquet) {
        const uint32_t column = nl_parquet_reader_leaf_by_id(source->parquet, field_id);
        return column == NL_PARQUET_NO_LEAF ? NULL : nl_parquet_page_bounds(source->parquet, source->group, column, arena, pages, page_count);
    }
    NL_TRY(source->data->format->group_bounds(source->data, source->group, field_id, arena, &groups, page_count, &group_rows));
    *pages = NL_NEW_ARRAY(arena, nl_parquet_bounds, (size_t)*page_count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < *page_count; i++) {
        (*pages)[i] = as_parquet(&groups[i]);
        (*pages)[i].first_row = i * group_rows;
    }
    return NULL;
}

/* The rows of the pages of one column that may match a leaf; neighbours are joined. */
static nl_status leaf_ranges(const page_source *source, const nl_predicate *leaf, nl_arena *arena, row_ranges *result, bool *is_known)
{
    nl_parquet_bounds *pages = NULL;
    uint32_t page_count = 0;
    *is_known = false;
    if (leaf->transform.kind != NL_TRANSFORM_IDENTITY) return NULL;
    NL_TRY(pages_of(source, leaf->field_id, arena, &pages, &page_count));
    if (page_count == 0) return NULL;
    result->items = NL_NEW_ARRAY(arena, nl_parquet_rows, page_count);
    result->count = 0;
    for (uint32_t i = 0; i < page_count; i++) {
        page_question question = {.page = &pages[i], .is_float = is_float_value(leaf)};
        bool may_match = true;
        NL_TRY(nl_predicate_may_match_facts(leaf, page_facts, &question, &may_match));
        if (!may_match) continue;
        const uint64_t end = i + 1 < page_count ? pages[i + 1].first_row : source->row_count;
        nl_parquet_rows *last = result->count ? &result->items[result->count - 1] : NULL;
        if (last && last->first_row + last->row_count == pages[i].first_row)
            last->row_count = end - last->first_row;
        else
            result->items[result->count++] = (nl_parquet_rows){pages[i].first_row, end - pages[i].first_row};
    }
    *is_known = true;
    return NULL;
}

static row_ranges intersect(nl_arena *arena, const row_ranges *a, const row_ranges *b)
{
    row_ranges both = {.items = NL_NEW_ARRAY(arena, nl_parquet_rows, a->count + b->count)};
    for (uint32_t i = 0, j = 0; i < a->count && j < b->count;) {
        const uint64_t start = NL_MAX(a->items[i].first_row, b->items[j].first_row);
        const uint64_t a_end = a->items[i].first_row + a->items[i].row_count, b_end = b->items[j].first_row + b->items[j].row_count;
        const uint64_t end = NL_MIN(a_end, b_end);
        if (start < end) both.items[both.count++] = (nl_parquet_rows){start, end - start};
        if (a_end < b_end)
            i++;
        else
            j++;
    }
    return both;
}

static bool is_leaf(const nl_predicate *predicate)
{
    return predicate->child_count == 0 && predicate->kind != NL_PREDICATE_TRUE && predicate->kind != NL_PREDICATE_FALSE;
}

static nl_status all_ranges(const page_source *source, const nl_predicate *predicate, nl_arena *arena, row_ranges *kept)
{
    const bool is_and = predicate->kind == NL_PREDICATE_AND;
    const uint32_t count = is_and ? predicate->child_count : 1;
    *kept = (row_ranges){.items = NL_NEW(arena, nl_parquet_rows), .count = 1};
    kept->items[0] = (nl_parquet_rows){0, source->row_count};
    for (uint32_t i = 0; i < count; i++) {
        const nl_predicate *conjunct = is_and ? predicate->children[i] : predicate;
        row_ranges of_leaf = {0};
        bool is_known = false;
        if (is_leaf(conjunct)) NL_TRY(leaf_ranges(source, conjunct, arena, &of_leaf, &is_known));
        if (is_known) *kept = intersect(arena, kept, &of_leaf);
    }
    return NULL;
}

nl_status nl_page_ranges(nl_parquet_reader *reader, uint32_t row_group, uint64_t row_count, const nl_predicate *predicate, nl_arena *arena,
                         nl_parquet_rows **ranges, uint32_t *range_count)
{
    const page_source source = {.parquet = reader, .group = row_group, .row_count = row_count};
    row_ranges kept;
    NL_TRY(all_ranges(&source, predicate, arena, &kept));
    *ranges = kept.items;
    *range_count = kept.count;
    return NULL;
}

nl_status nl_data_part_ranges(nl_data_reader *reader, uint32_t part, uint64_t row_count, const nl_predicate *predicate, nl_arena *arena, nl_data_rows **ranges,
                              uint32_t *range_count)
{
    const page_source source = {.data = reader, .group = part, .row_count = row_count};
    row_ranges kept;
    *ranges = NULL;
    if (!reader->format->group_bounds || row_count == NL_DATA_ROWS_UNKNOWN) return NULL;
    NL_TRY(all_ranges(&source, predicate, arena, &kept));
    *ranges = NL_NEW_ARRAY(arena, nl_data_rows, (size_t)kept.count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < kept.count; i++)
        (*ranges)[i] = (nl_data_rows){kept.items[i].first_row, kept.items[i].row_count};
    *range_count = kept.count;
    return NULL;
}
