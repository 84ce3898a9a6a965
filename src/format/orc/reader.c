/* format/orc/reader.c - see reader.h. */
#include "format/orc/reader.h"

#include <stdlib.h>

#include "base/limits.h"
#include "format/orc/column.h"

struct nl_orc_reader {
    atomic_uint references;
    nl_arena *arena;      /* owned */
    nl_memory *memory;    /* counted */
    nl_file *file;        /* borrowed */
    nl_orc_tail *tail;    /* counted */
    const nl_type *wanted;
    nl_orc_read_options options;
    nl_orc_plan plan;     /* of the row's struct */
};

struct nl_orc_scan {
    nl_orc_reader *reader; /* counted */
    nl_arena *arena;       /* owned */
    nl_memory *memory;     /* counted */
    nl_codec_context *codecs;
    nl_orc_store store;
    nl_orc_stripe_footer footer;
    nl_orc_context context;
    nl_orc_rows *ranges;
    uint32_t range_count, range;
    uint64_t range_at;     /* rows of the range that are behind */
    nl_orc_window window;
    nl_orc_column *columns; /* by wanted column */
    uint64_t *at;           /* per column: the row that it stands before */
};

static nl_status out_of_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

nl_status nl_orc_reader_open(nl_file *file, nl_orc_tail *tail, const nl_type *wanted, const nl_orc_read_options *options, nl_memory *memory, nl_orc_reader **reader)
{
    nl_orc_reader *made = calloc(1, sizeof(*made));
    if (!made) return out_of_memory(sizeof(*made));
    atomic_init(&made->references, 1);
    made->arena = nl_arena_new(memory);
    made->memory = memory ? nl_memory_retain(memory) : NULL;
    made->file = file;
    made->tail = nl_orc_tail_retain(tail);
    made->wanted = wanted;
    made->options = *options;
    nl_status status = nl_orc_plan_make(tail, wanted, options, made->arena, &made->plan);
    if (status) nl_orc_reader_release(made);
    else *reader = made;
    return status;
}

nl_orc_reader *nl_orc_reader_retain(nl_orc_reader *reader)
{
    atomic_fetch_add_explicit(&reader->references, 1, memory_order_relaxed);
    return reader;
}

void nl_orc_reader_release(nl_orc_reader *reader)
{
    if (!reader || atomic_fetch_sub_explicit(&reader->references, 1, memory_order_acq_rel) != 1) return;
    nl_orc_tail_release(reader->tail);
    nl_arena_free(reader->arena);
    if (reader->memory) nl_memory_release(reader->memory);
    free(reader);
}

const nl_orc_tail *nl_orc_reader_tail(const nl_orc_reader *reader)
{
    return reader->tail;
}

/* ---- scans ---- */

nl_status nl_orc_scan_restrict(nl_orc_scan *scan, const nl_orc_rows *ranges, uint32_t range_count)
{
    const uint64_t row_count = scan->footer.stripe->row_count;
    scan->ranges = NL_NEW_ARRAY(scan->arena, nl_orc_rows, (size_t)range_count + 1);
    scan->range_count = 0;
    NL_TRY(nl_arena_check(scan->arena));
    for (uint32_t i = 0; i < range_count; i++) {
        NL_CHECK(ranges[i].first_row <= row_count && ranges[i].row_count <= row_count - ranges[i].first_row);
        if (ranges[i].row_count > 0) scan->ranges[scan->range_count++] = ranges[i];
    }
    return NULL;
}

static nl_status reads_column(const nl_orc_plan *plan, uint32_t id, bool *is_read)
{
    if (plan->file && plan->file->id == id) *is_read = true;
    for (uint32_t i = 0; i < plan->child_count && !*is_read; i++) NL_TRY(reads_column(&plan->children[i], id, is_read));
    return NULL;
}

