/* iceberg/metadata_json.c - table metadata as JSON, with the keys in the order of Java's TableMetadataParser. */
#include "base/json.h"
#include "format/codec/codec.h"
#include "iceberg/metadata.h"

static void write_schemas(nl_json_writer *json, const nl_table_metadata *metadata)
{
    if (metadata->format_version == 1) { /* for readers older than schema ids */
        nl_json_key(json, "schema");
        nl_schema_append_json(nl_table_schema(metadata), json->out);
        nl_json_after_value(json);
    }
    nl_json_key(json, "current-schema-id");
    nl_json_write_int(json, metadata->current_schema_id);
    nl_json_key(json, "schemas");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < metadata->schema_count; i++) {
        nl_json_before_value(json);
        nl_schema_append_json(metadata->schemas[i], json->out);
        nl_json_after_value(json);
    }
    nl_json_end(json, ']');
}

static void write_specs(nl_json_writer *json, const nl_table_metadata *metadata)
{
    if (metadata->format_version == 1) {
        nl_json_key(json, "partition-spec");
        nl_partition_fields_append_json(nl_table_spec(metadata), json->out);
        nl_json_after_value(json);
    }
    nl_json_key(json, "default-spec-id");
    nl_json_write_int(json, metadata->default_spec_id);
    nl_json_key(json, "partition-specs");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < metadata->spec_count; i++) {
        nl_json_before_value(json);
        nl_partition_spec_append_json(metadata->specs[i], json->out);
        nl_json_after_value(json);
    }
    nl_json_end(json, ']');
    nl_json_key(json, "last-partition-id");
    nl_json_write_int(json, metadata->last_partition_id);
}

static void write_sort_orders(nl_json_writer *json, const nl_table_metadata *metadata)
{
    nl_json_key(json, "default-sort-order-id");
    nl_json_write_int(json, metadata->default_sort_order_id);
    nl_json_key(json, "sort-orders");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < metadata->sort_order_count; i++) {
        nl_json_before_value(json);
        nl_sort_order_append_json(metadata->sort_orders[i], json->out);
        nl_json_after_value(json);
    }
    nl_json_end(json, ']');
}

static void write_current_snapshot(nl_json_writer *json, const nl_table_metadata *metadata)
{
    nl_json_key(json, "current-snapshot-id");
    if (metadata->current_snapshot_id != NL_NONE || metadata->format_version < 3) nl_json_write_int(json, metadata->current_snapshot_id);
    else nl_json_write_null(json);
    if (metadata->format_version >= 3) {
        nl_json_key(json, "next-row-id");
        nl_json_write_int(json, metadata->next_row_id);
    }
    if (metadata->encryption_keys) {
        nl_json_key(json, "encryption-keys");
        nl_json_write_json(json, metadata->encryption_keys);
    }
}

static void write_snapshots(nl_json_writer *json, const nl_table_metadata *metadata)
{
    nl_json_key(json, "refs");
    nl_json_begin(json, '{');
    for (uint32_t i = 0; i < metadata->ref_count; i++) {
        nl_json_key_str(json, metadata->refs[i].name);
        nl_snapshot_ref_append_json(&metadata->refs[i], json->out);
        nl_json_after_value(json);
    }
    nl_json_end(json, '}');
    nl_json_key(json, "snapshots");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < metadata->snapshot_count; i++) {
        nl_json_before_value(json);
        nl_snapshot_append_json(&metadata->snapshots[i], json->out);
        nl_json_after_value(json);
    }
    nl_json_end(json, ']');
}

static void write_statistics(nl_json_writer *json, const nl_table_metadata *metadata)
{
    nl_json_key(json, "statistics");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < metadata->statistics_count; i++) {
        nl_json_before_value(json);
        nl_statistics_file_append_json(&metadata->statistics[i], json->out);
        nl_json_after_value(json);
    }
    nl_json_end(json, ']');
    nl_json_key(json, "partition-statistics");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < metadata->partition_statistics_count; i++) {
        nl_json_before_value(json);
        nl_partition_statistics_file_append_json(&metadata->partition_statistics[i], json->out);
        nl_json_after_value(json);
    }
    nl_json_end(json, ']');
}

