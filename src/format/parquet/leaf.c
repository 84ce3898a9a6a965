/* format/parquet/leaf.c - the cursor: pages, skipping, dictionaries, and reading flat leaves. leaf_repeated.c reads the
 * repeated ones.
 */
#include "format/parquet/leaf.h"

#include <stdlib.h>

#include "base/limits.h"
#include "column/bits.h"
#include "format/parquet/gather.h"
#include "format/parquet/leaf_internal.h"
#include "format/parquet/reader_object.h"

#define DICTIONARY_BLOCK_BYTES (64u << 10)
/* A skip this long pays for reading the offset index, since pages can then be left out of what is fetched. */
#define LONG_SKIP_ROWS 32768u

/* The scratch buffer: dense values, stored forms and indices of one part of a batch, each with a value to spare. */
#define PART_ROWS     NL_BATCH_ROWS
#define SCRATCH_VALUE ((PART_ROWS + 4) * 16u)

static uint8_t *scratch_dense(const nl_leaf_cursor *cursor)
{
    return cursor->scratch->data;
}
static uint8_t *scratch_stored(const nl_leaf_cursor *cursor)
{
    return cursor->scratch->data + SCRATCH_VALUE;
}
static uint32_t *scratch_indices(const nl_leaf_cursor *cursor)
{
    return (uint32_t *)(void *)(cursor->scratch->data + 2u * SCRATCH_VALUE);
}

void nl_leaf_cursor_init(nl_leaf_cursor *cursor, nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf_index, nl_memory *memory,
                         nl_codec_context *context, uint64_t last_row)
{
    const nl_map_leaf *leaf = &reader->mapping.leaves[leaf_index];
    const nl_parquet_row_group *group = &reader->footer->row_groups[row_group];
    const nl_parquet_chunk *chunk = &group->chunks[leaf->ordinal];
    *cursor = (nl_leaf_cursor){
        .reader = reader,
        .leaf = leaf,
        .chunk = chunk,
        .leaf_index = leaf_index,
        .row_group = row_group,
        .memory = memory,
        .context = context,
        .group_rows = group->row_count,
        .last_row = last_row,
        .next_offset = chunk->start,
        .source = {.file = reader->file,
                   .memory = memory,
                   .kept = reader->kept,
                   .place = leaf->place,
                   .end = chunk->start + chunk->length,
                   .fetch_end = chunk->start + chunk->length,
                   .block_bytes = reader->options.read_block_bytes},
    };
}

void nl_leaf_cursor_fini(nl_leaf_cursor *cursor)
{
    nl_page_source_fini(&cursor->source);
    nl_values_fini(&cursor->values);
    nl_buffer_release(cursor->slots);
    nl_buffer_release(cursor->page_buffer);
    nl_buffer_release(cursor->spare_buffer);
    nl_buffer_release(cursor->scratch);
    if (cursor->dictionary != NULL) nl_shared_vector_release(cursor->dictionary);
    free(cursor->level_repetition);
    *cursor = (nl_leaf_cursor){0};
}

static const nl_page_slot *slots_of(const nl_leaf_cursor *cursor)
{
    return (const nl_page_slot *)(const void *)cursor->slots->data;
}

static nl_status load_slots(nl_leaf_cursor *cursor, bool need_all)
{
    if (cursor->slots != NULL) return NULL;
    NL_TRY(nl_reader_slots(cursor->reader, cursor->row_group, cursor->leaf_index, need_all, cursor->memory, &cursor->slots, &cursor->slot_count));
    if (cursor->slots == NULL) return NULL;
    /* Nothing is fetched beyond the page that holds the scan's last row. */
    const nl_page_slot *slots = slots_of(cursor);
    uint32_t last = cursor->slot_count - 1;
    while (last > 0 && slots[last].first_row > cursor->last_row) last--;
    cursor->source.fetch_end = NL_MIN(cursor->source.end, slots[last].offset + slots[last].bytes);
    if (cursor->stream_row == 0) return NULL;
    last = cursor->slot_count - 1;
    while (last > 0 && slots[last].first_row > cursor->stream_row) last--;
    cursor->source.stream_end = NL_MIN(cursor->source.end, slots[last].offset + slots[last].bytes);
    return NULL;
}

