/* iceberg/maintenance.h - the algorithms behind the maintenance procedures; rewriting rows is done above, by exec. */
#pragma once

#include "iceberg/operation.h"
#include "iceberg/scan_planning.h"

typedef struct nl_expire_options {
    bool has_older_than;
    int64_t older_than_ms;
    int32_t retain_last;              /* NL_NONE: the table's */
    const int64_t *snapshot_ids;
    uint32_t snapshot_id_count;
    bool cleans_expired_metadata;     /* unreachable specs and schemas too */
    nl_pool *pool;
} nl_expire_options;
typedef struct nl_expire_result {
    int64_t data_files, position_delete_files, equality_delete_files, manifests, manifest_lists, statistics_files;
} nl_expire_result;
/* Commits first, then deletes what only the expired snapshots reached. Nothing is deleted when the commit failed. */
NL_MUST_USE nl_status nl_expire_snapshots(nl_iceberg_table *table, const nl_expire_options *options, nl_expire_result *result);
/* Which snapshots that would expire now; in the arena, oldest first as in the metadata. Nothing is changed. */
NL_MUST_USE nl_status nl_expirable_snapshots(const nl_table_metadata *metadata, const nl_expire_options *options, nl_arena *arena, const nl_snapshot *const **snapshots,
                                             uint32_t *snapshot_count);

typedef struct nl_orphan_options {
    bool has_older_than;
    int64_t older_than_ms;            /* default: three days ago */
    nl_str location;                  /* empty: the table's */
    bool is_dry_run;
    const nl_property *equal_schemes;
    uint32_t equal_scheme_count;
    const nl_property *equal_authorities;
    uint32_t equal_authority_count;
    const nl_file_info *listed;       /* the files that there are, instead of asking the location; NULL: it is asked */
    uint32_t listed_count;
    enum { NL_PREFIX_ERROR, NL_PREFIX_IGNORE, NL_PREFIX_DELETE } prefix_mismatch;
    nl_pool *pool;
} nl_orphan_options;
/* *paths: the orphans found (and removed unless dry), in the arena. */
NL_MUST_USE nl_status nl_remove_orphan_files(nl_iceberg_table *table, const nl_orphan_options *options, nl_arena *arena, const nl_str **paths, uint32_t *path_count);

/* spec_id NL_NONE: the default spec. */
NL_MUST_USE nl_status nl_rewrite_manifests(nl_iceberg_table *table, int32_t spec_id, nl_pool *pool, int32_t *rewritten, int32_t *added);

/* rewrite_data_files' selection: groups of files to be rewritten together (surface §9). */
typedef struct nl_rewrite_options {
    int64_t target_file_bytes, min_file_bytes, max_file_bytes, max_group_bytes;
    int32_t min_input_files;
    bool rewrites_all;
    int64_t delete_file_threshold;
    double delete_ratio_threshold;
    int64_t max_files_to_rewrite;     /* NL_NONE: no limit */
    int32_t output_spec_id;
    bool keeps_specs;                 /* files stay in their spec */
    enum { NL_JOB_ORDER_NONE, NL_JOB_BYTES_ASC, NL_JOB_BYTES_DESC, NL_JOB_FILES_ASC, NL_JOB_FILES_DESC } job_order;
} nl_rewrite_options;
typedef struct nl_rewrite_group {
    const nl_file_task *const *tasks;
    uint32_t task_count;
    int64_t bytes;
    int64_t target_bytes;             /* of each output file of this group */
} nl_rewrite_group;
/* Groups in the order they should be rewritten; in the arena, tasks borrowed from plan. */
NL_MUST_USE nl_status nl_plan_rewrite(const nl_scan_plan *plan, const nl_table_metadata *metadata, const nl_rewrite_options *options, nl_arena *arena,
                                      nl_rewrite_group **groups, uint32_t *group_count);
/* The same for position delete files (not vectors): groups of delete files of one spec and partition, as tasks whose file
 * is the delete file. predicate (of the table's rows, or NULL) chooses by partition. */
NL_MUST_USE nl_status nl_plan_delete_rewrite(nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_snapshot *snapshot, const nl_predicate *predicate,
                                             const nl_rewrite_options *options, nl_arena *arena, nl_rewrite_group **groups, uint32_t *group_count);

/* Removes delete files that no data file of the current snapshot needs; a commit of its own when there are any. */
NL_MUST_USE nl_status nl_remove_dangling_deletes(nl_iceberg_table *table, uint32_t *removed_count);
