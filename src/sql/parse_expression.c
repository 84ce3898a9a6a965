/* sql/parse_expression.c - expressions from OR down to unary operators, by precedence climbing; aliases; sort items.
 *
 * Weakest first: OR, AND, NOT, then one predicate (BETWEEN, IN, LIKE, IS …) over a value. Inside a value: comparison,
 * |, ^, &, shifts, + - ||, * / % DIV, unary. Nearly every keyword may also be a name, so an operator word counts as
 * one only when something that fits follows it. */
#include "sql/parse.h"

nl_ast_expr *nl_parser_new_expr(nl_parser *p, nl_ast_expr_kind kind, uint32_t first_token)
{
    nl_ast_expr *expr = NL_NEW(p->arena, nl_ast_expr);
    expr->kind = kind;
    expr->range = nl_parser_range(p, first_token);
    return expr;
}

/* Operators that bind to the left deepen the tree without deepening the recursion; both count. */
static nl_status check_chain(const nl_parser *p, uint32_t length)
{
    return p->depth + length > NL_EXPRESSION_DEPTH_MAX ? NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX) : NULL;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

enum { PRECEDENCE_COMPARISON = 1 };

static const struct binary_rule {
    uint16_t token;
    uint8_t op;
    uint8_t precedence;
} binary_rules[] = {
    {NL_T_EQ, NL_AST_BINARY_EQ, 1},
    {NL_T_NULL_SAFE_EQ, NL_AST_BINARY_NULL_SAFE_EQ, 1},
    {NL_T_NEQ, NL_AST_BINARY_NEQ, 1},
    {NL_T_NEQ_BANG, NL_AST_BINARY_NEQ, 1},
    {NL_T_LT, NL_AST_BINARY_LT, 1},
    {NL_T_LTE, NL_AST_BINARY_LTE, 1},
    {NL_T_GT, NL_AST_BINARY_GT, 1},
    {NL_T_GTE, NL_AST_BINARY_GTE, 1},
    {NL_T_PIPE, NL_AST_BINARY_BIT_OR, 2},
    {NL_T_HAT, NL_AST_BINARY_BIT_XOR, 3},
    {NL_T_AMPERSAND, NL_AST_BINARY_BIT_AND, 4},
    {NL_T_SHIFT_LEFT, NL_AST_BINARY_SHIFT_LEFT, 5},
    {NL_T_SHIFT_RIGHT, NL_AST_BINARY_SHIFT_RIGHT, 5},
    {NL_T_SHIFT_RIGHT_UNSIGNED, NL_AST_BINARY_SHIFT_RIGHT_UNSIGNED, 5},
    {NL_T_PLUS, NL_AST_BINARY_ADD, 6},
    {NL_T_MINUS_SIGN, NL_AST_BINARY_SUBTRACT, 6},
    {NL_T_CONCAT, NL_AST_BINARY_CONCAT, 6},
    {NL_T_ASTERISK, NL_AST_BINARY_MULTIPLY, 7},
    {NL_T_SLASH, NL_AST_BINARY_DIVIDE, 7},
    {NL_T_PERCENT_SIGN, NL_AST_BINARY_REMAINDER, 7},
    {NL_T_DIV, NL_AST_BINARY_DIV, 7},
};

static const struct binary_rule *binary_at(const nl_parser *p)
{
    nl_token_kind kind = nl_parser_kind(p);
    bool may_be = kind == NL_T_DIV ? nl_parser_starts_expression_at(p, p->at + 1)
                                   : kind >= NL_T_EQ && kind <= NL_T_HAT;
    if (!may_be) return NULL;
    for (size_t i = 0; i < NL_COUNT(binary_rules); i++)
        if (binary_rules[i].token == kind) return &binary_rules[i];
    return NULL;
}

/* - + ~ before an operand. A minus right before a number belongs to the number. */
static nl_status parse_unary(nl_parser *p, nl_ast_expr **expr)
{
    nl_token_kind kind = nl_parser_kind(p);
    bool is_sign = kind == NL_T_PLUS || kind == NL_T_TILDE || (kind == NL_T_MINUS_SIGN && !nl_parser_starts_constant(p));
    if (!is_sign) return nl_parse_primary(p, expr);
    uint32_t first = p->at++;
    NL_TRY(nl_parser_enter(p));
    nl_ast_expr *input = NULL;
    NL_TRY(parse_unary(p, &input));
    nl_parser_leave(p);
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_UNARY, first);
    (*expr)->unary.op = kind == NL_T_PLUS    ? NL_AST_UNARY_PLUS
                        : kind == NL_T_TILDE ? NL_AST_UNARY_TILDE
                                             : NL_AST_UNARY_MINUS;
    (*expr)->unary.input = input;
    return NULL;
}

