/* lakehouse/objects_list.c - pages of keys: a range of the key index, with jumps over what is not shown.
 *
 * Common prefixes are found by jumping: the first key of one is read, then the search goes on behind the last key that
 * could begin with it, so a page costs what it shows and not what lies below. The same over older versions.
 */
#include "base/limits.h"
#include "lakehouse/objects_internal.h"

#define VERSIONS_READ_MAX 4u /* older versions of a key that are read past before jumping to the next key */

/* Where a listing stands: the last thing that was passed. */
typedef struct cursor {
    nl_store_list *list;
    nl_sqlite *database;
    nl_sqlite_statement *rows;
    nl_bucket bucket;
    nl_list found;       /* of nl_listed */
    nl_str key;          /* of the version before this one, in `text`; data NULL: none */
    char text[NL_OBJECT_KEY_BYTES_MAX];
    uint32_t older_count;
    bool is_full;
} cursor;

static nl_bytes bytes_of(nl_str text)
{
    return (nl_bytes){(const uint8_t *)text.data, text.length};
}

/* Goes on at the first key at or above `key`. */
static nl_status seek(cursor *at, nl_str key)
{
    NL_TRY(nl_sqlite_prepare(at->database, "SELECT " NL_OBJECT_COLUMNS " FROM s3_object WHERE bucket=?1 AND key>=?2 ORDER BY key,sequence DESC", &at->rows));
    nl_sqlite_bind_int(at->rows, 1, at->bucket.id);
    nl_sqlite_bind_bytes(at->rows, 2, bytes_of(key));
    at->older_count = 0;
    return NULL;
}

/* The smallest key above this one. */
static nl_str key_behind(nl_arena *arena, nl_str key)
{
    char *copy = nl_arena_alloc(arena, key.length + 1); /* zeroed */
    if (key.length) memcpy(copy, key.data, key.length);
    return (nl_str){copy, key.length + 1};
}

static nl_status add(cursor *at, const nl_listed *entry)
{
    if (at->found.count == at->list->count_max) {
        at->is_full = true;
        return NULL;
    }
    nl_listed *kept = NL_NEW(at->list->arena, nl_listed);
    *kept = *entry;
    nl_list_add(at->list->arena, &at->found, kept);
    return nl_arena_check(at->list->arena);
}

/* The common prefix that stands for this key; empty: none. */
static nl_str common_prefix(const nl_store_list *list, nl_str key)
{
    if (!list->delimiter.length) return (nl_str){0};
    const size_t found = nl_str_find(key, list->delimiter, list->prefix.length);
    return found == NL_NOT_FOUND ? (nl_str){0} : nl_str_slice(key, 0, found + list->delimiter.length);
}

/* The row's key, borrowed from the row. */
static nl_str row_key(const cursor *at)
{
    const nl_bytes key = nl_sqlite_bytes(at->rows, 0);
    return (nl_str){(const char *)key.data, key.length};
}

static nl_status show_prefix(cursor *at, nl_str prefix, bool *goes_on)
{
    nl_arena *arena = at->list->arena;
    const nl_listed entry = {.is_prefix = true, .object.key = nl_arena_str(arena, prefix)};
    nl_str above;
    if (!nl_str_equal(prefix, at->list->after)) NL_TRY(add(at, &entry));
    *goes_on = !at->is_full && nl_text_above(arena, entry.object.key, &above);
    if (!*goes_on) return NULL;
    at->key = (nl_str){0};
    return seek(at, above);
}

/* Was this row shown by an earlier page? */
static bool is_passed(const cursor *at, nl_str key, int64_t sequence)
{
    const int order = nl_str_compare(key, at->list->after);
    if (!at->list->after.length || order > 0) return false;
    return order < 0 || !at->list->after_sequence || sequence >= at->list->after_sequence;
}

static nl_status take_row(cursor *at, bool *goes_on)
{
    nl_store_list *list = at->list;
    nl_str key = row_key(at);
    *goes_on = nl_str_starts(key, list->prefix);
    if (!*goes_on) return NULL;
    const bool is_latest = !at->key.data || !nl_str_equal(key, at->key);
    if (!is_latest && !list->has_versions) {
        if (++at->older_count > VERSIONS_READ_MAX) return seek(at, key_behind(list->arena, at->key));
        return NULL;
    }
    if (is_latest) {
        at->key = (nl_str){at->text, NL_MIN(key.length, sizeof(at->text))};
        memcpy(at->text, key.data, at->key.length);
        at->older_count = 0;
    }
    const bool is_marker = nl_sqlite_int(at->rows, 3) != 0;
    if (is_marker && !list->has_versions) return NULL;
    if (is_passed(at, key, nl_sqlite_int(at->rows, 1))) return NULL;
    nl_str prefix = common_prefix(list, at->key);
    if (prefix.length) return show_prefix(at, prefix, goes_on);
    nl_listed entry = {0};
    if (at->found.count < list->count_max) nl_row_object(at->rows, list->arena, &entry.object);
    entry.object.is_latest = is_latest;
    NL_TRY(add(at, &entry));
    *goes_on = !at->is_full;
    return NULL;
}

/* Where to begin: the prefix, or what the last page ended with. */
static nl_str first_key(const nl_store_list *list)
{
    if (nl_str_compare(list->after, list->prefix) <= 0) return list->prefix;
    nl_str prefix = common_prefix(list, list->after), above;
    if (prefix.length && nl_str_equal(prefix, list->after) && nl_text_above(list->arena, prefix, &above)) return above;
    return list->after;
}

