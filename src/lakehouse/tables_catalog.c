/* lakehouse/tables_catalog.c - a warehouse of the table store as a catalog of the engine, in the process. See tables.h.
 *
 * The outcome of a swap is always known: the database is this process's own.
 */
#include "lakehouse/tables_private.h"

#include "catalog/pointer.h"

#include <stdlib.h>

typedef struct tables_catalog {
    nl_catalog base;
    nl_tables *tables; /* borrowed */
    nl_arena *arena;   /* owned: the warehouse's texts */
    nl_warehouse warehouse;
} tables_catalog;

typedef struct tables_store {
    nl_table_store base;
    nl_tables *tables; /* borrowed */
    nl_arena *arena;   /* owned: the texts */
    nl_warehouse warehouse;
    nl_identifier identifier;
    nl_str warehouse_location; /* of a table about to be made in a table bucket; else empty */
} tables_store;

static tables_catalog *self_of(nl_catalog *catalog)
{
    return NL_CONTAINER(catalog, tables_catalog, base);
}

static nl_status not_found(nl_arena *arena, const nl_identifier *identifier)
{
    nl_str joined;
    NL_TRY(nl_namespace_join(arena, identifier->namespace_parts, identifier->namespace_count, &joined));
    return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_relation_name(arena, joined, identifier->name)));
}

/* ---- One table ---- */

static nl_status find_table(nl_tables *tables, int64_t warehouse_id, const nl_identifier *identifier, nl_arena *arena, nl_table_entry *entry)
{
    bool exists;
    NL_TRY(nl_tables_find(tables, warehouse_id, identifier, arena, entry, &exists));
    return exists && !entry->is_view && entry->metadata_location.length ? NULL : not_found(arena, identifier);
}

static nl_status load_in(tables_store *self, nl_arena *arena, const nl_table_metadata **metadata)
{
    nl_table_entry entry;
    nl_kept_metadata kept;
    NL_TRY(find_table(self->tables, self->warehouse.id, &self->identifier, arena, &entry));
    NL_TRY(nl_tables_read_metadata(self->tables, entry.metadata_location, &kept));
    *metadata = nl_table_metadata_retain(kept.metadata);
    nl_kept_metadata_release(&kept);
    return NULL;
}

static nl_status store_load(nl_table_store *store, nl_memory *memory, const nl_table_metadata **metadata)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_status status = load_in(NL_CONTAINER(store, tables_store, base), arena, metadata);
    nl_arena_free(arena);
    return status;
}

/* Where metadata goes is the client's word: only where tables of this warehouse may be, a table bucket's in its own storage. */
static nl_status check_locations(const tables_store *self, const nl_table_metadata *base, const nl_table_metadata *updated)
{
    const nl_str path = nl_table_property(updated, "write.metadata.path", NULL);
    const bool is_moved = !base || !nl_str_equal(base->location, updated->location);
    if (self->warehouse.kind != NL_WAREHOUSE_TABLE_BUCKET) {
        if (path.data) NL_TRY(nl_tables_check_location(self->tables, &self->warehouse, path));
        return is_moved ? nl_tables_check_location(self->tables, &self->warehouse, updated->location) : NULL;
    }
    const nl_str uuid = nl_tables_storage_uuid(base ? base->location : updated->location), moved = nl_tables_storage_uuid(updated->location);
    const bool is_inside = uuid.length && nl_str_equal(uuid, moved) && (!path.data || nl_str_equal(nl_tables_storage_uuid(path), uuid));
    return is_inside ? NULL : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The location of a table in a table bucket cannot be chosen");
}

static nl_status store_swap(nl_table_store *store, const nl_table_metadata *base, const nl_table_metadata *updated, nl_memory *memory,
                            const nl_table_metadata **committed)
{
    (void)memory;
    tables_store *self = NL_CONTAINER(store, tables_store, base);
    nl_kept_metadata kept;
    nl_fs *fs;
    const nl_pointer_change change = {.identifier = self->identifier,
                                      .expected = base ? base->metadata_file : (nl_str){0},
                                      .warehouse_location = base ? (nl_str){0} : self->warehouse_location,
                                      .uuid = base ? (nl_str){0} : nl_tables_storage_uuid(self->warehouse_location)};
    NL_TRY(check_locations(self, base, updated));
    NL_TRY(nl_tables_publish(self->tables, self->warehouse.id, &change, base, updated, &kept));
    nl_error *error = nl_tables_warehouse_fs(self->tables, &self->warehouse, kept.metadata->metadata_file, &fs);
    if (!error) {
        nl_delete_dropped_metadata_files(fs, base, kept.metadata);
        nl_fs_release(fs);
    }
    nl_error_free(error);
    *committed = nl_table_metadata_retain(kept.metadata);
    nl_kept_metadata_release(&kept);
    return NULL;
}

