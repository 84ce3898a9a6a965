/* lakehouse/objects_rows.c - rows of versions and parts, inside a transaction of the state. */
#include <stdio.h>
#include <stdlib.h>

#include "base/calendar.h"
#include "base/number.h"
#include "base/uuid.h"
#include "lakehouse/objects_internal.h"

void nl_row_object(nl_sqlite_statement *row, nl_arena *arena, nl_object *object)
{
    const nl_bytes key = nl_sqlite_bytes(row, 0);
    object->key = nl_arena_str(arena, (nl_str){(const char *)key.data, key.length});
    object->sequence = nl_sqlite_int(row, 1);
    object->version = nl_sqlite_text(row, 2, arena);
    object->is_marker = nl_sqlite_int(row, 3) != 0;
    object->size_bytes = (uint64_t)nl_sqlite_int(row, 4);
    object->modified_micros = nl_sqlite_int(row, 5);
    object->etag = nl_sqlite_text(row, 6, arena);
    object->headers = nl_sqlite_text(row, 7, arena);
    object->tags = nl_sqlite_text(row, 8, arena);
    object->checksum = nl_sqlite_text(row, 9, arena);
    object->storage_class = nl_sqlite_text(row, 10, arena);
    object->part_count = (uint32_t)nl_sqlite_int(row, 11);
    object->data = nl_sqlite_int(row, 12);
}

static nl_bytes bytes_of(nl_str text)
{
    return (nl_bytes){(const uint8_t *)text.data, text.length};
}

/* A version's id begins with its sequence in hexadecimal, so that it is found without looking at all versions. */
static bool sequence_of_version(nl_str version, int64_t *sequence)
{
    if (version.length != 32) return false;
    uint64_t value = 0;
    for (size_t i = 0; i < 16; i++) {
        const char c = version.data[i];
        if (c >= '0' && c <= '9') value = value * 16 + (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f') value = value * 16 + (uint64_t)(c - 'a' + 10);
        else return false;
    }
    *sequence = (int64_t)value;
    return value <= INT64_MAX;
}

static nl_status step_object(nl_sqlite_statement *statement, nl_arena *arena, nl_object *object, bool *exists)
{
    NL_TRY(nl_sqlite_step(statement, exists));
    if (!*exists) return NULL;
    nl_row_object(statement, arena, object);
    nl_sqlite_reset(statement);
    return nl_arena_check(arena);
}

static nl_status find_latest(nl_sqlite *database, int64_t bucket, nl_str key, nl_arena *arena, nl_object *object, bool *exists)
{
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "SELECT " NL_OBJECT_COLUMNS " FROM s3_object WHERE bucket=?1 AND key=?2 ORDER BY sequence DESC LIMIT 1", &statement));
    nl_sqlite_bind_int(statement, 1, bucket);
    nl_sqlite_bind_bytes(statement, 2, bytes_of(key));
    NL_TRY(step_object(statement, arena, object, exists));
    if (*exists) object->is_latest = true;
    return NULL;
}

static nl_status find_version(nl_sqlite *database, int64_t bucket, nl_str key, nl_str version, nl_arena *arena, nl_object *object, bool *exists)
{
    nl_sqlite_statement *statement = NULL;
    int64_t sequence = 0;
    *exists = false;
    if (nl_str_is(version, "null"))
        NL_TRY(nl_sqlite_prepare(database, "SELECT " NL_OBJECT_COLUMNS " FROM s3_object WHERE bucket=?1 AND key=?2 AND version='null' LIMIT 1", &statement));
    else if (sequence_of_version(version, &sequence))
        NL_TRY(nl_sqlite_prepare(database, "SELECT " NL_OBJECT_COLUMNS " FROM s3_object WHERE bucket=?1 AND key=?2 AND sequence=?3", &statement));
    else
        return NULL;
    nl_sqlite_bind_int(statement, 1, bucket);
    nl_sqlite_bind_bytes(statement, 2, bytes_of(key));
    if (sequence) nl_sqlite_bind_int(statement, 3, sequence);
    NL_TRY(step_object(statement, arena, object, exists));
    if (*exists && !nl_str_equal(object->version, version)) *exists = false;
    return NULL;
}

nl_status nl_row_find(nl_sqlite *database, const nl_bucket *bucket, nl_str key, nl_str version, nl_arena *arena, nl_object *object, bool *exists)
{
    if (version.length) NL_TRY(find_version(database, bucket->id, key, version, arena, object, exists));
    else NL_TRY(find_latest(database, bucket->id, key, arena, object, exists));
    if (*exists) object->is_versioned = bucket->versioning != NL_VERSIONING_OFF;
    return NULL;
}

/* ---- Removing. */

