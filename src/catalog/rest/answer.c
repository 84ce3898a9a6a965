/* catalog/rest/answer.c - answers of a REST catalog read with checks, and its failures as conditions. */
#include "catalog/rest/answer.h"


#define WHERE        NL_STR("the REST catalog's answer")
#define MESSAGE_SHOW 500 /* bytes of a body that is no error document */

static nl_status read_properties(nl_arena *arena, const json_t *json, const char *key, const nl_property **properties, uint32_t *count)
{
    *properties = NULL;
    *count = 0;
    return nl_properties_from_json(arena, json_object_get(json, key), key, WHERE, properties, count);
}

static nl_status read_text_array(nl_arena *arena, const json_t *array, const char *key, const nl_str **texts, uint32_t *count)
{
    const size_t size = json_array_size(array);
    nl_str *made = NL_NEW_ARRAY(arena, nl_str, size + 1);
    for (size_t i = 0; i < size; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_string(item)) return nl_json_corrupt(WHERE, "%s: item %zu is no text", key, i);
        made[i] = nl_arena_str(arena, (nl_str){json_string_value(item), json_string_length(item)});
    }
    *texts = made;
    *count = (uint32_t)size;
    return nl_arena_check(arena);
}

nl_status nl_remote_config_read(nl_arena *arena, const json_t *json, nl_remote_config *config)
{
    const json_t *endpoints = NULL;
    nl_str lifetime = {0};
    *config = (nl_remote_config){0};
    NL_TRY(nl_json_object(json, WHERE, "config"));
    NL_TRY(read_properties(arena, json, "defaults", &config->defaults, &config->default_count));
    NL_TRY(read_properties(arena, json, "overrides", &config->overrides, &config->override_count));
    NL_TRY(nl_json_optional_array(json, "endpoints", WHERE, &endpoints));
    NL_TRY(nl_json_optional_text(json, "idempotency-key-lifetime", WHERE, &lifetime));
    config->has_idempotency_keys = lifetime.length > 0;
    return endpoints ? read_text_array(arena, endpoints, "endpoints", &config->endpoints, &config->endpoint_count) : NULL;
}

nl_status nl_remote_credentials_read(nl_arena *arena, const json_t *json, const nl_remote_credential **credentials, uint32_t *credential_count)
{
    const json_t *array = NULL;
    *credentials = NULL;
    *credential_count = 0;
    NL_TRY(nl_json_object(json, WHERE, "credentials"));
    NL_TRY(nl_json_optional_array(json, "storage-credentials", WHERE, &array));
    const size_t size = json_array_size(array);
    nl_remote_credential *made = NL_NEW_ARRAY(arena, nl_remote_credential, size + 1);
    for (size_t i = 0; i < size; i++) {
        const json_t *item = json_array_get(array, i);
        NL_TRY(nl_json_object(item, WHERE, "storage-credentials"));
        NL_TRY(nl_json_text(item, "prefix", WHERE, &made[i].prefix));
        made[i].prefix = nl_arena_str(arena, made[i].prefix);
        NL_TRY(read_properties(arena, item, "config", &made[i].config, &made[i].config_count));
    }
    *credentials = made;
    *credential_count = (uint32_t)size;
    return nl_arena_check(arena);
}

static nl_status read_metadata(nl_arena *arena, const json_t *json, nl_memory *memory, const nl_table_metadata **metadata)
{
    nl_str location = {0};
    NL_TRY(nl_json_object(json, WHERE, "table"));
    NL_TRY(nl_json_optional_text(json, "metadata-location", WHERE, &location));
    const json_t *object = json_object_get(json, "metadata");
    NL_TRY(nl_json_object(object, WHERE, "metadata"));
    return nl_table_metadata_from_json(object, nl_arena_str(arena, location), memory, metadata);
}

nl_status nl_remote_table_read(nl_arena *arena, const json_t *json, nl_memory *memory, nl_remote_table *table)
{
    *table = (nl_remote_table){0};
    NL_TRY(nl_json_object(json, WHERE, "table"));
    NL_TRY(read_properties(arena, json, "config", &table->config, &table->config_count));
    NL_TRY(nl_remote_credentials_read(arena, json, &table->credentials, &table->credential_count));
    return read_metadata(arena, json, memory, &table->metadata);
}

nl_status nl_remote_committed_read(nl_arena *arena, const json_t *json, nl_memory *memory, const nl_table_metadata **metadata)
{
    nl_str location = {0};
    NL_TRY(nl_json_object(json, WHERE, "commit"));
    NL_TRY(nl_json_text(json, "metadata-location", WHERE, &location));
    return read_metadata(arena, json, memory, metadata);
}

