/* lakehouse/s3/words.c - what requests say, and how answers are written: parameters, headers, times, XML. */
#include <stdarg.h>
#include <stdio.h>

#include "base/calendar.h"
#include "base/number.h"
#include "lakehouse/s3/s3.h"
#include "storage/http.h"
#include "storage/xml.h"

#define REPLY_BYTES_MAX (64u << 20) /* of a listing: 1,000 keys of 1,024 bytes, each byte escaped, fit ten times */

nl_str nl_s3_parameter(const nl_s3_call *call, const char *name)
{
    for (uint32_t i = 0; i < call->parameter_count; i++)
        if (nl_str_is(call->parameters[i].key, name)) return call->parameters[i].value;
    return (nl_str){0};
}

bool nl_s3_has(const nl_s3_call *call, const char *name)
{
    return nl_s3_parameter(call, name).data != NULL;
}

nl_str nl_s3_header(const nl_s3_call *call, const char *name)
{
    nl_str value = nl_request_header(call->request, name);
    return value.data ? nl_str_trim(value) : value;
}

nl_status nl_s3_number(nl_str text, const char *name, uint32_t fallback, uint32_t most, uint32_t *value)
{
    int64_t number = fallback;
    if (text.length && (!nl_parse_int64(text, &number) || number < 0 || number > INT32_MAX))
        return NL_STORE_RAISE("InvalidArgument", "Provided %s not an integer or within integer range", name);
    *value = (uint32_t)NL_MIN(number, (int64_t)most);
    return NULL;
}

/* ---- Times. */

static void put_digits(char *into, size_t count, int32_t value)
{
    for (size_t i = count; i-- > 0; value /= 10) into[i] = (char)('0' + value % 10);
}

nl_str nl_s3_iso_time(nl_arena *arena, int64_t micros)
{
    nl_civil civil;
    nl_civil_from_micros(micros, &civil);
    nl_str text = nl_arena_str(arena, NL_STR("0000-00-00T00:00:00.000Z"));
    char *into = NL_UNCONST(text.data);
    put_digits(into, 4, civil.year);
    put_digits(into + 5, 2, civil.month);
    put_digits(into + 8, 2, civil.day);
    put_digits(into + 11, 2, civil.hour);
    put_digits(into + 14, 2, civil.minute);
    put_digits(into + 17, 2, civil.second);
    put_digits(into + 20, 3, civil.microsecond / 1000);
    return text;
}

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

