/* exec/sink/position_deletes.c - see position_deletes.h. */
#include "exec/sink/position_deletes.h"

#include <stdlib.h>

#include "base/hash.h"
#include "column/value.h"
#include "exec/engine.h"
#include "exec/source/delete_filter.h"
#include "format/puffin/puffin.h"

typedef struct file_positions {
    nl_str path; /* owned */
    nl_deletion_vector *positions;
    const nl_file_task *task; /* found when writing */
} file_positions;

struct nl_position_set {
    file_positions *files;
    uint32_t count, capacity;
    uint32_t *buckets; /* index + 1; open addressing */
    uint32_t bucket_mask;
};

nl_status nl_position_set_new(nl_position_set **set)
{
    enum { BUCKETS = 64 };
    nl_position_set *made = calloc(1, sizeof(*made));
    if (!made) return nl_out_of_memory(sizeof(*made));
    made->buckets = calloc(BUCKETS, sizeof(*made->buckets));
    made->bucket_mask = BUCKETS - 1;
    if (!made->buckets) {
        free(made);
        return nl_out_of_memory(BUCKETS * sizeof(*made->buckets));
    }
    *set = made;
    return NULL;
}

void nl_position_set_free(nl_position_set *set)
{
    if (!set) return;
    for (uint32_t i = 0; i < set->count; i++) {
        free((void *)(uintptr_t)set->files[i].path.data);
        nl_deletion_vector_free(set->files[i].positions);
    }
    free(set->files);
    free(set->buckets);
    free(set);
}

uint32_t nl_position_set_count(const nl_position_set *set)
{
    return set->count;
}

static uint32_t *bucket_of(const nl_position_set *set, nl_str path)
{
    uint32_t at = (uint32_t)nl_hash_bytes(path.data, path.length, 0) & set->bucket_mask;
    while (set->buckets[at] && !nl_str_equal(set->files[set->buckets[at] - 1].path, path))
        at = (at + 1) & set->bucket_mask;
    return &set->buckets[at];
}

static nl_status grow(nl_position_set *set)
{
    const uint32_t size = (set->bucket_mask + 1) * 2;
    uint32_t *buckets = calloc(size, sizeof(*buckets));
    file_positions *files = realloc(set->files, size / 2 * sizeof(*files));
    if (files) set->files = files;
    if (!buckets || !files) {
        free(buckets);
        return nl_out_of_memory(size * sizeof(*files));
    }
    free(set->buckets);
    set->buckets = buckets;
    set->bucket_mask = size - 1;
    set->capacity = size / 2;
    for (uint32_t i = 0; i < set->count; i++)
        *bucket_of(set, set->files[i].path) = i + 1;
    return NULL;
}

static nl_status positions_of(nl_position_set *set, nl_str path, nl_deletion_vector **positions)
{
    uint32_t *bucket = bucket_of(set, path);
    if (!*bucket) {
        if (set->count == set->capacity) {
            NL_TRY(grow(set));
            bucket = bucket_of(set, path);
        }
        char *copy = strndup(path.data, path.length);
        nl_deletion_vector *vector = nl_deletion_vector_new();
        if (!copy || !vector) {
            free(copy);
            nl_deletion_vector_free(vector);
            return nl_out_of_memory(path.length);
        }
        set->files[set->count] = (file_positions){.path = {copy, path.length}, .positions = vector};
        *bucket = ++set->count;
    }
    *positions = set->files[*bucket - 1].positions;
    return NULL;
}

