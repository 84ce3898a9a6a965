/* sql/parse_query.c - queries: WITH, terms and set operations by precedence, SELECT, GROUP BY, and what follows.
 * Which words begin a clause is decided in parse_words.c. */
#include "sql/parse.h"

#include <stdlib.h>

nl_ast_term *nl_parser_new_term(nl_parser *p, nl_ast_term_kind kind, uint32_t first_token)
{
    nl_ast_term *term = NL_NEW(p->arena, nl_ast_term);
    term->kind = kind;
    term->range = nl_parser_range(p, first_token);
    return term;
}

bool nl_query_is_only_parentheses(const nl_ast_query *query)
{
    const nl_ast_organization *o = &query->organization;
    bool has_organization = o->order_by.count || o->cluster_by.count || o->distribute_by.count || o->sort_by.count ||
                            o->windows.count || o->is_limit_all || o->limit || o->offset;
    return query->body->kind == NL_AST_TERM_SUBQUERY && query->ctes.count == 0 && !has_organization;
}

/* ---- SELECT --------------------------------------------------------------------------------------------------------- */

static nl_status parse_hint(nl_parser *p, nl_ast_hint *hint)
{
    uint32_t first = p->at;
    NL_TRY(nl_parse_identifier(p, &hint->name));
    if (nl_parser_take(p, NL_T_LEFT_PAREN)) {
        hint->has_parentheses = true;
        nl_list args = {0};
        do {
            nl_ast_expr *arg = NULL;
            NL_TRY(nl_parse_primary(p, &arg));
            nl_list_add(p->arena, &args, arg);
        } while (nl_parser_take(p, NL_T_COMMA));
        hint->args = (nl_ast_exprs){(nl_ast_expr **)args.items, args.count};
        NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    }
    hint->range = nl_parser_range(p, first);
    return NULL;
}

static nl_status parse_hint_comment(nl_parser *p, nl_ast_hints *hints)
{
    p->at++;
    nl_list list = {0};
    do {
        nl_ast_hint *hint = NL_NEW(p->arena, nl_ast_hint);
        NL_TRY(parse_hint(p, hint));
        nl_list_add(p->arena, &list, hint);
        nl_parser_take(p, NL_T_COMMA);
    } while (!nl_parser_is(p, NL_T_HINT_END));
    p->at++;
    *hints = (nl_ast_hints){NL_FLATTEN(p, &list, nl_ast_hint), list.count};
    return NULL;
}

nl_status nl_parse_select_clause(nl_parser *p, nl_ast_select *select)
{
    NL_TRY(nl_parser_expect(p, NL_T_SELECT));
    nl_list comments = {0};
    while (nl_parser_is(p, NL_T_HINT_START)) {
        nl_ast_hints *hints = NL_NEW(p->arena, nl_ast_hints);
        NL_TRY(parse_hint_comment(p, hints));
        nl_list_add(p->arena, &comments, hints);
    }
    select->hints = NL_FLATTEN(p, &comments, nl_ast_hints);
    select->hint_count = comments.count;
    if (nl_parser_has_quantifier(p)) NL_TRY(nl_parse_set_quantifier(p, &select->quantifier));
    return nl_parse_named_expressions(p, &select->items);
}

nl_status nl_parse_set_quantifier(nl_parser *p, nl_ast_set_quantifier *quantifier)
{
    *quantifier = nl_parser_is(p, NL_T_ALL)        ? NL_AST_SET_ALL
                  : nl_parser_is(p, NL_T_DISTINCT) ? NL_AST_SET_DISTINCT
                                                   : NL_AST_SET_UNSAID;
    if (*quantifier != NL_AST_SET_UNSAID) p->at++;
    return NULL;
}

/* ---- GROUP BY ------------------------------------------------------------------------------------------------------- */

static nl_ast_grouping *new_grouping(nl_parser *p, nl_ast_grouping_kind kind)
{
    nl_ast_grouping *grouping = NL_NEW(p->arena, nl_ast_grouping);
    grouping->kind = kind;
    return grouping;
}

