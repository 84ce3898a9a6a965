/* scalar/misc.c - typeof, version and other facts of the session, uuid, raise_error, assert_true, bitmaps. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "function/groups.h"
#include "function/scalar/random.h"

/* --- facts of the session --- */

static nl_status text_constant(nl_eval *eval, nl_str text, uint32_t length, nl_vector *out)
{
    nl_value value = nl_value_string(text);
    return nl_vector_new_constant(out, &value, length, eval->memory);
}

static nl_status fact_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    const char *name = function->row->name;
    const nl_eval_confs *confs = eval->confs;
    if (strcmp(name, "version") == 0) return text_constant(eval, confs->version, length, out);
    if (strcmp(name, "current_catalog") == 0) return text_constant(eval, confs->current_catalog, length, out);
    if (strcmp(name, "current_database") == 0) return text_constant(eval, confs->current_namespace, length, out);
    return text_constant(eval, confs->user, length, out);
}

static nl_status typeof_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    const nl_str *text = function->state;
    return text_constant(eval, *text, length, out);
}

static nl_status bind_typeof(nl_bind *bind, nl_bound_function *bound)
{
    nl_str *text = NL_NEW(bind->arena, nl_str);
    *text = nl_type_name(bind->arena, bind->argument_types[0]);
    bound->state = text;
    return NULL;
}

/* --- errors on purpose --- */

static nl_status raise_text(const nl_eval *eval, nl_str message)
{
    if (eval->confs->is_plain_error) return NL_RAISE(NILAS_RUNTIME, NL_P_STR("message", message));
    return NL_RAISE(USER_RAISED_EXCEPTION, NL_P_STR("errorMessage", message));
}

static nl_status raise_kernel(NL_KERNEL_PARAMETERS)
{
    NL_EACH_SELECTED(row)
    {
        nl_reader in;
        nl_reader_init(&in, &args[0]);
        return raise_text(eval, nl_vector_is_null(&args[0], row) ? NL_STR("null") : nl_reader_str(&in, row));
    }
    return nl_vector_new_null(out, function->result_type, length, eval->memory);
}

static nl_status assert_kernel(NL_KERNEL_PARAMETERS)
{
    NL_EACH_SELECTED(row)
    {
        nl_reader in;
        nl_reader_init(&in, &args[0]);
        if (!nl_vector_is_null(&args[0], row) && nl_reader_bool(&in, row)) continue;
        const nl_str *text = function->state;
        nl_str message = *text;
        if (function->argument_count > 1 && !nl_vector_is_null(&args[1], row)) {
            nl_reader_init(&in, &args[1]);
            message = nl_reader_str(&in, row);
        }
        return raise_text(eval, message);
    }
    return nl_vector_new_null(out, function->result_type, length, eval->memory);
}

static nl_status bind_assert(nl_bind *bind, nl_bound_function *bound)
{
    nl_str *text = NL_NEW(bind->arena, nl_str);
    nl_str sql = nl_bind_argument_sql(bind, 0);
    *text = nl_arena_f(bind->arena, "'" NL_STR_FMT "' is not true!", NL_STR_ARG(sql));
    bound->state = text;
    return NULL;
}

/* --- uuid --- */

static nl_status uuid_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    nl_random fallback;
    nl_random *state = nl_random_of(function, eval, &fallback);
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    NL_EACH_SELECTED(row)
    {
        char text[40];
        uint64_t high = (uint64_t)nl_random_bits(state, 32) << 32 | nl_random_bits(state, 32);
        uint64_t low = (uint64_t)nl_random_bits(state, 32) << 32 | nl_random_bits(state, 32);
        high = (high & ~0xF000ull) | 0x4000ull;                    /* version 4 */
        low = (low & 0x3FFFFFFFFFFFFFFFull) | 0x8000000000000000ull; /* RFC 4122's variant */
        int size = snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xFFFF),
                            (unsigned)(high & 0xFFFF), (unsigned)(low >> 48), (unsigned long long)(low & 0xFFFFFFFFFFFFull));
        NL_TRY(nl_output_str(&output, row, (nl_str){text, (size_t)size}));
    }
    return NULL;
}

