/* sql/parse_relation.c - what stands in FROM: tables with time travel, options and samples, subqueries, table
 * functions, VALUES, joins, LATERAL, LATERAL VIEW, PIVOT and UNPIVOT. Comma, join and pivot make one tree, leaning
 * to the left. */
#include "sql/parse.h"

#include "base/number.h"

nl_ast_relation *nl_parser_new_relation(nl_parser *p, nl_ast_relation_kind kind, uint32_t first_token)
{
    nl_ast_relation *relation = NL_NEW(p->arena, nl_ast_relation);
    relation->kind = kind;
    relation->range = nl_parser_range(p, first_token);
    return relation;
}

/* ---- aliases and samples -------------------------------------------------------------------------------------------- */

/* `t AS WHERE b = 1`: the table is called AS. */
static bool is_as_the_alias(const nl_parser *p)
{
    return nl_parser_starts_clause_at(p, p->at + 1, true) && !nl_parser_follows_relation_at(p, p->at + 2);
}

nl_status nl_parse_table_alias(nl_parser *p, nl_ast_table_alias *alias)
{
    bool has_as = nl_parser_is(p, NL_T_AS) && nl_parser_is_strict_identifier_at(p, p->at + 1) && !is_as_the_alias(p);
    if (has_as)
        p->at++;
    else if (!nl_parser_is_strict_identifier_at(p, p->at) || nl_parser_starts_clause_at(p, p->at, true))
        return NULL;
    NL_TRY(nl_parse_strict_identifier(p, &alias->name));
    if (!nl_parser_is(p, NL_T_LEFT_PAREN)) return NULL;
    return nl_parse_identifier_list(p, &alias->columns);
}

static nl_status refuse_sample(nl_parser *p, uint32_t first, nl_str message)
{
    return NL_REFUSE(p, nl_parser_range(p, first), _LEGACY_ERROR_TEMP_0064, NL_P_STR("msg", message));
}

/* Digits with a point as parts per hundred, written as Java writes the fraction in the message. */
static bool is_fraction_allowed(double fraction)
{
    /* Spark lets rounding pass: 1e-6 on both ends. */
    return fraction >= 0.0 - 1e-6 && fraction <= 1.0 + 1e-6;
}

static nl_status check_fraction(nl_parser *p, uint32_t first, double numerator, double denominator)
{
    double fraction = denominator == 0 ? 2.0 : numerator / denominator;
    if (is_fraction_allowed(fraction)) return NULL;
    char text[NL_NUMBER_TEXT_MAX];
    uint32_t length = nl_format_double(fraction, text);
    return refuse_sample(p, first,
                         nl_arena_f(p->arena, "Sampling fraction (%.*s) must be on interval [0, 1]", (int)length, text));
}

/* A sample's words, with the REPEATABLE (n) that is still to be read. */
static nl_ast_range sample_range(const nl_parser *p, uint32_t first)
{
    nl_ast_range range = nl_parser_range(p, first);
    bool has_seed = nl_parser_are(p, NL_T_REPEATABLE, NL_T_LEFT_PAREN) && nl_parser_ahead(p, 2) == NL_T_INTEGER_VALUE &&
                    nl_parser_ahead(p, 3) == NL_T_RIGHT_PAREN;
    if (has_seed) range.stop = p->options.range_base + p->tokens[p->at + 3].stop;
    return range;
}

static nl_status parse_bucket_sample(nl_parser *p, uint32_t first, nl_ast_sample *sample)
{
    p->at++;
    sample->kind = NL_AST_SAMPLE_BUCKET;
    sample->numbers[0] = nl_parser_token_text(p, p->at++);
    NL_TRY(nl_parser_expect(p, NL_T_OUT));
    NL_TRY(nl_parser_expect(p, NL_T_OF));
    if (!nl_parser_is(p, NL_T_INTEGER_VALUE)) return nl_parser_syntax_error(p);
    sample->numbers[1] = nl_parser_token_text(p, p->at++);
    bool has_on = nl_parser_take(p, NL_T_ON);
    bool is_function = false;
    if (has_on) {
        nl_ast_name name;
        NL_TRY(nl_parse_qualified_name(p, &name));
        is_function = nl_parser_take_both(p, NL_T_LEFT_PAREN, NL_T_RIGHT_PAREN);
    }
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    if (!has_on) return NULL;
    return NL_REFUSE(p, sample_range(p, first), _LEGACY_ERROR_TEMP_0015,
                         NL_P("msg", is_function ? "BUCKET x OUT OF y ON function" : "BUCKET x OUT OF y ON colname"));
}

