/* format/csv/csv_writer.h - batches to a CSV file. */
#pragma once

#include "column/batch.h"
#include "format/csv/csv_options.h"
#include "format/text/text_output.h"

typedef struct nl_csv_writer nl_csv_writer;

/* Creates the file (path with nl_text_compression_suffix already) and writes the header when asked for. struct_type and
 * options are borrowed, parsed for NL_TEXT_WRITE. Fails: UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE; the storage's errors. */
NL_MUST_USE nl_status nl_csv_writer_open(nl_fs *fs, nl_str path, const nl_type *struct_type, const nl_csv_options *options,
                                         nl_memory *memory, nl_csv_writer **writer);
NL_MUST_USE nl_status nl_csv_writer_write(nl_csv_writer *writer, const nl_batch *batch); /* its live rows */
uint64_t nl_csv_writer_bytes(const nl_csv_writer *writer);
NL_MUST_USE nl_status nl_csv_writer_close(nl_csv_writer *writer); /* publishes; takes writer, also on failure */
void nl_csv_writer_abort(nl_csv_writer *writer);                  /* takes writer; NULL is fine */

/* One row of a FLAT STRUCT as a record without its line end, as to_csv writes it. scratch: any builder. */
NL_MUST_USE nl_status nl_csv_append_struct(const nl_csv_options *options, const nl_vector *structs, uint32_t row,
                                           nl_builder *scratch, nl_builder *out);
