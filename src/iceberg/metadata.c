/* iceberg/metadata.c - table metadata: reading it from JSON, and looking things up in it. */
#include "iceberg/metadata.h"

#include "base/json.h"
#include "base/number.h"
#include "format/codec/codec.h"

#include <stdlib.h>

static const char *const known_keys[] = {
    "format-version", "table-uuid", "location", "last-sequence-number", "last-updated-ms", "last-column-id", "schema", "current-schema-id",
    "schemas", "partition-spec", "default-spec-id", "partition-specs", "last-partition-id", "default-sort-order-id", "sort-orders", "properties",
    "current-snapshot-id", "next-row-id", "encryption-keys", "refs", "snapshots", "statistics", "partition-statistics", "snapshot-log",
    "metadata-log", NULL};

/* What reading needs at hand. */
typedef struct parser {
    nl_arena *arena; /* the metadata's own */
    const json_t *json;
    nl_str path;
    nl_table_metadata *metadata;
} parser;

static nl_status read_schemas(parser *in)
{
    nl_table_metadata *metadata = in->metadata;
    const json_t *array;
    NL_TRY(nl_json_optional_array(in->json, "schemas", in->path, &array));
    const json_t *single = json_object_get(in->json, "schema"); /* all that old v1 tables have */
    if (!array && (metadata->format_version > 1 || !single)) return nl_json_corrupt(in->path, "the required key schemas is missing");
    const uint32_t count = array ? (uint32_t)json_array_size(array) : 1;
    const nl_schema **schemas = NL_NEW_ARRAY(in->arena, const nl_schema *, (size_t)count + 1);
    NL_TRY(nl_arena_check(in->arena));
    for (uint32_t i = 0; i < count; i++)
        NL_TRY(nl_schema_from_json(in->arena, array ? json_array_get(array, i) : single, in->path, &schemas[i]));
    metadata->schemas = schemas;
    metadata->schema_count = count;
    if (array) NL_TRY(nl_json_int32(in->json, "current-schema-id", in->path, &metadata->current_schema_id));
    else metadata->current_schema_id = schemas[0]->schema_id;
    if (!nl_table_schema_by_id(metadata, metadata->current_schema_id))
        return nl_json_corrupt(in->path, "Cannot find schema with current-schema-id=%d from schemas", metadata->current_schema_id);
    return NULL;
}

static nl_status read_specs(parser *in)
{
    nl_table_metadata *metadata = in->metadata;
    const json_t *array;
    NL_TRY(nl_json_optional_array(in->json, "partition-specs", in->path, &array));
    const json_t *single = json_object_get(in->json, "partition-spec");
    if (!array && (metadata->format_version > 1 || !single)) return nl_json_corrupt(in->path, "the required key partition-specs is missing");
    const uint32_t count = array ? (uint32_t)json_array_size(array) : 1;
    const nl_partition_spec **specs = NL_NEW_ARRAY(in->arena, const nl_partition_spec *, (size_t)count + 1);
    NL_TRY(nl_arena_check(in->arena));
    int32_t last_id = NL_PARTITION_FIELD_ID_START - 1;
    for (uint32_t i = 0; i < count; i++) {
        if (array) NL_TRY(nl_partition_spec_from_json(in->arena, json_array_get(array, i), in->path, &specs[i]));
        else NL_TRY(nl_partition_fields_from_json(in->arena, single, 0, in->path, &specs[i]));
        for (uint32_t k = 0; k < specs[i]->field_count; k++)
            last_id = NL_MAX(last_id, specs[i]->fields[k].field_id);
    }
    metadata->specs = specs;
    metadata->spec_count = count;
    metadata->last_partition_id = last_id;
    if (array) NL_TRY(nl_json_int32(in->json, "default-spec-id", in->path, &metadata->default_spec_id));
    if (metadata->format_version > 1) NL_TRY(nl_json_int32(in->json, "last-partition-id", in->path, &metadata->last_partition_id));
    else NL_TRY(nl_json_optional_int32(in->json, "last-partition-id", in->path, &metadata->last_partition_id));
    if (!nl_table_spec_by_id(metadata, metadata->default_spec_id))
        return nl_json_corrupt(in->path, "Cannot find partition spec with default-spec-id=%d", metadata->default_spec_id);
    return NULL;
}

