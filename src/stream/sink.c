/* stream/sink.c - where a batch's rows go that no INSERT writes: memory, console, nowhere, the user's function; and files, which
 * are written into a hidden folder, moved out of it and then counted in the log _spark_metadata. */
#include "stream/query_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "base/number.h"
#include "exec/source/plain_files.h"
#include "stream/file_log.h"

/* ---- preparing ---- */

static nl_status run_statement(nl_session *session, nl_str text)
{
    nl_result *result = NULL;
    NL_TRY(nl_command_run(session, text, &result));
    nl_result_close(result);
    return NULL;
}

static void append_quoted_name(nl_builder *out, nl_str name)
{
    nl_append_char(out, '`');
    for (size_t i = 0; i < name.length; i++) {
        if (name.data[i] == '`') nl_append_char(out, '`');
        nl_append_char(out, name.data[i]);
    }
    nl_append_char(out, '`');
}

/* toTable makes the table when there is none. */
static nl_status make_table(nl_stream_query *query, nl_session *session)
{
    const nl_stream_options *options = &query->options;
    nl_builder text;
    nl_arena *scratch = nl_arena_new(NULL);
    nl_builder_init(&text, 1 << 24);
    nl_append_f(&text, "CREATE TABLE IF NOT EXISTS " NL_STR_FMT " (", NL_STR_ARG(options->table));
    for (uint32_t i = 0; i < query->row_type->child_count; i++) {
        if (i) nl_append_c(&text, ", ");
        append_quoted_name(&text, query->row_type->children[i].name);
        nl_append_f(&text, " " NL_STR_FMT, NL_STR_ARG(nl_type_sql(scratch, query->row_type->children[i].type)));
    }
    nl_append_char(&text, ')');
    if (options->format.length) nl_append_f(&text, " USING " NL_STR_FMT, NL_STR_ARG(options->format));
    for (uint32_t i = 0; i < options->partition_count; i++) {
        nl_append_c(&text, i ? ", " : " PARTITIONED BY (");
        append_quoted_name(&text, options->partition_columns[i]);
    }
    if (options->partition_count) nl_append_char(&text, ')');
    nl_status status = run_statement(session, nl_builder_str(&text));
    nl_builder_fini(&text);
    nl_arena_free(scratch);
    return status;
}

static void *retain_view(void *handle)
{
    return NL_UNCONST(nl_table_retain(handle));
}

static void release_view(void *handle)
{
    nl_table_release(handle);
}

static nl_status make_view(nl_stream_query *query, nl_session *session)
{
    if (!query->options.name.length) return NL_RAISE(_LEGACY_ERROR_TEMP_3102, NL_P("msg", "queryName must be specified for memory sink."));
    NL_TRY(nl_kept_rows_new(query->row_type, query->memory, (nl_str){0}, &query->memory_rows));
    const nl_temp_view view = {.name = query->options.name, .handle = nl_table_retain(nl_kept_rows_table(query->memory_rows)), .retain = retain_view, .free = release_view};
    return nl_session_put_view(session, &view, true);
}

static nl_status prepare_files(nl_stream_query *query)
{
    nl_str path = query->options.path.length ? query->options.path : nl_stream_sink_option(query, "path");
    if (!path.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "'path' is not specified");
    if (query->options.mode != NL_OUTPUT_APPEND)
        return NL_RAISE(STREAMING_OUTPUT_MODE__UNSUPPORTED_DATASOURCE, NL_P("outputMode", nl_output_mode_name(query->options.mode)), NL_P_STR("className", query->options.format));
    NL_TRY(nl_plain_path_absolute(query->arena, path, &query->options.path));
    return nl_stream_sink_log_open(query->files, query->options.path);
}

nl_status nl_stream_sink_prepare(nl_stream_query *query, nl_session *session)
{
    switch (query->options.sink) {
    case NL_SINK_TABLE: return make_table(query, session);
    case NL_SINK_MEMORY: return make_view(query, session);
    case NL_SINK_FILES: return prepare_files(query);
    case NL_SINK_CONSOLE:
    case NL_SINK_NOOP:
    case NL_SINK_FUNCTION:
    default: return NULL;
    }
}

/* ---- files ---- */

