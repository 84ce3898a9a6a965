/* storage/s3_conditional.c - objects that are created only if they are absent: If-None-Match: * on a PUT.
 *
 * Whoever commits by such a PUT relies on the server: one that does not know the condition takes every PUT, and of two
 * writers one would lose its commit without notice. So each bucket of a server that is not AWS's is tried once before the
 * first such PUT: a small object is put twice, and the second one must be refused.
 */
#include "base/log.h"
#include "base/uuid.h"
#include "storage/s3_private.h"

#define CONFLICT_TRIES 8

static const nl_property if_absent = {NL_STR_INIT("if-none-match"), NL_STR_INIT("*")};

static nl_status unknown(nl_status status)
{
    nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
    return status;
}

/* ---- Does the server keep the condition? ---- */

static bool is_proven(nl_s3_fs *fs, nl_str bucket)
{
    if (!fs->options.has_endpoint) return true; /* AWS */
    nl_mutex_lock(&fs->mutex);
    const nl_s3_bucket *known = fs->conditional_buckets;
    while (known && !nl_str_equal(known->name, bucket)) known = known->next;
    nl_mutex_unlock(&fs->mutex);
    return known != NULL;
}

static void note_proven(nl_s3_fs *fs, nl_str bucket)
{
    nl_mutex_lock(&fs->mutex);
    nl_s3_bucket *made = NL_NEW(fs->arena, nl_s3_bucket);
    *made = (nl_s3_bucket){fs->conditional_buckets, nl_arena_str(fs->arena, bucket)};
    fs->conditional_buckets = made;
    nl_mutex_unlock(&fs->mutex);
}

static nl_status not_kept(const nl_s3_fs *fs, nl_str bucket, const char *how)
{
    const nl_s3_options *options = &fs->options;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED,
                         "The S3 server at " NL_STR_FMT "://" NL_STR_FMT "%s" NL_STR_FMT " %s (If-None-Match on a PUT, bucket " NL_STR_FMT
                         "): of two writers that commit at once one would lose its commit without notice, so nothing was written. Use a server that keeps it, or a catalog "
                         "that does not commit by files: type rest, jdbc or glue.",
                         NL_STR_ARG(options->scheme), NL_STR_ARG(options->host), options->port.length ? ":" : "", NL_STR_ARG(options->port), how, NL_STR_ARG(bucket));
}

/* *code: of the answer. A repeated PUT that is refused has met its own first try, which is as good as an answer. */
static nl_status put_probe(nl_s3_fs *fs, nl_str path, const nl_s3_place *place, bool is_first)
{
    nl_http_response response = {0};
    NL_TRY(nl_s3_put(fs, path, place, (nl_bytes){(const uint8_t *)"nilas", 5}, &if_absent, &response));
    const bool is_refused = response.status == 412 || response.status == 409;
    nl_status status = NULL;
    if (response.status == 501)
        status = not_kept(fs, place->bucket, "does not offer conditional writes");
    else if (!nl_s3_is_good(&response) && !is_refused)
        status = nl_s3_refusal("Writing", path, &response, false);
    else if (!is_first && !is_refused)
        status = not_kept(fs, place->bucket, "ignores the condition of conditional writes");
    nl_http_response_fini(&response);
    return status;
}

static nl_status probe(nl_s3_fs *fs, nl_str near, nl_arena *arena)
{
    uint8_t bytes[16];
    char uuid[NL_UUID_TEXT_LENGTH];
    nl_s3_place place;
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, uuid);
    const nl_str path = nl_arena_f(arena, NL_STR_FMT "/.nilas-probe-%.*s", NL_STR_ARG(nl_path_parent(near)), (int)sizeof(uuid), uuid);
    NL_TRY(nl_s3_place_parse(path, &place));
    nl_status status = put_probe(fs, path, &place, true);
    if (!status) status = put_probe(fs, path, &place, false);
    nl_error *left = nl_s3_remove(&fs->base, path);
    if (left && !status) nl_log(NL_LOG_WARN, "an object that was written to try the server stays behind: %s", nl_error_message(left));
    nl_error_free(left);
    if (!status) note_proven(fs, place.bucket);
    return nl_note_if(status, NL_HERE, "trying whether the server keeps conditions of writes");
}

