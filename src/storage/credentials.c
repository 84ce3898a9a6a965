/* storage/credentials.c - a source of credentials: chosen by properties, looked up when first asked, renewed before the end.
 *
 * One thread at a time looks anything up, without holding the lock; others use what is still good, or wait. Source of the
 * order and of the class names: AWS SDK for Java 2.x, DefaultCredentialsProvider; Iceberg's AwsClientProperties.
 */
#include "storage/credentials_private.h"

#include "base/calendar.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define RENEW_AHEAD_MICROS (5ll * 60 * NL_MICROS_PER_SECOND)
#define PROBLEMS_BYTES_MAX 8192u

static bool has_word(nl_str text, const char *const *words, size_t word_count)
{
    for (size_t at = 0; at < text.length; at++)
        for (size_t i = 0; i < word_count; i++)
            if (nl_str_starts_nocase(nl_str_slice(text, at, text.length), nl_str_from(words[i]))) return true;
    return false;
}

bool nl_looks_secret(nl_str text)
{
    static const char *const words[] = {"url", "secret", "password", "token", "accesskey", "access.key"};
    return has_word(text, words, NL_COUNT(words));
}

bool nl_key_is_secret(nl_str key)
{
    static const char *const words[] = {"credential", "access-key", "access_key", "sse.key"};
    return nl_looks_secret(key) || has_word(key, words, NL_COUNT(words));
}

nl_str nl_shown_value(nl_str key, nl_str value)
{
    return nl_looks_secret(key) || nl_looks_secret(value) ? NL_STR(NL_REDACTED) : value;
}

/* ---- places ---- */

typedef struct provider_row {
    const char *name; /* of the class, without its package */
    nl_credential_place places[6]; /* in order; NULL ends them */
} provider_row;

static nl_status look_nowhere(nl_lookup *look, nl_credentials *credentials, bool *found)
{
    (void)look;
    *credentials = (nl_credentials){.expires_micros = INT64_MAX};
    *found = true;
    return NULL;
}

static nl_status look_in_properties(nl_lookup *look, nl_credentials *credentials, bool *found);

static const provider_row rows[] = {
    {"DefaultCredentialsProvider", {nl_look_in_environment, nl_look_in_web_identity, nl_look_in_profile, nl_look_in_container, nl_look_in_instance}},
    {"AnonymousCredentialsProvider", {look_nowhere}},
    {"StaticCredentialsProvider", {look_in_properties}},
    {"EnvironmentVariableCredentialsProvider", {nl_look_in_environment}},
    {"WebIdentityTokenFileCredentialsProvider", {nl_look_in_web_identity}},
    {"ProfileCredentialsProvider", {nl_look_in_profile}},
    {"ContainerCredentialsProvider", {nl_look_in_container}},
    {"InstanceProfileCredentialsProvider", {nl_look_in_instance}},
    /* As Hadoop's S3A and the first SDK call them. */
    {"DefaultAWSCredentialsProviderChain", {nl_look_in_environment, nl_look_in_web_identity, nl_look_in_profile, nl_look_in_container, nl_look_in_instance}},
    {"AnonymousAWSCredentialsProvider", {look_nowhere}},
    {"SimpleAWSCredentialsProvider", {look_in_properties}},
    {"TemporaryAWSCredentialsProvider", {look_in_properties}},
    {"IAMInstanceCredentialsProvider", {nl_look_in_container, nl_look_in_instance}},
};

nl_str nl_lookup_property(const nl_lookup *look, const char *key)
{
    for (uint32_t i = 0; i < look->property_count; i++)
        if (nl_str_is(look->properties[i].key, key)) return look->properties[i].value;
    return (nl_str){0};
}

nl_status nl_lookup_files(nl_lookup *look, const nl_aws_files **files)
{
    if (!look->has_files) NL_TRY(nl_aws_files_read(look->arena, &look->files));
    look->has_files = true;
    *files = &look->files;
    return NULL;
}

void nl_lookup_missed(nl_lookup *look, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    nl_append_f(look->problems, "%s%s", look->problems->length > 0 ? "; " : "", text);
}

static nl_str prefixed(const nl_lookup *look, const char *prefix, const char *name)
{
    return nl_lookup_property(look, nl_arena_f(look->arena, "%s.%s", prefix, name).data);
}

static nl_status keys_below(nl_lookup *look, const char *prefix, nl_credentials *credentials, bool *found)
{
    const nl_str access_key = prefixed(look, prefix, "access-key-id");
    const nl_str secret_key = prefixed(look, prefix, "secret-access-key");
    *found = access_key.length > 0 && secret_key.length > 0;
    if (access_key.length > 0 && secret_key.length == 0)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s.access-key-id is set but %s.secret-access-key is not", prefix, prefix);
    if (secret_key.length > 0 && access_key.length == 0)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s.secret-access-key is set but %s.access-key-id is not", prefix, prefix);
    if (*found)
        *credentials = (nl_credentials){.access_key = access_key,
                                        .secret_key = {secret_key},
                                        .token = {prefixed(look, prefix, "session-token")},
                                        .expires_micros = INT64_MAX};
    return NULL;
}

