/* lakehouse/s3tables/tables.c - tables of a table bucket: made with or without metadata, found, listed, moved, dropped; the
 * metadata pointer with its version token, which the REST catalog's commits move too. */
#include "lakehouse/s3tables/s3tables_private.h"

/* ---- Creation ---- */

static nl_status read_create(nl_s3tables_call *call, nl_table_creation *creation, bool *has_metadata)
{
    nl_str format = {0};
    const json_t *body = call->body ? call->body : json_null();
    NL_TRY(nl_json_text(body, "name", NL_S3TABLES_BODY, &call->name));
    NL_TRY(nl_json_text(body, "format", NL_S3TABLES_BODY, &format));
    NL_TRY(nl_s3tables_check_name(call, call->name, "table"));
    if (!nl_str_is(format, "ICEBERG")) return nl_s3tables_bad(call, "format is ICEBERG");
    NL_TRY(nl_s3tables_check_options(call));
    const json_t *metadata = json_object_get(body, "metadata");
    *has_metadata = metadata && !json_is_null(metadata);
    return *has_metadata ? nl_s3tables_read_metadata(call, metadata, creation) : NULL;
}

static nl_status publish(nl_s3tables_call *call, nl_pointer_change *change, nl_table_creation *creation)
{
    const nl_table_metadata *made = NULL;
    nl_kept_metadata kept = {0};
    if (!creation) return nl_tables_commit(call->tables, call->bucket.id, change, 1);
    creation->location = change->warehouse_location;
    NL_TRY(nl_table_metadata_create(creation, call->request->memory, &made));
    nl_status status = nl_tables_publish(call->tables, call->bucket.id, change, NULL, made, &kept);
    nl_table_metadata_release(made);
    nl_kept_metadata_release(&kept);
    return status;
}

nl_status nl_s3tables_create_table(nl_s3tables_call *call)
{
    nl_table_creation creation = {0};
    nl_namespace_entry scope;
    nl_table_entry entry;
    bool has_metadata, exists;
    NL_TRY(read_create(call, &creation, &has_metadata));
    NL_TRY(nl_s3tables_find_namespace(call, call->namespace_name, &scope));
    const nl_identifier identifier = {&call->namespace_name, 1, call->name};
    NL_TRY(nl_tables_find(call->tables, call->bucket.id, &identifier, call->arena, &entry, &exists));
    if (exists) return nl_s3tables_refuse(call, 409, "ConflictException", "A table with an identical name already exists in the namespace.");
    nl_pointer_change change = {.identifier = identifier};
    NL_TRY(nl_tables_new_storage(call->tables, call->arena, &change.uuid, &change.warehouse_location));
    NL_TRY(publish(call, &change, has_metadata ? &creation : NULL));
    NL_TRY(nl_tables_find(call->tables, call->bucket.id, &identifier, call->arena, &entry, &exists));
    NL_TRY(nl_s3tables_keep_options(call, change.uuid));
    nl_json_writer json = nl_s3tables_begin(call);
    nl_s3tables_text(&json, "tableARN", nl_s3tables_table_arn(call, &call->bucket, change.uuid));
    nl_s3tables_text(&json, "versionToken", entry.version_token);
    nl_s3tables_end(call, &json);
    return NULL;
}

/* ---- Finding ---- */

static nl_status find_named(nl_s3tables_call *call)
{
    bool exists = false;
    const nl_str arn = nl_s3tables_parameter(call, "tableArn");
    if (arn.length) return nl_s3tables_find_table_arn(call, arn);
    call->namespace_name = nl_s3tables_parameter(call, "namespace");
    call->name = nl_s3tables_parameter(call, "name");
    NL_TRY(nl_s3tables_find_bucket(call, nl_s3tables_parameter(call, "tableBucketARN"), &call->bucket));
    if (!call->namespace_name.length || !call->name.length) return nl_s3tables_bad(call, "Either tableArn or tableBucketARN, namespace and name are required.");
    const nl_identifier identifier = {&call->namespace_name, 1, call->name};
    NL_TRY(nl_tables_find(call->tables, call->bucket.id, &identifier, call->arena, &call->table, &exists));
    return exists && !call->table.is_view ? NULL : nl_s3tables_not_found(call, "table");
}

