/* A copy of a plan whose columns have new ids, so that one plan can be used twice in another. */
#include "plan/analyzer/analyzer.h"

typedef struct renaming {
    nl_plan_context *context;
    nl_list from; /* ids */
    nl_list to;
} renaming;

static nl_column_id renamed(const renaming *r, nl_column_id id)
{
    for (uint32_t i = r->from.count; i-- > 0;)
        if ((uintptr_t)r->from.items[i] == id) return (nl_column_id)(uintptr_t)r->to.items[i];
    return id;
}

static nl_column_id rename_new(renaming *r, nl_column_id id)
{
    const nl_column_id known = renamed(r, id);
    if (known != id) return known;
    const nl_column_id fresh = nl_plan_new_id(r->context);
    nl_list_add(r->context->arena, &r->from, (void *)(uintptr_t)id);
    nl_list_add(r->context->arena, &r->to, (void *)(uintptr_t)fresh);
    return fresh;
}

static nl_status fresh_plan(renaming *r, const nl_logical *plan, const nl_logical **result);
static nl_status rename_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result);

/* Columns, and the lambda variables that belong to a copied lambda (their ids are the plan's too). */
static nl_status rename_node(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    renaming *r = context;
    *result = expr;
    if (expr->kind == NL_EXPR_COLUMN || expr->kind == NL_EXPR_OUTER) {
        const nl_column_id id = renamed(r, expr->column);
        if (id == expr->column) return NULL;
        nl_expr *copy = NL_NEW(arena, nl_expr);
        *copy = *expr;
        copy->column = id;
        *result = copy;
    } else if (expr->kind == NL_EXPR_SUBQUERY) {
        nl_expr *copy = NL_NEW(arena, nl_expr);
        *copy = *expr;
        NL_TRY(fresh_plan(r, expr->plan, &copy->plan));
        *result = copy;
    }
    return NULL;
}

static nl_status rename_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, rename_node, context, result);
}

static nl_status fresh_plan(renaming *r, const nl_logical *plan, const nl_logical **result)
{
    nl_arena *arena = r->context->arena;
    const nl_logical **children = NL_NEW_ARRAY(arena, const nl_logical *, plan->child_count + 1);
    nl_logical node = *plan;
    if (plan->kind == NL_PLAN_CTE) node.cte.id = rename_new(r, plan->cte.id); /* filters and columns of its uses are its own */
    if (plan->kind == NL_PLAN_CTE_REF) node.cte.id = renamed(r, plan->cte.id);
    if (plan->kind == NL_PLAN_CTE && plan->cte.definition) NL_TRY(fresh_plan(r, plan->cte.definition, &node.cte.definition));
    for (uint32_t i = 0; i < plan->child_count; i++) NL_TRY(fresh_plan(r, plan->children[i], &children[i]));
    node.children = children;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, plan->column_count + 1);
    for (uint32_t i = 0; i < plan->column_count; i++) {
        columns[i] = plan->columns[i];
        columns[i].id = rename_new(r, columns[i].id);
    }
    node.columns = columns;
    nl_logical *copy = NL_NEW(arena, nl_logical);
    *copy = node;
    return nl_logical_rewrite_exprs(arena, copy, rename_expr, r, result);
}

nl_status nl_plan_fresh(nl_plan_context *context, const nl_logical *plan, const nl_logical **fresh)
{
    renaming r = {.context = context};
    return fresh_plan(&r, plan, fresh);
}
