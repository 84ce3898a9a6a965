/* exec/sorter_merge.c - reading sorted runs as one order.
 *
 * In memory, the order is cut at sampled entries, so that ranges are merged in parallel. With runs on disk there is one
 * range; too many runs are first merged into fewer.
 */
#include "exec/sorter_private.h"

#include <stdlib.h>

#define FAN_IN_MAX       64u /* runs on disk read at once: each holds a chunk in memory */
#define FAN_IN_SMALL     16u /* with a budget below the next: a chunk and its rows take about a hundredth of it */
#define SMALL_BUDGET_MAX ((size_t)512 << 20)
#define PART_ROWS_MIN    (1u << 19) /* of a part per worker */
#define OWN_ROWS_MIN     (1u << 16) /* fewer rows are sorted together, whoever brought them */

typedef struct merge_cursor {
    nl_sort_entry *at, *end;
    const nl_spill *spill; /* or NULL: entries of a run in memory */
    uint32_t chunk, chunk_stop;
    nl_batch batch;        /* the present chunk: keys are read from it */
    nl_row_store store;    /* its rows */
    nl_sort_entry *entries;
    uint32_t entry_capacity;
} merge_cursor;

struct nl_sorted_range {
    nl_sorter *sorter;
    merge_cursor *cursors;
    uint32_t cursor_count;
    uint32_t *heap; /* cursors by their first entry, smallest first */
    uint32_t heap_count;
    uint32_t batch_rows;
    bool needs_refill; /* the top cursor's entries were all handed out */
    nl_sort_entry *taken;
    uint8_t **rows;
    /* The last row handed out, for breaks: */
    bool has_last;
    nl_sort_entry last;
    nl_sort_header last_header;
    uint8_t *last_key;
    uint32_t last_capacity;
    uint64_t left; /* rows still wanted */
};

static nl_status fill_chunk(nl_sorted_range *reader, merge_cursor *cursor)
{
    const nl_sorter *sorter = reader->sorter;
    nl_exec *exec = sorter->exec;
    uint32_t column_count = sorter->plan.column_count;
    cursor->at = cursor->end = NULL;
    nl_row_store_clear(&cursor->store);
    nl_batch_fini(&cursor->batch);
    if (cursor->chunk == cursor->chunk_stop) return NULL;
    NL_TRY(nl_cancel_check(exec->query->cancel));
    NL_TRY(nl_spill_read(cursor->spill, cursor->chunk++, exec->query->memory, &cursor->batch));
    uint32_t count = cursor->batch.row_count;
    if (count > cursor->entry_capacity) {
        nl_sort_entry *grown = realloc(cursor->entries, count * sizeof *grown);
        if (!grown) return nl_out_of_memory(count * sizeof *grown);
        cursor->entries = grown;
        cursor->entry_capacity = count;
    }
    uint8_t **rows = malloc(sizeof(uint8_t *) * count);
    if (!rows) return nl_out_of_memory(sizeof(uint8_t *) * count);
    nl_status status = nl_row_store_add(&cursor->store, count, rows);
    if (!status) status = nl_rows_scatter(&sorter->layout, 0, cursor->batch.columns, column_count, NL_ALL_ROWS(count), rows, &cursor->store, false);
    const nl_string_view *keys = cursor->batch.columns[column_count].values;
    const uint64_t *sequences = cursor->batch.columns[column_count + 1].values;
    const uint32_t *lengths = cursor->batch.columns[column_count + 2].values;
    for (uint32_t i = 0; i < count && !status; i++) {
        const uint8_t *key = (const uint8_t *)nl_view_data(&keys[i]);
        *(nl_sort_header *)(void *)rows[i] = (nl_sort_header){
            .sequence = sequences[i], .key = keys[i].length > 8 ? key : NULL, .key_length = keys[i].length, .partition_length = lengths[i]};
        cursor->entries[i] = (nl_sort_entry){.prefix = nl_sort_prefix(key, keys[i].length), .row = rows[i]};
    }
    free(rows);
    if (status) return status;
    cursor->at = cursor->entries;
    cursor->end = cursor->entries + count;
    return NULL;
}

static bool is_before(const nl_sorted_range *reader, uint32_t a, uint32_t b)
{
    return nl_sort_compare(reader->cursors[a].at, reader->cursors[b].at) < 0;
}

static void sift_down(nl_sorted_range *reader, uint32_t i)
{
    uint32_t *heap = reader->heap;
    for (;;) {
        uint32_t least = i;
        for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < reader->heap_count; child++)
            if (is_before(reader, heap[child], heap[least])) least = child;
        if (least == i) return;
        uint32_t swap = heap[i];
        heap[i] = heap[least];
        heap[least] = swap;
        i = least;
    }
}

