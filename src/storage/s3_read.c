/* storage/s3_read.c - objects open for reading: ranged GETs over several connections, and ranges fetched ahead.
 *
 * What nl_file_prefetch asks for flies in the background; a read takes from it what it covers, waiting for it when it is
 * still on its way, and fetches the rest itself. A piece that has come goes to the cache when the file is one whose pieces
 * are kept (piece_cache.h); else it is dropped when it was read to its end, and the oldest one when there is too much. Every answer must belong to the object that was opened: If-Match with its ETag, and the size.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/number.h"
#include "storage/digest.h"
#include "storage/io_error.h"
#include "storage/ranges.h"
#include "storage/s3_private.h"

#define CHECKSUM_TRIES 3

typedef struct ahead { /* one request's bytes */
    struct ahead *next;
    uint64_t offset, length;
    uint64_t used_bytes;   /* guarded by the file's mutex, as what follows */
    uint32_t users;        /* threads that copy from it or wait for it */
    bool is_kept;          /* the cache has it, too */
    enum { STARTING, FLYING, AWAITED, HERE, LOST } state;
    nl_s3_call *call;      /* STARTING: none yet; FLYING: nobody's; AWAITED: the waiter's */
    nl_buffer *bytes;      /* owned */
} ahead;

typedef struct s3_file {
    nl_file base;
    nl_s3_fs *fs; /* counted */
    nl_s3_place place; /* into path */
    char *path;   /* owned */
    nl_mutex mutex;
    pthread_cond_t changed;
    char *etag;   /* owned; guarded by mutex; NULL: not known yet */
    char *version; /* owned; guarded by mutex; set once; the endpoint and the ETag */
    ahead *first; /* oldest first; guarded by mutex */
    uint64_t ahead_bytes;
    bool is_kept;    /* pieces go to the cache */
    uint64_t epoch;  /* of the cache, from before the first request */
    _Atomic(nl_kept_object *) object; /* counted; set once, when the version is known; NULL: nothing can be looked up yet */
} s3_file;

static s3_file *file_of(nl_file *self)
{
    return NL_CONTAINER(self, s3_file, base);
}

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

/* ---- One GET ---- */

typedef struct piece {
    uint64_t offset;
    size_t length;
    uint8_t *into;
    nl_s3_call *call; /* owned while it flies */
} piece;

static bool is_whole(const s3_file *file, uint64_t offset, uint64_t length)
{
    return offset == 0 && length == file->base.size_bytes;
}

static nl_status start_piece(s3_file *file, piece *one)
{
    nl_property headers[4];
    uint32_t count = 0;
    char range[64];
    char etag[256] = "";
    nl_mutex_lock(&file->mutex);
    if (file->etag) snprintf(etag, sizeof(etag), "%s", file->etag);
    nl_mutex_unlock(&file->mutex);
    if (etag[0]) headers[count++] = (nl_property){NL_STR("if-match"), nl_str_from(etag)};
    if (is_whole(file, one->offset, one->length)) {
        headers[count++] = (nl_property){NL_STR("x-amz-checksum-mode"), NL_STR("ENABLED")};
    } else {
        snprintf(range, sizeof(range), "bytes=%llu-%llu", (unsigned long long)one->offset, (unsigned long long)(one->offset + one->length - 1));
        headers[count++] = (nl_property){NL_STR("range"), nl_str_from(range)};
    }
    const nl_s3_ask ask = {
        .method = "GET",
        .fault = "s3.get",
        .bucket = file->place.bucket,
        .key = file->place.key,
        .headers = headers,
        .header_count = count,
        .into = one->into,
        .into_size = one->length,
        .uses_key = true,
    };
    return nl_s3_start(file->fs, &ask, &one->call);
}

/* "bytes 0-99/1234" must say what was asked for. */
static nl_status check_content_range(s3_file *file, const piece *one, nl_str text)
{
    char expected[64];
    snprintf(expected, sizeof(expected), "bytes %llu-%llu/", (unsigned long long)one->offset, (unsigned long long)(one->offset + one->length - 1));
    const size_t length = strlen(expected);
    if (!nl_str_starts_nocase(text, nl_str_from(expected)))
        return nl_raise_io("Reading", file->base.path, "the server answered with the range \"" NL_STR_FMT "\", not %s", NL_STR_ARG(nl_str_slice(text, 0, 100)), expected);
    int64_t size = 0;
    const nl_str total = nl_str_slice(text, length, text.length);
    if (nl_str_is(total, "*")) return NULL;
    if (!nl_parse_int64(total, &size) || (uint64_t)size != file->base.size_bytes)
        return nl_raise_io("Reading", file->base.path, "the object has " NL_STR_FMT " bytes, not %llu as when it was opened or as its metadata says", NL_STR_ARG(nl_str_slice(total, 0, 30)),
                           (unsigned long long)file->base.size_bytes);
    return NULL;
}

