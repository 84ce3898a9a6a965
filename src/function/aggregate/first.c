/* aggregate/first.c - first, last, any_value: as aggregates in the order rows come, and over window frames. */
#include "function/aggregate/state.h"
#include "function/groups.h"
#include "function/window/places.h"

typedef struct first_how {
    bool is_last;
    bool ignore_nulls;
} first_how;

typedef struct kept_value {
    nl_box box;
} kept_value;
NL_AGGREGATE_SIZE(first, kept_value)

static nl_status first_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                            uint32_t row, void *state)
{
    (void)readers;
    const first_how *how = function->state;
    kept_value *kept = state;
    if (kept->box.has_value && !how->is_last) return NULL;
    if (how->ignore_nulls && nl_vector_is_null(&args[0], row)) return NULL;
    return nl_box_set(&kept->box, eval->memory, &args[0], row);
}
NL_AGGREGATE_STEPS(first, 0, first_step)

static nl_status first_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    return nl_box_encode(&((kept_value *)state)->box, function->argument_types[0], bytes, eval->memory);
}

static nl_status first_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    if (!partial.data[0]) return NULL;
    size_t offset = 1;
    nl_vector value = {0};
    NL_TRY(nl_decode_vector(partial.data, &offset, function->argument_types[0], eval->memory, &value));
    nl_status status = first_step(function, eval, &value, NULL, 0, state);
    nl_vector_fini(&value);
    return status;
}
NL_ENCODED_PARTIALS(first, first_encode, first_merge_one)

static nl_status first_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)eval;
    return nl_box_append(&((kept_value *)state)->box, function->result_type, builder);
}
NL_BUILT_RESULT(first, first_result)

static void first_destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    (void)function;
    nl_box_free(&((kept_value *)state)->box, eval->memory);
}
NL_ENCODED_OPS(first);

static nl_status first_window(const nl_bound_function *function, nl_eval *eval, const nl_window_partitions *all, nl_vector *out)
{
    const first_how *how = function->state;
    const nl_vector *arg = &all->args[0];
    nl_column_builder *builder = NULL;
    nl_status status = NULL;
    nl_value_places places = {0};
    NL_TRY(nl_column_builder_new(function->result_type, eval->memory, &builder));
    if (how->ignore_nulls) NL_GO(nl_value_places_init(&places, arg, all->row_count, eval->memory));
    for (uint32_t i = 0; i < all->row_count; i++) {
        const uint32_t start = all->frame_start[i], stop = all->frame_stop[i];
        int64_t at = start >= stop ? -1 : how->is_last ? (int64_t)stop - 1 : (int64_t)start;
        if (how->ignore_nulls && at >= 0) at = how->is_last ? nl_value_places_find(&places, stop, -1, start, stop) : nl_value_places_find(&places, start, 0, start, stop);
        NL_GO(at >= 0 ? nl_column_builder_row(builder, arg, (uint32_t)at) : nl_column_builder_null(builder));
    }
    status = nl_column_builder_finish(builder, out);
done:
    nl_value_places_fini(&places);
    nl_column_builder_free(builder);
    return status;
}

static const nl_window_ops first_window_ops = {.needs_frame = true, .evaluate = first_window};

static nl_status bind_first(nl_bind *bind, nl_bound_function *bound)
{
    first_how *how = NL_NEW(bind->arena, first_how);
    how->is_last = strcmp(bind->row->name, "last") == 0;
    how->ignore_nulls = bind->ignore_nulls;
    if (bind->argument_count > 1) {
        if (bind->constants[1] == NULL) return nl_bind_not_foldable(bind, 1, "`ignoreNullsExpr`");
        how->ignore_nulls |= !bind->constants[1]->is_null && bind->constants[1]->boolean;
    }
    bound->state = how;
    bound->ignore_nulls = how->ignore_nulls;
    bound->is_deterministic = false;
    return NULL;
}

#define FIRST_ROW                                                                                                    \
    NL_AGGREGATE_ROW, .signature = "(T [, boolean]) -> T", .is_nondeterministic = true, .bind = bind_first,          \
        .aggregate = &first_ops, .window = &first_window_ops

static const nl_function_row rows[] = {
    {.name = "first", .aliases = "first_value", FIRST_ROW, .since = "2.0.0",
     .doc = "The first value met, or the first that is not NULL when the second argument is true.",
     .examples = {{"first(col) FROM VALUES (10), (5), (20) AS tab(col)", "10"},
                  {"first(col, true) FROM VALUES (NULL), (5), (20) AS tab(col)", "5"}}},
    {.name = "last", .aliases = "last_value", FIRST_ROW, .since = "2.0.0",
     .doc = "The last value met, or the last that is not NULL when the second argument is true.",
     .examples = {{"last(col) FROM VALUES (10), (5), (20) AS tab(col)", "20"}}},
    {.name = "any_value", FIRST_ROW, .since = "3.4.0",
     .doc = "Some value of the group: the first met.", .examples = {{"any_value(col) FROM VALUES (10), (5), (20) AS tab(col)", "10"}}},
};

NL_DEFINE_FUNCTION_GROUP(first_aggregates, rows);
