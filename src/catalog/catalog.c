/* catalog/catalog.c - the wrappers every caller goes through, and what all catalogs have in common. */
#include "catalog/catalog_private.h"

#include <stdlib.h>

#include "base/log.h"
#include "iceberg/operation.h"

#define MANIFEST_CACHE_BYTES (64u << 20)

nl_status nl_catalog_init(nl_catalog *catalog, const nl_catalog_ops *ops, nl_str name, const nl_property *properties, uint32_t property_count,
                          const nl_commit_environment *environment, nl_memory *memory)
{
    nl_property *copies = calloc(property_count ? property_count : 1, sizeof(*copies));
    char *name_copy = strndup(name.data, name.length);
    if (!copies || !name_copy) {
        free(copies);
        free(name_copy);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", property_count), NL_P("receivedBytes", "0"));
    }
    for (uint32_t i = 0; i < property_count; i++) {
        copies[i].key = nl_str_from(strndup(properties[i].key.data ? properties[i].key.data : "", properties[i].key.length));
        copies[i].value = nl_str_from(strndup(properties[i].value.data ? properties[i].value.data : "", properties[i].value.length));
    }
    catalog->ops = ops;
    catalog->name = nl_str_from(name_copy);
    catalog->memory = nl_memory_retain(memory);
    catalog->manifest_cache = nl_manifest_cache_new(memory, MANIFEST_CACHE_BYTES);
    catalog->properties = copies;
    catalog->property_count = property_count;
    catalog->environment = *environment;
    atomic_init(&catalog->references, 1);
    return NULL;
}

void nl_catalog_fini(nl_catalog *catalog)
{
    for (uint32_t i = 0; i < catalog->property_count; i++) {
        free((void *)(uintptr_t)catalog->properties[i].key.data);
        free((void *)(uintptr_t)catalog->properties[i].value.data);
    }
    free((void *)(uintptr_t)catalog->properties);
    free((void *)(uintptr_t)catalog->name.data);
    nl_manifest_cache_free(catalog->manifest_cache);
    nl_memory_release(catalog->memory);
}

nl_catalog *nl_catalog_retain(nl_catalog *catalog)
{
    atomic_fetch_add_explicit(&catalog->references, 1, memory_order_relaxed);
    return catalog;
}

void nl_catalog_release(nl_catalog *catalog)
{
    if (!catalog || atomic_fetch_sub_explicit(&catalog->references, 1, memory_order_acq_rel) != 1) return;
    catalog->ops->free(catalog);
}

nl_str nl_catalog_property(const nl_catalog *catalog, const char *key)
{
    for (uint32_t i = 0; i < catalog->property_count; i++)
        if (nl_str_is(catalog->properties[i].key, key)) return catalog->properties[i].value;
    return (nl_str){0};
}

nl_status nl_check_path_part(nl_str part)
{
    bool is_bad = part.length == 0 || nl_str_is(part, ".") || nl_str_is(part, "..");
    for (size_t i = 0; i < part.length; i++)
        is_bad = is_bad || part.data[i] == '/' || part.data[i] == 0;
    return is_bad ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid name for a folder: '" NL_STR_FMT "'", NL_STR_ARG(part)) : NULL;
}

static nl_str join_namespace(nl_arena *arena, const nl_str *parts, uint32_t part_count)
{
    nl_str text = {"", 0};
    for (uint32_t i = 0; i < part_count; i++)
        text = i ? nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(text), NL_STR_ARG(parts[i])) : parts[i];
    return text;
}

nl_str nl_identifier_text(nl_arena *arena, const nl_identifier *identifier)
{
    if (identifier->namespace_count == 0) return nl_arena_str(arena, identifier->name);
    const nl_str scope = join_namespace(arena, identifier->namespace_parts, identifier->namespace_count);
    return nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(scope), NL_STR_ARG(identifier->name));
}

nl_str nl_quoted_namespace(nl_arena *arena, const nl_catalog *catalog, const nl_str *parts, uint32_t part_count)
{
    nl_str text = nl_arena_f(arena, "`" NL_STR_FMT "`", NL_STR_ARG(catalog->name));
    for (uint32_t i = 0; i < part_count; i++)
        text = nl_arena_f(arena, NL_STR_FMT ".`" NL_STR_FMT "`", NL_STR_ARG(text), NL_STR_ARG(parts[i]));
    return text;
}

