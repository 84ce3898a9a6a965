/* lakehouse/tables_pointer.c - pointers of tables and views: found, swapped all or nothing, dropped, renamed, listed. See
 * tables.h.
 */
#include "lakehouse/tables_private.h"

#include "base/calendar.h"

struct nl_pointer_work {
    int64_t warehouse_id;
    nl_str scope, name; /* of the table: namespace joined, name */
    nl_str to_scope, to_name;
    nl_str uuid;
    nl_str expected_token;
    const nl_remembered *remembered;
    nl_str prefix, after;
    uint32_t count_max;
    bool is_view;
    const nl_pointer_change *changes;
    const nl_str *scopes; /* joined, one for each change */
    uint32_t change_count;
    nl_arena *arena;
    nl_table_entry found;
    nl_list list;
    bool exists;
};
typedef nl_pointer_work pointer_work;

#define ENTRY_COLUMNS                                                                                                                      \
    "id, warehouse_id, namespace, name, uuid, is_view, metadata_location, previous_metadata_location, warehouse_location, version_token,"  \
    " created_micros, modified_micros"

static void read_entry(nl_sqlite_statement *row, nl_arena *arena, nl_table_entry *entry)
{
    *entry = (nl_table_entry){.id = nl_sqlite_int(row, 0),
                              .warehouse_id = nl_sqlite_int(row, 1),
                              .name = nl_sqlite_text(row, 3, arena),
                              .uuid = nl_sqlite_text(row, 4, arena),
                              .is_view = nl_sqlite_int(row, 5) != 0,
                              .metadata_location = nl_sqlite_text(row, 6, arena),
                              .previous_metadata_location = nl_sqlite_text(row, 7, arena),
                              .warehouse_location = nl_sqlite_text(row, 8, arena),
                              .version_token = nl_sqlite_text(row, 9, arena),
                              .created_micros = nl_sqlite_int(row, 10),
                              .modified_micros = nl_sqlite_int(row, 11)};
    entry->namespace_parts = nl_namespace_split(arena, nl_sqlite_text(row, 2, arena), &entry->namespace_count);
}

static nl_status find_in(nl_sqlite *database, int64_t warehouse_id, nl_str scope, nl_str name, nl_arena *arena, nl_table_entry *entry, bool *exists)
{
    nl_sqlite_statement *select;
    NL_TRY(nl_sqlite_prepare(database, "SELECT " ENTRY_COLUMNS " FROM tables WHERE warehouse_id = ? AND namespace = ? AND name = ?", &select));
    nl_sqlite_bind_int(select, 1, warehouse_id);
    nl_sqlite_bind_text(select, 2, scope);
    nl_sqlite_bind_text(select, 3, name.data ? name : NL_STR(""));
    NL_TRY(nl_sqlite_step(select, exists));
    if (*exists) read_entry(select, arena, entry);
    nl_sqlite_reset(select);
    return nl_arena_check(arena);
}

static nl_status find(void *argument, nl_sqlite *database)
{
    pointer_work *work = argument;
    return find_in(database, work->warehouse_id, work->scope, work->name, work->arena, &work->found, &work->exists);
}

nl_status nl_tables_find(nl_tables *tables, int64_t warehouse_id, const nl_identifier *identifier, nl_arena *arena, nl_table_entry *entry, bool *exists)
{
    pointer_work work = {.warehouse_id = warehouse_id, .name = identifier->name, .arena = arena};
    NL_TRY(nl_namespace_join(arena, identifier->namespace_parts, identifier->namespace_count, &work.scope));
    NL_TRY(nl_state_read(tables->state, find, &work));
    *exists = work.exists;
    if (work.exists) *entry = work.found;
    return NULL;
}

