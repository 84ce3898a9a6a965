/* iceberg/validation.c - what other commits did since an operation began must not conflict with it.
 *
 * Nothing is read when nobody else committed. Source: Java's MergingSnapshotProducer and its subclasses; messages are
 * theirs, since people search for them.
 */
#include "iceberg/operation_private.h"

#include <stdlib.h>

#include "iceberg/delete_index.h"

#define TEXT_MAX (1u << 20)

enum { ON_APPEND = 1, ON_OVERWRITE = 2, ON_DELETE = 4, ON_REPLACE = 8 };

typedef struct history {
    nl_attempt *attempt;
    nl_list manifests;   /* nl_manifest_file *: added by the snapshots in question */
    int64_t *snapshots;  /* their ids */
    uint32_t snapshot_count;
} history;

static unsigned operation_bit(nl_str operation)
{
    if (nl_str_is(operation, "append")) return ON_APPEND;
    if (nl_str_is(operation, "overwrite")) return ON_OVERWRITE;
    if (nl_str_is(operation, "delete")) return ON_DELETE;
    return nl_str_is(operation, "replace") ? ON_REPLACE : 0;
}

static bool in_history(const history *self, int64_t snapshot_id)
{
    for (uint32_t i = 0; i < self->snapshot_count; i++)
        if (self->snapshots[i] == snapshot_id) return true;
    return false;
}

static nl_status add_snapshot(history *self, const nl_snapshot *snapshot, nl_manifest_content content)
{
    nl_attempt *attempt = self->attempt;
    const nl_manifest_file *files = NULL;
    uint32_t file_count = 0;
    self->snapshots[self->snapshot_count++] = snapshot->snapshot_id;
    NL_TRY(nl_snapshot_manifests(attempt->table->fs, snapshot, attempt->table->memory, attempt->arena, &files, &file_count));
    for (uint32_t i = 0; i < file_count; i++)
        if (files[i].content == content && files[i].added_snapshot_id == snapshot->snapshot_id)
            nl_list_add(attempt->arena, &self->manifests, (void *)(uintptr_t)&files[i]);
    return NULL;
}

/* The snapshots between the operation's start (exclusive) and the parent (inclusive), of the operations asked for. */
static nl_status read_history(nl_attempt *attempt, unsigned operations, nl_manifest_content content, history *result)
{
    const nl_operation *operation = attempt->operation;
    const int64_t start = operation->has_starting_snapshot ? operation->starting_snapshot_id : NL_NONE;
    *result = (history){.attempt = attempt, .snapshots = NL_NEW_ARRAY(attempt->arena, int64_t, attempt->base->snapshot_count)};
    const nl_snapshot *snapshot = attempt->parent;
    int64_t last_known = NL_NONE;
    for (uint32_t step = 0; snapshot && snapshot->snapshot_id != start && step < attempt->base->snapshot_count; step++) {
        last_known = snapshot->snapshot_id;
        if (operation_bit(snapshot->operation) & operations) NL_TRY(add_snapshot(result, snapshot, content));
        snapshot = snapshot->parent_id == NL_NONE ? NULL : nl_table_snapshot(attempt->base, snapshot->parent_id);
    }
    if (start != NL_NONE && (!snapshot || snapshot->snapshot_id != start))
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot determine history between starting snapshot %lld and the last known ancestor %lld",
                             (long long)start, (long long)last_known);
    return NULL;
}

static const nl_predicate *conflict_filter(const nl_attempt *attempt)
{
    return attempt->operation->conflict_filter ? attempt->operation->conflict_filter : nl_predicate_true();
}

static const nl_schema *filter_schema(const nl_attempt *attempt)
{
    return attempt->operation->filter_schema ? attempt->operation->filter_schema : nl_table_schema(attempt->base);
}