static void make_heap(nl_sorted_range *reader)
{
    reader->heap_count = 0;
    for (uint32_t i = 0; i < reader->cursor_count; i++)
        if (reader->cursors[i].at < reader->cursors[i].end) reader->heap[reader->heap_count++] = i;
    for (uint32_t i = reader->heap_count; i > 0; i--)
        sift_down(reader, i - 1);
}

static nl_status refill(nl_sorted_range *reader)
{
    merge_cursor *cursor = &reader->cursors[reader->heap[0]];
    reader->needs_refill = false;
    if (cursor->spill) NL_TRY(fill_chunk(reader, cursor));
    if (cursor->at == cursor->end) reader->heap[0] = reader->heap[--reader->heap_count];
    if (reader->heap_count) sift_down(reader, 0);
    return NULL;
}

/* Up to `wanted` entries in order. Fewer when a chunk ends: its rows must be used before the next one replaces them. */
static nl_status take_entries(nl_sorted_range *reader, uint32_t wanted, uint32_t *count)
{
    *count = 0;
    if (reader->needs_refill) NL_TRY(refill(reader));
    while (*count < wanted && reader->heap_count > 0) {
        merge_cursor *cursor = &reader->cursors[reader->heap[0]];
        if (reader->heap_count == 1) {
            uint32_t part = (uint32_t)NL_MIN((uint64_t)(cursor->end - cursor->at), (uint64_t)(wanted - *count));
            memcpy(reader->taken + *count, cursor->at, part * sizeof *cursor->at);
            *count += part;
            cursor->at += part;
        } else {
            reader->taken[(*count)++] = *cursor->at++;
        }
        if (cursor->at == cursor->end) {
            reader->needs_refill = true;
            if (cursor->spill) return NULL;
            NL_TRY(refill(reader));
        } else {
            sift_down(reader, 0);
        }
    }
    return NULL;
}

void nl_sorted_range_free(nl_sorted_range *reader)
{
    if (!reader) return;
    for (uint32_t i = 0; i < reader->cursor_count; i++) {
        nl_row_store_clear(&reader->cursors[i].store);
        nl_batch_fini(&reader->cursors[i].batch);
        free(reader->cursors[i].entries);
    }
    free(reader->cursors);
    free(reader->heap);
    free(reader->taken);
    free(reader->rows);
    free(reader->last_key);
    free(reader);
}

static nl_status new_reader(nl_sorter *sorter, uint32_t cursor_count, nl_sorted_range **out)
{
    nl_sorted_range *reader = calloc(1, sizeof *reader);
    if (!reader) return nl_out_of_memory(sizeof *reader);
    reader->sorter = sorter;
    reader->batch_rows = nl_exec_batch_rows(sorter->exec);
    reader->left = (uint64_t)sorter->plan.keep;
    reader->cursors = calloc((size_t)cursor_count + 1, sizeof *reader->cursors);
    reader->heap = calloc((size_t)cursor_count + 1, sizeof *reader->heap);
    reader->taken = calloc(reader->batch_rows, sizeof *reader->taken);
    reader->rows = calloc(reader->batch_rows, sizeof *reader->rows);
    if (!reader->cursors || !reader->heap || !reader->taken || !reader->rows) {
        nl_sorted_range_free(reader);
        return nl_out_of_memory(sizeof *reader);
    }
    for (uint32_t i = 0; i < cursor_count; i++)
        nl_row_store_init(&reader->cursors[i].store, sorter->exec->query->memory, sorter->layout.row_bytes);
    reader->cursor_count = cursor_count;
    *out = reader;
    return NULL;
}

/* Where a worker's spilled runs begin and end in its file. */
typedef struct run_place {
    const nl_spill *spill;
    uint32_t start, stop;
} run_place;

static uint32_t count_spilled(const nl_sorter *sorter)
{
    uint32_t count = sorter->merged_run_count;
    for (uint32_t w = 0; w < sorter->exec->worker_count; w++)
        count += sorter->runs[w].spilled_run_count;
    return count;
}

static run_place place_of(const nl_sorter *sorter, uint32_t run)
{
    for (uint32_t w = 0; w < sorter->exec->worker_count; w++) {
        const nl_sort_run *own = &sorter->runs[w];
        if (run < own->spilled_run_count) return (run_place){own->spill, run ? own->stops[run - 1] : 0, own->stops[run]};
        run -= own->spilled_run_count;
    }
    return (run_place){sorter->merged, run ? sorter->merged_stops[run - 1] : 0, sorter->merged_stops[run]};
}

