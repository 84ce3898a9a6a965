/* lakehouse/rest/commit.c - commits of one table and of several at once: requirements checked against the metadata in force,
 * updates applied, the new file written and durable, then all pointers swapped in one transaction. When another commit
 * was first, the whole is tried again on what it left; a requirement that no longer holds ends it.
 */
#include "lakehouse/rest/rest_private.h"

#include "base/crash.h"
#include "catalog/catalog_private.h"

#define ATTEMPTS_MAX 16u
#define TABLES_MAX   1000u

typedef struct table_commit {
    nl_identifier identifier;
    const nl_table_requirement *requirements;
    uint32_t requirement_count;
    const nl_table_update *updates;
    uint32_t update_count;
    /* of the present attempt: */
    nl_table_entry entry;
    bool exists;
    nl_kept_metadata base;       /* empty: creation */
    const nl_table_metadata *updated; /* counted; NULL: nothing changes */
    nl_kept_metadata next;       /* of updated, once written */
    nl_str storage;              /* creation in a table bucket: the bucket made for it */
} table_commit;

/* ---- Reading ---- */

static nl_status read_commit(nl_rest_api_call *call, const json_t *json, table_commit *commit)
{
    const json_t *requirements = NULL, *updates = NULL;
    NL_TRY(nl_json_optional_array(json, "requirements", NL_REST_API_BODY, &requirements));
    NL_TRY(nl_json_optional_array(json, "updates", NL_REST_API_BODY, &updates));
    const size_t requirement_count = json_array_size(requirements), update_count = json_array_size(updates);
    nl_table_requirement *read_requirements = NL_NEW_ARRAY(call->arena, nl_table_requirement, requirement_count + 1);
    nl_table_update *read_updates = NL_NEW_ARRAY(call->arena, nl_table_update, update_count + 1);
    NL_TRY(nl_arena_check(call->arena));
    for (size_t i = 0; i < requirement_count; i++)
        NL_TRY(nl_table_requirement_from_json(call->arena, json_array_get(requirements, i), &read_requirements[i]));
    for (size_t i = 0; i < update_count; i++) {
        NL_TRY(nl_table_update_from_json(call->arena, json_array_get(updates, i), &read_updates[i]));
        /* The specification: ignored when present. Java's clients send the schema's own highest id, less after a drop. */
        if (read_updates[i].kind == NL_UPDATE_ADD_SCHEMA) read_updates[i].add_schema.last_column_id = NL_NONE;
    }
    commit->requirements = read_requirements;
    commit->requirement_count = (uint32_t)requirement_count;
    commit->updates = read_updates;
    commit->update_count = (uint32_t)update_count;
    return NULL;
}

static bool is_creation(const table_commit *commit)
{
    for (uint32_t i = 0; i < commit->requirement_count; i++)
        if (commit->requirements[i].kind == NL_REQUIRE_CREATE) return true;
    return false;
}

/* ---- One attempt ---- */

static nl_status load_base(nl_rest_api_call *call, table_commit *commit)
{
    NL_TRY(nl_tables_find(call->tables, call->warehouse.id, &commit->identifier, call->arena, &commit->entry, &commit->exists));
    const bool has_metadata = commit->exists && !commit->entry.is_view && commit->entry.metadata_location.length;
    if (has_metadata) return nl_tables_read_metadata(call->tables, commit->entry.metadata_location, &commit->base);
    if (!is_creation(commit)) return nl_rest_api_no_table(call, &commit->identifier);
    if (!commit->exists) return NULL;
    const nl_str name = nl_rest_api_dotted(call->arena, &commit->identifier);
    return nl_rest_api_refuse(call, 409, "AlreadyExistsException", "%s already exists: " NL_STR_FMT, commit->entry.is_view ? "View with same name" : "Table",
                          NL_STR_ARG(name));
}

