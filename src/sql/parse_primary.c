/* sql/parse_primary.c - the operands of expressions: constants, columns, calls, CASE, CAST, parentheses, lambdas, and
 * what may follow them (. [] :: COLLATE). */
#include "sql/parse.h"

/* ---- what follows an operand -------------------------------------------------------------------------------------- */

static nl_status parse_subscript(nl_parser *p, uint32_t first, nl_ast_expr *input, nl_ast_expr **expr)
{
    p->at++;
    nl_ast_expr *index = NULL;
    NL_TRY(nl_parser_enter(p));
    NL_TRY(nl_parse_value(p, &index));
    nl_parser_leave(p);
    NL_TRY(nl_parser_is(p, NL_T_COLON) ? nl_parser_syntax_error(p) : nl_parser_expect(p, NL_T_RIGHT_BRACKET));
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_SUBSCRIPT, first);
    (*expr)->subscript.input = input;
    (*expr)->subscript.index = index;
    return NULL;
}

/* A field of a column only makes its name longer, parentheses or not; else it is taken out of a value. */
static nl_status parse_field_access(nl_parser *p, uint32_t first, nl_ast_expr *input, nl_ast_expr **expr)
{
    p->at++;
    nl_ast_ident name;
    NL_TRY(nl_parse_identifier(p, &name));
    if (input->kind != NL_AST_EXPR_COLUMN || input->column.expression) {
        *expr = nl_parser_new_expr(p, NL_AST_EXPR_FIELD, first);
        (*expr)->field.input = input;
        (*expr)->field.name = name;
        return NULL;
    }
    uint32_t count = input->column.count;
    if (count > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    nl_ast_ident *parts = NL_NEW_ARRAY(p->arena, nl_ast_ident, count + 1);
    memcpy(parts, input->column.parts, count * sizeof(*parts));
    parts[count] = name;
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_COLUMN, first);
    (*expr)->column = (nl_ast_name){.parts = parts, .count = count + 1, .range = (*expr)->range};
    return NULL;
}

static nl_status parse_colon_cast(nl_parser *p, uint32_t first, nl_ast_expr *input, nl_ast_expr **expr)
{
    p->at++;
    nl_ast_type *type = NULL;
    NL_TRY(nl_parse_type(p, &type));
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_CAST, first);
    (*expr)->cast.input = input;
    (*expr)->cast.type = type;
    (*expr)->cast.form = NL_AST_CAST_COLONS;
    return NULL;
}

static nl_status parse_collate(nl_parser *p, uint32_t first, nl_ast_expr *input, nl_ast_expr **expr)
{
    p->at++;
    nl_ast_name collation;
    NL_TRY(nl_parse_name(p, &collation));
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_COLLATE, first);
    (*expr)->collate.input = input;
    (*expr)->collate.collation = collation;
    return NULL;
}

static bool is_pattern(nl_str name)
{
    for (size_t i = 0; i < name.length; i++) {
        const unsigned char byte = (unsigned char)name.data[i];
        const bool is_word = (byte | 32) >= 'a' && (byte | 32) <= 'z';
        if (!is_word && !(byte >= '0' && byte <= '9') && byte != '_' && byte < 128) return true;
    }
    return false;
}

/* spark.sql.parser.quotedRegexColumnNames: t.`pattern` stands for the columns whose whole names match. */
static nl_ast_expr *columns_that_match(nl_parser *p, uint32_t first, nl_ast_expr *column)
{
    const nl_ast_name *name = &column->column;
    const nl_ast_ident *last = name->count ? &name->parts[name->count - 1] : NULL;
    if (name->expression || !last || !last->is_quoted || !is_pattern(last->text)) return column;
    nl_ast_expr *star = nl_parser_new_expr(p, NL_AST_EXPR_STAR, first);
    star->star.qualifier = (nl_ast_name){.parts = name->parts, .count = name->count - 1, .range = name->range};
    star->star.pattern = last->text;
    return star;
}

