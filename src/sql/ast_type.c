/* sql/ast_type.c - types as written to types of the engine, with the errors Spark raises for them. */
#include "sql/parse.h"

#include "base/number.h"
#include "function/collation.h"

typedef enum length_rule { LENGTH_NONE, LENGTH_ONE, LENGTH_DECIMAL } length_rule;

/* Names of types without children. */
static const struct simple_type {
    const char *name;
    nl_type_id id;
    length_rule rule;
} simple_types[] = {
    {"boolean", NL_TYPE_BOOLEAN, LENGTH_NONE},
    {"tinyint", NL_TYPE_TINYINT, LENGTH_NONE},
    {"byte", NL_TYPE_TINYINT, LENGTH_NONE},
    {"smallint", NL_TYPE_SMALLINT, LENGTH_NONE},
    {"short", NL_TYPE_SMALLINT, LENGTH_NONE},
    {"int", NL_TYPE_INT, LENGTH_NONE},
    {"integer", NL_TYPE_INT, LENGTH_NONE},
    {"bigint", NL_TYPE_BIGINT, LENGTH_NONE},
    {"long", NL_TYPE_BIGINT, LENGTH_NONE},
    {"float", NL_TYPE_FLOAT, LENGTH_NONE},
    {"real", NL_TYPE_FLOAT, LENGTH_NONE},
    {"double", NL_TYPE_DOUBLE, LENGTH_NONE},
    {"decimal", NL_TYPE_DECIMAL, LENGTH_DECIMAL},
    {"dec", NL_TYPE_DECIMAL, LENGTH_DECIMAL},
    {"numeric", NL_TYPE_DECIMAL, LENGTH_DECIMAL},
    {"string", NL_TYPE_STRING, LENGTH_NONE},
    {"char", NL_TYPE_STRING, LENGTH_ONE},
    {"character", NL_TYPE_STRING, LENGTH_ONE},
    {"varchar", NL_TYPE_STRING, LENGTH_ONE},
    {"binary", NL_TYPE_BINARY, LENGTH_NONE},
    {"date", NL_TYPE_DATE, LENGTH_NONE},
    {"timestamp", NL_TYPE_TIMESTAMP, LENGTH_NONE},
    {"timestamp_ltz", NL_TYPE_TIMESTAMP, LENGTH_NONE},
    {"timestamp_ntz", NL_TYPE_TIMESTAMP_NTZ, LENGTH_NONE},
    {"interval", NL_TYPE_INTERVAL, LENGTH_NONE},
    {"void", NL_TYPE_NULL, LENGTH_NONE},
    {"variant", NL_TYPE_VARIANT, LENGTH_NONE},
};

static const struct simple_type *find_simple(const nl_ast_type *node)
{
    if (node->is_quoted) return NULL;
    for (size_t i = 0; i < NL_COUNT(simple_types); i++)
        if (nl_str_is_nocase(node->name, simple_types[i].name)) return &simple_types[i];
    return NULL;
}

/* The type as UNSUPPORTED_DATATYPE names it: "INT(3)", in double quotes. */
static nl_str quoted_sql(nl_arena *arena, const nl_ast_type *node)
{
    nl_builder out;
    nl_builder_init(&out, NL_SQL_TEXT_BYTES_MAX);
    nl_append_char(&out, '"');
    for (size_t i = 0; i < node->name.length; i++) {
        char c = node->name.data[i];
        nl_append_char(&out, c >= 'a' && c <= 'z' ? (char)(c - 32) : c);
    }
    for (uint32_t i = 0; i < node->number_count; i++) {
        nl_append_char(&out, i == 0 ? '(' : ',');
        nl_append(&out, node->numbers[i]);
    }
    if (node->number_count > 0) nl_append_char(&out, ')');
    nl_append_char(&out, '"');
    nl_str text = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

static nl_status refuse(nl_arena *arena, const nl_ast_type *node)
{
    return NL_RAISE(UNSUPPORTED_DATATYPE, NL_P_STR("typeName", quoted_sql(arena, node)));
}

/* Java's Integer.parseInt fails beyond 32 bits with a bare text, which Spark passes on. */
static nl_status read_number(nl_str text, int64_t *value)
{
    if (nl_parse_int64(text, value) && *value <= INT32_MAX) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "For input string: \"" NL_STR_FMT "\"", NL_STR_ARG(text));
}

