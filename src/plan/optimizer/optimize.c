/* The fixed order of the rules. EXPLAIN and tests name rules by their place here (bits of disabled_rules). */
#include "plan/optimizer/rules.h"

const nl_rule nl_rules[] = {
    {"remove aliases", nl_rule_remove_aliases, true},
    {"inline common table expressions", nl_rule_inline_ctes, false},
    {"number partitions", nl_rule_number_partitions, true},
    {"name input files", nl_rule_name_input_files, true},
    {"simplify expressions", nl_rule_simplify, false},
    {"sort map keys", nl_rule_sort_map_keys, true},
    {"rewrite set operations", nl_rule_rewrite_sets, true},
    {"key collations", nl_rule_key_collations, true},
    {"unnest subqueries", nl_rule_unnest_subqueries, true},
    {"push filters", nl_rule_push_filters, false},
    {"simplify expressions again", nl_rule_simplify, false},
    {"check cross joins", nl_rule_check_cross_joins, true},
    {"order joins", nl_rule_order_joins, false},
    {"push semi joins", nl_rule_push_semi_joins, false},
    {"remove empty relations", nl_rule_remove_empty, false},
    {"prune columns", nl_rule_prune_columns, false},
    {"merge projections", nl_rule_merge_projects, false},
    {"use metadata", nl_rule_use_metadata, false},
    {"push limits", nl_rule_push_limits, false},
    {"extract python functions", nl_rule_extract_python, true},
    {"choose build sides", nl_rule_choose_build_sides, false},
};
const uint32_t nl_rule_count = NL_COUNT(nl_rules);

/* The root's columns as the analyzer gave them: same ids, names and order. */
static const nl_logical *keep_output(nl_arena *arena, const nl_logical *analyzed, const nl_logical *optimized)
{
    bool is_same = analyzed->column_count == optimized->column_count;
    for (uint32_t i = 0; is_same && i < analyzed->column_count; i++)
        is_same = analyzed->columns[i].id == optimized->columns[i].id;
    if (!is_same) return nl_logical_keep(arena, optimized, analyzed->columns, analyzed->column_count);
    nl_logical *copy = nl_logical_copy(arena, optimized);
    copy->columns = analyzed->columns;
    return copy;
}

typedef struct subquery_pass {
    nl_plan_context *context;
} subquery_pass;

static nl_status optimize_subquery(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    const subquery_pass *pass = context;
    *result = expr;
    if (expr->kind != NL_EXPR_SUBQUERY) return NULL;
    nl_expr *copy = NL_NEW(arena, nl_expr);
    *copy = *expr;
    NL_TRY(nl_optimize(pass->context, expr->plan, &copy->plan));
    *result = copy;
    return NULL;
}

static nl_status optimize_in_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, optimize_subquery, context, result);
}

static nl_status optimize_in_plan(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite_exprs(arena, plan, optimize_in_expr, context, result);
}

nl_status nl_optimize(nl_plan_context *context, const nl_logical *plan, const nl_logical **optimized)
{
    const nl_logical *current = plan;
    for (uint32_t i = 0; i < nl_rule_count; i++) {
        if (!nl_rules[i].is_required && (context->disabled_rules >> i & 1)) continue;
        NL_TRY_NOTE(nl_rules[i].apply(context, current, &current), "optimizing: %s", nl_rules[i].name);
        NL_TRY(nl_arena_check(context->arena));
    }
    subquery_pass pass = {.context = context};
    NL_TRY(nl_logical_rewrite(context->arena, current, optimize_in_plan, &pass, &current));
    *optimized = keep_output(context->arena, plan, current);
    return nl_arena_check(context->arena);
}
