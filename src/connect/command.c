/* connect/command.c - commands of a client: SQL, views, checkpoints; writes are in write.c. */
#include "connect/captured.h"
#include "connect/write.h"

#include <stdlib.h>

#include "plan/table.h"

/* ---- SQL ---- */

/* The SQL relation of the command: its own fields are those of older clients. */
static nl_status sql_relation(const Spark__Connect__SqlCommand *message, nl_arena *arena, const Spark__Connect__Relation **relation)
{
    *relation = message->input;
    if (message->input) return NULL;
    Spark__Connect__Relation *made = NL_NEW(arena, Spark__Connect__Relation);
    spark__connect__relation__init(made);
    Spark__Connect__SQL *sql = NL_NEW(arena, Spark__Connect__SQL);
    spark__connect__sql__init(sql);
    sql->query = message->sql;
    made->rel_type_case = SPARK__CONNECT__RELATION__REL_TYPE_SQL;
    made->sql = sql;
    if (message->n_args || message->n_pos_args || message->n_named_arguments || message->n_pos_arguments)
        return nl_connect_unsupported("sql_command with arguments beside its input");
    *relation = made;
    return message->sql ? NULL : nl_connect_invalid("an SQL command has no text");
}

static nl_status is_query(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_arena *arena, bool *answer)
{
    nl_translator t = {.host = host, .arena = arena};
    nl_ast_statement *statement = NULL;
    if (relation->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_WITH_RELATIONS && relation->with_relations->root) relation = relation->with_relations->root;
    if (relation->rel_type_case != SPARK__CONNECT__RELATION__REL_TYPE_SQL) return nl_connect_invalid("SQL command expects either a SQL or a WithRelations");
    NL_TRY(nl_translate_statement(&t, nl_str_from(relation->sql->query), &statement));
    *answer = statement->kind == NL_AST_STATEMENT_QUERY;
    return NULL;
}

static nl_status sql_command(nl_connect_host *host, const Spark__Connect__SqlCommand *message, nl_arena *arena, nl_connect_answer *answer)
{
    const Spark__Connect__Relation *relation = NULL;
    bool is_a_query = false;
    nl_result *checked = NULL;
    NL_TRY(sql_relation(message, arena, &relation));
    NL_TRY(is_query(host, relation, arena, &is_a_query));
    if (!is_a_query) {
        answer->kind = NL_CONNECT_ROWS;
        return nl_connect_run(host, relation, &answer->rows);
    }
    NL_TRY(nl_connect_analyze(host, relation, &checked));
    nl_result_close(checked);
    answer->kind = NL_CONNECT_QUERY;
    answer->relation = relation;
    return NULL;
}

/* ---- views: the packed relation, and the views that it may name as they were when it was made ---- */

typedef struct nl_connect_captured view_plan;
struct nl_connect_captured {
    atomic_int references;
    nl_connect_host *host; /* of the session that made it; and that session's number: it may be gone, or not be the one that asks */
    uint64_t session_number;
    uint8_t *bytes;
    size_t size;
    struct captured_view *captured;
    uint32_t captured_count;
    nl_translated_streams streams; /* that it reads */
};

typedef struct captured_view {
    char *name;
    char *sql;       /* of an SQL view; or */
    view_plan *plan; /* counted; or        */
    nl_table *table; /* counted            */
} captured_view;

static void *retain_view(void *handle)
{
    view_plan *plan = handle;
    atomic_fetch_add(&plan->references, 1);
    return plan;
}

static void release_view(void *handle)
{
    view_plan *plan = handle;
    if (!plan || atomic_fetch_sub(&plan->references, 1) != 1) return;
    for (uint32_t i = 0; i < plan->captured_count; i++) {
        release_view(plan->captured[i].plan);
        if (plan->captured[i].table) nl_table_release(plan->captured[i].table);
        free(plan->captured[i].name);
        free(plan->captured[i].sql);
    }
    for (uint32_t i = 0; i < plan->streams.count; i++) nl_table_release(plan->streams.items[i]);
    free(plan->streams.items);
    free(plan->captured);
    free(plan->bytes);
    free(plan);
}

