/* connect/config.c - the Config call: reading and setting the session's configuration. */
#include "connect/service_private.h"

#include "session/session.h"

typedef Spark__Connect__ConfigResponse config_response;
typedef Spark__Connect__KeyValue key_value;

/* Keys that PySpark's client reads and that mean nothing to the engine. Spark's defaults. */
static const nl_property client_defaults[] = {
    {NL_STR_INIT("spark.sql.session.localRelationCacheThreshold"), NL_STR_INIT("67108864")},
    {NL_STR_INIT("spark.sql.execution.pandas.convertToArrowArraySafely"), NL_STR_INIT("false")},
    {NL_STR_INIT("spark.sql.execution.pandas.inferPandasDictAsMap"), NL_STR_INIT("false")},
    {NL_STR_INIT("spark.sql.execution.pandas.structHandlingMode"), NL_STR_INIT("legacy")},
    {NL_STR_INIT("spark.sql.execution.pandas.udf.buffer.size"), NL_STR_INIT("65536")},
    {NL_STR_INIT("spark.sql.execution.arrow.enabled"), NL_STR_INIT("false")},
    {NL_STR_INIT("spark.sql.execution.arrow.fallback.enabled"), NL_STR_INIT("true")},
    {NL_STR_INIT("spark.sql.execution.arrow.maxRecordsPerBatch"), NL_STR_INIT("10000")},
    {NL_STR_INIT("spark.sql.execution.arrow.pyspark.enabled"), NL_STR_INIT("false")},
    {NL_STR_INIT("spark.sql.execution.arrow.pyspark.fallback.enabled"), NL_STR_INIT("true")},
    {NL_STR_INIT("spark.sql.execution.arrow.pyspark.selfDestruct.enabled"), NL_STR_INIT("false")},
    {NL_STR_INIT("spark.sql.execution.arrow.useLargeVarTypes"), NL_STR_INIT("false")},
    {NL_STR_INIT("spark.sql.execution.pythonUDF.arrow.enabled"), NL_STR_INIT("false")},
    {NL_STR_INIT("spark.sql.execution.pythonUDTF.arrow.enabled"), NL_STR_INIT("false")},
    {NL_STR_INIT("spark.sql.pyspark.inferNestedDictAsStruct.enabled"), NL_STR_INIT("false")},
    {NL_STR_INIT("spark.sql.pyspark.jvmStacktrace.enabled"), NL_STR_INIT("false")},
    {NL_STR_INIT("spark.sql.pyspark.legacy.inferArrayTypeFromFirstElement.enabled"), NL_STR_INIT("false")},
    {NL_STR_INIT("spark.sql.pyspark.legacy.inferMapTypeFromFirstPair.enabled"), NL_STR_INIT("false")},
    {NL_STR_INIT("spark.sql.pyspark.plotting.max_rows"), NL_STR_INIT("1000")},
    {NL_STR_INIT("spark.sql.connect.serverStacktrace.enabled"), NL_STR_INIT("false")},
    {NL_STR_INIT("spark.sql.repl.eagerEval.maxNumRows"), NL_STR_INIT("20")},
    {NL_STR_INIT("spark.sql.repl.eagerEval.truncate"), NL_STR_INIT("20")},
    {NL_STR_INIT("spark.python.sql.dataFrameDebugging.enabled"), NL_STR_INIT("true")},
    {NL_STR_INIT("spark.sql.legacy.createHiveTableByDefault"), NL_STR_INIT("true")},
    {NL_STR_INIT("spark.sql.execution.arrow.localRelationThreshold"), NL_STR_INIT("50331648")},
    /* What clients of 4.1 and 4.2 read besides. */
    {NL_STR_INIT("spark.sql.execution.pyspark.binaryAsBytes"), NL_STR_INIT("true")},
    {NL_STR_INIT("spark.sql.session.localRelationSizeLimit"), NL_STR_INIT("3221225472")},
    {NL_STR_INIT("spark.sql.session.localRelationChunkSizeRows"), NL_STR_INIT("10000")},
    {NL_STR_INIT("spark.sql.session.localRelationChunkSizeBytes"), NL_STR_INIT("16777216")},
    {NL_STR_INIT("spark.sql.session.localRelationBatchOfChunksSizeBytes"), NL_STR_INIT("1073741824")},
};

