/* scalar/array.c - searching, changing, sorting and combining arrays. Equality is that of DISTINCT: nulls are equal
 * where an array function keeps them at all.
 */
#include "function/groups.h"
#include "function/list.h"
#include "function/scalar/collection_bind.h"

#include <stdlib.h>

static nl_status add_element(nl_list_call *call, const nl_vector *source, uint32_t row)
{
    return nl_column_builder_row(nl_column_builder_child(call->builder, 0), source, row);
}

static bool element_equals(const nl_list_call *call, const nl_vector *elements, uint32_t e)
{
    return !nl_vector_is_null(elements, e) && nl_vector_row_equal(elements, e, &call->args[1], call->row);
}

static nl_status contains_row(nl_list_call *call)
{
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    const nl_vector *elements = nl_list_child(&call->args[0], 0);
    bool has_null = false;
    for (uint32_t e = list.offset; e < list.offset + list.length; e++) {
        if (element_equals(call, elements, e)) return nl_column_builder_i64(call->builder, 1);
        has_null |= nl_vector_is_null(elements, e);
    }
    return has_null ? nl_column_builder_null(call->builder) : nl_column_builder_i64(call->builder, 0);
}
NL_LIST_KERNEL(contains_kernel, contains_row)

static nl_status position_row(nl_list_call *call)
{
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    for (uint32_t e = 0; e < list.length; e++)
        if (element_equals(call, nl_list_child(&call->args[0], 0), list.offset + e)) return nl_column_builder_i64(call->builder, e + 1);
    return nl_column_builder_i64(call->builder, 0);
}
NL_LIST_KERNEL(position_kernel, position_row)

static nl_status remove_row(nl_list_call *call)
{
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    const nl_vector *elements = nl_list_child(&call->args[0], 0);
    bool compacts = call->function->argument_count == 1; /* array_compact */
    uint32_t kept = 0;
    for (uint32_t e = list.offset; e < list.offset + list.length; e++) {
        if (compacts ? nl_vector_is_null(elements, e) : element_equals(call, elements, e)) continue;
        NL_TRY(add_element(call, elements, e));
        kept++;
    }
    return nl_column_builder_end_list(call->builder, kept);
}
NL_LIST_KERNEL(remove_kernel, remove_row)

/* array_append, array_prepend: the new element may be null, the array not. */
static nl_status append_row(nl_list_call *call)
{
    if (nl_vector_is_null(&call->args[0], call->row)) return nl_column_builder_null(call->builder);
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    bool is_prepend = strcmp(call->function->row->name, "array_prepend") == 0;
    if (is_prepend) NL_TRY(add_element(call, &call->args[1], call->row));
    for (uint32_t e = list.offset; e < list.offset + list.length; e++) NL_TRY(add_element(call, nl_list_child(&call->args[0], 0), e));
    if (!is_prepend) NL_TRY(add_element(call, &call->args[1], call->row));
    return nl_column_builder_end_list(call->builder, list.length + 1);
}
NL_LIST_KERNEL(append_kernel, append_row)

static nl_status repeat_row(nl_list_call *call)
{
    if (nl_vector_is_null(&call->args[1], call->row)) return nl_column_builder_null(call->builder);
    int64_t count = nl_list_integer(call, 1);
    if (count < 0) count = 0;
    if (count > NL_LIST_ELEMENTS_MAX)
        return NL_RAISE(COLLECTION_SIZE_LIMIT_EXCEEDED__PARAMETER, NL_P_INT("numberOfElements", count),
                        NL_P_INT("maxRoundedArrayLength", NL_LIST_ELEMENTS_MAX), NL_P("functionName", "`array_repeat`"), NL_P("parameter", "`count`"));
    NL_TRY(nl_list_reserve(call, (uint64_t)count));
    if (call->args[0].type->physical == NL_PHYS_LIST) { /* and for what the lists hold */
        nl_column_builder *lists = nl_column_builder_child(call->builder, 0);
        const uint64_t total = (uint64_t)count * nl_list_of(&call->args[0], call->row).length;
        NL_TRY(nl_column_builder_reserve(nl_column_builder_child(lists, 0), (uint32_t)NL_MIN(total, (uint64_t)UINT32_MAX)));
    }
    for (int64_t i = 0; i < count; i++) {
        if (i % NL_LIST_CHECK_ELEMENTS == 0) NL_TRY(nl_eval_check(call->eval));
        NL_TRY(add_element(call, &call->args[0], call->row));
    }
    return nl_column_builder_end_list(call->builder, (uint32_t)count);
}
NL_LIST_KERNEL(repeat_kernel, repeat_row)

