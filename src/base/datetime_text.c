/* base/datetime_text.c - dates and timestamps to and from text, in the forms that Spark's casts accept and print.
 *
 * Spark's readers walk over the bytes with a list of fields (year, month, day, hour, minute, second, fraction); so does
 * this one. What they accept beyond the obvious was asked of Spark 4.0.1 and is in number_test.c.
 */
#include "base/number.h"

#define YEAR_DIGITS_MAX_DATE      7
#define YEAR_DIGITS_MAX_TIMESTAMP 6

enum field { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, MICROS, ZONE, FIELD_COUNT };

bool nl_cast_date(nl_str text, int32_t *days)
{
    text = nl_trim_blanks(text);
    int32_t fields[3] = {1, 1, 1};
    int32_t value = 0;
    int digits = 0;
    int field = YEAR;
    size_t at = 0;
    int64_t sign = 1;
    if (text.length > 0 && (text.data[0] == '-' || text.data[0] == '+')) {
        sign = text.data[0] == '-' ? -1 : 1;
        at = 1;
    }
    for (; at < text.length && text.data[at] != ' ' && text.data[at] != 'T'; at++) {
        char c = text.data[at];
        if (c >= '0' && c <= '9') {
            if (++digits > YEAR_DIGITS_MAX_DATE) return false;
            value = value * 10 + (c - '0');
            continue;
        }
        bool is_full = field == YEAR ? digits >= 4 : digits >= 1 && digits <= 2;
        if (c != '-' || field == DAY || !is_full) return false;
        fields[field++] = value;
        value = 0;
        digits = 0;
    }
    bool is_full = field == YEAR ? digits >= 4 : digits >= 1 && digits <= 2;
    if (!is_full || (field != DAY && at < text.length)) return false; /* "…T…" may only follow a day */
    fields[field] = value;
    if (!nl_civil_is_valid(sign * fields[YEAR], fields[MONTH], fields[DAY])) return false;
    int64_t result = nl_days_from_civil(sign * fields[YEAR], fields[MONTH], fields[DAY]);
    if (result < INT32_MIN || result > INT32_MAX) return false;
    *days = (int32_t)result;
    return true;
}

typedef struct reader {
    nl_str text;
    size_t at;
    int32_t fields[FIELD_COUNT];
    int field; /* the one being read */
    int32_t value;
    int digits;
    int fraction_digits;
    bool has_sign;
    bool is_time_only;
    nl_str zone; /* with white space off; only when has_zone */
    bool has_zone;
} reader;

static bool is_full(int field, int digits)
{
    if (field == YEAR) return digits >= 4 && digits <= YEAR_DIGITS_MAX_TIMESTAMP;
    if (field == MICROS) return true;
    if (field == ZONE) return digits <= 2;
    return digits >= 1 && digits <= 2;
}

/* Ends the present field; the next one begins at `next`. */
static bool end_field(reader *in, int store_at, int next)
{
    if (!is_full(store_at, in->digits)) return false;
    in->fields[store_at] = in->value;
    in->value = 0;
    in->digits = 0;
    in->field = next;
    return true;
}

static bool read_separator(reader *in, char c)
{
    switch (in->field) {
    case YEAR:
    case MONTH:
        if (c == '-') return end_field(in, in->field, in->field + 1);
        if (c == 'T' && in->at == 0) {
            in->is_time_only = true;
            in->field = HOUR;
            return true;
        }
        if (c != ':' || in->field != YEAR || in->has_sign) return false;
        in->is_time_only = true;
        return end_field(in, HOUR, MINUTE);
    case DAY: return (c == ' ' || c == 'T') && end_field(in, DAY, HOUR);
    case HOUR:
    case MINUTE: return c == ':' && end_field(in, in->field, in->field + 1);
    case SECOND:
        if (c == '.') return end_field(in, SECOND, MICROS);
        /* fall through */
    case MICROS:
        if (!end_field(in, in->field, ZONE)) return false;
        in->zone = nl_str_trim(nl_str_slice(in->text, in->at, in->text.length));
        in->has_zone = true;
        in->at = in->text.length;
        return true;
    default: return false;
    }
}

/* Takes the text apart; ranges of the fields are not checked yet. */
static bool read_fields(nl_str text, reader *in)
{
    *in = (reader){.text = nl_trim_blanks(text), .fields = {1, 1, 1}};
    bool is_negative = false;
    if (in->text.length > 0 && (in->text.data[0] == '-' || in->text.data[0] == '+')) {
        is_negative = in->text.data[0] == '-';
        in->has_sign = true;
        in->at = 1;
    }
    for (; in->at < in->text.length; in->at++) {
        char c = in->text.data[in->at];
        if (c < '0' || c > '9') {
            if (!read_separator(in, c)) return false;
            continue;
        }
        if (in->field == MICROS) {
            if (in->digits < 6) {
                in->value = in->value * 10 + (c - '0');
                in->fraction_digits++;
            }
        } else if (in->digits < YEAR_DIGITS_MAX_TIMESTAMP) {
            in->value = in->value * 10 + (c - '0');
        }
        in->digits++; /* of a fraction, any number: what is finer than a microsecond is cut */
    }
    if (!in->has_zone && !end_field(in, in->field, in->field)) return false;
    for (int i = in->fraction_digits; i < 6; i++) in->fields[MICROS] *= 10;
    if (is_negative) in->fields[YEAR] = -in->fields[YEAR];
    return true;
}

