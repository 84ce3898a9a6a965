/* function/interval.c - the three forms of interval text. Fields are read left to right with their ranges: only the
 * first field of a day-time text may be large, hours below 24, minutes and seconds below 60, at most nine fractional
 * digits of which six count (Spark's IntervalUtils, observed).
 */
#include "function/interval.h"

#include "function/kernel.h"

typedef struct scanner {
    nl_str text;
    size_t at;
} scanner;

static bool at_end(const scanner *in)
{
    return in->at >= in->text.length;
}

static bool take(scanner *in, char c)
{
    if (at_end(in) || in->text.data[in->at] != c) return false;
    in->at++;
    return true;
}

static bool take_digits(scanner *in, int64_t max, int64_t *value)
{
    size_t start = in->at;
    int64_t result = 0;
    while (!at_end(in) && in->text.data[in->at] >= '0' && in->text.data[in->at] <= '9') {
        result = result * 10 + (in->text.data[in->at++] - '0');
        if (result > max) return false;
    }
    *value = result;
    return in->at > start;
}

static bool take_sign(scanner *in)
{
    if (take(in, '-')) return true;
    take(in, '+');
    return false;
}

static const char *field_name(uint8_t field)
{
    static const char *const names[] = {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"};
    return names[field];
}

/* Strips "INTERVAL [+-]'…' YEAR TO MONTH" down to what is inside the quotes. False when the fields differ. */
static bool strip_literal(nl_str text, const nl_type *type, nl_str *inner, bool *is_negative)
{
    text = nl_str_trim(text);
    *is_negative = false;
    *inner = text;
    if (!nl_str_starts_nocase(text, NL_STR("INTERVAL"))) return true;
    text = nl_str_trim(nl_str_slice(text, 8, text.length));
    if (text.length > 0 && (text.data[0] == '-' || text.data[0] == '+')) {
        *is_negative = text.data[0] == '-';
        text = nl_str_slice(text, 1, text.length);
    }
    size_t close = nl_str_find_last_char(text, '\'');
    if (text.length < 2 || text.data[0] != '\'' || close == NL_NOT_FOUND || close == 0) return false;
    *inner = nl_str_slice(text, 1, close);
    nl_str unit = nl_str_trim(nl_str_slice(text, close + 1, text.length));
    nl_builder expected;
    nl_builder_init(&expected, 64);
    nl_append_c(&expected, field_name(type->start_field));
    if (type->end_field != type->start_field) nl_append_f(&expected, " TO %s", field_name(type->end_field));
    bool is_same = nl_str_equal_nocase(unit, nl_builder_str(&expected));
    nl_builder_fini(&expected);
    return is_same;
}

bool nl_interval_parse_ym(nl_str text, const nl_type *type, int32_t *months)
{
    nl_str inner;
    bool is_negative;
    if (!strip_literal(text, type, &inner, &is_negative)) return false;
    scanner in = {.text = inner};
    is_negative ^= take_sign(&in);
    int64_t total = 0;
    int64_t field = 0;
    if (!take_digits(&in, INT32_MAX, &field)) return false;
    total = type->start_field == NL_FIELD_YEAR ? field * 12 : field;
    if (type->start_field != type->end_field) {
        if (!take(&in, '-') || !take_digits(&in, 11, &field)) return false;
        total += field;
    }
    if (!at_end(&in)) return false;
    if (is_negative) total = -total;
    if (total > INT32_MAX || total < INT32_MIN) return false;
    *months = (int32_t)total;
    return true;
}

static bool take_fraction(scanner *in, int64_t *micros)
{
    *micros = 0;
    if (!take(in, '.')) return true;
    int64_t scale = 100000;
    uint32_t digits = 0;
    while (!at_end(in) && in->text.data[in->at] >= '0' && in->text.data[in->at] <= '9') {
        *micros += (in->text.data[in->at++] - '0') * scale;
        scale /= 10;
        if (++digits > 9) return false;
    }
    return digits > 0;
}

static const int64_t field_micros[] = {0, 0, NL_MICROS_PER_DAY, 3600 * NL_MICROS_PER_SECOND, 60 * NL_MICROS_PER_SECOND,
                                       NL_MICROS_PER_SECOND};

bool nl_interval_parse_dt(nl_str text, const nl_type *type, int64_t *micros)
{
    static const int64_t later_max[] = {0, 0, 0, 23, 59, 59};
    nl_str inner;
    bool is_negative;
    if (!strip_literal(text, type, &inner, &is_negative)) return false;
    scanner in = {.text = inner};
    is_negative ^= take_sign(&in);
    nl_int128 total = 0;
    for (uint8_t field = type->start_field; field <= type->end_field; field++) {
        if (field > type->start_field && !take(&in, field == NL_FIELD_HOUR ? ' ' : ':')) return false;
        int64_t max = field == type->start_field ? INT64_MAX / 20 : later_max[field];
        int64_t value = 0;
        if (!take_digits(&in, max, &value)) return false;
        total += (nl_int128)value * field_micros[field];
    }
    if (type->end_field == NL_FIELD_SECOND) {
        int64_t fraction = 0;
        if (!take_fraction(&in, &fraction)) return false;
        total += fraction;
    }
    if (!at_end(&in)) return false;
    if (is_negative) total = -total;
    if (total > INT64_MAX || total < INT64_MIN) return false;
    *micros = (int64_t)total;
    return true;
}

typedef struct unit_word {
    const char *word;
    int32_t months;
    int32_t days;
    int64_t micros;
} unit_word;

static const unit_word unit_words[] = {
    {"year", 12, 0, 0},          {"month", 1, 0, 0},           {"week", 0, 7, 0},
    {"day", 0, 1, 0},            {"hour", 0, 0, 3600000000ll}, {"minute", 0, 0, 60000000ll},
    {"second", 0, 0, 1000000ll}, {"millisecond", 0, 0, 1000},  {"microsecond", 0, 0, 1},
};

static const unit_word *find_unit(nl_str name)
{
    if (name.length > 1 && (name.data[name.length - 1] == 's' || name.data[name.length - 1] == 'S'))
        name = nl_str_slice(name, 0, name.length - 1);
    for (uint32_t i = 0; i < NL_COUNT(unit_words); i++)
        if (nl_str_is_nocase(name, unit_words[i].word)) return &unit_words[i];
    return NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(scanner *in)
{
    while (!at_end(in) && is_blank(in->text.data[in->at])) in->at++;
}

/* One "<number> <unit>" pair added to the sum. */
static bool take_pair(scanner *in, nl_int128 sum[3])
{
    bool is_negative = take_sign(in);
    skip_blanks(in);
    int64_t whole = 0;
    int64_t fraction = 0;
    bool has_whole = take_digits(in, INT64_MAX / 20, &whole);
    bool has_point = !at_end(in) && in->text.data[in->at] == '.';
    if (has_point && !take_fraction(in, &fraction)) return false;
    if (!has_whole && !has_point) return false;
    skip_blanks(in);
    size_t start = in->at;
    while (!at_end(in) && !is_blank(in->text.data[in->at])) in->at++;
    const unit_word *unit = find_unit(nl_str_slice(in->text, start, in->at));
    if (unit == NULL || (has_point && unit->micros != NL_MICROS_PER_SECOND)) return false;
    nl_int128 sign = is_negative ? -1 : 1;
    sum[0] += sign * whole * unit->months;
    sum[1] += sign * whole * unit->days;
    sum[2] += sign * ((nl_int128)whole * unit->micros + fraction);
    return true;
}

bool nl_interval_parse(nl_str text, nl_interval *interval)
{
    text = nl_str_trim(text);
    if (nl_str_starts_nocase(text, NL_STR("interval")) && text.length > 8 && is_blank(text.data[8]))
        text = nl_str_trim(nl_str_slice(text, 8, text.length));
    scanner in = {.text = text};
    if (at_end(&in)) return false;
    nl_int128 sum[3] = {0};
    while (!at_end(&in)) {
        if (!take_pair(&in, sum)) return false;
        skip_blanks(&in);
    }
    if (sum[0] > INT32_MAX || sum[0] < INT32_MIN || sum[1] > INT32_MAX || sum[1] < INT32_MIN || sum[2] > INT64_MAX ||
        sum[2] < INT64_MIN)
        return false;
    *interval = (nl_interval){.months = (int32_t)sum[0], .days = (int32_t)sum[1], .micros = (int64_t)sum[2]};
    return true;
}

static const char *format_of(const nl_type *type)
{
    if (type->id == NL_TYPE_INTERVAL_YM) {
        if (type->start_field != type->end_field) return "[+|-]y-m";
        return type->start_field == NL_FIELD_YEAR ? "[+|-]y" : "[+|-]m";
    }
    static const char *const formats[4][4] = {
        {"[+|-]d", "[+|-]d h", "[+|-]d h:m", "[+|-]d h:m:s.n"},
        {"", "[+|-]h", "[+|-]h:m", "[+|-]h:m:s.n"},
        {"", "", "[+|-]m", "[+|-]m:s.n"},
        {"", "", "", "[+|-]s.n"},
    };
    return formats[type->start_field - NL_FIELD_DAY][type->end_field - NL_FIELD_DAY];
}

nl_status nl_interval_raise_format(nl_str text, const nl_type *type)
{
    const char *format = format_of(type);
    nl_builder supported;
    nl_builder name;
    nl_builder_init(&supported, 256);
    nl_builder_init(&name, 64);
    nl_append_f(&supported, "`%s`, `INTERVAL [+|-]'%s' %s", format, format, field_name(type->start_field));
    if (type->end_field != type->start_field) nl_append_f(&supported, " TO %s", field_name(type->end_field));
    nl_append_char(&supported, '`');
    static const char *const lower[] = {"year", "month", "day", "hour", "minute", "second"};
    nl_append_f(&name, "interval %s", lower[type->start_field]);
    if (type->end_field != type->start_field) nl_append_f(&name, " to %s", lower[type->end_field]);
    bool is_ym = type->id == NL_TYPE_INTERVAL_YM;
    nl_status status =
        is_ym ? NL_RAISE(INVALID_INTERVAL_FORMAT__UNMATCHED_FORMAT_STRING, NL_P_STR("input", text),
                         NL_P("intervalStr", "year-month"), NL_P_STR("supportedFormat", nl_builder_str(&supported)),
                         NL_P_STR("typeName", nl_builder_str(&name)))
              : NL_RAISE(INVALID_INTERVAL_FORMAT__UNMATCHED_FORMAT_STRING_WITH_NOTICE, NL_P_STR("input", text),
                         NL_P("intervalStr", "day-time"), NL_P_STR("supportedFormat", nl_builder_str(&supported)),
                         NL_P_STR("typeName", nl_builder_str(&name)));
    nl_builder_fini(&supported);
    nl_builder_fini(&name);
    return status;
}
