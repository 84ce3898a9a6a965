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
    nl_query_context context = {.text = text,
                                .start = range.start,
                                .stop = range.stop,
                                .line = range.line,
                                .position = range.position,
                                .is_parse_error = is_parse_error};
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

/* One token is missing, or one too many is there: Spark's parser says which when the text around it fits. */
nl_status nl_parser_expect(nl_parser *p, nl_token_kind kind)
{
    if (nl_parser_take(p, kind)) return NULL;
    nl_str hint = NL_STR("");
    bool is_end = nl_parser_is(p, NL_T_EOF);
    if (!is_end && nl_parser_ahead(p, 1) == kind) {
        nl_str token = display_token(p, p->at);
        hint = nl_arena_f(p->arena, ": extra input " NL_STR_FMT, NL_STR_ARG(token));
    } else if (is_end && kind == NL_T_RIGHT_PAREN) {
        hint = NL_STR(": missing ')'");
    }
    return syntax_error_with_hint(p, hint);
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
