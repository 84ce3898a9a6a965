/* connect/show.h - the texts of DataFrame.show() and of its HTML form. */
#pragma once

#include "base/calendar.h"
#include "command/command.h"

typedef struct nl_show_options {
    int32_t row_count; /* at most; one more row in the result says that there are more */
    int32_t truncate;  /* characters of a cell; not above 0: all */
    bool is_vertical;
    const nl_timezone *zone;
} nl_show_options;

/* Reads all of `rows` (row_count + 1 at most). The builder is the caller's. */
NL_MUST_USE nl_status nl_show_text(nl_result *rows, const nl_show_options *options, nl_builder *out);
NL_MUST_USE nl_status nl_show_html(nl_result *rows, const nl_show_options *options, nl_builder *out);
