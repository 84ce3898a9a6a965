/* iceberg/manifest_list.c - reading manifest lists (spec: "Manifest Lists"). Writing is in manifest_list_write.c. */
#include "base/json.h"
#include "iceberg/avro_slots.h"
#include "iceberg/manifest_internal.h"

#define START_BYTES ((size_t)256 << 10) /* most lists are read whole by the request that opens them */

static const nl_slot_name list_names[] = {{"manifest_path", 500},
                                          {"manifest_length", 501},
                                          {"partition_spec_id", 502},
                                          {"content", 517},
                                          {"sequence_number", 515},
                                          {"min_sequence_number", 516},
                                          {"added_snapshot_id", 503},
                                          {"added_files_count", 504},
                                          {"existing_files_count", 505},
                                          {"deleted_files_count", 506},
                                          {"added_data_files_count", 504}, /* as older writers call them */
                                          {"existing_data_files_count", 505},
                                          {"deleted_data_files_count", 506},
                                          {"added_rows_count", 512},
                                          {"existing_rows_count", 513},
                                          {"deleted_rows_count", 514},
                                          {"partitions", 507},
                                          {"key_metadata", 519},
                                          {"first_row_id", 520},
                                          {NULL, 0}};

static const nl_slot_name summary_names[] = {
    {"contains_null", 509}, {"contains_nan", 518}, {"lower_bound", 510}, {"upper_bound", 511}, {NULL, 0}};

typedef struct reader {
    nl_arena *arena;
    const nl_slot *slots;
    uint32_t slot_count;
    const nl_slot *summary_slots;
    uint32_t summary_slot_count;
} reader;

static nl_bytes keep(nl_arena *arena, nl_bytes bytes)
{
    if (!bytes.data) return bytes;
    return (nl_bytes){(const uint8_t *)nl_arena_str(arena, (nl_str){(const char *)bytes.data, bytes.length}).data, bytes.length};
}

static nl_status read_summary(const reader *reading, nl_cursor *in, nl_field_summary *summary)
{
    int8_t contains_null = 0;
    *summary = (nl_field_summary){.contains_nan = NL_NONE};
    for (uint32_t i = 0; i < reading->summary_slot_count; i++) {
        const nl_slot *slot = &reading->summary_slots[i];
        switch (slot->field_id) {
        case 509: NL_TRY(nl_slot_bool(slot, in, &contains_null)); break;
        case 518: NL_TRY(nl_slot_bool(slot, in, &summary->contains_nan)); break;
        case 510: NL_TRY(nl_slot_bytes(slot, in, &summary->lower)); break;
        case 511: NL_TRY(nl_slot_bytes(slot, in, &summary->upper)); break;
        default: NL_TRY(nl_avro_skip(slot->whole, in)); break;
        }
    }
    summary->contains_null = contains_null != 0;
    summary->lower = keep(reading->arena, summary->lower);
    summary->upper = keep(reading->arena, summary->upper);
    return nl_arena_check(reading->arena);
}

static nl_status read_summaries(const reader *reading, const nl_slot *slot, nl_cursor *in, nl_manifest_file *file)
{
    bool is_null;
    NL_TRY(nl_slot_is_null(slot, in, &is_null));
    if (is_null) return NULL;
    nl_field_summary *summaries = NL_NEW(reading->arena, nl_field_summary);
    for (;;) {
        uint64_t count;
        int64_t block_bytes;
        NL_TRY(nl_avro_block_count(in, NL_MAX(slot->type->fields[0].type->bytes_min, 1), &count, &block_bytes));
        if (count == 0) break;
        void *more;
        NL_TRY(nl_arena_alloc_sized(reading->arena, nl_size_mul(file->partition_count + count, sizeof(*summaries)), &more));
        if (file->partition_count) memcpy(more, summaries, file->partition_count * sizeof(*summaries));
        summaries = more;
        for (uint64_t i = 0; i < count; i++)
            NL_TRY(read_summary(reading, in, &summaries[file->partition_count++]));
    }
    file->partitions = summaries;
    return NULL;
}