/* (a, b), () or an expression. */
static nl_status parse_grouping_set(nl_parser *p, nl_ast_grouping **grouping)
{
    uint32_t first = p->at;
    nl_ast_grouping *set = new_grouping(p, NL_AST_GROUP_SET);
    *grouping = set;
    if (nl_parser_take_both(p, NL_T_LEFT_PAREN, NL_T_RIGHT_PAREN)) {
        set->has_parentheses = true;
        set->range = nl_parser_range(p, first);
        return NULL;
    }
    bool has_paren = nl_parser_is(p, NL_T_LEFT_PAREN);
    nl_ast_expr *expr = NULL;
    NL_TRY(nl_parse_expression(p, &expr));
    set->range = nl_parser_range(p, first);
    bool is_row = expr->kind == NL_AST_EXPR_ROW && expr->range.start == set->range.start && expr->range.stop == set->range.stop;
    set->has_parentheses = has_paren && (is_row || expr->range.start != set->range.start);
    if (is_row) {
        set->exprs = expr->row;
        return NULL;
    }
    set->exprs = (nl_ast_exprs){(nl_ast_expr **)nl_arena_alloc(p->arena, sizeof(nl_ast_expr *)), 1};
    set->exprs.items[0] = expr;
    return NULL;
}

static bool starts_analytics(const nl_parser *p)
{
    nl_token_kind kind = nl_parser_kind(p);
    nl_token_kind next = nl_parser_ahead(p, 1);
    if (kind == NL_T_ROLLUP || kind == NL_T_CUBE) return next == NL_T_LEFT_PAREN;
    return kind == NL_T_GROUPING && next == NL_T_SETS && nl_parser_ahead(p, 2) == NL_T_LEFT_PAREN;
}

/* ROLLUP (sets), CUBE (sets), GROUPING SETS (sets and the others). */
static nl_status parse_analytics(nl_parser *p, nl_ast_grouping **grouping)
{
    uint32_t first = p->at;
    nl_token_kind kind = nl_parser_kind(p);
    nl_ast_grouping *node = new_grouping(p, kind == NL_T_ROLLUP ? NL_AST_GROUP_ROLLUP
                                        : kind == NL_T_CUBE ? NL_AST_GROUP_CUBE
                                                            : NL_AST_GROUP_SETS);
    p->at += node->kind == NL_AST_GROUP_SETS ? 3 : 2;
    NL_TRY(nl_parser_enter(p));
    nl_list elements = {0};
    bool has_empty = false;
    do {
        nl_ast_grouping *element = NULL;
        if (node->kind == NL_AST_GROUP_SETS && starts_analytics(p))
            NL_TRY(parse_analytics(p, &element));
        else
            NL_TRY(parse_grouping_set(p, &element));
        has_empty = has_empty || (element->kind == NL_AST_GROUP_SET && element->exprs.count == 0);
        nl_list_add(p->arena, &elements, element);
    } while (nl_parser_take(p, NL_T_COMMA));
    nl_parser_leave(p);
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    node->elements = (nl_ast_groupings){(nl_ast_grouping **)elements.items, elements.count};
    node->range = nl_parser_range(p, first);
    *grouping = node;
    if (has_empty && node->kind != NL_AST_GROUP_SETS)
        return NL_REFUSE(p, node->range, _LEGACY_ERROR_TEMP_0051, NL_P("element", node->kind == NL_AST_GROUP_ROLLUP ? "ROLLUP" : "CUBE"));
    return NULL;
}

/* The grammar lets a grouping expression have an alias, which is refused outside of |> AGGREGATE. */
static nl_status parse_group_item(nl_parser *p, bool may_have_aliases, nl_ast_grouping **grouping)
{
    uint32_t first = p->at;
    if (starts_analytics(p)) return parse_analytics(p, grouping);
    *grouping = new_grouping(p, NL_AST_GROUP_EXPRESSION);
    nl_ast_expr *expr = NULL;
    NL_TRY(nl_parse_expression(p, &expr));
    NL_TRY(nl_parse_alias(p, first, expr, &expr));
    (*grouping)->expr = expr;
    (*grouping)->range = nl_parser_range(p, first);
    if (expr->kind != NL_AST_EXPR_ALIAS || may_have_aliases) return NULL;
    nl_str shown = nl_arena_f(p->arena, "'" NL_STR_FMT "'", NL_STR_ARG(expr->alias.names.items[0].text));
    nl_str hint = nl_arena_f(p->arena, ": extra input " NL_STR_FMT, NL_STR_ARG(shown));
    return NL_REFUSE(p, NL_TEXT_ONLY, PARSE_SYNTAX_ERROR, NL_P_STR("error", shown), NL_P_STR("hint", hint));
}

