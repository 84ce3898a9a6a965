/* One SELECT: FROM, WHERE, list, GROUP BY, HAVING, ORDER BY, resolved in that order and put together bottom up:
 * filter, aggregation, HAVING, windows, generators, projection (several with lateral aliases), DISTINCT, sort, limit. */
#include "plan/analyzer/analyzer.h"

#include "session/session.h"

typedef struct selection {
    nl_env *env;
    nl_arena *arena;
    nl_scope scope;                    /* over the FROM clause */
    const nl_ast_term *term;
    const nl_ast_select *select;
    const nl_ast_organization *organization; /* or NULL */
    const nl_logical *plan;
    nl_column_set input;
    nl_items items;
    nl_list generators;                /* nl_select_generator * */
    nl_grouping grouping;
    const nl_expr *having;
    nl_sort_key *order;                /* ORDER BY, SORT BY or CLUSTER BY */
    uint32_t order_count;
    bool is_distinct;
    bool is_aggregated;
    nl_list outer_aggregates;          /* nl_outer_aggregate *: of HAVING's subqueries */
    nl_windows windows;
    nl_time_window time_window;
} selection;

/* ---- resolving ---- */

static bool find_forbidden(void *context, const nl_expr *expr)
{
    if (expr->kind != NL_EXPR_AGGREGATE && expr->kind != NL_EXPR_WINDOW) return true;
    *(const nl_expr **)context = expr;
    return false;
}

typedef struct forbidden {
    nl_arena *arena;
    const nl_scope *scope;
    nl_str list;
} forbidden;

static bool list_forbidden(void *context, const nl_expr *expr)
{
    forbidden *found = context;
    if (expr->kind != NL_EXPR_AGGREGATE && expr->kind != NL_EXPR_WINDOW) return true;
    const nl_str text = nl_attribute_text(found->arena, expr, found->scope);
    found->list = found->list.data ? nl_arena_f(found->arena, NL_STR_FMT ", " NL_STR_FMT, NL_STR_ARG(found->list), NL_STR_ARG(text)) : text;
    return expr->kind == NL_EXPR_AGGREGATE;
}

nl_status nl_check_where(const nl_scope *scope, const nl_expr *condition)
{
    nl_arena *arena = nl_scope_arena(scope);
    forbidden found = {.arena = arena, .scope = scope};
    nl_expr_walk(condition, list_forbidden, &found);
    if (!found.list.data) return NULL;
    return NL_RAISE(INVALID_WHERE_CONDITION, NL_P_STR("condition", nl_quote_expr(arena, condition)), NL_P_STR("expressionList", found.list));
}

/* The rows of which the condition, which may not aggregate, is true. */
static nl_status filter_rows(selection *s, const nl_expr *condition)
{
    NL_TRY(nl_sql_at(nl_check_where(&s->scope, condition), s->env->text, s->term->range, false));
    s->plan = nl_logical_filter(s->arena, s->plan, condition);
    return NULL;
}

static nl_status resolve_where(selection *s)
{
    if (!s->select->where) return NULL;
    const nl_expr *condition = NULL;
    s->scope.clause = NL_CLAUSE_WHERE;
    NL_TRY(nl_resolve_condition(&s->scope, s->select->where, &condition));
    return filter_rows(s, condition);
}

/* ---- window() and session_window() ---- */

static void see_time_window(selection *s)
{
    nl_column *columns = NL_NEW_ARRAY(s->arena, nl_column, s->input.count + 1);
    if (s->input.count) memcpy(columns, s->input.columns, s->input.count * sizeof *columns);
    columns[s->input.count] = s->time_window.column;
    s->input = (nl_column_set){columns, s->input.count + 1};
}

static nl_status meet_time_window(selection *s, const nl_ast_expr *expr)
{
    const nl_expr *ignored = NULL;
    const bool is_call = expr && expr->kind == NL_AST_EXPR_CALL && expr->call.name.count == 1;
    return is_call && nl_is_time_window(expr->call.name.parts[0].text) ? nl_resolve_expr(&s->scope, expr, &ignored) : NULL;
}

