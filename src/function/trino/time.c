/* trino/time.c - dates and times as Trino has them. Sessions are in UTC, so a TIMESTAMP's micros are its local time, too.
 *
 * Both kinds of patterns, MySQL's (date_format, date_parse) and Joda's (format_datetime, parse_datetime), are read into the same items: a
 * letter of Joda's and how often it stands there, or text. Source: Trino's documentation, "Date and time functions and operators"; Joda-Time's
 * DateTimeFormat; Trino's answers in tests/trino/datetime.test.
 */
#include "base/number.h"
#include "function/groups.h"
#include "function/list.h"

#include <ctype.h>
#include <math.h>

#define INVALID(...) NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, __VA_ARGS__)

static nl_str text_of(const nl_row_context *context, uint32_t i, uint32_t row)
{
    return nl_reader_str(&context->readers[i], row);
}

/* A date's or a timestamp's microseconds. */
static int64_t micros_of(const nl_row_context *context, uint32_t i, uint32_t row)
{
    const nl_reader *reader = &context->readers[i];
    if (context->function->argument_types[i]->id == NL_TYPE_DATE) return nl_reader_i32(reader, row) * NL_MICROS_PER_DAY;
    return nl_reader_i64(reader, row);
}

static void set_micros(nl_row_context *context, uint32_t row, int64_t micros)
{
    if (context->function->result_type->id == NL_TYPE_DATE) ((int32_t *)context->output.values)[row] = (int32_t)nl_floor_div(micros, NL_MICROS_PER_DAY);
    else ((int64_t *)context->output.values)[row] = micros;
}

/* --- units --- */

typedef struct time_unit {
    const char *name;
    int32_t months;
    int64_t micros;
} time_unit;

static const time_unit units[] = {
    {"millisecond", 0, 1000}, {"second", 0, 1000000}, {"minute", 0, 60000000}, {"hour", 0, 3600000000}, {"day", 0, NL_MICROS_PER_DAY},
    {"week", 0, 7 * NL_MICROS_PER_DAY}, {"month", 1, 0}, {"quarter", 3, 0}, {"year", 12, 0},
};

static nl_status unit_of(nl_row_context *context, uint32_t row, uint32_t time, const time_unit **found)
{
    const nl_str name = text_of(context, 0, row);
    const bool is_date = context->function->argument_types[time]->id == NL_TYPE_DATE;
    for (size_t i = is_date ? 4 : 0; i < NL_COUNT(units); i++) {
        if (!nl_str_is_nocase(name, units[i].name)) continue;
        *found = &units[i];
        return NULL;
    }
    return INVALID("'" NL_STR_FMT "' is not a valid %s field", NL_STR_ARG(name), is_date ? "DATE" : "TIMESTAMP");
}

/* date_trunc(unit, x): weeks begin on Mondays. */
static nl_status trunc_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const time_unit *by = NULL;
    NL_TRY(unit_of(context, row, 1, &by));
    int64_t micros = micros_of(context, 1, row);
    const int64_t days = nl_floor_div(micros, NL_MICROS_PER_DAY);
    nl_civil at;
    nl_civil_from_days(days, &at);
    if (by->months) micros = nl_days_from_civil(at.year, by->months == 12 ? 1 : at.month - (at.month - 1) % by->months, 1) * NL_MICROS_PER_DAY;
    else if (by->micros > NL_MICROS_PER_DAY) micros = (days - nl_day_of_week(days) + 1) * NL_MICROS_PER_DAY;
    else micros -= nl_floor_mod(micros, by->micros);
    set_micros(context, row, micros);
    return NULL;
}
NL_VALUE_KERNEL(trunc_kernel, trunc_row)

static nl_status out_of_range(void)
{
    return INVALID("The date or timestamp is out of range");
}

static nl_status move(int64_t micros, const time_unit *by, int64_t amount, int64_t *moved)
{
    if (by->micros) {
        int64_t step;
        if (__builtin_mul_overflow(amount, by->micros, &step) || __builtin_add_overflow(micros, step, moved)) return out_of_range();
        return NULL;
    }
    const int64_t days = nl_floor_div(micros, NL_MICROS_PER_DAY), of_day = micros - days * NL_MICROS_PER_DAY;
    if (amount > 100000000 || amount < -100000000) return out_of_range();
    const int64_t day = nl_add_months(days, amount * by->months);
    if (day > 106751990 || day < -106751990) return out_of_range();
    *moved = day * NL_MICROS_PER_DAY + of_day;
    return NULL;
}

