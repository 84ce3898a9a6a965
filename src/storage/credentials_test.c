/* storage/credentials_test.c - where credentials are found, in which order, and that they are renewed once and in time. */
#include "storage/test_server.h"

#include "base/calendar.h"
#include "base/process.h"
#include "storage/credentials.h"
#include "storage/sigv4.h"

#include <ftw.h>
#include <sys/stat.h>

#define START 1790858096000000ll /* 2026-10-01T12:34:56Z */

static char folder[64];
static nl_memory *memory;

/* What the services of AWS answer in these tests. */
typedef struct services {
    test_server server;
    char url[64];
    int status;            /* 0: 200 */
    uint32_t minutes;      /* how long keys last */
    char body[2048];       /* of the last request */
    char head[4096];
    char target[4096];
} services;

static nl_str expiry_of(nl_arena *arena, uint32_t minutes)
{
    nl_civil civil;
    nl_civil_from_micros(nl_now_micros() + minutes * 60 * NL_MICROS_PER_SECOND, &civil);
    return nl_arena_f(arena, "%04d-%02d-%02dT%02d:%02d:%02dZ", civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second);
}

static void serve(void *argument, const test_request *request, test_answer *answer)
{
    services *self = argument;
    nl_arena *arena = nl_arena_new(NULL);
    snprintf(self->body, sizeof(self->body), "%s", request->body);
    snprintf(self->head, sizeof(self->head), "%s", request->head);
    snprintf(self->target, sizeof(self->target), "%s", request->target);
    const nl_str expiry = expiry_of(arena, self->minutes);
    const char *text = "";
    if (strstr(request->body, "Action=AssumeRole")) {
        const char *action = strstr(request->body, "WithWebIdentity") ? "AssumeRoleWithWebIdentity" : "AssumeRole";
        text = self->status ? "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no &amp; no</Message></Error></ErrorResponse>"
                            : nl_arena_f(arena, "<%sResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><%sResult><Credentials><AccessKeyId>ASIA%u</AccessKeyId><SecretAccessKey>role/secret+"
                                                "</SecretAccessKey><SessionToken>role-token</SessionToken><Expiration>" NL_STR_FMT "</Expiration></Credentials></%sResult></%sResponse>",
                                         action, action, request->number, NL_STR_ARG(expiry), action, action).data;
    } else if (strcmp(request->target, "/latest/api/token") == 0) {
        text = "metadata-token";
    } else if (strcmp(request->target, "/latest/meta-data/iam/security-credentials/") == 0) {
        text = "the-role\n";
    } else {
        text = nl_arena_f(arena, "{\"Code\": \"Success\", \"AccessKeyId\": \"AK%u\", \"SecretAccessKey\": \"served-secret\", \"Token\": \"served-token\", \"Expiration\": \"" NL_STR_FMT "\"}",
                          request->number, NL_STR_ARG(expiry)).data;
    }
    test_answer_text(answer, self->status ? self->status : 200, "", text);
    nl_arena_free(arena);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static int set_up(void **state)
{
    static const char *const variables[] = {
        "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_STS", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_METADATA_SERVICE_TIMEOUT", "AWS_METADATA_SERVICE_NUM_ATTEMPTS"};
    for (size_t i = 0; i < NL_COUNT(variables); i++)
        unsetenv(variables[i]);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    snprintf(folder, sizeof(folder), "/tmp/nilas-keys-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    setenv("HOME", folder, 1);
    char path[128];
    snprintf(path, sizeof(path), "%s/.aws", folder);
    memory = nl_memory_new(NULL, "test", 64u << 20);
    services *all = calloc(1, sizeof(*all));
    all->minutes = 60;
    test_server_start(&all->server, serve, all);
    snprintf(all->url, sizeof(all->url), "%s", all->server.url);
    setenv("AWS_ENDPOINT_URL_STS", all->url, 1);
    nl_clock_hold(START);
    *state = all;
    return mkdir(path, 0700);
}

static int tear_down(void **state)
{
    services *all = *state;
    test_server_stop(&all->server);
    free(all);
    nl_clock_hold(NL_CLOCK_IS_RUNNING);
    if (nl_memory_used(memory) != 0) return -1;
    nl_memory_release(memory);
    return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *write_file(const char *name, const char *text)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    return path;
}

static nl_credential_source *source_of(const nl_property *properties, uint32_t count, const char *prefix)
{
    nl_credential_source *source;
    assert_ok(nl_credential_source_new(properties, count, prefix, memory, &source));
    return source;
}

/* The keys of a new source: "access/secret/token". */
static nl_str found_with(nl_arena *arena, const nl_property *properties, uint32_t count, const char *prefix)
{
    nl_credential_source *source = source_of(properties, count, prefix);
    nl_credentials keys;
    assert_ok(nl_credential_source_get(source, arena, &keys));
    nl_credential_source_release(source);
    const nl_str secret = nl_secret_text(&keys.secret_key);
    const nl_str token = nl_secret_text(&keys.token);
    return nl_arena_f(arena, NL_STR_FMT "|" NL_STR_FMT "|" NL_STR_FMT, NL_STR_ARG(keys.access_key), NL_STR_ARG(secret), NL_STR_ARG(token));
}

static nl_str found_by(nl_arena *arena)
{
    return found_with(arena, NULL, 0, "s3");
}

static nl_status failure_with(const nl_property *properties, uint32_t count)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_credential_source *source;
    nl_credentials keys;
    nl_status status = nl_credential_source_new(properties, count, "s3", memory, &source);
    if (!status) {
        status = nl_credential_source_get(source, arena, &keys);
        nl_credential_source_release(source);
    }
    nl_arena_free(arena);
    return status;
}

static void test_names_of_secrets(void **state)
{
    (void)state;
    static const char *const secrets[] = {"s3.secret-access-key", "s3.access-key-id", "spark.sql.catalog.x.s3.session-token", "jdbc.password", "PASSWORD", "credential",
                                          "spark.hadoop.fs.s3a.access.key", "spark.hadoop.fs.s3a.secret.key", "token", "rest.access-key-id", "aws_access_key_id", "s3.sse.key"};
    static const char *const others[] = {"", "uri", "s3.endpoint", "write.format.default", "key", "accesses", "warehouse", "client.region"};
    for (size_t i = 0; i < NL_COUNT(secrets); i++)
        assert_true(nl_key_is_secret(nl_str_from(secrets[i])));
    for (size_t i = 0; i < NL_COUNT(others); i++)
        assert_false(nl_key_is_secret(nl_str_from(others[i])));
}

static void test_properties_come_first(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    setenv("AWS_ACCESS_KEY_ID", "env", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "env-secret", 1);
    const nl_property properties[] = {{NL_STR("s3.access-key-id"), NL_STR("a")},     {NL_STR("s3.secret-access-key"), NL_STR("b")},     {NL_STR("s3.session-token"), NL_STR("c")},
                                      {NL_STR("client.access-key-id"), NL_STR("d")}, {NL_STR("client.secret-access-key"), NL_STR("e")}};
    assert_text(found_with(arena, properties, 5, "s3"), "a|b|c");
    assert_text(found_with(arena, properties, 5, "rest"), "d|e|");
    assert_text(found_with(arena, properties, 3, "rest"), "env|env-secret|");
    setenv("AWS_SESSION_TOKEN", "t", 1);
    assert_text(found_by(arena), "env|env-secret|t");
    nl_arena_free(arena);
}

static void test_half_a_key_is_an_error(void **state)
{
    (void)state;
    const nl_property access = {NL_STR("s3.access-key-id"), NL_STR("a")};
    const nl_property secret = {NL_STR("s3.secret-access-key"), NL_STR("hidden")};
    assert_fails(failure_with(&access, 1), NILAS_ILLEGAL_ARGUMENT, "s3.secret-access-key is not");
    assert_fails(failure_with(&secret, 1), NILAS_ILLEGAL_ARGUMENT, "s3.access-key-id is not");
    setenv("AWS_ACCESS_KEY_ID", "env", 1);
    assert_fails(failure_with(NULL, 0), NILAS_ILLEGAL_ARGUMENT, "AWS_SECRET_ACCESS_KEY is not");
    unsetenv("AWS_ACCESS_KEY_ID");
    write_file(".aws/credentials", "[default]\naws_access_key_id = x\n");
    assert_fails(failure_with(NULL, 0), NILAS_ILLEGAL_ARGUMENT, "only one of");
}

static void test_providers_by_class_name(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_property provider = {NL_STR("client.credentials-provider"), NL_STR("software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider")};
    assert_text(found_with(arena, &provider, 1, "s3"), "||");
    provider.value = NL_STR("org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider");
    assert_text(found_with(arena, &provider, 1, "s3"), "||");
    write_file(".aws/credentials", "[default]\naws_access_key_id = a\naws_secret_access_key = b\n[x]\naws_access_key_id = c\naws_secret_access_key = d\naws_session_token = e\n");
    setenv("AWS_ACCESS_KEY_ID", "env", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "env-secret", 1);
    provider.value = NL_STR("software.amazon.awssdk.auth.credentials.ProfileCredentialsProvider");
    assert_text(found_with(arena, &provider, 1, "s3"), "a|b|");
    const nl_property named[] = {provider, {NL_STR("client.credentials-provider.profile"), NL_STR("x")}};
    assert_text(found_with(arena, named, 2, "s3"), "c|d|e");
    provider.value = NL_STR("software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider");
    assert_text(found_with(arena, &provider, 1, "s3"), "env|env-secret|");
    provider.value = NL_STR("com.example.MyProvider");
    assert_fails(failure_with(&provider, 1), NILAS_ILLEGAL_ARGUMENT, "com.example.MyProvider, which nilas does not have. It has DefaultCredentialsProvider, Anonymous");
    provider.value = NL_STR("StaticCredentialsProvider");
    assert_fails(failure_with(&provider, 1), NILAS_ILLEGAL_ARGUMENT, "s3.access-key-id and s3.secret-access-key are not set");
    nl_arena_free(arena);
}

static void test_none_is_an_error_that_says_where_was_looked(void **state)
{
    (void)state;
    static const char *const places[] = {"the properties", "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "/.aws/config", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_EC2_METADATA_DISABLED",
                                         "AnonymousCredentialsProvider"};
    for (size_t i = 0; i < NL_COUNT(places); i++)
        assert_fails(failure_with(NULL, 0), NILAS_ILLEGAL_ARGUMENT, places[i]);
    setenv("AWS_PROFILE", "missing", 1);
    assert_fails(failure_with(NULL, 0), NILAS_ILLEGAL_ARGUMENT, "The AWS profile missing is in neither");
}

static void test_a_command_gives_keys(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    write_file("keys.json", "{\"Version\": 1, \"AccessKeyId\": \"p\", \"SecretAccessKey\": \"q\", \"SessionToken\": \"r\", \"Expiration\": \"2026-10-01T13:34:56+00:00\"}");
    char config[256];
    snprintf(config, sizeof(config), "[default]\ncredential_process = cat \"%s/keys.json\"\n", folder);
    write_file(".aws/config", config);
    assert_text(found_by(arena), "p|q|r");
    static const struct {
        const char *command, *problem;
        nl_condition condition;
    } rows[] = {{"exit 3", "code 3", NL_COND_NILAS_IO_ERROR},
                {"echo no json", "no json", NL_COND_NILAS_CORRUPT_FILE},
                {"echo '{\"Version\": 2}'", "Version is 2", NL_COND_NILAS_CORRUPT_FILE},
                {"yes", "64 KiB", NL_COND_NILAS_IO_ERROR},
                {"kill -9 $$", "signal 9", NL_COND_NILAS_IO_ERROR}};
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        snprintf(config, sizeof(config), "[default]\ncredential_process = %s\n", rows[i].command);
        write_file(".aws/config", config);
        nl_status status = failure_with(NULL, 0);
        assert_non_null(status);
        assert_int_equal(nl_error_condition(status), rows[i].condition);
        if (i != 1 && !strstr(nl_error_message(status), rows[i].problem)) fail_msg("row %zu: %s", i, nl_error_message(status));
        nl_error_free(status);
    }
    nl_arena_free(arena);
}

/* The request to STS is one that STS accepts: signed with the source profile's keys. */
static void check_signed(const services *all, const char *secret)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_property headers[32];
    uint32_t count = 0;
    nl_str rest = nl_str_from(all->head);
    nl_str line;
    uint8_t hash[32];
    nl_str_next_part(&rest, '\n', &line);
    while (nl_str_next_part(&rest, '\n', &line) && line.length > 1) {
        const size_t colon = nl_str_find_char(line, ':', 0);
        headers[count++] = (nl_property){nl_str_slice(line, 0, colon), nl_str_trim(nl_str_slice(line, colon + 1, line.length))};
    }
    nl_sha256((nl_bytes){(const uint8_t *)all->body, strlen(all->body)}, hash);
    const nl_sigv4_request request = {.method = NL_STR("POST"), .path = NL_STR("/"), .headers = headers, .header_count = count, .payload_hash = nl_hex(arena, hash, 32)};
    nl_sigv4_claim claim;
    nl_sigv4_claim_parse(&request, arena, &claim);
    assert_int_equal(claim.kind, NL_SIGV4_HEADER);
    assert_text(claim.scope.service, "sts");
    assert_int_equal(nl_sigv4_verify(&request, &claim, nl_str_from(secret), nl_now_micros(), arena, NULL), NL_SIGV4_GOOD);
    nl_arena_free(arena);
}

