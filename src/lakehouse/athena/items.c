/* lakehouse/athena/items.c - what Athena keeps: rows of (kind, name) with JSON; work groups, named queries, prepared
 * statements and tags are no more than that. */
#include "lakehouse/athena/athena_private.h"

#include "base/uuid.h"

/* ---- the table ------------------------------------------------------------------------------------------------- */

nl_status nl_athena_items_open(nl_athena *athena)
{
    static const char *const versions[] = {
        "CREATE TABLE athena_items (made INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, name TEXT NOT NULL, json TEXT NOT NULL, UNIQUE (kind, name));"
        "CREATE INDEX athena_items_by_kind ON athena_items (kind, made);",
    };
    NL_TRY(nl_state_migrate(athena->tables->state, "athena", versions, NL_COUNT(versions)));
    nl_str primary;
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = nl_athena_get_item(athena, "workgroup", NL_STR(NL_ATHENA_WORK_GROUP), arena, &primary);
    if (!status && !primary.data)
        status = nl_athena_put_item(athena, "workgroup", NL_STR(NL_ATHENA_WORK_GROUP),
                                    NL_STR("{\"Name\":\"primary\",\"State\":\"ENABLED\",\"Configuration\":{\"ResultConfiguration\":{},\"EnforceWorkGroupConfiguration\":false,"
                                           "\"PublishCloudWatchMetricsEnabled\":false,\"RequesterPaysEnabled\":false,\"EngineVersion\":{\"SelectedEngineVersion\":\"AUTO\","
                                           "\"EffectiveEngineVersion\":\"Athena engine version 3\"}},\"CreationTime\":0}"),
                                    false);
    nl_arena_free(arena);
    return status;
}

typedef struct item_work {
    const char *kind;
    nl_str name, json, prefix, after;
    bool must_be_new, is_reversed;
    int64_t count_max;
    nl_arena *arena;
    nl_list found; /* nl_athena_item * */
} item_work;

static nl_status put_work(void *argument, nl_sqlite *database)
{
    item_work *self = argument;
    nl_sqlite_statement *statement;
    if (!self->json.data) NL_TRY(nl_sqlite_prepare(database, "DELETE FROM athena_items WHERE kind = ? AND name = ?", &statement));
    else if (self->must_be_new) NL_TRY(nl_sqlite_prepare(database, "INSERT INTO athena_items (kind, name, json) VALUES (?, ?, ?)", &statement));
    else
        NL_TRY(nl_sqlite_prepare(database, "INSERT INTO athena_items (kind, name, json) VALUES (?, ?, ?) ON CONFLICT (kind, name) DO UPDATE SET json = excluded.json",
                                 &statement));
    nl_sqlite_bind_text(statement, 1, nl_str_from(self->kind));
    nl_sqlite_bind_text(statement, 2, self->name);
    if (self->json.data) nl_sqlite_bind_text(statement, 3, self->json);
    return nl_sqlite_finish(statement, NULL);
}

nl_status nl_athena_put_item(nl_athena *athena, const char *kind, nl_str name, nl_str json, bool must_be_new)
{
    item_work work = {.kind = kind, .name = name, .json = json, .must_be_new = must_be_new};
    return nl_state_write(athena->tables->state, put_work, &work);
}

static nl_status get_work(void *argument, nl_sqlite *database)
{
    item_work *self = argument;
    nl_sqlite_statement *statement;
    bool has_row;
    NL_TRY(nl_sqlite_prepare(database, "SELECT json FROM athena_items WHERE kind = ? AND name = ?", &statement));
    nl_sqlite_bind_text(statement, 1, nl_str_from(self->kind));
    nl_sqlite_bind_text(statement, 2, self->name);
    NL_TRY(nl_sqlite_step(statement, &has_row));
    self->json = has_row ? nl_sqlite_text(statement, 0, self->arena) : (nl_str){0};
    nl_sqlite_reset(statement);
    return NULL;
}

