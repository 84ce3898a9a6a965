/* exec/source/metadata_files.c - the metadata tables that come from manifests: files, entries, partitions. */
#include "exec/source/metadata_table.h"

#include <stdlib.h>

#include "base/hash.h"

/* ---- row types ------------------------------------------------------------------------------------------------- */

typedef struct leaf_column { /* a primitive column, for readable_metrics */
    nl_str full_name;
    int32_t field_id;
    const nl_ice_type *type;
} leaf_column;

static int compare_leaves(const void *a, const void *b)
{
    return nl_str_compare(((const leaf_column *)a)->full_name, ((const leaf_column *)b)->full_name);
}

/* Primitive columns by full name. */
static leaf_column *sorted_leaves(const nl_metadata_table *self, nl_arena *arena, uint32_t *count)
{
    const nl_schema *schema = nl_table_schema(self->metadata);
    leaf_column *leaves = NL_NEW_ARRAY(arena, leaf_column, schema->column_count);
    *count = 0;
    for (uint32_t i = 0; i < schema->column_count; i++)
        if (!nl_ice_type_is_nested(schema->columns[i].field->type))
            leaves[(*count)++] = (leaf_column){schema->columns[i].full_name, schema->columns[i].field->id, schema->columns[i].field->type};
    qsort(leaves, *count, sizeof(*leaves), compare_leaves);
    return leaves;
}

static nl_status metrics_type(nl_metadata_table *self, const nl_type **type)
{
    uint32_t count;
    leaf_column *leaves = sorted_leaves(self, self->arena, &count);
    nl_field *fields = NL_NEW_ARRAY(self->arena, nl_field, count);
    static const char *const counts[] = {"column_size", "value_count", "null_value_count", "nan_value_count"};
    for (uint32_t i = 0; i < count; i++) {
        nl_field parts[6];
        const nl_type *sql = NULL;
        NL_TRY(nl_ice_type_to_sql(self->arena, leaves[i].type, &sql));
        for (uint32_t j = 0; j < NL_COUNT(counts); j++)
            parts[j] = (nl_field){.name = nl_str_from(counts[j]), .type = nl_type_bigint(), .is_nullable = true};
        parts[4] = (nl_field){.name = NL_STR("lower_bound"), .type = sql, .is_nullable = true};
        parts[5] = (nl_field){.name = NL_STR("upper_bound"), .type = sql, .is_nullable = true};
        fields[i] = (nl_field){.name = leaves[i].full_name, .type = nl_type_struct(self->arena, parts, NL_COUNT(parts)), .is_nullable = true};
    }
    *type = nl_type_struct(self->arena, fields, count);
    return NULL;
}

enum { /* the columns of a file, in order; PARTITION is left out of unpartitioned tables */
    FILE_CONTENT, FILE_PATH, FILE_FORMAT, FILE_SPEC_ID, FILE_PARTITION, FILE_RECORD_COUNT, FILE_SIZE, FILE_COLUMN_SIZES, FILE_VALUE_COUNTS,
    FILE_NULL_COUNTS, FILE_NAN_COUNTS, FILE_LOWER, FILE_UPPER, FILE_KEY_METADATA, FILE_SPLIT_OFFSETS, FILE_EQUALITY_IDS, FILE_SORT_ORDER, FILE_FIRST_ROW_ID,
    FILE_REFERENCED, FILE_CONTENT_OFFSET, FILE_CONTENT_SIZE, FILE_METRICS, FILE_COLUMNS
};