static nl_status make_view_query(void *handle, nl_session *session, nl_arena *arena, const struct nl_ast_query **query, nl_str *text);

/* May the packed relation name the view? Texts in it are as they are: a name that is nowhere in them is not meant. */
static bool mentions(const view_plan *plan, nl_str name)
{
    for (size_t at = 0; at + name.length <= plan->size; at++)
        if (nl_str_equal_nocase((nl_str){(const char *)plan->bytes + at, name.length}, name)) return true;
    return false;
}

static bool capture(view_plan *plan, const nl_temp_view *view)
{
    captured_view *into = &plan->captured[plan->captured_count];
    into->name = strndup(view->name.data, view->name.length);
    if (!into->name) return false;
    plan->captured_count++;
    if (view->make_query == make_view_query) {
        into->plan = retain_view(view->handle);
    } else if (view->sql.length) {
        into->sql = strndup(view->sql.data, view->sql.length);
        return into->sql != NULL;
    } else {
        into->table = nl_table_retain(view->handle);
    }
    return true;
}

static bool capture_views(view_plan *plan, const nl_session *session)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_list views = nl_session_views(session, arena);
    plan->captured = calloc(views.count + 1, sizeof(*plan->captured));
    bool is_good = plan->captured != NULL;
    for (uint32_t i = 0; i < views.count && is_good; i++) {
        const nl_temp_view *view = views.items[i];
        const bool is_own = view->make_query == make_view_query || (!view->make_query && nl_str_find_char(view->name, '.', 0) == NL_NOT_FOUND);
        if (is_own && !view->is_global && mentions(plan, view->name)) is_good = capture(plan, view);
    }
    nl_arena_free(arena);
    return is_good;
}

static view_plan *copy_plan(const view_plan *plan, nl_connect_host *host);

static bool copy_captured(const captured_view *view, nl_connect_host *host, captured_view *into)
{
    into->name = strdup(view->name);
    into->sql = view->sql ? strdup(view->sql) : NULL;
    into->plan = view->plan ? copy_plan(view->plan, host) : NULL;
    into->table = view->table ? nl_table_retain(view->table) : NULL;
    return into->name && !view->sql == !into->sql && !view->plan == !into->plan;
}

/* The same view of another session; NULL: no memory. As deep as views stood on views. */
static view_plan *copy_plan(const view_plan *plan, nl_connect_host *host)
{
    view_plan *made = calloc(1, sizeof(*made));
    if (!made) return NULL;
    atomic_init(&made->references, 1);
    made->host = host;
    made->session_number = nl_session_number(host->session);
    made->size = plan->size;
    made->bytes = malloc(plan->size + 1);
    made->captured = calloc(plan->captured_count + 1, sizeof(*made->captured));
    bool is_good = made->bytes && made->captured;
    if (is_good && plan->size) memcpy(made->bytes, plan->bytes, plan->size);
    for (uint32_t i = 0; is_good && i < plan->captured_count; i++) {
        is_good = copy_captured(&plan->captured[i], host, &made->captured[i]);
        made->captured_count++;
    }
    if (is_good) return made;
    release_view(made);
    return NULL;
}

static nl_status no_memory(void)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P("requestedBytes", "a view"), NL_P("receivedBytes", "0"));
}

static nl_status new_view(nl_connect_host *host, const Spark__Connect__Relation *relation, view_plan **made)
{
    view_plan *plan = calloc(1, sizeof(*plan));
    if (!plan) return no_memory();
    atomic_init(&plan->references, 1);
    plan->host = host;
    plan->session_number = nl_session_number(host->session);
    plan->size = spark__connect__relation__get_packed_size(relation);
    plan->bytes = malloc(plan->size + 1);
    if (plan->bytes) (void)spark__connect__relation__pack(relation, plan->bytes);
    if (!plan->bytes || !capture_views(plan, host->session)) {
        release_view(plan);
        return no_memory();
    }
    *made = plan;
    return NULL;
}