static void store_free(nl_table_store *store)
{
    tables_store *self = NL_CONTAINER(store, tables_store, base);
    nl_arena_free(self->arena);
}

static const nl_table_store_ops store_ops = {.load = store_load, .swap = store_swap, .free = store_free};

static nl_table_store *new_store(tables_catalog *catalog, const nl_identifier *identifier, nl_str warehouse_location)
{
    nl_arena *arena = nl_arena_new(catalog->base.memory);
    tables_store *made = NL_NEW(arena, tables_store);
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, (size_t)identifier->namespace_count + 1);
    for (uint32_t i = 0; i < identifier->namespace_count; i++)
        parts[i] = nl_arena_str(arena, identifier->namespace_parts[i]);
    *made = (tables_store){.base = {&store_ops},
                           .tables = catalog->tables,
                           .arena = arena,
                           .warehouse = {.id = catalog->warehouse.id, .kind = catalog->warehouse.kind, .location = nl_arena_str(arena, catalog->warehouse.location)},
                           .identifier = {parts, identifier->namespace_count, nl_arena_str(arena, identifier->name)},
                           .warehouse_location = nl_arena_str(arena, warehouse_location)};
    return &made->base;
}

/* ---- Namespaces ---- */

static nl_status catalog_list_namespaces(nl_catalog *catalog, const nl_str *parent, uint32_t parent_count, nl_arena *arena, nl_name_list *list)
{
    tables_catalog *self = self_of(catalog);
    const nl_namespace_entry *entries;
    uint32_t count;
    NL_TRY(nl_tables_list_namespaces(self->tables, self->warehouse.id, parent, parent_count, (nl_str){0}, (nl_str){0}, UINT32_MAX, arena, &entries, &count));
    list->items = NL_NEW_ARRAY(arena, nl_identifier, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        list->items[i] = (nl_identifier){.namespace_parts = entries[i].parts, .namespace_count = entries[i].part_count};
    list->count = count;
    return NULL;
}

static nl_status catalog_create_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count)
{
    tables_catalog *self = self_of(catalog);
    NL_TRY(nl_tables_check_scope(self->tables, &self->warehouse, properties, property_count));
    return nl_tables_create_namespace(self->tables, self->warehouse.id, parts, part_count, properties, property_count, NULL);
}

static nl_status catalog_drop_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, bool *was_dropped)
{
    tables_catalog *self = self_of(catalog);
    return nl_tables_drop_namespace(self->tables, self->warehouse.id, parts, part_count, NULL, was_dropped);
}

static nl_status catalog_namespace_properties(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, const nl_property **properties,
                                              uint32_t *property_count)
{
    tables_catalog *self = self_of(catalog);
    nl_namespace_entry entry;
    bool exists;
    NL_TRY(nl_tables_find_namespace(self->tables, self->warehouse.id, parts, part_count, arena, &entry, &exists));
    if (!exists) {
        nl_str joined;
        NL_TRY(nl_namespace_join(arena, parts, part_count, &joined));
        return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_relation_name(arena, joined, (nl_str){0})));
    }
    *properties = entry.properties;
    *property_count = entry.property_count;
    return NULL;
}

static nl_status catalog_update_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count,
                                          const nl_str *removed, uint32_t removed_count)
{
    tables_catalog *self = self_of(catalog);
    NL_TRY(nl_tables_check_scope(self->tables, &self->warehouse, set, set_count));
    const nl_namespace_update update = {.set = set, .set_count = set_count, .removed = removed, .removed_count = removed_count};
    return nl_tables_update_namespace(self->tables, self->warehouse.id, parts, part_count, &update);
}

/* ---- Tables ---- */

