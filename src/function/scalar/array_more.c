/* scalar/array_more.c - array_insert, arrays_zip, shuffle. */
#include "function/groups.h"
#include "function/list.h"
#include "function/mersenne.h"
#include "function/scalar/collection_bind.h"

#include <stdlib.h>

/* --- array_insert --- */

static nl_status append_nulls(nl_list_call *call, int64_t count)
{
    nl_column_builder *elements = nl_column_builder_child(call->builder, 0);
    for (int64_t i = 0; i < count; i++) {
        if (i % NL_LIST_CHECK_ELEMENTS == 0) NL_TRY(nl_eval_check(call->eval));
        NL_TRY(nl_column_builder_null(elements));
    }
    return NULL;
}

static nl_status append_range(nl_list_call *call, nl_list_view list, uint32_t start, uint32_t stop)
{
    nl_column_builder *elements = nl_column_builder_child(call->builder, 0);
    for (uint32_t e = start; e < stop; e++) NL_TRY(nl_column_builder_row(elements, nl_list_child(&call->args[0], 0), list.offset + e));
    return NULL;
}

/* Positions count from 1, or back from -1 behind the last; what lies outside is reached over nulls. */
static nl_status insert_row(nl_list_call *call)
{
    if (nl_vector_is_null(&call->args[0], call->row) || nl_vector_is_null(&call->args[1], call->row)) return nl_column_builder_null(call->builder);
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    int64_t position = nl_list_integer(call, 1);
    nl_column_builder *elements = nl_column_builder_child(call->builder, 0);
    if (position == 0) return NL_RAISE(INVALID_INDEX_OF_ZERO);
    const int64_t from_end = call->eval->confs->is_legacy_array_insert ? position : position + 1;
    int64_t before = position > 0 ? position - 1 : (int64_t)list.length + from_end; /* elements in front; negative: nulls behind the new one */
    int64_t count = NL_MAX((int64_t)list.length + 1, position > 0 ? position : 1 - from_end);
    if (count > NL_LIST_ELEMENTS_MAX)
        return NL_RAISE(COLLECTION_SIZE_LIMIT_EXCEEDED__FUNCTION, NL_P_INT("numberOfElements", count), NL_P_INT("maxRoundedArrayLength", NL_LIST_ELEMENTS_MAX),
                        NL_P("functionName", "`array_insert`"));
    NL_TRY(nl_list_reserve(call, (uint64_t)count));
    NL_TRY(nl_eval_check(call->eval));
    uint32_t head = before < 0 ? 0 : (uint32_t)NL_MIN(before, (int64_t)list.length);
    NL_TRY(append_range(call, list, 0, head));
    if (before > (int64_t)list.length) NL_TRY(append_nulls(call, before - list.length));
    NL_TRY(nl_column_builder_row(elements, &call->args[2], call->row));
    if (before < 0) NL_TRY(append_nulls(call, -before));
    NL_TRY(append_range(call, list, head, list.length));
    return nl_column_builder_end_list(call->builder, (uint32_t)count);
}
NL_LIST_KERNEL(insert_kernel, insert_row)

static nl_status bind_insert(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type **types = bind->argument_types;
    if (types[0]->id == NL_TYPE_ARRAY && types[1]->id != NL_TYPE_INT && types[1]->id != NL_TYPE_SMALLINT && types[1]->id != NL_TYPE_TINYINT)
        return nl_bind_unexpected_type(bind, 1, "\"INT\"");
    NL_TRY(nl_bind_array_change(bind, bound));
    types[1] = nl_type_int();
    return NULL;
}

/* --- arrays_zip --- */

