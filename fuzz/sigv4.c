/* fuzz/sigv4.c - any bytes as a request: lines of method, path, query, then headers. Whatever it claims is parsed and
 * verified without harm; the same request signed by us is then found good, and wrong with another key. */
#include <stdlib.h>

#include "storage/sigv4.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEADERS_MAX 100u
#define NOW         1790858096000000ll

static bool is_name(nl_str text)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] <= ' ' || text.data[i] == ';' || text.data[i] > '~') return false;
    return text.length > 0;
}

static void sign_and_verify(nl_arena *arena, nl_sigv4_request request, nl_property *headers)
{
    const nl_sigv4_scope scope = {NL_STR("AK"), NL_STR("eu-west-1"), request.path.length % 2 ? NL_STR("s3") : NL_STR("glue"), {0}};
    headers[request.header_count++] = (nl_property){NL_STR("host"), NL_STR("h")};
    const nl_property *signed_headers;
    uint32_t count;
    nl_status status = nl_sigv4_sign(&request, &scope, NL_STR("secret"), (nl_str){0}, NOW, arena, &signed_headers, &count);
    if (status) {
        nl_error_free(status);
        return;
    }
    request.headers = signed_headers;
    request.header_count = count;
    nl_sigv4_claim claim;
    nl_sigv4_claim_parse(&request, arena, &claim);
    if (claim.kind != NL_SIGV4_HEADER) return; /* the query claims something too, or there are many headers of a name */
    if (nl_sigv4_verify(&request, &claim, NL_STR("secret"), NOW, arena, NULL) != NL_SIGV4_GOOD) abort();
    if (nl_sigv4_verify(&request, &claim, NL_STR("Secret"), NOW, arena, NULL) != NL_SIGV4_WRONG) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_property headers[HEADERS_MAX + 1];
    nl_sigv4_request request = {.headers = headers};
    nl_str rest = {(const char *)data, size};
    nl_str line;
    nl_str *const starts[] = {&request.method, &request.path, &request.query};
    for (size_t i = 0; nl_str_next_part(&rest, '\n', &line) && request.header_count < HEADERS_MAX; i++) {
        const size_t colon = nl_str_find_char(line, ':', 0);
        const nl_property header = {nl_str_slice(line, 0, colon), nl_str_slice(line, colon == NL_NOT_FOUND ? colon : colon + 1, line.length)};
        if (i < NL_COUNT(starts)) *starts[i] = line;
        else if (is_name(header.key)) headers[request.header_count++] = header;
    }
    nl_sigv4_claim claim;
    nl_sigv4_claim_parse(&request, arena, &claim);
    if (claim.kind == NL_SIGV4_UNKNOWN && !claim.problem) abort();
    /* Nobody guesses a signature. */
    if (nl_sigv4_verify(&request, &claim, NL_STR("a key that no corpus was signed with"), NOW, arena, NULL) == NL_SIGV4_GOOD) abort();
    sign_and_verify(arena, request, headers);
    nl_arena_free(arena);
    return 0;
}