static bool is_fit_for_header(nl_str text)
{
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7F) return false;
    return true;
}

nl_status nl_remote_signature_read(nl_arena *arena, const json_t *json, nl_str *uri, const nl_property **headers, uint32_t *header_count)
{
    const char *name;
    json_t *values;
    uint32_t count = 0;
    NL_TRY(nl_json_object(json, WHERE, "signature"));
    NL_TRY(nl_json_text(json, "uri", WHERE, uri));
    const json_t *object = json_object_get(json, "headers");
    NL_TRY(nl_json_object(object, WHERE, "headers"));
    nl_property *made = NL_NEW_ARRAY(arena, nl_property, json_object_size(object) + 1);
    json_object_foreach((json_t *)NL_UNCONST(object), name, values)
    {
        const json_t *value = json_is_array(values) ? json_array_get(values, 0) : values;
        const nl_str text = {json_string_value(value), json_string_length(value)};
        if (!json_is_string(value) || !is_fit_for_header(text) || !is_fit_for_header(nl_str_from(name))) return nl_json_corrupt(WHERE, "headers: not fit for a request");
        made[count++] = (nl_property){nl_arena_str(arena, nl_str_from(name)), nl_arena_str(arena, text)};
    }
    *uri = nl_arena_str(arena, *uri);
    *headers = made;
    *header_count = count;
    return nl_arena_check(arena);
}

nl_status nl_remote_view_read(nl_arena *arena, const json_t *json, nl_memory *memory, const nl_view_metadata **view)
{
    nl_str location = {0};
    NL_TRY(nl_json_object(json, WHERE, "view"));
    NL_TRY(nl_json_optional_text(json, "metadata-location", WHERE, &location));
    const json_t *object = json_object_get(json, "metadata");
    NL_TRY(nl_json_object(object, WHERE, "metadata"));
    return nl_view_metadata_from_json(object, nl_arena_str(arena, location), memory, view);
}

static nl_status read_identifier(nl_arena *arena, const json_t *json, bool is_namespace, nl_identifier **identifier)
{
    const json_t *levels = json;
    nl_identifier *made = NL_NEW(arena, nl_identifier);
    if (!is_namespace) {
        NL_TRY(nl_json_object(json, WHERE, "identifier"));
        NL_TRY(nl_json_text(json, "name", WHERE, &made->name));
        NL_TRY(nl_json_array(json, "namespace", WHERE, &levels));
        made->name = nl_arena_str(arena, made->name);
    }
    if (!json_is_array(levels)) return nl_json_corrupt(WHERE, "a namespace is no list");
    NL_TRY(read_text_array(arena, levels, "namespace", &made->namespace_parts, &made->namespace_count));
    *identifier = made;
    return NULL;
}

nl_status nl_remote_page_read(nl_arena *arena, const json_t *json, bool is_namespaces, nl_list *items, nl_str *next_page)
{
    const json_t *array = NULL;
    nl_str token = {0};
    NL_TRY(nl_json_object(json, WHERE, "list"));
    NL_TRY(nl_json_optional_array(json, is_namespaces ? "namespaces" : "identifiers", WHERE, &array));
    NL_TRY(nl_json_optional_text(json, "next-page-token", WHERE, &token));
    for (size_t i = 0; i < json_array_size(array); i++) {
        nl_identifier *identifier = NULL;
        NL_TRY(read_identifier(arena, json_array_get(array, i), is_namespaces, &identifier));
        nl_list_add(arena, items, identifier);
    }
    *next_page = nl_arena_str(arena, token);
    return nl_arena_check(arena);
}

nl_status nl_remote_namespace_read(nl_arena *arena, const json_t *json, const nl_property **properties, uint32_t *property_count)
{
    NL_TRY(nl_json_object(json, WHERE, "namespace"));
    return read_properties(arena, json, "properties", properties, property_count);
}

nl_status nl_remote_token_read(nl_arena *arena, const json_t *json, nl_remote_token *token)
{
    *token = (nl_remote_token){.expires_in_seconds = NL_NONE};
    NL_TRY(nl_json_object(json, WHERE, "token"));
    NL_TRY(nl_json_text(json, "access_token", WHERE, &token->access_token));
    NL_TRY(nl_json_optional_text(json, "refresh_token", WHERE, &token->refresh_token));
    NL_TRY(nl_json_optional_int64(json, "expires_in", WHERE, &token->expires_in_seconds));
    if (!is_fit_for_header(token->access_token)) return nl_json_corrupt(WHERE, "access_token: not fit for a header");
    if (!token->access_token.length) return nl_json_corrupt(WHERE, "access_token: empty");
    token->access_token = nl_arena_str(arena, token->access_token);
    token->refresh_token = nl_arena_str(arena, token->refresh_token);
    return nl_arena_check(arena);
}

