/* Projections over projections become one, and a projection that changes nothing goes. */
#include "plan/optimizer/rules.h"

static bool changes_nothing(const nl_logical *plan)
{
    const nl_logical *child = plan->children[0];
    if (plan->column_count != child->column_count) return false;
    for (uint32_t i = 0; i < plan->column_count; i++) {
        const nl_expr *expr = plan->project.exprs[i];
        if (expr->kind != NL_EXPR_COLUMN || expr->column != plan->columns[i].id || child->columns[i].id != expr->column) return false;
    }
    return true;
}

typedef struct use_counter {
    const nl_logical *below;
    uint32_t *counts;
} use_counter;

static bool count_use(void *context, const nl_expr *expr)
{
    use_counter *c = context;
    if (expr->kind != NL_EXPR_COLUMN) return true;
    for (uint32_t i = 0; i < c->below->column_count; i++)
        if (c->below->columns[i].id == expr->column) c->counts[i]++;
    return true;
}

static bool is_trivial(const nl_expr *expr)
{
    return expr->kind == NL_EXPR_COLUMN || expr->kind == NL_EXPR_LITERAL;
}

/* Merging must not compute anything twice, nor call rand() another number of times. */
static bool may_merge(nl_arena *arena, const nl_logical *above, const nl_logical *below)
{
    use_counter counter = {.below = below, .counts = NL_NEW_ARRAY(arena, uint32_t, below->column_count + 1)};
    for (uint32_t i = 0; i < above->column_count; i++) nl_expr_walk(above->project.exprs[i], count_use, &counter);
    for (uint32_t i = 0; i < below->column_count; i++) {
        const nl_expr *expr = below->project.exprs[i];
        if (!nl_expr_is_deterministic(expr)) return false;
        if (counter.counts[i] > 1 && !is_trivial(expr)) return false;
    }
    return true;
}

static nl_status merge(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    (void)context;
    *result = plan;
    if (plan->kind != NL_PLAN_PROJECT) return NULL;
    if (changes_nothing(plan)) {
        *result = plan->children[0];
        return NULL;
    }
    const nl_logical *below = plan->children[0];
    if (below->kind != NL_PLAN_PROJECT || !may_merge(arena, plan, below)) return NULL;
    const nl_substitution substitution = {below->columns, below->project.exprs, below->column_count};
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, plan->column_count + 1);
    for (uint32_t i = 0; i < plan->column_count; i++) NL_TRY(nl_substitute(arena, plan->project.exprs[i], &substitution, &exprs[i]));
    *result = nl_logical_project(arena, below->children[0], plan->columns, exprs, plan->column_count);
    if (changes_nothing(*result)) *result = below->children[0];
    return NULL;
}

nl_status nl_rule_merge_projects(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(context->arena, plan, merge, context, result);
}
