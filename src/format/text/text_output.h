/* format/text/text_output.h - writing a text file, compressed on the way. Nothing is visible before close succeeds. */
#pragma once

#include "format/text/text_options.h"
#include "storage/filesystem.h"

typedef struct nl_text_output nl_text_output;

/* path: with the compression's suffix already. */
NL_MUST_USE nl_status nl_text_output_open(nl_fs *fs, nl_str path, nl_text_compression compression, nl_memory *memory,
                                          nl_text_output **output);
NL_MUST_USE nl_status nl_text_output_write(nl_text_output *output, nl_str text);
uint64_t nl_text_output_bytes(const nl_text_output *output);   /* handed to the file so far */
NL_MUST_USE nl_status nl_text_output_close(nl_text_output *output); /* takes output, also on failure */
void nl_text_output_abort(nl_text_output *output);             /* takes output; NULL is fine */
/* Closes when what came before went well, else aborts; gives the first failure. Takes both. */
NL_MUST_USE nl_status nl_text_output_end(nl_text_output *output, nl_status status);
