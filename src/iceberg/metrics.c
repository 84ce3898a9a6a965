/* iceberg/metrics.c - packed statistics maps of data files (manifest.h, nl_metric_map). The packed form is what Avro
 * stores for an array of key-value records, without the counts of its blocks. */
#include "iceberg/manifest.h"

/* Reads a zigzag varint. The maps were checked when they were made, so only the end is looked at. */
static inline bool read_varint(const uint8_t **at, const uint8_t *end, int64_t *value)
{
    uint64_t bits = 0;
    if (NL_LIKELY(*at < end && **at < 0x80)) { /* most ids and lengths take one byte */
        bits = *(*at)++;
        *value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
        return true;
    }
    for (uint32_t shift = 0; shift < 64 && *at < end; shift += 7) {
        const uint8_t byte = *(*at)++;
        bits |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80) continue;
        *value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
        return true;
    }
    return false;
}

bool nl_metric_next(nl_metric_iterator *iterator, int32_t *field_id, int64_t *value)
{
    int64_t id;
    if (!read_varint(&iterator->next, iterator->end, &id) || !read_varint(&iterator->next, iterator->end, value)) return false;
    *field_id = (int32_t)id;
    return true;
}

bool nl_bound_next(nl_metric_iterator *iterator, int32_t *field_id, nl_bytes *value)
{
    int64_t id;
    int64_t length;
    if (!read_varint(&iterator->next, iterator->end, &id) || !read_varint(&iterator->next, iterator->end, &length)) return false;
    if (length < 0 || length > iterator->end - iterator->next) return false;
    *field_id = (int32_t)id;
    *value = (nl_bytes){iterator->next, (size_t)length};
    iterator->next += length;
    return true;
}

bool nl_metric_find(const nl_metric_map *map, int32_t field_id, int64_t *value)
{
    const uint8_t *at = map->data;
    const uint8_t *end = at ? at + map->size_bytes : NULL;
    int64_t id;
    while (read_varint(&at, end, &id)) {
        if (id == field_id) return read_varint(&at, end, value);
        while (at < end && *at++ & 0x80) {} /* passes over a count without decoding it */
    }
    return false;
}

bool nl_bound_find(const nl_metric_map *map, int32_t field_id, nl_bytes *value)
{
    nl_metric_iterator iterator = nl_metric_begin(map);
    int32_t id;
    nl_bytes found;
    while (nl_bound_next(&iterator, &id, &found)) {
        if (id != field_id) continue;
        *value = found;
        return true;
    }
    return false;
}

static uint8_t *write_varint(uint8_t *out, int64_t value)
{
    uint64_t bits = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    while (bits >= 0x80) {
        *out++ = (uint8_t)(bits | 0x80);
        bits >>= 7;
    }
    *out++ = (uint8_t)bits;
    return out;
}

static nl_status finish(const uint8_t *start, const uint8_t *end, uint32_t count, nl_metric_map *map)
{
    *map = (nl_metric_map){.data = start, .size_bytes = (uint32_t)(end - start), .count = count};
    return NULL;
}

nl_status nl_metric_map_make(nl_arena *arena, const int32_t *field_ids, const int64_t *values, uint32_t count, nl_metric_map *map)
{
    void *memory;
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(count, 15) + 1, &memory)); /* 5 bytes of id, 10 of value at most */
    uint8_t *out = memory;
    for (uint32_t i = 0; i < count; i++) {
        out = write_varint(out, field_ids[i]);
        out = write_varint(out, values[i]);
    }
    return finish(memory, out, count, map);
}

nl_status nl_bound_map_make(nl_arena *arena, const int32_t *field_ids, const nl_bytes *values, uint32_t count, nl_metric_map *map)
{
    size_t bytes = 1;
    for (uint32_t i = 0; i < count; i++)
        bytes = nl_size_add(bytes, nl_size_add(values[i].length, 10));
    if (bytes > UINT32_MAX) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The bounds of a data file take %zu bytes", bytes);
    void *memory;
    NL_TRY(nl_arena_alloc_sized(arena, bytes, &memory));
    uint8_t *out = memory;
    for (uint32_t i = 0; i < count; i++) {
        out = write_varint(out, field_ids[i]);
        out = write_varint(out, (int64_t)values[i].length);
        if (values[i].length) memcpy(out, values[i].data, values[i].length);
        out += values[i].length;
    }
    return finish(memory, out, count, map);
}

/* ---- Data files ---- */

