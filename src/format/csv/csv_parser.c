/* format/csv/csv_parser.c - splitting a record at delimiters, with quotes.
 *
 * The edge cases (blanks around quotes, quotes that nothing escapes, values that are never closed) were asked of Spark
 * 4.0.1, see csv_parser_test.c. Values without escapes stay slices of the record; a quote is looked for only at a value's
 * start, so unquoted values cost one search for the delimiter.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "format/csv/csv_parser.h"

void nl_csv_parser_init(nl_csv_parser *parser, const nl_csv_options *options)
{
    *parser = (nl_csv_parser){.options = options};
    nl_builder_init(&parser->text, NL_VALUE_BYTES_MAX);
    nl_builder_init(&parser->record, NL_VALUE_BYTES_MAX);
}

void nl_csv_parser_fini(nl_csv_parser *parser)
{
    nl_builder_fini(&parser->text);
    nl_builder_fini(&parser->record);
    free(parser->tokens);
    *parser = (nl_csv_parser){0};
}

static bool is_blank(char c)
{
    return (uint8_t)c <= ' ';
}

bool nl_csv_is_skipped(const nl_csv_options *options, nl_str line)
{
    size_t i = 0;
    while (i < line.length && is_blank(line.data[i]))
        i++;
    return i == line.length || (options->comment && line.data[0] == options->comment);
}

static bool is_delimiter_at(const nl_csv_parser *parser, size_t at)
{
    nl_str delimiter = parser->options->delimiter;
    if (at >= parser->input.length || parser->input.data[at] != delimiter.data[0]) return false;
    return delimiter.length == 1 || nl_str_starts(nl_str_slice(parser->input, at, parser->input.length), delimiter);
}

/* The next delimiter from `at`, or the record's end. */
static size_t find_delimiter(const nl_csv_parser *parser, size_t at)
{
    nl_str input = parser->input;
    nl_str delimiter = parser->options->delimiter;
    if (delimiter.length == 1) {
        const char *found = at < input.length ? memchr(input.data + at, delimiter.data[0], input.length - at) : NULL;
        return found ? (size_t)(found - input.data) : input.length;
    }
    size_t found = nl_str_find(input, delimiter, at);
    return found == NL_NOT_FOUND ? input.length : found;
}

static nl_status add_token(nl_csv_parser *parser, nl_csv_token token)
{
    const nl_csv_options *options = parser->options;
    if (parser->token_count >= options->column_count_max)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A record has more columns than maxColumns=%u allows.",
                             options->column_count_max);
    if (token.length > options->value_length_max)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A value is longer than maxCharsPerColumn=%u allows.",
                             options->value_length_max);
    if (parser->token_count == parser->token_capacity) {
        uint32_t capacity = NL_MAX(parser->token_capacity * 2, 32u);
        nl_csv_token *tokens = realloc(parser->tokens, capacity * sizeof *tokens);
        if (!tokens)
            return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", capacity * (int64_t)sizeof *tokens),
                            NL_P_INT("receivedBytes", 0));
        parser->tokens = tokens;
        parser->token_capacity = capacity;
    }
    parser->tokens[parser->token_count++] = token;
    return NULL;
}

static size_t trim_end(const nl_csv_parser *parser, const char *base, size_t start, size_t end)
{
    while (parser->options->ignores_trailing_blanks && end > start && is_blank(base[end - 1]))
        end--;
    return end;
}

static nl_status parse_unquoted(nl_csv_parser *parser, size_t *at)
{
    size_t start = *at;
    *at = find_delimiter(parser, start);
    size_t end = trim_end(parser, parser->input.data, start, *at);
    return add_token(parser, (nl_csv_token){.start = start, .length = end - start});
}

/* multiLine: the record goes on in the next line. */
static nl_status read_more(nl_csv_parser *parser, bool *is_done)
{
    nl_str line = {NULL, 0};
    *is_done = true;
    if (!parser->next_line) return NULL;
    if (parser->input.data != parser->record.data || parser->record.length == 0) {
        nl_builder_clear(&parser->record);
        nl_append(&parser->record, parser->input);
    }
    NL_TRY(parser->next_line(parser->argument, &line, is_done));
    nl_append_char(&parser->record, '\n');
    nl_append(&parser->record, line);
    if (nl_builder_failed(&parser->record))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A record is longer than %u bytes.", NL_VALUE_BYTES_MAX);
    parser->input = nl_builder_str(&parser->record);
    return NULL;
}

