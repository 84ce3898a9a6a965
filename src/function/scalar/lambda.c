/* scalar/lambda.c - transform, filter, exists, forall, aggregate, zip_with, transform_keys, transform_values, map_filter.
 *
 * All elements of all selected rows go through the lambda in one call; `aggregate` goes place by place, all rows that
 * have an element there at once.
 */
#include "function/groups.h"
#include "function/list.h"

/* The elements of the selected rows, one after the other. */
typedef struct elements {
    nl_buffer *buffer;
    uint32_t count;
    uint32_t *places;  /* in the child vector        */
    uint32_t *parents; /* row each belongs to        */
    int32_t *indices;  /* place in its list, from 0  */
} elements;

static nl_status gather(nl_eval *eval, const nl_vector *arg, nl_selection selection, elements *e)
{
    uint64_t total = 0;
    NL_EACH_SELECTED(row) total += nl_list_of(arg, row).length;
    if (total > UINT32_MAX) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)total), NL_P_INT("receivedBytes", 0));
    NL_TRY(nl_buffer_new(eval->memory, nl_size_mul(NL_MAX((size_t)total, (size_t)1), 3 * sizeof(uint32_t)), false, &e->buffer));
    e->places = (uint32_t *)(void *)e->buffer->data;
    e->parents = e->places + total;
    e->indices = (int32_t *)(e->parents + total);
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        nl_list_view list = nl_list_of(arg, row);
        for (uint32_t k = 0; k < list.length; k++, e->count++) {
            e->places[e->count] = list.offset + k;
            e->parents[e->count] = row;
            e->indices[e->count] = (int32_t)k;
        }
    }
    return NULL;
}

/* A borrowed INT vector over the indices. */
static nl_vector index_vector(const elements *e)
{
    return (nl_vector){.type = nl_type_int(), .encoding = NL_FLAT, .length = e->count, .values = e->indices};
}

static nl_status call_lambda(const nl_lambda *lambda, nl_eval *eval, const nl_vector *parameters, const uint32_t *parents,
                             uint32_t length, nl_vector *out)
{
    if (length == 0) return nl_vector_new_flat(out, lambda->result_type, 0, eval->memory);
    return lambda->evaluate(lambda, eval, parameters, lambda->parameter_count, parents, length, out);
}

/* A FLAT list vector of `length` rows whose selected rows are consecutive ranges of children, lengths by row. */
static nl_status list_result(const nl_type *type, uint32_t length, nl_selection selection, const uint32_t *lengths,
                             nl_memory *memory, nl_vector *children, nl_vector *out)
{
    nl_status status = nl_vector_new_flat(out, type, length, memory);
    if (status != NULL) {
        for (uint32_t c = 0; c < type->child_count; c++) nl_vector_fini(&children[c]);
        return status;
    }
    nl_list_view *lists = nl_vector_values(out);
    uint32_t offset = 0;
    for (uint32_t i = 0; i < selection.count; i++) {
        lists[nl_selection_row(selection, i)] = (nl_list_view){.offset = offset, .length = lengths[i]};
        offset += lengths[i];
    }
    for (uint32_t c = 0; c < type->child_count; c++) nl_vector_set_child(out, c, &children[c]);
    return NULL;
}

static nl_status lengths_of(nl_eval *eval, const nl_vector *arg, nl_selection selection, nl_buffer **buffer)
{
    NL_TRY(nl_buffer_new(eval->memory, nl_size_mul(NL_MAX(selection.count, 1u), sizeof(uint32_t)), false, buffer));
    uint32_t *lengths = (uint32_t *)(void *)(*buffer)->data;
    for (uint32_t i = 0; i < selection.count; i++) lengths[i] = nl_list_of(arg, nl_selection_row(selection, i)).length;
    return NULL;
}

/* parameters[]: element and index for arrays; key and value for maps. End both. */
static nl_status take_parameters(nl_eval *eval, const nl_vector *arg, const elements *e, nl_vector parameters[2])
{
    NL_TRY(nl_vector_take(nl_list_child(arg, 0), e->places, e->count, eval->memory, &parameters[0]));
    if (arg->type->id == NL_TYPE_MAP) return nl_vector_take(nl_list_child(arg, 1), e->places, e->count, eval->memory, &parameters[1]);
    parameters[1] = index_vector(e);
    return NULL;
}

