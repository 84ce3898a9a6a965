/* lakehouse/tables.c - the table store's schema, warehouses, and documents. See tables.h.
 *
 * Every name is a value bound to a statement, never part of a statement or (unchecked) of a path.
 */
#include "lakehouse/tables_private.h"

#include "base/calendar.h"
#include "base/uuid.h"

#include <stdlib.h>

static const char *const versions[] = {
    "CREATE TABLE warehouses (id INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER NOT NULL, name TEXT NOT NULL, arn TEXT, location TEXT NOT NULL,"
    " created_micros INTEGER NOT NULL, token TEXT NOT NULL, UNIQUE (kind, name));"
    "CREATE TABLE namespaces (id INTEGER PRIMARY KEY, warehouse_id INTEGER NOT NULL REFERENCES warehouses (id), name TEXT NOT NULL, uuid TEXT NOT NULL,"
    " properties TEXT NOT NULL, created_micros INTEGER NOT NULL, UNIQUE (warehouse_id, name));"
    "CREATE TABLE tables (id INTEGER PRIMARY KEY AUTOINCREMENT, warehouse_id INTEGER NOT NULL REFERENCES warehouses (id), namespace TEXT NOT NULL,"
    " name TEXT NOT NULL, uuid TEXT NOT NULL UNIQUE, is_view INTEGER NOT NULL, metadata_location TEXT, previous_metadata_location TEXT,"
    " warehouse_location TEXT, version_token TEXT NOT NULL, created_micros INTEGER NOT NULL, modified_micros INTEGER NOT NULL,"
    " UNIQUE (warehouse_id, namespace, name),"
    " FOREIGN KEY (warehouse_id, namespace) REFERENCES namespaces (warehouse_id, name));"
    "CREATE TABLE documents (owner TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (owner, name)) WITHOUT ROWID;"
    "CREATE TABLE loose_buckets (bucket TEXT PRIMARY KEY, since_micros INTEGER NOT NULL) WITHOUT ROWID;",
    "CREATE TABLE remembered (key TEXT PRIMARY KEY, request TEXT NOT NULL, status INTEGER NOT NULL, metadata_location TEXT, body TEXT, since_micros INTEGER NOT NULL);"
    "CREATE INDEX remembered_since ON remembered (since_micros);",
};

nl_str nl_tables_new_token(nl_arena *arena)
{
    uint8_t bytes[16];
    char text[NL_UUID_TEXT_LENGTH];
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, text);
    return nl_arena_str(arena, (nl_str){text, sizeof(text)});
}

/* ---- Buckets without a table ----
 *
 * A bucket is made before its table and goes after it. In between it is a row of loose_buckets, so that a process that
 * dies leaves nothing: of dropped tables since 0, of tables about to be made since now. A staged table may take its time.
 */

#define STAGED_MICROS_MAX (24ll * 3600 * 1000000)

nl_status nl_tables_note_loose(nl_sqlite *database, nl_str bucket, int64_t since_micros)
{
    nl_sqlite_statement *insert;
    NL_TRY(nl_sqlite_prepare(database, "INSERT OR REPLACE INTO loose_buckets (bucket, since_micros) VALUES (?, ?)", &insert));
    nl_sqlite_bind_text(insert, 1, bucket);
    nl_sqlite_bind_int(insert, 2, since_micros);
    return nl_sqlite_finish(insert, NULL);
}

typedef struct loose_work {
    nl_arena *arena;
    nl_str bucket;
    bool has_bucket;
} loose_work;

static nl_status note_loose(void *argument, nl_sqlite *database)
{
    const loose_work *work = argument;
    return nl_tables_note_loose(database, work->bucket, nl_now_micros());
}

static nl_status next_loose(void *argument, nl_sqlite *database)
{
    loose_work *work = argument;
    nl_sqlite_statement *select;
    NL_TRY(nl_sqlite_prepare(database, "SELECT bucket FROM loose_buckets WHERE since_micros < ? LIMIT 1", &select));
    nl_sqlite_bind_int(select, 1, nl_now_micros() - STAGED_MICROS_MAX);
    NL_TRY(nl_sqlite_step(select, &work->has_bucket));
    if (work->has_bucket) work->bucket = nl_sqlite_text(select, 0, work->arena);
    nl_sqlite_reset(select);
    return nl_arena_check(work->arena);
}