nl_str nl_s3_http_time(nl_arena *arena, int64_t micros)
{
    static const char days[] = "MonTueWedThuFriSatSun";
    nl_civil civil;
    nl_civil_from_micros(micros, &civil);
    const int32_t day = nl_day_of_week(nl_floor_div(micros, NL_MICROS_PER_DAY));
    return nl_arena_f(arena, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT", days + 3 * (day - 1), civil.day, months + 3 * (civil.month - 1), civil.year, civil.hour, civil.minute, civil.second);
}

static bool read_digits(nl_str text, size_t start, size_t count, int32_t *value)
{
    int64_t number = 0;
    if (start + count > text.length || !nl_parse_int64(nl_str_slice(text, start, start + count), &number) || number < 0) return false;
    *value = (int32_t)number;
    return true;
}

/* RFC 1123's fixed form "Sun, 06 Nov 1994 08:49:37 GMT"; others are not sent any more and are ignored, as RFC 9110 allows. */
bool nl_s3_parse_http_time(nl_str text, int64_t *micros)
{
    nl_civil civil = {0};
    if (text.length != 29 || !nl_str_ends(text, NL_STR(" GMT"))) return false;
    const size_t month = nl_str_find(nl_str_from(months), nl_str_slice(text, 8, 11), 0);
    if (month == NL_NOT_FOUND || month % 3) return false;
    civil.month = (int32_t)(month / 3 + 1);
    if (!read_digits(text, 5, 2, &civil.day) || !read_digits(text, 12, 4, &civil.year) || !read_digits(text, 17, 2, &civil.hour) || !read_digits(text, 20, 2, &civil.minute) ||
        !read_digits(text, 23, 2, &civil.second) || !nl_civil_is_valid(civil.year, civil.month, civil.day) || civil.hour > 23 || civil.minute > 59 || civil.second > 60)
        return false;
    *micros = nl_micros_from_civil(&civil);
    return true;
}

/* ---- ETags. */

nl_str nl_s3_quoted(nl_arena *arena, nl_str etag)
{
    char *text = nl_arena_alloc(arena, etag.length + 2);
    text[0] = text[etag.length + 1] = '"';
    if (etag.length) memcpy(text + 1, etag.data, etag.length);
    return (nl_str){text, etag.length + 2};
}

nl_str nl_s3_unquoted(nl_str etag)
{
    etag = nl_str_trim(etag);
    if (etag.length >= 2 && etag.data[0] == '"' && etag.data[etag.length - 1] == '"') return nl_str_slice(etag, 1, etag.length - 1);
    return etag;
}

/* ---- Writing. */

nl_builder *nl_s3_xml(nl_s3_call *call, const char *root)
{
    nl_builder *xml = NL_NEW(call->arena, nl_builder);
    nl_builder_init(xml, REPLY_BYTES_MAX);
    nl_append_f(xml, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<%s xmlns=\"" NL_S3_NAMESPACE "\">", root);
    return xml;
}

void nl_s3_element(nl_builder *xml, const char *name, nl_str text)
{
    nl_xml_append_element(xml, name, text);
}

void nl_s3_element_f(nl_builder *xml, const char *name, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    nl_xml_append_element(xml, name, nl_str_from(text));
}

void nl_s3_reply_xml(nl_s3_call *call, nl_reply *reply, nl_builder *xml, const char *root)
{
    nl_append_f(xml, "</%s>", root);
    nl_reply_header(call->request, reply, "Content-Type", NL_STR("application/xml"));
    reply->body = xml;
}

void nl_s3_owner(nl_builder *xml, const char *element)
{
    nl_append_f(xml, "<%s><ID>" NL_S3_OWNER "</ID><DisplayName>" NL_S3_OWNER_NAME "</DisplayName></%s>", element, element);
}

void nl_s3_reply(nl_s3_call *call, nl_reply *reply, const char *header, nl_str value)
{
    if (value.length) nl_reply_header(call->request, reply, header, value);
}

/* ---- What is stored with an object. */

nl_str nl_s3_stored(nl_str headers, const char *name)
{
    nl_str line;
    while (nl_str_next_part(&headers, '\n', &line)) {
        const size_t colon = nl_str_find_char(line, ':', 0);
        if (colon != NL_NOT_FOUND && nl_str_is(nl_str_slice(line, 0, colon), name)) return nl_str_slice(line, colon + 1, line.length);
    }
    return (nl_str){0};
}

bool nl_s3_split_checksum(nl_str stored, const nl_s3_checksum_kind **kind, nl_str *type, nl_str *value)
{
    nl_str name;
    if (!nl_str_next_part(&stored, ' ', &name) || !nl_str_next_part(&stored, ' ', type) || !nl_str_next_part(&stored, ' ', value)) return false;
    *kind = nl_s3_checksum_find(name);
    return *kind != NULL;
}

void nl_s3_checksum_elements(nl_builder *xml, nl_str stored, bool with_type)
{
    const nl_s3_checksum_kind *kind;
    nl_str type, value;
    if (!nl_s3_split_checksum(stored, &kind, &type, &value)) return;
    nl_s3_element(xml, kind->element, value);
    if (with_type) nl_s3_element(xml, "ChecksumType", type);
}

void nl_s3_reply_checksum(nl_s3_call *call, nl_reply *reply, nl_str stored)
{
    const nl_s3_checksum_kind *kind;
    nl_str type, value;
    if (!nl_s3_split_checksum(stored, &kind, &type, &value)) return;
    nl_s3_reply(call, reply, kind->header, value);
    nl_s3_reply(call, reply, "x-amz-checksum-type", type);
}

void nl_s3_reply_version(nl_s3_call *call, nl_reply *reply, const nl_object *object)
{
    if (object->is_versioned) nl_s3_reply(call, reply, "x-amz-version-id", object->version);
}

/* Of a write: S3 tells no version where versioning is suspended. */
void nl_s3_reply_made(nl_s3_call *call, nl_reply *reply, const nl_object *made)
{
    if (!nl_str_is(made->version, "null")) nl_s3_reply_version(call, reply, made);
}

/* ---- Documents. */

nl_status nl_s3_read_xml(nl_s3_call *call, const char *root, const nl_xml **document)
{
    nl_str text = nl_builder_str(&call->document);
    const nl_xml *parsed = NULL;
    nl_status status = nl_xml_parse(call->arena, (nl_bytes){(const uint8_t *)text.data, text.length}, &parsed);
    const bool is_other = !status && !nl_str_is(parsed->name, root);
    if (status && nl_error_kind_of(status) == NL_KIND_RETRY) return status;
    if (status || is_other) {
        nl_error_free(status);
        return NL_STORE_RAISE("MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema");
    }
    *document = parsed;
    return NULL;
}

/* ---- Tags: "a=b&c=d", percent-encoded. */

/* Source: Amazon S3 User Guide, "Categorizing your storage using tags": lengths, and a key only once. */
bool nl_s3_tags_are_valid(nl_arena *arena, nl_str encoded, uint32_t count_max, const char **problem)
{
    nl_list keys = {0};
    nl_str pair;
    while (nl_str_next_part(&encoded, '&', &pair)) {
        const size_t equals = nl_str_find_char(pair, '=', 0);
        nl_str *key = NL_NEW(arena, nl_str), value = {0};
        nl_status status = nl_url_decode(arena, nl_str_slice(pair, 0, equals), true, key);
        if (!status && equals != NL_NOT_FOUND) status = nl_url_decode(arena, nl_str_slice(pair, equals + 1, pair.length), true, &value);
        const bool is_broken = status || !nl_utf8_is_valid(*key) || !nl_utf8_is_valid(value);
        nl_error_free(status);
        const size_t key_length = is_broken ? 0 : nl_utf8_length(*key);
        if (is_broken || key_length == 0 || key_length > 128) *problem = "The TagKey you have provided is invalid";
        else if (nl_utf8_length(value) > 256) *problem = "The TagValue you have provided is invalid";
        else *problem = NULL;
        for (uint32_t i = 0; !*problem && i < keys.count; i++)
            if (nl_str_equal(*(const nl_str *)keys.items[i], *key)) *problem = "Cannot provide multiple Tags with the same key";
        if (*problem) return false;
        nl_list_add(arena, &keys, key);
        if (keys.count > count_max) {
            *problem = "Object tags cannot be greater than 10";
            return false;
        }
    }
    *problem = NULL;
    return true;
}
