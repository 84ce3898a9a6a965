/* exec/source/file_scan.c - see file_scan.h.
 *
 * The queue hands out morsels of one open file after the other, in the files' order; a worker that finds no open file
 * with work left opens the next one. The lock guards counters and lists only: files are opened outside of it.
 */
#include "exec/source/file_scan.h"

#include <stdlib.h>

#include "base/lock.h"
#include "exec/bloom.h"
#include "exec/engine.h"
#include "exec/expression.h"
#include "exec/key_bitmap.h"
#include "exec/source/file_ahead.h"
#include "exec/source/pruning.h"

/* Long enough that finding the place in a row group costs nothing. Six pages of writers that end them after 20,000 rows, as
 * Iceberg's do: a page is then seldom unpacked by two workers. */
#define MORSEL_ROWS 120000u
#define PART_BYTES          (4ull << 20) /* stored, of files of other formats than Parquet */
#define RUNTIME_FILTERS_MAX 8u
#define RUNTIME_TRIAL_ROWS  65536u

typedef struct open_unit { /* a file that some workers read; counted by morsels and by the queue */
    const nl_scan_unit *unit;
    nl_file *file;
    nl_parquet_reader *reader;
    nl_data_reader *data;           /* instead of reader: a file of another format. Its parts are its row groups */
    nl_delete_filter deletes;
    nl_arena *arena;
    nl_parquet_rows **group_ranges; /* per row group; NULL: pruned away */
    uint32_t *group_range_counts;
    nl_data_rows **part_ranges;     /* of data: group_range_counts[part] each; NULL: all rows */
    uint32_t row_group_count;
    uint32_t next_group;            /* guarded by the scan's mutex */
    uint64_t next_row;              /* of next_group */
    uint32_t references;            /* guarded by the scan's mutex */
    struct open_unit *next;
} open_unit;

typedef struct morsel {
    open_unit *open;
    uint32_t row_group;
    bool is_first;  /* of its row group */
    bool is_last;
    const nl_parquet_rows *ranges;
    nl_parquet_rows *cut; /* owned: ranges of a part of the row group */
    uint32_t range_count;
} morsel;

typedef struct file_scan {
    nl_scan base;
    nl_file_scan_plan plan;
    nl_program *filter;         /* or NULL */
    nl_column *filter_columns;  /* of the filter: a subset of the node's, in their order */
    uint32_t *filter_outputs;   /* their positions among the node's columns */
    uint32_t filter_count;
    nl_runtime_filter runtime[RUNTIME_FILTERS_MAX];
    uint32_t runtime_outputs[RUNTIME_FILTERS_MAX]; /* the filter's column among the node's; UINT32_MAX: only its range is used */
    uint32_t runtime_count;
    nl_mutex mutex;
    pthread_cond_t changed;
    uint32_t next_unit;         /* guarded by mutex, as what follows */
    uint32_t opening_count;
    nl_file_ahead *ahead;       /* owned */
    open_unit *first, *last;    /* open files with work left */
    bool has_failed;
    atomic_uint_fast64_t rows_out, rows_scanned, rows_in_pruned_pages, files_read, groups_read, groups_total;
} file_scan;

typedef struct file_reader {
    nl_scan_reader base;
    uint32_t worker;
    nl_program_state *filter;   /* or NULL */
    morsel morsel;
    nl_parquet_scan *scan;
    nl_data_scan *data_scan;    /* instead of scan */
    nl_vector *cached;          /* per read column of the present window: whole columns, read for equality deletes or of other formats */
    uint32_t *rows;             /* NL_BATCH_ROWS: selection under construction */
    uint64_t runtime_seen[RUNTIME_FILTERS_MAX], runtime_kept[RUNTIME_FILTERS_MAX];
    bool runtime_off[RUNTIME_FILTERS_MAX];
} file_reader;

static file_scan *scan_of(nl_scan *scan)
{
    return NL_CONTAINER(scan, file_scan, base);
}

/* ---- opening files --------------------------------------------------------------------------------------------- */

static void close_unit(open_unit *open)
{
    if (!open) return;
    nl_delete_filter_fini(&open->deletes);
    nl_parquet_reader_release(open->reader);
    nl_data_reader_close(open->data);
    nl_file_close(open->file);
    nl_arena_free(open->arena);
    free(open);
}

static nl_status plan_row_groups(file_scan *self, open_unit *open)
{
    const nl_parquet_footer *footer = nl_parquet_reader_footer(open->reader);
    const nl_predicate *predicate = open->unit->is_wholly_matching ? NULL : self->plan.predicate;
    open->row_group_count = footer->row_group_count;
    open->group_ranges = NL_NEW_ARRAY(open->arena, nl_parquet_rows *, footer->row_group_count);
    open->group_range_counts = NL_NEW_ARRAY(open->arena, uint32_t, footer->row_group_count);
    for (uint32_t i = 0; i < footer->row_group_count; i++) {
        const uint64_t row_count = footer->row_groups[i].row_count;
        bool may_match = row_count > 0;
        if (may_match && predicate) NL_TRY(nl_row_group_may_match(open->reader, i, predicate, &may_match));
        if (!may_match) continue;
        atomic_fetch_add_explicit(&self->groups_read, 1, memory_order_relaxed);
        if (predicate) {
            NL_TRY(nl_page_ranges(open->reader, i, row_count, predicate, open->arena, &open->group_ranges[i], &open->group_range_counts[i]));
            uint64_t kept = 0;
            for (uint32_t k = 0; k < open->group_range_counts[i]; k++)
                kept += open->group_ranges[i][k].row_count;
            atomic_fetch_add_explicit(&self->rows_in_pruned_pages, row_count - kept, memory_order_relaxed);
            continue;
        }
        open->group_ranges[i] = NL_NEW(open->arena, nl_parquet_rows);
        *open->group_ranges[i] = (nl_parquet_rows){0, row_count};
        open->group_range_counts[i] = 1;
    }
    atomic_fetch_add_explicit(&self->groups_total, footer->row_group_count, memory_order_relaxed);
    return NULL;
}

