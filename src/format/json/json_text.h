/* format/json/json_text.h - JSON text, pulled event by event from memory; strict as RFC 8259, lenient where Spark is.
 *
 *     nl_json_parser in;
 *     nl_json_init(&in, text, &options);
 *     while ((event = nl_json_next(&in)) != NL_JSON_END && event != NL_JSON_ERROR) …
 *     nl_json_fini(&in);
 *
 * Several values may follow each other (separated by nothing but white space); a depth above NL_JSON_DEPTH_MAX is an
 * error. Duplicate names are not looked for. Threads: a parser belongs to one.
 */
#pragma once

#include "base/status.h"
#include "base/str.h"

typedef enum nl_json_event {
    NL_JSON_END,   /* nothing but white space is left */
    NL_JSON_ERROR, /* nl_json_problem tells what and where; stays so */
    NL_JSON_OBJECT_START,
    NL_JSON_OBJECT_END,
    NL_JSON_ARRAY_START,
    NL_JSON_ARRAY_END,
    NL_JSON_NAME,   /* text: the name; the next event starts its value */
    NL_JSON_STRING, /* text: decoded */
    NL_JSON_NUMBER, /* text: as written; is_integer; also NaN, Infinity, -Infinity, +INF, -INF when allowed */
    NL_JSON_TRUE,
    NL_JSON_FALSE,
    NL_JSON_NULL
} nl_json_event;

typedef struct nl_json_options { /* zero: strict JSON. Spark's readers start with single quotes and non-numeric numbers allowed */
    bool allows_single_quotes;
    bool allows_comments;               /* as in C: slash-star … star-slash, and two slashes to the end of the line */
    bool allows_unquoted_names;
    bool allows_leading_zeros;
    bool allows_non_numeric_numbers;
    bool allows_backslash_escaping_any;
    bool allows_unquoted_controls;
} nl_json_options;

typedef struct nl_json_parser {
    nl_str text; /* of NAME, STRING, NUMBER: borrowed from the input or from scratch, until the next call */
    bool is_integer; /* NUMBER: no point, no exponent, not NaN or infinite */
    nl_json_event event; /* the last one given */
    uint32_t depth; /* open objects and arrays, after the event */
    /* private */
    const char *start, *at, *end;
    const char *token; /* where the last event's token starts */
    const char *problem;
    nl_json_options options;
    nl_builder scratch;
    uint8_t expects; /* what may come next */
    uint64_t is_object[4]; /* one bit per open level */
} nl_json_parser;

void nl_json_init(nl_json_parser *in, nl_str text, const nl_json_options *options); /* text borrowed; options NULL: strict */
void nl_json_fini(nl_json_parser *in);
void nl_json_reset(nl_json_parser *in, nl_str text); /* the same options and memory for another text */

nl_json_event nl_json_next(nl_json_parser *in);
/* After OBJECT_START, ARRAY_START: moves to the matching end. After NAME: over its value. Else does nothing.
 * False after an error. */
bool nl_json_skip(nl_json_parser *in);
/* The present value (any event that starts one) is skipped as by nl_json_skip; *raw is its text as written. */
bool nl_json_raw_value(nl_json_parser *in, nl_str *raw);
/* The present value is written to out without white space, strings re-escaped, numbers as written. */
bool nl_json_copy_value(nl_json_parser *in, nl_builder *out);
size_t nl_json_offset(const nl_json_parser *in); /* of the last event's token, in bytes */
/* After ERROR: what is wrong (static), at nl_json_offset. */
const char *nl_json_problem(const nl_json_parser *in);
