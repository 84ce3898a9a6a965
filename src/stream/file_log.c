/* stream/file_log.c - see file_log.h. Format as Spark 4.0.1 writes it. */
#include "stream/file_log.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"

#define COMPACT_INTERVAL 10
#define LOG_BYTES_MAX    ((size_t)256 << 20)
#define FOLDER           "_spark_metadata"

nl_str nl_stream_file_uri(nl_arena *arena, nl_str path)
{
    const nl_str local = nl_path_local(arena, path);
    return local.length && local.data[0] == '/' ? nl_arena_f(arena, "file://" NL_STR_FMT, NL_STR_ARG(local)) : nl_arena_str(arena, path);
}

nl_str nl_stream_uri_path(nl_arena *arena, nl_str uri)
{
    return nl_path_local(arena, uri);
}

static nl_str entry_path(nl_arena *arena, nl_str folder, int64_t batch)
{
    const char *end = (batch + 1) % COMPACT_INTERVAL == 0 ? ".compact" : "";
    return nl_arena_f(arena, NL_STR_FMT "%s" FOLDER "/%" PRId64 "%s", NL_STR_ARG(folder), nl_str_ends(folder, NL_STR("/")) ? "" : "/", batch, end);
}

static nl_status find_newest(void *argument, const nl_file_info *info)
{
    int64_t *newest = argument, batch;
    nl_str name = nl_path_name(info->path);
    if (nl_str_ends(name, NL_STR(".compact"))) name.length -= 8;
    if (name.length && name.data[0] != '.' && nl_parse_int64(name, &batch)) *newest = NL_MAX(*newest, batch);
    return NULL;
}

static nl_status newest_batch(nl_fs *fs, nl_str folder, nl_arena *arena, int64_t *newest, bool *is_sink)
{
    const nl_str path = nl_path_join(arena, folder, NL_STR(FOLDER));
    *newest = -1;
    NL_TRY(nl_fs_exists(fs, path, is_sink));
    return *is_sink ? nl_fs_list(fs, path, false, find_newest, newest) : NULL;
}

static nl_status read_line(nl_arena *arena, nl_str line, nl_str path, nl_list *files)
{
    const json_t *json = NULL;
    int64_t size = 0, modified_ms = 0;
    nl_file_info *file = NL_NEW(arena, nl_file_info);
    NL_TRY(nl_json_parse(arena, line, path, &json));
    NL_TRY(nl_json_object(json, path, "an entry"));
    NL_TRY(nl_json_text(json, "path", path, &file->path));
    NL_TRY(nl_json_optional_int64(json, "size", path, &size));
    NL_TRY(nl_json_optional_int64(json, "modificationTime", path, &modified_ms));
    file->size_bytes = (uint64_t)NL_MAX(size, 0);
    file->modified_micros = modified_ms * 1000;
    nl_list_add(arena, files, file);
    return nl_arena_check(arena);
}

static nl_status read_entry(nl_fs *fs, nl_str path, nl_arena *arena, nl_list *files)
{
    nl_buffer *content = NULL;
    nl_str text, line;
    NL_TRY(nl_fs_read_all(fs, path, LOG_BYTES_MAX, &content));
    text = nl_arena_str(arena, (nl_str){(const char *)content->data, content->size_bytes});
    nl_buffer_release(content);
    if (!nl_str_next_part(&text, '\n', &line) || !nl_str_starts(line, NL_STR("v1"))) return nl_json_corrupt(path, "the first line is not v1");
    while (nl_str_next_part(&text, '\n', &line))
        if (line.length) NL_TRY(read_line(arena, line, path, files));
    return NULL;
}

nl_status nl_stream_sink_log_files(nl_fs *fs, nl_str folder, nl_arena *arena, nl_list *files, bool *is_sink)
{
    int64_t newest;
    NL_TRY(newest_batch(fs, folder, arena, &newest, is_sink));
    if (newest < 0) return NULL;
    for (int64_t batch = NL_MAX((newest + 1) / COMPACT_INTERVAL * COMPACT_INTERVAL - 1, 0); batch <= newest; batch++) NL_TRY(read_entry(fs, entry_path(arena, folder, batch), arena, files));
    return NULL;
}

nl_status nl_stream_sink_log_has(nl_fs *fs, nl_str folder, int64_t batch, bool *is_there)
{
    nl_arena *scratch = nl_arena_new(NULL);
    int64_t newest;
    nl_status status = newest_batch(fs, folder, scratch, &newest, is_there);
    *is_there = newest >= batch;
    nl_arena_free(scratch);
    return status;
}

static void append_file(nl_builder *out, const nl_file_info *file)
{
    nl_json_writer writer = {.out = out};
    nl_append_char(out, '\n');
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "path");
    nl_json_write_text(&writer, file->path);
    nl_json_key(&writer, "size");
    nl_json_write_int(&writer, (int64_t)file->size_bytes);
    nl_json_key(&writer, "isDir");
    nl_json_write_bool(&writer, false);
    nl_json_key(&writer, "modificationTime");
    nl_json_write_int(&writer, file->modified_micros / 1000);
    nl_json_key(&writer, "blockReplication");
    nl_json_write_int(&writer, 1);
    nl_json_key(&writer, "blockSize");
    nl_json_write_int(&writer, 33554432);
    nl_json_key(&writer, "action");
    nl_json_write_text(&writer, NL_STR("add"));
    nl_json_end(&writer, '}');
}

nl_status nl_stream_sink_log_open(nl_fs *fs, nl_str folder)
{
    nl_arena *scratch = nl_arena_new(NULL);
    nl_status status = nl_fs_make_directory(fs, nl_path_join(scratch, folder, NL_STR(FOLDER)));
    nl_arena_free(scratch);
    return status;
}

nl_status nl_stream_sink_log_add(nl_fs *fs, nl_str folder, int64_t batch, const nl_file_info *files, uint32_t file_count)
{
    nl_arena *scratch = nl_arena_new(NULL);
    nl_list before = {0};
    nl_builder text;
    bool is_sink = false;
    nl_status status = NULL;
    nl_builder_init(&text, LOG_BYTES_MAX);
    nl_append_c(&text, "v1");
    if ((batch + 1) % COMPACT_INTERVAL == 0) status = nl_stream_sink_log_files(fs, folder, scratch, &before, &is_sink);
    for (uint32_t i = 0; i < before.count; i++) append_file(&text, before.items[i]);
    for (uint32_t i = 0; i < file_count; i++) append_file(&text, &files[i]);
    const nl_str content = nl_builder_str(&text);
    if (!status) status = nl_fs_create_if_absent(fs, entry_path(scratch, folder, batch), (nl_bytes){(const uint8_t *)content.data, content.length});
    nl_builder_fini(&text);
    nl_arena_free(scratch);
    return status;
}
