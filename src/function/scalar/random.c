/* scalar/random.c - rand, randn, randstr, uniform: Spark's numbers for the same seed on one partition. */
#include "function/scalar/random.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"

void nl_random_start(nl_random *random, int64_t seed)
{
    uint8_t bytes[8];
    for (uint32_t i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)seed >> (8 * (7 - i)));
    uint32_t low = nl_murmur3_32(bytes, 8, 0x3c074a61u); /* scala.util.hashing.MurmurHash3.arraySeed */
    uint32_t high = nl_murmur3_32(bytes, 8, low);
    *random = (nl_random){.seed = (int64_t)((uint64_t)high << 32 | low)};
}

uint32_t nl_random_bits(nl_random *random, uint32_t bits)
{
    uint64_t next = (uint64_t)random->seed;
    next ^= next << 21;
    next ^= next >> 35;
    next ^= next << 4;
    random->seed = (int64_t)next;
    return (uint32_t)(next & ((1ull << bits) - 1));
}

double nl_random_double(nl_random *random)
{
    uint64_t high = (uint64_t)nl_random_bits(random, 26) << 27;
    return (double)(high + nl_random_bits(random, 27)) * 0x1p-53;
}

/* Marsaglia's polar method, as java.util.Random documents it. */
static double next_gaussian(nl_random *random)
{
    if (random->has_gaussian) {
        random->has_gaussian = false;
        return random->next_gaussian;
    }
    double a;
    double b;
    double size;
    do {
        a = 2 * nl_random_double(random) - 1;
        b = 2 * nl_random_double(random) - 1;
        size = a * a + b * b;
    } while (size >= 1 || size == 0);
    double factor = sqrt(-2 * log(size) / size);
    random->next_gaussian = b * factor;
    random->has_gaussian = true;
    return a * factor;
}

static nl_status out_of_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

/* The seed is the first field of every state. */
nl_status nl_random_make(const nl_bound_function *function, uint32_t worker, void **state)
{
    const int64_t *seed = function->state;
    nl_random *made = calloc(1, sizeof *made);
    if (made == NULL) return out_of_memory(sizeof *made);
    nl_random_start(made, *seed + worker);
    *state = made;
    return NULL;
}

nl_random *nl_random_of(const nl_bound_function *function, const nl_eval *eval, nl_random *fallback)
{
    if (eval->worker_state != NULL) return eval->worker_state;
    nl_random_start(fallback, *(const int64_t *)function->state + eval->worker);
    return fallback;
}

/* Argument i as a seed: NULL counts as 0; a missing one is made up. */
static nl_status take_seed(nl_bind *bind, uint32_t i, int64_t *seed)
{
    *seed = (int64_t)nl_hash_u64((uint64_t)nl_now_micros() ^ (uint64_t)(uintptr_t)seed);
    if (i >= bind->argument_count) return NULL;
    const nl_type *type = bind->argument_types[i];
    if (type->id != NL_TYPE_NULL && !nl_type_is_integral(type)) return nl_bind_unexpected_type(bind, i, "(\"INT\" or \"BIGINT\")");
    if (bind->constants[i] == NULL) return nl_bind_not_foldable(bind, i, "`seed`");
    *seed = bind->constants[i]->is_null ? 0 : bind->constants[i]->integer;
    return NULL;
}

nl_status nl_random_bind(nl_bind *bind, nl_bound_function *bound)
{
    int64_t *seed = NL_NEW(bind->arena, int64_t);
    NL_TRY(take_seed(bind, 0, seed));
    bound->state = seed;
    bound->is_deterministic = false;
    return NULL;
}

static nl_status random_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    nl_random fallback;
    nl_random *random = nl_random_of(function, eval, &fallback);
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    bool is_normal = strcmp(function->row->name, "randn") == 0;
    NL_EACH_SELECTED(row) ((double *)output.values)[row] = is_normal ? next_gaussian(random) : nl_random_double(random);
    return NULL;
}

/* --- randstr --- */

static nl_status bind_randstr(nl_bind *bind, nl_bound_function *bound)
{
    int64_t *seed = NL_NEW(bind->arena, int64_t);
    if (bind->constants[0] == NULL) return nl_bind_not_foldable(bind, 0, "`length`");
    NL_TRY(take_seed(bind, 1, seed));
    bind->argument_types[0] = nl_type_int();
    bound->state = seed;
    bound->is_deterministic = false;
    return NULL;
}

static nl_status randstr_kernel(NL_KERNEL_PARAMETERS)
{
    static const char characters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    nl_output output;
    nl_reader lengths;
    nl_builder text;
    nl_random fallback;
    nl_random *random = nl_random_of(function, eval, &fallback);
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader_init(&lengths, &args[0]);
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    NL_EACH_SELECTED(row)
    {
        int32_t count = nl_vector_is_null(&args[0], row) ? 0 : nl_reader_i32(&lengths, row);
        if (count < 0) {
            status = NL_RAISE(INVALID_PARAMETER_VALUE__LENGTH, NL_P("parameter", "`length`"), NL_P("functionName", "`randstr`"), NL_P_INT("length", count));
            goto done;
        }
        nl_builder_clear(&text);
        for (int32_t i = 0; i < count && !nl_builder_failed(&text); i++) {
            int32_t place = (int32_t)nl_random_bits(random, 32) % 62;
            nl_append_char(&text, characters[place < 0 ? -place : place]);
        }
        NL_GO(nl_output_builder(&output, row, &text));
    }
done:
    nl_builder_fini(&text);
    return status;
}

