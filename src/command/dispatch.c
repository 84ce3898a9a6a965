/* command/dispatch.c - from text to the handler of its statement. */
#include "command/command_private.h"

#include <stdlib.h>

#include "base/limits.h"
#include "command/cached.h"
#include "command/plain_tables.h"
#include "command/substitution.h"
#include "exec/sources.h"

static const nl_statement_handler handlers[NL_AST_STATEMENT_KIND_COUNT] = {
    [NL_AST_STATEMENT_QUERY] = nl_run_query,
    [NL_AST_STATEMENT_INSERT] = nl_run_insert,
    [NL_AST_STATEMENT_CALL] = nl_run_call,
    [NL_AST_STATEMENT_DELETE] = nl_run_delete,
    [NL_AST_STATEMENT_UPDATE] = nl_run_update,
    [NL_AST_STATEMENT_MERGE] = nl_run_merge,
    [NL_AST_STATEMENT_TRUNCATE] = nl_run_truncate,
    [NL_AST_STATEMENT_MULTI_INSERT] = nl_run_multi_insert,
    [NL_AST_STATEMENT_CREATE_TABLE] = nl_run_create_table,
    [NL_AST_STATEMENT_CREATE_TABLE_LIKE] = nl_plain_create_like,
    [NL_AST_STATEMENT_ALTER_TABLE] = nl_run_alter_table,
    [NL_AST_STATEMENT_ALTER_VIEW] = nl_run_alter_view,
    [NL_AST_STATEMENT_CREATE_FUNCTION] = nl_run_create_function,
    [NL_AST_STATEMENT_SET_CONF] = nl_run_set_conf,
    [NL_AST_STATEMENT_SET_TIME_ZONE] = nl_run_set_time_zone,
    [NL_AST_STATEMENT_RESET] = nl_run_reset,
    [NL_AST_STATEMENT_USE] = nl_run_use,
    [NL_AST_STATEMENT_SET_CATALOG] = nl_run_set_catalog,
    [NL_AST_STATEMENT_SHOW] = nl_run_show,
    [NL_AST_STATEMENT_CREATE_NAMESPACE] = nl_run_create_namespace,
    [NL_AST_STATEMENT_ALTER_NAMESPACE] = nl_run_alter_namespace,
    [NL_AST_STATEMENT_DROP] = nl_run_drop,
    [NL_AST_STATEMENT_CREATE_VIEW] = nl_run_create_view,
    [NL_AST_STATEMENT_CREATE_TEMP_VIEW_USING] = nl_run_create_temp_view_using,
    [NL_AST_STATEMENT_EXPLAIN] = nl_run_explain,
    [NL_AST_STATEMENT_DESCRIBE] = nl_run_describe,
    [NL_AST_STATEMENT_COMMENT_ON] = nl_run_comment_on,
    [NL_AST_STATEMENT_DECLARE_VARIABLE] = nl_run_declare_variable,
    [NL_AST_STATEMENT_SET_VARIABLE] = nl_run_set_variable,
    [NL_AST_STATEMENT_EXECUTE_IMMEDIATE] = nl_run_execute_immediate,
    [NL_AST_STATEMENT_BLOCK] = nl_run_script,
    [NL_AST_STATEMENT_CACHE] = nl_run_cache,
    [NL_AST_STATEMENT_UNCACHE] = nl_run_uncache,
    [NL_AST_STATEMENT_CLEAR_CACHE] = nl_run_clear_cache,
    [NL_AST_STATEMENT_REFRESH] = nl_run_refresh,
    [NL_AST_STATEMENT_REPAIR] = nl_run_repair,
    [NL_AST_STATEMENT_ANALYZE] = nl_run_analyze,
};

/* The first words of a statement, for messages about what is not there yet. */
static nl_str first_words(nl_arena *arena, nl_str text)
{
    enum { WORDS = 2, LENGTH_MAX = 40 };
    size_t at = 0;
    for (uint32_t word = 0; word < WORDS && at < text.length; word++) {
        while (at < text.length && (unsigned char)text.data[at] <= ' ')
            at++;
        while (at < text.length && (unsigned char)text.data[at] > ' ')
            at++;
    }
    return nl_arena_str(arena, nl_str_trim(nl_str_slice(text, 0, NL_MIN(at, (size_t)LENGTH_MAX))));
}

