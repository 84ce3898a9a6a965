/* command/describe.c - DESCRIBE of tables, columns, namespaces, functions and queries. */
#include "command/catalog_views.h"
#include "command/plain_tables.h"
#include "function/function.h"
#include "storage/credentials.h"

#define TEXT_MAX (1u << 20)

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static nl_status table_rows(nl_command *command, nl_rows **rows)
{
    const nl_field fields[] = {
        {.name = NL_STR("col_name"), .type = nl_type_string()},
        {.name = NL_STR("data_type"), .type = nl_type_string()},
        {.name = NL_STR("comment"), .type = nl_type_string(), .is_nullable = true},
    };
    nl_command_set_kind(command, NL_RESULT_DESCRIBE);
    return nl_command_rows(command, fields, NL_COUNT(fields), rows);
}

static nl_status info_rows(nl_command *command, nl_rows **rows)
{
    const nl_field fields[] = {{.name = NL_STR("info_name"), .type = nl_type_string()},
                               {.name = NL_STR("info_value"), .type = nl_type_string()}};
    return nl_command_rows(command, fields, NL_COUNT(fields), rows);
}

static nl_status add(nl_rows *rows, const char *name, nl_str value)
{
    return nl_rows_add_text(rows, (const nl_str[]){nl_str_from(name), value, NL_STR("")});
}

static nl_status add_info(nl_rows *rows, const char *name, nl_str value)
{
    return nl_rows_add_text(rows, (const nl_str[]){nl_str_from(name), value});
}

