/* storage/sigv4.c - the canonical request, the string to sign, the key, and what a client adds to a request.
 *
 * Source: AWS General Reference, "Create a signed AWS API request"; S3 API, "Authenticating Requests". The server's side
 * is in sigv4_verify.c.
 */
#include "storage/sigv4_private.h"

#include "base/calendar.h"

#include <stdlib.h>

#define CANONICAL_BYTES_MAX (1u << 20)
#define EMPTY_HASH          "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const char algorithm[] = "AWS4-HMAC-SHA256";

bool nl_sigv4_is_s3(nl_str service)
{
    static const char *const names[] = {"s3", "s3express", "s3-object-lambda", "s3-outposts"};
    for (size_t i = 0; i < NL_COUNT(names); i++)
        if (nl_str_is(service, names[i])) return true;
    return false;
}

static bool is_unreserved(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
}

void nl_sigv4_append_encoded(nl_builder *out, nl_str text, bool keep_slash)
{
    for (size_t i = 0; i < text.length; i++) {
        if (is_unreserved(text.data[i]) || (keep_slash && text.data[i] == '/'))
            nl_append_char(out, text.data[i]);
        else
            nl_append_f(out, "%%%02X", (unsigned)(uint8_t)text.data[i]);
    }
}

/* Every service but S3: no "." and "..", no empty segments, and what is there encoded once more. */
static void append_normalised(nl_arena *arena, nl_builder *out, nl_str path)
{
    nl_list segments = {0};
    nl_str rest = path;
    nl_str segment;
    while (nl_str_next_part(&rest, '/', &segment)) {
        if (segment.length == 0 || nl_str_is(segment, ".")) continue;
        if (nl_str_is(segment, "..")) {
            if (segments.count > 0) segments.count--;
            continue;
        }
        nl_str *kept = NL_NEW(arena, nl_str);
        *kept = segment;
        nl_list_add(arena, &segments, kept);
    }
    for (uint32_t i = 0; i < segments.count; i++) {
        nl_append_char(out, '/');
        nl_sigv4_append_encoded(out, *(const nl_str *)segments.items[i], false);
    }
    const bool ends_in_slash = path.length > 0 && path.data[path.length - 1] == '/';
    if (segments.count == 0 || ends_in_slash) nl_append_char(out, '/');
}

typedef struct parameter {
    nl_str name, value;
} parameter;

static int compare_parameters(const void *a, const void *b)
{
    const parameter *first = a;
    const parameter *second = b;
    const int order = nl_str_compare(first->name, second->name);
    return order != 0 ? order : nl_str_compare(first->value, second->value);
}

static void append_query(nl_arena *arena, nl_builder *out, nl_str query)
{
    size_t count_max = 1;
    for (size_t i = 0; i < query.length; i++)
        count_max += query.data[i] == '&';
    parameter *parameters = NL_NEW_ARRAY(arena, parameter, count_max);
    size_t count = 0;
    nl_str rest = query;
    nl_str part;
    while (nl_str_next_part(&rest, '&', &part)) {
        if (part.length == 0) continue;
        const size_t equals = NL_MIN(nl_str_find_char(part, '=', 0), part.length);
        const parameter one = {nl_str_slice(part, 0, equals), nl_str_slice(part, equals + 1, part.length)};
        if (!nl_str_is(one.name, "X-Amz-Signature")) parameters[count++] = one;
    }
    if (count > 0) qsort(parameters, count, sizeof(parameter), compare_parameters);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) nl_append_char(out, '&');
        nl_append(out, parameters[i].name);
        nl_append_char(out, '=');
        nl_append(out, parameters[i].value);
    }
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* No blanks at the ends, one space for every run of them inside. */
static void append_header_value(nl_builder *out, nl_str value)
{
    bool has_gap = false;
    bool has_text = false;
    for (size_t i = 0; i < value.length; i++) {
        if (is_blank(value.data[i])) {
            has_gap = has_text;
            continue;
        }
        if (has_gap) nl_append_char(out, ' ');
        nl_append_char(out, value.data[i]);
        has_gap = false;
        has_text = true;
    }
}

