/* lakehouse/tables_metadata.c - metadata files behind the pointers: read and written through a cache that holds the parsed
 * form and the text, so that a commit reads nothing and a load copies bytes. See tables.h.
 *
 * A file that a pointer named never changes (its name holds a random UUID), so an entry needs no check.
 */
#include "lakehouse/tables_private.h"

#include "base/crash.h"
#include "base/limits.h"
#include "base/log.h"
#include "catalog/pointer.h"
#include "lakehouse/rooted_fs.h"

#define KEPT_BYTES_MAX (64ull << 20)

void nl_kept_metadata_release(nl_kept_metadata *kept)
{
    nl_table_metadata_release(kept->metadata);
    nl_buffer_release(kept->json);
    *kept = (nl_kept_metadata){0};
}

static nl_kept_metadata retain(const nl_kept_metadata *kept)
{
    return (nl_kept_metadata){nl_table_metadata_retain(kept->metadata), nl_buffer_retain(kept->json)};
}

static bool find_kept(nl_tables *tables, nl_str file, nl_kept_metadata *kept)
{
    bool is_found = false;
    nl_mutex_lock(&tables->mutex);
    for (uint32_t i = 0; i < NL_KEPT_COUNT && !is_found; i++) {
        nl_kept_entry *entry = &tables->kept[i];
        if (!entry->kept.metadata || !nl_str_equal(entry->kept.metadata->metadata_file, file)) continue;
        *kept = retain(&entry->kept);
        entry->used_at = ++tables->clock;
        is_found = true;
    }
    nl_mutex_unlock(&tables->mutex);
    return is_found;
}

/* Of the same location, else free, else the one used longest ago: at most one entry goes for its place, more for bytes. */
static void keep(nl_tables *tables, const nl_kept_metadata *kept)
{
    nl_kept_metadata dropped[NL_KEPT_COUNT];
    uint32_t dropped_count = 0;
    if (kept->json->size_bytes > KEPT_BYTES_MAX / 4) return;
    nl_mutex_lock(&tables->mutex);
    nl_kept_entry *place = NULL;
    for (uint32_t i = 0; i < NL_KEPT_COUNT; i++) {
        nl_kept_entry *entry = &tables->kept[i];
        if (entry->kept.metadata && nl_str_equal(entry->kept.metadata->location, kept->metadata->location)) {
            place = entry;
            break;
        }
        if (!place || (place->kept.metadata && (!entry->kept.metadata || entry->used_at < place->used_at))) place = entry;
    }
    for (;;) {
        if (place->kept.metadata) {
            tables->kept_bytes -= place->kept.json->size_bytes;
            dropped[dropped_count++] = place->kept;
        }
        *place = (nl_kept_entry){0};
        if (tables->kept_bytes + kept->json->size_bytes <= KEPT_BYTES_MAX) break;
        nl_kept_entry *oldest = NULL;
        for (uint32_t i = 0; i < NL_KEPT_COUNT; i++)
            if (tables->kept[i].kept.metadata && (!oldest || tables->kept[i].used_at < oldest->used_at)) oldest = &tables->kept[i];
        place = oldest;
    }
    *place = (nl_kept_entry){retain(kept), ++tables->clock};
    tables->kept_bytes += kept->json->size_bytes;
    nl_mutex_unlock(&tables->mutex);
    for (uint32_t i = 0; i < dropped_count; i++)
        nl_kept_metadata_release(&dropped[i]);
}

static bool is_local(nl_str path)
{
    return nl_str_starts(path, NL_STR("/")) || nl_str_starts_nocase(path, NL_STR("file:"));
}

nl_status nl_tables_fs(nl_tables *tables, nl_str path, nl_fs **fs)
{
    static const nl_str schemes[] = {NL_STR_INIT("s3://"), NL_STR_INIT("s3a://"), NL_STR_INIT("s3n://")};
    *fs = NULL;
    bool is_plain = path.length <= NL_PATH_BYTES_MAX;
    for (size_t i = 0; i < path.length && is_plain; i++)
        is_plain = (unsigned char)path.data[i] >= 0x20;
    if (!is_plain) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A location is too long, or has control characters");
    if (is_local(path)) *fs = tables->local_fs;
    for (size_t i = 0; i < NL_COUNT(schemes); i++)
        if (nl_str_starts(path, schemes[i])) *fs = tables->object_fs;
    if (*fs) return NULL;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The location " NL_STR_FMT " is on no storage of this service; there are: s3, file.", NL_STR_ARG(path));
}

nl_status nl_tables_warehouse_fs(nl_tables *tables, const nl_warehouse *warehouse, nl_str path, nl_fs **fs)
{
    nl_fs *found;
    NL_TRY(nl_tables_fs(tables, path, &found));
    if (found == tables->local_fs) return nl_fs_rooted_new(found, is_local(warehouse->location) ? warehouse->location : NL_STR(""), fs);
    *fs = nl_fs_retain(found);
    return NULL;
}

nl_status nl_tables_check_location(nl_tables *tables, const nl_warehouse *warehouse, nl_str location)
{
    nl_fs *fs;
    NL_TRY(nl_tables_fs(tables, location, &fs));
    if (!is_local(location)) {
        if (warehouse->kind == NL_WAREHOUSE_TABLE_BUCKET || !nl_tables_storage_uuid(location).length) return NULL;
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The location " NL_STR_FMT " belongs to a table bucket", NL_STR_ARG(location));
    }
    if (is_local(warehouse->location) && nl_path_is_below(location, warehouse->location)) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The location " NL_STR_FMT " is not below the warehouse " NL_STR_FMT, NL_STR_ARG(location),
                         NL_STR_ARG(warehouse->location));
}

