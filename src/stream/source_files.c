/* stream/source_files.c - files that come into folders. Each file is read once, in the order of its modification; which batch
 * it belongs to is in the log sources/S: one JSON object a line, every tenth file holding all that came before.
 * Offset: {"logOffset":N}, the log's newest entry. Formats seen in checkpoints of Spark 4.0.1. */
#include "stream/source.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/number.h"
#include "exec/sources.h"
#include "storage/glob.h"
#include "stream/file_log.h"

#define COMPACT_INTERVAL 10

typedef struct seen_set { /* paths that are in the log: open addressing */
    nl_str *slots;
    uint32_t count, capacity; /* a power of 2 */
} seen_set;

typedef struct file_stream {
    nl_stream_source base;
    nl_arena *arena; /* owned: the settings */
    nl_arena *paths; /* owned: of the seen files */
    nl_fs *fs;       /* counted */
    nl_stream_definition definition;
    const nl_type *row_type;
    const nl_timezone *zone;
    nl_memory *memory;
    const nl_stream_checkpoint *checkpoint;
    const char *log; /* "sources/0" */
    int64_t file_max;
    bool is_latest_first, is_recursive;
    const nl_glob *name_glob; /* pathGlobFilter; or NULL */
    int64_t frozen_micros; /* later files are not seen; 0: all are */
    int64_t log_offset; /* the log's newest; NL_STREAM_NO_BATCH: none */
    seen_set seen;
} file_stream;

static file_stream *files_of(nl_stream_source *base)
{
    return NL_CONTAINER(NL_UNCONST(base), file_stream, base);
}

/* ---- schema ---- */

/* Columns that the folders there name come last, in their order, as in a batch. Where no files are yet they stay as they were given. */
static nl_status put_folders_last(nl_session *session, const nl_stream_definition *definition, nl_arena *arena, const nl_type **row_type)
{
    const nl_eval_confs confs = {.zone = nl_session_zone(session)};
    const nl_table *table = NULL;
    nl_fs *fs = NULL;
    if (nl_glob_is_pattern(definition->paths[0])) return NULL;
    NL_TRY(nl_session_files(session, &fs));
    nl_status status = nl_file_source_new(fs, definition->format, definition->paths, 1, definition->options, definition->option_count, *row_type, &confs, nl_session_memory(session), &table);
    if (status && nl_error_condition(status) == NL_COND_PATH_NOT_FOUND) {
        nl_error_free(status);
        return NULL;
    }
    NL_TRY(status);
    if (table->row_type->child_count == (*row_type)->child_count) *row_type = nl_type_copy(arena, table->row_type);
    nl_table_release(table);
    return NULL;
}

static nl_status describe(nl_session *session, nl_stream_definition *definition, nl_arena *arena, const nl_type **row_type, nl_str *label)
{
    const nl_str folder = definition->path_count ? definition->paths[0] : (nl_str){"", 0};
    nl_field *fields;
    *label = nl_arena_f(arena, "FileSource[" NL_STR_FMT "]", NL_STR_ARG(folder));
    if (!nl_file_format_is_known(definition->format))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not read streams of the format " NL_STR_FMT ".", NL_STR_ARG(definition->format));
    if (definition->path_count != 1) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "'path' is not specified");
    if (definition->schema) {
        fields = NL_NEW_ARRAY(arena, nl_field, definition->schema->child_count + 1);
        for (uint32_t i = 0; i < definition->schema->child_count; i++) {
            fields[i] = definition->schema->children[i];
            fields[i].is_nullable = true;
        }
        *row_type = nl_type_struct(arena, fields, definition->schema->child_count);
        return put_folders_last(session, definition, arena, row_type);
    }
    const bool is_text = nl_str_is_nocase(definition->format, "text"); /* its files have one column, whatever is in them */
    if (!is_text && !nl_session_get_bool(session, "spark.sql.streaming.schemaInference")) return NL_RAISE(_LEGACY_ERROR_TEMP_2048);
    const nl_eval_confs confs = {.zone = nl_session_zone(session)};
    const nl_table *table = NULL;
    nl_fs *fs = NULL;
    NL_TRY(nl_session_files(session, &fs));
    NL_TRY(nl_file_source_new(fs, definition->format, definition->paths, 1, definition->options, definition->option_count, NULL, &confs, nl_session_memory(session), &table));
    *row_type = nl_type_copy(arena, table->row_type);
    nl_table_release(table);
    return NULL;
}

