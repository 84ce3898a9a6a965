/* iceberg/operation.h - changing a table: new snapshots and metadata changes, committed optimistically.
 *
 * Per attempt: refresh, validate, write manifests and list, swap; NILAS_COMMIT_FAILED is retried per commit.retry.*; an
 * unknown outcome is looked up (commit.status-check.*) before anything is decided and never cleaned up; failed attempts
 * remove the manifests and lists they wrote. Source: Iceberg spec, "Optimistic Concurrency", Java's SnapshotProducer and
 * its subclasses for the operations' names and summaries.
 */
#pragma once

#include "base/pool.h"
#include "iceberg/expression.h"
#include "iceberg/metadata_update.h"
#include "iceberg/table.h"

/* Metadata only: build() adds updates to the builder, from the freshly loaded base, once per attempt. */
typedef nl_status (*nl_metadata_change)(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder);
NL_MUST_USE nl_status nl_table_change(nl_iceberg_table *table, nl_metadata_change change, void *argument);
/* Whatever was met: when nobody knows whether it was done, that is what the person needs to read. status: taken; of kind
 * UNKNOWN_STATE it becomes NILAS_COMMIT_STATE_UNKNOWN, others pass. what: "the commit to"; name: of the table. */
nl_status nl_say_unknown(nl_status status, const char *what, nl_str name);

typedef enum nl_operation_kind {
    NL_OPERATION_APPEND,             /* INSERT: merges manifests per commit.manifest-merge.enabled            */
    NL_OPERATION_FAST_APPEND,
    NL_OPERATION_OVERWRITE,          /* files removed and added; or all that match row_filter removed         */
    NL_OPERATION_DELETE,             /* whole files: by row_filter (each file must match wholly), or named    */
    NL_OPERATION_REPLACE_PARTITIONS, /* dynamic overwrite: partitions of the added files                      */
    NL_OPERATION_ROW_DELTA,          /* data files and delete files added                                     */
    NL_OPERATION_REWRITE,            /* compaction: "replace"; same rows in other files                       */
    NL_OPERATION_REWRITE_MANIFESTS   /* the same files in other manifests: see nl_rewrite_manifests           */
} nl_operation_kind;

typedef enum nl_isolation { NL_ISOLATION_NONE, NL_ISOLATION_SNAPSHOT, NL_ISOLATION_SERIALIZABLE } nl_isolation;

typedef struct nl_removed_file { /* a data or delete file that the operation takes away */
    nl_str path;
    const nl_data_file *file; /* when at hand: makes finding it cheap; or NULL */
} nl_removed_file;

typedef struct nl_operation {
    nl_operation_kind kind;
    nl_str branch;                          /* empty: main */
    const nl_data_file *added_files;        /* data and delete files */
    uint32_t added_count;
    const nl_removed_file *removed_files;
    uint32_t removed_count;
    const nl_predicate *row_filter;         /* OVERWRITE, DELETE by rows; NULL: none */
    const nl_schema *filter_schema;
    int64_t starting_snapshot_id;           /* that the operation read: validations look at what came since; NL_NONE: an empty table */
    bool has_starting_snapshot;
    nl_isolation isolation;                 /* which validations of surface §5 run */
    const nl_predicate *conflict_filter;    /* rows the operation read; NULL: all */
    bool is_delete_command;                 /* ROW_DELTA: DELETE skips "referenced files deleted by deletes" */
    const nl_str *referenced_files;         /* ROW_DELTA: data files that the new deletes speak of */
    uint32_t referenced_count;
    int64_t data_sequence_number;           /* REWRITE with use-starting-sequence-number; NL_NONE: the new one */
    const int64_t *added_sequence_numbers;  /* REWRITE of delete files: the data sequence number of each; or NULL */
    const nl_property *properties;          /* extra summary entries (spark.app.id, snapshot-property.*) */
    uint32_t property_count;
    nl_str staged_wap_id;                   /* not empty: staged, main does not move (write-audit-publish) */
    bool adds_whole_manifests;              /* files brought in: as of Java's appendManifest the summary knows neither bytes nor partitions */
    nl_pool *pool;                          /* or NULL */
    int32_t rewritten_spec_id;              /* REWRITE_MANIFESTS */
    struct nl_manifest_rewrite *manifest_rewrite; /* REWRITE_MANIFESTS: what came of it */
} nl_operation;
/* *snapshot_id: the new snapshot. Fails: NILAS_VALIDATION_FAILED (conflicts; not retried), NILAS_COMMIT_FAILED after all
 * retries, NILAS_COMMIT_STATE_UNKNOWN. The caller deletes added data files on failure unless the state is unknown. */
NL_MUST_USE nl_status nl_operation_commit(nl_iceberg_table *table, const nl_operation *operation, int64_t *snapshot_id);

/* Would DELETE WHERE predicate be answerable by dropping whole files only (surface: metadata-only DELETE)? */
NL_MUST_USE nl_status nl_delete_is_metadata_only(nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_snapshot *snapshot,
                                                 const nl_predicate *predicate, nl_pool *pool, bool *is_metadata_only);

/* History and refs. Messages as Iceberg's. */
NL_MUST_USE nl_status nl_rollback_to(nl_iceberg_table *table, int64_t snapshot_id);           /* must be an ancestor of main */
NL_MUST_USE nl_status nl_rollback_to_time(nl_iceberg_table *table, int64_t timestamp_ms, int64_t *snapshot_id);
NL_MUST_USE nl_status nl_set_current_snapshot(nl_iceberg_table *table, int64_t snapshot_id);
NL_MUST_USE nl_status nl_cherrypick(nl_iceberg_table *table, int64_t snapshot_id, int64_t *new_snapshot_id);
NL_MUST_USE nl_status nl_fast_forward(nl_iceberg_table *table, nl_str branch, nl_str to, int64_t *previous, int64_t *updated); /* NL_NONE: none */
NL_MUST_USE nl_status nl_publish_wap(nl_iceberg_table *table, nl_str wap_id, int64_t *source_id, int64_t *new_snapshot_id);
typedef struct nl_ref_change {
    bool is_tag, is_create, is_replace, is_if_not_exists;
    nl_str name;
    int64_t snapshot_id;           /* NL_NONE: the current one */
    int64_t max_ref_age_ms, max_snapshot_age_ms; /* NL_NONE: none */
    int32_t min_snapshots_to_keep; /* NL_NONE: none */
} nl_ref_change;
NL_MUST_USE nl_status nl_change_ref(nl_iceberg_table *table, const nl_ref_change *change);
NL_MUST_USE nl_status nl_drop_ref(nl_iceberg_table *table, nl_str name, bool is_tag, bool is_if_exists);
bool nl_is_ancestor(const nl_table_metadata *metadata, int64_t snapshot_id, int64_t of_snapshot_id);