nl_status nl_parse_primary_suffix(nl_parser *p, uint32_t first, nl_ast_expr *primary, nl_ast_expr **expr)
{
    for (uint32_t chain = p->depth;; chain++) {
        if (chain > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
        nl_token_kind kind = nl_parser_kind(p);
        if (kind == NL_T_LEFT_BRACKET)
            NL_TRY(parse_subscript(p, first, primary, &primary));
        else if (kind == NL_T_DOT)
            NL_TRY(parse_field_access(p, first, primary, &primary));
        else if (kind == NL_T_DOUBLE_COLON)
            NL_TRY(parse_colon_cast(p, first, primary, &primary));
        else if (kind == NL_T_COLLATE && nl_parser_is_identifier_at(p, p->at + 1))
            NL_TRY(parse_collate(p, first, primary, &primary));
        else
            break;
    }
    if (p->options.is_regex_column && p->named_depth && primary->kind == NL_AST_EXPR_COLUMN) primary = columns_that_match(p, first, primary);
    *expr = primary;
    return NULL;
}

/* ---- CASE, stars, lambdas ----------------------------------------------------------------------------------------- */

/* CASE is a name when no operand can follow it. */
static bool starts_case(const nl_parser *p)
{
    if (!nl_parser_is(p, NL_T_CASE)) return false;
    if (p->options.is_ansi_reserved) return true;
    nl_token_kind next = nl_parser_ahead(p, 1);
    if (next == NL_T_LEFT_PAREN || next == NL_T_MINUS_SIGN || next == NL_T_PLUS || next == NL_T_TILDE) return true;
    if (next == NL_T_ASTERISK) return nl_parser_ahead(p, 2) == NL_T_WHEN;
    if (next == NL_T_FROM) return false;
    return nl_parser_starts_expression_at(p, p->at + 1);
}

static nl_status parse_when(nl_parser *p, nl_ast_when *when)
{
    NL_TRY(nl_parser_expect(p, NL_T_WHEN));
    NL_TRY(nl_parse_expression(p, &when->condition));
    NL_TRY(nl_parser_expect(p, NL_T_THEN));
    return nl_parse_expression(p, &when->result);
}

/* WHEN … THEN … [ELSE …] END */
static nl_status parse_case_rest(nl_parser *p, nl_ast_expr *node)
{
    nl_list whens = {0};
    do {
        nl_ast_when *when = NL_NEW(p->arena, nl_ast_when);
        NL_TRY(parse_when(p, when));
        nl_list_add(p->arena, &whens, when);
    } while (nl_parser_is(p, NL_T_WHEN));
    node->choice.whens = NL_FLATTEN(p, &whens, nl_ast_when);
    node->choice.when_count = whens.count;
    if (!nl_parser_take(p, NL_T_ELSE)) return nl_parser_take(p, NL_T_END) ? NULL : nl_parser_extra_input(p);
    NL_TRY(nl_parse_expression(p, &node->choice.otherwise));
    return nl_parser_expect(p, NL_T_END);
}

/* A CASE WHEN that does not come to its END is read as two names. *expr stays NULL when CASE itself is one. */
static nl_status parse_case(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at++;
    bool may_have_alias = p->may_have_alias;
    nl_ast_expr *node = nl_parser_new_expr(p, NL_AST_EXPR_CASE, first);
    bool is_searched = nl_parser_is(p, NL_T_WHEN) && nl_parser_starts_expression_at(p, p->at + 1);
    if (!is_searched) {
        NL_TRY(nl_parse_expression(p, &node->choice.operand));
        bool is_call = nl_parser_kind_at(p, first + 1) == NL_T_LEFT_PAREN;
        if (!nl_parser_is(p, NL_T_WHEN) && (is_call || p->at <= first + 2)) {
            p->at = first;
            return NULL;
        }
    }
    nl_status status = parse_case_rest(p, node);
    if (p->options.is_ansi_reserved)
        status = nl_parser_blame(p, status, first);
    else if (is_searched)
        status = nl_parser_blame(p, status, first + (may_have_alias ? 2 : 1));
    NL_TRY(status);
    node->range = nl_parser_range(p, first);
    *expr = node;
    return NULL;
}

/* The end of a list of names in parentheses, which may have several parts; 0 when it is none. */
static uint32_t skip_names(const nl_parser *p, uint32_t at)
{
    if (nl_parser_kind_at(p, at) != NL_T_LEFT_PAREN) return 0;
    nl_token_kind kind;
    do {
        if (!nl_parser_is_identifier_at(p, ++at)) return 0;
        kind = nl_parser_kind_at(p, ++at);
    } while (kind == NL_T_COMMA || kind == NL_T_DOT || kind == NL_T_MINUS_SIGN);
    return kind == NL_T_RIGHT_PAREN ? at + 1 : 0;
}

/* At the * (after its qualifier). EXCEPT here needs a list of names, else it is the set operation. */
static nl_status parse_star(nl_parser *p, uint32_t first, const nl_ast_name *qualifier, nl_ast_expr **expr)
{
    p->at++;
    nl_ast_names except = {0};
    bool has_except = nl_parser_are(p, NL_T_EXCEPT, NL_T_LEFT_PAREN) &&
                      (skip_names(p, p->at + 1) > 0 || !nl_parser_starts_query_at(p, p->at + 2)) &&
                      nl_parser_ahead(p, 2) != NL_T_LEFT_PAREN;
    if (has_except) {
        p->at += 2;
        NL_TRY(nl_parse_names(p, &except));
        NL_TRY(nl_parser_close(p));
    }
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_STAR, first);
    if (qualifier) (*expr)->star.qualifier = *qualifier;
    (*expr)->star.except = except;
    (*expr)->star.has_except = has_except;
    return NULL;
}

