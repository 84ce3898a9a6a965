/* lakehouse/s3/multipart.c - multipart uploads. Source: Amazon S3 User Guide, "Uploading and copying objects using multipart
 * upload" and "Checking object integrity" for the checksums of whole objects.
 */
#include <stdlib.h>

#include "base/calendar.h"
#include "base/limits.h"
#include "base/number.h"
#include "lakehouse/s3/s3.h"
#include "storage/xml.h"

#define UNSUPPORTED_ALGORITHM "Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]"

/* ---- CreateMultipartUpload. */

/* The type that goes with an algorithm: CRC64NVME is always of the whole object, SHAs never. */
static nl_status choose_type(nl_s3_call *call, nl_upload *upload)
{
    nl_str algorithm = nl_s3_header(call, "x-amz-checksum-algorithm"), type = nl_s3_header(call, "x-amz-checksum-type");
    if (!algorithm.length) {
        if (type.length) return NL_STORE_RAISE("InvalidRequest", "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.");
        return NULL;
    }
    const nl_s3_checksum_kind *kind = nl_s3_checksum_find(algorithm);
    if (!kind) return NL_STORE_RAISE("InvalidRequest", UNSUPPORTED_ALGORITHM);
    const bool is_crc64 = kind->digest == NL_DIGEST_CRC64NVME;
    if (!type.length) type = is_crc64 ? NL_STR("FULL_OBJECT") : NL_STR("COMPOSITE");
    const bool is_full = nl_str_is(type, "FULL_OBJECT"), is_composite = nl_str_is(type, "COMPOSITE");
    if ((!is_full && !is_composite) || (is_full && !kind->polynomial) || (is_composite && is_crc64))
        return NL_STORE_RAISE("InvalidRequest", "The " NL_STR_FMT " checksum type cannot be used with the %s checksum algorithm.", NL_STR_ARG(nl_str_slice(type, 0, 32)), kind->name);
    upload->checksum_algorithm = nl_str_from(kind->name);
    upload->checksum_type = type;
    return NULL;
}

nl_status nl_s3_create_upload(nl_s3_call *call, nl_reply *reply)
{
    nl_upload upload = {.bucket = call->bucket, .key = call->key};
    NL_TRY(nl_s3_collect_headers(call, &upload.headers, &upload.tags));
    NL_TRY(nl_s3_storage_class(nl_s3_header(call, "x-amz-storage-class"), &upload.storage_class));
    NL_TRY(choose_type(call, &upload));
    NL_TRY(nl_store_create_upload(call->objects, &upload, call->arena));
    nl_builder *xml = nl_s3_xml(call, "InitiateMultipartUploadResult");
    nl_s3_element(xml, "Bucket", call->bucket);
    nl_s3_element(xml, "Key", call->key);
    nl_s3_element(xml, "UploadId", upload.token);
    nl_s3_reply_xml(call, reply, xml, "InitiateMultipartUploadResult");
    nl_s3_reply(call, reply, "x-amz-checksum-algorithm", upload.checksum_algorithm);
    nl_s3_reply(call, reply, "x-amz-checksum-type", upload.checksum_type);
    nl_s3_reply(call, reply, "x-amz-server-side-encryption", nl_s3_stored(upload.headers, "x-amz-server-side-encryption"));
    return NULL;
}

/* ---- UploadPart. */

static nl_status read_part_number(nl_s3_call *call)
{
    int64_t number = 0;
    if (!nl_parse_int64(nl_s3_parameter(call, "partNumber"), &number) || number < 1 || number > NL_OBJECT_PARTS_MAX)
        return NL_STORE_RAISE("InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive");
    call->part.number = (uint32_t)number;
    return NULL;
}

/* The part's checksum is of the upload's algorithm; one that is not sent is computed. */
static nl_status check_algorithm(nl_s3_call *call)
{
    const nl_s3_checksum_kind *wanted = nl_s3_checksum_find(call->upload.checksum_algorithm);
    const nl_s3_checksum_kind *sent = call->payload.checksum;
    if (wanted && sent && sent != wanted)
        return NL_STORE_RAISE("InvalidRequest", "Checksum Type mismatch occurred, expected checksum Type: %s, actual checksum Type: %s", wanted->name, sent->name);
    return nl_s3_payload_want(&call->payload, wanted);
}

