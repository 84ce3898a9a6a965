/* lakehouse/s3tables/documents.c - what is stored with a bucket or a table and given back: policies, encryption, storage
 * class, logging, metrics, maintenance, replication, record expiration, tags. Locally most of it is remembered only; what
 * really runs is maintenance. */
#include "lakehouse/maintenance/settings.h"
#include "lakehouse/s3tables/s3tables_private.h"

static nl_str owner_of(const nl_s3tables_call *call)
{
    const bool is_table = call->route->subject == NL_S3TABLES_TABLE || call->route->subject == NL_S3TABLES_QUERY_TABLE;
    return is_table ? call->table.uuid : call->bucket.token;
}

static nl_status write_member(nl_s3tables_call *call, nl_str text)
{
    const json_t *value;
    NL_TRY(nl_json_parse(call->arena, text, NL_STR("the data folder"), &value));
    nl_json_writer json = nl_s3tables_begin(call);
    nl_json_key(&json, call->route->member);
    nl_json_write_json(&json, json_object_get(value, "value"));
    nl_s3tables_end(call, &json);
    return NULL;
}

/* Documents are stored as {"value": …}, since a policy is a text and the others are objects. */
static nl_status store(nl_s3tables_call *call, nl_str owner, const char *document, const json_t *value)
{
    nl_builder text;
    nl_builder_init(&text, 1u << 20);
    nl_json_writer json = {.out = &text};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "value");
    nl_json_write_json(&json, value);
    nl_json_end(&json, '}');
    nl_status status = nl_builder_failed(&text) ? nl_s3tables_bad(call, "The %s is too long", document)
                                                : nl_tables_put_document(call->tables, owner, nl_str_from(document), nl_builder_str(&text));
    nl_builder_fini(&text);
    return status;
}

static nl_status load(nl_s3tables_call *call, nl_str owner, const char *document, const json_t **value)
{
    nl_str text;
    const json_t *json;
    *value = NULL;
    NL_TRY(nl_tables_get_document(call->tables, owner, nl_str_from(document), call->arena, &text));
    if (!text.data) return NULL;
    NL_TRY(nl_json_parse(call->arena, text, NL_STR("the data folder"), &json));
    *value = json_object_get(json, "value");
    return NULL;
}

static nl_status answer_setting(nl_s3tables_call *call, nl_str text)
{
    if (text.data) return write_member(call, text);
    if (!call->route->fallback) return nl_s3tables_refuse(call, 404, "NotFoundException", "The specified %s does not exist.", call->route->document);
    return write_member(call, nl_arena_f(call->arena, "{\"value\":%s}", call->route->fallback));
}

nl_status nl_s3tables_get_document(nl_s3tables_call *call)
{
    nl_str text;
    NL_TRY(nl_tables_get_document(call->tables, owner_of(call), nl_str_from(call->route->document), call->arena, &text));
    return answer_setting(call, text);
}

nl_status nl_s3tables_get_table_setting(nl_s3tables_call *call)
{
    nl_str text;
    NL_TRY(nl_tables_get_document(call->tables, call->table.uuid, nl_str_from(call->route->document), call->arena, &text));
    if (!text.data) NL_TRY(nl_tables_get_document(call->tables, call->bucket.token, nl_str_from(call->route->document), call->arena, &text));
    return answer_setting(call, text);
}

nl_status nl_s3tables_put_document(nl_s3tables_call *call)
{
    const json_t *value = call->body ? json_object_get(call->body, call->route->member) : NULL;
    if (!value || json_is_null(value)) return nl_s3tables_bad(call, "%s is required", call->route->member);
    NL_TRY(call->route->check(call, value));
    return store(call, owner_of(call), call->route->document, value);
}

nl_status nl_s3tables_delete_document(nl_s3tables_call *call)
{
    return nl_tables_put_document(call->tables, owner_of(call), nl_str_from(call->route->document), (nl_str){0});
}

/* ---- Checks ---- */

static bool is_one_of(const json_t *value, const char *a, const char *b)
{
    const char *text = json_string_value(value);
    return text && (strcmp(text, a) == 0 || strcmp(text, b) == 0);
}

nl_status nl_s3tables_check_object(nl_s3tables_call *call, const json_t *value)
{
    return json_is_object(value) ? NULL : nl_s3tables_bad(call, "%s is an object", call->route->member);
}

