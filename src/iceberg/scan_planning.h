/* iceberg/scan_planning.h - which files a scan reads: manifests pruned, entries filtered as vectors, deletes attached. */
#pragma once

#include "base/pool.h"
#include "iceberg/expression.h"
#include "iceberg/table.h"

typedef struct nl_file_task {
    const nl_data_file *file;           /* borrowed from the plan */
    int64_t data_sequence_number;
    int64_t file_sequence_number;
    const nl_partition_spec *spec;
    const nl_data_file *const *deletes; /* position deletes, deletion vectors and equality deletes that apply */
    const int64_t *delete_sequence_numbers;
    uint32_t delete_count;
    bool is_wholly_matching;            /* every row matches the predicate for sure: no residual filter */
} nl_file_task;

typedef struct nl_scan_plan { /* counted: keeps its manifests alive */
    const nl_file_task *tasks;
    uint32_t task_count;
    int64_t row_count;          /* of the data files kept */
    int64_t bytes;
    uint32_t manifests_total, manifests_read;
    uint32_t files_total;       /* live data files in the manifests read */
    uint32_t delete_files;
} nl_scan_plan;

typedef struct nl_scan_planning {
    nl_fs *fs;
    nl_manifest_cache *cache;           /* or NULL */
    const nl_table_metadata *metadata;
    const nl_snapshot *snapshot;        /* NULL: an empty plan */
    const nl_schema *schema;            /* that the predicate's ids belong to */
    const nl_predicate *predicate;      /* NULL: all */
    int64_t after_snapshot_id;          /* incremental append: only files added after this snapshot … up to `snapshot`; NL_NONE: none */
    bool ignores_deletes;
    nl_pool *pool;                      /* manifests are read in parallel; or NULL */
    nl_memory *memory;
} nl_scan_planning;
/* *plan is counted. */
NL_MUST_USE nl_status nl_scan_plan_new(const nl_scan_planning *planning, nl_scan_plan **plan);
/* An empty plan for whoever fills it by other means; *arena lives as long as it does. */
NL_MUST_USE nl_status nl_scan_plan_begin(nl_memory *memory, nl_scan_plan **plan, nl_arena **arena);
void nl_scan_plan_retain(nl_scan_plan *plan);
void nl_scan_plan_release(nl_scan_plan *plan);
/* The deletes of a file as things to apply: see delete_filter.h of exec's scan. */

/* What a scan found, for catalogs that collect it (a REST catalog's scan reports). Borrowed. */
typedef struct nl_scan_report {
    nl_str table_name;
    const nl_schema *schema;
    int64_t snapshot_id;           /* NL_NONE: the table is empty */
    const nl_predicate *predicate; /* NULL: all */
    const int32_t *field_ids;      /* of the columns read */
    uint32_t field_count;
    const nl_scan_plan *plan;
    int64_t planning_micros;
} nl_scan_report;
