/* lakehouse/s3/copy.c - CopyObject and UploadPartCopy. A copy shares the bytes of its source; they are read only where a
 * checksum is asked for that the source has not.
 */
#include <stdlib.h>

#include "base/number.h"
#include "lakehouse/s3/s3.h"
#include "storage/http.h"

#define COPY_BYTES (1u << 20)

/* ---- The source. */

static nl_status bad_source(void)
{
    return NL_STORE_RAISE("InvalidArgument", "Invalid copy source object key");
}

/* "/bucket/key?versionId=…", the path encoded. */
static nl_status parse_source(nl_s3_call *call, nl_str *bucket, nl_str *key, nl_str *version)
{
    nl_str text = nl_s3_header(call, "x-amz-copy-source");
    const size_t question = nl_str_find(text, NL_STR("?versionId="), 0);
    *version = question == NL_NOT_FOUND ? (nl_str){0} : nl_str_slice(text, question + strlen("?versionId="), text.length);
    text = nl_str_slice(text, 0, question);
    nl_str decoded = {0};
    nl_status status = nl_url_decode(call->arena, text, false, &decoded);
    if (status) {
        nl_error_free(status);
        return bad_source();
    }
    if (nl_str_starts(decoded, NL_STR("/"))) decoded = nl_str_slice(decoded, 1, decoded.length);
    const size_t slash = nl_str_find_char(decoded, '/', 0);
    if (slash == NL_NOT_FOUND || slash == 0 || slash + 1 == decoded.length) return bad_source();
    *bucket = nl_str_slice(decoded, 0, slash);
    *key = nl_str_slice(decoded, slash + 1, decoded.length);
    return NULL;
}

static nl_status check_source(nl_s3_call *call, const nl_object *object)
{
    if (object->is_marker) return NL_STORE_RAISE("NoSuchKey", "The specified key does not exist.");
    const nl_s3_conditions conditions = {.if_match = nl_s3_header(call, "x-amz-copy-source-if-match"),
                                         .if_none_match = nl_s3_header(call, "x-amz-copy-source-if-none-match"),
                                         .if_modified_since = nl_s3_header(call, "x-amz-copy-source-if-modified-since"),
                                         .if_unmodified_since = nl_s3_header(call, "x-amz-copy-source-if-unmodified-since")};
    bool is_not_modified = false;
    NL_TRY(nl_s3_check_conditions(&conditions, object, &is_not_modified));
    return is_not_modified ? NL_STORE_RAISE("PreconditionFailed", "At least one of the pre-conditions you specified did not hold") : NULL;
}

nl_status nl_s3_find_source(nl_s3_call *call, nl_str *bucket, nl_str *key, nl_str *version, nl_object *object)
{
    NL_TRY(parse_source(call, bucket, key, version));
    NL_TRY(nl_store_find(call->objects, *bucket, *key, *version, call->arena, object));
    return check_source(call, object);
}

nl_status nl_s3_copy_bytes(nl_s3_call *call, nl_object_reader *reader, uint64_t start, uint64_t length, const nl_s3_checksum_kind *kind, nl_incoming *incoming, nl_str *checksum)
{
    nl_digest digest = {0};
    nl_buffer *block = NULL;
    nl_status status = kind ? nl_digest_begin(kind->digest, &digest) : NULL;
    if (!status) status = nl_buffer_new(call->request->memory, COPY_BYTES, false, &block);
    for (uint64_t done = 0; !status && done < length;) {
        const size_t here = (size_t)NL_MIN(length - done, (uint64_t)COPY_BYTES);
        status = nl_object_reader_read(reader, start + done, here, block->data);
        if (!status && kind) nl_digest_update(&digest, (nl_bytes){block->data, here});
        if (!status && incoming) status = nl_incoming_write(incoming, block->data, here);
        if (!status) status = nl_cancel_check(call->request->cancel);
        done += here;
    }
    uint8_t bytes[NL_DIGEST_BYTES_MAX];
    if (!status && kind) *checksum = nl_base64_encode(call->arena, (nl_bytes){bytes, nl_digest_end(&digest, bytes)});
    nl_digest_fini(&digest);
    nl_buffer_release(block);
    return status;
}

