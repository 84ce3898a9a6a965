/* format/orc/tail.h - what an ORC file says of itself: postscript, footer, types, stripes, statistics.
 *
 * Threads: a tail is immutable once it is read and may be used from many.
 */
#pragma once

#include "base/arena.h"
#include "base/cursor.h"
#include "column/type.h"
#include "format/orc/stream.h"

typedef enum nl_orc_kind {
    NL_ORC_BOOLEAN, NL_ORC_BYTE, NL_ORC_SHORT, NL_ORC_INT, NL_ORC_LONG, NL_ORC_FLOAT, NL_ORC_DOUBLE, NL_ORC_STRING, NL_ORC_BINARY,
    NL_ORC_TIMESTAMP,         /* without zone: wall-clock time, stored with the writer's zone */
    NL_ORC_LIST, NL_ORC_MAP, NL_ORC_STRUCT, NL_ORC_UNION, NL_ORC_DECIMAL, NL_ORC_DATE, NL_ORC_VARCHAR, NL_ORC_CHAR,
    NL_ORC_TIMESTAMP_INSTANT,
    NL_ORC_KIND_COUNT
} nl_orc_kind;
const char *nl_orc_kind_name(nl_orc_kind kind); /* "bigint", as Java's text of types says; static */

typedef struct nl_orc_type nl_orc_type;
struct nl_orc_type {
    uint32_t id;              /* column number: streams and statistics are of it */
    nl_orc_kind kind;
    uint32_t child_count;
    const nl_orc_type **children;
    const nl_orc_type *parent; /* NULL: the root */
    nl_str name;              /* of a struct's field, else "element", "key", "value"; the root: empty */
    nl_str path;              /* dotted */
    uint32_t precision, scale;
    uint32_t length_max;      /* CHAR, VARCHAR */
    nl_str catalyst_type;     /* attribute spark.sql.catalyst.type, or empty */
    int32_t field_id;         /* attribute iceberg.id; 0: none */
    bool is_required;         /* attribute iceberg.required */
    nl_str binary_type;       /* attribute iceberg.binary-type: "UUID", "FIXED", "BINARY", or empty */
    nl_str long_type;         /* attribute iceberg.long-type: "TIME", "LONG", or empty */
};

typedef struct nl_orc_stripe {
    uint64_t offset;
    uint64_t index_length, data_length, footer_length;
    uint64_t row_count;
    uint64_t first_row; /* of the file */
} nl_orc_stripe;

typedef enum nl_orc_statistics_kind {
    NL_ORC_STATS_NONE, NL_ORC_STATS_INT, NL_ORC_STATS_DOUBLE, NL_ORC_STATS_STRING, NL_ORC_STATS_BOOLEAN, NL_ORC_STATS_DECIMAL, NL_ORC_STATS_DATE, NL_ORC_STATS_TIMESTAMP
} nl_orc_statistics_kind;

typedef struct nl_orc_statistics {
    bool has_count;
    uint64_t value_count; /* without nulls */
    bool may_have_null;
    nl_orc_statistics_kind kind;
    bool has_min, has_max;
    int64_t int_min, int_max;   /* INT, DATE; TIMESTAMP: milliseconds of UTC */
    double real_min, real_max;
    nl_str text_min, text_max;  /* STRING: bounds, perhaps cut; DECIMAL: text. Borrowed from the message */
    uint64_t true_count;        /* BOOLEAN */
} nl_orc_statistics;

typedef struct nl_orc_tail {
    nl_str path;
    uint64_t file_size;
    nl_codec codec;
    uint32_t chunk_max;
    const nl_orc_type *root;
    const nl_orc_type *types;    /* by id */
    uint32_t type_count;
    bool has_field_ids;
    const nl_orc_stripe *stripes;
    uint32_t stripe_count;
    uint64_t row_count;
    uint32_t row_index_stride;   /* rows of an index entry; 0: no indexes */
    bool is_proleptic;           /* dates are of the proleptic Gregorian calendar; else the file does not say so */
    const nl_property *metadata; /* the user's */
    uint32_t metadata_count;
} nl_orc_tail;

/* file: borrowed for the call. *tail: counted. Fails: NILAS_CORRUPT_FILE, NILAS_UNSUPPORTED (encryption, LZO). Blocks. */
NL_MUST_USE nl_status nl_orc_tail_read(nl_file *file, nl_memory *memory, nl_orc_tail **tail);
nl_orc_tail *nl_orc_tail_retain(nl_orc_tail *tail);
void nl_orc_tail_release(nl_orc_tail *tail); /* NULL is fine */
size_t nl_orc_tail_bytes(const nl_orc_tail *tail); /* memory it takes */
nl_orc_store nl_orc_tail_store(const nl_orc_tail *tail, nl_file *file, nl_memory *memory, nl_codec_context *codecs);

/* Statistics of a stripe's column; *stats has kind NONE and may have nulls when the file has none. */
NL_MUST_USE nl_status nl_orc_tail_statistics(const nl_orc_tail *tail, uint32_t stripe, uint32_t column, nl_orc_statistics *stats);
/* A ColumnStatistics message. */
NL_MUST_USE nl_status nl_orc_statistics_parse(nl_cursor *in, nl_orc_statistics *stats);

/* The Spark type of a file's rows: a STRUCT; char and varchar are strings, as Spark has them when it infers. Fails:
 * NILAS_UNSUPPORTED naming a union. */
NL_MUST_USE nl_status nl_orc_tail_type(const nl_orc_tail *tail, nl_arena *arena, const nl_type **type);
