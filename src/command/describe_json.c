/* command/describe_json.c - DESCRIBE EXTENDED … AS JSON of tables over plain files and of views, in Spark's order. */
#include "base/calendar.h"
#include "base/json.h"
#include "command/facts.h"
#include "command/plain_tables.h"
#include "command/views.h"
#include "exec/source/plain_files.h"
#include "storage/credentials.h"

#define TEXT_MAX (16u << 20)

static void put(nl_json_writer *json, const char *key, nl_str value)
{
    nl_json_key(json, key);
    nl_json_write_text(json, value);
}

static void put_names(nl_json_writer *json, const char *key, const nl_str *names, uint32_t count)
{
    nl_json_key(json, key);
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < count; i++) nl_json_write_text(json, names[i]);
    nl_json_end(json, ']');
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static void write_type(nl_arena *arena, nl_json_writer *json, const nl_type *type);

static void put_type(nl_arena *arena, nl_json_writer *json, const char *key, const nl_type *type)
{
    nl_json_key(json, key);
    write_type(arena, json, type);
}

static void put_flag(nl_json_writer *json, const char *key, bool value)
{
    nl_json_key(json, key);
    nl_json_write_bool(json, value);
}

static void put_fields(nl_arena *arena, nl_json_writer *json, const char *key, const nl_type *row_type, const nl_str *defaults)
{
    nl_json_key(json, key);
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < row_type->child_count; i++) {
        const nl_field *field = &row_type->children[i];
        nl_json_begin(json, '{');
        put(json, "name", field->name);
        put_type(arena, json, "type", field->type);
        put_flag(json, "nullable", field->is_nullable);
        if (field->comment.length) put(json, "comment", field->comment);
        if (defaults && defaults[i].data) put(json, "default", defaults[i]);
        nl_json_end(json, '}');
    }
    nl_json_end(json, ']');
}

static const char *const interval_units[] = {
    [NL_FIELD_YEAR] = "year", [NL_FIELD_MONTH] = "month",   [NL_FIELD_DAY] = "day",
    [NL_FIELD_HOUR] = "hour", [NL_FIELD_MINUTE] = "minute", [NL_FIELD_SECOND] = "second",
};

/* The members beside the name; CHAR and VARCHAR are strings here, as Spark's metastore columns are. */
static void put_parts(nl_arena *arena, nl_json_writer *json, const nl_type *type)
{
    switch ((int)type->id) {
    case NL_TYPE_STRING:
        put(json, "collation", type->collation.length ? type->collation : NL_STR("UTF8_BINARY"));
        break;
    case NL_TYPE_DECIMAL:
        nl_json_key(json, "precision");
        nl_json_write_int(json, type->precision);
        nl_json_key(json, "scale");
        nl_json_write_int(json, type->scale);
        break;
    case NL_TYPE_ARRAY:
        put_type(arena, json, "element_type", type->children[0].type);
        put_flag(json, "element_nullable", type->children[0].is_nullable);
        break;
    case NL_TYPE_MAP:
        put_type(arena, json, "key_type", type->children[0].type);
        put_type(arena, json, "value_type", type->children[1].type);
        put_flag(json, "value_nullable", type->children[1].is_nullable);
        break;
    case NL_TYPE_STRUCT:
        put_fields(arena, json, "fields", type, NULL);
        break;
    case NL_TYPE_INTERVAL_YM:
    case NL_TYPE_INTERVAL_DT:
        put(json, "start_unit", nl_str_from(interval_units[type->start_field]));
        put(json, "end_unit", nl_str_from(interval_units[type->end_field]));
        break;
    default:
        break;
    }
}

static void write_type(nl_arena *arena, nl_json_writer *json, const nl_type *type)
{
    static const struct {
        nl_type_id id;
        const char *name;
    } names[] = {{NL_TYPE_STRING, "string"}, {NL_TYPE_DECIMAL, "decimal"}, {NL_TYPE_ARRAY, "array"}, {NL_TYPE_MAP, "map"}, {NL_TYPE_STRUCT, "struct"},
                 {NL_TYPE_INTERVAL_YM, "interval"}, {NL_TYPE_INTERVAL_DT, "interval"}, {NL_TYPE_TIMESTAMP, "timestamp_ltz"}};
    nl_str name = {0};
    for (size_t i = 0; i < NL_COUNT(names); i++)
        if (type->id == names[i].id) name = nl_str_from(names[i].name);
    nl_json_begin(json, '{');
    put(json, "name", name.data ? name : nl_type_name(arena, type));
    put_parts(arena, json, type);
    nl_json_end(json, '}');
}

