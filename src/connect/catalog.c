/* connect/catalog.c - spark.catalog. Most of it is an SQL statement whose answer is put into the columns that PySpark wants. */
#include "connect/catalog.h"

#include "column/value.h"
#include "connect/translate.h"
#include "function/function.h"

typedef struct asking {
    nl_connect_host *host;
    nl_session *session;
    nl_arena *arena; /* of this call */
    nl_result **result;
} asking;

/* ---- running SQL ---- */

typedef struct answer {
    const nl_value *values; /* row after row */
    uint32_t column_count, row_count;
} answer;

static nl_status collect(asking *a, nl_result *rows, answer *found)
{
    nl_list values = {0};
    found->column_count = nl_result_schema(rows)->child_count;
    for (bool is_done = false; !is_done;) {
        nl_batch batch = {0};
        NL_TRY(nl_result_next(rows, &batch, &is_done));
        const nl_selection selection = nl_batch_selection(&batch);
        for (uint32_t i = 0; !is_done && i < selection.count; i++, found->row_count++) {
            for (uint32_t c = 0; c < batch.column_count; c++) {
                nl_value *value = NL_NEW(a->arena, nl_value);
                *value = nl_vector_value(&batch.columns[c], nl_selection_row(selection, i), a->arena);
                nl_list_add(a->arena, &values, value);
            }
        }
        nl_batch_fini(&batch);
    }
    nl_value *all = NL_NEW_ARRAY(a->arena, nl_value, values.count + 1);
    for (uint32_t i = 0; i < values.count; i++) all[i] = *(const nl_value *)values.items[i];
    found->values = all;
    return nl_arena_check(a->arena);
}

static nl_status ask(asking *a, nl_str sql, answer *found)
{
    nl_result *rows = NULL;
    NL_TRY(nl_command_run(a->session, sql, &rows));
    nl_status status = collect(a, rows, found);
    nl_result_close(rows);
    return status;
}

static nl_str text_at(const answer *found, uint32_t row, uint32_t column)
{
    const nl_value *value = &found->values[row * found->column_count + column];
    return value->is_null ? (nl_str){0} : value->text;
}

