#include "base/datetime_legacy.h"

#include "base/zone_names.h"

#include <string.h>

/* ---- a pattern's pieces ---------------------------------------------------------------------------------------- */

typedef struct piece {
    char letter;    /* 0: literal text */
    uint32_t count; /* of letters */
    nl_str text;
    bool is_followed_by_field; /* digits end where the next field's begin */
} piece;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void take_quoted(nl_str pattern, size_t *at, piece *next)
{
    const size_t start = *at + 1;
    if (start < pattern.length && pattern.data[start] == '\'') { /* '' is one quote */
        next->text = nl_str_slice(pattern, start, start + 1);
        *at = start + 1;
        return;
    }
    size_t end = start;
    while (end < pattern.length && pattern.data[end] != '\'') end++;
    next->text = nl_str_slice(pattern, start, end);
    *at = NL_MIN(end + 1, pattern.length);
}

static bool next_piece(nl_str pattern, size_t *at, piece *next)
{
    *next = (piece){0};
    if (*at >= pattern.length) return false;
    const char c = pattern.data[*at];
    const size_t start = *at;
    if (c == '\'') {
        take_quoted(pattern, at, next);
    } else if (is_letter(c)) {
        while (*at < pattern.length && pattern.data[*at] == c) ++*at;
        next->letter = c;
        next->count = (uint32_t)(*at - start);
        next->is_followed_by_field = *at < pattern.length && is_letter(pattern.data[*at]);
    } else {
        while (*at < pattern.length && !is_letter(pattern.data[*at]) && pattern.data[*at] != '\'') ++*at;
        next->text = nl_str_slice(pattern, start, *at);
    }
    return true;
}

nl_status nl_legacy_check(nl_str pattern)
{
    size_t at = 0, quotes = 0;
    piece next;
    for (size_t i = 0; i < pattern.length; i++) quotes += pattern.data[i] == '\'';
    if (quotes % 2) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Unterminated quote");
    while (next_piece(pattern, &at, &next)) {
        if (next.letter && !strchr("GyYMLwWDdFEuaHkKhmsSzZX", next.letter))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Illegal pattern character '%c'", next.letter);
        if (next.letter == 'X' && next.count > 3)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "invalid ISO 8601 format: length=%u", next.count);
    }
    return NULL;
}

/* ---- times to text --------------------------------------------------------------------------------------------- */

/* Weeks begin on Sunday and the first one holds the first of January or of the month: Java's locale en_US. */
static int32_t week_of(int32_t day, int32_t weekday)
{
    const int32_t first = (int32_t)nl_floor_mod(weekday - (day - 1), 7); /* the first day's; Sunday is 0 */
    return (day - 1 + first) / 7 + 1;
}

static int32_t week_year(int64_t days, const nl_civil *civil)
{
    const int64_t next_january = nl_days_from_civil(civil->year + 1, 1, 1);
    const int64_t week_start = days - nl_day_of_week(days) % 7;
    return week_start + 6 >= next_january ? civil->year + 1 : civil->year;
}

static void append_text(nl_datetime_field field, int64_t value, bool is_full, nl_builder *out)
{
    uint32_t count;
    const char *const *texts = nl_datetime_texts(field, is_full, &count);
    if (value >= 0 && value < count) nl_append_c(out, texts[value]);
}

static void append_digits(int64_t value, uint32_t width, nl_builder *out)
{
    nl_append_f(out, "%0*lld", (int)NL_MIN(width, 32u), (long long)value);
}

static void append_offset(const piece *field, int32_t offset, nl_builder *out)
{
    const int32_t minutes = (offset < 0 ? -offset : offset) / 60;
    if (field->letter == 'X' && offset == 0) {
        nl_append_char(out, 'Z');
        return;
    }
    nl_append_f(out, "%c%02d", offset < 0 ? '-' : '+', minutes / 60);
    if (field->letter == 'X' && field->count == 1) return;
    nl_append_f(out, "%s%02d", field->letter == 'X' && field->count == 3 ? ":" : "", minutes % 60);
}

