/* catalog/catalog_private.h - what catalog implementations share. */
#pragma once

#include "catalog/catalog.h"

/* Fills the head of a new catalog: name, memory, properties copied, one reference. Fails: memory. */
NL_MUST_USE nl_status nl_catalog_init(nl_catalog *catalog, const nl_catalog_ops *ops, nl_str name, const nl_property *properties, uint32_t property_count,
                                      const nl_commit_environment *environment, nl_memory *memory);
void nl_catalog_fini(nl_catalog *catalog); /* for ops->free, which then frees its own struct */
nl_str nl_catalog_property(const nl_catalog *catalog, const char *key); /* data NULL: absent */

NL_MUST_USE nl_status nl_hadoop_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment,
                                             nl_memory *memory, nl_catalog **catalog);

/* A store whose table does not exist (or is replaced) until the first swap. inner: taken, also on failure. base: the
 * table that is replaced (counted, taken) or NULL. creation's pointers are copied. */
NL_MUST_USE nl_status nl_staged_store_new(nl_table_store *inner, const nl_table_metadata *base, const nl_table_creation *creation,
                                          nl_memory *memory, nl_table_store **store, const nl_table_metadata **staged);

/* After a successful swap: write.metadata.delete-after-commit.enabled removes the files that fell off the log. Failures
 * are logged only: the commit stands. */
void nl_delete_dropped_metadata_files(nl_fs *fs, const nl_table_metadata *base, const nl_table_metadata *committed);
/* What a table is created from: the request's partitions as a spec; table-default.K of the catalog's properties fill what
 * the user left open, table-override.K win. In the arena. */
NL_MUST_USE nl_status nl_table_creation_make(const nl_property *catalog_properties, uint32_t catalog_property_count, const nl_table_request *request, nl_str location,
                                             nl_arena *arena, nl_table_creation *creation);
/* Names become folders: refuses "", ".", "..", and anything with a slash or NUL. */
NL_MUST_USE nl_status nl_check_path_part(nl_str part);
/* "db.t", for messages. In the arena. */
nl_str nl_identifier_text(nl_arena *arena, const nl_identifier *identifier);
/* "`cat`.`db`.`t`", as Spark's "not found" shows it; without identifier parts for a namespace. In the arena. */
nl_str nl_quoted_identifier(nl_arena *arena, const nl_catalog *catalog, const nl_identifier *identifier);
nl_str nl_quoted_namespace(nl_arena *arena, const nl_catalog *catalog, const nl_str *parts, uint32_t part_count);
/* A table of this catalog over a store (taken) and its file system (borrowed); loads the metadata. */
NL_MUST_USE nl_status nl_catalog_table_new(nl_catalog *catalog, const nl_identifier *identifier, nl_fs *fs, nl_table_store *store, nl_iceberg_table **table);

NL_MUST_USE nl_status nl_jdbc_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment,
                                           nl_memory *memory, nl_catalog **catalog);
NL_MUST_USE nl_status nl_memory_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment,
                                             nl_memory *memory, nl_catalog **catalog); /* catalog/jdbc */
NL_MUST_USE nl_status nl_glue_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment,
                                           nl_memory *memory, nl_catalog **catalog); /* catalog/glue */
NL_MUST_USE nl_status nl_hive_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment,
                                           nl_memory *memory, nl_catalog **catalog); /* catalog/hive */
