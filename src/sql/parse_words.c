/* sql/parse_words.c - which words begin a query, a clause, a join, a set operation.
 *
 * Words like WHERE or LIMIT may also be names. Whether one begins a clause is decided by the words behind it
 * (nl_parser_starts_clause_at), and the answer is the one Spark's parser gives: an alias when both would do. */
#include "sql/parse.h"

bool nl_parser_starts_query_at(const nl_parser *p, uint32_t at)
{
    nl_token_kind kind = nl_parser_kind_at(p, at);
    nl_token_kind next = nl_parser_kind_at(p, at + 1);
    bool is_name = nl_parser_is_identifier_at(p, at + 1);
    switch ((int)kind) {
    case NL_T_SELECT: return next == NL_T_HINT_START || nl_parser_starts_expression_at(p, at + 1);
    case NL_T_WITH: {
        nl_token_kind after = nl_parser_kind_at(p, at + 2);
        return is_name && (after == NL_T_AS || after == NL_T_LEFT_PAREN || next == NL_T_RECURSIVE);
    }
    case NL_T_FROM: return is_name || next == NL_T_LEFT_PAREN;
    case NL_T_TABLE: return is_name;
    case NL_T_VALUES: return nl_parser_starts_expression_at(p, at + 1);
    case NL_T_MAP:
    case NL_T_REDUCE: return next != NL_T_LEFT_PAREN && next != NL_T_MINUS_SIGN && next != NL_T_PLUS &&
                             next != NL_T_ASTERISK && nl_parser_starts_expression_at(p, at + 1);
    default: return false;
    }
}

/* UNION, EXCEPT, MINUS or INTERSECT as an operator: the next word could not follow an alias. */
static bool starts_set_operation(const nl_parser *p, uint32_t at)
{
    if (!nl_token_is_set_operator(nl_parser_kind_at(p, at)) || nl_token_is_set_operator(nl_parser_kind_at(p, at + 1))) return false;
    switch ((int)nl_parser_kind_at(p, at + 1)) {
    case NL_T_EOF:
    case NL_T_RIGHT_PAREN:
    case NL_T_COMMA:
    case NL_T_SEMICOLON:
    case NL_T_OPERATOR_PIPE: return false;
    case NL_T_FROM:
    case NL_T_SELECT: return nl_parser_starts_expression_at(p, at + 2) || nl_parser_kind_at(p, at + 1) == NL_T_SELECT;
    default: return true;
    }
}

bool nl_parser_starts_join_at(const nl_parser *p, uint32_t at)
{
    switch ((int)nl_parser_kind_at(p, at)) {
    case NL_T_JOIN:
    case NL_T_INNER:
    case NL_T_CROSS:
    case NL_T_LEFT:
    case NL_T_RIGHT:
    case NL_T_FULL:
    case NL_T_NATURAL: return true;
    case NL_T_SEMI:
    case NL_T_ANTI: return !p->options.is_ansi_reserved || nl_parser_kind_at(p, at + 1) == NL_T_JOIN;
    default: return false;
    }
}

/* A clause word W in `t W (a, b)`: when the list could name the columns of an alias W and nothing behind it needs an
 * operand before it, Spark takes the alias. */
static bool is_alias_with_columns(const nl_parser *p, uint32_t at)
{
    uint32_t end = nl_parser_skip_identifier_list(p, at + 1);
    if (end == 0) return false;
    switch ((int)nl_parser_kind_at(p, end)) {
    case NL_T_EOF:
    case NL_T_RIGHT_PAREN:
    case NL_T_SEMICOLON:
    case NL_T_COMMA:
    case NL_T_PIVOT:
    case NL_T_UNPIVOT:
    case NL_T_OPERATOR_PIPE: return true;
    default: break;
    }
    return nl_parser_starts_join_at(p, end) || starts_set_operation(p, end) || nl_parser_starts_clause_at(p, end, false);
}