static nl_status read_row(const reader *reading, nl_cursor *in, nl_manifest_file *file)
{
    nl_bytes path = {0};
    int64_t content = NL_MANIFEST_DATA;
    *file = (nl_manifest_file){.added_snapshot_id = NL_NONE,
                               .added_files_count = NL_NONE,
                               .existing_files_count = NL_NONE,
                               .deleted_files_count = NL_NONE,
                               .added_rows_count = NL_NONE,
                               .existing_rows_count = NL_NONE,
                               .deleted_rows_count = NL_NONE,
                               .first_row_id = NL_NONE};
    for (uint32_t i = 0; i < reading->slot_count; i++) {
        const nl_slot *slot = &reading->slots[i];
        switch (slot->field_id) {
        case 500: NL_TRY(nl_slot_bytes(slot, in, &path)); break;
        case 501: NL_TRY(nl_slot_int64(slot, in, &file->length)); break;
        case 502: NL_TRY(nl_slot_int32(slot, in, &file->spec_id)); break;
        case 517: NL_TRY(nl_slot_int64(slot, in, &content)); break;
        case 515: NL_TRY(nl_slot_int64(slot, in, &file->sequence_number)); break;
        case 516: NL_TRY(nl_slot_int64(slot, in, &file->min_sequence_number)); break;
        case 503: NL_TRY(nl_slot_int64(slot, in, &file->added_snapshot_id)); break;
        case 504: NL_TRY(nl_slot_int64(slot, in, &file->added_files_count)); break;
        case 505: NL_TRY(nl_slot_int64(slot, in, &file->existing_files_count)); break;
        case 506: NL_TRY(nl_slot_int64(slot, in, &file->deleted_files_count)); break;
        case 512: NL_TRY(nl_slot_int64(slot, in, &file->added_rows_count)); break;
        case 513: NL_TRY(nl_slot_int64(slot, in, &file->existing_rows_count)); break;
        case 514: NL_TRY(nl_slot_int64(slot, in, &file->deleted_rows_count)); break;
        case 507: NL_TRY(read_summaries(reading, slot, in, file)); break;
        case 519: NL_TRY(nl_slot_bytes(slot, in, &file->key_metadata)); break;
        case 520: NL_TRY(nl_slot_int64(slot, in, &file->first_row_id)); break;
        default: NL_TRY(nl_avro_skip(slot->whole, in)); break;
        }
    }
    NL_TRY(nl_cursor_status(in));
    if (!path.length) return nl_cursor_corrupt(in, "a manifest without path");
    if (content != NL_MANIFEST_DATA && content != NL_MANIFEST_DELETES) return nl_cursor_corrupt(in, "a manifest content of %lld", (long long)content);
    file->content = (nl_manifest_content)content;
    file->path = nl_arena_str(reading->arena, (nl_str){(const char *)path.data, path.length});
    file->key_metadata = keep(reading->arena, file->key_metadata);
    return nl_arena_check(reading->arena);
}

static nl_status make_slots(reader *reading, const nl_avro_type *record, nl_str path)
{
    NL_TRY(nl_slots_make(reading->arena, record, list_names, path, &reading->slots));
    reading->slot_count = record->field_count;
    for (uint32_t i = 0; i < reading->slot_count; i++) {
        const nl_slot *slot = &reading->slots[i];
        if (slot->field_id != 507) continue;
        if (slot->type->kind != NL_AVRO_ARRAY) return nl_json_corrupt(path, "its field partitions is not an array");
        const nl_avro_type *item = slot->type->fields[0].type;
        NL_TRY(nl_slots_make(reading->arena, item, summary_names, path, &reading->summary_slots));
        reading->summary_slot_count = item->field_count;
    }
    return NULL;
}

static nl_status read_block(const reader *reading, const nl_avro_file *avro, const nl_avro_block *block, nl_manifest_file **rows, uint32_t *count)
{
    void *more;
    if (block->row_count > UINT32_MAX - *count) return nl_json_corrupt(nl_avro_file_path(avro), "a list of too many manifests");
    NL_TRY(nl_arena_alloc_sized(reading->arena, nl_size_mul(*count + (size_t)block->row_count, sizeof(**rows)), &more));
    if (*count) memcpy(more, *rows, *count * sizeof(**rows));
    *rows = more;
    nl_cursor in = nl_avro_block_cursor(avro, block);
    for (uint64_t i = 0; i < block->row_count; i++)
        NL_TRY(read_row(reading, &in, &(*rows)[(*count)++]));
    if (nl_cursor_remaining(&in)) return nl_cursor_corrupt(&in, "%zu bytes are left behind the last manifest of a block", nl_cursor_remaining(&in));
    return NULL;
}