static nl_status start(nl_leaf_cursor *cursor, uint64_t row)
{
    if (cursor->is_started) return NULL;
    NL_TRY(nl_buffer_new(cursor->memory, 2u * SCRATCH_VALUE + PART_ROWS * sizeof(uint32_t) + 64, false, &cursor->scratch));
    if (cursor->leaf->node->max_repetition > 0) {
        cursor->level_repetition = malloc(2u * NL_LEVEL_BLOCK);
        if (cursor->level_repetition == NULL)
            return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 2 * NL_LEVEL_BLOCK), NL_P_INT("receivedBytes", 0));
        cursor->level_definition = cursor->level_repetition + NL_LEVEL_BLOCK;
    }
    if (row > 0 || cursor->stream_row > 0) NL_TRY(load_slots(cursor, row > 0));
    cursor->is_started = true;
    return NULL;
}

/* ---- Pages ---- */

/* Not one of the kept pages, which are paid for elsewhere. */
static bool is_own(const nl_leaf_cursor *cursor, const nl_buffer *buffer)
{
    return buffer != NULL && buffer->memory == cursor->memory;
}

static bool is_reusable(const nl_leaf_cursor *cursor, const nl_buffer *buffer, size_t bytes)
{
    /* Acquire: what other owners read from the buffer happened before it is written again. */
    return is_own(cursor, buffer) && buffer->size_bytes >= bytes && atomic_load_explicit(&buffer->references, memory_order_acquire) == 1;
}

/* Makes `next` (taken) the present buffer; the last one waits to be used again. */
static void change_buffer(nl_leaf_cursor *cursor, nl_buffer *next)
{
    nl_buffer *old = cursor->page_buffer;
    cursor->page_buffer = next;
    if (!is_own(cursor, old)) {
        nl_buffer_release(old);
        return;
    }
    nl_buffer_release(cursor->spare_buffer);
    cursor->spare_buffer = old;
}

/* A buffer nobody else looks at. Strings of earlier batches may still point into the last one, so there are two. */
static nl_status acquire_buffer(nl_leaf_cursor *cursor, size_t bytes)
{
    if (is_reusable(cursor, cursor->page_buffer, bytes)) return NULL;
    nl_buffer *next = NULL;
    if (is_reusable(cursor, cursor->spare_buffer, bytes)) {
        next = cursor->spare_buffer;
        cursor->spare_buffer = NULL;
    } else {
        nl_buffer_release(cursor->spare_buffer);
        cursor->spare_buffer = NULL;
        NL_TRY(nl_buffer_new(cursor->memory, bytes, false, &next));
    }
    change_buffer(cursor, next);
    return NULL;
}

nl_status nl_leaf_next_header(nl_leaf_cursor *cursor, nl_page_header *header, uint64_t *offset, bool *is_end)
{
    *is_end = false;
    if (cursor->slots != NULL) {
        *is_end = cursor->next_slot == cursor->slot_count;
        if (*is_end) return NULL;
        *offset = slots_of(cursor)[cursor->next_slot++].offset;
        NL_TRY(nl_page_source_header(&cursor->source, *offset, header));
        if (header->kind != NL_PAGE_DATA && header->kind != NL_PAGE_DATA_V2)
            return nl_parquet_corrupt(&cursor->source.place, "the offset index names a page that holds no data");
        return NULL;
    }
    do {
        *is_end = cursor->entries_met >= cursor->chunk->value_count || cursor->next_offset >= cursor->source.end;
        if (*is_end) return NULL;
        *offset = cursor->next_offset;
        NL_TRY(nl_page_source_header(&cursor->source, *offset, header));
        cursor->next_offset += (uint64_t)header->header_bytes + header->stored_bytes;
    } while (header->kind != NL_PAGE_DATA && header->kind != NL_PAGE_DATA_V2);
    cursor->entries_met += header->value_count;
    if (cursor->entries_met > cursor->chunk->value_count)
        return nl_parquet_corrupt(&cursor->source.place, "the pages hold more values than the column chunk announces");
    return NULL;
}