/* The first answer tells which object this is, when opening did not. */
static void learn_etag(s3_file *file, const nl_http_response *response)
{
    const nl_str etag = nl_http_header(response, "etag");
    if (etag.length == 0 || etag.length > 200) return;
    nl_mutex_lock(&file->mutex);
    const bool is_first = !file->etag;
    if (is_first) file->etag = strndup(etag.data, etag.length);
    nl_mutex_unlock(&file->mutex);
    if (!is_first || !file->is_kept) return;
    const nl_object_name name = nl_s3_object_name(file->fs, file->place.bucket, file->place.key);
    atomic_store(&file->object, nl_piece_cache_seen(file->fs->cache, &name, etag, file->base.size_bytes, file->fs->cache_reader, file->epoch));
}

static bool is_sum(nl_arena *arena, nl_str text, const uint8_t *expected, size_t length)
{
    nl_bytes decoded = {0};
    return nl_base64_decode(arena, text, &decoded) && decoded.length == length && memcmp(decoded.data, expected, length) == 0;
}

/* The checksums that an answer with the whole object has; those of multipart uploads ("…-3") speak of parts. */
static bool has_good_checksum(const nl_http_response *response, nl_bytes bytes)
{
    uint8_t sum[32];
    nl_str text = nl_http_header(response, "x-amz-checksum-crc32");
    if (nl_str_is_nocase(nl_http_header(response, "x-amz-checksum-type"), "COMPOSITE")) return true;
    if (text.length > 0 && nl_str_find_char(text, '-', 0) == NL_NOT_FOUND) {
        const uint32_t crc = __builtin_bswap32(nl_crc32(bytes.data, bytes.length, 0));
        if (!is_sum(response->arena, text, (const uint8_t *)&crc, sizeof(crc))) return false;
    }
    text = nl_http_header(response, "x-amz-checksum-crc32c");
    if (text.length > 0 && nl_str_find_char(text, '-', 0) == NL_NOT_FOUND) {
        const uint32_t crc = __builtin_bswap32(nl_crc32c(bytes, 0));
        if (!is_sum(response->arena, text, (const uint8_t *)&crc, sizeof(crc))) return false;
    }
    text = nl_http_header(response, "x-amz-checksum-crc64nvme");
    if (text.length > 0) {
        const uint64_t crc = __builtin_bswap64(nl_crc64nvme(bytes, 0));
        if (!is_sum(response->arena, text, (const uint8_t *)&crc, sizeof(crc))) return false;
    }
    text = nl_http_header(response, "x-amz-checksum-sha256");
    if (text.length > 0 && nl_str_find_char(text, '-', 0) == NL_NOT_FOUND) {
        nl_sha256(bytes, sum);
        if (!is_sum(response->arena, text, sum, sizeof(sum))) return false;
    }
    return true;
}

static nl_status judge_piece(s3_file *file, const piece *one, const nl_http_response *response, bool *is_damaged)
{
    *is_damaged = false;
    if (response->status == 412)
        return nl_raise_io("Reading", file->base.path, "the object was changed while it was read (its ETag is another one)");
    if (response->status == 416) return nl_raise_io("Reading", file->base.path, "the object is shorter than %llu bytes", (unsigned long long)(one->offset + one->length));
    if (!nl_s3_is_good(response)) return nl_s3_refusal("Reading", file->base.path, response, true);
    if (response->status == 206) NL_TRY(check_content_range(file, one, nl_http_header(response, "content-range")));
    if (response->status != 206 && !is_whole(file, one->offset, one->length))
        return nl_raise_io("Reading", file->base.path, "the server does not answer ranges (HTTP %d)", response->status);
    learn_etag(file, response);
    *is_damaged = is_whole(file, one->offset, one->length) && !has_good_checksum(response, (nl_bytes){one->into, one->length});
    return NULL;
}