static nl_status find_uuid(void *argument, nl_sqlite *database)
{
    pointer_work *work = argument;
    nl_sqlite_statement *select;
    NL_TRY(nl_sqlite_prepare(database, "SELECT " ENTRY_COLUMNS " FROM tables WHERE uuid = ?", &select));
    nl_sqlite_bind_text(select, 1, work->uuid);
    NL_TRY(nl_sqlite_step(select, &work->exists));
    if (work->exists) read_entry(select, work->arena, &work->found);
    nl_sqlite_reset(select);
    return nl_arena_check(work->arena);
}

nl_status nl_tables_find_uuid(nl_tables *tables, nl_str uuid, nl_arena *arena, nl_table_entry *entry, bool *exists)
{
    pointer_work work = {.uuid = uuid.data ? uuid : NL_STR(""), .arena = arena};
    NL_TRY(nl_state_read(tables->state, find_uuid, &work));
    *exists = work.exists;
    if (work.exists) *entry = work.found;
    return NULL;
}

/* ---- Changes ---- */

static nl_status already_exists(nl_arena *arena, nl_str scope, nl_str name)
{
    return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", nl_relation_name(arena, scope, name)));
}

static nl_status not_found(nl_arena *arena, nl_str scope, nl_str name)
{
    return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_relation_name(arena, scope, name)));
}

static nl_status stale_token(nl_arena *arena, nl_str scope, nl_str name)
{
    const nl_str text = nl_relation_name(arena, scope, name);
    return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "The version token of " NL_STR_FMT " is not the present one: it was changed by another", NL_STR_ARG(text));
}

/* The bucket was made for this table (nl_tables_new_storage) and belongs to nobody yet: no table moves into another's. */
static nl_status take_storage(nl_sqlite *database, const nl_pointer_change *change)
{
    nl_sqlite_statement *settle;
    int64_t change_count;
    NL_TRY(nl_sqlite_prepare(database, "DELETE FROM loose_buckets WHERE since_micros > 0 AND 's3://' || bucket = ?", &settle));
    nl_sqlite_bind_text(settle, 1, change->warehouse_location);
    NL_TRY(nl_sqlite_finish(settle, &change_count));
    if (change_count == 1) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The location " NL_STR_FMT " was not made for this table: create it without a location",
                         NL_STR_ARG(change->warehouse_location));
}

