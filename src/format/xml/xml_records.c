/* format/xml/xml_records.c - see xml_records.h. Tags are found by their text, as Spark does, so that one damaged record does not
 * take its neighbours along; comments and CDATA sections hide what is in them. An element of the same name inside a record
 * belongs to it. <tag/> without attributes is no record.
 */
#include "format/xml/xml_records.h"

#include "base/limits.h"

nl_status nl_xml_records_init(nl_xml_records *records, nl_file *file, const nl_xml_options *options, uint64_t start, uint64_t stop, nl_memory *memory)
{
    *records = (nl_xml_records){.options = options, .memory = memory};
    if (options->formats.is_multi_line) return nl_text_stream_open(file, 0, options->formats.encoding, memory, &records->stream);
    return nl_line_reader_open(file, &options->formats, start, stop, memory, &records->lines);
}

void nl_xml_records_fini(nl_xml_records *records)
{
    nl_line_reader_close(records->lines);
    nl_text_stream_close(records->stream);
    nl_buffer_release(records->window);
    *records = (nl_xml_records){0};
}

/* ---- the window ---- */

static nl_str seen(const nl_xml_records *records)
{
    return (nl_str){records->window ? (const char *)records->window->data : "", records->end};
}

static nl_status make_room(nl_xml_records *records, size_t more)
{
    const size_t kept = records->end - records->start;
    const size_t capacity = records->window ? records->window->size_bytes : 0;
    nl_buffer *window = records->window;
    if (kept + more > NL_VALUE_BYTES_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "An XML record is longer than %u bytes.", NL_VALUE_BYTES_MAX);
    if (kept + more > capacity) NL_TRY(nl_buffer_new(records->memory, NL_MAX(kept + more, capacity * 2), false, &window));
    if (kept) memmove(window->data, records->window->data + records->start, kept);
    if (window != records->window) nl_buffer_release(records->window);
    records->window = window;
    records->at -= records->start;
    records->end = kept;
    records->start = 0;
    return NULL;
}

/* One more block; outside of records what lies behind is dropped. */
static nl_status fill(nl_xml_records *records)
{
    nl_str block;
    if (!records->is_inside) records->start = records->at;
    NL_TRY(nl_text_stream_next(records->stream, &block));
    records->is_at_end = block.length == 0;
    if (records->is_at_end) return NULL;
    NL_TRY(make_room(records, block.length));
    memcpy(records->window->data + records->end, block.data, block.length);
    records->end += block.length;
    return NULL;
}

/* Goes behind the next `text`; not found: to the end. */
static nl_status go_behind(nl_xml_records *records, nl_str text, bool *is_found)
{
    for (;;) {
        const size_t found = nl_str_find(seen(records), text, records->at);
        *is_found = found != NL_NOT_FOUND;
        records->at = *is_found ? found + text.length : NL_MAX(records->at, records->end - NL_MIN(records->end, text.length - 1));
        if (*is_found) return NULL;
        if (records->is_at_end) {
            records->at = records->end;
            return NULL;
        }
        NL_TRY(fill(records));
    }
}

/* Whether `text` comes next. */
static nl_status comes(nl_xml_records *records, nl_str text, bool *is_next)
{
    while (records->end - records->at < text.length && !records->is_at_end) NL_TRY(fill(records));
    *is_next = nl_str_starts(nl_str_slice(seen(records), records->at, records->end), text);
    return NULL;
}

/* ---- tags ---- */

/* Passes a comment or a CDATA section, if one comes. */
static nl_status pass_hidden(nl_xml_records *records, bool *is_passed)
{
    bool is_found;
    NL_TRY(comes(records, NL_STR("!--"), is_passed));
    if (*is_passed) return go_behind(records, NL_STR("-->"), &is_found);
    NL_TRY(comes(records, NL_STR("![CDATA["), is_passed));
    return *is_passed ? go_behind(records, NL_STR("]]>"), &is_found) : NULL;
}

/* Whether the record's start tag comes, behind its '<'. Then goes behind its name; *has_attributes: '>' is still to come. */
static nl_status pass_start(nl_xml_records *records, bool *is_start, bool *has_attributes)
{
    const nl_str tag = records->options->row_tag;
    NL_TRY(comes(records, tag, is_start));
    while (*is_start && records->end - records->at <= tag.length && !records->is_at_end) NL_TRY(fill(records));
    *is_start = *is_start && records->end - records->at > tag.length;
    if (!*is_start) return NULL;
    const char after = seen(records).data[records->at + tag.length];
    *has_attributes = after == ' ' || after == '\n' || after == '\t' || after == '\r';
    *is_start = after == '>' || *has_attributes;
    if (*is_start) records->at += tag.length + 1;
    return NULL;
}

/* Goes to the end of a start tag; whether it closes itself. */
static nl_status pass_attributes(nl_xml_records *records, bool *is_closed)
{
    bool is_found;
    NL_TRY(go_behind(records, NL_STR(">"), &is_found));
    *is_closed = is_found && records->at >= 2 && seen(records).data[records->at - 2] == '/';
    return NULL;
}

static nl_status pass_end(nl_xml_records *records, bool *is_end)
{
    nl_str rest;
    NL_TRY(comes(records, NL_STR("/"), is_end));
    if (!*is_end) return NULL;
    while (records->end - records->at < records->options->row_tag.length + 2 && !records->is_at_end) NL_TRY(fill(records));
    rest = nl_str_slice(seen(records), records->at + 1, records->end);
    *is_end = nl_str_starts(rest, records->options->row_tag) && rest.length > records->options->row_tag.length && rest.data[records->options->row_tag.length] == '>';
    if (*is_end) records->at += records->options->row_tag.length + 2;
    return NULL;
}

/* Inside of a record, behind its start tag's name. */
static nl_status read_rest(nl_xml_records *records, bool has_attributes)
{
    uint32_t depth = 1;
    bool is_found = true, is_it, is_closed = false;
    if (has_attributes) NL_TRY(pass_attributes(records, &is_closed));
    if (is_closed) return NULL;
    while (depth > 0) {
        NL_TRY(go_behind(records, NL_STR("<"), &is_found));
        if (!is_found) return NULL;
        NL_TRY(pass_hidden(records, &is_it));
        if (is_it) continue;
        NL_TRY(pass_end(records, &is_it));
        depth -= is_it;
        if (is_it) continue;
        NL_TRY(pass_start(records, &is_it, &has_attributes));
        if (!is_it) continue;
        is_closed = false;
        if (has_attributes) NL_TRY(pass_attributes(records, &is_closed));
        depth += !is_closed;
    }
    return NULL;
}

static nl_status next_element(nl_xml_records *records, nl_str *record, bool *is_done)
{
    bool is_found, is_it, has_attributes = false;
    records->is_inside = false;
    for (;;) {
        NL_TRY(go_behind(records, NL_STR("<"), &is_found));
        *is_done = !is_found;
        if (*is_done) return NULL;
        records->start = records->at - 1;
        records->is_inside = true; /* its '<' stays */
        NL_TRY(pass_start(records, &is_it, &has_attributes));
        if (is_it) break;
        records->is_inside = false;
        NL_TRY(pass_hidden(records, &is_it));
    }
    NL_TRY(read_rest(records, has_attributes));
    *record = nl_str_slice(seen(records), records->start, records->at);
    return NULL;
}

nl_status nl_xml_records_next(nl_xml_records *records, nl_str *record, bool *is_done)
{
    *is_done = false;
    return records->lines ? nl_line_reader_next(records->lines, record, is_done) : next_element(records, record, is_done);
}
