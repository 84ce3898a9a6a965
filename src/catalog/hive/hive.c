/* catalog/hive/hive.c - Iceberg's HiveCatalog: tables and views are entries of a Hive metastore that name their metadata file.
 *
 * Source: Java's HiveCatalog. Entries that are none of Iceberg's are not seen, and not touched.
 */
#include "catalog/hive/hive.h"

#include <stdlib.h>

#include "base/log.h"
#include "storage/s3.h"

#define TABLES_PER_CALL 100u /* an entry has some KB */

static bool is_valid(const nl_identifier *identifier)
{
    return identifier->namespace_count == 1 && identifier->namespace_parts[0].length > 0 && identifier->name.length > 0;
}

static nl_status not_found(const nl_hive_catalog *self, const nl_identifier *identifier)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_quoted_identifier(arena, &self->base, identifier)));
    nl_arena_free(arena);
    return status;
}

static nl_status exists_already(const nl_hive_catalog *self, const nl_identifier *identifier, nl_arena *arena)
{
    return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", nl_quoted_identifier(arena, &self->base, identifier)));
}

static nl_status invalid(const nl_identifier *identifier, nl_arena *arena)
{
    const nl_str name = nl_identifier_text(arena, identifier);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid identifier: " NL_STR_FMT, NL_STR_ARG(name));
}

static nl_status get_entry(nl_hive_catalog *self, const nl_identifier *identifier, nl_arena *arena, nl_wire_value **entry)
{
    *entry = NULL;
    return is_valid(identifier) ? nl_hms_get_table(self->client, identifier->namespace_parts[0], identifier->name, arena, entry) : NULL;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return nl_str_compare(((const nl_identifier *)a)->name, ((const nl_identifier *)b)->name);
}

static nl_status add_batch(nl_hive_catalog *self, const nl_str *parts, const nl_wire_value *names, bool wants_views, nl_arena *arena, nl_name_list *list)
{
    const nl_wire_value *entries;
    nl_arena *scratch = nl_arena_new(self->base.memory); /* the entries, which are far longer than their names */
    nl_status status = nl_hms_get_tables(self->client, parts[0], names, scratch, &entries);
    for (uint32_t i = 0; !status && entries && i < entries->count && list->count < UINT32_MAX; i++) {
        const nl_wire_value *entry = &entries->items[i];
        if (i >= names->count || !(wants_views ? nl_hive_is_view(entry) : nl_hive_is_table(entry))) continue;
        list->items[list->count++] = (nl_identifier){parts, 1, nl_arena_str(arena, nl_wire_text(entry, NL_HMS_TABLE_NAME))};
    }
    nl_arena_free(scratch);
    return status;
}

static nl_status list_entries(nl_hive_catalog *self, const nl_str *parts, uint32_t part_count, bool wants_views, nl_arena *arena, nl_name_list *list)
{
    const nl_wire_value *names;
    bool is_there;
    NL_TRY(nl_catalog_namespace_exists(&self->base, parts, part_count, &is_there));
    if (!is_there) return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_quoted_namespace(arena, &self->base, parts, part_count)));
    NL_TRY(nl_hms_table_names(self->client, parts[0], arena, &names));
    list->items = NL_NEW_ARRAY(arena, nl_identifier, names->count);
    if (self->options.lists_all_tables && !wants_views) {
        for (uint32_t i = 0; i < names->count; i++) list->items[list->count++] = (nl_identifier){parts, part_count, names->items[i].text};
    } else {
        for (uint32_t i = 0; i < names->count; i += TABLES_PER_CALL) {
            nl_wire_value batch = *names;
            batch.items = names->items + i;
            batch.count = NL_MIN(TABLES_PER_CALL, names->count - i);
            NL_TRY(add_batch(self, parts, &batch, wants_views, arena, list));
        }
    }
    if (list->count > 1) qsort(list->items, list->count, sizeof(*list->items), compare_names);
    return nl_arena_check(arena);
}

static nl_status hive_list_tables(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list)
{
    return list_entries(nl_hive_of(catalog), parts, part_count, false, arena, list);
}

