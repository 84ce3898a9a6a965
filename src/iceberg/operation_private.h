/* iceberg/operation_private.h - one attempt to commit an operation, and the steps it is made of. */
#pragma once

#include "iceberg/operation.h"

/* Counts for the snapshot's summary (Java's SnapshotSummary). */
typedef struct nl_summary_counts {
    int64_t added_data_files, removed_data_files;
    int64_t added_equality_files, removed_equality_files;
    int64_t added_position_files, removed_position_files;
    int64_t added_vectors, removed_vectors;
    int64_t added_delete_files, removed_delete_files;
    int64_t added_records, deleted_records;
    int64_t added_position_deletes, removed_position_deletes;
    int64_t added_equality_deletes, removed_equality_deletes;
    int64_t added_bytes, removed_bytes;
} nl_summary_counts;

typedef struct nl_changed_partition {
    int32_t spec_id;
    uint32_t value_count;
    const nl_value *values;
    nl_summary_counts counts;
    uint32_t next; /* index + 1 of the next in the hash bucket */
} nl_changed_partition;

typedef struct nl_summary {
    nl_arena *arena;
    nl_summary_counts counts;
    nl_list partitions; /* nl_changed_partition * */
    uint32_t *buckets;
    uint32_t bucket_mask;
} nl_summary;
void nl_summary_init(nl_summary *summary, nl_arena *arena);
void nl_summary_add(nl_summary *summary, const nl_data_file *file, uint32_t value_count);
void nl_summary_remove(nl_summary *summary, const nl_data_file *file, uint32_t value_count);
/* All entries but `operation`, in Java's order: custom, counts, partitions, totals, environment. */
void nl_summary_properties(const nl_summary *summary, const nl_table_metadata *base, const nl_snapshot *parent, const nl_operation *operation,
                           const nl_commit_environment *environment, const nl_property **properties, uint32_t *count);

/* One attempt. Everything lives in its arena. */
typedef struct nl_attempt {
    nl_iceberg_table *table;
    const nl_operation *operation;
    const nl_table_metadata *base;
    const nl_snapshot *parent; /* of the target branch; NULL: empty */
    nl_arena *arena;
    nl_str commit_uuid;
    uint32_t *manifest_number; /* of the whole commit: names never repeat between attempts */
    int64_t snapshot_id;
    nl_summary summary;
    nl_list written;           /* nl_str *: manifests and lists to remove when the attempt fails */
    uint64_t target_bytes;     /* commit.manifest.target-size-bytes */
} nl_attempt;

/* A path for a new manifest, noted for removal. Usable as nl_manifest_path_maker with the attempt as argument. */
nl_status nl_attempt_manifest_path(void *attempt, nl_arena *arena, nl_str *path);
nl_manifest_writer_options nl_attempt_writer_options(const nl_attempt *attempt, nl_manifest_content content, const nl_partition_spec *spec);
NL_MUST_USE nl_status nl_attempt_spec(const nl_attempt *attempt, int32_t spec_id, const nl_partition_spec **spec);
NL_MUST_USE nl_status nl_attempt_read_manifest(nl_attempt *attempt, const nl_manifest_file *file, const nl_manifest **manifest);

/* manifest_filter.c: the parent's manifests without the files that the operation removes. Order is kept. */
NL_MUST_USE nl_status nl_filter_manifests(nl_attempt *attempt, const nl_manifest_file *files, uint32_t file_count, const nl_manifest_file **filtered,
                                          uint32_t *filtered_count);
/* manifest_merge.c: small manifests of one spec and content become larger ones (commit.manifest-merge.enabled …). */
NL_MUST_USE nl_status nl_merge_manifests(nl_attempt *attempt, nl_manifest_content content, const nl_manifest_file *files, uint32_t file_count, nl_list *merged);
/* manifest_rewrite.c: the parent's manifests, those of one spec written anew in order of partition. */
typedef struct nl_manifest_rewrite {
    int32_t rewritten, created, kept;
} nl_manifest_rewrite;
NL_MUST_USE nl_status nl_rewrite_attempt_manifests(nl_attempt *attempt, nl_list *manifests);
/* validation.c: what came between the operation's start and the parent must not conflict with it. */
NL_MUST_USE nl_status nl_validate_operation(nl_attempt *attempt);

/* commit.c: runs build until its metadata is swapped in; see nl_table_change for the outcomes. snapshot_id: what an
 * unknown outcome is recognised by; or NL_NONE: by the metadata file. */
NL_MUST_USE nl_status nl_commit_loop(nl_iceberg_table *table, nl_metadata_change build, void (*after_failure)(void *argument), void *argument,
                                     const int64_t *snapshot_id);
nl_str nl_metadata_folder(nl_arena *arena, const nl_table_metadata *metadata);
int64_t nl_new_snapshot_id(const nl_table_metadata *base);
nl_status nl_property_number(const nl_table_metadata *metadata, const char *key, int64_t fallback, int64_t *value);
