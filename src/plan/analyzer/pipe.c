/* Pipe operators: each takes the rows that come from its left. Most are a SELECT over them. */
#include "plan/analyzer/analyzer.h"

typedef struct piping {
    nl_env env; /* pipe_input is the left side */
    nl_scope *outer;
    const nl_ast_pipe *pipe;
    nl_ast_term term;         /* for ranges */
    nl_ast_relation relation; /* NL_AST_RELATION_PIPE */
} piping;

static nl_status select_over(piping *p, nl_ast_select *select, const nl_logical **plan)
{
    select->from = &p->relation;
    return nl_analyze_select(&p->env, p->outer, &p->term, select, NULL, plan);
}

static void add_expr(nl_arena *arena, nl_ast_exprs *list, nl_ast_expr *expr)
{
    nl_ast_expr **items = NL_NEW_ARRAY(arena, nl_ast_expr *, list->count + 1);
    if (list->count) memcpy(items, list->items, list->count * sizeof *items);
    items[list->count++] = expr;
    list->items = items;
}

static nl_ast_expr *star(piping *p)
{
    nl_ast_expr *expr = NL_NEW(p->env.context->arena, nl_ast_expr);
    expr->kind = NL_AST_EXPR_STAR;
    expr->range = p->pipe->operator_range;
    return expr;
}

static bool find_aggregate(void *context, const nl_expr *expr)
{
    if (expr->kind != NL_EXPR_AGGREGATE) return true;
    *(const nl_expr **)context = expr;
    return false;
}

/* As plans show it: columns with their numbers. */
static nl_str plan_text(const piping *p, const nl_expr *expr)
{
    nl_builder text;
    nl_builder_init(&text, 65536);
    nl_expr_append_text(expr, &text);
    const nl_str kept = nl_arena_str(p->env.context->arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return kept;
}

static nl_status refuse_aggregates(piping *p, const nl_ast_exprs *exprs, const char *clause)
{
    nl_scope scope;
    nl_scope_over(&scope, &p->env, p->outer, p->env.pipe_input, NL_CLAUSE_OTHER);
    for (uint32_t i = 0; i < exprs->count; i++) {
        const nl_ast_expr *ast = exprs->items[i]->kind == NL_AST_EXPR_ALIAS ? exprs->items[i]->alias.input : exprs->items[i];
        if (ast->kind == NL_AST_EXPR_STAR) continue;
        const nl_expr *expr = NULL;
        nl_status status = nl_resolve_expr(&scope, ast, &expr);
        if (status) { /* lateral aliases and the like are resolved, and blamed, with the whole list */
            nl_error_free(status);
            continue;
        }
        const nl_expr *aggregate = NULL;
        nl_expr_walk(expr, find_aggregate, (void *)&aggregate);
        if (!aggregate) continue;
        return nl_sql_at(NL_RAISE(PIPE_OPERATOR_CONTAINS_AGGREGATE_FUNCTION, NL_P_STR("expr", plan_text(p, aggregate)),
                                  NL_P("clause", clause)),
                         p->env.text, ast->range, false);
    }
    return NULL;
}

static nl_status pipe_select(piping *p, const nl_logical **plan)
{
    nl_ast_select select = *p->pipe->select;
    NL_TRY(refuse_aggregates(p, &select.items, "SELECT"));
    return select_over(p, &select, plan);
}

static nl_status pipe_extend(piping *p, const nl_logical **plan)
{
    nl_ast_select select = {0};
    NL_TRY(refuse_aggregates(p, &p->pipe->exprs, "EXTEND"));
    for (uint32_t i = 0; i < p->pipe->exprs.count; i++)
        if (p->pipe->exprs.items[i]->kind == NL_AST_EXPR_STAR)
            return nl_sql_at(NL_RAISE(INVALID_USAGE_OF_STAR_OR_REGEX, NL_P("elem", "'*'"), NL_P("prettyName", "expression `pipeexpression`")),
                             p->env.text, p->pipe->exprs.items[i]->range, false);
    add_expr(p->env.context->arena, &select.items, star(p));
    for (uint32_t i = 0; i < p->pipe->exprs.count; i++) add_expr(p->env.context->arena, &select.items, p->pipe->exprs.items[i]);
    select.windows = p->pipe->windows;
    return select_over(p, &select, plan);
}

/* One assignment after the other: a later one sees the earlier ones' values. */
static nl_status pipe_set(piping *p, const nl_logical **plan)
{
    nl_arena *arena = p->env.context->arena;
    const nl_logical *current = p->env.pipe_input;
    for (uint32_t a = 0; a < p->pipe->assignments.count; a++) {
        const nl_ast_assignment *assignment = &p->pipe->assignments.items[a];
        nl_scope scope;
        nl_scope_over(&scope, &p->env, p->outer, current, NL_CLAUSE_SELECT);
        const nl_str *parts = NULL;
        uint32_t count = 0;
        const nl_column *target = NULL;
        uint32_t matched = 0;
        NL_TRY(nl_name_parts(&scope, &assignment->target, &parts, &count));
        NL_TRY(nl_find_column(&scope, scope.sets[0], parts, count, &target, &matched));
        if (!target) return nl_sql_at(nl_raise_unresolved(&scope, parts, count), p->env.text, assignment->range, false);
        const nl_expr *value = NULL;
        NL_TRY(nl_resolve_expr(&scope, assignment->value, &value));
        nl_windows windows = {.context = p->env.context};
        NL_TRY(nl_windows_extract(&windows, value, &value));
        const nl_logical *below = nl_windows_plan(&windows, current);
        nl_column *columns = NL_NEW_ARRAY(arena, nl_column, current->column_count + 1);
        const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, current->column_count + 1);
        for (uint32_t i = 0; i < current->column_count; i++) {
            columns[i] = current->columns[i];
            exprs[i] = nl_column_ref(arena, &columns[i]);
            if (&current->columns[i] != target) continue;
            exprs[i] = value;
            columns[i] = (nl_column){.id = nl_plan_new_id(p->env.context), .name = target->name, .type = value->type, .is_nullable = value->is_nullable};
        }
        current = nl_logical_project(arena, below, columns, exprs, current->column_count);
    }
    *plan = current;
    return NULL;
}