static nl_status finish_piece(s3_file *file, piece *one)
{
    for (int tries = 1;; tries++) {
        nl_http_response response = {0};
        bool is_damaged = false;
        nl_status status = nl_s3_wait(one->call, &response);
        one->call = NULL;
        if (status) return nl_note_if(status, NL_HERE, "reading " NL_STR_FMT, NL_STR_ARG(file->base.path));
        status = judge_piece(file, one, &response, &is_damaged);
        nl_http_response_fini(&response);
        if (status || !is_damaged) return status;
        if (tries == CHECKSUM_TRIES) return nl_raise_io("Reading", file->base.path, "the bytes do not match the checksum that the server gives for them (%d attempts)", tries);
        NL_TRY(start_piece(file, one));
    }
}

/* Several pieces side by side. All are waited for, also when one fails: their memory is the caller's. */
static nl_status read_pieces(s3_file *file, piece *pieces, uint32_t count)
{
    nl_status status = NULL;
    uint32_t started = 0;
    while (started < count && !status) {
        status = start_piece(file, &pieces[started]);
        if (!status) started++;
    }
    for (uint32_t i = 0; i < started; i++) {
        if (status)
            nl_s3_abandon(pieces[i].call);
        else
            status = finish_piece(file, &pieces[i]);
    }
    return status;
}

static uint32_t pieces_of(uint64_t length)
{
    return (uint32_t)((length + NL_S3_PIECE_BYTES - 1) / NL_S3_PIECE_BYTES);
}

static void cut_pieces(uint64_t offset, uint64_t length, uint8_t *into, piece *pieces)
{
    for (uint32_t i = 0; length > 0; i++) {
        const size_t part = (size_t)NL_MIN(length, (uint64_t)NL_S3_PIECE_BYTES);
        pieces[i] = (piece){.offset = offset, .length = part, .into = into};
        offset += part;
        into += part;
        length -= part;
    }
}

static nl_status read_directly(s3_file *file, uint64_t offset, uint64_t length, uint8_t *into)
{
    piece one = {.offset = offset, .length = (size_t)length, .into = into};
    const uint32_t count = pieces_of(length);
    if (count <= 1) return read_pieces(file, &one, 1);
    piece *pieces = calloc(count, sizeof(*pieces));
    if (!pieces) return no_memory(count * sizeof(*pieces));
    cut_pieces(offset, length, into, pieces);
    nl_status status = read_pieces(file, pieces, count);
    free(pieces);
    return status;
}

/* ---- What is kept ---- */

static size_t take_kept(s3_file *file, uint64_t offset, size_t length, uint8_t *into)
{
    nl_kept_object *object = atomic_load(&file->object);
    nl_buffer *bytes = NULL;
    uint64_t start = 0;
    if (!object || !nl_kept_object_find(object, offset, length, &bytes, &start)) return 0;
    const size_t taken = (size_t)NL_MIN((uint64_t)length, start + bytes->size_bytes - offset);
    memcpy(into, bytes->data + (offset - start), taken);
    nl_buffer_release(bytes);
    return taken;
}

static bool keep(s3_file *file, uint64_t offset, nl_buffer *bytes)
{
    nl_kept_object *object = atomic_load(&file->object);
    return object && nl_kept_object_put(object, offset, bytes);
}

/* Reads what is neither kept nor on its way, and keeps it. */
static nl_status read_missing(s3_file *file, uint64_t offset, uint64_t length, uint8_t *into)
{
    nl_buffer *bytes = file->is_kept ? nl_piece_cache_buffer(file->fs->cache, (size_t)length) : NULL;
    if (!bytes) return read_directly(file, offset, length, into);
    nl_status status = read_directly(file, offset, length, bytes->data);
    if (!status) {
        memcpy(into, bytes->data, (size_t)length);
        (void)keep(file, offset, bytes);
    }
    nl_buffer_release(bytes);
    return status;
}

/* ---- What was fetched ahead ---- */

static void unlink_ahead(s3_file *file, ahead *gone)
{
    ahead **place = &file->first;
    while (*place != gone) place = &(*place)->next;
    *place = gone->next;
    file->ahead_bytes -= gone->length;
}

static void free_ahead(ahead *gone) /* without the lock: waits for what still flies */
{
    nl_s3_abandon(gone->call);
    nl_buffer_release(gone->bytes);
    free(gone);
}

static ahead *find_ahead(const s3_file *file, uint64_t offset)
{
    for (ahead *one = file->first; one; one = one->next)
        if (one->state != LOST && offset >= one->offset && offset - one->offset < one->length) return one;
    return NULL;
}

