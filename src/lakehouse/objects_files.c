/* lakehouse/objects_files.c - files of objects: written below objects/incoming, synced, named by a row, then moved to
 * objects/ab/cdef….
 *
 * A file is moved after its row is committed, so what a killed process leaves is found without reading the whole folder:
 * files in incoming/ (those that a row names are moved, others removed) and the names in s3_garbage (rows that were
 * removed while the file was still there). Whoever opens a file looks in its place, in incoming/, and in its place again:
 * the move goes one way only.
 *
 * Removing a file waits for readers: every reader of more than one file has an epoch, and a file is removed when the oldest
 * reader began after the file's last row went. (Readers of one file have it open from the beginning.)
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/number.h"
#include "base/uuid.h"
#include "lakehouse/objects_internal.h"
#include "storage/io_error.h"

#define WRITE_BACK_BYTES (8u << 20)  /* the kernel is told to begin writing every so many bytes: the sync at the end is short */
#define REMOVED_MAX      64u         /* names in s3_garbage that are dealt with at once */

struct nl_incoming {
    nl_objects *objects; /* borrowed */
    int file;            /* -1: inline so far */
    bool is_taken, is_finished;
    char name[NL_FILE_NAME_LENGTH + 1];
    uint64_t size_bytes, begun_bytes; /* begun: told to the kernel to be written */
    uint8_t *inline_bytes;            /* owned, or NULL */
    size_t capacity;
    nl_digest digest;
    uint8_t md5[NL_DIGEST_BYTES_MAX];
};

void nl_file_name_new(char name[NL_FILE_NAME_LENGTH + 1])
{
    uint8_t bytes[NL_FILE_NAME_LENGTH / 2];
    nl_random_bytes(bytes, sizeof(bytes));
    nl_format_hex(bytes, sizeof(bytes), false, name);
    name[NL_FILE_NAME_LENGTH] = '\0';
}

/* "ab/cdef…", below objects/. Names come from the database, but a path is only made of what looks like a name. */
typedef struct file_path {
    char text[NL_FILE_NAME_LENGTH + 16];
} file_path;

static bool is_file_name(nl_str name)
{
    if (name.length != NL_FILE_NAME_LENGTH) return false;
    for (size_t i = 0; i < name.length; i++)
        if (!((name.data[i] >= '0' && name.data[i] <= '9') || (name.data[i] >= 'a' && name.data[i] <= 'f'))) return false;
    return true;
}

static file_path place_of(nl_str name)
{
    file_path path;
    snprintf(path.text, sizeof(path.text), "%.2s/%.30s", name.data, name.data + 2);
    return path;
}

static file_path incoming_of(nl_str name)
{
    file_path path;
    snprintf(path.text, sizeof(path.text), "%.32s", name.data);
    return path;
}

/* ---- Incoming bytes. */

nl_status nl_incoming_new(nl_objects *objects, nl_incoming **incoming)
{
    nl_incoming *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->objects = objects;
    made->file = -1;
    nl_status status = nl_digest_begin(NL_DIGEST_MD5, &made->digest);
    if (status) {
        free(made);
        return status;
    }
    *incoming = made;
    return NULL;
}

static nl_status write_whole(nl_incoming *incoming, const uint8_t *bytes, size_t length, uint64_t offset)
{
    while (length > 0) {
        const ssize_t written = pwrite(incoming->file, bytes, length, (off_t)offset);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return nl_raise_errno(written < 0 ? errno : EIO, "Writing", nl_str_from(incoming->name));
        bytes += written;
        length -= (size_t)written;
        offset += (uint64_t)written;
    }
    return NULL;
}

