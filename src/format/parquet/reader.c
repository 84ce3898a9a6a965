/* format/parquet/reader.c - the reader object: mapping, what scans share, offset indexes, estimates, prefetching. */
#include "format/parquet/reader.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/limits.h"
#include "format/parquet/reader_object.h"
#include "format/parquet/thrift.h"

#define BLOCK_BYTES_LOCAL     (512u << 10)
#define BLOCK_BYTES_REMOTE    (2u << 20) /* as storage streams: what is fetched together at first */
#define DICTIONARY_VALUES_MAX 4096u
/* A walk over page headers reads this much at each; local files answer small reads fast, others need large ones. */
#define WALK_BYTES_LOCAL 4096u

static bool is_remote(nl_str path)
{
    return nl_str_find(path, NL_STR("://"), 0) != NL_NOT_FOUND && !nl_str_starts_nocase(path, NL_STR("file:"));
}

nl_status nl_parquet_reader_open(nl_file *file, nl_parquet_footer *footer, const nl_type *wanted, const nl_parquet_read_options *options,
                                 nl_memory *memory, nl_parquet_reader **reader)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_parquet_reader *made = NL_NEW(arena, nl_parquet_reader);
    atomic_init(&made->references, 1);
    made->arena = arena;
    made->file = file;
    made->options = options != NULL ? *options : (nl_parquet_read_options){0};
    if (made->options.read_block_bytes == 0) made->options.read_block_bytes = is_remote(footer->path) ? BLOCK_BYTES_REMOTE : BLOCK_BYTES_LOCAL;
    if (made->options.dictionary_values_max == 0) made->options.dictionary_values_max = DICTIONARY_VALUES_MAX;
    made->groups = NL_NEW_ARRAY(arena, nl_group_state, footer->row_group_count);
    nl_status status = nl_arena_check(arena);
    if (status == NULL) status = nl_mapping_make(footer, wanted, &made->options, arena, &made->mapping);
    if (status != NULL) {
        nl_arena_free(arena);
        return status;
    }
    made->memory = memory != NULL ? nl_memory_retain(memory) : NULL;
    nl_piece_cache *cache = nl_piece_cache_find(memory);
    made->kept = nl_piece_cache_parts(cache, file);
    nl_piece_cache_release(cache);
    made->footer = nl_parquet_footer_retain(footer);
    nl_mutex_init(&made->mutex);
    *reader = made;
    return NULL;
}

nl_parquet_reader *nl_parquet_reader_retain(nl_parquet_reader *reader)
{
    atomic_fetch_add_explicit(&reader->references, 1, memory_order_relaxed);
    return reader;
}

void nl_parquet_reader_release(nl_parquet_reader *reader)
{
    /* Release pairs with the acquire of the last one, which frees what others have used. */
    if (reader == NULL || atomic_fetch_sub_explicit(&reader->references, 1, memory_order_acq_rel) != 1) return;
    nl_parquet_footer_release(reader->footer);
    nl_kept_object_release(reader->kept);
    if (reader->memory != NULL) nl_memory_release(reader->memory);
    nl_mutex_fini(&reader->mutex);
    nl_arena_free(reader->arena);
}

const nl_parquet_footer *nl_parquet_reader_footer(const nl_parquet_reader *reader)
{
    return reader->footer;
}

const nl_parquet_node *nl_parquet_reader_node(const nl_parquet_reader *reader, uint32_t column)
{
    NL_ASSERT(column < reader->mapping.column_count);
    return reader->mapping.columns[column].node;
}

/* ---- What scans of a row group share ---- */

nl_status nl_reader_group_open(nl_parquet_reader *reader, uint32_t row_group)
{
    NL_CHECK(row_group < reader->footer->row_group_count);
    nl_shared_chunk *chunks = calloc(reader->mapping.leaf_count + 1, sizeof(*chunks));
    if (chunks == NULL) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
    nl_mutex_lock(&reader->mutex);
    nl_group_state *group = &reader->groups[row_group];
    if (group->scan_count++ == 0) {
        group->chunks = chunks;
        chunks = NULL;
    }
    nl_mutex_unlock(&reader->mutex);
    free(chunks);
    return NULL;
}

void nl_reader_group_close(nl_parquet_reader *reader, uint32_t row_group)
{
    nl_shared_chunk *chunks = NULL;
    nl_mutex_lock(&reader->mutex);
    nl_group_state *group = &reader->groups[row_group];
    if (--group->scan_count == 0) {
        chunks = group->chunks;
        group->chunks = NULL;
    }
    nl_mutex_unlock(&reader->mutex);
    for (uint32_t i = 0; chunks != NULL && i < reader->mapping.leaf_count; i++) {
        nl_buffer_release(chunks[i].slots);
        if (chunks[i].dictionary != NULL) nl_shared_vector_release(chunks[i].dictionary);
    }
    free(chunks);
}

