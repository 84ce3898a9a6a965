/* iceberg/snapshot.c - snapshots, references and statistics files as JSON (spec, Appendix C). */
#include "iceberg/snapshot.h"

#include "base/json.h"

nl_str nl_snapshot_summary(const nl_snapshot *snapshot, const char *key)
{
    for (uint32_t i = 0; i < snapshot->summary_count; i++)
        if (nl_str_is(snapshot->summary[i].key, key)) return snapshot->summary[i].value;
    return (nl_str){0};
}

/* ---- Properties ---- */

nl_status nl_properties_from_json(nl_arena *arena, const json_t *json, const char *what, nl_str path, const nl_property **properties,
                                 uint32_t *count)
{
    if (!json || json_is_null(json)) return NULL; /* absent: *properties stays as it was */
    if (!json_is_object(json)) return nl_json_corrupt(path, "%s is not an object", what);
    nl_property *items = NL_NEW_ARRAY(arena, nl_property, json_object_size(json) + 1);
    NL_TRY(nl_arena_check(arena));
    uint32_t used = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)json, key, value) {
        if (!json_is_string(value)) return nl_json_corrupt(path, "%s: the value of %s is not a string", what, key);
        items[used].key = nl_arena_str(arena, nl_str_from(key));
        items[used++].value = nl_arena_str(arena, (nl_str){json_string_value(value), json_string_length(value)});
    }
    *properties = items;
    *count = used;
    return NULL;
}

const nl_property *nl_properties_copy(nl_arena *arena, const nl_property *properties, uint32_t count)
{
    nl_property *items = NL_NEW_ARRAY(arena, nl_property, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        items[i] = (nl_property){nl_arena_str(arena, properties[i].key), nl_arena_str(arena, properties[i].value)};
    return items;
}

static void write_properties(nl_json_writer *json, const nl_property *properties, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        nl_json_key_str(json, properties[i].key);
        nl_json_write_text(json, properties[i].value);
    }
}

/* ---- Snapshots ---- */

/* Takes "operation" out of the summary: Java keeps it apart too. */
static nl_status read_summary(nl_arena *arena, const json_t *json, nl_str path, nl_snapshot *snapshot)
{
    const nl_property *all = NULL;
    uint32_t count = 0;
    NL_TRY(nl_properties_from_json(arena, json_object_get(json, "summary"), "summary", path, &all, &count));
    nl_property *rest = NL_NEW_ARRAY(arena, nl_property, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (nl_str_is(all[i].key, "operation")) snapshot->operation = all[i].value;
        else rest[snapshot->summary_count++] = all[i];
    }
    snapshot->summary = rest;
    return NULL;
}

static nl_status read_manifests(nl_arena *arena, const json_t *json, nl_str path, nl_snapshot *snapshot)
{
    const json_t *array;
    NL_TRY(nl_json_optional_array(json, "manifests", path, &array));
    if (!array) return nl_json_corrupt(path, "a snapshot has neither manifest-list nor manifests");
    const size_t count = json_array_size(array);
    nl_str *manifests = NL_NEW_ARRAY(arena, nl_str, count + 1);
    NL_TRY(nl_arena_check(arena));
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_string(item)) return nl_json_corrupt(path, "manifests holds something that is not a string");
        manifests[i] = nl_arena_str(arena, (nl_str){json_string_value(item), json_string_length(item)});
    }
    snapshot->manifests = manifests;
    snapshot->manifest_count = (uint32_t)count;
    return NULL;
}

