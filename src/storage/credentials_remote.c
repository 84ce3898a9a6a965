/* storage/credentials_remote.c - credentials that a service hands out: STS, the container's agent, EC2's metadata.
 *
 * Source: AWS STS API Reference, AssumeRole and AssumeRoleWithWebIdentity; SDKs Reference Guide, "Container credential
 * provider" and "IMDS credential provider". Metadata is asked with short timeouts: on most machines nobody answers.
 */
#include "storage/credentials_private.h"

#include "base/calendar.h"
#include "base/json.h"
#include "base/number.h"
#include "storage/io_error.h"
#include "storage/sigv4.h"
#include "storage/xml.h"

#define ANSWER_BYTES_MAX (1u << 20)
#define CONTAINER_HOST   "http://169.254.170.2"
#define INSTANCE_HOST    "http://169.254.169.254"

/* One exchange. *text: the body. A status above 299 is returned as it is. */
static nl_status exchange(nl_lookup *look, nl_http_request *request, int32_t *code, nl_str *text)
{
    nl_http_response response = {0};
    request->body_max = ANSWER_BYTES_MAX;
    NL_TRY(nl_http_send(look->client, request, &response));
    *code = response.status;
    *text = response.body ? nl_arena_str(look->arena, (nl_str){(const char *)response.body->data, response.body->size_bytes}) : (nl_str){0};
    nl_http_response_fini(&response);
    return nl_arena_check(look->arena);
}

static nl_status need_client(nl_lookup *look)
{
    if (look->client) return NULL;
    const nl_http_options options = {.connect_timeout_ms = 5000, .stall_timeout_ms = 10000, .deadline_ms = 30000, .attempts_max = 3};
    return nl_http_client_new(&options, look->memory, &look->client);
}

/* ---- STS ---- */

static void append_form(nl_arena *arena, nl_builder *form, const char *name, nl_str value)
{
    if (value.length == 0) return;
    if (form->length > 0) nl_append_char(form, '&');
    nl_append_f(form, "%s=", name);
    nl_append(form, nl_url_encode(arena, value, false));
}

static nl_status role_form(nl_lookup *look, const nl_role *role, nl_str *form)
{
    const bool is_web = role->web_token.length > 0;
    nl_builder out;
    nl_builder_init(&out, ANSWER_BYTES_MAX);
    append_form(look->arena, &out, "Action", is_web ? NL_STR("AssumeRoleWithWebIdentity") : NL_STR("AssumeRole"));
    append_form(look->arena, &out, "Version", NL_STR("2011-06-15"));
    append_form(look->arena, &out, "RoleArn", role->arn);
    const nl_str session = role->session_name.length > 0 ? role->session_name : nl_arena_f(look->arena, "nilas-%lld", (long long)(nl_now_micros() / 1000));
    append_form(look->arena, &out, "RoleSessionName", session);
    append_form(look->arena, &out, "ExternalId", role->external_id);
    append_form(look->arena, &out, "WebIdentityToken", role->web_token);
    if (role->duration_seconds > 0) append_form(look->arena, &out, "DurationSeconds", nl_arena_f(look->arena, "%lld", (long long)role->duration_seconds));
    for (uint32_t i = 0; i < role->tag_count; i++) {
        append_form(look->arena, &out, nl_arena_f(look->arena, "Tags.member.%u.Key", i + 1).data, role->tags[i].key);
        append_form(look->arena, &out, nl_arena_f(look->arena, "Tags.member.%u.Value", i + 1).data, role->tags[i].value);
    }
    const bool has_failed = nl_builder_failed(&out);
    if (!has_failed) *form = nl_arena_str(look->arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return has_failed ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The request to assume the role " NL_STR_FMT " is too long", NL_STR_ARG(role->arn)) : NULL;
}

static nl_status read_role_answer(nl_lookup *look, const nl_role *role, int32_t code, nl_str answer, nl_credentials *credentials)
{
    const nl_xml *root;
    NL_TRY_NOTE(nl_xml_parse(look->arena, (nl_bytes){(const uint8_t *)answer.data, answer.length}, &root), "reading what STS answered (status %d)", code);
    if (code != 200) {
        const nl_xml *error = nl_xml_child(root, "Error");
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The role " NL_STR_FMT " cannot be assumed: " NL_STR_FMT ": " NL_STR_FMT " (status %d)", NL_STR_ARG(role->arn),
                             NL_STR_ARG(nl_xml_text(error, "Code")), NL_STR_ARG(nl_xml_text(error, "Message")), code);
    }
    const nl_xml *result = nl_xml_child(root, role->web_token.length > 0 ? "AssumeRoleWithWebIdentityResult" : "AssumeRoleResult");
    const nl_xml *found = nl_xml_child(result, "Credentials");
    const nl_str expiration = nl_str_trim(nl_xml_text(found, "Expiration"));
    *credentials = (nl_credentials){.access_key = nl_str_trim(nl_xml_text(found, "AccessKeyId")),
                                    .secret_key = {nl_str_trim(nl_xml_text(found, "SecretAccessKey"))},
                                    .token = {nl_str_trim(nl_xml_text(found, "SessionToken"))},
                                    .expires_micros = INT64_MAX};
    if (credentials->access_key.length == 0 || nl_secret_text(&credentials->secret_key).length == 0)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "STS answered without keys for the role " NL_STR_FMT, NL_STR_ARG(role->arn));
    if (expiration.length > 0 && !nl_cast_timestamp(expiration, nl_timezone_utc(), &credentials->expires_micros))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "STS answered with an Expiration that is no point in time: " NL_STR_FMT, NL_STR_ARG(expiration));
    return NULL;
}

