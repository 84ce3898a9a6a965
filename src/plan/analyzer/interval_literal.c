/* plan/analyzer/interval_literal.c - the three forms of interval literals, with the types and errors that Spark gives them. */
#include "plan/analyzer/analyzer.h"

#include "base/calendar.h"
#include "base/number.h"
#include "function/interval.h"
#include "session/session.h"

#define MICROS_PER_MINUTE (60 * NL_MICROS_PER_SECOND)
#define MICROS_PER_HOUR   (60 * MICROS_PER_MINUTE)

typedef struct interval_sum {
    int64_t months;
    nl_int128 micros;   /* days included */
    int64_t days;       /* the part of them that was written as days or weeks */
    bool has_months, has_time;
    nl_interval_field first, last; /* widest and narrowest field met */
} interval_sum;

static const struct {
    const char *word;
    int64_t scale; /* months or microseconds */
    nl_interval_field field;
    bool is_months, allows_fraction;
} units[] = {
    [NL_AST_UNIT_NANOSECOND] = {"nanosecond", 0, NL_FIELD_SECOND, false, false}, /* none of Spark's */
    [NL_AST_UNIT_MICROSECOND] = {"microsecond", 1, NL_FIELD_SECOND, false, false},
    [NL_AST_UNIT_MILLISECOND] = {"millisecond", 1000, NL_FIELD_SECOND, false, false},
    [NL_AST_UNIT_SECOND] = {"second", NL_MICROS_PER_SECOND, NL_FIELD_SECOND, false, true},
    [NL_AST_UNIT_MINUTE] = {"minute", MICROS_PER_MINUTE, NL_FIELD_MINUTE, false, false},
    [NL_AST_UNIT_HOUR] = {"hour", MICROS_PER_HOUR, NL_FIELD_HOUR, false, false},
    [NL_AST_UNIT_DAY] = {"day", NL_MICROS_PER_DAY, NL_FIELD_DAY, false, false},
    [NL_AST_UNIT_WEEK] = {"week", 7 * NL_MICROS_PER_DAY, NL_FIELD_DAY, false, false},
    [NL_AST_UNIT_MONTH] = {"month", 1, NL_FIELD_MONTH, true, false},
    [NL_AST_UNIT_YEAR] = {"year", 12, NL_FIELD_YEAR, true, false},
};

static void widen(interval_sum *sum, nl_interval_field field)
{
    const bool is_first = !sum->has_months && !sum->has_time;
    if (is_first || field < sum->first) sum->first = field;
    if (is_first || field > sum->last) sum->last = field;
    if (field <= NL_FIELD_MONTH)
        sum->has_months = true;
    else
        sum->has_time = true;
}

/* ---- INTERVAL 1 DAY 2 HOURS ------------------------------------------------------------------------------------ */

/* A sign, blanks behind it, digits with a point perhaps. */
static bool is_number(nl_str text)
{
    text = nl_str_trim(text);
    if (text.length && (text.data[0] == '-' || text.data[0] == '+')) text = nl_str_trim(nl_str_slice(text, 1, text.length));
    size_t digits = 0, points = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] >= '0' && text.data[i] <= '9')
            digits++;
        else if (text.data[i] == '.')
            points++;
        else
            return false;
    }
    return digits > 0 && points <= 1;
}

/* The number times `scale`, exact to a micro; false when it is too large or has a fraction that may not be. */
static bool scaled_number(nl_str text, int64_t scale, bool allows_fraction, int64_t *result)
{
    const uint32_t digits_max = 9;
    text = nl_str_trim(text);
    const bool is_negative = text.length && text.data[0] == '-';
    if (text.length && (text.data[0] == '-' || text.data[0] == '+')) text = nl_str_trim(nl_str_slice(text, 1, text.length));
    const size_t dot = nl_str_find_char(text, '.', 0);
    const nl_str whole = dot == NL_NOT_FOUND ? text : nl_str_slice(text, 0, dot);
    const nl_str fraction = dot == NL_NOT_FOUND ? (nl_str){0} : nl_str_slice(text, dot + 1, text.length);
    int64_t value = 0, unit = scale;
    if (dot != NL_NOT_FOUND && (!allows_fraction || fraction.length > digits_max)) return false;
    if (whole.length && !nl_parse_int64(whole, &value)) return false;
    if (__builtin_mul_overflow(value, scale, result)) return false;
    for (size_t i = 0; i < fraction.length; i++) {
        unit /= 10;
        *result += (fraction.data[i] - '0') * unit;
    }
    if (is_negative) *result = -*result;
    return true;
}

/* A minus before a text that begins with one: it is positive. */
static nl_str once_negative(nl_str text)
{
    return text.length > 1 && text.data[0] == '-' && text.data[1] == '-' ? nl_str_slice(text, 2, text.length) : text;
}

