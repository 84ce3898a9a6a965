/* catalog/rest/tables.h - what tables and views of a REST catalog have in common, and the operations of tables. */
#pragma once

#include "base/calendar.h"
#include "catalog/rest/rest_private.h"

typedef struct nl_remote_item_kind {
    const char *path; /* "tables" */
    nl_remote_endpoint exists, drop, rename;
} nl_remote_item_kind;
static const nl_remote_item_kind nl_remote_tables = {"tables", NL_REMOTE_TABLE_EXISTS, NL_REMOTE_DROP_TABLE, NL_REMOTE_RENAME_TABLE};
static const nl_remote_item_kind nl_remote_views = {"views", NL_REMOTE_VIEW_EXISTS, NL_REMOTE_DROP_VIEW, NL_REMOTE_RENAME_VIEW};

NL_MUST_USE nl_status nl_remote_exists(nl_remote_catalog *catalog, const nl_identifier *identifier, const nl_remote_item_kind *kind, bool *exists);
NL_MUST_USE nl_status nl_remote_drop(nl_remote_catalog *catalog, const nl_identifier *identifier, const nl_remote_item_kind *kind, nl_str query, bool *was_dropped);
NL_MUST_USE nl_status nl_remote_rename(nl_remote_catalog *catalog, const nl_identifier *from, const nl_identifier *to, const nl_remote_item_kind *kind);

nl_status nl_remote_list_tables(nl_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list);
nl_status nl_remote_load_table(nl_catalog *self, const nl_identifier *identifier, nl_iceberg_table **table);
nl_status nl_remote_table_exists(nl_catalog *self, const nl_identifier *identifier, bool *exists);
nl_status nl_remote_create_table(nl_catalog *self, const nl_identifier *identifier, const nl_table_request *request, nl_iceberg_table **table);
nl_status nl_remote_stage_table(nl_catalog *self, const nl_identifier *identifier, const nl_table_request *request, nl_arena *arena, nl_fs **fs, nl_table_store **store,
                              nl_str *location);
nl_status nl_remote_new_table(nl_catalog *self, const nl_identifier *identifier, nl_str location, nl_arena *arena, nl_fs **fs, nl_table_store **store, nl_str *table_location);
nl_status nl_remote_register_table(nl_catalog *self, const nl_identifier *identifier, nl_str metadata_file, nl_iceberg_table **table);
nl_status nl_remote_drop_table(nl_catalog *self, const nl_identifier *identifier, bool is_purge, bool *was_dropped);
nl_status nl_remote_rename_table(nl_catalog *self, const nl_identifier *from, const nl_identifier *to);