static const nl_parquet_rows whole_part = {.first_row = 0, .row_count = UINT64_MAX};

/* Only the rows of a part that its groups' statistics leave; none: the part is left out. */
static nl_status narrow_part(file_scan *self, open_unit *open, uint32_t part, const nl_predicate *predicate)
{
    const uint64_t row_count = open->data->parts[part].row_count;
    nl_data_rows *ranges = NULL;
    uint64_t kept = 0;
    NL_TRY(nl_data_part_ranges(open->data, part, row_count, predicate, open->arena, &ranges, &open->group_range_counts[part]));
    if (!ranges) return NULL;
    open->part_ranges[part] = ranges;
    for (uint32_t i = 0; i < open->group_range_counts[part]; i++)
        kept += ranges[i].row_count;
    atomic_fetch_add_explicit(&self->rows_in_pruned_pages, row_count - kept, memory_order_relaxed);
    return NULL;
}

static nl_status plan_parts(file_scan *self, open_unit *open)
{
    const nl_predicate *predicate = open->unit->is_wholly_matching ? NULL : self->plan.predicate;
    open->row_group_count = open->data->part_count;
    open->group_ranges = NL_NEW_ARRAY(open->arena, nl_parquet_rows *, open->row_group_count);
    open->group_range_counts = NL_NEW_ARRAY(open->arena, uint32_t, open->row_group_count);
    open->part_ranges = NL_NEW_ARRAY(open->arena, nl_data_rows *, open->row_group_count);
    for (uint32_t i = 0; i < open->row_group_count; i++) {
        bool may_match = true;
        if (predicate) NL_TRY(nl_data_part_may_match(open->data, i, predicate, &may_match));
        if (!may_match) continue;
        atomic_fetch_add_explicit(&self->groups_read, 1, memory_order_relaxed);
        open->group_ranges[i] = NL_NEW(open->arena, nl_parquet_rows);
        *open->group_ranges[i] = whole_part;
        open->group_range_counts[i] = 1;
        if (predicate) NL_TRY(narrow_part(self, open, i, predicate));
    }
    atomic_fetch_add_explicit(&self->groups_total, open->row_group_count, memory_order_relaxed);
    return nl_arena_check(open->arena);
}

static bool needs_positions(const file_scan *self, const nl_scan_unit *unit)
{
    for (uint32_t i = 0; i < self->plan.node->column_count; i++)
        if (self->plan.columns[i].kind == NL_COLUMN_POSITION || self->plan.columns[i].kind == NL_COLUMN_ROW_ID) return true;
    for (uint32_t i = 0; unit->task && i < unit->task->delete_count; i++)
        if (unit->task->deletes[i]->content == NL_CONTENT_POSITION_DELETES) return true;
    return false;
}

static nl_status open_data_file(file_scan *self, open_unit *open)
{
    const nl_file_scan_plan *plan = &self->plan;
    const nl_data_read read = {
        .wanted = plan->read_type,
        .field_id_of = plan->data_field_id_of,
        .missing_value_of = plan->missing_value_of,
        .argument = plan->unit_argument ? plan->unit_argument(plan->owner, open->unit) : plan->owner,
        .needs_positions = needs_positions(self, open->unit),
        .part_bytes = PART_BYTES,
    };
    NL_TRY(nl_file_ahead_open(self->ahead, open->unit, &open->file));
    NL_TRY(nl_data_file_open(open->unit->format, open->file, &read, plan->query->memory, &open->data));
    if (open->unit->task && plan->deletes) NL_TRY(nl_delete_filter_load(plan->deletes, open->unit->task, &open->deletes));
    atomic_fetch_add_explicit(&self->files_read, 1, memory_order_relaxed);
    nl_query_has_read(plan->query, 1, nl_file_size(open->file), 0);
    return plan_parts(self, open);
}

static nl_status open_file(file_scan *self, open_unit *open)
{
    nl_parquet_footer *footer = NULL;
    const nl_file_scan_plan *plan = &self->plan;
    if (open->unit->format) return open_data_file(self, open);
    const nl_parquet_read_options options = {
        .match = plan->match,
        .field_id_of = plan->field_id_of,
        .missing_value_of = plan->missing_value_of,
        .argument = plan->unit_argument ? plan->unit_argument(plan->owner, open->unit) : plan->owner,
    };
    NL_TRY(nl_file_ahead_open(self->ahead, open->unit, &open->file));
    NL_TRY(nl_parquet_footer_read(open->file, plan->query->memory, &footer));
    nl_status status = nl_parquet_reader_open(open->file, footer, plan->read_type, &options, plan->query->memory, &open->reader);
    nl_parquet_footer_release(footer);
    if (status) return status;
    if (open->unit->task && plan->deletes) NL_TRY(nl_delete_filter_load(plan->deletes, open->unit->task, &open->deletes));
    atomic_fetch_add_explicit(&self->files_read, 1, memory_order_relaxed);
    nl_query_has_read(plan->query, 1, nl_file_size(open->file), 0);
    return plan_row_groups(self, open);
}

