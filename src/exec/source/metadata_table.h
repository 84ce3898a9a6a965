/* exec/source/metadata_table.h - what the files of Iceberg's metadata tables share. */
#pragma once

#include "exec/source/rows_source.h"
#include "iceberg/scan_planning.h"

typedef struct nl_delete_part { /* position_deletes: one delete file or vector */
    const nl_data_file *file;
    const nl_partition_spec *spec;
} nl_delete_part;

typedef struct nl_metadata_table { /* the owner of a metadata table's rows */
    nl_arena *arena;
    const nl_table *source;            /* counted: the table at the snapshot asked for */
    nl_iceberg_table *table;           /* borrowed from source, as what follows */
    const nl_table_metadata *metadata;
    const nl_snapshot *snapshot;       /* or NULL */
    const nl_ice_type *partition_union;
    const nl_type *partition_type;     /* child_count 0: unpartitioned */
    const nl_type *row_type;
    const nl_manifest_file *manifests; /* of the tables that read manifests; one part each */
    uint32_t manifest_count;
    const int64_t *manifest_snapshots; /* all_manifests: the snapshot that lists each */
    unsigned contents;                 /* files tables: bit 1 << nl_file_content */
    bool has_partition;                /* files tables: whether the column is there */
    const nl_delete_part *const *delete_parts; /* position_deletes */
    uint32_t delete_part_count;
} nl_metadata_table;

/* One part for all rows: snapshots, history, refs, metadata_log_entries, manifests, all_manifests, partitions. */
typedef nl_status (*nl_metadata_prepare)(nl_metadata_table *self);
nl_status nl_produce_snapshots(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders);
nl_status nl_produce_history(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders);
nl_status nl_produce_refs(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders);
nl_status nl_produce_metadata_log(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders);
nl_status nl_produce_manifests(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders);
/* One part per manifest. */
nl_status nl_produce_files(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders);
nl_status nl_produce_entries(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders);
nl_status nl_produce_partitions(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders);

/* One part per delete file, as listed by nl_list_position_deletes. */
NL_MUST_USE nl_status nl_list_position_deletes(nl_metadata_table *self);
nl_status nl_produce_position_deletes(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders);

/* Row types, in the owner's arena. */
NL_MUST_USE nl_status nl_position_deletes_type(nl_metadata_table *self, const nl_type **type);
const nl_type *nl_manifests_type(nl_arena *arena, bool is_all);
NL_MUST_USE nl_status nl_files_type(nl_metadata_table *self, const nl_type **type);
NL_MUST_USE nl_status nl_entries_type(nl_metadata_table *self, const nl_type **type);
const nl_type *nl_partitions_type(nl_metadata_table *self);

/* A file's tuple in the shape of the union type; in the arena. */
nl_value nl_metadata_partition(const nl_metadata_table *self, const nl_partition_spec *spec, const nl_value *values, nl_arena *arena);
/* NL_NONE becomes null. */
NL_MUST_USE nl_status nl_builder_optional(nl_column_builder *builder, int64_t value);
