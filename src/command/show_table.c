/* command/show_table.c - SHOW TBLPROPERTIES, COLUMNS, CREATE TABLE, PARTITIONS, TABLE EXTENDED. */
#include "command/catalog_views.h"
#include "command/plain_tables.h"
#include "storage/credentials.h"

#define TEXT_MAX (16u << 20)

/* ---- TBLPROPERTIES ----------------------------------------------------------------------------------------------- */

static nl_status show_properties(nl_command *command, const nl_ast_show *show)
{
    const nl_field fields[] = {{.name = NL_STR("key"), .type = nl_type_string()},
                               {.name = NL_STR("value"), .type = nl_type_string()}};
    nl_facts facts;
    nl_rows *rows = NULL;
    const nl_property *items;
    uint32_t count;
    NL_TRY(nl_facts_find_name(command, &show->name, &facts));
    NL_TRY(nl_command_rows(command, fields, NL_COUNT(fields), &rows));
    if (facts.view && !nl_view_is_permanent(facts.view)) return NULL; /* a temporary view has none to show */
    if (facts.plain) items = facts.plain->properties, count = facts.plain->property_count;
    else if (facts.catalog_view) nl_catalog_view_properties(command, facts.catalog_view, false, &items, &count);
    else nl_facts_properties(command, &facts, &items, &count);
    if (facts.view) facts.name = facts.view->name;
    for (uint32_t i = 0; i < count; i++) {
        const bool is_wanted = !show->key.data || nl_str_equal(show->key, items[i].key);
        if (is_wanted) NL_TRY(nl_rows_add_text(rows, (const nl_str[]){items[i].key, nl_shown_value(items[i].key, items[i].value)}));
        if (is_wanted && show->key.data) return NULL;
    }
    if (!show->key.data) return NULL;
    const nl_str missing = nl_arena_f(command->arena, "Table " NL_STR_FMT " does not have property: " NL_STR_FMT,
                                      NL_STR_ARG(facts.name), NL_STR_ARG(show->key));
    return nl_rows_add_text(rows, (const nl_str[]){show->key, missing});
}

/* ---- COLUMNS ----------------------------------------------------------------------------------------------------- */

/* A table's own namespace must be the one that was named beside it; its catalog is not compared. */
static nl_status check_namespace(nl_command *command, const nl_facts *facts, const nl_str *table, uint32_t table_count,
                                 const nl_str *given, uint32_t given_count)
{
    nl_session_name name;
    if (given_count == 0 || facts->view) return NULL;
    NL_TRY(nl_session_resolve(command->session, table, table_count, command->arena, &name));
    bool is_same = name.identifier.namespace_count == given_count;
    for (uint32_t i = 0; is_same && i < given_count; i++)
        is_same = nl_str_equal_nocase(name.identifier.namespace_parts[i], given[i]);
    if (is_same) return NULL;
    const nl_str own = nl_command_quoted(command, name.identifier.namespace_parts, name.identifier.namespace_count);
    return NL_RAISE(SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE, NL_P_STR("namespaceA", nl_command_quoted(command, given, given_count)),
                    NL_P_STR("namespaceB", own));
}

static nl_status show_columns(nl_command *command, const nl_ast_show *show)
{
    const nl_field field = {.name = NL_STR("col_name"), .type = nl_type_string()};
    const nl_str *parts, *scope = NULL;
    uint32_t part_count, scope_count = 0;
    nl_facts facts;
    nl_rows *rows = NULL;
    NL_TRY(nl_command_name(command, &show->name, &parts, &part_count));
    if (show->namespace_name.count || show->namespace_name.expression)
        NL_TRY(nl_command_name(command, &show->namespace_name, &scope, &scope_count));
    if (part_count == 1 && scope_count > 0) {
        nl_str *full = NL_NEW_ARRAY(command->arena, nl_str, (size_t)scope_count + 1);
        memcpy(full, scope, scope_count * sizeof(*full));
        full[scope_count] = parts[0];
        parts = full;
        part_count = scope_count + 1;
    }
    NL_TRY(nl_facts_find(command, parts, part_count, show->name.range, &facts));
    NL_TRY(check_namespace(command, &facts, parts, part_count, scope, scope_count));
    NL_TRY(nl_command_rows(command, &field, 1, &rows));
    for (uint32_t i = 0; i < facts.row_type->child_count; i++)
        NL_TRY(nl_rows_add_text(rows, &facts.row_type->children[i].name));
    return NULL;
}

