/* stream/microbatch.c - one batch as a statement: the analyzed plan's streams become tables of what is new, its stateful
 * operators tables of what they give out. */
#include "stream/query_private.h"

#include <stdlib.h>
#include <string.h>

#include "function/kernel.h"
#include "sql/parser.h"
#include "stream/watermark.h"

typedef struct batch_rewrite {
    nl_stream_query *query;
    nl_plan_context *planning;
    uint32_t leaf, seen;
    nl_state_batch state;
    bool is_counting; /* only looks: the plan stays as it is */
    nl_session *session;
} batch_rewrite;

/* ---- the statement ---- */

static nl_status insert_statement(nl_stream_query *query, nl_arena *arena, nl_ast_query *body, nl_ast_statement *statement)
{
    nl_ast_insert *insert = NL_NEW(arena, nl_ast_insert);
    const nl_stream_options *options = &query->options;
    nl_ast_properties *properties = NL_NEW(arena, nl_ast_properties);
    properties->items = NL_NEW_ARRAY(arena, nl_ast_property, options->option_count + 1);
    for (uint32_t i = 0; i < options->option_count; i++)
        if (!nl_str_is_nocase(options->options[i].key, "path"))
            properties->items[properties->count++] = (nl_ast_property){.key = options->options[i].key, .has_value = true, .value = options->options[i].value, .is_string = true};
    statement->kind = NL_AST_STATEMENT_INSERT;
    statement->insert = insert;
    insert->query = body;
    if (options->sink == NL_SINK_FILES) {
        insert->target.is_overwrite = insert->target.is_directory = true;
        insert->target.directory_mode = NL_AST_DIRECTORY_OVERWRITE;
        insert->target.path = nl_stream_sink_staging(query, arena);
        insert->target.provider.parts = NL_NEW(arena, nl_ast_ident);
        *insert->target.provider.parts = (nl_ast_ident){.text = options->format, .is_quoted = true};
        insert->target.provider.count = 1;
        insert->target.directory_options = properties;
        insert->target.folder_columns = options->partition_columns;
        insert->target.folder_column_count = options->partition_count;
        return NULL;
    }
    insert->target.is_by_name = true;
    insert->target.is_overwrite = options->mode == NL_OUTPUT_COMPLETE;
    insert->target.options = properties;
    return nl_sql_parse_name(arena, options->table, &(nl_sql_options){.is_unplaced = true}, &insert->target.table);
}

static nl_status make_statement(void *context, nl_session *session, nl_arena *arena, nl_command_made *made)
{
    const batch_rewrite *rewrite = context;
    nl_stream_query *query = rewrite->query;
    nl_ast_statement *statement = NL_NEW(arena, nl_ast_statement);
    const nl_ast_query *body = NULL;
    NL_TRY(query->host->make_query(query->host, session, arena, &body, &made->text));
    statement->kind = NL_AST_STATEMENT_QUERY;
    statement->query = NL_UNCONST(body);
    const bool is_written = query->options.sink == NL_SINK_TABLE || query->options.sink == NL_SINK_FILES;
    if (is_written && !rewrite->is_counting) NL_TRY(insert_statement(query, arena, NL_UNCONST(body), statement));
    made->statement = statement;
    return nl_arena_check(arena);
}

/* ---- event times that go by ---- */

static void note_time(nl_stream_seen *seen, int64_t micros)
{
    int64_t most = atomic_load(&seen->max_micros), least = atomic_load(&seen->min_micros);
    while (micros > most && !atomic_compare_exchange_weak(&seen->max_micros, &most, micros)) {}
    while (micros < least && !atomic_compare_exchange_weak(&seen->min_micros, &least, micros)) {}
}

/* Always true; remembers what it has seen. */
static nl_status see_times(NL_KERNEL_PARAMETERS)
{
    nl_stream_seen *seen = NL_UNCONST(function->state);
    nl_output output;
    nl_reader times;
    int64_t most = INT64_MIN, least = INT64_MAX, count = 0, sum = 0;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader_init(&times, &args[0]);
    NL_EACH_SELECTED(row)
    {
        ((uint8_t *)output.values)[row] = 1;
        if (nl_vector_is_null(&args[0], row)) continue;
        const int64_t micros = nl_reader_i64(&times, row);
        most = NL_MAX(most, micros);
        least = NL_MIN(least, micros);
        sum += micros / 1000;
        count++;
    }
    if (!count) return NULL;
    note_time(seen, most);
    note_time(seen, least);
    atomic_fetch_add(&seen->count, count);
    atomic_fetch_add(&seen->sum_ms, sum);
    return NULL;
}

