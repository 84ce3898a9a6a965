/* lakehouse/s3/list.c - ListObjects (both forms), ListObjectVersions, ListMultipartUploads, ListBuckets. */
#include "base/number.h"
#include "lakehouse/s3/s3.h"
#include "storage/http.h"

/* What all listings ask for in the same words. */
typedef struct listing {
    nl_s3_call *call;
    nl_str prefix, delimiter;
    uint32_t count_max;
    bool is_encoded; /* encoding-type=url */
    nl_builder *xml;
} listing;

static bool is_text(nl_str text)
{
    return nl_utf8_is_valid(text) && nl_str_find_char(text, '\0', 0) == NL_NOT_FOUND;
}

static nl_status read_listing(nl_s3_call *call, const char *count_name, listing *self)
{
    nl_str encoding = nl_s3_parameter(call, "encoding-type");
    self->call = call;
    self->prefix = nl_s3_parameter(call, "prefix");
    self->delimiter = nl_s3_parameter(call, "delimiter");
    self->is_encoded = nl_str_is_nocase(encoding, "url");
    if (encoding.length && !self->is_encoded) return NL_STORE_RAISE("InvalidArgument", "Invalid Encoding Method specified in Request");
    static const char *const names[] = {"prefix", "delimiter", "marker", "start-after", "key-marker"};
    for (size_t i = 0; i < NL_COUNT(names); i++) /* no key holds such bytes, and the answer repeats them */
        if (!is_text(nl_s3_parameter(call, names[i]))) return NL_STORE_RAISE("InvalidArgument", "A prefix, delimiter or marker is UTF-8 text without NUL");
    return nl_s3_number(nl_s3_parameter(call, count_name), count_name, NL_S3_PAGE_MAX, NL_S3_PAGE_MAX, &self->count_max);
}

static void name_element(listing *self, const char *name, nl_str text)
{
    nl_s3_element(self->xml, name, self->is_encoded ? nl_url_encode(self->call->arena, text, true) : text);
}

static void optional_name(listing *self, const char *name, nl_str text)
{
    if (text.length) name_element(self, name, text);
}

static void flag_element(nl_builder *xml, const char *name, bool is_true)
{
    nl_s3_element(xml, name, is_true ? NL_STR("true") : NL_STR("false"));
}

static void common_prefix(listing *self, nl_str prefix)
{
    nl_append_c(self->xml, "<CommonPrefixes>");
    name_element(self, "Prefix", prefix);
    nl_append_c(self->xml, "</CommonPrefixes>");
}

static void object_elements(listing *self, const nl_object *object, bool with_owner)
{
    const nl_s3_checksum_kind *kind;
    nl_str type, value;
    nl_s3_element(self->xml, "LastModified", nl_s3_iso_time(self->call->arena, object->modified_micros));
    if (!object->is_marker) {
        nl_s3_element(self->xml, "ETag", nl_s3_quoted(self->call->arena, object->etag));
        if (nl_s3_split_checksum(object->checksum, &kind, &type, &value)) {
            nl_s3_element(self->xml, "ChecksumAlgorithm", nl_str_from(kind->name));
            nl_s3_element(self->xml, "ChecksumType", type);
        }
        char size[NL_NUMBER_TEXT_MAX];
        nl_s3_element(self->xml, "Size", (nl_str){size, nl_format_int64((int64_t)object->size_bytes, size)});
        nl_s3_element(self->xml, "StorageClass", object->storage_class.length ? object->storage_class : NL_STR("STANDARD"));
    }
    if (with_owner) nl_s3_owner(self->xml, "Owner");
}

static void write_objects(listing *self, const nl_store_list *list, bool with_owner)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->entries[i].is_prefix) continue;
        nl_append_c(self->xml, "<Contents>");
        name_element(self, "Key", list->entries[i].object.key);
        object_elements(self, &list->entries[i].object, with_owner);
        nl_append_c(self->xml, "</Contents>");
    }
    for (uint32_t i = 0; i < list->count; i++)
        if (list->entries[i].is_prefix) common_prefix(self, list->entries[i].object.key);
}