static nl_str quoted(asking *a, nl_str name)
{
    nl_builder out;
    nl_builder_init(&out, SIZE_MAX);
    nl_append_char(&out, '`');
    for (size_t i = 0; i < name.length; i++) {
        if (name.data[i] == '`') nl_append_char(&out, '`');
        nl_append_char(&out, name.data[i]);
    }
    nl_append_char(&out, '`');
    const nl_str text = nl_arena_str(a->arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

static nl_str string_of(asking *a, nl_str text)
{
    nl_builder out;
    nl_builder_init(&out, SIZE_MAX);
    nl_append_char(&out, '\'');
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '\'' || text.data[i] == '\\') nl_append_char(&out, '\\');
        nl_append_char(&out, text.data[i]);
    }
    nl_append_char(&out, '\'');
    const nl_str made = nl_arena_str(a->arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return made;
}

/* ---- answering ---- */

static nl_status finish(asking *a, nl_status status, nl_result *made)
{
    if (status)
        nl_result_close(made);
    else
        *a->result = made;
    return status;
}

static nl_status one_value(asking *a, const nl_value *value)
{
    const nl_field field = {.name = NL_STR("value"), .type = value->type, .is_nullable = value->type->id == NL_TYPE_STRING};
    nl_rows *rows = NULL;
    nl_result *made = NULL;
    NL_TRY(nl_command_make_rows(a->session, &field, 1, &rows, &made));
    return finish(a, nl_rows_add(rows, value), made);
}

static nl_status one_text(asking *a, nl_str text)
{
    const nl_value value = nl_value_string(text);
    return one_value(a, &value);
}

static nl_status one_boolean(asking *a, bool is_true)
{
    const nl_value value = nl_value_boolean(is_true);
    return one_value(a, &value);
}

/* A statement for its effect: no columns, no rows. */
static nl_status effect(asking *a, nl_str sql)
{
    return nl_command_run(a->session, sql, a->result);
}

/* "name catalog namespace[] description" … : columns ending with [] are arrays, with ? booleans. */
static nl_status start_rows(asking *a, const char *const *names, uint32_t count, nl_rows **rows, nl_result **made)
{
    nl_field *fields = NL_NEW_ARRAY(a->arena, nl_field, count);
    for (uint32_t i = 0; i < count; i++) {
        const nl_str name = nl_str_from(names[i]);
        const bool is_array = nl_str_ends(name, NL_STR("[]")), is_boolean = nl_str_ends(name, NL_STR("?"));
        fields[i].name = nl_str_slice(name, 0, name.length - (is_array ? 2 : is_boolean ? 1 : 0));
        fields[i].type = is_array ? nl_type_array(a->arena, nl_type_string(), true) : is_boolean ? nl_type_boolean() : nl_type_string();
        fields[i].is_nullable = !is_boolean;
    }
    return nl_command_make_rows(a->session, fields, count, rows, made);
}

static nl_value text_value(nl_str text)
{
    return text.data ? nl_value_string(text) : nl_value_null(nl_type_string());
}

static nl_value parts_value(asking *a, const nl_str *parts, uint32_t count)
{
    const nl_type *type = nl_type_array(a->arena, nl_type_string(), true);
    nl_value *items = NL_NEW_ARRAY(a->arena, nl_value, count + 1);
    for (uint32_t i = 0; i < count; i++) items[i] = nl_value_string(parts[i]);
    if (!parts) return nl_value_null(type);
    nl_value value = {.type = type};
    value.list.items = items;
    value.list.count = count;
    return value;
}

/* ---- databases and catalogs ---- */

static const char *const database_columns[] = {"name", "catalog", "description", "locationUri"};

static nl_status database_row(asking *a, nl_rows *rows, nl_str name)
{
    nl_session_name scope;
    const nl_property *properties = NULL;
    uint32_t count = 0;
    nl_value values[4];
    NL_TRY(nl_session_resolve_namespace(a->session, NULL, 0, a->arena, &scope));
    NL_TRY(nl_catalog_namespace_properties(scope.catalog, &name, 1, a->arena, &properties, &count));
    values[0] = text_value(name);
    values[1] = text_value(scope.catalog_name);
    values[2] = values[3] = nl_value_null(nl_type_string());
    if (nl_str_is(scope.catalog_name, "spark_catalog") && nl_str_is(name, "default")) values[2] = text_value(NL_STR("default database"));
    for (uint32_t i = 0; i < count; i++) {
        if (nl_str_is(properties[i].key, "comment")) values[2] = text_value(properties[i].value);
        if (nl_str_is(properties[i].key, "location")) values[3] = text_value(properties[i].value);
    }
    return nl_rows_add(rows, values);
}

static nl_status list_databases(asking *a, nl_str pattern)
{
    answer found = {0};
    nl_rows *rows = NULL;
    nl_result *made = NULL;
    const nl_str like = pattern.data ? nl_arena_f(a->arena, " LIKE " NL_STR_FMT, NL_STR_ARG(string_of(a, pattern))) : (nl_str){0};
    NL_TRY(ask(a, nl_arena_f(a->arena, "SHOW NAMESPACES" NL_STR_FMT, NL_STR_ARG(like)), &found));
    NL_TRY(start_rows(a, database_columns, NL_COUNT(database_columns), &rows, &made));
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < found.row_count; i++) status = database_row(a, rows, text_at(&found, i, 0));
    return finish(a, status, made);
}

static nl_status name_parts(asking *a, const char *text, const nl_str **parts, uint32_t *count)
{
    nl_ast_name name;
    NL_TRY(nl_sql_parse_name(a->arena, nl_str_from(text), &(nl_sql_options){.is_unplaced = true}, &name));
    nl_str *made = NL_NEW_ARRAY(a->arena, nl_str, name.count + 1);
    for (uint32_t i = 0; i < name.count; i++) made[i] = name.parts[i].text;
    *parts = made;
    *count = name.count;
    return NULL;
}

static nl_status database_exists(asking *a, const char *text, bool *exists, nl_session_name *scope)
{
    const nl_str *parts = NULL;
    uint32_t count = 0;
    NL_TRY(name_parts(a, text, &parts, &count));
    NL_TRY(nl_session_resolve_namespace(a->session, parts, count, a->arena, scope));
    return nl_session_namespace_exists(scope, exists);
}

