/* iceberg/manifest_write.c - manifests as Iceberg's Java library lays them out: field order, ids, docs, required or not, and
 * the file's metadata keys (manifest_types.c), so that strict readers of all kinds take them. */
#include "format/avro/writer.h"
#include "iceberg/avro_schema.h"
#include "iceberg/manifest.h"
#include "iceberg/manifest_types.h"

#include "base/number.h"

#define V1_BLOCK_SIZE (64ll << 20) /* a required relic of v1; Java writes this constant */

struct nl_manifest_writer {
    nl_arena *arena;
    nl_avro_writer *avro;
    nl_str path;
    nl_manifest_writer_options options; /* pointers borrowed */
    const nl_ice_type *partition_type;
    struct summary {
        bool contains_null;
        bool contains_nan;
        bool has_bounds;
        nl_value lower; /* in the arena */
        nl_value upper;
    } *summaries;
    int64_t files[3]; /* by status: existing, added, deleted */
    int64_t rows[3];
    int64_t min_sequence_number;
    uint64_t entry_count;
};

/* ---- Opening ---- */

static nl_str text_of(nl_arena *arena, nl_builder *text)
{
    const nl_str copy = nl_arena_str(arena, nl_builder_str(text));
    nl_builder_clear(text);
    return copy;
}

static nl_status open_avro(nl_manifest_writer *writer, nl_memory *memory)
{
    const nl_manifest_writer_options *options = &writer->options;
    const int32_t version = options->format_version;
    const nl_ice_type *entry_type = nl_manifest_entry_type(writer->arena, version, writer->partition_type);
    const nl_schema entry_schema = {.root = entry_type};
    nl_builder text;
    nl_builder_init(&text, 1u << 28);
    nl_ice_type_append_avro(entry_type, NL_STR("manifest_entry"), &text);
    const nl_str avro_schema = text_of(writer->arena, &text);
    nl_schema_append_json(&entry_schema, &text);
    const nl_str iceberg_schema = text_of(writer->arena, &text);
    nl_schema_append_json(options->schema, &text);
    const nl_str schema = text_of(writer->arena, &text);
    nl_partition_fields_append_json(options->spec, &text);
    const nl_str spec = text_of(writer->arena, &text);
    const bool has_failed = nl_builder_failed(&text);
    nl_builder_fini(&text);
    NL_CHECK(!has_failed);
    NL_TRY(nl_arena_check(writer->arena));
    const nl_avro_pair pairs[] = {
        {NL_STR("schema"), schema},
        {NL_STR("format-version"), nl_arena_f(writer->arena, "%d", version)},
        {NL_STR("partition-spec-id"), nl_arena_f(writer->arena, "%d", options->spec->spec_id)},
        {NL_STR("iceberg.schema"), iceberg_schema},
        {NL_STR("partition-spec"), spec},
        {NL_STR("content"), options->content == NL_MANIFEST_DELETES ? NL_STR("deletes") : NL_STR("data")}, /* not in v1 */
    };
    const nl_avro_write_options avro_options = {.schema = avro_schema,
                                                .metadata = pairs,
                                                .metadata_count = version == 1 ? NL_COUNT(pairs) - 1 : NL_COUNT(pairs),
                                                .codec = options->is_uncompressed ? NL_CODEC_NONE : NL_CODEC_DEFLATE,
                                                .level = options->compression_level ? options->compression_level : NL_CODEC_LEVEL_DEFAULT};
    nl_output *output;
    NL_TRY(nl_fs_create(options->fs, writer->path, &output));
    return nl_avro_writer_create(output, &avro_options, memory, &writer->avro);
}