nl_status nl_assume_role(nl_lookup *look, const nl_role *role, const nl_credentials *base, nl_credentials *credentials)
{
    nl_aws_profile profile;
    nl_str url;
    nl_str form;
    nl_url parts;
    NL_TRY(need_client(look));
    NL_TRY(nl_aws_profile_read(look->arena, &profile));
    NL_TRY(nl_aws_endpoint(look->arena, "sts", &url));
    const nl_str region = role->region.length > 0 ? role->region : profile.region.length > 0 ? profile.region : NL_STR("us-east-1");
    if (url.length == 0) url = nl_aws_service_url(look->arena, "sts", region);
    NL_TRY(nl_url_parse(url, &parts));
    NL_TRY(role_form(look, role, &form));

    uint8_t hash[32];
    nl_sha256((nl_bytes){(const uint8_t *)form.data, form.length}, hash);
    const nl_str host = parts.port.length > 0 ? nl_arena_f(look->arena, NL_STR_FMT ":" NL_STR_FMT, NL_STR_ARG(parts.host), NL_STR_ARG(parts.port)) : parts.host;
    const nl_property plain[] = {{NL_STR("host"), host}, {NL_STR("content-type"), NL_STR("application/x-www-form-urlencoded; charset=utf-8")}};
    const nl_property *headers = plain;
    uint32_t header_count = NL_COUNT(plain);
    if (base) {
        const nl_sigv4_request unsigned_request = {.method = NL_STR("POST"), .path = parts.path, .query = parts.query, .headers = plain, .header_count = NL_COUNT(plain),
                                                   .payload_hash = nl_hex(look->arena, hash, sizeof(hash))};
        const nl_sigv4_scope scope = {.access_key = base->access_key, .region = region, .service = NL_STR("sts")};
        NL_TRY(nl_sigv4_sign(&unsigned_request, &scope, nl_secret_text(&base->secret_key), nl_secret_text(&base->token), nl_now_micros(), look->arena, &headers, &header_count));
    }
    nl_http_request request = {.method = "POST", .url = url, .headers = headers, .header_count = header_count, .body = {(const uint8_t *)form.data, form.length},
                               .is_idempotent = true};
    int32_t code;
    nl_str answer;
    NL_TRY_NOTE(exchange(look, &request, &code, &answer), "assuming the role " NL_STR_FMT, NL_STR_ARG(role->arn));
    return read_role_answer(look, role, code, answer, credentials);
}