/* The beginnings of the streams that will be read. */
static nl_status prefetch(nl_orc_scan *scan)
{
    uint32_t count = 0;
    nl_range *ranges = NL_NEW_ARRAY(scan->arena, nl_range, scan->footer.stream_count + 1);
    NL_TRY(nl_arena_check(scan->arena));
    for (uint32_t i = 0; i < scan->footer.stream_count; i++) {
        const nl_orc_stream_place *place = &scan->footer.streams[i];
        bool is_read = false;
        if (place->length == 0 || place->kind > NL_ORC_SECONDARY) continue;
        NL_TRY(reads_column(&scan->reader->plan, place->column, &is_read));
        if (is_read) ranges[count++] = (nl_range){place->offset, NL_MIN(place->length, scan->store.fetch_bytes)};
    }
    nl_file_prefetch(scan->reader->file, ranges, count);
    return NULL;
}

static nl_status start(nl_orc_scan *scan, uint32_t stripe)
{
    nl_orc_reader *reader = scan->reader;
    const uint32_t column_count = reader->wanted->child_count;
    NL_TRY(nl_orc_stripe_footer_read(reader->tail, stripe, &scan->store, scan->arena, &scan->footer));
    const nl_orc_rows all = {0, scan->footer.stripe->row_count};
    NL_TRY(nl_orc_scan_restrict(scan, &all, 1));
    if (nl_orc_stripe_stream(&scan->footer, 0, NL_ORC_PRESENT).length > 0)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Rows of the ORC file " NL_STR_FMT " are null as a whole, which nilas does not read.", NL_STR_ARG(reader->tail->path));
    scan->columns = calloc(column_count + 1, sizeof(*scan->columns));
    scan->at = NL_NEW_ARRAY(scan->arena, uint64_t, column_count + 1);
    if (!scan->columns) return out_of_memory(column_count * sizeof(*scan->columns));
    for (uint32_t i = 0; i < column_count; i++) NL_TRY(nl_orc_column_open(&scan->columns[i], &reader->plan.children[i], &scan->context));
    if (nl_path_is_remote(reader->tail->path)) NL_TRY(prefetch(scan));
    return nl_arena_check(scan->arena);
}

nl_status nl_orc_scan_open(nl_orc_reader *reader, uint32_t stripe, nl_memory *memory, nl_orc_scan **scan)
{
    NL_ASSERT(stripe < reader->tail->stripe_count);
    nl_orc_scan *made = calloc(1, sizeof(*made));
    if (!made) return out_of_memory(sizeof(*made));
    made->reader = nl_orc_reader_retain(reader);
    made->arena = nl_arena_new(memory);
    made->memory = memory ? nl_memory_retain(memory) : NULL;
    made->codecs = nl_codec_context_new(memory);
    made->store = nl_orc_tail_store(reader->tail, reader->file, memory, made->codecs);
    made->context = (nl_orc_context){.tail = reader->tail, .footer = &made->footer, .store = &made->store, .arena = made->arena, .memory = memory,
                                     .is_hybrid = reader->options.is_hybrid, .zone = reader->options.zone ? reader->options.zone : nl_timezone_utc()};
    nl_status status = start(made, stripe);
    if (status) nl_orc_scan_close(made);
    else *scan = made;
    return status;
}

void nl_orc_scan_close(nl_orc_scan *scan)
{
    if (!scan) return;
    for (uint32_t i = 0; scan->columns && i < scan->reader->wanted->child_count; i++) nl_orc_column_close(&scan->columns[i]);
    free(scan->columns);
    nl_codec_context_free(scan->codecs);
    nl_orc_reader_release(scan->reader);
    nl_arena_free(scan->arena);
    if (scan->memory) nl_memory_release(scan->memory);
    free(scan);
}