/* Anything that is neither PERCENT nor ROWS is taken for a number of bytes, which Spark does not support. */
static nl_status refuse_bytes(nl_parser *p, uint32_t first, uint32_t expr_first)
{
    NL_TRY(nl_parser_close(p));
    nl_str text = nl_parser_text_between(p, expr_first, p->at - 1);
    char last = text.length > 1 ? text.data[text.length - 1] : 0;
    bool has_digits = text.length > 1;
    for (size_t i = 0; i + 1 < text.length; i++) has_digits &= text.data[i] >= '0' && text.data[i] <= '9';
    bool is_bytes = has_digits && strchr("bBkKmMgG", last) != NULL && last != 0;
    nl_ast_range range = sample_range(p, first);
    if (is_bytes) return NL_REFUSE(p, range, _LEGACY_ERROR_TEMP_0015, NL_P("msg", "byteLengthLiteral"));
    return NL_REFUSE(p, range, _LEGACY_ERROR_TEMP_0016, NL_P_STR("bytesStr", text));
}

static bool starts_percent(const nl_parser *p)
{
    uint32_t at = nl_parser_is(p, NL_T_MINUS_SIGN) ? p->at + 1 : p->at;
    nl_token_kind kind = nl_parser_kind_at(p, at);
    return (kind == NL_T_INTEGER_VALUE || kind == NL_T_DECIMAL_VALUE) && nl_parser_kind_at(p, at + 1) == NL_T_PERCENT;
}

static nl_status parse_percent_sample(nl_parser *p, nl_ast_sample *sample)
{
    uint32_t first = p->at;
    nl_parser_take(p, NL_T_MINUS_SIGN);
    p->at += 2;
    sample->kind = NL_AST_SAMPLE_PERCENT;
    sample->numbers[0] = nl_arena_str(p->arena, nl_parser_text_between(p, first, p->at - 1));
    return nl_parser_close(p);
}

static nl_status parse_sample_method(nl_parser *p, uint32_t first, nl_ast_sample *sample)
{
    if (nl_parser_is(p, NL_T_BUCKET) && nl_parser_ahead(p, 1) == NL_T_INTEGER_VALUE)
        return parse_bucket_sample(p, first, sample);
    if (starts_percent(p)) return parse_percent_sample(p, sample);
    uint32_t expr_first = p->at;
    NL_TRY(nl_parse_expression(p, &sample->expr));
    if (!nl_parser_take(p, NL_T_ROWS)) return refuse_bytes(p, first, expr_first);
    sample->kind = NL_AST_SAMPLE_ROWS;
    return nl_parser_expect(p, NL_T_RIGHT_PAREN);
}

static nl_status check_sample(nl_parser *p, uint32_t first, const nl_ast_sample *sample)
{
    double numerator = 0;
    double denominator = 100;
    if (sample->kind != NL_AST_SAMPLE_PERCENT && sample->kind != NL_AST_SAMPLE_BUCKET) return NULL;
    (void)nl_parse_double(sample->numbers[0], &numerator);
    if (sample->kind == NL_AST_SAMPLE_BUCKET) (void)nl_parse_double(sample->numbers[1], &denominator);
    return check_fraction(p, first, numerator, denominator);
}

/* TABLESAMPLE (…) [REPEATABLE (n)], or nothing. */
nl_status nl_parse_sample(nl_parser *p, nl_ast_sample **sample)
{
    if (!nl_parser_are(p, NL_T_TABLESAMPLE, NL_T_LEFT_PAREN)) return NULL;
    uint32_t first = p->at;
    p->at += 2;
    nl_ast_sample *node = NL_NEW(p->arena, nl_ast_sample);
    if (nl_parser_take(p, NL_T_RIGHT_PAREN))
        NL_TRY(NL_REFUSE(p, sample_range(p, first), _LEGACY_ERROR_TEMP_0014));
    else
        NL_TRY(parse_sample_method(p, first, node));
    if (nl_parser_take_both(p, NL_T_REPEATABLE, NL_T_LEFT_PAREN)) {
        if (!nl_parser_is(p, NL_T_INTEGER_VALUE)) return nl_parser_syntax_error(p);
        node->has_seed = true;
        node->seed = nl_parser_token_text(p, p->at++);
        NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    }
    node->range = nl_parser_range(p, first);
    NL_TRY(check_sample(p, first, node));
    *sample = node;
    return NULL;
}

/* ---- one relation ---------------------------------------------------------------------------------------------------- */