static nl_status hive_list_views(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list)
{
    return list_entries(nl_hive_of(catalog), parts, part_count, true, arena, list);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static nl_status new_store(nl_hive_catalog *self, const nl_identifier *identifier, nl_table_store **store)
{
    nl_pointer *pointer;
    NL_TRY(nl_hive_pointer_new(self, identifier, false, &pointer));
    return nl_pointer_store_new(self->fs, pointer, self->cache, store);
}

static nl_status hive_load_table(nl_catalog *catalog, const nl_identifier *identifier, nl_iceberg_table **table)
{
    nl_hive_catalog *self = nl_hive_of(catalog);
    nl_table_store *store;
    if (!is_valid(identifier)) return not_found(self, identifier);
    NL_TRY(new_store(self, identifier, &store));
    return nl_catalog_table_new(catalog, identifier, self->fs, store, table);
}

static nl_status hive_table_exists(nl_catalog *catalog, const nl_identifier *identifier, bool *exists)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_wire_value *entry;
    nl_status status = get_entry(nl_hive_of(catalog), identifier, arena, &entry);
    if (!status) *exists = nl_hive_is_table(entry);
    nl_arena_free(arena);
    return status;
}

static nl_status hive_default_location(nl_catalog *catalog, const nl_identifier *identifier, nl_arena *arena, nl_str *location)
{
    nl_hive_catalog *self = nl_hive_of(catalog);
    nl_wire_value *database = NULL;
    if (identifier->namespace_count == 1) NL_TRY(nl_hms_get_database(self->client, identifier->namespace_parts[0], arena, &database));
    if (!database)
        return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_quoted_namespace(arena, catalog, identifier->namespace_parts, identifier->namespace_count)));
    nl_str folder = nl_without_slash(nl_wire_text(database, NL_HMS_DATABASE_LOCATION));
    if (!folder.length) NL_TRY(nl_hive_database_location(self, identifier->namespace_parts[0], arena, &folder));
    *location = nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(folder), NL_STR_ARG(identifier->name));
    return NULL;
}

static nl_status hive_new_table(nl_catalog *catalog, const nl_identifier *identifier, nl_str location, nl_arena *arena, nl_fs **fs, nl_table_store **store, nl_str *table_location)
{
    nl_hive_catalog *self = nl_hive_of(catalog);
    if (!is_valid(identifier)) return invalid(identifier, arena);
    if (location.length) *table_location = location;
    else NL_TRY(hive_default_location(catalog, identifier, arena, table_location));
    NL_TRY(new_store(self, identifier, store));
    *fs = nl_fs_retain(self->fs);
    return NULL;
}

/* Before a purge; a table whose metadata file is gone is dropped without one, as Java does. */
static nl_status load_to_purge(nl_hive_catalog *self, const nl_identifier *identifier, nl_iceberg_table **table)
{
    nl_error *error = hive_load_table(&self->base, identifier, table);
    if (!error) return nl_check_purge((*table)->metadata);
    if (nl_error_condition(error) != NL_COND_PATH_NOT_FOUND) return error;
    nl_log(NL_LOG_WARN, "the metadata of a table could not be read: it is dropped without purging: %s", nl_error_message(error));
    nl_error_free(error);
    return NULL;
}

/* The answer to a drop was lost: the entry tells. */
static nl_status drop_entry(nl_hive_catalog *self, const nl_identifier *identifier, nl_arena *arena, bool *was_dropped)
{
    nl_wire_value *entry;
    nl_error *error = nl_hms_drop_table(self->client, identifier->namespace_parts[0], identifier->name, arena, was_dropped);
    if (!error || nl_error_kind_of(error) != NL_KIND_UNKNOWN_STATE) return error;
    nl_error *second = get_entry(self, identifier, arena, &entry);
    if (second || entry) {
        nl_error_free(second);
        return error;
    }
    nl_error_free(error);
    *was_dropped = true;
    return NULL;
}

static nl_status drop_table_in(nl_hive_catalog *self, const nl_identifier *identifier, bool is_purge, nl_arena *arena, bool *was_dropped)
{
    nl_wire_value *entry;
    nl_iceberg_table *table = NULL;
    *was_dropped = false;
    NL_TRY(get_entry(self, identifier, arena, &entry));
    if (!nl_hive_is_table(entry)) return NULL;
    nl_status status = is_purge ? load_to_purge(self, identifier, &table) : NULL;
    if (!status) status = drop_entry(self, identifier, arena, was_dropped);
    if (!status && table && *was_dropped) status = nl_purge_table_files(table->fs, table->metadata, table->memory);
    nl_iceberg_table_release(table);
    return status;
}

static nl_status hive_drop_table(nl_catalog *catalog, const nl_identifier *identifier, bool is_purge, bool *was_dropped)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = drop_table_in(nl_hive_of(catalog), identifier, is_purge, arena, was_dropped);
    nl_arena_free(arena);
    return status;
}

