/* command/call/relocate.c - rewrite_table_path: see relocate.h. Source: RewriteTablePathSparkAction and RewriteTablePathUtil,
 * whose layout of the staging folder, list of files and messages these are. */
#include "command/call/relocate.h"

#include <stdlib.h>

#include "base/uuid.h"
#include "iceberg/operation_private.h"

enum { ARG_SOURCE = 1, ARG_TARGET = 2, ARG_START = 3, ARG_END = 4, ARG_STAGING = 5 };

static nl_str with_slash(nl_arena *arena, nl_str path)
{
    const bool has_slash = path.length > 0 && path.data[path.length - 1] == '/';
    return has_slash ? path : nl_arena_f(arena, NL_STR_FMT "/", NL_STR_ARG(path));
}

nl_status nl_relocate_path(const nl_relocation *self, nl_str path, nl_str prefix, nl_str *moved)
{
    nl_str rest = {0};
    if (nl_str_starts(path, self->source))
        rest = nl_str_slice(path, self->source.length, path.length);
    else if (!nl_str_equal(path, nl_str_slice(self->source, 0, self->source.length - 1)))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Path " NL_STR_FMT " does not start with " NL_STR_FMT, NL_STR_ARG(path), NL_STR_ARG(self->source));
    const nl_str bare = nl_str_slice(prefix, 0, prefix.length - 1);
    *moved = rest.length ? nl_arena_f(self->arena, NL_STR_FMT NL_STR_FMT, NL_STR_ARG(prefix), NL_STR_ARG(rest)) : bare;
    return NULL;
}

void nl_relocate_copy(nl_relocation *self, nl_str from, nl_str to)
{
    nl_property *copy = NL_NEW(self->arena, nl_property);
    *copy = (nl_property){from, to};
    nl_list_add(self->arena, &self->copies, copy);
}

bool nl_relocate_wants(const nl_relocation *self, int64_t snapshot_id)
{
    return !self->start || !nl_table_snapshot(self->start, snapshot_id);
}

/* ---- versions -------------------------------------------------------------------------------------------------- */

static nl_status read_version(nl_relocation *self, nl_str file, const nl_table_metadata **metadata)
{
    nl_iceberg_table *table = self->call->table;
    if (nl_str_equal(file, self->call->target.metadata->metadata_file)) {
        *metadata = nl_table_metadata_retain(self->call->target.metadata);
        return NULL;
    }
    nl_error *error = nl_table_metadata_read(table->fs, file, table->memory, metadata);
    if (!error || nl_error_condition(error) != NL_COND_PATH_NOT_FOUND) return error;
    nl_error_free(error);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Version file " NL_STR_FMT " doesn't exist", NL_STR_ARG(file));
}

static nl_status find_version(nl_relocation *self, nl_str name, const nl_table_metadata **metadata)
{
    const nl_table_metadata *current = self->call->target.metadata;
    if (nl_str_equal(nl_path_name(current->metadata_file), name)) return read_version(self, current->metadata_file, metadata);
    for (uint32_t i = 0; i < current->metadata_log_count; i++)
        if (nl_str_equal(nl_path_name(current->metadata_log[i].metadata_file), name)) return read_version(self, current->metadata_log[i].metadata_file, metadata);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find provided version file " NL_STR_FMT " in metadata log.", NL_STR_ARG(name));
}

/* The end's own log says which versions came before it. */
static nl_status read_versions(nl_relocation *self)
{
    nl_list_add(self->arena, &self->versions, (void *)(uintptr_t)nl_table_metadata_retain(self->end));
    for (uint32_t i = self->end->metadata_log_count; i-- > 0;) {
        const nl_table_metadata *version = NULL;
        const nl_str file = self->end->metadata_log[i].metadata_file;
        if (self->start && nl_str_equal(file, self->start->metadata_file)) return NULL;
        NL_TRY(read_version(self, file, &version));
        nl_list_add(self->arena, &self->versions, (void *)(uintptr_t)version);
    }
    return NULL;
}

