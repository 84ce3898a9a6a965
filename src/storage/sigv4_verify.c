/* storage/sigv4_verify.c - what a request claims about its signer, and whether that is true.
 *
 * Everything here comes from outside. The same text may be written in more than one way by clients and by what lies
 * between (%7e for ~, a token added after signing), so a signature is compared with each way that AWS accepts.
 */
#include "storage/sigv4_private.h"

#include "base/calendar.h"
#include "base/number.h"

#include <openssl/crypto.h>

#define SKEW_MICROS_MAX     (15ll * 60 * NL_MICROS_PER_SECOND)
#define EXPIRES_SECONDS_MAX (7ll * 24 * 3600)
#define SIGNED_HEADERS_MAX  256u
#define REENCODED_BYTES_MAX (1u << 20)

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* %XX undone; what is no escape stays. */
static nl_str decode(nl_arena *arena, nl_str text)
{
    char *out = nl_arena_alloc(arena, nl_size_add(text.length, 1));
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        const bool is_escape = text.data[i] == '%' && i + 2 < text.length && hex_value(text.data[i + 1]) >= 0 && hex_value(text.data[i + 2]) >= 0;
        out[length++] = is_escape ? (char)(hex_value(text.data[i + 1]) << 4 | hex_value(text.data[i + 2])) : text.data[i];
        if (is_escape) i += 2;
    }
    return (nl_str){out, length};
}

static bool all_in(nl_str text, const char *allowed)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] == 0 || !strchr(allowed, text.data[i])) return false;
    return true;
}

/* "20261001T120000Z"; false when it is no time. */
static bool parse_timestamp(nl_str text, int64_t *micros)
{
    if (text.length != 16 || text.data[8] != 'T' || text.data[15] != 'Z') return false;
    if (!all_in(nl_str_slice(text, 0, 8), "0123456789") || !all_in(nl_str_slice(text, 9, 15), "0123456789")) return false;
    int32_t parts[7];
    static const uint8_t starts[] = {0, 4, 6, 9, 11, 13, 15};
    for (int i = 0; i < 6; i++) {
        parts[i] = 0;
        for (size_t at = starts[i]; at < starts[i + 1] && text.data[at] != 'T'; at++)
            parts[i] = parts[i] * 10 + (text.data[at] - '0');
    }
    if (!nl_civil_is_valid(parts[0], parts[1], parts[2]) || parts[3] > 23 || parts[4] > 59 || parts[5] > 59) return false;
    const nl_civil civil = {.year = parts[0], .month = parts[1], .day = parts[2], .hour = parts[3], .minute = parts[4], .second = parts[5]};
    *micros = nl_micros_from_civil(&civil);
    return true;
}

/* ---- the claim ---- */

/* "AK/20261001/us-east-1/s3/aws4_request"; only the key may hold slashes. */
static const char *parse_credential(nl_str text, nl_sigv4_scope *scope)
{
    nl_str parts[4];
    for (int i = 3; i >= 0; i--) {
        const size_t slash = nl_str_find_last_char(text, '/');
        if (slash == NL_NOT_FOUND) return "the Credential is not of the form KEY/DATE/REGION/SERVICE/aws4_request";
        parts[i] = nl_str_slice(text, slash + 1, text.length);
        text = nl_str_slice(text, 0, slash);
    }
    *scope = (nl_sigv4_scope){.access_key = text, .date = parts[0], .region = parts[1], .service = parts[2]};
    if (!nl_str_is(parts[3], "aws4_request")) return "the Credential does not end in aws4_request";
    if (text.length == 0 || parts[1].length == 0 || parts[2].length == 0) return "the Credential has an empty part";
    if (parts[0].length != 8 || !all_in(parts[0], "0123456789")) return "the Credential's date is not of the form yyyyMMdd";
    return NULL;
}

/* Lower case, sorted, none twice, and few enough. */
static const char *check_signed_headers(nl_str signed_headers)
{
    nl_str rest = signed_headers;
    nl_str name;
    nl_str before = {0};
    uint32_t count = 0;
    while (nl_str_next_part(&rest, ';', &name)) {
        for (size_t i = 0; i < name.length; i++)
            if ((name.data[i] >= 'A' && name.data[i] <= 'Z') || (unsigned char)name.data[i] <= ' ') return "SignedHeaders are not in lower case";
        if (name.length == 0 || nl_str_compare(before, name) >= 0) return "SignedHeaders are not sorted";
        if (++count > SIGNED_HEADERS_MAX) return "SignedHeaders are too many";
        before = name;
    }
    return count == 0 ? "SignedHeaders is empty" : NULL;
}