static void append_headers(nl_builder *out, const nl_sigv4_request *request, nl_str signed_headers)
{
    nl_str rest = signed_headers;
    nl_str name;
    while (nl_str_next_part(&rest, ';', &name)) {
        nl_append(out, name);
        nl_append_char(out, ':');
        bool is_first = true;
        for (uint32_t i = 0; i < request->header_count; i++) {
            if (!nl_str_equal_nocase(request->headers[i].key, name)) continue;
            if (!is_first) nl_append_char(out, ',');
            append_header_value(out, request->headers[i].value);
            is_first = false;
        }
        nl_append_char(out, '\n');
    }
}

static nl_status canonical_request(const nl_sigv4_request *request, nl_str service, nl_str signed_headers, nl_arena *arena, nl_str *canonical)
{
    nl_builder out;
    nl_builder_init(&out, CANONICAL_BYTES_MAX);
    nl_append(&out, request->method);
    nl_append_char(&out, '\n');
    if (!nl_sigv4_is_s3(service))
        append_normalised(arena, &out, request->path);
    else
        nl_append(&out, request->path.length > 0 ? request->path : NL_STR("/"));
    nl_append_char(&out, '\n');
    append_query(arena, &out, request->query);
    nl_append_char(&out, '\n');
    append_headers(&out, request, signed_headers);
    nl_append_char(&out, '\n');
    nl_append(&out, signed_headers);
    nl_append_char(&out, '\n');
    nl_append(&out, request->payload_hash.length > 0 ? request->payload_hash : NL_STR(EMPTY_HASH));
    const bool has_failed = nl_builder_failed(&out);
    if (!has_failed) *canonical = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    if (has_failed) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The request is too large to be signed: its head has more than %u bytes", CANONICAL_BYTES_MAX);
    return nl_arena_check(arena);
}

static nl_bytes bytes_of(nl_str text)
{
    return (nl_bytes){(const uint8_t *)text.data, text.length};
}

static void signing_key(const nl_sigv4_scope *scope, nl_str secret_key, nl_arena *arena, uint8_t key[32])
{
    const nl_str start = nl_arena_f(arena, "AWS4" NL_STR_FMT, NL_STR_ARG(secret_key));
    uint8_t step[32];
    nl_hmac_sha256(bytes_of(start), bytes_of(scope->date), key);
    nl_hmac_sha256((nl_bytes){key, 32}, bytes_of(scope->region), step);
    nl_hmac_sha256((nl_bytes){step, 32}, bytes_of(scope->service), key);
    nl_hmac_sha256((nl_bytes){key, 32}, bytes_of(NL_STR("aws4_request")), step);
    memcpy(key, step, 32);
}

static nl_str scope_text(const nl_sigv4_scope *scope, nl_arena *arena)
{
    return nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT "/" NL_STR_FMT "/aws4_request", NL_STR_ARG(scope->date), NL_STR_ARG(scope->region), NL_STR_ARG(scope->service));
}

nl_status nl_sigv4_signature(const nl_sigv4_request *request, const nl_sigv4_scope *scope, nl_str secret_key, nl_str timestamp, nl_str signed_headers, nl_arena *arena,
                             nl_str *signature, nl_str *canonical)
{
    nl_str text;
    uint8_t hash[32];
    uint8_t key[32];
    NL_TRY(canonical_request(request, scope->service, signed_headers, arena, &text));
    nl_sha256(bytes_of(text), hash);
    const nl_str scoped = scope_text(scope, arena);
    const nl_str hex = nl_hex(arena, hash, sizeof(hash));
    const nl_str to_sign = nl_arena_f(arena, "%s\n" NL_STR_FMT "\n" NL_STR_FMT "\n" NL_STR_FMT, algorithm, NL_STR_ARG(timestamp), NL_STR_ARG(scoped), NL_STR_ARG(hex));
    signing_key(scope, secret_key, arena, key);
    nl_hmac_sha256((nl_bytes){key, sizeof(key)}, bytes_of(to_sign), hash);
    NL_TRY(nl_arena_check(arena));
    *signature = nl_hex(arena, hash, sizeof(hash));
    if (canonical) *canonical = text;
    return NULL;
}

/* ---- what a client adds ---- */

static nl_str timestamp_of(int64_t now_micros, nl_arena *arena)
{
    nl_civil now;
    nl_civil_from_micros(now_micros, &now);
    return nl_arena_f(arena, "%04d%02d%02dT%02d%02d%02dZ", now.year, now.month, now.day, now.hour, now.minute, now.second);
}

static nl_sigv4_scope dated(const nl_sigv4_scope *scope, nl_str timestamp)
{
    nl_sigv4_scope with = *scope;
    if (with.date.length == 0) with.date = nl_str_slice(timestamp, 0, 8);
    return with;
}

