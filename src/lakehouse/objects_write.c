/* lakehouse/objects_write.c - putting, copying, deleting and tagging objects: each one transaction. */
#include <stdlib.h>

#include "base/calendar.h"
#include "base/crash.h"
#include "base/limits.h"
#include "lakehouse/objects_internal.h"

static nl_status check_key(nl_str key)
{
    if (key.length == 0) return NL_STORE_RAISE("InvalidArgument", "An object needs a key.");
    if (key.length > NL_OBJECT_KEY_BYTES_MAX) return NL_STORE_RAISE("KeyTooLongError", "Your key is too long");
    return NULL;
}

/* A work may run twice: what its first run gathered goes before the second. */
static void restart_garbage(nl_garbage **garbage)
{
    nl_garbage_free(*garbage);
    *garbage = NULL;
}

typedef struct put_work {
    nl_objects *objects;
    nl_store_put *put;
    const nl_store_copy *copy;
    nl_garbage *garbage;
} put_work;

/* ---- Put. */

static nl_status put_rows(void *argument, nl_sqlite *database)
{
    put_work *work = argument;
    nl_store_put *put = work->put;
    nl_bucket bucket = {0};
    restart_garbage(&work->garbage);
    NL_TRY(nl_row_bucket(database, put->bucket, put->arena, &bucket));
    NL_TRY(nl_row_check_conditions(database, &bucket, put->key, &put->conditions, put->arena));
    put->made.data = nl_objects_next(work->objects);
    const nl_part part = {.number = 1};
    if (nl_incoming_size(put->bytes)) NL_TRY(nl_row_insert_part(database, put->made.data, &part, put->bytes));
    NL_TRY(nl_row_insert(work->objects, database, &bucket, put, false, &work->garbage));
    return put->also ? put->also(put->also_argument, database) : NULL;
}

nl_status nl_store_write(nl_objects *objects, nl_store_put *put)
{
    NL_TRY(check_key(put->key));
    NL_TRY(nl_incoming_finish(put->bytes));
    put->made.size_bytes = nl_incoming_size(put->bytes);
    put->made.etag = put->etag.length ? put->etag : nl_hex(put->arena, nl_incoming_md5(put->bytes), 16);
    put_work work = {.objects = objects, .put = put};
    nl_status status = nl_state_write(objects->state, put_rows, &work);
    if (status) {
        nl_garbage_free(work.garbage);
        return status;
    }
    NL_CRASH_POINT("s3.put.indexed");
    nl_incoming_taken(put->bytes);
    nl_objects_collect(objects, work.garbage);
    return NULL;
}

/* ---- Copy. */

static nl_status copy_parts(nl_sqlite *database, int64_t from, int64_t to)
{
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "INSERT INTO s3_part(data,number,start,size,modified,etag,checksum,file,file_offset,bytes)"
                                       " SELECT ?2,number,start,size,modified,etag,checksum,file,file_offset,bytes FROM s3_part WHERE data=?1", &statement));
    nl_sqlite_bind_int(statement, 1, from);
    nl_sqlite_bind_int(statement, 2, to);
    return nl_sqlite_finish(statement, NULL);
}

static nl_status copy_rows(void *argument, nl_sqlite *database)
{
    put_work *work = argument;
    nl_store_put *put = work->put;
    nl_arena *arena = put->arena;
    nl_bucket source = {0}, target = {0};
    nl_object now = {0};
    bool exists = false;
    restart_garbage(&work->garbage);
    NL_TRY(nl_row_bucket(database, work->copy->bucket, arena, &source));
    NL_TRY(nl_row_bucket(database, put->bucket, arena, &target));
    NL_TRY(nl_row_find(database, &source, work->copy->key, work->copy->version, arena, &now, &exists));
    if (!exists || now.data != work->copy->data) return NL_STORE_RAISE("NoSuchKey", "The specified key does not exist.");
    NL_TRY(nl_row_check_conditions(database, &target, put->key, &put->conditions, arena));
    put->made.data = nl_objects_next(work->objects);
    put->made.size_bytes = now.size_bytes;
    NL_TRY(copy_parts(database, now.data, put->made.data));
    return nl_row_insert(work->objects, database, &target, put, false, &work->garbage);
}

nl_status nl_store_copy_object(nl_objects *objects, nl_store_copy *copy)
{
    NL_TRY(check_key(copy->target.key));
    copy->target.made.etag = copy->target.etag;
    put_work work = {.objects = objects, .put = &copy->target, .copy = copy};
    nl_status status = nl_state_write(objects->state, copy_rows, &work);
    if (status) nl_garbage_free(work.garbage);
    else nl_objects_collect(objects, work.garbage);
    return status;
}

/* ---- Delete. */

typedef struct delete_work {
    nl_objects *objects;
    nl_str bucket;
    nl_store_delete *deletes;
    uint32_t delete_count;
    nl_arena *arena;
    nl_garbage *garbage;
} delete_work;

static nl_status put_marker(delete_work *work, nl_sqlite *database, const nl_bucket *bucket, nl_store_delete *one)
{
    nl_store_put put = {.bucket = bucket->name, .key = one->key, .arena = work->arena};
    NL_TRY(nl_row_insert(work->objects, database, bucket, &put, true, &work->garbage));
    one->done.version = put.made.version;
    one->done.is_marker = true;
    return NULL;
}

