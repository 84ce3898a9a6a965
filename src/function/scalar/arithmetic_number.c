/* scalar/arithmetic_number.c - arithmetic kernels on integers and floats.
 *
 * + - * run flat over all rows, nulls included (their slots are zero), and look for the row that overflowed only when
 * one did; / % div pmod check each divisor.
 */
#include <math.h>
#include <stdio.h>

#include "function/scalar/arithmetic.h"

#define T int8_t
#define UT uint8_t
#define WIDE int32_t
#define N(name) name##_i8
#include "function/scalar/arithmetic.inc.h"
#undef T
#undef UT
#undef WIDE
#undef N
#define T int16_t
#define UT uint16_t
#define WIDE int32_t
#define N(name) name##_i16
#include "function/scalar/arithmetic.inc.h"
#undef T
#undef UT
#undef WIDE
#undef N
#define T int32_t
#define UT uint32_t
#define WIDE int64_t
#define N(name) name##_i32
#include "function/scalar/arithmetic.inc.h"
#undef T
#undef UT
#undef WIDE
#undef N
#define T int64_t
#define UT uint64_t
#define N(name) name##_i64
#include "function/scalar/arithmetic.inc.h"
#undef T
#undef UT
#undef N

typedef bool (*integer_rows)(const void *a, bool a_constant, const void *b, bool b_constant, void *out, uint32_t row_count);

static integer_rows rows_of(nl_arith_op op, nl_physical physical)
{
    static const integer_rows table[3][4] = {
        {add_rows_i8, add_rows_i16, add_rows_i32, add_rows_i64},
        {subtract_rows_i8, subtract_rows_i16, subtract_rows_i32, subtract_rows_i64},
        {multiply_rows_i8, multiply_rows_i16, multiply_rows_i32, multiply_rows_i64},
    };
    return table[op][physical - NL_PHYS_I8];
}

nl_status nl_arith_overflow(const nl_arith *arith, nl_int128 a, nl_int128 b)
{
    static const char *const symbols[] = {"+", "-", "*"};
    static const char *const names[] = {"try_add", "try_subtract", "try_multiply", "try_divide", "try_mod", "try_mod", "try_divide"};
    char text[3][96];
    if (!nl_type_is_integral(arith->a)) {
        (void)snprintf(text[0], sizeof text[0], "`%s`", names[arith->op]);
        return NL_RAISE(INTERVAL_ARITHMETIC_OVERFLOW__WITH_SUGGESTION, NL_P("functionName", text[0]));
    }
    if (arith->a->physical == NL_PHYS_I8 || arith->a->physical == NL_PHYS_I16) {
        (void)snprintf(text[0], sizeof text[0], "%dS", (int)a);
        (void)snprintf(text[1], sizeof text[1], "%dS", (int)b);
        (void)snprintf(text[2], sizeof text[2], "`%s`", names[arith->op]);
        return NL_RAISE(BINARY_ARITHMETIC_OVERFLOW, NL_P("value1", text[0]), NL_P("symbol", symbols[arith->op]),
                        NL_P("value2", text[1]), NL_P("functionName", text[2]));
    }
    (void)snprintf(text[0], sizeof text[0], " Use '%s' to tolerate overflow and return NULL instead.", names[arith->op]);
    const char *message = arith->op == NL_ARITH_DIV ? "Overflow in integral divide"
                          : arith->a->physical == NL_PHYS_I32 ? "integer overflow"
                                                              : "long overflow";
    return NL_RAISE(ARITHMETIC_OVERFLOW, NL_P("message", message), NL_P("alternative", text[0]),
                    NL_P("config", "\"spark.sql.ansi.enabled\""));
}

static bool overflows(const nl_arith *arith, nl_int128 a, nl_int128 b)
{
    nl_int128 exact = arith->op == NL_ARITH_ADD ? a + b : arith->op == NL_ARITH_SUBTRACT ? a - b : a * b;
    uint32_t bits = nl_physical_size(arith->a->physical) * 8;
    nl_int128 max = ((nl_int128)1 << (bits - 1)) - 1;
    return exact > max || exact < -max - 1;
}

/* Some row overflowed, perhaps a null or unselected one: decides whether that counts. */
static nl_status find_overflow(const nl_arith *arith, const nl_vector *args, nl_selection selection, nl_output *output)
{
    nl_reader a, b;
    nl_reader_init(&a, &args[0]);
    nl_reader_init(&b, &args[1]);
    NL_EACH_SELECTED(row)
    {
        if (nl_reader_is_null(&a, row) || nl_reader_is_null(&b, row)) continue;
        nl_int128 left = nl_physical_i64(arith->a->physical, a.values, nl_reader_index(&a, row));
        nl_int128 right = nl_physical_i64(arith->b->physical, b.values, nl_reader_index(&b, row));
        if (!overflows(arith, left, right)) continue;
        if (arith->mode == NL_ARITH_RAISE) return nl_arith_overflow(arith, left, right);
        NL_TRY(nl_output_null(output, row));
        nl_physical_set_i128(arith->a->physical, output->values, row, 0);
    }
    return NULL;
}

