/* scalar/url.c - parse_url and try_parse_url: parts of a URL by the rules of java.net.URI (RFC 2396 with its deviations). */
#include "function/groups.h"
#include "function/regex.h"

typedef struct url_parts { /* data NULL: not there */
    nl_str scheme, authority, user, host, path, query, fragment;
} url_parts;

/* --- characters --- */

#define MARKS    "-_.!~*'()"
#define RESERVED ";/?:@&=+$,[]"

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Characters beyond ASCII stand for themselves unless they are blanks or controls. */
static bool is_other(uint32_t c)
{
    bool is_control = c < 0xA0;
    bool is_blank = c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
    return !is_control && !is_blank;
}

/* The place of the first character that is neither a letter, a digit, one of `extra` nor, when allowed, an escape. */
static size_t scan_allowed(nl_str text, size_t at, size_t stop, const char *extra, bool allows_escapes)
{
    nl_str part = nl_str_slice(text, 0, stop);
    while (at < stop) {
        char c = text.data[at];
        if (is_alpha(c) || is_digit(c) || (c > 0 && strchr(extra, c) != NULL)) {
            at++;
        } else if (allows_escapes && c == '%' && at + 2 < stop && is_hex(text.data[at + 1]) && is_hex(text.data[at + 2])) {
            at += 3;
        } else if (allows_escapes && (uint8_t)c >= 0x80) {
            size_t next = at;
            if (!is_other(nl_utf8_decode(part, &next))) return at;
            at = next;
        } else {
            return at;
        }
    }
    return at;
}

static bool is_all(nl_str text, size_t at, size_t stop, const char *extra)
{
    return scan_allowed(text, at, stop, extra, true) == stop;
}

static size_t scan_to(nl_str text, size_t at, const char *stops)
{
    while (at < text.length && (text.data[at] == '\0' || strchr(stops, text.data[at]) == NULL)) at++;
    return at;
}

/* --- the server of an authority --- */

static bool is_ipv4(nl_str host)
{
    nl_str rest = host;
    nl_str part;
    uint32_t count = 0;
    for (; nl_str_next_part(&rest, '.', &part); count++) {
        int32_t value = 0;
        if (part.length == 0 || part.length > 3) return false;
        for (size_t i = 0; i < part.length; i++) {
            if (!is_digit(part.data[i])) return false;
            value = value * 10 + (part.data[i] - '0');
        }
        if (value > 255) return false;
    }
    return count == 4 && host.data[host.length - 1] != '.';
}

/* Labels of letters, digits and inner dashes; the last of several starts with a letter. */
static bool is_hostname(nl_str host)
{
    nl_str rest = host;
    nl_str label;
    uint32_t count = 0;
    bool starts_alpha = false;
    while (nl_str_next_part(&rest, '.', &label)) {
        if (label.length == 0 || label.data[0] == '-' || label.data[label.length - 1] == '-') return false;
        if (scan_allowed(label, 0, label.length, "-", false) != label.length) return false;
        starts_alpha = is_alpha(label.data[0]);
        count++;
    }
    return count > 0 && (count == 1 || starts_alpha);
}

static bool is_ipv6(nl_str inside)
{
    size_t colons = 0;
    size_t end = NL_MIN(nl_str_find_char(inside, '%', 0), inside.length);
    for (size_t i = 0; i < end; i++) {
        char c = inside.data[i];
        if (!is_hex(c) && c != ':' && c != '.') return false;
        colons += c == ':';
    }
    return colons >= 2 && end > 0;
}

/* [user@]host[:port] */
static bool parse_server(nl_str authority, url_parts *parts)
{
    size_t at = nl_str_find_char(authority, '@', 0);
    size_t start = 0;
    if (at != NL_NOT_FOUND) {
        if (!is_all(authority, 0, at, MARKS ";:&=+$,")) return false;
        start = at + 1;
    }
    size_t stop;
    nl_str host;
    if (start < authority.length && authority.data[start] == '[') {
        stop = nl_str_find_char(authority, ']', start);
        if (stop == NL_NOT_FOUND) return false;
        stop++;
        host = nl_str_slice(authority, start, stop);
        if (!is_ipv6(nl_str_slice(host, 1, host.length - 1))) return false;
    } else {
        stop = NL_MIN(nl_str_find_char(authority, ':', start), authority.length);
        host = nl_str_slice(authority, start, stop);
        if (!is_ipv4(host) && !is_hostname(host)) return false;
    }
    if (stop < authority.length && authority.data[stop] != ':') return false;
    for (size_t i = stop + 1; i < authority.length; i++)
        if (!is_digit(authority.data[i])) return false;
    if (authority.length > stop + 11) return false; /* the port is an int */
    if (at != NL_NOT_FOUND) parts->user = nl_str_slice(authority, 0, at);
    parts->host = host;
    return true;
}

