/* lakehouse/s3/get.c - GetObject, HeadObject, GetObjectAttributes. Bytes of a file go out with sendfile. */
#include <stdlib.h>

#include "base/calendar.h"
#include "base/limits.h"
#include "base/number.h"
#include "lakehouse/s3/s3.h"
#include "storage/http.h"

/* ---- Conditions (RFC 9110, 13.2.2). */

static bool etag_matches(nl_str list, nl_str etag)
{
    nl_str part;
    while (nl_str_next_part(&list, ',', &part)) {
        part = nl_str_trim(part);
        if (nl_str_starts(part, NL_STR("W/"))) part = nl_str_slice(part, 2, part.length);
        if (nl_str_is(part, "*") || nl_str_equal(nl_s3_unquoted(part), etag)) return true;
    }
    return false;
}

static nl_status precondition_failed(void)
{
    return NL_STORE_RAISE("PreconditionFailed", "At least one of the pre-conditions you specified did not hold");
}

nl_status nl_s3_check_conditions(const nl_s3_conditions *conditions, const nl_object *object, bool *is_not_modified)
{
    const int64_t modified = nl_floor_div(object->modified_micros, NL_MICROS_PER_SECOND) * NL_MICROS_PER_SECOND; /* as clients see it */
    int64_t since = 0;
    *is_not_modified = false;
    if (conditions->if_match.length) {
        if (!etag_matches(conditions->if_match, object->etag)) return precondition_failed();
    } else if (nl_s3_parse_http_time(conditions->if_unmodified_since, &since) && modified > since) {
        return precondition_failed();
    }
    if (conditions->if_none_match.length) *is_not_modified = etag_matches(conditions->if_none_match, object->etag);
    else if (nl_s3_parse_http_time(conditions->if_modified_since, &since)) *is_not_modified = modified <= since;
    return NULL;
}

/* ---- Ranges (RFC 9110, 14.1). */

static bool parse_position(nl_str text, uint64_t *value)
{
    int64_t number = 0;
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] < '0' || text.data[i] > '9') return false;
    if (!text.length) return false;
    if (!nl_parse_int64(text, &number)) number = INT64_MAX; /* larger than any object */
    *value = (uint64_t)number;
    return true;
}

nl_status nl_s3_parse_range(nl_str header, uint64_t size, nl_s3_range *range)
{
    *range = (nl_s3_range){.length = size};
    if (!nl_str_starts_nocase(header, NL_STR("bytes=")) || nl_str_find_char(header, ',', 0) != NL_NOT_FOUND) return NULL; /* several: the whole */
    nl_str spec = nl_str_trim(nl_str_slice(header, 6, header.length));
    const size_t dash = nl_str_find_char(spec, '-', 0);
    if (dash == NL_NOT_FOUND) return NULL;
    nl_str first = nl_str_trim(nl_str_slice(spec, 0, dash)), last = nl_str_trim(nl_str_slice(spec, dash + 1, spec.length));
    uint64_t start = 0, end = UINT64_MAX;
    if (first.length) {
        if (!parse_position(first, &start) || (last.length && !parse_position(last, &end)) || end < start) return NULL; /* no range: the whole */
    } else {
        if (!parse_position(last, &end)) return NULL;
        if (end == 0) start = size;
        else start = end >= size ? 0 : size - end;
        end = UINT64_MAX;
    }
    if (start >= size) return NL_STORE_RAISE("InvalidRange", "The requested range is not satisfiable");
    range->is_given = true;
    range->start = start;
    range->length = NL_MIN(end, size - 1) - start + 1;
    return NULL;
}

/* ---- Finding. */

static nl_status refuse_marker(nl_s3_call *call, const nl_object *object, bool is_asked_by_version)
{
    nl_s3_error_header(call, "x-amz-delete-marker", NL_STR("true"));
    nl_s3_error_header(call, "x-amz-version-id", object->version);
    if (!is_asked_by_version) return NL_STORE_RAISE("NoSuchKey", "The specified key does not exist.");
    nl_s3_error_header(call, "Last-Modified", nl_s3_http_time(call->arena, object->modified_micros));
    nl_s3_error_header(call, "Allow", NL_STR("DELETE"));
    return NL_STORE_RAISE("MethodNotAllowed", "The specified method is not allowed against this resource.");
}

