/* function/regex.c - translating Java's pattern syntax to PCRE2's, compiling and matching.
 *
 * The two languages are near each other; what differs is rewritten: POSIX classes \p{Alpha} are ASCII in Java, scripts
 * are \p{IsLatin}, code points \uXXXX, \h means the same, intersections [a&&b] have no counterpart in PCRE2 10.42 and
 * become lookaheads. \w \d \s \b are ASCII (no UCP), as in Java without UNICODE_CHARACTER_CLASS. Limits bound the
 * work of a match: a pattern that backtracks without end is an error, not a hang.
 */
#include "function/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#define MATCH_LIMIT 10000000u
#define HEAP_LIMIT_KIB (64u << 10)

struct nl_regex {
    pcre2_code *code;
    pcre2_match_context *context;
    uint32_t groups;
};

struct nl_regex_match {
    pcre2_match_data *data;
};

typedef struct translator {
    nl_str in;
    size_t at;
    nl_builder *out;
} translator;

static const struct {
    const char *java;
    const char *pcre; /* inside a class */
} properties[] = {
    {"Lower", "a-z"},       {"Upper", "A-Z"},          {"ASCII", "\\x00-\\x7F"},       {"Alpha", "a-zA-Z"},
    {"Digit", "0-9"},       {"Alnum", "a-zA-Z0-9"},    {"Punct", "!-/:-@\\[-`{-~"},    {"Graph", "!-~"},
    {"Print", " -~"},       {"Blank", " \\t"},         {"Cntrl", "\\x00-\\x1F\\x7F"},  {"XDigit", "0-9a-fA-F"},
    {"Space", " \\t\\n\\x0B\\f\\r"},
};

static const struct {
    const char *java;
    const char *pcre;
} unicode_properties[] = {
    {"javaLowerCase", "Ll"}, {"javaUpperCase", "Lu"}, {"javaWhitespace", "Z"}, {"IsAlphabetic", "L"}, {"IsLetter", "L"},
    {"IsDigit", "Nd"},       {"IsLowercase", "Ll"},   {"IsUppercase", "Lu"},   {"IsPunctuation", "P"}, {"IsWhite_Space", "Xsp"},
};

