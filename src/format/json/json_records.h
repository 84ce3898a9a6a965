/* format/json/json_records.h - the records of a JSON file: its lines, or the whole of it. For reader and inference. */
#pragma once

#include "format/json/json_options.h"
#include "format/text/line_reader.h"

typedef struct nl_json_records { /* in place; private */
    const nl_json_file_options *options;
    nl_memory *memory;
    nl_line_reader *lines; /* JSON lines */
    nl_text_stream *whole; /* multiLine  */
    nl_buffer *document;
    bool is_done;
} nl_json_records;

NL_MUST_USE nl_status nl_json_records_init(nl_json_records *records, nl_file *file, const nl_json_file_options *options,
                                           uint64_t start, uint64_t stop, nl_memory *memory);
void nl_json_records_fini(nl_json_records *records);
/* The next record, blank ones left out; borrowed until the next call. */
NL_MUST_USE nl_status nl_json_records_next(nl_json_records *records, nl_str *record, bool *is_done);
