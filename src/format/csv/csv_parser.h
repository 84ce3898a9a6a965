/* format/csv/csv_parser.h - one record of a CSV file into its values, as univocity-parsers does it for Spark. */
#pragma once

#include "format/csv/csv_options.h"

typedef struct nl_csv_token {
    size_t start, length;
    bool is_copied; /* in the parser's own text, else in the record */
    bool is_quoted; /* written in quotes: an empty one is not null  */
} nl_csv_token;

typedef struct nl_csv_parser {
    const nl_csv_options *options;
    nl_csv_token *tokens; /* owned */
    uint32_t token_count;
    uint32_t token_capacity;
    nl_builder text;   /* unescaped values */
    nl_builder record; /* a record of several lines */
    nl_str input;      /* the present record: the caller's line, or `record` */
    /* Gives the line behind the present record, for multiLine: borrowed until the next call. NULL: one line is all. */
    nl_status (*next_line)(void *argument, nl_str *line, bool *is_done);
    void *argument;
} nl_csv_parser;

void nl_csv_parser_init(nl_csv_parser *parser, const nl_csv_options *options);
void nl_csv_parser_fini(nl_csv_parser *parser);

/* Parses the record that starts with `line` (borrowed until the next call), at most token_count_max values of it.
 * Fails: NILAS_ILLEGAL_ARGUMENT for more columns or longer values than the options allow, and for RAISE_ERROR. */
NL_MUST_USE nl_status nl_csv_parse(nl_csv_parser *parser, nl_str line, uint32_t token_count_max);
static inline nl_str nl_csv_token_text(const nl_csv_parser *parser, uint32_t i)
{
    const nl_csv_token *token = &parser->tokens[i];
    const char *base = token->is_copied ? parser->text.data : parser->input.data;
    return (nl_str){token->length ? base + token->start : "", token->length};
}
/* The value by nullValue and emptyValue; false: it is null. Tokens that are missing are null. */
bool nl_csv_token_value(const nl_csv_parser *parser, uint32_t i, nl_str *value);
/* No record: blank, or a comment. */
bool nl_csv_is_skipped(const nl_csv_options *options, nl_str line);