/* [FOR] {VERSION | SYSTEM_VERSION} AS OF …, [FOR] {TIMESTAMP | SYSTEM_TIME} AS OF … */
static nl_status parse_time_travel(nl_parser *p, nl_ast_time_travel **travel)
{
    uint32_t first = p->at;
    uint32_t word = nl_parser_is(p, NL_T_FOR) ? p->at + 1 : p->at;
    nl_token_kind kind = nl_parser_kind_at(p, word);
    bool is_timestamp = kind == NL_T_TIMESTAMP || kind == NL_T_SYSTEM_TIME;
    bool is_version = kind == NL_T_VERSION || kind == NL_T_SYSTEM_VERSION;
    bool has_for = word > p->at;
    bool is_there = (is_timestamp || is_version) && (has_for || nl_parser_kind_at(p, word + 1) == NL_T_AS);
    if (!is_there) return NULL;
    p->at = word + 1;
    NL_TRY(nl_parser_expect(p, NL_T_AS));
    NL_TRY(nl_parser_expect(p, NL_T_OF));
    nl_ast_time_travel *node = NL_NEW(p->arena, nl_ast_time_travel);
    node->is_timestamp = is_timestamp;
    if (is_timestamp) {
        uint32_t column_count = p->column_count;
        NL_TRY(nl_parse_value(p, &node->timestamp));
        if (p->column_count != column_count)
            NL_TRY(NL_REFUSE(p, nl_parser_range(p, first), _LEGACY_ERROR_TEMP_0056,
                             NL_P("reason", "timestamp expression cannot refer to any columns")));
    } else if (nl_parser_is(p, NL_T_INTEGER_VALUE)) {
        node->version = nl_parser_token_text(p, p->at++);
    } else {
        node->is_string = true;
        NL_TRY(nl_parse_string(p, &node->version));
    }
    node->range = nl_parser_range(p, first);
    *travel = node;
    return NULL;
}

static nl_status parse_table(nl_parser *p, nl_ast_relation **relation)
{
    uint32_t first = p->at;
    nl_ast_relation *node = nl_parser_new_relation(p, NL_AST_RELATION_TABLE, first);
    NL_TRY(nl_parse_name_reference(p, &node->table.name));
    node->range = nl_parser_range(p, first);
    NL_TRY(parse_time_travel(p, &node->table.time_travel));
    if (nl_parser_are(p, NL_T_WITH, NL_T_LEFT_PAREN)) {
        p->at++;
        NL_TRY(nl_parse_properties(p, false, &node->table.options));
        NL_TRY(nl_parser_need_values_at(p, node->table.name.range, node->table.options));
    }
    NL_TRY(nl_parse_sample(p, &node->sample));
    NL_TRY(nl_parse_table_alias(p, &node->alias));
    *relation = node;
    return NULL;
}

/* A table function's name has one part. */
static nl_status check_function_name(nl_parser *p, const nl_ast_name *name, nl_ast_range range)
{
    if (name->count <= 1) return NULL;
    return NL_REFUSE(p, range, INVALID_SQL_SYNTAX__INVALID_TABLE_VALUED_FUNC_NAME,
                     NL_P_STR("funcName", nl_parser_quote_name(p, name)));
}

static nl_status parse_table_function(nl_parser *p, const nl_ast_name *name, uint32_t first, nl_ast_relation **relation)
{
    nl_ast_relation *node = nl_parser_new_relation(p, NL_AST_RELATION_FUNCTION, first);
    node->function.name = *name;
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    NL_TRY(nl_parse_arguments(p, true, &node->function.args));
    node->range = nl_parser_range(p, first);
    NL_TRY(nl_parse_table_alias(p, &node->alias));
    NL_TRY(check_function_name(p, name, nl_parser_range(p, first)));
    *relation = node;
    return NULL;
}

nl_status nl_parse_values(nl_parser *p, nl_ast_relation **relation)
{
    uint32_t first = p->at++;
    nl_ast_relation *node = nl_parser_new_relation(p, NL_AST_RELATION_VALUES, first);
    nl_list rows = {0};
    do {
        nl_ast_expr *row = NULL;
        NL_TRY(nl_parse_expression(p, &row));
        nl_list_add(p->arena, &rows, row);
        /* A comma at the very end stays, to be blamed. */
    } while (nl_parser_ahead(p, 1) != NL_T_EOF && nl_parser_take(p, NL_T_COMMA));
    node->rows = (nl_ast_exprs){(nl_ast_expr **)rows.items, rows.count};
    node->range = nl_parser_range(p, first);
    NL_TRY(nl_parse_table_alias(p, &node->alias));
    *relation = node;
    return NULL;
}

