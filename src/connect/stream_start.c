/* connect/stream_start.c - WriteStreamOperationStart as a query's options, and its start. */
#include "connect/streaming_private.h"

#include "connect/translate.h"
#include "function/interval.h"

typedef Spark__Connect__WriteStreamOperationStart start_message;

nl_str nl_stream_message_option(const start_message *message, const char *key)
{
    for (size_t i = message->n_options; i-- > 0;)
        if (nl_str_is_nocase(nl_message_text(message->options[i]->key), key)) return nl_message_text(message->options[i]->value);
    return (nl_str){0};
}

static nl_status take_mode(const start_message *message, nl_output_mode *mode)
{
    const nl_str name = nl_message_text(message->output_mode);
    *mode = NL_OUTPUT_APPEND;
    if (!name.length || nl_str_is_nocase(name, "append")) return NULL;
    *mode = NL_OUTPUT_UPDATE;
    if (nl_str_is_nocase(name, "update")) return NULL;
    *mode = NL_OUTPUT_COMPLETE;
    if (nl_str_is_nocase(name, "complete")) return NULL;
    return NL_RAISE(STREAMING_OUTPUT_MODE__INVALID, NL_P_STR("outputMode", name));
}

static nl_status take_interval(nl_str text, int64_t *micros)
{
    nl_interval interval = {0};
    if (!nl_interval_parse(text, &interval)) {
        NL_TRY(nl_interval_raise_format(text, nl_type_of(NL_TYPE_INTERVAL)));
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Error parsing '" NL_STR_FMT "' to interval", NL_STR_ARG(text));
    }
    if (interval.months) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Doesn't support month or year interval: " NL_STR_FMT, NL_STR_ARG(text));
    *micros = interval.days * INT64_C(86400000000) + interval.micros;
    return *micros >= 0 ? NULL : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: the interval of trigger should not be negative");
}

static nl_status take_trigger(const start_message *message, nl_stream_options *options)
{
    switch ((int)message->trigger_case) {
    case SPARK__CONNECT__WRITE_STREAM_OPERATION_START__TRIGGER_AVAILABLE_NOW: options->trigger = NL_TRIGGER_AVAILABLE_NOW; return NULL;
    case SPARK__CONNECT__WRITE_STREAM_OPERATION_START__TRIGGER_ONCE: options->trigger = NL_TRIGGER_ONCE; return NULL;
    case SPARK__CONNECT__WRITE_STREAM_OPERATION_START__TRIGGER_PROCESSING_TIME_INTERVAL: return take_interval(nl_message_text(message->processing_time_interval), &options->interval_micros);
    case SPARK__CONNECT__WRITE_STREAM_OPERATION_START__TRIGGER_CONTINUOUS_CHECKPOINT_INTERVAL: return nl_connect_unsupported("the trigger continuous");
    default: return NULL;
    }
}

static nl_status take_format(const start_message *message, nl_session *session, nl_arena *arena, nl_stream_options *options)
{
    static const char *const files[] = {"parquet", "orc", "csv", "json", "text", "xml"};
    if (!options->format.length) {
        const nl_str given = nl_session_get(session, NL_STR("spark.sql.sources.default"));
        options->format = given.length ? nl_arena_str(arena, given) : NL_STR("parquet");
    }
    const nl_str format = options->format;
    if (nl_str_is_nocase(format, "memory")) options->sink = NL_SINK_MEMORY;
    else if (nl_str_is_nocase(format, "console")) options->sink = NL_SINK_CONSOLE;
    else if (nl_str_is_nocase(format, "noop")) options->sink = NL_SINK_NOOP;
    else if (nl_str_is_nocase(format, "iceberg")) {
        options->sink = NL_SINK_TABLE;
        options->table = options->path.length ? options->path : nl_stream_message_option(message, "path");
        if (!options->table.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot open table without a location: path is not set");
        if (nl_str_find_char(options->table, '/', 0) != NL_NOT_FOUND) return nl_connect_unsupported("writing an Iceberg table by its path");
    } else {
        options->sink = NL_SINK_FILES;
        for (size_t i = 0; i < NL_COUNT(files); i++)
            if (nl_str_is_nocase(format, files[i])) return NULL;
        if (nl_str_is_nocase(format, "rate") || nl_str_is_nocase(format, "rate-micro-batch") || nl_str_is_nocase(format, "jdbc"))
            return NL_RAISE(_LEGACY_ERROR_TEMP_2049, NL_P_STR("className", format), NL_P("operator", "writing"));
        if (nl_str_is_nocase(format, "kafka") || nl_str_is_nocase(format, "avro")) return nl_connect_unsupported(nl_str_c(arena, nl_arena_f(arena, "streams into the format " NL_STR_FMT, NL_STR_ARG(format))));
        return NL_RAISE(DATA_SOURCE_NOT_FOUND, NL_P_STR("provider", format));
    }
    return NULL;
}

static nl_status take_sink(const start_message *message, nl_session *session, nl_arena *arena, nl_stream_options *options)
{
    options->format = nl_message_text(message->format);
    if (message->foreach_batch || message->foreach_writer) {
        options->sink = NL_SINK_FUNCTION;
        options->is_foreach = message->foreach_writer != NULL;
        return NULL;
    }
    if (message->sink_destination_case == SPARK__CONNECT__WRITE_STREAM_OPERATION_START__SINK_DESTINATION_TABLE_NAME) {
        options->sink = NL_SINK_TABLE;
        options->table = nl_message_text(message->table_name);
        return NULL;
    }
    if (message->sink_destination_case == SPARK__CONNECT__WRITE_STREAM_OPERATION_START__SINK_DESTINATION_PATH) options->path = nl_message_text(message->path);
    return take_format(message, session, arena, options);
}

nl_status nl_stream_options_take(const start_message *message, nl_session *session, nl_arena *arena, nl_stream_options *options)
{
    nl_property *list = NL_NEW_ARRAY(arena, nl_property, message->n_options + 1);
    nl_str *columns = NL_NEW_ARRAY(arena, nl_str, message->n_partitioning_column_names + 1);
    for (size_t i = 0; i < message->n_options; i++) list[options->option_count++] = (nl_property){nl_message_text(message->options[i]->key), nl_message_text(message->options[i]->value)};
    for (size_t i = 0; i < message->n_partitioning_column_names; i++) columns[options->partition_count++] = nl_message_text(message->partitioning_column_names[i]);
    options->options = list;
    options->partition_columns = columns;
    options->name = nl_message_text(message->query_name);
    NL_TRY(take_mode(message, &options->mode));
    NL_TRY(take_trigger(message, options));
    NL_TRY(take_sink(message, session, arena, options));
    /* It is about tables that a query makes; folders of files are written as without it, as Spark writes them. */
    if (message->n_clustering_column_names && options->sink == NL_SINK_TABLE) return nl_connect_unsupported("clusterBy for tables");
    return NULL;
}

