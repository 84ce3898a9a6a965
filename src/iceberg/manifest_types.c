/* iceberg/manifest_types.c - see manifest_types.h. */
#include "iceberg/manifest_types.h"

#define V1 1u
#define V2 2u
#define V3 4u

/* How a field is stored, for the tables below. */
typedef enum shape { INT, LONG, TEXT, BYTES, COUNTS, BOUNDS, OFFSETS, IDS, PARTITION, SUMMARIES } shape;

typedef struct field_row {
    uint32_t versions; /* in which it is written */
    uint32_t required; /* in which it is required */
    int32_t id;
    const char *name;
    shape shape;
    int32_t child_id; /* of the element or key; a map's value has the next */
    const char *doc;
} field_row;

static const field_row file_rows[] = {
    {V2 | V3, V2 | V3, 134, "content", INT, 0, "Contents of the file: 0=data, 1=position deletes, 2=equality deletes"},
    {V1 | V2 | V3, V1 | V2 | V3, 100, "file_path", TEXT, 0, "Location URI with FS scheme"},
    {V1 | V2 | V3, V1 | V2 | V3, 101, "file_format", TEXT, 0, "File format name: avro, orc, or parquet"},
    {V1, V1, 102, "partition", PARTITION, 0, NULL},
    {V2 | V3, V2 | V3, 102, "partition", PARTITION, 0, "Partition data tuple, schema based on the partition spec"},
    {V1 | V2 | V3, V1 | V2 | V3, 103, "record_count", LONG, 0, "Number of records in the file"},
    {V1 | V2 | V3, V1 | V2 | V3, 104, "file_size_in_bytes", LONG, 0, "Total file size in bytes"},
    {V1, V1, 105, "block_size_in_bytes", LONG, 0, NULL},
    {V1 | V2 | V3, 0, 108, "column_sizes", COUNTS, 117, "Map of column id to total size on disk"},
    {V1 | V2 | V3, 0, 109, "value_counts", COUNTS, 119, "Map of column id to total count, including null and NaN"},
    {V1 | V2 | V3, 0, 110, "null_value_counts", COUNTS, 121, "Map of column id to null value count"},
    {V1 | V2 | V3, 0, 137, "nan_value_counts", COUNTS, 138, "Map of column id to number of NaN values in the column"},
    {V1 | V2 | V3, 0, 125, "lower_bounds", BOUNDS, 126, "Map of column id to lower bound"},
    {V1 | V2 | V3, 0, 128, "upper_bounds", BOUNDS, 129, "Map of column id to upper bound"},
    {V1 | V2 | V3, 0, 131, "key_metadata", BYTES, 0, "Encryption key metadata blob"},
    {V1 | V2 | V3, 0, 132, "split_offsets", OFFSETS, 133, "Splittable offsets"},
    {V2 | V3, 0, 135, "equality_ids", IDS, 136, "Equality comparison field IDs"},
    {V1 | V2 | V3, 0, 140, "sort_order_id", INT, 0, "Sort order ID"},
    {V3, 0, 142, "first_row_id", LONG, 0, "The first row ID assigned to the first row in the data file"},
    {V2 | V3, 0, 143, "referenced_data_file", TEXT, 0, "Fully qualified location (URI with FS scheme) of a data file that all deletes reference"},
    {V3, 0, 144, "content_offset", LONG, 0, "The offset in the file where the content starts"},
    {V3, 0, 145, "content_size_in_bytes", LONG, 0, "The length of referenced content stored in the file"},
};

static const field_row list_rows[] = {
    {V1 | V2 | V3, V1 | V2 | V3, 500, "manifest_path", TEXT, 0, "Location URI with FS scheme"},
    {V1 | V2 | V3, V1 | V2 | V3, 501, "manifest_length", LONG, 0, "Total file size in bytes"},
    {V1 | V2 | V3, V1 | V2 | V3, 502, "partition_spec_id", INT, 0, "Spec ID used to write"},
    {V2 | V3, V2 | V3, 517, "content", INT, 0, "Contents of the manifest: 0=data, 1=deletes"},
    {V2 | V3, V2 | V3, 515, "sequence_number", LONG, 0, "Sequence number when the manifest was added"},
    {V2 | V3, V2 | V3, 516, "min_sequence_number", LONG, 0, "Lowest sequence number in the manifest"},
    {V1 | V2 | V3, V1 | V2 | V3, 503, "added_snapshot_id", LONG, 0, "Snapshot ID that added the manifest"},
    {V1 | V2 | V3, V2 | V3, 504, "added_files_count", INT, 0, "Added entry count"},
    {V1 | V2 | V3, V2 | V3, 505, "existing_files_count", INT, 0, "Existing entry count"},
    {V1 | V2 | V3, V2 | V3, 506, "deleted_files_count", INT, 0, "Deleted entry count"},
    {V1, 0, 507, "partitions", SUMMARIES, 508, "Summary for each partition"},
    {V1 | V2 | V3, V2 | V3, 512, "added_rows_count", LONG, 0, "Added rows count"},
    {V1 | V2 | V3, V2 | V3, 513, "existing_rows_count", LONG, 0, "Existing rows count"},
    {V1 | V2 | V3, V2 | V3, 514, "deleted_rows_count", LONG, 0, "Deleted rows count"},
    {V2 | V3, 0, 507, "partitions", SUMMARIES, 508, "Summary for each partition"},
    {V1 | V2 | V3, 0, 519, "key_metadata", BYTES, 0, "Encryption key metadata blob"},
    {V3, 0, 520, "first_row_id", LONG, 0, "Starting row ID to assign to new rows in ADDED data files"},
};

