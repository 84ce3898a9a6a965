/* lakehouse/objects_read.c - finding objects and reading their bytes.
 *
 * A reader has the list of its object's parts. Of one part in a file it has the file open; of several it opens each when
 * it is read, and stands in the ring of readings meanwhile so that none of them is removed.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lakehouse/objects_internal.h"
#include "storage/io_error.h"

#define LOOKUPS_MAX 8u /* an object that is replaced again and again while it is being opened */

typedef struct piece {
    uint64_t start, size_bytes; /* in the object */
    uint64_t file_offset;
    nl_str file;                /* empty: inline */
    nl_bytes bytes;
} piece;

struct nl_object_reader {
    nl_objects *objects; /* borrowed */
    nl_arena *arena;     /* owned: the pieces */
    nl_list pieces;      /* in order */
    nl_reading reading;
    bool is_reading;     /* in the ring */
    int file;            /* of the only piece, or -1 */
};

typedef struct find_work {
    nl_str bucket, key, version;
    nl_arena *arena;
    nl_object *object;
    nl_object_reader *reader; /* NULL: only the object */
} find_work;

static nl_status read_pieces(nl_sqlite *database, int64_t data, nl_object_reader *reader)
{
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "SELECT start,size,file,file_offset,bytes FROM s3_part WHERE data=?1 ORDER BY number", &statement));
    nl_sqlite_bind_int(statement, 1, data);
    reader->pieces.count = 0;
    for (bool has_row = true;;) {
        NL_TRY(nl_sqlite_step(statement, &has_row));
        if (!has_row) return nl_arena_check(reader->arena);
        piece *one = NL_NEW(reader->arena, piece);
        one->start = (uint64_t)nl_sqlite_int(statement, 0);
        one->size_bytes = (uint64_t)nl_sqlite_int(statement, 1);
        one->file = nl_sqlite_text(statement, 2, reader->arena);
        one->file_offset = (uint64_t)nl_sqlite_int(statement, 3);
        const nl_bytes bytes = nl_sqlite_bytes(statement, 4);
        if (!one->file.data) {
            nl_str copy = nl_arena_str(reader->arena, (nl_str){(const char *)bytes.data, bytes.length});
            one->bytes = (nl_bytes){(const uint8_t *)copy.data, copy.length};
            if (bytes.length != one->size_bytes) {
                nl_sqlite_reset(statement);
                return nl_raise_io("Reading", NL_STR("lakehouse.db"), "%zu bytes where a row says %llu", bytes.length, (unsigned long long)one->size_bytes);
            }
        }
        nl_list_add(reader->arena, &reader->pieces, one);
    }
}

static nl_status find_rows(void *argument, nl_sqlite *database)
{
    find_work *work = argument;
    nl_bucket bucket = {0};
    bool exists = false;
    NL_TRY(nl_row_bucket(database, work->bucket, work->arena, &bucket));
    NL_TRY(nl_row_find(database, &bucket, work->key, work->version, work->arena, work->object, &exists));
    if (!exists && work->version.length) return NL_STORE_RAISE("NoSuchVersion", "The specified version does not exist.");
    if (!exists) return NL_STORE_RAISE("NoSuchKey", "The specified key does not exist.");
    if (!work->reader || work->object->is_marker) return NULL;
    return read_pieces(database, work->object->data, work->reader);
}

nl_status nl_store_find(nl_objects *objects, nl_str bucket, nl_str key, nl_str version, nl_arena *arena, nl_object *object)
{
    find_work work = {.bucket = bucket, .key = key, .version = version, .arena = arena, .object = object};
    return nl_state_read(objects->state, find_rows, &work);
}

/* The one file of the object is opened; its row may have gone in between. */
static nl_status open_only_file(nl_object_reader *reader, bool *is_gone)
{
    *is_gone = false;
    if (reader->pieces.count != 1) return NULL;
    const piece *only = reader->pieces.items[0];
    if (!only->file.length) return NULL;
    nl_status status = nl_objects_open_file(reader->objects, only->file, &reader->file);
    *is_gone = status && nl_error_condition(status) == NL_COND_PATH_NOT_FOUND;
    return status;
}

static nl_status open_reader(nl_object_reader *reader, find_work *work)
{
    nl_status status = NULL;
    bool is_gone = true;
    for (uint32_t i = 0; is_gone && i < LOOKUPS_MAX; i++) {
        nl_error_free(status);
        NL_TRY(nl_state_read(reader->objects->state, find_rows, work));
        status = open_only_file(reader, &is_gone);
    }
    return status;
}

