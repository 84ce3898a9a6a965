/* command/call/snapshot.c - snapshot and migrate: a table of the session catalog over plain files becomes an Iceberg table that
 * reads the same files, beside it or in its place. Source: SnapshotTableSparkAction, MigrateTableSparkAction, whose messages
 * these are. */
#include "catalog/hive/plain.h"
#include "command/call/import.h"

#define SESSION_CATALOG "spark_catalog"
#define BACKUP_SUFFIX   "_BACKUP_"
#define NAME_MAPPING    "schema.name-mapping.default"

typedef struct made_table { /* the Iceberg table that is made of a plain one */
    nl_call *call;
    const nl_plain_table *source;
    nl_session_name name;
    nl_str location;                      /* empty: the catalog's choice */
    const nl_property *forced;            /* snapshot = true … */
    uint32_t forced_count;
    const nl_property *given;             /* the argument properties */
    uint32_t given_count;
} made_table;

/* ---- the source ------------------------------------------------------------------------------------------------ */

static nl_status find_source(nl_call *call, const nl_session_name *name, bool is_migrated, const nl_plain_table **source)
{
    nl_arena *arena = call->command->arena;
    bool is_iceberg = false;
    if (!nl_str_is(name->catalog_name, SESSION_CATALOG) && is_migrated)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                             "Cannot migrate a table from a non-Iceberg Spark Session Catalog. Found " NL_STR_FMT " of class org.apache.iceberg.spark.SparkCatalog as the source catalog.",
                             NL_STR_ARG(name->catalog_name));
    if (!nl_str_is(name->catalog_name, SESSION_CATALOG))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot snapshot a table that isn't in the session catalog (i.e. spark_catalog). Found source catalog: " NL_STR_FMT ".",
                             NL_STR_ARG(name->catalog_name));
    NL_TRY(nl_plain_find(call->command, name, source));
    if (!*source && name->catalog) NL_TRY(nl_catalog_table_exists(name->catalog, &name->identifier, &is_iceberg));
    if (is_iceberg)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot use non-v1 table '" NL_STR_FMT "' as a source", NL_STR_ARG(nl_import_dotted(arena, &name->identifier)));
    if (!*source) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find source table '" NL_STR_FMT "'", NL_STR_ARG(nl_import_dotted(arena, &name->identifier)));
    const nl_str provider = (*source)->provider;
    if (nl_str_is(provider, "parquet") || nl_str_is(provider, "orc")) return NULL;
    if (nl_str_is(provider, "avro") || nl_str_is(provider, "hive"))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas cannot read data files of format " NL_STR_FMT " yet, and so does not make an Iceberg table of them", NL_STR_ARG(provider));
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot create an Iceberg table from source provider: '" NL_STR_FMT "'", NL_STR_ARG(provider));
}

/* ---- the new table --------------------------------------------------------------------------------------------- */

/* Ids are given here, since the name mapping speaks of them. */
static nl_status make_schema(const made_table *self, const nl_schema **schema)
{
    nl_arena *arena = self->call->command->arena;
    const nl_ice_type *root = NULL, *fresh = NULL;
    int32_t last_id = 0;
    NL_TRY(nl_ice_type_from_sql(arena, self->source->row_type, &root));
    NL_TRY(nl_schema_assign_fresh_ids(arena, root, NULL, &last_id, &fresh));
    return nl_schema_new(arena, 0, fresh, NULL, 0, schema);
}

static void set_property(nl_property *properties, uint32_t *count, nl_property property)
{
    for (uint32_t i = 0; i < *count; i++)
        if (nl_str_equal(properties[i].key, property.key)) {
            properties[i].value = property.value;
            return;
        }
    properties[(*count)++] = property;
}

