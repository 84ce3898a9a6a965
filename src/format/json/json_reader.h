/* format/json/json_reader.h - rows of a file of JSON lines, or of one JSON document (multiLine), as batches; and the
 * schema a file seems to have. */
#pragma once

#include "column/batch.h"
#include "format/json/json_options.h"
#include "storage/filesystem.h"

typedef struct nl_json_reader nl_json_reader;

typedef struct nl_json_source {
    nl_file *file;                       /* borrowed, outlives the reader */
    const nl_json_file_options *options; /* borrowed */
    const nl_type *wanted;               /* STRUCT: the columns to give, the corrupt record's among them if wanted */
    uint64_t start, stop;                /* a part: lines that begin there; 0 and UINT64_MAX: all. nl_text_is_splittable */
} nl_json_source;

/* Fails: UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE, INVALID_CORRUPT_RECORD_TYPE, NILAS_UNSUPPORTED. */
NL_MUST_USE nl_status nl_json_reader_open(const nl_json_source *source, nl_memory *memory, nl_json_reader **reader);
void nl_json_reader_close(nl_json_reader *reader); /* NULL is fine */
/* At most NL_BATCH_ROWS rows; *is_done: there are none, and *batch is untouched. Fails: FAILED_READ_FILE.NO_HINT. A
 * document read with multiLine is held in memory, up to NL_JSON_BYTES_MAX. */
NL_MUST_USE nl_status nl_json_reader_next(nl_json_reader *reader, nl_batch *batch, bool *is_done);

/* The columns of some files as Spark infers them, ordered by name. *struct_type lives in the arena.
 * Fails: COLUMN_ALREADY_EXISTS, INVALID_JSON_RECORD_TYPE and FAILED_READ_FILE.NO_HINT with FAILFAST. */
NL_MUST_USE nl_status nl_json_infer_schema(nl_file *const *files, uint32_t file_count, const nl_json_file_options *options,
                                           nl_arena *arena, nl_memory *memory, const nl_type **struct_type);
/* The type of one JSON text, as schema_of_json finds it: any type, nothing dropped. *is_json false: it is none. */
NL_MUST_USE nl_status nl_json_infer_text(nl_str text, const nl_json_file_options *options, nl_arena *arena,
                                         const nl_type **type, bool *is_json);