/* ---- relations --------------------------------------------------------------------------------------------------- */

/* "2026-11-30T21:24:33Z" */
static nl_str instant(nl_command *command, int64_t micros)
{
    nl_civil civil;
    nl_civil_from_micros(micros, &civil);
    return nl_arena_f(command->arena, "%04d-%02d-%02dT%02d:%02d:%02dZ", (int)civil.year, (int)civil.month, (int)civil.day, (int)civil.hour, (int)civil.minute, (int)civil.second);
}

static void put_properties(nl_json_writer *json, const char *key, const nl_property *items, uint32_t count)
{
    nl_str last = {"", 0};
    if (count == 0) return;
    nl_json_key(json, key);
    nl_json_begin(json, '{');
    for (uint32_t written = 0;; written++) { /* by key: there are few */
        const nl_property *next = NULL;
        for (uint32_t i = 0; i < count; i++)
            if ((written == 0 || nl_str_compare(items[i].key, last) > 0) && (!next || nl_str_compare(items[i].key, next->key) < 0)) next = &items[i];
        if (!next) break;
        nl_json_key_str(json, next->key);
        nl_json_write_text(json, nl_shown_value(next->key, next->value));
        last = next->key;
    }
    nl_json_end(json, '}');
}

static void put_location(nl_command *command, nl_json_writer *json, nl_str location)
{
    const bool is_path = location.length > 0 && location.data[0] == '/';
    put(json, "location", is_path ? nl_arena_f(command->arena, "file:" NL_STR_FMT, NL_STR_ARG(location)) : location);
}

static void put_buckets(nl_json_writer *json, const nl_plain_table *table)
{
    if (table->bucket_count == 0) return;
    nl_json_key(json, "num_buckets");
    nl_json_write_int(json, table->bucket_count);
    put_names(json, "bucket_columns", table->bucket_columns, table->bucket_column_count);
    put_names(json, "sort_columns", table->sort_columns, table->sort_column_count);
}

static void put_name(nl_json_writer *json, nl_str name, nl_str catalog, const nl_str *parts, uint32_t count)
{
    put(json, "table_name", name);
    put(json, "catalog_name", catalog);
    put_names(json, "namespace", parts, count);
    put(json, "schema_name", count ? parts[count - 1] : NL_STR(""));
}

static void put_partition_values(nl_command *command, nl_json_writer *json, nl_str folder)
{
    nl_str part;
    nl_json_key(json, "partition_values");
    nl_json_begin(json, '{');
    while (nl_str_next_part(&folder, '/', &part)) {
        const size_t equals = NL_MIN(nl_str_find_char(part, '=', 0), part.length);
        nl_json_key_str(json, nl_plain_unescape(command->arena, nl_str_slice(part, 0, equals)));
        nl_json_write_text(json, nl_plain_unescape(command->arena, nl_str_slice(part, NL_MIN(equals + 1, part.length), part.length)));
    }
    nl_json_end(json, '}');
}

