/* spark.sql.crossJoin.enabled=false: a join without CROSS must have a condition between its sides. Looked at when filters
 * have been pushed, which makes conditions of joins out of those of WHERE. */
#include "plan/optimizer/rules.h"

#include "session/session.h"

typedef struct sides {
    const nl_logical *join;
    bool has_left, has_right;
} sides;

static bool look(void *context, const nl_expr *expr)
{
    sides *s = context;
    if (expr->kind != NL_EXPR_COLUMN) return true;
    s->has_left = s->has_left || nl_logical_find_column(s->join->children[0], expr->column);
    s->has_right = s->has_right || nl_logical_find_column(s->join->children[1], expr->column);
    return true;
}

static bool is_between(nl_arena *arena, const nl_logical *join)
{
    nl_list conjuncts = {0};
    if (join->join.condition) nl_expr_conjuncts(arena, join->join.condition, &conjuncts);
    for (uint32_t i = 0; i < conjuncts.count; i++) {
        sides s = {.join = join};
        nl_expr_walk(conjuncts.items[i], look, &s);
        if (s.has_left && s.has_right) return true;
    }
    return false;
}

static nl_str text_of(nl_arena *arena, const nl_logical *plan)
{
    nl_builder text;
    nl_builder_init(&text, 1u << 16);
    nl_logical_append_text(plan, &text);
    const nl_str copy = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return copy;
}

static nl_status check(nl_arena *arena, const nl_logical *plan)
{
    static const struct {
        nl_join_kind kind;
        const char *name;
    } kinds[] = {{NL_JOIN_INNER, "INNER"}, {NL_JOIN_CROSS, "INNER"}, {NL_JOIN_LEFT, "LEFT OUTER"}, {NL_JOIN_RIGHT, "RIGHT OUTER"}, {NL_JOIN_FULL, "FULL OUTER"}};
    for (uint32_t i = 0; i < plan->child_count; i++) NL_TRY(check(arena, plan->children[i]));
    for (size_t k = 0; plan->kind == NL_PLAN_JOIN && k < NL_COUNT(kinds); k++)
        if (plan->join.kind == kinds[k].kind && !is_between(arena, plan))
            return NL_RAISE(_LEGACY_ERROR_TEMP_1211, NL_P("joinType", kinds[k].name), NL_P_STR("leftPlan", text_of(arena, plan->children[0])),
                            NL_P_STR("rightPlan", text_of(arena, plan->children[1])));
    return NULL;
}

nl_status nl_rule_check_cross_joins(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    *result = plan;
    const nl_session *session = context->confs->session;
    if (!session || nl_session_get_bool(session, "spark.sql.crossJoin.enabled")) return NULL;
    return check(context->arena, plan);
}
