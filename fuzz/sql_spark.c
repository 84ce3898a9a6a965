/* fuzz/sql_spark.c - any bytes as a statement (the first byte picks the options): what parses must print to text that
 * parses and prints the same; and as a script to split, an expression and a type. */
#include "base/limits.h"
#include "sql/parser.h"
#include "sql/printer.h"
#include "sql/split.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The statement printed into *out; false when it is none. */
static bool print_parsed(nl_memory *memory, nl_str text, const nl_sql_options *options, nl_builder *out)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_ast_statement *statement = NULL;
    nl_status status = nl_sql_parse(arena, text, options, &statement);
    bool is_parsed = status == NULL;
    nl_builder_init(out, NL_SQL_TEXT_BYTES_MAX);
    if (is_parsed) nl_sql_print(out, statement);
    nl_error_free(status);
    nl_arena_free(arena);
    return is_parsed;
}

static void check_statement(nl_memory *memory, nl_str text, const nl_sql_options *options)
{
    const nl_sql_options plain = {.is_scripting = options->is_scripting};
    nl_builder first;
    nl_builder second;
    bool is_parsed = print_parsed(memory, text, options, &first);
    bool is_parsed_again = print_parsed(memory, nl_builder_str(&first), &plain, &second);
    if (is_parsed && !is_parsed_again) abort();
    if (is_parsed && !nl_str_equal(nl_builder_str(&first), nl_builder_str(&second))) abort();
    nl_builder_fini(&first);
    nl_builder_fini(&second);
}

static void split_all(nl_str text)
{
    nl_str statement;
    while (nl_sql_split(&text, &statement) == NL_SPLIT_STATEMENT) {
    }
}

static void parse_pieces(nl_memory *memory, nl_str text)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_ast_expr *expr = NULL;
    const nl_type *type = NULL;
    nl_ast_name name;
    nl_error_free(nl_sql_parse_expression(arena, text, NULL, &expr));
    nl_error_free(nl_sql_parse_schema(arena, text, &type));
    nl_error_free(nl_sql_parse_name(arena, text, NULL, &name));
    nl_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    nl_sql_options options = {
        .is_ansi_reserved = (data[0] & 1) != 0,
        .is_double_quote_identifier = (data[0] & 2) != 0,
        .is_scripting = (data[0] & 4) != 0,
    };
    nl_memory *memory = nl_memory_new(NULL, "fuzz", 256u << 20);
    nl_str text = {(const char *)data + 1, size - 1};
    check_statement(memory, text, &options);
    split_all(text);
    parse_pieces(memory, text);
    nl_memory_release(memory);
    return 0;
}