static nl_status zip_row(nl_list_call *call)
{
    uint32_t length = 0;
    nl_column_builder *elements = nl_column_builder_child(call->builder, 0);
    uint32_t count = call->function->argument_count;
    for (uint32_t i = 0; i < count; i++) length = NL_MAX(length, nl_list_of(&call->args[i], call->row).length);
    for (uint32_t e = 0; e < length; e++) {
        for (uint32_t i = 0; i < count; i++) {
            nl_list_view list = nl_list_of(&call->args[i], call->row);
            nl_column_builder *field = nl_column_builder_child(elements, i);
            NL_TRY(e < list.length ? nl_column_builder_row(field, nl_list_child(&call->args[i], 0), list.offset + e) : nl_column_builder_null(field));
        }
        NL_TRY(nl_column_builder_end_struct(elements));
    }
    return nl_column_builder_end_list(call->builder, length);
}
NL_LIST_KERNEL(zip_kernel, zip_row)

static bool is_name(nl_str text)
{
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && (i == 0 || c < '0' || c > '9')) return false;
    }
    return text.length > 0;
}

/* A column's, a field's or a text key's name, else the number of the argument. */
static nl_str field_name(const nl_bind *bind, uint32_t i)
{
    nl_str text = nl_bind_argument_sql(bind, i);
    bool is_constant = bind->constants != NULL && bind->constants[i] != NULL;
    size_t dot = text.length;
    while (dot > 0 && text.data[dot - 1] != '.' && text.data[dot - 1] != '[') dot--;
    nl_str last = nl_str_slice(text, dot, text.length);
    if (last.length > 1 && dot > 0 && text.data[dot - 1] == '[' && last.data[last.length - 1] == ']') last.length--;
    nl_str first = nl_str_slice(text, 0, dot > 0 ? dot - 1 : text.length);
    if (!is_constant && is_name(last) && is_name(first)) return nl_arena_str(bind->arena, last);
    return nl_arena_f(bind->arena, "%u", i);
}

static nl_status bind_zip(nl_bind *bind, nl_bound_function *bound)
{
    nl_field *fields = NL_NEW_ARRAY(bind->arena, nl_field, bind->argument_count + 1);
    const nl_type *voids = nl_type_array(bind->arena, nl_type_of(NL_TYPE_NULL), true);
    for (uint32_t i = 0; i < bind->argument_count; i++) {
        const nl_type *type = bind->argument_types[i];
        if (type->id == NL_TYPE_NULL) bind->argument_types[i] = type = voids;
        if (type->id != NL_TYPE_ARRAY) return nl_bind_unexpected_type(bind, i, "\"ARRAY\"");
        fields[i] = (nl_field){.name = field_name(bind, i), .type = type->children[0].type, .is_nullable = true};
    }
    bound->result_type = nl_type_array(bind->arena, nl_type_struct(bind->arena, fields, bind->argument_count), false);
    return NULL;
}

/* --- shuffle: the same order for the same seed as Spark's; a generator per worker --- */

typedef struct shuffle_how {
    int64_t seed;
} shuffle_how;

static nl_status make_generator(const nl_bound_function *function, uint32_t worker, void **state)
{
    const shuffle_how *how = function->state;
    nl_mersenne *generator = malloc(sizeof *generator);
    if (generator == NULL) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *generator), NL_P_INT("receivedBytes", 0));
    nl_mersenne_init(generator, how->seed + worker);
    *state = generator;
    return NULL;
}

/* The numbers 0 … length-1, each put into a place drawn among those before it and its own. */
static void draw_places(nl_mersenne *generator, uint32_t *places, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        uint32_t at = nl_mersenne_below(generator, i + 1);
        if (at != i) places[i] = places[at];
        places[at] = i;
    }
}

