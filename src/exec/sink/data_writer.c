/* exec/sink/data_writer.c - see data_writer.h. */
#include "exec/sink/data_writer.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "base/crash.h"
#include "base/number.h"
#include "base/uuid.h"
#include "exec/sink/location.h"
#include "exec/sink/metrics_mode.h"
#include "iceberg/avro_schema.h"

#define TARGET_BYTES_DEFAULT (512ll << 20)
#define OPEN_FILES_DEFAULT   1024

struct nl_data_writer {
    nl_write_target *target;
    nl_value *partition;       /* in the target's arena; NULL: unpartitioned */
    nl_file_output output;
    nl_str path;
    size_t memory;             /* part of target->memory_used */
};

/* ---- options --------------------------------------------------------------------------------------------------- */

static nl_str chosen(nl_str option, const nl_table_metadata *metadata, const char *key, const char *fallback)
{
    return option.length ? option : nl_table_property(metadata, key, fallback);
}

static nl_status number_property(const nl_table_metadata *metadata, const char *key, int64_t fallback, int64_t most, int64_t *value)
{
    NL_TRY(nl_table_property_int(metadata, key, fallback, value));
    if (*value <= 0 || *value > most)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Table property %s is out of range: %lld", key, (long long)*value);
    return NULL;
}

static nl_status parquet_sizes(const nl_table_metadata *metadata, nl_parquet_write_options *out)
{
    int64_t value;
    NL_TRY(number_property(metadata, "write.parquet.row-group-size-bytes", 128 << 20, INT64_MAX / 2, &value));
    out->row_group_bytes = (uint64_t)value;
    NL_TRY(number_property(metadata, "write.parquet.page-size-bytes", 1 << 20, 256 << 20, &value));
    out->page_bytes = (uint64_t)value;
    NL_TRY(number_property(metadata, "write.parquet.page-row-limit", 20000, INT32_MAX, &value));
    out->page_rows_max = (uint32_t)value;
    NL_TRY(number_property(metadata, "write.parquet.dict-size-bytes", 2 << 20, 1 << 30, &value));
    out->dictionary_bytes = (uint64_t)value;
    NL_TRY(number_property(metadata, "write.parquet.bloom-filter-max-bytes", 1 << 20, 1 << 30, &value));
    out->bloom_bytes_max = (uint64_t)value;
    return NULL;
}

static bool column_property(const nl_table_metadata *metadata, const char *prefix, nl_str column, nl_str *value)
{
    nl_builder key;
    nl_builder_init(&key, 1 << 16);
    nl_append_c(&key, prefix);
    nl_append(&key, column);
    *value = nl_table_property(metadata, nl_builder_c(&key), NULL);
    nl_builder_fini(&key);
    return value->data != NULL;
}

/* What differs from column to column: how uuid and fixed are stored, Bloom filters, statistics. */
static void column_options(const nl_write_target *target, nl_parquet_write_options *out)
{
    nl_parquet_column_options *columns = NL_NEW_ARRAY(target->arena, nl_parquet_column_options, target->schema->column_count);
    for (uint32_t i = 0; i < target->schema->column_count; i++) {
        const nl_schema_column *column = &target->schema->columns[i];
        const nl_ice_type *type = column->field->type;
        nl_parquet_column_options options = {.field_id = column->field->id};
        nl_str text;
        if (nl_ice_type_is_nested(type)) continue;
        if (type->id == NL_ICE_UUID) options.stored = NL_PARQUET_STORED_UUID;
        if (type->id == NL_ICE_FIXED) {
            options.stored = NL_PARQUET_STORED_FIXED;
            options.fixed_length = type->length;
        }
        if (column_property(target->metadata, "write.parquet.bloom-filter-enabled.column.", column->full_name, &text)) options.has_bloom = nl_str_is_nocase(text, "true");
        if (column_property(target->metadata, "write.parquet.bloom-filter-fpp.column.", column->full_name, &text)) (void)nl_parse_double(text, &options.bloom_fpp);
        if (column_property(target->metadata, "write.parquet.stats-enabled.column.", column->full_name, &text)) options.no_statistics = nl_str_is_nocase(text, "false");
        columns[out->column_count++] = options;
    }
    out->columns = columns;
}