/* A snapshot made on older metadata is a conflict that the client can repeat, not a fault of it. */
static nl_status check_snapshot(const nl_table_metadata *base, const nl_snapshot *snapshot)
{
    if (base->format_version > 1 && snapshot->parent_id != NL_NONE && snapshot->sequence_number <= base->last_sequence_number)
        return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Cannot add snapshot with sequence number %lld older than last sequence number %lld",
                             (long long)snapshot->sequence_number, (long long)base->last_sequence_number);
    if (base->format_version > 2 && snapshot->first_row_id != NL_NONE && snapshot->first_row_id < base->next_row_id)
        return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Cannot add a snapshot, first-row-id is behind table next-row-id: %lld < %lld",
                             (long long)snapshot->first_row_id, (long long)base->next_row_id);
    return NULL;
}

static nl_status check_requirements(const table_commit *commit)
{
    for (uint32_t i = 0; i < commit->requirement_count; i++)
        NL_TRY(nl_table_requirement_check(&commit->requirements[i], commit->base.metadata));
    for (uint32_t i = 0; commit->base.metadata && i < commit->update_count; i++)
        if (commit->updates[i].kind == NL_UPDATE_ADD_SNAPSHOT) NL_TRY(check_snapshot(commit->base.metadata, commit->updates[i].snapshot));
    return NULL;
}

/* DuckDB sets the current schema of a new table last, after the spec and the order that need one: that update is applied
 * first, and changes nothing when its turn comes. */
static nl_status set_schema_early(const table_commit *commit, uint32_t next, nl_metadata_builder *builder)
{
    const nl_update_kind kind = commit->updates[next].kind;
    if (commit->base.metadata || (kind != NL_UPDATE_ADD_SPEC && kind != NL_UPDATE_ADD_SORT_ORDER)) return NULL;
    for (uint32_t i = 0; i < commit->update_count; i++) {
        if (commit->updates[i].kind != NL_UPDATE_SET_CURRENT_SCHEMA) continue;
        return i < next ? NULL : nl_metadata_builder_apply(builder, &commit->updates[i]);
    }
    return NULL;
}

static nl_status apply_updates(nl_rest_api_call *call, table_commit *commit, const nl_table_metadata **updated)
{
    nl_metadata_builder *builder = nl_metadata_builder_new(commit->base.metadata, call->request->memory);
    nl_status status = NULL;
    bool has_location = false;
    for (uint32_t i = 0; i < commit->update_count && !status; i++) {
        has_location = has_location || commit->updates[i].kind == NL_UPDATE_SET_LOCATION;
        status = set_schema_early(commit, i, builder);
        if (!status) status = nl_metadata_builder_apply(builder, &commit->updates[i]);
    }
    if (!status && !commit->base.metadata && !has_location && call->warehouse.kind != NL_WAREHOUSE_TABLE_BUCKET) {
        nl_table_update update = {.kind = NL_UPDATE_SET_LOCATION};
        status = nl_tables_default_location(call->tables, &call->warehouse, &commit->identifier, call->arena, &update.text);
        if (!status) status = nl_metadata_builder_apply(builder, &update);
    }
    if (!status) status = nl_metadata_builder_finish(builder, NL_NONE, updated);
    nl_metadata_builder_free(builder);
    return status;
}

/* Locations are the client's words: the server writes only where this table may be. */
static nl_status check_locations(nl_rest_api_call *call, table_commit *commit, const nl_table_metadata *updated)
{
    const nl_str metadata_path = nl_table_property(updated, "write.metadata.path", NULL);
    if (call->warehouse.kind != NL_WAREHOUSE_TABLE_BUCKET) {
        if (metadata_path.data) NL_TRY(nl_tables_check_location(call->tables, &call->warehouse, metadata_path));
        if (commit->base.metadata && nl_str_equal(commit->base.metadata->location, updated->location)) return NULL;
        return nl_tables_check_location(call->tables, &call->warehouse, updated->location);
    }
    const nl_str uuid = nl_tables_storage_uuid(updated->location);
    if (!commit->exists) commit->storage = nl_arena_f(call->arena, "s3://" NL_STR_FMT "--table-s3", NL_STR_ARG(uuid));
    const nl_str storage = commit->exists ? commit->entry.warehouse_location : commit->storage;
    const bool is_inside = uuid.length && nl_str_starts(updated->location, storage) && (!metadata_path.data || nl_str_starts(metadata_path, storage));
    return is_inside ? NULL : nl_rest_api_refuse(call, 400, "BadRequestException", "The location of a table in a table bucket cannot be chosen");
}

