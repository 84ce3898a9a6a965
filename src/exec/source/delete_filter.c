/* exec/source/delete_filter.c - see delete_filter.h.
 *
 * Each delete file has one entry in the cache; whoever asks first loads it, others wait for it. No lock is held while
 * storage is read.
 */
#include "exec/source/delete_filter.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/lock.h"
#include "column/value.h"
#include "format/parquet/parquet.h"
#include "exec/data_formats.h"
#include "exec/engine.h"

/* ---- equality sets --------------------------------------------------------------------------------------------- */

struct nl_equality_set {
    int32_t *fields;
    uint32_t field_count;
    nl_vector *keys;       /* field_count FLAT columns of row_count rows */
    uint32_t row_count;
    uint64_t *hashes;
    uint32_t *buckets;     /* row + 1; open addressing */
    uint32_t bucket_mask;
};

const int32_t *nl_equality_set_fields(const nl_equality_set *set, uint32_t *field_count)
{
    *field_count = set->field_count;
    return set->fields;
}

static void free_set(nl_equality_set *set)
{
    if (!set) return;
    for (uint32_t i = 0; set->keys && i < set->field_count; i++)
        nl_vector_fini(&set->keys[i]);
    free(set->keys);
    free(set->fields);
    free(set->hashes);
    free(set->buckets);
    free(set);
}

static nl_status hash_keys(const nl_vector *const *columns, uint32_t column_count, uint32_t row_count, uint64_t *hashes)
{
    for (uint32_t i = 0; i < column_count; i++)
        NL_TRY(nl_vector_hash(columns[i], row_count, i > 0, hashes));
    return NULL;
}

static nl_status index_set(nl_equality_set *set)
{
    uint32_t size = 16;
    while (size < set->row_count * 2)
        size *= 2;
    set->bucket_mask = size - 1;
    set->hashes = calloc(set->row_count + 1, sizeof(*set->hashes));
    set->buckets = calloc(size, sizeof(*set->buckets));
    const nl_vector **columns = calloc(set->field_count + 1, sizeof(*columns));
    if (!set->hashes || !set->buckets || !columns) {
        free(columns);
        return nl_out_of_memory(size * sizeof(*set->buckets));
    }
    for (uint32_t i = 0; i < set->field_count; i++)
        columns[i] = &set->keys[i];
    nl_status status = hash_keys(columns, set->field_count, set->row_count, set->hashes);
    free(columns);
    if (status) return status;
    for (uint32_t row = 0; row < set->row_count; row++) {
        uint32_t at = (uint32_t)set->hashes[row] & set->bucket_mask;
        while (set->buckets[at])
            at = (at + 1) & set->bucket_mask;
        set->buckets[at] = row + 1;
    }
    return NULL;
}

static bool set_contains(const nl_equality_set *set, const nl_vector *const *columns, uint32_t row, uint64_t hash)
{
    for (uint32_t at = (uint32_t)hash & set->bucket_mask; set->buckets[at]; at = (at + 1) & set->bucket_mask) {
        const uint32_t key = set->buckets[at] - 1;
        if (set->hashes[key] != hash) continue;
        bool is_equal = true;
        for (uint32_t i = 0; is_equal && i < set->field_count; i++) {
            const bool left = nl_vector_is_null(columns[i], row), right = nl_vector_is_null(&set->keys[i], key);
            is_equal = left == right && (left || nl_vector_row_equal(columns[i], row, &set->keys[i], key));
        }
        if (is_equal) return true;
    }
    return false;
}

nl_status nl_equality_set_apply(const nl_equality_set *set, const nl_vector *const *columns, uint32_t row_count, nl_memory *memory, uint8_t *alive)
{
    nl_buffer *buffer = NULL;
    if (set->row_count == 0) return NULL;
    NL_TRY(nl_buffer_new(memory, row_count * sizeof(uint64_t), false, &buffer));
    uint64_t *hashes = (uint64_t *)(void *)buffer->data;
    nl_status status = hash_keys(columns, set->field_count, row_count, hashes);
    for (uint32_t row = 0; !status && row < row_count; row++)
        if (nl_bit_get(alive, row) && set_contains(set, columns, row, hashes[row])) nl_bit_clear(alive, row);
    nl_buffer_release(buffer);
    return status;
}

/* ---- the cache ------------------------------------------------------------------------------------------------- */

typedef struct path_positions { /* one data file's positions in one delete file */
    nl_str path; /* owned */
    nl_deletion_vector *positions;
} path_positions;