static nl_status read_sort_orders(parser *in)
{
    static const nl_sort_order unsorted = {0};
    nl_table_metadata *metadata = in->metadata;
    const json_t *array;
    NL_TRY(nl_json_optional_array(in->json, "sort-orders", in->path, &array));
    if (!array && metadata->format_version > 1) return nl_json_corrupt(in->path, "the required key sort-orders is missing");
    const uint32_t count = array ? (uint32_t)json_array_size(array) : 1;
    const nl_sort_order **orders = NL_NEW_ARRAY(in->arena, const nl_sort_order *, (size_t)count + 1);
    NL_TRY(nl_arena_check(in->arena));
    orders[0] = &unsorted;
    for (uint32_t i = 0; array && i < count; i++)
        NL_TRY(nl_sort_order_from_json(in->arena, json_array_get(array, i), in->path, &orders[i]));
    metadata->sort_orders = orders;
    metadata->sort_order_count = count;
    if (array) NL_TRY(nl_json_int32(in->json, "default-sort-order-id", in->path, &metadata->default_sort_order_id));
    if (!nl_table_sort_order_by_id(metadata, metadata->default_sort_order_id))
        return nl_json_corrupt(in->path, "Cannot find sort order with default-sort-order-id=%d", metadata->default_sort_order_id);
    return NULL;
}

typedef struct indexed_snapshot {
    int64_t snapshot_id;
    uint32_t index;
} indexed_snapshot;

static int by_snapshot_id(const void *a, const void *b)
{
    const int64_t left = ((const indexed_snapshot *)a)->snapshot_id;
    const int64_t right = ((const indexed_snapshot *)b)->snapshot_id;
    return (left > right) - (left < right);
}

static nl_status index_snapshots(nl_arena *arena, nl_table_metadata *metadata)
{
    indexed_snapshot *sorted = NL_NEW_ARRAY(arena, indexed_snapshot, (size_t)metadata->snapshot_count + 1);
    uint32_t *order = NL_NEW_ARRAY(arena, uint32_t, (size_t)metadata->snapshot_count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        sorted[i] = (indexed_snapshot){metadata->snapshots[i].snapshot_id, i};
    qsort(sorted, metadata->snapshot_count, sizeof(*sorted), by_snapshot_id);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        order[i] = sorted[i].index;
    metadata->snapshots_by_id = order;
    return NULL;
}

static nl_status read_snapshots(parser *in)
{
    const json_t *array;
    NL_TRY(nl_json_optional_array(in->json, "snapshots", in->path, &array));
    const uint32_t count = array ? (uint32_t)json_array_size(array) : 0;
    nl_snapshot *snapshots = NL_NEW_ARRAY(in->arena, nl_snapshot, (size_t)count + 1);
    NL_TRY(nl_arena_check(in->arena));
    for (uint32_t i = 0; i < count; i++) {
        NL_TRY(nl_snapshot_from_json(in->arena, json_array_get(array, i), in->path, &snapshots[i]));
        if (in->metadata->format_version > 1 && snapshots[i].sequence_number > in->metadata->last_sequence_number)
            return nl_json_corrupt(in->path, "Invalid snapshot with sequence number %lld greater than last sequence number %lld",
                                   (long long)snapshots[i].sequence_number, (long long)in->metadata->last_sequence_number);
    }
    in->metadata->snapshots = snapshots;
    in->metadata->snapshot_count = count;
    NL_TRY(index_snapshots(in->arena, in->metadata));
    for (uint32_t i = 1; i < count; i++) {
        const int64_t id = snapshots[in->metadata->snapshots_by_id[i]].snapshot_id;
        if (id == snapshots[in->metadata->snapshots_by_id[i - 1]].snapshot_id)
            return nl_json_corrupt(in->path, "snapshot %lld is listed twice", (long long)id);
    }
    return NULL;
}

static nl_status read_refs(parser *in)
{
    nl_table_metadata *metadata = in->metadata;
    const json_t *object = json_object_get(in->json, "refs");
    if (object && !json_is_null(object)) NL_TRY(nl_json_object(object, in->path, "refs"));
    nl_snapshot_ref *refs = NL_NEW_ARRAY(in->arena, nl_snapshot_ref, json_object_size(object) + 2);
    NL_TRY(nl_arena_check(in->arena));
    uint32_t count = 0;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        NL_TRY(nl_snapshot_ref_from_json(in->arena, nl_str_from(name), value, in->path, &refs[count]));
        if (!nl_table_snapshot(metadata, refs[count].snapshot_id))
            return nl_json_corrupt(in->path, "Snapshot for reference %s (%lld) does not exist in the existing snapshots list", name,
                                   (long long)refs[count].snapshot_id);
        count++;
    }
    metadata->refs = refs;
    metadata->ref_count = count;
    const nl_snapshot_ref *main_branch = nl_table_ref(metadata, NL_STR(NL_MAIN_BRANCH));
    if (main_branch && metadata->current_snapshot_id != main_branch->snapshot_id)
        return nl_json_corrupt(in->path, "Current snapshot ID does not match main branch (%lld != %lld)",
                               (long long)metadata->current_snapshot_id, (long long)main_branch->snapshot_id);
    if (!main_branch && metadata->current_snapshot_id != NL_NONE) { /* written before references existed */
        refs[metadata->ref_count++] = (nl_snapshot_ref){.name = NL_STR(NL_MAIN_BRANCH),
                                                        .snapshot_id = metadata->current_snapshot_id,
                                                        .min_snapshots_to_keep = NL_NONE,
                                                        .max_snapshot_age_ms = NL_NONE,
                                                        .max_ref_age_ms = NL_NONE};
    }
    return NULL;
}