/* data NULL: unset and without a default. */
static nl_str find_value(const nl_session *session, nl_str key)
{
    const nl_str value = nl_session_get(session, key);
    for (size_t i = 0; i < NL_COUNT(client_defaults) && !value.data; i++)
        if (nl_str_equal(key, client_defaults[i].key)) return client_defaults[i].value;
    return value;
}

static void add_pair(nl_request *request, config_response *answer, nl_str key, nl_str value)
{
    key_value *pair = NL_NEW(request->arena, key_value);
    spark__connect__key_value__init(pair);
    pair->key = NL_UNCONST(nl_str_c(request->arena, key));
    if (value.data) pair->value = NL_UNCONST(nl_str_c(request->arena, value));
    answer->pairs[answer->n_pairs++] = pair;
}

static nl_status not_found(nl_arena *arena, nl_str key)
{
    return NL_RAISE(SQL_CONF_NOT_FOUND, NL_P_STR("sqlConf", nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(key))));
}

/* A builder's option for a program's own server: a start value until something has run; later ones that are static are
 * passed over, as getOrCreate does with a session that is there. */
static nl_status set_for_builder(nl_request *request, nl_str key, nl_str value)
{
    const nl_conf_row *row = nl_conf_find(key);
    if (!request->client->has_run) return nl_session_set_initial(request->session, key, value);
    return row && row->is_static ? NULL : nl_session_set(request->session, key, value);
}

/* With `silent` a setting that cannot be changed is only told of: builders send all they were given. */
static nl_status set_pairs(nl_request *request, const Spark__Connect__ConfigRequest__Set *set, config_response *answer)
{
    answer->warnings = NL_NEW_ARRAY(request->arena, char *, set->n_pairs + 1);
    for (size_t i = 0; i < set->n_pairs; i++) {
        const nl_str key = nl_message_text(set->pairs[i]->key), value = nl_message_text(set->pairs[i]->value);
        const bool is_builder = set->has_silent && set->silent && request->client->connect->options.is_private;
        nl_status status = is_builder ? set_for_builder(request, key, value) : nl_session_set(request->session, key, value);
        if (status && !(set->has_silent && set->silent)) return status;
        if (status) answer->warnings[answer->n_warnings++] = NL_UNCONST(nl_str_c(request->arena, nl_str_from(nl_error_message(status))));
        nl_error_free(status);
    }
    return NULL;
}

static nl_status get_keys(nl_request *request, char *const *keys, size_t count, bool must_exist, config_response *answer)
{
    answer->pairs = NL_NEW_ARRAY(request->arena, key_value *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const nl_str key = nl_message_text(keys[i]);
        const nl_str value = find_value(request->session, key);
        if (!value.data && must_exist) return not_found(request->arena, key);
        add_pair(request, answer, key, value);
    }
    return NULL;
}

static void get_with_default(nl_request *request, const Spark__Connect__ConfigRequest__GetWithDefault *wanted, config_response *answer)
{
    answer->pairs = NL_NEW_ARRAY(request->arena, key_value *, wanted->n_pairs + 1);
    for (size_t i = 0; i < wanted->n_pairs; i++) {
        const nl_str key = nl_message_text(wanted->pairs[i]->key);
        const nl_str value = nl_session_get(request->session, key);
        add_pair(request, answer, key, value.data || !wanted->pairs[i]->value ? value : nl_message_text(wanted->pairs[i]->value));
    }
}

