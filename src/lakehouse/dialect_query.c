/* lakehouse/dialect_query.c - what queries write otherwise: sorting, limits, UNNEST, ARRAY[…], time travel. What only Spark's SQL has is
 * refused, so that nothing runs under Trino's name that Trino would not run. Source: Trino's documentation, "SELECT".
 */
#include "lakehouse/dialect_private.h"

#define solid      nl_dialect_solid
#define before(self, at) nl_dialect_before(self, at)
#define is_word    nl_dialect_is_word
#define is_sign    nl_dialect_is_sign
#define closing    nl_dialect_closing
#define drop       nl_dialect_drop
#define put        nl_dialect_put

/* ---- Sorting: nulls come last, whatever the direction. */

static bool ends_sorting(const nl_dialect *self, uint32_t at)
{
    static const char *const words[] = {"limit", "offset", "fetch", "rows", "range", "groups", "union", "intersect", "except", "for"};
    for (size_t i = 0; i < NL_COUNT(words); i++)
        if (is_word(self, at, words[i])) return true;
    return is_sign(self, at, ')') || is_sign(self, at, ';');
}

/* From behind ORDER BY; gives the token that ends the list. */
static uint32_t sort_items(nl_dialect *self, uint32_t at)
{
    uint32_t last = self->count;
    bool has_nulls = false;
    for (at = solid(self, at); at <= self->count; at = solid(self, at + 1)) {
        const bool is_end = at >= self->count || (ends_sorting(self, at) && (last < self->count || self->tokens[at].kind == NL_TOKEN_SIGN)); /* a column may be called rows */
        if (is_end || is_sign(self, at, ',')) {
            if (last < self->count && !has_nulls) self->tokens[last].after = nl_arena_f(self->arena, NL_STR_FMT " NULLS LAST", NL_STR_ARG(self->tokens[last].after));
            if (is_end) return at;
            has_nulls = false;
            continue;
        }
        if (is_word(self, at, "nulls")) has_nulls = true;
        if (is_sign(self, at, '(') || is_sign(self, at, '[')) at = closing(self, at);
        if (at >= self->count) return at;
        last = at;
    }
    return at;
}

static void translate_sorting(nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (is_word(self, i, "by") && is_word(self, before(self, i), "order")) (void)sort_items(self, i + 1);
}

/* FETCH FIRST [n] ROWS ONLY becomes LIMIT n; OFFSET n ROWS LIMIT m becomes LIMIT m OFFSET n. */
static nl_status translate_limits(nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t first = solid(self, i + 1), number = solid(self, first + 1);
        if (!is_word(self, i, "fetch") || !(is_word(self, first, "first") || is_word(self, first, "next"))) continue;
        const bool has_number = number < self->count && self->tokens[number].kind == NL_TOKEN_NUMBER;
        const uint32_t rows = has_number ? solid(self, number + 1) : number, only = solid(self, rows + 1);
        if (!is_word(self, rows, "rows") && !is_word(self, rows, "row")) continue;
        if (is_word(self, only, "with")) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "FETCH FIRST … WITH TIES is not supported");
        if (!is_word(self, only, "only")) continue;
        const nl_str count = has_number ? self->tokens[number].text : NL_STR("1");
        put(self, i, "LIMIT");
        drop(self, first, only + 1);
        nl_dialect_put_str(self, first, count);
        self->tokens[i].after = NL_STR(" ");
    }
    for (uint32_t i = 0; i < self->count; i++) {
        if (!is_word(self, i, "offset")) continue;
        const uint32_t number = solid(self, i + 1);
        uint32_t limit = solid(self, number + 1);
        if (is_word(self, limit, "rows") || is_word(self, limit, "row")) {
            drop(self, limit, limit + 1);
            limit = solid(self, limit);
        }
        const uint32_t most = solid(self, limit + 1);
        if (!is_word(self, limit, "limit") || most >= self->count || number >= self->count) continue;
        const nl_str offset = self->tokens[number].text;
        put(self, i, "LIMIT");
        self->tokens[number].text = self->tokens[most].text;
        put(self, limit, "OFFSET");
        self->tokens[most].text = offset;
    }
    return NULL;
}

/* GROUP BY () is the one group of all rows; beside other items it adds nothing. */
static void translate_empty_groups(nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t end = solid(self, i + 1), behind = before(self, i);
        if (!is_sign(self, i, '(') || !is_sign(self, end, ')')) continue;
        const bool is_only = is_word(self, behind, "by") && is_word(self, before(self, behind), "group");
        if (is_only && is_sign(self, solid(self, end + 1), ',')) drop(self, i, solid(self, end + 1) + 1);
        else if (is_only) put(self, i, "GROUPING SETS ((");
        if (is_only && self->tokens[i].text.length) put(self, end, "))");
        if (!is_sign(self, behind, ',')) continue;
        uint32_t by = behind; /* of the same list? */
        while (by < self->count && !is_word(self, by, "by") && !is_word(self, by, "select") && !is_sign(self, by, '(')) {
            by = before(self, by);
            if (is_sign(self, by, ')') && self->partner[by] < by) by = before(self, self->partner[by]);
        }
        if (is_word(self, by, "by") && is_word(self, before(self, by), "group")) drop(self, behind, end + 1);
    }
}