static void test_a_profile_assumes_a_role(void **state)
{
    services *all = *state;
    nl_arena *arena = nl_arena_new(NULL);
    setenv("AWS_PROFILE", "x", 1);
    write_file(".aws/config", "[profile x]\nrole_arn = arn:aws:iam::1:role/a b\nsource_profile = y\nexternal_id = e&f\nrole_session_name = me\nduration_seconds = 900\nregion = eu-west-1\n");
    write_file(".aws/credentials", "[y]\naws_access_key_id = a\naws_secret_access_key = source-secret\n");
    assert_text(found_by(arena), "ASIA1|role/secret+|role-token");
    assert_string_equal(all->body, "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa%20b&RoleSessionName=me&ExternalId=e%26f&DurationSeconds=900");
    check_signed(all, "source-secret");
    /* A chain, a profile that names itself, the environment as the source. */
    write_file(".aws/config", "[profile x]\nrole_arn = arn:1\nsource_profile = z\n[profile z]\nrole_arn = arn:2\nsource_profile = z\naws_access_key_id = a\naws_secret_access_key = own\n");
    assert_text(found_by(arena), "ASIA3|role/secret+|role-token");
    check_signed(all, "role/secret+");
    write_file(".aws/config", "[profile x]\nrole_arn = arn:1\ncredential_source = Environment\n");
    const nl_property profile_only = {NL_STR("client.credentials-provider"), NL_STR("ProfileCredentialsProvider")};
    assert_fails(failure_with(&profile_only, 1), NILAS_ILLEGAL_ARGUMENT, "credential_source where there are none");
    setenv("AWS_ACCESS_KEY_ID", "env", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "env-secret", 1);
    assert_text(found_with(arena, &profile_only, 1, "s3"), "ASIA4|role/secret+|role-token");
    check_signed(all, "env-secret");
    nl_arena_free(arena);
}

