/* connect/translate_source.c - where rows come from: tables, files, rows that the client sent, SQL texts. */
#include "connect/translate.h"

#include <stdlib.h>

#include "base/hash.h"
#include "column/arrow_ipc.h"
#include "command/substitution.h"
#include "exec/sources.h"
#include "stream/source.h"

nl_ast_term *nl_relation_term(nl_arena *arena, nl_ast_relation *relation)
{
    nl_ast_term *term = NL_NEW(arena, nl_ast_term);
    term->kind = NL_AST_TERM_RELATION;
    term->values = relation;
    return term;
}

/* ---- rows of the client ---- */

static void release_table(void *table)
{
    nl_table_release(table);
}

typedef struct batch_list {
    nl_batch *items;
    uint32_t count, capacity;
    const nl_type *schema; /* of the streams read; NULL: none */
    uint64_t identity[2];  /* of their bytes                  */
} batch_list;

static void free_batches(batch_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) nl_batch_fini(&list->items[i]);
    free(list->items);
}

static nl_status add_batch(batch_list *list, nl_batch *batch)
{
    if (list->count == list->capacity) {
        const uint32_t capacity = list->capacity ? list->capacity * 2 : 8;
        nl_batch *grown = realloc(list->items, capacity * sizeof(*grown));
        if (!grown) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)(capacity * sizeof(*grown))), NL_P("receivedBytes", "0"));
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = *batch;
    return NULL;
}

static nl_status read_batches(nl_ipc_reader *reader, batch_list *list)
{
    for (;;) {
        nl_batch batch = {0};
        bool is_done = false;
        NL_TRY(nl_ipc_reader_next(reader, &batch, &is_done));
        if (is_done) return NULL;
        nl_status status = add_batch(list, &batch);
        if (!status) continue;
        nl_batch_fini(&batch);
        return status;
    }
}

/* The stream's bytes as a buffer of their own: batches point into it, and the message goes. */
static nl_status copy_bytes(nl_str data, nl_memory *memory, nl_buffer **buffer)
{
    NL_TRY(nl_buffer_new(memory, data.length, false, buffer));
    if (data.length) memcpy((*buffer)->data, data.data, data.length);
    return NULL;
}

/* Adds the stream's batches to the list. */
static nl_status read_stream(nl_translator *t, nl_str data, batch_list *list)
{
    nl_memory *memory = nl_session_memory(t->host->session);
    nl_buffer *buffer = NULL;
    nl_ipc_reader *reader = NULL;
    NL_TRY(copy_bytes(data, memory, &buffer));
    nl_status status = nl_ipc_reader_new((nl_str){(const char *)buffer->data, data.length}, buffer, memory, &reader);
    nl_buffer_release(buffer);
    if (!status && list->schema && !nl_type_equal_with_nullability(list->schema, nl_ipc_reader_schema(reader)))
        status = nl_connect_invalid("the parts of a local relation have different columns");
    if (!status) status = read_batches(reader, list);
    if (!status && !list->schema) list->schema = nl_type_copy(t->arena, nl_ipc_reader_schema(reader));
    for (uint64_t i = 0; i < 2; i++) list->identity[i] = nl_hash_bytes(data.data, data.length, list->identity[i] + i + 1);
    nl_ipc_reader_free(reader);
    return nl_note_if(status, NL_HERE, "reading a local relation");
}

/* toDF(names).to(schema): the client's schema rules over what Arrow says. */
static nl_ast_term *shaped(nl_translator *t, nl_ast_term *left, const nl_type *schema)
{
    nl_str *names = NL_NEW_ARRAY(t->arena, nl_str, schema->child_count + 1);
    for (uint32_t i = 0; i < schema->child_count; i++) names[i] = schema->children[i].name;
    for (int step = 0; step < 2; step++) {
        nl_ast_dataframe *dataframe = NL_NEW(t->arena, nl_ast_dataframe);
        nl_ast_pipe *pipe = NL_NEW(t->arena, nl_ast_pipe);
        nl_ast_term *term = NL_NEW(t->arena, nl_ast_term);
        *dataframe = (nl_ast_dataframe){.kind = step ? NL_AST_DATAFRAME_TO_SCHEMA : NL_AST_DATAFRAME_TO_DF, .names = names, .name_count = schema->child_count, .schema = schema};
        *pipe = (nl_ast_pipe){.kind = NL_AST_PIPE_DATAFRAME, .left = left, .dataframe = dataframe};
        *term = (nl_ast_term){.kind = NL_AST_TERM_PIPE, .pipe = pipe};
        left = term;
    }
    return left;
}

