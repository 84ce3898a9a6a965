/* format/data_format.h - data files and delete files of formats other than Parquet: what such a format gives to scans and
 * takes from writers. Parquet has an interface of its own, by column and page (parquet/reader.h).
 *
 * A format is a const nl_data_format (avro/data_format.h, ...). Reading: open a file for the columns somebody wants; its
 * parts can be read by several threads; a part gives batches. Writing: batches in, at close the file's facts.
 *
 *     nl_data_file_open(format, file, &read, memory, &reader)
 *     for (part = 0; part < reader->part_count; part++) {
 *         nl_data_scan_open(reader, part, memory, &scan)
 *         while (nl_data_scan_next(scan, &batch, &first_row), batch.row_count > 0) …
 *         nl_data_scan_close(scan)
 *     }
 *
 * Threads: a reader may be used by many at once, a scan and an output by one at a time.
 */
#pragma once

#include "column/batch.h"
#include "column/value.h"
#include "format/written.h"
#include "storage/filesystem.h"

typedef struct nl_data_format nl_data_format;
typedef struct nl_data_reader nl_data_reader;
typedef struct nl_data_scan nl_data_scan;
typedef struct nl_data_output nl_data_output;

/* ---- Reading ---- */

typedef struct nl_data_read { /* what is pointed at is borrowed and outlives the reader and its vectors */
    const nl_type *wanted;    /* a STRUCT. Fields of structs are found by field_id at every level; list elements, map keys
                               * and values by their place. Types are the table's of today: int is read as BIGINT, float as
                               * DOUBLE, decimals as wider ones, date as TIMESTAMP_NTZ; UUID as STRING, FIXED as BINARY. */
    /* The id of a column of a file that has no ids: path[0..depth) are the names down to it, "element", "key" and "value"
     * among them. 0: none. NULL: such files' columns are found by the names in `wanted`, at every level. Only asked when
     * the file has no ids. */
    int32_t (*field_id_of)(void *argument, const nl_str *path, uint32_t depth);
    /* The value of a wanted field that the file lacks (initial default), at any level. False: null. NULL: always null. */
    bool (*missing_value_of)(void *argument, const nl_field *field, const nl_value **value);
    void *argument;
    bool needs_positions; /* first_row of scans is looked at: `_pos`, position deletes, row ids */
    uint64_t part_bytes;  /* stored bytes that a part should have about; 0: the whole file is one part */
} nl_data_read;

#define NL_DATA_ROWS_UNKNOWN UINT64_MAX

typedef struct nl_data_part { /* consecutive rows; parts are in the file's order, and all together are the file */
    uint64_t row_count;       /* or NL_DATA_ROWS_UNKNOWN */
} nl_data_part;

struct nl_data_reader { /* first member of every format's own */
    const nl_data_format *format;
    const nl_data_part *parts;
    uint32_t part_count;
};

struct nl_data_scan { /* first member of every format's own */
    const nl_data_format *format;
};

typedef struct nl_data_bounds { /* of one part and column; values have the wanted field's type and live in the arena given */
    bool has_bounds;            /* no non-null value is smaller than min or greater than max */
    bool has_null_count;
    bool may_have_nan;          /* FLOAT, DOUBLE: NaN may lie outside of the bounds */
    nl_value min, max;
    uint64_t null_count;
    uint64_t value_count;       /* nulls included */
} nl_data_bounds;

typedef struct nl_data_rows { /* of a part */
    uint64_t first_row, row_count;
} nl_data_rows;

/* ---- Writing ---- */

typedef enum nl_data_stored { /* Iceberg types that nl_type has not */
    NL_DATA_STORED_DEFAULT,
    NL_DATA_STORED_UUID,  /* of STRING (36 characters) or BINARY (16 bytes) */
    NL_DATA_STORED_FIXED, /* BINARY of exactly `length` bytes */
    NL_DATA_STORED_TIME,  /* of BIGINT, microseconds */
    NL_DATA_STORED_TIMESTAMP_NANOS
} nl_data_stored;

typedef struct nl_data_column { /* of a leaf at any level */
    int32_t field_id;
    nl_data_stored stored;
    uint32_t length;
} nl_data_column;

typedef struct nl_data_pair {
    nl_str key, value;
} nl_data_pair;

typedef struct nl_data_write {   /* borrowed until the output ends */
    const nl_type *type;         /* a STRUCT: the rows' columns in order; names as files have them, ids at every level that has them */
    nl_str avro_schema;          /* of these rows, as Iceberg's Java writes it */
    const nl_data_column *columns; /* those that are not NL_DATA_STORED_DEFAULT */
    uint32_t column_count;
    const nl_data_pair *metadata;  /* of the file: "iceberg.schema", "delete-type" … */
    uint32_t metadata_count;
    nl_str codec;                /* compression-codec as the user or the table says it; empty: the format's default */
    nl_str codec_level;          /* empty: the codec's default */
    /* A property of the table, "write.orc.stripe-size-bytes" … (of delete files "write.delete.orc.…" where there is one);
     * data NULL: not set. */
    nl_str (*property_of)(void *argument, const char *name);
    void *argument;
} nl_data_write;