/* At -> behind the parameters. */
static nl_status parse_lambda_body(nl_parser *p, uint32_t first, nl_ast_idents parameters, nl_ast_expr **expr)
{
    p->at++;
    nl_ast_expr *body = NULL;
    uint32_t column_count = p->column_count;
    NL_TRY(nl_parse_expression(p, &body));
    p->column_count = column_count;
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_LAMBDA, first);
    (*expr)->lambda.parameters = parameters;
    (*expr)->lambda.body = body;
    return NULL;
}

static nl_status parse_one_parameter_lambda(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    nl_ast_idents parameters = {NL_NEW(p->arena, nl_ast_ident), 1};
    NL_TRY(nl_parse_identifier(p, parameters.items));
    return parse_lambda_body(p, first, parameters, expr);
}

/* ---- parentheses --------------------------------------------------------------------------------------------------- */

static bool starts_lambda_parameters(const nl_parser *p)
{
    if (!nl_parser_is_identifier_at(p, p->at + 1) || nl_parser_ahead(p, 2) != NL_T_COMMA) return false;
    uint32_t end = nl_parser_skip_identifier_list(p, p->at);
    return end > 0 && nl_parser_kind_at(p, end) == NL_T_ARROW;
}

/* The operand made of what stood in parentheses from token `first` on. */
static nl_ast_expr *operand_of(nl_parser *p, uint32_t first, nl_ast_query *query, const nl_list *exprs)
{
    if (!query && exprs->count == 1) return exprs->items[0];
    nl_ast_expr *expr = nl_parser_new_expr(p, query ? NL_AST_EXPR_SUBQUERY : NL_AST_EXPR_ROW, first);
    if (query)
        expr->query = query;
    else
        expr->row = (nl_ast_exprs){(nl_ast_expr **)exprs->items, exprs->count};
    return expr;
}

/* After an inner pair of parentheses: it is a query's first term, or an expression's first operand. */
static nl_status parse_after_inner(nl_parser *p, uint32_t first, nl_ast_query *inner, const nl_list *exprs, nl_ast_query **query,
                                   nl_ast_expr **expr)
{
    bool is_end = nl_parser_is(p, NL_T_RIGHT_PAREN) || nl_parser_is(p, NL_T_EOF) || nl_parser_is(p, NL_T_SEMICOLON);
    bool is_query = inner && (is_end || nl_parser_continues_query(p));
    if (!is_query) return nl_parse_expression_after(p, first, operand_of(p, first, inner, exprs), expr);
    nl_ast_term *term = nl_parser_new_term(p, NL_AST_TERM_SUBQUERY, first);
    term->query = inner;
    return nl_parse_query_after(p, first, NULL, term, query);
}

