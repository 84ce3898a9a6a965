/* stream/state_store.c - what operators remember: parts in memory (state_index.c), and their versions on disk.
 *
 * A file: "NLST", format 2, kind (1 snapshot, 2 delta), 2 zero bytes, the next row's number (8 bytes; all numbers are little
 * endian), then blocks of a length (8 bytes), a CRC-32 (4), a kind (1: rows, 2: numbers of rows that went), 3 zero bytes and so
 * many bytes of an Arrow stream; a block of length 0 is the last. Rows have their number, `_id`, first. Every version has a
 * file. A snapshot is made when the deltas since the last one hold as many rows as half of the state, ten versions after it at
 * the earliest; files older than the last snapshot but one are removed. */
#include "stream/state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "base/hash.h"
#include "base/number.h"
#include "column/arrow_ipc.h"
#include "function/kernel.h"
#include "stream/state_plan.h"

#define SNAPSHOT_AFTER   10   /* versions: spark.sql.streaming.stateStore.minDeltasForSnapshot */
#define SNAPSHOT_AT_LAST 2000 /* deltas that a restart reads one after the other */
#define FORMAT           2
#define HEAD_BYTES       16u
#define BLOCK_HEAD       16u
#define BLOCK_BYTES_MAX  ((uint64_t)2 << 30)
#define KIND_SNAPSHOT    1
#define KIND_DELTA       2
#define BLOCK_ROWS       1
#define BLOCK_REMOVED    2
#define MEMORY_MIN       ((size_t)64 << 20) /* bytes of one part's rows that stay in memory */
#define MEMORY_SHARE     16u                /* or this part of the budget, if that is more */

struct nl_state_part {
    nl_state_part *next;
    nl_state_store *store;
    nl_str name;
    nl_state_index *index;     /* owned: version `version` and what the batch has changed */
    int64_t version, snapshot; /* the newest snapshot on disk; -1: none */
    int64_t first_id;          /* rows from here on are the batch's */
    int64_t *removed;          /* of malloc: numbers below first_id that went in this batch */
    size_t removed_count, removed_capacity;
    uint64_t delta_rows;       /* of the deltas since the snapshot */
    uint32_t delta_count;
};

struct nl_state_store {
    nl_arena *arena; /* owned */
    uint32_t ordinal;
    nl_str name;     /* of the operator */
    nl_state_part *parts;
};

/* ---- paths ---- */

