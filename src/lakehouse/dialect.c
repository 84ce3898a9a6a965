/* lakehouse/dialect.c - see dialect.h. A token keeps its text, or gets another; passes look at neighbours and never at what
 * stands inside literals, names or comments.
 */
#include "lakehouse/dialect.h"

#include <ctype.h>

#include "base/status.h"

typedef enum token_kind { TOKEN_SPACE, TOKEN_WORD, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_NAME, TOKEN_SIGN } token_kind;

typedef struct token {
    token_kind kind;
    nl_str text;
    nl_str before, after; /* put around it; empty: nothing */
} token;

typedef struct dialect {
    nl_arena *arena;
    token *tokens; /* with room for one more than there are bytes */
    uint32_t *partner; /* of a bracket: the one that it opens or closes; count: none */
    uint32_t count;
} dialect;

const nl_property nl_dialect_confs[] = {
    {NL_STR_INIT("spark.sql.ansi.enabled"), NL_STR_INIT("true")},
    {NL_STR_INIT("spark.sql.session.timeZone"), NL_STR_INIT("UTC")},
    {NL_STR_INIT("spark.nilas.sql.trino"), NL_STR_INIT("true")},
};
const uint32_t nl_dialect_conf_count = NL_COUNT(nl_dialect_confs);

/* ---- Tokens. */

static size_t quoted_end(nl_str sql, size_t start)
{
    size_t i = start + 1;
    for (; i < sql.length; i++) {
        if (sql.data[i] != sql.data[start]) continue;
        if (i + 1 < sql.length && sql.data[i + 1] == sql.data[start]) i++;
        else return i + 1;
    }
    return sql.length;
}

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static size_t space_end(nl_str sql, size_t i)
{
    if (nl_str_starts(nl_str_slice(sql, i, sql.length), NL_STR("--"))) {
        const size_t line = nl_str_find_char(sql, '\n', i);
        return line == NL_NOT_FOUND ? sql.length : line + 1;
    }
    if (nl_str_starts(nl_str_slice(sql, i, sql.length), NL_STR("/*"))) {
        const size_t end = nl_str_find(sql, NL_STR("*/"), i + 2);
        return end == NL_NOT_FOUND ? sql.length : end + 2;
    }
    while (i < sql.length && isspace((unsigned char)sql.data[i])) i++;
    return i;
}

static size_t token_end(nl_str sql, size_t i, token_kind *kind)
{
    const char c = sql.data[i];
    const size_t space = space_end(sql, i);
    *kind = TOKEN_SPACE;
    if (space > i) return space;
    *kind = c == '\'' ? TOKEN_TEXT : TOKEN_NAME;
    if (c == '\'' || c == '"' || c == '`') return quoted_end(sql, i);
    size_t end = i + 1;
    if (isdigit((unsigned char)c)) {
        *kind = TOKEN_NUMBER;
        while (end < sql.length && (isalnum((unsigned char)sql.data[end]) || sql.data[end] == '.')) end++;
    } else if (is_word_byte(c)) {
        *kind = TOKEN_WORD;
        while (end < sql.length && is_word_byte(sql.data[end])) end++;
    } else {
        *kind = TOKEN_SIGN;
    }
    return end;
}

static void read_tokens(dialect *self, nl_str sql)
{
    self->tokens = NL_NEW_ARRAY(self->arena, token, sql.length + 1);
    for (size_t i = 0; i < sql.length;) {
        token_kind kind;
        const size_t end = token_end(sql, i, &kind);
        self->tokens[self->count++] = (token){.kind = kind, .text = nl_str_slice(sql, i, end)};
        i = end;
    }
}

/* The next token that is no space, from `at` on; count: there is none. */
static uint32_t solid(const dialect *self, uint32_t at)
{
    while (at < self->count && (self->tokens[at].kind == TOKEN_SPACE || self->tokens[at].text.length == 0)) at++;
    return at;
}

static bool is_word(const dialect *self, uint32_t at, const char *word)
{
    return at < self->count && self->tokens[at].kind == TOKEN_WORD && nl_str_is_nocase(self->tokens[at].text, word);
}

static bool is_sign(const dialect *self, uint32_t at, char sign)
{
    return at < self->count && self->tokens[at].kind == TOKEN_SIGN && self->tokens[at].text.data[0] == sign;
}

static uint32_t before(const dialect *self, uint32_t at)
{
    while (at > 0)
        if (self->tokens[--at].kind != TOKEN_SPACE && self->tokens[at].text.length) return at;
    return self->count;
}

