/* exec/source/metadata_source.c - the names of Iceberg's metadata tables, and how each is made. */
#include "exec/source/metadata_table.h"

#include <stdlib.h>

typedef enum manifest_choice { MANIFESTS_NONE, MANIFESTS_SNAPSHOT, MANIFESTS_ALL } manifest_choice;

typedef struct metadata_row {
    const char *name;
    nl_status (*make_type)(nl_metadata_table *self, const nl_type **type);
    nl_rows_producer produce;
    manifest_choice manifests;
    bool is_by_manifest;     /* one part per manifest */
    unsigned contents;       /* files tables: bit 1 << nl_file_content */
} metadata_row;

static nl_status snapshots_type(nl_metadata_table *self, const nl_type **type)
{
    const nl_field fields[] = {
        {.name = NL_STR("committed_at"), .type = nl_type_of(NL_TYPE_TIMESTAMP)},
        {.name = NL_STR("snapshot_id"), .type = nl_type_bigint()},
        {.name = NL_STR("parent_id"), .type = nl_type_bigint(), .is_nullable = true},
        {.name = NL_STR("operation"), .type = nl_type_string(), .is_nullable = true},
        {.name = NL_STR("manifest_list"), .type = nl_type_string(), .is_nullable = true},
        {.name = NL_STR("summary"), .type = nl_type_map(self->arena, nl_type_string(), nl_type_string(), false), .is_nullable = true},
    };
    *type = nl_type_struct(self->arena, fields, NL_COUNT(fields));
    return NULL;
}

static nl_status history_type(nl_metadata_table *self, const nl_type **type)
{
    const nl_field fields[] = {
        {.name = NL_STR("made_current_at"), .type = nl_type_of(NL_TYPE_TIMESTAMP)},
        {.name = NL_STR("snapshot_id"), .type = nl_type_bigint()},
        {.name = NL_STR("parent_id"), .type = nl_type_bigint(), .is_nullable = true},
        {.name = NL_STR("is_current_ancestor"), .type = nl_type_boolean()},
    };
    *type = nl_type_struct(self->arena, fields, NL_COUNT(fields));
    return NULL;
}

static nl_status refs_type(nl_metadata_table *self, const nl_type **type)
{
    const nl_field fields[] = {
        {.name = NL_STR("name"), .type = nl_type_string()},
        {.name = NL_STR("type"), .type = nl_type_string()},
        {.name = NL_STR("snapshot_id"), .type = nl_type_bigint()},
        {.name = NL_STR("max_reference_age_in_ms"), .type = nl_type_bigint(), .is_nullable = true},
        {.name = NL_STR("min_snapshots_to_keep"), .type = nl_type_int(), .is_nullable = true},
        {.name = NL_STR("max_snapshot_age_in_ms"), .type = nl_type_bigint(), .is_nullable = true},
    };
    *type = nl_type_struct(self->arena, fields, NL_COUNT(fields));
    return NULL;
}

static nl_status metadata_log_type(nl_metadata_table *self, const nl_type **type)
{
    const nl_field fields[] = {
        {.name = NL_STR("timestamp"), .type = nl_type_of(NL_TYPE_TIMESTAMP)},
        {.name = NL_STR("file"), .type = nl_type_string()},
        {.name = NL_STR("latest_snapshot_id"), .type = nl_type_bigint(), .is_nullable = true},
        {.name = NL_STR("latest_schema_id"), .type = nl_type_int(), .is_nullable = true},
        {.name = NL_STR("latest_sequence_number"), .type = nl_type_bigint(), .is_nullable = true},
    };
    *type = nl_type_struct(self->arena, fields, NL_COUNT(fields));
    return NULL;
}

static nl_status manifests_type(nl_metadata_table *self, const nl_type **type)
{
    *type = nl_manifests_type(self->arena, false);
    return NULL;
}

static nl_status all_manifests_type(nl_metadata_table *self, const nl_type **type)
{
    *type = nl_manifests_type(self->arena, true);
    return NULL;
}

static nl_status partitions_type(nl_metadata_table *self, const nl_type **type)
{
    *type = nl_partitions_type(self);
    return NULL;
}

