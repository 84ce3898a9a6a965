/* exec/source/metadata_deletes.c - the metadata table position_deletes: a row per deleted position, a part per delete
 * file or deletion vector of the snapshot. */
#include "exec/source/metadata_table.h"

#include "exec/source/delete_filter.h"

enum { COLUMN_PATH, COLUMN_POSITION, COLUMN_ROW };

nl_status nl_position_deletes_type(nl_metadata_table *self, const nl_type **type)
{
    const nl_type *row = NULL;
    NL_TRY(nl_ice_type_to_sql(self->arena, nl_table_schema(self->metadata)->root, &row));
    const nl_field all[] = {
        {.name = NL_STR("file_path"), .type = nl_type_string(), .comment = NL_STR("Path of a file in which a deleted row is stored")},
        {.name = NL_STR("pos"), .type = nl_type_bigint(), .comment = NL_STR("Ordinal position of a deleted row in the data file")},
        {.name = NL_STR("row"), .type = row, .is_nullable = true, .comment = NL_STR("Deleted row values")},
        {.name = NL_STR("partition"), .type = self->partition_type, .comment = NL_STR("Partition that position delete row belongs to")},
        {.name = NL_STR("spec_id"), .type = nl_type_int(), .comment = NL_STR("Spec ID used to track the file containing a row")},
        {.name = NL_STR("delete_file_path"), .type = nl_type_string(), .comment = NL_STR("Path of the file in which a row is stored")},
        {.name = NL_STR("content_offset"), .type = nl_type_bigint(), .is_nullable = true, .comment = NL_STR("The offset in the DV where the content starts")},
        {.name = NL_STR("content_size_in_bytes"), .type = nl_type_bigint(), .is_nullable = true, .comment = NL_STR("The length in bytes of the DV blob")},
    };
    nl_field fields[NL_COUNT(all)];
    uint32_t count = 0;
    for (uint32_t i = 0; i < NL_COUNT(all) - (self->metadata->format_version < 3 ? 2 : 0); i++)
        if (self->has_partition || !nl_str_is(all[i].name, "partition")) fields[count++] = all[i];
    *type = nl_type_struct(self->arena, fields, count);
    return NULL;
}

static void release_manifest(void *object)
{
    nl_manifest_release(object);
}

nl_status nl_list_position_deletes(nl_metadata_table *self)
{
    nl_list files = {0};
    for (uint32_t m = 0; m < self->manifest_count; m++) {
        const nl_manifest *manifest = NULL;
        NL_TRY_NOTE(nl_manifest_cache_read(self->table->manifest_cache, self->table->fs, &self->manifests[m], self->table->memory, &manifest),
                    "reading manifest " NL_STR_FMT, NL_STR_ARG(self->manifests[m].path));
        nl_arena_on_free(self->arena, release_manifest, (void *)(uintptr_t)manifest);
        for (uint32_t i = 0; i < manifest->entry_count; i++) {
            const nl_manifest_entry *entry = &manifest->entries[i];
            if (!nl_manifest_entry_is_live(entry) || entry->file.content != NL_CONTENT_POSITION_DELETES) continue;
            nl_delete_part *part = NL_NEW(self->arena, nl_delete_part);
            *part = (nl_delete_part){&entry->file, manifest->spec};
            nl_list_add(self->arena, &files, part);
        }
    }
    self->delete_parts = (const nl_delete_part *const *)(const void *)files.items;
    self->delete_part_count = files.count;
    return nl_arena_check(self->arena);
}

typedef struct delete_rows {
    const nl_metadata_table *table;
    const nl_data_file *file;
    const bool *wanted;
    nl_column_builder **builders;
    nl_value partition;
    int32_t spec_id;
} delete_rows;

