/* stream/state_plan.c - see state_plan.h; and what state.h says of running and scanning. */
#include "stream/state_plan.h"

#include "stream/watermark.h"

static void release_table(void *table)
{
    nl_table_release(table);
}

static const nl_logical *scan_as(nl_state_batch *batch, nl_kept_rows *rows, const nl_column *columns, uint32_t count)
{
    nl_arena *arena = batch->planning->arena;
    nl_logical *scan = nl_logical_new(arena, NL_PLAN_SCAN, NULL, 0);
    uint32_t *places = NL_NEW_ARRAY(arena, uint32_t, count + 1);
    const nl_table *table = nl_kept_rows_table(rows);
    for (uint32_t i = 0; i < count; i++) places[i] = i;
    nl_arena_on_free(arena, release_table, nl_table_retain(table));
    scan->columns = columns;
    scan->column_count = count;
    scan->scan.table = table;
    scan->scan.table_columns = places;
    scan->scan.limit = -1;
    return scan;
}

const nl_logical *nl_state_scan(nl_state_batch *batch, nl_kept_rows *rows, const nl_column *columns, uint32_t column_count)
{
    nl_list_add(batch->planning->arena, &batch->made, NL_UNCONST(nl_kept_rows_table(rows)));
    return scan_as(batch, rows, columns, column_count);
}

/* Event times stay event times: what the operators above see of them is the metadata. */
const nl_logical *nl_state_give(nl_state_batch *batch, nl_kept_rows *rows, const nl_logical *node)
{
    nl_arena *arena = batch->planning->arena;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, node->column_count + 1);
    for (uint32_t i = 0; i < node->column_count; i++) {
        nl_event_time event;
        int64_t delay_ms;
        columns[i] = node->columns[i];
        if (nl_column_event_time(node, &node->columns[i], &event) && !nl_watermark_delay(columns[i].metadata, &delay_ms))
            columns[i].metadata = nl_arena_f(arena, "{\"spark.watermarkDelayMs\":%lld}", (long long)event.delay_ms);
    }
    return nl_state_scan(batch, rows, columns, node->column_count);
}

const nl_logical *nl_state_scan_new(nl_state_batch *batch, nl_kept_rows *rows)
{
    const nl_type *type = nl_kept_rows_type(rows);
    nl_column *columns = NL_NEW_ARRAY(batch->planning->arena, nl_column, type->child_count + 1);
    for (uint32_t i = 0; i < type->child_count; i++)
        columns[i] = (nl_column){.id = nl_plan_new_id(batch->planning), .name = type->children[i].name, .type = type->children[i].type, .is_nullable = true};
    return scan_as(batch, rows, columns, type->child_count);
}

const nl_logical *nl_state_scan_rows(nl_state_batch *batch, nl_kept_rows *rows)
{
    const nl_logical *scan = nl_state_scan_new(batch, rows);
    return nl_logical_keep(batch->planning->arena, scan, scan->columns + 1, scan->column_count - 1);
}

const uint32_t *nl_state_first_columns(nl_state_batch *batch, uint32_t count)
{
    uint32_t *columns = NL_NEW_ARRAY(batch->planning->arena, uint32_t, count + 1);
    for (uint32_t i = 0; i < count; i++) columns[i] = i;
    return columns;
}

bool nl_state_is_rows(const nl_state_batch *batch, const nl_table *table)
{
    for (uint32_t i = 0; i < batch->made.count; i++)
        if (batch->made.items[i] == table) return true;
    return false;
}

const nl_type *nl_state_row_type(nl_state_batch *batch, const nl_column *columns, uint32_t count)
{
    nl_field *fields = NL_NEW_ARRAY(batch->planning->arena, nl_field, count + 1);
    for (uint32_t i = 0; i < count; i++) fields[i] = (nl_field){.name = columns[i].name, .type = columns[i].type, .is_nullable = true};
    return nl_type_struct(batch->planning->arena, fields, count);
}