typedef struct counter_state {
    int64_t next;
} counter_state;

static nl_status make_counter(const nl_bound_function *function, uint32_t worker, void **state)
{
    (void)function;
    counter_state *made = calloc(1, sizeof *made);
    if (made == NULL) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P_INT("receivedBytes", 0));
    made->next = (int64_t)worker << 33;
    *state = made;
    return NULL;
}

static nl_status counter_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    counter_state *state = eval->worker_state;
    if (state == NULL) return NL_RAISE(INTERNAL_ERROR, NL_P("message", "monotonically_increasing_id() has no worker state"));
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    NL_EACH_SELECTED(row) ((int64_t *)output.values)[row] = state->next++;
    return NULL;
}

static nl_status partition_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    nl_value value = nl_value_int(function->result_type, eval->worker);
    return nl_vector_new_constant(out, &value, length, eval->memory);
}

/* What they say where no file is read; over files the optimizer puts the scan's own columns in their place. */
static nl_status no_file_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    const nl_value value = function->result_type->id == NL_TYPE_STRING ? nl_value_string(NL_STR("")) : nl_value_int(nl_type_bigint(), -1);
    return nl_vector_new_constant(out, &value, length, eval->memory);
}

/* --- bitmaps of 32,768 bits --- */

#define BITMAP_BITS 32768
static inline int64_t bit_position(int64_t value)
{
    return value > 0 ? (value - 1) % BITMAP_BITS : (int64_t)((0 - (uint64_t)value) % BITMAP_BITS);
}
static inline int64_t bucket_number(int64_t value)
{
    return value > 0 ? 1 + (value - 1) / BITMAP_BITS : value / BITMAP_BITS;
}
NL_UNARY_KERNEL(bit_position_kernel, int64_t, int64_t, bit_position)
NL_UNARY_KERNEL(bucket_number_kernel, int64_t, int64_t, bucket_number)

static inline int64_t count_bits(nl_str bytes)
{
    int64_t count = 0;
    for (size_t i = 0; i < bytes.length; i++) count += __builtin_popcount((uint8_t)bytes.data[i]);
    return count;
}
NL_STRING_TO_VALUE_KERNEL(bitmap_count_kernel, int64_t, count_bits)

#define MISC .kind = NL_FUNCTION_SCALAR, .group = "misc"
#define FACT MISC, .nulls = NL_NULL_SEEN, .keeps_non_null = true, .signature = "() -> string", .kernel = fact_kernel
#define INPUT_FILE MISC, .nulls = NL_NULL_SEEN, .keeps_non_null = true, .is_nondeterministic = true, .kernel = no_file_kernel
#define RANDOM(types) .kind = NL_FUNCTION_SCALAR, .nulls = NL_NULL_SEEN, .keeps_non_null = true, .is_nondeterministic = true, .signature = types, \
    .make_worker_state = nl_random_make, .free_worker_state = free, .bind = nl_random_bind

static nl_status bind_bitmap_count(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    return bind->argument_types[0]->id == NL_TYPE_BINARY ? NULL : nl_bind_unexpected_type(bind, 0, "\"BINARY\"");
}

