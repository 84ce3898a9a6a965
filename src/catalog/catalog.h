/* catalog/catalog.h - where tables are found: namespaces, tables, views, and the swap of a table's metadata pointer.
 *
 * Catalogs are configured by Spark's keys (spark.sql.catalog.NAME, .type, .catalog-impl, .uri, .warehouse, .io-impl …);
 * class names map to native implementations (catalog/registry.c), an unknown one is an error that lists the known.
 * Threads: a catalog may be used from many threads. Names come as parts without the catalog's own.
 */
#pragma once

#include "iceberg/metadata_update.h"
#include "iceberg/table.h"
#include "iceberg/view.h"

typedef struct nl_catalog nl_catalog; /* counted */

typedef struct nl_identifier { /* borrowed */
    const nl_str *namespace_parts;
    uint32_t namespace_count;
    nl_str name;
} nl_identifier;

typedef struct nl_name_list { /* in the arena given */
    nl_identifier *items; /* for namespaces: namespace_parts is the whole name, name is empty */
    uint32_t count;
} nl_name_list;

typedef struct nl_table_request { /* what a new or replaced table is made of; borrowed */
    const nl_schema *schema;         /* ids are given afresh */
    const nl_partition_addition *partitions;
    uint32_t partition_count;
    const nl_sort_order *sort_order; /* or NULL; source ids are those of `schema` */
    nl_str location;                 /* empty: the catalog's own choice */
    const nl_property *properties;   /* format-version among them is taken out */
    uint32_t property_count;
} nl_table_request;

typedef struct nl_catalog_ops {
    const char *type; /* "hadoop", "jdbc", "rest" … */
    bool has_views;
    bool has_rename;
    nl_status (*list_namespaces)(nl_catalog *self, const nl_str *parent, uint32_t parent_count, nl_arena *arena, nl_name_list *list);
    nl_status (*create_namespace)(nl_catalog *self, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count);
    nl_status (*drop_namespace)(nl_catalog *self, const nl_str *parts, uint32_t part_count, bool *was_dropped);
    /* SCHEMA_NOT_FOUND when absent. "location" is among the properties where the catalog has one. */
    nl_status (*namespace_properties)(nl_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, const nl_property **properties, uint32_t *property_count);
    nl_status (*update_namespace)(nl_catalog *self, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count, const nl_str *removed, uint32_t removed_count);
    nl_status (*list_tables)(nl_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list);
    /* Counted for the caller. TABLE_OR_VIEW_NOT_FOUND when absent. */
    nl_status (*load_table)(nl_catalog *self, const nl_identifier *identifier, nl_iceberg_table **table);
    nl_status (*table_exists)(nl_catalog *self, const nl_identifier *identifier, bool *exists); /* NULL: load_table tells */
    /* The store and location of a table that need not exist yet: creation commits through it with base NULL. */
    nl_status (*new_table)(nl_catalog *self, const nl_identifier *identifier, nl_str location, nl_arena *arena, nl_fs **fs, nl_table_store **store, nl_str *table_location);
    /* The same for a table that is to be made (CTAS), where the catalog chooses by what it is made of (REST); NULL: new_table.
     * The properties of `request` are as the user gave them. */
    nl_status (*stage_table)(nl_catalog *self, const nl_identifier *identifier, const nl_table_request *request, nl_arena *arena, nl_fs **fs, nl_table_store **store,
                             nl_str *table_location);
    nl_status (*drop_table)(nl_catalog *self, const nl_identifier *identifier, bool is_purge, bool *was_dropped);
    nl_status (*rename_table)(nl_catalog *self, const nl_identifier *from, const nl_identifier *to);
    nl_status (*register_table)(nl_catalog *self, const nl_identifier *identifier, nl_str metadata_file, nl_iceberg_table **table);
    /* Where the catalog itself makes the first metadata (REST); NULL: it is made here and committed through new_table. */
    nl_status (*create_table)(nl_catalog *self, const nl_identifier *identifier, const nl_table_request *request, nl_iceberg_table **table);
    /* Views; all NULL when has_views is false. */
    nl_status (*list_views)(nl_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list);
    nl_status (*load_view)(nl_catalog *self, const nl_identifier *identifier, const nl_view_metadata **view); /* counted; TABLE_OR_VIEW_NOT_FOUND */
    /* base NULL: creation (TABLE_OR_VIEW_ALREADY_EXISTS, of a table of that name too). updates: for catalogs that apply them
     * themselves (REST); `updated` is base with them applied. *committed counted. Outcomes as of a table's swap. */
    nl_status (*commit_view)(nl_catalog *self, const nl_identifier *identifier, const nl_view_metadata *base, const nl_view_metadata *updated,
                             const nl_view_update *updates, uint32_t update_count, const nl_view_metadata **committed);
    nl_status (*drop_view)(nl_catalog *self, const nl_identifier *identifier, bool *was_dropped);
    nl_status (*rename_view)(nl_catalog *self, const nl_identifier *from, const nl_identifier *to);
    /* Where a new view's or table's metadata goes when nobody says: "<namespace's location>/<name>". */
    nl_status (*default_location)(nl_catalog *self, const nl_identifier *identifier, nl_arena *arena, nl_str *location);
    void (*free)(nl_catalog *self);
} nl_catalog_ops;

