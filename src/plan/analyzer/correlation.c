/* What a subquery may not do with columns of the query around it, and aggregates over them: those of HAVING's subqueries
 * belong to the SELECT that HAVING is of. */
#include "plan/analyzer/analyzer.h"

typedef struct mentions {
    nl_arena *arena;
    bool has_outer, has_local;
} mentions;

static bool look(void *context, const nl_expr *expr)
{
    mentions *m = context;
    m->has_outer = m->has_outer || expr->kind == NL_EXPR_OUTER;
    m->has_local = m->has_local || expr->kind == NL_EXPR_COLUMN;
    if (expr->kind != NL_EXPR_SUBQUERY) return true;
    nl_list outer = {0};
    nl_plan_outer_columns(m->arena, expr->plan, &outer);
    m->has_local = m->has_local || outer.count;
    return true;
}

static mentions mentions_of(nl_arena *arena, const nl_expr *expr)
{
    mentions m = {.arena = arena};
    nl_expr_walk(expr, look, &m);
    return m;
}

/* The text without the marks of outer columns: outer(t.a) is a. */
static nl_str without_marks(nl_arena *arena, nl_str text)
{
    const nl_str mark = NL_STR("outer(");
    char *out = nl_arena_alloc(arena, text.length + 1);
    size_t length = 0;
    for (size_t at = 0; at < text.length;) {
        const nl_str rest = nl_str_slice(text, at, text.length);
        const size_t stop = nl_str_starts(rest, mark) ? nl_str_find_char(rest, ')', 0) : NL_NOT_FOUND;
        if (stop == NL_NOT_FOUND) {
            out[length++] = text.data[at++];
            continue;
        }
        const nl_str inside = nl_str_slice(rest, mark.length, stop);
        const size_t point = nl_str_find_last_char(inside, '.');
        const nl_str name = nl_str_slice(inside, point == NL_NOT_FOUND ? 0 : point + 1, inside.length);
        memcpy(out + length, name.data, name.length);
        length += name.length;
        at += stop + 1;
    }
    return (nl_str){out, length};
}

/* ---- outer columns where only filters, projections and joins may have them ---- */

static bool is_plain_name(nl_str name)
{
    for (size_t i = 0; i < name.length; i++) {
        const char c = name.data[i];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && (i == 0 || c < '0' || c > '9')) return false;
    }
    return name.length > 0;
}

void nl_misplaced_add(nl_arena *arena, nl_list *misplaced, const nl_expr *expr, nl_str alias)
{
    if (!mentions_of(arena, expr).has_outer) return;
    nl_str text = without_marks(arena, nl_expr_pretty_str(arena, expr));
    if (alias.data && !(expr->kind == NL_EXPR_OUTER && nl_str_equal(alias, text)))
        text = nl_arena_f(arena, NL_STR_FMT " AS " NL_STR_FMT, NL_STR_ARG(text), NL_STR_ARG(is_plain_name(alias) ? alias : nl_quote_name(arena, alias)));
    nl_str *quoted = NL_NEW(arena, nl_str);
    *quoted = nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(text));
    nl_list_add(arena, misplaced, quoted);
}

nl_status nl_misplaced_raise(nl_arena *arena, const nl_list *misplaced)
{
    if (misplaced->count == 0) return NULL;
    nl_str *texts = NL_NEW_ARRAY(arena, nl_str, misplaced->count);
    for (uint32_t i = 0; i < misplaced->count; i++) texts[i] = *(const nl_str *)misplaced->items[i];
    return NL_RAISE(UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY__CORRELATED_REFERENCE, NL_P_STR("sqlExprs", nl_join_texts(arena, texts, misplaced->count, ",")));
}

