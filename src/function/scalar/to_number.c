/* scalar/to_number.c - to_char, to_number, try_to_number: numbers by patterns such as 'S$99,999.99PR'.
 *
 * A pattern is a list of tokens: digits of a group (from 0: exactly so many, from 9: at most), separators of thousands,
 * the point, and signs. PR stands for two tokens, one at each end.
 */
#include "base/number.h"
#include "function/groups.h"
#include "function/number_text.h"

typedef enum token_kind {
    TOKEN_DIGITS,
    TOKEN_THOUSANDS,
    TOKEN_POINT,
    TOKEN_DOLLAR,
    TOKEN_SIGN,       /* S: plus or minus */
    TOKEN_MINUS,      /* MI: minus or blank */
    TOKEN_OPEN_ANGLE, /* PR */
    TOKEN_CLOSE_ANGLE,
    TOKEN_UNKNOWN
} token_kind;

typedef struct token {
    token_kind kind;
    bool is_exact; /* DIGITS */
    int32_t count;
    char unknown;
} token;

typedef struct digit_pattern {
    nl_str text; /* upper case */
    token *tokens;
    uint32_t count;
    int32_t before, after; /* digits */
    bool is_lenient;
} digit_pattern;

/* --- reading patterns --- */

static void add_token(digit_pattern *pattern, token_kind kind)
{
    pattern->tokens[pattern->count++] = (token){.kind = kind};
}

static void prepend_angle(digit_pattern *pattern)
{
    memmove(pattern->tokens + 1, pattern->tokens, pattern->count * sizeof(token));
    pattern->tokens[0] = (token){.kind = TOKEN_OPEN_ANGLE};
    pattern->count++;
}

static void read_digits(digit_pattern *pattern, size_t *at, bool is_behind)
{
    token digits = {.kind = TOKEN_DIGITS, .is_exact = pattern->text.data[*at] == '0'};
    for (; *at < pattern->text.length && (pattern->text.data[*at] == '0' || pattern->text.data[*at] == '9'); (*at)++) digits.count++;
    *(is_behind ? &pattern->after : &pattern->before) += digits.count;
    pattern->tokens[pattern->count++] = digits;
}

static void read_tokens(digit_pattern *pattern)
{
    bool is_behind = false;
    for (size_t at = 0; at < pattern->text.length;) {
        char c = pattern->text.data[at];
        char next = at + 1 < pattern->text.length ? pattern->text.data[at + 1] : '\0';
        if (c == '0' || c == '9') {
            read_digits(pattern, &at, is_behind);
            continue;
        }
        at++;
        if (c == '.' || c == 'D') {
            is_behind = true;
            add_token(pattern, TOKEN_POINT);
        } else if (c == ',' || c == 'G') {
            add_token(pattern, TOKEN_THOUSANDS);
        } else if (c == '$') {
            add_token(pattern, TOKEN_DOLLAR);
        } else if (c == 'S') {
            add_token(pattern, TOKEN_SIGN);
        } else if (c == 'M' && next == 'I') {
            at++;
            add_token(pattern, TOKEN_MINUS);
        } else if (c == 'P' && next == 'R') {
            at++;
            prepend_angle(pattern);
            add_token(pattern, TOKEN_CLOSE_ANGLE);
        } else {
            add_token(pattern, TOKEN_UNKNOWN);
            pattern->tokens[pattern->count - 1].unknown = c;
        }
    }
}

static uint32_t first_of(const digit_pattern *pattern, token_kind kind)
{
    for (uint32_t i = 0; i < pattern->count; i++)
        if (pattern->tokens[i].kind == kind) return i;
    return UINT32_MAX;
}

static nl_str quoted_pattern(nl_arena *arena, const digit_pattern *pattern)
{
    return nl_arena_f(arena, "'" NL_STR_FMT "'", NL_STR_ARG(pattern->text));
}

