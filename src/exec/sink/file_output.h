/* exec/sink/file_output.h - one data or delete file being written, of whatever format its table wants. */
#pragma once

#include "exec/data_formats.h"
#include "format/parquet/parquet.h"

typedef struct nl_file_output_options { /* what is pointed at is borrowed until the file ends */
    nl_file_format format;
    nl_parquet_write_options parquet;   /* of PARQUET */
    nl_data_write data;                 /* of the others; its type is set by nl_file_output_open */
} nl_file_output_options;

typedef struct nl_file_output { /* in place; zero: not open. One of them */
    nl_parquet_writer *parquet;
    nl_data_output *data;
} nl_file_output;

static inline bool nl_file_output_is_open(const nl_file_output *self)
{
    return self->parquet || self->data;
}
/* output: taken, also on failure. type: of the rows, borrowed until the end. */
NL_MUST_USE nl_status nl_file_output_open(nl_output *output, const nl_type *type, const nl_file_output_options *options, nl_memory *memory,
                                          nl_file_output *self);
NL_MUST_USE nl_status nl_file_output_append(nl_file_output *self, const nl_batch *batch);
uint64_t nl_file_output_bytes(const nl_file_output *self);  /* that the file would have if it ended now, about */
size_t nl_file_output_memory(const nl_file_output *self);   /* buffered now */
/* Publishes the file; what it says lives in the arena. Leaves *self closed, also on failure, and then nothing is visible. */
NL_MUST_USE nl_status nl_file_output_close(nl_file_output *self, nl_arena *arena, nl_written_file *written);
void nl_file_output_abort(nl_file_output *self); /* nothing stays behind; a closed one is fine */
