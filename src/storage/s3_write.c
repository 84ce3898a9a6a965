/* storage/s3_write.c - objects being written: one PUT, or a multipart upload whose parts go out while more is written.
 * Nothing is visible before the PUT or the CompleteMultipartUpload has been answered. Also copies.
 *
 * Bytes are gathered in one buffer that grows up to the threshold; then parts of s3.multipart.size leave it. A part's
 * buffer lives until its answer. When memory is refused, parts leave earlier (never below what S3 allows), and one waits
 * for those in flight.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/number.h"
#include "storage/digest.h"
#include "storage/io_error.h"
#include "storage/s3_private.h"
#include "storage/xml.h"

#define BUFFER_FIRST_BYTES (256u << 10)
#define HIDDEN_ERROR_TRIES 4

typedef struct part {
    struct part *next; /* in flight, oldest first */
    uint32_t number;
    nl_buffer *bytes;  /* counted; borrowed by the request */
    nl_s3_call *call;
    nl_str checksum;   /* base64 of its CRC32 */
} part;

typedef struct sent_part { /* what CompleteMultipartUpload lists */
    nl_str etag, checksum;
} sent_part;

typedef struct s3_output {
    nl_output base;
    nl_s3_fs *fs;     /* counted */
    nl_arena *arena;
    nl_str path;
    nl_s3_place place;
    nl_buffer *buffer; /* owned; size_bytes is its capacity; NULL: none yet */
    size_t used;
    nl_str upload_id;  /* empty: no upload has begun */
    part *first, *last;
    uint32_t flying_count;
    uint32_t part_count;
    nl_list sent;      /* sent_part *; by number - 1 */
    bool has_failed;
} s3_output;

static s3_output *output_of(nl_output *self)
{
    return NL_CONTAINER(self, s3_output, base);
}

static nl_str crc_text(nl_arena *arena, nl_bytes bytes)
{
    const uint32_t crc = __builtin_bswap32(nl_crc32(bytes.data, bytes.length, 0));
    return nl_base64_encode(arena, (nl_bytes){(const uint8_t *)&crc, sizeof(crc)});
}

/* ---- Parts ---- */

static nl_status begin_upload(s3_output *output)
{
    const nl_s3_options *options = &output->fs->options;
    nl_property *headers = NL_NEW_ARRAY(output->arena, nl_property, options->write_header_count + 1);
    uint32_t count = 0;
    nl_http_response response = {0};
    const nl_xml *root = NULL;
    for (uint32_t i = 0; i < options->write_header_count; i++) headers[count++] = options->write_headers[i];
    headers[count++] = (nl_property){NL_STR("x-amz-checksum-algorithm"), NL_STR("CRC32")};
    const nl_s3_ask ask = {.method = "POST", .fault = "s3.create_upload", .bucket = output->place.bucket, .key = output->place.key, .query = NL_STR("uploads="),
                           .headers = headers, .header_count = count, .uses_key = true, .is_idempotent = true}; /* a second upload is only waste */
    NL_TRY_NOTE(nl_s3_send(output->fs, &ask, &response), "beginning an upload to " NL_STR_FMT, NL_STR_ARG(output->path));
    nl_status status = nl_s3_is_good(&response) ? nl_xml_parse(response.arena, nl_s3_body(&response), &root) : nl_s3_refusal("Writing", output->path, &response, false);
    if (!status) {
        output->upload_id = nl_arena_str(output->arena, nl_str_trim(nl_xml_text(root, "UploadId")));
        if (output->upload_id.length == 0) status = nl_raise_io("Writing", output->path, "the server gives no id for the upload");
    }
    nl_http_response_fini(&response);
    return status;
}

