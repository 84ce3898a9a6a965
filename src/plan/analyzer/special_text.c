/* from_json, from_csv and variant_get, whose type is SQL text, and the option maps of the functions of JSON, CSV and XML. */
#include "plan/analyzer/analyzer.h"

#include "sql/parser.h"

/* Options are a call of map() with strings. */
static nl_status check_options(nl_scope *scope, const nl_expr *options)
{
    const bool is_map = options->kind == NL_EXPR_CALL && nl_str_is_nocase(nl_str_from(options->call->row->name), "map");
    if (!is_map) return NL_RAISE(INVALID_OPTIONS__NON_MAP_FUNCTION);
    const nl_type *type = options->type;
    if (type->children[0].type->id == NL_TYPE_STRING && type->children[1].type->id == NL_TYPE_STRING) return NULL;
    return NL_RAISE(INVALID_OPTIONS__NON_STRING_TYPE, NL_P_STR("mapType", nl_quote_type(nl_scope_arena(scope), type)));
}

/* A type, else columns; when it is neither, Spark tells why it is no type. */
static nl_status parse_schema(nl_scope *scope, nl_str text, const nl_type **type)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_sql_options options = {.is_timestamp_ntz = nl_scope_confs(scope)->is_timestamp_ntz};
    nl_ast_type *written = NULL;
    nl_ast_fields fields;
    if (text.length && (text.data[0] == '{' || text.data[0] == '"')) return nl_sql_parse_json_type(arena, text, type); /* as PySpark writes a schema */
    nl_status status = nl_sql_parse_type(arena, text, &options, &written);
    if (!status) status = nl_ast_type_to_type(arena, written, type);
    if (!status) return NULL;
    nl_status other = nl_sql_parse_columns(arena, text, &options, &fields);
    if (!other) other = nl_ast_fields_to_type(arena, &fields, type);
    nl_error_free(other ? other : status);
    return other ? status : NULL;
}

static nl_status read_schema(nl_scope *scope, bool is_struct, const nl_expr *written, const nl_type **type)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_value *text = NULL;
    NL_TRY(nl_fold(scope, written, &text));
    if (!text || text->is_null || text->type->id != NL_TYPE_STRING)
        return NL_RAISE(INVALID_SCHEMA__NON_STRING_LITERAL, NL_P_STR("inputSchema", nl_quote_expr(arena, written)));
    NL_TRY(parse_schema(scope, text->text, type));
    if (!is_struct || (*type)->id == NL_TYPE_STRUCT) return NULL;
    return NL_RAISE(INVALID_SCHEMA__NON_STRUCT_TYPE,
                    NL_P_STR("inputSchema", nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(text->text))),
                    NL_P_STR("dataType", nl_quote_type(arena, *type)));
}

/* The schema becomes a null of its type, which the function binds to. */
static nl_status make_from(nl_scope *scope, bool is_struct, nl_str name, const nl_expr *const *args, uint32_t count,
                           const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_type *type = NULL;
    NL_TRY(read_schema(scope, is_struct, args[1], &type));
    if (count == 3) NL_TRY(check_options(scope, args[2]));
    const nl_value null = nl_value_null(type);
    const nl_expr *const typed[] = {args[0], nl_expr_literal(arena, &null), count == 3 ? args[2] : NULL};
    NL_TRY(nl_call_function(scope, name, typed, count, result));
    if (type->id == NL_TYPE_MAP) *result = nl_expr_with_pretty(arena, *result, nl_pretty_text(arena, NL_STR("entries")));
    return NULL;
}

/* variant_get(v, path, 'type'). */
static nl_status make_variant_get(nl_scope *scope, nl_str name, const nl_expr *const *args, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_type *type = NULL;
    NL_TRY(read_schema(scope, false, args[2], &type));
    const nl_value null = nl_value_null(type);
    const nl_expr *const typed[] = {args[0], args[1], nl_expr_literal(arena, &null)};
    return nl_call_function(scope, name, typed, 3, result);
}

nl_status nl_special_text_call(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, bool *is_special,
                               const nl_expr **result)
{
    static const char *const with_options[] = {"to_json", "to_csv", "to_xml", "schema_of_json", "schema_of_csv", "schema_of_xml"};
    const bool is_struct = nl_str_is_nocase(name, "from_csv") || nl_str_is_nocase(name, "from_xml");
    if (is_struct || nl_str_is_nocase(name, "from_json")) {
        *is_special = count == 2 || count == 3;
        return *is_special ? make_from(scope, is_struct, name, args, count, result) : NULL;
    }
    if (count == 3 && (nl_str_is_nocase(name, "variant_get") || nl_str_is_nocase(name, "try_variant_get"))) {
        *is_special = true;
        return make_variant_get(scope, name, args, result);
    }
    for (size_t i = 0; i < NL_COUNT(with_options); i++)
        if (count == 2 && nl_str_is_nocase(name, with_options[i])) return check_options(scope, args[1]);
    return NULL;
}
