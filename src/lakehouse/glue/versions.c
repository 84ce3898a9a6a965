/* lakehouse/glue/versions.c - the present version of a table and those that were archived. */
#include "lakehouse/glue/glue_private.h"

#include "base/number.h"

typedef struct version_work {
    nl_glue_call *call;
    nl_str database, name;
    const json_t *wanted; /* version ids to be deleted */
    int64_t before;       /* those that are older; -1: all */
    int64_t count_max;
    nl_list list; /* nl_glue_row *, newest first; or the ids that were not there */
} version_work;

/* -1: it is no version's. */
static int64_t version_of(nl_str text)
{
    int64_t version;
    return nl_parse_int64(text, &version) && version >= 0 ? version : -1;
}

static nl_status list_work(void *argument, nl_sqlite *database)
{
    version_work *self = argument;
    nl_glue_row present;
    nl_sqlite_statement *select;
    nl_arena *arena = self->call->arena;
    self->list = (nl_list){0};
    NL_TRY(nl_glue_need_row(self->call, database, self->database, self->name, &present));
    if (self->before < 0 || present.version < self->before) {
        nl_glue_row *copy = NL_NEW(arena, nl_glue_row);
        *copy = present;
        nl_list_add(arena, &self->list, copy);
    }
    NL_TRY(nl_sqlite_prepare(database,
                             "SELECT version, json, metadata_location, pointer, previous, modified_micros FROM glue_versions WHERE table_id = ?1 AND version < ?2"
                             " ORDER BY version DESC LIMIT ?3",
                             &select));
    nl_sqlite_bind_int(select, 1, present.id);
    nl_sqlite_bind_int(select, 2, self->before < 0 || self->before > present.version ? present.version : self->before);
    nl_sqlite_bind_int(select, 3, self->count_max);
    for (bool has_row;;) {
        NL_TRY(nl_sqlite_step(select, &has_row));
        if (!has_row) return nl_arena_check(arena);
        nl_glue_row *old = NL_NEW(arena, nl_glue_row);
        *old = present;
        old->version = nl_sqlite_int(select, 0);
        old->json = nl_sqlite_text(select, 1, arena);
        old->metadata_location = nl_sqlite_text(select, 2, arena);
        old->pointer = nl_sqlite_text(select, 3, arena);
        old->previous = nl_sqlite_text(select, 4, arena);
        old->modified_micros = nl_sqlite_int(select, 5);
        if (!old->pointer.length) old->entry = (nl_str){0};
        nl_list_add(arena, &self->list, old);
    }
}

static nl_status load(nl_glue_call *call, version_work *work, int64_t before, int64_t count_max)
{
    *work = (version_work){.call = call, .before = before, .count_max = count_max};
    NL_TRY(nl_glue_need(call, call->body, "DatabaseName", &work->database));
    NL_TRY(nl_glue_need(call, call->body, "TableName", &work->name));
    return nl_state_read(call->glue->tables->state, list_work, work);
}

static nl_status write_version(nl_glue_call *call, nl_json_writer *json, const nl_glue_row *row)
{
    nl_json_begin(json, '{');
    nl_json_key(json, "Table");
    NL_TRY(nl_glue_write_row(call, json, row));
    nl_glue_write_text(json, "VersionId", nl_arena_f(call->arena, "%lld", (long long)row->version));
    nl_json_end(json, '}');
    return NULL;
}

nl_status nl_glue_get_table_version(nl_glue_call *call)
{
    version_work work;
    const nl_str text = nl_glue_text(call->body, "VersionId");
    const int64_t version = text.length ? version_of(text) : -1;
    if (text.length && version < 0) return nl_glue_invalid(call, "VersionId " NL_STR_FMT " is no number", NL_STR_ARG(text));
    NL_TRY(load(call, &work, text.length ? version + 1 : -1, 1));
    const nl_glue_row *row = work.list.count ? work.list.items[0] : NULL;
    if (!row || (text.length && row->version != version)) return nl_glue_not_found(call, "Table version", text);
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "TableVersion");
    NL_TRY(write_version(call, &json, row));
    nl_glue_end(call, &json);
    return NULL;
}

nl_status nl_glue_get_table_versions(nl_glue_call *call)
{
    version_work work;
    int64_t size;
    NL_TRY(nl_glue_page_size(call, 100, &size));
    NL_TRY(load(call, &work, version_of(nl_glue_text(call->body, "NextToken")), size + 1));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "TableVersions");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < work.list.count && i < size; i++) NL_TRY(write_version(call, &json, work.list.items[i]));
    nl_json_end(&json, ']');
    if (work.list.count > size) nl_glue_write_text(&json, "NextToken", nl_arena_f(call->arena, "%lld", (long long)((const nl_glue_row *)work.list.items[size - 1])->version));
    nl_glue_end(call, &json);
    return NULL;
}

/* Archived ones only: the present version goes with the table. */
static nl_status delete_work(void *argument, nl_sqlite *database)
{
    version_work *self = argument;
    nl_glue_row row;
    nl_sqlite_statement *remove;
    self->list = (nl_list){0};
    NL_TRY(nl_glue_need_row(self->call, database, self->database, self->name, &row));
    for (size_t i = 0; i < json_array_size(self->wanted); i++) {
        const json_t *id = json_array_get(self->wanted, i);
        const int64_t version = version_of(nl_str_from(json_string_value(id)));
        int64_t change_count;
        if (version == row.version) return nl_glue_invalid(self->call, "Version %lld is the present one: it cannot be deleted", (long long)version);
        NL_TRY(nl_sqlite_prepare(database, "DELETE FROM glue_versions WHERE table_id = ? AND version = ?", &remove));
        nl_sqlite_bind_int(remove, 1, row.id);
        nl_sqlite_bind_int(remove, 2, version);
        NL_TRY(nl_sqlite_finish(remove, &change_count));
        if (!change_count) nl_list_add(self->call->arena, &self->list, NL_UNCONST(id));
    }
    return NULL;
}

static nl_status delete_versions(nl_glue_call *call, version_work *work)
{
    work->call = call;
    NL_TRY(nl_glue_need(call, call->body, "DatabaseName", &work->database));
    NL_TRY(nl_glue_need(call, call->body, "TableName", &work->name));
    return nl_state_write_freeing(call->glue->tables->state, delete_work, work);
}

static void free_json(void *json)
{
    json_decref(json);
}

nl_status nl_glue_delete_table_version(nl_glue_call *call)
{
    nl_str id;
    NL_TRY(nl_glue_need(call, call->body, "VersionId", &id));
    json_t *list = json_array();
    nl_arena_on_free(call->arena, free_json, list);
    json_array_append(list, json_object_get(call->body, "VersionId"));
    version_work work = {.wanted = list};
    NL_TRY(delete_versions(call, &work));
    return work.list.count ? nl_glue_not_found(call, "Table version", id) : nl_glue_answer_nothing(call);
}

nl_status nl_glue_batch_delete_table_version(nl_glue_call *call)
{
    version_work work = {0};
    NL_TRY(nl_glue_need_list(call, "VersionIds", 100, &work.wanted));
    NL_TRY(delete_versions(call, &work));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "Errors");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < work.list.count; i++) {
        nl_json_begin(&json, '{');
        nl_glue_write_text(&json, "TableName", work.name);
        nl_json_key(&json, "VersionId");
        nl_json_write_json(&json, work.list.items[i]);
        nl_glue_write_failure(&json, "EntityNotFoundException", "Table version not found");
        nl_json_end(&json, '}');
    }
    nl_json_end(&json, ']');
    nl_glue_end(call, &json);
    return NULL;
}