static const char *const format_names[] = {[NL_FORMAT_PARQUET] = "PARQUET", [NL_FORMAT_AVRO] = "AVRO", [NL_FORMAT_ORC] = "ORC", [NL_FORMAT_PUFFIN] = "PUFFIN"};

const char *nl_file_format_name(nl_file_format format)
{
    return format_names[format];
}

bool nl_file_format_parse(nl_str text, nl_file_format *format)
{
    for (size_t i = 0; i < NL_COUNT(format_names); i++) {
        if (!nl_str_is_nocase(text, format_names[i])) continue;
        *format = (nl_file_format)i;
        return true;
    }
    return false;
}

nl_str nl_data_file_referenced(const nl_data_file *file)
{
    nl_bytes lower;
    nl_bytes upper;
    if (file->content != NL_CONTENT_POSITION_DELETES) return (nl_str){0};
    if (file->referenced_data_file.length) return file->referenced_data_file;
    if (!nl_bound_find(&file->lower_bounds, NL_FIELD_ID_DELETE_FILE_PATH, &lower) ||
        !nl_bound_find(&file->upper_bounds, NL_FIELD_ID_DELETE_FILE_PATH, &upper))
        return (nl_str){0};
    const nl_str path = {(const char *)lower.data, lower.length};
    return nl_str_equal(path, (nl_str){(const char *)upper.data, upper.length}) ? path : (nl_str){0};
}

static nl_metric_map copy_map(nl_arena *arena, const nl_metric_map *map)
{
    nl_metric_map copy = *map;
    if (map->data) copy.data = (const uint8_t *)nl_arena_str(arena, (nl_str){(const char *)map->data, map->size_bytes}).data;
    return copy;
}

nl_data_file nl_data_file_copy(nl_arena *arena, const nl_data_file *file, uint32_t partition_count)
{
    nl_data_file copy = *file;
    copy.path = nl_arena_str(arena, file->path);
    if (file->partition) {
        nl_value *values = NL_NEW_ARRAY(arena, nl_value, (size_t)partition_count + 1);
        for (uint32_t i = 0; i < partition_count; i++)
            values[i] = nl_value_copy(arena, &file->partition[i]);
        copy.partition = values;
    }
    copy.column_sizes = copy_map(arena, &file->column_sizes);
    copy.value_counts = copy_map(arena, &file->value_counts);
    copy.null_value_counts = copy_map(arena, &file->null_value_counts);
    copy.nan_value_counts = copy_map(arena, &file->nan_value_counts);
    copy.lower_bounds = copy_map(arena, &file->lower_bounds);
    copy.upper_bounds = copy_map(arena, &file->upper_bounds);
    if (file->key_metadata.data)
        copy.key_metadata.data =
            (const uint8_t *)nl_arena_str(arena, (nl_str){(const char *)file->key_metadata.data, file->key_metadata.length}).data;
    int64_t *offsets = NL_NEW_ARRAY(arena, int64_t, (size_t)file->split_offset_count + 1);
    for (uint32_t i = 0; i < file->split_offset_count; i++)
        offsets[i] = file->split_offsets[i];
    copy.split_offsets = file->split_offsets ? offsets : NULL;
    int32_t *ids = NL_NEW_ARRAY(arena, int32_t, (size_t)file->equality_id_count + 1);
    for (uint32_t i = 0; i < file->equality_id_count; i++)
        ids[i] = file->equality_ids[i];
    copy.equality_ids = file->equality_ids ? ids : NULL;
    copy.referenced_data_file = nl_arena_str(arena, file->referenced_data_file);
    return copy;
}

static nl_bytes copy_bytes(nl_arena *arena, nl_bytes bytes)
{
    if (!bytes.data) return bytes;
    return (nl_bytes){(const uint8_t *)nl_arena_str(arena, (nl_str){(const char *)bytes.data, bytes.length}).data, bytes.length};
}

nl_manifest_file nl_manifest_file_copy(nl_arena *arena, const nl_manifest_file *file)
{
    nl_manifest_file copy = *file;
    copy.path = nl_arena_str(arena, file->path);
    copy.key_metadata = copy_bytes(arena, file->key_metadata);
    if (!file->partitions) return copy;
    nl_field_summary *summaries = NL_NEW_ARRAY(arena, nl_field_summary, (size_t)file->partition_count + 1);
    for (uint32_t i = 0; i < file->partition_count; i++) {
        summaries[i] = file->partitions[i];
        summaries[i].lower = copy_bytes(arena, summaries[i].lower);
        summaries[i].upper = copy_bytes(arena, summaries[i].upper);
    }
    copy.partitions = summaries;
    return copy;
}
