/* lakehouse/rest/config.c - /v1/config and the token endpoint. */
#include "lakehouse/rest/rest_private.h"

static nl_status find_warehouse(nl_rest_api_call *call, nl_str name, nl_warehouse *warehouse, bool *exists)
{
    const nl_warehouse *all;
    uint32_t count;
    NL_TRY(nl_tables_find_warehouse(call->tables, call->rest->options.kind, name, call->arena, warehouse, exists));
    if (*exists || call->rest->options.kind != NL_WAREHOUSE_PLAIN) return NULL;
    /* Clients of other catalogs give a location. */
    nl_str location = name;
    while (location.length > 1 && location.data[location.length - 1] == '/')
        location.length--;
    NL_TRY(nl_tables_list_warehouses(call->tables, NL_WAREHOUSE_PLAIN, call->arena, &all, &count));
    for (uint32_t i = 0; i < count && !*exists; i++) {
        if (!nl_str_equal(all[i].location, location)) continue;
        *warehouse = all[i];
        *exists = true;
    }
    return NULL;
}

/* Pasted into paths by clients as it is, so it comes encoded. */
static nl_str encoded(nl_arena *arena, nl_str text)
{
    nl_builder out;
    nl_builder_init(&out, 64u << 10);
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
        if (is_plain) nl_append_char(&out, c);
        else nl_append_f(&out, "%%%02X", (unsigned char)c);
    }
    const nl_str kept = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return kept;
}

static void write_endpoints(nl_json_writer *json, bool is_bucket, nl_arena *arena)
{
    nl_json_key(json, "endpoints");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < nl_rest_api_route_count; i++)
        if (!nl_rest_api_routes[i].is_hidden && !(is_bucket && nl_rest_api_routes[i].is_plain))
            nl_json_write_text(json, nl_arena_f(arena, "%s /v1/{prefix}/%s", nl_rest_api_routes[i].method, nl_rest_api_routes[i].path));
    nl_json_end(json, ']');
}

nl_status nl_rest_api_get_config(nl_rest_api_call *call)
{
    bool has_name, exists = true;
    const nl_str name = nl_request_parameter(call->request, "warehouse", &has_name);
    nl_warehouse warehouse = {0};
    const bool is_bucket = call->rest->options.kind == NL_WAREHOUSE_TABLE_BUCKET;
    if (is_bucket && !name.length)
        return nl_rest_api_refuse(call, 400, "BadRequestException", "Set the catalog's warehouse to the ARN of a table bucket");
    if (name.length) NL_TRY(find_warehouse(call, name, &warehouse, &exists));
    if (!exists) return nl_rest_api_refuse(call, 404, "NoSuchWarehouseException", "Warehouse does not exist: " NL_STR_FMT, NL_STR_ARG(name));
    nl_json_writer json = nl_rest_api_begin(call);
    nl_json_key(&json, "defaults");
    nl_json_begin(&json, '{');
    nl_rest_api_write_io_config(call, &json, false);
    nl_json_end(&json, '}');
    nl_json_key(&json, "overrides");
    nl_json_begin(&json, '{');
    if (name.length) {
        nl_json_key(&json, "prefix");
        nl_json_write_text(&json, encoded(call->arena, is_bucket ? warehouse.arn : warehouse.name));
    }
    nl_json_end(&json, '}');
    nl_json_key(&json, "idempotency-key-lifetime");
    nl_json_write_text(&json, nl_arena_f(call->arena, "PT%dM", NL_REMEMBERED_SECONDS / 60));
    write_endpoints(&json, is_bucket, call->arena);
    nl_rest_api_end(call, &json, 200);
    return NULL;
}

/* ---- OAuth2 (RFC 6749, RFC 8693): client credentials are the key pair; any token is exchanged for a new one ---- */

static nl_status oauth_error(nl_rest_api_call *call, int32_t status, const char *error, const char *description)
{
    nl_json_writer json = nl_rest_api_begin(call);
    nl_json_key(&json, "error");
    nl_json_write_text(&json, nl_str_from(error));
    nl_json_key(&json, "error_description");
    nl_json_write_text(&json, nl_str_from(description));
    nl_rest_api_end(call, &json, status);
    return NULL;
}

static nl_str form_value(nl_rest_api_call *call, const char *key)
{
    nl_request form = *call->request;
    form.query = (nl_str){(const char *)call->request->body.data, call->request->body.length};
    bool has;
    return nl_request_parameter(&form, key, &has);
}

/* "Basic base64(id:secret)" */
static bool read_basic(nl_rest_api_call *call, nl_str *id, nl_str *secret)
{
    static const nl_str basic = NL_STR_INIT("Basic ");
    const nl_str header = nl_request_header(call->request, "authorization");
    if (!nl_str_starts_nocase(header, basic)) return false;
    const nl_str text = nl_str_trim(nl_str_slice(header, basic.length, header.length));
    char *out = nl_arena_alloc(call->arena, text.length + 1);
    size_t length = 0;
    uint32_t bits = 0, bit_count = 0;
    for (size_t i = 0; i < text.length && text.data[i] != '='; i++) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const char *at = memchr(digits, text.data[i], 64);
        if (!at) return false;
        bits = (bits << 6) | (uint32_t)(at - digits);
        bit_count += 6;
        if (bit_count < 8) continue;
        bit_count -= 8;
        out[length++] = (char)(bits >> bit_count);
    }
    const nl_str pair = {out, length};
    const size_t colon = nl_str_find_char(pair, ':', 0);
    if (colon == NL_NOT_FOUND) return false;
    *id = nl_str_slice(pair, 0, colon);
    *secret = nl_str_slice(pair, colon + 1, length);
    return true;
}

nl_status nl_rest_api_get_token(nl_rest_api_call *call)
{
    const nl_lakehouse_keys *keys = &call->rest->options.keys;
    const nl_str grant = form_value(call, "grant_type");
    if (nl_str_is(grant, "client_credentials")) {
        nl_str id = form_value(call, "client_id"), secret = form_value(call, "client_secret");
        read_basic(call, &id, &secret);
        const bool is_known = nl_str_equal(id, keys->access_key) && nl_same_secret(secret, keys->secret_key);
        if (!is_known && keys->is_strict) return oauth_error(call, 401, "invalid_client", "The client id or its secret is wrong");
    } else if (nl_str_is(grant, "urn:ietf:params:oauth:grant-type:token-exchange")) {
        if (keys->is_strict && !nl_access_token_is_good(keys, form_value(call, "subject_token"), call->arena))
            return oauth_error(call, 401, "invalid_client", "The subject token is wrong or has expired");
    } else {
        return oauth_error(call, 400, grant.length ? "unsupported_grant_type" : "invalid_request", "grant_type is client_credentials or token-exchange");
    }
    nl_json_writer json = nl_rest_api_begin(call);
    nl_json_key(&json, "access_token");
    nl_json_write_text(&json, nl_access_token(keys, 3600, call->arena));
    nl_json_key(&json, "token_type");
    nl_json_write_text(&json, NL_STR("bearer"));
    nl_json_key(&json, "expires_in");
    nl_json_write_int(&json, 3600);
    nl_json_key(&json, "issued_token_type");
    nl_json_write_text(&json, NL_STR("urn:ietf:params:oauth:token-type:access_token"));
    nl_rest_api_end(call, &json, 200);
    nl_reply_header(call->request, call->reply, "Cache-Control", NL_STR("no-store"));
    return NULL;
}