/* Both operands FLAT or CONSTANT: dictionaries are laid out. `flat` holds what must be ended. */
static nl_status lay_out(nl_eval *eval, const nl_vector *args, nl_vector flat[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        if (args[i].encoding == NL_CONSTANT)
            nl_vector_ref(&args[i], &flat[i]);
        else
            NL_TRY(nl_vector_flatten(&args[i], false, eval->memory, &flat[i]));
    }
    return NULL;
}

static nl_status integer_kernel(NL_KERNEL_PARAMETERS)
{
    const nl_arith *arith = function->state;
    nl_vector flat[2] = {{0}, {0}};
    nl_output output;
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    NL_GO(lay_out(eval, args, flat));
    bool a_constant = flat[0].encoding == NL_CONSTANT;
    bool b_constant = flat[1].encoding == NL_CONSTANT;
    uint32_t row_count = a_constant && b_constant ? NL_MIN(length, 1u) : length;
    bool has_overflow = rows_of(arith->op, function->result_type->physical)(flat[0].values, a_constant, flat[1].values,
                                                                           b_constant && !a_constant, output.values, row_count);
    if (has_overflow && arith->mode != NL_ARITH_WRAP) status = find_overflow(arith, args, selection, &output);
done:
    nl_vector_fini(&flat[0]);
    nl_vector_fini(&flat[1]);
    return status;
}

/* --- division of integers --- */

typedef enum outcome { OUTCOME_GOOD, OUTCOME_ZERO, OUTCOME_OVERFLOW } outcome;

static inline outcome divide_integer(nl_arith_op op, int64_t a, int64_t b, nl_physical physical, int64_t *out)
{
    if (b == 0) return OUTCOME_ZERO;
    if (b == -1) { /* the smallest integer divided by -1 leaves the range (and traps) */
        if (op != NL_ARITH_DIV) {
            *out = 0;
            return OUTCOME_GOOD;
        }
        *out = (int64_t)(0 - (uint64_t)a);
        return a == INT64_MIN ? OUTCOME_OVERFLOW : OUTCOME_GOOD;
    }
    if (op == NL_ARITH_DIV) {
        *out = a / b;
        return OUTCOME_GOOD;
    }
    int64_t rest = a % b;
    if (op == NL_ARITH_PMOD && rest < 0) {
        if (physical == NL_PHYS_I64)
            rest = (int64_t)((uint64_t)rest + (uint64_t)b) % b; /* wraps as Java's long */
        else if (physical == NL_PHYS_I32)
            rest = (int32_t)((uint32_t)rest + (uint32_t)b) % b;
        else
            rest = (rest + b) % b;
    }
    *out = rest;
    return OUTCOME_GOOD;
}

static nl_status division_kernel(NL_KERNEL_PARAMETERS)
{
    const nl_arith *arith = function->state;
    nl_physical physical = arith->a->physical;
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader a, b;
    nl_reader_init(&a, &args[0]);
    nl_reader_init(&b, &args[1]);
    NL_EACH_SELECTED(row)
    {
        if (nl_reader_is_null(&a, row) || nl_reader_is_null(&b, row)) continue;
        int64_t left = nl_physical_i64(physical, a.values, nl_reader_index(&a, row));
        int64_t right = nl_physical_i64(physical, b.values, nl_reader_index(&b, row));
        int64_t result = 0;
        outcome what = divide_integer(arith->op, left, right, physical, &result);
        if (NL_UNLIKELY(what != OUTCOME_GOOD)) {
            if (arith->mode == NL_ARITH_RAISE)
                return what == OUTCOME_ZERO ? nl_arith_divide_by_zero() : nl_arith_overflow(arith, left, right);
            if (what == OUTCOME_ZERO || arith->mode == NL_ARITH_NULL) {
                NL_TRY(nl_output_null(&output, row));
                continue;
            }
        }
        nl_physical_set_i128(physical, output.values, row, result);
    }
    return NULL;
}

nl_scalar_kernel nl_integer_kernel(const nl_arith *arith)
{
    return arith->op <= NL_ARITH_MULTIPLY ? integer_kernel : division_kernel;
}

/* --- floats --- */

