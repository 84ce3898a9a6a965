/* iceberg/manifest.h - manifests and manifest lists (spec: "Manifests", "Manifest Lists", Appendix A).
 *
 * A nl_manifest is one manifest file, decoded, immutable and counted: entries in file order over the file's own
 * decompressed bytes. Statistics stay in their packed form (nl_metric_map), so that a file costs a few hundred bytes and
 * a merge copies them untouched; the typed columns that planning filters are made per field on demand.
 */
#pragma once

#include "iceberg/metadata.h"

typedef enum nl_file_content { NL_CONTENT_DATA, NL_CONTENT_POSITION_DELETES, NL_CONTENT_EQUALITY_DELETES } nl_file_content;
typedef enum nl_file_format { NL_FORMAT_PARQUET, NL_FORMAT_AVRO, NL_FORMAT_ORC, NL_FORMAT_PUFFIN } nl_file_format;
const char *nl_file_format_name(nl_file_format format);           /* "PARQUET" as the files table shows; "parquet" on disk is the same in lower case */
bool nl_file_format_parse(nl_str text, nl_file_format *format);   /* any case */

/* Statistics by field id: packed pairs of zigzag varint id and (zigzag varint count | length-prefixed bytes), checked
 * when they were read or made. data NULL: absent (differs from empty). */
typedef struct nl_metric_map {
    const uint8_t *data; /* borrowed from the manifest or arena */
    uint32_t size_bytes;
    uint32_t count;
} nl_metric_map;
bool nl_metric_find(const nl_metric_map *map, int32_t field_id, int64_t *value);
bool nl_bound_find(const nl_metric_map *map, int32_t field_id, nl_bytes *value); /* value borrowed from the map */
typedef struct nl_metric_iterator {
    const uint8_t *next;
    const uint8_t *end;
} nl_metric_iterator;
static inline nl_metric_iterator nl_metric_begin(const nl_metric_map *map)
{
    return (nl_metric_iterator){map->data, map->data ? map->data + map->size_bytes : NULL};
}
bool nl_metric_next(nl_metric_iterator *iterator, int32_t *field_id, int64_t *value); /* of a count map */
bool nl_bound_next(nl_metric_iterator *iterator, int32_t *field_id, nl_bytes *value); /* of a bound map */
NL_MUST_USE nl_status nl_metric_map_make(nl_arena *arena, const int32_t *field_ids, const int64_t *values, uint32_t count, nl_metric_map *map);
NL_MUST_USE nl_status nl_bound_map_make(nl_arena *arena, const int32_t *field_ids, const nl_bytes *values, uint32_t count, nl_metric_map *map);

typedef struct nl_data_file {
    nl_file_content content;
    nl_file_format format;
    nl_str path;
    int32_t spec_id;           /* not in the file: that of the manifest */
    const nl_value *partition; /* one per spec field, of the storage type of its result; NULL when the spec has no field */
    int64_t record_count;
    int64_t file_size_bytes;
    nl_metric_map column_sizes;
    nl_metric_map value_counts;
    nl_metric_map null_value_counts;
    nl_metric_map nan_value_counts;
    nl_metric_map lower_bounds;
    nl_metric_map upper_bounds;
    nl_bytes key_metadata;          /* data NULL: none */
    const int64_t *split_offsets;   /* ascending; dropped when not plausible */
    uint32_t split_offset_count;
    const int32_t *equality_ids;
    uint32_t equality_id_count;
    int32_t sort_order_id;          /* NL_NONE: none */
    int64_t first_row_id;           /* v3, inherited ones filled in; NL_NONE: none */
    nl_str referenced_data_file;    /* empty: none */
    int64_t content_offset;         /* NL_NONE: none */
    int64_t content_size_bytes;     /* NL_NONE: none */
} nl_data_file;

static inline bool nl_data_file_is_deletion_vector(const nl_data_file *file)
{
    return file->content == NL_CONTENT_POSITION_DELETES && file->format == NL_FORMAT_PUFFIN;
}
/* Position deletes of one data file: referenced_data_file, or equal bounds of file_path. data NULL when not so. */
nl_str nl_data_file_referenced(const nl_data_file *file);
nl_data_file nl_data_file_copy(nl_arena *arena, const nl_data_file *file, uint32_t partition_count); /* deep */

typedef enum nl_entry_status { NL_ENTRY_EXISTING = 0, NL_ENTRY_ADDED = 1, NL_ENTRY_DELETED = 2 } nl_entry_status;

typedef struct nl_manifest_entry {
    nl_entry_status status;
    uint32_t partition_index;     /* into the manifest's distinct partitions */
    int64_t snapshot_id;          /* inherited ones filled in */
    int64_t sequence_number;      /* data sequence number, inherited ones filled in; NL_NONE: unassigned */
    int64_t file_sequence_number;
    nl_data_file file;
} nl_manifest_entry;
static inline bool nl_manifest_entry_is_live(const nl_manifest_entry *entry)
{
    return entry->status != NL_ENTRY_DELETED;
}

