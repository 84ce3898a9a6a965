/* lakehouse/glue/items.c - what is only kept: functions of databases, tags of databases and tables. */
#include "lakehouse/glue/glue_private.h"

#include "base/calendar.h"

nl_status nl_glue_put_item(nl_sqlite *database, const char *kind, nl_str scope, nl_str name, nl_str json)
{
    nl_sqlite_statement *statement;
    if (!json.data) NL_TRY(nl_sqlite_prepare(database, "DELETE FROM glue_items WHERE kind = ? AND scope = ? AND name = ?", &statement));
    else
        NL_TRY(nl_sqlite_prepare(database,
                                 "INSERT INTO glue_items (kind, scope, name, json, created_micros) VALUES (?, ?, ?, ?, ?) ON CONFLICT (kind, scope, name) DO UPDATE SET json = excluded.json",
                                 &statement));
    nl_sqlite_bind_text(statement, 1, nl_str_from(kind));
    nl_sqlite_bind_text(statement, 2, scope);
    nl_sqlite_bind_text(statement, 3, name);
    if (json.data) nl_sqlite_bind_text(statement, 4, json);
    if (json.data) nl_sqlite_bind_int(statement, 5, nl_now_micros());
    return nl_sqlite_finish(statement, NULL);
}

nl_status nl_glue_get_item(nl_sqlite *database, const char *kind, nl_str scope, nl_str name, nl_arena *arena, nl_str *json, int64_t *created_micros)
{
    nl_sqlite_statement *select;
    bool has_row;
    NL_TRY(nl_sqlite_prepare(database, "SELECT json, created_micros FROM glue_items WHERE kind = ? AND scope = ? AND name = ?", &select));
    nl_sqlite_bind_text(select, 1, nl_str_from(kind));
    nl_sqlite_bind_text(select, 2, scope);
    nl_sqlite_bind_text(select, 3, name);
    NL_TRY(nl_sqlite_step(select, &has_row));
    *json = has_row ? nl_sqlite_text(select, 0, arena) : (nl_str){0};
    *created_micros = has_row ? nl_sqlite_int(select, 1) : 0;
    nl_sqlite_reset(select);
    return NULL;
}

/* ---- functions ------------------------------------------------------------------------------------------------- */

typedef enum change_kind { CREATE, UPDATE, DELETE } change_kind;

typedef struct function_row {
    nl_str database, name, json;
    int64_t created_micros;
} function_row;

typedef struct function_work {
    nl_glue_call *call;
    change_kind kind;
    nl_str database, name, json;
    nl_str after_database, after_name;
    const nl_regex *regex;
    int64_t count_max;
    nl_list list; /* function_row * */
} function_work;

static nl_status change_work(void *argument, nl_sqlite *database)
{
    function_work *self = argument;
    nl_str uuid, stored, old;
    int64_t created;
    NL_TRY(nl_glue_need_database(self->call, database, self->database, &uuid, &stored));
    NL_TRY(nl_glue_get_item(database, "function", uuid, self->name, self->call->arena, &old, &created));
    if (self->kind == CREATE && old.data) return nl_glue_refuse(self->call, "AlreadyExistsException", "Function already exists.");
    if (self->kind != CREATE && !old.data) return nl_glue_not_found(self->call, "Function", self->name);
    return nl_glue_put_item(database, "function", uuid, self->name, self->json);
}

static nl_status change_function(nl_glue_call *call, change_kind kind)
{
    function_work work = {.call = call, .kind = kind};
    const json_t *input = NULL;
    NL_TRY(nl_glue_need(call, call->body, "DatabaseName", &work.database));
    if (kind != DELETE) NL_TRY(nl_glue_need_object(call, "FunctionInput", &input));
    if (kind == CREATE) NL_TRY(nl_glue_new_name(call, input, "FunctionName", &work.name));
    else NL_TRY(nl_glue_new_name(call, call->body, "FunctionName", &work.name));
    if (input) work.json = nl_glue_json_text(call->arena, input);
    NL_TRY(nl_state_write(call->glue->tables->state, change_work, &work));
    return nl_glue_answer_nothing(call);
}

nl_status nl_glue_create_function(nl_glue_call *call)
{
    return change_function(call, CREATE);
}

nl_status nl_glue_update_function(nl_glue_call *call)
{
    return change_function(call, UPDATE);
}

nl_status nl_glue_delete_function(nl_glue_call *call)
{
    return change_function(call, DELETE);
}

static nl_status write_function(nl_glue_call *call, nl_json_writer *json, const function_row *row)
{
    static const char *const own[] = {"FunctionName", "DatabaseName", "CreateTime", "CatalogId", NULL};
    const json_t *document;
    NL_TRY(nl_json_parse(call->arena, row->json, NL_STR("the data folder"), &document));
    nl_json_begin(json, '{');
    nl_glue_write_text(json, "FunctionName", row->name);
    nl_glue_write_text(json, "DatabaseName", row->database);
    nl_glue_write_text(json, "CatalogId", NL_STR(NL_GLUE_ACCOUNT));
    nl_glue_write_seconds(json, "CreateTime", row->created_micros);
    nl_glue_write_members(json, document, own);
    nl_json_end(json, '}');
    return NULL;
}

