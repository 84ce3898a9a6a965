/* lakehouse/rest/tables.c - tables but for commits: listed, created, staged, loaded, registered, renamed, dropped. */
#include "lakehouse/rest/rest_private.h"

#include "catalog/pointer.h"
#include "storage/http.h"
#include "storage/sigv4.h"

/* ---- Answers ---- */

static bool wants(nl_rest_api_call *call, const char *delegation)
{
    return nl_str_find(nl_request_header(call->request, "x-iceberg-access-delegation"), nl_str_from(delegation), 0) != NL_NOT_FOUND;
}

/* The S3 service under the host name that the client itself used. */
static nl_str s3_endpoint(nl_rest_api_call *call)
{
    nl_str host = nl_request_header(call->request, "host");
    const size_t colon = nl_str_find_last_char(host, ':');
    const size_t bracket = nl_str_find_last_char(host, ']');
    if (colon != NL_NOT_FOUND && (bracket == NL_NOT_FOUND || colon > bracket)) host = nl_str_slice(host, 0, colon);
    if (!host.length) host = NL_STR("localhost");
    return nl_arena_f(call->arena, "http://" NL_STR_FMT ":%u", NL_STR_ARG(host), nl_tables_s3_port(call->tables));
}

static void write_member(nl_json_writer *json, const char *key, nl_str value)
{
    nl_json_key(json, key);
    nl_json_write_text(json, value);
}

void nl_rest_api_write_io_config(nl_rest_api_call *call, nl_json_writer *json, bool has_keys)
{
    if (!nl_tables_s3_port(call->tables)) return;
    write_member(json, "s3.endpoint", s3_endpoint(call));
    write_member(json, "s3.path-style-access", NL_STR("true"));
    write_member(json, "client.region", NL_STR("us-east-1"));
    if (!has_keys) return;
    write_member(json, "s3.access-key-id", call->rest->options.keys.access_key);
    write_member(json, "s3.secret-access-key", call->rest->options.keys.secret_key);
}

static void write_storage_credentials(nl_rest_api_call *call, nl_json_writer *json, nl_str location)
{
    nl_json_key(json, "storage-credentials");
    nl_json_begin(json, '[');
    if (nl_tables_s3_port(call->tables) && nl_str_starts(location, NL_STR("s3"))) {
        nl_json_begin(json, '{');
        write_member(json, "prefix", location);
        nl_json_key(json, "config");
        nl_json_begin(json, '{');
        nl_rest_api_write_io_config(call, json, true);
        nl_json_end(json, '}');
        nl_json_end(json, '}');
    }
    nl_json_end(json, ']');
}

/* Where requests for the table's files are signed: Java's client does not find it by itself. For a table that is not there yet
 * (CTAS writes its files before it commits) with its place, and a proof that it is ours. */
static void write_signer(nl_rest_api_call *call, nl_json_writer *json, nl_str location, bool is_staged)
{
    static const nl_str version = NL_STR_INIT("/v1/"), namespaces = NL_STR_INIT("/namespaces/");
    const nl_str path = call->request->path; /* …/v1/…/namespaces/a/tables…; what the client adds to its uri begins with v1 */
    const size_t start = nl_str_find(path, version, 0), scope = nl_str_find(path, namespaces, 0);
    const json_t *named = json_object_get(call->body, "name"); /* of what is created or registered */
    nl_str name = call->identifier.name, proof = {0};
    if (!name.length && json_is_string(named)) name = nl_str_from(json_string_value(named));
    if (start == NL_NOT_FOUND || scope == NL_NOT_FOUND || !name.length) return;
    const size_t end = nl_str_find_char(path, '/', scope + namespaces.length);
    if (is_staged) {
        const nl_str key = nl_rest_api_staged_key(call, location), encoded = nl_url_encode(call->arena, location, false);
        proof = nl_arena_f(call->arena, "?staged=" NL_STR_FMT "&key=" NL_STR_FMT, NL_STR_ARG(encoded), NL_STR_ARG(key));
    }
    write_member(json, "s3.signer.endpoint", nl_arena_f(call->arena, NL_STR_FMT "/tables/" NL_STR_FMT "/sign" NL_STR_FMT, NL_STR_ARG(nl_str_slice(path, start + 1, end)),
                                                        NL_STR_ARG(nl_url_encode(call->arena, name, false)), NL_STR_ARG(proof)));
}

