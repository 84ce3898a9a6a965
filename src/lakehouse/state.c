/* lakehouse/state.c - see state.h.
 *
 * The writer is one thread with one connection. Whoever writes puts a request (on its own stack) into a queue and waits;
 * the writer takes what has gathered while it was syncing, runs each request inside a savepoint of one transaction, and
 * wakes them all after the commit. So the number of commits a second grows with the number of writers, not with fsyncs.
 *
 * When the transaction itself is lost (the disk is full, a work broke it), its requests run again, each in a transaction
 * of its own: the failure goes to whom it belongs. On a full disk even a deletion needs some space, for the log: the reserve
 * is given up for it, and taken again once there is plenty.
 */
#include "lakehouse/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/limits.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/pool.h"
#include "storage/io_error.h"

#define BATCH_MAX        256u /* requests in one transaction: bounds what has to be repeated */
#define RESERVE_BYTES    (4 << 20)
#define IDLE_READERS_MAX 16u  /* connections kept; each has a page cache of some hundred KiB */

typedef struct write_request {
    struct write_request *next;
    nl_state_work work;
    void *argument;
    nl_status status; /* owned by the waiting caller once is_done */
    bool is_done;     /* guarded by mutex */
    bool is_freeing;
    pthread_cond_t done;
} write_request;

struct nl_state {
    char folder[2 * NL_PATH_BYTES_MAX]; /* absolute; at most NL_PATH_BYTES_MAX less the names below it */
    int lock;              /* descriptor of the lock file */
    int reserve;           /* descriptor; -1: none. The writer thread's, once there is one */
    bool has_reserve;      /* the writer thread's, once there is one */
    nl_pool *pool;         /* one thread: the writer */
    nl_task_group *group;
    nl_sqlite *writer;     /* the writer thread's */
    atomic_uint_fast64_t writer_thread; /* its pthread_self: a write inside a write would wait for itself */

    nl_mutex mutex;
    pthread_cond_t has_work;
    write_request *first, *last; /* guarded by mutex */
    bool is_ending;              /* guarded by mutex */
    nl_sqlite *readers[IDLE_READERS_MAX]; /* guarded by mutex: idle ones */
    uint32_t reader_count;                /* guarded by mutex */
};

/* ---- The folder. */

/* Absolute, so that the folder stays the same wherever the process goes; without the slash at the end. */
static nl_status set_folder(nl_state *state, nl_str folder)
{
    while (folder.length > 1 && folder.data[folder.length - 1] == '/') folder.length--;
    char current[NL_PATH_BYTES_MAX] = "";
    const bool is_relative = folder.length == 0 || folder.data[0] != '/';
    if (is_relative && !getcwd(current, sizeof(current))) return nl_raise_errno(errno, "Finding the current folder", NL_STR("."));
    /* Names below the folder take up to 64 bytes more. */
    if (strlen(current) + folder.length + 66 > NL_PATH_BYTES_MAX)
        return NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "Opening the data folder"), NL_P_STR("path", folder), NL_P("problem", "its name is too long"));
    snprintf(state->folder, sizeof(state->folder), "%s%s" NL_STR_FMT, current, is_relative ? "/" : "", NL_STR_ARG(folder));
    return NULL;
}

static void below(const nl_state *state, const char *name, char path[NL_PATH_BYTES_MAX])
{
    snprintf(path, NL_PATH_BYTES_MAX, "%.*s/%s", NL_PATH_BYTES_MAX - 66, state->folder, name);
}

static nl_status make_folder(const char *path, mode_t mode)
{
    if (mkdir(path, mode) == 0) return NULL;
    const int error = errno;
    struct stat file;
    if (error == EEXIST && stat(path, &file) == 0 && S_ISDIR(file.st_mode)) return NULL;
    if (error == EEXIST || error == ENOTDIR) return nl_raise_io("Making the folder", nl_str_from(path), "there is a file of this name");
    return nl_raise_errno(error, "Making the folder", nl_str_from(path));
}

/* The folder and those above it; only the last one is private. */
static nl_status make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        nl_status status = make_folder(path, 0755);
        *slash = '/';
        NL_TRY(status);
    }
    return make_folder(path, 0700);
}