nl_status nl_athena_get_item(nl_athena *athena, const char *kind, nl_str name, nl_arena *arena, nl_str *json)
{
    item_work work = {.kind = kind, .name = name, .arena = arena};
    NL_TRY(nl_state_read(athena->tables->state, get_work, &work));
    *json = work.json;
    return NULL;
}

static nl_status list_work(void *argument, nl_sqlite *database)
{
    item_work *self = argument;
    nl_sqlite_statement *statement;
    if (self->is_reversed)
        NL_TRY(nl_sqlite_prepare(database,
                                 "SELECT name, json FROM athena_items WHERE kind = ?1 AND substr(name, 1, length(?2)) = ?2 AND (?3 = '' OR made < "
                                 "(SELECT made FROM athena_items WHERE kind = ?1 AND name = ?3)) ORDER BY made DESC LIMIT ?4",
                                 &statement));
    else
        NL_TRY(nl_sqlite_prepare(database,
                                 "SELECT name, json FROM athena_items WHERE kind = ?1 AND substr(name, 1, length(?2)) = ?2 AND (?3 = '' OR made > "
                                 "(SELECT made FROM athena_items WHERE kind = ?1 AND name = ?3)) ORDER BY made LIMIT ?4",
                                 &statement));
    nl_sqlite_bind_text(statement, 1, nl_str_from(self->kind));
    nl_sqlite_bind_text(statement, 2, self->prefix.data ? self->prefix : NL_STR(""));
    nl_sqlite_bind_text(statement, 3, self->after.data ? self->after : NL_STR(""));
    nl_sqlite_bind_int(statement, 4, self->count_max);
    for (bool has_row;;) {
        NL_TRY(nl_sqlite_step(statement, &has_row));
        if (!has_row) return nl_arena_check(self->arena);
        nl_athena_item *item = NL_NEW(self->arena, nl_athena_item);
        item->name = nl_sqlite_text(statement, 0, self->arena);
        item->json = nl_sqlite_text(statement, 1, self->arena);
        nl_list_add(self->arena, &self->found, item);
    }
}

nl_status nl_athena_list_items(nl_athena *athena, const char *kind, nl_str name_prefix, nl_str after, int64_t count_max, bool is_reversed, nl_arena *arena,
                               nl_athena_item **items, uint32_t *count)
{
    item_work work = {.kind = kind, .prefix = name_prefix, .after = after, .count_max = count_max, .is_reversed = is_reversed, .arena = arena};
    NL_TRY(nl_state_read(athena->tables->state, list_work, &work));
    *items = NL_NEW_ARRAY(arena, nl_athena_item, work.found.count);
    *count = work.found.count;
    for (uint32_t i = 0; i < work.found.count; i++) (*items)[i] = *(nl_athena_item *)work.found.items[i];
    return NULL;
}

/* ---- what the operations share --------------------------------------------------------------------------------- */

static void set_text(json_t *object, const char *key, nl_str text)
{
    if (text.data) json_object_set_new(object, key, json_stringn(text.data, text.length));
}

static void set_now(json_t *object, const char *key)
{
    json_object_set_new(object, key, json_real((double)nl_now_micros() / 1e6));
}

static nl_str as_text(nl_athena_call *call, const json_t *json)
{
    nl_builder text;
    nl_builder_init(&text, 16u << 20);
    nl_json_writer writer = {.out = &text};
    nl_json_write_json(&writer, json);
    const nl_str kept = nl_arena_str(call->arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return kept;
}

static void free_json(void *json)
{
    json_decref(json);
}

/* A new object that lives as long as the request. */
static json_t *new_object(nl_athena_call *call)
{
    json_t *object = json_object();
    nl_arena_on_free(call->arena, free_json, object);
    return object;
}

/* A stored item as an object that may be changed; *object NULL: there is none. */
static nl_status load(nl_athena_call *call, const char *kind, nl_str name, json_t **object)
{
    nl_str text;
    const json_t *json;
    *object = NULL;
    NL_TRY(nl_athena_get_item(call->athena, kind, name, call->arena, &text));
    if (!text.data) return NULL;
    NL_TRY(nl_json_parse(call->arena, text, NL_STR("the data folder"), &json));
    *object = json_deep_copy(json);
    nl_arena_on_free(call->arena, free_json, *object);
    return NULL;
}

static nl_status answer_nothing(nl_athena_call *call)
{
    nl_json_writer json = nl_athena_begin(call);
    nl_athena_end(call, &json);
    return NULL;
}

static nl_status answer_object(nl_athena_call *call, const char *key, const json_t *object)
{
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, key);
    nl_json_write_json(&json, object);
    nl_athena_end(call, &json);
    return NULL;
}

