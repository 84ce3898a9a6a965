/* exec/sources.h - the tables a plan can scan: Iceberg tables at a snapshot, their metadata tables, plain files. */
#pragma once

#include "exec/scan.h"
#include "iceberg/changelog.h"
#include "iceberg/table.h"

/* What of the table is read. All zero: the current snapshot of main. At most one of the first four. */
typedef struct nl_iceberg_read {
    bool has_snapshot_id;
    int64_t snapshot_id;          /* read with the snapshot's schema */
    nl_str tag;                   /* the same                        */
    nl_str branch;                /* read with the table's current schema */
    bool has_timestamp;
    int64_t as_of_ms;             /* the last snapshot of main not after it; its schema */
    int64_t start_snapshot_id;    /* incremental append scan: after this one; 0: none */
    int64_t end_snapshot_id;      /* up to this one; 0: the current one */
    bool is_restricted;           /* only these data files are read (row-level commands, compaction): */
    const nl_str *files;          /* paths, sorted; borrowed for the source's life */
    uint32_t file_count;
    bool is_changelog;            /* rows that came and went between start and end, with what happened to them, when and by which snapshot */
    bool has_start_ms, has_end_ms;
    int64_t start_ms, end_ms;     /* of a changelog only; times instead of snapshots */
} nl_iceberg_read;

/* One snapshot of a table, fixed when this is called. metadata_type has _file, _pos, _spec_id, _partition, _deleted (and
 * on v3 _row_id, _last_updated_sequence_number). The table handle is retained. *source is counted.
 * Fails: "Cannot find snapshot with ID …", "Cannot find a snapshot older than …". */
NL_MUST_USE nl_status nl_iceberg_source_new(nl_iceberg_table *table, const nl_iceberg_read *read, const nl_table **source);
/* The handle, metadata and snapshot a source was made of, for row-level commands; borrowed from the source. snapshot NULL: empty table. */
nl_iceberg_table *nl_iceberg_source_table(const nl_table *source);
const nl_table_metadata *nl_iceberg_source_metadata(const nl_table *source);
const nl_snapshot *nl_iceberg_source_snapshot(const nl_table *source);
bool nl_table_is_iceberg(const nl_table *table);

/* db.t.NAME: history, snapshots, files, … all of them; read as nl_iceberg_source_new. *is_known false: no such name. */
NL_MUST_USE nl_status nl_metadata_source_new(nl_iceberg_table *table, nl_str name, const nl_iceberg_read *read, const nl_table **source, bool *is_known);

/* Plain files, reached through fs (retained): format "parquet", "orc", "csv", "json", "text", "xml"; paths: files or folders (Hive-style partition folders
 * become columns); options: Spark's reader options; schema NULL: inferred. Fails: PATH_NOT_FOUND, UNABLE_TO_INFER_SCHEMA,
 * DATA_SOURCE_NOT_FOUND. */
NL_MUST_USE nl_status nl_file_source_new(nl_fs *fs, nl_str format, const nl_str *paths, uint32_t path_count, const nl_property *options, uint32_t option_count,
                                         const nl_type *schema, const nl_eval_confs *confs, nl_memory *memory, const nl_table **source);
/* Rows held in memory. batches: an array of malloc, taken with its batches (dense, of the row type), also on failure; the
 * row type is copied. memory pays for the copy and outlives the source. */
NL_MUST_USE nl_status nl_batches_source_new(const nl_type *row_type, nl_batch *batches, uint32_t batch_count, nl_memory *memory, const nl_table **source);
/* What the rows are made of, as 16 bytes: sources of equal ones and of one row type are the same to nl_logical_same. */
void nl_batches_source_identify(const nl_table *source, const uint64_t identity[2]);
/* The files of a table over plain files (exec/source/plain_files.h); a location that is not there has none. */
struct nl_file_table;
NL_MUST_USE nl_status nl_file_table_source_new(nl_fs *fs, nl_str format, nl_str location, const struct nl_file_table *table, const nl_property *options, uint32_t option_count,
                                               const nl_eval_confs *confs, nl_memory *memory, const nl_table **source);
/* The files of a source of plain files (nl_str *, in the arena, absolute paths of the local disk as file: URIs); of others none. */
void nl_file_source_paths(const nl_table *source, nl_arena *arena, nl_list *paths);
/* A table or query of a database: Spark's options of the format jdbc; partitions that spark.read.jdbc gives as conditions are options of
 * the key NL_JDBC_PREDICATE, one each. custom: customSchema as a STRUCT, or NULL. Connects. Fails: what the database says. */
#define NL_JDBC_PREDICATE "nilas.jdbc.predicate"
NL_MUST_USE nl_status nl_jdbc_source_new(const nl_property *options, uint32_t option_count, const nl_type *custom, const nl_eval_confs *confs, nl_memory *memory,
                                         const nl_table **source);
bool nl_jdbc_is_own_option(nl_str key); /* of the format jdbc; others are the driver's */
bool nl_file_format_is_known(nl_str format);
const char *nl_file_format_title(nl_str format); /* as UNABLE_TO_INFER_SCHEMA calls it: "CSV" */
