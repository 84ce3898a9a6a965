/* connect/errors.c - from an error's condition to Java's exceptions, ErrorInfo and error details.
 *
 * What goes with the call is short, because clients limit the size of metadata: the message is cut and long parameters
 * are left out. Clients ask for the whole by the error's id.
 */
#include "connect/errors.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "connect/proto/status.pb-c.h"

#define REMEMBERED_MAX         64u
#define REMEMBERED_MICROS      (300ll * 1000000)
#define REMEMBERED_BYTES_MAX   (1u << 20)  /* of one message: a parse error repeats its statement */
#define PARAMETERS_BYTES_MAX   1024u       /* spark.connect.grpc.maxMetadataSize */
#define TYPE_URL               "type.googleapis.com/google.rpc.ErrorInfo"

typedef Spark__Connect__FetchErrorDetailsResponse__Error error_details;
typedef Spark__Connect__FetchErrorDetailsResponse__SparkThrowable spark_throwable;
typedef Spark__Connect__FetchErrorDetailsResponse__SparkThrowable__MessageParametersEntry parameter_entry;
typedef Spark__Connect__FetchErrorDetailsResponse__QueryContext query_context;
typedef Spark__Connect__RpcErrorInfo__MetadataEntry metadata_entry;

/* ---- classes ------------------------------------------------------------------------------------------------------ */

enum { NAMES_MAX = 4 };

typedef struct class_list {
    const char *names[NAMES_MAX + 1];
    bool has_condition;
} class_list;

typedef enum class_id {
#define CLASS(id, has_condition, ...) CLASS_##id,
#define RAISES(condition, id)
#include "connect/classes.def"
#undef CLASS
#undef RAISES
} class_id;

static const class_list classes[] = {
#define CLASS(id, has_condition_, ...) [CLASS_##id] = {.names = {__VA_ARGS__}, .has_condition = has_condition_},
#define RAISES(condition, id)
#include "connect/classes.def"
#undef CLASS
#undef RAISES
};

static const struct {
    const char *condition;
    class_id id;
} raises[] = {
#define CLASS(id, has_condition, ...)
#define RAISES(condition_, id_) {condition_, CLASS_##id_},
#include "connect/classes.def"
#undef CLASS
#undef RAISES
};

/* A cast's exception depends on what it casts to. */
static class_id cast_class(const nl_error *error)
{
    const char *target = nl_error_param(error, "targetType");
    const nl_str type = nl_str_from(target ? target : "");
    static const char *const numbers[] = {"\"TINYINT\"", "\"SMALLINT\"", "\"INT\"", "\"BIGINT\"", "\"FLOAT\"", "\"DOUBLE\""};
    for (size_t i = 0; i < NL_COUNT(numbers); i++)
        if (nl_str_is(type, numbers[i])) return CLASS_NUMBER_FORMAT;
    if (nl_str_starts(type, NL_STR("\"DECIMAL"))) return CLASS_NUMBER_FORMAT;
    return nl_str_starts(type, NL_STR("\"DATE")) || nl_str_starts(type, NL_STR("\"TIME")) ? CLASS_DATE_TIME : CLASS_RUNTIME;
}

/* Conditions that no row names: where the failure was found decides, then the SQLSTATE's class. */
static class_id class_of(const nl_error *error)
{
    const nl_query_context *context = nl_error_context(error);
    const nl_str name = nl_str_from(nl_condition_name(nl_error_condition(error)));
    const nl_str state = nl_str_from(nl_condition_sqlstate(nl_error_condition(error)));
    if (context && context->is_parse_error) return CLASS_PARSE;
    if (context && context->is_analysis) return CLASS_EXTENDED_ANALYSIS;
    if (nl_str_is(name, "CAST_INVALID_INPUT")) return cast_class(error);
    for (size_t i = 0; i < NL_COUNT(raises); i++) {
        const nl_str row = nl_str_from(raises[i].condition);
        if (nl_str_starts(name, row) && (name.length == row.length || name.data[row.length] == '.')) return raises[i].id;
    }
    if (nl_str_starts(name, NL_STR("NILAS_"))) return CLASS_JAVA_RUNTIME;
    if (nl_str_starts(state, NL_STR("22")) || nl_str_starts(state, NL_STR("23"))) return CLASS_RUNTIME;
    return nl_str_starts(state, NL_STR("KD")) || nl_str_starts(state, NL_STR("XX")) || nl_str_starts(state, NL_STR("58")) ? CLASS_SPARK : CLASS_ANALYSIS;
}

