/* iceberg/partition_stats.c - see partition_stats.h. Manifests are gone through one after the other; each gives a row per
 * distinct partition, rows of the same partition and spec are put together after sorting. Where an ancestor has a file, its rows
 * and what the snapshots since then added and deleted are put together instead: partitions that became empty stay in it.
 * Source: Java's PartitionStatsHandler and PartitionStats, whose columns, field ids and order these are. */
#include "iceberg/partition_stats.h"

#include <stdlib.h>

#include "base/uuid.h"
#include "format/parquet/parquet.h"
#include "iceberg/operation_private.h"

enum { COLUMN_SPEC_ID, COLUMN_DATA_RECORDS, COLUMN_DATA_FILES, COLUMN_DATA_BYTES, COLUMN_POSITION_RECORDS, COLUMN_POSITION_FILES,
       COLUMN_EQUALITY_RECORDS, COLUMN_EQUALITY_FILES, COLUMN_TOTAL_RECORDS, COLUMN_UPDATED_AT, COLUMN_UPDATED_BY, COLUMN_VECTORS, COLUMN_COUNT };

typedef struct column_row {
    const char *name;
    nl_ice_type_id type;
    bool is_required, is_required_v3;
} column_row;

static const column_row columns[COLUMN_COUNT] = {
    [COLUMN_SPEC_ID] = {"spec_id", NL_ICE_INT, true, true},
    [COLUMN_DATA_RECORDS] = {"data_record_count", NL_ICE_LONG, true, true},
    [COLUMN_DATA_FILES] = {"data_file_count", NL_ICE_INT, true, true},
    [COLUMN_DATA_BYTES] = {"total_data_file_size_in_bytes", NL_ICE_LONG, true, true},
    [COLUMN_POSITION_RECORDS] = {"position_delete_record_count", NL_ICE_LONG, false, true},
    [COLUMN_POSITION_FILES] = {"position_delete_file_count", NL_ICE_INT, false, true},
    [COLUMN_EQUALITY_RECORDS] = {"equality_delete_record_count", NL_ICE_LONG, false, true},
    [COLUMN_EQUALITY_FILES] = {"equality_delete_file_count", NL_ICE_INT, false, true},
    [COLUMN_TOTAL_RECORDS] = {"total_record_count", NL_ICE_LONG, false, false},
    [COLUMN_UPDATED_AT] = {"last_updated_at", NL_ICE_LONG, false, false},
    [COLUMN_UPDATED_BY] = {"last_updated_snapshot_id", NL_ICE_LONG, false, false},
    [COLUMN_VECTORS] = {"dv_count", NL_ICE_INT, true, true},
};

typedef struct stats_row {
    const nl_value *partition; /* in the shape of the union of all specs */
    int64_t numbers[COLUMN_COUNT]; /* NL_NONE: null */
} stats_row;

typedef struct stats_maker {
    nl_iceberg_table *table;
    const nl_table_metadata *metadata;
    const nl_ice_type *partition_type; /* the union */
    nl_arena *arena;
    nl_list rows;                      /* stats_row * */
    bool is_incremental;               /* manifests are those of later snapshots: only what they changed counts */
} stats_maker;

/* ---- gathering ------------------------------------------------------------------------------------------------- */

static void touch(const stats_maker *self, stats_row *row, int64_t snapshot_id)
{
    const nl_snapshot *snapshot = nl_table_snapshot(self->metadata, snapshot_id);
    if (!snapshot || (row->numbers[COLUMN_UPDATED_BY] != NL_NONE && row->numbers[COLUMN_UPDATED_AT] >= snapshot->timestamp_ms)) return;
    row->numbers[COLUMN_UPDATED_AT] = snapshot->timestamp_ms;
    row->numbers[COLUMN_UPDATED_BY] = snapshot->snapshot_id;
}