typedef struct cache_entry {
    nl_str path; /* borrowed from the plan */
    enum { ENTRY_LOADING, ENTRY_LOADED, ENTRY_FAILED } state;
    path_positions *paths; /* position deletes, sorted by path */
    uint32_t path_count, path_capacity;
    nl_equality_set *set;
    struct cache_entry *next;
} cache_entry;

#define CACHE_BUCKETS 1024u

struct nl_delete_cache {
    nl_fs *fs;
    const nl_schema *schema;
    nl_memory *memory;
    nl_arena *arena; /* of types; guarded by mutex */
    nl_mutex mutex;
    pthread_cond_t changed;
    cache_entry *buckets[CACHE_BUCKETS];
};

nl_delete_cache *nl_delete_cache_new(nl_fs *fs, const nl_schema *schema, nl_memory *memory)
{
    nl_delete_cache *cache = calloc(1, sizeof(*cache));
    if (!cache) return NULL;
    cache->fs = nl_fs_retain(fs);
    cache->schema = schema;
    cache->memory = memory;
    cache->arena = nl_arena_new(memory);
    nl_mutex_init(&cache->mutex);
    pthread_cond_init(&cache->changed, NULL);
    return cache;
}

static void free_entry(cache_entry *entry)
{
    for (uint32_t i = 0; i < entry->path_count; i++) {
        free((void *)(uintptr_t)entry->paths[i].path.data);
        nl_deletion_vector_free(entry->paths[i].positions);
    }
    free(entry->paths);
    free_set(entry->set);
    free(entry);
}

void nl_delete_cache_free(nl_delete_cache *cache)
{
    if (!cache) return;
    for (uint32_t i = 0; i < CACHE_BUCKETS; i++)
        while (cache->buckets[i]) {
            cache_entry *next = cache->buckets[i]->next;
            free_entry(cache->buckets[i]);
            cache->buckets[i] = next;
        }
    pthread_cond_destroy(&cache->changed);
    nl_mutex_fini(&cache->mutex);
    nl_arena_free(cache->arena);
    nl_fs_release(cache->fs);
    free(cache);
}

/* Its size is in its manifest. Position deletes are read whole; a deletion vector is one range of its file. */
static nl_status open_delete_file(nl_fs *fs, const nl_data_file *file, nl_file **opened)
{
    enum { WHOLE_BYTES = 1 << 20 };
    if (file->file_size_bytes <= 0) return nl_fs_open(fs, file->path, opened);
    NL_TRY(nl_fs_open_data(fs, file->path, (uint64_t)file->file_size_bytes, true, opened));
    if (file->content_offset < 0 && file->file_size_bytes <= WHOLE_BYTES)
        nl_file_prefetch(*opened, &(nl_range){.offset = 0, .length = (uint64_t)file->file_size_bytes}, 1);
    return NULL;
}

static nl_status visit_parquet(nl_file *file, const nl_type *wanted, nl_memory *memory, nl_delete_visit visit, void *argument)
{
    nl_parquet_footer *footer = NULL;
    nl_parquet_reader *reader = NULL;
    nl_parquet_scan *scan = NULL;
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_FIELD_ID};
    nl_status status = NULL;
    NL_GO(nl_parquet_footer_read(file, memory, &footer));
    NL_GO(nl_parquet_reader_open(file, footer, wanted, &options, memory, &reader));
    for (uint32_t group = 0; group < footer->row_group_count; group++) {
        NL_GO(nl_parquet_scan_open(reader, group, NULL, 0, memory, &scan));
        for (uint32_t row_count = 1; row_count > 0;) {
            nl_batch batch = {0};
            NL_GO(nl_parquet_scan_next(scan, &batch));
            row_count = batch.row_count;
            status = row_count > 0 ? visit(argument, &batch) : NULL;
            nl_batch_fini(&batch);
            if (status) goto done;
        }
        nl_parquet_scan_close(scan);
        scan = NULL;
    }
done:
    nl_parquet_scan_close(scan);
    nl_parquet_reader_release(reader);
    nl_parquet_footer_release(footer);
    return status;
}

static nl_status visit_data(const nl_data_format *format, nl_file *file, const nl_type *wanted, nl_memory *memory, nl_delete_visit visit, void *argument)
{
    const nl_data_read read = {.wanted = wanted};
    nl_data_reader *reader = NULL;
    nl_data_scan *scan = NULL;
    nl_status status = NULL;
    NL_GO(nl_data_file_open(format, file, &read, memory, &reader));
    for (uint32_t part = 0; part < reader->part_count; part++) {
        NL_GO(nl_data_scan_open(reader, part, memory, &scan));
        for (uint32_t row_count = 1; row_count > 0;) {
            nl_batch batch = {0};
            uint64_t first_row = 0;
            NL_GO(nl_data_scan_next(scan, &batch, &first_row));
            row_count = batch.row_count;
            status = row_count > 0 ? visit(argument, &batch) : NULL;
            nl_batch_fini(&batch);
            if (status) goto done;
        }
        nl_data_scan_close(scan);
        scan = NULL;
    }
done:
    nl_data_scan_close(scan);
    nl_data_reader_close(reader);
    return status;
}