static nl_status read_logs(parser *in)
{
    const json_t *array;
    NL_TRY(nl_json_optional_array(in->json, "snapshot-log", in->path, &array));
    const uint32_t snapshot_count = array ? (uint32_t)json_array_size(array) : 0;
    nl_snapshot_log_entry *snapshot_log = NL_NEW_ARRAY(in->arena, nl_snapshot_log_entry, (size_t)snapshot_count + 1);
    NL_TRY(nl_arena_check(in->arena));
    for (uint32_t i = 0; i < snapshot_count; i++) {
        const json_t *entry = json_array_get(array, i);
        NL_TRY(nl_json_object(entry, in->path, "a snapshot-log entry"));
        NL_TRY(nl_json_int64(entry, "timestamp-ms", in->path, &snapshot_log[i].timestamp_ms));
        NL_TRY(nl_json_int64(entry, "snapshot-id", in->path, &snapshot_log[i].snapshot_id));
    }
    in->metadata->snapshot_log = snapshot_log;
    in->metadata->snapshot_log_count = snapshot_count;

    NL_TRY(nl_json_optional_array(in->json, "metadata-log", in->path, &array));
    const uint32_t metadata_count = array ? (uint32_t)json_array_size(array) : 0;
    nl_metadata_log_entry *metadata_log = NL_NEW_ARRAY(in->arena, nl_metadata_log_entry, (size_t)metadata_count + 1);
    NL_TRY(nl_arena_check(in->arena));
    for (uint32_t i = 0; i < metadata_count; i++) {
        const json_t *entry = json_array_get(array, i);
        NL_TRY(nl_json_object(entry, in->path, "a metadata-log entry"));
        NL_TRY(nl_json_int64(entry, "timestamp-ms", in->path, &metadata_log[i].timestamp_ms));
        NL_TRY(nl_json_text(entry, "metadata-file", in->path, &metadata_log[i].metadata_file));
        metadata_log[i].metadata_file = nl_arena_str(in->arena, metadata_log[i].metadata_file);
    }
    in->metadata->metadata_log = metadata_log;
    in->metadata->metadata_log_count = metadata_count;
    return NULL;
}

static nl_status read_statistics(parser *in)
{
    const json_t *array;
    NL_TRY(nl_json_optional_array(in->json, "statistics", in->path, &array));
    uint32_t count = array ? (uint32_t)json_array_size(array) : 0;
    nl_statistics_file *files = NL_NEW_ARRAY(in->arena, nl_statistics_file, (size_t)count + 1);
    NL_TRY(nl_arena_check(in->arena));
    for (uint32_t i = 0; i < count; i++)
        NL_TRY(nl_statistics_file_from_json(in->arena, json_array_get(array, i), in->path, &files[i]));
    in->metadata->statistics = files;
    in->metadata->statistics_count = count;

    NL_TRY(nl_json_optional_array(in->json, "partition-statistics", in->path, &array));
    count = array ? (uint32_t)json_array_size(array) : 0;
    nl_partition_statistics_file *partition_files = NL_NEW_ARRAY(in->arena, nl_partition_statistics_file, (size_t)count + 1);
    NL_TRY(nl_arena_check(in->arena));
    for (uint32_t i = 0; i < count; i++)
        NL_TRY(nl_partition_statistics_file_from_json(in->arena, json_array_get(array, i), in->path, &partition_files[i]));
    in->metadata->partition_statistics = partition_files;
    in->metadata->partition_statistics_count = count;
    return NULL;
}

