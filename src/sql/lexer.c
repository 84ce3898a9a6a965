/* sql/lexer.c - text to tokens, with the rules of Spark's lexer: the longest token wins, keywords in any case, numbers
 * that run into letters are identifiers, brackets of type names keep >> apart, comments nest and vanish. */
#include "sql/token.h"

#include <stdlib.h>
#include <utf8proc.h>

typedef struct lexer {
    const char *data;
    uint32_t length;
    uint32_t at;
    uint32_t line;
    uint32_t position;
    /* Spark counts ARRAY, MAP and STRUCT up and > down; while it is above zero >> is two closing brackets. */
    uint32_t open_types;
    nl_tokens *out;
    uint32_t capacity;
} lexer;

static inline uint8_t peek(const lexer *lex, uint32_t ahead)
{
    return lex->at + ahead < lex->length ? (uint8_t)lex->data[lex->at + ahead] : 0;
}

static inline bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}
static inline bool is_word_byte(uint8_t c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static inline uint8_t upper(uint8_t c)
{
    return c >= 'a' && c <= 'z' ? (uint8_t)(c - 32) : c;
}

/* The character at an offset and its length in bytes; one byte when it is no valid UTF-8. */
static uint32_t decode_at(const lexer *lex, uint32_t at, uint32_t *length)
{
    size_t offset = at;
    uint32_t c = nl_utf8_decode((nl_str){lex->data, lex->length}, &offset);
    *length = (uint32_t)offset - at;
    return c;
}

/* Bytes of the letter (Unicode category L), digit or underscore at an offset; 0 when there is none. */
static uint32_t word_character(const lexer *lex, uint32_t at)
{
    if (at >= lex->length) return 0;
    uint8_t c = (uint8_t)lex->data[at];
    if (c < 0x80) return is_word_byte(c) ? 1 : 0;
    uint32_t length;
    uint32_t code_point = decode_at(lex, at, &length);
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code_point);
    bool is_letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
    return is_letter ? length : 0;
}

/* Bytes of the white-space character at an offset, 0 when there is none. */
static uint32_t space_character(const lexer *lex, uint32_t at)
{
    uint8_t c = (uint8_t)lex->data[at];
    if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r') ? 1 : 0;
    uint32_t length;
    uint32_t p = decode_at(lex, at, &length);
    bool is_space = p == 0xA0 || p == 0x1680 || (p >= 0x2000 && p <= 0x200A) || p == 0x2028 || p == 0x202F ||
                    p == 0x205F || p == 0x3000;
    return is_space ? length : 0;
}

/* Moves over `size_bytes`, keeping line and position. */
static void advance(lexer *lex, uint32_t size_bytes)
{
    const char *data = lex->data + lex->at;
    for (uint32_t i = 0; i < size_bytes; i++) {
        if (data[i] == '\n') {
            lex->line++;
            lex->position = 0;
        } else if (((uint8_t)data[i] & 0xC0) != 0x80) {
            lex->position++;
        }
    }
    lex->at += size_bytes;
}

/* Skips `--` to the end of its line; a backslash at the end continues it. */
static void skip_line_comment(lexer *lex)
{
    uint32_t end = lex->at + 2;
    while (end < lex->length && lex->data[end] != '\n' && lex->data[end] != '\r') {
        bool is_continued = lex->data[end] == '\\' && end + 1 < lex->length && lex->data[end + 1] == '\n';
        end += is_continued ? 2 : 1;
    }
    advance(lex, end - lex->at);
}

/* Skips a bracketed comment with the ones nested in it. Hints do not nest. */
static void skip_bracketed_comment(lexer *lex)
{
    uint32_t end = lex->at + 2;
    uint32_t open = 1;
    while (open > 0 && end < lex->length) {
        char c = lex->data[end];
        char next = end + 1 < lex->length ? lex->data[end + 1] : 0;
        if (c == '*' && next == '/') {
            open--;
            end += 2;
        } else if (c == '/' && next == '*' && !(end + 2 < lex->length && lex->data[end + 2] == '+')) {
            open++;
            end += 2;
        } else {
            end++;
        }
    }
    if (open > 0) lex->out->has_unclosed_comment = true;
    advance(lex, end - lex->at);
}

/* Skips white space and comments; true when something is left to read. */
static bool skip_blank(lexer *lex)
{
    while (lex->at < lex->length) {
        uint8_t c = peek(lex, 0);
        uint32_t space = space_character(lex, lex->at);
        if (space > 0)
            advance(lex, space);
        else if (c == '-' && peek(lex, 1) == '-')
            skip_line_comment(lex);
        else if (c == '/' && peek(lex, 1) == '*' && peek(lex, 2) != '+')
            skip_bracketed_comment(lex);
        else
            return true;
    }
    return false;
}

/* Length of the quoted text at an offset, or 0 when it does not end. With escapes a backslash hides the next
 * character; with doubling a doubled quote is content. */