nl_status nl_delete_file_read(nl_fs *fs, const nl_data_file *source, const nl_type *wanted, nl_memory *memory, nl_delete_visit visit, void *argument)
{
    nl_file *file = NULL;
    const nl_data_format *format = nl_data_format_of(source->format);
    NL_TRY(nl_data_format_check(source));
    NL_TRY(open_delete_file(fs, source, &file));
    nl_status status = format ? visit_data(format, file, wanted, memory, visit, argument) : visit_parquet(file, wanted, memory, visit, argument);
    nl_file_close(file);
    return status;
}

/* ---- position deletes ------------------------------------------------------------------------------------------ */

static int compare_paths(const void *a, const void *b)
{
    return nl_str_compare(((const path_positions *)a)->path, ((const path_positions *)b)->path);
}

/* Delete files are sorted by path, so a new path is nearly always a new run; runs of one path are joined in the end. */
static nl_status begin_run(cache_entry *entry, nl_str path, nl_deletion_vector **positions)
{
    if (entry->path_count == entry->path_capacity) {
        const uint32_t capacity = entry->path_capacity ? entry->path_capacity * 2 : 8;
        path_positions *paths = realloc(entry->paths, capacity * sizeof(*paths));
        if (!paths) return nl_out_of_memory(capacity * sizeof(*paths));
        entry->paths = paths;
        entry->path_capacity = capacity;
    }
    char *copy = strndup(path.data, path.length);
    nl_deletion_vector *vector = nl_deletion_vector_new();
    if (!copy || !vector) {
        free(copy);
        nl_deletion_vector_free(vector);
        return nl_out_of_memory(path.length);
    }
    entry->paths[entry->path_count++] = (path_positions){{copy, path.length}, vector};
    *positions = vector;
    return NULL;
}

static nl_status add_positions(void *argument, const nl_batch *batch)
{
    cache_entry *entry = argument;
    nl_reader paths, positions;
    nl_deletion_vector *vector = NULL;
    nl_str last = {0};
    nl_reader_init(&paths, &batch->columns[0]);
    nl_reader_init(&positions, &batch->columns[1]);
    const nl_string_view *path_values = paths.values;
    const int64_t *position_values = positions.values;
    for (uint32_t row = 0; row < batch->row_count; row++) {
        if (nl_reader_is_null(&paths, row) || nl_reader_is_null(&positions, row)) continue;
        const nl_str path = nl_view_str(&path_values[nl_reader_index(&paths, row)]);
        if (!vector || !nl_str_equal(path, last)) NL_TRY(begin_run(entry, path, &vector));
        last = path;
        NL_TRY(nl_deletion_vector_add(vector, position_values[nl_reader_index(&positions, row)]));
    }
    return NULL;
}

/* Sorted by path, one run each. */
static nl_status join_runs(cache_entry *entry)
{
    uint32_t kept = 0;
    if (entry->path_count > 1) qsort(entry->paths, entry->path_count, sizeof(*entry->paths), compare_paths);
    for (uint32_t i = 1; i < entry->path_count; i++) {
        if (!nl_str_equal(entry->paths[i].path, entry->paths[kept].path)) {
            const path_positions moved = entry->paths[++kept];
            entry->paths[kept] = entry->paths[i];
            if (kept != i) entry->paths[i] = moved; /* an emptied run, freed with the entry */
            continue;
        }
        NL_TRY(nl_deletion_vector_add_all(entry->paths[kept].positions, entry->paths[i].positions));
    }
    for (uint32_t i = kept + 1; i < entry->path_count; i++) {
        free((void *)(uintptr_t)entry->paths[i].path.data);
        nl_deletion_vector_free(entry->paths[i].positions);
    }
    if (entry->path_count > 0) entry->path_count = kept + 1;
    return NULL;
}

