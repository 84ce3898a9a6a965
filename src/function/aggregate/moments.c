/* aggregate/moments.c - variance, standard deviation, skewness, kurtosis, covariance, correlation, regr_*.
 *
 * One-pass updates of central moments and their merging, in the order of operations Spark uses, so that the last digits
 * agree (Meng, "Simpler Online Updates for Arbitrary-Order Central Moments", 2015; Chan, Golub, LeVeque, 1979).
 */
#include <math.h>

#include "function/aggregate/state.h"
#include "function/groups.h"

/* --- of one variable --- */

typedef struct moments {
    double n;
    double mean;
    double m2;
    double m3;
    double m4;
} moments;
NL_AGGREGATE_SIZE(moments, moments)

static void add_value(moments *s, double x)
{
    double n = s->n + 1.0;
    double delta = x - s->mean;
    double delta_n = delta / n;
    double m2 = s->m2 + delta * (delta - delta_n);
    double delta2 = delta * delta;
    double delta_n2 = delta_n * delta_n;
    double m3 = s->m3 - 3.0 * delta_n * m2 + delta * (delta2 - delta_n2);
    s->m4 = s->m4 - 4.0 * delta_n * m3 - 6.0 * delta_n2 * m2 + delta * (delta * delta2 - delta_n * delta_n2);
    s->n = n;
    s->mean += delta_n;
    s->m2 = m2;
    s->m3 = m3;
}

static nl_status moments_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                              uint32_t row, void *state)
{
    (void)function;
    (void)eval;
    (void)args;
    add_value(state, nl_reader_f64(&readers[0], row));
    return NULL;
}
NL_AGGREGATE_STEPS(moments, 1, moments_step)

static void moments_merge_state(moments *a, const moments *b)
{
    if (b->n == 0) return;
    double n1 = a->n;
    double n2 = b->n;
    double n = n1 + n2;
    double delta = b->mean - a->mean;
    double delta_n = delta / n;
    double m4 = a->m4 + b->m4 + delta_n * delta_n * delta_n * delta * n1 * n2 * (n1 * n1 - n1 * n2 + n2 * n2) +
                6.0 * delta_n * delta_n * (n1 * n1 * b->m2 + n2 * n2 * a->m2) + 4.0 * delta_n * (n1 * b->m3 - n2 * a->m3);
    double m3 = a->m3 + b->m3 + delta_n * delta_n * delta * n1 * n2 * (n1 - n2) + 3.0 * delta_n * (n1 * b->m2 - n2 * a->m2);
    a->m2 = a->m2 + b->m2 + delta * delta_n * n1 * n2;
    a->m3 = m3;
    a->m4 = m4;
    a->mean = n1 == 0 ? b->mean : a->mean + delta_n * n2;
    a->n = n;
}
NL_POD_MERGE(moments, moments, moments_merge_state)

/* --- product: only for DataFrames --- */

typedef struct product {
    double value;
    bool has_value;
} product;
NL_AGGREGATE_SIZE(product, product)

static nl_status product_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                              uint32_t row, void *state)
{
    (void)function;
    (void)eval;
    (void)args;
    product *s = state;
    s->value = (s->has_value ? s->value : 1) * nl_reader_f64(&readers[0], row);
    s->has_value = true;
    return NULL;
}
NL_AGGREGATE_STEPS(product, 1, product_step)

static void product_merge_state(product *a, const product *b)
{
    if (!b->has_value) return;
    a->value = (a->has_value ? a->value : 1) * b->value;
    a->has_value = true;
}
NL_POD_MERGE(product, product, product_merge_state)

static nl_status product_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)function;
    (void)eval;
    const product *s = state;
    return s->has_value ? nl_column_builder_f64(builder, s->value) : nl_column_builder_null(builder);
}
NL_BUILT_RESULT(product, product_result)
NL_POD_OPS(product);

typedef enum moment_kind { KIND_VAR_POP, KIND_VAR_SAMP, KIND_STD_POP, KIND_STD_SAMP, KIND_SKEWNESS, KIND_KURTOSIS } moment_kind;
typedef struct moment_how {
    const char *name;
    moment_kind kind;
} moment_how;

static bool moment_of(const moments *s, moment_kind kind, double *result)
{
    if (s->n == 0) return false;
    switch (kind) {
    case KIND_VAR_POP:
        *result = s->m2 / s->n;
        return true;
    case KIND_STD_POP:
        *result = sqrt(s->m2 / s->n);
        return true;
    case KIND_VAR_SAMP:
        *result = s->m2 / (s->n - 1.0);
        return s->n > 1;
    case KIND_STD_SAMP:
        *result = sqrt(s->m2 / (s->n - 1.0));
        return s->n > 1;
    case KIND_SKEWNESS:
        *result = sqrt(s->n) * s->m3 / sqrt(s->m2 * s->m2 * s->m2);
        return s->m2 != 0;
    case KIND_KURTOSIS:
        *result = s->n * s->m4 / (s->m2 * s->m2) - 3.0;
        return s->m2 != 0;
    }
    return false;
}

