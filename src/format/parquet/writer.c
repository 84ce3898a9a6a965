/* format/parquet/writer.c - batches gather for a moment, are encoded column by column (in parallel with a pool), and go
 * to the file row group by row group.
 */
#include "format/parquet/writer.h"

#include <stdlib.h>

#include "base/limits.h"
#include "format/parquet/page.h"
#include "format/parquet/thrift.h"
#include "format/parquet/write_footer.h"

/* With a pool, this many rows wait before columns are encoded, so that a task is worth handing out. */
#define PENDING_ROWS_MAX  (16u * NL_BATCH_ROWS)
#define PENDING_ROWS_MIN  256u /* of a batch, on the average */
#define PENDING_BYTES_MAX (16u << 20)
#define WRITER_BYTES   (16u << 10) /* of a writer's structures, about */
/* What ending the pages of a row group takes for a moment: compressors, and a page before and after. */
#define HEADROOM_BYTES (20u << 20)
/* A scarce budget does not lead to row groups below this. */
#define EARLY_GROUP_BYTES_MIN (4u << 20)
/* … or, with a small budget, this part of it. */
#define EARLY_GROUPS_PER_BUDGET 64u
#define EARLY_GROUP_BYTES_LEAST (256u << 10)

struct nl_parquet_writer {
    nl_output *output; /* owned until closed */
    nl_arena *arena;   /* structure; not this object */
    nl_memory *memory; /* counted */
    nl_parquet_write_options options;
    nl_write_schema schema;
    nl_column_writer *columns; /* owned; one per leaf */
    nl_batch *pending;         /* owned */
    uint32_t pending_count, pending_capacity;
    uint64_t pending_rows;
    size_t pending_bytes;
    nl_list groups; /* of nl_written_group */
    uint64_t group_rows, row_count;
    nl_parquet_encoders *encoders;     /* borrowed: the caller's, or own_encoders */
    nl_parquet_encoders *own_encoders; /* owned */
    bool has_failed;
};

nl_parquet_write_options nl_parquet_write_options_default(void)
{
    return (nl_parquet_write_options){.codec = NL_PARQUET_ZSTD};
}

nl_status nl_parquet_codec_find(nl_str name, nl_parquet_codec *codec)
{
    static const struct {
        const char *name;
        nl_parquet_codec codec;
    } rows[] = {{"zstd", NL_PARQUET_ZSTD},       {"gzip", NL_PARQUET_GZIP},       {"snappy", NL_PARQUET_SNAPPY},
                {"lz4", NL_PARQUET_LZ4_HADOOP},  {"lz4_raw", NL_PARQUET_LZ4_RAW}, {"brotli", NL_PARQUET_BROTLI},
                {"uncompressed", NL_PARQUET_UNCOMPRESSED}, {"none", NL_PARQUET_UNCOMPRESSED}};
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        if (!nl_str_is_nocase(name, rows[i].name)) continue;
        *codec = rows[i].codec;
        return NULL;
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                         "Unsupported Parquet compression codec: " NL_STR_FMT " (known: zstd, gzip, snappy, lz4, lz4_raw, brotli, uncompressed)",
                         NL_STR_ARG(name));
}

static void fill_options(nl_parquet_write_options *options, nl_arena *arena)
{
    if (options->row_group_bytes == 0) options->row_group_bytes = 128ull << 20;
    if (options->row_group_rows_max == 0) options->row_group_rows_max = UINT64_MAX;
    if (options->page_bytes == 0) options->page_bytes = 1u << 20;
    options->page_bytes = NL_MIN(options->page_bytes, (uint64_t)NL_PARQUET_PAGE_BYTES_MAX / 2);
    if (options->page_rows_max == 0) options->page_rows_max = 20000;
    if (options->dictionary_bytes == 0) options->dictionary_bytes = 2u << 20;
    options->dictionary_bytes = NL_MIN(options->dictionary_bytes, (uint64_t)NL_PARQUET_PAGE_BYTES_MAX / 2);
    if (options->index_bytes_max == 0) options->index_bytes_max = 64;
    if (options->bloom_bytes_max == 0) options->bloom_bytes_max = 1u << 20;
    options->root_name = options->root_name.length > 0 ? nl_arena_str(arena, options->root_name) : NL_STR("table");
    options->created_by = options->created_by.length > 0 ? nl_arena_str(arena, options->created_by) : NL_STR("nilas version " NILAS_VERSION);
    nl_parquet_key_value *pairs = NL_NEW_ARRAY(arena, nl_parquet_key_value, options->key_value_count);
    for (uint32_t i = 0; i < options->key_value_count; i++)
        pairs[i] = (nl_parquet_key_value){.key = nl_arena_str(arena, options->key_values[i].key), .value = nl_arena_str(arena, options->key_values[i].value)};
    options->key_values = pairs;
}

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