/* ---- CREATE TABLE ------------------------------------------------------------------------------------------------ */

/* Spark escapes the quote alone. */
static void append_literal(nl_builder *out, nl_str text)
{
    nl_append_char(out, '\'');
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '\'') nl_append_char(out, '\\');
        nl_append_char(out, text.data[i]);
    }
    nl_append_char(out, '\'');
}

static void append_columns(nl_command *command, nl_builder *out, const nl_type *row_type)
{
    nl_append_c(out, "(");
    for (uint32_t i = 0; i < row_type->child_count; i++) {
        const nl_field *field = &row_type->children[i];
        nl_append_c(out, i ? ",\n  " : "\n  ");
        nl_append(out, nl_facts_identifier(command, field->name));
        nl_append_char(out, ' ');
        nl_append(out, nl_type_sql(command->arena, field->type));
        if (!field->is_nullable) nl_append_c(out, " NOT NULL");
        if (!field->comment.length) continue;
        nl_append_c(out, " COMMENT ");
        append_literal(out, field->comment);
    }
    nl_append_c(out, ")\n");
}

/* Spark writes buckets in Hive's clause, of which there is one: the last wins. */
static void append_partitions(nl_command *command, nl_builder *out, const nl_facts *facts)
{
    const nl_facts_partition *items, *bucket = NULL;
    uint32_t count, written = 0;
    nl_facts_partitions(command, facts, &items, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].field->transform.kind == NL_TRANSFORM_BUCKET) {
            bucket = &items[i];
            continue;
        }
        nl_append_c(out, written++ ? ", " : "PARTITIONED BY (");
        nl_append(out, items[i].text);
    }
    if (written) nl_append_c(out, ")\n");
    if (bucket)
        nl_append_f(out, "CLUSTERED BY (" NL_STR_FMT ")\nINTO %d BUCKETS\n", NL_STR_ARG(bucket->plain),
                    bucket->field->transform.width);
}

static void append_create(nl_command *command, nl_builder *out, const nl_facts *facts)
{
    const nl_str comment = nl_facts_comment(facts);
    const nl_property *items;
    uint32_t count;
    nl_append_f(out, "CREATE TABLE " NL_STR_FMT " ", NL_STR_ARG(facts->name));
    append_columns(command, out, facts->row_type);
    nl_append_c(out, "USING iceberg\n");
    append_partitions(command, out, facts);
    if (comment.data) {
        nl_append_c(out, "COMMENT ");
        append_literal(out, comment);
        nl_append_char(out, '\n');
    }
    nl_append_c(out, "LOCATION ");
    append_literal(out, facts->metadata->location);
    nl_append_c(out, "\nTBLPROPERTIES (");
    nl_facts_properties(command, facts, &items, &count);
    for (uint32_t i = 0; i < count; i++) {
        nl_append_c(out, i ? ",\n  " : "\n  ");
        append_literal(out, items[i].key);
        nl_append_c(out, " = ");
        append_literal(out, items[i].value);
    }
    nl_append_c(out, ")\n");
}