static nl_status bind_repeat(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *count = bind->argument_types[1];
    if (count->id != NL_TYPE_INT && count->id != NL_TYPE_SMALLINT && count->id != NL_TYPE_TINYINT && count->id != NL_TYPE_NULL)
        return nl_bind_unexpected_type(bind, 1, "\"INT\"");
    bind->argument_types[1] = nl_type_int();
    bound->result_type = nl_type_array(bind->arena, bind->argument_types[0], true);
    return NULL;
}

/* --- sets --- */

static nl_status distinct_row(nl_list_call *call)
{
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    nl_element_set *set = NULL;
    uint32_t kept = 0;
    NL_TRY(nl_list_call_set(call, list.length, &set));
    for (uint32_t e = list.offset; e < list.offset + list.length; e++) {
        bool is_new = false;
        NL_TRY(nl_element_set_add(set, nl_list_child(&call->args[0], 0), e, &is_new));
        if (is_new) NL_TRY(add_element(call, nl_list_child(&call->args[0], 0), e));
        kept += is_new;
    }
    return nl_column_builder_end_list(call->builder, kept);
}
NL_LIST_KERNEL(distinct_kernel, distinct_row)

static nl_status union_row(nl_list_call *call)
{
    nl_element_set *set = NULL;
    uint32_t kept = 0;
    NL_TRY(nl_list_call_set(call, nl_list_of(&call->args[0], call->row).length + nl_list_of(&call->args[1], call->row).length, &set));
    for (uint32_t a = 0; a < 2; a++) {
        nl_list_view list = nl_list_of(&call->args[a], call->row);
        for (uint32_t e = list.offset; e < list.offset + list.length; e++) {
            bool is_new = false;
            NL_TRY(nl_element_set_add(set, nl_list_child(&call->args[a], 0), e, &is_new));
            if (is_new) NL_TRY(add_element(call, nl_list_child(&call->args[a], 0), e));
            kept += is_new;
        }
    }
    return nl_column_builder_end_list(call->builder, kept);
}
NL_LIST_KERNEL(union_kernel, union_row)

/* array_except and array_intersect: elements of the first that are (not) in the second, each once. For except the
 * kept ones join the set, so that they are not kept again; for intersect a second set remembers them. */
static nl_status filter_by_set_row(nl_list_call *call)
{
    bool is_except = strcmp(call->function->row->name, "array_except") == 0;
    nl_list_view a = nl_list_of(&call->args[0], call->row);
    nl_list_view b = nl_list_of(&call->args[1], call->row);
    nl_element_set *set = NULL;
    nl_element_set *seen = NULL;
    nl_status status = NULL;
    uint32_t kept = 0;
    bool flag = false;
    NL_TRY(nl_list_call_set(call, a.length + b.length, &set));
    for (uint32_t e = b.offset; e < b.offset + b.length; e++) NL_TRY(nl_element_set_add(set, nl_list_child(&call->args[1], 0), e, &flag));
    NL_TRY(nl_element_set_new(call->eval->memory, &seen));
    NL_GO(nl_element_set_begin(seen, a.length));
    for (uint32_t e = a.offset; e < a.offset + a.length; e++) {
        const nl_vector *elements = nl_list_child(&call->args[0], 0);
        bool is_in = false;
        NL_GO(nl_element_set_has(set, elements, e, &is_in));
        if (is_in == is_except) continue;
        NL_GO(nl_element_set_add(seen, elements, e, &flag));
        if (!flag) continue;
        NL_GO(add_element(call, elements, e));
        kept++;
    }
    status = nl_column_builder_end_list(call->builder, kept);
done:
    nl_element_set_free(seen);
    return status;
}
NL_LIST_KERNEL(filter_by_set_kernel, filter_by_set_row)

