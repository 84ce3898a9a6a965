/* scalar/format_number.c - format_number: numbers by patterns of Java's DecimalFormat in the US locale, rounded half even. */
#include <math.h>

#include "function/groups.h"
#include "function/number_text.h"

typedef struct affixes {
    nl_str prefix, suffix;
} affixes;

typedef struct number_pattern {
    affixes positive, negative;
    int32_t integer_min, integer_max;
    int32_t fraction_min, fraction_max;
    int32_t group; /* 0: none */
    int32_t exponent_min; /* digits; 0: no exponent */
    int32_t shift;        /* 2 for per cent, 3 for per mille */
    bool always_point;
} number_pattern;

#define FRACTION_MAX 340 /* of a double in Java */
#define PLACES_MAX   (1 << 20)

/* --- patterns --- */

typedef struct pattern_reader {
    nl_arena *arena;
    nl_str text;
    size_t at;
    nl_builder affix;
    int32_t left, zeros, right; /* '#' in front, '0', '#' behind */
    int32_t group, point;       /* -1: none */
    int32_t exponent;
    int32_t shift;
} pattern_reader;

static nl_status raise_pattern(const char *problem, nl_str pattern)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s in pattern \"" NL_STR_FMT "\"", problem, NL_STR_ARG(pattern));
}

static nl_status raise_special(char c, nl_str pattern)
{
    char problem[] = "Unquoted special character 'x'";
    problem[sizeof problem - 3] = c;
    return raise_pattern(problem, pattern);
}

static nl_status raise_malformed(nl_str pattern)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Malformed pattern \"" NL_STR_FMT "\"", NL_STR_ARG(pattern));
}

static bool is_number_character(char c)
{
    return c == '#' || c == '0' || c == ',' || c == '.';
}

/* Text up to the number, the separator or the end. */
static nl_status read_affix(pattern_reader *in, bool is_suffix, nl_str *affix)
{
    bool is_quoted = false;
    nl_builder_clear(&in->affix);
    for (; in->at < in->text.length; in->at++) {
        char c = in->text.data[in->at];
        if (c == '\'') {
            bool is_double = in->at + 1 < in->text.length && in->text.data[in->at + 1] == '\'';
            if (is_double) {
                nl_append_char(&in->affix, '\'');
                in->at++;
            } else {
                is_quoted = !is_quoted;
            }
            continue;
        }
        if (!is_quoted) {
            if (is_number_character(c)) {
                if (!is_suffix) break;
                return raise_special(c, in->text);
            }
            if (c == ';') break;
            if (c == '%') in->shift = 2;
            nl_str rest = nl_str_slice(in->text, in->at, in->text.length);
            if (nl_str_starts(rest, NL_STR("\xE2\x80\xB0"))) in->shift = 3;
        }
        nl_append_char(&in->affix, c);
    }
    if (is_quoted) return raise_malformed(in->text);
    *affix = nl_arena_str(in->arena, nl_builder_str(&in->affix));
    return NULL;
}

static nl_status read_exponent(pattern_reader *in)
{
    in->at++;
    while (in->at < in->text.length && in->text.data[in->at] == '0') {
        in->exponent++;
        in->at++;
    }
    if (in->exponent > 0 && in->left + in->zeros > 0) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Malformed exponential pattern \"" NL_STR_FMT "\"", NL_STR_ARG(in->text));
}

static nl_status read_number(pattern_reader *in)
{
    for (; in->at < in->text.length; in->at++) {
        char c = in->text.data[in->at];
        if (c == '#') {
            if (in->zeros > 0)
                in->right++;
            else
                in->left++;
            if (in->group >= 0 && in->point < 0) in->group++;
        } else if (c == '0') {
            if (in->right > 0) return raise_pattern("Unexpected '0'", in->text);
            in->zeros++;
            if (in->group >= 0 && in->point < 0) in->group++;
        } else if (c == ',') {
            in->group = 0;
        } else if (c == '.') {
            if (in->point >= 0) return raise_pattern("Multiple decimal separators", in->text);
            in->point = in->left + in->zeros + in->right;
        } else {
            return c == 'E' ? read_exponent(in) : NULL;
        }
    }
    return NULL;
}

static nl_status read_part(pattern_reader *in, affixes *affix)
{
    in->left = in->zeros = in->right = in->exponent = 0;
    in->group = in->point = -1;
    NL_TRY(read_affix(in, false, &affix->prefix));
    NL_TRY(read_number(in));
    NL_TRY(read_affix(in, true, &affix->suffix));
    if (in->zeros == 0 && in->left > 0 && in->point >= 0) { /* "###.##" and "#.##" are "##0.##" */
        int32_t ones = in->point == 0 ? 1 : in->point;
        in->right = in->left - ones;
        in->left = ones - 1;
        in->zeros = 1;
    }
    bool is_bad = (in->point < 0 && in->right > 0) || (in->point >= 0 && (in->point < in->left || in->point > in->left + in->zeros)) ||
                  in->group == 0;
    return is_bad ? raise_malformed(in->text) : NULL;
}