static const char *check_claim(const nl_sigv4_claim *claim)
{
    int64_t micros;
    if (claim->signature.length != 64 || !all_in(claim->signature, "0123456789abcdef")) return "the Signature is not 64 hexadecimal digits";
    const char *problem = check_signed_headers(claim->signed_headers);
    if (problem) return problem;
    if (claim->timestamp.length == 0) return "the date of the request is missing (X-Amz-Date)";
    if (!parse_timestamp(claim->timestamp, &micros)) return "X-Amz-Date is not of the form yyyyMMdd'T'HHmmss'Z'";
    if (!nl_str_equal(claim->scope.date, nl_str_slice(claim->timestamp, 0, 8))) return "the Credential's date is not that of X-Amz-Date";
    return NULL;
}

/* One value for a name; false when it is there twice. */
static bool take(nl_str *place, nl_str value)
{
    if (place->data) return false;
    *place = value;
    return true;
}

static const char *parse_authorization(nl_str text, nl_sigv4_claim *claim)
{
    nl_str credential = {0};
    nl_str rest = text;
    nl_str part;
    while (nl_str_next_part(&rest, ',', &part)) {
        part = nl_str_trim(part);
        const size_t equals = NL_MIN(nl_str_find_char(part, '=', 0), part.length);
        const nl_str name = nl_str_slice(part, 0, equals);
        const nl_str value = nl_str_slice(part, equals + 1, part.length);
        nl_str *place = nl_str_is(name, "Credential")      ? &credential
                        : nl_str_is(name, "SignedHeaders") ? &claim->signed_headers
                        : nl_str_is(name, "Signature")     ? &claim->signature
                                                           : NULL;
        if (!place || !take(place, value)) return "the authorization header has a component that is unknown or there twice";
    }
    if (!credential.data || !claim->signed_headers.data || !claim->signature.data) return "the authorization header lacks Credential, SignedHeaders or Signature";
    const char *problem = parse_credential(credential, &claim->scope);
    return problem ? problem : check_claim(claim);
}

static nl_str find_header(const nl_sigv4_request *request, const char *name, uint32_t *count)
{
    nl_str value = {0};
    uint32_t found = 0;
    for (uint32_t i = 0; i < request->header_count; i++)
        if (nl_str_is_nocase(request->headers[i].key, name) && found++ == 0) value = nl_str_trim(request->headers[i].value);
    *count = found;
    return value;
}

typedef struct query_claim {
    nl_str algorithm, credential, date, expires, signed_headers, signature, token, old_key;
    bool has_duplicate;
} query_claim;

static void read_query(nl_str query, nl_arena *arena, query_claim *found)
{
    const struct {
        const char *name;
        nl_str *place;
    } rows[] = {{"X-Amz-Algorithm", &found->algorithm},   {"X-Amz-Credential", &found->credential}, {"X-Amz-Date", &found->date},
                {"X-Amz-Expires", &found->expires},       {"X-Amz-SignedHeaders", &found->signed_headers}, {"X-Amz-Signature", &found->signature},
                {"X-Amz-Security-Token", &found->token},  {"AWSAccessKeyId", &found->old_key}};
    nl_str rest = query;
    nl_str part;
    while (nl_str_next_part(&rest, '&', &part)) {
        const size_t equals = NL_MIN(nl_str_find_char(part, '=', 0), part.length);
        for (size_t i = 0; i < NL_COUNT(rows); i++) {
            if (!nl_str_is(nl_str_slice(part, 0, equals), rows[i].name)) continue;
            const nl_str value = nl_str_slice(part, equals + 1, part.length);
            if (!take(rows[i].place, value.length > 0 ? decode(arena, value) : NL_STR(""))) found->has_duplicate = true;
        }
    }
}

static const char *parse_presigned(const query_claim *found, nl_sigv4_claim *claim)
{
    if (found->has_duplicate) return "the query has an X-Amz- parameter twice";
    if (nl_str_is(found->algorithm, "AWS4-ECDSA-P256-SHA256")) return "Signature Version 4A is not supported; sign with AWS4-HMAC-SHA256";
    if (!nl_str_is(found->algorithm, "AWS4-HMAC-SHA256")) return "X-Amz-Algorithm is not AWS4-HMAC-SHA256";
    if (!found->credential.data || !found->date.data || !found->expires.data || !found->signed_headers.data || !found->signature.data)
        return "a presigned query needs X-Amz-Credential, X-Amz-Date, X-Amz-Expires, X-Amz-SignedHeaders and X-Amz-Signature";
    claim->signed_headers = found->signed_headers;
    claim->signature = found->signature;
    claim->timestamp = found->date;
    claim->token = found->token;
    if (!nl_parse_int64(found->expires, &claim->expires_seconds)) return "X-Amz-Expires is not a number of seconds";
    if (claim->expires_seconds < 0) return "X-Amz-Expires must not be negative";
    if (claim->expires_seconds > EXPIRES_SECONDS_MAX) return "X-Amz-Expires must be at most 604800 seconds (a week)";
    const char *problem = parse_credential(found->credential, &claim->scope);
    return problem ? problem : check_claim(claim);
}

