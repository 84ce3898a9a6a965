/* trino/list.c - subscripts, UNNEST and TRY as Trino has them. Source: its documentation, "Array functions and operators", "SELECT" and
 * "Conditional expressions"; its answers in tests/trino/collections.test.
 */
#include "function/groups.h"
#include "function/list.h"

#include <stdlib.h>

#define INVALID(...) NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, __VA_ARGS__)

/* --- a[i], m[k] --- */

static nl_status subscript_row(nl_list_call *call)
{
    const nl_list_view list = nl_list_of(&call->args[0], call->row);
    if (call->args[0].type->id == NL_TYPE_MAP) {
        for (uint32_t e = list.offset; e < list.offset + list.length; e++)
            if (nl_vector_row_equal(nl_list_child(&call->args[0], 0), e, &call->args[1], call->row)) return nl_column_builder_row(call->builder, nl_list_child(&call->args[0], 1), e);
        return INVALID("Key not present in map");
    }
    const int64_t index = nl_list_integer(call, 1);
    if (index == 0) return INVALID("SQL array indices start at 1");
    if (index < 0) return INVALID("Array subscript is negative: %lld", (long long)index);
    if (index > list.length) return INVALID("Array subscript must be less than or equal to array length: %lld > %u", (long long)index, list.length);
    return nl_column_builder_row(call->builder, nl_list_child(&call->args[0], 0), list.offset + (uint32_t)index - 1);
}
NL_LIST_KERNEL(subscript_kernel, subscript_row)

/* element_at: NULL where nothing is; arrays from the end, too. */
static nl_status element_at_row(nl_list_call *call)
{
    const nl_list_view list = nl_list_of(&call->args[0], call->row);
    if (call->args[0].type->id == NL_TYPE_MAP) {
        for (uint32_t e = list.offset; e < list.offset + list.length; e++)
            if (nl_vector_row_equal(nl_list_child(&call->args[0], 0), e, &call->args[1], call->row)) return nl_column_builder_row(call->builder, nl_list_child(&call->args[0], 1), e);
        return nl_column_builder_null(call->builder);
    }
    int64_t index = nl_list_integer(call, 1);
    if (index == 0) return INVALID("SQL array indices start at 1");
    if (index < 0) index += (int64_t)list.length + 1;
    if (index <= 0 || index > list.length) return nl_column_builder_null(call->builder);
    return nl_column_builder_row(call->builder, nl_list_child(&call->args[0], 0), list.offset + (uint32_t)index - 1);
}
NL_LIST_KERNEL(element_at_kernel, element_at_row)

static nl_status bind_element(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_types[0];
    if (type->id != NL_TYPE_MAP && type->id != NL_TYPE_ARRAY) return nl_bind_unexpected_type(bind, 0, "(\"ARRAY\" or \"MAP\")");
    bound->result_type = type->children[type->id == NL_TYPE_MAP].type;
    if (type->id == NL_TYPE_MAP) bind->argument_types[1] = type->children[0].type;
    else if (!nl_type_is_integral(bind->argument_types[1])) return nl_bind_unexpected_type(bind, 1, "\"INTEGRAL\"");
    return NULL;
}

/* --- array_max, array_min: NULL when an element is --- */

static nl_status extreme_row(nl_list_call *call)
{
    const nl_list_view list = nl_list_of(&call->args[0], call->row);
    const nl_vector *elements = nl_list_child(&call->args[0], 0);
    const bool is_max = strcmp(call->function->row->name, "trino_array_max") == 0;
    uint32_t best = list.offset;
    for (uint32_t e = list.offset; e < list.offset + list.length; e++) {
        if (nl_vector_is_null(elements, e)) return nl_column_builder_null(call->builder);
        const int order = nl_vector_row_compare(elements, e, elements, best);
        if (is_max ? order > 0 : order < 0) best = e;
    }
    return list.length ? nl_column_builder_row(call->builder, elements, best) : nl_column_builder_null(call->builder);
}
NL_LIST_KERNEL(extreme_kernel, extreme_row)

/* --- flatten: arrays that are NULL count as empty --- */