static nl_status parse_binary(nl_parser *p, uint32_t first, nl_ast_expr *left, int precedence, nl_ast_expr **expr)
{
    uint32_t chain = 0;
    uint32_t concat_chain = 0; /* a || b || c … becomes one call */
    const struct binary_rule *rule;
    while ((rule = binary_at(p)) != NULL && rule->precedence >= precedence) {
        if (rule->op == NL_AST_BINARY_CONCAT && ++concat_chain > NL_CONCAT_CHAIN_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
        if (rule->op != NL_AST_BINARY_CONCAT) NL_TRY(check_chain(p, ++chain));
        uint32_t right_first = ++p->at;
        nl_ast_expr *right = NULL;
        NL_TRY(parse_unary(p, &right));
        NL_TRY(parse_binary(p, right_first, right, rule->precedence + 1, &right));
        nl_ast_expr *node = nl_parser_new_expr(p, NL_AST_EXPR_BINARY, first);
        node->binary.op = (nl_ast_binary_op)rule->op;
        node->binary.left = left;
        node->binary.right = right;
        left = node;
    }
    *expr = left;
    return NULL;
}

nl_status nl_parse_value_after(nl_parser *p, uint32_t first, nl_ast_expr *primary, nl_ast_expr **expr)
{
    return parse_binary(p, first, primary, PRECEDENCE_COMPARISON, expr);
}

nl_status nl_parse_value(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    nl_ast_expr *left = NULL;
    NL_TRY(parse_unary(p, &left));
    return parse_binary(p, first, left, PRECEDENCE_COMPARISON, expr);
}

/* ---- predicates -------------------------------------------------------------------------------------------------- */

static bool is_not_word(nl_token_kind kind)
{
    return kind == NL_T_NOT || kind == NL_T_BANG;
}

static bool starts_is_predicate(const nl_parser *p)
{
    nl_token_kind next = nl_parser_ahead(p, 1);
    return is_not_word(next) || next == NL_T_NULL || next == NL_T_TRUE || next == NL_T_FALSE || next == NL_T_UNKNOWN ||
           (next == NL_T_DISTINCT && nl_parser_is_identifier_at(p, p->at + 2));
}

/* The predicate's word at the cursor or behind NOT, when it really is one; NL_T_EOF when not. */
static nl_token_kind predicate_at(const nl_parser *p, bool *is_negated)
{
    nl_token_kind kind = nl_parser_kind(p);
    if (kind == NL_T_IS) return starts_is_predicate(p) ? kind : NL_T_EOF;
    *is_negated = is_not_word(kind);
    if (*is_negated) kind = nl_parser_ahead(p, 1);
    bool is_word = kind == NL_T_BETWEEN || kind == NL_T_IN || kind == NL_T_LIKE || kind == NL_T_ILIKE || kind == NL_T_RLIKE;
    if (!is_word) return NL_T_EOF;
    if (*is_negated) return kind;
    nl_token_kind next = nl_parser_ahead(p, 1);
    if (kind == NL_T_IN) return next == NL_T_LEFT_PAREN ? kind : NL_T_EOF;
    bool is_quantified = (next == NL_T_ANY || next == NL_T_SOME || next == NL_T_ALL) && nl_parser_ahead(p, 2) == NL_T_LEFT_PAREN;
    if (is_quantified && (kind == NL_T_LIKE || kind == NL_T_ILIKE)) return kind;
    return nl_parser_starts_expression_at(p, p->at + 1) ? kind : NL_T_EOF;
}

static nl_status parse_between(nl_parser *p, uint32_t first, nl_ast_expr *input, nl_ast_expr **expr)
{
    nl_ast_expr *low = NULL;
    nl_ast_expr *high = NULL;
    NL_TRY(nl_parse_value(p, &low));
    NL_TRY(nl_parser_expect(p, NL_T_AND));
    NL_TRY(nl_parse_value(p, &high));
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_BETWEEN, first);
    (*expr)->between.input = input;
    (*expr)->between.low = low;
    (*expr)->between.high = high;
    return NULL;
}

