/* catalog/hive/entry.h - what the metastore shows of an Iceberg table or view: columns, storage, parameters.
 *
 * Source: Java's HMSTablePropertyHelper, HiveOperationsBase and HiveSchemaUtil. The truth is in the metadata file; this is
 * for Hive itself, for people, and for engines that look for Iceberg tables.
 */
#pragma once

#include "catalog/hive/metastore.h"
#include "iceberg/metadata.h"
#include "iceberg/view.h"

#define NL_HIVE_OWNER_KEY "hive.metastore.table.owner" /* a table's property: who owns the entry */

typedef struct nl_hive_content { /* one of the two; borrowed */
    const nl_table_metadata *table, *table_base;
    const nl_view_metadata *view, *view_base;
    nl_str next, previous; /* metadata files */
} nl_hive_content;

/* A new entry without storage; update fills it in. */
nl_wire_value nl_hive_entry_new(nl_arena *arena, const nl_hive_options *options, nl_str database, nl_str name, const nl_hive_content *content);
/* Parameters that are nobody's business stay. Fails: NILAS_UNSUPPORTED for types that Hive has no word for (as Java does). */
NL_MUST_USE nl_status nl_hive_entry_update(nl_arena *arena, const nl_hive_options *options, const nl_hive_content *content, nl_wire_value *entry);

bool nl_hive_is_table(const nl_wire_value *entry); /* Iceberg's */
bool nl_hive_is_view(const nl_wire_value *entry);
/* Hive's words: "struct<a:int,b:array<string>>". */
NL_MUST_USE nl_status nl_hive_append_type(const nl_ice_type *type, nl_builder *out);
/* Shall Hive itself be able to read the table (engine.hive.enabled)? Shall commits lock (engine.hive.lock-enabled)? */
bool nl_hive_is_for_hive(const nl_hive_options *options, const nl_table_metadata *table);
bool nl_hive_locks(const nl_hive_options *options, const nl_table_metadata *table); /* NULL: a view */