nl_status nl_s3_upload_part_begin(nl_s3_call *call)
{
    if (!nl_s3_has(call, "uploadId")) return NL_STORE_RAISE("InvalidArgument", "This operation needs an uploadId.");
    if (nl_s3_header(call, "x-amz-server-side-encryption-customer-algorithm").data) return NL_STORE_RAISE("NotImplemented", "Encryption with keys of the customer's own is not offered.");
    NL_TRY(read_part_number(call));
    NL_TRY(nl_store_find_upload(call->objects, call->bucket, call->key, nl_s3_parameter(call, "uploadId"), call->arena, &call->upload));
    if (nl_s3_header(call, "x-amz-copy-source").length) return NULL;
    const uint64_t length = call->request->content_length;
    const bool is_too_large = (length != UINT64_MAX && !call->payload.is_chunked && length > call->payload.bytes_max) ||
                              (call->payload.announced_bytes != UINT64_MAX && call->payload.announced_bytes > call->payload.bytes_max);
    if (is_too_large) return NL_STORE_RAISE("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size");
    NL_TRY(check_algorithm(call));
    return nl_incoming_new(call->objects, &call->incoming);
}

static nl_status store_part(nl_s3_call *call)
{
    NL_TRY(nl_incoming_finish(call->incoming));
    call->part.etag = nl_hex(call->arena, nl_incoming_md5(call->incoming), 16);
    call->part.size_bytes = nl_incoming_size(call->incoming);
    return nl_store_put_part(call->objects, &call->upload, &call->part, call->incoming);
}

nl_status nl_s3_upload_part(nl_s3_call *call, nl_reply *reply)
{
    if (nl_s3_header(call, "x-amz-copy-source").length) return nl_s3_upload_part_copy(call, reply);
    if (call->payload.checksum) call->part.checksum = nl_arena_f(call->arena, "%s FULL_OBJECT " NL_STR_FMT, call->payload.checksum->name, NL_STR_ARG(call->payload.checksum_text));
    NL_TRY(store_part(call));
    nl_s3_reply(call, reply, "ETag", nl_s3_quoted(call->arena, call->part.etag));
    if (call->payload.checksum) nl_s3_reply(call, reply, call->payload.checksum->header, call->payload.checksum_text);
    reply->status = 200;
    return NULL;
}

/* ---- UploadPartCopy. */

static nl_status read_copy_range(nl_s3_call *call, uint64_t size, nl_s3_range *range)
{
    nl_str header = nl_s3_header(call, "x-amz-copy-source-range");
    *range = (nl_s3_range){.length = size};
    if (!header.data) return NULL;
    const size_t dash = nl_str_find_char(header, '-', 0);
    const bool is_exact = nl_str_starts(header, NL_STR("bytes=")) && dash != NL_NOT_FOUND && dash > 6 && dash + 1 < header.length;
    int64_t first = 0, last = 0;
    if (!is_exact || !nl_parse_int64(nl_str_slice(header, 6, dash), &first) || !nl_parse_int64(nl_str_slice(header, dash + 1, header.length), &last) || first < 0 || last < first)
        return NL_STORE_RAISE("InvalidArgument", "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy");
    if ((uint64_t)last >= size) return NL_STORE_RAISE("InvalidArgument", "Range specified is not valid for source object of size: %llu", (unsigned long long)size);
    *range = (nl_s3_range){.is_given = true, .start = (uint64_t)first, .length = (uint64_t)(last - first) + 1};
    return NULL;
}