static nl_status check_thousands(nl_arena *arena, const digit_pattern *pattern)
{
    bool is_behind = false;
    for (uint32_t i = 0; i < pattern->count; i++) {
        if (pattern->tokens[i].kind != TOKEN_THOUSANDS) continue;
        bool is_between = i > 0 && i + 1 < pattern->count && pattern->tokens[i - 1].kind == TOKEN_DIGITS &&
                          pattern->tokens[i + 1].kind == TOKEN_DIGITS;
        if (!is_between) return NL_RAISE(INVALID_FORMAT__CONT_THOUSANDS_SEPS, NL_P_STR("format", quoted_pattern(arena, pattern)));
    }
    for (uint32_t i = 0; i < pattern->count; i++) {
        is_behind |= pattern->tokens[i].kind == TOKEN_POINT;
        if (is_behind && pattern->tokens[i].kind == TOKEN_THOUSANDS)
            return NL_RAISE(INVALID_FORMAT__THOUSANDS_SEPS_MUST_BEFORE_DEC, NL_P_STR("format", quoted_pattern(arena, pattern)));
    }
    return NULL;
}

static nl_status check_single(nl_arena *arena, const digit_pattern *pattern)
{
    static const struct {
        token_kind kind;
        const char *shown;
    } singles[] = {{TOKEN_POINT, ". or D"}, {TOKEN_SIGN, "S"}, {TOKEN_DOLLAR, "$"}, {TOKEN_MINUS, "MI"}, {TOKEN_CLOSE_ANGLE, "PR"}};
    for (size_t s = 0; s < NL_COUNT(singles); s++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < pattern->count; i++) count += pattern->tokens[i].kind == singles[s].kind;
        if (count > 1)
            return NL_RAISE(INVALID_FORMAT__WRONG_NUM_TOKEN, NL_P("token", singles[s].shown), NL_P_STR("format", quoted_pattern(arena, pattern)));
    }
    return NULL;
}

static nl_str token_shown(nl_arena *arena, const token *shown)
{
    switch (shown->kind) {
    case TOKEN_DIGITS: return NL_STR("digit sequence");
    case TOKEN_THOUSANDS: return NL_STR(", or G");
    case TOKEN_POINT: return NL_STR(". or D");
    case TOKEN_DOLLAR: return NL_STR("$");
    case TOKEN_SIGN: return NL_STR("S");
    case TOKEN_MINUS: return NL_STR("MI");
    case TOKEN_OPEN_ANGLE:
    case TOKEN_CLOSE_ANGLE: return NL_STR("PR");
    case TOKEN_UNKNOWN: break;
    }
    return nl_arena_f(arena, "character '%c''", shown->unknown);
}

/* [PR] [MI | S] [$] digits [. digits] [$] [MI | S | PR] */
static nl_status check_order(nl_arena *arena, const digit_pattern *pattern)
{
#define BIT(kind) (1u << TOKEN_##kind)
    static const uint32_t allowed[] = {BIT(OPEN_ANGLE), BIT(MINUS) | BIT(SIGN), BIT(DOLLAR), BIT(DIGITS), BIT(POINT), BIT(DIGITS), BIT(DOLLAR),
                                       BIT(MINUS) | BIT(SIGN) | BIT(CLOSE_ANGLE)};
#undef BIT
    uint32_t at = 0;
    for (size_t step = 0; step < NL_COUNT(allowed) && at < pattern->count; step++) {
        token_kind kind = pattern->tokens[at].kind;
        if (!(allowed[step] >> kind & 1)) continue;
        at++;
        while (kind == TOKEN_DIGITS && at < pattern->count &&
               (pattern->tokens[at].kind == TOKEN_DIGITS || pattern->tokens[at].kind == TOKEN_THOUSANDS))
            at++;
    }
    if (at == pattern->count) return NULL;
    return NL_RAISE(INVALID_FORMAT__UNEXPECTED_TOKEN, NL_P_STR("token", token_shown(arena, &pattern->tokens[at])),
                    NL_P_STR("format", quoted_pattern(arena, pattern)));
}

