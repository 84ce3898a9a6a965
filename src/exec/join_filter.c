/* exec/join_filter.c - what the build side knows, told to the scans below the probe side. */
#include "exec/join.h"

#define BLOOM_ROWS_MAX    (16u << 20)    /* above, the filter is too large to be quick */
#define BITMAP_VALUES_MAX (512ull << 20) /* 64 MiB of bits */
#define BITMAP_WORDS_MIN  8192u          /* 64 KiB are always worth it */

/* A scan's column that a column of `node` comes from unchanged. */
typedef struct traced {
    const nl_logical *scan;
    nl_column_id column;
} traced;

static const nl_expr *source_expr(const nl_logical *node, nl_column_id column)
{
    for (uint32_t i = 0; i < node->column_count; i++) {
        if (node->columns[i].id != column) continue;
        if (node->kind == NL_PLAN_PROJECT) return node->project.exprs[i];
        if (node->kind == NL_PLAN_AGGREGATE && i < node->aggregate.key_count && !node->aggregate.grouping_sets) return node->aggregate.keys[i];
        return NULL;
    }
    return NULL;
}

static bool has_column(const nl_logical *node, nl_column_id column)
{
    for (uint32_t i = 0; i < node->column_count; i++)
        if (node->columns[i].id == column) return true;
    return false;
}

/* monotonically_increasing_id and rand give fewer rows other numbers. */
static bool draws_numbers(const nl_logical *node)
{
    for (uint32_t i = 0; node->kind == NL_PLAN_PROJECT && i < node->column_count; i++)
        if (!nl_expr_is_deterministic(node->project.exprs[i])) return true;
    return false;
}

/* Follows a column down as long as dropping its rows early changes nothing above. */
static bool trace(const nl_logical *node, nl_column_id column, traced *found)
{
    for (;;) {
        const nl_expr *expr = NULL;
        const nl_logical *child = node->child_count ? node->children[0] : NULL;
        switch (node->kind) {
        case NL_PLAN_SCAN:
            *found = (traced){node, column};
            return has_column(node, column);
        case NL_PLAN_PROJECT:
        case NL_PLAN_AGGREGATE:
            expr = source_expr(node, column);
            if (!expr || expr->kind != NL_EXPR_COLUMN || draws_numbers(node)) return false;
            column = expr->column;
            break;
        case NL_PLAN_FILTER:
            if (!nl_expr_is_deterministic(node->filter.condition)) return false;
            break;
        case NL_PLAN_SORT:
        case NL_PLAN_DISTINCT:
        case NL_PLAN_ALIAS:
        case NL_PLAN_CTE: break;
        case NL_PLAN_GENERATE:
        case NL_PLAN_JOIN: break; /* only columns of the left child, below */
        case NL_PLAN_VALUES:
        case NL_PLAN_RANGE:
        case NL_PLAN_LIMIT:
        case NL_PLAN_SET:
        case NL_PLAN_WINDOW:
        case NL_PLAN_SAMPLE:
        case NL_PLAN_CTE_REF:
        case NL_PLAN_EMPTY:
        case NL_PLAN_PYTHON:
        case NL_PLAN_OBSERVE:
        case NL_PLAN_SINGLE_ROW: return false;
        }
        /* Rows of the left child of a RIGHT or FULL join decide which right rows are unmatched. */
        if (node->kind == NL_PLAN_JOIN && (node->join.kind == NL_JOIN_RIGHT || node->join.kind == NL_JOIN_FULL)) return false;
        if (!child || (node->kind != NL_PLAN_CTE && !has_column(child, column))) return false;
        node = child;
    }
}

/* Partitions are told apart by the bits that choose the filter's words: they can be added side by side. */
static nl_status add_part(void *argument, uint64_t part)
{
    nl_join *join = argument;
    for (uint32_t w = 0; w < join->exec->worker_count; w++) {
        const nl_row_store *store = &join->workers[w].parts[part];
        for (const nl_row_block *block = store->first; block; block = block->next)
            for (uint32_t i = 0; i < block->row_count; i++)
                nl_bloom_add(&join->bloom, nl_join_header_of(block->data + (size_t)i * store->row_bytes)->hash);
    }
    return NULL;
}

static nl_status make_bloom(nl_join *join)
{
    if (join->key_count != 1 || join->build_rows > BLOOM_ROWS_MAX || atomic_load_explicit(&join->any_spilled, memory_order_relaxed)) return NULL;
    nl_memory *memory = join->exec->query->memory;
    if (!nl_exec_may_grow(join->exec, join->build_rows * 3)) return NULL; /* only helpful, never necessary */
    NL_TRY(nl_bloom_init(&join->bloom, join->build_rows, memory));
    if (join->exec->query->pool && join->build_rows > 65536) return nl_pool_for(join->exec->query->pool, NL_JOIN_PARTS, add_part, join);
    for (uint64_t part = 0; part < NL_JOIN_PARTS; part++)
        NL_TRY(add_part(join, part));
    return NULL;
}

typedef struct bitmap_run {
    const nl_join *join;
    uint32_t key;
} bitmap_run;