static nl_status parquet_options(nl_write_target *target, const nl_write_options *given)
{
    nl_parquet_write_options *out = &target->data.parquet;
    *out = nl_parquet_write_options_default();
    out->writes_checksums = true; /* as parquet-mr: a flipped bit is noticed and is no wrong row */
    NL_TRY(nl_parquet_encoders_new(target->query->memory, &out->encoders)); /* shared by all open files */
    NL_TRY(nl_parquet_codec_find(chosen(given->codec, target->metadata, "write.parquet.compression-codec", "gzip"), &out->codec));
    const nl_str level = chosen(given->codec_level, target->metadata, "write.parquet.compression-level", "");
    int64_t number;
    if (level.length) {
        if (!nl_parse_int64(level, &number) || number < -100 || number > 100)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The compression level is no number: '" NL_STR_FMT "'", NL_STR_ARG(level));
        out->compression_level = (int32_t)number;
    }
    NL_TRY(parquet_sizes(target->metadata, out));
    column_options(target, out);
    nl_parquet_key_value *key_values = NL_NEW(target->arena, nl_parquet_key_value);
    *key_values = (nl_parquet_key_value){NL_STR("iceberg.schema"), target->schema_json};
    out->key_values = key_values;
    out->key_value_count = 1;
    return NULL;
}

static nl_status choose_formats(nl_write_target *target, const nl_write_options *given)
{
    const nl_str format = chosen(given->format, target->metadata, "write.format.default", "parquet");
    const nl_str deletes = chosen(given->delete_format, target->metadata, "write.delete.format.default", "");
    NL_TRY(nl_data_format_find(format, &target->data.format));
    target->deletes.format = target->data.format;
    return deletes.length ? nl_data_format_find(deletes, &target->deletes.format) : NULL;
}

/* ---- files of other formats ---- */

static nl_str data_property(void *argument, const char *name)
{
    return nl_table_property(argument, name, NULL);
}

/* write.delete.avro.x before write.avro.x. */
static nl_str delete_property(void *argument, const char *name)
{
    static const char write_prefix[] = "write.";
    nl_builder key;
    nl_builder_init(&key, 1 << 16);
    nl_append_f(&key, "write.delete.%s", name + sizeof write_prefix - 1);
    const nl_str value = nl_table_property(argument, nl_builder_c(&key), NULL);
    nl_builder_fini(&key);
    return value.data ? value : nl_table_property(argument, name, NULL);
}

/* With the columns that keep a row's identity, where rows have them. */
static const nl_ice_type *written_type(const nl_write_target *target, bool has_lineage)
{
    static const nl_str docs[] = {NL_STR_INIT("Implicit row ID that is automatically assigned"), NL_STR_INIT("Sequence number when the row was last updated")};
    static const nl_str names[] = {NL_STR_INIT("_row_id"), NL_STR_INIT("_last_updated_sequence_number")};
    static const int32_t ids[] = {NL_FIELD_ID_ROW_ID, NL_FIELD_ID_LAST_UPDATED_SEQUENCE_NUMBER};
    const nl_ice_type *root = target->schema->root;
    if (!has_lineage) return root;
    nl_ice_field *fields = NL_NEW_ARRAY(target->arena, nl_ice_field, (size_t)root->field_count + 2);
    memcpy(fields, root->fields, root->field_count * sizeof(*fields));
    for (uint32_t i = 0; i < 2; i++)
        fields[root->field_count + i] = (nl_ice_field){.id = ids[i], .name = names[i], .type = nl_ice_type_of(NL_ICE_LONG), .doc = docs[i]};
    return nl_ice_type_struct(target->arena, fields, root->field_count + 2);
}