/* Whether only `( a, b, …` stands between the parenthesis and the cursor: it may still be a list of names. */
static bool is_identifier_prefix(const nl_parser *p, uint32_t open)
{
    for (uint32_t at = open + 1; at < p->at; at++) {
        bool is_name = (at - open) % 2 == 1;
        if (is_name ? !nl_parser_is_identifier_at(p, at) : nl_parser_kind_at(p, at) != NL_T_COMMA) return false;
    }
    return true;
}

/* Several levels of ( are taken here without going through the whole ladder of rules for each. */
nl_status nl_parse_parentheses(nl_parser *p, bool may_have_aliases, nl_ast_query **query, nl_list *exprs)
{
    NL_TRY(nl_parser_enter(p));
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    uint32_t first = p->at;
    uint32_t open = first - 1;
    nl_ast_expr *expr = NULL;
    bool outer = p->may_have_alias;
    p->may_have_alias = may_have_aliases;
    p->open_count++;
    if (nl_parser_starts_query_at(p, p->at)) {
        NL_TRY(nl_parse_query(p, query));
    } else if (nl_parser_is(p, NL_T_LEFT_PAREN) && !starts_lambda_parameters(p)) {
        nl_ast_query *inner = NULL;
        nl_list inner_exprs = {0};
        NL_TRY(nl_parse_parentheses(p, true, &inner, &inner_exprs));
        NL_TRY(parse_after_inner(p, first, inner, &inner_exprs, query, &expr));
    } else {
        NL_TRY(nl_parse_expression(p, &expr));
    }
    while (expr) {
        if (may_have_aliases) NL_TRY(nl_parse_alias(p, first, expr, &expr));
        nl_list_add(p->arena, exprs, expr);
        if (!nl_parser_take(p, NL_T_COMMA)) break;
        first = p->at;
        NL_TRY(nl_parse_expression(p, &expr));
    }
    nl_parser_leave(p);
    p->may_have_alias = outer;
    p->open_count--;
    bool is_lone_alias = exprs->count == 1 && ((nl_ast_expr *)exprs->items[0])->kind == NL_AST_EXPR_ALIAS;
    if (is_lone_alias && nl_parser_is(p, NL_T_RIGHT_PAREN)) return nl_parser_syntax_error(p);
    if (nl_parser_take(p, NL_T_RIGHT_PAREN)) return NULL;
    if (*query) return nl_parser_close(p);
    return exprs->count > 1 && !is_identifier_prefix(p, open) ? nl_parser_extra_input(p) : nl_parser_syntax_error(p);
}

nl_status nl_parse_query_or_expression(nl_parser *p, nl_ast_query **query, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    if (nl_parser_starts_query_at(p, p->at)) return nl_parse_query(p, query);
    if (!nl_parser_is(p, NL_T_LEFT_PAREN) || starts_lambda_parameters(p)) return nl_parse_expression(p, expr);
    nl_ast_query *inner = NULL;
    nl_list exprs = {0};
    NL_TRY(nl_parse_parentheses(p, true, &inner, &exprs));
    return parse_after_inner(p, first, inner, &exprs, query, expr);
}

static nl_status parse_parenthesized(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    if (starts_lambda_parameters(p)) {
        nl_ast_idents parameters;
        NL_TRY(nl_parse_identifier_list(p, &parameters));
        return parse_lambda_body(p, first, parameters, expr);
    }
    nl_ast_query *query = NULL;
    nl_list exprs = {0};
    NL_TRY(nl_parse_parentheses(p, true, &query, &exprs));
    *expr = operand_of(p, first, query, &exprs);
    return NULL;
}

/* ---- names ---------------------------------------------------------------------------------------------------------- */

/* The token behind a.b.c. */
static uint32_t skip_qualified_name(const nl_parser *p, uint32_t at)
{
    if (!nl_parser_is_identifier_at(p, at)) return at;
    at++;
    while (nl_parser_kind_at(p, at) == NL_T_DOT && nl_parser_is_identifier_at(p, at + 1)) at += 2;
    return at;
}