/* The pid in the lock file; 0: not yet written. */
static int64_t read_pid(int lock)
{
    char text[32];
    const ssize_t length = pread(lock, text, sizeof(text), 0);
    int64_t pid = 0;
    return length > 1 && nl_parse_int64((nl_str){text, (size_t)length - 1}, &pid) && pid > 0 ? pid : 0;
}

/* A lock of the open file, not of the process: it can be asked about without being taken, and ends with the process. */
static int set_lock(int file, int command, struct flock *lock)
{
    *lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(file, command, lock);
}

int64_t nl_state_server(nl_str folder)
{
    char path[NL_PATH_BYTES_MAX];
    if (folder.length + 8 > sizeof(path)) return 0;
    snprintf(path, sizeof(path), NL_STR_FMT "/lock", NL_STR_ARG(folder));
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return 0;
    struct flock lock;
    const int64_t pid = set_lock(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? read_pid(file) : 0;
    close(file);
    return pid;
}

static nl_status raise_locked(const nl_state *state)
{
    char problem[128];
    snprintf(problem, sizeof(problem), "process %lld serves it; stop that one with `nilas down`, or name another folder with --data", (long long)read_pid(state->lock));
    return NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "Opening the data folder"), NL_P("path", state->folder), NL_P("problem", problem));
}

/* ---- The reserve. */

static void give_up_reserve(nl_state *state)
{
    if (state->has_reserve && ftruncate(state->reserve, 0) == 0) nl_log(NL_LOG_WARN, "The disk of %s is full: its reserve is used for what frees space", state->folder);
    state->has_reserve = false;
}

static uint64_t free_bytes(const nl_state *state)
{
    struct statvfs disk;
    return fstatvfs(state->reserve, &disk) == 0 ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
}

/* Only where there is room for much more: what was freed is for the user's next write, not for the reserve. */
static void take_reserve(nl_state *state)
{
    if (state->reserve < 0 || state->has_reserve || free_bytes(state) < 3 * (uint64_t)RESERVE_BYTES) return;
    state->has_reserve = posix_fallocate(state->reserve, 0, RESERVE_BYTES) == 0;
    if (!state->has_reserve && ftruncate(state->reserve, 0) != 0) nl_log(NL_LOG_DEBUG, "the reserve keeps what there was room for");
}

static void open_reserve(nl_state *state)
{
    char path[NL_PATH_BYTES_MAX];
    struct stat file;
    below(state, "reserve", path);
    state->reserve = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (state->reserve < 0) return; /* a disk that is full from the beginning: there is nothing to be deleted yet */
    state->has_reserve = fstat(state->reserve, &file) == 0 && file.st_blocks > 0;
    if (free_bytes(state) < RESERVE_BYTES / 4) give_up_reserve(state); /* starting needs some */
    else take_reserve(state);
}

static nl_status take_lock(nl_state *state)
{
    char path[NL_PATH_BYTES_MAX];
    below(state, "lock", path);
    state->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (state->lock < 0) return nl_raise_errno(errno, "Opening the lock", nl_str_from(path));
    struct flock lock;
    if (set_lock(state->lock, F_OFD_SETLK, &lock) != 0) return errno == EAGAIN || errno == EACCES ? raise_locked(state) : nl_raise_errno(errno, "Locking", nl_str_from(path));
    open_reserve(state);
    char text[32];
    const int length = snprintf(text, sizeof(text), "%d\n", (int)getpid());
    if (ftruncate(state->lock, 0) != 0 || pwrite(state->lock, text, (size_t)length, 0) != length) return nl_raise_errno(errno, "Writing", nl_str_from(path));
    return NULL;
}

/* What was on its way when the last process ended was never acknowledged. */
static nl_status empty_uploads(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) return nl_raise_errno(errno, "Reading the folder", nl_str_from(path));
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        if (entry->d_name[0] != '.') unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    return NULL;
}

static nl_status prepare_folder(nl_state *state)
{
    char path[NL_PATH_BYTES_MAX];
    NL_TRY(make_folders(state->folder));
    NL_TRY(take_lock(state));
    below(state, "objects", path);
    NL_TRY(make_folder(path, 0700));
    below(state, "uploads", path);
    NL_TRY(make_folder(path, 0700));
    return empty_uploads(path);
}