/* A server, or else any name of a registry. */
static bool parse_authority(nl_str authority, url_parts *parts)
{
    bool is_name = is_all(authority, 0, authority.length, MARKS "$,;:@&=+");
    bool may_be_server = is_all(authority, 0, authority.length, MARKS ";:&=+$,@[]") || nl_str_find_char(authority, ']', 0) != NL_NOT_FOUND;
    parts->authority = authority;
    return (may_be_server && parse_server(authority, parts)) || is_name;
}

/* --- the whole --- */

static nl_str present(nl_str text, size_t start, size_t stop)
{
    return (nl_str){text.data + start, stop - start};
}

static bool parse_hierarchy(nl_str text, size_t at, url_parts *parts)
{
    if (at + 1 < text.length && text.data[at] == '/' && text.data[at + 1] == '/') {
        at += 2;
        size_t stop = scan_to(text, at, "/?#");
        if (stop == at && stop == text.length) return false; /* an authority is expected */
        if (stop > at && !parse_authority(present(text, at, stop), parts)) return false;
        at = stop;
    }
    size_t stop = scan_to(text, at, "?#");
    if (!is_all(text, at, stop, MARKS ":@&=+$,;/")) return false;
    parts->path = present(text, at, stop);
    at = stop;
    if (at < text.length && text.data[at] == '?') {
        stop = scan_to(text, at + 1, "#");
        if (!is_all(text, at + 1, stop, MARKS RESERVED)) return false;
        parts->query = present(text, at + 1, stop);
        at = stop;
    }
    return true;
}

static bool parse_url(nl_str text, url_parts *parts)
{
    *parts = (url_parts){{NULL, 0}};
    if (text.data == NULL) text.data = "";
    size_t fragment = nl_str_find_char(text, '#', 0);
    nl_str rest = text;
    if (fragment != NL_NOT_FOUND) {
        if (!is_all(text, fragment + 1, text.length, MARKS RESERVED)) return false;
        parts->fragment = present(text, fragment + 1, text.length);
        rest = nl_str_slice(text, 0, fragment);
    }
    size_t colon = scan_to(rest, 0, ":/?");
    if (colon >= rest.length || rest.data[colon] != ':') return parse_hierarchy(rest, 0, parts);
    bool is_scheme = colon > 0 && is_alpha(rest.data[0]) && scan_allowed(rest, 0, colon, "+-.", false) == colon;
    if (!is_scheme || colon + 1 == rest.length) return false;
    parts->scheme = present(rest, 0, colon);
    if (rest.data[colon + 1] == '/') return parse_hierarchy(rest, colon + 1, parts);
    return is_all(rest, colon + 1, rest.length, MARKS RESERVED); /* opaque: "mailto:a@b" */
}

/* --- the functions --- */

typedef struct url_state {
    nl_regex *regex; /* of a constant key */
} url_state;

static void free_state(void *object)
{
    nl_regex_free(((url_state *)object)->regex);
}

static nl_regex *key_regex(nl_str key)
{
    nl_builder pattern;
    nl_builder_init(&pattern, NL_VALUE_BYTES_MAX);
    nl_append_c(&pattern, "(&|^)");
    nl_append(&pattern, key);
    nl_append_c(&pattern, "=([^&]*)");
    nl_regex *regex = nl_regex_compile(nl_builder_str(&pattern));
    nl_builder_fini(&pattern);
    return regex;
}

static nl_status find_key(const nl_regex *regex, nl_str query, nl_str *value, bool *is_found)
{
    nl_status status = NULL;
    nl_regex_match *match = nl_regex_match_new(regex);
    if (match == NULL) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
    *is_found = nl_regex_find(regex, match, query, 0, &status);
    if (*is_found) *value = nl_regex_group(match, query, nl_regex_groups(regex), is_found);
    nl_regex_match_free(match);
    return status;
}

