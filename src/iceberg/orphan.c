/* iceberg/orphan.c - files under a table's location that no metadata names.
 *
 * What is listed is compared by its path without scheme spelling differences (file:/a and /a are one). Nothing younger
 * than the limit is touched: a running job's files are not named yet either.
 */
#include "iceberg/maintenance.h"

#include "base/calendar.h"
#include "iceberg/reachable.h"

#define DAY_MS 86400000ll

typedef struct orphan_search {
    nl_iceberg_table *table;
    const nl_orphan_options *options;
    nl_arena *arena;
    nl_path_set *valid; /* normalised */
    nl_str location;
    int64_t older_than_micros;
    nl_list orphans; /* nl_str *: as listed */
} orphan_search;

static nl_status note_file(void *argument, const nl_data_file *file)
{
    orphan_search *self = argument;
    (void)nl_path_set_add(self->valid, nl_path_local(self->arena, file->path), 0);
    return nl_arena_check(self->arena);
}

static void note_path(orphan_search *self, nl_str path)
{
    if (path.length) (void)nl_path_set_add(self->valid, nl_path_local(self->arena, path), 0);
}

static nl_status collect_valid(orphan_search *self, const nl_table_metadata *metadata)
{
    nl_list manifests = {0};
    nl_path_set *manifest_paths = nl_path_set_new(self->arena);
    note_path(self, metadata->metadata_file);
    note_path(self, nl_path_join(self->arena, metadata->location, NL_STR("metadata/version-hint.text")));
    for (uint32_t i = 0; i < metadata->metadata_log_count; i++)
        note_path(self, metadata->metadata_log[i].metadata_file);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        note_path(self, metadata->snapshots[i].manifest_list);
    for (uint32_t i = 0; i < metadata->statistics_count; i++)
        note_path(self, metadata->statistics[i].path);
    for (uint32_t i = 0; i < metadata->partition_statistics_count; i++)
        note_path(self, metadata->partition_statistics[i].path);
    NL_TRY(nl_reachable_manifests(self->table, metadata->snapshots, metadata->snapshot_count, self->arena, manifest_paths, &manifests));
    for (uint32_t i = 0; i < manifests.count; i++)
        note_path(self, ((const nl_manifest_file *)manifests.items[i])->path);
    return nl_reachable_files(self->table, &manifests, note_file, self);
}

/* Folders and files whose names begin with _ or . belong to others, but for partitions of columns named so. */
static bool is_hidden(nl_str relative)
{
    nl_str part;
    while (nl_str_next_part(&relative, '/', &part)) {
        if (part.length == 0) continue;
        const bool is_partition = nl_str_find_char(part, '=', 0) != NL_NOT_FOUND;
        if ((part.data[0] == '_' && !is_partition) || part.data[0] == '.') return true;
    }
    return false;
}

static nl_status note_orphan(orphan_search *self, const nl_file_info *info)
{
    if (info->is_directory || info->modified_micros >= self->older_than_micros) return NULL;
    if (nl_path_set_has(self->valid, nl_path_local(self->arena, info->path))) return NULL;
    nl_str *path = NL_NEW(self->arena, nl_str);
    *path = nl_arena_str(self->arena, info->path);
    nl_list_add(self->arena, &self->orphans, path);
    return nl_arena_check(self->arena);
}

static nl_status visit_file(void *argument, const nl_file_info *info)
{
    orphan_search *self = argument;
    return is_hidden(nl_str_slice(info->path, self->location.length, info->path.length)) ? NULL : note_orphan(self, info);
}

/* A list that the user brought: all of it below the location counts, hidden or not. */
static nl_status visit_listed(orphan_search *self)
{
    for (uint32_t i = 0; i < self->options->listed_count; i++)
        if (nl_str_starts(self->options->listed[i].path, self->location)) NL_TRY(note_orphan(self, &self->options->listed[i]));
    return NULL;
}

static nl_status check_limits(const nl_table_metadata *metadata, const nl_orphan_options *options, int64_t now_ms)
{
    if (!nl_table_property_bool(metadata, "gc.enabled", true))
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot delete orphan files: GC is disabled (deleting files may corrupt other tables)");
    if (options->has_older_than && now_ms - options->older_than_ms < DAY_MS)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot remove orphan files with an interval less than 24 hours. Executing this procedure with a short "
                                                     "interval may corrupt the table if other operations are happening at the same time. If you are absolutely "
                                                     "confident that no concurrent operations will be affected by removing orphan files with such a short "
                                                     "interval, you can use the Action API to remove orphan files with an arbitrary interval.");
    return NULL;
}

static nl_status search(orphan_search *self, const nl_table_metadata *metadata, const nl_str **paths, uint32_t *path_count)
{
    const int64_t now_ms = nl_now_micros() / 1000;
    NL_TRY(check_limits(metadata, self->options, now_ms));
    self->older_than_micros = (self->options->has_older_than ? self->options->older_than_ms : now_ms - 3 * DAY_MS) * 1000;
    self->location = nl_arena_str(self->arena, self->options->location.length ? self->options->location : metadata->location);
    self->valid = nl_path_set_new(self->arena);
    NL_TRY(collect_valid(self, metadata));
    NL_TRY(self->options->listed ? visit_listed(self) : nl_fs_list(self->table->fs, self->location, true, visit_file, self));
    nl_str *list = NL_NEW_ARRAY(self->arena, nl_str, self->orphans.count);
    for (uint32_t i = 0; i < self->orphans.count; i++)
        list[i] = *(const nl_str *)self->orphans.items[i];
    *paths = list;
    *path_count = self->orphans.count;
    uint64_t removed = 0;
    return self->options->is_dry_run || *path_count == 0 ? NULL : nl_fs_remove_many(self->table->fs, list, *path_count, &removed);
}

nl_status nl_remove_orphan_files(nl_iceberg_table *table, const nl_orphan_options *options, nl_arena *arena, const nl_str **paths, uint32_t *path_count)
{
    NL_TRY(nl_iceberg_table_refresh(table));
    orphan_search self = {.table = table, .options = options, .arena = arena};
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(table);
    nl_status status = search(&self, metadata, paths, path_count);
    nl_table_metadata_release(metadata);
    return status;
}