static int64_t round_to(int64_t micros, int64_t digits)
{
    int64_t unit = 1;
    for (int64_t i = digits; i < 6; i++) unit *= 10;
    return nl_floor_div(micros + unit / 2, unit) * unit;
}

static nl_status add_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const time_unit *by = NULL;
    int64_t moved;
    NL_TRY(unit_of(context, row, 2, &by));
    NL_TRY(move(micros_of(context, 2, row), by, nl_reader_i64(&context->readers[1], row), &moved));
    const nl_type *type = context->function->result_type;
    if (type->id != NL_TYPE_DATE && type->precision) moved = round_to(moved, type->precision - 1);
    set_micros(context, row, moved);
    return NULL;
}
NL_VALUE_KERNEL(add_kernel, add_row)

/* Whole units from a to b: as many as can be added to a without passing b. */
static nl_status diff_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const time_unit *by = NULL;
    NL_TRY(unit_of(context, row, 1, &by));
    const int64_t a = micros_of(context, 1, row), b = micros_of(context, 2, row);
    int64_t count = 0, moved;
    if (by->micros) {
        count = (int64_t)(((nl_int128)b - a) / by->micros);
    } else {
        nl_civil from, to;
        nl_civil_from_micros(a, &from);
        nl_civil_from_micros(b, &to);
        count = ((int64_t)(to.year - from.year) * 12 + to.month - from.month) / by->months;
        NL_TRY(move(a, by, count, &moved));
        if (b >= a && moved > b) count--;
        if (b < a && moved < b) count++;
    }
    ((int64_t *)context->output.values)[row] = count;
    return NULL;
}
NL_VALUE_KERNEL(diff_kernel, diff_row)

static nl_status bind_same_type(nl_bind *bind, nl_bound_function *bound)
{
    bound->result_type = bind->argument_types[bind->argument_count - 1];
    return NULL;
}

/* --- patterns --- */

typedef struct item {
    char letter; /* of Joda's; 0: the text */
    int32_t count;
    nl_str text;
} item;

enum { ITEMS_MAX = 256 };

typedef struct pattern {
    item items[ITEMS_MAX];
    uint32_t count;
} pattern;

static nl_status add_item(pattern *self, char letter, int32_t count, nl_str text)
{
    if (self->count >= ITEMS_MAX) return INVALID("The pattern is too long");
    self->items[self->count++] = (item){letter, count, text};
    return NULL;
}

/* 'text', in which '' is a quote, and '' alone, which is one, too. */
static nl_status read_quoted(nl_str text, size_t *at, pattern *self)
{
    size_t i = *at + 1;
    const bool is_quote = i < text.length && text.data[i] == '\'';
    *at = i + 1;
    if (is_quote) return add_item(self, 0, 0, NL_STR("'"));
    for (;;) {
        const size_t end = nl_str_find_char(text, '\'', i);
        if (end == NL_NOT_FOUND) return INVALID("The pattern '" NL_STR_FMT "' has a quote that does not close", NL_STR_ARG(text));
        const bool goes_on = end + 1 < text.length && text.data[end + 1] == '\'';
        NL_TRY(add_item(self, 0, 0, nl_str_slice(text, i, end + goes_on)));
        *at = end + 1;
        if (!goes_on) return NULL;
        i = end + 2;
    }
}

static nl_status read_joda(nl_str text, pattern *self)
{
    for (size_t i = 0; i < text.length;) {
        size_t end = i;
        const char c = text.data[i];
        if (c == '\'') {
            NL_TRY(read_quoted(text, &i, self));
            continue;
        }
        while (end < text.length && text.data[end] == c) end++;
        if (!isalpha((unsigned char)c)) NL_TRY(add_item(self, 0, 0, nl_str_slice(text, i, end)));
        else if (strchr("yYxweEDMdaKhHkmsS", c)) NL_TRY(add_item(self, c, (int32_t)(end - i), (nl_str){0}));
        else return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The letter %c in the pattern '" NL_STR_FMT "' is not supported", c, NL_STR_ARG(text));
        i = end;
    }
    return NULL;
}