static nl_status get_database(asking *a, const char *text)
{
    bool exists = false;
    nl_session_name scope;
    nl_rows *rows = NULL;
    nl_result *made = NULL;
    NL_TRY(database_exists(a, text, &exists, &scope));
    const nl_str last = scope.identifier.namespace_count ? scope.identifier.namespace_parts[scope.identifier.namespace_count - 1] : NL_STR("");
    if (!exists)
        return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_arena_f(a->arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(quoted(a, scope.catalog_name)), NL_STR_ARG(quoted(a, last)))));
    NL_TRY(start_rows(a, database_columns, NL_COUNT(database_columns), &rows, &made));
    return finish(a, database_row(a, rows, last), made);
}

static nl_status list_catalogs(asking *a, nl_str pattern)
{
    static const char *const columns[] = {"name", "description"};
    answer found = {0};
    nl_rows *rows = NULL;
    nl_result *made = NULL;
    const nl_str like = pattern.data ? nl_arena_f(a->arena, " LIKE " NL_STR_FMT, NL_STR_ARG(string_of(a, pattern))) : (nl_str){0};
    NL_TRY(ask(a, nl_arena_f(a->arena, "SHOW CATALOGS" NL_STR_FMT, NL_STR_ARG(like)), &found));
    NL_TRY(start_rows(a, columns, NL_COUNT(columns), &rows, &made));
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < found.row_count; i++) status = nl_rows_add_text(rows, (const nl_str[]){text_at(&found, i, 0), {0}});
    return finish(a, status, made);
}

/* ---- tables ---- */

static const char *const table_columns[] = {"name", "catalog", "namespace[]", "description", "tableType", "isTemporary?"};

static nl_status add_table(asking *a, nl_rows *rows, nl_str name, const nl_session_name *scope, const char *type, bool is_temporary)
{
    const bool is_global = is_temporary && scope;
    static const nl_str global[] = {NL_STR_INIT("global_temp")};
    const nl_value values[] = {text_value(name),
                               is_temporary ? nl_value_null(nl_type_string()) : text_value(scope->catalog_name),
                               is_global ? parts_value(a, global, 1) : is_temporary ? parts_value(a, (const nl_str[]){{0}}, 0)
                                                                                    : parts_value(a, scope->identifier.namespace_parts, scope->identifier.namespace_count),
                               nl_value_null(nl_type_string()),
                               text_value(nl_str_from(type)),
                               nl_value_boolean(is_temporary)};
    return nl_rows_add(rows, values);
}

static nl_status list_tables(asking *a, const char *database, nl_str pattern)
{
    answer found = {0};
    nl_session_name scope;
    const nl_str *parts = NULL;
    uint32_t count = 0;
    nl_rows *rows = NULL;
    nl_result *made = NULL;
    const nl_str in = database ? nl_arena_f(a->arena, " IN %s", database) : (nl_str){0};
    const nl_str like = pattern.data ? nl_arena_f(a->arena, " LIKE " NL_STR_FMT, NL_STR_ARG(string_of(a, pattern))) : (nl_str){0};
    if (database) NL_TRY(name_parts(a, database, &parts, &count));
    NL_TRY(nl_session_resolve_namespace(a->session, parts, count, a->arena, &scope));
    NL_TRY(ask(a, nl_arena_f(a->arena, "SHOW TABLES" NL_STR_FMT NL_STR_FMT, NL_STR_ARG(in), NL_STR_ARG(like)), &found));
    NL_TRY(start_rows(a, table_columns, NL_COUNT(table_columns), &rows, &made));
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < found.row_count; i++) {
        const bool is_temporary = found.values[i * found.column_count + 2].boolean;
        status = add_table(a, rows, text_at(&found, i, 1), is_temporary ? NULL : &scope, is_temporary ? "TEMPORARY" : "MANAGED", is_temporary);
    }
    return finish(a, status, made);
}

static nl_str full_name(asking *a, const char *database, const char *table)
{
    if (!database) return nl_copy_text(a->arena, table);
    return nl_arena_f(a->arena, "%s." NL_STR_FMT, database, NL_STR_ARG(quoted(a, nl_str_from(table))));
}

