/* format/parquet/reader.h - reading the rows of one Parquet file as the columns somebody wants.
 *
 * Steps: read a footer (footer.h); open a reader for the wanted struct type, which maps file columns to wanted ones;
 * prune row groups and pages; open scans over row ranges (several threads may scan one row group); per scan, step from
 * window to window of at most NL_BATCH_ROWS rows and decode the columns of the window, the filter's first and the
 * others only for the rows that survived.
 *
 *     nl_parquet_reader_open(file, footer, wanted, &options, memory, &reader)
 *     nl_parquet_scan_open(reader, row_group, ranges, range_count, memory, &scan)
 *     while (nl_parquet_scan_advance(scan, &window), window.row_count > 0) {
 *         nl_parquet_scan_read(scan, filter_column, NULL, &vector)         … evaluate, get a selection
 *         nl_parquet_scan_read(scan, other_column, &selection, &vector)    … selection.count rows
 *     }
 *
 * A column that is not read in a window costs nothing: its pages are skipped, undecompressed, when it is read again.
 * Threads: a reader may be used by many threads; a scan belongs to one at a time.
 */
#pragma once

#include "column/batch.h"
#include "column/value.h"
#include "format/parquet/footer.h"

typedef struct nl_parquet_reader nl_parquet_reader;
typedef struct nl_parquet_scan nl_parquet_scan;

typedef enum nl_parquet_match {
    NL_PARQUET_MATCH_FIELD_ID,    /* at every level; list elements, map keys and values by their place */
    NL_PARQUET_MATCH_NAME,
    NL_PARQUET_MATCH_NAME_NOCASE, /* two that match: [DUPLICATE_FIELD…]-like NILAS_ILLEGAL_ARGUMENT    */
    NL_PARQUET_MATCH_POSITION     /* top level by place, nested by name                                */
} nl_parquet_match;

typedef struct nl_parquet_read_options {
    nl_parquet_match match;
    /* The field id of a file node, for files without ids (name mapping, or ids by position). 0: none. NULL: the file's. */
    int32_t (*field_id_of)(void *argument, const nl_parquet_node *node);
    /* The value of a wanted field that the file lacks (initial default), at any level. False: null. NULL: always null.
     * *value is borrowed as long as the reader lives; its type is the field's. */
    bool (*missing_value_of)(void *argument, const nl_field *field, const nl_value **value);
    void *argument;
    bool flattens_dictionaries;         /* never give DICTIONARY vectors                                           */
    uint32_t dictionary_values_max;     /* fixed-width columns with more values come FLAT; 0: the default (4096)   */
    uint64_t read_block_bytes;          /* bytes per request and column; 0: 512 KiB of local files, 2 MiB of others */
    bool skips_checksums;               /* page CRCs are verified unless set                                       */
} nl_parquet_read_options;

/* Maps the file to `wanted` (a STRUCT; borrowed, outlives the reader and its vectors). file: borrowed, outlives the
 * reader. footer: retained. *reader: counted, one reference for the caller. Reads nothing.
 * Promotions done: INT32 to BIGINT, DOUBLE and decimals; FLOAT to DOUBLE; decimals to wider ones; DATE to TIMESTAMP_NTZ;
 * INT96 and all TIMESTAMP units to microseconds; unsigned as Spark reads them; UUID to STRING; FIXED to BINARY.
 * Fails: NILAS_UNSUPPORTED, or FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH naming column, file type, wanted type. */
NL_MUST_USE nl_status nl_parquet_reader_open(nl_file *file, nl_parquet_footer *footer, const nl_type *wanted,
                                             const nl_parquet_read_options *options, nl_memory *memory,
                                             nl_parquet_reader **reader);
nl_parquet_reader *nl_parquet_reader_retain(nl_parquet_reader *reader);
void nl_parquet_reader_release(nl_parquet_reader *reader); /* NULL is fine */
const nl_parquet_footer *nl_parquet_reader_footer(const nl_parquet_reader *reader);
/* The file's node of wanted column i, or NULL: missing, and scans give a constant (missing_value_of, or null). */
const nl_parquet_node *nl_parquet_reader_node(const nl_parquet_reader *reader, uint32_t column);
/* Bytes the column's vectors of this row group would take decoded, and its bytes in the file. Estimates for budgets. */
uint64_t nl_parquet_reader_decoded_bytes(const nl_parquet_reader *reader, uint32_t row_group, uint32_t column);
uint64_t nl_parquet_reader_stored_bytes(const nl_parquet_reader *reader, uint32_t row_group, uint32_t column);
/* Hints to storage that these columns (NULL: all) of a row group come next. Never fails. */
void nl_parquet_reader_prefetch(nl_parquet_reader *reader, uint32_t row_group, const uint32_t *columns, uint32_t column_count);

