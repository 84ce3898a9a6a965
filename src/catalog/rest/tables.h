/* catalog/rest/tables.h - what tables and views of a REST catalog have in common, and the operations of tables. */
#pragma once

#include "base/calendar.h"
#include "catalog/rest/rest_private.h"

typedef struct nl_rest_item_kind {
    const char *path; /* "tables" */
    nl_rest_endpoint exists, drop, rename;
} nl_rest_item_kind;
static const nl_rest_item_kind nl_rest_tables = {"tables", NL_REST_TABLE_EXISTS, NL_REST_DROP_TABLE, NL_REST_RENAME_TABLE};
static const nl_rest_item_kind nl_rest_views = {"views", NL_REST_VIEW_EXISTS, NL_REST_DROP_VIEW, NL_REST_RENAME_VIEW};

NL_MUST_USE nl_status nl_rest_exists(nl_rest_catalog *catalog, const nl_identifier *identifier, const nl_rest_item_kind *kind, bool *exists);
NL_MUST_USE nl_status nl_rest_drop(nl_rest_catalog *catalog, const nl_identifier *identifier, const nl_rest_item_kind *kind, nl_str query, bool *was_dropped);
NL_MUST_USE nl_status nl_rest_rename(nl_rest_catalog *catalog, const nl_identifier *from, const nl_identifier *to, const nl_rest_item_kind *kind);

nl_status nl_rest_list_tables(nl_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list);
nl_status nl_rest_load_table(nl_catalog *self, const nl_identifier *identifier, nl_iceberg_table **table);
nl_status nl_rest_table_exists(nl_catalog *self, const nl_identifier *identifier, bool *exists);
nl_status nl_rest_create_table(nl_catalog *self, const nl_identifier *identifier, const nl_table_request *request, nl_iceberg_table **table);
nl_status nl_rest_stage_table(nl_catalog *self, const nl_identifier *identifier, const nl_table_request *request, nl_arena *arena, nl_fs **fs, nl_table_store **store,
                              nl_str *location);
nl_status nl_rest_new_table(nl_catalog *self, const nl_identifier *identifier, nl_str location, nl_arena *arena, nl_fs **fs, nl_table_store **store, nl_str *table_location);
nl_status nl_rest_register_table(nl_catalog *self, const nl_identifier *identifier, nl_str metadata_file, nl_iceberg_table **table);
nl_status nl_rest_drop_table(nl_catalog *self, const nl_identifier *identifier, bool is_purge, bool *was_dropped);
nl_status nl_rest_rename_table(nl_catalog *self, const nl_identifier *from, const nl_identifier *to);