/* A word that takes an expression: WHERE, HAVING, LIMIT, OFFSET, SELECT. */
static bool starts_expression_clause(const nl_parser *p, uint32_t at, bool is_table)
{
    nl_token_kind next = nl_parser_kind_at(p, at + 1);
    if (is_table && next == NL_T_LEFT_PAREN) return !is_alias_with_columns(p, at);
    if (next == NL_T_ASTERISK) return true; /* no alias can be followed by it */
    bool is_limit_all = nl_parser_kind_at(p, at) == NL_T_LIMIT && next == NL_T_ALL;
    if (!nl_parser_starts_expression_at(p, at + 1)) return is_limit_all || next == NL_T_HINT_START;
    /* `t WHERE GROUP BY a`: the first word is the name. */
    bool is_two_words = next == NL_T_GROUP || next == NL_T_ORDER || next == NL_T_SORT || next == NL_T_CLUSTER ||
                        next == NL_T_DISTRIBUTE;
    nl_token_kind after = nl_parser_kind_at(p, at + 2);
    bool is_value = (after >= NL_T_STRING_LITERAL && after <= NL_T_BIGDECIMAL_LITERAL) || after == NL_T_IDENTIFIER_WORD ||
                    after == NL_T_BACKQUOTED;
    /* Names before what follows a name: `t HAVING HAVING a`, `t WHERE JOIN u`, `a WHERE FROM t`. */
    bool is_again = next == nl_parser_kind_at(p, at) && next != NL_T_SELECT;
    if (is_value && (is_again || (is_table && next == NL_T_JOIN) || (!is_table && next == NL_T_FROM))) return false;
    bool is_other_clause = next == NL_T_WHERE || next == NL_T_HAVING || next == NL_T_LIMIT || next == NL_T_OFFSET;
    if (is_other_clause && after >= NL_T_STRING_LITERAL && after <= NL_T_BIGDECIMAL_LITERAL) return false;
    return !(is_two_words && after == NL_T_BY);
}

static bool starts_pivot_at(const nl_parser *p, uint32_t at)
{
    return nl_parser_kind_at(p, at) == NL_T_PIVOT && nl_parser_kind_at(p, at + 1) == NL_T_LEFT_PAREN &&
           !is_alias_with_columns(p, at);
}

static bool starts_unpivot_at(const nl_parser *p, uint32_t at)
{
    if (nl_parser_kind_at(p, at) != NL_T_UNPIVOT) return false;
    nl_token_kind next = nl_parser_kind_at(p, at + 1);
    if (next == NL_T_INCLUDE || next == NL_T_EXCLUDE) return nl_parser_kind_at(p, at + 2) == NL_T_NULLS;
    return next == NL_T_LEFT_PAREN && !is_alias_with_columns(p, at);
}

bool nl_parser_starts_pivot(const nl_parser *p)
{
    return starts_pivot_at(p, p->at);
}

bool nl_parser_starts_unpivot(const nl_parser *p)
{
    return starts_unpivot_at(p, p->at);
}

static bool starts_from(const nl_parser *p, uint32_t at)
{
    return nl_parser_is_identifier_at(p, at + 1) || nl_parser_kind_at(p, at + 1) == NL_T_LEFT_PAREN;
}

bool nl_parser_follows_relation_at(const nl_parser *p, uint32_t at)
{
    switch ((int)nl_parser_kind_at(p, at)) {
    case NL_T_EOF:
    case NL_T_RIGHT_PAREN:
    case NL_T_SEMICOLON:
    case NL_T_COMMA:
    case NL_T_LEFT_PAREN:
    case NL_T_OPERATOR_PIPE: return true;
    default: return nl_parser_starts_join_at(p, at) || nl_parser_starts_clause_at(p, at, true);
    }
}

