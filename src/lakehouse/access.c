/* lakehouse/access.c - see access.h. */
#include "lakehouse/access.h"

#include "base/calendar.h"
#include "base/number.h"
#include "storage/sigv4.h"

bool nl_same_secret(nl_str a, nl_str b)
{
    uint8_t left[32], right[32], differs = 0;
    nl_sha256((nl_bytes){(const uint8_t *)a.data, a.length}, left);
    nl_sha256((nl_bytes){(const uint8_t *)b.data, b.length}, right);
    for (size_t i = 0; i < sizeof(left); i++)
        differs |= (uint8_t)(left[i] ^ right[i]);
    return differs == 0;
}

nl_str nl_valid_text(nl_arena *arena, nl_str text)
{
    if (nl_utf8_is_valid(text)) return text;
    char *out = nl_arena_alloc(arena, 3 * text.length + 1); /* a bad byte becomes the three of U+FFFD */
    size_t length = 0;
    for (size_t at = 0; at < text.length;) {
        char bytes[4];
        const uint32_t count = nl_utf8_encode(nl_utf8_decode(text, &at), bytes);
        memcpy(out + length, bytes, count);
        length += count;
    }
    return (nl_str){out, length};
}

/* HMAC-SHA256 (RFC 2104) of the text under the secret key, in hex. */
static nl_str seal(nl_str secret, nl_str text, nl_arena *arena)
{
    uint8_t key[64] = {0}, digest[32];
    if (secret.length > sizeof(key)) nl_sha256((nl_bytes){(const uint8_t *)secret.data, secret.length}, key);
    else if (secret.length) memcpy(key, secret.data, secret.length);
    uint8_t *inner = nl_arena_alloc(arena, sizeof(key) + text.length + 1);
    uint8_t outer[sizeof(key) + sizeof(digest)];
    for (size_t i = 0; i < sizeof(key); i++) {
        inner[i] = key[i] ^ 0x36;
        outer[i] = key[i] ^ 0x5c;
    }
    if (text.length) memcpy(inner + sizeof(key), text.data, text.length);
    nl_sha256((nl_bytes){inner, sizeof(key) + text.length}, digest);
    memcpy(outer + sizeof(key), digest, sizeof(digest));
    nl_sha256((nl_bytes){outer, sizeof(outer)}, digest);
    return nl_hex(arena, digest, sizeof(digest));
}

static nl_str token_for(const nl_lakehouse_keys *keys, int64_t end_seconds, nl_arena *arena)
{
    const nl_str claim = nl_arena_f(arena, "nilas bearer " NL_STR_FMT " %lld", NL_STR_ARG(keys->access_key), (long long)end_seconds);
    const nl_str mac = seal(keys->secret_key, claim, arena);
    return nl_arena_f(arena, "nilas.%lld." NL_STR_FMT, (long long)end_seconds, NL_STR_ARG(mac));
}

nl_str nl_access_token(const nl_lakehouse_keys *keys, int64_t expires_seconds, nl_arena *arena)
{
    return token_for(keys, nl_now_micros() / 1000000 + expires_seconds, arena);
}

bool nl_access_token_is_good(const nl_lakehouse_keys *keys, nl_str token, nl_arena *arena)
{
    nl_str rest = token, name, end, mac;
    int64_t end_seconds;
    if (!nl_str_next_part(&rest, '.', &name) || !nl_str_next_part(&rest, '.', &end) || !nl_str_next_part(&rest, '.', &mac)) return false;
    if (!nl_parse_int64(end, &end_seconds) || end_seconds < nl_now_micros() / 1000000) return false;
    return nl_same_secret(token, token_for(keys, end_seconds, arena));
}

static void refuse(nl_access *access, const char *code, nl_str message)
{
    access->is_allowed = false;
    access->code = code;
    access->message = message;
}