/* ---- Connections. SQLite gives its other files the mode of the database's. */

static nl_status open_writer(nl_state *state)
{
    char path[NL_PATH_BYTES_MAX];
    below(state, "lakehouse.db", path);
    const int made = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (made < 0) return nl_raise_errno(errno, "Opening", nl_str_from(path));
    close(made);
    NL_TRY(nl_sqlite_open(path, &(nl_sqlite_options){.is_wal = true, .is_durable = true}, &state->writer));
    /* The log of writes is cut back to this after a checkpoint, so that a burst does not hold the disk forever. */
    NL_TRY(nl_sqlite_run(state->writer, "PRAGMA journal_size_limit=67108864"));
    return nl_sqlite_run(state->writer, "CREATE TABLE IF NOT EXISTS nilas_parts(part TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID");
}

static nl_status take_reader(nl_state *state, nl_sqlite **reader)
{
    nl_mutex_lock(&state->mutex);
    *reader = state->reader_count ? state->readers[--state->reader_count] : NULL;
    nl_mutex_unlock(&state->mutex);
    if (*reader) return NULL;
    char path[NL_PATH_BYTES_MAX];
    below(state, "lakehouse.db", path);
    return nl_sqlite_open(path, &(nl_sqlite_options){.is_read_only = true}, reader);
}

static void give_reader(nl_state *state, nl_sqlite *reader)
{
    nl_mutex_lock(&state->mutex);
    const bool is_kept = state->reader_count < IDLE_READERS_MAX;
    if (is_kept) state->readers[state->reader_count++] = reader;
    nl_mutex_unlock(&state->mutex);
    if (!is_kept) nl_sqlite_close(reader);
}

nl_status nl_state_read(nl_state *state, nl_state_work work, void *argument)
{
    nl_sqlite *reader = NULL;
    NL_TRY(take_reader(state, &reader));
    nl_status status = nl_sqlite_run(reader, "BEGIN");
    if (status) {
        nl_sqlite_close(reader);
        return status;
    }
    status = work(argument, reader);
    nl_status ended = nl_sqlite_run(reader, "ROLLBACK");
    if (ended) {
        nl_error_free(ended);
        nl_sqlite_close(reader); /* whatever state it is in, the next one gets a fresh one */
    } else {
        give_reader(state, reader);
    }
    return status;
}

/* ---- The writer. */

/* Undoes what the transaction did; fails only when SQLite itself has already done so. */
static void roll_back(nl_state *state)
{
    nl_error_free(nl_sqlite_run(state->writer, "ROLLBACK"));
}

/* A commit that failed in the file system may still be found whole after a crash. */
static nl_status commit(nl_state *state)
{
    NL_CRASH_POINT("state.before-commit");
    nl_status status = nl_sqlite_run(state->writer, "COMMIT");
    NL_CRASH_POINT("state.after-commit");
    if (!status) return NULL;
    roll_back(state);
    if (nl_error_kind_of(status) != NL_KIND_RETRY) nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
    return nl_note_if(status, NL_HERE, "committing to %s/lakehouse.db", state->folder);
}

/* Somebody has removed the folder under the server: what is written now would be gone with the process. The lock's name is the
 * one that nothing else removes. */
bool nl_state_is_gone(const nl_state *state)
{
    struct stat file;
    return fstat(state->lock, &file) == 0 && file.st_nlink == 0;
}

static nl_status check_folder(const nl_state *state)
{
    if (!nl_state_is_gone(state)) return NULL;
    return nl_raise_io("Writing", nl_str_from(state->folder), "the data folder was removed; start nilas up again");
}

/* While the reserve is away its room is kept for deletions: who fills the disk again must not make them impossible. */
static nl_status check_room(nl_state *state, const write_request *request)
{
    if (request->is_freeing || state->has_reserve || state->reserve < 0 || free_bytes(state) >= RESERVE_BYTES) return NULL;
    nl_status status = NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "Writing"), NL_P("path", state->folder), NL_P("problem", "the disk is full: less than 4 MiB are left"));
    nl_error_set_kind(status, NL_KIND_RETRY);
    return status;
}