static nl_status moments_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)eval;
    double result = 0;
    const moment_how *how = function->state;
    return moment_of(state, how->kind, &result) ? nl_column_builder_f64(builder, result) : nl_column_builder_null(builder);
}
NL_BUILT_RESULT(moments, moments_result)
NL_POD_OPS(moments);

static nl_status bind_moments(nl_bind *bind, nl_bound_function *bound)
{
    static const moment_how kinds[] = {{"var_pop", KIND_VAR_POP},     {"variance", KIND_VAR_SAMP},  {"stddev_pop", KIND_STD_POP},
                                       {"stddev", KIND_STD_SAMP},     {"skewness", KIND_SKEWNESS}, {"kurtosis", KIND_KURTOSIS}};
    for (uint32_t i = 0; i < NL_COUNT(kinds); i++)
        if (strcmp(kinds[i].name, bind->row->name) == 0) bound->state = &kinds[i];
    return NULL;
}

/* --- of two variables; rows with a null are passed over --- */

typedef struct pair {
    double n;
    double x_mean;
    double y_mean;
    double ck; /* sum of products of deviations */
    double x_mk;
    double y_mk;
} pair;
NL_AGGREGATE_SIZE(pair, pair)

typedef enum pair_kind {
    PAIR_COVAR_POP,
    PAIR_COVAR_SAMP,
    PAIR_CORR,
    PAIR_COUNT,
    PAIR_SXX,
    PAIR_SYY,
    PAIR_SXY,
    PAIR_SLOPE,
    PAIR_INTERCEPT,
    PAIR_R2
} pair_kind;
typedef struct pair_how {
    const char *name;
    pair_kind kind;
    bool y_first; /* regr_* take (y, x) */
} pair_how;

static nl_status pair_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                           uint32_t row, void *state)
{
    (void)eval;
    (void)args;
    const pair_how *how = function->state;
    pair *s = state;
    double x = nl_reader_f64(&readers[how->y_first], row);
    double y = nl_reader_f64(&readers[!how->y_first], row);
    double n = s->n + 1.0;
    double dx = x - s->x_mean;
    double dy = y - s->y_mean;
    double x_mean = s->x_mean + dx / n;
    double y_mean = s->y_mean + dy / n;
    s->ck += dx * (y - y_mean);
    s->x_mk += dx * (x - x_mean);
    s->y_mk += dy * (y - y_mean);
    s->n = n;
    s->x_mean = x_mean;
    s->y_mean = y_mean;
    return NULL;
}
NL_AGGREGATE_STEPS(pair, 2, pair_step)

static void pair_merge_state(pair *a, const pair *b)
{
    if (b->n == 0) return;
    if (a->n == 0) {
        *a = *b;
        return;
    }
    double n = a->n + b->n;
    double dx = b->x_mean - a->x_mean;
    double dy = b->y_mean - a->y_mean;
    double dx_n = dx / n;
    double dy_n = dy / n;
    a->ck = a->ck + b->ck + dx * dy_n * a->n * b->n;
    a->x_mk = a->x_mk + b->x_mk + dx * dx_n * a->n * b->n;
    a->y_mk = a->y_mk + b->y_mk + dy * dy_n * a->n * b->n;
    a->x_mean += dx_n * b->n;
    a->y_mean += dy_n * b->n;
    a->n = n;
}
NL_POD_MERGE(pair, pair, pair_merge_state)

/* *zero: a division by zero that Spark raises in ANSI mode. */
static bool pair_of(const pair *s, pair_kind kind, double *result, bool *zero)
{
    switch (kind) {
    case PAIR_COVAR_POP:
        *result = s->ck / s->n;
        return s->n > 0;
    case PAIR_COVAR_SAMP:
        *result = s->ck / (s->n - 1.0);
        return s->n > 1;
    case PAIR_CORR:
        *zero = s->n > 1 && s->x_mk * s->y_mk == 0;
        *result = s->ck / sqrt(s->x_mk * s->y_mk);
        return s->n > 1;
    case PAIR_SXX:
        *result = s->x_mk;
        return s->n > 0;
    case PAIR_SYY:
        *result = s->y_mk;
        return s->n > 0;
    case PAIR_SXY:
        *result = s->ck;
        return s->n > 0;
    case PAIR_SLOPE:
        *result = s->ck / s->x_mk;
        return s->n >= 2 && s->x_mk != 0;
    case PAIR_INTERCEPT:
        *result = s->y_mean - s->ck / s->x_mk * s->x_mean;
        return s->n >= 2 && s->x_mk != 0;
    case PAIR_R2:
        *result = s->ck / sqrt(s->x_mk * s->y_mk);
        *result = s->y_mk == 0 ? 1.0 : *result * *result;
        return s->n >= 2 && s->x_mk != 0;
    case PAIR_COUNT:
        break;
    }
    return false;
}