nl_str nl_quoted_identifier(nl_arena *arena, const nl_catalog *catalog, const nl_identifier *identifier)
{
    const nl_str scope = nl_quoted_namespace(arena, catalog, identifier->namespace_parts, identifier->namespace_count);
    return nl_arena_f(arena, NL_STR_FMT ".`" NL_STR_FMT "`", NL_STR_ARG(scope), NL_STR_ARG(identifier->name));
}

static nl_status unsupported(const nl_catalog *catalog, const char *what)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s is not supported by catalog " NL_STR_FMT " (%s)", what, NL_STR_ARG(catalog->name), catalog->ops->type);
}

nl_status nl_catalog_list_namespaces(nl_catalog *catalog, const nl_str *parent, uint32_t parent_count, nl_arena *arena, nl_name_list *list)
{
    *list = (nl_name_list){0};
    return catalog->ops->list_namespaces(catalog, parent, parent_count, arena, list);
}

nl_status nl_catalog_namespace_properties(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, const nl_property **properties,
                                          uint32_t *property_count)
{
    return catalog->ops->namespace_properties(catalog, parts, part_count, arena, properties, property_count);
}

nl_status nl_catalog_namespace_exists(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, bool *exists)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_property *properties;
    uint32_t property_count;
    nl_status status = nl_catalog_namespace_properties(catalog, parts, part_count, arena, &properties, &property_count);
    nl_arena_free(arena);
    *exists = status == NULL;
    if (status && nl_error_condition(status) == NL_COND_SCHEMA_NOT_FOUND) {
        nl_error_free(status);
        status = NULL;
    }
    return status;
}

/* `CREATE NAMESPACE c` with a catalog c names the catalog's root, which is always there and is nobody's to change. */
static nl_status check_named(const nl_catalog *catalog, uint32_t part_count)
{
    if (part_count > 0) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, NL_STR_FMT " is a catalog: name a namespace in it, " NL_STR_FMT ".<namespace>", NL_STR_ARG(catalog->name),
                         NL_STR_ARG(catalog->name));
}

nl_status nl_catalog_create_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count)
{
    NL_TRY(check_named(catalog, part_count));
    if (!catalog->ops->create_namespace) return unsupported(catalog, "Creating a namespace");
    return nl_say_unknown(catalog->ops->create_namespace(catalog, parts, part_count, properties, property_count), "creating", parts[part_count - 1]);
}

nl_status nl_catalog_drop_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, bool *was_dropped)
{
    NL_TRY(check_named(catalog, part_count));
    if (!catalog->ops->drop_namespace) return unsupported(catalog, "Dropping a namespace");
    return nl_say_unknown(catalog->ops->drop_namespace(catalog, parts, part_count, was_dropped), "dropping", parts[part_count - 1]);
}

nl_status nl_catalog_update_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count,
                                      const nl_str *removed, uint32_t removed_count)
{
    NL_TRY(check_named(catalog, part_count));
    if (!catalog->ops->update_namespace) return unsupported(catalog, "Setting namespace properties");
    return nl_say_unknown(catalog->ops->update_namespace(catalog, parts, part_count, set, set_count, removed, removed_count), "changing", parts[part_count - 1]);
}

nl_status nl_catalog_list_tables(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list)
{
    *list = (nl_name_list){0};
    return catalog->ops->list_tables(catalog, parts, part_count, arena, list);
}

nl_status nl_catalog_load_table(nl_catalog *catalog, const nl_identifier *identifier, nl_iceberg_table **table)
{
    return catalog->ops->load_table(catalog, identifier, table);
}

nl_status nl_catalog_table_exists(nl_catalog *catalog, const nl_identifier *identifier, bool *exists)
{
    nl_iceberg_table *table = NULL;
    if (catalog->ops->table_exists) return catalog->ops->table_exists(catalog, identifier, exists);
    nl_status status = nl_catalog_load_table(catalog, identifier, &table);
    *exists = status == NULL;
    nl_iceberg_table_release(table);
    if (status && nl_error_condition(status) == NL_COND_TABLE_OR_VIEW_NOT_FOUND) {
        nl_error_free(status);
        status = NULL;
    }
    return status;
}

nl_status nl_catalog_drop_table(nl_catalog *catalog, const nl_identifier *identifier, bool is_purge, bool *was_dropped)
{
    if (!catalog->ops->drop_table) return unsupported(catalog, "Dropping a table");
    return nl_say_unknown(catalog->ops->drop_table(catalog, identifier, is_purge, was_dropped), "dropping", identifier->name);
}