static nl_status copy_part(nl_s3_call *call, nl_object_reader *reader, const nl_object *source)
{
    const nl_s3_checksum_kind *kind = nl_s3_checksum_find(call->upload.checksum_algorithm);
    nl_s3_range range;
    nl_str checksum = {0};
    NL_TRY(read_copy_range(call, source->size_bytes, &range));
    if (range.length > NL_S3_PUT_BYTES_MAX) return NL_STORE_RAISE("InvalidRequest", "The specified copy source is larger than the maximum allowable size for a copy source: 5368709120");
    NL_TRY(nl_incoming_new(call->objects, &call->incoming));
    NL_TRY(nl_s3_copy_bytes(call, reader, range.start, range.length, kind, call->incoming, &checksum));
    if (kind) call->part.checksum = nl_arena_f(call->arena, "%s FULL_OBJECT " NL_STR_FMT, kind->name, NL_STR_ARG(checksum));
    return store_part(call);
}

nl_status nl_s3_upload_part_copy(nl_s3_call *call, nl_reply *reply)
{
    nl_str bucket, key, version;
    nl_object source = {0};
    nl_object_reader *reader = NULL;
    NL_TRY(nl_s3_find_source(call, &bucket, &key, &version, &source));
    NL_TRY(nl_store_open(call->objects, bucket, key, source.is_versioned ? source.version : version, call->arena, &source, &reader));
    if (!reader) return NL_STORE_RAISE("NoSuchKey", "The specified key does not exist.");
    nl_status status = copy_part(call, reader, &source);
    nl_object_reader_free(reader);
    NL_TRY(status);
    nl_builder *xml = nl_s3_xml(call, "CopyPartResult");
    nl_s3_element(xml, "LastModified", nl_s3_iso_time(call->arena, nl_now_micros()));
    nl_s3_element(xml, "ETag", nl_s3_quoted(call->arena, call->part.etag));
    nl_s3_checksum_elements(xml, call->part.checksum, false);
    nl_s3_reply_xml(call, reply, xml, "CopyPartResult");
    if (source.is_versioned) nl_s3_reply(call, reply, "x-amz-copy-source-version-id", source.version);
    return NULL;
}

/* ---- ListParts, AbortMultipartUpload. */

nl_status nl_s3_list_parts(nl_s3_call *call, nl_reply *reply)
{
    nl_upload upload = {0};
    uint32_t marker = 0, count_max = 0, count = 0;
    const nl_part *parts = NULL;
    bool is_truncated = false;
    NL_TRY(nl_s3_number(nl_s3_parameter(call, "part-number-marker"), "part-number-marker", 0, UINT32_MAX, &marker));
    NL_TRY(nl_s3_number(nl_s3_parameter(call, "max-parts"), "max-parts", NL_S3_PAGE_MAX, NL_S3_PAGE_MAX, &count_max));
    NL_TRY(nl_store_find_upload(call->objects, call->bucket, call->key, nl_s3_parameter(call, "uploadId"), call->arena, &upload));
    NL_TRY(nl_store_list_parts(call->objects, upload.id, marker, count_max, call->arena, &parts, &count, &is_truncated));
    nl_builder *xml = nl_s3_xml(call, "ListPartsResult");
    nl_s3_element(xml, "Bucket", call->bucket);
    nl_s3_element(xml, "Key", call->key);
    nl_s3_element(xml, "UploadId", upload.token);
    nl_s3_owner(xml, "Initiator");
    nl_s3_owner(xml, "Owner");
    nl_s3_element(xml, "StorageClass", upload.storage_class.length ? upload.storage_class : NL_STR("STANDARD"));
    nl_s3_element_f(xml, "PartNumberMarker", "%u", marker);
    nl_s3_element_f(xml, "NextPartNumberMarker", "%u", count ? parts[count - 1].number : 0);
    nl_s3_element_f(xml, "MaxParts", "%u", count_max);
    nl_s3_element(xml, "IsTruncated", is_truncated ? NL_STR("true") : NL_STR("false"));
    if (upload.checksum_algorithm.length) nl_s3_element(xml, "ChecksumAlgorithm", upload.checksum_algorithm);
    if (upload.checksum_type.length) nl_s3_element(xml, "ChecksumType", upload.checksum_type);
    for (uint32_t i = 0; i < count; i++) {
        nl_append_c(xml, "<Part>");
        nl_s3_element_f(xml, "PartNumber", "%u", parts[i].number);
        nl_s3_element(xml, "LastModified", nl_s3_iso_time(call->arena, parts[i].modified_micros));
        nl_s3_element(xml, "ETag", nl_s3_quoted(call->arena, parts[i].etag));
        nl_s3_element_f(xml, "Size", "%llu", (unsigned long long)parts[i].size_bytes);
        nl_s3_checksum_elements(xml, parts[i].checksum, false);
        nl_append_c(xml, "</Part>");
    }
    nl_s3_reply_xml(call, reply, xml, "ListPartsResult");
    return NULL;
}