/* \p{…} or \P{…} at the translator's place (behind the backslash). */
static void translate_property(translator *t, bool in_class)
{
    bool is_negated = t->in.data[t->at] == 'P';
    size_t close = nl_str_find_char(t->in, '}', t->at);
    if (t->at + 1 >= t->in.length || t->in.data[t->at + 1] != '{' || close == NL_NOT_FOUND) {
        nl_append_f(t->out, "\\%c", t->in.data[t->at++]);
        return;
    }
    nl_str name = nl_str_slice(t->in, t->at + 2, close);
    t->at = close + 1;
    for (uint32_t i = 0; i < NL_COUNT(properties); i++) {
        if (!nl_str_is(name, properties[i].java)) continue;
        if (in_class && !is_negated)
            nl_append_c(t->out, properties[i].pcre);
        else
            nl_append_f(t->out, "[%s%s]", is_negated ? "^" : "", properties[i].pcre);
        return;
    }
    for (uint32_t i = 0; i < NL_COUNT(unicode_properties); i++) {
        if (!nl_str_is(name, unicode_properties[i].java)) continue;
        nl_append_f(t->out, "\\%c{%s}", is_negated ? 'P' : 'p', unicode_properties[i].pcre);
        return;
    }
    if (nl_str_starts(name, NL_STR("Is"))) name = nl_str_slice(name, 2, name.length);
    nl_str rest = name;
    nl_str key;
    if (nl_str_next_part(&rest, '=', &key) && rest.length > 0) name = rest; /* script=Latin */
    nl_append_f(t->out, "\\%c{" NL_STR_FMT "}", is_negated ? 'P' : 'p', NL_STR_ARG(name));
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* An escape; the translator stands on the backslash. */
static void translate_escape(translator *t, bool in_class)
{
    t->at++;
    if (t->at >= t->in.length) {
        nl_append_char(t->out, '\\');
        return;
    }
    char c = t->in.data[t->at];
    if (c == 'p' || c == 'P') {
        translate_property(t, in_class);
        return;
    }
    if (c == 'Q') {
        size_t end = nl_str_find(t->in, NL_STR("\\E"), t->at);
        nl_str quoted = nl_str_slice(t->in, t->at + 1, end);
        for (size_t i = 0; i < quoted.length; i++) {
            uint8_t byte = (uint8_t)quoted.data[i];
            bool is_plain = byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
            if (!is_plain) nl_append_char(t->out, '\\');
            nl_append_char(t->out, (char)byte);
        }
        t->at = end == NL_NOT_FOUND ? t->in.length : end + 2;
        return;
    }
    if (c == 'u') {
        size_t digits = 0;
        while (digits < 4 && t->at + 1 + digits < t->in.length && is_hex(t->in.data[t->at + 1 + digits])) digits++;
        nl_append_f(t->out, "\\x{" NL_STR_FMT "}", NL_STR_ARG(nl_str_slice(t->in, t->at + 1, t->at + 1 + digits)));
        t->at += 1 + digits;
        return;
    }
    nl_append_char(t->out, '\\');
    size_t next = nl_utf8_next(t->in, t->at);
    nl_append(t->out, nl_str_slice(t->in, t->at, next));
    t->at = next;
}

static void translate_class(translator *t, uint32_t depth);

/* The operands of [a&&b&&c]: each becomes a lookahead, the last one matches. Members are collected up to && or ]. */
static void translate_members(translator *t, uint32_t depth, nl_builder *plain, nl_builder *nested)
{
    nl_builder *out = t->out;
    while (t->at < t->in.length) {
        char c = t->in.data[t->at];
        if (c == ']' || nl_str_starts(nl_str_slice(t->in, t->at, t->in.length), NL_STR("&&"))) break;
        if (c == '[' && depth < 32) {
            if (nested->length > 0) nl_append_char(nested, '|');
            t->out = nested;
            translate_class(t, depth + 1);
        } else if (c == '\\') {
            t->out = plain;
            translate_escape(t, true);
        } else {
            if (c == '[') nl_append_char(plain, '\\');
            nl_append_char(plain, c);
            t->at++;
        }
    }
    t->out = out;
}

static void append_operand(nl_builder *out, const nl_builder *plain, const nl_builder *nested)
{
    if (nested->length == 0) {
        nl_append_f(out, "[" NL_STR_FMT "]", NL_STR_ARG(nl_builder_str(plain)));
    } else {
        nl_append_c(out, "(?:");
        if (plain->length > 0) nl_append_f(out, "[" NL_STR_FMT "]|", NL_STR_ARG(nl_builder_str(plain)));
        nl_append(out, nl_builder_str(nested));
        nl_append_char(out, ')');
    }
}

/* A class; the translator stands on '['. */
static void translate_class(translator *t, uint32_t depth)
{
    nl_builder plain;
    nl_builder nested;
    nl_builder parts; /* (?=operand) for all but the last */
    nl_builder_init(&plain, NL_VALUE_BYTES_MAX);
    nl_builder_init(&nested, NL_VALUE_BYTES_MAX);
    nl_builder_init(&parts, NL_VALUE_BYTES_MAX);
    t->at++;
    bool is_negated = t->at < t->in.length && t->in.data[t->at] == '^';
    if (is_negated) t->at++;
    uint32_t operands = 0;
    if (t->at < t->in.length && t->in.data[t->at] == ']') { /* a first ] is itself */
        nl_append_c(&plain, "\\]");
        t->at++;
    }
    for (;;) {
        translate_members(t, depth, &plain, &nested);
        bool goes_on = t->at < t->in.length && t->in.data[t->at] == '&';
        operands++;
        if (!goes_on) break;
        nl_append_c(&parts, "(?=");
        append_operand(&parts, &plain, &nested);
        nl_append_char(&parts, ')');
        nl_builder_clear(&plain);
        nl_builder_clear(&nested);
        t->at += 2;
    }
    bool is_closed = t->at < t->in.length;
    t->at++;
    if (!is_closed) {
        nl_append_c(t->out, "["); /* refused by the compiler, as in Java */
    } else if (operands == 1 && nested.length == 0) {
        nl_append_f(t->out, "[%s" NL_STR_FMT "]", is_negated ? "^" : "", NL_STR_ARG(nl_builder_str(&plain)));
    } else {
        nl_append_c(t->out, is_negated ? "(?:(?!" : "(?:");
        nl_append(t->out, nl_builder_str(&parts));
        append_operand(t->out, &plain, &nested);
        nl_append_c(t->out, is_negated ? ")[\\s\\S])" : ")");
    }
    nl_builder_fini(&plain);
    nl_builder_fini(&nested);
    nl_builder_fini(&parts);
}

void nl_regex_translate(nl_str java_pattern, nl_builder *out)
{
    translator t = {.in = java_pattern, .out = out};
    while (t.at < t.in.length) {
        char c = t.in.data[t.at];
        if (c == '\\') {
            translate_escape(&t, false);
        } else if (c == '[') {
            translate_class(&t, 0);
        } else {
            nl_append_char(out, c);
            t.at++;
        }
    }
}

nl_regex *nl_regex_compile(nl_str java_pattern)
{
    nl_builder text;
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    nl_regex_translate(java_pattern, &text);
    int error = 0;
    PCRE2_SIZE error_offset = 0;
    nl_regex *regex = calloc(1, sizeof *regex);
    if (regex != NULL && !nl_builder_failed(&text)) {
        nl_str pattern = nl_builder_str(&text);
        const char *bytes = pattern.length > 0 ? pattern.data : "";
        regex->code = pcre2_compile((PCRE2_SPTR)(const void *)bytes, pattern.length,
                                    PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &error, &error_offset, NULL);
    }
    nl_builder_fini(&text);
    if (regex == NULL || regex->code == NULL) {
        free(regex);
        return NULL;
    }
    regex->context = pcre2_match_context_create(NULL);
    if (regex->context != NULL) {
        pcre2_set_match_limit(regex->context, MATCH_LIMIT);
        pcre2_set_heap_limit(regex->context, HEAP_LIMIT_KIB);
    }
    (void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE); /* without it matching is only slower */
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &regex->groups);
    return regex;
}