/* From memory to a file. */
static nl_status begin_file(nl_incoming *incoming)
{
    nl_file_name_new(incoming->name);
    incoming->file = openat(incoming->objects->incoming, incoming->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (incoming->file < 0) return nl_raise_errno(errno, "Creating", nl_str_from(incoming->name));
    nl_status status = write_whole(incoming, incoming->inline_bytes, (size_t)incoming->size_bytes, 0);
    free(incoming->inline_bytes);
    incoming->inline_bytes = NULL;
    return status;
}

static nl_status write_inline(nl_incoming *incoming, const void *bytes, size_t length)
{
    const size_t needed = (size_t)incoming->size_bytes + length;
    if (needed > incoming->capacity) {
        size_t capacity = NL_MAX(incoming->capacity * 2, (size_t)4096);
        while (capacity < needed) capacity *= 2;
        uint8_t *grown = realloc(incoming->inline_bytes, capacity);
        if (!grown) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)capacity), NL_P("receivedBytes", "0"));
        incoming->inline_bytes = grown;
        incoming->capacity = capacity;
    }
    memcpy(incoming->inline_bytes + incoming->size_bytes, bytes, length);
    return NULL;
}

nl_status nl_incoming_write(nl_incoming *incoming, const void *bytes, size_t length)
{
    NL_ASSERT(!incoming->is_finished);
    if (length == 0) return NULL;
    nl_digest_update(&incoming->digest, (nl_bytes){bytes, length});
    if (incoming->file < 0 && incoming->size_bytes + length > NL_OBJECT_INLINE_BYTES_MAX) NL_TRY(begin_file(incoming));
    if (incoming->file < 0) NL_TRY(write_inline(incoming, bytes, length));
    else NL_TRY(write_whole(incoming, bytes, length, incoming->size_bytes));
    incoming->size_bytes += length;
    if (incoming->file >= 0 && incoming->size_bytes - incoming->begun_bytes >= WRITE_BACK_BYTES) {
        (void)sync_file_range(incoming->file, (off_t)incoming->begun_bytes, (off_t)(incoming->size_bytes - incoming->begun_bytes), SYNC_FILE_RANGE_WRITE);
        incoming->begun_bytes = incoming->size_bytes;
    }
    return NULL;
}

nl_status nl_incoming_finish(nl_incoming *incoming)
{
    if (incoming->is_finished) return NULL;
    incoming->is_finished = true;
    nl_digest_end(&incoming->digest, incoming->md5);
    if (incoming->file < 0) return NULL;
    NL_CRASH_POINT("s3.body.written");
    if (fsync(incoming->file) != 0 || fsync(incoming->objects->incoming) != 0) return nl_raise_errno(errno, "Syncing", nl_str_from(incoming->name));
    close(incoming->file);
    incoming->file = -1;
    NL_CRASH_POINT("s3.body.stored");
    return NULL;
}

uint64_t nl_incoming_size(const nl_incoming *incoming)
{
    return incoming->size_bytes;
}

const uint8_t *nl_incoming_md5(const nl_incoming *incoming)
{
    return incoming->md5;
}

nl_str nl_incoming_file(const nl_incoming *incoming)
{
    return nl_str_from(incoming->name);
}

nl_bytes nl_incoming_inline(const nl_incoming *incoming)
{
    return (nl_bytes){incoming->inline_bytes, incoming->inline_bytes ? (size_t)incoming->size_bytes : 0};
}

void nl_incoming_taken(nl_incoming *incoming)
{
    incoming->is_taken = true;
    if (incoming->name[0]) nl_objects_settle_file(incoming->objects, nl_str_from(incoming->name));
}

void nl_incoming_free(nl_incoming *incoming)
{
    if (!incoming) return;
    if (incoming->file >= 0) close(incoming->file);
    if (incoming->name[0] && !incoming->is_taken) (void)unlinkat(incoming->objects->incoming, incoming->name, 0);
    nl_digest_fini(&incoming->digest);
    free(incoming->inline_bytes);
    free(incoming);
}

/* ---- Files in their places. */