nl_status nl_snapshot_from_json(nl_arena *arena, const json_t *json, nl_str path, nl_snapshot *snapshot)
{
    static const char *const known[] = {"snapshot-id", "parent-snapshot-id", "sequence-number", "timestamp-ms", "manifest-list", "manifests",
                                        "summary",     "schema-id",          "first-row-id",    "added-rows",   "key-id",        NULL};
    nl_snapshot made = {.parent_id = NL_NONE, .schema_id = NL_NONE, .first_row_id = NL_NONE, .added_rows = NL_NONE};
    NL_TRY(nl_json_object(json, path, "a snapshot"));
    NL_TRY(nl_json_int64(json, "snapshot-id", path, &made.snapshot_id));
    NL_TRY(nl_json_optional_int64(json, "parent-snapshot-id", path, &made.parent_id));
    NL_TRY(nl_json_optional_int64(json, "sequence-number", path, &made.sequence_number));
    NL_TRY(nl_json_int64(json, "timestamp-ms", path, &made.timestamp_ms));
    NL_TRY(nl_json_optional_text(json, "manifest-list", path, &made.manifest_list));
    NL_TRY(nl_json_optional_int32(json, "schema-id", path, &made.schema_id));
    NL_TRY(nl_json_optional_int64(json, "first-row-id", path, &made.first_row_id));
    NL_TRY(nl_json_optional_int64(json, "added-rows", path, &made.added_rows));
    NL_TRY(nl_json_optional_text(json, "key-id", path, &made.key_id));
    if (made.sequence_number < 0) return nl_json_corrupt(path, "a snapshot's sequence-number is negative");
    NL_TRY(read_summary(arena, json, path, &made));
    if (made.manifest_list.length) made.manifest_list = nl_arena_str(arena, made.manifest_list);
    else NL_TRY(read_manifests(arena, json, path, &made));
    if (made.key_id.length) made.key_id = nl_arena_str(arena, made.key_id);
    made.unknown = nl_json_unknown(arena, json, known);
    *snapshot = made;
    return nl_arena_check(arena);
}

nl_snapshot nl_snapshot_copy(nl_arena *arena, const nl_snapshot *snapshot)
{
    nl_snapshot copy = *snapshot;
    copy.manifest_list = nl_arena_str(arena, snapshot->manifest_list);
    copy.operation = nl_arena_str(arena, snapshot->operation);
    copy.key_id = nl_arena_str(arena, snapshot->key_id);
    copy.summary = nl_properties_copy(arena, snapshot->summary, snapshot->summary_count);
    nl_str *manifests = NL_NEW_ARRAY(arena, nl_str, (size_t)snapshot->manifest_count + 1);
    for (uint32_t i = 0; i < snapshot->manifest_count; i++)
        manifests[i] = nl_arena_str(arena, snapshot->manifests[i]);
    copy.manifests = manifests;
    copy.unknown = nl_json_keep(arena, snapshot->unknown);
    return copy;
}

static void write_optional_int(nl_json_writer *json, const char *key, int64_t value)
{
    if (value == NL_NONE) return;
    nl_json_key(json, key);
    nl_json_write_int(json, value);
}

void nl_snapshot_append_json(const nl_snapshot *snapshot, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '{');
    if (snapshot->sequence_number > 0) {
        nl_json_key(&json, "sequence-number");
        nl_json_write_int(&json, snapshot->sequence_number);
    }
    nl_json_key(&json, "snapshot-id");
    nl_json_write_int(&json, snapshot->snapshot_id);
    write_optional_int(&json, "parent-snapshot-id", snapshot->parent_id);
    nl_json_key(&json, "timestamp-ms");
    nl_json_write_int(&json, snapshot->timestamp_ms);
    if (snapshot->operation.length) {
        nl_json_key(&json, "summary");
        nl_json_begin(&json, '{');
        nl_json_key(&json, "operation");
        nl_json_write_text(&json, snapshot->operation);
        write_properties(&json, snapshot->summary, snapshot->summary_count);
        nl_json_end(&json, '}');
    }
    if (snapshot->manifest_list.length) {
        nl_json_key(&json, "manifest-list");
        nl_json_write_text(&json, snapshot->manifest_list);
    } else {
        nl_json_key(&json, "manifests");
        nl_json_begin(&json, '[');
        for (uint32_t i = 0; i < snapshot->manifest_count; i++)
            nl_json_write_text(&json, snapshot->manifests[i]);
        nl_json_end(&json, ']');
    }
    write_optional_int(&json, "schema-id", snapshot->schema_id);
    write_optional_int(&json, "first-row-id", snapshot->first_row_id);
    write_optional_int(&json, "added-rows", snapshot->added_rows);
    if (snapshot->key_id.length) {
        nl_json_key(&json, "key-id");
        nl_json_write_text(&json, snapshot->key_id);
    }
    nl_json_write_members(&json, snapshot->unknown);
    nl_json_end(&json, '}');
}

