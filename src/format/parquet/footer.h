/* format/parquet/footer.h - what a Parquet file says about itself: schema tree, row groups, column chunks, key-values.
 *
 * A footer is parsed once, is immutable afterwards, counted, and may be used from many threads: keep it in a cache.
 * Everything it points to lives as long as it does. Offsets and lengths of chunks and indexes were checked against the
 * file's size when it was read.
 * Source: Apache Parquet format, parquet.thrift and LogicalTypes.md.
 */
#pragma once

#include "column/type.h"
#include "storage/filesystem.h"

typedef enum nl_parquet_physical { /* numbers as in parquet.thrift, as in all enums up to nl_parquet_logical */
    NL_PARQUET_BOOLEAN,
    NL_PARQUET_INT32,
    NL_PARQUET_INT64,
    NL_PARQUET_INT96,
    NL_PARQUET_FLOAT,
    NL_PARQUET_DOUBLE,
    NL_PARQUET_BYTE_ARRAY,
    NL_PARQUET_FIXED,
    NL_PARQUET_PHYSICAL_COUNT
} nl_parquet_physical;

typedef enum nl_parquet_repetition { NL_PARQUET_REQUIRED, NL_PARQUET_OPTIONAL, NL_PARQUET_REPEATED } nl_parquet_repetition;

typedef enum nl_parquet_codec {
    NL_PARQUET_UNCOMPRESSED,
    NL_PARQUET_SNAPPY,
    NL_PARQUET_GZIP,
    NL_PARQUET_LZO,
    NL_PARQUET_BROTLI,
    NL_PARQUET_LZ4_HADOOP,
    NL_PARQUET_ZSTD,
    NL_PARQUET_LZ4_RAW,
    NL_PARQUET_CODEC_COUNT
} nl_parquet_codec;

typedef enum nl_parquet_encoding {
    NL_PARQUET_PLAIN = 0,
    NL_PARQUET_PLAIN_DICTIONARY = 2,
    NL_PARQUET_RLE = 3,
    NL_PARQUET_BIT_PACKED = 4,
    NL_PARQUET_DELTA_BINARY_PACKED = 5,
    NL_PARQUET_DELTA_LENGTH_BYTE_ARRAY = 6,
    NL_PARQUET_DELTA_BYTE_ARRAY = 7,
    NL_PARQUET_RLE_DICTIONARY = 8,
    NL_PARQUET_BYTE_STREAM_SPLIT = 9
} nl_parquet_encoding;

typedef enum nl_parquet_logical { /* converted types are translated into these */
    NL_PARQUET_NO_LOGICAL,
    NL_PARQUET_STRING,
    NL_PARQUET_MAP,
    NL_PARQUET_LIST,
    NL_PARQUET_ENUM,
    NL_PARQUET_DECIMAL,   /* precision, scale                   */
    NL_PARQUET_DATE,
    NL_PARQUET_TIME,      /* unit, is_utc                       */
    NL_PARQUET_TIMESTAMP, /* unit, is_utc                       */
    NL_PARQUET_INTEGER,   /* bit_width, is_signed               */
    NL_PARQUET_UNKNOWN,   /* always null                        */
    NL_PARQUET_JSON,
    NL_PARQUET_BSON,
    NL_PARQUET_UUID,
    NL_PARQUET_FLOAT16,
    NL_PARQUET_VARIANT,
    NL_PARQUET_GEOMETRY,
    NL_PARQUET_GEOGRAPHY,
    NL_PARQUET_INTERVAL,
    NL_PARQUET_OTHER      /* one this reader does not know      */
} nl_parquet_logical;

typedef enum nl_parquet_unit { NL_PARQUET_MILLIS, NL_PARQUET_MICROS, NL_PARQUET_NANOS } nl_parquet_unit;

typedef struct nl_parquet_node nl_parquet_node;
struct nl_parquet_node {
    nl_str name;
    int32_t field_id; /* counts when has_field_id */
    bool has_field_id;
    bool is_leaf;
    nl_parquet_repetition repetition;
    nl_parquet_physical physical; /* leaves */
    uint32_t type_length;         /* NL_PARQUET_FIXED: bytes per value */
    nl_parquet_logical logical;
    uint8_t precision, scale;     /* DECIMAL */
    nl_parquet_unit unit;
    bool is_utc;
    uint8_t bit_width;
    bool is_signed;
    uint16_t max_definition; /* levels of this node, itself counted */
    uint16_t max_repetition;
    const nl_parquet_node *parent; /* NULL: the root */
    nl_parquet_node *const *children;
    uint32_t child_count;
    uint32_t child_index; /* place among the parent's children */
    uint32_t first_leaf;  /* its leaves are first_leaf … first_leaf + leaf_count - 1 */
    uint32_t leaf_count;
};