nl_status nl_objects_open_file(nl_objects *objects, nl_str name, int *file)
{
    if (!is_file_name(name)) return nl_raise_errno(EINVAL, "Opening", name);
    const file_path place = place_of(name), incoming = incoming_of(name);
    int opened = openat(objects->folder, place.text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (opened < 0 && errno == ENOENT) opened = openat(objects->incoming, incoming.text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (opened < 0 && errno == ENOENT) opened = openat(objects->folder, place.text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (opened < 0) return nl_raise_errno(errno, "Opening", name);
    *file = opened;
    return NULL;
}

void nl_objects_settle_file(nl_objects *objects, nl_str name)
{
    if (!is_file_name(name)) return;
    const file_path place = place_of(name), incoming = incoming_of(name);
    if (renameat(objects->incoming, incoming.text, objects->folder, place.text) == 0) return;
    if (errno != ENOENT) return; /* it stays where it is found as well */
    char folder[3] = {name.data[0], name.data[1], '\0'};
    if (mkdirat(objects->folder, folder, 0700) != 0 && errno != EEXIST) return;
    (void)renameat(objects->incoming, incoming.text, objects->folder, place.text);
}

static void remove_file(nl_objects *objects, nl_str name)
{
    if (!is_file_name(name)) return;
    const file_path place = place_of(name), incoming = incoming_of(name);
    if (unlinkat(objects->folder, place.text, 0) == 0) return;
    if (unlinkat(objects->incoming, incoming.text, 0) == 0) return;
    (void)unlinkat(objects->folder, place.text, 0); /* it was moved in between */
}

/* ---- Garbage. */

void nl_garbage_free(nl_garbage *garbage)
{
    while (garbage) {
        nl_garbage *next = garbage->next;
        free(garbage);
        garbage = next;
    }
}

void nl_objects_begin_reading(nl_objects *objects, nl_reading *reading)
{
    nl_mutex_lock(&objects->mutex);
    reading->epoch = objects->epoch;
    reading->behind = &objects->readings;
    reading->before = objects->readings.before;
    reading->before->behind = reading;
    objects->readings.before = reading;
    nl_mutex_unlock(&objects->mutex);
}

/* The garbage that no reader may touch any more. The mutex is held. */
static nl_garbage *cut_free_garbage(nl_objects *objects)
{
    const nl_reading *oldest = objects->readings.behind;
    const uint64_t epoch = oldest == &objects->readings ? UINT64_MAX : oldest->epoch;
    nl_garbage *cut = objects->first, *last = NULL;
    while (objects->first && objects->first->epoch < epoch) {
        last = objects->first;
        objects->first = last->next;
    }
    if (!objects->first) objects->last = NULL;
    if (!last) return NULL;
    last->next = NULL;
    return cut;
}

static void remove_files(nl_objects *objects, nl_garbage *garbage)
{
    if (!garbage) return;
    uint32_t count = 0;
    nl_garbage *last = NULL;
    for (nl_garbage *one = garbage; one; one = one->next, count++) {
        remove_file(objects, nl_str_from(one->name));
        last = one;
    }
    nl_mutex_lock(&objects->mutex);
    last->next = objects->removed;
    objects->removed = garbage;
    objects->removed_count += count;
    const bool is_full = objects->removed_count >= REMOVED_MAX;
    nl_mutex_unlock(&objects->mutex);
    if (is_full) nl_objects_flush_garbage(objects);
}

void nl_objects_end_reading(nl_objects *objects, nl_reading *reading)
{
    nl_mutex_lock(&objects->mutex);
    reading->before->behind = reading->behind;
    reading->behind->before = reading->before;
    nl_garbage *cut = cut_free_garbage(objects);
    nl_mutex_unlock(&objects->mutex);
    remove_files(objects, cut);
}

void nl_objects_collect(nl_objects *objects, nl_garbage *garbage)
{
    if (!garbage) return;
    nl_mutex_lock(&objects->mutex);
    const uint64_t epoch = objects->epoch++; /* who begins from now on sees the rows gone */
    if (objects->last) objects->last->next = garbage;
    else objects->first = garbage;
    for (; garbage; garbage = garbage->next) {
        garbage->epoch = epoch;
        objects->last = garbage;
    }
    nl_garbage *cut = cut_free_garbage(objects);
    nl_mutex_unlock(&objects->mutex);
    remove_files(objects, cut);
}

static nl_status forget_garbage(void *argument, nl_sqlite *database)
{
    for (const nl_garbage *one = argument; one; one = one->next) {
        nl_sqlite_statement *statement = NULL;
        NL_TRY(nl_sqlite_prepare(database, "DELETE FROM s3_garbage WHERE name=?1", &statement));
        nl_sqlite_bind_text(statement, 1, nl_str_from(one->name));
        NL_TRY(nl_sqlite_finish(statement, NULL));
    }
    return NULL;
}

void nl_objects_flush_garbage(nl_objects *objects)
{
    nl_mutex_lock(&objects->mutex);
    nl_garbage *removed = objects->removed;
    objects->removed = NULL;
    objects->removed_count = 0;
    nl_mutex_unlock(&objects->mutex);
    if (!removed) return;
    nl_status status = nl_state_write_freeing(objects->state, forget_garbage, removed);
    if (status) nl_log(NL_LOG_WARN, "names of removed files stay in the database: %s", nl_error_message(status));
    nl_error_free(status); /* the next start looks for these files in vain, that is all */
    nl_garbage_free(removed);
}

/* ---- At start. */

typedef struct sweep {
    nl_objects *objects;
    nl_arena *arena;
    nl_list incoming, garbage; /* of nl_str */
    nl_list named;             /* of nl_str: those of incoming that a row names */
} sweep;

static nl_status find_leftovers(void *argument, nl_sqlite *database)
{
    sweep *all = argument;
    all->named.count = all->garbage.count = 0;
    nl_sqlite_statement *statement = NULL;
    bool has_row = false;
    for (uint32_t i = 0; i < all->incoming.count; i++) {
        NL_TRY(nl_sqlite_prepare(database, "SELECT 1 FROM s3_part WHERE file=?1 LIMIT 1", &statement));
        nl_sqlite_bind_text(statement, 1, *(const nl_str *)all->incoming.items[i]);
        NL_TRY(nl_sqlite_step(statement, &has_row));
        nl_sqlite_reset(statement);
        if (has_row) nl_list_add(all->arena, &all->named, all->incoming.items[i]);
    }
    NL_TRY(nl_sqlite_prepare(database, "SELECT name FROM s3_garbage", &statement));
    for (;;) {
        NL_TRY(nl_sqlite_step(statement, &has_row));
        if (!has_row) return nl_arena_check(all->arena);
        nl_str *name = NL_NEW(all->arena, nl_str);
        *name = nl_sqlite_text(statement, 0, all->arena);
        nl_list_add(all->arena, &all->garbage, name);
    }
}

static nl_status clear_garbage(void *argument, nl_sqlite *database)
{
    (void)argument;
    return nl_sqlite_run(database, "DELETE FROM s3_garbage");
}

static nl_status list_incoming(sweep *all)
{
    const int copy = openat(all->objects->incoming, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;
    if (!folder) {
        const int error = errno;
        if (copy >= 0) close(copy);
        return nl_raise_errno(error, "Listing", NL_STR("objects/incoming"));
    }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (!is_file_name(nl_str_from(entry->d_name))) continue;
        nl_str *name = NL_NEW(all->arena, nl_str);
        *name = nl_arena_str(all->arena, nl_str_from(entry->d_name));
        nl_list_add(all->arena, &all->incoming, name);
    }
    closedir(folder);
    return nl_arena_check(all->arena);
}

nl_status nl_objects_sweep(nl_objects *objects)
{
    sweep all = {.objects = objects, .arena = nl_arena_new(objects->memory)};
    nl_status status = NULL;
    NL_GO(list_incoming(&all));
    NL_GO(nl_state_read(objects->state, find_leftovers, &all));
    for (uint32_t i = 0; i < all.named.count; i++) nl_objects_settle_file(objects, *(const nl_str *)all.named.items[i]);
    for (uint32_t i = 0, k = 0; i < all.incoming.count; i++) { /* `named` is in the order of `incoming` */
        if (k < all.named.count && all.named.items[k] == all.incoming.items[i]) k++;
        else (void)unlinkat(objects->incoming, incoming_of(*(const nl_str *)all.incoming.items[i]).text, 0);
    }
    for (uint32_t i = 0; i < all.garbage.count; i++) remove_file(objects, *(const nl_str *)all.garbage.items[i]);
    if (all.garbage.count) NL_GO(nl_state_write_freeing(objects->state, clear_garbage, NULL));
done:
    nl_arena_free(all.arena);
    return status;
}
