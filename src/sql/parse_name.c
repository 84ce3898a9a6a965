/* sql/parse_name.c - identifiers, names, string literals, property lists: the small parts of every statement. */
#include "sql/parse.h"

#include <stdlib.h>

/* ---- identifiers ------------------------------------------------------------------------------------------------- */

/* Quoted text without its quotes, doubled quotes made single. */
static nl_str unquote(nl_parser *p, nl_str quoted)
{
    char quote = quoted.data[0];
    nl_str inner = nl_str_slice(quoted, 1, quoted.length - 1);
    if (nl_str_find_char(inner, quote, 0) == NL_NOT_FOUND) return inner.length ? inner : NL_STR("");
    char *out = nl_arena_alloc(p->arena, inner.length);
    size_t length = 0;
    for (size_t i = 0; i < inner.length; i++) {
        out[length++] = inner.data[i];
        if (inner.data[i] == quote) i++;
    }
    return (nl_str){out, length};
}

static nl_status refuse_identifier(nl_parser *p, nl_str ident, const nl_token *token)
{
    nl_ast_range range = {token->start, token->stop, token->line, token->position};
    return nl_sql_at(NL_RAISE(INVALID_IDENTIFIER, NL_P_STR("ident", ident)), p->text, range, true);
}

/* The lexer takes any letters and paths as one word, so that this error can name all of it. */
static nl_status check_plain_word(nl_parser *p, nl_str word, const nl_token *token)
{
    for (size_t i = 0; i < word.length; i++) {
        uint8_t c = (uint8_t)word.data[i];
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_plain) return refuse_identifier(p, word, token);
    }
    return NULL;
}

nl_status nl_parse_identifier(nl_parser *p, nl_ast_ident *ident)
{
    if (!nl_parser_is_identifier_at(p, p->at)) return nl_parser_syntax_error(p);
    const nl_token *token = &p->tokens[p->at];
    nl_str text = nl_parser_token_text(p, p->at);
    bool is_quoted = token->kind == NL_T_BACKQUOTED || token->kind == NL_T_DOUBLE_QUOTED;
    if (is_quoted)
        text = unquote(p, text);
    else
        NL_TRY(check_plain_word(p, text, token));
    *ident = (nl_ast_ident){text, {token->start, token->stop, token->line, token->position}, is_quoted};
    p->at++;
    return NULL;
}

nl_status nl_parse_strict_identifier(nl_parser *p, nl_ast_ident *ident)
{
    if (!nl_parser_is_strict_identifier_at(p, p->at)) return nl_parser_syntax_error(p);
    return nl_parse_identifier(p, ident);
}

