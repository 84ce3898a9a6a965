/* format/json/json_records.c - files to records. */
#include "base/limits.h"
#include "format/json/json_records.h"

nl_status nl_json_records_init(nl_json_records *records, nl_file *file, const nl_json_file_options *options,
                               uint64_t start, uint64_t stop, nl_memory *memory)
{
    *records = (nl_json_records){.options = options, .memory = memory};
    if (options->formats.is_multi_line)
        return nl_text_stream_open(file, 0, options->formats.encoding, memory, &records->whole);
    return nl_line_reader_open(file, &options->formats, start, stop, memory, &records->lines);
}

void nl_json_records_fini(nl_json_records *records)
{
    nl_line_reader_close(records->lines);
    nl_text_stream_close(records->whole);
    nl_buffer_release(records->document);
    *records = (nl_json_records){0};
}

static nl_status append_block(nl_json_records *records, nl_str block, size_t *length)
{
    nl_buffer *document = records->document;
    size_t capacity = document ? document->size_bytes : 0;
    if (*length + block.length > NL_JSON_BYTES_MAX)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A JSON document is longer than %u bytes; JSON lines can be of any length "
                             "together.", NL_JSON_BYTES_MAX);
    if (*length + block.length > capacity) {
        nl_buffer *larger;
        NL_TRY(nl_buffer_new(records->memory, NL_MAX(*length + block.length, capacity * 2), false, &larger));
        if (*length) memcpy(larger->data, document->data, *length);
        nl_buffer_release(document);
        records->document = document = larger;
    }
    memcpy(document->data + *length, block.data, block.length);
    *length += block.length;
    return NULL;
}

static nl_status read_document(nl_json_records *records, nl_str *record)
{
    size_t length = 0;
    for (;;) {
        nl_str block;
        NL_TRY(nl_text_stream_next(records->whole, &block));
        if (block.length == 0) break;
        NL_TRY(append_block(records, block, &length));
    }
    records->is_done = true;
    *record = (nl_str){records->document ? (const char *)records->document->data : "", length};
    return NULL;
}

static bool is_blank(nl_str text)
{
    for (size_t i = 0; i < text.length; i++) {
        if ((uint8_t)text.data[i] > ' ') return false;
    }
    return true;
}

nl_status nl_json_records_next(nl_json_records *records, nl_str *record, bool *is_done)
{
    *is_done = records->is_done;
    while (!*is_done) {
        if (records->whole)
            NL_TRY(read_document(records, record));
        else
            NL_TRY(nl_line_reader_next(records->lines, record, is_done));
        if (!*is_done && !is_blank(*record)) return NULL;
        if (records->is_done) *is_done = true;
    }
    return NULL;
}