static const struct {
    char letter;
    const char *joda;
} mysql_letters[] = {{'Y', "yyyy"}, {'y', "yy"}, {'m', "MM"}, {'c', "M"}, {'d', "dd"}, {'e', "d"}, {'H', "HH"}, {'k', "H"}, {'h', "hh"}, {'I', "hh"}, {'l', "h"}, {'i', "mm"}, {'s', "ss"},
                     {'S', "ss"}, {'f', "SSSSSS"}, {'p', "a"}, {'M', "MMMM"}, {'b', "MMM"}, {'W', "EEEE"}, {'a', "E"}, {'j', "DDD"}, {'v', "ww"}, {'x', "xxxx"}, {'T', "HH:mm:ss"},
                     {'r', "hh:mm:ss a"}};

static nl_status read_mysql(nl_str text, pattern *self)
{
    for (size_t i = 0; i < text.length;) {
        size_t end = i;
        while (end < text.length && text.data[end] != '%') end++;
        if (end > i) NL_TRY(add_item(self, 0, 0, nl_str_slice(text, i, end)));
        i = end + 2;
        if (end + 1 >= text.length) continue;
        const char letter = text.data[end + 1];
        const char *joda = NULL;
        for (size_t k = 0; k < NL_COUNT(mysql_letters); k++)
            if (mysql_letters[k].letter == letter) joda = mysql_letters[k].joda;
        if (joda) NL_TRY(read_joda(nl_str_from(joda), self));
        else if (strchr("DUuVwX", letter)) return INVALID("%%%c not supported in date format string", letter);
        else NL_TRY(add_item(self, 0, 0, nl_str_slice(text, end + 1, end + 2)));
    }
    return NULL;
}

static bool is_mysql(const nl_row_context *context)
{
    const char *name = context->function->row->name;
    return strcmp(name, "trino_date_format") == 0 || strcmp(name, "trino_date_parse") == 0;
}

static nl_status read_pattern(const nl_row_context *context, nl_str text, pattern *self)
{
    self->count = 0;
    return is_mysql(context) ? read_mysql(text, self) : read_joda(text, self);
}

