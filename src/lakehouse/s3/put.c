/* lakehouse/s3/put.c - PutObject, and what of a request is kept with an object. */
#include "lakehouse/s3/s3.h"

#include "base/limits.h"
#include "storage/http.h"

#define METADATA_BYTES_MAX 2048u /* S3's, of all x-amz-meta-* */

static const char *const kept[] = {"cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "expires", "x-amz-website-redirect-location",
                                   "x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id", "x-amz-server-side-encryption-bucket-key-enabled"};
static const char *const storage_classes[] = {"STANDARD", "REDUCED_REDUNDANCY", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER", "DEEP_ARCHIVE", "GLACIER_IR", "EXPRESS_ONEZONE", "OUTPOSTS", "SNOW", "FSX_OPENZFS"};

nl_str nl_s3_default_type(void)
{
    return NL_STR("binary/octet-stream");
}

static nl_str lower(nl_arena *arena, nl_str text)
{
    nl_str copy = nl_arena_str(arena, text);
    for (size_t i = 0; i < copy.length; i++)
        if (copy.data[i] >= 'A' && copy.data[i] <= 'Z') ((char *)NL_UNCONST(copy.data))[i] = (char)(copy.data[i] | 0x20);
    return copy;
}

static bool is_kept(nl_str name)
{
    if (nl_str_starts(name, NL_STR("x-amz-meta-"))) return true;
    for (uint32_t i = 0; i < NL_COUNT(kept); i++)
        if (nl_str_is(name, kept[i])) return true;
    return false;
}

/* "aws-chunked,gzip" is "gzip": the framing is not part of the object. */
static nl_str without_framing(nl_arena *arena, nl_str encoding)
{
    nl_str rest = encoding, part, text = {0};
    while (nl_str_next_part(&rest, ',', &part)) {
        part = nl_str_trim(part);
        if (nl_str_is_nocase(part, "aws-chunked")) continue;
        text = text.length ? nl_arena_f(arena, NL_STR_FMT ", " NL_STR_FMT, NL_STR_ARG(text), NL_STR_ARG(part)) : part;
    }
    return text;
}

nl_status nl_s3_collect_stored(nl_s3_call *call, const nl_property *all, uint32_t count, nl_str *headers)
{
    nl_builder text;
    nl_builder_init(&text, 256u << 10);
    size_t metadata_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        nl_str name = lower(call->arena, all[i].key), value = nl_str_trim(all[i].value);
        if (!is_kept(name)) continue;
        if (nl_str_is(name, "content-encoding")) value = without_framing(call->arena, value);
        if (nl_str_starts(name, NL_STR("x-amz-meta-"))) metadata_bytes += name.length - strlen("x-amz-meta-") + value.length;
        else if (!value.length) continue;
        const bool is_broken = nl_str_find_char(value, '\n', 0) != NL_NOT_FOUND;
        if (!is_broken) nl_append_f(&text, NL_STR_FMT ":" NL_STR_FMT "\n", NL_STR_ARG(name), NL_STR_ARG(value));
    }
    *headers = nl_arena_str(call->arena, nl_builder_str(&text));
    const bool has_failed = nl_builder_failed(&text);
    nl_builder_fini(&text);
    if (metadata_bytes > METADATA_BYTES_MAX || has_failed) return NL_STORE_RAISE("MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size");
    return NULL;
}

nl_status nl_s3_check_canned_acl(nl_str acl)
{
    if (!acl.data || nl_str_is(acl, "private") || nl_str_is(acl, "bucket-owner-full-control") || nl_str_is(acl, "bucket-owner-read")) return NULL;
    return NL_STORE_RAISE("AccessControlListNotSupported", "The bucket does not allow ACLs");
}

/* What would be promised and not kept is refused. */
static nl_status refuse_unoffered(const nl_s3_call *call)
{
    const bool has_own_key = nl_s3_header(call, "x-amz-server-side-encryption-customer-algorithm").data || nl_s3_header(call, "x-amz-copy-source-server-side-encryption-customer-algorithm").data;
    if (has_own_key) return NL_STORE_RAISE("NotImplemented", "Encryption with keys of the customer's own is not offered.");
    if (nl_s3_header(call, "x-amz-object-lock-mode").data || nl_s3_header(call, "x-amz-object-lock-retain-until-date").data || nl_s3_header(call, "x-amz-object-lock-legal-hold").data)
        return NL_STORE_RAISE("InvalidRequest", "Bucket is missing Object Lock Configuration");
    if (nl_s3_header(call, "x-amz-write-offset-bytes").data) return NL_STORE_RAISE("NotImplemented", "Appending to objects is not offered.");
    for (uint32_t i = 0; i < call->request->header_count; i++)
        if (nl_str_starts_nocase(call->request->headers[i].key, NL_STR("x-amz-grant-"))) return NL_STORE_RAISE("AccessControlListNotSupported", "The bucket does not allow ACLs");
    return nl_s3_check_canned_acl(nl_s3_header(call, "x-amz-acl"));
}

