/* scalar/arithmetic_decimal.c - exact decimal arithmetic.
 *
 * When the result type was not cut at 38 digits, + - * cannot overflow: one loop on int64 (operands and result of up
 * to 18 digits) or on 128 bits. Everything else goes through base/decimal.h, which is exact to 256 bits.
 */
#include "base/wide.h"
#include "function/scalar/arithmetic.h"

/* Both operands brought to the result's scale: factors are powers of ten. */
static nl_status narrow_kernel(NL_KERNEL_PARAMETERS)
{
    const nl_arith *arith = function->state;
    int scale = function->result_type->scale;
    bool is_product = arith->op == NL_ARITH_MULTIPLY;
    int64_t a_factor = is_product ? 1 : (int64_t)nl_decimal_powers[scale - arith->a->scale];
    int64_t b_factor = is_product ? 1 : (int64_t)nl_decimal_powers[scale - arith->b->scale];
    if (arith->op == NL_ARITH_SUBTRACT) b_factor = -b_factor;
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader a, b;
    nl_reader_init(&a, &args[0]);
    nl_reader_init(&b, &args[1]);
    const int64_t *left = a.values;
    const int64_t *right = b.values;
    int64_t *values = output.values;
    bool is_flat = selection.rows == NULL && a.indices == NULL && b.indices == NULL && a.row_mask != 0 && b.row_mask != 0;
    /* Null and dead slots may hold anything: unsigned arithmetic wraps instead of being undefined. */
    if (is_flat && is_product) {
        for (uint32_t row = 0; row < length; row++) values[row] = (int64_t)((uint64_t)left[row] * (uint64_t)right[row]);
    } else if (is_flat) {
        for (uint32_t row = 0; row < length; row++)
            values[row] = (int64_t)((uint64_t)left[row] * (uint64_t)a_factor + (uint64_t)right[row] * (uint64_t)b_factor);
    } else {
        NL_EACH_SELECTED(row)
        {
            uint64_t x = (uint64_t)left[nl_reader_index(&a, row)];
            uint64_t y = (uint64_t)right[nl_reader_index(&b, row)];
            values[row] = (int64_t)(is_product ? x * y : x * (uint64_t)a_factor + y * (uint64_t)b_factor);
        }
    }
    return NULL;
}

static nl_status exact_kernel(NL_KERNEL_PARAMETERS)
{
    const nl_arith *arith = function->state;
    int scale = function->result_type->scale;
    bool is_product = arith->op == NL_ARITH_MULTIPLY;
    nl_int128 a_factor = is_product ? 1 : nl_decimal_powers[scale - arith->a->scale];
    nl_int128 b_factor = is_product ? 1 : nl_decimal_powers[scale - arith->b->scale];
    if (arith->op == NL_ARITH_SUBTRACT) b_factor = -b_factor;
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader a, b;
    nl_reader_init(&a, &args[0]);
    nl_reader_init(&b, &args[1]);
    nl_physical a_physical = arith->a->physical;
    nl_physical b_physical = arith->b->physical;
    nl_physical physical = function->result_type->physical;
    if (is_product && a_physical == NL_PHYS_I64 && b_physical == NL_PHYS_I64 && physical == NL_PHYS_I128) {
        NL_EACH_SELECTED(row)
        ((nl_int128 *)output.values)[row] =
            (nl_int128)((const int64_t *)a.values)[nl_reader_index(&a, row)] * ((const int64_t *)b.values)[nl_reader_index(&b, row)];
        return NULL;
    }
    NL_EACH_SELECTED(row)
    {
        nl_uint128 x = (nl_uint128)nl_physical_i128(a_physical, a.values, nl_reader_index(&a, row));
        nl_uint128 y = (nl_uint128)nl_physical_i128(b_physical, b.values, nl_reader_index(&b, row));
        nl_uint128 result = is_product ? x * y : x * (nl_uint128)a_factor + y * (nl_uint128)b_factor;
        nl_physical_set_i128(physical, output.values, row, (nl_int128)result);
    }
    return NULL;
}