nl_status nl_position_set_add(nl_position_set *set, const nl_vector *paths, const nl_vector *positions, nl_selection selection)
{
    nl_reader path_reader, position_reader;
    nl_deletion_vector *vector = NULL;
    nl_str last = {0};
    nl_reader_init(&path_reader, paths);
    nl_reader_init(&position_reader, positions);
    const nl_string_view *path_values = path_reader.values;
    const int64_t *position_values = position_reader.values;
    for (uint32_t i = 0; i < selection.count; i++) {
        const uint32_t row = nl_selection_row(selection, i);
        NL_CHECK(!nl_reader_is_null(&path_reader, row) && !nl_reader_is_null(&position_reader, row));
        const nl_str path = nl_view_str(&path_values[nl_reader_index(&path_reader, row)]);
        if (!vector || !nl_str_equal(path, last)) NL_TRY(positions_of(set, path, &vector));
        last = path;
        NL_TRY(nl_deletion_vector_add(vector, position_values[nl_reader_index(&position_reader, row)]));
    }
    return NULL;
}

nl_status nl_position_set_merge(nl_position_set *into, const nl_position_set *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        nl_deletion_vector *positions = NULL;
        NL_TRY(positions_of(into, from->files[i].path, &positions));
        NL_TRY(nl_deletion_vector_add_all(positions, from->files[i].positions));
    }
    return NULL;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

typedef struct delete_writing {
    nl_position_set *set;
    nl_write_target *target;
    nl_iceberg_table *table;
    nl_scan_plan *plan; /* the snapshot's files: where the positions belong */
    nl_arena *arena;
    nl_written_files *files;
    nl_list delete_files;   /* nl_data_file * */
    nl_list rewritten;      /* nl_data_file * */
    bool is_rewrite;
    const nl_type *file_type;
} delete_writing;

static nl_status find_tasks(delete_writing *self, const nl_snapshot *snapshot)
{
    const nl_scan_planning planning = {
        .fs = self->table->fs,
        .cache = self->table->manifest_cache,
        .metadata = self->target->metadata,
        .snapshot = snapshot,
        .schema = self->target->schema,
        .after_snapshot_id = NL_NONE,
        .pool = self->target->query->pool,
        .memory = self->target->query->memory,
    };
    NL_TRY(nl_scan_plan_new(&planning, &self->plan));
    for (uint32_t i = 0; i < self->plan->task_count; i++) {
        const uint32_t at = *bucket_of(self->set, self->plan->tasks[i].file->path);
        if (at) self->set->files[at - 1].task = &self->plan->tasks[i];
    }
    for (uint32_t i = 0; i < self->set->count; i++)
        if (!self->set->files[i].task && !self->is_rewrite)
            return NL_RAISE(INTERNAL_ERROR, NL_P("message", "a deleted row lies in a file that the snapshot does not have"));
    return NULL;
}

/* Deletes that speak of this data file alone are joined into the new file, so that they never pile up. A deletion vector
 * (takes_all) holds everything that is deleted: readers look at nothing else then. */
static nl_status take_over(delete_writing *self, file_positions *file, bool takes_all)
{
    bool has_scoped = false;
    nl_delete_cache *cache = NULL;
    nl_delete_filter filter = {0};
    nl_file_task scoped = *file->task;
    const nl_data_file **deletes = NL_NEW_ARRAY(self->arena, const nl_data_file *, scoped.delete_count);
    scoped.deletes = deletes;
    scoped.delete_count = 0;
    for (uint32_t i = 0; i < file->task->delete_count; i++) {
        const nl_data_file *candidate = file->task->deletes[i];
        if (candidate->content != NL_CONTENT_POSITION_DELETES || (!nl_data_file_referenced(candidate).data && !takes_all)) continue;
        deletes[scoped.delete_count++] = candidate;
        nl_data_file *copy = NL_NEW(self->arena, nl_data_file);
        *copy = nl_data_file_copy(self->arena, candidate, file->task->spec->field_count);
        if (nl_data_file_referenced(candidate).data) nl_list_add(self->arena, &self->rewritten, copy);
        has_scoped = true;
    }
    if (!has_scoped) return NULL;
    cache = nl_delete_cache_new(self->table->fs, self->target->schema, self->target->query->memory);
    nl_status status = cache ? nl_delete_filter_load(cache, &scoped, &filter) : nl_out_of_memory(1);
    if (!status && filter.positions) status = nl_deletion_vector_add_all(file->positions, filter.positions);
    nl_delete_filter_fini(&filter);
    nl_delete_cache_free(cache);
    return status;
}

