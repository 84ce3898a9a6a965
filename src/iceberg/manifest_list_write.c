/* iceberg/manifest_list_write.c - manifest lists, and what manifests get when they are committed: sequence numbers and, in
 * v3, first row ids (spec: "Manifest Lists", "First Row ID Assignment"). */
#include "format/avro/writer.h"
#include "iceberg/avro_schema.h"
#include "iceberg/manifest.h"
#include "iceberg/manifest_types.h"

static nl_str optional_number(nl_arena *arena, int64_t value)
{
    return value == NL_NONE ? NL_STR("null") : nl_arena_f(arena, "%lld", (long long)value); /* String.valueOf(null) */
}

static nl_status open_list(nl_fs *fs, nl_str path, const nl_manifest_list_options *options, nl_arena *arena, nl_memory *memory,
                           nl_avro_writer **writer)
{
    const nl_ice_type *type = nl_manifest_list_type(arena, options->format_version);
    const nl_schema schema = {.root = type};
    nl_builder text;
    nl_builder_init(&text, 1u << 20);
    nl_ice_type_append_avro(type, NL_STR("manifest_file"), &text);
    const nl_str avro_schema = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_clear(&text);
    nl_schema_append_json(&schema, &text);
    const nl_str iceberg_schema = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    nl_avro_pair pairs[6];
    uint32_t count = 0;
    pairs[count++] = (nl_avro_pair){NL_STR("snapshot-id"), optional_number(arena, options->snapshot_id)};
    if (options->format_version >= 3) pairs[count++] = (nl_avro_pair){NL_STR("first-row-id"), optional_number(arena, options->first_row_id)};
    pairs[count++] = (nl_avro_pair){NL_STR("format-version"), nl_arena_f(arena, "%d", options->format_version)};
    if (options->format_version >= 2) pairs[count++] = (nl_avro_pair){NL_STR("sequence-number"), optional_number(arena, options->sequence_number)};
    pairs[count++] = (nl_avro_pair){NL_STR("iceberg.schema"), iceberg_schema};
    pairs[count++] = (nl_avro_pair){NL_STR("parent-snapshot-id"), optional_number(arena, options->parent_id)};
    NL_TRY(nl_arena_check(arena));
    const nl_avro_write_options avro_options = {
        .schema = avro_schema, .metadata = pairs, .metadata_count = count, .codec = NL_CODEC_DEFLATE, .level = NL_CODEC_LEVEL_DEFAULT};
    nl_output *output;
    NL_TRY(nl_fs_create(fs, path, &output));
    return nl_avro_writer_create(output, &avro_options, memory, writer);
}

static bool put_present(nl_avro_sink *sink, bool is_present)
{
    nl_avro_put_long(sink, is_present);
    return is_present;
}

static void put_count(nl_avro_sink *sink, int64_t count, bool is_required)
{
    if (is_required || put_present(sink, count != NL_NONE)) nl_avro_put_long(sink, NL_MAX(count, 0));
}

static void put_optional_bytes(nl_avro_sink *sink, nl_bytes bytes)
{
    if (put_present(sink, bytes.data != NULL)) nl_avro_put_bytes(sink, bytes.data, bytes.length);
}

static void put_summaries(nl_avro_sink *sink, const nl_manifest_file *file)
{
    if (!put_present(sink, file->partitions != NULL)) return;
    if (file->partition_count) nl_avro_put_long(sink, file->partition_count);
    for (uint32_t i = 0; i < file->partition_count; i++) {
        const nl_field_summary *summary = &file->partitions[i];
        nl_avro_put_bool(sink, summary->contains_null);
        if (put_present(sink, summary->contains_nan != NL_NONE)) nl_avro_put_bool(sink, summary->contains_nan != 0);
        put_optional_bytes(sink, summary->lower);
        put_optional_bytes(sink, summary->upper);
    }
    nl_avro_put_long(sink, 0);
}

