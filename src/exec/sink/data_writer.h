/* exec/sink/data_writer.h - data files of one partition: rolled at the target size, with the metrics manifests want. */
#pragma once

#include "base/lock.h"
#include "exec/sink/file_output.h"
#include "exec/sinks.h"

/* What all writers of one statement share. In place; lives as long as its writers. */
typedef struct nl_write_target {
    nl_query *query;
    nl_fs *fs;
    const nl_table_metadata *metadata;
    const nl_schema *schema;
    const nl_partition_spec *spec;
    const nl_type *file_type;          /* of the rows: a STRUCT with field ids */
    nl_file_output_options data;       /* how data files are written */
    nl_file_output_options deletes;    /* and position delete files */
    nl_str schema_json;                /* footer key iceberg.schema */
    nl_str query_id;                   /* UUID in file names */
    int64_t target_bytes;
    atomic_uint open_count;            /* files being written */
    uint32_t open_max;
    size_t memory_max;                 /* of all open writers together */
    atomic_size_t memory_used;
    atomic_uint file_number;           /* from 1 */
    nl_arena *arena;                   /* of what lives as long as the statement; guarded by mutex */
    nl_mutex mutex;                    /* guards arena and files */
    nl_list files;                     /* nl_data_file *: finished */
    nl_list paths;                     /* nl_str *: of every file begun, for discarding */
} nl_write_target;

NL_MUST_USE nl_status nl_write_target_init(nl_write_target *target, nl_query *query, nl_iceberg_table *table, const nl_table_metadata *metadata,
                                           const nl_write_options *options);
void nl_write_target_fini(nl_write_target *target);
/* The path of a new file of a partition of `spec` (one value per field, or NULL: at the root); noted for discarding. In
 * target->arena. */
typedef enum nl_written_kind { NL_WRITTEN_DATA, NL_WRITTEN_DELETES, NL_WRITTEN_VECTORS } nl_written_kind;
NL_MUST_USE nl_status nl_write_target_path(nl_write_target *target, const nl_partition_spec *spec, const nl_value *partition, nl_written_kind kind, nl_str *path);

typedef struct nl_data_writer nl_data_writer;
/* partition: copied. worker: part of file names. */
NL_MUST_USE nl_status nl_data_writer_new(nl_write_target *target, const nl_value *partition, nl_data_writer **writer);
NL_MUST_USE nl_status nl_data_writer_open(nl_data_writer *writer); /* the file that the next rows go to, unless there is one */
NL_MUST_USE nl_status nl_data_writer_append(nl_data_writer *writer, const nl_batch *batch); /* rows of file_type */
/* Closes the file that is open and adds it to target->files. The writer can go on. */
NL_MUST_USE nl_status nl_data_writer_flush(nl_data_writer *writer);
void nl_data_writer_free(nl_data_writer *writer); /* an open file is abandoned; NULL is fine */

/* A finished file as a manifest entry, PARQUET until somebody says another format; in `arena`. is_delete_file: metrics of
 * position deletes. */
NL_MUST_USE nl_status nl_data_file_of_written(const nl_table_metadata *metadata, const nl_written_file *written, nl_str path, const nl_partition_spec *spec,
                                              const nl_value *partition, bool is_delete_file, nl_arena *arena, nl_data_file *file);
