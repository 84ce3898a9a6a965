/* format/xml/xml_records.h - the records of an XML file: the elements named by the option rowTag, wherever they are, or each
 * line of the file when multiLine is false. For reader and inference.
 */
#pragma once

#include "format/text/line_reader.h"
#include "format/xml/xml_options.h"

typedef struct nl_xml_records { /* in place; private */
    const nl_xml_options *options;
    nl_memory *memory;
    nl_line_reader *lines;
    nl_text_stream *stream;
    nl_buffer *window; /* what has been read and not yet passed */
    size_t start;      /* in the window: what must stay; the record's first byte inside of one */
    size_t at, end;    /* in the window: start <= at <= end */
    bool is_inside, is_at_end;
} nl_xml_records;

/* start, stop: for lines; else 0 and UINT64_MAX. */
NL_MUST_USE nl_status nl_xml_records_init(nl_xml_records *records, nl_file *file, const nl_xml_options *options, uint64_t start, uint64_t stop, nl_memory *memory);
void nl_xml_records_fini(nl_xml_records *records);
/* The next record, borrowed until the next call. One that the file's end cuts is given as it is. */
NL_MUST_USE nl_status nl_xml_records_next(nl_xml_records *records, nl_str *record, bool *is_done);