static nl_status local_schema(nl_translator *t, const char *text, const nl_type **schema)
{
    const nl_str copy = nl_copy_text(t->arena, text);
    const nl_type *type = NULL;
    if (copy.length == 0) return NULL;
    if (copy.data[0] == '{' || copy.data[0] == '"')
        NL_TRY(nl_sql_parse_json_type(t->arena, copy, &type));
    else
        NL_TRY(nl_connect_parse_ddl(t->arena, copy, &type));
    if (type->id != NL_TYPE_STRUCT) {
        const nl_field field = {.name = NL_STR("value"), .type = type, .is_nullable = true};
        type = nl_type_struct(t->arena, &field, 1);
    }
    *schema = type;
    return NULL;
}

nl_ast_term *nl_translate_table(nl_translator *t, const nl_table *table)
{
    nl_ast_relation *relation = NL_NEW(t->arena, nl_ast_relation);
    nl_arena_on_free(t->arena, release_table, NL_UNCONST(table));
    *relation = (nl_ast_relation){.kind = NL_AST_RELATION_SOURCE, .source = table};
    return nl_relation_term(t->arena, relation);
}

/* A relation of the batches, which are taken; `given` is the client's schema or NULL. */
static nl_status local_relation(nl_translator *t, batch_list *list, const nl_type *given, nl_ast_term **term)
{
    const nl_table *source = NULL;
    if (!list->schema && !given) return nl_connect_invalid("Schema for LocalRelation is required when the input data is not provided.");
    NL_TRY(nl_batches_source_new(list->schema ? list->schema : given, list->items, list->count, nl_session_memory(t->host->session), &source));
    if (list->schema) nl_batches_source_identify(source, list->identity);
    *term = nl_translate_table(t, source);
    if (list->schema && given) *term = shaped(t, *term, given);
    return NULL;
}

nl_status nl_translate_local(nl_translator *t, const Spark__Connect__LocalRelation *message, nl_ast_term **term)
{
    const nl_type *given = NULL;
    batch_list list = {0};
    NL_TRY(local_schema(t, message->schema, &given));
    if (message->has_data) {
        nl_status status = read_stream(t, (nl_str){(const char *)message->data.data, message->data.len}, &list);
        if (status) free_batches(&list);
        if (status) return status;
    }
    return local_relation(t, &list, given, term);
}

static nl_status find_cached(nl_translator *t, const char *hash, nl_str *bytes)
{
    bool is_found = false;
    if (t->host->find_artifact) NL_TRY(t->host->find_artifact(t->host, nl_str_from(hash), bytes, &is_found));
    if (is_found) return NULL;
    return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "Not found any cached local relation with the hash: %s in the session with sessionUUID.", hash ? hash : "");
}

nl_status nl_translate_cached_local(nl_translator *t, const char *hash, nl_ast_term **term)
{
    nl_str bytes = {0};
    NL_TRY(find_cached(t, hash, &bytes));
    Spark__Connect__LocalRelation *local = spark__connect__local_relation__unpack(NULL, bytes.length, (const uint8_t *)bytes.data);
    if (!local) return nl_connect_invalid("a cached local relation is damaged");
    nl_status status = nl_translate_local(t, local, term);
    spark__connect__local_relation__free_unpacked(local, NULL);
    return status;
}

nl_status nl_translate_chunked_local(nl_translator *t, const Spark__Connect__ChunkedCachedLocalRelation *message, nl_ast_term **term)
{
    const nl_type *given = NULL;
    nl_str bytes = {0};
    batch_list list = {0};
    nl_status status = NULL;
    if (message->schema_hash) {
        NL_TRY(find_cached(t, message->schema_hash, &bytes));
        NL_TRY(local_schema(t, nl_str_c(t->arena, bytes), &given));
    }
    for (size_t i = 0; i < message->n_data_hashes && !status; i++) {
        status = find_cached(t, message->data_hashes[i], &bytes);
        if (!status) status = read_stream(t, bytes, &list);
    }
    if (status) free_batches(&list);
    return status ? status : local_relation(t, &list, given, term);
}