nl_status nl_look_in_web_identity(nl_lookup *look, nl_credentials *credentials, bool *found)
{
    const nl_str token_file = nl_environment("AWS_WEB_IDENTITY_TOKEN_FILE");
    const nl_role role_base = {.arn = nl_environment("AWS_ROLE_ARN"), .session_name = nl_environment("AWS_ROLE_SESSION_NAME")};
    *found = false;
    if (!token_file.data) {
        nl_lookup_missed(look, "web identity (AWS_WEB_IDENTITY_TOKEN_FILE is not set)");
        return NULL;
    }
    if (!role_base.arn.data) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "AWS_WEB_IDENTITY_TOKEN_FILE is set but AWS_ROLE_ARN is not");
    nl_role role = role_base;
    bool is_there;
    NL_TRY(nl_read_operator_file(look->arena, token_file, &role.web_token, &is_there));
    role.web_token = is_there ? nl_str_trim(role.web_token) : (nl_str){0};
    if (role.web_token.length == 0)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "AWS_WEB_IDENTITY_TOKEN_FILE is " NL_STR_FMT ", which %s", NL_STR_ARG(token_file), is_there ? "is empty" : "does not exist");
    NL_TRY(nl_assume_role(look, &role, NULL, credentials));
    *found = true;
    return NULL;
}

/* ---- the container's agent ---- */

/* Plain HTTP carries the token to this machine and to the agents of ECS and EKS only. */
static bool is_allowed_agent(const nl_url *url)
{
    static const char *const hosts[] = {"localhost", "::1", "169.254.170.2", "169.254.170.23", "fd00:ec2::23"};
    if (nl_str_is(url->scheme, "https") || nl_str_starts(url->host, NL_STR("127."))) return true;
    for (size_t i = 0; i < NL_COUNT(hosts); i++)
        if (nl_str_is(url->host, hosts[i])) return true;
    return false;
}

static nl_status agent_token(nl_lookup *look, nl_str *token)
{
    const nl_str file = nl_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    *token = nl_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    if (file.data) {
        bool is_there;
        NL_TRY(nl_read_operator_file(look->arena, file, token, &is_there));
        if (!is_there) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE is " NL_STR_FMT ", which does not exist", NL_STR_ARG(file));
        *token = nl_str_trim(*token);
    }
    if (nl_str_find_char(*token, '\n', 0) != NL_NOT_FOUND || nl_str_find_char(*token, '\r', 0) != NL_NOT_FOUND)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The container's authorization token has more than one line");
    return NULL;
}

nl_status nl_look_in_container(nl_lookup *look, nl_credentials *credentials, bool *found)
{
    const nl_str relative = nl_environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const nl_str full = nl_environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    *found = false;
    if (!relative.data && !full.data) {
        nl_lookup_missed(look, "the container (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is not set)");
        return NULL;
    }
    const nl_str url = relative.data ? nl_arena_f(look->arena, CONTAINER_HOST NL_STR_FMT, NL_STR_ARG(relative)) : full;
    nl_url parts;
    nl_str token;
    NL_TRY(nl_url_parse(url, &parts));
    if (!is_allowed_agent(&parts))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "AWS_CONTAINER_CREDENTIALS_FULL_URI has the host " NL_STR_FMT "; without https only this machine and the agents of ECS and EKS are asked",
                             NL_STR_ARG(parts.host));
    NL_TRY(agent_token(look, &token));
    NL_TRY(need_client(look));
    const nl_property headers[] = {{NL_STR("accept"), NL_STR("application/json")}, {NL_STR("authorization"), token}};
    nl_http_request request = {.method = "GET", .url = url, .headers = headers, .header_count = token.length > 0 ? 2 : 1};
    int32_t code;
    nl_str answer;
    NL_TRY_NOTE(exchange(look, &request, &code, &answer), "asking the container's agent for credentials");
    if (code != 200) return nl_raise_io("Asking for credentials", url, "the container's agent answered with status %d", code);
    NL_TRY(nl_credentials_from_json(look->arena, answer, "the answer of the container's agent", credentials));
    *found = true;
    return NULL;
}

/* ---- EC2 ---- */

