/* Rows into plain files of a folder: INSERT OVERWRITE DIRECTORY, tables of the session catalog. Files are written into a folder of their own inside it
 * and move to their place when all are there, so that a failure leaves what was there before. */
#include "exec/sinks.h"

#include <stdlib.h>

#include "base/lock.h"
#include "base/uuid.h"
#include "exec/source/plain_files.h"
#include "format/csv/csv_writer.h"
#include "format/json/json_writer.h"
#include "format/orc/data_format.h"
#include "format/orc/writer.h"
#include "format/parquet/writer.h"
#include "format/text/plain_text.h"
#include "format/xml/xml_writer.h"

typedef enum file_kind { KIND_PARQUET, KIND_CSV, KIND_JSON, KIND_TEXT, KIND_XML, KIND_ORC } file_kind;

#define OPEN_FILES_MAX 32u /* of a worker: when a further partition comes, all are closed, and those that come again get one more file */

typedef struct file_writer { /* made with its first rows */
    bool is_open;
    bool has_rows;
    nl_str name; /* with its partition's folder in front */
    nl_parquet_writer *parquet;
    nl_csv_writer *csv;
    nl_json_writer *json;
    nl_plain_text_writer *text;
    nl_xml_writer *xml;
    nl_data_output *orc;
} file_writer;

typedef struct partition_file { /* of one worker */
    nl_str folder; /* in the sink's arena, escaped */
    uint32_t file_count;
    file_writer writer;
} partition_file;

typedef struct worker_files {
    file_writer only;        /* without partitions */
    nl_list partitions;      /* partition_file *, sorted by folder */
    uint32_t open_count;
} worker_files;

typedef struct file_sink {
    nl_parallel_sink base;
    nl_query *query;
    nl_arena *arena; /* owned */
    nl_fs *fs;       /* counted */
    file_kind kind;
    const nl_type *row_type;
    nl_str folder, staging;
    bool is_direct;    /* staging is the folder itself: files have their place at once, and names of this query alone */
    bool is_replacing; /* what was there before is going: nothing of the new is taken away any more */
    nl_str query_id;
    nl_parquet_write_options parquet;
    nl_csv_options csv;
    nl_json_file_options json;
    nl_plain_text_options text;
    nl_xml_options xml;
    nl_data_write orc;
    nl_codec orc_codec;
    nl_file_layout layout;
    const nl_field *partition_fields;
    nl_mutex mutex; /* guards the arena once workers run */
    worker_files *workers;
    uint32_t worker_count;
} file_sink;

static file_sink *of(nl_parallel_sink *base)
{
    return NL_CONTAINER(base, file_sink, base);
}

/* ---- one file ---- */

static nl_text_compression compression_of(const file_sink *self)
{
    if (self->kind == KIND_TEXT) return self->text.formats.compression;
    if (self->kind == KIND_XML) return self->xml.formats.compression;
    return self->kind == KIND_CSV ? self->csv.formats.compression : self->json.formats.compression;
}

/* number: the worker's; part: of one worker's files in one folder. */
static nl_str file_name(const file_sink *self, uint32_t number, uint32_t part)
{
    static const char *const ends[] = {[KIND_CSV] = "csv", [KIND_JSON] = "json", [KIND_TEXT] = "txt", [KIND_XML] = "xml"};
    if (self->kind == KIND_PARQUET) return nl_arena_f(self->arena, "part-%05u-" NL_STR_FMT "-c%03u.parquet", number, NL_STR_ARG(self->query_id), part);
    if (self->kind == KIND_ORC) return nl_arena_f(self->arena, "part-%05u-" NL_STR_FMT "-c%03u%s.orc", number, NL_STR_ARG(self->query_id), part, nl_orc_codec_ending(self->orc_codec));
    return nl_arena_f(self->arena, "part-%05u-" NL_STR_FMT "-c%03u.%s%s", number, NL_STR_ARG(self->query_id), part, ends[self->kind],
                      nl_text_compression_suffix(compression_of(self)));
}