nl_status nl_s3_abort_upload(nl_s3_call *call, nl_reply *reply)
{
    nl_upload upload = {0};
    NL_TRY(nl_store_find_upload(call->objects, call->bucket, call->key, nl_s3_parameter(call, "uploadId"), call->arena, &upload));
    NL_TRY(nl_store_abort_upload(call->objects, &upload));
    reply->status = 204;
    return NULL;
}

/* ---- CompleteMultipartUpload. */

typedef struct completion {
    nl_s3_call *call;
    nl_upload upload;
    nl_part *parts; /* as listed by the client, filled in from what was uploaded */
    uint32_t count;
    nl_str etag, checksum;
} completion;

static nl_status invalid_part(void)
{
    return NL_STORE_RAISE("InvalidPart", "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.");
}

/* *element: the Part, for its checksums. */
static nl_status read_wanted(completion *self, const nl_xml ***elements)
{
    const nl_xml *root = NULL;
    NL_TRY(nl_s3_read_xml(self->call, "CompleteMultipartUpload", &root));
    self->parts = NL_NEW_ARRAY(self->call->arena, nl_part, root->child_count + 1);
    *elements = NL_NEW_ARRAY(self->call->arena, const nl_xml *, root->child_count + 1);
    NL_TRY(nl_arena_check(self->call->arena));
    for (const nl_xml *part = nl_xml_child(root, "Part"); part; part = nl_xml_next(part)) {
        int64_t number = 0;
        nl_str etag = nl_xml_text(part, "ETag");
        if (!nl_parse_int64(nl_str_trim(nl_xml_text(part, "PartNumber")), &number) || number < 1 || number > NL_OBJECT_PARTS_MAX || !etag.data)
            return NL_STORE_RAISE("MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema");
        if (self->count && (uint32_t)number <= self->parts[self->count - 1].number)
            return NL_STORE_RAISE("InvalidPartOrder", "The list of parts was not in ascending order. The parts list must be specified in order by part number.");
        (*elements)[self->count] = part;
        self->parts[self->count++] = (nl_part){.number = (uint32_t)number, .etag = nl_s3_unquoted(etag)};
    }
    if (!self->count) return NL_STORE_RAISE("MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema");
    return NULL;
}

static nl_status check_part_checksum(const nl_xml *element, const nl_part *part)
{
    const nl_s3_checksum_kind *kind;
    nl_str type, value;
    if (!nl_s3_split_checksum(part->checksum, &kind, &type, &value)) return NULL;
    nl_str claimed = nl_xml_text(element, kind->element);
    return claimed.data && !nl_str_equal(nl_str_trim(claimed), value) ? invalid_part() : NULL;
}

static nl_status match_parts(completion *self, const nl_xml *const *elements)
{
    const nl_part *uploaded = NULL;
    uint32_t count = 0, at = 0;
    bool is_truncated = false;
    NL_TRY(nl_store_list_parts(self->call->objects, self->upload.id, 0, NL_OBJECT_PARTS_MAX, self->call->arena, &uploaded, &count, &is_truncated));
    for (uint32_t i = 0; i < self->count; i++) {
        while (at < count && uploaded[at].number < self->parts[i].number) at++;
        if (at == count || uploaded[at].number != self->parts[i].number || !nl_str_equal(uploaded[at].etag, self->parts[i].etag)) return invalid_part();
        self->parts[i] = uploaded[at];
        NL_TRY(check_part_checksum(elements[i], &uploaded[at]));
        if (i + 1 < self->count && uploaded[at].size_bytes < NL_OBJECT_PART_BYTES_MIN) return NL_STORE_RAISE("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size");
    }
    return NULL;
}