nl_status nl_manifest_writer_open(const nl_manifest_writer_options *options, nl_str path, nl_memory *memory, nl_manifest_writer **writer)
{
    NL_CHECK(options->format_version >= 1 && options->format_version <= NL_FORMAT_VERSION_MAX);
    nl_arena *arena = nl_arena_new(memory);
    nl_manifest_writer *made = NL_NEW(arena, nl_manifest_writer);
    made->arena = arena;
    made->options = *options;
    made->path = nl_arena_str(arena, path);
    made->partition_type = options->partition_type ? options->partition_type : nl_partition_type(arena, options->spec, options->schema);
    made->summaries = NL_NEW_ARRAY(arena, struct summary, (size_t)options->spec->field_count + 1);
    made->min_sequence_number = NL_NONE;
    nl_status status = open_avro(made, memory);
    if (status) {
        nl_manifest_writer_abort(made);
        return nl_note_if(status, NL_HERE, "creating manifest " NL_STR_FMT, NL_STR_ARG(path));
    }
    *writer = made;
    return NULL;
}

/* ---- Encoding ---- */

/* The branch of ["null", T]; true when T follows. */
static bool put_present(nl_avro_sink *sink, bool is_present)
{
    nl_avro_put_long(sink, is_present);
    return is_present;
}

static void put_optional_long(nl_avro_sink *sink, int64_t value)
{
    if (put_present(sink, value != NL_NONE)) nl_avro_put_long(sink, value);
}

static void put_map(nl_avro_sink *sink, const nl_metric_map *map)
{
    if (!put_present(sink, map->data != NULL)) return;
    if (map->count) { /* packed as Avro stores it */
        nl_avro_put_long(sink, map->count);
        nl_avro_put_raw(sink, map->data, map->size_bytes);
    }
    nl_avro_put_long(sink, 0);
}

static nl_status put_decimal(nl_avro_sink *sink, const nl_ice_type *type, nl_int128 value)
{
    uint8_t bytes[16];
    const uint32_t size = nl_decimal_bytes(type->precision);
    if (!nl_decimal_fits(value, type->precision)) { /* truncate rounds down: away from zero for negative values */
        char text[NL_NUMBER_TEXT_MAX];
        const uint32_t length = nl_decimal_format(value, type->scale, text);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot write value as decimal(%u,%u), too large: %.*s", (unsigned)type->precision, (unsigned)type->scale,
                             (int)length, text);
    }
    for (int i = 0; i < 16; i++)
        bytes[i] = (uint8_t)((nl_uint128)value >> (8 * (15 - i)));
    nl_avro_put_raw(sink, bytes + 16 - size, size);
    return NULL;
}

/* A value read from a manifest older than its column's promotion (int to long, float to double, a wider decimal) still
 * has the narrower type. */
static bool can_hold(const nl_type *type, const nl_type *value)
{
    if (type->physical == value->physical) return true;
    if (type->id == NL_TYPE_DECIMAL) return value->id == NL_TYPE_DECIMAL && value->scale == type->scale && value->precision <= type->precision;
    return (type->id == NL_TYPE_BIGINT && value->id == NL_TYPE_INT) || (type->id == NL_TYPE_DOUBLE && value->id == NL_TYPE_FLOAT);
}

static nl_status put_partition_value(nl_avro_sink *sink, const nl_ice_type *type, const nl_value *value)
{
    if (type->id == NL_ICE_UNKNOWN) return NULL; /* Avro's null takes no bytes */
    if (!put_present(sink, !value->is_null)) return NULL;
    NL_CHECK(can_hold(nl_ice_type_storage(NULL, type), value->type));
    switch ((int)type->id) {
    case NL_ICE_BOOLEAN: nl_avro_put_bool(sink, value->boolean); return NULL;
    case NL_ICE_FLOAT: nl_avro_put_float(sink, (float)value->real); return NULL;
    case NL_ICE_DOUBLE: nl_avro_put_double(sink, value->real); return NULL;
    case NL_ICE_DECIMAL: return put_decimal(sink, type, value->decimal);
    case NL_ICE_STRING:
    case NL_ICE_BINARY: nl_avro_put_bytes(sink, value->text.data, value->text.length); return NULL;
    case NL_ICE_UUID:
    case NL_ICE_FIXED:
        NL_CHECK(value->text.length == (type->id == NL_ICE_UUID ? 16 : type->length));
        nl_avro_put_raw(sink, value->text.data, value->text.length);
        return NULL;
    default: nl_avro_put_long(sink, value->integer); return NULL;
    }
}