static nl_status instance_client(nl_lookup *look, nl_http_client **client)
{
    int64_t seconds = 1;
    int64_t attempts = 1;
    const nl_str timeout = nl_environment("AWS_METADATA_SERVICE_TIMEOUT");
    const nl_str tries = nl_environment("AWS_METADATA_SERVICE_NUM_ATTEMPTS");
    if (timeout.data && (!nl_parse_int64(timeout, &seconds) || seconds < 1 || seconds > 600))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "AWS_METADATA_SERVICE_TIMEOUT is " NL_STR_FMT ", which is no number of seconds", NL_STR_ARG(timeout));
    if (tries.data && (!nl_parse_int64(tries, &attempts) || attempts < 1 || attempts > 100))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "AWS_METADATA_SERVICE_NUM_ATTEMPTS is " NL_STR_FMT ", which is no number of attempts", NL_STR_ARG(tries));
    const nl_http_options options = {.connect_timeout_ms = seconds * 1000, .stall_timeout_ms = seconds * 1000, .deadline_ms = seconds * 1000 * attempts,
                                     .attempts_max = (uint32_t)attempts};
    return nl_http_client_new(&options, look->memory, client);
}

static nl_str without_slash(nl_str url)
{
    while (url.length > 0 && url.data[url.length - 1] == '/')
        url.length--;
    return url;
}

/* A token, the role's name, its keys. *missing: what did not answer, in words. */
static nl_status ask_instance(nl_lookup *look, nl_str host, nl_credentials *credentials, const char **missing)
{
    const nl_property lifetime = {NL_STR("x-aws-ec2-metadata-token-ttl-seconds"), NL_STR("21600")};
    nl_http_request request = {.method = "PUT", .url = nl_arena_f(look->arena, NL_STR_FMT "/latest/api/token", NL_STR_ARG(host)), .headers = &lifetime, .header_count = 1};
    int32_t code;
    nl_str token;
    nl_str role;
    nl_str keys;
    *missing = "it gave no token";
    NL_TRY(exchange(look, &request, &code, &token));
    if (code != 200 || nl_str_find_char(token, '\n', 0) != NL_NOT_FOUND) return NULL;
    const nl_property proof = {NL_STR("x-aws-ec2-metadata-token"), token};
    const nl_str folder = nl_arena_f(look->arena, NL_STR_FMT "/latest/meta-data/iam/security-credentials/", NL_STR_ARG(host));
    request = (nl_http_request){.method = "GET", .url = folder, .headers = &proof, .header_count = 1};
    *missing = "the instance has no role";
    NL_TRY(exchange(look, &request, &code, &role));
    role = nl_str_trim(nl_str_slice(role, 0, nl_str_find_char(role, '\n', 0)));
    if (code != 200 || role.length == 0) return NULL;
    request.url = nl_arena_f(look->arena, NL_STR_FMT NL_STR_FMT, NL_STR_ARG(folder), NL_STR_ARG(nl_url_encode(look->arena, role, false)));
    *missing = "it gave no keys for the instance's role";
    NL_TRY(exchange(look, &request, &code, &keys));
    if (code != 200) return NULL;
    NL_TRY(nl_credentials_from_json(look->arena, keys, "the answer of EC2's metadata service", credentials));
    *missing = NULL;
    return NULL;
}

nl_status nl_look_in_instance(nl_lookup *look, nl_credentials *credentials, bool *found)
{
    *found = false;
    if (nl_aws_is_true(nl_environment("AWS_EC2_METADATA_DISABLED"))) {
        nl_lookup_missed(look, "EC2's metadata service (AWS_EC2_METADATA_DISABLED is true)");
        return NULL;
    }
    nl_str host = nl_environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    nl_http_client *client = NULL;
    NL_TRY(instance_client(look, &client));
    nl_lookup with = *look;
    with.client = client;
    const char *missing = NULL;
    host = host.data ? without_slash(host) : NL_STR(INSTANCE_HOST);
    nl_status status = ask_instance(&with, host, credentials, &missing);
    nl_http_client_release(client);
    if (status || missing) nl_lookup_missed(look, "EC2's metadata service at " NL_STR_FMT " (%s)", NL_STR_ARG(host), missing && !status ? missing : "it does not answer");
    *found = !status && !missing;
    nl_error_free(status); /* most machines are no EC2 instances: silence there is no failure */
    return NULL;
}