static void stored_columns(const nl_write_target *target, nl_data_write *out)
{
    nl_data_column *columns = NL_NEW_ARRAY(target->arena, nl_data_column, target->schema->column_count);
    for (uint32_t i = 0; i < target->schema->column_count; i++) {
        const nl_ice_type *type = target->schema->columns[i].field->type;
        nl_data_stored stored = NL_DATA_STORED_DEFAULT;
        if (type->id == NL_ICE_UUID) stored = NL_DATA_STORED_UUID;
        if (type->id == NL_ICE_FIXED) stored = NL_DATA_STORED_FIXED;
        if (type->id == NL_ICE_TIME) stored = NL_DATA_STORED_TIME;
        if (type->id == NL_ICE_TIMESTAMP_NS || type->id == NL_ICE_TIMESTAMPTZ_NS) stored = NL_DATA_STORED_TIMESTAMP_NANOS;
        if (stored == NL_DATA_STORED_DEFAULT) continue;
        columns[out->column_count++] = (nl_data_column){target->schema->columns[i].field->id, stored, type->id == NL_ICE_FIXED ? type->length : 0};
    }
    out->columns = columns;
}

/* What a file of a format without a road of its own is told. */
static void data_write_of(const nl_write_target *target, const nl_write_options *given, nl_file_output_options *options, bool is_deletes)
{
    const nl_data_format *format = nl_data_format_of(options->format);
    nl_data_write *out = &options->data;
    if (!format) return;
    out->argument = (void *)(uintptr_t)target->metadata;
    out->property_of = is_deletes ? delete_property : data_property;
    const char *codec_key = nl_str_c(target->arena, nl_arena_f(target->arena, "write.%s.compression-codec", format->name));
    const char *level_key = nl_str_c(target->arena, nl_arena_f(target->arena, "write.%s.compression-level", format->name));
    out->codec = given->codec.length ? given->codec : out->property_of(out->argument, codec_key);
    out->codec_level = given->codec_level.length ? given->codec_level : out->property_of(out->argument, level_key);
    if (is_deletes) return; /* what their rows are is said by who writes them */
    nl_builder schema;
    nl_builder_init(&schema, NL_JSON_BYTES_MAX);
    nl_ice_type_append_avro(written_type(target, given->has_lineage), NL_STR("table"), &schema);
    out->avro_schema = nl_arena_str(target->arena, nl_builder_str(&schema));
    nl_builder_fini(&schema);
    nl_data_pair *pair = NL_NEW(target->arena, nl_data_pair);
    *pair = (nl_data_pair){NL_STR("iceberg.schema"), target->schema_json};
    out->metadata = pair;
    out->metadata_count = 1;
    stored_columns(target, out);
}

/* Columns are found by their ids; their names in files are ones that Avro allows, as in Java. True recursion: types have a
 * limited depth. */
static const nl_type *with_file_names(nl_arena *arena, const nl_type *type)
{
    if (type->child_count == 0) return type;
    nl_field *children = NL_NEW_ARRAY(arena, nl_field, type->child_count);
    for (uint32_t i = 0; i < type->child_count; i++) {
        children[i] = type->children[i];
        children[i].type = with_file_names(arena, type->children[i].type);
        if (type->id != NL_TYPE_STRUCT) continue;
        nl_builder name;
        nl_builder_init(&name, SIZE_MAX);
        nl_avro_append_name(type->children[i].name, &name);
        children[i].name = nl_arena_str(arena, nl_builder_str(&name));
        nl_builder_fini(&name);
    }
    nl_type *copy = NL_NEW(arena, nl_type);
    *copy = *type;
    copy->children = children;
    return copy;
}

/* v3: rows that are copied keep their identity in two more columns. */
static const nl_type *with_lineage(nl_arena *arena, const nl_type *type)
{
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, type->child_count + 2);
    memcpy(fields, type->children, type->child_count * sizeof(*fields));
    fields[type->child_count] = (nl_field){.name = NL_STR("_row_id"), .type = nl_type_bigint(), .is_nullable = true, .field_id = NL_FIELD_ID_ROW_ID};
    fields[type->child_count + 1] = (nl_field){.name = NL_STR("_last_updated_sequence_number"),
                                               .type = nl_type_bigint(),
                                               .is_nullable = true,
                                               .field_id = NL_FIELD_ID_LAST_UPDATED_SEQUENCE_NUMBER};
    return nl_type_struct(arena, fields, type->child_count + 2);
}