/* "Found conflicting files that can contain records matching <filter>: [<paths>]" */
static nl_status conflict(nl_attempt *attempt, const char *what, const nl_builder *paths)
{
    nl_builder text;
    nl_builder_init(&text, TEXT_MAX);
    nl_predicate_append_text(conflict_filter(attempt), filter_schema(attempt), &text);
    nl_status status = NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "%s records matching %s: [" NL_STR_FMT "]", what, nl_builder_c(&text), NL_STR_ARG(nl_builder_str(paths)));
    nl_builder_fini(&text);
    return status;
}

static void append_path(nl_builder *paths, nl_str path)
{
    if (paths->length) nl_append_c(paths, ", ");
    nl_append(paths, path);
}

typedef bool (*entry_test)(const history *self, const nl_manifest_entry *entry);

static bool is_added(const history *self, const nl_manifest_entry *entry)
{
    return entry->status == NL_ENTRY_ADDED && in_history(self, entry->snapshot_id);
}

static bool is_deleted(const history *self, const nl_manifest_entry *entry)
{
    return entry->status == NL_ENTRY_DELETED && in_history(self, entry->snapshot_id);
}

/* Paths of the entries that pass the test and may hold rows of the conflict filter. */
static nl_status collect_conflicts(const history *self, entry_test test, nl_builder *paths)
{
    nl_attempt *attempt = self->attempt;
    for (uint32_t m = 0; m < self->manifests.count; m++) {
        const nl_manifest *manifest = NULL;
        NL_TRY(nl_attempt_read_manifest(attempt, self->manifests.items[m], &manifest));
        nl_status status = NULL;
        for (uint32_t i = 0; !status && i < manifest->entry_count; i++) {
            const nl_manifest_entry *entry = &manifest->entries[i];
            bool may_match = true;
            if (!test(self, entry)) continue;
            if (entry->file.content == NL_CONTENT_DATA)
                status = nl_predicate_may_match_file(conflict_filter(attempt), filter_schema(attempt), manifest->spec, &entry->file, &may_match);
            if (!status && may_match) append_path(paths, entry->file.path);
        }
        nl_manifest_release(manifest);
        if (status) return status;
    }
    return NULL;
}

static nl_status no_conflicts(nl_attempt *attempt, unsigned operations, nl_manifest_content content, entry_test test, const char *what)
{
    history found;
    nl_builder paths;
    NL_TRY(read_history(attempt, operations, content, &found));
    nl_builder_init(&paths, TEXT_MAX);
    nl_status status = collect_conflicts(&found, test, &paths);
    if (!status && paths.length) status = conflict(attempt, what, &paths);
    nl_builder_fini(&paths);
    return status;
}

static nl_status no_new_data_files(nl_attempt *attempt)
{
    return no_conflicts(attempt, ON_APPEND | ON_OVERWRITE, NL_MANIFEST_DATA, is_added, "Found conflicting files that can contain");
}

static nl_status no_new_delete_files(nl_attempt *attempt)
{
    return no_conflicts(attempt, ON_OVERWRITE | ON_DELETE, NL_MANIFEST_DELETES, is_added, "Found new conflicting delete files that can apply to");
}

static nl_status no_deleted_data_files(nl_attempt *attempt)
{
    return no_conflicts(attempt, ON_OVERWRITE | ON_REPLACE | ON_DELETE, NL_MANIFEST_DATA, is_deleted, "Found conflicting deleted files that can contain");
}

/* ---- deletes for files that are replaced ----------------------------------------------------------------------- */

typedef struct new_deletes {
    nl_delete_index *index;
    nl_list manifests; /* const nl_manifest *: held while the index is asked */
} new_deletes;

static void release_deletes(new_deletes *self)
{
    for (uint32_t i = 0; i < self->manifests.count; i++)
        nl_manifest_release(self->manifests.items[i]);
}

