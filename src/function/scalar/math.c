/* scalar/math.c - functions of doubles, and greatest, least, nanvl, width_bucket, factorial. */
#include <math.h>

#include "function/groups.h"
#include "function/java_math.h"

/* Java multiplies by these constants. */
#define DEGREES_PER_RADIAN 57.29577951308232
#define RADIANS_PER_DEGREE 0.017453292519943295

#define COT(x)     (1.0 / tan(x))
#define CSC(x)     (1.0 / sin(x))
#define SEC(x)     (1.0 / cos(x))
#define SIGN(x)    ((x) > 0 ? 1.0 : (x) < 0 ? -1.0 : (x))
#define DEGREES(x) ((x) * DEGREES_PER_RADIAN)
#define RADIANS(x) ((x) * RADIANS_PER_DEGREE)
/* Spark: 0.5 * (log1p(x) - log1p(-x)), and x for zero's sign. */
#define ATANH(x)   (0.5 * (log1p(x) - log1p(-(x))))
/* StrictMath-like forms Spark uses. */
#define ACOSH(x)   log((x) + sqrt((x) * (x) - 1.0))
static inline double asinh_of(double x)
{
    if (isinf(x)) return x;
    double a = fabs(x);
    double result = log(a + sqrt(a * a + 1.0));
    return x < 0 ? -result : result;
}

#define UNARY(name, op) NL_UNARY_KERNEL(name##_kernel, double, double, op)
UNARY(sin, sin)
UNARY(cos, cos)
UNARY(tan, tan)
UNARY(asin, asin)
UNARY(acos, acos)
UNARY(atan, atan)
UNARY(sinh, sinh)
UNARY(cosh, nl_java_cosh)
UNARY(tanh, tanh)
UNARY(asinh, asinh_of)
UNARY(acosh, ACOSH)
UNARY(atanh, ATANH)
UNARY(cot, COT)
UNARY(csc, CSC)
UNARY(sec, SEC)
UNARY(exp, nl_java_exp)
UNARY(expm1, expm1)
UNARY(sqrt, sqrt)
UNARY(cbrt, nl_java_cbrt)
UNARY(rint, rint)
UNARY(sign, SIGN)
UNARY(degrees, DEGREES)
UNARY(radians, RADIANS)
/* Java's: no power of 1 or -1 to what is no number, or infinite. */
static inline double java_pow(double x, double y)
{
    if (isnan(y) || (isinf(y) && fabs(x) == 1)) return NAN;
    return pow(x, y);
}
NL_BINARY_KERNEL(pow_kernel, double, double, double, java_pow)
NL_BINARY_KERNEL(atan2_kernel, double, double, double, atan2)
NL_BINARY_KERNEL(hypot_kernel, double, double, double, hypot)

/* Logarithms of what has none are null. */
#define LOGARITHM(name, op, least)                                                        \
    static nl_status name##_row(nl_row_context *context, uint32_t row, bool *is_null)     \
    {                                                                                     \
        double value = nl_reader_f64(&context->readers[0], row);                          \
        if (value <= (least))                                                             \
            *is_null = true;                                                              \
        else                                                                              \
            ((double *)context->output.values)[row] = op(value);                          \
        return NULL;                                                                      \
    }                                                                                     \
    NL_VALUE_KERNEL(name##_kernel, name##_row)
LOGARITHM(ln, nl_java_log, 0.0)
#define LOG2(x) (nl_java_log(x) / nl_java_log(2))
LOGARITHM(log2, LOG2, 0.0)
LOGARITHM(log10, nl_java_log10, 0.0)
LOGARITHM(log1p, log1p, -1.0)

static nl_status log_base_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    double base = nl_reader_f64(&context->readers[0], row);
    double value = nl_reader_f64(&context->readers[1], row);
    if (base <= 0 || value <= 0)
        *is_null = true;
    else
        ((double *)context->output.values)[row] = nl_java_log(value) / nl_java_log(base);
    return NULL;
}
NL_VALUE_KERNEL(log_base_kernel, log_base_row)

static nl_status bind_log(nl_bind *bind, nl_bound_function *bound)
{
    bound->kernel = bind->argument_count == 1 ? ln_kernel : log_base_kernel;
    return NULL;
}