static nl_status move_properties(const nl_relocation *self, nl_table_metadata *moved)
{
    static const char *const keys[] = {"write.object-storage.path", "write.folder-storage.path", "write.data.path", "write.metadata.path"};
    nl_property *properties = NL_NEW_ARRAY(self->arena, nl_property, moved->property_count + 1);
    for (uint32_t i = 0; i < moved->property_count; i++) {
        properties[i] = moved->properties[i];
        for (uint32_t j = 0; j < NL_COUNT(keys); j++)
            if (nl_str_is(properties[i].key, keys[j])) NL_TRY(nl_relocate_target(self, properties[i].value, &properties[i].value));
    }
    moved->properties = properties;
    return NULL;
}

static nl_status move_statistics(nl_relocation *self, nl_table_metadata *moved)
{
    nl_statistics_file *files = NL_NEW_ARRAY(self->arena, nl_statistics_file, moved->statistics_count + 1);
    for (uint32_t i = 0; i < moved->statistics_count; i++) {
        files[i] = moved->statistics[i];
        NL_TRY(nl_relocate_target(self, files[i].path, &files[i].path));
        nl_relocate_copy(self, moved->statistics[i].path, files[i].path);
    }
    moved->statistics = files;
    return NULL;
}

/* The same metadata with every path in it moved. Shares what has none. */
static nl_status move_metadata(nl_relocation *self, const nl_table_metadata *version, nl_table_metadata *moved)
{
    *moved = *version;
    nl_snapshot *snapshots = NL_NEW_ARRAY(self->arena, nl_snapshot, moved->snapshot_count + 1);
    nl_metadata_log_entry *log = NL_NEW_ARRAY(self->arena, nl_metadata_log_entry, moved->metadata_log_count + 1);
    NL_TRY(nl_relocate_target(self, version->location, &moved->location));
    NL_TRY(move_properties(self, moved));
    NL_TRY(move_statistics(self, moved));
    for (uint32_t i = 0; i < moved->snapshot_count; i++) {
        snapshots[i] = moved->snapshots[i];
        if (snapshots[i].manifest_list.length == 0)
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Snapshot %lld has its manifests in the metadata and no manifest list: nilas does not move such tables",
                                 (long long)snapshots[i].snapshot_id);
        NL_TRY(nl_relocate_target(self, snapshots[i].manifest_list, &snapshots[i].manifest_list));
    }
    for (uint32_t i = 0; i < moved->metadata_log_count; i++) {
        log[i] = moved->metadata_log[i];
        NL_TRY(nl_relocate_target(self, log[i].metadata_file, &log[i].metadata_file));
    }
    moved->snapshots = snapshots;
    moved->metadata_log = log;
    return nl_arena_check(self->arena);
}

