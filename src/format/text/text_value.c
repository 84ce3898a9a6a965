/* format/text/text_value.c - values between text and columns. */
#include "base/number.h"
#include "format/text/text_value.h"

static bool is_blank(char c)
{
    return (uint8_t)c <= ' ';
}

static bool has_blank_ends(nl_str text)
{
    return text.length > 0 && (is_blank(text.data[0]) || is_blank(text.data[text.length - 1]));
}

/* Words are taken only as Java spells them; the number parser below is laxer. */
static bool is_java_number(nl_str text)
{
    size_t start = 0;
    while (start < text.length && is_blank(text.data[start]))
        start++;
    while (text.length > start && is_blank(text.data[text.length - 1]))
        text.length--;
    if (start < text.length && (text.data[start] == '+' || text.data[start] == '-')) start++;
    nl_str number = nl_str_slice(text, start, text.length);
    if (number.length == 0) return false;
    char first = number.data[0];
    if ((first >= '0' && first <= '9') || first == '.') return true;
    return nl_str_is(number, "NaN") || nl_str_is(number, "Infinity");
}

bool nl_text_parse_double(nl_str text, double *value)
{
    return is_java_number(text) && nl_parse_double(text, value);
}

bool nl_text_parse_float(nl_str text, float *value)
{
    return is_java_number(text) && nl_parse_float(text, value);
}

/* Thousands separators are dropped, as Spark does in the American locale. */
static bool parse_decimal(const nl_type *type, nl_str text, nl_int128 *value)
{
    char plain[400];
    if (has_blank_ends(text)) return false;
    if (text.length && memchr(text.data, ',', text.length)) {
        size_t length = 0;
        if (text.length > sizeof plain) return false;
        for (size_t i = 0; i < text.length; i++) {
            if (text.data[i] != ',') plain[length++] = text.data[i];
        }
        text = (nl_str){plain, length};
    }
    return nl_cast_decimal(text, type->precision, type->scale, value, NULL);
}

static bool skip_blanks(nl_str text, size_t *at)
{
    size_t start = *at;
    while (*at < text.length && is_blank(text.data[*at]))
        (*at)++;
    return *at > start;
}

static bool take_word(nl_str text, size_t *at, const char *word)
{
    nl_str expected = nl_str_from(word);
    if (!nl_str_starts_nocase(nl_str_slice(text, *at, text.length), expected)) return false;
    *at += expected.length;
    return true;
}

static bool take_number(nl_str text, size_t *at, uint32_t digits_max, int64_t *value)
{
    uint32_t count = 0;
    *value = 0;
    for (; *at < text.length && text.data[*at] >= '0' && text.data[*at] <= '9'; (*at)++) {
        if (++count > digits_max) return false;
        *value = *value * 10 + (text.data[*at] - '0');
    }
    return count > 0;
}

static const char *const unit_names[] = {"year", "month", "day", "hour", "minute", "second"};

/* "INTERVAL '…' DAY TO SECOND" becomes what is in the quotes; a bare text stays. False: other units. */
static bool unwrap_interval(const nl_type *type, nl_str text, nl_str *inner)
{
    size_t at = 0;
    *inner = nl_str_trim(text);
    if (!take_word(*inner, &at, "interval")) return true;
    nl_str whole = *inner;
    if (!skip_blanks(whole, &at) || at >= whole.length || whole.data[at] != '\'') return false;
    size_t end = nl_str_find_char(whole, '\'', at + 1);
    if (end == NL_NOT_FOUND) return false;
    *inner = nl_str_slice(whole, at + 1, end);
    at = end + 1;
    if (!skip_blanks(whole, &at) || !take_word(whole, &at, unit_names[type->start_field])) return false;
    if (type->start_field != type->end_field &&
        (!skip_blanks(whole, &at) || !take_word(whole, &at, "to") || !skip_blanks(whole, &at) ||
         !take_word(whole, &at, unit_names[type->end_field])))
        return false;
    return at == whole.length;
}

static bool parse_fraction(nl_str text, size_t *at, int64_t *micros)
{
    int64_t unit = 100000;
    uint32_t count = 0;
    if (*at >= text.length || text.data[*at] != '.') return true;
    for (*at += 1; *at < text.length && text.data[*at] >= '0' && text.data[*at] <= '9'; (*at)++, unit /= 10) {
        if (++count > 9) return false;
        *micros += (text.data[*at] - '0') * unit;
    }
    return count > 0;
}

