/* sql/split.c - cuts a script's text at semicolons. Inside BEGIN … END a stack remembers what each END closes; CASE
 * may be an expression, whose THEN and ELSE do not begin statements. */
#include "sql/split.h"

#include "base/limits.h"
#include "sql/token.h"

typedef struct splitter {
    const char *data;
    size_t length;
    size_t at;
    bool has_content;    /* something besides blanks and comments was seen                         */
    bool has_open_end;   /* a quote or comment did not end                                         */
    bool is_block;       /* the statement began with BEGIN                                         */
    bool is_start;       /* a statement of the block may begin here                                */
    bool is_after_end;   /* the last word was END: IF, CASE, LOOP … belong to it                   */
    uint32_t depth;      /* of BEGIN, CASE, IF and loops                                           */
    bool is_expression[NL_EXPRESSION_DEPTH_MAX]; /* per level: a CASE inside an expression         */
} splitter;

static char char_at(const splitter *s, size_t at)
{
    return at < s->length ? s->data[at] : '\0';
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0;
}

static void skip_quoted(splitter *s)
{
    char quote = s->data[s->at++];
    while (s->at < s->length && s->data[s->at] != quote) s->at += s->data[s->at] == '\\' && quote != '`' ? 2 : 1;
    s->has_open_end = s->at >= s->length;
    s->at = s->has_open_end ? s->length : s->at + 1;
}

static void skip_line_comment(splitter *s)
{
    while (s->at < s->length && s->data[s->at] != '\n') s->at += s->data[s->at] == '\\' ? 2 : 1;
    if (s->at > s->length) s->at = s->length;
}

static void skip_bracketed_comment(splitter *s)
{
    size_t open = 0;
    while (s->at < s->length) {
        bool is_start = s->data[s->at] == '/' && char_at(s, s->at + 1) == '*';
        bool is_end = s->data[s->at] == '*' && char_at(s, s->at + 1) == '/';
        s->at += is_start || is_end ? 2 : 1;
        if (is_start) open++;
        if (is_end && --open == 0) return;
    }
    s->has_open_end = true;
}

/* Skips a comment; false when there is none. Hints are part of the statement. */
static bool skip_comment(splitter *s)
{
    char c = s->data[s->at];
    char next = char_at(s, s->at + 1);
    if (c == '-' && next == '-')
        skip_line_comment(s);
    else if (c == '/' && next == '*' && char_at(s, s->at + 2) != '+')
        skip_bracketed_comment(s);
    else
        return false;
    return true;
}

static void open_level(splitter *s, bool is_expression)
{
    if (s->depth < NL_EXPRESSION_DEPTH_MAX) s->is_expression[s->depth] = is_expression;
    s->depth++;
}

static bool is_in_expression(const splitter *s)
{
    return s->depth > 0 && s->depth <= NL_EXPRESSION_DEPTH_MAX && s->is_expression[s->depth - 1];
}

/* Follows the words of a block: what opens a level, what closes it, where statements begin. */
static void follow_word(splitter *s, nl_token_kind kind)
{
    bool was_start = s->is_start;
    bool was_end = s->is_after_end;
    s->is_start = false;
    s->is_after_end = false;
    switch ((int)kind) {
    case NL_T_BEGIN:
        open_level(s, false);
        s->is_start = true;
        break;
    case NL_T_CASE:
        if (!was_end) open_level(s, !was_start);
        break;
    case NL_T_IF:
    case NL_T_WHILE:
    case NL_T_FOR:
    case NL_T_LOOP:
    case NL_T_REPEAT:
        if (was_start && !was_end) open_level(s, false);
        s->is_start = (kind == NL_T_LOOP || kind == NL_T_REPEAT) && was_start;
        break;
    case NL_T_END:
        if (s->depth > 0) s->depth--;
        s->is_after_end = true;
        break;
    case NL_T_THEN:
    case NL_T_ELSE: s->is_start = !is_in_expression(s); break;
    case NL_T_DO: s->is_start = true; break;
    default: break;
    }
}

static void take_word(splitter *s)
{
    size_t start = s->at;
    while (s->at < s->length && is_word_char(s->data[s->at])) s->at++;
    nl_token_kind kind = nl_keyword_find((nl_str){s->data + start, s->at - start});
    if (!s->has_content && kind == NL_T_BEGIN) s->is_block = true;
    if (s->is_block) follow_word(s, kind);
    s->has_content = true;
}

static void take_sign(splitter *s, char c)
{
    s->at++;
    s->is_after_end = false;
    s->is_start = s->is_block && (c == ';' || c == ':');
    if (c != ';') s->has_content = true;
}

/* Moves behind the next `;` that ends a statement; false at the end of the text. */
static bool find_end(splitter *s)
{
    while (s->at < s->length) {
        char c = s->data[s->at];
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            s->at++;
        } else if (skip_comment(s)) {
            continue;
        } else if (c == '\'' || c == '"' || c == '`') {
            skip_quoted(s);
            s->has_content = true;
        } else if (is_word_char(c)) {
            take_word(s);
        } else {
            take_sign(s, c);
            if (c == ';' && s->depth == 0) return true;
        }
    }
    return false;
}

nl_split nl_sql_split(nl_str *rest, nl_str *statement)
{
    for (;;) {
        splitter s = {.data = rest->data, .length = rest->length};
        bool is_ended = find_end(&s);
        if (!is_ended) {
            *statement = *rest;
            *rest = (nl_str){0};
            return s.has_content || s.has_open_end ? NL_SPLIT_REST : NL_SPLIT_END;
        }
        *statement = nl_str_slice(*rest, 0, s.at - 1);
        *rest = nl_str_slice(*rest, s.at, rest->length);
        if (s.has_content) return NL_SPLIT_STATEMENT;
    }
}
