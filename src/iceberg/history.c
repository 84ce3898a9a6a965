/* iceberg/history.c - moving branches along the history: rollback, cherry-pick, fast-forward, publishing, refs.
 *
 * Messages are Iceberg's (SnapshotManager, CherryPickOperation, the Spark procedures).
 */
#include "iceberg/operation_private.h"

#include "base/calendar.h"
#include "base/number.h"

bool nl_is_ancestor(const nl_table_metadata *metadata, int64_t snapshot_id, int64_t of_snapshot_id)
{
    const nl_snapshot *snapshot = nl_table_snapshot(metadata, of_snapshot_id);
    for (uint32_t step = 0; snapshot && step <= metadata->snapshot_count; step++) {
        if (snapshot->snapshot_id == snapshot_id) return true;
        snapshot = snapshot->parent_id == NL_NONE ? NULL : nl_table_snapshot(metadata, snapshot->parent_id);
    }
    return false;
}

static nl_status set_ref(nl_metadata_builder *builder, nl_arena *arena, const nl_table_metadata *base, nl_str name, int64_t snapshot_id)
{
    const nl_snapshot_ref *existing = nl_table_ref(base, name);
    nl_snapshot_ref *ref = NL_NEW(arena, nl_snapshot_ref);
    *ref = existing ? *existing : (nl_snapshot_ref){.min_snapshots_to_keep = NL_NONE, .max_snapshot_age_ms = NL_NONE, .max_ref_age_ms = NL_NONE};
    ref->name = name;
    ref->snapshot_id = snapshot_id;
    const nl_table_update update = {.kind = NL_UPDATE_SET_SNAPSHOT_REF, .ref = ref};
    return nl_metadata_builder_apply(builder, &update);
}

/* ---- main ------------------------------------------------------------------------------------------------------ */

typedef struct move {
    int64_t snapshot_id;
    int64_t timestamp_ms;
    bool must_be_ancestor;
    bool is_by_time;
} move;

static nl_status unknown_snapshot(int64_t snapshot_id)
{
    return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot roll back to unknown snapshot id: %lld", (long long)snapshot_id);
}

/* The last ancestor of main older than the time. */
static nl_status ancestor_before(const nl_table_metadata *base, int64_t timestamp_ms, int64_t *snapshot_id)
{
    const nl_snapshot *snapshot = nl_table_current_snapshot(base);
    for (uint32_t step = 0; snapshot && step <= base->snapshot_count; step++) {
        if (snapshot->timestamp_ms < timestamp_ms) {
            *snapshot_id = snapshot->snapshot_id;
            return NULL;
        }
        snapshot = snapshot->parent_id == NL_NONE ? NULL : nl_table_snapshot(base, snapshot->parent_id);
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot roll back, no valid snapshot older than: %lld", (long long)timestamp_ms);
}

static nl_status move_main(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    move *self = argument;
    if (self->is_by_time) NL_TRY(ancestor_before(base, self->timestamp_ms, &self->snapshot_id));
    if (!nl_table_snapshot(base, self->snapshot_id)) return unknown_snapshot(self->snapshot_id);
    if (self->must_be_ancestor && !nl_is_ancestor(base, self->snapshot_id, base->current_snapshot_id))
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot roll back to snapshot, not an ancestor of the current state: %lld", (long long)self->snapshot_id);
    return set_ref(builder, arena, base, NL_STR(NL_MAIN_BRANCH), self->snapshot_id);
}

nl_status nl_rollback_to(nl_iceberg_table *table, int64_t snapshot_id)
{
    move self = {.snapshot_id = snapshot_id, .must_be_ancestor = true};
    return nl_table_change(table, move_main, &self);
}

nl_status nl_rollback_to_time(nl_iceberg_table *table, int64_t timestamp_ms, int64_t *snapshot_id)
{
    move self = {.timestamp_ms = timestamp_ms, .is_by_time = true};
    NL_TRY(nl_table_change(table, move_main, &self));
    *snapshot_id = self.snapshot_id;
    return NULL;
}

nl_status nl_set_current_snapshot(nl_iceberg_table *table, int64_t snapshot_id)
{
    move self = {.snapshot_id = snapshot_id};
    return nl_table_change(table, move_main, &self);
}

/* ---- cherry-pick ----------------------------------------------------------------------------------------------- */

static nl_status check_pickable(const nl_table_metadata *base, const nl_snapshot *snapshot, int64_t snapshot_id)
{
    if (!snapshot) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot cherry-pick unknown snapshot ID: %lld", (long long)snapshot_id);
    const nl_str wap_id = nl_snapshot_summary(snapshot, "wap.id");
    const nl_snapshot *ancestor = nl_table_current_snapshot(base);
    for (uint32_t step = 0; ancestor && step <= base->snapshot_count; step++) {
        int64_t source = NL_NONE;
        if (nl_parse_int64(nl_snapshot_summary(ancestor, "source-snapshot-id"), &source) && source == snapshot_id)
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot cherrypick snapshot %lld: already picked to create ancestor %lld", (long long)snapshot_id,
                                 (long long)ancestor->snapshot_id);
        const bool has_id = wap_id.length && (nl_str_equal(nl_snapshot_summary(ancestor, "wap.id"), wap_id) ||
                                              nl_str_equal(nl_snapshot_summary(ancestor, "published-wap-id"), wap_id));
        if (has_id)
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Duplicate request to cherry pick wap id that was published already: " NL_STR_FMT, NL_STR_ARG(wap_id));
        ancestor = ancestor->parent_id == NL_NONE ? NULL : nl_table_snapshot(base, ancestor->parent_id);
    }
    return NULL;
}