static nl_status finish_oldest(s3_output *output)
{
    part *one = output->first;
    nl_http_response response = {0};
    output->first = one->next;
    if (!output->first) output->last = NULL;
    output->flying_count--;
    nl_status status = nl_note_if(nl_s3_wait(one->call, &response), NL_HERE, "uploading part %u of " NL_STR_FMT, one->number, NL_STR_ARG(output->path));
    if (!status) {
        const nl_str etag = nl_http_header(&response, "etag");
        if (!nl_s3_is_good(&response))
            status = nl_s3_refusal("Writing", output->path, &response, false);
        else if (etag.length == 0)
            status = nl_raise_io("Writing", output->path, "the server gives no ETag for part %u", one->number);
        else
            *(sent_part *)output->sent.items[one->number - 1] = (sent_part){nl_arena_str(output->arena, etag), one->checksum};
        nl_http_response_fini(&response);
    }
    nl_buffer_release(one->bytes);
    return status;
}

static nl_status finish_all(s3_output *output)
{
    nl_status status = NULL;
    while (output->first && !status) status = finish_oldest(output);
    return status;
}

/* Sends `length` bytes of the buffer from `offset` on as the next part. */
static nl_status send_part(s3_output *output, size_t offset, size_t length)
{
    if (output->upload_id.length == 0) NL_TRY(begin_upload(output));
    if (output->part_count == NL_S3_PARTS_MAX)
        return nl_raise_io("Writing", output->path, "more than %u parts: set s3.multipart.size higher", NL_S3_PARTS_MAX);
    while (output->flying_count >= output->fs->options.thread_count) NL_TRY(finish_oldest(output));
    const nl_bytes bytes = {output->buffer->data + offset, length};
    part *one = NL_NEW(output->arena, part);
    one->number = ++output->part_count;
    one->checksum = crc_text(output->arena, bytes);
    nl_list_add(output->arena, &output->sent, NL_NEW(output->arena, sent_part));
    NL_TRY(nl_arena_check(output->arena));
    const nl_s3_ask ask = {
        .method = "PUT",
        .fault = "s3.upload_part",
        .bucket = output->place.bucket,
        .key = output->place.key,
        .query = nl_arena_f(output->arena, "partNumber=%u&uploadId=" NL_STR_FMT, one->number, NL_STR_ARG(nl_url_encode(output->arena, output->upload_id, false))),
        .body = bytes,
        .uses_key = true,
        .adds_checksum = true,
    };
    NL_TRY(nl_s3_start(output->fs, &ask, &one->call));
    one->bytes = nl_buffer_retain(output->buffer);
    if (output->last)
        output->last->next = one;
    else
        output->first = one;
    output->last = one;
    output->flying_count++;
    return NULL;
}

/* Sends what is gathered, in parts of the wanted size; what does not fill one stays, in a buffer of its own, unless all is
 * to go. */
static nl_status ship(s3_output *output, bool all)
{
    const size_t part_bytes = (size_t)output->fs->options.part_bytes;
    size_t sent = 0;
    while (output->used - sent >= part_bytes) {
        NL_TRY(send_part(output, sent, part_bytes));
        sent += part_bytes;
    }
    const size_t left = output->used - sent;
    nl_buffer *rest = NULL;
    if (all && left > 0)
        NL_TRY(send_part(output, sent, left));
    else if (left > 0) {
        NL_TRY(nl_buffer_new(output->fs->memory, left, false, &rest));
        memcpy(rest->data, output->buffer->data + sent, left);
    }
    nl_buffer_release(output->buffer);
    output->buffer = rest;
    output->used = rest ? left : 0;
    return NULL;
}

/* ---- Gathering ---- */

static nl_status grow(s3_output *output, size_t capacity)
{
    nl_buffer *larger = NULL;
    NL_TRY(nl_buffer_new(output->fs->memory, capacity, false, &larger));
    if (output->used > 0) memcpy(larger->data, output->buffer->data, output->used);
    nl_buffer_release(output->buffer);
    output->buffer = larger;
    return NULL;
}