/* Pages of names: the token is the last name that was given. */
static nl_status answer_list(nl_athena_call *call, const char *kind, nl_str prefix, const char *key, void (*write)(nl_json_writer *json, const nl_athena_item *item, const json_t *object))
{
    int64_t size;
    nl_athena_item *items;
    uint32_t count;
    NL_TRY(nl_athena_page_size(call, "MaxResults", 50, &size));
    NL_TRY(nl_athena_list_items(call->athena, kind, prefix, nl_athena_text(call, call->body, "NextToken"), size + 1, false, call->arena, &items, &count));
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, key);
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < count && i < size; i++) {
        const json_t *object;
        NL_TRY(nl_json_parse(call->arena, items[i].json, NL_STR("the data folder"), &object));
        write(&json, &items[i], object);
    }
    nl_json_end(&json, ']');
    if (count > size) nl_athena_write_text(&json, "NextToken", items[size - 1].name);
    nl_athena_end(call, &json);
    return NULL;
}

static void write_member(nl_json_writer *json, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!value) return;
    nl_json_key(json, key);
    nl_json_write_json(json, value);
}

/* ---- work groups ----------------------------------------------------------------------------------------------- */

static nl_status need_work_group(nl_athena_call *call, nl_str name, json_t **group)
{
    NL_TRY(load(call, "workgroup", name, group));
    return *group ? NULL : nl_athena_invalid(call, "WorkGroup " NL_STR_FMT " is not found.", NL_STR_ARG(name));
}

nl_status nl_athena_work_group_location(nl_athena_call *call, nl_str work_group, nl_str *location)
{
    json_t *group;
    NL_TRY(need_work_group(call, work_group, &group));
    const json_t *state = json_object_get(group, "State");
    if (json_is_string(state) && nl_str_is(nl_str_from(json_string_value(state)), "DISABLED"))
        return nl_athena_invalid(call, "WorkGroup " NL_STR_FMT " is disabled.", NL_STR_ARG(work_group));
    *location = nl_athena_text(call, json_object_get(json_object_get(group, "Configuration"), "ResultConfiguration"), "OutputLocation");
    return NULL;
}

nl_status nl_athena_create_work_group(nl_athena_call *call)
{
    nl_str name;
    NL_TRY(nl_athena_need(call, "Name", &name));
    json_t *group = new_object(call);
    json_t *configuration = json_deep_copy(json_object_get(call->body, "Configuration"));
    if (!configuration) configuration = json_object();
    if (!json_object_get(configuration, "ResultConfiguration")) json_object_set_new(configuration, "ResultConfiguration", json_object());
    json_object_set_new(configuration, "EngineVersion",
                        json_pack("{s:s,s:s}", "SelectedEngineVersion", "AUTO", "EffectiveEngineVersion", "Athena engine version 3"));
    set_text(group, "Name", name);
    set_text(group, "State", NL_STR("ENABLED"));
    set_text(group, "Description", nl_athena_text(call, call->body, "Description"));
    json_object_set_new(group, "Configuration", configuration);
    set_now(group, "CreationTime");
    nl_status status = nl_athena_put_item(call->athena, "workgroup", name, as_text(call, group), true);
    if (status && nl_sqlite_is_duplicate(status)) {
        nl_error_free(status);
        return nl_athena_invalid(call, "WorkGroup is already created");
    }
    return status ? status : answer_nothing(call);
}

