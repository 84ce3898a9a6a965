/* lakehouse/dialect_types.c - types, CAST, typed literals and AT TIME ZONE. Source: Trino's documentation, "Data types". */
#include "lakehouse/dialect_private.h"

#include <ctype.h>

#include "base/number.h"

#define solid      nl_dialect_solid
#define before(self, at) nl_dialect_before(self, at)
#define is_word    nl_dialect_is_word
#define is_sign    nl_dialect_is_sign
#define closing    nl_dialect_closing

/* ---- Types. */

static const struct {
    const char *trino, *engine;
} type_names[] = {
    {"boolean", "BOOLEAN"}, {"tinyint", "TINYINT"}, {"smallint", "SMALLINT"}, {"integer", "INT"}, {"int", "INT"}, {"bigint", "BIGINT"}, {"real", "FLOAT"},
    {"double", "DOUBLE"}, {"varchar", "STRING"}, {"varbinary", "BINARY"}, {"date", "DATE"},
};

static uint32_t parenthesised(nl_dialect *self, uint32_t open, const char *open_text, const char *close_text)
{
    const uint32_t end = closing(self, open);
    if (end >= self->count) return self->count;
    nl_dialect_put(self, open, open_text);
    nl_dialect_put(self, end, close_text);
    return end;
}

/* row(a bigint, b varchar) becomes STRUCT<a: BIGINT, b: STRING>; fields without names are called col1, col2 … as ROW's. */
static uint32_t row_type(nl_dialect *self, uint32_t at, uint32_t open)
{
    const uint32_t end = parenthesised(self, open, "<", ">");
    uint32_t number = 0;
    nl_dialect_put(self, at, "STRUCT");
    for (uint32_t item = solid(self, open + 1); item < end;) {
        const uint32_t next = solid(self, item + 1);
        const bool is_named = nl_dialect_is_name(self, item) && nl_dialect_is_name(self, next) && !is_word(self, next, "with") && !is_word(self, next, "precision");
        number++;
        if (is_named) {
            self->tokens[item].after = NL_STR(": ");
            self->tokens[item].is_engines = true;
        }
        const uint32_t behind = nl_dialect_type(self, is_named ? next : item);
        if (!is_named) self->tokens[item].before = nl_arena_f(self->arena, "col%u: ", number);
        item = solid(self, behind);
        if (!is_sign(self, item, ',')) break;
        item = solid(self, item + 1);
    }
    return end + 1;
}

static uint32_t timestamp_type(nl_dialect *self, uint32_t at, uint32_t next)
{
    const bool has_size = is_sign(self, next, '(') && closing(self, next) < self->count;
    const uint32_t behind = has_size ? solid(self, closing(self, next) + 1) : next, time = solid(self, behind + 1), zone = solid(self, time + 1);
    const bool with = is_word(self, behind, "with"), is_zoned = (with || is_word(self, behind, "without")) && is_word(self, time, "time") && is_word(self, zone, "zone");
    nl_dialect_put(self, at, is_zoned && with ? "TIMESTAMP" : "TIMESTAMP_NTZ");
    if (has_size) nl_dialect_drop(self, next, closing(self, next) + 1);
    if (is_zoned) nl_dialect_drop(self, behind, zone + 1);
    return is_zoned ? zone + 1 : behind;
}