/* Where the next page begins: the last key or common prefix of this one. */
static nl_str last_name(const nl_store_list *list)
{
    return list->is_truncated && list->count ? list->entries[list->count - 1].object.key : (nl_str){0};
}

/* ---- ListObjects, version 1. */

static nl_status list_first(nl_s3_call *call, nl_reply *reply)
{
    listing self = {0};
    NL_TRY(read_listing(call, "max-keys", &self));
    nl_str marker = nl_s3_parameter(call, "marker");
    nl_store_list list = {.bucket = call->bucket, .prefix = self.prefix, .delimiter = self.delimiter, .after = marker, .count_max = self.count_max, .arena = call->arena};
    NL_TRY(nl_store_list_objects(call->objects, &list));
    self.xml = nl_s3_xml(call, "ListBucketResult");
    nl_s3_element(self.xml, "Name", call->bucket);
    name_element(&self, "Prefix", self.prefix);
    name_element(&self, "Marker", marker);
    nl_s3_element_f(self.xml, "MaxKeys", "%u", self.count_max);
    optional_name(&self, "Delimiter", self.delimiter);
    if (self.is_encoded) nl_s3_element(self.xml, "EncodingType", NL_STR("url"));
    flag_element(self.xml, "IsTruncated", list.is_truncated);
    if (self.delimiter.length) optional_name(&self, "NextMarker", last_name(&list));
    write_objects(&self, &list, true);
    nl_s3_reply_xml(call, reply, self.xml, "ListBucketResult");
    return NULL;
}

/* ---- Version 2. */

static nl_status read_token(nl_s3_call *call, nl_str token, nl_str *name)
{
    nl_bytes bytes;
    if (!token.length || !nl_base64_decode(call->arena, token, &bytes) || !bytes.length) return NL_STORE_RAISE("InvalidArgument", "The continuation token provided is incorrect");
    *name = (nl_str){(const char *)bytes.data, bytes.length};
    return NULL;
}

static nl_str make_token(nl_s3_call *call, nl_str name)
{
    return name.length ? nl_base64_encode(call->arena, (nl_bytes){(const uint8_t *)name.data, name.length}) : (nl_str){0};
}

static nl_status list_second(nl_s3_call *call, nl_reply *reply)
{
    listing self = {0};
    NL_TRY(read_listing(call, "max-keys", &self));
    nl_str start_after = nl_s3_parameter(call, "start-after"), token = nl_s3_parameter(call, "continuation-token");
    nl_store_list list = {.bucket = call->bucket, .prefix = self.prefix, .delimiter = self.delimiter, .after = start_after, .count_max = self.count_max, .arena = call->arena};
    if (token.length) NL_TRY(read_token(call, token, &list.after));
    NL_TRY(nl_store_list_objects(call->objects, &list));
    self.xml = nl_s3_xml(call, "ListBucketResult");
    nl_s3_element(self.xml, "Name", call->bucket);
    name_element(&self, "Prefix", self.prefix);
    nl_s3_element_f(self.xml, "MaxKeys", "%u", self.count_max);
    nl_s3_element_f(self.xml, "KeyCount", "%u", list.count);
    optional_name(&self, "Delimiter", self.delimiter);
    if (self.is_encoded) nl_s3_element(self.xml, "EncodingType", NL_STR("url"));
    optional_name(&self, "StartAfter", start_after);
    if (token.data) nl_s3_element(self.xml, "ContinuationToken", token);
    flag_element(self.xml, "IsTruncated", list.is_truncated);
    nl_str next = make_token(call, last_name(&list));
    if (next.length) nl_s3_element(self.xml, "NextContinuationToken", next);
    write_objects(&self, &list, nl_str_is_nocase(nl_s3_parameter(call, "fetch-owner"), "true"));
    nl_s3_reply_xml(call, reply, self.xml, "ListBucketResult");
    return NULL;
}

nl_status nl_s3_list_objects(nl_s3_call *call, nl_reply *reply)
{
    nl_str type = nl_s3_parameter(call, "list-type");
    if (!type.data) return list_first(call, reply);
    if (!nl_str_is(type, "2")) return NL_STORE_RAISE("InvalidArgument", "Invalid List Type specified in Request");
    return list_second(call, reply);
}

/* ---- Versions. */

