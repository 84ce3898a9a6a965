/* format/text/text_value.h - single values between text and columns, as Spark's CSV and JSON read and write them. */
#pragma once

#include "column/value.h"
#include "format/text/text_options.h"

/* DATE, TIMESTAMP, TIMESTAMP_NTZ, INTERVAL_YM, INTERVAL_DT, DECIMAL, FLOAT, DOUBLE. False: not such a value. */
bool nl_text_parse_value(const nl_text_formats *formats, const nl_type *type, nl_str text, nl_value *value);
/* java.lang.Double.parseDouble: blanks around, a trailing d or f, NaN and Infinity exactly so. */
bool nl_text_parse_double(nl_str text, double *value);
bool nl_text_parse_float(nl_str text, float *value);
/* A literal of the type's own fields: "1-2", "INTERVAL '1 02:03:04.5' DAY TO SECOND". */
bool nl_text_parse_interval(const nl_type *type, nl_str text, int64_t *value);

/* A date or timestamp by the formats' patterns (compiled for NL_TEXT_WRITE). */
NL_MUST_USE nl_status nl_text_append_datetime(const nl_text_formats *formats, nl_type_id id, int64_t value,
                                              nl_builder *out);
/* `text` when it is UTF-8; else a copy in scratch with U+FFFD for each bad part. */
nl_str nl_text_valid_utf8(nl_str text, nl_builder *scratch);
