/* lakehouse/glue/rows.c - rows of tables: found, removed, and shown as Glue's Table. */
#include "lakehouse/glue/glue_private.h"

#include "base/log.h"
#include "catalog/glue/input.h"

void nl_glue_read_row(nl_sqlite_statement *statement, nl_arena *arena, nl_glue_row *row)
{
    *row = (nl_glue_row){.id = nl_sqlite_int(statement, 0),
                         .database = nl_sqlite_text(statement, 1, arena),
                         .database_uuid = nl_sqlite_text(statement, 2, arena),
                         .name = nl_sqlite_text(statement, 3, arena),
                         .entry = nl_sqlite_text(statement, 4, arena),
                         .json = nl_sqlite_text(statement, 5, arena),
                         .metadata_location = nl_sqlite_text(statement, 6, arena),
                         .version = nl_sqlite_int(statement, 7),
                         .created_micros = nl_sqlite_int(statement, 8),
                         .modified_micros = nl_sqlite_int(statement, 9),
                         .pointer = nl_sqlite_text(statement, 10, arena),
                         .previous = nl_sqlite_text(statement, 11, arena),
                         .is_view = nl_sqlite_int(statement, 12) != 0};
}

nl_status nl_glue_find_database(nl_glue_call *call, nl_sqlite *database, nl_str name, nl_str *uuid, nl_str *stored_name, bool *exists)
{
    nl_sqlite_statement *select;
    NL_TRY(nl_sqlite_prepare(database, "SELECT uuid, name FROM namespaces WHERE warehouse_id = ?1 AND name IN (?2, ?3) ORDER BY name = ?2 DESC LIMIT 1", &select));
    nl_sqlite_bind_int(select, 1, call->glue->warehouse.id);
    nl_sqlite_bind_text(select, 2, name);
    nl_sqlite_bind_text(select, 3, nl_glue_lower(call->arena, name));
    NL_TRY(nl_sqlite_step(select, exists));
    if (*exists) {
        *uuid = nl_sqlite_text(select, 0, call->arena);
        *stored_name = nl_sqlite_text(select, 1, call->arena);
    }
    nl_sqlite_reset(select);
    return NULL;
}

nl_status nl_glue_need_database(nl_glue_call *call, nl_sqlite *database, nl_str name, nl_str *uuid, nl_str *stored_name)
{
    bool exists;
    NL_TRY(nl_glue_find_database(call, database, name, uuid, stored_name, &exists));
    return exists ? NULL : nl_glue_not_found(call, "Database", name);
}

nl_status nl_glue_find_row(nl_glue_call *call, nl_sqlite *database, nl_str database_name, nl_str name, nl_glue_row *row, bool *exists)
{
    nl_sqlite_statement *select;
    NL_TRY(nl_sqlite_prepare(database, NL_GLUE_ROWS " AND n.name IN (?2, ?3) AND g.name IN (?4, ?5) ORDER BY n.name = ?2 DESC, g.name = ?4 DESC LIMIT 1", &select));
    nl_sqlite_bind_int(select, 1, call->glue->warehouse.id);
    nl_sqlite_bind_text(select, 2, database_name);
    nl_sqlite_bind_text(select, 3, nl_glue_lower(call->arena, database_name));
    nl_sqlite_bind_text(select, 4, name);
    nl_sqlite_bind_text(select, 5, nl_glue_lower(call->arena, name));
    NL_TRY(nl_sqlite_step(select, exists));
    if (*exists) nl_glue_read_row(select, call->arena, row);
    nl_sqlite_reset(select);
    return nl_arena_check(call->arena);
}

nl_status nl_glue_need_row(nl_glue_call *call, nl_sqlite *database, nl_str database_name, nl_str name, nl_glue_row *row)
{
    bool exists;
    nl_str uuid, stored_name;
    NL_TRY(nl_glue_find_row(call, database, database_name, name, row, &exists));
    if (exists) return NULL;
    NL_TRY(nl_glue_need_database(call, database, database_name, &uuid, &stored_name));
    return nl_glue_not_found(call, "Table", name);
}

/* Of an Iceberg table the pointer's row goes, and by its trigger the other. */
nl_status nl_glue_delete_row(nl_sqlite *database, const nl_glue_row *row)
{
    nl_sqlite_statement *documents, *entries, *rows;
    if (row->entry.length) {
        NL_TRY(nl_sqlite_prepare(database, "DELETE FROM documents WHERE owner = ?", &documents));
        nl_sqlite_bind_text(documents, 1, row->entry);
        NL_TRY(nl_sqlite_finish(documents, NULL));
        NL_TRY(nl_sqlite_prepare(database, "DELETE FROM tables WHERE uuid = ?", &entries));
        nl_sqlite_bind_text(entries, 1, row->entry);
        return nl_sqlite_finish(entries, NULL);
    }
    NL_TRY(nl_sqlite_prepare(database, "DELETE FROM glue_tables WHERE id = ?", &rows));
    nl_sqlite_bind_int(rows, 1, row->id);
    return nl_sqlite_finish(rows, NULL);
}

