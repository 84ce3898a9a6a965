/* iceberg/expire.c - expiring snapshots (spec: "Snapshot Retention Policy") and deleting what only they reached. */
#include "iceberg/maintenance.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "base/crash.h"
#include "base/log.h"
#include "iceberg/reachable.h"

typedef struct expiry {
    nl_iceberg_table *table;
    const nl_expire_options *options;
    int64_t now_ms;
} expiry;

typedef struct retention { /* which snapshots stay, by position in base->snapshots */
    const nl_table_metadata *base;
    bool *is_kept;
    bool *is_referenced; /* by a ref that stays, or an ancestor of one */
    bool *ref_is_kept;   /* by position in base->refs */
    int64_t cutoff_ms;
    int64_t snapshots_min;
} retention;

static int64_t position_of(const nl_table_metadata *base, int64_t snapshot_id)
{
    const nl_snapshot *snapshot = nl_table_snapshot(base, snapshot_id);
    return snapshot ? snapshot - base->snapshots : NL_NONE;
}

static void keep_branch(retention *self, const nl_snapshot_ref *ref, int64_t now_ms)
{
    const int64_t cutoff = ref->max_snapshot_age_ms == NL_NONE ? self->cutoff_ms : now_ms - ref->max_snapshot_age_ms;
    const int64_t least = ref->min_snapshots_to_keep == NL_NONE ? self->snapshots_min : ref->min_snapshots_to_keep;
    const nl_snapshot *snapshot = nl_table_snapshot(self->base, ref->snapshot_id);
    int64_t kept = 0;
    bool is_open = true;
    for (uint32_t step = 0; snapshot && step <= self->base->snapshot_count; step++) {
        const int64_t at = snapshot - self->base->snapshots;
        is_open = is_open && (kept < least || snapshot->timestamp_ms >= cutoff);
        if (is_open) {
            self->is_kept[at] = true;
            kept++;
        }
        self->is_referenced[at] = true;
        snapshot = snapshot->parent_id == NL_NONE ? NULL : nl_table_snapshot(self->base, snapshot->parent_id);
    }
}

static nl_status default_retention(expiry *self, const nl_table_metadata *base, retention *out, int64_t *ref_age_ms)
{
    int64_t age_ms, least;
    NL_TRY(nl_table_property_int(base, "history.expire.max-snapshot-age-ms", 432000000, &age_ms));
    NL_TRY(nl_table_property_int(base, "history.expire.min-snapshots-to-keep", 1, &least));
    NL_TRY(nl_table_property_int(base, "history.expire.max-ref-age-ms", INT64_MAX, ref_age_ms));
    out->cutoff_ms = self->options->has_older_than ? self->options->older_than_ms : self->now_ms - age_ms;
    out->snapshots_min = self->options->retain_last == NL_NONE ? least : self->options->retain_last;
    return NULL;
}

static nl_status still_referenced(const retention *self, int64_t snapshot_id)
{
    nl_builder names;
    nl_builder_init(&names, 1 << 20);
    for (uint32_t i = 0; i < self->base->ref_count; i++)
        if (self->ref_is_kept[i] && self->base->refs[i].snapshot_id == snapshot_id)
            nl_append_f(&names, "%s" NL_STR_FMT, names.length ? ", " : "", NL_STR_ARG(self->base->refs[i].name));
    nl_status status = names.length ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot expire %lld. Still referenced by refs: [%s]", (long long)snapshot_id,
                                                    nl_builder_c(&names))
                                    : NULL;
    nl_builder_fini(&names);
    return status;
}