/* A field that is a number. */
static int64_t number_of(char letter, const nl_civil *civil, int64_t days)
{
    const int32_t weekday = nl_day_of_week(days);
    switch (letter) {
    case 'd': return civil->day;
    case 'D': return nl_day_of_year(days);
    case 'F': return (civil->day - 1) / 7 + 1;
    case 'u': return weekday;
    case 'w': return week_year(days, civil) > civil->year ? 1 : week_of(nl_day_of_year(days), weekday % 7);
    case 'W': return week_of(civil->day, weekday % 7);
    case 'H': return civil->hour;
    case 'k': return civil->hour ? civil->hour : 24;
    case 'K': return civil->hour % 12;
    case 'h': return civil->hour % 12 ? civil->hour % 12 : 12;
    case 'm': return civil->minute;
    case 's': return civil->second;
    case 'S': return civil->microsecond / 1000;
    default: return civil->month;
    }
}

static void append_year(const piece *field, int32_t year, nl_builder *out)
{
    const int32_t of_era = year > 0 ? year : 1 - year;
    if (field->count == 2)
        append_digits(of_era % 100, 2, out);
    else
        append_digits(of_era, field->count, out);
}

static void append_field(const piece *field, const nl_civil *civil, int64_t days, nl_builder *out)
{
    const bool is_full = field->count >= 4;
    switch (field->letter) {
    case 'G': append_text(NL_DT_ERA, civil->year > 0, false, out); return;
    case 'E': append_text(NL_DT_WEEKDAY, nl_day_of_week(days), is_full, out); return;
    case 'a': append_text(NL_DT_AMPM, civil->hour / 12, false, out); return;
    case 'y': append_year(field, civil->year, out); return;
    case 'Y': append_year(field, week_year(days, civil), out); return;
    default: break;
    }
    if ((field->letter == 'M' || field->letter == 'L') && field->count > 2)
        append_text(NL_DT_MONTH, civil->month, is_full, out);
    else
        append_digits(number_of(field->letter, civil, days), field->count, out);
}

void nl_legacy_format(nl_str pattern, int64_t local_micros, const nl_timezone *zone, int32_t offset_seconds, nl_builder *out)
{
    const int64_t days = nl_floor_div(local_micros, NL_MICROS_PER_DAY);
    size_t at = 0;
    piece next;
    nl_civil civil;
    nl_civil_from_micros(local_micros, &civil);
    while (next_piece(pattern, &at, &next)) {
        if (!next.letter) {
            nl_append(out, next.text);
        } else if (next.letter == 'z') {
            const nl_str name = zone ? nl_zone_display_name(zone, local_micros - offset_seconds * NL_MICROS_PER_SECOND, next.count >= 4) : NL_STR("UTC");
            nl_append(out, name.length ? name : nl_timezone_name(zone));
        } else if (next.letter == 'Z' || next.letter == 'X') {
            append_offset(&next, offset_seconds, out);
        } else {
            append_field(&next, &civil, days, out);
        }
    }
}

/* ---- text to times --------------------------------------------------------------------------------------------- */

typedef struct reading {
    nl_str text;
    size_t at;
    int64_t numbers[128]; /* by letter; K holds what h says, H what k says */
    bool is_there[128];
    bool is_day_of_year;  /* D came after the month and the day */
    bool has_offset;
    int32_t offset;
    const nl_timezone *zone;
} reading;

static void skip_blanks(reading *in)
{
    while (in->at < in->text.length && (in->text.data[in->at] == ' ' || in->text.data[in->at] == '\t')) in->at++;
}

static bool read_number(reading *in, uint32_t digits_max, int64_t *value, uint32_t *digits)
{
    const uint32_t longest = 18;
    const bool is_negative = in->at < in->text.length && in->text.data[in->at] == '-' && digits_max == longest;
    *value = 0;
    *digits = 0;
    if (is_negative) in->at++;
    while (in->at < in->text.length && *digits < digits_max && in->text.data[in->at] >= '0' && in->text.data[in->at] <= '9') {
        *value = *value * 10 + (in->text.data[in->at++] - '0');
        ++*digits;
    }
    if (is_negative) *value = -*value;
    return *digits > 0;
}