static nl_status open_next(file_scan *self, const nl_scan_unit *unit, open_unit **opened)
{
    open_unit *open = calloc(1, sizeof(*open));
    if (!open) return nl_out_of_memory(sizeof(*open));
    open->unit = unit;
    open->arena = nl_arena_new(self->plan.query->memory);
    nl_status status = nl_note_if(open_file(self, open), NL_HERE, "reading " NL_STR_FMT, NL_STR_ARG(unit->path));
    if (status)
        close_unit(open);
    else
        *opened = open;
    return status;
}

/* ---- the queue ------------------------------------------------------------------------------------------------- */

/* Ranges of a row group between two of its rows. */
static nl_status cut_ranges(const nl_parquet_rows *ranges, uint32_t count, uint64_t from, uint64_t to, morsel *work)
{
    work->cut = calloc(count, sizeof(*work->cut));
    if (!work->cut) return nl_out_of_memory(count * sizeof(*work->cut));
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t start = NL_MAX(ranges[i].first_row, from), end = NL_MIN(ranges[i].first_row + ranges[i].row_count, to);
        if (start < end) work->cut[work->range_count++] = (nl_parquet_rows){start, end - start};
    }
    work->ranges = work->cut;
    return NULL;
}

/* The next morsel of an open file; range_count 0 when it has none left. Called with the lock held. */
static nl_status take_morsel(open_unit *open, morsel *work)
{
    *work = (morsel){0};
    while (open->next_group < open->row_group_count && work->range_count == 0) {
        const uint32_t group = open->next_group;
        if (open->data) {
            open->next_group++;
            *work = (morsel){.row_group = group, .ranges = open->group_ranges[group], .range_count = open->group_range_counts[group]};
            continue;
        }
        const uint64_t row_count = nl_parquet_reader_footer(open->reader)->row_groups[group].row_count;
        const nl_parquet_rows *ranges = open->group_ranges[group];
        const uint64_t from = open->next_row, to = row_count - from <= MORSEL_ROWS + MORSEL_ROWS / 2 ? row_count : from + MORSEL_ROWS;
        open->next_row = to;
        if (to == row_count || !ranges) {
            open->next_group++;
            open->next_row = 0;
        }
        if (!ranges) continue;
        work->row_group = group;
        work->is_first = from == 0;
        work->is_last = to == row_count;
        if (from == 0 && to == row_count) {
            work->ranges = ranges;
            work->range_count = open->group_range_counts[group];
        } else {
            free(work->cut);
            work->range_count = 0;
            NL_TRY(cut_ranges(ranges, open->group_range_counts[group], from, to, work));
        }
    }
    if (work->range_count > 0) {
        work->open = open; /* only a morsel with rows holds the file */
        open->references++;
    } else {
        free(work->cut);
        work->cut = NULL;
    }
    return NULL;
}

/* Unlinks exhausted files from the front. Returns those nobody reads any more, to be closed without the lock. */
static open_unit *unlink_exhausted(file_scan *self)
{
    open_unit *to_close = NULL;
    while (self->first && self->first->next_group >= self->first->row_group_count) {
        open_unit *open = self->first;
        self->first = open->next;
        if (!self->first) self->last = NULL;
        if (--open->references == 0) {
            open->next = to_close;
            to_close = open;
        }
    }
    return to_close;
}

static void close_all(open_unit *open)
{
    while (open) {
        open_unit *next = open->next;
        close_unit(open);
        open = next;
    }
}

static bool has_enough(const file_scan *self)
{
    const int64_t limit = self->plan.node->scan.limit;
    return limit >= 0 && atomic_load_explicit(&self->rows_out, memory_order_relaxed) >= (uint64_t)limit;
}

static void link_opened(file_scan *self, open_unit *opened)
{
    opened->references = 1; /* the queue's own */
    opened->next = NULL;
    if (self->last)
        self->last->next = opened;
    else
        self->first = opened;
    self->last = opened;
}