/* ---- Where pages lie ---- */

static bool read_location(nl_cursor *in, nl_page_slot *slot)
{
    nl_thrift_field field = {0};
    int64_t offset = -1;
    int32_t bytes = -1;
    int64_t first_row = -1;
    while (nl_thrift_next(in, &field)) {
        if (field.id == 1)
            (void)nl_thrift_i64(in, &field, &offset);
        else if (field.id == 2)
            (void)nl_thrift_i32(in, &field, &bytes);
        else if (field.id == 3)
            (void)nl_thrift_i64(in, &field, &first_row);
        else
            nl_thrift_skip(in, &field);
    }
    *slot = (nl_page_slot){.offset = (uint64_t)offset, .first_row = (uint64_t)first_row, .bytes = (uint32_t)bytes};
    return !in->has_failed && offset >= 0 && bytes > 0 && first_row >= 0;
}

static bool is_plausible(const nl_page_slot *slots, uint32_t i, const nl_parquet_chunk *chunk, uint64_t row_count)
{
    const nl_page_slot *slot = &slots[i];
    const uint64_t end = chunk->start + chunk->length;
    if (slot->offset < chunk->start || slot->offset > end || slot->bytes > end - slot->offset) return false;
    if (i == 0) return slot->first_row == 0;
    return slot->first_row > slots[i - 1].first_row && slot->first_row < row_count && slot->offset > slots[i - 1].offset;
}

static nl_status parse_offset_index(nl_cursor *in, const nl_parquet_chunk *chunk, uint64_t row_count, nl_memory *memory, nl_buffer **slots,
                                    uint32_t *slot_count)
{
    nl_thrift_field field = {0};
    uint32_t count = 0;
    while (nl_thrift_next(in, &field) && field.id != 1) nl_thrift_skip(in, &field);
    if (in->has_failed || field.id != 1 || !nl_thrift_list(in, &field, NL_THRIFT_STRUCT, &count) || count == 0) return NULL;
    nl_buffer *made = NULL;
    NL_TRY(nl_buffer_new(memory, (size_t)count * sizeof(nl_page_slot), false, &made));
    nl_page_slot *array = (nl_page_slot *)(void *)made->data;
    for (uint32_t i = 0; i < count; i++) {
        if (read_location(in, &array[i]) && is_plausible(array, i, chunk, row_count)) continue;
        nl_buffer_release(made); /* an index that cannot be true is left aside; the pages themselves are read */
        return NULL;
    }
    *slots = made;
    *slot_count = count;
    return NULL;
}

nl_status nl_offset_index_read(nl_file *file, const nl_parquet_chunk *chunk, uint64_t row_count, nl_memory *memory, nl_buffer **slots,
                               uint32_t *slot_count)
{
    *slots = NULL;
    *slot_count = 0;
    if (chunk->offset_index_length == 0 || chunk->offset_index_length > NL_PARQUET_FOOTER_BYTES_MAX) return NULL;
    nl_buffer *bytes = NULL;
    NL_TRY(nl_buffer_new(memory, (size_t)chunk->offset_index_length, false, &bytes));
    nl_status status = nl_file_read(file, chunk->offset_index_offset, (size_t)chunk->offset_index_length, bytes->data);
    if (status == NULL) {
        nl_cursor in = nl_cursor_over(bytes->data, bytes->size_bytes, NL_STR(""));
        status = parse_offset_index(&in, chunk, row_count, memory, slots, slot_count);
    }
    nl_buffer_release(bytes);
    return status;
}

static nl_status add_slot(nl_memory *memory, nl_buffer **slots, uint32_t count, const nl_page_slot *slot)
{
    const size_t needed = ((size_t)count + 1) * sizeof(*slot);
    if (*slots == NULL || (*slots)->size_bytes < needed) {
        nl_buffer *larger = NULL;
        NL_TRY(nl_buffer_new(memory, NL_MAX(needed * 2, (size_t)1024), false, &larger));
        if (count > 0) memcpy(larger->data, (*slots)->data, (size_t)count * sizeof(*slot));
        nl_buffer_release(*slots);
        *slots = larger;
    }
    memcpy((*slots)->data + (size_t)count * sizeof(*slot), slot, sizeof(*slot));
    return NULL;
}