#define LINEAGE_JSON                                                                                                     \
    ",{\"id\":2147483540,\"name\":\"_row_id\",\"required\":false,\"type\":\"long\","                                            \
    "\"doc\":\"Implicit row ID that is automatically assigned\"},"                                                         \
    "{\"id\":2147483539,\"name\":\"_last_updated_sequence_number\",\"required\":false,\"type\":\"long\","                      \
    "\"doc\":\"Sequence number when the row was last updated\"}]}"

static nl_str schema_json(const nl_write_target *target, bool has_lineage)
{
    nl_builder json;
    nl_builder_init(&json, NL_JSON_BYTES_MAX);
    nl_schema written = *target->schema;
    written.schema_id = 0; /* Spark writes a schema made for the file, without the table's number and identifier fields */
    written.identifier_count = 0;
    nl_schema_append_json(&written, &json);
    nl_str text = nl_arena_str(target->arena, nl_builder_str(&json));
    nl_builder_fini(&json);
    if (has_lineage && nl_str_ends(text, NL_STR("}]}"))) /* two fields more at the end of the list */
        text = nl_arena_f(target->arena, NL_STR_FMT "%s", NL_STR_ARG(nl_str_slice(text, 0, text.length - 2)), LINEAGE_JSON);
    return text;
}

static nl_status fill_target(nl_write_target *target, const nl_write_options *given)
{
    target->schema = nl_table_schema(target->metadata);
    target->spec = given->has_spec_id ? nl_table_spec_by_id(target->metadata, given->spec_id) : nl_table_spec(target->metadata);
    if (!target->spec) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Output spec id %d is not a valid spec id for table", given->spec_id);
    NL_TRY(choose_formats(target, given));
    NL_TRY(nl_ice_type_to_sql(target->arena, target->schema->root, &target->file_type));
    target->file_type = with_file_names(target->arena, target->file_type);
    if (given->has_lineage) target->file_type = with_lineage(target->arena, target->file_type);
    target->schema_json = schema_json(target, given->has_lineage);
    if (target->data.format == NL_FORMAT_PARQUET || target->deletes.format == NL_FORMAT_PARQUET) NL_TRY(parquet_options(target, given));
    target->deletes.parquet = target->data.parquet;
    data_write_of(target, given, &target->data, false);
    data_write_of(target, given, &target->deletes, true);
    target->target_bytes = given->target_file_bytes;
    if (target->target_bytes <= 0)
        NL_TRY(number_property(target->metadata, "write.target-file-size-bytes", TARGET_BYTES_DEFAULT, INT64_MAX / 2, &target->target_bytes));
    uint8_t bytes[16];
    char text[NL_UUID_TEXT_LENGTH];
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, text);
    target->query_id = nl_arena_str(target->arena, (nl_str){text, sizeof text});
    return NULL;
}

nl_status nl_write_target_init(nl_write_target *target, nl_query *query, nl_iceberg_table *table, const nl_table_metadata *metadata,
                               const nl_write_options *options)
{
    *target = (nl_write_target){.query = query, .fs = nl_fs_retain(table->fs), .metadata = nl_table_metadata_retain(metadata)};
    target->arena = nl_arena_new(query->memory);
    /* A quarter of the budget: sorts and joins below need the rest. */
    const size_t limit = nl_memory_limit(query->memory);
    struct rlimit files = {.rlim_cur = OPEN_FILES_DEFAULT};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur > INT32_MAX) files.rlim_cur = OPEN_FILES_DEFAULT;
    target->open_max = (uint32_t)NL_MAX(files.rlim_cur / 2, 16u); /* the rest is for reading, spilling, and other statements */
    target->memory_max = NL_MAX(limit == SIZE_MAX ? (size_t)1 << 30 : limit / 4, (size_t)1 << 20);
    nl_mutex_init(&target->mutex);
    atomic_init(&target->file_number, 1);
    nl_status status = fill_target(target, options);
    if (status) nl_write_target_fini(target);
    return status;
}