static nl_status start_writer(nl_parquet_writer *writer, const nl_type *type, const nl_parquet_write_options *options)
{
    writer->options = options != NULL ? *options : nl_parquet_write_options_default();
    if (nl_parquet_codec_of(writer->options.codec) == NL_CODEC_COUNT)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas cannot compress Parquet files with LZO.");
    fill_options(&writer->options, writer->arena);
    NL_TRY(nl_write_schema_make(type, &writer->options, writer->arena, &writer->schema));
    writer->columns = calloc(writer->schema.leaf_count + 1u, sizeof(*writer->columns));
    if (writer->columns == NULL) return no_memory(0);
    if (writer->options.encoders == NULL) NL_TRY(nl_parquet_encoders_new(writer->memory, &writer->own_encoders));
    writer->encoders = writer->own_encoders != NULL ? writer->own_encoders : writer->options.encoders;
    for (uint32_t i = 0; i < writer->schema.leaf_count; i++)
        NL_TRY(nl_column_writer_init(&writer->columns[i], &writer->schema.leaves[i], &writer->options, writer->memory));
    return nl_output_write(writer->output, "PAR1", 4);
}

nl_status nl_parquet_writer_create(nl_output *output, const nl_type *type, const nl_parquet_write_options *options, nl_memory *memory,
                                   nl_parquet_writer **writer)
{
    nl_parquet_writer *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        nl_output_abort(output);
        return no_memory(sizeof(*made));
    }
    made->output = output;
    made->memory = memory != NULL ? nl_memory_retain(memory) : NULL;
    made->arena = nl_arena_new(memory);
    nl_status status = start_writer(made, type, options);
    if (status != NULL) {
        nl_parquet_writer_abort(made);
        return status;
    }
    *writer = made;
    return NULL;
}

static void drop_pending(nl_parquet_writer *writer)
{
    for (uint32_t i = 0; i < writer->pending_count; i++) nl_batch_fini(&writer->pending[i]);
    writer->pending_count = 0;
    writer->pending_rows = 0;
    writer->pending_bytes = 0;
}

static void free_writer(nl_parquet_writer *writer)
{
    drop_pending(writer);
    free(writer->pending);
    for (uint32_t i = 0; writer->columns != NULL && i < writer->schema.leaf_count; i++) nl_column_writer_fini(&writer->columns[i]);
    free(writer->columns);
    nl_parquet_encoders_free(writer->own_encoders);
    nl_arena_free(writer->arena);
    if (writer->memory != NULL) nl_memory_release(writer->memory);
    free(writer);
}

void nl_parquet_writer_abort(nl_parquet_writer *writer)
{
    if (writer == NULL) return;
    nl_output_abort(writer->output);
    free_writer(writer);
}

/* ---- Encoding ---- */

typedef struct column_task {
    nl_parquet_writer *writer;
    nl_parquet_encoder *encoder;
} column_task;

static nl_status take_leaf(void *argument, uint32_t leaf, const nl_shredded *shredded)
{
    column_task *task = argument;
    return nl_column_writer_add(&task->writer->columns[leaf], task->encoder, shredded);
}

static nl_status encode_batch(column_task *task, uint32_t column, const nl_batch *batch)
{
    nl_parquet_writer *writer = task->writer;
    const nl_selection selection = nl_batch_selection(batch);
    return nl_shred(&task->encoder->shredder, &writer->schema, &writer->schema.columns[column], &batch->columns[column], selection, writer->memory,
                    take_leaf, task);
}