/* What DESCRIBE says of them: Iceberg's own words. */
static const char *const file_comments[] = {
    [FILE_CONTENT] = "Contents of the file: 0=data, 1=position deletes, 2=equality deletes",
    [FILE_PATH] = "Location URI with FS scheme",
    [FILE_FORMAT] = "File format name: avro, orc, or parquet",
    [FILE_SPEC_ID] = "Partition spec ID",
    [FILE_PARTITION] = "Partition data tuple, schema based on the partition spec",
    [FILE_RECORD_COUNT] = "Number of records in the file",
    [FILE_SIZE] = "Total file size in bytes",
    [FILE_COLUMN_SIZES] = "Map of column id to total size on disk",
    [FILE_VALUE_COUNTS] = "Map of column id to total count, including null and NaN",
    [FILE_NULL_COUNTS] = "Map of column id to null value count",
    [FILE_NAN_COUNTS] = "Map of column id to number of NaN values in the column",
    [FILE_LOWER] = "Map of column id to lower bound",
    [FILE_UPPER] = "Map of column id to upper bound",
    [FILE_KEY_METADATA] = "Encryption key metadata blob",
    [FILE_SPLIT_OFFSETS] = "Splittable offsets",
    [FILE_EQUALITY_IDS] = "Equality comparison field IDs",
    [FILE_SORT_ORDER] = "Sort order ID",
    [FILE_FIRST_ROW_ID] = "The first row ID assigned to the first row in the data file",
    [FILE_REFERENCED] = "Fully qualified location (URI with FS scheme) of a data file that all deletes reference",
    [FILE_CONTENT_OFFSET] = "The offset in the file where the content starts",
    [FILE_CONTENT_SIZE] = "The length of referenced content stored in the file",
};

static uint32_t file_fields(nl_metadata_table *self, nl_field *fields)
{
    nl_arena *arena = self->arena;
    const nl_type *counts = nl_type_map(arena, nl_type_int(), nl_type_bigint(), false);
    const nl_type *bounds = nl_type_map(arena, nl_type_int(), nl_type_binary(), false);
    const nl_field all[] = {
        [FILE_CONTENT] = {.name = NL_STR("content"), .type = nl_type_int(), .is_nullable = true},
        [FILE_PATH] = {.name = NL_STR("file_path"), .type = nl_type_string(), .is_nullable = false},
        [FILE_FORMAT] = {.name = NL_STR("file_format"), .type = nl_type_string(), .is_nullable = false},
        [FILE_SPEC_ID] = {.name = NL_STR("spec_id"), .type = nl_type_int(), .is_nullable = true},
        [FILE_PARTITION] = {.name = NL_STR("partition"), .type = self->partition_type, .is_nullable = true},
        [FILE_RECORD_COUNT] = {.name = NL_STR("record_count"), .type = nl_type_bigint(), .is_nullable = false},
        [FILE_SIZE] = {.name = NL_STR("file_size_in_bytes"), .type = nl_type_bigint(), .is_nullable = false},
        [FILE_COLUMN_SIZES] = {.name = NL_STR("column_sizes"), .type = counts, .is_nullable = true},
        [FILE_VALUE_COUNTS] = {.name = NL_STR("value_counts"), .type = counts, .is_nullable = true},
        [FILE_NULL_COUNTS] = {.name = NL_STR("null_value_counts"), .type = counts, .is_nullable = true},
        [FILE_NAN_COUNTS] = {.name = NL_STR("nan_value_counts"), .type = counts, .is_nullable = true},
        [FILE_LOWER] = {.name = NL_STR("lower_bounds"), .type = bounds, .is_nullable = true},
        [FILE_UPPER] = {.name = NL_STR("upper_bounds"), .type = bounds, .is_nullable = true},
        [FILE_KEY_METADATA] = {.name = NL_STR("key_metadata"), .type = nl_type_binary(), .is_nullable = true},
        [FILE_SPLIT_OFFSETS] = {.name = NL_STR("split_offsets"), .type = nl_type_array(arena, nl_type_bigint(), false), .is_nullable = true},
        [FILE_EQUALITY_IDS] = {.name = NL_STR("equality_ids"), .type = nl_type_array(arena, nl_type_int(), false), .is_nullable = true},
        [FILE_SORT_ORDER] = {.name = NL_STR("sort_order_id"), .type = nl_type_int(), .is_nullable = true},
        [FILE_FIRST_ROW_ID] = {.name = NL_STR("first_row_id"), .type = nl_type_bigint(), .is_nullable = true},
        [FILE_REFERENCED] = {.name = NL_STR("referenced_data_file"), .type = nl_type_string(), .is_nullable = true},
        [FILE_CONTENT_OFFSET] = {.name = NL_STR("content_offset"), .type = nl_type_bigint(), .is_nullable = true},
        [FILE_CONTENT_SIZE] = {.name = NL_STR("content_size_in_bytes"), .type = nl_type_bigint(), .is_nullable = true},
    };
    uint32_t count = 0;
    for (uint32_t i = 0; i < NL_COUNT(all); i++)
        if (i != FILE_PARTITION || self->has_partition) {
            fields[count] = all[i];
            fields[count++].comment = nl_str_from(file_comments[i]);
        }
    return count;
}