static nl_status append_positions(const file_positions *file, nl_file_output *out, nl_memory *memory)
{
    int64_t next = 0;
    for (;;) {
        nl_batch batch = {0};
        NL_TRY(nl_batch_init(&batch, 2, 0));
        const nl_value path = nl_value_string(file->path);
        nl_status status = nl_vector_new_flat(&batch.columns[1], nl_type_bigint(), NL_BATCH_ROWS, memory);
        uint32_t count = 0;
        if (!status) count = nl_deletion_vector_positions(file->positions, &next, nl_vector_values(&batch.columns[1]), NL_BATCH_ROWS);
        batch.row_count = batch.columns[1].length = count;
        if (!status && count > 0) status = nl_vector_new_constant(&batch.columns[0], &path, count, memory);
        if (!status && count > 0) status = nl_file_output_append(out, &batch);
        nl_batch_fini(&batch);
        if (status || count == 0) return status;
    }
}

const nl_type *nl_position_delete_type(nl_arena *arena)
{
    const nl_field fields[] = {
        {.name = NL_STR("file_path"), .type = nl_type_string(), .is_nullable = false, .field_id = NL_FIELD_ID_DELETE_FILE_PATH},
        {.name = NL_STR("pos"), .type = nl_type_bigint(), .is_nullable = false, .field_id = NL_FIELD_ID_DELETE_FILE_POS},
    };
    return nl_type_struct(arena, fields, NL_COUNT(fields));
}

#define DELETE_SCHEMA_JSON                                                                                       \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["                                                           \
    "{\"id\":2147483546,\"name\":\"file_path\",\"required\":true,\"type\":\"string\","                              \
    "\"doc\":\"Path of a file in which a deleted row is stored\"},"                                              \
    "{\"id\":2147483545,\"name\":\"pos\",\"required\":true,\"type\":\"long\","                                      \
    "\"doc\":\"Ordinal position of a deleted row in the data file\"}]}"

#define DELETE_SCHEMA_AVRO                                                                                        \
    "{\"type\":\"record\",\"name\":\"table\",\"fields\":["                                                             \
    "{\"name\":\"file_path\",\"type\":\"string\",\"doc\":\"Path of a file in which a deleted row is stored\",\"field-id\":2147483546}," \
    "{\"name\":\"pos\",\"type\":\"long\",\"doc\":\"Ordinal position of a deleted row in the data file\",\"field-id\":2147483545}]}"

nl_status nl_position_delete_open(nl_output *output, const nl_type *type, const nl_file_output_options *given, nl_memory *memory, nl_file_output *out)
{
    const nl_parquet_key_value key_values[] = {{NL_STR("iceberg.schema"), NL_STR(DELETE_SCHEMA_JSON)}, {NL_STR("delete-type"), NL_STR("position")}};
    static const nl_data_pair pairs[] = {{NL_STR_INIT("delete-type"), NL_STR_INIT("position")}, {NL_STR_INIT("iceberg.schema"), NL_STR_INIT(DELETE_SCHEMA_JSON)}};
    nl_file_output_options options = *given;
    options.parquet.columns = NULL;
    options.parquet.column_count = 0;
    options.parquet.key_values = key_values;
    options.parquet.key_value_count = NL_COUNT(key_values);
    options.data.avro_schema = NL_STR(DELETE_SCHEMA_AVRO);
    options.data.metadata = pairs;
    options.data.metadata_count = NL_COUNT(pairs);
    return nl_file_output_open(output, type, &options, memory, out);
}