static nl_status constant_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    nl_value value = {.type = nl_type_double(), .real = function->row->name[0] == 'p' ? M_PI : M_E};
    return nl_vector_new_constant(out, &value, length, eval->memory);
}

/* sign of intervals */
static nl_status sign_interval_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader in;
    nl_reader_init(&in, &args[0]);
    NL_EACH_SELECTED(row)
    {
        int64_t value = nl_physical_i64(args[0].type->physical, in.values, nl_reader_index(&in, row));
        ((double *)output.values)[row] = (double)((value > 0) - (value < 0));
    }
    return NULL;
}

static nl_status bind_sign(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_types[0];
    bool is_interval = type->id == NL_TYPE_INTERVAL_YM || type->id == NL_TYPE_INTERVAL_DT;
    bound->kernel = is_interval ? sign_interval_kernel : sign_kernel;
    return NULL;
}

static nl_status factorial_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    int32_t n = nl_reader_i32(&context->readers[0], row);
    if (n < 0 || n > 20) {
        *is_null = true;
        return NULL;
    }
    int64_t product = 1;
    for (int32_t i = 2; i <= n; i++) product *= i;
    ((int64_t *)context->output.values)[row] = product;
    return NULL;
}
NL_VALUE_KERNEL(factorial_kernel, factorial_row)

/* --- greatest and least: nulls are passed over --- */

static nl_status extreme_kernel(NL_KERNEL_PARAMETERS)
{
    nl_column_builder *builder = NULL;
    nl_status status = NULL;
    bool is_greatest = strstr(function->row->name, "greatest") != NULL;
    NL_TRY(nl_column_builder_new(function->result_type, eval->memory, &builder));
    uint32_t next = 0;
    for (uint32_t row = 0; row < length; row++) {
        const nl_vector *best = NULL;
        if (next < selection.count && nl_selection_row(selection, next) == row) {
            next++;
            for (uint32_t i = 0; i < function->argument_count; i++) {
                if (nl_vector_is_null(&args[i], row)) continue;
                int order = best == NULL ? 0 : nl_vector_row_compare(&args[i], row, best, row);
                if (best == NULL || (is_greatest ? order > 0 : order < 0)) best = &args[i];
            }
        }
        NL_GO(best != NULL ? nl_column_builder_row(builder, best, row) : nl_column_builder_null(builder));
    }
    status = nl_column_builder_finish(builder, out);
done:
    nl_column_builder_free(builder);
    return status;
}

/* Their arguments are never read as another kind of value: strings stay strings. */
static nl_status bind_extreme(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_types[0];
    for (uint32_t i = 1; i < bind->argument_count && type != NULL; i++) {
        const nl_type *other = bind->argument_types[i];
        bool one_string = (type->id == NL_TYPE_STRING) != (other->id == NL_TYPE_STRING);
        bool has_null = type->id == NL_TYPE_NULL || other->id == NL_TYPE_NULL;
        type = one_string && !has_null ? NULL : nl_common_type(bind->arena, type, other, nl_confs_rules(bind->confs));
    }
    if (bind->argument_count < 2 && !bind->row->is_internal) return nl_bind_wrong_count(bind, NL_STR("> 1"));
    if (type == NULL) return nl_bind_diff_types_list(bind);
    if (!nl_type_is_orderable(type)) return nl_bind_not_orderable(bind, type);
    bool all_nullable = true;
    for (uint32_t i = 0; i < bind->argument_count; i++) {
        bind->argument_types[i] = type;
        all_nullable &= bind->argument_nullable == NULL || bind->argument_nullable[i];
    }
    bound->result_type = type;
    bound->is_nullable = all_nullable || bind->row->is_internal;
    return NULL;
}

/* --- width_bucket --- */

/* A double, or an interval's months or microseconds. */
static double bucket_number(const nl_row_context *context, uint32_t i, uint32_t row)
{
    const nl_type *type = context->function->argument_types[i];
    const nl_reader *reader = &context->readers[i];
    if (type->physical == NL_PHYS_F64) return nl_reader_f64(reader, row);
    return (double)nl_physical_i64(type->physical, reader->values, nl_reader_index(reader, row));
}