/* Where the next piece begins behind offset; limit when that comes first. */
static uint64_t next_piece(s3_file *file, uint64_t offset, uint64_t limit)
{
    nl_kept_object *object = atomic_load(&file->object);
    uint64_t next = object ? nl_kept_object_next(object, offset + 1, limit) : limit;
    nl_mutex_lock(&file->mutex);
    for (const ahead *one = file->first; one; one = one->next)
        if (one->state != LOST && one->offset > offset) next = NL_MIN(next, one->offset);
    nl_mutex_unlock(&file->mutex);
    return next;
}

/* Waits for a piece on its way. The mutex is held on entry and exit, not between. A failure only means that the reader
 * asks again by itself. */
static void await(s3_file *file, ahead *one)
{
    while (one->state == STARTING) pthread_cond_wait(&file->changed, &file->mutex);
    if (one->state == FLYING) {
        one->state = AWAITED;
        nl_mutex_unlock(&file->mutex);
        piece flown = {.offset = one->offset, .length = (size_t)one->length, .into = one->bytes->data, .call = one->call};
        nl_status status = finish_piece(file, &flown);
        nl_error_free(status);
        const bool is_kept = !status && keep(file, one->offset, one->bytes);
        nl_mutex_lock(&file->mutex);
        one->call = NULL;
        one->state = status ? LOST : HERE;
        one->is_kept = is_kept;
        pthread_cond_broadcast(&file->changed);
    }
    while (one->state == AWAITED) pthread_cond_wait(&file->changed, &file->mutex);
}

/* Copies what a piece has of the range's beginning. 0: nothing. */
static size_t take_ahead(s3_file *file, uint64_t offset, size_t length, uint8_t *into)
{
    size_t taken = 0;
    nl_mutex_lock(&file->mutex);
    ahead *one = find_ahead(file, offset);
    if (!one) {
        nl_mutex_unlock(&file->mutex);
        return 0;
    }
    one->users++;
    await(file, one);
    const bool is_here = one->state == HERE;
    nl_mutex_unlock(&file->mutex);
    if (is_here) {
        taken = (size_t)NL_MIN((uint64_t)length, one->offset + one->length - offset);
        memcpy(into, one->bytes->data + (offset - one->offset), taken);
    }
    nl_mutex_lock(&file->mutex);
    one->users--;
    one->used_bytes += taken;
    const bool is_small = is_whole(file, one->offset, one->length); /* read here and there, and again */
    const bool is_over = one->users == 0 && (!is_here || one->is_kept || (one->used_bytes >= one->length && !is_small));
    if (is_over) unlink_ahead(file, one);
    nl_mutex_unlock(&file->mutex);
    if (is_over) free_ahead(one);
    return taken;
}

static nl_status s3_read(nl_file *self, uint64_t offset, size_t length, uint8_t *into)
{
    s3_file *file = file_of(self);
    while (length > 0) {
        size_t done = take_kept(file, offset, length, into);
        if (done == 0) done = take_ahead(file, offset, length, into);
        if (done == 0) {
            done = (size_t)(next_piece(file, offset, offset + length) - offset);
            NL_TRY(read_missing(file, offset, done, into));
        }
        offset += done;
        into += done;
        length -= done;
    }
    return NULL;
}

static uint64_t covered_by_cache(s3_file *file, uint64_t offset)
{
    nl_kept_object *object = atomic_load(&file->object);
    return object ? nl_kept_object_covered(object, offset) : offset;
}

/* ---- Many ranges ---- */

typedef struct group_read {
    nl_buffer *bytes;
    bool is_ahead;
} group_read;

static nl_status read_groups(s3_file *file, const nl_range_group *groups, uint32_t count, group_read *reads, nl_memory *memory)
{
    uint32_t piece_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        nl_mutex_lock(&file->mutex);
        reads[i].is_ahead = find_ahead(file, groups[i].offset) != NULL;
        nl_mutex_unlock(&file->mutex);
        /* A single one may go through the cache; several are better fetched side by side. */
        reads[i].is_ahead = reads[i].is_ahead || (file->is_kept && count == 1) || covered_by_cache(file, groups[i].offset) > groups[i].offset;
        NL_TRY(nl_buffer_new(memory, (size_t)groups[i].length, false, &reads[i].bytes));
        if (!reads[i].is_ahead) piece_count += pieces_of(groups[i].length);
    }
    piece *pieces = calloc(piece_count + 1u, sizeof(*pieces));
    if (!pieces) return no_memory(piece_count * sizeof(*pieces));
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (reads[i].is_ahead) continue;
        cut_pieces(groups[i].offset, groups[i].length, reads[i].bytes->data, pieces + at);
        at += pieces_of(groups[i].length);
    }
    nl_status status = read_pieces(file, pieces, at);
    free(pieces);
    for (uint32_t i = 0; i < count && !status; i++)
        if (reads[i].is_ahead) status = s3_read(&file->base, groups[i].offset, (size_t)groups[i].length, reads[i].bytes->data);
    return status;
}

