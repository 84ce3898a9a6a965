/* lakehouse/athena/catalogs.c - data catalogs, databases and tables as Athena lists them. */
#include "lakehouse/athena/athena_private.h"

static nl_status need_catalog(nl_athena_call *call, const char *key, nl_warehouse *warehouse, bool *exists)
{
    nl_str name;
    NL_TRY(nl_athena_need(call, key, &name));
    NL_TRY(nl_athena_find_catalog(call->athena, name, call->arena, warehouse, exists));
    if (*exists || nl_str_is_nocase(name, NL_ATHENA_CATALOG)) return NULL; /* AwsDataCatalog is always there, perhaps empty */
    return nl_athena_invalid(call, "Data catalog " NL_STR_FMT " was not found", NL_STR_ARG(name));
}

static void write_catalog(nl_json_writer *json, nl_str name, const char *name_key, const char *type)
{
    nl_json_begin(json, '{');
    nl_athena_write_text(json, name_key, name);
    nl_athena_write_text(json, "Type", nl_str_from(type));
    nl_athena_write_text(json, "Status", NL_STR("CREATE_COMPLETE"));
    nl_json_end(json, '}');
}

nl_status nl_athena_list_catalogs(nl_athena_call *call)
{
    const nl_warehouse *list;
    uint32_t count;
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, "DataCatalogsSummary");
    nl_json_begin(&json, '[');
    write_catalog(&json, NL_STR(NL_ATHENA_CATALOG), "CatalogName", "GLUE");
    NL_TRY(nl_tables_list_warehouses(call->athena->tables, NL_WAREHOUSE_TABLE_BUCKET, call->arena, &list, &count));
    for (uint32_t i = 0; i < count; i++)
        write_catalog(&json, nl_arena_f(call->arena, NL_ATHENA_FEDERATED NL_STR_FMT, NL_STR_ARG(list[i].name)), "CatalogName", "FEDERATED");
    NL_TRY(nl_tables_list_warehouses(call->athena->tables, NL_WAREHOUSE_PLAIN, call->arena, &list, &count));
    for (uint32_t i = 0; i < count; i++) write_catalog(&json, list[i].name, "CatalogName", "FEDERATED");
    nl_json_end(&json, ']');
    nl_athena_end(call, &json);
    return NULL;
}

nl_status nl_athena_get_catalog(nl_athena_call *call)
{
    nl_warehouse warehouse;
    bool exists;
    NL_TRY(need_catalog(call, "Name", &warehouse, &exists));
    const nl_str name = nl_athena_text(call, call->body, "Name");
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, "DataCatalog");
    write_catalog(&json, name, "Name", nl_str_is_nocase(name, NL_ATHENA_CATALOG) ? "GLUE" : "FEDERATED");
    nl_athena_end(call, &json);
    return NULL;
}

static void write_database(nl_json_writer *json, const nl_namespace_entry *entry)
{
    nl_json_begin(json, '{');
    nl_athena_write_text(json, "Name", entry->parts[entry->part_count - 1]);
    for (uint32_t i = 0; i < entry->property_count; i++)
        if (nl_str_is(entry->properties[i].key, "comment")) nl_athena_write_text(json, "Description", entry->properties[i].value);
    nl_json_key(json, "Parameters");
    nl_json_begin(json, '{');
    for (uint32_t i = 0; i < entry->property_count; i++) {
        if (nl_str_is(entry->properties[i].key, "comment")) continue;
        nl_json_key_str(json, entry->properties[i].key);
        nl_json_write_text(json, entry->properties[i].value);
    }
    nl_json_end(json, '}');
    nl_json_end(json, '}');
}

nl_status nl_athena_list_databases(nl_athena_call *call)
{
    nl_warehouse warehouse;
    bool exists;
    int64_t size;
    const nl_namespace_entry *entries = NULL;
    uint32_t count = 0;
    NL_TRY(need_catalog(call, "CatalogName", &warehouse, &exists));
    NL_TRY(nl_athena_page_size(call, "MaxResults", 50, &size));
    if (exists)
        NL_TRY(nl_tables_list_namespaces(call->athena->tables, warehouse.id, NULL, 0, NL_STR(""), nl_athena_text(call, call->body, "NextToken"), (uint32_t)size + 1, call->arena,
                                         &entries, &count));
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, "DatabaseList");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < count && i < size; i++) write_database(&json, &entries[i]);
    nl_json_end(&json, ']');
    if (count > size) nl_athena_write_text(&json, "NextToken", entries[size - 1].parts[entries[size - 1].part_count - 1]);
    nl_athena_end(call, &json);
    return NULL;
}