static nl_status add_column(nl_command *command, nl_rows *rows, nl_str name, const nl_type *type, nl_str comment)
{
    const nl_str shown = comment.length ? comment : (nl_str){0};
    return nl_rows_add_text(rows, (const nl_str[]){name, nl_type_name(command->arena, type), shown});
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Columns alone get a table of their own; with transforms among them the parts are numbered. */
static nl_status add_partitions(nl_command *command, const nl_facts *facts, nl_rows *rows)
{
    const nl_facts_partition *items;
    uint32_t count;
    bool is_plain = true;
    nl_facts_partitions(command, facts, &items, &count);
    for (uint32_t i = 0; i < count; i++)
        is_plain &= items[i].field->transform.kind == NL_TRANSFORM_IDENTITY;
    if (count == 0) return NULL;
    if (is_plain) {
        NL_TRY(add(rows, "# Partition Information", NL_STR("")));
        NL_TRY(nl_rows_add_text(rows, (const nl_str[]){NL_STR("# col_name"), NL_STR("data_type"), NL_STR("comment")}));
        for (uint32_t i = 0; i < count; i++)
            if (items[i].column)
                NL_TRY(add_column(command, rows, items[i].source, items[i].column->type, items[i].column->comment));
        return NULL;
    }
    NL_TRY(add(rows, "", NL_STR("")));
    NL_TRY(add(rows, "# Partitioning", NL_STR("")));
    for (uint32_t i = 0; i < count; i++) {
        const nl_str name = nl_arena_f(command->arena, "Part %u", i);
        NL_TRY(nl_rows_add_text(rows, (const nl_str[]){name, items[i].text, NL_STR("")}));
    }
    return NULL;
}

/* In Iceberg's order. A metadata table has the first five too, with an empty partition. */
static nl_status add_metadata_columns(nl_command *command, const nl_facts *facts, nl_rows *rows)
{
    static const struct {
        const char *name, *type;
        bool is_v3;
    } columns[] = {{"_spec_id", "int", false},
                   {"_partition", "struct<>", false},
                   {"_file", "string", false},
                   {"_pos", "bigint", false},
                   {"_deleted", "boolean", false},
                   {"_row_id", "bigint", true},
                   {"_last_updated_sequence_number", "bigint", true}};
    const nl_type *known = facts->source->metadata_type;
    NL_TRY(add(rows, "", NL_STR("")));
    NL_TRY(add(rows, "# Metadata Columns", NL_STR("")));
    for (size_t i = 0; i < NL_COUNT(columns); i++) {
        if (columns[i].is_v3 && (facts->is_metadata_table || facts->metadata->format_version < 3)) continue;
        nl_str type = nl_str_from(columns[i].type);
        for (uint32_t j = 0; !facts->is_metadata_table && known && j < known->child_count; j++)
            if (nl_str_is(known->children[j].name, columns[i].name))
                type = nl_type_name(command->arena, known->children[j].type);
        NL_TRY(add(rows, columns[i].name, type));
    }
    return NULL;
}

static nl_status add_details(nl_command *command, const nl_facts *facts, nl_rows *rows)
{
    int64_t row_count = 0, bytes = 0;
    const nl_str comment = nl_facts_comment(facts), owner = nl_facts_owner(facts);
    NL_TRY(add(rows, "", NL_STR("")));
    NL_TRY(add(rows, "# Detailed Table Information", NL_STR("")));
    NL_TRY(add(rows, "Name", facts->name));
    NL_TRY(add(rows, "Type", NL_STR("MANAGED")));
    if (comment.data) NL_TRY(add(rows, "Comment", comment));
    NL_TRY(add(rows, "Location", facts->metadata->location));
    NL_TRY(add(rows, "Provider", NL_STR("iceberg")));
    if (owner.data) NL_TRY(add(rows, "Owner", owner));
    NL_TRY(add(rows, "Table Properties", nl_facts_properties_text(command, facts)));
    NL_TRY(nl_facts_statistics(facts, &row_count, &bytes));
    if (bytes < 0) return NULL;
    const nl_str statistics =
        nl_arena_f(command->arena, "%lld bytes, %lld rows", (long long)bytes, (long long)row_count);
    return nl_rows_add_text(rows, (const nl_str[]){NL_STR("Statistics"), statistics, {0}});
}

static nl_str properties_list(nl_command *command, const nl_temp_view *view)
{
    nl_builder text;
    nl_builder_init(&text, 1 << 24);
    for (uint32_t i = 0; i < view->property_count; i++)
        nl_append_f(&text, "%s'" NL_STR_FMT "' = '" NL_STR_FMT "'", i ? ", " : "[", NL_STR_ARG(view->properties[i].key), NL_STR_ARG(view->properties[i].value));
    nl_append_char(&text, ']');
    return nl_facts_take(command, &text);
}

/* The catalog and namespace are those of the view's own name. */
static nl_str own_scope(const nl_temp_view *view)
{
    size_t end = view->name.length;
    while (end > 0 && view->name.data[end - 1] != '.') end--;
    return nl_str_slice(view->name, 0, end > 0 ? end - 1 : 0);
}

static nl_status add_view_details(nl_command *command, const nl_facts *facts, nl_rows *rows)
{
    const nl_str created_by = nl_view_property(facts->catalog_view, "create_engine_version");
    NL_TRY(add(rows, "", NL_STR("")));
    NL_TRY(add(rows, "# Detailed View Information", NL_STR("")));
    NL_TRY(add(rows, "Comment", facts->view->comment));
    NL_TRY(add(rows, "View Catalog and Namespace", own_scope(facts->view)));
    NL_TRY(add(rows, "View Query Output Columns", nl_catalog_view_query_columns(command, facts->catalog_view)));
    NL_TRY(add(rows, "View Properties", properties_list(command, facts->view)));
    return add(rows, "Created By", created_by.data ? created_by : NL_STR(""));
}

static nl_status add_stored_view_details(nl_command *command, const nl_facts *facts, nl_rows *rows)
{
    nl_view_fact items[NL_VIEW_FACTS_MAX];
    const uint32_t count = nl_view_facts(command, facts, items);
    NL_TRY(add(rows, "", NL_STR("")));
    NL_TRY(add(rows, "# Detailed Table Information", NL_STR("")));
    for (uint32_t i = 0; i < count; i++) NL_TRY(add(rows, items[i].title, items[i].value));
    return NULL;
}

static nl_status describe_table(nl_command *command, const nl_ast_describe *describe, const nl_facts *facts)
{
    nl_rows *rows = NULL;
    if (facts->metadata && describe->partition)
        return NL_RAISE(_LEGACY_ERROR_TEMP_1111);
    if (describe->partition && facts->view)
        return NL_RAISE(FORBIDDEN_OPERATION, NL_P("statement", "DESC PARTITION"), NL_P("objectType", nl_view_is_permanent(facts->view) ? "VIEW" : "TEMPORARY VIEW"),
                        NL_P_STR("objectName", nl_command_quoted(command, &describe->name.parts[describe->name.count - 1].text, 1)));
    nl_str folder = {0};
    if (describe->partition && facts->plain) NL_TRY(nl_plain_find_partition(command, facts->plain, describe->partition, &folder));
    if (describe->is_json && facts->plain) return nl_plain_describe_json(command, facts->plain, folder);
    if (describe->is_json && facts->view && !facts->catalog_view) return nl_view_describe_json(command, facts->view, facts->row_type);
    if (describe->is_json)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "DESCRIBE TABLE AS JSON is not supported for v2 tables.");
    NL_TRY(table_rows(command, &rows));
    for (uint32_t i = 0; i < facts->row_type->child_count; i++) {
        const nl_field *field = &facts->row_type->children[i];
        if (facts->catalog_view) /* Iceberg shows no comment as an empty one */
            NL_TRY(nl_rows_add_text(rows, (const nl_str[]){field->name, nl_type_name(command->arena, field->type), field->comment.length ? field->comment : NL_STR("")}));
        else NL_TRY(add_column(command, rows, field->name, field->type, field->comment));
    }
    if (facts->plain && folder.data && describe->is_extended) return nl_plain_describe_partition(command, facts->plain, folder, rows);
    if (facts->plain) return nl_plain_describe(command, facts->plain, describe->is_extended, rows);
    if (facts->catalog_view && describe->is_extended) return add_view_details(command, facts, rows);
    if (nl_view_is_permanent(facts->view) && describe->is_extended) return add_stored_view_details(command, facts, rows);
    if (!facts->metadata) return NULL;
    NL_TRY(add_partitions(command, facts, rows));
    if (!describe->is_extended) return NULL;
    NL_TRY(add_metadata_columns(command, facts, rows));
    return add_details(command, facts, rows);
}