static nl_status open_spilled(nl_sorter *sorter, const run_place *places, uint32_t count, uint32_t more_cursors, nl_sorted_range **out)
{
    nl_sorted_range *reader = NULL;
    NL_TRY(new_reader(sorter, count + more_cursors, &reader));
    nl_status status = NULL;
    for (uint32_t i = 0; i < count && !status; i++) {
        merge_cursor *cursor = &reader->cursors[i];
        cursor->spill = places[i].spill;
        cursor->chunk = places[i].start;
        cursor->chunk_stop = places[i].stop;
        status = fill_chunk(reader, cursor);
    }
    if (status)
        nl_sorted_range_free(reader);
    else
        *out = reader;
    return status;
}

/* Merges runs [first, first + count) of `places` into one more run of `target`. */
static nl_status merge_runs(nl_sorter *sorter, const run_place *places, uint32_t count, nl_spill **target, uint32_t **stops, uint32_t *run_count)
{
    nl_sorted_range *reader = NULL;
    NL_TRY(open_spilled(sorter, places, count, 0, &reader));
    make_heap(reader);
    nl_status status = NULL;
    for (uint32_t taken = 1; taken > 0 && !status;) {
        status = take_entries(reader, reader->batch_rows, &taken);
        if (!status && taken > 0) status = nl_sorter_write(sorter, reader->taken, taken, target);
    }
    if (!status) status = nl_sorter_note_run(*target, stops, run_count);
    nl_sorted_range_free(reader);
    return status;
}

/* When some runs went to disk, all go there: merging needs the memory. A test merges both kinds. */
static nl_status spill_rest(nl_sorter *sorter)
{
    if (count_spilled(sorter) == 0 || sorter->exec->query->force_spill) return NULL;
    for (uint32_t w = 0; w < sorter->exec->worker_count; w++)
        if (sorter->runs[w].count) NL_TRY(nl_sorter_spill_run(sorter, &sorter->runs[w]));
    return NULL;
}

static uint32_t fan_in_of(const nl_sorter *sorter)
{
    return nl_memory_limit(sorter->exec->query->memory) < SMALL_BUDGET_MAX ? FAN_IN_SMALL : FAN_IN_MAX;
}

/* The same for the runs of one worker. */
static nl_status reduce_own_runs(nl_sorter *sorter, nl_sort_run *run, uint32_t fan_in)
{
    while (run->spilled_run_count > fan_in) {
        run_place places[FAN_IN_MAX];
        nl_spill *target = NULL;
        uint32_t *stops = NULL;
        uint32_t run_count = 0;
        nl_status status = NULL;
        for (uint32_t i = 0; i < run->spilled_run_count && !status; i += fan_in) {
            const uint32_t count = NL_MIN(fan_in, run->spilled_run_count - i);
            for (uint32_t k = 0; k < count; k++)
                places[k] = (run_place){run->spill, i + k ? run->stops[i + k - 1] : 0, run->stops[i + k]};
            status = merge_runs(sorter, places, count, &target, &stops, &run_count);
        }
        if (status) {
            nl_spill_free(target);
            free(stops);
            return status;
        }
        nl_spill_free(run->spill);
        free(run->stops);
        run->spill = target;
        run->stops = stops;
        run->spilled_run_count = run_count;
    }
    return NULL;
}

/* Passes over all runs until few enough are left. */
static nl_status reduce_runs(nl_sorter *sorter)
{
    const uint32_t fan_in = fan_in_of(sorter);
    while (count_spilled(sorter) > fan_in) {
        uint32_t count = count_spilled(sorter);
        run_place *places = malloc(sizeof *places * count);
        if (!places) return nl_out_of_memory(sizeof *places * count);
        for (uint32_t i = 0; i < count; i++)
            places[i] = place_of(sorter, i);
        nl_spill *target = NULL;
        uint32_t *stops = NULL;
        uint32_t run_count = 0;
        nl_status status = NULL;
        for (uint32_t i = 0; i < count && !status; i += fan_in)
            status = merge_runs(sorter, places + i, NL_MIN(fan_in, count - i), &target, &stops, &run_count);
        free(places);
        if (status) {
            nl_spill_free(target);
            free(stops);
            return status;
        }
        for (uint32_t w = 0; w < sorter->exec->worker_count; w++) {
            nl_spill_free(sorter->runs[w].spill);
            sorter->runs[w].spill = NULL;
            sorter->runs[w].spilled_run_count = 0;
        }
        nl_spill_free(sorter->merged);
        free(sorter->merged_stops);
        sorter->merged = target;
        sorter->merged_stops = stops;
        sorter->merged_run_count = run_count;
    }
    return NULL;
}

