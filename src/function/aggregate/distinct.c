/* aggregate/distinct.c - approx_count_distinct: HyperLogLog++ over Spark's xxhash64 of each value.
 *
 * Heule, Nunkesser, Hall, "HyperLogLog in Practice" (2013), without the sparse form. Registers are bytes, 2^precision of
 * them, made when the first value comes; the sum over them runs in register order, so that the last bits are Spark's.
 */
#include "function/aggregate/parameter.h"
#include "function/cast.h"
#include "function/groups.h"
#include "function/java_math.h"
#include "function/scalar/hash.h"

#include <math.h>

#include "function/aggregate/distinct_bias.inc.h"

#define PRECISION_MIN      4u
#define PRECISION_MAX      20u /* a million registers per group */
#define PRECISION_BIAS_MAX 18u /* the tables' last */
#define NEIGHBOURS         6u  /* estimates that a bias is averaged over */
#define HASH_SEED          42u

typedef struct registers {
    nl_agg_bytes bytes; /* length 0 or 2^precision */
} registers;
NL_AGGREGATE_SIZE(distinct, registers)

typedef struct distinct_how {
    uint32_t precision;
} distinct_how;

static nl_status make_registers(const nl_bound_function *function, nl_eval *eval, registers *s)
{
    if (s->bytes.length > 0) return NULL;
    size_t count = (size_t)1 << ((const distinct_how *)function->state)->precision;
    NL_TRY(nl_agg_bytes_reserve(&s->bytes, eval->memory, count));
    memset(s->bytes.data, 0, count);
    s->bytes.length = count;
    return NULL;
}

static nl_status distinct_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                               uint32_t row, void *state)
{
    (void)readers;
    registers *s = state;
    uint32_t precision = ((const distinct_how *)function->state)->precision;
    NL_TRY(make_registers(function, eval, s));
    uint64_t hash = nl_row_xxhash64(&args[0], row, HASH_SEED);
    uint64_t rest = (hash << precision) | (1ull << (precision - 1)); /* a stop, so that it is not zero */
    char rank = (char)(__builtin_clzll(rest) + 1);
    char *kept = &s->bytes.data[hash >> (64 - precision)];
    if (*kept < rank) *kept = rank;
    return NULL;
}
NL_AGGREGATE_STEPS(distinct, 1, distinct_step)

static nl_status distinct_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    (void)function;
    const registers *s = state;
    return nl_agg_bytes_append(bytes, eval->memory, s->bytes.data, s->bytes.length);
}

static nl_status distinct_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    registers *s = state;
    if (partial.length == 0) return NULL;
    NL_TRY(make_registers(function, eval, s));
    NL_CHECK(partial.length == s->bytes.length);
    for (size_t i = 0; i < partial.length; i++)
        if (s->bytes.data[i] < partial.data[i]) s->bytes.data[i] = partial.data[i];
    return NULL;
}
NL_ENCODED_PARTIALS(distinct, distinct_encode, distinct_merge_one)

/* The mean bias of the estimates nearest to `estimate`. */
static double bias_of(uint32_t precision, double estimate)
{
    const bias_table *table = &bias_tables[precision - PRECISION_MIN];
    uint32_t nearest = 0; /* the first that is not smaller */
    while (nearest < table->count && table->estimates[nearest] < estimate) nearest++;
    uint32_t low = nearest + 1 > NEIGHBOURS ? nearest + 1 - NEIGHBOURS : 0;
    uint32_t high = NL_MIN(low + NEIGHBOURS, table->count);
    while (high < table->count) {
        double above = estimate - table->estimates[high];
        double below = estimate - table->estimates[low];
        if (above * above >= below * below) break;
        low++;
        high++;
    }
    double sum = 0;
    for (uint32_t i = low; i < high; i++) sum += table->biases[i];
    return sum / (high - low);
}

static double alpha_of(uint32_t precision, double m)
{
    switch (precision) {
    case 4:
        return 0.673 * m * m;
    case 5:
        return 0.697 * m * m;
    case 6:
        return 0.709 * m * m;
    default:
        return 0.7213 / (1.0 + 1.079 / m) * m * m;
    }
}

static double estimate_of(const registers *s, uint32_t precision)
{
    /* Up to these numbers, counting the registers that are still zero is the better estimate (Heule and others). */
    static const double thresholds[] = {10, 20, 40, 80, 220, 400, 900, 1800, 3100, 6500, 15500, 20000, 50000, 120000, 350000};
    double m = (double)((uint64_t)1 << precision);
    double inverse = 0;
    double zeros = 0;
    for (size_t i = 0; i < s->bytes.length; i++) {
        inverse += 1.0 / (double)(1ull << s->bytes.data[i]);
        zeros += s->bytes.data[i] == 0;
    }
    double raw = alpha_of(precision, m) / inverse;
    bool has_table = precision <= PRECISION_BIAS_MAX;
    if (zeros > 0) {
        double linear = m * nl_java_log(m / zeros);
        if ((has_table && linear <= thresholds[precision - PRECISION_MIN]) || raw <= 2.5 * m) return linear;
    }
    return has_table && raw < 5.0 * m ? raw - bias_of(precision, raw) : raw;
}

static nl_status distinct_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)eval;
    const registers *s = state;
    if (s->bytes.length == 0) return nl_column_builder_i64(builder, 0);
    double estimate = estimate_of(s, ((const distinct_how *)function->state)->precision);
    return nl_column_builder_i64(builder, (int64_t)floor(estimate + 0.5));
}
NL_BUILT_RESULT(distinct, distinct_result)

static void distinct_destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    (void)function;
    nl_agg_bytes_free(&((registers *)state)->bytes, eval->memory);
}
NL_ENCODED_OPS(distinct);

static nl_status bind_distinct(nl_bind *bind, nl_bound_function *bound)
{
    double deviation = 0.05;
    if (bind->argument_count > 1) {
        const nl_value *given = bind->constants ? bind->constants[1] : NULL;
        if (given == NULL || given->is_null || (given->type->id != NL_TYPE_DECIMAL && given->type->id != NL_TYPE_DOUBLE))
            return NL_RAISE(_LEGACY_ERROR_TEMP_1104);
        deviation = given->type->id == NL_TYPE_DOUBLE ? given->real : nl_decimal_to_double(given->decimal, given->type->scale);
    }
    double precision = ceil(2.0 * nl_java_log(1.106 / deviation) / nl_java_log(2.0));
    if (!(precision >= PRECISION_MIN && precision <= PRECISION_MAX))
        return NL_RAISE(FAILED_FUNCTION_CALL, NL_P_STR("funcName", nl_quoted_name(bind)));
    distinct_how *how = NL_NEW(bind->arena, distinct_how);
    how->precision = (uint32_t)precision;
    bound->state = how;
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "approx_count_distinct", NL_AGGREGATE_ROW, .signature = "(any [, any]) -> bigint", .keeps_non_null = true, .bind = bind_distinct,
     .aggregate = &distinct_ops, .since = "1.6.0",
     .doc = "An estimate of the number of different values by HyperLogLog++; the second argument is the relative standard deviation allowed, 0.05 when left out.",
     .examples = {{"approx_count_distinct(col1) FROM VALUES (1), (1), (2), (2), (3)", "3"}}},
};

NL_DEFINE_FUNCTION_GROUP(distinct, rows);