enum { DATA = 1 << NL_CONTENT_DATA, DELETES = 1 << NL_CONTENT_POSITION_DELETES | 1 << NL_CONTENT_EQUALITY_DELETES };

static const metadata_row rows[] = {
    {"history", history_type, nl_produce_history, MANIFESTS_NONE, false, 0},
    {"snapshots", snapshots_type, nl_produce_snapshots, MANIFESTS_NONE, false, 0},
    {"refs", refs_type, nl_produce_refs, MANIFESTS_NONE, false, 0},
    {"metadata_log_entries", metadata_log_type, nl_produce_metadata_log, MANIFESTS_NONE, false, 0},
    {"manifests", manifests_type, nl_produce_manifests, MANIFESTS_SNAPSHOT, false, 0},
    {"all_manifests", all_manifests_type, nl_produce_manifests, MANIFESTS_ALL, false, 0},
    {"partitions", partitions_type, nl_produce_partitions, MANIFESTS_SNAPSHOT, false, 0},
    {"files", nl_files_type, nl_produce_files, MANIFESTS_SNAPSHOT, true, DATA | DELETES},
    {"data_files", nl_files_type, nl_produce_files, MANIFESTS_SNAPSHOT, true, DATA},
    {"delete_files", nl_files_type, nl_produce_files, MANIFESTS_SNAPSHOT, true, DELETES},
    {"all_files", nl_files_type, nl_produce_files, MANIFESTS_ALL, true, DATA | DELETES},
    {"all_data_files", nl_files_type, nl_produce_files, MANIFESTS_ALL, true, DATA},
    {"all_delete_files", nl_files_type, nl_produce_files, MANIFESTS_ALL, true, DELETES},
    {"entries", nl_entries_type, nl_produce_entries, MANIFESTS_SNAPSHOT, true, 0},
    {"all_entries", nl_entries_type, nl_produce_entries, MANIFESTS_ALL, true, 0},
    {"position_deletes", nl_position_deletes_type, nl_produce_position_deletes, MANIFESTS_SNAPSHOT, false, DELETES},
};

static void free_metadata_table(void *owner)
{
    nl_metadata_table *self = owner;
    nl_table_release((nl_table *)(uintptr_t)self->source);
    nl_arena_free(self->arena);
    free(self);
}

static bool wants_content(const metadata_row *row, const nl_manifest_file *file)
{
    if (row->contents == DATA) return file->content == NL_MANIFEST_DATA;
    return row->contents != DELETES || file->content == NL_MANIFEST_DELETES;
}

/* The manifests of one snapshot; of tables over all snapshots each manifest once, all_manifests once per snapshot. */
static nl_status add_manifests(nl_metadata_table *self, const metadata_row *row, const nl_snapshot *snapshot, nl_list *files, nl_list *snapshots)
{
    const nl_manifest_file *listed = NULL;
    uint32_t listed_count = 0;
    NL_TRY(nl_table_explain_moved(self->metadata, nl_snapshot_manifests(self->table->fs, snapshot, self->table->memory, self->arena, &listed, &listed_count)));
    for (uint32_t i = 0; i < listed_count; i++) {
        if (!wants_content(row, &listed[i])) continue;
        nl_list_add(self->arena, files, (void *)(uintptr_t)&listed[i]);
        nl_list_add(self->arena, snapshots, (void *)(uintptr_t)snapshot);
    }
    return NULL;
}

static int compare_manifests(const void *a, const void *b)
{
    return nl_str_compare(((const nl_manifest_file *)a)->path, ((const nl_manifest_file *)b)->path);
}

