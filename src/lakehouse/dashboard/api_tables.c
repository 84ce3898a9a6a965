/* lakehouse/dashboard/api_tables.c - warehouses, namespaces, tables: their metadata, and their health. */
#include "lakehouse/dashboard/dashboard_private.h"

#include <stdlib.h>

#include "base/number.h"
#include "iceberg/health.h"
#include "storage/credentials.h"

#define LISTED_MAX         1000u /* namespaces, and tables of each: a page for people */
#define SHOWN_SNAPSHOTS    200u
#define NAMESPACE_DEPTH    8u

/* ---- Warehouses. */

static const struct {
    nl_warehouse_kind kind;
    const char *name;
} kinds[] = {{NL_WAREHOUSE_PLAIN, "plain"}, {NL_WAREHOUSE_TABLE_BUCKET, "tableBucket"}, {NL_WAREHOUSE_GLUE, "glue"}};

nl_status nl_dashboard_warehouses(nl_dashboard_call *call)
{
    nl_json_begin(&call->json, '[');
    for (size_t k = 0; k < NL_COUNT(kinds); k++) {
        const nl_warehouse *list = NULL;
        uint32_t count = 0;
        NL_TRY(nl_tables_list_warehouses(call->dashboard->stores.tables, kinds[k].kind, call->request->arena, &list, &count));
        for (uint32_t i = 0; i < count; i++) {
            nl_json_begin(&call->json, '{');
            nl_dashboard_member_int(call, "id", list[i].id);
            nl_dashboard_member_text(call, "kind", nl_str_from(kinds[k].name));
            nl_dashboard_member_text(call, "name", list[i].name);
            nl_dashboard_member_text(call, "arn", list[i].arn);
            nl_dashboard_member_text(call, "location", list[i].location);
            nl_dashboard_member_int(call, "created", list[i].created_micros / 1000);
            nl_json_end(&call->json, '}');
        }
    }
    nl_json_end(&call->json, ']');
    return NULL;
}

static nl_status warehouse_parameter(nl_dashboard_call *call, int64_t *id)
{
    nl_str text;
    NL_TRY(nl_dashboard_parameter(call, "warehouse", &text));
    return nl_parse_int64(text, id) ? NULL : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "There is no warehouse " NL_STR_FMT, NL_STR_ARG(text));
}

/* ---- Namespaces and their tables. */

static void write_parts(nl_dashboard_call *call, const nl_str *parts, uint32_t part_count)
{
    nl_json_key(&call->json, "namespace");
    nl_json_begin(&call->json, '[');
    for (uint32_t i = 0; i < part_count; i++) nl_json_write_text(&call->json, parts[i]);
    nl_json_end(&call->json, ']');
}

static nl_status write_entries(nl_dashboard_call *call, int64_t warehouse_id, const nl_namespace_entry *parent, bool views)
{
    const nl_table_entry *entries = NULL;
    uint32_t count = 0;
    NL_TRY(nl_tables_list(call->dashboard->stores.tables, warehouse_id, parent->parts, parent->part_count, views, (nl_str){0}, (nl_str){0}, LISTED_MAX, call->request->arena, &entries, &count));
    nl_json_key(&call->json, views ? "views" : "tables");
    nl_json_begin(&call->json, '[');
    for (uint32_t i = 0; i < count; i++) {
        nl_json_begin(&call->json, '{');
        nl_dashboard_member_text(call, "name", entries[i].name);
        nl_dashboard_member_int(call, "modified", entries[i].modified_micros / 1000);
        nl_dashboard_member_bool(call, "hasMetadata", entries[i].metadata_location.length > 0);
        nl_json_end(&call->json, '}');
    }
    nl_json_end(&call->json, ']');
    return NULL;
}