static nl_status captured_query(const captured_view *captured, nl_session *session, nl_arena *arena, nl_ast_query **query)
{
    nl_str text = {0};
    const nl_ast_query *inner = NULL;
    nl_ast_term *term = NL_NEW(arena, nl_ast_term);
    *query = NL_NEW(arena, nl_ast_query);
    (*query)->body = term;
    if (captured->plan) {
        NL_TRY(make_view_query(captured->plan, session, arena, &inner, &text));
        **query = *inner;
    } else if (captured->sql) {
        nl_ast_statement *statement = NULL;
        nl_ast_text_query *written = NL_NEW(arena, nl_ast_text_query);
        written->text = nl_copy_text(arena, captured->sql);
        NL_TRY(nl_sql_parse(arena, written->text, NULL, &statement));
        written->query = statement->query;
        *term = (nl_ast_term){.kind = NL_AST_TERM_TEXT, .text_query = written};
    } else {
        nl_ast_relation *relation = NL_NEW(arena, nl_ast_relation);
        *relation = (nl_ast_relation){.kind = NL_AST_RELATION_SOURCE, .source = captured->table};
        *term = *nl_relation_term(arena, relation);
    }
    return NULL;
}

static nl_status make_view_query(void *handle, nl_session *session, nl_arena *arena, const struct nl_ast_query **query, nl_str *text)
{
    view_plan *plan = handle;
    nl_connect_host stranger = {.session = session}; /* a global view has none of what the client of another session sent */
    Spark__Connect__Relation *relation = spark__connect__relation__unpack(NULL, plan->size, plan->bytes);
    if (!relation) return nl_connect_invalid("a view's plan is damaged");
    const bool is_own = plan->session_number == nl_session_number(session);
    nl_translator t = {.host = is_own ? plan->host : &stranger, .arena = arena, .streams = is_own ? &plan->streams : NULL};
    nl_ast_query *made = NULL;
    if (is_own) plan->streams.next = 0;
    nl_status status = nl_translate_query(&t, relation, &made);
    spark__connect__relation__free_unpacked(relation, NULL);
    NL_TRY(status);
    made->ctes.items = NL_NEW_ARRAY(arena, nl_ast_cte, plan->captured_count + 1);
    for (uint32_t i = 0; i < plan->captured_count; i++) {
        nl_ast_cte *cte = &made->ctes.items[made->ctes.count++];
        cte->name = nl_ident_of(nl_copy_text(arena, plan->captured[i].name));
        NL_TRY(captured_query(&plan->captured[i], session, arena, &cte->query));
    }
    *query = made;
    *text = (nl_str){"", 0};
    return NULL;
}

nl_status nl_connect_capture(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_connect_captured **captured)
{
    return new_view(host, relation, captured);
}

nl_status nl_connect_captured_query(nl_connect_captured *captured, nl_session *session, nl_arena *arena, const struct nl_ast_query **query, nl_str *text)
{
    return make_view_query(captured, session, arena, query, text);
}

void nl_connect_captured_release(nl_connect_captured *captured)
{
    release_view(captured);
}

nl_status nl_connect_copy_views(const nl_session *from, nl_connect_host *to)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_list views = nl_session_views(from, arena);
    nl_status status = NULL;
    for (uint32_t i = 0; i < views.count && !status; i++) {
        const nl_temp_view *view = views.items[i];
        nl_temp_view copy = *view;
        if (view->is_global || nl_str_find_char(view->name, '.', 0) != NL_NOT_FOUND) continue; /* which all sessions have */
        if (view->handle) copy.handle = view->make_query == make_view_query ? copy_plan(view->handle, to) : view->retain(view->handle);
        status = view->handle && !copy.handle ? no_memory() : nl_session_put_view(to->session, &copy, true);
    }
    nl_arena_free(arena);
    return status;
}