static const char *const month_names[] = {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"};
static const char *const day_names[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

static void format_item(const item *one, int64_t micros, nl_builder *out)
{
    nl_civil at;
    int32_t week_year, week;
    const int64_t days = nl_floor_div(micros, NL_MICROS_PER_DAY);
    nl_civil_from_micros(micros, &at);
    nl_iso_week(days, &week_year, &week);
    const int32_t micro = (int32_t)nl_floor_mod(micros, 1000000), year = one->letter == 'x' ? week_year : at.year, hour = at.hour % 12;
    const int32_t width = NL_MIN(one->count, 18);
    switch (one->letter) {
    case 0: nl_append(out, one->text); break;
    case 'y':
    case 'Y':
    case 'x':
        if (one->count == 2) nl_append_f(out, "%02d", (int)nl_floor_mod(year, 100));
        else nl_append_f(out, "%0*d", width, year);
        break;
    case 'w': nl_append_f(out, "%0*d", width, week); break;
    case 'e': nl_append_f(out, "%0*d", width, nl_day_of_week(days)); break;
    case 'E':
        if (one->count >= 4) nl_append_c(out, day_names[nl_day_of_week(days) - 1]);
        else nl_append_f(out, "%.3s", day_names[nl_day_of_week(days) - 1]);
        break;
    case 'D': nl_append_f(out, "%0*d", width, nl_day_of_year(days)); break;
    case 'M':
        if (one->count >= 4) nl_append_c(out, month_names[at.month - 1]);
        else if (one->count == 3) nl_append_f(out, "%.3s", month_names[at.month - 1]);
        else nl_append_f(out, "%0*d", width, at.month);
        break;
    case 'd': nl_append_f(out, "%0*d", width, at.day); break;
    case 'a': nl_append_c(out, at.hour < 12 ? "AM" : "PM"); break;
    case 'K': nl_append_f(out, "%0*d", width, hour); break;
    case 'h': nl_append_f(out, "%0*d", width, hour ? hour : 12); break;
    case 'H': nl_append_f(out, "%0*d", width, at.hour); break;
    case 'k': nl_append_f(out, "%0*d", width, at.hour ? at.hour : 24); break;
    case 'm': nl_append_f(out, "%0*d", width, at.minute); break;
    case 's': nl_append_f(out, "%0*d", width, at.second); break;
    default: /* S: digits of the millisecond, which is all that Joda knows */
        for (int32_t i = 0, rest = micro / 1000 * 1000, unit = 100000; i < width; i++, unit /= 10) {
            nl_append_char(out, unit ? (char)('0' + rest / unit % 10) : '0');
        }
    }
}

static nl_status format_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    pattern made;
    const int64_t micros = micros_of(context, 0, row);
    NL_TRY(read_pattern(context, text_of(context, 1, row), &made));
    for (uint32_t i = 0; i < made.count; i++) format_item(&made.items[i], micros, &context->text);
    return NULL;
}
NL_TEXT_KERNEL(format_kernel, format_row)

typedef struct parsed {
    int32_t year, month, day, day_of_year, hour, minute, second, micro;
    int32_t is_pm; /* -1: not said */
    bool has_year, has_day;
} parsed;

static bool take_name(nl_str text, size_t *at, const char *const *names, uint32_t count, int32_t *found)
{
    for (int pass = 0; pass < 2; pass++) { /* whole names before their first three letters */
        for (uint32_t i = 0; i < count; i++) {
            const nl_str name = pass ? (nl_str){names[i], 3} : nl_str_from(names[i]);
            if (!nl_str_starts_nocase(nl_str_slice(text, *at, text.length), name)) continue;
            *at += name.length;
            *found = (int32_t)i;
            return true;
        }
    }
    return false;
}

static bool take_number(nl_str text, size_t *at, int32_t digits_max, int32_t *number)
{
    const size_t start = *at;
    int64_t value = 0;
    while (*at < text.length && (int32_t)(*at - start) < digits_max && isdigit((unsigned char)text.data[*at])) value = value * 10 + text.data[(*at)++] - '0';
    *number = (int32_t)value;
    return *at > start;
}

/* Whether what follows begins with digits: then this field has exactly its digits. */
static bool is_numeric(const pattern *self, uint32_t i)
{
    return i < self->count && self->items[i].letter && !strchr("Ea", self->items[i].letter) && !(self->items[i].letter == 'M' && self->items[i].count > 2);
}

static bool take_item(const pattern *self, uint32_t i, nl_str text, size_t *at, parsed *into)
{
    static const char *const halves[] = {"AM ", "PM "};
    const item *one = &self->items[i];
    int32_t number = 0;
    const bool is_tight = is_numeric(self, i + 1);
    if (!one->letter) {
        if (!nl_str_starts_nocase(nl_str_slice(text, *at, text.length), one->text)) return false;
        *at += one->text.length;
        return true;
    }
    if (one->letter == 'a') {
        for (int32_t k = 0; k < 2; k++) {
            if (!nl_str_starts_nocase(nl_str_slice(text, *at, text.length), (nl_str){halves[k], 2})) continue;
            into->is_pm = k;
            *at += 2;
            return true;
        }
        return false;
    }
    if (one->letter == 'E') return take_name(text, at, day_names, 7, &number);
    if (one->letter == 'M' && one->count > 2) {
        if (!take_name(text, at, month_names, 12, &number)) return false;
        into->month = number + 1;
        return into->has_day = true;
    }
    if (one->letter == 'S') {
        const size_t start = *at;
        while (*at < text.length && isdigit((unsigned char)text.data[*at]) && *at - start < 9) (*at)++;
        for (size_t k = 0; k < 6; k++) into->micro = into->micro * 10 + (k < *at - start && k < 3 ? text.data[start + k] - '0' : 0);
        return *at > start;
    }
    const bool is_year = one->letter == 'y' || one->letter == 'Y';
    const int32_t digits = is_year ? (one->count == 2 ? 2 : is_tight ? one->count : 9) : one->letter == 'D' ? 3 : 2;
    if (!take_number(text, at, digits, &number)) return false;
    switch (one->letter) {
    case 'y':
    case 'Y':
        into->year = one->count == 2 ? (number < 70 ? 2000 : 1900) + number : number;
        into->has_year = true;
        break;
    case 'M': into->month = number; into->has_day = true; break;
    case 'd': into->day = number; into->has_day = true; break;
    case 'D': into->day_of_year = number; into->has_day = true; break;
    case 'H': into->hour = number; break;
    case 'k': into->hour = number % 24; break;
    case 'K':
    case 'h': into->hour = number % 12; break;
    case 'm': into->minute = number; break;
    case 's': into->second = number; break;
    default: return false;
    }
    return true;
}

static nl_status parse_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    pattern made;
    parsed into = {.year = 1970, .month = 1, .day = 1, .is_pm = -1};
    const nl_str text = text_of(context, 0, row);
    size_t at = 0;
    bool is_good = true;
    NL_TRY(read_pattern(context, text_of(context, 1, row), &made));
    for (uint32_t i = 0; i < made.count; i++)
        if (strchr("xwe", made.items[i].letter) && made.items[i].letter) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Weeks in the pattern of a text that is read are not supported");
    for (uint32_t i = 0; i < made.count && is_good; i++) is_good = take_item(&made, i, text, &at, &into);
    is_good = is_good && at == text.length && into.hour < 24 && into.minute < 60 && into.second < 60 && nl_civil_is_valid(into.year, into.month, into.day);
    if (is_good && into.has_day && !into.has_year) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A pattern with a day but no year is not supported");
    if (!is_good) return INVALID("Invalid format: \"" NL_STR_FMT "\"", NL_STR_ARG(text));
    if (into.is_pm == 1 && into.hour < 12) into.hour += 12;
    nl_civil civil = {.year = into.year, .month = into.month, .day = into.day, .hour = into.hour, .minute = into.minute, .second = into.second, .microsecond = into.micro};
    int64_t micros = nl_micros_from_civil(&civil);
    if (into.day_of_year) {
        if (into.day_of_year > 365 + nl_is_leap_year(into.year)) return INVALID("Invalid format: \"" NL_STR_FMT "\"", NL_STR_ARG(text));
        micros += (nl_days_from_civil(into.year, 1, 1) + into.day_of_year - 1 - nl_days_from_civil(into.year, into.month, into.day)) * NL_MICROS_PER_DAY;
    }
    ((int64_t *)context->output.values)[row] = micros;
    return NULL;
}
NL_VALUE_KERNEL(parse_kernel, parse_row)