static bool is_signed_by_clients(nl_str name)
{
    static const char *const names[] = {"host", "content-type", "content-md5", "range"};
    for (size_t i = 0; i < NL_COUNT(names); i++)
        if (nl_str_is_nocase(name, names[i])) return true;
    return nl_str_starts_nocase(name, NL_STR("x-amz-"));
}

static int compare_names(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

static nl_str lower(nl_arena *arena, nl_str text)
{
    char *out = nl_arena_alloc(arena, nl_size_add(text.length, 1));
    for (size_t i = 0; i < text.length; i++)
        out[i] = (char)(text.data[i] >= 'A' && text.data[i] <= 'Z' ? text.data[i] + 32 : text.data[i]);
    return (nl_str){out, text.length};
}

/* "host;range;x-amz-date": the names that a client signs, sorted, each once. */
static nl_status choose_signed(const nl_property *headers, uint32_t header_count, nl_arena *arena, nl_str *signed_headers)
{
    nl_str *names = NL_NEW_ARRAY(arena, nl_str, (size_t)header_count + 1);
    uint32_t count = 0;
    size_t length = 0;
    bool has_host = false;
    for (uint32_t i = 0; i < header_count; i++) {
        if (!is_signed_by_clients(headers[i].key)) continue;
        names[count] = lower(arena, headers[i].key);
        has_host |= nl_str_is(names[count], "host");
        length += names[count++].length + 1;
    }
    if (!has_host) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A request without a host header cannot be signed");
    qsort(names, count, sizeof(nl_str), compare_names);
    char *text = nl_arena_alloc(arena, length + 1);
    size_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && nl_str_equal(names[i], names[i - 1])) continue;
        if (end > 0) text[end++] = ';';
        memcpy(text + end, names[i].data, names[i].length);
        end += names[i].length;
    }
    *signed_headers = (nl_str){text, end};
    return nl_arena_check(arena);
}

static void set_header(nl_property *headers, uint32_t *header_count, const char *name, nl_str value)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *header_count; i++)
        if (!nl_str_is_nocase(headers[i].key, name)) headers[kept++] = headers[i];
    headers[kept++] = (nl_property){nl_str_from(name), value};
    *header_count = kept;
}

static void drop_header(nl_property *headers, uint32_t *header_count, const char *name)
{
    set_header(headers, header_count, name, (nl_str){0});
    --*header_count;
}

nl_status nl_sigv4_sign(const nl_sigv4_request *request, const nl_sigv4_scope *scope, nl_str secret_key, nl_str token, int64_t now_micros, nl_arena *arena,
                        const nl_property **headers, uint32_t *header_count)
{
    const nl_str timestamp = timestamp_of(now_micros, arena);
    const nl_sigv4_scope full = dated(scope, timestamp);
    nl_property *with = NL_NEW_ARRAY(arena, nl_property, (size_t)request->header_count + 4);
    uint32_t count = request->header_count;
    if (count > 0) memcpy(with, request->headers, count * sizeof(nl_property));
    drop_header(with, &count, "authorization");
    drop_header(with, &count, "x-amz-security-token");
    set_header(with, &count, "x-amz-date", timestamp);
    if (token.length > 0) set_header(with, &count, "x-amz-security-token", token);
    const nl_str hash = request->payload_hash.length > 0 ? request->payload_hash : NL_STR(EMPTY_HASH);
    if (nl_sigv4_is_s3(full.service)) set_header(with, &count, "x-amz-content-sha256", hash);

    nl_sigv4_request whole = *request;
    whole.headers = with;
    whole.header_count = count;
    nl_str signed_headers;
    nl_str signature;
    NL_TRY(choose_signed(with, count, arena, &signed_headers));
    NL_TRY(nl_sigv4_signature(&whole, &full, secret_key, timestamp, signed_headers, arena, &signature, NULL));
    const nl_str scoped = scope_text(&full, arena);
    const nl_str authorization =
        nl_arena_f(arena, "%s Credential=" NL_STR_FMT "/" NL_STR_FMT ", SignedHeaders=" NL_STR_FMT ", Signature=" NL_STR_FMT, algorithm, NL_STR_ARG(full.access_key),
                   NL_STR_ARG(scoped), NL_STR_ARG(signed_headers), NL_STR_ARG(signature));
    set_header(with, &count, "authorization", authorization);
    NL_TRY(nl_arena_check(arena));
    *headers = with;
    *header_count = count;
    return NULL;
}