nl_status nl_athena_get_work_group(nl_athena_call *call)
{
    nl_str name;
    json_t *group;
    NL_TRY(nl_athena_need(call, "WorkGroup", &name));
    NL_TRY(need_work_group(call, name, &group));
    return answer_object(call, "WorkGroup", group);
}

static void write_work_group(nl_json_writer *json, const nl_athena_item *item, const json_t *object)
{
    (void)item;
    nl_json_begin(json, '{');
    write_member(json, object, "Name");
    write_member(json, object, "State");
    write_member(json, object, "Description");
    write_member(json, object, "CreationTime");
    nl_json_key(json, "EngineVersion");
    nl_json_write_json(json, json_object_get(json_object_get(object, "Configuration"), "EngineVersion"));
    nl_json_end(json, '}');
}

nl_status nl_athena_list_work_groups(nl_athena_call *call)
{
    return answer_list(call, "workgroup", NL_STR(""), "WorkGroups", write_work_group);
}

/* ConfigurationUpdates has the members of Configuration, and Remove… for those that go. */
static void update_configuration(json_t *configuration, const json_t *updates)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)updates, key, value) {
        if (nl_str_is(nl_str_from(key), "ResultConfigurationUpdates")) {
            json_t *result = json_object();
            const json_t *location = json_object_get(value, "OutputLocation"), *removed = json_object_get(value, "RemoveOutputLocation");
            const json_t *old = json_object_get(json_object_get(configuration, "ResultConfiguration"), "OutputLocation");
            if (location) json_object_set(result, "OutputLocation", (json_t *)(uintptr_t)location);
            else if (old && !json_is_true(removed)) json_object_set(result, "OutputLocation", (json_t *)(uintptr_t)old);
            json_object_set_new(configuration, "ResultConfiguration", result);
        } else if (!nl_str_starts(nl_str_from(key), NL_STR("Remove"))) {
            json_object_set(configuration, key, value);
        }
    }
}

nl_status nl_athena_update_work_group(nl_athena_call *call)
{
    nl_str name;
    json_t *group;
    NL_TRY(nl_athena_need(call, "WorkGroup", &name));
    NL_TRY(need_work_group(call, name, &group));
    set_text(group, "Description", nl_athena_text(call, call->body, "Description"));
    set_text(group, "State", nl_athena_text(call, call->body, "State"));
    const json_t *updates = json_object_get(call->body, "ConfigurationUpdates");
    if (updates) update_configuration(json_object_get(group, "Configuration"), updates);
    NL_TRY(nl_athena_put_item(call->athena, "workgroup", name, as_text(call, group), false));
    return answer_nothing(call);
}

nl_status nl_athena_delete_work_group(nl_athena_call *call)
{
    nl_str name;
    json_t *group;
    NL_TRY(nl_athena_need(call, "WorkGroup", &name));
    if (nl_str_is(name, NL_ATHENA_WORK_GROUP)) return nl_athena_invalid(call, "WorkGroup primary cannot be deleted");
    NL_TRY(need_work_group(call, name, &group));
    NL_TRY(nl_athena_put_item(call->athena, "workgroup", name, (nl_str){0}, false));
    return answer_nothing(call);
}

/* ---- named queries --------------------------------------------------------------------------------------------- */

static nl_status need_named_query(nl_athena_call *call, nl_str id, json_t **query)
{
    NL_TRY(load(call, "named", id, query));
    return *query ? NULL : nl_athena_invalid(call, "NamedQuery " NL_STR_FMT " was not found", NL_STR_ARG(id));
}

