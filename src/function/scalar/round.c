/* scalar/round.c - round, bround, ceil, floor of every numeric type, to a number of digits.
 *
 * Doubles are rounded by their shortest decimal text, as Spark's BigDecimal(double) does: round(1.005, 2) is 1.01.
 */
#include <math.h>

#include "base/number.h"
#include "function/groups.h"

typedef struct round_state {
    nl_rounding rounding;
    int32_t scale;
} round_state;

static nl_status overflow(void)
{
    return NL_RAISE(ARITHMETIC_OVERFLOW, NL_P("message", "Overflow"), NL_P("alternative", ""), NL_P("config", "\"spark.sql.ansi.enabled\""));
}

/* value (an integer) rounded to a multiple of 10^digits. Digits beyond 38 leave zero. */
static nl_int128 round_integer(nl_int128 value, int32_t digits, nl_rounding rounding)
{
    nl_int128 rounded = 0;
    if (digits > 38) return 0;
    /* As if the value had `digits` decimals, brought to none. */
    if (!nl_decimal_rescale(value, digits, 0, rounding, &rounded)) return 0;
    return rounded * nl_decimal_powers[NL_MIN(digits, 38)];
}

static nl_status round_integer_kernel(NL_KERNEL_PARAMETERS)
{
    const round_state *state = function->state;
    nl_physical physical = function->result_type->physical;
    uint32_t bits = nl_physical_size(physical) * 8;
    nl_int128 max = ((nl_int128)1 << (bits - 1)) - 1;
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader in;
    nl_reader_init(&in, &args[0]);
    NL_EACH_SELECTED(row)
    {
        nl_int128 value = nl_physical_i64(args[0].type->physical, in.values, nl_reader_index(&in, row));
        if (state->scale < 0) value = -state->scale > 19 ? 0 : round_integer(value, -state->scale, state->rounding);
        if ((value > max || value < -max - 1) && eval->confs->is_ansi) return overflow();
        nl_physical_set_i128(physical, output.values, row, value);
    }
    return NULL;
}

static double round_real(double value, int32_t scale, nl_rounding rounding, bool is_float)
{
    char text[NL_NUMBER_TEXT_MAX];
    nl_int128 unscaled = 0;
    int own_scale = 0;
    if (!isfinite(value)) return value;
    uint32_t length = is_float ? nl_format_float((float)value, text) : nl_format_double(value, text);
    if (!nl_decimal_parse((nl_str){text, length}, &unscaled, &own_scale, NULL))
        return fabs(value) < 1 ? (scale >= 38 ? value : 0.0) : scale >= 0 ? value : 0.0;
    if (scale >= own_scale) return value + 0.0; /* -0.0 has no sign as a decimal */
    if (scale >= 0) {
        nl_int128 rounded = 0;
        if (!nl_decimal_rescale(unscaled, own_scale, scale, rounding, &rounded)) return value;
        return nl_decimal_to_double(rounded, scale);
    }
    int32_t digits = own_scale - scale; /* below the last digit that stays */
    if (digits > 38) return 0.0;
    nl_int128 rounded = 0;
    if (!nl_decimal_rescale(unscaled, digits, 0, rounding, &rounded)) return 0.0;
    return nl_decimal_to_double(rounded, 0) * pow(10, -scale);
}

static nl_status round_real_kernel(NL_KERNEL_PARAMETERS)
{
    const round_state *state = function->state;
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader in;
    nl_reader_init(&in, &args[0]);
    bool is_float = function->result_type->id == NL_TYPE_FLOAT;
    NL_EACH_SELECTED(row)
    {
        double value = nl_physical_f64(args[0].type->physical, in.values, nl_reader_index(&in, row));
        double rounded = round_real(value, state->scale, state->rounding, is_float);
        if (is_float)
            ((float *)output.values)[row] = (float)rounded;
        else
            ((double *)output.values)[row] = rounded;
    }
    return NULL;
}

static nl_status round_decimal_kernel(NL_KERNEL_PARAMETERS)
{
    const round_state *state = function->state;
    const nl_type *from = args[0].type;
    const nl_type *to = function->result_type;
    nl_output output;
    NL_TRY(nl_output_init(&output, to, length, eval->memory, out));
    nl_reader in;
    nl_reader_init(&in, &args[0]);
    NL_EACH_SELECTED(row)
    {
        nl_int128 value = nl_physical_i128(from->physical, in.values, nl_reader_index(&in, row));
        nl_int128 result = 0;
        bool fits = true;
        if (state->scale >= 0)
            fits = nl_decimal_rescale(value, from->scale, to->scale, state->rounding, &result);
        else if (from->scale - state->scale <= 38)
            result = round_integer(value, from->scale - state->scale, state->rounding) / nl_decimal_powers[from->scale];
        if (!fits || !nl_decimal_fits(result, to->precision)) {
            if (eval->confs->is_ansi) return overflow();
            NL_TRY(nl_output_null(&output, row));
            continue;
        }
        nl_physical_set_i128(to->physical, output.values, row, result);
    }
    return NULL;
}

/* Spark's RoundBase: the type of a decimal rounded to `scale` digits. */
static const nl_type *rounded_type(const nl_type *type, int32_t scale)
{
    int integral = type->precision - type->scale + 1;
    if (scale < 0) return nl_type_decimal(NL_MIN(NL_MAX(integral, -scale + 1), 38), 0);
    int kept = NL_MIN((int)type->scale, scale);
    return nl_type_decimal(NL_MIN(integral + kept, 38), NL_MIN(kept, 38));
}