nl_status nl_files_type(nl_metadata_table *self, const nl_type **type)
{
    nl_field fields[FILE_COLUMNS];
    uint32_t count = file_fields(self, fields);
    fields[count] = (nl_field){.name = NL_STR("readable_metrics"), .is_nullable = true, .comment = NL_STR("Column metrics in readable form")};
    NL_TRY(metrics_type(self, &fields[count].type));
    *type = nl_type_struct(self->arena, fields, count + 1);
    return NULL;
}

nl_status nl_entries_type(nl_metadata_table *self, const nl_type **type)
{
    nl_field file[FILE_COLUMNS];
    const uint32_t count = file_fields(self, file);
    nl_field fields[] = {
        {.name = NL_STR("status"), .type = nl_type_int()},
        {.name = NL_STR("snapshot_id"), .type = nl_type_bigint(), .is_nullable = true},
        {.name = NL_STR("sequence_number"), .type = nl_type_bigint(), .is_nullable = true},
        {.name = NL_STR("file_sequence_number"), .type = nl_type_bigint(), .is_nullable = true},
        {.name = NL_STR("data_file"), .type = nl_type_struct(self->arena, file, count)},
        {.name = NL_STR("readable_metrics"), .is_nullable = true, .comment = NL_STR("Column metrics in readable form")},
    };
    NL_TRY(metrics_type(self, &fields[5].type));
    *type = nl_type_struct(self->arena, fields, NL_COUNT(fields));
    return NULL;
}

/* ---- one file -------------------------------------------------------------------------------------------------- */

nl_value nl_metadata_partition(const nl_metadata_table *self, const nl_partition_spec *spec, const nl_value *values, nl_arena *arena)
{
    nl_value *items = NL_NEW_ARRAY(arena, nl_value, self->partition_type->child_count);
    for (uint32_t i = 0; i < self->partition_type->child_count; i++) {
        items[i] = nl_value_null(self->partition_type->children[i].type);
        for (uint32_t j = 0; values && j < spec->field_count; j++)
            if (spec->fields[j].field_id == self->partition_union->fields[i].id) {
                items[i] = values[j];
                items[i].type = self->partition_type->children[i].type;
            }
    }
    return (nl_value){.type = self->partition_type, .list = {items, self->partition_type->child_count}};
}

static nl_status append_counts(nl_column_builder *builder, const nl_metric_map *map)
{
    int32_t field_id;
    int64_t value;
    if (!map->data) return nl_column_builder_null(builder);
    for (nl_metric_iterator at = nl_metric_begin(map); nl_metric_next(&at, &field_id, &value);) {
        NL_TRY(nl_column_builder_i64(nl_column_builder_child(builder, 0), field_id));
        NL_TRY(nl_column_builder_i64(nl_column_builder_child(builder, 1), value));
    }
    return nl_column_builder_end_list(builder, map->count);
}

static nl_status append_bounds(nl_column_builder *builder, const nl_metric_map *map)
{
    int32_t field_id;
    nl_bytes value;
    if (!map->data) return nl_column_builder_null(builder);
    for (nl_metric_iterator at = nl_metric_begin(map); nl_bound_next(&at, &field_id, &value);) {
        NL_TRY(nl_column_builder_i64(nl_column_builder_child(builder, 0), field_id));
        NL_TRY(nl_column_builder_str(nl_column_builder_child(builder, 1), (nl_str){(const char *)value.data, value.length}));
    }
    return nl_column_builder_end_list(builder, map->count);
}

