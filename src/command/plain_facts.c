/* command/plain_facts.c - what DESCRIBE and SHOW tell of a table over plain files, in Spark's words for its v1 tables. */
#include "command/plain_tables.h"

#include "command/facts.h"
#include "storage/credentials.h"

#define TEXT_MAX (16u << 20)

static nl_status add(nl_rows *rows, const char *name, nl_str value)
{
    return nl_rows_add_text(rows, (const nl_str[]){nl_str_from(name), value, NL_STR("")});
}

static const nl_field *partition_field(const nl_plain_table *table, uint32_t i)
{
    return &table->row_type->children[table->row_type->child_count - table->partition_count + i];
}

/* "[k=v, p=q]", by key. */
static nl_str properties_text(nl_command *command, const nl_property *items, uint32_t count)
{
    nl_builder text;
    nl_str last = {"", 0};
    nl_builder_init(&text, TEXT_MAX);
    nl_append_char(&text, '[');
    for (uint32_t written = 0;; written++) { /* the next key after `last`: there are few */
        const nl_property *next = NULL;
        for (uint32_t i = 0; i < count; i++)
            if ((written == 0 || nl_str_compare(items[i].key, last) > 0) && (!next || nl_str_compare(items[i].key, next->key) < 0)) next = &items[i];
        if (!next) break;
        nl_append_f(&text, "%s" NL_STR_FMT "=" NL_STR_FMT, written ? ", " : "", NL_STR_ARG(next->key), NL_STR_ARG(nl_shown_value(next->key, next->value)));
        last = next->key;
    }
    nl_append_char(&text, ']');
    return nl_facts_take(command, &text);
}

static nl_str shown_location(nl_command *command, const nl_plain_table *table)
{
    return table->location.length && table->location.data[0] == '/' ? nl_arena_f(command->arena, "file:" NL_STR_FMT, NL_STR_ARG(table->location)) : table->location;
}

static nl_str dotted_namespace(nl_command *command, const nl_plain_table *table)
{
    const nl_session_name inside = {.identifier = {.namespace_parts = table->namespace_parts, .namespace_count = table->namespace_count}};
    return nl_command_dotted_name(command, &inside);
}

nl_status nl_plain_describe(nl_command *command, const nl_plain_table *table, bool is_extended, nl_rows *rows)
{
    if (table->partition_count > 0) {
        NL_TRY(add(rows, "# Partition Information", NL_STR("")));
        NL_TRY(nl_rows_add_text(rows, (const nl_str[]){NL_STR("# col_name"), NL_STR("data_type"), NL_STR("comment")}));
    }
    for (uint32_t i = 0; i < table->partition_count; i++) {
        const nl_field *field = partition_field(table, i);
        const nl_value values[] = {nl_value_string(field->name), nl_value_string(nl_type_name(command->arena, field->type)),
                                   field->comment.length ? nl_value_string(field->comment) : nl_value_null(nl_type_string())};
        NL_TRY(nl_rows_add(rows, values));
    }
    if (!is_extended) return NULL;
    NL_TRY(add(rows, "", NL_STR("")));
    NL_TRY(add(rows, "# Detailed Table Information", NL_STR("")));
    NL_TRY(add(rows, "Catalog", NL_STR("spark_catalog")));
    NL_TRY(add(rows, "Database", dotted_namespace(command, table)));
    NL_TRY(add(rows, "Table", table->name));
    NL_TRY(add(rows, "Created Time", nl_facts_time(command, table->created_micros)));
    NL_TRY(add(rows, "Last Access", NL_STR("UNKNOWN")));
    NL_TRY(add(rows, "Created By", NL_STR("Spark 4.0.1")));
    NL_TRY(add(rows, "Type", table->is_external ? NL_STR("EXTERNAL") : NL_STR("MANAGED")));
    NL_TRY(add(rows, "Provider", table->provider));
    if (table->comment.data) NL_TRY(add(rows, "Comment", table->comment));
    if (table->property_count > 0) NL_TRY(add(rows, "Table Properties", properties_text(command, table->properties, table->property_count)));
    NL_TRY(add(rows, "Location", shown_location(command, table)));
    if (table->option_count > 0) NL_TRY(add(rows, "Storage Properties", properties_text(command, table->options, table->option_count)));
    return table->partition_count > 0 ? add(rows, "Partition Provider", NL_STR("Catalog")) : NULL;
}