void nl_orc_scan_advance(nl_orc_scan *scan, nl_orc_window *window)
{
    while (scan->range < scan->range_count && scan->range_at == scan->ranges[scan->range].row_count) {
        scan->range++;
        scan->range_at = 0;
    }
    scan->window = (nl_orc_window){0};
    if (scan->range < scan->range_count) {
        const nl_orc_rows *range = &scan->ranges[scan->range];
        scan->window.first_row = range->first_row + scan->range_at;
        scan->window.file_row = scan->footer.stripe->first_row + scan->window.first_row;
        scan->window.row_count = (uint32_t)NL_MIN(range->row_count - scan->range_at, (uint64_t)NL_BATCH_ROWS);
        scan->range_at += scan->window.row_count;
    }
    *window = scan->window;
}

/* Brings a column to the window: to the start of a row group when one begins in between, then row by row. */
static nl_status move(nl_orc_scan *scan, uint32_t column)
{
    const uint64_t to = scan->window.first_row, stride = scan->reader->tail->row_index_stride;
    bool is_done = false;
    NL_ASSERT(scan->at[column] <= to);
    if (scan->at[column] == to) return NULL;
    if (stride > 0 && to / stride > scan->at[column] / stride) {
        NL_TRY(nl_orc_column_seek(&scan->columns[column], (uint32_t)(to / stride), &is_done));
        if (is_done) scan->at[column] = to / stride * stride;
    }
    NL_TRY(nl_orc_column_skip(&scan->columns[column], to - scan->at[column]));
    scan->at[column] = to;
    return NULL;
}

nl_status nl_orc_scan_read(nl_orc_scan *scan, uint32_t column, const nl_selection *selection, nl_vector *vector)
{
    nl_vector all = {0};
    NL_TRY(move(scan, column));
    NL_TRY(nl_orc_column_read(&scan->columns[column], scan->window.row_count, NULL, &all));
    scan->at[column] += scan->window.row_count;
    if (!selection || (!selection->rows && selection->count == scan->window.row_count)) {
        nl_vector_move(&all, vector);
        return NULL;
    }
    nl_status status = selection->rows ? nl_vector_take(&all, selection->rows, selection->count, scan->memory, vector) : nl_vector_slice(&all, 0, selection->count, scan->memory, vector);
    nl_vector_fini(&all);
    return status;
}

nl_status nl_orc_scan_next(nl_orc_scan *scan, nl_batch *batch, nl_orc_window *window)
{
    const uint32_t count = scan->reader->wanted->child_count;
    nl_orc_scan_advance(scan, window);
    NL_TRY(nl_batch_init(batch, count, window->row_count));
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < count && window->row_count > 0; i++) status = nl_orc_scan_read(scan, i, NULL, &batch->columns[i]);
    if (status) nl_batch_fini(batch);
    return status;
}

/* ---- statistics ---- */

/* A field by its id below structs only. True recursion, as deep as types. */
static const nl_orc_plan *find_plan(const nl_orc_plan *plan, int32_t field_id)
{
    if (plan->action != NL_ORC_READ_STRUCT) return NULL;
    for (uint32_t i = 0; i < plan->child_count; i++) {
        const nl_orc_plan *below = plan->type->children[i].field_id == field_id ? &plan->children[i] : find_plan(&plan->children[i], field_id);
        if (below) return below;
    }
    return NULL;
}

static bool is_integral(const nl_type *type)
{
    return nl_type_is_integral(type) || (type->id == NL_TYPE_TIMESTAMP_NTZ);
}

static void integer_bounds(const nl_orc_plan *plan, const nl_orc_statistics *stats, nl_orc_bounds *bounds)
{
    if (!is_integral(plan->type) || plan->action != NL_ORC_READ_INTEGER) bounds->has_min = bounds->has_max = false;
    bounds->min = nl_value_int(plan->type, stats->int_min);
    bounds->max = nl_value_int(plan->type, stats->int_max);
}

static void day_bounds(const nl_orc_plan *plan, const nl_orc_statistics *stats, nl_orc_bounds *bounds)
{
    if (plan->type->id != NL_TYPE_DATE || stats->int_min < -140000 || stats->int_max < -140000) bounds->has_min = bounds->has_max = false; /* of whichever calendar */
    bounds->min = nl_value_int(plan->type, stats->int_min);
    bounds->max = nl_value_int(plan->type, stats->int_max);
}