static nl_status prepare(nl_rest_api_call *call, table_commit *commit)
{
    NL_TRY(load_base(call, commit));
    NL_TRY(check_requirements(commit));
    NL_TRY(apply_updates(call, commit, &commit->updated));
    if (commit->updated != commit->base.metadata) return check_locations(call, commit, commit->updated);
    nl_table_metadata_release(commit->updated); /* the same object: no update changed anything */
    commit->updated = NULL;
    return NULL;
}

/* status: of the answer that this change keeps; 0: none. */
static nl_pointer_change change_of(nl_rest_api_call *call, const table_commit *commit, int32_t status)
{
    const bool exists = commit->exists;
    return (nl_pointer_change){.identifier = commit->identifier,
                               .expected = exists ? commit->entry.metadata_location : (nl_str){0},
                               .next = commit->next.metadata ? commit->next.metadata->metadata_file : (nl_str){0},
                               .warehouse_location = exists ? (nl_str){0} : commit->storage,
                               .uuid = exists ? (nl_str){0} : nl_tables_storage_uuid(commit->storage),
                               .remembered = status ? nl_rest_api_remembered(call, status, (nl_str){0}) : NULL};
}

/* Several tables: every file first, then all pointers in one transaction. */
static nl_status swap_all(nl_rest_api_call *call, table_commit *commits, uint32_t count)
{
    nl_pointer_change *changes = NL_NEW_ARRAY(call->arena, nl_pointer_change, (size_t)count + 1);
    uint32_t change_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        table_commit *commit = &commits[i];
        if (!commit->updated) continue;
        NL_TRY(nl_tables_write_metadata(call->tables, commit->base.metadata, commit->updated, &commit->next));
        changes[change_count] = change_of(call, commit, change_count ? 0 : 204);
        change_count++;
    }
    NL_CRASH_POINT("rest.metadata-written");
    if (change_count) NL_TRY(nl_tables_commit(call->tables, call->warehouse.id, changes, change_count));
    return NULL;
}

static nl_status swap(nl_rest_api_call *call, table_commit *commits, uint32_t count, int32_t status)
{
    if (count == 1 && !commits->updated) return NULL;
    if (count == 1) {
        const nl_pointer_change change = change_of(call, commits, status);
        NL_TRY(nl_tables_publish(call->tables, call->warehouse.id, &change, commits->base.metadata, commits->updated, &commits->next));
    } else {
        NL_TRY(swap_all(call, commits, count));
    }
    NL_CRASH_POINT("rest.swapped");
    return NULL;
}

/* What the attempt held; files that did not come into force go. */
static void end_attempt(nl_rest_api_call *call, table_commit *commits, uint32_t count, nl_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        table_commit *commit = &commits[i];
        nl_fs *fs;
        if (commit->next.metadata && error && nl_error_kind_of(error) != NL_KIND_UNKNOWN_STATE)
            nl_tables_remove_metadata(call->tables, commit->next.metadata->metadata_file);
        if (commit->next.metadata && !error) {
            nl_error *problem = nl_tables_warehouse_fs(call->tables, &call->warehouse, commit->next.metadata->location, &fs);
            if (!problem) {
                nl_delete_dropped_metadata_files(fs, commit->base.metadata, commit->next.metadata);
                nl_fs_release(fs);
            }
            nl_error_free(problem);
        }
        nl_table_metadata_release(commit->updated);
        commit->updated = NULL;
        if (!error) continue; /* the answer shows them */
        nl_kept_metadata_release(&commit->base);
        nl_kept_metadata_release(&commit->next);
    }
}