/* --- uniform --- */

typedef struct uniform_state {
    int64_t seed; /* first: nl_random_make reads it */
    double low, high;
} uniform_state;

/* The wider of both, as Spark chooses: DOUBLE, FLOAT, a decimal, or the wider integer. */
static const nl_type *uniform_type(const nl_type *a, const nl_type *b)
{
    static const nl_type_id order[] = {NL_TYPE_DOUBLE, NL_TYPE_FLOAT, NL_TYPE_DECIMAL, NL_TYPE_BIGINT, NL_TYPE_INT, NL_TYPE_SMALLINT};
    if (a->id == NL_TYPE_DECIMAL && b->id == NL_TYPE_DECIMAL) return a->precision >= b->precision ? a : b;
    for (size_t i = 0; i < NL_COUNT(order); i++) {
        if (a->id == order[i]) return a;
        if (b->id == order[i]) return b;
    }
    return a;
}

static double number_of(const nl_value *value)
{
    if (value->type->id == NL_TYPE_DECIMAL) return nl_decimal_to_double(value->decimal, value->type->scale);
    return nl_type_is_integral(value->type) ? (double)value->integer : value->real;
}

static nl_status uniform_kernel(NL_KERNEL_PARAMETERS)
{
    const uniform_state *state = function->state;
    const nl_type *type = function->result_type;
    nl_output output;
    nl_random fallback;
    nl_random *random = nl_random_of(function, eval, &fallback);
    NL_TRY(nl_output_init(&output, type, length, eval->memory, out));
    NL_EACH_SELECTED(row)
    {
        double value = state->low + (state->high - state->low) * nl_random_double(random);
        nl_int128 decimal = 0;
        if (type->id == NL_TYPE_DOUBLE)
            ((double *)output.values)[row] = value;
        else if (type->id == NL_TYPE_FLOAT)
            ((float *)output.values)[row] = (float)value;
        else if (type->id != NL_TYPE_DECIMAL)
            nl_physical_set_i128(type->physical, output.values, row, (nl_int128)value);
        else if (nl_decimal_from_double(value, type->precision, type->scale, &decimal))
            nl_physical_set_i128(type->physical, output.values, row, decimal);
    }
    return NULL;
}

static nl_status uniform_null_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    return nl_vector_new_null(out, function->result_type, length, eval->memory);
}

static nl_status bind_uniform(nl_bind *bind, nl_bound_function *bound)
{
    static const char *const names[] = {"`min`", "`max`"};
    uniform_state *state = NL_NEW(bind->arena, uniform_state);
    bool is_null = false;
    for (uint32_t i = 0; i < 2; i++) {
        const nl_type *type = bind->argument_types[i];
        if (type->id != NL_TYPE_NULL && !nl_type_is_numeric(type)) return nl_bind_unexpected_type(bind, i, "\"NUMERIC\"");
        if (bind->constants[i] == NULL) return nl_bind_not_foldable(bind, i, names[i]);
        is_null |= bind->constants[i]->is_null;
    }
    NL_TRY(take_seed(bind, 2, &state->seed));
    bound->state = state;
    bound->is_deterministic = false;
    bound->is_nullable = is_null;
    if (is_null) bound->kernel = uniform_null_kernel;
    bool is_void = bind->argument_types[0]->id == NL_TYPE_NULL || bind->argument_types[1]->id == NL_TYPE_NULL;
    bound->result_type = is_void ? nl_type_double() : uniform_type(bind->argument_types[0], bind->argument_types[1]);
    if (is_null) return NULL;
    state->low = number_of(bind->constants[0]);
    state->high = number_of(bind->constants[1]);
    return NULL;
}

#define RANDOM(types) .kind = NL_FUNCTION_SCALAR, .nulls = NL_NULL_SEEN, .keeps_non_null = true, .is_nondeterministic = true, .signature = types, \
                      .make_worker_state = nl_random_make, .free_worker_state = free

static const nl_function_row rows[] = {
    {.name = "rand", .aliases = "random", .group = "math", RANDOM("([any]) -> double"), .bind = nl_random_bind, .kernel = random_kernel, .since = "1.5.0",
     .doc = "Random numbers of [0, 1); the same ones for the same seed.", .examples = {{"rand(0) < 1", "true"}}},
    {.name = "randn", .group = "math", RANDOM("([any]) -> double"), .bind = nl_random_bind, .kernel = random_kernel, .since = "1.5.0",
     .doc = "Random numbers of the standard normal distribution.", .examples = {{"randn(0) IS NOT NULL", "true"}}},
    {.name = "randstr", .group = "string", RANDOM("(any [, any]) -> string"), .can_fail = true, .bind = bind_randstr, .kernel = randstr_kernel, .since = "4.0.0",
     .doc = "A random text of so many letters and digits.", .examples = {{"randstr(5, 0)", "ceV0P"}}},
    {.name = "uniform", .group = "math", RANDOM("(any, any [, any]) -> ?"), .bind = bind_uniform, .kernel = uniform_kernel, .since = "4.0.0",
     .doc = "Random numbers of the range between two constants.", .examples = {{"uniform(10, 20, 0) > 0", "true"}}},
};

NL_DEFINE_FUNCTION_GROUP(random, rows);