void nl_regex_free(nl_regex *regex)
{
    if (regex == NULL) return;
    pcre2_code_free(regex->code);
    pcre2_match_context_free(regex->context);
    free(regex);
}

uint32_t nl_regex_groups(const nl_regex *regex)
{
    return regex->groups;
}

int32_t nl_regex_group_number(const nl_regex *regex, nl_str name)
{
    char text[64];
    if (name.length == 0 || name.length >= sizeof text) return -1;
    memcpy(text, name.data, name.length);
    text[name.length] = '\0';
    int number = pcre2_substring_number_from_name(regex->code, (PCRE2_SPTR)(const void *)text);
    return number > 0 ? number : -1;
}

nl_regex_match *nl_regex_match_new(const nl_regex *regex)
{
    nl_regex_match *match = calloc(1, sizeof *match);
    if (match == NULL) return NULL;
    match->data = pcre2_match_data_create_from_pattern(regex->code, NULL);
    if (match->data == NULL) {
        free(match);
        return NULL;
    }
    return match;
}

void nl_regex_match_free(nl_regex_match *match)
{
    if (match == NULL) return;
    pcre2_match_data_free(match->data);
    free(match);
}

bool nl_regex_find(const nl_regex *regex, nl_regex_match *match, nl_str text, size_t start, nl_status *status)
{
    const char *bytes = text.length > 0 ? text.data : "";
    int count = pcre2_match(regex->code, (PCRE2_SPTR)(const void *)bytes, text.length, start, 0, match->data, regex->context);
    if (count >= 0) return true;
    if (count != PCRE2_ERROR_NOMATCH && *status == NULL)
        *status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A regular expression needs too many steps on a text of %zu bytes. Simplify it.", text.length);
    return false;
}

nl_str nl_regex_group(const nl_regex_match *match, nl_str text, uint32_t i, bool *is_set)
{
    const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(match->data);
    *is_set = i < pcre2_get_ovector_count(match->data) && offsets[2 * i] != PCRE2_UNSET;
    return *is_set ? nl_str_slice(text, offsets[2 * i], offsets[2 * i + 1]) : (nl_str){NULL, 0};
}

size_t nl_regex_start(const nl_regex_match *match)
{
    return pcre2_get_ovector_pointer(match->data)[0];
}

size_t nl_regex_stop(const nl_regex_match *match)
{
    return pcre2_get_ovector_pointer(match->data)[1];
}