static uint32_t quoted_length(const lexer *lex, uint32_t at, bool has_escapes, bool has_doubling)
{
    char quote = lex->data[at];
    for (uint32_t i = at + 1; i < lex->length; i++) {
        if (has_escapes && lex->data[i] == '\\') {
            i++;
        } else if (lex->data[i] == quote) {
            if (!has_doubling || i + 1 >= lex->length || lex->data[i + 1] != quote) return i + 1 - at;
            i++;
        }
    }
    return 0;
}

/* A number token's kind and length at the cursor; length 0 when there is none. `word_length` is what an identifier
 * there would take: the longer one wins, numbers when equal. */
static uint32_t number_length(const lexer *lex, uint32_t word_length, nl_token_kind *kind)
{
    uint32_t i = 0;
    bool has_dot = false;
    while (is_digit(peek(lex, i))) i++;
    uint32_t integer_length = i;
    if (peek(lex, i) == '.' && (integer_length > 0 || is_digit(peek(lex, i + 1)))) {
        has_dot = true;
        i++;
        while (is_digit(peek(lex, i))) i++;
    }
    *kind = has_dot ? NL_T_DECIMAL_VALUE : NL_T_INTEGER_VALUE;
    if (upper(peek(lex, i)) == 'E') {
        uint32_t sign = peek(lex, i + 1) == '+' || peek(lex, i + 1) == '-';
        if (is_digit(peek(lex, i + 1 + sign))) {
            i += 2 + sign;
            while (is_digit(peek(lex, i))) i++;
            *kind = NL_T_EXPONENT;
        }
    }
    bool is_plain = *kind == NL_T_INTEGER_VALUE;
    uint8_t suffix = upper(peek(lex, i));
    if (suffix == 'B' && upper(peek(lex, i + 1)) == 'D') {
        *kind = NL_T_BIGDECIMAL_LITERAL;
        i += 2;
    } else if (suffix == 'D' || suffix == 'F') {
        *kind = suffix == 'D' ? NL_T_DOUBLE_LITERAL : NL_T_FLOAT_LITERAL;
        i++;
    } else if (is_plain && (suffix == 'L' || suffix == 'S' || suffix == 'Y')) {
        *kind = suffix == 'L' ? NL_T_BIGINT_LITERAL : suffix == 'S' ? NL_T_SMALLINT_LITERAL : NL_T_TINYINT_LITERAL;
        i++;
    }
    /* A number with a dot must not run into a word; then only its digits before the dot are a token. */
    if (has_dot && is_word_byte(peek(lex, i))) {
        *kind = NL_T_INTEGER_VALUE;
        i = integer_length;
    }
    return i >= word_length ? i : 0;
}

static uint32_t word_length_at(const lexer *lex)
{
    uint32_t i = 0;
    uint32_t step;
    bool is_letters = true;
    while ((step = word_character(lex, lex->at + i)) > 0) {
        if (is_digit(peek(lex, i)) || peek(lex, i) == '_') is_letters = false;
        i += step;
    }
    bool is_path = i > 0 && is_letters && peek(lex, i) == ':' && peek(lex, i + 1) == '/' && peek(lex, i + 2) == '/';
    if (!is_path) return i;
    uint32_t end = i + 3;
    for (;;) {
        step = word_character(lex, lex->at + end);
        uint8_t c = peek(lex, end);
        if (step == 0 && c != 0 && strchr("/-.?=&#%", c) != NULL) step = 1;
        if (step == 0) break;
        end += step;
    }
    return end > i + 3 ? end : i;
}

/* Signs of up to three characters, longest first. */
static const struct sign {
    char text[4];
    uint8_t length;
    uint16_t kind;
} signs[] = {
    {"<=>", 3, NL_T_NULL_SAFE_EQ}, {">>>", 3, NL_T_SHIFT_RIGHT_UNSIGNED}, {"/*+", 3, NL_T_HINT_START},
    {"<=", 2, NL_T_LTE},           {"!>", 2, NL_T_LTE},                   {">=", 2, NL_T_GTE},
    {"!<", 2, NL_T_GTE},           {"<>", 2, NL_T_NEQ},                   {"!=", 2, NL_T_NEQ_BANG},
    {"==", 2, NL_T_EQ},            {"=>", 2, NL_T_FAT_ARROW},             {"<<", 2, NL_T_SHIFT_LEFT},
    {">>", 2, NL_T_SHIFT_RIGHT},   {"||", 2, NL_T_CONCAT},                {"|>", 2, NL_T_OPERATOR_PIPE},
    {"::", 2, NL_T_DOUBLE_COLON},  {"->", 2, NL_T_ARROW},                 {"*/", 2, NL_T_HINT_END},
    {";", 1, NL_T_SEMICOLON},      {"(", 1, NL_T_LEFT_PAREN},             {")", 1, NL_T_RIGHT_PAREN},
    {",", 1, NL_T_COMMA},          {".", 1, NL_T_DOT},                    {"[", 1, NL_T_LEFT_BRACKET},
    {"]", 1, NL_T_RIGHT_BRACKET},  {"!", 1, NL_T_BANG},                   {"=", 1, NL_T_EQ},
    {"<", 1, NL_T_LT},             {">", 1, NL_T_GT},                     {"+", 1, NL_T_PLUS},
    {"-", 1, NL_T_MINUS_SIGN},     {"*", 1, NL_T_ASTERISK},               {"/", 1, NL_T_SLASH},
    {"%", 1, NL_T_PERCENT_SIGN},   {"~", 1, NL_T_TILDE},                  {"&", 1, NL_T_AMPERSAND},
    {"|", 1, NL_T_PIPE},           {"^", 1, NL_T_HAT},                    {":", 1, NL_T_COLON},
    {"?", 1, NL_T_QUESTION},
};

