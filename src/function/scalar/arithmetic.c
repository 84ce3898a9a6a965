/* scalar/arithmetic.c - the rows of + - * / % div pmod and their try_ forms, and how they choose operand and result
 * types: strings become numbers, integers widen, decimals follow Spark's precision rules, times have their own file.
 */
#include "function/scalar/arithmetic.h"

#include "function/groups.h"

nl_status nl_arith_divide_by_zero(void)
{
    return NL_RAISE(DIVIDE_BY_ZERO, NL_P("config", "\"spark.sql.ansi.enabled\""));
}

static bool is_time_type(const nl_type *type)
{
    return type->id >= NL_TYPE_DATE && type->id <= NL_TYPE_INTERVAL;
}

static bool is_real(const nl_type *type)
{
    return type->id == NL_TYPE_FLOAT || type->id == NL_TYPE_DOUBLE;
}

static nl_status wrong_type(const nl_bind *bind, const nl_arith *arith)
{
    const char *required = "\"NUMERIC\"";
    if (arith->op == NL_ARITH_ADD || arith->op == NL_ARITH_SUBTRACT)
        required = "(\"NUMERIC\" or \"INTERVAL DAY TO SECOND\" or \"INTERVAL YEAR TO MONTH\" or \"INTERVAL\")";
    if (arith->op == NL_ARITH_DIVIDE) required = "(\"DOUBLE\" or \"DECIMAL\")";
    if (arith->op == NL_ARITH_DIV)
        required = "(\"BIGINT\" or \"DECIMAL\" or \"INTERVAL YEAR TO MONTH\" or \"INTERVAL DAY TO SECOND\")";
    return NL_RAISE(DATATYPE_MISMATCH__BINARY_OP_WRONG_TYPE,
                    NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))), NL_P("inputType", required),
                    NL_P_STR("actualDataType", nl_quoted_type(bind->arena, bind->argument_types[0])));
}

/* A string beside a number is read as that kind of number; a void takes the other's type. */
static void promote(nl_bind *bind, uint32_t i, const nl_type *other)
{
    const nl_type *type = bind->argument_types[i];
    if (type->id == NL_TYPE_NULL) {
        bind->argument_types[i] = other->id == NL_TYPE_NULL ? nl_type_double() : other;
    } else if (type->id == NL_TYPE_STRING && other->id != NL_TYPE_STRING) {
        if (!bind->confs->is_ansi)
            bind->argument_types[i] = nl_type_double();
        else if (nl_type_is_integral(other))
            bind->argument_types[i] = nl_type_bigint();
        else if (nl_type_is_numeric(other) || other->id == NL_TYPE_NULL)
            bind->argument_types[i] = nl_type_double();
        else if (!nl_type_is_nested(other)) /* what it is then is refused */
            bind->argument_types[i] = other;
    }
}

/* The type an integral operand takes beside a decimal: a literal only as many digits as it has. */
static const nl_type *decimal_operand(const nl_bind *bind, uint32_t i)
{
    const nl_type *type = bind->argument_types[i];
    if (type->id == NL_TYPE_DECIMAL) return type;
    const nl_value *value = bind->constants[i];
    if (bind->confs->is_trino) return nl_decimal_of_integer_in_trino(type);
    if (bind->is_literal[i] && value != NULL && !value->is_null && nl_type_is_integral(value->type))
        return nl_type_decimal(nl_decimal_digits(value->integer), 0);
    return nl_decimal_of_integer(type);
}

/* spark.sql.decimalOperations.allowPrecisionLoss=false: precision and scale are cut at 38; what does not fit overflows. */
static const nl_type *unadjusted_result(const nl_arith *arith, int precision, int scale)
{
    if (arith->op == NL_ARITH_DIVIDE) { /* digits before and behind the point give way in equal parts */
        const int digits = NL_MIN(38, precision - scale);
        const int behind = NL_MIN(38, scale);
        const int excess = digits + behind - 38;
        scale = excess > 0 ? behind - (excess / 2 + 1) : behind;
        precision = excess > 0 ? 38 : digits + behind;
    }
    return nl_type_decimal((uint8_t)NL_MIN(precision, 38), (uint8_t)NL_MIN(scale, 38));
}

