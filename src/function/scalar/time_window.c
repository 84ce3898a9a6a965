/* scalar/time_window.c - the windows of time that times lie in: what window() becomes, and window_time.
 *
 * All four arguments but the time are constants in microseconds: the window's length, the distance of the starts, and
 * where one of them lies. With starts closer than the length a time lies in several windows: that is the generator.
 */
#include "function/groups.h"

typedef struct window_state {
    int64_t length, slide, start;
} window_state;

static nl_status bind_windows(nl_bind *bind, nl_bound_function *bound)
{
    window_state *state = NL_NEW(bind->arena, window_state);
    int64_t *const fields[] = {&state->length, &state->slide, &state->start};
    for (uint32_t i = 0; i < 3; i++) {
        const nl_value *value = bind->constants[i + 1];
        if (value == NULL || value->is_null) return nl_bind_not_foldable(bind, i + 1, "`duration`");
        *fields[i] = value->integer;
    }
    const nl_type *time = bind->argument_types[0];
    const nl_field ends[] = {{.name = NL_STR("start"), .type = time, .is_nullable = true}, {.name = NL_STR("end"), .type = time, .is_nullable = true}};
    const nl_type *window = nl_type_struct(bind->arena, ends, 2);
    const nl_field column = {.name = NL_STR("window"), .type = window};
    bound->result_type = bind->row->kind == NL_FUNCTION_GENERATOR ? nl_type_struct(bind->arena, &column, 1) : window;
    bound->state = state;
    return NULL;
}

/* The start of the last window that begins at or before the time; wraps around at the ends of time, as Spark's. */
static inline int64_t last_start(const window_state *state, int64_t time)
{
    int64_t since = nl_floor_mod(nl_floor_mod(time, state->slide) - state->start, state->slide); /* |start| < slide */
    return (int64_t)((uint64_t)time - (uint64_t)since);
}

static inline int64_t end_of(const window_state *state, int64_t start)
{
    return (int64_t)((uint64_t)start + (uint64_t)state->length);
}

/* A FLAT vector of windows with room for `length`; starts and ends are its children's values. */
static nl_status new_windows(const nl_type *type, uint32_t length, nl_memory *memory, nl_vector *windows, int64_t **starts, int64_t **ends)
{
    NL_TRY(nl_vector_new_flat(windows, type, length, memory));
    *starts = nl_vector_values(&windows->children[0]);
    *ends = nl_vector_values(&windows->children[1]);
    return NULL;
}

static nl_status window_kernel(NL_KERNEL_PARAMETERS)
{
    const window_state *state = function->state;
    int64_t *starts = NULL;
    int64_t *ends = NULL;
    nl_reader times;
    NL_TRY(new_windows(function->result_type, length, eval->memory, out, &starts, &ends));
    nl_reader_init(&times, &args[0]);
    NL_EACH_SELECTED(row)
    {
        starts[row] = last_start(state, nl_reader_i64(&times, row));
        ends[row] = end_of(state, starts[row]);
    }
    return NULL;
}

/* Windows that hold the time: those that start at most length before it. */
static uint64_t count_windows(const window_state *state, int64_t time)
{
    uint64_t since = (uint64_t)time - (uint64_t)last_start(state, time);
    return ((uint64_t)state->length - since + (uint64_t)state->slide - 1) / (uint64_t)state->slide;
}

static nl_status count_all(const window_state *state, const nl_vector *times, nl_selection selection, uint32_t *count)
{
    nl_reader in;
    uint64_t total = 0;
    nl_reader_init(&in, times);
    NL_EACH_SELECTED(row)
    {
        if (!nl_vector_is_null(times, row)) total += NL_MIN(count_windows(state, nl_reader_i64(&in, row)), UINT32_MAX);
    }
    if (total > UINT32_MAX / 2) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The windows are too many for their distance.");
    *count = (uint32_t)total;
    return NULL;
}