static nl_status read_head(parser *in)
{
    nl_table_metadata *metadata = in->metadata;
    NL_TRY(nl_json_int32(in->json, "format-version", in->path, &metadata->format_version));
    if (metadata->format_version < 1) return nl_json_corrupt(in->path, "format-version is %d", metadata->format_version);
    if (metadata->format_version > NL_FORMAT_VERSION_MAX)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot read unsupported version %d (of " NL_STR_FMT "); versions 1 to %d are supported",
                             metadata->format_version, NL_STR_ARG(in->path), NL_FORMAT_VERSION_MAX);
    if (metadata->format_version > 1) {
        NL_TRY(nl_json_text(in->json, "table-uuid", in->path, &metadata->uuid));
        NL_TRY(nl_json_int64(in->json, "last-sequence-number", in->path, &metadata->last_sequence_number));
    } else {
        NL_TRY(nl_json_optional_text(in->json, "table-uuid", in->path, &metadata->uuid));
    }
    NL_TRY(nl_json_text(in->json, "location", in->path, &metadata->location));
    NL_TRY(nl_json_int64(in->json, "last-updated-ms", in->path, &metadata->last_updated_ms));
    NL_TRY(nl_json_int32(in->json, "last-column-id", in->path, &metadata->last_column_id));
    metadata->current_snapshot_id = NL_NONE; /* absent, null and -1 all say: empty */
    NL_TRY(nl_json_optional_int64(in->json, "current-snapshot-id", in->path, &metadata->current_snapshot_id));
    if (metadata->format_version > 2) NL_TRY(nl_json_int64(in->json, "next-row-id", in->path, &metadata->next_row_id));
    if (metadata->last_sequence_number < 0 || metadata->next_row_id < 0 || metadata->last_column_id < 0)
        return nl_json_corrupt(in->path, "last-sequence-number, next-row-id or last-column-id is negative");
    metadata->uuid = nl_arena_str(in->arena, metadata->uuid);
    metadata->location = nl_arena_str(in->arena, metadata->location);
    return NULL;
}

static nl_status read_all(parser *in)
{
    nl_table_metadata *metadata = in->metadata;
    NL_TRY(nl_json_object(in->json, in->path, "table metadata"));
    NL_TRY(read_head(in));
    NL_TRY(read_schemas(in));
    NL_TRY(read_specs(in));
    NL_TRY(read_sort_orders(in));
    NL_TRY(nl_properties_from_json(in->arena, json_object_get(in->json, "properties"), "properties", in->path, &metadata->properties,
                                   &metadata->property_count));
    NL_TRY(read_snapshots(in));
    if (metadata->current_snapshot_id != NL_NONE && !nl_table_snapshot(metadata, metadata->current_snapshot_id))
        return nl_json_corrupt(in->path, "current-snapshot-id %lld is not among the snapshots", (long long)metadata->current_snapshot_id);
    NL_TRY(read_refs(in));
    NL_TRY(read_logs(in));
    NL_TRY(read_statistics(in));
    const json_t *keys;
    NL_TRY(nl_json_optional_array(in->json, "encryption-keys", in->path, &keys));
    metadata->encryption_keys = nl_json_keep(in->arena, keys);
    metadata->unknown = nl_json_unknown(in->arena, in->json, known_keys);
    return nl_arena_check(in->arena);
}

nl_status nl_table_metadata_from_json(const json_t *json, nl_str metadata_file, nl_memory *memory, const nl_table_metadata **metadata)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_table_metadata *made = NL_NEW(arena, nl_table_metadata);
    made->arena = arena;
    made->references = NL_NEW(arena, atomic_uint);
    atomic_init(made->references, 1);
    made->metadata_file = nl_arena_str(arena, metadata_file);
    parser in = {.arena = arena, .json = json, .path = metadata_file, .metadata = made};
    nl_status status = read_all(&in);
    if (status) {
        nl_arena_free(arena);
        return nl_note_if(status, NL_HERE, "reading table metadata " NL_STR_FMT, NL_STR_ARG(metadata_file));
    }
    *metadata = made;
    return NULL;
}

