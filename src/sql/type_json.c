/* sql/type_json.c - Spark's JSON form of types, as StructType.json() and createDataFrame write it. */
#include "base/json.h"
#include "base/limits.h"
#include "sql/parser.h"

static nl_status refuse(const char *problem)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s", problem);
}

static nl_status from_json(nl_arena *arena, const json_t *json, uint32_t depth, const nl_type **type);

static nl_status json_field(nl_arena *arena, const json_t *json, uint32_t depth, nl_field *field)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    const json_t *nullable = json_object_get(json, "nullable");
    const json_t *metadata = json_object_get(json, "metadata");
    if (!name) return refuse("a field of a schema has no name");
    *field = (nl_field){.name = nl_arena_str(arena, nl_str_from(name)), .is_nullable = !json_is_false(nullable)};
    static const char *const known[] = {"comment", NULL};
    const char *comment = json_string_value(json_object_get(metadata, "comment"));
    if (comment) {
        field->comment = nl_arena_str(arena, nl_str_from(comment));
        metadata = nl_json_unknown(arena, metadata, known);
    }
    if (json_is_object(metadata) && json_object_size(metadata)) {
        nl_builder out;
        nl_builder_init(&out, SIZE_MAX);
        nl_json_writer writer = {.out = &out};
        nl_json_write_json(&writer, metadata);
        field->metadata = nl_arena_str(arena, nl_builder_str(&out));
        nl_builder_fini(&out);
    }
    return from_json(arena, json_object_get(json, "type"), depth + 1, &field->type);
}

static nl_status json_struct(nl_arena *arena, const json_t *json, uint32_t depth, const nl_type **type)
{
    const json_t *list = json_object_get(json, "fields");
    const size_t count = json_array_size(list);
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, count + 1);
    for (size_t i = 0; i < count; i++) NL_TRY(json_field(arena, json_array_get(list, i), depth, &fields[i]));
    *type = nl_type_struct(arena, fields, (uint32_t)count);
    return NULL;
}

static nl_status from_json(nl_arena *arena, const json_t *json, uint32_t depth, const nl_type **type)
{
    static const struct {
        const char *json, *sql;
    } other_names[] = {{"integer", "int"}, {"long", "bigint"}, {"short", "smallint"}, {"byte", "tinyint"}, {"null", "void"}, {"decimal", "decimal(10,0)"}};
    if (depth > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    if (json_is_string(json)) {
        nl_str name = nl_str_from(json_string_value(json));
        for (size_t i = 0; i < NL_COUNT(other_names); i++)
            if (nl_str_is(name, other_names[i].json)) name = nl_str_from(other_names[i].sql);
        nl_ast_type *parsed = NULL;
        NL_TRY(nl_sql_parse_type(arena, name, NULL, &parsed));
        return nl_ast_type_to_type(arena, parsed, type);
    }
    const nl_str kind = nl_str_from(json_string_value(json_object_get(json, "type")));
    const nl_type *parts[2] = {NULL, NULL};
    if (nl_str_is(kind, "struct")) return json_struct(arena, json, depth, type);
    if (nl_str_is(kind, "array")) {
        NL_TRY(from_json(arena, json_object_get(json, "elementType"), depth + 1, &parts[0]));
        *type = nl_type_array(arena, parts[0], !json_is_false(json_object_get(json, "containsNull")));
        return NULL;
    }
    if (nl_str_is(kind, "map")) {
        NL_TRY(from_json(arena, json_object_get(json, "keyType"), depth + 1, &parts[0]));
        NL_TRY(from_json(arena, json_object_get(json, "valueType"), depth + 1, &parts[1]));
        *type = nl_type_map(arena, parts[0], parts[1], !json_is_false(json_object_get(json, "valueContainsNull")));
        return NULL;
    }
    if (nl_str_is(kind, "udt")) return from_json(arena, json_object_get(json, "sqlType"), depth + 1, type);
    return refuse("a schema is not one of Spark's JSON types");
}

nl_status nl_sql_parse_json_type(nl_arena *arena, nl_str text, const nl_type **type)
{
    const json_t *json = NULL;
    nl_status status = nl_json_parse(arena, text, NL_STR("schema"), &json);
    if (status) {
        nl_error_free(status);
        return refuse("a schema is no JSON");
    }
    NL_TRY(from_json(arena, json, 0, type));
    return nl_arena_check(arena);
}
