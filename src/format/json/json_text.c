/* format/json/json_text.c - a JSON pull parser over memory (RFC 8259, and Jackson's leniencies that Spark offers).
 *
 * State is one byte (what may come next) and one bit per open level; nothing recurses. A string without escapes is
 * given as a slice of the input; runs of plain characters are found eight bytes at a time.
 */
#include "base/limits.h"
#include "column/variant.h"
#include "format/json/json_text.h"

_Static_assert(NL_JSON_DEPTH_MAX <= 256, "is_object has 256 bits");

typedef enum expectation {
    EXPECT_ROOT,          /* a value or the end of the text */
    EXPECT_VALUE,         /* after a comma in an array, or a name */
    EXPECT_FIRST_ELEMENT, /* a value or ] */
    EXPECT_FIRST_NAME,    /* a name or } */
    EXPECT_NAME,
    EXPECT_MORE /* a comma or the end of the container */
} expectation;

void nl_json_init(nl_json_parser *in, nl_str text, const nl_json_options *options)
{
    *in = (nl_json_parser){0};
    if (options) in->options = *options;
    nl_builder_init(&in->scratch, NL_JSON_BYTES_MAX);
    nl_json_reset(in, text);
}

void nl_json_fini(nl_json_parser *in)
{
    nl_builder_fini(&in->scratch);
}

void nl_json_reset(nl_json_parser *in, nl_str text)
{
    static const char empty[1];
    in->start = in->at = text.data ? text.data : empty;
    in->end = in->start + text.length;
    if (nl_str_starts(text, NL_STR("\xef\xbb\xbf"))) in->at += 3;
    in->token = in->at;
    in->problem = NULL;
    in->depth = 0;
    in->expects = EXPECT_ROOT;
    in->event = NL_JSON_END;
    in->text = (nl_str){NULL, 0};
}

size_t nl_json_offset(const nl_json_parser *in)
{
    return (size_t)(in->token - in->start);
}

const char *nl_json_problem(const nl_json_parser *in)
{
    return in->problem;
}

static nl_json_event fail(nl_json_parser *in, const char *at, const char *problem)
{
    in->token = at;
    in->problem = problem;
    return in->event = NL_JSON_ERROR;
}

static nl_json_event give(nl_json_parser *in, nl_json_event event)
{
    return in->event = event;
}

static bool in_object(const nl_json_parser *in)
{
    return (in->is_object[(in->depth - 1) / 64] >> ((in->depth - 1) % 64)) & 1;
}

static void after_value(nl_json_parser *in)
{
    in->expects = in->depth ? EXPECT_MORE : EXPECT_ROOT;
}

static bool skip_comment(nl_json_parser *in)
{
    if (in->end - in->at < 2) return false;
    if (in->at[1] == '/') {
        while (in->at < in->end && *in->at != '\n')
            in->at++;
        return true;
    }
    if (in->at[1] != '*') return false;
    for (const char *c = in->at + 2; c + 1 < in->end; c++) {
        if (c[0] != '*' || c[1] != '/') continue;
        in->at = c + 2;
        return true;
    }
    return false;
}

static void skip_blanks(nl_json_parser *in)
{
    while (in->at < in->end) {
        char c = *in->at;
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
            in->at++;
        else if (c != '/' || !in->options.allows_comments || !skip_comment(in))
            return;
    }
}

#define ONES 0x0101010101010101ull
#define HIGH 0x8080808080808080ull

/* A high bit in each byte that is below 0x20, a quote, or a backslash (a hit may be false behind a true one). */
static inline uint64_t special_bytes(uint64_t word, uint64_t quotes)
{
    uint64_t q = word ^ quotes;
    uint64_t b = word ^ (ONES * '\\');
    return (((word - ONES * 0x20) & ~word) | ((q - ONES) & ~q) | ((b - ONES) & ~b)) & HIGH;
}