static nl_status encode_column(void *argument, uint64_t column)
{
    nl_parquet_writer *writer = argument;
    column_task task = {.writer = writer};
    if (writer->schema.columns[column].kind == NL_WRITE_NOTHING) return NULL;
    NL_TRY(nl_parquet_encoder_borrow(writer->encoders, &task.encoder));
    nl_status status = NULL;
    for (uint32_t i = 0; i < writer->pending_count && status == NULL; i++) status = encode_batch(&task, (uint32_t)column, &writer->pending[i]);
    nl_parquet_encoder_return(writer->encoders, task.encoder);
    return status;
}

static nl_status finish_leaf(void *argument, uint64_t leaf)
{
    nl_parquet_writer *writer = argument;
    nl_parquet_encoder *encoder = NULL;
    NL_TRY(nl_parquet_encoder_borrow(writer->encoders, &encoder));
    nl_status status = nl_column_writer_finish_chunk(&writer->columns[leaf], encoder);
    nl_parquet_encoder_return(writer->encoders, encoder);
    return status;
}

static nl_status for_each(nl_parquet_writer *writer, uint32_t count, nl_status (*run)(void *, uint64_t))
{
    if (writer->options.pool != NULL && count > 1) return nl_pool_for(writer->options.pool, count, run, writer);
    for (uint32_t i = 0; i < count; i++) NL_TRY(run(writer, i));
    return NULL;
}

static nl_status encode_pending(nl_parquet_writer *writer)
{
    if (writer->pending_count == 0) return NULL;
    nl_status status = for_each(writer, writer->schema.column_count, encode_column);
    writer->group_rows += writer->pending_rows;
    drop_pending(writer);
    return status;
}

/* ---- Row groups ---- */

static nl_status write_chunk(nl_parquet_writer *writer, nl_column_writer *column, nl_written_chunk *chunk)
{
    NL_TRY(nl_written_chunk_make(column, nl_output_position(writer->output), writer->arena, chunk));
    if (column->dictionary_page != NULL)
        NL_TRY(nl_output_write(writer->output, column->dictionary_page->data, column->dictionary_page->size_bytes));
    const nl_page_record *pages = nl_column_writer_pages(column);
    for (uint32_t i = 0; i < column->page_count; i++) NL_TRY(nl_output_write(writer->output, pages[i].bytes->data, pages[i].bytes->size_bytes));
    return NULL;
}

/* Filters lie behind their row group, so that they need not wait in memory for the end of the file. */
static nl_status write_bloom(nl_parquet_writer *writer, const nl_column_writer *column, nl_written_chunk *chunk)
{
    if (column->bloom == NULL || column->chunk_entries == column->chunk_nulls) return NULL;
    nl_builder header;
    int16_t last = 0;
    nl_builder_init(&header, 256);
    nl_thrift_put_i32(&header, &last, 1, (int32_t)column->bloom_bytes);
    for (int16_t id = 2; id <= 4; id++) { /* algorithm BLOCK, hash XXHASH, compression UNCOMPRESSED */
        int16_t inner = 0;
        nl_thrift_put_struct(&header, &last, id);
        nl_thrift_put_empty_struct(&header, &inner, 1);
        nl_thrift_end(&header);
    }
    nl_thrift_end(&header);
    chunk->bloom_offset = nl_output_position(writer->output);
    chunk->bloom_length = header.length + column->bloom_bytes;
    nl_status status = nl_output_write(writer->output, header.data, header.length);
    if (status == NULL) status = nl_output_write(writer->output, column->bloom, column->bloom_bytes);
    nl_builder_fini(&header);
    return status;
}

static nl_status flush_group(nl_parquet_writer *writer)
{
    NL_TRY(encode_pending(writer));
    if (writer->group_rows == 0) return NULL;
    NL_TRY(for_each(writer, writer->schema.leaf_count, finish_leaf));
    nl_written_group *group = NL_NEW(writer->arena, nl_written_group);
    group->chunks = NL_NEW_ARRAY(writer->arena, nl_written_chunk, writer->schema.leaf_count);
    nl_list_add(writer->arena, &writer->groups, group);
    NL_TRY(nl_arena_check(writer->arena));
    group->row_count = writer->group_rows;
    group->start = nl_output_position(writer->output);
    for (uint32_t i = 0; i < writer->schema.leaf_count; i++) {
        NL_CHECK(writer->columns[i].chunk_rows == writer->group_rows);
        NL_TRY(write_chunk(writer, &writer->columns[i], &group->chunks[i]));
        group->compressed_bytes += group->chunks[i].compressed_bytes;
        group->uncompressed_bytes += group->chunks[i].uncompressed_bytes;
    }
    for (uint32_t i = 0; i < writer->schema.leaf_count; i++) {
        NL_TRY(write_bloom(writer, &writer->columns[i], &group->chunks[i]));
        NL_TRY(nl_column_writer_next_chunk(&writer->columns[i]));
    }
    writer->group_rows = 0;
    return nl_arena_check(writer->arena);
}