static nl_status put_partition(const nl_manifest_writer *writer, nl_avro_sink *sink, const nl_value *partition)
{
    for (uint32_t i = 0; i < writer->partition_type->field_count; i++)
        NL_TRY(put_partition_value(sink, writer->partition_type->fields[i].type, &partition[i]));
    return NULL;
}

static void put_numbers(nl_avro_sink *sink, const int64_t *wide, const int32_t *narrow, uint32_t count)
{
    if (!put_present(sink, wide || narrow)) return;
    if (count) nl_avro_put_long(sink, count);
    for (uint32_t i = 0; i < count; i++)
        nl_avro_put_long(sink, wide ? wide[i] : narrow[i]);
    nl_avro_put_long(sink, 0);
}

static nl_status put_file(const nl_manifest_writer *writer, nl_avro_sink *sink, const nl_data_file *file)
{
    const int32_t version = writer->options.format_version;
    const char *format = nl_file_format_name(file->format);
    if (version >= 2) nl_avro_put_long(sink, file->content);
    nl_avro_put_bytes(sink, file->path.data, file->path.length);
    nl_avro_put_bytes(sink, format, strlen(format));
    NL_TRY(put_partition(writer, sink, file->partition));
    nl_avro_put_long(sink, file->record_count);
    nl_avro_put_long(sink, file->file_size_bytes);
    if (version == 1) nl_avro_put_long(sink, V1_BLOCK_SIZE);
    put_map(sink, &file->column_sizes);
    put_map(sink, &file->value_counts);
    put_map(sink, &file->null_value_counts);
    put_map(sink, &file->nan_value_counts);
    put_map(sink, &file->lower_bounds);
    put_map(sink, &file->upper_bounds);
    if (put_present(sink, file->key_metadata.data != NULL)) nl_avro_put_bytes(sink, file->key_metadata.data, file->key_metadata.length);
    put_numbers(sink, file->split_offsets, NULL, file->split_offset_count);
    if (version >= 2) put_numbers(sink, NULL, file->equality_ids, file->equality_id_count);
    put_optional_long(sink, file->sort_order_id);
    if (version >= 3) put_optional_long(sink, file->content == NL_CONTENT_DATA ? file->first_row_id : NL_NONE);
    if (version >= 2 && put_present(sink, file->referenced_data_file.length > 0))
        nl_avro_put_bytes(sink, file->referenced_data_file.data, file->referenced_data_file.length);
    if (version >= 3) {
        put_optional_long(sink, file->content_offset);
        put_optional_long(sink, file->content_size_bytes);
    }
    return NULL;
}

/* ---- Entries ---- */

static bool is_nan(const nl_value *value)
{
    return (value->type->physical == NL_PHYS_F32 || value->type->physical == NL_PHYS_F64) && value->real != value->real;
}

static void summarise(nl_manifest_writer *writer, const nl_value *partition)
{
    for (uint32_t i = 0; i < writer->partition_type->field_count; i++) {
        struct summary *summary = &writer->summaries[i];
        const nl_value *value = &partition[i];
        if (value->is_null) {
            summary->contains_null = true;
        } else if (is_nan(value)) {
            summary->contains_nan = true;
        } else {
            if (!summary->has_bounds || nl_value_compare(value, &summary->lower) < 0) summary->lower = nl_value_copy(writer->arena, value);
            if (!summary->has_bounds || nl_value_compare(value, &summary->upper) > 0) summary->upper = nl_value_copy(writer->arena, value);
            summary->has_bounds = true;
        }
    }
}

