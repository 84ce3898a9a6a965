/* storage/credentials_local.c - credentials on this machine: the environment, the profile, a command.
 *
 * Source: AWS SDKs and Tools Reference Guide, "Assume role credential provider", "Process credential provider"; the order
 * within a profile is that of the Java SDK's ProfileCredentialsUtils.
 */
#include "storage/credentials_private.h"

#include "base/json.h"
#include "base/number.h"
#include "storage/io_error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_BYTES_MAX   65536u
#define COMMAND_TIMEOUT_MS 60000
#define CHAIN_DEPTH_MAX    10

extern char **environ;

nl_status nl_look_in_environment(nl_lookup *look, nl_credentials *credentials, bool *found)
{
    nl_str access_key = nl_environment("AWS_ACCESS_KEY_ID");
    nl_str secret_key = nl_environment("AWS_SECRET_ACCESS_KEY");
    if (!access_key.data) access_key = nl_environment("AWS_ACCESS_KEY");
    if (!secret_key.data) secret_key = nl_environment("AWS_SECRET_KEY");
    *found = access_key.data && secret_key.data;
    if (!access_key.data && !secret_key.data) {
        nl_lookup_missed(look, "the environment (AWS_ACCESS_KEY_ID is not set)");
        return NULL;
    }
    if (!*found)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s is set but %s is not", access_key.data ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                             access_key.data ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    *credentials = (nl_credentials){.access_key = nl_arena_str(look->arena, nl_str_trim(access_key)),
                                    .secret_key = {nl_arena_str(look->arena, nl_str_trim(secret_key))},
                                    .token = {nl_arena_str(look->arena, nl_str_trim(nl_environment("AWS_SESSION_TOKEN")))},
                                    .expires_micros = INT64_MAX};
    return NULL;
}

/* ---- a command's output ---- */

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads until the end, the limit or the deadline. Returns what went wrong, or NULL. */
static const char *read_all(int descriptor, char *into, size_t *length)
{
    const int64_t deadline = monotonic_ms() + COMMAND_TIMEOUT_MS;
    *length = 0;
    for (;;) {
        const int64_t left = deadline - monotonic_ms();
        struct pollfd wait = {.fd = descriptor, .events = POLLIN};
        if (left <= 0) return "it did not end within a minute";
        const int ready = poll(&wait, 1, (int)left);
        if (ready < 0 && errno != EINTR) return strerrordesc_np(errno);
        if (ready <= 0) continue;
        const ssize_t got = read(descriptor, into + *length, OUTPUT_BYTES_MAX - *length);
        if (got < 0 && errno != EINTR) return strerrordesc_np(errno);
        if (got == 0) return NULL;
        if (got > 0) *length += (size_t)got;
        if (*length == OUTPUT_BYTES_MAX) return "its output is longer than 64 KiB";
    }
}