static nl_status pair_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    const pair_how *how = function->state;
    const pair *s = state;
    double result = 0;
    bool zero = false;
    if (how->kind == PAIR_COUNT) return nl_column_builder_i64(builder, (int64_t)s->n);
    bool has_result = pair_of(s, how->kind, &result, &zero);
    if (zero && eval->confs->is_ansi) return NL_RAISE(DIVIDE_BY_ZERO, NL_P("config", "\"spark.sql.ansi.enabled\""));
    return has_result && !zero ? nl_column_builder_f64(builder, result) : nl_column_builder_null(builder);
}
NL_BUILT_RESULT(pair, pair_result)
NL_POD_OPS(pair);

static nl_status bind_pair(nl_bind *bind, nl_bound_function *bound)
{
    static const pair_how kinds[] = {
        {"covar_pop", PAIR_COVAR_POP, false}, {"covar_samp", PAIR_COVAR_SAMP, false}, {"corr", PAIR_CORR, false},
        {"regr_count", PAIR_COUNT, true},     {"regr_sxx", PAIR_SXX, true},           {"regr_syy", PAIR_SYY, true},
        {"regr_sxy", PAIR_SXY, true},         {"regr_slope", PAIR_SLOPE, true},       {"regr_intercept", PAIR_INTERCEPT, true},
        {"regr_r2", PAIR_R2, true}};
    const bool has_decimal = bind->given_types[0]->id == NL_TYPE_DECIMAL || bind->given_types[1]->id == NL_TYPE_DECIMAL;
    if (bind->confs->is_trino && has_decimal) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s of a decimal, which Trino makes a REAL of, is not supported; CAST it to DOUBLE", bind->row->name);
    for (uint32_t i = 0; i < NL_COUNT(kinds); i++)
        if (strcmp(kinds[i].name, bind->row->name) == 0) bound->state = &kinds[i];
    return NULL;
}

/* --- regr_avgx, regr_avgy: the mean of one where neither is null --- */

typedef struct mean_state {
    nl_int128 exact;
    double real;
    int64_t count;
} mean_state;
NL_AGGREGATE_SIZE(mean, mean_state)

static nl_status mean_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                           uint32_t row, void *state)
{
    (void)eval;
    uint32_t i = function->row->name[8] == 'x'; /* regr_avgx(y, x) */
    mean_state *s = state;
    uint32_t index = nl_reader_index(&readers[i], row);
    if (args[i].type->id == NL_TYPE_DECIMAL)
        s->exact += nl_physical_i128(args[i].type->physical, readers[i].values, index);
    else
        s->real += ((const double *)readers[i].values)[index];
    s->count++;
    return NULL;
}
NL_AGGREGATE_STEPS(mean, 2, mean_step)

static void mean_merge_state(mean_state *a, const mean_state *b)
{
    a->exact += b->exact;
    a->real += b->real;
    a->count += b->count;
}
NL_POD_MERGE(mean, mean_state, mean_merge_state)

static nl_status mean_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)eval;
    const mean_state *s = state;
    const nl_type *type = function->result_type;
    nl_int128 result = 0;
    if (s->count == 0) return nl_column_builder_null(builder);
    if (type->id == NL_TYPE_DOUBLE) return nl_column_builder_f64(builder, s->real / (double)s->count);
    const nl_type *from = function->argument_types[function->row->name[8] == 'x'];
    if (!nl_decimal_divide(s->exact, from->scale, s->count, 0, type->precision, type->scale, &result)) return nl_column_builder_null(builder);
    return nl_column_builder_i128(builder, result);
}
NL_BUILT_RESULT(mean, mean_result)
NL_POD_OPS(mean);

static nl_status bind_mean(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_types[bind->row->name[8] == 'x'];
    bound->result_type = nl_type_double();
    for (uint32_t i = 0; i < 2; i++)
        if (bind->argument_types[i]->id != NL_TYPE_DECIMAL) bind->argument_types[i] = nl_type_double();
    if (type->id == NL_TYPE_DECIMAL) bound->result_type = nl_decimal_adjust(type->precision + 4, type->scale + 4);
    return NULL;
}

#define ONE NL_AGGREGATE_ROW, .signature = "(double) -> double", .bind = bind_moments, .aggregate = &moments_ops
#define TWO NL_AGGREGATE_ROW, .signature = "(double, double) -> double", .bind = bind_pair, .aggregate = &pair_ops, .can_fail = true
#define PAIRS " FROM VALUES (1, 2), (2, 2), (2, 3), (2, 4) AS tab(y, x)"

