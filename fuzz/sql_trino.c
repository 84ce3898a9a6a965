/* fuzz/sql_trino.c - any bytes as a statement in Trino's dialect: translated, and the translation parsed. */
#include <stdlib.h>

#include "lakehouse/dialect.h"
#include "sql/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_str sql = {(const char *)data, size};
    nl_str text = {0}, then = {0};
    nl_error_free(nl_dialect_to_engine(arena, sql, NULL, &text, &then));
    nl_ast_statement *statement = NULL;
    /* A text without anything of Trino's own stays as it is. */
    bool is_plain = true;
    for (size_t i = 0; i < size; i++) is_plain = is_plain && ((data[i] >= '0' && data[i] <= '9') || data[i] == '+' || data[i] == ' ');
    if (is_plain && !nl_str_equal(sql, text)) abort();
    nl_error_free(nl_sql_parse(arena, text, NULL, &statement));
    nl_arena_free(arena);
    return 0;
}