/* Keys only when they are asked for: a table's config overrides what the client was configured with. */
static void write_config(nl_rest_api_call *call, nl_json_writer *json, nl_str location, bool is_staged)
{
    const bool is_on_s3 = nl_str_starts(location, NL_STR("s3"));
    const bool wants_keys = is_on_s3 && wants(call, "vended-credentials");
    nl_json_key(json, "config");
    nl_json_begin(json, '{');
    if (wants_keys) {
        nl_rest_api_write_io_config(call, json, true);
    } else if (is_on_s3 && wants(call, "remote-signing")) {
        nl_rest_api_write_io_config(call, json, false);
        write_member(json, "s3.remote-signing-enabled", NL_STR("true"));
        write_signer(call, json, location, is_staged);
    }
    nl_json_end(json, '}');
    if (wants_keys) write_storage_credentials(call, json, location);
}

/* The metadata whose snapshots are those that a branch or tag names. */
static void write_with_refs_only(nl_rest_api_call *call, const nl_table_metadata *metadata, nl_builder *out)
{
    nl_table_metadata shown = *metadata;
    nl_snapshot *kept = NL_NEW_ARRAY(call->arena, nl_snapshot, (size_t)metadata->snapshot_count + 1);
    bool *is_named = NL_NEW_ARRAY(call->arena, bool, (size_t)metadata->snapshot_count + 1);
    for (uint32_t i = 0; i < metadata->ref_count; i++) {
        const nl_snapshot *snapshot = nl_table_snapshot(metadata, metadata->refs[i].snapshot_id);
        if (snapshot) is_named[snapshot - metadata->snapshots] = true;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        if (is_named[i]) kept[count++] = metadata->snapshots[i];
    shown.snapshots = kept;
    shown.snapshot_count = count;
    nl_table_metadata_append_json(&shown, out);
}

static bool is_refs_only(nl_rest_api_call *call)
{
    return nl_str_is_nocase(nl_request_parameter(call->request, "snapshots", NULL), "refs");
}

static nl_str entity_tag(nl_rest_api_call *call, nl_str metadata_file, bool is_short)
{
    uint8_t digest[32];
    nl_sha256((nl_bytes){(const uint8_t *)metadata_file.data, metadata_file.length}, digest);
    const nl_str hex = nl_hex(call->arena, digest, 16);
    return nl_arena_f(call->arena, "\"" NL_STR_FMT "%s\"", NL_STR_ARG(hex), is_short ? "-refs" : "");
}

void nl_rest_api_write_table(nl_rest_api_call *call, const nl_rest_api_table_reply *table)
{
    const nl_table_metadata *metadata = table->kept->metadata;
    const bool is_short = call->request->method.data[0] == 'G' && is_refs_only(call);
    nl_json_writer json = nl_rest_api_begin(call);
    if (!table->is_staged) write_member(&json, "metadata-location", metadata->metadata_file);
    nl_json_key(&json, "metadata");
    nl_json_before_value(&json);
    if (is_short) write_with_refs_only(call, metadata, json.out);
    else nl_append(json.out, (nl_str){(const char *)table->kept->json->data, table->kept->json->size_bytes});
    nl_json_after_value(&json);
    if (!table->is_commit) write_config(call, &json, metadata->location, table->is_staged);
    nl_rest_api_end(call, &json, 200);
    if (!table->is_staged) nl_reply_header(call->request, call->reply, "ETag", entity_tag(call, metadata->metadata_file, is_short));
}

nl_status nl_rest_api_load(nl_rest_api_call *call, const nl_identifier *identifier, nl_table_entry *entry, nl_kept_metadata *kept)
{
    bool exists;
    NL_TRY(nl_tables_find(call->tables, call->warehouse.id, identifier, call->arena, entry, &exists));
    if (!exists || entry->is_view || !entry->metadata_location.length) return nl_rest_api_no_table(call, identifier);
    return nl_tables_read_metadata(call->tables, entry->metadata_location, kept);
}

/* A path's table that cannot be: an empty level or name would fail deeper with other words. */
nl_status nl_rest_api_check_path(nl_rest_api_call *call, bool is_view)
{
    bool is_bad = call->identifier.name.length == 0;
    for (uint32_t i = 0; i < call->identifier.namespace_count; i++)
        is_bad = is_bad || call->identifier.namespace_parts[i].length == 0;
    if (!is_bad) return NULL;
    return is_view ? nl_rest_api_no_view(call, &call->identifier) : nl_rest_api_no_table(call, &call->identifier);
}

/* ---- Lists ---- */

nl_status nl_rest_api_list(nl_rest_api_call *call, bool views)
{
    const nl_table_entry *entries;
    nl_str after;
    uint32_t count_max, count;
    bool is_paged;
    NL_TRY(nl_rest_api_page(call, &after, &count_max, &is_paged));
    NL_TRY(nl_tables_list(call->tables, call->warehouse.id, call->identifier.namespace_parts, call->identifier.namespace_count, views, (nl_str){0}, after,
                          count_max + 1, call->arena, &entries, &count));
    const bool has_more = count > count_max;
    if (has_more) count = count_max;
    nl_json_writer json = nl_rest_api_begin(call);
    nl_json_key(&json, "identifiers");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < count; i++) {
        nl_json_begin(&json, '{');
        nl_json_key(&json, "namespace");
        nl_json_begin(&json, '[');
        for (uint32_t k = 0; k < entries[i].namespace_count; k++)
            nl_json_write_text(&json, entries[i].namespace_parts[k]);
        nl_json_end(&json, ']');
        write_member(&json, "name", entries[i].name);
        nl_json_end(&json, '}');
    }
    nl_json_end(&json, ']');
    nl_rest_api_write_page_token(call, &json, is_paged, has_more, count ? entries[count - 1].name : (nl_str){0});
    nl_rest_api_end(call, &json, 200);
    return NULL;
}