/* --- seconds, ISO 8601, casts --- */

static nl_status from_unixtime_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const double millis = floor(nl_reader_f64(&context->readers[0], row) * 1000 + 0.5);
    if (!(millis < 9e15 && millis > -9e15)) return out_of_range();
    ((int64_t *)context->output.values)[row] = (int64_t)millis * 1000;
    return NULL;
}
NL_VALUE_KERNEL(from_unixtime_kernel, from_unixtime_row)

static nl_status to_unixtime_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    ((double *)context->output.values)[row] = (double)micros_of(context, 0, row) / 1e6;
    return NULL;
}
NL_VALUE_KERNEL(to_unixtime_kernel, to_unixtime_row)

/* The digits behind the second that a type shows: what its precision says, six when it says nothing. */
static uint32_t digits_of(const nl_type *type)
{
    return type->precision ? type->precision - 1u : 6;
}

static void append_time(int64_t micros, const nl_type *type, char between, nl_builder *out)
{
    nl_civil at;
    uint32_t digits = digits_of(type);
    int64_t unit = 1;
    for (uint32_t i = digits; i < 6; i++) unit *= 10;
    for (; micros % unit != 0; unit /= 10) digits++; /* a type may lose its digits on the way, a value never */
    nl_civil_from_micros(micros, &at);
    nl_append_f(out, "%04d-%02d-%02d%c%02d:%02d:%02d", at.year, at.month, at.day, between, at.hour, at.minute, at.second);
    if (!digits) return;
    char fraction[8];
    int32_t rest = (int32_t)nl_floor_mod(micros, 1000000);
    for (int i = 5; i >= 0; i--, rest /= 10) fraction[i] = (char)('0' + rest % 10);
    nl_append_char(out, '.');
    nl_append(out, (nl_str){fraction, digits});
}