/* ---- CopyObject. */

static nl_status read_directive(nl_s3_call *call, const char *header, bool *replaces)
{
    nl_str directive = nl_s3_header(call, header);
    *replaces = nl_str_is(directive, "REPLACE");
    if (directive.length && !*replaces && !nl_str_is(directive, "COPY")) return NL_STORE_RAISE("InvalidArgument", "Unknown metadata directive.");
    return NULL;
}

/* The checksum that the copy gets: the source's, or another one that is asked for. */
static nl_status copy_checksum(nl_s3_call *call, const nl_store_copy *copy, const nl_object *source, nl_str *stored)
{
    nl_str wanted = nl_s3_header(call, "x-amz-checksum-algorithm"), type, value;
    const nl_s3_checksum_kind *has = NULL, *wants = nl_s3_checksum_find(wanted);
    *stored = source->checksum;
    if (!wanted.length) return NULL;
    if (!wants) return NL_STORE_RAISE("InvalidRequest", "Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]");
    if (nl_s3_split_checksum(source->checksum, &has, &type, &value) && has == wants && nl_str_is(type, "FULL_OBJECT")) return NULL;
    nl_object again = {0};
    nl_object_reader *reader = NULL;
    NL_TRY(nl_store_open(call->objects, copy->bucket, copy->key, copy->version, call->arena, &again, &reader));
    nl_status status = again.data == source->data ? nl_s3_copy_bytes(call, reader, 0, source->size_bytes, wants, NULL, &value) : NL_STORE_RAISE("NoSuchKey", "The specified key does not exist.");
    nl_object_reader_free(reader);
    if (!status) *stored = nl_arena_f(call->arena, "%s FULL_OBJECT " NL_STR_FMT, wants->name, NL_STR_ARG(value));
    return status;
}

nl_status nl_s3_copy_object(nl_s3_call *call, nl_reply *reply)
{
    nl_store_copy copy = {0};
    nl_object source = {0};
    bool replaces_headers = false, replaces_tags = false;
    NL_TRY(read_directive(call, "x-amz-metadata-directive", &replaces_headers));
    NL_TRY(read_directive(call, "x-amz-tagging-directive", &replaces_tags));
    NL_TRY(nl_s3_find_source(call, &copy.bucket, &copy.key, &copy.version, &source));
    copy.target = (nl_store_put){.bucket = call->bucket, .key = call->key, .etag = source.etag, .arena = call->arena, .conditions = nl_s3_write_conditions(call)};
    NL_TRY(nl_s3_storage_class(nl_s3_header(call, "x-amz-storage-class"), &copy.target.storage_class));
    const bool is_itself = nl_str_equal(copy.bucket, call->bucket) && nl_str_equal(copy.key, call->key) && !copy.version.length;
    const bool changes = replaces_headers || nl_s3_header(call, "x-amz-storage-class").length || nl_s3_header(call, "x-amz-website-redirect-location").length ||
                         nl_s3_header(call, "x-amz-server-side-encryption").length || nl_s3_header(call, "x-amz-checksum-algorithm").length;
    if (is_itself && !changes)
        return NL_STORE_RAISE("InvalidRequest", "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, "
                                                "website redirect location or encryption attributes.");
    copy.data = source.data;
    copy.target.headers = replaces_headers ? call->object_headers : source.headers;
    copy.target.tags = replaces_tags ? call->object_tags : source.tags;
    NL_TRY(copy_checksum(call, &copy, &source, &copy.target.checksum));
    NL_TRY(nl_store_copy_object(call->objects, &copy));
    nl_builder *xml = nl_s3_xml(call, "CopyObjectResult");
    nl_s3_element(xml, "LastModified", nl_s3_iso_time(call->arena, copy.target.made.modified_micros));
    nl_s3_element(xml, "ETag", nl_s3_quoted(call->arena, source.etag));
    nl_s3_checksum_elements(xml, copy.target.checksum, true);
    nl_s3_reply_xml(call, reply, xml, "CopyObjectResult");
    nl_s3_reply_made(call, reply, &copy.target.made);
    if (source.is_versioned) nl_s3_reply(call, reply, "x-amz-copy-source-version-id", source.version);
    return NULL;
}
