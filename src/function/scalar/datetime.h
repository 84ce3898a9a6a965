/* scalar/datetime.h - what the files of date and time functions share. Private to function/scalar. */
#pragma once

#include "base/datetime_pattern.h"
#include "function/groups.h"

/* DATETIME_FIELD_OUT_OF_BOUNDS with java.time's words. bad_date: for a year, month and day that make no date. */
NL_MUST_USE nl_status nl_raise_out_of_bounds(const char *field, const char *range, int64_t value);
NL_MUST_USE nl_status nl_raise_bad_date(int64_t year, int64_t month, int64_t day);

/* bind() and kernel of functions that are a cast to the row's result type. */
NL_MUST_USE nl_status nl_bind_cast_to(nl_bind *bind, nl_bound_function *bound);
NL_MUST_USE nl_status nl_cast_to_result(NL_KERNEL_PARAMETERS);

/* The patterns of a column of patterns: a constant one is compiled when the function is bound, others when they are met. */
typedef struct nl_pattern_cache {
    const nl_datetime_pattern *constant; /* or NULL */
    nl_datetime_use use;
    nl_arena *arena; /* of what was compiled here */
    nl_str last_text;
    const nl_datetime_pattern *last;
    uint32_t compiled_count;
} nl_pattern_cache;
/* Compiles constant argument i into the plan's arena; NULL when it is none, is null or is bad (rows raise that then). */
/* TIMESTAMP as a result becomes TIMESTAMP_NTZ when the session says so, but for functions called by a name that ends with _ltz. */
void nl_bind_session_timestamp(const nl_bind *bind, nl_bound_function *bound);
const nl_datetime_pattern *nl_bind_pattern(const nl_bind *bind, uint32_t i, nl_datetime_use use);
void nl_pattern_cache_fini(nl_pattern_cache *cache);
NL_MUST_USE nl_status nl_pattern_cache_get(nl_pattern_cache *cache, nl_str text, const nl_datetime_pattern **pattern);