static nl_status s3_read_ranges(nl_file *self, const nl_range *ranges, uint32_t range_count, nl_memory *memory, nl_buffer **buffers)
{
    if (range_count == 0) return NULL;
    uint32_t *order = calloc(range_count, sizeof(*order));
    nl_range_group *groups = calloc(range_count, sizeof(*groups));
    group_read *reads = calloc(range_count, sizeof(*reads));
    nl_status status = order && groups && reads ? NULL : no_memory(range_count * sizeof(*groups));
    uint32_t group_count = 0;
    uint32_t done = 0;
    if (!status) {
        group_count = nl_ranges_group(ranges, range_count, order, groups);
        status = read_groups(file_of(self), groups, group_count, reads, memory);
    }
    while (done < group_count && !status) {
        status = nl_ranges_cut(reads[done].bytes, &groups[done], ranges, order, buffers);
        reads[done].bytes = NULL; /* taken, also on failure */
        if (!status) done++;
    }
    if (status) {
        for (uint32_t i = 0; i < done; i++)
            for (uint32_t j = 0; j < groups[i].count; j++) nl_buffer_release(buffers[order[groups[i].first + j]]);
        for (uint32_t i = 0; i < group_count; i++) nl_buffer_release(reads[i].bytes);
    }
    free(reads);
    free(groups);
    free(order);
    return status;
}

/* ---- Fetching ahead ---- */

/* Oldest pieces nobody is at make room for new ones. */
static ahead *evict(s3_file *file, uint64_t more)
{
    ahead *gone = NULL;
    for (ahead *one = file->first, *next = NULL; one && file->ahead_bytes + more > NL_S3_AHEAD_BYTES; one = next) {
        next = one->next;
        if (one->users > 0) continue;
        unlink_ahead(file, one);
        one->next = gone;
        gone = one;
    }
    return gone;
}

/* Links a piece in unless somebody was faster. NULL: there is nothing to be done. */
static ahead *reserve_ahead(s3_file *file, uint64_t offset, uint64_t length)
{
    ahead *made = calloc(1, sizeof(*made));
    ahead *gone = NULL;
    if (!made) return NULL;
    *made = (ahead){.offset = offset, .length = length, .state = STARTING, .users = 1};
    nl_mutex_lock(&file->mutex);
    const bool is_there = find_ahead(file, offset) != NULL;
    if (!is_there) {
        gone = evict(file, length);
        ahead **last = &file->first;
        while (*last) last = &(*last)->next;
        *last = made;
        file->ahead_bytes += length;
    }
    nl_mutex_unlock(&file->mutex);
    while (gone) {
        ahead *next = gone->next;
        free_ahead(gone);
        gone = next;
    }
    if (!is_there) return made;
    free(made);
    return NULL;
}

/* The request is on its way, or could not be sent: a hint only, the read will tell what is wrong. */
static void settle_ahead(s3_file *file, ahead *made, nl_s3_call *call, nl_buffer *bytes)
{
    nl_mutex_lock(&file->mutex);
    made->call = call;
    made->bytes = bytes;
    made->state = call ? FLYING : LOST;
    made->users--;
    const bool is_over = !call && made->users == 0;
    if (is_over) unlink_ahead(file, made);
    pthread_cond_broadcast(&file->changed);
    nl_mutex_unlock(&file->mutex);
    if (is_over) free_ahead(made);
}