/* ---- the set ---- */

static nl_status grow_seen(seen_set *seen)
{
    const uint32_t capacity = NL_MAX(64u, seen->capacity * 2);
    nl_str *slots = calloc(capacity, sizeof *slots);
    if (!slots) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", capacity * sizeof *slots), NL_P("receivedBytes", "0"));
    for (uint32_t i = 0; i < seen->capacity; i++) {
        if (!seen->slots[i].data) continue;
        uint32_t at = (uint32_t)nl_hash_bytes(seen->slots[i].data, seen->slots[i].length, 0) & (capacity - 1);
        while (slots[at].data) at = (at + 1) & (capacity - 1);
        slots[at] = seen->slots[i];
    }
    free(seen->slots);
    seen->slots = slots;
    seen->capacity = capacity;
    return NULL;
}

static bool has_seen(const seen_set *seen, nl_str path)
{
    if (!seen->capacity) return false;
    uint32_t at = (uint32_t)nl_hash_bytes(path.data, path.length, 0) & (seen->capacity - 1);
    for (; seen->slots[at].data; at = (at + 1) & (seen->capacity - 1))
        if (nl_str_equal(seen->slots[at], path)) return true;
    return false;
}

static nl_status see(file_stream *self, nl_str path)
{
    seen_set *seen = &self->seen;
    if (has_seen(seen, path)) return NULL;
    if ((seen->count + 1) * 2 > seen->capacity) NL_TRY(grow_seen(seen));
    uint32_t at = (uint32_t)nl_hash_bytes(path.data, path.length, 0) & (seen->capacity - 1);
    while (seen->slots[at].data) at = (at + 1) & (seen->capacity - 1);
    seen->slots[at] = nl_arena_str(self->paths, path);
    seen->count++;
    return nl_arena_check(self->paths);
}

/* ---- what is there ---- */

typedef struct listing {
    file_stream *self;
    nl_arena *arena;
    nl_list found;   /* nl_file_info * */
    nl_list folders; /* nl_str *: those below that name partitions */
} listing;

static bool is_hidden(nl_str name)
{
    return name.length == 0 || name.data[0] == '_' || name.data[0] == '.';
}

static nl_status add_file(void *argument, const nl_file_info *info)
{
    listing *list = argument;
    const nl_str name = nl_path_name(info->path);
    if (is_hidden(name)) return NULL;
    if (info->is_directory) {
        if (nl_str_find_char(name, '=', 0) == NL_NOT_FOUND || list->self->is_recursive) return NULL;
        nl_str *folder = NL_NEW(list->arena, nl_str);
        *folder = nl_arena_str(list->arena, info->path);
        nl_list_add(list->arena, &list->folders, folder);
        return NULL;
    }
    if (list->self->name_glob && !nl_glob_matches(list->self->name_glob, name)) return NULL;
    if (list->self->frozen_micros && info->modified_micros > list->self->frozen_micros) return NULL;
    const nl_str uri = nl_stream_file_uri(list->arena, info->path);
    if (has_seen(&list->self->seen, uri)) return NULL;
    nl_file_info *kept = NL_NEW(list->arena, nl_file_info);
    *kept = *info;
    kept->path = uri;
    nl_list_add(list->arena, &list->found, kept);
    return NULL;
}

/* A folder that a file sink writes tells itself which files count. */
static nl_status list_folder(listing *list, nl_str folder)
{
    bool is_sink = false;
    nl_list files = {0};
    NL_TRY(nl_stream_sink_log_files(list->self->fs, folder, list->arena, &files, &is_sink));
    for (uint32_t i = 0; i < files.count; i++) NL_TRY(add_file(list, files.items[i]));
    if (is_sink) return NULL;
    const uint32_t before = list->folders.count;
    NL_TRY(nl_fs_list(list->self->fs, folder, list->self->is_recursive, add_file, list));
    for (uint32_t i = before; i < list->folders.count; i++) /* grows: folders of folders */
        NL_TRY(nl_fs_list(list->self->fs, *(const nl_str *)list->folders.items[i], false, add_file, list));
    return NULL;
}