static const nl_function_row rows[] = {
    {.name = "var_pop", ONE, .since = "1.6.0", .doc = "The population variance.", .examples = {{"var_pop(col) FROM VALUES (1), (3) AS tab(col)", "1.0"}}},
    {.name = "variance", .aliases = "var_samp", ONE, .since = "1.6.0", .doc = "The sample variance.", .examples = {{"variance(col) FROM VALUES (1), (2), (3) AS tab(col)", "1.0"}}},
    {.name = "stddev_pop", ONE, .since = "1.6.0", .doc = "The population standard deviation.", .examples = {{"stddev_pop(col) FROM VALUES (1), (3) AS tab(col)", "1.0"}}},
    {.name = "stddev", .aliases = "stddev_samp,std", ONE, .since = "1.6.0", .doc = "The sample standard deviation.", .examples = {{"stddev(col) FROM VALUES (1), (2), (3) AS tab(col)", "1.0"}}},
    {.name = "skewness", ONE, .since = "1.6.0", .doc = "The skewness.", .examples = {{"skewness(col) FROM VALUES (-10), (-20), (100), (1000) AS tab(col)", "1.1135657469022011"}}},
    {.name = "kurtosis", ONE, .since = "1.6.0", .doc = "The excess kurtosis.", .examples = {{"kurtosis(col) FROM VALUES (1), (10), (100), (10), (1) AS tab(col)", "0.19432323191699075"}}},
    {.name = "covar_pop", TWO, .since = "2.0.0", .doc = "The population covariance.", .examples = {{"covar_pop(c1, c2) FROM VALUES (1, 1), (2, 2), (3, 3) AS tab(c1, c2)", "0.6666666666666666"}}},
    {.name = "covar_samp", TWO, .since = "2.0.0", .doc = "The sample covariance.", .examples = {{"covar_samp(c1, c2) FROM VALUES (1, 1), (2, 2), (3, 3) AS tab(c1, c2)", "1.0"}}},
    {.name = "corr", TWO, .since = "1.6.0", .doc = "Pearson's correlation.", .examples = {{"corr(c1, c2) FROM VALUES (3, 2), (3, 3), (6, 4) AS tab(c1, c2)", "0.8660254037844387"}}},
    {.name = "regr_count", NL_AGGREGATE_ROW, .signature = "(double, double) -> bigint", .bind = bind_pair, .aggregate = &pair_ops, .keeps_non_null = true, .since = "3.3.0",
     .doc = "The number of pairs without NULL.", .examples = {{"regr_count(y, x)" PAIRS, "4"}}},
    {.name = "regr_avgx", NL_AGGREGATE_ROW, .signature = "(numeric, numeric) -> ?", .bind = bind_mean, .aggregate = &mean_ops, .since = "3.3.0",
     .doc = "The mean of the second argument over pairs without NULL.", .examples = {{"regr_avgx(y, x)" PAIRS, "2.75"}}},
    {.name = "regr_avgy", NL_AGGREGATE_ROW, .signature = "(numeric, numeric) -> ?", .bind = bind_mean, .aggregate = &mean_ops, .since = "3.3.0",
     .doc = "The mean of the first argument over pairs without NULL.", .examples = {{"regr_avgy(y, x)" PAIRS, "1.75"}}},
    {.name = "regr_sxx", TWO, .since = "3.4.0", .doc = "The sum of squared deviations of the second argument.", .examples = {{"regr_sxx(y, x)" PAIRS, "2.75"}}},
    {.name = "regr_syy", TWO, .since = "3.4.0", .doc = "The sum of squared deviations of the first argument.", .examples = {{"regr_syy(y, x)" PAIRS, "0.75"}}},
    {.name = "regr_sxy", TWO, .since = "3.4.0", .doc = "The sum of products of deviations.", .examples = {{"regr_sxy(y, x)" PAIRS, "0.75"}}},
    {.name = "regr_slope", TWO, .since = "3.4.0", .doc = "The slope of the regression line.", .examples = {{"regr_slope(y, x)" PAIRS, "0.2727272727272727"}}},
    {.name = "regr_intercept", TWO, .since = "3.4.0", .doc = "Where the regression line meets the axis.", .examples = {{"regr_intercept(y, x)" PAIRS, "1.0"}}},
    {.name = "regr_r2", TWO, .since = "3.3.0", .doc = "The coefficient of determination.", .examples = {{"regr_r2(y, x)" PAIRS, "0.2727272727272727"}}},
    {.name = "product", NL_AGGREGATE_ROW, .is_internal = true, .signature = "(double) -> double", .aggregate = &product_ops, .since = "3.2.0",
     .doc = "The product of the values; DataFrames have it, SQL does not."},
};

NL_DEFINE_FUNCTION_GROUP(moments, rows);