static nl_status load_positions(nl_delete_cache *cache, const nl_data_file *file, cache_entry *entry)
{
    const nl_field fields[] = {
        {.name = NL_STR("file_path"), .type = nl_type_string(), .field_id = NL_FIELD_ID_DELETE_FILE_PATH},
        {.name = NL_STR("pos"), .type = nl_type_bigint(), .field_id = NL_FIELD_ID_DELETE_FILE_POS},
    };
    nl_mutex_lock(&cache->mutex);
    const nl_type *wanted = nl_type_struct(cache->arena, fields, NL_COUNT(fields));
    nl_mutex_unlock(&cache->mutex);
    NL_TRY(nl_delete_file_read(cache->fs, file, wanted, cache->memory, add_positions, entry));
    return join_runs(entry);
}

/* ---- equality deletes ------------------------------------------------------------------------------------------ */

typedef struct key_collector {
    nl_column_builder **builders;
    uint32_t count;
} key_collector;

static nl_status add_keys(void *argument, const nl_batch *batch)
{
    key_collector *self = argument;
    for (uint32_t i = 0; i < self->count; i++)
        for (uint32_t row = 0; row < batch->row_count; row++)
            NL_TRY(nl_column_builder_row(self->builders[i], &batch->columns[i], row));
    return NULL;
}

static nl_status key_type(nl_delete_cache *cache, const nl_data_file *file, const nl_type **wanted)
{
    nl_field *fields = NL_NEW_ARRAY(cache->arena, nl_field, file->equality_id_count);
    for (uint32_t i = 0; i < file->equality_id_count; i++) {
        const nl_schema_column *column = nl_schema_find_id(cache->schema, file->equality_ids[i]);
        if (!column)
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The equality delete file " NL_STR_FMT " deletes by column id %d, which is not in the schema being read",
                                 NL_STR_ARG(file->path), file->equality_ids[i]);
        fields[i] = (nl_field){.name = column->field->name, .is_nullable = true, .field_id = file->equality_ids[i]};
        NL_TRY(nl_ice_type_to_sql(cache->arena, column->field->type, &fields[i].type));
    }
    *wanted = nl_type_struct(cache->arena, fields, file->equality_id_count);
    return NULL;
}

static nl_status fill_set(nl_delete_cache *cache, const nl_data_file *file, const nl_type *wanted, nl_equality_set *set)
{
    key_collector collector = {.builders = calloc(set->field_count + 1, sizeof(*collector.builders)), .count = set->field_count};
    nl_status status = collector.builders ? NULL : nl_out_of_memory(set->field_count);
    for (uint32_t i = 0; !status && i < set->field_count; i++)
        status = nl_column_builder_new(wanted->children[i].type, cache->memory, &collector.builders[i]);
    if (!status) status = nl_delete_file_read(cache->fs, file, wanted, cache->memory, add_keys, &collector);
    if (!status && set->field_count > 0) set->row_count = nl_column_builder_length(collector.builders[0]);
    for (uint32_t i = 0; collector.builders && i < set->field_count; i++) {
        if (!status) status = nl_column_builder_finish(collector.builders[i], &set->keys[i]);
        nl_column_builder_free(collector.builders[i]);
    }
    free(collector.builders);
    return status ? status : index_set(set);
}