static nl_status list_path(listing *list, nl_str path)
{
    const nl_file_info *infos = NULL;
    uint32_t count = 0;
    if (!nl_glob_is_pattern(path)) {
        nl_file_info info;
        NL_TRY(nl_fs_stat(list->self->fs, path, &info));
        return info.is_directory ? list_folder(list, path) : add_file(list, &info);
    }
    NL_TRY(nl_fs_glob(list->self->fs, path, list->arena, &infos, &count));
    for (uint32_t i = 0; i < count; i++) NL_TRY(infos[i].is_directory ? list_folder(list, infos[i].path) : add_file(list, &infos[i]));
    return NULL;
}

static int compare_times(const void *a, const void *b)
{
    const nl_file_info *x = *(nl_file_info *const *)a, *y = *(nl_file_info *const *)b;
    if (x->modified_micros != y->modified_micros) return x->modified_micros < y->modified_micros ? -1 : 1;
    return nl_str_compare(x->path, y->path);
}

static int compare_times_down(const void *a, const void *b)
{
    return compare_times(b, a);
}

/* ---- the log ---- */

static nl_str entry_name(nl_arena *arena, int64_t offset)
{
    return nl_arena_f(arena, "%" PRId64 "%s", offset, (offset + 1) % COMPACT_INTERVAL == 0 ? ".compact" : "");
}

/* The entries of one file of the log; only those of `batch` unless it is NL_STREAM_NO_BATCH. */
static nl_status read_entries(const file_stream *self, int64_t offset, int64_t batch, nl_arena *arena, nl_list *paths, nl_builder *whole)
{
    nl_str text = {0}, line;
    bool is_found = false;
    const nl_str name = entry_name(arena, offset);
    NL_TRY(nl_stream_log_read(self->checkpoint, self->log, name, arena, &text, &is_found));
    if (!is_found) return NL_RAISE_TEXT(NILAS_STREAM_STATE, "The checkpoint's file %s/" NL_STR_FMT " is not there.", self->log, NL_STR_ARG(name));
    while (nl_str_next_part(&text, '\n', &line)) {
        const json_t *json = NULL;
        nl_str path = {0};
        int64_t of_batch = 0;
        if (!line.length) continue;
        NL_TRY(nl_json_parse(arena, line, name, &json));
        NL_TRY(nl_json_object(json, name, "an entry"));
        NL_TRY(nl_json_text(json, "path", name, &path));
        NL_TRY(nl_json_optional_int64(json, "batchId", name, &of_batch));
        if (whole) nl_append_f(whole, "%s" NL_STR_FMT, whole->length ? "\n" : "", NL_STR_ARG(line));
        if (batch != NL_STREAM_NO_BATCH && of_batch != batch) continue;
        nl_str *kept = NL_NEW(arena, nl_str);
        *kept = nl_arena_str(arena, path);
        nl_list_add(arena, paths, kept);
    }
    return nl_arena_check(arena);
}

/* All entries up to an offset: from the last compacted file on. */
static nl_status read_log(const file_stream *self, int64_t last, nl_arena *arena, nl_list *paths, nl_builder *whole)
{
    const int64_t first = (last + 1) / COMPACT_INTERVAL * COMPACT_INTERVAL - 1;
    for (int64_t offset = NL_MAX(first, 0); offset <= last; offset++) NL_TRY(read_entries(self, offset, NL_STREAM_NO_BATCH, arena, paths, whole));
    return NULL;
}

static nl_status write_entry(file_stream *self, nl_arena *arena, const nl_list *files, uint32_t count)
{
    const int64_t offset = self->log_offset + 1;
    nl_builder text;
    nl_list before = {0};
    nl_builder_init(&text, SIZE_MAX);
    nl_status status = NULL;
    if ((offset + 1) % COMPACT_INTERVAL == 0) status = read_log(self, self->log_offset, arena, &before, &text);
    for (uint32_t i = 0; i < count && !status; i++) {
        const nl_file_info *file = files->items[i];
        nl_json_writer writer = {.out = &text};
        if (text.length) nl_append_char(&text, '\n');
        nl_json_begin(&writer, '{');
        nl_json_key(&writer, "path");
        nl_json_write_text(&writer, file->path);
        nl_json_key(&writer, "timestamp");
        nl_json_write_int(&writer, file->modified_micros / 1000);
        nl_json_key(&writer, "batchId");
        nl_json_write_int(&writer, offset);
        nl_json_end(&writer, '}');
    }
    if (!status) status = nl_stream_log_add(self->checkpoint, self->log, entry_name(arena, offset), nl_builder_str(&text));
    nl_builder_fini(&text);
    NL_TRY(status);
    self->log_offset = offset;
    for (uint32_t i = 0; i < count; i++) NL_TRY(see(self, ((const nl_file_info *)files->items[i])->path));
    return NULL;
}