void nl_write_target_fini(nl_write_target *target)
{
    nl_parquet_encoders_free(target->data.parquet.encoders);
    nl_table_metadata_release(target->metadata);
    nl_fs_release(target->fs);
    nl_arena_free(target->arena);
    nl_mutex_fini(&target->mutex);
}

nl_status nl_write_target_path(nl_write_target *target, const nl_partition_spec *spec, const nl_value *partition, nl_written_kind kind, nl_str *path)
{
    const uint32_t number = atomic_fetch_add(&target->file_number, 1);
    nl_mutex_lock(&target->mutex);
    const nl_file_format format = kind == NL_WRITTEN_DATA ? target->data.format : kind == NL_WRITTEN_DELETES ? target->deletes.format : NL_FORMAT_PUFFIN;
    static const char *const endings[] = {[NL_FORMAT_PARQUET] = "parquet", [NL_FORMAT_AVRO] = "avro", [NL_FORMAT_ORC] = "orc", [NL_FORMAT_PUFFIN] = "puffin"};
    const nl_str name = nl_arena_f(target->arena, "00000-0-" NL_STR_FMT "-%s%05u%s.%s", NL_STR_ARG(target->query_id), kind == NL_WRITTEN_DATA ? "0-" : "", number,
                                   kind == NL_WRITTEN_DATA ? "" : "-deletes", endings[format]);
    *path = nl_data_location(target->arena, target->metadata, spec, partition, name);
    nl_str *noted = NL_NEW(target->arena, nl_str);
    *noted = *path;
    nl_list_add(target->arena, &target->paths, noted);
    nl_mutex_unlock(&target->mutex);
    return NULL;
}

/* ---- metrics --------------------------------------------------------------------------------------------------- */

typedef struct metric_lists {
    int32_t *ids;
    int64_t *sizes, *values, *nulls;
    int32_t *nan_ids;
    int64_t *nans;
    int32_t *counted_ids;
    int32_t *lower_ids, *upper_ids;
    nl_bytes *lower, *upper;
    uint32_t size_count, count_count, nan_count, lower_count, upper_count;
} metric_lists;

static nl_status add_bound(const nl_ice_type *type, const nl_value *value, const nl_metrics_mode *mode, bool is_upper, int32_t field_id, nl_arena *arena,
                           metric_lists *lists)
{
    nl_value cut = *value;
    nl_bytes bytes;
    if (mode->kind == NL_METRICS_TRUNCATE && !nl_truncate_bound(arena, value, is_upper, mode->length, &cut)) return NULL;
    NL_TRY(nl_single_value_encode(type, &cut, arena, &bytes));
    if (is_upper) {
        lists->upper_ids[lists->upper_count] = field_id;
        lists->upper[lists->upper_count++] = bytes;
    } else {
        lists->lower_ids[lists->lower_count] = field_id;
        lists->lower[lists->lower_count++] = bytes;
    }
    return NULL;
}