static void add_names(nl_arena *arena, const class_list *list, error_details *details)
{
    static const char *const above[] = {"java.lang.Exception", "java.lang.Throwable", "java.lang.Object"};
    details->error_type_hierarchy = NL_NEW_ARRAY(arena, char *, NAMES_MAX + NL_COUNT(above));
    for (size_t i = 0; list->names[i]; i++) details->error_type_hierarchy[details->n_error_type_hierarchy++] = NL_UNCONST(list->names[i]);
    for (size_t i = 0; i < NL_COUNT(above); i++) details->error_type_hierarchy[details->n_error_type_hierarchy++] = NL_UNCONST(above[i]);
}

/* ---- details ------------------------------------------------------------------------------------------------------ */

/* What a string of protobuf takes: bytes of a statement or of values that are no UTF-8 become U+FFFD. */
static char *text_of(nl_arena *arena, nl_str text)
{
    if (nl_utf8_is_valid(text)) return NL_UNCONST(nl_str_c(arena, text));
    char *made = NL_NEW_ARRAY(arena, char, nl_size_add(nl_size_mul(text.length, 3), 1)), *end = made;
    for (size_t at = 0; at < text.length;) end += nl_utf8_encode(nl_utf8_decode(text, &at), end);
    return made;
}

/* Spark counts characters from 0, the last one included. */
static query_context *make_context(nl_arena *arena, const nl_query_context *context)
{
    query_context *made = NL_NEW(arena, query_context);
    spark__connect__fetch_error_details_response__query_context__init(made);
    nl_builder summary;
    nl_builder_init(&summary, REMEMBERED_BYTES_MAX);
    nl_query_context_summary(context, &summary);
    if (context->text.length && context->text.data[0] == '\001') { /* base/status.c */
        const nl_str origin = nl_str_slice(context->text, context->start, context->stop);
        const size_t middle = NL_MIN(nl_str_find_char(origin, '\002', 0), origin.length);
        made->has_context_type = true;
        made->context_type = SPARK__CONNECT__FETCH_ERROR_DETAILS_RESPONSE__QUERY_CONTEXT__CONTEXT_TYPE__DATAFRAME;
        made->fragment = text_of(arena, nl_str_slice(origin, 0, middle));
        made->call_site = text_of(arena, nl_str_slice(origin, NL_MIN(middle + 1, origin.length), origin.length));
        made->summary = text_of(arena, summary.length ? nl_str_slice(nl_builder_str(&summary), 1, summary.length) : (nl_str){"", 0});
        nl_builder_fini(&summary);
        return made;
    }
    made->has_start_index = made->has_stop_index = true;
    made->start_index = (int32_t)nl_utf8_length(nl_str_slice(context->text, 0, context->start));
    made->stop_index = (int32_t)nl_utf8_length(nl_str_slice(context->text, 0, context->stop)) - 1;
    made->fragment = text_of(arena, nl_str_slice(context->text, context->start, context->stop));
    made->summary = text_of(arena, nl_str_slice(nl_builder_str(&summary), 1, summary.length));
    nl_builder_fini(&summary);
    return made;
}

/* Spark's expressions that can say where they stand say so even when nobody has noted it, as those of functions of a DataFrame. */
static bool has_empty_context(const nl_error *error)
{
    static const char *const conditions[] = {"DIVIDE_BY_ZERO", "CAST_INVALID_INPUT", "INVALID_ARRAY_INDEX", "INVALID_ARRAY_INDEX_IN_ELEMENT_AT"};
    const nl_str name = nl_str_from(nl_condition_name(nl_error_condition(error)));
    for (size_t i = 0; i < NL_COUNT(conditions); i++)
        if (nl_str_is(name, conditions[i])) return true;
    const char *alternative = nl_error_param(error, "alternative");
    return nl_str_is(name, "ARITHMETIC_OVERFLOW") && alternative && alternative[0];
}

static query_context *empty_context(nl_arena *arena)
{
    char *nothing = text_of(arena, NL_STR(""));
    query_context *made = NL_NEW(arena, query_context);
    spark__connect__fetch_error_details_response__query_context__init(made);
    made->has_context_type = made->has_start_index = made->has_stop_index = true;
    made->context_type = SPARK__CONNECT__FETCH_ERROR_DETAILS_RESPONSE__QUERY_CONTEXT__CONTEXT_TYPE__SQL;
    made->start_index = made->stop_index = -1;
    made->object_type = made->object_name = made->fragment = made->summary = nothing;
    return made;
}