static nl_status list_entries(tables_catalog *self, const nl_str *parts, uint32_t part_count, bool views, nl_arena *arena, nl_name_list *list)
{
    const nl_table_entry *entries;
    uint32_t count;
    NL_TRY(nl_tables_list(self->tables, self->warehouse.id, parts, part_count, views, (nl_str){0}, (nl_str){0}, UINT32_MAX, arena, &entries, &count));
    list->items = NL_NEW_ARRAY(arena, nl_identifier, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        list->items[i] = (nl_identifier){entries[i].namespace_parts, entries[i].namespace_count, entries[i].name};
    list->count = count;
    return NULL;
}

static nl_status catalog_list_tables(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list)
{
    return list_entries(self_of(catalog), parts, part_count, false, arena, list);
}

static nl_status open_table(tables_catalog *self, const nl_identifier *identifier, nl_arena *arena, nl_iceberg_table **table)
{
    nl_table_entry entry;
    nl_kept_metadata kept;
    nl_fs *fs;
    NL_TRY(find_table(self->tables, self->warehouse.id, identifier, arena, &entry));
    NL_TRY(nl_tables_read_metadata(self->tables, entry.metadata_location, &kept));
    nl_status status = nl_tables_warehouse_fs(self->tables, &self->warehouse, kept.metadata->location, &fs);
    const nl_str text = nl_identifier_text(arena, identifier);
    const nl_str name = nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(self->base.name), NL_STR_ARG(text));
    if (!status) {
        status = nl_iceberg_table_new(name, fs, new_store(self, identifier, (nl_str){0}), nl_table_metadata_retain(kept.metadata), self->base.memory, table);
        nl_fs_release(fs);
    }
    nl_kept_metadata_release(&kept);
    if (status) return status;
    (*table)->manifest_cache = self->base.manifest_cache;
    (*table)->environment = self->base.environment;
    return NULL;
}

static nl_status catalog_load_table(nl_catalog *catalog, const nl_identifier *identifier, nl_iceberg_table **table)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = open_table(self_of(catalog), identifier, arena, table);
    nl_arena_free(arena);
    return status;
}

static nl_status catalog_default_location(nl_catalog *catalog, const nl_identifier *identifier, nl_arena *arena, nl_str *location)
{
    tables_catalog *self = self_of(catalog);
    return nl_tables_default_location(self->tables, &self->warehouse, identifier, arena, location);
}

static nl_status catalog_new_table(nl_catalog *catalog, const nl_identifier *identifier, nl_str location, nl_arena *arena, nl_fs **fs, nl_table_store **store,
                                   nl_str *table_location)
{
    tables_catalog *self = self_of(catalog);
    nl_str storage = {0}, uuid;
    if (self->warehouse.kind == NL_WAREHOUSE_TABLE_BUCKET) {
        nl_table_entry entry;
        bool exists;
        NL_TRY(nl_tables_find(self->tables, self->warehouse.id, identifier, arena, &entry, &exists));
        if (location.length && !(exists && nl_str_starts(location, entry.warehouse_location)))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The location of a table in a table bucket cannot be chosen: create it without LOCATION");
        if (exists) location = entry.warehouse_location;
        else NL_TRY(nl_tables_new_storage(self->tables, arena, &uuid, &storage));
        if (!exists) location = storage;
    } else if (!location.length) {
        NL_TRY(nl_tables_default_location(self->tables, &self->warehouse, identifier, arena, &location));
    }
    NL_TRY(nl_tables_check_location(self->tables, &self->warehouse, location));
    NL_TRY(nl_tables_warehouse_fs(self->tables, &self->warehouse, location, fs));
    *store = new_store(self, identifier, storage);
    *table_location = location;
    return NULL;
}

static nl_status drop_in(tables_catalog *self, const nl_identifier *identifier, bool is_purge, nl_arena *arena, bool *was_dropped)
{
    nl_table_entry entry;
    nl_kept_metadata kept = {0};
    bool exists;
    NL_TRY(nl_tables_find(self->tables, self->warehouse.id, identifier, arena, &entry, &exists));
    const bool is_purged = exists && is_purge && self->warehouse.kind != NL_WAREHOUSE_TABLE_BUCKET && entry.metadata_location.length;
    if (is_purged) NL_TRY(nl_tables_read_metadata(self->tables, entry.metadata_location, &kept));
    /* What is purged is what was looked at: another table of that name would have another token. */
    nl_status status = is_purged ? nl_check_purge(kept.metadata) : NULL;
    if (!status) status = nl_tables_drop(self->tables, self->warehouse.id, identifier, false, is_purged ? entry.version_token : (nl_str){0}, NULL, was_dropped);
    if (!status && is_purged && *was_dropped) {
        nl_fs *fs;
        status = nl_tables_warehouse_fs(self->tables, &self->warehouse, kept.metadata->location, &fs);
        if (!status) {
            status = nl_purge_table_files(fs, kept.metadata, self->base.memory);
            nl_fs_release(fs);
        }
    }
    nl_kept_metadata_release(&kept);
    return status;
}

static nl_status catalog_drop_table(nl_catalog *catalog, const nl_identifier *identifier, bool is_purge, bool *was_dropped)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = drop_in(self_of(catalog), identifier, is_purge, arena, was_dropped);
    nl_arena_free(arena);
    return status;
}