/* All that were set, and the known ones with their defaults; with a prefix those below it, named without it. */
static void get_all(nl_request *request, nl_str prefix, config_response *answer)
{
    const nl_property *list = NULL;
    uint32_t count = 0, row_count = 0;
    nl_session_list(request->session, request->arena, &list, &count);
    while (nl_conf_at(row_count)) row_count++;
    answer->pairs = NL_NEW_ARRAY(request->arena, key_value *, (size_t)count + row_count + 1);
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_starts(list[i].key, prefix)) add_pair(request, answer, nl_str_slice(list[i].key, prefix.length, list[i].key.length), list[i].value);
    for (uint32_t i = 0; i < row_count; i++) {
        const nl_str key = nl_str_from(nl_conf_at(i)->key);
        bool is_set = false;
        for (uint32_t k = 0; k < count && !is_set; k++) is_set = nl_str_equal(list[k].key, key);
        const nl_str value = nl_session_get(request->session, key);
        if (!is_set && value.data && nl_str_starts(key, prefix)) add_pair(request, answer, nl_str_slice(key, prefix.length, key.length), value);
    }
}

static nl_status unset(nl_request *request, const Spark__Connect__ConfigRequest__Unset *keys)
{
    for (size_t i = 0; i < keys->n_keys; i++) NL_TRY(nl_session_unset(request->session, nl_message_text(keys->keys[i])));
    return NULL;
}

static void are_modifiable(nl_request *request, const Spark__Connect__ConfigRequest__IsModifiable *keys, config_response *answer)
{
    answer->pairs = NL_NEW_ARRAY(request->arena, key_value *, keys->n_keys + 1);
    for (size_t i = 0; i < keys->n_keys; i++) {
        const nl_str key = nl_message_text(keys->keys[i]);
        const nl_conf_row *row = nl_conf_find(key);
        bool is_modifiable = row && !row->is_static;
        for (size_t k = 0; k < NL_COUNT(client_defaults); k++) is_modifiable |= nl_str_equal(key, client_defaults[k].key);
        add_pair(request, answer, key, is_modifiable ? NL_STR("true") : NL_STR("false"));
    }
}

nl_status nl_answer_config(nl_request *request, ProtobufCMessage **answer)
{
    const Spark__Connect__ConfigRequest *message = (const Spark__Connect__ConfigRequest *)(const void *)request->message;
    const Spark__Connect__ConfigRequest__Operation *operation = message->operation;
    config_response *made = NL_NEW(request->arena, config_response);
    spark__connect__config_response__init(made);
    made->session_id = NL_UNCONST(request->client->id.data);
    made->server_side_session_id = request->client->server_id;
    *answer = &made->base;
    switch (operation ? operation->op_type_case : SPARK__CONNECT__CONFIG_REQUEST__OPERATION__OP_TYPE__NOT_SET) {
    case SPARK__CONNECT__CONFIG_REQUEST__OPERATION__OP_TYPE_SET:
        return set_pairs(request, operation->set, made);
    case SPARK__CONNECT__CONFIG_REQUEST__OPERATION__OP_TYPE_GET:
        return get_keys(request, operation->get->keys, operation->get->n_keys, true, made);
    case SPARK__CONNECT__CONFIG_REQUEST__OPERATION__OP_TYPE_GET_OPTION:
        return get_keys(request, operation->get_option->keys, operation->get_option->n_keys, false, made);
    case SPARK__CONNECT__CONFIG_REQUEST__OPERATION__OP_TYPE_GET_WITH_DEFAULT:
        get_with_default(request, operation->get_with_default, made);
        return NULL;
    case SPARK__CONNECT__CONFIG_REQUEST__OPERATION__OP_TYPE_GET_ALL:
        get_all(request, nl_message_text(operation->get_all->prefix), made);
        return NULL;
    case SPARK__CONNECT__CONFIG_REQUEST__OPERATION__OP_TYPE_UNSET:
        return unset(request, operation->unset);
    case SPARK__CONNECT__CONFIG_REQUEST__OPERATION__OP_TYPE_IS_MODIFIABLE:
        are_modifiable(request, operation->is_modifiable, made);
        return NULL;
    case SPARK__CONNECT__CONFIG_REQUEST__OPERATION__OP_TYPE__NOT_SET:
    case _SPARK__CONNECT__CONFIG_REQUEST__OPERATION__OP_TYPE__CASE_IS_INT_SIZE:
    default:
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The operation of the Config request is not known.");
    }
}