static bool delete_holds(const nl_store_delete *one, const nl_object *now)
{
    if (one->if_match.length && (now->is_marker ? !nl_str_is(one->if_match, "*") : !nl_etag_matches(one->if_match, now->etag))) return false;
    if (one->asks_size && (now->is_marker || now->size_bytes != one->if_size_bytes)) return false;
    return !one->asks_time || nl_floor_div(now->modified_micros, NL_MICROS_PER_SECOND) == nl_floor_div(one->if_modified_micros, NL_MICROS_PER_SECOND);
}

static nl_status delete_one(delete_work *work, nl_sqlite *database, const nl_bucket *bucket, nl_store_delete *one)
{
    nl_object now = {0};
    NL_TRY(nl_row_find(database, bucket, one->key, one->version, work->arena, &now, &one->done.was_there));
    const bool has_conditions = one->if_match.length || one->asks_time || one->asks_size;
    if (has_conditions && !one->done.was_there) return NULL;
    if (has_conditions && !delete_holds(one, &now)) {
        one->done.failure = NL_STORE_RAISE("PreconditionFailed", "At least one of the pre-conditions you specified did not hold");
        return NULL;
    }
    if (!one->version.length && bucket->versioning != NL_VERSIONING_OFF) return put_marker(work, database, bucket, one);
    if (one->version.length) one->done.version = one->version;
    if (!one->done.was_there) return NULL;
    one->done.is_marker = now.is_marker;
    return nl_row_remove_version(database, bucket->id, &now, &work->garbage);
}

static nl_status delete_rows(void *argument, nl_sqlite *database)
{
    delete_work *work = argument;
    nl_bucket bucket = {0};
    restart_garbage(&work->garbage);
    NL_TRY(nl_row_bucket(database, work->bucket, work->arena, &bucket));
    for (uint32_t i = 0; i < work->delete_count; i++) {
        nl_error_free(work->deletes[i].done.failure);
        work->deletes[i].done = (nl_store_deleted){0};
        NL_TRY(delete_one(work, database, &bucket, &work->deletes[i]));
    }
    return nl_arena_check(work->arena);
}

nl_status nl_store_delete_many(nl_objects *objects, nl_str bucket, nl_store_delete *deletes, uint32_t delete_count, nl_arena *arena)
{
    delete_work work = {.objects = objects, .bucket = bucket, .deletes = deletes, .delete_count = delete_count, .arena = arena};
    nl_status status = nl_state_write_freeing(objects->state, delete_rows, &work);
    if (status) {
        nl_garbage_free(work.garbage);
        for (uint32_t i = 0; i < delete_count; i++) {
            nl_error_free(deletes[i].done.failure);
            deletes[i].done = (nl_store_deleted){0};
        }
        return status;
    }
    nl_objects_collect(objects, work.garbage);
    return NULL;
}

/* One page of what lies below a prefix: every version of it is removed, no marker is made. */
static nl_status delete_page(nl_objects *objects, nl_store_list *page)
{
    nl_store_delete *deletes = NL_NEW_ARRAY(page->arena, nl_store_delete, page->count);
    for (uint32_t i = 0; i < page->count; i++) {
        deletes[i].key = page->entries[i].object.key;
        deletes[i].version = page->entries[i].object.version;
    }
    return nl_store_delete_many(objects, page->bucket, deletes, page->count, page->arena);
}

nl_status nl_store_delete_below(nl_objects *objects, nl_str bucket, nl_str prefix)
{
    for (bool is_truncated = true; is_truncated;) {
        nl_arena *arena = nl_arena_new(objects->memory);
        nl_store_list page = {.bucket = bucket, .prefix = prefix, .has_versions = true, .count_max = 1000, .arena = arena};
        nl_status status = nl_store_list_objects(objects, &page);
        if (!status && page.count) status = delete_page(objects, &page);
        is_truncated = page.is_truncated;
        nl_arena_free(arena);
        NL_TRY(status);
    }
    return NULL;
}

/* ---- Tags. */

typedef struct tag_work {
    nl_str bucket, key, version, tags;
    nl_arena *arena;
    nl_object *object;
} tag_work;

static nl_status tag_rows(void *argument, nl_sqlite *database)
{
    const tag_work *work = argument;
    nl_bucket bucket = {0};
    bool exists = false;
    NL_TRY(nl_row_bucket(database, work->bucket, work->arena, &bucket));
    NL_TRY(nl_row_find(database, &bucket, work->key, work->version, work->arena, work->object, &exists));
    if (!exists) {
        if (work->version.length) return NL_STORE_RAISE("NoSuchVersion", "The specified version does not exist.");
        return NL_STORE_RAISE("NoSuchKey", "The specified key does not exist.");
    }
    if (work->object->is_marker) return NL_STORE_RAISE("MethodNotAllowed", "The specified method is not allowed against this resource.");
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "UPDATE s3_object SET tags=?4 WHERE bucket=?1 AND key=?2 AND sequence=?3", &statement));
    nl_sqlite_bind_int(statement, 1, bucket.id);
    nl_sqlite_bind_bytes(statement, 2, (nl_bytes){(const uint8_t *)work->key.data, work->key.length});
    nl_sqlite_bind_int(statement, 3, work->object->sequence);
    nl_sqlite_bind_text(statement, 4, work->tags.data ? work->tags : NL_STR(""));
    return nl_sqlite_finish(statement, NULL);
}

nl_status nl_store_set_tags(nl_objects *objects, nl_str bucket, nl_str key, nl_str version, nl_str tags, nl_arena *arena, nl_object *object)
{
    tag_work work = {.bucket = bucket, .key = key, .version = version, .tags = tags, .arena = arena, .object = object};
    return nl_state_write(objects->state, tag_rows, &work);
}