static nl_status index_new_deletes(nl_attempt *attempt, bool ignores_equality, new_deletes *result)
{
    history found;
    NL_TRY(read_history(attempt, ON_OVERWRITE | ON_DELETE, NL_MANIFEST_DELETES, &found));
    result->index = nl_delete_index_new(attempt->arena, attempt->base);
    for (uint32_t m = 0; m < found.manifests.count; m++) {
        const nl_manifest *manifest = NULL;
        NL_TRY(nl_attempt_read_manifest(attempt, found.manifests.items[m], &manifest));
        nl_list_add(attempt->arena, &result->manifests, (void *)(uintptr_t)manifest);
        for (uint32_t i = 0; i < manifest->entry_count; i++) {
            const nl_manifest_entry *entry = &manifest->entries[i];
            const bool counts = is_added(&found, entry) && !(ignores_equality && entry->file.content == NL_CONTENT_EQUALITY_DELETES);
            if (counts) nl_delete_index_add(result->index, entry, manifest->spec);
        }
    }
    nl_delete_index_finish(result->index);
    return NULL;
}

static nl_status check_replaced(nl_attempt *attempt, const new_deletes *deletes, bool ignores_equality)
{
    const nl_operation *operation = attempt->operation;
    const nl_snapshot *start = nl_table_snapshot(attempt->base, operation->starting_snapshot_id);
    const int64_t start_sequence_number = start ? start->sequence_number : 0;
    for (uint32_t i = 0; !nl_delete_index_is_empty(deletes->index) && i < operation->removed_count; i++) {
        const nl_data_file *file = operation->removed_files[i].file;
        const nl_data_file *const *found;
        const int64_t *numbers;
        uint32_t count;
        if (!file || file->content != NL_CONTENT_DATA) continue;
        nl_delete_index_find(deletes->index, file, start_sequence_number, attempt->arena, &found, &numbers, &count);
        if (count > 0)
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot commit, found new %s for replaced data file: " NL_STR_FMT,
                                 ignores_equality ? "position delete" : "delete", NL_STR_ARG(file->path));
    }
    return NULL;
}

static nl_status no_new_deletes_for_replaced(nl_attempt *attempt, bool ignores_equality)
{
    new_deletes deletes = {0};
    nl_status status = index_new_deletes(attempt, ignores_equality, &deletes);
    if (!status) status = check_replaced(attempt, &deletes, ignores_equality);
    release_deletes(&deletes);
    return status;
}

/* ---- files that position deletes speak of ---------------------------------------------------------------------- */