typedef struct picked_files {
    nl_list added;   /* nl_data_file * */
    nl_list removed; /* nl_data_file * */
    nl_arena *arena;
} picked_files;

static nl_status collect_files(nl_iceberg_table *table, const nl_snapshot *snapshot, picked_files *picked)
{
    const nl_manifest_file *files = NULL;
    uint32_t file_count = 0;
    NL_TRY(nl_snapshot_manifests(table->fs, snapshot, table->memory, picked->arena, &files, &file_count));
    for (uint32_t m = 0; m < file_count; m++) {
        if (files[m].added_snapshot_id != snapshot->snapshot_id || files[m].content != NL_MANIFEST_DATA) continue;
        const nl_manifest *manifest = NULL;
        NL_TRY(nl_manifest_cache_read(table->manifest_cache, table->fs, &files[m], table->memory, &manifest));
        for (uint32_t i = 0; i < manifest->entry_count; i++) {
            const nl_manifest_entry *entry = &manifest->entries[i];
            if (entry->snapshot_id != snapshot->snapshot_id || entry->status == NL_ENTRY_EXISTING) continue;
            nl_data_file *copy = NL_NEW(picked->arena, nl_data_file);
            *copy = nl_data_file_copy(picked->arena, &entry->file, manifest->spec->field_count);
            nl_list_add(picked->arena, entry->status == NL_ENTRY_ADDED ? &picked->added : &picked->removed, copy);
        }
        nl_manifest_release(manifest);
    }
    return NULL;
}

static nl_status commit_pick(nl_iceberg_table *table, const nl_snapshot *snapshot, picked_files *picked, int64_t *new_snapshot_id)
{
    nl_data_file *added = NL_NEW_ARRAY(picked->arena, nl_data_file, picked->added.count);
    nl_removed_file *removed = NL_NEW_ARRAY(picked->arena, nl_removed_file, picked->removed.count);
    nl_property *properties = NL_NEW_ARRAY(picked->arena, nl_property, 2);
    uint32_t property_count = 0;
    const nl_str wap_id = nl_snapshot_summary(snapshot, "wap.id");
    for (uint32_t i = 0; i < picked->added.count; i++)
        added[i] = *(const nl_data_file *)picked->added.items[i];
    for (uint32_t i = 0; i < picked->removed.count; i++)
        removed[i] = (nl_removed_file){((const nl_data_file *)picked->removed.items[i])->path, picked->removed.items[i]};
    properties[property_count++] = (nl_property){NL_STR("source-snapshot-id"), nl_arena_f(picked->arena, "%lld", (long long)snapshot->snapshot_id)};
    if (wap_id.length) properties[property_count++] = (nl_property){NL_STR("published-wap-id"), wap_id};
    const bool replaces = nl_str_is(nl_snapshot_summary(snapshot, "replace-partitions"), "true");
    const nl_operation operation = {
        .kind = replaces ? NL_OPERATION_REPLACE_PARTITIONS : NL_OPERATION_APPEND,
        .added_files = added,
        .added_count = picked->added.count,
        .removed_files = removed,
        .removed_count = picked->removed.count,
        .has_starting_snapshot = true,
        .starting_snapshot_id = snapshot->parent_id,
        .isolation = replaces ? NL_ISOLATION_SERIALIZABLE : NL_ISOLATION_NONE,
        .data_sequence_number = NL_NONE,
        .properties = properties,
        .property_count = property_count,
    };
    return nl_operation_commit(table, &operation, new_snapshot_id);
}