/* Local microseconds; wide, because the range is checked only after the zone's offset is known. */
static bool to_local(const reader *in, int64_t days, __int128 *micros)
{
    if (in->fields[HOUR] > 23 || in->fields[MINUTE] > 59 || in->fields[SECOND] > 59) return false;
    int64_t second = in->fields[HOUR] * 3600 + in->fields[MINUTE] * 60 + in->fields[SECOND];
    *micros = (__int128)days * NL_MICROS_PER_DAY + second * NL_MICROS_PER_SECOND + in->fields[MICROS];
    return true;
}

static bool fits_64(__int128 value)
{
    return value >= INT64_MIN && value <= INT64_MAX;
}

bool nl_cast_timestamp(nl_str text, const nl_timezone *zone, int64_t *utc_micros)
{
    reader in;
    if (!read_fields(text, &in)) return false;
    if (in.has_zone) {
        nl_status status = nl_timezone_find(in.zone, &zone);
        if (status != NULL) {
            nl_error_free(status);
            return false;
        }
    }
    int64_t days;
    if (in.is_time_only) {
        days = nl_floor_div(nl_timezone_to_local(zone, nl_now_micros()), NL_MICROS_PER_DAY);
    } else {
        if (!nl_civil_is_valid(in.fields[YEAR], in.fields[MONTH], in.fields[DAY])) return false;
        days = nl_days_from_civil(in.fields[YEAR], in.fields[MONTH], in.fields[DAY]);
    }
    __int128 local;
    if (!to_local(&in, days, &local)) return false;
    if (fits_64(local)) {
        *utc_micros = nl_timezone_from_local(zone, (int64_t)local);
        /* A result at an end of the range was clamped there, unless it lies exactly on it. */
        if (*utc_micros != INT64_MIN && *utc_micros != INT64_MAX) return true;
        __int128 exact = local - (__int128)nl_timezone_offset_at(zone, *utc_micros) * NL_MICROS_PER_SECOND;
        return exact == *utc_micros;
    }
    int64_t edge = local < 0 ? INT64_MIN : INT64_MAX;
    __int128 exact = local - (__int128)nl_timezone_offset_at(zone, edge) * NL_MICROS_PER_SECOND;
    if (!fits_64(exact)) return false;
    *utc_micros = (int64_t)exact;
    return true;
}

bool nl_cast_timestamp_ntz(nl_str text, bool allow_zone, int64_t *micros)
{
    reader in;
    if (!read_fields(text, &in) || in.is_time_only) return false;
    if (in.has_zone) { /* is read and checked, then ignored */
        const nl_timezone *zone;
        nl_status status = allow_zone ? nl_timezone_find(in.zone, &zone) : NULL;
        if (!allow_zone) return false;
        if (status != NULL) {
            nl_error_free(status);
            return false;
        }
    }
    if (!nl_civil_is_valid(in.fields[YEAR], in.fields[MONTH], in.fields[DAY])) return false;
    __int128 local;
    if (!to_local(&in, nl_days_from_civil(in.fields[YEAR], in.fields[MONTH], in.fields[DAY]), &local)) return false;
    if (!fits_64(local)) return false;
    *micros = (int64_t)local;
    return true;
}

static uint32_t put_padded(int64_t value, int width, char *out)
{
    char digits[24];
    uint32_t count = nl_format_int64(value, digits);
    uint32_t length = 0;
    for (int i = (int)count; i < width; i++) out[length++] = '0';
    memcpy(out + length, digits, count);
    return length + count;
}

/* At least four digits; a sign for years before 0 and for those that need more than four. */
static uint32_t put_civil_date(const nl_civil *civil, char *out)
{
    uint32_t length = 0;
    int64_t year = civil->year;
    if (year < 0 || year > 9999) out[length++] = year < 0 ? '-' : '+';
    length += put_padded(year < 0 ? -year : year, 4, out + length);
    out[length++] = '-';
    length += put_padded(civil->month, 2, out + length);
    out[length++] = '-';
    return length + put_padded(civil->day, 2, out + length);
}

uint32_t nl_format_date(int32_t days, char *out)
{
    nl_civil civil;
    nl_civil_from_days(days, &civil);
    return put_civil_date(&civil, out);
}

uint32_t nl_format_timestamp(int64_t local_micros, char *out)
{
    nl_civil civil;
    nl_civil_from_micros(local_micros, &civil);
    uint32_t length = put_civil_date(&civil, out);
    out[length++] = ' ';
    length += put_padded(civil.hour, 2, out + length);
    out[length++] = ':';
    length += put_padded(civil.minute, 2, out + length);
    out[length++] = ':';
    length += put_padded(civil.second, 2, out + length);
    if (civil.microsecond == 0) return length;
    out[length++] = '.';
    length += put_padded(civil.microsecond, 6, out + length);
    while (out[length - 1] == '0') length--;
    return length;
}