nl_status nl_state_run(nl_state_batch *batch, const nl_logical *plan, nl_kept_rows **rows)
{
    const nl_logical *optimized = NULL;
    nl_kept_rows *made = NULL;
    NL_TRY(nl_optimize(batch->planning, plan, &optimized));
    NL_TRY(nl_kept_rows_new(nl_state_row_type(batch, plan->columns, plan->column_count), batch->memory, batch->query->spill_directory, &made));
    nl_status status = nl_kept_rows_run(made, batch->query, optimized);
    if (status)
        nl_kept_rows_release(made);
    else
        *rows = made;
    return status;
}

const nl_logical *nl_state_with_flag(nl_state_batch *batch, const nl_logical *child, const char *name, bool value)
{
    nl_arena *arena = batch->planning->arena;
    const uint32_t count = child->column_count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = child->columns[i];
        exprs[i] = nl_column_ref(arena, &columns[i]);
    }
    columns[count] = (nl_column){.id = nl_plan_new_id(batch->planning), .name = nl_str_from(name), .type = nl_type_boolean()};
    exprs[count] = nl_expr_boolean(arena, value);
    return nl_logical_project(arena, child, columns, exprs, count + 1);
}

const nl_logical *nl_state_renamed(nl_state_batch *batch, const nl_logical *child)
{
    nl_arena *arena = batch->planning->arena;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, child->column_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, child->column_count + 1);
    for (uint32_t i = 0; i < child->column_count; i++) {
        columns[i] = child->columns[i];
        columns[i].id = nl_plan_new_id(batch->planning);
        columns[i].is_nullable = true;
        exprs[i] = nl_column_ref(arena, &child->columns[i]);
    }
    return nl_logical_project(arena, child, columns, exprs, child->column_count);
}

nl_status nl_state_union(nl_state_batch *batch, const nl_logical *a, const nl_logical *b, const nl_logical **both)
{
    nl_arena *arena = batch->planning->arena;
    NL_CHECK(a->column_count == b->column_count);
    const nl_logical *children[] = {a, b};
    nl_logical *set = nl_logical_new(arena, NL_PLAN_SET, children, 2);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, a->column_count + 1);
    for (uint32_t i = 0; i < a->column_count; i++) {
        columns[i] = a->columns[i];
        columns[i].id = nl_plan_new_id(batch->planning);
        columns[i].is_nullable = true;
    }
    set->columns = columns;
    set->column_count = a->column_count;
    set->set.kind = NL_SET_UNION_ALL;
    *both = set;
    return NULL;
}

nl_status nl_state_same_keys(nl_state_batch *batch, const nl_logical *a, const nl_logical *b, uint32_t key_count, const nl_expr **condition)
{
    nl_arena *arena = batch->planning->arena;
    const nl_expr *all = NULL;
    for (uint32_t i = 0; i < key_count; i++) {
        const nl_expr *const sides[] = {nl_column_ref(arena, &a->columns[i]), nl_column_ref(arena, &b->columns[i])};
        const nl_expr *equal = NULL;
        NL_TRY(nl_expr_call_named(arena, batch->planning->confs, "<=>", sides, 2, &equal));
        all = nl_expr_and(arena, all, equal);
    }
    *condition = all;
    return NULL;
}

nl_status nl_state_anti_join(nl_state_batch *batch, const nl_logical *left, const nl_logical *right, uint32_t key_count, const nl_logical **plan)
{
    const nl_expr *condition = NULL;
    NL_TRY(nl_state_same_keys(batch, left, right, key_count, &condition));
    *plan = nl_logical_join(batch->planning->arena, NL_JOIN_ANTI, left, right, condition);
    return NULL;
}

const nl_logical *nl_state_where(nl_state_batch *batch, const nl_logical *child, const nl_expr *condition, bool is_true)
{
    nl_arena *arena = batch->planning->arena;
    const nl_expr *sides[] = {condition, nl_expr_boolean(arena, false)};
    const nl_expr *known = nl_expr_coalesce(arena, sides, 2);
    return nl_logical_filter(arena, child, is_true ? known : nl_expr_not(arena, known));
}

void nl_state_count(nl_state_batch *batch, const nl_state_counts *counts)
{
    nl_state_counts *kept = NL_NEW(batch->counts_arena, nl_state_counts);
    *kept = *counts;
    nl_list_add(batch->counts_arena, batch->counts, kept);
}
