/* base/calendar.h - proleptic Gregorian days and microseconds, IANA time zones.
 *
 * Date: int32 days since 1970-01-01. Timestamp: int64 microseconds since 1970-01-01T00:00:00 (UTC for LTZ). All
 * divisions floor, so values before 1970 behave. Algorithms for civil days: Howard Hinnant, chrono-compatible
 * low-level date algorithms (2013).
 */
#pragma once

#include "base/status.h"
#include "base/str.h"

#define NL_MICROS_PER_SECOND 1000000ll
#define NL_MICROS_PER_DAY    86400000000ll

typedef struct nl_civil {
    int32_t year; /* astronomical: 0 is 1 BC */
    int32_t month; /* 1 … 12 */
    int32_t day;   /* 1 … 31 */
    int32_t hour, minute, second;
    int32_t microsecond;
} nl_civil;

static inline int64_t nl_floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
static inline int64_t nl_floor_mod(int64_t a, int64_t b)
{
    int64_t rest = a % b;
    return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
}
int64_t nl_days_from_civil(int64_t year, int32_t month, int32_t day);
void nl_civil_from_days(int64_t days, nl_civil *civil); /* sets year, month, day only */
void nl_civil_from_micros(int64_t micros, nl_civil *civil);
int64_t nl_micros_from_civil(const nl_civil *civil);
bool nl_is_leap_year(int64_t year);
int32_t nl_days_in_month(int64_t year, int32_t month);
bool nl_civil_is_valid(int64_t year, int32_t month, int32_t day);
int32_t nl_day_of_week(int64_t days);                          /* ISO: Monday 1 … Sunday 7 */
int32_t nl_day_of_year(int64_t days);                          /* 1 … 366 */
void nl_iso_week(int64_t days, int32_t *week_year, int32_t *week);
int64_t nl_add_months(int64_t days, int64_t months);           /* the day is clipped to the month's end */

/* Counted, immutable, shared: parsed once per name and kept by the process's cache. Names: IANA ("Europe/Berlin"),
 * "UTC", "Z", "GMT+3", "+02:00", "UTC+01:30". Read from the system's tzdata, POSIX footer rules included. */
typedef struct nl_timezone nl_timezone;
NL_MUST_USE nl_status nl_timezone_find(nl_str name, const nl_timezone **zone); /* borrowed for ever; INVALID_TIMEZONE */
const nl_timezone *nl_timezone_utc(void);
nl_str nl_timezone_name(const nl_timezone *zone);
bool nl_timezone_is_utc(const nl_timezone *zone);
/* Seconds east of UTC that are in force at an instant. */
int32_t nl_timezone_offset_at(const nl_timezone *zone, int64_t utc_micros);
int64_t nl_timezone_to_local(const nl_timezone *zone, int64_t utc_micros);
/* A local time inside a gap moves forward by the gap; inside an overlap the earlier offset is taken (java.time). */
int64_t nl_timezone_from_local(const nl_timezone *zone, int64_t local_micros);

int64_t nl_now_micros(void); /* the wall clock, reached only through here so that tests can hold it */
