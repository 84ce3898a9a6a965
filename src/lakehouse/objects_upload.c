/* lakehouse/objects_upload.c - multipart uploads. A part is a row of s3_part whose data is the upload's number; completing
 * makes an object row with the same number, so no byte is copied. Until then a part's start is -1.
 */
#include <stdlib.h>

#include "base/calendar.h"
#include "base/crash.h"
#include "base/limits.h"
#include "base/number.h"
#include "base/uuid.h"
#include "lakehouse/objects_internal.h"

#define NOT_PLACED (-1) /* s3_part.start of a part whose upload is not complete */

static nl_status no_such_upload(void)
{
    return NL_STORE_RAISE("NoSuchUpload", "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.");
}

static nl_bytes bytes_of(nl_str text)
{
    return (nl_bytes){(const uint8_t *)text.data, text.length};
}

static nl_str or_empty(nl_str text)
{
    return text.data ? text : NL_STR("");
}

/* ---- Begin and find. */

typedef struct upload_work {
    nl_objects *objects;
    nl_upload *upload;
    nl_str bucket, key, token;
    nl_arena *arena;
} upload_work;

/* The number in hexadecimal, so that it is found by it and ordered as it, and 64 random bits. */
static nl_str new_token(int64_t id, nl_arena *arena)
{
    uint8_t random[8];
    char text[17] = "";
    nl_random_bytes(random, sizeof(random));
    nl_format_hex(random, sizeof(random), false, text);
    return nl_arena_f(arena, "%016llx%.16s", (unsigned long long)id, text);
}

static bool id_of_token(nl_str token, int64_t *id)
{
    if (token.length != 32) return false;
    uint64_t value = 0;
    for (size_t i = 0; i < 16; i++) {
        const char c = token.data[i];
        if (c >= '0' && c <= '9') value = value * 16 + (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f') value = value * 16 + (uint64_t)(c - 'a' + 10);
        else return false;
    }
    *id = (int64_t)value;
    return value <= INT64_MAX;
}

static nl_status create_rows(void *argument, nl_sqlite *database)
{
    upload_work *work = argument;
    nl_upload *upload = work->upload;
    nl_bucket bucket = {0};
    NL_TRY(nl_row_bucket(database, upload->bucket, work->arena, &bucket));
    upload->id = nl_objects_next(work->objects);
    upload->token = new_token(upload->id, work->arena);
    upload->initiated_micros = nl_now_micros();
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "INSERT INTO s3_upload(id,token,bucket,key,initiated,headers,tags,storage_class,checksum_algorithm,checksum_type) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)", &statement));
    nl_sqlite_bind_int(statement, 1, upload->id);
    nl_sqlite_bind_text(statement, 2, upload->token);
    nl_sqlite_bind_int(statement, 3, bucket.id);
    nl_sqlite_bind_bytes(statement, 4, bytes_of(upload->key));
    nl_sqlite_bind_int(statement, 5, upload->initiated_micros);
    nl_sqlite_bind_text(statement, 6, or_empty(upload->headers));
    nl_sqlite_bind_text(statement, 7, or_empty(upload->tags));
    nl_sqlite_bind_text(statement, 8, or_empty(upload->storage_class));
    nl_sqlite_bind_text(statement, 9, or_empty(upload->checksum_algorithm));
    nl_sqlite_bind_text(statement, 10, or_empty(upload->checksum_type));
    return nl_sqlite_finish(statement, NULL);
}

nl_status nl_store_create_upload(nl_objects *objects, nl_upload *upload, nl_arena *arena)
{
    if (upload->key.length > NL_OBJECT_KEY_BYTES_MAX) return NL_STORE_RAISE("KeyTooLongError", "Your key is too long");
    upload_work work = {.objects = objects, .upload = upload, .arena = arena};
    return nl_state_write(objects->state, create_rows, &work);
}