/* Milliseconds; a second more on either side, for Java's writers round towards zero. Wall-clock times are left alone: their
 * statistics depend on zones. */
static void time_bounds(const nl_orc_plan *plan, const nl_orc_statistics *stats, nl_orc_bounds *bounds)
{
    const int64_t most = INT64_MAX / 1000 - 10000;
    const bool is_usable = plan->file->kind == NL_ORC_TIMESTAMP_INSTANT && stats->int_min > -most && stats->int_min < most && stats->int_max > -most && stats->int_max < most;
    if (!is_usable) {
        bounds->has_min = bounds->has_max = false;
        return;
    }
    bounds->min = nl_value_int(plan->type, (stats->int_min - 1000) * 1000);
    bounds->max = nl_value_int(plan->type, (stats->int_max + 1001) * 1000);
}

static void real_bounds(const nl_orc_plan *plan, const nl_orc_statistics *stats, nl_orc_bounds *bounds)
{
    const bool is_real = plan->type->id == NL_TYPE_DOUBLE || plan->type->id == NL_TYPE_FLOAT;
    if (!is_real || plan->action != NL_ORC_READ_REAL || stats->real_min != stats->real_min || stats->real_max != stats->real_max || stats->real_min > stats->real_max)
        bounds->has_min = bounds->has_max = false;
    bounds->min = (nl_value){.type = plan->type, .real = stats->real_min == 0 ? -0.0 : stats->real_min};
    bounds->max = (nl_value){.type = plan->type, .real = stats->real_max == 0 ? 0.0 : stats->real_max};
}

static void decimal_bounds(const nl_orc_plan *plan, const nl_orc_statistics *stats, nl_orc_bounds *bounds)
{
    int min_scale, max_scale;
    bounds->min = bounds->max = (nl_value){.type = plan->type};
    const bool is_fine = plan->action == NL_ORC_READ_DECIMAL && bounds->has_min && bounds->has_max && nl_decimal_parse(stats->text_min, &bounds->min.decimal, &min_scale, NULL) &&
                         nl_decimal_parse(stats->text_max, &bounds->max.decimal, &max_scale, NULL) &&
                         nl_decimal_rescale(bounds->min.decimal, min_scale, plan->type->scale, NL_ROUND_FLOOR, &bounds->min.decimal) &&
                         nl_decimal_rescale(bounds->max.decimal, max_scale, plan->type->scale, NL_ROUND_CEILING, &bounds->max.decimal);
    if (!is_fine) bounds->has_min = bounds->has_max = false;
}

static void text_bounds(const nl_orc_plan *plan, const nl_orc_statistics *stats, nl_arena *arena, nl_orc_bounds *bounds)
{
    const bool is_usable = plan->type->id == NL_TYPE_STRING && plan->type->collation.length == 0 && plan->action == NL_ORC_READ_TEXT && plan->file->kind != NL_ORC_CHAR;
    if (!is_usable) bounds->has_min = bounds->has_max = false;
    bounds->min = nl_value_string(nl_arena_str(arena, stats->text_min));
    bounds->max = nl_value_string(nl_arena_str(arena, stats->text_max));
    bounds->min.type = bounds->max.type = plan->type;
}

static void boolean_bounds(const nl_orc_plan *plan, const nl_orc_statistics *stats, nl_orc_bounds *bounds)
{
    if (plan->type->id != NL_TYPE_BOOLEAN || !stats->has_count || stats->true_count > stats->value_count) bounds->has_min = bounds->has_max = false;
    bounds->min = bounds->max = (nl_value){.type = plan->type};
    bounds->min.boolean = stats->true_count == stats->value_count;
    bounds->max.boolean = stats->true_count > 0;
}

static bool is_narrower(const nl_orc_plan *plan)
{
    static const uint8_t bytes[] = {[NL_ORC_BYTE] = 1, [NL_ORC_SHORT] = 2, [NL_ORC_INT] = 4, [NL_ORC_LONG] = 8};
    return plan->type->id == NL_TYPE_DECIMAL || nl_physical_size(plan->type->physical) < bytes[plan->file->kind];
}