static nl_status append_longs(nl_column_builder *builder, const int64_t *values, uint32_t count)
{
    if (count == 0) return nl_column_builder_null(builder);
    for (uint32_t i = 0; i < count; i++)
        NL_TRY(nl_column_builder_i64(nl_column_builder_child(builder, 0), values[i]));
    return nl_column_builder_end_list(builder, count);
}

static nl_status append_ids(nl_column_builder *builder, const int32_t *values, uint32_t count)
{
    if (count == 0) return nl_column_builder_null(builder);
    for (uint32_t i = 0; i < count; i++)
        NL_TRY(nl_column_builder_i64(nl_column_builder_child(builder, 0), values[i]));
    return nl_column_builder_end_list(builder, count);
}

static nl_status append_text(nl_column_builder *builder, nl_str text)
{
    return text.length ? nl_column_builder_str(builder, text) : nl_column_builder_null(builder);
}

static nl_status append_file_column(const nl_metadata_table *self, const nl_partition_spec *spec, const nl_data_file *file, uint32_t column,
                                    nl_column_builder *builder, nl_arena *arena)
{
    switch (column) {
    case FILE_CONTENT: return nl_column_builder_i64(builder, file->content);
    case FILE_PATH: return nl_column_builder_str(builder, file->path);
    case FILE_FORMAT: return nl_column_builder_str(builder, nl_str_from(nl_file_format_name(file->format)));
    case FILE_SPEC_ID: return nl_column_builder_i64(builder, spec->spec_id);
    case FILE_PARTITION: {
        const nl_value value = nl_metadata_partition(self, spec, file->partition, arena);
        return nl_column_builder_value(builder, &value);
    }
    case FILE_RECORD_COUNT: return nl_column_builder_i64(builder, file->record_count);
    case FILE_SIZE: return nl_column_builder_i64(builder, file->file_size_bytes);
    case FILE_COLUMN_SIZES: return append_counts(builder, &file->column_sizes);
    case FILE_VALUE_COUNTS: return append_counts(builder, &file->value_counts);
    case FILE_NULL_COUNTS: return append_counts(builder, &file->null_value_counts);
    case FILE_NAN_COUNTS: return append_counts(builder, &file->nan_value_counts);
    case FILE_LOWER: return append_bounds(builder, &file->lower_bounds);
    case FILE_UPPER: return append_bounds(builder, &file->upper_bounds);
    case FILE_KEY_METADATA: return append_text(builder, (nl_str){(const char *)file->key_metadata.data, file->key_metadata.length});
    case FILE_SPLIT_OFFSETS: return append_longs(builder, file->split_offsets, file->split_offset_count);
    case FILE_EQUALITY_IDS: return append_ids(builder, file->equality_ids, file->equality_id_count);
    case FILE_SORT_ORDER: return nl_builder_optional(builder, file->sort_order_id);
    case FILE_FIRST_ROW_ID: return nl_builder_optional(builder, file->first_row_id);
    case FILE_REFERENCED: return append_text(builder, file->referenced_data_file);
    case FILE_CONTENT_OFFSET: return nl_builder_optional(builder, file->content_offset);
    default: return nl_builder_optional(builder, file->content_size_bytes);
    }
}

static nl_status append_metric(nl_column_builder *builder, const nl_metric_map *map, int32_t field_id)
{
    int64_t value;
    return nl_metric_find(map, field_id, &value) ? nl_column_builder_i64(builder, value) : nl_column_builder_null(builder);
}

static nl_status append_readable_bound(nl_column_builder *builder, const nl_metric_map *map, const leaf_column *leaf, nl_arena *arena)
{
    nl_bytes bytes;
    nl_value value;
    if (!nl_bound_find(map, leaf->field_id, &bytes)) return nl_column_builder_null(builder);
    NL_TRY(nl_single_value_decode(leaf->type, bytes, arena, &value));
    if (leaf->type->id != NL_ICE_UUID || value.is_null) return nl_column_builder_value(builder, &value);
    nl_builder text; /* uuid is shown as text */
    nl_builder_init(&text, 64);
    nl_uuid_append(value.text, &text);
    nl_status status = nl_column_builder_str(builder, nl_builder_str(&text));
    nl_builder_fini(&text);
    return status;
}