static nl_status append_rest(delete_rows *self, uint32_t column)
{
    if (self->table->has_partition) NL_TRY(nl_column_builder_value(self->builders[column++], &self->partition));
    NL_TRY(nl_column_builder_i64(self->builders[column++], self->spec_id));
    NL_TRY(nl_column_builder_str(self->builders[column++], self->file->path));
    if (self->table->metadata->format_version < 3) return NULL;
    NL_TRY(nl_builder_optional(self->builders[column], self->file->content_offset));
    return nl_builder_optional(self->builders[column + 1], self->file->content_size_bytes);
}

static nl_status append_batch(void *argument, const nl_batch *batch)
{
    delete_rows *self = argument;
    for (uint32_t row = 0; row < batch->row_count; row++) {
        NL_TRY(nl_column_builder_row(self->builders[COLUMN_PATH], &batch->columns[COLUMN_PATH], row));
        NL_TRY(nl_column_builder_row(self->builders[COLUMN_POSITION], &batch->columns[COLUMN_POSITION], row));
        NL_TRY(self->wanted[COLUMN_ROW] ? nl_column_builder_row(self->builders[COLUMN_ROW], &batch->columns[COLUMN_ROW], row)
                                        : nl_column_builder_null(self->builders[COLUMN_ROW]));
        NL_TRY(append_rest(self, COLUMN_ROW + 1));
    }
    return NULL;
}

static nl_status append_vector(delete_rows *self, nl_query *query)
{
    enum { POSITIONS = 1024 };
    int64_t positions[POSITIONS], next = 0;
    nl_deletion_vector *vector = NULL;
    NL_TRY(nl_delete_vector_read(self->table->table->fs, self->file, query->memory, &vector));
    nl_status status = NULL;
    for (uint32_t count = 1; !status && count > 0;) {
        count = nl_deletion_vector_positions(vector, &next, positions, POSITIONS);
        for (uint32_t i = 0; !status && i < count; i++) {
            status = nl_column_builder_str(self->builders[COLUMN_PATH], self->file->referenced_data_file);
            if (!status) status = nl_column_builder_i64(self->builders[COLUMN_POSITION], positions[i]);
            if (!status) status = nl_column_builder_null(self->builders[COLUMN_ROW]);
            if (!status) status = append_rest(self, COLUMN_ROW + 1);
        }
    }
    nl_deletion_vector_free(vector);
    return status;
}

static nl_status read_deletes(delete_rows *self, nl_query *query, nl_arena *arena)
{
    const nl_field fields[] = {
        {.name = NL_STR("file_path"), .type = nl_type_string(), .field_id = NL_FIELD_ID_DELETE_FILE_PATH},
        {.name = NL_STR("pos"), .type = nl_type_bigint(), .field_id = NL_FIELD_ID_DELETE_FILE_POS},
        {.name = NL_STR("row"), .type = self->table->row_type->children[COLUMN_ROW].type, .is_nullable = true, .field_id = NL_FIELD_ID_DELETE_FILE_ROW},
    };
    const nl_type *wanted = nl_type_struct(arena, fields, self->wanted[COLUMN_ROW] ? 3 : 2);
    if (nl_data_file_is_deletion_vector(self->file)) return append_vector(self, query);
    return nl_delete_file_read(self->table->table->fs, self->file, wanted, query->memory, append_batch, self);
}

nl_status nl_produce_position_deletes(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders)
{
    const nl_metadata_table *self = owner;
    const nl_delete_part *source = self->delete_parts[part];
    nl_arena *arena = nl_arena_new(query->memory);
    delete_rows rows = {.table = self, .file = source->file, .wanted = wanted, .builders = builders, .spec_id = source->spec->spec_id};
    if (self->has_partition) rows.partition = nl_metadata_partition(self, source->spec, source->file->partition, arena);
    nl_status status = nl_note_if(read_deletes(&rows, query, arena), NL_HERE, "reading position deletes " NL_STR_FMT, NL_STR_ARG(source->file->path));
    nl_arena_free(arena);
    return status;
}
