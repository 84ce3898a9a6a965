/* format/parquet/column_writer.h - one leaf's column chunk while it is written: pages, dictionary, bounds. Inside the
 * folder only. A column writer belongs to one thread at a time; different ones may work in parallel.
 */
#pragma once

#include "format/parquet/bounds.h"
#include "format/parquet/dictionary_out.h"
#include "format/parquet/encoder.h"
#include "format/parquet/shred.h"

/* A finished page: header and compressed bytes. */
typedef struct nl_page_record {
    nl_buffer *bytes; /* counted */
    uint32_t uncompressed_bytes; /* header included */
    uint32_t row_count;
    uint32_t value_count;        /* entries */
    uint32_t null_count;         /* entries without a value */
    bool is_dictionary_encoded;
    bool has_bounds, is_all_null;
    nl_bytes min, max;           /* cut for the column index; in `bounds` */
    nl_buffer *bounds;           /* counted */
} nl_page_record;

typedef struct nl_column_writer {
    const nl_write_leaf *leaf;
    const nl_parquet_write_options *options;
    nl_memory *memory; /* borrowed */
    /* the page being filled */
    nl_bytes_out repetition, definition; /* a byte per entry */
    nl_bytes_out plain;                  /* PLAIN values; BOOLEAN: a byte each until the page ends */
    nl_bytes_out codes;                  /* uint32_t each, instead of plain */
    uint64_t page_raw_bytes;             /* what the values would take PLAIN */
    uint32_t page_entries, page_rows, page_values;
    nl_bounds_out page_bounds;
    nl_bytes_out stamps;                 /* uint32_t per code: the page that has met it */
    /* the chunk */
    bool uses_dictionary;
    nl_dictionary_out dictionary;
    uint64_t mapped_identity;            /* of the input dictionary whose codes are mapped; 0: none */
    nl_bytes_out code_map;               /* uint32_t per input value: code, or UINT32_MAX */
    nl_bytes_out pages;                  /* nl_page_record each */
    uint32_t page_count, dictionary_page_count;
    nl_buffer *dictionary_page;          /* set when the chunk is finished and has one */
    uint32_t dictionary_page_raw;
    uint64_t chunk_entries, chunk_nulls, chunk_rows;
    uint64_t compressed_bytes, uncompressed_bytes;
    nl_bounds_out chunk_bounds;
    uint8_t *bloom; /* in bloom_buffer */
    nl_buffer *bloom_buffer;
    size_t bloom_bytes;
    bool bloom_has_dictionary;           /* the dictionary's values are in it */
    /* the file */
    nl_bounds_out file_bounds;
    uint64_t file_entries, file_nulls, file_bytes;
} nl_column_writer;

nl_status nl_column_writer_init(nl_column_writer *writer, const nl_write_leaf *leaf, const nl_parquet_write_options *options, nl_memory *memory);
void nl_column_writer_fini(nl_column_writer *writer);
NL_MUST_USE nl_status nl_column_writer_add(nl_column_writer *writer, nl_parquet_encoder *encoder, const nl_shredded *shredded);
/* Ends the last page and makes the dictionary page and Bloom filter; afterwards the chunk's fields are final. */
NL_MUST_USE nl_status nl_column_writer_finish_chunk(nl_column_writer *writer, nl_parquet_encoder *encoder);
/* Forgets the chunk; the file's totals stay. */
nl_status nl_column_writer_next_chunk(nl_column_writer *writer);
size_t nl_column_writer_buffered(const nl_column_writer *writer);
size_t nl_column_writer_charged(nl_column_writer *writer); /* the same with what its buffers hold in reserve */
static inline nl_page_record *nl_column_writer_pages(const nl_column_writer *writer)
{
    return (nl_page_record *)(void *)writer->pages.data;
}