static nl_status overlap_row(nl_list_call *call)
{
    nl_list_view lists[2] = {nl_list_of(&call->args[0], call->row), nl_list_of(&call->args[1], call->row)};
    nl_element_set *set = NULL;
    bool has_null = false;
    NL_TRY(nl_list_call_set(call, lists[0].length, &set));
    for (uint32_t a = 0; a < 2; a++) {
        const nl_vector *elements = nl_list_child(&call->args[a], 0);
        for (uint32_t e = lists[a].offset; e < lists[a].offset + lists[a].length; e++) {
            bool flag = false;
            if (nl_vector_is_null(elements, e)) {
                has_null = true;
                continue;
            }
            NL_TRY(a == 0 ? nl_element_set_add(set, elements, e, &flag) : nl_element_set_has(set, elements, e, &flag));
            if (a == 1 && flag) return nl_column_builder_i64(call->builder, 1);
        }
    }
    has_null &= lists[0].length > 0 && lists[1].length > 0;
    return has_null ? nl_column_builder_null(call->builder) : nl_column_builder_i64(call->builder, 0);
}
NL_LIST_KERNEL(overlap_kernel, overlap_row)

/* --- extremes, joining, parts --- */

static nl_status extreme_row(nl_list_call *call)
{
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    const nl_vector *elements = nl_list_child(&call->args[0], 0);
    bool is_max = strcmp(call->function->row->name, "array_max") == 0;
    uint32_t best = UINT32_MAX;
    for (uint32_t e = list.offset; e < list.offset + list.length; e++) {
        if (nl_vector_is_null(elements, e)) continue;
        int order = best == UINT32_MAX ? 0 : nl_vector_row_compare(elements, e, elements, best);
        if (best == UINT32_MAX || (is_max ? order > 0 : order < 0)) best = e;
    }
    return best == UINT32_MAX ? nl_column_builder_null(call->builder) : nl_column_builder_row(call->builder, elements, best);
}
NL_LIST_KERNEL(extreme_kernel, extreme_row)

static nl_status bind_orderable(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *element = bind->argument_types[0]->children[0].type;
    (void)bound;
    return nl_type_is_orderable(element) ? NULL : nl_bind_not_orderable(bind, element);
}

static nl_status join_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_bound_function *function = context->function;
    const nl_list_view *lists = context->readers[0].values;
    nl_list_view list = lists[nl_reader_index(&context->readers[0], row)];
    const nl_reader *texts = &context->readers[5]; /* of the elements: set by the kernel */
    nl_str delimiter = nl_reader_str(&context->readers[1], row);
    bool is_first = true;
    for (uint32_t e = list.offset; e < list.offset + list.length && !nl_builder_failed(&context->text); e++) {
        if ((e - list.offset) % NL_LIST_CHECK_ELEMENTS == NL_LIST_CHECK_ELEMENTS - 1) NL_TRY(nl_eval_check(context->eval));
        bool is_missing = nl_reader_is_null(texts, e);
        if (is_missing && function->argument_count < 3) continue;
        if (!is_first) nl_append(&context->text, delimiter);
        is_first = false;
        nl_append(&context->text, is_missing ? nl_reader_str(&context->readers[2], row) : nl_reader_str(texts, e));
    }
    return NULL;
}

static nl_status join_kernel(NL_KERNEL_PARAMETERS)
{
    (void)lambdas;
    nl_row_context context = {.function = function, .eval = eval};
    nl_status status = NULL;
    NL_TRY(nl_output_init(&context.output, function->result_type, length, eval->memory, out));
    for (uint32_t i = 0; i < function->argument_count; i++) nl_reader_init(&context.readers[i], &args[i]);
    nl_reader_init(&context.readers[5], nl_list_child(&args[0], 0));
    nl_builder_init(&context.text, nl_eval_text_max(eval));
    for (uint32_t i = 0; i < selection.count && status == NULL; i++) {
        bool is_null = false;
        uint32_t row = nl_selection_row(selection, i);
        nl_builder_clear(&context.text);
        status = join_row(&context, row, &is_null);
        if (status == NULL) status = nl_output_builder(&context.output, row, &context.text);
    }
    nl_builder_fini(&context.text);
    return status;
}

