/* connect/plan.c - relations of a client, run, analyzed and explained. */
#include "connect/plan.h"

#include "connect/catalog.h"
#include "connect/show.h"
#include "connect/translate.h"
#include "stream/source.h"

typedef enum limit_kind { ALL_ROWS, SHOWN_ROWS } limit_kind;

typedef struct making {
    nl_connect_host *host;
    const Spark__Connect__Relation *relation;
    limit_kind limit;
    int32_t row_count;          /* SHOWN_ROWS: and one more */
    nl_ast_explain_mode explain; /* with is_explained */
    bool is_explained;
} making;

static nl_ast_statement *statement_of(nl_arena *arena, nl_ast_query *query)
{
    nl_ast_statement *statement = NL_NEW(arena, nl_ast_statement);
    statement->kind = NL_AST_STATEMENT_QUERY;
    statement->query = query;
    return statement;
}

static void limit_query(nl_arena *arena, nl_ast_query *query, int32_t row_count)
{
    nl_ast_pipe *pipe = NL_NEW(arena, nl_ast_pipe);
    nl_ast_term *term = NL_NEW(arena, nl_ast_term);
    const nl_value value = nl_value_int(nl_type_int(), row_count < 0 ? 1 : row_count == INT32_MAX ? INT32_MAX : row_count + 1);
    *pipe = (nl_ast_pipe){.kind = NL_AST_PIPE_ORGANIZE, .left = query->body};
    pipe->organization.limit = nl_value_expr(arena, &value);
    *term = (nl_ast_term){.kind = NL_AST_TERM_PIPE, .pipe = pipe};
    query->body = term;
}

static nl_ast_statement *explained(nl_arena *arena, nl_ast_statement *statement, nl_ast_explain_mode mode)
{
    nl_ast_statement *made = NL_NEW(arena, nl_ast_statement);
    made->kind = NL_AST_STATEMENT_EXPLAIN;
    made->explain = NL_NEW(arena, nl_ast_explain);
    made->explain->mode = mode;
    made->explain->statement = statement;
    return made;
}

/* The SQL relation at the top, also inside of a with_relations; or NULL. */
static const Spark__Connect__SQL *top_sql(const Spark__Connect__Relation *relation)
{
    if (relation->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_WITH_RELATIONS && relation->with_relations->root) relation = relation->with_relations->root;
    return relation->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_SQL ? relation->sql : NULL;
}

static nl_status make_statement(nl_translator *t, const making *m, nl_command_made *made)
{
    nl_arena *arena = t->arena;
    nl_ast_query *query = NULL;
    const Spark__Connect__SQL *sql = top_sql(m->relation);
    if (sql) {
        nl_ast_statement *statement = NULL;
        NL_TRY(nl_translate_statement(t, nl_str_from(sql->query), &statement));
        made->statement = statement;
        made->text = t->text;
        if (statement->kind != NL_AST_STATEMENT_QUERY) {
            NL_TRY(nl_translate_parameters(t, sql, made));
            const bool has_views = m->relation->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_WITH_RELATIONS;
            return has_views ? nl_translate_command_views(t, m->relation->with_relations, statement) : NULL;
        }
    }
    NL_TRY(nl_translate_query(t, m->relation, &query));
    if (m->limit == SHOWN_ROWS) limit_query(arena, query, m->row_count);
    nl_ast_statement *statement = statement_of(arena, query);
    made->statement = m->is_explained ? explained(arena, statement, m->explain) : statement;
    return NULL;
}

static nl_status make(void *context, nl_session *session, nl_arena *arena, nl_command_made *made)
{
    const making *m = context;
    nl_translator t = {.host = m->host, .arena = arena, .has_origins = true};
    (void)session;
    nl_builder_init(&t.origins, NL_TRANSLATED_TEXT_MAX);
    nl_status status = make_statement(&t, m, made);
    const nl_str text = nl_translate_text(&t);
    if (!status && made->statement->kind != NL_AST_STATEMENT_QUERY && made->statement->kind != NL_AST_STATEMENT_EXPLAIN) return NULL; /* an SQL command: its own text */
    made->text = text;
    return status;
}

static nl_status run_made(making *m, nl_result **result)
{
    const nl_command_tree tree = {.make = make, .context = m, .is_deferred = true};
    return nl_command_run_tree(m->host->session, &tree, result);
}

/* ---- show() ---- */

static nl_status shown_input(nl_connect_host *host, const Spark__Connect__Relation *input, int32_t row_count, nl_result **rows)
{
    making m = {.host = host, .relation = input, .limit = SHOWN_ROWS, .row_count = row_count};
    if (!input) return nl_connect_invalid("Expected Relation to be set, but is empty.");
    if (input->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_CATALOG) return nl_connect_run(host, input, rows);
    return run_made(&m, rows);
}