static const nl_function_row rows[] = {
    {.name = "typeof", MISC, .nulls = NL_NULL_SEEN, .keeps_non_null = true, .signature = "(any) -> string", .bind = bind_typeof, .kernel = typeof_kernel, .since = "3.0.0",
     .doc = "The type of the argument, as DDL.", .examples = {{"typeof(1)", "int"}, {"typeof(array(1))", "array<int>"}}},
    {.name = "version", FACT, .since = "3.0.0", .doc = "The version this answers as.", .examples = {{"version() IS NOT NULL", "true"}}},
    {.name = "current_catalog", FACT, .since = "3.1.0", .doc = "The current catalog.", .examples = {{"current_catalog() IS NOT NULL", "true"}}},
    {.name = "current_database", .aliases = "current_schema", FACT, .since = "1.6.0", .doc = "The current namespace.", .examples = {{"current_database() IS NOT NULL", "true"}}},
    {.name = "current_user", .aliases = "user,session_user", FACT, .since = "3.2.0", .doc = "The user.", .examples = {{"current_user() IS NOT NULL", "true"}}},
    {.name = "raise_error", MISC, .nulls = NL_NULL_SEEN, .can_fail = true, .signature = "(string) -> void", .kernel = raise_kernel, .since = "3.1.0",
     .doc = "An error with this text, in each row it is evaluated for.", .examples = {{"CASE WHEN true THEN 1 ELSE raise_error('never') END", "1"}}},
    {.name = "assert_true", MISC, .nulls = NL_NULL_SEEN, .can_fail = true, .signature = "(boolean [, string]) -> void", .bind = bind_assert, .kernel = assert_kernel, .since = "2.0.0",
     .doc = "An error unless the condition is true; otherwise NULL.", .examples = {{"assert_true(0 < 1)", "NULL"}}},
    {.name = "uuid", .group = "misc", RANDOM("() -> string"), .kernel = uuid_kernel, .since = "2.3.0", .doc = "A random UUID.", .examples = {{"length(uuid())", "36"}}},
    {.name = "monotonically_increasing_id", MISC, .nulls = NL_NULL_SEEN, .keeps_non_null = true, .is_nondeterministic = true, .signature = "() -> bigint",
     .make_worker_state = make_counter, .free_worker_state = free, .kernel = counter_kernel, .since = "1.4.0",
     .doc = "Numbers that grow within a partition and differ between partitions.", .examples = {{"monotonically_increasing_id() >= 0", "true"}}},
    {.name = "spark_partition_id", MISC, .nulls = NL_NULL_SEEN, .keeps_non_null = true, .is_nondeterministic = true, .signature = "() -> int", .kernel = partition_kernel, .since = "1.4.0",
     .doc = "The number of the partition.", .examples = {{"spark_partition_id() >= 0", "true"}}},
    {.name = "input_file_name", INPUT_FILE, .signature = "() -> string", .since = "1.5.0", .doc = "The file being read; empty when there is none.",
     .examples = {{"input_file_name()", ""}}},
    {.name = "input_file_block_start", INPUT_FILE, .signature = "() -> bigint", .since = "2.2.0",
     .doc = "Where the block being read starts; -1 when there is none.", .examples = {{"input_file_block_start()", "-1"}}},
    {.name = "input_file_block_length", INPUT_FILE, .signature = "() -> bigint", .since = "2.2.0",
     .doc = "The length of the block being read; -1 when there is none.", .examples = {{"input_file_block_length()", "-1"}}},
    {.name = "bitmap_bit_position", MISC, .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .signature = "(bigint) -> bigint", .kernel = bit_position_kernel, .since = "3.5.0",
     .doc = "The bit of a number in its bitmap.", .examples = {{"bitmap_bit_position(1)", "0"}}},
    {.name = "bitmap_bucket_number", MISC, .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .signature = "(bigint) -> bigint", .kernel = bucket_number_kernel, .since = "3.5.0",
     .doc = "The number of the bitmap a number belongs to.", .examples = {{"bitmap_bucket_number(123)", "1"}}},
    {.name = "bitmap_count", MISC, .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .signature = "(any) -> bigint", .bind = bind_bitmap_count, .kernel = bitmap_count_kernel, .since = "3.5.0",
     .doc = "The number of bits that are set.", .examples = {{"bitmap_count(X'FFFF')", "16"}}},
};

NL_DEFINE_FUNCTION_GROUP(misc, rows);