static const nl_function_row seen_row = {.name = "event_time_seen",
                                         .kind = NL_FUNCTION_SCALAR,
                                         .nulls = NL_NULL_SEEN,
                                         .group = "misc",
                                         .signature = "(any) -> boolean",
                                         .is_nondeterministic = true,
                                         .is_internal = true,
                                         .kernel = see_times};

static void clear_seen(nl_stream_seen *seen)
{
    atomic_store(&seen->max_micros, INT64_MIN);
    atomic_store(&seen->min_micros, INT64_MAX);
    atomic_store(&seen->count, 0);
    atomic_store(&seen->sum_ms, 0);
}

/* A filter below the projection that marks the column. */
static nl_status watch_times(batch_rewrite *rewrite, nl_arena *arena, const nl_logical *node, const nl_column *column, int64_t delay_ms, const nl_logical **result)
{
    nl_stream_query *query = rewrite->query;
    if (rewrite->seen >= NL_STREAM_SOURCES_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A streaming query with more than %u watermarks is not supported.", NL_STREAM_SOURCES_MAX);
    nl_stream_seen *seen = &query->seen[rewrite->seen++];
    seen->delay_ms = delay_ms;
    *result = node;
    if (rewrite->is_counting) return NULL;
    clear_seen(seen);
    const nl_expr *time = nl_column_ref(arena, column);
    if (column->type->id == NL_TYPE_STRUCT) time = nl_expr_field(arena, time, 1);
    nl_bound_function *bound = NL_NEW(arena, nl_bound_function);
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, 1);
    types[0] = time->type;
    *bound = (nl_bound_function){.row = &seen_row, .result_type = nl_type_boolean(), .argument_count = 1, .argument_types = types, .kernel = see_times, .state = seen};
    const nl_logical *watched = nl_logical_filter(arena, node->children[0], nl_expr_call(arena, bound, &time, 1));
    *result = nl_logical_with_children(arena, node, &watched);
    return NULL;
}

/* ---- the plan ---- */

static void release_table(void *table)
{
    nl_table_release(table);
}