static nl_status make_room(s3_output *output)
{
    const bool has_begun = output->upload_id.length > 0;
    const size_t limit = (size_t)(has_begun ? output->fs->options.part_bytes : output->fs->options.threshold_bytes);
    const size_t capacity = output->buffer ? output->buffer->size_bytes : 0;
    if (output->used < capacity) return NULL;
    if (output->used >= limit) {
        NL_TRY(ship(output, false));
        return make_room(output); /* once: what is left is less than a part */
    }
    nl_status status = grow(output, NL_MIN(limit, NL_MAX(capacity * 2, (size_t)BUFFER_FIRST_BYTES)));
    if (!status || nl_error_condition(status) != NL_COND_UNABLE_TO_ACQUIRE_MEMORY) return status;
    if (output->used >= NL_S3_PART_BYTES_MIN) { /* a smaller part, then an empty buffer */
        nl_error_free(status);
        NL_TRY(ship(output, true));
        NL_TRY(finish_all(output));
        return grow(output, BUFFER_FIRST_BYTES);
    }
    if (!output->first) return status;
    nl_error_free(status);
    NL_TRY(finish_all(output));
    return grow(output, NL_MAX(capacity * 2, (size_t)BUFFER_FIRST_BYTES));
}

static nl_status gather(s3_output *output, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        NL_TRY(make_room(output));
        const size_t room = NL_MIN(length, output->buffer->size_bytes - output->used);
        memcpy(output->buffer->data + output->used, bytes, room);
        output->used += room;
        bytes += room;
        length -= room;
    }
    return NULL;
}

static nl_status s3_write(nl_output *self, const void *bytes, size_t length)
{
    s3_output *output = output_of(self);
    if (output->has_failed) return nl_raise_io("Writing", output->path, "an earlier write failed");
    nl_status status = gather(output, bytes, length);
    output->has_failed = status != NULL;
    return status;
}

/* ---- The end ---- */

static void free_output(s3_output *output)
{
    for (part *one = output->first; one; one = one->next) {
        nl_s3_abandon(one->call);
        nl_buffer_release(one->bytes);
    }
    output->first = NULL;
    if (output->upload_id.length > 0) { /* not completed: the parts would be paid for, for ever */
        nl_http_response response = {0};
        const nl_s3_ask ask = {.method = "DELETE", .fault = "s3.abort", .bucket = output->place.bucket, .key = output->place.key, .is_idempotent = true,
                               .query = nl_arena_f(output->arena, "uploadId=" NL_STR_FMT, NL_STR_ARG(nl_url_encode(output->arena, output->upload_id, false)))};
        nl_status status = nl_s3_send(output->fs, &ask, &response);
        if (!status) nl_http_response_fini(&response);
        nl_error_free(status);
    }
    nl_buffer_release(output->buffer);
    nl_fs_release(&output->fs->base);
    nl_arena_free(output->arena);
    free(output);
}

nl_status nl_s3_put(nl_s3_fs *fs, nl_str path, const nl_s3_place *place, nl_bytes content, const nl_property *condition, nl_http_response *response)
{
    nl_property headers[16];
    uint32_t count = 0;
    for (uint32_t i = 0; i < fs->options.write_header_count; i++) headers[count++] = fs->options.write_headers[i];
    if (condition) headers[count++] = *condition;
    const nl_s3_ask ask = {.method = "PUT", .fault = "s3.put", .bucket = place->bucket, .key = place->key, .headers = headers, .header_count = count,
                           .body = {content.data ? content.data : (const uint8_t *)"", content.length}, .uses_key = true, .adds_checksum = true};
    return nl_note_if(nl_s3_send(fs, &ask, response), NL_HERE, "writing " NL_STR_FMT, NL_STR_ARG(path));
}

static nl_status put_buffer(s3_output *output)
{
    nl_http_response response = {0};
    const nl_bytes content = {output->buffer ? output->buffer->data : NULL, output->used};
    NL_TRY(nl_s3_put(output->fs, output->path, &output->place, content, NULL, &response));
    nl_status status = nl_s3_is_good(&response) ? NULL : nl_s3_refusal("Writing", output->path, &response, false);
    nl_http_response_fini(&response);
    return status;
}

