/* tests/signing/aws_tool.c - what nilas makes of requests, profiles and credentials, for tests/catalogs/signing_test.py.
 *
 *     aws_tool sigv4                 a JSON object a line: {"do": "sign"|"presign"|"verify", "method", "path", "query", "headers": [[name, value]],
 *                                    "payload", "service", "region", "access", "secret", "token", "now": seconds, "expires": seconds}
 *     aws_tool profile SERVICE       the profile in force and the endpoint of a service
 *     aws_tool credentials [K=V …]   the keys that a file system with these properties would use
 *
 * Answers are JSON, one line each.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/calendar.h"
#include "base/json.h"
#include "storage/credentials.h"
#include "storage/sigv4.h"

static nl_str text_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) ? (nl_str){json_string_value(value), json_string_length(value)} : (nl_str){0};
}

static json_t *text_json(nl_str text)
{
    return json_stringn(text.data ? text.data : "", text.length);
}

static void print(json_t *answer)
{
    char *text = json_dumps(answer, JSON_SORT_KEYS);
    puts(text);
    fflush(stdout);
    free(text);
    json_decref(answer);
}

static json_t *failure(nl_status status)
{
    json_t *answer = json_pack("{s:s}", "error", nl_error_message(status));
    nl_error_free(status);
    return answer;
}

static nl_property *headers_of(nl_arena *arena, const json_t *list, uint32_t *count)
{
    nl_property *headers = NL_NEW_ARRAY(arena, nl_property, json_array_size(list) + 1);
    *count = (uint32_t)json_array_size(list);
    for (uint32_t i = 0; i < *count; i++) {
        const json_t *pair = json_array_get(list, i);
        headers[i] = (nl_property){nl_str_from(json_string_value(json_array_get(pair, 0))), nl_str_from(json_string_value(json_array_get(pair, 1)))};
    }
    return headers;
}

static json_t *verify(const nl_sigv4_request *request, nl_str secret, int64_t now_micros, nl_arena *arena)
{
    static const char *const verdicts[] = {"good", "wrong", "skewed", "expired", "malformed", "unsigned headers"};
    nl_sigv4_claim claim;
    nl_str canonical = {0};
    nl_sigv4_claim_parse(request, arena, &claim);
    if (claim.kind == NL_SIGV4_NONE) return json_pack("{s:s}", "verdict", "none");
    if (claim.kind == NL_SIGV4_UNKNOWN) return json_pack("{s:s, s:s}", "verdict", "malformed", "problem", claim.problem);
    const nl_sigv4_verdict verdict = nl_sigv4_verify(request, &claim, secret, now_micros, arena, &canonical);
    return json_pack("{s:s, s:o, s:o}", "verdict", verdicts[verdict], "canonical", text_json(canonical), "access", text_json(claim.scope.access_key));
}

static json_t *handle(const json_t *ask, nl_arena *arena)
{
    nl_sigv4_request request = {.method = text_of(ask, "method"), .path = text_of(ask, "path"), .query = text_of(ask, "query"), .payload_hash = text_of(ask, "payload")};
    request.headers = headers_of(arena, json_object_get(ask, "headers"), &request.header_count);
    const nl_sigv4_scope scope = {.access_key = text_of(ask, "access"), .region = text_of(ask, "region"), .service = text_of(ask, "service")};
    const int64_t now_micros = json_integer_value(json_object_get(ask, "now")) * NL_MICROS_PER_SECOND;
    const nl_str what = text_of(ask, "do"), secret = text_of(ask, "secret"), token = text_of(ask, "token");
    if (nl_str_is(what, "verify")) return verify(&request, secret, now_micros, arena);
    if (nl_str_is(what, "presign")) {
        nl_str query;
        nl_status status = nl_sigv4_presign(&request, &scope, secret, token, now_micros, json_integer_value(json_object_get(ask, "expires")), arena, &query);
        return status ? failure(status) : json_pack("{s:o}", "query", text_json(query));
    }
    const nl_property *headers;
    uint32_t count;
    nl_status status = nl_sigv4_sign(&request, &scope, secret, token, now_micros, arena, &headers, &count);
    if (status) return failure(status);
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) json_array_append_new(list, json_pack("[o, o]", text_json(headers[i].key), text_json(headers[i].value)));
    return json_pack("{s:o}", "headers", list);
}

static int serve_requests(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    while ((length = getline(&line, &capacity, stdin)) > 0) {
        nl_arena *arena = nl_arena_new(NULL);
        const json_t *ask;
        nl_status status = nl_json_parse(arena, (nl_str){line, (size_t)length}, NL_STR("stdin"), &ask);
        print(status ? failure(status) : handle(ask, arena));
        nl_arena_free(arena);
    }
    free(line);
    return 0;
}

static json_t *profile_of(nl_arena *arena, const char *service)
{
    nl_aws_profile profile;
    nl_str endpoint;
    nl_status status = nl_aws_profile_read(arena, &profile);
    if (!status) status = nl_aws_endpoint(arena, service, &endpoint);
    if (status) return failure(status);
    return json_pack("{s:o, s:o, s:b, s:o}", "name", text_json(profile.name), "region", text_json(profile.region), "path_style", profile.is_path_style, "endpoint",
                     text_json(endpoint));
}

static json_t *credentials_of(nl_arena *arena, char **pairs, int pair_count)
{
    nl_property *properties = NL_NEW_ARRAY(arena, nl_property, (size_t)pair_count + 1);
    nl_credential_source *source = NULL;
    nl_credentials keys;
    for (int i = 0; i < pair_count; i++) {
        const nl_str pair = nl_str_from(pairs[i]);
        const size_t equals = nl_str_find_char(pair, '=', 0);
        properties[i] = (nl_property){nl_str_slice(pair, 0, equals), nl_str_slice(pair, equals + 1, pair.length)};
    }
    nl_status status = nl_credential_source_new(properties, (uint32_t)pair_count, "s3", NULL, &source);
    if (!status) status = nl_credential_source_get(source, arena, &keys);
    nl_credential_source_release(source);
    if (status) return failure(status);
    return json_pack("{s:o, s:o, s:o}", "access", text_json(keys.access_key), "secret", text_json(nl_secret_text(&keys.secret_key)), "token",
                     text_json(nl_secret_text(&keys.token)));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "sigv4") == 0) return serve_requests();
    nl_arena *arena = nl_arena_new(NULL);
    json_t *answer = argc == 3 && strcmp(argv[1], "profile") == 0       ? profile_of(arena, argv[2])
                     : argc >= 2 && strcmp(argv[1], "credentials") == 0 ? credentials_of(arena, argv + 2, argc - 2)
                                                                        : NULL;
    if (answer) print(answer);
    nl_arena_free(arena);
    if (!answer) fprintf(stderr, "aws_tool sigv4 | profile SERVICE | credentials [KEY=VALUE ...]\n");
    return answer ? 0 : 2;
}
