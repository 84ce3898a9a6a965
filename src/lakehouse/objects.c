/* lakehouse/objects.c - opening the store, its tables, and buckets. See object_store.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/calendar.h"
#include "base/limits.h"
#include "lakehouse/objects_internal.h"
#include "storage/io_error.h"

#define EPOCH_BITS 40 /* numbers of one run of the process; the upper 23 bits count the runs */

static const char *const migrations[] = {
    "CREATE TABLE s3_run(id INTEGER PRIMARY KEY CHECK(id=0), run INTEGER NOT NULL);"
    "INSERT INTO s3_run VALUES(0,0);"
    "CREATE TABLE s3_bucket(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, region TEXT NOT NULL, created INTEGER NOT NULL,"
    " versioning INTEGER NOT NULL, is_hidden INTEGER NOT NULL);"
    "CREATE TABLE s3_document(bucket INTEGER NOT NULL, name TEXT NOT NULL, text BLOB NOT NULL, PRIMARY KEY(bucket,name)) WITHOUT ROWID;"
    "CREATE TABLE s3_object(bucket INTEGER NOT NULL, key BLOB NOT NULL, sequence INTEGER NOT NULL, version TEXT NOT NULL,"
    " is_marker INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL, etag TEXT NOT NULL, headers TEXT NOT NULL,"
    " tags TEXT NOT NULL, checksum TEXT NOT NULL, storage_class TEXT NOT NULL, part_count INTEGER NOT NULL, data INTEGER NOT NULL,"
    " PRIMARY KEY(bucket,key,sequence DESC)) WITHOUT ROWID;"
    "CREATE TABLE s3_part(id INTEGER PRIMARY KEY, data INTEGER NOT NULL, number INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL,"
    " modified INTEGER NOT NULL, etag TEXT NOT NULL, checksum TEXT NOT NULL, file TEXT, file_offset INTEGER NOT NULL, bytes BLOB);"
    "CREATE UNIQUE INDEX s3_part_number ON s3_part(data,number);"
    "CREATE INDEX s3_part_file ON s3_part(file) WHERE file IS NOT NULL;"
    "CREATE TABLE s3_upload(id INTEGER PRIMARY KEY, token TEXT NOT NULL, bucket INTEGER NOT NULL, key BLOB NOT NULL, initiated INTEGER NOT NULL,"
    " headers TEXT NOT NULL, tags TEXT NOT NULL, storage_class TEXT NOT NULL, checksum_algorithm TEXT NOT NULL, checksum_type TEXT NOT NULL);"
    "CREATE UNIQUE INDEX s3_upload_key ON s3_upload(bucket,key,id);"
    "CREATE TABLE s3_garbage(name TEXT PRIMARY KEY) WITHOUT ROWID;",
};

nl_status nl_store_raise(const char *code, nl_here here, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    return nl_raise(NL_COND_NILAS_OBJECT_STORE, here, (const nl_param[]){NL_P("code", code), NL_P("message", message), {0}});
}

const char *nl_store_code(const nl_error *error)
{
    return error && nl_error_condition(error) == NL_COND_NILAS_OBJECT_STORE ? nl_error_param(error, "code") : NULL;
}

bool nl_store_failed_with(const nl_error *error, const char *code)
{
    const char *is = nl_store_code(error);
    return is && nl_str_is(nl_str_from(is), code);
}

int64_t nl_objects_next(nl_objects *objects)
{
    return atomic_fetch_add(&objects->sequence, 1);
}

/* ---- Opening. */

static nl_status count_run(void *argument, nl_sqlite *database)
{
    nl_objects *objects = argument;
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_run(database, "UPDATE s3_run SET run=run+1"));
    NL_TRY(nl_sqlite_prepare(database, "SELECT run FROM s3_run", &statement));
    bool has_row = false;
    NL_TRY(nl_sqlite_step(statement, &has_row));
    NL_CHECK(has_row);
    atomic_store(&objects->sequence, (nl_sqlite_int(statement, 0) << EPOCH_BITS) + 1);
    nl_sqlite_reset(statement);
    return NULL;
}