static bool find_in_window(void *context, const nl_expr *expr)
{
    bool *is_found = context;
    if (expr->kind != NL_EXPR_WINDOW) return true;
    for (uint32_t i = 0; i < expr->child_count; i++) *is_found = *is_found || expr->children[i]->kind == NL_EXPR_OUTER;
    for (uint32_t i = 0; i < expr->window->partition_count; i++) *is_found = *is_found || expr->window->partition_by[i]->kind == NL_EXPR_OUTER;
    for (uint32_t i = 0; i < expr->window->order_count; i++) *is_found = *is_found || expr->window->order_by[i].expr->kind == NL_EXPR_OUTER;
    return true;
}

/* Spark computes expressions over outer columns below the window; only a bare one stays inside. */
bool nl_window_has_outer(const nl_expr *expr)
{
    bool is_found = false;
    nl_expr_walk(expr, find_in_window, &is_found);
    return is_found;
}

/* ---- lateral joins and conditions of joins ---- */

static bool is_deterministic(void *context, const nl_expr *expr)
{
    (void)context;
    return nl_expr_is_deterministic(expr);
}

static bool is_deterministic_plan(const nl_logical *plan)
{
    if (!nl_logical_walk_exprs(plan, is_deterministic, NULL)) return false;
    for (uint32_t i = 0; i < plan->child_count; i++)
        if (!is_deterministic_plan(plan->children[i])) return false;
    return true;
}

static nl_str text_of(nl_arena *arena, const nl_logical *plan)
{
    nl_builder text;
    nl_builder_init(&text, NL_TEXT_BYTES_MAX);
    nl_logical_append_text(plan, &text);
    const nl_str copy = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return copy;
}

static bool is_one_row(const nl_logical *plan)
{
    if (plan->kind == NL_PLAN_VALUES) return plan->values.row_count <= 1;
    if (plan->kind == NL_PLAN_AGGREGATE) return plan->aggregate.key_count == 0 && !plan->aggregate.grouping_sets;
    if (plan->kind == NL_PLAN_LIMIT && plan->limit.limit >= 0 && plan->limit.limit <= 1) return true;
    return plan->child_count == 1 && plan->kind != NL_PLAN_GENERATE && is_one_row(plan->children[0]);
}

nl_status nl_check_lateral(nl_env *env, const nl_logical *left, const nl_logical *right, const nl_expr *condition)
{
    nl_arena *arena = env->context->arena;
    if (!is_one_row(left) && !is_deterministic_plan(right))
        return NL_RAISE(UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY__NON_DETERMINISTIC_LATERAL_SUBQUERIES, NL_P_STR("treeNode", text_of(arena, right)));
    if (condition && !nl_expr_is_deterministic(condition))
        return NL_RAISE(UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY__LATERAL_JOIN_CONDITION_NON_DETERMINISTIC,
                        NL_P_STR("condition", nl_expr_pretty_str(arena, condition)));
    return NULL;
}

typedef struct join_look {
    nl_arena *arena;
    const nl_logical *left, *right;
    const nl_expr *found; /* a subquery that mentions both sides */
    const nl_expr *scalar; /* a correlated scalar one            */
} join_look;

static bool look_for_both(void *context, const nl_expr *expr)
{
    join_look *j = context;
    if (expr->kind != NL_EXPR_SUBQUERY) return true;
    nl_list outer = {0};
    bool has_left = false, has_right = false;
    nl_plan_outer_columns(j->arena, expr->plan, &outer);
    for (uint32_t i = 0; i < outer.count; i++) {
        const nl_column_id id = ((const nl_expr *)outer.items[i])->column;
        has_left = has_left || nl_logical_find_column(j->left, id);
        has_right = has_right || nl_logical_find_column(j->right, id);
    }
    if (expr->subquery_kind == NL_SUBQUERY_SCALAR && outer.count) j->scalar = expr;
    if (has_left && has_right) j->found = expr;
    return !j->found;
}