static nl_status check_server(nl_s3_fs *fs, nl_str path, nl_str bucket)
{
    if (is_proven(fs, bucket)) return NULL;
    nl_arena *arena = nl_arena_new(fs->memory);
    nl_status status = probe(fs, path, arena);
    nl_arena_free(arena);
    return status;
}

/* ---- Whose is it? ---- */

typedef enum outcome { OURS, ANOTHERS, NOBODYS } outcome;

/* Who wrote what is there now? */
static nl_status look(nl_s3_fs *fs, nl_str path, nl_bytes content, outcome *who)
{
    nl_buffer *there = NULL;
    nl_file_info info;
    *who = ANOTHERS;
    nl_status status = nl_fs_stat_file(&fs->base, path, &info);
    if (!status && info.size_bytes != content.length) return NULL;
    if (!status) status = nl_s3_read_all(&fs->base, path, NL_MAX(content.length, (size_t)1), &there);
    if (status && nl_error_condition(status) == NL_COND_PATH_NOT_FOUND) {
        *who = NOBODYS;
        nl_error_free(status);
        return NULL;
    }
    if (!status && there->size_bytes == content.length && (content.length == 0 || memcmp(there->data, content.data, content.length) == 0)) *who = OURS;
    nl_buffer_release(there);
    return status;
}

/* No answer came. What is there decides; when that cannot be known, nobody may clean up. */
static nl_status settle_lost(nl_s3_fs *fs, nl_str path, nl_bytes content, nl_status lost)
{
    outcome who = NOBODYS;
    nl_status status = look(fs, path, content, &who);
    if (status) return unknown(nl_first_error(lost, status));
    if (who == NOBODYS) return unknown(lost); /* it may still be on its way */
    nl_error_free(lost);
    return who == OURS ? NULL : NL_RAISE(NILAS_ALREADY_EXISTS, NL_P_STR("path", path));
}

/* Refused because something is there. An earlier try of ours may have made it; `refusal` is taken. */
static nl_status settle_refused(nl_s3_fs *fs, nl_str path, nl_bytes content, bool was_repeated, nl_status refusal)
{
    if (was_repeated) return settle_lost(fs, path, content, refusal);
    nl_error_free(refusal);
    return NL_RAISE(NILAS_ALREADY_EXISTS, NL_P_STR("path", path));
}

static nl_status create(nl_s3_fs *fs, nl_str path, const nl_s3_place *place, nl_bytes content)
{
    for (int tries = 1;; tries++) {
        nl_http_response response = {0};
        nl_status status = nl_s3_put(fs, path, place, content, &if_absent, &response);
        const bool was_sent = status && (nl_error_condition(status) == NL_COND_NILAS_IO_ERROR || nl_error_condition(status) == NL_COND_UNABLE_TO_ACQUIRE_MEMORY);
        if (status) return was_sent ? settle_lost(fs, path, content, status) : status;
        const int32_t code = response.status;
        const bool was_repeated = response.attempts > 1 || tries > 1;
        if (!nl_s3_is_good(&response)) status = nl_s3_refusal("Writing", path, &response, false);
        nl_http_response_fini(&response);
        if (!status) return NULL;
        if (code == 412) return settle_refused(fs, path, content, was_repeated, status);
        if (code == 409 && tries < CONFLICT_TRIES) { /* ConditionalRequestConflict: another one is at it just now */
            nl_error_free(status);
            continue;
        }
        /* The server may have done it all the same, now or at an earlier try. */
        return code >= 500 || was_repeated ? settle_lost(fs, path, content, status) : status;
    }
}

nl_status nl_s3_create_if_absent(nl_fs *self, nl_str path, nl_bytes content)
{
    nl_s3_fs *fs = NL_CONTAINER(self, nl_s3_fs, base);
    nl_s3_place place;
    NL_TRY(nl_s3_place_parse(path, &place));
    NL_TRY(nl_s3_check_object(&place, path));
    NL_TRY(check_server(fs, path, place.bucket));
    return create(fs, path, &place, content);
}