static nl_status decide(expiry *self, const nl_table_metadata *base, nl_arena *arena, retention *out)
{
    int64_t ref_age_ms;
    const bool by_id_only = self->options->snapshot_id_count > 0 && !self->options->has_older_than && self->options->retain_last == NL_NONE;
    *out = (retention){
        .base = base,
        .is_kept = NL_NEW_ARRAY(arena, bool, base->snapshot_count),
        .is_referenced = NL_NEW_ARRAY(arena, bool, base->snapshot_count),
        .ref_is_kept = NL_NEW_ARRAY(arena, bool, base->ref_count),
    };
    NL_TRY(default_retention(self, base, out, &ref_age_ms));
    if (by_id_only) out->cutoff_ms = INT64_MIN; /* nothing else goes */
    for (uint32_t i = 0; i < base->ref_count; i++) {
        const nl_snapshot_ref *ref = &base->refs[i];
        const int64_t at = position_of(base, ref->snapshot_id);
        const int64_t age = ref->max_ref_age_ms == NL_NONE ? ref_age_ms : ref->max_ref_age_ms;
        const bool is_main = nl_str_is(ref->name, NL_MAIN_BRANCH);
        out->ref_is_kept[i] = is_main || (at != NL_NONE && (age == INT64_MAX || self->now_ms - base->snapshots[at].timestamp_ms <= age));
        if (!out->ref_is_kept[i] || at == NL_NONE) continue;
        if (ref->is_tag)
            out->is_kept[at] = out->is_referenced[at] = true;
        else
            keep_branch(out, ref, self->now_ms);
    }
    for (uint32_t i = 0; i < base->snapshot_count; i++)
        if (!out->is_referenced[i] && base->snapshots[i].timestamp_ms >= out->cutoff_ms) out->is_kept[i] = true;
    for (uint32_t i = 0; i < self->options->snapshot_id_count; i++) {
        const int64_t at = position_of(base, self->options->snapshot_ids[i]);
        NL_TRY(still_referenced(out, self->options->snapshot_ids[i]));
        if (at != NL_NONE) out->is_kept[at] = false;
    }
    return NULL;
}

/* The newest schema that knows a partition field's dropped source column: without it the values of old partitions would
 * have lost their type. */
static bool types_a_partition(const nl_table_metadata *base, uint32_t schema)
{
    for (uint32_t s = 0; s < base->spec_count; s++)
        for (uint32_t f = 0; f < base->specs[s]->field_count; f++) {
            const int32_t source_id = base->specs[s]->fields[f].source_id;
            if (nl_schema_find_id(nl_table_schema(base), source_id) || !nl_schema_find_id(base->schemas[schema], source_id)) continue;
            bool is_newest = true;
            for (uint32_t i = schema + 1; is_newest && i < base->schema_count; i++)
                is_newest = !nl_schema_find_id(base->schemas[i], source_id);
            if (is_newest) return true;
        }
    return false;
}

static nl_status remove_unused(const retention *kept, nl_arena *arena, nl_metadata_builder *builder)
{
    const nl_table_metadata *base = kept->base;
    int32_t *schemas = NL_NEW_ARRAY(arena, int32_t, base->schema_count);
    nl_table_update update = {.kind = NL_UPDATE_REMOVE_SCHEMAS, .ids = {.ids = schemas}};
    for (uint32_t i = 0; i < base->schema_count; i++) {
        const int32_t id = base->schemas[i]->schema_id;
        bool is_used = id == base->current_schema_id || types_a_partition(base, i);
        for (uint32_t j = 0; !is_used && j < base->snapshot_count; j++)
            is_used = kept->is_kept[j] && base->snapshots[j].schema_id == id;
        if (!is_used) schemas[update.ids.count++] = id;
    }
    return update.ids.count > 0 ? nl_metadata_builder_apply(builder, &update) : NULL;
}