/* The columns of a table or view, by analysis alone. */
typedef struct reading {
    nl_str name;
} reading;

static nl_status make_read(void *context, nl_session *session, nl_arena *arena, nl_command_made *made)
{
    const reading *r = context;
    nl_ast_relation *relation = NL_NEW(arena, nl_ast_relation);
    nl_ast_query *query = NL_NEW(arena, nl_ast_query);
    nl_ast_statement *statement = NL_NEW(arena, nl_ast_statement);
    (void)session;
    relation->kind = NL_AST_RELATION_TABLE;
    NL_TRY(nl_sql_parse_name(arena, r->name, &(nl_sql_options){.is_unplaced = true}, &relation->table.name));
    query->body = nl_relation_term(arena, relation);
    statement->kind = NL_AST_STATEMENT_QUERY;
    statement->query = query;
    made->statement = statement;
    return NULL;
}

static nl_status analyze_table(asking *a, nl_str name, nl_result **found)
{
    reading r = {.name = name};
    const nl_command_tree tree = {.make = make_read, .context = &r};
    return nl_command_analyze_tree(a->session, &tree, found);
}

static nl_status table_exists(asking *a, nl_str name, bool *exists)
{
    nl_result *found = NULL;
    nl_status status = analyze_table(a, name, &found);
    *exists = status == NULL;
    if (!status) {
        nl_result_close(found);
        return NULL;
    }
    const nl_condition condition = nl_error_condition(status);
    if (condition != NL_COND_TABLE_OR_VIEW_NOT_FOUND && condition != NL_COND_SCHEMA_NOT_FOUND) return status;
    nl_error_free(status);
    return NULL;
}

static nl_status get_table(asking *a, nl_str name)
{
    nl_result *found = NULL;
    const nl_str *parts = NULL;
    uint32_t count = 0;
    nl_rows *rows = NULL;
    nl_result *made = NULL;
    nl_session_name scope;
    NL_TRY(analyze_table(a, name, &found));
    nl_result_close(found);
    NL_TRY(name_parts(a, nl_str_c(a->arena, name), &parts, &count));
    const bool is_global = count == 2 && nl_str_is_nocase(parts[0], "global_temp");
    const bool is_temporary = is_global || (count == 1 && nl_session_find_view(a->session, parts[0], false, a->arena));
    NL_TRY(start_rows(a, table_columns, NL_COUNT(table_columns), &rows, &made));
    nl_status status = is_global ? NULL : nl_session_resolve(a->session, parts, count, a->arena, &scope);
    if (!status)
        status = add_table(a, rows, parts[count - 1], is_temporary && !is_global ? NULL : &scope, is_temporary ? "TEMPORARY" : "MANAGED", is_temporary);
    return finish(a, status, made);
}

/* The word DESCRIBE TABLE uses for a partition's column: "b", "s", "bucket(4, i)"; other transforms name no column here. */
static bool is_role_of(nl_str column, nl_str said, bool *is_bucket)
{
    const nl_str prefix = NL_STR("bucket("), suffix = NL_STR(")");
    *is_bucket = nl_str_starts(said, prefix) && nl_str_ends(said, suffix);
    if (!*is_bucket) return nl_str_equal_nocase(column, said);
    const size_t comma = nl_str_find_char(said, ',', 0);
    return comma != NL_NOT_FOUND && nl_str_equal_nocase(column, nl_str_trim(nl_str_slice(said, comma + 1, said.length - 1)));
}

/* Which part a column has in the table's partitioning, from the lines DESCRIBE TABLE adds behind the columns. */
static void find_role(const answer *described, nl_str column, bool *is_partition, bool *is_bucket)
{
    bool is_inside = false, is_listed = false; /* "# Partitioning" says "Part 0 | s", "# Partition Information" the names themselves */
    *is_partition = *is_bucket = false;
    for (uint32_t i = 0; i < described->row_count; i++) {
        const nl_str first = text_at(described, i, 0);
        if (nl_str_starts(first, NL_STR("#"))) {
            is_listed = nl_str_is(first, "# Partition Information") || (is_listed && nl_str_is(first, "# col_name"));
            is_inside = is_listed || nl_str_is(first, "# Partitioning");
            continue;
        }
        bool buckets = false;
        if (first.length == 0) is_inside = is_listed = false;
        if (!is_inside || !is_role_of(column, is_listed ? first : text_at(described, i, 1), &buckets)) continue;
        *(buckets ? is_bucket : is_partition) = true;
    }
}