static nl_status flatten_row(nl_list_call *call)
{
    const nl_list_view list = nl_list_of(&call->args[0], call->row);
    const nl_vector *arrays = nl_list_child(&call->args[0], 0);
    uint64_t count = 0;
    for (uint32_t e = list.offset; e < list.offset + list.length; e++) {
        if (nl_vector_is_null(arrays, e)) continue;
        const nl_list_view inner = nl_list_of(arrays, e);
        NL_TRY(nl_list_reserve(call, inner.length));
        for (uint32_t k = 0; k < inner.length; k++) NL_TRY(nl_column_builder_row(nl_column_builder_child(call->builder, 0), nl_list_child(arrays, 0), inner.offset + k));
        count += inner.length;
    }
    if (count > UINT32_MAX) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)count), NL_P_INT("receivedBytes", 0));
    return nl_column_builder_end_list(call->builder, (uint32_t)count);
}
NL_LIST_KERNEL(flatten_kernel, flatten_row)

/* --- UNNEST: trino_unnest(with_ordinality, arrays and maps…); shorter ones are filled with NULLs --- */

enum { COLUMNS_MAX = 64 };

typedef struct unnest {
    uint32_t columns[COLUMNS_MAX]; /* of each argument: how many it gives */
    bool has_ordinality;
} unnest;

static nl_status append_element(const nl_vector *arg, uint32_t row, uint32_t at, uint32_t columns, nl_column_builder *const *builders)
{
    const bool is_null = nl_vector_is_null(arg, row);
    const nl_list_view list = is_null ? (nl_list_view){0} : nl_list_of(arg, row);
    if (at >= list.length) {
        for (uint32_t c = 0; c < columns; c++) NL_TRY(nl_column_builder_null(builders[c]));
        return NULL;
    }
    if (arg->type->id == NL_TYPE_MAP) {
        for (uint32_t c = 0; c < 2; c++) NL_TRY(nl_column_builder_row(builders[c], nl_list_child(arg, c), list.offset + at));
        return NULL;
    }
    const nl_vector *elements = nl_list_child(arg, 0);
    if (elements->type->id != NL_TYPE_STRUCT) return nl_column_builder_row(builders[0], elements, list.offset + at);
    if (nl_vector_is_null(elements, list.offset + at)) {
        for (uint32_t c = 0; c < columns; c++) NL_TRY(nl_column_builder_null(builders[c]));
        return NULL;
    }
    for (uint32_t c = 0; c < columns; c++) NL_TRY(nl_column_builder_row(builders[c], &elements->children[c], list.offset + at));
    return NULL;
}

typedef struct parents {
    nl_buffer *buffer;
    uint32_t count, capacity;
} parents;

static nl_status add_parent(parents *self, nl_memory *memory, uint32_t row)
{
    if (self->count == self->capacity) {
        nl_buffer *grown = NULL;
        if (self->capacity >= UINT32_MAX / 2) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", UINT32_MAX), NL_P_INT("receivedBytes", 0));
        self->capacity = NL_MAX(64u, self->capacity * 2);
        NL_TRY(nl_buffer_new(memory, self->capacity * sizeof(uint32_t), false, &grown));
        if (self->count) memcpy(grown->data, self->buffer->data, self->count * sizeof(uint32_t));
        nl_buffer_release(self->buffer);
        self->buffer = grown;
    }
    ((uint32_t *)(void *)self->buffer->data)[self->count++] = row;
    return NULL;
}

static nl_status unnest_rows(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, uint32_t row, bool is_outer, parents *up, nl_column_builder *const *builders)
{
    const unnest *how = function->state;
    uint32_t longest = 0;
    for (uint32_t i = 1; i < function->argument_count; i++)
        if (!nl_vector_is_null(&args[i], row)) longest = NL_MAX(longest, nl_list_of(&args[i], row).length);
    const bool is_null_row = longest == 0 && is_outer;
    for (uint32_t e = 0; e < longest + is_null_row; e++) {
        uint32_t column = 0;
        NL_TRY(add_parent(up, eval->memory, row));
        for (uint32_t i = 1; i < function->argument_count; column += how->columns[i++]) NL_TRY(append_element(&args[i], row, e, how->columns[i], builders + column));
        if (how->has_ordinality) NL_TRY(is_null_row ? nl_column_builder_null(builders[column]) : nl_column_builder_i64(builders[column], (int64_t)e + 1));
    }
    return NULL;
}

