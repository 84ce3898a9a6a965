/* connect/analyze.c - the AnalyzePlan call: what can be said of a plan without running it. */
#include "connect/service_private.h"

#include "connect/translate.h"
#include "sql/parser.h"

typedef Spark__Connect__AnalyzePlanRequest analyze_request;
typedef Spark__Connect__AnalyzePlanResponse analyze_response;

#define ANSWER(request, name, type)                                                        \
    Spark__Connect__AnalyzePlanResponse__##type *name = NL_NEW((request)->arena, Spark__Connect__AnalyzePlanResponse__##type)

static nl_status relation_of(const Spark__Connect__Plan *plan, const Spark__Connect__Relation **relation)
{
    if (!plan || plan->op_type_case != SPARK__CONNECT__PLAN__OP_TYPE_ROOT) return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "The plan is no relation.");
    *relation = plan->root;
    return NULL;
}

const nl_type *nl_connect_shown_type(nl_arena *arena, const nl_type *type)
{
    if (type->id == NL_TYPE_STRING) return type->string_kind == NL_STRING_PLAIN ? type : nl_type_string();
    if (type->child_count == 0) return type;
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, type->child_count);
    bool is_same = true;
    for (uint32_t i = 0; i < type->child_count; i++) {
        fields[i] = type->children[i];
        fields[i].type = nl_connect_shown_type(arena, fields[i].type);
        is_same &= fields[i].type == type->children[i].type;
    }
    if (is_same) return type;
    nl_type *made = NL_NEW(arena, nl_type);
    *made = *type;
    made->children = fields;
    return made;
}

/* ---- schema ------------------------------------------------------------------------------------------------------- */

static nl_status answer_schema(nl_request *request, const Spark__Connect__Plan *plan, analyze_response *answer)
{
    const Spark__Connect__Relation *relation = NULL;
    nl_result *result = NULL;
    ANSWER(request, made, Schema);
    spark__connect__analyze_plan_response__schema__init(made);
    NL_TRY(relation_of(plan, &relation));
    NL_TRY(nl_connect_analyze(&request->client->host, relation, &result));
    nl_status status = nl_connect_type_to_proto(request->arena, nl_connect_shown_type(request->arena, nl_result_schema(result)), &made->schema);
    nl_result_close(result);
    answer->schema = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_SCHEMA;
    return status;
}

/* The lines of the tree that are at most `level` deep. */
static nl_str cut_tree(nl_arena *arena, nl_str tree, int32_t level)
{
    nl_builder out;
    nl_str line, kept;
    nl_builder_init(&out, tree.length + 1);
    while (nl_str_next_part(&tree, '\n', &line)) {
        const size_t dashes = nl_str_find(line, NL_STR("|--"), 0);
        const int32_t depth = dashes == NL_NOT_FOUND ? 0 : (int32_t)((dashes - 1) / 5) + 1;
        if (depth > level) continue;
        nl_append(&out, line);
        nl_append_char(&out, '\n');
    }
    kept = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return kept;
}

static nl_status answer_tree(nl_request *request, const Spark__Connect__AnalyzePlanRequest__TreeString *wanted, analyze_response *answer)
{
    const Spark__Connect__Relation *relation = NULL;
    nl_result *result = NULL;
    ANSWER(request, made, TreeString);
    spark__connect__analyze_plan_response__tree_string__init(made);
    NL_TRY(relation_of(wanted->plan, &relation));
    NL_TRY(nl_connect_analyze(&request->client->host, relation, &result));
    nl_str tree = nl_type_tree(request->arena, nl_connect_shown_type(request->arena, nl_result_schema(result)));
    nl_result_close(result);
    if (wanted->has_level && wanted->level > 0) tree = cut_tree(request->arena, tree, wanted->level);
    made->tree_string = NL_UNCONST(nl_str_c(request->arena, tree));
    answer->tree_string = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_TREE_STRING;
    return NULL;
}

static nl_status answer_explain(nl_request *request, const Spark__Connect__AnalyzePlanRequest__Explain *wanted, analyze_response *answer)
{
    const Spark__Connect__Relation *relation = NULL;
    nl_str text;
    ANSWER(request, made, Explain);
    spark__connect__analyze_plan_response__explain__init(made);
    NL_TRY(relation_of(wanted->plan, &relation));
    NL_TRY(nl_connect_explain(&request->client->host, relation, (int)wanted->explain_mode, request->arena, &text));
    made->explain_string = NL_UNCONST(nl_str_c(request->arena, text));
    answer->explain = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_EXPLAIN;
    return NULL;
}

static nl_status answer_files(nl_request *request, const Spark__Connect__Plan *plan, analyze_response *answer)
{
    const Spark__Connect__Relation *relation = NULL;
    const nl_str *files = NULL;
    uint32_t count = 0;
    ANSWER(request, made, InputFiles);
    spark__connect__analyze_plan_response__input_files__init(made);
    NL_TRY(relation_of(plan, &relation));
    NL_TRY(nl_connect_input_files(&request->client->host, relation, request->arena, &files, &count));
    made->files = NL_NEW_ARRAY(request->arena, char *, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) made->files[made->n_files++] = NL_UNCONST(nl_str_c(request->arena, files[i]));
    answer->input_files = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_INPUT_FILES;
    return NULL;
}