static void append_parameter(nl_builder *out, const char *name, nl_str value)
{
    if (out->length > 0) nl_append_char(out, '&');
    nl_append_c(out, name);
    nl_append_char(out, '=');
    nl_sigv4_append_encoded(out, value, false);
}

nl_status nl_sigv4_presign(const nl_sigv4_request *request, const nl_sigv4_scope *scope, nl_str secret_key, nl_str token, int64_t now_micros, int64_t expires_seconds,
                           nl_arena *arena, nl_str *query)
{
    const nl_str timestamp = timestamp_of(now_micros, arena);
    const nl_sigv4_scope full = dated(scope, timestamp);
    const nl_str scoped = scope_text(&full, arena);
    nl_str signed_headers;
    NL_TRY(choose_signed(request->headers, request->header_count, arena, &signed_headers));
    nl_builder out;
    nl_builder_init(&out, CANONICAL_BYTES_MAX);
    nl_append(&out, request->query);
    append_parameter(&out, "X-Amz-Algorithm", nl_str_from(algorithm));
    append_parameter(&out, "X-Amz-Credential", nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(full.access_key), NL_STR_ARG(scoped)));
    append_parameter(&out, "X-Amz-Date", timestamp);
    append_parameter(&out, "X-Amz-Expires", nl_arena_f(arena, "%lld", (long long)expires_seconds));
    append_parameter(&out, "X-Amz-SignedHeaders", signed_headers);
    if (token.length > 0) append_parameter(&out, "X-Amz-Security-Token", token);

    nl_sigv4_request whole = *request;
    whole.query = nl_builder_str(&out);
    if (whole.payload_hash.length == 0 && nl_sigv4_is_s3(full.service)) whole.payload_hash = NL_STR("UNSIGNED-PAYLOAD");
    nl_str signature = {0};
    nl_status status = nl_sigv4_signature(&whole, &full, secret_key, timestamp, signed_headers, arena, &signature, NULL);
    append_parameter(&out, "X-Amz-Signature", signature);
    if (!status && nl_builder_failed(&out)) status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The query is too large to be signed");
    if (!status) *query = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return status;
}

/* ---- chunks ---- */

static void put_hex(char out[65], const uint8_t hash[32])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[64] = 0;
}

void nl_sigv4_chain_begin(nl_sigv4_chain *chain, const nl_sigv4_scope *scope, nl_str secret_key, nl_str timestamp, nl_str seed_signature, nl_arena *arena)
{
    *chain = (nl_sigv4_chain){.timestamp = timestamp, .scope = scope_text(scope, arena)};
    signing_key(scope, secret_key, arena, chain->key);
    memcpy(chain->previous, seed_signature.data ? seed_signature.data : "", NL_MIN(seed_signature.length, 64));
}

/* The chain's next signature; `last` is what follows the previous signature in the string to sign. */
static void chain_step(nl_sigv4_chain *chain, const char *kind, const char *last)
{
    nl_builder text;
    nl_builder_init(&text, 8192);
    nl_append_f(&text, "%s-%s\n" NL_STR_FMT "\n" NL_STR_FMT "\n%s\n%s", algorithm, kind, NL_STR_ARG(chain->timestamp), NL_STR_ARG(chain->scope), chain->previous, last);
    uint8_t hash[32];
    if (!nl_builder_failed(&text)) nl_hmac_sha256((nl_bytes){chain->key, 32}, bytes_of(nl_builder_str(&text)), hash);
    else nl_sha256((nl_bytes){chain->key, 32}, hash); /* no memory: something that nobody without the key can send */
    put_hex(chain->previous, hash);
    nl_builder_fini(&text);
}

void nl_sigv4_chain_next(nl_sigv4_chain *chain, const uint8_t *hash)
{
    char last[65 + 65];
    memcpy(last, EMPTY_HASH "\n", 65);
    put_hex(last + 65, hash);
    chain_step(chain, "PAYLOAD", last);
}

void nl_sigv4_chain_trailer(nl_sigv4_chain *chain, nl_str trailer)
{
    uint8_t hash[32];
    char last[65];
    nl_sha256(bytes_of(trailer), hash);
    put_hex(last, hash);
    chain_step(chain, "TRAILER", last);
}
