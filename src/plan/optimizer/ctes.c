/* A definition that is cheap to run again (a scan with filters and projections, rows of constants) is put in place of
 * every use: filters and pruning then reach into each copy. Others are computed once, of the rows that some use asks for. */
#include "plan/analyzer/analyzer.h"
#include "plan/optimizer/rules.h"

/* ---- definitions ---- */

typedef struct definition {
    uint32_t id;
    const nl_logical *plan;
} definition;

static definition *find_definition(const nl_plan_context *context, uint32_t id)
{
    for (uint32_t i = 0; i < context->definitions.count; i++) {
        definition *known = context->definitions.items[i];
        if (known->id == id) return known;
    }
    return NULL;
}

void nl_note_definition(nl_plan_context *context, uint32_t id, const nl_logical *plan)
{
    definition *known = find_definition(context, id);
    if (!known) {
        known = NL_NEW(context->arena, definition);
        known->id = id;
        nl_list_add(context->arena, &context->definitions, known);
    }
    known->plan = plan;
}

const nl_logical *nl_current_definition(const nl_plan_context *context, const nl_logical *plan)
{
    const definition *known = find_definition(context, plan->cte.id);
    return known ? known->plan : plan->cte.definition;
}

/* ---- in place of uses ---- */

static bool has_subquery(void *context, const nl_expr *expr)
{
    (void)context;
    return !nl_expr_has(expr, NL_EXPR_SUBQUERY);
}

static bool is_cheap(const nl_logical *plan)
{
    if (plan->kind != NL_PLAN_SCAN && plan->kind != NL_PLAN_VALUES && plan->kind != NL_PLAN_RANGE && plan->kind != NL_PLAN_PROJECT &&
        plan->kind != NL_PLAN_FILTER && plan->kind != NL_PLAN_EMPTY)
        return false;
    if (!nl_logical_walk_exprs(plan, has_subquery, NULL)) return false;
    return plan->child_count == 0 || is_cheap(plan->children[0]);
}

typedef struct cte_placing {
    nl_plan_context *context;
    uint32_t id;
    const nl_logical *definition;
} cte_placing;

static nl_status place_in_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result);

static nl_status place(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    const cte_placing *p = context;
    if (plan->kind != NL_PLAN_CTE_REF || plan->cte.id != p->id) return nl_logical_rewrite_exprs(arena, plan, place_in_expr, context, result);
    const nl_logical *copy = NULL;
    NL_TRY(nl_plan_fresh(p->context, p->definition, &copy));
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, plan->column_count + 1);
    for (uint32_t i = 0; i < plan->column_count; i++) exprs[i] = nl_column_ref(arena, &copy->columns[i]);
    *result = nl_logical_project(arena, copy, plan->columns, exprs, plan->column_count);
    return NULL;
}

static nl_status place_in_subquery(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    *result = expr;
    if (expr->kind != NL_EXPR_SUBQUERY) return NULL;
    nl_expr *copy = NL_NEW(arena, nl_expr);
    *copy = *expr;
    NL_TRY(nl_logical_rewrite(arena, expr->plan, place, context, &copy->plan));
    *result = copy;
    return NULL;
}

static nl_status place_in_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, place_in_subquery, context, result);
}

static nl_status inline_cte(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    *result = plan;
    if (plan->kind != NL_PLAN_CTE || !is_cheap(plan->cte.definition) || !nl_plan_is_deterministic(plan->cte.definition)) return NULL;
    cte_placing p = {.context = context, .id = plan->cte.id, .definition = plan->cte.definition};
    return nl_logical_rewrite(arena, plan->children[0], place, &p, result);
}

nl_status nl_rule_inline_ctes(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(context->arena, plan, inline_cte, context, result);
}

/* ---- what the uses ask for ---- */

typedef struct cte_uses {
    nl_plan_context *context;
    const nl_logical *cte;
    const nl_expr *any; /* what one of the uses asks, in the definition's columns */
    bool is_open;       /* a use wants every row */
} cte_uses;

static bool collect_uses(cte_uses *uses, const nl_logical *plan);

/* Only what cannot fail is asked of rows that other uses want as well. */
static const nl_expr *movable_part(nl_arena *arena, const nl_expr *condition)
{
    const nl_expr *part = NULL;
    nl_list conjuncts = {0};
    nl_expr_conjuncts(arena, condition, &conjuncts);
    for (uint32_t i = 0; i < conjuncts.count; i++) {
        const nl_expr *expr = conjuncts.items[i];
        if (!nl_expr_is_deterministic(expr) || nl_expr_can_fail(expr) || nl_expr_has(expr, NL_EXPR_SUBQUERY) || nl_expr_has(expr, NL_EXPR_OUTER)) continue;
        part = part ? nl_expr_and(arena, part, expr) : expr;
    }
    return part;
}

static nl_status add_use(cte_uses *uses, const nl_logical *reference, const nl_expr *condition)
{
    nl_arena *arena = uses->context->arena;
    const nl_logical *made = uses->cte->cte.definition;
    const nl_expr *part = condition ? movable_part(arena, condition) : NULL;
    uses->is_open = uses->is_open || !part;
    if (uses->is_open) return NULL;
    const nl_expr **columns = NL_NEW_ARRAY(arena, const nl_expr *, made->column_count + 1);
    for (uint32_t i = 0; i < made->column_count; i++) columns[i] = nl_column_ref(arena, &made->columns[i]);
    const nl_substitution by_place = {reference->columns, columns, reference->column_count};
    NL_TRY(nl_substitute(arena, part, &by_place, &part));
    uses->any = uses->any ? nl_expr_or(arena, uses->any, part) : part;
    return NULL;
}

static bool collect_in_expr(void *context, const nl_expr *expr);

static bool collect_in_node(void *context, const nl_expr *expr)
{
    return expr->kind != NL_EXPR_SUBQUERY || collect_uses(context, expr->plan);
}

static bool collect_in_expr(void *context, const nl_expr *expr)
{
    return nl_expr_walk(expr, collect_in_node, context);
}

static bool is_use(const cte_uses *uses, const nl_logical *plan)
{
    return plan->kind == NL_PLAN_CTE_REF && plan->cte.id == uses->cte->cte.id;
}

/* False once a use wants all. */
static bool collect_uses(cte_uses *uses, const nl_logical *plan)
{
    const nl_logical *used = plan;
    if (plan->kind == NL_PLAN_FILTER && is_use(uses, plan->children[0])) used = plan->children[0];
    if (is_use(uses, used)) {
        nl_error *failure = add_use(uses, used, used == plan ? NULL : plan->filter.condition);
        uses->is_open = uses->is_open || failure;
        nl_error_free(failure);
    }
    if (uses->is_open || !nl_logical_walk_exprs(plan, collect_in_expr, uses)) return false;
    if (used != plan) return true;
    for (uint32_t i = 0; i < plan->child_count; i++)
        if (!collect_uses(uses, plan->children[i])) return false;
    return plan->kind != NL_PLAN_CTE || collect_uses(uses, plan->cte.definition);
}

nl_status nl_cte_condition(nl_plan_context *context, const nl_logical *cte, const nl_logical *plan, const nl_expr **condition)
{
    cte_uses uses = {.context = context, .cte = cte};
    *condition = NULL;
    if (!nl_plan_is_deterministic(cte->cte.definition)) return NULL;
    if (collect_uses(&uses, plan) && !uses.is_open) *condition = uses.any;
    return nl_arena_check(context->arena);
}