nl_status nl_s3tables_check_policy(nl_s3tables_call *call, const json_t *value)
{
    const json_t *policy;
    const nl_str text = {json_string_value(value), json_string_length(value)};
    if (!json_is_string(value) || text.length == 0 || text.length > 20480) return nl_s3tables_bad(call, "resourcePolicy is a text of 1 to 20480 bytes");
    nl_error *error = nl_json_parse(call->arena, text, NL_S3TABLES_BODY, &policy);
    const bool is_good = !error && json_is_object(policy);
    nl_error_free(error);
    return is_good ? NULL : nl_s3tables_bad(call, "The resource policy is not valid JSON.");
}

nl_status nl_s3tables_check_encryption(nl_s3tables_call *call, const json_t *value)
{
    const json_t *algorithm = json_object_get(value, "sseAlgorithm");
    const bool has_key = json_is_string(json_object_get(value, "kmsKeyArn"));
    if (!is_one_of(algorithm, "AES256", "aws:kms")) return nl_s3tables_bad(call, "sseAlgorithm is AES256 or aws:kms");
    const bool is_kms = strcmp(json_string_value(algorithm), "aws:kms") == 0;
    if (is_kms != has_key) return nl_s3tables_bad(call, "kmsKeyArn goes with sseAlgorithm aws:kms");
    return NULL;
}

nl_status nl_s3tables_check_storage_class(nl_s3tables_call *call, const json_t *value)
{
    return is_one_of(json_object_get(value, "storageClass"), "STANDARD", "INTELLIGENT_TIERING")
               ? NULL
               : nl_s3tables_bad(call, "storageClass is STANDARD or INTELLIGENT_TIERING");
}

nl_status nl_s3tables_check_expiration(nl_s3tables_call *call, const json_t *value)
{
    const json_t *status = json_object_get(value, "status"), *settings = json_object_get(value, "settings");
    const json_t *days = json_object_get(settings, "days");
    if (status && !is_one_of(status, "enabled", "disabled")) return nl_s3tables_bad(call, "status is enabled or disabled");
    if (days && (!json_is_integer(days) || json_integer_value(days) < 1 || json_integer_value(days) > INT32_MAX)) return nl_s3tables_bad(call, "days is at least 1");
    return NULL;
}

/* ---- What comes with creation ---- */

static nl_status read_tags(nl_s3tables_call *call, const json_t *tags)
{
    const char *key;
    json_t *value;
    if (!tags || json_is_null(tags)) return NULL;
    if (!json_is_object(tags) || json_object_size(tags) > 50) return nl_s3tables_bad(call, "tags is an object of at most 50 texts");
    json_object_foreach((json_t *)(uintptr_t)tags, key, value)
    {
        const size_t length = strlen(key);
        if (!json_is_string(value) || json_string_length(value) > 256 || length == 0 || length > 128) return nl_s3tables_bad(call, "The tag %s is not valid", key);
    }
    return NULL;
}

static const struct option_row {
    const char *member, *document;
    nl_status (*check)(nl_s3tables_call *call, const json_t *value);
} options[] = {
    {"encryptionConfiguration", "encryption", nl_s3tables_check_encryption},
    {"storageClassConfiguration", "storage-class", nl_s3tables_check_storage_class},
    {"tags", "tags", read_tags},
};

nl_status nl_s3tables_check_options(nl_s3tables_call *call)
{
    for (size_t i = 0; i < NL_COUNT(options); i++) {
        const json_t *value = json_object_get(call->body, options[i].member);
        if (value && !json_is_null(value)) NL_TRY(options[i].check(call, value));
    }
    return NULL;
}

nl_status nl_s3tables_keep_options(nl_s3tables_call *call, nl_str owner)
{
    for (size_t i = 0; i < NL_COUNT(options); i++) {
        const json_t *value = json_object_get(call->body, options[i].member);
        if (value && !json_is_null(value)) NL_TRY(store(call, owner, options[i].document, value));
    }
    return NULL;
}

/* ---- Metrics ---- */

