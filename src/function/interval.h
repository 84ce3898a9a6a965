/* function/interval.h - intervals from text, as CAST and literals read them. */
#pragma once

#include "function/function.h"

/* '1-2' or "INTERVAL '1-2' YEAR TO MONTH" for a year-month type. False when the text does not match the type's fields. */
bool nl_interval_parse_ym(nl_str text, const nl_type *type, int32_t *months);
/* '1 02:03:04.5', '05', "INTERVAL '5' DAY" for a day-time type. */
bool nl_interval_parse_dt(nl_str text, const nl_type *type, int64_t *micros);
/* '1 year 2 months 3 days 4.5 seconds', with an optional leading "interval". */
bool nl_interval_parse(nl_str text, nl_interval *interval);
/* INVALID_INTERVAL_FORMAT… as Spark's cast of a string to an ANSI interval raises it. */
NL_MUST_USE nl_status nl_interval_raise_format(nl_str text, const nl_type *type);
