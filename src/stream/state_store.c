/* stream/state_store.c - what operators remember: parts in memory, and their versions on disk (see state.h).
 *
 * A file: "NLST", format 1, kind (1 snapshot, 2 delta), count of key columns, then blocks of a length (8 bytes, little endian), a
 * CRC-32 (4 bytes) and so many bytes of an Arrow stream; a block of length 0 is the last. Every version has a file; every tenth is
 * a snapshot. Files older than the last snapshot but one are removed. */
#include "stream/state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "base/hash.h"
#include "base/number.h"
#include "column/arrow_ipc.h"
#include "stream/state_plan.h"

#define SNAPSHOT_EVERY  10
#define HEAD_BYTES      8u
#define BLOCK_HEAD      12u
#define FILE_BYTES_MAX  ((size_t)1 << 40)
#define KIND_SNAPSHOT   1
#define KIND_DELTA      2

typedef struct state_part {
    struct state_part *next;
    nl_str name;
    uint32_t key_count;
    nl_stream_rows *rows;     /* counted: version `version` */
    int64_t version, snapshot; /* the newest snapshot on disk; -1: none */
} state_part;

struct nl_state_store {
    nl_arena *arena; /* owned */
    uint32_t ordinal;
    nl_str name;     /* of the operator */
    state_part *parts;
};

/* ---- paths ---- */

static nl_str part_folder(const nl_state_batch *batch, const nl_state_store *store, nl_str part, nl_arena *arena)
{
    return nl_arena_f(arena, NL_STR_FMT "/state/%u/" NL_STR_FMT, NL_STR_ARG(batch->checkpoint->path), store->ordinal, NL_STR_ARG(part));
}

static nl_str version_path(nl_arena *arena, nl_str folder, int64_t version, bool is_snapshot)
{
    return nl_arena_f(arena, NL_STR_FMT "/%" PRId64 ".%s", NL_STR_ARG(folder), version, is_snapshot ? "snapshot" : "delta");
}

/* ---- writing ---- */

static void put_le(uint8_t *into, uint64_t number, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) into[i] = (uint8_t)(number >> (8 * i));
}

static uint64_t get_le(const uint8_t *from, uint32_t bytes)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < bytes; i++) number |= (uint64_t)from[i] << (8 * i);
    return number;
}

static nl_status write_block(nl_output *output, const nl_type *row_type, const nl_batch *batch, nl_memory *memory)
{
    const nl_ipc_options options = {0};
    uint8_t head[BLOCK_HEAD];
    nl_buffer *stream = NULL;
    NL_TRY(nl_ipc_encode(row_type, batch, 1, &options, memory, &stream));
    put_le(head, stream->size_bytes, 8);
    put_le(head + 8, nl_crc32(stream->data, stream->size_bytes, 0), 4);
    nl_status status = nl_output_write(output, head, sizeof head);
    if (!status) status = nl_output_write(output, stream->data, stream->size_bytes);
    nl_buffer_release(stream);
    return status;
}

static nl_status write_rows(nl_output *output, nl_stream_rows *rows, nl_memory *memory)
{
    bool is_done = !rows;
    for (uint32_t i = 0; !is_done; i++) {
        nl_batch batch = {0};
        NL_TRY(nl_stream_rows_batch(rows, i, memory, &batch, &is_done));
        if (is_done) break;
        nl_status status = write_block(output, nl_stream_rows_type(rows), &batch, memory);
        nl_batch_fini(&batch);
        NL_TRY(status);
    }
    return NULL;
}

static nl_status write_file(nl_fs *fs, nl_str path, uint8_t kind, uint32_t key_count, nl_stream_rows *rows, nl_memory *memory)
{
    uint8_t head[HEAD_BYTES] = {'N', 'L', 'S', 'T', 1, kind, 0, 0};
    const uint8_t end[BLOCK_HEAD] = {0};
    nl_output *output = NULL;
    put_le(head + 6, key_count, 2);
    NL_TRY(nl_fs_create(fs, path, &output));
    nl_status status = nl_output_write(output, head, sizeof head);
    if (!status) status = write_rows(output, rows, memory);
    if (!status) status = nl_output_write(output, end, sizeof end);
    if (!status) return nl_output_close(output);
    nl_output_abort(output);
    return status;
}

