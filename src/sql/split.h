/* sql/split.h - a script's text into statements, as spark-sql cuts it: at `;` outside of quotes, comments and
 * BEGIN … END. Pure, linear in the text. */
#pragma once

#include "base/str.h"

typedef enum nl_split {
    NL_SPLIT_STATEMENT, /* a statement that ended with `;`                                            */
    NL_SPLIT_REST,      /* the last one, without `;`: complete for a file, unfinished for a terminal  */
    NL_SPLIT_END        /* nothing is left but blanks and comments                                    */
} nl_split;

/* Cuts the next statement off *rest. *statement is a slice of it without the `;`, comments included. Empty statements
 * (`;;`) are skipped. Quotes are ' and " with backslash escapes, and `; -- runs to the line's end, or on when a
 * backslash ends the line; bracketed comments nest. An open quote or comment makes everything left the REST. */
nl_split nl_sql_split(nl_str *rest, nl_str *statement);