nl_status nl_athena_create_named_query(nl_athena_call *call)
{
    static const char *const keys[] = {"Name", "Database", "QueryString"};
    uint8_t bytes[16];
    char id[NL_UUID_TEXT_LENGTH];
    json_t *query = new_object(call), *group;
    nl_str work_group = nl_athena_text(call, call->body, "WorkGroup");
    if (!work_group.length) work_group = NL_STR(NL_ATHENA_WORK_GROUP);
    NL_TRY(need_work_group(call, work_group, &group));
    for (size_t i = 0; i < NL_COUNT(keys); i++) {
        nl_str text;
        NL_TRY(nl_athena_need(call, keys[i], &text));
        set_text(query, keys[i], text);
    }
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, id);
    set_text(query, "Description", nl_athena_text(call, call->body, "Description"));
    set_text(query, "NamedQueryId", (nl_str){id, sizeof(id)});
    set_text(query, "WorkGroup", work_group);
    NL_TRY(nl_athena_put_item(call->athena, "named", (nl_str){id, sizeof(id)}, as_text(call, query), true));
    nl_json_writer json = nl_athena_begin(call);
    nl_athena_write_text(&json, "NamedQueryId", (nl_str){id, sizeof(id)});
    nl_athena_end(call, &json);
    return NULL;
}

nl_status nl_athena_get_named_query(nl_athena_call *call)
{
    nl_str id;
    json_t *query;
    NL_TRY(nl_athena_need(call, "NamedQueryId", &id));
    NL_TRY(need_named_query(call, id, &query));
    return answer_object(call, "NamedQuery", query);
}

/* Those that are there, and the names of those that are not. */
static nl_status batch_get(nl_athena_call *call, const char *kind, nl_str prefix, const char *ids_key, const char *found_key, const char *missing_key, const char *id_key)
{
    const json_t *ids = json_object_get(call->body, ids_key);
    if (!json_is_array(ids) || json_array_size(ids) > 256) return nl_athena_invalid(call, "%s is missing, or has too many", ids_key);
    json_t *found = json_array(), *missing = json_array();
    nl_arena_on_free(call->arena, free_json, found);
    nl_arena_on_free(call->arena, free_json, missing);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const nl_str id = nl_str_from(json_string_value(json_array_get(ids, i)));
        json_t *object;
        NL_TRY(load(call, kind, nl_arena_f(call->arena, NL_STR_FMT NL_STR_FMT, NL_STR_ARG(prefix), NL_STR_ARG(id)), &object));
        if (object) json_array_append(found, object);
        else json_array_append_new(missing, json_pack("{s:s%,s:s,s:s}", id_key, id.data ? id.data : "", id.length, "ErrorCode", "INVALID_INPUT", "ErrorMessage", "It was not found"));
    }
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, found_key);
    nl_json_write_json(&json, found);
    nl_json_key(&json, missing_key);
    nl_json_write_json(&json, missing);
    nl_athena_end(call, &json);
    return NULL;
}

nl_status nl_athena_batch_get_named_query(nl_athena_call *call)
{
    return batch_get(call, "named", NL_STR(""), "NamedQueryIds", "NamedQueries", "UnprocessedNamedQueryIds", "NamedQueryId");
}

static void write_name(nl_json_writer *json, const nl_athena_item *item, const json_t *object)
{
    (void)object;
    nl_json_write_text(json, item->name);
}

nl_status nl_athena_list_named_queries(nl_athena_call *call)
{
    return answer_list(call, "named", NL_STR(""), "NamedQueryIds", write_name);
}

nl_status nl_athena_update_named_query(nl_athena_call *call)
{
    nl_str id;
    json_t *query;
    NL_TRY(nl_athena_need(call, "NamedQueryId", &id));
    NL_TRY(need_named_query(call, id, &query));
    set_text(query, "Name", nl_athena_text(call, call->body, "Name"));
    set_text(query, "Description", nl_athena_text(call, call->body, "Description"));
    set_text(query, "QueryString", nl_athena_text(call, call->body, "QueryString"));
    NL_TRY(nl_athena_put_item(call->athena, "named", id, as_text(call, query), false));
    return answer_nothing(call);
}

nl_status nl_athena_delete_named_query(nl_athena_call *call)
{
    nl_str id;
    json_t *query;
    NL_TRY(nl_athena_need(call, "NamedQueryId", &id));
    NL_TRY(need_named_query(call, id, &query));
    NL_TRY(nl_athena_put_item(call->athena, "named", id, (nl_str){0}, false));
    return answer_nothing(call);
}