static nl_status add_unit(interval_sum *sum, nl_arena *arena, const nl_ast_interval_part *part)
{
    int64_t amount = 0;
    const nl_str value = once_negative(part->value);
    if (!is_number(value)) return NL_RAISE(_LEGACY_ERROR_TEMP_0026, NL_P_STR("value", value));
    const nl_str input = nl_arena_f(arena, " " NL_STR_FMT " %ss", NL_STR_ARG(value), units[part->unit].word);
    if (units[part->unit].scale == 0) return NL_RAISE(INVALID_INTERVAL_FORMAT__INVALID_UNIT, NL_P_STR("input", input), NL_P_STR("unit", nl_arena_f(arena, "%ss", units[part->unit].word)));
    const bool has_point = nl_str_find_char(value, '.', 0) != NL_NOT_FOUND;
    if (has_point && !units[part->unit].allows_fraction)
        return NL_RAISE(INVALID_INTERVAL_FORMAT__INVALID_FRACTION, NL_P_STR("input", input), NL_P_STR("unit", nl_arena_f(arena, "'%s'", units[part->unit].word)));
    const bool fits = scaled_number(value, units[part->unit].scale, true, &amount) && !(units[part->unit].is_months && __builtin_add_overflow(sum->months, amount, &sum->months));
    if (!fits && units[part->unit].field == NL_FIELD_DAY) return NL_RAISE_TEXT(NILAS_ARITHMETIC, "long overflow");
    if (!fits) return NL_RAISE(INVALID_INTERVAL_FORMAT__ARITHMETIC_EXCEPTION, NL_P_STR("input", input));
    if (!units[part->unit].is_months) sum->micros += amount;
    if (units[part->unit].field == NL_FIELD_DAY) sum->days += amount / NL_MICROS_PER_DAY;
    widen(sum, units[part->unit].field);
    return NULL;
}

/* ---- INTERVAL '1-2' YEAR TO MONTH ------------------------------------------------------------------------------ */

/* Which of the words that a range may begin with and end with. */
static bool is_range(nl_interval_field from, nl_interval_field to)
{
    return from < to && (from >= NL_FIELD_DAY || to == NL_FIELD_MONTH);
}

/* The first number of the text, as the field it is; the later ones are checked by their digits. */
static nl_status check_first_field(nl_arena *arena, nl_str text, nl_interval_field field)
{
    static const struct {
        const char *word;
        int64_t most;
    } fields[] = {{"year", INT32_MAX / 12}, {"month", INT32_MAX}, {"day", 106751991}, {"hour", 2562047788}, {"minute", 153722867280}, {"second", 9223372036854}};
    size_t from = 0, to;
    int64_t number = 0;
    while (from < text.length && (text.data[from] < '0' || text.data[from] > '9')) from++;
    for (to = from; to < text.length && text.data[to] >= '0' && text.data[to] <= '9';) to++;
    const nl_str digits = nl_str_slice(text, from, to);
    if (field <= NL_FIELD_MONTH || digits.length == 0 || (nl_parse_int64(digits, &number) && number <= fields[field].most)) return NULL;
    return NL_RAISE(_LEGACY_ERROR_TEMP_0063, NL_P_STR("msg", nl_arena_f(arena, "requirement failed: %s " NL_STR_FMT " outside range [0, %lld]", fields[field].word, NL_STR_ARG(digits),
                                                                        (long long)fields[field].most)));
}

/* The same pattern with digits enough: what does not fit then is too large. */
static bool has_months_shape(nl_str text)
{
    const size_t dash = nl_str_find_last_char(text, '-');
    if (dash == NL_NOT_FOUND || dash == 0) return false;
    int64_t month;
    const nl_str head = nl_str_slice(text, 0, dash), tail = nl_str_trim(nl_str_slice(text, dash + 1, text.length));
    return nl_str_find_char(head, '\t', 0) == NL_NOT_FOUND && is_number(head) && nl_parse_int64(tail, &month) && month < 12;
}

