/* base/datetime_pattern.h - date and time patterns ("yyyy-MM-dd HH:mm:ss[.SSS][XXX]") as Spark 4 uses java.time's
 * DateTimeFormatter: ISO chronology, strict resolving, English texts, case-insensitive parsing.
 *
 * A pattern is compiled once for one use and is immutable: share it between threads. Letters: G y M L d D Q q E F a h H
 * K k m s S V z O X x Z ' [ ]. Formatting takes local time and its zone; parsing gives what Spark makes of the fields.
 */
#pragma once

#include "base/arena.h"
#include "base/calendar.h"

typedef enum nl_datetime_use {
    NL_DATETIME_FORMAT,
    NL_DATETIME_PARSE_DATE,     /* to_date, date columns of text files: no fraction of variable length        */
    NL_DATETIME_PARSE_TIMESTAMP, /* "SSS" reads one to three digits                                           */
    NL_DATETIME_LEGACY          /* format and parse as SimpleDateFormat does (base/datetime_legacy.h)         */
} nl_datetime_use;

typedef struct nl_datetime_pattern nl_datetime_pattern;

/* *compiled lives in the arena. Fails: INVALID_DATETIME_PATTERN.ILLEGAL_CHARACTER, .LENGTH;
 * INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION, .DATETIME_WEEK_BASED_PATTERN; NILAS_ILLEGAL_ARGUMENT
 * with java.time's own words for the rest. */
NL_MUST_USE nl_status nl_datetime_compile(nl_str pattern, nl_datetime_use use, nl_arena *arena,
                                          const nl_datetime_pattern **compiled);
bool nl_datetime_has_zone(const nl_datetime_pattern *pattern); /* any of V z O X x Z */

/* Appends local time `local_micros` in `zone` (whose offset at that instant is offset_seconds). zone NULL: a time
 * without zone; then zone letters inside [ ] are left out and elsewhere fail. Fails: NILAS_UNSUPPORTED, NILAS_ILLEGAL_ARGUMENT. */
NL_MUST_USE nl_status nl_datetime_format(const nl_datetime_pattern *pattern, int64_t local_micros, const nl_timezone *zone,
                                         int32_t offset_seconds, nl_builder *out);
NL_MUST_USE nl_status nl_datetime_format_timestamp(const nl_datetime_pattern *pattern, int64_t utc_micros,
                                                   const nl_timezone *zone, nl_builder *out);
NL_MUST_USE nl_status nl_datetime_format_date(const nl_datetime_pattern *pattern, int32_t days, nl_builder *out);

/* Whole text or false. Missing fields are those of 1970-01-01 00:00:00. */
bool nl_datetime_parse_date(const nl_datetime_pattern *pattern, nl_str text, int32_t *days);
/* `zone` holds where the text has none. */
bool nl_datetime_parse_timestamp(const nl_datetime_pattern *pattern, nl_str text, const nl_timezone *zone,
                                 int64_t *utc_micros);
/* A zone in the text is ignored when allowed, else it makes the text invalid. */
bool nl_datetime_parse_ntz(const nl_datetime_pattern *pattern, nl_str text, bool allow_zone, int64_t *micros);
/* Why a text does not parse, in java.time's words: "Text 'x' could not be parsed at index 0". */
void nl_datetime_explain(const nl_datetime_pattern *pattern, nl_str text, nl_builder *out);