static nl_status open_writer(file_sink *self, file_writer *writer)
{
    const nl_str path = nl_path_join(self->arena, self->staging, writer->name);
    nl_memory *memory = self->query->memory;
    nl_status status;
    if (self->kind == KIND_PARQUET) {
        nl_output *output = NULL;
        NL_TRY(nl_fs_create(self->fs, path, &output));
        status = nl_parquet_writer_create(output, self->row_type, &self->parquet, memory, &writer->parquet);
    } else if (self->kind == KIND_ORC) {
        nl_output *output = NULL;
        NL_TRY(nl_fs_create(self->fs, path, &output));
        status = nl_data_output_create(&nl_orc_plain_format, output, &self->orc, memory, &writer->orc);
    } else if (self->kind == KIND_CSV) {
        status = nl_csv_writer_open(self->fs, path, self->row_type, &self->csv, memory, &writer->csv);
    } else if (self->kind == KIND_TEXT) {
        status = nl_plain_text_writer_open(self->fs, path, &self->text, memory, &writer->text);
    } else if (self->kind == KIND_XML) {
        status = nl_xml_writer_open(self->fs, path, self->row_type, &self->xml, memory, &writer->xml);
    } else {
        status = nl_json_writer_open(self->fs, path, self->row_type, &self->json, memory, &writer->json);
    }
    writer->is_open = !status;
    return status;
}

static nl_status close_writer(file_sink *self, file_writer *writer)
{
    if (!writer->is_open) return NULL;
    writer->is_open = false;
    nl_parquet_written written;
    nl_arena *scratch = nl_arena_new(self->query->memory); /* workers close at the same time */
    nl_status status = self->kind == KIND_PARQUET ? nl_parquet_writer_close(writer->parquet, scratch, &written)
                       : self->kind == KIND_ORC   ? nl_data_output_finish(writer->orc, scratch, &written)
                       : self->kind == KIND_CSV   ? nl_csv_writer_close(writer->csv)
                       : self->kind == KIND_TEXT  ? nl_plain_text_writer_close(writer->text)
                       : self->kind == KIND_XML   ? nl_xml_writer_close(writer->xml)
                                                  : nl_json_writer_close(writer->json);
    nl_arena_free(scratch);
    return status;
}

static void abort_writer(file_sink *self, file_writer *writer)
{
    if (!writer->is_open) return;
    writer->is_open = false;
    if (self->kind == KIND_PARQUET) nl_parquet_writer_abort(writer->parquet);
    if (self->kind == KIND_CSV) nl_csv_writer_abort(writer->csv);
    if (self->kind == KIND_JSON) nl_json_writer_abort(writer->json);
    if (self->kind == KIND_TEXT) nl_plain_text_writer_abort(writer->text);
    if (self->kind == KIND_XML) nl_xml_writer_abort(writer->xml);
    if (self->kind == KIND_ORC) nl_data_output_abort(writer->orc);
}

/* ---- partitions ---- */