/* sign: 1 for a file that is there, -1 for one that went. */
static void count_file(stats_row *row, const nl_data_file *file, int64_t sign)
{
    switch (file->content) {
    case NL_CONTENT_DATA:
        row->numbers[COLUMN_DATA_RECORDS] += sign * file->record_count;
        row->numbers[COLUMN_DATA_FILES] += sign;
        row->numbers[COLUMN_DATA_BYTES] += sign * file->file_size_bytes;
        break;
    case NL_CONTENT_POSITION_DELETES:
        row->numbers[COLUMN_POSITION_RECORDS] += sign * file->record_count;
        row->numbers[nl_data_file_is_deletion_vector(file) ? COLUMN_VECTORS : COLUMN_POSITION_FILES] += sign;
        break;
    case NL_CONTENT_EQUALITY_DELETES:
        row->numbers[COLUMN_EQUALITY_RECORDS] += sign * file->record_count;
        row->numbers[COLUMN_EQUALITY_FILES] += sign;
        break;
    }
}

static stats_row *new_row(stats_maker *self)
{
    stats_row *row = NL_NEW(self->arena, stats_row);
    row->numbers[COLUMN_TOTAL_RECORDS] = row->numbers[COLUMN_UPDATED_AT] = row->numbers[COLUMN_UPDATED_BY] = NL_NONE;
    nl_list_add(self->arena, &self->rows, row);
    return row;
}

/* A spec's tuple in the shape of the union; fields of other specs are null. */
static const nl_value *union_tuple(const stats_maker *self, const nl_partition_spec *spec, const nl_value *values)
{
    nl_value *tuple = NL_NEW_ARRAY(self->arena, nl_value, self->partition_type->field_count);
    for (uint32_t i = 0; i < self->partition_type->field_count; i++) {
        const nl_ice_field *field = &self->partition_type->fields[i];
        const nl_type *type = nl_ice_type_storage(self->arena, field->type);
        tuple[i] = nl_value_null(type);
        for (uint32_t j = 0; values && j < spec->field_count; j++)
            if (spec->fields[j].field_id == field->id) {
                tuple[i] = nl_value_copy(self->arena, &values[j]);
                tuple[i].type = type;
            }
    }
    return tuple;
}

static nl_status add_manifest(stats_maker *self, const nl_manifest_file *listed)
{
    const nl_manifest *manifest = NULL;
    const nl_partition_spec *spec = nl_table_spec_by_id(self->metadata, listed->spec_id);
    if (!spec) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find partition spec %d of manifest " NL_STR_FMT, listed->spec_id, NL_STR_ARG(listed->path));
    NL_TRY_NOTE(nl_manifest_cache_read(self->table->manifest_cache, self->table->fs, listed, self->table->memory, &manifest), "reading manifest " NL_STR_FMT,
                NL_STR_ARG(listed->path));
    stats_row **made = NL_NEW_ARRAY(self->arena, stats_row *, manifest->partition_count + 1);
    for (uint32_t i = 0; i < manifest->entry_count; i++) {
        const nl_manifest_entry *entry = &manifest->entries[i];
        if (self->is_incremental && entry->status == NL_ENTRY_EXISTING) continue;
        stats_row *row = made[entry->partition_index];
        if (!row) {
            row = made[entry->partition_index] = new_row(self);
            row->partition = union_tuple(self, spec, entry->file.partition);
            row->numbers[COLUMN_SPEC_ID] = spec->spec_id;
        }
        touch(self, row, entry->snapshot_id);
        if (nl_manifest_entry_is_live(entry)) count_file(row, &entry->file, 1);
        else if (self->is_incremental) count_file(row, &entry->file, -1);
    }
    nl_manifest_release(manifest);
    return nl_arena_check(self->arena);
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const nl_ice_type *type = context;
    const stats_row *left = *(stats_row *const *)a, *right = *(stats_row *const *)b;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const nl_value *x = &left->partition[i], *y = &right->partition[i];
        const int order = x->is_null || y->is_null ? (int)y->is_null - (int)x->is_null : nl_value_compare(x, y);
        if (order != 0) return order;
    }
    const int64_t one = left->numbers[COLUMN_SPEC_ID], other = right->numbers[COLUMN_SPEC_ID];
    return (one > other) - (one < other);
}

