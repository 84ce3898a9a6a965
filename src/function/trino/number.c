/* trino/number.c - numbers as Trino has them: rounding keeps the type, logarithms of what has none are NaN. Source: Trino's documentation,
 * "Mathematical functions and operators"; its answers in tests/trino/operators.test.
 */
#include <math.h>

#include "base/decimal.h"
#include "function/groups.h"

/* --- sign, ceil, floor, round, truncate --- */

typedef enum rounding { ROUND_SIGN, ROUND_CEIL, ROUND_FLOOR, ROUND_HALF, ROUND_CUT } rounding;

typedef struct round_state {
    rounding how;
    bool has_digits;
} round_state;

static nl_int128 power_of_ten(int64_t digits)
{
    nl_int128 power = 1;
    while (digits-- > 0) power *= 10;
    return power;
}

/* value / unit, in whole units. */
static nl_int128 round_units(nl_int128 value, nl_int128 unit, rounding how)
{
    const nl_int128 quotient = value / unit, rest = value % unit;
    if (how == ROUND_CEIL) return quotient + (rest > 0);
    if (how == ROUND_FLOOR) return quotient - (rest < 0);
    if (how == ROUND_CUT) return quotient;
    const nl_int128 size = rest < 0 ? -rest : rest;
    return size >= unit - size ? quotient + (value < 0 ? -1 : 1) : quotient;
}

static nl_int128 round_exact(const round_state *state, const nl_type *type, nl_int128 value, int64_t digits)
{
    if (state->how == ROUND_SIGN) return (value > 0) - (value < 0);
    const int64_t lost = (int64_t)type->scale - (state->has_digits ? digits : 0);
    if (lost <= 0) return value;
    if (lost > 38) return 0;
    const nl_int128 unit = power_of_ten(lost), units = round_units(value, unit, state->how);
    return state->has_digits ? units * unit : units;
}

static double round_real(const round_state *state, double value, int64_t digits)
{
    if (state->how == ROUND_SIGN) return value > 0 ? 1 : value < 0 ? -1 : value;
    if (state->how == ROUND_CEIL) return ceil(value);
    if (state->how == ROUND_FLOOR) return floor(value);
    if (!isfinite(value)) return value;
    const double factor = pow(10, (double)digits), size = fabs(value) * factor;
    if (!isfinite(size)) return value;
    return copysign((state->how == ROUND_CUT ? floor(size) : floor(size + 0.5)) / factor, value);
}

static nl_status round_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const round_state *state = context->function->state;
    const nl_type *type = context->function->argument_types[0], *result = context->function->result_type;
    const nl_reader *reader = &context->readers[0];
    const uint32_t at = nl_reader_index(reader, row);
    const int64_t digits = state->has_digits ? nl_reader_i64(&context->readers[1], row) : 0;
    if (type->physical == NL_PHYS_F64) {
        ((double *)context->output.values)[row] = round_real(state, ((const double *)reader->values)[at], digits);
    } else if (type->physical == NL_PHYS_F32) {
        ((float *)context->output.values)[row] = (float)round_real(state, (double)((const float *)reader->values)[at], digits);
    } else {
        const nl_int128 made = round_exact(state, type, nl_physical_i128(type->physical, reader->values, at), digits);
        if (result->id == NL_TYPE_DECIMAL && !nl_decimal_fits(made, result->precision)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "decimal overflow");
        if (result->id != NL_TYPE_DECIMAL && nl_physical_size(result->physical) < 8 && (made > INT32_MAX || made < INT32_MIN)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "integer overflow");
        nl_physical_set_i128(result->physical, context->output.values, row, made);
    }
    return NULL;
}
NL_VALUE_KERNEL(round_kernel, round_row)

