/* command/call/relocate_deletes.c - position delete files whose rows name the data files' new paths: see relocate.h. */
#include "command/call/relocate.h"

#include "exec/sink/position_deletes.h"
#include "exec/source/delete_filter.h"

/* Bounds of file_path: whole paths, or cut ones, which stay bounds when their beginning is exchanged only if they hold the
 * whole prefix; others are left out. */
static nl_status move_bounds(const nl_relocation *self, nl_metric_map *bounds)
{
    nl_metric_iterator iterator = nl_metric_begin(bounds);
    int32_t *ids = NL_NEW_ARRAY(self->arena, int32_t, bounds->count + 1);
    nl_bytes *values = NL_NEW_ARRAY(self->arena, nl_bytes, bounds->count + 1);
    uint32_t count = 0;
    if (!bounds->data) return NULL;
    while (count < bounds->count && nl_bound_next(&iterator, &ids[count], &values[count])) {
        if (ids[count] == NL_FIELD_ID_DELETE_FILE_PATH) {
            const nl_str path = {(const char *)values[count].data, values[count].length};
            nl_str moved;
            if (!nl_str_starts(path, self->source)) continue;
            NL_TRY(nl_relocate_target(self, path, &moved));
            values[count] = (nl_bytes){(const uint8_t *)moved.data, moved.length};
        }
        count++;
    }
    return nl_bound_map_make(self->arena, ids, values, count, bounds);
}

nl_status nl_relocate_delete_entry(const nl_relocation *self, nl_data_file *file)
{
    if (file->referenced_data_file.length) NL_TRY(nl_relocate_target(self, file->referenced_data_file, &file->referenced_data_file));
    NL_TRY(move_bounds(self, &file->lower_bounds));
    return move_bounds(self, &file->upper_bounds);
}

typedef struct delete_copy {
    const nl_relocation *relocation;
    nl_file_output out;
} delete_copy;

static nl_status append_paths(const nl_relocation *relocation, const nl_vector *paths, uint32_t count, nl_arena *arena, nl_column_builder *builder)
{
    nl_relocation self = *relocation;
    self.arena = arena; /* of this batch */
    for (uint32_t row = 0; row < count; row++) {
        const nl_value value = nl_vector_value(paths, row, arena);
        nl_str moved = {0};
        if (value.is_null) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "A position delete has no file_path");
        NL_TRY(nl_relocate_target(&self, value.text, &moved));
        NL_TRY(nl_column_builder_str(builder, moved));
    }
    return nl_arena_check(arena);
}

static nl_status copy_batch(void *argument, const nl_batch *batch)
{
    delete_copy *self = argument;
    nl_memory *memory = self->relocation->call->command->memory;
    nl_column_builder *builder = NULL;
    nl_batch moved;
    NL_TRY(nl_batch_ref(batch, &moved));
    nl_vector paths = moved.columns[0];
    nl_arena *arena = nl_arena_new(memory);
    nl_status status = nl_column_builder_new(nl_type_string(), memory, &builder);
    if (!status) status = append_paths(self->relocation, &paths, batch->row_count, arena, builder);
    if (!status) {
        moved.columns[0] = (nl_vector){0};
        status = nl_column_builder_finish(builder, &moved.columns[0]);
        nl_vector_fini(&paths);
    }
    if (!status) status = nl_file_output_append(&self->out, &moved);
    nl_column_builder_free(builder);
    nl_arena_free(arena);
    nl_batch_fini(&moved);
    return status;
}

nl_status nl_relocate_delete_file(nl_relocation *self, const nl_data_file *file, int64_t *size_bytes)
{
    nl_iceberg_table *table = self->call->table;
    nl_memory *memory = self->call->command->memory;
    delete_copy copy = {.relocation = self};
    nl_output *output = NULL;
    nl_written_file written;
    nl_str staged;
    const nl_type *type = nl_position_delete_type(self->arena);
    const nl_file_output_options options = {.format = file->format, .parquet = nl_parquet_write_options_default()};
    NL_TRY(nl_relocate_staging(self, file->path, &staged));
    NL_TRY(nl_fs_create(table->fs, staged, &output));
    NL_TRY(nl_position_delete_open(output, type, &options, memory, &copy.out));
    nl_status status = nl_note_if(nl_delete_file_read(table->fs, file, type, memory, copy_batch, &copy), NL_HERE, "reading position deletes " NL_STR_FMT, NL_STR_ARG(file->path));
    if (status) {
        nl_file_output_abort(&copy.out);
        return status;
    }
    NL_TRY_NOTE(nl_file_output_close(&copy.out, self->arena, &written), "writing " NL_STR_FMT, NL_STR_ARG(staged));
    *size_bytes = (int64_t)written.file_bytes;
    return NULL;
}