/* Steps from header to header. A repeated leaf's v1 pages do not say how many rows they hold: then *is_known is false. */
static nl_status walk_pages(nl_page_source *source, const nl_parquet_chunk *chunk, uint64_t row_count, nl_buffer **slots, uint32_t *slot_count,
                            bool *is_known)
{
    uint64_t offset = chunk->start;
    uint64_t row = 0;
    while (row < row_count) {
        nl_page_header header;
        NL_TRY(nl_page_source_header(source, offset, &header));
        const uint64_t bytes = (uint64_t)header.header_bytes + header.stored_bytes;
        const bool is_data = header.kind == NL_PAGE_DATA || header.kind == NL_PAGE_DATA_V2;
        *is_known = header.kind != NL_PAGE_DATA || chunk->leaf->max_repetition == 0;
        if (!*is_known) return NULL;
        const uint32_t rows = header.kind == NL_PAGE_DATA_V2 ? header.row_count : header.value_count;
        if (is_data && rows > 0) {
            const nl_page_slot slot = {.offset = offset, .first_row = row, .bytes = (uint32_t)NL_MIN(bytes, (uint64_t)UINT32_MAX)};
            NL_TRY(add_slot(source->memory, slots, (*slot_count)++, &slot));
            row += rows;
        }
        offset += bytes;
    }
    return NULL;
}

/* The place of a chunk's slots among the parts that are kept: no page lies at either. */
static uint64_t place_of_slots(const nl_parquet_chunk *chunk, bool is_walked)
{
    return is_walked ? ~chunk->start : chunk->offset_index_offset;
}

static nl_buffer *find_kept_slots(const nl_parquet_reader *reader, const nl_parquet_chunk *chunk, bool need_all)
{
    if (reader->kept == NULL) return NULL;
    nl_buffer *found = chunk->offset_index_length > 0 ? nl_kept_object_find_part(reader->kept, place_of_slots(chunk, false)) : NULL;
    return found == NULL && need_all ? nl_kept_object_find_part(reader->kept, place_of_slots(chunk, true)) : found;
}

static void keep_slots(const nl_parquet_reader *reader, uint64_t place, const nl_buffer *slots, uint32_t slot_count)
{
    const size_t bytes = slot_count * sizeof(nl_page_slot);
    nl_buffer *copy = reader->kept != NULL && slots != NULL ? nl_kept_object_buffer(reader->kept, bytes) : NULL;
    if (copy == NULL) return;
    memcpy(copy->data, slots->data, bytes);
    (void)nl_kept_object_put_part(reader->kept, place, copy);
    nl_buffer_release(copy);
}

static nl_status find_slots(nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf, bool need_all, nl_memory *memory, nl_buffer **slots,
                            uint32_t *slot_count)
{
    const nl_parquet_row_group *group = &reader->footer->row_groups[row_group];
    const nl_map_leaf *map_leaf = &reader->mapping.leaves[leaf];
    const nl_parquet_chunk *chunk = &group->chunks[map_leaf->ordinal];
    *slots = find_kept_slots(reader, chunk, need_all);
    if (*slots != NULL) {
        *slot_count = (uint32_t)((*slots)->size_bytes / sizeof(nl_page_slot));
        return NULL;
    }
    NL_TRY(nl_offset_index_read(reader->file, chunk, group->row_count, memory, slots, slot_count));
    if (*slots != NULL) keep_slots(reader, place_of_slots(chunk, false), *slots, *slot_count);
    if (*slots != NULL || !need_all) return NULL;
    nl_page_source source = {.file = reader->file, .memory = memory, .place = map_leaf->place, .end = chunk->start + chunk->length};
    source.fetch_end = source.end;
    source.block_bytes = is_remote(reader->footer->path) ? reader->options.read_block_bytes : WALK_BYTES_LOCAL;
    bool is_known = true;
    nl_status status = walk_pages(&source, chunk, group->row_count, slots, slot_count, &is_known);
    nl_page_source_fini(&source);
    if (status != NULL || !is_known) {
        nl_buffer_release(*slots);
        *slots = NULL;
        *slot_count = 0;
    }
    keep_slots(reader, place_of_slots(chunk, true), *slots, *slot_count);
    return status;
}