static int digit_of(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* The MD5 of the parts' MD5s, and how many they are. */
static void make_etag(completion *self)
{
    uint8_t *bytes = nl_arena_alloc(self->call->arena, 16 * (size_t)self->count), digest[16];
    for (uint32_t i = 0; i < self->count; i++)
        for (uint32_t k = 0; k < 16 && self->parts[i].etag.length == 32; k++) bytes[16 * i + k] = (uint8_t)(digit_of(self->parts[i].etag.data[2 * k]) * 16 + digit_of(self->parts[i].etag.data[2 * k + 1]));
    nl_md5((nl_bytes){bytes, 16 * (size_t)self->count}, digest);
    self->etag = nl_arena_f(self->call->arena, NL_STR_FMT "-%u", NL_STR_ARG(nl_hex(self->call->arena, digest, 16)), self->count);
}

static uint64_t big_endian(nl_bytes bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.length; i++) value = value << 8 | bytes.data[i];
    return value;
}

/* False: a part has no checksum of that kind, so the whole has none. */
static bool part_checksum(completion *self, uint32_t i, const nl_s3_checksum_kind *kind, nl_bytes *bytes)
{
    const nl_s3_checksum_kind *has;
    nl_str type, value;
    return nl_s3_split_checksum(self->parts[i].checksum, &has, &type, &value) && has == kind && nl_base64_decode(self->call->arena, value, bytes) && bytes->length == kind->byte_count;
}

static nl_status make_composite(completion *self, const nl_s3_checksum_kind *kind, nl_str *value)
{
    nl_digest digest = {0};
    uint8_t out[NL_DIGEST_BYTES_MAX];
    NL_TRY(nl_digest_begin(kind->digest, &digest));
    for (uint32_t i = 0; i < self->count; i++) {
        nl_bytes bytes = {0};
        if (!part_checksum(self, i, kind, &bytes)) {
            nl_digest_fini(&digest);
            return NULL;
        }
        nl_digest_update(&digest, bytes);
    }
    const uint32_t length = nl_digest_end(&digest, out);
    nl_str text = nl_base64_encode(self->call->arena, (nl_bytes){out, length});
    *value = nl_arena_f(self->call->arena, NL_STR_FMT "-%u", NL_STR_ARG(text), self->count);
    return NULL;
}

static void make_full(completion *self, const nl_s3_checksum_kind *kind, nl_str *value)
{
    uint64_t crc = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        nl_bytes bytes = {0};
        if (!part_checksum(self, i, kind, &bytes)) return;
        crc = i ? nl_s3_crc_combine(kind, crc, big_endian(bytes), self->parts[i].size_bytes) : big_endian(bytes);
    }
    uint8_t out[8];
    for (uint32_t i = 0; i < kind->byte_count; i++) out[i] = (uint8_t)(crc >> 8 * (kind->byte_count - 1 - i));
    *value = nl_base64_encode(self->call->arena, (nl_bytes){out, kind->byte_count});
}

/* Of the whole object, from those of its parts; compared with what the client says. */
static nl_status make_checksum(completion *self)
{
    nl_s3_call *call = self->call;
    const nl_s3_checksum_kind *kind = nl_s3_checksum_find(self->upload.checksum_algorithm);
    nl_str type = self->upload.checksum_type, value = {0};
    nl_str wanted_type = nl_s3_header(call, "x-amz-checksum-type");
    if (!kind) return NULL;
    if (wanted_type.length && !nl_str_equal(wanted_type, type)) return NL_STORE_RAISE("InvalidRequest", "The checksum type does not match the one of the upload.");
    if (nl_str_is(type, "COMPOSITE")) NL_TRY(make_composite(self, kind, &value));
    else make_full(self, kind, &value);
    if (!value.length) return NULL;
    nl_str claimed = nl_s3_header(call, kind->header);
    if (claimed.length && !nl_str_equal(claimed, value)) return NL_STORE_RAISE("BadDigest", "The %s you specified did not match the calculated checksum.", kind->name);
    self->checksum = nl_arena_f(call->arena, "%s " NL_STR_FMT " " NL_STR_FMT, kind->name, NL_STR_ARG(type), NL_STR_ARG(value));
    return NULL;
}