static size_t buffered_bytes(const nl_parquet_writer *writer)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < writer->schema.leaf_count; i++) bytes += nl_column_writer_buffered(&writer->columns[i]);
    return bytes;
}

/* A budget that is nearly used up ends the row group early: smaller groups rather than a failed statement. */
static bool is_memory_scarce(const nl_parquet_writer *writer)
{
    if (writer->memory == NULL) return false;
    const size_t limit = nl_memory_limit(writer->memory);
    const size_t used = nl_memory_used(writer->memory);
    return used > limit || limit - used < NL_MAX(limit / 4, (size_t)HEADROOM_BYTES);
}

static bool is_group_full(const nl_parquet_writer *writer)
{
    const size_t bytes = buffered_bytes(writer);
    if (writer->group_rows >= writer->options.row_group_rows_max || bytes >= writer->options.row_group_bytes) return true;
    const size_t share = NL_MAX(nl_memory_limit(writer->memory) / EARLY_GROUPS_PER_BUDGET, (size_t)EARLY_GROUP_BYTES_LEAST);
    return bytes >= NL_MIN(share, (size_t)EARLY_GROUP_BYTES_MIN) && is_memory_scarce(writer);
}

static nl_status add_pending(nl_parquet_writer *writer, const nl_batch *batch)
{
    if (writer->pending_count == writer->pending_capacity) {
        const uint32_t capacity = writer->pending_capacity * 2 + 4;
        nl_batch *grown = realloc(writer->pending, capacity * sizeof(*grown));
        if (grown == NULL) return no_memory(capacity * sizeof(*grown));
        writer->pending = grown;
        writer->pending_capacity = capacity;
    }
    NL_TRY(nl_batch_ref(batch, &writer->pending[writer->pending_count]));
    writer->pending_count++;
    writer->pending_rows += nl_batch_live_rows(batch);
    writer->pending_bytes += nl_batch_bytes(batch);
    return NULL;
}

static nl_status append(nl_parquet_writer *writer, const nl_batch *batch)
{
    NL_TRY(add_pending(writer, batch));
    writer->row_count += nl_batch_live_rows(batch);
    /* Few rows can keep alive the strings of a large batch that they were taken from: they are encoded at once. */
    const bool is_dense = writer->pending_rows >= (uint64_t)writer->pending_count * PENDING_ROWS_MIN;
    const bool can_wait = writer->options.pool != NULL && is_dense && writer->pending_rows < PENDING_ROWS_MAX && writer->pending_bytes < PENDING_BYTES_MAX;
    if (can_wait && !is_memory_scarce(writer)) return NULL;
    NL_TRY(encode_pending(writer));
    return is_group_full(writer) ? flush_group(writer) : NULL;
}

nl_status nl_parquet_writer_append(nl_parquet_writer *writer, const nl_batch *batch)
{
    NL_ASSERT(batch->column_count == writer->schema.column_count);
    if (nl_batch_live_rows(batch) == 0) return NULL;
    nl_status status = append(writer, batch);
    writer->has_failed |= status != NULL; /* some columns may have rows that others lack */
    return status;
}

uint64_t nl_parquet_writer_row_count(const nl_parquet_writer *writer)
{
    return writer->row_count;
}

uint64_t nl_parquet_writer_bytes(const nl_parquet_writer *writer)
{
    uint64_t bytes = nl_output_position(writer->output) + writer->pending_bytes;
    for (uint32_t i = 0; i < writer->schema.leaf_count; i++) {
        const nl_column_writer *column = &writer->columns[i];
        const uint64_t open = nl_column_writer_buffered(column) - column->compressed_bytes;
        /* What is still open will shrink about as the pages before it did. */
        const double ratio = column->uncompressed_bytes > 0 ? (double)column->compressed_bytes / (double)column->uncompressed_bytes : 1.0;
        bytes += column->compressed_bytes + (uint64_t)((double)open * NL_MIN(ratio, 1.0));
    }
    return bytes;
}