static nl_status add_garbage(nl_sqlite *database, nl_str file, nl_garbage **garbage)
{
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "SELECT 1 FROM s3_part WHERE file=?1 LIMIT 1", &statement));
    nl_sqlite_bind_text(statement, 1, file);
    bool has_row = false;
    NL_TRY(nl_sqlite_step(statement, &has_row));
    nl_sqlite_reset(statement);
    if (has_row) return NULL;
    nl_garbage *one = calloc(1, sizeof(*one));
    if (!one) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*one)), NL_P("receivedBytes", "0"));
    snprintf(one->name, sizeof(one->name), NL_STR_FMT, NL_STR_ARG(file));
    one->next = *garbage;
    *garbage = one;
    NL_TRY(nl_sqlite_prepare(database, "INSERT OR IGNORE INTO s3_garbage(name) VALUES(?1)", &statement));
    nl_sqlite_bind_text(statement, 1, file);
    return nl_sqlite_finish(statement, NULL);
}

static nl_status delete_parts(nl_sqlite *database, int64_t data, uint32_t number)
{
    nl_sqlite_statement *statement = NULL;
    if (number) NL_TRY(nl_sqlite_prepare(database, "DELETE FROM s3_part WHERE data=?1 AND number=?2", &statement));
    else NL_TRY(nl_sqlite_prepare(database, "DELETE FROM s3_part WHERE data=?1", &statement));
    nl_sqlite_bind_int(statement, 1, data);
    if (number) nl_sqlite_bind_int(statement, 2, number);
    return nl_sqlite_finish(statement, NULL);
}

nl_status nl_row_remove_parts(nl_sqlite *database, int64_t data, uint32_t number, nl_garbage **garbage)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_list files = {0};
    nl_sqlite_statement *statement = NULL;
    nl_status status = NULL;
    NL_GO(nl_sqlite_prepare(database, "SELECT DISTINCT file FROM s3_part WHERE data=?1 AND (?2=0 OR number=?2) AND file IS NOT NULL", &statement));
    nl_sqlite_bind_int(statement, 1, data);
    nl_sqlite_bind_int(statement, 2, number);
    for (bool has_row = true;;) {
        NL_GO(nl_sqlite_step(statement, &has_row));
        if (!has_row) break;
        nl_str *file = NL_NEW(arena, nl_str);
        *file = nl_sqlite_text(statement, 0, arena);
        nl_list_add(arena, &files, file);
    }
    NL_GO(nl_arena_check(arena));
    NL_GO(delete_parts(database, data, number));
    for (uint32_t i = 0; i < files.count; i++) NL_GO(add_garbage(database, *(const nl_str *)files.items[i], garbage));
done:
    nl_arena_free(arena);
    return status;
}

nl_status nl_row_remove_version(nl_sqlite *database, int64_t bucket, const nl_object *object, nl_garbage **garbage)
{
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "DELETE FROM s3_object WHERE bucket=?1 AND key=?2 AND sequence=?3", &statement));
    nl_sqlite_bind_int(statement, 1, bucket);
    nl_sqlite_bind_bytes(statement, 2, bytes_of(object->key));
    nl_sqlite_bind_int(statement, 3, object->sequence);
    NL_TRY(nl_sqlite_finish(statement, NULL));
    return object->is_marker ? NULL : nl_row_remove_parts(database, object->data, 0, garbage);
}

/* ---- Writing. */

static nl_str without_quotes(nl_str etag)
{
    etag = nl_str_trim(etag);
    if (etag.length >= 2 && etag.data[0] == '"' && etag.data[etag.length - 1] == '"') return nl_str_slice(etag, 1, etag.length - 1);
    return etag;
}

bool nl_etag_matches(nl_str wanted, nl_str etag)
{
    return nl_str_is(wanted, "*") || nl_str_equal(without_quotes(wanted), etag);
}

nl_status nl_row_check_conditions(nl_sqlite *database, const nl_bucket *bucket, nl_str key, const nl_write_conditions *conditions, nl_arena *arena)
{
    if (!conditions->if_match.length && !conditions->if_none_match.length) return NULL;
    nl_object now = {0};
    bool exists = false;
    NL_TRY(nl_row_find(database, bucket, key, (nl_str){0}, arena, &now, &exists));
    exists = exists && !now.is_marker;
    if (conditions->if_match.length && !exists) return NL_STORE_RAISE("NoSuchKey", "The specified key does not exist.");
    const bool is_match = !conditions->if_match.length || nl_etag_matches(conditions->if_match, now.etag);
    const bool is_none_match = !conditions->if_none_match.length || !exists || !nl_etag_matches(conditions->if_none_match, now.etag);
    if (!is_match || !is_none_match)
        return NL_STORE_RAISE("PreconditionFailed", "At least one of the pre-conditions you specified did not hold");
    return NULL;
}

