/* WITH: definitions are analyzed where they are declared; one that is used once is put in its place, one that is used
 * more often becomes a CTE node that exec computes once. */
#include "plan/analyzer/analyzer.h"

static nl_status check_names(nl_env *env, const nl_ast_ctes *ctes)
{
    nl_arena *arena = env->context->arena;
    for (uint32_t i = 0; i < ctes->count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (nl_str_equal_nocase(ctes->items[i].name.text, ctes->items[j].name.text))
                return NL_RAISE(DUPLICATED_CTE_NAMES, NL_P_STR("duplicateNames", nl_quote_name(arena, ctes->items[j].name.text)));
    return NULL;
}

static bool is_known(const nl_env *env, nl_str name)
{
    for (const nl_an_cte *cte = env->ctes; cte; cte = cte->next)
        if (nl_str_equal_nocase(cte->name, name)) return true;
    return false;
}

/* spark.sql.legacy.ctePrecedencePolicy=EXCEPTION: the query of a definition, or of a subquery in an expression, may not
 * define a name again. */
static nl_status check_precedence(const nl_env *env, const nl_ast_ctes *ctes)
{
    if (!env->is_definition || !nl_env_is_set(env, "spark.sql.legacy.ctePrecedencePolicy", "EXCEPTION")) return NULL;
    for (uint32_t i = 0; i < ctes->count; i++)
        if (is_known(env, ctes->items[i].name.text))
            return NL_RAISE(AMBIGUOUS_ALIAS_IN_NESTED_CTE, NL_P_STR("name", nl_quote_name(env->context->arena, ctes->items[i].name.text)),
                            NL_P("config", "\"spark.sql.legacy.ctePrecedencePolicy\""), NL_P("docroot", "https://spark.apache.org/docs/latest"));
    return NULL;
}

nl_status nl_declare_ctes(nl_env *env, nl_scope *outer, const nl_ast_ctes *ctes, nl_env *inner)
{
    nl_plan_context *context = env->context;
    *inner = *env;
    inner->is_definition = false;
    inner->is_foreign = false;
    NL_TRY(check_names(env, ctes));
    NL_TRY(check_precedence(env, ctes));
    const bool is_legacy = nl_env_is_set(env, "spark.sql.legacy.ctePrecedencePolicy", "LEGACY");
    if (is_legacy && ctes->is_recursive) return NL_RAISE(RECURSIVE_CTE_IN_LEGACY_MODE);
    if (is_legacy && env->is_foreign) { /* the outer definitions win, but are not seen by the inner ones */
        inner->outer_ctes = env;
        inner->ctes = NULL;
    }
    for (uint32_t i = 0; i < ctes->count; i++) {
        const nl_ast_cte *written = &ctes->items[i];
        nl_an_cte *cte = NL_NEW(context->arena, nl_an_cte);
        const nl_logical *definition = NULL;
        nl_env within = *inner;
        nl_an_cte itself = {.next = inner->ctes, .name = written->name.text};
        if (ctes->is_recursive) within.ctes = &itself;
        within.outer_ctes = NULL;
        within.is_definition = within.is_foreign = true;
        NL_TRY(nl_analyze_query_in(&within, outer, written->query, &definition));
        NL_TRY(nl_alias_plan(inner, definition, &written->name.text, 1, &written->columns, written->range, &definition));
        cte->name = written->name.text;
        cte->id = nl_plan_new_id(context);
        cte->definition = definition;
        cte->next = inner->ctes;
        inner->ctes = cte;
    }
    return NULL;
}

/* ---- putting single uses in place ---- */

typedef struct inliner {
    nl_plan_context *context;
    const nl_an_cte *cte;
    bool is_copy; /* every use gets a copy with new ids */
} inliner;

static nl_status inline_in_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result);

/* The definition under the reference's column ids. */
static nl_status place_definition(const inliner *in, const nl_logical *ref, const nl_logical **result)
{
    nl_arena *arena = in->context->arena;
    const nl_logical *definition = in->cte->definition;
    if (in->is_copy) NL_TRY(nl_plan_fresh(in->context, definition, &definition));
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, ref->column_count + 1);
    for (uint32_t i = 0; i < ref->column_count; i++) exprs[i] = nl_column_ref(arena, &definition->columns[i]);
    *result = nl_logical_project(arena, definition, ref->columns, exprs, ref->column_count);
    return NULL;
}

static nl_status inline_in_plan(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    const inliner *in = context;
    if (plan->kind == NL_PLAN_CTE_REF && plan->cte.id == in->cte->id) return place_definition(in, plan, result);
    return nl_logical_rewrite_exprs(arena, plan, inline_in_expr, context, result);
}

static nl_status inline_subquery(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    *result = expr;
    if (expr->kind != NL_EXPR_SUBQUERY) return NULL;
    const nl_logical *plan = NULL;
    NL_TRY(nl_logical_rewrite(arena, expr->plan, inline_in_plan, context, &plan));
    if (plan == expr->plan) return NULL;
    nl_expr *copy = NL_NEW(arena, nl_expr);
    *copy = *expr;
    copy->plan = plan;
    *result = copy;
    return NULL;
}

static nl_status inline_in_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, inline_subquery, context, result);
}

static bool is_correlated(nl_arena *arena, const nl_logical *plan)
{
    nl_list outer = {0};
    nl_plan_outer_columns(arena, plan, &outer);
    return outer.count != 0;
}

/* Newest first: a definition may use the ones declared before it, and its uses of those count after it is placed. */
nl_status nl_finish_ctes(nl_env *env, const nl_env *inner, const nl_logical *body, const nl_logical **plan)
{
    nl_arena *arena = env->context->arena;
    for (const nl_an_cte *cte = inner->ctes; cte && cte != env->ctes; cte = cte->next) {
        if (cte->use_count == 0) continue;
        const bool is_copy = cte->use_count > 1 && (is_correlated(arena, cte->definition) || is_correlated(arena, body));
        if (cte->use_count == 1 || is_copy) {
            inliner in = {.context = env->context, .cte = cte, .is_copy = is_copy};
            NL_TRY(nl_logical_rewrite(arena, body, inline_in_plan, &in, &body));
            continue;
        }
        nl_logical *node = nl_logical_new(arena, NL_PLAN_CTE, &body, 1);
        node->columns = body->columns;
        node->column_count = body->column_count;
        node->cte.id = cte->id;
        node->cte.definition = cte->definition;
        body = node;
    }
    *plan = body;
    return NULL;
}

nl_status nl_place_ctes(nl_env *env, const nl_env *inner, const nl_expr *expr, const nl_expr **result)
{
    for (const nl_an_cte *cte = inner->ctes; cte && cte != env->ctes; cte = cte->next) {
        inliner in = {.context = env->context, .cte = cte, .is_copy = cte->use_count > 1};
        if (cte->use_count > 0) NL_TRY(inline_in_expr(&in, env->context->arena, expr, &expr));
    }
    *result = expr;
    return NULL;
}
