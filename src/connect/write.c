/* connect/write.c - writes of DataFrames, as the statements that they are: INSERT, CREATE and REPLACE TABLE AS, MERGE. */
#include "connect/write.h"

#define BUCKETS_MAX 100000 /* spark.sql.sources.bucketing.maxBuckets */
#include "session/plain_tables.h"

typedef nl_status (*fill_fn)(nl_translator *t, const void *message, nl_ast_statement *statement);

typedef struct making {
    nl_connect_host *host;
    const void *message;
    fill_fn fill;
} making;

static nl_status make(void *context, nl_session *session, nl_arena *arena, nl_command_made *made)
{
    const making *m = context;
    nl_translator t = {.host = m->host, .arena = arena, .has_origins = true};
    nl_ast_statement *statement = NL_NEW(arena, nl_ast_statement);
    (void)session;
    nl_builder_init(&t.origins, NL_TRANSLATED_TEXT_MAX);
    nl_status status = m->fill(&t, m->message, statement);
    made->text = nl_translate_text(&t);
    NL_TRY(status);
    made->statement = statement;
    return nl_arena_check(arena);
}

/* Runs the statement to its end; its rows, if any, are dropped. */
static nl_status run(nl_connect_host *host, const void *message, fill_fn fill, nl_arena *arena, nl_connect_answer *answer)
{
    making m = {.host = host, .message = message, .fill = fill};
    const nl_command_tree tree = {.make = make, .context = &m};
    nl_result *result = NULL;
    NL_TRY(nl_command_run_tree(host->session, &tree, &result));
    nl_status status = NULL;
    for (bool is_done = false; !status && !is_done;) {
        nl_batch batch = {0};
        status = nl_result_next(result, &batch, &is_done);
        nl_batch_fini(&batch);
    }
    if (!status) answer->observed = nl_observations_copy(arena, nl_result_observations(result));
    nl_result_close(result);
    return status;
}

static nl_status parse_table(nl_translator *t, const char *text, nl_ast_name *name)
{
    return nl_sql_parse_name(t->arena, nl_str_from(text), &(nl_sql_options){.is_unplaced = true}, name);
}

static nl_ast_name provider_of(nl_arena *arena, const char *text)
{
    nl_ast_name name = {0};
    if (!text || !text[0]) return name;
    name.parts = NL_NEW(arena, nl_ast_ident);
    *name.parts = nl_ident_of(nl_copy_text(arena, text));
    name.count = 1;
    return name;
}

typedef struct pairs { /* a map of strings, as every message has its own entry type */
    nl_property *items;
    uint32_t count;
} pairs;

static nl_ast_properties *properties_of(nl_arena *arena, const pairs *from)
{
    if (from->count == 0) return NULL;
    nl_ast_properties *made = NL_NEW(arena, nl_ast_properties);
    made->items = NL_NEW_ARRAY(arena, nl_ast_property, from->count);
    made->count = from->count;
    for (uint32_t i = 0; i < from->count; i++)
        made->items[i] = (nl_ast_property){.key = from->items[i].key, .has_value = true, .value = from->items[i].value, .is_string = true};
    return made;
}