static nl_status catalog_rename_table(nl_catalog *catalog, const nl_identifier *from, const nl_identifier *to)
{
    tables_catalog *self = self_of(catalog);
    return nl_tables_rename(self->tables, self->warehouse.id, from, to, false, (nl_str){0}, NULL);
}

static nl_status catalog_register_table(nl_catalog *catalog, const nl_identifier *identifier, nl_str metadata_file, nl_iceberg_table **table)
{
    tables_catalog *self = self_of(catalog);
    nl_kept_metadata kept;
    if (self->warehouse.kind == NL_WAREHOUSE_TABLE_BUCKET) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Tables cannot be registered in a table bucket");
    NL_TRY(nl_tables_check_location(self->tables, &self->warehouse, metadata_file));
    NL_TRY(nl_tables_read_metadata(self->tables, metadata_file, &kept));
    nl_kept_metadata_release(&kept);
    const nl_pointer_change change = {.identifier = *identifier, .next = metadata_file};
    NL_TRY(nl_tables_commit(self->tables, self->warehouse.id, &change, 1));
    return catalog_load_table(catalog, identifier, table);
}

/* ---- Views ---- */

static nl_status catalog_list_views(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list)
{
    return list_entries(self_of(catalog), parts, part_count, true, arena, list);
}

static nl_status catalog_load_view(nl_catalog *catalog, const nl_identifier *identifier, const nl_view_metadata **view)
{
    tables_catalog *self = self_of(catalog);
    return nl_tables_load_view(self->tables, self->warehouse.id, identifier, catalog->memory, view);
}

static nl_status catalog_commit_view(nl_catalog *catalog, const nl_identifier *identifier, const nl_view_metadata *base, const nl_view_metadata *updated,
                                     const nl_view_update *updates, uint32_t update_count, const nl_view_metadata **committed)
{
    (void)updates, (void)update_count;
    tables_catalog *self = self_of(catalog);
    if (self->warehouse.kind == NL_WAREHOUSE_TABLE_BUCKET) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A table bucket holds no views");
    NL_TRY(nl_tables_check_location(self->tables, &self->warehouse, updated->location));
    return nl_tables_commit_view(self->tables, self->warehouse.id, identifier, base, updated, NULL, catalog->memory, committed);
}

static nl_status catalog_drop_view(nl_catalog *catalog, const nl_identifier *identifier, bool *was_dropped)
{
    tables_catalog *self = self_of(catalog);
    return nl_tables_drop(self->tables, self->warehouse.id, identifier, true, (nl_str){0}, NULL, was_dropped);
}

static nl_status catalog_rename_view(nl_catalog *catalog, const nl_identifier *from, const nl_identifier *to)
{
    tables_catalog *self = self_of(catalog);
    return nl_tables_rename(self->tables, self->warehouse.id, from, to, true, (nl_str){0}, NULL);
}

static void catalog_free(nl_catalog *catalog)
{
    tables_catalog *self = self_of(catalog);
    nl_catalog_fini(catalog);
    nl_arena_free(self->arena);
    free(self);
}

static const nl_catalog_ops catalog_ops = {
    .type = "lakehouse",
    .has_views = true,
    .has_rename = true,
    .list_namespaces = catalog_list_namespaces,
    .create_namespace = catalog_create_namespace,
    .drop_namespace = catalog_drop_namespace,
    .namespace_properties = catalog_namespace_properties,
    .update_namespace = catalog_update_namespace,
    .list_tables = catalog_list_tables,
    .load_table = catalog_load_table,
    .new_table = catalog_new_table,
    .drop_table = catalog_drop_table,
    .rename_table = catalog_rename_table,
    .register_table = catalog_register_table,
    .list_views = catalog_list_views,
    .load_view = catalog_load_view,
    .commit_view = catalog_commit_view,
    .drop_view = catalog_drop_view,
    .rename_view = catalog_rename_view,
    .default_location = catalog_default_location,
    .free = catalog_free,
};

nl_status nl_tables_catalog(nl_tables *tables, int64_t warehouse_id, nl_str name, const nl_commit_environment *environment, nl_catalog **catalog)
{
    tables_catalog *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    nl_arena *arena = nl_arena_new(tables->memory);
    bool exists = false;
    nl_status status = nl_tables_warehouse_by_id(tables, warehouse_id, arena, &made->warehouse, &exists);
    if (!status && !exists) status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "There is no warehouse %lld", (long long)warehouse_id);
    if (!status) status = nl_catalog_init(&made->base, &catalog_ops, name, NULL, 0, environment, tables->memory);
    if (status) {
        nl_arena_free(arena);
        free(made);
        return status;
    }
    made->tables = tables;
    made->arena = arena;
    *catalog = &made->base;
    return NULL;
}