static void merge_row(stats_row *into, const stats_row *from)
{
    for (uint32_t i = COLUMN_DATA_RECORDS; i <= COLUMN_EQUALITY_FILES; i++)
        into->numbers[i] += from->numbers[i];
    into->numbers[COLUMN_VECTORS] += from->numbers[COLUMN_VECTORS];
    if (from->numbers[COLUMN_UPDATED_BY] == NL_NONE) return;
    if (into->numbers[COLUMN_UPDATED_BY] != NL_NONE && into->numbers[COLUMN_UPDATED_AT] >= from->numbers[COLUMN_UPDATED_AT]) return;
    into->numbers[COLUMN_UPDATED_AT] = from->numbers[COLUMN_UPDATED_AT];
    into->numbers[COLUMN_UPDATED_BY] = from->numbers[COLUMN_UPDATED_BY];
}

static void merge_rows(stats_maker *self)
{
    uint32_t count = 0;
    void **rows = self->rows.items;
    if (self->rows.count > 1) qsort_r(rows, self->rows.count, sizeof(*rows), compare_rows, (void *)(uintptr_t)self->partition_type);
    for (uint32_t i = 0; i < self->rows.count; i++) {
        if (count > 0 && compare_rows(&rows[count - 1], &rows[i], (void *)(uintptr_t)self->partition_type) == 0)
            merge_row(rows[count - 1], rows[i]);
        else
            rows[count++] = rows[i];
    }
    self->rows.count = count;
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

static uint32_t column_count_of(const stats_maker *self)
{
    return self->metadata->format_version >= 3 ? COLUMN_COUNT : COLUMN_VECTORS;
}

/* The spec's ids: partition is 1, then the columns in order. */
static nl_status make_schema(const stats_maker *self, const nl_schema **schema)
{
    nl_ice_field fields[COLUMN_COUNT + 1] = {{.id = 1, .name = NL_STR("partition"), .is_required = true, .type = self->partition_type}};
    const uint32_t count = column_count_of(self);
    for (uint32_t i = 0; i < count; i++)
        fields[i + 1] = (nl_ice_field){.id = (int32_t)i + 2,
                                       .name = nl_str_from(columns[i].name),
                                       .is_required = self->metadata->format_version >= 3 ? columns[i].is_required_v3 : columns[i].is_required,
                                       .type = nl_ice_type_of(columns[i].type)};
    if (count == COLUMN_COUNT) { /* files of before v3 count as having no vectors */
        nl_value *zero = NL_NEW(self->arena, nl_value);
        *zero = nl_value_int(nl_type_int(), 0);
        fields[count].initial_default = fields[count].write_default = zero;
    }
    return nl_schema_new(self->arena, 0, nl_ice_type_struct(self->arena, fields, count + 1), NULL, 0, schema);
}

/* Types as Parquet stores them, with the partition's values as manifests give them. */
static const nl_type *make_row_type(const stats_maker *self, const nl_schema *schema, nl_parquet_write_options *options)
{
    const nl_ice_type *partition = self->partition_type;
    nl_field *parts = NL_NEW_ARRAY(self->arena, nl_field, partition->field_count);
    nl_parquet_column_options *stored = NL_NEW_ARRAY(self->arena, nl_parquet_column_options, partition->field_count);
    for (uint32_t i = 0; i < partition->field_count; i++) {
        const nl_ice_field *field = &partition->fields[i];
        parts[i] = (nl_field){.name = field->name, .type = nl_ice_type_storage(self->arena, field->type), .is_nullable = true, .field_id = field->id};
        stored[i] = (nl_parquet_column_options){.field_id = field->id, .fixed_length = field->type->length};
        if (field->type->id == NL_ICE_UUID) stored[i].stored = NL_PARQUET_STORED_UUID;
        if (field->type->id == NL_ICE_FIXED) stored[i].stored = NL_PARQUET_STORED_FIXED;
        if (field->type->id == NL_ICE_TIME) stored[i].stored = NL_PARQUET_STORED_TIME_MICROS;
    }
    options->columns = stored;
    options->column_count = partition->field_count;
    nl_field fields[COLUMN_COUNT + 1] = {{.name = NL_STR("partition"), .type = nl_type_struct(self->arena, parts, partition->field_count), .field_id = 1}};
    for (uint32_t i = 1; i < schema->root->field_count; i++) {
        const nl_ice_field *field = &schema->root->fields[i];
        fields[i] = (nl_field){.name = field->name, .type = nl_ice_type_storage(self->arena, field->type), .is_nullable = !field->is_required, .field_id = field->id};
    }
    return nl_type_struct(self->arena, fields, schema->root->field_count);
}

static nl_status append_column(const stats_maker *self, const nl_type *type, uint32_t column, uint32_t start, uint32_t count, nl_column_builder *builder)
{
    for (uint32_t i = start; i < start + count; i++) {
        const stats_row *row = self->rows.items[i];
        if (column == 0) {
            const nl_value tuple = {.type = type, .list = {(nl_value *)(uintptr_t)row->partition, type->child_count}};
            NL_TRY(nl_column_builder_value(builder, &tuple));
        } else if (row->numbers[column - 1] == NL_NONE) {
            NL_TRY(nl_column_builder_null(builder));
        } else {
            NL_TRY(nl_column_builder_i64(builder, row->numbers[column - 1]));
        }
    }
    return NULL;
}

static nl_status append_rows(const stats_maker *self, const nl_type *row_type, uint32_t start, uint32_t count, nl_parquet_writer *writer)
{
    nl_batch batch;
    NL_TRY(nl_batch_init(&batch, row_type->child_count, count));
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < row_type->child_count; i++) {
        nl_column_builder *builder = NULL;
        status = nl_column_builder_new(row_type->children[i].type, self->table->memory, &builder);
        if (!status) status = append_column(self, row_type->children[i].type, i, start, count, builder);
        if (!status) status = nl_column_builder_finish(builder, &batch.columns[i]);
        nl_column_builder_free(builder);
    }
    if (!status) status = nl_parquet_writer_append(writer, &batch);
    nl_batch_fini(&batch);
    return status;
}

