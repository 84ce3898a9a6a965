/* window/ranking.c - row_number, rank, dense_rank, percent_rank, cume_dist, ntile, lag, lead, nth_value.
 *
 * Each sees sorted partitions, one after the other; peers are rows equal under ORDER BY.
 */
#include "function/groups.h"
#include "function/window/places.h"

typedef enum rank_kind { RANK_ROW_NUMBER, RANK_RANK, RANK_DENSE, RANK_PERCENT, RANK_CUME_DIST } rank_kind;

static rank_kind kind_of(const char *name)
{
    if (strcmp(name, "row_number") == 0) return RANK_ROW_NUMBER;
    if (strcmp(name, "rank") == 0) return RANK_RANK;
    if (strcmp(name, "dense_rank") == 0) return RANK_DENSE;
    return strcmp(name, "percent_rank") == 0 ? RANK_PERCENT : RANK_CUME_DIST;
}

static void rank_partition(rank_kind kind, const nl_window_partitions *all, uint32_t start, uint32_t stop, void *values)
{
    int32_t *integers = values;
    double *reals = values;
    const uint32_t count = stop - start;
    int32_t dense = 0;
    for (uint32_t i = start; i < stop; i++) {
        dense += all->peer_start[i] == i;
        switch (kind) {
        case RANK_ROW_NUMBER: integers[i] = (int32_t)(i - start + 1); break;
        case RANK_RANK: integers[i] = (int32_t)(all->peer_start[i] - start + 1); break;
        case RANK_DENSE: integers[i] = dense; break;
        case RANK_PERCENT: reals[i] = count > 1 ? (double)(all->peer_start[i] - start) / (double)(count - 1) : 0.0; break;
        case RANK_CUME_DIST: reals[i] = (double)(all->peer_stop[i] - start) / (double)count; break;
        }
    }
}

static nl_status rank_evaluate(const nl_bound_function *function, nl_eval *eval, const nl_window_partitions *all, nl_vector *out)
{
    const rank_kind kind = kind_of(function->row->name);
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, all->row_count, eval->memory, out));
    for (uint32_t p = 0; p < all->partition_count; p++)
        rank_partition(kind, all, all->starts[p], all->starts[p + 1], output.values);
    return NULL;
}

static const nl_window_ops rank_ops = {.evaluate = rank_evaluate};

/* The first buckets hold one row more when the rows do not go round. */
static void ntile_partition(int64_t buckets, int64_t count, int32_t *values)
{
    const int64_t size = count / buckets, rest = count % buckets;
    int64_t row = 0;
    for (int64_t bucket = 0; bucket < buckets && row < count; bucket++)
        for (int64_t n = size + (bucket < rest); n > 0; n--) values[row++] = (int32_t)(bucket + 1);
}

static nl_status ntile_evaluate(const nl_bound_function *function, nl_eval *eval, const nl_window_partitions *all, nl_vector *out)
{
    const int64_t *buckets = function->state;
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, all->row_count, eval->memory, out));
    for (uint32_t p = 0; p < all->partition_count; p++)
        ntile_partition(*buckets, all->starts[p + 1] - all->starts[p], (int32_t *)output.values + all->starts[p]);
    return NULL;
}

static const nl_window_ops ntile_ops = {.evaluate = ntile_evaluate};

static nl_status bind_ntile(nl_bind *bind, nl_bound_function *bound)
{
    int64_t *buckets = NL_NEW(bind->arena, int64_t);
    *buckets = 1;
    if (bind->argument_count > 0) {
        const nl_value *value = bind->constants[0];
        if (value == NULL) return nl_bind_not_foldable(bind, 0, "`buckets`");
        *buckets = value->is_null ? 0 : value->integer;
    }
    if (*buckets < 1)
        return NL_RAISE(DATATYPE_MISMATCH__VALUE_OUT_OF_RANGE,
                        NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))), NL_P("exprName", "buckets"),
                        NL_P("valueRange", "(0, 2147483647]"), NL_P_STR("currentValue", nl_bind_argument_sql(bind, 0)));
    bound->state = buckets;
    return NULL;
}

typedef struct shift {
    int64_t offset; /* rows forward: negative for lag */
    bool ignore_nulls;
} shift;