nl_status nl_s3tables_get_table(nl_s3tables_call *call)
{
    nl_namespace_entry scope;
    NL_TRY(find_named(call));
    const nl_table_entry *table = &call->table;
    NL_TRY(nl_s3tables_find_namespace(call, table->namespace_parts[0], &scope));
    nl_json_writer json = nl_s3tables_begin(call);
    nl_s3tables_text(&json, "name", table->name);
    nl_s3tables_text(&json, "type", NL_STR("customer"));
    nl_s3tables_text(&json, "tableARN", nl_s3tables_table_arn(call, &call->bucket, table->uuid));
    nl_s3tables_namespace(&json, table->namespace_parts[0]);
    nl_s3tables_text(&json, "namespaceId", scope.uuid);
    nl_s3tables_text(&json, "versionToken", table->version_token);
    if (table->metadata_location.length) nl_s3tables_text(&json, "metadataLocation", table->metadata_location);
    nl_s3tables_text(&json, "warehouseLocation", table->warehouse_location);
    nl_s3tables_time(call, &json, "createdAt", table->created_micros);
    nl_s3tables_text(&json, "createdBy", NL_S3TABLES_ACCOUNT);
    nl_s3tables_time(call, &json, "modifiedAt", table->modified_micros);
    nl_s3tables_text(&json, "modifiedBy", NL_S3TABLES_ACCOUNT);
    nl_s3tables_text(&json, "ownerAccountId", NL_S3TABLES_ACCOUNT);
    nl_s3tables_text(&json, "format", NL_STR("ICEBERG"));
    nl_s3tables_text(&json, "tableBucketId", call->bucket.token);
    nl_s3tables_end(call, &json);
    return NULL;
}

static nl_status write_tables(nl_s3tables_call *call, nl_json_writer *json, const nl_table_entry *entries, uint32_t count)
{
    nl_namespace_entry scope = {0};
    for (uint32_t i = 0; i < count; i++) {
        const nl_table_entry *table = &entries[i];
        if (!scope.parts || !nl_str_equal(scope.parts[0], table->namespace_parts[0])) NL_TRY(nl_s3tables_find_namespace(call, table->namespace_parts[0], &scope));
        nl_json_begin(json, '{');
        nl_s3tables_namespace(json, table->namespace_parts[0]);
        nl_s3tables_text(json, "name", table->name);
        nl_s3tables_text(json, "type", NL_STR("customer"));
        nl_s3tables_text(json, "tableARN", nl_s3tables_table_arn(call, &call->bucket, table->uuid));
        nl_s3tables_time(call, json, "createdAt", table->created_micros);
        nl_s3tables_time(call, json, "modifiedAt", table->modified_micros);
        nl_s3tables_text(json, "namespaceId", scope.uuid);
        nl_s3tables_text(json, "tableBucketId", call->bucket.token);
        nl_json_end(json, '}');
    }
    return NULL;
}

nl_status nl_s3tables_list_tables(nl_s3tables_call *call)
{
    const nl_table_entry *entries;
    nl_str after;
    uint32_t count_max, count;
    const nl_str scope = nl_s3tables_parameter(call, "namespace");
    NL_TRY(nl_s3tables_page(call, "maxTables", &after, &count_max));
    NL_TRY(nl_tables_list(call->tables, call->bucket.id, &scope, scope.length ? 1 : 0, false, nl_s3tables_parameter(call, "prefix"), after, count_max + 1, call->arena,
                          &entries, &count));
    const bool has_more = count > count_max;
    if (has_more) count = count_max;
    nl_json_writer json = nl_s3tables_begin(call);
    nl_json_key(&json, "tables");
    nl_json_begin(&json, '[');
    NL_TRY(write_tables(call, &json, entries, count));
    nl_json_end(&json, ']');
    if (has_more) {
        const nl_table_entry *last = &entries[count - 1];
        nl_s3tables_write_token(call, &json,
                                scope.length ? last->name
                                             : nl_arena_f(call->arena, NL_STR_FMT "\x1F" NL_STR_FMT, NL_STR_ARG(last->namespace_parts[0]), NL_STR_ARG(last->name)));
    }
    nl_s3tables_end(call, &json);
    return NULL;
}