/* IN (a, b) and IN (query). IN ((query)) is a list of one scalar subquery. When the parentheses do not fit, IN is read
 * as a name, and the blame falls on what then cannot follow. */
static nl_status parse_in(nl_parser *p, uint32_t first, nl_ast_expr *input, nl_ast_expr **expr)
{
    uint32_t open = p->at;
    nl_ast_query *query = NULL;
    nl_list list = {0};
    bool may_have_alias = p->may_have_alias;
    nl_status status = nl_parse_parentheses(p, false, &query, &list);
    bool is_plain = open == first + 1 && p->open_count <= 1;
    if (status && is_plain) return nl_parser_blame(p, status, may_have_alias ? open : first);
    NL_TRY(status);
    if (query && nl_parser_kind_at(p, open + 1) == NL_T_LEFT_PAREN && nl_query_is_only_parentheses(query)) {
        nl_ast_expr *item = nl_parser_new_expr(p, NL_AST_EXPR_SUBQUERY, open);
        item->range = query->range;
        item->query = query->body->query;
        nl_list_add(p->arena, &list, item);
        query = NULL;
    }
    *expr = nl_parser_new_expr(p, query ? NL_AST_EXPR_IN_QUERY : NL_AST_EXPR_IN_LIST, first);
    (*expr)->in.input = input;
    (*expr)->in.query = query;
    (*expr)->in.list = (nl_ast_exprs){(nl_ast_expr **)list.items, list.count};
    return NULL;
}

static bool starts_quantifier(const nl_parser *p)
{
    nl_token_kind kind = nl_parser_kind(p);
    bool is_word = kind == NL_T_ANY || kind == NL_T_SOME || kind == NL_T_ALL;
    return is_word && nl_parser_ahead(p, 1) == NL_T_LEFT_PAREN;
}

static nl_status parse_quantified_like(nl_parser *p, uint32_t first, nl_ast_like_kind kind, nl_ast_expr *input, nl_ast_expr **expr)
{
    nl_token_kind word = nl_parser_kind(p);
    p->at += 2;
    nl_ast_exprs patterns = {0};
    if (!nl_parser_is(p, NL_T_RIGHT_PAREN)) NL_TRY(nl_parse_expressions(p, &patterns));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    nl_ast_expr *node = nl_parser_new_expr(p, NL_AST_EXPR_LIKE_QUANTIFIED, first);
    node->like_quantified.input = input;
    node->like_quantified.patterns = patterns;
    node->like_quantified.kind = kind;
    node->like_quantified.quantifier = word == NL_T_ANY    ? NL_AST_QUANTIFIER_ANY
                                       : word == NL_T_SOME ? NL_AST_QUANTIFIER_SOME
                                                           : NL_AST_QUANTIFIER_ALL;
    *expr = node;
    if (patterns.count > 0) return NULL;
    return NL_REFUSE(p, node->range, _LEGACY_ERROR_TEMP_0064, NL_P("msg", "Expected something between '(' and ')'."));
}

static nl_status parse_escape(nl_parser *p, uint32_t first, nl_ast_expr *like)
{
    p->at++;
    NL_TRY(nl_parse_string(p, &like->like.escape));
    like->like.has_escape = true;
    if (nl_utf8_length(like->like.escape) == 1) return NULL;
    nl_str shown = nl_arena_f(p->arena, "'" NL_STR_FMT "'", NL_STR_ARG(like->like.escape));
    return NL_REFUSE(p, nl_parser_range(p, first), INVALID_ESC, NL_P_STR("invalidEscape", shown));
}

static nl_status parse_like(nl_parser *p, uint32_t first, nl_ast_like_kind kind, nl_ast_expr *input, nl_ast_expr **expr)
{
    if (kind != NL_AST_RLIKE && starts_quantifier(p)) return parse_quantified_like(p, first, kind, input, expr);
    nl_ast_expr *pattern = NULL;
    NL_TRY(nl_parse_value(p, &pattern));
    nl_ast_expr *node = nl_parser_new_expr(p, NL_AST_EXPR_LIKE, first);
    node->like.input = input;
    node->like.pattern = pattern;
    node->like.kind = kind;
    if (kind != NL_AST_RLIKE && nl_parser_is(p, NL_T_ESCAPE) && nl_parser_is_string_at(p, p->at + 1))
        NL_TRY(parse_escape(p, first, node));
    node->range = nl_parser_range(p, first);
    *expr = node;
    return NULL;
}