/* ---- Arrays, rows, UNNEST. */

static void translate_arrays(nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t open = solid(self, i + 1);
        if (self->tokens[i].is_engines) continue;
        if (is_word(self, i, "array") && is_sign(self, open, '[') && closing(self, open) < self->count) {
            put(self, closing(self, open), ")");
            put(self, open, "(");
            self->tokens[i].is_engines = true;
        } else if (is_word(self, i, "map") && is_sign(self, open, '(')) {
            if (closing(self, open) != solid(self, open + 1)) put(self, i, "map_from_arrays");
            self->tokens[i].is_engines = true;
        } else if (is_word(self, i, "row") && is_sign(self, open, '(') && !is_word(self, before(self, i), "as")) {
            put(self, i, "struct");
        }
    }
}

/* UNNEST(a, b) WITH ORDINALITY becomes trino_unnest(true, a, b), LATERAL behind what it may refer to. */
static void translate_unnest(nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t open = solid(self, i + 1), end = closing(self, open);
        if (!is_word(self, i, "unnest") || !is_sign(self, open, '(') || end >= self->count) continue;
        const uint32_t with = solid(self, end + 1), ordinality = solid(self, with + 1);
        const bool has_ordinality = is_word(self, with, "with") && is_word(self, ordinality, "ordinality");
        const uint32_t behind = before(self, i);
        put(self, i, "trino_unnest");
        self->tokens[open].after = has_ordinality ? NL_STR("true, ") : NL_STR("false, ");
        if (has_ordinality) drop(self, with, ordinality + 1);
        if (!is_word(self, behind, "from")) self->tokens[i].before = NL_STR("LATERAL ");
    }
}

/* TABLE(sequence(start => 1, stop => 3 [, step => 1])): the numbers, the last one too. */
static nl_status translate_table_functions(nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t open = solid(self, i + 1), name = solid(self, open + 1), list = solid(self, name + 1);
        if (!is_word(self, i, "table") || !is_sign(self, open, '(') || closing(self, open) >= self->count) continue;
        if (!is_word(self, name, "sequence") || !is_sign(self, list, '(') || closing(self, list) >= self->count)
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The table function in TABLE(…) is not supported");
        static const char *const keys[] = {"start", "stop", "step"};
        nl_str values[3] = {NL_STR("0"), {0}, NL_STR("1")};
        uint32_t comma[3] = {0};
        const uint32_t end = closing(self, list), count = nl_dialect_commas(self, list, comma, 2) + 1;
        for (uint32_t k = 0; k < count && count <= 3; k++) {
            const uint32_t from = k ? comma[k - 1] + 1 : list + 1, to = k + 1 < count ? comma[k] : end;
            const uint32_t key = solid(self, from), equal = solid(self, key + 1);
            const bool is_named = is_sign(self, equal, '=') && is_sign(self, equal + 1, '>');
            for (uint32_t v = 0; v < 3; v++)
                if (is_named ? is_word(self, key, keys[v]) : v == k) values[v] = nl_dialect_text(self, is_named ? equal + 2 : from, to);
        }
        if (!values[1].length || count > 3) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "sequence wants a start, a stop and a step");
        const nl_str text = nl_arena_f(self->arena, "(SELECT id AS sequential_number FROM range(" NL_STR_FMT ", (" NL_STR_FMT ") + sign(" NL_STR_FMT "), " NL_STR_FMT "))", NL_STR_ARG(values[0]),
                                       NL_STR_ARG(values[1]), NL_STR_ARG(values[2]), NL_STR_ARG(values[2]));
        const uint32_t last = closing(self, open);
        drop(self, i, last + 1);
        nl_dialect_put_str(self, i, text);
    }
    return NULL;
}

/* ---- TRY(x): a lambda, so that the engine can look at the rows one by one. */

static void translate_try(nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t open = solid(self, i + 1);
        if (!is_word(self, i, "try") || !is_sign(self, open, '(') || closing(self, open) >= self->count) continue;
        put(self, i, "trino_try");
        self->tokens[open].after = nl_arena_f(self->arena, "0, _try -> " NL_STR_FMT, NL_STR_ARG(self->tokens[open].after));
    }
}

/* ---- What only Spark has. */

static nl_status refuse(const char *what)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s is no part of Trino's SQL", what);
}