typedef struct nl_parquet_statistics { /* raw bytes, PLAIN without a length; data NULL: absent */
    nl_bytes min_value, max_value;     /* ordered by the column's order (fields 5, 6)            */
    nl_bytes old_min, old_max;         /* deprecated, signed byte order (fields 1, 2)            */
    bool is_min_exact, is_max_exact;
    bool has_null_count, has_distinct_count;
    uint64_t null_count, distinct_count;
} nl_parquet_statistics;

typedef struct nl_parquet_chunk {
    const nl_parquet_node *leaf;
    nl_parquet_codec codec;
    uint32_t encodings;            /* bit 1 << nl_parquet_encoding */
    bool is_all_dictionary;        /* encoding_stats say that every data page is dictionary-encoded */
    uint64_t value_count;          /* entries, nulls included */
    uint64_t compressed_bytes, uncompressed_bytes;
    uint64_t start, length;        /* all pages, the dictionary's included: bytes in the file */
    uint64_t dictionary_offset;    /* 0: none announced */
    uint64_t data_offset;
    uint64_t column_index_offset, column_index_length; /* length 0: none */
    uint64_t offset_index_offset, offset_index_length;
    uint64_t bloom_offset, bloom_length;               /* offset 0: none; length 0: not announced */
    nl_parquet_statistics statistics;
} nl_parquet_chunk;

typedef struct nl_parquet_row_group {
    uint64_t row_count;
    uint64_t first_row;         /* of the file */
    uint64_t uncompressed_bytes;
    uint64_t compressed_bytes;
    uint64_t start;             /* of its first page: the split offset */
    nl_parquet_chunk *chunks;   /* one per leaf */
} nl_parquet_row_group;

typedef struct nl_parquet_key_value {
    nl_str key, value;
} nl_parquet_key_value;

typedef struct nl_parquet_footer {
    nl_str path;
    uint64_t file_bytes;
    uint64_t row_count;
    int32_t version;
    nl_str created_by;
    const nl_parquet_node *root;
    const nl_parquet_node *const *leaves;
    uint32_t leaf_count;
    const nl_parquet_row_group *row_groups;
    uint32_t row_group_count;
    const nl_parquet_key_value *key_values;
    uint32_t key_value_count;
    bool has_column_orders; /* min_value, max_value are trustworthy for every type */
    bool has_field_ids;     /* some node has one */
} nl_parquet_footer;

/* Reads and checks the footer of `file` (borrowed for the call). *footer is counted, with one reference for the
 * caller. Fails: NILAS_CORRUPT_FILE; NILAS_UNSUPPORTED for encrypted files; what reading fails with. Blocks. */
NL_MUST_USE nl_status nl_parquet_footer_read(nl_file *file, nl_memory *memory, nl_parquet_footer **footer);
/* The same from the footer's bytes alone (no magic, no length); for tests and fuzzing. */
NL_MUST_USE nl_status nl_parquet_footer_parse(nl_bytes thrift, nl_str path, uint64_t file_bytes, nl_memory *memory, nl_parquet_footer **footer);
nl_parquet_footer *nl_parquet_footer_retain(nl_parquet_footer *footer);
void nl_parquet_footer_release(nl_parquet_footer *footer); /* NULL is fine */
size_t nl_parquet_footer_bytes(const nl_parquet_footer *footer); /* memory held, for caches */
bool nl_parquet_footer_key_value(const nl_parquet_footer *footer, nl_str key, nl_str *value);

typedef struct nl_parquet_type_options {
    bool binary_as_string;       /* spark.sql.parquet.binaryAsString */
    bool timestamp_ntz_disabled; /* spark.sql.parquet.inferTimestampNTZ.enabled=false: unadjusted timestamps are LTZ */
    bool nanos_as_long;          /* spark.sql.legacy.parquet.nanosAsLong */
    bool is_iceberg;             /* UUID comes as string, nanosecond timestamps as microseconds; field ids are kept */
} nl_parquet_type_options;
/* The file's schema as Spark reads it (ParquetToSparkSchemaConverter), everything nullable as Spark says except when
 * is_iceberg, field ids where the file has them. Fails: PARQUET_TYPE_NOT_SUPPORTED, PARQUET_TYPE_ILLEGAL … */
NL_MUST_USE nl_status nl_parquet_footer_type(const nl_parquet_footer *footer, const nl_parquet_type_options *options, nl_arena *arena, const nl_type **type);
