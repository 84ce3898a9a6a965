/* command/call/statistics.c - compute_table_stats (how many different values columns have) and compute_partition_stats. */
#include "command/call/procedure.h"

#include "base/uuid.h"
#include "command/call/text.h"
#include "format/puffin/puffin.h"
#include "iceberg/operation_private.h"
#include "iceberg/partition_stats.h"
#include "iceberg/theta_sketch.h"

#define SKETCH_BLOB "apache-datasketches-theta-v1"

typedef struct column_sketch {
    const nl_schema_column *column;
    const nl_ice_type *type; /* of the values as SQL has them: a UUID is a text */
    nl_theta_sketch *sketch;
} column_sketch;

typedef struct table_stats {
    nl_call *call;
    const nl_snapshot *snapshot;
    const nl_schema *schema; /* of the snapshot */
    column_sketch *columns;
    uint32_t column_count;
} table_stats;

static nl_status find_snapshot(nl_call *call, uint32_t parameter, const nl_snapshot **snapshot)
{
    *snapshot = nl_table_current_snapshot(call->target.metadata);
    if (!nl_call_has(call, parameter)) return NULL;
    const int64_t id = nl_call_int(call, parameter, 0);
    *snapshot = nl_table_snapshot(call->target.metadata, id);
    return *snapshot ? NULL : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Snapshot not found: %lld", (long long)id);
}

/* ---- which columns --------------------------------------------------------------------------------------------- */

static nl_str schema_text(nl_arena *arena, const nl_schema *schema)
{
    nl_builder text;
    nl_builder_init(&text, 1 << 20);
    nl_append_c(&text, "table {\n");
    for (uint32_t i = 0; i < schema->root->field_count; i++) {
        const nl_ice_field *field = &schema->root->fields[i];
        nl_append_f(&text, "  %d: " NL_STR_FMT ": %s " NL_STR_FMT "\n", field->id, NL_STR_ARG(field->name), field->is_required ? "required" : "optional",
                    NL_STR_ARG(nl_ice_type_name(arena, field->type)));
    }
    nl_append_c(&text, "}");
    const nl_str result = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return result;
}

static nl_status add_column(table_stats *self, const nl_schema_column *column)
{
    const nl_type *sql = NULL;
    column_sketch *made = &self->columns[self->column_count];
    made->column = column;
    NL_TRY(nl_ice_type_to_sql(self->call->command->arena, column->field->type, &sql));
    NL_TRY(nl_ice_type_from_sql(self->call->command->arena, sql, &made->type));
    NL_TRY(nl_theta_sketch_new(&made->sketch));
    self->column_count++;
    return NULL;
}

static nl_status choose_columns(table_stats *self)
{
    enum { ARG_COLUMNS = 2 };
    nl_call *call = self->call;
    nl_arena *arena = call->command->arena;
    const bool is_given = nl_call_has(call, ARG_COLUMNS);
    const nl_value *list = &call->arguments[ARG_COLUMNS];
    const uint32_t count = is_given ? list->list.count : self->schema->root->field_count;
    if (is_given && count == 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Columns cannot be null/empty");
    self->columns = NL_NEW_ARRAY(arena, column_sketch, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!is_given) {
            const nl_ice_field *field = &self->schema->root->fields[i];
            if (!nl_ice_type_is_nested(field->type)) NL_TRY(add_column(self, nl_schema_find_id(self->schema, field->id)));
            continue;
        }
        const nl_str name = list->list.items[i].text;
        const nl_schema_column *column = nl_schema_find_name(self->schema, name, true);
        if (!column)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Can't find column " NL_STR_FMT " in " NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(schema_text(arena, self->schema)));
        if (nl_ice_type_is_nested(column->field->type))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Can't compute stats on non-primitive type column: " NL_STR_FMT " (" NL_STR_FMT ")", NL_STR_ARG(name),
                                 NL_STR_ARG(nl_ice_type_name(arena, column->field->type)));
        NL_TRY(add_column(self, column));
    }
    return NULL;
}

/* ---- counting -------------------------------------------------------------------------------------------------- */

static void append_column(nl_builder *out, const nl_schema *schema, const nl_schema_column *column)
{
    if (column->parent_id) {
        append_column(out, schema, nl_schema_find_id(schema, column->parent_id));
        nl_append_char(out, '.');
    }
    nl_append_quoted_name(out, column->field->name);
}