static nl_str completion_of(s3_output *output)
{
    nl_builder body;
    nl_builder_init(&body, 8u << 20);
    nl_append_c(&body, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (uint32_t i = 0; i < output->part_count; i++) {
        const sent_part *one = output->sent.items[i];
        nl_append_f(&body, "<Part><PartNumber>%u</PartNumber>", i + 1);
        nl_xml_append_element(&body, "ETag", one->etag);
        nl_xml_append_element(&body, "ChecksumCRC32", one->checksum);
        nl_append_c(&body, "</Part>");
    }
    nl_append_c(&body, "</CompleteMultipartUpload>");
    const nl_str text = nl_arena_str(output->arena, nl_builder_str(&body));
    nl_builder_fini(&body);
    return text;
}

/* The object is there with the size that was written: an earlier try was carried out although its answer was lost. */
static nl_status is_there(s3_output *output, bool *is_ours)
{
    nl_http_response response = {0};
    int64_t length = -1;
    const nl_s3_ask ask = {.method = "HEAD", .fault = "s3.head", .bucket = output->place.bucket, .key = output->place.key, .uses_key = true};
    NL_TRY(nl_s3_send(output->fs, &ask, &response));
    char suffix[16];
    snprintf(suffix, sizeof(suffix), "-%u\"", output->part_count);
    *is_ours = response.status == 200 && nl_parse_int64(nl_http_header(&response, "content-length"), &length) && (uint64_t)length == output->base.position &&
               nl_str_ends(nl_http_header(&response, "etag"), nl_str_from(suffix));
    nl_http_response_fini(&response);
    return NULL;
}

static nl_status complete_once(s3_output *output, const nl_s3_ask *ask, bool *is_done, bool *may_retry)
{
    nl_http_response response = {0};
    *is_done = *may_retry = false;
    NL_TRY_NOTE(nl_s3_send(output->fs, ask, &response), "completing the upload to " NL_STR_FMT, NL_STR_ARG(output->path));
    nl_status status = NULL;
    if (response.status == 404) status = is_there(output, is_done); /* NoSuchUpload */
    if (!status && !*is_done && !nl_s3_is_good(&response)) status = nl_s3_refusal("Writing", output->path, &response, false);
    if (!status && !*is_done) {
        const nl_str hidden = nl_s3_hidden_error(&response);
        *is_done = hidden.length == 0;
        *may_retry = nl_str_is(hidden, "InternalError") || nl_str_is(hidden, "SlowDown") || nl_str_is(hidden, "ServiceUnavailable");
        if (!*is_done) status = nl_s3_refusal("Writing", output->path, &response, false);
    }
    nl_http_response_fini(&response);
    return status;
}

static nl_status complete(s3_output *output)
{
    const nl_str body = completion_of(output);
    const nl_s3_ask ask = {
        .method = "POST",
        .fault = "s3.complete",
        .bucket = output->place.bucket,
        .key = output->place.key,
        .query = nl_arena_f(output->arena, "uploadId=" NL_STR_FMT, NL_STR_ARG(nl_url_encode(output->arena, output->upload_id, false))),
        .body = {(const uint8_t *)body.data, body.length},
        .uses_key = true,
        .is_idempotent = true, /* a second one finds no upload, which is_there explains */
    };
    NL_TRY(nl_arena_check(output->arena));
    for (int tries = 1;; tries++) {
        bool is_done = false;
        bool may_retry = false;
        nl_status status = complete_once(output, &ask, &is_done, &may_retry);
        if (!status) output->upload_id = (nl_str){0};
        if (!status || !may_retry || tries == HIDDEN_ERROR_TRIES) return status;
        nl_error_free(status);
    }
}

static nl_status publish(s3_output *output)
{
    if (output->has_failed) return nl_raise_io("Closing", output->path, "an earlier write failed");
    if (output->upload_id.length == 0 && output->used < output->fs->options.threshold_bytes) return put_buffer(output);
    NL_TRY(ship(output, true));
    NL_TRY(finish_all(output));
    return complete(output);
}

static nl_status s3_close_output(nl_output *self)
{
    s3_output *output = output_of(self);
    nl_status status = publish(output);
    free_output(output);
    return status;
}

static void s3_abort(nl_output *self)
{
    free_output(output_of(self));
}

static const nl_output_ops s3_output_ops = {.write = s3_write, .close = s3_close_output, .abort = s3_abort};

nl_status nl_s3_check_object(const nl_s3_place *place, nl_str path)
{
    if (place->key.length > 0 && place->key.length <= 1024) return NULL;
    return nl_raise_io("Writing", path, place->key.length == 0 ? "the path names a bucket, not an object" : "the key has more than 1024 bytes");
}

nl_status nl_s3_create(nl_fs *self, nl_str path, nl_output **output)
{
    nl_s3_place place;
    NL_TRY(nl_s3_place_parse(path, &place));
    NL_TRY(nl_s3_check_object(&place, path));
    s3_output *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P_INT("receivedBytes", 0));
    made->base.ops = &s3_output_ops;
    made->fs = NL_CONTAINER(nl_fs_retain(self), nl_s3_fs, base);
    made->arena = nl_arena_new(made->fs->memory);
    made->path = nl_arena_str(made->arena, path);
    nl_error_free(nl_s3_place_parse(made->path, &made->place)); /* it has passed above */
    *output = &made->base;
    return NULL;
}