static nl_status time_text_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_type *type = context->function->argument_types[0];
    const bool is_iso = strcmp(context->function->row->name, "trino_to_iso8601") == 0;
    if (type->id == NL_TYPE_DATE) {
        nl_civil at;
        nl_civil_from_days(nl_reader_i32(&context->readers[0], row), &at);
        nl_append_f(&context->text, "%04d-%02d-%02d", at.year, at.month, at.day);
        return NULL;
    }
    append_time(nl_reader_i64(&context->readers[0], row), type, is_iso ? 'T' : ' ', &context->text);
    if (type->id == NL_TYPE_TIMESTAMP) nl_append_c(&context->text, is_iso ? "Z" : " UTC");
    return NULL;
}
NL_TEXT_KERNEL(time_text_kernel, time_text_row)

/* yyyy-mm-dd, with fewer digits in month and day; *at behind it. */
static bool read_date(nl_str text, size_t *at, int64_t *days)
{
    int32_t year, month, day;
    const bool is_negative = *at < text.length && (text.data[*at] == '-' || text.data[*at] == '+') && text.data[(*at)++] == '-';
    if (!take_number(text, at, 6, &year) || *at >= text.length || text.data[(*at)++] != '-') return false;
    if (!take_number(text, at, 2, &month) || *at >= text.length || text.data[(*at)++] != '-') return false;
    if (!take_number(text, at, 2, &day)) return false;
    if (is_negative) year = -year;
    if (!nl_civil_is_valid(year, month, day)) return false;
    *days = nl_days_from_civil(year, month, day);
    return true;
}

static nl_status date_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_str text = nl_str_trim(text_of(context, 0, row));
    size_t at = 0;
    int64_t days = 0;
    if (!read_date(text, &at, &days) || at != text.length) return INVALID("Value cannot be cast to date: " NL_STR_FMT, NL_STR_ARG(text_of(context, 0, row)));
    ((int32_t *)context->output.values)[row] = (int32_t)days;
    return NULL;
}
NL_VALUE_KERNEL(date_kernel, date_row)

/* [ hh:mm[:ss[.fraction]]] after a date, in nanoseconds at most. */
static bool read_time(nl_str text, size_t *at, int64_t digits, int64_t *micros)
{
    int32_t hour, minute, second = 0;
    if (!take_number(text, at, 2, &hour) || *at >= text.length || text.data[(*at)++] != ':' || !take_number(text, at, 2, &minute)) return false;
    int64_t nanos = 0;
    if (*at < text.length && text.data[*at] == ':') {
        (*at)++;
        if (!take_number(text, at, 2, &second)) return false;
        if (*at < text.length && text.data[*at] == '.') {
            const size_t start = ++(*at);
            int64_t unit = 100000000;
            for (; *at < text.length && isdigit((unsigned char)text.data[*at]) && *at - start < 12; (*at)++, unit /= 10) nanos += (text.data[*at] - '0') * unit;
        }
    }
    if (hour > 23 || minute > 59 || second > 59) return false;
    int64_t unit = 1000;
    for (int64_t i = digits; i < 6; i++) unit *= 10;
    nanos = (nanos + unit / 2) / unit * unit;
    *micros = (hour * 3600ll + minute * 60 + second) * 1000000 + nanos / 1000;
    return true;
}

/* trino_timestamp(text, digits): with a zone (its offset, or a name) only for a TIMESTAMP. */
static nl_status timestamp_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_str given = text_of(context, 0, row), text = nl_str_trim(given);
    const bool is_zoned = context->function->result_type->id == NL_TYPE_TIMESTAMP;
    size_t at = 0;
    int64_t days = 0, micros = 0;
    bool is_good = read_date(text, &at, &days);
    if (is_good && at < text.length && text.data[at] == ' ' && at + 1 < text.length && isdigit((unsigned char)text.data[at + 1])) {
        at++;
        is_good = read_time(text, &at, nl_reader_i64(&context->readers[1], row), &micros);
    }
    micros += days * NL_MICROS_PER_DAY;
    const nl_str rest = nl_str_trim(nl_str_slice(text, NL_MIN(at, text.length), text.length));
    const bool is_utc = nl_str_is(rest, "UTC") || nl_str_is(rest, "Z") || nl_str_is(rest, "+00:00");
    if (is_good && is_zoned && rest.length && !is_utc) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Times in other zones than UTC are not supported: " NL_STR_FMT, NL_STR_ARG(given));
    if (!is_good || (rest.length && !is_zoned)) return INVALID("Value cannot be cast to timestamp: " NL_STR_FMT, NL_STR_ARG(given));
    ((int64_t *)context->output.values)[row] = micros;
    return NULL;
}
NL_VALUE_KERNEL(timestamp_kernel, timestamp_row)