static nl_status get_work(void *argument, nl_sqlite *database)
{
    function_work *self = argument;
    nl_str uuid;
    function_row *row = NL_NEW(self->call->arena, function_row);
    self->list = (nl_list){0};
    NL_TRY(nl_glue_need_database(self->call, database, self->database, &uuid, &row->database));
    row->name = self->name;
    NL_TRY(nl_glue_get_item(database, "function", uuid, self->name, self->call->arena, &row->json, &row->created_micros));
    if (!row->json.data) return nl_glue_not_found(self->call, "Function", self->name);
    nl_list_add(self->call->arena, &self->list, row);
    return NULL;
}

nl_status nl_glue_get_function(nl_glue_call *call)
{
    function_work work = {.call = call};
    NL_TRY(nl_glue_need(call, call->body, "DatabaseName", &work.database));
    NL_TRY(nl_glue_new_name(call, call->body, "FunctionName", &work.name));
    NL_TRY(nl_state_read(call->glue->tables->state, get_work, &work));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "UserDefinedFunction");
    NL_TRY(write_function(call, &json, work.list.items[0]));
    nl_glue_end(call, &json);
    return NULL;
}

static nl_status list_work(void *argument, nl_sqlite *database)
{
    function_work *self = argument;
    nl_sqlite_statement *select;
    nl_str uuid, stored = NL_STR("");
    nl_arena *arena = self->call->arena;
    self->list = (nl_list){0};
    if (self->database.length) NL_TRY(nl_glue_need_database(self->call, database, self->database, &uuid, &stored));
    NL_TRY(nl_sqlite_prepare(database,
                             "SELECT n.name, i.name, i.json, i.created_micros FROM namespaces n JOIN glue_items i ON i.kind = 'function' AND i.scope = n.uuid"
                             " WHERE n.warehouse_id = ?1 AND (?2 = '' OR n.name = ?2) AND (n.name, i.name) > (?3, ?4) ORDER BY n.name, i.name",
                             &select));
    nl_sqlite_bind_int(select, 1, self->call->glue->warehouse.id);
    nl_sqlite_bind_text(select, 2, stored);
    nl_sqlite_bind_text(select, 3, self->after_database);
    nl_sqlite_bind_text(select, 4, self->after_name);
    for (bool has_row, matches; self->list.count < self->count_max;) {
        NL_TRY(nl_sqlite_step(select, &has_row));
        if (!has_row) return nl_arena_check(arena);
        function_row *row = NL_NEW(arena, function_row);
        *row = (function_row){nl_sqlite_text(select, 0, arena), nl_sqlite_text(select, 1, arena), nl_sqlite_text(select, 2, arena), nl_sqlite_int(select, 3)};
        nl_status status = nl_glue_matches(self->regex, row->name, &matches);
        if (status) {
            nl_sqlite_reset(select);
            return status;
        }
        if (matches) nl_list_add(arena, &self->list, row);
    }
    nl_sqlite_reset(select);
    return nl_arena_check(arena);
}

nl_status nl_glue_get_functions(nl_glue_call *call)
{
    function_work work = {.call = call, .database = nl_glue_text(call->body, "DatabaseName"), .after_database = NL_STR(""), .after_name = NL_STR("")};
    const nl_str token = nl_glue_text(call->body, "NextToken"); /* "database/function" */
    const size_t slash = nl_str_find_char(token, '/', 0);
    nl_regex *regex;
    int64_t size;
    if (slash != NL_NOT_FOUND) {
        work.after_database = nl_str_slice(token, 0, slash);
        work.after_name = nl_str_slice(token, slash + 1, token.length);
    }
    NL_TRY(nl_glue_page_size(call, 100, &size));
    NL_TRY(nl_glue_pattern(call, nl_glue_text(call->body, "Pattern"), &regex));
    work.regex = regex;
    work.count_max = size + 1;
    NL_TRY(nl_state_read(call->glue->tables->state, list_work, &work));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "UserDefinedFunctions");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < work.list.count && i < size; i++) NL_TRY(write_function(call, &json, work.list.items[i]));
    nl_json_end(&json, ']');
    if (work.list.count > size) {
        const function_row *last = work.list.items[size - 1];
        nl_glue_write_text(&json, "NextToken", nl_arena_f(call->arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(last->database), NL_STR_ARG(last->name)));
    }
    nl_glue_end(call, &json);
    return NULL;
}

/* ---- tags ------------------------------------------------------------------------------------------------------ */