/* The row `offset` rows away within start … stop, counting only rows with a value when nulls are ignored (places is not NULL); -1
 * when there is none. */
static int64_t find_shifted(const nl_value_places *places, int64_t offset, uint32_t from, uint32_t start, uint32_t stop)
{
    if (places) return offset > 0 ? nl_value_places_find(places, from + 1, offset - 1, start, stop) : nl_value_places_find(places, from, offset, start, stop);
    const int64_t target = (int64_t)from + offset;
    return target >= start && target < stop ? target : -1;
}

static nl_status shift_partition(const nl_bound_function *function, const nl_window_partitions *all, const nl_value_places *places, uint32_t start, uint32_t stop, nl_column_builder *builder)
{
    const nl_vector *arg = &all->args[0];
    const shift *how = function->state;
    for (uint32_t row = start; row < stop; row++) {
        int64_t target = find_shifted(places, how->offset, row, start, stop);
        if (target >= 0)
            NL_TRY(nl_column_builder_row(builder, arg, (uint32_t)target));
        else
            NL_TRY(function->argument_count > 2 ? nl_column_builder_row(builder, &all->args[2], row) : nl_column_builder_null(builder));
    }
    return NULL;
}

static nl_status shift_evaluate(const nl_bound_function *function, nl_eval *eval, const nl_window_partitions *all, nl_vector *out)
{
    nl_column_builder *builder = NULL;
    const shift *how = function->state;
    const bool ignores = how->ignore_nulls && how->offset != 0;
    nl_value_places places = {0};
    NL_TRY(nl_column_builder_new(function->result_type, eval->memory, &builder));
    nl_status status = ignores ? nl_value_places_init(&places, &all->args[0], all->row_count, eval->memory) : NULL;
    for (uint32_t p = 0; p < all->partition_count && !status; p++)
        status = shift_partition(function, all, ignores ? &places : NULL, all->starts[p], all->starts[p + 1], builder);
    if (!status) status = nl_column_builder_finish(builder, out);
    nl_value_places_fini(&places);
    nl_column_builder_free(builder);
    return status;
}

static const nl_window_ops shift_ops = {.evaluate = shift_evaluate};

static nl_status bind_shift(nl_bind *bind, nl_bound_function *bound)
{
    shift *how = NL_NEW(bind->arena, shift);
    how->offset = 1;
    how->ignore_nulls = bind->ignore_nulls;
    if (bind->argument_count > 1) {
        const nl_value *value = bind->constants[1];
        if (value == NULL) return nl_bind_not_foldable(bind, 1, "`offset`");
        how->offset = value->is_null ? 0 : value->integer;
    }
    if (strcmp(bind->row->name, "lag") == 0) how->offset = -how->offset;
    bound->state = how;
    return NULL;
}

static nl_status nth_evaluate(const nl_bound_function *function, nl_eval *eval, const nl_window_partitions *all, nl_vector *out)
{
    const shift *how = function->state;
    const nl_vector *arg = &all->args[0];
    nl_column_builder *builder = NULL;
    nl_status status = NULL;
    nl_value_places places = {0};
    NL_TRY(nl_column_builder_new(function->result_type, eval->memory, &builder));
    if (how->ignore_nulls) NL_GO(nl_value_places_init(&places, arg, all->row_count, eval->memory));
    for (uint32_t row = 0; row < all->row_count; row++) {
        const uint32_t start = all->frame_start[row], stop = all->frame_stop[row];
        int64_t at = how->offset <= stop - start && start < stop ? start + (how->offset - 1) : -1;
        if (how->ignore_nulls) at = start < stop ? nl_value_places_find(&places, start, how->offset - 1, start, stop) : -1;
        NL_GO(at >= 0 ? nl_column_builder_row(builder, arg, (uint32_t)at) : nl_column_builder_null(builder));
    }
    status = nl_column_builder_finish(builder, out);
done:
    nl_value_places_fini(&places);
    nl_column_builder_free(builder);
    return status;
}

static const nl_window_ops nth_ops = {.needs_frame = true, .evaluate = nth_evaluate};