/* How many rows the page holds, when its header or the offset index says so. */
static void set_page_rows(nl_leaf_cursor *cursor, const nl_page_header *header)
{
    cursor->ends_at_row = header->kind == NL_PAGE_DATA_V2 || cursor->slots != NULL;
    cursor->page_rows = header->row_count;
    cursor->page_rows_met = 0;
    if (header->kind == NL_PAGE_DATA_V2 || cursor->slots == NULL) return;
    const nl_page_slot *slots = slots_of(cursor);
    const uint64_t end = cursor->next_slot < cursor->slot_count ? slots[cursor->next_slot].first_row : cursor->group_rows;
    cursor->page_rows = end - slots[cursor->next_slot - 1].first_row;
}

static nl_page_unpacking unpacking_of(const nl_leaf_cursor *cursor)
{
    return (nl_page_unpacking){
        .codec = nl_parquet_codec_of(cursor->chunk->codec), .context = cursor->context, .checks_crc = !cursor->reader->options.skips_checksums};
}

/* Has the page's bytes in page_buffer, for a page that is not kept yet; kept from now on in the form given, if there is room. */
static nl_status unpack_page(nl_leaf_cursor *cursor, const nl_page_header *header, const nl_parquet_place *place, nl_page_form form,
                             const uint8_t **unpacked)
{
    nl_page_source *source = &cursor->source;
    const uint8_t *stored = NULL;
    NL_TRY(nl_page_source_need(source, place->offset + header->header_bytes, header->stored_bytes, &stored));
    nl_buffer *kept = form == NL_PAGE_AS_IT_IS ? nl_page_source_room(source, header) : NULL;
    if (kept != NULL)
        change_buffer(cursor, kept);
    else
        NL_TRY(acquire_buffer(cursor, header->uncompressed_bytes));
    uint8_t *into = cursor->page_buffer->data + (kept != NULL ? NL_KEPT_PAGE_HEAD : 0);
    const nl_page_unpacking how = unpacking_of(cursor);
    NL_TRY(nl_page_unpack(header, stored, &how, place, into));
    if (kept != NULL) nl_page_source_keep(source, place->offset, header, kept);
    *unpacked = into;
    return NULL;
}

nl_status nl_leaf_open_page(nl_leaf_cursor *cursor, const nl_page_header *header, uint64_t offset)
{
    if (nl_parquet_codec_of(cursor->chunk->codec) == NL_CODEC_COUNT)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Column " NL_STR_FMT " of " NL_STR_FMT " is compressed with LZO, which nilas cannot read.",
                             NL_STR_ARG(cursor->leaf->place.column), NL_STR_ARG(cursor->leaf->place.path));
    const uint8_t *unpacked = NULL;
    const nl_parquet_node *node = cursor->leaf->node;
    nl_parquet_place place = cursor->leaf->place;
    place.offset = offset;
    nl_buffer *kept = nl_page_source_take(&cursor->source);
    if (kept != NULL) {
        change_buffer(cursor, kept);
        NL_TRY(nl_page_open(header, kept->data + NL_KEPT_PAGE_HEAD, node, &place, &cursor->page));
    } else {
        const nl_page_form form = cursor->source.kept != NULL ? nl_page_kept_form(header, node) : NL_PAGE_NOT_KEPT;
        NL_TRY(unpack_page(cursor, header, &place, form, &unpacked));
        NL_TRY(nl_page_open(header, unpacked, node, &place, &cursor->page));
        if (form == NL_PAGE_NARROW) nl_page_source_keep_narrow(&cursor->source, header, node, unpacked, &cursor->page);
    }
    cursor->entries_left = header->value_count;
    cursor->level_at = cursor->level_count = 0;
    set_page_rows(cursor, header);
    if (cursor->leaf->type == NULL) return NULL;
    if (header->is_narrow)
        nl_values_init_narrow(&cursor->values, node, cursor->page.values, &place);
    else
        NL_TRY(nl_values_init(&cursor->values, node, header->encoding, cursor->page.values, &place));
    cursor->is_dictionary_page = nl_values_is_dictionary(&cursor->values);
    return cursor->is_dictionary_page && cursor->dictionary == NULL ? nl_leaf_load_dictionary(cursor) : NULL;
}