static void test_profiles_that_lead_nowhere(void **state)
{
    services *all = *state;
    static const struct {
        const char *config, *problem;
    } rows[] = {
        {"[default]\nrole_arn = r\nsource_profile = a\n[profile a]\nrole_arn = r\nsource_profile = default\n", "circle"},
        {"[default]\nrole_arn = r\nsource_profile = a\n", "profile a is named as a source_profile but does not exist"},
        {"[default]\nrole_arn = r\nsource_profile = a\n[profile a]\nregion = x\n", "source_profile without credentials"},
        {"[default]\nrole_arn = r\nsource_profile = a\ncredential_source = Environment\n", "both"},
        {"[default]\nrole_arn = r\ncredential_source = Nowhere\n", "none of Environment"},
        {"[default]\nrole_arn = r\nweb_identity_token_file = /nowhere\n", "does not exist"},
        {"[default]\nrole_arn = r\nsource_profile = a\nduration_seconds = long\n[profile a]\naws_access_key_id = a\naws_secret_access_key = b\n", "no number"},
        {"[default]\nrole_arn = r\nsource_profile = a\nmfa_serial = m\n", "one-time code"},
        {"[default]\nsso_session = s\n", "aws configure export-credentials --profile default"},
        {"[default]\nregion = x\n", "There are no AWS credentials"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        write_file(".aws/config", rows[i].config);
        nl_status status = failure_with(NULL, 0);
        assert_non_null(status);
        if (!strstr(nl_error_message(status), rows[i].problem)) fail_msg("row %zu: %s", i, nl_error_message(status));
        nl_error_free(status);
    }
    write_file(".aws/config", "[default]\nrole_arn = the-role\nsource_profile = a\n[profile a]\naws_access_key_id = a\naws_secret_access_key = hidden\n");
    all->status = 403;
    nl_status status = failure_with(NULL, 0);
    assert_non_null(strstr(nl_error_message(status), "The role the-role cannot be assumed: AccessDenied: no & no (status 403)"));
    assert_null(strstr(nl_error_message(status), "hidden"));
    nl_error_free(status);
}

static void test_web_identity(void **state)
{
    services *all = *state;
    nl_arena *arena = nl_arena_new(NULL);
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", write_file("token", "web.token\n"), 1);
    assert_fails(failure_with(NULL, 0), NILAS_ILLEGAL_ARGUMENT, "AWS_ROLE_ARN is not");
    setenv("AWS_ROLE_ARN", "arn:1", 1);
    setenv("AWS_ROLE_SESSION_NAME", "me", 1);
    assert_text(found_by(arena), "ASIA1|role/secret+|role-token");
    assert_string_equal(all->body, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3A1&RoleSessionName=me&WebIdentityToken=web.token");
    assert_null(strcasestr(all->head, "authorization:"));
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere", 1);
    assert_fails(failure_with(NULL, 0), NILAS_ILLEGAL_ARGUMENT, "does not exist");
    nl_arena_free(arena);
}

static void test_the_factory_that_assumes_a_role(void **state)
{
    services *all = *state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_property properties[] = {{NL_STR("client.factory"), NL_STR("org.apache.iceberg.aws.AssumeRoleAwsClientFactory")}, {NL_STR("client.access-key-id"), NL_STR("a")},
                                {NL_STR("client.secret-access-key"), NL_STR("base-secret")}, {NL_STR("client.assume-role.region"), NL_STR("eu-west-1")},
                                {NL_STR("client.assume-role.session-name"), NL_STR("s")}, {NL_STR("client.assume-role.tags.k"), NL_STR("v")}, {NL_STR("client.assume-role.arn"), NL_STR("arn:1")}};
    assert_text(found_with(arena, properties, 7, "glue"), "ASIA1|role/secret+|role-token");
    assert_string_equal(all->body, "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3A1&RoleSessionName=s&Tags.member.1.Key=k&Tags.member.1.Value=v");
    check_signed(all, "base-secret");
    assert_fails(failure_with(properties, 6), NILAS_ILLEGAL_ARGUMENT, "null role ARN");
    nl_arena_free(arena);
}

static void test_the_container(void **state)
{
    services *all = *state;
    nl_arena *arena = nl_arena_new(NULL);
    char url[128];
    snprintf(url, sizeof(url), "%s/keys?id=1", all->url);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc", 1);
    assert_text(found_by(arena), "AK1|served-secret|served-token");
    assert_string_equal(all->target, "/keys?id=1");
    assert_non_null(strcasestr(all->head, "authorization: Basic abc\r\n"));
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", write_file("agent-token", "from a file\n"), 1);
    assert_text(found_by(arena), "AK2|served-secret|served-token");
    assert_non_null(strcasestr(all->head, "authorization: from a file\r\n"));
    all->status = 404;
    assert_fails(failure_with(NULL, 0), NILAS_IO_ERROR, "status 404");
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/keys", 1);
    assert_fails(failure_with(NULL, 0), NILAS_ILLEGAL_ARGUMENT, "192.0.2.1");
    nl_arena_free(arena);
}

static void test_the_metadata_of_ec2(void **state)
{
    services *all = *state;
    nl_arena *arena = nl_arena_new(NULL);
    unsetenv("AWS_EC2_METADATA_DISABLED");
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", all->url, 1);
    assert_text(found_by(arena), "AK3|served-secret|served-token");
    assert_string_equal(all->target, "/latest/meta-data/iam/security-credentials/the-role");
    assert_non_null(strcasestr(all->head, "x-aws-ec2-metadata-token: metadata-token\r\n"));
    all->status = 403;
    assert_fails(failure_with(NULL, 0), NILAS_ILLEGAL_ARGUMENT, "it gave no token");
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1/", 1);
    assert_fails(failure_with(NULL, 0), NILAS_ILLEGAL_ARGUMENT, "it does not answer");
    nl_arena_free(arena);
}

static void *get_in_thread(void *argument)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_credentials keys;
    assert_ok(nl_credential_source_get(argument, arena, &keys));
    nl_arena_free(arena);
    return NULL;
}

static void test_keys_are_renewed_once_before_they_end(void **state)
{
    services *all = *state;
    nl_arena *arena = nl_arena_new(NULL);
    char url[128];
    snprintf(url, sizeof(url), "%s/keys", all->url);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
    nl_credential_source *source = source_of(NULL, 0, "s3");
    nl_credentials keys;
    pthread_t threads[8];
    for (size_t i = 0; i < NL_COUNT(threads); i++)
        pthread_create(&threads[i], NULL, get_in_thread, source);
    for (size_t i = 0; i < NL_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&all->server.request_count), 1);

    nl_clock_hold(START + 54 * 60 * NL_MICROS_PER_SECOND);
    assert_ok(nl_credential_source_get(source, arena, &keys));
    assert_text(keys.access_key, "AK1");
    nl_clock_hold(START + 56 * 60 * NL_MICROS_PER_SECOND); /* four minutes are left */
    all->status = 400;
    assert_ok(nl_credential_source_get(source, arena, &keys)); /* not renewed: still good */
    assert_text(keys.access_key, "AK1");
    all->status = 0;
    assert_ok(nl_credential_source_get(source, arena, &keys));
    assert_text(keys.access_key, "AK3");
    assert_true(keys.expires_micros == START + 116 * 60 * NL_MICROS_PER_SECOND);
    nl_clock_hold(START + 120 * 60 * NL_MICROS_PER_SECOND); /* over */
    all->status = 400;
    assert_fails(nl_credential_source_get(source, arena, &keys), NILAS_IO_ERROR, "status 400");
    all->status = 0;
    assert_ok(nl_credential_source_get(source, arena, &keys));
    assert_text(keys.access_key, "AK5");
    nl_credential_source_release(source);
    nl_arena_free(arena);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_secrets),
        TEST(test_properties_come_first),
        TEST(test_half_a_key_is_an_error),
        TEST(test_providers_by_class_name),
        TEST(test_none_is_an_error_that_says_where_was_looked),
        TEST(test_a_command_gives_keys),
        TEST(test_a_profile_assumes_a_role),
        TEST(test_profiles_that_lead_nowhere),
        TEST(test_web_identity),
        TEST(test_the_factory_that_assumes_a_role),
        TEST(test_the_container),
        TEST(test_the_metadata_of_ec2),
        TEST(test_keys_are_renewed_once_before_they_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