static nl_status check_pattern(nl_arena *arena, const digit_pattern *pattern)
{
    nl_str shown = quoted_pattern(arena, pattern);
    uint32_t dollar = first_of(pattern, TOKEN_DOLLAR);
    uint32_t digits = first_of(pattern, TOKEN_DIGITS);
    if (pattern->text.length == 0) return NL_RAISE(INVALID_FORMAT__EMPTY, NL_P_STR("format", shown));
    if (digits == UINT32_MAX) return NL_RAISE(INVALID_FORMAT__WRONG_NUM_DIGIT, NL_P_STR("format", shown));
    if (dollar != UINT32_MAX && dollar > digits) return NL_RAISE(INVALID_FORMAT__CUR_MUST_BEFORE_DIGIT, NL_P_STR("format", shown));
    if (dollar != UINT32_MAX && dollar > first_of(pattern, TOKEN_POINT))
        return NL_RAISE(INVALID_FORMAT__CUR_MUST_BEFORE_DEC, NL_P_STR("format", shown));
    NL_TRY(check_thousands(arena, pattern));
    NL_TRY(check_single(arena, pattern));
    return check_order(arena, pattern);
}

static nl_status compile_pattern(nl_arena *arena, nl_str text, digit_pattern *pattern)
{
    char *upper = NL_NEW_ARRAY(arena, char, text.length + 1);
    for (size_t i = 0; i < text.length; i++)
        upper[i] = text.data[i] >= 'a' && text.data[i] <= 'z' ? (char)(text.data[i] - 'a' + 'A') : text.data[i];
    pattern->text = (nl_str){upper, text.length};
    pattern->tokens = NL_NEW_ARRAY(arena, token, nl_size_add(text.length, 2));
    NL_TRY(nl_arena_check(arena));
    read_tokens(pattern);
    return check_pattern(arena, pattern);
}

/* --- numbers to text --- */

typedef struct char_writer {
    const digit_pattern *pattern;
    nl_number_digits digits;
    bool is_too_long; /* every digit is shown as # */
    int32_t place;    /* of the next digit: below 0 before the point */
    bool is_behind;
    nl_builder *out;
} char_writer;

static char last_character(const nl_builder *out)
{
    return out->length > 0 ? out->data[out->length - 1] : '\0';
}

/* A blank where a digit or separator could be; a sign moves behind it. */
static void add_blank(nl_builder *out)
{
    char last = last_character(out);
    if (last == '+' || last == '-' || last == '<') {
        out->data[out->length - 1] = ' ';
        nl_append_char(out, last);
    } else {
        nl_append_char(out, ' ');
    }
}

static void add_digits(char_writer *writer, const token *digits)
{
    for (int32_t i = 0; i < digits->count; i++, writer->place++) {
        bool is_missing = !writer->is_behind && (writer->digits.count == 0 || -writer->place > writer->digits.exponent);
        if (writer->is_too_long)
            nl_append_char(writer->out, '#');
        else if (is_missing && !digits->is_exact)
            add_blank(writer->out);
        else
            nl_append_char(writer->out, nl_number_digit(&writer->digits, writer->place));
    }
}

/* A point without digits behind it gives its place up: it becomes a blank behind what follows. */
static void add_sign(nl_builder *out, const char *sign)
{
    bool has_lone_point = last_character(out) == '.';
    if (has_lone_point) out->length--;
    nl_append_c(out, sign);
    if (has_lone_point) nl_append_char(out, ' ');
}

static void add_token_text(char_writer *writer, const token *shown)
{
    nl_builder *out = writer->out;
    bool is_negative = writer->digits.is_negative && writer->digits.count > 0;
    char last = last_character(out);
    switch (shown->kind) {
    case TOKEN_DIGITS:
        add_digits(writer, shown);
        break;
    case TOKEN_THOUSANDS:
        if (last >= '0' && last <= '9')
            nl_append_char(out, ',');
        else
            add_blank(out);
        break;
    case TOKEN_POINT:
        if (last == ' ') out->data[out->length - 1] = '0';
        nl_append_char(out, '.');
        writer->is_behind = true;
        writer->place = 0;
        break;
    case TOKEN_DOLLAR:
        nl_append_char(out, '$');
        break;
    case TOKEN_SIGN:
        add_sign(out, is_negative ? "-" : "+");
        break;
    case TOKEN_MINUS:
        nl_append_char(out, is_negative ? '-' : ' ');
        break;
    case TOKEN_OPEN_ANGLE:
        if (is_negative) nl_append_char(out, '<');
        break;
    case TOKEN_CLOSE_ANGLE:
        add_sign(out, is_negative ? ">" : "  ");
        break;
    case TOKEN_UNKNOWN:
        break;
    }
}