static nl_status find_time_window(selection *s, const nl_ast_grouping *grouping)
{
    if (grouping->kind == NL_AST_GROUP_EXPRESSION) return meet_time_window(s, grouping->expr);
    if (grouping->kind == NL_AST_GROUP_SET) {
        for (uint32_t i = 0; i < grouping->exprs.count; i++) NL_TRY(meet_time_window(s, grouping->exprs.items[i]));
        return NULL;
    }
    for (uint32_t i = 0; i < grouping->elements.count; i++) NL_TRY(find_time_window(s, grouping->elements.items[i]));
    return NULL;
}

/* GROUP BY window(…) makes a column "window" that the list may name. */
static nl_status resolve_time_window(selection *s)
{
    s->scope.time_window = &s->time_window;
    s->scope.clause = NL_CLAUSE_GROUP_BY;
    if (!s->select->group_by) return NULL;
    for (uint32_t i = 0; i < s->select->group_by->items.count; i++) NL_TRY(find_time_window(s, s->select->group_by->items.items[i]));
    if (!s->time_window.is_set) return NULL;
    for (uint32_t i = 0; i < s->input.count; i++) /* another window's column keeps its name */
        if (nl_str_equal_nocase(s->input.columns[i].name, s->time_window.column.name)) return NULL;
    see_time_window(s);
    s->scope.sets[0] = s->input;
    return NULL;
}

static nl_status add_time_window(selection *s)
{
    const bool is_seen = s->input.count && s->input.columns[s->input.count - 1].id == s->time_window.column.id;
    if (s->time_window.is_set && !is_seen) see_time_window(s);
    return nl_time_window_plan(&s->scope, &s->grouping, &s->plan);
}

/* Columns that bear an item's name give their place to it; other items come behind. */
static nl_status resolve_with_columns(selection *s)
{
    const nl_ast_expr star = {.kind = NL_AST_EXPR_STAR};
    nl_items columns = {0};
    NL_TRY(nl_resolve_items(&s->scope, &s->select->items, &s->items, &s->generators));
    NL_TRY(nl_expand_star(&s->scope, &star, &columns));
    bool *is_placed = NL_NEW_ARRAY(s->arena, bool, s->items.count + 1);
    for (uint32_t c = 0; c < columns.count; c++) {
        for (uint32_t i = 0; i < s->items.count; i++) {
            if (!nl_names_equal(&s->scope, columns.list[c].name, s->items.list[i].name)) continue;
            columns.list[c] = s->items.list[i];
            is_placed[i] = true;
        }
    }
    for (uint32_t i = 0; i < s->items.count; i++)
        if (!is_placed[i]) nl_items_add(s->arena, &columns, s->items.list[i]);
    s->items = columns;
    return NULL;
}

static nl_status resolve_list(selection *s)
{
    s->scope.clause = NL_CLAUSE_SELECT;
    s->scope.aliases = nl_scope_confs(&s->scope)->is_trino ? NULL : &s->items; /* Trino lets ORDER BY alone name them */
    if (s->select->is_with_columns) {
        NL_TRY(resolve_with_columns(s));
    } else if (s->select->items.count) {
        NL_TRY(nl_resolve_items(&s->scope, &s->select->items, &s->items, &s->generators));
    } else { /* FROM t alone */
        const nl_ast_expr star = {.kind = NL_AST_EXPR_STAR, .range = s->term->range};
        NL_TRY(nl_expand_star(&s->scope, &star, &s->items));
    }
    s->scope.aliases = NULL;
    return NULL;
}

static bool has_star(const nl_ast_select *select)
{
    for (uint32_t i = 0; i < select->items.count; i++)
        if (select->items.items[i]->kind == NL_AST_EXPR_STAR) return true;
    return false;
}