static nl_status read_pattern(pattern_reader *in, number_pattern *out)
{
    NL_TRY(read_part(in, &out->positive));
    int32_t total = in->left + in->zeros + in->right;
    out->integer_min = (in->point >= 0 ? in->point : total) - in->left;
    out->integer_max = in->exponent > 0 ? in->left + out->integer_min : INT32_MAX;
    out->fraction_max = in->point >= 0 ? total - in->point : 0;
    out->fraction_min = in->point >= 0 ? in->left + in->zeros - in->point : 0;
    out->group = NL_MAX(in->group, 0);
    out->always_point = in->point == 0 || in->point == total;
    out->exponent_min = in->exponent;
    out->shift = in->shift;
    out->negative = (affixes){nl_arena_f(in->arena, "-" NL_STR_FMT, NL_STR_ARG(out->positive.prefix)), out->positive.suffix};
    if (in->at >= in->text.length) return NULL;
    affixes negative;
    in->at++; /* the semicolon */
    NL_TRY(read_part(in, &negative));
    if (in->at < in->text.length) return raise_special(';', in->text);
    bool is_same = nl_str_equal(negative.prefix, out->positive.prefix) && nl_str_equal(negative.suffix, out->positive.suffix);
    if (!is_same) out->negative = negative;
    return NULL;
}

static nl_status compile_pattern(nl_arena *arena, nl_str text, number_pattern *out)
{
    *out = (number_pattern){.integer_min = 1, .integer_max = INT32_MAX, .group = 3, .negative = {NL_STR("-"), NL_STR("")}};
    if (text.length == 0) return NULL; /* "#,##0" */
    pattern_reader in = {.arena = arena, .text = text};
    nl_builder_init(&in.affix, NL_VALUE_BYTES_MAX);
    nl_status status = read_pattern(&in, out);
    nl_builder_fini(&in.affix);
    return status;
}

/* --- numbers --- */

static void append_plain(const number_pattern *pattern, const nl_number_digits *digits, nl_builder *out)
{
    int32_t integer_count = digits->count > 0 ? NL_MAX(digits->exponent, 0) : 0;
    int32_t shown = NL_MAX(integer_count, pattern->integer_min);
    int32_t fraction_count = NL_MAX(digits->count - digits->exponent, 0);
    fraction_count = NL_MAX(fraction_count, pattern->fraction_min);
    if (shown == 0 && fraction_count == 0) shown = 1;
    for (int32_t i = shown; i > 0; i--) {
        nl_append_char(out, nl_number_digit(digits, -i));
        if (pattern->group > 0 && i > 1 && (i - 1) % pattern->group == 0) nl_append_char(out, ',');
    }
    if (fraction_count > 0 || pattern->always_point) nl_append_char(out, '.');
    for (int32_t i = 0; i < fraction_count; i++) nl_append_char(out, nl_number_digit(digits, i));
}

/* As java.text.DecimalFormat lays out a mantissa and its exponent. */
static void append_scientific(const number_pattern *pattern, const nl_number_digits *digits, nl_builder *out)
{
    int32_t exponent = digits->exponent;
    int32_t repeat = pattern->integer_max;
    int32_t integer_min = pattern->integer_min;
    if (repeat > 1 && repeat > integer_min) { /* exponents are multiples of it */
        exponent = (exponent >= 1 ? (exponent - 1) / repeat : (exponent - repeat) / repeat) * repeat;
        integer_min = 1;
    } else {
        exponent -= integer_min;
    }
    int32_t integer_count = digits->count == 0 ? integer_min : digits->exponent - exponent;
    int32_t total = NL_MAX(digits->count, NL_MAX(pattern->integer_min + pattern->fraction_min, integer_count));
    for (int32_t i = 0; i < total; i++) {
        if (i == integer_count) nl_append_char(out, '.');
        nl_append_char(out, i < digits->count ? digits->text[i] : '0');
    }
    if (pattern->always_point && total == integer_count) nl_append_char(out, '.');
    if (digits->count == 0) exponent = 0;
    nl_append_f(out, "E%s%0*d", exponent < 0 ? "-" : "", (int)pattern->exponent_min, exponent < 0 ? -exponent : exponent);
}