/* The first byte from `at` that is the quote, a backslash or a control character, or the end. */
static const char *find_special(const char *at, const char *end, char quote)
{
    uint64_t quotes = ONES * (uint8_t)quote;
    while (end - at >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        if (special_bytes(word, quotes)) break;
        at += 8;
    }
    while (at < end && *at != quote && *at != '\\' && (uint8_t)*at >= 0x20)
        at++;
    return at;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Four hexadecimal digits at `at`, or -1. */
static int32_t hex_four(const char *at, const char *end)
{
    int32_t value = 0;
    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* A lone surrogate has no UTF-8 form; Java writes a question mark. */
static bool append_unicode(nl_json_parser *in, const char **at)
{
    int32_t unit = hex_four(*at, in->end);
    if (unit < 0) return false;
    *at += 4;
    if (unit >= 0xd800 && unit < 0xdc00 && in->end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        int32_t low = hex_four(*at + 2, in->end);
        if (low >= 0xdc00 && low < 0xe000) {
            *at += 6;
            nl_append_code_point(&in->scratch, 0x10000u + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
            return true;
        }
    }
    if (unit >= 0xd800 && unit < 0xe000)
        nl_append_char(&in->scratch, '?');
    else
        nl_append_code_point(&in->scratch, (uint32_t)unit);
    return true;
}

/* Behind a backslash at *at. NULL, or what is wrong. */
static const char *append_escape(nl_json_parser *in, const char **at)
{
    static const char plain[] = "\"\\/";
    static const char from[] = "bfnrt";
    static const char to[] = "\b\f\n\r\t";
    if (*at >= in->end) return "the text ends inside of a string";
    char c = *(*at)++;
    if (c == 'u') return append_unicode(in, at) ? NULL : "\\u without four hexadecimal digits";
    const char *place = c ? strchr(from, c) : NULL;
    if (place)
        nl_append_char(&in->scratch, to[place - from]);
    else if ((c && strchr(plain, c)) || (c == '\'' && in->options.allows_single_quotes) ||
             in->options.allows_backslash_escaping_any)
        nl_append_char(&in->scratch, c);
    else
        return "an unknown escape";
    return NULL;
}

/* From behind the opening quote; `at` ends behind the closing one. False after a failure. */
static bool read_string(nl_json_parser *in, char quote)
{
    const char *from = in->at;
    const char *at = find_special(from, in->end, quote);
    if (at < in->end && *at == quote) {
        in->text = (nl_str){from, (size_t)(at - from)};
        in->at = at + 1;
        return true;
    }
    nl_builder_clear(&in->scratch);
    for (;;) {
        nl_append(&in->scratch, (nl_str){from, (size_t)(at - from)});
        if (at >= in->end) return fail(in, at, "the text ends inside of a string"), false;
        char c = *at++;
        if (c == quote) break;
        if (c == '\\') {
            const char *problem = append_escape(in, &at);
            if (problem) return fail(in, at - 1, problem), false;
        } else if (in->options.allows_unquoted_controls) {
            nl_append_char(&in->scratch, c);
        } else {
            return fail(in, at - 1, "a control character inside of a string"), false;
        }
        from = at;
        at = find_special(from, in->end, quote);
    }
    if (nl_builder_failed(&in->scratch)) return fail(in, at, "a string that is too long"), false;
    in->text = nl_builder_str(&in->scratch);
    in->at = at;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || (c && strchr("_$@#*+-", c)) || (uint8_t)c >= 0x80;
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

/* What may follow a number, true, false or null. */
static bool ends_token(const nl_json_parser *in, const char *at)
{
    if (at >= in->end) return true;
    return *at != '\0' && strchr(" \n\t\r,]}:/{[\"", *at) != NULL;
}

static nl_json_event give_number(nl_json_parser *in, const char *end, bool is_integer)
{
    in->text = (nl_str){in->at, (size_t)(end - in->at)};
    in->is_integer = is_integer;
    in->at = end;
    after_value(in);
    return give(in, NL_JSON_NUMBER);
}

static nl_json_event read_number(nl_json_parser *in)
{
    const char *at = in->at + (*in->at == '-');
    const char *digits = at;
    at = skip_digits(at, in->end);
    if (at == digits) return fail(in, in->at, "a number without digits");
    if (*digits == '0' && at - digits > 1 && !in->options.allows_leading_zeros)
        return fail(in, in->at, "a number with leading zeros");
    bool is_integer = true;
    if (at < in->end && *at == '.') {
        const char *fraction = at + 1;
        at = skip_digits(fraction, in->end);
        if (at == fraction) return fail(in, in->at, "a number that ends with its point");
        is_integer = false;
    }
    if (at < in->end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < in->end && (*at == '+' || *at == '-')) at++;
        const char *exponent = at;
        at = skip_digits(at, in->end);
        if (at == exponent) return fail(in, in->at, "an exponent without digits");
        is_integer = false;
    }
    if (!ends_token(in, at)) return fail(in, at, "an unexpected character behind a number");
    return give_number(in, at, is_integer);
}

/* true, false, null, and the numbers that are none. */
static nl_json_event read_word(nl_json_parser *in)
{
    static const struct {
        const char *word;
        nl_json_event event;
    } words[] = {{"true", NL_JSON_TRUE},      {"false", NL_JSON_FALSE},       {"null", NL_JSON_NULL},
                 {"NaN", NL_JSON_NUMBER},     {"Infinity", NL_JSON_NUMBER},   {"INF", NL_JSON_NUMBER},
                 {"-Infinity", NL_JSON_NUMBER}, {"+Infinity", NL_JSON_NUMBER}, {"-INF", NL_JSON_NUMBER},
                 {"+INF", NL_JSON_NUMBER}};
    nl_str rest = {in->at, (size_t)(in->end - in->at)};
    for (size_t i = 0; i < NL_COUNT(words); i++) {
        nl_str word = nl_str_from(words[i].word);
        if (!nl_str_starts(rest, word) || !ends_token(in, in->at + word.length)) continue;
        if (words[i].event == NL_JSON_NUMBER) {
            if (!in->options.allows_non_numeric_numbers) break;
            return give_number(in, in->at + word.length, false);
        }
        in->at += word.length;
        after_value(in);
        return give(in, words[i].event);
    }
    if (*in->at == '-') return read_number(in);
    return fail(in, in->at, "neither a value nor an end was expected here");
}

static nl_json_event open_container(nl_json_parser *in, bool is_object)
{
    if (in->depth >= NL_JSON_DEPTH_MAX) return fail(in, in->at, "objects and arrays nested too deeply");
    uint64_t bit = 1ull << (in->depth % 64);
    if (is_object)
        in->is_object[in->depth / 64] |= bit;
    else
        in->is_object[in->depth / 64] &= ~bit;
    in->depth++;
    in->at++;
    in->expects = is_object ? EXPECT_FIRST_NAME : EXPECT_FIRST_ELEMENT;
    return give(in, is_object ? NL_JSON_OBJECT_START : NL_JSON_ARRAY_START);
}

static nl_json_event close_container(nl_json_parser *in)
{
    bool is_object = in_object(in);
    if (*in->at != (is_object ? '}' : ']')) return fail(in, in->at, is_object ? "a comma or } was expected" : "a comma or ] was expected");
    in->at++;
    in->depth--;
    after_value(in);
    return give(in, is_object ? NL_JSON_OBJECT_END : NL_JSON_ARRAY_END);
}

static nl_json_event read_value(nl_json_parser *in)
{
    char c = *in->at;
    if (c == '"' || (c == '\'' && in->options.allows_single_quotes)) {
        in->at++;
        if (!read_string(in, c)) return NL_JSON_ERROR;
        after_value(in);
        return give(in, NL_JSON_STRING);
    }
    if (c == '{') return open_container(in, true);
    if (c == '[') return open_container(in, false);
    if (is_digit(c) || (c == '-' && in->at + 1 < in->end && is_digit(in->at[1]))) return read_number(in);
    return read_word(in);
}

static nl_json_event read_name(nl_json_parser *in)
{
    char c = *in->at;
    if (c == '"' || (c == '\'' && in->options.allows_single_quotes)) {
        in->at++;
        if (!read_string(in, c)) return NL_JSON_ERROR;
    } else if (in->options.allows_unquoted_names && is_name_character(c)) {
        const char *from = in->at;
        while (in->at < in->end && is_name_character(*in->at))
            in->at++;
        in->text = (nl_str){from, (size_t)(in->at - from)};
    } else {
        return fail(in, in->at, "a name in quotes was expected");
    }
    skip_blanks(in);
    if (in->at >= in->end || *in->at != ':') return fail(in, in->at, "a colon was expected");
    in->at++;
    in->expects = EXPECT_VALUE;
    return give(in, NL_JSON_NAME);
}

/* A comma, or the end of the container. */
static nl_json_event read_more(nl_json_parser *in)
{
    if (*in->at != ',') return close_container(in);
    in->at++;
    skip_blanks(in);
    if (in->at >= in->end) return fail(in, in->at, "the text ends too early");
    in->token = in->at;
    if (in_object(in)) return read_name(in);
    return read_value(in);
}

nl_json_event nl_json_next(nl_json_parser *in)
{
    if (NL_UNLIKELY(in->event == NL_JSON_ERROR)) return NL_JSON_ERROR;
    skip_blanks(in);
    in->token = in->at;
    if (in->at >= in->end)
        return in->expects == EXPECT_ROOT ? give(in, NL_JSON_END) : fail(in, in->at, "the text ends too early");
    switch ((expectation)in->expects) {
    case EXPECT_ROOT:
    case EXPECT_VALUE:
        return read_value(in);
    case EXPECT_FIRST_ELEMENT:
        return *in->at == ']' ? close_container(in) : read_value(in);
    case EXPECT_FIRST_NAME:
        return *in->at == '}' ? close_container(in) : read_name(in);
    case EXPECT_NAME:
        return read_name(in);
    case EXPECT_MORE:
        break;
    }
    return read_more(in);
}

bool nl_json_skip(nl_json_parser *in)
{
    if (in->event == NL_JSON_NAME && nl_json_next(in) == NL_JSON_ERROR) return false;
    if (in->event != NL_JSON_OBJECT_START && in->event != NL_JSON_ARRAY_START) return in->event != NL_JSON_ERROR;
    uint32_t outside = in->depth - 1;
    while (in->depth > outside) {
        if (nl_json_next(in) == NL_JSON_ERROR) return false;
    }
    return true;
}

bool nl_json_raw_value(nl_json_parser *in, nl_str *raw)
{
    const char *from = in->token;
    if (!nl_json_skip(in)) return false;
    *raw = (nl_str){from, (size_t)(in->at - from)};
    return true;
}

static void copy_scalar(const nl_json_parser *in, nl_builder *out)
{
    switch ((int)in->event) {
    case NL_JSON_STRING:
        nl_append_json_string(out, in->text);
        break;
    case NL_JSON_NUMBER:
        nl_append(out, in->text);
        break;
    case NL_JSON_TRUE:
        nl_append_c(out, "true");
        break;
    case NL_JSON_FALSE:
        nl_append_c(out, "false");
        break;
    default:
        nl_append_c(out, "null");
        break;
    }
}

bool nl_json_copy_value(nl_json_parser *in, nl_builder *out)
{
    bool is_container = in->event == NL_JSON_OBJECT_START || in->event == NL_JSON_ARRAY_START;
    if (in->event == NL_JSON_ERROR) return false;
    if (!is_container) {
        copy_scalar(in, out);
        return true;
    }
    uint32_t outside = in->depth - 1;
    bool needs_comma = false;
    for (nl_json_event event = in->event; event != NL_JSON_ERROR; event = nl_json_next(in)) {
        bool is_end = event == NL_JSON_OBJECT_END || event == NL_JSON_ARRAY_END;
        if (needs_comma && !is_end) nl_append_char(out, ',');
        needs_comma = event != NL_JSON_NAME && event != NL_JSON_OBJECT_START && event != NL_JSON_ARRAY_START;
        if (event == NL_JSON_OBJECT_START || event == NL_JSON_ARRAY_START) {
            nl_append_char(out, event == NL_JSON_OBJECT_START ? '{' : '[');
        } else if (is_end) {
            nl_append_char(out, event == NL_JSON_OBJECT_END ? '}' : ']');
            if (in->depth == outside) return true;
        } else if (event == NL_JSON_NAME) {
            nl_append_json_string(out, in->text);
            nl_append_char(out, ':');
        } else {
            copy_scalar(in, out);
        }
    }
    return false;
}