/* ---- one column -------------------------------------------------------------------------------------------------- */

static nl_status column_not_found(nl_command *command, nl_str name)
{
    return NL_RAISE(COLUMN_NOT_FOUND, NL_P_STR("colName", nl_command_quoted(command, &name, 1)),
                    NL_P("caseSensitiveConfig", "\"spark.sql.caseSensitive\""));
}

/* A view's unknown column has Spark's old error, a table's is an unresolved column at the statement's start. */
static nl_status resolve_column(nl_command *command, const nl_ast_describe *describe, const nl_facts *facts,
                                const nl_column **column)
{
    const nl_ast_ident last = describe->column.parts[describe->column.count - 1];
    nl_ast_expr name = {.kind = NL_AST_EXPR_COLUMN, .range = {.line = 1}, .column = describe->column};
    const nl_expr *resolved = NULL;
    nl_error *error =
        nl_analyze_expr(&command->context, &name, facts->columns, facts->row_type->child_count, &resolved);
    if (error && facts->metadata) return nl_facts_at(command, error, name.range);
    nl_error_free(error);
    if (error) return column_not_found(command, last.text);
    for (uint32_t i = 0; resolved->kind == NL_EXPR_COLUMN && i < facts->row_type->child_count; i++)
        if (facts->columns[i].id == resolved->column) *column = &facts->columns[i];
    if (*column) return NULL;
    nl_str dotted = {0};
    for (uint32_t i = 0; i < describe->column.count; i++) {
        const nl_str part = nl_facts_identifier(command, describe->column.parts[i].text);
        dotted = i ? nl_arena_f(command->arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(dotted), NL_STR_ARG(part)) : part;
    }
    return NL_RAISE(_LEGACY_ERROR_TEMP_1060, NL_P("command", "DESC TABLE COLUMN"), NL_P_STR("column", dotted));
}

static nl_status describe_column(nl_command *command, const nl_ast_describe *describe, const nl_facts *facts)
{
    /* Only ANALYZE … FOR COLUMNS could know these, which keeps nothing. */
    static const char *const unknown[] = {"min",         "max",         "num_nulls", "distinct_count",
                                          "avg_col_len", "max_col_len", "histogram"};
    const nl_column *column = NULL;
    nl_rows *rows = NULL;
    NL_TRY(resolve_column(command, describe, facts, &column));
    NL_TRY(info_rows(command, &rows));
    NL_TRY(add_info(rows, "col_name", describe->column.parts[describe->column.count - 1].text));
    NL_TRY(add_info(rows, "data_type", nl_type_name(command->arena, column->type)));
    NL_TRY(add_info(rows, "comment", column->comment.length ? column->comment : NL_STR("NULL")));
    for (size_t i = 0; describe->is_extended && (facts->view || facts->plain) && i < NL_COUNT(unknown); i++)
        NL_TRY(add_info(rows, unknown[i], NL_STR("NULL")));
    return NULL;
}

