/* lakehouse/glue/expression.c - GetPartitions' Expression: comparisons, IN, BETWEEN, AND, OR, NOT and parentheses, read and
 * evaluated in one go. Keys of a number's type compare as numbers, others as text. */
#include "lakehouse/glue/glue_private.h"

#include "base/number.h"

#define DEPTH_MAX 64

typedef struct reader {
    nl_glue_call *call;
    nl_str text;
    size_t at;
    const nl_glue_key *keys;
    const nl_str *values; /* NULL: only checking */
    uint32_t key_count;
    uint32_t depth;
} reader;

static void skip_space(reader *self)
{
    while (self->at < self->text.length && (unsigned char)self->text.data[self->at] <= ' ') self->at++;
}

static nl_status expected(reader *self, const char *what)
{
    return nl_glue_invalid(self->call, "Expression: %s is expected at character %zu of " NL_STR_FMT, what, self->at + 1, NL_STR_ARG(self->text));
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (unsigned char)c >= 0x80;
}

static nl_str peek_word(reader *self)
{
    skip_space(self);
    size_t stop = self->at;
    while (stop < self->text.length && is_word_char(self->text.data[stop])) stop++;
    return nl_str_slice(self->text, self->at, stop);
}

static bool take_word(reader *self, const char *word)
{
    const nl_str found = peek_word(self);
    if (!nl_str_is_nocase(found, word)) return false;
    self->at += found.length;
    return true;
}

static bool take(reader *self, const char *symbol)
{
    const nl_str wanted = nl_str_from(symbol);
    skip_space(self);
    if (!nl_str_starts(nl_str_slice(self->text, self->at, self->text.length), wanted)) return false;
    self->at += wanted.length;
    return true;
}

/* 'text' with '' for a quote, or a bare word or number. */
static nl_status read_literal(reader *self, nl_str *literal)
{
    skip_space(self);
    const char quote = self->at < self->text.length ? self->text.data[self->at] : 0;
    if (quote != '\'' && quote != '"') {
        size_t stop = self->at;
        while (stop < self->text.length && (is_word_char(self->text.data[stop]) || strchr("+-.", self->text.data[stop]))) stop++;
        *literal = nl_str_slice(self->text, self->at, stop);
        self->at = stop;
        return literal->length ? NULL : expected(self, "a value");
    }
    char *bytes = nl_arena_alloc(self->call->arena, self->text.length + 1);
    size_t length = 0;
    for (self->at++; self->at < self->text.length; self->at++) {
        const char c = self->text.data[self->at];
        if (c == quote && self->at + 1 < self->text.length && self->text.data[self->at + 1] == quote) self->at++;
        else if (c == quote) break;
        bytes[length++] = c;
    }
    if (self->at >= self->text.length) return expected(self, "the end of a text");
    self->at++;
    *literal = (nl_str){bytes, length};
    return NULL;
}

static bool is_number(nl_str type)
{
    static const char *const types[] = {"int", "integer", "bigint", "smallint", "tinyint", "long", "double", "float"};
    for (size_t i = 0; i < NL_COUNT(types); i++)
        if (nl_str_is_nocase(type, types[i])) return true;
    return nl_str_starts_nocase(type, NL_STR("decimal"));
}

static int compare(reader *self, uint32_t key, nl_str literal)
{
    if (!self->values) return 0;
    if (!is_number(self->keys[key].type)) return nl_str_compare(self->values[key], literal);
    int64_t a, b;
    double c, d;
    if (nl_parse_int64(self->values[key], &a) && nl_parse_int64(literal, &b)) return a < b ? -1 : a > b;
    if (nl_parse_double(self->values[key], &c) && nl_parse_double(literal, &d)) return c < d ? -1 : c > d;
    return nl_str_compare(self->values[key], literal);
}