nl_status nl_rest_api_list_tables(nl_rest_api_call *call)
{
    return nl_rest_api_list(call, false);
}

/* ---- Creation ---- */

typedef struct table_creation {
    nl_identifier identifier;
    nl_table_creation creation;
    bool is_staged;
    nl_str storage, uuid; /* of a table bucket's table */
} table_creation;

static bool is_value(const json_t *json)
{
    return json && !json_is_null(json);
}

static nl_status read_creation(nl_rest_api_call *call, table_creation *table)
{
    const json_t *schema = json_object_get(call->body, "schema");
    const json_t *spec = json_object_get(call->body, "partition-spec");
    const json_t *order = json_object_get(call->body, "write-order");
    table->identifier = (nl_identifier){call->identifier.namespace_parts, call->identifier.namespace_count, {0}};
    NL_TRY(nl_json_text(call->body, "name", NL_REST_API_BODY, &table->identifier.name));
    NL_TRY(nl_rest_api_check_names(call, &table->identifier));
    if (!is_value(schema)) return nl_rest_api_refuse(call, 400, "BadRequestException", "Malformed request: the required key schema is missing");
    NL_TRY(nl_schema_from_json(call->arena, schema, NL_REST_API_BODY, &table->creation.schema));
    if (is_value(spec)) NL_TRY(nl_partition_spec_from_json(call->arena, spec, NL_REST_API_BODY, &table->creation.spec));
    if (is_value(order)) NL_TRY(nl_sort_order_from_json(call->arena, order, NL_REST_API_BODY, &table->creation.sort_order));
    NL_TRY(nl_json_optional_text(call->body, "location", NL_REST_API_BODY, &table->creation.location));
    NL_TRY(nl_json_optional_bool(call->body, "stage-create", NL_REST_API_BODY, &table->is_staged));
    return nl_properties_from_json(call->arena, json_object_get(call->body, "properties"), "properties", NL_REST_API_BODY, &table->creation.properties,
                                   &table->creation.property_count);
}

