/* format/json/json_writer.c - a row a line. */
#include <stdlib.h>

#include "base/limits.h"
#include "format/json/json_format.h"
#include "format/json/json_writer.h"

#define FLUSH_BYTES (64u << 10)

struct nl_json_writer {
    nl_text_output *output;
    const nl_type *type;
    const nl_json_file_options *options;
    nl_builder out;
};

nl_status nl_json_writer_open(nl_fs *fs, nl_str path, const nl_type *struct_type, const nl_json_file_options *options,
                              nl_memory *memory, nl_json_writer **writer)
{
    NL_TRY(nl_json_check_type(struct_type));
    if (options->formats.encoding != NL_ENCODING_UTF8)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "JSON files are written in UTF-8 only.");
    nl_json_writer *made = calloc(1, sizeof *made);
    if (!made)
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof *made),
                        NL_P_INT("receivedBytes", 0));
    *made = (nl_json_writer){.type = struct_type, .options = options};
    nl_builder_init(&made->out, NL_JSON_BYTES_MAX);
    nl_status status = nl_text_output_open(fs, path, options->formats.compression, memory, &made->output);
    if (status)
        free(made);
    else
        *writer = made;
    return status;
}

static nl_status flush(nl_json_writer *writer)
{
    if (nl_builder_failed(&writer->out))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A row is longer than %u bytes.", NL_JSON_BYTES_MAX);
    NL_TRY(nl_text_output_write(writer->output, nl_builder_str(&writer->out)));
    nl_builder_clear(&writer->out);
    return NULL;
}

nl_status nl_json_writer_write(nl_json_writer *writer, const nl_batch *batch)
{
    nl_str separator = writer->options->formats.line_separator;
    nl_selection live = nl_batch_selection(batch);
    for (uint32_t i = 0; i < live.count; i++) {
        NL_TRY(nl_json_append_row(writer->options, writer->type, batch->columns, nl_selection_row(live, i), &writer->out));
        nl_append(&writer->out, separator.length ? separator : NL_STR("\n"));
        if (writer->out.length >= FLUSH_BYTES) NL_TRY(flush(writer));
    }
    return NULL;
}

uint64_t nl_json_writer_bytes(const nl_json_writer *writer)
{
    return nl_text_output_bytes(writer->output) + writer->out.length;
}

nl_status nl_json_writer_close(nl_json_writer *writer)
{
    nl_status status = nl_text_output_end(writer->output, flush(writer));
    nl_builder_fini(&writer->out);
    free(writer);
    return status;
}

void nl_json_writer_abort(nl_json_writer *writer)
{
    if (!writer) return;
    nl_text_output_abort(writer->output);
    nl_builder_fini(&writer->out);
    free(writer);
}
