/* command/plain_facts.c - what DESCRIBE and SHOW tell of a table over plain files, in Spark's words for its v1 tables. */
#include "command/plain_tables.h"

#include "command/facts.h"
#include "exec/source/plain_files.h"
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

static nl_str shown_location(nl_command *command, nl_str location)
{
    return location.length && location.data[0] == '/' ? nl_arena_f(command->arena, "file:" NL_STR_FMT, NL_STR_ARG(location)) : location;
}

static nl_str dotted_namespace(nl_command *command, const nl_plain_table *table)
{
    const nl_session_name inside = {.identifier = {.namespace_parts = table->namespace_parts, .namespace_count = table->namespace_count}};
    return nl_command_dotted_name(command, &inside);
}

static nl_str names_text(nl_command *command, const nl_str *names, uint32_t count)
{
    nl_builder text;
    nl_builder_init(&text, TEXT_MAX);
    nl_append_char(&text, '[');
    for (uint32_t i = 0; i < count; i++) nl_append_f(&text, "%s`" NL_STR_FMT "`", i ? ", " : "", NL_STR_ARG(names[i]));
    nl_append_char(&text, ']');
    return nl_facts_take(command, &text);
}

static nl_str statistics_text(nl_command *command, const nl_plain_statistics *statistics)
{
    if (statistics->row_count < 0) return nl_arena_f(command->arena, "%lld bytes", (long long)statistics->size_bytes);
    return nl_arena_f(command->arena, "%lld bytes, %lld rows", (long long)statistics->size_bytes, (long long)statistics->row_count);
}

#define FACTS_MAX 24u
typedef struct fact_list {
    nl_view_fact items[FACTS_MAX];
    uint32_t count;
} fact_list;

static void note(fact_list *list, const char *title, nl_str value)
{
    NL_ASSERT(list->count < FACTS_MAX);
    list->items[list->count++] = (nl_view_fact){title, value};
}

static void note_buckets(nl_command *command, const nl_plain_table *table, fact_list *list)
{
    if (table->bucket_count == 0) return;
    note(list, "Num Buckets", nl_arena_f(command->arena, "%u", table->bucket_count));
    note(list, "Bucket Columns", names_text(command, table->bucket_columns, table->bucket_column_count));
    note(list, "Sort Columns", names_text(command, table->sort_columns, table->sort_column_count));
}

static void note_table(nl_command *command, const nl_plain_table *table, fact_list *list)
{
    const nl_plain_statistics *statistics = nl_plain_statistics_of(table, NL_STR(""));
    note(list, "Catalog", NL_STR("spark_catalog"));
    note(list, "Database", dotted_namespace(command, table));
    note(list, "Table", table->name);
    note(list, "Created Time", nl_facts_time(command, table->created_micros));
    note(list, "Last Access", NL_STR("UNKNOWN"));
    note(list, "Created By", NL_STR("Spark 4.0.1"));
    note(list, "Type", table->is_external ? NL_STR("EXTERNAL") : NL_STR("MANAGED"));
    note(list, "Provider", table->provider);
    note_buckets(command, table, list);
    if (table->comment.data) note(list, "Comment", table->comment);
    if (table->collation.length) note(list, "Collation", table->collation);
    if (table->property_count > 0) note(list, "Table Properties", nl_facts_list_text(command, table->properties, table->property_count));
    if (statistics) note(list, "Statistics", statistics_text(command, statistics));
    note(list, "Location", shown_location(command, table->location));
    if (table->option_count > 0) note(list, "Storage Properties", nl_facts_list_text(command, table->options, table->option_count));
    if (table->partition_count > 0) note(list, "Partition Provider", NL_STR("Catalog"));
}

/* "[c=Us, d=1]" of "c=Us/d=1". */
static nl_str partition_values(nl_command *command, nl_str folder)
{
    nl_builder text;
    nl_str part;
    nl_builder_init(&text, TEXT_MAX);
    nl_append_char(&text, '[');
    for (uint32_t i = 0; nl_str_next_part(&folder, '/', &part); i++) {
        if (i) nl_append_c(&text, ", ");
        nl_append(&text, nl_plain_unescape(command->arena, part));
    }
    nl_append_char(&text, ']');
    return nl_facts_take(command, &text);
}

static void note_partition(nl_command *command, const nl_plain_table *table, nl_str folder, fact_list *list)
{
    const nl_plain_statistics *statistics = nl_plain_statistics_of(table, folder);
    note(list, "Partition Values", partition_values(command, folder));
    note(list, "Location", shown_location(command, nl_plain_folder_path(command, table, folder)));
    if (table->option_count > 0) note(list, "Storage Properties", nl_facts_list_text(command, table->options, table->option_count));
    note(list, "Created Time", nl_facts_time(command, table->created_micros));
    note(list, "Last Access", NL_STR("UNKNOWN"));
    if (statistics) note(list, "Partition Statistics", statistics_text(command, statistics));
}