/* Manifests of this commit get its sequence number; others must have theirs. */
static nl_status assign_sequence_numbers(const nl_manifest_list_options *options, nl_manifest_file *file)
{
    if (options->format_version == 1) return NULL;
    if (file->sequence_number == NL_NONE) {
        NL_CHECK(file->added_snapshot_id == NL_NONE || file->added_snapshot_id == options->snapshot_id);
        file->sequence_number = options->sequence_number;
    }
    if (file->min_sequence_number == NL_NONE) file->min_sequence_number = options->sequence_number;
    return NULL;
}

static nl_status assign_row_ids(const nl_manifest_list_options *options, nl_manifest_file *file, int64_t *next_row_id)
{
    if (options->format_version < 3 || file->content != NL_MANIFEST_DATA || file->first_row_id != NL_NONE) return NULL;
    NL_CHECK(*next_row_id >= 0 && file->existing_rows_count >= 0 && file->added_rows_count >= 0);
    file->first_row_id = *next_row_id;
    /* Existing files may have no ids yet either (tables upgraded from v2), so room is left for their rows too. */
    const bool is_too_much = __builtin_add_overflow(*next_row_id, file->existing_rows_count, next_row_id) ||
                             __builtin_add_overflow(*next_row_id, file->added_rows_count, next_row_id);
    return is_too_much ? NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "The table has no row ids left") : NULL;
}

static nl_status put_row(nl_avro_writer *writer, const nl_manifest_list_options *options, const nl_manifest_file *file)
{
    nl_avro_sink *sink = nl_avro_writer_sink(writer);
    const bool is_required = options->format_version >= 2;
    const int64_t snapshot_id = file->added_snapshot_id == NL_NONE ? options->snapshot_id : file->added_snapshot_id;
    nl_avro_put_bytes(sink, file->path.data, file->path.length);
    nl_avro_put_long(sink, file->length);
    nl_avro_put_long(sink, file->spec_id);
    if (is_required) {
        nl_avro_put_long(sink, file->content);
        nl_avro_put_long(sink, file->sequence_number);
        nl_avro_put_long(sink, file->min_sequence_number);
    }
    nl_avro_put_long(sink, snapshot_id);
    put_count(sink, file->added_files_count, is_required);
    put_count(sink, file->existing_files_count, is_required);
    put_count(sink, file->deleted_files_count, is_required);
    if (!is_required) put_summaries(sink, file);
    put_count(sink, file->added_rows_count, is_required);
    put_count(sink, file->existing_rows_count, is_required);
    put_count(sink, file->deleted_rows_count, is_required);
    if (is_required) put_summaries(sink, file);
    put_optional_bytes(sink, file->key_metadata);
    if (options->format_version >= 3 && put_present(sink, file->first_row_id != NL_NONE)) nl_avro_put_long(sink, file->first_row_id);
    return nl_avro_writer_end_row(writer);
}

static nl_status put_rows(nl_avro_writer *writer, const nl_manifest_list_options *options, const nl_manifest_file *files, uint32_t file_count,
                          int64_t *next_row_id)
{
    for (uint32_t i = 0; i < file_count; i++) {
        nl_manifest_file file = files[i];
        NL_TRY(assign_sequence_numbers(options, &file));
        NL_TRY(assign_row_ids(options, &file, next_row_id));
        NL_TRY(put_row(writer, options, &file));
    }
    return NULL;
}

nl_status nl_manifest_list_write(nl_fs *fs, nl_str path, const nl_manifest_list_options *options, const nl_manifest_file *files,
                                 uint32_t file_count, nl_memory *memory, int64_t *next_row_id)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_avro_writer *writer = NULL;
    int64_t next = options->first_row_id;
    nl_status status;
    NL_GO(open_list(fs, path, options, arena, memory, &writer));
    NL_GO(put_rows(writer, options, files, file_count, &next));
    nl_avro_writer *closing = writer;
    writer = NULL;
    NL_GO(nl_avro_writer_close(closing, NULL));
    if (next_row_id) *next_row_id = next;
done:
    nl_avro_writer_abort(writer);
    nl_arena_free(arena);
    return nl_note_if(status, NL_HERE, "writing manifest list " NL_STR_FMT, NL_STR_ARG(path));
}