nl_status nl_s3tables_get_metrics(nl_s3tables_call *call)
{
    const json_t *id;
    NL_TRY(load(call, call->bucket.token, "metrics", &id));
    if (!id) return nl_s3tables_not_found(call, "metrics configuration");
    nl_json_writer json = nl_s3tables_begin(call);
    nl_s3tables_text(&json, "tableBucketARN", call->bucket.arn);
    nl_json_key(&json, "id");
    nl_json_write_json(&json, id);
    nl_s3tables_end(call, &json);
    return NULL;
}

nl_status nl_s3tables_put_metrics(nl_s3tables_call *call)
{
    const nl_str id = nl_tables_new_token(call->arena);
    return nl_tables_put_document(call->tables, call->bucket.token, NL_STR("metrics"), nl_arena_f(call->arena, "{\"value\":\"" NL_STR_FMT "\"}", NL_STR_ARG(id)));
}

/* ---- Maintenance ---- */

static bool is_table_call(const nl_s3tables_call *call)
{
    return call->route->subject == NL_S3TABLES_TABLE;
}

static bool belongs(const nl_s3tables_call *call, nl_maintenance_kind kind)
{
    return (kind == NL_MAINTENANCE_UNREFERENCED) != is_table_call(call);
}

nl_status nl_s3tables_get_maintenance(nl_s3tables_call *call)
{
    nl_json_writer json = nl_s3tables_begin(call);
    if (is_table_call(call)) nl_s3tables_text(&json, "tableARN", nl_s3tables_table_arn(call, &call->bucket, call->table.uuid));
    else nl_s3tables_text(&json, "tableBucketARN", call->bucket.arn);
    nl_json_key(&json, "configuration");
    nl_json_begin(&json, '{');
    for (uint32_t kind = 0; kind < NL_MAINTENANCE_KIND_COUNT; kind++) {
        nl_maintenance_setting setting;
        if (!belongs(call, kind)) continue;
        NL_TRY(nl_maintenance_read(call->tables, owner_of(call), kind, call->arena, &setting));
        nl_json_key(&json, nl_maintenance_name(kind));
        nl_json_before_value(&json);
        nl_maintenance_append_json(kind, &setting, json.out);
        nl_json_after_value(&json);
    }
    nl_json_end(&json, '}');
    nl_s3tables_end(call, &json);
    return NULL;
}

nl_status nl_s3tables_put_maintenance(nl_s3tables_call *call)
{
    nl_maintenance_kind kind;
    const json_t *value = json_object_get(call->body, "value");
    if (!nl_maintenance_kind_of(call->type, &kind) || !belongs(call, kind)) return nl_s3tables_bad(call, "There is no such maintenance type here: " NL_STR_FMT, NL_STR_ARG(call->type));
    if (!json_is_object(value)) return nl_s3tables_bad(call, "value is required");
    return nl_maintenance_put(call->tables, owner_of(call), kind, value, call->arena);
}

static void write_outcome(nl_s3tables_call *call, nl_json_writer *json, const char *never, bool is_enabled, const nl_maintenance_outcome *outcome)
{
    const char *status = !is_enabled ? "Disabled" : !outcome->ran_micros ? never : outcome->failure.length ? "Failed" : "Successful";
    nl_s3tables_text(json, "status", nl_str_from(status));
    if (outcome->ran_micros) nl_s3tables_time(call, json, "lastRunTimestamp", outcome->ran_micros);
    if (outcome->failure.length) nl_s3tables_text(json, "failureMessage", outcome->failure);
}

nl_status nl_s3tables_get_job_status(nl_s3tables_call *call)
{
    nl_json_writer json = nl_s3tables_begin(call);
    nl_s3tables_text(&json, "tableARN", nl_s3tables_table_arn(call, &call->bucket, call->table.uuid));
    nl_json_key(&json, "status");
    nl_json_begin(&json, '{');
    for (uint32_t kind = 0; kind < NL_MAINTENANCE_KIND_COUNT; kind++) {
        nl_maintenance_setting setting;
        nl_maintenance_outcome outcome;
        const nl_str owner = kind == NL_MAINTENANCE_UNREFERENCED ? call->bucket.token : call->table.uuid;
        NL_TRY(nl_maintenance_read(call->tables, owner, kind, call->arena, &setting));
        NL_TRY(nl_maintenance_read_outcome(call->tables, call->table.uuid, kind, call->arena, &outcome));
        nl_json_key(&json, nl_maintenance_name(kind));
        nl_json_begin(&json, '{');
        write_outcome(call, &json, "Not_Yet_Run", setting.is_enabled, &outcome);
        nl_json_end(&json, '}');
    }
    nl_json_end(&json, '}');
    nl_s3tables_end(call, &json);
    return NULL;
}