static nl_status decimal_type(const nl_ast_type *node, const nl_type **type)
{
    int64_t precision = 10;
    int64_t scale = 0;
    if (node->number_count > 0) NL_TRY(read_number(node->numbers[0], &precision));
    if (node->number_count > 1) NL_TRY(read_number(node->numbers[1], &scale));
    if (scale > precision)
        return NL_RAISE(_LEGACY_ERROR_TEMP_1228, NL_P_INT("scale", scale), NL_P_INT("precision", precision));
    if (precision > NL_DECIMAL_PRECISION_MAX)
        return NL_RAISE(DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION, NL_P_INT("precision", precision),
                        NL_P_INT("maxPrecision", NL_DECIMAL_PRECISION_MAX));
    if (precision == 0) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The type DECIMAL(0,0) is not supported.");
    *type = nl_type_decimal((int)precision, (int)scale);
    return NULL;
}

static nl_status char_type(nl_arena *arena, const nl_ast_type *node, const nl_type **type)
{
    int64_t length;
    NL_TRY(read_number(node->numbers[0], &length));
    bool is_varchar = nl_str_is_nocase(node->name, "varchar");
    *type = nl_type_char(arena, is_varchar ? NL_STRING_VARCHAR : NL_STRING_CHAR, (uint32_t)length);
    return NULL;
}

/* The last part names the collation; the ones before it are the schema SYSTEM.BUILTIN. */
static nl_status collated_type(nl_arena *arena, const nl_ast_type *node, const nl_type **type)
{
    if (node->collation.count == 0) {
        *type = nl_type_string();
        return NULL;
    }
    nl_collation collation;
    NL_TRY(nl_collation_find(arena, node->collation.parts[node->collation.count - 1].text, &collation));
    *type = nl_type_collated(arena, collation.name);
    return NULL;
}

static nl_status incomplete_type(nl_arena *arena, const nl_ast_type *node)
{
    bool is_bare = node->number_count == 0 && !node->is_quoted;
    if (is_bare && nl_str_is_nocase(node->name, "array"))
        return NL_RAISE(INCOMPLETE_TYPE_DEFINITION__ARRAY, NL_P("elementType", "<INT>"));
    if (is_bare && nl_str_is_nocase(node->name, "map")) return NL_RAISE(INCOMPLETE_TYPE_DEFINITION__MAP);
    if (is_bare && nl_str_is_nocase(node->name, "struct")) return NL_RAISE(INCOMPLETE_TYPE_DEFINITION__STRUCT);
    return refuse(arena, node);
}

static nl_status simple_type(nl_arena *arena, const nl_ast_type *node, const nl_type **type)
{
    const struct simple_type *known = find_simple(node);
    if (!known) return incomplete_type(arena, node);
    if (known->rule == LENGTH_ONE && node->number_count == 0) {
        bool is_varchar = nl_str_is_nocase(node->name, "varchar");
        return NL_RAISE(DATATYPE_MISSING_SIZE, NL_P("type", is_varchar ? "\"VARCHAR\"" : "\"CHAR\""));
    }
    uint32_t number_count_max = known->rule == LENGTH_NONE ? 0 : known->rule == LENGTH_ONE ? 1 : 2;
    if (node->number_count > number_count_max) return refuse(arena, node);
    if (known->rule == LENGTH_ONE) return char_type(arena, node, type);
    if (known->rule == LENGTH_DECIMAL) return decimal_type(node, type);
    if (known->id == NL_TYPE_STRING) return collated_type(arena, node, type);
    *type = nl_type_of(known->id);
    return NULL;
}