static nl_status read_key(reader *self, uint32_t *key)
{
    const bool is_quoted = take(self, "`");
    const nl_str name = peek_word(self);
    self->at += name.length;
    if (is_quoted && !take(self, "`")) return expected(self, "`");
    for (*key = 0; *key < self->key_count; (*key)++)
        if (nl_str_equal_nocase(self->keys[*key].name, name)) return NULL;
    return nl_glue_invalid(self->call, "Expression: " NL_STR_FMT " is no partition key of the table", NL_STR_ARG(name));
}

static nl_status read_list(reader *self, uint32_t key, bool *is_true)
{
    nl_str literal;
    *is_true = false;
    if (!take(self, "(")) return expected(self, "(");
    do {
        NL_TRY(read_literal(self, &literal));
        *is_true = *is_true || compare(self, key, literal) == 0;
    } while (take(self, ","));
    return take(self, ")") ? NULL : expected(self, ")");
}

static nl_status read_comparison(reader *self, bool *is_true)
{
    static const struct {
        const char *symbol;
        bool less, equal, more;
    } operators[] = {{"<=", true, true, false}, {">=", false, true, true}, {"<>", true, false, true}, {"!=", true, false, true}, {"=", false, true, false}, {"<", true, false, false}, {">", false, false, true}};
    uint32_t key = 0;
    nl_str low = {0}, high = {0};
    NL_TRY(read_key(self, &key));
    const bool is_negated = take_word(self, "NOT");
    if (take_word(self, "IN")) {
        NL_TRY(read_list(self, key, is_true));
    } else if (take_word(self, "BETWEEN")) {
        NL_TRY(read_literal(self, &low));
        if (!take_word(self, "AND")) return expected(self, "AND");
        NL_TRY(read_literal(self, &high));
        *is_true = compare(self, key, low) >= 0 && compare(self, key, high) <= 0;
    } else {
        size_t i = 0;
        while (i < NL_COUNT(operators) && (is_negated || !take(self, operators[i].symbol))) i++;
        if (i == NL_COUNT(operators)) return expected(self, "=, <>, <, <=, >, >=, IN or BETWEEN");
        NL_TRY(read_literal(self, &low));
        const int order = compare(self, key, low);
        *is_true = order < 0 ? operators[i].less : order > 0 ? operators[i].more : operators[i].equal;
    }
    *is_true = *is_true != is_negated;
    return NULL;
}

static nl_status read_or(reader *self, bool *is_true);

static nl_status read_term(reader *self, bool *is_true)
{
    if (++self->depth > DEPTH_MAX) return nl_glue_invalid(self->call, "Expression: it is nested too deep");
    if (take_word(self, "NOT")) {
        NL_TRY(read_term(self, is_true));
        *is_true = !*is_true;
    } else if (take(self, "(")) {
        NL_TRY(read_or(self, is_true));
        if (!take(self, ")")) return expected(self, ")");
    } else {
        NL_TRY(read_comparison(self, is_true));
    }
    self->depth--;
    return NULL;
}

static nl_status read_and(reader *self, bool *is_true)
{
    bool other;
    NL_TRY(read_term(self, is_true));
    while (take_word(self, "AND")) {
        NL_TRY(read_term(self, &other));
        *is_true = *is_true && other;
    }
    return NULL;
}

static nl_status read_or(reader *self, bool *is_true)
{
    bool other;
    NL_TRY(read_and(self, is_true));
    while (take_word(self, "OR")) {
        NL_TRY(read_and(self, &other));
        *is_true = *is_true || other;
    }
    return NULL;
}

nl_status nl_glue_evaluate(nl_glue_call *call, nl_str expression, const nl_glue_key *keys, const nl_str *values, uint32_t key_count, bool *is_true)
{
    reader self = {.call = call, .text = expression, .keys = keys, .values = values, .key_count = key_count};
    *is_true = true;
    if (!nl_str_trim(expression).length) return NULL;
    NL_TRY(read_or(&self, is_true));
    skip_space(&self);
    return self.at == expression.length ? NULL : expected(&self, "the end");
}