static nl_status add_part_bits(void *argument, uint64_t part)
{
    const bitmap_run *run = argument;
    const nl_row_column *column = &run->join->layout.columns[run->key];
    nl_key_bitmap *bitmap = &run->join->bitmaps[run->key];
    for (uint32_t w = 0; w < run->join->exec->worker_count; w++) {
        const nl_row_store *store = &run->join->workers[w].parts[part];
        for (const nl_row_block *block = store->first; block; block = block->next) {
            for (uint32_t i = 0; i < block->row_count; i++) {
                const uint8_t *row = block->data + (size_t)i * store->row_bytes;
                const void *value = row + column->offset;
                if (row[column->null_offset]) continue;
                nl_key_bitmap_add(bitmap, column->physical == NL_PHYS_I32 ? *(const int32_t *)value : *(const int64_t *)value);
            }
        }
    }
    return NULL;
}

/* Bits instead of a Bloom filter where the keys are dense. */
nl_status nl_join_make_bitmap(nl_join *join, uint32_t key, int64_t lower, int64_t upper)
{
    nl_key_bitmap *bitmap = &join->bitmaps[key];
    const uint64_t distance = (uint64_t)upper - (uint64_t)lower;
    if (bitmap->words || atomic_load_explicit(&join->any_spilled, memory_order_relaxed)) return NULL;
    if (distance >= BITMAP_VALUES_MAX || distance / 64 > NL_MAX(join->build_rows, (uint64_t)BITMAP_WORDS_MIN)) return NULL;
    const uint64_t words = distance / 64 + 1;
    if (!nl_exec_may_grow(join->exec, words * sizeof(uint64_t))) return NULL;
    NL_TRY(nl_buffer_new(join->exec->query->memory, words * sizeof(uint64_t), true, &bitmap->buffer));
    bitmap->words = (uint64_t *)(void *)bitmap->buffer->data;
    bitmap->lower = lower;
    bitmap->span = distance + 1;
    bitmap_run run = {.join = join, .key = key};
    if (join->exec->query->pool && join->build_rows > 65536)
        NL_TRY(nl_pool_for(join->exec->query->pool, NL_JOIN_PARTS, add_part_bits, &run));
    for (uint64_t part = 0; part < NL_JOIN_PARTS && !(join->exec->query->pool && join->build_rows > 65536); part++)
        NL_TRY(add_part_bits(&run, part));
    return NULL;
}

bool nl_join_key_range(const nl_join *join, uint32_t key, int64_t *lower, int64_t *upper)
{
    bool has_range = false;
    for (uint32_t w = 0; w < join->exec->worker_count; w++) {
        const nl_join_worker *own = &join->workers[w];
        if (!own->has_range[key]) continue;
        *lower = has_range ? NL_MIN(*lower, own->lower[key]) : own->lower[key];
        *upper = has_range ? NL_MAX(*upper, own->upper[key]) : own->upper[key];
        has_range = true;
    }
    return has_range;
}

static nl_filter_note *new_note(nl_join *join, const traced *found, uint32_t key)
{
    nl_filter_note *note = NL_NEW(join->exec->arena, nl_filter_note);
    const nl_type *type = join->left_keys[key]->type;
    nl_runtime_filter *filter = &note->filter;
    int64_t lower = 0, upper = 0;
    *note = (nl_filter_note){.scan = found->scan, .filter = {.column = found->column}};
    filter->has_range = nl_join_key_range(join, key, &lower, &upper);
    filter->lower = nl_value_int(type, lower);
    filter->upper = nl_value_int(type, upper);
    if (type->id == NL_TYPE_DECIMAL) {
        filter->lower.decimal = lower;
        filter->upper.decimal = upper;
    }
    return note;
}

static int64_t bound_of(const nl_value *value)
{
    return value->type->id == NL_TYPE_DECIMAL ? (int64_t)value->decimal : value->integer;
}

nl_status nl_join_note_filters(nl_join *join)
{
    nl_exec *exec = join->exec;
    bool drops_left = join->kind == NL_JOIN_INNER || join->kind == NL_JOIN_SEMI || join->kind == NL_JOIN_RIGHT;
    if (!drops_left) return NULL;
    for (uint32_t k = 0; k < join->key_count; k++) {
        traced found = {0};
        const nl_expr *left = join->left_keys[k];
        if (join->is_null_safe[k] || left->kind != NL_EXPR_COLUMN || !trace(join->probe_plan, left->column, &found)) continue;
        nl_filter_note *note = new_note(join, &found, k);
        if (note->filter.has_range) NL_TRY(nl_join_make_bitmap(join, k, bound_of(&note->filter.lower), bound_of(&note->filter.upper)));
        if (join->bitmaps[k].words) {
            note->filter.bitmap = &join->bitmaps[k];
        } else {
            if (!join->bloom.words) NL_TRY(make_bloom(join));
            note->filter.bloom = join->bloom.words ? &join->bloom : NULL;
        }
        if (note->filter.has_range || note->filter.bloom) nl_list_add(exec->arena, exec->filters, note);
    }
    return NULL;
}
