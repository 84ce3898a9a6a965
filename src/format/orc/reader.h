/* format/orc/reader.h - reading the rows of one ORC file as the columns somebody wants.
 *
 * Steps as with Parquet: read the tail (tail.h); open a reader for the wanted struct type; leave out stripes and row groups
 * by their statistics; open a scan over a stripe, step from window to window of at most NL_BATCH_ROWS rows and decode the
 * columns of the window, the filter's first. What is not read in a window is passed over when it is read again: by the row
 * index where there is one, without being decompressed.
 *
 * Threads: a reader may be used by many threads; a scan belongs to one at a time.
 */
#pragma once

#include "base/calendar.h"
#include "column/batch.h"
#include "column/value.h"
#include "format/data_format.h"
#include "format/orc/tail.h"

typedef struct nl_orc_reader nl_orc_reader;
typedef struct nl_orc_scan nl_orc_scan;

typedef enum nl_orc_match {
    NL_ORC_MATCH_FIELD_ID,    /* attribute iceberg.id at every level; files without ids: field_id_of, or by name */
    NL_ORC_MATCH_NAME,
    NL_ORC_MATCH_NAME_NOCASE  /* two that match: NILAS_ILLEGAL_ARGUMENT. Files whose names are all _col0 …: by place_of */
} nl_orc_match;

typedef struct nl_orc_read_options {
    nl_orc_match match;
    int32_t (*field_id_of)(void *argument, const nl_orc_type *type); /* for files without ids (name mapping); 0: none. Or NULL */
    uint32_t (*place_of)(void *argument, const nl_field *field);     /* a wanted field's place among the table's; NULL: among the wanted */
    /* The value of a wanted field that the file lacks, at any level; borrowed as long as the reader lives. False: null. Or NULL */
    bool (*missing_value_of)(void *argument, const nl_field *field, const nl_value **value);
    void *argument;
    bool is_hybrid;             /* days and times of the file are of the calendar that was Julian before 1582-10-15: Spark's own files */
    const nl_timezone *zone;    /* wall-clock times read as TIMESTAMP are of this zone; NULL: UTC */
} nl_orc_read_options;

/* file: borrowed, outlives the reader. tail: retained. wanted: a STRUCT, borrowed, outlives the reader and its vectors.
 * *reader: counted. Reads nothing. Promotions done: integers to wider ones (narrower ones: null where they do not fit),
 * floating point and decimals; float and double; decimals of any scale; date to timestamp_ntz; uuid to string.
 * Fails: NILAS_UNSUPPORTED naming column, file type, wanted type. */
NL_MUST_USE nl_status nl_orc_reader_open(nl_file *file, nl_orc_tail *tail, const nl_type *wanted, const nl_orc_read_options *options, nl_memory *memory, nl_orc_reader **reader);
nl_orc_reader *nl_orc_reader_retain(nl_orc_reader *reader);
void nl_orc_reader_release(nl_orc_reader *reader); /* NULL is fine */
const nl_orc_tail *nl_orc_reader_tail(const nl_orc_reader *reader);

typedef nl_data_rows nl_orc_rows; /* rows of a stripe */

typedef struct nl_orc_window {
    uint64_t first_row; /* of the stripe */
    uint64_t file_row;  /* of the file */
    uint32_t row_count; /* at most NL_BATCH_ROWS; 0: the end */
} nl_orc_window;

/* All rows of a stripe. Reads the stripe's footer. */
NL_MUST_USE nl_status nl_orc_scan_open(nl_orc_reader *reader, uint32_t stripe, nl_memory *memory, nl_orc_scan **scan);
/* Before the first window: only these rows. ranges: ascending, not overlapping; copied. */
NL_MUST_USE nl_status nl_orc_scan_restrict(nl_orc_scan *scan, const nl_orc_rows *ranges, uint32_t range_count);
void nl_orc_scan_close(nl_orc_scan *scan); /* NULL is fine */
void nl_orc_scan_advance(nl_orc_scan *scan, nl_orc_window *window);
/* Decodes one wanted column of the present window, all its rows or the selected ones. Each column at most once per window.
 * FLAT, DICTIONARY, or CONSTANT where the file lacks it. Blocks. Fails: NILAS_CORRUPT_FILE. */
NL_MUST_USE nl_status nl_orc_scan_read(nl_orc_scan *scan, uint32_t column, const nl_selection *selection, nl_vector *vector);
/* All columns of the next window; batch->row_count is 0 at the end. */
NL_MUST_USE nl_status nl_orc_scan_next(nl_orc_scan *scan, nl_batch *batch, nl_orc_window *window);

/* ---- Statistics ---- */

typedef struct nl_orc_bounds { /* values have the wanted field's type and live in the arena given */
    bool has_min, has_max;     /* no value that is not null or NaN is smaller, greater */
    nl_value min, max;
    bool may_have_null, is_all_null;
    bool has_count, has_null;  /* as the file says it, of rows whose parents are not null */
    uint64_t value_count;      /* without nulls */
} nl_orc_bounds;
/* Of a wanted field, at top level or below structs only, found by field id; bounds only of primitive ones. *is_known false: nothing is said. */
NL_MUST_USE nl_status nl_orc_stripe_bounds(const nl_orc_reader *reader, uint32_t stripe, int32_t field_id, nl_arena *arena, nl_orc_bounds *bounds, bool *is_known);
/* One per row group, from the stripe's row index; *group_count 0: none. *group_rows: of a group. Blocks. */
NL_MUST_USE nl_status nl_orc_group_bounds(nl_orc_reader *reader, uint32_t stripe, int32_t field_id, nl_arena *arena, nl_orc_bounds **groups, uint32_t *group_count, uint64_t *group_rows);