/* ---- reading ---- */

static nl_status damaged(nl_str path, const char *problem)
{
    return NL_RAISE_TEXT(NILAS_STREAM_STATE, "The state of a streaming query is damaged: " NL_STR_FMT ": %s", NL_STR_ARG(path), problem);
}

static bool same_types(const nl_type *a, const nl_type *b)
{
    if (a->child_count != b->child_count) return false;
    for (uint32_t i = 0; i < a->child_count; i++)
        if (a->children[i].type->id != b->children[i].type->id) return false;
    return true;
}

static nl_status read_stream(nl_str bytes, nl_buffer *owner, nl_str path, const nl_type *row_type, nl_memory *memory, nl_stream_rows *rows)
{
    nl_ipc_reader *reader = NULL;
    NL_TRY(nl_ipc_reader_new(bytes, owner, memory, &reader));
    nl_status status = same_types(nl_ipc_reader_schema(reader), row_type) ? NULL : damaged(path, "its columns are not those of the query, which was changed");
    for (bool is_done = false; !status && !is_done;) {
        nl_batch batch = {0};
        status = nl_ipc_reader_next(reader, &batch, &is_done);
        if (!status && !is_done) status = nl_stream_rows_add(rows, &batch);
        nl_batch_fini(&batch);
    }
    nl_ipc_reader_free(reader);
    return status;
}

static nl_status read_file(nl_state_batch *batch, nl_str path, uint8_t kind, const nl_type *row_type, nl_stream_rows *rows)
{
    nl_buffer *content = NULL;
    NL_TRY(nl_fs_read_all(batch->checkpoint->fs, path, FILE_BYTES_MAX, &content));
    const uint8_t *data = content->data;
    const size_t size = content->size_bytes;
    nl_status status = NULL;
    if (size < HEAD_BYTES + BLOCK_HEAD || memcmp(data, "NLST", 4) != 0) status = damaged(path, "it does not begin as such a file does");
    else if (data[4] != 1 || data[5] != kind) status = damaged(path, "its format is another one");
    for (size_t at = HEAD_BYTES; !status;) {
        if (size - at < BLOCK_HEAD) { status = damaged(path, "it ends too early"); break; }
        const uint64_t length = get_le(data + at, 8);
        const uint32_t crc = (uint32_t)get_le(data + at + 8, 4);
        at += BLOCK_HEAD;
        if (length == 0) break;
        if (length > size - at) status = damaged(path, "it ends too early");
        else if (nl_crc32(data + at, length, 0) != crc) status = damaged(path, "its checksum is wrong");
        else status = read_stream((nl_str){(const char *)data + at, length}, content, path, row_type, batch->memory, rows);
        at += length;
    }
    nl_buffer_release(content);
    return status;
}

static nl_status new_rows(nl_state_batch *batch, const nl_type *row_type, nl_stream_rows **rows)
{
    return nl_stream_rows_new(row_type, batch->memory, batch->query->spill_directory, rows);
}

/* The rows without the keys that the delta speaks of, and those that it keeps. */
static nl_status apply_delta(nl_state_batch *batch, uint32_t key_count, nl_stream_rows **rows, nl_stream_rows *delta)
{
    const nl_logical *old = nl_state_scan_new(batch, *rows), *changes = nl_state_scan_new(batch, delta), *kept = NULL, *both = NULL;
    const nl_column *removed = &changes->columns[changes->column_count - 1];
    nl_stream_rows *made = NULL;
    nl_arena *arena = batch->planning->arena;
    NL_TRY(nl_state_anti_join(batch, old, changes, key_count, &kept));
    const nl_logical *stays = nl_logical_filter(arena, changes, nl_expr_not(arena, nl_column_ref(arena, removed)));
    stays = nl_logical_keep(arena, stays, changes->columns, changes->column_count - 1);
    NL_TRY(nl_state_union(batch, kept, stays, &both));
    NL_TRY(nl_state_run(batch, both, &made));
    nl_stream_rows_release(*rows);
    *rows = made;
    return NULL;
}

