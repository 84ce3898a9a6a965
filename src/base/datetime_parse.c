/* base/datetime_parse.c - text to dates and timestamps by a pattern.
 *
 * First every item reads its part of the text into fields (a field given twice must agree), then the fields are
 * resolved as java.time's strict resolver and Spark's defaults for missing fields do together.
 */
#include "base/datetime_legacy.h"
#include "base/zone_names.h"

typedef struct fields {
    int64_t values[NL_DT_FIELD_COUNT];
    uint32_t set; /* bit per field */
    const nl_timezone *zone;
    bool has_offset;
    int32_t offset;
} fields;

static bool has(const fields *in, nl_datetime_field field)
{
    return (in->set >> field) & 1;
}

static bool put(fields *in, nl_datetime_field field, int64_t value)
{
    if (has(in, field)) return in->values[field] == value;
    in->values[field] = value;
    in->set |= 1u << field;
    return true;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit_at(nl_str text, size_t at)
{
    return at < text.length && text.data[at] >= '0' && text.data[at] <= '9';
}

static bool parse_literal(const nl_datetime_item *item, nl_str text, size_t *at)
{
    if (item->text.length > text.length - *at) return false;
    for (size_t i = 0; i < item->text.length; i++) {
        if (lower(text.data[*at + i]) != lower(item->text.data[i])) return false;
    }
    *at += item->text.length;
    return true;
}

/* A sign, where the item's style allows one. False: not allowed. */
static bool parse_sign(const nl_datetime_item *item, nl_str text, size_t *at, char *sign)
{
    *sign = 0;
    if (*at >= text.length || (text.data[*at] != '+' && text.data[*at] != '-')) return true;
    if (item->kind != NL_ITEM_NUMBER || item->sign == NL_SIGN_NEVER) return false;
    if (text.data[*at] == '+' && item->sign == NL_SIGN_NORMAL) return false;
    *sign = text.data[(*at)++];
    return true;
}

static bool parse_number(const nl_datetime_item *item, nl_str text, size_t *at, fields *out)
{
    char sign;
    uint32_t width_max = item->max_width;
    if (!parse_sign(item, text, at, &sign)) return false;
    size_t start = *at;
    uint32_t count = 0;
    while (count < width_max + item->following_width && is_digit_at(text, start + count))
        count++;
    if (item->following_width) /* leave to the numbers behind what they need */
        count = NL_MAX((uint32_t)item->min_width, count > item->following_width ? count - item->following_width : 0);
    count = NL_MIN(count, width_max);
    if (count < item->min_width) return false;
    uint64_t value = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_digit_at(text, start + i)) return false;
        value = value * 10 + (uint64_t)(text.data[start + i] - '0');
    }
    if (value > INT64_MAX || (sign == '-' && value == 0)) return false;
    if (item->sign == NL_SIGN_EXCEEDS && sign == '+' && count <= item->min_width) return false;
    if (item->sign == NL_SIGN_EXCEEDS && sign == 0 && count > item->min_width) return false;
    if (item->kind == NL_ITEM_REDUCED) value += 2000;
    *at = start + count;
    return put(out, item->field, sign == '-' ? -(int64_t)value : (int64_t)value);
}

static bool parse_fraction(const nl_datetime_item *item, nl_str text, size_t *at, fields *out)
{
    int64_t nanos = 0;
    int64_t unit = 100000000;
    uint32_t count = 0;
    for (; count < item->max_width && is_digit_at(text, *at + count); count++, unit /= 10)
        nanos += (text.data[*at + count] - '0') * unit;
    if (count < item->min_width) return false;
    *at += count;
    return put(out, item->field, nanos);
}

static bool parse_text(const nl_datetime_item *item, nl_str text, size_t *at, fields *out)
{
    uint32_t count;
    const char *const *names = nl_datetime_texts(item->field, item->is_full, &count);
    nl_str rest = nl_str_slice(text, *at, text.length);
    size_t longest = 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        nl_str name = nl_str_from(names[i]);
        if (name.length <= longest || !nl_str_starts_nocase(rest, name)) continue;
        longest = name.length;
        found = i;
    }
    if (longest == 0) return false;
    *at += longest;
    return put(out, item->field, found);
}