/* Which bytes: of partNumber, of Range, or all. */
static nl_status choose_range(nl_s3_call *call, nl_reply *reply, const nl_object *object, nl_s3_range *range)
{
    nl_str number = nl_s3_parameter(call, "partNumber");
    if (!number.data) return nl_s3_parse_range(nl_s3_header(call, "Range"), object->size_bytes, range);
    uint32_t wanted = 0, count = 0;
    NL_TRY(nl_s3_number(number, "partNumber", 0, UINT32_MAX, &wanted));
    if (wanted < 1 || wanted > 10000) return NL_STORE_RAISE("InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive");
    *range = (nl_s3_range){.is_given = object->size_bytes > 0, .length = object->size_bytes};
    const nl_part *parts = NULL;
    bool is_truncated = false;
    if (object->part_count) {
        NL_TRY(nl_store_list_parts(call->objects, object->data, wanted - 1, 1, call->arena, &parts, &count, &is_truncated));
        nl_s3_reply(call, reply, "x-amz-mp-parts-count", nl_arena_f(call->arena, "%u", object->part_count));
        if (count == 1 && parts[0].number == wanted) {
            range->start = parts[0].start;
            range->length = parts[0].size_bytes;
            range->checksum = parts[0].checksum;
            return NULL;
        }
    } else if (wanted == 1) {
        return NULL;
    }
    return NL_STORE_RAISE("InvalidPartNumber", "The requested partnumber is not satisfiable");
}

/* ---- Headers. */

static void reply_stored(nl_s3_call *call, nl_reply *reply, nl_str headers)
{
    static const char *const overrides[][2] = {
        {"content-type", "response-content-type"},         {"content-language", "response-content-language"}, {"expires", "response-expires"}, {"cache-control", "response-cache-control"},
        {"content-disposition", "response-content-disposition"}, {"content-encoding", "response-content-encoding"},
    };
    nl_str line;
    bool has_type = false;
    while (nl_str_next_part(&headers, '\n', &line)) {
        const size_t colon = nl_str_find_char(line, ':', 0);
        nl_str name = nl_str_slice(line, 0, colon);
        bool is_overridden = false;
        for (uint32_t i = 0; i < NL_COUNT(overrides); i++) is_overridden = is_overridden || (nl_str_is(name, overrides[i][0]) && nl_s3_has(call, overrides[i][1]));
        has_type = has_type || nl_str_is(name, "content-type");
        nl_str value = nl_str_slice(line, colon + 1, line.length);
        if (!value.length) value = NL_STR(" "); /* libmicrohttpd sends no empty ones */
        if (!is_overridden) nl_reply_header(call->request, reply, nl_str_c(call->arena, name), value);
    }
    for (uint32_t i = 0; i < NL_COUNT(overrides); i++) nl_s3_reply(call, reply, overrides[i][0], nl_s3_parameter(call, overrides[i][1]));
    if (!has_type && !nl_s3_has(call, overrides[0][1])) nl_s3_reply(call, reply, "Content-Type", nl_s3_default_type());
}

static void reply_validators(nl_s3_call *call, nl_reply *reply, const nl_object *object)
{
    nl_s3_reply(call, reply, "Last-Modified", nl_s3_http_time(call->arena, object->modified_micros));
    nl_s3_reply(call, reply, "ETag", nl_s3_quoted(call->arena, object->etag));
    nl_s3_reply_version(call, reply, object);
}

/* The part's own, and the type of the object's. */
static void reply_part_checksum(nl_s3_call *call, nl_reply *reply, const nl_object *object, nl_str checksum)
{
    const nl_s3_checksum_kind *kind, *whole;
    nl_str type, value, ignored;
    if (!nl_s3_split_checksum(checksum, &kind, &type, &value)) return;
    nl_s3_reply(call, reply, kind->header, value);
    if (nl_s3_split_checksum(object->checksum, &whole, &type, &ignored)) nl_s3_reply(call, reply, "x-amz-checksum-type", type);
}

static void reply_object(nl_s3_call *call, nl_reply *reply, const nl_object *object, const nl_s3_range *range)
{
    reply_validators(call, reply, object);
    reply_stored(call, reply, object->headers);
    nl_s3_reply(call, reply, "Accept-Ranges", NL_STR("bytes"));
    nl_s3_reply(call, reply, "x-amz-storage-class", object->storage_class);
    uint32_t tag_count = object->tags.length > 0;
    for (size_t i = 0; i < object->tags.length; i++) tag_count += object->tags.data[i] == '&';
    if (tag_count) nl_s3_reply(call, reply, "x-amz-tagging-count", nl_arena_f(call->arena, "%u", tag_count));
    reply->status = 200;
    if (range->is_given) {
        reply->status = 206;
        nl_s3_reply(call, reply, "Content-Range", nl_arena_f(call->arena, "bytes %llu-%llu/%llu", (unsigned long long)range->start,
                                                             (unsigned long long)(range->start + range->length - 1), (unsigned long long)object->size_bytes));
    }
    /* A checksum of the whole would not match the bytes of a range, and clients compare. */
    if (!nl_str_is_nocase(nl_s3_header(call, "x-amz-checksum-mode"), "ENABLED")) return;
    if (range->checksum.length) reply_part_checksum(call, reply, object, range->checksum);
    else if (range->length == object->size_bytes) nl_s3_reply_checksum(call, reply, object->checksum);
}