/* Fills *work; range_count 0: no work is left for anybody. */
static nl_status next_morsel(file_scan *self, morsel *work)
{
    nl_status status = NULL;
    *work = (morsel){0};
    nl_mutex_lock(&self->mutex);
    for (;;) {
        open_unit *finished = unlink_exhausted(self);
        if (finished) {
            nl_mutex_unlock(&self->mutex);
            close_all(finished);
            nl_mutex_lock(&self->mutex);
            continue;
        }
        if (self->has_failed || has_enough(self)) break;
        if (self->first) {
            status = take_morsel(self->first, work);
            if (status || work->range_count > 0) break;
            continue;
        }
        if (self->next_unit < self->plan.unit_count) {
            const nl_scan_unit *unit = &self->plan.units[self->next_unit++];
            open_unit *opened = NULL;
            self->opening_count++;
            nl_mutex_unlock(&self->mutex);
            status = nl_cancel_check(self->plan.query->cancel);
            if (!status) status = open_next(self, unit, &opened);
            if (status && self->plan.ignores_missing && nl_error_condition(status) == NL_COND_PATH_NOT_FOUND) {
                nl_error_free(status);
                status = NULL;
            }
            nl_mutex_lock(&self->mutex);
            self->opening_count--;
            if (opened) link_opened(self, opened);
            if (status) self->has_failed = true;
            pthread_cond_broadcast(&self->changed);
            if (status) break;
            continue;
        }
        if (self->opening_count == 0) break;
        pthread_cond_wait(&self->changed, &self->mutex);
    }
    nl_mutex_unlock(&self->mutex);
    return status;
}

static void finish_morsel(file_scan *self, morsel *work)
{
    free(work->cut);
    if (work->open) {
        nl_mutex_lock(&self->mutex);
        work->open->references--;
        const bool is_last = work->open->references == 0;
        nl_mutex_unlock(&self->mutex);
        if (is_last) close_unit(work->open);
    }
    *work = (morsel){0};
}

/* ---- one window ------------------------------------------------------------------------------------------------ */

/* The rows of the present window that are still wanted; rows NULL: all of them. */
typedef struct window_rows {
    nl_parquet_window window;
    nl_selection selection;
} window_rows;

static nl_status make_constant(file_scan *self, const nl_value *value, uint32_t length, nl_vector *out)
{
    if (value->is_null) return nl_vector_new_null(out, value->type, length, self->plan.query->memory);
    return nl_vector_new_constant(out, value, length, self->plan.query->memory);
}

static nl_status make_positions(file_scan *self, const window_rows *rows, nl_vector *out)
{
    NL_TRY(nl_vector_new_flat(out, nl_type_bigint(), rows->selection.count, self->plan.query->memory));
    int64_t *values = nl_vector_values(out);
    for (uint32_t i = 0; i < rows->selection.count; i++)
        values[i] = (int64_t)(rows->window.file_row + nl_selection_row(rows->selection, i));
    return NULL;
}

static nl_status read_column(file_reader *self, uint32_t read_column, const window_rows *rows, nl_vector *out)
{
    file_scan *scan = scan_of(self->base.scan);
    const nl_selection *selection = rows->selection.rows ? &rows->selection : NULL;
    if (self->cached[read_column].type) { /* read whole for an equality delete */
        if (selection) return nl_vector_take(&self->cached[read_column], selection->rows, selection->count, scan->plan.query->memory, out);
        nl_vector_ref(&self->cached[read_column], out);
        return NULL;
    }
    return nl_parquet_scan_read(self->scan, read_column, selection, out);
}

/* A stored number, and where there is none the unit's: with the row's place added, or as it is. A null constant says that
 * the file takes no part, whatever it stores. */
static nl_status read_or_base(file_reader *self, const nl_scan_column *column, const window_rows *rows, nl_vector *out)
{
    file_scan *scan = scan_of(self->base.scan);
    const nl_value *base = &self->morsel.open->unit->constants[column->constant];
    nl_vector stored = {0};
    nl_reader reader;
    if (base->is_null) return make_constant(scan, base, rows->selection.count, out);
    NL_TRY(read_column(self, column->read_column, rows, &stored));
    nl_status status = nl_vector_new_flat(out, nl_type_bigint(), rows->selection.count, scan->plan.query->memory);
    if (!status) {
        int64_t *values = nl_vector_values(out);
        nl_reader_init(&reader, &stored);
        const int64_t *stored_values = reader.values;
        for (uint32_t i = 0; i < rows->selection.count; i++) {
            const int64_t place = column->kind == NL_COLUMN_ROW_ID ? (int64_t)(rows->window.file_row + nl_selection_row(rows->selection, i)) : 0;
            values[i] = nl_reader_is_null(&reader, i) ? base->integer + place : stored_values[nl_reader_index(&reader, i)];
        }
    }
    nl_vector_fini(&stored);
    return status;
}

static nl_status materialise(file_reader *self, uint32_t output, const window_rows *rows, nl_vector *out)
{
    file_scan *scan = scan_of(self->base.scan);
    const nl_scan_column *column = &scan->plan.columns[output];
    const nl_scan_unit *unit = self->morsel.open->unit;
    switch (column->kind) {
    case NL_COLUMN_FROM_FILE: return read_column(self, column->read_column, rows, out);
    case NL_COLUMN_CONSTANT: return make_constant(scan, &unit->constants[column->constant], rows->selection.count, out);
    case NL_COLUMN_PATH: {
        const nl_value path = nl_value_string(unit->path);
        return make_constant(scan, &path, rows->selection.count, out);
    }
    case NL_COLUMN_POSITION: return make_positions(scan, rows, out);
    case NL_COLUMN_ROW_ID:
    case NL_COLUMN_OR_CONSTANT: return read_or_base(self, column, rows, out);
    }
    return NULL;
}

static void select_bits(file_reader *self, window_rows *rows, const uint8_t *alive)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows->window.row_count; i++)
        if (nl_bit_get(alive, i)) self->rows[count++] = i;
    if (count < rows->window.row_count) rows->selection = (nl_selection){self->rows, count};
}