static nl_status shuffle_row(nl_list_call *call)
{
    if (nl_vector_is_null(&call->args[0], call->row)) return nl_column_builder_null(call->builder);
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    nl_buffer *space = NULL;
    NL_TRY(nl_buffer_new(call->eval->memory, nl_size_mul(NL_MAX(list.length, 1u), sizeof(uint32_t)), false, &space));
    uint32_t *places = (uint32_t *)(void *)space->data;
    nl_mersenne *generator = call->eval->worker_state;
    nl_mersenne own;
    if (generator == NULL) { /* a folded constant */
        nl_mersenne_init(&own, ((const shuffle_how *)call->function->state)->seed);
        generator = &own;
    }
    draw_places(generator, places, list.length);
    nl_status status = NULL;
    for (uint32_t e = 0; e < list.length && status == NULL; e++)
        status = nl_column_builder_row(nl_column_builder_child(call->builder, 0), nl_list_child(&call->args[0], 0), list.offset + places[e]);
    nl_buffer_release(space);
    return status ? status : nl_column_builder_end_list(call->builder, list.length);
}
NL_LIST_KERNEL(shuffle_kernel, shuffle_row)

static nl_status bind_shuffle(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_types[0];
    if (type->id == NL_TYPE_NULL) bind->argument_types[0] = type = nl_type_array(bind->arena, nl_type_of(NL_TYPE_NULL), true);
    if (type->id != NL_TYPE_ARRAY) return nl_bind_unexpected_type(bind, 0, "\"ARRAY\"");
    shuffle_how *how = NL_NEW(bind->arena, shuffle_how);
    how->seed = bind->confs->now_micros ^ (int64_t)(uintptr_t)how;
    if (bind->argument_count > 1 && bind->argument_types[1]->id != NL_TYPE_NULL) {
        const nl_value *seed = bind->constants ? bind->constants[1] : NULL;
        bool is_whole = bind->argument_types[1]->id == NL_TYPE_INT || bind->argument_types[1]->id == NL_TYPE_BIGINT;
        if (seed == NULL || !is_whole)
            return NL_RAISE(INVALID_PARAMETER_VALUE__LONG, NL_P("functionName", "`shuffle`"), NL_P("parameter", "`seed`"),
                            NL_P_STR("invalidValue", nl_quoted(bind->arena, nl_bind_argument_sql(bind, 1))));
        if (!seed->is_null) how->seed = seed->integer;
    }
    bound->state = how;
    bound->result_type = type;
    return NULL;
}

#define ARRAY .kind = NL_FUNCTION_SCALAR, .group = "array"

static const nl_function_row rows[] = {
    {.name = "array_insert", ARRAY, .nulls = NL_NULL_SEEN, .can_fail = true, .signature = "(any, any, any) -> ?", .bind = bind_insert, .kernel = insert_kernel,
     .since = "3.4.0", .doc = "The array with an element put in at a position; negative positions count from the end, gaps are filled with NULL.",
     .examples = {{"array_insert(array(1, 2, 3, 4), 5, 5)", "[1,2,3,4,5]"}, {"array_insert(array(5, 4, 3, 2), -1, 1)", "[5,4,3,2,1]"},
                  {"array_insert(array(5, 3, 2, 1), -4, 4)", "[5,4,3,2,1]"}}},
    {.name = "arrays_zip", ARRAY, .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .signature = "([any...]) -> ?", .bind = bind_zip, .kernel = zip_kernel,
     .since = "2.4.0", .doc = "An array of structs, the n-th of the n-th elements; shorter arrays are filled up with NULL.",
     .examples = {{"arrays_zip(array(1, 2, 3), array(2, 3, 4))", "[{\"0\":1,\"1\":2},{\"0\":2,\"1\":3},{\"0\":3,\"1\":4}]"}}},
    {.name = "shuffle", ARRAY, .nulls = NL_NULL_SEEN, .is_nondeterministic = true, .signature = "(any [, any]) -> ?",
     .bind = bind_shuffle, .kernel = shuffle_kernel, .make_worker_state = make_generator, .free_worker_state = free, .since = "2.4.0",
     .doc = "The elements in a random order, the same for the same seed.", .examples = {{"sort_array(shuffle(array(1, 20, 3, 5)))", "[1,3,5,20]"}, {"shuffle(array(1, 2, 3, 4, 5), 42)", "[5,3,2,1,4]"}}},
};

NL_DEFINE_FUNCTION_GROUP(array_more, rows);
