/* format/text/plain_text.h - text files whose lines are the rows of one STRING column: Spark's format "text". */
#pragma once

#include "column/batch.h"
#include "format/text/line_reader.h"
#include "format/text/text_output.h"

typedef struct nl_plain_text_options {
    nl_text_formats formats;
    bool is_whole; /* wholetext: a file is one row */
} nl_plain_text_options;

NL_MUST_USE nl_status nl_plain_text_options_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use, nl_arena *arena,
                                                  nl_plain_text_options *parsed);

typedef struct nl_plain_text_reader nl_plain_text_reader;
/* file and options: borrowed, outlive the reader. start, stop: lines that begin there; is_whole needs 0 and UINT64_MAX. */
NL_MUST_USE nl_status nl_plain_text_reader_open(nl_file *file, const nl_plain_text_options *options, uint64_t start, uint64_t stop, nl_memory *memory,
                                                nl_plain_text_reader **reader);
void nl_plain_text_reader_close(nl_plain_text_reader *reader); /* NULL is fine */
/* At most NL_BATCH_ROWS rows of one STRING column; *is_done: there are none, and *batch is untouched. */
NL_MUST_USE nl_status nl_plain_text_reader_next(nl_plain_text_reader *reader, nl_batch *batch, bool *is_done);

typedef struct nl_plain_text_writer nl_plain_text_writer;
NL_MUST_USE nl_status nl_plain_text_writer_open(nl_fs *fs, nl_str path, const nl_plain_text_options *options, nl_memory *memory, nl_plain_text_writer **writer);
NL_MUST_USE nl_status nl_plain_text_writer_write(nl_plain_text_writer *writer, const nl_batch *batch); /* its first column; a null is an empty line */
NL_MUST_USE nl_status nl_plain_text_writer_close(nl_plain_text_writer *writer); /* takes writer, also on failure */
void nl_plain_text_writer_abort(nl_plain_text_writer *writer);                  /* takes writer; NULL is fine    */