static nl_str query_text(const table_stats *self)
{
    const nl_write_table *target = &self->call->target;
    nl_builder text;
    nl_builder_init(&text, 1 << 24);
    nl_append_c(&text, "SELECT ");
    for (uint32_t i = 0; i < self->column_count; i++) {
        if (i) nl_append_c(&text, ", ");
        append_column(&text, self->schema, self->columns[i].column);
    }
    nl_append_c(&text, " FROM ");
    nl_append_quoted_parts(&text, target->name_parts, target->name_count);
    nl_append_f(&text, " VERSION AS OF %lld", (long long)self->snapshot->snapshot_id);
    const nl_str result = nl_arena_str(self->call->command->arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return result;
}

typedef struct sketch_consumer {
    nl_consumer base;
    table_stats *stats;
} sketch_consumer;

static nl_status add_values(const column_sketch *column, const nl_vector *vector, nl_selection rows, nl_arena *arena)
{
    for (uint32_t i = 0; i < rows.count; i++) {
        const nl_value value = nl_vector_value(vector, rows.rows ? rows.rows[i] : i, arena);
        nl_bytes bytes;
        if (value.is_null) continue;
        NL_TRY(nl_single_value_encode(column->type, &value, arena, &bytes));
        nl_theta_sketch_add(column->sketch, bytes);
    }
    return NULL;
}

static nl_status consume(nl_consumer *base, nl_batch *batch)
{
    const table_stats *stats = NL_CONTAINER(base, sketch_consumer, base)->stats;
    const nl_selection rows = nl_batch_selection(batch);
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < stats->column_count; i++) {
        nl_arena *arena = nl_arena_new(stats->call->command->memory);
        status = add_values(&stats->columns[i], &batch->columns[i], rows, arena);
        if (!status) status = nl_arena_check(arena);
        nl_arena_free(arena);
    }
    return status;
}