static nl_status pipe_drop(piping *p, const nl_logical **plan)
{
    nl_arena *arena = p->env.context->arena;
    nl_ast_expr *all = star(p);
    nl_ast_name *names = NL_NEW_ARRAY(arena, nl_ast_name, p->pipe->names.count + 1);
    for (uint32_t i = 0; i < p->pipe->names.count; i++)
        names[i] = (nl_ast_name){.parts = &p->pipe->names.items[i], .count = 1, .range = p->pipe->names.items[i].range};
    all->star.except = (nl_ast_names){names, p->pipe->names.count};
    all->star.has_except = true;
    nl_ast_select select = {0};
    add_expr(arena, &select.items, all);
    return select_over(p, &select, plan);
}

static nl_status pipe_where(piping *p, const nl_logical **plan)
{
    nl_scope scope;
    const nl_expr *condition = NULL;
    nl_scope_over(&scope, &p->env, p->outer, p->env.pipe_input, NL_CLAUSE_WHERE);
    scope.windows = &p->pipe->windows;
    NL_TRY(nl_resolve_condition(&scope, p->pipe->condition, &condition));
    if (nl_expr_has(condition, NL_EXPR_AGGREGATE))
        return nl_sql_at(nl_check_where(&scope, condition), p->env.text, p->pipe->condition->range, false);
    *plan = nl_logical_filter(p->env.context->arena, p->env.pipe_input, condition);
    return NULL;
}

static nl_status refuse_case(piping *p, const char *what)
{
    return nl_sql_at(NL_RAISE(UNSUPPORTED_FEATURE__PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE, NL_P("case", what)), p->env.text,
                     p->pipe->operator_range, false);
}

/* Plain expressions only: no sets, no ALL. */
static nl_status check_groups(piping *p, const nl_ast_group_by *group_by)
{
    if (group_by->suffix == NL_AST_GROUP_WITH_ROLLUP) return refuse_case(p, "GROUP BY ROLLUP");
    if (group_by->suffix == NL_AST_GROUP_WITH_CUBE) return refuse_case(p, "GROUP BY CUBE");
    if (group_by->suffix != NL_AST_GROUP_PLAIN) return refuse_case(p, "GROUPING SETS");
    for (uint32_t i = 0; i < group_by->items.count; i++) {
        const nl_ast_grouping *group = group_by->items.items[i];
        if (group->kind == NL_AST_GROUP_ROLLUP) return refuse_case(p, "GROUP BY ROLLUP");
        if (group->kind == NL_AST_GROUP_CUBE) return refuse_case(p, "GROUP BY CUBE");
        if (group->kind != NL_AST_GROUP_EXPRESSION) return refuse_case(p, "GROUPING SETS");
        const nl_ast_name *name = group->expr->kind == NL_AST_EXPR_COLUMN ? &group->expr->column : NULL;
        const bool is_all = name && group_by->items.count == 1 && name->count == 1 && !name->parts[0].is_quoted && nl_str_is_nocase(name->parts[0].text, "all");
        if (is_all) return refuse_case(p, "GROUP BY ALL");
    }
    return NULL;
}