static void end_parameters(const nl_vector *arg, nl_vector parameters[2])
{
    nl_vector_fini(&parameters[0]);
    if (arg->type->id == NL_TYPE_MAP) nl_vector_fini(&parameters[1]);
}

/* transform, transform_keys, transform_values: same lists, one child replaced. */
static nl_status transform_kernel(NL_KERNEL_PARAMETERS)
{
    elements e = {0};
    nl_vector parameters[2] = {{0}, {0}};
    nl_vector made = {0};
    nl_vector children[2] = {{0}, {0}};
    nl_buffer *lengths = NULL;
    nl_status status = NULL;
    bool is_map = args[0].type->id == NL_TYPE_MAP;
    bool is_keys = strcmp(function->row->name, "transform_keys") == 0;
    NL_GO(gather(eval, &args[0], selection, &e));
    NL_GO(take_parameters(eval, &args[0], &e, parameters));
    NL_GO(call_lambda(lambdas[1], eval, parameters, e.parents, e.count, &made));
    NL_GO(nl_vector_flatten(&made, false, eval->memory, &children[is_map && !is_keys]));
    if (is_map) NL_GO(nl_vector_flatten(&parameters[is_keys], false, eval->memory, &children[is_keys]));
    NL_GO(lengths_of(eval, &args[0], selection, &lengths));
    if (is_keys) {
        nl_list_call check = {.function = function, .eval = eval};
        uint32_t offset = 0;
        for (uint32_t i = 0; i < selection.count && status == NULL; i++) {
            uint32_t count = ((const uint32_t *)(const void *)lengths->data)[i];
            for (uint32_t k = offset; k < offset + count && status == NULL; k++)
                if (nl_vector_is_null(&children[0], k)) status = NL_RAISE(NULL_MAP_KEY);
            if (status == NULL) status = nl_map_check_keys(&check, &children[0], offset, count);
            offset += count;
        }
        nl_element_set_free(check.set);
        if (status != NULL) goto done;
    }
    status = list_result(function->result_type, length, selection, (const uint32_t *)(const void *)lengths->data, eval->memory, children, out);
    children[0] = children[1] = (nl_vector){0};
    if (status == NULL && is_keys) status = nl_map_last_wins(eval, selection, out);
done:
    end_parameters(&args[0], parameters);
    nl_vector_fini(&made);
    nl_vector_fini(&children[0]);
    nl_vector_fini(&children[1]);
    nl_buffer_release(lengths);
    nl_buffer_release(e.buffer);
    return status;
}

static bool is_true(const nl_vector *booleans, uint32_t row)
{
    nl_reader reader;
    nl_reader_init(&reader, booleans);
    return !nl_vector_is_null(booleans, row) && nl_reader_bool(&reader, row);
}

/* filter, map_filter: the elements for which the lambda is true. */
static nl_status filter_kernel(NL_KERNEL_PARAMETERS)
{
    elements e = {0};
    nl_vector parameters[2] = {{0}, {0}};
    nl_vector keep = {0};
    nl_vector children[2] = {{0}, {0}};
    nl_buffer *lengths = NULL;
    nl_status status = NULL;
    NL_GO(gather(eval, &args[0], selection, &e));
    NL_GO(take_parameters(eval, &args[0], &e, parameters));
    NL_GO(call_lambda(lambdas[1], eval, parameters, e.parents, e.count, &keep));
    NL_GO(lengths_of(eval, &args[0], selection, &lengths));
    uint32_t kept = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t *count = (uint32_t *)(void *)lengths->data + i;
        uint32_t stop = at + *count;
        *count = 0;
        for (; at < stop; at++) {
            if (!is_true(&keep, at)) continue;
            e.places[kept++] = e.places[at]; /* kept <= at: what is overwritten has been read */
            ++*count;
        }
    }
    for (uint32_t c = 0; c < args[0].type->child_count; c++) {
        nl_vector taken = {0};
        NL_GO(nl_vector_take(nl_list_child(&args[0], c), e.places, kept, eval->memory, &taken));
        status = nl_vector_flatten(&taken, false, eval->memory, &children[c]);
        nl_vector_fini(&taken);
        if (status != NULL) goto done;
    }
    status = list_result(function->result_type, length, selection, (const uint32_t *)(const void *)lengths->data, eval->memory, children, out);
    children[0] = children[1] = (nl_vector){0};