static bool parse_two(nl_str text, size_t *at, int32_t *value)
{
    if (!is_digit_at(text, *at) || !is_digit_at(text, *at + 1)) return false;
    *value = (text.data[*at] - '0') * 10 + (text.data[*at + 1] - '0');
    *at += 2;
    return *value <= 59;
}

static bool parse_colon_two(nl_str text, size_t *at, bool has_colon, int32_t *value)
{
    size_t start = *at;
    if (has_colon) {
        if (start >= text.length || text.data[start] != ':') return false;
        start++;
    }
    if (!parse_two(text, &start, value)) return false;
    *at = start;
    return true;
}

static bool put_offset(fields *out, int32_t seconds)
{
    if (seconds > 18 * 3600 || seconds < -18 * 3600) return false;
    if (out->has_offset) return out->offset == seconds;
    out->has_offset = true;
    out->offset = seconds;
    return true;
}

/* A sign, two digits of hours, then by form. */
static bool parse_signed_offset(nl_datetime_offset_form form, nl_str text, size_t *at, int32_t *seconds)
{
    if (*at >= text.length || (text.data[*at] != '+' && text.data[*at] != '-')) return false;
    bool is_negative = text.data[*at] == '-';
    bool has_colons = form == NL_OFFSET_HH_MM || form == NL_OFFSET_HH_MM_SS_IF;
    size_t place = *at + 1;
    int32_t hours, minutes = 0, rest = 0;
    if (!parse_two(text, &place, &hours)) return false;
    bool has_minutes = parse_colon_two(text, &place, has_colons, &minutes);
    if (!has_minutes && form != NL_OFFSET_HH_MM_IF) return false;
    if (!has_minutes) minutes = 0;
    if (form == NL_OFFSET_HHMM_SS_IF || form == NL_OFFSET_HH_MM_SS_IF) {
        if (!parse_colon_two(text, &place, has_colons, &rest)) rest = 0;
    }
    *seconds = (hours * 3600 + minutes * 60 + rest) * (is_negative ? -1 : 1);
    *at = place;
    return true;
}

static bool parse_offset(const nl_datetime_item *item, nl_str text, size_t *at, fields *out)
{
    int32_t seconds;
    if (*at < text.length && nl_str_starts_nocase(nl_str_slice(text, *at, text.length), item->text)) {
        *at += item->text.length;
        return put_offset(out, 0);
    }
    return parse_signed_offset(item->offset_form, text, at, &seconds) && put_offset(out, seconds);
}

/* GMT, GMT+8, GMT+8:30; full: GMT+08:00. */
static bool parse_local_offset(const nl_datetime_item *item, nl_str text, size_t *at, fields *out)
{
    if (!nl_str_starts_nocase(nl_str_slice(text, *at, text.length), NL_STR("GMT"))) return false;
    size_t place = *at + 3;
    if (place >= text.length || (text.data[place] != '+' && text.data[place] != '-')) {
        *at = place;
        return put_offset(out, 0);
    }
    bool is_negative = text.data[place++] == '-';
    int32_t hours, minutes = 0, seconds = 0;
    if (item->is_full) {
        if (!parse_two(text, &place, &hours) || !parse_colon_two(text, &place, true, &minutes)) return false;
    } else {
        if (!is_digit_at(text, place)) return false;
        hours = text.data[place++] - '0';
        if (is_digit_at(text, place)) hours = hours * 10 + (text.data[place++] - '0');
        if (!parse_colon_two(text, &place, true, &minutes)) minutes = 0;
    }
    if (!parse_colon_two(text, &place, true, &seconds)) seconds = 0;
    *at = place;
    return put_offset(out, (hours * 3600 + minutes * 60 + seconds) * (is_negative ? -1 : 1));
}

static bool put_zone(fields *out, nl_str id)
{
    const nl_timezone *zone;
    nl_status status = nl_timezone_find(id, &zone);
    nl_error_free(status);
    if (status) return false;
    if (out->zone) return out->zone == zone;
    out->zone = zone;
    return true;
}