/* The token behind a.b.c when `(` stands there: a call; else 0. */
static uint32_t function_paren_at(const nl_parser *p)
{
    uint32_t at = p->at;
    nl_token_kind kind = nl_parser_kind(p);
    bool is_function_word = kind == NL_T_LEFT || kind == NL_T_RIGHT || kind == NL_T_FILTER;
    if (!nl_parser_is_identifier_at(p, at) && !is_function_word) return 0;
    at++;
    while (nl_parser_kind_at(p, at) == NL_T_DOT && nl_parser_is_identifier_at(p, at + 1)) at += 2;
    return nl_parser_kind_at(p, at) == NL_T_LEFT_PAREN ? at : 0;
}

/* VALUES begins rows when something follows that is no alias of a table called VALUES. */
static bool starts_inline_table(const nl_parser *p)
{
    if (!nl_parser_is(p, NL_T_VALUES)) return false;
    const bool is_call = nl_parser_ahead(p, 2) == NL_T_LEFT_PAREN && nl_parser_ahead(p, 3) == NL_T_RIGHT_PAREN; /* VALUES now(): an alias has columns */
    return nl_parser_starts_expression_at(p, p->at + 1) && (is_call || !nl_parser_is_identifier_at(p, p->at + 1));
}

static nl_status parse_identifier_relation(nl_parser *p, nl_ast_relation **relation)
{
    uint32_t first = p->at;
    nl_ast_name name;
    NL_TRY(nl_parse_name_reference(p, &name));
    if (nl_parser_is(p, NL_T_LEFT_PAREN)) return parse_table_function(p, &name, first, relation);
    p->at = first;
    return parse_table(p, relation);
}

static nl_status parse_parenthesized(nl_parser *p, nl_ast_relation **relation);

static nl_status parse_primary(nl_parser *p, nl_ast_relation **relation)
{
    uint32_t first = p->at;
    if (nl_parser_is(p, NL_T_LEFT_PAREN)) return parse_parenthesized(p, relation);
    if (starts_inline_table(p)) return nl_parse_values(p, relation);
    if (nl_parser_are(p, NL_T_IDENTIFIER, NL_T_LEFT_PAREN)) return parse_identifier_relation(p, relation);
    uint32_t paren = function_paren_at(p);
    if (paren == 0) return parse_table(p, relation);
    nl_ast_name name;
    if (nl_parser_is_identifier_at(p, p->at)) {
        NL_TRY(nl_parse_qualified_name(p, &name));
    } else {
        nl_ast_ident *part = NL_NEW(p->arena, nl_ast_ident);
        part->text = nl_parser_token_text(p, p->at++);
        part->range = nl_parser_range(p, first);
        name = (nl_ast_name){.parts = part, .count = 1, .range = part->range};
    }
    return parse_table_function(p, &name, first, relation);
}

/* ---- parentheses ------------------------------------------------------------------------------------------------------ */

/* (query) or (relation) with what may follow either. */
static nl_status parse_subquery_end(nl_parser *p, uint32_t first, nl_ast_query *query, nl_ast_relation *inner,
                                    nl_ast_relation **relation)
{
    nl_ast_relation *node = nl_parser_new_relation(p, query ? NL_AST_RELATION_SUBQUERY : NL_AST_RELATION_PARENTHESES, first);
    if (query)
        node->query = query;
    else
        node->inner = inner;
    NL_TRY(nl_parse_sample(p, &node->sample));
    NL_TRY(nl_parse_table_alias(p, &node->alias));
    *relation = node;
    return NULL;
}

static bool has_from(const nl_ast_term *term)
{
    return term->kind == NL_AST_TERM_SELECT && term->select->from;
}

/* Reads `( … )` and tells what it was. `((query) UNION …)` and `((query) t JOIN u)` part only behind the inner one. */
static nl_status parse_contents(nl_parser *p, nl_ast_query **query, nl_ast_relation **relation)
{
    NL_TRY(nl_parser_enter(p));
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    uint32_t first = p->at;
    bool may_go_on = false; /* a select list without FROM, rows of VALUES: what is missing may be more of them */
    if (nl_parser_starts_query_at(p, p->at)) {
        NL_TRY(nl_parse_query(p, query));
        may_go_on = nl_parser_is(p, NL_T_EOF) && !has_from((*query)->body);
    } else if (nl_parser_is(p, NL_T_LEFT_PAREN)) {
        nl_ast_query *inner_query = NULL;
        nl_ast_relation *inner = NULL;
        NL_TRY(parse_contents(p, &inner_query, &inner));
        bool is_query = inner_query && (nl_parser_is(p, NL_T_RIGHT_PAREN) || nl_parser_continues_query(p));
        if (is_query) {
            nl_ast_term *term = nl_parser_new_term(p, NL_AST_TERM_SUBQUERY, first);
            term->query = inner_query;
            NL_TRY(nl_parse_query_after(p, first, NULL, term, query));
        } else {
            NL_TRY(parse_subquery_end(p, first, inner_query, inner, relation));
            NL_TRY(nl_parse_relation_after(p, first, *relation, relation));
        }
    } else {
        bool is_lateral = nl_parser_is(p, NL_T_LATERAL) && (nl_parser_is_identifier_at(p, p->at + 1) ||
                                                            nl_parser_ahead(p, 1) == NL_T_LEFT_PAREN);
        if (is_lateral) p->at++;
        NL_TRY(parse_primary(p, relation));
        (*relation)->is_lateral = is_lateral;
        NL_TRY(nl_parse_relation_after(p, first, *relation, relation));
    }
    nl_parser_leave(p);
    return may_go_on ? nl_parser_need(p, NL_T_RIGHT_PAREN) : nl_parser_close(p);
}