static nl_status need_database(nl_athena_call *call, nl_warehouse *warehouse, nl_str *name, nl_namespace_entry *entry)
{
    bool exists;
    NL_TRY(need_catalog(call, "CatalogName", warehouse, &exists));
    NL_TRY(nl_athena_need(call, "DatabaseName", name));
    if (exists) NL_TRY(nl_tables_find_namespace(call->athena->tables, warehouse->id, name, 1, call->arena, entry, &exists));
    if (exists) return NULL;
    return nl_athena_refuse(call, "MetadataException", "Database " NL_STR_FMT " not found", NL_STR_ARG(*name));
}

nl_status nl_athena_get_database(nl_athena_call *call)
{
    nl_warehouse warehouse;
    nl_namespace_entry entry;
    nl_str name;
    NL_TRY(need_database(call, &warehouse, &name, &entry));
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, "Database");
    write_database(&json, &entry);
    nl_athena_end(call, &json);
    return NULL;
}

static nl_status write_columns(nl_athena_call *call, nl_json_writer *json, const nl_table_metadata *metadata)
{
    const nl_type *row_type;
    nl_builder type;
    NL_TRY(nl_ice_type_to_sql(call->arena, nl_table_schema(metadata)->root, &row_type));
    nl_builder_init(&type, 1u << 20);
    nl_json_key(json, "Columns");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < row_type->child_count; i++) {
        nl_builder_clear(&type);
        nl_athena_append_type(row_type->children[i].type, &type);
        nl_json_begin(json, '{');
        nl_athena_write_text(json, "Name", row_type->children[i].name);
        nl_athena_write_text(json, "Type", nl_builder_str(&type));
        if (row_type->children[i].comment.length) nl_athena_write_text(json, "Comment", row_type->children[i].comment);
        nl_json_end(json, '}');
    }
    nl_json_end(json, ']');
    nl_builder_fini(&type);
    return NULL;
}

static nl_status write_table(nl_athena_call *call, nl_json_writer *json, const nl_table_entry *entry)
{
    nl_kept_metadata kept = {0};
    nl_status status = NULL;
    if (entry->metadata_location.length && !entry->is_view) NL_TRY(nl_tables_read_metadata(call->athena->tables, entry->metadata_location, &kept));
    nl_json_begin(json, '{');
    nl_athena_write_text(json, "Name", entry->name);
    nl_athena_write_seconds(json, "CreateTime", entry->created_micros);
    nl_athena_write_seconds(json, "LastAccessTime", entry->modified_micros);
    nl_athena_write_text(json, "TableType", NL_STR("EXTERNAL_TABLE"));
    if (kept.metadata) status = write_columns(call, json, kept.metadata);
    nl_json_key(json, "PartitionKeys");
    nl_json_begin(json, '[');
    nl_json_end(json, ']');
    nl_json_key(json, "Parameters");
    nl_json_begin(json, '{');
    nl_athena_write_text(json, "table_type", NL_STR("ICEBERG"));
    if (entry->metadata_location.length) nl_athena_write_text(json, "metadata_location", entry->metadata_location);
    if (entry->previous_metadata_location.length) nl_athena_write_text(json, "previous_metadata_location", entry->previous_metadata_location);
    if (kept.metadata) nl_athena_write_text(json, "location", kept.metadata->location);
    nl_json_end(json, '}');
    nl_json_end(json, '}');
    if (kept.metadata) nl_kept_metadata_release(&kept);
    return status;
}

nl_status nl_athena_list_tables(nl_athena_call *call)
{
    nl_warehouse warehouse;
    nl_namespace_entry database;
    nl_str name;
    int64_t size;
    const nl_table_entry *entries;
    uint32_t count;
    NL_TRY(need_database(call, &warehouse, &name, &database));
    NL_TRY(nl_athena_page_size(call, "MaxResults", 50, &size));
    NL_TRY(nl_tables_list(call->athena->tables, warehouse.id, &name, 1, false, NL_STR(""), nl_athena_text(call, call->body, "NextToken"), (uint32_t)size + 1, call->arena, &entries,
                          &count));
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, "TableMetadataList");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < count && i < size; i++) NL_TRY(write_table(call, &json, &entries[i]));
    nl_json_end(&json, ']');
    if (count > size) nl_athena_write_text(&json, "NextToken", entries[size - 1].name);
    nl_athena_end(call, &json);
    return NULL;
}

nl_status nl_athena_get_table(nl_athena_call *call)
{
    nl_warehouse warehouse;
    nl_namespace_entry database;
    nl_table_entry entry;
    nl_str name, table;
    bool exists;
    NL_TRY(need_database(call, &warehouse, &name, &database));
    NL_TRY(nl_athena_need(call, "TableName", &table));
    NL_TRY(nl_tables_find(call->athena->tables, warehouse.id, &(nl_identifier){&name, 1, table}, call->arena, &entry, &exists));
    if (!exists) return nl_athena_refuse(call, "MetadataException", "Table " NL_STR_FMT " not found", NL_STR_ARG(table));
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, "TableMetadata");
    NL_TRY(write_table(call, &json, &entry));
    nl_athena_end(call, &json);
    return NULL;
}