/* "UTC", "UT", "GMT", each with "+HH:MM[:SS]" behind or alone. Returns false when the text starts otherwise. */
static bool parse_prefixed_zone(nl_str text, size_t *at, fields *out, bool *is_done)
{
    static const char *const prefixes[] = {"UTC", "GMT", "UT"};
    nl_str rest = nl_str_slice(text, *at, text.length);
    *is_done = false;
    for (size_t i = 0; i < NL_COUNT(prefixes); i++) {
        nl_str prefix = nl_str_from(prefixes[i]);
        if (!nl_str_starts_nocase(rest, prefix)) continue;
        int32_t seconds;
        *is_done = true;
        *at += prefix.length;
        if (parse_signed_offset(NL_OFFSET_HH_MM_SS_IF, text, at, &seconds)) return put_offset(out, seconds);
        return put_zone(out, NL_STR("UTC"));
    }
    return true;
}

static bool parse_zone(const nl_datetime_item *item, nl_str text, size_t *at, fields *out)
{
    if (*at >= text.length) return false;
    int32_t seconds;
    if (text.data[*at] == '+' || text.data[*at] == '-')
        return parse_signed_offset(NL_OFFSET_HH_MM_SS_IF, text, at, &seconds) && put_offset(out, seconds);
    bool is_done;
    if (!parse_prefixed_zone(text, at, out, &is_done)) return false;
    if (is_done) return true;
    nl_zone_names names = NL_ZONE_IDS;
    if (item->kind == NL_ITEM_ZONE_NAME) names = item->is_full ? NL_ZONE_LONG_NAMES : NL_ZONE_SHORT_NAMES;
    nl_str id;
    size_t length = nl_zone_name_match(nl_str_slice(text, *at, text.length), names, &id);
    if (length) {
        *at += length;
        return put_zone(out, id);
    }
    if (lower(text.data[*at]) != 'z') return false;
    (*at)++;
    return put_offset(out, 0);
}

static bool parse_item(const nl_datetime_item *item, nl_str text, size_t *at, fields *out)
{
    switch (item->kind) {
    case NL_ITEM_LITERAL:
        return parse_literal(item, text, at);
    case NL_ITEM_NUMBER:
    case NL_ITEM_REDUCED:
        return parse_number(item, text, at, out);
    case NL_ITEM_FRACTION:
        return parse_fraction(item, text, at, out);
    case NL_ITEM_TEXT:
        return parse_text(item, text, at, out);
    case NL_ITEM_OFFSET:
        return parse_offset(item, text, at, out);
    case NL_ITEM_LOCAL_OFFSET:
        return parse_local_offset(item, text, at, out);
    case NL_ITEM_ZONE_ID:
    case NL_ITEM_ZONE_NAME:
        return parse_zone(item, text, at, out);
    case NL_ITEM_OPTIONAL:
    case NL_ITEM_OPTIONAL_END:
        break;
    }
    return true;
}

/* Items first … end; an optional part that does not fit is as if it were not there. Depth: NL_DATETIME_NESTING_MAX. */
static bool parse_items(const nl_datetime_pattern *pattern, uint32_t first, uint32_t end, nl_str text, size_t *at,
                        fields *out)
{
    for (uint32_t i = first; i < end; i++) {
        const nl_datetime_item *item = &pattern->items[i];
        if (item->kind == NL_ITEM_OPTIONAL) {
            fields before = *out;
            size_t start = *at;
            if (!parse_items(pattern, i + 1, item->end, text, at, out)) {
                *out = before;
                *at = start;
            }
            i = item->end;
        } else {
            const size_t start = *at;
            if (parse_item(item, text, at, out)) continue;
            *at = start; /* where the part begins that does not fit */
            return false;
        }
    }
    return true;
}

static bool in_range(const fields *in, nl_datetime_field field, int64_t low, int64_t high)
{
    return !has(in, field) || (in->values[field] >= low && in->values[field] <= high);
}