static nl_status parse_group_suffix(nl_parser *p, nl_ast_group_by *group_by)
{
    if (nl_parser_take_both(p, NL_T_WITH, NL_T_ROLLUP)) {
        group_by->suffix = NL_AST_GROUP_WITH_ROLLUP;
    } else if (nl_parser_take_both(p, NL_T_WITH, NL_T_CUBE)) {
        group_by->suffix = NL_AST_GROUP_WITH_CUBE;
    } else if (nl_parser_are(p, NL_T_GROUPING, NL_T_SETS)) {
        p->at += 2;
        group_by->suffix = NL_AST_GROUP_WITH_SETS;
        NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
        nl_list sets = {0};
        do {
            nl_ast_grouping *set = NULL;
            NL_TRY(parse_grouping_set(p, &set));
            nl_list_add(p->arena, &sets, set);
        } while (nl_parser_take(p, NL_T_COMMA));
        group_by->sets = (nl_ast_groupings){(nl_ast_grouping **)sets.items, sets.count};
        return nl_parser_expect(p, NL_T_RIGHT_PAREN);
    }
    return NULL;
}

nl_status nl_parse_group_by(nl_parser *p, bool may_have_aliases, nl_ast_group_by **group_by)
{
    uint32_t first = p->at;
    if (!nl_parser_take_both(p, NL_T_GROUP, NL_T_BY)) return nl_parser_syntax_error(p);
    nl_ast_group_by *node = NL_NEW(p->arena, nl_ast_group_by);
    nl_list items = {0};
    do {
        nl_ast_grouping *item = NULL;
        NL_TRY(parse_group_item(p, may_have_aliases, &item));
        nl_list_add(p->arena, &items, item);
    } while (nl_parser_take(p, NL_T_COMMA));
    node->items = (nl_ast_groupings){(nl_ast_grouping **)items.items, items.count};
    NL_TRY(parse_group_suffix(p, node));
    node->range = nl_parser_range(p, first);
    *group_by = node;
    return NULL;
}

/* ---- clauses behind a select list ------------------------------------------------------------------------------------ */

/* NULL, or an error when a window's name was given before. */
static nl_status check_window_name(nl_parser *p, const nl_list *list, const nl_ast_named_window *window, nl_ast_range range)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const nl_ast_named_window *other = list->items[i];
        if (!nl_str_equal(other->name.text, window->name.text)) continue;
        nl_str name = nl_arena_f(p->arena, "`" NL_STR_FMT "`", NL_STR_ARG(window->name.text));
        return NL_REFUSE(p, range, INVALID_SQL_SYNTAX__REPETITIVE_WINDOW_DEFINITION, NL_P_STR("windowName", name));
    }
    return NULL;
}