static void append_number(const number_pattern *pattern, nl_number_digits *digits, nl_builder *out)
{
    const affixes *around = digits->is_negative ? &pattern->negative : &pattern->positive;
    if (pattern->shift > 0) nl_number_digits_shift(digits, pattern->shift);
    int32_t places = pattern->fraction_max;
    if (pattern->exponent_min > 0) places += pattern->integer_max - digits->exponent; /* significant digits */
    nl_number_digits_round(digits, places, NL_ROUND_HALF_EVEN);
    nl_append(out, around->prefix);
    if (pattern->exponent_min > 0)
        append_scientific(pattern, digits, out);
    else
        append_plain(pattern, digits, out);
    nl_append(out, around->suffix);
}

static void append_special(const number_pattern *pattern, double value, nl_builder *out)
{
    if (isnan(value)) {
        nl_append_c(out, "NaN");
        return;
    }
    const affixes *around = value < 0 ? &pattern->negative : &pattern->positive;
    nl_append(out, around->prefix);
    nl_append_c(out, "\xE2\x88\x9E");
    nl_append(out, around->suffix);
}

static void append_value(const number_pattern *pattern, const nl_vector *vector, const nl_reader *reader, uint32_t row, nl_builder *out)
{
    nl_number_digits digits;
    uint32_t index = nl_reader_index(reader, row);
    const nl_type *type = vector->type;
    if (type->physical == NL_PHYS_F32 || type->physical == NL_PHYS_F64) {
        double value = nl_physical_f64(type->physical, reader->values, index);
        if (!isfinite(value)) {
            append_special(pattern, value, out);
            return;
        }
        nl_number_digits_of_double(value, &digits);
    } else {
        nl_number_digits_of_decimal(nl_physical_i128(type->physical, reader->values, index), type->id == NL_TYPE_DECIMAL ? type->scale : 0, &digits);
    }
    append_number(pattern, &digits, out);
}

/* --- the function --- */

typedef struct format_call {
    nl_arena *arena; /* of the last pattern */
    nl_str text;
    number_pattern pattern;
} format_call;

static nl_status change_pattern(format_call *call, nl_str text)
{
    if (call->arena != NULL && nl_str_equal(call->text, text)) return NULL;
    nl_arena_free(call->arena);
    call->arena = nl_arena_new(NULL);
    call->text = nl_arena_str(call->arena, text);
    return compile_pattern(call->arena, call->text, &call->pattern);
}

static nl_status format_kernel(NL_KERNEL_PARAMETERS)
{
    bool has_text = args[1].type->id == NL_TYPE_STRING;
    format_call call = {0};
    number_pattern by_places = {.integer_min = 1, .integer_max = INT32_MAX, .group = 3, .negative = {NL_STR("-"), NL_STR("")}};
    nl_output output;
    nl_reader numbers, formats;
    nl_builder text;
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader_init(&numbers, &args[0]);
    nl_reader_init(&formats, &args[1]);
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    bool is_real = args[0].type->physical == NL_PHYS_F64 || args[0].type->physical == NL_PHYS_F32;
    NL_EACH_SELECTED(row)
    {
        const number_pattern *pattern = &by_places;
        if (has_text) {
            NL_GO(change_pattern(&call, nl_reader_str(&formats, row)));
            pattern = &call.pattern;
        } else {
            int32_t places = nl_reader_i32(&formats, row);
            if (places < 0) {
                NL_GO(nl_output_null(&output, row));
                continue;
            }
            if (places > PLACES_MAX) {
                status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "format_number gives at most %d decimal places.", PLACES_MAX);
                goto done;
            }
            by_places.fraction_min = by_places.fraction_max = is_real ? NL_MIN(places, FRACTION_MAX) : places;
        }
        nl_builder_clear(&text);
        append_value(pattern, &args[0], &numbers, row, &text);
        NL_GO(nl_output_builder(&output, row, &text));
    }
done:
    nl_builder_fini(&text);
    nl_arena_free(call.arena);
    return status;
}

static nl_status bind_format(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    const nl_type *type = bind->argument_types[0];
    if (type->id == NL_TYPE_NULL) bind->argument_types[0] = nl_type_double();
    if (type->id == NL_TYPE_NULL || nl_type_is_numeric(type)) return NULL;
    return nl_bind_unexpected_type(bind, 0, "\"NUMERIC\""); /* nothing is cast for it */
}

static const nl_function_row rows[] = {
    {.name = "format_number", .kind = NL_FUNCTION_SCALAR, .group = "string", .nulls = NL_NULL_IN_NULL_OUT, .can_fail = true,
     .signature = "(any, int) -> string | (any, string) -> string", .bind = bind_format, .kernel = format_kernel, .since = "1.5.0",
     .doc = "A number with thousands parted by commas and so many decimal places, or by a pattern such as '#,##0.00'.",
     .examples = {{"format_number(12332.123456, 4)", "12,332.1235"}, {"format_number(12332.123456, '##################.###')", "12332.123"}}},
};

NL_DEFINE_FUNCTION_GROUP(format_number, rows);
