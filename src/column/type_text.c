/* column/type_text.c - the three printed forms of a type: catalog string, SQL, and printSchema's tree.
 *
 * The forms differ in the names of the simple types (int/INT/integer), in what they say of nullability and comments,
 * and in quoting. All were compared with Spark 4.0.1 (type_test.c).
 */
#include "column/type.h"

/* A type's text has no natural limit, but a schema of this size is no schema. */
#define TYPE_TEXT_BYTES_MAX (64u << 20)

static const char *const catalog_names[NL_TYPE_COUNT] = {
    [NL_TYPE_NULL] = "void",
    [NL_TYPE_BOOLEAN] = "boolean",
    [NL_TYPE_TINYINT] = "tinyint",
    [NL_TYPE_SMALLINT] = "smallint",
    [NL_TYPE_INT] = "int",
    [NL_TYPE_BIGINT] = "bigint",
    [NL_TYPE_FLOAT] = "float",
    [NL_TYPE_DOUBLE] = "double",
    [NL_TYPE_BINARY] = "binary",
    [NL_TYPE_DATE] = "date",
    [NL_TYPE_TIMESTAMP] = "timestamp",
    [NL_TYPE_TIMESTAMP_NTZ] = "timestamp_ntz",
    [NL_TYPE_INTERVAL] = "interval",
    [NL_TYPE_ARRAY] = "array",
    [NL_TYPE_MAP] = "map",
    [NL_TYPE_STRUCT] = "struct",
    [NL_TYPE_VARIANT] = "variant",
};

static const char *const field_names[] = {"year", "month", "day", "hour", "minute", "second"};

static void append_upper(nl_builder *out, const char *text)
{
    for (; *text; text++)
        nl_append_char(out, *text >= 'a' && *text <= 'z' ? (char)(*text - 'a' + 'A') : *text);
}

static void append_word(nl_builder *out, const char *text, bool is_upper)
{
    if (is_upper)
        append_upper(out, text);
    else
        nl_append_c(out, text);
}

/* Types without children. `is_upper` chooses the SQL form; collation names keep their case in both. */
static void append_simple(nl_builder *out, const nl_type *type, bool is_upper)
{
    if (type->id == NL_TYPE_DECIMAL) {
        append_word(out, "decimal", is_upper);
        nl_append_f(out, "(%u,%u)", type->precision, type->scale);
    } else if (type->id == NL_TYPE_STRING && type->string_kind != NL_STRING_PLAIN) {
        append_word(out, type->string_kind == NL_STRING_CHAR ? "char" : "varchar", is_upper);
        nl_append_f(out, "(%u)", type->length);
    } else if (type->id == NL_TYPE_STRING) {
        append_word(out, "string", is_upper);
        if (type->collation.length) {
            append_word(out, " collate ", is_upper);
            nl_append(out, type->collation);
        }
    } else if (type->id == NL_TYPE_INTERVAL_YM || type->id == NL_TYPE_INTERVAL_DT) {
        append_word(out, "interval ", is_upper);
        append_word(out, field_names[type->start_field], is_upper);
        if (type->start_field != type->end_field) {
            append_word(out, " to ", is_upper);
            append_word(out, field_names[type->end_field], is_upper);
        }
    } else {
        append_word(out, catalog_names[type->id], is_upper);
    }
}

static void append_catalog(nl_builder *out, const nl_type *type)
{
    if (!nl_type_is_nested(type)) {
        append_simple(out, type, false);
        return;
    }
    nl_append_c(out, catalog_names[type->id]);
    nl_append_char(out, '<');
    for (uint32_t i = 0; i < type->child_count; i++) {
        if (i) nl_append_char(out, ',');
        if (type->id == NL_TYPE_STRUCT) {
            nl_append(out, type->children[i].name);
            nl_append_char(out, ':');
        }
        append_catalog(out, type->children[i].type);
    }
    nl_append_char(out, '>');
}

/* Back quotes around everything that is not letter or underscore followed by letters, digits, underscores. */
void nl_append_field_name(nl_builder *out, nl_str name)
{
    bool is_plain = name.length > 0 && !(name.data[0] >= '0' && name.data[0] <= '9');
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        is_plain &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }
    if (is_plain) {
        nl_append(out, name);
        return;
    }
    nl_append_char(out, '`');
    for (size_t i = 0; i < name.length; i++) {
        if (name.data[i] == '`') nl_append_char(out, '`');
        nl_append_char(out, name.data[i]);
    }
    nl_append_char(out, '`');
}