static nl_status generate_windows(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, bool is_outer,
                                  nl_buffer **parent_rows, uint32_t *row_count, nl_vector *columns)
{
    (void)is_outer; /* a time that is null lies in no window */
    const window_state *state = function->state;
    int64_t *starts = NULL;
    int64_t *ends = NULL;
    uint32_t count = 0;
    nl_reader in;
    NL_TRY(count_all(state, &args[0], selection, &count));
    NL_TRY(nl_buffer_new(eval->memory, nl_size_mul(NL_MAX(count, 1u), sizeof(uint32_t)), false, parent_rows));
    nl_status status = new_windows(function->result_type->children[0].type, count, eval->memory, &columns[0], &starts, &ends);
    if (status != NULL) {
        nl_buffer_release(*parent_rows);
        *parent_rows = NULL;
        return status;
    }
    uint32_t *parents = (uint32_t *)(void *)(*parent_rows)->data;
    uint32_t at = 0;
    nl_reader_init(&in, &args[0]);
    NL_EACH_SELECTED(row)
    {
        if (nl_vector_is_null(&args[0], row)) continue;
        int64_t time = nl_reader_i64(&in, row);
        uint64_t start = (uint64_t)last_start(state, time);
        for (uint64_t i = count_windows(state, time); i > 0; i--, at++, start -= (uint64_t)state->slide) { /* the latest first */
            parents[at] = row;
            starts[at] = (int64_t)start;
            ends[at] = end_of(state, (int64_t)start);
        }
    }
    *row_count = count;
    return NULL;
}
static const nl_generator_ops window_ops = {.generate = generate_windows};

/* --- window_time --- */

static bool is_time(const nl_type *type)
{
    return type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ;
}

static nl_status bind_window_time(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_types[0];
    bool is_window = type->id == NL_TYPE_STRUCT && type->child_count == 2 && is_time(type->children[0].type) &&
                     nl_type_equal(type->children[0].type, type->children[1].type);
    if (!is_window) return nl_bind_unexpected_type(bind, 0, "\"STRUCT\"");
    bound->result_type = type->children[1].type;
    return NULL;
}

static nl_status window_time_kernel(NL_KERNEL_PARAMETERS)
{
    nl_vector windows = {0};
    nl_reader ends;
    nl_output output;
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    NL_TRY(nl_vector_flatten(&args[0], false, eval->memory, &windows));
    nl_reader_init(&ends, &windows.children[1]);
    NL_EACH_SELECTED(row)
    {
        if (nl_vector_is_null(&windows.children[1], row))
            NL_GO(nl_output_null(&output, row));
        else
            ((int64_t *)output.values)[row] = nl_reader_i64(&ends, row) - 1;
    }
done:
    nl_vector_fini(&windows);
    return status;
}

#define DURATIONS "bigint, bigint, bigint) -> ?"
#define SIGNATURE "(timestamp, " DURATIONS " | (timestamp_ntz, " DURATIONS

static const nl_function_row rows[] = {
    {.name = "time_window", .kind = NL_FUNCTION_SCALAR, .group = "datetime", .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .is_internal = true,
     .signature = SIGNATURE, .bind = bind_windows, .kernel = window_kernel, .since = "2.0.0", .doc = "The window of time that a time lies in."},
    {.name = "time_windows", .kind = NL_FUNCTION_GENERATOR, .group = "datetime", .nulls = NL_NULL_SEEN, .is_internal = true, .signature = SIGNATURE,
     .bind = bind_windows, .generator = &window_ops, .since = "2.0.0", .doc = "The windows of time that a time lies in."},
    {.name = "window_time", .kind = NL_FUNCTION_SCALAR, .group = "datetime", .nulls = NL_NULL_IN_NULL_OUT, .signature = "(any) -> ?", .bind = bind_window_time,
     .kernel = window_time_kernel, .since = "3.4.0", .doc = "The last microsecond of a window of time.",
     .examples = {{"window_time(window) FROM (SELECT window FROM VALUES (TIMESTAMP'2021-01-01 00:00:00') t(a) GROUP BY window(a, '5 minutes'))", "2021-01-01 00:04:59.999999"}}},
};

NL_DEFINE_FUNCTION_GROUP(time_window, rows);