static nl_status try_alone(nl_state *state, write_request *request)
{
    NL_TRY(check_folder(state));
    NL_TRY(check_room(state, request));
    NL_TRY(nl_sqlite_run(state->writer, "BEGIN IMMEDIATE"));
    nl_status status = request->work(request->argument, state->writer);
    if (status) roll_back(state);
    return status ? status : commit(state);
}

static nl_status run_alone(nl_state *state, write_request *request)
{
    nl_status status = try_alone(state, request);
    if (!status || !request->is_freeing || !state->has_reserve || !nl_sqlite_is_full(status)) return status;
    nl_error_free(status);
    give_up_reserve(state);
    status = try_alone(state, request);
    /* The log moves into the database while there is room for it, and gives its own back. */
    nl_error_free(nl_sqlite_run(state->writer, "PRAGMA wal_checkpoint(TRUNCATE)"));
    return status;
}

/* *is_lost: the whole transaction is gone, not only what this request wrote. */
static nl_status run_in_savepoint(nl_state *state, write_request *request, bool *is_lost)
{
    NL_TRY(check_room(state, request));
    nl_status status = nl_sqlite_run(state->writer, "SAVEPOINT request");
    if (!status) {
        status = request->work(request->argument, state->writer);
        if (!status) status = nl_sqlite_run(state->writer, "RELEASE request");
        if (!status) return NULL;
        nl_status undone = nl_sqlite_run(state->writer, "ROLLBACK TO request; RELEASE request");
        if (!undone) return status;
        nl_error_free(undone);
    }
    *is_lost = true;
    return status;
}

/* NULL: every request has its own outcome, and those that succeeded are durable. */
static nl_status run_together(nl_state *state, write_request *batch)
{
    bool is_lost = false;
    NL_TRY(check_folder(state));
    NL_TRY(nl_sqlite_run(state->writer, "BEGIN IMMEDIATE"));
    for (write_request *request = batch; request && !is_lost; request = request->next) request->status = run_in_savepoint(state, request, &is_lost);
    if (!is_lost) return commit(state);
    roll_back(state);
    return NL_RAISE(INTERNAL_ERROR, NL_P("message", "the transaction was lost"));
}

static void run_batch(nl_state *state, write_request *batch)
{
    if (!batch->next) {
        batch->status = run_alone(state, batch);
        return;
    }
    nl_status status = run_together(state, batch);
    if (!status) return;
    nl_log(NL_LOG_DEBUG, "A transaction of several writers failed and is repeated one by one: %s", nl_error_message(status));
    nl_error_free(status);
    for (write_request *request = batch; request; request = request->next) {
        nl_error_free(request->status);
        request->status = run_alone(state, request);
    }
}

/* Waits for requests. NULL: the folder is being closed and nothing waits. */
static write_request *take_batch(nl_state *state)
{
    nl_mutex_lock(&state->mutex);
    while (!state->first && !state->is_ending) pthread_cond_wait(&state->has_work, &state->mutex);
    write_request *batch = state->first, *last = batch;
    for (uint32_t i = 1; last && i < BATCH_MAX && last->next; i++) last = last->next;
    state->first = last ? last->next : NULL;
    if (!state->first) state->last = NULL;
    if (last) last->next = NULL;
    nl_mutex_unlock(&state->mutex);
    return batch;
}

static nl_status write_loop(void *argument, uint32_t worker)
{
    (void)worker;
    nl_state *state = argument;
    atomic_store(&state->writer_thread, (uint64_t)pthread_self());
    for (write_request *batch = take_batch(state); batch; batch = take_batch(state)) {
        run_batch(state, batch);
        take_reserve(state);
        nl_mutex_lock(&state->mutex);
        for (write_request *request = batch, *next; request; request = next) {
            next = request->next; /* the request is its caller's stack: gone once it is told */
            request->is_done = true;
            pthread_cond_signal(&request->done);
        }
        nl_mutex_unlock(&state->mutex);
    }
    return NULL;
}