#define REAL_ROWS(name, type, expression)                                                                            \
    static void name(const void *a_values, bool a_constant, const void *b_values, bool b_constant, void *out_values, \
                     uint32_t row_count)                                                                             \
    {                                                                                                                \
        const type *restrict a = a_values;                                                                           \
        const type *restrict b = b_values;                                                                           \
        type *restrict out = out_values;                                                                             \
        const uint32_t a_mask = a_constant ? 0 : UINT32_MAX;                                                         \
        const uint32_t b_mask = b_constant ? 0 : UINT32_MAX;                                                         \
        if (!a_constant && !b_constant) {                                                                            \
            for (uint32_t row = 0; row < row_count; row++) {                                                         \
                const type x = a[row], y = b[row];                                                                   \
                out[row] = expression;                                                                               \
            }                                                                                                        \
            return;                                                                                                  \
        }                                                                                                            \
        for (uint32_t row = 0; row < row_count; row++) {                                                             \
            const type x = a[row & a_mask], y = b[row & b_mask];                                                     \
            out[row] = expression;                                                                                   \
        }                                                                                                            \
    }
REAL_ROWS(add_rows_f64, double, x + y)
REAL_ROWS(subtract_rows_f64, double, x - y)
REAL_ROWS(multiply_rows_f64, double, x *y)
REAL_ROWS(divide_rows_f64, double, x / y)
REAL_ROWS(add_rows_f32, float, x + y)
REAL_ROWS(subtract_rows_f32, float, x - y)
REAL_ROWS(multiply_rows_f32, float, x *y)
REAL_ROWS(divide_rows_f32, float, x / y)

typedef void (*real_rows)(const void *a, bool a_constant, const void *b, bool b_constant, void *out, uint32_t row_count);

/* A zero divisor is an error, or null; the quotient of that row has been computed already and is replaced. */
static nl_status check_divisors(const nl_arith *arith, const nl_vector *args, nl_selection selection, nl_output *output)
{
    nl_reader a, b;
    nl_reader_init(&a, &args[0]);
    nl_reader_init(&b, &args[1]);
    NL_EACH_SELECTED(row)
    {
        if (nl_physical_f64(arith->b->physical, b.values, nl_reader_index(&b, row)) != 0) continue;
        if (nl_reader_is_null(&a, row) || nl_reader_is_null(&b, row)) continue;
        if (arith->mode == NL_ARITH_RAISE) return nl_arith_divide_by_zero();
        NL_TRY(nl_output_null(output, row));
        memset((uint8_t *)output->values + (size_t)row * nl_physical_size(arith->a->physical), 0,
               nl_physical_size(arith->a->physical));
    }
    return NULL;
}

static nl_status real_kernel(NL_KERNEL_PARAMETERS)
{
    static const real_rows table[2][4] = {
        {add_rows_f32, subtract_rows_f32, multiply_rows_f32, divide_rows_f32},
        {add_rows_f64, subtract_rows_f64, multiply_rows_f64, divide_rows_f64},
    };
    const nl_arith *arith = function->state;
    nl_vector flat[2] = {{0}, {0}};
    nl_output output;
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    NL_GO(lay_out(eval, args, flat));
    table[arith->a->physical == NL_PHYS_F64][arith->op](flat[0].values, flat[0].encoding == NL_CONSTANT, flat[1].values,
                                                        flat[1].encoding == NL_CONSTANT, output.values, length);
    if (arith->op == NL_ARITH_DIVIDE && !arith->is_ieee) status = check_divisors(arith, args, selection, &output);
done:
    nl_vector_fini(&flat[0]);
    nl_vector_fini(&flat[1]);
    return status;
}

static inline double positive_rest(double a, double b)
{
    double rest = fmod(a, b);
    return rest < 0 ? fmod(rest + b, b) : rest;
}

static inline float positive_rest_f32(float a, float b)
{
    float rest = fmodf(a, b);
    return rest < 0 ? fmodf(rest + b, b) : rest;
}

static nl_status real_rest_kernel(NL_KERNEL_PARAMETERS)
{
    const nl_arith *arith = function->state;
    bool is_positive = arith->op == NL_ARITH_PMOD;
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader a, b;
    nl_reader_init(&a, &args[0]);
    nl_reader_init(&b, &args[1]);
    NL_EACH_SELECTED(row)
    {
        uint32_t i = nl_reader_index(&a, row);
        uint32_t j = nl_reader_index(&b, row);
        if (arith->a->physical == NL_PHYS_F32) {
            float x = ((const float *)a.values)[i];
            float y = ((const float *)b.values)[j];
            ((float *)output.values)[row] = is_positive ? positive_rest_f32(x, y) : fmodf(x, y);
        } else {
            double x = ((const double *)a.values)[i];
            double y = ((const double *)b.values)[j];
            ((double *)output.values)[row] = is_positive ? positive_rest(x, y) : fmod(x, y);
        }
    }
    return arith->is_ieee ? NULL : check_divisors(arith, args, selection, &output);
}

nl_scalar_kernel nl_real_kernel(const nl_arith *arith)
{
    return arith->op <= NL_ARITH_DIVIDE ? real_kernel : real_rest_kernel;
}