/* The bracket that closes the one at `at`; count: none does. Known from the start, so that nesting costs nothing. */
static uint32_t closing(const dialect *self, uint32_t at)
{
    return at < self->count && self->partner[at] > at ? self->partner[at] : self->count;
}

static void pair_brackets(dialect *self)
{
    uint32_t *open = NL_NEW_ARRAY(self->arena, uint32_t, self->count + 1), depth = 0;
    self->partner = NL_NEW_ARRAY(self->arena, uint32_t, self->count + 1);
    for (uint32_t i = 0; i <= self->count; i++) self->partner[i] = self->count;
    for (uint32_t i = 0; i < self->count; i++) {
        if (is_sign(self, i, '(') || is_sign(self, i, '[')) open[depth++] = i;
        if (!is_sign(self, i, ')') && !is_sign(self, i, ']')) continue;
        if (depth == 0) continue;
        self->partner[i] = open[--depth];
        self->partner[open[depth]] = i;
    }
}

static void drop(dialect *self, uint32_t from, uint32_t to)
{
    for (; from < to && from < self->count; from++) self->tokens[from] = (token){.kind = TOKEN_SPACE};
}

static void append_tokens(const dialect *self, uint32_t from, uint32_t to, nl_builder *out)
{
    for (; from < to; from++) {
        nl_append(out, self->tokens[from].before);
        nl_append(out, self->tokens[from].text);
        nl_append(out, self->tokens[from].after);
    }
}

static void put(dialect *self, uint32_t at, const char *text)
{
    self->tokens[at].text = nl_str_from(text);
}

/* ---- Literals and names. */

/* 'it''s a \' becomes 'it\'s a \\'. */
static nl_str engine_literal(nl_arena *arena, nl_str text)
{
    char *out = nl_arena_alloc(arena, 2 * text.length + 1);
    size_t length = 0;
    out[length++] = '\'';
    for (size_t i = 1; i + 1 < text.length; i++) {
        if (text.data[i] == '\'' || text.data[i] == '\\') out[length++] = '\\';
        if (text.data[i] == '\'') i++; /* the second of two */
        out[length++] = text.data[i];
    }
    out[length++] = '\'';
    return (nl_str){out, length};
}

static const char *const metadata_tables[] = {"snapshots", "history", "files", "manifests", "partitions", "refs", "entries", "all_manifests", "all_entries", "metadata_log_entries"};

/* "a""b" becomes `a"b`, "t$files" becomes `t`.`files`. */
static nl_str engine_name(nl_arena *arena, nl_str text)
{
    if (text.data[0] == '`') return text;
    char *out = nl_arena_alloc(arena, 2 * text.length + 4);
    size_t length = 0;
    const nl_str inside = nl_str_slice(text, 1, text.length - 1);
    const size_t dollar = nl_str_find_last_char(inside, '$');
    size_t cut = NL_NOT_FOUND;
    for (size_t i = 0; dollar != NL_NOT_FOUND && i < NL_COUNT(metadata_tables); i++)
        if (nl_str_is_nocase(nl_str_slice(inside, dollar + 1, inside.length), metadata_tables[i])) cut = dollar;
    out[length++] = '`';
    for (size_t i = 0; i < inside.length; i++) {
        if (i == cut) {
            memcpy(out + length, "`.`", 3);
            length += 3;
            continue;
        }
        if (inside.data[i] == '`') out[length++] = '`';
        if (inside.data[i] == '"' && i + 1 < inside.length) i++;
        out[length++] = inside.data[i];
    }
    out[length++] = '`';
    return (nl_str){out, length};
}

static void translate_quotes(dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        token *one = &self->tokens[i];
        const bool is_closed = one->text.length > 1 && one->text.data[one->text.length - 1] == one->text.data[0];
        if (!is_closed) continue;
        if (one->kind == TOKEN_TEXT) one->text = engine_literal(self->arena, one->text);
        if (one->kind == TOKEN_NAME) one->text = engine_name(self->arena, one->text);
    }
}

/* ---- Types. */

/* The bracket that closes at `at` belongs to CAST or TRY_CAST. */
static bool closes_cast(const dialect *self, uint32_t at)
{
    if (at >= self->count || self->partner[at] >= at) return false;
    const uint32_t word = before(self, self->partner[at]);
    return is_word(self, word, "cast") || is_word(self, word, "try_cast");
}