static nl_status forget_loose(void *argument, nl_sqlite *database)
{
    const loose_work *work = argument;
    nl_sqlite_statement *remove;
    NL_TRY(nl_sqlite_prepare(database, "DELETE FROM loose_buckets WHERE bucket = ?", &remove));
    nl_sqlite_bind_text(remove, 1, work->bucket);
    return nl_sqlite_finish(remove, NULL);
}

nl_status nl_tables_delete_loose(nl_tables *tables, nl_str bucket)
{
    loose_work work = {.bucket = bucket};
    if (tables->objects) NL_TRY(nl_objects_delete_bucket(tables->objects, bucket, true));
    return nl_state_write_freeing(tables->state, forget_loose, &work);
}

static nl_status sweep_loose(nl_tables *tables)
{
    nl_arena *arena = nl_arena_new(NULL);
    loose_work work = {.arena = arena};
    nl_status status = nl_state_read(tables->state, next_loose, &work);
    while (!status && work.has_bucket) {
        status = nl_tables_delete_loose(tables, work.bucket);
        if (!status) status = nl_state_read(tables->state, next_loose, &work);
    }
    nl_arena_free(arena);
    return status;
}

nl_status nl_tables_new_storage(nl_tables *tables, nl_arena *arena, nl_str *uuid, nl_str *location)
{
    const nl_str made = nl_tables_new_token(arena);
    loose_work work = {.bucket = nl_arena_f(arena, NL_STR_FMT "--table-s3", NL_STR_ARG(made))};
    NL_TRY(nl_state_write(tables->state, note_loose, &work));
    if (tables->objects) NL_TRY(nl_objects_create_bucket(tables->objects, work.bucket, true));
    *uuid = made;
    *location = nl_arena_f(arena, "s3://" NL_STR_FMT, NL_STR_ARG(work.bucket));
    return nl_arena_check(arena);
}

nl_str nl_tables_storage_uuid(nl_str location)
{
    static const nl_str scheme = NL_STR_INIT("s3://"), suffix = NL_STR_INIT("--table-s3");
    nl_str bucket = nl_str_starts(location, scheme) ? nl_str_slice(location, scheme.length, location.length) : (nl_str){0};
    bucket = nl_str_slice(bucket, 0, nl_str_find_char(bucket, '/', 0));
    return nl_str_ends(bucket, suffix) ? nl_str_slice(bucket, 0, bucket.length - suffix.length) : (nl_str){0};
}

/* ---- The store ---- */

nl_status nl_tables_open(nl_state *state, nl_objects *objects, nl_memory *memory, nl_tables **tables)
{
    nl_tables *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->state = state;
    made->objects = objects;
    made->object_fs = objects ? nl_objects_fs(objects) : NULL;
    made->memory = memory ? nl_memory_retain(memory) : NULL;
    nl_mutex_init(&made->mutex);
    nl_status status = nl_fs_for_path(NL_STR("/"), &made->local_fs);
    if (!status) status = nl_state_migrate(state, "tables", versions, NL_COUNT(versions));
    if (!status) status = sweep_loose(made);
    if (status) {
        nl_tables_close(made);
        return status;
    }
    *tables = made;
    return NULL;
}

void nl_tables_close(nl_tables *tables)
{
    if (!tables) return;
    for (uint32_t i = 0; i < NL_KEPT_COUNT; i++)
        nl_kept_metadata_release(&tables->kept[i].kept);
    if (tables->object_fs) nl_fs_release(tables->object_fs);
    if (tables->local_fs) nl_fs_release(tables->local_fs);
    if (tables->memory) nl_memory_release(tables->memory);
    nl_mutex_fini(&tables->mutex);
    free(tables);
}

void nl_tables_set_s3_port(nl_tables *tables, uint16_t port)
{
    tables->s3_port = port;
}

uint16_t nl_tables_s3_port(const nl_tables *tables)
{
    return tables->s3_port;
}

/* ---- Warehouses ---- */

typedef struct warehouse_work {
    const nl_warehouse *wanted;
    int64_t id;
    nl_warehouse_kind kind;
    nl_str name;
    nl_arena *arena;
    nl_warehouse *found;
    nl_list list;
    bool exists;
} warehouse_work;

#define WAREHOUSE_COLUMNS "id, kind, name, arn, location, created_micros, token"

