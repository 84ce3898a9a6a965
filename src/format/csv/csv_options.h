/* format/csv/csv_options.h - Spark's options of CSV files. */
#pragma once

#include "format/text/text_options.h"

typedef enum nl_csv_unescaped_quote { /* a quote inside of a quoted value that nothing escapes */
    NL_CSV_STOP_AT_DELIMITER,         /* the value was not quoted after all: its text up to the delimiter */
    NL_CSV_STOP_AT_CLOSING_QUOTE,     /* it belongs to the value */
    NL_CSV_SKIP_VALUE,
    NL_CSV_RAISE_ERROR
} nl_csv_unescaped_quote;

typedef struct nl_csv_options {
    nl_text_formats formats;
    nl_str delimiter; /* one or more characters */
    char quote;       /* 0: none, as in the three below */
    char escape;
    char char_to_escape; /* charToEscapeQuoteEscaping: what escapes the escape */
    char comment;
    bool has_header;
    bool infers_schema;
    bool prefers_date;
    bool enforces_schema;
    bool ignores_leading_blanks;
    bool ignores_trailing_blanks;
    bool quotes_all;
    bool escapes_quotes;
    nl_csv_unescaped_quote unescaped_quote;
    nl_str null_value;
    nl_str empty_value;
    nl_str nan_value, positive_inf, negative_inf;
    uint32_t column_count_max;
    uint32_t value_length_max; /* maxCharsPerColumn; UINT32_MAX: unlimited */
} nl_csv_options;

/* Everything made lives in the arena. Fails: INVALID_DELIMITER_VALUE.*, NILAS_ILLEGAL_ARGUMENT with Spark's words,
 * INVALID_DATETIME_PATTERN.*, INVALID_TIMEZONE, CODEC_NOT_AVAILABLE.*, NILAS_UNSUPPORTED. */
NL_MUST_USE nl_status nl_csv_options_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use,
                                           nl_arena *arena, nl_csv_options *parsed);
/* Fails for a column that CSV cannot hold: UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE. */
NL_MUST_USE nl_status nl_csv_check_type(const nl_type *struct_type);
