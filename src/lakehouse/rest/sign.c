/* lakehouse/rest/sign.c - remote signing: the client has no keys and asks for each request's signature. Only requests for
 * the table's own files are signed. */
#include "lakehouse/rest/rest_private.h"

#include "base/calendar.h"
#include "lakehouse/access.h"
#include "storage/digest.h"
#include "storage/sigv4.h"

typedef struct target {
    nl_str host, path, query; /* of the URI; path as sent */
} target;

static bool split_uri(nl_str uri, target *parts)
{
    static const nl_str separator = NL_STR_INIT("://");
    const size_t scheme = nl_str_find(uri, separator, 0);
    if (scheme == NL_NOT_FOUND) return false;
    const nl_str rest = nl_str_slice(uri, scheme + separator.length, uri.length);
    const size_t slash = nl_str_find_char(rest, '/', 0);
    const size_t question = nl_str_find_char(rest, '?', 0);
    parts->host = nl_str_slice(rest, 0, NL_MIN(slash, question));
    parts->path = slash == NL_NOT_FOUND || slash > question ? NL_STR("/") : nl_str_slice(rest, slash, question);
    parts->query = question == NL_NOT_FOUND ? (nl_str){0} : nl_str_slice(rest, question + 1, rest.length);
    return parts->host.length > 0;
}

/* Path style "/bucket/key" below the location's "bucket/folder". A request for the bucket as a whole (list, bulk delete) is
 * signed for a table that has the bucket to itself. */
static bool is_within(const target *parts, nl_str location)
{
    const size_t scheme = nl_str_find(location, NL_STR("://"), 0);
    if (scheme == NL_NOT_FOUND) return false;
    const nl_str root = nl_str_slice(location, scheme + 2, location.length); /* "/bucket/folder" */
    if (!nl_str_starts(parts->path, root) || nl_str_find(parts->path, NL_STR(".."), 0) != NL_NOT_FOUND) return false;
    return parts->path.length == root.length || parts->path.data[root.length] == '/';
}

/* Proves that we chose (or checked) this location for a table that is staged: staged tables are kept nowhere. */
nl_str nl_rest_api_staged_key(nl_rest_api_call *call, nl_str location)
{
    uint8_t mac[32];
    const nl_str secret = call->rest->options.keys.secret_key;
    const nl_str text = nl_arena_f(call->arena, "a staged table of warehouse %lld at " NL_STR_FMT, (long long)call->warehouse.id, NL_STR_ARG(location));
    nl_hmac_sha256((nl_bytes){(const uint8_t *)secret.data, secret.length}, (nl_bytes){(const uint8_t *)text.data, text.length}, mac);
    return nl_hex(call->arena, mac, sizeof(mac));
}

/* Is it a file of the table, or of the one that is being made? *is_good only when NULL is returned. */
static nl_status check_table(nl_rest_api_call *call, const target *parts, bool *is_good)
{
    nl_table_entry entry;
    nl_kept_metadata kept;
    bool exists;
    NL_TRY(nl_tables_find(call->tables, call->warehouse.id, &call->identifier, call->arena, &entry, &exists));
    const nl_str staged = nl_request_parameter(call->request, "staged", NULL), key = nl_request_parameter(call->request, "key", NULL);
    if (!exists && staged.length && key.length && nl_same_secret(key, nl_rest_api_staged_key(call, staged))) {
        *is_good = is_within(parts, staged);
        return NULL;
    }
    NL_TRY(nl_rest_api_load(call, &call->identifier, &entry, &kept));
    *is_good = is_within(parts, kept.metadata->location);
    nl_kept_metadata_release(&kept);
    return NULL;
}

/* Java's client keeps the signature of a read (Cache-Control: private) for other ranges of the object and other tries: what
 * differs between them is neither signed nor sent back. */
static bool is_left_out(nl_str name)
{
    static const char *const names[] = {"range", "user-agent", "expect", "connection", "authorization", "x-amz-date", "amz-sdk-invocation-id", "amz-sdk-request", "amz-sdk-retry"};
    for (size_t i = 0; i < NL_COUNT(names); i++)
        if (nl_str_is_nocase(name, names[i])) return true;
    return false;
}