/* The era's year becomes the year; clock hours become the hour of the day. False: out of range or contradictory. */
static bool resolve_hours(fields *in)
{
    if (!in_range(in, NL_DT_CLOCK_HOUR_12, 1, 12) || !in_range(in, NL_DT_HOUR_12, 0, 11) ||
        !in_range(in, NL_DT_CLOCK_HOUR_24, 1, 24) || !in_range(in, NL_DT_HOUR_24, 0, 23) ||
        !in_range(in, NL_DT_MINUTE, 0, 59) || !in_range(in, NL_DT_SECOND, 0, 59))
        return false;
    if (has(in, NL_DT_CLOCK_HOUR_24) && !put(in, NL_DT_HOUR_24, in->values[NL_DT_CLOCK_HOUR_24] % 24)) return false;
    if (has(in, NL_DT_CLOCK_HOUR_12) && !put(in, NL_DT_HOUR_12, in->values[NL_DT_CLOCK_HOUR_12] % 12)) return false;
    if (has(in, NL_DT_AMPM) && has(in, NL_DT_HOUR_12) &&
        !put(in, NL_DT_HOUR_24, in->values[NL_DT_AMPM] * 12 + in->values[NL_DT_HOUR_12]))
        return false;
    if (!has(in, NL_DT_HOUR_24)) return true;
    int64_t hour = in->values[NL_DT_HOUR_24];
    if (has(in, NL_DT_HOUR_12) && in->values[NL_DT_HOUR_12] != hour % 12) return false;
    return !has(in, NL_DT_AMPM) || in->values[NL_DT_AMPM] == hour / 12;
}

static bool resolve_year(fields *in)
{
    const int64_t year_max = 999999999;
    if (has(in, NL_DT_YEAR_OF_ERA) && has(in, NL_DT_ERA)) {
        int64_t year = in->values[NL_DT_YEAR_OF_ERA];
        if (year < 1 || !put(in, NL_DT_YEAR, in->values[NL_DT_ERA] ? year : 1 - year)) return false;
    }
    return in_range(in, NL_DT_YEAR, -year_max, year_max);
}

static int64_t value_or(const fields *in, nl_datetime_field field, int64_t missing)
{
    return has(in, field) ? in->values[field] : missing;
}

/* A day of the year is the date; month and day, where they are there, must agree with it. */
static bool resolve_date(const fields *in, int64_t *days)
{
    int64_t year = value_or(in, NL_DT_YEAR, 1970);
    int64_t month = value_or(in, NL_DT_MONTH, 1);
    int64_t day = value_or(in, NL_DT_DAY, 1);
    if (month < 1 || month > 12 || day < 1 || day > 31) return false;
    if (!has(in, NL_DT_DAY_OF_YEAR)) {
        if (!nl_civil_is_valid(year, (int32_t)month, (int32_t)day)) return false;
        *days = nl_days_from_civil(year, (int32_t)month, (int32_t)day);
        return true;
    }
    int64_t day_of_year = in->values[NL_DT_DAY_OF_YEAR];
    if (day_of_year < 1 || day_of_year > (nl_is_leap_year(year) ? 366 : 365)) return false;
    *days = nl_days_from_civil(year, 1, 1) + day_of_year - 1;
    nl_civil civil;
    nl_civil_from_days(*days, &civil);
    return (!has(in, NL_DT_MONTH) || civil.month == month) && (!has(in, NL_DT_DAY) || civil.day == day);
}

static int64_t resolve_time(const fields *in)
{
    int64_t hour = 0;
    if (has(in, NL_DT_HOUR_24))
        hour = in->values[NL_DT_HOUR_24];
    else if (has(in, NL_DT_HOUR_12))
        hour = in->values[NL_DT_HOUR_12]; /* without AM or PM it is before noon */
    else if (value_or(in, NL_DT_AMPM, 0) == 1)
        hour = 12;
    int64_t seconds = hour * 3600 + value_or(in, NL_DT_MINUTE, 0) * 60 + value_or(in, NL_DT_SECOND, 0);
    return seconds * NL_MICROS_PER_SECOND + value_or(in, NL_DT_NANO, 0) / 1000;
}

static bool parse_fields(const nl_datetime_pattern *pattern, nl_str text, fields *out, int64_t *days)
{
    size_t at = 0;
    *out = (fields){0};
    return parse_items(pattern, 0, pattern->count, text, &at, out) && at == text.length && resolve_hours(out) &&
           resolve_year(out) && resolve_date(out, days);
}

/* Days and time of the day as microseconds; false when they do not fit. */
static bool to_micros(int64_t days, int64_t time, int64_t *micros)
{
    return !__builtin_mul_overflow(days, NL_MICROS_PER_DAY, micros) && !__builtin_add_overflow(*micros, time, micros);
}