static nl_status round_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    ((int64_t *)context->output.values)[row] = round_to(nl_reader_i64(&context->readers[0], row), nl_reader_i64(&context->readers[1], row));
    return NULL;
}
NL_VALUE_KERNEL(round_kernel, round_row)

/* The second argument, a literal, is how many digits the result shows: 0 … 6. */
static nl_status bind_digits(nl_bind *bind, nl_bound_function *bound)
{
    const nl_value *digits = bind->constants[1];
    const bool is_zoned = strcmp(bind->row->name, "trino_timestamp_tz") == 0;
    nl_type *type = NL_NEW(bind->arena, nl_type);
    if (!digits || digits->is_null || digits->integer < 0 || digits->integer > 6)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Timestamps have at most six digits behind the second here");
    const bool is_cast = bind->argument_types[0]->id == NL_TYPE_STRING;
    *type = *nl_type_of(is_cast ? (is_zoned ? NL_TYPE_TIMESTAMP : NL_TYPE_TIMESTAMP_NTZ) : bind->argument_types[0]->id);
    type->precision = (uint8_t)(digits->integer + 1);
    bound->result_type = type;
    return NULL;
}

static nl_status iso_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_str text = text_of(context, 0, row);
    size_t at = 0;
    int64_t days = 0, micros = 0;
    bool is_good = read_date(text, &at, &days);
    if (is_good && at < text.length && text.data[at] == 'T') {
        at++;
        is_good = read_time(text, &at, 3, &micros);
    }
    int32_t hours = 0, minutes = 0;
    if (is_good && at < text.length && text.data[at] == 'Z') {
        at++;
    } else if (is_good && at < text.length && (text.data[at] == '+' || text.data[at] == '-')) {
        is_good = take_number(text, &(size_t){at + 1}, 2, &hours) && at + 6 <= text.length && text.data[at + 3] == ':' && take_number(text, &(size_t){at + 4}, 2, &minutes);
        if (is_good && (hours || minutes)) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Times in other zones than UTC are not supported: " NL_STR_FMT, NL_STR_ARG(text));
        at += 6;
    }
    if (!is_good || at != text.length) return INVALID("Invalid format: \"" NL_STR_FMT "\"", NL_STR_ARG(text));
    set_micros(context, row, days * NL_MICROS_PER_DAY + micros);
    return NULL;
}
NL_VALUE_KERNEL(iso_kernel, iso_row)

/* at_timezone's local time, for functions that take the fields: the zone itself is not kept. */
static nl_status local_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_timezone *zone = NULL;
    NL_TRY(nl_timezone_find(text_of(context, 1, row), &zone));
    ((int64_t *)context->output.values)[row] = nl_timezone_to_local(zone, nl_reader_i64(&context->readers[0], row));
    return NULL;
}
NL_VALUE_KERNEL(local_kernel, local_row)

static nl_status bind_local(nl_bind *bind, nl_bound_function *bound)
{
    nl_type *type = NL_NEW(bind->arena, nl_type);
    *type = *nl_type_of(NL_TYPE_TIMESTAMP_NTZ);
    type->precision = bind->argument_types[0]->precision;
    bound->result_type = type;
    return NULL;
}

static nl_status millis_type(nl_bind *bind, nl_bound_function *bound)
{
    nl_type *type = NL_NEW(bind->arena, nl_type);
    *type = *nl_type_of(strcmp(bind->row->name, "trino_date_parse") == 0 ? NL_TYPE_TIMESTAMP_NTZ : NL_TYPE_TIMESTAMP);
    type->precision = 4;
    bound->result_type = type;
    return NULL;
}

#define TIME .kind = NL_FUNCTION_SCALAR, .group = "datetime", .since = "0.1.0", .nulls = NL_NULL_IN_NULL_OUT, .is_internal = true, .keeps_non_null = true
#define ANY_TIME(before, after) "(" before "date" after ") -> ? | (" before "timestamp_ntz" after ") -> ? | (" before "timestamp" after ") -> ?"