/* Windows are few; a query with more than a thousand is refused rather than compared pair by pair. */
static nl_status parse_window_list(nl_parser *p, nl_ast_named_windows *windows)
{
    uint32_t first = p->at++;
    nl_list list = {0};
    do {
        nl_ast_named_window *window = NL_NEW(p->arena, nl_ast_named_window);
        NL_TRY(nl_parse_name_part(p, &window->name));
        NL_TRY(nl_parser_expect(p, NL_T_AS));
        NL_TRY(nl_parse_window(p, &window->window));
        NL_TRY(check_window_name(p, &list, window, nl_parser_range(p, first)));
        nl_list_add(p->arena, &list, window);
        if (list.count > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    } while (nl_parser_take(p, NL_T_COMMA));
    *windows = (nl_ast_named_windows){NL_FLATTEN(p, &list, nl_ast_named_window), list.count};
    return NULL;
}

nl_status nl_parse_windows(nl_parser *p, nl_ast_named_windows *windows)
{
    uint32_t first = p->at;
    bool is_clause = nl_parser_is(p, NL_T_WINDOW) && nl_parser_is_identifier_at(p, p->at + 1) &&
                     nl_parser_ahead(p, 2) == NL_T_AS;
    return is_clause ? nl_parser_blame(p, parse_window_list(p, windows), first) : NULL;
}

static bool takes_clause_word(nl_parser *p, nl_token_kind kind)
{
    bool is_all = kind == NL_T_LIMIT && nl_parser_ahead(p, 1) == NL_T_ALL;
    if (!nl_parser_is(p, kind) || !(is_all || nl_parser_starts_expression_at(p, p->at + 1))) return false;
    p->at++;
    return true;
}

static bool starts_group_by(nl_parser *p)
{
    if (!nl_parser_is(p, NL_T_GROUP)) return false;
    if (nl_parser_ahead(p, 1) != NL_T_BY) p->at++; /* no alias is possible any more: the next word is wrong */
    return true;
}

/* LATERAL VIEW … WHERE … GROUP BY … HAVING … WINDOW …, after the select list and FROM. */
static nl_status parse_select_clauses(nl_parser *p, nl_ast_select *select)
{
    NL_TRY(nl_parse_lateral_views(p, &select->from));
    /* Whoever could have been an alias has become one: the words are clauses now. */
    if (nl_parser_take(p, NL_T_WHERE)) NL_TRY(nl_parse_expression(p, &select->where));
    if (starts_group_by(p)) NL_TRY(nl_parse_group_by(p, false, &select->group_by));
    if (nl_parser_take(p, NL_T_HAVING)) NL_TRY(nl_parse_expression(p, &select->having));
    return nl_parse_windows(p, &select->windows);
}

static nl_status check_transform(nl_parser *p, nl_ast_range range, const nl_ast_transform *transform)
{
    if (!transform) return NULL;
    if (transform->quantifier != NL_AST_SET_UNSAID) return NL_REFUSE(p, range, UNSUPPORTED_FEATURE__TRANSFORM_DISTINCT_ALL);
    if (transform->record_reader.data || transform->record_writer.data)
        return NL_REFUSE(p, range, _LEGACY_ERROR_TEMP_0048);
    return NULL;
}

/* SELECT …, SELECT TRANSFORM …, MAP …, REDUCE … with everything up to WINDOW. */
static nl_status parse_select(nl_parser *p, nl_ast_term **term)
{
    uint32_t first = p->at;
    nl_ast_select *select = NL_NEW(p->arena, nl_ast_select);
    if (nl_parser_starts_transform(p))
        NL_TRY(nl_parse_transform_clause(p, select));
    else
        NL_TRY(nl_parse_select_clause(p, select));
    if (nl_parser_take(p, NL_T_FROM)) NL_TRY(nl_parse_from(p, &select->from));
    NL_TRY(parse_select_clauses(p, select));
    *term = nl_parser_new_term(p, NL_AST_TERM_SELECT, first);
    (*term)->select = select;
    return check_transform(p, (*term)->range, select->transform);
}

/* ---- FROM first ------------------------------------------------------------------------------------------------------- */

static bool has_organization(const nl_ast_organization *o)
{
    return o->order_by.count || o->cluster_by.count || o->distribute_by.count || o->sort_by.count || o->windows.count ||
           o->is_limit_all || o->limit || o->offset;
}

nl_status nl_parse_from_body(nl_parser *p, nl_ast_relation *from, nl_ast_query **query)
{
    uint32_t first = p->at;
    nl_ast_select *select = NL_NEW(p->arena, nl_ast_select);
    select->from = from;
    bool is_transform = nl_parser_starts_transform(p);
    if (is_transform)
        NL_TRY(nl_parse_transform_clause(p, select));
    else
        NL_TRY(nl_parse_select_clause(p, select));
    if (!is_transform)
        NL_TRY(parse_select_clauses(p, select));
    else if (takes_clause_word(p, NL_T_WHERE))
        NL_TRY(nl_parse_expression(p, &select->where));
    nl_ast_term *term = nl_parser_new_term(p, NL_AST_TERM_SELECT, first);
    term->select = select;
    NL_TRY(check_transform(p, term->range, select->transform));
    nl_ast_query *node = NL_NEW(p->arena, nl_ast_query);
    node->body = term;
    NL_TRY(nl_parse_organization(p, &node->organization));
    node->range = nl_parser_range(p, first);
    *query = node;
    return NULL;
}

/* A body with ORDER BY and the like keeps it inside, as a query in parentheses would. */
static nl_ast_term *term_of_body(nl_parser *p, uint32_t first, nl_ast_query *body)
{
    if (!has_organization(&body->organization)) return body->body;
    nl_ast_term *term = nl_parser_new_term(p, NL_AST_TERM_SUBQUERY, first);
    term->query = body;
    return term;
}

/* No body: every column. Several bodies: all of their rows. */
nl_status nl_parse_from_bodies(nl_parser *p, uint32_t first, nl_ast_relation *from, nl_ast_term **term)
{
    nl_ast_term *left = NULL;
    while (nl_parser_starts_clause_at(p, p->at, true) &&
           (nl_parser_is(p, NL_T_SELECT) || nl_parser_is(p, NL_T_MAP) || nl_parser_is(p, NL_T_REDUCE))) {
        nl_ast_query *body = NULL;
        NL_TRY(nl_parse_from_body(p, from, &body));
        nl_ast_term *right = term_of_body(p, first, body);
        if (left) {
            nl_ast_term *both = nl_parser_new_term(p, NL_AST_TERM_SET_OPERATION, first);
            both->set.op = NL_AST_SET_UNION;
            both->set.quantifier = NL_AST_SET_ALL;
            both->set.left = left;
            both->set.right = right;
            right = both;
        }
        left = right;
    }
    if (!left) {
        left = nl_parser_new_term(p, NL_AST_TERM_SELECT, first);
        left->select = NL_NEW(p->arena, nl_ast_select);
        left->select->from = from;
    }
    *term = left;
    return NULL;
}

/* ---- terms ------------------------------------------------------------------------------------------------------------- */

nl_status nl_parse_query_primary(nl_parser *p, nl_ast_term **term)
{
    uint32_t first = p->at;
    switch ((int)nl_parser_kind(p)) {
    case NL_T_LEFT_PAREN: {
        p->at++;
        nl_ast_query *query = NULL;
        NL_TRY(nl_parse_query(p, &query));
        NL_TRY(nl_parser_close(p));
        *term = nl_parser_new_term(p, NL_AST_TERM_SUBQUERY, first);
        (*term)->query = query;
        return NULL;
    }
    case NL_T_SELECT:
    case NL_T_MAP:
    case NL_T_REDUCE: return parse_select(p, term);
    case NL_T_FROM: {
        p->at++;
        nl_ast_relation *from = NULL;
        NL_TRY(nl_parse_from(p, &from));
        return nl_parse_from_bodies(p, first, from, term);
    }
    case NL_T_TABLE: {
        p->at++;
        nl_ast_name name;
        NL_TRY(nl_parse_name_reference(p, &name));
        *term = nl_parser_new_term(p, NL_AST_TERM_TABLE, first);
        (*term)->table = name;
        return NULL;
    }
    case NL_T_VALUES: {
        nl_ast_relation *values = NULL;
        NL_TRY(nl_parse_values(p, &values));
        *term = nl_parser_new_term(p, NL_AST_TERM_VALUES, first);
        (*term)->values = values;
        return NULL;
    }
    default: return nl_parser_syntax_error(p);
    }
}

/* INTERSECT binds tighter than UNION, EXCEPT and MINUS; all of them tighter than |>. */
static int term_precedence(const nl_parser *p)
{
    nl_token_kind kind = nl_parser_kind(p);
    if (kind == NL_T_OPERATOR_PIPE) return 1;
    if (!nl_token_is_set_operator(kind)) return 0;
    return kind == NL_T_INTERSECT && !p->options.is_legacy_setops ? 3 : 2;
}

static nl_status parse_term_after(nl_parser *p, uint32_t first, nl_ast_term *left, int precedence, nl_ast_term **term)
{
    uint32_t pipe_chain = p->depth;
    uint32_t set_chain = p->depth; /* these become one node of the plan: what follows them does so with loops */
    int found;
    while ((found = term_precedence(p)) != 0 && found >= precedence) {
        if (found == 1 ? ++pipe_chain > NL_EXPRESSION_DEPTH_MAX : ++set_chain > NL_SET_CHAIN_MAX)
            return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
        if (found == 1) {
            NL_TRY(nl_parse_pipe(p, first, left, &left));
            continue;
        }
        nl_token_kind word = nl_parser_kind(p);
        p->at++;
        bool is_cut = nl_parser_ahead(p, 1) == NL_T_EOF && !nl_parser_is(p, NL_T_LEFT_PAREN) && nl_parser_is_identifier_at(p, p->at);
        if (is_cut) return nl_parser_extra_input(p); /* the operator could only have been an alias */
        nl_ast_set_quantifier quantifier;
        NL_TRY(nl_parse_set_quantifier(p, &quantifier));
        uint32_t right_first = p->at;
        nl_ast_term *right = NULL;
        NL_TRY(nl_parse_query_primary(p, &right));
        NL_TRY(parse_term_after(p, right_first, right, found + 1, &right));
        nl_ast_term *both = nl_parser_new_term(p, NL_AST_TERM_SET_OPERATION, first);
        both->set.op = word == NL_T_UNION ? NL_AST_SET_UNION : word == NL_T_INTERSECT ? NL_AST_SET_INTERSECT : NL_AST_SET_EXCEPT;
        both->set.quantifier = quantifier;
        both->set.left = left;
        both->set.right = right;
        left = both;
    }
    *term = left;
    return NULL;
}

/* ---- queries ------------------------------------------------------------------------------------------------------------ */

static nl_status parse_cte(nl_parser *p, nl_ast_cte *cte)
{
    uint32_t first = p->at;
    NL_TRY(nl_parse_name_part(p, &cte->name));
    if (nl_parser_is(p, NL_T_LEFT_PAREN) && nl_parser_is_identifier_at(p, p->at + 1) &&
        !nl_parser_starts_query_at(p, p->at + 1))
        NL_TRY(nl_parse_identifier_list(p, &cte->columns));
    nl_parser_take(p, NL_T_AS);
    NL_TRY(nl_parser_need(p, NL_T_LEFT_PAREN));
    NL_TRY(nl_parse_query(p, &cte->query));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    cte->range = nl_parser_range(p, first);
    return NULL;
}

static int compare_ctes(const void *a, const void *b)
{
    return nl_str_compare((*(const nl_ast_cte *const *)a)->name.text, (*(const nl_ast_cte *const *)b)->name.text);
}

/* DUPLICATED_CTE_NAMES lists every name that was given twice, once. */
nl_status nl_parser_check_ctes(nl_parser *p, nl_ast_range range, const nl_ast_ctes *ctes)
{
    if (ctes->count < 2) return NULL;
    nl_ast_cte **sorted = NL_NEW_ARRAY(p->arena, nl_ast_cte *, ctes->count);
    for (uint32_t i = 0; i < ctes->count; i++) sorted[i] = &ctes->items[i];
    qsort(sorted, ctes->count, sizeof(*sorted), compare_ctes);
    nl_builder names;
    nl_builder_init(&names, NL_SQL_TEXT_BYTES_MAX);
    for (uint32_t i = 1; i < ctes->count; i++) {
        bool is_again = nl_str_equal(sorted[i]->name.text, sorted[i - 1]->name.text);
        bool is_listed = is_again && i > 1 && nl_str_equal(sorted[i]->name.text, sorted[i - 2]->name.text);
        if (is_again && !is_listed)
            nl_append_f(&names, "%s`" NL_STR_FMT "`", names.length ? ", " : "", NL_STR_ARG(sorted[i]->name.text));
    }
    nl_status status = NULL;
    if (names.length > 0)
        status = NL_REFUSE(p, range, DUPLICATED_CTE_NAMES, NL_P_STR("duplicateNames", nl_builder_str(&names)));
    nl_builder_fini(&names);
    return status;
}

nl_status nl_parse_ctes(nl_parser *p, nl_ast_ctes *ctes)
{
    NL_TRY(nl_parser_expect(p, NL_T_WITH));
    nl_token_kind next = nl_parser_ahead(p, 1);
    bool is_recursive = nl_parser_is(p, NL_T_RECURSIVE) && next != NL_T_AS && next != NL_T_LEFT_PAREN;
    if (is_recursive) p->at++;
    nl_list list = {0};
    do {
        nl_ast_cte *cte = NL_NEW(p->arena, nl_ast_cte);
        NL_TRY(parse_cte(p, cte));
        nl_list_add(p->arena, &list, cte);
    } while (nl_parser_take(p, NL_T_COMMA));
    *ctes = (nl_ast_ctes){NL_FLATTEN(p, &list, nl_ast_cte), list.count, is_recursive};
    return NULL;
}

/* A list behind two words that does not fit makes the first word the wrong one. */
static nl_status parse_sort_clause(nl_parser *p, nl_token_kind word, nl_ast_sort_items *items)
{
    uint32_t first = p->at;
    if (!nl_parser_take_both(p, word, NL_T_BY)) return NULL;
    return nl_parser_blame(p, nl_parse_sort_items(p, items), first);
}

static nl_status parse_list_clause(nl_parser *p, nl_token_kind word, nl_ast_exprs *exprs)
{
    uint32_t first = p->at;
    if (!nl_parser_take_both(p, word, NL_T_BY)) return NULL;
    return nl_parser_blame(p, nl_parse_expressions(p, exprs), first);
}

static nl_status parse_limit(nl_parser *p, nl_ast_organization *o)
{
    uint32_t first = p->at;
    if (takes_clause_word(p, NL_T_LIMIT)) {
        nl_token_kind next = nl_parser_ahead(p, 1);
        bool is_all = nl_parser_is(p, NL_T_ALL) && next != NL_T_DOT && next != NL_T_LEFT_PAREN && next != NL_T_PLUS &&
                      next != NL_T_MINUS_SIGN && next != NL_T_ASTERISK;
        if (is_all) {
            o->is_limit_all = true;
            p->at++;
        } else {
            NL_TRY(nl_parser_blame(p, nl_parse_expression(p, &o->limit), first));
        }
    }
    first = p->at;
    if (!takes_clause_word(p, NL_T_OFFSET)) return NULL;
    return nl_parser_blame(p, nl_parse_expression(p, &o->offset), first);
}

nl_status nl_parse_organization(nl_parser *p, nl_ast_organization *o)
{
    uint32_t first = p->at;
    uint32_t open_count = p->open_count;
    p->open_count = 0;
    NL_TRY(parse_sort_clause(p, NL_T_ORDER, &o->order_by));
    NL_TRY(parse_list_clause(p, NL_T_CLUSTER, &o->cluster_by));
    NL_TRY(parse_list_clause(p, NL_T_DISTRIBUTE, &o->distribute_by));
    NL_TRY(parse_sort_clause(p, NL_T_SORT, &o->sort_by));
    NL_TRY(nl_parse_windows(p, &o->windows));
    p->open_count = open_count;
    NL_TRY(parse_limit(p, o));
    bool has_order = o->order_by.count > 0;
    bool has_sort = o->sort_by.count > 0;
    bool has_distribute = o->distribute_by.count > 0;
    bool has_cluster = o->cluster_by.count > 0;
    bool is_allowed = has_order     ? !has_sort && !has_distribute && !has_cluster
                      : has_cluster ? !has_sort && !has_distribute
                                    : true;
    if (is_allowed) return NULL;
    return NL_REFUSE(p, nl_parser_range(p, first), UNSUPPORTED_FEATURE__COMBINATION_QUERY_RESULT_CLAUSES);
}

nl_status nl_parse_query_after(nl_parser *p, uint32_t first, const nl_ast_ctes *ctes, nl_ast_term *term, nl_ast_query **query)
{
    nl_ast_query *node = NL_NEW(p->arena, nl_ast_query);
    uint32_t term_first = p->at;
    if (ctes) node->ctes = *ctes;
    if (!term)
        NL_TRY(nl_parse_query_primary(p, &term));
    else
        term_first = first;
    NL_TRY(parse_term_after(p, term_first, term, 1, &node->body));
    NL_TRY(nl_parse_organization(p, &node->organization));
    node->range = nl_parser_range(p, first);
    *query = node;
    return nl_arena_check(p->arena);
}

nl_status nl_parse_query(nl_parser *p, nl_ast_query **query)
{
    uint32_t first = p->at;
    NL_TRY(nl_parser_enter(p));
    uint32_t open_count = p->open_count;
    uint32_t column_count = p->column_count;
    bool may_have_alias = p->may_have_alias;
    p->open_count = 0;
    nl_ast_ctes ctes = {0};
    if (nl_parser_is(p, NL_T_WITH)) NL_TRY(nl_parse_ctes(p, &ctes));
    NL_TRY(nl_parse_query_after(p, first, &ctes, NULL, query));
    NL_TRY(nl_parser_check_ctes(p, (*query)->range, &ctes));
    p->open_count = open_count;
    p->column_count = column_count;
    p->may_have_alias = may_have_alias;
    nl_parser_leave(p);
    return NULL;
}