static nl_status create_view(nl_connect_host *host, const Spark__Connect__CreateDataFrameViewCommand *message, nl_arena *arena)
{
    nl_result *checked = NULL;
    view_plan *plan = NULL;
    nl_ast_name name;
    if (!message->input) return nl_connect_invalid("a view has no DataFrame");
    NL_TRY(nl_sql_parse_name(arena, nl_str_from(message->name), &(nl_sql_options){.is_unplaced = true}, &name));
    if (name.count != 1) return NL_RAISE(TEMP_VIEW_NAME_TOO_MANY_NAME_PARTS, NL_P_STR("actualName", nl_copy_text(arena, message->name)));
    NL_TRY(nl_connect_analyze(host, message->input, &checked));
    nl_result_close(checked);
    NL_TRY(new_view(host, message->input, &plan));
    const nl_temp_view view = {.name = name.parts[0].text,
                               .is_global = message->has_is_global && message->is_global,
                               .handle = plan,
                               .retain = retain_view,
                               .free = release_view,
                               .make_query = make_view_query};
    return nl_session_put_view(host->session, &view, message->has_replace && message->replace);
}

/* ---- checkpoints ---- */

static nl_status checkpoint(nl_connect_host *host, const Spark__Connect__CheckpointCommand *message, nl_arena *arena, nl_connect_answer *answer)
{
    const Spark__Connect__StorageLevel *wanted = message->storage_level;
    const nl_storage_level level = {.use_memory = !wanted || wanted->use_memory || wanted->use_off_heap, .use_disk = true};
    const nl_table *table = NULL;
    if (!message->relation) return nl_connect_invalid("a checkpoint has no DataFrame");
    if (!host->put_table) return nl_connect_unsupported("DataFrame.checkpoint");
    NL_TRY(nl_connect_checkpoint(host, message->relation, &level, message->eager, &table));
    answer->kind = NL_CONNECT_CHECKPOINT;
    nl_status status = host->put_table(host, table, arena, &answer->id);
    nl_table_release(table);
    return status;
}

static void remove_cached(nl_connect_host *host, const Spark__Connect__RemoveCachedRemoteRelationCommand *message)
{
    if (host->drop_remote && message->relation) (void)host->drop_remote(host, nl_str_from(message->relation->relation_id));
}

/* ---- which one it is ---- */

nl_status nl_connect_command(nl_connect_host *host, const Spark__Connect__Command *command, nl_arena *arena, nl_connect_answer *answer)
{
    *answer = (nl_connect_answer){.kind = NL_CONNECT_DONE};
    switch ((int)command->command_type_case) {
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_SQL_COMMAND: return sql_command(host, command->sql_command, arena, answer);
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_CREATE_DATAFRAME_VIEW: return create_view(host, command->create_dataframe_view, arena);
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_WRITE_OPERATION: return nl_connect_write(host, command->write_operation, arena, answer);
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_WRITE_OPERATION_V2: return nl_connect_write_v2(host, command->write_operation_v2, arena, answer);
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_MERGE_INTO_TABLE_COMMAND: return nl_connect_merge(host, command->merge_into_table_command, arena, answer);
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_CHECKPOINT_COMMAND: return checkpoint(host, command->checkpoint_command, arena, answer);
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_GET_RESOURCES_COMMAND: answer->kind = NL_CONNECT_RESOURCES; return NULL;
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_REMOVE_CACHED_REMOTE_RELATION_COMMAND:
        remove_cached(host, command->remove_cached_remote_relation_command);
        return NULL;
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_REGISTER_FUNCTION: return nl_connect_register_python(host, command->register_function);
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_REGISTER_TABLE_FUNCTION: return nl_connect_register_python_table(host, command->register_table_function);
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_REGISTER_DATA_SOURCE: return nl_connect_unsupported("data sources written in Python");
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_WRITE_STREAM_OPERATION_START:
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_STREAMING_QUERY_COMMAND:
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_STREAMING_QUERY_MANAGER_COMMAND:
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_STREAMING_QUERY_LISTENER_BUS_COMMAND: return nl_connect_unsupported("structured streaming");
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_CREATE_RESOURCE_PROFILE_COMMAND: return nl_connect_unsupported("resource profiles");
    case SPARK__CONNECT__COMMAND__COMMAND_TYPE_EXECUTE_EXTERNAL_COMMAND: return nl_connect_unsupported("external commands");
    default: return nl_connect_unsupported("this command");
    }
}