bool nl_datetime_parse_date(const nl_datetime_pattern *pattern, nl_str text, int32_t *days)
{
    fields in;
    int64_t wide;
    if (pattern->is_legacy) {
        if (!nl_legacy_parse(pattern->source, text, nl_timezone_utc(), &wide)) return false;
        *days = (int32_t)nl_floor_div(wide, NL_MICROS_PER_DAY);
        return true;
    }
    if (!parse_fields(pattern, text, &in, &wide) || wide < INT32_MIN || wide > INT32_MAX) return false;
    *days = (int32_t)wide;
    return true;
}

bool nl_datetime_parse_timestamp(const nl_datetime_pattern *pattern, nl_str text, const nl_timezone *zone,
                                 int64_t *utc_micros)
{
    fields in;
    int64_t days, local;
    if (pattern->is_legacy) return nl_legacy_parse(pattern->source, text, zone, utc_micros);
    if (!parse_fields(pattern, text, &in, &days) || !to_micros(days, resolve_time(&in), &local)) return false;
    if (in.zone) zone = in.zone;
    if (!in.zone && in.has_offset)
        return !__builtin_sub_overflow(local, in.offset * NL_MICROS_PER_SECOND, utc_micros);
    /* Offsets are within 18 hours: leave room for them at both ends of the range. */
    if (local > INT64_MAX - NL_MICROS_PER_DAY || local < INT64_MIN + NL_MICROS_PER_DAY) return false;
    *utc_micros = nl_timezone_from_local(zone, local);
    return true;
}

bool nl_datetime_parse_ntz(const nl_datetime_pattern *pattern, nl_str text, bool allow_zone, int64_t *micros)
{
    fields in;
    int64_t days, local;
    if (pattern->is_legacy) return nl_legacy_parse(pattern->source, text, nl_timezone_utc(), micros);
    if (!parse_fields(pattern, text, &in, &days) || !to_micros(days, resolve_time(&in), &local)) return false;
    if (!allow_zone && (in.zone || in.has_offset)) return false;
    *micros = local;
    return true;
}

/* Why a text of the right form has no time: java.time's parser says it of its own text, Spark of the fields left to it. */
typedef struct field_limits {
    nl_datetime_field field;
    int64_t low, high;
    const char *name, *range;
} field_limits;

static bool explain_range(const fields *in, const field_limits *limits, size_t count, nl_builder *out)
{
    for (size_t i = 0; i < count; i++) {
        if (in_range(in, limits[i].field, limits[i].low, limits[i].high)) continue;
        nl_append_f(out, "Invalid value for %s (valid values %s): %lld", limits[i].name, limits[i].range, (long long)in->values[limits[i].field]);
        return true;
    }
    return false;
}

static bool explain_time(const fields *in, nl_builder *out)
{
    static const field_limits limits[] = {{NL_DT_CLOCK_HOUR_12, 1, 12, "ClockHourOfAmPm", "1 - 12"},
                                          {NL_DT_HOUR_12, 0, 11, "HourOfAmPm", "0 - 11"},
                                          {NL_DT_CLOCK_HOUR_24, 1, 24, "ClockHourOfDay", "1 - 24"},
                                          {NL_DT_HOUR_24, 0, 23, "HourOfDay", "0 - 23"},
                                          {NL_DT_MINUTE, 0, 59, "MinuteOfHour", "0 - 59"},
                                          {NL_DT_SECOND, 0, 59, "SecondOfMinute", "0 - 59"}};
    return explain_range(in, limits, NL_COUNT(limits), out);
}

/* The month or the day differs from that of the day of the year. */
static bool explain_conflict(const fields *in, int64_t year, bool is_by_java, nl_builder *out)
{
    nl_civil civil;
    nl_civil_from_days(nl_days_from_civil(year, 1, 1) + in->values[NL_DT_DAY_OF_YEAR] - 1, &civil);
    const bool is_month = has(in, NL_DT_MONTH) && in->values[NL_DT_MONTH] != civil.month;
    const bool is_day = has(in, NL_DT_DAY) && in->values[NL_DT_DAY] != civil.day;
    if (!is_month && !is_day) return false;
    const char *name = is_month ? "MonthOfYear" : "DayOfMonth";
    const long long given = is_month ? in->values[NL_DT_MONTH] : in->values[NL_DT_DAY], derived = is_month ? civil.month : civil.day;
    nl_append_f(out, "Conflict found: Field %s %lld differs from %s %lld derived from %04lld-%02d-%02d%s", name, is_by_java ? derived : given, name,
                is_by_java ? given : derived, (long long)year, (int)civil.month, (int)civil.day, is_by_java ? "" : ".");
    return true;
}