static nl_status add_leaf(const nl_table_metadata *metadata, const nl_written_leaf *leaf, bool is_delete_file, nl_arena *arena, metric_lists *lists)
{
    nl_metrics_mode mode = {.kind = NL_METRICS_FULL};
    const nl_schema_column *column = nl_schema_find_id(nl_table_schema(metadata), leaf->field_id);
    const bool is_lineage = leaf->field_id == NL_FIELD_ID_ROW_ID || leaf->field_id == NL_FIELD_ID_LAST_UPDATED_SEQUENCE_NUMBER;
    const nl_ice_type *type = is_delete_file ? nl_ice_type_of(leaf->field_id == NL_FIELD_ID_DELETE_FILE_POS ? NL_ICE_LONG : NL_ICE_STRING)
                              : column       ? column->field->type
                              : is_lineage   ? nl_ice_type_of(NL_ICE_LONG)
                                             : NULL;
    if (!is_delete_file) NL_TRY(nl_metrics_mode_of(metadata, leaf->field_id, &mode));
    if (mode.kind == NL_METRICS_NONE) return NULL; /* not even its size, as in Iceberg's writers */
    lists->ids[lists->size_count] = leaf->field_id;
    lists->sizes[lists->size_count++] = (int64_t)leaf->column_bytes;
    if (leaf->is_repeated || !type) return NULL;
    if (!is_delete_file) {
        lists->counted_ids[lists->count_count] = leaf->field_id;
        lists->values[lists->count_count] = (int64_t)leaf->value_count;
        lists->nulls[lists->count_count++] = (int64_t)leaf->null_count;
        if (leaf->type->id == NL_TYPE_FLOAT || leaf->type->id == NL_TYPE_DOUBLE) {
            lists->nan_ids[lists->nan_count] = leaf->field_id;
            lists->nans[lists->nan_count++] = (int64_t)leaf->nan_count;
        }
    }
    if (mode.kind == NL_METRICS_COUNTS || !leaf->has_bounds) return NULL;
    NL_TRY(add_bound(type, &leaf->lower, &mode, false, leaf->field_id, arena, lists));
    return add_bound(type, &leaf->upper, &mode, true, leaf->field_id, arena, lists);
}

static metric_lists new_lists(nl_arena *arena, uint32_t count)
{
    return (metric_lists){
        .ids = NL_NEW_ARRAY(arena, int32_t, count),
        .sizes = NL_NEW_ARRAY(arena, int64_t, count),
        .values = NL_NEW_ARRAY(arena, int64_t, count),
        .nulls = NL_NEW_ARRAY(arena, int64_t, count),
        .nan_ids = NL_NEW_ARRAY(arena, int32_t, count),
        .nans = NL_NEW_ARRAY(arena, int64_t, count),
        .counted_ids = NL_NEW_ARRAY(arena, int32_t, count),
        .lower_ids = NL_NEW_ARRAY(arena, int32_t, count),
        .upper_ids = NL_NEW_ARRAY(arena, int32_t, count),
        .lower = NL_NEW_ARRAY(arena, nl_bytes, count),
        .upper = NL_NEW_ARRAY(arena, nl_bytes, count),
    };
}

nl_status nl_data_file_of_written(const nl_table_metadata *metadata, const nl_written_file *written, nl_str path, const nl_partition_spec *spec,
                                  const nl_value *partition, bool is_delete_file, nl_arena *arena, nl_data_file *file)
{
    metric_lists lists = new_lists(arena, written->leaf_count);
    for (uint32_t i = 0; i < written->leaf_count; i++)
        NL_TRY(add_leaf(metadata, &written->leaves[i], is_delete_file, arena, &lists));
    int64_t *split_offsets = NL_NEW_ARRAY(arena, int64_t, written->split_offset_count);
    for (uint32_t i = 0; i < written->split_offset_count; i++)
        split_offsets[i] = (int64_t)written->split_offsets[i];
    *file = (nl_data_file){
        .content = is_delete_file ? NL_CONTENT_POSITION_DELETES : NL_CONTENT_DATA,
        .format = NL_FORMAT_PARQUET,
        .path = path,
        .spec_id = spec->spec_id,
        .partition = spec->field_count > 0 ? partition : NULL,
        .record_count = (int64_t)written->row_count,
        .file_size_bytes = (int64_t)written->file_bytes,
        .split_offsets = split_offsets,
        .split_offset_count = written->split_offset_count,
        .sort_order_id = is_delete_file ? NL_NONE : 0,
        .first_row_id = NL_NONE,
        .content_offset = NL_NONE,
        .content_size_bytes = NL_NONE,
    };
    if (!written->leaves) return NULL;
    NL_TRY(nl_metric_map_make(arena, lists.ids, lists.sizes, lists.size_count, &file->column_sizes));
    if (!is_delete_file) {
        NL_TRY(nl_metric_map_make(arena, lists.counted_ids, lists.values, lists.count_count, &file->value_counts));
        NL_TRY(nl_metric_map_make(arena, lists.counted_ids, lists.nulls, lists.count_count, &file->null_value_counts));
        NL_TRY(nl_metric_map_make(arena, lists.nan_ids, lists.nans, lists.nan_count, &file->nan_value_counts));
    }
    NL_TRY(nl_bound_map_make(arena, lists.lower_ids, lists.lower, lists.lower_count, &file->lower_bounds));
    return nl_bound_map_make(arena, lists.upper_ids, lists.upper, lists.upper_count, &file->upper_bounds);
}

