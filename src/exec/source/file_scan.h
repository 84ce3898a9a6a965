/* exec/source/file_scan.h - a scan over Parquet files, Iceberg's or plain ones: the work queue, filters first, late
 * materialisation, deletes, metadata columns. Files of other formats (format/data_format.h) come along: part by part
 * instead of range by range, and with all their columns at once.
 *
 * Whoever makes the scan describes its files (units) and columns; the rest is the same for all. A unit is opened by one
 * worker and its row ranges are then shared by all, so that one large row group keeps every core busy.
 */
#pragma once

#include "exec/scan.h"
#include "exec/source/delete_filter.h"
#include "format/data_format.h"
#include "format/parquet/parquet.h"

typedef enum nl_unit_column_kind {
    NL_COLUMN_FROM_FILE,  /* read_type's field `read_column`      */
    NL_COLUMN_CONSTANT,   /* the unit's constants[constant]       */
    NL_COLUMN_PATH,       /* _file                                */
    NL_COLUMN_POSITION,   /* _pos: the row's number in the file   */
    NL_COLUMN_ROW_ID,     /* read_column, where null the constant plus the row's number; BIGINT */
    NL_COLUMN_OR_CONSTANT /* read_column, where null the constant; BIGINT                       */
} nl_unit_column_kind;

typedef struct nl_scan_column { /* one per output column of the scan node */
    nl_unit_column_kind kind;
    uint32_t read_column;
    uint32_t constant;
} nl_scan_column;

typedef struct nl_scan_unit { /* one file; lives as long as the scan */
    nl_str path;
    const nl_data_format *format;  /* NULL: Parquet */
    int64_t row_count;             /* -1: not known before it is opened */
    uint64_t size_bytes;           /* of the file, as metadata says; 0: not known */
    bool never_changes;            /* the path stands for these bytes for ever: a data file of Iceberg */
    const nl_value *constants;
    const nl_file_task *task;      /* Iceberg: deletes, partition; or NULL */
    bool is_wholly_matching;       /* the filter holds for every row */
} nl_scan_unit;

typedef struct nl_file_scan_plan {
    nl_query *query;
    const nl_logical *node;        /* the SCAN: columns, filter, limit */
    nl_arena *arena;               /* taken: freed with the scan */
    nl_fs *fs;                     /* counted: taken */
    const nl_type *read_type;      /* what is read of the files (a STRUCT) */
    nl_scan_column *columns;       /* node->column_count */
    nl_scan_unit *units;
    uint32_t unit_count;
    nl_parquet_match match;
    const nl_predicate *predicate; /* field ids of read_type; NULL: none */
    /* Per unit: field ids of files without them, values of missing columns. Any may be NULL. */
    int32_t (*field_id_of)(void *argument, const nl_parquet_node *node);
    int32_t (*data_field_id_of)(void *argument, const nl_str *path, uint32_t depth); /* of files of other formats: see nl_data_read */
    bool (*missing_value_of)(void *argument, const nl_field *field, const nl_value **value);
    void *(*unit_argument)(void *owner, const nl_scan_unit *unit); /* the callbacks' argument for a unit; NULL: owner */
    void *owner;
    void (*free_owner)(void *owner);
    nl_delete_cache *deletes;      /* taken; or NULL */
    uint32_t files_total;          /* before pruning, for metrics */
    bool ignores_missing;          /* a file that is gone has no rows */
} nl_file_scan_plan;

/* Takes what the plan says, also on failure. */
NL_MUST_USE nl_status nl_file_scan_new(nl_file_scan_plan *plan, nl_scan **scan);
