/* catalog/hive/hive.h - what the parts of a Hive catalog share. */
#pragma once

#include "catalog/hive/entry.h"
#include "catalog/pointer.h"

typedef struct nl_hive_catalog {
    nl_catalog base;
    nl_arena *arena;          /* owned: texts of the options */
    nl_hive_options options;
    nl_hive_client *client;   /* owned */
    nl_fs *fs;                /* counted */
    nl_metadata_cache *cache; /* owned; or NULL */
} nl_hive_catalog;

static inline nl_hive_catalog *nl_hive_of(nl_catalog *catalog)
{
    return NL_CONTAINER(catalog, nl_hive_catalog, base);
}

/* The pointer to a table's or view's metadata: commit.c. */
NL_MUST_USE nl_status nl_hive_pointer_new(nl_hive_catalog *catalog, const nl_identifier *identifier, bool is_view, nl_pointer **pointer);
/* Views: what a swap of this pointer puts there; borrowed until it is freed. */
void nl_hive_pointer_set_view(nl_pointer *pointer, const nl_view_metadata *base, const nl_view_metadata *updated);

/* databases.c */
nl_status nl_hive_list_namespaces(nl_catalog *catalog, const nl_str *parent, uint32_t parent_count, nl_arena *arena, nl_name_list *list);
nl_status nl_hive_create_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count);
nl_status nl_hive_drop_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, bool *was_dropped);
nl_status nl_hive_namespace_properties(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, const nl_property **properties, uint32_t *property_count);
nl_status nl_hive_update_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count, const nl_str *removed,
                                   uint32_t removed_count);
/* Its location, or the warehouse's folder for it. */
NL_MUST_USE nl_status nl_hive_database_location(nl_hive_catalog *self, nl_str name, nl_arena *arena, nl_str *location);
