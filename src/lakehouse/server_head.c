/* lakehouse/server_head.c - what is refused for the head of a request alone: RFC 9112 §3, §5 and §6, RFC 9110 §5.
 *
 * Somebody on the way here (a proxy, a library) may read an unclear head in another way than this server does: what is one
 * request for one is two for the other. So nothing is guessed: two lengths, a coding beside chunked, bytes that do not
 * belong into a name or value are all refused. libmicrohttpd hides some of them (server_mhd.h): is_as_shown() finds these.
 */
#include "base/number.h"
#include "lakehouse/server_private.h"

void nl_head_split(nl_head *head, nl_request *request, nl_str target)
{
    head->target = target;
    head->bytes = target.length;
    const size_t scheme = nl_str_find(target, NL_STR("://"), 0);
    if (target.length && target.data[0] != '/' && scheme != NL_NOT_FOUND) {
        const size_t slash = nl_str_find_char(target, '/', scheme + 3);
        head->authority = nl_str_slice(target, scheme + 3, slash);
        target = slash == NL_NOT_FOUND ? NL_STR("/") : nl_str_slice(target, slash, target.length);
    }
    const size_t question = nl_str_find_char(target, '?', 0);
    request->path = nl_str_slice(target, 0, question);
    request->query = question == NL_NOT_FOUND ? NL_STR("") : nl_str_slice(target, question + 1, target.length);
}

static bool is_token(nl_str text)
{
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if (c <= ' ' || c >= 0x7f || strchr("()<>@,;:\\\"/[]?={}", c)) return false;
    }
    return text.length > 0;
}

/* Bytes from 0x80 are no part of a URL, yet common in clients that do not escape; they are read in one way only. */
static bool is_target(const nl_head *head, const nl_request *request)
{
    for (size_t i = 0; i < head->target.length; i++) {
        const unsigned char c = (unsigned char)head->target.data[i];
        if (c <= ' ' || c == 0x7f) return false;
    }
    if (nl_str_is(head->target, "*")) return nl_str_is(request->method, "OPTIONS");
    return head->authority.data || (head->target.length && head->target.data[0] == '/') || nl_str_is(request->method, "CONNECT");
}

static bool are_headers_clean(const nl_head *head, const nl_request *request)
{
    uint32_t host_count = 0;
    for (uint32_t i = 0; i < request->header_count; i++) {
        const nl_property *header = &request->headers[i];
        host_count += nl_str_is_nocase(header->key, "Host");
        if (!is_token(header->key)) return false;
        for (size_t k = 0; k < header->value.length; k++) {
            const unsigned char c = (unsigned char)header->value.data[k];
            if ((c < ' ' && c != '\t') || c == 0x7f) return false;
        }
    }
    return host_count == 1 || (host_count == 0 && nl_str_is(head->version, "HTTP/1.0"));
}

/* The end of a line: CR LF or LF alone, each a NUL by now. */
static size_t after_line(const nl_head *head, size_t at)
{
    if (at >= head->raw_bytes || head->method[at] != '\0') return SIZE_MAX;
    return at + 1 < head->raw_bytes && head->method[at + 1] == '\0' ? at + 2 : at + 1;
}

static bool stands_at(const nl_head *head, nl_str text, size_t at)
{
    return at < head->raw_bytes && text.length < head->raw_bytes - at && memcmp(head->method + at, text.data, text.length) == 0 && head->method[at + text.length] == '\0';
}

/* The bytes of the head are the ones that were shown, one behind the other, and nothing else. */
static bool is_as_shown(const nl_head *head, const nl_request *request)
{
    if (head->raw_bytes == 0) return true;
    /* The query was cut into parameters by now. */
    size_t at = request->method.length + 1 + head->target.length;
    if (at >= head->raw_bytes || head->method[at] != '\0') return false;
    at++;
    if (!stands_at(head, head->version, at)) return false;
    at = after_line(head, at + head->version.length);
    for (uint32_t i = 0; i < request->header_count; i++) {
        const nl_property *header = &request->headers[i];
        if (!stands_at(head, header->key, at)) return false;
        at += header->key.length + 1;
        while (at < head->raw_bytes && (head->method[at] == ' ' || head->method[at] == '\t')) at++;
        if (!stands_at(head, header->value, at)) return false;
        at = after_line(head, at + header->value.length);
    }
    /* Of the empty line at the end, LF alone is gone when the line before ended with LF alone too. */
    if (at > head->raw_bytes || head->raw_bytes - at > 2) return false;
    for (; at < head->raw_bytes; at++)
        if (head->method[at] != '\0') return false;
    return true;
}

static int32_t check_length(const nl_head *head, nl_request *request, const char **text)
{
    uint32_t length_count = 0, coding_count = 0;
    int64_t length = 0;
    bool is_number = true, is_chunked = true;
    for (uint32_t i = 0; i < request->header_count; i++) {
        const nl_property *header = &request->headers[i];
        if (nl_str_is_nocase(header->key, "Content-Length")) {
            is_number = is_number && nl_parse_int64(header->value, &length) && length >= 0;
            length_count++;
        } else if (nl_str_is_nocase(header->key, "Transfer-Encoding")) {
            is_chunked = is_chunked && nl_str_is_nocase(header->value, "chunked");
            coding_count++;
        }
    }
    request->content_length = coding_count ? UINT64_MAX : (uint64_t)length;
    *text = "Content-Length and Transfer-Encoding do not say clearly how long the body is.\n";
    if (length_count + coding_count > 1 || !is_number) return 400;
    if (coding_count && nl_str_is(head->version, "HTTP/1.0")) return 400;
    *text = "Of transfer codings only chunked is known.\n";
    return is_chunked ? 0 : 501;
}

int32_t nl_head_check(const nl_head *head, nl_request *request, const char **text)
{
    const int32_t status = check_length(head, request, text);
    if (status) return status;
    *text = "The request's head is larger than 64 KiB or has more than 100 headers.\n";
    if (head->bytes > NL_SERVER_HEAD_BYTES_MAX || request->header_count > NL_SERVER_HEADERS_MAX) return 431;
    *text = "The request line is not as HTTP wants it.\n";
    if (!is_token(request->method) || !is_target(head, request)) return 400;
    *text = "A header's name or value has bytes that do not belong there, or there is not one Host header.\n";
    return are_headers_clean(head, request) && is_as_shown(head, request) ? 0 : 400;
}

/* Browsers name the page that a request comes from. Pages of other origins have no business here, and a simple POST of
 * theirs would arrive without being asked for permission first. */
static bool is_of_foreign_page(const nl_request *request)
{
    if (nl_str_is(request->method, "GET") || nl_str_is(request->method, "HEAD") || nl_str_is(request->method, "OPTIONS")) return false;
    const nl_str origin = nl_request_header(request, "Origin");
    if (!origin.data) return false;
    const nl_str host = nl_request_header(request, "Host");
    const size_t slashes = nl_str_find(origin, NL_STR("://"), 0);
    return slashes == NL_NOT_FOUND || !nl_str_equal_nocase(nl_str_slice(origin, slashes + 3, origin.length), host);
}

int32_t nl_head_check_origin(const nl_head *head, const nl_request *request, const nl_server_options *options, int connection, const char **text)
{
    *text = "This server is not known by the name in the Host header. Names beside localhost are allowed with --host.\n";
    if (!nl_host_is_known(nl_request_header(request, "Host"), options, connection)) return 421;
    if (head->authority.data && !nl_host_is_known(head->authority, options, connection)) return 421;
    *text = "Pages of other origins may not change anything here.\n";
    return is_of_foreign_page(request) ? 403 : 0;
}