/* ---- Changes ---- */

nl_status nl_s3tables_delete_table(nl_s3tables_call *call)
{
    bool was_dropped;
    const nl_identifier identifier = {&call->namespace_name, 1, call->name};
    NL_TRY(nl_tables_drop(call->tables, call->bucket.id, &identifier, false, nl_s3tables_parameter(call, "versionToken"), NULL, &was_dropped));
    return was_dropped ? NULL : nl_s3tables_not_found(call, "table");
}

nl_status nl_s3tables_rename_table(nl_s3tables_call *call)
{
    nl_str to_namespace = {0}, to_name = {0}, token = {0};
    if (call->body) {
        NL_TRY(nl_json_optional_text(call->body, "newNamespaceName", NL_S3TABLES_BODY, &to_namespace));
        NL_TRY(nl_json_optional_text(call->body, "newName", NL_S3TABLES_BODY, &to_name));
        NL_TRY(nl_json_optional_text(call->body, "versionToken", NL_S3TABLES_BODY, &token));
    }
    if (!to_namespace.length && !to_name.length) return nl_s3tables_bad(call, "At least one of newNamespaceName and newName is required.");
    if (!to_namespace.length) to_namespace = call->namespace_name;
    if (!to_name.length) to_name = call->name;
    NL_TRY(nl_s3tables_check_name(call, to_namespace, "namespace"));
    NL_TRY(nl_s3tables_check_name(call, to_name, "table"));
    const nl_identifier from = {&call->namespace_name, 1, call->name}, to = {&to_namespace, 1, to_name};
    return nl_tables_rename(call->tables, call->bucket.id, &from, &to, false, token, NULL);
}

nl_status nl_s3tables_get_location(nl_s3tables_call *call)
{
    nl_json_writer json = nl_s3tables_begin(call);
    nl_s3tables_text(&json, "versionToken", call->table.version_token);
    if (call->table.metadata_location.length) nl_s3tables_text(&json, "metadataLocation", call->table.metadata_location);
    nl_s3tables_text(&json, "warehouseLocation", call->table.warehouse_location);
    nl_s3tables_end(call, &json);
    return NULL;
}

nl_status nl_s3tables_update_location(nl_s3tables_call *call)
{
    nl_str token = {0}, file = {0};
    nl_kept_metadata kept = {0};
    const json_t *body = call->body ? call->body : json_null();
    NL_TRY(nl_json_text(body, "versionToken", NL_S3TABLES_BODY, &token));
    NL_TRY(nl_json_text(body, "metadataLocation", NL_S3TABLES_BODY, &file));
    if (!token.length) return nl_s3tables_bad(call, "versionToken is required");
    const nl_str root = nl_arena_f(call->arena, NL_STR_FMT "/", NL_STR_ARG(call->table.warehouse_location));
    if (!nl_str_starts(file, root)) return nl_s3tables_bad(call, "The metadata location is not below the table's warehouse location " NL_STR_FMT, NL_STR_ARG(root));
    NL_TRY(nl_tables_read_metadata(call->tables, file, &kept));
    nl_kept_metadata_release(&kept);
    const nl_identifier identifier = {&call->namespace_name, 1, call->name};
    const nl_str next_token = nl_tables_new_token(call->arena);
    const nl_pointer_change change = {.identifier = identifier, .next = file, .expected_token = token, .next_token = next_token};
    NL_TRY(nl_tables_commit(call->tables, call->bucket.id, &change, 1));
    nl_json_writer json = nl_s3tables_begin(call);
    nl_s3tables_text(&json, "name", call->name);
    nl_s3tables_text(&json, "tableARN", nl_s3tables_table_arn(call, &call->bucket, call->table.uuid));
    nl_s3tables_namespace(&json, call->namespace_name);
    nl_s3tables_text(&json, "versionToken", next_token);
    nl_s3tables_text(&json, "metadataLocation", file);
    nl_s3tables_end(call, &json);
    return NULL;
}