/* FROM as an alias: `SELECT a FROM FROM t`, `SELECT a FROM WHERE b = 1`. */
static bool is_from_alias(const nl_parser *p, uint32_t at)
{
    nl_token_kind after = nl_parser_kind_at(p, at + 2);
    if (nl_parser_kind_at(p, at + 1) == NL_T_FROM)
        return after == NL_T_IDENTIFIER_WORD || after == NL_T_BACKQUOTED || after == NL_T_LEFT_PAREN || after == NL_T_LATERAL;
    if (!nl_parser_starts_clause_at(p, at + 1, true) || nl_parser_follows_relation_at(p, at + 2)) return false;
    return !nl_parser_is_identifier_at(p, at + 2) || !nl_parser_follows_relation_at(p, at + 3);
}

bool nl_parser_starts_clause_at(const nl_parser *p, uint32_t at, bool is_table)
{
    nl_token_kind next = nl_parser_kind_at(p, at + 1);
    nl_token_kind after = nl_parser_kind_at(p, at + 2);
    bool is_name = nl_parser_is_identifier_at(p, at + 1);
    switch ((int)nl_parser_kind_at(p, at)) {
    case NL_T_FROM: return !is_table && starts_from(p, at) && !is_from_alias(p, at);
    case NL_T_GROUP:
    case NL_T_ORDER:
    case NL_T_SORT:
    case NL_T_CLUSTER:
    case NL_T_PARTITION:
    case NL_T_DISTRIBUTE: return next == NL_T_BY;
    case NL_T_WHERE:
    case NL_T_HAVING:
    case NL_T_LIMIT:
    case NL_T_OFFSET: return starts_expression_clause(p, at, is_table);
    case NL_T_SELECT: return is_table && starts_expression_clause(p, at, is_table);
    case NL_T_MAP:
    case NL_T_REDUCE: return is_table && next != NL_T_LEFT_PAREN && next != NL_T_JOIN && nl_parser_starts_expression_at(p, at + 1);
    case NL_T_WINDOW: return is_name && after == NL_T_AS;
    case NL_T_LATERAL: return next == NL_T_VIEW;
    case NL_T_UNION:
    case NL_T_EXCEPT:
    case NL_T_MINUS:
    case NL_T_INTERSECT: return starts_set_operation(p, at);
    case NL_T_PIVOT: return starts_pivot_at(p, at);
    case NL_T_UNPIVOT: return starts_unpivot_at(p, at);
    case NL_T_INSERT: return next == NL_T_INTO || next == NL_T_OVERWRITE;
    case NL_T_SET: return is_table && is_name && (after == NL_T_EQ || after == NL_T_DOT);
    case NL_T_GROUPING: return next == NL_T_SETS && after == NL_T_LEFT_PAREN;
    case NL_T_WITH: return next == NL_T_ROLLUP || next == NL_T_CUBE;
    case NL_T_FOR: return p->pivot_depth > 0 && (is_name || next == NL_T_LEFT_PAREN);
    case NL_T_DO: return p->is_in_for_query;
    default: return false;
    }
}

bool nl_parser_continues_query(const nl_parser *p)
{
    nl_token_kind next = nl_parser_ahead(p, 1);
    switch ((int)nl_parser_kind(p)) {
    case NL_T_OPERATOR_PIPE: return true;
    case NL_T_UNION:
    case NL_T_EXCEPT:
    case NL_T_MINUS:
    case NL_T_INTERSECT: return starts_set_operation(p, p->at);
    case NL_T_ORDER:
    case NL_T_SORT:
    case NL_T_CLUSTER:
    case NL_T_DISTRIBUTE: return next == NL_T_BY;
    case NL_T_LIMIT:
    case NL_T_OFFSET: return (nl_parser_starts_expression_at(p, p->at + 1) || next == NL_T_ALL) && next != NL_T_ASTERISK;
    case NL_T_WINDOW: return nl_parser_is_identifier_at(p, p->at + 1) && nl_parser_ahead(p, 2) == NL_T_AS;
    default: return false;
    }
}
