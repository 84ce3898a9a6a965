/* base/datetime_format.c - date-time patterns to text. */
#include "base/datetime_legacy.h"
#include "base/zone_names.h"

typedef struct moment {
    nl_civil civil;
    int64_t days;
    int64_t local_micros;
    bool has_time;
    const nl_timezone *zone; /* NULL: none */
    int32_t offset;
} moment;

static const char *const field_names[NL_DT_FIELD_COUNT] = {
    [NL_DT_AMPM] = "AmPmOfDay",          [NL_DT_CLOCK_HOUR_12] = "ClockHourOfAmPm", [NL_DT_HOUR_12] = "HourOfAmPm",
    [NL_DT_CLOCK_HOUR_24] = "ClockHourOfDay", [NL_DT_HOUR_24] = "HourOfDay",        [NL_DT_MINUTE] = "MinuteOfHour",
    [NL_DT_SECOND] = "SecondOfMinute",   [NL_DT_NANO] = "NanoOfSecond",
};

static int64_t field_value(const moment *at, nl_datetime_field field)
{
    const nl_civil *c = &at->civil;
    switch (field) {
    case NL_DT_ERA:
        return c->year > 0;
    case NL_DT_YEAR:
        return c->year;
    case NL_DT_YEAR_OF_ERA:
        return c->year > 0 ? c->year : 1 - (int64_t)c->year;
    case NL_DT_MONTH:
        return c->month;
    case NL_DT_DAY:
        return c->day;
    case NL_DT_DAY_OF_YEAR:
        return nl_day_of_year(at->days);
    case NL_DT_QUARTER:
        return (c->month - 1) / 3 + 1;
    case NL_DT_WEEKDAY:
        return nl_day_of_week(at->days);
    case NL_DT_ALIGNED_DAY:
        return (c->day - 1) % 7 + 1;
    case NL_DT_AMPM:
        return c->hour / 12;
    case NL_DT_CLOCK_HOUR_12:
        return c->hour % 12 ? c->hour % 12 : 12;
    case NL_DT_HOUR_12:
        return c->hour % 12;
    case NL_DT_CLOCK_HOUR_24:
        return c->hour ? c->hour : 24;
    case NL_DT_HOUR_24:
        return c->hour;
    case NL_DT_MINUTE:
        return c->minute;
    case NL_DT_SECOND:
        return c->second;
    case NL_DT_NANO:
        return (int64_t)c->microsecond * 1000;
    case NL_DT_FIELD_COUNT:
        break;
    }
    return 0;
}

static nl_status append_number(const nl_datetime_item *item, int64_t value, nl_builder *out)
{
    char digits[24];
    uint32_t length = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[sizeof digits - ++length] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (length > item->max_width)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%lld has more digits than the pattern allows: %u",
                             (long long)value, item->max_width);
    if (value < 0)
        nl_append_char(out, '-');
    else if (item->sign == NL_SIGN_EXCEEDS && length > item->min_width)
        nl_append_char(out, '+');
    if (length < item->min_width) nl_append_fill(out, '0', item->min_width - length);
    nl_append(out, (nl_str){digits + sizeof digits - length, length});
    return NULL;
}

static void append_fraction(const nl_datetime_item *item, int64_t nanos, nl_builder *out)
{
    int64_t unit = 100000000;
    for (uint32_t i = 0; i < item->max_width; i++, unit /= 10)
        nl_append_char(out, (char)('0' + nanos / unit % 10));
}

static void append_offset(const nl_datetime_item *item, int32_t offset, nl_builder *out)
{
    if (offset == 0) {
        nl_append(out, item->text);
        return;
    }
    int32_t seconds = offset < 0 ? -offset : offset;
    nl_datetime_offset_form form = item->offset_form;
    bool has_colons = form == NL_OFFSET_HH_MM || form == NL_OFFSET_HH_MM_SS_IF;
    bool has_seconds = (form == NL_OFFSET_HHMM_SS_IF || form == NL_OFFSET_HH_MM_SS_IF) && seconds % 60;
    nl_append_f(out, "%c%02d", offset < 0 ? '-' : '+', seconds / 3600);
    if (form == NL_OFFSET_HH_MM_IF && seconds / 60 % 60 == 0) return;
    nl_append_f(out, "%s%02d", has_colons ? ":" : "", seconds / 60 % 60);
    if (has_seconds) nl_append_f(out, "%s%02d", has_colons ? ":" : "", seconds % 60);
}

/* GMT, GMT+8, GMT+8:30; full: GMT+08:00. */
static void append_local_offset(const nl_datetime_item *item, int32_t offset, nl_builder *out)
{
    int32_t seconds = offset < 0 ? -offset : offset;
    nl_append_c(out, "GMT");
    if (seconds == 0) return;
    nl_append_char(out, offset < 0 ? '-' : '+');
    nl_append_f(out, item->is_full ? "%02d" : "%d", seconds / 3600);
    if (item->is_full || seconds % 3600) nl_append_f(out, ":%02d", seconds / 60 % 60);
    if (seconds % 60) nl_append_f(out, ":%02d", seconds % 60);
}

static nl_status append_zone_name(const nl_datetime_item *item, const moment *at, nl_builder *out)
{
    nl_str name = nl_zone_display_name(at->zone, at->local_micros - at->offset * NL_MICROS_PER_SECOND, item->is_full);
    nl_append(out, name.length ? name : nl_timezone_name(at->zone));
    return NULL;
}