static nl_status write_namespaces(nl_dashboard_call *call, int64_t warehouse_id, const nl_str *parent, uint32_t parent_count)
{
    const nl_namespace_entry *entries = NULL;
    uint32_t count = 0;
    if (parent_count == NAMESPACE_DEPTH) return NULL;
    NL_TRY(nl_tables_list_namespaces(call->dashboard->stores.tables, warehouse_id, parent, parent_count, (nl_str){0}, (nl_str){0}, LISTED_MAX, call->request->arena, &entries, &count));
    for (uint32_t i = 0; i < count; i++) {
        nl_json_begin(&call->json, '{');
        write_parts(call, entries[i].parts, entries[i].part_count);
        NL_TRY(write_entries(call, warehouse_id, &entries[i], false));
        NL_TRY(write_entries(call, warehouse_id, &entries[i], true));
        nl_json_end(&call->json, '}');
        NL_TRY(write_namespaces(call, warehouse_id, entries[i].parts, entries[i].part_count));
    }
    return NULL;
}

nl_status nl_dashboard_tables(nl_dashboard_call *call)
{
    int64_t warehouse_id = 0;
    NL_TRY(warehouse_parameter(call, &warehouse_id));
    nl_json_begin(&call->json, '[');
    NL_TRY(write_namespaces(call, warehouse_id, NULL, 0));
    nl_json_end(&call->json, ']');
    return NULL;
}

/* ---- One table. */

static nl_status read_name(nl_dashboard_call *call, nl_dashboard_name *name)
{
    nl_str joined, rest;
    NL_TRY(warehouse_parameter(call, &name->warehouse_id));
    NL_TRY(nl_dashboard_parameter(call, "namespace", &joined));
    NL_TRY(nl_dashboard_parameter(call, "name", &name->identifier.name));
    nl_str *parts = NL_NEW_ARRAY(call->request->arena, nl_str, joined.length + 1);
    uint32_t count = 0;
    rest = joined;
    for (nl_str part; nl_str_next_part(&rest, '\x1f', &part);) parts[count++] = part;
    name->identifier.namespace_parts = parts;
    name->identifier.namespace_count = count;
    return NULL;
}

nl_status nl_dashboard_open_table(nl_dashboard_call *call, nl_dashboard_name *name)
{
    static const nl_commit_environment nobody = {0};
    *name = (nl_dashboard_name){0};
    NL_TRY(read_name(call, name));
    NL_TRY(nl_tables_catalog(call->dashboard->stores.tables, name->warehouse_id, NL_STR("lake"), &nobody, &name->catalog));
    nl_status status = nl_catalog_load_table(name->catalog, &name->identifier, &name->table);
    if (status) nl_dashboard_close_table(name);
    return status;
}

void nl_dashboard_close_table(nl_dashboard_name *name)
{
    nl_iceberg_table_release(name->table);
    nl_catalog_release(name->catalog);
}

static void write_schema(nl_dashboard_call *call, const nl_schema *schema)
{
    nl_json_key(&call->json, "columns");
    nl_json_begin(&call->json, '[');
    for (uint32_t i = 0; i < schema->root->field_count; i++) {
        const nl_ice_field *field = &schema->root->fields[i];
        nl_json_begin(&call->json, '{');
        nl_dashboard_member_int(call, "id", field->id);
        nl_dashboard_member_text(call, "name", field->name);
        nl_dashboard_member_text(call, "type", nl_ice_type_name(call->request->arena, field->type));
        nl_dashboard_member_bool(call, "isRequired", field->is_required);
        nl_dashboard_member_text(call, "doc", field->doc);
        nl_json_end(&call->json, '}');
    }
    nl_json_end(&call->json, ']');
}

static void write_partitions(nl_dashboard_call *call, const nl_table_metadata *metadata)
{
    const nl_partition_spec *spec = nl_table_spec(metadata);
    nl_json_key(&call->json, "partitions");
    nl_json_begin(&call->json, '[');
    for (uint32_t i = 0; i < spec->field_count; i++) {
        nl_json_begin(&call->json, '{');
        nl_dashboard_member_text(call, "name", spec->fields[i].name);
        nl_dashboard_member_text(call, "transform", nl_transform_name(call->request->arena, &spec->fields[i].transform));
        nl_json_end(&call->json, '}');
    }
    nl_json_end(&call->json, ']');
}