static nl_status parse_is(nl_parser *p, uint32_t first, nl_ast_expr *input, nl_ast_expr **expr)
{
    bool is_negated = is_not_word(nl_parser_kind(p));
    if (is_negated) NL_TRY(nl_parse_not(p));
    nl_token_kind kind = nl_parser_kind(p);
    if (kind == NL_T_DISTINCT) {
        p->at++;
        NL_TRY(nl_parser_expect(p, NL_T_FROM));
        nl_ast_expr *right = NULL;
        NL_TRY(nl_parse_value(p, &right));
        *expr = nl_parser_new_expr(p, NL_AST_EXPR_IS_DISTINCT, first);
        (*expr)->distinct.left = input;
        (*expr)->distinct.right = right;
    } else if (kind == NL_T_NULL || kind == NL_T_TRUE || kind == NL_T_FALSE || kind == NL_T_UNKNOWN) {
        p->at++;
        *expr = nl_parser_new_expr(p, NL_AST_EXPR_IS, first);
        (*expr)->is.input = input;
        (*expr)->is.kind = kind == NL_T_NULL    ? NL_AST_IS_NULL
                           : kind == NL_T_TRUE  ? NL_AST_IS_TRUE
                           : kind == NL_T_FALSE ? NL_AST_IS_FALSE
                                                : NL_AST_IS_UNKNOWN;
    } else {
        return nl_parser_syntax_error(p);
    }
    (*expr)->is_negated = is_negated;
    return NULL;
}

/* One predicate behind a value, or none. Its range is its own words, without the value before it, as in Spark. */
static nl_status parse_predicate(nl_parser *p, nl_ast_expr *input, nl_ast_expr **expr)
{
    bool is_negated = false;
    nl_token_kind kind = predicate_at(p, &is_negated);
    *expr = input;
    if (kind == NL_T_EOF) return NULL;
    uint32_t first = p->at;
    if (is_negated) NL_TRY(nl_parse_not(p));
    p->at++;
    switch ((int)kind) {
    case NL_T_IS: return parse_is(p, first, input, expr);
    case NL_T_BETWEEN: NL_TRY(parse_between(p, first, input, expr)); break;
    case NL_T_IN: NL_TRY(parse_in(p, first, input, expr)); break;
    case NL_T_LIKE: NL_TRY(parse_like(p, first, NL_AST_LIKE, input, expr)); break;
    case NL_T_ILIKE: NL_TRY(parse_like(p, first, NL_AST_ILIKE, input, expr)); break;
    default: NL_TRY(parse_like(p, first, NL_AST_RLIKE, input, expr)); break;
    }
    (*expr)->is_negated = is_negated;
    return NULL;
}

/* ---- NOT, AND, OR ------------------------------------------------------------------------------------------------ */

/* NOT and ! before an operand; NOT that nothing fits behind is a name. */
static bool starts_not(const nl_parser *p)
{
    if (nl_parser_is(p, NL_T_BANG)) return true;
    if (!nl_parser_is(p, NL_T_NOT)) return false;
    if (p->options.is_ansi_reserved) return true;
    if (nl_parser_ahead(p, 1) == NL_T_LEFT_PAREN && nl_parser_ahead(p, 2) == NL_T_RIGHT_PAREN) return false;
    if (nl_parser_ahead(p, 1) == NL_T_ASTERISK) return !nl_parser_starts_expression_at(p, p->at + 2);
    return nl_parser_starts_expression_at(p, p->at + 1);
}

/* EXISTS(…) whose query does not fit is read as a name before a list. */
static bool starts_exists(const nl_parser *p)
{
    if (!nl_parser_are(p, NL_T_EXISTS, NL_T_LEFT_PAREN)) return false;
    uint32_t at = p->at + 1;
    while (nl_parser_kind_at(p, at) == NL_T_LEFT_PAREN) at++;
    return nl_parser_starts_query_at(p, at);
}

static nl_status parse_exists(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    p->at += 2;
    nl_ast_query *query = NULL;
    nl_status status = nl_parse_query(p, &query);
    if (!status) status = nl_parser_expect(p, NL_T_RIGHT_PAREN);
    if (status && p->open_count == 0) return nl_parser_blame(p, status, first + (p->may_have_alias ? 3 : 1));
    NL_TRY(status);
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_EXISTS, first);
    (*expr)->query = query;
    return NULL;
}