static const struct {
    const char *trino, *engine; /* engine NULL: the text alone is meant */
} typed_literals[] = {{"bigint", "BIGINT"}, {"integer", "INT"},  {"int", "INT"},         {"smallint", "SMALLINT"}, {"tinyint", "TINYINT"}, {"double", "DOUBLE"},
                      {"real", "FLOAT"},    {"char", NULL},      {"boolean", "BOOLEAN"}, {"varchar", NULL}};

static bool is_decimal_text(nl_str literal)
{
    bool has_digit = false;
    for (size_t i = 1; i + 1 < literal.length; i++) {
        if (!isdigit((unsigned char)literal.data[i]) && literal.data[i] != '.' && !(i == 1 && literal.data[i] == '-')) return false;
        has_digit |= isdigit((unsigned char)literal.data[i]) != 0;
    }
    return has_digit;
}

/* BIGINT '1' becomes CAST('1' AS BIGINT), DECIMAL '1.50' becomes 1.50BD, VARCHAR 'x' becomes 'x'. */
static void translate_typed_literals(dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t next = solid(self, i + 1);
        if (self->tokens[i].kind != TOKEN_WORD || next >= self->count || self->tokens[next].kind != TOKEN_TEXT) continue;
        const nl_str text = self->tokens[next].text;
        if (is_word(self, i, "decimal") && is_decimal_text(text)) {
            drop(self, i, next);
            self->tokens[next].text = nl_arena_f(self->arena, NL_STR_FMT "BD", NL_STR_ARG(nl_str_slice(text, 1, text.length - 1)));
            self->tokens[next].kind = TOKEN_NUMBER;
        }
        for (size_t k = 0; k < NL_COUNT(typed_literals); k++) {
            if (!is_word(self, i, typed_literals[k].trino)) continue;
            drop(self, i, next);
            if (!typed_literals[k].engine) break;
            self->tokens[next].before = NL_STR("CAST(");
            self->tokens[next].after = nl_arena_f(self->arena, " AS %s)", typed_literals[k].engine);
            break;
        }
    }
}

static void translate_types(dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->tokens[i].kind != TOKEN_WORD) continue;
        uint32_t next = solid(self, i + 1);
        const bool has_size = is_sign(self, next, '(') && closing(self, next) < self->count && self->tokens[solid(self, next + 1)].kind == TOKEN_NUMBER;
        if (is_word(self, i, "varchar") && !is_sign(self, next, '(')) put(self, i, "STRING");
        if (is_word(self, i, "varbinary") && !is_sign(self, next, '(')) put(self, i, "BINARY");
        if (!is_word(self, i, "timestamp") || (next < self->count && self->tokens[next].kind == TOKEN_TEXT)) continue;
        const uint32_t behind = has_size ? solid(self, closing(self, next) + 1) : next;
        const bool with = is_word(self, behind, "with"), without = is_word(self, behind, "without");
        const uint32_t time = solid(self, behind + 1), zone = solid(self, time + 1);
        const bool is_zoned = (with || without) && is_word(self, time, "time") && is_word(self, zone, "zone");
        const bool is_cast = is_word(self, before(self, i), "as") && is_sign(self, behind, ')') && closes_cast(self, behind);
        if (is_zoned || has_size || is_cast) put(self, i, is_zoned && with ? "TIMESTAMP" : "TIMESTAMP_NTZ");
        if (has_size) drop(self, i + 1, closing(self, next) + 1);
        if (is_zoned) drop(self, behind, zone + 1);
    }
}

/* ---- Sorting: nulls come last, whatever the direction. */

static bool ends_sorting(const dialect *self, uint32_t at)
{
    static const char *const words[] = {"limit", "offset", "fetch", "rows", "range", "groups", "union", "intersect", "except", "for"};
    for (size_t i = 0; i < NL_COUNT(words); i++)
        if (is_word(self, at, words[i])) return true;
    return is_sign(self, at, ')') || is_sign(self, at, ';');
}