nl_status nl_catalog_rename_table(nl_catalog *catalog, const nl_identifier *from, const nl_identifier *to)
{
    if (!catalog->ops->rename_table) return unsupported(catalog, "Renaming a table");
    return nl_say_unknown(catalog->ops->rename_table(catalog, from, to), "renaming", from->name);
}

nl_status nl_catalog_register_table(nl_catalog *catalog, const nl_identifier *identifier, nl_str metadata_file, nl_iceberg_table **table)
{
    if (!catalog->ops->register_table) return unsupported(catalog, "Registering a table");
    return nl_say_unknown(catalog->ops->register_table(catalog, identifier, metadata_file, table), "registering", identifier->name);
}

/* table-default.K fills what the user left open, table-override.K wins; Java's writer default is stored at creation. */
static void merge_properties(const nl_property *properties, uint32_t property_count, const nl_table_request *request, nl_arena *arena, nl_table_creation *creation)
{
    static const nl_str defaults = NL_STR_INIT("table-default."), overrides = NL_STR_INIT("table-override.");
    nl_property *merged = NL_NEW_ARRAY(arena, nl_property, request->property_count + property_count + 1);
    uint32_t count = 0;
    merged[count++] = (nl_property){NL_STR("write.parquet.compression-codec"), NL_STR("zstd")};
    for (uint32_t round = 0; round < 3; round++) {
        const uint32_t source_count = round == 1 ? request->property_count : property_count;
        for (uint32_t i = 0; i < source_count; i++) {
            nl_property property = round == 1 ? request->properties[i] : properties[i];
            const nl_str prefix = round == 0 ? defaults : overrides;
            if (round != 1 && !nl_str_starts(property.key, prefix)) continue;
            if (round != 1) property.key = nl_str_slice(property.key, prefix.length, property.key.length);
            uint32_t at = 0;
            while (at < count && !nl_str_equal(merged[at].key, property.key))
                at++;
            merged[at] = property;
            count = NL_MAX(count, at + 1);
        }
    }
    creation->properties = merged;
    creation->property_count = count;
}

nl_status nl_table_creation_make(const nl_property *catalog_properties, uint32_t catalog_property_count, const nl_table_request *request, nl_str location,
                                 nl_arena *arena, nl_table_creation *creation)
{
    int32_t last_field_id = NL_PARTITION_FIELD_ID_START - 1;
    *creation = (nl_table_creation){.schema = request->schema, .sort_order = request->sort_order, .location = location};
    if (request->partition_count > 0)
        NL_TRY(nl_partition_spec_build(arena, request->schema, request->partitions, request->partition_count, &last_field_id, &creation->spec));
    merge_properties(catalog_properties, catalog_property_count, request, arena, creation);
    return NULL;
}

static nl_status table_name(const nl_catalog *catalog, const nl_identifier *identifier, nl_arena *arena, nl_str *name)
{
    const nl_str text = nl_identifier_text(arena, identifier);
    *name = nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(catalog->name), NL_STR_ARG(text));
    return NULL;
}

static void adopt(const nl_catalog *catalog, nl_iceberg_table *table)
{
    table->manifest_cache = catalog->manifest_cache;
    table->environment = catalog->environment;
}

nl_status nl_catalog_table_new(nl_catalog *catalog, const nl_identifier *identifier, nl_fs *fs, nl_table_store *store, nl_iceberg_table **table)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_str name;
    nl_status status = table_name(catalog, identifier, arena, &name);
    if (!status) status = nl_iceberg_table_new(name, fs, store, NULL, catalog->memory, table);
    if (!status) adopt(catalog, *table);
    nl_arena_free(arena);
    return status;
}

static nl_status already_exists(const nl_catalog *catalog, const nl_identifier *identifier, nl_arena *arena)
{
    return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", nl_quoted_identifier(arena, catalog, identifier)));
}

