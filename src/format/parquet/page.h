/* format/parquet/page.h - from a column chunk's bytes to pages: headers, fetching by blocks, decompression, levels.
 * Inside the folder only. Source: parquet.thrift, PageHeader; Parquet format, Data Pages.
 */
#pragma once

#include "format/codec/codec.h"
#include "format/parquet/values.h"
#include "storage/filesystem.h"
#include "storage/piece_cache.h"

typedef enum nl_page_kind { NL_PAGE_DATA, NL_PAGE_INDEX, NL_PAGE_DICTIONARY, NL_PAGE_DATA_V2, NL_PAGE_OTHER } nl_page_kind;

typedef struct nl_page_header {
    nl_page_kind kind;
    uint32_t header_bytes;
    uint32_t stored_bytes;       /* behind the header */
    uint32_t uncompressed_bytes; /* at most NL_PARQUET_PAGE_BYTES_MAX */
    bool has_crc;
    uint32_t crc;
    uint32_t value_count; /* entries; values of a dictionary */
    nl_parquet_encoding encoding, definition_encoding, repetition_encoding;
    uint32_t row_count;        /* v2 */
    uint32_t definition_bytes; /* v2 */
    uint32_t repetition_bytes; /* v2 */
    bool is_compressed;        /* v2 */
    bool is_narrow;            /* a kept page only: an nl_narrow and what it packs stand for PLAIN integers */
} nl_page_header;

/* Parses a header at the start of `bytes`. *is_short: the bytes end before the header does (nothing is raised then). */
NL_MUST_USE nl_status nl_page_header_read(nl_bytes bytes, const nl_parquet_place *place, nl_page_header *header, bool *is_short);

/* ---- Bytes of a chunk, fetched in blocks ---- */

typedef struct nl_page_source {
    nl_file *file;     /* borrowed */
    nl_memory *memory; /* borrowed */
    nl_parquet_place place;
    uint64_t end;         /* of the chunk in the file */
    uint64_t fetch_end;   /* no block needs to reach beyond; at most `end` */
    uint64_t stream_end;  /* others will read up to here soon, of the same file; 0: nobody */
    uint64_t block_bytes; /* per request */
    nl_buffer *block;     /* owned */
    uint64_t block_start, block_length; /* what of the file it holds */
    nl_kept_object *kept; /* borrowed: where unpacked pages of the file are kept; NULL: nowhere */
    nl_buffer *kept_page; /* owned: the page whose header was read last, if it is kept: NL_KEPT_PAGE_HEAD bytes, its bytes */
} nl_page_source;
#define NL_KEPT_PAGE_HEAD 128u /* an nl_page_header, and room up to where a cache line begins */
void nl_page_source_fini(nl_page_source *source);
/* Makes bytes offset … offset+length of the file available: borrowed until the next call. */
NL_MUST_USE nl_status nl_page_source_need(nl_page_source *source, uint64_t offset, uint64_t length, const uint8_t **data);
/* Reads the header of the page at `offset`. */
NL_MUST_USE nl_status nl_page_source_header(nl_page_source *source, uint64_t offset, nl_page_header *header);

/* ---- Page contents ---- */

/* A stream of repetition or definition levels, at most 255 high. */
typedef struct nl_levels {
    uint32_t max;
    bool is_msb_packed; /* the deprecated BIT_PACKED: most significant bit first */
    nl_rle rle;
    const uint8_t *packed;
    uint64_t packed_index, packed_count;
} nl_levels;
NL_MUST_USE bool nl_levels_read(nl_levels *levels, uint8_t *out, uint32_t count);
/* max == 1: as bits start … start+count, which are zero before. */
NL_MUST_USE bool nl_levels_read_bits(nl_levels *levels, uint8_t *bits, uint32_t start, uint32_t count, uint32_t *ones);
/* Skips and counts the levels that equal max. */
NL_MUST_USE bool nl_levels_skip(nl_levels *levels, uint64_t count, uint64_t *full);

typedef struct nl_page {
    nl_parquet_place place;
    nl_levels repetition, definition;
    nl_bytes values; /* in the buffer */
} nl_page;
/* How unpacked pages of the header's kind are best kept. */
typedef enum nl_page_form { NL_PAGE_AS_IT_IS, NL_PAGE_NARROW, NL_PAGE_NOT_KEPT } nl_page_form;
nl_page_form nl_page_kept_form(const nl_page_header *header, const nl_parquet_node *leaf);
/* Keeps a copy of the page at `offset`, whose parts `page` tells, with narrow values if they become smaller by that. */
void nl_page_source_keep_narrow(const nl_page_source *source, const nl_page_header *header, const nl_parquet_node *leaf, const uint8_t *unpacked,
                                const nl_page *page);

/* Takes the page whose header was read last, if it is kept; counted, for the caller; NULL: it has to be unpacked. */
nl_buffer *nl_page_source_take(nl_page_source *source);
/* A buffer to unpack a page into behind NL_KEPT_PAGE_HEAD bytes, so that it can be kept; counted; NULL: it will not be kept. */
nl_buffer *nl_page_source_room(const nl_page_source *source, const nl_page_header *header);
/* Keeps the page at `offset` that was unpacked into such a buffer, which nobody changes from now on. */
void nl_page_source_keep(const nl_page_source *source, uint64_t offset, const nl_page_header *header, nl_buffer *page);

typedef struct nl_page_unpacking {
    nl_codec codec;
    nl_codec_context *context;
    bool checks_crc;
} nl_page_unpacking;
/* Verifies and decompresses into `into`, which has room for header->uncompressed_bytes and padding. */
NL_MUST_USE nl_status nl_page_unpack(const nl_page_header *header, const uint8_t *stored, const nl_page_unpacking *how, const nl_parquet_place *place,
                                     uint8_t *into);
/* Finds the parts of what was unpacked. */
NL_MUST_USE nl_status nl_page_open(const nl_page_header *header, const uint8_t *unpacked, const nl_parquet_node *leaf, const nl_parquet_place *place,
                                   nl_page *page);
nl_codec nl_parquet_codec_of(nl_parquet_codec codec); /* NL_CODEC_COUNT: not supported (LZO) */
