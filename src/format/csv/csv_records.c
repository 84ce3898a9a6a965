/* format/csv/csv_records.c - lines to records. */
#include "base/limits.h"
#include "format/csv/csv_records.h"
#include "format/text/text_value.h"

static nl_status next_line(void *argument, nl_str *line, bool *is_done)
{
    nl_csv_records *records = argument;
    NL_TRY(nl_line_reader_next(records->lines, line, is_done));
    if (!*is_done) *line = nl_text_valid_utf8(*line, &records->valid_next);
    return NULL;
}

nl_status nl_csv_records_init(nl_csv_records *records, nl_file *file, const nl_csv_options *options, uint64_t start,
                              uint64_t stop, nl_memory *memory)
{
    *records = (nl_csv_records){.options = options};
    nl_builder_init(&records->valid, NL_VALUE_BYTES_MAX);
    nl_builder_init(&records->valid_next, NL_VALUE_BYTES_MAX);
    nl_csv_parser_init(&records->parser, options);
    if (options->formats.is_multi_line) {
        records->parser.next_line = next_line;
        records->parser.argument = records;
    }
    nl_status status = nl_line_reader_open(file, &options->formats, start, stop, memory, &records->lines);
    if (status) nl_csv_records_fini(records);
    return status;
}

void nl_csv_records_fini(nl_csv_records *records)
{
    nl_line_reader_close(records->lines);
    nl_csv_parser_fini(&records->parser);
    nl_builder_fini(&records->valid);
    nl_builder_fini(&records->valid_next);
    *records = (nl_csv_records){0};
}

nl_status nl_csv_records_next(nl_csv_records *records, bool *is_done)
{
    do {
        NL_TRY(nl_line_reader_next(records->lines, &records->line, is_done));
        if (*is_done) return NULL;
    } while (nl_csv_is_skipped(records->options, records->line));
    records->line = nl_text_valid_utf8(records->line, &records->valid);
    return NULL;
}

nl_status nl_csv_records_split(nl_csv_records *records, uint32_t token_count_max)
{
    /* The line reader may reuse a line's memory when the record goes on: the parser then needs its own copy. */
    if (records->parser.next_line && records->line.data != records->valid.data) {
        nl_builder_clear(&records->valid);
        nl_append(&records->valid, records->line);
        records->line = nl_builder_str(&records->valid);
    }
    return nl_csv_parse(&records->parser, records->line, token_count_max);
}