typedef enum nl_manifest_content { NL_MANIFEST_DATA = 0, NL_MANIFEST_DELETES = 1 } nl_manifest_content;

typedef struct nl_field_summary {
    bool contains_null;
    int8_t contains_nan; /* 0, 1, or NL_NONE: not known */
    nl_bytes lower;      /* data NULL: none */
    nl_bytes upper;
} nl_field_summary;

/* One row of a manifest list. */
typedef struct nl_manifest_file {
    nl_str path;
    int64_t length;
    int32_t spec_id;
    nl_manifest_content content;
    int64_t sequence_number;      /* NL_NONE while not committed: the manifest list gives it */
    int64_t min_sequence_number;  /* NL_NONE while not committed and all entries inherit */
    int64_t added_snapshot_id;    /* NL_NONE: none */
    int64_t added_files_count;    /* NL_NONE: not known (v1) */
    int64_t existing_files_count;
    int64_t deleted_files_count;
    int64_t added_rows_count;
    int64_t existing_rows_count;
    int64_t deleted_rows_count;
    const nl_field_summary *partitions; /* NULL: absent */
    uint32_t partition_count;
    nl_bytes key_metadata;
    int64_t first_row_id;         /* v3 data manifests; NL_NONE: none */
} nl_manifest_file;
nl_manifest_file nl_manifest_file_copy(nl_arena *arena, const nl_manifest_file *file);

/* Reading. */
typedef struct nl_manifest {
    nl_str path;
    nl_manifest_content content;
    int32_t format_version;
    int32_t spec_id;
    const nl_schema *schema;             /* as written in the file */
    const nl_partition_spec *spec;
    const nl_ice_type *partition_type;
    uint32_t entry_count;
    const nl_manifest_entry *entries;    /* in file order, DELETED ones included */
    uint32_t partition_count;
    const nl_value *const *partitions;   /* distinct tuples, [partition_index][spec field] */
    const nl_vector *partition_columns;  /* one per spec field, partition_count rows */
    uint32_t live_count;
} nl_manifest;

/* Reads one manifest; `listed` gives what entries inherit (sequence number, snapshot id, first row id, spec id).
 * *manifest is counted. Fails: NILAS_CORRUPT_FILE with path and offset. */
NL_MUST_USE nl_status nl_manifest_read(nl_fs *fs, const nl_manifest_file *listed, nl_memory *memory, const nl_manifest **manifest);
const nl_manifest *nl_manifest_retain(const nl_manifest *manifest);
void nl_manifest_release(const nl_manifest *manifest); /* NULL is fine */
size_t nl_manifest_bytes(const nl_manifest *manifest);

/* Typed statistics of one column over all entries (entry_count rows each), made once per manifest and kept with it;
 * borrowed. A missing bound or count is null. `type` is the column's type in the schema being read (bounds of narrower
 * ones are promoted); its storage type is the vectors'. Bounds that do not decode are null. Thread-safe. */
typedef struct nl_column_statistics {
    nl_vector lower;
    nl_vector upper;
    nl_vector value_count; /* BIGINT */
    nl_vector null_count;
    nl_vector nan_count;
} nl_column_statistics;
NL_MUST_USE nl_status nl_manifest_statistics(const nl_manifest *manifest, int32_t field_id, const nl_ice_type *type,
                                             const nl_column_statistics **statistics);

/* *files has *file_count rows in the list's order; in the arena. A v1 snapshot without a list reads its manifests'
 * headers. */
NL_MUST_USE nl_status nl_manifest_list_read(nl_fs *fs, nl_str path, nl_memory *memory, nl_arena *arena, const nl_manifest_file **files,
                                            uint32_t *file_count);
NL_MUST_USE nl_status nl_snapshot_manifests(nl_fs *fs, const nl_snapshot *snapshot, nl_memory *memory, nl_arena *arena,
                                            const nl_manifest_file **files, uint32_t *file_count);

/* A snapshot's manifests as something that outlives whoever read them. Counted. */
typedef struct nl_manifest_list {
    const nl_manifest_file *files;
    uint32_t file_count;
} nl_manifest_list;
void nl_manifest_list_release(const nl_manifest_list *list); /* NULL is fine */

/* Manifests by path, least recently used out first; manifests are immutable, so nothing ever grows stale. Counted
 * limit in bytes. Threads: may be shared; two that miss the same path at once may both read it. */
typedef struct nl_manifest_cache nl_manifest_cache;
nl_manifest_cache *nl_manifest_cache_new(nl_memory *memory, size_t limit_bytes);
void nl_manifest_cache_free(nl_manifest_cache *cache);
/* cache NULL: just reads. *manifest is counted. */
NL_MUST_USE nl_status nl_manifest_cache_read(nl_manifest_cache *cache, nl_fs *fs, const nl_manifest_file *listed, nl_memory *memory,
                                             const nl_manifest **manifest);

