/* stream/checkpoint.c - Spark's checkpoint folder: logs of texts that begin with "v1", one file per batch.
 * Source of the formats: folders written by Spark 4.0.1. */
#include "stream/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/uuid.h"

#define LOG_BYTES_MAX ((size_t)64 << 20)
#define VERSION_LINE  "v1\n"

nl_str nl_stream_checkpoint_path(const nl_stream_checkpoint *checkpoint, nl_arena *arena, const char *folder, nl_str name)
{
    const nl_str inner = nl_path_join(arena, checkpoint->path, nl_str_from(folder));
    return name.length ? nl_path_join(arena, inner, name) : inner;
}

/* ---- the query's id ---- */

static nl_bytes bytes_of(nl_str text)
{
    return (nl_bytes){(const uint8_t *)text.data, text.length};
}

static nl_status read_text(nl_fs *fs, nl_str path, nl_arena *arena, nl_str *text, bool *is_found)
{
    nl_buffer *content = NULL;
    nl_status status = nl_fs_read_all(fs, path, LOG_BYTES_MAX, &content);
    *is_found = !status;
    if (status && nl_error_condition(status) == NL_COND_PATH_NOT_FOUND) {
        nl_error_free(status);
        return NULL;
    }
    NL_TRY(status);
    *text = nl_arena_str(arena, (nl_str){(const char *)content->data, content->size_bytes});
    nl_buffer_release(content);
    return NULL;
}

static nl_status take_id(nl_stream_checkpoint *checkpoint, nl_str text, nl_str path)
{
    const json_t *json = NULL;
    nl_str id = {0};
    NL_TRY(nl_json_parse(checkpoint->arena, text, path, &json));
    NL_TRY(nl_json_object(json, path, "the metadata of a streaming query"));
    NL_TRY(nl_json_text(json, "id", path, &id));
    if (id.length >= sizeof checkpoint->id) return nl_json_corrupt(path, "id: not a UUID");
    if (id.length) memcpy(checkpoint->id, id.data, id.length);
    return NULL;
}

static nl_status open_metadata(nl_stream_checkpoint *checkpoint)
{
    const nl_str path = nl_path_join(checkpoint->arena, checkpoint->path, NL_STR("metadata"));
    nl_str text = {0};
    bool is_found = false;
    uint8_t bytes[16];
    NL_TRY(read_text(checkpoint->fs, path, checkpoint->arena, &text, &is_found));
    if (is_found) return take_id(checkpoint, text, path);
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, checkpoint->id);
    NL_TRY(nl_fs_make_directory(checkpoint->fs, checkpoint->path));
    nl_status status = nl_fs_create_if_absent(checkpoint->fs, path, bytes_of(nl_arena_f(checkpoint->arena, "{\"id\":\"%s\"}", checkpoint->id)));
    if (!status || nl_error_condition(status) != NL_COND_NILAS_ALREADY_EXISTS) return status;
    nl_error_free(status); /* somebody else has just begun here, too: the offset log tells who may go on */
    NL_TRY(read_text(checkpoint->fs, path, checkpoint->arena, &text, &is_found));
    return is_found ? take_id(checkpoint, text, path) : NULL;
}

nl_status nl_stream_checkpoint_open(nl_fs *fs, nl_str path, bool is_temporary, nl_stream_checkpoint **checkpoint)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_stream_checkpoint *made = NL_NEW(arena, nl_stream_checkpoint);
    made->arena = arena;
    made->fs = nl_fs_retain(fs);
    while (path.length > 1 && path.data[path.length - 1] == '/') path.length--;
    made->path = nl_arena_str(arena, path);
    made->is_temporary = is_temporary;
    nl_status status = open_metadata(made);
    if (status)
        nl_stream_checkpoint_close(made);
    else
        *checkpoint = made;
    return status;
}

void nl_stream_checkpoint_close(nl_stream_checkpoint *checkpoint)
{
    if (!checkpoint) return;
    if (checkpoint->is_temporary) nl_error_free(nl_fs_remove_tree(checkpoint->fs, checkpoint->path));
    nl_fs_release(checkpoint->fs);
    nl_arena_free(checkpoint->arena);
}

/* ---- logs ---- */

typedef struct log_visit {
    int64_t latest;
    int64_t before; /* with `old`: names of older files are collected */
    nl_arena *arena;
    nl_list *old;
} log_visit;

static bool batch_of(nl_str name, int64_t *batch)
{
    if (nl_str_ends(name, NL_STR(".compact"))) name.length -= 8;
    return name.length > 0 && name.data[0] >= '0' && name.data[0] <= '9' && nl_parse_int64(name, batch);
}

