/* count(*), count(c), min(c) and max(c) of a whole table, answered from its metadata. */
#include "plan/optimizer/rules.h"

/* The scan below projections that only pass columns on. */
static const nl_logical *scan_below(const nl_logical *plan)
{
    while (plan->kind == NL_PLAN_PROJECT) {
        for (uint32_t i = 0; i < plan->column_count; i++)
            if (plan->project.exprs[i]->kind != NL_EXPR_COLUMN || plan->project.exprs[i]->column != plan->columns[i].id) return NULL;
        plan = plan->children[0];
    }
    return plan->kind == NL_PLAN_SCAN ? plan : NULL;
}

static bool question(const nl_logical *scan, const nl_expr *call, char *kind, uint32_t *column)
{
    if (call->is_distinct || call->filter || call->child_count != 1) return false;
    const char *name = call->call->row->name;
    const nl_expr *argument = call->children[0];
    *column = 0;
    if (strcmp(name, "count") == 0 && argument->kind == NL_EXPR_LITERAL && !argument->value.is_null) {
        *kind = '*';
        return true;
    }
    *kind = strcmp(name, "count") == 0 ? 'n' : strcmp(name, "min") == 0 ? '<' : strcmp(name, "max") == 0 ? '>' : '\0';
    if (*kind == '\0' || argument->kind != NL_EXPR_COLUMN) return false;
    for (uint32_t i = 0; i < scan->column_count; i++) {
        if (scan->columns[i].id != argument->column) continue;
        *column = scan->scan.table_columns[i];
        return *column < scan->scan.table->row_type->child_count;
    }
    return false;
}

static nl_status answer(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    (void)context;
    *result = plan;
    if (plan->kind != NL_PLAN_AGGREGATE || plan->aggregate.key_count || plan->aggregate.grouping_sets) return NULL;
    const nl_logical *scan = scan_below(plan->children[0]);
    if (!scan || !scan->scan.table->ops->aggregate_from_metadata || scan->scan.limit >= 0) return NULL;
    const uint32_t count = plan->aggregate.aggregate_count;
    char *kinds = NL_NEW_ARRAY(arena, char, count + 1);
    uint32_t *columns = NL_NEW_ARRAY(arena, uint32_t, count + 1);
    nl_value *values = NL_NEW_ARRAY(arena, nl_value, count + 1);
    for (uint32_t i = 0; i < count; i++)
        if (!question(scan, plan->aggregate.aggregates[i], &kinds[i], &columns[i])) return NULL;
    bool is_known = false;
    NL_TRY(scan->scan.table->ops->aggregate_from_metadata(scan->scan.table, scan, kinds, columns, count, arena, values, &is_known));
    if (!is_known || count == 0) return NULL;
    const nl_expr **cells = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    const nl_expr *const **rows = NL_NEW_ARRAY(arena, const nl_expr *const *, 1);
    for (uint32_t i = 0; i < count; i++) cells[i] = nl_expr_cast(arena, nl_expr_literal(arena, &values[i]), plan->columns[i].type, NL_CAST_ANSI);
    rows[0] = cells;
    nl_logical *made = nl_logical_new(arena, NL_PLAN_VALUES, NULL, 0);
    made->columns = plan->columns;
    made->column_count = plan->column_count;
    made->values.rows = rows;
    made->values.row_count = 1;
    *result = made;
    return NULL;
}

nl_status nl_rule_use_metadata(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(context->arena, plan, answer, context, result);
}