static nl_status bind_round(nl_bind *bind, nl_bound_function *bound)
{
    static const struct {
        const char *name;
        rounding how;
    } names[] = {{"trino_sign", ROUND_SIGN}, {"trino_ceil", ROUND_CEIL}, {"trino_floor", ROUND_FLOOR}, {"trino_round", ROUND_HALF}, {"trino_truncate", ROUND_CUT}};
    const nl_type *type = bind->argument_types[0];
    round_state *state = NL_NEW(bind->arena, round_state);
    if (type->id == NL_TYPE_NULL) type = bind->argument_types[0] = nl_type_int();
    state->has_digits = bind->argument_count > 1;
    for (size_t i = 0; i < NL_COUNT(names); i++)
        if (strcmp(bind->row->name, names[i].name) == 0) state->how = names[i].how;
    bound->state = state;
    bound->result_type = type;
    if (type->id != NL_TYPE_DECIMAL) return NULL;
    const int whole = type->precision - type->scale, carry = NL_MIN((int)type->scale, 1);
    if (state->how == ROUND_SIGN) bound->result_type = nl_type_decimal(1, 0);
    else if (state->has_digits) bound->result_type = state->how == ROUND_CUT ? type : nl_type_decimal(NL_MIN(38, type->precision + 1), type->scale);
    else bound->result_type = nl_type_decimal(state->how == ROUND_CUT ? NL_MAX(whole, 1) : NL_MIN(38, whole + carry), 0);
    return NULL;
}

/* --- logarithms and what a double is --- */

static inline bool finite_number(double value)
{
    return isfinite(value) != 0;
}
static inline bool infinite_number(double value)
{
    return isinf(value) != 0;
}
static inline bool not_a_number(double value)
{
    return value != value;
}
NL_UNARY_KERNEL(ln_kernel, double, double, log)
NL_UNARY_KERNEL(log2_kernel, double, double, log2)
NL_UNARY_KERNEL(log10_kernel, double, double, log10)
NL_UNARY_KERNEL(finite_kernel, double, uint8_t, finite_number)
NL_UNARY_KERNEL(infinite_kernel, double, uint8_t, infinite_number)
NL_UNARY_KERNEL(nan_kernel, double, uint8_t, not_a_number)

/* --- bytes --- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static nl_status from_hex_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_str text = nl_reader_str(&context->readers[0], row);
    if (text.length % 2) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Expected an even number of hexadecimal digits");
    for (size_t i = 0; i < text.length; i += 2) {
        const int high = hex_digit(text.data[i]), low = hex_digit(text.data[i + 1]);
        if (high < 0 || low < 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Not a hexadecimal digit");
        nl_append_char(&context->text, (char)(high * 16 + low));
    }
    return NULL;
}
NL_TEXT_KERNEL(from_hex_kernel, from_hex_row)

#define NUMBER .kind = NL_FUNCTION_SCALAR, .group = "math", .since = "0.1.0", .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .is_internal = true

static const nl_function_row rows[] = {
    {.name = "trino_sign", NUMBER, .signature = "(numeric) -> ?", .bind = bind_round, .kernel = round_kernel, .doc = "-1, 0 or 1, of the argument's type."},
    {.name = "trino_ceil", NUMBER, .signature = "(numeric) -> ?", .bind = bind_round, .kernel = round_kernel, .doc = "The next whole number up."},
    {.name = "trino_floor", NUMBER, .signature = "(numeric) -> ?", .bind = bind_round, .kernel = round_kernel, .doc = "The next whole number down."},
    {.name = "trino_round", NUMBER, .can_fail = true, .signature = "(numeric [, bigint]) -> ?", .bind = bind_round, .kernel = round_kernel, .doc = "Halves go away from zero; the scale stays."},
    {.name = "trino_truncate", NUMBER, .signature = "(numeric [, bigint]) -> ?", .bind = bind_round, .kernel = round_kernel, .doc = "Digits are dropped."},
    {.name = "trino_ln", NUMBER, .signature = "(double) -> double", .kernel = ln_kernel, .doc = "NaN below zero."},
    {.name = "trino_log2", NUMBER, .signature = "(double) -> double", .kernel = log2_kernel, .doc = "NaN below zero."},
    {.name = "trino_log10", NUMBER, .signature = "(double) -> double", .kernel = log10_kernel, .doc = "NaN below zero."},
    {.name = "trino_is_nan", NUMBER, .signature = "(double) -> boolean", .kernel = nan_kernel, .doc = "NULL for NULL."},
    {.name = "trino_is_finite", NUMBER, .signature = "(double) -> boolean", .kernel = finite_kernel, .doc = "Neither infinite nor NaN."},
    {.name = "trino_is_infinite", NUMBER, .signature = "(double) -> boolean", .kernel = infinite_kernel, .doc = "Infinite."},
    {.name = "trino_from_hex", NUMBER, .can_fail = true, .signature = "(string) -> binary", .kernel = from_hex_kernel, .doc = "The bytes, or an error."},
};

NL_DEFINE_FUNCTION_GROUP(trino_number, rows);
