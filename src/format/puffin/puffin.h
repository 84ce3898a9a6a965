/* format/puffin/puffin.h - Puffin files: blobs with a footer that tells of them (Iceberg's Puffin specification).
 *
 * Deletion vectors are found by offset and size from their manifest, without the footer; statistics through it. Threads:
 * a parsed footer may be shared; a writer belongs to one thread at a time.
 */
#pragma once

#include "format/codec/codec.h"
#include "storage/filesystem.h"

#define NL_PUFFIN_FOOTER_BYTES_MAX (64u << 20)
#define NL_PUFFIN_BLOB_BYTES_MAX   (1u << 30)

typedef struct nl_puffin_property {
    nl_str key;
    nl_str value;
} nl_puffin_property;

typedef struct nl_puffin_blob {
    nl_str type;           /* "deletion-vector-v1", "apache-datasketches-theta-v1" */
    const int32_t *fields; /* column ids */
    uint32_t field_count;
    int64_t snapshot_id;
    int64_t sequence_number;
    uint64_t offset;       /* of the stored bytes; set by the writer */
    uint64_t length;       /* stored bytes; set by the writer */
    nl_codec codec;        /* NONE, LZ4_FRAME, ZSTD */
    const nl_puffin_property *properties;
    uint32_t property_count;
} nl_puffin_blob;

typedef struct nl_puffin {
    const nl_puffin_blob *blobs;
    uint32_t blob_count;
    const nl_puffin_property *properties; /* of the file */
    uint32_t property_count;
    uint64_t footer_bytes; /* with both magics and what is between: file-footer-size-in-bytes */
} nl_puffin;

/* Reads the footer; *puffin points into the arena. Fails: NILAS_CORRUPT_FILE; NILAS_UNSUPPORTED for unknown flags and codecs. */
NL_MUST_USE nl_status nl_puffin_read_footer(nl_file *file, nl_memory *memory, nl_arena *arena, nl_puffin *puffin);
/* A blob's content, decompressed; *content is counted. */
NL_MUST_USE nl_status nl_puffin_read_blob(nl_file *file, const nl_puffin_blob *blob, nl_memory *memory, nl_buffer **content);
nl_str nl_puffin_property_of(const nl_puffin_blob *blob, const char *key); /* data NULL: absent */

typedef struct nl_puffin_writer nl_puffin_writer;
/* output: taken, also on failure. Writes the magic. *writer is owned. */
NL_MUST_USE nl_status nl_puffin_writer_create(nl_output *output, nl_memory *memory, nl_puffin_writer **writer);
/* Appends a blob; everything of *blob is copied but offset and length, which are set in it. */
NL_MUST_USE nl_status nl_puffin_writer_add(nl_puffin_writer *writer, nl_bytes content, nl_puffin_blob *blob);
uint64_t nl_puffin_writer_bytes(const nl_puffin_writer *writer); /* written so far */
/* Writes the footer and publishes the file. created_by: the property "created-by" (empty: "nilas version …").
 * *file_bytes and *footer_bytes may be NULL. Takes writer, also on failure. */
NL_MUST_USE nl_status nl_puffin_writer_close(nl_puffin_writer *writer, nl_str created_by, uint64_t *file_bytes, uint64_t *footer_bytes);
void nl_puffin_writer_abort(nl_puffin_writer *writer); /* nothing stays behind; NULL is fine */
