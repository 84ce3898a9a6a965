/* format/text/text_options.h - what the readers and writers of CSV and JSON have in common among Spark's options.
 *
 * Options come as (key, value) pairs; keys are compared without case, unknown ones are ignored, as Spark does.
 */
#pragma once

#include "base/datetime_pattern.h"
#include "column/type.h"
#include "column/value.h"

typedef struct nl_text_option {
    nl_str key;
    nl_str value;
} nl_text_option;

typedef struct nl_text_option_list { /* borrowed */
    const nl_text_option *items;
    uint32_t count;
} nl_text_option_list;

/* What the session says. Zero: UTC, "_corrupt_record", names without case, TIMESTAMP for timestamps. */
typedef struct nl_text_session {
    const nl_timezone *zone;       /* spark.sql.session.timeZone; NULL: UTC */
    nl_str corrupt_record_name;    /* spark.sql.columnNameOfCorruptRecord   */
    bool is_case_sensitive;        /* spark.sql.caseSensitive               */
    bool prefers_ntz;              /* spark.sql.timestampType=TIMESTAMP_NTZ */
    nl_binary_style binary;        /* spark.sql.binaryOutputStyle           */
    bool is_lazy; /* patterns for reading that do not compile are told by nl_text_formats_check */
} nl_text_session;

typedef enum nl_text_mode { NL_TEXT_PERMISSIVE, NL_TEXT_DROP_MALFORMED, NL_TEXT_FAIL_FAST } nl_text_mode;
typedef enum nl_text_use { NL_TEXT_READ, NL_TEXT_WRITE } nl_text_use;

typedef enum nl_text_encoding {
    NL_ENCODING_UTF8,
    NL_ENCODING_LATIN1, /* ISO-8859-1; US-ASCII is a part of it */
    NL_ENCODING_UTF16,  /* by its byte order mark, else big-endian */
    NL_ENCODING_UTF16BE,
    NL_ENCODING_UTF16LE,
    NL_ENCODING_UTF32
} nl_text_encoding;

typedef enum nl_text_compression {
    NL_TEXT_PLAIN,
    NL_TEXT_GZIP,
    NL_TEXT_ZLIB, /* ".deflate" */
    NL_TEXT_BZIP2,
    NL_TEXT_ZSTD,
    NL_TEXT_COMPRESSION_COUNT
} nl_text_compression;

typedef struct nl_text_formats {
    const nl_timezone *zone;
    nl_text_mode mode;
    nl_str corrupt_record_name;
    nl_str line_separator; /* empty: \n, \r\n or \r when reading, \n when writing */
    nl_text_encoding encoding;
    nl_text_compression compression; /* of writing */
    bool is_multi_line;
    bool is_case_sensitive;
    bool prefers_ntz;
    nl_binary_style binary; /* of writing; UNSAID: [0A FF] */
    double sampling_ratio; /* 1: all records */
    /* Compiled for the use asked for. Reading: NULL means Spark's lenient casts. */
    const nl_datetime_pattern *date;
    const nl_datetime_pattern *timestamp;
    const nl_datetime_pattern *timestamp_ntz;
    nl_str date_format;      /* as given; empty: not given */
    nl_str timestamp_format; /* the same                   */
    nl_str broken_date;      /* patterns that do not compile, of a session that minds that only where a value needs one */
    nl_str broken_timestamp;
    nl_str broken_timestamp_ntz;
} nl_text_formats;

/* Fails when a value of the type, or of one inside it, needs a pattern that did not compile. */
NL_MUST_USE nl_status nl_text_formats_check(const nl_text_formats *formats, const nl_type *type, nl_arena *arena);

/* The value of a key, or NULL. The last one wins. */
const nl_str *nl_text_option_find(nl_text_option_list options, const char *key);
/* Keep *value when the key is absent. Fail: "x flag can be true or false.", "x should be an integer. Found y." */
NL_MUST_USE nl_status nl_text_option_bool(nl_text_option_list options, const char *key, bool *value);
NL_MUST_USE nl_status nl_text_option_int(nl_text_option_list options, const char *key, int64_t *value);

/* The common options: mode, columnNameOfCorruptRecord, dateFormat, timestampFormat, timestampNTZFormat, timeZone, locale,
 * lineSep, encoding/charset, multiLine, samplingRatio, compression/codec. Everything made lives in the arena.
 * reader_name: "CSVOptions", for messages. */
NL_MUST_USE nl_status nl_text_formats_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use,
                                            const char *reader_name, nl_arena *arena, nl_text_formats *formats);

/* ".gz", ".bz2", ".deflate", ".zst"; "" for PLAIN. */
const char *nl_text_compression_suffix(nl_text_compression compression);
/* By the end of a file's name. Fails: NILAS_UNSUPPORTED for .snappy, .lz4, .xz, .lzo. */
NL_MUST_USE nl_status nl_text_compression_of(nl_str path, nl_text_compression *compression);

/* [FAILED_READ_FILE.NO_HINT] for `path`, with the record and its problem as a note: FAILFAST's error. */
NL_MUST_USE nl_status nl_text_malformed_record(nl_str path, nl_str record, const char *problem);
