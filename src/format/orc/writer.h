/* format/orc/writer.h - writing batches as one ORC file, as Java's writer lays it out.
 *
 * Version 0.12: run-length encoding 2, dictionaries where they pay, row indexes with statistics. A stripe waits in memory,
 * packed, until it has stripe_bytes or memory runs short. Threads: a writer belongs to one at a time.
 */
#pragma once

#include "base/calendar.h"
#include "column/batch.h"
#include "format/codec/codec.h"
#include "format/data_format.h"
#include "format/written.h"

typedef struct nl_orc_write_options { /* zero means the default in brackets */
    nl_codec codec;
    int32_t level;                /* [NL_CODEC_LEVEL_DEFAULT] */
    uint64_t stripe_bytes;        /* [64 MiB] */
    uint32_t row_index_stride;    /* [10000] */
    bool is_iceberg;              /* ids and more as attributes, required fields; else as Spark's own files: old days and times of the
                                   * hybrid calendar, types as attributes */
    const nl_timezone *zone;      /* of wall-clock times of Spark's own files; NULL: UTC */
    const nl_data_column *columns; /* Iceberg's types that nl_type has not; borrowed */
    uint32_t column_count;
    const nl_data_pair *metadata; /* borrowed until the writer ends */
    uint32_t metadata_count;
} nl_orc_write_options;

/* "zlib", "snappy", "lz4", "zstd", "brotli", "none"/"uncompressed" in any case. Fails: CODEC_NOT_AVAILABLE…, with Spark's words. */
NL_MUST_USE nl_status nl_orc_codec_find(nl_str name, nl_codec *codec);
const char *nl_orc_codec_ending(nl_codec codec); /* what Spark puts before ".orc" in names: ".zstd"; static */

/* Spark's own check before it writes. Fails: UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE for VOID, VARIANT, CalendarInterval, also inside others. */
NL_MUST_USE nl_status nl_orc_check_type(const nl_type *struct_type);

typedef struct nl_orc_writer nl_orc_writer;
/* output: taken, also on failure. type: a STRUCT, borrowed until the end. Fails: NILAS_UNSUPPORTED for types that ORC does not hold. */
NL_MUST_USE nl_status nl_orc_writer_create(nl_output *output, const nl_type *type, const nl_orc_write_options *options, nl_memory *memory, nl_orc_writer **writer);
NL_MUST_USE nl_status nl_orc_writer_append(nl_orc_writer *writer, const nl_batch *batch); /* its live rows */
uint64_t nl_orc_writer_bytes(const nl_orc_writer *writer); /* that the file would have if it ended now, about */
size_t nl_orc_writer_memory(const nl_orc_writer *writer);  /* buffered now */
/* Writes what is left and publishes the file. Takes writer, also on failure (then nothing is visible). */
NL_MUST_USE nl_status nl_orc_writer_close(nl_orc_writer *writer, nl_arena *arena, nl_written_file *written);
void nl_orc_writer_abort(nl_orc_writer *writer); /* nothing stays behind; NULL is fine */