nl_status nl_rest_api_check_free(nl_rest_api_call *call, const nl_identifier *identifier, bool wants_view)
{
    nl_namespace_entry scope;
    nl_table_entry entry;
    bool exists;
    NL_TRY(nl_tables_find_namespace(call->tables, call->warehouse.id, identifier->namespace_parts, identifier->namespace_count, call->arena, &scope, &exists));
    if (!exists) return nl_rest_api_no_namespace(call, identifier);
    NL_TRY(nl_tables_find(call->tables, call->warehouse.id, identifier, call->arena, &entry, &exists));
    if (!exists) return NULL;
    const nl_str name = nl_rest_api_dotted(call->arena, identifier);
    return nl_rest_api_refuse(call, 409, "AlreadyExistsException", "%s %salready exists: " NL_STR_FMT, entry.is_view ? "View" : "Table",
                          entry.is_view != wants_view ? "with same name " : "", NL_STR_ARG(name));
}

/* Where the table goes; a table of a table bucket gets a bucket of its own. */
static nl_status choose_location(nl_rest_api_call *call, table_creation *table)
{
    nl_str *location = &table->creation.location;
    if (call->warehouse.kind == NL_WAREHOUSE_TABLE_BUCKET) {
        if (location->length) return nl_rest_api_refuse(call, 400, "BadRequestException", "The location of a table in a table bucket cannot be chosen");
        NL_TRY(nl_tables_new_storage(call->tables, call->arena, &table->uuid, &table->storage));
        *location = table->storage;
        return NULL;
    }
    if (!location->length) NL_TRY(nl_tables_default_location(call->tables, &call->warehouse, &table->identifier, call->arena, location));
    while (location->length > 1 && location->data[location->length - 1] == '/')
        location->length--;
    for (uint32_t i = 0; i < table->creation.property_count; i++)
        if (nl_str_is(table->creation.properties[i].key, "write.metadata.path"))
            NL_TRY(nl_tables_check_location(call->tables, &call->warehouse, table->creation.properties[i].value));
    return nl_tables_check_location(call->tables, &call->warehouse, *location);
}

static nl_status publish(nl_rest_api_call *call, const table_creation *table, const nl_table_metadata *made, nl_kept_metadata *kept)
{
    const nl_pointer_change change = {.identifier = table->identifier, .warehouse_location = table->storage, .uuid = table->uuid,
                                      .remembered = nl_rest_api_remembered(call, 200, (nl_str){0})};
    return nl_tables_publish(call->tables, call->warehouse.id, &change, NULL, made, kept);
}

nl_status nl_rest_api_create_table(nl_rest_api_call *call)
{
    table_creation table = {0};
    const nl_table_metadata *made = NULL;
    nl_kept_metadata kept = {0};
    NL_TRY(read_creation(call, &table));
    NL_TRY(nl_rest_api_check_free(call, &table.identifier, false));
    NL_TRY(choose_location(call, &table));
    nl_status status = nl_table_metadata_create(&table.creation, call->request->memory, &made);
    if (!status && table.is_staged) {
        kept.metadata = nl_table_metadata_retain(made);
        status = nl_table_metadata_encode(made, false, call->request->memory, &kept.json);
    } else if (!status) {
        status = publish(call, &table, made, &kept);
    }
    if (!status) nl_rest_api_write_table(call, &(nl_rest_api_table_reply){.kept = &kept, .is_staged = table.is_staged});
    nl_kept_metadata_release(&kept);
    nl_table_metadata_release(made);
    return status;
}