static nl_status write_rows(const stats_maker *self, nl_str path, int64_t *file_bytes)
{
    const nl_schema *schema = NULL;
    nl_output *output = NULL;
    nl_parquet_writer *writer = NULL;
    nl_parquet_written written;
    nl_builder json;
    nl_parquet_write_options options = nl_parquet_write_options_default();
    options.codec = NL_PARQUET_GZIP; /* Java writes it with Parquet's defaults, whatever the table's properties */
    NL_TRY(make_schema(self, &schema));
    nl_builder_init(&json, NL_METADATA_BYTES_MAX);
    nl_schema_append_json(schema, &json);
    const nl_parquet_key_value key_values[] = {{NL_STR("iceberg.schema"), nl_arena_str(self->arena, nl_builder_str(&json))}};
    nl_builder_fini(&json);
    options.key_values = key_values;
    options.key_value_count = NL_COUNT(key_values);
    const nl_type *row_type = make_row_type(self, schema, &options);
    NL_TRY(nl_fs_create(self->table->fs, path, &output));
    NL_TRY(nl_parquet_writer_create(output, row_type, &options, self->table->memory, &writer));
    nl_status status = NULL;
    for (uint32_t start = 0; !status && start < self->rows.count; start += NL_BATCH_ROWS)
        status = append_rows(self, row_type, start, NL_MIN(self->rows.count - start, NL_BATCH_ROWS), writer);
    if (status) {
        nl_parquet_writer_abort(writer);
        return status;
    }
    NL_TRY(nl_parquet_writer_close(writer, self->arena, &written));
    *file_bytes = (int64_t)written.file_bytes;
    return NULL;
}