static spark_throwable *make_throwable(nl_arena *arena, const nl_error *error)
{
    spark_throwable *made = NL_NEW(arena, spark_throwable);
    const nl_query_context *context = nl_error_context(error);
    const uint32_t count = nl_error_param_count(error);
    const nl_str state = nl_str_from(nl_condition_sqlstate(nl_error_condition(error)));
    spark__connect__fetch_error_details_response__spark_throwable__init(made);
    made->error_class = NL_UNCONST(nl_condition_name(nl_error_condition(error)));
    if (state.length > 0) made->sql_state = NL_UNCONST(state.data);
    made->message_parameters = NL_NEW_ARRAY(arena, parameter_entry *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const char *name, *value;
        parameter_entry *entry = NL_NEW(arena, parameter_entry);
        spark__connect__fetch_error_details_response__spark_throwable__message_parameters_entry__init(entry);
        nl_error_param_at(error, i, &name, &value);
        entry->key = text_of(arena, nl_str_from(name));
        entry->value = text_of(arena, nl_str_from(value));
        made->message_parameters[made->n_message_parameters++] = entry;
    }
    made->query_contexts = NL_NEW_ARRAY(arena, query_context *, 1);
    if (context && !context->is_parse_error && context->start < context->stop && context->stop <= context->text.length)
        made->query_contexts[made->n_query_contexts++] = make_context(arena, context);
    else if (!context && has_empty_context(error))
        made->query_contexts[made->n_query_contexts++] = empty_context(arena);
    return made;
}

static error_details *make_details(nl_arena *arena, nl_error *error)
{
    error_details *made = NL_NEW(arena, error_details);
    const class_list *list = &classes[class_of(error)];
    spark__connect__fetch_error_details_response__error__init(made);
    made->message = text_of(arena, nl_str_slice(nl_str_from(nl_error_message(error)), 0, REMEMBERED_BYTES_MAX));
    made->spark_throwable = list->has_condition ? make_throwable(arena, error) : NL_NEW(arena, spark_throwable);
    if (!list->has_condition) spark__connect__fetch_error_details_response__spark_throwable__init(made->spark_throwable);
    add_names(arena, list, made);
    return made;
}

/* ---- remembering -------------------------------------------------------------------------------------------------- */

typedef struct remembered {
    nl_arena *arena; /* owned */
    char id[NL_UUID_TEXT_LENGTH + 1];
    int64_t micros;
    error_details *details;
} remembered;

struct nl_error_log {
    nl_mutex mutex;
    remembered entries[REMEMBERED_MAX]; /* guarded by mutex; a ring */
    uint32_t next;
};

nl_error_log *nl_error_log_new(void)
{
    nl_error_log *log = calloc(1, sizeof *log);
    if (log) nl_mutex_init(&log->mutex);
    return log;
}

void nl_error_log_free(nl_error_log *log)
{
    if (!log) return;
    for (uint32_t i = 0; i < REMEMBERED_MAX; i++) nl_arena_free(log->entries[i].arena);
    nl_mutex_fini(&log->mutex);
    free(log);
}

static void remember(nl_error_log *log, const remembered *entry)
{
    nl_mutex_lock(&log->mutex);
    remembered *slot = &log->entries[log->next++ % REMEMBERED_MAX];
    nl_arena_free(slot->arena);
    *slot = *entry;
    nl_mutex_unlock(&log->mutex);
}

/* A copy, because the entry may be overwritten before the answer is sent. */
static error_details *copy_details(nl_arena *arena, const error_details *details)
{
    const size_t size = protobuf_c_message_get_packed_size(&details->base);
    uint8_t *packed = nl_arena_alloc(arena, size + 1);
    (void)protobuf_c_message_pack(&details->base, packed);
    return (error_details *)protobuf_c_message_unpack(details->base.descriptor, NULL, size, packed);
}

static void free_details(void *details)
{
    protobuf_c_message_free_unpacked(details, NULL);
}

void nl_error_log_find(nl_error_log *log, nl_str id, nl_arena *arena, const error_details **details)
{
    nl_mutex_lock(&log->mutex);
    for (uint32_t i = 0; i < REMEMBERED_MAX; i++) {
        const remembered *entry = &log->entries[i];
        if (!entry->arena || !nl_str_is(id, entry->id) || nl_now_micros() - entry->micros > REMEMBERED_MICROS) continue;
        error_details *copy = copy_details(arena, entry->details);
        if (copy) nl_arena_on_free(arena, free_details, copy);
        *details = copy;
    }
    nl_mutex_unlock(&log->mutex);
}

/* ---- the call's status -------------------------------------------------------------------------------------------- */

static void add_metadata(nl_arena *arena, Spark__Connect__RpcErrorInfo *info, const char *key, nl_str value)
{
    metadata_entry *entry = NL_NEW(arena, metadata_entry);
    spark__connect__rpc_error_info__metadata_entry__init(entry);
    entry->key = NL_UNCONST(key);
    entry->value = text_of(arena, value);
    info->metadata[info->n_metadata++] = entry;
}