static nl_status find_rows(void *argument, nl_sqlite *database)
{
    const upload_work *work = argument;
    nl_bucket bucket = {0};
    nl_upload *upload = work->upload;
    NL_TRY(nl_row_bucket(database, work->bucket, work->arena, &bucket));
    if (!id_of_token(work->token, &upload->id)) return no_such_upload();
    nl_sqlite_statement *row = NULL;
    NL_TRY(nl_sqlite_prepare(database, "SELECT headers,tags,storage_class,checksum_algorithm,checksum_type,initiated FROM s3_upload WHERE id=?1 AND token=?2 AND bucket=?3 AND key=?4", &row));
    nl_sqlite_bind_int(row, 1, upload->id);
    nl_sqlite_bind_text(row, 2, work->token);
    nl_sqlite_bind_int(row, 3, bucket.id);
    nl_sqlite_bind_bytes(row, 4, bytes_of(work->key));
    bool has_row = false;
    NL_TRY(nl_sqlite_step(row, &has_row));
    if (!has_row) return no_such_upload();
    upload->token = work->token;
    upload->bucket = work->bucket;
    upload->key = work->key;
    upload->headers = nl_sqlite_text(row, 0, work->arena);
    upload->tags = nl_sqlite_text(row, 1, work->arena);
    upload->storage_class = nl_sqlite_text(row, 2, work->arena);
    upload->checksum_algorithm = nl_sqlite_text(row, 3, work->arena);
    upload->checksum_type = nl_sqlite_text(row, 4, work->arena);
    upload->initiated_micros = nl_sqlite_int(row, 5);
    nl_sqlite_reset(row);
    return nl_arena_check(work->arena);
}

nl_status nl_store_find_upload(nl_objects *objects, nl_str bucket, nl_str key, nl_str token, nl_arena *arena, nl_upload *upload)
{
    upload_work work = {.upload = upload, .bucket = bucket, .key = key, .token = token, .arena = arena};
    return nl_state_read(objects->state, find_rows, &work);
}

/* ---- Parts. */

typedef struct part_work {
    const nl_upload *upload;
    const nl_part *part;
    nl_incoming *bytes;
    nl_garbage *garbage;
} part_work;

static nl_status check_upload(nl_sqlite *database, const nl_upload *upload)
{
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "SELECT 1 FROM s3_upload WHERE id=?1", &statement));
    nl_sqlite_bind_int(statement, 1, upload->id);
    bool has_row = false;
    NL_TRY(nl_sqlite_step(statement, &has_row));
    nl_sqlite_reset(statement);
    return has_row ? NULL : no_such_upload();
}

static nl_status put_part_rows(void *argument, nl_sqlite *database)
{
    part_work *work = argument;
    nl_garbage_free(work->garbage);
    work->garbage = NULL;
    NL_TRY(check_upload(database, work->upload));
    NL_TRY(nl_row_remove_parts(database, work->upload->id, work->part->number, &work->garbage));
    nl_part placed = *work->part;
    placed.start = (uint64_t)NOT_PLACED;
    return nl_row_insert_part(database, work->upload->id, &placed, work->bytes);
}

nl_status nl_store_put_part(nl_objects *objects, const nl_upload *upload, const nl_part *part, nl_incoming *bytes)
{
    NL_TRY(nl_incoming_finish(bytes));
    part_work work = {.upload = upload, .part = part, .bytes = bytes};
    nl_status status = nl_state_write(objects->state, put_part_rows, &work);
    if (status) {
        nl_garbage_free(work.garbage);
        return status;
    }
    NL_CRASH_POINT("s3.part.indexed");
    nl_incoming_taken(bytes);
    nl_objects_collect(objects, work.garbage);
    return NULL;
}

typedef struct part_list {
    int64_t data;
    uint32_t after, count_max;
    nl_arena *arena;
    nl_list found;
    bool is_truncated;
} part_list;

static nl_status list_part_rows(void *argument, nl_sqlite *database)
{
    part_list *list = argument;
    list->found.count = 0;
    list->is_truncated = false;
    nl_sqlite_statement *row = NULL;
    NL_TRY(nl_sqlite_prepare(database, "SELECT number,size,start,etag,checksum,modified FROM s3_part WHERE data=?1 AND number>?2 ORDER BY number", &row));
    nl_sqlite_bind_int(row, 1, list->data);
    nl_sqlite_bind_int(row, 2, list->after);
    for (bool has_row = true;;) {
        NL_TRY(nl_sqlite_step(row, &has_row));
        if (!has_row) return nl_arena_check(list->arena);
        if (list->found.count == list->count_max) break;
        nl_part *part = NL_NEW(list->arena, nl_part);
        part->number = (uint32_t)nl_sqlite_int(row, 0);
        part->size_bytes = (uint64_t)nl_sqlite_int(row, 1);
        part->start = (uint64_t)nl_sqlite_int(row, 2);
        part->etag = nl_sqlite_text(row, 3, list->arena);
        part->checksum = nl_sqlite_text(row, 4, list->arena);
        part->modified_micros = nl_sqlite_int(row, 5);
        nl_list_add(list->arena, &list->found, part);
    }
    list->is_truncated = true;
    nl_sqlite_reset(row);
    return nl_arena_check(list->arena);
}