static nl_str part_folder(const nl_state_batch *batch, const nl_state_part *part, nl_arena *arena)
{
    return nl_arena_f(arena, NL_STR_FMT "/state/%u/" NL_STR_FMT, NL_STR_ARG(batch->checkpoint->path), part->store->ordinal, NL_STR_ARG(part->name));
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

typedef struct writing {
    nl_output *output;
    const nl_type *type;
    nl_memory *memory;
    uint8_t kind;
} writing;

static nl_status write_block(void *context, nl_batch *batch)
{
    const writing *self = context;
    const nl_ipc_options options = {0};
    uint8_t head[BLOCK_HEAD] = {0};
    nl_buffer *stream = NULL;
    NL_TRY(nl_ipc_encode(self->type, batch, 1, &options, self->memory, &stream));
    put_le(head, stream->size_bytes, 8);
    put_le(head + 8, nl_crc32(stream->data, stream->size_bytes, 0), 4);
    head[12] = self->kind;
    nl_status status = nl_output_write(self->output, head, sizeof head);
    if (!status) status = nl_output_write(self->output, stream->data, stream->size_bytes);
    nl_buffer_release(stream);
    return status;
}

static const nl_type *removed_type(nl_arena *arena)
{
    nl_field *field = NL_NEW(arena, nl_field);
    *field = (nl_field){.name = NL_STR("_id"), .type = nl_type_bigint()};
    return nl_type_struct(arena, field, 1);
}

static nl_status write_removed(writing *to, const int64_t *ids, size_t count)
{
    for (size_t start = 0; start < count; start += NL_BATCH_ROWS) {
        const uint32_t rows = (uint32_t)NL_MIN((size_t)NL_BATCH_ROWS, count - start);
        nl_batch batch = {0};
        NL_TRY(nl_batch_init(&batch, 1, rows));
        nl_status status = nl_vector_new_flat(&batch.columns[0], nl_type_bigint(), rows, to->memory);
        if (!status) memcpy(nl_vector_values(&batch.columns[0]), ids + start, rows * sizeof *ids);
        if (!status) status = write_block(to, &batch);
        nl_batch_fini(&batch);
        NL_TRY(status);
    }
    return NULL;
}

static nl_status write_blocks(nl_state_part *part, nl_output *output, bool is_snapshot, nl_state_slots *slots, nl_arena *arena, nl_memory *memory)
{
    writing to = {.output = output, .type = removed_type(arena), .memory = memory, .kind = BLOCK_REMOVED};
    if (!is_snapshot) NL_TRY(write_removed(&to, part->removed, part->removed_count));
    NL_TRY(nl_state_index_since(part->index, is_snapshot ? INT64_MIN : part->first_id, slots));
    to.type = nl_state_index_numbered_type(part->index);
    to.kind = BLOCK_ROWS;
    return nl_state_index_gather(part->index, slots, write_block, &to);
}

static nl_status write_version(nl_state_batch *batch, nl_state_part *part, nl_str path, bool is_snapshot)
{
    uint8_t head[HEAD_BYTES] = {'N', 'L', 'S', 'T', FORMAT, is_snapshot ? KIND_SNAPSHOT : KIND_DELTA};
    const uint8_t end[BLOCK_HEAD] = {0};
    nl_output *output = NULL;
    nl_state_slots slots = {0};
    put_le(head + 8, (uint64_t)nl_state_index_next_id(part->index), 8);
    NL_TRY(nl_fs_create(batch->checkpoint->fs, path, &output));
    nl_status status = nl_output_write(output, head, sizeof head);
    if (!status) status = write_blocks(part, output, is_snapshot, &slots, batch->planning->arena, batch->memory);
    if (!status) status = nl_output_write(output, end, sizeof end);
    if (!is_snapshot) part->delta_rows += slots.count + part->removed_count;
    nl_state_slots_free(&slots);
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

static nl_status take_rows(nl_state_part *part, nl_str path, const nl_batch *batch, nl_memory *memory)
{
    nl_vector ids = {0};
    nl_batch rows = {0};
    NL_TRY(nl_vector_flatten(&batch->columns[0], true, memory, &ids));
    const int64_t *numbers = nl_vector_values(&ids);
    int64_t least = nl_state_index_next_id(part->index);
    nl_status status = nl_batch_init(&rows, batch->column_count - 1, batch->row_count);
    for (uint32_t i = 0; i < batch->row_count && !status; i++) {
        if (numbers[i] < least || numbers[i] == INT64_MAX) status = damaged(path, "its rows are not in order");
        least = numbers[i] + !status;
    }
    for (uint32_t i = 0; i < rows.column_count && !status; i++) nl_vector_ref(&batch->columns[i + 1], &rows.columns[i]);
    if (!status && rows.row_count) status = nl_state_index_add(part->index, &rows, numbers);
    nl_batch_fini(&rows);
    nl_vector_fini(&ids);
    return status;
}

static nl_status take_removed(nl_state_part *part, nl_str path, const nl_batch *batch, nl_memory *memory)
{
    nl_vector ids = {0};
    NL_TRY(nl_vector_flatten(&batch->columns[0], true, memory, &ids));
    const int64_t *numbers = nl_vector_values(&ids);
    bool all = true;
    for (uint32_t i = 0; i < batch->row_count; i++) all = nl_state_index_remove(part->index, numbers[i]) && all;
    nl_vector_fini(&ids);
    return all ? NULL : damaged(path, "it removes rows that are not there");
}

static nl_status read_block(nl_state_part *part, nl_str path, uint8_t kind, nl_buffer *content, nl_arena *arena, nl_memory *memory)
{
    nl_ipc_reader *reader = NULL;
    const nl_type *type = kind == BLOCK_ROWS ? nl_state_index_numbered_type(part->index) : removed_type(arena);
    NL_TRY(nl_ipc_reader_new((nl_str){(const char *)content->data, content->size_bytes}, content, memory, &reader));
    nl_status status = same_types(nl_ipc_reader_schema(reader), type) ? NULL : damaged(path, "its columns are not those of the query, which was changed");
    for (bool is_done = false; !status && !is_done;) {
        nl_batch batch = {0};
        status = nl_ipc_reader_next(reader, &batch, &is_done);
        if (!status && !is_done) status = kind == BLOCK_ROWS ? take_rows(part, path, &batch, memory) : take_removed(part, path, &batch, memory);
        if (!status && !is_done) part->delta_rows += batch.row_count;
        nl_batch_fini(&batch);
    }
    nl_ipc_reader_free(reader);
    return status;
}

/* *at moves behind the block; *is_last: it was the empty one. */
static nl_status next_block(nl_state_batch *batch, nl_state_part *part, nl_file *file, nl_str path, uint64_t *at, bool *is_last)
{
    uint8_t head[BLOCK_HEAD];
    const uint64_t size = nl_file_size(file);
    nl_buffer *content = NULL;
    if (size - *at < BLOCK_HEAD) return damaged(path, "it ends too early");
    NL_TRY(nl_file_read(file, *at, sizeof head, head));
    *at += sizeof head;
    const uint64_t length = get_le(head, 8);
    *is_last = length == 0;
    if (*is_last) return NULL;
    if (length > size - *at || length > BLOCK_BYTES_MAX) return damaged(path, "it ends too early");
    if (head[12] != BLOCK_ROWS && head[12] != BLOCK_REMOVED) return damaged(path, "it has a block of a kind that is not known");
    NL_TRY(nl_buffer_new(batch->memory, length, false, &content));
    nl_status status = nl_file_read(file, *at, length, content->data);
    *at += length;
    if (!status && nl_crc32(content->data, length, 0) != (uint32_t)get_le(head + 8, 4)) status = damaged(path, "its checksum is wrong");
    if (!status) status = read_block(part, path, head[12], content, batch->planning->arena, batch->memory);
    nl_buffer_release(content);
    return status;
}

static nl_status read_open(nl_state_batch *batch, nl_state_part *part, nl_file *file, nl_str path, uint8_t kind)
{
    uint8_t head[HEAD_BYTES];
    uint64_t at = HEAD_BYTES;
    if (nl_file_size(file) < HEAD_BYTES + BLOCK_HEAD) return damaged(path, "it ends too early");
    NL_TRY(nl_file_read(file, 0, sizeof head, head));
    if (memcmp(head, "NLST", 4) != 0) return damaged(path, "it does not begin as such a file does");
    if (head[4] != FORMAT || head[5] != kind) return damaged(path, "its format is another one");
    for (bool is_last = false; !is_last;) NL_TRY(next_block(batch, part, file, path, &at, &is_last));
    const int64_t next_id = (int64_t)get_le(head + 8, 8);
    if (next_id < nl_state_index_next_id(part->index)) return damaged(path, "its next number is not behind the last one");
    nl_state_index_set_next_id(part->index, next_id);
    return NULL;
}

static nl_status read_version(nl_state_batch *batch, nl_state_part *part, nl_str path, uint8_t kind)
{
    nl_file *file = NULL;
    nl_status status = nl_fs_open(batch->checkpoint->fs, path, &file);
    if (status && nl_error_condition(status) == NL_COND_PATH_NOT_FOUND) {
        nl_error_free(status);
        return damaged(path, "it is not there");
    }
    NL_TRY(status);
    status = read_open(batch, part, file, path, kind);
    nl_file_close(file);
    return status ? status : nl_state_index_tidy(part->index);
}

/* ---- versions ---- */

typedef struct version_list {
    int64_t snapshot, version; /* the newest snapshot up to version */
    int64_t before;            /* older files are collected */
    uint32_t count;
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
    list->count++;
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

static nl_status not_ours(nl_state_batch *batch, nl_str folder)
{
    return NL_RAISE_TEXT(NILAS_STREAM_STATE,
                         "Batch %" PRId64 " needs the state that the batches before it have left in " NL_STR_FMT ", and nothing is there that nilas has written. A query with state goes on only where "
                         "it was begun: state of Spark cannot be read. Give the query another checkpointLocation.",
                         batch->version, NL_STR_ARG(folder));
}

static nl_status load_part(nl_state_batch *batch, nl_state_part *part)
{
    nl_arena *arena = batch->planning->arena;
    const nl_str folder = part_folder(batch, part, arena);
    version_list list = {.snapshot = -1, .version = batch->version};
    part->version = batch->version;
    part->snapshot = -1;
    part->delta_count = 0;
    if (batch->version == 0) return NULL;
    NL_TRY(list_versions(batch, folder, &list));
    if (list.count == 0) return not_ours(batch, folder);
    part->snapshot = list.snapshot;
    if (list.snapshot >= 0) NL_TRY(read_version(batch, part, version_path(arena, folder, list.snapshot, true), KIND_SNAPSHOT));
    part->delta_rows = 0;
    for (int64_t version = NL_MAX(list.snapshot, 0) + 1; version <= batch->version; version++) {
        NL_TRY(read_version(batch, part, version_path(arena, folder, version, false), KIND_DELTA));
        part->delta_count++;
    }
    return NULL;
}

static nl_status forget_old(nl_state_batch *batch, nl_str folder, int64_t before)
{
    version_list list = {.version = -1, .before = before, .arena = batch->planning->arena};
    NL_TRY(list_versions(batch, folder, &list));
    for (uint32_t i = 0; i < list.old.count; i++) NL_TRY(nl_fs_remove(batch->checkpoint->fs, *(const nl_str *)list.old.items[i]));
    return NULL;
}

static bool is_snapshot_due(const nl_state_part *part)
{
    const uint64_t changed = part->delta_rows + part->removed_count + (uint64_t)(nl_state_index_next_id(part->index) - part->first_id);
    if (part->delta_count + 1 < SNAPSHOT_AFTER) return false;
    return changed >= nl_state_index_count(part->index) / 2 || part->delta_count >= SNAPSHOT_AT_LAST;
}

static void begin_version(nl_state_part *part, int64_t version)
{
    part->version = version;
    part->first_id = nl_state_index_next_id(part->index);
    part->removed_count = 0;
}

nl_status nl_state_commit(nl_state_batch *batch, nl_state_part *part)
{
    nl_arena *arena = batch->planning->arena;
    const int64_t version = batch->version + 1, before = part->snapshot;
    const nl_str folder = part_folder(batch, part, arena);
    const bool is_snapshot = is_snapshot_due(part);
    NL_TRY(write_version(batch, part, version_path(arena, folder, version, is_snapshot), is_snapshot));
    NL_CRASH_POINT("stream.state");
    NL_TRY(nl_state_index_tidy(part->index));
    begin_version(part, version);
    part->delta_count++;
    if (!is_snapshot) return NULL;
    part->delta_count = 0;
    part->delta_rows = 0;
    part->snapshot = version;
    return before > 0 ? forget_old(batch, folder, before) : NULL;
}

/* ---- stores and parts ---- */

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

static void empty_part(nl_state_part *part)
{
    nl_state_index_free(part->index);
    free(part->removed);
    part->index = NULL;
    part->removed = NULL;
    part->removed_count = part->removed_capacity = 0;
}

static nl_state_part *find_part(nl_state_store *store, nl_str name)
{
    nl_state_part *part = store->parts;
    while (part && !nl_str_equal(part->name, name)) part = part->next;
    if (part) return part;
    part = NL_NEW(store->arena, nl_state_part);
    *part = (nl_state_part){.next = store->parts, .store = store, .name = nl_arena_str(store->arena, name), .version = -1};
    store->parts = part;
    return part;
}

static size_t memory_max(const nl_memory *memory)
{
    const size_t limit = nl_memory_limit(memory);
    return limit == SIZE_MAX ? MEMORY_MIN : NL_MAX(MEMORY_MIN, limit / MEMORY_SHARE);
}

/* Keys are found by the hashes of their bytes, which strings that are equal under a collation do not share. */
static bool is_collated(const nl_type *type)
{
    if (type->id == NL_TYPE_STRING && type->collation.length) return true;
    for (uint32_t i = 0; i < type->child_count; i++)
        if (is_collated(type->children[i].type)) return true;
    return false;
}

nl_status nl_state_part_open(nl_state_batch *batch, nl_state_store *store, const char *name, const nl_state_layout *layout, nl_state_part **out)
{
    nl_state_part *part = find_part(store, nl_str_from(name));
    const nl_state_index_options options = {.memory = batch->memory, .spill_directory = batch->query->spill_directory, .memory_bytes_max = memory_max(batch->memory)};
    for (uint32_t i = 0; i < layout->key_count; i++)
        if (is_collated(layout->row_type->children[layout->keys[i]].type))
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not keep state by strings with a collation.");
    if (part->index && part->version != batch->version) empty_part(part);
    if (!part->index) {
        NL_TRY(nl_state_index_new(layout, &options, &part->index));
        nl_status status = load_part(batch, part);
        if (status) {
            empty_part(part);
            return status;
        }
        begin_version(part, batch->version);
    }
    *out = part;
    return NULL;
}

void nl_state_store_free(nl_state_store *store)
{
    if (!store) return;
    for (nl_state_part *part = store->parts; part; part = part->next) empty_part(part);
    nl_arena_free(store->arena);
}

uint64_t nl_state_part_count(const nl_state_part *part)
{
    return nl_state_index_count(part->index);
}

uint64_t nl_state_part_bytes(const nl_state_part *part)
{
    return nl_state_index_bytes(part->index);
}

/* ---- rows of a part ---- */

static nl_status add_found(void *context, nl_batch *batch)
{
    return nl_kept_rows_add(context, batch);
}

/* Takes slots. */
static nl_status gather(nl_state_batch *batch, nl_state_part *part, nl_state_slots *slots, nl_status status, nl_kept_rows **found)
{
    nl_kept_rows *made = NULL;
    if (!status) status = nl_kept_rows_new(nl_state_index_numbered_type(part->index), batch->memory, batch->query->spill_directory, &made);
    if (!status) status = nl_state_index_gather(part->index, slots, add_found, made);
    nl_state_slots_free(slots);
    if (status)
        nl_kept_rows_release(made);
    else
        *found = made;
    return status;
}

/* Each batch of the rows in turn. */
static nl_status each_batch(nl_state_batch *batch, nl_kept_rows *rows, nl_status (*use)(void *context, const nl_batch *batch), void *context)
{
    for (uint32_t i = 0;; i++) {
        nl_batch one = {0};
        bool is_done = false;
        NL_TRY(nl_kept_rows_batch(rows, i, batch->memory, &one, &is_done));
        if (is_done) return NULL;
        nl_status status = use(context, &one);
        nl_batch_fini(&one);
        NL_TRY(status);
    }
}

typedef struct key_search {
    nl_state_part *part;
    const uint32_t *columns;
    nl_state_slots slots; /* of all batches so far */
} key_search;

static int compare_slots(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static nl_status search_batch(void *context, const nl_batch *batch)
{
    key_search *self = context;
    nl_state_slots found = {0};
    nl_status status = nl_state_index_find(self->part->index, batch, self->columns, &found);
    uint32_t *grown = status || !found.count ? NULL : realloc(self->slots.items, (self->slots.count + found.count) * sizeof *grown);
    if (grown) {
        self->slots.items = grown;
        memcpy(grown + self->slots.count, found.items, found.count * sizeof *grown);
        self->slots.count += found.count;
    } else if (!status && found.count)
        status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)found.count * 4), NL_P("receivedBytes", "0"));
    nl_state_slots_free(&found);
    return status;
}

nl_status nl_state_find(nl_state_batch *batch, nl_state_part *part, nl_kept_rows *rows, const uint32_t *key_columns, nl_kept_rows **found)
{
    key_search search = {.part = part, .columns = key_columns};
    nl_status status = each_batch(batch, rows, search_batch, &search);
    size_t kept = 0;
    if (search.slots.count) qsort(search.slots.items, search.slots.count, sizeof *search.slots.items, compare_slots);
    for (size_t i = 0; i < search.slots.count; i++)
        if (!i || search.slots.items[i] != search.slots.items[i - 1]) search.slots.items[kept++] = search.slots.items[i];
    search.slots.count = kept;
    return gather(batch, part, &search.slots, status, found);
}

nl_status nl_state_past(nl_state_batch *batch, nl_state_part *part, int64_t micros, nl_kept_rows **found)
{
    nl_state_slots slots = {0};
    nl_status status = nl_state_index_past(part->index, micros, &slots);
    return gather(batch, part, &slots, status, found);
}

nl_status nl_state_all(nl_state_batch *batch, nl_state_part *part, nl_kept_rows **found)
{
    nl_state_slots slots = {0};
    nl_status status = nl_state_index_since(part->index, INT64_MIN, &slots);
    return gather(batch, part, &slots, status, found);
}

static nl_status add_batch(void *context, const nl_batch *batch)
{
    return nl_state_index_add(context, batch, NULL);
}

nl_status nl_state_add(nl_state_batch *batch, nl_state_part *part, nl_kept_rows *rows, nl_kept_rows **added)
{
    nl_state_slots slots = {0};
    const int64_t first = nl_state_index_next_id(part->index);
    NL_TRY(each_batch(batch, rows, add_batch, part->index));
    if (!added) return NULL;
    nl_status status = nl_state_index_since(part->index, first, &slots);
    return gather(batch, part, &slots, status, added);
}

static nl_status note_removed(nl_state_part *part, int64_t id)
{
    if (part->removed_count == part->removed_capacity) {
        const size_t capacity = NL_MAX((size_t)64, part->removed_capacity * 2);
        int64_t *grown = realloc(part->removed, capacity * sizeof *grown);
        if (!grown) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)(capacity * sizeof *grown)), NL_P("receivedBytes", "0"));
        part->removed = grown;
        part->removed_capacity = capacity;
    }
    part->removed[part->removed_count++] = id;
    return NULL;
}

static nl_status remove_batch(void *context, const nl_batch *batch)
{
    nl_state_part *part = context;
    nl_reader ids;
    nl_reader_init(&ids, &batch->columns[0]);
    for (uint32_t row = 0; row < batch->row_count; row++) {
        const int64_t id = nl_reader_i64(&ids, row);
        if (nl_state_index_remove(part->index, id) && id < part->first_id) NL_TRY(note_removed(part, id));
    }
    return NULL;
}

nl_status nl_state_remove(nl_state_batch *batch, nl_state_part *part, nl_kept_rows *rows)
{
    return each_batch(batch, rows, remove_batch, part);
}