/* ---- facts of the plan's form ------------------------------------------------------------------------------------- */

/* A plan that cannot be analyzed has no form: clients ask for one to check the names of columns. */
static nl_status check_plan(nl_request *request, const Spark__Connect__Relation *relation)
{
    nl_result *result = NULL;
    NL_TRY(nl_connect_analyze(&request->client->host, relation, &result));
    nl_result_close(result);
    return NULL;
}

static nl_status answer_local(nl_request *request, const Spark__Connect__Plan *plan, analyze_response *answer)
{
    const Spark__Connect__Relation *relation = NULL;
    ANSWER(request, made, IsLocal);
    spark__connect__analyze_plan_response__is_local__init(made);
    NL_TRY(relation_of(plan, &relation));
    NL_TRY(check_plan(request, relation));
    made->has_is_local = true;
    made->is_local = relation->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_LOCAL_RELATION || relation->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_CACHED_LOCAL_RELATION;
    answer->is_local = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_IS_LOCAL;
    return NULL;
}

static nl_status answer_streaming(nl_request *request, const Spark__Connect__Plan *plan, analyze_response *answer)
{
    const Spark__Connect__Relation *relation = NULL;
    bool is_streaming = false;
    ANSWER(request, made, IsStreaming);
    spark__connect__analyze_plan_response__is_streaming__init(made);
    NL_TRY(relation_of(plan, &relation));
    NL_TRY(nl_connect_is_streaming(&request->client->host, relation, &is_streaming));
    made->has_is_streaming = true;
    made->is_streaming = is_streaming;
    answer->is_streaming = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_IS_STREAMING;
    return NULL;
}

static nl_status answer_same(nl_request *request, const Spark__Connect__AnalyzePlanRequest__SameSemantics *wanted, analyze_response *answer)
{
    const Spark__Connect__Relation *target = NULL, *other = NULL;
    bool is_same = false;
    ANSWER(request, made, SameSemantics);
    spark__connect__analyze_plan_response__same_semantics__init(made);
    NL_TRY(relation_of(wanted->target_plan, &target));
    NL_TRY(relation_of(wanted->other_plan, &other));
    NL_TRY(nl_connect_same(&request->client->host, target, other, &is_same));
    made->has_result = true;
    made->result = is_same;
    answer->same_semantics = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_SAME_SEMANTICS;
    return NULL;
}

static nl_status answer_hash(nl_request *request, const Spark__Connect__Plan *plan, analyze_response *answer)
{
    const Spark__Connect__Relation *relation = NULL;
    uint64_t hash = 0;
    ANSWER(request, made, SemanticHash);
    spark__connect__analyze_plan_response__semantic_hash__init(made);
    NL_TRY(relation_of(plan, &relation));
    NL_TRY(nl_connect_semantic_hash(&request->client->host, relation, &hash));
    made->has_result = true;
    made->result = (int32_t)(uint32_t)hash;
    answer->semantic_hash = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_SEMANTIC_HASH;
    return NULL;
}

/* ---- types -------------------------------------------------------------------------------------------------------- */

static nl_status answer_ddl(nl_request *request, const Spark__Connect__AnalyzePlanRequest__DDLParse *wanted, analyze_response *answer)
{
    const nl_type *type = NULL;
    ANSWER(request, made, DDLParse);
    spark__connect__analyze_plan_response__ddlparse__init(made);
    NL_TRY(nl_connect_parse_ddl(request->arena, nl_message_text(wanted->ddl_string), &type));
    NL_TRY(nl_connect_type_to_proto(request->arena, type, &made->parsed));
    answer->ddl_parse = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_DDL_PARSE;
    return NULL;
}

/* In back-quotes unless it is a plain word. */
static void append_name(nl_builder *out, nl_str name)
{
    bool is_plain = name.length > 0 && !(name.data[0] >= '0' && name.data[0] <= '9');
    for (size_t i = 0; i < name.length && is_plain; i++) {
        const char c = name.data[i];
        is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }
    if (!is_plain) nl_append_char(out, '`');
    for (size_t i = 0; i < name.length; i++) {
        if (name.data[i] == '`') nl_append_char(out, '`');
        nl_append_char(out, name.data[i]);
    }
    if (!is_plain) nl_append_char(out, '`');
}