/* a.b.c up to the token `end`. */
static nl_status parse_name_until(nl_parser *p, uint32_t end, nl_ast_name *name)
{
    uint32_t first = p->at;
    uint32_t count = (end - first + 1) / 2;
    nl_ast_ident *parts = NL_NEW_ARRAY(p->arena, nl_ast_ident, count);
    for (uint32_t i = 0; i < count; i++) {
        p->at = first + 2 * i;
        NL_TRY(nl_parse_identifier(p, &parts[i]));
    }
    *name = (nl_ast_name){.parts = parts, .count = count, .range = nl_parser_range(p, first)};
    return NULL;
}

/* A name: lambda, call, t.*, or a column. */
static nl_status parse_named_operand(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    if (nl_parser_ahead(p, 1) == NL_T_ARROW) return parse_one_parameter_lambda(p, expr);
    uint32_t end = skip_qualified_name(p, p->at);
    nl_token_kind next = nl_parser_kind_at(p, end);
    if (next == NL_T_LEFT_PAREN) return nl_parse_call(p, expr);
    if (next == NL_T_DOT && nl_parser_kind_at(p, end + 1) == NL_T_ASTERISK) {
        nl_ast_name qualifier;
        NL_TRY(parse_name_until(p, end, &qualifier));
        p->at++;
        return parse_star(p, first, &qualifier, expr);
    }
    nl_ast_name name;
    NL_TRY(parse_name_until(p, end, &name));
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_COLUMN, first);
    (*expr)->column = name;
    p->column_count++;
    return NULL;
}

/* Words that are reserved when keywords are enforced but stand for functions without parentheses. */
static bool is_current_word(nl_token_kind kind)
{
    return kind == NL_T_CURRENT_DATE || kind == NL_T_CURRENT_TIMESTAMP || kind == NL_T_CURRENT_USER ||
           kind == NL_T_USER || kind == NL_T_SESSION_USER;
}

static nl_status parse_current_word(nl_parser *p, nl_ast_expr **expr)
{
    nl_ast_ident *part = NL_NEW(p->arena, nl_ast_ident);
    p->at++;
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_COLUMN, p->at - 1);
    *part = (nl_ast_ident){nl_parser_token_text(p, p->at - 1), (*expr)->range, false};
    (*expr)->column = (nl_ast_name){.parts = part, .count = 1, .range = (*expr)->range};
    p->column_count++;
    return NULL;
}

static nl_status parse_bare_primary(nl_parser *p, nl_ast_expr **expr)
{
    nl_token_kind kind = nl_parser_kind(p);
    *expr = NULL;
    if (kind == NL_T_LEFT_PAREN) return parse_parenthesized(p, expr);
    if (kind == NL_T_ASTERISK) return parse_star(p, p->at, NULL, expr);
    if (starts_case(p)) NL_TRY(parse_case(p, expr));
    if (*expr) return NULL;
    if (nl_token_is_keyword(kind) && nl_parser_ahead(p, 1) == NL_T_LEFT_PAREN) {
        NL_TRY(nl_parse_special_call(p, expr));
        if (*expr) return NULL;
    }
    if (nl_parser_starts_constant(p)) return nl_parse_constant(p, expr);
    nl_token_kind next = nl_parser_ahead(p, 1);
    if (kind == NL_T_INTERVAL && (next == NL_T_INTEGER_VALUE || next == NL_T_DECIMAL_VALUE)) {
        p->at += 2; /* a number without its unit: the word behind is wrong */
        return nl_parser_syntax_error(p);
    }
    if (nl_parser_is_identifier_at(p, p->at)) return parse_named_operand(p, expr);
    bool is_function_word = kind == NL_T_LEFT || kind == NL_T_RIGHT || kind == NL_T_FILTER;
    if (is_function_word && nl_parser_ahead(p, 1) == NL_T_LEFT_PAREN) return nl_parse_call(p, expr);
    if (is_current_word(kind)) return parse_current_word(p, expr);
    return nl_parser_syntax_error(p);
}

nl_status nl_parse_primary(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    nl_ast_expr *primary = NULL;
    NL_TRY(parse_bare_primary(p, &primary));
    return nl_parse_primary_suffix(p, first, primary, expr);
}
