/* format/data_format.c - see data_format.h: the calls, with what they promise checked once for all formats. */
#include "format/data_format.h"

#include "base/limits.h"

nl_status nl_data_file_open(const nl_data_format *format, nl_file *file, const nl_data_read *read, nl_memory *memory, nl_data_reader **reader)
{
    NL_ASSERT(read->wanted && read->wanted->id == NL_TYPE_STRUCT);
    nl_data_reader *made = NULL;
    NL_TRY(format->open(file, read, memory, &made));
    NL_ASSERT(made->format == format && (made->parts || made->part_count == 0));
    *reader = made;
    return NULL;
}

void nl_data_reader_close(nl_data_reader *reader)
{
    if (reader) reader->format->close(reader);
}

nl_status nl_data_scan_open(nl_data_reader *reader, uint32_t part, nl_memory *memory, nl_data_scan **scan)
{
    NL_ASSERT(part < reader->part_count);
    return reader->format->scan_open(reader, part, memory, scan);
}

nl_status nl_data_scan_next(nl_data_scan *scan, nl_batch *batch, uint64_t *first_row)
{
    NL_TRY(scan->format->scan_next(scan, batch, first_row));
    NL_ASSERT(batch->row_count <= NL_BATCH_ROWS);
    NL_ASSERT(!nl_batch_selection(batch).rows);
    return NULL;
}

void nl_data_scan_close(nl_data_scan *scan)
{
    if (scan) scan->format->scan_close(scan);
}

nl_status nl_data_output_create(const nl_data_format *format, nl_output *output, const nl_data_write *write, nl_memory *memory, nl_data_output **out)
{
    return format->create(output, write, memory, out);
}

nl_status nl_data_output_append(nl_data_output *output, const nl_batch *batch)
{
    return output->format->append(output, batch);
}

uint64_t nl_data_output_bytes(const nl_data_output *output)
{
    return output->format->bytes(output);
}

size_t nl_data_output_memory(const nl_data_output *output)
{
    return output->format->memory(output);
}

nl_status nl_data_output_finish(nl_data_output *output, nl_arena *arena, nl_written_file *written)
{
    *written = (nl_written_file){0};
    return output->format->finish(output, arena, written);
}

void nl_data_output_abort(nl_data_output *output)
{
    if (output) output->format->abort(output);
}