bool nl_text_parse_interval(const nl_type *type, nl_str text, int64_t *value)
{
    static const int64_t units[] = {12, 1, 86400000000ll, 3600000000ll, 60000000ll, 1000000ll};
    static const int64_t rest_max[] = {0, 11, 0, 23, 59, 59};
    static const char separators[] = {0, '-', 0, ' ', ':', ':'};
    nl_str inner;
    size_t at = 0;
    int64_t total = 0;
    if (!unwrap_interval(type, text, &inner)) return false;
    bool is_negative = at < inner.length && inner.data[at] == '-';
    if (at < inner.length && (inner.data[at] == '-' || inner.data[at] == '+')) at++;
    for (uint8_t field = type->start_field; field <= type->end_field; field++) {
        int64_t count, part;
        if (field > type->start_field && (at >= inner.length || inner.data[at++] != separators[field])) return false;
        if (!take_number(inner, &at, field > type->start_field ? 2 : 18, &count)) return false;
        if (field > type->start_field && count > rest_max[field]) return false;
        if (__builtin_mul_overflow(count, units[field], &part) || __builtin_add_overflow(total, part, &total))
            return false;
    }
    if (type->end_field == NL_FIELD_SECOND && !parse_fraction(inner, &at, &total)) return false;
    if (at != inner.length || total < 0 || (type->id == NL_TYPE_INTERVAL_YM && total > INT32_MAX)) return false;
    *value = is_negative ? -total : total;
    return true;
}

static bool parse_date(const nl_text_formats *formats, nl_str text, nl_value *value)
{
    int32_t days;
    if (!(formats->date ? nl_datetime_parse_date(formats->date, text, &days) : nl_cast_date(text, &days))) return false;
    value->integer = days;
    return true;
}

bool nl_text_parse_value(const nl_text_formats *formats, const nl_type *type, nl_str text, nl_value *value)
{
    *value = (nl_value){.type = type};
    switch ((int)type->id) {
    case NL_TYPE_DATE:
        return parse_date(formats, text, value);
    case NL_TYPE_TIMESTAMP:
        if (formats->timestamp) return nl_datetime_parse_timestamp(formats->timestamp, text, formats->zone, &value->integer);
        return nl_cast_timestamp(text, formats->zone, &value->integer);
    case NL_TYPE_TIMESTAMP_NTZ:
        if (formats->timestamp_ntz) return nl_datetime_parse_ntz(formats->timestamp_ntz, text, false, &value->integer);
        return nl_cast_timestamp_ntz(text, false, &value->integer);
    case NL_TYPE_INTERVAL_YM:
    case NL_TYPE_INTERVAL_DT:
        return nl_text_parse_interval(type, text, &value->integer);
    case NL_TYPE_DECIMAL:
        return parse_decimal(type, text, &value->decimal);
    case NL_TYPE_DOUBLE:
        return nl_text_parse_double(text, &value->real);
    case NL_TYPE_FLOAT: {
        float real;
        if (!nl_text_parse_float(text, &real)) return false;
        value->real = (double)real;
        return true;
    }
    default:
        return false; /* VARIANT, calendar intervals: no text is one of theirs */
    }
}

nl_status nl_text_append_datetime(const nl_text_formats *formats, nl_type_id id, int64_t value, nl_builder *out)
{
    if (id == NL_TYPE_DATE) return nl_datetime_format_date(formats->date, (int32_t)value, out);
    if (id == NL_TYPE_TIMESTAMP) return nl_datetime_format_timestamp(formats->timestamp, value, formats->zone, out);
    NL_ASSERT(id == NL_TYPE_TIMESTAMP_NTZ);
    return nl_datetime_format(formats->timestamp_ntz, value, NULL, 0, out);
}

nl_str nl_text_valid_utf8(nl_str text, nl_builder *scratch)
{
    if (nl_utf8_is_valid(text)) return text;
    nl_builder_clear(scratch);
    for (size_t at = 0; at < text.length;)
        nl_append_code_point(scratch, nl_utf8_decode(text, &at));
    return nl_builder_str(scratch);
}