static nl_status open_folder(int below, const char *name, nl_str root, int *folder)
{
    if (mkdirat(below, name, 0700) != 0 && errno != EEXIST) return nl_raise_errno(errno, "Making a folder in", root);
    *folder = openat(below, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (*folder < 0 && errno == ENOTDIR) return nl_raise_io("Opening a folder in", root, "%s is a file or a symbolic link", name);
    return *folder < 0 ? nl_raise_errno(errno, "Opening a folder in", root) : NULL;
}

static nl_status open_folders(nl_objects *objects)
{
    nl_str root = nl_state_folder(objects->state);
    char path[NL_PATH_BYTES_MAX];
    if (root.length >= sizeof(path)) return nl_raise_errno(ENAMETOOLONG, "Opening", root);
    memcpy(path, root.data, root.length);
    path[root.length] = '\0';
    const int top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0) return nl_raise_errno(errno, "Opening", root);
    nl_status status = open_folder(top, "objects", root, &objects->folder);
    close(top);
    NL_TRY(status);
    return open_folder(objects->folder, "incoming", root, &objects->incoming);
}

nl_status nl_objects_open(nl_state *state, nl_memory *memory, nl_objects **objects)
{
    nl_objects *opened = calloc(1, sizeof(*opened));
    if (!opened) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*opened)), NL_P("receivedBytes", "0"));
    opened->fs.ops = &nl_objects_fs_ops;
    atomic_init(&opened->fs.references, 1);
    opened->state = state;
    opened->memory = memory;
    opened->folder = opened->incoming = -1;
    opened->readings.before = opened->readings.behind = &opened->readings;
    nl_mutex_init(&opened->mutex);
    nl_status status = NULL;
    NL_GO(nl_state_migrate(state, "s3", migrations, NL_COUNT(migrations)));
    NL_GO(open_folders(opened));
    NL_GO(nl_state_write_freeing(state, count_run, opened));
    NL_GO(nl_objects_sweep(opened));
    *objects = opened;
    opened = NULL;
done:
    nl_objects_close(opened);
    return status;
}

void nl_objects_close(nl_objects *objects)
{
    if (!objects) return;
    nl_objects_flush_garbage(objects);
    nl_garbage_free(objects->first);
    nl_garbage_free(objects->removed);
    if (objects->incoming >= 0) close(objects->incoming);
    if (objects->folder >= 0) close(objects->folder);
    nl_mutex_fini(&objects->mutex);
    free(objects);
}

/* ---- Buckets. */

static bool looks_like_address(nl_str name)
{
    uint32_t dots = 0;
    for (size_t i = 0; i < name.length; i++) {
        if (name.data[i] == '.') dots++;
        else if (name.data[i] < '0' || name.data[i] > '9') return false;
    }
    return dots == 3;
}

/* Source: Amazon S3 User Guide, "General purpose bucket naming rules". */
bool nl_bucket_name_is_valid(nl_str name)
{
    if (name.length < 3 || name.length > 63 || looks_like_address(name)) return false;
    for (size_t i = 0; i < name.length; i++) {
        const char c = name.data[i];
        const bool is_alphanumeric = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        const bool is_end = i == 0 || i + 1 == name.length;
        if (is_alphanumeric) continue;
        if (is_end || (c != '-' && c != '.')) return false;
        const char before = name.data[i - 1]; /* each label begins and ends with a letter or digit */
        if ((c == '.' && before != '-' && before != '.') || (c == '-' && before != '.')) continue;
        return false;
    }
    return true;
}

#define BUCKET_COLUMNS "id,name,region,created,versioning,is_hidden"

static void read_bucket(nl_sqlite_statement *row, nl_arena *arena, nl_bucket *bucket)
{
    bucket->id = nl_sqlite_int(row, 0);
    bucket->name = nl_sqlite_text(row, 1, arena);
    bucket->region = nl_sqlite_text(row, 2, arena);
    bucket->created_micros = nl_sqlite_int(row, 3);
    bucket->versioning = (nl_versioning)nl_sqlite_int(row, 4);
    bucket->is_hidden = nl_sqlite_int(row, 5) != 0;
}