static void add_json(nl_arena *arena, Spark__Connect__RpcErrorInfo *info, const error_details *details)
{
    nl_builder text;
    nl_json_writer writer = {.out = &text};
    nl_builder_init(&text, REMEMBERED_BYTES_MAX);
    nl_json_begin(&writer, '[');
    for (size_t i = 0; i < details->n_error_type_hierarchy; i++) nl_json_write_text(&writer, nl_str_from(details->error_type_hierarchy[i]));
    nl_json_end(&writer, ']');
    add_metadata(arena, info, "classes", nl_builder_str(&text));
    nl_builder_clear(&text);
    writer.needs_comma = false;
    nl_json_begin(&writer, '{');
    for (size_t i = 0; i < details->spark_throwable->n_message_parameters; i++) {
        nl_json_key(&writer, details->spark_throwable->message_parameters[i]->key);
        nl_json_write_text(&writer, nl_str_from(details->spark_throwable->message_parameters[i]->value));
    }
    nl_json_end(&writer, '}');
    if (details->spark_throwable->error_class && text.length <= PARAMETERS_BYTES_MAX) add_metadata(arena, info, "messageParameters", nl_builder_str(&text));
    nl_builder_fini(&text);
}

/* google.rpc.Status with the one detail, as bytes in the arena. */
static nl_bytes pack_status(nl_arena *arena, const nl_rpc_status *status, const Spark__Connect__RpcErrorInfo *info)
{
    Spark__Connect__RpcAny any = SPARK__CONNECT__RPC_ANY__INIT, *details[] = {&any};
    Spark__Connect__RpcStatus message = SPARK__CONNECT__RPC_STATUS__INIT;
    const size_t info_size = spark__connect__rpc_error_info__get_packed_size(info);
    char type_url[] = TYPE_URL;
    any.type_url = type_url;
    any.has_value = true;
    any.value = (ProtobufCBinaryData){info_size, nl_arena_alloc(arena, info_size)};
    (void)spark__connect__rpc_error_info__pack(info, any.value.data);
    message.has_code = true;
    message.code = (int32_t)status->code;
    message.message = text_of(arena, status->message);
    message.n_details = 1;
    message.details = details;
    const size_t size = spark__connect__rpc_status__get_packed_size(&message);
    uint8_t *packed = nl_arena_alloc(arena, size);
    (void)spark__connect__rpc_status__pack(&message, packed);
    return (nl_bytes){packed, size};
}

static nl_str abbreviated(nl_arena *arena, nl_str text)
{
    if (text.length <= NL_RPC_MESSAGE_CHARACTERS_MAX) return text;
    size_t length = NL_RPC_MESSAGE_CHARACTERS_MAX - 3;
    while (length > 0 && ((uint8_t)text.data[length] & 0xC0) == 0x80) length--;
    return nl_arena_f(arena, NL_STR_FMT "...", (int)length, text.data);
}

void nl_failure_init(nl_failure *failure, nl_error *error, nl_error_log *log)
{
    nl_arena *kept = nl_arena_new(NULL);
    nl_arena *arena = nl_arena_new(NULL);
    Spark__Connect__RpcErrorInfo info = SPARK__CONNECT__RPC_ERROR_INFO__INIT;
    remembered entry = {.arena = kept, .micros = nl_now_micros()};
    char domain[] = "org.apache.spark";
    enum { METADATA_MAX = 5 };
    entry.details = make_details(kept, error);
    nl_error_free(error);
    const spark_throwable *throwable = entry.details->spark_throwable;
    failure->arena = arena;
    failure->status = (nl_rpc_status){.code = NL_RPC_INTERNAL, .message = abbreviated(arena, nl_arena_str(arena, nl_str_from(entry.details->message)))};
    info.reason = entry.details->error_type_hierarchy[0];
    info.domain = domain;
    info.metadata = NL_NEW_ARRAY(arena, metadata_entry *, METADATA_MAX);
    add_json(arena, &info, entry.details);
    if (throwable->error_class) add_metadata(arena, &info, "errorClass", nl_str_from(throwable->error_class));
    if (throwable->sql_state) add_metadata(arena, &info, "sqlState", nl_str_from(throwable->sql_state));
    if (log) {
        uint8_t id[16];
        nl_uuid_new(id);
        nl_uuid_format(id, entry.id);
        add_metadata(arena, &info, "errorId", nl_str_from(entry.id));
    }
    failure->status.details = pack_status(arena, &failure->status, &info);
    if (log)
        remember(log, &entry);
    else
        nl_arena_free(kept);
}

void nl_failure_fini(nl_failure *failure)
{
    nl_arena_free(failure->arena);
    failure->arena = NULL;
}

void nl_rpc_fail(nl_rpc *rpc, nl_error *error, nl_error_log *log)
{
    nl_failure failure;
    nl_failure_init(&failure, error, log);
    nl_rpc_finish(rpc, &failure.status);
    nl_failure_fini(&failure);
}