/* Conditions and range; *is_done: the reply is complete (304). */
static nl_status prepare(nl_s3_call *call, nl_reply *reply, const nl_object *object, nl_s3_range *range, bool *is_done)
{
    *is_done = false;
    if (object->is_marker) return refuse_marker(call, object, nl_s3_has(call, "versionId"));
    const nl_s3_conditions conditions = {.if_match = nl_s3_header(call, "If-Match"), .if_none_match = nl_s3_header(call, "If-None-Match"),
                                         .if_modified_since = nl_s3_header(call, "If-Modified-Since"), .if_unmodified_since = nl_s3_header(call, "If-Unmodified-Since")};
    bool is_not_modified = false;
    NL_TRY(nl_s3_check_conditions(&conditions, object, &is_not_modified));
    if (is_not_modified) {
        reply_validators(call, reply, object);
        reply->status = 304;
        *is_done = true;
        return NULL;
    }
    nl_status status = choose_range(call, reply, object, range);
    if (nl_store_failed_with(status, "InvalidRange")) nl_s3_error_header(call, "Content-Range", nl_arena_f(call->arena, "bytes */%llu", (unsigned long long)object->size_bytes));
    NL_TRY(status);
    reply_object(call, reply, object, range);
    return NULL;
}

static nl_status check_read(const nl_s3_call *call)
{
    if (nl_s3_header(call, "x-amz-server-side-encryption-customer-algorithm").data)
        return NL_STORE_RAISE("InvalidRequest", "The encryption parameters are not applicable to this object.");
    nl_str version = nl_s3_parameter(call, "versionId");
    if (version.data && !version.length) return NL_STORE_RAISE("InvalidArgument", "Version id cannot be the empty string");
    return NULL;
}

nl_status nl_s3_head_object(nl_s3_call *call, nl_reply *reply)
{
    nl_object object = {0};
    nl_s3_range range = {0};
    bool is_done = false;
    NL_TRY(check_read(call));
    NL_TRY(nl_store_find(call->objects, call->bucket, call->key, nl_s3_parameter(call, "versionId"), call->arena, &object));
    NL_TRY(prepare(call, reply, &object, &range, &is_done));
    reply->is_head = true;
    reply->file_length = is_done ? 0 : range.length;
    return NULL;
}

/* ---- The bytes. */

typedef struct body_stream {
    nl_object_reader *reader; /* owned */
    uint64_t offset, left;
} body_stream;

static nl_status read_stream(void *argument, uint8_t *into, size_t room, size_t *length)
{
    body_stream *stream = argument;
    *length = (size_t)NL_MIN((uint64_t)room, stream->left);
    if (!*length) return NULL;
    NL_TRY(nl_object_reader_read(stream->reader, stream->offset, *length, into));
    stream->offset += *length;
    stream->left -= *length;
    return NULL;
}

static void free_stream(void *argument)
{
    body_stream *stream = argument;
    nl_object_reader_free(stream->reader);
    free(stream);
}

/* Takes reader. */
static nl_status reply_stream(nl_reply *reply, nl_object_reader *reader, const nl_s3_range *range)
{
    body_stream *stream = malloc(sizeof(*stream));
    if (!stream) {
        nl_object_reader_free(reader);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*stream)), NL_P("receivedBytes", "0"));
    }
    *stream = (body_stream){.reader = reader, .offset = range->start, .left = range->length};
    reply->stream = read_stream;
    reply->stream_free = free_stream;
    reply->stream_argument = stream;
    reply->stream_length = (int64_t)range->length;
    return NULL;
}

/* Few bytes that lie in the row. Takes reader. */
static nl_status reply_inline(nl_s3_call *call, nl_reply *reply, nl_object_reader *reader, const nl_s3_range *range)
{
    nl_builder *body = NL_NEW(call->arena, nl_builder);
    nl_builder_init(body, NL_OBJECT_INLINE_BYTES_MAX);
    nl_append_fill(body, '\0', (size_t)range->length);
    reply->body = body;
    nl_status status = nl_builder_failed(body) ? NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)range->length), NL_P("receivedBytes", "0"))
                                               : nl_object_reader_read(reader, range->start, (size_t)range->length, (uint8_t *)body->data);
    nl_object_reader_free(reader);
    return status;
}