static nl_status scale_argument(nl_bind *bind, int32_t *scale)
{
    *scale = 0;
    if (bind->argument_count < 2) return NULL;
    const nl_value *value = bind->constants[1];
    const bool is_whole = bind->row->name[0] == 'c' || bind->row->name[0] == 'f'; /* ceil and floor take an integer as it stands */
    if (is_whole && (value == NULL || value->is_null))
        return NL_RAISE(NON_FOLDABLE_ARGUMENT, NL_P_STR("funcName", nl_quoted_name(bind)), NL_P("paramName", "`scale`"), NL_P("paramType", "\"INT\""));
    if (value == NULL) return nl_bind_not_foldable(bind, 1, "`scale`");
    *scale = value->is_null ? 0 : (int32_t)value->integer;
    return NULL;
}

static nl_status bind_round(nl_bind *bind, nl_bound_function *bound)
{
    round_state *state = NL_NEW(bind->arena, round_state);
    const nl_type *type = bind->argument_types[0];
    state->rounding = bind->row->name[0] == 'b' ? NL_ROUND_HALF_EVEN : NL_ROUND_HALF_UP;
    NL_TRY(scale_argument(bind, &state->scale));
    bound->state = state;
    bound->result_type = type->id == NL_TYPE_DECIMAL ? rounded_type(type, state->scale) : type;
    bound->kernel = type->id == NL_TYPE_DECIMAL ? round_decimal_kernel : nl_type_is_integral(type) ? round_integer_kernel : round_real_kernel;
    bound->can_fail = bind->confs->is_ansi && bound->kernel != round_real_kernel;
    return NULL;
}

/* --- ceil, floor --- */

static inline int64_t to_long(double value) /* Java's (long) */
{
    if (isnan(value)) return 0;
    if (value >= 9223372036854775807.0) return INT64_MAX;
    return value <= -9223372036854775808.0 ? INT64_MIN : (int64_t)value;
}
#define CEIL_LONG(x)  to_long(ceil(x))
#define FLOOR_LONG(x) to_long(floor(x))
NL_UNARY_KERNEL(ceil_kernel, double, int64_t, CEIL_LONG)
NL_UNARY_KERNEL(floor_kernel, double, int64_t, FLOOR_LONG)

static nl_status whole_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    (void)length;
    nl_vector_ref(&args[0], out);
    return NULL;
}

static nl_status bind_ceil(nl_bind *bind, nl_bound_function *bound)
{
    bool is_ceil = bind->row->name[0] == 'c';
    round_state *state = NL_NEW(bind->arena, round_state);
    state->rounding = is_ceil ? NL_ROUND_CEILING : NL_ROUND_FLOOR;
    const nl_value *given = bind->argument_count > 1 && bind->given_constants ? bind->given_constants[1] : NULL;
    if (given != NULL && (given->is_null || given->type->id == NL_TYPE_STRING))
        return NL_RAISE(NON_FOLDABLE_ARGUMENT, NL_P("funcName", is_ceil ? "`ceil`" : "`floor`"), NL_P("paramName", "`scale`"), NL_P("paramType", "\"INT\""));
    NL_TRY(scale_argument(bind, &state->scale));
    bound->state = state;
    const nl_type *type = bind->argument_types[0];
    bool has_scale = bind->argument_count > 1;
    if (has_scale && type->id != NL_TYPE_DECIMAL)
        type = nl_type_is_integral(type) ? nl_decimal_of_integer(type) : type->id == NL_TYPE_FLOAT ? nl_type_decimal(14, 7) : nl_type_decimal(30, 15);
    if (type->id == NL_TYPE_DECIMAL) {
        bound->result_type = type->scale == 0 && !has_scale ? type : rounded_type(type, state->scale);
        if (!has_scale && type->scale > 0) bound->result_type = nl_type_decimal(NL_MIN(type->precision - type->scale + 1, 38), 0);
        bound->kernel = round_decimal_kernel;
    } else if (nl_type_is_integral(type)) {
        type = bound->result_type = nl_type_bigint();
        bound->kernel = whole_kernel;
    } else {
        type = nl_type_double();
        bound->result_type = nl_type_bigint();
        bound->kernel = is_ceil ? ceil_kernel : floor_kernel;
    }
    bind->argument_types[0] = type;
    bound->can_fail = bound->kernel == round_decimal_kernel && bind->confs->is_ansi;
    return NULL;
}

#define ROUND_ROW(types, how)                                                                                    \
    .kind = NL_FUNCTION_SCALAR, .group = "math", .nulls = NL_NULL_IN_NULL_OUT, .can_fail = true, .signature = types, .bind = how

static const nl_function_row rows[] = {
    {.name = "round", ROUND_ROW("(numeric [, int]) -> ?", bind_round), .since = "1.5.0", .doc = "The number rounded to some decimals, halves away from zero.",
     .examples = {{"round(2.5, 0)", "3"}, {"round(12345, -2)", "12300"}}},
    {.name = "bround", ROUND_ROW("(numeric [, int]) -> ?", bind_round), .since = "2.0.0", .doc = "The number rounded to some decimals, halves to the even digit.",
     .examples = {{"bround(2.5, 0)", "2"}}},
    {.name = "ceil", .aliases = "ceiling", ROUND_ROW("(numeric [, int]) -> ?", bind_ceil), .since = "1.4.0", .doc = "The least number with so many decimals that is not less.",
     .examples = {{"ceil(-0.1)", "0"}, {"ceil(3.1411, 3)", "3.142"}}},
    {.name = "floor", ROUND_ROW("(numeric [, int]) -> ?", bind_ceil), .since = "1.4.0", .doc = "The greatest number with so many decimals that is not greater.",
     .examples = {{"floor(-0.1)", "-1"}, {"floor(3.1411, 3)", "3.141"}}},
};

NL_DEFINE_FUNCTION_GROUP(round, rows);
