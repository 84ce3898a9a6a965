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
    bool has_header;         /* HIVE */
    bool is_terminal;        /* widths as a terminal draws them, not as show() counts them */
    uint32_t columns_max;    /* TABLE: cells are shortened so that lines are no longer; 0: no limit */
    const nl_timezone *zone;
    nl_binary_style binary;  /* spark.sql.binaryOutputStyle */
    void (*before_output)(void); /* called once, before the first byte; or NULL */
} nl_output_options;

typedef struct nl_output_facts { /* what happened */
    uint64_t row_count;
    bool has_shortened;      /* cells were cut to fit columns_max */
} nl_output_facts;

/* Prints all rows. A closed pipe ends quietly. */
NL_MUST_USE nl_status nl_output_print(FILE *file, nl_result *result, const nl_output_options *options, nl_output_facts *facts);