/* ---- the writer ------------------------------------------------------------------------------------------------ */

nl_status nl_data_writer_new(nl_write_target *target, const nl_value *partition, nl_data_writer **writer)
{
    nl_data_writer *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->target = target;
    if (partition && target->spec->field_count > 0) {
        nl_mutex_lock(&target->mutex);
        made->partition = NL_NEW_ARRAY(target->arena, nl_value, target->spec->field_count);
        for (uint32_t i = 0; i < target->spec->field_count; i++)
            made->partition[i] = nl_value_copy(target->arena, &partition[i]);
        nl_mutex_unlock(&target->mutex);
    }
    *writer = made;
    return NULL;
}

nl_status nl_data_writer_open(nl_data_writer *self)
{
    nl_output *output = NULL;
    if (nl_file_output_is_open(&self->output)) return NULL;
    NL_TRY(nl_write_target_path(self->target, self->target->spec, self->partition, NL_WRITTEN_DATA, &self->path));
    NL_TRY(nl_fs_create(self->target->fs, self->path, &output));
    NL_TRY(nl_file_output_open(output, self->target->file_type, &self->target->data, self->target->query->memory, &self->output));
    atomic_fetch_add(&self->target->open_count, 1);
    return NULL;
}

static void account(nl_data_writer *self, size_t memory)
{
    atomic_fetch_add(&self->target->memory_used, memory);
    atomic_fetch_sub(&self->target->memory_used, self->memory);
    self->memory = memory;
}

nl_status nl_data_writer_flush(nl_data_writer *self)
{
    nl_write_target *target = self->target;
    nl_written_file written;
    if (!nl_file_output_is_open(&self->output)) return NULL;
    nl_arena *arena = nl_arena_new(target->query->memory);
    atomic_fetch_sub(&target->open_count, 1);
    nl_status status = nl_file_output_close(&self->output, arena, &written);
    NL_CRASH_POINT("write.data-file-written");
    account(self, 0);
    if (!status) {
        nl_mutex_lock(&target->mutex);
        nl_data_file *file = NL_NEW(target->arena, nl_data_file);
        status = nl_data_file_of_written(target->metadata, &written, self->path, target->spec, self->partition, false, target->arena, file);
        file->format = target->data.format;
        if (!status) nl_list_add(target->arena, &target->files, file);
        nl_mutex_unlock(&target->mutex);
    }
    nl_arena_free(arena);
    return nl_note_if(status, NL_HERE, "writing " NL_STR_FMT, NL_STR_ARG(self->path));
}

nl_status nl_data_writer_append(nl_data_writer *self, const nl_batch *batch)
{
    nl_write_target *target = self->target;
    NL_TRY(nl_data_writer_open(self));
    NL_TRY_NOTE(nl_file_output_append(&self->output, batch), "writing " NL_STR_FMT, NL_STR_ARG(self->path));
    account(self, nl_file_output_memory(&self->output));
    const bool is_full = nl_file_output_bytes(&self->output) >= (uint64_t)target->target_bytes;
    /* Many open partitions share one budget, of memory and of descriptors: above it, whoever holds at least half of the
     * average gives its file up. */
    const uint64_t open_count = atomic_load(&target->open_count);
    const bool is_over = open_count > target->open_max ||
                         (atomic_load(&target->memory_used) > target->memory_max && self->memory * open_count * 2 > target->memory_max);
    return is_full || is_over ? nl_data_writer_flush(self) : NULL;
}

void nl_data_writer_free(nl_data_writer *self)
{
    if (!self) return;
    if (nl_file_output_is_open(&self->output)) atomic_fetch_sub(&self->target->open_count, 1);
    nl_file_output_abort(&self->output);
    account(self, 0);
    free(self);
}