static nl_status resolve_grouping(selection *s)
{
    if (!s->select->group_by) return NULL;
    s->scope.clause = NL_CLAUSE_GROUP_BY;
    const bool has_aliases = !nl_scope_confs(&s->scope)->is_trino && nl_env_is_set(s->env, "spark.sql.groupByAliases", "true");
    s->scope.aliases = has_aliases ? &s->items : NULL;
    s->scope.are_aliases_inlined = true;
    nl_status status = nl_resolve_group_by(&s->scope, s->select->group_by, &s->items, has_star(s->select), &s->grouping);
    s->scope.aliases = NULL;
    s->scope.are_aliases_inlined = false;
    return status;
}

/* A scope that sees the list's columns first and the FROM clause's behind them. */
static void over_items(selection *s, nl_clause clause, nl_scope *scope)
{
    *scope = s->scope;
    scope->clause = clause;
    if (clause == NL_CLAUSE_HAVING && nl_scope_confs(scope)->is_trino) return; /* whose HAVING does not know the list's names */
    nl_column *columns = NL_UNCONST(nl_items_columns(s->arena, &s->items));
    for (uint32_t i = 0; i < s->items.count; i++) columns[i].is_nullable = columns[i].is_nullable || s->grouping.sets; /* keys are null in sets without them */
    scope->sets[0] = (nl_column_set){columns, s->items.count};
    scope->sets[1] = s->input;
    scope->set_count = 2;
}

/* The columns that are grouped by, as they are. */
static nl_column_set grouped_columns(const selection *s)
{
    nl_column *columns = NL_NEW_ARRAY(s->arena, nl_column, s->grouping.key_count + 1);
    uint32_t count = 0;
    for (uint32_t k = 0; k < s->grouping.key_count; k++)
        for (uint32_t i = 0; i < s->input.count && s->grouping.keys[k]->kind == NL_EXPR_COLUMN; i++)
            if (s->input.columns[i].id == s->grouping.keys[k]->column) columns[count++] = s->input.columns[i];
    return (nl_column_set){columns, count};
}

static nl_status resolve_having(selection *s)
{
    if (!s->select->having) return NULL;
    nl_scope scope;
    over_items(s, NL_CLAUSE_HAVING, &scope);
    if (scope.set_count == 2) { /* what is grouped by wins over the list's names */
        scope.sets[2] = scope.sets[1];
        scope.sets[1] = scope.sets[0];
        scope.sets[0] = grouped_columns(s);
        scope.set_count = 3;
    }
    scope.outer_aggregates = &s->outer_aggregates;
    return nl_resolve_condition(&scope, s->select->having, &s->having);
}

static bool is_order_by_all(const nl_scope *scope, const nl_ast_sort_items *items)
{
    if (items->count != 1 || items->items[0].expr->kind != NL_AST_EXPR_COLUMN) return false;
    const nl_ast_name *name = &items->items[0].expr->column;
    if (name->count != 1 || name->parts[0].is_quoted || !nl_str_is_nocase(name->parts[0].text, "all")) return false;
    for (uint32_t s = 0; s < scope->set_count; s++)
        for (uint32_t i = 0; i < scope->sets[s].count; i++)
            if (nl_str_is_nocase(scope->sets[s].columns[i].name, "all")) return false;
    return true;
}

nl_status nl_resolve_order_by(nl_scope *scope, const nl_ast_sort_items *items, nl_column_set output, nl_sort_key **keys, uint32_t *key_count)
{
    nl_arena *arena = nl_scope_arena(scope);
    if (is_order_by_all(scope, items)) {
        *keys = NL_NEW_ARRAY(arena, nl_sort_key, output.count + 1);
        *key_count = output.count;
        for (uint32_t i = 0; i < output.count; i++) {
            (*keys)[i] = (nl_sort_key){.expr = nl_column_ref(arena, &output.columns[i]),
                                       .is_descending = items->items[0].is_descending,
                                       .nulls_first = items->items[0].is_nulls_first};
            NL_TRY(nl_check_orderable(scope, &items->items[0], (*keys)[i].expr));
        }
        return NULL;
    }
    const nl_sort_key *resolved = NULL;
    NL_TRY(nl_resolve_sort_items(scope, items, &resolved));
    *keys = NL_NEW_ARRAY(arena, nl_sort_key, items->count + 1);
    *key_count = items->count;
    memcpy(*keys, resolved, items->count * sizeof **keys);
    for (uint32_t i = 0; i < items->count; i++) {
        const nl_ast_expr *ast = items->items[i].expr;
        if (ast->kind != NL_AST_EXPR_LITERAL || ast->literal.kind != NL_AST_LITERAL_INT || !nl_env_is_set(scope->env, "spark.sql.orderByOrdinal", "true")) continue;
        const int64_t position = ast->literal.integer;
        if (position < 1 || position > output.count)
            return nl_sql_at(NL_RAISE(ORDER_BY_POS_OUT_OF_RANGE, NL_P_INT("index", position), NL_P_INT("size", output.count)),
                             scope->env->text, items->items[i].range, false);
        (*keys)[i].expr = nl_column_ref(arena, &output.columns[position - 1]);
        NL_TRY(nl_check_orderable(scope, &items->items[i], (*keys)[i].expr));
    }
    return NULL;
}