static nl_status show_create_view(nl_command *command, const nl_facts *facts)
{
    const nl_field field = {.name = NL_STR("createtab_stmt"), .type = nl_type_string()};
    const nl_temp_view *view = facts->view;
    nl_rows *rows = NULL;
    nl_builder text;
    nl_builder_init(&text, TEXT_MAX);
    const size_t dot = facts->catalog_view ? NL_NOT_FOUND : nl_str_find_char(view->name, '.', 0); /* Spark leaves out the session catalog's name */
    nl_append_f(&text, "CREATE VIEW " NL_STR_FMT " (", NL_STR_ARG(dot == NL_NOT_FOUND ? view->name : nl_str_slice(view->name, dot + 1, view->name.length)));
    for (uint32_t i = 0; i < facts->row_type->child_count; i++) {
        const nl_field *column = &facts->row_type->children[i];
        nl_append_c(&text, i ? ",\n  " : "\n  ");
        nl_append(&text, nl_facts_identifier(command, column->name));
        if (!column->comment.length) continue;
        nl_append_c(&text, " COMMENT ");
        append_literal(&text, column->comment);
    }
    nl_append_c(&text, ")\n");
    if (view->collation.length) nl_append_f(&text, "DEFAULT COLLATION " NL_STR_FMT "\n", NL_STR_ARG(view->collation));
    if (view->comment.length) {
        nl_append_c(&text, "COMMENT ");
        append_literal(&text, view->comment);
        nl_append_char(&text, '\n');
    }
    for (uint32_t i = 0; i < view->property_count; i++) {
        nl_append_c(&text, i ? ",\n  " : "TBLPROPERTIES (\n  ");
        append_literal(&text, view->properties[i].key);
        nl_append_c(&text, " = ");
        append_literal(&text, nl_shown_value(view->properties[i].key, view->properties[i].value));
        if (i + 1 == view->property_count) nl_append_c(&text, ")\n");
    }
    const char *binding = nl_view_binding_words(command, view);
    if (!facts->catalog_view && *binding) nl_append_f(&text, "WITH SCHEMA %s\n", binding);
    nl_append_f(&text, "%s" NL_STR_FMT "\n", facts->catalog_view ? "AS\n" : "AS ", NL_STR_ARG(view->sql));
    const nl_str statement = nl_facts_take(command, &text);
    NL_TRY(nl_command_rows(command, &field, 1, &rows));
    return nl_rows_add_text(rows, &statement);
}

static nl_status show_create(nl_command *command, const nl_ast_show *show)
{
    const nl_field field = {.name = NL_STR("createtab_stmt"), .type = nl_type_string()};
    nl_facts facts;
    nl_rows *rows = NULL;
    NL_TRY(nl_facts_find_name(command, &show->name, &facts));
    if (nl_view_is_permanent(facts.view)) return show_create_view(command, &facts);
    if (facts.view) return nl_facts_at(command, nl_view_raise_temporary(command, "SHOW CREATE TABLE", facts.view), show->name.range);
    if (facts.plain) {
        const nl_str text = nl_plain_create_text(command, facts.plain);
        NL_TRY(nl_command_rows(command, &field, 1, &rows));
        return nl_rows_add_text(rows, &text);
    }
    if (show->is_serde)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "SHOW CREATE TABLE AS SERDE is not supported for v2 tables.");
    if (!facts.metadata) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "SHOW CREATE TABLE works on Iceberg tables only");
    NL_TRY(nl_command_rows(command, &field, 1, &rows));
    nl_builder text;
    nl_builder_init(&text, TEXT_MAX);
    append_create(command, &text, &facts);
    const nl_str statement = nl_facts_take(command, &text);
    return nl_rows_add_text(rows, &statement);
}

/* ---- PARTITIONS -------------------------------------------------------------------------------------------------- */

/* Iceberg's partitions are hidden: Spark has no list of them to manage. The metadata table "partitions" shows them. */
static nl_status no_partitions(nl_command *command, const nl_facts *facts, nl_ast_range range)
{
    nl_str rest = facts->name, part, quoted = {0};
    while (nl_str_next_part(&rest, '.', &part)) {
        part = nl_command_quoted(command, &part, 1);
        quoted = quoted.data
                     ? nl_arena_f(command->arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(quoted), NL_STR_ARG(part))
                     : part;
    }
    return nl_facts_at(command, NL_RAISE(INVALID_PARTITION_OPERATION__PARTITION_MANAGEMENT_IS_UNSUPPORTED, NL_P_STR("name", quoted)), range);
}

static nl_status show_partitions(nl_command *command, const nl_ast_show *show)
{
    nl_facts facts;
    NL_TRY(nl_facts_find_name(command, &show->name, &facts));
    if (facts.plain) return nl_plain_show_partitions(command, facts.plain, show->partition);
    if (!facts.view) return no_partitions(command, &facts, show->name.range);
    return nl_command_refuse_view(command, &show->name, "SHOW PARTITIONS");
}

/* ---- TABLE EXTENDED ---------------------------------------------------------------------------------------------- */