/* ---- Scans ---- */

typedef struct nl_parquet_rows { /* rows of a row group */
    uint64_t first_row;
    uint64_t row_count;
} nl_parquet_rows;

typedef struct nl_parquet_window {
    uint64_t first_row;      /* of the row group                                         */
    uint64_t file_row;       /* of the file: position deletes and _pos speak of it       */
    uint32_t row_count;      /* at most NL_BATCH_ROWS, consecutive; 0: the scan has ended */
} nl_parquet_window;

/* Scans rows of one row group: ranges ascending, not overlapping (NULL: all rows). Copies ranges. memory is charged for
 * pages and vectors. Cheap: I/O starts with the first read. */
NL_MUST_USE nl_status nl_parquet_scan_open(nl_parquet_reader *reader, uint32_t row_group, const nl_parquet_rows *ranges,
                                           uint32_t range_count, nl_memory *memory, nl_parquet_scan **scan);
void nl_parquet_scan_close(nl_parquet_scan *scan); /* NULL is fine */
/* Says which columns will be read in (nearly) every window: their first blocks are fetched together. Optional. */
void nl_parquet_scan_expect(nl_parquet_scan *scan, const uint32_t *columns, uint32_t column_count);
/* Says that other scans go on behind this one up to this row of the group, so that storage may fetch large pieces
 * (nl_file_stream). Before the first window. Optional. */
void nl_parquet_scan_follow(nl_parquet_scan *scan, uint64_t last_row);
/* Goes to the next window. */
NL_MUST_USE nl_status nl_parquet_scan_advance(nl_parquet_scan *scan, nl_parquet_window *window);
/* Decodes one wanted column of the present window: all its rows (selection NULL), or only the selected ones, in order,
 * without gaps: vector->length == selection->count. Each column at most once per window. The vector is FLAT,
 * DICTIONARY (one nl_shared_vector per column chunk and reader) or CONSTANT (missing columns, and runs of nulls);
 * vectors inside nested ones are FLAT, or CONSTANT where the file lacks them. Blocks: on storage. */
NL_MUST_USE nl_status nl_parquet_scan_read(nl_parquet_scan *scan, uint32_t column, const nl_selection *selection, nl_vector *vector);
/* All columns of the next window as a batch; batch->row_count is 0 at the end. */
NL_MUST_USE nl_status nl_parquet_scan_next(nl_parquet_scan *scan, nl_batch *batch);

/* ---- Pruning ---- */

/* A leaf that can be pruned on: a primitive wanted field, at top level or below structs only. */
#define NL_PARQUET_NO_LEAF UINT32_MAX
uint32_t nl_parquet_reader_leaf(const nl_parquet_reader *reader, uint32_t column);            /* or NO_LEAF */
uint32_t nl_parquet_reader_leaf_by_id(const nl_parquet_reader *reader, int32_t field_id);     /* or NO_LEAF */

typedef struct nl_parquet_bounds { /* values have the wanted field's type and live in the arena given */
    bool has_min, has_max;         /* bounds: no non-null value is smaller / greater (NaN is outside of bounds)      */
    bool is_min_exact, is_max_exact;
    bool has_null_count;
    nl_value min, max;
    uint64_t null_count;
    uint64_t value_count;          /* nulls included; for pages: rows */
    uint64_t first_row;            /* pages: of the row group */
    bool is_all_null;
} nl_parquet_bounds;
/* From the row group's statistics. Unusable ones (INT96, old order of bytes, NaN) give has_min == has_max == false. */
NL_MUST_USE nl_status nl_parquet_chunk_bounds(const nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf, nl_arena *arena, nl_parquet_bounds *bounds);
/* From the page index, which is read anew by each call. *page_count is 0 when the file has none. */
NL_MUST_USE nl_status nl_parquet_page_bounds(nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf, nl_arena *arena,
                                             nl_parquet_bounds **pages, uint32_t *page_count);
/* Whether the Bloom filter rules `value` (non-null, of the wanted type) out: *may_contain is true without a filter. */
NL_MUST_USE nl_status nl_parquet_bloom_check(nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf, const nl_value *value, bool *may_contain);
bool nl_parquet_has_bloom(const nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf);
