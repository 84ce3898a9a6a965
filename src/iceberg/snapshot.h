/* iceberg/snapshot.h - snapshots, references, logs, statistics files (spec: "Snapshots", "Snapshot References"). */
#pragma once

#include <jansson.h>

#include "base/arena.h"

#define NL_NONE (-1) /* an absent id, count or offset where the value itself is never negative */

/* From a JSON object of strings; an absent or null one leaves the out-parameters alone. `what` names it in errors. */
NL_MUST_USE nl_status nl_properties_from_json(nl_arena *arena, const json_t *json, const char *what, nl_str path, const nl_property **properties,
                                              uint32_t *count);
const nl_property *nl_properties_copy(nl_arena *arena, const nl_property *properties, uint32_t count); /* deep */

typedef struct nl_snapshot {
    int64_t snapshot_id;
    int64_t parent_id;        /* NL_NONE: none */
    int64_t sequence_number;  /* 0 in v1 */
    int64_t timestamp_ms;
    nl_str manifest_list;     /* empty: v1 with `manifests` */
    const nl_str *manifests;  /* v1 only: paths of manifests */
    uint32_t manifest_count;
    nl_str operation;         /* "append", "overwrite", "delete", "replace"; empty when the summary is absent */
    const nl_property *summary; /* without operation, in file order */
    uint32_t summary_count;
    int32_t schema_id;        /* NL_NONE: none */
    int64_t first_row_id;     /* v3; NL_NONE: none */
    int64_t added_rows;       /* v3; NL_NONE: none */
    nl_str key_id;            /* v3; empty: none */
    const json_t *unknown;    /* keys nilas does not know, or NULL */
} nl_snapshot;

/* The value for a summary key; data NULL when absent. */
nl_str nl_snapshot_summary(const nl_snapshot *snapshot, const char *key);

#define NL_MAIN_BRANCH "main"
typedef struct nl_snapshot_ref {
    nl_str name;
    int64_t snapshot_id;
    bool is_tag;
    int32_t min_snapshots_to_keep; /* NL_NONE: none */
    int64_t max_snapshot_age_ms;   /* NL_NONE: none */
    int64_t max_ref_age_ms;        /* NL_NONE: none */
} nl_snapshot_ref;

typedef struct nl_snapshot_log_entry {
    int64_t timestamp_ms;
    int64_t snapshot_id;
} nl_snapshot_log_entry;

typedef struct nl_metadata_log_entry {
    int64_t timestamp_ms;
    nl_str metadata_file;
} nl_metadata_log_entry;

typedef struct nl_blob_metadata {
    nl_str type;
    int64_t snapshot_id;
    int64_t sequence_number;
    const int32_t *fields;
    uint32_t field_count;
    const nl_property *properties;
    uint32_t property_count;
} nl_blob_metadata;

typedef struct nl_statistics_file {
    int64_t snapshot_id;
    nl_str path;
    int64_t file_size_bytes;
    int64_t footer_size_bytes;
    nl_str key_metadata; /* base64; empty: none */
    const nl_blob_metadata *blobs;
    uint32_t blob_count;
} nl_statistics_file;

typedef struct nl_partition_statistics_file {
    int64_t snapshot_id;
    nl_str path;
    int64_t file_size_bytes;
} nl_partition_statistics_file;

NL_MUST_USE nl_status nl_snapshot_from_json(nl_arena *arena, const json_t *json, nl_str path, nl_snapshot *snapshot);
void nl_snapshot_append_json(const nl_snapshot *snapshot, nl_builder *out);
nl_snapshot nl_snapshot_copy(nl_arena *arena, const nl_snapshot *snapshot);
NL_MUST_USE nl_status nl_snapshot_ref_from_json(nl_arena *arena, nl_str name, const json_t *json, nl_str path, nl_snapshot_ref *ref);
void nl_snapshot_ref_append_json(const nl_snapshot_ref *ref, nl_builder *out); /* without its name */
NL_MUST_USE nl_status nl_statistics_file_from_json(nl_arena *arena, const json_t *json, nl_str path, nl_statistics_file *file);
void nl_statistics_file_append_json(const nl_statistics_file *file, nl_builder *out);
nl_statistics_file nl_statistics_file_copy(nl_arena *arena, const nl_statistics_file *file);
NL_MUST_USE nl_status nl_partition_statistics_file_from_json(nl_arena *arena, const json_t *json, nl_str path,
                                                             nl_partition_statistics_file *file);
void nl_partition_statistics_file_append_json(const nl_partition_statistics_file *file, nl_builder *out);