/* ---- Copies ---- */

static nl_status copy_once(nl_s3_fs *fs, nl_str from_path, const nl_s3_place *from, const nl_s3_place *to, nl_str to_path, bool is_conditional, bool *may_retry)
{
    nl_arena *arena = nl_arena_new(fs->memory);
    nl_property headers[16];
    uint32_t count = 0;
    nl_http_response response = {0};
    *may_retry = false;
    headers[count++] = (nl_property){NL_STR("x-amz-copy-source"), nl_arena_f(arena, "/" NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(from->bucket), NL_STR_ARG(nl_url_encode(arena, from->key, true)))};
    for (uint32_t i = 0; i < fs->options.write_header_count; i++)
        if (!nl_str_is(fs->options.write_headers[i].key, "x-amz-tagging")) headers[count++] = fs->options.write_headers[i]; /* tags are copied */
    if (is_conditional) headers[count++] = (nl_property){NL_STR("if-none-match"), NL_STR("*")};
    const nl_s3_ask ask = {.method = "PUT", .fault = "s3.copy", .bucket = to->bucket, .key = to->key, .headers = headers, .header_count = count, .uses_key = true};
    nl_status status = nl_s3_send(fs, &ask, &response);
    if (!status) {
        const nl_str hidden = nl_s3_is_good(&response) ? nl_s3_hidden_error(&response) : (nl_str){0};
        *may_retry = nl_str_is(hidden, "InternalError") || nl_str_is(hidden, "SlowDown");
        if (response.status == 412)
            status = NL_RAISE(NILAS_ALREADY_EXISTS, NL_P_STR("path", to_path));
        else if (!nl_s3_is_good(&response) || hidden.length > 0)
            status = nl_s3_refusal("Renaming", response.status == 404 ? from_path : to_path, &response, true);
        nl_http_response_fini(&response);
    }
    nl_arena_free(arena);
    return nl_note_if(status, NL_HERE, "copying " NL_STR_FMT " to " NL_STR_FMT, NL_STR_ARG(from_path), NL_STR_ARG(to_path));
}

nl_status nl_s3_rename(nl_fs *self, nl_str from_path, nl_str to_path, bool replace)
{
    nl_s3_fs *fs = NL_CONTAINER(self, nl_s3_fs, base);
    nl_s3_place from;
    nl_s3_place to;
    NL_TRY(nl_s3_place_parse(from_path, &from));
    NL_TRY(nl_s3_place_parse(to_path, &to));
    NL_TRY(nl_s3_check_object(&from, from_path));
    NL_TRY(nl_s3_check_object(&to, to_path));
    if (!replace) { /* many servers do not know the condition on copies: this tells at least what is there already */
        bool exists = false;
        NL_TRY(nl_fs_exists(self, to_path, &exists));
        if (exists) return NL_RAISE(NILAS_ALREADY_EXISTS, NL_P_STR("path", to_path));
    }
    for (int tries = 1;; tries++) {
        bool may_retry = false;
        nl_status status = copy_once(fs, from_path, &from, &to, to_path, !replace, &may_retry);
        if (!status) break;
        if (!may_retry || tries == HIDDEN_ERROR_TRIES) return status;
        nl_error_free(status);
    }
    return nl_s3_remove(self, from_path);
}