/* Where the folder is, or belongs, among the worker's partitions. */
static uint32_t find_partition(const worker_files *worker, nl_str folder, bool *is_there)
{
    uint32_t low = 0, high = worker->partitions.count;
    *is_there = false;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = nl_str_compare(((const partition_file *)worker->partitions.items[middle])->folder, folder);
        if (order == 0) *is_there = true;
        if (order == 0) return middle;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static partition_file *partition_of(file_sink *self, worker_files *worker, nl_str folder)
{
    bool is_there;
    const uint32_t at = find_partition(worker, folder, &is_there);
    if (is_there) return worker->partitions.items[at];
    nl_mutex_lock(&self->mutex);
    partition_file *made = NL_NEW(self->arena, partition_file);
    made->folder = nl_arena_str(self->arena, folder);
    nl_list_add(self->arena, &worker->partitions, made);
    nl_mutex_unlock(&self->mutex);
    memmove(&worker->partitions.items[at + 1], &worker->partitions.items[at], (worker->partitions.count - 1 - at) * sizeof(void *));
    worker->partitions.items[at] = made;
    return made;
}

static nl_status close_partitions(file_sink *self, worker_files *worker)
{
    nl_status status = NULL;
    for (uint32_t i = 0; i < worker->partitions.count; i++) {
        file_writer *writer = &((partition_file *)worker->partitions.items[i])->writer;
        if (!writer->is_open) continue;
        if (!status) status = close_writer(self, writer);
        else abort_writer(self, writer);
    }
    worker->open_count = 0;
    return status;
}

static nl_status open_partition(file_sink *self, worker_files *worker, uint32_t number, partition_file *file)
{
    if (worker->open_count == OPEN_FILES_MAX) NL_TRY(close_partitions(self, worker));
    nl_mutex_lock(&self->mutex); /* the arena is everybody's */
    file->writer.name = nl_path_join(self->arena, file->folder, file_name(self, number, file->file_count++));
    const nl_str folder = nl_path_join(self->arena, self->staging, file->folder);
    nl_status status = nl_arena_check(self->arena);
    nl_mutex_unlock(&self->mutex);
    if (!status) status = nl_fs_make_directory(self->fs, folder);
    if (!status) status = open_writer(self, &file->writer);
    worker->open_count += !status;
    return status;
}

static nl_status write_rows(file_sink *self, file_writer *writer, const nl_batch *rows)
{
    nl_batch written = *rows;
    written.column_count = self->row_type->child_count;
    writer->has_rows = true;
    if (self->kind == KIND_PARQUET) return nl_parquet_writer_append(writer->parquet, &written);
    if (self->kind == KIND_ORC) return nl_data_output_append(writer->orc, &written);
    if (self->kind == KIND_CSV) return nl_csv_writer_write(writer->csv, &written);
    if (self->kind == KIND_TEXT) return nl_plain_text_writer_write(writer->text, &written);
    if (self->kind == KIND_XML) return nl_xml_writer_write(writer->xml, &written);
    return nl_json_writer_write(writer->json, &written);
}

static nl_status write_selected(file_sink *self, file_writer *writer, const nl_batch *rows, const uint32_t *selected, uint32_t count)
{
    nl_memory *memory = self->query->memory;
    nl_batch part = {0};
    if (count == rows->row_count) return write_rows(self, writer, rows);
    NL_TRY(nl_batch_ref(rows, &part));
    nl_status status = nl_buffer_new(memory, count * sizeof(*selected), false, &part.selection);
    if (!status) {
        memcpy(part.selection->data, selected, count * sizeof(*selected));
        part.is_selective = true;
        part.selected_count = count;
        status = nl_batch_compact(&part, memory);
    }
    if (!status) status = write_rows(self, writer, &part);
    nl_batch_fini(&part);
    return status;
}

/* The rows of a batch by partition, in the order in which each came first. */
typedef struct row_parts {
    partition_file **files;
    uint32_t *file_of; /* per row: index into files */
    uint32_t *counts;
    uint32_t count;
} row_parts;

static nl_status part_rows(file_sink *self, worker_files *worker, const nl_batch *rows, nl_arena *arena, row_parts *parts)
{
    const uint32_t key_count = self->layout.partition_count, first = self->row_type->child_count;
    nl_value *values = NL_NEW_ARRAY(arena, nl_value, key_count);
    nl_builder folder;
    nl_builder_init(&folder, 1 << 20);
    parts->files = NL_NEW_ARRAY(arena, partition_file *, rows->row_count);
    parts->file_of = NL_NEW_ARRAY(arena, uint32_t, rows->row_count);
    parts->counts = NL_NEW_ARRAY(arena, uint32_t, rows->row_count);
    nl_status status = nl_arena_check(arena);
    for (uint32_t row = 0; !status && row < rows->row_count; row++) {
        for (uint32_t i = 0; i < key_count; i++) values[i] = nl_vector_value(&rows->columns[first + i], row, arena);
        nl_builder_clear(&folder);
        status = nl_plain_append_folder(self->partition_fields, values, key_count, self->query->confs, &folder);
        if (status) break;
        uint32_t at = row > 0 ? parts->file_of[row - 1] : 0; /* neighbours are often of one partition */
        if (row == 0 || !nl_str_equal(parts->files[at]->folder, nl_builder_str(&folder))) {
            partition_file *file = partition_of(self, worker, nl_builder_str(&folder));
            for (at = 0; at < parts->count && parts->files[at] != file;) at++;
            if (at == parts->count) parts->files[parts->count++] = file;
        }
        parts->file_of[row] = at;
        parts->counts[at]++;
    }
    nl_builder_fini(&folder);
    return status;
}

static nl_status write_parts(file_sink *self, worker_files *worker, uint32_t number, const nl_batch *rows, nl_arena *arena)
{
    row_parts parts = {0};
    NL_TRY(part_rows(self, worker, rows, arena, &parts));
    uint32_t *starts = NL_NEW_ARRAY(arena, uint32_t, parts.count + 1), *order = NL_NEW_ARRAY(arena, uint32_t, rows->row_count);
    uint32_t *next = NL_NEW_ARRAY(arena, uint32_t, parts.count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < parts.count; i++) next[i + 1] = starts[i + 1] = starts[i] + parts.counts[i];
    for (uint32_t row = 0; row < rows->row_count; row++) order[next[parts.file_of[row]]++] = row;
    for (uint32_t i = 0; i < parts.count; i++) {
        file_writer *writer = &parts.files[i]->writer;
        if (!writer->is_open) NL_TRY(open_partition(self, worker, number, parts.files[i]));
        NL_TRY(write_selected(self, writer, rows, order + starts[i], parts.counts[i]));
    }
    return NULL;
}

/* ---- the sink ---- */

static nl_status start(nl_parallel_sink *base, uint32_t worker_count)
{
    file_sink *self = of(base);
    self->workers = NL_NEW_ARRAY(self->arena, worker_files, worker_count + 1);
    self->worker_count = worker_count;
    for (uint32_t i = 0; i < worker_count; i++) self->workers[i].only.name = file_name(self, i, 0);
    return nl_arena_check(self->arena);
}

static nl_status consume(nl_parallel_sink *base, uint32_t worker, nl_batch *batch)
{
    file_sink *self = of(base);
    file_writer *writer = &self->workers[worker].only;
    if (batch->row_count == 0) return NULL;
    if (self->layout.partition_count == 0) {
        if (!writer->is_open) NL_TRY(open_writer(self, writer));
        return write_rows(self, writer, batch);
    }
    NL_TRY(nl_batch_compact(batch, self->query->memory));
    nl_arena *arena = nl_arena_new(self->query->memory);
    nl_status status = write_parts(self, &self->workers[worker], worker, batch, arena);
    nl_arena_free(arena);
    return status;
}

static nl_status finish_worker(nl_parallel_sink *base, uint32_t worker)
{
    file_sink *self = of(base);
    NL_TRY(close_writer(self, &self->workers[worker].only));
    return close_partitions(self, &self->workers[worker]);
}

static void abort_all(file_sink *self)
{
    for (uint32_t i = 0; i < self->worker_count; i++) {
        const worker_files *worker = &self->workers[i];
        abort_writer(self, &self->workers[i].only);
        for (uint32_t j = 0; j < worker->partitions.count; j++) abort_writer(self, &((partition_file *)worker->partitions.items[j])->writer);
    }
}

static void free_sink(file_sink *self)
{
    abort_all(self);
    nl_parquet_encoders_free(self->parquet.encoders);
    nl_fs_release(self->fs);
    nl_mutex_fini(&self->mutex);
    nl_arena_free(self->arena);
    free(self);
}

static int compare_texts(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

void nl_file_sink_folders(nl_parallel_sink *sink, nl_arena *arena, const nl_str **folders, uint32_t *folder_count)
{
    const file_sink *self = of(sink);
    uint32_t count = 0, kept = 0;
    for (uint32_t i = 0; i < self->worker_count; i++) count += self->workers[i].partitions.count;
    nl_str *list = NL_NEW_ARRAY(arena, nl_str, count + 1);
    for (uint32_t i = 0, at = 0; i < self->worker_count; i++)
        for (uint32_t j = 0; j < self->workers[i].partitions.count; j++) list[at++] = nl_arena_str(arena, ((const partition_file *)self->workers[i].partitions.items[j])->folder);
    if (count > 1) qsort(list, count, sizeof(*list), compare_texts);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || !nl_str_equal(list[i], list[kept - 1])) list[kept++] = list[i];
    *folders = list;
    *folder_count = kept;
}

/* ---- publishing ---- */

typedef struct entry_list {
    file_sink *self;
    nl_list infos; /* nl_file_info * */
} entry_list;

static nl_status note_entry(void *argument, const nl_file_info *info)
{
    entry_list *entries = argument;
    nl_arena *arena = entries->self->arena;
    nl_file_info *kept = NL_NEW(arena, nl_file_info);
    *kept = *info;
    kept->path = nl_arena_str(arena, info->path);
    nl_list_add(arena, &entries->infos, kept);
    return nl_arena_check(arena);
}

static bool is_ours(const file_sink *self, nl_str path)
{
    return nl_str_find(nl_path_name(path), self->query_id, 0) != NL_NOT_FOUND; /* the staging folder, or a file at its place */
}

/* What stood in the folder before. */
static nl_status remove_old(file_sink *self)
{
    entry_list old = {.self = self};
    uint64_t removed_count = 0;
    uint32_t file_count = 0;
    NL_TRY(nl_fs_list(self->fs, self->folder, false, note_entry, &old));
    nl_str *files = NL_NEW_ARRAY(self->arena, nl_str, old.infos.count + 1);
    for (uint32_t i = 0; i < old.infos.count; i++) {
        const nl_file_info *info = old.infos.items[i];
        if (is_ours(self, info->path)) continue;
        if (!info->is_directory)
            files[file_count++] = info->path;
        else
            NL_TRY(nl_fs_remove_tree(self->fs, info->path));
    }
    return nl_fs_remove_many(self->fs, files, file_count, &removed_count);
}

static nl_status remove_folders(file_sink *self, const nl_str *folders, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) NL_TRY(nl_fs_remove_tree(self->fs, nl_path_join(self->arena, self->folder, folders[i])));
    return NULL;
}