static int compare_paths(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

static const nl_str *sorted_references(nl_attempt *attempt)
{
    const nl_operation *operation = attempt->operation;
    nl_str *sorted = NL_NEW_ARRAY(attempt->arena, nl_str, operation->referenced_count);
    memcpy(sorted, operation->referenced_files, operation->referenced_count * sizeof(*sorted));
    qsort(sorted, operation->referenced_count, sizeof(*sorted), compare_paths);
    return sorted;
}

static bool is_referenced(const nl_attempt *attempt, const nl_str *sorted, nl_str path)
{
    return bsearch(&path, sorted, attempt->operation->referenced_count, sizeof(path), compare_paths) != NULL;
}

static nl_status referenced_files_exist(nl_attempt *attempt, bool skips_deletes)
{
    const unsigned operations = ON_OVERWRITE | ON_REPLACE | (skips_deletes ? 0u : ON_DELETE);
    history found;
    nl_builder missing;
    NL_TRY(read_history(attempt, operations, NL_MANIFEST_DATA, &found));
    const nl_str *references = sorted_references(attempt);
    nl_builder_init(&missing, TEXT_MAX);
    nl_status status = NULL;
    for (uint32_t m = 0; !status && m < found.manifests.count; m++) {
        const nl_manifest *manifest = NULL;
        status = nl_attempt_read_manifest(attempt, found.manifests.items[m], &manifest);
        for (uint32_t i = 0; !status && i < manifest->entry_count; i++)
            if (is_deleted(&found, &manifest->entries[i]) && is_referenced(attempt, references, manifest->entries[i].file.path))
                append_path(&missing, manifest->entries[i].file.path);
        nl_manifest_release(manifest);
    }
    if (!status && missing.length) status = NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot commit, missing data files: [%s]", nl_builder_c(&missing));
    nl_builder_fini(&missing);
    return status;
}

/* Two deletion vectors for one data file: the second writer did not see the first one's rows. */
static nl_status no_concurrent_vectors(nl_attempt *attempt)
{
    history found;
    bool adds_vectors = false;
    for (uint32_t i = 0; i < attempt->operation->added_count; i++)
        adds_vectors = adds_vectors || nl_data_file_is_deletion_vector(&attempt->operation->added_files[i]);
    if (!adds_vectors || attempt->operation->referenced_count == 0) return NULL;
    const nl_str *references = sorted_references(attempt);
    NL_TRY(read_history(attempt, ON_OVERWRITE | ON_DELETE | ON_REPLACE, NL_MANIFEST_DELETES, &found));
    nl_status status = NULL;
    for (uint32_t m = 0; !status && m < found.manifests.count; m++) {
        const nl_manifest *manifest = NULL;
        status = nl_attempt_read_manifest(attempt, found.manifests.items[m], &manifest);
        for (uint32_t i = 0; !status && i < manifest->entry_count; i++) {
            const nl_manifest_entry *entry = &manifest->entries[i];
            if (!is_added(&found, entry) || !nl_data_file_is_deletion_vector(&entry->file)) continue;
            if (is_referenced(attempt, references, entry->file.referenced_data_file))
                status = NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Found concurrently added DV for " NL_STR_FMT ": " NL_STR_FMT,
                                       NL_STR_ARG(entry->file.referenced_data_file), NL_STR_ARG(entry->file.path));
        }
        nl_manifest_release(manifest);
    }
    return status;
}

/* ---- per operation --------------------------------------------------------------------------------------------- */

static nl_status validate_overwrite(nl_attempt *attempt)
{
    const nl_operation *operation = attempt->operation;
    if (operation->isolation == NL_ISOLATION_NONE) return NULL;
    if (operation->isolation == NL_ISOLATION_SERIALIZABLE) NL_TRY(no_new_data_files(attempt));
    if (operation->row_filter) {
        NL_TRY(no_new_delete_files(attempt));
        NL_TRY(no_deleted_data_files(attempt));
    }
    return operation->removed_count > 0 ? no_new_deletes_for_replaced(attempt, false) : NULL;
}

static nl_status validate_row_delta(nl_attempt *attempt)
{
    const nl_operation *operation = attempt->operation;
    if (operation->isolation == NL_ISOLATION_NONE) return NULL;
    if (operation->referenced_count > 0) NL_TRY(referenced_files_exist(attempt, operation->is_delete_command));
    if (operation->isolation == NL_ISOLATION_SERIALIZABLE) NL_TRY(no_new_data_files(attempt));
    if (!operation->is_delete_command) NL_TRY(no_new_delete_files(attempt));
    return no_concurrent_vectors(attempt);
}

nl_status nl_validate_operation(nl_attempt *attempt)
{
    const nl_operation *operation = attempt->operation;
    if (!attempt->parent || !operation->has_starting_snapshot || attempt->parent->snapshot_id == operation->starting_snapshot_id) return NULL;
    switch (operation->kind) {
    case NL_OPERATION_OVERWRITE: return validate_overwrite(attempt);
    case NL_OPERATION_ROW_DELTA: return validate_row_delta(attempt);
    case NL_OPERATION_REWRITE: return no_new_deletes_for_replaced(attempt, operation->data_sequence_number != NL_NONE);
    case NL_OPERATION_REPLACE_PARTITIONS: return operation->isolation == NL_ISOLATION_SERIALIZABLE ? no_new_data_files(attempt) : NULL;
    case NL_OPERATION_APPEND:
    case NL_OPERATION_FAST_APPEND:
    case NL_OPERATION_REWRITE_MANIFESTS:
    case NL_OPERATION_DELETE: break;
    }
    return NULL;
}