/* In a subquery rows are not sorted by columns of the queries around it; and correlated subqueries are no sort keys. */
static nl_status check_order(const selection *s)
{
    nl_list misplaced = {0};
    for (uint32_t i = 0; i < s->order_count; i++) {
        const nl_sort_key *key = &s->order[i];
        nl_list outer = {0};
        if (key->expr->kind == NL_EXPR_SUBQUERY && key->expr->subquery_kind == NL_SUBQUERY_SCALAR) nl_plan_outer_columns(s->arena, key->expr->plan, &outer);
        if (outer.count)
            return NL_RAISE(UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY__UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY,
                            NL_P_STR("treeNode", nl_expr_pretty_str(s->arena, key->expr)));
        const nl_str direction = nl_arena_f(s->arena, "\1 %s NULLS %s", key->is_descending ? "DESC" : "ASC", key->nulls_first ? "FIRST" : "LAST");
        const nl_pretty *const parts[] = {nl_expr_pretty(s->arena, key->expr)};
        const nl_expr *shown = nl_expr_with_pretty(s->arena, key->expr, nl_pretty_parts(s->arena, direction, parts, 1));
        if (s->scope.outer && !s->env->functions) nl_misplaced_add(s->arena, &misplaced, shown, (nl_str){0});
    }
    return nl_sql_at(nl_misplaced_raise(s->arena, &misplaced), s->env->text, s->term->range, false);
}

static nl_status resolve_order(selection *s)
{
    if (!s->organization) return NULL;
    nl_scope scope;
    over_items(s, NL_CLAUSE_ORDER_BY, &scope);
    if (s->is_distinct) scope.set_count = 1;
    const nl_ast_sort_items *items = &s->organization->order_by;
    if (items->count == 0) items = &s->organization->sort_by;
    nl_ast_sort_items clustered = {0};
    if (items->count == 0 && s->organization->cluster_by.count) {
        clustered.count = s->organization->cluster_by.count;
        clustered.items = NL_NEW_ARRAY(s->arena, nl_ast_sort_item, clustered.count);
        for (uint32_t i = 0; i < clustered.count; i++) {
            clustered.items[i].expr = s->organization->cluster_by.items[i];
            clustered.items[i].is_nulls_first = true;
            clustered.items[i].range = clustered.items[i].expr->range;
        }
        items = &clustered;
    }
    const nl_expr *const *distribution = NULL;
    NL_TRY(nl_resolve_exprs(&scope, &s->organization->distribute_by, &distribution));
    if (items->count == 0) return NULL;
    NL_TRY(nl_resolve_order_by(&scope, items, scope.sets[0], &s->order, &s->order_count));
    return check_order(s);
}

/* ---- references to the list's items inside HAVING and ORDER BY ---- */