static void add_ahead(s3_file *file, uint64_t offset, uint64_t length)
{
    if (!nl_memory_has_room(file->fs->memory, (size_t)length)) return;
    ahead *made = reserve_ahead(file, offset, length);
    nl_buffer *bytes = NULL;
    piece one = {.offset = offset, .length = (size_t)length};
    if (!made) return;
    if (file->is_kept) bytes = nl_piece_cache_buffer(file->fs->cache, (size_t)length);
    nl_status status = bytes ? NULL : nl_buffer_new(file->fs->memory, (size_t)length, false, &bytes);
    if (!status) {
        one.into = bytes->data;
        status = start_piece(file, &one);
    }
    if (status) {
        nl_error_free(status);
        nl_buffer_release(bytes);
        bytes = NULL;
        one.call = NULL;
    }
    settle_ahead(file, made, one.call, bytes);
}

/* Where what is here or on its way already ends, seen from offset on. Readers ask for blocks that overlap by part of a page: without
 * this a quarter of a column would come twice. */
static uint64_t covered_until(s3_file *file, uint64_t offset)
{
    for (;;) {
        nl_mutex_lock(&file->mutex);
        for (const ahead *one = find_ahead(file, offset); one; one = find_ahead(file, offset)) offset = one->offset + one->length;
        nl_mutex_unlock(&file->mutex);
        const uint64_t end = covered_by_cache(file, offset);
        if (end == offset) return offset;
        offset = end;
    }
}

static void s3_prefetch(nl_file *self, const nl_range *ranges, uint32_t range_count)
{
    enum { RANGES_MAX = 256 };
    s3_file *file = file_of(self);
    nl_range wanted[RANGES_MAX];
    nl_range_group groups[RANGES_MAX];
    uint32_t order[RANGES_MAX];
    uint32_t count = 0;
    uint64_t total = 0;
    for (uint32_t i = 0; i < range_count && count < RANGES_MAX; i++) {
        const nl_range *range = &ranges[i];
        if (range->length == 0 || range->offset > self->size_bytes || range->length > self->size_bytes - range->offset) continue;
        const uint64_t end = range->offset + range->length;
        const uint64_t start = covered_until(file, range->offset);
        if (start < end) wanted[count++] = (nl_range){start, end - start};
    }
    const uint32_t group_count = nl_ranges_group(wanted, count, order, groups);
    for (uint32_t i = 0; i < group_count; i++) {
        for (uint64_t done = 0; done < groups[i].length; done += NL_S3_PIECE_BYTES) {
            const uint64_t length = NL_MIN(groups[i].length - done, (uint64_t)NL_S3_PIECE_BYTES);
            total += length;
            if (total > NL_S3_AHEAD_BYTES) return; /* more would push out what was just asked for */
            add_ahead(file, groups[i].offset + done, length);
        }
    }
}

/* Keeps the piece being read and the one after it on their way. */
static void s3_stream(nl_file *self, uint64_t offset, uint64_t end)
{
    s3_file *file = file_of(self);
    const uint64_t wanted_end = NL_MIN(end, offset + NL_S3_STREAM_BYTES);
    for (uint64_t at = covered_until(file, offset); at < wanted_end; at = covered_until(file, at)) {
        const uint64_t length = next_piece(file, at, NL_MIN(end, at + NL_S3_STREAM_BYTES)) - at;
        add_ahead(file, at, length);
        if (covered_until(file, at) == at) return; /* no room */
    }
}

/* ---- Opening ---- */

static void s3_close(nl_file *self)
{
    s3_file *file = file_of(self);
    while (file->first) {
        ahead *gone = file->first;
        file->first = gone->next;
        free_ahead(gone);
    }
    nl_kept_object_release(atomic_load(&file->object));
    nl_mutex_fini(&file->mutex);
    pthread_cond_destroy(&file->changed);
    free(file->etag);
    free(file->version);
    free(file->path);
    nl_fs_release(&file->fs->base);
    free(file);
}

/* Of data that may be kept only, whose ETag the server told or is believed to stand by. */
static nl_str s3_version(nl_file *self)
{
    s3_file *file = file_of(self);
    if (!atomic_load(&file->object)) return (nl_str){0};
    const nl_object_name name = nl_s3_object_name(file->fs, file->place.bucket, file->place.key);
    nl_mutex_lock(&file->mutex);
    if (!file->version && file->etag) {
        const size_t etag_length = strlen(file->etag);
        file->version = malloc(name.place.length + etag_length + 2);
        if (file->version) {
            memcpy(file->version, name.place.data, name.place.length);
            file->version[name.place.length] = ' ';
            memcpy(file->version + name.place.length + 1, file->etag, etag_length + 1);
        }
    }
    const nl_str version = file->version ? nl_str_from(file->version) : (nl_str){0};
    nl_mutex_unlock(&file->mutex);
    return version;
}