struct nl_catalog { /* first member of every kind */
    const nl_catalog_ops *ops;
    nl_str name;                    /* owned */
    nl_memory *memory;              /* counted */
    nl_manifest_cache *manifest_cache; /* owned */
    const nl_property *properties;  /* owned: everything below spark.sql.catalog.NAME. */
    uint32_t property_count;
    nl_commit_environment environment; /* borrowed from the session */
    atomic_int references;
};

/* Makes the catalog that the properties describe; "" as key holds the class name (spark.sql.catalog.NAME itself).
 * Fails: CATALOG_NOT_FOUND, NILAS_ILLEGAL_ARGUMENT for bad combinations. Connects to nothing yet. */
NL_MUST_USE nl_status nl_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment,
                                      nl_memory *memory, nl_catalog **catalog);
nl_catalog *nl_catalog_retain(nl_catalog *catalog);
void nl_catalog_release(nl_catalog *catalog);

/* Thin wrappers: a NULL operation is UNSUPPORTED, with Spark's and Iceberg's words. */
NL_MUST_USE nl_status nl_catalog_list_namespaces(nl_catalog *catalog, const nl_str *parent, uint32_t parent_count, nl_arena *arena, nl_name_list *list);
NL_MUST_USE nl_status nl_catalog_namespace_exists(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, bool *exists);
NL_MUST_USE nl_status nl_catalog_namespace_properties(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, const nl_property **properties, uint32_t *property_count);
NL_MUST_USE nl_status nl_catalog_create_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count);
NL_MUST_USE nl_status nl_catalog_drop_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, bool *was_dropped);
NL_MUST_USE nl_status nl_catalog_update_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count, const nl_str *removed, uint32_t removed_count);
NL_MUST_USE nl_status nl_catalog_list_tables(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list);
NL_MUST_USE nl_status nl_catalog_load_table(nl_catalog *catalog, const nl_identifier *identifier, nl_iceberg_table **table);
NL_MUST_USE nl_status nl_catalog_table_exists(nl_catalog *catalog, const nl_identifier *identifier, bool *exists);
NL_MUST_USE nl_status nl_catalog_drop_table(nl_catalog *catalog, const nl_identifier *identifier, bool is_purge, bool *was_dropped);
NL_MUST_USE nl_status nl_catalog_rename_table(nl_catalog *catalog, const nl_identifier *from, const nl_identifier *to);
NL_MUST_USE nl_status nl_catalog_register_table(nl_catalog *catalog, const nl_identifier *identifier, nl_str metadata_file, nl_iceberg_table **table);
/* CREATE TABLE: the first metadata is committed. TABLE_OR_VIEW_ALREADY_EXISTS. *table counted. */
NL_MUST_USE nl_status nl_catalog_create_table(nl_catalog *catalog, const nl_identifier *identifier, const nl_table_request *request, nl_iceberg_table **table);
/* CTAS and RTAS: *table is a handle whose metadata exists in memory only; the first commit through it (an append) makes
 * the table, or replaces the one that exists (is_replace; history is kept). */
NL_MUST_USE nl_status nl_catalog_stage_table(nl_catalog *catalog, const nl_identifier *identifier, const nl_table_request *request, bool is_replace,
                                             bool must_exist, nl_iceberg_table **table);
