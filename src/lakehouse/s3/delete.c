/* lakehouse/s3/delete.c - DeleteObject, DeleteObjects, and tags of objects. */
#include "base/number.h"
#include "lakehouse/s3/s3.h"
#include "storage/http.h"
#include "storage/xml.h"

#define DELETES_MAX     1000u
#define OBJECT_TAGS_MAX 10u

static nl_status read_delete_conditions(nl_store_delete *one, nl_str time, nl_str size)
{
    int64_t bytes = 0;
    one->asks_time = time.length > 0;
    one->asks_size = size.length > 0;
    if (one->asks_time && !nl_s3_parse_http_time(time, &one->if_modified_micros) && !nl_cast_timestamp(time, nl_timezone_utc(), &one->if_modified_micros))
        return NL_STORE_RAISE("InvalidArgument", "The time of the condition cannot be read.");
    if (one->asks_size && (!nl_parse_int64(size, &bytes) || bytes < 0)) return NL_STORE_RAISE("InvalidArgument", "The size of the condition is not a number.");
    one->if_size_bytes = (uint64_t)bytes;
    return NULL;
}

nl_status nl_s3_delete_object(nl_s3_call *call, nl_reply *reply)
{
    nl_str version = nl_s3_parameter(call, "versionId");
    if (version.data && !version.length) return NL_STORE_RAISE("InvalidArgument", "Version id cannot be the empty string");
    nl_store_delete one = {.key = call->key, .version = version, .if_match = nl_s3_header(call, "If-Match")};
    NL_TRY(read_delete_conditions(&one, nl_s3_header(call, "x-amz-if-match-last-modified-time"), nl_s3_header(call, "x-amz-if-match-size")));
    NL_TRY(nl_store_delete_many(call->objects, call->bucket, &one, 1, call->arena));
    if (one.done.failure) return one.done.failure;
    nl_s3_reply(call, reply, "x-amz-version-id", one.done.version);
    if (one.done.is_marker) nl_s3_reply(call, reply, "x-amz-delete-marker", NL_STR("true"));
    reply->status = 204;
    return NULL;
}

/* ---- DeleteObjects. */

static nl_status malformed(void)
{
    return NL_STORE_RAISE("MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema");
}

static nl_status read_deletes(nl_s3_call *call, nl_store_delete **deletes, uint32_t *count, bool *is_quiet)
{
    const nl_xml *root = NULL;
    NL_TRY(nl_s3_read_xml(call, "Delete", &root));
    *deletes = NL_NEW_ARRAY(call->arena, nl_store_delete, DELETES_MAX);
    for (const nl_xml *object = nl_xml_child(root, "Object"); object; object = nl_xml_next(object)) {
        if (*count == DELETES_MAX) return malformed();
        nl_store_delete *one = &(*deletes)[(*count)++];
        one->key = nl_xml_text(object, "Key");
        one->version = nl_str_trim(nl_xml_text(object, "VersionId"));
        one->if_match = nl_xml_text(object, "ETag");
        NL_TRY(read_delete_conditions(one, nl_str_trim(nl_xml_text(object, "LastModifiedTime")), nl_str_trim(nl_xml_text(object, "Size"))));
        if (!one->key.length) return malformed();
    }
    *is_quiet = nl_str_is_nocase(nl_str_trim(nl_xml_text(root, "Quiet")), "true");
    return *count ? nl_arena_check(call->arena) : malformed();
}

static void write_deleted(nl_builder *xml, const nl_store_delete *one)
{
    nl_append_c(xml, "<Deleted>");
    nl_s3_element(xml, "Key", one->key);
    if (one->version.length) nl_s3_element(xml, "VersionId", one->version);
    if (one->done.is_marker) {
        nl_s3_element(xml, "DeleteMarker", NL_STR("true"));
        nl_s3_element(xml, "DeleteMarkerVersionId", one->done.version);
    }
    nl_append_c(xml, "</Deleted>");
}

/* Frees the failure. */
static void write_failed(nl_builder *xml, nl_store_delete *one)
{
    const char *code = nl_store_code(one->done.failure);
    nl_append_c(xml, "<Error>");
    nl_s3_element(xml, "Key", one->key);
    if (one->version.length) nl_s3_element(xml, "VersionId", one->version);
    nl_s3_element(xml, "Code", nl_str_from(code ? code : "InternalError"));
    nl_s3_element(xml, "Message", nl_str_from(code ? nl_error_param(one->done.failure, "message") : "We encountered an internal error. Please try again."));
    nl_append_c(xml, "</Error>");
    nl_error_free(one->done.failure);
    one->done.failure = NULL;
}