/* Depth: that of the brackets, each of which is looked at once per level of the type it belongs to. */
uint32_t nl_dialect_type(nl_dialect *self, uint32_t at)
{
    const uint32_t next = solid(self, at + 1);
    const bool has_list = is_sign(self, next, '(') && closing(self, next) < self->count;
    if (at >= self->count) return at;
    if (is_word(self, at, "timestamp")) return timestamp_type(self, at, next);
    if (is_word(self, at, "row") && has_list) return row_type(self, at, next);
    if ((is_word(self, at, "array") || is_word(self, at, "map")) && has_list) {
        const uint32_t end = parenthesised(self, next, "<", ">");
        self->tokens[at].is_engines = true;
        const uint32_t behind = solid(self, nl_dialect_type(self, solid(self, next + 1)));
        if (is_sign(self, behind, ',')) (void)nl_dialect_type(self, solid(self, behind + 1));
        return end + 1;
    }
    if (is_word(self, at, "double") && is_word(self, next, "precision")) nl_dialect_drop(self, next, next + 1);
    if (is_word(self, at, "decimal") && !has_list) {
        nl_dialect_put(self, at, "DECIMAL(38, 0)");
        return at + 1;
    }
    self->tokens[at].is_engines = true;
    for (size_t i = 0; i < NL_COUNT(type_names); i++)
        if (is_word(self, at, type_names[i].trino) && !(has_list && nl_str_is(nl_str_from(type_names[i].trino), "varchar"))) nl_dialect_put(self, at, type_names[i].engine);
    return has_list ? closing(self, next) + 1 : at + 1;
}

/* ---- CAST. */

static bool is_known_type(const nl_dialect *self, uint32_t at)
{
    static const char *const more[] = {"decimal", "timestamp", "array", "map", "row"};
    for (size_t i = 0; i < NL_COUNT(type_names); i++)
        if (is_word(self, at, type_names[i].trino)) return true;
    for (size_t i = 0; i < NL_COUNT(more); i++)
        if (is_word(self, at, more[i])) return true;
    return false;
}

/* The AS of CAST(x AS type): the one at its own depth. */
static uint32_t find_as(const nl_dialect *self, uint32_t open)
{
    const uint32_t end = closing(self, open);
    for (uint32_t i = open + 1; i < end; i++) {
        if (is_sign(self, i, '(') || is_sign(self, i, '[')) i = closing(self, i);
        else if (is_word(self, i, "as")) return i;
    }
    return self->count;
}

/* Digits behind the second of timestamp[(n)]; -1: not a timestamp. */
static int timestamp_digits(const nl_dialect *self, uint32_t at)
{
    const uint32_t open = solid(self, at + 1), number = solid(self, open + 1);
    int64_t digits = 3;
    if (!is_word(self, at, "timestamp")) return -1;
    if (is_sign(self, open, '(') && number < self->count && !nl_parse_int64(self->tokens[number].text, &digits)) return 12;
    return digits >= 0 && digits <= 12 ? (int)digits : 12;
}

static nl_status translate_cast(nl_dialect *self, uint32_t word, uint32_t open)
{
    const uint32_t as = find_as(self, open), type = solid(self, as + 1), end = closing(self, open);
    if (as >= self->count || end >= self->count) return NULL;
    if (!is_known_type(self, type))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "CAST to the type " NL_STR_FMT " is not supported", NL_STR_ARG(type < self->count ? self->tokens[type].text : NL_STR("?")));
    const int digits = timestamp_digits(self, type);
    const bool is_tried = is_word(self, word, "try_cast") && (digits >= 0 || is_word(self, type, "date") || is_word(self, type, "boolean") || is_word(self, type, "varchar"));
    self->tokens[word].is_engines = true;
    if (is_tried) { /* these are calls of functions, which only TRY makes NULL of */
        nl_dialect_put(self, word, "CAST");
        self->tokens[word].before = NL_STR("trino_try(0, _try -> ");
        self->tokens[end].after = NL_STR(")");
    }
    (void)nl_dialect_type(self, type);
    if (digits >= 0 && digits != 6) {
        self->tokens[word].before = nl_arena_f(self->arena, NL_STR_FMT "trino_round_time(", NL_STR_ARG(self->tokens[word].before));
        self->tokens[end].after = nl_arena_f(self->arena, ", %d)" NL_STR_FMT, digits, NL_STR_ARG(self->tokens[end].after));
    }
    return NULL;
}

nl_status nl_dialect_casts(nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t open = solid(self, i + 1);
        if ((is_word(self, i, "cast") || is_word(self, i, "try_cast")) && is_sign(self, open, '(')) NL_TRY(translate_cast(self, i, open));
    }
    return NULL;
}