static void read_warehouse(nl_sqlite_statement *row, nl_arena *arena, nl_warehouse *into)
{
    *into = (nl_warehouse){.id = nl_sqlite_int(row, 0),
                           .kind = (nl_warehouse_kind)nl_sqlite_int(row, 1),
                           .name = nl_sqlite_text(row, 2, arena),
                           .arn = nl_sqlite_text(row, 3, arena),
                           .location = nl_sqlite_text(row, 4, arena),
                           .created_micros = nl_sqlite_int(row, 5),
                           .token = nl_sqlite_text(row, 6, arena)};
}

static nl_status find_warehouse(void *argument, nl_sqlite *database)
{
    warehouse_work *work = argument;
    nl_sqlite_statement *select;
    NL_TRY(nl_sqlite_prepare(database, "SELECT " WAREHOUSE_COLUMNS " FROM warehouses WHERE kind = ?1 AND (name = ?2 OR arn = ?2)", &select));
    nl_sqlite_bind_int(select, 1, work->kind);
    nl_sqlite_bind_text(select, 2, work->name);
    NL_TRY(nl_sqlite_step(select, &work->exists));
    if (work->exists) read_warehouse(select, work->arena, work->found);
    nl_sqlite_reset(select);
    return nl_arena_check(work->arena);
}

static nl_status insert_warehouse(void *argument, nl_sqlite *database)
{
    warehouse_work *work = argument;
    nl_sqlite_statement *insert;
    NL_TRY(nl_sqlite_prepare(database, "INSERT INTO warehouses (kind, name, arn, location, created_micros, token) VALUES (?, ?, ?, ?, ?, ?)", &insert));
    nl_sqlite_bind_int(insert, 1, work->kind);
    nl_sqlite_bind_text(insert, 2, work->name);
    nl_sqlite_bind_text(insert, 3, work->wanted->arn);
    nl_sqlite_bind_text(insert, 4, work->wanted->location.data ? work->wanted->location : NL_STR(""));
    nl_sqlite_bind_int(insert, 5, work->wanted->created_micros ? work->wanted->created_micros : nl_now_micros());
    nl_sqlite_bind_text(insert, 6, work->wanted->token.length ? work->wanted->token : nl_tables_new_token(work->arena));
    NL_TRY(nl_sqlite_finish(insert, NULL));
    return find_warehouse(argument, database);
}

nl_status nl_tables_create_warehouse(nl_tables *tables, const nl_warehouse *wanted, nl_arena *arena, nl_warehouse *made)
{
    nl_warehouse result = {0};
    warehouse_work work = {.wanted = wanted, .kind = wanted->kind, .name = wanted->name, .arena = arena, .found = &result};
    nl_status status = nl_state_write(tables->state, insert_warehouse, &work);
    if (nl_sqlite_is_duplicate(status)) {
        nl_error_free(status);
        return NL_RAISE(NILAS_ALREADY_EXISTS, NL_P_STR("path", wanted->name));
    }
    if (!status) *made = result;
    return status;
}

nl_status nl_tables_find_warehouse(nl_tables *tables, nl_warehouse_kind kind, nl_str name_or_arn, nl_arena *arena, nl_warehouse *found, bool *exists)
{
    nl_warehouse result = {0};
    warehouse_work work = {.kind = kind, .name = name_or_arn.data ? name_or_arn : NL_STR(""), .arena = arena, .found = &result};
    NL_TRY(nl_state_read(tables->state, find_warehouse, &work));
    *exists = work.exists;
    if (work.exists) *found = result;
    return NULL;
}

static nl_status find_warehouse_id(void *argument, nl_sqlite *database)
{
    warehouse_work *work = argument;
    nl_sqlite_statement *select;
    NL_TRY(nl_sqlite_prepare(database, "SELECT " WAREHOUSE_COLUMNS " FROM warehouses WHERE id = ?", &select));
    nl_sqlite_bind_int(select, 1, work->id);
    NL_TRY(nl_sqlite_step(select, &work->exists));
    if (work->exists) read_warehouse(select, work->arena, work->found);
    nl_sqlite_reset(select);
    return nl_arena_check(work->arena);
}

nl_status nl_tables_warehouse_by_id(nl_tables *tables, int64_t id, nl_arena *arena, nl_warehouse *found, bool *exists)
{
    nl_warehouse result = {0};
    warehouse_work work = {.id = id, .arena = arena, .found = &result};
    NL_TRY(nl_state_read(tables->state, find_warehouse_id, &work));
    *exists = work.exists;
    if (work.exists) *found = result;
    return NULL;
}