static void append_line(nl_builder *out, const char *title, nl_str value)
{
    nl_append_f(out, "%s: ", title);
    nl_append(out, value);
    nl_append_char(out, '\n');
}

/* Spark 4.0.1 joins the characters of the properties' text where it means the properties; programs see it so. */
static void append_spread(nl_builder *out, nl_str text)
{
    nl_append_c(out, "Table Properties: [");
    for (size_t at = 0, next; at < text.length; at = next) {
        next = nl_utf8_next(text, at);
        if (at) nl_append_c(out, ", ");
        nl_append(out, nl_str_slice(text, at, next));
    }
    nl_append_c(out, "]\n");
}

static nl_str scope_text(nl_command *command, const nl_identifier *identifier)
{
    const nl_session_name inside = {
        .identifier = {.namespace_parts = identifier->namespace_parts, .namespace_count = identifier->namespace_count}};
    return nl_command_dotted_name(command, &inside);
}

static nl_str table_information(nl_command *command, nl_str catalog_name, const nl_identifier *identifier,
                                const nl_facts *facts)
{
    const nl_str comment = nl_facts_comment(facts), owner = nl_facts_owner(facts);
    nl_builder text;
    nl_builder_init(&text, TEXT_MAX);
    append_line(&text, "Catalog", catalog_name);
    append_line(&text, "Namespace", scope_text(command, identifier));
    append_line(&text, "Table", identifier->name);
    append_line(&text, "Type", NL_STR("MANAGED"));
    if (comment.data) append_line(&text, "Comment", comment);
    append_line(&text, "Location", facts->metadata->location);
    append_line(&text, "Provider", NL_STR("iceberg"));
    if (owner.data) append_line(&text, "Owner", owner);
    append_spread(&text, nl_facts_properties_text(command, facts));
    nl_append_c(&text, "Schema: ");
    nl_append(&text, nl_type_tree(command->arena, facts->row_type));
    nl_append_char(&text, '\n');
    return nl_facts_take(command, &text);
}

static nl_str stored_view_information(nl_command *command, const nl_facts *facts)
{
    nl_view_fact items[NL_VIEW_FACTS_MAX];
    const uint32_t count = nl_view_facts(command, facts, items);
    nl_builder text;
    nl_builder_init(&text, TEXT_MAX);
    for (uint32_t i = 0; i < count; i++) append_line(&text, items[i].title, items[i].value);
    nl_append_c(&text, "Schema: ");
    nl_append(&text, nl_type_tree(command->arena, facts->row_type));
    nl_append_char(&text, '\n');
    return nl_facts_take(command, &text);
}

static nl_str view_information(nl_command *command, const nl_temp_view *view, const nl_facts *facts)
{
    nl_builder text;
    nl_builder_init(&text, TEXT_MAX);
    if (view->is_global) append_line(&text, "Database", NL_STR("global_temp"));
    append_line(&text, "Table", view->name);
    if (view->created_micros) append_line(&text, "Created Time", nl_facts_time(command, view->created_micros));
    append_line(&text, "Last Access", NL_STR("UNKNOWN"));
    append_line(&text, "Created By", NL_STR("Spark 4.0.1"));
    append_line(&text, "Type", NL_STR("VIEW"));
    if (view->comment.length) append_line(&text, "Comment", view->comment);
    if (view->sql.length) append_line(&text, "View Text", view->sql);
    if (nl_session_get_bool(command->session, "spark.sql.legacy.viewSchemaBindingMode")) append_line(&text, "View Schema Mode", NL_STR("BINDING"));
    if (view->sql.length) {
        const nl_session_name scope = {
            .catalog_name = view->catalog,
            .identifier = {.namespace_parts = view->namespace_parts, .namespace_count = view->namespace_count}};
        append_line(&text, "View Catalog and Namespace", nl_command_dotted_name(command, &scope));
        nl_append_c(&text, "View Query Output Columns: [");
        for (uint32_t i = 0; i < facts->row_type->child_count; i++) {
            if (i) nl_append_c(&text, ", ");
            nl_append(&text, nl_command_quoted(command, &facts->row_type->children[i].name, 1));
        }
        nl_append_c(&text, "]\n");
    }
    nl_append_c(&text, "Schema: ");
    nl_append(&text, nl_type_tree(command->arena, facts->row_type));
    nl_append_char(&text, '\n');
    return nl_facts_take(command, &text);
}

