/* format/parquet/writer.h - writing batches as one Parquet file, as Iceberg's Parquet writer lays it out.
 *
 * Root message `table`, field ids on every node, 3-level lists (list.element), maps (key_value.key/value), dictionary
 * with fallback to PLAIN, page index, statistics with NaN never a bound. Memory: pages are compressed as they fill, the
 * row group's compressed pages wait in memory until row_group_bytes is reached, all charged to the memory given.
 * Threads: a writer belongs to one thread at a time; with a pool it encodes its columns in parallel by itself.
 */
#pragma once

#include "base/pool.h"
#include "column/batch.h"
#include "column/value.h"
#include "format/parquet/footer.h"
#include "format/written.h"

typedef struct nl_parquet_writer nl_parquet_writer;

/* Compressors and scratch, which writers may share: hundreds of open files then need no more of them than there are
 * threads. Thread-safe. Outlives its writers. memory: counted. */
typedef struct nl_parquet_encoders nl_parquet_encoders;
NL_MUST_USE nl_status nl_parquet_encoders_new(nl_memory *memory, nl_parquet_encoders **encoders);
void nl_parquet_encoders_free(nl_parquet_encoders *encoders); /* NULL is fine */

typedef enum nl_parquet_stored { /* Iceberg types that nl_type has not */
    NL_PARQUET_STORED_DEFAULT,
    NL_PARQUET_STORED_UUID,        /* STRING (36 characters) or BINARY (16 bytes) as FIXED[16] UUID */
    NL_PARQUET_STORED_FIXED,       /* BINARY of exactly `fixed_length` bytes                        */
    NL_PARQUET_STORED_TIME_MICROS, /* BIGINT                                                        */
    NL_PARQUET_STORED_TIMESTAMP_NANOS
} nl_parquet_stored;

typedef struct nl_parquet_column_options { /* of one leaf, found by field id, or by dotted path when field_id is 0 */
    int32_t field_id;
    nl_str path;
    nl_parquet_stored stored;
    uint32_t fixed_length;
    bool has_bloom;
    double bloom_fpp;      /* 0: 0.01 */
    uint64_t bloom_ndv;    /* 0: unknown, the filter is sized by what was written */
    bool no_statistics;    /* write.parquet.stats-enabled.column.C = false */
    bool no_dictionary;
} nl_parquet_column_options;

typedef struct nl_parquet_write_options { /* zero means the default in brackets */
    nl_parquet_codec codec;              /* set by nl_parquet_write_options_default: ZSTD */
    int32_t compression_level;           /* [zstd 3, gzip 6, brotli 1] */
    uint64_t row_group_bytes;            /* [128 MiB] */
    uint64_t row_group_rows_max;         /* [no limit] */
    uint64_t page_bytes;                 /* [1 MiB]   */
    uint32_t page_rows_max;              /* [20000]   */
    uint64_t dictionary_bytes;           /* [2 MiB]   */
    bool no_dictionary;
    bool page_v2;
    bool no_page_index;
    bool writes_checksums;               /* parquet-mr does by default */
    uint32_t statistics_bytes_max;       /* [0: whole values unless min and max exceed 4096 bytes, as parquet-mr] */
    uint32_t index_bytes_max;            /* [64] bounds in the column index are cut to this */
    uint64_t bloom_bytes_max;            /* [1 MiB] */
    const nl_parquet_column_options *columns;
    uint32_t column_count;
    const nl_parquet_key_value *key_values; /* copied; "iceberg.schema" … */
    uint32_t key_value_count;
    nl_str root_name;                    /* ["table"] */
    nl_str created_by;                   /* ["nilas version x"] */
    nl_pool *pool;                       /* borrowed; NULL: columns are encoded one after the other */
    nl_parquet_encoders *encoders;       /* borrowed; NULL: the writer has its own */
} nl_parquet_write_options;
nl_parquet_write_options nl_parquet_write_options_default(void);
/* "zstd", "gzip", "snappy", "lz4" (Hadoop's), "lz4_raw", "brotli", "uncompressed"/"none", any case. */
NL_MUST_USE nl_status nl_parquet_codec_find(nl_str name, nl_parquet_codec *codec);

/* output: taken, also on failure. type: a STRUCT, borrowed until close. Void fields are left out of the file.
 * Fails: NILAS_UNSUPPORTED for types Parquet as Iceberg writes it cannot hold (CalendarInterval). */
NL_MUST_USE nl_status nl_parquet_writer_create(nl_output *output, const nl_type *type, const nl_parquet_write_options *options,
                                               nl_memory *memory, nl_parquet_writer **writer);
/* Appends the batch's live rows; columns are the type's fields in order. Shares the batch's buffers for a while.
 * Fails: NOT_NULL_ASSERT_VIOLATION when a required field is null. */
NL_MUST_USE nl_status nl_parquet_writer_append(nl_parquet_writer *writer, const nl_batch *batch);
uint64_t nl_parquet_writer_row_count(const nl_parquet_writer *writer);
/* Bytes the file would have if it ended now, about: for rolling at write.target-file-size-bytes. */
uint64_t nl_parquet_writer_bytes(const nl_parquet_writer *writer);
size_t nl_parquet_writer_memory(const nl_parquet_writer *writer); /* buffered now */

typedef nl_written_leaf nl_parquet_leaf_metrics; /* column_bytes: of all row groups; has_bounds: false with no_statistics too */
typedef nl_written_file nl_parquet_written;       /* split_offsets: starts of the row groups */

/* Writes what is left and the footer, and publishes the file. Takes writer, also on failure (then nothing is visible). */
NL_MUST_USE nl_status nl_parquet_writer_close(nl_parquet_writer *writer, nl_arena *arena, nl_parquet_written *written);
void nl_parquet_writer_abort(nl_parquet_writer *writer); /* nothing stays behind; takes writer; NULL is fine */