/* ---- offsets ---- */

static nl_status latest_in(file_stream *self, nl_arena *arena, bool is_limited, nl_str *end)
{
    listing list = {.self = self, .arena = nl_arena_new(NULL)};
    nl_status status = list_path(&list, self->definition.paths[0]);
    if (!status && list.found.count > 0) {
        qsort(list.found.items, list.found.count, sizeof *list.found.items, self->is_latest_first ? compare_times_down : compare_times);
        const uint32_t count = is_limited ? (uint32_t)NL_MIN((int64_t)list.found.count, self->file_max) : list.found.count;
        status = write_entry(self, list.arena, &list.found, count);
    }
    nl_arena_free(list.arena);
    NL_TRY(status);
    *end = self->log_offset == NL_STREAM_NO_BATCH ? (nl_str){0} : nl_arena_f(arena, "{\"logOffset\":%" PRId64 "}", self->log_offset);
    return NULL;
}

static nl_status latest(nl_stream_source *base, nl_arena *arena, nl_str start, bool is_limited, nl_str *end)
{
    (void)start;
    return latest_in(files_of(base), arena, is_limited, end);
}

static nl_status freeze(nl_stream_source *base)
{
    files_of(base)->frozen_micros = nl_now_micros();
    return NULL;
}

static nl_status parse_offset(nl_arena *arena, nl_str text, int64_t *offset)
{
    const json_t *json = NULL;
    *offset = NL_STREAM_NO_BATCH;
    if (!text.length || nl_parse_int64(text, offset)) return NULL;
    NL_TRY(nl_json_parse(arena, text, NL_STR("the offset of a file source"), &json));
    NL_TRY(nl_json_object(json, text, "an offset"));
    return nl_json_int64(json, "logOffset", text, offset);
}

static nl_status range_files(file_stream *self, const nl_stream_range *range, nl_arena *arena, nl_list *paths)
{
    int64_t from, to;
    NL_TRY(parse_offset(arena, range->start, &from));
    NL_TRY(parse_offset(arena, range->end, &to));
    for (int64_t offset = from + 1; offset <= to; offset++) NL_TRY(read_entries(self, offset, offset, arena, paths, NULL));
    return NULL;
}

static nl_status make_table(file_stream *self, nl_arena *arena, const nl_list *paths, const nl_table **table)
{
    const nl_eval_confs confs = {.zone = self->zone};
    nl_stream_chain *chain = NULL;
    nl_str *list = NL_NEW_ARRAY(arena, nl_str, paths->count + 1);
    nl_property *options = NL_NEW_ARRAY(arena, nl_property, self->definition.option_count + 1);
    uint32_t option_count = 0;
    if (!nl_glob_is_pattern(self->definition.paths[0])) options[option_count++] = (nl_property){NL_STR("basePath"), self->definition.paths[0]};
    for (uint32_t i = 0; i < self->definition.option_count; i++) options[option_count++] = self->definition.options[i];
    for (uint32_t i = 0; i < paths->count; i++) list[i] = nl_stream_uri_path(arena, *(const nl_str *)paths->items[i]);
    if (paths->count)
        return nl_file_source_new(self->fs, self->definition.format, list, paths->count, options, option_count, self->row_type, &confs, self->memory,
                                  table);
    NL_TRY(nl_stream_chain_new(self->row_type, &chain));
    *table = nl_stream_chain_table(chain);
    return NULL;
}

static nl_status table_of(nl_stream_source *base, const nl_stream_range *range, const nl_table **table, int64_t *row_count)
{
    file_stream *self = files_of(base);
    nl_arena *scratch = nl_arena_new(NULL);
    nl_list paths = {0};
    nl_status status = range_files(self, range, scratch, &paths);
    if (!status) status = make_table(self, scratch, &paths, table);
    *row_count = paths.count ? -1 : 0;
    nl_arena_free(scratch);
    return status;
}