static nl_status insert_pointer(nl_sqlite *database, const pointer_work *work, const nl_pointer_change *change, nl_str scope)
{
    nl_sqlite_statement *insert;
    const int64_t now = nl_now_micros();
    NL_TRY(nl_namespace_must_exist(database, work->warehouse_id, scope, work->arena));
    if (change->warehouse_location.length) NL_TRY(take_storage(database, change));
    NL_TRY(nl_sqlite_prepare(database,
                             "INSERT INTO tables (warehouse_id, namespace, name, uuid, is_view, metadata_location, warehouse_location, version_token,"
                             " created_micros, modified_micros) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                             &insert));
    nl_sqlite_bind_int(insert, 1, work->warehouse_id);
    nl_sqlite_bind_text(insert, 2, scope);
    nl_sqlite_bind_text(insert, 3, change->identifier.name);
    nl_sqlite_bind_text(insert, 4, change->uuid.length ? change->uuid : nl_tables_new_token(work->arena));
    nl_sqlite_bind_int(insert, 5, change->is_view);
    nl_sqlite_bind_text(insert, 6, change->next.length ? change->next : (nl_str){0});
    nl_sqlite_bind_text(insert, 7, change->warehouse_location.length ? change->warehouse_location : (nl_str){0});
    nl_sqlite_bind_text(insert, 8, change->next_token.length ? change->next_token : nl_tables_new_token(work->arena));
    nl_sqlite_bind_int(insert, 9, now);
    nl_sqlite_bind_int(insert, 10, now);
    return nl_sqlite_finish(insert, NULL);
}

static nl_status update_pointer(nl_sqlite *database, const pointer_work *work, const nl_pointer_change *change, const nl_table_entry *present)
{
    nl_sqlite_statement *update;
    NL_TRY(nl_sqlite_prepare(database,
                             "UPDATE tables SET metadata_location = ?, previous_metadata_location = ?, version_token = ?, modified_micros = ? WHERE id = ?",
                             &update));
    nl_sqlite_bind_text(update, 1, change->next);
    nl_sqlite_bind_text(update, 2, present->metadata_location);
    nl_sqlite_bind_text(update, 3, change->next_token.length ? change->next_token : nl_tables_new_token(work->arena));
    nl_sqlite_bind_int(update, 4, nl_now_micros());
    nl_sqlite_bind_int(update, 5, present->id);
    return nl_sqlite_finish(update, NULL);
}

static nl_status change_pointer(nl_sqlite *database, const pointer_work *work, const nl_pointer_change *change, nl_str scope)
{
    nl_table_entry present;
    bool exists;
    const nl_str name = change->identifier.name;
    NL_TRY(find_in(database, work->warehouse_id, scope, name, work->arena, &present, &exists));
    const bool is_creation = !change->expected.length && !change->expected_token.length;
    if (is_creation) return exists ? already_exists(work->arena, scope, name) : insert_pointer(database, work, change, scope);
    if (!exists || present.is_view != change->is_view) return not_found(work->arena, scope, name);
    if (change->expected_token.length && !nl_str_equal(change->expected_token, present.version_token)) return stale_token(work->arena, scope, name);
    if (change->expected.length && !nl_str_equal(change->expected, present.metadata_location)) {
        const nl_str text = nl_relation_name(work->arena, scope, name);
        return NL_RAISE_TEXT(NILAS_COMMIT_FAILED,
                             "Cannot commit " NL_STR_FMT ": metadata location " NL_STR_FMT " has changed from " NL_STR_FMT, NL_STR_ARG(text),
                             NL_STR_ARG(present.metadata_location), NL_STR_ARG(change->expected));
    }
    return update_pointer(database, work, change, &present);
}

nl_status nl_pointer_work_run(void *argument, nl_sqlite *database)
{
    const pointer_work *work = argument;
    for (uint32_t i = 0; i < work->change_count; i++) {
        const nl_pointer_change *change = &work->changes[i];
        NL_TRY(change_pointer(database, work, change, work->scopes[i]));
        if (change->remembered) NL_TRY(nl_tables_remember_in(database, change->remembered, change->remembered->status == 204 ? (nl_str){0} : change->next));
    }
    return nl_arena_check(work->arena);
}

nl_status nl_pointer_work_new(nl_arena *arena, int64_t warehouse_id, const nl_pointer_change *change, nl_pointer_work **work)
{
    nl_str *scope = NL_NEW(arena, nl_str);
    NL_TRY(nl_namespace_join(arena, change->identifier.namespace_parts, change->identifier.namespace_count, scope));
    *work = NL_NEW(arena, pointer_work);
    **work = (pointer_work){.warehouse_id = warehouse_id, .changes = change, .scopes = scope, .change_count = 1, .arena = arena};
    return nl_arena_check(arena);
}

nl_status nl_tables_commit(nl_tables *tables, int64_t warehouse_id, const nl_pointer_change *changes, uint32_t change_count)
{
    nl_arena *arena = nl_arena_new(tables->memory);
    nl_str *scopes = NL_NEW_ARRAY(arena, nl_str, (size_t)change_count + 1);
    nl_status status = NULL;
    for (uint32_t i = 0; i < change_count && !status; i++)
        status = nl_namespace_join(arena, changes[i].identifier.namespace_parts, changes[i].identifier.namespace_count, &scopes[i]);
    pointer_work work = {.warehouse_id = warehouse_id, .changes = changes, .scopes = scopes, .change_count = change_count, .arena = arena};
    if (!status) status = nl_state_write(tables->state, nl_pointer_work_run, &work);
    nl_arena_free(arena);
    return status;
}

static nl_str bucket_of(nl_str location)
{
    static const nl_str scheme = NL_STR_INIT("s3://");
    if (!nl_str_starts(location, scheme)) return (nl_str){0};
    nl_str bucket = nl_str_slice(location, scheme.length, location.length);
    const size_t slash = nl_str_find_char(bucket, '/', 0);
    return slash == NL_NOT_FOUND ? bucket : nl_str_slice(bucket, 0, slash);
}

static nl_status drop(void *argument, nl_sqlite *database)
{
    pointer_work *work = argument;
    nl_sqlite_statement *documents, *remove;
    NL_TRY(find(argument, database));
    work->exists = work->exists && work->found.is_view == work->is_view;
    if (!work->exists) return NULL;
    if (work->expected_token.length && !nl_str_equal(work->expected_token, work->found.version_token)) return stale_token(work->arena, work->scope, work->name);
    NL_TRY(nl_sqlite_prepare(database, "DELETE FROM documents WHERE owner = ?", &documents));
    nl_sqlite_bind_text(documents, 1, work->found.uuid);
    NL_TRY(nl_sqlite_finish(documents, NULL));
    NL_TRY(nl_sqlite_prepare(database, "DELETE FROM tables WHERE id = ?", &remove));
    nl_sqlite_bind_int(remove, 1, work->found.id);
    NL_TRY(nl_sqlite_finish(remove, NULL));
    NL_TRY(nl_tables_remember_in(database, work->remembered, (nl_str){0}));
    const nl_str bucket = bucket_of(work->found.warehouse_location);
    return bucket.length ? nl_tables_note_loose(database, bucket, 0) : NULL;
}

nl_status nl_tables_drop(nl_tables *tables, int64_t warehouse_id, const nl_identifier *identifier, bool is_view, nl_str expected_token,
                         const nl_remembered *remembered, bool *was_dropped)
{
    nl_arena *arena = nl_arena_new(tables->memory);
    pointer_work work = {.warehouse_id = warehouse_id, .name = identifier->name, .is_view = is_view, .expected_token = expected_token, .remembered = remembered, .arena = arena};
    nl_status status = nl_namespace_join(arena, identifier->namespace_parts, identifier->namespace_count, &work.scope);
    if (!status) status = nl_state_write_freeing(tables->state, drop, &work);
    if (!status) *was_dropped = work.exists;
    const nl_str bucket = !status && work.exists ? bucket_of(work.found.warehouse_location) : (nl_str){0};
    if (bucket.length) status = nl_tables_delete_loose(tables, bucket);
    nl_arena_free(arena);
    return status;
}

static nl_status rename_entry(void *argument, nl_sqlite *database)
{
    pointer_work *work = argument;
    nl_table_entry other;
    nl_sqlite_statement *update;
    bool is_taken;
    NL_TRY(find(argument, database));
    if (!work->exists || work->found.is_view != work->is_view) return not_found(work->arena, work->scope, work->name);
    if (work->expected_token.length && !nl_str_equal(work->expected_token, work->found.version_token)) return stale_token(work->arena, work->scope, work->name);
    NL_TRY(nl_namespace_must_exist(database, work->warehouse_id, work->to_scope, work->arena));
    NL_TRY(find_in(database, work->warehouse_id, work->to_scope, work->to_name, work->arena, &other, &is_taken));
    NL_TRY(nl_tables_remember_in(database, work->remembered, (nl_str){0}));
    if (is_taken && other.id == work->found.id) return NULL;
    if (is_taken) return already_exists(work->arena, work->to_scope, work->to_name);
    NL_TRY(nl_sqlite_prepare(database, "UPDATE tables SET namespace = ?, name = ?, version_token = ?, modified_micros = ? WHERE id = ?", &update));
    nl_sqlite_bind_text(update, 1, work->to_scope);
    nl_sqlite_bind_text(update, 2, work->to_name);
    nl_sqlite_bind_text(update, 3, nl_tables_new_token(work->arena));
    nl_sqlite_bind_int(update, 4, nl_now_micros());
    nl_sqlite_bind_int(update, 5, work->found.id);
    return nl_sqlite_finish(update, NULL);
}

nl_status nl_tables_rename(nl_tables *tables, int64_t warehouse_id, const nl_identifier *from, const nl_identifier *to, bool is_view, nl_str expected_token,
                           const nl_remembered *remembered)
{
    nl_arena *arena = nl_arena_new(tables->memory);
    pointer_work work = {.warehouse_id = warehouse_id, .name = from->name, .to_name = to->name, .is_view = is_view, .expected_token = expected_token, .remembered = remembered, .arena = arena};
    nl_status status = nl_namespace_join(arena, from->namespace_parts, from->namespace_count, &work.scope);
    if (!status) status = nl_namespace_join(arena, to->namespace_parts, to->namespace_count, &work.to_scope);
    if (!status) status = nl_state_write(tables->state, rename_entry, &work);
    nl_arena_free(arena);
    return status;
}

/* ---- Lists ---- */

/* Without a namespace (S3 Tables lists a whole bucket): sorted by namespace and name; `after` is "namespace 0x1F name". */
static nl_status list_entries(void *argument, nl_sqlite *database)
{
    pointer_work *work = argument;
    nl_sqlite_statement *select;
    work->list = (nl_list){0};
    if (work->scope.length) {
        NL_TRY(nl_namespace_must_exist(database, work->warehouse_id, work->scope, work->arena));
        NL_TRY(nl_sqlite_prepare(database,
                                 "SELECT " ENTRY_COLUMNS " FROM tables WHERE warehouse_id = ? AND is_view = ? AND substr(name, 1, length(?3)) = ?3 AND name > ?4"
                                 " AND namespace = ?6 ORDER BY name LIMIT ?5",
                                 &select));
        nl_sqlite_bind_text(select, 6, work->scope);
    } else {
        NL_TRY(nl_sqlite_prepare(database,
                                 "SELECT " ENTRY_COLUMNS " FROM tables WHERE warehouse_id = ? AND is_view = ? AND substr(name, 1, length(?3)) = ?3"
                                 " AND namespace || char(31) || name > ?4 ORDER BY namespace || char(31) || name LIMIT ?5",
                                 &select));
    }
    nl_sqlite_bind_int(select, 1, work->warehouse_id);
    nl_sqlite_bind_int(select, 2, work->is_view);
    nl_sqlite_bind_text(select, 3, work->prefix.data ? work->prefix : NL_STR(""));
    nl_sqlite_bind_text(select, 4, work->after.data ? work->after : NL_STR(""));
    nl_sqlite_bind_int(select, 5, work->count_max);
    for (;;) {
        bool has_row;
        NL_TRY(nl_sqlite_step(select, &has_row));
        if (!has_row) return nl_arena_check(work->arena);
        nl_table_entry *entry = NL_NEW(work->arena, nl_table_entry);
        read_entry(select, work->arena, entry);
        nl_list_add(work->arena, &work->list, entry);
    }
}

nl_status nl_tables_list(nl_tables *tables, int64_t warehouse_id, const nl_str *parts, uint32_t part_count, bool views, nl_str prefix, nl_str after,
                         uint32_t count_max, nl_arena *arena, const nl_table_entry **entries, uint32_t *count)
{
    pointer_work work = {.warehouse_id = warehouse_id, .is_view = views, .prefix = prefix, .after = after, .count_max = count_max, .arena = arena};
    NL_TRY(nl_namespace_join(arena, parts, part_count, &work.scope));
    NL_TRY(nl_state_read(tables->state, list_entries, &work));
    nl_table_entry *items = NL_NEW_ARRAY(arena, nl_table_entry, (size_t)work.list.count + 1);
    for (uint32_t i = 0; i < work.list.count; i++)
        items[i] = *(const nl_table_entry *)work.list.items[i];
    *entries = items;
    *count = work.list.count;
    return NULL;
}