static bool find_grouping(void *context, const nl_expr *expr)
{
    if (expr->kind == NL_EXPR_GROUPING) *(const nl_expr **)context = expr;
    return expr->kind != NL_EXPR_GROUPING;
}

/* Every expression of AGGREGATE holds an aggregate function. Ones that do not resolve are blamed with the whole list. */
static nl_status check_aggregates(piping *p)
{
    nl_scope scope;
    nl_scope_over(&scope, &p->env, p->outer, p->env.pipe_input, NL_CLAUSE_SELECT);
    for (uint32_t i = 0; i < p->pipe->exprs.count; i++) {
        const nl_ast_expr *written = p->pipe->exprs.items[i];
        const nl_ast_expr *ast = written->kind == NL_AST_EXPR_ALIAS ? written->alias.input : written;
        const nl_expr *expr = NULL;
        if (ast->kind == NL_AST_EXPR_STAR) continue;
        nl_status status = nl_resolve_expr(&scope, ast, &expr);
        nl_error_free(status);
        if (status) continue;
        const nl_expr *grouping = NULL;
        nl_expr_walk(expr, find_grouping, (void *)&grouping);
        if (grouping) return refuse_case(p, grouping->type->id == NL_TYPE_TINYINT ? "GROUPING" : "GROUPING_ID");
        if (nl_expr_has(expr, NL_EXPR_WINDOW)) return refuse_case(p, "window functions; please update the query to move the window functions to a subsequent |> SELECT operator instead");
        if (nl_expr_has(expr, NL_EXPR_AGGREGATE)) continue;
        return nl_sql_at(NL_RAISE(PIPE_OPERATOR_AGGREGATE_EXPRESSION_CONTAINS_NO_AGGREGATE_FUNCTION,
                                  NL_P_STR("expr", plan_text(p, expr))),
                         p->env.text, written->range, false);
    }
    return NULL;
}

/* A position in GROUP BY counts the input's columns here, not the list's. */
static nl_ast_expr *group_expression(piping *p, nl_ast_expr *expr)
{
    nl_arena *arena = p->env.context->arena;
    const nl_logical *input = p->env.pipe_input;
    if (expr->kind != NL_AST_EXPR_LITERAL || expr->literal.kind != NL_AST_LITERAL_INT) return expr;
    int64_t position = 0;
    for (uint32_t i = 0; i < input->column_count; i++) {
        if (input->columns[i].is_hidden || ++position != expr->literal.integer) continue;
        nl_ast_expr *column = NL_NEW(arena, nl_ast_expr);
        nl_ast_ident *part = NL_NEW(arena, nl_ast_ident);
        *part = (nl_ast_ident){.text = input->columns[i].name, .range = expr->range};
        *column = (nl_ast_expr){.kind = NL_AST_EXPR_COLUMN, .range = expr->range, .column = {.parts = part, .count = 1, .range = expr->range}};
        return column;
    }
    return expr;
}

/* Grouping expressions come first, then the aggregates. */
static nl_status pipe_aggregate(piping *p, const nl_logical **plan)
{
    nl_arena *arena = p->env.context->arena;
    nl_ast_select select = {0};
    NL_TRY(check_aggregates(p));
    if (p->pipe->group_by) {
        NL_TRY(check_groups(p, p->pipe->group_by));
        const nl_ast_groupings *written = &p->pipe->group_by->items;
        nl_ast_group_by *group_by = NL_NEW(arena, nl_ast_group_by);
        *group_by = *p->pipe->group_by;
        group_by->items.items = NL_NEW_ARRAY(arena, nl_ast_grouping *, written->count + 1);
        for (uint32_t i = 0; i < written->count; i++) {
            nl_ast_grouping *group = NL_NEW(arena, nl_ast_grouping);
            *group = *written->items[i];
            group->expr = group_expression(p, group->expr);
            group_by->items.items[i] = group;
            add_expr(arena, &select.items, group->expr);
        }
        select.group_by = group_by;
    }
    for (uint32_t i = 0; i < p->pipe->exprs.count; i++) add_expr(arena, &select.items, p->pipe->exprs.items[i]);
    return select_over(p, &select, plan);
}

