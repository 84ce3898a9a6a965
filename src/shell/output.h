/* shell/output.h - printing results: spark-sql's own form and the others of --format. */
#pragma once

#include <stdio.h>

#include "command/command.h"

typedef enum nl_output_format {
    NL_OUTPUT_HIVE,     /* what spark-sql prints: tab-separated, no header unless spark.sql.cli.print.header */
    NL_OUTPUT_TABLE,    /* show()'s box */
    NL_OUTPUT_CSV,      /* RFC 4180, with a header */
    NL_OUTPUT_JSON,     /* one object a line */
    NL_OUTPUT_MARKDOWN,
    NL_OUTPUT_VERTICAL  /* show(vertical=True) */
} nl_output_format;

bool nl_output_format_find(nl_str name, nl_output_format *format);

typedef struct nl_output_options {
    nl_output_format format;
    bool has_header; /* HIVE */
    const nl_timezone *zone;
} nl_output_options;

/* Prints all rows. *row_count: rows printed. A closed pipe ends quietly. */
NL_MUST_USE nl_status nl_output_print(FILE *file, nl_result *result, const nl_output_options *options, uint64_t *row_count);