static nl_status append_metrics(const leaf_column *leaves, uint32_t count, const nl_data_file *file, nl_column_builder *builder, nl_arena *arena)
{
    for (uint32_t i = 0; i < count; i++) {
        nl_column_builder *row = nl_column_builder_child(builder, i);
        NL_TRY(append_metric(nl_column_builder_child(row, 0), &file->column_sizes, leaves[i].field_id));
        NL_TRY(append_metric(nl_column_builder_child(row, 1), &file->value_counts, leaves[i].field_id));
        NL_TRY(append_metric(nl_column_builder_child(row, 2), &file->null_value_counts, leaves[i].field_id));
        NL_TRY(append_metric(nl_column_builder_child(row, 3), &file->nan_value_counts, leaves[i].field_id));
        NL_TRY(append_readable_bound(nl_column_builder_child(row, 4), &file->lower_bounds, &leaves[i], arena));
        NL_TRY(append_readable_bound(nl_column_builder_child(row, 5), &file->upper_bounds, &leaves[i], arena));
        NL_TRY(nl_column_builder_end_struct(row));
    }
    return nl_column_builder_end_struct(builder);
}

/* ---- files and entries ----------------------------------------------------------------------------------------- */

static nl_status read_part(const nl_metadata_table *self, nl_query *query, uint32_t part, const nl_manifest **manifest)
{
    return nl_note_if(nl_manifest_cache_read(self->table->manifest_cache, self->table->fs, &self->manifests[part], query->memory, manifest), NL_HERE,
                      "reading manifest " NL_STR_FMT, NL_STR_ARG(self->manifests[part].path));
}

static nl_status append_file_row(const nl_metadata_table *self, const nl_manifest *manifest, const nl_data_file *file, const leaf_column *leaves,
                                 uint32_t leaf_count, const bool *wanted, nl_column_builder **builders, nl_arena *arena)
{
    uint32_t at = 0;
    for (uint32_t column = 0; column < FILE_METRICS; column++) {
        if (column == FILE_PARTITION && !self->has_partition) continue;
        NL_TRY(wanted[at] ? append_file_column(self, manifest->spec, file, column, builders[at], arena) : nl_column_builder_null(builders[at]));
        at++;
    }
    return wanted[at] ? append_metrics(leaves, leaf_count, file, builders[at], arena) : nl_column_builder_null(builders[at]);
}

nl_status nl_produce_files(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders)
{
    nl_metadata_table *self = owner;
    const nl_manifest *manifest = NULL;
    uint32_t leaf_count;
    NL_TRY(read_part(self, query, part, &manifest));
    nl_arena *arena = nl_arena_new(query->memory);
    const leaf_column *leaves = sorted_leaves(self, arena, &leaf_count);
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < manifest->entry_count; i++) {
        const nl_manifest_entry *entry = &manifest->entries[i];
        if (!nl_manifest_entry_is_live(entry) || !(self->contents >> entry->file.content & 1)) continue;
        status = append_file_row(self, manifest, &entry->file, leaves, leaf_count, wanted, builders, arena);
    }
    nl_arena_free(arena);
    nl_manifest_release(manifest);
    return status;
}