static nl_status inline_item(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    const nl_items *items = context;
    *result = expr;
    if (expr->kind != NL_EXPR_COLUMN) return NULL;
    for (uint32_t i = 0; i < items->count; i++) {
        const nl_item *item = &items->list[i];
        if (item->is_plain || item->id != expr->column) continue;
        const nl_expr *whole = item->expr;
        if (item->level) NL_TRY(nl_expr_rewrite(arena, whole, inline_item, context, &whole));
        *result = nl_expr_with_pretty(arena, whole, nl_expr_pretty(arena, expr));
        return NULL;
    }
    return NULL;
}

static nl_status inline_items(selection *s, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(s->arena, expr, inline_item, &s->items, result);
}

/* ---- aggregation ---- */

static bool has_aggregate(const nl_expr *expr)
{
    return expr && (nl_expr_has(expr, NL_EXPR_AGGREGATE) || nl_expr_has(expr, NL_EXPR_GROUPING));
}

static bool needs_aggregation(const selection *s)
{
    if (s->grouping.is_grouped || has_aggregate(s->having) || s->outer_aggregates.count) return true;
    for (uint32_t i = 0; i < s->items.count; i++)
        if (has_aggregate(s->items.list[i].expr)) return true;
    for (uint32_t g = 0; g < s->generators.count; g++) {
        const nl_select_generator *generator = s->generators.items[g];
        for (uint32_t i = 0; i < generator->argument_count; i++)
            if (has_aggregate(generator->arguments[i])) return true;
    }
    return false;
}

static nl_ast_range place_of(const selection *s, const nl_expr *expr)
{
    const bool is_placed = s->grouping.is_grouped && expr->span.stop;
    return is_placed ? nl_place_of(s->env->text, expr->span) : s->term->range;
}

static nl_status rewrite_one(selection *s, nl_aggregation *a, const nl_expr **expr)
{
    return nl_sql_at(nl_aggregation_rewrite(a, *expr, expr), s->env->text, place_of(s, *expr), false);
}

/* A column that the aggregation has swallowed is unknown to ORDER BY: Spark proposes the list's names. */
static nl_status rewrite_order(selection *s, nl_aggregation *a, const nl_expr **expr)
{
    const nl_expr *written = *expr;
    nl_status status = rewrite_one(s, a, expr);
    if (!status || written->kind != NL_EXPR_COLUMN) return status;
    nl_error_free(status);
    nl_scope scope;
    over_items(s, NL_CLAUSE_ORDER_BY, &scope);
    const nl_ast_range place = nl_place_of(s->env->text, written->span);
    return nl_sql_at(nl_raise_unresolved(&scope, &written->name, 1), s->env->text, place, false);
}

static bool find_swallowed(void *context, const nl_expr *expr)
{
    if (expr->kind == NL_EXPR_AGGREGATE) return false;
    if (expr->kind == NL_EXPR_COLUMN) *(const nl_expr **)context = expr;
    return expr->kind != NL_EXPR_COLUMN;
}

/* The same in HAVING; what is named is the first column outside of aggregate functions. */
static nl_status rewrite_having(selection *s, nl_aggregation *a)
{
    const nl_expr *written = s->having;
    nl_status status = rewrite_one(s, a, &s->having);
    const nl_expr *column = NULL;
    if (!status || (nl_error_condition(status) != NL_COND_MISSING_AGGREGATION && nl_error_condition(status) != NL_COND_MISSING_GROUP_BY)) return status;
    nl_expr_walk(written, find_swallowed, (void *)&column);
    if (!column || column->kind != NL_EXPR_COLUMN || !column->name.length) return status;
    nl_error_free(status);
    nl_scope scope;
    over_items(s, NL_CLAUSE_HAVING, &scope);
    const nl_ast_range place = nl_place_of(s->env->text, column->span);
    return nl_sql_at(nl_raise_unresolved(&scope, &column->name, 1), s->env->text, place, false);
}

static nl_status rewrite_generators(selection *s, nl_aggregation *a)
{
    for (uint32_t g = 0; g < s->generators.count; g++) {
        nl_select_generator *generator = s->generators.items[g];
        const nl_expr **arguments = NL_NEW_ARRAY(s->arena, const nl_expr *, generator->argument_count + 1);
        for (uint32_t i = 0; i < generator->argument_count; i++) {
            arguments[i] = generator->arguments[i];
            NL_TRY(rewrite_one(s, a, &arguments[i]));
        }
        generator->arguments = arguments;
    }
    return NULL;
}