static nl_status read_keys(file_reader *self, const nl_equality_set *set, const nl_vector **columns)
{
    file_scan *scan = scan_of(self->base.scan);
    uint32_t field_count;
    const int32_t *fields = nl_equality_set_fields(set, &field_count);
    for (uint32_t i = 0; i < field_count; i++) {
        uint32_t at = 0;
        while (at < scan->plan.read_type->child_count && scan->plan.read_type->children[at].field_id != fields[i])
            at++;
        NL_CHECK(at < scan->plan.read_type->child_count);
        if (!self->cached[at].type) NL_TRY(nl_parquet_scan_read(self->scan, at, NULL, &self->cached[at]));
        columns[i] = &self->cached[at];
    }
    return NULL;
}

static nl_status apply_deletes(file_reader *self, window_rows *rows)
{
    enum { KEY_COLUMNS_MAX = 256 };
    file_scan *scan = scan_of(self->base.scan);
    const nl_delete_filter *deletes = &self->morsel.open->deletes;
    uint8_t alive[(NL_BATCH_ROWS + 7) / 8 + 8];
    if (!deletes->positions && deletes->set_count == 0) return NULL;
    memset(alive, 0xff, sizeof alive);
    if (deletes->positions) nl_deletion_vector_mask(deletes->positions, (int64_t)rows->window.file_row, rows->window.row_count, alive);
    for (uint32_t i = 0; i < deletes->set_count; i++) {
        const nl_vector *columns[KEY_COLUMNS_MAX];
        uint32_t field_count;
        (void)nl_equality_set_fields(deletes->sets[i], &field_count);
        if (field_count > KEY_COLUMNS_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "equality deletes by more than %d columns", KEY_COLUMNS_MAX);
        NL_TRY(read_keys(self, deletes->sets[i], columns));
        NL_TRY(nl_equality_set_apply(deletes->sets[i], columns, rows->window.row_count, scan->plan.query->memory, alive));
    }
    select_bits(self, rows, alive);
    return NULL;
}

/* Narrows the window's rows to those that batch's selection names (batch rows are rows->selection's, in order). */
static void narrow(file_reader *self, window_rows *rows, const nl_batch *batch)
{
    const nl_selection kept = nl_batch_selection(batch);
    if (!kept.rows) return;
    for (uint32_t i = 0; i < kept.count; i++)
        self->rows[i] = nl_selection_row(rows->selection, kept.rows[i]);
    rows->selection = (nl_selection){self->rows, kept.count};
}

/* Reads the filter's columns and evaluates it. Survivors' filter columns are left, compacted, in *batch. */
static nl_status apply_filter(file_reader *self, window_rows *rows, nl_batch *batch)
{
    file_scan *scan = scan_of(self->base.scan);
    NL_TRY(nl_batch_init(batch, scan->filter_count, rows->selection.count));
    for (uint32_t i = 0; i < scan->filter_count; i++)
        NL_TRY(materialise(self, scan->filter_outputs[i], rows, &batch->columns[i]));
    NL_TRY(nl_program_filter(self->filter, batch));
    narrow(self, rows, batch);
    return nl_batch_compact(batch, scan->plan.query->memory);
}

/* Rows of the vector that the filter lets pass, ascending, into keep. */
static uint32_t keep_by_bits(const nl_vector *column, uint32_t row_count, const nl_key_bitmap *bits, uint32_t *keep)
{
    uint32_t count = 0;
    nl_reader reader;
    nl_reader_init(&reader, column);
    const bool is_plain = column->encoding == NL_FLAT && !column->validity;
    const bool is_narrow = column->type->physical == NL_PHYS_I32;
    for (uint32_t i = 0; i < row_count && is_plain && is_narrow; i++) {
        keep[count] = i;
        count += nl_key_bitmap_has(bits, ((const int32_t *)reader.values)[i]);
    }
    for (uint32_t i = 0; i < row_count && is_plain && !is_narrow; i++) {
        keep[count] = i;
        count += nl_key_bitmap_has(bits, ((const int64_t *)reader.values)[i]);
    }
    for (uint32_t i = 0; i < row_count && !is_plain; i++) {
        if (nl_reader_is_null(&reader, i)) continue;
        const uint32_t at = nl_reader_index(&reader, i);
        keep[count] = i;
        count += nl_key_bitmap_has(bits, is_narrow ? ((const int32_t *)reader.values)[at] : ((const int64_t *)reader.values)[at]);
    }
    return count;
}

static nl_status keep_by_bloom(const file_scan *self, const nl_vector *column, uint32_t row_count, const nl_bloom *bloom, uint32_t *keep, uint32_t *count)
{
    nl_buffer *buffer = NULL;
    NL_TRY(nl_buffer_new(self->plan.query->memory, row_count * sizeof(uint64_t), false, &buffer));
    uint64_t *hashes = (uint64_t *)(void *)buffer->data;
    nl_status status = nl_vector_hash(column, row_count, false, hashes);
    for (uint32_t i = 0; i < row_count && !status; i++) {
        keep[*count] = i;
        *count += nl_bloom_may_contain(bloom, hashes[i]);
    }
    nl_buffer_release(buffer);
    return status;
}