static nl_status describe_relation(nl_command *command, const nl_ast_describe *describe)
{
    nl_facts facts;
    NL_TRY(nl_facts_find_name(command, &describe->name, &facts));
    return describe->column.count ? describe_column(command, describe, &facts)
                                  : describe_table(command, describe, &facts);
}

/* ---- namespaces -------------------------------------------------------------------------------------------------- */

static nl_str property_of(const nl_property *items, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is(items[i].key, key)) return items[i].value;
    return (nl_str){0};
}

static bool is_namespace_fact(nl_str key)
{
    return nl_str_is(key, "comment") || nl_str_is(key, "collation") || nl_str_is(key, "location") ||
           nl_str_is(key, "owner");
}

/* "((a,1), (b,2))", by key; empty when there are none. */
static nl_str namespace_properties(nl_command *command, const nl_property *items, uint32_t count)
{
    nl_builder text;
    nl_str last = {"", 0};
    nl_builder_init(&text, TEXT_MAX);
    for (;;) { /* the next key after `last`: there are few */
        const nl_property *next = NULL;
        for (uint32_t i = 0; i < count; i++) {
            if (is_namespace_fact(items[i].key) || (text.length && nl_str_compare(items[i].key, last) <= 0)) continue;
            if (!next || nl_str_compare(items[i].key, next->key) < 0) next = &items[i];
        }
        if (!next) break;
        const nl_str value = nl_shown_value(next->key, next->value);
        nl_append_f(&text, "%s(" NL_STR_FMT "," NL_STR_FMT ")", text.length ? ", " : "(", NL_STR_ARG(next->key), NL_STR_ARG(value));
        last = next->key;
    }
    if (text.length) nl_append_char(&text, ')');
    return nl_facts_take(command, &text);
}