nl_status nl_row_bucket(nl_sqlite *database, nl_str name, nl_arena *arena, nl_bucket *bucket)
{
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "SELECT " BUCKET_COLUMNS " FROM s3_bucket WHERE name=?1", &statement));
    nl_sqlite_bind_text(statement, 1, name);
    bool has_row = false;
    NL_TRY(nl_sqlite_step(statement, &has_row));
    if (!has_row) return NL_STORE_RAISE("NoSuchBucket", "The specified bucket does not exist");
    read_bucket(statement, arena, bucket);
    nl_sqlite_reset(statement);
    return NULL;
}

typedef struct bucket_work {
    nl_objects *objects;
    nl_str name;
    const nl_bucket *wanted;
    nl_bucket *found;
    nl_arena *arena;
    bool flag;
    nl_versioning versioning;
    nl_str document, text;
} bucket_work;

static nl_status read_bucket_work(void *argument, nl_sqlite *database)
{
    bucket_work *work = argument;
    return nl_row_bucket(database, work->name, work->arena, work->found);
}

nl_status nl_store_bucket(nl_objects *objects, nl_str name, nl_arena *arena, nl_bucket *bucket)
{
    bucket_work work = {.name = name, .arena = arena, .found = bucket};
    return nl_state_read(objects->state, read_bucket_work, &work);
}

static nl_status create_bucket_work(void *argument, nl_sqlite *database)
{
    bucket_work *work = argument;
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "INSERT INTO s3_bucket(name,region,created,versioning,is_hidden) VALUES(?1,?2,?3,?4,?5) ON CONFLICT(name) DO NOTHING", &statement));
    nl_sqlite_bind_text(statement, 1, work->wanted->name);
    nl_sqlite_bind_text(statement, 2, work->wanted->region.data ? work->wanted->region : NL_STR(""));
    nl_sqlite_bind_int(statement, 3, nl_now_micros());
    nl_sqlite_bind_int(statement, 4, work->wanted->versioning);
    nl_sqlite_bind_int(statement, 5, work->wanted->is_hidden);
    int64_t changes = 0;
    NL_TRY(nl_sqlite_finish(statement, &changes));
    work->flag = changes == 0;
    return NULL;
}

nl_status nl_store_create_bucket(nl_objects *objects, const nl_bucket *wanted, bool *existed)
{
    if (!nl_bucket_name_is_valid(wanted->name)) return NL_STORE_RAISE("InvalidBucketName", "The specified bucket is not valid.");
    bucket_work work = {.wanted = wanted};
    NL_TRY(nl_state_write(objects->state, create_bucket_work, &work));
    *existed = work.flag;
    return NULL;
}

static nl_status run_with_bucket(nl_sqlite *database, const char *sql, int64_t bucket)
{
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, sql, &statement));
    nl_sqlite_bind_int(statement, 1, bucket);
    return nl_sqlite_finish(statement, NULL);
}

typedef struct delete_bucket_work {
    nl_str name;
    nl_garbage *garbage;
} delete_bucket_work;

static nl_status drop_uploads(nl_sqlite *database, int64_t bucket, nl_garbage **garbage)
{
    for (bool has_row = true; has_row;) {
        nl_sqlite_statement *statement = NULL;
        NL_TRY(nl_sqlite_prepare(database, "SELECT id FROM s3_upload WHERE bucket=?1 LIMIT 1", &statement));
        nl_sqlite_bind_int(statement, 1, bucket);
        NL_TRY(nl_sqlite_step(statement, &has_row));
        if (!has_row) break;
        const int64_t id = nl_sqlite_int(statement, 0);
        nl_sqlite_reset(statement);
        NL_TRY(nl_row_remove_parts(database, id, 0, garbage));
        NL_TRY(run_with_bucket(database, "DELETE FROM s3_upload WHERE id=?1", id));
    }
    return NULL;
}