static void write_logs(nl_json_writer *json, const nl_table_metadata *metadata)
{
    nl_json_key(json, "snapshot-log");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < metadata->snapshot_log_count; i++) {
        nl_json_begin(json, '{');
        nl_json_key(json, "timestamp-ms");
        nl_json_write_int(json, metadata->snapshot_log[i].timestamp_ms);
        nl_json_key(json, "snapshot-id");
        nl_json_write_int(json, metadata->snapshot_log[i].snapshot_id);
        nl_json_end(json, '}');
    }
    nl_json_end(json, ']');
    nl_json_key(json, "metadata-log");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < metadata->metadata_log_count; i++) {
        nl_json_begin(json, '{');
        nl_json_key(json, "timestamp-ms");
        nl_json_write_int(json, metadata->metadata_log[i].timestamp_ms);
        nl_json_key(json, "metadata-file");
        nl_json_write_text(json, metadata->metadata_log[i].metadata_file);
        nl_json_end(json, '}');
    }
    nl_json_end(json, ']');
}

void nl_table_metadata_append_json(const nl_table_metadata *metadata, nl_builder *out)
{
    nl_json_writer writer = {.out = out};
    nl_json_writer *json = &writer;
    nl_json_begin(json, '{');
    nl_json_key(json, "format-version");
    nl_json_write_int(json, metadata->format_version);
    if (metadata->uuid.length) {
        nl_json_key(json, "table-uuid");
        nl_json_write_text(json, metadata->uuid);
    }
    nl_json_key(json, "location");
    nl_json_write_text(json, metadata->location);
    if (metadata->format_version > 1) {
        nl_json_key(json, "last-sequence-number");
        nl_json_write_int(json, metadata->last_sequence_number);
    }
    nl_json_key(json, "last-updated-ms");
    nl_json_write_int(json, metadata->last_updated_ms);
    nl_json_key(json, "last-column-id");
    nl_json_write_int(json, metadata->last_column_id);
    write_schemas(json, metadata);
    write_specs(json, metadata);
    write_sort_orders(json, metadata);
    nl_json_key(json, "properties");
    nl_json_begin(json, '{');
    for (uint32_t i = 0; i < metadata->property_count; i++) {
        nl_json_key_str(json, metadata->properties[i].key);
        nl_json_write_text(json, metadata->properties[i].value);
    }
    nl_json_end(json, '}');
    write_current_snapshot(json, metadata);
    write_snapshots(json, metadata);
    write_statistics(json, metadata);
    write_logs(json, metadata);
    nl_json_write_members(json, metadata->unknown);
    nl_json_end(json, '}');
}

static nl_status too_large(const nl_table_metadata *metadata)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The metadata of the table at " NL_STR_FMT " is too large to be written; expire snapshots",
                         NL_STR_ARG(metadata->location));
}

static nl_status compress(nl_str text, nl_memory *memory, nl_buffer **content)
{
    nl_codec_context *codecs = nl_codec_context_new(memory);
    const size_t capacity = nl_codec_bound(NL_CODEC_GZIP, text.length);
    nl_buffer *buffer = NULL;
    size_t length = 0;
    nl_status status = nl_buffer_new(memory, capacity, false, &buffer);
    if (!status)
        status = nl_codec_compress(codecs, NL_CODEC_GZIP, NL_CODEC_LEVEL_DEFAULT, (nl_bytes){(const uint8_t *)text.data, text.length},
                                   buffer->data, capacity, &length);
    if (status) {
        nl_buffer_release(buffer);
    } else {
        buffer->size_bytes = length;
        *content = buffer;
    }
    nl_codec_context_free(codecs);
    return status;
}

nl_status nl_table_metadata_encode(const nl_table_metadata *metadata, bool is_gzip, nl_memory *memory, nl_buffer **content)
{
    nl_builder text;
    nl_builder_init(&text, NL_METADATA_BYTES_MAX);
    nl_table_metadata_append_json(metadata, &text);
    nl_status status = nl_builder_failed(&text) ? too_large(metadata) : NULL;
    if (!status && is_gzip) {
        status = compress(nl_builder_str(&text), memory, content);
    } else if (!status) {
        status = nl_buffer_new(memory, text.length, false, content);
        if (!status) memcpy((*content)->data, text.data, text.length);
    }
    nl_builder_fini(&text);
    return status;
}

nl_status nl_table_metadata_with_file(const nl_table_metadata *metadata, nl_str metadata_file, const nl_table_metadata **named)
{
    if (atomic_load_explicit(metadata->references, memory_order_acquire) == 1) { /* nobody else can be looking */
        ((nl_table_metadata *)(uintptr_t)metadata)->metadata_file = nl_arena_str(metadata->arena, metadata_file);
        *named = nl_table_metadata_retain(metadata);
        return nl_arena_check(metadata->arena);
    }
    nl_buffer *content = NULL;
    NL_TRY(nl_table_metadata_encode(metadata, false, NULL, &content));
    nl_status status = nl_table_metadata_parse((nl_bytes){content->data, content->size_bytes}, metadata_file, NULL, named);
    nl_buffer_release(content);
    return status;
}