static nl_status visit_log(void *argument, const nl_file_info *info)
{
    log_visit *visit = argument;
    int64_t batch;
    if (info->is_directory || !batch_of(nl_path_name(info->path), &batch)) return NULL;
    visit->latest = NL_MAX(visit->latest, batch);
    if (visit->old && batch < visit->before) {
        nl_str *path = NL_NEW(visit->arena, nl_str);
        *path = nl_arena_str(visit->arena, info->path);
        nl_list_add(visit->arena, visit->old, path);
    }
    return NULL;
}

static nl_status list_log(const nl_stream_checkpoint *checkpoint, const char *log, log_visit *visit)
{
    nl_arena *scratch = nl_arena_new(NULL);
    nl_status status = nl_fs_list(checkpoint->fs, nl_stream_checkpoint_path(checkpoint, scratch, log, (nl_str){0}), false, visit_log, visit);
    nl_arena_free(scratch);
    if (!status || nl_error_condition(status) != NL_COND_PATH_NOT_FOUND) return status;
    nl_error_free(status);
    return NULL;
}

nl_status nl_stream_log_latest(const nl_stream_checkpoint *checkpoint, const char *log, int64_t *batch)
{
    log_visit visit = {.latest = NL_STREAM_NO_BATCH};
    NL_TRY(list_log(checkpoint, log, &visit));
    *batch = visit.latest;
    return NULL;
}

nl_status nl_stream_log_add(const nl_stream_checkpoint *checkpoint, const char *log, nl_str name, nl_str text)
{
    nl_arena *scratch = nl_arena_new(NULL);
    const nl_str content = nl_arena_f(scratch, VERSION_LINE NL_STR_FMT, NL_STR_ARG(text));
    const nl_str path = nl_stream_checkpoint_path(checkpoint, scratch, log, name);
    nl_status status = nl_fs_create_if_absent(checkpoint->fs, path, bytes_of(content));
    if (status && nl_error_condition(status) == NL_COND_NILAS_ALREADY_EXISTS) {
        nl_error_free(status);
        status = NL_RAISE(CONCURRENT_STREAM_LOG_UPDATE, NL_P_STR("batchId", name));
    }
    nl_arena_free(scratch);
    return status;
}

nl_status nl_stream_log_read(const nl_stream_checkpoint *checkpoint, const char *log, nl_str name, nl_arena *arena, nl_str *text, bool *is_found)
{
    const nl_str path = nl_stream_checkpoint_path(checkpoint, arena, log, name);
    nl_str content = {0};
    NL_TRY(read_text(checkpoint->fs, path, arena, &content, is_found));
    if (!*is_found) return NULL;
    if (!nl_str_starts(content, NL_STR("v1"))) return nl_json_corrupt(path, "the first line is not v1");
    const size_t line = nl_str_find_char(content, '\n', 0);
    *text = line == NL_NOT_FOUND ? (nl_str){"", 0} : nl_str_slice(content, line + 1, content.length);
    return NULL;
}

nl_status nl_stream_log_purge(const nl_stream_checkpoint *checkpoint, const char *log, int64_t before)
{
    nl_arena *scratch = nl_arena_new(NULL);
    nl_list old = {0};
    log_visit visit = {.before = before, .arena = scratch, .old = &old};
    nl_status status = list_log(checkpoint, log, &visit);
    for (uint32_t i = 0; i < old.count && !status; i++) status = nl_fs_remove(checkpoint->fs, *(const nl_str *)old.items[i]);
    nl_arena_free(scratch);
    return status;
}

/* ---- offsets and commits ---- */

static nl_str batch_name(nl_arena *arena, int64_t batch)
{
    return nl_arena_f(arena, "%lld", (long long)batch);
}

static void append_head(nl_builder *out, const nl_stream_offsets *offsets)
{
    nl_json_writer writer = {.out = out};
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "batchWatermarkMs");
    nl_json_write_int(&writer, offsets->watermark_ms);
    nl_json_key(&writer, "batchTimestampMs");
    nl_json_write_int(&writer, offsets->timestamp_ms);
    nl_json_key(&writer, "conf");
    nl_json_begin(&writer, '{');
    for (uint32_t i = 0; i < offsets->conf_count; i++) {
        nl_json_key_str(&writer, offsets->confs[i].key);
        nl_json_write_text(&writer, offsets->confs[i].value);
    }
    nl_json_end(&writer, '}');
    nl_json_end(&writer, '}');
}

