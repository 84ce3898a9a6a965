/* format/csv/csv_reader.h - rows of a CSV file, or of a part of it, as batches; and the schema a file seems to have. */
#pragma once

#include "column/batch.h"
#include "column/value.h"
#include "format/csv/csv_options.h"
#include "storage/filesystem.h"

typedef struct nl_csv_reader nl_csv_reader;

typedef struct nl_csv_source {
    nl_file *file;              /* borrowed, outlives the reader */
    const nl_csv_options *options; /* borrowed */
    const nl_type *file_type;   /* STRUCT: all columns in the file's order, and the corrupt record's if wanted */
    const uint32_t *wanted;     /* columns of file_type to give, in that order; borrowed for the call */
    uint32_t wanted_count;
    uint64_t start, stop;       /* a part: lines that begin there; 0 and UINT64_MAX: all. See nl_text_is_splittable */
} nl_csv_source;

/* Reads nothing but the header. Fails: UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE, INVALID_CORRUPT_RECORD_TYPE; with
 * enforceSchema=false NILAS_ILLEGAL_ARGUMENT when the header is another. */
NL_MUST_USE nl_status nl_csv_reader_open(const nl_csv_source *source, nl_memory *memory, nl_csv_reader **reader);
void nl_csv_reader_close(nl_csv_reader *reader); /* NULL is fine */
/* At most NL_BATCH_ROWS rows; *is_done: there are none, and *batch is untouched. Fails: FAILED_READ_FILE.NO_HINT. */
NL_MUST_USE nl_status nl_csv_reader_next(nl_csv_reader *reader, nl_batch *batch, bool *is_done);

/* The columns of some files as Spark infers them: names from the first header or _c0, _c1 …; STRING unless inferSchema.
 * *struct_type lives in the arena; it has no columns when there are no records. */
NL_MUST_USE nl_status nl_csv_infer_schema(nl_file *const *files, uint32_t file_count, const nl_csv_options *options,
                                          nl_arena *arena, nl_memory *memory, const nl_type **struct_type);
/* The columns _c0, _c1 … of one record as schema_of_csv infers them. A record without values gives no columns. */
NL_MUST_USE nl_status nl_csv_infer_text(nl_str text, const nl_csv_options *options, nl_arena *arena, const nl_type **struct_type);

/* One token as a value of a type that nl_csv_check_type takes; text stays borrowed. False: it is none. */
bool nl_csv_parse_value(const nl_csv_options *options, const nl_type *type, nl_str text, nl_value *value);