/* Takes reader. */
static nl_status reply_bytes(nl_s3_call *call, nl_reply *reply, nl_object_reader *reader, const nl_s3_range *range)
{
    int file = -1;
    uint64_t offset = 0;
    nl_status status = range->length ? nl_object_reader_file(reader, range->start, range->length, &file, &offset) : NULL;
    if (!status && file < 0 && range->length && range->length <= NL_OBJECT_INLINE_BYTES_MAX) return reply_inline(call, reply, reader, range);
    if (!status && file < 0 && range->length) return reply_stream(reply, reader, range);
    nl_object_reader_free(reader);
    if (status || file < 0) return status;
    reply->file = file;
    reply->file_offset = offset;
    reply->file_length = range->length;
    return NULL;
}

nl_status nl_s3_get_object(nl_s3_call *call, nl_reply *reply)
{
    nl_object object = {0};
    nl_object_reader *reader = NULL;
    nl_s3_range range = {0};
    bool is_done = false;
    NL_TRY(check_read(call));
    NL_TRY(nl_store_open(call->objects, call->bucket, call->key, nl_s3_parameter(call, "versionId"), call->arena, &object, &reader));
    nl_status status = prepare(call, reply, &object, &range, &is_done);
    if (status || is_done) {
        nl_object_reader_free(reader);
        return status;
    }
    return reply_bytes(call, reply, reader, &range);
}

/* ---- GetObjectAttributes. */

static nl_status write_parts(nl_s3_call *call, nl_builder *xml, const nl_object *object)
{
    uint32_t marker = 0, count_max = 0, count = 0;
    const nl_part *parts = NULL;
    bool is_truncated = false;
    NL_TRY(nl_s3_number(nl_s3_header(call, "x-amz-part-number-marker"), "part-number-marker", 0, UINT32_MAX, &marker));
    NL_TRY(nl_s3_number(nl_s3_header(call, "x-amz-max-parts"), "max-parts", NL_S3_PAGE_MAX, NL_S3_PAGE_MAX, &count_max));
    NL_TRY(nl_store_list_parts(call->objects, object->data, marker, count_max, call->arena, &parts, &count, &is_truncated));
    nl_append_c(xml, "<ObjectParts>");
    nl_s3_element_f(xml, "PartsCount", "%u", object->part_count);
    nl_s3_element_f(xml, "PartNumberMarker", "%u", marker);
    nl_s3_element_f(xml, "NextPartNumberMarker", "%u", count ? parts[count - 1].number : 0);
    nl_s3_element_f(xml, "MaxParts", "%u", count_max);
    nl_s3_element(xml, "IsTruncated", is_truncated ? NL_STR("true") : NL_STR("false"));
    for (uint32_t i = 0; i < count; i++) {
        nl_append_c(xml, "<Part>");
        nl_s3_element_f(xml, "PartNumber", "%u", parts[i].number);
        nl_s3_element_f(xml, "Size", "%llu", (unsigned long long)parts[i].size_bytes);
        nl_s3_checksum_elements(xml, parts[i].checksum, false);
        nl_append_c(xml, "</Part>");
    }
    nl_append_c(xml, "</ObjectParts>");
    return NULL;
}

static bool wants(nl_str list, const char *attribute)
{
    nl_str part;
    while (nl_str_next_part(&list, ',', &part))
        if (nl_str_is(nl_str_trim(part), attribute)) return true;
    return false;
}

nl_status nl_s3_get_attributes(nl_s3_call *call, nl_reply *reply)
{
    nl_str list = nl_s3_header(call, "x-amz-object-attributes");
    nl_object object = {0};
    if (!list.length) return NL_STORE_RAISE("InvalidArgument", "The x-amz-object-attributes header specifying the attributes to be retrieved is either missing or empty");
    NL_TRY(nl_store_find(call->objects, call->bucket, call->key, nl_s3_parameter(call, "versionId"), call->arena, &object));
    if (object.is_marker) return refuse_marker(call, &object, nl_s3_has(call, "versionId"));
    nl_builder *xml = nl_s3_xml(call, "GetObjectAttributesResponse");
    nl_status status = NULL;
    if (wants(list, "ETag")) nl_s3_element(xml, "ETag", object.etag);
    if (wants(list, "Checksum") && object.checksum.length) {
        nl_append_c(xml, "<Checksum>");
        nl_s3_checksum_elements(xml, object.checksum, true);
        nl_append_c(xml, "</Checksum>");
    }
    if (wants(list, "ObjectParts") && object.part_count) status = write_parts(call, xml, &object);
    if (wants(list, "StorageClass")) nl_s3_element(xml, "StorageClass", object.storage_class.length ? object.storage_class : NL_STR("STANDARD"));
    if (wants(list, "ObjectSize")) nl_s3_element_f(xml, "ObjectSize", "%llu", (unsigned long long)object.size_bytes);
    nl_s3_reply_xml(call, reply, xml, "GetObjectAttributesResponse");
    nl_s3_reply(call, reply, "Last-Modified", nl_s3_http_time(call->arena, object.modified_micros));
    nl_s3_reply_version(call, reply, &object);
    return status;
}