static nl_status interval_type(const nl_ast_type *node, const nl_type **type)
{
    static const char *const names[] = {"year", "month", "day", "hour", "minute", "second"};
    bool is_year_month = node->start_field <= NL_FIELD_MONTH;
    bool is_single = node->end_field == node->start_field;
    /* MONTH TO MONTH parses, and is refused here. */
    if (node->end_field < node->start_field || (is_single && node->has_to))
        return NL_RAISE(INVALID_INTERVAL_FORMAT__UNSUPPORTED_FROM_TO_EXPRESSION, NL_P("input", ""),
                        NL_P("from", names[node->start_field]), NL_P("to", names[node->end_field]));
    *type = is_year_month ? nl_type_interval_ym(node->start_field, node->end_field)
                          : nl_type_interval_dt(node->start_field, node->end_field);
    return NULL;
}

static nl_status convert(nl_arena *arena, const nl_ast_type *node, uint32_t depth, const nl_type **type);

static nl_status convert_fields(nl_arena *arena, const nl_ast_fields *list, uint32_t depth, const nl_type **type)
{
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, list->count + 1);
    for (uint32_t i = 0; i < list->count; i++) {
        const nl_ast_field *item = &list->items[i];
        fields[i].name = item->name.text;
        fields[i].is_nullable = !item->is_not_null;
        if (item->has_comment) fields[i].comment = item->comment;
        NL_TRY(convert(arena, item->type, depth, &fields[i].type));
    }
    *type = nl_type_struct(arena, fields, list->count);
    return nl_arena_check(arena);
}

static nl_status convert(nl_arena *arena, const nl_ast_type *node, uint32_t depth, const nl_type **type)
{
    if (depth > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    if (node->made) {
        *type = node->made;
        return NULL;
    }
    const nl_type *first = NULL;
    const nl_type *second = NULL;
    switch (node->kind) {
    case NL_AST_TYPE_SIMPLE: return simple_type(arena, node, type);
    case NL_AST_TYPE_INTERVAL: return interval_type(node, type);
    case NL_AST_TYPE_STRUCT: return convert_fields(arena, &node->fields, depth + 1, type);
    case NL_AST_TYPE_ARRAY:
        NL_TRY(convert(arena, node->children[0], depth + 1, &first));
        *type = nl_type_array(arena, first, true);
        return nl_arena_check(arena);
    case NL_AST_TYPE_MAP:
        NL_TRY(convert(arena, node->children[0], depth + 1, &first));
        NL_TRY(convert(arena, node->children[1], depth + 1, &second));
        *type = nl_type_map(arena, first, second, true);
        return nl_arena_check(arena);
    }
    return NL_RAISE(INTERNAL_ERROR, NL_P("message", "unknown kind of type"));
}

nl_status nl_ast_type_to_type(nl_arena *arena, const nl_ast_type *node, const nl_type **type)
{
    return convert(arena, node, 0, type);
}

nl_status nl_ast_fields_to_type(nl_arena *arena, const nl_ast_fields *fields, const nl_type **type)
{
    return convert_fields(arena, fields, 0, type);
}

/* Errors about the number of digits carry no place in Spark. */
nl_status nl_ast_type_check(nl_arena *arena, const nl_ast_type *type, bool *has_place)
{
    if (type->kind != NL_AST_TYPE_SIMPLE && type->kind != NL_AST_TYPE_INTERVAL) return NULL;
    const nl_type *ignored;
    nl_status status = nl_ast_type_to_type(arena, type, &ignored);
    if (!status) return NULL;
    nl_condition condition = nl_error_condition(status);
    *has_place = condition == NL_COND_UNSUPPORTED_DATATYPE || condition == NL_COND_DATATYPE_MISSING_SIZE ||
                 condition == NL_COND_INCOMPLETE_TYPE_DEFINITION__ARRAY ||
                 condition == NL_COND_INCOMPLETE_TYPE_DEFINITION__MAP ||
                 condition == NL_COND_INCOMPLETE_TYPE_DEFINITION__STRUCT ||
                 condition == NL_COND_INVALID_INTERVAL_FORMAT__UNSUPPORTED_FROM_TO_EXPRESSION;
    return status;
}