static int32_t base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '-' || c == '+') return 62;
    return c == '_' || c == '/' ? 63 : -1;
}

int64_t nl_jwt_expiry(nl_str token)
{
    char text[4096];
    size_t length = 0;
    uint32_t bits = 0, bit_count = 0;
    const size_t start = nl_str_find_char(token, '.', 0);
    const size_t stop = start == NL_NOT_FOUND ? NL_NOT_FOUND : nl_str_find_char(token, '.', start + 1);
    if (stop == NL_NOT_FOUND || (stop - start) * 3 / 4 >= sizeof(text)) return NL_NONE;
    for (size_t i = start + 1; i < stop && token.data[i] != '='; i++) {
        const int32_t digit = base64_digit(token.data[i]);
        if (digit < 0) return NL_NONE;
        bits = bits << 6 | (uint32_t)digit;
        bit_count += 6;
        if (bit_count < 8) continue;
        bit_count -= 8;
        text[length++] = (char)(bits >> bit_count & 0xFF);
    }
    json_t *json = json_loadb(text, length, 0, NULL);
    const json_t *expiry = json_object_get(json, "exp");
    const int64_t seconds = json_is_integer(expiry) && json_integer_value(expiry) > 0 ? json_integer_value(expiry) : NL_NONE;
    json_decref(json);
    return seconds;
}

/* ---- Failures ---- */

static nl_str text_of(nl_arena *arena, const json_t *json)
{
    return json_is_string(json) ? nl_arena_str(arena, (nl_str){json_string_value(json), json_string_length(json)}) : (nl_str){0};
}

static nl_str printable(nl_arena *arena, nl_str body)
{
    char *text = nl_arena_alloc(arena, MESSAGE_SHOW + 1);
    const size_t length = NL_MIN(body.length, MESSAGE_SHOW);
    for (size_t i = 0; i < length; i++)
        text[i] = (char)((unsigned char)body.data[i] < ' ' ? ' ' : body.data[i]);
    return nl_str_trim((nl_str){text, length});
}

void nl_remote_error_read(nl_arena *arena, nl_str body, nl_remote_error *error)
{
    *error = (nl_remote_error){0};
    json_t *json = body.length ? json_loadb(body.data, body.length, 0, NULL) : NULL;
    const json_t *inner = json_object_get(json, "error");
    if (json_is_object(inner)) {
        error->message = text_of(arena, json_object_get(inner, "message"));
        error->type = text_of(arena, json_object_get(inner, "type"));
    } else if (json_is_string(inner)) { /* OAuth 2.0, RFC 6749 §5.2 */
        error->type = text_of(arena, inner);
        error->message = text_of(arena, json_object_get(json, "error_description"));
        if (!error->message.length) error->message = error->type;
    } else if (json_is_object(json)) { /* AWS: {"message": …} or {"Message": …} */
        error->message = text_of(arena, json_object_get(json, "message"));
        if (!error->message.length) error->message = text_of(arena, json_object_get(json, "Message"));
    }
    if (!error->message.length) error->message = printable(arena, body);
    json_decref(json);
}

static nl_status not_authorized(const nl_remote_error *error, const nl_remote_subject *subject)
{
    return NL_RAISE_TEXT(NILAS_NOT_AUTHORIZED,
                         "Not authorized: " NL_STR_FMT ". The catalog " NL_STR_FMT " was asked with authentication %s; set spark.sql.catalog." NL_STR_FMT
                         ".credential (id:secret) or .token, or rest.auth.type (none, basic, oauth2, sigv4) with its keys.",
                         NL_STR_ARG(error->message), NL_STR_ARG(subject->catalog), subject->authentication ? subject->authentication : "none", NL_STR_ARG(subject->catalog));
}

static nl_status not_found(const nl_remote_error *error, const nl_remote_subject *subject)
{
    const bool is_namespace = nl_str_is(error->type, "NoSuchNamespaceException");
    switch (subject->kind) {
    case NL_REMOTE_NAMESPACE: return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", subject->quoted));
    case NL_REMOTE_TABLE:
    case NL_REMOTE_VIEW:
    case NL_REMOTE_COMMIT:
        if (is_namespace && subject->kind == NL_REMOTE_COMMIT) break;
        return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", subject->quoted));
    case NL_REMOTE_NEW_TABLE:
    case NL_REMOTE_NEW_VIEW: break;
    case NL_REMOTE_SERVICE:
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The REST catalog " NL_STR_FMT " does not know what it was asked for (HTTP 404): " NL_STR_FMT
                             ". Check uri and warehouse.", NL_STR_ARG(subject->catalog), NL_STR_ARG(error->message));
    }
    return NL_RAISE_TEXT(NILAS_NO_SUCH_NAMESPACE, NL_STR_FMT, NL_STR_ARG(error->message));
}