static nl_status read_list(nl_avro_file *avro, nl_arena *arena, const nl_manifest_file **files, uint32_t *file_count)
{
    reader reading = {.arena = arena};
    nl_manifest_file *rows = NL_NEW(arena, nl_manifest_file);
    uint32_t count = 0;
    NL_TRY(make_slots(&reading, nl_avro_file_schema(avro), nl_avro_file_path(avro)));
    for (;;) {
        nl_avro_block block;
        NL_TRY(nl_avro_file_next(avro, &block));
        if (!block.data) break;
        nl_status status = read_block(&reading, avro, &block, &rows, &count);
        nl_buffer_release(block.data);
        NL_TRY(status);
    }
    *files = rows;
    *file_count = count;
    return NULL;
}

nl_status nl_manifest_list_read(nl_fs *fs, nl_str path, nl_memory *memory, nl_arena *arena, const nl_manifest_file **files, uint32_t *file_count)
{
    nl_file *file = NULL;
    nl_avro_file *avro = NULL;
    nl_status status;
    NL_GO(nl_fs_open_start(fs, path, START_BYTES, &file));
    nl_file_prefetch(file, &(nl_range){.offset = 0, .length = nl_file_size(file)}, 1); /* all of it is going to be read */
    NL_GO(nl_avro_file_open(file, memory, &avro));
    NL_GO(read_list(avro, arena, files, file_count));
done:
    nl_avro_file_close(avro);
    nl_file_close(file);
    return nl_note_if(status, NL_HERE, "reading manifest list " NL_STR_FMT, NL_STR_ARG(path));
}

/* v1 snapshots may name their manifests directly; what a list would say is taken from each file's head. */
static nl_status read_head(nl_fs *fs, nl_str path, const nl_snapshot *snapshot, nl_memory *memory, nl_arena *arena, nl_manifest_file *row)
{
    nl_file *file = NULL;
    nl_avro_file *avro = NULL;
    nl_manifest head = {.path = path};
    nl_status status;
    NL_GO(nl_fs_open(fs, path, &file));
    NL_GO(nl_avro_file_open(file, memory, &avro));
    NL_GO(nl_manifest_read_head(arena, avro, &head));
    *row = (nl_manifest_file){.path = nl_arena_str(arena, path),
                              .length = (int64_t)nl_file_size(file),
                              .spec_id = head.spec->spec_id,
                              .content = head.content,
                              .added_snapshot_id = snapshot->snapshot_id,
                              .added_files_count = NL_NONE,
                              .existing_files_count = NL_NONE,
                              .deleted_files_count = NL_NONE,
                              .added_rows_count = NL_NONE,
                              .existing_rows_count = NL_NONE,
                              .deleted_rows_count = NL_NONE,
                              .first_row_id = NL_NONE};
done:
    nl_avro_file_close(avro);
    nl_file_close(file);
    return nl_note_if(status, NL_HERE, "reading the head of manifest " NL_STR_FMT, NL_STR_ARG(path));
}

nl_status nl_snapshot_manifests(nl_fs *fs, const nl_snapshot *snapshot, nl_memory *memory, nl_arena *arena, const nl_manifest_file **files,
                                uint32_t *file_count)
{
    if (snapshot->manifest_list.length) return nl_manifest_list_read(fs, snapshot->manifest_list, memory, arena, files, file_count);
    nl_manifest_file *rows = NL_NEW_ARRAY(arena, nl_manifest_file, (size_t)snapshot->manifest_count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < snapshot->manifest_count; i++)
        NL_TRY(read_head(fs, snapshot->manifests[i], snapshot, memory, arena, &rows[i]));
    *files = rows;
    *file_count = snapshot->manifest_count;
    return NULL;
}