static nl_status bind_nth(nl_bind *bind, nl_bound_function *bound)
{
    shift *how = NL_NEW(bind->arena, shift);
    const nl_value *value = bind->constants[1];
    if (value == NULL) return nl_bind_not_foldable(bind, 1, "`offset`");
    how->offset = value->is_null ? 0 : value->integer;
    how->ignore_nulls = bind->ignore_nulls;
    if (how->offset < 1)
        return NL_RAISE(DATATYPE_MISMATCH__VALUE_OUT_OF_RANGE,
                        NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))), NL_P("exprName", "offset"),
                        NL_P("valueRange", "(0, 9223372036854775807]"), NL_P_STR("currentValue", nl_bind_argument_sql(bind, 1)));
    bound->state = how;
    return NULL;
}

#define WINDOW_ROW .kind = NL_FUNCTION_WINDOW, .group = "window", .nulls = NL_NULL_SEEN

static const nl_function_row rows[] = {
    {.name = "row_number", WINDOW_ROW, .signature = "() -> int", .keeps_non_null = true, .window = &rank_ops, .since = "2.0.0",
     .doc = "The row's number in its partition, from 1.",
     .examples = {{"a, row_number() OVER (ORDER BY a) FROM VALUES ('x') tab(a)", "x\t1"}}},
    {.name = "rank", WINDOW_ROW, .signature = "([any...]) -> int", .keeps_non_null = true, .window = &rank_ops, .since = "2.0.0",
     .doc = "The number of rows before the row's peers, plus 1.",
     .examples = {{"a, rank() OVER (ORDER BY a) FROM VALUES ('x') tab(a)", "x\t1"}}},
    {.name = "dense_rank", WINDOW_ROW, .signature = "([any...]) -> int", .keeps_non_null = true, .window = &rank_ops, .since = "2.0.0",
     .doc = "The number of the row's group of peers, from 1.",
     .examples = {{"a, dense_rank() OVER (ORDER BY a) FROM VALUES ('x') tab(a)", "x\t1"}}},
    {.name = "percent_rank", WINDOW_ROW, .signature = "([any...]) -> double", .keeps_non_null = true, .window = &rank_ops, .since = "2.0.0",
     .doc = "The rank scaled to 0 … 1.", .examples = {{"a, percent_rank() OVER (ORDER BY a) FROM VALUES ('x') tab(a)", "x\t0.0"}}},
    {.name = "cume_dist", WINDOW_ROW, .signature = "() -> double", .keeps_non_null = true, .window = &rank_ops, .since = "2.0.0",
     .doc = "The share of rows up to and including the row's peers.",
     .examples = {{"a, cume_dist() OVER (ORDER BY a) FROM VALUES ('x') tab(a)", "x\t1.0"}}},
    {.name = "ntile", WINDOW_ROW, .signature = "([int]) -> int", .keeps_non_null = true, .bind = bind_ntile, .window = &ntile_ops,
     .since = "2.0.0", .doc = "The number of the bucket, of n buckets of nearly equal size.",
     .examples = {{"a, ntile(2) OVER (ORDER BY a) FROM VALUES ('x') tab(a)", "x\t1"}}},
    {.name = "lag", WINDOW_ROW, .signature = "(T [, int, T]) -> T", .bind = bind_shift, .window = &shift_ops, .since = "2.0.0",
     .doc = "The value some rows before, or the default when there is none.",
     .examples = {{"a, lag(a) OVER (ORDER BY a) FROM VALUES ('x') tab(a)", "x\tNULL"}}},
    {.name = "lead", WINDOW_ROW, .signature = "(T [, int, T]) -> T", .bind = bind_shift, .window = &shift_ops, .since = "2.0.0",
     .doc = "The value some rows after, or the default when there is none.",
     .examples = {{"a, lead(a, 1, 'z') OVER (ORDER BY a) FROM VALUES ('x') tab(a)", "x\tz"}}},
    {.name = "nth_value", WINDOW_ROW, .signature = "(T, int) -> T", .bind = bind_nth, .window = &nth_ops, .since = "3.1.0",
     .doc = "The value of the n-th row of the frame.",
     .examples = {{"a, nth_value(a, 1) OVER (ORDER BY a) FROM VALUES ('x') tab(a)", "x\tx"}}},
};

NL_DEFINE_FUNCTION_GROUP(ranking, rows);