static nl_status width_bucket_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    double value = bucket_number(context, 0, row);
    double low = bucket_number(context, 1, row);
    double high = bucket_number(context, 2, row);
    int64_t count = nl_reader_i64(&context->readers[3], row);
    if (count <= 0 || count == INT64_MAX || isnan(value) || low == high || !isfinite(low) || !isfinite(high)) {
        *is_null = true;
        return NULL;
    }
    double lower = NL_MIN(low, high);
    double upper = NL_MAX(low, high);
    int64_t result;
    if (low < high)
        result = value < lower ? 0 : value >= upper ? count + 1 : (int64_t)((double)count * (value - lower) / (upper - lower)) + 1;
    else
        result = value > upper ? 0 : value <= lower ? count + 1 : (int64_t)((double)count * (upper - value) / (upper - lower)) + 1;
    ((int64_t *)context->output.values)[row] = result;
    return NULL;
}
NL_VALUE_KERNEL(width_bucket_kernel, width_bucket_row)

/* --- NaN --- */

static nl_status isnan_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader in;
    nl_reader_init(&in, &args[0]);
    NL_EACH_SELECTED(row)
    if (!nl_reader_is_null(&in, row)) ((uint8_t *)output.values)[row] = (uint8_t)(isnan(nl_reader_f64(&in, row)) != 0);
    return NULL;
}

/* The analyzer turns calls into conditions; of doubles the function works by itself, too. */
static nl_status nanvl_kernel(NL_KERNEL_PARAMETERS)
{
    if (function->result_type->id != NL_TYPE_DOUBLE) return NL_RAISE_TEXT(INTERNAL_ERROR, "nanvl of floats is a condition");
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    NL_EACH_SELECTED(row)
    {
        nl_reader in;
        nl_reader_init(&in, &args[0]);
        if (nl_reader_is_null(&in, row)) {
            NL_TRY(nl_output_null(&output, row));
            continue;
        }
        double value = nl_reader_f64(&in, row);
        if (isnan(value)) {
            nl_reader_init(&in, &args[1]);
            if (nl_reader_is_null(&in, row)) {
                NL_TRY(nl_output_null(&output, row));
                continue;
            }
            value = nl_reader_f64(&in, row);
        }
        ((double *)output.values)[row] = value;
    }
    return NULL;
}

#define MATH .kind = NL_FUNCTION_SCALAR, .group = "math", .nulls = NL_NULL_IN_NULL_OUT
#define OF_DOUBLE MATH, .is_dense = true, .signature = "(double) -> double"
#define OF_DOUBLES MATH, .keeps_non_null = true, .signature = "(double, double) -> double"

