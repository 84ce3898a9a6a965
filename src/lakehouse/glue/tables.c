/* lakehouse/glue/tables.c - tables: made, changed under their version, deleted, listed.
 *
 * An Iceberg table's pointer moves in the same transaction as its document; the pointer's trigger counts the version.
 */
#include "lakehouse/glue/glue_private.h"

#include "base/calendar.h"

typedef struct table_work {
    nl_glue_call *call;
    nl_str database, name;
    nl_str json, next;       /* the TableInput; the metadata file it names when it is Iceberg's */
    nl_str expected_version; /* empty: whatever it is */
    nl_str uuid, after;
    const nl_regex *regex;
    int64_t count_max;
    bool skips_archive;
    const json_t *names;
    nl_list list; /* nl_glue_row *, or names that were not there (nl_str *) */
} table_work;

nl_status nl_glue_get_table(nl_glue_call *call)
{
    nl_glue_row row;
    NL_TRY(nl_glue_load_row(call, "Name", &row));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "Table");
    NL_TRY(nl_glue_write_row(call, &json, &row));
    nl_glue_end(call, &json);
    return NULL;
}

static nl_status list_work(void *argument, nl_sqlite *database)
{
    table_work *self = argument;
    nl_sqlite_statement *select;
    nl_str uuid, stored;
    self->list = (nl_list){0};
    NL_TRY(nl_glue_need_database(self->call, database, self->database, &uuid, &stored));
    NL_TRY(nl_sqlite_prepare(database, NL_GLUE_ROWS " AND n.name = ?2 AND g.name > ?3 ORDER BY g.name", &select));
    nl_sqlite_bind_int(select, 1, self->call->glue->warehouse.id);
    nl_sqlite_bind_text(select, 2, stored);
    nl_sqlite_bind_text(select, 3, self->after);
    for (bool has_row, matches; self->list.count < self->count_max;) {
        NL_TRY(nl_sqlite_step(select, &has_row));
        if (!has_row) return nl_arena_check(self->call->arena);
        nl_glue_row *row = NL_NEW(self->call->arena, nl_glue_row);
        nl_glue_read_row(select, self->call->arena, row);
        nl_status status = nl_glue_matches(self->regex, row->name, &matches);
        if (status) {
            nl_sqlite_reset(select);
            return status;
        }
        if (matches) nl_list_add(self->call->arena, &self->list, row);
    }
    nl_sqlite_reset(select);
    return nl_arena_check(self->call->arena);
}

nl_status nl_glue_get_tables(nl_glue_call *call)
{
    table_work work = {.call = call};
    nl_regex *regex;
    int64_t size;
    NL_TRY(nl_glue_need(call, call->body, "DatabaseName", &work.database));
    NL_TRY(nl_glue_page_size(call, 100, &size));
    NL_TRY(nl_glue_pattern(call, nl_glue_text(call->body, "Expression"), &regex));
    work.regex = regex;
    work.count_max = size + 1;
    work.after = nl_glue_text(call->body, "NextToken");
    if (!work.after.data) work.after = NL_STR("");
    NL_TRY(nl_state_read(call->glue->tables->state, list_work, &work));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "TableList");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < work.list.count && i < size; i++) NL_TRY(nl_glue_write_row(call, &json, work.list.items[i]));
    nl_json_end(&json, ']');
    if (work.list.count > size) nl_glue_write_text(&json, "NextToken", ((const nl_glue_row *)work.list.items[size - 1])->name);
    nl_glue_end(call, &json);
    return NULL;
}

/* ---- changes --------------------------------------------------------------------------------------------------- */

/* The database, name and TableInput of a request. */
static nl_status read_input(nl_glue_call *call, table_work *work)
{
    const json_t *input, *parameters;
    work->call = call;
    if (json_object_get(call->body, "OpenTableFormatInput") || json_object_get(call->body, "UpdateOpenTableFormatInput"))
        return nl_glue_refuse(call, "OperationNotSupportedException", "OpenTableFormatInput is not offered here: write the Iceberg metadata, and name it in metadata_location");
    NL_TRY(nl_glue_need(call, call->body, "DatabaseName", &work->database));
    NL_TRY(nl_glue_need_object(call, "TableInput", &input));
    NL_TRY(nl_glue_new_name(call, input, "Name", &work->name));
    work->json = nl_glue_json_text(call->arena, input);
    parameters = json_object_get(input, "Parameters");
    work->next = nl_str_is_nocase(nl_glue_text(parameters, "table_type"), "ICEBERG") ? nl_glue_text(parameters, "metadata_location") : (nl_str){0};
    if (work->next.length) NL_TRY(nl_tables_check_location(call->glue->tables, &call->glue->warehouse, work->next));
    work->uuid = nl_tables_new_token(call->arena);
    return NULL;
}