static nl_status unnest_generate(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, bool is_outer, nl_buffer **parent_rows,
                                 uint32_t *row_count, nl_vector *columns)
{
    nl_column_builder *builders[COLUMNS_MAX] = {NULL};
    nl_vector flat[COLUMNS_MAX] = {{0}};
    parents up = {0};
    nl_status status = NULL;
    const nl_type *type = function->result_type;
    uint32_t done_count = 0;
    for (uint32_t i = 0; i < type->child_count; i++) NL_GO(nl_column_builder_new(type->children[i].type, eval->memory, &builders[i]));
    NL_GO(nl_buffer_new(eval->memory, 64 * sizeof(uint32_t), false, &up.buffer));
    up.capacity = 64;
    for (uint32_t i = 1; i < function->argument_count; i++) NL_GO(nl_vector_flatten(&args[i], true, eval->memory, &flat[i]));
    NL_EACH_SELECTED(row) NL_GO(unnest_rows(function, eval, flat, row, is_outer, &up, builders));
    for (; done_count < type->child_count; done_count++) NL_GO(nl_column_builder_finish(builders[done_count], &columns[done_count]));
    *parent_rows = up.buffer;
    *row_count = up.count;
    up.buffer = NULL;
done:
    while (status && done_count-- > 0) nl_vector_fini(&columns[done_count]);
    for (uint32_t i = 0; i < COLUMNS_MAX; i++) nl_column_builder_free(builders[i]);
    for (uint32_t i = 0; i < COLUMNS_MAX; i++) nl_vector_fini(&flat[i]);
    nl_buffer_release(up.buffer);
    return status;
}
static const nl_generator_ops unnest_ops = {.generate = unnest_generate};

static nl_status bind_unnest(nl_bind *bind, nl_bound_function *bound)
{
    unnest *how = NL_NEW(bind->arena, unnest);
    nl_field fields[COLUMNS_MAX] = {{{0}}};
    uint32_t count = 0;
    if (bind->argument_count >= COLUMNS_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "UNNEST of so many arrays is not supported");
    how->has_ordinality = bind->constants[0] && bind->constants[0]->boolean;
    for (uint32_t i = 1; i < bind->argument_count; i++) {
        const nl_type *type = bind->argument_types[i];
        if (type->id != NL_TYPE_ARRAY && type->id != NL_TYPE_MAP) return nl_bind_unexpected_type(bind, i, "(\"ARRAY\" or \"MAP\")");
        const nl_type *rows = type->id == NL_TYPE_ARRAY && type->children[0].type->id == NL_TYPE_STRUCT ? type->children[0].type : type;
        how->columns[i] = rows->child_count;
        if (count + rows->child_count + 1 > COLUMNS_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "UNNEST with more than %d columns is not supported", COLUMNS_MAX - 1);
        for (uint32_t c = 0; c < rows->child_count; c++, count++) {
            fields[count] = rows->children[c];
            if (rows == type) fields[count].name = nl_arena_f(bind->arena, "_col%u", count);
            fields[count].is_nullable = true;
        }
    }
    if (how->has_ordinality) fields[count++] = (nl_field){.name = NL_STR("ordinality"), .type = nl_type_bigint(), .is_nullable = true};
    bound->state = how;
    bound->result_type = nl_type_struct(bind->arena, fields, count);
    return NULL;
}

/* --- TRY(x): trino_try(array(0), v -> x). The whole batch first; if that fails, row by row, so that only those that fail are NULL --- */

static bool is_caught(const nl_error *error)
{
    const nl_error_kind kind = nl_error_kind_of(error);
    return (kind == NL_KIND_USER || kind == NL_KIND_DATA) && nl_error_condition(error) != NL_COND_OPERATION_CANCELED && nl_error_condition(error) != NL_COND_UNABLE_TO_ACQUIRE_MEMORY;
}