/* data NULL: none. FILE is path and query, which lie side by side. */
static nl_str part_of(const url_parts *parts, nl_str name)
{
    if (nl_str_is(name, "HOST")) return parts->host;
    if (nl_str_is(name, "PATH")) return parts->path;
    if (nl_str_is(name, "QUERY")) return parts->query;
    if (nl_str_is(name, "REF")) return parts->fragment;
    if (nl_str_is(name, "PROTOCOL")) return parts->scheme;
    if (nl_str_is(name, "AUTHORITY")) return parts->authority;
    if (nl_str_is(name, "USERINFO")) return parts->user;
    if (!nl_str_is(name, "FILE")) return (nl_str){NULL, 0};
    size_t query_length = parts->query.data != NULL ? parts->query.length + 1 : 0;
    return (nl_str){parts->path.data, parts->path.length + query_length};
}

static nl_status parse_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    const url_state *state = context->function->state;
    nl_str url = nl_reader_str(&context->readers[0], row);
    nl_str name = nl_reader_str(&context->readers[1], row);
    url_parts parts;
    if (context->function->argument_count > 2 && !nl_str_is(name, "QUERY")) {
        *is_null = true; /* only the query has keys; the rest is not looked at */
        return NULL;
    }
    if (!parse_url(url, &parts)) {
        *is_null = true;
        bool raises = context->function->row->name[0] == 'p' && context->eval->confs->is_ansi;
        return raises ? NL_RAISE(INVALID_URL, NL_P_STR("url", url)) : NULL;
    }
    bool has_key = context->function->argument_count > 2;
    nl_str part = has_key && !nl_str_is(name, "QUERY") ? (nl_str){NULL, 0} : part_of(&parts, name);
    bool is_found = part.data != NULL;
    if (is_found && has_key) {
        nl_str key = nl_reader_str(&context->readers[2], row);
        nl_regex *regex = state != NULL ? state->regex : key_regex(key);
        if (regex == NULL) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The key '" NL_STR_FMT "' is not a regular expression.", NL_STR_ARG(key));
        nl_status status = find_key(regex, part, &part, &is_found);
        if (state == NULL) {
            if (status == NULL && is_found) nl_append(&context->text, part);
            nl_regex_free(regex);
            *is_null = !is_found;
            return status;
        }
        NL_TRY(status);
    }
    *is_null = !is_found;
    if (is_found) nl_append(&context->text, part);
    return NULL;
}
NL_TEXT_KERNEL(parse_kernel, parse_row)

static nl_status bind_parse(nl_bind *bind, nl_bound_function *bound)
{
    for (uint32_t i = 0; i < bind->argument_count; i++) NL_TRY(nl_bind_only_string(bind, i));
    const nl_value *key = bind->argument_count > 2 ? bind->constants[2] : NULL;
    if (key == NULL || key->is_null) return NULL;
    url_state *state = NL_NEW(bind->arena, url_state);
    state->regex = key_regex(key->text);
    nl_arena_on_free(bind->arena, free_state, state);
    bound->state = state;
    return NULL;
}

#define ROW .kind = NL_FUNCTION_SCALAR, .group = "url", .nulls = NL_NULL_IN_NULL_OUT, .bind = bind_parse, .kernel = parse_kernel, \
            .signature = "(any, any [, any]) -> string"

static const nl_function_row rows[] = {
    {.name = "parse_url", ROW, .can_fail = true, .since = "2.0.0",
     .doc = "A part of a URL: HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY, USERINFO; of the query, a key's value.",
     .examples = {{"parse_url('http://spark.apache.org/path?query=1', 'HOST')", "spark.apache.org"}, {"parse_url('http://spark.apache.org/path?query=1', 'QUERY', 'query')", "1"}}},
    {.name = "try_parse_url", ROW, .since = "4.0.0", .doc = "As parse_url, but NULL for what is no URL.",
     .examples = {{"try_parse_url('inva lid://spark.apache.org/path?query=1', 'QUERY', 'query')", "NULL"}}},
};

NL_DEFINE_FUNCTION_GROUP(url, rows);