/* ---- prepared statements: named "<work group>/<statement>" ------------------------------------------------------ */

static nl_status prepared_name(nl_athena_call *call, nl_str *statement, nl_str *name)
{
    nl_str work_group;
    NL_TRY(nl_athena_need(call, "WorkGroup", &work_group));
    NL_TRY(nl_athena_need(call, "StatementName", statement));
    *name = nl_arena_f(call->arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(work_group), NL_STR_ARG(*statement));
    return NULL;
}

static nl_status need_prepared(nl_athena_call *call, nl_str *name, json_t **prepared)
{
    nl_str statement;
    NL_TRY(prepared_name(call, &statement, name));
    NL_TRY(load(call, "prepared", *name, prepared));
    return *prepared ? NULL : nl_athena_refuse(call, "ResourceNotFoundException", "PreparedStatement " NL_STR_FMT " was not found", NL_STR_ARG(statement));
}

nl_status nl_athena_prepared_text(nl_athena *athena, nl_str work_group, nl_str name, nl_arena *arena, nl_str *sql)
{
    const json_t *json;
    nl_str text;
    NL_TRY(nl_athena_get_item(athena, "prepared", nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(work_group), NL_STR_ARG(name)), arena, &text));
    if (!text.data) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "PreparedStatement " NL_STR_FMT " was not found in workGroup " NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(work_group));
    NL_TRY(nl_json_parse(arena, text, NL_STR("the data folder"), &json));
    *sql = nl_str_from(json_string_value(json_object_get(json, "QueryStatement")));
    return NULL;
}

nl_status nl_athena_create_prepared(nl_athena_call *call)
{
    nl_str statement, name, sql;
    json_t *prepared = new_object(call), *group;
    NL_TRY(prepared_name(call, &statement, &name));
    NL_TRY(nl_athena_need(call, "QueryStatement", &sql));
    NL_TRY(need_work_group(call, nl_athena_text(call, call->body, "WorkGroup"), &group));
    set_text(prepared, "StatementName", statement);
    set_text(prepared, "QueryStatement", sql);
    set_text(prepared, "WorkGroupName", nl_athena_text(call, call->body, "WorkGroup"));
    set_text(prepared, "Description", nl_athena_text(call, call->body, "Description"));
    set_now(prepared, "LastModifiedTime");
    nl_status status = nl_athena_put_item(call->athena, "prepared", name, as_text(call, prepared), true);
    if (status && nl_sqlite_is_duplicate(status)) {
        nl_error_free(status);
        return nl_athena_invalid(call, "Prepared statement already exists with statement name " NL_STR_FMT, NL_STR_ARG(statement));
    }
    return status ? status : answer_nothing(call);
}

nl_status nl_athena_get_prepared(nl_athena_call *call)
{
    nl_str name;
    json_t *prepared;
    NL_TRY(need_prepared(call, &name, &prepared));
    return answer_object(call, "PreparedStatement", prepared);
}

nl_status nl_athena_batch_get_prepared(nl_athena_call *call)
{
    nl_str work_group;
    NL_TRY(nl_athena_need(call, "WorkGroup", &work_group));
    return batch_get(call, "prepared", nl_arena_f(call->arena, NL_STR_FMT "/", NL_STR_ARG(work_group)), "PreparedStatementNames", "PreparedStatements",
                     "UnprocessedPreparedStatementNames", "StatementName");
}

static void write_prepared(nl_json_writer *json, const nl_athena_item *item, const json_t *object)
{
    (void)item;
    nl_json_begin(json, '{');
    write_member(json, object, "StatementName");
    write_member(json, object, "LastModifiedTime");
    nl_json_end(json, '}');
}

nl_status nl_athena_list_prepared(nl_athena_call *call)
{
    nl_str work_group;
    NL_TRY(nl_athena_need(call, "WorkGroup", &work_group));
    return answer_list(call, "prepared", nl_arena_f(call->arena, NL_STR_FMT "/", NL_STR_ARG(work_group)), "PreparedStatements", write_prepared);
}

