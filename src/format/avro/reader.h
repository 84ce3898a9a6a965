/* format/avro/reader.h - the rows of one Avro file as the columns somebody wants.
 *
 * Columns are found by field id or by name at every level; what is not wanted is skipped without being decoded. Memory is
 * one block and one batch. Threads: a reader belongs to one at a time; several may read parts of one file
 * (nl_avro_file_restrict).
 */
#pragma once

#include "column/batch.h"
#include "column/value.h"
#include "format/avro/file.h"

typedef enum nl_avro_match { NL_AVRO_MATCH_FIELD_ID, NL_AVRO_MATCH_NAME, NL_AVRO_MATCH_NAME_NOCASE } nl_avro_match;

typedef struct nl_avro_read_options {
    nl_avro_match match; /* FIELD_ID: as in files without ids NAME would, when field_id_of is NULL */
    /* The id of a file's field for files without ids (name mapping): path[0..depth) are the names down to it, with element,
     * key and value. 0: none. Only asked when the file has no ids. */
    int32_t (*field_id_of)(void *argument, const nl_str *path, uint32_t depth);
    /* The value of a wanted field that the file lacks (initial default), at any level. False: null. NULL: always null.
     * *value is borrowed as long as the reader lives. */
    bool (*missing_value_of)(void *argument, const nl_field *field, const nl_value **value);
    void *argument;
} nl_avro_read_options;

typedef struct nl_avro_reader nl_avro_reader;

/* file: borrowed, outlives the reader. wanted: a STRUCT, borrowed, outlives the reader and its vectors.
 * Promotions done: int to bigint, float to double, decimals to wider ones, date to timestamp_ntz; millisecond and
 * nanosecond units to microseconds; uuid to STRING or BINARY; enum to STRING; fixed to BINARY.
 * Fails: NILAS_UNSUPPORTED, naming column, file type and wanted type. */
NL_MUST_USE nl_status nl_avro_reader_open(nl_avro_file *file, const nl_type *wanted, const nl_avro_read_options *options, nl_memory *memory,
                                          nl_avro_reader **reader);
void nl_avro_reader_close(nl_avro_reader *reader); /* NULL is fine */
/* The next at most NL_BATCH_ROWS rows; batch->row_count is 0 at the end. Columns are FLAT, or CONSTANT where the file
 * lacks them. *first_row (may be NULL) is the position of the first row in the file, when the file is read from its start. */
NL_MUST_USE nl_status nl_avro_reader_next(nl_avro_reader *reader, nl_batch *batch, uint64_t *first_row);