static nl_status refuse_sign(const nl_dialect *self, uint32_t i)
{
    const nl_str next = i + 1 < self->count ? self->tokens[i + 1].text : (nl_str){0};
    const bool is_pair = i > 0 && self->tokens[i - 1].kind == NL_TOKEN_SIGN;
    switch (self->tokens[i].text.data[0]) {
    case '&':
    case '^':
    case '~': return refuse("An operator on bits");
    case '|':
        if (!nl_str_is(next, "|") && !(is_pair && self->tokens[i - 1].text.data[0] == '|')) return refuse("An operator on bits");
        return NULL;
    case '!': return nl_str_is(next, "=") ? NULL : refuse("The operator !");
    case '=': return nl_str_is(next, "=") ? refuse("The operator ==") : NULL;
    case '<': return nl_str_is(next, "=") && i + 2 < self->count && nl_str_is(self->tokens[i + 2].text, ">") && !self->tokens[i].is_engines ? refuse("The operator <=>") : NULL;
    case ':': return nl_str_is(next, ":") ? refuse("The operator ::") : NULL;
    default: return NULL;
    }
}

static nl_status refuse_words(const nl_dialect *self, uint32_t i)
{
    static const struct {
        const char *first, *second;
    } pairs[] = {{"lateral", "view"}, {"semi", "join"}, {"anti", "join"}, {"natural", "join"}, {"sort", "by"}, {"cluster", "by"}, {"distribute", "by"}, {"insert", "overwrite"}};
    const uint32_t next = solid(self, i + 1);
    const bool is_behind_value = before(self, i) < self->count && !is_sign(self, before(self, i), ',') && !is_sign(self, before(self, i), '.');
    for (size_t k = 0; k < NL_COUNT(pairs); k++)
        if (is_word(self, i, pairs[k].first) && is_word(self, next, pairs[k].second)) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s %s is not supported", pairs[k].first, pairs[k].second);
    if ((is_word(self, i, "pivot") || is_word(self, i, "unpivot")) && is_sign(self, next, '(') && is_behind_value) return refuse("PIVOT");
    if (is_word(self, i, "qualify") && is_behind_value && next < self->count && self->tokens[next].kind != NL_TOKEN_SIGN && !is_word(self, next, "from")) return refuse("QUALIFY");
    if (is_word(self, i, "minus") && (is_word(self, next, "select") || is_word(self, next, "all"))) return refuse("MINUS");
    if (is_word(self, i, "match_recognize") && is_sign(self, next, '(')) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "MATCH_RECOGNIZE is not supported");
    if (is_word(self, i, "div") && is_behind_value && next < self->count && (self->tokens[next].kind == NL_TOKEN_NUMBER || nl_dialect_is_name(self, next))) {
        const nl_token_kind kind = self->tokens[before(self, i)].kind;
        if (kind == NL_TOKEN_NUMBER || is_sign(self, before(self, i), ')')) return refuse("DIV");
    }
    return NULL;
}

static bool is_definition(const nl_dialect *self)
{
    static const char *const verbs[] = {"create", "alter", "drop", "describe", "desc", "show", "msck"};
    for (size_t i = 0; i < NL_COUNT(verbs); i++)
        if (is_word(self, solid(self, 0), verbs[i])) return true;
    return false;
}

static nl_status refuse_sparks(const nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const nl_token *one = &self->tokens[i];
        if (one->is_engines || !one->text.length) continue;
        if (one->kind == NL_TOKEN_SIGN) NL_TRY(refuse_sign(self, i));
        if (one->kind == NL_TOKEN_WORD) NL_TRY(refuse_words(self, i));
        if (one->kind == NL_TOKEN_NUMBER && one->text.length > 1) {
            const char last = one->text.data[one->text.length - 1], beforelast = one->text.data[one->text.length - 2];
            const bool is_suffix = strchr("LlSsYyDdFf", last) || ((last == 'D' || last == 'd') && (beforelast == 'B' || beforelast == 'b'));
            if (is_suffix && !nl_str_starts_nocase(one->text, NL_STR("0x"))) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Identifiers must not start with a digit: " NL_STR_FMT, NL_STR_ARG(one->text));
        }
    }
    return NULL;
}

/* Backquotes are Hive's, which Athena takes in definitions. The tokens are Trino's still. */
nl_status nl_dialect_backquotes(const nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count && !is_definition(self); i++)
        if (self->tokens[i].kind == NL_TOKEN_NAME && self->tokens[i].text.data[0] == '`' && nl_str_find_char(self->tokens[i].text, '`', 1) != NL_NOT_FOUND && !self->tokens[i].is_engines)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Backquoted identifiers are not supported; use double quotes to quote identifiers");
    return NULL;
}

nl_status nl_dialect_query(nl_dialect *self)
{
    NL_TRY(refuse_sparks(self));
    translate_sorting(self);
    translate_empty_groups(self);
    NL_TRY(translate_limits(self));
    translate_unnest(self);
    NL_TRY(translate_table_functions(self));
    translate_arrays(self);
    translate_try(self);
    return NULL;
}