nl_status nl_check_join_subqueries(nl_env *env, const nl_logical *left, const nl_logical *right, const nl_expr *condition)
{
    join_look j = {.arena = env->context->arena, .left = left, .right = right};
    nl_expr_walk(condition, look_for_both, &j);
    if (j.scalar)
        return NL_RAISE(UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY__UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY, NL_P_STR("treeNode", nl_expr_pretty_str(j.arena, j.scalar)));
    if (!j.found) return NULL;
    return NL_RAISE(UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY__UNSUPPORTED_CORRELATED_EXPRESSION_IN_JOIN_CONDITION,
                    NL_P_STR("subqueryExpression", nl_expr_pretty_str(j.arena, j.found)));
}

/* ---- aggregates over outer columns ---- */

static nl_status to_column(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    (void)context;
    *result = expr;
    if (expr->kind != NL_EXPR_OUTER) return NULL;
    nl_expr *column = NL_NEW(arena, nl_expr);
    *column = *nl_expr_column(arena, expr->column, expr->name, expr->type, expr->is_nullable);
    column->span = expr->span;
    *result = column;
    return NULL;
}

nl_status nl_settle_outer_aggregate(nl_scope *scope, const nl_expr **aggregate)
{
    nl_arena *arena = nl_scope_arena(scope);
    const mentions m = mentions_of(arena, *aggregate);
    if (!m.has_outer || !scope->outer || scope->env->functions) return NULL;
    if (m.has_local)
        return NL_RAISE(UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY__AGGREGATE_FUNCTION_MIXED_OUTER_LOCAL_REFERENCES,
                        NL_P_STR("function", nl_attribute_text(arena, *aggregate, scope)));
    nl_list *known = scope->outer->outer_aggregates;
    if (!known) return NULL; /* refused with the SELECT that it makes an aggregation of */
    nl_outer_aggregate *found = NULL;
    const nl_expr *own = NULL;
    NL_TRY(nl_expr_rewrite(arena, *aggregate, to_column, NULL, &own));
    for (uint32_t i = 0; i < known->count && !found; i++)
        if (nl_expr_equal(((const nl_outer_aggregate *)known->items[i])->expr, own)) found = known->items[i];
    if (!found) {
        found = NL_NEW(arena, nl_outer_aggregate);
        *found = (nl_outer_aggregate){.id = nl_plan_new_id(scope->env->context), .expr = own};
        nl_list_add(arena, known, found);
    }
    const nl_str text = without_marks(arena, nl_expr_pretty_str(arena, *aggregate));
    const nl_expr *column = nl_expr_outer(arena, nl_expr_column(arena, found->id, text, own->type, own->is_nullable));
    *aggregate = nl_expr_with_span(arena, nl_expr_with_pretty(arena, column, nl_pretty_text(arena, text)), (*aggregate)->span);
    return NULL;
}

typedef struct outer_map {
    const nl_column_id *from;
    const nl_column *const *to;
    uint32_t count;
} outer_map;

static nl_status map_outer(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    const outer_map *map = context;
    *result = expr;
    if (expr->kind != NL_EXPR_OUTER) return NULL;
    for (uint32_t i = 0; i < map->count; i++)
        if (map->from[i] == expr->column) *result = nl_expr_outer(arena, nl_column_ref(arena, map->to[i]));
    return NULL;
}

static nl_status map_in_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, map_outer, context, result);
}

static nl_status map_in_plan(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite_exprs(arena, plan, map_in_expr, context, result);
}

nl_status nl_map_outer_columns(nl_arena *arena, const nl_expr *subquery, const nl_column_id *from, const nl_column *const *to, uint32_t count,
                               const nl_expr **result)
{
    outer_map map = {.from = from, .to = to, .count = count};
    const nl_logical *plan = NULL;
    NL_TRY(nl_logical_rewrite(arena, subquery->plan, map_in_plan, &map, &plan));
    *result = subquery;
    if (plan == subquery->plan) return NULL;
    nl_expr *copy = NL_NEW(arena, nl_expr);
    *copy = *subquery;
    copy->plan = plan;
    *result = copy;
    return NULL;
}