/* StructType.toDDL: the columns of CREATE TABLE. */
static nl_status answer_json(nl_request *request, const Spark__Connect__AnalyzePlanRequest__JsonToDDL *wanted, analyze_response *answer)
{
    const nl_type *type = NULL;
    nl_builder out;
    ANSWER(request, made, JsonToDDL);
    spark__connect__analyze_plan_response__json_to_ddl__init(made);
    NL_TRY(nl_sql_parse_json_type(request->arena, nl_message_text(wanted->json_string), &type));
    if (type->id != NL_TYPE_STRUCT) return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "The schema is no struct.");
    nl_builder_init(&out, NL_RPC_MESSAGE_BYTES_MAX);
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_field *field = &type->children[i];
        if (i > 0) nl_append_char(&out, ',');
        append_name(&out, field->name);
        nl_append_char(&out, ' ');
        nl_append(&out, nl_type_sql(request->arena, field->type));
        if (!field->is_nullable) nl_append_c(&out, " NOT NULL");
        if (field->comment.length == 0) continue;
        nl_append_c(&out, " COMMENT '");
        for (size_t k = 0; k < field->comment.length; k++) {
            if (field->comment.data[k] == '\'') nl_append_char(&out, '\\');
            nl_append_char(&out, field->comment.data[k]);
        }
        nl_append_char(&out, '\'');
    }
    made->ddl_string = NL_UNCONST(nl_str_c(request->arena, nl_builder_str(&out)));
    nl_builder_fini(&out);
    answer->json_to_ddl = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_JSON_TO_DDL;
    return NULL;
}

/* ---- caching ------------------------------------------------------------------------------------------------------ */

static nl_status answer_persist(nl_request *request, const Spark__Connect__AnalyzePlanRequest__Persist *wanted, analyze_response *answer)
{
    ANSWER(request, made, Persist);
    spark__connect__analyze_plan_response__persist__init(made);
    answer->persist = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_PERSIST;
    return nl_connect_persist(&request->client->host, wanted->relation, wanted->storage_level);
}

static nl_status answer_unpersist(nl_request *request, const Spark__Connect__AnalyzePlanRequest__Unpersist *wanted, analyze_response *answer)
{
    ANSWER(request, made, Unpersist);
    spark__connect__analyze_plan_response__unpersist__init(made);
    answer->unpersist = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_UNPERSIST;
    return nl_connect_unpersist(&request->client->host, wanted->relation);
}

static nl_status answer_level(nl_request *request, const Spark__Connect__AnalyzePlanRequest__GetStorageLevel *wanted, analyze_response *answer)
{
    nl_storage_level known = {.replication = 1};
    bool is_found = false;
    ANSWER(request, made, GetStorageLevel);
    Spark__Connect__StorageLevel *level = NL_NEW(request->arena, Spark__Connect__StorageLevel);
    spark__connect__analyze_plan_response__get_storage_level__init(made);
    spark__connect__storage_level__init(level);
    NL_TRY(nl_connect_storage_level(&request->client->host, wanted->relation, &known, &is_found));
    level->has_use_disk = level->has_use_memory = level->has_use_off_heap = level->has_deserialized = level->has_replication = true;
    level->use_disk = known.use_disk;
    level->use_memory = known.use_memory;
    level->use_off_heap = known.use_off_heap;
    level->deserialized = known.deserialized;
    level->replication = known.replication;
    made->storage_level = level;
    answer->get_storage_level = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_GET_STORAGE_LEVEL;
    return NULL;
}

static nl_status answer_version(nl_request *request, analyze_response *answer)
{
    static const char version[] = "4.0.1"; /* clients compare it with their own */
    ANSWER(request, made, SparkVersion);
    spark__connect__analyze_plan_response__spark_version__init(made);
    made->version = NL_UNCONST(version);
    answer->spark_version = made;
    answer->result_case = SPARK__CONNECT__ANALYZE_PLAN_RESPONSE__RESULT_SPARK_VERSION;
    return NULL;
}

nl_status nl_answer_analyze(nl_request *request, ProtobufCMessage **answer)
{
    const analyze_request *message = (const analyze_request *)(const void *)request->message;
    analyze_response *made = NL_NEW(request->arena, analyze_response);
    spark__connect__analyze_plan_response__init(made);
    made->session_id = NL_UNCONST(request->client->id.data);
    made->server_side_session_id = request->client->server_id;
    *answer = &made->base;
    switch (message->analyze_case) {
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_SCHEMA:
        return answer_schema(request, message->schema->plan, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_EXPLAIN:
        return answer_explain(request, message->explain, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_TREE_STRING:
        return answer_tree(request, message->tree_string, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_IS_LOCAL:
        return answer_local(request, message->is_local->plan, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_IS_STREAMING:
        return answer_streaming(request, message->is_streaming->plan, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_INPUT_FILES:
        return answer_files(request, message->input_files->plan, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_SPARK_VERSION:
        return answer_version(request, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_DDL_PARSE:
        return answer_ddl(request, message->ddl_parse, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_SAME_SEMANTICS:
        return answer_same(request, message->same_semantics, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_SEMANTIC_HASH:
        return answer_hash(request, message->semantic_hash->plan, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_PERSIST:
        return answer_persist(request, message->persist, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_UNPERSIST:
        return answer_unpersist(request, message->unpersist, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_GET_STORAGE_LEVEL:
        return answer_level(request, message->get_storage_level, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE_JSON_TO_DDL:
        return answer_json(request, message->json_to_ddl, made);
    case SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE__NOT_SET:
    case _SPARK__CONNECT__ANALYZE_PLAN_REQUEST__ANALYZE__CASE_IS_INT_SIZE:
    default:
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The question of the AnalyzePlan request is not known.");
    }
}