typedef struct load_work {
    nl_glue_call *call;
    nl_str database, name;
    nl_glue_row *row;
} load_work;

static nl_status load(void *argument, nl_sqlite *database)
{
    load_work *self = argument;
    return nl_glue_need_row(self->call, database, self->database, self->name, self->row);
}

nl_status nl_glue_load_row(nl_glue_call *call, const char *key, nl_glue_row *row)
{
    load_work work = {.call = call, .row = row};
    NL_TRY(nl_glue_need(call, call->body, "DatabaseName", &work.database));
    NL_TRY(nl_glue_need(call, call->body, key, &work.name));
    return nl_state_read(call->glue->tables->state, load, &work);
}

/* ---- shown ----------------------------------------------------------------------------------------------------- */

static void write_parameters(nl_json_writer *json, const json_t *document, const nl_glue_row *row)
{
    static const char *const own[] = {"table_type", "metadata_location", "previous_metadata_location", NULL};
    nl_json_key(json, "Parameters");
    nl_json_begin(json, '{');
    nl_glue_write_members(json, json_object_get(document, "Parameters"), own);
    nl_glue_write_text(json, "table_type", row->is_view ? NL_STR("ICEBERG_VIEW") : NL_STR("ICEBERG"));
    if (row->pointer.length) nl_glue_write_text(json, "metadata_location", row->pointer);
    if (row->previous.length) nl_glue_write_text(json, "previous_metadata_location", row->previous);
    nl_json_end(json, '}');
}

/* The metadata when columns of the document are of an earlier one. A file that is gone is no reason to show nothing. */
static void read_newer(nl_glue_call *call, const nl_glue_row *row, nl_kept_metadata *kept)
{
    if (!row->entry.length || row->is_view || !row->pointer.length || nl_str_equal(row->pointer, row->metadata_location)) return;
    nl_error *error = nl_tables_read_metadata(call->glue->tables, row->pointer, kept);
    if (error) nl_log(NL_LOG_WARN, "glue: the columns of a table are shown as they were: %s", nl_error_message(error));
    nl_error_free(error);
}

nl_status nl_glue_write_row(nl_glue_call *call, nl_json_writer *json, const nl_glue_row *row)
{
    static const char *const plain[] = {"Name", "DatabaseName", "CatalogId", "VersionId", "CreateTime", "UpdateTime", "CreatedBy", "IsRegisteredWithLakeFormation", NULL};
    static const char *const iceberg[] = {"Name",       "DatabaseName", "CatalogId", "VersionId", "CreateTime", "UpdateTime", "CreatedBy", "IsRegisteredWithLakeFormation",
                                          "Parameters", NULL};
    static const char *const newer[] = {"Name",       "DatabaseName", "CatalogId",        "VersionId", "CreateTime", "UpdateTime", "CreatedBy", "IsRegisteredWithLakeFormation",
                                        "Parameters", "Description",  "StorageDescriptor", NULL};
    const json_t *document = NULL;
    nl_kept_metadata kept = {0};
    NL_TRY(nl_json_parse(call->arena, row->json.length ? row->json : NL_STR("{}"), NL_STR("the data folder"), &document));
    read_newer(call, row, &kept);
    nl_json_begin(json, '{');
    nl_glue_write_text(json, "Name", row->name);
    nl_glue_write_text(json, "DatabaseName", row->database);
    nl_glue_write_text(json, "CatalogId", NL_STR(NL_GLUE_ACCOUNT));
    nl_glue_write_text(json, "VersionId", nl_arena_f(call->arena, "%lld", (long long)row->version));
    nl_glue_write_seconds(json, "CreateTime", row->created_micros);
    nl_glue_write_seconds(json, "UpdateTime", row->modified_micros);
    nl_glue_write_text(json, "CreatedBy", NL_STR("arn:aws:iam::" NL_GLUE_ACCOUNT ":user/nilas"));
    nl_json_key(json, "IsRegisteredWithLakeFormation");
    nl_json_write_bool(json, false);
    nl_glue_write_members(json, document, !row->entry.length ? plain : kept.metadata ? newer : iceberg);
    if (kept.metadata) nl_glue_write_table(json, kept.metadata, document);
    if (row->entry.length) write_parameters(json, document, row);
    if (row->entry.length && !json_object_get(document, "TableType")) nl_glue_write_text(json, "TableType", row->is_view ? NL_STR("VIRTUAL_VIEW") : NL_STR("EXTERNAL_TABLE"));
    nl_json_end(json, '}');
    if (kept.metadata) nl_kept_metadata_release(&kept);
    return NULL;
}