typedef struct tag_work {
    nl_glue_call *call;
    nl_str arn;
    const json_t *added, *removed; /* NULL: nothing; both: only reading */
    nl_str json;
} tag_work;

/* "arn:aws:glue:REGION:ACCOUNT:" and catalog, database/NAME or table/DATABASE/NAME: where its tags are kept. */
static nl_status resource_of(tag_work *self, nl_sqlite *database, nl_str *scope, nl_str *name)
{
    nl_str rest = self->arn, part = {0}, kind, stored;
    nl_glue_row row;
    for (int i = 0; i < 5; i++) nl_str_next_part(&rest, ':', &part);
    if (!nl_str_starts(self->arn, NL_STR("arn:")) || !nl_str_is(part, NL_GLUE_ACCOUNT)) return nl_glue_invalid(self->call, NL_STR_FMT " is no ARN of this account", NL_STR_ARG(self->arn));
    *scope = *name = NL_STR("");
    if (nl_str_is(rest, "catalog")) return NULL;
    nl_str_next_part(&rest, '/', &kind);
    if (nl_str_is(kind, "database")) return nl_glue_need_database(self->call, database, rest, scope, &stored);
    if (!nl_str_is(kind, "table")) return nl_glue_not_found(self->call, "Resource", self->arn);
    nl_str_next_part(&rest, '/', &part);
    NL_TRY(nl_glue_need_row(self->call, database, part, rest, &row));
    *scope = row.database_uuid;
    *name = nl_arena_f(self->call->arena, "%lld", (long long)row.id);
    return NULL;
}

static void free_json(void *json)
{
    json_decref(json);
}

static nl_status tag_run(void *argument, nl_sqlite *database)
{
    tag_work *self = argument;
    nl_str scope, name, text;
    int64_t created;
    const json_t *old;
    NL_TRY(resource_of(self, database, &scope, &name));
    NL_TRY(nl_glue_get_item(database, "tags", scope, name, self->call->arena, &text, &created));
    NL_TRY(nl_json_parse(self->call->arena, text.data ? text : NL_STR("{}"), NL_STR("the data folder"), &old));
    self->json = text.data ? text : NL_STR("{}");
    if (!self->added && !self->removed) return NULL;
    json_t *tags = json_deep_copy(old);
    nl_arena_on_free(self->call->arena, free_json, tags);
    if (self->added) json_object_update(tags, NL_UNCONST(self->added));
    for (size_t i = 0; i < json_array_size(self->removed); i++)
        if (json_is_string(json_array_get(self->removed, i))) json_object_del(tags, json_string_value(json_array_get(self->removed, i)));
    if (json_object_size(tags) > 50) return nl_glue_invalid(self->call, "A resource has at most 50 tags");
    return nl_glue_put_item(database, "tags", scope, name, nl_glue_json_text(self->call->arena, tags));
}

nl_status nl_glue_tag(nl_glue_call *call)
{
    tag_work work = {.call = call};
    const char *key;
    json_t *value;
    NL_TRY(nl_glue_need(call, call->body, "ResourceArn", &work.arn));
    NL_TRY(nl_glue_need_object(call, "TagsToAdd", &work.added));
    json_object_foreach(NL_UNCONST(work.added), key, value)
        if (!json_is_string(value)) return nl_glue_invalid(call, "The value of tag %s is no text", key);
    NL_TRY(nl_state_write(call->glue->tables->state, tag_run, &work));
    return nl_glue_answer_nothing(call);
}

nl_status nl_glue_untag(nl_glue_call *call)
{
    tag_work work = {.call = call};
    NL_TRY(nl_glue_need(call, call->body, "ResourceArn", &work.arn));
    NL_TRY(nl_glue_need_list(call, "TagsToRemove", 50, &work.removed));
    NL_TRY(nl_state_write(call->glue->tables->state, tag_run, &work));
    return nl_glue_answer_nothing(call);
}

nl_status nl_glue_get_tags(nl_glue_call *call)
{
    tag_work work = {.call = call};
    NL_TRY(nl_glue_need(call, call->body, "ResourceArn", &work.arn));
    NL_TRY(nl_state_read(call->glue->tables->state, tag_run, &work));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "Tags");
    nl_json_before_value(&json);
    nl_append(json.out, work.json);
    nl_json_after_value(&json);
    nl_glue_end(call, &json);
    return NULL;
}

/* Nothing is to be imported from an older Athena. */
nl_status nl_glue_get_import_status(nl_glue_call *call)
{
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "ImportStatus");
    nl_json_begin(&json, '{');
    nl_json_key(&json, "ImportCompleted");
    nl_json_write_bool(&json, true);
    nl_glue_write_seconds(&json, "ImportTime", call->glue->warehouse.created_micros);
    nl_glue_write_text(&json, "ImportedBy", NL_STR("nilas"));
    nl_json_end(&json, '}');
    nl_glue_end(call, &json);
    return NULL;
}
