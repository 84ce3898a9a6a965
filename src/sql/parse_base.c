/* sql/parse_base.c - the parser's small steps: what may be an identifier, taking and missing tokens, placing errors. */
#include "sql/parse.h"

/* ---- looking ---------------------------------------------------------------------------------------------------- */

bool nl_parser_is_identifier_at(const nl_parser *p, uint32_t at)
{
    nl_token_kind kind = nl_parser_kind_at(p, at);
    if (kind == NL_T_IDENTIFIER_WORD || kind == NL_T_BACKQUOTED) return true;
    if (kind == NL_T_DOUBLE_QUOTED) return p->options.is_double_quote_identifier;
    if (!nl_token_is_keyword(kind)) return false;
    return !p->options.is_ansi_reserved || !nl_token_is_ansi_reserved(kind);
}

bool nl_parser_is_strict_identifier_at(const nl_parser *p, uint32_t at)
{
    if (!nl_parser_is_identifier_at(p, at)) return false;
    return p->options.is_ansi_reserved || !nl_token_is_join_word(nl_parser_kind_at(p, at));
}

bool nl_parser_is_word_at(const nl_parser *p, uint32_t at, const char *word)
{
    nl_token_kind kind = nl_parser_kind_at(p, at);
    if (kind != NL_T_IDENTIFIER_WORD && !nl_token_is_keyword(kind)) return false;
    return nl_str_is_nocase(nl_parser_token_text(p, at), word);
}

bool nl_parser_is_string_at(const nl_parser *p, uint32_t at)
{
    nl_token_kind kind = nl_parser_kind_at(p, at);
    return kind == NL_T_STRING_LITERAL || (kind == NL_T_DOUBLE_QUOTED && !p->options.is_double_quote_identifier);
}

bool nl_parser_starts_expression_at(const nl_parser *p, uint32_t at)
{
    nl_token_kind kind = nl_parser_kind_at(p, at);
    if (kind == NL_T_LEFT_PAREN || kind == NL_T_MINUS_SIGN || kind == NL_T_PLUS || kind == NL_T_TILDE) return true;
    if (kind == NL_T_ASTERISK || kind == NL_T_QUESTION || kind == NL_T_COLON || kind == NL_T_BANG) return true;
    if (kind >= NL_T_STRING_LITERAL && kind <= NL_T_BIGDECIMAL_LITERAL) return true;
    if (nl_parser_is_identifier_at(p, at)) return true;
    /* Keywords that are no identifiers when keywords are enforced, but begin expressions of their own. */
    return nl_token_is_keyword(kind) &&
           (kind == NL_T_CASE || kind == NL_T_CAST || kind == NL_T_NOT || kind == NL_T_NULL || kind == NL_T_FALSE ||
            kind == NL_T_LEFT || kind == NL_T_RIGHT || kind == NL_T_FILTER || kind == NL_T_CURRENT_DATE ||
            kind == NL_T_CURRENT_TIMESTAMP || kind == NL_T_CURRENT_USER || kind == NL_T_USER ||
            kind == NL_T_SESSION_USER);
}

uint32_t nl_parser_skip_identifier_list(const nl_parser *p, uint32_t at)
{
    if (nl_parser_kind_at(p, at) != NL_T_LEFT_PAREN) return 0;
    do {
        if (!nl_parser_is_identifier_at(p, ++at)) return 0;
    } while (nl_parser_kind_at(p, ++at) == NL_T_COMMA);
    return nl_parser_kind_at(p, at) == NL_T_RIGHT_PAREN ? at + 1 : 0;
}

uint32_t nl_parser_skip_parentheses(const nl_parser *p, uint32_t at)
{
    uint32_t open = 0;
    for (; at < p->count; at++) {
        nl_token_kind kind = nl_parser_kind_at(p, at);
        if (kind == NL_T_LEFT_PAREN) open++;
        if (kind == NL_T_RIGHT_PAREN && --open == 0) return at + 1;
    }
    return 0;
}

/* ---- taking ------------------------------------------------------------------------------------------------------ */