static nl_status make_room(file_sink *self, const nl_str *folders, uint32_t folder_count)
{
    if (self->layout.mode == NL_FILES_ADDED) return NULL;
    self->is_replacing = true;
    if (self->layout.mode == NL_FILES_REPLACED_BY_FOLDER) return remove_folders(self, folders, folder_count);
    return self->layout.partition_count && self->layout.removed ? remove_folders(self, self->layout.removed, self->layout.removed_count) : remove_old(self);
}

static nl_status move_files(file_sink *self, nl_str from_folder, nl_str to_folder)
{
    entry_list made = {.self = self};
    NL_TRY(nl_fs_list(self->fs, from_folder, false, note_entry, &made));
    for (uint32_t i = 0; i < made.infos.count; i++) {
        const nl_str from = ((const nl_file_info *)made.infos.items[i])->path;
        const nl_str name = nl_str_slice(from, from_folder.length + 1, from.length);
        NL_TRY(nl_fs_rename(self->fs, from, nl_path_join(self->arena, to_folder, name), true));
    }
    return NULL;
}

static nl_status publish(file_sink *self)
{
    const nl_str *folders;
    uint32_t folder_count;
    nl_file_sink_folders(&self->base, self->arena, &folders, &folder_count);
    NL_TRY(make_room(self, folders, folder_count));
    if (self->layout.partition_count == 0 && !self->is_direct) NL_TRY(move_files(self, self->staging, self->folder));
    for (uint32_t i = 0; i < folder_count; i++) {
        const nl_str to = nl_path_join(self->arena, self->folder, folders[i]);
        NL_TRY(nl_fs_make_directory(self->fs, to));
        NL_TRY(move_files(self, nl_path_join(self->arena, self->staging, folders[i]), to));
    }
    if (!self->is_direct) NL_TRY(nl_fs_remove_tree(self->fs, self->staging));
    return nl_fs_write_all(self->fs, nl_path_join(self->arena, self->folder, NL_STR("_SUCCESS")), (nl_bytes){0});
}