static nl_status range_value(nl_arena *arena, const nl_ast_interval_part *part, nl_value *value)
{
    const nl_interval_field from = units[part->unit].field, to = units[part->to].field;
    const nl_str text = once_negative(part->value);
    int32_t months = 0;
    int64_t micros = 0;
    if (!part->is_string) return NL_RAISE(_LEGACY_ERROR_TEMP_0027);
    if (!is_range(from, to))
        return NL_RAISE(INVALID_INTERVAL_FORMAT__UNSUPPORTED_FROM_TO_EXPRESSION, NL_P_STR("input", text), NL_P("from", units[part->unit].word), NL_P("to", units[part->to].word));
    if (to == NL_FIELD_MONTH) {
        const nl_type *type = nl_type_interval_ym(from, to);
        if (nl_interval_parse_ym(text, type, &months)) {
            *value = nl_value_int(type, months);
            return NULL;
        }
        if (has_months_shape(text)) return NL_RAISE(INVALID_INTERVAL_FORMAT__INTERVAL_PARSING, NL_P_STR("input", text), NL_P("interval", "year-month"));
        return nl_interval_raise_format(text, type);
    }
    const nl_type *type = nl_type_interval_dt(from, to);
    if (nl_interval_parse_dt(text, type, &micros)) {
        *value = nl_value_int(type, micros);
        return NULL;
    }
    NL_TRY(check_first_field(arena, text, from));
    return nl_interval_raise_format(text, type);
}

/* ---- INTERVAL '3 days 2 hours' --------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The fields whose names stand in the text. */
static void find_fields(interval_sum *sum, nl_str text)
{
    for (size_t at = 0; at < text.length;) {
        size_t end = at;
        while (end < text.length && !is_blank(text.data[end])) end++;
        nl_str word = nl_str_slice(text, at, end);
        if (word.length > 1 && (word.data[word.length - 1] | 32) == 's') word.length--;
        for (size_t i = 0; i < NL_COUNT(units); i++)
            if (nl_str_is_nocase(word, units[i].word)) widen(sum, units[i].field);
        at = end + 1;
    }
}

static nl_status text_value(nl_scope *scope, nl_str text, interval_sum *sum)
{
    nl_interval interval;
    if (!nl_interval_parse(text, &interval)) {
        const nl_str quoted = nl_arena_f(nl_scope_arena(scope), "'" NL_STR_FMT "'", NL_STR_ARG(text));
        return NL_RAISE(INVALID_TYPED_LITERAL, NL_P("valueType", "\"INTERVAL\""), NL_P_STR("value", quoted));
    }
    find_fields(sum, text);
    sum->months = interval.months;
    sum->days = interval.days;
    sum->micros = (nl_int128)interval.days * NL_MICROS_PER_DAY + interval.micros;
    return NULL;
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

static nl_status sum_value(const interval_sum *sum, nl_str written, nl_value *value)
{
    if (sum->has_months && sum->has_time) return NL_RAISE(_LEGACY_ERROR_TEMP_0029, NL_P_STR("literal", written));
    if (sum->has_months && (sum->months > INT32_MAX || sum->months < INT32_MIN))
        return NL_RAISE(INVALID_INTERVAL_FORMAT__ARITHMETIC_EXCEPTION, NL_P_STR("input", written));
    if (sum->micros > INT64_MAX || sum->micros < INT64_MIN) return NL_RAISE_TEXT(NILAS_ARITHMETIC, "long overflow");
    *value = sum->has_months ? nl_value_int(nl_type_interval_ym(sum->first, sum->last), sum->months) : nl_value_int(nl_type_interval_dt(sum->first, sum->last), (int64_t)sum->micros);
    return NULL;
}

/* spark.sql.legacy.interval.enabled: months, days and microseconds side by side. */
static void as_calendar_interval(int64_t days, nl_value *value)
{
    const bool is_months = value->type->id == NL_TYPE_INTERVAL_YM;
    const int64_t amount = value->integer;
    *value = (nl_value){.type = nl_type_of(NL_TYPE_INTERVAL)};
    if (is_months)
        value->interval.months = (int32_t)amount;
    else
        value->interval = (nl_interval){.days = (int32_t)days, .micros = amount - days * NL_MICROS_PER_DAY};
}

nl_status nl_interval_literal_value(nl_scope *scope, const nl_ast_expr *ast, nl_value *value)
{
    const nl_ast_literal *literal = &ast->literal;
    const nl_str written = nl_str_slice(scope->env->text, ast->range.start, ast->range.stop);
    interval_sum sum = {0};
    if (literal->kind == NL_AST_LITERAL_INTERVAL_TEXT) NL_TRY(text_value(scope, literal->text, &sum));
    if (literal->part_count == 1 && literal->parts[0].has_to) {
        NL_TRY(range_value(nl_scope_arena(scope), &literal->parts[0], value));
        if (units[literal->parts[0].unit].field == NL_FIELD_DAY) sum.days = value->integer / NL_MICROS_PER_DAY;
    } else {
        for (uint32_t i = 0; i < literal->part_count; i++) NL_TRY(add_unit(&sum, nl_scope_arena(scope), &literal->parts[i]));
        NL_TRY(sum_value(&sum, written, value));
    }
    const nl_session *session = nl_scope_confs(scope)->session;
    if (session && nl_session_get_bool(session, "spark.sql.legacy.interval.enabled")) as_calendar_interval(sum.days, value);
    return NULL;
}
