/* exec/source/plain_files.h - files outside of any table: which there are below a path, and what their folders' names
 * say (col=value). */
#pragma once

#include "column/value.h"
#include "exec/exec.h"
#include "storage/filesystem.h"

typedef struct nl_plain_file {
    nl_str path;
    uint64_t size_bytes;
    const nl_value *partition; /* one per partition column, then what _metadata holds */
} nl_plain_file;

typedef struct nl_plain_files {
    nl_fs *fs; /* counted: nl_plain_files_fini; NULL before listing: chosen by the path */
    const nl_plain_file *files; /* by path */
    uint32_t file_count;
    const nl_field *partition_fields;
    uint32_t partition_count;
} nl_plain_files;

/* Spark's options that say which files are read. */
typedef struct nl_file_selection {
    nl_str path_glob;  /* pathGlobFilter: what names of files must match; empty: all */
    bool is_recursive; /* recursiveFileLookup: all files below, whose folders' names say nothing */
    bool has_before, has_after;
    int64_t before_micros; /* modifiedBefore: only files changed earlier */
    int64_t after_micros;  /* modifiedAfter: only files changed later */
    bool ignores_missing;  /* ignoreMissingFiles: one that went after it was listed has no rows */
    const nl_type *schema; /* of the reader: partition columns that it has are of its types; or NULL */
    nl_str base_path;      /* basePath: folders below it name partition columns, also of paths that are files; empty: each path's own */
    const struct nl_file_table *table; /* the files of a table, whose partitions are declared; or NULL */
} nl_file_selection;

/* A table of the session catalog over plain files. Borrowed. */
typedef struct nl_file_table {
    const nl_type *data_type;            /* STRUCT: what the files hold */
    const nl_field *partition_fields;    /* what their folders' names hold */
    uint32_t partition_count;
    const nl_str *folders;               /* the partitions it has, "b=x/c=1", sorted: other folders are not read */
    uint32_t folder_count;
} nl_file_table;

/* STRUCT of the hidden column _metadata: file_path, file_name, file_size, file_block_start, file_block_length (files are one block),
 * file_modification_time. */
const nl_type *nl_plain_metadata_type(nl_arena *arena);

/* Lists files and folders; names that begin with _ or . are left out, as Spark does. Without folders col=value only the
 * files right below a path are read. A path is a pattern (storage/glob.h); one that matches nothing may still be a name.
 * Types of partition columns are inferred: INT, BIGINT, DOUBLE, DATE, TIMESTAMP, STRING. Everything lives in the arena.
 * Fails: PATH_NOT_FOUND; NILAS_ILLEGAL_ARGUMENT when folders disagree about the partition columns. */
NL_MUST_USE nl_status nl_plain_files_list(const nl_str *paths, uint32_t path_count, const nl_file_selection *selection, const nl_eval_confs *confs,
                                          nl_arena *arena, nl_plain_files *files);
/* A partition's folder as Spark and Hive write it: "b=x/c=__HIVE_DEFAULT_PARTITION__", special characters as %XX. */
NL_MUST_USE nl_status nl_plain_append_folder(const nl_field *fields, const nl_value *values, uint32_t count, const nl_eval_confs *confs, nl_builder *out);
nl_str nl_plain_unescape(nl_arena *arena, nl_str text); /* %XX of such names; anything else stays */
/* A path of the local disk with the current folder in front when it has none. */
NL_MUST_USE nl_status nl_plain_path_absolute(nl_arena *arena, nl_str path, nl_str *whole);
void nl_plain_files_fini(nl_plain_files *files); /* zeroed is fine */