/* Of a query that failed. */
static void remove_ours(file_sink *self)
{
    if (self->is_replacing) return;
    if (!self->is_direct) {
        nl_error_free(nl_fs_remove_tree(self->fs, self->staging));
        return;
    }
    for (uint32_t i = 0; i < NL_MAX(self->worker_count, 1u); i++)
        nl_error_free(nl_fs_remove(self->fs, nl_path_join(self->arena, self->folder, file_name(self, i, 0))));
}

/* A result without rows still leaves one file: it tells the columns. */
static nl_status finish(file_sink *self)
{
    if (self->layout.partition_count > 0) return NULL;
    for (uint32_t i = 0; i < self->worker_count; i++)
        if (self->workers[i].only.has_rows) return NULL;
    file_writer only = {.name = file_name(self, 0, 0)};
    NL_TRY(open_writer(self, &only));
    return close_writer(self, &only);
}

nl_status nl_file_sink_finish(nl_parallel_sink *sink)
{
    file_sink *self = of(sink);
    nl_status status = finish(self);
    if (!status) status = publish(self);
    if (status) {
        nl_file_sink_discard(sink);
        return status;
    }
    free_sink(self);
    return NULL;
}

void nl_file_sink_discard(nl_parallel_sink *sink)
{
    if (!sink) return;
    file_sink *self = of(sink);
    abort_all(self);
    remove_ours(self);
    free_sink(self);
}