static void check_unsigned(const nl_request *request, const nl_lakehouse_keys *keys, nl_access *access)
{
    static const nl_str bearer = NL_STR_INIT("Bearer ");
    const nl_str authorization = nl_request_header(request, "authorization");
    if (nl_str_starts_nocase(authorization, bearer)) {
        const nl_str token = nl_str_trim(nl_str_slice(authorization, bearer.length, authorization.length));
        access->is_signed = nl_access_token_is_good(keys, token, request->arena);
        if (!access->is_signed && keys->is_strict) refuse(access, "NotAuthorizedException", NL_STR("The bearer token is wrong or has expired"));
        return;
    }
    if (keys->is_strict) refuse(access, "MissingAuthenticationTokenException", NL_STR("Request is missing Authentication Token"));
}

static void check_signature(const nl_request *request, const nl_lakehouse_keys *keys, const nl_sigv4_request *signed_request, const nl_sigv4_claim *claim,
                            const char *signing_name, nl_access *access)
{
    nl_str canonical = {0};
    if (signing_name && !nl_str_is(claim->scope.service, signing_name)) {
        refuse(access, "InvalidSignatureException", nl_arena_f(request->arena, "Credential should be scoped to correct service: '%s'.", signing_name));
        return;
    }
    switch (nl_sigv4_verify(signed_request, claim, keys->secret_key, nl_now_micros(), request->arena, &canonical)) {
    case NL_SIGV4_GOOD: access->is_signed = true; return;
    case NL_SIGV4_SKEWED:
        refuse(access, "InvalidSignatureException", nl_arena_f(request->arena, "Signature expired: " NL_STR_FMT " is more than 15 minutes from this machine's clock", NL_STR_ARG(claim->timestamp)));
        return;
    case NL_SIGV4_EXPIRED: refuse(access, "InvalidSignatureException", NL_STR("Signature expired")); return;
    case NL_SIGV4_UNSIGNED_HEADERS:
        refuse(access, "InvalidSignatureException", NL_STR("There were headers present in the request which were not signed"));
        return;
    case NL_SIGV4_MALFORMED: refuse(access, "IncompleteSignatureException", NL_STR("The Authorization header is not as AWS Signature Version 4 wants it")); return;
    case NL_SIGV4_WRONG:
        refuse(access, "InvalidSignatureException",
               NL_STR("The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method."));
    }
}

void nl_access_check(const nl_request *request, const nl_lakehouse_keys *keys, const char *signing_name, nl_access *access)
{
    uint8_t digest[32];
    *access = (nl_access){.is_allowed = true};
    nl_sha256(request->body, digest);
    const nl_sigv4_request signed_request = {.method = request->method,
                                             .path = request->path,
                                             .query = request->query,
                                             .headers = request->headers,
                                             .header_count = request->header_count,
                                             .payload_hash = nl_hex(request->arena, digest, sizeof(digest))};
    nl_sigv4_claim claim;
    nl_sigv4_claim_parse(&signed_request, request->arena, &claim);
    access->region = claim.scope.region;
    access->access_key = claim.scope.access_key;
    switch (claim.kind) {
    case NL_SIGV4_NONE: check_unsigned(request, keys, access); return;
    case NL_SIGV4_UNKNOWN:
        if (nl_str_starts_nocase(nl_request_header(request, "authorization"), NL_STR("Bearer "))) check_unsigned(request, keys, access);
        else refuse(access, "IncompleteSignatureException", nl_arena_f(request->arena, "Authorization is not as AWS Signature Version 4 wants it: %s", claim.problem));
        return;
    case NL_SIGV4_HEADER:
    case NL_SIGV4_PRESIGNED:
        if (nl_str_equal(claim.scope.access_key, keys->access_key)) check_signature(request, keys, &signed_request, &claim, signing_name, access);
        else if (keys->is_strict) refuse(access, "UnrecognizedClientException", NL_STR("The security token included in the request is invalid."));
    }
}