static nl_status add_information(nl_rows *rows, nl_str scope, nl_str name, bool is_temporary, nl_str information)
{
    const nl_value values[] = {nl_value_string(scope), nl_value_string(name), nl_value_boolean(is_temporary),
                               nl_value_string(information)};
    return nl_rows_add(rows, values);
}

/* The parts of a table's full name, catalog first. */
static const nl_str *full_parts(nl_command *command, nl_str catalog_name, const nl_identifier *identifier,
                                uint32_t *count)
{
    nl_str *parts = NL_NEW_ARRAY(command->arena, nl_str, (size_t)identifier->namespace_count + 2);
    *count = identifier->namespace_count + 2;
    parts[0] = catalog_name;
    for (uint32_t i = 0; i < identifier->namespace_count; i++)
        parts[i + 1] = identifier->namespace_parts[i];
    parts[*count - 1] = identifier->name;
    return parts;
}

/* Temporary views belong to every namespace here, as in Spark. */
static nl_status add_views(nl_command *command, nl_str pattern, nl_rows *rows)
{
    const nl_list views = nl_session_views(command->session, command->arena);
    for (uint32_t i = 0; i < views.count; i++) {
        const nl_temp_view *view = views.items[i];
        const bool is_temporary = nl_str_find_char(view->name, '.', 0) == NL_NOT_FOUND;
        if (!is_temporary || view->is_global || !nl_command_matches(pattern, view->name)) continue;
        nl_facts facts;
        const nl_str name = nl_arena_str(command->arena, view->name);
        NL_TRY(nl_facts_find(command, &name, 1, (nl_ast_range){0}, &facts));
        NL_TRY(add_information(rows, NL_STR(""), name, true, view_information(command, view, &facts)));
    }
    return NULL;
}

/* The views that the session catalog keeps in a namespace. */
static nl_status add_stored_views(nl_command *command, const nl_session_name *scope, nl_str pattern, nl_rows *rows)
{
    const nl_str prefix = nl_arena_f(command->arena, NL_STR_FMT ".", NL_STR_ARG(nl_command_dotted_name(command, &(nl_session_name){.catalog_name = scope->catalog_name,
                                                                                                                               .identifier = {.namespace_parts = scope->identifier.namespace_parts,
                                                                                                                                              .namespace_count = scope->identifier.namespace_count}})));
    const nl_list views = nl_session_views(command->session, command->arena);
    for (uint32_t i = 0; i < views.count; i++) {
        const nl_temp_view *view = views.items[i];
        const nl_str name = nl_str_slice(view->name, NL_MIN(prefix.length, view->name.length), view->name.length);
        if (!nl_str_starts(view->name, prefix) || nl_str_find_char(name, '.', 0) != NL_NOT_FOUND || !nl_command_matches(pattern, name)) continue;
        const nl_identifier identifier = {scope->identifier.namespace_parts, scope->identifier.namespace_count, nl_arena_str(command->arena, name)};
        nl_facts facts;
        uint32_t count;
        const nl_str *full = full_parts(command, scope->catalog_name, &identifier, &count);
        NL_TRY(nl_facts_find(command, full, count, (nl_ast_range){0}, &facts));
        NL_TRY(add_information(rows, scope_text(command, &identifier), identifier.name, false, stored_view_information(command, &facts)));
    }
    return NULL;
}

static nl_status information_rows(nl_command *command, nl_rows **rows)
{
    const nl_field fields[] = {
        {.name = NL_STR("namespace"), .type = nl_type_string()},
        {.name = NL_STR("tableName"), .type = nl_type_string()},
        {.name = NL_STR("isTemporary"), .type = nl_type_boolean()},
        {.name = NL_STR("information"), .type = nl_type_string()},
    };
    return nl_command_rows(command, fields, NL_COUNT(fields), rows);
}