nl_str nl_stream_sink_staging(const nl_stream_query *query, nl_arena *arena)
{
    return nl_arena_f(arena, NL_STR_FMT "/_temporary-%s-%" PRId64, NL_STR_ARG(query->options.path), query->run_id, query->batch);
}

typedef struct moved_files {
    nl_stream_query *query;
    nl_arena *arena;
    nl_list from; /* nl_file_info * */
} moved_files;

static nl_status note_file(void *argument, const nl_file_info *info)
{
    moved_files *moved = argument;
    const nl_str name = nl_path_name(info->path);
    if (info->is_directory || name.length == 0 || name.data[0] == '_' || name.data[0] == '.') return NULL;
    nl_file_info *kept = NL_NEW(moved->arena, nl_file_info);
    *kept = *info;
    kept->path = nl_arena_str(moved->arena, info->path);
    nl_list_add(moved->arena, &moved->from, kept);
    return NULL;
}

/* A batch's files have names of its own, so that a repeated batch finds those of the run that died: "part-00000-<query>-b7-c000.parquet".
 * They stay in the folders of their partitions. */
static nl_str target_name(const nl_stream_query *query, nl_arena *arena, uint32_t i, nl_str below)
{
    const nl_str written = nl_path_name(below), folder = nl_str_slice(below, 0, below.length - written.length);
    const size_t dot = nl_str_find_char(written, '.', 0);
    return nl_arena_f(arena, NL_STR_FMT "part-%05u-%s-b%" PRId64 "-c000" NL_STR_FMT, NL_STR_ARG(folder), i, query->checkpoint->id, query->batch, NL_STR_ARG(dot == NL_NOT_FOUND ? (nl_str){0} : nl_str_slice(written, dot, written.length)));
}

typedef struct leftovers {
    nl_stream_query *query;
    nl_arena *arena;
    nl_str tag;    /* that the batch's files have in their names */
    nl_list paths; /* nl_str * */
} leftovers;

static nl_status note_leftover(void *argument, const nl_file_info *info)
{
    leftovers *left = argument;
    if (info->is_directory || nl_str_find(nl_path_name(info->path), left->tag, 0) == NL_NOT_FOUND) return NULL;
    nl_str *path = NL_NEW(left->arena, nl_str);
    *path = nl_arena_str(left->arena, info->path);
    nl_list_add(left->arena, &left->paths, path);
    return NULL;
}

/* Files of a run that died before it could say that they count. */
static nl_status remove_leftovers(nl_stream_query *query, nl_arena *scratch)
{
    leftovers left = {.query = query, .arena = scratch, .tag = nl_arena_f(scratch, "-%s-b%" PRId64 "-", query->checkpoint->id, query->batch)};
    NL_TRY(nl_fs_list(query->files, query->options.path, query->options.partition_count > 0, note_leftover, &left));
    for (uint32_t i = 0; i < left.paths.count; i++) NL_TRY(nl_fs_remove(query->files, *(const nl_str *)left.paths.items[i]));
    return NULL;
}

static nl_status publish(nl_stream_query *query, nl_arena *scratch)
{
    moved_files moved = {.query = query, .arena = scratch};
    const nl_str staging = nl_stream_sink_staging(query, scratch);
    bool is_there = false;
    NL_TRY(nl_stream_sink_log_has(query->files, query->options.path, query->batch, &is_there));
    if (is_there) return nl_fs_remove_tree(query->files, staging); /* it was written before a crash */
    NL_TRY(remove_leftovers(query, scratch));
    NL_TRY(nl_fs_list(query->files, staging, true, note_file, &moved));
    nl_file_info *files = NL_NEW_ARRAY(scratch, nl_file_info, moved.from.count + 1);
    for (uint32_t i = 0; i < moved.from.count; i++) {
        const nl_file_info *from = moved.from.items[i];
        const nl_str below = nl_str_slice(from->path, NL_MIN(staging.length + 1, from->path.length), from->path.length);
        const nl_str to = nl_path_join(scratch, query->options.path, target_name(query, scratch, i, below));
        if (query->options.partition_count) NL_TRY(nl_fs_make_directory(query->files, nl_path_parent(to)));
        NL_TRY(nl_fs_rename(query->files, from->path, to, true)); /* one of a run that died after this step */
        NL_CRASH_POINT("stream.published");
        NL_TRY(nl_fs_stat(query->files, to, &files[i]));
        files[i].path = nl_stream_file_uri(scratch, to);
    }
    NL_TRY(nl_stream_sink_log_add(query->files, query->options.path, query->batch, files, moved.from.count));
    return nl_fs_remove_tree(query->files, staging);
}