done:
    end_parameters(&args[0], parameters);
    nl_vector_fini(&keep);
    nl_vector_fini(&children[0]);
    nl_vector_fini(&children[1]);
    nl_buffer_release(lengths);
    nl_buffer_release(e.buffer);
    return status;
}

/* exists: true when one is true, else null when one is null. forall: the opposite. */
static nl_status quantifier_kernel(NL_KERNEL_PARAMETERS)
{
    elements e = {0};
    nl_vector parameters[2] = {{0}, {0}};
    nl_vector holds = {0};
    nl_output output;
    nl_status status = NULL;
    bool is_exists = function->row->name[0] == 'e';
    NL_GO(nl_output_init(&output, function->result_type, length, eval->memory, out));
    NL_GO(gather(eval, &args[0], selection, &e));
    NL_GO(take_parameters(eval, &args[0], &e, parameters));
    NL_GO(call_lambda(lambdas[1], eval, parameters, e.parents, e.count, &holds));
    uint32_t at = 0;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        uint32_t stop = at + nl_list_of(&args[0], row).length;
        bool has_null = false;
        bool is_decided = false;
        for (; at < stop; at++) {
            if (nl_vector_is_null(&holds, at))
                has_null = true;
            else
                is_decided |= is_true(&holds, at) == is_exists;
        }
        ((uint8_t *)output.values)[row] = is_decided ? is_exists : !is_exists;
        if (!is_decided && has_null) {
            ((uint8_t *)output.values)[row] = 0;
            NL_GO(nl_output_null(&output, row));
        }
    }
done:
    end_parameters(&args[0], parameters);
    nl_vector_fini(&holds);
    nl_buffer_release(e.buffer);
    return status;
}

/* One step of aggregate: rows that have an element at place k. *accumulator (selection.count values) is replaced. */
static nl_status fold_place(const nl_lambda *merge, nl_eval *eval, const nl_vector *arg, nl_selection selection, uint32_t k,
                            uint32_t *scratch, nl_vector *accumulator, bool *is_done)
{
    uint32_t *active = scratch;                     /* numbers of the rows, in the accumulator */
    uint32_t *places = scratch + selection.count;
    uint32_t *parents = places + selection.count;
    uint32_t *choice = parents + selection.count;   /* row i of the new accumulator: of old ones, or behind them */
    uint32_t count = 0;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        nl_list_view list = nl_list_of(arg, row);
        choice[i] = i;
        if (k >= list.length) continue;
        active[count] = i;
        places[count] = list.offset + k;
        parents[count] = row;
        choice[i] = selection.count + count++;
    }
    *is_done = count == 0;
    if (count == 0) return NULL;
    nl_vector parameters[2] = {{0}, {0}};
    nl_vector made = {0};
    nl_vector both = {0};
    nl_vector next = {0};
    nl_status status = NULL;
    NL_GO(nl_vector_take(accumulator, active, count, eval->memory, &parameters[0]));
    NL_GO(nl_vector_take(nl_list_child(arg, 0), places, count, eval->memory, &parameters[1]));
    NL_GO(call_lambda(merge, eval, parameters, parents, count, &made));
    nl_vector_relabel(&made, accumulator->type);
    const nl_vector *parts[2] = {accumulator, &made};
    NL_GO(nl_vector_concat(parts, 2, eval->memory, &both));
    NL_GO(nl_vector_take(&both, choice, selection.count, eval->memory, &next));
    nl_vector_fini(accumulator);
    nl_vector_move(&next, accumulator);
done:
    nl_vector_fini(&parameters[0]);
    nl_vector_fini(&parameters[1]);
    nl_vector_fini(&made);
    nl_vector_fini(&both);
    return status;
}