static void write_snapshots(nl_dashboard_call *call, const nl_table_metadata *metadata)
{
    nl_json_key(&call->json, "snapshots");
    nl_json_begin(&call->json, '[');
    for (uint32_t i = metadata->snapshot_count; i > 0 && metadata->snapshot_count - i < SHOWN_SNAPSHOTS; i--) {
        const nl_snapshot *snapshot = &metadata->snapshots[i - 1];
        nl_json_begin(&call->json, '{');
        /* As text: a browser's numbers are doubles, which cannot hold every 64-bit id. */
        nl_dashboard_member_text(call, "id", nl_arena_f(call->request->arena, "%lld", (long long)snapshot->snapshot_id));
        if (snapshot->parent_id != NL_NONE) nl_dashboard_member_text(call, "parent", nl_arena_f(call->request->arena, "%lld", (long long)snapshot->parent_id));
        nl_dashboard_member_int(call, "timestamp", snapshot->timestamp_ms);
        nl_dashboard_member_text(call, "operation", snapshot->operation);
        nl_dashboard_member_bool(call, "isCurrent", snapshot->snapshot_id == metadata->current_snapshot_id);
        nl_json_key(&call->json, "summary");
        nl_json_begin(&call->json, '{');
        for (uint32_t k = 0; k < snapshot->summary_count; k++) {
            nl_json_key_str(&call->json, snapshot->summary[k].key);
            nl_json_write_text(&call->json, snapshot->summary[k].value);
        }
        nl_json_end(&call->json, '}');
        nl_json_end(&call->json, '}');
    }
    nl_json_end(&call->json, ']');
}

static void write_refs(nl_dashboard_call *call, const nl_table_metadata *metadata)
{
    nl_json_key(&call->json, "refs");
    nl_json_begin(&call->json, '[');
    for (uint32_t i = 0; i < metadata->ref_count; i++) {
        nl_json_begin(&call->json, '{');
        nl_dashboard_member_text(call, "name", metadata->refs[i].name);
        nl_dashboard_member_bool(call, "isTag", metadata->refs[i].is_tag);
        nl_dashboard_member_text(call, "snapshot", nl_arena_f(call->request->arena, "%lld", (long long)metadata->refs[i].snapshot_id));
        nl_json_end(&call->json, '}');
    }
    nl_json_end(&call->json, ']');
}

/* Properties may hold keys (of encryption, of storage): what sounds secret is not shown. */
static void write_properties(nl_dashboard_call *call, const nl_table_metadata *metadata)
{
    nl_json_key(&call->json, "properties");
    nl_json_begin(&call->json, '{');
    for (uint32_t i = 0; i < metadata->property_count; i++) {
        nl_json_key_str(&call->json, metadata->properties[i].key);
        nl_json_write_text(&call->json, nl_key_is_secret(metadata->properties[i].key) ? NL_STR("*(redacted)") : metadata->properties[i].value);
    }
    nl_json_end(&call->json, '}');
}

nl_status nl_dashboard_table(nl_dashboard_call *call)
{
    nl_dashboard_name name;
    NL_TRY(nl_dashboard_open_table(call, &name));
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(name.table);
    nl_json_begin(&call->json, '{');
    nl_dashboard_member_int(call, "formatVersion", metadata->format_version);
    nl_dashboard_member_text(call, "uuid", metadata->uuid);
    nl_dashboard_member_text(call, "location", metadata->location);
    nl_dashboard_member_text(call, "metadataFile", metadata->metadata_file);
    nl_dashboard_member_int(call, "updated", metadata->last_updated_ms);
    nl_dashboard_member_int(call, "snapshotCount", metadata->snapshot_count);
    nl_dashboard_member_text(call, "sortOrder", nl_sort_order_describe(call->request->arena, nl_table_sort_order(metadata), nl_table_schema(metadata)));
    write_schema(call, nl_table_schema(metadata));
    write_partitions(call, metadata);
    write_snapshots(call, metadata);
    write_refs(call, metadata);
    write_properties(call, metadata);
    nl_json_end(&call->json, '}');
    nl_table_metadata_release(metadata);
    nl_dashboard_close_table(&name);
    return NULL;
}

