/* format/xml/xml_writer.c - see xml_writer.h. */
#include "format/xml/xml_writer.h"

#include <stdlib.h>

#include "base/limits.h"
#include "format/xml/xml_format.h"

#define FLUSH_BYTES (64u << 10)

struct nl_xml_writer {
    nl_text_output *output;
    const nl_type *type;
    const nl_xml_options *options;
    nl_memory *memory;
    nl_builder out;
    bool has_rows;
};

static bool is_storable(const nl_type *type)
{
    if (type->id == NL_TYPE_VARIANT) return false;
    for (uint32_t i = 0; i < type->child_count && type->id != NL_TYPE_VARIANT; i++)
        if (!is_storable(type->children[i].type)) return false;
    return true;
}

nl_status nl_xml_check_type(const nl_type *struct_type)
{
    for (uint32_t i = 0; i < struct_type->child_count; i++) {
        const nl_field *field = &struct_type->children[i];
        if (is_storable(field->type)) continue;
        nl_arena *arena = nl_arena_new(NULL);
        nl_status status = NL_RAISE(UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE, NL_P_STR("format", NL_STR("XML")),
                                    NL_P_STR("columnName", nl_arena_f(arena, "`" NL_STR_FMT "`", NL_STR_ARG(field->name))),
                                    NL_P_STR("columnType", nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(arena, field->type)))));
        nl_arena_free(arena);
        return status;
    }
    return NULL;
}

nl_status nl_xml_writer_open(nl_fs *fs, nl_str path, const nl_type *struct_type, const nl_xml_options *options, nl_memory *memory, nl_xml_writer **writer)
{
    if (options->formats.encoding != NL_ENCODING_UTF8) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "XML files are written in UTF-8 only.");
    nl_xml_writer *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof *made), NL_P_INT("receivedBytes", 0));
    *made = (nl_xml_writer){.type = struct_type, .options = options, .memory = memory};
    nl_builder_init(&made->out, NL_VALUE_BYTES_MAX);
    nl_status status = nl_text_output_open(fs, path, options->formats.compression, memory, &made->output);
    if (status)
        free(made);
    else
        *writer = made;
    return status;
}

/* The root's name may have attributes behind it; their quotes become double ones. */
static void append_root(nl_xml_writer *writer)
{
    const nl_str tag = writer->options->root_tag;
    char quote = 0;
    nl_append_char(&writer->out, '<');
    for (size_t i = 0; i < tag.length; i++) {
        const char c = tag.data[i];
        const bool is_edge = quote ? c == quote : c == '"' || c == '\'';
        if (is_edge) quote = quote ? 0 : c;
        nl_append_char(&writer->out, is_edge ? '"' : c);
    }
    nl_append_char(&writer->out, '>');
}

static void begin(nl_xml_writer *writer)
{
    if (writer->has_rows) return;
    writer->has_rows = true;
    if (writer->options->declaration.length) nl_append_f(&writer->out, "<?xml " NL_STR_FMT "?>\n", NL_STR_ARG(writer->options->declaration));
    append_root(writer);
    if (writer->options->indent.length == 0) nl_append_char(&writer->out, '\n');
}

static nl_status flush(nl_xml_writer *writer)
{
    if (nl_builder_failed(&writer->out)) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A row is longer than %u bytes.", NL_VALUE_BYTES_MAX);
    NL_TRY(nl_text_output_write(writer->output, nl_builder_str(&writer->out)));
    nl_builder_clear(&writer->out);
    return NULL;
}

static nl_status write_rows(nl_xml_writer *writer, nl_vector *columns, const nl_batch *batch)
{
    const nl_vector rows = {.type = writer->type, .encoding = NL_FLAT, .length = batch->row_count, .children = columns, .child_count = batch->column_count};
    const nl_selection live = nl_batch_selection(batch);
    for (uint32_t i = 0; i < live.count; i++) {
        begin(writer);
        NL_TRY(nl_xml_append_row(writer->options, &rows, nl_selection_row(live, i), 1, &writer->out));
        if (writer->out.length >= FLUSH_BYTES) NL_TRY(flush(writer));
    }
    return NULL;
}

nl_status nl_xml_writer_write(nl_xml_writer *writer, const nl_batch *batch)
{
    nl_status status = NULL;
    nl_vector *columns = calloc(batch->column_count + 1, sizeof *columns);
    if (!columns) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)(batch->column_count * sizeof *columns)), NL_P_INT("receivedBytes", 0));
    for (uint32_t i = 0; i < batch->column_count && !status; i++) status = nl_vector_flatten(&batch->columns[i], true, writer->memory, &columns[i]);
    if (!status) status = write_rows(writer, columns, batch);
    for (uint32_t i = 0; i < batch->column_count; i++) nl_vector_fini(&columns[i]);
    free(columns);
    return status;
}

static void append_end(nl_xml_writer *writer)
{
    const nl_str tag = writer->options->root_tag;
    const size_t space = nl_str_find_char(tag, ' ', 0);
    if (!writer->has_rows) return;
    if (writer->options->indent.length) nl_append_char(&writer->out, '\n');
    nl_append_f(&writer->out, "</" NL_STR_FMT ">", NL_STR_ARG(nl_str_slice(tag, 0, space == NL_NOT_FOUND ? tag.length : space)));
}

nl_status nl_xml_writer_close(nl_xml_writer *writer)
{
    append_end(writer);
    nl_status status = nl_text_output_end(writer->output, flush(writer));
    nl_builder_fini(&writer->out);
    free(writer);
    return status;
}

void nl_xml_writer_abort(nl_xml_writer *writer)
{
    if (!writer) return;
    nl_text_output_abort(writer->output);
    nl_builder_fini(&writer->out);
    free(writer);
}