/* The same for the snapshot's list: planning asks for it once for each thing it wants to know. *list is counted. */
NL_MUST_USE nl_status nl_manifest_cache_list(nl_manifest_cache *cache, nl_fs *fs, const nl_snapshot *snapshot, nl_memory *memory,
                                             const nl_manifest_list **list);

/* Writing: records, field ids and file metadata exactly as Iceberg's Java library lays them out. */
typedef struct nl_manifest_writer nl_manifest_writer;
typedef struct nl_manifest_writer_options {
    nl_fs *fs;
    int32_t format_version;
    nl_manifest_content content;
    const nl_schema *schema;
    const nl_partition_spec *spec;
    const nl_ice_type *partition_type; /* of spec, where schema may lack a dropped source (nl_table_partition_type); NULL: by schema */
    int64_t snapshot_id;      /* of the commit; NL_NONE: inherited (ADDED entries get null) */
    int64_t first_row_id;     /* v3: of the manifest when known, else NL_NONE */
    int compression_level;    /* deflate 1…12; 0: the default (Java's 1) */
    bool is_uncompressed;
} nl_manifest_writer_options;
/* Borrows options' pointers until close. Path is copied. */
NL_MUST_USE nl_status nl_manifest_writer_open(const nl_manifest_writer_options *options, nl_str path, nl_memory *memory, nl_manifest_writer **writer);
/* Writes the entry as it is: status, snapshot id, sequence numbers (NL_NONE: null, to be inherited). The helpers set
 * what Java's writer sets. */
NL_MUST_USE nl_status nl_manifest_writer_entry(nl_manifest_writer *writer, const nl_manifest_entry *entry);
NL_MUST_USE nl_status nl_manifest_writer_add(nl_manifest_writer *writer, const nl_data_file *file, int64_t data_sequence_number); /* NL_NONE: inherit */
NL_MUST_USE nl_status nl_manifest_writer_existing(nl_manifest_writer *writer, const nl_manifest_entry *entry);
NL_MUST_USE nl_status nl_manifest_writer_delete(nl_manifest_writer *writer, const nl_manifest_entry *entry); /* snapshot id becomes the commit's */
uint64_t nl_manifest_writer_length(const nl_manifest_writer *writer); /* bytes so far, an estimate while open */
uint64_t nl_manifest_writer_entries(const nl_manifest_writer *writer);
/* Publishes the file; *file lives in `arena`. Takes writer, also on failure. */
NL_MUST_USE nl_status nl_manifest_writer_close(nl_manifest_writer *writer, nl_arena *arena, nl_manifest_file *file);
void nl_manifest_writer_abort(nl_manifest_writer *writer); /* NULL is fine */

/* Starts a new file when one reaches target_bytes. make_path is asked for each (owned by the arena). */
typedef struct nl_rolling_manifest_writer nl_rolling_manifest_writer;
typedef nl_status (*nl_manifest_path_maker)(void *argument, nl_arena *arena, nl_str *path);
NL_MUST_USE nl_status nl_rolling_manifest_writer_new(const nl_manifest_writer_options *options, uint64_t target_bytes, nl_manifest_path_maker make_path,
                                                     void *argument, nl_memory *memory, nl_arena *arena, nl_rolling_manifest_writer **writer);
/* The writer for the next entry; borrowed until the next call. */
NL_MUST_USE nl_status nl_rolling_manifest_writer_next(nl_rolling_manifest_writer *rolling, nl_manifest_writer **writer);
/* *files: one per file written, in order, in the arena. Takes rolling. On failure nothing of the open file stays. */
NL_MUST_USE nl_status nl_rolling_manifest_writer_close(nl_rolling_manifest_writer *rolling, const nl_manifest_file **files, uint32_t *file_count);
void nl_rolling_manifest_writer_abort(nl_rolling_manifest_writer *rolling); /* the open file only; closed ones are the caller's to delete */

typedef struct nl_manifest_list_options {
    int32_t format_version;
    int64_t snapshot_id;
    int64_t parent_id;        /* NL_NONE: none */
    int64_t sequence_number;  /* of the commit: given to manifests without one */
    int64_t first_row_id;     /* v3: the table's next-row-id; NL_NONE before v3 */
} nl_manifest_list_options;
/* Writes the list. v3 data manifests without first_row_id get theirs in order; *next_row_id (may be NULL) is the id
 * after them (first_row_id + added rows of the snapshot). Replaces a file of that name: names are unique by their uuid. */
NL_MUST_USE nl_status nl_manifest_list_write(nl_fs *fs, nl_str path, const nl_manifest_list_options *options, const nl_manifest_file *files,
                                             uint32_t file_count, nl_memory *memory, int64_t *next_row_id);