static nl_status try_row(const nl_lambda *lambda, nl_eval *eval, uint32_t row, nl_column_builder *builder)
{
    int32_t zero = 0;
    const nl_vector parameter = {.type = nl_type_int(), .encoding = NL_FLAT, .length = 1, .values = &zero};
    nl_vector made = {0};
    nl_status status = lambda->evaluate(lambda, eval, &parameter, 1, &row, 1, &made);
    if (!status) status = nl_column_builder_row(builder, &made, 0);
    nl_vector_fini(&made);
    if (!status || !is_caught(status)) return status;
    nl_error_free(status);
    return nl_column_builder_null(builder);
}

/* All selected rows at once. *is_done false: some row failed. */
static nl_status try_all(const nl_lambda *lambda, nl_eval *eval, nl_selection selection, nl_vector *made, bool *is_done)
{
    nl_buffer *buffer = NULL;
    *is_done = false;
    NL_TRY(nl_buffer_new(eval->memory, nl_size_mul(NL_MAX(selection.count, 1u), 2 * sizeof(uint32_t)), true, &buffer));
    uint32_t *zeros = (uint32_t *)(void *)buffer->data, *rows = zeros + selection.count;
    for (uint32_t i = 0; i < selection.count; i++) rows[i] = nl_selection_row(selection, i);
    const nl_vector parameter = {.type = nl_type_int(), .encoding = NL_FLAT, .length = selection.count, .values = zeros};
    nl_status status = lambda->evaluate(lambda, eval, &parameter, 1, rows, selection.count, made);
    nl_buffer_release(buffer);
    *is_done = !status;
    if (!status || !is_caught(status)) return status;
    nl_error_free(status);
    return NULL;
}

static nl_status try_kernel(NL_KERNEL_PARAMETERS)
{
    nl_column_builder *builder = NULL;
    nl_vector made = {0};
    bool is_done = false;
    nl_status status = selection.count ? try_all(lambdas[1], eval, selection, &made, &is_done) : NULL;
    if (!status) status = nl_column_builder_new(function->result_type, eval->memory, &builder);
    uint32_t next = 0;
    for (uint32_t row = 0; !status && row < length; row++) {
        const bool is_wanted = next < selection.count && nl_selection_row(selection, next) == row;
        next += is_wanted;
        if (row % 256 == 0) status = nl_eval_check(eval);
        if (status) break;
        if (!is_wanted) status = nl_column_builder_null(builder);
        else status = is_done ? nl_column_builder_row(builder, &made, next - 1) : try_row(lambdas[1], eval, row, builder);
    }
    if (!status) status = nl_column_builder_finish(builder, out);
    nl_column_builder_free(builder);
    nl_vector_fini(&made);
    return status;
}

#define LIST .kind = NL_FUNCTION_SCALAR, .group = "array", .since = "0.1.0", .is_internal = true

static const nl_function_row rows[] = {
    {.name = "trino_subscript", LIST, .can_fail = true, .signature = "(array, any) -> ? | (map, any) -> ?", .bind = bind_element, .kernel = subscript_kernel, .doc = "An element that must be there."},
    {.name = "trino_element_at", LIST, .can_fail = true, .signature = "(array, any) -> ? | (map, any) -> ?", .bind = bind_element, .kernel = element_at_kernel, .doc = "An element, or NULL."},
    {.name = "trino_array_max", LIST, .signature = "(array<T>) -> T", .kernel = extreme_kernel, .doc = "The greatest element."},
    {.name = "trino_array_min", LIST, .signature = "(array<T>) -> T", .kernel = extreme_kernel, .doc = "The least element."},
    {.name = "trino_flatten", LIST, .keeps_non_null = true, .signature = "(array<array<T>>) -> array<T>", .kernel = flatten_kernel, .doc = "The elements of an array's arrays."},
    {.name = "trino_unnest", .kind = NL_FUNCTION_GENERATOR, .group = "generator", .since = "0.1.0", .nulls = NL_NULL_SEEN, .is_internal = true, .signature = "(boolean, any...) -> ?", .bind = bind_unnest,
     .generator = &unnest_ops, .doc = "Arrays and maps side by side as rows."},
    {.name = "trino_try", LIST, .nulls = NL_NULL_SEEN, .signature = "(int, lambda(int) -> T) -> T", .kernel = try_kernel, .doc = "NULL where an error would be."},
};

NL_DEFINE_FUNCTION_GROUP(trino_list, rows);
