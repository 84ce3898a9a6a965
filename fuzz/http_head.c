/* fuzz/http_head.c - any bytes as the path, the query and the Host of a request: what services ask of them. */
#include <stdlib.h>

#include "lakehouse/server_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decoding never makes anything longer, and there is one segment more than slashes between them. */
static void check_segments(nl_arena *arena, nl_str path)
{
    const nl_request request = {.arena = arena, .path = path};
    const nl_str *segments = NULL;
    uint32_t count = 0;
    nl_error *error = nl_request_segments(&request, &segments, &count);
    size_t length = 0;
    for (uint32_t i = 0; !error && i < count; i++) length += segments[i].length;
    if (!error && length + (count ? count - 1 : 0) > path.length) abort();
    nl_error_free(error);
}

static void check_parameters(nl_arena *arena, nl_str query, nl_str name)
{
    const nl_request request = {.arena = arena, .query = query};
    bool has = false;
    const nl_str value = nl_request_parameter(&request, nl_str_c(arena, name), &has);
    if (!has != !value.data || value.length > query.length) abort();
}

/* A name below another is known when that one is; a name that only ends like one is not. */
static void check_host(nl_str host)
{
    static const nl_str names[] = {NL_STR_INIT("lake.example")};
    const nl_server_options options = {.hosts = names, .host_count = 1};
    const bool is_known = nl_host_is_known(host, &options, -1);
    const size_t colon = nl_str_find_char(host, ':', 0);
    nl_str bare = nl_str_slice(host, 0, colon);
    if (bare.length && bare.data[bare.length - 1] == '.') bare.length--;
    const bool is_bracketed = host.length && host.data[0] == '[';
    const bool should_be = nl_str_is(bare, "127.0.0.1") || nl_str_is_nocase(bare, "localhost") || nl_str_is_nocase(bare, "lake.example") ||
                           (bare.length > 10 && nl_str_is_nocase(nl_str_slice(bare, bare.length - 10, bare.length), ".localhost")) ||
                           (bare.length > 13 && nl_str_is_nocase(nl_str_slice(bare, bare.length - 13, bare.length), ".lake.example"));
    if (!is_bracketed && is_known != should_be) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const nl_str text = {(const char *)data, size};
    const size_t line = nl_str_find_char(text, '\n', 0);
    const nl_str first = nl_str_slice(text, 0, line), rest = line == NL_NOT_FOUND ? NL_STR("") : nl_str_slice(text, line + 1, text.length);
    nl_arena *arena = nl_arena_new(NULL);
    check_segments(arena, first);
    check_parameters(arena, first, rest);
    check_host(first);
    nl_arena_free(arena);
    return 0;
}