/* ---- tables and files ---- */

static nl_status named_table(nl_translator *t, const Spark__Connect__Read__NamedTable *message, nl_ast_term **term)
{
    nl_ast_relation *relation = NL_NEW(t->arena, nl_ast_relation);
    relation->kind = NL_AST_RELATION_TABLE;
    NL_TRY(nl_sql_parse_name(t->arena, nl_str_from(message->unparsed_identifier), &(nl_sql_options){.is_unplaced = true}, &relation->table.name));
    if (message->n_options) {
        nl_ast_properties *options = NL_NEW(t->arena, nl_ast_properties);
        options->items = NL_NEW_ARRAY(t->arena, nl_ast_property, message->n_options);
        for (size_t i = 0; i < message->n_options; i++)
            options->items[i] = (nl_ast_property){
                .key = nl_copy_text(t->arena, message->options[i]->key), .has_value = true, .value = nl_copy_text(t->arena, message->options[i]->value), .is_string = true};
        options->count = (uint32_t)message->n_options;
        relation->table.options = options;
    }
    *term = nl_relation_term(t->arena, relation);
    return NULL;
}

static nl_status data_source(nl_translator *t, const Spark__Connect__Read__DataSource *message, nl_ast_term **term)
{
    nl_ast_files *files = NL_NEW(t->arena, nl_ast_files);
    nl_property *options = NL_NEW_ARRAY(t->arena, nl_property, message->n_options + message->n_predicates + 1);
    nl_str *paths = NL_NEW_ARRAY(t->arena, nl_str, message->n_paths + 1);
    files->format = nl_copy_text(t->arena, message->format);
    if (files->format.length == 0) files->format = nl_arena_str(t->arena, nl_session_get(t->host->session, NL_STR("spark.sql.sources.default")));
    if (files->format.length == 0) files->format = NL_STR("parquet");
    for (size_t i = 0; i < message->n_paths; i++) paths[files->path_count++] = nl_copy_text(t->arena, message->paths[i]);
    for (size_t i = 0; i < message->n_options; i++) {
        const nl_property option = {nl_copy_text(t->arena, message->options[i]->key), nl_copy_text(t->arena, message->options[i]->value)};
        if (nl_str_is_nocase(option.key, "path")) {
            if (files->path_count == 0) paths[files->path_count++] = option.value;
        } else {
            options[files->option_count++] = option;
        }
    }
    for (size_t i = 0; i < message->n_predicates; i++)
        options[files->option_count++] = (nl_property){NL_STR(NL_JDBC_PREDICATE), nl_copy_text(t->arena, message->predicates[i])};
    files->paths = paths;
    files->options = options;
    if (message->schema && message->schema[0]) NL_TRY(local_schema(t, message->schema, &files->schema));
    nl_ast_relation *relation = NL_NEW(t->arena, nl_ast_relation);
    *relation = (nl_ast_relation){.kind = NL_AST_RELATION_FILES, .files = files};
    *term = nl_relation_term(t->arena, relation);
    return NULL;
}

/* ---- streams ---- */

static nl_status stream_term(nl_translator *t, const nl_stream_definition *definition, nl_ast_term **term)
{
    nl_translated_streams *kept = t->streams;
    const nl_table *table = NULL;
    if (kept && kept->next < kept->count) {
        *term = nl_translate_table(t, nl_table_retain(kept->items[kept->next++]));
        return NULL;
    }
    const nl_table **grown = kept ? realloc(kept->items, (kept->count + 1) * sizeof *grown) : NULL;
    if (grown) kept->items = grown;
    if (kept && !grown) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P("requestedBytes", "a stream"), NL_P("receivedBytes", "0"));
    NL_TRY(nl_stream_table_new(t->host->session, definition, &table));
    if (kept) {
        kept->items[kept->count++] = nl_table_retain(table);
        kept->next = kept->count;
    }
    *term = nl_translate_table(t, table);
    return NULL;
}