static nl_status parse_parenthesized(nl_parser *p, nl_ast_relation **relation)
{
    uint32_t first = p->at;
    nl_ast_query *query = NULL;
    nl_ast_relation *inner = NULL;
    NL_TRY(parse_contents(p, &query, &inner));
    return parse_subquery_end(p, first, query, inner, relation);
}

/* ---- joins ------------------------------------------------------------------------------------------------------------- */

static nl_ast_join_kind parse_join_kind(nl_parser *p)
{
    nl_ast_join_kind kind = NL_AST_JOIN_INNER;
    switch ((int)nl_parser_kind(p)) {
    case NL_T_INNER: p->at++; return NL_AST_JOIN_INNER;
    case NL_T_CROSS: p->at++; return NL_AST_JOIN_CROSS;
    case NL_T_SEMI: p->at++; return NL_AST_JOIN_LEFT_SEMI;
    case NL_T_ANTI: p->at++; return NL_AST_JOIN_LEFT_ANTI;
    case NL_T_LEFT:
        p->at++;
        if (nl_parser_take(p, NL_T_SEMI)) return NL_AST_JOIN_LEFT_SEMI;
        if (nl_parser_take(p, NL_T_ANTI)) return NL_AST_JOIN_LEFT_ANTI;
        kind = NL_AST_JOIN_LEFT;
        break;
    case NL_T_RIGHT:
        p->at++;
        kind = NL_AST_JOIN_RIGHT;
        break;
    case NL_T_FULL:
        p->at++;
        kind = NL_AST_JOIN_FULL;
        break;
    default: return NL_AST_JOIN_INNER;
    }
    nl_parser_take(p, NL_T_OUTER);
    return kind;
}

static bool takes_lateral(nl_parser *p)
{
    bool is_prefix = nl_parser_is(p, NL_T_LATERAL) &&
                     (nl_parser_is_identifier_at(p, p->at + 1) || nl_parser_ahead(p, 1) == NL_T_LEFT_PAREN);
    if (is_prefix) p->at++;
    return is_prefix;
}

static const char *join_words(nl_ast_join_kind kind)
{
    switch (kind) {
    case NL_AST_JOIN_INNER: return "INNER";
    case NL_AST_JOIN_CROSS: return "CROSS";
    case NL_AST_JOIN_LEFT: return "LEFT OUTER";
    case NL_AST_JOIN_RIGHT: return "RIGHT OUTER";
    case NL_AST_JOIN_FULL: return "FULL OUTER";
    case NL_AST_JOIN_LEFT_SEMI: return "LEFT SEMI";
    case NL_AST_JOIN_LEFT_ANTI: return "LEFT ANTI";
    }
    return "";
}

/* What Spark refuses about a join that it could parse. */
static nl_status check_join(nl_parser *p, uint32_t join_first, const nl_ast_relation *node)
{
    nl_ast_join_kind kind = node->join.kind;
    nl_ast_relation_kind right = node->join.right->kind;
    nl_ast_range range = nl_parser_range(p, join_first);
    if (node->join.is_natural && kind == NL_AST_JOIN_CROSS)
        return NL_REFUSE(p, range, INCOMPATIBLE_JOIN_TYPES, NL_P("joinType1", "NATURAL"), NL_P("joinType2", "CROSS"));
    if (node->join.is_natural && (kind == NL_AST_JOIN_LEFT_SEMI || kind == NL_AST_JOIN_LEFT_ANTI))
        return nl_parser_refuse(p,
                                NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                                              "requirement failed: Unsupported natural join type %s",
                                              kind == NL_AST_JOIN_LEFT_SEMI ? "LeftSemi" : "LeftAnti"),
                                NL_NO_PLACE);
    if (!node->join.right->is_lateral) return NULL;
    if (right != NL_AST_RELATION_SUBQUERY && right != NL_AST_RELATION_FUNCTION && right != NL_AST_RELATION_VALUES)
        return NL_REFUSE(p, range, INVALID_SQL_SYNTAX__LATERAL_WITHOUT_SUBQUERY_OR_TABLE_VALUED_FUNC);
    if (node->join.using_columns.count > 0) return NL_REFUSE(p, range, UNSUPPORTED_FEATURE__LATERAL_JOIN_USING);
    if (kind != NL_AST_JOIN_INNER && kind != NL_AST_JOIN_CROSS && kind != NL_AST_JOIN_LEFT)
        return NL_REFUSE(p, range, INVALID_LATERAL_JOIN_TYPE, NL_P("joinType", join_words(kind)));
    return NULL;
}