static const char *parse_header_claim(const nl_sigv4_request *request, nl_str authorization, uint32_t authorization_count, nl_sigv4_claim *claim)
{
    uint32_t date_count;
    uint32_t token_count;
    if (authorization_count > 1) return "there is more than one authorization header";
    if (nl_str_starts(authorization, NL_STR("AWS4-ECDSA-P256-SHA256"))) return "Signature Version 4A is not supported; sign with AWS4-HMAC-SHA256";
    if (nl_str_starts(authorization, NL_STR("AWS "))) return "Signature Version 2 is not supported; sign with AWS4-HMAC-SHA256";
    if (!nl_str_starts(authorization, NL_STR("AWS4-HMAC-SHA256 "))) return "the authorization header's algorithm is unknown; sign with AWS4-HMAC-SHA256";
    claim->timestamp = find_header(request, "x-amz-date", &date_count);
    claim->token = find_header(request, "x-amz-security-token", &token_count);
    if (date_count > 1) return "there is more than one X-Amz-Date header";
    if (token_count > 1) return "there is more than one X-Amz-Security-Token header";
    return parse_authorization(nl_str_slice(authorization, sizeof("AWS4-HMAC-SHA256 ") - 1, authorization.length), claim);
}

void nl_sigv4_claim_parse(const nl_sigv4_request *request, nl_arena *arena, nl_sigv4_claim *claim)
{
    uint32_t count;
    const nl_str authorization = find_header(request, "authorization", &count);
    const bool is_in_header = nl_str_starts(authorization, NL_STR("AWS")) || (count > 1 && authorization.data);
    query_claim found = {0};
    read_query(request->query, arena, &found);
    const bool is_in_query = found.algorithm.data || found.signature.data || found.credential.data;

    *claim = (nl_sigv4_claim){.kind = NL_SIGV4_NONE};
    if (is_in_header && is_in_query)
        claim->problem = "only one of the authorization header and the query may hold a signature";
    else if (is_in_header)
        claim->problem = parse_header_claim(request, authorization, count, claim);
    else if (is_in_query)
        claim->problem = parse_presigned(&found, claim);
    else if (found.old_key.data)
        claim->problem = "Signature Version 2 is not supported; sign with AWS4-HMAC-SHA256";
    else
        return;
    claim->kind = claim->problem ? NL_SIGV4_UNKNOWN : is_in_header ? NL_SIGV4_HEADER : NL_SIGV4_PRESIGNED;
}

/* ---- the verdict ---- */

static bool is_signed(nl_str signed_headers, nl_str name)
{
    nl_str rest = signed_headers;
    nl_str one;
    while (nl_str_next_part(&rest, ';', &one))
        if (nl_str_equal_nocase(one, name)) return true;
    return false;
}

/* S3: who is between client and server must not be able to add x-amz-copy-source, x-amz-acl … */
static bool leaves_headers_unsigned(const nl_sigv4_request *request, const nl_sigv4_claim *claim)
{
    if (!nl_sigv4_is_s3(claim->scope.service)) return false;
    for (uint32_t i = 0; i < request->header_count; i++) {
        const nl_str name = request->headers[i].key;
        if (!nl_str_starts_nocase(name, NL_STR("x-amz-")) || is_signed(claim->signed_headers, name)) continue;
        /* Of a link the hash is UNSIGNED-PAYLOAD whatever the header says. */
        if (claim->kind != NL_SIGV4_PRESIGNED || !nl_str_is_nocase(name, "x-amz-content-sha256")) return true;
    }
    return false;
}

/* One that is absent would count like an empty one. */
static bool lacks_signed_header(const nl_sigv4_request *request, nl_str signed_headers)
{
    nl_str rest = signed_headers;
    nl_str name;
    while (nl_str_next_part(&rest, ';', &name)) {
        bool is_there = false;
        for (uint32_t i = 0; i < request->header_count && !is_there; i++)
            is_there = nl_str_equal_nocase(request->headers[i].key, name);
        if (!is_there) return true;
    }
    return false;
}