nl_status nl_s3_collect_headers(nl_s3_call *call, nl_str *headers, nl_str *tags)
{
    NL_TRY(refuse_unoffered(call));
    NL_TRY(nl_s3_collect_stored(call, call->request->headers, call->request->header_count, headers));
    *tags = nl_s3_header(call, "x-amz-tagging");
    const char *problem = NULL;
    if (tags->length && !nl_s3_tags_are_valid(call->arena, *tags, 10, &problem)) return NL_STORE_RAISE("InvalidTag", "%s", problem);
    return NULL;
}

nl_status nl_s3_storage_class(nl_str wanted, nl_str *storage_class)
{
    *storage_class = (nl_str){0};
    if (!wanted.length) return NULL;
    for (uint32_t i = 0; i < NL_COUNT(storage_classes); i++) {
        if (!nl_str_is(wanted, storage_classes[i])) continue;
        if (i > 0) *storage_class = wanted;
        return NULL;
    }
    return NL_STORE_RAISE("InvalidStorageClass", "The storage class you specified is not valid");
}

nl_write_conditions nl_s3_write_conditions(const nl_s3_call *call)
{
    return (nl_write_conditions){.if_match = nl_s3_header(call, "If-Match"), .if_none_match = nl_s3_header(call, "If-None-Match")};
}

/* ---- PutObject. */

static bool is_copy(const nl_s3_call *call)
{
    return nl_s3_header(call, "x-amz-copy-source").length > 0;
}

static nl_status check_length(const nl_s3_call *call)
{
    const uint64_t length = call->request->content_length;
    const bool is_known = length != UINT64_MAX && length <= call->payload.bytes_max;
    if (length != UINT64_MAX && !is_known && !call->payload.is_chunked) return NL_STORE_RAISE("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size");
    if (call->payload.announced_bytes != UINT64_MAX && call->payload.announced_bytes > call->payload.bytes_max)
        return NL_STORE_RAISE("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size");
    return NULL;
}

/* A condition that does not hold already is told before the body is sent; the write asks again. */
static nl_status check_early(nl_s3_call *call)
{
    const nl_write_conditions conditions = nl_s3_write_conditions(call);
    if (!nl_str_is(conditions.if_none_match, "*")) return NULL;
    nl_object object = {0};
    nl_status status = nl_store_find(call->objects, call->bucket, call->key, (nl_str){0}, call->arena, &object);
    if (!status && !object.is_marker) return NL_STORE_RAISE("PreconditionFailed", "At least one of the pre-conditions you specified did not hold");
    nl_error_free(status);
    return NULL;
}

nl_status nl_s3_put_object_begin(nl_s3_call *call)
{
    if (nl_s3_has(call, "uploadId")) return NL_STORE_RAISE("InvalidArgument", "This operation does not accept a upload-id.");
    nl_str ignored;
    NL_TRY(nl_store_bucket(call->objects, call->bucket, call->arena, &call->bucket_info));
    NL_TRY(nl_s3_collect_headers(call, &call->object_headers, &call->object_tags));
    NL_TRY(nl_s3_storage_class(nl_s3_header(call, "x-amz-storage-class"), &ignored));
    if (is_copy(call)) return NULL;
    NL_TRY(check_length(call));
    NL_TRY(check_early(call));
    return nl_incoming_new(call->objects, &call->incoming);
}

static nl_str stored_checksum(nl_s3_call *call)
{
    if (!call->payload.checksum) return (nl_str){0};
    return nl_arena_f(call->arena, "%s FULL_OBJECT " NL_STR_FMT, call->payload.checksum->name, NL_STR_ARG(call->payload.checksum_text));
}

nl_status nl_s3_put_object(nl_s3_call *call, nl_reply *reply)
{
    if (is_copy(call)) return nl_s3_copy_object(call, reply);
    nl_store_put put = {.bucket = call->bucket, .key = call->key, .bytes = call->incoming, .headers = call->object_headers, .tags = call->object_tags, .checksum = stored_checksum(call),
                        .conditions = nl_s3_write_conditions(call), .arena = call->arena};
    NL_TRY(nl_s3_storage_class(nl_s3_header(call, "x-amz-storage-class"), &put.storage_class));
    NL_TRY(nl_store_write(call->objects, &put));
    nl_s3_reply(call, reply, "ETag", nl_s3_quoted(call->arena, put.made.etag));
    nl_s3_reply_made(call, reply, &put.made);
    nl_s3_reply_checksum(call, reply, put.checksum);
    nl_s3_reply(call, reply, "x-amz-server-side-encryption", nl_s3_stored(call->object_headers, "x-amz-server-side-encryption"));
    reply->status = 200;
    return NULL;
}