static nl_status bind_stream(batch_rewrite *rewrite, nl_arena *arena, const nl_logical *scan, const nl_logical **result)
{
    nl_stream_query *query = rewrite->query;
    const uint32_t at = rewrite->leaf++;
    *result = scan;
    if (at >= NL_STREAM_SOURCES_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A streaming query with more than %u streams is not supported.", NL_STREAM_SOURCES_MAX);
    if (rewrite->is_counting) {
        const nl_stream_source_environment environment = {.session = rewrite->session,
                                                          .checkpoint = query->checkpoint,
                                                          .ordinal = at,
                                                          .memory = query->memory,
                                                          .pool = query->workers,
                                                          .zone = query->zone,
                                                          .files = query->files};
        if (!query->checkpoint) return NULL;
        NL_TRY(nl_stream_source_open(scan->scan.table, &environment, &query->leaves[at].source));
        query->leaf_count = at + 1;
        return NULL;
    }
    const nl_table *table = at < query->leaf_count ? query->leaves[at].table : NULL;
    if (!table || !nl_type_equal(table->row_type, scan->scan.table->row_type))
        return NL_RAISE_TEXT(NILAS_STREAM_STATE, "The streams of the query have changed since it began: stop it and start it again.");
    nl_logical *bound = nl_logical_copy(arena, scan);
    bound->scan.table = table;
    nl_arena_on_free(arena, release_table, nl_table_retain(table));
    *result = bound;
    return NULL;
}

static bool is_of_stream(const batch_rewrite *rewrite, const nl_logical *plan)
{
    if (plan->kind == NL_PLAN_SCAN) {
        if (nl_table_is_stream(plan->scan.table) || nl_state_is_rows(&rewrite->state, plan->scan.table)) return true;
        for (uint32_t i = 0; i < rewrite->query->leaf_count; i++)
            if (plan->scan.table == rewrite->query->leaves[i].table) return true;
    }
    if ((plan->kind == NL_PLAN_CTE || plan->kind == NL_PLAN_CTE_REF) && plan->cte.definition && is_of_stream(rewrite, plan->cte.definition)) return true;
    for (uint32_t i = 0; i < plan->child_count; i++)
        if (is_of_stream(rewrite, plan->children[i])) return true;
    return false;
}

static nl_status run_operator(batch_rewrite *rewrite, const nl_logical *node, const nl_logical **result)
{
    nl_status (*run)(nl_state_batch *batch, const nl_logical *node, const nl_logical **result) = NULL;
    bool evicts = true;
    if (node->kind == NL_PLAN_AGGREGATE && !node->aggregate.is_deduplication) {
        run = nl_state_aggregate;
        evicts = rewrite->query->options.mode != NL_OUTPUT_COMPLETE;
    } else if (node->kind == NL_PLAN_JOIN)
        run = nl_state_join;
    else if (node->kind == NL_PLAN_LIMIT) {
        run = nl_state_limit;
        evicts = false;
    }
    else
        run = nl_state_deduplicate;
    *result = node;
    if (rewrite->is_counting) {
        if (rewrite->query->operator_count >= NL_STREAM_SOURCES_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A streaming query with more than %u operators that keep state is not supported.", NL_STREAM_SOURCES_MAX);
        rewrite->query->operator_count++;
        rewrite->query->may_evict = rewrite->query->may_evict || evicts;
        return NULL;
    }
    return run(&rewrite->state, node, result);
}

static nl_status visit(void *context, nl_arena *arena, const nl_logical *node, const nl_logical **result)
{
    batch_rewrite *rewrite = context;
    *result = node;
    switch ((int)node->kind) {
    case NL_PLAN_SCAN: return nl_table_is_stream(node->scan.table) ? bind_stream(rewrite, arena, node, result) : NULL;
    case NL_PLAN_PROJECT: {
        const nl_column *column = NULL;
        int64_t delay_ms;
        if (!nl_watermark_begins(node, &column, &delay_ms) || !is_of_stream(rewrite, node)) return NULL;
        return watch_times(rewrite, arena, node, column, delay_ms, result);
    }
    case NL_PLAN_AGGREGATE:
    case NL_PLAN_DISTINCT: return is_of_stream(rewrite, node->children[0]) ? run_operator(rewrite, node, result) : NULL;
    case NL_PLAN_LIMIT: return rewrite->query->options.mode != NL_OUTPUT_COMPLETE && is_of_stream(rewrite, node->children[0]) ? run_operator(rewrite, node, result) : NULL;
    case NL_PLAN_JOIN: return is_of_stream(rewrite, node->children[0]) && is_of_stream(rewrite, node->children[1]) ? run_operator(rewrite, node, result) : NULL;
    default: return NULL;
    }
}

static nl_status rewrite_plan(void *context, struct nl_plan_context *planning, struct nl_query *query, const nl_logical *plan, const nl_logical **rewritten)
{
    batch_rewrite *rewrite = context;
    nl_stream_query *stream = rewrite->query;
    rewrite->planning = planning;
    rewrite->state = (nl_state_batch){.planning = planning,
                                      .query = query,
                                      .checkpoint = stream->checkpoint,
                                      .memory = stream->memory,
                                      .mode = stream->options.mode,
                                      .version = stream->batch,
                                      .has_watermark = stream->seen_count > 0,
                                      .late_micros = stream->late_ms * 1000,
                                      .evict_micros = stream->watermark_ms * 1000,
                                      .stores = stream->stores,
                                      .store_count = NL_STREAM_SOURCES_MAX,
                                      .counts = &stream->state_counts,
                                      .counts_arena = stream->counts_arena};
    if (rewrite->is_counting && !stream->checkpoint) {
        if (!nl_plan_is_streaming(plan)) return NL_RAISE(WRITE_STREAM_NOT_ALLOWED);
        NL_TRY(nl_stream_check(plan, stream->options.mode, rewrite->session));
        nl_field *fields = NL_NEW_ARRAY(stream->arena, nl_field, plan->column_count + 1);
        uint32_t count = 0;
        for (uint32_t i = 0; i < plan->column_count; i++)
            if (!plan->columns[i].is_hidden)
                fields[count++] = (nl_field){.name = nl_arena_str(stream->arena, plan->columns[i].name), .type = nl_type_copy(stream->arena, plan->columns[i].type), .is_nullable = plan->columns[i].is_nullable};
        stream->row_type = nl_type_struct(stream->arena, fields, count);
    }
    NL_TRY(nl_logical_rewrite(planning->arena, plan, visit, rewrite, rewritten));
    if (rewrite->is_counting) {
        stream->seen_count = rewrite->seen;
        *rewritten = plan;
    } else {
        nl_builder text;
        nl_builder_init(&text, 1 << 20);
        nl_logical_append_text(*rewritten, &text);
        nl_mutex_lock(&stream->mutex);
        free(NL_UNCONST(stream->plan_text));
        stream->plan_text = strndup(nl_builder_str(&text).data, text.length);
        nl_mutex_unlock(&stream->mutex);
        nl_builder_fini(&text);
    }
    return NULL;
}

nl_status nl_stream_plan_query(nl_stream_query *query, nl_session *session)
{
    batch_rewrite rewrite = {.query = query, .is_counting = true, .session = session};
    const nl_command_tree tree = {.make = make_statement, .context = &rewrite, .rewrite = rewrite_plan};
    nl_result *checked = NULL;
    query->operator_count = 0;
    query->may_evict = false;
    NL_TRY(nl_command_analyze_tree(session, &tree, &checked));
    nl_result_close(checked);
    return nl_arena_check(query->arena);
}

/* ---- running ---- */

typedef struct batch_run {
    nl_stream_query *query;
    nl_result *result; /* owned; NULL: the statement has written its rows */
} batch_run;

static nl_status open_batch(void *argument, nl_session *session)
{
    batch_run *run = argument;
    nl_stream_query *query = run->query;
    batch_rewrite rewrite = {.query = query, .session = session};
    const nl_write_epoch epoch = {.query_id = nl_str_from(query->checkpoint->id), .epoch = query->batch, .is_complete = query->options.mode == NL_OUTPUT_COMPLETE};
    const nl_command_tree tree = {.make = make_statement,
                                  .context = &rewrite,
                                  .is_deferred = true,
                                  .rewrite = rewrite_plan,
                                  .epoch = query->options.sink == NL_SINK_TABLE ? &epoch : NULL};
    const int64_t started = nl_stream_clock();
    if (query->options.sink == NL_SINK_TABLE && query->options.mode == NL_OUTPUT_UPDATE)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: " NL_STR_FMT " does not support Update mode.", NL_STR_ARG(query->options.table));
    nl_session_begin_with(session, query->cancel, &query->progress);
    NL_TRY(nl_command_run_tree(session, &tree, &run->result));
    if (query->options.sink == NL_SINK_TABLE) query->output_rows = (int64_t)atomic_load(&query->progress.changed_rows);
    query->times.planning = nl_stream_clock() - started;
    return NULL;
}

static nl_status open_tables(nl_stream_query *query)
{
    for (uint32_t i = 0; i < query->leaf_count; i++) {
        nl_stream_leaf *leaf = &query->leaves[i];
        const nl_str committed = nl_str_from(leaf->committed ? leaf->committed : ""), available = nl_str_from(leaf->available ? leaf->available : "");
        const nl_stream_range range = {committed, available.length ? available : committed};
        const nl_table *table = NULL;
        nl_table_release(leaf->table);
        leaf->table = NULL;
        leaf->row_count = 0;
        atomic_store(&leaf->read_count, 0);
        NL_TRY(leaf->source->ops->table(leaf->source, &range, &table, &leaf->row_count));
        if (leaf->row_count >= 0) {
            leaf->table = table;
            continue;
        }
        nl_status status = nl_stream_counted_table(table, &leaf->read_count, &leaf->table);
        nl_table_release(table);
        NL_TRY(status);
    }
    return NULL;
}

nl_status nl_stream_run_batch(nl_stream_query *query)
{
    batch_run run = {.query = query};
    const int64_t started = nl_stream_clock();
    nl_arena_free(query->counts_arena);
    query->counts_arena = nl_arena_new(NULL);
    query->state_counts = (nl_list){0};
    query->output_rows = -1;
    NL_TRY(open_tables(query));
    query->times.get_batch = nl_stream_clock() - started;
    const int64_t opened = nl_stream_clock();
    nl_status status = query->host->in_session(query->host, query->cancel, open_batch, &run);
    if (!status) status = nl_stream_sink_take(query, run.result);
    nl_result_close(run.result);
    query->times.add_batch = nl_stream_clock() - opened;
    for (uint32_t i = 0; i < query->leaf_count; i++) {
        nl_table_release(query->leaves[i].table);
        query->leaves[i].table = NULL;
    }
    return status;
}