static nl_status move_pointer(table_work *self, nl_sqlite *database, nl_str namespace, nl_str name, nl_str expected)
{
    nl_pointer_work *work;
    nl_str *part = NL_NEW(self->call->arena, nl_str);
    nl_pointer_change *change = NL_NEW(self->call->arena, nl_pointer_change);
    *part = namespace;
    *change = (nl_pointer_change){.identifier = {part, 1, name}, .expected = expected, .next = self->next, .uuid = expected.length ? (nl_str){0} : self->uuid};
    NL_TRY(nl_pointer_work_new(self->call->arena, self->call->glue->warehouse.id, change, &work));
    return nl_pointer_work_run(work, database);
}

static nl_status keep_document(const table_work *self, nl_sqlite *database, int64_t id, bool counts)
{
    nl_sqlite_statement *update;
    NL_TRY(nl_sqlite_prepare(database, "UPDATE glue_tables SET json = ?, metadata_location = ?, version = version + ?, modified_micros = ? WHERE id = ?", &update));
    nl_sqlite_bind_text(update, 1, self->json);
    nl_sqlite_bind_text(update, 2, self->next);
    nl_sqlite_bind_int(update, 3, counts);
    nl_sqlite_bind_int(update, 4, nl_now_micros());
    nl_sqlite_bind_int(update, 5, id);
    return nl_sqlite_finish(update, NULL);
}

static nl_status create_work(void *argument, nl_sqlite *database)
{
    table_work *self = argument;
    nl_sqlite_statement *insert;
    nl_str database_uuid, stored;
    nl_glue_row row;
    bool exists;
    NL_TRY(nl_glue_need_database(self->call, database, self->database, &database_uuid, &stored));
    NL_TRY(nl_glue_find_row(self->call, database, stored, self->name, &row, &exists));
    if (exists) return nl_glue_refuse(self->call, "AlreadyExistsException", "Table already exists.");
    if (self->next.length) {
        NL_TRY(move_pointer(self, database, stored, self->name, (nl_str){0}));
        NL_TRY(nl_glue_need_row(self->call, database, stored, self->name, &row));
        return keep_document(self, database, row.id, false);
    }
    NL_TRY(nl_sqlite_prepare(database, "INSERT INTO glue_tables (database, name, json, version, created_micros, modified_micros) VALUES (?1, ?2, ?3, 0, ?4, ?4)", &insert));
    nl_sqlite_bind_text(insert, 1, database_uuid);
    nl_sqlite_bind_text(insert, 2, self->name);
    nl_sqlite_bind_text(insert, 3, self->json);
    nl_sqlite_bind_int(insert, 4, nl_now_micros());
    return nl_sqlite_finish(insert, NULL);
}

nl_status nl_glue_create_table(nl_glue_call *call)
{
    table_work work = {0};
    if (json_array_size(json_object_get(call->body, "PartitionIndexes")))
        return nl_glue_refuse(call, "OperationNotSupportedException", "PartitionIndexes are not offered here");
    NL_TRY(read_input(call, &work));
    NL_TRY(nl_state_write(call->glue->tables->state, create_work, &work));
    return nl_glue_answer_nothing(call);
}

static nl_status archive(nl_sqlite *database, const nl_glue_row *row)
{
    nl_sqlite_statement *insert;
    NL_TRY(nl_sqlite_prepare(database, "INSERT OR REPLACE INTO glue_versions (table_id, version, json, metadata_location, pointer, previous, modified_micros)"
                                       " VALUES (?, ?, ?, ?, ?, ?, ?)", &insert));
    nl_sqlite_bind_int(insert, 1, row->id);
    nl_sqlite_bind_int(insert, 2, row->version);
    nl_sqlite_bind_text(insert, 3, row->json);
    nl_sqlite_bind_text(insert, 4, row->metadata_location);
    nl_sqlite_bind_text(insert, 5, row->pointer);
    nl_sqlite_bind_text(insert, 6, row->previous);
    nl_sqlite_bind_int(insert, 7, row->modified_micros);
    return nl_sqlite_finish(insert, NULL);
}

/* A table of another format, or one that named no metadata yet, becomes Iceberg's. Its row gives way to the pointer's, which
 * the trigger makes, and then takes its place. */