static const nl_type *decimal_result(nl_arith *arith, bool keeps_scale)
{
    int p1 = arith->a->precision;
    int s1 = arith->a->scale;
    int p2 = arith->b->precision;
    int s2 = arith->b->scale;
    int precision = 0;
    int scale = 0;
    switch (arith->op) {
    case NL_ARITH_ADD:
    case NL_ARITH_SUBTRACT:
        scale = NL_MAX(s1, s2);
        precision = NL_MAX(p1 - s1, p2 - s2) + scale + 1;
        break;
    case NL_ARITH_MULTIPLY:
        scale = s1 + s2;
        precision = p1 + p2 + 1;
        break;
    case NL_ARITH_DIVIDE:
        scale = NL_MAX(6, s1 + p2 + 1);
        precision = p1 - s1 + s2 + scale;
        break;
    case NL_ARITH_MOD:
    case NL_ARITH_PMOD:
        scale = NL_MAX(s1, s2);
        precision = NL_MIN(p1 - s1, p2 - s2) + scale;
        break;
    case NL_ARITH_DIV:
        precision = NL_MIN(NL_MAX(p1 - s1 + s2, 1), 38);
        break;
    }
    arith->is_exact = precision <= 38;
    return keeps_scale ? unadjusted_result(arith, precision, scale) : nl_decimal_adjust(precision, scale);
}

/* Trino's: scales are kept as they are, the precision is cut at 38. data NULL: more scale than there can be. */
static const nl_type *decimal_result_in_trino(nl_arith *arith)
{
    const int p1 = arith->a->precision, s1 = arith->a->scale, p2 = arith->b->precision, s2 = arith->b->scale;
    int scale = NL_MAX(s1, s2), precision = NL_MAX(p1 - s1, p2 - s2) + scale + 1;
    if (arith->op == NL_ARITH_MULTIPLY) {
        scale = s1 + s2;
        precision = p1 + p2;
    } else if (arith->op == NL_ARITH_DIVIDE) {
        precision = p1 + s2 + NL_MAX(s2 - s1, 0);
    } else if (arith->op == NL_ARITH_MOD || arith->op == NL_ARITH_PMOD) {
        precision = NL_MIN(p1 - s1, p2 - s2) + scale;
    }
    arith->is_exact = precision <= 38;
    return scale > 38 ? NULL : nl_type_decimal(NL_MIN(precision, 38), scale);
}

static nl_status bind_decimal(nl_bind *bind, nl_bound_function *bound, nl_arith *arith)
{
    arith->a = bind->argument_types[0] = decimal_operand(bind, 0);
    arith->b = bind->argument_types[1] = decimal_operand(bind, 1);
    bound->result_type = bind->confs->is_trino && arith->op != NL_ARITH_DIV ? decimal_result_in_trino(arith) : decimal_result(arith, bind->confs->keeps_scale);
    if (!bound->result_type) return NL_RAISE(DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION, NL_P_INT("precision", arith->a->scale + arith->b->scale), NL_P_INT("maxPrecision", 38));
    if (arith->op == NL_ARITH_DIV) bound->result_type = nl_type_bigint();
    bound->kernel = nl_decimal_kernel(arith);
    if (!arith->is_exact || arith->op >= NL_ARITH_DIVIDE) bound->is_nullable |= arith->mode != NL_ARITH_RAISE;
    return NULL;
}

static nl_status bind_numbers(nl_bind *bind, nl_bound_function *bound, nl_arith *arith)
{
    const nl_type *a = bind->argument_types[0];
    const nl_type *b = bind->argument_types[1];
    bool has_real = is_real(a) || is_real(b);
    bool has_decimal = a->id == NL_TYPE_DECIMAL || b->id == NL_TYPE_DECIMAL;
    if (arith->op == NL_ARITH_DIV) {
        if (has_real) {
            if (nl_type_is_integral(a)) bind->argument_types[0] = nl_type_bigint();
            if (nl_type_is_integral(b)) bind->argument_types[1] = nl_type_bigint();
            return nl_type_equal(a, b) ? wrong_type(bind, arith) : nl_bind_diff_types(bind);
        }
        if (!has_decimal) bind->argument_types[0] = bind->argument_types[1] = nl_type_bigint();
    }
    if (has_decimal && !has_real) return bind_decimal(bind, bound, arith);
    const nl_type *common = nl_common_type(bind->arena, bind->argument_types[0], bind->argument_types[1], nl_confs_rules(bind->confs));
    if (arith->op == NL_ARITH_DIVIDE && !(bind->confs->is_trino && is_real(common))) common = nl_type_double();
    arith->is_ieee = bind->confs->is_trino && is_real(common);
    arith->a = arith->b = bind->argument_types[0] = bind->argument_types[1] = common;
    bound->result_type = common;
    bound->kernel = is_real(common) ? nl_real_kernel(arith) : nl_integer_kernel(arith);
    return NULL;
}

