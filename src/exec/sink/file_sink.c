/* Rows into plain files of a folder: INSERT OVERWRITE DIRECTORY. Files are written into a folder of their own inside it
 * and move to their place when all are there, so that a failure leaves what was there before. */
#include "exec/sinks.h"

#include <stdlib.h>

#include "base/uuid.h"
#include "exec/source/plain_files.h"
#include "format/csv/csv_writer.h"
#include "format/json/json_writer.h"
#include "format/parquet/writer.h"

typedef enum file_kind { KIND_PARQUET, KIND_CSV, KIND_JSON } file_kind;

typedef struct file_writer { /* one per worker; made with its first rows */
    bool is_open;
    bool has_rows;
    nl_str name;
    nl_parquet_writer *parquet;
    nl_csv_writer *csv;
    nl_json_writer *json;
} file_writer;

typedef struct file_sink {
    nl_parallel_sink base;
    nl_query *query;
    nl_arena *arena; /* owned */
    nl_fs *fs;       /* counted */
    file_kind kind;
    const nl_type *row_type;
    nl_str folder, staging;
    nl_str query_id;
    nl_parquet_write_options parquet;
    nl_csv_options csv;
    nl_json_file_options json;
    bool is_overwrite;
    file_writer *writers;
    uint32_t writer_count;
} file_sink;

static file_sink *of(nl_parallel_sink *base)
{
    return NL_CONTAINER(base, file_sink, base);
}

/* ---- one file ---- */

static nl_text_compression compression_of(const file_sink *self)
{
    return self->kind == KIND_CSV ? self->csv.formats.compression : self->json.formats.compression;
}