static nl_status apply(piping *p, const nl_logical **plan)
{
    const nl_logical *right = NULL;
    switch (p->pipe->kind) {
    case NL_AST_PIPE_SELECT:
        return pipe_select(p, plan);
    case NL_AST_PIPE_EXTEND:
        return pipe_extend(p, plan);
    case NL_AST_PIPE_SET:
        return pipe_set(p, plan);
    case NL_AST_PIPE_DROP:
        return pipe_drop(p, plan);
    case NL_AST_PIPE_AS:
        return nl_alias_plan(&p->env, p->env.pipe_input, &p->pipe->alias.text, 1, NULL, p->pipe->operator_range, plan);
    case NL_AST_PIPE_WHERE:
        return pipe_where(p, plan);
    case NL_AST_PIPE_RELATION:
        return nl_analyze_relation(&p->env, p->outer, p->pipe->relation, plan);
    case NL_AST_PIPE_SET_OPERATION: {
        nl_env env = p->env;
        env.pipe_input = NULL;
        NL_TRY(nl_analyze_term(&env, p->outer, p->pipe->right, NULL, &right));
        return nl_make_set(&p->env, p->pipe->operator_range, p->pipe->set_operator, p->pipe->quantifier, p->env.pipe_input, right, plan);
    }
    case NL_AST_PIPE_ORGANIZE: {
        nl_scope scope;
        nl_scope_over(&scope, &p->env, p->outer, p->env.pipe_input, NL_CLAUSE_ORDER_BY);
        return nl_apply_organization(&scope, &p->pipe->organization, p->env.pipe_input, plan);
    }
    case NL_AST_PIPE_AGGREGATE:
        return pipe_aggregate(p, plan);
    case NL_AST_PIPE_DATAFRAME:
        return nl_apply_dataframe(&p->env, p->outer, p->pipe->dataframe, plan);
    }
    return NL_RAISE(INTERNAL_ERROR, NL_P("message", "an unknown pipe operator"));
}

/* Spark lets the order after groupBy(…).agg(…) have aggregates that the output does not have. */
static bool has_call(const nl_ast_sort_items *items)
{
    for (uint32_t i = 0; i < items->count; i++)
        if (items->items[i].expr->kind == NL_AST_EXPR_CALL) return true;
    return false;
}

static bool is_sorted_aggregate(const nl_ast_pipe *step, const nl_ast_pipe *next)
{
    if (!next || step->kind != NL_AST_PIPE_DATAFRAME || next->kind != NL_AST_PIPE_DATAFRAME) return false;
    return step->dataframe->kind == NL_AST_DATAFRAME_AGGREGATE && next->dataframe->kind == NL_AST_DATAFRAME_SORT && !next->dataframe->is_local &&
           has_call(&next->dataframe->sort);
}

/* a |> b |> c … leans to the left: walked with a loop, however long. */
nl_status nl_analyze_pipe(nl_env *env, nl_scope *outer, const nl_ast_pipe *pipe, const nl_logical **plan)
{
    nl_list chain = {0};
    const nl_ast_term *leftmost = NULL;
    for (const nl_ast_pipe *at = pipe; at; at = leftmost->kind == NL_AST_TERM_PIPE ? leftmost->pipe : NULL) {
        nl_list_add(env->context->arena, &chain, NL_UNCONST(at));
        leftmost = at->left;
    }
    const nl_logical *current = NULL;
    const uint32_t first = nl_terms_count(env);
    NL_TRY(nl_analyze_term(env, outer, leftmost, NULL, &current));
    for (uint32_t i = chain.count; i-- > 0;) {
        const nl_ast_pipe *step = chain.items[i];
        piping p = {.env = *env, .outer = outer, .pipe = step};
        p.env.pipe_input = current;
        p.term = (nl_ast_term){.kind = NL_AST_TERM_PIPE, .range = step->operator_range};
        p.relation = (nl_ast_relation){.kind = NL_AST_RELATION_PIPE, .range = step->operator_range};
        const nl_ast_pipe *next = i > 0 ? chain.items[i - 1] : NULL;
        if (is_sorted_aggregate(step, next)) {
            NL_TRY(nl_apply_sorted_aggregate(&p.env, outer, step->dataframe, next->dataframe, &current));
            if (next->has_plan_id) nl_terms_add(&p.env, next->plan_id, first, current);
            i--;
            continue;
        }
        NL_TRY(nl_sql_at(apply(&p, &current), env->text, step->operator_range, false));
        if (step->has_plan_id) nl_terms_add(&p.env, step->plan_id, first, current);
    }
    *plan = current;
    return NULL;
}
