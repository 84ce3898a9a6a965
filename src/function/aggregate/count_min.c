/* aggregate/count_min.c - count_min_sketch: counts of values by several hashes, as Spark's CountMinSketch writes them.
 *
 * Cormode, Muthukrishnan, "An Improved Data Stream Summary" (2005). The bytes, all big-endian: version 1 (int), number of
 * values (long), depth and width (int), a multiplier per row (long), the counters row by row (long). The state is these
 * bytes behind the version, in the machine's order.
 */
#include "base/hash.h"
#include "base/number.h"
#include "function/aggregate/parameter.h"
#include "function/groups.h"
#include "function/java_math.h"
#include "function/java_random.h"

#include <math.h>

#define PRIME ((1ll << 31) - 1) /* the hashes are modulo a Mersenne prime */
#define DEPTH_MAX 64u           /* confidence below 1 has no more bits; 1.0 itself asks for endless rows */

typedef struct counters {
    nl_agg_bytes bytes; /* int64_t[1 + depth * width]: number of values, counters */
} counters;
NL_AGGREGATE_SIZE(counters, counters)

typedef struct sketch_how {
    uint32_t depth;
    uint32_t width;
    int64_t multipliers[DEPTH_MAX];
} sketch_how;

static nl_status make_counters(const sketch_how *how, nl_eval *eval, counters *s)
{
    if (s->bytes.length > 0) return NULL;
    size_t bytes = nl_size_mul(nl_size_add(nl_size_mul(how->depth, how->width), 1), sizeof(int64_t));
    NL_TRY(nl_agg_bytes_reserve(&s->bytes, eval->memory, bytes));
    memset(s->bytes.data, 0, bytes);
    s->bytes.length = bytes;
    return NULL;
}

static uint32_t bucket_of_long(const sketch_how *how, int64_t value, uint32_t depth)
{
    int64_t hash = (int64_t)((uint64_t)how->multipliers[depth] * (uint64_t)value);
    hash = (int64_t)((uint64_t)hash + (uint64_t)(hash >> 32)) & PRIME;
    return (uint32_t)((int32_t)hash % (int32_t)how->width);
}

static uint32_t bucket_of_text(const sketch_how *how, uint32_t first, uint32_t second, uint32_t depth)
{
    int32_t rest = (int32_t)(first + depth * second) % (int32_t)how->width;
    return (uint32_t)(rest < 0 ? -rest : rest);
}

static nl_status counters_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                               uint32_t row, void *state)
{
    const sketch_how *how = function->state;
    counters *s = state;
    NL_TRY(make_counters(how, eval, s));
    int64_t *values = (int64_t *)(void *)s->bytes.data;
    values[0]++;
    if (args[0].type->physical == NL_PHYS_STRING) {
        nl_str text = nl_reader_str(&readers[0], row);
        uint32_t first = nl_spark_murmur3_bytes(text.data, text.length, 0);
        uint32_t second = nl_spark_murmur3_bytes(text.data, text.length, first);
        for (uint32_t d = 0; d < how->depth; d++) values[1 + (size_t)d * how->width + bucket_of_text(how, first, second, d)]++;
        return NULL;
    }
    int64_t value = nl_physical_i64(args[0].type->physical, readers[0].values, nl_reader_index(&readers[0], row));
    for (uint32_t d = 0; d < how->depth; d++) values[1 + (size_t)d * how->width + bucket_of_long(how, value, d)]++;
    return NULL;
}
NL_AGGREGATE_STEPS(counters, 1, counters_step)

static nl_status counters_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    (void)function;
    const counters *s = state;
    return nl_agg_bytes_append(bytes, eval->memory, s->bytes.data, s->bytes.length);
}

static nl_status counters_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    counters *s = state;
    if (partial.length == 0) return NULL;
    NL_TRY(make_counters(function->state, eval, s));
    NL_CHECK(partial.length == s->bytes.length);
    int64_t *values = (int64_t *)(void *)s->bytes.data;
    for (size_t i = 0; i < partial.length / sizeof(int64_t); i++) {
        int64_t more;
        memcpy(&more, partial.data + i * sizeof more, sizeof more);
        values[i] += more;
    }
    return NULL;
}
NL_ENCODED_PARTIALS(counters, counters_encode, counters_merge_one)

static nl_status append_int(nl_agg_bytes *out, nl_memory *memory, uint32_t value)
{
    const char bytes[4] = {(char)(value >> 24), (char)(value >> 16), (char)(value >> 8), (char)value};
    return nl_agg_bytes_append(out, memory, bytes, sizeof bytes);
}

static nl_status append_long(nl_agg_bytes *out, nl_memory *memory, int64_t value)
{
    NL_TRY(append_int(out, memory, (uint32_t)((uint64_t)value >> 32)));
    return append_int(out, memory, (uint32_t)value);
}