static nl_arith_op op_of(const char *name)
{
    static const struct {
        const char *name;
        nl_arith_op op;
    } ops[] = {
        {"+", NL_ARITH_ADD},          {"-", NL_ARITH_SUBTRACT},          {"*", NL_ARITH_MULTIPLY},
        {"/", NL_ARITH_DIVIDE},       {"%", NL_ARITH_MOD},               {"pmod", NL_ARITH_PMOD},
        {"div", NL_ARITH_DIV},        {"try_add", NL_ARITH_ADD},         {"try_subtract", NL_ARITH_SUBTRACT},
        {"try_multiply", NL_ARITH_MULTIPLY}, {"try_divide", NL_ARITH_DIVIDE}, {"try_mod", NL_ARITH_MOD},
    };
    for (uint32_t i = 0; i < NL_COUNT(ops); i++)
        if (strcmp(ops[i].name, name) == 0) return ops[i].op;
    return NL_ARITH_ADD;
}

static nl_status bind_arithmetic(nl_bind *bind, nl_bound_function *bound)
{
    nl_arith *arith = NL_NEW(bind->arena, nl_arith);
    bool is_try = strncmp(bind->row->name, "try_", 4) == 0;
    arith->op = op_of(bind->row->name);
    arith->mode = is_try ? NL_ARITH_NULL : bind->confs->is_ansi ? NL_ARITH_RAISE : NL_ARITH_WRAP;
    bound->state = arith;
    bound->can_fail = arith->mode == NL_ARITH_RAISE;
    const nl_type *const given[2] = {bind->argument_types[0], bind->argument_types[1]};
    if (is_time_type(given[0]) || is_time_type(given[1])) {
        bool is_handled = false;
        NL_TRY(nl_bind_time_arithmetic(bind, bound, arith, &is_handled));
        if (is_handled) return NULL;
        /* Beside a date or a timestamp a string is one, too. */
        const nl_type *time = given[given[0]->id == NL_TYPE_STRING];
        const bool is_date = time->id == NL_TYPE_DATE || time->id == NL_TYPE_TIMESTAMP || time->id == NL_TYPE_TIMESTAMP_NTZ;
        const bool has_string = given[0]->id == NL_TYPE_STRING || given[1]->id == NL_TYPE_STRING;
        const bool is_one_type = is_date && (nl_type_equal(given[0], given[1]) || (has_string && bind->confs->is_ansi));
        if (!is_one_type) return nl_bind_diff_types(bind);
        bind->argument_types[0] = bind->argument_types[1] = time;
        return wrong_type(bind, arith);
    }
    promote(bind, 0, given[1]);
    promote(bind, 1, given[0]);
    const nl_type *a = bind->argument_types[0];
    const nl_type *b = bind->argument_types[1];
    if (!nl_type_is_numeric(a) || !nl_type_is_numeric(b))
        return nl_type_equal(a, b) ? wrong_type(bind, arith) : nl_bind_diff_types(bind);
    bool may_be_null = arith->mode == NL_ARITH_NULL || (arith->mode == NL_ARITH_WRAP && arith->op >= NL_ARITH_DIVIDE);
    bound->is_nullable |= may_be_null;
    return bind_numbers(bind, bound, arith);
}

/* --- unary --- */

static nl_status unary_overflow(const nl_type *type)
{
    static const char *const words[] = {"byte overflow", "short overflow", "integer overflow", "long overflow"};
    return NL_RAISE(ARITHMETIC_OVERFLOW, NL_P("message", words[type->id - NL_TYPE_TINYINT]), NL_P("alternative", ""),
                    NL_P("config", "\"spark.sql.ansi.enabled\""));
}