nl_status nl_tables_check_scope(nl_tables *tables, const nl_warehouse *warehouse, const nl_property *properties, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!nl_str_is(properties[i].key, "location")) continue;
        if (warehouse->kind == NL_WAREHOUSE_TABLE_BUCKET)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A namespace of a table bucket has no location: each table gets a place of its own");
        if (is_local(properties[i].value)) NL_TRY(nl_tables_check_location(tables, warehouse, properties[i].value));
    }
    return NULL;
}

static nl_status encode(const nl_table_metadata *metadata, nl_memory *memory, nl_buffer **json)
{
    return nl_table_metadata_encode(metadata, false, memory, json);
}

nl_status nl_tables_read_metadata(nl_tables *tables, nl_str metadata_file, nl_kept_metadata *kept)
{
    nl_fs *fs;
    if (find_kept(tables, metadata_file, kept)) return NULL;
    NL_TRY(nl_tables_fs(tables, metadata_file, &fs));
    nl_kept_metadata made = {0};
    nl_status status = nl_table_metadata_read(fs, metadata_file, tables->memory, &made.metadata);
    if (!status) status = encode(made.metadata, tables->memory, &made.json);
    if (status) {
        nl_kept_metadata_release(&made);
        return status;
    }
    keep(tables, &made);
    *kept = made;
    return NULL;
}

/* The next file's name, text and parsed form; nothing is written. */
static nl_status make_file(nl_tables *tables, const nl_table_metadata *base, const nl_table_metadata *updated, nl_kept_metadata *made)
{
    nl_arena *arena = nl_arena_new(tables->memory);
    nl_status status = nl_table_metadata_with_file(updated, nl_next_metadata_file(arena, base, updated), &made->metadata);
    if (!status) status = encode(made->metadata, tables->memory, &made->json);
    nl_arena_free(arena);
    return status;
}

/* *content is counted: the text, or gzip of it where the table wants that. */
static nl_status make_content(nl_tables *tables, const nl_kept_metadata *made, nl_buffer **content)
{
    if (nl_table_metadata_wants_gzip(made->metadata)) return nl_table_metadata_encode(made->metadata, true, tables->memory, content);
    *content = nl_buffer_retain(made->json);
    return NULL;
}

static nl_status finish(nl_tables *tables, nl_status status, nl_kept_metadata *made, nl_kept_metadata *kept)
{
    if (status) {
        nl_kept_metadata_release(made);
        return status;
    }
    keep(tables, made);
    *kept = *made;
    return NULL;
}

nl_status nl_tables_write_metadata(nl_tables *tables, const nl_table_metadata *base, const nl_table_metadata *updated, nl_kept_metadata *kept)
{
    nl_kept_metadata made = {0};
    nl_buffer *content = NULL;
    nl_fs *fs;
    nl_status status = make_file(tables, base, updated, &made);
    if (!status) status = make_content(tables, &made, &content);
    if (!status) status = nl_tables_fs(tables, made.metadata->metadata_file, &fs);
    if (!status) status = nl_fs_create_if_absent(fs, made.metadata->metadata_file, (nl_bytes){content->data, content->size_bytes});
    nl_buffer_release(content);
    return finish(tables, status, &made, kept);
}

void nl_tables_remove_metadata(nl_tables *tables, nl_str metadata_file)
{
    nl_fs *fs;
    nl_error *error = nl_tables_fs(tables, metadata_file, &fs);
    if (!error) error = nl_fs_remove(fs, metadata_file);
    if (error) nl_log(NL_LOG_WARN, "a metadata file stays behind: %s", nl_error_message(error));
    nl_error_free(error);
}

/* On the store's own objects the file and the pointer are one transaction. */
static nl_status publish_object(nl_tables *tables, int64_t warehouse_id, const nl_pointer_change *change, const nl_kept_metadata *made)
{
    nl_arena *arena = nl_arena_new(tables->memory);
    nl_pointer_work *work;
    nl_buffer *content = NULL;
    nl_status status = nl_pointer_work_new(arena, warehouse_id, change, &work);
    if (!status) status = make_content(tables, made, &content);
    if (!status) status = nl_objects_create_with(tables->objects, change->next, (nl_bytes){content->data, content->size_bytes}, nl_pointer_work_run, work);
    nl_buffer_release(content);
    nl_arena_free(arena);
    return status;
}

nl_status nl_tables_publish(nl_tables *tables, int64_t warehouse_id, const nl_pointer_change *change, const nl_table_metadata *base,
                            const nl_table_metadata *updated, nl_kept_metadata *kept)
{
    nl_kept_metadata made = {0};
    nl_pointer_change full = *change;
    const nl_str folder = nl_table_property(updated, "write.metadata.path", NULL);
    if (!is_local(folder.data ? folder : updated->location)) {
        nl_status status = make_file(tables, base, updated, &made);
        if (!status) {
            full.next = made.metadata->metadata_file;
            status = publish_object(tables, warehouse_id, &full, &made);
        }
        return finish(tables, status, &made, kept);
    }
    NL_TRY(nl_tables_write_metadata(tables, base, updated, &made));
    NL_CRASH_POINT("tables.metadata-written");
    full.next = made.metadata->metadata_file;
    nl_status status = nl_tables_commit(tables, warehouse_id, &full, 1);
    if (status && nl_error_kind_of(status) != NL_KIND_UNKNOWN_STATE) nl_tables_remove_metadata(tables, full.next);
    return finish(tables, status, &made, kept);
}