static nl_status aggregate_kernel(NL_KERNEL_PARAMETERS)
{
    nl_vector accumulator = {0};
    nl_vector last = {0};
    nl_buffer *space = NULL;
    nl_column_builder *builder = NULL;
    nl_status status = NULL;
    NL_GO(nl_buffer_new(eval->memory, nl_size_mul(NL_MAX(selection.count, 1u), 5 * sizeof(uint32_t)), false, &space));
    uint32_t *rows_in = (uint32_t *)(void *)space->data; /* those that have an array; the start value may be null */
    uint32_t *scratch = rows_in + selection.count;
    uint32_t count = 0;
    for (uint32_t i = 0; i < selection.count; i++)
        if (!nl_vector_is_null(&args[0], nl_selection_row(selection, i))) rows_in[count++] = nl_selection_row(selection, i);
    selection = (nl_selection){.rows = rows_in, .count = count};
    for (uint32_t i = 0; i < count; i++) scratch[i] = nl_selection_row(selection, i);
    NL_GO(nl_vector_take(&args[1], scratch, count, eval->memory, &accumulator));
    bool is_done = false;
    for (uint32_t k = 0; !is_done; k++) NL_GO(fold_place(lambdas[2], eval, &args[0], selection, k, scratch, &accumulator, &is_done));
    if (function->argument_count > 3) {
        for (uint32_t i = 0; i < count; i++) scratch[i] = nl_selection_row(selection, i);
        NL_GO(call_lambda(lambdas[3], eval, &accumulator, scratch, count, &last));
    } else {
        nl_vector_ref(&accumulator, &last);
    }
    NL_GO(nl_column_builder_new(function->result_type, eval->memory, &builder));
    uint32_t next = 0;
    for (uint32_t row = 0; row < length; row++) {
        bool is_selected = next < count && nl_selection_row(selection, next) == row;
        NL_GO(is_selected ? nl_column_builder_row(builder, &last, next) : nl_column_builder_null(builder));
        next += is_selected;
    }
    status = nl_column_builder_finish(builder, out);
done:
    nl_vector_fini(&accumulator);
    nl_vector_fini(&last);
    nl_buffer_release(space);
    nl_column_builder_free(builder);
    return status;
}

/* zip_with: the shorter array is filled up with nulls. */
static nl_status zip_kernel(NL_KERNEL_PARAMETERS)
{
    nl_column_builder *builders[2] = {NULL, NULL};
    nl_vector parameters[2] = {{0}, {0}};
    nl_vector made = {0};
    nl_vector children[1] = {{0}};
    nl_buffer *space = NULL;
    nl_status status = NULL;
    uint64_t total = 0;
    NL_EACH_SELECTED(counted) total += NL_MAX(nl_list_of(&args[0], counted).length, nl_list_of(&args[1], counted).length);
    NL_GO(nl_buffer_new(eval->memory, nl_size_mul((size_t)total + selection.count + 1, sizeof(uint32_t)), false, &space));
    uint32_t *lengths = (uint32_t *)(void *)space->data;
    uint32_t *parents = lengths + selection.count;
    uint32_t count = 0;
    for (uint32_t p = 0; p < 2; p++) NL_GO(nl_column_builder_new(args[p].type->children[0].type, eval->memory, &builders[p]));
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        nl_list_view lists[2] = {nl_list_of(&args[0], row), nl_list_of(&args[1], row)};
        lengths[i] = NL_MAX(lists[0].length, lists[1].length);
        for (uint32_t k = 0; k < lengths[i]; k++) {
            parents[count++] = row;
            for (uint32_t p = 0; p < 2; p++)
                NL_GO(k < lists[p].length ? nl_column_builder_row(builders[p], nl_list_child(&args[p], 0), lists[p].offset + k) : nl_column_builder_null(builders[p]));
        }
    }
    for (uint32_t p = 0; p < 2; p++) NL_GO(nl_column_builder_finish(builders[p], &parameters[p]));
    NL_GO(call_lambda(lambdas[2], eval, parameters, parents, count, &made));
    NL_GO(nl_vector_flatten(&made, false, eval->memory, &children[0]));
    status = list_result(function->result_type, length, selection, lengths, eval->memory, children, out);
    children[0] = (nl_vector){0};
done:
    for (uint32_t p = 0; p < 2; p++) {
        nl_column_builder_free(builders[p]);
        nl_vector_fini(&parameters[p]);
    }
    nl_vector_fini(&made);
    nl_vector_fini(&children[0]);
    nl_buffer_release(space);
    return status;
}

static nl_status bind_aggregate(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *merged = bind->argument_types[2];
    const nl_type *zero = bind->argument_types[1];
    if (!nl_type_equal(merged, zero) && !(nl_is_upcast(merged, zero) && merged->physical == zero->physical)) {
        nl_str required = nl_quoted_type(bind->arena, zero);
        return nl_bind_unexpected_type(bind, 2, nl_str_c(bind->arena, required));
    }
    bound->result_type = bind->argument_count > 3 ? bind->argument_types[3] : zero;
    return NULL;
}