/* A flat page has as many rows as values; the offset index, whose slot next_slot - 1 named it, must agree. */
static nl_status check_flat_page(const nl_leaf_cursor *cursor, const nl_page_header *header)
{
    if (header->kind == NL_PAGE_DATA_V2 && header->row_count != header->value_count)
        return nl_parquet_corrupt(&cursor->source.place, "a page of %u values in %u rows", header->value_count, header->row_count);
    if (cursor->slots == NULL) return NULL;
    const nl_page_slot *slots = slots_of(cursor);
    const uint32_t k = cursor->next_slot - 1;
    const uint64_t end = cursor->next_slot < cursor->slot_count ? slots[cursor->next_slot].first_row : cursor->group_rows;
    if (end - slots[k].first_row == header->value_count) return NULL;
    return nl_parquet_corrupt(&cursor->source.place, "a page of %u values where the offset index announces %llu", header->value_count,
                              (unsigned long long)(end - slots[k].first_row));
}

static nl_status damaged(const nl_leaf_cursor *cursor)
{
    return nl_parquet_corrupt(&cursor->page.place, "the levels of the page at this place are damaged or end too early");
}

static nl_status ends_early(const nl_leaf_cursor *cursor)
{
    return nl_parquet_corrupt(&cursor->source.place, "the column chunk ends before row %llu of %llu", (unsigned long long)cursor->row,
                              (unsigned long long)cursor->group_rows);
}

/* ---- Dictionaries ---- */

static nl_status check_dictionary(const nl_leaf_cursor *cursor, const nl_page_header *header, const nl_parquet_place *place)
{
    const uint32_t stored_bytes = cursor->leaf->conversion.from == NL_PARQUET_BYTE_ARRAY ? 4 : cursor->leaf->conversion.stored_bytes;
    if (header->encoding != NL_PARQUET_PLAIN && header->encoding != NL_PARQUET_PLAIN_DICTIONARY)
        return nl_parquet_corrupt(place, "a dictionary with encoding %d", (int)header->encoding);
    if (header->value_count > header->uncompressed_bytes / stored_bytes)
        return nl_parquet_corrupt(place, "a dictionary of %u values in %u bytes", header->value_count, header->uncompressed_bytes);
    return NULL;
}

static nl_status decode_dictionary(nl_leaf_cursor *cursor, uint32_t count, nl_values *values, nl_buffer *bytes, nl_vector *vector)
{
    const nl_conversion *conversion = &cursor->leaf->conversion;
    nl_buffer *stored = NULL;
    nl_status status = NULL;
    *vector = (nl_vector){.type = cursor->leaf->type, .encoding = NL_FLAT, .length = count};
    NL_GO(nl_buffer_new(cursor->memory, (size_t)count * conversion->out_bytes, false, &vector->values_buffer));
    vector->values = vector->values_buffer->data;
    if (conversion->needs_heap) {
        NL_GO(nl_heap_new(cursor->memory, &vector->heap));
        NL_GO(nl_heap_keep_buffer(vector->heap, bytes));
    }
    if (conversion->kind != NL_CONVERT_COPY && !conversion->is_raw)
        NL_GO(nl_buffer_new(cursor->memory, (size_t)count * conversion->stored_bytes, false, &stored));
    NL_GO(nl_convert_read(conversion, values, count, vector->heap, stored ? stored->data : NULL, vector->values_buffer->data));
done:
    nl_buffer_release(stored);
    if (status != NULL) nl_vector_fini(vector);
    return status;
}

