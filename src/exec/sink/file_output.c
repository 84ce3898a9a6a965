/* exec/sink/file_output.c - see file_output.h. */
#include "exec/sink/file_output.h"

nl_status nl_file_output_open(nl_output *output, const nl_type *type, const nl_file_output_options *options, nl_memory *memory, nl_file_output *self)
{
    *self = (nl_file_output){0};
    const nl_data_format *format = nl_data_format_of(options->format);
    if (!format) return nl_parquet_writer_create(output, type, &options->parquet, memory, &self->parquet);
    nl_data_write write = options->data;
    write.type = type;
    return nl_data_output_create(format, output, &write, memory, &self->data);
}

nl_status nl_file_output_append(nl_file_output *self, const nl_batch *batch)
{
    return self->parquet ? nl_parquet_writer_append(self->parquet, batch) : nl_data_output_append(self->data, batch);
}

uint64_t nl_file_output_bytes(const nl_file_output *self)
{
    return self->parquet ? nl_parquet_writer_bytes(self->parquet) : nl_data_output_bytes(self->data);
}

size_t nl_file_output_memory(const nl_file_output *self)
{
    return self->parquet ? nl_parquet_writer_memory(self->parquet) : nl_data_output_memory(self->data);
}

nl_status nl_file_output_close(nl_file_output *self, nl_arena *arena, nl_written_file *written)
{
    const nl_file_output open = *self;
    *self = (nl_file_output){0};
    return open.parquet ? nl_parquet_writer_close(open.parquet, arena, written) : nl_data_output_finish(open.data, arena, written);
}

void nl_file_output_abort(nl_file_output *self)
{
    nl_parquet_writer_abort(self->parquet);
    nl_data_output_abort(self->data);
    *self = (nl_file_output){0};
}