static nl_status write_request_run(nl_state *state, nl_state_work work, void *argument, bool is_freeing)
{
    NL_CHECK(atomic_load(&state->writer_thread) != (uint64_t)pthread_self());
    write_request request = {.work = work, .argument = argument, .is_freeing = is_freeing};
    pthread_cond_init(&request.done, NULL);
    nl_mutex_lock(&state->mutex);
    if (state->last) state->last->next = &request;
    else state->first = &request;
    state->last = &request;
    pthread_cond_signal(&state->has_work);
    while (!request.is_done) pthread_cond_wait(&request.done, &state->mutex);
    nl_mutex_unlock(&state->mutex);
    pthread_cond_destroy(&request.done);
    return request.status;
}

nl_status nl_state_write(nl_state *state, nl_state_work work, void *argument)
{
    return write_request_run(state, work, argument, false);
}

nl_status nl_state_write_freeing(nl_state *state, nl_state_work work, void *argument)
{
    return write_request_run(state, work, argument, true);
}

/* ---- Migrations. */

typedef struct migration {
    nl_str part;
    const char *const *versions;
    uint32_t version_count;
} migration;

static nl_status migrate(void *argument, nl_sqlite *database)
{
    const migration *self = argument;
    nl_sqlite_statement *statement = NULL;
    bool has_row = false;
    NL_TRY(nl_sqlite_prepare(database, "SELECT version FROM nilas_parts WHERE part = ?", &statement));
    nl_sqlite_bind_text(statement, 1, self->part);
    NL_TRY(nl_sqlite_step(statement, &has_row));
    const int64_t found = has_row ? nl_sqlite_int(statement, 0) : 0;
    nl_sqlite_reset(statement);
    if (found > self->version_count || found < 0)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The data folder was written by a newer nilas (part " NL_STR_FMT " has version %lld, this program knows %u). Use that nilas.",
                             NL_STR_ARG(self->part), (long long)found, self->version_count);
    if (found == self->version_count) return NULL;
    for (int64_t version = found; version < self->version_count; version++) NL_TRY(nl_sqlite_run(database, self->versions[version]));
    NL_TRY(nl_sqlite_prepare(database, "INSERT OR REPLACE INTO nilas_parts(part, version) VALUES (?, ?)", &statement));
    nl_sqlite_bind_text(statement, 1, self->part);
    nl_sqlite_bind_int(statement, 2, self->version_count);
    return nl_sqlite_finish(statement, NULL);
}

nl_status nl_state_migrate(nl_state *state, const char *part, const char *const *versions, uint32_t version_count)
{
    migration self = {.part = nl_str_from(part), .versions = versions, .version_count = version_count};
    return nl_note_if(nl_state_write_freeing(state, migrate, &self), NL_HERE, "preparing the tables of %s in %s", part, state->folder);
}

/* ---- Opening and closing. */

nl_status nl_state_open(nl_str folder, nl_state **state)
{
    nl_state *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->lock = -1;
    made->reserve = -1;
    nl_mutex_init(&made->mutex);
    pthread_cond_init(&made->has_work, NULL);
    nl_status status = set_folder(made, folder);
    if (!status) status = prepare_folder(made);
    if (!status) status = open_writer(made);
    if (status) {
        nl_state_close(made);
        return status;
    }
    made->pool = nl_pool_new(1, "nilas-writer");
    made->group = nl_task_group_new(made->pool, NULL);
    nl_task_group_add(made->group, write_loop, made);
    *state = made;
    return NULL;
}

void nl_state_close(nl_state *state)
{
    if (!state) return;
    nl_mutex_lock(&state->mutex);
    state->is_ending = true;
    pthread_cond_signal(&state->has_work);
    nl_mutex_unlock(&state->mutex);
    if (state->group) nl_error_free(nl_task_group_wait(state->group));
    nl_pool_free(state->pool);
    for (uint32_t i = 0; i < state->reader_count; i++) nl_sqlite_close(state->readers[i]);
    nl_sqlite_close(state->writer);
    if (state->reserve >= 0) close(state->reserve);
    if (state->lock >= 0) close(state->lock);
    pthread_cond_destroy(&state->has_work);
    nl_mutex_fini(&state->mutex);
    free(state);
}

nl_str nl_state_folder(const nl_state *state)
{
    return nl_str_from(state->folder);
}