nl_status nl_manifest_writer_entry(nl_manifest_writer *writer, const nl_manifest_entry *entry)
{
    const bool inherits = entry->sequence_number == NL_NONE;
    NL_CHECK(writer->options.format_version == 1 || !inherits || entry->status == NL_ENTRY_ADDED);
    NL_CHECK((entry->file.content == NL_CONTENT_DATA) == (writer->options.content == NL_MANIFEST_DATA));
    NL_CHECK(entry->file.record_count >= 0 && entry->file.file_size_bytes >= 0 && entry->file.path.length > 0);
    nl_avro_sink *sink = nl_avro_writer_sink(writer->avro);
    nl_avro_put_long(sink, entry->status);
    put_optional_long(sink, entry->snapshot_id);
    if (writer->options.format_version >= 2) {
        put_optional_long(sink, entry->sequence_number);
        put_optional_long(sink, entry->file_sequence_number);
    }
    NL_TRY(put_file(writer, sink, &entry->file));
    summarise(writer, entry->file.partition);
    writer->files[entry->status]++;
    writer->rows[entry->status] += entry->file.record_count;
    writer->entry_count++;
    if (nl_manifest_entry_is_live(entry) && !inherits)
        writer->min_sequence_number =
            writer->min_sequence_number == NL_NONE ? entry->sequence_number : NL_MIN(writer->min_sequence_number, entry->sequence_number);
    NL_TRY(nl_arena_check(writer->arena));
    return nl_avro_writer_end_row(writer->avro);
}

nl_status nl_manifest_writer_add(nl_manifest_writer *writer, const nl_data_file *file, int64_t data_sequence_number)
{
    const nl_manifest_entry entry = {.status = NL_ENTRY_ADDED,
                                     .snapshot_id = writer->options.snapshot_id,
                                     .sequence_number = data_sequence_number,
                                     .file_sequence_number = NL_NONE,
                                     .file = *file};
    return nl_manifest_writer_entry(writer, &entry);
}

nl_status nl_manifest_writer_existing(nl_manifest_writer *writer, const nl_manifest_entry *entry)
{
    nl_manifest_entry existing = *entry;
    existing.status = NL_ENTRY_EXISTING;
    return nl_manifest_writer_entry(writer, &existing);
}

nl_status nl_manifest_writer_delete(nl_manifest_writer *writer, const nl_manifest_entry *entry)
{
    nl_manifest_entry deleted = *entry;
    deleted.status = NL_ENTRY_DELETED;
    deleted.snapshot_id = writer->options.snapshot_id;
    return nl_manifest_writer_entry(writer, &deleted);
}

uint64_t nl_manifest_writer_length(const nl_manifest_writer *writer)
{
    return nl_avro_writer_bytes(writer->avro);
}

uint64_t nl_manifest_writer_entries(const nl_manifest_writer *writer)
{
    return writer->entry_count;
}

/* ---- Closing ---- */

static nl_status describe_partitions(const nl_manifest_writer *writer, nl_arena *arena, nl_manifest_file *file)
{
    const uint32_t count = writer->partition_type->field_count;
    nl_field_summary *summaries = NL_NEW_ARRAY(arena, nl_field_summary, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct summary *summary = &writer->summaries[i];
        summaries[i] = (nl_field_summary){.contains_null = summary->contains_null, .contains_nan = summary->contains_nan};
        if (!summary->has_bounds) continue;
        NL_TRY(nl_single_value_encode(writer->partition_type->fields[i].type, &summary->lower, arena, &summaries[i].lower));
        NL_TRY(nl_single_value_encode(writer->partition_type->fields[i].type, &summary->upper, arena, &summaries[i].upper));
    }
    file->partitions = summaries;
    file->partition_count = count;
    return nl_arena_check(arena);
}