/* a-b without quotes is taken whole, to be refused with a hint how to write it. */
nl_status nl_parse_name_part(nl_parser *p, nl_ast_ident *ident)
{
    uint32_t first = p->at;
    NL_TRY(nl_parse_identifier(p, ident));
    if (!nl_parser_is(p, NL_T_MINUS_SIGN) || !nl_parser_is_identifier_at(p, p->at + 1)) return NULL;
    const nl_token *minus = &p->tokens[p->at];
    nl_builder whole;
    nl_builder_init(&whole, NL_SQL_TEXT_BYTES_MAX);
    nl_append(&whole, ident->text);
    while (nl_parser_is(p, NL_T_MINUS_SIGN) && nl_parser_is_identifier_at(p, p->at + 1)) {
        nl_append_char(&whole, '-');
        nl_append(&whole, nl_parser_token_text(p, p->at + 1));
        p->at += 2;
    }
    nl_str text = nl_arena_str(p->arena, nl_builder_str(&whole));
    nl_builder_fini(&whole);
    NL_ASSERT(p->at > first);
    return refuse_identifier(p, text, minus);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* A dot at the end of the text, after a name: whether it is the dot that is wrong, or the end, depends on what else
 * Spark's parser could have expected there. */
static nl_status blame_last_dot(nl_parser *p)
{
    switch ((int)nl_parser_kind_at(p, p->statement_first)) {
    case NL_T_CALL:
    case NL_T_UPDATE:
    case NL_T_MERGE: return nl_parser_syntax_error(p);
    case NL_T_CREATE: {
        nl_token_kind kind = nl_parser_kind_at(p, p->statement_first + 1);
        return kind == NL_T_TABLE || nl_parser_is_namespace_word(kind) ? nl_parser_extra_input(p) : nl_parser_syntax_error(p);
    }
    case NL_T_SELECT:
    case NL_T_FROM:
    case NL_T_WITH:
    case NL_T_LEFT_PAREN:
    case NL_T_INSERT: break;
    case NL_T_ALTER:
        if (p->at == p->statement_first + 3) break;
        return nl_parser_extra_input(p);
    default: return nl_parser_extra_input(p);
    }
    p->at++;
    return nl_parser_syntax_error(p);
}

typedef nl_status part_rule(nl_parser *p, nl_ast_ident *ident);

static nl_status parse_parts(nl_parser *p, part_rule *rule, uint32_t part_count_max, nl_ast_name *name)
{
    uint32_t first = p->at;
    nl_ast_ident one;
    NL_TRY(rule(p, &one));
    nl_ast_ident *parts = NL_NEW(p->arena, nl_ast_ident);
    *parts = one;
    uint32_t count = 1;
    uint32_t capacity = 1;
    while (count < part_count_max && nl_parser_is(p, NL_T_DOT)) {
        if (nl_parser_ahead(p, 1) == NL_T_EOF) return blame_last_dot(p);
        p->at++;
        if (count == capacity) {
            capacity = capacity * 2 + 1;
            nl_ast_ident *more = NL_NEW_ARRAY(p->arena, nl_ast_ident, capacity);
            memcpy(more, parts, count * sizeof(*parts));
            parts = more;
        }
        NL_TRY(rule(p, &parts[count++]));
    }
    *name = (nl_ast_name){.parts = parts, .count = count, .range = nl_parser_range(p, first)};
    return nl_arena_check(p->arena);
}

nl_status nl_parse_name(nl_parser *p, nl_ast_name *name)
{
    return parse_parts(p, nl_parse_name_part, UINT32_MAX, name);
}

nl_status nl_parse_qualified_name(nl_parser *p, nl_ast_name *name)
{
    return parse_parts(p, nl_parse_identifier, UINT32_MAX, name);
}

nl_status nl_parse_table_name(nl_parser *p, nl_ast_name *name)
{
    return parse_parts(p, nl_parse_name_part, 2, name);
}

nl_status nl_parse_name_reference(nl_parser *p, nl_ast_name *name)
{
    if (!nl_parser_are(p, NL_T_IDENTIFIER, NL_T_LEFT_PAREN)) return nl_parse_name(p, name);
    uint32_t first = p->at;
    p->at += 2;
    nl_ast_expr *expression = NULL;
    NL_TRY(nl_parse_expression(p, &expression));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    *name = (nl_ast_name){.expression = expression, .range = nl_parser_range(p, first)};
    return NULL;
}

nl_status nl_parse_names(nl_parser *p, nl_ast_names *names)
{
    nl_list list = {0};
    do {
        nl_ast_name *name = NL_NEW(p->arena, nl_ast_name);
        NL_TRY(nl_parse_name(p, name));
        nl_list_add(p->arena, &list, name);
    } while (nl_parser_take(p, NL_T_COMMA));
    *names = (nl_ast_names){NL_FLATTEN(p, &list, nl_ast_name), list.count};
    return NULL;
}

nl_status nl_parse_name_parts(nl_parser *p, nl_ast_idents *idents)
{
    nl_list list = {0};
    do {
        nl_ast_ident *ident = NL_NEW(p->arena, nl_ast_ident);
        NL_TRY(nl_parse_name_part(p, ident));
        nl_list_add(p->arena, &list, ident);
    } while (nl_parser_take(p, NL_T_COMMA));
    *idents = (nl_ast_idents){NL_FLATTEN(p, &list, nl_ast_ident), list.count};
    return NULL;
}

nl_status nl_parse_identifier_list(nl_parser *p, nl_ast_idents *idents)
{
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    NL_TRY(nl_parse_name_parts(p, idents));
    return nl_parser_close(p);
}

nl_str nl_parser_quote_name(nl_parser *p, const nl_ast_name *name)
{
    nl_builder text;
    nl_builder_init(&text, NL_SQL_TEXT_BYTES_MAX);
    for (uint32_t i = 0; i < name->count; i++)
        nl_append_f(&text, "%s`" NL_STR_FMT "`", i ? "." : "", NL_STR_ARG(name->parts[i].text));
    nl_str copy = nl_arena_str(p->arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return copy;
}

static nl_str change_case(nl_parser *p, nl_str text, char first, char last)
{
    char *out = nl_arena_alloc(p->arena, text.length + 1);
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        out[i] = c >= first && c <= last ? (char)(c ^ 0x20) : c;
    }
    return (nl_str){out, text.length};
}

nl_str nl_parser_lower(nl_parser *p, nl_str text)
{
    return change_case(p, text, 'A', 'Z');
}

nl_str nl_parser_upper(nl_parser *p, nl_str text)
{
    return change_case(p, text, 'a', 'z');
}

nl_status nl_parse_not(nl_parser *p)
{
    uint32_t first = p->at;
    if (nl_parser_take(p, NL_T_BANG))
        return p->options.is_bang_not ? NULL : NL_REFUSE(p, nl_parser_range(p, first), SYNTAX_DISCONTINUED__BANG_EQUALS_NOT, NL_P("clause", "!"));
    return nl_parser_expect(p, NL_T_NOT);
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The number in `digits` hexadecimal digits at an offset; false when they are not there. */
static bool read_hex(nl_str text, size_t at, int digits, uint32_t *value)
{
    if (at + (size_t)digits > text.length) return false;
    *value = 0;
    for (int i = 0; i < digits; i++) {
        int digit = hex_value(text.data[at + (size_t)i]);
        if (digit < 0) return false;
        *value = *value * 16 + (uint32_t)digit;
    }
    return true;
}

static uint32_t put_code_point(char *out, uint32_t code_point)
{
    bool is_bad = code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF);
    return nl_utf8_encode(is_bad ? 0xFFFD : code_point, out);
}

/* \uXXXX (with its second half when it is a surrogate) or \UXXXXXXXX at `at`; returns bytes read, 0 for neither. */
static size_t read_unicode_escape(nl_str text, size_t at, uint32_t *code_point)
{
    if (text.data[at + 1] == 'U' && read_hex(text, at + 2, 8, code_point)) return 10;
    if (text.data[at + 1] != 'u' || !read_hex(text, at + 2, 4, code_point)) return 0;
    uint32_t low;
    bool is_pair = *code_point >= 0xD800 && *code_point < 0xDC00 && at + 12 <= text.length && text.data[at + 6] == '\\' &&
                   text.data[at + 7] == 'u' && read_hex(text, at + 8, 4, &low) && low >= 0xDC00 && low <= 0xDFFF;
    if (!is_pair) return 6;
    *code_point = 0x10000 + ((*code_point - 0xD800) << 10) + (low - 0xDC00);
    return 12;
}

static bool is_octal_escape(nl_str text, size_t at)
{
    if (at + 4 > text.length) return false;
    const char *digits = text.data + at + 1;
    return (digits[0] == '0' || digits[0] == '1') && digits[1] >= '0' && digits[1] <= '7' && digits[2] >= '0' &&
           digits[2] <= '7';
}

/* The character after a backslash. \% and \_ keep the backslash: they are LIKE's escapes. */
static size_t put_simple_escape(char *out, char c)
{
    switch (c) {
    case '0': out[0] = '\0'; return 1;
    case 'b': out[0] = '\b'; return 1;
    case 'n': out[0] = '\n'; return 1;
    case 'r': out[0] = '\r'; return 1;
    case 't': out[0] = '\t'; return 1;
    case 'Z': out[0] = '\x1A'; return 1;
    case '%':
    case '_':
        out[0] = '\\';
        out[1] = c;
        return 2;
    default: out[0] = c; return 1;
    }
}

static nl_str unescape(nl_parser *p, nl_str text)
{
    char *out = nl_arena_alloc(p->arena, text.length + 1);
    size_t length = 0;
    size_t i = 0;
    while (i < text.length) {
        if (text.data[i] != '\\' || i + 1 >= text.length) {
            out[length++] = text.data[i++];
            continue;
        }
        uint32_t code_point;
        size_t escape = read_unicode_escape(text, i, &code_point);
        if (escape > 0) {
            length += put_code_point(out + length, code_point);
            i += escape;
        } else if (is_octal_escape(text, i)) {
            const char *digits = text.data + i + 1;
            out[length++] = (char)((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
            i += 4;
        } else {
            length += put_simple_escape(out + length, text.data[i + 1]);
            i += 2;
        }
    }
    return (nl_str){out, length};
}

nl_str nl_parser_unescape(nl_parser *p, uint32_t at)
{
    nl_str token = nl_parser_token_text(p, at);
    bool is_raw = token.data[0] == 'r' || token.data[0] == 'R';
    nl_str inner = nl_str_slice(token, is_raw ? 2 : 1, token.length - 1);
    if (inner.length == 0) return NL_STR("");
    bool is_literal = is_raw || p->options.is_escape_off || nl_str_find_char(inner, '\\', 0) == NL_NOT_FOUND;
    return is_literal ? inner : unescape(p, inner);
}

nl_status nl_parse_string(nl_parser *p, nl_str *text)
{
    if (!nl_parser_is_string_at(p, p->at)) return nl_parser_syntax_error(p);
    *text = nl_parser_unescape(p, p->at);
    p->at++;
    return nl_arena_check(p->arena);
}

nl_status nl_parse_comment_clause(nl_parser *p, bool *has_comment, nl_str *comment)
{
    NL_TRY(nl_parser_expect(p, NL_T_COMMENT));
    *has_comment = true;
    return nl_parse_string(p, comment);
}

nl_str nl_parser_text_between(const nl_parser *p, uint32_t first_token, uint32_t end_token)
{
    if (end_token <= first_token) return NL_STR("");
    return nl_str_slice(p->text, p->tokens[first_token].start, p->tokens[end_token - 1].stop);
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

/* a.b.c or 'any text': the parts joined by dots. */
nl_status nl_parse_property_key(nl_parser *p, nl_str *key)
{
    if (nl_parser_is_string_at(p, p->at)) return nl_parse_string(p, key);
    nl_ast_name name;
    NL_TRY(nl_parse_name(p, &name));
    if (name.count == 1) {
        *key = name.parts[0].text;
        return NULL;
    }
    nl_builder joined;
    nl_builder_init(&joined, NL_SQL_TEXT_BYTES_MAX);
    for (uint32_t i = 0; i < name.count; i++) {
        if (i > 0) nl_append_char(&joined, '.');
        nl_append(&joined, name.parts[i].text);
    }
    *key = nl_arena_str(p->arena, nl_builder_str(&joined));
    nl_builder_fini(&joined);
    return NULL;
}

static nl_status parse_property_value(nl_parser *p, nl_ast_property *property)
{
    property->has_value = true;
    if (nl_parser_is_string_at(p, p->at)) {
        property->is_string = true;
        return nl_parse_string(p, &property->value);
    }
    nl_token_kind kind = nl_parser_kind(p);
    if (kind == NL_T_TRUE || kind == NL_T_FALSE) {
        property->value = kind == NL_T_TRUE ? NL_STR("true") : NL_STR("false");
    } else if (kind == NL_T_INTEGER_VALUE || kind == NL_T_DECIMAL_VALUE) {
        property->value = nl_parser_token_text(p, p->at);
    } else {
        return nl_parser_syntax_error(p);
    }
    p->at++;
    return NULL;
}

static nl_status parse_property(nl_parser *p, bool is_expression, nl_ast_property *property)
{
    uint32_t first = p->at;
    NL_TRY(nl_parse_property_key(p, &property->key));
    bool has_eq = nl_parser_take(p, NL_T_EQ);
    bool is_end = nl_parser_is(p, NL_T_COMMA) || nl_parser_is(p, NL_T_RIGHT_PAREN);
    if (has_eq || !is_end) {
        if (is_expression) {
            property->has_value = true;
            NL_TRY(nl_parse_expression(p, &property->expr));
        } else {
            NL_TRY(parse_property_value(p, property));
        }
    }
    property->range = nl_parser_range(p, first);
    return NULL;
}

static int compare_properties(const void *a, const void *b)
{
    const nl_ast_property *left = *(const nl_ast_property *const *)a;
    const nl_ast_property *right = *(const nl_ast_property *const *)b;
    int order = nl_str_compare(left->key, right->key);
    return order != 0 ? order : (left->range.start > right->range.start) - (left->range.start < right->range.start);
}

/* DUPLICATE_KEY names the first key that was given twice. */
static nl_status check_duplicate_keys(nl_parser *p, const nl_ast_properties *properties)
{
    if (properties->count < 2) return NULL;
    nl_ast_property **sorted = NL_NEW_ARRAY(p->arena, nl_ast_property *, properties->count);
    for (uint32_t i = 0; i < properties->count; i++) sorted[i] = &properties->items[i];
    qsort(sorted, properties->count, sizeof(*sorted), compare_properties);
    const nl_ast_property *found = NULL;
    for (uint32_t i = 1; i < properties->count; i++) {
        if (!nl_str_equal(sorted[i - 1]->key, sorted[i]->key)) continue;
        if (!found || sorted[i]->range.start < found->range.start) found = sorted[i];
    }
    if (!found) return NULL;
    nl_str key = nl_arena_f(p->arena, "`" NL_STR_FMT "`", NL_STR_ARG(found->key));
    return NL_REFUSE(p, properties->range, DUPLICATE_KEY, NL_P_STR("keyColumn", key));
}

nl_status nl_parse_properties(nl_parser *p, bool are_expressions, nl_ast_properties **properties)
{
    uint32_t first = p->at;
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    nl_list list = {0};
    do {
        nl_ast_property *property = NL_NEW(p->arena, nl_ast_property);
        NL_TRY(parse_property(p, are_expressions, property));
        nl_list_add(p->arena, &list, property);
    } while (nl_parser_take(p, NL_T_COMMA));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    nl_ast_properties *out = NL_NEW(p->arena, nl_ast_properties);
    *out = (nl_ast_properties){NL_FLATTEN(p, &list, nl_ast_property), list.count, nl_parser_range(p, first)};
    *properties = out;
    return check_duplicate_keys(p, out);
}

/* The keys that have (or lack) a value, as Spark lists them in its refusal. */
static nl_status refuse_keys(nl_parser *p, nl_ast_range range, const nl_ast_properties *properties, bool with_value, const char *words)
{
    nl_builder message;
    nl_builder_init(&message, NL_SQL_TEXT_BYTES_MAX);
    nl_append_f(&message, "%s: [", words);
    uint32_t count = 0;
    for (uint32_t i = 0; i < properties->count; i++) {
        if (properties->items[i].has_value != with_value) continue;
        if (count++ > 0) nl_append_char(&message, ',');
        nl_append(&message, properties->items[i].key);
    }
    nl_append_char(&message, ']');
    nl_status status = nl_parser_not_allowed(p, range, nl_builder_c(&message));
    nl_builder_fini(&message);
    return status;
}

nl_status nl_parser_need_values_at(nl_parser *p, nl_ast_range range, const nl_ast_properties *properties)
{
    for (uint32_t i = 0; properties && i < properties->count; i++)
        if (!properties->items[i].has_value)
            return refuse_keys(p, range, properties, false, "Values must be specified for key(s)");
    return NULL;
}

nl_status nl_parser_need_values(nl_parser *p, const nl_ast_properties *properties)
{
    return nl_parser_need_values_at(p, NL_WHOLE_STATEMENT, properties);
}

nl_status nl_parser_need_keys_only(nl_parser *p, const nl_ast_properties *properties)
{
    for (uint32_t i = 0; properties && i < properties->count; i++)
        if (properties->items[i].has_value)
            return refuse_keys(p, NL_WHOLE_STATEMENT, properties, true, "Values should not be specified for key(s)");
    return NULL;
}