nl_status nl_stream_sink_publish(nl_stream_query *query)
{
    nl_arena *scratch = nl_arena_new(NULL);
    nl_status status = publish(query, scratch);
    nl_arena_free(scratch);
    return status;
}

/* ---- rows ---- */

static nl_status pull(nl_stream_query *query, nl_result *result, nl_kept_rows *rows)
{
    int64_t count = 0;
    for (bool is_done = false; !is_done;) {
        nl_batch batch = {0};
        NL_TRY(nl_cancel_check(query->cancel));
        NL_TRY(nl_result_next(result, &batch, &is_done));
        if (is_done) break;
        count += nl_batch_live_rows(&batch);
        nl_status status = rows ? nl_kept_rows_add(rows, &batch) : NULL;
        nl_batch_fini(&batch);
        NL_TRY(status);
    }
    query->output_rows = count;
    return NULL;
}

static int64_t option_number(const nl_stream_query *query, const char *key, int64_t otherwise)
{
    int64_t number;
    return nl_parse_int64(nl_stream_sink_option(query, key), &number) ? number : otherwise;
}

static nl_status hand_over(nl_stream_query *query, nl_kept_rows *rows)
{
    const bool is_cut = !nl_str_is_nocase(nl_stream_sink_option(query, "truncate"), "false");
    if (query->options.sink == NL_SINK_CONSOLE) return query->host->print(query->host, rows, query->batch, option_number(query, "numRows", 20), is_cut);
    if (query->options.sink == NL_SINK_FUNCTION) {
        query->output_rows = -1;
        return query->host->call_function(query->host, rows, query->batch, query->cancel);
    }
    return NULL;
}

/* A batch that comes again after a restart finds an empty table: what the memory sink held went with the process. */
static nl_status take_in_memory(nl_stream_query *query, nl_result *result)
{
    nl_kept_rows *rows = NULL;
    if (query->options.mode != NL_OUTPUT_COMPLETE) return pull(query, result, query->memory_rows);
    NL_TRY(nl_kept_rows_new(query->row_type, query->memory, (nl_str){0}, &rows));
    nl_status status = pull(query, result, rows);
    if (!status) nl_kept_rows_replace(query->memory_rows, rows);
    nl_kept_rows_release(rows);
    return status;
}

nl_status nl_stream_sink_take(nl_stream_query *query, nl_result *result)
{
    nl_kept_rows *rows = NULL;
    switch (query->options.sink) {
    case NL_SINK_TABLE: return NULL;
    case NL_SINK_FILES: return nl_stream_sink_publish(query);
    case NL_SINK_NOOP: return pull(query, result, NULL);
    case NL_SINK_MEMORY: return take_in_memory(query, result);
    case NL_SINK_CONSOLE:
    case NL_SINK_FUNCTION:
    default: break;
    }
    NL_TRY(nl_kept_rows_new(query->row_type, query->memory, query->spill_directory, &rows));
    nl_status status = pull(query, result, rows);
    if (!status) status = hand_over(query, rows);
    nl_kept_rows_release(rows);
    return status;
}

void nl_stream_sink_describe(const nl_stream_query *query, nl_builder *out)
{
    switch (query->options.sink) {
    case NL_SINK_TABLE: nl_append(out, query->options.table); return;
    case NL_SINK_MEMORY: nl_append_c(out, "MemorySink"); return;
    case NL_SINK_FILES: nl_append_f(out, "FileSink[" NL_STR_FMT "]", NL_STR_ARG(query->options.path)); return;
    case NL_SINK_NOOP: nl_append_c(out, "org.apache.spark.sql.execution.datasources.noop.NoopTable$"); return;
    case NL_SINK_CONSOLE: nl_append_c(out, "org.apache.spark.sql.execution.streaming.ConsoleTable$"); return;
    case NL_SINK_FUNCTION:
    default: nl_append_c(out, query->options.is_foreach ? "ForeachWriterTable" : "ForeachBatchSink"); return;
    }
}