/* ---- SHOW -------------------------------------------------------------------------------------------------------- */

static void append_literal(nl_builder *out, nl_str text)
{
    nl_append_char(out, '\'');
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '\'') nl_append_char(out, '\\');
        nl_append_char(out, text.data[i]);
    }
    nl_append_char(out, '\'');
}

static void append_properties(nl_builder *out, const char *word, const nl_property *items, uint32_t count)
{
    if (count == 0) return;
    nl_append_f(out, "%s (", word);
    for (uint32_t i = 0; i < count; i++) {
        nl_append_c(out, i ? ",\n  " : "\n  ");
        append_literal(out, items[i].key);
        nl_append_c(out, " = ");
        append_literal(out, nl_shown_value(items[i].key, items[i].value));
    }
    nl_append_c(out, ")\n");
}

nl_str nl_plain_create_text(nl_command *command, const nl_plain_table *table)
{
    nl_builder out;
    nl_builder_init(&out, TEXT_MAX);
    nl_append_f(&out, "CREATE TABLE spark_catalog." NL_STR_FMT "." NL_STR_FMT " (", NL_STR_ARG(dotted_namespace(command, table)), NL_STR_ARG(table->name));
    for (uint32_t i = 0; i < table->row_type->child_count; i++) {
        const nl_field *field = &table->row_type->children[i];
        nl_append_c(&out, i ? ",\n  " : "\n  ");
        nl_append(&out, nl_facts_identifier(command, field->name));
        nl_append_char(&out, ' ');
        nl_append(&out, nl_type_sql(command->arena, field->type));
        if (!field->comment.length) continue;
        nl_append_c(&out, " COMMENT ");
        append_literal(&out, field->comment);
    }
    nl_append_f(&out, ")\nUSING " NL_STR_FMT "\n", NL_STR_ARG(table->provider));
    append_properties(&out, "OPTIONS", table->options, table->option_count);
    for (uint32_t i = 0; i < table->partition_count; i++) {
        nl_append_c(&out, i ? ", " : "PARTITIONED BY (");
        nl_append(&out, nl_facts_identifier(command, partition_field(table, i)->name));
    }
    if (table->partition_count > 0) nl_append_c(&out, ")\n");
    if (table->comment.data) {
        nl_append_c(&out, "COMMENT ");
        append_literal(&out, table->comment);
        nl_append_char(&out, '\n');
    }
    if (table->is_external) {
        nl_append_c(&out, "LOCATION ");
        append_literal(&out, shown_location(command, table));
        nl_append_char(&out, '\n');
    }
    append_properties(&out, "TBLPROPERTIES", table->properties, table->property_count);
    return nl_facts_take(command, &out);
}

nl_status nl_plain_show_partitions(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *partition)
{
    const nl_field field = {.name = NL_STR("partition"), .type = nl_type_string()};
    nl_rows *rows = NULL;
    nl_str *pieces;
    if (table->partition_count == 0) return NL_RAISE(INVALID_PARTITION_OPERATION__PARTITION_SCHEMA_IS_EMPTY, NL_P_STR("name", nl_plain_quoted(command, table)));
    NL_TRY(nl_plain_pieces(command, table, partition, &pieces));
    NL_TRY(nl_command_rows(command, &field, 1, &rows));
    for (uint32_t i = 0; i < table->folder_count; i++)
        if (nl_plain_matches(table, table->folders[i], pieces)) NL_TRY(nl_rows_add_text(rows, &table->folders[i]));
    return NULL;
}
