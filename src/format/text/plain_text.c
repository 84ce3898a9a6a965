/* format/text/plain_text.c - lines as they are, both ways. */
#include "format/text/plain_text.h"

#include <stdlib.h>

#include "base/limits.h"
#include "column/value.h"

#define FLUSH_BYTES     (64u << 10)
#define BATCH_BYTES     (4u << 20) /* a batch of long lines ends early */
#define WHOLE_BYTES_MAX (1u << 30)

nl_status nl_plain_text_options_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use, nl_arena *arena, nl_plain_text_options *parsed)
{
    nl_plain_text_options made = {0};
    NL_TRY(nl_text_formats_parse(options, session, use, "TextOptions", arena, &made.formats));
    NL_TRY(nl_text_option_bool(options, "wholetext", &made.is_whole));
    *parsed = made;
    return nl_arena_check(arena);
}

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P("receivedBytes", "0"));
}

/* ---- reading ---- */

struct nl_plain_text_reader {
    nl_memory *memory;
    nl_line_reader *lines;
    nl_text_stream *whole; /* of is_whole */
};

void nl_plain_text_reader_close(nl_plain_text_reader *reader)
{
    if (!reader) return;
    nl_line_reader_close(reader->lines);
    nl_text_stream_close(reader->whole);
    free(reader);
}

nl_status nl_plain_text_reader_open(nl_file *file, const nl_plain_text_options *options, uint64_t start, uint64_t stop, nl_memory *memory,
                                    nl_plain_text_reader **reader)
{
    nl_plain_text_reader *made = calloc(1, sizeof *made);
    if (!made) return no_memory(sizeof *made);
    made->memory = memory;
    nl_status status = options->is_whole ? nl_text_stream_open(file, 0, options->formats.encoding, memory, &made->whole)
                                         : nl_line_reader_open(file, &options->formats, start, stop, memory, &made->lines);
    if (status)
        nl_plain_text_reader_close(made);
    else
        *reader = made;
    return status;
}

static nl_status add_whole(nl_plain_text_reader *reader, nl_column_builder *builder)
{
    nl_builder text;
    nl_str block = {0};
    nl_builder_init(&text, WHOLE_BYTES_MAX);
    nl_status status = nl_text_stream_next(reader->whole, &block);
    while (!status && block.length > 0) {
        nl_append(&text, block);
        status = nl_text_stream_next(reader->whole, &block);
    }
    if (!status && nl_builder_failed(&text)) status = NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A text file read as one row is longer than %u bytes.", WHOLE_BYTES_MAX);
    if (!status) status = nl_column_builder_str(builder, nl_builder_str(&text));
    nl_builder_fini(&text);
    nl_text_stream_close(reader->whole);
    reader->whole = NULL;
    return status;
}

static nl_status add_lines(nl_plain_text_reader *reader, nl_column_builder *builder)
{
    size_t bytes = 0;
    for (uint32_t row = 0; reader->lines && row < NL_BATCH_ROWS && bytes < BATCH_BYTES; row++) {
        nl_str line;
        bool is_done = false;
        NL_TRY(nl_line_reader_next(reader->lines, &line, &is_done));
        if (is_done) {
            nl_line_reader_close(reader->lines);
            reader->lines = NULL;
            return NULL;
        }
        bytes += line.length;
        NL_TRY(nl_column_builder_str(builder, line));
    }
    return NULL;
}

nl_status nl_plain_text_reader_next(nl_plain_text_reader *reader, nl_batch *batch, bool *is_done)
{
    nl_column_builder *builder = NULL;
    *is_done = !reader->lines && !reader->whole;
    if (*is_done) return NULL;
    NL_TRY(nl_column_builder_new(nl_type_string(), reader->memory, &builder));
    nl_status status = reader->whole ? add_whole(reader, builder) : add_lines(reader, builder);
    const uint32_t row_count = nl_column_builder_length(builder);
    *is_done = row_count == 0;
    if (!status && row_count > 0) status = nl_batch_init(batch, 1, row_count);
    if (!status && row_count > 0) {
        status = nl_column_builder_finish(builder, &batch->columns[0]);
        if (status) nl_batch_fini(batch);
    }
    nl_column_builder_free(builder);
    return status;
}

/* ---- writing ---- */

struct nl_plain_text_writer {
    nl_text_output *output;
    nl_str separator;
    nl_builder out;
};

nl_status nl_plain_text_writer_open(nl_fs *fs, nl_str path, const nl_plain_text_options *options, nl_memory *memory, nl_plain_text_writer **writer)
{
    nl_plain_text_writer *made = calloc(1, sizeof *made);
    if (!made) return no_memory(sizeof *made);
    made->separator = options->formats.line_separator.length ? options->formats.line_separator : NL_STR("\n");
    nl_builder_init(&made->out, WHOLE_BYTES_MAX);
    nl_status status = nl_text_output_open(fs, path, options->formats.compression, memory, &made->output);
    if (status)
        free(made);
    else
        *writer = made;
    return status;
}

static nl_status flush(nl_plain_text_writer *writer)
{
    if (nl_builder_failed(&writer->out)) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A line is longer than %u bytes.", WHOLE_BYTES_MAX);
    NL_TRY(nl_text_output_write(writer->output, nl_builder_str(&writer->out)));
    nl_builder_clear(&writer->out);
    return NULL;
}

nl_status nl_plain_text_writer_write(nl_plain_text_writer *writer, const nl_batch *batch)
{
    nl_reader reader;
    const nl_selection live = nl_batch_selection(batch);
    nl_reader_init(&reader, &batch->columns[0]);
    const nl_string_view *views = reader.values;
    for (uint32_t i = 0; i < live.count; i++) {
        const uint32_t row = nl_selection_row(live, i);
        if (!nl_reader_is_null(&reader, row)) nl_append(&writer->out, nl_view_str(&views[nl_reader_index(&reader, row)]));
        nl_append(&writer->out, writer->separator);
        if (writer->out.length >= FLUSH_BYTES) NL_TRY(flush(writer));
    }
    return NULL;
}

nl_status nl_plain_text_writer_close(nl_plain_text_writer *writer)
{
    nl_status status = nl_text_output_end(writer->output, flush(writer));
    nl_builder_fini(&writer->out);
    free(writer);
    return status;
}

void nl_plain_text_writer_abort(nl_plain_text_writer *writer)
{
    if (!writer) return;
    nl_text_output_abort(writer->output);
    nl_builder_fini(&writer->out);
    free(writer);
}
