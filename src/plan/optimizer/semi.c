/* A semi or anti join over an inner join filters one of its sides: it moves there when that side has fewer rows than
 * the join puts out (TPC-H 18: the few large orders are found before their lines are joined). */
#include "plan/optimizer/rules.h"

static bool is_inner(const nl_logical *plan)
{
    return plan->kind == NL_PLAN_JOIN && !plan->join.is_lateral && (plan->join.kind == NL_JOIN_INNER || plan->join.kind == NL_JOIN_CROSS);
}

static bool only_passes(const nl_logical *plan)
{
    if (plan->kind != NL_PLAN_PROJECT) return false;
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (plan->project.exprs[i]->kind != NL_EXPR_COLUMN || plan->project.exprs[i]->column != plan->columns[i].id) return false;
    return true;
}

/* The plan with the semi join as deep inside as pays; NULL when it should stay above. */
static const nl_logical *push_into(nl_plan_context *context, const nl_logical *plan, const nl_logical *semi, const nl_id_set *keys)
{
    nl_arena *arena = context->arena;
    if (only_passes(plan)) {
        const nl_logical *child = push_into(context, plan->children[0], semi, keys);
        return child ? nl_logical_with_children(arena, plan, &child) : NULL;
    }
    if (!is_inner(plan)) return NULL;
    const double rows = nl_estimate_rows(context, plan);
    for (uint32_t side = 0; side < 2; side++) {
        const nl_logical *child = plan->children[side];
        const nl_id_set own = nl_plan_ids(arena, child);
        bool has_all = true;
        for (uint32_t w = 0; w < keys->word_count; w++)
            has_all = has_all && (keys->words[w] & ~(w < own.word_count ? own.words[w] : 0)) == 0;
        if (!has_all || nl_estimate_rows(context, child) > rows) continue;
        const nl_logical *children[2] = {plan->children[0], plan->children[1]};
        children[side] = push_into(context, child, semi, keys);
        if (!children[side]) {
            const nl_logical *join = nl_logical_join(arena, semi->join.kind, child, semi->children[1], semi->join.condition);
            children[side] = join;
        }
        return nl_logical_join(arena, plan->join.kind, children[0], children[1], plan->join.condition);
    }
    return NULL;
}

static nl_status push_semi(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    *result = plan;
    if (plan->kind != NL_PLAN_JOIN || (plan->join.kind != NL_JOIN_SEMI && plan->join.kind != NL_JOIN_ANTI) || !plan->join.condition) return NULL;
    if (!nl_expr_is_deterministic(plan->join.condition)) return NULL;
    const nl_id_set left = nl_plan_ids(arena, plan->children[0]);
    nl_id_set read = {.arena = arena};
    nl_id_set_add_expr(&read, plan->join.condition);
    nl_id_set keys = {.arena = arena};
    for (uint32_t i = 0; i < plan->children[0]->column_count; i++)
        if (nl_id_set_has(&read, plan->children[0]->columns[i].id)) nl_id_set_add(&keys, plan->children[0]->columns[i].id);
    if (keys.word_count == 0 || left.word_count == 0) return NULL;
    const nl_logical *pushed = push_into(context, plan->children[0], plan, &keys);
    if (pushed) *result = nl_logical_keep(arena, pushed, plan->columns, plan->column_count);
    return NULL;
}

nl_status nl_rule_push_semi_joins(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(context->arena, plan, push_semi, context, result);
}
