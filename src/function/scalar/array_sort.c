/* scalar/array_sort.c - array_sort with a comparator.
 *
 * All arrays are merge-sorted at once, bottom up: each step asks every merge that is under way for one comparison, so the
 * lambda runs over a vector of pairs. A stable sort, as Java's.
 */
#include "function/groups.h"
#include "function/lambda_call.h"
#include "function/list.h"

/* One merge of two neighbouring runs of an array. Places are of the work arrays. */
typedef struct merge {
    uint32_t left, left_stop;
    uint32_t right, right_stop;
    uint32_t at;
    uint32_t row;
} merge;

typedef struct sorter {
    nl_eval *eval;
    const nl_lambda *lambda;
    const nl_vector *elements;
    nl_buffer *space;
    uint32_t *from;   /* element numbers, row after row */
    uint32_t *into;
    uint32_t *lefts, *rights, *parents; /* of the pairs to compare */
    merge *merges;
} sorter;

static nl_status make_space(sorter *s, uint64_t total)
{
    size_t numbers = nl_size_mul((size_t)total + 1, 5 * sizeof(uint32_t));
    if (total > UINT32_MAX) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)total), NL_P_INT("receivedBytes", 0));
    NL_TRY(nl_buffer_new(s->eval->memory, nl_size_add(numbers, nl_size_mul((size_t)total + 1, sizeof(merge))), false, &s->space));
    s->from = (uint32_t *)(void *)s->space->data;
    s->into = s->from + total;
    s->lefts = s->into + total;
    s->rights = s->lefts + total;
    s->parents = s->rights + total;
    s->merges = (merge *)(void *)(s->space->data + numbers);
    return NULL;
}

static nl_status raise_null(const sorter *s, uint32_t left, uint32_t right)
{
    nl_text_options options = {.style = NL_TEXT_CAST, .zone = s->eval->confs->zone};
    nl_builder texts[2];
    for (uint32_t i = 0; i < 2; i++) {
        nl_builder_init(&texts[i], NL_ERROR_MESSAGE_BYTES_MAX);
        nl_vector_append_text(s->elements, i == 0 ? left : right, &options, &texts[i]);
    }
    nl_status status = NL_RAISE(COMPARATOR_RETURNS_NULL, NL_P_STR("firstValue", nl_builder_str(&texts[0])), NL_P_STR("secondValue", nl_builder_str(&texts[1])));
    nl_builder_fini(&texts[0]);
    nl_builder_fini(&texts[1]);
    return status;
}

/* Compares the heads of all merges that have two, and moves one element of each. */
static nl_status step(sorter *s, uint32_t count)
{
    nl_vector parameters[2] = {{0}, {0}};
    nl_vector orders = {0};
    nl_status status = NULL;
    for (uint32_t i = 0; i < count; i++) {
        s->lefts[i] = s->from[s->merges[i].left];
        s->rights[i] = s->from[s->merges[i].right];
        s->parents[i] = s->merges[i].row;
    }
    NL_GO(nl_vector_take(s->elements, s->lefts, count, s->eval->memory, &parameters[0]));
    NL_GO(nl_vector_take(s->elements, s->rights, count, s->eval->memory, &parameters[1]));
    NL_GO(nl_lambda_call(s->lambda, s->eval, parameters, s->parents, count, &orders));
    nl_reader reader;
    nl_reader_init(&reader, &orders);
    for (uint32_t i = 0; i < count; i++) {
        merge *m = &s->merges[i];
        if (nl_reader_is_null(&reader, i)) {
            status = raise_null(s, s->lefts[i], s->rights[i]);
            goto done;
        }
        s->into[m->at++] = nl_reader_i32(&reader, i) > 0 ? s->from[m->right++] : s->from[m->left++];
    }
done:
    nl_vector_fini(&parameters[0]);
    nl_vector_fini(&parameters[1]);
    nl_vector_fini(&orders);
    return status;
}

/* What is left of a merge one side of which has run out. */
static void drain(sorter *s, merge *m)
{
    while (m->left < m->left_stop) s->into[m->at++] = s->from[m->left++];
    while (m->right < m->right_stop) s->into[m->at++] = s->from[m->right++];
}

