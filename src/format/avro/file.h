/* format/avro/file.h - Avro object container files, block by block (Avro specification, "Object Container Files").
 *
 * Reads are ranges of the file, one or a few blocks at a time; nothing depends on the file fitting in memory. Threads: a
 * reader belongs to one at a time.
 */
#pragma once

#include "format/avro/schema.h"
#include "storage/filesystem.h"

typedef struct nl_avro_file nl_avro_file;

/* file: borrowed, outlives the reader. memory: counted, charged for blocks. *out: owned. Fails: NILAS_CORRUPT_FILE; NILAS_UNSUPPORTED for the codecs bzip2
 * and xz. */
NL_MUST_USE nl_status nl_avro_file_open(nl_file *file, nl_memory *memory, nl_avro_file **out);
void nl_avro_file_close(nl_avro_file *file); /* NULL is fine */

const nl_avro_type *nl_avro_file_schema(const nl_avro_file *file); /* the writer's; borrowed */
nl_str nl_avro_file_path(const nl_avro_file *file);
/* A value of the file's metadata map; data NULL when absent. Borrowed. */
nl_str nl_avro_file_metadata(const nl_avro_file *file, const char *key);

typedef struct nl_avro_block {
    nl_buffer *data;     /* counted, decompressed; size_bytes is its length */
    uint64_t row_count;  /* 0: the file has ended, and data is NULL */
    uint64_t file_offset; /* where the block starts in the file */
} nl_avro_block;
NL_MUST_USE nl_status nl_avro_file_next(nl_avro_file *file, nl_avro_block *block);
/* The next block's head, and goes behind the block, whose bytes are not looked at. row_count 0: the file has ended. */
typedef struct nl_avro_head {
    uint64_t row_count;
    uint64_t file_offset;
} nl_avro_head;
NL_MUST_USE nl_status nl_avro_file_skip(nl_avro_file *file, nl_avro_head *head);
/* A cursor over a block's data that names the file in its errors. */
nl_cursor nl_avro_block_cursor(const nl_avro_file *file, const nl_avro_block *block);

/* Only the blocks that start in [start, end): the first one after the first sync marker at or behind `start`. Parts that
 * meet without gaps read every block exactly once. Before the first nl_avro_file_next. */
NL_MUST_USE nl_status nl_avro_file_restrict(nl_avro_file *file, uint64_t start, uint64_t end);