/* Columns read so far, and the selection, narrowed to some rows. */
static nl_status keep_rows(file_reader *self, window_rows *rows, const uint32_t *keep, uint32_t count, nl_batch *batch)
{
    const file_scan *scan = scan_of(self->base.scan);
    for (uint32_t i = 0; i < batch->column_count; i++) {
        nl_vector taken = {0};
        if (!batch->columns[i].type) continue;
        NL_TRY(nl_vector_take(&batch->columns[i], keep, count, scan->plan.query->memory, &taken));
        nl_vector_fini(&batch->columns[i]);
        nl_vector_move(&taken, &batch->columns[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        self->rows[i] = nl_selection_row(rows->selection, keep[i]);
    rows->selection = (nl_selection){self->rows, count};
    batch->row_count = count;
    return NULL;
}

/* What joins know of their build sides, before the other columns are read. A filter that lets nearly everything pass is
 * left out after a while: it is never needed for the answer. */
static nl_status apply_runtime_filters(file_reader *self, window_rows *rows, nl_batch *batch)
{
    const file_scan *scan = scan_of(self->base.scan);
    uint32_t keep[NL_BATCH_ROWS];
    for (uint32_t f = 0; f < scan->runtime_count && rows->selection.count > 0; f++) {
        const nl_runtime_filter *filter = &scan->runtime[f];
        const uint32_t output = scan->runtime_outputs[f];
        const uint32_t row_count = rows->selection.count;
        uint32_t count = 0;
        if (output == UINT32_MAX || self->runtime_off[f]) continue;
        nl_vector *column = &batch->columns[output];
        if (!column->type) NL_TRY(materialise(self, output, rows, column));
        if (filter->bitmap)
            count = keep_by_bits(column, row_count, filter->bitmap, keep);
        else
            NL_TRY(keep_by_bloom(scan, column, row_count, filter->bloom, keep, &count));
        self->runtime_seen[f] += row_count;
        self->runtime_kept[f] += count;
        self->runtime_off[f] = self->runtime_seen[f] > RUNTIME_TRIAL_ROWS && self->runtime_kept[f] > self->runtime_seen[f] / 8 * 7;
        if (count < row_count) NL_TRY(keep_rows(self, rows, keep, count, batch));
    }
    return NULL;
}

static nl_status assemble(file_reader *self, window_rows *rows, nl_batch *filtered, nl_batch *batch)
{
    file_scan *scan = scan_of(self->base.scan);
    NL_TRY(nl_batch_init(batch, scan->plan.node->column_count, rows->selection.count));
    for (uint32_t i = 0; i < scan->filter_count && filtered->columns; i++)
        nl_vector_move(&filtered->columns[i], &batch->columns[scan->filter_outputs[i]]);
    NL_TRY(apply_runtime_filters(self, rows, batch));
    for (uint32_t i = 0; i < batch->column_count && rows->selection.count > 0; i++)
        if (!batch->columns[i].type) NL_TRY(materialise(self, i, rows, &batch->columns[i]));
    return NULL;
}

static void forget_cached(file_reader *self)
{
    const uint32_t count = scan_of(self->base.scan)->plan.read_type->child_count;
    for (uint32_t i = 0; i < count; i++)
        if (self->cached[i].type) nl_vector_fini(&self->cached[i]);
}

/* One window of the present morsel. Leaves *batch empty when no row survives. */
static nl_status read_window(file_reader *self, nl_parquet_window window, nl_batch *batch)
{
    file_scan *scan = scan_of(self->base.scan);
    window_rows rows = {.window = window, .selection = NL_ALL_ROWS(window.row_count)};
    nl_batch filtered = {0};
    nl_status status = apply_deletes(self, &rows);
    const bool needs_filter = self->filter && !self->morsel.open->unit->is_wholly_matching;
    if (!status && rows.selection.count > 0 && needs_filter) status = apply_filter(self, &rows, &filtered);
    if (!status && rows.selection.count > 0) status = assemble(self, &rows, &filtered, batch);
    nl_batch_fini(&filtered);
    forget_cached(self);
    atomic_fetch_add_explicit(&scan->rows_scanned, window.row_count, memory_order_relaxed);
    nl_query_has_read(scan->plan.query, 0, 0, window.row_count);
    return status;
}

/* Has the first blocks of a row group's columns fetched side by side, where storage does that. */
static void fetch_group(const open_unit *open, uint32_t group)
{
    if (group >= open->row_group_count || !open->group_ranges[group]) return;
    const bool is_from_start = open->group_range_counts[group] > 0 && open->group_ranges[group][0].first_row == 0; /* else pages begin elsewhere */
    if (is_from_start) nl_parquet_reader_prefetch(open->reader, group, NULL, 0);
}

/* The last row of the ranges' piece that a morsel ends in: its neighbours are read by others at the same time. */
static uint64_t last_row_around(const morsel *work)
{
    const nl_parquet_rows *last = &work->ranges[work->range_count - 1];
    const nl_parquet_rows *ranges = work->open->group_ranges[work->row_group];
    const uint32_t count = work->open->group_range_counts[work->row_group];
    for (uint32_t i = 0; i < count; i++)
        if (last->first_row >= ranges[i].first_row && last->first_row - ranges[i].first_row < ranges[i].row_count)
            return ranges[i].first_row + ranges[i].row_count - 1;
    return last->first_row + last->row_count - 1;
}

static nl_status begin_part(file_reader *self)
{
    const morsel *work = &self->morsel;
    const nl_data_rows *ranges = work->open->part_ranges[work->row_group];
    NL_TRY(nl_data_scan_open(work->open->data, work->row_group, scan_of(self->base.scan)->plan.query->memory, &self->data_scan));
    return ranges ? work->open->data->format->scan_restrict(self->data_scan, ranges, work->open->group_range_counts[work->row_group]) : NULL;
}

static nl_status begin_morsel(file_reader *self)
{
    file_scan *scan = scan_of(self->base.scan);
    NL_TRY(nl_cancel_check(scan->plan.query->cancel));
    NL_TRY(next_morsel(scan, &self->morsel));
    if (self->morsel.range_count == 0) return NULL;
    if (self->morsel.open->data) return begin_part(self);
    if (self->morsel.is_first) fetch_group(self->morsel.open, self->morsel.row_group);
    if (self->morsel.is_last) fetch_group(self->morsel.open, self->morsel.row_group + 1);
    NL_TRY(nl_parquet_scan_open(self->morsel.open->reader, self->morsel.row_group, self->morsel.ranges, self->morsel.range_count, scan->plan.query->memory,
                                &self->scan));
    if (nl_path_is_remote(self->morsel.open->unit->path) && scan->plan.node->scan.limit < 0) nl_parquet_scan_follow(self->scan, last_row_around(&self->morsel));
    return NULL;
}

/* The next rows of another format: all columns are there at once, and wait among the cached ones. */
static nl_status advance_data(file_reader *self, nl_parquet_window *window)
{
    nl_batch rows = {0};
    uint64_t first_row = 0;
    NL_TRY(nl_data_scan_next(self->data_scan, &rows, &first_row));
    for (uint32_t i = 0; i < rows.column_count && rows.row_count > 0; i++)
        nl_vector_move(&rows.columns[i], &self->cached[i]);
    *window = (nl_parquet_window){.file_row = first_row, .row_count = rows.row_count};
    nl_batch_fini(&rows);
    return NULL;
}

static void end_morsel(file_reader *self)
{
    nl_parquet_scan_close(self->scan);
    nl_data_scan_close(self->data_scan);
    self->scan = NULL;
    self->data_scan = NULL;
    finish_morsel(scan_of(self->base.scan), &self->morsel);
}

static nl_status file_reader_next(nl_scan_reader *base, nl_batch *batch, bool *is_done)
{
    file_reader *self = NL_CONTAINER(base, file_reader, base);
    file_scan *scan = scan_of(base->scan);
    *is_done = false;
    for (;;) {
        nl_parquet_window window;
        if (!self->scan && !self->data_scan) NL_TRY(begin_morsel(self));
        if (!self->scan && !self->data_scan) {
            *is_done = true;
            return NULL;
        }
        if (self->scan)
            NL_TRY(nl_parquet_scan_advance(self->scan, &window));
        else
            NL_TRY_NOTE(advance_data(self, &window), "reading " NL_STR_FMT, NL_STR_ARG(self->morsel.open->unit->path));
        if (window.row_count == 0) {
            end_morsel(self);
            continue;
        }
        NL_TRY_NOTE(read_window(self, window, batch), "reading " NL_STR_FMT, NL_STR_ARG(self->morsel.open->unit->path));
        if (nl_batch_live_rows(batch) > 0) {
            atomic_fetch_add_explicit(&scan->rows_out, nl_batch_live_rows(batch), memory_order_relaxed);
            return NULL;
        }
        nl_batch_fini(batch);
    }
}

/* ---- the scan -------------------------------------------------------------------------------------------------- */

static void free_reader(nl_scan_reader *base)
{
    file_reader *self = NL_CONTAINER(base, file_reader, base);
    nl_parquet_scan_close(self->scan);
    nl_data_scan_close(self->data_scan);
    if (self->morsel.open) finish_morsel(scan_of(base->scan), &self->morsel);
    if (self->cached) forget_cached(self);
    if (self->filter) nl_program_state_free(self->filter);
    free(self->cached);
    free(self->rows);
    free(self);
}

static nl_status new_reader(nl_scan *base, uint32_t worker, nl_scan_reader **reader)
{
    file_scan *scan = scan_of(base);
    file_reader *self = calloc(1, sizeof(*self));
    if (!self) return nl_out_of_memory(sizeof(*self));
    self->base.scan = base;
    self->worker = worker;
    self->cached = calloc(scan->plan.read_type->child_count + 1, sizeof(*self->cached));
    self->rows = calloc(NL_BATCH_ROWS, sizeof(*self->rows));
    nl_status status = self->cached && self->rows ? NULL : nl_out_of_memory(NL_BATCH_ROWS * sizeof(*self->rows));
    if (!status && scan->filter)
        status = nl_program_state_new(scan->filter, scan->plan.query->confs, scan->plan.query->memory, scan->plan.query->text, worker, &self->filter);
    if (status)
        free_reader(&self->base);
    else
        *reader = &self->base;
    return status;
}

/* The range becomes part of the predicate, so it prunes row groups and pages of files that are opened from now on. */
static nl_status add_runtime_filter(nl_scan *base, const nl_runtime_filter *filter)
{
    file_scan *self = scan_of(base);
    if (self->runtime_count == RUNTIME_FILTERS_MAX) return NULL;
    uint32_t *output = &self->runtime_outputs[self->runtime_count];
    self->runtime[self->runtime_count++] = *filter;
    *output = UINT32_MAX;
    for (uint32_t i = 0; (filter->bloom || filter->bitmap) && i < self->plan.node->column_count; i++)
        if (self->plan.node->columns[i].id == filter->column) *output = i;
    for (uint32_t i = 0; filter->has_range && i < self->plan.node->column_count; i++) {
        const nl_scan_column *column = &self->plan.columns[i];
        if (self->plan.node->columns[i].id != filter->column || column->kind != NL_COLUMN_FROM_FILE) continue;
        const int32_t field_id = self->plan.read_type->children[column->read_column].field_id;
        if (field_id == 0) continue;
        const nl_predicate *lower = nl_predicate_leaf(self->plan.arena, NL_PREDICATE_GTE, field_id, &filter->lower, 1);
        const nl_predicate *upper = nl_predicate_leaf(self->plan.arena, NL_PREDICATE_LTE, field_id, &filter->upper, 1);
        self->plan.predicate = nl_predicate_and(self->plan.arena, self->plan.predicate, nl_predicate_and(self->plan.arena, lower, upper));
        for (uint32_t u = 0; u < self->plan.unit_count; u++)
            if (!self->filter) self->plan.units[u].is_wholly_matching = false; /* pruning by the range is still worth it */
    }
    return NULL;
}

static void append_metrics(const nl_scan *base, nl_builder *out)
{
    const file_scan *self = (const file_scan *)(const void *)base; /* its first member */
    nl_append_f(out, "files %llu of %u, row groups %llu of %llu, rows scanned %llu", (unsigned long long)atomic_load(&self->files_read), self->plan.files_total,
                (unsigned long long)atomic_load(&self->groups_read), (unsigned long long)atomic_load(&self->groups_total),
                (unsigned long long)atomic_load(&self->rows_scanned));
    const unsigned long long pruned = atomic_load(&self->rows_in_pruned_pages);
    if (pruned > 0) nl_append_f(out, ", rows in pruned pages %llu", pruned);
}

static void free_scan(nl_scan *base)
{
    file_scan *self = scan_of(base);
    close_all(self->first);
    nl_file_ahead_free(self->ahead);
    nl_delete_cache_free(self->plan.deletes);
    if (self->plan.free_owner) self->plan.free_owner(self->plan.owner);
    nl_fs_release(self->plan.fs);
    nl_arena_free(self->plan.arena);
    pthread_cond_destroy(&self->changed);
    nl_mutex_fini(&self->mutex);
    free(self);
}

static const nl_scan_ops file_scan_ops = {
    .add_runtime_filter = add_runtime_filter,
    .new_reader = new_reader,
    .next = file_reader_next,
    .free_reader = free_reader,
    .append_metrics = append_metrics,
    .free = free_scan,
};

static bool uses_column(const nl_list *ids, nl_column_id id)
{
    for (uint32_t i = 0; i < ids->count; i++)
        if ((nl_column_id)(uintptr_t)ids->items[i] == id) return true;
    return false;
}

static nl_status compile_filter(file_scan *self)
{
    const nl_logical *node = self->plan.node;
    nl_list ids = {0};
    if (!node->scan.filter) return NULL;
    nl_expr_columns(self->plan.arena, node->scan.filter, &ids);
    self->filter_columns = NL_NEW_ARRAY(self->plan.arena, nl_column, node->column_count);
    self->filter_outputs = NL_NEW_ARRAY(self->plan.arena, uint32_t, node->column_count);
    for (uint32_t i = 0; i < node->column_count; i++) {
        if (!uses_column(&ids, node->columns[i].id)) continue;
        self->filter_outputs[self->filter_count] = i;
        self->filter_columns[self->filter_count++] = node->columns[i];
    }
    return nl_program_compile_filter(self->plan.arena, node->scan.filter, self->filter_columns, self->filter_count, &self->filter);
}

static void expect_units(const nl_file_scan_plan *plan)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < plan->unit_count; i++)
        rows += (uint64_t)NL_MAX(plan->units[i].row_count, 0);
    nl_query_expects(plan->query, plan->unit_count, rows);
}

nl_status nl_file_scan_new(nl_file_scan_plan *plan, nl_scan **scan)
{
    file_scan *self = calloc(1, sizeof(*self));
    if (!self) {
        nl_delete_cache_free(plan->deletes);
        if (plan->free_owner) plan->free_owner(plan->owner);
        nl_fs_release(plan->fs);
        nl_arena_free(plan->arena);
        return nl_out_of_memory(sizeof(*self));
    }
    self->base.ops = &file_scan_ops;
    self->plan = *plan;
    expect_units(plan);
    nl_mutex_init(&self->mutex);
    pthread_cond_init(&self->changed, NULL);
    nl_status status = compile_filter(self);
    if (!status) status = nl_file_ahead_new(self->plan.fs, self->plan.units, self->plan.unit_count, &self->ahead);
    if (status)
        free_scan(&self->base);
    else
        *scan = &self->base;
    return status;
}