static bool compute(const nl_arith *arith, nl_int128 a, nl_int128 b, int precision, int scale, nl_int128 *out)
{
    int a_scale = arith->a->scale;
    int b_scale = arith->b->scale;
    switch (arith->op) {
    case NL_ARITH_ADD:
        return nl_decimal_add(a, a_scale, b, b_scale, precision, scale, out);
    case NL_ARITH_SUBTRACT:
        return nl_decimal_subtract(a, a_scale, b, b_scale, precision, scale, out);
    case NL_ARITH_MULTIPLY:
        return nl_decimal_multiply(a, a_scale, b, b_scale, precision, scale, out);
    case NL_ARITH_DIVIDE:
        return nl_decimal_divide(a, a_scale, b, b_scale, precision, scale, out);
    case NL_ARITH_MOD:
        return nl_decimal_remainder(a, a_scale, b, b_scale, precision, scale, out);
    case NL_ARITH_PMOD: {
        /* Spark: r = a % n; r < 0 ? (r + n) % n : r */
        int common = NL_MAX(a_scale, b_scale);
        nl_int128 rest = 0;
        if (!nl_decimal_remainder(a, a_scale, b, b_scale, 38, common, &rest)) return false;
        if (rest < 0) {
            nl_int128 sum = 0;
            if (!nl_decimal_add(rest, common, b, b_scale, 38, common, &sum)) return false;
            if (!nl_decimal_remainder(sum, common, b, b_scale, 38, common, &rest)) return false;
        }
        return nl_decimal_rescale(rest, common, scale, NL_ROUND_HALF_UP, out) && nl_decimal_fits(*out, precision);
    }
    case NL_ARITH_DIV:
        break;
    }
    return false;
}

/* a / b cut to a whole number; false when it is no BIGINT. */
static bool whole_quotient(const nl_arith *arith, nl_int128 a, nl_int128 b, int64_t *out)
{
    nl_wide dividend = nl_wide_from((nl_uint128)(a < 0 ? -a : a));
    nl_wide divisor = nl_wide_from((nl_uint128)(b < 0 ? -b : b));
    int shift = (int)arith->b->scale - (int)arith->a->scale;
    if (shift > 0 && !nl_wide_scale_up(&dividend, shift)) return false;
    if (shift < 0 && !nl_wide_scale_up(&divisor, -shift)) return false;
    nl_wide quotient;
    nl_wide rest;
    nl_wide_divide(&dividend, &divisor, &quotient, &rest);
    nl_uint128 value;
    if (!nl_wide_to_128(&quotient, &value) || value > (nl_uint128)INT64_MAX + 1) return false;
    bool is_negative = (a < 0) != (b < 0);
    if (!is_negative && value > (nl_uint128)INT64_MAX) return false;
    *out = is_negative ? (int64_t)(0 - (uint64_t)value) : (int64_t)value;
    return true;
}

static void append_wide(nl_wide value, int scale, bool is_negative, nl_builder *out)
{
    char digits[96];
    uint32_t count = 0;
    const nl_wide ten = nl_wide_from(10);
    while ((!nl_wide_is_zero(&value) || (int)count <= scale) && count < sizeof digits) {
        nl_wide quotient;
        nl_wide rest;
        nl_uint128 digit = 0;
        nl_wide_divide(&value, &ten, &quotient, &rest);
        (void)nl_wide_to_128(&rest, &digit);
        digits[count++] = (char)('0' + (int)digit);
        value = quotient;
    }
    if (is_negative) nl_append_char(out, '-');
    while (count > 0) {
        if ((int)count == scale) nl_append_char(out, '.');
        nl_append_char(out, digits[--count]);
    }
}