static nl_status describe_namespace(nl_command *command, const nl_ast_describe *describe)
{
    /* The session catalog's default namespace is there before anything was written into it. */
    static const nl_property initial = {NL_STR_INIT("comment"), NL_STR_INIT("default database")};
    static const struct {
        const char *key, *title;
    } facts[] = {{"comment", "Comment"}, {"collation", "Collation"}, {"location", "Location"}, {"owner", "Owner"}};
    const nl_str *parts;
    uint32_t part_count, count = 0;
    nl_session_name name;
    const nl_property *items = NULL;
    nl_rows *rows = NULL;
    bool exists = false;
    NL_TRY(nl_command_name(command, &describe->name, &parts, &part_count));
    NL_TRY(nl_session_resolve_namespace(command->session, parts, part_count, command->arena, &name));
    NL_TRY(nl_catalog_namespace_exists(name.catalog, name.identifier.namespace_parts, name.identifier.namespace_count,
                                       &exists));
    const bool is_given = !exists && nl_session_is_default_database(&name);
    if (!exists && !is_given)
        return NL_RAISE(SCHEMA_NOT_FOUND,
                        NL_P_STR("schemaName", nl_command_quoted(command, name.identifier.namespace_parts,
                                                                 name.identifier.namespace_count)));
    if (is_given) {
        items = &initial;
        count = 1;
    } else {
        NL_TRY(nl_catalog_namespace_properties(name.catalog, name.identifier.namespace_parts,
                                               name.identifier.namespace_count, command->arena, &items, &count));
    }
    NL_TRY(info_rows(command, &rows));
    NL_TRY(add_info(rows, "Catalog Name", name.catalog_name));
    nl_session_name inside = {.identifier = {.namespace_parts = name.identifier.namespace_parts,
                                             .namespace_count = name.identifier.namespace_count}};
    NL_TRY(add_info(rows, "Namespace Name", nl_command_dotted_name(command, &inside)));
    for (size_t i = 0; i < NL_COUNT(facts); i++) {
        const nl_str value = property_of(items, count, facts[i].key);
        if (value.data) NL_TRY(add_info(rows, facts[i].title, value));
    }
    return describe->is_extended ? add_info(rows, "Properties", namespace_properties(command, items, count)) : NULL;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* What is grammar rather than a function. */
static const struct {
    const char *name, *usage;
} syntax[] = {
    {"<>", "expr1 <> expr2 - Whether the two differ."},
    {"!=", "expr1 != expr2 - Whether the two differ."},
    {"between", "input [NOT] between lower AND upper - Whether the input lies (or not) in the closed range."},
    {"case",
     "CASE expr1 WHEN expr2 THEN expr3 [WHEN expr4 THEN expr5]* [ELSE expr6] END - The value behind the first match."},
    {"||", "expr1 || expr2 - The two joined."},
};

/* Iceberg's functions live in every Iceberg catalog's namespace "system"; Spark cannot describe them. */
static bool is_iceberg_function(nl_str name)
{
    static const char *const names[] = {"bucket", "days", "hours", "months", "years", "truncate", "iceberg_version"};
    for (size_t i = 0; i < NL_COUNT(names); i++)
        if (nl_str_is_nocase(name, names[i])) return true;
    return false;
}

/* A function written in SQL: its kind, parameters, result and body. */
static nl_status describe_own_function(nl_command *command, const nl_session_function *function)
{
    nl_ast_statement *statement = NULL;
    nl_rows *rows = NULL;
    nl_builder inputs;
    NL_TRY(nl_sql_parse(command->arena, nl_arena_str(command->arena, function->text), NULL, &statement));
    NL_CHECK(statement->kind == NL_AST_STATEMENT_CREATE_FUNCTION);
    const nl_ast_create_function *create = statement->create_function;
    nl_builder_init(&inputs, TEXT_MAX);
    nl_append_c(&inputs, "Input:    ");
    for (uint32_t i = 0; i < create->parameters.count; i++) {
        const nl_type *type = NULL;
        NL_TRY(nl_ast_type_to_type(command->arena, create->parameters.items[i].type, &type));
        nl_append_f(&inputs, "%s" NL_STR_FMT " " NL_STR_FMT, i ? ", " : "", NL_STR_ARG(create->parameters.items[i].name.text),
                    NL_STR_ARG(nl_type_sql(command->arena, type)));
    }
    const nl_type *returns = NULL;
    if (create->is_table) NL_TRY(nl_ast_fields_to_type(command->arena, &create->table_columns, &returns));
    if (create->returns) NL_TRY(nl_ast_type_to_type(command->arena, create->returns, &returns));
    const nl_str lines[] = {
        nl_arena_f(command->arena, "Function: " NL_STR_FMT, NL_STR_ARG(function->name)),
        nl_arena_f(command->arena, "Type:     %s", create->is_table ? "TABLE" : "SCALAR"),
        nl_facts_take(command, &inputs),
        nl_arena_f(command->arena, "Returns:  " NL_STR_FMT, NL_STR_ARG(returns ? nl_type_sql(command->arena, returns) : NL_STR(""))),
        nl_arena_f(command->arena, "Body:     " NL_STR_FMT, NL_STR_ARG(create->body_text)),
    };
    const nl_field field = {.name = NL_STR("function_desc"), .type = nl_type_string()};
    NL_TRY(nl_command_rows(command, &field, 1, &rows));
    for (size_t i = 0; i < NL_COUNT(lines); i++) NL_TRY(nl_rows_add_text(rows, &lines[i]));
    return NULL;
}

/* "name(arguments) - doc": the arguments of the signature's first alternative. */
static nl_str usage_of(nl_command *command, nl_str name, const nl_function_row *row)
{
    const nl_str signature = nl_str_from(row->signature);
    const size_t arrow = nl_str_find(signature, NL_STR("->"), 0);
    const nl_str arguments = nl_str_trim(nl_str_slice(signature, 0, arrow == NL_NOT_FOUND ? 0 : arrow));
    return nl_arena_f(command->arena, NL_STR_FMT NL_STR_FMT " - %s", NL_STR_ARG(name), NL_STR_ARG(arguments),
                      row->doc ? row->doc : "");
}

static nl_str extended_usage(nl_command *command, nl_str name, const nl_function_row *row)
{
    nl_builder text;
    nl_builder_init(&text, TEXT_MAX);
    nl_append_c(&text, "Extended Usage:\n");
    const bool has_examples = row && row->examples[0].sql;
    if (!has_examples) nl_append_f(&text, "    No example/argument for " NL_STR_FMT ".\n", NL_STR_ARG(name));
    if (has_examples) nl_append_c(&text, "    Examples:\n");
    for (size_t i = 0; has_examples && i < NL_COUNT(row->examples) && row->examples[i].sql; i++)
        nl_append_f(&text, "      > SELECT %s;\n       %s\n", row->examples[i].sql,
                    row->examples[i].result ? row->examples[i].result : "");
    if (row && row->since) nl_append_f(&text, "  \n    Since: %s\n", row->since);
    return nl_facts_take(command, &text);
}

static nl_str lower(nl_command *command, nl_str name)
{
    nl_builder text;
    nl_builder_init(&text, TEXT_MAX);
    for (size_t i = 0; i < name.length; i++)
        nl_append_char(&text,
                       name.data[i] >= 'A' && name.data[i] <= 'Z' ? (char)(name.data[i] + 'a' - 'A') : name.data[i]);
    return nl_facts_take(command, &text);
}

static nl_status describe_function(nl_command *command, const nl_ast_describe *describe)
{
    const nl_str *parts;
    uint32_t part_count;
    nl_rows *rows = NULL;
    const nl_function_row *const *found = NULL;
    nl_str usage = {0};
    NL_TRY(nl_command_name(command, &describe->name, &parts, &part_count));
    const nl_str name = lower(command, parts[part_count - 1]);
    if (part_count == 3 && nl_str_is_nocase(parts[1], "system") && nl_session_has_catalog(command->session, parts[0]) &&
        is_iceberg_function(name))
        return NL_RAISE(_LEGACY_ERROR_TEMP_1184, NL_P_STR("plugin", parts[0]), NL_P("ability", "functions"));
    for (size_t i = 0; part_count == 1 && i < NL_COUNT(syntax); i++)
        if (nl_str_is(name, syntax[i].name)) usage = nl_str_from(syntax[i].usage);
    const bool is_unknown = !usage.data && (part_count != 1 || nl_function_find(name, &found) == 0 || found[0]->is_internal);
    const nl_session_function *own = is_unknown ? nl_command_find_function(command, parts, part_count) : NULL;
    if (own) return describe_own_function(command, own);
    if (is_unknown) return nl_command_raise_routine(command, parts, part_count, describe->name.range);
    const nl_function_row *row = found ? found[0] : NULL;
    if (row) usage = usage_of(command, name, row);
    const nl_field field = {.name = NL_STR("function_desc"), .type = nl_type_string()};
    NL_TRY(nl_command_rows(command, &field, 1, &rows));
    nl_str line = nl_arena_f(command->arena, "Function: " NL_STR_FMT, NL_STR_ARG(name));
    NL_TRY(nl_rows_add_text(rows, &line));
    line = nl_arena_f(command->arena, "Usage: " NL_STR_FMT, NL_STR_ARG(usage));
    NL_TRY(nl_rows_add_text(rows, &line));
    if (!describe->is_extended) return NULL;
    line = extended_usage(command, name, row);
    return nl_rows_add_text(rows, &line);
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

static nl_status describe_query(nl_command *command, const nl_ast_describe *describe)
{
    const nl_logical *plan = NULL;
    nl_rows *rows = NULL;
    NL_TRY(nl_analyze_query(&command->context, describe->query, &plan));
    NL_TRY(table_rows(command, &rows));
    for (uint32_t i = 0; i < plan->column_count; i++)
        NL_TRY(add_column(command, rows, plan->columns[i].name, plan->columns[i].type, plan->columns[i].comment));
    return NULL;
}

nl_status nl_run_describe(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_describe *describe = statement->describe;
    switch (describe->kind) {
    case NL_AST_DESCRIBE_FUNCTION:
        return describe_function(command, describe);
    case NL_AST_DESCRIBE_NAMESPACE:
        return describe_namespace(command, describe);
    case NL_AST_DESCRIBE_TABLE:
        return describe_relation(command, describe);
    case NL_AST_DESCRIBE_QUERY:
        break;
    }
    return describe_query(command, describe);
}
