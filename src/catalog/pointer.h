/* catalog/pointer.h - tables and views whose current metadata file is named by a pointer kept elsewhere: a row of a JDBC
 * catalog, a Glue or Hive table, the lakehouse's own database. What they share is here: reading the file that the
 * pointer names, writing "<version>-<uuid>.metadata.json", swapping, and telling the three outcomes apart.
 * Source: Iceberg spec, "Metastore Tables"; Java's BaseMetastoreTableOperations.
 */
#pragma once

#include "catalog/catalog_private.h"
#include "catalog/metadata_cache.h"

typedef struct nl_pointer nl_pointer;
typedef struct nl_pointer_ops {
    /* The metadata file in force, in the arena; TABLE_OR_VIEW_NOT_FOUND when there is none. */
    nl_status (*read)(nl_pointer *self, nl_arena *arena, nl_str *metadata_file);
    /* From `expected` (empty: it must not exist) to `next`, at once. NILAS_COMMIT_FAILED (RETRY) when another was first;
     * TABLE_OR_VIEW_ALREADY_EXISTS for creation; an error of kind UNKNOWN_STATE when nobody knows. updated: for catalogs that show schema or properties themselves (Glue, Hive); NULL for views. */
    nl_status (*swap)(nl_pointer *self, nl_str expected, nl_str next, const nl_table_metadata *updated);
    void (*free)(nl_pointer *self);
} nl_pointer_ops;
struct nl_pointer { /* first member of every kind */
    const nl_pointer_ops *ops;
};

/* A table store over a pointer. pointer: taken, also on failure. fs: retained. cache: borrowed, or NULL; these files never
 * change, so their names are enough. An unknown outcome is looked up at once: when the new file is in force or in the log
 * of the one in force, it was done; otherwise it stays unknown. */
NL_MUST_USE nl_status nl_pointer_store_new(nl_fs *fs, nl_pointer *pointer, nl_metadata_cache *cache, nl_table_store **store);
/* "<write.metadata.path or location/metadata>/00003-<uuid>.metadata.json" (.gz.metadata.json) after base; NULL: 00000. */
nl_str nl_next_metadata_file(nl_arena *arena, const nl_table_metadata *base, const nl_table_metadata *updated);
nl_str nl_without_slash(nl_str path); /* without those at its end */
/* The version number in such a name, or -1. */
int64_t nl_metadata_file_version(nl_str metadata_file);

/* Views over pointers: the file of a new version, written and swapped in. *committed counted. */
NL_MUST_USE nl_status nl_pointer_load_view(nl_fs *fs, nl_pointer *pointer, nl_memory *memory, const nl_view_metadata **view);
NL_MUST_USE nl_status nl_pointer_commit_view(nl_fs *fs, nl_pointer *pointer, const nl_view_metadata *base, const nl_view_metadata *updated, nl_memory *memory,
                                             const nl_view_metadata **committed);

/* DROP TABLE PURGE, before the entry goes: "Cannot purge table: GC is disabled …" when gc.enabled is false. */
NL_MUST_USE nl_status nl_check_purge(const nl_table_metadata *metadata);
/* After it went: every file that a snapshot reaches, manifests, lists, statistics, metadata files, if it lies in one of the
 * table's own places. What cannot be found or removed is logged. Fails: memory. */
NL_MUST_USE nl_status nl_purge_table_files(nl_fs *fs, const nl_table_metadata *metadata, nl_memory *memory);