static nl_str joined_namespace(nl_arena *arena, const nl_session *session)
{
    const nl_str *parts;
    uint32_t part_count;
    nl_session_current_namespace(session, &parts, &part_count);
    nl_str joined = {0};
    for (uint32_t i = 0; i < part_count; i++)
        joined = i ? nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(joined), NL_STR_ARG(parts[i])) : parts[i];
    return nl_arena_str(arena, joined);
}

void nl_command_prepare(nl_command *command)
{
    nl_session *session = command->session;
    command->change_count = nl_session_change_count(session);
    command->confs = (nl_eval_confs){
        .is_ansi = nl_session_get_bool(session, "spark.sql.ansi.enabled"),
        .is_last_win = nl_str_is_nocase(nl_session_get(session, NL_STR("spark.sql.mapKeyDedupPolicy")), "LAST_WIN"),
        .is_trino = nl_session_get_bool(session, "spark.nilas.sql.trino"),
        .is_timestamp_ntz = nl_session_prefers_timestamp_ntz(session),
        .is_legacy_time_parser = nl_str_is_nocase(nl_session_get(session, NL_STR("spark.sql.legacy.timeParserPolicy")), "LEGACY"),
        .keeps_scale = nl_str_is_nocase(nl_session_get(session, NL_STR("spark.sql.decimalOperations.allowPrecisionLoss")), "false"),
        .is_legacy_array_insert = nl_session_get_bool(session, "spark.sql.legacy.negativeIndexInArrayInsert"),
        .is_concat_string = nl_session_get_bool(session, "spark.sql.function.concatBinaryAsString"),
        .is_elt_string = nl_session_get_bool(session, "spark.sql.function.eltOutputAsString"),
        .is_plain_error = nl_session_get_bool(session, "spark.sql.legacy.raiseErrorWithoutErrorClass"),
        .is_legacy_percentile = nl_session_get_bool(session, "spark.sql.legacy.percentileDiscCalculation"),
        .is_legacy_interval = nl_session_get_bool(session, "spark.sql.legacy.interval.enabled"),
        .is_java_charsets = nl_session_get_bool(session, "spark.sql.legacy.javaCharsets"),
        .replaces_codes = nl_session_get_bool(session, "spark.sql.legacy.codingErrorAction"),
        .counts_star = nl_session_get_bool(session, "spark.sql.legacy.allowStarWithSingleTableIdentifierInCount"),
        .binary_style = nl_binary_style_of(nl_session_get(session, NL_STR("spark.sql.binaryOutputStyle"))),
        .zone = nl_session_zone(session),
        .now_micros = nl_now_micros(),
        .cancel = nl_session_cancel_token(session),
        .current_catalog = nl_arena_str(command->arena, nl_session_current_catalog(session)),
        .current_namespace = joined_namespace(command->arena, session),
        .user = nl_session_user(session),
        .version = NL_STR("4.0.1 nilas-" NILAS_VERSION),
        .session = session,
    };
    nl_command_resolver_init(command);
    command->context = (nl_plan_context){
        .arena = command->arena,
        .confs = &command->confs,
        .resolver = &command->resolver,
        .text = command->text,
        .next_column_id = 1,
        .is_case_sensitive = nl_session_get_bool(session, "spark.sql.caseSensitive"),
        .evaluate = nl_expr_evaluate,
        .disabled_rules = (uint64_t)nl_session_get_int(session, "nilas.debug.disabledRules"),
    };
    command->query.arena = command->arena;
    command->query.observations = &command->observations;
    command->query.memory = command->memory;
    command->query.pool = nl_session_pool(session);
    command->query.cancel = nl_session_cancel_token(session);
    command->query.confs = &command->confs;
    command->query.text = command->text;
    command->query.progress = nl_session_progress(session);
    command->query.spill_directory = nl_arena_str(command->arena, nl_session_local_directory(session));
    const int64_t batch_rows = nl_session_get_int(session, "nilas.debug.batchRows");
    command->query.batch_rows = batch_rows > 0 && batch_rows < NL_BATCH_ROWS ? (uint32_t)batch_rows : NL_BATCH_ROWS;
    command->query.shuffle_partitions = nl_session_get_int(session, "spark.sql.shuffle.partitions");
    command->query.force_spill = nl_session_get_bool(session, "nilas.debug.spill");
}

