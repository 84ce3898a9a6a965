/* exec/join_filter.c - what the build side knows, told to the scans below the probe side. */
#include "exec/join.h"

#define BLOOM_ROWS_MAX (16u << 20) /* above, the filter is too large to be quick */

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
            if (!expr || expr->kind != NL_EXPR_COLUMN) return false;
            column = expr->column;
            break;
        case NL_PLAN_FILTER:
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
        case NL_PLAN_SINGLE_ROW: return false;
        }
        /* Rows of the left child of a RIGHT or FULL join decide which right rows are unmatched. */
        if (node->kind == NL_PLAN_JOIN && (node->join.kind == NL_JOIN_RIGHT || node->join.kind == NL_JOIN_FULL)) return false;
        if (!child || (node->kind != NL_PLAN_CTE && !has_column(child, column))) return false;
        node = child;
    }
}

static nl_status make_bloom(nl_join *join)
{
    if (join->key_count != 1 || join->build_rows > BLOOM_ROWS_MAX || atomic_load_explicit(&join->any_spilled, memory_order_relaxed)) return NULL;
    nl_memory *memory = join->exec->query->memory;
    if (!nl_exec_may_grow(join->exec, join->build_rows * 3)) return NULL; /* only helpful, never necessary */
    NL_TRY(nl_bloom_init(&join->bloom, join->build_rows, memory));
    for (uint32_t w = 0; w < join->exec->worker_count; w++) {
        for (uint32_t part = 0; part < NL_JOIN_PARTS; part++) {
            const nl_row_store *store = &join->workers[w].parts[part];
            for (const nl_row_block *block = store->first; block; block = block->next)
                for (uint32_t i = 0; i < block->row_count; i++)
                    nl_bloom_add(&join->bloom, nl_join_header_of(block->data + (size_t)i * store->row_bytes)->hash);
        }
    }
    return NULL;
}

nl_status nl_join_note_filters(nl_join *join)
{
    nl_exec *exec = join->exec;
    bool drops_left = join->kind == NL_JOIN_INNER || join->kind == NL_JOIN_SEMI || join->kind == NL_JOIN_RIGHT;
    if (!drops_left) return NULL;
    for (uint32_t k = 0; k < join->key_count; k++) {
        traced found = {0};
        const nl_expr *left = join->left_keys[k];
        if (join->is_null_safe[k] || left->kind != NL_EXPR_COLUMN || !trace(join->node->children[0], left->column, &found)) continue;
        if (!join->bloom.words) NL_TRY(make_bloom(join));
        nl_runtime_filter filter = {.column = found.column, .bloom = join->bloom.words ? &join->bloom : NULL};
        int64_t lower = 0, upper = 0;
        for (uint32_t w = 0; w < exec->worker_count; w++) {
            const nl_join_worker *own = &join->workers[w];
            if (!own->has_range[k]) continue;
            lower = filter.has_range ? NL_MIN(lower, own->lower[k]) : own->lower[k];
            upper = filter.has_range ? NL_MAX(upper, own->upper[k]) : own->upper[k];
            filter.has_range = true;
        }
        filter.lower = nl_value_int(left->type, lower);
        filter.upper = nl_value_int(left->type, upper);
        if (left->type->id == NL_TYPE_DECIMAL) {
            filter.lower.decimal = lower;
            filter.upper.decimal = upper;
        }
        if (!filter.has_range && !filter.bloom) continue;
        nl_filter_note *note = NL_NEW(exec->arena, nl_filter_note);
        *note = (nl_filter_note){.scan = found.scan, .filter = filter};
        nl_list_add(exec->arena, exec->filters, note);
    }
    return NULL;
}