static nl_status create_table(nl_catalog *catalog, const nl_identifier *identifier, const nl_table_request *request, nl_arena *arena, nl_iceberg_table **table)
{
    nl_fs *fs = NULL;
    nl_table_store *store = NULL;
    nl_str location, name;
    nl_table_creation creation;
    const nl_table_metadata *initial = NULL, *committed = NULL;
    bool exists = false;
    if (catalog->ops->create_table) return catalog->ops->create_table(catalog, identifier, request, table);
    NL_TRY(nl_catalog_table_exists(catalog, identifier, &exists));
    if (exists) return already_exists(catalog, identifier, arena);
    NL_TRY(table_name(catalog, identifier, arena, &name));
    NL_TRY(catalog->ops->new_table(catalog, identifier, request->location, arena, &fs, &store, &location));
    nl_status status = nl_table_creation_make(catalog->properties, catalog->property_count, request, location, arena, &creation);
    if (!status) status = nl_table_metadata_create(&creation, catalog->memory, &initial);
    if (!status) status = store->ops->swap(store, NULL, initial, catalog->memory, &committed);
    nl_table_metadata_release(initial);
    if (status) {
        store->ops->free(store);
        if (nl_error_condition(status) == NL_COND_NILAS_COMMIT_FAILED) { /* another was first */
            nl_error_free(status);
            status = already_exists(catalog, identifier, arena);
        }
    } else {
        status = nl_iceberg_table_new(name, fs, store, committed, catalog->memory, table);
        if (!status) adopt(catalog, *table);
    }
    nl_fs_release(fs);
    return status;
}

nl_status nl_catalog_create_table(nl_catalog *catalog, const nl_identifier *identifier, const nl_table_request *request, nl_iceberg_table **table)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = create_table(catalog, identifier, request, arena, table);
    nl_arena_free(arena);
    return nl_say_unknown(status, "creating", identifier->name);
}

static nl_status stage_table(nl_catalog *catalog, const nl_identifier *identifier, const nl_table_request *request, bool is_replace, bool must_exist,
                             nl_arena *arena, nl_iceberg_table **table)
{
    nl_fs *fs = NULL;
    nl_table_store *store = NULL, *staged_store = NULL;
    nl_str location, name;
    nl_table_creation creation;
    nl_iceberg_table *existing = NULL;
    const nl_table_metadata *base = NULL, *staged = NULL;
    bool exists = false;
    NL_TRY(nl_catalog_table_exists(catalog, identifier, &exists));
    if (exists && !is_replace) return already_exists(catalog, identifier, arena);
    if (!exists && must_exist) return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_quoted_identifier(arena, catalog, identifier)));
    NL_TRY(table_name(catalog, identifier, arena, &name));
    if (exists) {
        NL_TRY(nl_catalog_load_table(catalog, identifier, &existing));
        base = nl_iceberg_table_metadata(existing);
        nl_iceberg_table_release(existing);
    }
    const nl_str wanted = exists && request->location.length == 0 ? base->location : request->location;
    nl_status status;
    if (!exists && catalog->ops->stage_table) status = catalog->ops->stage_table(catalog, identifier, request, arena, &fs, &store, &location);
    else status = catalog->ops->new_table(catalog, identifier, wanted, arena, &fs, &store, &location);
    if (!status) status = nl_table_creation_make(catalog->properties, catalog->property_count, request, location, arena, &creation);
    if (status) {
        nl_table_metadata_release(base);
        if (store) store->ops->free(store);
    } else {
        status = nl_staged_store_new(store, base, &creation, catalog->memory, &staged_store, &staged);
    }
    if (!status) status = nl_iceberg_table_new(name, fs, staged_store, staged, catalog->memory, table);
    if (!status) adopt(catalog, *table);
    if (fs) nl_fs_release(fs);
    return status;
}

nl_status nl_catalog_stage_table(nl_catalog *catalog, const nl_identifier *identifier, const nl_table_request *request, bool is_replace, bool must_exist,
                                 nl_iceberg_table **table)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = stage_table(catalog, identifier, request, is_replace, must_exist, arena, table);
    nl_arena_free(arena);
    return status;
}

static bool log_has(const nl_table_metadata *metadata, nl_str file)
{
    for (uint32_t i = 0; i < metadata->metadata_log_count; i++)
        if (nl_str_equal(metadata->metadata_log[i].metadata_file, file)) return true;
    return nl_str_equal(metadata->metadata_file, file);
}

void nl_delete_dropped_metadata_files(nl_fs *fs, const nl_table_metadata *base, const nl_table_metadata *committed)
{
    if (!base || !nl_table_property_bool(committed, "write.metadata.delete-after-commit.enabled", false)) return;
    /* Entries are dropped from the front: the first one that is kept ends the search. */
    for (uint32_t i = 0; i < base->metadata_log_count && !log_has(committed, base->metadata_log[i].metadata_file); i++) {
        nl_error *error = nl_fs_remove(fs, base->metadata_log[i].metadata_file);
        if (!error) continue;
        nl_log(NL_LOG_WARN, "an old metadata file stays behind: %s", nl_error_message(error));
        nl_error_free(error);
    }
}
