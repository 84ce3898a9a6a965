/* iceberg/health.h - how a table is laid out, what is costly about it, and which procedure would help: facts for the
 * dashboard and for `nilas health`. Reads the metadata and the manifests of the current snapshot; no data file is opened.
 */
#pragma once

#include "iceberg/maintenance.h"

#define NL_HEALTH_SIZES 8u

typedef struct nl_health_advice { /* in the arena given */
    const char *procedure; /* "rewrite_data_files" …; static. "set_properties": an ALTER TABLE, not a procedure */
    nl_str arguments;      /* what follows the table in CALL …(table => '…', …), or the properties; may be empty */
    nl_str why;            /* a sentence with the numbers */
    nl_str effect;         /* what it would do, found by planning it: the dry run */
    bool is_urgent;        /* reads suffer now; else it only saves space or planning */
} nl_health_advice;

typedef struct nl_table_health {
    int64_t data_files, data_bytes, rows;
    int64_t small_files;              /* below three quarters of the target */
    int64_t smallest_bytes, largest_bytes; /* of data files; 0 without any */
    int64_t target_file_bytes;        /* write.target-file-size-bytes */
    int64_t size_files[NL_HEALTH_SIZES], size_bytes[NL_HEALTH_SIZES]; /* histogram, see nl_health_size_limit */
    int64_t partitions;               /* distinct ones, of all specs */
    int64_t position_delete_files, position_deletes;
    int64_t equality_delete_files, equality_deletes;
    int64_t vectors, vector_deletes;  /* deletion vectors */
    int64_t delete_bytes;
    int64_t files_with_deletes;       /* data files that some delete applies to */
    int64_t dangling_delete_files;    /* position and equality deletes that apply to no data file any more */
    int64_t data_manifests, delete_manifests, manifest_bytes;
    int64_t snapshots, expirable_snapshots, oldest_snapshot_ms; /* oldest: 0 without any */
    int64_t metadata_bytes, metadata_log; /* of the metadata file; earlier ones that it names */
    int64_t rewrite_groups, rewrite_files, rewrite_bytes; /* what rewrite_data_files would take */
    const nl_health_advice *advice;
    uint32_t advice_count;
} nl_table_health;

/* Upper limit in bytes of a bar of the histogram; the last one has none (INT64_MAX). */
int64_t nl_health_size_limit(uint32_t bar);

/* pool may be NULL. Everything lives in the arena. */
NL_MUST_USE nl_status nl_table_health_read(nl_iceberg_table *table, nl_pool *pool, nl_memory *memory, nl_arena *arena, nl_table_health *health);