static void fill_properties(const made_table *self, const nl_schema *schema, nl_table_request *request)
{
    nl_arena *arena = self->call->command->arena;
    const nl_plain_table *source = self->source;
    nl_property *properties = NL_NEW_ARRAY(arena, nl_property, source->property_count + self->forced_count + self->given_count + 3);
    uint32_t count = 0;
    for (uint32_t i = 0; i < source->property_count; i++)
        set_property(properties, &count, source->properties[i]);
    if (source->comment.data) set_property(properties, &count, (nl_property){NL_STR("comment"), source->comment});
    for (uint32_t i = 0; i < self->forced_count; i++)
        set_property(properties, &count, self->forced[i]);
    set_property(properties, &count, (nl_property){NL_STR(NAME_MAPPING), nl_import_mapping(arena, schema)});
    for (uint32_t i = 0; i < self->given_count; i++)
        set_property(properties, &count, self->given[i]);
    request->properties = properties;
    request->property_count = count;
}

/* Staged: it is there with the commit that brings the files in, or not at all. */
static nl_status stage(const made_table *self, nl_iceberg_table **table)
{
    nl_arena *arena = self->call->command->arena;
    const nl_plain_table *source = self->source;
    const nl_schema *schema = NULL;
    nl_partition_addition *partitions = NL_NEW_ARRAY(arena, nl_partition_addition, source->partition_count + 1);
    for (uint32_t i = 0; i < source->partition_count; i++) {
        const nl_field *field = &source->row_type->children[source->row_type->child_count - source->partition_count + i];
        partitions[i] = (nl_partition_addition){.source = field->name, .transform = {.kind = NL_TRANSFORM_IDENTITY}};
    }
    NL_TRY(make_schema(self, &schema));
    nl_table_request request = {.schema = schema, .partitions = partitions, .partition_count = source->partition_count, .location = self->location};
    fill_properties(self, schema, &request);
    return nl_catalog_stage_table(self->name.catalog, &self->name.identifier, &request, false, false, table);
}

static nl_status make_table(const made_table *self, int64_t *file_count)
{
    nl_iceberg_table *table = NULL;
    int64_t changed_partitions = NL_NONE;
    NL_TRY(stage(self, &table));
    nl_import import = {.command = self->call->command,
                        .table = table,
                        .name = nl_command_dotted_name(self->call->command, &self->name),
                        .source = self->source};
    nl_status status = nl_import_files(&import, file_count, &changed_partitions);
    nl_iceberg_table_release(table);
    return status;
}

/* ---- snapshot -------------------------------------------------------------------------------------------------- */

nl_status nl_call_snapshot(nl_call *call)
{
    enum { ARG_SOURCE = 0, ARG_TABLE = 1, ARG_LOCATION = 2, ARG_PROPERTIES = 3, ARG_PARALLELISM = 4 };
    static const nl_property forced[] = {{{"gc.enabled", 10}, {"false", 5}}, {{"snapshot", 8}, {"true", 4}}};
    made_table made = {.call = call, .location = nl_call_text(call, ARG_LOCATION), .forced = forced, .forced_count = NL_COUNT(forced)};
    nl_session_name source_name;
    bool exists = false;
    int64_t file_count = 0;
    NL_TRY(nl_import_name(call, ARG_SOURCE, "argument source_table", &source_name));
    NL_TRY(nl_import_name(call, ARG_TABLE, "argument table", &made.name));
    NL_TRY(find_source(call, &source_name, false, &made.source));
    const nl_str from = nl_command_dotted_name(call->command, &source_name), to = nl_command_dotted_name(call->command, &made.name);
    if (nl_str_equal_nocase(from, to)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot create a snapshot with the same name as the source of the snapshot.");
    NL_TRY(nl_import_check_parallelism(call, ARG_PARALLELISM));
    NL_TRY(nl_catalog_table_exists(made.name.catalog, &made.name.identifier, &exists));
    if (exists)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot create table " NL_STR_FMT " as it already exists",
                             NL_STR_ARG(nl_import_dotted(call->command->arena, &made.name.identifier)));
    nl_call_map(call, ARG_PROPERTIES, &made.given, &made.given_count);
    NL_TRY(make_table(&made, &file_count));
    return nl_call_numbers(call, (const int64_t[]){file_count});
}

/* ---- migrate --------------------------------------------------------------------------------------------------- */