struct nl_data_output { /* first member of every format's own */
    const nl_data_format *format;
};

/* ---- What a format is ---- */

struct nl_data_format {
    const char *name; /* "avro": the ending of its files' names, and in its properties' names */
    /* Sets reader->parts. file: borrowed, outlives the reader. Nothing from the file is trusted: NILAS_CORRUPT_FILE;
     * NILAS_UNSUPPORTED names column, the file's type and the wanted one. */
    nl_status (*open)(nl_file *file, const nl_data_read *read, nl_memory *memory, nl_data_reader **reader);
    void (*close)(nl_data_reader *reader);
    nl_status (*scan_open)(nl_data_reader *reader, uint32_t part, nl_memory *memory, nl_data_scan **scan);
    /* The next at most NL_BATCH_ROWS rows, all wanted columns, without selection; row_count 0: the part has ended. FLAT,
     * CONSTANT or DICTIONARY. *first_row: the first one's place in the file, when positions are needed. */
    nl_status (*scan_next)(nl_data_scan *scan, nl_batch *batch, uint64_t *first_row);
    void (*scan_close)(nl_data_scan *scan);
    /* Statistics of a wanted column at top level, or below structs; NULL: the format has none. */
    nl_status (*part_bounds)(nl_data_reader *reader, uint32_t part, int32_t field_id, nl_arena *arena, nl_data_bounds *bounds);
    /* The same of the groups of rows that a part consists of, *group_rows each but the last; *group_count 0: nothing is known.
     * NULL: the format has none. Blocks. */
    nl_status (*group_bounds)(nl_data_reader *reader, uint32_t part, int32_t field_id, nl_arena *arena, nl_data_bounds **groups, uint32_t *group_count,
                              uint64_t *group_rows);
    /* Before the first batch: only these rows, ascending and inside of the part, are given. Of formats with group_bounds. */
    nl_status (*scan_restrict)(nl_data_scan *scan, const nl_data_rows *ranges, uint32_t range_count);

    /* What a writer would have said of the file, for files that are brought in as they are; bounds and counts as far as the
     * file has them. NULL: such files cannot be brought in. */
    nl_status (*describe)(nl_file *file, const nl_data_read *read, nl_memory *memory, nl_arena *arena, nl_written_file *written);

    /* output: taken, also on failure. */
    nl_status (*create)(nl_output *output, const nl_data_write *write, nl_memory *memory, nl_data_output **out);
    nl_status (*append)(nl_data_output *output, const nl_batch *batch); /* its live rows */
    uint64_t (*bytes)(const nl_data_output *output);                   /* that the file would have if it ended now, about */
    size_t (*memory)(const nl_data_output *output);                    /* buffered now */
    /* Publishes the file; takes output, also on failure (then nothing is visible). Leaves in the arena. */
    nl_status (*finish)(nl_data_output *output, nl_arena *arena, nl_written_file *written);
    void (*abort)(nl_data_output *output); /* nothing stays behind; takes output */
};

/* *reader: owned by the caller. read: copied. memory: charged, outlives the reader. */
NL_MUST_USE nl_status nl_data_file_open(const nl_data_format *format, nl_file *file, const nl_data_read *read, nl_memory *memory, nl_data_reader **reader);
void nl_data_reader_close(nl_data_reader *reader); /* NULL is fine */
NL_MUST_USE nl_status nl_data_scan_open(nl_data_reader *reader, uint32_t part, nl_memory *memory, nl_data_scan **scan);
NL_MUST_USE nl_status nl_data_scan_next(nl_data_scan *scan, nl_batch *batch, uint64_t *first_row);
void nl_data_scan_close(nl_data_scan *scan); /* NULL is fine */

NL_MUST_USE nl_status nl_data_output_create(const nl_data_format *format, nl_output *output, const nl_data_write *write, nl_memory *memory,
                                            nl_data_output **out);
NL_MUST_USE nl_status nl_data_output_append(nl_data_output *output, const nl_batch *batch);
uint64_t nl_data_output_bytes(const nl_data_output *output);
size_t nl_data_output_memory(const nl_data_output *output);
NL_MUST_USE nl_status nl_data_output_finish(nl_data_output *output, nl_arena *arena, nl_written_file *written);
void nl_data_output_abort(nl_data_output *output); /* NULL is fine */
