/* lakehouse/rest/route.c - which request is which: the table of routes, and the parts of a path.
 *
 * Segments are split before they are decoded, so a slash inside a name stays one. Java encodes a space as '+', others as
 * %20: both are read. A prefix may come encoded (one segment) or decoded by a proxy or client (an ARN then has two).
 */
#include "lakehouse/rest/rest_private.h"

const nl_rest_api_route nl_rest_api_routes[] = {
    {"GET", "config", nl_rest_api_get_config, .is_hidden = true, .is_global = true},
    {"POST", "oauth/tokens", nl_rest_api_get_token, .is_hidden = true, .is_global = true},
    {"GET", "namespaces", nl_rest_api_list_namespaces},
    {"POST", "namespaces", nl_rest_api_create_namespace, .has_body = true},
    {"GET", "namespaces/{namespace}", nl_rest_api_load_namespace},
    {"HEAD", "namespaces/{namespace}", nl_rest_api_namespace_exists},
    {"DELETE", "namespaces/{namespace}", nl_rest_api_drop_namespace},
    {"POST", "namespaces/{namespace}/properties", nl_rest_api_update_namespace, .has_body = true},
    {"GET", "namespaces/{namespace}/tables", nl_rest_api_list_tables},
    {"POST", "namespaces/{namespace}/tables", nl_rest_api_create_table, .has_body = true},
    {"GET", "namespaces/{namespace}/tables/{table}", nl_rest_api_load_table},
    {"HEAD", "namespaces/{namespace}/tables/{table}", nl_rest_api_table_exists},
    {"POST", "namespaces/{namespace}/tables/{table}", nl_rest_api_commit_table, .has_body = true},
    {"DELETE", "namespaces/{namespace}/tables/{table}", nl_rest_api_drop_table},
    {"POST", "namespaces/{namespace}/register", nl_rest_api_register_table, .has_body = true, .is_plain = true},
    {"POST", "tables/rename", nl_rest_api_rename_table, .has_body = true},
    {"POST", "namespaces/{namespace}/tables/{table}/metrics", nl_rest_api_report_metrics, .has_body = true},
    {"GET", "namespaces/{namespace}/tables/{table}/credentials", nl_rest_api_load_credentials},
    {"POST", "namespaces/{namespace}/tables/{table}/sign", nl_rest_api_sign, .has_body = true},
    {"POST", "aws/s3/sign", nl_rest_api_sign, .has_body = true, .is_hidden = true},
    {"POST", "namespaces/{namespace}/tables/{table}/plan", nl_rest_api_plan, .has_body = true},
    {"GET", "namespaces/{namespace}/tables/{table}/plan/{plan-id}", nl_rest_api_get_plan},
    {"DELETE", "namespaces/{namespace}/tables/{table}/plan/{plan-id}", nl_rest_api_cancel_plan},
    {"POST", "namespaces/{namespace}/tables/{table}/tasks", nl_rest_api_fetch_tasks, .has_body = true},
    {"GET", "namespaces/{namespace}/views", nl_rest_api_list_views, .is_plain = true},
    {"POST", "namespaces/{namespace}/views", nl_rest_api_create_view, .has_body = true, .is_plain = true},
    {"GET", "namespaces/{namespace}/views/{view}", nl_rest_api_load_view, .is_plain = true},
    {"HEAD", "namespaces/{namespace}/views/{view}", nl_rest_api_view_exists, .is_plain = true},
    {"POST", "namespaces/{namespace}/views/{view}", nl_rest_api_replace_view, .has_body = true, .is_plain = true},
    {"DELETE", "namespaces/{namespace}/views/{view}", nl_rest_api_drop_view, .is_plain = true},
    {"POST", "namespaces/{namespace}/register-view", nl_rest_api_register_view, .has_body = true, .is_plain = true},
    {"POST", "views/rename", nl_rest_api_rename_view, .has_body = true, .is_plain = true},
    {"POST", "transactions/commit", nl_rest_api_commit_transaction, .has_body = true},
};
const uint32_t nl_rest_api_route_count = NL_COUNT(nl_rest_api_routes);

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') return (c | 0x20) - 'a' + 10;
    return -1;
}

static nl_status decode(nl_rest_api_call *call, nl_str text, nl_str *decoded)
{
    char *out = nl_arena_alloc(call->arena, text.length + 1);
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        if (c == '+') c = ' ';
        if (c == '%') {
            const int high = i + 2 < text.length ? hex_digit(text.data[i + 1]) : -1;
            const int low = i + 2 < text.length ? hex_digit(text.data[i + 2]) : -1;
            if (high < 0 || low < 0) return nl_rest_api_refuse(call, 400, "BadRequestException", "The path has a broken escape: " NL_STR_FMT, NL_STR_ARG(text));
            c = (char)(high * 16 + low);
            i += 2;
        }
        out[length++] = c;
    }
    *decoded = (nl_str){out, length};
    return NULL;
}

#define SEGMENTS_MAX 16u

