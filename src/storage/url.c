/* storage/url.c - URLs: percent-encoding and their parts. Source: RFC 3986. */
#include "base/limits.h"
#include "storage/http.h"

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

nl_str nl_url_encode(nl_arena *arena, nl_str text, bool keep_slash)
{
    static const char digits[] = "0123456789ABCDEF";
    char *out = nl_arena_alloc(arena, nl_size_add(nl_size_mul(text.length, 3), 1));
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if (is_unreserved((char)c) || (keep_slash && c == '/')) {
            out[length++] = (char)c;
            continue;
        }
        out[length++] = '%';
        out[length++] = digits[c >> 4];
        out[length++] = digits[c & 15];
    }
    return (nl_str){out, length};
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

nl_status nl_url_decode(nl_arena *arena, nl_str text, bool is_form, nl_str *decoded)
{
    void *memory = NULL;
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_add(text.length, 1), &memory));
    char *out = memory;
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        if (c == '+' && is_form) c = ' ';
        if (c == '%') {
            const int high = i + 2 < text.length ? digit_of(text.data[i + 1]) : -1;
            const int low = i + 2 < text.length ? digit_of(text.data[i + 2]) : -1;
            if (high < 0 || low < 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Broken percent-encoding at byte %zu of \"" NL_STR_FMT "\".", i, NL_STR_ARG(nl_str_slice(text, 0, 256)));
            c = (char)(high * 16 + low);
            i += 2;
        }
        out[length++] = c;
    }
    *decoded = (nl_str){out, length};
    return NULL;
}

static nl_status refuse(nl_str text, const char *problem)
{
    const size_t query = nl_str_find_char(text, '?', 0); /* may hold a signature */
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Not a URL nilas can reach: \"" NL_STR_FMT "\": %s.", NL_STR_ARG(nl_str_slice(text, 0, NL_MIN(query, (size_t)256))), problem);
}

static bool is_port(nl_str port)
{
    uint32_t value = 0;
    for (size_t i = 0; i < port.length; i++) {
        if (port.data[i] < '0' || port.data[i] > '9' || i == 5) return false;
        value = value * 10 + (uint32_t)(port.data[i] - '0');
    }
    return value > 0 && value <= 65535;
}

static nl_status parse_authority(nl_str text, nl_str authority, nl_url *url)
{
    if (nl_str_find_char(authority, '@', 0) != NL_NOT_FOUND)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A URL must not hold a user name or password; use the properties for credentials.");
    nl_str rest = {0};
    if (authority.length > 0 && authority.data[0] == '[') {
        const size_t end = nl_str_find_char(authority, ']', 0);
        if (end == NL_NOT_FOUND) return refuse(text, "an address without its \"]\"");
        url->host = nl_str_slice(authority, 1, end);
        rest = nl_str_slice(authority, end + 1, authority.length);
    } else {
        const size_t colon = nl_str_find_char(authority, ':', 0);
        url->host = nl_str_slice(authority, 0, colon);
        rest = colon == NL_NOT_FOUND ? (nl_str){0} : nl_str_slice(authority, colon, authority.length);
    }
    if (url->host.length == 0) return refuse(text, "the host is missing");
    if (rest.length == 0) return NULL;
    url->port = nl_str_slice(rest, 1, rest.length);
    if (rest.data[0] != ':' || !is_port(url->port)) return refuse(text, "the port is none");
    return NULL;
}

nl_status nl_url_parse(nl_str text, nl_url *url)
{
    nl_url made = {0};
    if (text.length > NL_URL_BYTES_MAX) return refuse(text, "it is too long");
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.data[i] <= 0x20 || text.data[i] == 0x7f) return refuse(text, "it holds a space or control character");
    const size_t colon = nl_str_find(text, NL_STR("://"), 0);
    if (colon == NL_NOT_FOUND || colon == 0) return refuse(text, "the scheme is missing (http:// or https://)");
    made.scheme = nl_str_slice(text, 0, colon);
    nl_str rest = nl_str_slice(text, colon + 3, text.length);
    rest = nl_str_slice(rest, 0, nl_str_find_char(rest, '#', 0));
    size_t end = 0;
    while (end < rest.length && rest.data[end] != '/' && rest.data[end] != '?') end++;
    NL_TRY(parse_authority(text, nl_str_slice(rest, 0, end), &made));
    rest = nl_str_slice(rest, end, rest.length);
    const size_t question = nl_str_find_char(rest, '?', 0);
    made.path = nl_str_slice(rest, 0, question);
    if (made.path.length == 0) made.path = NL_STR("/");
    if (question != NL_NOT_FOUND) made.query = nl_str_slice(rest, question + 1, rest.length);
    *url = made;
    return NULL;
}