nl_status nl_athena_update_prepared(nl_athena_call *call)
{
    nl_str name, sql;
    json_t *prepared;
    NL_TRY(need_prepared(call, &name, &prepared));
    NL_TRY(nl_athena_need(call, "QueryStatement", &sql));
    set_text(prepared, "QueryStatement", sql);
    set_text(prepared, "Description", nl_athena_text(call, call->body, "Description"));
    set_now(prepared, "LastModifiedTime");
    NL_TRY(nl_athena_put_item(call->athena, "prepared", name, as_text(call, prepared), false));
    return answer_nothing(call);
}

nl_status nl_athena_delete_prepared(nl_athena_call *call)
{
    nl_str name;
    json_t *prepared;
    NL_TRY(need_prepared(call, &name, &prepared));
    NL_TRY(nl_athena_put_item(call->athena, "prepared", name, (nl_str){0}, false));
    return answer_nothing(call);
}

/* ---- tags, engine versions ------------------------------------------------------------------------------------- */

nl_status nl_athena_tag(nl_athena_call *call)
{
    nl_str arn;
    json_t *kept;
    const json_t *tags = json_object_get(call->body, "Tags");
    NL_TRY(nl_athena_need(call, "ResourceARN", &arn));
    NL_TRY(load(call, "tags", arn, &kept));
    if (!kept) kept = new_object(call);
    for (size_t i = 0; i < json_array_size(tags); i++)
        set_text(kept, nl_str_c(call->arena, nl_athena_text(call, json_array_get(tags, i), "Key")), nl_athena_text(call, json_array_get(tags, i), "Value"));
    NL_TRY(nl_athena_put_item(call->athena, "tags", arn, as_text(call, kept), false));
    return answer_nothing(call);
}

nl_status nl_athena_untag(nl_athena_call *call)
{
    nl_str arn;
    json_t *kept;
    const json_t *keys = json_object_get(call->body, "TagKeys");
    NL_TRY(nl_athena_need(call, "ResourceARN", &arn));
    NL_TRY(load(call, "tags", arn, &kept));
    if (!kept) return answer_nothing(call);
    for (size_t i = 0; i < json_array_size(keys); i++)
        if (json_is_string(json_array_get(keys, i))) json_object_del(kept, json_string_value(json_array_get(keys, i)));
    NL_TRY(nl_athena_put_item(call->athena, "tags", arn, as_text(call, kept), false));
    return answer_nothing(call);
}

nl_status nl_athena_list_tags(nl_athena_call *call)
{
    nl_str arn;
    json_t *kept, *value;
    const char *key;
    NL_TRY(nl_athena_need(call, "ResourceARN", &arn));
    NL_TRY(load(call, "tags", arn, &kept));
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, "Tags");
    nl_json_begin(&json, '[');
    json_object_foreach(kept, key, value) {
        nl_json_begin(&json, '{');
        nl_athena_write_text(&json, "Key", nl_str_from(key));
        nl_athena_write_text(&json, "Value", nl_str_from(json_string_value(value)));
        nl_json_end(&json, '}');
    }
    nl_json_end(&json, ']');
    nl_athena_end(call, &json);
    return NULL;
}

nl_status nl_athena_list_engines(nl_athena_call *call)
{
    static const char *const versions[] = {"AUTO", "Athena engine version 3"};
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, "EngineVersions");
    nl_json_begin(&json, '[');
    for (size_t i = 0; i < NL_COUNT(versions); i++) {
        nl_json_begin(&json, '{');
        nl_athena_write_text(&json, "SelectedEngineVersion", nl_str_from(versions[i]));
        nl_athena_write_text(&json, "EffectiveEngineVersion", NL_STR("Athena engine version 3"));
        nl_json_end(&json, '}');
    }
    nl_json_end(&json, ']');
    nl_athena_end(call, &json);
    return NULL;
}