static void append_description(const nl_stream_source *base, nl_builder *out)
{
    const file_stream *self = NL_CONTAINER(NL_UNCONST(base), file_stream, base);
    nl_arena *scratch = nl_arena_new(NULL);
    const nl_str uri = nl_stream_file_uri(scratch, self->definition.paths[0]);
    nl_str shown = uri;
    if (nl_str_starts(uri, NL_STR("file:///"))) shown = nl_arena_f(scratch, "file:" NL_STR_FMT, NL_STR_ARG(nl_str_slice(uri, 7, uri.length)));
    nl_append_f(out, "FileStreamSource[" NL_STR_FMT "]", NL_STR_ARG(shown));
    nl_arena_free(scratch);
}

static void free_source(nl_stream_source *base)
{
    file_stream *self = files_of(base);
    free(self->seen.slots);
    nl_fs_release(self->fs);
    nl_arena_free(self->paths);
    nl_arena_free(self->arena);
}

static const nl_stream_source_ops ops = {.latest = latest, .table = table_of, .freeze = freeze, .append_description = append_description, .free = free_source};

/* ---- opening ---- */

static nl_status read_settings(file_stream *self)
{
    const nl_str most = nl_stream_option(&self->definition, "maxFilesPerTrigger"), clean = nl_stream_option(&self->definition, "cleanSource");
    self->file_max = INT64_MAX;
    self->is_latest_first = nl_str_is_nocase(nl_stream_option(&self->definition, "latestFirst"), "true");
    self->is_recursive = nl_str_is_nocase(nl_stream_option(&self->definition, "recursiveFileLookup"), "true");
    const nl_str names = nl_stream_option(&self->definition, "pathGlobFilter");
    if (names.length) NL_TRY(nl_glob_compile(self->arena, names, &self->name_glob));
    if (most.data && (!nl_parse_int64(most, &self->file_max) || self->file_max < 1))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid value '" NL_STR_FMT "' for option 'maxFilesPerTrigger', must be a positive integer", NL_STR_ARG(most));
    if (clean.data && !nl_str_is_nocase(clean, "off")) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not take the option cleanSource=" NL_STR_FMT ".", NL_STR_ARG(clean));
    if (nl_stream_option(&self->definition, "maxBytesPerTrigger").data) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not take the option maxBytesPerTrigger.");
    return NULL;
}

static nl_status read_seen(file_stream *self)
{
    nl_arena *scratch = nl_arena_new(NULL);
    nl_list paths = {0};
    nl_status status = nl_stream_log_latest(self->checkpoint, self->log, &self->log_offset);
    if (!status && self->log_offset != NL_STREAM_NO_BATCH) status = read_log(self, self->log_offset, scratch, &paths, NULL);
    for (uint32_t i = 0; i < paths.count && !status; i++) status = see(self, *(const nl_str *)paths.items[i]);
    nl_arena_free(scratch);
    return status;
}

static nl_status open_files(const nl_stream_definition *definition, const nl_type *row_type, const nl_stream_source_environment *environment, nl_stream_source **source)
{
    nl_arena *arena = nl_arena_new(NULL);
    file_stream *self = NL_NEW(arena, file_stream);
    *self = (file_stream){.base.ops = &ops,
                          .arena = arena,
                          .paths = nl_arena_new(environment->memory),
                          .fs = nl_fs_retain(environment->files),
                          .row_type = nl_type_copy(arena, row_type),
                          .zone = environment->zone,
                          .memory = environment->memory,
                          .checkpoint = environment->checkpoint,
                          .log = nl_str_c(arena, nl_arena_f(arena, "sources/%u", environment->ordinal)),
                          .log_offset = NL_STREAM_NO_BATCH};
    self->definition = nl_stream_definition_copy(arena, definition);
    nl_status status = read_settings(self);
    if (!status) status = read_seen(self);
    if (status)
        free_source(&self->base);
    else
        *source = &self->base;
    return status;
}

const nl_stream_kind nl_stream_kind_files = {.name = "files", .describe = describe, .open = open_files};