nl_status nl_arith_decimal_overflow(const nl_arith *arith, const nl_type *result, nl_int128 a, nl_int128 b)
{
    nl_wide x = nl_wide_from((nl_uint128)(a < 0 ? -a : a));
    nl_wide y = nl_wide_from((nl_uint128)(b < 0 ? -b : b));
    nl_builder text;
    nl_builder_init(&text, 256);
    int scale = NL_MAX(arith->a->scale, arith->b->scale);
    if (arith->op == NL_ARITH_MULTIPLY) {
        append_wide(nl_wide_product((nl_uint128)(a < 0 ? -a : a), (nl_uint128)(b < 0 ? -b : b)), arith->a->scale + arith->b->scale,
                    (a < 0) != (b < 0), &text);
    } else if (arith->op == NL_ARITH_ADD || arith->op == NL_ARITH_SUBTRACT) {
        bool b_negative = (b < 0) != (arith->op == NL_ARITH_SUBTRACT);
        (void)nl_wide_scale_up(&x, scale - arith->a->scale);
        (void)nl_wide_scale_up(&y, scale - arith->b->scale);
        nl_wide_add(&x, &y); /* an overflow comes of operands of one sign */
        append_wide(x, scale, b_negative, &text);
    } else {
        nl_wide quotient;
        nl_wide rest;
        int shift = (int)result->scale + (int)arith->b->scale - (int)arith->a->scale;
        (void)nl_wide_scale_up(&x, NL_MAX(shift, 0));
        nl_wide_divide(&x, &y, &quotient, &rest);
        append_wide(quotient, result->scale, (a < 0) != (b < 0), &text);
    }
    nl_status status = NL_RAISE(NUMERIC_VALUE_OUT_OF_RANGE__WITH_SUGGESTION, NL_P_STR("value", nl_builder_str(&text)),
                                NL_P_INT("precision", result->precision), NL_P_INT("scale", result->scale),
                                NL_P("config", "\"spark.sql.ansi.enabled\""));
    nl_builder_fini(&text);
    return status;
}

static nl_status checked_kernel(NL_KERNEL_PARAMETERS)
{
    const nl_arith *arith = function->state;
    const nl_type *type = function->result_type;
    nl_output output;
    NL_TRY(nl_output_init(&output, type, length, eval->memory, out));
    nl_reader a, b;
    nl_reader_init(&a, &args[0]);
    nl_reader_init(&b, &args[1]);
    bool divides = arith->op >= NL_ARITH_DIVIDE;
    /* A product of two 64-bit numbers is below 10^38: it fits when no digit is rounded away. */
    bool is_plain_product = arith->op == NL_ARITH_MULTIPLY && arith->a->scale + arith->b->scale == type->scale && type->precision == 38;
    NL_EACH_SELECTED(row)
    {
        if (nl_reader_is_null(&a, row) || nl_reader_is_null(&b, row)) continue;
        nl_int128 x = nl_physical_i128(arith->a->physical, a.values, nl_reader_index(&a, row));
        nl_int128 y = nl_physical_i128(arith->b->physical, b.values, nl_reader_index(&b, row));
        if (divides && y == 0) {
            if (arith->mode == NL_ARITH_RAISE) return nl_arith_divide_by_zero();
            NL_TRY(nl_output_null(&output, row));
            continue;
        }
        if (is_plain_product && x == (int64_t)x && y == (int64_t)y) {
            ((nl_int128 *)output.values)[row] = x * y;
            continue;
        }
        nl_int128 result = 0;
        int64_t whole = 0;
        bool fits = arith->op == NL_ARITH_DIV ? whole_quotient(arith, x, y, &whole)
                                              : compute(arith, x, y, type->precision, type->scale, &result);
        if (NL_LIKELY(fits)) {
            nl_physical_set_i128(type->physical, output.values, row, arith->op == NL_ARITH_DIV ? whole : result);
            continue;
        }
        if (arith->mode == NL_ARITH_RAISE && arith->op == NL_ARITH_DIV)
            return NL_RAISE(ARITHMETIC_OVERFLOW, NL_P("message", "Overflow in integral divide"),
                            NL_P("alternative", " Use 'try_divide' to tolerate overflow and return NULL instead."),
                            NL_P("config", "\"spark.sql.ansi.enabled\""));
        if (arith->mode == NL_ARITH_RAISE) return nl_arith_decimal_overflow(arith, type, x, y);
        NL_TRY(nl_output_null(&output, row));
    }
    return NULL;
}

nl_scalar_kernel nl_decimal_kernel(const nl_arith *arith)
{
    if (arith->op > NL_ARITH_MULTIPLY || !arith->is_exact) return checked_kernel;
    int scale = arith->op == NL_ARITH_MULTIPLY ? arith->a->scale + arith->b->scale : NL_MAX(arith->a->scale, arith->b->scale);
    int integral = NL_MAX(arith->a->precision - arith->a->scale, arith->b->precision - arith->b->scale);
    int precision = arith->op == NL_ARITH_MULTIPLY ? arith->a->precision + arith->b->precision + 1 : integral + scale + 1;
    return precision <= 18 ? narrow_kernel : exact_kernel;
}