/* Another commit was first between our read and our swap; a failed requirement has the same condition but is checked again. */
static bool is_lost_race(nl_rest_api_call *call, nl_error *error, bool was_swapping)
{
    const nl_condition condition = nl_error_condition(error);
    return was_swapping && !call->error_status && (condition == NL_COND_NILAS_COMMIT_FAILED || condition == NL_COND_TABLE_OR_VIEW_ALREADY_EXISTS);
}

static nl_status commit_all(nl_rest_api_call *call, table_commit *commits, uint32_t count, int32_t success_status)
{
    nl_status status = NULL;
    for (uint32_t attempt = 1;; attempt++) {
        bool was_swapping = false;
        for (uint32_t i = 0; i < count && !status; i++)
            status = prepare(call, &commits[i]);
        if (!status) {
            was_swapping = true;
            status = swap(call, commits, count, success_status);
        }
        end_attempt(call, commits, count, status);
        if (!status || attempt == ATTEMPTS_MAX || !is_lost_race(call, status, was_swapping)) return status;
        nl_error_free(status);
        status = NULL;
    }
}

/* ---- The routes ---- */

static bool same_identifier(const nl_identifier *a, const nl_identifier *b)
{
    bool is_same = a->namespace_count == b->namespace_count && nl_str_equal(a->name, b->name);
    for (uint32_t i = 0; is_same && i < a->namespace_count; i++)
        is_same = nl_str_equal(a->namespace_parts[i], b->namespace_parts[i]);
    return is_same;
}

nl_status nl_rest_api_commit_table(nl_rest_api_call *call)
{
    table_commit commit = {.identifier = call->identifier};
    const json_t *identifier = json_object_get(call->body, "identifier");
    if (identifier && !json_is_null(identifier)) {
        nl_identifier named;
        NL_TRY(nl_rest_api_read_identifier(call, identifier, &named));
        if (!same_identifier(&named, &call->identifier))
            return nl_rest_api_refuse(call, 400, "BadRequestException", "The identifier of the body is not the path's");
    }
    NL_TRY(read_commit(call, call->body, &commit));
    if (is_creation(&commit)) NL_TRY(nl_rest_api_check_names(call, &commit.identifier));
    NL_TRY(commit_all(call, &commit, 1, 200));
    const nl_kept_metadata *kept = commit.next.metadata ? &commit.next : &commit.base;
    nl_rest_api_write_table(call, &(nl_rest_api_table_reply){.kept = kept, .is_commit = true});
    nl_kept_metadata_release(&commit.base);
    nl_kept_metadata_release(&commit.next);
    return NULL;
}

nl_status nl_rest_api_commit_transaction(nl_rest_api_call *call)
{
    const json_t *array;
    NL_TRY(nl_json_array(call->body, "table-changes", NL_REST_API_BODY, &array));
    const size_t count = json_array_size(array);
    if (count == 0 || count > TABLES_MAX)
        return nl_rest_api_refuse(call, 400, "BadRequestException", "Malformed request: table-changes has 1 to %u entries", TABLES_MAX);
    table_commit *commits = NL_NEW_ARRAY(call->arena, table_commit, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        NL_TRY(nl_json_object(item, NL_REST_API_BODY, "a table change"));
        NL_TRY(nl_rest_api_read_identifier(call, json_object_get(item, "identifier"), &commits[i].identifier));
        NL_TRY(read_commit(call, item, &commits[i]));
        for (size_t k = 0; k < i; k++)
            if (same_identifier(&commits[k].identifier, &commits[i].identifier))
                return nl_rest_api_refuse(call, 400, "BadRequestException", "A table is in the transaction twice: " NL_STR_FMT, NL_STR_ARG(commits[i].identifier.name));
    }
    NL_TRY(commit_all(call, commits, (uint32_t)count, 204));
    for (size_t i = 0; i < count; i++) {
        nl_kept_metadata_release(&commits[i].base);
        nl_kept_metadata_release(&commits[i].next);
    }
    nl_rest_api_empty(call, 204);
    return NULL;
}