static nl_status build_expiry(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    expiry *self = argument;
    retention kept;
    NL_TRY(decide(self, base, arena, &kept));
    for (uint32_t i = 0; i < base->ref_count; i++) {
        const nl_table_update remove = {.kind = NL_UPDATE_REMOVE_SNAPSHOT_REF, .text = base->refs[i].name};
        if (!kept.ref_is_kept[i]) NL_TRY(nl_metadata_builder_apply(builder, &remove));
    }
    int64_t *ids = NL_NEW_ARRAY(arena, int64_t, base->snapshot_count);
    nl_table_update removal = {.kind = NL_UPDATE_REMOVE_SNAPSHOTS, .snapshots = {.ids = ids}};
    for (uint32_t i = 0; i < base->snapshot_count; i++)
        if (!kept.is_kept[i]) ids[removal.snapshots.count++] = base->snapshots[i].snapshot_id;
    if (removal.snapshots.count > 0) NL_TRY(nl_metadata_builder_apply(builder, &removal));
    return self->options->cleans_expired_metadata ? remove_unused(&kept, arena, builder) : NULL;
}

nl_status nl_expirable_snapshots(const nl_table_metadata *metadata, const nl_expire_options *options, nl_arena *arena, const nl_snapshot *const **snapshots,
                                 uint32_t *snapshot_count)
{
    expiry self = {.options = options, .now_ms = nl_now_micros() / 1000};
    retention kept;
    NL_TRY(decide(&self, metadata, arena, &kept));
    const nl_snapshot **found = NL_NEW_ARRAY(arena, const nl_snapshot *, metadata->snapshot_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        if (!kept.is_kept[i]) found[count++] = &metadata->snapshots[i];
    *snapshots = found;
    *snapshot_count = count;
    return nl_arena_check(arena);
}

/* ---- deleting -------------------------------------------------------------------------------------------------- */

typedef struct cleanup {
    nl_iceberg_table *table;
    nl_arena *arena;
    nl_path_set *files; /* content files of expired snapshots; tag: nl_file_content */
} cleanup;

static nl_status add_candidate(void *argument, const nl_data_file *file)
{
    cleanup *self = argument;
    (void)nl_path_set_add(self->files, file->path, file->content);
    return nl_arena_check(self->arena);
}

static nl_status spare(void *argument, const nl_data_file *file)
{
    cleanup *self = argument;
    nl_path_set_remove(self->files, file->path);
    return NULL;
}

typedef struct removal_list {
    nl_str *paths;
    uint32_t count;
    int64_t by_content[3];
} removal_list;

static nl_status list_removal(void *argument, nl_str path, int32_t tag)
{
    removal_list *list = argument;
    list->paths[list->count++] = path;
    list->by_content[tag]++;
    return NULL;
}

/* The commit is done: what cannot be removed is an orphan from now on, and no failure of the procedure. */
static void remove_paths(nl_iceberg_table *table, const nl_str *paths, uint32_t count)
{
    uint64_t removed = 0;
    nl_error *error = count ? nl_fs_remove_many(table->fs, paths, count, &removed) : NULL;
    if (!error) return;
    nl_log(NL_LOG_WARN, "%llu of %u expired files were not removed: %s", (unsigned long long)(count - removed), count, nl_error_message(error));
    nl_error_free(error);
}

static nl_status remove_content(cleanup *self, nl_expire_result *result)
{
    removal_list list = {.paths = NL_NEW_ARRAY(self->arena, nl_str, nl_path_set_count(self->files))};
    NL_TRY(nl_path_set_each(self->files, list_removal, &list));
    remove_paths(self->table, list.paths, list.count);
    result->data_files = list.by_content[NL_CONTENT_DATA];
    result->position_delete_files = list.by_content[NL_CONTENT_POSITION_DELETES];
    result->equality_delete_files = list.by_content[NL_CONTENT_EQUALITY_DELETES];
    return NULL;
}

static void remove_statistics(cleanup *self, const nl_table_metadata *before, const nl_table_metadata *after, nl_expire_result *result)
{
    nl_str *paths = NL_NEW_ARRAY(self->arena, nl_str, before->statistics_count + before->partition_statistics_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < before->statistics_count; i++)
        if (!nl_table_snapshot(after, before->statistics[i].snapshot_id)) paths[count++] = before->statistics[i].path;
    for (uint32_t i = 0; i < before->partition_statistics_count; i++)
        if (!nl_table_snapshot(after, before->partition_statistics[i].snapshot_id)) paths[count++] = before->partition_statistics[i].path;
    remove_paths(self->table, paths, count);
    result->statistics_files = count;
}

static nl_status clean_up(cleanup *self, const nl_table_metadata *before, const nl_table_metadata *after, nl_expire_result *result)
{
    nl_arena *arena = self->arena;
    nl_list kept = {0}, all_old = {0}, dropped = {0};
    nl_path_set *kept_paths = nl_path_set_new(arena), *old_paths = nl_path_set_new(arena);
    nl_snapshot *expired = NL_NEW_ARRAY(arena, nl_snapshot, before->snapshot_count);
    nl_str *lists = NL_NEW_ARRAY(arena, nl_str, before->snapshot_count);
    uint32_t expired_count = 0, list_count = 0;
    for (uint32_t i = 0; i < before->snapshot_count; i++) {
        if (nl_table_snapshot(after, before->snapshots[i].snapshot_id)) continue;
        expired[expired_count++] = before->snapshots[i];
        if (before->snapshots[i].manifest_list.length) lists[list_count++] = before->snapshots[i].manifest_list;
    }
    if (expired_count == 0) return NULL;
    NL_TRY(nl_reachable_manifests(self->table, after->snapshots, after->snapshot_count, arena, kept_paths, &kept));
    NL_TRY(nl_reachable_manifests(self->table, expired, expired_count, arena, old_paths, &all_old));
    nl_str *manifests = NL_NEW_ARRAY(arena, nl_str, all_old.count);
    for (uint32_t i = 0; i < all_old.count; i++) {
        const nl_manifest_file *file = all_old.items[i];
        if (nl_path_set_has(kept_paths, file->path)) continue;
        manifests[dropped.count] = file->path;
        nl_list_add(arena, &dropped, all_old.items[i]);
    }
    self->files = nl_path_set_new(arena);
    NL_TRY(nl_reachable_files(self->table, &dropped, add_candidate, self));
    if (nl_path_set_count(self->files) > 0) NL_TRY(nl_reachable_files(self->table, &kept, spare, self));
    NL_CRASH_POINT("expire.before-delete");
    NL_TRY(remove_content(self, result));
    remove_paths(self->table, manifests, dropped.count);
    remove_paths(self->table, lists, list_count);
    result->manifests = dropped.count;
    result->manifest_lists = list_count;
    remove_statistics(self, before, after, result);
    return NULL;
}

static nl_status check_options(const nl_table_metadata *base, const nl_expire_options *options)
{
    if (!nl_table_property_bool(base, "gc.enabled", true))
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot expire snapshots: GC is disabled (deleting files may corrupt other tables)");
    if (options->retain_last != NL_NONE && options->retain_last < 1)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Number of snapshots to retain must be at least 1, cannot be: %d", options->retain_last);
    return NULL;
}

nl_status nl_expire_snapshots(nl_iceberg_table *table, const nl_expire_options *options, nl_expire_result *result)
{
    *result = (nl_expire_result){0};
    NL_TRY(nl_iceberg_table_refresh(table));
    expiry self = {.table = table, .options = options, .now_ms = nl_now_micros() / 1000};
    const nl_table_metadata *before = nl_iceberg_table_metadata(table);
    nl_status status = check_options(before, options);
    if (!status) status = nl_table_change(table, build_expiry, &self);
    if (!status) {
        const nl_table_metadata *after = nl_iceberg_table_metadata(table);
        cleanup cleaning = {.table = table, .arena = nl_arena_new(table->memory)};
        status = nl_note_if(clean_up(&cleaning, before, after, result), NL_HERE,
                            "the snapshots are expired; their files were not all removed, remove_orphan_files will find them");
        nl_arena_free(cleaning.arena);
        nl_table_metadata_release(after);
    }
    nl_table_metadata_release(before);
    return status;
}