typedef struct unary {
    bool is_abs;
    bool raises;
} unary;

static nl_status unary_interval(const unary *state, nl_output *output, const nl_reader *in, uint32_t row)
{
    (void)state;
    const nl_interval *value = (const nl_interval *)in->values + nl_reader_index(in, row);
    nl_interval *result = (nl_interval *)output->values + row;
    if (__builtin_sub_overflow(0, value->months, &result->months) || __builtin_sub_overflow(0, value->days, &result->days) ||
        __builtin_sub_overflow(0, value->micros, &result->micros))
        return NL_RAISE(INTERVAL_ARITHMETIC_OVERFLOW__WITHOUT_SUGGESTION);
    return NULL;
}

/* - and abs of every numeric and interval type. The smallest integer has no negative. */
static nl_status unary_kernel(NL_KERNEL_PARAMETERS)
{
    const unary *state = function->state;
    nl_physical physical = function->result_type->physical;
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader in;
    nl_reader_init(&in, &args[0]);
    uint32_t bits = nl_physical_size(physical) * 8;
    NL_EACH_SELECTED(row)
    {
        uint32_t index = nl_reader_index(&in, row);
        if (physical == NL_PHYS_F64) {
            double value = ((const double *)in.values)[index];
            ((double *)output.values)[row] = state->is_abs ? __builtin_fabs(value) : -value;
        } else if (physical == NL_PHYS_F32) {
            float value = ((const float *)in.values)[index];
            ((float *)output.values)[row] = state->is_abs ? __builtin_fabsf(value) : -value;
        } else if (physical == NL_PHYS_INTERVAL) {
            NL_TRY(unary_interval(state, &output, &in, row));
        } else {
            nl_int128 value = nl_physical_i128(physical, in.values, index);
            bool is_smallest = bits < 128 && value == -((nl_int128)1 << (bits - 1));
            if (NL_UNLIKELY(is_smallest) && state->raises && nl_type_is_integral(function->result_type))
                return unary_overflow(function->result_type);
            if (NL_UNLIKELY(is_smallest) && !nl_type_is_numeric(function->result_type))
                return NL_RAISE(INTERVAL_ARITHMETIC_OVERFLOW__WITHOUT_SUGGESTION);
            nl_physical_set_i128(physical, output.values, row, state->is_abs && value > 0 ? value : -value);
        }
    }
    return NULL;
}

static nl_status bind_unary(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_types[0];
    bool is_abs = strcmp(bind->row->name, "abs") == 0;
    if (type->id == NL_TYPE_NULL || type->id == NL_TYPE_STRING) type = bind->argument_types[0] = nl_type_double();
    bool is_interval = type->id == NL_TYPE_INTERVAL_YM || type->id == NL_TYPE_INTERVAL_DT ||
                       (type->id == NL_TYPE_INTERVAL && !is_abs);
    if (!nl_type_is_numeric(type) && !is_interval)
        return nl_bind_unexpected_type(bind, 0, is_abs ? "(\"NUMERIC\" or \"INTERVAL DAY TO SECOND\" or \"INTERVAL YEAR TO MONTH\")"
                                                       : "(\"NUMERIC\" or \"INTERVAL DAY TO SECOND\" or \"INTERVAL YEAR TO MONTH\" or \"INTERVAL\")");
    unary *state = NL_NEW(bind->arena, unary);
    *state = (unary){.is_abs = is_abs, .raises = bind->confs->is_ansi};
    bound->state = state;
    bound->result_type = type;
    bound->can_fail = bind->confs->is_ansi && !(is_real(type) || type->id == NL_TYPE_DECIMAL);
    return NULL;
}

static nl_status positive_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    (void)length;
    nl_vector_ref(&args[0], out);
    return NULL;
}

static nl_status bind_positive(nl_bind *bind, nl_bound_function *bound)
{
    NL_TRY(bind_unary(bind, bound));
    bound->can_fail = false;
    return NULL;
}

#define ARITHMETIC_ROW                                                                                                \
    .kind = NL_FUNCTION_SCALAR, .group = "math", .signature = "(any, any) -> ?", .nulls = NL_NULL_IN_NULL_OUT,      \
    .is_dense = true, .keeps_non_null = true, .can_fail = true, .bind = bind_arithmetic