static nl_status append_entry(const nl_metadata_table *self, const nl_manifest *manifest, const nl_manifest_entry *entry, const leaf_column *leaves,
                              uint32_t leaf_count, const bool *wanted, nl_column_builder **builders, nl_arena *arena)
{
    NL_TRY(nl_column_builder_i64(builders[0], entry->status));
    NL_TRY(nl_builder_optional(builders[1], entry->snapshot_id));
    NL_TRY(nl_builder_optional(builders[2], entry->sequence_number));
    NL_TRY(nl_builder_optional(builders[3], entry->file_sequence_number));
    if (wanted[4]) {
        uint32_t at = 0;
        for (uint32_t column = 0; column < FILE_METRICS; column++) {
            if (column == FILE_PARTITION && !self->has_partition) continue;
            NL_TRY(append_file_column(self, manifest->spec, &entry->file, column, nl_column_builder_child(builders[4], at++), arena));
        }
        NL_TRY(nl_column_builder_end_struct(builders[4]));
    } else {
        NL_TRY(nl_column_builder_null(builders[4]));
    }
    return wanted[5] ? append_metrics(leaves, leaf_count, &entry->file, builders[5], arena) : nl_column_builder_null(builders[5]);
}

nl_status nl_produce_entries(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders)
{
    nl_metadata_table *self = owner;
    const nl_manifest *manifest = NULL;
    uint32_t leaf_count;
    NL_TRY(read_part(self, query, part, &manifest));
    nl_arena *arena = nl_arena_new(query->memory);
    const leaf_column *leaves = sorted_leaves(self, arena, &leaf_count);
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < manifest->entry_count; i++)
        status = append_entry(self, manifest, &manifest->entries[i], leaves, leaf_count, wanted, builders, arena);
    nl_arena_free(arena);
    nl_manifest_release(manifest);
    return status;
}

/* ---- partitions ------------------------------------------------------------------------------------------------ */

const nl_type *nl_partitions_type(nl_metadata_table *self)
{
    const nl_field fields[] = {
        {.name = NL_STR("partition"), .type = self->partition_type},
        {.name = NL_STR("spec_id"), .type = nl_type_int()},
        {.name = NL_STR("record_count"), .type = nl_type_bigint(), .comment = NL_STR("Count of records in data files")},
        {.name = NL_STR("file_count"), .type = nl_type_int(), .comment = NL_STR("Count of data files")},
        {.name = NL_STR("total_data_file_size_in_bytes"), .type = nl_type_bigint(), .comment = NL_STR("Total size in bytes of data files")},
        {.name = NL_STR("position_delete_record_count"), .type = nl_type_bigint(), .comment = NL_STR("Count of records in position delete files")},
        {.name = NL_STR("position_delete_file_count"), .type = nl_type_int(), .comment = NL_STR("Count of position delete files")},
        {.name = NL_STR("equality_delete_record_count"), .type = nl_type_bigint(), .comment = NL_STR("Count of records in equality delete files")},
        {.name = NL_STR("equality_delete_file_count"), .type = nl_type_int(), .comment = NL_STR("Count of equality delete files")},
        {.name = NL_STR("last_updated_at"), .type = nl_type_of(NL_TYPE_TIMESTAMP), .is_nullable = true, .comment = NL_STR("Commit time of snapshot that last updated this partition")},
        {.name = NL_STR("last_updated_snapshot_id"), .type = nl_type_bigint(), .is_nullable = true, .comment = NL_STR("Id of snapshot that last updated this partition")},
    };
    const uint32_t skipped = self->has_partition ? 0 : 2;
    return nl_type_struct(self->arena, fields + skipped, NL_COUNT(fields) - skipped);
}

typedef struct partition_row {
    nl_value partition;
    int32_t spec_id;
    int64_t records, files, bytes;
    int64_t position_records, position_files, equality_records, equality_files;
    int64_t updated_at_ms, updated_snapshot;
    uint32_t next; /* index + 1 in its hash bucket */
} partition_row;

typedef struct partition_table {
    const nl_metadata_table *owner;
    nl_arena *arena;
    nl_list rows; /* partition_row * */
    uint32_t *buckets;
    uint32_t mask;
} partition_table;

static void grow_partitions(partition_table *self)
{
    const uint32_t size = self->buckets ? (self->mask + 1) * 4 : 64;
    self->buckets = NL_NEW_ARRAY(self->arena, uint32_t, size);
    self->mask = size - 1;
    for (uint32_t i = 0; i < self->rows.count; i++) {
        partition_row *row = self->rows.items[i];
        uint32_t *bucket = &self->buckets[nl_partition_hash(row->partition.list.items, row->partition.list.count) & self->mask];
        row->next = *bucket;
        *bucket = i + 1;
    }
}