static nl_str encode_again(nl_arena *arena, nl_str text, bool is_path)
{
    nl_builder out;
    nl_builder_init(&out, REENCODED_BYTES_MAX);
    if (is_path) {
        nl_sigv4_append_encoded(&out, decode(arena, text), true);
    } else {
        nl_str rest = text;
        nl_str part;
        while (nl_str_next_part(&rest, '&', &part)) {
            const size_t equals = nl_str_find_char(part, '=', 0);
            if (out.length > 0) nl_append_char(&out, '&');
            nl_sigv4_append_encoded(&out, decode(arena, nl_str_slice(part, 0, equals)), false);
            if (equals == NL_NOT_FOUND) continue;
            nl_append_char(&out, '=');
            nl_sigv4_append_encoded(&out, decode(arena, nl_str_slice(part, equals + 1, part.length)), false);
        }
    }
    const nl_str again = nl_builder_failed(&out) ? text : nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return again;
}

static nl_str without_token(nl_arena *arena, nl_str query)
{
    char *out = nl_arena_alloc(arena, nl_size_add(query.length, 1));
    size_t length = 0;
    nl_str rest = query;
    nl_str part;
    while (nl_str_next_part(&rest, '&', &part)) {
        if (part.length == 0 || nl_str_starts(part, NL_STR("X-Amz-Security-Token="))) continue;
        if (length > 0) out[length++] = '&';
        memcpy(out + length, part.data, part.length);
        length += part.length;
    }
    return (nl_str){out, length};
}

static bool matches(const nl_sigv4_request *request, const nl_sigv4_claim *claim, nl_str secret_key, nl_arena *arena, nl_str *canonical)
{
    nl_str signature;
    nl_status status = nl_sigv4_signature(request, &claim->scope, secret_key, claim->timestamp, claim->signed_headers, arena, &signature, canonical);
    if (status) {
        nl_error_free(status);
        return false;
    }
    return claim->signature.length == signature.length && CRYPTO_memcmp(claim->signature.data, signature.data, signature.length) == 0;
}

/* As sent; encoded again; and both without the token of a link, which some services add after signing. */
static bool matches_some_way(const nl_sigv4_request *request, const nl_sigv4_claim *claim, nl_str secret_key, nl_arena *arena, nl_str *canonical)
{
    if (matches(request, claim, secret_key, arena, canonical)) return true;
    const bool has_token = claim->kind == NL_SIGV4_PRESIGNED && claim->token.length > 0;
    for (int way = 1; way < (has_token ? 4 : 2); way++) {
        nl_sigv4_request other = *request;
        if (way & 2) other.query = without_token(arena, other.query);
        if (way & 1) {
            other.query = encode_again(arena, other.query, false);
            if (nl_sigv4_is_s3(claim->scope.service)) other.path = encode_again(arena, other.path, true);
        }
        if (matches(&other, claim, secret_key, arena, NULL)) return true;
    }
    return false;
}

nl_sigv4_verdict nl_sigv4_verify(const nl_sigv4_request *request, const nl_sigv4_claim *claim, nl_str secret_key, int64_t now_micros, nl_arena *arena, nl_str *canonical)
{
    int64_t signed_at;
    if (canonical) *canonical = (nl_str){0};
    if (claim->kind != NL_SIGV4_HEADER && claim->kind != NL_SIGV4_PRESIGNED) return NL_SIGV4_MALFORMED;
    if (!parse_timestamp(claim->timestamp, &signed_at) || !is_signed(claim->signed_headers, NL_STR("host"))) return NL_SIGV4_MALFORMED;
    if (leaves_headers_unsigned(request, claim)) return NL_SIGV4_UNSIGNED_HEADERS;
    const int64_t age = now_micros - signed_at;
    const bool is_presigned = claim->kind == NL_SIGV4_PRESIGNED;
    if (age < -SKEW_MICROS_MAX || (!is_presigned && age > SKEW_MICROS_MAX)) return NL_SIGV4_SKEWED;
    if (is_presigned && age > claim->expires_seconds * NL_MICROS_PER_SECOND) return NL_SIGV4_EXPIRED;
    nl_sigv4_request whole = *request;
    if (is_presigned && nl_sigv4_is_s3(claim->scope.service) && whole.payload_hash.length == 0) whole.payload_hash = NL_STR("UNSIGNED-PAYLOAD");
    const bool is_good = matches_some_way(&whole, claim, secret_key, arena, canonical) && !lacks_signed_header(request, claim->signed_headers);
    return is_good ? NL_SIGV4_GOOD : NL_SIGV4_WRONG;
}