static nl_status write_file(delete_writing *self, file_positions *const *group, uint32_t count)
{
    nl_write_target *target = self->target;
    nl_written_file written;
    nl_file_output out = {0};
    nl_output *output = NULL;
    nl_str path;
    NL_TRY(nl_write_target_path(target, group[0]->task->spec, group[0]->task->file->partition, NL_WRITTEN_DELETES, &path));
    NL_TRY(nl_fs_create(target->fs, path, &output));
    NL_TRY(nl_position_delete_open(output, self->file_type, &target->deletes, target->query->memory, &out));
    for (uint32_t i = 0; i < count; i++) {
        nl_status status = append_positions(group[i], &out, target->query->memory);
        if (status) {
            nl_file_output_abort(&out);
            return status;
        }
    }
    NL_TRY_NOTE(nl_file_output_close(&out, self->arena, &written), "writing " NL_STR_FMT, NL_STR_ARG(path));
    nl_data_file *file = NL_NEW(self->arena, nl_data_file);
    const nl_file_task *task = group[0]->task;
    const nl_data_file copy = nl_data_file_copy(self->arena, task->file, task->spec->field_count);
    NL_TRY(nl_data_file_of_written(target->metadata, &written, path, task->spec, copy.partition, true, self->arena, file));
    file->format = target->deletes.format;
    nl_list_add(self->arena, &self->delete_files, file);
    return NULL;
}

/* ---- deletion vectors (v3): all of a statement in one Puffin file ------------------------------------------------ */

static nl_status add_vector(delete_writing *self, const file_positions *positions, nl_str path, nl_puffin_writer *writer)
{
    static const int32_t fields[] = {NL_FIELD_ID_POS};
    nl_buffer *blob = NULL;
    const int64_t cardinality = (int64_t)nl_deletion_vector_cardinality(positions->positions);
    const nl_puffin_property properties[] = {
        {NL_STR("referenced-data-file"), positions->path},
        {NL_STR("cardinality"), nl_arena_f(self->arena, "%lld", (long long)cardinality)},
    };
    nl_puffin_blob head = {.type = NL_STR("deletion-vector-v1"),
                           .fields = fields,
                           .field_count = NL_COUNT(fields),
                           .snapshot_id = -1,
                           .sequence_number = -1,
                           .codec = NL_CODEC_NONE,
                           .properties = properties,
                           .property_count = NL_COUNT(properties)};
    NL_TRY(nl_deletion_vector_serialize(positions->positions, self->target->query->memory, &blob));
    nl_status status = nl_puffin_writer_add(writer, (nl_bytes){blob->data, blob->size_bytes}, &head);
    nl_buffer_release(blob);
    if (status) return status;
    const nl_file_task *task = positions->task;
    const nl_data_file copy = nl_data_file_copy(self->arena, task->file, task->spec->field_count);
    nl_data_file *file = NL_NEW(self->arena, nl_data_file);
    *file = (nl_data_file){
        .content = NL_CONTENT_POSITION_DELETES,
        .format = NL_FORMAT_PUFFIN,
        .path = path,
        .spec_id = task->spec->spec_id,
        .partition = copy.partition,
        .record_count = cardinality,
        .sort_order_id = NL_NONE,
        .first_row_id = NL_NONE,
        .referenced_data_file = copy.path,
        .content_offset = (int64_t)head.offset,
        .content_size_bytes = (int64_t)head.length,
    };
    nl_list_add(self->arena, &self->delete_files, file);
    return nl_arena_check(self->arena);
}