nl_status nl_manifest_writer_close(nl_manifest_writer *writer, nl_arena *arena, nl_manifest_file *file)
{
    const nl_manifest_writer_options *options = &writer->options;
    nl_manifest_file made = {.path = nl_arena_str(arena, writer->path),
                             .spec_id = options->spec->spec_id,
                             .content = options->content,
                             .sequence_number = options->format_version == 1 ? 0 : NL_NONE,
                             .min_sequence_number = options->format_version == 1 ? 0 : writer->min_sequence_number,
                             .added_snapshot_id = options->snapshot_id,
                             .added_files_count = writer->files[NL_ENTRY_ADDED],
                             .existing_files_count = writer->files[NL_ENTRY_EXISTING],
                             .deleted_files_count = writer->files[NL_ENTRY_DELETED],
                             .added_rows_count = writer->rows[NL_ENTRY_ADDED],
                             .existing_rows_count = writer->rows[NL_ENTRY_EXISTING],
                             .deleted_rows_count = writer->rows[NL_ENTRY_DELETED],
                             .first_row_id = options->format_version >= 3 && options->content == NL_MANIFEST_DATA ? options->first_row_id : NL_NONE};
    nl_status status = describe_partitions(writer, arena, &made);
    if (status) {
        nl_manifest_writer_abort(writer);
        return status;
    }
    uint64_t bytes = 0;
    status = nl_avro_writer_close(writer->avro, &bytes);
    writer->avro = NULL;
    made.length = (int64_t)bytes;
    nl_arena_free(writer->arena);
    if (status) return nl_note_if(status, NL_HERE, "writing manifest " NL_STR_FMT, NL_STR_ARG(made.path));
    *file = made;
    return NULL;
}

void nl_manifest_writer_abort(nl_manifest_writer *writer)
{
    if (!writer) return;
    nl_avro_writer_abort(writer->avro);
    nl_arena_free(writer->arena);
}

/* ---- Rolling ---- */

struct nl_rolling_manifest_writer {
    nl_manifest_writer_options options;
    uint64_t target_bytes;
    nl_manifest_path_maker make_path;
    void *argument;
    nl_memory *memory; /* borrowed */
    nl_arena *arena;   /* borrowed */
    nl_manifest_writer *open;
    nl_list files; /* of nl_manifest_file */
};

nl_status nl_rolling_manifest_writer_new(const nl_manifest_writer_options *options, uint64_t target_bytes, nl_manifest_path_maker make_path,
                                         void *argument, nl_memory *memory, nl_arena *arena, nl_rolling_manifest_writer **writer)
{
    nl_rolling_manifest_writer *made = NL_NEW(arena, nl_rolling_manifest_writer);
    *made = (nl_rolling_manifest_writer){.options = *options,
                                         .target_bytes = target_bytes,
                                         .make_path = make_path,
                                         .argument = argument,
                                         .memory = memory,
                                         .arena = arena};
    *writer = made;
    return nl_arena_check(arena);
}

static nl_status close_open(nl_rolling_manifest_writer *rolling)
{
    nl_manifest_writer *writer = rolling->open;
    nl_manifest_file *file = NL_NEW(rolling->arena, nl_manifest_file);
    rolling->open = NULL;
    NL_TRY(nl_manifest_writer_close(writer, rolling->arena, file));
    nl_list_add(rolling->arena, &rolling->files, file);
    return nl_arena_check(rolling->arena);
}

nl_status nl_rolling_manifest_writer_next(nl_rolling_manifest_writer *rolling, nl_manifest_writer **writer)
{
    if (rolling->open && nl_manifest_writer_length(rolling->open) >= rolling->target_bytes && nl_manifest_writer_entries(rolling->open) > 0)
        NL_TRY(close_open(rolling));
    if (!rolling->open) {
        nl_str path;
        NL_TRY(rolling->make_path(rolling->argument, rolling->arena, &path));
        NL_TRY(nl_manifest_writer_open(&rolling->options, path, rolling->memory, &rolling->open));
    }
    *writer = rolling->open;
    return NULL;
}

nl_status nl_rolling_manifest_writer_close(nl_rolling_manifest_writer *rolling, const nl_manifest_file **files, uint32_t *file_count)
{
    if (rolling->open) NL_TRY(close_open(rolling));
    nl_manifest_file *made = NL_NEW_ARRAY(rolling->arena, nl_manifest_file, (size_t)rolling->files.count + 1);
    for (uint32_t i = 0; i < rolling->files.count; i++)
        made[i] = *(const nl_manifest_file *)rolling->files.items[i];
    *files = made;
    *file_count = rolling->files.count;
    return nl_arena_check(rolling->arena);
}

void nl_rolling_manifest_writer_abort(nl_rolling_manifest_writer *rolling)
{
    nl_manifest_writer_abort(rolling->open);
    rolling->open = NULL;
}