static nl_status one_text(nl_session *session, const char *name, nl_str text, nl_result **result)
{
    const nl_field field = {.name = nl_str_from(name), .type = nl_type_string()};
    nl_rows *rows = NULL;
    nl_result *made = NULL;
    NL_TRY(nl_command_make_rows(session, &field, 1, &rows, &made));
    nl_status status = nl_rows_add_text(rows, &(nl_str){text.data ? text.data : "", text.length});
    if (status)
        nl_result_close(made);
    else
        *result = made;
    return status;
}

static nl_status run_show(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_result **result)
{
    const bool is_html = relation->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_HTML_STRING;
    const Spark__Connect__Relation *input = is_html ? relation->html_string->input : relation->show_string->input;
    const nl_show_options options = {.row_count = is_html ? relation->html_string->num_rows : relation->show_string->num_rows,
                                     .truncate = is_html ? relation->html_string->truncate : relation->show_string->truncate,
                                     .is_vertical = !is_html && relation->show_string->has_vertical && relation->show_string->vertical,
                                     .zone = nl_session_zone(host->session)};
    nl_result *rows = NULL;
    nl_builder out;
    NL_TRY(shown_input(host, input, options.row_count, &rows));
    nl_builder_init(&out, SIZE_MAX);
    nl_status status = is_html ? nl_show_html(rows, &options, &out) : nl_show_text(rows, &options, &out);
    if (!status) status = one_text(host->session, is_html ? "html_string" : "show_string", nl_builder_str(&out), result);
    if (!status) nl_result_add_observations(*result, nl_result_observations(rows));
    nl_result_close(rows);
    nl_builder_fini(&out);
    return status;
}

/* ---- the calls ---- */

nl_status nl_connect_run(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_result **result)
{
    making m = {.host = host, .relation = relation};
    if (!relation) return nl_connect_invalid("Expected Relation to be set, but is empty.");
    switch ((int)relation->rel_type_case) {
    case SPARK__CONNECT__RELATION__REL_TYPE_SHOW_STRING:
    case SPARK__CONNECT__RELATION__REL_TYPE_HTML_STRING: return run_show(host, relation, result);
    case SPARK__CONNECT__RELATION__REL_TYPE_CATALOG: return nl_connect_catalog(host, relation->catalog, result);
    default: return run_made(&m, result);
    }
}

nl_status nl_connect_analyze(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_result **result)
{
    making m = {.host = host, .relation = relation};
    const nl_command_tree tree = {.make = make, .context = &m};
    if (!relation) return nl_connect_invalid("Expected Relation to be set, but is empty.");
    switch ((int)relation->rel_type_case) {
    case SPARK__CONNECT__RELATION__REL_TYPE_SHOW_STRING: return one_text(host->session, "show_string", (nl_str){0}, result);
    case SPARK__CONNECT__RELATION__REL_TYPE_HTML_STRING: return one_text(host->session, "html_string", (nl_str){0}, result);
    case SPARK__CONNECT__RELATION__REL_TYPE_CATALOG: return nl_connect_catalog(host, relation->catalog, result);
    default: return nl_command_analyze_tree(host->session, &tree, result);
    }
}

typedef struct stream_question {
    making base;
    bool is_streaming;
} stream_question;

static nl_status make_question(void *context, nl_session *session, nl_arena *arena, nl_command_made *made)
{
    return make(&((stream_question *)context)->base, session, arena, made);
}

static nl_status look_for_stream(void *context, struct nl_plan_context *planning, struct nl_query *query, const struct nl_logical *plan, const struct nl_logical **same)
{
    (void)planning, (void)query;
    ((stream_question *)context)->is_streaming = nl_plan_is_streaming(plan);
    *same = plan;
    return NULL;
}

nl_status nl_connect_is_streaming(nl_connect_host *host, const Spark__Connect__Relation *relation, bool *is_streaming)
{
    stream_question question = {.base = {.host = host, .relation = relation}};
    const nl_command_tree tree = {.make = make_question, .context = &question, .rewrite = look_for_stream};
    nl_result *result = NULL;
    if (!relation) return nl_connect_invalid("Expected Relation to be set, but is empty.");
    if (relation->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_CATALOG) return NULL;
    NL_TRY(nl_command_analyze_tree(host->session, &tree, &result));
    nl_result_close(result);
    *is_streaming = question.is_streaming;
    return NULL;
}