static nl_status write_vectors(delete_writing *self, file_positions *const *order, uint32_t count)
{
    nl_write_target *target = self->target;
    nl_puffin_writer *writer = NULL;
    nl_output *output = NULL;
    nl_str path;
    uint64_t file_bytes = 0;
    NL_TRY(nl_write_target_path(target, NULL, NULL, NL_WRITTEN_VECTORS, &path));
    NL_TRY(nl_fs_create(target->fs, path, &output));
    NL_TRY(nl_puffin_writer_create(output, target->query->memory, &writer));
    for (uint32_t i = 0; i < count; i++) {
        nl_status status = add_vector(self, order[i], path, writer);
        if (status) {
            nl_puffin_writer_abort(writer);
            return status;
        }
    }
    NL_TRY_NOTE(nl_puffin_writer_close(writer, (nl_str){0}, &file_bytes, NULL), "writing " NL_STR_FMT, NL_STR_ARG(path));
    for (uint32_t i = 0; i < self->delete_files.count; i++)
        ((nl_data_file *)self->delete_files.items[i])->file_size_bytes = (int64_t)file_bytes;
    return NULL;
}

static int by_partition_then_path(const void *a, const void *b)
{
    const file_positions *left = *(file_positions *const *)a, *right = *(file_positions *const *)b;
    if (left->task->spec->spec_id != right->task->spec->spec_id) return left->task->spec->spec_id < right->task->spec->spec_id ? -1 : 1;
    const uint64_t left_hash = nl_partition_hash(left->task->file->partition, left->task->spec->field_count);
    const uint64_t right_hash = nl_partition_hash(right->task->file->partition, right->task->spec->field_count);
    if (left_hash != right_hash) return left_hash < right_hash ? -1 : 1;
    return nl_str_compare(left->path, right->path);
}

static bool is_same_partition(const file_positions *a, const file_positions *b)
{
    return a->task->spec == b->task->spec && nl_partition_equal(a->task->file->partition, b->task->file->partition, a->task->spec->field_count);
}

static nl_status write_all(delete_writing *self, bool is_by_partition)
{
    file_positions **order = NL_NEW_ARRAY(self->arena, file_positions *, self->set->count);
    uint32_t count = 0;
    const bool is_vector = self->target->metadata->format_version >= 3;
    if (is_vector) is_by_partition = false;
    self->file_type = nl_position_delete_type(self->arena);
    for (uint32_t i = 0; i < self->set->count; i++) {
        if (!self->set->files[i].task) continue; /* is_rewrite: of a data file that is gone */
        order[count++] = &self->set->files[i];
        if (!is_by_partition && !self->is_rewrite) NL_TRY(take_over(self, &self->set->files[i], is_vector));
    }
    if (count > 1) qsort(order, count, sizeof(*order), by_partition_then_path);
    if (is_vector) return count > 0 ? write_vectors(self, order, count) : NULL;
    for (uint32_t begin = 0; begin < count;) {
        uint32_t end = begin + 1;
        while (is_by_partition && end < count && is_same_partition(order[begin], order[end]))
            end++;
        NL_TRY(write_file(self, order + begin, end - begin));
        begin = end;
    }
    return NULL;
}

nl_status nl_position_set_write(nl_position_set *set, nl_write_target *target, nl_iceberg_table *table, const nl_snapshot *snapshot, bool is_by_partition,
                                bool is_rewrite, nl_arena *arena, nl_written_files *files)
{
    delete_writing self = {.set = set, .target = target, .table = table, .arena = arena, .files = files, .is_rewrite = is_rewrite};
    if (set->count == 0) return NULL;
    nl_status status = find_tasks(&self, snapshot);
    if (!status) status = write_all(&self, is_by_partition);
    if (!status) {
        files->delete_files = NL_NEW_ARRAY(arena, nl_data_file, self.delete_files.count);
        for (uint32_t i = 0; i < self.delete_files.count; i++)
            files->delete_files[files->delete_file_count++] = *(const nl_data_file *)self.delete_files.items[i];
        files->rewritten_delete_files = NL_NEW_ARRAY(arena, nl_data_file, self.rewritten.count);
        for (uint32_t i = 0; i < self.rewritten.count; i++)
            files->rewritten_delete_files[files->rewritten_delete_file_count++] = *(const nl_data_file *)self.rewritten.items[i];
    }
    nl_scan_plan_release(self.plan);
    return status;
}