/* The entry moved, or it did not: a lost answer is looked up, by the metadata file that both names would have. */
static nl_status move_entry(nl_hive_catalog *self, const nl_identifier *from, const nl_identifier *to, nl_wire_value *entry, nl_arena *arena)
{
    nl_hive_answer answer;
    nl_wire_value *moved = NULL;
    const nl_str file = nl_hms_parameter(entry, NL_HMS_METADATA_LOCATION_KEY);
    nl_wire_set_text(arena, entry, NL_HMS_TABLE_DATABASE, to->namespace_parts[0]);
    nl_wire_set_text(arena, entry, NL_HMS_TABLE_NAME, to->name);
    nl_error *error = nl_hms_alter_table(self->client, from->namespace_parts[0], from->name, entry, NL_STR(""), arena, &answer);
    if (error && nl_error_kind_of(error) == NL_KIND_UNKNOWN_STATE) {
        nl_error_free(get_entry(self, to, arena, &moved));
        if (moved && nl_str_equal(nl_hms_parameter(moved, NL_HMS_METADATA_LOCATION_KEY), file)) {
            nl_error_free(error);
            return NULL;
        }
    }
    NL_TRY(error);
    if (nl_hive_is(&answer, "InvalidOperationException") && nl_str_find(answer.message, NL_STR("already exists"), 0) != NL_NOT_FOUND) return exists_already(self, to, arena);
    return nl_hive_failure(&answer, &(nl_hive_method){.name = "a rename"});
}

static nl_status rename_in(nl_hive_catalog *self, const nl_identifier *from, const nl_identifier *to, bool is_view, nl_arena *arena)
{
    nl_wire_value *entry, *other;
    bool is_there;
    if (!is_valid(from)) return not_found(self, from);
    if (!is_valid(to)) return invalid(to, arena);
    NL_TRY(nl_catalog_namespace_exists(&self->base, to->namespace_parts, to->namespace_count, &is_there));
    if (!is_there) {
        const nl_str from_text = nl_identifier_text(arena, from), to_text = nl_identifier_text(arena, to);
        return NL_RAISE_TEXT(NILAS_NO_SUCH_NAMESPACE, "Cannot rename " NL_STR_FMT " to " NL_STR_FMT ". Namespace does not exist: " NL_STR_FMT, NL_STR_ARG(from_text),
                             NL_STR_ARG(to_text), NL_STR_ARG(to->namespace_parts[0]));
    }
    NL_TRY(get_entry(self, to, arena, &other));
    if (other) return exists_already(self, to, arena);
    NL_TRY(get_entry(self, from, arena, &entry));
    if (!(is_view ? nl_hive_is_view(entry) : nl_hive_is_table(entry))) return not_found(self, from);
    return move_entry(self, from, to, entry, arena);
}

static nl_status hive_rename_table(nl_catalog *catalog, const nl_identifier *from, const nl_identifier *to)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = rename_in(nl_hive_of(catalog), from, to, false, arena);
    nl_arena_free(arena);
    return status;
}

static nl_status register_in(nl_hive_catalog *self, const nl_identifier *identifier, nl_str metadata_file, nl_arena *arena)
{
    const nl_table_metadata *metadata = NULL;
    nl_pointer *pointer = NULL;
    if (!is_valid(identifier)) return invalid(identifier, arena);
    NL_TRY(nl_table_metadata_read(self->fs, metadata_file, self->base.memory, &metadata));
    nl_status status = nl_hive_pointer_new(self, identifier, false, &pointer);
    if (!status) status = pointer->ops->swap(pointer, NL_STR(""), metadata_file, metadata);
    if (pointer) pointer->ops->free(pointer);
    nl_table_metadata_release(metadata);
    return status;
}

static nl_status hive_register_table(nl_catalog *catalog, const nl_identifier *identifier, nl_str metadata_file, nl_iceberg_table **table)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = register_in(nl_hive_of(catalog), identifier, metadata_file, arena);
    nl_arena_free(arena);
    return status ? status : hive_load_table(catalog, identifier, table);
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

static nl_status hive_load_view(nl_catalog *catalog, const nl_identifier *identifier, const nl_view_metadata **view)
{
    nl_hive_catalog *self = nl_hive_of(catalog);
    nl_pointer *pointer;
    if (!is_valid(identifier)) return not_found(self, identifier);
    NL_TRY(nl_hive_pointer_new(self, identifier, true, &pointer));
    nl_status status = nl_pointer_load_view(self->fs, pointer, catalog->memory, view);
    pointer->ops->free(pointer);
    return status;
}