static nl_status rename_plain(nl_call *call, const nl_session_name *from, const nl_session_name *to, const nl_plain_table *table)
{
    if (table->is_kept) return nl_hive_plain_rename(from->catalog, &from->identifier, &to->identifier);
    nl_plain_table renamed = *table;
    renamed.namespace_parts = to->identifier.namespace_parts;
    renamed.namespace_count = to->identifier.namespace_count;
    renamed.name = to->identifier.name;
    renamed.is_external = true; /* its files are another table's, too */
    NL_TRY(nl_session_put_plain_table(call->command->session, &renamed));
    nl_session_drop_plain_table(call->command->session, &from->identifier);
    return NULL;
}

static nl_status check_backup(nl_call *call, const nl_session_name *name, const nl_session_name *backup)
{
    nl_arena *arena = call->command->arena;
    const nl_plain_table *other = NULL;
    bool exists = false;
    NL_TRY(nl_plain_find(call->command, backup, &other));
    if (!other) NL_TRY(nl_catalog_table_exists(backup->catalog, &backup->identifier, &exists));
    if (!other && !exists) return NULL;
    const nl_str text = nl_import_dotted(arena, &backup->identifier);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot rename " NL_STR_FMT " as " NL_STR_FMT " because " NL_STR_FMT " already exists",
                         NL_STR_ARG(nl_import_dotted(arena, &name->identifier)), NL_STR_ARG(text), NL_STR_ARG(text));
}

/* The files stay, whoever made the table: they are the Iceberg table's now. */
static nl_status drop_backup(nl_call *call, const nl_session_name *backup, const nl_plain_table *table)
{
    if (table->is_kept) return nl_hive_plain_forget(backup->catalog, &backup->identifier);
    nl_session_drop_plain_table(call->command->session, &backup->identifier);
    return NULL;
}

static nl_status make_of_backup(made_table *made, const nl_session_name *backup, int64_t *file_count)
{
    NL_TRY(nl_plain_find(made->call->command, backup, &made->source));
    if (!made->source)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find source table '" NL_STR_FMT "'", NL_STR_ARG(nl_import_dotted(made->call->command->arena, &backup->identifier)));
    return make_table(made, file_count);
}

nl_status nl_call_migrate(nl_call *call)
{
    enum { ARG_TABLE = 0, ARG_PROPERTIES = 1, ARG_DROP_BACKUP = 2, ARG_BACKUP_NAME = 3, ARG_PARALLELISM = 4 };
    static const nl_property forced[] = {{{"migrated", 8}, {"true", 4}}};
    nl_arena *arena = call->command->arena;
    made_table made = {.call = call, .forced = forced, .forced_count = NL_COUNT(forced)};
    const nl_plain_table *source = NULL;
    int64_t file_count = 0;
    NL_TRY(nl_import_name(call, ARG_TABLE, "argument table", &made.name));
    NL_TRY(find_source(call, &made.name, true, &source));
    NL_TRY(nl_import_check_parallelism(call, ARG_PARALLELISM));
    nl_session_name backup = made.name;
    backup.identifier.name =
        nl_call_has(call, ARG_BACKUP_NAME) ? nl_call_text(call, ARG_BACKUP_NAME) : nl_arena_f(arena, NL_STR_FMT BACKUP_SUFFIX, NL_STR_ARG(made.name.identifier.name));
    NL_TRY(check_backup(call, &made.name, &backup));
    made.location = nl_import_path(arena, nl_arena_str(arena, source->location)); /* the session's entry goes with its name */
    nl_call_map(call, ARG_PROPERTIES, &made.given, &made.given_count);
    NL_TRY(rename_plain(call, &made.name, &backup, source));
    nl_status status = make_of_backup(&made, &backup, &file_count);
    if (status && nl_error_kind_of(status) != NL_KIND_UNKNOWN_STATE) { /* as if nothing had been */
        const nl_plain_table *there = NULL;
        nl_error *second = nl_plain_find(call->command, &backup, &there);
        if (!second && there) second = rename_plain(call, &backup, &made.name, there);
        nl_error_free(second);
    }
    if (status) return status;
    if (nl_call_bool(call, ARG_DROP_BACKUP, false)) NL_TRY_NOTE(drop_backup(call, &backup, made.source), "the table is migrated; its backup could not be dropped");
    return nl_call_numbers(call, (const int64_t[]){file_count});
}