/* ---- an earlier file ------------------------------------------------------------------------------------------- */

static void read_row(stats_maker *self, const nl_batch *batch, uint32_t at)
{
    const nl_value tuple = nl_vector_value(&batch->columns[0], at, self->arena);
    stats_row *row = new_row(self);
    nl_value *partition = NL_NEW_ARRAY(self->arena, nl_value, self->partition_type->field_count);
    for (uint32_t i = 0; i < self->partition_type->field_count; i++)
        partition[i] = tuple.is_null ? nl_value_null(nl_ice_type_storage(self->arena, self->partition_type->fields[i].type)) : nl_value_copy(self->arena, &tuple.list.items[i]);
    row->partition = partition;
    for (uint32_t i = 0; i + 1 < batch->column_count; i++) {
        const nl_value number = nl_vector_value(&batch->columns[i + 1], at, self->arena);
        if (!number.is_null) row->numbers[i] = number.integer;
    }
}

static nl_status read_rows(stats_maker *self, const nl_parquet_footer *footer, nl_parquet_reader *reader)
{
    for (uint32_t group = 0; group < footer->row_group_count; group++) {
        nl_parquet_scan *scan = NULL;
        nl_status status = nl_parquet_scan_open(reader, group, NULL, 0, self->table->memory, &scan);
        for (bool is_done = false; !status && !is_done;) {
            nl_batch batch = {0};
            status = nl_parquet_scan_next(scan, &batch);
            is_done = batch.row_count == 0;
            for (uint32_t i = 0; !status && i < batch.row_count; i++)
                read_row(self, &batch, i);
            nl_batch_fini(&batch);
            if (!status) status = nl_arena_check(self->arena);
        }
        nl_parquet_scan_close(scan);
        NL_TRY(status);
    }
    return NULL;
}

static nl_status read_stats(stats_maker *self, nl_str path)
{
    const nl_schema *schema = NULL;
    nl_parquet_write_options unused = {0};
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_FIELD_ID};
    nl_file *file = NULL;
    nl_parquet_footer *footer = NULL;
    nl_parquet_reader *reader = NULL;
    NL_TRY(make_schema(self, &schema));
    const nl_type *row_type = make_row_type(self, schema, &unused);
    NL_TRY(nl_fs_open(self->table->fs, path, &file));
    nl_status status = nl_parquet_footer_read(file, self->table->memory, &footer);
    if (!status) status = nl_parquet_reader_open(file, footer, row_type, &options, self->table->memory, &reader);
    if (!status) status = read_rows(self, footer, reader);
    nl_parquet_reader_release(reader);
    nl_parquet_footer_release(footer);
    nl_file_close(file);
    return status;
}

static const nl_partition_statistics_file *stats_of(const nl_table_metadata *metadata, int64_t snapshot_id)
{
    for (uint32_t i = 0; i < metadata->partition_statistics_count; i++)
        if (metadata->partition_statistics[i].snapshot_id == snapshot_id) return &metadata->partition_statistics[i];
    return NULL;
}

static const nl_snapshot *parent_of(const nl_table_metadata *metadata, const nl_snapshot *snapshot)
{
    return snapshot->parent_id == NL_NONE ? NULL : nl_table_snapshot(metadata, snapshot->parent_id);
}

/* What a snapshot's own manifests say of its changes. */
static nl_status add_changes(stats_maker *self, const nl_snapshot *snapshot)
{
    const nl_manifest_file *manifests = NULL;
    uint32_t manifest_count = 0;
    NL_TRY(nl_snapshot_manifests(self->table->fs, snapshot, self->table->memory, self->arena, &manifests, &manifest_count));
    for (uint32_t i = 0; i < manifest_count; i++)
        if (manifests[i].added_snapshot_id == snapshot->snapshot_id) NL_TRY(add_manifest(self, &manifests[i]));
    return NULL;
}