static const nl_function_row rows[] = {
    {.name = "trino_date_trunc", TIME, .can_fail = true, .signature = ANY_TIME("string, ", ""), .bind = bind_same_type, .kernel = trunc_kernel, .doc = "Cut to a unit."},
    {.name = "trino_date_add", TIME, .can_fail = true, .signature = ANY_TIME("string, bigint, ", ""), .bind = bind_same_type, .kernel = add_kernel, .doc = "Moved by units."},
    {.name = "trino_date_diff", TIME, .can_fail = true, .signature = "(string, date, date) -> bigint | (string, timestamp_ntz, timestamp_ntz) -> bigint | (string, timestamp, timestamp) -> bigint",
     .kernel = diff_kernel, .doc = "Whole units between two times."},
    {.name = "trino_date_format", TIME, .can_fail = true, .signature = "(date, string) -> string | (timestamp_ntz, string) -> string | (timestamp, string) -> string", .kernel = format_kernel,
     .doc = "By a pattern of MySQL's."},
    {.name = "trino_format_datetime", TIME, .can_fail = true, .signature = "(date, string) -> string | (timestamp_ntz, string) -> string | (timestamp, string) -> string", .kernel = format_kernel,
     .doc = "By a pattern of Joda's."},
    {.name = "trino_date_parse", TIME, .can_fail = true, .signature = "(string, string) -> ?", .bind = millis_type, .kernel = parse_kernel, .doc = "Read by a pattern of MySQL's."},
    {.name = "trino_parse_datetime", TIME, .can_fail = true, .signature = "(string, string) -> ?", .bind = millis_type, .kernel = parse_kernel, .doc = "Read by a pattern of Joda's."},
    {.name = "trino_from_unixtime", TIME, .can_fail = true, .signature = "(double) -> ?", .bind = millis_type, .kernel = from_unixtime_kernel, .doc = "Seconds as a time."},
    {.name = "trino_to_unixtime", TIME, .signature = "(timestamp_ntz) -> double | (timestamp) -> double", .kernel = to_unixtime_kernel, .doc = "A time as seconds."},
    {.name = "trino_to_iso8601", TIME, .signature = "(date) -> string | (timestamp_ntz) -> string | (timestamp) -> string", .kernel = time_text_kernel, .doc = "2026-02-08T13:04:05.123Z."},
    {.name = "trino_time_text", TIME, .signature = "(timestamp_ntz) -> string | (timestamp) -> string", .kernel = time_text_kernel, .doc = "What CAST to VARCHAR gives."},
    {.name = "trino_from_iso8601_timestamp", TIME, .can_fail = true, .signature = "(string) -> ?", .bind = millis_type, .kernel = iso_kernel, .doc = "Read as ISO 8601 says."},
    {.name = "trino_from_iso8601_date", TIME, .can_fail = true, .signature = "(string) -> date", .kernel = iso_kernel, .doc = "The same, a date."},
    {.name = "trino_date", TIME, .can_fail = true, .signature = "(string) -> date", .kernel = date_kernel, .doc = "CAST of a text to DATE."},
    {.name = "trino_timestamp", TIME, .can_fail = true, .signature = "(string, bigint) -> ?", .bind = bind_digits, .kernel = timestamp_kernel, .doc = "CAST of a text to TIMESTAMP(n)."},
    {.name = "trino_timestamp_tz", TIME, .can_fail = true, .signature = "(string, bigint) -> ?", .bind = bind_digits, .kernel = timestamp_kernel, .doc = "CAST of a text to TIMESTAMP(n) WITH TIME ZONE."},
    {.name = "trino_round_time", TIME, .signature = "(timestamp_ntz, bigint) -> ? | (timestamp, bigint) -> ?", .bind = bind_digits, .kernel = round_kernel, .doc = "Rounded to so many digits behind the second."},
    {.name = "trino_local", TIME, .can_fail = true, .signature = "(timestamp, string) -> ?", .bind = bind_local, .kernel = local_kernel, .doc = "The local time in a zone."},
};

NL_DEFINE_FUNCTION_GROUP(trino_time, rows);
