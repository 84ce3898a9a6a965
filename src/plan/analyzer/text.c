/* Texts of errors: quoted names, types and expressions. */
#include "plan/analyzer/analyzer.h"

nl_str nl_quote_name(nl_arena *arena, nl_str name)
{
    nl_builder out;
    nl_builder_init(&out, NL_TEXT_BYTES_MAX);
    nl_append_char(&out, '`');
    for (size_t i = 0; i < name.length; i++) {
        if (name.data[i] == '`') nl_append_char(&out, '`');
        nl_append_char(&out, name.data[i]);
    }
    nl_append_char(&out, '`');
    const nl_str text = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

nl_str nl_join_texts(nl_arena *arena, const nl_str *texts, uint32_t count, const char *separator)
{
    nl_builder out;
    nl_builder_init(&out, NL_TEXT_BYTES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (i) nl_append_c(&out, separator);
        nl_append(&out, texts[i]);
    }
    const nl_str text = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

nl_str nl_quote_names(nl_arena *arena, const nl_str *parts, uint32_t part_count)
{
    nl_str *quoted = NL_NEW_ARRAY(arena, nl_str, part_count + 1);
    for (uint32_t i = 0; i < part_count; i++) quoted[i] = nl_quote_name(arena, parts[i]);
    return nl_join_texts(arena, quoted, part_count, ".");
}

nl_str nl_quote_expr(nl_arena *arena, const nl_expr *expr)
{
    const nl_str text = nl_expr_pretty_str(arena, expr);
    return nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(text));
}

nl_str nl_quote_type(nl_arena *arena, const nl_type *type)
{
    const nl_str text = nl_type_sql(arena, type);
    return nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(text));
}

nl_str nl_column_full_name(nl_arena *arena, const nl_column *column)
{
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, column->qualifier_count + 1);
    for (uint32_t i = 0; i < column->qualifier_count; i++) parts[i] = column->qualifier[i];
    parts[column->qualifier_count] = column->name;
    return nl_quote_names(arena, parts, column->qualifier_count + 1);
}

const char *nl_position_word(uint32_t i)
{
    static const char *const words[] = {"first",   "second", "third",  "fourth", "fifth", "sixth",
                                        "seventh", "eighth", "ninth", "tenth"};
    return i < NL_COUNT(words) ? words[i] : "later";
}

static const nl_column *find_in_scope(const nl_scope *scope, nl_column_id id)
{
    for (uint32_t s = 0; s < scope->set_count; s++)
        for (uint32_t i = 0; i < scope->sets[s].count; i++)
            if (scope->sets[s].columns[i].id == id) return &scope->sets[s].columns[i];
    return NULL;
}

/* Names of columns with their qualifiers, as Expression.sql gives them where it is not the pretty form. */
nl_str nl_attribute_text(nl_arena *arena, const nl_expr *expr, const nl_scope *scope)
{
    if (expr->kind == NL_EXPR_COLUMN) {
        const nl_column *column = find_in_scope(scope, expr->column);
        if (!column || column->qualifier_count == 0) return expr->name;
        const nl_str qualifier = nl_join_texts(arena, column->qualifier, column->qualifier_count, ".");
        return nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(qualifier), NL_STR_ARG(column->name));
    }
    if (expr->kind != NL_EXPR_AGGREGATE) return nl_expr_pretty_str(arena, expr);
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, expr->child_count + 1);
    for (uint32_t i = 0; i < expr->child_count; i++) parts[i] = nl_attribute_text(arena, expr->children[i], scope);
    const nl_str list = nl_join_texts(arena, parts, expr->child_count, ", ");
    return nl_arena_f(arena, "%s(%s" NL_STR_FMT ")", expr->call->row->name, expr->is_distinct ? "DISTINCT " : "",
                      NL_STR_ARG(list));
}

nl_ast_range nl_place_of(nl_str text, nl_span span)
{
    nl_ast_range place = {.start = span.start, .stop = span.stop, .line = 1};
    for (size_t i = 0; i < span.start && i < text.length; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if (c == '\n') {
            place.line++;
            place.position = 0;
        } else if ((c & 0xC0) != 0x80) {
            place.position++; /* the first byte of a character */
        }
    }
    return place;
}