/* ---- Typed literals. */

static bool is_decimal_text(nl_str literal)
{
    bool has_digit = false;
    for (size_t i = 1; i + 1 < literal.length; i++) {
        const bool is_sign_of_it = i == 1 && (literal.data[i] == '-' || literal.data[i] == '+');
        if (!isdigit((unsigned char)literal.data[i]) && literal.data[i] != '.' && !is_sign_of_it) return false;
        has_digit |= isdigit((unsigned char)literal.data[i]) != 0;
    }
    return has_digit;
}

/* TIMESTAMP '2026-01-01 00:00:00.5 UTC': digits behind the second, and whether there is a zone. */
static uint32_t literal_digits(nl_str text, bool *is_zoned)
{
    const size_t colon = nl_str_find_char(text, ':', 0), point = nl_str_find_char(text, '.', colon == NL_NOT_FOUND ? 0 : colon);
    size_t at = colon == NL_NOT_FOUND ? NL_MIN(text.length, (size_t)11) : colon;
    uint32_t digits = 0;
    while (at < text.length && (isdigit((unsigned char)text.data[at]) || strchr(":.", text.data[at]))) at++;
    if (point != NL_NOT_FOUND)
        while (point + 1 + digits < text.length && isdigit((unsigned char)text.data[point + 1 + digits])) digits++;
    *is_zoned = at + 1 < text.length && text.data[at] != '\'';
    return digits;
}

/* BIGINT '1' becomes CAST('1' AS BIGINT), DECIMAL '1.50' becomes 1.50BD, TIMESTAMP '…' keeps its digits. */
nl_status nl_dialect_typed_literals(nl_dialect *self)
{
    static const struct {
        const char *trino, *engine;
    } plain[] = {{"bigint", "BIGINT"}, {"integer", "INT"}, {"int", "INT"}, {"smallint", "SMALLINT"}, {"tinyint", "TINYINT"}, {"double", "DOUBLE"}, {"real", "FLOAT"}, {"boolean", "BOOLEAN"},
                 {"varchar", "STRING"}};
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t next = solid(self, i + 1);
        if (self->tokens[i].kind != NL_TOKEN_WORD || self->tokens[i].is_engines || next >= self->count || self->tokens[next].kind != NL_TOKEN_TEXT) continue;
        const nl_str text = self->tokens[next].text;
        bool is_zoned = false;
        if (is_word(self, i, "decimal") && is_decimal_text(text)) {
            nl_dialect_drop(self, i, next);
            nl_dialect_put_str(self, next, nl_arena_f(self->arena, "(" NL_STR_FMT "BD)", NL_STR_ARG(nl_str_slice(text, 1 + (text.data[1] == '+'), text.length - 1))));
        } else if (is_word(self, i, "timestamp")) {
            const uint32_t digits = literal_digits(text, &is_zoned);
            nl_dialect_drop(self, i, next);
            nl_dialect_put_str(self, next, nl_arena_f(self->arena, "%s(" NL_STR_FMT ", %u)", is_zoned ? "trino_timestamp_tz" : "trino_timestamp", NL_STR_ARG(text), digits));
        } else if (is_word(self, i, "date")) {
            nl_dialect_drop(self, i, next);
            nl_dialect_put_str(self, next, nl_arena_f(self->arena, "trino_date(" NL_STR_FMT ")", NL_STR_ARG(text)));
        } else if (is_word(self, i, "time") || is_word(self, i, "json") || is_word(self, i, "uuid") || is_word(self, i, "ipaddress") || is_word(self, i, "char")) {
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The type " NL_STR_FMT " is not supported", NL_STR_ARG(self->tokens[i].text));
        }
        for (size_t k = 0; k < NL_COUNT(plain); k++) {
            if (!is_word(self, i, plain[k].trino)) continue;
            nl_dialect_drop(self, i, next);
            nl_dialect_put_str(self, next, nl_arena_f(self->arena, "CAST(" NL_STR_FMT " AS %s)", NL_STR_ARG(text), plain[k].engine));
            break;
        }
    }
    return NULL;
}