static nl_status parse_boolean_operand(nl_parser *p, nl_ast_expr **expr)
{
    if (starts_not(p)) {
        uint32_t first = p->at++;
        NL_TRY(nl_parser_enter(p));
        nl_ast_expr *input = NULL;
        NL_TRY(parse_boolean_operand(p, &input));
        nl_parser_leave(p);
        *expr = nl_parser_new_expr(p, NL_AST_EXPR_UNARY, first);
        (*expr)->unary.op = NL_AST_UNARY_NOT;
        (*expr)->unary.input = input;
        return NULL;
    }
    if (starts_exists(p)) return parse_exists(p, expr);
    nl_ast_expr *value = NULL;
    NL_TRY(nl_parse_value(p, &value));
    return parse_predicate(p, value, expr);
}

/* A balanced tree over operands low … high, shaped as Spark's, so that thousands of ORs stay shallow. */
static nl_ast_expr *balance(nl_parser *p, nl_ast_binary_op op, nl_ast_expr **operands, uint32_t low, uint32_t high)
{
    if (low == high) return operands[low];
    uint32_t middle = high - low == 1 ? low : low + (high - low) / 2;
    nl_ast_expr *node = NL_NEW(p->arena, nl_ast_expr);
    node->kind = NL_AST_EXPR_BINARY;
    node->binary.op = op;
    node->binary.left = balance(p, op, operands, low, middle);
    node->binary.right = balance(p, op, operands, middle + 1, high);
    node->range = node->binary.left->range;
    node->range.stop = node->binary.right->range.stop;
    return node;
}

static bool takes_logical(nl_parser *p, nl_token_kind kind)
{
    if (!nl_parser_is(p, kind) || !nl_parser_starts_expression_at(p, p->at + 1)) return false;
    p->at++;
    return true;
}

/* operand AND operand …; `operand` is the first one, NULL to parse it. */
static nl_status parse_and(nl_parser *p, uint32_t first, nl_ast_expr *operand, nl_ast_expr **expr)
{
    if (!operand) NL_TRY(parse_boolean_operand(p, &operand));
    *expr = operand;
    nl_list operands = {0};
    while (takes_logical(p, NL_T_AND)) {
        if (operands.count == 0) nl_list_add(p->arena, &operands, operand);
        NL_TRY(parse_boolean_operand(p, &operand));
        nl_list_add(p->arena, &operands, operand);
    }
    if (operands.count == 0) return NULL;
    *expr = balance(p, NL_AST_BINARY_AND, (nl_ast_expr **)operands.items, 0, operands.count - 1);
    (*expr)->range = nl_parser_range(p, first);
    return NULL;
}

static nl_status parse_or(nl_parser *p, uint32_t first, nl_ast_expr *operand, nl_ast_expr **expr)
{
    NL_TRY(nl_parser_enter(p));
    NL_TRY(parse_and(p, first, operand, expr));
    nl_list operands = {0};
    while (takes_logical(p, NL_T_OR)) {
        if (operands.count == 0) nl_list_add(p->arena, &operands, *expr);
        NL_TRY(parse_and(p, p->at, NULL, &operand));
        nl_list_add(p->arena, &operands, operand);
    }
    nl_parser_leave(p);
    if (operands.count > 0) {
        *expr = balance(p, NL_AST_BINARY_OR, (nl_ast_expr **)operands.items, 0, operands.count - 1);
        (*expr)->range = nl_parser_range(p, first);
    }
    return nl_arena_check(p->arena);
}

nl_status nl_parse_expression(nl_parser *p, nl_ast_expr **expr)
{
    bool outer = p->may_have_alias;
    p->may_have_alias = false;
    NL_TRY(parse_or(p, p->at, NULL, expr));
    p->may_have_alias = outer;
    return NULL;
}

nl_status nl_parse_expression_after(nl_parser *p, uint32_t first, nl_ast_expr *primary, nl_ast_expr **expr)
{
    NL_TRY(nl_parse_primary_suffix(p, first, primary, &primary));
    NL_TRY(nl_parse_value_after(p, first, primary, &primary));
    NL_TRY(parse_predicate(p, primary, &primary));
    return parse_or(p, first, primary, expr);
}

/* ---- lists, aliases, sort items ---------------------------------------------------------------------------------- */

