/* format/text/line_reader.c - splitting blocks into lines. A line inside of one block is a slice of it; one that
 * crosses blocks is put together in a buffer that is charged to the reader's budget. */
#include <stdlib.h>

#include "base/limits.h"
#include "format/text/line_reader.h"

struct nl_line_reader {
    nl_text_stream *stream;
    nl_str path;
    nl_str separator; /* empty: the three usual ones */
    nl_memory *memory;
    nl_str block;      /* what is left of the present block */
    uint64_t position; /* in the file, of block.data; only meaningful for plain files */
    uint64_t stop;
    bool is_at_start; /* no line was given yet of a file read from its start: a byte order mark belongs to the first */
    bool is_at_end;   /* the stream is exhausted */
    bool skips_lf;    /* the last line ended with \r at a block's end: a \n there belongs to it */
    nl_buffer *carry; /* the start of a line whose end is in a later block */
    size_t carry_length;
};

nl_status nl_line_reader_open(nl_file *file, const nl_text_formats *formats, uint64_t start, uint64_t stop,
                              nl_memory *memory, nl_line_reader **reader)
{
    nl_line_reader *made = calloc(1, sizeof *made);
    if (!made)
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof *made),
                        NL_P_INT("receivedBytes", 0));
    /* A line begins at `start` when a separator ends there: look from where that separator would begin. */
    uint64_t back = NL_MAX(formats->line_separator.length, (size_t)1);
    uint64_t first = start > back ? start - back : 0;
    *made = (nl_line_reader){.path = nl_file_path(file),
                             .separator = formats->line_separator,
                             .memory = memory,
                             .position = first,
                             .stop = stop};
    nl_status status = nl_text_stream_open(file, first, formats->encoding, memory, &made->stream);
    nl_str ignored;
    bool is_done = false;
    made->is_at_start = start == 0;
    if (!status && start == 0) {
        status = nl_text_stream_next(made->stream, &made->block);
        if (!status && nl_str_starts(made->block, NL_STR("\xef\xbb\xbf"))) {
            made->block = nl_str_slice(made->block, 3, made->block.length);
            made->position = 3;
        }
    }
    while (!status && made->position < start && !is_done) {
        made->stop = UINT64_MAX;
        status = nl_line_reader_next(made, &ignored, &is_done);
        made->stop = stop;
    }
    if (status)
        nl_line_reader_close(made);
    else
        *reader = made;
    return status;
}

void nl_line_reader_close(nl_line_reader *reader)
{
    if (!reader) return;
    nl_text_stream_close(reader->stream);
    nl_buffer_release(reader->carry);
    free(reader);
}

static void advance(nl_line_reader *reader, size_t length)
{
    reader->block = nl_str_slice(reader->block, length, reader->block.length);
    reader->position += length;
}

/* Keeps bytes of the present line beyond its block. */
static nl_status add_carry(nl_line_reader *reader, nl_str bytes)
{
    size_t length = reader->carry_length + bytes.length;
    if (length > NL_VALUE_BYTES_MAX)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A line of " NL_STR_FMT " is longer than %u bytes.",
                             NL_STR_ARG(reader->path), NL_VALUE_BYTES_MAX);
    if (!reader->carry || reader->carry->size_bytes < length) {
        nl_buffer *larger;
        NL_TRY(nl_buffer_new(reader->memory, NL_MAX(length * 2, (size_t)4096), false, &larger));
        if (reader->carry_length) memcpy(larger->data, reader->carry->data, reader->carry_length);
        nl_buffer_release(reader->carry);
        reader->carry = larger;
    }
    if (bytes.length) memcpy(reader->carry->data + reader->carry_length, bytes.data, bytes.length);
    reader->carry_length = length;
    return NULL;
}

/* The length of the line in the block, and how much to step over; false when it does not end there. */
static bool find_line_end(nl_line_reader *reader, size_t *length, size_t *step)
{
    nl_str block = reader->block;
    const char *lf = block.length ? memchr(block.data, '\n', block.length) : NULL;
    size_t search = lf ? (size_t)(lf - block.data) : block.length;
    const char *cr = search ? memchr(block.data, '\r', search) : NULL;
    if (!lf && !cr) return false;
    const char *end = cr ? cr : lf;
    *length = (size_t)(end - block.data);
    *step = *length + 1;
    if (!cr) return true;
    if (*step < block.length)
        *step += block.data[*step] == '\n';
    else
        reader->skips_lf = true;
    return true;
}

/* With a separator of its own, which may be cut by the block's end: then the search goes on in the carried line. */
static bool find_separator(nl_line_reader *reader, size_t *length, size_t *step)
{
    nl_str separator = reader->separator;
    for (size_t cut = NL_MIN(separator.length - 1, reader->carry_length); cut > 0; cut--) {
        nl_str head = nl_str_slice(separator, 0, cut);
        nl_str tail = nl_str_slice(separator, cut, separator.length);
        nl_str carried = {(const char *)reader->carry->data, reader->carry_length};
        if (!nl_str_ends(carried, head) || !nl_str_starts(reader->block, tail)) continue;
        reader->carry_length -= cut;
        *length = 0;
        *step = tail.length;
        return true;
    }
    size_t at = nl_str_find(reader->block, separator, 0);
    if (at == NL_NOT_FOUND) return false;
    *length = at;
    *step = at + separator.length;
    return true;
}

/* Ends the line: the block's part alone, or behind what was carried. */
static nl_status finish_line(nl_line_reader *reader, size_t length, size_t step, nl_str *line)
{
    nl_str part = nl_str_slice(reader->block, 0, length);
    if (reader->carry_length == 0) {
        *line = part;
    } else {
        NL_TRY(add_carry(reader, part));
        *line = (nl_str){(const char *)reader->carry->data, reader->carry_length};
        reader->carry_length = 0;
    }
    advance(reader, step);
    return NULL;
}

static nl_status next_block(nl_line_reader *reader)
{
    NL_TRY(add_carry(reader, reader->block));
    reader->position += reader->block.length;
    NL_TRY(nl_text_stream_next(reader->stream, &reader->block));
    reader->is_at_end = reader->block.length == 0;
    return NULL;
}

nl_status nl_line_reader_next(nl_line_reader *reader, nl_str *line, bool *is_done)
{
    *is_done = false;
    reader->carry_length = 0;
    if (reader->block.length == 0 && !reader->is_at_end) NL_TRY(next_block(reader));
    if (reader->skips_lf && reader->block.length) {
        reader->skips_lf = false;
        if (reader->block.data[0] == '\n') {
            advance(reader, 1);
            if (reader->block.length == 0) NL_TRY(next_block(reader));
        }
    }
    if ((reader->is_at_start ? 0 : reader->position) >= reader->stop) {
        *is_done = true;
        return NULL;
    }
    reader->is_at_start = false;
    for (;;) {
        size_t length, step;
        bool is_found = reader->separator.length ? find_separator(reader, &length, &step)
                                                 : find_line_end(reader, &length, &step);
        if (is_found) return finish_line(reader, length, step, line);
        if (reader->is_at_end) break;
        NL_TRY(next_block(reader));
    }
    *is_done = reader->carry_length == 0;
    return finish_line(reader, 0, 0, line);
}