static bool has_many_files(const nl_object_reader *reader)
{
    return reader->pieces.count > 1;
}

nl_status nl_store_open(nl_objects *objects, nl_str bucket, nl_str key, nl_str version, nl_arena *arena, nl_object *object, nl_object_reader **reader)
{
    nl_object_reader *opened = calloc(1, sizeof(*opened));
    if (!opened) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*opened)), NL_P("receivedBytes", "0"));
    opened->objects = objects;
    opened->arena = nl_arena_new(objects->memory);
    opened->file = -1;
    nl_objects_begin_reading(objects, &opened->reading);
    opened->is_reading = true;
    find_work work = {.bucket = bucket, .key = key, .version = version, .arena = arena, .object = object, .reader = opened};
    nl_status status = open_reader(opened, &work);
    if (!status && !has_many_files(opened)) {
        nl_objects_end_reading(objects, &opened->reading);
        opened->is_reading = false;
    }
    if (status || object->is_marker) {
        nl_object_reader_free(opened);
        return status;
    }
    *reader = opened;
    return NULL;
}

/* The piece in which an offset lies; the last one begins at or before it. */
static uint32_t piece_at(const nl_object_reader *reader, uint64_t offset)
{
    uint32_t low = 0, high = reader->pieces.count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (((const piece *)reader->pieces.items[middle])->start <= offset) low = middle;
        else high = middle;
    }
    return low;
}

static nl_status read_file(int file, nl_str name, uint64_t offset, size_t length, uint8_t *into)
{
    while (length > 0) {
        const ssize_t got = pread(file, into, length, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return nl_raise_errno(errno, "Reading", name);
        if (got == 0) return nl_raise_io("Reading", name, "the file of an object is shorter than its row says");
        into += got;
        length -= (size_t)got;
        offset += (uint64_t)got;
    }
    return NULL;
}

static nl_status read_piece(nl_object_reader *reader, const piece *one, uint64_t offset, size_t length, uint8_t *into)
{
    if (!one->file.length) {
        memcpy(into, one->bytes.data + offset, length);
        return NULL;
    }
    if (reader->file >= 0) return read_file(reader->file, one->file, one->file_offset + offset, length, into);
    int file = -1;
    NL_TRY(nl_objects_open_file(reader->objects, one->file, &file));
    nl_status status = read_file(file, one->file, one->file_offset + offset, length, into);
    close(file);
    return status;
}

nl_status nl_object_reader_read(nl_object_reader *reader, uint64_t offset, size_t length, uint8_t *into)
{
    for (uint32_t i = length ? piece_at(reader, offset) : 0; length > 0; i++) {
        NL_CHECK(i < reader->pieces.count);
        const piece *one = reader->pieces.items[i];
        const uint64_t within = offset - one->start;
        const size_t here = (size_t)NL_MIN((uint64_t)length, one->size_bytes - within);
        NL_TRY(read_piece(reader, one, within, here, into));
        into += here;
        offset += here;
        length -= here;
    }
    return NULL;
}

/* Whoever gets the file sends it without looking: a reply that ends early would be noticed by its length alone. */
static nl_status check_size(int file, const piece *one, uint64_t end)
{
    struct stat found;
    if (fstat(file, &found) != 0) return nl_raise_errno(errno, "Reading", one->file);
    return (uint64_t)found.st_size >= end ? NULL : nl_raise_io("Reading", one->file, "the file of an object is shorter than its row says");
}

nl_status nl_object_reader_file(nl_object_reader *reader, uint64_t offset, uint64_t length, int *file, uint64_t *file_offset)
{
    *file = -1;
    if (!reader->pieces.count) return NULL;
    const piece *one = reader->pieces.items[piece_at(reader, offset)];
    const uint64_t within = offset - one->start;
    if (!one->file.length || within > one->size_bytes || length > one->size_bytes - within) return NULL;
    *file_offset = one->file_offset + within;
    int opened = -1;
    if (reader->file < 0) NL_TRY(nl_objects_open_file(reader->objects, one->file, &opened));
    else opened = dup(reader->file);
    if (opened < 0) return nl_raise_errno(errno, "Opening", one->file);
    nl_status status = check_size(opened, one, *file_offset + length);
    if (status) close(opened);
    else *file = opened;
    return status;
}

void nl_object_reader_free(nl_object_reader *reader)
{
    if (!reader) return;
    if (reader->is_reading) nl_objects_end_reading(reader->objects, &reader->reading);
    if (reader->file >= 0) close(reader->file);
    nl_arena_free(reader->arena);
    free(reader);
}