/* A quote that closes nothing, at `quote_at`; `text_start` is where this value starts in parser->text. */
static nl_status parse_unescaped_quote(nl_csv_parser *parser, size_t quote_at, size_t text_start, size_t *at)
{
    *at = find_delimiter(parser, quote_at);
    if (parser->options->unescaped_quote == NL_CSV_RAISE_ERROR)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Unescaped quote character inside quoted value of CSV field.");
    if (parser->options->unescaped_quote == NL_CSV_SKIP_VALUE) return add_token(parser, (nl_csv_token){0});
    nl_str rest = nl_str_slice(parser->input, quote_at, *at);
    size_t quotes = 0;
    while (quotes < rest.length && rest.data[quotes] == parser->options->quote)
        quotes++;
    bool is_all_quotes = quotes == rest.length && *at == parser->input.length; /* "a"" at the end gives a" */
    nl_builder whole;
    nl_builder_init(&whole, NL_VALUE_BYTES_MAX);
    if (!is_all_quotes) nl_append_char(&whole, parser->options->quote);
    nl_append(&whole, nl_str_slice(nl_builder_str(&parser->text), text_start, parser->text.length));
    nl_append(&whole, nl_str_slice(rest, is_all_quotes, rest.length));
    size_t length = trim_end(parser, whole.data, 0, whole.length);
    parser->text.length = text_start;
    nl_append(&parser->text, nl_str_slice(nl_builder_str(&whole), 0, length));
    nl_builder_fini(&whole);
    return add_token(parser, (nl_csv_token){.start = text_start, .length = length, .is_copied = true});
}

/* Steps over an escape at *at and appends what it stands for; false: the character there is an ordinary one. */
static bool take_escape(nl_csv_parser *parser, size_t *at)
{
    const nl_csv_options *options = parser->options;
    nl_str input = parser->input;
    char c = input.data[*at];
    bool has_next = *at + 1 < input.length;
    char next = has_next ? input.data[*at + 1] : '\0';
    if (options->escape && c == options->escape) {
        if (has_next && next == options->quote) {
            nl_append_char(&parser->text, next);
            *at += 2;
            return true;
        }
        if (!has_next && options->escape != options->quote && !parser->next_line) { /* dropped at the end */
            *at += 1;
            return true;
        }
    }
    if (options->char_to_escape && c == options->char_to_escape && has_next && next == options->escape) {
        nl_append_char(&parser->text, next);
        *at += 2;
        return true;
    }
    return false;
}

static bool is_ordinary(const nl_csv_options *options, char c)
{
    return c != options->quote && c != options->escape && c != options->char_to_escape;
}

static nl_status finish_quoted(nl_csv_parser *parser, size_t text_start)
{
    nl_csv_token token = {
        .start = text_start, .length = parser->text.length - text_start, .is_copied = true, .is_quoted = true};
    return add_token(parser, token);
}

/* From behind the opening quote. */
static nl_status parse_quoted(nl_csv_parser *parser, size_t *at)
{
    const nl_csv_options *options = parser->options;
    size_t text_start = parser->text.length;
    for (;;) {
        size_t run = *at;
        while (*at < parser->input.length && is_ordinary(options, parser->input.data[*at]))
            (*at)++;
        nl_append(&parser->text, nl_str_slice(parser->input, run, *at));
        if (*at >= parser->input.length) {
            bool is_done;
            NL_TRY(read_more(parser, &is_done));
            if (!is_done) continue;
            if (parser->next_line) nl_append_char(&parser->text, '\n');
            *at = parser->input.length;
            if (parser->text.length == text_start) nl_append_char(&parser->text, options->quote);
            return finish_quoted(parser, text_start);
        }
        if (take_escape(parser, at)) continue;
        char c = parser->input.data[*at];
        if (c != options->quote) {
            nl_append_char(&parser->text, c);
            (*at)++;
            continue;
        }
        size_t behind = *at + 1;
        while (behind < parser->input.length && is_blank(parser->input.data[behind]) && !is_delimiter_at(parser, behind))
            behind++;
        if (behind >= parser->input.length || is_delimiter_at(parser, behind)) {
            *at = behind;
            return finish_quoted(parser, text_start);
        }
        if (options->unescaped_quote != NL_CSV_STOP_AT_CLOSING_QUOTE)
            return parse_unescaped_quote(parser, *at, text_start, at);
        nl_append_char(&parser->text, c);
        (*at)++;
    }
}

nl_status nl_csv_parse(nl_csv_parser *parser, nl_str line, uint32_t token_count_max)
{
    const nl_csv_options *options = parser->options;
    parser->input = line;
    parser->token_count = 0;
    nl_builder_clear(&parser->text);
    nl_builder_clear(&parser->record);
    size_t at = 0;
    while (parser->token_count < token_count_max) {
        while (options->ignores_leading_blanks && at < parser->input.length && is_blank(parser->input.data[at]) &&
               !is_delimiter_at(parser, at))
            at++;
        if (options->quote && at < parser->input.length && parser->input.data[at] == options->quote) {
            at++;
            NL_TRY(parse_quoted(parser, &at));
        } else {
            NL_TRY(parse_unquoted(parser, &at));
        }
        if (at >= parser->input.length) break;
        at += options->delimiter.length;
    }
    if (nl_builder_failed(&parser->text))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A record is longer than %u bytes.", NL_VALUE_BYTES_MAX);
    return NULL;
}

bool nl_csv_token_value(const nl_csv_parser *parser, uint32_t i, nl_str *value)
{
    if (i >= parser->token_count) return false;
    nl_str text = nl_csv_token_text(parser, i);
    if (text.length == 0) {
        if (!parser->tokens[i].is_quoted) return false;
        text = parser->options->empty_value;
    }
    *value = text;
    return !nl_str_equal(text, parser->options->null_value);
}