nl_status nl_parse_join(nl_parser *p, uint32_t first, nl_ast_relation *left, nl_ast_relation **relation)
{
    uint32_t join_first = p->at;
    nl_ast_relation *node = nl_parser_new_relation(p, NL_AST_RELATION_JOIN, first);
    node->join.is_natural = nl_parser_take(p, NL_T_NATURAL);
    node->join.kind = parse_join_kind(p);
    NL_TRY(nl_parser_expect(p, NL_T_JOIN));
    bool is_lateral = takes_lateral(p);
    node->join.left = left;
    NL_TRY(nl_parser_enter(p));
    NL_TRY(parse_primary(p, &node->join.right));
    nl_parser_leave(p);
    node->join.right->is_lateral = is_lateral;
    if (!node->join.is_natural && nl_parser_take(p, NL_T_ON))
        NL_TRY(nl_parse_expression(p, &node->join.on));
    else if (!node->join.is_natural && nl_parser_take(p, NL_T_USING))
        NL_TRY(nl_parse_identifier_list(p, &node->join.using_columns));
    node->range = nl_parser_range(p, first);
    *relation = node;
    return check_join(p, join_first, node);
}

nl_status nl_parse_relation_after(nl_parser *p, uint32_t first, nl_ast_relation *left, nl_ast_relation **relation)
{
    *relation = left;
    for (uint32_t chain = p->depth;; chain++) {
        if (chain > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
        if (nl_parser_starts_join_at(p, p->at))
            NL_TRY(nl_parse_join(p, first, *relation, relation));
        else if (nl_parser_starts_pivot(p))
            NL_TRY(nl_parse_pivot(p, first, *relation, relation));
        else if (nl_parser_starts_unpivot(p))
            NL_TRY(nl_parse_unpivot(p, first, *relation, relation));
        else
            return NULL;
    }
}

static nl_status parse_relation(nl_parser *p, nl_ast_relation **relation)
{
    uint32_t first = p->at;
    bool is_lateral = takes_lateral(p);
    NL_TRY(nl_parser_enter(p));
    NL_TRY(parse_primary(p, relation));
    nl_parser_leave(p);
    (*relation)->is_lateral = is_lateral;
    return nl_parse_relation_after(p, first, *relation, relation);
}

/* ---- PIVOT and UNPIVOT -------------------------------------------------------------------------------------------------- */

static nl_status parse_pivot_value(nl_parser *p, nl_ast_pivot_value *value)
{
    NL_TRY(nl_parse_expression(p, &value->value));
    bool has_as = nl_parser_is(p, NL_T_AS) && nl_parser_is_identifier_at(p, p->at + 1);
    if (has_as) p->at++;
    return nl_parser_is_identifier_at(p, p->at) ? nl_parse_name_part(p, &value->name) : NULL;
}

nl_status nl_parse_pivot(nl_parser *p, uint32_t first, nl_ast_relation *input, nl_ast_relation **relation)
{
    nl_ast_relation *node = nl_parser_new_relation(p, NL_AST_RELATION_PIVOT, first);
    p->at += 2;
    node->pivot.input = input;
    p->pivot_depth++;
    NL_TRY(nl_parse_named_expressions(p, &node->pivot.aggregates));
    p->pivot_depth--;
    NL_TRY(nl_parser_expect(p, NL_T_FOR));
    node->pivot.has_column_parentheses = nl_parser_is(p, NL_T_LEFT_PAREN);
    if (node->pivot.has_column_parentheses) {
        NL_TRY(nl_parse_identifier_list(p, &node->pivot.columns));
    } else {
        node->pivot.columns = (nl_ast_idents){NL_NEW(p->arena, nl_ast_ident), 1};
        NL_TRY(nl_parse_name_part(p, node->pivot.columns.items));
    }
    NL_TRY(nl_parser_expect(p, NL_T_IN));
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    nl_list values = {0};
    do {
        nl_ast_pivot_value *value = NL_NEW(p->arena, nl_ast_pivot_value);
        NL_TRY(parse_pivot_value(p, value));
        nl_list_add(p->arena, &values, value);
    } while (nl_parser_take(p, NL_T_COMMA));
    node->pivot.values = NL_FLATTEN(p, &values, nl_ast_pivot_value);
    node->pivot.value_count = values.count;
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    NL_TRY(nl_parser_close(p));
    node->range = nl_parser_range(p, first);
    *relation = node;
    return NULL;
}

/* The alias of one element: [AS] name. */
static nl_status parse_unpivot_name(nl_parser *p, nl_ast_ident *name)
{
    if (nl_parser_take(p, NL_T_AS)) return nl_parse_name_part(p, name);
    return nl_parser_is_identifier_at(p, p->at) ? nl_parse_name_part(p, name) : NULL;
}

static nl_status parse_unpivot_column(nl_parser *p, bool is_multi_value, nl_ast_unpivot_column *column)
{
    column->has_parentheses = is_multi_value;
    if (is_multi_value) {
        NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
        NL_TRY(nl_parse_names(p, &column->columns));
        NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    } else {
        column->columns = (nl_ast_names){NL_NEW(p->arena, nl_ast_name), 1};
        NL_TRY(nl_parse_name(p, column->columns.items));
    }
    return parse_unpivot_name(p, &column->name);
}

static nl_status parse_unpivot_values(nl_parser *p, nl_ast_relation *node)
{
    node->unpivot.is_multi_value = nl_parser_take(p, NL_T_LEFT_PAREN);
    nl_list values = {0};
    do {
        nl_ast_ident *value = NL_NEW(p->arena, nl_ast_ident);
        NL_TRY(nl_parse_identifier(p, value));
        nl_list_add(p->arena, &values, value);
    } while (node->unpivot.is_multi_value && nl_parser_take(p, NL_T_COMMA));
    node->unpivot.values = (nl_ast_idents){NL_FLATTEN(p, &values, nl_ast_ident), values.count};
    return node->unpivot.is_multi_value ? nl_parser_expect(p, NL_T_RIGHT_PAREN) : NULL;
}

static nl_status parse_unpivot_operator(nl_parser *p, nl_ast_relation *node)
{
    NL_TRY(parse_unpivot_values(p, node));
    NL_TRY(nl_parser_expect(p, NL_T_FOR));
    NL_TRY(nl_parse_identifier(p, &node->unpivot.name));
    NL_TRY(nl_parser_expect(p, NL_T_IN));
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    nl_list columns = {0};
    do {
        nl_ast_unpivot_column *column = NL_NEW(p->arena, nl_ast_unpivot_column);
        NL_TRY(parse_unpivot_column(p, node->unpivot.is_multi_value, column));
        nl_list_add(p->arena, &columns, column);
    } while (nl_parser_take(p, NL_T_COMMA));
    node->unpivot.columns = NL_FLATTEN(p, &columns, nl_ast_unpivot_column);
    node->unpivot.column_count = columns.count;
    return nl_parser_expect(p, NL_T_RIGHT_PAREN);
}

nl_status nl_parse_unpivot(nl_parser *p, uint32_t first, nl_ast_relation *input, nl_ast_relation **relation)
{
    nl_ast_relation *node = nl_parser_new_relation(p, NL_AST_RELATION_UNPIVOT, first);
    p->at++;
    node->unpivot.input = input;
    if (nl_parser_is(p, NL_T_INCLUDE) || nl_parser_is(p, NL_T_EXCLUDE)) {
        node->unpivot.has_nulls = true;
        node->unpivot.is_including_nulls = nl_parser_is(p, NL_T_INCLUDE);
        p->at++;
        NL_TRY(nl_parser_expect(p, NL_T_NULLS));
    }
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    NL_TRY(parse_unpivot_operator(p, node));
    NL_TRY(nl_parser_close(p));
    bool has_as = nl_parser_is(p, NL_T_AS) && nl_parser_is_identifier_at(p, p->at + 1);
    if (has_as) p->at++;
    bool has_alias = has_as || (nl_parser_is_strict_identifier_at(p, p->at) && !nl_parser_starts_clause_at(p, p->at, true));
    if (has_alias) NL_TRY(nl_parse_name_part(p, &node->alias.name));
    node->range = nl_parser_range(p, first);
    *relation = node;
    return NULL;
}

/* ---- LATERAL VIEW and FROM ------------------------------------------------------------------------------------------------ */

static nl_status parse_lateral_view_columns(nl_parser *p, nl_ast_relation *node)
{
    bool has_as = nl_parser_is(p, NL_T_AS) && nl_parser_is_identifier_at(p, p->at + 1);
    if (has_as) p->at++;
    if (!has_as && (!nl_parser_is_identifier_at(p, p->at) || nl_parser_starts_clause_at(p, p->at, true))) return NULL;
    nl_list columns = {0};
    do {
        nl_ast_ident *column = NL_NEW(p->arena, nl_ast_ident);
        NL_TRY(nl_parse_identifier(p, column));
        nl_list_add(p->arena, &columns, column);
    } while (nl_parser_take(p, NL_T_COMMA));
    node->lateral_view.columns = (nl_ast_idents){NL_FLATTEN(p, &columns, nl_ast_ident), columns.count};
    return NULL;
}

static nl_status parse_lateral_view(nl_parser *p, nl_ast_relation *input, nl_ast_relation **relation)
{
    uint32_t first = p->at;
    p->at += 2;
    nl_ast_relation *node = nl_parser_new_relation(p, NL_AST_RELATION_LATERAL_VIEW, first);
    node->lateral_view.input = input;
    node->lateral_view.is_outer = nl_parser_is(p, NL_T_OUTER) && nl_parser_is_identifier_at(p, p->at + 1);
    if (node->lateral_view.is_outer) p->at++;
    NL_TRY(nl_parse_qualified_name(p, &node->lateral_view.function));
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    if (!nl_parser_is(p, NL_T_RIGHT_PAREN)) NL_TRY(nl_parse_expressions(p, &node->lateral_view.args));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    NL_TRY(nl_parse_identifier(p, &node->lateral_view.table));
    NL_TRY(parse_lateral_view_columns(p, node));
    node->range = nl_parser_range(p, first);
    *relation = node;
    return NULL;
}

nl_status nl_parse_lateral_views(nl_parser *p, nl_ast_relation **input)
{
    for (uint32_t chain = p->depth; nl_parser_are(p, NL_T_LATERAL, NL_T_VIEW); chain++) {
        if (chain > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
        NL_TRY(parse_lateral_view(p, *input, input));
    }
    return NULL;
}

/* LATERAL behind a comma needs a subquery or a table function (of the first relation of a chain of joins). */
static nl_status check_comma_lateral(nl_parser *p, uint32_t clause_first, const nl_ast_relation *right)
{
    while (right->kind == NL_AST_RELATION_JOIN) right = right->join.left;
    bool is_allowed = right->kind == NL_AST_RELATION_SUBQUERY || right->kind == NL_AST_RELATION_FUNCTION ||
                      right->kind == NL_AST_RELATION_VALUES;
    if (!right->is_lateral || is_allowed) return NULL;
    return NL_REFUSE(p, nl_parser_range(p, clause_first),
                         INVALID_SQL_SYNTAX__LATERAL_WITHOUT_SUBQUERY_OR_TABLE_VALUED_FUNC);
}

nl_status nl_parse_from(nl_parser *p, nl_ast_relation **from)
{
    uint32_t clause_first = p->at - 1;
    uint32_t first = p->at;
    nl_ast_relation *left = NULL;
    NL_TRY(parse_relation(p, &left));
    for (uint32_t chain = p->depth; nl_parser_is(p, NL_T_COMMA); chain++) {
        if (chain > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
        p->at++;
        nl_ast_relation *node = nl_parser_new_relation(p, NL_AST_RELATION_JOIN, first);
        node->join.is_comma = true;
        node->join.left = left;
        NL_TRY(parse_relation(p, &node->join.right));
        node->range = nl_parser_range(p, first);
        left = node;
        NL_TRY(check_comma_lateral(p, clause_first, node->join.right));
    }
    uint32_t views = p->at;
    NL_TRY(nl_parse_lateral_views(p, &left));
    bool has_views = p->at > views;
    if (nl_parser_starts_pivot(p)) NL_TRY(nl_parse_pivot(p, first, left, &left));
    bool has_pivot = p->at > views && has_views && left->kind == NL_AST_RELATION_PIVOT;
    if (nl_parser_starts_unpivot(p)) NL_TRY(nl_parse_unpivot(p, first, left, &left));
    bool has_unpivot = has_views && left->kind == NL_AST_RELATION_UNPIVOT;
    *from = left;
    if (has_pivot)
        return NL_REFUSE(p, nl_parser_range(p, clause_first), NOT_ALLOWED_IN_FROM__LATERAL_WITH_PIVOT);
    if (has_unpivot)
        return NL_REFUSE(p, nl_parser_range(p, clause_first), NOT_ALLOWED_IN_FROM__LATERAL_WITH_UNPIVOT);
    return NULL;
}