nl_status nl_rest_api_register_table(nl_rest_api_call *call)
{
    nl_identifier identifier = {call->identifier.namespace_parts, call->identifier.namespace_count, {0}};
    nl_str file;
    nl_fs *fs;
    nl_file_info info;
    nl_kept_metadata kept = {0};
    nl_table_entry entry;
    bool is_overwrite = false, exists;
    NL_TRY(nl_json_text(call->body, "name", NL_REST_API_BODY, &identifier.name));
    NL_TRY(nl_json_text(call->body, "metadata-location", NL_REST_API_BODY, &file));
    NL_TRY(nl_json_optional_bool(call->body, "overwrite", NL_REST_API_BODY, &is_overwrite));
    NL_TRY(nl_rest_api_check_names(call, &identifier));
    if (!is_overwrite) NL_TRY(nl_rest_api_check_free(call, &identifier, false));
    NL_TRY(nl_tables_find(call->tables, call->warehouse.id, &identifier, call->arena, &entry, &exists));
    NL_TRY(nl_tables_check_location(call->tables, &call->warehouse, file));
    NL_TRY(nl_tables_fs(call->tables, file, &fs));
    NL_TRY(nl_fs_stat(fs, file, &info)); /* what is kept of it could be older than its removal */
    NL_TRY(nl_tables_read_metadata(call->tables, file, &kept));
    const nl_pointer_change change = {.identifier = identifier, .expected = exists ? entry.metadata_location : (nl_str){0}, .next = file,
                                      .remembered = nl_rest_api_remembered(call, 200, (nl_str){0})};
    nl_status status = nl_tables_commit(call->tables, call->warehouse.id, &change, 1);
    if (!status) nl_rest_api_write_table(call, &(nl_rest_api_table_reply){.kept = &kept});
    nl_kept_metadata_release(&kept);
    return status;
}

/* ---- One table ---- */

nl_status nl_rest_api_load_table(nl_rest_api_call *call)
{
    nl_table_entry entry;
    nl_kept_metadata kept;
    NL_TRY(nl_rest_api_check_path(call, false));
    const nl_str mode = nl_request_parameter(call->request, "snapshots", NULL);
    if (mode.length && !nl_str_is_nocase(mode, "all") && !nl_str_is_nocase(mode, "refs"))
        return nl_rest_api_refuse(call, 400, "BadRequestException", "Invalid snapshots: " NL_STR_FMT " (all or refs)", NL_STR_ARG(mode));
    NL_TRY(nl_rest_api_load(call, &call->identifier, &entry, &kept));
    const nl_str known = nl_request_header(call->request, "if-none-match");
    const nl_str tag = entity_tag(call, kept.metadata->metadata_file, is_refs_only(call));
    if (known.length && (nl_str_is(known, "*") || nl_str_find(known, tag, 0) != NL_NOT_FOUND)) {
        nl_rest_api_empty(call, 304);
        nl_reply_header(call->request, call->reply, "ETag", tag);
    } else {
        nl_rest_api_write_table(call, &(nl_rest_api_table_reply){.kept = &kept});
    }
    nl_kept_metadata_release(&kept);
    return NULL;
}

nl_status nl_rest_api_table_exists(nl_rest_api_call *call)
{
    nl_table_entry entry;
    bool exists;
    NL_TRY(nl_rest_api_check_path(call, false));
    NL_TRY(nl_tables_find(call->tables, call->warehouse.id, &call->identifier, call->arena, &entry, &exists));
    if (!exists || entry.is_view || !entry.metadata_location.length) return nl_rest_api_no_table(call, &call->identifier);
    nl_rest_api_empty(call, 204);
    return NULL;
}

static nl_status purge(nl_rest_api_call *call, const nl_kept_metadata *kept)
{
    nl_fs *fs;
    NL_TRY(nl_tables_warehouse_fs(call->tables, &call->warehouse, kept->metadata->location, &fs));
    nl_status status = nl_purge_table_files(fs, kept->metadata, call->request->memory);
    nl_fs_release(fs);
    return status;
}