static nl_status read_delta(nl_state_batch *batch, nl_str path, const nl_type *row_type, uint32_t key_count, nl_stream_rows **rows)
{
    nl_field *fields = NL_NEW_ARRAY(batch->planning->arena, nl_field, row_type->child_count + 1);
    nl_stream_rows *delta = NULL;
    for (uint32_t i = 0; i < row_type->child_count; i++) fields[i] = row_type->children[i];
    fields[row_type->child_count] = (nl_field){.name = NL_STR("_removed"), .type = nl_type_boolean(), .is_nullable = true};
    const nl_type *delta_type = nl_type_struct(batch->planning->arena, fields, row_type->child_count + 1);
    NL_TRY(new_rows(batch, delta_type, &delta));
    nl_status status = read_file(batch, path, KIND_DELTA, delta_type, delta);
    if (!status && nl_stream_rows_count(delta) > 0) status = apply_delta(batch, key_count, rows, delta);
    nl_stream_rows_release(delta);
    return status;
}

typedef struct version_list {
    int64_t snapshot, version; /* the newest snapshot up to version */
    int64_t before;            /* older files are collected */
    nl_arena *arena;
    nl_list old;
} version_list;

static nl_status see_version(void *argument, const nl_file_info *info)
{
    version_list *list = argument;
    const nl_str name = nl_path_name(info->path);
    const size_t dot = nl_str_find_char(name, '.', 0);
    int64_t version;
    if (dot == NL_NOT_FOUND || !nl_parse_int64(nl_str_slice(name, 0, dot), &version)) return NULL;
    if (nl_str_ends(name, NL_STR(".snapshot")) && version <= list->version) list->snapshot = NL_MAX(list->snapshot, version);
    if (version < list->before) {
        nl_str *path = NL_NEW(list->arena, nl_str);
        *path = nl_arena_str(list->arena, info->path);
        nl_list_add(list->arena, &list->old, path);
    }
    return NULL;
}

static nl_status list_versions(nl_state_batch *batch, nl_str folder, version_list *list)
{
    nl_status status = nl_fs_list(batch->checkpoint->fs, folder, false, see_version, list);
    if (!status || nl_error_condition(status) != NL_COND_PATH_NOT_FOUND) return status;
    nl_error_free(status);
    return NULL;
}

static nl_status load_part(nl_state_batch *batch, nl_str folder, const nl_type *row_type, state_part *part)
{
    nl_arena *arena = batch->planning->arena;
    version_list list = {.snapshot = -1, .version = batch->version};
    NL_TRY(new_rows(batch, row_type, &part->rows));
    part->version = batch->version;
    part->snapshot = -1;
    if (batch->version == 0) return NULL;
    NL_TRY(list_versions(batch, folder, &list));
    part->snapshot = list.snapshot;
    if (list.snapshot >= 0) NL_TRY(read_file(batch, version_path(arena, folder, list.snapshot, true), KIND_SNAPSHOT, row_type, part->rows));
    for (int64_t version = NL_MAX(list.snapshot, 0) + 1; version <= batch->version; version++)
        NL_TRY(read_delta(batch, version_path(arena, folder, version, false), row_type, part->key_count, &part->rows));
    return NULL;
}

/* ---- stores ---- */

nl_status nl_state_store_open(nl_state_batch *batch, const char *name, nl_state_store **store)
{
    const uint32_t ordinal = batch->next_operator++;
    if (ordinal >= batch->store_count) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A streaming query with more than %u operators that keep state is not supported.", batch->store_count);
    if (!batch->stores[ordinal]) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_state_store *made = NL_NEW(arena, nl_state_store);
        *made = (nl_state_store){.arena = arena, .ordinal = ordinal, .name = nl_str_from(name)};
        batch->stores[ordinal] = made;
    }
    *store = batch->stores[ordinal];
    return NULL;
}