static const nl_ice_type *summary_type(nl_arena *arena)
{
    const nl_ice_field fields[] = {
        {509, NL_STR("contains_null"), true, nl_ice_type_of(NL_ICE_BOOLEAN), NL_STR("True if any file has a null partition value"), NULL, NULL},
        {518, NL_STR("contains_nan"), false, nl_ice_type_of(NL_ICE_BOOLEAN), NL_STR("True if any file has a nan partition value"), NULL, NULL},
        {510, NL_STR("lower_bound"), false, nl_ice_type_of(NL_ICE_BINARY), NL_STR("Partition lower bound for all files"), NULL, NULL},
        {511, NL_STR("upper_bound"), false, nl_ice_type_of(NL_ICE_BINARY), NL_STR("Partition upper bound for all files"), NULL, NULL},
    };
    return nl_ice_type_struct(arena, fields, NL_COUNT(fields));
}

static const nl_ice_type *type_of(nl_arena *arena, const field_row *row, const nl_ice_type *partition_type)
{
    const nl_ice_type *number = nl_ice_type_of(NL_ICE_INT);
    switch (row->shape) {
    case INT: return number;
    case LONG: return nl_ice_type_of(NL_ICE_LONG);
    case TEXT: return nl_ice_type_of(NL_ICE_STRING);
    case BYTES: return nl_ice_type_of(NL_ICE_BINARY);
    case COUNTS: return nl_ice_type_map(arena, row->child_id, number, row->child_id + 1, nl_ice_type_of(NL_ICE_LONG), true);
    case BOUNDS: return nl_ice_type_map(arena, row->child_id, number, row->child_id + 1, nl_ice_type_of(NL_ICE_BINARY), true);
    case OFFSETS: return nl_ice_type_list(arena, row->child_id, nl_ice_type_of(NL_ICE_LONG), true);
    case IDS: return nl_ice_type_list(arena, row->child_id, number, true);
    case PARTITION: return partition_type;
    case SUMMARIES: return nl_ice_type_list(arena, row->child_id, summary_type(arena), true);
    }
    return NULL;
}

static const nl_ice_type *make(nl_arena *arena, const field_row *rows, size_t row_count, int32_t format_version, const nl_ice_type *partition_type)
{
    const uint32_t version = 1u << (format_version - 1);
    nl_ice_field *fields = NL_NEW_ARRAY(arena, nl_ice_field, row_count);
    uint32_t count = 0;
    for (size_t i = 0; i < row_count; i++) {
        if (!(rows[i].versions & version)) continue;
        fields[count++] = (nl_ice_field){.id = rows[i].id,
                                         .name = nl_str_from(rows[i].name),
                                         .is_required = (rows[i].required & version) != 0,
                                         .type = type_of(arena, &rows[i], partition_type),
                                         .doc = nl_str_from(rows[i].doc)};
    }
    return nl_ice_type_struct(arena, fields, count);
}

const nl_ice_type *nl_manifest_entry_type(nl_arena *arena, int32_t format_version, const nl_ice_type *partition_type)
{
    const nl_ice_type *number = nl_ice_type_of(NL_ICE_LONG);
    const nl_ice_type *data_file = make(arena, file_rows, NL_COUNT(file_rows), format_version, partition_type);
    const nl_ice_field status = {.id = 0, .name = NL_STR("status"), .is_required = true, .type = nl_ice_type_of(NL_ICE_INT)};
    const nl_ice_field snapshot_id = {.id = 1, .name = NL_STR("snapshot_id"), .type = number};
    const nl_ice_field sequence_number = {.id = 3, .name = NL_STR("sequence_number"), .type = number};
    const nl_ice_field file_sequence_number = {.id = 4, .name = NL_STR("file_sequence_number"), .type = number};
    const nl_ice_field file = {.id = 2, .name = NL_STR("data_file"), .is_required = true, .type = data_file};
    if (format_version == 1) return nl_ice_type_struct(arena, (const nl_ice_field[]){status, snapshot_id, file}, 3);
    return nl_ice_type_struct(arena, (const nl_ice_field[]){status, snapshot_id, sequence_number, file_sequence_number, file}, 5);
}

const nl_ice_type *nl_manifest_list_type(nl_arena *arena, int32_t format_version)
{
    return make(arena, list_rows, NL_COUNT(list_rows), format_version, NULL);
}