static nl_status slice_row(nl_list_call *call)
{
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    int64_t start = nl_list_integer(call, 1);
    int64_t length = nl_list_integer(call, 2);
    if (start == 0)
        return NL_RAISE(INVALID_PARAMETER_VALUE__START, NL_P("parameter", "`start`"), NL_P("functionName", "`slice`"));
    if (length < 0)
        return NL_RAISE(INVALID_PARAMETER_VALUE__LENGTH, NL_P("parameter", "`length`"), NL_P("functionName", "`slice`"), NL_P_INT("length", length));
    int64_t first = start > 0 ? start - 1 : start + list.length;
    if (first < 0 || first >= list.length) return nl_column_builder_end_list(call->builder, 0);
    int64_t count = NL_MIN(length, (int64_t)list.length - first);
    for (int64_t e = first; e < first + count; e++) NL_TRY(add_element(call, nl_list_child(&call->args[0], 0), list.offset + (uint32_t)e));
    return nl_column_builder_end_list(call->builder, (uint32_t)count);
}
NL_LIST_KERNEL(slice_kernel, slice_row)

static nl_status flatten_row(nl_list_call *call)
{
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    const nl_vector *inner = nl_list_child(&call->args[0], 0);
    int64_t total = 0;
    for (uint32_t e = list.offset; e < list.offset + list.length; e++) {
        if (nl_vector_is_null(inner, e)) return nl_column_builder_null(call->builder);
        total += nl_list_of(inner, e).length;
    }
    if (total > NL_LIST_ELEMENTS_MAX)
        return NL_RAISE(COLLECTION_SIZE_LIMIT_EXCEEDED__FUNCTION, NL_P_INT("numberOfElements", total),
                        NL_P_INT("maxRoundedArrayLength", NL_LIST_ELEMENTS_MAX), NL_P("functionName", "`flatten`"));
    NL_TRY(nl_list_reserve(call, (uint64_t)total));
    for (uint32_t e = list.offset; e < list.offset + list.length; e++) {
        nl_list_view part = nl_list_of(inner, e);
        NL_TRY(nl_eval_check(call->eval));
        for (uint32_t i = part.offset; i < part.offset + part.length; i++) NL_TRY(add_element(call, nl_list_child(inner, 0), i));
    }
    return nl_column_builder_end_list(call->builder, (uint32_t)total);
}
NL_LIST_KERNEL(flatten_kernel, flatten_row)

static nl_status bind_flatten(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *inner = bind->argument_types[0]->children[0].type;
    if (inner->id != NL_TYPE_ARRAY) return nl_bind_unexpected_type(bind, 0, "\"ARRAY\" of \"ARRAY\"");
    bound->result_type = inner;
    return NULL;
}

/* --- sort_array: nulls first ascending, last descending; array_sort without a comparator: ascending, nulls last --- */

typedef struct sort_context {
    const nl_vector *elements;
    bool is_descending;
    bool nulls_first;
} sort_context;

static int compare_elements(const void *a, const void *b, void *context)
{
    const sort_context *sort = context;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    bool x_null = nl_vector_is_null(sort->elements, x);
    bool y_null = nl_vector_is_null(sort->elements, y);
    if (x_null || y_null) {
        if (x_null && y_null) return x < y ? -1 : 1;
        return x_null == sort->nulls_first ? -1 : 1;
    }
    int order = nl_vector_row_compare(sort->elements, x, sort->elements, y);
    if (order == 0) return x < y ? -1 : x > y; /* stable */
    return sort->is_descending ? -order : order;
}

