/* lakehouse/server_request.c - what services ask of a request and put into a reply: no sockets here. */
#include <stdlib.h>

#include "lakehouse/server.h"

nl_str nl_request_header(const nl_request *request, const char *name)
{
    for (uint32_t i = 0; i < request->header_count; i++)
        if (nl_str_is_nocase(request->headers[i].key, name)) return request->headers[i].value;
    return (nl_str){0};
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* False on a broken escape; *decoded is then as far as it went. */
static bool decode(nl_arena *arena, nl_str text, bool plus_is_space, nl_str *decoded)
{
    char *out = nl_arena_alloc(arena, text.length + 1);
    size_t length = 0;
    bool is_good = true;
    for (size_t i = 0; i < text.length && is_good; i++) {
        char c = text.data[i];
        if (c == '+' && plus_is_space) c = ' ';
        if (c == '%') {
            const int high = i + 2 < text.length ? hex_digit(text.data[i + 1]) : -1;
            const int low = i + 2 < text.length ? hex_digit(text.data[i + 2]) : -1;
            is_good = high >= 0 && low >= 0;
            if (!is_good) break;
            c = (char)(high * 16 + low);
            i += 2;
        }
        out[length++] = c;
    }
    *decoded = (nl_str){out, length};
    return is_good;
}

nl_str nl_request_parameter(const nl_request *request, const char *name, bool *has)
{
    nl_str rest = request->query, part;
    while (nl_str_next_part(&rest, '&', &part)) {
        const size_t equals = nl_str_find_char(part, '=', 0);
        nl_str key, value;
        decode(request->arena, nl_str_slice(part, 0, equals), true, &key);
        if (!nl_str_is(key, name)) continue;
        if (equals == NL_NOT_FOUND) value = NL_STR("");
        else decode(request->arena, nl_str_slice(part, equals + 1, part.length), true, &value);
        if (has) *has = true;
        return value;
    }
    if (has) *has = false;
    return (nl_str){0};
}

nl_status nl_request_segments(const nl_request *request, const nl_str **segments, uint32_t *segment_count)
{
    nl_str path = request->path;
    if (path.length && path.data[0] == '/') path = nl_str_slice(path, 1, path.length);
    uint32_t count = path.length > 0;
    for (size_t i = 0; i < path.length; i++) count += path.data[i] == '/';
    nl_str *found = NL_NEW_ARRAY(request->arena, nl_str, count ? count : 1);
    for (uint32_t i = 0; i < count; i++) {
        const size_t slash = nl_str_find_char(path, '/', 0);
        if (!decode(request->arena, nl_str_slice(path, 0, slash), false, &found[i]))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The path has a broken escape: " NL_STR_FMT, NL_STR_ARG(request->path));
        path = slash == NL_NOT_FOUND ? (nl_str){0} : nl_str_slice(path, slash + 1, path.length);
    }
    *segments = found;
    *segment_count = count;
    return nl_arena_check(request->arena);
}

/* What would end a header early, or start another, becomes a space. */
static nl_str clean(nl_arena *arena, nl_str value)
{
    char *out = nl_arena_alloc(arena, value.length + 1);
    for (size_t i = 0; i < value.length; i++) out[i] = (unsigned char)value.data[i] < 0x20 || value.data[i] == 0x7f ? ' ' : value.data[i];
    return (nl_str){out, value.length};
}

void nl_reply_header(nl_request *request, nl_reply *reply, const char *name, nl_str value)
{
    if (reply->header_count == reply->header_capacity) {
        const uint32_t capacity = reply->header_capacity ? 2 * reply->header_capacity : 8;
        nl_property *grown = NL_NEW_ARRAY(request->arena, nl_property, capacity);
        if (reply->header_count) memcpy(grown, reply->headers, reply->header_count * sizeof(*grown));
        reply->headers = grown;
        reply->header_capacity = capacity;
    }
    reply->headers[reply->header_count++] = (nl_property){nl_arena_str(request->arena, nl_str_from(name)), clean(request->arena, value)};
}

void nl_reply_text(nl_request *request, nl_reply *reply, int32_t status, const char *content_type, nl_str text)
{
    reply->status = status;
    nl_reply_header(request, reply, "Content-Type", nl_str_from(content_type));
    if (!reply->body) {
        reply->body = NL_NEW(request->arena, nl_builder);
        nl_builder_init(reply->body, SIZE_MAX);
    }
    nl_builder_clear(reply->body);
    nl_append(reply->body, text);
}