static nl_status write_version(nl_relocation *self, const nl_table_metadata *version)
{
    nl_table_metadata moved;
    nl_buffer *content = NULL;
    nl_str staged, target;
    nl_iceberg_table *table = self->call->table;
    if (version->partition_statistics_count > 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Partition statistics files are not supported yet.");
    NL_TRY(nl_relocate_staging(self, version->metadata_file, &staged));
    NL_TRY(nl_relocate_target(self, version->metadata_file, &target));
    NL_TRY(move_metadata(self, version, &moved));
    const bool is_gzip = nl_str_find(nl_path_name(version->metadata_file), NL_STR(".gz"), 0) != NL_NOT_FOUND;
    NL_TRY(nl_table_metadata_encode(&moved, is_gzip, table->memory, &content));
    nl_status status = nl_fs_write_all(table->fs, staged, (nl_bytes){content->data, content->size_bytes});
    nl_buffer_release(content);
    nl_relocate_copy(self, staged, target);
    return status;
}

/* ---- the list of files ----------------------------------------------------------------------------------------- */

static int compare_copies(const void *a, const void *b)
{
    const nl_property *left = *(nl_property *const *)a, *right = *(nl_property *const *)b;
    const int order = nl_str_compare(left->value, right->value);
    return order ? order : nl_str_compare(left->key, right->key);
}

static nl_status write_list(nl_relocation *self, nl_str *path)
{
    nl_builder text;
    nl_iceberg_table *table = self->call->table;
    if (self->copies.count > 1) qsort(self->copies.items, self->copies.count, sizeof(void *), compare_copies);
    nl_builder_init(&text, (size_t)1 << 30);
    for (uint32_t i = 0; i < self->copies.count; i++) {
        const nl_property *copy = self->copies.items[i];
        if (i > 0 && compare_copies(&self->copies.items[i - 1], &self->copies.items[i]) == 0) continue;
        nl_append_f(&text, NL_STR_FMT "," NL_STR_FMT "\n", NL_STR_ARG(copy->key), NL_STR_ARG(copy->value));
    }
    *path = nl_arena_f(self->arena, NL_STR_FMT "file-list", NL_STR_ARG(self->staging));
    nl_status status = nl_builder_failed(&text) ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The list of files to copy is longer than 1 GiB") : NULL;
    const nl_str content = nl_builder_str(&text);
    if (!status) status = nl_fs_write_all(table->fs, *path, (nl_bytes){(const uint8_t *)content.data, content.length});
    nl_builder_fini(&text);
    return status;
}

/* ---- the procedure --------------------------------------------------------------------------------------------- */

static nl_status check_argument(nl_call *call, uint32_t parameter, const char *what)
{
    if (!nl_call_has(call, parameter) || nl_call_text(call, parameter).length > 0) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s('') cannot be empty.", what);
}

static nl_status read_arguments(nl_relocation *self)
{
    nl_call *call = self->call;
    uint8_t uuid[16];
    char uuid_text[NL_UUID_TEXT_LENGTH];
    NL_TRY(check_argument(call, ARG_SOURCE, "Source prefix"));
    NL_TRY(check_argument(call, ARG_TARGET, "Target prefix"));
    NL_TRY(check_argument(call, ARG_START, "Start version"));
    NL_TRY(check_argument(call, ARG_END, "End version"));
    NL_TRY(check_argument(call, ARG_STAGING, "Staging location"));
    if (nl_str_equal(nl_call_text(call, ARG_SOURCE), nl_call_text(call, ARG_TARGET)))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Source prefix cannot be the same as target prefix (" NL_STR_FMT ")", NL_STR_ARG(nl_call_text(call, ARG_SOURCE)));
    self->source = with_slash(self->arena, nl_call_text(call, ARG_SOURCE));
    self->target = with_slash(self->arena, nl_call_text(call, ARG_TARGET));
    if (nl_call_has(call, ARG_END))
        NL_TRY(find_version(self, nl_call_text(call, ARG_END), &self->end));
    else
        self->end = nl_table_metadata_retain(call->target.metadata);
    if (nl_call_has(call, ARG_START)) NL_TRY(find_version(self, nl_call_text(call, ARG_START), &self->start));
    nl_uuid_new(uuid);
    nl_uuid_format(uuid, uuid_text);
    const nl_str folder = nl_metadata_folder(self->arena, call->target.metadata);
    self->staging = nl_call_has(call, ARG_STAGING)
                        ? with_slash(self->arena, nl_call_text(call, ARG_STAGING))
                        : nl_arena_f(self->arena, NL_STR_FMT "copy-table-staging-%.*s/", NL_STR_ARG(with_slash(self->arena, folder)), NL_UUID_TEXT_LENGTH, uuid_text);
    return NULL;
}

static nl_status relocate(nl_relocation *self, nl_str *list)
{
    NL_TRY(read_arguments(self));
    NL_TRY(read_versions(self));
    for (uint32_t i = 0; i < self->versions.count; i++)
        NL_TRY(write_version(self, self->versions.items[i]));
    NL_TRY(nl_relocate_manifests(self));
    return write_list(self, list);
}

nl_status nl_call_rewrite_table_path(nl_call *call)
{
    nl_relocation self = {.call = call, .arena = nl_arena_new(call->command->memory)};
    nl_str answer[2] = {0};
    nl_status status = relocate(&self, &answer[1]);
    if (!status) {
        answer[0] = nl_path_name(self.end->metadata_file);
        status = nl_rows_add_text(call->rows, answer);
    }
    for (uint32_t i = 0; i < self.versions.count; i++)
        nl_table_metadata_release(self.versions.items[i]);
    nl_table_metadata_release(self.end);
    nl_table_metadata_release(self.start);
    nl_arena_free(self.arena);
    return status;
}
