/* exec/sinks.h - where rows go: data and delete files of Iceberg tables, plain files. A sink is fed by many workers
 * (nl_parallel_sink); nothing it writes is visible until somebody commits the files it made. */
#pragma once

#include "exec/exec.h"
#include "iceberg/table.h"

typedef enum nl_write_verb { NL_WRITE_INSERT, NL_WRITE_DELETE, NL_WRITE_UPDATE, NL_WRITE_MERGE } nl_write_verb;

typedef struct nl_write_options { /* zero: the table's properties, then the defaults */
    nl_str format;                 /* write-format; empty: write.format.default */
    nl_str delete_format;          /* delete-format; empty: write.delete.format.default, or as the data */
    nl_str codec;                  /* compression-codec */
    nl_str codec_level;
    int64_t target_file_bytes;
    int64_t target_delete_file_bytes;
    bool has_spec_id;              /* output-spec-id */
    int32_t spec_id;
    nl_write_verb verb;
    nl_str distribution_mode;      /* distribution-mode, or the session's; empty: the table's property for the verb */
    nl_str fanout;                 /* fanout-enabled; empty: write.spark.fanout.enabled */
    bool ignores_order;            /* use-table-distribution-and-ordering=false */
    bool keeps_plan_order;         /* the input is sorted: write it in its order */
    bool shares_writers;           /* with ignores_order: one writer per partition all the same, whichever worker brings rows */
    bool deletes_by_partition;     /* delete-granularity=partition */
    bool has_clusters;             /* unpartitioned: rows end with an INT; those with different ones do not share a file */
    bool has_lineage;              /* v3: behind the table's columns come _row_id and _last_updated_sequence_number, to be kept */
} nl_write_options;

typedef struct nl_written_files { /* in the arena given to finish */
    nl_data_file *data_files;
    uint32_t data_file_count;
    nl_data_file *delete_files;
    uint32_t delete_file_count;
    nl_data_file *rewritten_delete_files; /* file-scoped position deletes and vectors merged into new ones: to be removed */
    uint32_t rewritten_delete_file_count;
    int64_t row_count;
} nl_written_files;

/* Rows of the table's schema (columns in its order, plus on row-level writes the ones below) become data files. */
typedef struct nl_iceberg_sink nl_iceberg_sink;
/* Plans the write: `input` gives the rows (store-assigned to the schema). Adds the distribution and sort that the table
 * wants as plan nodes (*plan), and makes the sink. metadata: the version written against (retained). */
NL_MUST_USE nl_status nl_iceberg_append_plan(nl_query *query, nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_write_options *options,
                                             const nl_logical *input, const nl_logical **plan, nl_iceberg_sink **sink);
/* Does this copy-on-write DELETE or UPDATE of all of a table's columns want rows clustered by the file they come from? */
NL_MUST_USE nl_status nl_write_clusters_by_file(const nl_table_metadata *metadata, const nl_write_options *options, bool *is_wanted);
/* Merge-on-read: rows have the schema's columns, then "_operation" INT (1 delete, 2 insert, 3 update = delete and insert), then _file STRING,
 * _pos BIGINT, _spec_id INT, _partition STRUCT of the row to delete (null for inserts). */
NL_MUST_USE nl_status nl_iceberg_delta_plan(nl_query *query, nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_snapshot *snapshot,
                                            const nl_write_options *options, const nl_logical *input, const nl_logical **plan, nl_iceberg_sink **sink);
/* "IcebergWrite(table=lake.db.t, format=PARQUET, distribution=hash by p, bucket(4, id))", for EXPLAIN; name as given. */
void nl_iceberg_sink_describe(const nl_iceberg_sink *sink, nl_str name, nl_builder *out);
/* Runs the plan (already optimized) into the sink: in parallel, or in order when rows are sorted as a whole. */
NL_MUST_USE nl_status nl_iceberg_sink_run(nl_iceberg_sink *sink, nl_query *query, const nl_logical *plan);
/* After the run. On failure, or when the commit failed cleanly, nl_iceberg_sink_discard removes what was written. */
NL_MUST_USE nl_status nl_iceberg_sink_finish(nl_iceberg_sink *sink, nl_arena *arena, nl_written_files *files);
void nl_iceberg_sink_discard(nl_iceberg_sink *sink); /* deletes the files */
void nl_iceberg_sink_free(nl_iceberg_sink *sink);    /* keeps the files; NULL is fine */

/* INSERT OVERWRITE DIRECTORY, and tables of the session catalog over plain files: files in a folder, or in folders of it by the
 * values of the last columns, which are not written ("b=x/c=1"). */
typedef struct nl_file_layout {
    uint32_t partition_count;     /* of the row type's last columns */
    enum { NL_FILES_ADDED, NL_FILES_REPLACED, NL_FILES_REPLACED_BY_FOLDER } mode; /* what was there: stays; goes; goes from the folders that get new files */
    const nl_str *removed;        /* REPLACED with partitions: the folders that go, "b=x"; NULL: everything */
    uint32_t removed_count;
} nl_file_layout;
/* layout: borrowed until the sink ends. */
NL_MUST_USE nl_status nl_file_sink_new(nl_query *query, nl_str format, nl_str folder, const nl_type *row_type, const nl_property *options,
                                       uint32_t option_count, const nl_file_layout *layout, nl_parallel_sink **sink);
/* The partitions that rows went to, sorted, in the arena. */
void nl_file_sink_folders(nl_parallel_sink *sink, nl_arena *arena, const nl_str **folders, uint32_t *folder_count);
NL_MUST_USE nl_status nl_file_sink_finish(nl_parallel_sink *sink); /* publishes; takes sink */
void nl_file_sink_discard(nl_parallel_sink *sink);
