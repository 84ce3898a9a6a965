/* shell/output_private.h - what the printers of this folder share. */
#pragma once

#include "shell/output.h"
#include "base/text_width.h"

#define NL_CELL_BYTES_MAX (64u << 20)
#define NL_COLUMN_MIN     3u /* show() makes no column narrower */

typedef struct nl_printer {
    FILE *file;
    const nl_output_options *options;
    nl_result *result;
    const nl_type *schema;
    nl_width_rule rule;
    nl_builder cell;    /* the current cell's text            */
    nl_builder escaped; /* the same without control characters */
    nl_builder line;
    uint64_t row_count; /* printed so far */
    bool has_printed;
    int write_error;    /* errno of the first write that failed; 0: none */
    bool has_shortened;
} nl_printer;

/* Writes the line that was built and forgets it. */
void nl_printer_flush(nl_printer *self);
/* A cell's text; borrowed until the next one. */
nl_str nl_printer_cell(nl_printer *self, const nl_batch *batch, uint32_t column, uint32_t row, nl_text_style style);
/* Control characters would break a box: show() writes them as escapes. Borrowed until the next call. */
nl_str nl_printer_one_line(nl_printer *self, nl_str text);

NL_MUST_USE nl_status nl_print_box(nl_printer *self, bool is_markdown); /* output_box.c: all rows */
void nl_print_vertical_row(nl_printer *self, const nl_batch *batch, uint32_t row);
void nl_print_json_row(nl_printer *self, const nl_batch *batch, uint32_t row); /* output_json.c */
