/* format/orc/rebase.c - see rebase.h. Years begin in March here, so that leap days end them. */
#include "format/orc/rebase.h"

#include "base/calendar.h"

#define JULIAN_DAYS_BEFORE_EPOCH 719470 /* from March 1 of the Julian year 0 to 1970-01-01 */

int64_t nl_orc_days_from_hybrid(int64_t days)
{
    if (days >= NL_ORC_GREGORIAN_START) return days;
    const int64_t z = days + JULIAN_DAYS_BEFORE_EPOCH;
    const int64_t year = nl_floor_div(4 * z + 3, 1461);
    const int64_t day_of_year = z - nl_floor_div(1461 * year, 4);
    const int64_t month = (5 * day_of_year + 2) / 153; /* 0: March */
    const int64_t day = day_of_year - (153 * month + 2) / 5;
    const int32_t civil_month = (int32_t)(month < 10 ? month + 3 : month - 9);
    return nl_days_from_civil(year + (civil_month <= 2), civil_month, 1) + day;
}

int64_t nl_orc_days_to_hybrid(int64_t days)
{
    nl_civil civil;
    if (days >= NL_ORC_GREGORIAN_START) return days;
    nl_civil_from_days(days, &civil);
    if (civil.year == 1582 && civil.month == 10 && civil.day >= 5) return NL_ORC_GREGORIAN_START;
    const int64_t year = (int64_t)civil.year - (civil.month <= 2);
    const int64_t month = civil.month > 2 ? civil.month - 3 : civil.month + 9;
    return nl_floor_div(1461 * year, 4) + (153 * month + 2) / 5 + civil.day - 1 - JULIAN_DAYS_BEFORE_EPOCH;
}