static nl_status adopt(table_work *self, nl_sqlite *database, const nl_glue_row *row)
{
    nl_sqlite_statement *aside, *made, *back;
    NL_TRY(nl_sqlite_prepare(database, "UPDATE glue_tables SET name = name || char(31) WHERE id = ?", &aside));
    nl_sqlite_bind_int(aside, 1, row->id);
    NL_TRY(nl_sqlite_finish(aside, NULL));
    NL_TRY(move_pointer(self, database, row->database, row->name, (nl_str){0}));
    NL_TRY(nl_sqlite_prepare(database, "DELETE FROM glue_tables WHERE entry = ?", &made));
    nl_sqlite_bind_text(made, 1, self->uuid);
    NL_TRY(nl_sqlite_finish(made, NULL));
    NL_TRY(nl_sqlite_prepare(database, "UPDATE glue_tables SET name = ?, entry = ?, version = version + 1 WHERE id = ?", &back));
    nl_sqlite_bind_text(back, 1, row->name);
    nl_sqlite_bind_text(back, 2, self->uuid);
    nl_sqlite_bind_int(back, 3, row->id);
    return nl_sqlite_finish(back, NULL);
}

static nl_status update_work(void *argument, nl_sqlite *database)
{
    table_work *self = argument;
    nl_glue_row row;
    NL_TRY(nl_glue_need_row(self->call, database, self->database, self->name, &row));
    const nl_str version = nl_arena_f(self->call->arena, "%lld", (long long)row.version);
    if (self->expected_version.length && !nl_str_equal(version, self->expected_version))
        return nl_glue_refuse(self->call, "ConcurrentModificationException", "Update table failed due to concurrent modifications: version " NL_STR_FMT " is not the present one, " NL_STR_FMT,
                              NL_STR_ARG(self->expected_version), NL_STR_ARG(version));
    if (row.is_view) return nl_glue_invalid(self->call, NL_STR_FMT " is an Iceberg view: change it with SQL", NL_STR_ARG(row.name));
    if (row.entry.length && !self->next.length)
        return nl_glue_invalid(self->call, NL_STR_FMT " is an Iceberg table: Parameters must have table_type=ICEBERG and metadata_location", NL_STR_ARG(row.name));
    if (!self->skips_archive) NL_TRY(archive(database, &row));
    const bool moves = self->next.length && !nl_str_equal(self->next, row.pointer);
    if (moves && row.entry.length) NL_TRY(move_pointer(self, database, row.database, row.name, row.pointer));
    else if (moves) NL_TRY(adopt(self, database, &row));
    return keep_document(self, database, row.id, !moves);
}

nl_status nl_glue_update_table(nl_glue_call *call)
{
    table_work work = {0};
    NL_TRY(read_input(call, &work));
    work.expected_version = nl_glue_text(call->body, "VersionId");
    work.skips_archive = json_is_true(json_object_get(call->body, "SkipArchive"));
    NL_TRY(nl_state_write(call->glue->tables->state, update_work, &work));
    return nl_glue_answer_nothing(call);
}

static nl_status delete_work(void *argument, nl_sqlite *database)
{
    table_work *self = argument;
    nl_glue_row row;
    NL_TRY(nl_glue_need_row(self->call, database, self->database, self->name, &row));
    return nl_glue_delete_row(database, &row);
}

nl_status nl_glue_delete_table(nl_glue_call *call)
{
    table_work work = {.call = call};
    NL_TRY(nl_glue_need(call, call->body, "DatabaseName", &work.database));
    NL_TRY(nl_glue_need(call, call->body, "Name", &work.name));
    NL_TRY(nl_state_write_freeing(call->glue->tables->state, delete_work, &work));
    return nl_glue_answer_nothing(call);
}

static nl_status batch_delete_work(void *argument, nl_sqlite *database)
{
    table_work *self = argument;
    nl_str uuid, stored;
    self->list = (nl_list){0};
    NL_TRY(nl_glue_need_database(self->call, database, self->database, &uuid, &stored));
    for (size_t i = 0; i < json_array_size(self->names); i++) {
        const json_t *name = json_array_get(self->names, i);
        nl_glue_row row;
        bool exists = false;
        if (json_is_string(name)) NL_TRY(nl_glue_find_row(self->call, database, stored, nl_str_from(json_string_value(name)), &row, &exists));
        if (exists) NL_TRY(nl_glue_delete_row(database, &row));
        else nl_list_add(self->call->arena, &self->list, NL_UNCONST(name));
    }
    return NULL;
}

nl_status nl_glue_batch_delete_table(nl_glue_call *call)
{
    table_work work = {.call = call};
    NL_TRY(nl_glue_need(call, call->body, "DatabaseName", &work.database));
    NL_TRY(nl_glue_need_list(call, "TablesToDelete", 100, &work.names));
    NL_TRY(nl_state_write_freeing(call->glue->tables->state, batch_delete_work, &work));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "Errors");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < work.list.count; i++) {
        nl_json_begin(&json, '{');
        nl_json_key(&json, "TableName");
        nl_json_write_json(&json, work.list.items[i]);
        nl_glue_write_failure(&json, "EntityNotFoundException", "Table not found");
        nl_json_end(&json, '}');
    }
    nl_json_end(&json, ']');
    nl_glue_end(call, &json);
    return NULL;
}