/* ---- References ---- */

nl_status nl_snapshot_ref_from_json(nl_arena *arena, nl_str name, const json_t *json, nl_str path, nl_snapshot_ref *ref)
{
    nl_str type = {0};
    nl_snapshot_ref made = {.name = nl_arena_str(arena, name),
                            .min_snapshots_to_keep = NL_NONE,
                            .max_snapshot_age_ms = NL_NONE,
                            .max_ref_age_ms = NL_NONE};
    NL_TRY(nl_json_object(json, path, "a snapshot reference"));
    NL_TRY(nl_json_int64(json, "snapshot-id", path, &made.snapshot_id));
    NL_TRY(nl_json_text(json, "type", path, &type));
    NL_TRY(nl_json_optional_int32(json, "min-snapshots-to-keep", path, &made.min_snapshots_to_keep));
    NL_TRY(nl_json_optional_int64(json, "max-snapshot-age-ms", path, &made.max_snapshot_age_ms));
    NL_TRY(nl_json_optional_int64(json, "max-ref-age-ms", path, &made.max_ref_age_ms));
    made.is_tag = nl_str_is_nocase(type, "tag");
    if (!made.is_tag && !nl_str_is_nocase(type, "branch")) return nl_json_corrupt(path, "Invalid snapshot ref type: " NL_STR_FMT, NL_STR_ARG(type));
    *ref = made;
    return NULL;
}

void nl_snapshot_ref_append_json(const nl_snapshot_ref *ref, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "snapshot-id");
    nl_json_write_int(&json, ref->snapshot_id);
    nl_json_key(&json, "type");
    nl_json_write_text(&json, ref->is_tag ? NL_STR("tag") : NL_STR("branch"));
    write_optional_int(&json, "min-snapshots-to-keep", ref->min_snapshots_to_keep);
    write_optional_int(&json, "max-snapshot-age-ms", ref->max_snapshot_age_ms);
    write_optional_int(&json, "max-ref-age-ms", ref->max_ref_age_ms);
    nl_json_end(&json, '}');
}

/* ---- Statistics ---- */

static nl_status read_blob(nl_arena *arena, const json_t *json, nl_str path, nl_blob_metadata *blob)
{
    const json_t *fields;
    NL_TRY(nl_json_object(json, path, "a blob's metadata"));
    NL_TRY(nl_json_text(json, "type", path, &blob->type));
    NL_TRY(nl_json_int64(json, "snapshot-id", path, &blob->snapshot_id));
    NL_TRY(nl_json_int64(json, "sequence-number", path, &blob->sequence_number));
    NL_TRY(nl_json_array(json, "fields", path, &fields));
    NL_TRY(nl_json_int32_list(arena, fields, "fields", path, &blob->fields, &blob->field_count));
    blob->type = nl_arena_str(arena, blob->type);
    return nl_properties_from_json(arena, json_object_get(json, "properties"), "properties", path, &blob->properties, &blob->property_count);
}

nl_status nl_statistics_file_from_json(nl_arena *arena, const json_t *json, nl_str path, nl_statistics_file *file)
{
    nl_statistics_file made = {0};
    const json_t *blobs;
    NL_TRY(nl_json_object(json, path, "a statistics file"));
    NL_TRY(nl_json_int64(json, "snapshot-id", path, &made.snapshot_id));
    NL_TRY(nl_json_text(json, "statistics-path", path, &made.path));
    NL_TRY(nl_json_int64(json, "file-size-in-bytes", path, &made.file_size_bytes));
    NL_TRY(nl_json_int64(json, "file-footer-size-in-bytes", path, &made.footer_size_bytes));
    NL_TRY(nl_json_optional_text(json, "key-metadata", path, &made.key_metadata));
    NL_TRY(nl_json_array(json, "blob-metadata", path, &blobs));
    made.blob_count = (uint32_t)json_array_size(blobs);
    nl_blob_metadata *items = NL_NEW_ARRAY(arena, nl_blob_metadata, (size_t)made.blob_count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < made.blob_count; i++)
        NL_TRY(read_blob(arena, json_array_get(blobs, i), path, &items[i]));
    made.blobs = items;
    made.path = nl_arena_str(arena, made.path);
    made.key_metadata = nl_arena_str(arena, made.key_metadata);
    *file = made;
    return nl_arena_check(arena);
}