/* *is_done false: no ancestor has a file that can be read, and all is counted anew. */
static nl_status go_on(stats_maker *self, const nl_snapshot *snapshot, bool *is_done)
{
    const nl_snapshot *start = parent_of(self->metadata, snapshot);
    uint32_t step = 0;
    *is_done = false;
    while (start && !stats_of(self->metadata, start->snapshot_id) && step++ < self->metadata->snapshot_count)
        start = parent_of(self->metadata, start);
    const nl_partition_statistics_file *earlier = start ? stats_of(self->metadata, start->snapshot_id) : NULL;
    if (!earlier) return NULL;
    nl_error *error = read_stats(self, earlier->path);
    if (error) { /* damaged, gone, or of another format */
        nl_error_free(error);
        self->rows = (nl_list){0};
        return NULL;
    }
    self->is_incremental = true;
    for (const nl_snapshot *at = snapshot; at && at != start; at = parent_of(self->metadata, at))
        NL_TRY(add_changes(self, at));
    *is_done = true;
    return NULL;
}

static nl_status check_format(const nl_table_metadata *metadata)
{
    const nl_str format = nl_table_property(metadata, "write.format.default", "parquet");
    if (nl_str_is_nocase(format, "parquet")) return NULL;
    if (nl_str_is_nocase(format, "orc")) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot write using unregistered internal data format: ORC");
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas writes partition statistics as Parquet only, and the table's write.format.default is " NL_STR_FMT, NL_STR_ARG(format));
}

static nl_status make_stats(stats_maker *self, const nl_snapshot *snapshot, nl_arena *arena, nl_partition_statistics_file *file, bool *is_written)
{
    const nl_manifest_file *manifests = NULL;
    uint32_t manifest_count = 0;
    uint8_t uuid[16];
    char uuid_text[NL_UUID_TEXT_LENGTH];
    bool is_done = false;
    NL_TRY(nl_table_partition_type_union(self->arena, self->metadata, &self->partition_type));
    NL_TRY(go_on(self, snapshot, &is_done));
    if (!is_done) NL_TRY(nl_table_explain_moved(self->metadata, nl_snapshot_manifests(self->table->fs, snapshot, self->table->memory, self->arena, &manifests, &manifest_count)));
    for (uint32_t i = 0; i < manifest_count; i++)
        NL_TRY(add_manifest(self, &manifests[i]));
    merge_rows(self);
    *is_written = self->rows.count > 0;
    if (!*is_written) return NULL;
    NL_TRY(check_format(self->metadata));
    nl_uuid_new(uuid);
    nl_uuid_format(uuid, uuid_text);
    const nl_str name = nl_arena_f(self->arena, "partition-stats-%lld-%.*s.parquet", (long long)snapshot->snapshot_id, NL_UUID_TEXT_LENGTH, uuid_text);
    *file = (nl_partition_statistics_file){.snapshot_id = snapshot->snapshot_id, .path = nl_path_join(arena, nl_metadata_folder(arena, self->metadata), name)};
    return write_rows(self, file->path, &file->file_size_bytes);
}

nl_status nl_partition_stats_write(nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_snapshot *snapshot, nl_arena *arena,
                                   nl_partition_statistics_file *file, bool *is_written)
{
    for (uint32_t i = 0; i < metadata->partition_statistics_count; i++)
        if (metadata->partition_statistics[i].snapshot_id == snapshot->snapshot_id) {
            *file = metadata->partition_statistics[i];
            file->path = nl_arena_str(arena, file->path);
            *is_written = true;
            return NULL;
        }
    stats_maker self = {.table = table, .metadata = metadata, .arena = nl_arena_new(table->memory)};
    nl_status status = make_stats(&self, snapshot, arena, file, is_written);
    nl_arena_free(self.arena);
    return status;
}