static void bounds_of(const nl_orc_plan *plan, const nl_orc_statistics *stats, nl_arena *arena, nl_orc_bounds *bounds)
{
    *bounds = (nl_orc_bounds){.has_min = stats->has_min, .has_max = stats->has_max, .may_have_null = stats->may_have_null, .has_count = stats->has_count, .has_null = stats->may_have_null, .value_count = stats->value_count, .is_all_null = stats->has_count && stats->value_count == 0 && stats->may_have_null};
    switch (stats->kind) {
    case NL_ORC_STATS_INT: integer_bounds(plan, stats, bounds); break;
    case NL_ORC_STATS_DATE: day_bounds(plan, stats, bounds); break;
    case NL_ORC_STATS_TIMESTAMP: time_bounds(plan, stats, bounds); break;
    case NL_ORC_STATS_DOUBLE: real_bounds(plan, stats, bounds); break;
    case NL_ORC_STATS_DECIMAL: decimal_bounds(plan, stats, bounds); break;
    case NL_ORC_STATS_STRING: text_bounds(plan, stats, arena, bounds); break;
    case NL_ORC_STATS_BOOLEAN: boolean_bounds(plan, stats, bounds); break;
    case NL_ORC_STATS_NONE: bounds->has_min = bounds->has_max = false; break;
    }
    /* Integers that are read as narrower ones may be null without the file knowing; parents that are null count nowhere. */
    bounds->may_have_null |= plan->file->path.length != plan->file->name.length || (plan->action == NL_ORC_READ_INTEGER && is_narrower(plan));
    bounds->is_all_null &= plan->file->path.length == plan->file->name.length;
}

nl_status nl_orc_stripe_bounds(const nl_orc_reader *reader, uint32_t stripe, int32_t field_id, nl_arena *arena, nl_orc_bounds *bounds, bool *is_known)
{
    const nl_orc_plan *plan = find_plan(&reader->plan, field_id);
    nl_orc_statistics stats;
    *is_known = plan && plan->file;
    if (!*is_known) return NULL;
    NL_TRY(nl_orc_tail_statistics(reader->tail, stripe, plan->file->id, &stats));
    bounds_of(plan, &stats, arena, bounds);
    return nl_arena_check(arena);
}

static nl_status read_groups(nl_orc_reader *reader, uint32_t stripe, const nl_orc_plan *plan, nl_arena *arena, nl_orc_row_index *index)
{
    nl_codec_context *codecs = nl_codec_context_new(reader->memory);
    nl_orc_store store = nl_orc_tail_store(reader->tail, reader->file, reader->memory, codecs);
    nl_orc_stripe_footer footer;
    nl_status status = nl_orc_stripe_footer_read(reader->tail, stripe, &store, arena, &footer);
    if (!status) status = nl_orc_row_index_read(reader->tail, &footer, plan->file->id, &store, arena, index);
    nl_codec_context_free(codecs);
    return status;
}

nl_status nl_orc_group_bounds(nl_orc_reader *reader, uint32_t stripe, int32_t field_id, nl_arena *arena, nl_orc_bounds **groups, uint32_t *group_count, uint64_t *group_rows)
{
    const nl_orc_plan *plan = find_plan(&reader->plan, field_id);
    nl_orc_row_index index = {0};
    *group_count = 0;
    *group_rows = reader->tail->row_index_stride;
    if (!plan || !plan->file || plan->child_count > 0 || *group_rows == 0) return NULL;
    NL_TRY(read_groups(reader, stripe, plan, arena, &index));
    *groups = NL_NEW_ARRAY(arena, nl_orc_bounds, index.group_count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < index.group_count; i++) bounds_of(plan, &index.statistics[i], arena, &(*groups)[i]);
    *group_count = index.group_count;
    return nl_arena_check(arena);
}