/* A partition's own facts come first; then what the table has besides. */
static void write_table(nl_command *command, nl_json_writer *json, const nl_plain_table *table, nl_str folder)
{
    const uint32_t data_count = table->row_type->child_count - table->partition_count;
    nl_str *partitions = NL_NEW_ARRAY(command->arena, nl_str, table->partition_count + 1);
    for (uint32_t i = 0; i < table->partition_count; i++) partitions[i] = table->row_type->children[data_count + i].name;
    nl_json_begin(json, '{');
    put_name(json, table->name, NL_STR("spark_catalog"), table->namespace_parts, table->namespace_count);
    put_fields(command->arena, json, "columns", table->row_type, table->defaults);
    if (folder.data) put_partition_values(command, json, folder);
    else put_buckets(json, table);
    put_location(command, json, folder.data ? nl_plain_folder_path(command, table, folder) : table->location);
    put_properties(json, "storage_properties", table->options, table->option_count);
    put(json, "created_time", instant(command, table->created_micros));
    put(json, "last_access", NL_STR("UNKNOWN"));
    put(json, "created_by", NL_STR("Spark 4.0.1"));
    put(json, "type", table->is_external ? NL_STR("EXTERNAL") : NL_STR("MANAGED"));
    put(json, "provider", table->provider);
    if (folder.data) put_buckets(json, table);
    if (table->comment.data) put(json, "comment", table->comment);
    put_properties(json, "table_properties", table->properties, table->property_count);
    if (table->partition_count > 0) {
        put(json, "partition_provider", NL_STR("Catalog"));
        put_names(json, "partition_columns", partitions, table->partition_count);
    }
    put(json, "collation", table->collation.length ? table->collation : NL_STR("UTF8_BINARY"));
    nl_json_end(json, '}');
}

static void write_view(nl_command *command, nl_json_writer *json, const nl_temp_view *view, const nl_type *row_type)
{
    static const nl_str session_scope = NL_STR_INIT("session"), global_scope = NL_STR_INIT("global_temp");
    const nl_session_name scope = {.catalog_name = view->catalog, .identifier = {.namespace_parts = view->namespace_parts, .namespace_count = view->namespace_count}};
    const bool is_permanent = nl_view_is_permanent(view);
    const size_t first = nl_str_find_char(view->name, '.', 0), last = nl_str_find_last_char(view->name, '.');
    const nl_str own_scope = is_permanent && first < last ? nl_str_slice(view->name, first + 1, last) : view->is_global ? global_scope : session_scope;
    nl_str *columns = NL_NEW_ARRAY(command->arena, nl_str, row_type->child_count + 1);
    for (uint32_t i = 0; i < row_type->child_count; i++) columns[i] = view->query_columns ? view->query_columns[i] : row_type->children[i].name;
    nl_json_begin(json, '{');
    put_name(json, is_permanent ? nl_str_slice(view->name, last + 1, view->name.length) : view->name, is_permanent ? nl_str_slice(view->name, 0, first) : NL_STR("system"), &own_scope, 1);
    put_fields(command->arena, json, "columns", row_type, NULL);
    put(json, "created_time", instant(command, view->created_micros));
    put(json, "last_access", NL_STR("UNKNOWN"));
    put(json, "created_by", NL_STR("Spark 4.0.1"));
    put(json, "type", NL_STR("VIEW"));
    if (view->comment.length) put(json, "comment", view->comment);
    put_properties(json, "table_properties", view->properties, view->property_count);
    if (view->sql.length) {
        put(json, "view_text", view->sql);
        if (is_permanent) put(json, "view_original_text", view->sql);
        put(json, "view_schema_mode", is_permanent ? nl_str_from(nl_view_binding_words(command, view)) : NL_STR("BINDING"));
        put(json, "view_catalog_and_namespace", nl_command_dotted_name(command, &scope));
        put_names(json, "view_query_output_columns", columns, row_type->child_count);
    }
    put(json, "collation", view->collation.length ? view->collation : NL_STR("UTF8_BINARY"));
    nl_json_end(json, '}');
}

static nl_status answer(nl_command *command, nl_builder *out)
{
    const nl_field field = {.name = NL_STR("json_metadata"), .type = nl_type_string()};
    const nl_str text = nl_facts_take(command, out);
    nl_rows *rows = NULL;
    NL_TRY(nl_command_rows(command, &field, 1, &rows));
    return nl_rows_add_text(rows, &text);
}

nl_status nl_plain_describe_json(nl_command *command, const nl_plain_table *table, nl_str folder)
{
    nl_builder out;
    nl_builder_init(&out, TEXT_MAX);
    write_table(command, &(nl_json_writer){.out = &out}, table, folder);
    return answer(command, &out);
}

nl_status nl_view_describe_json(nl_command *command, const nl_temp_view *view, const nl_type *row_type)
{
    nl_builder out;
    nl_builder_init(&out, TEXT_MAX);
    write_view(command, &(nl_json_writer){.out = &out}, view, row_type);
    return answer(command, &out);
}