static void new_version(int64_t sequence, nl_arena *arena, nl_str *version)
{
    uint8_t random[8];
    char text[17] = "";
    nl_random_bytes(random, sizeof(random));
    nl_format_hex(random, sizeof(random), false, text);
    *version = nl_arena_f(arena, "%016llx%.16s", (unsigned long long)sequence, text);
}

/* A bucket without versions, and one that has suspended them, has one version "null" a key: it makes way. */
static nl_status remove_null_version(nl_sqlite *database, const nl_bucket *bucket, nl_str key, nl_arena *arena, nl_garbage **garbage)
{
    nl_object now = {0};
    bool exists = false;
    NL_TRY(nl_row_find(database, bucket, key, NL_STR("null"), arena, &now, &exists));
    return exists ? nl_row_remove_version(database, bucket->id, &now, garbage) : NULL;
}

static nl_str or_empty(nl_str text)
{
    return text.data ? text : NL_STR("");
}

nl_status nl_row_insert(nl_objects *objects, nl_sqlite *database, const nl_bucket *bucket, nl_store_put *put, bool is_marker, nl_garbage **garbage)
{
    nl_object *made = &put->made;
    made->key = put->key;
    made->sequence = nl_objects_next(objects);
    made->modified_micros = nl_now_micros();
    made->is_marker = is_marker;
    made->is_latest = true;
    made->is_versioned = bucket->versioning != NL_VERSIONING_OFF;
    made->headers = or_empty(put->headers);
    made->tags = or_empty(put->tags);
    made->checksum = or_empty(put->checksum);
    made->storage_class = or_empty(put->storage_class);
    made->version = NL_STR("null");
    if (bucket->versioning == NL_VERSIONING_ENABLED) new_version(made->sequence, put->arena, &made->version);
    else NL_TRY(remove_null_version(database, bucket, put->key, put->arena, garbage));
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "INSERT INTO s3_object(bucket," NL_OBJECT_COLUMNS ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)", &statement));
    nl_sqlite_bind_int(statement, 1, bucket->id);
    nl_sqlite_bind_bytes(statement, 2, bytes_of(made->key));
    nl_sqlite_bind_int(statement, 3, made->sequence);
    nl_sqlite_bind_text(statement, 4, made->version);
    nl_sqlite_bind_int(statement, 5, is_marker);
    nl_sqlite_bind_int(statement, 6, (int64_t)made->size_bytes);
    nl_sqlite_bind_int(statement, 7, made->modified_micros);
    nl_sqlite_bind_text(statement, 8, or_empty(made->etag));
    nl_sqlite_bind_text(statement, 9, made->headers);
    nl_sqlite_bind_text(statement, 10, made->tags);
    nl_sqlite_bind_text(statement, 11, made->checksum);
    nl_sqlite_bind_text(statement, 12, made->storage_class);
    nl_sqlite_bind_int(statement, 13, made->part_count);
    nl_sqlite_bind_int(statement, 14, made->data);
    return nl_sqlite_finish(statement, NULL);
}

nl_status nl_row_insert_part(nl_sqlite *database, int64_t data, const nl_part *part, const nl_incoming *bytes)
{
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "INSERT INTO s3_part(data,number,start,size,modified,etag,checksum,file,file_offset,bytes) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,0,?9)", &statement));
    nl_str file = nl_incoming_file(bytes);
    nl_sqlite_bind_int(statement, 1, data);
    nl_sqlite_bind_int(statement, 2, part->number);
    nl_sqlite_bind_int(statement, 3, (int64_t)part->start);
    nl_sqlite_bind_int(statement, 4, (int64_t)nl_incoming_size(bytes));
    nl_sqlite_bind_int(statement, 5, nl_now_micros());
    nl_sqlite_bind_text(statement, 6, or_empty(part->etag));
    nl_sqlite_bind_text(statement, 7, or_empty(part->checksum));
    nl_sqlite_bind_text(statement, 8, file.length ? file : (nl_str){0});
    if (file.length) nl_sqlite_bind_null(statement, 9);
    else nl_sqlite_bind_bytes(statement, 9, nl_incoming_inline(bytes));
    return nl_sqlite_finish(statement, NULL);
}

bool nl_text_above(nl_arena *arena, nl_str prefix, nl_str *above)
{
    while (prefix.length && (uint8_t)prefix.data[prefix.length - 1] == 0xff) prefix.length--;
    if (!prefix.length) return false;
    nl_str copy = nl_arena_str(arena, prefix);
    uint8_t *last = (uint8_t *)NL_UNCONST(copy.data) + copy.length - 1;
    ++*last;
    *above = copy;
    return true;
}