static nl_status pick(nl_iceberg_table *table, const nl_table_metadata *base, int64_t snapshot_id, nl_arena *arena, int64_t *new_snapshot_id)
{
    const nl_snapshot *snapshot = nl_table_snapshot(base, snapshot_id);
    NL_TRY(check_pickable(base, snapshot, snapshot_id));
    if (snapshot->parent_id == base->current_snapshot_id || (snapshot->parent_id == NL_NONE && base->current_snapshot_id == NL_NONE)) {
        *new_snapshot_id = snapshot_id; /* it already stands on the current state */
        return nl_set_current_snapshot(table, snapshot_id);
    }
    const bool is_append = nl_str_is(snapshot->operation, "append");
    if (!is_append && !nl_str_is(nl_snapshot_summary(snapshot, "replace-partitions"), "true"))
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot cherry-pick snapshot %lld: not append, dynamic overwrite, or fast-forward", (long long)snapshot_id);
    picked_files picked = {.arena = arena};
    NL_TRY(collect_files(table, snapshot, &picked));
    return commit_pick(table, snapshot, &picked, new_snapshot_id);
}

nl_status nl_cherrypick(nl_iceberg_table *table, int64_t snapshot_id, int64_t *new_snapshot_id)
{
    NL_TRY(nl_iceberg_table_refresh(table));
    nl_arena *arena = nl_arena_new(table->memory);
    const nl_table_metadata *base = nl_iceberg_table_metadata(table);
    nl_status status = pick(table, base, snapshot_id, arena, new_snapshot_id);
    nl_table_metadata_release(base);
    nl_arena_free(arena);
    return status;
}

nl_status nl_publish_wap(nl_iceberg_table *table, nl_str wap_id, int64_t *source_id, int64_t *new_snapshot_id)
{
    NL_TRY(nl_iceberg_table_refresh(table));
    const nl_table_metadata *base = nl_iceberg_table_metadata(table);
    uint32_t found = 0;
    for (uint32_t i = 0; i < base->snapshot_count; i++)
        if (nl_str_equal(nl_snapshot_summary(&base->snapshots[i], "wap.id"), wap_id)) {
            *source_id = base->snapshots[i].snapshot_id;
            found++;
        }
    nl_table_metadata_release(base);
    if (found == 0) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot apply unknown WAP ID '" NL_STR_FMT "'", NL_STR_ARG(wap_id));
    if (found > 1)
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot apply non-unique WAP ID. Found %u snapshots with WAP ID '" NL_STR_FMT "'", found, NL_STR_ARG(wap_id));
    return nl_cherrypick(table, *source_id, new_snapshot_id);
}

/* ---- branches and tags ----------------------------------------------------------------------------------------- */

typedef struct forward {
    nl_str branch, to;
    int64_t previous, updated;
} forward;

static nl_status fast_forward(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    forward *self = argument;
    const nl_snapshot_ref *from = nl_table_ref(base, self->branch), *to = nl_table_ref(base, self->to);
    if (!to) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Ref does not exist: " NL_STR_FMT, NL_STR_ARG(self->to));
    self->updated = to->snapshot_id;
    self->previous = from ? from->snapshot_id : NL_NONE;
    if (!from) return set_ref(builder, arena, base, self->branch, to->snapshot_id);
    if (from->is_tag) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Ref " NL_STR_FMT " is a tag not a branch", NL_STR_ARG(self->branch));
    if (from->snapshot_id == to->snapshot_id) return NULL;
    if (!nl_is_ancestor(base, from->snapshot_id, to->snapshot_id))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot fast-forward: " NL_STR_FMT " is not an ancestor of " NL_STR_FMT, NL_STR_ARG(self->branch),
                             NL_STR_ARG(self->to));
    return set_ref(builder, arena, base, self->branch, to->snapshot_id);
}

nl_status nl_fast_forward(nl_iceberg_table *table, nl_str branch, nl_str to, int64_t *previous, int64_t *updated)
{
    forward self = {.branch = branch, .to = to};
    NL_TRY(nl_table_change(table, fast_forward, &self));
    *previous = self.previous;
    *updated = self.updated;
    return NULL;
}

/* CREATE BRANCH on a table without snapshots commits an empty one to point at. */
static nl_status commit_empty_branch(nl_iceberg_table *table, nl_str branch)
{
    const nl_operation operation = {.kind = NL_OPERATION_FAST_APPEND, .branch = branch, .data_sequence_number = NL_NONE};
    return nl_operation_commit(table, &operation, NULL);
}