static nl_status check_size(const completion *self)
{
    nl_str header = nl_s3_header(self->call, "x-amz-mp-object-size");
    int64_t announced = 0;
    uint64_t size = 0;
    if (!header.length) return NULL;
    for (uint32_t i = 0; i < self->count; i++) size += self->parts[i].size_bytes;
    if (!nl_parse_int64(header, &announced) || (uint64_t)announced != size)
        return NL_STORE_RAISE("InvalidRequest", "The provided 'x-amz-mp-object-size' header value does not match the size of the parts.");
    return NULL;
}

static void reply_completed(completion *self, nl_reply *reply, const nl_object *object)
{
    nl_s3_call *call = self->call;
    nl_builder *xml = nl_s3_xml(call, "CompleteMultipartUploadResult");
    nl_str host = nl_s3_header(call, "Host");
    nl_s3_element(xml, "Location", nl_arena_f(call->arena, "http://" NL_STR_FMT NL_STR_FMT, NL_STR_ARG(host), NL_STR_ARG(call->request->path)));
    nl_s3_element(xml, "Bucket", call->bucket);
    nl_s3_element(xml, "Key", call->key);
    nl_s3_element(xml, "ETag", nl_s3_quoted(call->arena, object->etag));
    nl_s3_checksum_elements(xml, object->checksum, true);
    nl_s3_reply_xml(call, reply, xml, "CompleteMultipartUploadResult");
    nl_s3_reply_made(call, reply, object);
}

/* A client that lost the answer asks again: the object is there, and the upload's number is its data's. */
static bool was_completed(nl_s3_call *call, nl_str token, nl_object *object)
{
    nl_status status = nl_store_find(call->objects, call->bucket, call->key, (nl_str){0}, call->arena, object);
    const bool exists = !status && !object->is_marker && object->part_count;
    nl_error_free(status);
    return exists && token.length == 32 && nl_str_equal(nl_str_slice(token, 0, 16), nl_arena_f(call->arena, "%016llx", (unsigned long long)object->data));
}

nl_status nl_s3_complete_upload(nl_s3_call *call, nl_reply *reply)
{
    completion self = {.call = call};
    const nl_xml **elements = NULL;
    nl_str token = nl_s3_parameter(call, "uploadId");
    nl_object before = {0};
    NL_TRY(read_wanted(&self, &elements));
    nl_status status = nl_store_find_upload(call->objects, call->bucket, call->key, token, call->arena, &self.upload);
    if (nl_store_failed_with(status, "NoSuchUpload") && was_completed(call, token, &before)) {
        nl_error_free(status);
        reply_completed(&self, reply, &before);
        return NULL;
    }
    NL_TRY(status);
    NL_TRY(match_parts(&self, elements));
    NL_TRY(check_size(&self));
    make_etag(&self);
    NL_TRY(make_checksum(&self));
    nl_store_complete complete = {.upload = &self.upload, .parts = self.parts, .part_count = self.count};
    complete.target = (nl_store_put){.bucket = call->bucket, .key = call->key, .etag = self.etag, .headers = self.upload.headers, .tags = self.upload.tags, .checksum = self.checksum,
                                     .storage_class = self.upload.storage_class, .conditions = nl_s3_write_conditions(call), .arena = call->arena};
    NL_TRY(nl_store_complete_upload(call->objects, &complete));
    reply_completed(&self, reply, &complete.target.made);
    return NULL;
}