/* Starts `sh -c command` in a process group of its own, with its output going to *from. */
static nl_status start_shell(nl_arena *arena, nl_str command, pid_t *child, int *from)
{
    static char name[] = "sh", option[] = "-c";
    char *const arguments[] = {name, option, NL_UNCONST(nl_str_c(arena, command)), NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return nl_raise_errno(errno, "Starting a command", NL_STR("credential_process"));
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    const int problem = posix_spawn(child, "/bin/sh", &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    *from = ends[0];
    if (problem == 0) return NULL;
    close(ends[0]);
    return nl_raise_errno(problem, "Starting", NL_STR("/bin/sh"));
}

nl_status nl_command_output(nl_arena *arena, nl_str command, nl_str *output)
{
    pid_t child;
    int from;
    int state = 0;
    size_t length = 0;
    char *text = nl_arena_alloc(arena, OUTPUT_BYTES_MAX);
    NL_TRY(nl_arena_check(arena));
    NL_TRY(start_shell(arena, command, &child, &from));
    const char *problem = read_all(from, text, &length);
    close(from);
    if (problem) kill(-child, SIGKILL);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    if (problem) return nl_raise_io("Running the command", NL_STR("credential_process"), "%s", problem);
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        return nl_raise_io("Running the command", NL_STR("credential_process"), "it ended with %s %d", WIFEXITED(state) ? "code" : "signal", WIFEXITED(state) ? WEXITSTATUS(state) : WTERMSIG(state));
    *output = (nl_str){text, length};
    return NULL;
}

nl_status nl_credentials_from_json(nl_arena *arena, nl_str text, const char *where, nl_credentials *credentials)
{
    const json_t *json;
    const nl_str path = nl_str_from(where);
    nl_str expiration = {0};
    nl_str token = {0};
    nl_credentials found = {.expires_micros = INT64_MAX};
    NL_TRY(nl_json_parse(arena, text, path, &json));
    NL_TRY(nl_json_object(json, path, "credentials"));
    NL_TRY(nl_json_text(json, "AccessKeyId", path, &found.access_key));
    NL_TRY(nl_json_text(json, "SecretAccessKey", path, &found.secret_key.hidden));
    NL_TRY(nl_json_optional_text(json, "Token", path, &token));
    NL_TRY(nl_json_optional_text(json, "SessionToken", path, &token));
    NL_TRY(nl_json_optional_text(json, "Expiration", path, &expiration));
    found.token.hidden = token;
    if (expiration.length > 0 && !nl_cast_timestamp(expiration, nl_timezone_utc(), &found.expires_micros)) return nl_json_corrupt(path, "Expiration is no point in time");
    if (found.access_key.length == 0 || nl_secret_text(&found.secret_key).length == 0) return nl_json_corrupt(path, "a key is empty");
    *credentials = found;
    return NULL;
}

static nl_status from_command(nl_lookup *look, nl_str command, nl_credentials *credentials)
{
    nl_str output;
    const json_t *json;
    int32_t version = 0;
    const nl_str path = NL_STR("the output of credential_process");
    NL_TRY(nl_command_output(look->arena, command, &output));
    NL_TRY(nl_json_parse(look->arena, output, path, &json));
    NL_TRY(nl_json_object(json, path, "credentials"));
    NL_TRY(nl_json_int32(json, "Version", path, &version));
    if (version != 1) return nl_json_corrupt(path, "Version is %d; 1 is known", version);
    return nl_credentials_from_json(look->arena, output, "the output of credential_process", credentials);
}

/* ---- the profile ---- */

static nl_status from_profile(nl_lookup *look, const nl_aws_files *files, nl_str name, bool static_only, int depth, nl_credentials *credentials, bool *found);

static nl_status wrong_profile(nl_str name, const char *problem)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The AWS profile " NL_STR_FMT " %s", NL_STR_ARG(name), problem);
}

/* credential_source: one of three places. */
static nl_status from_named_place(nl_lookup *look, nl_str profile, nl_str place, nl_credentials *credentials)
{
    static const struct {
        const char *name;
        nl_credential_place look;
    } places[] = {{"Environment", nl_look_in_environment}, {"EcsContainer", nl_look_in_container}, {"Ec2InstanceMetadata", nl_look_in_instance}};
    for (size_t i = 0; i < NL_COUNT(places); i++) {
        bool found = false;
        if (!nl_str_is(place, places[i].name)) continue;
        NL_TRY(places[i].look(look, credentials, &found));
        return found ? NULL : wrong_profile(profile, "names a credential_source where there are none");
    }
    return wrong_profile(profile, "has a credential_source that is none of Environment, EcsContainer, Ec2InstanceMetadata");
}

static nl_status base_of_role(nl_lookup *look, const nl_aws_files *files, const nl_aws_section *section, int depth, nl_credentials *base)
{
    const nl_str source = nl_aws_find_value(section, "source_profile");
    const nl_str place = nl_aws_find_value(section, "credential_source");
    if (source.data && place.data) return wrong_profile(section->name, "has both source_profile and credential_source");
    if (place.data) return from_named_place(look, section->name, place, base);
    if (depth >= CHAIN_DEPTH_MAX) return wrong_profile(section->name, "is part of a chain of source_profile that leads in a circle");
    bool found = false;
    NL_TRY(from_profile(look, files, source, nl_str_equal(source, section->name), depth + 1, base, &found));
    return found ? NULL : wrong_profile(section->name, "names a source_profile without credentials");
}

static nl_status from_role(nl_lookup *look, const nl_aws_files *files, const nl_aws_section *section, int depth, nl_credentials *credentials)
{
    nl_role role = {.arn = nl_aws_find_value(section, "role_arn"),
                    .session_name = nl_aws_find_value(section, "role_session_name"),
                    .external_id = nl_aws_find_value(section, "external_id"),
                    .region = nl_aws_find_value(section, "region")};
    const nl_str seconds = nl_aws_find_value(section, "duration_seconds");
    const nl_str token_file = nl_aws_find_value(section, "web_identity_token_file");
    if (nl_aws_find_value(section, "mfa_serial").data)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The AWS profile " NL_STR_FMT " asks for a one-time code (mfa_serial), which nilas cannot ask for. Put temporary keys into the "
                                                "environment, or name a credential_process.", NL_STR_ARG(section->name));
    if (seconds.data && (!nl_parse_int64(seconds, &role.duration_seconds) || role.duration_seconds <= 0)) return wrong_profile(section->name, "has a duration_seconds that is no number");
    if (token_file.data) {
        bool is_there;
        NL_TRY(nl_read_operator_file(look->arena, token_file, &role.web_token, &is_there));
        role.web_token = nl_str_trim(role.web_token);
        if (!is_there) return wrong_profile(section->name, "names a web_identity_token_file that does not exist");
        return nl_assume_role(look, &role, NULL, credentials);
    }
    nl_credentials base = {0};
    NL_TRY(base_of_role(look, files, section, depth, &base));
    return nl_assume_role(look, &role, &base, credentials);
}

