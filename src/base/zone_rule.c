/* base/zone_rule.c - reading and applying POSIX TZ rules. */
#include "base/zone_rule.h"

#include "base/calendar.h"

#define HOURS_MAX 167 /* RFC 9636 */

typedef struct scanner {
    nl_str text;
    size_t at;
} scanner;

static char peek(const scanner *in)
{
    return in->at < in->text.length ? in->text.data[in->at] : '\0';
}

static bool accept(scanner *in, char c)
{
    if (peek(in) != c || c == '\0') return false;
    in->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool read_number(scanner *in, int32_t max, int32_t *value)
{
    if (!is_digit(peek(in))) return false;
    int32_t result = 0;
    while (is_digit(peek(in))) {
        result = result * 10 + (peek(in) - '0');
        if (result > max) return false;
        in->at++;
    }
    *value = result;
    return true;
}

/* "CET", or "<+03>". Names are not kept: only offsets matter here. */
static bool skip_name(scanner *in)
{
    size_t start = in->at;
    if (accept(in, '<')) {
        while (is_letter(peek(in)) || is_digit(peek(in)) || peek(in) == '+' || peek(in) == '-') in->at++;
        return in->at - start >= 4 && accept(in, '>');
    }
    while (is_letter(peek(in))) in->at++;
    return in->at - start >= 3;
}

/* [+|-]hh[:mm[:ss]] in seconds. */
static bool read_time(scanner *in, int32_t *seconds)
{
    bool is_negative = accept(in, '-');
    if (!is_negative) accept(in, '+');
    int32_t hours;
    int32_t minutes = 0;
    int32_t rest = 0;
    if (!read_number(in, HOURS_MAX, &hours)) return false;
    if (accept(in, ':')) {
        if (!read_number(in, 59, &minutes)) return false;
        if (accept(in, ':') && !read_number(in, 59, &rest)) return false;
    }
    *seconds = (hours * 60 + minutes) * 60 + rest;
    if (is_negative) *seconds = -*seconds;
    return true;
}

static bool read_day(scanner *in, nl_rule_day *day)
{
    *day = (nl_rule_day){.second = 2 * 3600};
    bool is_good;
    if (accept(in, 'M')) {
        day->form = NL_RULE_MONTH;
        is_good = read_number(in, 12, &day->month) && day->month >= 1 && accept(in, '.') &&
                  read_number(in, 5, &day->week) && day->week >= 1 && accept(in, '.') &&
                  read_number(in, 6, &day->weekday);
    } else if (accept(in, 'J')) {
        day->form = NL_RULE_JULIAN;
        is_good = read_number(in, 365, &day->day) && day->day >= 1;
    } else {
        day->form = NL_RULE_DAY;
        is_good = read_number(in, 365, &day->day);
    }
    return is_good && (!accept(in, '/') || read_time(in, &day->second));
}

bool nl_zone_rule_parse(nl_str text, nl_zone_rule *rule)
{
    scanner in = {.text = text};
    nl_zone_rule result = {0};
    int32_t west;
    if (!skip_name(&in) || !read_time(&in, &west)) return false;
    result.standard_offset = -west; /* POSIX counts to the west */
    result.daylight_offset = result.standard_offset + 3600;
    if (in.at < text.length) {
        if (!skip_name(&in)) return false;
        if (peek(&in) != ',') {
            if (!read_time(&in, &west)) return false;
            result.daylight_offset = -west;
        }
        result.has_daylight = true;
        if (!accept(&in, ',') || !read_day(&in, &result.daylight_start)) return false;
        if (!accept(&in, ',') || !read_day(&in, &result.daylight_end)) return false;
    }
    if (in.at != text.length) return false;
    *rule = result;
    return true;
}

/* The local second, counted from 1970, at which the rule strikes in a year. */
static int64_t strike(const nl_rule_day *day, int64_t year)
{
    int64_t days = 0;
    switch (day->form) {
    case NL_RULE_MONTH: {
        int64_t first = nl_days_from_civil(year, day->month, 1);
        int32_t first_weekday = nl_day_of_week(first) % 7; /* Sunday 0, as in the rule */
        int32_t offset = (day->weekday - first_weekday + 7) % 7 + (day->week - 1) * 7;
        while (offset >= nl_days_in_month(year, day->month)) offset -= 7; /* week 5 is the last one */
        days = first + offset;
        break;
    }
    case NL_RULE_JULIAN:
        days = nl_days_from_civil(year, 1, 1) + day->day - 1 + (day->day >= 60 && nl_is_leap_year(year));
        break;
    case NL_RULE_DAY: days = nl_days_from_civil(year, 1, 1) + day->day; break;
    }
    return days * 86400 + day->second;
}

int32_t nl_zone_rule_offset_at(const nl_zone_rule *rule, int64_t utc_seconds)
{
    if (!rule->has_daylight) return rule->standard_offset;
    nl_civil civil;
    nl_civil_from_days(nl_floor_div(utc_seconds + rule->standard_offset, 86400), &civil);
    int64_t start = strike(&rule->daylight_start, civil.year) - rule->standard_offset;
    int64_t end = strike(&rule->daylight_end, civil.year) - rule->daylight_offset;
    bool is_daylight = start < end ? utc_seconds >= start && utc_seconds < end
                                   : utc_seconds >= start || utc_seconds < end;
    return is_daylight ? rule->daylight_offset : rule->standard_offset;
}
