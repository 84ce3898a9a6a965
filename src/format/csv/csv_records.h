/* format/csv/csv_records.h - the records of a CSV file one after the other, split into values; for reader and inference. */
#pragma once

#include "format/csv/csv_parser.h"
#include "format/text/line_reader.h"

typedef struct nl_csv_records {
    nl_csv_parser parser; /* tokens of the present record */
    const nl_csv_options *options;
    nl_line_reader *lines;
    nl_builder valid;      /* lines that were not UTF-8 */
    nl_builder valid_next;
    nl_str line;           /* the record's first line */
} nl_csv_records;

/* In place. file: borrowed. */
NL_MUST_USE nl_status nl_csv_records_init(nl_csv_records *records, nl_file *file, const nl_csv_options *options,
                                          uint64_t start, uint64_t stop, nl_memory *memory);
void nl_csv_records_fini(nl_csv_records *records);
/* Moves to the next record's first line, without looking into it: blank lines and comments are left out. */
NL_MUST_USE nl_status nl_csv_records_next(nl_csv_records *records, bool *is_done);
/* Splits it, at most token_count_max values; with multiLine this takes the lines that belong to it. */
NL_MUST_USE nl_status nl_csv_records_split(nl_csv_records *records, uint32_t token_count_max);