nl_status nl_stream_offsets_write(const nl_stream_checkpoint *checkpoint, int64_t batch, const nl_stream_offsets *offsets)
{
    nl_builder out;
    nl_arena *scratch = nl_arena_new(NULL);
    nl_builder_init(&out, LOG_BYTES_MAX);
    append_head(&out, offsets);
    for (uint32_t i = 0; i < offsets->offset_count; i++) {
        nl_append_char(&out, '\n');
        if (offsets->offsets[i].length)
            nl_append(&out, offsets->offsets[i]);
        else
            nl_append_char(&out, '-');
    }
    nl_status status = nl_stream_log_add(checkpoint, "offsets", batch_name(scratch, batch), nl_builder_str(&out));
    nl_builder_fini(&out);
    nl_arena_free(scratch);
    return status;
}

static nl_status read_head(nl_arena *arena, nl_str line, nl_str path, nl_stream_offsets *offsets)
{
    const json_t *json = NULL;
    NL_TRY(nl_json_parse(arena, line, path, &json));
    NL_TRY(nl_json_object(json, path, "the metadata of a batch"));
    NL_TRY(nl_json_optional_int64(json, "batchWatermarkMs", path, &offsets->watermark_ms));
    NL_TRY(nl_json_optional_int64(json, "batchTimestampMs", path, &offsets->timestamp_ms));
    json_t *confs = json_object_get(json, "conf");
    nl_property *items = NL_NEW_ARRAY(arena, nl_property, json_object_size(confs) + 1);
    const char *key;
    json_t *value;
    json_object_foreach(confs, key, value)
    {
        if (!json_is_string(value)) return nl_json_corrupt(path, "conf.%s: no text", key);
        items[offsets->conf_count++] = (nl_property){nl_str_from(key), {json_string_value(value), json_string_length(value)}};
    }
    offsets->confs = items;
    return NULL;
}

nl_status nl_stream_offsets_read(const nl_stream_checkpoint *checkpoint, int64_t batch, nl_arena *arena, nl_stream_offsets *offsets)
{
    nl_str text = {0}, line;
    bool is_found = false;
    const nl_str name = batch_name(arena, batch);
    const nl_str path = nl_stream_checkpoint_path(checkpoint, arena, "offsets", name);
    NL_TRY(nl_stream_log_read(checkpoint, "offsets", name, arena, &text, &is_found));
    *offsets = (nl_stream_offsets){0};
    if (!is_found) return nl_json_corrupt(path, "the offsets of batch %lld are not there", (long long)batch);
    if (!nl_str_next_part(&text, '\n', &line)) return nl_json_corrupt(path, "no line but the first");
    NL_TRY(read_head(arena, line, path, offsets));
    uint32_t capacity = 1;
    for (size_t i = 0; i < text.length; i++) capacity += text.data[i] == '\n';
    nl_str *list = NL_NEW_ARRAY(arena, nl_str, capacity + 1);
    while (nl_str_next_part(&text, '\n', &line)) list[offsets->offset_count++] = nl_str_is(line, "-") ? (nl_str){0} : line;
    offsets->offsets = list;
    return nl_arena_check(arena);
}

nl_status nl_stream_commit_write(const nl_stream_checkpoint *checkpoint, int64_t batch, int64_t next_watermark_ms)
{
    nl_arena *scratch = nl_arena_new(NULL);
    nl_status status = nl_stream_log_add(checkpoint, "commits", batch_name(scratch, batch),
                                         nl_arena_f(scratch, "{\"nextBatchWatermarkMs\":%lld}", (long long)next_watermark_ms));
    nl_arena_free(scratch);
    return status;
}

nl_status nl_stream_commit_read(const nl_stream_checkpoint *checkpoint, int64_t batch, int64_t *next_watermark_ms)
{
    nl_arena *scratch = nl_arena_new(NULL);
    const json_t *json = NULL;
    nl_str text = {0};
    bool is_found = false;
    const nl_str name = batch_name(scratch, batch);
    const nl_str path = nl_stream_checkpoint_path(checkpoint, scratch, "commits", name);
    *next_watermark_ms = 0;
    nl_status status = nl_stream_log_read(checkpoint, "commits", name, scratch, &text, &is_found);
    if (!status && is_found && text.length) status = nl_json_parse(scratch, text, path, &json);
    if (!status && json) status = nl_json_optional_int64(json, "nextBatchWatermarkMs", path, next_watermark_ms);
    nl_arena_free(scratch);
    return status;
}
