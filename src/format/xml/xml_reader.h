/* format/xml/xml_reader.h - XML files to batches: Spark's format "xml". */
#pragma once

#include "column/batch.h"
#include "format/xml/xml_options.h"
#include "storage/filesystem.h"

typedef struct nl_xml_source { /* borrowed: outlives the reader */
    nl_file *file;
    const nl_xml_options *options;
    const nl_type *wanted; /* STRUCT: the columns to give */
    uint64_t start, stop;  /* multiLine: 0 and UINT64_MAX */
} nl_xml_source;

typedef struct nl_xml_reader nl_xml_reader;
/* Fails: INVALID_CORRUPT_RECORD_TYPE. */
NL_MUST_USE nl_status nl_xml_reader_open(const nl_xml_source *source, nl_memory *memory, nl_xml_reader **reader);
void nl_xml_reader_close(nl_xml_reader *reader); /* NULL is fine */
/* At most NL_BATCH_ROWS rows; *is_done: there are none, and *batch is untouched. Fails for a damaged record in the mode FAILFAST. */
NL_MUST_USE nl_status nl_xml_reader_next(nl_xml_reader *reader, nl_batch *batch, bool *is_done);

/* The columns that the files' records seem to have: a STRUCT in the arena. */
NL_MUST_USE nl_status nl_xml_infer_schema(nl_file *const *files, uint32_t file_count, const nl_xml_options *options, nl_arena *arena, nl_memory *memory,
                                          const nl_type **struct_type);