#define LAMBDA_SEEN .kind = NL_FUNCTION_SCALAR, .group = "lambda", .nulls = NL_NULL_SEEN, .can_fail = true
#define LAMBDA .kind = NL_FUNCTION_SCALAR, .group = "lambda", .nulls = NL_NULL_IN_NULL_OUT, .can_fail = true

static const nl_function_row rows[] = {
    {.name = "transform", LAMBDA, .keeps_non_null = true, .signature = "(array<T>, lambda(T) -> U) -> array<U> | (array<T>, lambda(T, int) -> U) -> array<U>", .kernel = transform_kernel,
     .since = "2.4.0", .doc = "The array of what a function makes of each element.", .examples = {{"transform(array(1, 2, 3), x -> x + 1)", "[2,3,4]"}, {"transform(array(1, 2, 3), (x, i) -> x + i)", "[1,3,5]"}}},
    {.name = "filter", LAMBDA, .keeps_non_null = true, .signature = "(array<T>, lambda(T) -> boolean) -> array<T> | (array<T>, lambda(T, int) -> boolean) -> array<T>", .kernel = filter_kernel,
     .since = "2.4.0", .doc = "The elements for which a condition is true.", .examples = {{"filter(array(1, 2, 3), x -> x % 2 == 1)", "[1,3]"}}},
    {.name = "exists", LAMBDA, .signature = "(array<T>, lambda(T) -> boolean) -> boolean", .kernel = quantifier_kernel, .since = "2.4.0",
     .doc = "Whether a condition is true for some element.", .examples = {{"exists(array(1, 2, 3), x -> x % 2 == 0)", "true"}}},
    {.name = "forall", LAMBDA, .signature = "(array<T>, lambda(T) -> boolean) -> boolean", .kernel = quantifier_kernel, .since = "3.0.0",
     .doc = "Whether a condition is true for all elements.", .examples = {{"forall(array(2, 4, 8), x -> x % 2 == 0)", "true"}}},
    {.name = "aggregate", .aliases = "reduce", LAMBDA_SEEN, .signature = "(array<T>, A, lambda(A, T) -> B) -> ? | (array<T>, A, lambda(A, T) -> B, lambda(A) -> C) -> ?", .bind = bind_aggregate,
     .kernel = aggregate_kernel, .since = "2.4.0", .doc = "The elements folded from the left, from a start value, and a last step.",
     .examples = {{"aggregate(array(1, 2, 3), 0, (acc, x) -> acc + x)", "6"}, {"aggregate(array(1, 2, 3), 0, (acc, x) -> acc + x, acc -> acc * 10)", "60"}}},
    {.name = "zip_with", LAMBDA, .keeps_non_null = true, .signature = "(array<T>, array<U>, lambda(T, U) -> V) -> array<V>", .kernel = zip_kernel, .since = "2.4.0",
     .doc = "Two arrays joined element by element.", .examples = {{"zip_with(array(1, 2), array(3, 4), (x, y) -> x + y)", "[4,6]"}}},
    {.name = "map_filter", LAMBDA, .keeps_non_null = true, .signature = "(map<K, V>, lambda(K, V) -> boolean) -> map<K, V>", .kernel = filter_kernel, .since = "3.0.0",
     .doc = "The entries for which a condition is true.", .examples = {{"map_filter(map(1, 0, 2, 2, 3, -1), (k, v) -> k > v)", "{1:0,3:-1}"}}},
    {.name = "transform_keys", LAMBDA, .keeps_non_null = true, .signature = "(map<K, V>, lambda(K, V) -> U) -> map<U, V>", .kernel = transform_kernel, .since = "3.0.0",
     .doc = "The map with new keys.", .examples = {{"transform_keys(map(1, 2), (k, v) -> k + 1)", "{2:2}"}}},
    {.name = "transform_values", LAMBDA, .keeps_non_null = true, .signature = "(map<K, V>, lambda(K, V) -> U) -> map<K, U>", .kernel = transform_kernel, .since = "3.0.0",
     .doc = "The map with new values.", .examples = {{"transform_values(map(1, 2), (k, v) -> v + 1)", "{1:3}"}}},
};

NL_DEFINE_FUNCTION_GROUP(lambda, rows);