static nl_status list_columns(asking *a, nl_str name)
{
    static const char *const columns[] = {"name", "description", "dataType", "nullable?", "isPartition?", "isBucket?", "isCluster?"};
    nl_result *found = NULL;
    nl_rows *rows = NULL;
    nl_result *made = NULL;
    answer described = {0};
    NL_TRY(ask(a, nl_arena_f(a->arena, "DESCRIBE TABLE " NL_STR_FMT, NL_STR_ARG(name)), &described));
    NL_TRY(analyze_table(a, name, &found));
    const nl_type *schema = nl_result_schema(found);
    nl_status status = start_rows(a, columns, NL_COUNT(columns), &rows, &made);
    for (uint32_t i = 0; !status && i < schema->child_count; i++) {
        const nl_field *field = &schema->children[i];
        bool is_partition = false, is_bucket = false;
        find_role(&described, field->name, &is_partition, &is_bucket);
        const nl_value values[] = {text_value(field->name),
                                   text_value(field->comment),
                                   text_value(nl_type_name(a->arena, field->type)),
                                   nl_value_boolean(field->is_nullable),
                                   nl_value_boolean(is_partition),
                                   nl_value_boolean(is_bucket),
                                   nl_value_boolean(false)};
        status = nl_rows_add(rows, values);
    }
    nl_result_close(found);
    return finish(a, status, made);
}

static nl_status create_table(asking *a, const char *name, const char *path, const char *source, const char *description, const Spark__Connect__DataType *schema)
{
    const nl_type *type = NULL;
    nl_builder sql;
    if (!schema) return nl_connect_unsupported("catalog.createTable without a schema");
    NL_TRY(nl_connect_type_from_proto(a->arena, schema, &type));
    nl_builder_init(&sql, SIZE_MAX);
    nl_append_f(&sql, "CREATE TABLE %s (", name ? name : "");
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_field *field = &type->children[i];
        nl_append_f(&sql, "%s" NL_STR_FMT " " NL_STR_FMT "%s", i ? ", " : "", NL_STR_ARG(quoted(a, field->name)), NL_STR_ARG(nl_type_sql(a->arena, field->type)),
                    field->is_nullable ? "" : " NOT NULL");
    }
    nl_append_f(&sql, ") USING %s", source && source[0] ? source : "iceberg");
    if (path && path[0]) nl_append_f(&sql, " LOCATION " NL_STR_FMT, NL_STR_ARG(string_of(a, nl_str_from(path))));
    if (description && description[0]) nl_append_f(&sql, " COMMENT " NL_STR_FMT, NL_STR_ARG(string_of(a, nl_str_from(description))));
    const nl_str text = nl_arena_str(a->arena, nl_builder_str(&sql));
    nl_builder_fini(&sql);
    nl_result *ran = NULL;
    NL_TRY(nl_command_run(a->session, text, &ran));
    nl_result_close(ran);
    return nl_command_run(a->session, nl_arena_f(a->arena, "SELECT * FROM %s", name), a->result);
}

/* ---- functions ---- */

static const char *const function_columns[] = {"name", "catalog", "namespace[]", "description", "className", "isTemporary?"};

static nl_status add_function(asking *a, nl_rows *rows, nl_str name)
{
    const nl_value values[] = {text_value(name), nl_value_null(nl_type_string()), parts_value(a, NULL, 0), nl_value_null(nl_type_string()), text_value(NL_STR("")),
                               nl_value_boolean(true)};
    return nl_rows_add(rows, values);
}