/* The longest of a field's texts that stands here. */
static bool read_text(reading *in, nl_datetime_field field, int64_t *value)
{
    const nl_str rest = nl_str_slice(in->text, in->at, in->text.length);
    size_t best = 0;
    for (int is_full = 0; is_full < 2; is_full++) {
        uint32_t count;
        const char *const *texts = nl_datetime_texts(field, is_full != 0, &count);
        for (uint32_t i = 0; i < count; i++) {
            const nl_str name = nl_str_from(texts[i]);
            if (name.length <= best || name.length > rest.length || !nl_str_equal_nocase(nl_str_slice(rest, 0, name.length), name)) continue;
            best = name.length;
            *value = i;
        }
    }
    in->at += best;
    return best > 0;
}

/* +08, +0800, +08:00, -1:30 */
static bool read_offset(reading *in)
{
    int64_t hours, minutes = 0;
    uint32_t digits;
    if (in->at >= in->text.length || (in->text.data[in->at] != '+' && in->text.data[in->at] != '-')) return false;
    const int32_t sign = in->text.data[in->at++] == '-' ? -1 : 1;
    if (!read_number(in, 2, &hours, &digits)) return false;
    if (in->at < in->text.length && in->text.data[in->at] == ':') in->at++;
    if (in->at < in->text.length && in->text.data[in->at] >= '0' && in->text.data[in->at] <= '9' && !read_number(in, 2, &minutes, &digits)) return false;
    if (hours > 23 || minutes > 59) return false;
    in->offset = sign * (int32_t)(hours * 3600 + minutes * 60);
    return in->has_offset = true;
}

static bool read_zone(reading *in, char letter)
{
    const nl_str rest = nl_str_slice(in->text, in->at, in->text.length);
    if (letter == 'X' && rest.length && rest.data[0] == 'Z') {
        in->at++;
        return in->has_offset = true;
    }
    if (letter != 'X' && rest.length >= 3 && nl_str_is_nocase(nl_str_slice(rest, 0, 3), "GMT")) {
        in->at += 3;
        return read_offset(in) || (in->has_offset = true);
    }
    if (letter == 'X' || (rest.length && (rest.data[0] == '+' || rest.data[0] == '-'))) return read_offset(in);
    nl_str id;
    size_t length = nl_zone_name_match(rest, NL_ZONE_LONG_NAMES, &id);
    if (!length) length = nl_zone_name_match(rest, NL_ZONE_SHORT_NAMES, &id);
    if (!length) return false;
    in->at += length;
    nl_error *error = nl_timezone_find(id, &in->zone);
    nl_error_free(error);
    return !error;
}

/* Two digits are a year of the hundred that began 80 years ago. */
static int64_t full_year(int64_t two_digits)
{
    nl_civil now;
    nl_civil_from_micros(nl_now_micros(), &now);
    const int32_t start = now.year - 80;
    const int64_t year = start - start % 100 + two_digits;
    return year < start ? year + 100 : year;
}

static bool read_numeric(reading *in, const piece *field)
{
    const uint32_t longest = 18;
    int64_t value;
    uint32_t digits;
    if (!read_number(in, field->is_followed_by_field ? field->count : longest, &value, &digits)) return false;
    char letter = field->letter;
    if (letter == 'y' && field->count <= 2 && digits == 2) value = full_year(value);
    if (letter == 'L') letter = 'M';
    if (letter == 'k') letter = 'H', value = value == 24 ? 0 : value == 0 ? 24 : value;
    if (letter == 'h') letter = 'K', value = value == 12 ? 0 : value == 0 ? 12 : value;
    in->numbers[(unsigned char)letter] = value;
    in->is_there[(unsigned char)letter] = true;
    if (letter == 'D') in->is_day_of_year = true;
    if (letter == 'M' || letter == 'd') in->is_day_of_year = false;
    return true;
}