/* The dictionary page's bytes: in *page, counted, from *unpacked on. */
static nl_status unpack_dictionary(nl_leaf_cursor *cursor, nl_page_source *source, const nl_page_header *header, const nl_parquet_place *place,
                                   nl_buffer **page, const uint8_t **unpacked)
{
    const uint8_t *stored = NULL;
    *page = nl_page_source_take(source);
    *unpacked = *page != NULL ? (*page)->data + NL_KEPT_PAGE_HEAD : NULL;
    if (*page != NULL) return NULL;
    NL_TRY(nl_page_source_need(source, place->offset + header->header_bytes, header->stored_bytes, &stored));
    nl_buffer *made = nl_page_source_room(source, header);
    const bool is_kept = made != NULL;
    if (!is_kept) NL_TRY(nl_buffer_new(cursor->memory, header->uncompressed_bytes, false, &made));
    uint8_t *into = made->data + (is_kept ? NL_KEPT_PAGE_HEAD : 0);
    const nl_page_unpacking how = unpacking_of(cursor);
    nl_status status = nl_page_unpack(header, stored, &how, place, into);
    if (status != NULL) {
        nl_buffer_release(made);
        return status;
    }
    if (is_kept) nl_page_source_keep(source, place->offset, header, made);
    *page = made;
    *unpacked = into;
    return NULL;
}

static nl_status open_dictionary(nl_leaf_cursor *cursor, nl_page_source *source, nl_vector *vector)
{
    nl_page_header header;
    const uint8_t *unpacked = NULL;
    nl_parquet_place place = cursor->leaf->place;
    place.offset = cursor->chunk->start;
    NL_TRY(nl_page_source_header(source, place.offset, &header));
    if (header.kind != NL_PAGE_DICTIONARY) return nl_parquet_corrupt(&place, "dictionary-encoded pages, but the chunk has no dictionary");
    NL_TRY(check_dictionary(cursor, &header, &place));
    nl_buffer *bytes = NULL;
    NL_TRY(unpack_dictionary(cursor, source, &header, &place, &bytes, &unpacked));
    nl_page page;
    nl_values values = {0};
    nl_status status = nl_page_open(&header, unpacked, cursor->leaf->node, &place, &page);
    if (status == NULL) status = nl_values_init(&values, cursor->leaf->node, NL_PARQUET_PLAIN, page.values, &place);
    if (status == NULL) status = decode_dictionary(cursor, header.value_count, &values, bytes, vector);
    nl_values_fini(&values);
    nl_buffer_release(bytes);
    return status;
}

/* From the block that was fetched last when it holds the dictionary too; else with a block of its own, so that the
 * pages being read stay. */
static nl_status read_dictionary(nl_leaf_cursor *cursor, nl_vector *vector)
{
    const nl_page_source *fetched = &cursor->source;
    const nl_parquet_chunk *chunk = cursor->chunk;
    const bool is_there = chunk->dictionary_offset != 0 && chunk->start >= fetched->block_start &&
                          chunk->data_offset <= fetched->block_start + fetched->block_length;
    if (is_there) return open_dictionary(cursor, &cursor->source, vector);
    nl_page_source source = cursor->source;
    source.block = source.kept_page = NULL;
    source.block_length = 0;
    source.block_bytes = DICTIONARY_BLOCK_BYTES;
    nl_status status = open_dictionary(cursor, &source, vector);
    nl_page_source_fini(&source);
    return status;
}

nl_status nl_leaf_load_dictionary(nl_leaf_cursor *cursor)
{
    nl_parquet_reader *reader = cursor->reader;
    nl_mutex_lock(&reader->mutex);
    nl_shared_chunk *shared = &reader->groups[cursor->row_group].chunks[cursor->leaf_index];
    if (shared->dictionary != NULL) cursor->dictionary = nl_shared_vector_retain(shared->dictionary);
    nl_mutex_unlock(&reader->mutex);
    if (cursor->dictionary != NULL) return NULL;

    nl_vector vector = {0};
    NL_TRY(read_dictionary(cursor, &vector));
    nl_shared_vector *made = nl_shared_vector_new(&vector);
    if (made == NULL) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P_INT("receivedBytes", 0));
    /* Another scan may have been faster; everybody uses the first, so that its identity is the chunk's. */
    nl_mutex_lock(&reader->mutex);
    if (shared->dictionary == NULL)
        shared->dictionary = nl_shared_vector_retain(made);
    cursor->dictionary = nl_shared_vector_retain(shared->dictionary);
    nl_mutex_unlock(&reader->mutex);
    nl_shared_vector_release(made);
    return NULL;
}

/* ---- Skipping flat leaves ---- */

