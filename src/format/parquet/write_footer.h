/* format/parquet/write_footer.h - row groups as they were written, and the footer made of them. Inside the folder only. */
#pragma once

#include "format/parquet/column_writer.h"

typedef struct nl_written_chunk { /* lives in the writer's arena */
    uint64_t start, data_offset, dictionary_offset; /* dictionary_offset 0: none */
    uint64_t value_count, null_count, compressed_bytes, uncompressed_bytes;
    uint32_t dictionary_pages, plain_pages;
    bool has_dictionary;
    bool has_min, has_max, is_min_exact, is_max_exact;
    nl_bytes min, max;
    uint64_t bloom_offset, bloom_length;
    nl_str column_index, offset_index; /* Thrift, written before the footer; column_index may be empty */
    uint64_t column_index_offset, offset_index_offset;
} nl_written_chunk;

typedef struct nl_written_group {
    nl_written_chunk *chunks; /* one per leaf */
    uint64_t start, row_count, compressed_bytes, uncompressed_bytes;
} nl_written_group;

/* Fills in what the column writer knows; `position` is where its first page will lie. */
NL_MUST_USE nl_status nl_written_chunk_make(const nl_column_writer *column, uint64_t position, nl_arena *arena, nl_written_chunk *chunk);
/* The FileMetaData. */
NL_MUST_USE nl_status nl_footer_put(const nl_write_schema *schema, const nl_parquet_write_options *options, const nl_list *groups, uint64_t row_count,
                                    nl_builder *out);