static nl_status merge_runs(sorter *s, const nl_vector *arg, nl_selection selection, uint32_t run)
{
    uint32_t count = 0;
    uint32_t start = 0;
    NL_EACH_SELECTED(row)
    {
        uint32_t stop = start + nl_list_of(arg, row).length;
        for (uint64_t at = start; at < stop; at += 2 * (uint64_t)run) {
            uint32_t middle = (uint32_t)NL_MIN(at + run, (uint64_t)stop);
            uint32_t end = (uint32_t)NL_MIN(at + 2 * (uint64_t)run, (uint64_t)stop);
            s->merges[count++] = (merge){(uint32_t)at, middle, middle, end, (uint32_t)at, row};
        }
        start = stop;
    }
    for (;;) {
        uint32_t active = 0;
        for (uint32_t i = 0; i < count; i++) {
            merge *m = &s->merges[i];
            if (m->left < m->left_stop && m->right < m->right_stop)
                s->merges[active++] = *m;
            else
                drain(s, m);
        }
        count = active;
        if (count == 0) break;
        NL_TRY(step(s, count));
    }
    uint32_t *merged = s->into;
    s->into = s->from;
    s->from = merged;
    return NULL;
}

static nl_status array_sort_kernel(NL_KERNEL_PARAMETERS)
{
    sorter s = {.eval = eval, .lambda = lambdas[1], .elements = nl_list_child(&args[0], 0)};
    nl_column_builder *builder = NULL;
    nl_status status = NULL;
    uint64_t total = 0;
    uint32_t longest = 0;
    NL_EACH_SELECTED(counted)
    {
        total += nl_list_of(&args[0], counted).length;
        longest = NL_MAX(longest, nl_list_of(&args[0], counted).length);
    }
    NL_GO(make_space(&s, total));
    uint32_t filled = 0;
    NL_EACH_SELECTED(filling)
    {
        nl_list_view list = nl_list_of(&args[0], filling);
        for (uint32_t e = 0; e < list.length; e++) s.from[filled++] = list.offset + e;
    }
    for (uint64_t run = 1; run < longest; run *= 2) NL_GO(merge_runs(&s, &args[0], selection, (uint32_t)run));
    NL_GO(nl_column_builder_new(function->result_type, eval->memory, &builder));
    uint32_t next = 0;
    uint32_t taken = 0;
    for (uint32_t row = 0; row < length; row++) {
        if (next >= selection.count || nl_selection_row(selection, next) != row) {
            NL_GO(nl_column_builder_null(builder));
            continue;
        }
        next++;
        uint32_t count = nl_list_of(&args[0], row).length;
        for (uint32_t e = 0; e < count; e++) NL_GO(nl_column_builder_row(nl_column_builder_child(builder, 0), s.elements, s.from[taken++]));
        NL_GO(nl_column_builder_end_list(builder, count));
    }
    status = nl_column_builder_finish(builder, out);
done:
    nl_column_builder_free(builder);
    nl_buffer_release(s.space);
    return status;
}

static nl_status bind_sort(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    const nl_type *type = bind->argument_types[1];
    if (type == NULL || type->id == NL_TYPE_INT) return NULL;
    return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_RETURN_TYPE, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                    NL_P("functionName", "`lambdafunction`"), NL_P("expectedType", "\"INT\""),
                    NL_P_STR("actualType", nl_quoted_type(bind->arena, type)));
}

static const nl_function_row rows[] = {
    {.name = "array_sort", .kind = NL_FUNCTION_SCALAR, .group = "lambda", .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .can_fail = true,
     .signature = "(array<T>, lambda(T, T) -> U) -> array<T>", .bind = bind_sort, .kernel = array_sort_kernel, .since = "2.4.0",
     .doc = "The elements in the order of a function that says whether the first of two comes later (above 0) or earlier (below 0).",
     .examples = {{"array_sort(array(5, 6, 1), (left, right) -> case when left < right then -1 when left > right then 1 else 0 end)", "[1,5,6]"},
                  {"array_sort(array('bc', 'ab', 'dc'), (left, right) -> case when left < right then 1 when left > right then -1 else 0 end)", "[\"dc\",\"bc\",\"ab\"]"}}},
};

NL_DEFINE_FUNCTION_GROUP(array_sort, rows);