static nl_status skip_in_page(nl_leaf_cursor *cursor, uint32_t count)
{
    uint64_t present = 0;
    if (!nl_levels_skip(&cursor->page.definition, count, &present)) return damaged(cursor);
    if (cursor->leaf->type != NULL && present > 0) NL_TRY(nl_values_skip(&cursor->values, present));
    cursor->entries_left -= count;
    cursor->row += count;
    return NULL;
}

bool nl_leaf_jump(nl_leaf_cursor *cursor, uint64_t row)
{
    const nl_page_slot *slots = slots_of(cursor);
    uint32_t low = cursor->next_slot;
    uint32_t high = cursor->slot_count;
    if (low == high || slots[low].first_row > row) return false;
    while (high - low > 1) { /* slots[low].first_row <= row */
        const uint32_t middle = low + (high - low) / 2;
        if (slots[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    cursor->next_slot = low;
    cursor->row = slots[low].first_row;
    cursor->entries_left = 0;
    cursor->level_at = cursor->level_count = 0;
    return true;
}

/* Starts the page that holds `row`, stepping over those before it by their headers. */
static nl_status open_flat_page(nl_leaf_cursor *cursor, uint64_t row)
{
    nl_page_header header;
    uint64_t offset = 0;
    bool is_end = false;
    if (cursor->slots != NULL) (void)nl_leaf_jump(cursor, row);
    for (;;) {
        NL_TRY(nl_leaf_next_header(cursor, &header, &offset, &is_end));
        if (is_end) return ends_early(cursor);
        NL_TRY(check_flat_page(cursor, &header));
        if (row - cursor->row < header.value_count) break;
        cursor->row += header.value_count;
    }
    return nl_leaf_open_page(cursor, &header, offset);
}

static nl_status skip_flat(nl_leaf_cursor *cursor, uint64_t row)
{
    while (cursor->row < row) {
        const uint64_t left = row - cursor->row;
        if (cursor->entries_left == 0) {
            NL_TRY(open_flat_page(cursor, row));
        } else if (left >= cursor->entries_left) { /* the page is done with; nothing in it is decoded */
            cursor->row += cursor->entries_left;
            cursor->entries_left = 0;
        } else {
            NL_TRY(skip_in_page(cursor, (uint32_t)left));
        }
    }
    return NULL;
}

nl_status nl_leaf_skip_to(nl_leaf_cursor *cursor, uint64_t row)
{
    NL_ASSERT(row >= cursor->row);
    NL_TRY(start(cursor, row));
    if (cursor->slots == NULL && row - cursor->row > LONG_SKIP_ROWS && cursor->chunk->offset_index_length > 0) {
        NL_TRY(load_slots(cursor, false));
        if (cursor->slots != NULL) { /* slots of pages already met are behind us */
            const nl_page_slot *slots = slots_of(cursor);
            while (cursor->next_slot < cursor->slot_count && slots[cursor->next_slot].offset < cursor->next_offset) cursor->next_slot++;
        }
    }
    if (row == cursor->row) return NULL;
    if (cursor->leaf->node->max_repetition > 0) return nl_leaf_skip_repeated(cursor, row);
    return skip_flat(cursor, row);
}

/* ---- Reading flat leaves ---- */

static nl_status ensure(nl_leaf_cursor *cursor, nl_buffer **buffer, size_t bytes, bool is_zeroed)
{
    return *buffer != NULL ? NULL : nl_buffer_new(cursor->memory, bytes, is_zeroed, buffer);
}

/* Levels of the next `count` rows: validity bits, and the levels themselves where structs need them. */
static nl_status read_validity(nl_leaf_cursor *cursor, uint32_t count, nl_leaf_sink *sink, uint32_t *present)
{
    const uint16_t max = cursor->leaf->node->max_definition;
    const uint32_t start_row = sink->row_count;
    *present = count;
    if (max == 0) return NULL;
    NL_TRY(ensure(cursor, &sink->validity, sink->capacity / 8 + 16, true));
    if (max == 1 && !sink->wants_definitions)
        return nl_levels_read_bits(&cursor->page.definition, sink->validity->data, start_row, count, present) ? NULL : damaged(cursor);
    NL_TRY(ensure(cursor, &sink->definitions, sink->capacity, false));
    uint8_t *levels = sink->definitions->data + start_row;
    if (!nl_levels_read(&cursor->page.definition, levels, count)) return damaged(cursor);
    *present = nl_bits_of_levels(levels, (uint8_t)max, sink->validity->data, start_row, count);
    return NULL;
}

nl_status nl_leaf_keep_bytes(nl_leaf_cursor *cursor, nl_heap **heap)
{
    const nl_conversion *conversion = &cursor->leaf->conversion;
    const bool needs_room = conversion->is_raw && cursor->values.encoding != NL_PARQUET_PLAIN && !cursor->is_dictionary_page;
    if (!conversion->needs_heap && !needs_room) return NULL;
    if (*heap == NULL) NL_TRY(nl_heap_new(cursor->memory, heap));
    if (cursor->is_dictionary_page) return nl_heap_keep(*heap, cursor->dictionary->vector.heap);
    return conversion->needs_heap ? nl_heap_keep_buffer(*heap, cursor->page_buffer) : NULL;
}

nl_status nl_leaf_read_values(nl_leaf_cursor *cursor, uint32_t count, nl_heap **heap, void *out)
{
    NL_ASSERT(count <= PART_ROWS);
    if (count == 0) return NULL;
    NL_TRY(nl_leaf_keep_bytes(cursor, heap));
    if (!cursor->is_dictionary_page) return nl_convert_read(&cursor->leaf->conversion, &cursor->values, count, *heap, scratch_stored(cursor), out);
    uint32_t *indices = scratch_indices(cursor);
    NL_TRY(nl_values_read_indices(&cursor->values, count, cursor->dictionary->vector.length, indices));
    nl_gather_values(cursor->dictionary->vector.values, cursor->leaf->conversion.out_bytes, indices, count, out);
    return NULL;
}

/* Codes so far become values: the chunk goes on without its dictionary. */
static nl_status codes_to_values(nl_leaf_cursor *cursor, nl_leaf_sink *sink)
{
    const uint32_t width = cursor->leaf->conversion.out_bytes;
    const nl_vector *dictionary = &cursor->dictionary->vector;
    NL_TRY(ensure(cursor, &sink->values, (size_t)sink->capacity * width, true));
    if (cursor->leaf->conversion.needs_heap) {
        if (sink->heap == NULL) NL_TRY(nl_heap_new(cursor->memory, &sink->heap));
        NL_TRY(nl_heap_keep(sink->heap, dictionary->heap));
    }
    if (dictionary->length > 0) {
        nl_gather_values(dictionary->values, width, (const uint32_t *)(const void *)sink->codes->data, sink->row_count, sink->values->data);
        for (uint32_t row = 0; sink->null_count > 0 && row < sink->row_count; row++) {
            if (!nl_bit_get(sink->validity->data, row)) memset(sink->values->data + (size_t)row * width, 0, width);
        }
    }
    sink->mode = NL_SINK_FLAT;
    return NULL;
}

bool nl_leaf_takes_codes(const nl_leaf_cursor *cursor, const nl_leaf_sink *sink)
{
    if (!cursor->is_dictionary_page || !sink->allows_codes || sink->mode == NL_SINK_FLAT) return false;
    return cursor->leaf->conversion.to == NL_PHYS_STRING || cursor->dictionary->vector.length <= cursor->reader->options.dictionary_values_max;
}

static nl_status read_codes(nl_leaf_cursor *cursor, uint32_t count, uint32_t present, nl_leaf_sink *sink)
{
    NL_TRY(ensure(cursor, &sink->codes, (size_t)sink->capacity * sizeof(uint32_t), false));
    sink->mode = NL_SINK_CODES;
    uint32_t *codes = (uint32_t *)(void *)sink->codes->data;
    const uint32_t length = cursor->dictionary->vector.length;
    if (present == count) return nl_values_read_indices(&cursor->values, count, length, codes + sink->row_count);
    uint32_t *dense = (uint32_t *)(void *)scratch_dense(cursor);
    NL_TRY(nl_values_read_indices(&cursor->values, present, length, dense));
    nl_spread_values(dense, sizeof(uint32_t), sink->validity->data, sink->row_count, count, codes);
    return NULL;
}

static nl_status read_part(nl_leaf_cursor *cursor, uint32_t count, nl_leaf_sink *sink)
{
    uint32_t present = 0;
    NL_TRY(read_validity(cursor, count, sink, &present));
    if (cursor->leaf->type == NULL) return NULL;
    if (nl_leaf_takes_codes(cursor, sink)) {
        NL_TRY(read_codes(cursor, count, present, sink));
    } else {
        const uint32_t width = cursor->leaf->conversion.out_bytes;
        if (sink->mode == NL_SINK_CODES) NL_TRY(codes_to_values(cursor, sink));
        sink->mode = NL_SINK_FLAT;
        NL_TRY(ensure(cursor, &sink->values, (size_t)sink->capacity * width, false));
        if (present == count) {
            NL_TRY(nl_leaf_read_values(cursor, count, &sink->heap, sink->values->data + (size_t)sink->row_count * width));
        } else {
            NL_TRY(nl_leaf_read_values(cursor, present, &sink->heap, scratch_dense(cursor)));
            nl_spread_values(scratch_dense(cursor), width, sink->validity->data, sink->row_count, count, sink->values->data);
        }
    }
    sink->null_count += count - present;
    return NULL;
}

nl_status nl_leaf_enter_page(nl_leaf_cursor *cursor)
{
    NL_TRY(start(cursor, cursor->row));
    while (cursor->entries_left == 0) NL_TRY(open_flat_page(cursor, cursor->row)); /* more than once where pages are empty */
    return NULL;
}

nl_status nl_leaf_read(nl_leaf_cursor *cursor, uint32_t row_count, nl_leaf_sink *sink)
{
    NL_ASSERT(sink->row_count + row_count <= sink->capacity);
    while (row_count > 0) {
        NL_TRY(nl_leaf_enter_page(cursor));
        uint32_t part = NL_MIN(row_count, cursor->entries_left);
        part = NL_MIN(part, PART_ROWS);
        NL_TRY(read_part(cursor, part, sink));
        sink->row_count += part;
        cursor->entries_left -= part;
        cursor->row += part;
        row_count -= part;
    }
    return NULL;
}

void nl_leaf_sink_fini(nl_leaf_sink *sink)
{
    nl_buffer_release(sink->values);
    nl_buffer_release(sink->codes);
    nl_buffer_release(sink->validity);
    nl_buffer_release(sink->definitions);
    nl_heap_release(sink->heap);
    *sink = (nl_leaf_sink){0};
}

nl_status nl_leaf_sink_finish(const nl_leaf_cursor *cursor, nl_leaf_sink *sink, nl_vector *vector)
{
    const nl_type *type = cursor->leaf->type;
    if (sink->allows_constant && sink->row_count > 0 && sink->null_count == sink->row_count) {
        nl_status status = nl_vector_new_null(vector, type, sink->row_count, cursor->memory);
        nl_leaf_sink_fini(sink);
        return status;
    }
    if (sink->mode == NL_SINK_EMPTY) { /* no rows */
        nl_leaf_sink_fini(sink);
        return nl_vector_new_flat(vector, type, 0, cursor->memory);
    }
    *vector = (nl_vector){.type = type, .encoding = NL_FLAT, .length = sink->row_count, .null_count = sink->null_count};
    if (sink->null_count > 0) {
        vector->validity_buffer = sink->validity;
        vector->validity = sink->validity->data;
        sink->validity = NULL;
    }
    if (sink->mode == NL_SINK_CODES) {
        vector->encoding = NL_DICTIONARY;
        vector->dictionary = nl_shared_vector_retain(cursor->dictionary);
        vector->values_buffer = sink->codes;
        vector->indices = (const uint32_t *)(const void *)sink->codes->data;
        sink->codes = NULL;
    } else {
        vector->values_buffer = sink->values;
        vector->values = sink->values->data;
        vector->heap = sink->heap;
        sink->values = NULL;
        sink->heap = NULL;
    }
    nl_leaf_sink_fini(sink);
    return NULL;
}
