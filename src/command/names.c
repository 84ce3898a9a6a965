/* command/names.c - names, properties and patterns of the AST as commands need them. */
#include "command/command_private.h"

nl_status nl_command_name(nl_command *command, const nl_ast_name *name, const nl_str **parts, uint32_t *part_count)
{
    nl_ast_name evaluated = *name;
    if (name->expression) {
        nl_value value;
        NL_TRY(nl_analyze_constant(&command->context, name->expression, &value));
        if (value.is_null || value.type->id != NL_TYPE_STRING)
            return value.is_null ? NL_RAISE(NOT_A_CONSTANT_STRING__NULL, NL_P("name", "IDENTIFIER"), NL_P("expr", "\"NULL\""))
                                 : NL_RAISE(NOT_A_CONSTANT_STRING__WRONG_TYPE, NL_P("name", "IDENTIFIER"), NL_P("expr", "\"expression\""),
                                            NL_P_STR("dataType", nl_arena_f(command->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(command->arena, value.type)))));
        NL_TRY(nl_sql_parse_name(command->arena, value.text, NULL, &evaluated));
    }
    nl_str *list = NL_NEW_ARRAY(command->arena, nl_str, evaluated.count);
    for (uint32_t i = 0; i < evaluated.count; i++)
        list[i] = evaluated.parts[i].text;
    *parts = list;
    *part_count = evaluated.count;
    return NULL;
}

nl_status nl_command_table_name(nl_command *command, const nl_ast_name *name, nl_session_name *resolved)
{
    const nl_str *parts;
    uint32_t part_count;
    NL_TRY(nl_command_name(command, name, &parts, &part_count));
    return nl_session_resolve(command->session, parts, part_count, command->arena, resolved);
}

nl_status nl_command_name_not_found(nl_command *command, const nl_ast_name *name)
{
    const nl_str *parts;
    uint32_t part_count;
    NL_TRY(nl_command_name(command, name, &parts, &part_count));
    return nl_command_at(command, NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_command_quoted(command, parts, part_count))), name->range);
}

nl_status nl_command_load_table(nl_command *command, const nl_ast_name *name, nl_session_name *resolved, nl_iceberg_table **table)
{
    NL_TRY(nl_command_table_name(command, name, resolved));
    nl_status status = nl_catalog_load_table(resolved->catalog, &resolved->identifier, table);
    if (!status) return NULL;
    if (nl_error_condition(status) != NL_COND_TABLE_OR_VIEW_NOT_FOUND) return nl_command_at(command, status, name->range);
    nl_error_free(status);
    return nl_command_name_not_found(command, name);
}

static void append_quoted(nl_builder *out, nl_str part)
{
    if (out->length) nl_append_char(out, '.');
    nl_append_char(out, '`');
    for (size_t i = 0; i < part.length; i++) {
        if (part.data[i] == '`') nl_append_char(out, '`');
        nl_append_char(out, part.data[i]);
    }
    nl_append_char(out, '`');
}

static nl_str join(nl_command *command, nl_str first, const nl_str *parts, uint32_t part_count, nl_str last, bool is_quoted)
{
    nl_builder out;
    nl_builder_init(&out, 1 << 20);
    for (uint32_t i = 0; i < part_count + 2; i++) {
        const nl_str part = i == 0 ? first : i <= part_count ? parts[i - 1] : last;
        if (!part.data || part.length == 0) continue;
        if (is_quoted) {
            append_quoted(&out, part);
        } else {
            if (out.length) nl_append_char(&out, '.');
            nl_append(&out, part);
        }
    }
    const nl_str joined = nl_arena_str(command->arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return joined;
}

nl_str nl_command_quoted(nl_command *command, const nl_str *parts, uint32_t part_count)
{
    return join(command, (nl_str){0}, parts, part_count, (nl_str){0}, true);
}

nl_str nl_command_quoted_name(nl_command *command, const nl_session_name *name)
{
    return join(command, name->catalog_name, name->identifier.namespace_parts, name->identifier.namespace_count, name->identifier.name, true);
}

nl_str nl_command_dotted_name(nl_command *command, const nl_session_name *name)
{
    return join(command, name->catalog_name, name->identifier.namespace_parts, name->identifier.namespace_count, name->identifier.name, false);
}

nl_status nl_command_at(nl_command *command, nl_status status, nl_ast_range range)
{
    return nl_sql_at(status, command->text, range, false);
}

void nl_command_properties(nl_command *command, const nl_ast_properties *properties, const nl_property **items, uint32_t *count)
{
    const uint32_t property_count = properties ? properties->count : 0;
    nl_property *list = NL_NEW_ARRAY(command->arena, nl_property, property_count);
    for (uint32_t i = 0; i < property_count; i++)
        list[i] = (nl_property){properties->items[i].key, properties->items[i].value};
    *items = list;
    *count = property_count;
}

/* One alternative: `*` stands for any text. Greedy with one point of return, so the time is bounded by the product. */
static bool matches_one(nl_str pattern, nl_str text)
{
    size_t p = 0, t = 0, star = NL_NOT_FOUND, retry = 0;
    while (t < text.length) {
        if (p < pattern.length && pattern.data[p] == '*') {
            star = p++;
            retry = t;
        } else if (p < pattern.length && nl_str_equal_nocase(nl_str_slice(pattern, p, p + 1), nl_str_slice(text, t, t + 1))) {
            p++;
            t++;
        } else if (star != NL_NOT_FOUND) {
            p = star + 1;
            t = ++retry;
        } else {
            return false;
        }
    }
    while (p < pattern.length && pattern.data[p] == '*')
        p++;
    return p == pattern.length;
}

bool nl_command_matches(nl_str pattern, nl_str text)
{
    if (!pattern.data) return true;
    nl_str rest = nl_str_trim(pattern), part;
    if (rest.length == 0) return text.length == 0;
    while (nl_str_next_part(&rest, '|', &part))
        if (matches_one(nl_str_trim(part), text)) return true;
    return false;
}