static nl_status load_keys(nl_delete_cache *cache, const nl_data_file *file, cache_entry *entry)
{
    const nl_type *wanted = NULL;
    nl_mutex_lock(&cache->mutex);
    nl_status status = key_type(cache, file, &wanted);
    nl_mutex_unlock(&cache->mutex);
    if (status) return status;
    nl_equality_set *set = calloc(1, sizeof(*set));
    if (!set) return nl_out_of_memory(sizeof(*set));
    entry->set = set;
    set->field_count = file->equality_id_count;
    set->fields = calloc(set->field_count + 1, sizeof(*set->fields));
    set->keys = calloc(set->field_count + 1, sizeof(*set->keys));
    if (!set->fields || !set->keys) return nl_out_of_memory(set->field_count * sizeof(*set->keys));
    memcpy(set->fields, file->equality_ids, set->field_count * sizeof(*set->fields));
    return fill_set(cache, file, wanted, set);
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

static cache_entry *find_entry(nl_delete_cache *cache, nl_str path)
{
    cache_entry *entry = cache->buckets[nl_hash_bytes(path.data, path.length, 0) % CACHE_BUCKETS];
    while (entry && !nl_str_equal(entry->path, path))
        entry = entry->next;
    return entry;
}

/* The loaded entry of a delete file. Waits for another worker that is loading it; tries itself when that one failed. */
static nl_status get_entry(nl_delete_cache *cache, const nl_data_file *file, cache_entry **found)
{
    nl_mutex_lock(&cache->mutex);
    cache_entry *entry = find_entry(cache, file->path);
    while (entry && entry->state == ENTRY_LOADING)
        pthread_cond_wait(&cache->changed, &cache->mutex);
    if (entry && entry->state == ENTRY_LOADED) {
        nl_mutex_unlock(&cache->mutex);
        *found = entry;
        return NULL;
    }
    if (!entry) {
        entry = calloc(1, sizeof(*entry));
        if (!entry) {
            nl_mutex_unlock(&cache->mutex);
            return nl_out_of_memory(sizeof(*entry));
        }
        cache_entry **bucket = &cache->buckets[nl_hash_bytes(file->path.data, file->path.length, 0) % CACHE_BUCKETS];
        entry->path = file->path;
        entry->next = *bucket;
        *bucket = entry;
    }
    entry->state = ENTRY_LOADING;
    nl_mutex_unlock(&cache->mutex);
    nl_status status = file->content == NL_CONTENT_EQUALITY_DELETES ? load_keys(cache, file, entry) : load_positions(cache, file, entry);
    nl_mutex_lock(&cache->mutex);
    entry->state = status ? ENTRY_FAILED : ENTRY_LOADED;
    pthread_cond_broadcast(&cache->changed);
    nl_mutex_unlock(&cache->mutex);
    *found = entry;
    return status;
}

nl_status nl_delete_vector_read(nl_fs *fs, const nl_data_file *file, nl_memory *memory, nl_deletion_vector **vector)
{
    nl_file *input = NULL;
    nl_buffer *blob = NULL;
    const nl_range range = {.offset = (uint64_t)file->content_offset, .length = (uint64_t)file->content_size_bytes};
    if (file->content_offset < 0 || file->content_size_bytes < 0)
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "The deletion vector in " NL_STR_FMT " has no offset and size in its manifest", NL_STR_ARG(file->path));
    NL_TRY(open_delete_file(fs, file, &input));
    nl_status status = nl_file_read_ranges(input, &range, 1, memory, &blob);
    if (!status)
        status = nl_deletion_vector_parse((nl_bytes){blob->data, blob->size_bytes}, file->path, range.offset, file->record_count, vector);
    nl_buffer_release(blob);
    nl_file_close(input);
    return status;
}

static nl_status add_vector(nl_delete_cache *cache, const nl_data_file *file, nl_deletion_vector *positions)
{
    nl_deletion_vector *vector = NULL;
    NL_TRY(nl_delete_vector_read(cache->fs, file, cache->memory, &vector));
    nl_status status = nl_deletion_vector_add_all(positions, vector);
    nl_deletion_vector_free(vector);
    return status;
}

static nl_status add_file_positions(nl_delete_cache *cache, const nl_data_file *file, nl_str data_path, nl_deletion_vector *positions)
{
    cache_entry *entry = NULL;
    if (nl_data_file_is_deletion_vector(file)) return add_vector(cache, file, positions);
    NL_TRY(get_entry(cache, file, &entry));
    const path_positions key = {.path = data_path};
    const path_positions *found = entry->path_count ? bsearch(&key, entry->paths, entry->path_count, sizeof(key), compare_paths) : NULL;
    return found ? nl_deletion_vector_add_all(positions, found->positions) : NULL;
}

static nl_status load_all(nl_delete_cache *cache, const nl_file_task *task, nl_delete_filter *filter)
{
    for (uint32_t i = 0; i < task->delete_count; i++) {
        const nl_data_file *file = task->deletes[i];
        if (file->content == NL_CONTENT_EQUALITY_DELETES) {
            cache_entry *entry = NULL;
            NL_TRY_NOTE(get_entry(cache, file, &entry), "reading equality deletes " NL_STR_FMT, NL_STR_ARG(file->path));
            filter->sets[filter->set_count++] = entry->set;
            continue;
        }
        if (!filter->positions) filter->positions = nl_deletion_vector_new();
        if (!filter->positions) return nl_out_of_memory(1);
        NL_TRY_NOTE(add_file_positions(cache, file, task->file->path, filter->positions), "reading position deletes " NL_STR_FMT, NL_STR_ARG(file->path));
    }
    return NULL;
}

nl_status nl_delete_filter_load(nl_delete_cache *cache, const nl_file_task *task, nl_delete_filter *filter)
{
    *filter = (nl_delete_filter){0};
    if (task->delete_count == 0) return NULL;
    filter->sets = calloc(task->delete_count, sizeof(*filter->sets));
    nl_status status = filter->sets ? load_all(cache, task, filter) : nl_out_of_memory(task->delete_count);
    if (status) nl_delete_filter_fini(filter);
    return status;
}

void nl_delete_filter_fini(nl_delete_filter *filter)
{
    nl_deletion_vector_free(filter->positions);
    free(filter->sets);
    *filter = (nl_delete_filter){0};
}