static nl_status look_in_properties(nl_lookup *look, nl_credentials *credentials, bool *found)
{
    NL_TRY(keys_below(look, look->prefix, credentials, found));
    if (!*found && strcmp(look->prefix, "client") != 0) NL_TRY(keys_below(look, "client", credentials, found));
    if (!*found) nl_lookup_missed(look, "the properties (%s.access-key-id and %s.secret-access-key are not set)", look->prefix, look->prefix);
    return NULL;
}

static nl_str class_name(nl_str name)
{
    const size_t dot = nl_str_find_last_char(name, '.');
    return dot == NL_NOT_FOUND ? name : nl_str_slice(name, dot + 1, name.length);
}

/* The row that client.credentials-provider names, or the default chain (the first). */
static nl_status choose_provider(const nl_lookup *look, const provider_row **row)
{
    const nl_str provider = nl_lookup_property(look, "client.credentials-provider");
    *row = &rows[0];
    if (provider.length == 0) return NULL;
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        *row = &rows[i];
        if (nl_str_is(class_name(provider), rows[i].name)) return NULL;
    }
    nl_builder known;
    nl_builder_init(&known, 4096);
    for (size_t i = 0; i < NL_COUNT(rows); i++)
        nl_append_f(&known, "%s%s", i > 0 ? ", " : "", rows[i].name);
    nl_status status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "client.credentials-provider is " NL_STR_FMT ", which nilas does not have. It has %s.", NL_STR_ARG(provider),
                                     nl_builder_c(&known));
    nl_builder_fini(&known);
    return status;
}

/* client.factory AssumeRoleAwsClientFactory: what was found assumes client.assume-role.arn. */
static nl_status assume_configured_role(nl_lookup *look, nl_credentials *credentials)
{
    if (!nl_str_is(class_name(nl_lookup_property(look, "client.factory")), "AssumeRoleAwsClientFactory")) return NULL;
    nl_role role = {.arn = nl_lookup_property(look, "client.assume-role.arn"),
                    .session_name = nl_lookup_property(look, "client.assume-role.session-name"),
                    .external_id = nl_lookup_property(look, "client.assume-role.external-id"),
                    .region = nl_lookup_property(look, "client.assume-role.region")};
    const nl_str seconds = nl_lookup_property(look, "client.assume-role.timeout-sec");
    if (role.arn.length == 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot initialize AssumeRoleClientConfigFactory with null role ARN (client.assume-role.arn)");
    if (seconds.length > 0 && (!nl_parse_int64(seconds, &role.duration_seconds) || role.duration_seconds <= 0))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "client.assume-role.timeout-sec is " NL_STR_FMT ", which is no number of seconds", NL_STR_ARG(seconds));
    nl_property *tags = NL_NEW_ARRAY(look->arena, nl_property, (size_t)look->property_count + 1);
    const nl_str prefix = NL_STR("client.assume-role.tags.");
    for (uint32_t i = 0; i < look->property_count; i++)
        if (nl_str_starts(look->properties[i].key, prefix))
            tags[role.tag_count++] = (nl_property){nl_str_slice(look->properties[i].key, prefix.length, SIZE_MAX), look->properties[i].value};
    role.tags = tags;
    const nl_credentials base = *credentials;
    return nl_assume_role(look, &role, &base, credentials);
}

static nl_status look_everywhere(nl_lookup *look, nl_credentials *credentials)
{
    const provider_row *provider;
    bool found = false;
    NL_TRY(look_in_properties(look, credentials, &found));
    NL_TRY(choose_provider(look, &provider));
    for (size_t i = 0; i < NL_COUNT(provider->places) && provider->places[i] && !found; i++)
        NL_TRY(provider->places[i](look, credentials, &found));
    if (!found)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                             "There are no AWS credentials. Looked in: %s. For a bucket that everybody may read set client.credentials-provider to "
                             "software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider.",
                             nl_builder_c(look->problems));
    return assume_configured_role(look, credentials);
}

/* ---- the source ---- */

struct nl_credential_source {
    atomic_int references;
    nl_memory *memory; /* counted */
    nl_arena *own;     /* the properties */
    nl_property *properties;
    uint32_t property_count;
    const char *prefix;
    nl_mutex mutex;
    pthread_cond_t looked; /* a look-up is over */
    bool is_looking;       /* guarded by mutex */
    nl_arena *held;        /* guarded by mutex: where `current` lies; NULL before the first */
    nl_credentials current; /* guarded by mutex */
};

static bool concerns_credentials(nl_str key, const char *prefix)
{
    return nl_str_starts(key, NL_STR("client.")) || (nl_str_starts(key, nl_str_from(prefix)) && key.length > strlen(prefix) && key.data[strlen(prefix)] == '.');
}