static nl_ast_explain_mode explain_mode(int mode)
{
    switch (mode) {
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__EXPLAIN__EXPLAIN_MODE__EXPLAIN_MODE_EXTENDED: return NL_AST_EXPLAIN_EXTENDED;
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__EXPLAIN__EXPLAIN_MODE__EXPLAIN_MODE_CODEGEN: return NL_AST_EXPLAIN_CODEGEN;
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__EXPLAIN__EXPLAIN_MODE__EXPLAIN_MODE_COST: return NL_AST_EXPLAIN_COST;
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__EXPLAIN__EXPLAIN_MODE__EXPLAIN_MODE_FORMATTED: return NL_AST_EXPLAIN_FORMATTED;
    default: return NL_AST_EXPLAIN_SIMPLE;
    }
}

nl_status nl_connect_explain(nl_connect_host *host, const Spark__Connect__Relation *relation, int mode, nl_arena *arena, nl_str *text)
{
    making m = {.host = host, .relation = relation, .is_explained = true, .explain = explain_mode(mode)};
    nl_result *rows = NULL;
    if (!relation) return nl_connect_invalid("Expected Relation to be set, but is empty.");
    if (relation->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_SHOW_STRING && relation->show_string->input) m.relation = relation->show_string->input;
    NL_TRY(run_made(&m, &rows));
    nl_batch batch = {0};
    bool is_done = false;
    nl_status status = nl_result_next(rows, &batch, &is_done);
    if (!status && !is_done && batch.row_count && batch.column_count) *text = nl_vector_value(&batch.columns[0], 0, arena).text;
    nl_batch_fini(&batch);
    nl_result_close(rows);
    return status;
}

/* ---- what is kept ---- */

nl_status nl_connect_same(nl_connect_host *host, const Spark__Connect__Relation *a, const Spark__Connect__Relation *b, bool *is_same)
{
    making first = {.host = host, .relation = a}, second = {.host = host, .relation = b};
    const nl_command_tree trees[] = {{.make = make, .context = &first}, {.make = make, .context = &second}};
    return nl_command_same(host->session, &trees[0], &trees[1], is_same);
}

nl_status nl_connect_semantic_hash(nl_connect_host *host, const Spark__Connect__Relation *relation, uint64_t *hash)
{
    making m = {.host = host, .relation = relation};
    const nl_command_tree tree = {.make = make, .context = &m};
    return nl_command_semantic_hash(host->session, &tree, hash);
}

nl_status nl_connect_persist(nl_connect_host *host, const Spark__Connect__Relation *relation, const Spark__Connect__StorageLevel *level)
{
    making m = {.host = host, .relation = relation};
    const nl_command_tree tree = {.make = make, .context = &m};
    nl_storage_level wanted = {.use_disk = true, .use_memory = true, .deserialized = true, .replication = 1}; /* MEMORY_AND_DISK */
    if (!relation) return nl_connect_invalid("There is no relation to persist.");
    if (level) wanted = (nl_storage_level){level->use_disk, level->use_memory, level->use_off_heap, level->deserialized, level->replication};
    return nl_command_persist(host->session, &tree, &wanted);
}

nl_status nl_connect_unpersist(nl_connect_host *host, const Spark__Connect__Relation *relation)
{
    making m = {.host = host, .relation = relation};
    const nl_command_tree tree = {.make = make, .context = &m};
    if (!relation) return nl_connect_invalid("There is no relation to unpersist.");
    return nl_command_unpersist(host->session, &tree);
}

nl_status nl_connect_storage_level(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_storage_level *level, bool *is_found)
{
    making m = {.host = host, .relation = relation};
    const nl_command_tree tree = {.make = make, .context = &m};
    if (!relation) return nl_connect_invalid("There is no relation to look for.");
    return nl_command_storage_level(host->session, &tree, level, is_found);
}

nl_status nl_connect_checkpoint(nl_connect_host *host, const Spark__Connect__Relation *relation, const nl_storage_level *level, bool is_eager,
                                const nl_table **table)
{
    making m = {.host = host, .relation = relation};
    const nl_command_tree tree = {.make = make, .context = &m};
    return nl_command_checkpoint(host->session, &tree, level, is_eager, table);
}

/* ---- files ---- */

nl_status nl_connect_input_files(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_arena *arena, const nl_str **files, uint32_t *count)
{
    making m = {.host = host, .relation = relation};
    const nl_command_tree tree = {.make = make, .context = &m};
    if (!relation) return nl_connect_invalid("Expected Relation to be set, but is empty.");
    return nl_command_input_files(host->session, &tree, arena, files, count);
}