static nl_status to_char_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const digit_pattern *pattern = context->function->state;
    const nl_type *type = context->function->argument_types[0];
    const nl_reader *in = &context->readers[0];
    char_writer writer = {.pattern = pattern, .place = -pattern->before, .out = &context->text};
    nl_number_digits_of_decimal(nl_physical_i128(type->physical, in->values, nl_reader_index(in, row)), type->scale, &writer.digits);
    writer.is_too_long = writer.digits.exponent > pattern->before || writer.digits.count - writer.digits.exponent > pattern->after;
    for (uint32_t i = 0; i < pattern->count; i++) add_token_text(&writer, &pattern->tokens[i]);
    add_sign(&context->text, "");
    return NULL;
}
NL_TEXT_KERNEL(to_char_kernel, to_char_row)

/* --- text to numbers --- */

typedef struct number_reader {
    const digit_pattern *pattern;
    nl_str text;
    size_t at;
    nl_int128 value;
    int32_t before, after; /* digits read */
    bool is_behind;   /* the text's point was read */
    bool has_passed;  /* the pattern's point was */
    bool is_negative, is_open;
} number_reader;

static bool take(number_reader *in, char c)
{
    if (in->at >= in->text.length || in->text.data[in->at] != c) return false;
    in->at++;
    return true;
}

static bool is_group_character(char c)
{
    return (c >= '0' && c <= '9') || c == ',' || c == ' ' || (c >= '\t' && c <= '\r');
}

/* Tokens first … *next are groups of digits and their separators. Groups are compared from the right: the last of the
 * text with the last of the pattern. Blanks do not count. */
static bool read_groups(number_reader *in, uint32_t first, uint32_t *next)
{
    uint32_t stop = first;
    while (stop < in->pattern->count && (in->pattern->tokens[stop].kind == TOKEN_DIGITS || in->pattern->tokens[stop].kind == TOKEN_THOUSANDS))
        stop++;
    *next = stop;
    size_t start = in->at;
    int32_t read = 0;
    for (; in->at < in->text.length && is_group_character(in->text.data[in->at]); in->at++) {
        char c = in->text.data[in->at];
        if (c < '0' || c > '9') continue;
        if (++read > NL_DECIMAL_PRECISION_MAX) return false;
        in->value = in->value * 10 + (c - '0');
    }
    *(in->is_behind ? &in->after : &in->before) += read;
    if (in->is_behind) return read <= in->pattern->tokens[first].count;
    if (in->has_passed && read == 0) return true; /* "1" for '0.00' */
    size_t at = in->at;
    bool has_more = true; /* groups of the text */
    for (uint32_t i = stop; i-- > first;) {
        const token *group = &in->pattern->tokens[i];
        if (group->kind == TOKEN_THOUSANDS) continue;
        int32_t count = 0;
        bool is_present = has_more;
        while (at > start && in->text.data[at - 1] != ',') {
            char c = in->text.data[--at];
            count += c >= '0' && c <= '9';
        }
        has_more = at > start;
        if (has_more) at--;
        if (count > group->count || (group->is_exact && (!is_present || count != group->count))) return false;
    }
    return !has_more;
}

static bool read_number(number_reader *in)
{
    for (uint32_t i = 0; i < in->pattern->count;) {
        switch (in->pattern->tokens[i].kind) {
        case TOKEN_DIGITS:
            if (!read_groups(in, i, &i)) return false;
            continue;
        case TOKEN_POINT:
            in->has_passed = true;
            in->is_behind = take(in, '.');
            break;
        case TOKEN_DOLLAR:
            if (!take(in, '$')) return false;
            break;
        case TOKEN_SIGN:
            if (!take(in, '+')) in->is_negative ^= take(in, '-');
            break;
        case TOKEN_MINUS:
            in->is_negative ^= take(in, '-');
            break;
        case TOKEN_OPEN_ANGLE:
            in->is_open = take(in, '<');
            break;
        case TOKEN_CLOSE_ANGLE:
            if (take(in, '>') != in->is_open) return false;
            in->is_negative |= in->is_open;
            break;
        case TOKEN_THOUSANDS:
        case TOKEN_UNKNOWN:
            break;
        }
        i++;
    }
    return in->at == in->text.length;
}