/* An aggregate in ORDER BY makes no aggregation of a SELECT that is none by itself. */
static nl_status refuse_order_aggregates(selection *s)
{
    for (uint32_t i = 0; i < s->order_count; i++) {
        const nl_expr *found = NULL;
        const nl_expr *expr = s->order[i].expr;
        nl_expr_walk(expr, find_forbidden, (void *)&found);
        if (!found || found->kind != NL_EXPR_AGGREGATE) continue;
        const nl_ast_range place = expr->span.stop ? nl_place_of(s->env->text, expr->span) : s->term->range;
        return nl_sql_at(NL_RAISE(UNSUPPORTED_EXPR_FOR_OPERATOR, NL_P_STR("invalidExprSqls", nl_quote_expr(s->arena, found))), s->env->text, place, false);
    }
    return NULL;
}

/* spark.sql.legacy.parser.havingWithoutGroupByAsWhere: HAVING over a SELECT without GROUP BY and aggregates is its WHERE. */
static nl_status having_as_where(selection *s)
{
    const nl_session *session = nl_scope_confs(&s->scope)->session;
    const nl_expr *condition = s->having;
    if (!condition || !session || !nl_session_get_bool(session, "spark.sql.legacy.parser.havingWithoutGroupByAsWhere")) return NULL;
    s->having = NULL;
    if (needs_aggregation(s)) {
        s->having = condition;
        return NULL;
    }
    for (uint32_t i = 0; i < s->items.count || s->generators.count; i++) /* they come before that filter in Spark */
        if (s->generators.count || nl_expr_has(s->items.list[i].expr, NL_EXPR_WINDOW))
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "HAVING without GROUP BY beside window functions or generators is not supported with spark.sql.legacy.parser.havingWithoutGroupByAsWhere");
    NL_TRY(inline_items(s, condition, &condition));
    return filter_rows(s, condition);
}

static nl_status settle_outer_aggregates(selection *s, nl_aggregation *a)
{
    for (uint32_t i = 0; i < s->outer_aggregates.count; i++) {
        nl_outer_aggregate *outer = s->outer_aggregates.items[i];
        const nl_expr *ref = NULL;
        NL_TRY(nl_aggregation_rewrite(a, outer->expr, &ref));
        nl_column *column = NL_NEW(s->arena, nl_column);
        *column = (nl_column){.id = ref->column, .name = ref->name, .type = ref->type, .is_nullable = ref->is_nullable};
        outer->column = column;
    }
    a->outer_aggregates = &s->outer_aggregates;
    return NULL;
}

/* In a subquery: an aggregation may not mention columns of the queries around it. */
static nl_status check_correlation(const selection *s)
{
    if (!s->scope.outer || s->env->functions) return NULL;
    nl_list misplaced = {0};
    for (uint32_t i = 0; i < s->grouping.key_count; i++) nl_misplaced_add(s->arena, &misplaced, s->grouping.keys[i], (nl_str){0});
    for (uint32_t i = 0; i < s->items.count; i++) nl_misplaced_add(s->arena, &misplaced, s->items.list[i].expr, s->items.list[i].name);
    return nl_sql_at(nl_misplaced_raise(s->arena, &misplaced), s->env->text, s->term->range, false);
}

