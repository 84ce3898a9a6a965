/* column/arrow_ipc.h - Arrow IPC streams: a schema, then record batches, each a FlatBuffers message with its buffers
 * (Arrow columnar format, "Serialization and Interprocess Communication"). Over the C data interface (arrow.h).
 *
 * Written are: metadata version V5, no dictionaries, no compression. Read are V4 and V5, messages with and without the
 * continuation marker, dictionaries, every layout that arrow_import.c knows; compressed bodies and delta dictionaries
 * are refused by name. What is read may be hostile: every length and offset is checked first.
 */
#pragma once

#include "column/batch.h"

typedef struct nl_ipc_options {
    nl_str time_zone; /* of TIMESTAMP columns; empty: UTC */
} nl_ipc_options;

/* A complete stream: schema, `batch_count` record batches (selections applied), end marker. *stream is owned.
 * Fails: NILAS_UNSUPPORTED (2 GiB of text in one column of a batch), UNABLE_TO_ACQUIRE_MEMORY. */
NL_MUST_USE nl_status nl_ipc_encode(const nl_type *struct_type, const nl_batch *batches, uint32_t batch_count, const nl_ipc_options *options,
                                    nl_memory *memory, nl_buffer **stream);

typedef struct nl_ipc_reader nl_ipc_reader;
/* Reads the schema. Batches point into the stream: `owner` (counted here; may be NULL) keeps its bytes; without an owner they
 * must outlive the reader and every batch. A stream whose address is not a multiple of 8 is copied.
 * Fails: NILAS_ILLEGAL_ARGUMENT naming what is malformed. */
NL_MUST_USE nl_status nl_ipc_reader_new(nl_str stream, nl_buffer *owner, nl_memory *memory, nl_ipc_reader **reader);
const nl_type *nl_ipc_reader_schema(const nl_ipc_reader *reader); /* a STRUCT; lives as long as the reader */
/* The next record batch (owned). *is_done: the stream has ended and *batch is not set. */
NL_MUST_USE nl_status nl_ipc_reader_next(nl_ipc_reader *reader, nl_batch *batch, bool *is_done);
void nl_ipc_reader_free(nl_ipc_reader *reader); /* NULL is fine */