nl_status nl_s3tables_get_expiration_status(nl_s3tables_call *call)
{
    const json_t *value;
    NL_TRY(load(call, call->table.uuid, "record-expiration", &value));
    const bool is_enabled = is_one_of(json_object_get(value, "status"), "enabled", "enabled");
    nl_json_writer json = nl_s3tables_begin(call);
    write_outcome(call, &json, "NotYetRun", is_enabled, &(nl_maintenance_outcome){0});
    nl_s3tables_end(call, &json);
    return NULL;
}

/* ---- Replication: remembered, never done ---- */

nl_status nl_s3tables_get_replication(nl_s3tables_call *call)
{
    const json_t *value;
    NL_TRY(load(call, owner_of(call), "replication", &value));
    if (!value) return nl_s3tables_not_found(call, "replication configuration");
    nl_json_writer json = nl_s3tables_begin(call);
    nl_json_write_members(&json, value);
    nl_s3tables_end(call, &json);
    return NULL;
}

static nl_status check_token(nl_s3tables_call *call, const json_t *stored)
{
    const nl_str given = nl_s3tables_parameter(call, "versionToken");
    const char *present = json_string_value(json_object_get(stored, "versionToken"));
    if (!given.length || !present || nl_str_is(given, present)) return NULL;
    return nl_s3tables_refuse(call, 409, "ConflictException", "The provided version token does not match the present one.");
}

nl_status nl_s3tables_put_replication(nl_s3tables_call *call)
{
    const json_t *stored, *value;
    const json_t *configuration = json_object_get(call->body, "configuration");
    if (!json_is_string(json_object_get(configuration, "role")) || !json_is_array(json_object_get(configuration, "rules")))
        return nl_s3tables_bad(call, "configuration with role and rules is required");
    NL_TRY(load(call, owner_of(call), "replication", &stored));
    NL_TRY(check_token(call, stored));
    const nl_str token = nl_tables_new_token(call->arena);
    nl_builder text;
    nl_builder_init(&text, 1u << 20);
    nl_json_writer document = {.out = &text};
    nl_json_begin(&document, '{');
    nl_s3tables_text(&document, "versionToken", token);
    nl_json_key(&document, "configuration");
    nl_json_write_json(&document, configuration);
    nl_json_end(&document, '}');
    nl_status status = nl_json_parse(call->arena, nl_arena_str(call->arena, nl_builder_str(&text)), NL_S3TABLES_BODY, &value);
    nl_builder_fini(&text);
    if (!status) status = store(call, owner_of(call), "replication", value);
    if (status) return status;
    nl_json_writer json = nl_s3tables_begin(call);
    nl_s3tables_text(&json, "versionToken", token);
    nl_s3tables_text(&json, "status", NL_STR("pending"));
    nl_s3tables_end(call, &json);
    return NULL;
}

nl_status nl_s3tables_delete_replication(nl_s3tables_call *call)
{
    const json_t *stored;
    NL_TRY(load(call, owner_of(call), "replication", &stored));
    if (!stored) return nl_s3tables_not_found(call, "replication configuration");
    NL_TRY(check_token(call, stored));
    return nl_tables_put_document(call->tables, owner_of(call), NL_STR("replication"), (nl_str){0});
}

nl_status nl_s3tables_get_replication_status(nl_s3tables_call *call)
{
    const json_t *stored, *rule, *destination;
    size_t i, k;
    NL_TRY(load(call, call->table.uuid, "replication", &stored));
    if (!stored) NL_TRY(load(call, call->bucket.token, "replication", &stored));
    if (!stored) return nl_s3tables_not_found(call, "replication configuration");
    nl_json_writer json = nl_s3tables_begin(call);
    nl_s3tables_text(&json, "sourceTableArn", nl_s3tables_table_arn(call, &call->bucket, call->table.uuid));
    nl_json_key(&json, "destinations");
    nl_json_begin(&json, '[');
    const json_t *rules = json_object_get(json_object_get(stored, "configuration"), "rules");
    json_array_foreach(rules, i, rule)
    {
        const json_t *destinations = json_object_get(rule, "destinations");
        json_array_foreach(destinations, k, destination)
        {
            const char *arn = json_string_value(json_object_get(destination, "destinationTableBucketARN"));
            if (!arn) continue;
            nl_json_begin(&json, '{');
            nl_s3tables_text(&json, "replicationStatus", NL_STR("pending"));
            nl_s3tables_text(&json, "destinationTableBucketArn", nl_str_from(arn));
            nl_json_end(&json, '}');
        }
    }
    nl_json_end(&json, ']');
    nl_s3tables_end(call, &json);
    return NULL;
}