nl_status nl_store_list_parts(nl_objects *objects, int64_t data, uint32_t after, uint32_t count_max, nl_arena *arena, const nl_part **parts, uint32_t *count, bool *is_truncated)
{
    part_list list = {.data = data, .after = after, .count_max = count_max, .arena = arena};
    NL_TRY(nl_state_read(objects->state, list_part_rows, &list));
    nl_part *all = NL_NEW_ARRAY(arena, nl_part, list.found.count);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < list.found.count; i++) all[i] = *(const nl_part *)list.found.items[i];
    *parts = all;
    *count = list.found.count;
    *is_truncated = list.is_truncated;
    return NULL;
}

/* ---- End. */

static nl_status forget_upload(nl_sqlite *database, int64_t id)
{
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "DELETE FROM s3_upload WHERE id=?1", &statement));
    nl_sqlite_bind_int(statement, 1, id);
    return nl_sqlite_finish(statement, NULL);
}

static nl_status abort_rows(void *argument, nl_sqlite *database)
{
    part_work *work = argument;
    nl_garbage_free(work->garbage);
    work->garbage = NULL;
    NL_TRY(check_upload(database, work->upload));
    NL_TRY(nl_row_remove_parts(database, work->upload->id, 0, &work->garbage));
    return forget_upload(database, work->upload->id);
}

nl_status nl_store_abort_upload(nl_objects *objects, const nl_upload *upload)
{
    part_work work = {.upload = upload};
    nl_status status = nl_state_write_freeing(objects->state, abort_rows, &work);
    if (status) nl_garbage_free(work.garbage);
    else nl_objects_collect(objects, work.garbage);
    return status;
}

typedef struct complete_work {
    nl_objects *objects;
    nl_store_complete *complete;
    nl_garbage *garbage;
} complete_work;

static nl_status place_part(nl_sqlite *database, int64_t data, const nl_part *part, uint64_t start)
{
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "UPDATE s3_part SET start=?3 WHERE data=?1 AND number=?2 AND etag=?4", &statement));
    nl_sqlite_bind_int(statement, 1, data);
    nl_sqlite_bind_int(statement, 2, part->number);
    nl_sqlite_bind_int(statement, 3, (int64_t)start);
    nl_sqlite_bind_text(statement, 4, part->etag);
    int64_t changes = 0;
    NL_TRY(nl_sqlite_finish(statement, &changes));
    if (changes == 1) return NULL;
    return NL_STORE_RAISE("InvalidPart", "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.");
}

/* Parts that were uploaded and are not in the list. */
static nl_status remove_unplaced(nl_sqlite *database, int64_t data, nl_garbage **garbage)
{
    for (;;) {
        nl_sqlite_statement *statement = NULL;
        NL_TRY(nl_sqlite_prepare(database, "SELECT number FROM s3_part WHERE data=?1 AND start<0 LIMIT 1", &statement));
        nl_sqlite_bind_int(statement, 1, data);
        bool has_row = false;
        NL_TRY(nl_sqlite_step(statement, &has_row));
        if (!has_row) return NULL;
        const uint32_t number = (uint32_t)nl_sqlite_int(statement, 0);
        nl_sqlite_reset(statement);
        NL_TRY(nl_row_remove_parts(database, data, number, garbage));
    }
}

static nl_status complete_rows(void *argument, nl_sqlite *database)
{
    complete_work *work = argument;
    nl_store_complete *complete = work->complete;
    nl_store_put *put = &complete->target;
    nl_bucket bucket = {0};
    uint64_t size = 0;
    nl_garbage_free(work->garbage);
    work->garbage = NULL;
    NL_TRY(nl_row_bucket(database, put->bucket, put->arena, &bucket));
    NL_TRY(check_upload(database, complete->upload));
    NL_TRY(nl_row_check_conditions(database, &bucket, put->key, &put->conditions, put->arena));
    for (uint32_t i = 0; i < complete->part_count; i++) {
        NL_TRY(place_part(database, complete->upload->id, &complete->parts[i], size));
        size += complete->parts[i].size_bytes;
    }
    NL_TRY(remove_unplaced(database, complete->upload->id, &work->garbage));
    NL_TRY(forget_upload(database, complete->upload->id));
    put->made.data = complete->upload->id;
    put->made.size_bytes = size;
    put->made.part_count = complete->part_count;
    put->made.etag = put->etag;
    return nl_row_insert(work->objects, database, &bucket, put, false, &work->garbage);
}

nl_status nl_store_complete_upload(nl_objects *objects, nl_store_complete *complete)
{
    complete_work work = {.objects = objects, .complete = complete};
    nl_status status = nl_state_write(objects->state, complete_rows, &work);
    NL_CRASH_POINT("s3.complete.indexed");
    if (status) nl_garbage_free(work.garbage);
    else nl_objects_collect(objects, work.garbage);
    return status;
}