static nl_status list_warehouses(void *argument, nl_sqlite *database)
{
    warehouse_work *work = argument;
    nl_sqlite_statement *select;
    work->list = (nl_list){0};
    NL_TRY(nl_sqlite_prepare(database, "SELECT " WAREHOUSE_COLUMNS " FROM warehouses WHERE kind = ? ORDER BY name", &select));
    nl_sqlite_bind_int(select, 1, work->kind);
    for (;;) {
        bool has_row;
        NL_TRY(nl_sqlite_step(select, &has_row));
        if (!has_row) return nl_arena_check(work->arena);
        nl_warehouse *item = NL_NEW(work->arena, nl_warehouse);
        read_warehouse(select, work->arena, item);
        nl_list_add(work->arena, &work->list, item);
    }
}

nl_status nl_tables_list_warehouses(nl_tables *tables, nl_warehouse_kind kind, nl_arena *arena, const nl_warehouse **list, uint32_t *count)
{
    warehouse_work work = {.kind = kind, .arena = arena};
    NL_TRY(nl_state_read(tables->state, list_warehouses, &work));
    nl_warehouse *items = NL_NEW_ARRAY(arena, nl_warehouse, (size_t)work.list.count + 1);
    for (uint32_t i = 0; i < work.list.count; i++)
        items[i] = *(const nl_warehouse *)work.list.items[i];
    *list = items;
    *count = work.list.count;
    return NULL;
}

static nl_status delete_warehouse(void *argument, nl_sqlite *database)
{
    const warehouse_work *work = argument;
    nl_sqlite_statement *select, *delete_documents, *delete_row;
    bool has_row;
    NL_TRY(nl_sqlite_prepare(database, "SELECT 1 FROM namespaces WHERE warehouse_id = ? LIMIT 1", &select));
    nl_sqlite_bind_int(select, 1, work->id);
    NL_TRY(nl_sqlite_step(select, &has_row));
    nl_sqlite_reset(select);
    if (has_row) return NL_RAISE_TEXT(NILAS_NAMESPACE_NOT_EMPTY, "The warehouse still has namespaces.");
    NL_TRY(nl_sqlite_prepare(database, "DELETE FROM documents WHERE owner = (SELECT token FROM warehouses WHERE id = ?)", &delete_documents));
    nl_sqlite_bind_int(delete_documents, 1, work->id);
    NL_TRY(nl_sqlite_finish(delete_documents, NULL));
    NL_TRY(nl_sqlite_prepare(database, "DELETE FROM warehouses WHERE id = ?", &delete_row));
    nl_sqlite_bind_int(delete_row, 1, work->id);
    return nl_sqlite_finish(delete_row, NULL);
}

nl_status nl_tables_drop_warehouse(nl_tables *tables, int64_t warehouse_id)
{
    warehouse_work work = {.id = warehouse_id};
    return nl_state_write_freeing(tables->state, delete_warehouse, &work);
}

/* ---- Documents ---- */

typedef struct document_work {
    nl_str owner, name, text;
    nl_arena *arena;
} document_work;

static nl_status put_document(void *argument, nl_sqlite *database)
{
    const document_work *work = argument;
    nl_sqlite_statement *change;
    if (work->text.data) {
        NL_TRY(nl_sqlite_prepare(database, "INSERT INTO documents (owner, name, text) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET text = excluded.text", &change));
        nl_sqlite_bind_text(change, 3, work->text);
    } else {
        NL_TRY(nl_sqlite_prepare(database, "DELETE FROM documents WHERE owner = ? AND name = ?", &change));
    }
    nl_sqlite_bind_text(change, 1, work->owner);
    nl_sqlite_bind_text(change, 2, work->name);
    return nl_sqlite_finish(change, NULL);
}

nl_status nl_tables_put_document(nl_tables *tables, nl_str owner_uuid, nl_str name, nl_str text)
{
    document_work work = {.owner = owner_uuid, .name = name, .text = text};
    return nl_state_write(tables->state, put_document, &work);
}