/* The first of a run's entries that does not lie before `split`. */
static uint64_t lower_bound(const nl_sort_run *run, const nl_sort_entry *split, bool by_partition)
{
    uint64_t low = 0, high = run->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int order = by_partition ? nl_sort_compare_partitions(&run->entries[middle], split) : nl_sort_compare(&run->entries[middle], split);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How many ranges `total` rows are worth. Parts become files: they are worth it only when they are large. */
static uint32_t range_count_of(const nl_sorter *sorter, uint64_t total)
{
    const uint64_t worker_count = sorter->exec->worker_count;
    if (sorter->plan.is_one_range || sorter->plan.keep < INT64_MAX) return 1;
    if (sorter->plan.parts == NL_SORT_RANGES) return (uint32_t)NL_MIN(total / (4 * (uint64_t)nl_exec_batch_rows(sorter->exec)) + 1, 8 * worker_count);
    return (uint32_t)NL_MIN(total / PART_ROWS_MIN + 1, worker_count);
}

static nl_status cut_ranges(nl_sorter *sorter)
{
    uint32_t worker_count = sorter->exec->worker_count;
    const nl_sort_run *largest = &sorter->runs[0];
    uint64_t total = 0;
    for (uint32_t w = 0; w < worker_count; w++) {
        total += sorter->runs[w].count;
        if (sorter->runs[w].count > largest->count) largest = &sorter->runs[w];
    }
    sorter->range_count = range_count_of(sorter, total);
    sorter->bounds = calloc((size_t)(sorter->range_count + 1) * worker_count, sizeof(uint64_t));
    if (!sorter->bounds) return nl_out_of_memory(sorter->range_count * sizeof(uint64_t));
    for (uint32_t range = 1; range <= sorter->range_count; range++) {
        const nl_sort_entry *split = range < sorter->range_count ? &largest->entries[largest->count * range / sorter->range_count] : NULL;
        for (uint32_t w = 0; w < worker_count; w++) {
            const nl_sort_run *run = &sorter->runs[w];
            sorter->bounds[range * worker_count + w] = split ? lower_bound(run, split, sorter->plan.partition_count > 0) : run->count;
        }
    }
    return NULL;
}

/* Is each worker's part what it has brought itself? Not when all of it is little. */
static bool keeps_own_rows(const nl_sorter *sorter)
{
    uint64_t total = 0;
    if (sorter->plan.parts != NL_SORT_OWN_ROWS) return false;
    for (uint32_t w = 0; w < sorter->exec->worker_count; w++)
        total += sorter->runs[w].added_count;
    return total >= OWN_ROWS_MIN;
}

nl_status nl_sorter_prepare(nl_sorter *sorter)
{
    const uint32_t worker_count = sorter->exec->worker_count;
    sorter->has_own_rows = keeps_own_rows(sorter);
    NL_TRY(spill_rest(sorter));
    if (sorter->has_own_rows) { /* the workers merge at once and share what one may read at once */
        for (uint32_t w = 0; w < worker_count; w++)
            NL_TRY(reduce_own_runs(sorter, &sorter->runs[w], NL_MAX(fan_in_of(sorter) / worker_count, 2u)));
    } else {
        NL_TRY(reduce_runs(sorter));
    }
    sorter->is_spilled = count_spilled(sorter) > 0;
    sorter->range_count = sorter->has_own_rows ? worker_count : 1;
    return sorter->is_spilled || sorter->has_own_rows ? NULL : cut_ranges(sorter);
}

uint32_t nl_sorter_range_count(const nl_sorter *sorter)
{
    return sorter->range_count;
}

/* What worker `worker` has brought, in memory and on disk. */
static nl_status open_own(nl_sorter *sorter, uint32_t worker, nl_sorted_range **out)
{
    const nl_sort_run *run = &sorter->runs[worker];
    run_place places[FAN_IN_MAX];
    for (uint32_t i = 0; i < run->spilled_run_count; i++)
        places[i] = (run_place){run->spill, i ? run->stops[i - 1] : 0, run->stops[i]};
    NL_TRY(open_spilled(sorter, places, run->spilled_run_count, 1, out));
    merge_cursor *cursor = &(*out)->cursors[run->spilled_run_count];
    cursor->at = run->entries;
    cursor->end = run->entries ? run->entries + run->count : NULL;
    return NULL;
}

static nl_status open_range(nl_sorter *sorter, uint32_t range, nl_sorted_range **out)
{
    uint32_t worker_count = sorter->exec->worker_count;
    uint32_t spilled_count = sorter->is_spilled ? count_spilled(sorter) : 0;
    run_place places[FAN_IN_MAX];
    for (uint32_t i = 0; i < spilled_count; i++)
        places[i] = place_of(sorter, i);
    NL_TRY(open_spilled(sorter, places, spilled_count, worker_count, out));
    for (uint32_t w = 0; w < worker_count; w++) {
        const nl_sort_run *run = &sorter->runs[w];
        merge_cursor *cursor = &(*out)->cursors[spilled_count + w];
        uint64_t start = sorter->is_spilled ? 0 : sorter->bounds[range * worker_count + w];
        uint64_t stop = sorter->is_spilled ? run->count : sorter->bounds[(range + 1) * worker_count + w];
        cursor->at = run->entries ? run->entries + start : NULL;
        cursor->end = run->entries ? run->entries + stop : NULL;
    }
    return NULL;
}

nl_status nl_sorter_open(nl_sorter *sorter, uint32_t range, nl_sorted_range **out)
{
    nl_sorted_range *reader = NULL;
    NL_TRY(sorter->has_own_rows ? open_own(sorter, range, &reader) : open_range(sorter, range, &reader));
    make_heap(reader);
    *out = reader;
    return NULL;
}

static nl_status remember_last(nl_sorted_range *reader, const nl_sort_entry *entry)
{
    const nl_sort_header *header = nl_sort_header_of(entry);
    if (header->key && header->key_length > reader->last_capacity) {
        uint8_t *grown = realloc(reader->last_key, header->key_length);
        if (!grown) return nl_out_of_memory(header->key_length);
        reader->last_key = grown;
        reader->last_capacity = header->key_length;
    }
    if (header->key) memcpy(reader->last_key, header->key, header->key_length);
    reader->last_header = *header;
    reader->last_header.key = header->key ? reader->last_key : NULL;
    reader->last = (nl_sort_entry){.prefix = entry->prefix, .row = (uint8_t *)&reader->last_header};
    reader->has_last = true;
    return NULL;
}

static void find_breaks(const nl_sorted_range *reader, uint32_t count, uint8_t *breaks)
{
    for (uint32_t i = 0; i < count; i++) {
        const nl_sort_entry *before = i ? &reader->taken[i - 1] : &reader->last;
        bool is_first = i == 0 && !reader->has_last;
        bool is_new_key = is_first || nl_sort_compare_keys(before, &reader->taken[i]) != 0;
        bool is_new_partition = is_new_key && (is_first || nl_sort_compare_partitions(before, &reader->taken[i]) != 0);
        breaks[i] = (uint8_t)(is_new_key * NL_SORT_NEW_KEY + is_new_partition * NL_SORT_NEW_PARTITION);
    }
}

/* A heap that keeps all strings of the rows just taken alive. */
static nl_status join_heaps(const nl_sorted_range *reader, nl_heap **out)
{
    const nl_sorter *sorter = reader->sorter;
    nl_heap *heap = NULL;
    NL_TRY(nl_heap_new(sorter->exec->query->memory, &heap));
    nl_status status = NULL;
    for (uint32_t i = 0; i < reader->cursor_count && !status; i++)
        if (reader->cursors[i].store.heap) status = nl_heap_keep(heap, reader->cursors[i].store.heap);
    for (uint32_t w = 0; w < sorter->exec->worker_count && !status; w++)
        if (sorter->runs[w].store.heap) status = nl_heap_keep(heap, sorter->runs[w].store.heap);
    if (status)
        nl_heap_release(heap);
    else
        *out = heap;
    return status;
}

nl_status nl_sorted_range_next(nl_sorted_range *reader, nl_batch *batch, uint8_t *breaks)
{
    const nl_sorter *sorter = reader->sorter;
    uint32_t count = 0;
    NL_TRY(take_entries(reader, (uint32_t)NL_MIN((uint64_t)reader->batch_rows, reader->left), &count));
    if (count == 0) return NULL;
    reader->left -= count;
    for (uint32_t i = 0; i < count; i++)
        reader->rows[i] = reader->taken[i].row;
    nl_heap *heap = NULL;
    nl_status status = NULL;
    if (sorter->layout.has_heap) NL_TRY(join_heaps(reader, &heap));
    NL_GO(nl_batch_init(batch, sorter->plan.column_count, count));
    NL_GO(nl_rows_gather(&sorter->layout, 0, sorter->plan.column_count, reader->rows, count, heap, sorter->exec->query->memory, batch->columns));
    if (breaks) {
        find_breaks(reader, count, breaks);
        NL_GO(remember_last(reader, &reader->taken[count - 1]));
    }
done:
    nl_heap_release(heap);
    return status;
}