static nl_status add_plain_tables(nl_command *command, const nl_session_name *scope, nl_str pattern, nl_rows *rows)
{
    const nl_str scope_name = scope_text(command, &scope->identifier);
    const nl_list tables = nl_session_plain_tables(command->session, command->arena);
    for (uint32_t i = 0; i < tables.count; i++) {
        const nl_plain_table *table = tables.items[i];
        const nl_identifier identifier = {table->namespace_parts, table->namespace_count, table->name};
        if (!nl_str_equal_nocase(scope_text(command, &identifier), scope_name) || !nl_command_matches(pattern, table->name)) continue;
        NL_TRY(add_information(rows, scope_name, table->name, false, nl_plain_information(command, table, (nl_str){0})));
    }
    return NULL;
}

static nl_status show_partition(nl_command *command, const nl_ast_show *show, const nl_facts *facts)
{
    const nl_plain_table *table = facts->plain;
    const nl_identifier identifier = {table->namespace_parts, table->namespace_count, table->name};
    nl_str folder;
    nl_rows *rows = NULL;
    NL_TRY(nl_plain_find_partition(command, table, show->partition, &folder));
    NL_TRY(information_rows(command, &rows));
    return add_information(rows, scope_text(command, &identifier), table->name, false, nl_arena_f(command->arena, NL_STR_FMT "\n", NL_STR_ARG(nl_plain_information(command, table, folder))));
}

static nl_status show_extended(nl_command *command, const nl_ast_show *show)
{
    const nl_str *parts = NULL;
    uint32_t part_count = 0, full_count;
    nl_session_name scope;
    nl_name_list list = {0};
    nl_rows *rows = NULL;
    nl_facts facts;
    NL_TRY(nl_command_name(command, &show->name, &parts, &part_count));
    NL_TRY(nl_session_resolve_namespace(command->session, parts, part_count, command->arena, &scope));
    if (show->partition) { /* then the pattern is one table's name */
        const nl_identifier one = {scope.identifier.namespace_parts, scope.identifier.namespace_count, show->pattern};
        const nl_str *full = full_parts(command, scope.catalog_name, &one, &full_count);
        NL_TRY(nl_facts_find(command, full, full_count, show->name.range, &facts));
        return facts.plain ? show_partition(command, show, &facts) : no_partitions(command, &facts, show->name.range);
    }
    NL_TRY(nl_command_list_tables(command, &scope, &list));
    NL_TRY(information_rows(command, &rows));
    for (uint32_t i = 0; i < list.count; i++) {
        const nl_identifier *item = &list.items[i];
        if (!nl_command_matches(show->pattern, item->name)) continue;
        const nl_str *full = full_parts(command, scope.catalog_name, item, &full_count);
        NL_TRY(nl_facts_find(command, full, full_count, show->name.range, &facts));
        if (!facts.metadata) continue;
        const nl_str information = table_information(command, scope.catalog_name, item, &facts);
        NL_TRY(add_information(rows, scope_text(command, item), item->name, false, information));
    }
    if (nl_str_is(scope.catalog_name, "spark_catalog")) NL_TRY(add_plain_tables(command, &scope, show->pattern, rows));
    NL_TRY(add_stored_views(command, &scope, show->pattern, rows));
    return add_views(command, show->pattern, rows);
}

nl_status nl_run_show_table(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_show *show = statement->show;
    switch (show->kind) {
    case NL_AST_SHOW_TBLPROPERTIES:
        return show_properties(command, show);
    case NL_AST_SHOW_COLUMNS:
        return show_columns(command, show);
    case NL_AST_SHOW_CREATE_TABLE:
        return show_create(command, show);
    case NL_AST_SHOW_PARTITIONS:
        return show_partitions(command, show);
    case NL_AST_SHOW_TABLE_EXTENDED:
        return show_extended(command, show);
    case NL_AST_SHOW_NAMESPACES:
    case NL_AST_SHOW_TABLES:
    case NL_AST_SHOW_VIEWS:
    case NL_AST_SHOW_FUNCTIONS:
    case NL_AST_SHOW_CURRENT_NAMESPACE:
    case NL_AST_SHOW_CATALOGS:
        break;
    }
    return NL_RAISE(INTERNAL_ERROR, NL_P("message", "a SHOW of no table"));
}