static nl_str file_name(const file_sink *self, uint32_t number)
{
    if (self->kind == KIND_PARQUET)
        return nl_arena_f(self->arena, "part-%05u-" NL_STR_FMT "-c000.parquet", number, NL_STR_ARG(self->query_id));
    return nl_arena_f(self->arena, "part-%05u-" NL_STR_FMT "-c000.%s%s", number, NL_STR_ARG(self->query_id), self->kind == KIND_CSV ? "csv" : "json",
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
    } else if (self->kind == KIND_CSV) {
        status = nl_csv_writer_open(self->fs, path, self->row_type, &self->csv, memory, &writer->csv);
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
                       : self->kind == KIND_CSV   ? nl_csv_writer_close(writer->csv)
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
}

/* ---- the sink ---- */

static nl_status start(nl_parallel_sink *base, uint32_t worker_count)
{
    file_sink *self = of(base);
    self->writers = NL_NEW_ARRAY(self->arena, file_writer, worker_count + 1);
    self->writer_count = worker_count;
    for (uint32_t i = 0; i < worker_count; i++) self->writers[i].name = file_name(self, i);
    return nl_arena_check(self->arena);
}

static nl_status consume(nl_parallel_sink *base, uint32_t worker, nl_batch *batch)
{
    file_sink *self = of(base);
    file_writer *writer = &self->writers[worker];
    if (batch->row_count == 0) return NULL;
    if (!writer->is_open) NL_TRY(open_writer(self, writer));
    writer->has_rows = true;
    if (self->kind == KIND_PARQUET) return nl_parquet_writer_append(writer->parquet, batch);
    if (self->kind == KIND_CSV) return nl_csv_writer_write(writer->csv, batch);
    return nl_json_writer_write(writer->json, batch);
}

static nl_status finish_worker(nl_parallel_sink *base, uint32_t worker)
{
    file_sink *self = of(base);
    return close_writer(self, &self->writers[worker]);
}

static void free_sink(file_sink *self)
{
    for (uint32_t i = 0; i < self->writer_count; i++) abort_writer(self, &self->writers[i]);
    nl_parquet_encoders_free(self->parquet.encoders);
    nl_fs_release(self->fs);
    nl_arena_free(self->arena);
    free(self);
}

/* ---- publishing ---- */

typedef struct entry_list {
    file_sink *self;
    nl_list paths; /* nl_str * */
} entry_list;

static nl_status note_entry(void *argument, const nl_file_info *info)
{
    entry_list *entries = argument;
    nl_str *path = NL_NEW(entries->self->arena, nl_str);
    *path = nl_arena_str(entries->self->arena, info->path);
    nl_list_add(entries->self->arena, &entries->paths, path);
    return NULL;
}

/* What stood in the folder before; the staging folder is in it too. */
static nl_status remove_old(file_sink *self)
{
    entry_list old = {.self = self};
    NL_TRY(nl_fs_list(self->fs, self->folder, false, note_entry, &old));
    for (uint32_t i = 0; i < old.paths.count; i++) {
        const nl_str path = *(const nl_str *)old.paths.items[i];
        if (nl_str_equal(path, self->staging)) continue;
        nl_file_info info;
        NL_TRY(nl_fs_stat(self->fs, path, &info));
        NL_TRY(info.is_directory ? nl_fs_remove_tree(self->fs, path) : nl_fs_remove(self->fs, path));
    }
    return NULL;
}

static nl_status publish(file_sink *self)
{
    entry_list made = {.self = self};
    NL_TRY(nl_fs_list(self->fs, self->staging, false, note_entry, &made));
    if (self->is_overwrite) NL_TRY(remove_old(self));
    for (uint32_t i = 0; i < made.paths.count; i++) {
        const nl_str from = *(const nl_str *)made.paths.items[i];
        const nl_str name = nl_str_slice(from, self->staging.length + 1, from.length);
        NL_TRY(nl_fs_rename(self->fs, from, nl_path_join(self->arena, self->folder, name), true));
    }
    NL_TRY(nl_fs_remove_tree(self->fs, self->staging));
    return nl_fs_write_all(self->fs, nl_path_join(self->arena, self->folder, NL_STR("_SUCCESS")), (nl_bytes){0});
}

/* A result without rows still leaves one file: it tells the columns. */
static nl_status finish(file_sink *self)
{
    for (uint32_t i = 0; i < self->writer_count; i++)
        if (self->writers[i].has_rows) return NULL;
    file_writer only = {.name = file_name(self, 0)};
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
    for (uint32_t i = 0; i < self->writer_count; i++) abort_writer(self, &self->writers[i]);
    nl_error_free(nl_fs_remove_tree(self->fs, self->staging));
    free_sink(self);
}

/* ---- making ---- */

static nl_str option(const nl_property *options, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is_nocase(options[i].key, key)) return options[i].value;
    return (nl_str){0};
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
    const nl_text_session session = {.zone = self->query->confs->zone};
    nl_text_option *items = NL_NEW_ARRAY(self->arena, nl_text_option, count + 1);
    for (uint32_t i = 0; i < count; i++)
        items[i] = (nl_text_option){nl_arena_str(self->arena, options[i].key), nl_arena_str(self->arena, options[i].value)};
    const nl_text_option_list list = {items, count};
    if (self->kind == KIND_CSV) {
        NL_TRY(nl_csv_options_parse(list, &session, NL_TEXT_WRITE, self->arena, &self->csv));
        return nl_csv_check_type(self->row_type);
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
    self->row_type = nl_type_copy(self->arena, row_type);
    NL_TRY(parse_options(self, options, option_count));
    NL_TRY(nl_plain_path_absolute(self->arena, folder, &folder));
    self->fs = nl_fs_retain(self->query->files);
    self->folder = nl_path_local(self->arena, folder);
    self->staging = nl_path_join(self->arena, self->folder, nl_arena_f(self->arena, "_temporary-" NL_STR_FMT, NL_STR_ARG(self->query_id)));
    NL_TRY(nl_fs_make_directory(self->fs, self->staging));
    return nl_arena_check(self->arena);
}

nl_status nl_file_sink_new(nl_query *query, nl_str format, nl_str folder, const nl_type *row_type, const nl_property *options, uint32_t option_count,
                           bool is_overwrite, nl_parallel_sink **sink)
{
    file_kind kind;
    if (nl_str_is_nocase(format, "parquet"))
        kind = KIND_PARQUET;
    else if (nl_str_is_nocase(format, "csv"))
        kind = KIND_CSV;
    else if (nl_str_is_nocase(format, "json"))
        kind = KIND_JSON;
    else
        return NL_RAISE(DATA_SOURCE_NOT_FOUND, NL_P_STR("provider", format));
    file_sink *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P("receivedBytes", "0"));
    self->base = (nl_parallel_sink){.start = start, .consume = consume, .finish_worker = finish_worker};
    self->query = query;
    self->kind = kind;
    self->is_overwrite = is_overwrite;
    self->arena = nl_arena_new(query->memory);
    nl_status status = prepare(self, folder, row_type, options, option_count);
    if (status)
        free_sink(self);
    else
        *sink = &self->base;
    return status;
}