static nl_status static_keys(nl_lookup *look, const nl_aws_section *section, nl_credentials *credentials, bool *found)
{
    const nl_str access_key = nl_aws_find_value(section, "aws_access_key_id");
    const nl_str secret_key = nl_aws_find_value(section, "aws_secret_access_key");
    (void)look;
    *found = access_key.data && secret_key.data;
    if (!*found && (access_key.data || secret_key.data)) return wrong_profile(section->name, "has only one of aws_access_key_id and aws_secret_access_key");
    if (*found)
        *credentials = (nl_credentials){.access_key = access_key,
                                        .secret_key = {secret_key},
                                        .token = {nl_aws_find_value(section, "aws_session_token")},
                                        .expires_micros = INT64_MAX};
    return NULL;
}

static nl_status from_profile(nl_lookup *look, const nl_aws_files *files, nl_str name, bool static_only, int depth, nl_credentials *credentials, bool *found)
{
    const nl_aws_section *section = nl_aws_find_section(files, "profile", name);
    if (!section) {
        *found = false;
        return depth == 0 ? NULL : wrong_profile(name, "is named as a source_profile but does not exist");
    }
    *found = true;
    const bool has_base = nl_aws_find_value(section, "source_profile").data || nl_aws_find_value(section, "credential_source").data ||
                          nl_aws_find_value(section, "web_identity_token_file").data;
    if (!static_only && has_base && nl_aws_find_value(section, "role_arn").data) return from_role(look, files, section, depth, credentials);
    const nl_str command = nl_aws_find_value(section, "credential_process");
    if (!static_only && command.data) return from_command(look, command, credentials);
    NL_TRY(static_keys(look, section, credentials, found));
    if (!*found && (nl_aws_find_value(section, "sso_session").data || nl_aws_find_value(section, "sso_start_url").data))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The AWS profile " NL_STR_FMT " signs in through IAM Identity Center (sso_session), which nilas does not do. Add to it: "
                                                "credential_process = aws configure export-credentials --profile " NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(name));
    return NULL;
}

nl_status nl_look_in_profile(nl_lookup *look, nl_credentials *credentials, bool *found)
{
    const nl_aws_files *files;
    bool is_named;
    nl_str name = nl_aws_profile_name(&is_named);
    const nl_str configured = nl_lookup_property(look, "client.credentials-provider.profile");
    NL_TRY(nl_lookup_files(look, &files));
    if (configured.length > 0) {
        name = configured;
        is_named = true;
    }
    NL_TRY(from_profile(look, files, name, false, 0, credentials, found));
    if (*found) return NULL;
    if (is_named && !nl_aws_find_section(files, "profile", name))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The AWS profile " NL_STR_FMT " is in neither " NL_STR_FMT " nor " NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(files->config_path),
                             NL_STR_ARG(files->credentials_path));
    nl_lookup_missed(look, "the profile " NL_STR_FMT " of " NL_STR_FMT " and " NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(files->config_path), NL_STR_ARG(files->credentials_path));
    return NULL;
}