nl_status nl_rest_api_drop_table(nl_rest_api_call *call)
{
    nl_table_entry entry;
    nl_kept_metadata kept = {0};
    bool exists, was_dropped = false;
    NL_TRY(nl_rest_api_check_path(call, false));
    NL_TRY(nl_tables_find(call->tables, call->warehouse.id, &call->identifier, call->arena, &entry, &exists));
    if (!exists || entry.is_view) return nl_rest_api_no_table(call, &call->identifier);
    const bool is_purge = nl_str_is_nocase(nl_request_parameter(call->request, "purgeRequested", NULL), "true") &&
                          call->warehouse.kind != NL_WAREHOUSE_TABLE_BUCKET && entry.metadata_location.length;
    if (is_purge) NL_TRY(nl_tables_read_metadata(call->tables, entry.metadata_location, &kept));
    nl_status status = is_purge ? nl_check_purge(kept.metadata) : NULL;
    if (!status)
        status = nl_tables_drop(call->tables, call->warehouse.id, &call->identifier, false, is_purge ? entry.version_token : (nl_str){0},
                                nl_rest_api_remembered(call, 204, (nl_str){0}), &was_dropped);
    if (!status && !was_dropped) status = nl_rest_api_no_table(call, &call->identifier);
    if (!status && is_purge) status = purge(call, &kept);
    nl_kept_metadata_release(&kept);
    if (!status) nl_rest_api_empty(call, 204);
    return status;
}

nl_status nl_rest_api_rename(nl_rest_api_call *call, bool is_view)
{
    nl_identifier from, to;
    nl_table_entry entry;
    bool exists;
    NL_TRY(nl_rest_api_read_identifier(call, json_object_get(call->body, "source"), &from));
    NL_TRY(nl_rest_api_read_identifier(call, json_object_get(call->body, "destination"), &to));
    NL_TRY(nl_rest_api_check_names(call, &to));
    NL_TRY(nl_tables_find(call->tables, call->warehouse.id, &from, call->arena, &entry, &exists));
    if (!exists || entry.is_view != is_view) return is_view ? nl_rest_api_no_view(call, &from) : nl_rest_api_no_table(call, &from);
    NL_TRY(nl_tables_find(call->tables, call->warehouse.id, &to, call->arena, &entry, &exists));
    const nl_str from_name = nl_rest_api_dotted(call->arena, &from), to_name = nl_rest_api_dotted(call->arena, &to);
    if (exists)
        return nl_rest_api_refuse(call, 409, "AlreadyExistsException", "Cannot rename " NL_STR_FMT " to " NL_STR_FMT ". %s already exists", NL_STR_ARG(from_name),
                              NL_STR_ARG(to_name), entry.is_view ? "View" : "Table");
    NL_TRY(nl_tables_rename(call->tables, call->warehouse.id, &from, &to, is_view, (nl_str){0}, nl_rest_api_remembered(call, 204, (nl_str){0})));
    nl_rest_api_empty(call, 204);
    return NULL;
}

nl_status nl_rest_api_rename_table(nl_rest_api_call *call)
{
    return nl_rest_api_rename(call, false);
}

nl_status nl_rest_api_report_metrics(nl_rest_api_call *call)
{
    nl_str type;
    NL_TRY(nl_json_text(call->body, "report-type", NL_REST_API_BODY, &type));
    if (!nl_str_is(type, "scan-report") && !nl_str_is(type, "commit-report"))
        return nl_rest_api_refuse(call, 400, "BadRequestException", "Invalid report type: " NL_STR_FMT, NL_STR_ARG(type));
    NL_TRY(nl_rest_api_table_exists(call));
    nl_rest_api_empty(call, 204);
    return NULL;
}

nl_status nl_rest_api_load_credentials(nl_rest_api_call *call)
{
    nl_table_entry entry;
    nl_kept_metadata kept;
    NL_TRY(nl_rest_api_check_path(call, false));
    NL_TRY(nl_rest_api_load(call, &call->identifier, &entry, &kept));
    nl_json_writer json = nl_rest_api_begin(call);
    write_storage_credentials(call, &json, kept.metadata->location);
    nl_rest_api_end(call, &json, 200);
    nl_kept_metadata_release(&kept);
    return NULL;
}