/* ---- AT TIME ZONE: a time keeps no zone here, so it is allowed where only its fields are looked at. */

static bool takes_fields(const nl_dialect *self, uint32_t word)
{
    static const char *const names[] = {"date", "date_format", "format_datetime", "year", "quarter", "month", "week", "week_of_year", "day", "day_of_month", "day_of_week", "dow", "day_of_year", "doy",
                                        "hour", "minute", "second", "millisecond", "year_of_week", "yow", "last_day_of_month"};
    for (size_t i = 0; i < NL_COUNT(names); i++)
        if (is_word(self, word, names[i])) return true;
    return false;
}

/* Whether the tokens are one value: a name, a call, a literal. */
static bool is_one_value(const nl_dialect *self, uint32_t from, uint32_t to)
{
    bool was_name = false;
    for (uint32_t i = solid(self, from); i < to; i = solid(self, i + 1)) {
        if (is_sign(self, i, '(') || is_sign(self, i, '[')) {
            i = closing(self, i);
            was_name = true;
            continue;
        }
        const bool is_dot = is_sign(self, i, '.');
        if (self->tokens[i].kind == NL_TOKEN_SIGN && !is_dot) return false;
        if (!is_dot && was_name && !is_sign(self, before(self, i), '.')) return false;
        was_name = !is_dot;
    }
    return true;
}

static nl_status translate_zone(nl_dialect *self, uint32_t at, uint32_t zone)
{
    const nl_str name = self->tokens[zone].text;
    uint32_t from = at;
    for (uint32_t i = at; i-- > 0;) {
        if (is_sign(self, i, ')') || is_sign(self, i, ']')) {
            if (self->partner[i] < i) i = self->partner[i];
            continue;
        }
        if (is_sign(self, i, '(') || is_sign(self, i, ',')) {
            from = i + 1;
            break;
        }
    }
    if (nl_str_is_nocase(name, "'utc'")) {
        nl_dialect_drop(self, at, zone + 1);
        return NULL;
    }
    uint32_t open = from ? from - 1 : self->count;
    if (is_sign(self, open, ',')) open = self->count; /* only first arguments */
    const uint32_t word = open < self->count ? before(self, open) : self->count, behind = solid(self, zone + 1);
    const uint32_t type = solid(self, behind + 1);
    const bool is_cast = is_word(self, word, "cast") && is_word(self, behind, "as") && (is_word(self, type, "date") || is_word(self, type, "timestamp_ntz"));
    const bool is_end = is_sign(self, behind, ')') || is_sign(self, behind, ',');
    if (!(is_cast || (takes_fields(self, word) && is_end)) || !is_one_value(self, from, at))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "AT TIME ZONE is supported for 'UTC', and below CAST to DATE or TIMESTAMP, date, date_format, format_datetime and the functions of a time's fields");
    nl_dialect_put_str(self, at, nl_arena_f(self->arena, ", " NL_STR_FMT ")", NL_STR_ARG(name)));
    nl_dialect_drop(self, at + 1, zone + 1);
    nl_token *first = &self->tokens[solid(self, open + 1)];
    first->before = nl_arena_f(self->arena, "trino_local(" NL_STR_FMT, NL_STR_ARG(first->before));
    return NULL;
}

nl_status nl_dialect_zones(nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t time = solid(self, i + 1), zone = solid(self, time + 1), name = solid(self, zone + 1);
        if (!is_word(self, i, "at") || !is_word(self, time, "time") || !is_word(self, zone, "zone")) continue;
        if (name >= self->count || self->tokens[name].kind != NL_TOKEN_TEXT) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "AT TIME ZONE wants a literal here");
        NL_TRY(translate_zone(self, i, name));
    }
    return NULL;
}