nl_status nl_parse_expressions(nl_parser *p, nl_ast_exprs *exprs)
{
    nl_list list = {0};
    do {
        nl_ast_expr *expr = NULL;
        NL_TRY(nl_parse_expression(p, &expr));
        nl_list_add(p->arena, &list, expr);
    } while (nl_parser_take(p, NL_T_COMMA));
    *exprs = (nl_ast_exprs){(nl_ast_expr **)list.items, list.count};
    return NULL;
}

/* `a AS FROM t`: the name is AS. */
static bool is_alias_itself(const nl_parser *p)
{
    nl_token_kind after = nl_parser_ahead(p, 2);
    return nl_parser_ahead(p, 1) == NL_T_FROM &&
           (after == NL_T_IDENTIFIER_WORD || after == NL_T_BACKQUOTED || after == NL_T_LEFT_PAREN);
}

/* [AS] name, [AS] (a, b), or nothing; a word that begins a clause is no alias. */
nl_status nl_parse_alias(nl_parser *p, uint32_t first, nl_ast_expr *input, nl_ast_expr **expr)
{
    *expr = input;
    bool has_as = nl_parser_is(p, NL_T_AS) && !is_alias_itself(p) &&
                  (nl_parser_is_identifier_at(p, p->at + 1) || nl_parser_ahead(p, 1) == NL_T_LEFT_PAREN);
    nl_ast_idents names = {0};
    bool has_parentheses = false;
    if (has_as) p->at++;
    if (nl_parser_is(p, NL_T_LEFT_PAREN) && (has_as || nl_parser_skip_identifier_list(p, p->at) > 0)) {
        has_parentheses = true;
        NL_TRY(nl_parse_identifier_list(p, &names));
    } else if (has_as || (nl_parser_is_identifier_at(p, p->at) && !nl_parser_starts_clause_at(p, p->at, false))) {
        names = (nl_ast_idents){NL_NEW(p->arena, nl_ast_ident), 1};
        NL_TRY(nl_parse_name_part(p, names.items));
    } else {
        return NULL;
    }
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_ALIAS, first);
    (*expr)->alias.input = input;
    (*expr)->alias.names = names;
    (*expr)->alias.has_parentheses = has_parentheses;
    return NULL;
}

nl_status nl_parse_named_expression(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    nl_ast_expr *input = NULL;
    bool outer = p->may_have_alias;
    p->may_have_alias = true;
    p->named_depth++;
    NL_TRY(parse_or(p, first, NULL, &input));
    p->named_depth--;
    p->may_have_alias = outer;
    return nl_parse_alias(p, first, input, expr);
}

nl_status nl_parse_named_expressions(nl_parser *p, nl_ast_exprs *exprs)
{
    nl_list list = {0};
    do {
        nl_ast_expr *expr = NULL;
        NL_TRY(nl_parse_named_expression(p, &expr));
        nl_list_add(p->arena, &list, expr);
    } while (nl_parser_take(p, NL_T_COMMA));
    *exprs = (nl_ast_exprs){(nl_ast_expr **)list.items, list.count};
    return NULL;
}

static nl_status parse_sort_item(nl_parser *p, nl_ast_sort_item *item)
{
    uint32_t first = p->at;
    NL_TRY(nl_parse_expression(p, &item->expr));
    item->is_descending = nl_parser_is(p, NL_T_DESC);
    item->has_direction = nl_parser_take(p, NL_T_ASC) || nl_parser_take(p, NL_T_DESC);
    item->is_nulls_first = !item->is_descending;
    if (nl_parser_is(p, NL_T_NULLS)) {
        p->at++;
        item->has_nulls = true;
        item->is_nulls_first = nl_parser_take(p, NL_T_FIRST);
        if (!item->is_nulls_first) NL_TRY(nl_parser_expect(p, NL_T_LAST));
    }
    item->range = nl_parser_range(p, first);
    return NULL;
}

nl_status nl_parse_sort_items(nl_parser *p, nl_ast_sort_items *items)
{
    nl_list list = {0};
    do {
        nl_ast_sort_item *item = NL_NEW(p->arena, nl_ast_sort_item);
        NL_TRY(parse_sort_item(p, item));
        nl_list_add(p->arena, &list, item);
    } while (nl_parser_take(p, NL_T_COMMA));
    *items = (nl_ast_sort_items){NL_FLATTEN(p, &list, nl_ast_sort_item), list.count};
    return NULL;
}