static nl_status parse_text(nl_str text, nl_str metadata_file, nl_memory *memory, const nl_table_metadata **metadata)
{
    nl_arena *scratch = nl_arena_new(NULL);
    const json_t *json;
    nl_status status = nl_json_parse(scratch, text, metadata_file, &json);
    if (!status) status = nl_table_metadata_from_json(json, metadata_file, memory, metadata);
    nl_arena_free(scratch);
    return status;
}

nl_status nl_metadata_text(nl_bytes content, nl_str path, nl_memory *memory, nl_buffer **plain, nl_str *text)
{
    const bool is_gzip = content.length >= 2 && content.data[0] == 0x1f && content.data[1] == 0x8b;
    *plain = NULL;
    *text = (nl_str){(const char *)content.data, content.length};
    if (!is_gzip) return NULL;
    nl_codec_context *codecs = nl_codec_context_new(memory);
    const char *problem = NULL;
    nl_status status = nl_codec_decompress_grow(codecs, NL_CODEC_GZIP, content, NL_METADATA_BYTES_MAX, memory, plain, &problem);
    if (!status && problem) status = nl_json_corrupt(path, "its gzip stream: %s", problem);
    if (!status) *text = (nl_str){(const char *)(*plain)->data, (*plain)->size_bytes};
    nl_codec_context_free(codecs);
    return status;
}

nl_status nl_table_metadata_parse(nl_bytes content, nl_str metadata_file, nl_memory *memory, const nl_table_metadata **metadata)
{
    nl_buffer *plain;
    nl_str text;
    nl_status status = nl_metadata_text(content, metadata_file, memory, &plain, &text);
    if (!status) status = parse_text(text, metadata_file, memory, metadata);
    nl_buffer_release(plain);
    return status;
}

nl_status nl_table_metadata_read(nl_fs *fs, nl_str metadata_file, nl_memory *memory, const nl_table_metadata **metadata)
{
    nl_buffer *content = NULL;
    NL_TRY_NOTE(nl_fs_read_all(fs, metadata_file, NL_METADATA_BYTES_MAX, &content), "reading table metadata " NL_STR_FMT,
                NL_STR_ARG(metadata_file));
    nl_status status = nl_table_metadata_parse((nl_bytes){content->data, content->size_bytes}, metadata_file, memory, metadata);
    nl_buffer_release(content);
    return status;
}

const nl_table_metadata *nl_table_metadata_retain(const nl_table_metadata *metadata)
{
    if (metadata) atomic_fetch_add_explicit(metadata->references, 1, memory_order_relaxed);
    return metadata;
}

void nl_table_metadata_release(const nl_table_metadata *metadata)
{
    if (metadata && atomic_fetch_sub_explicit(metadata->references, 1, memory_order_acq_rel) == 1) nl_arena_free(metadata->arena);
}

/* ---- Lookups ---- */

const nl_schema *nl_table_schema_by_id(const nl_table_metadata *metadata, int32_t schema_id)
{
    for (uint32_t i = metadata->schema_count; i-- > 0;) /* newer ones are asked for more often */
        if (metadata->schemas[i]->schema_id == schema_id) return metadata->schemas[i];
    return NULL;
}

const nl_schema *nl_table_schema(const nl_table_metadata *metadata)
{
    return nl_table_schema_by_id(metadata, metadata->current_schema_id);
}

const nl_partition_spec *nl_table_spec_by_id(const nl_table_metadata *metadata, int32_t spec_id)
{
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        if (metadata->specs[i]->spec_id == spec_id) return metadata->specs[i];
    return NULL;
}

const nl_partition_spec *nl_table_spec(const nl_table_metadata *metadata)
{
    return nl_table_spec_by_id(metadata, metadata->default_spec_id);
}

const nl_sort_order *nl_table_sort_order_by_id(const nl_table_metadata *metadata, int32_t order_id)
{
    for (uint32_t i = 0; i < metadata->sort_order_count; i++)
        if (metadata->sort_orders[i]->order_id == order_id) return metadata->sort_orders[i];
    return NULL;
}