static const nl_function_row rows[] = {
    {.name = "sin", OF_DOUBLE, .kernel = sin_kernel, .since = "1.4.0", .doc = "The sine.", .examples = {{"sin(0)", "0.0"}}},
    {.name = "cos", OF_DOUBLE, .kernel = cos_kernel, .since = "1.4.0", .doc = "The cosine.", .examples = {{"cos(0)", "1.0"}}},
    {.name = "tan", OF_DOUBLE, .kernel = tan_kernel, .since = "1.4.0", .doc = "The tangent.", .examples = {{"tan(0)", "0.0"}}},
    {.name = "asin", OF_DOUBLE, .kernel = asin_kernel, .since = "1.4.0", .doc = "The inverse sine.", .examples = {{"asin(0)", "0.0"}, {"asin(2)", "NaN"}}},
    {.name = "acos", OF_DOUBLE, .kernel = acos_kernel, .since = "1.4.0", .doc = "The inverse cosine.", .examples = {{"acos(1)", "0.0"}}},
    {.name = "atan", OF_DOUBLE, .kernel = atan_kernel, .since = "1.4.0", .doc = "The inverse tangent.", .examples = {{"atan(0)", "0.0"}}},
    {.name = "sinh", OF_DOUBLE, .kernel = sinh_kernel, .since = "1.4.0", .doc = "The hyperbolic sine.", .examples = {{"sinh(0)", "0.0"}}},
    {.name = "cosh", OF_DOUBLE, .kernel = cosh_kernel, .since = "1.4.0", .doc = "The hyperbolic cosine.", .examples = {{"cosh(0)", "1.0"}}},
    {.name = "tanh", OF_DOUBLE, .kernel = tanh_kernel, .since = "1.4.0", .doc = "The hyperbolic tangent.", .examples = {{"tanh(0)", "0.0"}}},
    {.name = "asinh", OF_DOUBLE, .kernel = asinh_kernel, .since = "3.0.0", .doc = "The inverse hyperbolic sine.", .examples = {{"asinh(0)", "0.0"}}},
    {.name = "acosh", OF_DOUBLE, .kernel = acosh_kernel, .since = "3.0.0", .doc = "The inverse hyperbolic cosine.", .examples = {{"acosh(1)", "0.0"}, {"acosh(0)", "NaN"}}},
    {.name = "atanh", OF_DOUBLE, .kernel = atanh_kernel, .since = "3.0.0", .doc = "The inverse hyperbolic tangent.", .examples = {{"atanh(0)", "0.0"}}},
    {.name = "cot", OF_DOUBLE, .kernel = cot_kernel, .since = "2.3.0", .doc = "The cotangent.", .examples = {{"cot(1)", "0.6420926159343306"}}},
    {.name = "csc", OF_DOUBLE, .kernel = csc_kernel, .since = "3.3.0", .doc = "The cosecant.", .examples = {{"csc(1)", "1.1883951057781212"}}},
    {.name = "sec", OF_DOUBLE, .kernel = sec_kernel, .since = "3.3.0", .doc = "The secant.", .examples = {{"sec(1)", "1.8508157176809255"}}},
    {.name = "exp", OF_DOUBLE, .kernel = exp_kernel, .since = "1.4.0", .doc = "e to the power of the argument.", .examples = {{"exp(0)", "1.0"}}},
    {.name = "expm1", OF_DOUBLE, .kernel = expm1_kernel, .since = "1.4.0", .doc = "exp(x) - 1, exact near zero.", .examples = {{"expm1(0)", "0.0"}}},
    {.name = "sqrt", OF_DOUBLE, .kernel = sqrt_kernel, .since = "1.1.1", .doc = "The square root.", .examples = {{"sqrt(4)", "2.0"}}},
    {.name = "cbrt", OF_DOUBLE, .kernel = cbrt_kernel, .since = "1.4.0", .doc = "The cube root.", .examples = {{"cbrt(27.0)", "3.0"}}},
    {.name = "rint", OF_DOUBLE, .kernel = rint_kernel, .since = "1.4.0", .doc = "The nearest whole number, halves to the even one.", .examples = {{"rint(12.3456)", "12.0"}}},
    {.name = "signum", .aliases = "sign", MATH, .signature = "(interval_dt) -> double | (interval_ym) -> double | (double) -> double",
     .bind = bind_sign, .since = "1.4.0", .doc = "-1, 0 or 1 by the sign of the argument.", .examples = {{"sign(40)", "1.0"}}},
    {.name = "degrees", OF_DOUBLE, .kernel = degrees_kernel, .since = "1.4.0", .doc = "Radians as degrees.", .examples = {{"degrees(3.141592653589793)", "180.0"}}},
    {.name = "radians", OF_DOUBLE, .kernel = radians_kernel, .since = "1.4.0", .doc = "Degrees as radians.", .examples = {{"radians(180)", "3.141592653589793"}}},
    {.name = "pow", .aliases = "power", OF_DOUBLES, .kernel = pow_kernel, .since = "1.4.0", .doc = "The first argument to the power of the second.", .examples = {{"pow(2, 3)", "8.0"}}},
    {.name = "atan2", OF_DOUBLES, .kernel = atan2_kernel, .since = "1.4.0", .doc = "The angle of the point (second, first).", .examples = {{"atan2(0, 0)", "0.0"}}},
    {.name = "hypot", OF_DOUBLES, .kernel = hypot_kernel, .since = "1.4.0", .doc = "The length of the hypotenuse.", .examples = {{"hypot(3, 4)", "5.0"}}},
    {.name = "ln", MATH, .signature = "(double) -> double", .kernel = ln_kernel, .since = "1.4.0", .doc = "The natural logarithm; NULL when there is none.", .examples = {{"ln(1)", "0.0"}}},
    {.name = "log2", MATH, .signature = "(double) -> double", .kernel = log2_kernel, .since = "1.4.0", .doc = "The logarithm to base 2.", .examples = {{"log2(2)", "1.0"}}},
    {.name = "log10", MATH, .signature = "(double) -> double", .kernel = log10_kernel, .since = "1.4.0", .doc = "The logarithm to base 10.", .examples = {{"log10(10)", "1.0"}}},
    {.name = "log1p", MATH, .signature = "(double) -> double", .kernel = log1p_kernel, .since = "1.4.0", .doc = "ln(1 + x), exact near zero.", .examples = {{"log1p(0)", "0.0"}}},
    {.name = "log", MATH, .signature = "(double [, double]) -> double", .bind = bind_log, .since = "1.5.0", .doc = "The logarithm of the second argument to the base of the first; of one argument the natural one.", .examples = {{"log(10, 100)", "2.0"}}},
    {.name = "pi", .kind = NL_FUNCTION_SCALAR, .group = "math", .nulls = NL_NULL_SEEN, .keeps_non_null = true, .signature = "() -> double", .kernel = constant_kernel, .since = "1.5.0", .doc = "Pi.", .examples = {{"pi()", "3.141592653589793"}}},
    {.name = "e", .kind = NL_FUNCTION_SCALAR, .group = "math", .nulls = NL_NULL_SEEN, .keeps_non_null = true, .signature = "() -> double", .kernel = constant_kernel, .since = "1.5.0", .doc = "Euler's number.", .examples = {{"e()", "2.718281828459045"}}},
    {.name = "factorial", MATH, .signature = "(int) -> bigint", .kernel = factorial_kernel, .since = "1.5.0", .doc = "The factorial of 0 to 20; NULL for others.", .examples = {{"factorial(5)", "120"}}},
    {.name = "greatest", .kind = NL_FUNCTION_SCALAR, .group = "math", .nulls = NL_NULL_SEEN, .signature = "(any...) -> ?", .bind = bind_extreme, .kernel = extreme_kernel, .since = "1.5.0", .doc = "The greatest argument that is not NULL.", .examples = {{"greatest(10, 9, 2, 4, 3)", "10"}}},
    {.name = "least", .kind = NL_FUNCTION_SCALAR, .group = "math", .nulls = NL_NULL_SEEN, .signature = "(any...) -> ?", .bind = bind_extreme, .kernel = extreme_kernel, .since = "1.5.0", .doc = "The least argument that is not NULL.", .examples = {{"least(10, 9, 2, 4, 3)", "2"}}},
    {.name = "trino_greatest", .kind = NL_FUNCTION_SCALAR, .group = "math", .is_internal = true, .nulls = NL_NULL_IN_NULL_OUT, .signature = "(any...) -> ?", .bind = bind_extreme, .kernel = extreme_kernel, .since = "0.1.0", .doc = "The greatest argument; NULL when one is."},
    {.name = "trino_least", .kind = NL_FUNCTION_SCALAR, .group = "math", .is_internal = true, .nulls = NL_NULL_IN_NULL_OUT, .signature = "(any...) -> ?", .bind = bind_extreme, .kernel = extreme_kernel, .since = "0.1.0", .doc = "The least argument; NULL when one is."},
    {.name = "width_bucket", MATH, .signature = "(double, double, double, bigint) -> bigint | (interval_ym, interval_ym, interval_ym, bigint) -> bigint | (interval_dt, interval_dt, interval_dt, bigint) -> bigint", .kernel = width_bucket_kernel, .since = "3.1.0", .doc = "The number of the bucket, of equal ones between two bounds; 0 and n+1 are outside.", .examples = {{"width_bucket(5.3, 0.2, 10.6, 5)", "3"}}},
    {.name = "isnan", .kind = NL_FUNCTION_SCALAR, .group = "predicate", .nulls = NL_NULL_SEEN, .keeps_non_null = true, .signature = "(double) -> boolean", .kernel = isnan_kernel, .since = "1.5.0", .doc = "Whether the value is NaN; false for NULL.", .examples = {{"isnan(cast('NaN' as double))", "true"}}},
    {.name = "nanvl", .kind = NL_FUNCTION_SCALAR, .group = "conditional", .nulls = NL_NULL_SEEN, .signature = "(double, double) -> double | (float, float) -> float", .kernel = nanvl_kernel, .since = "1.5.0", .doc = "The first argument, or the second when the first is NaN.", .examples = {{"nanvl(cast('NaN' as double), 123)", "123.0"}}},
};

NL_DEFINE_FUNCTION_GROUP(math, rows);