static state_part *find_part(nl_state_store *store, nl_str name)
{
    state_part *part = store->parts;
    while (part && !nl_str_equal(part->name, name)) part = part->next;
    return part;
}

nl_status nl_state_part(nl_state_batch *batch, nl_state_store *store, const char *name, const nl_type *row_type, uint32_t key_count, nl_stream_rows **rows)
{
    state_part *part = find_part(store, nl_str_from(name));
    if (!part) {
        part = NL_NEW(store->arena, state_part);
        *part = (state_part){.next = store->parts, .name = nl_arena_str(store->arena, nl_str_from(name)), .version = -1};
        store->parts = part;
    }
    part->key_count = key_count;
    if (part->rows && part->version != batch->version) {
        nl_stream_rows_release(part->rows);
        part->rows = NULL;
    }
    if (!part->rows) {
        nl_status status = load_part(batch, part_folder(batch, store, part->name, batch->planning->arena), row_type, part);
        if (status) {
            nl_stream_rows_release(part->rows);
            part->rows = NULL;
            return status;
        }
    }
    *rows = part->rows;
    return NULL;
}

static nl_status forget_old(nl_state_batch *batch, nl_str folder, int64_t before)
{
    version_list list = {.version = -1, .before = before, .arena = batch->planning->arena};
    NL_TRY(list_versions(batch, folder, &list));
    for (uint32_t i = 0; i < list.old.count; i++) NL_TRY(nl_fs_remove(batch->checkpoint->fs, *(const nl_str *)list.old.items[i]));
    return NULL;
}

/* What changed and what went as rows of a delta. */
static nl_status make_delta(nl_state_batch *batch, nl_stream_rows *changed, nl_stream_rows *removed, nl_stream_rows **delta)
{
    const nl_logical *plan = NULL, *gone = NULL;
    if (changed) plan = nl_state_with_flag(batch, nl_state_scan_new(batch, changed), "_removed", false);
    if (removed) gone = nl_state_with_flag(batch, nl_state_scan_new(batch, removed), "_removed", true);
    if (plan && gone) NL_TRY(nl_state_union(batch, plan, gone, &plan));
    if (!plan) plan = gone;
    return plan ? nl_state_run(batch, plan, delta) : NULL;
}

nl_status nl_state_put(nl_state_batch *batch, nl_state_store *store, const char *name, nl_stream_rows *rows, nl_stream_rows *changed, nl_stream_rows *removed)
{
    state_part *part = find_part(store, nl_str_from(name));
    nl_arena *arena = batch->planning->arena;
    nl_stream_rows *delta = NULL;
    const int64_t version = batch->version + 1, snapshot = part->snapshot;
    const nl_str folder = part_folder(batch, store, part->name, arena);
    const bool is_snapshot = version % SNAPSHOT_EVERY == 0;
    nl_status status = NULL;
    if (is_snapshot) {
        status = write_file(batch->checkpoint->fs, version_path(arena, folder, version, true), KIND_SNAPSHOT, part->key_count, rows, batch->memory);
    } else {
        status = make_delta(batch, changed, removed, &delta);
        if (!status) status = write_file(batch->checkpoint->fs, version_path(arena, folder, version, false), KIND_DELTA, part->key_count, delta, batch->memory);
        nl_stream_rows_release(delta);
    }
    NL_CRASH_POINT("stream.state");
    if (rows != part->rows) nl_stream_rows_release(part->rows);
    part->rows = rows;
    part->version = version;
    if (status || !is_snapshot) return status;
    part->snapshot = version;
    return snapshot > 0 ? forget_old(batch, folder, snapshot) : NULL;
}

void nl_state_store_free(nl_state_store *store)
{
    if (!store) return;
    for (state_part *part = store->parts; part; part = part->next) nl_stream_rows_release(part->rows);
    nl_arena_free(store->arena);
}