static nl_status read_headers(nl_rest_api_call *call, const json_t *json, nl_str host, nl_property **headers, uint32_t *count)
{
    nl_property *made = NL_NEW_ARRAY(call->arena, nl_property, json_object_size(json) + 1);
    const char *key;
    json_t *values;
    bool has_host = false;
    *count = 0;
    json_object_foreach((json_t *)(uintptr_t)json, key, values)
    {
        const json_t *first = json_array_get(values, 0);
        if (!json_is_string(first)) return nl_rest_api_refuse(call, 400, "BadRequestException", "Malformed request: headers holds something that is no list of texts");
        if (is_left_out(nl_str_from(key))) continue;
        made[(*count)++] = (nl_property){nl_str_from(key), {json_string_value(first), json_string_length(first)}};
        has_host = has_host || nl_str_is_nocase(nl_str_from(key), "host");
    }
    if (!has_host) made[(*count)++] = (nl_property){NL_STR("host"), host};
    *headers = made;
    return nl_arena_check(call->arena);
}

static nl_str find_header(const nl_property *headers, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is_nocase(headers[i].key, name)) return headers[i].value;
    return (nl_str){0};
}

static void write_answer(nl_rest_api_call *call, nl_str uri, const nl_property *headers, uint32_t count)
{
    nl_json_writer json = nl_rest_api_begin(call);
    nl_json_key(&json, "uri");
    nl_json_write_text(&json, uri);
    nl_json_key(&json, "headers");
    nl_json_begin(&json, '{');
    for (uint32_t i = 0; i < count; i++) {
        nl_json_key_str(&json, headers[i].key);
        nl_json_begin(&json, '[');
        nl_json_write_text(&json, headers[i].value);
        nl_json_end(&json, ']');
    }
    nl_json_end(&json, '}');
    nl_rest_api_end(call, &json, 200);
    nl_reply_header(call->request, call->reply, "Cache-Control", NL_STR("private"));
}

nl_status nl_rest_api_sign(nl_rest_api_call *call)
{
    nl_str region, uri, method;
    target parts;
    nl_property *given = NULL;
    const nl_property *headers;
    uint32_t given_count = 0, count;
    const nl_lakehouse_keys *keys = &call->rest->options.keys;
    const json_t *header_json = json_object_get(call->body, "headers");
    NL_TRY(nl_json_text(call->body, "region", NL_REST_API_BODY, &region));
    NL_TRY(nl_json_text(call->body, "uri", NL_REST_API_BODY, &uri));
    NL_TRY(nl_json_text(call->body, "method", NL_REST_API_BODY, &method));
    NL_TRY(nl_json_object(header_json, NL_REST_API_BODY, "headers"));
    if (!split_uri(uri, &parts)) return nl_rest_api_refuse(call, 400, "BadRequestException", "Invalid uri: " NL_STR_FMT, NL_STR_ARG(uri));
    if (call->identifier.name.length) {
        bool is_good = false;
        NL_TRY(check_table(call, &parts, &is_good));
        if (!is_good) return nl_rest_api_refuse(call, 403, "ForbiddenException", "Not a file of this table: " NL_STR_FMT, NL_STR_ARG(uri));
    } else if (keys->is_strict) {
        return nl_rest_api_refuse(call, 403, "ForbiddenException", "Ask at the table's own sign endpoint");
    }
    NL_TRY(read_headers(call, header_json, parts.host, &given, &given_count));
    const nl_str hash = find_header(given, given_count, "x-amz-content-sha256");
    const nl_sigv4_request request = {.method = method,
                                      .path = parts.path,
                                      .query = parts.query,
                                      .headers = given,
                                      .header_count = given_count,
                                      .payload_hash = hash.length ? hash : NL_STR("UNSIGNED-PAYLOAD")};
    const nl_sigv4_scope scope = {.access_key = keys->access_key, .region = region, .service = NL_STR("s3")};
    NL_TRY(nl_sigv4_sign(&request, &scope, keys->secret_key, (nl_str){0}, nl_now_micros(), call->arena, &headers, &count));
    write_answer(call, uri, headers, count);
    return NULL;
}