nl_status nl_parser_enter(nl_parser *p)
{
    if (++p->depth > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    return NULL;
}

/* ---- failing ----------------------------------------------------------------------------------------------------- */

nl_status nl_sql_at(nl_status status, nl_str text, nl_ast_range range, bool is_parse_error)
{
    if (!status) return NULL;
    if (range.stop == 0 && !is_parse_error) return status; /* a DataFrame's: no place in any text */
    nl_query_context context = {.text = text,
                                .start = range.start,
                                .stop = range.stop,
                                .line = range.line,
                                .position = range.position,
                                .is_parse_error = is_parse_error,
                                .is_analysis = !is_parse_error};
    nl_error_set_context(status, &context);
    return status;
}

nl_status nl_parser_refuse(nl_parser *p, nl_status failure, nl_ast_range range)
{
    if (p->refusal) {
        nl_error_free(failure);
        return NULL;
    }
    p->refusal = failure;
    p->refusal_range = range;
    return NULL;
}

/* A token as messages show it: in quotes, control characters escaped; the end in words. */
static nl_str display_token(nl_parser *p, uint32_t at)
{
    if (nl_parser_kind_at(p, at) == NL_T_EOF) return NL_STR("end of input");
    nl_str text = nl_parser_token_text(p, at);
    nl_builder out;
    nl_builder_init(&out, NL_SQL_TEXT_BYTES_MAX * 2 + 16);
    nl_append_char(&out, '\'');
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        if (c == '\n')
            nl_append_c(&out, "\\n");
        else if (c == '\r')
            nl_append_c(&out, "\\r");
        else if (c == '\t')
            nl_append_c(&out, "\\t");
        else
            nl_append_char(&out, c);
    }
    nl_append_char(&out, '\'');
    nl_str copy = nl_arena_str(p->arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return copy;
}

static nl_status syntax_error_with_hint(nl_parser *p, nl_str hint)
{
    const nl_token *token = &p->tokens[p->at];
    nl_status status = NL_RAISE(PARSE_SYNTAX_ERROR, NL_P_STR("error", display_token(p, p->at)), NL_P_STR("hint", hint));
    nl_ast_range range = {token->start, token->stop, token->line, token->position};
    return nl_sql_at(status, p->text, range, true);
}

nl_status nl_parser_syntax_error(nl_parser *p)
{
    return syntax_error_with_hint(p, NL_STR(""));
}

nl_status nl_parser_extra_input(nl_parser *p)
{
    nl_str token = display_token(p, p->at);
    return syntax_error_with_hint(p, nl_arena_f(p->arena, ": extra input " NL_STR_FMT, NL_STR_ARG(token)));
}

nl_status nl_parser_missing(nl_parser *p, const char *what)
{
    return syntax_error_with_hint(p, nl_arena_f(p->arena, ": missing %s", what));
}

bool nl_parser_is_syntax_error(nl_status status)
{
    return status && nl_error_condition(status) == NL_COND_PARSE_SYNTAX_ERROR;
}

nl_status nl_parser_blame(nl_parser *p, nl_status status, uint32_t token)
{
    if (!nl_parser_is_syntax_error(status)) return status;
    nl_error_free(status);
    p->at = token;
    return nl_parser_syntax_error(p);
}

/* What may stand behind a token that was expected. When it stands there now, the token is what is missing. */
enum { BEFORE_NAME = 1, BEFORE_VALUE = 2, BEFORE_STRING = 4, BEFORE_PAREN = 8, BEFORE_END = 16, BEFORE_ANY = 32 };

static const struct missing_rule {
    uint16_t kind;
    uint8_t before;
} missing_rules[] = {
    {NL_T_TABLE, BEFORE_NAME},
    {NL_T_TO, BEFORE_NAME},
    {NL_T_FROM, BEFORE_NAME | BEFORE_VALUE},
    {NL_T_INTO, BEFORE_NAME},
    {NL_T_IN, BEFORE_PAREN},
    {NL_T_JOIN, BEFORE_NAME | BEFORE_PAREN},
    {NL_T_USING, BEFORE_NAME | BEFORE_PAREN},
    {NL_T_ON, BEFORE_VALUE},
    {NL_T_AND, BEFORE_VALUE},
    {NL_T_THEN, BEFORE_VALUE},
    {NL_T_END, BEFORE_ANY},
    {NL_T_NULL, BEFORE_ANY},
    {NL_T_BY, BEFORE_VALUE | BEFORE_STRING | BEFORE_PAREN},
    {NL_T_IS, BEFORE_STRING},
    {NL_T_EQ, BEFORE_VALUE},
    {NL_T_EXISTS, BEFORE_NAME},
    {NL_T_IDENTITY, BEFORE_ANY},
    {NL_T_IMMEDIATE, BEFORE_NAME | BEFORE_STRING},
    {NL_T_FUNCTIONS, BEFORE_ANY},
    {NL_T_RETURN, BEFORE_VALUE},
    {NL_T_FOR, BEFORE_NAME | BEFORE_PAREN},
    {NL_T_DATA, BEFORE_NAME},
    {NL_T_COMPUTE, BEFORE_NAME},
    {NL_T_STATISTICS, BEFORE_NAME},
    {NL_T_LIKE, BEFORE_STRING},
    {NL_T_PARTITIONS, BEFORE_END},
    {NL_T_COLUMNS, BEFORE_END},
    {NL_T_CACHE, BEFORE_END},
    {NL_T_SCHEMA, BEFORE_NAME},
    {NL_T_REPAIR, BEFORE_NAME},
    {NL_T_SQL, BEFORE_NAME},
    {NL_T_WITH, BEFORE_VALUE},
    {NL_T_OF, BEFORE_VALUE},
    {NL_T_TERMINATED, BEFORE_NAME},
    {NL_T_LEFT_PAREN, BEFORE_VALUE},
    {NL_T_RIGHT_BRACKET, BEFORE_ANY},
};

static bool may_stand_behind(const nl_parser *p, uint8_t before)
{
    bool is_end = nl_parser_is(p, NL_T_EOF) || nl_parser_is(p, NL_T_SEMICOLON);
    if (before & BEFORE_ANY) return true;
    if ((before & BEFORE_END) && is_end) return true;
    if ((before & BEFORE_NAME) && nl_parser_is_identifier_at(p, p->at)) return true;
    if ((before & BEFORE_STRING) && nl_parser_is_string_at(p, p->at)) return true;
    if ((before & BEFORE_PAREN) && nl_parser_is(p, NL_T_LEFT_PAREN)) return true;
    return (before & BEFORE_VALUE) && nl_parser_starts_expression_at(p, p->at);
}

/* One token too many, or one missing: Spark's parser says which when the text around it fits. */
nl_status nl_parser_expect(nl_parser *p, nl_token_kind kind)
{
    if (nl_parser_take(p, kind)) return NULL;
    bool is_end = nl_parser_is(p, NL_T_EOF);
    if (!is_end && nl_parser_ahead(p, 1) == kind) return nl_parser_extra_input(p);
    for (size_t i = 0; i < NL_COUNT(missing_rules); i++) {
        if (missing_rules[i].kind != kind || !may_stand_behind(p, missing_rules[i].before)) continue;
        if (kind == NL_T_EQ) return nl_parser_missing(p, "EQ"); /* the one sign Spark's grammar names */
        return nl_parser_missing(p, nl_str_c(p->arena, nl_arena_f(p->arena, "'%s'", nl_token_text(kind))));
    }
    return nl_parser_syntax_error(p);
}

nl_status nl_parser_need(nl_parser *p, nl_token_kind kind)
{
    if (nl_parser_take(p, kind)) return NULL;
    bool is_extra = !nl_parser_is(p, NL_T_EOF) && nl_parser_ahead(p, 1) == kind;
    return is_extra ? nl_parser_extra_input(p) : nl_parser_syntax_error(p);
}

nl_status nl_parser_close(nl_parser *p)
{
    if (nl_parser_take(p, NL_T_RIGHT_PAREN)) return NULL;
    if (!nl_parser_is(p, NL_T_EOF) && nl_parser_ahead(p, 1) == NL_T_RIGHT_PAREN) return nl_parser_extra_input(p);
    return nl_parser_missing(p, "')'");
}

nl_status nl_parser_expect_word(nl_parser *p, const char *word)
{
    if (!nl_parser_is_word_at(p, p->at, word)) return nl_parser_syntax_error(p);
    p->at++;
    return NULL;
}

nl_status nl_parser_not_allowed(nl_parser *p, nl_ast_range range, const char *message)
{
    return NL_REFUSE(p, range, _LEGACY_ERROR_TEMP_0035, NL_P("message", message));
}

nl_status nl_parser_invalid_clause(nl_parser *p, nl_ast_range range, const char *operation)
{
    return NL_REFUSE(p, range, INVALID_STATEMENT_OR_CLAUSE, NL_P("operation", operation));
}

nl_status nl_parser_duplicate_clause(nl_parser *p, const char *clause)
{
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, DUPLICATE_CLAUSES, NL_P("clauseName", clause));
}

/* ---- collecting -------------------------------------------------------------------------------------------------- */

void *nl_parser_flatten(nl_arena *arena, const nl_list *list, size_t item_size)
{
    if (list->count == 0) return NULL;
    char *items = nl_arena_alloc(arena, nl_size_mul(list->count, item_size));
    for (uint32_t i = 0; i < list->count; i++) memcpy(items + i * item_size, list->items[i], item_size);
    return items;
}