static nl_status append_field(const nl_datetime_item *item, const moment *at, nl_builder *out)
{
    int64_t value = field_value(at, item->field);
    switch ((int)item->kind) {
    case NL_ITEM_REDUCED:
        nl_append_f(out, "%02lld", (long long)((value < 0 ? -value : value) % 100));
        return NULL;
    case NL_ITEM_FRACTION:
        append_fraction(item, value, out);
        return NULL;
    case NL_ITEM_TEXT: {
        uint32_t count;
        const char *const *texts = nl_datetime_texts(item->field, item->is_full, &count);
        NL_ASSERT(value >= 0 && value < count);
        nl_append_c(out, texts[value]);
        return NULL;
    }
    default:
        return append_number(item, value, out);
    }
}

/* False when the moment lacks what the item asks for. */
static bool has_item(const nl_datetime_item *item, const moment *at)
{
    switch (item->kind) {
    case NL_ITEM_NUMBER:
    case NL_ITEM_REDUCED:
    case NL_ITEM_FRACTION:
    case NL_ITEM_TEXT:
        return at->has_time || item->field < NL_DT_AMPM;
    case NL_ITEM_OFFSET:
    case NL_ITEM_LOCAL_OFFSET:
    case NL_ITEM_ZONE_ID:
    case NL_ITEM_ZONE_NAME:
        return at->zone != NULL;
    case NL_ITEM_LITERAL:
    case NL_ITEM_OPTIONAL:
    case NL_ITEM_OPTIONAL_END:
        break;
    }
    return true;
}

static nl_status append_item(const nl_datetime_item *item, const moment *at, nl_builder *out)
{
    switch (item->kind) {
    case NL_ITEM_LITERAL:
        nl_append(out, item->text);
        break;
    case NL_ITEM_OFFSET:
        append_offset(item, at->offset, out);
        break;
    case NL_ITEM_LOCAL_OFFSET:
        append_local_offset(item, at->offset, out);
        break;
    case NL_ITEM_ZONE_ID:
        nl_append(out, nl_timezone_name(at->zone));
        break;
    case NL_ITEM_ZONE_NAME:
        return append_zone_name(item, at, out);
    case NL_ITEM_NUMBER:
    case NL_ITEM_REDUCED:
    case NL_ITEM_FRACTION:
    case NL_ITEM_TEXT:
        return append_field(item, at, out);
    case NL_ITEM_OPTIONAL:
    case NL_ITEM_OPTIONAL_END:
        break;
    }
    return NULL;
}

static nl_status unsupported_field(const nl_datetime_item *item)
{
    bool is_field = item->kind == NL_ITEM_NUMBER || item->kind == NL_ITEM_TEXT || item->kind == NL_ITEM_FRACTION;
    const char *name = is_field && field_names[item->field] ? field_names[item->field] : "OffsetSeconds";
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Unsupported field: %s", name);
}

static nl_status append_items(const nl_datetime_pattern *pattern, const moment *at, nl_builder *out)
{
    struct {
        uint32_t end;
        size_t length;
    } open[NL_DATETIME_NESTING_MAX];
    uint32_t open_count = 0;
    for (uint32_t i = 0; i < pattern->count; i++) {
        const nl_datetime_item *item = &pattern->items[i];
        if (item->kind == NL_ITEM_OPTIONAL) {
            open[open_count].end = item->end;
            open[open_count++].length = out->length;
        } else if (item->kind == NL_ITEM_OPTIONAL_END) {
            open_count--;
        } else if (has_item(item, at)) {
            NL_TRY(append_item(item, at, out));
        } else if (open_count > 0) { /* the optional part is left out as a whole */
            open_count--;
            out->length = open[open_count].length;
            if (out->data) out->data[out->length] = '\0';
            i = open[open_count].end;
        } else {
            return unsupported_field(item);
        }
    }
    return NULL;
}

nl_status nl_datetime_format(const nl_datetime_pattern *pattern, int64_t local_micros, const nl_timezone *zone,
                             int32_t offset_seconds, nl_builder *out)
{
    if (pattern->is_legacy) {
        nl_legacy_format(pattern->source, local_micros, zone, offset_seconds, out);
        return NULL;
    }
    moment at = {.local_micros = local_micros, .has_time = true, .zone = zone, .offset = offset_seconds};
    nl_civil_from_micros(local_micros, &at.civil);
    at.days = nl_floor_div(local_micros, NL_MICROS_PER_DAY);
    return append_items(pattern, &at, out);
}

nl_status nl_datetime_format_timestamp(const nl_datetime_pattern *pattern, int64_t utc_micros, const nl_timezone *zone,
                                       nl_builder *out)
{
    int32_t offset = nl_timezone_offset_at(zone, utc_micros);
    return nl_datetime_format(pattern, utc_micros + offset * NL_MICROS_PER_SECOND, zone, offset, out);
}

nl_status nl_datetime_format_date(const nl_datetime_pattern *pattern, int32_t days, nl_builder *out)
{
    if (pattern->is_legacy) return nl_datetime_format(pattern, days * NL_MICROS_PER_DAY, NULL, 0, out);
    moment at = {.days = days};
    nl_civil_from_days(days, &at.civil);
    return append_items(pattern, &at, out);
}