static nl_status delete_bucket_rows(void *argument, nl_sqlite *database)
{
    delete_bucket_work *work = argument;
    nl_garbage_free(work->garbage);
    work->garbage = NULL;
    nl_arena *arena = nl_arena_new(NULL);
    nl_bucket bucket = {0};
    nl_sqlite_statement *statement = NULL;
    bool has_row = false;
    nl_status status = NULL;
    NL_GO(nl_row_bucket(database, work->name, arena, &bucket));
    NL_GO(nl_sqlite_prepare(database, "SELECT 1 FROM s3_object WHERE bucket=?1 LIMIT 1", &statement));
    nl_sqlite_bind_int(statement, 1, bucket.id);
    NL_GO(nl_sqlite_step(statement, &has_row));
    nl_sqlite_reset(statement);
    if (has_row) {
        const char *more = bucket.versioning == NL_VERSIONING_OFF ? "" : ". You must delete all versions in the bucket.";
        status = NL_STORE_RAISE("BucketNotEmpty", "The bucket you tried to delete is not empty%s", more);
        goto done;
    }
    NL_GO(drop_uploads(database, bucket.id, &work->garbage));
    NL_GO(run_with_bucket(database, "DELETE FROM s3_document WHERE bucket=?1", bucket.id));
    NL_GO(run_with_bucket(database, "DELETE FROM s3_bucket WHERE id=?1", bucket.id));
done:
    nl_arena_free(arena);
    return status;
}

nl_status nl_store_delete_bucket(nl_objects *objects, nl_str name, bool with_contents)
{
    delete_bucket_work work = {.name = name};
    nl_status status = NULL;
    do { /* somebody may write while the contents go: then once more */
        nl_error_free(status);
        status = with_contents ? nl_store_delete_below(objects, name, NL_STR("")) : NULL;
        if (!status) status = nl_state_write_freeing(objects->state, delete_bucket_rows, &work);
    } while (with_contents && nl_store_failed_with(status, "BucketNotEmpty"));
    if (status) nl_garbage_free(work.garbage);
    else nl_objects_collect(objects, work.garbage);
    return status;
}

static nl_status set_versioning_work(void *argument, nl_sqlite *database)
{
    bucket_work *work = argument;
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "UPDATE s3_bucket SET versioning=?1 WHERE name=?2", &statement));
    nl_sqlite_bind_int(statement, 1, work->versioning);
    nl_sqlite_bind_text(statement, 2, work->name);
    int64_t changes = 0;
    NL_TRY(nl_sqlite_finish(statement, &changes));
    return changes ? NULL : NL_STORE_RAISE("NoSuchBucket", "The specified bucket does not exist");
}

nl_status nl_store_set_versioning(nl_objects *objects, nl_str name, nl_versioning versioning)
{
    bucket_work work = {.name = name, .versioning = versioning};
    return nl_state_write(objects->state, set_versioning_work, &work);
}

typedef struct bucket_list {
    nl_str prefix, after;
    uint32_t count_max;
    nl_arena *arena;
    nl_list found; /* of nl_bucket */
} bucket_list;

static nl_status list_buckets_work(void *argument, nl_sqlite *database)
{
    bucket_list *list = argument;
    list->found.count = 0;
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "SELECT " BUCKET_COLUMNS " FROM s3_bucket WHERE name>?1 AND name>=?2 AND is_hidden=0 ORDER BY name", &statement));
    nl_sqlite_bind_text(statement, 1, list->after.data ? list->after : NL_STR(""));
    nl_sqlite_bind_text(statement, 2, list->prefix.data ? list->prefix : NL_STR(""));
    for (bool has_row = true; list->found.count < list->count_max;) {
        NL_TRY(nl_sqlite_step(statement, &has_row));
        if (!has_row) return NULL;
        nl_bucket *bucket = NL_NEW(list->arena, nl_bucket);
        read_bucket(statement, list->arena, bucket);
        if (!nl_str_starts(bucket->name, list->prefix)) break;
        nl_list_add(list->arena, &list->found, bucket);
    }
    nl_sqlite_reset(statement);
    return NULL;
}