/* ---- making ---- */

static nl_str option(const nl_property *options, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is_nocase(options[i].key, key)) return options[i].value;
    return (nl_str){0};
}

/* Columns of other types are complained about before there being several of them. */
static nl_status check_text_type(const file_sink *self)
{
    for (uint32_t i = 0; i < self->row_type->child_count; i++) {
        const nl_field *field = &self->row_type->children[i];
        if (field->type->id == NL_TYPE_STRING) continue;
        return NL_RAISE(UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE, NL_P_STR("format", NL_STR("Text")),
                        NL_P_STR("columnName", nl_arena_f(self->arena, "`" NL_STR_FMT "`", NL_STR_ARG(field->name))),
                        NL_P_STR("columnType", nl_arena_f(self->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(self->arena, field->type)))));
    }
    return self->row_type->child_count == 1 ? NULL : NL_RAISE(_LEGACY_ERROR_TEMP_1290, NL_P_INT("schemaSize", self->row_type->child_count));
}

static nl_status parse_orc_options(file_sink *self, const nl_property *options, uint32_t count)
{
    nl_str codec = option(options, count, "compression");
    nl_data_pair *version = NL_NEW(self->arena, nl_data_pair);
    if (!codec.length) codec = option(options, count, "orc.compress");
    *version = (nl_data_pair){NL_STR("org.apache.spark.version"), nl_arena_str(self->arena, self->query->confs->version)};
    self->orc = (nl_data_write){.type = self->row_type, .codec = nl_arena_str(self->arena, codec.length ? codec : NL_STR("zstd")), .metadata = version, .metadata_count = 1};
    NL_TRY(nl_orc_codec_find(self->orc.codec, &self->orc_codec));
    return nl_orc_check_type(self->row_type);
}

static nl_status parse_options(file_sink *self, const nl_property *options, uint32_t count)
{
    if (self->kind == KIND_PARQUET) {
        const nl_str codec = option(options, count, "compression");
        self->parquet = nl_parquet_write_options_default();
        self->parquet.root_name = NL_STR("spark_schema");
        self->parquet.writes_checksums = true;
        NL_TRY(nl_parquet_encoders_new(self->query->memory, &self->parquet.encoders));
        return nl_parquet_codec_find(codec.length ? codec : NL_STR("snappy"), &self->parquet.codec);
    }
    if (self->kind == KIND_ORC) return parse_orc_options(self, options, count);
    const nl_text_session session = {.zone = self->query->confs->zone};
    nl_text_option *items = NL_NEW_ARRAY(self->arena, nl_text_option, count + 1);
    for (uint32_t i = 0; i < count; i++)
        items[i] = (nl_text_option){nl_arena_str(self->arena, options[i].key), nl_arena_str(self->arena, options[i].value)};
    const nl_text_option_list list = {items, count};
    if (self->kind == KIND_CSV) {
        NL_TRY(nl_csv_options_parse(list, &session, NL_TEXT_WRITE, self->arena, &self->csv));
        return nl_csv_check_type(self->row_type);
    }
    if (self->kind == KIND_TEXT) {
        NL_TRY(nl_plain_text_options_parse(list, &session, NL_TEXT_WRITE, self->arena, &self->text));
        return check_text_type(self);
    }
    if (self->kind == KIND_XML) {
        NL_TRY(nl_xml_file_options_parse(list, &session, NL_TEXT_WRITE, self->arena, &self->xml));
        return nl_xml_check_type(self->row_type);
    }
    NL_TRY(nl_json_options_parse(list, &session, NL_TEXT_WRITE, self->arena, &self->json));
    return nl_json_check_type(self->row_type);
}

