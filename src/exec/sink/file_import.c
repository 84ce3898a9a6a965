/* exec/sink/file_import.c - see file_import.h. */
#include "exec/sink/file_import.h"

#include "exec/sink/data_writer.h"
#include "exec/source/file_fields.h"

typedef struct importer {
    const nl_file_import *input;
    nl_arena *arena;
    nl_memory *memory;
    const nl_schema *schema;
    nl_parquet_reader *reader;
    nl_parquet_footer *footer;
    nl_parquet_written written; /* as if this file had just been written */
} importer;

static int32_t field_id_of(void *argument, const nl_parquet_node *node)
{
    const importer *self = argument;
    return nl_file_field_id(self->input->mapping, node);
}

/* Bounds whose values manifests hold in the form that readers give. */
static bool has_plain_bounds(const nl_ice_type *type)
{
    return !nl_ice_type_is_nested(type) && type->id != NL_ICE_UUID && type->id != NL_ICE_FIXED && type->id != NL_ICE_VARIANT && type->id != NL_ICE_GEOMETRY &&
           type->id != NL_ICE_GEOGRAPHY;
}

/* *is_complete: no row group keeps its numbers to itself. */
static nl_status add_chunk(const importer *self, uint32_t row_group, uint32_t leaf, nl_parquet_leaf_metrics *metrics, bool *is_complete, bool *is_bounded)
{
    const nl_parquet_chunk *chunk = &self->footer->row_groups[row_group].chunks[leaf];
    nl_parquet_bounds bounds;
    NL_TRY(nl_parquet_chunk_bounds(self->reader, row_group, leaf, self->arena, &bounds));
    metrics->column_bytes += chunk->compressed_bytes;
    metrics->value_count += chunk->value_count;
    *is_complete = *is_complete && bounds.has_null_count;
    if (!*is_complete) return NULL;
    metrics->null_count += bounds.null_count;
    if (bounds.is_all_null) return NULL;
    *is_bounded = *is_bounded && bounds.has_min && bounds.has_max;
    if (!*is_bounded) return NULL;
    if (!metrics->has_bounds || nl_value_compare(&bounds.min, &metrics->lower) < 0) metrics->lower = bounds.min;
    if (!metrics->has_bounds || nl_value_compare(&bounds.max, &metrics->upper) > 0) metrics->upper = bounds.max;
    metrics->has_bounds = true;
    return NULL;
}

static nl_status add_column(importer *self, const nl_schema_column *column)
{
    const uint32_t leaf = nl_parquet_reader_leaf_by_id(self->reader, column->field->id);
    const nl_type *type = NULL;
    bool is_complete = true, is_bounded = has_plain_bounds(column->field->type);
    if (leaf == NL_PARQUET_NO_LEAF || nl_ice_type_is_nested(column->field->type)) return NULL;
    NL_TRY(nl_ice_type_to_sql(self->arena, column->field->type, &type));
    nl_parquet_leaf_metrics metrics = {.field_id = column->field->id, .type = type};
    for (uint32_t i = 0; i < self->footer->row_group_count; i++)
        NL_TRY(add_chunk(self, i, leaf, &metrics, &is_complete, &is_bounded));
    metrics.has_bounds = metrics.has_bounds && is_bounded;
    if (is_complete) self->written.leaves[self->written.leaf_count++] = metrics;
    return NULL;
}

static nl_status read_metrics(importer *self, nl_file *file)
{
    const nl_type *wanted = NULL;
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_FIELD_ID, .field_id_of = field_id_of, .argument = self};
    self->written.leaves = NL_NEW_ARRAY(self->arena, nl_parquet_leaf_metrics, self->schema->column_count + 1);
    nl_error *error = nl_ice_type_to_sql(self->arena, self->schema->root, &wanted);
    if (!error) error = nl_parquet_reader_open(file, self->footer, wanted, &options, self->memory, &self->reader);
    for (uint32_t i = 0; !error && i < self->schema->column_count; i++)
        error = add_column(self, &self->schema->columns[i]);
    nl_parquet_reader_release(self->reader);
    self->reader = NULL;
    if (!error) return nl_arena_check(self->arena);
    nl_error_free(error); /* other types than the table's: a query will tell, as Spark's does */
    self->written.leaf_count = 0;
    return NULL;
}

static nl_status read_open(importer *self, nl_file *file, nl_data_file *out)
{
    NL_TRY(nl_parquet_footer_read(file, self->memory, &self->footer));
    nl_status status = read_metrics(self, file);
    self->written.row_count = self->footer->row_count;
    self->written.file_bytes = nl_file_size(file);
    nl_parquet_footer_release(self->footer);
    NL_TRY(status);
    NL_TRY(nl_data_file_of_written(self->input->metadata, &self->written, self->input->path, self->input->spec, self->input->partition, false, self->arena, out));
    out->nan_value_counts = (nl_metric_map){0}; /* footers do not count NaN */
    return NULL;
}

static int32_t data_field_id_of(void *argument, const nl_str *path, uint32_t depth)
{
    const importer *self = argument;
    return nl_mapped_field_id(self->input->mapping, path, depth);
}

static nl_status read_other(importer *self, const nl_data_format *format, nl_file *file, nl_data_file *out)
{
    nl_data_read read = {.field_id_of = self->input->mapping ? data_field_id_of : NULL, .argument = self};
    if (!format->describe)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas does not bring data files of format %s into a table yet", nl_file_format_name(self->input->format));
    NL_TRY(nl_ice_type_to_sql(self->arena, self->schema->root, &read.wanted));
    NL_TRY(format->describe(file, &read, self->memory, self->arena, &self->written));
    NL_TRY(nl_data_file_of_written(self->input->metadata, &self->written, self->input->path, self->input->spec, self->input->partition, false, self->arena, out));
    out->format = self->input->format;
    return NULL;
}

nl_status nl_file_import_read(const nl_file_import *import, nl_memory *memory, nl_arena *arena, nl_data_file *file)
{
    importer self = {.input = import, .arena = arena, .memory = memory, .schema = nl_table_schema(import->metadata)};
    nl_file *open = NULL;
    NL_TRY_NOTE(nl_fs_open(import->fs, import->path, &open), "opening " NL_STR_FMT, NL_STR_ARG(import->path));
    const nl_data_format *format = nl_data_format_of(import->format);
    nl_status status = format ? read_other(&self, format, open, file) : read_open(&self, open, file);
    nl_file_close(open);
    return nl_note_if(status, NL_HERE, "reading the footer of " NL_STR_FMT, NL_STR_ARG(import->path));
}