#define UNARY_ROW                                                                                                  \
    .kind = NL_FUNCTION_SCALAR, .group = "math", .signature = "(any) -> ?", .nulls = NL_NULL_IN_NULL_OUT,        \
    .keeps_non_null = true, .can_fail = true

static const nl_function_row rows[] = {
    {.name = "+", ARITHMETIC_ROW, .since = "1.0.0", .doc = "The sum of two numbers, of two intervals, or of a date or time and an interval or days.",
     .examples = {{"1 + 2", "3"}, {"date'2020-01-31' + 1", "2020-02-01"}}},
    {.name = "-", ARITHMETIC_ROW, .since = "1.0.0", .doc = "The difference of two numbers, intervals, dates or times.",
     .examples = {{"2 - 1", "1"}, {"date'2020-01-02' - date'2020-01-01'", "1 00:00:00.000000000"}}},
    {.name = "*", ARITHMETIC_ROW, .since = "1.0.0", .doc = "The product of two numbers, or of an interval and a number.",
     .examples = {{"2 * 3", "6"}}},
    {.name = "/", ARITHMETIC_ROW, .since = "1.0.0", .doc = "The quotient: always fractional for numbers; an interval may be divided by a number.",
     .examples = {{"3 / 2", "1.5"}, {"2L / 2L", "1.0"}}},
    {.name = "%", .aliases = "mod", ARITHMETIC_ROW, .since = "1.0.0", .doc = "The remainder of a division, with the sign of the dividend.",
     .examples = {{"2 % 1.8", "0.2"}, {"mod(-7, 3)", "-1"}}},
    {.name = "div", ARITHMETIC_ROW, .since = "3.0.0", .doc = "The whole part of a quotient, as BIGINT.",
     .examples = {{"3 div 2", "1"}, {"-7 div 2", "-3"}}},
    {.name = "pmod", ARITHMETIC_ROW, .since = "1.5.0", .doc = "The remainder made positive by adding the divisor.",
     .examples = {{"pmod(10, 3)", "1"}, {"pmod(-10, 3)", "2"}}},
    {.name = "try_add", ARITHMETIC_ROW, .since = "3.2.0", .doc = "The sum, or NULL when it overflows.",
     .examples = {{"try_add(1, 2)", "3"}, {"try_add(2147483647, 1)", "NULL"}}},
    {.name = "try_subtract", ARITHMETIC_ROW, .since = "3.3.0", .doc = "The difference, or NULL when it overflows.",
     .examples = {{"try_subtract(2, 1)", "1"}, {"try_subtract(-2147483648, 1)", "NULL"}}},
    {.name = "try_multiply", ARITHMETIC_ROW, .since = "3.3.0", .doc = "The product, or NULL when it overflows.",
     .examples = {{"try_multiply(2, 3)", "6"}, {"try_multiply(-2147483648, 10)", "NULL"}}},
    {.name = "try_divide", ARITHMETIC_ROW, .since = "3.2.0", .doc = "The quotient, or NULL when the divisor is zero.",
     .examples = {{"try_divide(3, 2)", "1.5"}, {"try_divide(1, 0)", "NULL"}}},
    {.name = "try_mod", ARITHMETIC_ROW, .since = "4.0.0", .doc = "The remainder, or NULL when the divisor is zero.",
     .examples = {{"try_mod(3, 2)", "1"}, {"try_mod(3, 0)", "NULL"}}},
    {.name = "negative", UNARY_ROW, .since = "1.0.0", .doc = "The number or interval with the opposite sign.", .bind = bind_unary,
     .kernel = unary_kernel, .examples = {{"negative(1)", "-1"}}},
    {.name = "abs", UNARY_ROW, .since = "1.2.0", .doc = "The absolute value of a number or interval.", .bind = bind_unary,
     .kernel = unary_kernel, .examples = {{"abs(-1)", "1"}, {"abs(INTERVAL -'1-1' YEAR TO MONTH)", "1-1"}}},
    {.name = "positive", UNARY_ROW, .since = "1.5.0", .doc = "The number or interval as it is.", .bind = bind_positive,
     .kernel = positive_kernel, .examples = {{"positive(1)", "1"}}},
};

NL_DEFINE_FUNCTION_GROUP(arithmetic, rows);