nl_status nl_s3tables_disassociate(nl_s3tables_call *call)
{
    return nl_s3tables_bad(call, "The table is no replica: this service replicates nothing.");
}

/* ---- Tags: of a bucket or a table, by ARN ---- */

static nl_status find_tagged(nl_s3tables_call *call, nl_str *owner)
{
    if (nl_str_find(call->bucket_arn, NL_STR("/table/"), 0) != NL_NOT_FOUND) {
        NL_TRY(nl_s3tables_find_table_arn(call, call->bucket_arn));
        *owner = call->table.uuid;
        return NULL;
    }
    NL_TRY(nl_s3tables_find_bucket(call, call->bucket_arn, &call->bucket));
    *owner = call->bucket.token;
    return NULL;
}

nl_status nl_s3tables_list_tags(nl_s3tables_call *call)
{
    nl_str owner;
    const json_t *tags;
    NL_TRY(find_tagged(call, &owner));
    NL_TRY(load(call, owner, "tags", &tags));
    nl_json_writer json = nl_s3tables_begin(call);
    nl_json_key(&json, "tags");
    nl_json_begin(&json, '{');
    nl_json_write_members(&json, tags);
    nl_json_end(&json, '}');
    nl_s3tables_end(call, &json);
    return NULL;
}

static nl_status answer_nothing(nl_s3tables_call *call)
{
    if (call->route->status == 204) return NULL;
    nl_json_writer json = nl_s3tables_begin(call);
    nl_s3tables_end(call, &json);
    return NULL;
}

nl_status nl_s3tables_tag(nl_s3tables_call *call)
{
    nl_str owner;
    const json_t *stored;
    const json_t *tags = json_object_get(call->body, "tags");
    NL_TRY(find_tagged(call, &owner));
    if (!json_is_object(tags)) return nl_s3tables_bad(call, "tags is required");
    NL_TRY(read_tags(call, tags));
    NL_TRY(load(call, owner, "tags", &stored));
    json_t *merged = stored ? json_copy((json_t *)(uintptr_t)stored) : json_object();
    nl_status status = merged && json_object_update(merged, (json_t *)(uintptr_t)tags) == 0 ? read_tags(call, merged) : nl_s3tables_bad(call, "The tags could not be merged");
    if (!status) status = store(call, owner, "tags", merged);
    json_decref(merged);
    return status ? status : answer_nothing(call);
}

nl_status nl_s3tables_untag(nl_s3tables_call *call)
{
    nl_str owner, rest = call->request->query, part;
    const json_t *stored;
    NL_TRY(find_tagged(call, &owner));
    NL_TRY(load(call, owner, "tags", &stored));
    json_t *kept = stored ? json_copy((json_t *)(uintptr_t)stored) : json_object();
    while (nl_str_next_part(&rest, '&', &part)) { /* tagKeys comes once for each */
        nl_request one = *call->request;
        bool has;
        one.query = part;
        const nl_str key = nl_request_parameter(&one, "tagKeys", &has);
        if (has) json_object_deln(kept, key.data, key.length);
    }
    nl_status status = store(call, owner, "tags", kept);
    json_decref(kept);
    return status ? status : answer_nothing(call);
}

/* ---- Migration from Glue: nothing to migrate from ---- */

nl_status nl_s3tables_no_migration(nl_s3tables_call *call)
{
    return nl_s3tables_bad(call, "Table migration is not supported locally.");
}

nl_status nl_s3tables_list_migrations(nl_s3tables_call *call)
{
    nl_json_writer json = nl_s3tables_begin(call);
    nl_json_key(&json, "migrations");
    nl_json_begin(&json, '[');
    nl_json_end(&json, ']');
    nl_s3tables_end(call, &json);
    return NULL;
}