nl_status nl_reader_slots(nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf, bool need_all, nl_memory *memory, nl_buffer **slots,
                          uint32_t *slot_count)
{
    *slots = NULL;
    *slot_count = 0;
    nl_mutex_lock(&reader->mutex);
    nl_shared_chunk *shared = &reader->groups[row_group].chunks[leaf];
    if (shared->slots != NULL) {
        *slots = nl_buffer_retain(shared->slots);
        *slot_count = shared->slot_count;
    }
    nl_mutex_unlock(&reader->mutex);
    if (*slots != NULL) return NULL;
    NL_TRY(find_slots(reader, row_group, leaf, need_all, memory, slots, slot_count));
    if (*slots == NULL) return NULL;
    nl_mutex_lock(&reader->mutex);
    if (shared->slots == NULL) {
        shared->slots = nl_buffer_retain(*slots);
        shared->slot_count = *slot_count;
    }
    nl_mutex_unlock(&reader->mutex);
    return NULL;
}

/* ---- Estimates and hints ---- */

static const nl_parquet_chunk *chunk_of(const nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf)
{
    return &reader->footer->row_groups[row_group].chunks[reader->mapping.leaves[leaf].ordinal];
}

uint64_t nl_parquet_reader_decoded_bytes(const nl_parquet_reader *reader, uint32_t row_group, uint32_t column)
{
    NL_ASSERT(row_group < reader->footer->row_group_count);
    const nl_map_node *node = &reader->mapping.columns[column];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < node->leaf_count; i++) {
        const nl_parquet_chunk *chunk = chunk_of(reader, row_group, node->first_leaf + i);
        const nl_conversion *conversion = &reader->mapping.leaves[node->first_leaf + i].conversion;
        const uint64_t values = chunk->value_count * (conversion->out_bytes + 1u);
        bytes += values + (conversion->needs_heap ? chunk->uncompressed_bytes : 0);
    }
    return bytes;
}

uint64_t nl_parquet_reader_stored_bytes(const nl_parquet_reader *reader, uint32_t row_group, uint32_t column)
{
    NL_ASSERT(row_group < reader->footer->row_group_count);
    const nl_map_node *node = &reader->mapping.columns[column];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < node->leaf_count; i++) bytes += chunk_of(reader, row_group, node->first_leaf + i)->compressed_bytes;
    return bytes;
}

#define PREFETCH_RANGES_MAX 64u /* in one call, where storage can join neighbours into one request */

typedef struct prefetch_list {
    nl_file *file;
    nl_range ranges[PREFETCH_RANGES_MAX];
    uint32_t count;
} prefetch_list;

static void flush_prefetch(prefetch_list *list)
{
    if (list->count > 0) nl_file_prefetch(list->file, list->ranges, list->count);
    list->count = 0;
}

static void prefetch_column(const nl_parquet_reader *reader, uint32_t row_group, const nl_map_node *node, prefetch_list *list)
{
    for (uint32_t i = 0; i < node->leaf_count; i++) {
        const nl_parquet_chunk *chunk = chunk_of(reader, row_group, node->first_leaf + i);
        const nl_range range = {.offset = chunk->start, .length = NL_MIN(chunk->length, reader->options.read_block_bytes)};
        if (range.length == 0) continue;
        list->ranges[list->count++] = range;
        if (list->count == PREFETCH_RANGES_MAX) flush_prefetch(list);
    }
}

void nl_parquet_reader_prefetch(nl_parquet_reader *reader, uint32_t row_group, const uint32_t *columns, uint32_t column_count)
{
    NL_ASSERT(row_group < reader->footer->row_group_count);
    prefetch_list list = {.file = reader->file};
    if (columns == NULL) column_count = reader->mapping.column_count;
    for (uint32_t i = 0; i < column_count; i++)
        prefetch_column(reader, row_group, &reader->mapping.columns[columns != NULL ? columns[i] : i], &list);
    flush_prefetch(&list);
}

/* ---- Leaves for pruning ---- */

static bool is_prunable(const nl_map_leaf *leaf)
{
    return leaf->type != NULL && leaf->node->max_repetition == 0;
}

uint32_t nl_parquet_reader_leaf(const nl_parquet_reader *reader, uint32_t column)
{
    NL_ASSERT(column < reader->mapping.column_count);
    const nl_map_node *node = &reader->mapping.columns[column];
    return node->kind == NL_MAP_LEAF && is_prunable(&reader->mapping.leaves[node->leaf]) ? node->leaf : NL_PARQUET_NO_LEAF;
}

uint32_t nl_parquet_reader_leaf_by_id(const nl_parquet_reader *reader, int32_t field_id)
{
    for (uint32_t i = 0; i < reader->mapping.leaf_count; i++) {
        const nl_map_leaf *leaf = &reader->mapping.leaves[i];
        if (leaf->field_id == field_id && is_prunable(leaf)) return i;
    }
    return NL_PARQUET_NO_LEAF;
}