static const nl_file_ops s3_file_ops = {
    .read = s3_read, .read_ranges = s3_read_ranges, .prefetch = s3_prefetch, .stream = s3_stream, .version = s3_version, .close = s3_close};

nl_status nl_s3_open_sized(nl_fs *self, nl_str path, uint64_t size_bytes, nl_file **file)
{
    nl_s3_place place;
    NL_TRY(nl_s3_place_parse(path, &place));
    s3_file *made = calloc(1, sizeof(*made));
    char *copy = strndup(path.data, path.length);
    if (!made || !copy) {
        free(made);
        free(copy);
        return no_memory(sizeof(*made));
    }
    made->path = copy;
    made->base = (nl_file){.ops = &s3_file_ops, .path = {copy, path.length}, .size_bytes = size_bytes};
    made->fs = NL_CONTAINER(nl_fs_retain(self), nl_s3_fs, base);
    nl_mutex_init(&made->mutex);
    pthread_cond_init(&made->changed, NULL);
    nl_error_free(nl_s3_place_parse(made->base.path, &made->place)); /* it has passed above */
    *file = &made->base;
    return NULL;
}

/* From now on what is read is kept. Before the first request: what this process changes afterwards is noticed. */
static void begin_keeping(s3_file *file, bool never_changes)
{
    nl_piece_cache *cache = file->fs->cache;
    const nl_object_name name = nl_s3_object_name(file->fs, file->place.bucket, file->place.key);
    if (!cache) return;
    file->is_kept = true;
    file->epoch = nl_piece_cache_epoch(cache, &name);
    nl_kept_object *object = never_changes ? nl_piece_cache_trusted(cache, &name, file->base.size_bytes, file->fs->cache_reader) : NULL;
    if (!object) return;
    const nl_str etag = nl_kept_object_etag(object);
    file->etag = strndup(etag.data, etag.length);
    if (file->etag)
        atomic_store(&file->object, object);
    else
        nl_kept_object_release(object);
}

nl_status nl_s3_open_data(nl_fs *self, nl_str path, uint64_t size_bytes, bool never_changes, nl_file **file)
{
    NL_TRY(nl_s3_open_sized(self, path, size_bytes, file));
    begin_keeping(file_of(*file), never_changes);
    return NULL;
}

static nl_status read_length(nl_str path, const nl_http_response *response, uint64_t *size_bytes)
{
    int64_t length = -1;
    if (!nl_parse_int64(nl_http_header(response, "content-length"), &length) || length < 0)
        return nl_raise_io("Opening", path, "the server does not tell the object's length");
    *size_bytes = (uint64_t)length;
    return NULL;
}

nl_status nl_s3_open(nl_fs *self, nl_str path, nl_file **file)
{
    nl_s3_place place;
    nl_http_response response = {0};
    uint64_t size_bytes = 0;
    nl_file *opened = NULL;
    NL_TRY(nl_s3_place_parse(path, &place));
    nl_s3_fs *fs = NL_CONTAINER(self, nl_s3_fs, base);
    const nl_object_name name = nl_s3_object_name(fs, place.bucket, place.key);
    const uint64_t epoch = nl_piece_cache_epoch(fs->cache, &name);
    const nl_s3_ask ask = {.method = "HEAD", .fault = "s3.head", .bucket = place.bucket, .key = place.key, .uses_key = true};
    NL_TRY(nl_s3_send(fs, &ask, &response));
    nl_status status = nl_s3_is_good(&response) ? read_length(path, &response, &size_bytes) : nl_s3_refusal("Opening", path, &response, true);
    if (!status) status = nl_s3_open_sized(self, path, size_bytes, &opened);
    if (!status) {
        file_of(opened)->is_kept = fs->cache != NULL;
        file_of(opened)->epoch = epoch;
        learn_etag(file_of(opened), &response);
        *file = opened;
    }
    nl_http_response_fini(&response);
    return status;
}

/* "bytes 0-99/1234" → 1234, when the range is the first `length` bytes. */
static bool read_total(nl_str text, size_t length, uint64_t *size_bytes)
{
    char expected[64];
    int64_t total = 0;
    snprintf(expected, sizeof(expected), "bytes 0-%zu/", length - 1);
    if (length == 0 || !nl_str_starts_nocase(text, nl_str_from(expected))) return false;
    if (!nl_parse_int64(nl_str_slice(text, strlen(expected), text.length), &total) || total < (int64_t)length) return false;
    *size_bytes = (uint64_t)total;
    return true;
}