/* readStream.table: a temporary view over a stream, or a table of a catalog. */
static nl_status named_stream(nl_translator *t, const Spark__Connect__Read__NamedTable *message, nl_ast_term **term)
{
    nl_ast_name name;
    nl_stream_definition definition = {.format = NL_STR("iceberg"), .name = nl_copy_text(t->arena, message->unparsed_identifier)};
    nl_property *options = NL_NEW_ARRAY(t->arena, nl_property, message->n_options + 1);
    NL_TRY(nl_sql_parse_name(t->arena, definition.name, &(nl_sql_options){.is_unplaced = true}, &name));
    if (name.count == 1 && nl_session_find_view(t->host->session, name.parts[0].text, false, t->arena)) return named_table(t, message, term);
    for (size_t i = 0; i < message->n_options; i++)
        options[definition.option_count++] = (nl_property){nl_copy_text(t->arena, message->options[i]->key), nl_copy_text(t->arena, message->options[i]->value)};
    definition.options = options;
    return stream_term(t, &definition, term);
}

static nl_status source_stream(nl_translator *t, const Spark__Connect__Read__DataSource *message, nl_ast_term **term)
{
    nl_ast_term *read = NULL;
    NL_TRY(data_source(t, message, &read));
    const nl_ast_files *files = read->values->files;
    const nl_stream_definition definition = {.format = files->format,
                                             .paths = files->paths,
                                             .path_count = files->path_count,
                                             .options = files->options,
                                             .option_count = files->option_count,
                                             .schema = files->schema};
    return stream_term(t, &definition, term);
}

nl_status nl_translate_read(nl_translator *t, const Spark__Connect__Read *message, nl_ast_term **term)
{
    const bool is_stream = message->has_is_streaming && message->is_streaming;
    if (is_stream && message->read_type_case == SPARK__CONNECT__READ__READ_TYPE_NAMED_TABLE) return named_stream(t, message->named_table, term);
    if (is_stream && message->read_type_case == SPARK__CONNECT__READ__READ_TYPE_DATA_SOURCE) return source_stream(t, message->data_source, term);
    if (message->read_type_case == SPARK__CONNECT__READ__READ_TYPE_NAMED_TABLE) return named_table(t, message->named_table, term);
    if (message->read_type_case == SPARK__CONNECT__READ__READ_TYPE_DATA_SOURCE) return data_source(t, message->data_source, term);
    return nl_connect_invalid("Does not support READ_TYPE_NOT_SET");
}

/* ---- SQL ---- */

nl_status nl_translate_statement(nl_translator *t, nl_str text, nl_ast_statement **statement)
{
    nl_session *session = t->host->session;
    nl_str substituted = {0};
    const nl_sql_options options = nl_session_sql_options(session);
    NL_TRY(nl_substitute_variables(session, t->arena, text, &substituted));
    t->text = substituted;
    NL_TRY(nl_sql_parse(t->arena, substituted, &options, statement));
    (*statement)->text = substituted;
    return NULL;
}

static nl_status parameters(nl_translator *t, const Spark__Connect__SQL *message, nl_ast_text_query *query)
{
    const size_t count = message->n_args + message->n_pos_args + message->n_named_arguments + message->n_pos_arguments;
    nl_ast_expr **exprs = NL_NEW_ARRAY(t->arena, nl_ast_expr *, count + 1);
    nl_str *names = NL_NEW_ARRAY(t->arena, nl_str, count + 1);
    nl_value value = {0};
    uint32_t at = 0;
    for (size_t i = 0; i < message->n_named_arguments; i++) {
        names[at] = nl_copy_text(t->arena, message->named_arguments[i]->key);
        NL_TRY(nl_translate_expr(t, message->named_arguments[i]->value, &exprs[at++]));
    }
    for (size_t i = 0; i < message->n_args; i++) {
        names[at] = nl_copy_text(t->arena, message->args[i]->key);
        NL_TRY(nl_translate_value(t, message->args[i]->value, &value));
        exprs[at++] = nl_value_expr(t->arena, &value);
    }
    for (size_t i = 0; i < message->n_pos_arguments; i++) NL_TRY(nl_translate_expr(t, message->pos_arguments[i], &exprs[at++]));
    for (size_t i = 0; i < message->n_pos_args; i++) {
        NL_TRY(nl_translate_value(t, message->pos_args[i], &value));
        exprs[at++] = nl_value_expr(t->arena, &value);
    }
    query->parameters = exprs;
    query->parameter_names = names;
    query->parameter_count = at;
    return NULL;
}

