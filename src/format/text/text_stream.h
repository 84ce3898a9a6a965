/* format/text/text_stream.h - the bytes of a text file block by block: decompressed and turned into UTF-8. Never the
 * whole file at once. */
#pragma once

#include "format/text/text_options.h"
#include "storage/filesystem.h"

typedef struct nl_text_stream nl_text_stream;

/* file: borrowed, outlives the stream. start: the first byte; compressed or transcoded files start at 0 only.
 * The file's name tells its compression. */
NL_MUST_USE nl_status nl_text_stream_open(nl_file *file, uint64_t start, nl_text_encoding encoding, nl_memory *memory,
                                          nl_text_stream **stream);
void nl_text_stream_close(nl_text_stream *stream); /* NULL is fine */
/* The next bytes, borrowed until the next call; none at the end. Fails: NILAS_CORRUPT_FILE; the storage's errors. */
NL_MUST_USE nl_status nl_text_stream_next(nl_text_stream *stream, nl_str *block);

/* Whether parts of the file can be read on their own. */
bool nl_text_is_splittable(nl_str path, const nl_text_formats *formats);