/* Spark escapes only the quote inside a comment; backslashes and line ends stay as they are. */
static void append_comment(nl_builder *out, nl_str comment)
{
    nl_append_c(out, " COMMENT '");
    for (size_t i = 0; i < comment.length; i++) {
        if (comment.data[i] == '\'') nl_append_char(out, '\\');
        nl_append_char(out, comment.data[i]);
    }
    nl_append_char(out, '\'');
}

static void append_sql(nl_builder *out, const nl_type *type)
{
    if (!nl_type_is_nested(type)) {
        append_simple(out, type, true);
        return;
    }
    append_upper(out, catalog_names[type->id]);
    nl_append_char(out, '<');
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_field *field = &type->children[i];
        if (i) nl_append_c(out, ", ");
        if (type->id == NL_TYPE_STRUCT) {
            nl_append_field_name(out, field->name);
            nl_append_c(out, ": ");
        }
        append_sql(out, field->type);
        if (type->id == NL_TYPE_STRUCT) {
            if (!field->is_nullable) nl_append_c(out, " NOT NULL");
            if (field->comment.length) append_comment(out, field->comment);
        }
    }
    nl_append_char(out, '>');
}

/* The tree says byte, short, integer and long where SQL says TINYINT, SMALLINT, INT and BIGINT. */
static void append_tree_name(nl_builder *out, const nl_type *type)
{
    static const char *const names[] = {
        [NL_TYPE_TINYINT] = "byte", [NL_TYPE_SMALLINT] = "short", [NL_TYPE_INT] = "integer", [NL_TYPE_BIGINT] = "long"};
    if (nl_type_is_integral(type))
        nl_append_c(out, names[type->id]);
    else if (nl_type_is_nested(type))
        nl_append_c(out, catalog_names[type->id]);
    else
        append_simple(out, type, false);
}

static void append_tree_line(nl_builder *out, uint32_t depth, nl_str name, const nl_type *type, const char *note,
                             bool noted)
{
    for (uint32_t i = 0; i < depth; i++)
        nl_append_c(out, " |   ");
    nl_append_c(out, " |-- ");
    nl_append(out, name);
    nl_append_c(out, ": ");
    append_tree_name(out, type);
    if (note) nl_append_f(out, " (%s = %s)", note, noted ? "true" : "false");
    nl_append_char(out, '\n');
}

static void append_tree(nl_builder *out, uint32_t depth, const nl_type *type)
{
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_field *field = &type->children[i];
        const char *note = "nullable";
        if (type->id == NL_TYPE_ARRAY) note = "containsNull";
        if (type->id == NL_TYPE_MAP) note = i == 0 ? NULL : "valueContainsNull";
        append_tree_line(out, depth, field->name, field->type, note, field->is_nullable);
        append_tree(out, depth + 1, field->type);
    }
}

static nl_str finish_text(nl_arena *arena, nl_builder *out)
{
    nl_str text = nl_arena_str(arena, nl_builder_str(out));
    nl_builder_fini(out);
    return text;
}

nl_str nl_type_name(nl_arena *arena, const nl_type *type)
{
    nl_builder out;
    nl_builder_init(&out, TYPE_TEXT_BYTES_MAX);
    append_catalog(&out, type);
    return finish_text(arena, &out);
}

nl_str nl_type_sql(nl_arena *arena, const nl_type *type)
{
    nl_builder out;
    nl_builder_init(&out, TYPE_TEXT_BYTES_MAX);
    append_sql(&out, type);
    return finish_text(arena, &out);
}

nl_str nl_type_tree(nl_arena *arena, const nl_type *struct_type)
{
    NL_ASSERT(struct_type->id == NL_TYPE_STRUCT);
    nl_builder out;
    nl_builder_init(&out, TYPE_TEXT_BYTES_MAX);
    nl_append_c(&out, "root\n");
    append_tree(&out, 0, struct_type);
    return finish_text(arena, &out);
}
