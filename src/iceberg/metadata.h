/* iceberg/metadata.h - table metadata: parsing, writing, lookups (spec: "Table Metadata", Appendix C).
 *
 * A nl_table_metadata is immutable and counted, with an arena of its own; everything reached from it lives as long as
 * it does. Keys of the JSON that nilas does not know are kept and written again. Threads: may be shared.
 */
#pragma once

#include "base/limits.h"
#include "iceberg/partition.h"
#include "iceberg/schema.h"
#include "iceberg/snapshot.h"
#include "iceberg/sort_order.h"
#include "storage/filesystem.h"

#define NL_FORMAT_VERSION_MAX     3
#define NL_FORMAT_VERSION_DEFAULT 2
#define NL_METADATA_BYTES_MAX     NL_JSON_BYTES_MAX

typedef struct nl_table_metadata {
    int32_t format_version;
    nl_str uuid;      /* empty: a v1 table without one */
    nl_str location;
    int64_t last_sequence_number; /* 0 in v1 */
    int64_t last_updated_ms;
    int32_t last_column_id;
    int32_t current_schema_id;
    int32_t default_spec_id;
    int32_t last_partition_id;    /* 999 when no partition field was ever made */
    int32_t default_sort_order_id;
    int64_t current_snapshot_id;  /* NL_NONE: the table is empty */
    int64_t next_row_id;          /* v3; 0 before */

    const nl_schema *const *schemas;
    uint32_t schema_count;
    const nl_partition_spec *const *specs;
    uint32_t spec_count;
    const nl_sort_order *const *sort_orders;
    uint32_t sort_order_count;
    const nl_property *properties; /* in file order */
    uint32_t property_count;
    const nl_snapshot *snapshots;  /* in file order: oldest first as written */
    uint32_t snapshot_count;
    const nl_snapshot_ref *refs;   /* main is made up from current-snapshot-id when absent */
    uint32_t ref_count;
    const nl_snapshot_log_entry *snapshot_log;
    uint32_t snapshot_log_count;
    const nl_metadata_log_entry *metadata_log;
    uint32_t metadata_log_count;
    const nl_statistics_file *statistics;
    uint32_t statistics_count;
    const nl_partition_statistics_file *partition_statistics;
    uint32_t partition_statistics_count;
    const json_t *encryption_keys; /* v3: an array kept as it is, or NULL */

    nl_str metadata_file;  /* where it was read from or written to; empty while only in memory */
    const json_t *unknown; /* top-level keys nilas does not know, or NULL */

    const uint32_t *snapshots_by_id; /* indices into snapshots, ascending by id */
    nl_arena *arena;                 /* owned */
    atomic_uint *references;
} nl_table_metadata;

/* Parses JSON, or gzip of JSON (told by its first bytes). Fails: NILAS_CORRUPT_FILE naming the path and the key. */
NL_MUST_USE nl_status nl_table_metadata_parse(nl_bytes content, nl_str metadata_file, nl_memory *memory, const nl_table_metadata **metadata);
/* The JSON text of a metadata file, table's or view's: as it is, or out of its gzip. *plain (NULL for a plain file) is
 * counted and holds the text. */
NL_MUST_USE nl_status nl_metadata_text(nl_bytes content, nl_str path, nl_memory *memory, nl_buffer **plain, nl_str *text);
NL_MUST_USE nl_status nl_table_metadata_read(nl_fs *fs, nl_str metadata_file, nl_memory *memory, const nl_table_metadata **metadata);
/* From JSON in memory (a REST response); metadata_file is the response's metadata-location. */
NL_MUST_USE nl_status nl_table_metadata_from_json(const json_t *json, nl_str metadata_file, nl_memory *memory,
                                                  const nl_table_metadata **metadata);
const nl_table_metadata *nl_table_metadata_retain(const nl_table_metadata *metadata);
void nl_table_metadata_release(const nl_table_metadata *metadata); /* NULL is fine */
/* The same metadata under another file name (after it was written). *named is counted: the same object when the caller
 * is its only owner, else a copy. */
NL_MUST_USE nl_status nl_table_metadata_with_file(const nl_table_metadata *metadata, nl_str metadata_file, const nl_table_metadata **named);

/* Java's key order, compact. */
void nl_table_metadata_append_json(const nl_table_metadata *metadata, nl_builder *out);
/* As a file's content; is_gzip by the property write.metadata.compression-codec. *content is counted. */
NL_MUST_USE nl_status nl_table_metadata_encode(const nl_table_metadata *metadata, bool is_gzip, nl_memory *memory, nl_buffer **content);
bool nl_table_metadata_wants_gzip(const nl_table_metadata *metadata);

const nl_schema *nl_table_schema(const nl_table_metadata *metadata); /* the current one */
const nl_schema *nl_table_schema_by_id(const nl_table_metadata *metadata, int32_t schema_id); /* or NULL */
const nl_partition_spec *nl_table_spec(const nl_table_metadata *metadata); /* the default one */
const nl_partition_spec *nl_table_spec_by_id(const nl_table_metadata *metadata, int32_t spec_id);
const nl_sort_order *nl_table_sort_order(const nl_table_metadata *metadata);
const nl_sort_order *nl_table_sort_order_by_id(const nl_table_metadata *metadata, int32_t order_id);
const nl_snapshot *nl_table_current_snapshot(const nl_table_metadata *metadata); /* or NULL */
const nl_snapshot *nl_table_snapshot(const nl_table_metadata *metadata, int64_t snapshot_id); /* or NULL */
const nl_snapshot_ref *nl_table_ref(const nl_table_metadata *metadata, nl_str name); /* or NULL */
/* The schema a snapshot was written with; the current one when it does not say. */
const nl_schema *nl_table_snapshot_schema(const nl_table_metadata *metadata, const nl_snapshot *snapshot);

/* Partition types. A source column that was dropped is looked up in the newest schema that had it, so that old specs keep
 * the types of their values. */
const nl_ice_type *nl_table_partition_type(nl_arena *arena, const nl_table_metadata *metadata, const nl_partition_spec *spec);
const nl_ice_type *nl_table_source_type(nl_arena *arena, const nl_table_metadata *metadata, const nl_partition_field *field); /* before the transform */
NL_MUST_USE nl_status nl_table_partition_type_union(nl_arena *arena, const nl_table_metadata *metadata, const nl_ice_type **type); /* of all specs */

nl_str nl_table_property(const nl_table_metadata *metadata, const char *key, const char *fallback); /* fallback NULL: data NULL */
/* Fails when the text is no number or boolean: the message names the key. */
NL_MUST_USE nl_status nl_table_property_int(const nl_table_metadata *metadata, const char *key, int64_t fallback, int64_t *value);
bool nl_table_property_bool(const nl_table_metadata *metadata, const char *key, bool fallback);