/* The path's segments after "/v1/", decoded. */
static nl_status split(nl_rest_api_call *call, nl_str segments[SEGMENTS_MAX], uint32_t *count)
{
    static const nl_str version = NL_STR_INIT("/v1/");
    nl_str rest = call->request->path, part;
    *count = 0;
    if (!nl_str_starts(rest, call->rest->options.mount)) return NULL;
    rest = nl_str_slice(rest, call->rest->options.mount.length, rest.length);
    if (!nl_str_starts(rest, version)) return NULL;
    rest = nl_str_slice(rest, version.length, rest.length);
    while (nl_str_next_part(&rest, '/', &part)) {
        if (*count == SEGMENTS_MAX) {
            *count = 0;
            return NULL;
        }
        NL_TRY(decode(call, part, &segments[(*count)++]));
    }
    return nl_arena_check(call->arena);
}

/* "a\x1Fb" to its levels. */
static void read_namespace(nl_rest_api_call *call, nl_str text)
{
    uint32_t count = 1;
    for (size_t i = 0; i < text.length; i++)
        count += text.data[i] == '\x1F';
    nl_str *parts = NL_NEW_ARRAY(call->arena, nl_str, count);
    nl_str rest = text;
    for (uint32_t i = 0; i < count; i++)
        if (!nl_str_next_part(&rest, '\x1F', &parts[i])) parts[i] = NL_STR("");
    call->identifier.namespace_parts = parts;
    call->identifier.namespace_count = count;
}

static bool matches(nl_rest_api_call *call, const char *pattern, const nl_str *segments, uint32_t count, bool is_filled)
{
    nl_str rest = nl_str_from(pattern), part;
    for (uint32_t i = 0; nl_str_next_part(&rest, '/', &part); i++) {
        if (i == count) return false;
        const bool is_last = rest.length == 0;
        if (part.data[0] != '{') {
            if (!nl_str_equal(part, segments[i])) return false;
        } else if (is_filled && nl_str_is(part, "{namespace}")) {
            read_namespace(call, segments[i]);
        } else if (is_filled && nl_str_is(part, "{plan-id}")) {
            call->plan_id = segments[i];
        } else if (is_filled) {
            call->identifier.name = segments[i];
        }
        if (is_last) return i + 1 == count;
    }
    return false;
}

static bool is_root(nl_str segment)
{
    static const char *const roots[] = {"config", "oauth", "namespaces", "tables", "views", "transactions", "aws"};
    for (size_t i = 0; i < NL_COUNT(roots); i++)
        if (nl_str_is(segment, roots[i])) return true;
    return false;
}

static nl_status no_warehouse(nl_rest_api_call *call, nl_str name)
{
    return nl_rest_api_refuse(call, 404, "NoSuchWarehouseException", "Warehouse does not exist: " NL_STR_FMT, NL_STR_ARG(name));
}

/* Cuts the prefix off the segments and finds its warehouse. */
static nl_status take_prefix(nl_rest_api_call *call, const nl_str **segments, uint32_t *count)
{
    const nl_warehouse_kind kind = call->rest->options.kind;
    bool exists = false;
    nl_str prefix = {0};
    if (*count && !is_root(**segments)) {
        prefix = (*segments)[0];
        uint32_t taken = 1;
        if (*count > 1 && kind == NL_WAREHOUSE_TABLE_BUCKET && nl_str_find_char(prefix, '/', 0) == NL_NOT_FOUND) {
            prefix = nl_arena_f(call->arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(prefix), NL_STR_ARG((*segments)[1]));
            taken = 2;
        }
        *segments += taken;
        *count -= taken;
    } else if (kind == NL_WAREHOUSE_TABLE_BUCKET) {
        return nl_rest_api_refuse(call, 400, "BadRequestException", "The path names no warehouse: set the catalog's warehouse to the ARN of a table bucket");
    } else {
        const nl_warehouse *all;
        uint32_t warehouse_count;
        NL_TRY(nl_tables_list_warehouses(call->tables, kind, call->arena, &all, &warehouse_count));
        int64_t oldest = INT64_MAX;
        for (uint32_t i = 0; i < warehouse_count; i++) { /* the default is the one that was made first */
            if (all[i].id >= oldest) continue;
            oldest = all[i].id;
            call->warehouse = all[i];
            exists = true;
        }
        return exists ? NULL : no_warehouse(call, NL_STR("(the default one)"));
    }
    NL_TRY(nl_tables_find_warehouse(call->tables, kind, prefix, call->arena, &call->warehouse, &exists));
    return exists ? NULL : no_warehouse(call, prefix);
}

nl_status nl_rest_api_find_route(nl_rest_api_call *call, const nl_rest_api_route **route, bool *is_wrong_method)
{
    nl_str all[SEGMENTS_MAX];
    const nl_str *segments = all;
    uint32_t count;
    *route = NULL;
    *is_wrong_method = false;
    NL_TRY(split(call, all, &count));
    if (!count) return NULL;
    const bool is_global = nl_str_is(all[0], "config") || nl_str_is(all[0], "oauth");
    if (!is_global) NL_TRY(take_prefix(call, &segments, &count));
    for (uint32_t i = 0; i < nl_rest_api_route_count; i++) {
        const nl_rest_api_route *row = &nl_rest_api_routes[i];
        if (row->is_global != is_global || !matches(call, row->path, segments, count, false)) continue;
        *is_wrong_method = true;
        if (!nl_str_is(call->request->method, row->method)) continue;
        *is_wrong_method = false;
        matches(call, row->path, segments, count, true);
        *route = row;
        return nl_arena_check(call->arena);
    }
    return NULL;
}