static nl_status list_manifests(nl_metadata_table *self, const metadata_row *row)
{
    nl_list files = {0}, snapshots = {0};
    if (row->manifests == MANIFESTS_SNAPSHOT && self->snapshot) NL_TRY(add_manifests(self, row, self->snapshot, &files, &snapshots));
    for (uint32_t i = 0; row->manifests == MANIFESTS_ALL && i < self->metadata->snapshot_count; i++)
        NL_TRY(add_manifests(self, row, &self->metadata->snapshots[i], &files, &snapshots));
    nl_manifest_file *list = NL_NEW_ARRAY(self->arena, nl_manifest_file, files.count);
    int64_t *ids = NL_NEW_ARRAY(self->arena, int64_t, files.count);
    for (uint32_t i = 0; i < files.count; i++) {
        list[i] = *(const nl_manifest_file *)files.items[i];
        ids[i] = ((const nl_snapshot *)snapshots.items[i])->snapshot_id;
    }
    self->manifest_count = files.count;
    if (row->manifests == MANIFESTS_ALL && row->is_by_manifest && files.count > 1) {
        qsort(list, files.count, sizeof(*list), compare_manifests);
        self->manifest_count = 1;
        for (uint32_t i = 1; i < files.count; i++)
            if (compare_manifests(&list[i], &list[self->manifest_count - 1]) != 0) list[self->manifest_count++] = list[i];
    }
    self->manifests = list;
    self->manifest_snapshots = row->manifests == MANIFESTS_ALL && !row->is_by_manifest ? ids : NULL;
    return NULL;
}

static bool is_by_delete_file(const metadata_row *row)
{
    return row->produce == nl_produce_position_deletes;
}

static nl_status fill(nl_metadata_table *self, const metadata_row *row)
{
    const nl_table_metadata *metadata = self->metadata;
    NL_TRY(nl_table_partition_type_union(self->arena, metadata, &self->partition_union));
    NL_TRY(nl_ice_type_to_sql(self->arena, self->partition_union, &self->partition_type));
    self->has_partition = self->partition_type->child_count > 0;
    self->contents = row->contents;
    NL_TRY(row->make_type(self, &self->row_type));
    NL_TRY(list_manifests(self, row));
    return is_by_delete_file(row) ? nl_list_position_deletes(self) : NULL;
}

/* Tables over all snapshots have no single one to be read at. */
static nl_status no_time_travel(const metadata_row *row, const nl_iceberg_read *read)
{
    char name[32];
    uint32_t length = 0;
    if (!read->has_snapshot_id && !read->has_timestamp && read->tag.length == 0 && read->branch.length == 0) return NULL;
    for (; row->name[length] && length + 1 < sizeof(name); length++)
        name[length] = row->name[length] >= 'a' && row->name[length] <= 'z' ? (char)(row->name[length] - 'a' + 'A') : row->name[length];
    name[length] = 0;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot select %s in table: %s", read->branch.length ? "ref" : "snapshot", name);
}

static nl_status make_source(nl_iceberg_table *table, const metadata_row *row, const nl_iceberg_read *read, const nl_table **source)
{
    nl_metadata_table *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P("receivedBytes", "0"));
    nl_status status = row->manifests == MANIFESTS_ALL ? no_time_travel(row, read) : NULL;
    if (!status) status = nl_iceberg_source_new(table, read, &self->source);
    if (status) {
        free(self);
        return status;
    }
    self->arena = nl_arena_new(table->memory);
    self->table = nl_iceberg_source_table(self->source);
    self->metadata = nl_iceberg_source_metadata(self->source);
    self->snapshot = nl_iceberg_source_snapshot(self->source);
    status = fill(self, row);
    if (status) {
        free_metadata_table(self);
        return status;
    }
    const nl_rows_definition definition = {
        .kind = "metadata",
        .name = nl_arena_f(self->arena, NL_STR_FMT ".%s", NL_STR_ARG(self->table->name), row->name),
        .row_type = self->row_type,
        .part_count = is_by_delete_file(row) ? self->delete_part_count : row->is_by_manifest ? self->manifest_count : 1,
        .produce = row->produce,
        .owner = self,
        .free_owner = free_metadata_table,
    };
    return nl_rows_source_new(&definition, source);
}

nl_status nl_metadata_source_new(nl_iceberg_table *table, nl_str name, const nl_iceberg_read *read, const nl_table **source, bool *is_known)
{
    *is_known = true;
    for (uint32_t i = 0; i < NL_COUNT(rows); i++)
        if (nl_str_is_nocase(name, rows[i].name)) return make_source(table, &rows[i], read, source);
    if (nl_str_is_nocase(name, "changes")) {
        nl_iceberg_read changelog = *read;
        changelog.is_changelog = true;
        return nl_iceberg_source_new(table, &changelog, source);
    }
    *is_known = false;
    return NULL;
}