static nl_status raise_mismatch(const digit_pattern *pattern, nl_str text)
{
    return NL_RAISE(INVALID_FORMAT__MISMATCH_INPUT, NL_P("inputType", "\"STRING\""), NL_P_STR("input", text), NL_P_STR("format", pattern->text));
}

static nl_status to_number_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    const digit_pattern *pattern = context->function->state;
    const nl_type *type = context->function->result_type;
    number_reader in = {.pattern = pattern, .text = nl_reader_str(&context->readers[0], row)};
    if (!read_number(&in)) {
        *is_null = pattern->is_lenient;
        return pattern->is_lenient ? NULL : raise_mismatch(pattern, in.text);
    }
    if (in.before + in.after == 0 && !in.is_behind) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The number has no digits.");
    nl_int128 value = 0;
    bool fits = nl_decimal_rescale(in.value, in.after, pattern->after, NL_ROUND_HALF_UP, &value) && nl_decimal_fits(value, type->precision);
    if (!fits) return raise_mismatch(pattern, in.text);
    nl_physical_set_i128(type->physical, context->output.values, row, in.is_negative ? -value : value);
    return NULL;
}
NL_VALUE_KERNEL(to_number_kernel, to_number_row)

static nl_status bind_pattern(nl_bind *bind, nl_bound_function *bound)
{
    digit_pattern *pattern = NL_NEW(bind->arena, digit_pattern);
    const nl_value *text = bind->constants[1];
    bool is_number = strcmp(bind->row->name, "to_char") != 0;
    pattern->is_lenient = nl_str_starts(nl_str_from(bind->row->name), NL_STR("try_"));
    if (text == NULL) return nl_bind_not_foldable(bind, 1, "`attributereference`");
    bound->state = pattern;
    if (text->is_null) {
        if (is_number) bound->result_type = nl_type_decimal(38, 18);
        return NULL;
    }
    NL_TRY(compile_pattern(bind->arena, text->text, pattern));
    if (!is_number) return NULL;
    int32_t precision = pattern->before + pattern->after;
    if (precision > NL_DECIMAL_PRECISION_MAX)
        return NL_RAISE(DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION, NL_P_INT("precision", precision), NL_P_INT("maxPrecision", NL_DECIMAL_PRECISION_MAX));
    bound->result_type = nl_type_decimal(precision, pattern->after);
    return NULL;
}

#define ROW .kind = NL_FUNCTION_SCALAR, .group = "string", .nulls = NL_NULL_IN_NULL_OUT, .can_fail = true, .bind = bind_pattern

static const nl_function_row rows[] = {
    {.name = "to_char", .aliases = "to_varchar", ROW, .keeps_non_null = true, .signature = "(decimal, string) -> string", .kernel = to_char_kernel, .since = "3.4.0",
     .doc = "A number by a pattern of 0, 9, comma, point, $, S, MI and PR; a date or time by a date pattern; bytes as 'base64', 'hex' or 'utf-8'.",
     .examples = {{"to_char(454, '999')", "454"}, {"to_char(454.00, '000D00')", "454.00"}, {"to_char(12454, '99G999')", "12,454"}, {"to_char(-12454.8, '99G999D9S')", "12,454.8-"}}},
    {.name = "to_number", ROW, .signature = "(string, string) -> ?", .kernel = to_number_kernel, .since = "3.3.0",
     .doc = "The decimal number a text stands for by a pattern of 0, 9, comma, point, $, S, MI and PR.",
     .examples = {{"to_number('454', '999')", "454"}, {"to_number('$78.12', '$99.99')", "78.12"}, {"to_number('12,454.8-', '99,999.9S')", "-12454.8"}}},
    {.name = "try_to_number", ROW, .signature = "(string, string) -> ?", .kernel = to_number_kernel, .since = "3.3.0",
     .doc = "As to_number, but NULL for a text that does not match.",
     .examples = {{"try_to_number('454', '999')", "454"}, {"try_to_number('12', '$99')", "NULL"}}},
};

NL_DEFINE_FUNCTION_GROUP(to_number, rows);