static nl_status aggregate(selection *s)
{
    NL_TRY(having_as_where(s));
    if (!needs_aggregation(s) && !s->having) return refuse_order_aggregates(s);
    s->is_aggregated = true;
    NL_TRY(check_correlation(s));
    if (s->having) NL_TRY(inline_items(s, s->having, &s->having));
    for (uint32_t i = 0; i < s->order_count; i++)
        if (has_aggregate(s->order[i].expr) || nl_expr_has(s->order[i].expr, NL_EXPR_WINDOW))
            NL_TRY(inline_items(s, s->order[i].expr, &s->order[i].expr));
    nl_aggregation a;
    nl_aggregation_start(&a, &s->scope, &s->grouping, s->input);
    NL_TRY(settle_outer_aggregates(s, &a));
    for (uint32_t i = 0; i < s->items.count; i++) NL_TRY(rewrite_one(s, &a, &s->items.list[i].expr));
    if (s->having) NL_TRY(rewrite_having(s, &a));
    for (uint32_t i = 0; i < s->order_count; i++) NL_TRY(rewrite_order(s, &a, &s->order[i].expr));
    NL_TRY(rewrite_generators(s, &a));
    s->plan = nl_aggregation_plan(&a, s->plan);
    s->plan = nl_logical_filter(s->arena, s->plan, s->having);
    return NULL;
}

/* ---- windows and generators ---- */

static nl_status extract_windows(selection *s)
{
    nl_list misplaced = {0};
    for (uint32_t i = 0; s->scope.outer && !s->env->functions && i < s->items.count; i++)
        if (nl_window_has_outer(s->items.list[i].expr)) nl_misplaced_add(s->arena, &misplaced, s->items.list[i].expr, s->items.list[i].name);
    NL_TRY(nl_sql_at(nl_misplaced_raise(s->arena, &misplaced), s->env->text, s->term->range, false));
    s->windows.context = s->env->context;
    for (uint32_t i = 0; i < s->items.count; i++) NL_TRY(nl_windows_extract(&s->windows, s->items.list[i].expr, &s->items.list[i].expr));
    for (uint32_t i = 0; i < s->order_count; i++) {
        if (!nl_expr_has(s->order[i].expr, NL_EXPR_WINDOW)) continue;
        NL_TRY(inline_items(s, s->order[i].expr, &s->order[i].expr));
        NL_TRY(nl_windows_extract(&s->windows, s->order[i].expr, &s->order[i].expr));
    }
    s->plan = nl_windows_plan(&s->windows, s->plan);
    return NULL;
}

static void add_generators(selection *s)
{
    for (uint32_t i = 0; i < s->generators.count; i++) s->plan = nl_generator_plan(s->arena, s->generators.items[i], s->plan);
}

/* ---- projection ---- */

static bool is_item_id(const selection *s, nl_column_id id)
{
    for (uint32_t i = 0; i < s->items.count; i++)
        if (s->items.list[i].id == id) return true;
    return false;
}