static nl_status check_ref(const nl_table_metadata *base, const nl_ref_change *change, bool *is_needed)
{
    const nl_snapshot_ref *existing = nl_table_ref(base, change->name);
    const char *kind = change->is_tag ? "Tag" : "Branch";
    *is_needed = !(existing && change->is_if_not_exists);
    if (!*is_needed) return NULL;
    if (existing && !change->is_replace) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Ref " NL_STR_FMT " already exists", NL_STR_ARG(change->name));
    if (!existing && !change->is_create) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s does not exist: " NL_STR_FMT, kind, NL_STR_ARG(change->name));
    if (existing && existing->is_tag != change->is_tag)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Ref " NL_STR_FMT " is a %s not a %s", NL_STR_ARG(change->name), existing->is_tag ? "tag" : "branch",
                             change->is_tag ? "tag" : "branch");
    return NULL;
}

static nl_status change_ref(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    const nl_ref_change *change = argument;
    bool is_needed = false;
    NL_TRY(check_ref(base, change, &is_needed));
    if (!is_needed) return NULL;
    const int64_t snapshot_id = change->snapshot_id == NL_NONE ? base->current_snapshot_id : change->snapshot_id;
    if (snapshot_id == NL_NONE)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot complete replace branch operation on " NL_STR_FMT ", main has no snapshot", NL_STR_ARG(change->name));
    if (!nl_table_snapshot(base, snapshot_id))
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot set " NL_STR_FMT " to unknown snapshot: %lld", NL_STR_ARG(change->name), (long long)snapshot_id);
    nl_snapshot_ref *ref = NL_NEW(arena, nl_snapshot_ref);
    *ref = (nl_snapshot_ref){
        .name = change->name,
        .snapshot_id = snapshot_id,
        .is_tag = change->is_tag,
        .min_snapshots_to_keep = change->min_snapshots_to_keep,
        .max_snapshot_age_ms = change->max_snapshot_age_ms,
        .max_ref_age_ms = change->max_ref_age_ms,
    };
    const nl_table_update update = {.kind = NL_UPDATE_SET_SNAPSHOT_REF, .ref = ref};
    return nl_metadata_builder_apply(builder, &update);
}

nl_status nl_change_ref(nl_iceberg_table *table, const nl_ref_change *change)
{
    nl_ref_change copy = *change;
    const nl_table_metadata *base = nl_iceberg_table_metadata(table);
    const bool is_empty = base->current_snapshot_id == NL_NONE;
    nl_table_metadata_release(base);
    if (is_empty && change->is_create && !change->is_tag && change->snapshot_id == NL_NONE) {
        NL_TRY(commit_empty_branch(table, change->name));
        const nl_table_metadata *updated = nl_iceberg_table_metadata(table);
        const nl_snapshot_ref *ref = nl_table_ref(updated, change->name);
        copy.snapshot_id = ref ? ref->snapshot_id : NL_NONE;
        copy.is_replace = true;
        nl_table_metadata_release(updated);
    }
    return nl_table_change(table, change_ref, &copy);
}

typedef struct ref_drop {
    nl_str name;
    bool is_tag, is_if_exists;
} ref_drop;

static nl_status drop_ref(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    const ref_drop *self = argument;
    const nl_snapshot_ref *ref = nl_table_ref(base, self->name);
    const char *kind = self->is_tag ? "Tag" : "Branch";
    (void)arena;
    if (!ref && self->is_if_exists) return NULL;
    if (!ref) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s does not exist: " NL_STR_FMT, kind, NL_STR_ARG(self->name));
    if (!self->is_tag && nl_str_is(self->name, NL_MAIN_BRANCH)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot remove main branch");
    if (ref->is_tag != self->is_tag)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Ref " NL_STR_FMT " is a %s not a %s", NL_STR_ARG(self->name), ref->is_tag ? "tag" : "branch",
                             self->is_tag ? "tag" : "branch");
    const nl_table_update update = {.kind = NL_UPDATE_REMOVE_SNAPSHOT_REF, .text = self->name};
    return nl_metadata_builder_apply(builder, &update);
}

nl_status nl_drop_ref(nl_iceberg_table *table, nl_str name, bool is_tag, bool is_if_exists)
{
    ref_drop self = {.name = name, .is_tag = is_tag, .is_if_exists = is_if_exists};
    return nl_table_change(table, drop_ref, &self);
}
