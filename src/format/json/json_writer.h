/* format/json/json_writer.h - batches to a file of JSON lines. */
#pragma once

#include "column/batch.h"
#include "format/json/json_options.h"
#include "format/text/text_output.h"

typedef struct nl_json_writer nl_json_writer;

/* path: with nl_text_compression_suffix already. struct_type, options: borrowed, parsed for NL_TEXT_WRITE.
 * Fails: UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE; the storage's errors. */
NL_MUST_USE nl_status nl_json_writer_open(nl_fs *fs, nl_str path, const nl_type *struct_type,
                                          const nl_json_file_options *options, nl_memory *memory, nl_json_writer **writer);
NL_MUST_USE nl_status nl_json_writer_write(nl_json_writer *writer, const nl_batch *batch); /* its live rows */
uint64_t nl_json_writer_bytes(const nl_json_writer *writer);
NL_MUST_USE nl_status nl_json_writer_close(nl_json_writer *writer); /* publishes; takes writer, also on failure */
void nl_json_writer_abort(nl_json_writer *writer);                  /* takes writer; NULL is fine */