static nl_status hive_commit_view(nl_catalog *catalog, const nl_identifier *identifier, const nl_view_metadata *base, const nl_view_metadata *updated,
                                  const nl_view_update *updates, uint32_t update_count, const nl_view_metadata **committed)
{
    nl_hive_catalog *self = nl_hive_of(catalog);
    nl_pointer *pointer;
    (void)updates, (void)update_count;
    if (!is_valid(identifier)) return not_found(self, identifier);
    NL_TRY(nl_hive_pointer_new(self, identifier, true, &pointer));
    nl_hive_pointer_set_view(pointer, base, updated);
    nl_status status = nl_pointer_commit_view(self->fs, pointer, base, updated, catalog->memory, committed);
    pointer->ops->free(pointer);
    return status;
}

static nl_status drop_view_in(nl_hive_catalog *self, const nl_identifier *identifier, nl_arena *arena, bool *was_dropped)
{
    nl_wire_value *entry;
    *was_dropped = false;
    NL_TRY(get_entry(self, identifier, arena, &entry));
    if (!nl_hive_is_view(entry)) return NULL;
    NL_TRY(drop_entry(self, identifier, arena, was_dropped));
    const nl_str file = nl_hms_parameter(entry, NL_HMS_METADATA_LOCATION_KEY);
    if (!*was_dropped || !file.length || nl_str_is_nocase(nl_hms_parameter(entry, "gc.enabled"), "false")) return NULL;
    nl_error *error = nl_fs_remove(self->fs, file);
    if (error) nl_log(NL_LOG_WARN, "the metadata file of a dropped view stays behind: %s", nl_error_message(error));
    nl_error_free(error);
    return NULL;
}

static nl_status hive_drop_view(nl_catalog *catalog, const nl_identifier *identifier, bool *was_dropped)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = drop_view_in(nl_hive_of(catalog), identifier, arena, was_dropped);
    nl_arena_free(arena);
    return status;
}

static nl_status hive_rename_view(nl_catalog *catalog, const nl_identifier *from, const nl_identifier *to)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = rename_in(nl_hive_of(catalog), from, to, true, arena);
    nl_arena_free(arena);
    return status;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void hive_free(nl_catalog *catalog)
{
    nl_hive_catalog *self = nl_hive_of(catalog);
    nl_hive_client_free(self->client);
    nl_metadata_cache_free(self->cache);
    if (self->fs) nl_fs_release(self->fs);
    nl_arena_free(self->arena);
    nl_catalog_fini(catalog);
    free(self);
}

static const nl_catalog_ops hive_ops = {
    .type = "hive",
    .has_rename = true,
    .list_namespaces = nl_hive_list_namespaces,
    .create_namespace = nl_hive_create_namespace,
    .drop_namespace = nl_hive_drop_namespace,
    .namespace_properties = nl_hive_namespace_properties,
    .update_namespace = nl_hive_update_namespace,
    .list_tables = hive_list_tables,
    .load_table = hive_load_table,
    .table_exists = hive_table_exists,
    .new_table = hive_new_table,
    .drop_table = hive_drop_table,
    .rename_table = hive_rename_table,
    .register_table = hive_register_table,
    .default_location = hive_default_location,
    .has_views = true,
    .list_views = hive_list_views,
    .load_view = hive_load_view,
    .commit_view = hive_commit_view,
    .drop_view = hive_drop_view,
    .rename_view = hive_rename_view,
    .free = hive_free,
};

nl_status nl_hive_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment, nl_memory *memory,
                               nl_catalog **catalog)
{
    nl_hive_catalog *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P("receivedBytes", "0"));
    nl_status status = nl_catalog_init(&self->base, &hive_ops, name, properties, property_count, environment, memory);
    if (status) {
        free(self);
        return status;
    }
    self->arena = nl_arena_new(memory);
    self->cache = nl_metadata_cache_new();
    status = nl_hive_options_read(&self->base, self->arena, &self->options);
    if (!status) status = nl_hive_client_new(&self->options, memory, &self->client);
    if (!status) status = nl_fs_from_properties(self->base.properties, self->base.property_count, memory, &self->fs);
    if (status) {
        hive_free(&self->base);
        return status;
    }
    *catalog = &self->base;
    return NULL;
}
