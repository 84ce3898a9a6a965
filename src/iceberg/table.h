/* iceberg/table.h - one Iceberg table as something that can be read and committed to, wherever its pointer is kept.
 *
 * A catalog (a folder above) gives the store: how to load the current metadata and how to swap it. The handle is
 * counted and may be shared between threads; metadata objects are immutable, refresh exchanges them.
 */
#pragma once

#include "base/lock.h"
#include "iceberg/manifest.h"
#include "iceberg/metadata.h"

typedef struct nl_iceberg_table nl_iceberg_table;

/* The pointer of one table. Implemented by catalogs. */
typedef struct nl_table_store nl_table_store;
struct nl_scan_report; /* iceberg/scan_planning.h, as the other two */
struct nl_scan_planning;
struct nl_scan_plan;
typedef struct nl_table_store_ops {
    /* The current metadata; TABLE_OR_VIEW_NOT_FOUND when the table is gone. *metadata counted for the caller. */
    nl_status (*load)(nl_table_store *self, nl_memory *memory, const nl_table_metadata **metadata);
    /* Writes `updated` and makes it current iff `base` (NULL: creation) still is. *committed: updated with its file's name,
     * counted. The three outcomes: NULL done; NILAS_COMMIT_FAILED (kind RETRY): another was first, nothing of this one is
     * visible; NILAS_COMMIT_STATE_UNKNOWN (kind UNKNOWN_STATE): clean up nothing. Other errors: clean failures. */
    nl_status (*swap)(nl_table_store *self, const nl_table_metadata *base, const nl_table_metadata *updated, nl_memory *memory,
                      const nl_table_metadata **committed);
    /* Planning by who keeps the table; NULL, or *plan NULL: it is done here. *plan counted. */
    nl_status (*plan_scan)(nl_table_store *self, const struct nl_scan_planning *planning, struct nl_scan_plan **plan);
    /* A scan was planned; NULL: nobody collects that. Never fails and does not wait. */
    void (*report_scan)(nl_table_store *self, const struct nl_scan_report *report);
    void (*free)(nl_table_store *self);
} nl_table_store_ops;
struct nl_table_store { /* first member of every kind */
    const nl_table_store_ops *ops;
};

/* What every commit's summary says of its engine (surface: environment keys). Borrowed for the table's life. */
typedef struct nl_commit_environment {
    const nl_property *properties; /* engine-name, engine-version, app-id, iceberg-version */
    uint32_t property_count;
} nl_commit_environment;

struct nl_iceberg_table {
    nl_str name;                       /* "lake.db.t", for messages; owned */
    nl_fs *fs;                         /* counted: reads and writes the table's files */
    nl_table_store *store;             /* owned */
    nl_memory *memory;                 /* counted */
    nl_manifest_cache *manifest_cache; /* borrowed or NULL */
    nl_commit_environment environment;
    nl_mutex mutex;                    /* guards metadata */
    const nl_table_metadata *metadata; /* counted; the last one seen */
    atomic_int references;
};

/* Takes store (also on failure) and loads the metadata unless it is given (counted, taken). */
NL_MUST_USE nl_status nl_iceberg_table_new(nl_str name, nl_fs *fs, nl_table_store *store, const nl_table_metadata *metadata, nl_memory *memory,
                                           nl_iceberg_table **table);
nl_iceberg_table *nl_iceberg_table_retain(nl_iceberg_table *table);
void nl_iceberg_table_release(nl_iceberg_table *table); /* NULL is fine */
const nl_table_metadata *nl_iceberg_table_metadata(nl_iceberg_table *table); /* counted for the caller */
NL_MUST_USE nl_status nl_iceberg_table_refresh(nl_iceberg_table *table);
/* Metadata names files by their full paths: those of a table whose folder was moved are not where they say. Gives a
 * PATH_NOT_FOUND of such a table an explanation that has it as its cause; other failures and NULL pass. Takes status. */
nl_status nl_table_explain_moved(const nl_table_metadata *metadata, nl_status status);
