/* base/calendar.c - civil days. Algorithms: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms" (2013): years
 * are counted from March, so that the leap day is the last of its year, in eras of 400 years.
 */
#include "base/calendar.h"

#define DAYS_PER_ERA       146097
#define DAYS_BEFORE_1970   719468 /* from 0000-03-01 */
#define SECONDS_PER_DAY    86400

int64_t nl_days_from_civil(int64_t year, int32_t month, int32_t day)
{
    year -= month <= 2;
    int64_t era = nl_floor_div(year, 400);
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - DAYS_BEFORE_1970;
}

void nl_civil_from_days(int64_t days, nl_civil *civil)
{
    days += DAYS_BEFORE_1970;
    int64_t era = nl_floor_div(days, DAYS_PER_ERA);
    uint32_t day_of_era = (uint32_t)(days - era * DAYS_PER_ERA);
    uint32_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint32_t month_from_march = (5 * day_of_year + 2) / 153;
    civil->day = (int32_t)(day_of_year - (153 * month_from_march + 2) / 5 + 1);
    civil->month = (int32_t)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    civil->year = (int32_t)(year_of_era + era * 400 + (civil->month <= 2));
}

void nl_civil_from_micros(int64_t micros, nl_civil *civil)
{
    int64_t days = nl_floor_div(micros, NL_MICROS_PER_DAY);
    int64_t rest = nl_floor_mod(micros, NL_MICROS_PER_DAY);
    nl_civil_from_days(days, civil);
    int32_t second_of_day = (int32_t)(rest / NL_MICROS_PER_SECOND);
    civil->microsecond = (int32_t)(rest % NL_MICROS_PER_SECOND);
    civil->hour = second_of_day / 3600;
    civil->minute = second_of_day / 60 % 60;
    civil->second = second_of_day % 60;
}

int64_t nl_micros_from_civil(const nl_civil *civil)
{
    int64_t days = nl_days_from_civil(civil->year, civil->month, civil->day);
    int64_t second_of_day = civil->hour * 3600 + civil->minute * 60 + civil->second;
    /* Wraps outside of 64 bits: callers that take years from outside check the range first. */
    uint64_t whole = (uint64_t)days * (uint64_t)NL_MICROS_PER_DAY;
    return (int64_t)(whole + (uint64_t)(second_of_day * NL_MICROS_PER_SECOND + civil->microsecond));
}

bool nl_is_leap_year(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int32_t nl_days_in_month(int64_t year, int32_t month)
{
    static const int8_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    NL_ASSERT(month >= 1 && month <= 12);
    return lengths[month - 1] + (month == 2 && nl_is_leap_year(year));
}

bool nl_civil_is_valid(int64_t year, int32_t month, int32_t day)
{
    return month >= 1 && month <= 12 && day >= 1 && day <= nl_days_in_month(year, month);
}

int32_t nl_day_of_week(int64_t days)
{
    return (int32_t)nl_floor_mod(days + 3, 7) + 1; /* 1970-01-01 was a Thursday */
}

int32_t nl_day_of_year(int64_t days)
{
    nl_civil civil;
    nl_civil_from_days(days, &civil);
    return (int32_t)(days - nl_days_from_civil(civil.year, 1, 1)) + 1;
}

void nl_iso_week(int64_t days, int32_t *week_year, int32_t *week)
{
    int64_t thursday = days - nl_day_of_week(days) + 4; /* a week belongs to the year of its Thursday */
    nl_civil civil;
    nl_civil_from_days(thursday, &civil);
    *week_year = civil.year;
    *week = (nl_day_of_year(thursday) - 1) / 7 + 1;
}

int64_t nl_add_months(int64_t days, int64_t months)
{
    nl_civil civil;
    nl_civil_from_days(days, &civil);
    int64_t month_index = (int64_t)civil.year * 12 + civil.month - 1 + months;
    int64_t year = nl_floor_div(month_index, 12);
    int32_t month = (int32_t)nl_floor_mod(month_index, 12) + 1;
    return nl_days_from_civil(year, month, NL_MIN(civil.day, nl_days_in_month(year, month)));
}