/* Keeps what opening has brought as if it had been asked for ahead. */
static nl_status keep_start(s3_file *file, nl_buffer *bytes)
{
    ahead *made = calloc(1, sizeof(*made));
    if (!made) return no_memory(sizeof(*made));
    *made = (ahead){.length = bytes->size_bytes, .state = HERE, .bytes = nl_buffer_retain(bytes)};
    file->first = made;
    file->ahead_bytes = made->length;
    return NULL;
}

/* *file stays NULL when the answer is of no use: then the object is opened in the plain way, which tells what is wrong. */
static nl_status open_by_answer(nl_fs *self, nl_str path, const nl_http_response *response, nl_file **file)
{
    const nl_bytes body = nl_s3_body(response);
    uint64_t size_bytes = body.length;
    nl_file *opened = NULL;
    if (body.length == 0 || (response->status != 200 && response->status != 206)) return NULL;
    if (response->status == 206 && !read_total(nl_http_header(response, "content-range"), body.length, &size_bytes)) return NULL;
    if (size_bytes == body.length && !has_good_checksum(response, body)) return NULL;
    NL_TRY(nl_s3_open_sized(self, path, size_bytes, &opened));
    learn_etag(file_of(opened), response);
    nl_status status = keep_start(file_of(opened), response->body);
    if (status)
        nl_file_close(opened);
    else
        *file = opened;
    return status;
}

nl_status nl_s3_open_start(nl_fs *self, nl_str path, size_t start_bytes, nl_file **file)
{
    nl_s3_place place;
    nl_http_response response = {0};
    nl_file *opened = NULL;
    char range[64];
    NL_TRY(nl_s3_place_parse(path, &place));
    snprintf(range, sizeof(range), "bytes=0-%zu", start_bytes - 1);
    const nl_property headers[] = {{NL_STR_INIT("range"), nl_str_from(range)}, {NL_STR_INIT("x-amz-checksum-mode"), NL_STR_INIT("ENABLED")}};
    const nl_s3_ask ask = {.method = "GET", .fault = "s3.get", .bucket = place.bucket, .key = place.key, .headers = headers, .header_count = 2, .body_max = NL_MAX(start_bytes, (size_t)64 << 10), .uses_key = true};
    NL_TRY_NOTE(nl_s3_send(NL_CONTAINER(self, nl_s3_fs, base), &ask, &response), "opening " NL_STR_FMT, NL_STR_ARG(path));
    nl_status status = response.status == 404 ? nl_s3_refusal("Opening", path, &response, true) : open_by_answer(self, path, &response, &opened);
    nl_http_response_fini(&response);
    if (!status && !opened) return nl_s3_open(self, path, file);
    if (!status) *file = opened;
    return status;
}

/* One request for what is small: metadata. */
nl_status nl_s3_read_all(nl_fs *self, nl_str path, size_t length_max, nl_buffer **content)
{
    nl_s3_place place;
    NL_TRY(nl_s3_place_parse(path, &place));
    const nl_property headers[] = {{NL_STR_INIT("x-amz-checksum-mode"), NL_STR_INIT("ENABLED")}};
    const nl_s3_ask ask = {.method = "GET", .fault = "s3.get", .bucket = place.bucket, .key = place.key, .headers = headers, .header_count = 1, .body_max = length_max, .uses_key = true};
    for (int tries = 1;; tries++) {
        nl_http_response response = {0};
        NL_TRY_NOTE(nl_s3_send(NL_CONTAINER(self, nl_s3_fs, base), &ask, &response), "reading " NL_STR_FMT, NL_STR_ARG(path));
        nl_status status = response.status == 200 ? NULL : nl_s3_refusal("Reading", path, &response, true);
        const bool is_good = status || has_good_checksum(&response, nl_s3_body(&response));
        if (!status && is_good && !response.body) status = nl_buffer_new(NULL, 0, false, &response.body);
        if (!status && is_good) *content = nl_buffer_retain(response.body);
        nl_http_response_fini(&response);
        if (status || is_good) return status;
        if (tries == CHECKSUM_TRIES) return nl_raise_io("Reading", path, "the bytes do not match the checksum that the server gives for them (%d attempts)", tries);
    }
}