static nl_status get_document(void *argument, nl_sqlite *database)
{
    document_work *work = argument;
    nl_sqlite_statement *select;
    bool has_row;
    work->text = (nl_str){0};
    NL_TRY(nl_sqlite_prepare(database, "SELECT text FROM documents WHERE owner = ? AND name = ?", &select));
    nl_sqlite_bind_text(select, 1, work->owner);
    nl_sqlite_bind_text(select, 2, work->name);
    NL_TRY(nl_sqlite_step(select, &has_row));
    if (has_row) work->text = nl_sqlite_text(select, 0, work->arena);
    nl_sqlite_reset(select);
    return nl_arena_check(work->arena);
}

nl_status nl_tables_get_document(nl_tables *tables, nl_str owner_uuid, nl_str name, nl_arena *arena, nl_str *text)
{
    document_work work = {.owner = owner_uuid, .name = name, .arena = arena};
    NL_TRY(nl_state_read(tables->state, get_document, &work));
    *text = work.text;
    return NULL;
}

/* ---- Remembered answers ---- */

nl_status nl_tables_remember_in(nl_sqlite *database, const nl_remembered *answer, nl_str metadata_location)
{
    nl_sqlite_statement *forget, *insert;
    int64_t change_count;
    if (!answer) return NULL;
    const int64_t now = nl_now_micros();
    NL_TRY(nl_sqlite_prepare(database, "DELETE FROM remembered WHERE since_micros < ?", &forget));
    nl_sqlite_bind_int(forget, 1, now - NL_REMEMBERED_SECONDS * 1000000ll);
    NL_TRY(nl_sqlite_finish(forget, NULL));
    NL_TRY(nl_sqlite_prepare(database, "INSERT OR IGNORE INTO remembered (key, request, status, metadata_location, body, since_micros) VALUES (?, ?, ?, ?, ?, ?)", &insert));
    nl_sqlite_bind_text(insert, 1, answer->key);
    nl_sqlite_bind_text(insert, 2, answer->request);
    nl_sqlite_bind_int(insert, 3, answer->status);
    nl_sqlite_bind_text(insert, 4, metadata_location.length ? metadata_location : (nl_str){0});
    nl_sqlite_bind_text(insert, 5, answer->body.length ? answer->body : (nl_str){0});
    nl_sqlite_bind_int(insert, 6, now);
    NL_TRY(nl_sqlite_finish(insert, &change_count));
    return change_count ? NULL : NL_RAISE(NILAS_ALREADY_EXISTS, NL_P_STR("path", answer->key));
}

static nl_status remember(void *argument, nl_sqlite *database)
{
    const nl_remembered *answer = argument;
    nl_status status = nl_tables_remember_in(database, answer, answer->metadata_location);
    if (!status || nl_error_condition(status) != NL_COND_NILAS_ALREADY_EXISTS) return status;
    nl_error_free(status);
    return NULL;
}

nl_status nl_tables_remember(nl_tables *tables, const nl_remembered *answer)
{
    return nl_state_write(tables->state, remember, NL_UNCONST(answer));
}

typedef struct recall_work {
    nl_str key;
    nl_arena *arena;
    nl_remembered answer;
    bool exists;
} recall_work;

static nl_status recall(void *argument, nl_sqlite *database)
{
    recall_work *work = argument;
    nl_sqlite_statement *select;
    NL_TRY(nl_sqlite_prepare(database, "SELECT request, status, metadata_location, body FROM remembered WHERE key = ? AND since_micros >= ?", &select));
    nl_sqlite_bind_text(select, 1, work->key);
    nl_sqlite_bind_int(select, 2, nl_now_micros() - NL_REMEMBERED_SECONDS * 1000000ll);
    NL_TRY(nl_sqlite_step(select, &work->exists));
    if (work->exists)
        work->answer = (nl_remembered){.key = work->key,
                                       .request = nl_sqlite_text(select, 0, work->arena),
                                       .status = (int32_t)nl_sqlite_int(select, 1),
                                       .metadata_location = nl_sqlite_text(select, 2, work->arena),
                                       .body = nl_sqlite_text(select, 3, work->arena)};
    nl_sqlite_reset(select);
    return nl_arena_check(work->arena);
}

nl_status nl_tables_recall(nl_tables *tables, nl_str key, nl_arena *arena, nl_remembered *answer, bool *exists)
{
    recall_work work = {.key = key, .arena = arena};
    NL_TRY(nl_state_read(tables->state, recall, &work));
    *exists = work.exists;
    if (work.exists) *answer = work.answer;
    return NULL;
}