static nl_status write_sketch(const sketch_how *how, const int64_t *values, nl_memory *memory, nl_agg_bytes *out)
{
    size_t count = (size_t)how->depth * how->width;
    NL_TRY(nl_agg_bytes_reserve(out, memory, nl_size_mul(nl_size_add(count, how->depth + 3), sizeof(int64_t))));
    NL_TRY(append_int(out, memory, 1));
    NL_TRY(append_long(out, memory, values[0]));
    NL_TRY(append_int(out, memory, how->depth));
    NL_TRY(append_int(out, memory, how->width));
    for (uint32_t d = 0; d < how->depth; d++) NL_TRY(append_long(out, memory, how->multipliers[d]));
    for (size_t i = 0; i < count; i++) NL_TRY(append_long(out, memory, values[1 + i]));
    return NULL;
}

static nl_status counters_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    const sketch_how *how = function->state;
    counters *s = state;
    nl_agg_bytes out = {0};
    NL_TRY(make_counters(how, eval, s));
    nl_status status = write_sketch(how, (const int64_t *)(const void *)s->bytes.data, eval->memory, &out);
    if (status == NULL) status = nl_column_builder_str(builder, (nl_str){out.data, out.length});
    nl_agg_bytes_free(&out, eval->memory);
    return status;
}
NL_BUILT_RESULT(counters, counters_result)

static void counters_destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    (void)function;
    nl_agg_bytes_free(&((counters *)state)->bytes, eval->memory);
}
NL_ENCODED_OPS(counters);

/* A DOUBLE, and nothing that would have to be cast. */
static nl_status bind_double(nl_bind *bind, uint32_t i)
{
    const nl_type *type = bind->argument_types[i];
    if (type->id == NL_TYPE_NULL) bind->argument_types[i] = type = nl_type_double();
    return type->id == NL_TYPE_DOUBLE ? NULL : nl_bind_unexpected_type(bind, i, "\"DOUBLE\"");
}

static nl_str double_text(const nl_bind *bind, double value)
{
    char text[NL_NUMBER_TEXT_MAX];
    uint32_t length = nl_format_double(value, text);
    return nl_arena_f(bind->arena, "%.*sD", (int)length, text);
}

static nl_status bind_sketch(nl_bind *bind, nl_bound_function *bound)
{
    static const char *const names[] = {"`column`", "`epsilon`", "`confidence`", "`seed`"};
    sketch_how *how = NL_NEW(bind->arena, sketch_how);
    nl_value eps = {0};
    nl_value confidence = {0};
    nl_value seed = {0};
    if (bind->argument_count < NL_COUNT(names))
        return NL_RAISE(REQUIRED_PARAMETER_NOT_FOUND, NL_P_STR("routineName", nl_quoted_name(bind)),
                        NL_P("parameterName", names[bind->argument_count]), NL_P("index", "0"));
    const nl_type *type = bind->argument_types[0];
    if (type->id == NL_TYPE_NULL) bind->argument_types[0] = type = nl_type_int();
    if (!nl_type_is_integral(type) && type->id != NL_TYPE_STRING && type->id != NL_TYPE_BINARY)
        return nl_bind_unexpected_type(bind, 0, "(\"INTEGRAL\" or \"STRING\" or \"BINARY\")");
    NL_TRY(bind_double(bind, 1));
    NL_TRY(bind_double(bind, 2));
    type = bind->argument_types[3];
    if (type->id == NL_TYPE_NULL) bind->argument_types[3] = type = nl_type_int();
    if (type->id != NL_TYPE_INT && type->id != NL_TYPE_BIGINT) return nl_bind_unexpected_type(bind, 3, "(\"INT\" or \"BIGINT\")");
    NL_TRY(nl_parameter_constant(bind, 1, "eps", &eps));
    NL_TRY(nl_parameter_constant(bind, 2, "confidence", &confidence));
    NL_TRY(nl_parameter_constant(bind, 3, "seed", &seed));
    if (!(eps.real > 0)) return nl_parameter_out_of_range(bind, "eps", "(0.0, 1.7976931348623157E308]", double_text(bind, eps.real));
    if (!(confidence.real > 0 && confidence.real <= 1))
        return nl_parameter_out_of_range(bind, "confidence", "(0.0, 1.0]", double_text(bind, confidence.real));
    double depth = ceil(-nl_java_log(1 - confidence.real) / nl_java_log(2));
    double width = ceil(2 / eps.real);
    if (confidence.real == 1 || depth < 1 || depth > DEPTH_MAX || width > INT32_MAX)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A count-min sketch of that many counters is not supported; take a greater eps or a lesser confidence.");
    how->depth = (uint32_t)depth;
    how->width = (uint32_t)width;
    nl_java_random random = nl_java_random_new((int32_t)seed.integer);
    for (uint32_t d = 0; d < how->depth; d++) how->multipliers[d] = nl_java_random_int(&random, INT32_MAX);
    bound->state = how;
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "count_min_sketch", NL_AGGREGATE_ROW, .signature = "([any, any, any, any]) -> binary", .keeps_non_null = true, .bind = bind_sketch,
     .aggregate = &counters_ops, .since = "2.2.0",
     .doc = "A count-min sketch of the values with the given relative error, confidence and seed, as bytes.",
     .examples = {{"hex(count_min_sketch(col, 0.5d, 0.5d, 1)) FROM VALUES (1), (2), (1) AS tab(col)",
                   "0000000100000000000000030000000100000004000000005D8D6AB90000000000000000000000000000000200000000000000010000000000000000"}}},
};

NL_DEFINE_FUNCTION_GROUP(count_min, rows);