size_t nl_parquet_writer_memory(const nl_parquet_writer *writer)
{
    size_t bytes = writer->pending_bytes + WRITER_BYTES;
    for (uint32_t i = 0; i < writer->schema.leaf_count; i++) bytes += nl_column_writer_charged(&writer->columns[i]);
    return bytes;
}

/* ---- The end of the file ---- */

static nl_status write_indexes(nl_parquet_writer *writer)
{
    for (int pass = 0; pass < 2; pass++) { /* all column indexes, then all offset indexes, as parquet-mr does */
        for (uint32_t g = 0; g < writer->groups.count; g++) {
            nl_written_group *group = writer->groups.items[g];
            for (uint32_t i = 0; i < writer->schema.leaf_count; i++) {
                nl_written_chunk *chunk = &group->chunks[i];
                const nl_str bytes = pass == 0 ? chunk->column_index : chunk->offset_index;
                *(pass == 0 ? &chunk->column_index_offset : &chunk->offset_index_offset) = nl_output_position(writer->output);
                if (bytes.length > 0) NL_TRY(nl_output_write(writer->output, bytes.data, bytes.length));
            }
        }
    }
    return NULL;
}

static nl_status write_footer(nl_parquet_writer *writer)
{
    nl_builder out;
    nl_builder_init(&out, NL_PARQUET_FOOTER_BYTES_MAX);
    nl_status status = nl_footer_put(&writer->schema, &writer->options, &writer->groups, writer->row_count, &out);
    const uint32_t length = (uint32_t)out.length;
    if (status == NULL) status = nl_output_write(writer->output, out.data, out.length);
    if (status == NULL) status = nl_output_write(writer->output, &length, sizeof(length));
    if (status == NULL) status = nl_output_write(writer->output, "PAR1", 4);
    nl_builder_fini(&out);
    return status;
}

static nl_status report(const nl_parquet_writer *writer, nl_arena *arena, nl_parquet_written *written)
{
    const nl_write_schema *schema = &writer->schema;
    *written = (nl_parquet_written){.row_count = writer->row_count, .file_bytes = nl_output_position(writer->output), .leaf_count = schema->leaf_count};
    written->leaves = NL_NEW_ARRAY(arena, nl_parquet_leaf_metrics, schema->leaf_count);
    written->split_offset_count = writer->groups.count;
    written->split_offsets = NL_NEW_ARRAY(arena, uint64_t, writer->groups.count);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < writer->groups.count; i++) written->split_offsets[i] = ((const nl_written_group *)writer->groups.items[i])->start;
    for (uint32_t i = 0; i < schema->leaf_count; i++) {
        const nl_column_writer *column = &writer->columns[i];
        const nl_write_leaf *leaf = &schema->leaves[i];
        nl_parquet_leaf_metrics *metrics = &written->leaves[i];
        *metrics = (nl_parquet_leaf_metrics){
            .field_id = leaf->field_id,
            .path = nl_arena_str(arena, leaf->dotted),
            .type = leaf->type,
            .is_repeated = leaf->max_repetition > 0,
            .column_bytes = column->file_bytes,
            .value_count = column->file_entries,
            .null_count = column->file_nulls,
            .nan_count = column->file_bounds.nan_count,
            .has_bounds = leaf->has_statistics && column->file_bounds.has_values,
        };
        if (!metrics->has_bounds) continue;
        metrics->lower = nl_bounds_value(&column->file_bounds, false, arena);
        metrics->upper = nl_bounds_value(&column->file_bounds, true, arena);
    }
    return nl_arena_check(arena);
}

static nl_status finish(nl_parquet_writer *writer, nl_arena *arena, nl_parquet_written *written)
{
    NL_CHECK(!writer->has_failed);
    NL_TRY(flush_group(writer));
    NL_TRY(write_indexes(writer));
    NL_TRY(write_footer(writer));
    return report(writer, arena, written);
}

nl_status nl_parquet_writer_close(nl_parquet_writer *writer, nl_arena *arena, nl_parquet_written *written)
{
    nl_status status = finish(writer, arena, written);
    if (status != NULL) {
        nl_parquet_writer_abort(writer);
        return status;
    }
    nl_output *output = writer->output;
    free_writer(writer);
    return nl_output_close(output);
}
