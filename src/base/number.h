/* base/number.h - numbers, dates and times to and from text, as Spark (Java) reads and writes them. No locale. */
#pragma once

#include "base/calendar.h"
#include "base/decimal.h"
#include "base/str.h"

/* Whole text or false. No white space allowed unless said. */
bool nl_parse_int64(nl_str text, int64_t *value);
bool nl_parse_double(nl_str text, double *value); /* Java's Double.parseDouble after trim, plus inf, infinity, nan in any case */
bool nl_parse_float(nl_str text, float *value);   /* the same, rounded once to a float */
nl_str nl_trim_blanks(nl_str text); /* white space as Spark's casts see it: bytes up to 0x20, and 0x7F */
/* Spark's string casts, trimming white space as Spark does: "  12 " is 12; "1.5" is no integer. */
bool nl_cast_int64(nl_str text, int64_t *value);
/* With spark.sql.ansi.enabled=false a fraction is cut off: "1.9" is 1, "." is 0. */
bool nl_cast_int64_legacy(nl_str text, int64_t *value);
/* String to decimal(precision, scale), rounded half up once, whatever the number of digits. False when it is no number
 * or too large (is_overflow then true, when not NULL). */
bool nl_cast_decimal(nl_str text, int precision, int scale, nl_int128 *out, bool *is_overflow);
bool nl_cast_bool(nl_str text, bool *value); /* t true y yes 1 / f false n no 0, any case */
/* Spark's stringToDate: yyyy, yyyy-[m]m, yyyy-[m]m-[d]d, with optional trailing "T…" or " …". Zone-less. */
bool nl_cast_date(nl_str text, int32_t *days);
/* Spark's stringToTimestamp: also "yyyy-mm-dd hh:mm:ss.ffffff+zz:zz", "Thh:mm", zone ids; zone is used when the text has none. */
bool nl_cast_timestamp(nl_str text, const nl_timezone *zone, int64_t *utc_micros);
bool nl_cast_timestamp_ntz(nl_str text, bool allow_zone, int64_t *micros);

/* Each returns the bytes written. Buffers: 64 bytes are enough for all of them. */
#define NL_NUMBER_TEXT_MAX 64
uint32_t nl_format_int64(int64_t value, char *out);
uint32_t nl_format_double(double value, char *out); /* Java's Double.toString: 1.0, 1.0E10, NaN, -Infinity (shortest digits) */
uint32_t nl_format_float(float value, char *out);
uint32_t nl_format_date(int32_t days, char *out);               /* 2026-10-01; years above 9999 with + */
uint32_t nl_format_timestamp(int64_t local_micros, char *out);  /* 2026-10-01 00:00:00[.ffffff], trailing zeros cut */
uint32_t nl_format_hex(const uint8_t *bytes, size_t length, bool is_upper, char *out); /* out: 2*length */