nl_statistics_file nl_statistics_file_copy(nl_arena *arena, const nl_statistics_file *file)
{
    nl_statistics_file copy = *file;
    nl_blob_metadata *items = NL_NEW_ARRAY(arena, nl_blob_metadata, (size_t)file->blob_count + 1);
    for (uint32_t i = 0; i < file->blob_count; i++) {
        const nl_blob_metadata *blob = &file->blobs[i];
        int32_t *fields = NL_NEW_ARRAY(arena, int32_t, (size_t)blob->field_count + 1);
        for (uint32_t k = 0; k < blob->field_count; k++)
            fields[k] = blob->fields[k];
        items[i] = *blob;
        items[i].type = nl_arena_str(arena, blob->type);
        items[i].fields = fields;
        items[i].properties = nl_properties_copy(arena, blob->properties, blob->property_count);
    }
    copy.blobs = items;
    copy.path = nl_arena_str(arena, file->path);
    copy.key_metadata = nl_arena_str(arena, file->key_metadata);
    return copy;
}

static void write_blob(nl_json_writer *json, const nl_blob_metadata *blob)
{
    nl_json_begin(json, '{');
    nl_json_key(json, "type");
    nl_json_write_text(json, blob->type);
    nl_json_key(json, "snapshot-id");
    nl_json_write_int(json, blob->snapshot_id);
    nl_json_key(json, "sequence-number");
    nl_json_write_int(json, blob->sequence_number);
    nl_json_key(json, "fields");
    nl_json_begin(json, '[');
    for (uint32_t k = 0; k < blob->field_count; k++)
        nl_json_write_int(json, blob->fields[k]);
    nl_json_end(json, ']');
    if (blob->property_count) {
        nl_json_key(json, "properties");
        nl_json_begin(json, '{');
        write_properties(json, blob->properties, blob->property_count);
        nl_json_end(json, '}');
    }
    nl_json_end(json, '}');
}

void nl_statistics_file_append_json(const nl_statistics_file *file, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "snapshot-id");
    nl_json_write_int(&json, file->snapshot_id);
    nl_json_key(&json, "statistics-path");
    nl_json_write_text(&json, file->path);
    nl_json_key(&json, "file-size-in-bytes");
    nl_json_write_int(&json, file->file_size_bytes);
    nl_json_key(&json, "file-footer-size-in-bytes");
    nl_json_write_int(&json, file->footer_size_bytes);
    if (file->key_metadata.length) {
        nl_json_key(&json, "key-metadata");
        nl_json_write_text(&json, file->key_metadata);
    }
    nl_json_key(&json, "blob-metadata");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < file->blob_count; i++)
        write_blob(&json, &file->blobs[i]);
    nl_json_end(&json, ']');
    nl_json_end(&json, '}');
}

nl_status nl_partition_statistics_file_from_json(nl_arena *arena, const json_t *json, nl_str path, nl_partition_statistics_file *file)
{
    nl_partition_statistics_file made = {0};
    NL_TRY(nl_json_object(json, path, "a partition statistics file"));
    NL_TRY(nl_json_int64(json, "snapshot-id", path, &made.snapshot_id));
    NL_TRY(nl_json_text(json, "statistics-path", path, &made.path));
    NL_TRY(nl_json_int64(json, "file-size-in-bytes", path, &made.file_size_bytes));
    made.path = nl_arena_str(arena, made.path);
    *file = made;
    return NULL;
}

void nl_partition_statistics_file_append_json(const nl_partition_statistics_file *file, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "snapshot-id");
    nl_json_write_int(&json, file->snapshot_id);
    nl_json_key(&json, "statistics-path");
    nl_json_write_text(&json, file->path);
    nl_json_key(&json, "file-size-in-bytes");
    nl_json_write_int(&json, file->file_size_bytes);
    nl_json_end(&json, '}');
}