/* Items of one level of lateral aliases beside everything that comes from below. */
static void project_level(selection *s, uint32_t level)
{
    const uint32_t count_max = s->plan->column_count + s->items.count;
    nl_column *columns = NL_NEW_ARRAY(s->arena, nl_column, count_max + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(s->arena, const nl_expr *, count_max + 1);
    uint32_t count = 0;
    for (; count < s->plan->column_count; count++) {
        columns[count] = s->plan->columns[count];
        exprs[count] = nl_column_ref(s->arena, &columns[count]);
    }
    const nl_column *made = nl_items_columns(s->arena, &s->items);
    for (uint32_t i = 0; i < s->items.count; i++) {
        nl_item *item = &s->items.list[i];
        if (item->level != level || item->is_plain) continue;
        columns[count] = made[i];
        exprs[count++] = item->expr;
        item->expr = nl_column_ref(s->arena, &made[i]);
    }
    s->plan = nl_logical_project(s->arena, s->plan, columns, exprs, count);
}

static void project_lateral_levels(selection *s)
{
    uint32_t level_max = 0;
    for (uint32_t i = 0; i < s->items.count; i++) level_max = NL_MAX(level_max, s->items.list[i].level);
    for (uint32_t level = 0; level < level_max; level++) project_level(s, level);
}

typedef struct hidden_collector {
    selection *s;
    nl_list *hidden; /* const nl_column * of the plan below */
} hidden_collector;

static void add_hidden(hidden_collector *c, nl_column_id id)
{
    const nl_column *column = is_item_id(c->s, id) ? NULL : nl_logical_find_column(c->s->plan, id);
    if (!column) return;
    for (uint32_t i = 0; i < c->hidden->count; i++)
        if (((const nl_column *)c->hidden->items[i])->id == column->id) return;
    nl_list_add(c->s->arena, c->hidden, NL_UNCONST(column));
}

static bool collect_hidden(void *context, const nl_expr *expr)
{
    hidden_collector *c = context;
    if (expr->kind == NL_EXPR_COLUMN) add_hidden(c, expr->column);
    if (expr->kind != NL_EXPR_SUBQUERY) return true;
    nl_list outer = {0};
    nl_plan_outer_columns(c->s->arena, expr->plan, &outer);
    for (uint32_t i = 0; i < outer.count; i++) add_hidden(c, ((const nl_expr *)outer.items[i])->column);
    return true;
}

static void project(selection *s, nl_list *hidden)
{
    project_lateral_levels(s);
    hidden_collector collector = {.s = s, .hidden = hidden};
    for (uint32_t i = 0; i < s->order_count; i++) nl_expr_walk(s->order[i].expr, collect_hidden, &collector);
    const uint32_t count = s->items.count + hidden->count;
    nl_column *columns = NL_NEW_ARRAY(s->arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(s->arena, const nl_expr *, count + 1);
    memcpy(columns, nl_items_columns(s->arena, &s->items), s->items.count * sizeof *columns);
    for (uint32_t i = 0; i < s->items.count; i++) exprs[i] = s->items.list[i].expr;
    for (uint32_t i = 0; i < hidden->count; i++) {
        columns[s->items.count + i] = *(const nl_column *)hidden->items[i];
        exprs[s->items.count + i] = nl_column_ref(s->arena, hidden->items[i]);
    }
    s->plan = nl_logical_project(s->arena, s->plan, columns, exprs, count);
}

static nl_status organize(selection *s)
{
    nl_list hidden = {0};
    project(s, &hidden);
    const nl_column *columns = s->plan->columns;
    if (s->is_distinct)
        NL_TRY(nl_sql_at(nl_check_distinct_types(s->env->context, columns, s->items.count), s->env->text, s->term->range, false));
    if (s->is_distinct) s->plan = nl_logical_over(s->arena, NL_PLAN_DISTINCT, s->plan);
    if (s->order_count) {
        const bool is_global = s->organization->order_by.count != 0;
        s->plan = nl_logical_sort(s->arena, s->plan, s->order, s->order_count, is_global);
    }
    if (hidden.count) s->plan = nl_logical_keep(s->arena, s->plan, columns, s->items.count);
    return NULL;
}

nl_status nl_analyze_select(nl_env *env, nl_scope *outer, const nl_ast_term *term, const nl_ast_select *select,
                            const nl_ast_organization *organization, const nl_logical **plan)
{
    nl_arena *arena = env->context->arena;
    if (select->transform) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "SELECT TRANSFORM runs another program, which nilas does not do.");
    selection s = {.env = env, .arena = arena, .term = term, .select = select, .organization = organization};
    s.is_distinct = select->quantifier == NL_AST_SET_DISTINCT;
    if (select->from)
        NL_TRY(nl_analyze_relation(env, outer, select->from, &s.plan));
    else
        s.plan = nl_logical_one_row(arena);
    nl_scope_over(&s.scope, env, outer, s.plan, NL_CLAUSE_SELECT);
    s.scope.windows = &select->windows;
    if (organization) s.scope.more_windows = &organization->windows;
    s.input = s.scope.sets[0];
    NL_TRY(resolve_where(&s));
    NL_TRY(resolve_time_window(&s));
    NL_TRY(resolve_list(&s));
    NL_TRY(resolve_grouping(&s));
    NL_TRY(resolve_having(&s));
    NL_TRY(resolve_order(&s));
    NL_TRY(add_time_window(&s));
    NL_TRY(aggregate(&s));
    NL_TRY(extract_windows(&s));
    add_generators(&s);
    NL_TRY(organize(&s));
    if (organization) NL_TRY(nl_apply_limit(&s.scope, organization, s.plan, &s.plan));
    *plan = s.plan;
    return nl_arena_check(arena);
}