static partition_row *row_of(partition_table *self, const nl_value *partition)
{
    if (!self->buckets || self->rows.count > self->mask) grow_partitions(self);
    uint32_t *bucket = &self->buckets[nl_partition_hash(partition->list.items, partition->list.count) & self->mask];
    for (uint32_t at = *bucket; at;) {
        partition_row *row = self->rows.items[at - 1];
        if (nl_partition_equal(row->partition.list.items, partition->list.items, partition->list.count)) return row;
        at = row->next;
    }
    partition_row *made = NL_NEW(self->arena, partition_row);
    made->partition = nl_value_copy(self->arena, partition);
    made->updated_snapshot = NL_NONE;
    made->next = *bucket;
    nl_list_add(self->arena, &self->rows, made);
    *bucket = self->rows.count;
    return made;
}

static void count_entry(partition_table *self, const nl_manifest_entry *entry, const nl_partition_spec *spec)
{
    const nl_value partition = nl_metadata_partition(self->owner, spec, entry->file.partition, self->arena);
    partition_row *row = row_of(self, &partition);
    const nl_snapshot *snapshot = nl_table_snapshot(self->owner->metadata, entry->snapshot_id);
    switch (entry->file.content) {
    case NL_CONTENT_DATA:
        row->records += entry->file.record_count;
        row->files++;
        row->bytes += entry->file.file_size_bytes;
        break;
    case NL_CONTENT_POSITION_DELETES:
        row->position_records += entry->file.record_count;
        row->position_files++;
        break;
    case NL_CONTENT_EQUALITY_DELETES:
        row->equality_records += entry->file.record_count;
        row->equality_files++;
        break;
    }
    /* Iceberg takes the spec of the latest commit that it still knows, and 0 when all are expired. */
    if (snapshot && (row->updated_snapshot == NL_NONE || snapshot->timestamp_ms > row->updated_at_ms)) {
        row->spec_id = spec->spec_id;
        row->updated_at_ms = snapshot->timestamp_ms;
        row->updated_snapshot = snapshot->snapshot_id;
    }
}

static nl_status append_partition(const nl_metadata_table *self, const partition_row *row, nl_column_builder **builders)
{
    uint32_t at = 0;
    if (self->has_partition) {
        NL_TRY(nl_column_builder_value(builders[at++], &row->partition));
        NL_TRY(nl_column_builder_i64(builders[at++], row->spec_id));
    }
    const int64_t counts[] = {row->records,        row->files,          row->bytes, row->position_records, row->position_files,
                              row->equality_records, row->equality_files};
    for (uint32_t i = 0; i < NL_COUNT(counts); i++)
        NL_TRY(nl_column_builder_i64(builders[at++], counts[i]));
    NL_TRY(row->updated_snapshot == NL_NONE ? nl_column_builder_null(builders[at]) : nl_column_builder_i64(builders[at], row->updated_at_ms * 1000));
    return nl_builder_optional(builders[at + 1], row->updated_snapshot);
}

nl_status nl_produce_partitions(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders)
{
    nl_metadata_table *self = owner;
    partition_table table = {.owner = self, .arena = nl_arena_new(query->memory)};
    nl_status status = NULL;
    (void)part, (void)wanted;
    for (uint32_t m = 0; !status && m < self->manifest_count; m++) {
        const nl_manifest *manifest = NULL;
        status = read_part(self, query, m, &manifest);
        for (uint32_t i = 0; !status && i < manifest->entry_count; i++)
            if (nl_manifest_entry_is_live(&manifest->entries[i])) count_entry(&table, &manifest->entries[i], manifest->spec);
        nl_manifest_release(manifest);
        if (!status) status = nl_arena_check(table.arena);
    }
    for (uint32_t i = 0; !status && i < table.rows.count; i++)
        status = append_partition(self, table.rows.items[i], builders);
    nl_arena_free(table.arena);
    return status;
}