static nl_status sort_row(nl_list_call *call)
{
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    nl_buffer *space = NULL;
    bool is_ascending = call->function->argument_count < 2 || nl_list_integer(call, 1) != 0;
    bool is_array_sort = strcmp(call->function->row->name, "array_sort") == 0;
    sort_context sort = {nl_list_child(&call->args[0], 0), !is_ascending, is_ascending && !is_array_sort};
    NL_TRY(nl_buffer_new(call->eval->memory, nl_size_mul(NL_MAX(list.length, 1u), sizeof(uint32_t)), false, &space));
    uint32_t *rows = (uint32_t *)(void *)space->data;
    for (uint32_t e = 0; e < list.length; e++) rows[e] = list.offset + e;
    qsort_r(rows, list.length, sizeof *rows, compare_elements, &sort);
    nl_status status = NULL;
    for (uint32_t e = 0; e < list.length && status == NULL; e++) status = add_element(call, sort.elements, rows[e]);
    nl_buffer_release(space);
    return status ? status : nl_column_builder_end_list(call->builder, list.length);
}
NL_LIST_KERNEL(sort_kernel, sort_row)

static nl_status bind_sort_array(nl_bind *bind, nl_bound_function *bound)
{
    NL_TRY(bind_orderable(bind, bound));
    if (bind->argument_count < 2) return NULL;
    if (bind->argument_types[1]->id == NL_TYPE_NULL) bind->argument_types[1] = nl_type_boolean();
    return bind->argument_types[1]->id == NL_TYPE_BOOLEAN ? NULL : nl_bind_unexpected_type(bind, 1, "\"BOOLEAN\"");
}

#define ARRAY_ROW .kind = NL_FUNCTION_SCALAR, .group = "array", .nulls = NL_NULL_IN_NULL_OUT
#define TOTAL ARRAY_ROW, .keeps_non_null = true
#define SEEN .kind = NL_FUNCTION_SCALAR, .group = "array", .nulls = NL_NULL_SEEN