#define PAIRS(arena, message, field)                                                                                          \
    ({                                                                                                                        \
        pairs pairs_ = {NL_NEW_ARRAY(arena, nl_property, (message)->n_##field + 1), (uint32_t)(message)->n_##field};          \
        for (uint32_t i_ = 0; i_ < pairs_.count; i_++)                                                                        \
            pairs_.items[i_] = (nl_property){nl_copy_text(arena, (message)->field[i_]->key), nl_copy_text(arena, (message)->field[i_]->value)}; \
        pairs_;                                                                                                               \
    })

static nl_status table_exists(nl_connect_host *host, const nl_ast_name *name, nl_arena *arena, bool *exists)
{
    nl_session_name resolved;
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, name->count + 1);
    for (uint32_t i = 0; i < name->count; i++) parts[i] = name->parts[i].text;
    NL_TRY(nl_session_resolve(host->session, parts, name->count, arena, &resolved));
    *exists = nl_str_is(resolved.catalog_name, "spark_catalog") && nl_session_find_plain_table(host->session, &resolved.identifier, arena);
    if (*exists) return NULL;
    return nl_catalog_table_exists(resolved.catalog, &resolved.identifier, exists);
}

/* ---- statements ---- */

static nl_ast_insert *insert_into(nl_translator *t, nl_ast_statement *statement, const nl_ast_name *table, nl_ast_query *query)
{
    nl_ast_insert *insert = NL_NEW(t->arena, nl_ast_insert);
    insert->target.table = *table;
    insert->query = query;
    statement->kind = NL_AST_STATEMENT_INSERT;
    statement->insert = insert;
    return insert;
}

static nl_ast_create_table *create_as(nl_translator *t, nl_ast_statement *statement, const nl_ast_name *table, nl_ast_query *query)
{
    nl_ast_create_table *create = NL_NEW(t->arena, nl_ast_create_table);
    create->is_create = true;
    create->name = *table;
    create->query = query;
    statement->kind = NL_AST_STATEMENT_CREATE_TABLE;
    statement->create_table = create;
    return create;
}

static void identity_partitions(nl_arena *arena, char *const *names, size_t count, nl_ast_partition_fields *fields)
{
    *fields = (nl_ast_partition_fields){NL_NEW_ARRAY(arena, nl_ast_partition_field, count + 1), (uint32_t)count};
    for (size_t i = 0; i < count; i++) {
        nl_ast_ident *part = NL_NEW(arena, nl_ast_ident);
        *part = nl_ident_of(nl_copy_text(arena, names[i]));
        fields->items[i].column = (nl_ast_name){.parts = part, .count = 1};
    }
}

/* ---- DataFrame.write ---- */

static bool is_iceberg(const char *source)
{
    return source && nl_str_is_nocase(nl_str_from(source), "iceberg");
}

/* A table by the mode: created, filled, replaced, left alone. */
static nl_str default_source(const nl_translator *t, const char *source)
{
    if (source && source[0]) return nl_copy_text(t->arena, source);
    const nl_str format = nl_session_get(t->host->session, NL_STR("spark.sql.sources.default"));
    return format.length ? nl_arena_str(t->arena, format) : NL_STR("parquet");
}

/* bucketBy and sortBy, as CLUSTERED BY has them. */
static nl_status bucket_of(nl_translator *t, const Spark__Connect__WriteOperation *message, nl_ast_bucket_spec **made)
{
    const Spark__Connect__WriteOperation__BucketBy *by = message->bucket_by;
    nl_ast_bucket_spec *bucket = NL_NEW(t->arena, nl_ast_bucket_spec);
    if (by->num_buckets < 1 || by->num_buckets > BUCKETS_MAX)
        return NL_RAISE(_LEGACY_ERROR_TEMP_1083, NL_P_INT("bucketingMaxBuckets", BUCKETS_MAX), NL_P_INT("numBuckets", by->num_buckets));
    bucket->count = by->num_buckets;
    bucket->columns = (nl_ast_idents){NL_NEW_ARRAY(t->arena, nl_ast_ident, by->n_bucket_column_names + 1), (uint32_t)by->n_bucket_column_names};
    for (size_t i = 0; i < by->n_bucket_column_names; i++) bucket->columns.items[i] = nl_ident_of(nl_copy_text(t->arena, by->bucket_column_names[i]));
    bucket->sorted_by = (nl_ast_sort_items){NL_NEW_ARRAY(t->arena, nl_ast_sort_item, message->n_sort_column_names + 1), (uint32_t)message->n_sort_column_names};
    for (size_t i = 0; i < message->n_sort_column_names; i++) {
        nl_ast_expr *column = NL_NEW(t->arena, nl_ast_expr);
        column->kind = NL_AST_EXPR_COLUMN;
        column->column = provider_of(t->arena, message->sort_column_names[i]);
        bucket->sorted_by.items[i].expr = column;
    }
    *made = bucket;
    return NULL;
}

static nl_status fill_table(nl_translator *t, const Spark__Connect__WriteOperation *message, const nl_ast_name *table, nl_ast_query *query, nl_ast_statement *statement)
{
    bool exists = false;
    const pairs options = PAIRS(t->arena, message, options);
    NL_TRY(table_exists(t->host, table, t->arena, &exists));
    const bool is_by_path = message->save_type_case == SPARK__CONNECT__WRITE_OPERATION__SAVE_TYPE_PATH;
    const bool is_append = message->mode == SPARK__CONNECT__WRITE_OPERATION__SAVE_MODE__SAVE_MODE_APPEND;
    const bool is_overwrite = message->mode == SPARK__CONNECT__WRITE_OPERATION__SAVE_MODE__SAVE_MODE_OVERWRITE;
    if ((is_append && (exists || is_by_path)) || (is_overwrite && is_by_path)) {
        nl_ast_insert *insert = insert_into(t, statement, table, query);
        insert->target.is_by_name = true;
        insert->target.is_overwrite = is_overwrite;
        insert->target.options = properties_of(t->arena, &options);
        return NULL;
    }
    nl_ast_create_table *create = create_as(t, statement, table, query);
    create->is_replace = is_overwrite;
    create->is_saved = true;
    create->is_if_not_exists = message->mode == SPARK__CONNECT__WRITE_OPERATION__SAVE_MODE__SAVE_MODE_IGNORE;
    create->provider = provider_of(t->arena, message->source);
    identity_partitions(t->arena, message->partitioning_columns, message->n_partitioning_columns, &create->clauses.partitioned_by);
    if (!message->bucket_by) return NULL;
    create->provider = provider_of(t->arena, nl_str_c(t->arena, default_source(t, message->source)));
    return bucket_of(t, message, &create->clauses.bucket);
}

static nl_status fill_insert(nl_translator *t, const Spark__Connect__WriteOperation *message, const nl_ast_name *table, nl_ast_query *query, nl_ast_statement *statement)
{
    const pairs options = PAIRS(t->arena, message, options);
    nl_ast_insert *insert = insert_into(t, statement, table, query);
    insert->target.is_overwrite = message->mode == SPARK__CONNECT__WRITE_OPERATION__SAVE_MODE__SAVE_MODE_OVERWRITE;
    insert->target.options = properties_of(t->arena, &options);
    return NULL;
}

static nl_status fill_files(nl_translator *t, const Spark__Connect__WriteOperation *message, nl_ast_query *query, nl_ast_statement *statement)
{
    nl_ast_name none = {0};
    pairs options = PAIRS(t->arena, message, options);
    nl_str path = message->save_type_case == SPARK__CONNECT__WRITE_OPERATION__SAVE_TYPE_PATH ? nl_copy_text(t->arena, message->path) : (nl_str){0};
    for (uint32_t i = 0; i < options.count && !path.length; i++)
        if (nl_str_is_nocase(options.items[i].key, "path")) path = options.items[i].value;
    const nl_str source = default_source(t, message->source);
    if (nl_str_is_nocase(source, "noop")) { /* the rows are made and dropped */
        statement->kind = NL_AST_STATEMENT_QUERY;
        statement->query = query;
        return NULL;
    }
    if (nl_str_is_nocase(source, "jdbc")) path = NL_STR("jdbc:"); /* its options say where */
    if (!path.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Expected exactly one path to be specified, but got: ");
    nl_ast_insert *insert = insert_into(t, statement, &none, query);
    nl_str *folders = NL_NEW_ARRAY(t->arena, nl_str, message->n_partitioning_columns + 1);
    for (size_t i = 0; i < message->n_partitioning_columns; i++) folders[i] = nl_copy_text(t->arena, message->partitioning_columns[i]);
    insert->target.folder_columns = folders;
    insert->target.folder_column_count = (uint32_t)message->n_partitioning_columns;
    insert->target.is_overwrite = insert->target.is_directory = true;
    insert->target.path = path;
    insert->target.provider = provider_of(t->arena, nl_str_c(t->arena, source));
    insert->target.directory_options = properties_of(t->arena, &options);
    switch (message->mode) {
    case SPARK__CONNECT__WRITE_OPERATION__SAVE_MODE__SAVE_MODE_OVERWRITE: insert->target.directory_mode = NL_AST_DIRECTORY_OVERWRITE; break;
    case SPARK__CONNECT__WRITE_OPERATION__SAVE_MODE__SAVE_MODE_APPEND: insert->target.directory_mode = NL_AST_DIRECTORY_APPEND; break;
    case SPARK__CONNECT__WRITE_OPERATION__SAVE_MODE__SAVE_MODE_IGNORE: insert->target.directory_mode = NL_AST_DIRECTORY_IGNORE; break;
    case SPARK__CONNECT__WRITE_OPERATION__SAVE_MODE__SAVE_MODE_UNSPECIFIED:
    case SPARK__CONNECT__WRITE_OPERATION__SAVE_MODE__SAVE_MODE_ERROR_IF_EXISTS:
    default: insert->target.directory_mode = NL_AST_DIRECTORY_ERROR; break;
    }
    return NULL;
}

static nl_status path_name(nl_translator *t, const char *path, nl_ast_name *name)
{
    nl_str parts[3];
    NL_TRY(nl_command_path_name(t->host->session, nl_copy_text(t->arena, path), t->arena, parts));
    *name = (nl_ast_name){.parts = NL_NEW_ARRAY(t->arena, nl_ast_ident, 3), .count = 3};
    for (int i = 0; i < 3; i++) name->parts[i] = nl_ident_of(parts[i]);
    return NULL;
}

static nl_status fill_write(nl_translator *t, const void *context, nl_ast_statement *statement)
{
    const Spark__Connect__WriteOperation *message = context;
    nl_ast_query *query = NULL;
    nl_ast_name table = {0};
    NL_TRY(nl_translate_query(t, message->input, &query));
    if (message->save_type_case == SPARK__CONNECT__WRITE_OPERATION__SAVE_TYPE_TABLE) {
        NL_TRY(parse_table(t, message->table->table_name, &table));
        const bool is_insert = message->table->save_method == SPARK__CONNECT__WRITE_OPERATION__SAVE_TABLE__TABLE_SAVE_METHOD__TABLE_SAVE_METHOD_INSERT_INTO;
        return is_insert ? fill_insert(t, message, &table, query, statement) : fill_table(t, message, &table, query, statement);
    }
    if (!is_iceberg(message->source)) return fill_files(t, message, query, statement);
    if (message->save_type_case != SPARK__CONNECT__WRITE_OPERATION__SAVE_TYPE_PATH)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot open table without a location: path is not set");
    if (nl_str_find_char(nl_str_from(message->path), '/', 0) != NL_NOT_FOUND)
        NL_TRY(path_name(t, message->path, &table));
    else
        NL_TRY(parse_table(t, message->path, &table));
    return fill_table(t, message, &table, query, statement);
}

nl_status nl_connect_write(nl_connect_host *host, const Spark__Connect__WriteOperation *message, nl_arena *arena, nl_connect_answer *answer)
{
    const bool is_table = message->save_type_case == SPARK__CONNECT__WRITE_OPERATION__SAVE_TYPE_TABLE;
    const bool is_insert = is_table && message->table->save_method == SPARK__CONNECT__WRITE_OPERATION__SAVE_TABLE__TABLE_SAVE_METHOD__TABLE_SAVE_METHOD_INSERT_INTO;
    if (message->n_sort_column_names && !message->bucket_by) return NL_RAISE(SORT_BY_WITHOUT_BUCKETING);
    if (message->bucket_by && (!is_table || is_insert)) {
        const char *operation = is_table ? "insertInto" : "save";
        return message->n_sort_column_names ? NL_RAISE(_LEGACY_ERROR_TEMP_1313, NL_P("operation", operation)) : NL_RAISE(_LEGACY_ERROR_TEMP_1312, NL_P("operation", operation));
    }
    if (is_insert && message->n_partitioning_columns) return NL_RAISE(_LEGACY_ERROR_TEMP_1309);
    if (message->bucket_by && is_iceberg(message->source))
        return nl_connect_unsupported("bucketBy of an Iceberg table, which has the transform bucket(n, column): writeTo().partitionedBy()");
    if (message->n_clustering_columns && is_table) return nl_connect_unsupported("clusterBy");
    return run(host, message, fill_write, arena, answer);
}

/* ---- DataFrame.writeTo ---- */

static nl_status transform_argument(nl_translator *t, const Spark__Connect__Expression *message, nl_ast_transform_argument *argument)
{
    nl_ast_expr *expr = NULL;
    NL_TRY(nl_translate_expr(t, message, &expr));
    if (expr->kind == NL_AST_EXPR_COLUMN)
        argument->column = expr->column;
    else
        argument->constant = expr;
    return NULL;
}

/* col, years(col), bucket(4, col) … */
static nl_status partition_field(nl_translator *t, const Spark__Connect__Expression *message, nl_ast_partition_field *field)
{
    nl_ast_expr *expr = NULL;
    if (!message || message->expr_type_case != SPARK__CONNECT__EXPRESSION__EXPR_TYPE_UNRESOLVED_FUNCTION) {
        NL_TRY(nl_translate_expr(t, message, &expr));
        if (expr->kind != NL_AST_EXPR_COLUMN) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid partition transformation");
        field->column = expr->column;
        return NULL;
    }
    const Spark__Connect__Expression__UnresolvedFunction *call = message->unresolved_function;
    field->transform = nl_ident_of(nl_copy_text(t->arena, call->function_name));
    field->arguments = NL_NEW_ARRAY(t->arena, nl_ast_transform_argument, call->n_arguments + 1);
    field->argument_count = (uint32_t)call->n_arguments;
    for (size_t i = 0; i < call->n_arguments; i++) NL_TRY(transform_argument(t, call->arguments[i], &field->arguments[i]));
    return NULL;
}

static nl_status fill_create(nl_translator *t, const Spark__Connect__WriteOperationV2 *message, const nl_ast_name *table, nl_ast_query *query, nl_ast_statement *statement)
{
    const pairs properties = PAIRS(t->arena, message, table_properties);
    nl_ast_create_table *create = create_as(t, statement, table, query);
    create->is_create = message->mode != SPARK__CONNECT__WRITE_OPERATION_V2__MODE__MODE_REPLACE;
    create->is_replace = message->mode != SPARK__CONNECT__WRITE_OPERATION_V2__MODE__MODE_CREATE;
    create->provider = provider_of(t->arena, message->provider);
    create->clauses.properties = properties_of(t->arena, &properties);
    create->clauses.partitioned_by =
        (nl_ast_partition_fields){NL_NEW_ARRAY(t->arena, nl_ast_partition_field, message->n_partitioning_columns + 1), (uint32_t)message->n_partitioning_columns};
    for (size_t i = 0; i < message->n_partitioning_columns; i++)
        NL_TRY(partition_field(t, message->partitioning_columns[i], &create->clauses.partitioned_by.items[i]));
    return NULL;
}

static nl_status fill_write_v2(nl_translator *t, const void *context, nl_ast_statement *statement)
{
    const Spark__Connect__WriteOperationV2 *message = context;
    const pairs options = PAIRS(t->arena, message, options);
    nl_ast_query *query = NULL;
    nl_ast_name table = {0};
    NL_TRY(nl_translate_query(t, message->input, &query));
    NL_TRY(parse_table(t, message->table_name, &table));
    switch (message->mode) {
    case SPARK__CONNECT__WRITE_OPERATION_V2__MODE__MODE_CREATE:
    case SPARK__CONNECT__WRITE_OPERATION_V2__MODE__MODE_REPLACE:
    case SPARK__CONNECT__WRITE_OPERATION_V2__MODE__MODE_CREATE_OR_REPLACE: return fill_create(t, message, &table, query, statement);
    case SPARK__CONNECT__WRITE_OPERATION_V2__MODE__MODE_APPEND:
    case SPARK__CONNECT__WRITE_OPERATION_V2__MODE__MODE_OVERWRITE:
    case SPARK__CONNECT__WRITE_OPERATION_V2__MODE__MODE_OVERWRITE_PARTITIONS: break;
    case SPARK__CONNECT__WRITE_OPERATION_V2__MODE__MODE_UNSPECIFIED:
    default: return nl_connect_invalid("WriteOperationV2:ModeValue is not supported");
    }
    nl_ast_insert *insert = insert_into(t, statement, &table, query);
    insert->target.is_by_name = true;
    insert->target.options = properties_of(t->arena, &options);
    if (message->mode == SPARK__CONNECT__WRITE_OPERATION_V2__MODE__MODE_OVERWRITE) return nl_translate_expr(t, message->overwrite_condition, &insert->target.replace_where);
    insert->target.is_overwrite = insert->target.is_dynamic = message->mode == SPARK__CONNECT__WRITE_OPERATION_V2__MODE__MODE_OVERWRITE_PARTITIONS;
    return NULL;
}

nl_status nl_connect_write_v2(nl_connect_host *host, const Spark__Connect__WriteOperationV2 *message, nl_arena *arena, nl_connect_answer *answer)
{
    if (message->n_clustering_columns) return nl_connect_unsupported("clusterBy");
    return run(host, message, fill_write_v2, arena, answer);
}

/* ---- DataFrame.mergeInto ---- */

static nl_status merge_key(nl_translator *t, const Spark__Connect__Expression *message, nl_ast_name *name)
{
    nl_ast_expr *expr = NULL;
    NL_TRY(nl_translate_expr(t, message, &expr));
    if (expr->kind != NL_AST_EXPR_COLUMN) return nl_connect_invalid("the target of an assignment is no column");
    *name = expr->column;
    return NULL;
}

static nl_status merge_assignments(nl_translator *t, const Spark__Connect__MergeAction *action, nl_ast_merge_clause *clause)
{
    const uint32_t count = (uint32_t)action->n_assignments;
    const bool is_insert = clause->action == NL_AST_MERGE_INSERT;
    nl_ast_name *names = NL_NEW_ARRAY(t->arena, nl_ast_name, count + 1);
    nl_ast_expr **values = NL_NEW_ARRAY(t->arena, nl_ast_expr *, count + 1);
    nl_ast_assignment *assignments = NL_NEW_ARRAY(t->arena, nl_ast_assignment, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        NL_TRY(merge_key(t, action->assignments[i]->key, &names[i]));
        NL_TRY(nl_translate_expr(t, action->assignments[i]->value, &values[i]));
        assignments[i] = (nl_ast_assignment){.target = names[i], .value = values[i]};
    }
    if (is_insert) {
        clause->columns = (nl_ast_names){names, count};
        clause->values = (nl_ast_exprs){values, count};
    } else {
        clause->assignments = (nl_ast_assignments){assignments, count};
    }
    return NULL;
}

static nl_status merge_clause(nl_translator *t, const Spark__Connect__Expression *message, nl_ast_merge_when when, nl_ast_merge_clause *clause)
{
    if (!message || message->expr_type_case != SPARK__CONNECT__EXPRESSION__EXPR_TYPE_MERGE_ACTION) return nl_connect_invalid("an action of a merge is missing");
    const Spark__Connect__MergeAction *action = message->merge_action;
    *clause = (nl_ast_merge_clause){.when = when};
    if (action->condition) NL_TRY(nl_translate_expr(t, action->condition, &clause->condition));
    switch (action->action_type) {
    case SPARK__CONNECT__MERGE_ACTION__ACTION_TYPE__ACTION_TYPE_DELETE: clause->action = NL_AST_MERGE_DELETE; return NULL;
    case SPARK__CONNECT__MERGE_ACTION__ACTION_TYPE__ACTION_TYPE_INSERT_STAR: clause->action = NL_AST_MERGE_INSERT_STAR; return NULL;
    case SPARK__CONNECT__MERGE_ACTION__ACTION_TYPE__ACTION_TYPE_UPDATE_STAR: clause->action = NL_AST_MERGE_UPDATE_STAR; return NULL;
    case SPARK__CONNECT__MERGE_ACTION__ACTION_TYPE__ACTION_TYPE_INSERT: clause->action = NL_AST_MERGE_INSERT; break;
    case SPARK__CONNECT__MERGE_ACTION__ACTION_TYPE__ACTION_TYPE_UPDATE: clause->action = NL_AST_MERGE_UPDATE; break;
    case SPARK__CONNECT__MERGE_ACTION__ACTION_TYPE__ACTION_TYPE_INVALID:
    default: return nl_connect_invalid("Unsupported merge action type");
    }
    return merge_assignments(t, action, clause);
}

static nl_status fill_merge(nl_translator *t, const void *context, nl_ast_statement *statement)
{
    const Spark__Connect__MergeIntoTableCommand *message = context;
    const size_t count = message->n_match_actions + message->n_not_matched_actions + message->n_not_matched_by_source_actions;
    nl_ast_merge *merge = NL_NEW(t->arena, nl_ast_merge);
    merge->clauses = NL_NEW_ARRAY(t->arena, nl_ast_merge_clause, count + 1);
    merge->is_schema_evolution = message->has_with_schema_evolution && message->with_schema_evolution;
    NL_TRY(parse_table(t, message->target_table_name, &merge->table));
    NL_TRY(nl_translate_query(t, message->source_table_plan, &merge->source_query));
    NL_TRY(nl_translate_expr(t, message->merge_condition, &merge->condition));
    for (size_t i = 0; i < message->n_match_actions; i++)
        NL_TRY(merge_clause(t, message->match_actions[i], NL_AST_WHEN_MATCHED, &merge->clauses[merge->clause_count++]));
    for (size_t i = 0; i < message->n_not_matched_actions; i++)
        NL_TRY(merge_clause(t, message->not_matched_actions[i], NL_AST_WHEN_NOT_MATCHED, &merge->clauses[merge->clause_count++]));
    for (size_t i = 0; i < message->n_not_matched_by_source_actions; i++)
        NL_TRY(merge_clause(t, message->not_matched_by_source_actions[i], NL_AST_WHEN_NOT_MATCHED_BY_SOURCE, &merge->clauses[merge->clause_count++]));
    statement->kind = NL_AST_STATEMENT_MERGE;
    statement->merge = merge;
    return NULL;
}

nl_status nl_connect_merge(nl_connect_host *host, const Spark__Connect__MergeIntoTableCommand *message, nl_arena *arena, nl_connect_answer *answer)
{
    return run(host, message, fill_merge, arena, answer);
}