static nl_status prepare(file_sink *self, nl_str folder, const nl_type *row_type, const nl_property *options, uint32_t option_count)
{
    uint8_t bytes[16];
    char text[NL_UUID_TEXT_LENGTH];
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, text);
    self->query_id = nl_arena_str(self->arena, (nl_str){text, sizeof text});
    NL_CHECK(row_type->child_count > self->layout.partition_count || self->layout.partition_count == 0);
    const nl_type *whole = nl_type_copy(self->arena, row_type);
    self->row_type = nl_type_struct(self->arena, whole->children, whole->child_count - self->layout.partition_count);
    self->partition_fields = whole->children + self->row_type->child_count;
    NL_TRY(parse_options(self, options, option_count));
    NL_TRY(nl_plain_path_absolute(self->arena, folder, &folder));
    self->fs = nl_fs_retain(self->query->files);
    self->folder = nl_path_local(self->arena, folder);
    /* Object stores copy what is renamed. */
    self->is_direct = nl_path_is_remote(self->folder) && self->layout.partition_count == 0;
    self->staging = self->is_direct ? self->folder : nl_path_join(self->arena, self->folder, nl_arena_f(self->arena, "_temporary-" NL_STR_FMT, NL_STR_ARG(self->query_id)));
    if (!self->is_direct) NL_TRY(nl_fs_make_directory(self->fs, self->staging));
    return nl_arena_check(self->arena);
}

nl_status nl_file_sink_new(nl_query *query, nl_str format, nl_str folder, const nl_type *row_type, const nl_property *options, uint32_t option_count,
                           const nl_file_layout *layout, nl_parallel_sink **sink)
{
    file_kind kind;
    if (nl_str_is_nocase(format, "parquet"))
        kind = KIND_PARQUET;
    else if (nl_str_is_nocase(format, "csv"))
        kind = KIND_CSV;
    else if (nl_str_is_nocase(format, "json"))
        kind = KIND_JSON;
    else if (nl_str_is_nocase(format, "text"))
        kind = KIND_TEXT;
    else if (nl_str_is_nocase(format, "xml"))
        kind = KIND_XML;
    else if (nl_str_is_nocase(format, "binaryFile"))
        return NL_RAISE(UNSUPPORTED_FEATURE__WRITE_FOR_BINARY_SOURCE);
    else if (nl_str_is_nocase(format, "orc"))
        kind = KIND_ORC;
    else if (nl_str_is_nocase(format, "avro"))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas does not write " NL_STR_FMT " files; it writes parquet, orc, csv, json, text and xml", NL_STR_ARG(format));
    else
        return NL_RAISE(DATA_SOURCE_NOT_FOUND, NL_P_STR("provider", format));
    file_sink *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P("receivedBytes", "0"));
    self->base = (nl_parallel_sink){.start = start, .consume = consume, .finish_worker = finish_worker};
    self->query = query;
    self->kind = kind;
    self->layout = *layout;
    nl_mutex_init(&self->mutex);
    self->arena = nl_arena_new(query->memory);
    nl_status status = prepare(self, folder, row_type, options, option_count);
    if (status)
        free_sink(self);
    else
        *sink = &self->base;
    return status;
}