static nl_status conflict(const nl_remote_error *error, const nl_remote_subject *subject)
{
    switch (subject->kind) {
    case NL_REMOTE_NAMESPACE:
        if (nl_str_is(error->type, "NamespaceNotEmptyException")) break;
        return NL_RAISE(SCHEMA_ALREADY_EXISTS, NL_P_STR("schemaName", subject->quoted));
    case NL_REMOTE_NEW_VIEW:
    case NL_REMOTE_NEW_TABLE: return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", subject->quoted));
    case NL_REMOTE_TABLE:
    case NL_REMOTE_COMMIT:
    case NL_REMOTE_VIEW:
    case NL_REMOTE_SERVICE: return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Commit failed: " NL_STR_FMT, NL_STR_ARG(error->message));
    }
    return NL_RAISE_TEXT(NILAS_NAMESPACE_NOT_EMPTY, NL_STR_FMT, NL_STR_ARG(error->message));
}

static nl_status bad_request(const nl_remote_error *error)
{
    if (nl_str_is(error->type, "NamespaceNotEmptyException")) return NL_RAISE_TEXT(NILAS_NAMESPACE_NOT_EMPTY, NL_STR_FMT, NL_STR_ARG(error->message));
    if (nl_str_is(error->type, "ValidationException")) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, NL_STR_FMT, NL_STR_ARG(error->message));
    if (nl_str_is(error->type, "IllegalArgumentException")) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, NL_STR_FMT, NL_STR_ARG(error->message));
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Malformed request: " NL_STR_FMT, NL_STR_ARG(error->message));
}

/* A commit that the server could not answer properly may have been done. */
static nl_status server_failure(const nl_remote_answer *answer, const nl_remote_error *error, const nl_remote_subject *subject)
{
    if (subject->kind == NL_REMOTE_COMMIT)
        return NL_RAISE_TEXT(NILAS_COMMIT_STATE_UNKNOWN, "Cannot say whether the commit was done: the REST catalog answered HTTP %d: " NL_STR_FMT, answer->status,
                             NL_STR_ARG(error->message));
    if (answer->status == 500)
        return NL_RAISE_TEXT(NILAS_SERVICE_UNAVAILABLE, "Server error: " NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(error->type), error->type.length ? ": " : "",
                             NL_STR_ARG(error->message));
    return NL_RAISE_TEXT(NILAS_SERVICE_UNAVAILABLE, "Service unavailable (HTTP %d): " NL_STR_FMT, answer->status, NL_STR_ARG(error->message));
}

static nl_status failure_of(const nl_remote_answer *answer, const nl_remote_error *error, const nl_remote_subject *subject)
{
    switch (answer->status) {
    case 400: return bad_request(error);
    case 401: return not_authorized(error, subject);
    case 403:
        return NL_RAISE_TEXT(NILAS_FORBIDDEN, "Forbidden: " NL_STR_FMT ". Whom catalog " NL_STR_FMT " asks as may not do this there.", NL_STR_ARG(error->message),
                             NL_STR_ARG(subject->catalog));
    case 404: return not_found(error, subject);
    case 405:
    case 406:
    case 501: return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The REST catalog " NL_STR_FMT " does not do this (HTTP %d): " NL_STR_FMT, NL_STR_ARG(subject->catalog), answer->status,
                                   NL_STR_ARG(error->message));
    case 409: return conflict(error, subject);
    case 429:
        if (subject->kind == NL_REMOTE_COMMIT) return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Commit failed: too many requests: " NL_STR_FMT, NL_STR_ARG(error->message));
        return NL_RAISE_TEXT(NILAS_SERVICE_UNAVAILABLE, "Too many requests for the REST catalog " NL_STR_FMT ": " NL_STR_FMT, NL_STR_ARG(subject->catalog),
                             NL_STR_ARG(error->message));
    default: break;
    }
    if (answer->status >= 500) return server_failure(answer, error, subject);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Unable to process (HTTP %d): " NL_STR_FMT, answer->status, NL_STR_ARG(error->message));
}

nl_status nl_remote_failure(const nl_remote_answer *answer, const nl_remote_subject *subject)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_remote_error error;
    nl_remote_error_read(arena, answer->body, &error);
    nl_status status = failure_of(answer, &error, subject);
    nl_arena_free(arena);
    return status;
}