static uint32_t sign_length(const lexer *lex, nl_token_kind *kind)
{
    for (size_t i = 0; i < NL_COUNT(signs); i++) {
        const struct sign *sign = &signs[i];
        if (lex->at + sign->length > lex->length) continue;
        if (memcmp(lex->data + lex->at, sign->text, sign->length) != 0) continue;
        bool is_shift = sign->kind == NL_T_SHIFT_RIGHT || sign->kind == NL_T_SHIFT_RIGHT_UNSIGNED;
        if (is_shift && lex->open_types > 0) continue;
        *kind = (nl_token_kind)sign->kind;
        return sign->length;
    }
    *kind = NL_T_UNRECOGNIZED;
    uint32_t length;
    decode_at(lex, lex->at, &length);
    return length;
}

static uint32_t word_token(lexer *lex, uint32_t length, nl_token_kind *kind)
{
    *kind = nl_keyword_find((nl_str){lex->data + lex->at, length});
    if (*kind == NL_T_ARRAY || *kind == NL_T_MAP || *kind == NL_T_STRUCT) lex->open_types++;
    return length;
}

/* The token at the cursor: its kind and length. */
static uint32_t token_at(lexer *lex, nl_token_kind *kind)
{
    uint8_t c = peek(lex, 0);
    uint32_t length = 0;
    if (c == '\'' || c == '"') {
        *kind = c == '"' ? NL_T_DOUBLE_QUOTED : NL_T_STRING_LITERAL;
        length = quoted_length(lex, lex->at, true, false);
    } else if (c == '`') {
        *kind = NL_T_BACKQUOTED;
        length = quoted_length(lex, lex->at, false, true);
    } else if (upper(c) == 'R' && (peek(lex, 1) == '\'' || peek(lex, 1) == '"')) {
        *kind = NL_T_STRING_LITERAL;
        length = quoted_length(lex, lex->at + 1, false, false);
        if (length > 0) length++;
    }
    if (length > 0) return length;
    uint32_t word_length = word_length_at(lex);
    if (is_digit(c) || c == '.') {
        length = number_length(lex, word_length, kind);
        if (length > 0) return length;
    }
    if (word_length > 0) return word_token(lex, word_length, kind);
    length = sign_length(lex, kind);
    if (*kind == NL_T_GT && lex->open_types > 0) lex->open_types--;
    return length;
}

static nl_status add_token(lexer *lex, nl_token_kind kind, uint32_t length)
{
    nl_tokens *out = lex->out;
    if (out->count == lex->capacity) {
        uint32_t capacity = lex->capacity ? lex->capacity * 2 : 64;
        nl_token *items = realloc(out->items, nl_size_mul(capacity, sizeof(nl_token)));
        if (!items) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)capacity * 20),
                                    NL_P_INT("receivedBytes", 0));
        out->items = items;
        lex->capacity = capacity;
    }
    out->items[out->count++] = (nl_token){.kind = (uint16_t)kind,
                                          .start = lex->at,
                                          .stop = lex->at + length,
                                          .line = lex->line,
                                          .position = lex->position};
    return NULL;
}

static nl_status lex_all(lexer *lex)
{
    while (skip_blank(lex)) {
        nl_token_kind kind = NL_T_UNRECOGNIZED;
        uint32_t length = token_at(lex, &kind);
        NL_TRY(add_token(lex, kind, length));
        advance(lex, length);
    }
    for (int i = 0; i <= NL_LEX_PADDING; i++) NL_TRY(add_token(lex, NL_T_EOF, 0));
    lex->out->count -= NL_LEX_PADDING;
    return NULL;
}

nl_status nl_lex(nl_str text, nl_tokens *tokens)
{
    *tokens = (nl_tokens){0};
    lexer lex = {.data = text.data, .length = (uint32_t)text.length, .line = 1, .out = tokens};
    nl_status status = lex_all(&lex);
    if (status) nl_tokens_free(tokens);
    return status;
}

void nl_tokens_free(nl_tokens *tokens)
{
    free(tokens->items);
    *tokens = (nl_tokens){0};
}