static nl_status count_values(table_stats *self)
{
    nl_command *command = self->call->command;
    nl_ast_statement *statement = NULL;
    const nl_logical *plan = NULL;
    const nl_logical *optimized = NULL;
    sketch_consumer consumer = {.base.consume = consume, .stats = self};
    if (self->column_count == 0) return NULL;
    NL_TRY(nl_sql_parse(command->arena, query_text(self), NULL, &statement));
    NL_CHECK(statement->kind == NL_AST_STATEMENT_QUERY);
    NL_TRY(nl_analyze_query(&command->context, statement->query, &plan));
    NL_TRY(nl_command_optimize(command, plan, &optimized));
    return nl_query_run(&command->query, optimized, &consumer.base);
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

static nl_status write_blobs(const table_stats *self, nl_puffin_writer *writer, nl_blob_metadata *blobs)
{
    nl_arena *arena = self->call->command->arena;
    for (uint32_t i = 0; i < self->column_count; i++) {
        const column_sketch *column = &self->columns[i];
        int32_t *field = NL_NEW(arena, int32_t);
        nl_property *ndv = NL_NEW(arena, nl_property);
        *field = column->column->field->id;
        *ndv = (nl_property){NL_STR("ndv"), nl_arena_f(arena, "%lld", (long long)nl_theta_sketch_estimate(column->sketch))};
        const nl_puffin_property property = {ndv->key, ndv->value};
        nl_puffin_blob blob = {
            .type = NL_STR(SKETCH_BLOB),
            .fields = field,
            .field_count = 1,
            .snapshot_id = self->snapshot->snapshot_id,
            .sequence_number = self->snapshot->sequence_number,
            .codec = NL_CODEC_ZSTD,
            .properties = &property,
            .property_count = 1,
        };
        NL_TRY(nl_puffin_writer_add(writer, nl_theta_sketch_encode(column->sketch, arena), &blob));
        blobs[i] = (nl_blob_metadata){.type = blob.type,
                                      .snapshot_id = blob.snapshot_id,
                                      .sequence_number = blob.sequence_number,
                                      .fields = field,
                                      .field_count = 1,
                                      .properties = ndv,
                                      .property_count = 1};
    }
    return NULL;
}

static nl_status write_file(const table_stats *self, nl_statistics_file *file)
{
    nl_call *call = self->call;
    nl_arena *arena = call->command->arena;
    nl_output *output = NULL;
    nl_puffin_writer *writer = NULL;
    uint8_t uuid[16];
    char uuid_text[NL_UUID_TEXT_LENGTH];
    uint64_t file_bytes = 0, footer_bytes = 0;
    nl_blob_metadata *blobs = NL_NEW_ARRAY(arena, nl_blob_metadata, self->column_count);
    nl_uuid_new(uuid);
    nl_uuid_format(uuid, uuid_text);
    const nl_str name = nl_arena_f(arena, "%lld-%.*s.stats", (long long)self->snapshot->snapshot_id, NL_UUID_TEXT_LENGTH, uuid_text);
    *file = (nl_statistics_file){.snapshot_id = self->snapshot->snapshot_id,
                                 .path = nl_path_join(arena, nl_metadata_folder(arena, call->target.metadata), name),
                                 .blobs = blobs,
                                 .blob_count = self->column_count};
    NL_TRY(nl_fs_create(call->table->fs, file->path, &output));
    NL_TRY(nl_puffin_writer_create(output, call->command->memory, &writer));
    nl_status status = write_blobs(self, writer, blobs);
    if (status) {
        nl_puffin_writer_abort(writer);
        return status;
    }
    NL_TRY(nl_puffin_writer_close(writer, (nl_str){0}, &file_bytes, &footer_bytes));
    file->file_size_bytes = (int64_t)file_bytes;
    file->footer_size_bytes = (int64_t)footer_bytes;
    return NULL;
}

static nl_status apply_update(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    (void)base;
    (void)arena;
    return nl_metadata_builder_apply(builder, argument);
}

/* A commit that failed cleanly leaves no file behind. */
static nl_status commit_update(nl_call *call, nl_table_update *update, nl_str path)
{
    nl_status status = nl_table_change(call->table, apply_update, update);
    if (status && path.length && nl_error_kind_of(status) != NL_KIND_UNKNOWN_STATE) nl_error_free(nl_fs_remove(call->table->fs, path));
    return status;
}

nl_status nl_call_compute_table_stats(nl_call *call)
{
    table_stats self = {.call = call};
    nl_statistics_file file;
    NL_TRY(find_snapshot(call, 1, &self.snapshot));
    self.schema = self.snapshot ? nl_table_snapshot_schema(call->target.metadata, self.snapshot) : nl_table_schema(call->target.metadata);
    nl_status status = choose_columns(&self);
    if (!status && self.snapshot) {
        status = count_values(&self);
        if (!status) status = write_file(&self, &file);
    }
    for (uint32_t i = 0; i < self.column_count; i++)
        nl_theta_sketch_free(self.columns[i].sketch);
    if (status || !self.snapshot) return status;
    nl_table_update update = {.kind = NL_UPDATE_SET_STATISTICS, .statistics = &file};
    NL_TRY(commit_update(call, &update, file.path));
    return nl_rows_add_text(call->rows, &file.path);
}

nl_status nl_call_compute_partition_stats(nl_call *call)
{
    const nl_snapshot *snapshot = NULL;
    const nl_table_metadata *metadata = call->target.metadata;
    nl_partition_statistics_file file;
    bool is_partitioned = false, is_written = false;
    NL_TRY(find_snapshot(call, 1, &snapshot));
    if (!snapshot) return NULL;
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        is_partitioned = is_partitioned || metadata->specs[i]->field_count > 0;
    if (!is_partitioned) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Table must be partitioned");
    NL_TRY(nl_partition_stats_write(call->table, metadata, snapshot, call->command->arena, &file, &is_written));
    if (!is_written) return NULL;
    bool is_new = true;
    for (uint32_t i = 0; i < metadata->partition_statistics_count; i++)
        is_new = is_new && !nl_str_equal(metadata->partition_statistics[i].path, file.path);
    nl_table_update update = {.kind = NL_UPDATE_SET_PARTITION_STATISTICS, .partition_statistics = &file};
    if (is_new) NL_TRY(commit_update(call, &update, file.path));
    return nl_rows_add_text(call->rows, &file.path);
}