/* The marker's place among the versions of its key, also when it has been removed meanwhile. */
static nl_status read_version_marker(nl_s3_call *call, nl_str key, nl_str version, int64_t *sequence)
{
    *sequence = 0;
    if (!version.length) return NULL;
    if (!key.length) return NL_STORE_RAISE("InvalidArgument", "A version-id marker cannot be specified without a key marker.");
    nl_object object = {0};
    nl_status status = nl_store_find(call->objects, call->bucket, key, version, call->arena, &object);
    if (!status) *sequence = object.sequence;
    if (!nl_store_failed_with(status, "NoSuchVersion")) return status;
    nl_error_free(status);
    if (nl_str_is(version, "null")) { /* nobody knows where it was: rather a version twice than one not at all */
        *sequence = INT64_MAX;
        return NULL;
    }
    for (size_t i = 0; i < 16 && version.length == 32; i++) {
        const char c = version.data[i];
        const bool is_digit = c >= '0' && c <= '9', is_letter = c >= 'a' && c <= 'f';
        if (!is_digit && !is_letter) return NL_STORE_RAISE("InvalidArgument", "Invalid version id specified");
        *sequence = *sequence * 16 + (is_digit ? c - '0' : c - 'a' + 10);
    }
    return *sequence ? NULL : NL_STORE_RAISE("InvalidArgument", "Invalid version id specified");
}

nl_status nl_s3_list_versions(nl_s3_call *call, nl_reply *reply)
{
    listing self = {0};
    NL_TRY(read_listing(call, "max-keys", &self));
    nl_str key = nl_s3_parameter(call, "key-marker"), version = nl_s3_parameter(call, "version-id-marker");
    nl_store_list list = {.bucket = call->bucket, .prefix = self.prefix, .delimiter = self.delimiter, .after = key, .has_versions = true, .count_max = self.count_max, .arena = call->arena};
    NL_TRY(read_version_marker(call, key, version, &list.after_sequence));
    NL_TRY(nl_store_list_objects(call->objects, &list));
    self.xml = nl_s3_xml(call, "ListVersionsResult");
    nl_s3_element(self.xml, "Name", call->bucket);
    name_element(&self, "Prefix", self.prefix);
    name_element(&self, "KeyMarker", key);
    nl_s3_element(self.xml, "VersionIdMarker", version);
    nl_s3_element_f(self.xml, "MaxKeys", "%u", self.count_max);
    optional_name(&self, "Delimiter", self.delimiter);
    if (self.is_encoded) nl_s3_element(self.xml, "EncodingType", NL_STR("url"));
    flag_element(self.xml, "IsTruncated", list.is_truncated);
    optional_name(&self, "NextKeyMarker", last_name(&list));
    if (last_name(&list).length && !list.entries[list.count - 1].is_prefix) nl_s3_element(self.xml, "NextVersionIdMarker", list.entries[list.count - 1].object.version);
    for (uint32_t i = 0; i < list.count; i++) {
        const nl_object *object = &list.entries[i].object;
        const char *element = object->is_marker ? "DeleteMarker" : "Version";
        if (list.entries[i].is_prefix) continue;
        nl_append_f(self.xml, "<%s>", element);
        name_element(&self, "Key", object->key);
        nl_s3_element(self.xml, "VersionId", object->version);
        flag_element(self.xml, "IsLatest", object->is_latest);
        object_elements(&self, object, true);
        nl_append_f(self.xml, "</%s>", element);
    }
    for (uint32_t i = 0; i < list.count; i++)
        if (list.entries[i].is_prefix) common_prefix(&self, list.entries[i].object.key);
    nl_s3_reply_xml(call, reply, self.xml, "ListVersionsResult");
    return NULL;
}

/* ---- Uploads. */