nl_status nl_s3_delete_objects(nl_s3_call *call, nl_reply *reply)
{
    nl_store_delete *deletes = NULL;
    uint32_t count = 0;
    bool is_quiet = false;
    NL_TRY(read_deletes(call, &deletes, &count, &is_quiet));
    NL_TRY(nl_store_delete_many(call->objects, call->bucket, deletes, count, call->arena));
    nl_builder *xml = nl_s3_xml(call, "DeleteResult");
    for (uint32_t i = 0; i < count; i++) {
        if (deletes[i].done.failure) write_failed(xml, &deletes[i]);
        else if (!is_quiet) write_deleted(xml, &deletes[i]);
    }
    nl_s3_reply_xml(call, reply, xml, "DeleteResult");
    return NULL;
}

/* ---- Tags of an object. */

static nl_status find_object(nl_s3_call *call, nl_object *object)
{
    NL_TRY(nl_store_find(call->objects, call->bucket, call->key, nl_s3_parameter(call, "versionId"), call->arena, object));
    if (!object->is_marker) return NULL;
    nl_s3_error_header(call, "x-amz-delete-marker", NL_STR("true"));
    if (nl_s3_has(call, "versionId")) return NL_STORE_RAISE("MethodNotAllowed", "The specified method is not allowed against this resource.");
    return NL_STORE_RAISE("NoSuchKey", "The specified key does not exist.");
}

static void write_tags(nl_s3_call *call, nl_builder *xml, nl_str encoded)
{
    nl_append_c(xml, "<TagSet>");
    nl_str pair;
    while (nl_str_next_part(&encoded, '&', &pair)) {
        const size_t equals = nl_str_find_char(pair, '=', 0);
        nl_str key = {0}, value = {0};
        nl_status status = nl_url_decode(call->arena, nl_str_slice(pair, 0, equals), true, &key);
        if (!status && equals != NL_NOT_FOUND) status = nl_url_decode(call->arena, nl_str_slice(pair, equals + 1, pair.length), true, &value);
        nl_error_free(status); /* it was checked when it was stored */
        nl_append_c(xml, "<Tag>");
        nl_s3_element(xml, "Key", key);
        nl_s3_element(xml, "Value", value);
        nl_append_c(xml, "</Tag>");
    }
    nl_append_c(xml, "</TagSet>");
}

nl_status nl_s3_get_object_tags(nl_s3_call *call, nl_reply *reply)
{
    nl_object object = {0};
    NL_TRY(find_object(call, &object));
    nl_builder *xml = nl_s3_xml(call, "Tagging");
    write_tags(call, xml, object.tags);
    nl_s3_reply_xml(call, reply, xml, "Tagging");
    nl_s3_reply_version(call, reply, &object);
    return NULL;
}

nl_status nl_s3_read_tags(nl_s3_call *call, nl_str *encoded)
{
    const nl_xml *root = NULL;
    NL_TRY(nl_s3_read_xml(call, "Tagging", &root));
    const nl_xml *set = nl_xml_child(root, "TagSet");
    if (!set) return malformed();
    nl_str text = NL_STR("");
    uint32_t count = 0;
    for (const nl_xml *tag = nl_xml_child(set, "Tag"); tag; tag = nl_xml_next(tag)) {
        nl_str key = nl_xml_text(tag, "Key"), value = nl_xml_text(tag, "Value");
        if (++count > OBJECT_TAGS_MAX) return NL_STORE_RAISE("BadRequest", "Object tags cannot be greater than 10");
        text = nl_arena_f(call->arena, NL_STR_FMT "%s" NL_STR_FMT "=" NL_STR_FMT, NL_STR_ARG(text), count > 1 ? "&" : "", NL_STR_ARG(nl_url_encode(call->arena, key, false)),
                          NL_STR_ARG(nl_url_encode(call->arena, value, false)));
    }
    const char *problem = NULL;
    if (!nl_s3_tags_are_valid(call->arena, text, OBJECT_TAGS_MAX, &problem)) return NL_STORE_RAISE("InvalidTag", "%s", problem);
    *encoded = text;
    return NULL;
}

static nl_status set_tags(nl_s3_call *call, nl_reply *reply, nl_str tags, int32_t status)
{
    nl_object object = {0};
    NL_TRY(nl_store_set_tags(call->objects, call->bucket, call->key, nl_s3_parameter(call, "versionId"), tags, call->arena, &object));
    nl_s3_reply_version(call, reply, &object);
    reply->status = status;
    return NULL;
}

nl_status nl_s3_put_object_tags(nl_s3_call *call, nl_reply *reply)
{
    nl_str tags = {0};
    NL_TRY(nl_s3_read_tags(call, &tags));
    return set_tags(call, reply, tags, 200);
}

nl_status nl_s3_delete_object_tags(nl_s3_call *call, nl_reply *reply)
{
    return set_tags(call, reply, NL_STR(""), 204);
}