static bool explain_date(const fields *in, bool is_by_java, nl_builder *out)
{
    static const field_limits limits[] = {{NL_DT_MONTH, 1, 12, "MonthOfYear", "1 - 12"},
                                          {NL_DT_DAY, 1, 31, "DayOfMonth", "1 - 28/31"},
                                          {NL_DT_DAY_OF_YEAR, 1, 366, "DayOfYear", "1 - 365/366"}};
    if (explain_range(in, limits, NL_COUNT(limits), out)) return true;
    const int64_t year = value_or(in, NL_DT_YEAR, 1970);
    const int64_t month = value_or(in, NL_DT_MONTH, 1);
    const int64_t day = value_or(in, NL_DT_DAY, 1);
    const bool is_by_month = !has(in, NL_DT_DAY_OF_YEAR) || (is_by_java && has(in, NL_DT_MONTH) && has(in, NL_DT_DAY));
    if (!is_by_month && in->values[NL_DT_DAY_OF_YEAR] == 366 && !nl_is_leap_year(year)) {
        nl_append_f(out, "Invalid date 'DayOfYear 366' as '%lld' is not a leap year", (long long)year);
        return true;
    }
    if (!is_by_month) return explain_conflict(in, year, is_by_java, out);
    if (nl_civil_is_valid(year, (int32_t)month, (int32_t)day)) {
        const long long days = nl_days_from_civil(year, (int32_t)month, (int32_t)day) - nl_days_from_civil(year, 1, 1) + 1;
        if (!has(in, NL_DT_DAY_OF_YEAR) || in->values[NL_DT_DAY_OF_YEAR] == days) return false;
        nl_append_f(out, "Conflict found: Field DayOfYear %lld differs from DayOfYear %lld derived from %04lld-%02d-%02d", days,
                    (long long)in->values[NL_DT_DAY_OF_YEAR], (long long)year, (int)month, (int)day);
        return true;
    }
    uint32_t count;
    const char *const *names = nl_datetime_texts(NL_DT_MONTH, true, &count);
    if (month == 2 && day == 29) {
        nl_append_f(out, "Invalid date 'February 29' as '%lld' is not a leap year", (long long)year);
        return true;
    }
    nl_append_c(out, "Invalid date '");
    for (const char *c = names[month]; *c; c++) nl_append_char(out, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    nl_append_f(out, " %lld'", (long long)day);
    return true;
}

/* is_own: Spark says it, of the fields java.time leaves to it. */
static void explain_fields(const fields *in, bool *is_own, nl_builder *out)
{
    const bool is_by_java = has(in, NL_DT_YEAR) && (has(in, NL_DT_DAY_OF_YEAR) || (has(in, NL_DT_MONTH) && has(in, NL_DT_DAY)));
    *is_own = false;
    if ((is_by_java && explain_date(in, true, out)) || explain_time(in, out) || is_by_java) return;
    *is_own = explain_date(in, false, out);
}

void nl_datetime_explain(const nl_datetime_pattern *pattern, nl_str text, nl_builder *out)
{
    if (pattern->is_legacy) {
        nl_append_f(out, "Unparseable date: \"" NL_STR_FMT "\"", NL_STR_ARG(text));
        return;
    }
    const size_t shown_max = 64;
    fields in = {0};
    size_t at = 0;
    const bool is_read = parse_items(pattern, 0, pattern->count, text, &at, &in);
    bool is_own = false;
    nl_builder why;
    nl_builder_init(&why, 4096);
    if (is_read && at == text.length && resolve_year(&in)) explain_fields(&in, &is_own, &why);
    const nl_str reason = nl_builder_str(&why);
    if (is_own) {
        nl_append(out, reason);
    } else {
        nl_append_f(out, "Text '" NL_STR_FMT "%s' could not be parsed", NL_STR_ARG(nl_str_slice(text, 0, shown_max)),
                    text.length > shown_max ? "..." : "");
        if (!is_read) nl_append_f(out, " at index %zu", at);
        if (is_read && at < text.length) nl_append_f(out, ", unparsed text found at index %zu", at);
        if (reason.length > 0) nl_append_f(out, ": " NL_STR_FMT, NL_STR_ARG(reason));
    }
    nl_builder_fini(&why);
}