static void write_uploads(listing *self, const nl_store_list_uploads *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const nl_upload *upload = &list->uploads[i];
        if (!upload->token.data) continue;
        nl_append_c(self->xml, "<Upload>");
        name_element(self, "Key", upload->key);
        nl_s3_element(self->xml, "UploadId", upload->token);
        nl_s3_owner(self->xml, "Initiator");
        nl_s3_owner(self->xml, "Owner");
        nl_s3_element(self->xml, "StorageClass", upload->storage_class.length ? upload->storage_class : NL_STR("STANDARD"));
        nl_s3_element(self->xml, "Initiated", nl_s3_iso_time(self->call->arena, upload->initiated_micros));
        if (upload->checksum_algorithm.length) nl_s3_element(self->xml, "ChecksumAlgorithm", upload->checksum_algorithm);
        if (upload->checksum_type.length) nl_s3_element(self->xml, "ChecksumType", upload->checksum_type);
        nl_append_c(self->xml, "</Upload>");
    }
    for (uint32_t i = 0; i < list->count; i++)
        if (!list->uploads[i].token.data) common_prefix(self, list->uploads[i].key);
}

nl_status nl_s3_list_uploads(nl_s3_call *call, nl_reply *reply)
{
    listing self = {0};
    NL_TRY(read_listing(call, "max-uploads", &self));
    nl_str key = nl_s3_parameter(call, "key-marker"), token = nl_s3_parameter(call, "upload-id-marker");
    nl_store_list_uploads list = {.bucket = call->bucket, .prefix = self.prefix, .delimiter = self.delimiter, .after = key, .after_token = key.length ? token : (nl_str){0},
                                  .count_max = self.count_max, .arena = call->arena};
    NL_TRY(nl_store_list_uploads_page(call->objects, &list));
    self.xml = nl_s3_xml(call, "ListMultipartUploadsResult");
    nl_s3_element(self.xml, "Bucket", call->bucket);
    name_element(&self, "KeyMarker", key);
    nl_s3_element(self.xml, "UploadIdMarker", token);
    if (list.is_truncated && list.count) {
        const nl_upload *last = &list.uploads[list.count - 1];
        name_element(&self, "NextKeyMarker", last->key);
        nl_s3_element(self.xml, "NextUploadIdMarker", last->token);
    }
    name_element(&self, "Prefix", self.prefix);
    optional_name(&self, "Delimiter", self.delimiter);
    if (self.is_encoded) nl_s3_element(self.xml, "EncodingType", NL_STR("url"));
    nl_s3_element_f(self.xml, "MaxUploads", "%u", self.count_max);
    flag_element(self.xml, "IsTruncated", list.is_truncated);
    write_uploads(&self, &list);
    nl_s3_reply_xml(call, reply, self.xml, "ListMultipartUploadsResult");
    return NULL;
}

/* ---- Buckets. */

nl_status nl_s3_list_buckets(nl_s3_call *call, nl_reply *reply)
{
    nl_str prefix = nl_s3_parameter(call, "prefix"), token = nl_s3_parameter(call, "continuation-token"), after = {0};
    uint32_t count_max = 0, count = 0;
    const nl_bucket *buckets = NULL;
    NL_TRY(nl_s3_number(nl_s3_parameter(call, "max-buckets"), "max-buckets", 10000, 10000, &count_max));
    if (token.data) NL_TRY(read_token(call, token, &after));
    NL_TRY(nl_store_list_buckets(call->objects, prefix, after, count_max + 1, call->arena, &buckets, &count));
    const bool is_truncated = count > count_max;
    if (is_truncated) count = count_max;
    nl_builder *xml = nl_s3_xml(call, "ListAllMyBucketsResult");
    nl_s3_owner(xml, "Owner");
    nl_append_c(xml, "<Buckets>");
    for (uint32_t i = 0; i < count; i++) {
        nl_append_c(xml, "<Bucket>");
        nl_s3_element(xml, "Name", buckets[i].name);
        nl_s3_element(xml, "CreationDate", nl_s3_iso_time(call->arena, buckets[i].created_micros));
        nl_s3_element(xml, "BucketRegion", buckets[i].region.length ? buckets[i].region : NL_STR("us-east-1"));
        nl_append_c(xml, "</Bucket>");
    }
    nl_append_c(xml, "</Buckets>");
    if (prefix.length) nl_s3_element(xml, "Prefix", prefix);
    if (is_truncated && count) nl_s3_element(xml, "ContinuationToken", make_token(call, buckets[count - 1].name));
    nl_s3_reply_xml(call, reply, xml, "ListAllMyBucketsResult");
    return NULL;
}