/* From behind ORDER BY; gives the token that ends the list. */
static uint32_t sort_items(dialect *self, uint32_t at)
{
    uint32_t last = self->count;
    bool has_nulls = false;
    for (at = solid(self, at); at <= self->count; at = solid(self, at + 1)) {
        const bool is_end = at >= self->count || (ends_sorting(self, at) && (last < self->count || self->tokens[at].kind == TOKEN_SIGN)); /* a column may be called rows */
        if (is_end || is_sign(self, at, ',')) {
            if (last < self->count && !has_nulls) self->tokens[last].after = NL_STR(" NULLS LAST");
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

static void translate_sorting(dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (is_word(self, i, "by") && is_word(self, before(self, i), "order")) (void)sort_items(self, i + 1);
}

/* FETCH FIRST n ROWS ONLY becomes LIMIT n; OFFSET n ROWS LIMIT m becomes LIMIT m OFFSET n. */
static void translate_limits(dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t first = solid(self, i + 1), number = solid(self, first + 1), rows = solid(self, number + 1), only = solid(self, rows + 1);
        if (is_word(self, i, "fetch") && (is_word(self, first, "first") || is_word(self, first, "next")) && number < self->count && self->tokens[number].kind == TOKEN_NUMBER &&
            is_word(self, only, "only")) {
            put(self, i, "LIMIT");
            drop(self, first, number);
            drop(self, rows, only + 1);
            self->tokens[i].after = NL_STR(" ");
        }
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
}

/* ---- Arrays, rows, UNNEST. */

static void translate_arrays(dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t open = solid(self, i + 1);
        if (is_word(self, i, "array") && is_sign(self, open, '[') && closing(self, open) < self->count) {
            put(self, closing(self, open), ")");
            put(self, open, "(");
        } else if (is_word(self, i, "map") && is_sign(self, open, '(') && is_word(self, solid(self, open + 1), "array")) {
            put(self, i, "map_from_arrays");
        } else if (is_word(self, i, "row") && is_sign(self, open, '(') && !is_word(self, before(self, i), "as")) {
            put(self, i, "struct");
        }
    }
}

/* CROSS JOIN UNNEST(a) AS t(x) becomes LATERAL VIEW explode(a) t AS x; after FROM it is the function explode. */
static void translate_unnest(dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t open = solid(self, i + 1);
        if (!is_word(self, i, "unnest") || !is_sign(self, open, '(') || closing(self, open) >= self->count) continue;
        const uint32_t join = before(self, i), cross = before(self, join);
        uint32_t name = solid(self, closing(self, open) + 1);
        if (is_word(self, before(self, i), "from")) put(self, i, "explode");
        const bool is_joined = is_word(self, join, "join") && is_word(self, cross, "cross");
        if (!is_joined && !is_sign(self, join, ',')) continue;
        if (is_word(self, name, "with")) continue; /* WITH ORDINALITY: the engine says that it does not know UNNEST */
        if (is_word(self, name, "as")) {
            drop(self, name, name + 1);
            name = solid(self, name);
        }
        const uint32_t columns = solid(self, name + 1);
        if (name >= self->count || !is_sign(self, columns, '(') || closing(self, columns) >= self->count) continue;
        drop(self, is_joined ? cross : join, i);
        self->tokens[i].before = NL_STR(" LATERAL VIEW ");
        put(self, i, "explode");
        put(self, closing(self, columns), " ");
        put(self, columns, " AS ");
    }
}

/* ---- Functions. */

static const struct {
    const char *from, *to;
} renamed[] = {
    {"strpos", "instr"},           {"approx_distinct", "approx_count_distinct"}, {"arbitrary", "any_value"}, {"json_extract_scalar", "get_json_object"},
    {"json_extract", "get_json_object"}, {"to_hex", "hex"},                      {"from_hex", "unhex"},      {"to_base64", "base64"},
    {"from_base64", "unbase64"},   {"codepoint", "ascii"},                       {"random", "rand"},         {"is_nan", "isnan"},
    {"day_of_month", "day"},       {"day_of_year", "dayofyear"},                 {"week_of_year", "weekofyear"}, {"contains", "array_contains"},
    {"format_datetime", "date_format"}, {"parse_datetime", "to_timestamp"},      {"from_iso8601_timestamp", "to_timestamp"}, {"from_iso8601_date", "to_date"},
    {"from_unixtime", "timestamp_seconds"}, {"bool_and", "bool_and"},            {"every", "bool_and"},      {"url_extract_host", "url_extract_host"},
};

/* The pattern letters of MySQL (date_format, date_parse) as those of the engine. */
static const struct {
    char letter;
    const char *pattern;
} pattern_letters[] = {{'Y', "yyyy"}, {'y', "yy"}, {'m', "MM"}, {'c', "M"}, {'d', "dd"}, {'e', "d"}, {'H', "HH"}, {'k', "H"}, {'h', "hh"}, {'I', "hh"}, {'l', "h"}, {'i', "mm"},
                       {'s', "ss"}, {'S', "ss"}, {'f', "SSSSSS"}, {'p', "a"}, {'M', "MMMM"}, {'b', "MMM"}, {'W', "EEEE"}, {'a', "EEE"}, {'j', "DDD"}, {'T', "HH:mm:ss"}};

/* "'%Y-%m-%d'" becomes "'yyyy-MM-dd'"; letters that stand for themselves are quoted. data NULL: a letter has no counterpart. */
static nl_str engine_pattern(nl_arena *arena, nl_str literal)
{
    nl_builder out;
    nl_builder_init(&out, 1 << 16);
    bool is_known = true;
    nl_append_char(&out, '\'');
    for (size_t i = 1; i + 1 < literal.length; i++) {
        const char c = literal.data[i];
        const char *pattern = NULL;
        for (size_t k = 0; c == '%' && k < NL_COUNT(pattern_letters); k++)
            if (pattern_letters[k].letter == literal.data[i + 1]) pattern = pattern_letters[k].pattern;
        if (pattern) nl_append_c(&out, pattern);
        else if (isalpha((unsigned char)c)) nl_append_f(&out, "\\'%c\\'", c);
        else if (c != '%' || literal.data[i + 1] == '%') nl_append_char(&out, c);
        else is_known = false;
        i += c == '%';
    }
    nl_append_char(&out, '\'');
    const nl_str made = is_known ? nl_arena_str(arena, nl_builder_str(&out)) : (nl_str){0};
    nl_builder_fini(&out);
    return made;
}

/* The commas between the arguments of the call whose bracket is at `open`, at most two; how many there are. */
static uint32_t commas(const dialect *self, uint32_t open, uint32_t found[2])
{
    const uint32_t end = closing(self, open);
    uint32_t count = 0;
    for (uint32_t i = open + 1; i < end; i++) {
        if (is_sign(self, i, '(') || is_sign(self, i, '[')) i = closing(self, i);
        else if (is_sign(self, i, ',') && count++ < 2) found[count - 1] = i;
    }
    return count;
}

static nl_str unit_of(const dialect *self, uint32_t open)
{
    const uint32_t first = solid(self, open + 1);
    if (first >= self->count || self->tokens[first].kind != TOKEN_TEXT) return (nl_str){0};
    const nl_str text = self->tokens[first].text;
    return text.length > 2 ? nl_str_slice(text, 1, text.length - 1) : (nl_str){0};
}

/* date_diff('day', a, b) becomes timestampdiff(day, a, b); date_add('month', n, x) becomes ((x) + (n) * INTERVAL '1' month). */
static void translate_date_arithmetic(dialect *self, uint32_t at, uint32_t open)
{
    uint32_t comma[2];
    const uint32_t first = solid(self, open + 1), end = closing(self, open);
    const nl_str unit = unit_of(self, open);
    if (!unit.length || commas(self, open, comma) != 2) return;
    if (is_word(self, at, "date_diff")) {
        put(self, at, "timestampdiff");
        self->tokens[first].text = unit;
        return;
    }
    const bool is_week = nl_str_is_nocase(unit, "week"), is_quarter = nl_str_is_nocase(unit, "quarter");
    nl_builder amount, value;
    nl_builder_init(&amount, 16 << 20);
    nl_builder_init(&value, 16 << 20);
    append_tokens(self, comma[0] + 1, comma[1], &amount);
    append_tokens(self, comma[1] + 1, end, &value);
    const bool is_days = is_week || nl_str_is_nocase(unit, "day"); /* a date plus whole days stays a date */
    self->tokens[at].text = nl_arena_f(self->arena, "((" NL_STR_FMT ") + %s(" NL_STR_FMT ") * INTERVAL '%d' " NL_STR_FMT "%s)", NL_STR_ARG(nl_builder_str(&value)), is_days ? "CAST(" : "",
                                       NL_STR_ARG(nl_builder_str(&amount)), is_week ? 7 : is_quarter ? 3 : 1, NL_STR_ARG(is_week ? NL_STR("day") : is_quarter ? NL_STR("month") : unit),
                                       is_days ? " AS INTERVAL DAY)" : "");
    self->tokens[at].kind = TOKEN_NUMBER; /* one thing, whose brackets are its own */
    nl_builder_fini(&amount);
    nl_builder_fini(&value);
    drop(self, open, end + 1);
}

static void translate_pattern(dialect *self, uint32_t at, uint32_t open)
{
    uint32_t comma[2];
    if (commas(self, open, comma) != 1) return;
    const uint32_t pattern = solid(self, comma[0] + 1);
    if (self->tokens[pattern].kind != TOKEN_TEXT) return;
    const nl_str made = engine_pattern(self->arena, self->tokens[pattern].text);
    if (!made.data) return;
    if (is_word(self, at, "date_parse")) put(self, at, "to_timestamp_ntz");
    self->tokens[pattern].text = made;
}

/* What is missing from the arguments has another default here. */
static void translate_defaults(dialect *self, uint32_t at, uint32_t open)
{
    uint32_t comma[2];
    const uint32_t count = commas(self, open, comma), end = closing(self, open);
    if (is_word(self, at, "regexp_extract") && count == 1) self->tokens[end].before = NL_STR(", 0");
    if (is_word(self, at, "regexp_replace") && count == 1) self->tokens[end].before = NL_STR(", ''");
    if (is_word(self, at, "split") && count == 1) { /* by a text, not by an expression */
        self->tokens[comma[0]].after = NL_STR(" '\\\\Q' || ");
        self->tokens[end].before = NL_STR(" || '\\\\E'");
    }
}

static void translate_functions(dialect *self)
{
    /* From the end: what stands inside of an argument is done before the call around it moves its text. */
    for (uint32_t i = self->count; i-- > 0;) {
        const uint32_t open = solid(self, i + 1);
        if (self->tokens[i].kind != TOKEN_WORD || !is_sign(self, open, '(') || closing(self, open) >= self->count || is_sign(self, before(self, i), '.')) continue;
        translate_defaults(self, i, open);
        if (is_word(self, i, "date_diff") || is_word(self, i, "date_add")) translate_date_arithmetic(self, i, open);
        else if (is_word(self, i, "date_format") || is_word(self, i, "date_parse")) translate_pattern(self, i, open);
        for (size_t k = 0; k < NL_COUNT(renamed); k++) {
            if (!is_word(self, i, renamed[k].from)) continue;
            put(self, i, renamed[k].to);
            break;
        }
    }
}

/* ---- Names of tables that the service itself has. */

static nl_str bare(const dialect *self, uint32_t at)
{
    const token *one = &self->tokens[at];
    const nl_str text = one->kind == TOKEN_NAME && one->text.length > 1 ? nl_str_slice(one->text, 1, one->text.length - 1) : one->text;
    char *out = nl_arena_alloc(self->arena, text.length + 1);
    for (size_t i = 0; i < text.length; i++) out[i] = (char)tolower((unsigned char)text.data[i]);
    return (nl_str){out, text.length};
}

static bool is_part(const dialect *self, uint32_t at)
{
    return at < self->count && (self->tokens[at].kind == TOKEN_WORD || self->tokens[at].kind == TOKEN_NAME);
}

/* A name of two or three parts, of which the last but one is information_schema or jdbc. */
static nl_status translate_names(dialect *self, const nl_dialect_names *names)
{
    for (uint32_t i = 0; i < self->count; i++) {
        nl_str parts[3];
        uint32_t count = 0, last = i;
        if (!is_part(self, i) || is_sign(self, before(self, i), '.')) continue;
        for (uint32_t at = i; count < 3 && is_part(self, at); at = solid(self, solid(self, at + 1) + 1)) {
            parts[count++] = bare(self, at);
            last = at;
            if (!is_sign(self, solid(self, at + 1), '.')) break;
        }
        if (count < 2 || !(nl_str_is(parts[count - 2], "information_schema") || nl_str_is(parts[count - 2], "jdbc"))) continue;
        nl_str text = {0};
        NL_TRY(names->find(names->argument, parts, count, self->arena, &text));
        if (!text.length) continue;
        drop(self, i, last + 1);
        self->tokens[i] = (token){.kind = TOKEN_NUMBER, .text = text};
    }
    return NULL;
}

nl_status nl_dialect_to_engine(nl_arena *arena, nl_str sql, const nl_dialect_names *names, nl_str *text)
{
    dialect self = {.arena = arena};
    read_tokens(&self, sql);
    pair_brackets(&self);
    translate_quotes(&self);
    translate_sorting(&self);
    translate_limits(&self);
    translate_typed_literals(&self);
    translate_types(&self);
    translate_unnest(&self);
    translate_arrays(&self);
    translate_functions(&self);
    if (names) NL_TRY(translate_names(&self, names));
    nl_builder out;
    nl_builder_init(&out, 64u << 20);
    append_tokens(&self, 0, self.count, &out);
    *text = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return nl_arena_check(arena);
}