static nl_status list_functions(asking *a, nl_str pattern)
{
    answer found = {0};
    nl_rows *rows = NULL;
    nl_result *made = NULL;
    const nl_str like = pattern.data ? nl_arena_f(a->arena, " LIKE " NL_STR_FMT, NL_STR_ARG(string_of(a, pattern))) : (nl_str){0};
    NL_TRY(ask(a, nl_arena_f(a->arena, "SHOW FUNCTIONS" NL_STR_FMT, NL_STR_ARG(like)), &found));
    NL_TRY(start_rows(a, function_columns, NL_COUNT(function_columns), &rows, &made));
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < found.row_count; i++) status = add_function(a, rows, text_at(&found, i, 0));
    return finish(a, status, made);
}

static nl_status function_exists(asking *a, const char *name, bool *exists)
{
    const nl_function_row *const *rows = NULL;
    const nl_str *parts = NULL;
    uint32_t count = 0;
    NL_TRY(name_parts(a, name, &parts, &count));
    *exists = nl_function_find(parts[count - 1], &rows) || nl_session_find_function(a->session, parts[count - 1], true, a->arena);
    return NULL;
}

static nl_status get_function(asking *a, const char *name)
{
    bool exists = false;
    nl_rows *rows = NULL;
    nl_result *made = NULL;
    NL_TRY(function_exists(a, name, &exists));
    if (!exists) return NL_RAISE(UNRESOLVED_ROUTINE, NL_P_STR("routineName", quoted(a, nl_str_from(name))), NL_P("searchPath", "[`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`]"));
    NL_TRY(start_rows(a, function_columns, NL_COUNT(function_columns), &rows, &made));
    return finish(a, add_function(a, rows, nl_str_from(name)), made);
}

/* ---- what is kept ---- */

typedef struct table_relation {
    Spark__Connect__Relation relation;
    Spark__Connect__Read read;
    Spark__Connect__Read__NamedTable table;
} table_relation;

static const Spark__Connect__Relation *relation_of(table_relation *made, char *name)
{
    spark__connect__relation__init(&made->relation);
    spark__connect__read__init(&made->read);
    spark__connect__read__named_table__init(&made->table);
    made->table.unparsed_identifier = name;
    made->read.read_type_case = SPARK__CONNECT__READ__READ_TYPE_NAMED_TABLE;
    made->read.named_table = &made->table;
    made->relation.rel_type_case = SPARK__CONNECT__RELATION__REL_TYPE_READ;
    made->relation.read = &made->read;
    return &made->relation;
}

static nl_status cache_table(asking *a, const Spark__Connect__CacheTable *message)
{
    table_relation named;
    NL_TRY(nl_connect_persist(a->host, relation_of(&named, message->table_name), message->storage_level));
    return effect(a, nl_arena_f(a->arena, "CACHE LAZY TABLE %s", message->table_name)); /* it is there: nothing more is done */
}

static nl_status is_cached(asking *a, char *name, bool *is_found)
{
    table_relation named;
    nl_storage_level level;
    return nl_connect_storage_level(a->host, relation_of(&named, name), &level, is_found);
}

/* ---- which one it is ---- */

static nl_status change(asking *a, const Spark__Connect__Catalog *message)
{
    switch ((int)message->cat_type_case) {
    case SPARK__CONNECT__CATALOG__CAT_TYPE_SET_CURRENT_DATABASE:
        return effect(a, nl_arena_f(a->arena, "USE NAMESPACE %s", message->set_current_database->db_name));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_SET_CURRENT_CATALOG:
        return effect(a, nl_arena_f(a->arena, "SET CATALOG " NL_STR_FMT, NL_STR_ARG(quoted(a, nl_str_from(message->set_current_catalog->catalog_name)))));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_CREATE_EXTERNAL_TABLE:
        return create_table(a, message->create_external_table->table_name, message->create_external_table->path, message->create_external_table->source, NULL,
                            message->create_external_table->schema);
    case SPARK__CONNECT__CATALOG__CAT_TYPE_CREATE_TABLE:
        return create_table(a, message->create_table->table_name, message->create_table->path, message->create_table->source, message->create_table->description,
                            message->create_table->schema);
    case SPARK__CONNECT__CATALOG__CAT_TYPE_DROP_TEMP_VIEW:
        return one_boolean(a, nl_session_drop_view(a->session, nl_str_from(message->drop_temp_view->view_name), false));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_DROP_GLOBAL_TEMP_VIEW:
        return one_boolean(a, nl_session_drop_view(a->session, nl_str_from(message->drop_global_temp_view->view_name), true));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_CACHE_TABLE: return cache_table(a, message->cache_table);
    case SPARK__CONNECT__CATALOG__CAT_TYPE_UNCACHE_TABLE: return effect(a, nl_arena_f(a->arena, "UNCACHE TABLE %s", message->uncache_table->table_name));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_CLEAR_CACHE: return effect(a, NL_STR("CLEAR CACHE"));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_REFRESH_TABLE: return effect(a, nl_arena_f(a->arena, "REFRESH TABLE %s", message->refresh_table->table_name));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_REFRESH_BY_PATH:
        return effect(a, NL_STR("REFRESH 'path'")); /* whatever path: all that is kept is compared with its files */
    case SPARK__CONNECT__CATALOG__CAT_TYPE_RECOVER_PARTITIONS:
        return effect(a, nl_arena_f(a->arena, "ALTER TABLE %s RECOVER PARTITIONS", message->recover_partitions->table_name));
    default: return nl_connect_invalid("Expected a catalog operation to be set, but is empty.");
    }
}