nl_status nl_store_list_buckets(nl_objects *objects, nl_str prefix, nl_str after, uint32_t count_max, nl_arena *arena, const nl_bucket **buckets, uint32_t *count)
{
    bucket_list list = {.prefix = prefix, .after = after, .count_max = count_max, .arena = arena};
    NL_TRY(nl_state_read(objects->state, list_buckets_work, &list));
    NL_TRY(nl_arena_check(arena));
    nl_bucket *all = NL_NEW_ARRAY(arena, nl_bucket, list.found.count);
    for (uint32_t i = 0; i < list.found.count; i++) all[i] = *(const nl_bucket *)list.found.items[i];
    *buckets = all;
    *count = list.found.count;
    return NULL;
}

/* ---- Documents of a bucket. */

static nl_status put_document_rows(nl_sqlite *database, const bucket_work *work, int64_t bucket)
{
    nl_sqlite_statement *statement = NULL;
    if (work->text.data) NL_TRY(nl_sqlite_prepare(database, "INSERT OR REPLACE INTO s3_document(bucket,name,text) VALUES(?1,?2,?3)", &statement));
    else NL_TRY(nl_sqlite_prepare(database, "DELETE FROM s3_document WHERE bucket=?1 AND name=?2", &statement));
    nl_sqlite_bind_int(statement, 1, bucket);
    nl_sqlite_bind_text(statement, 2, work->document);
    if (work->text.data) nl_sqlite_bind_bytes(statement, 3, (nl_bytes){(const uint8_t *)work->text.data, work->text.length});
    return nl_sqlite_finish(statement, NULL);
}

static nl_status put_document_work(void *argument, nl_sqlite *database)
{
    const bucket_work *work = argument;
    nl_arena *arena = nl_arena_new(NULL);
    nl_bucket bucket = {0};
    nl_status status = nl_row_bucket(database, work->name, arena, &bucket);
    if (!status) status = put_document_rows(database, work, bucket.id);
    nl_arena_free(arena);
    return status;
}

nl_status nl_store_put_document(nl_objects *objects, nl_str bucket, nl_str name, nl_str text)
{
    bucket_work work = {.name = bucket, .document = name, .text = text};
    return nl_state_write(objects->state, put_document_work, &work);
}

static nl_status get_document_work(void *argument, nl_sqlite *database)
{
    bucket_work *work = argument;
    nl_bucket bucket = {0};
    nl_sqlite_statement *statement = NULL;
    work->text = (nl_str){0};
    NL_TRY(nl_row_bucket(database, work->name, work->arena, &bucket));
    NL_TRY(nl_sqlite_prepare(database, "SELECT text FROM s3_document WHERE bucket=?1 AND name=?2", &statement));
    nl_sqlite_bind_int(statement, 1, bucket.id);
    nl_sqlite_bind_text(statement, 2, work->document);
    bool has_row = false;
    NL_TRY(nl_sqlite_step(statement, &has_row));
    if (!has_row) return NULL;
    work->text = nl_sqlite_text(statement, 0, work->arena);
    nl_sqlite_reset(statement);
    return NULL;
}

nl_status nl_store_get_document(nl_objects *objects, nl_str bucket, nl_str name, nl_arena *arena, nl_str *text)
{
    bucket_work work = {.name = bucket, .document = name, .arena = arena};
    NL_TRY(nl_state_read(objects->state, get_document_work, &work));
    *text = work.text;
    return NULL;
}

/* ---- What the rest of the process uses (objects.h). */

nl_status nl_objects_create_bucket(nl_objects *objects, nl_str bucket, bool is_hidden)
{
    const nl_bucket wanted = {.name = bucket, .is_hidden = is_hidden};
    bool existed = false;
    return nl_store_create_bucket(objects, &wanted, &existed);
}

nl_status nl_objects_delete_bucket(nl_objects *objects, nl_str bucket, bool with_contents)
{
    nl_status status = nl_store_delete_bucket(objects, bucket, with_contents);
    if (nl_store_failed_with(status, "NoSuchBucket")) {
        nl_error_free(status);
        return NULL;
    }
    return status;
}

nl_fs *nl_objects_fs(nl_objects *objects)
{
    return nl_fs_retain(&objects->fs);
}