const nl_sort_order *nl_table_sort_order(const nl_table_metadata *metadata)
{
    return nl_table_sort_order_by_id(metadata, metadata->default_sort_order_id);
}

const nl_snapshot *nl_table_snapshot(const nl_table_metadata *metadata, int64_t snapshot_id)
{
    uint32_t low = 0;
    uint32_t high = metadata->snapshot_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (metadata->snapshots[metadata->snapshots_by_id[middle]].snapshot_id < snapshot_id) low = middle + 1;
        else high = middle;
    }
    if (low == metadata->snapshot_count) return NULL;
    const nl_snapshot *snapshot = &metadata->snapshots[metadata->snapshots_by_id[low]];
    return snapshot->snapshot_id == snapshot_id ? snapshot : NULL;
}

const nl_snapshot *nl_table_current_snapshot(const nl_table_metadata *metadata)
{
    return metadata->current_snapshot_id == NL_NONE ? NULL : nl_table_snapshot(metadata, metadata->current_snapshot_id);
}

const nl_snapshot_ref *nl_table_ref(const nl_table_metadata *metadata, nl_str name)
{
    for (uint32_t i = 0; i < metadata->ref_count; i++)
        if (nl_str_equal(metadata->refs[i].name, name)) return &metadata->refs[i];
    return NULL;
}

const nl_schema *nl_table_snapshot_schema(const nl_table_metadata *metadata, const nl_snapshot *snapshot)
{
    const nl_schema *schema = snapshot->schema_id == NL_NONE ? NULL : nl_table_schema_by_id(metadata, snapshot->schema_id);
    return schema ? schema : nl_table_schema(metadata);
}

/* The present schema, then the others, newest first. */
static const nl_schema **schemas_in_turn(nl_arena *arena, const nl_table_metadata *metadata)
{
    const nl_schema **schemas = NL_NEW_ARRAY(arena, const nl_schema *, (size_t)metadata->schema_count + 1);
    uint32_t count = 0;
    schemas[count++] = nl_table_schema(metadata);
    for (uint32_t i = metadata->schema_count; i-- > 0;)
        if (metadata->schemas[i] != schemas[0]) schemas[count++] = metadata->schemas[i];
    return schemas;
}

const nl_ice_type *nl_table_source_type(nl_arena *arena, const nl_table_metadata *metadata, const nl_partition_field *field)
{
    return nl_partition_source_type(field, schemas_in_turn(arena, metadata), metadata->schema_count);
}

const nl_ice_type *nl_table_partition_type(nl_arena *arena, const nl_table_metadata *metadata, const nl_partition_spec *spec)
{
    return nl_partition_type_by_schemas(arena, spec, schemas_in_turn(arena, metadata), metadata->schema_count);
}

nl_status nl_table_partition_type_union(nl_arena *arena, const nl_table_metadata *metadata, const nl_ice_type **type)
{
    return nl_partition_type_union(arena, metadata->specs, metadata->spec_count, schemas_in_turn(arena, metadata), metadata->schema_count, type);
}

nl_str nl_table_property(const nl_table_metadata *metadata, const char *key, const char *fallback)
{
    for (uint32_t i = 0; i < metadata->property_count; i++)
        if (nl_str_is(metadata->properties[i].key, key)) return metadata->properties[i].value;
    return nl_str_from(fallback);
}

nl_status nl_table_property_int(const nl_table_metadata *metadata, const char *key, int64_t fallback, int64_t *value)
{
    const nl_str text = nl_table_property(metadata, key, NULL);
    if (!text.data) {
        *value = fallback;
        return NULL;
    }
    if (!nl_parse_int64(text, value))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The table property %s is no integer: \"" NL_STR_FMT "\"", key, NL_STR_ARG(text));
    return NULL;
}

bool nl_table_property_bool(const nl_table_metadata *metadata, const char *key, bool fallback)
{
    const nl_str text = nl_table_property(metadata, key, NULL);
    return text.data ? nl_str_is_nocase(text, "true") : fallback; /* Boolean.parseBoolean: anything else is false */
}

bool nl_table_metadata_wants_gzip(const nl_table_metadata *metadata)
{
    return nl_str_is_nocase(nl_table_property(metadata, "write.metadata.compression-codec", "none"), "gzip");
}