nl_status nl_command_parse(nl_command *command, nl_ast_statement **statement)
{
    const nl_sql_options options = nl_session_sql_options(command->session);
    return nl_sql_parse(command->arena, command->text, &options, statement);
}

/* Also statements that failed: some of their work may have been done. */
static bool changes_tables(int kind)
{
    switch (kind) {
    case NL_AST_STATEMENT_QUERY:
    case NL_AST_STATEMENT_BLOCK: /* its statements tell themselves */
    case NL_AST_STATEMENT_EXPLAIN:
    case NL_AST_STATEMENT_SHOW:
    case NL_AST_STATEMENT_DESCRIBE:
    case NL_AST_STATEMENT_SET_CONF:
    case NL_AST_STATEMENT_SET_TIME_ZONE:
    case NL_AST_STATEMENT_USE:
    case NL_AST_STATEMENT_SET_CATALOG:
    case NL_AST_STATEMENT_CREATE_VIEW:
    case NL_AST_STATEMENT_CREATE_FUNCTION:
    case NL_AST_STATEMENT_DECLARE_VARIABLE:
    case NL_AST_STATEMENT_SET_VARIABLE:
    case NL_AST_STATEMENT_CACHE:
    case NL_AST_STATEMENT_UNCACHE:
    case NL_AST_STATEMENT_CLEAR_CACHE: return false;
    default: return true;
    }
}

nl_status nl_command_dispatch(nl_command *command, const nl_ast_statement *statement)
{
    const nl_statement_handler handler = handlers[statement->kind];
    if (!handler)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas %s does not run this statement yet: " NL_STR_FMT, NILAS_VERSION,
                             NL_STR_ARG(first_words(command->arena, command->text)));
    nl_status status = handler(command, statement);
    if (changes_tables(statement->kind)) nl_command_tables_changed(command->session);
    return status;
}

static nl_status run(nl_command *command, nl_str text)
{
    nl_ast_statement *statement = NULL;
    NL_TRY(nl_substitute_variables(command->session, command->arena, text, &command->text));
    NL_TRY(nl_command_parse(command, &statement));
    nl_command_prepare(command);
    return nl_command_dispatch(command, statement);
}

nl_status nl_command_run(nl_session *session, nl_str text, nl_result **result)
{
    nl_result *made = NULL;
    nl_command *command = NULL;
    NL_TRY(nl_result_new(session, &made, &command));
    nl_status status = run(command, text);
    if (status)
        nl_result_close(made);
    else
        *result = made;
    return status;
}

static nl_status take_parameters(nl_command *command, const nl_command_made *made)
{
    nl_value *values = NL_NEW_ARRAY(command->arena, nl_value, made->parameter_count + 1);
    for (uint32_t i = 0; i < made->parameter_count; i++) NL_TRY(nl_analyze_constant(&command->context, made->parameters[i], &values[i]));
    command->context.parameters = values;
    command->context.parameter_names = made->parameter_names;
    command->context.parameter_count = made->parameter_count;
    return NULL;
}

nl_status nl_command_analyze(nl_command *command, const nl_ast_query *query, const nl_logical **plan)
{
    const nl_command_tree *tree = command->tree;
    if (!tree || !tree->rewrite) return command->is_analyzed_only ? nl_analyze_query(&command->context, query, plan) : nl_cached_analyze(command, query, plan);
    NL_TRY(nl_analyze_query(&command->context, query, plan));
    return tree->rewrite(tree->context, &command->context, &command->query, *plan, plan);
}