static bool read_field(reading *in, const piece *field)
{
    const bool is_month = field->letter == 'M' || field->letter == 'L';
    int64_t value = 0;
    skip_blanks(in);
    if (field->letter == 'z' || field->letter == 'Z' || field->letter == 'X') return read_zone(in, field->letter);
    if (strchr("YwWF", field->letter)) return false;
    const bool is_text = strchr("GEa", field->letter) || (is_month && field->count > 2);
    if (!is_text) return read_numeric(in, field);
    const nl_datetime_field kind = field->letter == 'G' ? NL_DT_ERA : field->letter == 'E' ? NL_DT_WEEKDAY : field->letter == 'a' ? NL_DT_AMPM : NL_DT_MONTH;
    if (!read_text(in, kind, &value)) return false;
    const unsigned char letter = is_month ? 'M' : (unsigned char)field->letter;
    in->numbers[letter] = value;
    in->is_there[letter] = true;
    if (is_month) in->is_day_of_year = false;
    return true;
}

static bool read_literal(reading *in, nl_str literal)
{
    if (!nl_str_starts(nl_str_slice(in->text, in->at, in->text.length), literal)) return false;
    in->at += literal.length;
    return true;
}

static int64_t number_or(const reading *in, char letter, int64_t otherwise)
{
    return in->is_there[(unsigned char)letter] ? in->numbers[(unsigned char)letter] : otherwise;
}

/* What all date fields say together; false when they contradict each other. */
static bool resolve_date(const reading *in, int64_t *days)
{
    const int64_t era = number_or(in, 'G', 1), shown = number_or(in, 'y', 1970), year = era ? shown : 1 - shown;
    const int64_t month = number_or(in, 'M', 1), day = number_or(in, 'd', 1), day_of_year = number_or(in, 'D', 0);
    const int64_t year_max = 294247; /* of a timestamp */
    if ((in->is_there['y'] && shown < 1) || shown > year_max) return false;
    if (in->is_day_of_year) {
        if (day_of_year < 1 || day_of_year > 365 + nl_is_leap_year(year)) return false;
        *days = nl_days_from_civil(year, 1, 1) + day_of_year - 1;
    } else {
        if (month < 1 || month > 12 || day < 1 || day > 31 || !nl_civil_is_valid(year, (int32_t)month, (int32_t)day)) return false;
        *days = nl_days_from_civil(year, (int32_t)month, (int32_t)day);
    }
    nl_civil civil;
    nl_civil_from_days(*days, &civil);
    if (civil.year == 1582 && civil.month == 10 && civil.day > 4 && civil.day < 15) return false;
    if (in->is_there['M'] && civil.month != month) return false;
    if (in->is_there['d'] && civil.day != day) return false;
    if (in->is_there['D'] && nl_day_of_year(*days) != day_of_year) return false;
    if (in->is_there['E'] && nl_day_of_week(*days) != in->numbers['E']) return false;
    return !in->is_there['u'] || nl_day_of_week(*days) == in->numbers['u'];
}

static bool resolve_time(const reading *in, int64_t *micros)
{
    const int64_t half = number_or(in, 'a', 0), twelfth = number_or(in, 'K', 0);
    const int64_t hour = in->is_there['H'] ? in->numbers['H'] : half * 12 + twelfth;
    const int64_t minute = number_or(in, 'm', 0), second = number_or(in, 's', 0), millisecond = number_or(in, 'S', 0);
    if (hour < 0 || hour > 23 || twelfth < 0 || twelfth > 11 || minute < 0 || minute > 59 || second < 0 || second > 59) return false;
    if (millisecond < 0 || millisecond > 999) return false;
    *micros = ((hour * 60 + minute) * 60 + second) * NL_MICROS_PER_SECOND + millisecond * 1000;
    return true;
}

bool nl_legacy_parse(nl_str pattern, nl_str text, const nl_timezone *zone, int64_t *utc_micros)
{
    reading in = {.text = text};
    size_t at = 0;
    piece next;
    int64_t days, micros;
    while (next_piece(pattern, &at, &next))
        if (next.letter ? !read_field(&in, &next) : !read_literal(&in, next.text)) return false;
    if (!resolve_date(&in, &days) || !resolve_time(&in, &micros)) return false;
    const int64_t days_max = INT64_MAX / NL_MICROS_PER_DAY - 2;
    if (days > days_max || days < -days_max) return false;
    micros += days * NL_MICROS_PER_DAY;
    if (in.has_offset)
        *utc_micros = micros - in.offset * NL_MICROS_PER_SECOND;
    else
        *utc_micros = nl_timezone_from_local(in.zone ? in.zone : zone, micros);
    return true;
}