nl_status nl_credential_source_new(const nl_property *properties, uint32_t property_count, const char *key_prefix, nl_memory *memory, nl_credential_source **source)
{
    nl_credential_source *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P_INT("receivedBytes", 0));
    made->memory = nl_memory_retain(memory);
    made->own = nl_arena_new(memory);
    made->prefix = nl_str_c(made->own, nl_str_from(key_prefix));
    made->properties = NL_NEW_ARRAY(made->own, nl_property, (size_t)property_count + 1);
    for (uint32_t i = 0; i < property_count; i++)
        if (concerns_credentials(properties[i].key, key_prefix))
            made->properties[made->property_count++] = (nl_property){nl_arena_str(made->own, properties[i].key), nl_arena_str(made->own, properties[i].value)};
    nl_mutex_init(&made->mutex);
    pthread_cond_init(&made->looked, NULL);
    atomic_init(&made->references, 1);

    nl_lookup look = {.arena = made->own, .properties = made->properties, .property_count = made->property_count, .prefix = made->prefix};
    const provider_row *provider;
    nl_credentials unused;
    bool found;
    nl_status status = nl_arena_check(made->own);
    if (!status) status = choose_provider(&look, &provider);
    if (!status) status = keys_below(&look, look.prefix, &unused, &found);
    if (status) {
        nl_credential_source_release(made);
        return status;
    }
    *source = made;
    return NULL;
}

nl_credential_source *nl_credential_source_retain(nl_credential_source *source)
{
    atomic_fetch_add_explicit(&source->references, 1, memory_order_relaxed);
    return source;
}

void nl_credential_source_release(nl_credential_source *source)
{
    if (!source || atomic_fetch_sub_explicit(&source->references, 1, memory_order_acq_rel) != 1) return;
    nl_arena_free(source->held);
    nl_arena_free(source->own);
    nl_mutex_fini(&source->mutex);
    pthread_cond_destroy(&source->looked);
    nl_memory_release(source->memory);
    free(source);
}

nl_credentials nl_credentials_copy(nl_arena *arena, const nl_credentials *credentials)
{
    return (nl_credentials){.access_key = nl_arena_str(arena, credentials->access_key),
                            .secret_key = {nl_arena_str(arena, nl_secret_text(&credentials->secret_key))},
                            .token = {nl_arena_str(arena, nl_secret_text(&credentials->token))},
                            .expires_micros = credentials->expires_micros};
}

/* One look-up, without the lock. */
static nl_status look_up(const nl_credential_source *source, nl_arena **arena, nl_credentials *credentials)
{
    nl_builder problems;
    nl_builder_init(&problems, PROBLEMS_BYTES_MAX);
    nl_arena *work = nl_arena_new(source->memory);
    nl_arena *result = nl_arena_new(source->memory);
    nl_lookup look = {.arena = work, .memory = source->memory, .properties = source->properties, .property_count = source->property_count, .prefix = source->prefix,
                      .problems = &problems};
    nl_credentials found = {0};
    nl_status status = look_everywhere(&look, &found);
    if (!status) *credentials = nl_credentials_copy(result, &found);
    if (!status) status = nl_arena_check(result);
    nl_http_client_release(look.client);
    nl_arena_free(work);
    nl_builder_fini(&problems);
    if (status) nl_arena_free(result);
    else *arena = result;
    return status;
}

/* Are there any that are good for more than `ahead_micros`? Call with the lock. */
static bool is_good_for(const nl_credential_source *source, int64_t ahead_micros)
{
    return source->held && (source->current.expires_micros == INT64_MAX || source->current.expires_micros > nl_now_micros() + ahead_micros);
}

nl_status nl_credential_source_get(nl_credential_source *source, nl_arena *arena, nl_credentials *credentials)
{
    nl_mutex_lock(&source->mutex);
    while (source->is_looking && !is_good_for(source, 0))
        pthread_cond_wait(&source->looked, &source->mutex); /* the look-up has deadlines of its own */
    if (is_good_for(source, source->is_looking ? 0 : RENEW_AHEAD_MICROS)) {
        *credentials = nl_credentials_copy(arena, &source->current);
        nl_mutex_unlock(&source->mutex);
        return nl_arena_check(arena);
    }
    source->is_looking = true;
    nl_mutex_unlock(&source->mutex);

    nl_arena *fresh_arena = NULL;
    nl_credentials fresh = {0};
    nl_status status = look_up(source, &fresh_arena, &fresh);

    nl_mutex_lock(&source->mutex);
    nl_arena *old = NULL;
    if (!status) {
        old = source->held;
        source->held = fresh_arena;
        source->current = fresh;
    }
    const bool is_usable = !status || is_good_for(source, 0);
    if (is_usable) *credentials = nl_credentials_copy(arena, &source->current);
    source->is_looking = false;
    pthread_cond_broadcast(&source->looked);
    nl_mutex_unlock(&source->mutex);
    nl_arena_free(old);
    if (status && is_usable) {
        nl_log(NL_LOG_WARN, "AWS credentials could not be renewed and are used as long as they last: %s", nl_error_message(status));
        nl_error_free(status);
        status = NULL;
    }
    return status ? status : nl_arena_check(arena);
}