static const nl_function_row rows[] = {
    {.name = "array_contains", ARRAY_ROW, .signature = "(any, any) -> boolean", .bind = nl_bind_array_contains, .kernel = contains_kernel, .since = "1.5.0",
     .doc = "Whether the array has the value; NULL when not but it has a NULL.", .examples = {{"array_contains(array(1, 2, 3), 2)", "true"}}},
    {.name = "array_position", TOTAL, .signature = "(any, any) -> bigint", .bind = nl_bind_array_position, .kernel = position_kernel, .since = "2.4.0",
     .doc = "The place of the value, from 1; 0 when it is not there.", .examples = {{"array_position(array(312, 773, 708, 708), 708)", "3"}}},
    {.name = "array_remove", TOTAL, .signature = "(any, any) -> ?", .bind = nl_bind_array_change, .kernel = remove_kernel, .since = "2.4.0",
     .doc = "The array without a value.", .examples = {{"array_remove(array(1, 2, 3, null, 3), 3)", "[1,2,null]"}}},
    {.name = "array_compact", TOTAL, .signature = "(array<T>) -> array<T>", .kernel = remove_kernel, .since = "3.4.0",
     .doc = "The array without NULLs.", .examples = {{"array_compact(array(1, 2, 3, null))", "[1,2,3]"}}},
    {.name = "array_append", SEEN, .signature = "(any, any) -> ?", .bind = nl_bind_array_change, .kernel = append_kernel, .since = "3.4.0",
     .doc = "The array with a value at its end.", .examples = {{"array_append(array('b', 'd'), 'e')", "[\"b\",\"d\",\"e\"]"}}},
    {.name = "array_prepend", SEEN, .signature = "(any, any) -> ?", .bind = nl_bind_array_change, .kernel = append_kernel, .since = "3.5.0",
     .doc = "The array with a value at its start.", .examples = {{"array_prepend(array('b', 'd'), 'a')", "[\"a\",\"b\",\"d\"]"}}},
    {.name = "array_repeat", SEEN, .can_fail = true, .signature = "(any, any) -> ?", .bind = bind_repeat, .kernel = repeat_kernel, .since = "2.4.0",
     .doc = "An array of the value so many times.", .examples = {{"array_repeat('123', 2)", "[\"123\",\"123\"]"}}},
    {.name = "array_distinct", TOTAL, .signature = "(array<T>) -> array<T>", .bind = bind_orderable, .kernel = distinct_kernel, .since = "2.4.0",
     .doc = "The array with each value once.", .examples = {{"array_distinct(array(1, 2, 3, null, 3))", "[1,2,3,null]"}}},
    {.name = "array_union", TOTAL, .signature = "(any, any) -> ?", .bind = nl_bind_two_arrays, .kernel = union_kernel, .since = "2.4.0",
     .doc = "The values of both arrays, each once.", .examples = {{"array_union(array(1, 2, 3), array(1, 3, 5))", "[1,2,3,5]"}}},
    {.name = "array_intersect", TOTAL, .signature = "(any, any) -> ?", .bind = nl_bind_two_arrays, .kernel = filter_by_set_kernel, .since = "2.4.0",
     .doc = "The values that are in both arrays, each once.", .examples = {{"array_intersect(array(1, 2, 3), array(1, 3, 5))", "[1,3]"}}},
    {.name = "array_except", TOTAL, .signature = "(any, any) -> ?", .bind = nl_bind_two_arrays, .kernel = filter_by_set_kernel, .since = "2.4.0",
     .doc = "The values of the first array that are not in the second, each once.", .examples = {{"array_except(array(1, 2, 3), array(1, 3, 5))", "[2]"}}},
    {.name = "arrays_overlap", ARRAY_ROW, .signature = "(any, any) -> boolean", .bind = nl_bind_two_arrays, .kernel = overlap_kernel, .since = "2.4.0",
     .doc = "Whether the arrays have a value in common; NULL when not but one has a NULL.", .examples = {{"arrays_overlap(array(1, 2, 3), array(3, 4, 5))", "true"}}},
    {.name = "array_max", ARRAY_ROW, .signature = "(array<T>) -> T", .bind = bind_orderable, .kernel = extreme_kernel, .since = "2.4.0",
     .doc = "The greatest element.", .examples = {{"array_max(array(1, 20, null, 3))", "20"}}},
    {.name = "array_min", ARRAY_ROW, .signature = "(array<T>) -> T", .bind = bind_orderable, .kernel = extreme_kernel, .since = "2.4.0",
     .doc = "The least element.", .examples = {{"array_min(array(1, 20, null, 3))", "1"}}},
    {.name = "array_join", TOTAL, .signature = "(array<string>, string [, string]) -> string", .kernel = join_kernel, .since = "2.4.0",
     .doc = "The elements with a delimiter between them; NULLs are left out or replaced.", .examples = {{"array_join(array('hello', null, 'world'), ' ', ',')", "hello , world"}}},
    {.name = "slice", TOTAL, .can_fail = true, .signature = "(array<T>, int, int) -> array<T>", .kernel = slice_kernel, .since = "2.4.0",
     .doc = "A part of the array, from a place (from 1, negative from the end).", .examples = {{"slice(array(1, 2, 3, 4), 2, 2)", "[2,3]"}}},
    {.name = "flatten", ARRAY_ROW, .signature = "(array) -> ?", .bind = bind_flatten, .kernel = flatten_kernel, .since = "2.4.0",
     .doc = "An array of arrays as one array.", .examples = {{"flatten(array(array(1, 2), array(3, 4)))", "[1,2,3,4]"}}},
    {.name = "sort_array", TOTAL, .signature = "(array<T> [, any]) -> array<T>", .bind = bind_sort_array, .kernel = sort_kernel, .since = "1.5.0",
     .doc = "The array sorted, ascending with NULLs first or descending with NULLs last.", .examples = {{"sort_array(array('b', 'd', null, 'c', 'a'), true)", "[null,\"a\",\"b\",\"c\",\"d\"]"}}},
    {.name = "array_sort", TOTAL, .signature = "(array<T>) -> array<T>", .bind = bind_orderable, .kernel = sort_kernel, .since = "2.4.0",
     .doc = "The array sorted ascending, NULLs last.", .examples = {{"array_sort(array('b', 'd', null, 'c', 'a'))", "[\"a\",\"b\",\"c\",\"d\",null]"}}},
};

NL_DEFINE_FUNCTION_GROUP(array, rows);