/* ---- Health. */

static void write_numbers(nl_dashboard_call *call, const nl_table_health *health)
{
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"dataFiles", health->data_files},
        {"dataBytes", health->data_bytes},
        {"rows", health->rows},
        {"smallFiles", health->small_files},
        {"smallestBytes", health->smallest_bytes},
        {"largestBytes", health->largest_bytes},
        {"targetFileBytes", health->target_file_bytes},
        {"partitions", health->partitions},
        {"positionDeleteFiles", health->position_delete_files},
        {"positionDeletes", health->position_deletes},
        {"equalityDeleteFiles", health->equality_delete_files},
        {"equalityDeletes", health->equality_deletes},
        {"vectors", health->vectors},
        {"vectorDeletes", health->vector_deletes},
        {"deleteBytes", health->delete_bytes},
        {"filesWithDeletes", health->files_with_deletes},
        {"danglingDeleteFiles", health->dangling_delete_files},
        {"dataManifests", health->data_manifests},
        {"deleteManifests", health->delete_manifests},
        {"manifestBytes", health->manifest_bytes},
        {"snapshots", health->snapshots},
        {"expirableSnapshots", health->expirable_snapshots},
        {"oldestSnapshot", health->oldest_snapshot_ms},
        {"metadataBytes", health->metadata_bytes},
        {"metadataLog", health->metadata_log},
    };
    for (size_t i = 0; i < NL_COUNT(numbers); i++) nl_dashboard_member_int(call, numbers[i].key, numbers[i].value);
}

static void write_health(nl_dashboard_call *call, const nl_table_health *health)
{
    nl_json_begin(&call->json, '{');
    write_numbers(call, health);
    nl_json_key(&call->json, "histogram");
    nl_json_begin(&call->json, '[');
    for (uint32_t i = 0; i < NL_HEALTH_SIZES; i++) {
        nl_json_begin(&call->json, '{');
        if (i + 1 < NL_HEALTH_SIZES) nl_dashboard_member_int(call, "below", nl_health_size_limit(i));
        nl_dashboard_member_int(call, "files", health->size_files[i]);
        nl_dashboard_member_int(call, "bytes", health->size_bytes[i]);
        nl_json_end(&call->json, '}');
    }
    nl_json_end(&call->json, ']');
    nl_json_key(&call->json, "advice");
    nl_json_begin(&call->json, '[');
    for (uint32_t i = 0; i < health->advice_count; i++) {
        nl_json_begin(&call->json, '{');
        nl_dashboard_member_text(call, "procedure", nl_str_from(health->advice[i].procedure));
        nl_dashboard_member_text(call, "arguments", health->advice[i].arguments);
        nl_dashboard_member_text(call, "why", health->advice[i].why);
        nl_dashboard_member_text(call, "effect", health->advice[i].effect);
        nl_dashboard_member_bool(call, "isUrgent", health->advice[i].is_urgent);
        nl_json_end(&call->json, '}');
    }
    nl_json_end(&call->json, ']');
    nl_json_end(&call->json, '}');
}

nl_status nl_dashboard_health(nl_dashboard_call *call)
{
    nl_dashboard_name name;
    nl_table_health health;
    NL_TRY(nl_dashboard_open_table(call, &name));
    nl_status status = nl_table_health_read(name.table, NULL, call->dashboard->memory, call->request->arena, &health);
    if (!status) write_health(call, &health);
    nl_dashboard_close_table(&name);
    return status;
}
