/* format/text/line_reader.h - the lines of a text file, or of a part of it that one of several workers reads.
 *
 * A part is the lines that begin at bytes start … stop-1, so parts that cover a file give each line once.
 */
#pragma once

#include "format/text/text_stream.h"

typedef struct nl_line_reader nl_line_reader;

/* separator: empty for \n, \r\n and \r; else exactly that. stop UINT64_MAX: to the end. A UTF-8 byte order mark at the
 * start of the file is dropped. */
NL_MUST_USE nl_status nl_line_reader_open(nl_file *file, const nl_text_formats *formats, uint64_t start, uint64_t stop,
                                          nl_memory *memory, nl_line_reader **reader);
void nl_line_reader_close(nl_line_reader *reader); /* NULL is fine */
/* The next line without its separator; borrowed until the next call. *is_done: there is none. */
NL_MUST_USE nl_status nl_line_reader_next(nl_line_reader *reader, nl_str *line, bool *is_done);