static nl_status question(asking *a, const Spark__Connect__Catalog *message)
{
    bool exists = false;
    nl_session_name scope;
    const nl_str *parts;
    uint32_t count;
    switch ((int)message->cat_type_case) {
    case SPARK__CONNECT__CATALOG__CAT_TYPE_CURRENT_DATABASE: {
        nl_session_current_namespace(a->session, &parts, &count);
        nl_str name = {"", 0};
        for (uint32_t i = 0; i < count; i++) name = i ? nl_arena_f(a->arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(parts[i])) : parts[i];
        return one_text(a, name);
    }
    case SPARK__CONNECT__CATALOG__CAT_TYPE_CURRENT_CATALOG: return one_text(a, nl_session_current_catalog(a->session));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_LIST_CATALOGS: return list_catalogs(a, nl_str_from(message->list_catalogs->pattern));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_LIST_DATABASES: return list_databases(a, nl_str_from(message->list_databases->pattern));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_LIST_TABLES: return list_tables(a, message->list_tables->db_name, nl_str_from(message->list_tables->pattern));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_LIST_FUNCTIONS: return list_functions(a, nl_str_from(message->list_functions->pattern));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_LIST_COLUMNS: return list_columns(a, full_name(a, message->list_columns->db_name, message->list_columns->table_name));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_GET_DATABASE: return get_database(a, message->get_database->db_name);
    case SPARK__CONNECT__CATALOG__CAT_TYPE_GET_TABLE: return get_table(a, full_name(a, message->get_table->db_name, message->get_table->table_name));
    case SPARK__CONNECT__CATALOG__CAT_TYPE_GET_FUNCTION: return get_function(a, message->get_function->function_name);
    case SPARK__CONNECT__CATALOG__CAT_TYPE_DATABASE_EXISTS:
        NL_TRY(database_exists(a, message->database_exists->db_name, &exists, &scope));
        return one_boolean(a, exists);
    case SPARK__CONNECT__CATALOG__CAT_TYPE_TABLE_EXISTS:
        NL_TRY(table_exists(a, full_name(a, message->table_exists->db_name, message->table_exists->table_name), &exists));
        return one_boolean(a, exists);
    case SPARK__CONNECT__CATALOG__CAT_TYPE_FUNCTION_EXISTS:
        NL_TRY(function_exists(a, message->function_exists->function_name, &exists));
        return one_boolean(a, exists);
    case SPARK__CONNECT__CATALOG__CAT_TYPE_IS_CACHED:
        NL_TRY(is_cached(a, message->is_cached->table_name, &exists));
        return one_boolean(a, exists);
    default: return change(a, message);
    }
}

nl_status nl_connect_catalog(nl_connect_host *host, const Spark__Connect__Catalog *message, nl_result **result)
{
    asking a = {.host = host, .session = host->session, .arena = nl_arena_new(NULL), .result = result};
    nl_status status = question(&a, message);
    nl_arena_free(a.arena);
    return status;
}