/* The DataFrames that the text may name: references of the with_relations around it that have an alias. */
static nl_status views(nl_translator *t, const nl_ast_ctes **made)
{
    const nl_references *list = t->references;
    if (!list) return NULL;
    nl_ast_ctes *ctes = NL_NEW(t->arena, nl_ast_ctes);
    ctes->items = NL_NEW_ARRAY(t->arena, nl_ast_cte, list->count + 1);
    for (size_t i = 0; i < list->count; i++) {
        const Spark__Connect__Relation *relation = list->relations[i];
        if (relation->rel_type_case != SPARK__CONNECT__RELATION__REL_TYPE_SUBQUERY_ALIAS) continue;
        nl_ast_cte *cte = &ctes->items[ctes->count++];
        cte->name = nl_ident_of(nl_copy_text(t->arena, relation->subquery_alias->alias));
        NL_TRY(nl_translate_query(t, relation->subquery_alias->input, &cte->query));
    }
    if (ctes->count) *made = ctes;
    return NULL;
}

nl_status nl_translate_sql(nl_translator *t, const Spark__Connect__SQL *message, nl_ast_term **term)
{
    nl_ast_statement *statement = NULL;
    nl_ast_text_query *query = NL_NEW(t->arena, nl_ast_text_query);
    nl_sql_options options = nl_session_sql_options(t->host->session);
    NL_TRY(nl_substitute_variables(t->host->session, t->arena, nl_str_from(message->query), &query->text));
    nl_translate_piece(t, query->text, &options);
    if (options.is_unplaced) options.is_unplaced = false; /* its own text */
    else nl_list_add(t->arena, &t->texts, query);
    NL_TRY(nl_sql_parse(t->arena, query->text, &options, &statement));
    if (statement->kind != NL_AST_STATEMENT_QUERY) return nl_connect_unsupported("a command inside a DataFrame");
    query->query = statement->query;
    NL_TRY(parameters(t, message, query));
    NL_TRY(views(t, &query->views));
    *term = NL_NEW(t->arena, nl_ast_term);
    (*term)->kind = NL_AST_TERM_TEXT;
    (*term)->text_query = query;
    return NULL;
}

/* Where a statement has its WITH, or NULL: it takes no query. */
static nl_ast_ctes *ctes_of(nl_ast_statement *statement)
{
    switch ((int)statement->kind) {
    case NL_AST_STATEMENT_INSERT: return &statement->insert->ctes;
    case NL_AST_STATEMENT_DELETE: return &statement->delete->ctes;
    case NL_AST_STATEMENT_UPDATE: return &statement->update->ctes;
    case NL_AST_STATEMENT_MERGE: return &statement->merge->ctes;
    case NL_AST_STATEMENT_CREATE_TABLE: return statement->create_table->query ? &statement->create_table->query->ctes : NULL;
    default: return NULL;
    }
}

nl_status nl_translate_command_views(nl_translator *t, const Spark__Connect__WithRelations *message, nl_ast_statement *statement)
{
    const nl_references references = {.outer = t->references, .relations = message->references, .count = message->n_references};
    const nl_ast_ctes *named = NULL;
    nl_ast_ctes *ctes = ctes_of(statement);
    if (!ctes) return NULL; /* the names mean nothing in it */
    t->references = &references;
    nl_status status = views(t, &named);
    t->references = references.outer;
    if (status || !named) return status;
    nl_ast_cte *items = NL_NEW_ARRAY(t->arena, nl_ast_cte, named->count + ctes->count);
    memcpy(items, named->items, named->count * sizeof *items);
    if (ctes->count) memcpy(items + named->count, ctes->items, ctes->count * sizeof *items);
    ctes->items = items;
    ctes->count += named->count;
    return nl_arena_check(t->arena);
}

nl_status nl_translate_parameters(nl_translator *t, const Spark__Connect__SQL *message, nl_command_made *made)
{
    nl_ast_text_query query = {0};
    NL_TRY(parameters(t, message, &query));
    made->parameters = query.parameters;
    made->parameter_names = query.parameter_names;
    made->parameter_count = query.parameter_count;
    return NULL;
}