static nl_status run_tree(nl_command *command, const nl_command_tree *tree, bool is_run)
{
    nl_command_made made = {0};
    const nl_logical *plan = NULL;
    NL_TRY(tree->make(tree->context, command->session, command->arena, &made));
    command->text = made.text;
    nl_command_prepare(command);
    NL_TRY(take_parameters(command, &made));
    if (is_run) return nl_command_dispatch(command, made.statement);
    NL_CHECK(made.statement->kind == NL_AST_STATEMENT_QUERY);
    command->is_analyzed_only = true;
    NL_TRY(nl_command_analyze(command, made.statement->query, &plan));
    command->analyzed = plan;
    nl_command_show_schema(command, plan);
    return NULL;
}

static nl_status tree_result(nl_session *session, const nl_command_tree *tree, bool is_run, nl_result **result)
{
    nl_result *made = NULL;
    nl_command *command = NULL;
    NL_TRY(nl_result_new(session, &made, &command));
    command->is_deferred = tree->is_deferred;
    command->tree = tree;
    nl_status status = run_tree(command, tree, is_run);
    command->tree = NULL; /* borrowed for the call */
    if (status)
        nl_result_close(made);
    else
        *result = made;
    return status;
}

nl_status nl_command_run_tree(nl_session *session, const nl_command_tree *tree, nl_result **result)
{
    return tree_result(session, tree, true, result);
}

nl_status nl_command_analyze_tree(nl_session *session, const nl_command_tree *tree, nl_result **result)
{
    return tree_result(session, tree, false, result);
}

static void add_files(const nl_logical *plan, nl_arena *arena, nl_list *files)
{
    if (plan->kind == NL_PLAN_SCAN) nl_file_source_paths(plan->scan.table, arena, files);
    for (uint32_t i = 0; i < plan->child_count; i++) add_files(plan->children[i], arena, files);
}

static nl_status find_files(nl_command *command, const nl_command_tree *tree, nl_arena *arena, nl_list *files)
{
    nl_command_made made = {0};
    const nl_logical *plan = NULL;
    NL_TRY(tree->make(tree->context, command->session, command->arena, &made));
    command->text = made.text;
    nl_command_prepare(command);
    if (made.statement->kind != NL_AST_STATEMENT_QUERY) return NULL;
    NL_TRY(nl_analyze_query(&command->context, made.statement->query, &plan));
    NL_TRY(nl_command_optimize(command, plan, &plan));
    add_files(plan, arena, files);
    return NULL;
}

nl_status nl_command_input_files(nl_session *session, const nl_command_tree *tree, nl_arena *arena, const nl_str **files, uint32_t *count)
{
    nl_result *made = NULL;
    nl_command *command = NULL;
    nl_list found = {0};
    NL_TRY(nl_result_new(session, &made, &command));
    nl_status status = find_files(command, tree, arena, &found);
    nl_result_close(made);
    NL_TRY(status);
    nl_str *list = NL_NEW_ARRAY(arena, nl_str, found.count + 1);
    for (uint32_t i = 0; i < found.count; i++) list[i] = *(const nl_str *)found.items[i];
    *files = list;
    *count = found.count;
    return NULL;
}

nl_status nl_command_make_rows(nl_session *session, const nl_field *fields, uint32_t field_count, nl_rows **rows, nl_result **result)
{
    nl_result *made = NULL;
    nl_command *command = NULL;
    NL_TRY(nl_result_new(session, &made, &command));
    nl_field *copies = NL_NEW_ARRAY(command->arena, nl_field, field_count + 1);
    for (uint32_t i = 0; i < field_count; i++) { /* the result outlives the caller's types */
        copies[i] = fields[i];
        copies[i].type = nl_type_copy(command->arena, fields[i].type);
    }
    nl_status status = nl_command_rows(command, copies, field_count, rows);
    if (status)
        nl_result_close(made);
    else
        *result = made;
    return status;
}

nl_status nl_run_query(nl_command *command, const nl_ast_statement *statement)
{
    const nl_logical *plan = NULL;
    NL_TRY(nl_command_analyze(command, statement->query, &plan));
    return nl_command_stream(command, plan);
}