static nl_status list_rows(void *argument, nl_sqlite *database)
{
    cursor *at = argument;
    at->database = database;
    at->found.count = 0;
    at->is_full = false;
    at->key = (nl_str){0};
    NL_TRY(nl_row_bucket(database, at->list->bucket, at->list->arena, &at->bucket));
    if (!at->list->count_max) return NULL;
    NL_TRY(seek(at, first_key(at->list)));
    nl_status status = NULL;
    for (bool goes_on = true; !status && goes_on;) {
        status = nl_sqlite_step(at->rows, &goes_on);
        if (!status && goes_on) status = take_row(at, &goes_on);
    }
    nl_sqlite_reset(at->rows);
    return status;
}

nl_status nl_store_list_objects(nl_objects *objects, nl_store_list *list)
{
    cursor at = {.list = list};
    NL_TRY(nl_state_read(objects->state, list_rows, &at));
    nl_listed *entries = NL_NEW_ARRAY(list->arena, nl_listed, at.found.count);
    NL_TRY(nl_arena_check(list->arena));
    for (uint32_t i = 0; i < at.found.count; i++) {
        entries[i] = *(const nl_listed *)at.found.items[i];
        entries[i].object.is_versioned = at.bucket.versioning != NL_VERSIONING_OFF;
    }
    list->entries = entries;
    list->count = at.found.count;
    list->is_truncated = at.is_full;
    return NULL;
}

/* ---- Uploads. */

typedef struct upload_cursor {
    nl_store_list_uploads *list;
    nl_list found; /* of nl_upload */
    bool is_full;
} upload_cursor;

static void add_upload(upload_cursor *at, nl_upload *upload)
{
    if (at->found.count == at->list->count_max) at->is_full = true;
    else nl_list_add(at->list->arena, &at->found, upload);
}

static void take_upload(upload_cursor *at, nl_sqlite_statement *row, nl_str *shown_prefix)
{
    nl_store_list_uploads *list = at->list;
    nl_upload *upload = NL_NEW(list->arena, nl_upload);
    const nl_bytes bytes = nl_sqlite_bytes(row, 0);
    upload->key = nl_arena_str(list->arena, (nl_str){(const char *)bytes.data, bytes.length});
    const nl_store_list words = {.prefix = list->prefix, .delimiter = list->delimiter};
    nl_str prefix = common_prefix(&words, upload->key);
    if (prefix.length) {
        if (nl_str_equal(prefix, *shown_prefix) || nl_str_equal(prefix, list->after)) return;
        *shown_prefix = prefix;
        upload->key = prefix;
        add_upload(at, upload);
        return;
    }
    upload->token = nl_sqlite_text(row, 1, list->arena);
    upload->initiated_micros = nl_sqlite_int(row, 2);
    upload->storage_class = nl_sqlite_text(row, 3, list->arena);
    upload->checksum_algorithm = nl_sqlite_text(row, 4, list->arena);
    upload->checksum_type = nl_sqlite_text(row, 5, list->arena);
    const bool is_same = list->after.length && nl_str_equal(upload->key, list->after);
    if (is_same && (!list->after_token.length || nl_str_compare(upload->token, list->after_token) <= 0)) return;
    add_upload(at, upload);
}

static nl_status list_upload_rows(void *argument, nl_sqlite *database)
{
    upload_cursor *at = argument;
    nl_store_list_uploads *list = at->list;
    nl_bucket bucket = {0};
    nl_sqlite_statement *rows = NULL;
    nl_str shown_prefix = {0};
    at->found.count = 0;
    at->is_full = false;
    NL_TRY(nl_row_bucket(database, list->bucket, list->arena, &bucket));
    NL_TRY(nl_sqlite_prepare(database, "SELECT key,token,initiated,storage_class,checksum_algorithm,checksum_type FROM s3_upload WHERE bucket=?1 AND key>=?2 ORDER BY key,id", &rows));
    nl_sqlite_bind_int(rows, 1, bucket.id);
    nl_sqlite_bind_bytes(rows, 2, bytes_of(nl_str_compare(list->after, list->prefix) > 0 ? list->after : list->prefix));
    nl_status status = NULL;
    for (bool has_row = true; !status && !at->is_full && list->count_max;) {
        status = nl_sqlite_step(rows, &has_row);
        if (status || !has_row) break;
        const nl_bytes key = nl_sqlite_bytes(rows, 0);
        if (!nl_str_starts((nl_str){(const char *)key.data, key.length}, list->prefix)) break;
        take_upload(at, rows, &shown_prefix);
        status = nl_arena_check(list->arena);
    }
    nl_sqlite_reset(rows);
    return status;
}

nl_status nl_store_list_uploads_page(nl_objects *objects, nl_store_list_uploads *list)
{
    upload_cursor at = {.list = list};
    NL_TRY(nl_state_read(objects->state, list_upload_rows, &at));
    nl_upload *uploads = NL_NEW_ARRAY(list->arena, nl_upload, at.found.count);
    NL_TRY(nl_arena_check(list->arena));
    for (uint32_t i = 0; i < at.found.count; i++) uploads[i] = *(const nl_upload *)at.found.items[i];
    list->uploads = uploads;
    list->count = at.found.count;
    list->is_truncated = at.is_full;
    return NULL;
}