static nl_status add_section(nl_rows *rows, const char *title, const fact_list *list)
{
    NL_TRY(add(rows, "", NL_STR("")));
    NL_TRY(add(rows, title, NL_STR("")));
    for (uint32_t i = 0; i < list->count; i++) NL_TRY(add(rows, list->items[i].title, list->items[i].value));
    return NULL;
}

static nl_status add_partition_columns(nl_command *command, const nl_plain_table *table, nl_rows *rows)
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
    return NULL;
}

nl_status nl_plain_describe_partition(nl_command *command, const nl_plain_table *table, nl_str folder, nl_rows *rows)
{
    fact_list list = {0}, storage = {0};
    NL_TRY(add_partition_columns(command, table, rows));
    note(&list, "Database", dotted_namespace(command, table));
    note(&list, "Table", table->name);
    note_partition(command, table, folder, &list);
    NL_TRY(add_section(rows, "# Detailed Partition Information", &list));
    note_buckets(command, table, &storage);
    note(&storage, "Location", shown_location(command, table->location));
    if (table->option_count > 0) note(&storage, "Storage Properties", nl_facts_list_text(command, table->options, table->option_count));
    return add_section(rows, "# Storage Information", &storage);
}

nl_status nl_plain_describe(nl_command *command, const nl_plain_table *table, bool is_extended, nl_rows *rows)
{
    fact_list list = {0};
    bool has_title = false;
    NL_TRY(add_partition_columns(command, table, rows));
    note_table(command, table, &list);
    if (is_extended) NL_TRY(add_section(rows, "# Detailed Table Information", &list));
    for (uint32_t i = 0; table->defaults && i < table->row_type->child_count; i++) {
        if (!table->defaults[i].data) continue;
        const nl_field *field = &table->row_type->children[i];
        if (!has_title) NL_TRY(add_section(rows, "# Column Default Values", &(const fact_list){0}));
        has_title = true;
        NL_TRY(nl_rows_add_text(rows, (const nl_str[]){field->name, nl_type_name(command->arena, field->type), table->defaults[i]}));
    }
    return NULL;
}

nl_str nl_plain_information(nl_command *command, const nl_plain_table *table, nl_str folder)
{
    fact_list list = {0};
    nl_builder text;
    if (folder.data) {
        note_partition(command, table, folder, &list);
    } else {
        nl_str *names = NL_NEW_ARRAY(command->arena, nl_str, table->partition_count + 1);
        for (uint32_t i = 0; i < table->partition_count; i++) names[i] = partition_field(table, i)->name;
        note_table(command, table, &list);
        if (table->partition_count > 0) note(&list, "Partition Columns", names_text(command, names, table->partition_count));
    }
    nl_builder_init(&text, TEXT_MAX);
    for (uint32_t i = 0; i < list.count; i++) nl_append_f(&text, "%s: " NL_STR_FMT "\n", list.items[i].title, NL_STR_ARG(list.items[i].value));
    if (folder.data) return nl_facts_take(command, &text);
    nl_append_f(&text, "Schema: " NL_STR_FMT "\n", NL_STR_ARG(nl_type_tree(command->arena, table->row_type)));
    return nl_facts_take(command, &text);
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

static void append_buckets(nl_command *command, nl_builder *out, const nl_plain_table *table)
{
    for (uint32_t i = 0; i < table->bucket_column_count; i++)
        nl_append_f(out, "%s" NL_STR_FMT, i ? ", " : "CLUSTERED BY (", NL_STR_ARG(nl_facts_identifier(command, table->bucket_columns[i])));
    if (table->bucket_count > 0) nl_append_c(out, ")\n");
    for (uint32_t i = 0; i < table->sort_column_count; i++)
        nl_append_f(out, "%s" NL_STR_FMT, i ? ", " : "SORTED BY (", NL_STR_ARG(nl_facts_identifier(command, table->sort_columns[i])));
    if (table->sort_column_count > 0) nl_append_c(out, ")\n");
    if (table->bucket_count > 0) nl_append_f(out, "INTO %u BUCKETS\n", table->bucket_count);
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
        if (table->defaults && table->defaults[i].data) nl_append_f(&out, " DEFAULT " NL_STR_FMT, NL_STR_ARG(table->defaults[i]));
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
    append_buckets(command, &out, table);
    if (table->comment.data) {
        nl_append_c(&out, "COMMENT ");
        append_literal(&out, table->comment);
        nl_append_char(&out, '\n');
    }
    if (table->collation.length) nl_append_f(&out, "COLLATION '" NL_STR_FMT "'\n", NL_STR_ARG(table->collation));
    if (table->is_external) {
        nl_append_c(&out, "LOCATION ");
        append_literal(&out, shown_location(command, table->location));
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
