/* storage/credentials.h - whose keys sign a request: properties, environment, AWS profile, container, web identity.
 *
 * Source: the AWS SDKs' "Shared config and credentials files reference" and their default chain. Nothing is looked up
 * before the first request that needs it. Temporary keys are renewed five minutes before they end.
 */
#pragma once

#include "base/arena.h"
#include "base/memory.h"

/* Text that no message, log or plan shows: %s of it is a compile error, formatting goes through nl_secret_text only
 * where it is used to sign or authenticate. */
typedef struct nl_secret {
    nl_str hidden;
} nl_secret;
static inline nl_str nl_secret_text(const nl_secret *secret)
{
    return secret->hidden;
}
/* Does a key or value look like a secret to Spark's spark.redaction.regex and spark.sql.redaction.options.regex, as they
 * are by default: url, secret, password, token, accesskey, access.key in any case? */
bool nl_looks_secret(nl_str text);
/* The same of a conf's name, and also credential and access-key however they are written: Spark shows
 * "credential = id:secret" of a REST catalog. */
bool nl_key_is_secret(nl_str key);
#define NL_REDACTED "*********(redacted)"
/* A property's value as Spark shows it. */
nl_str nl_shown_value(nl_str key, nl_str value);

typedef struct nl_credentials { /* in the arena given */
    nl_str access_key;  /* empty: anonymous */
    nl_secret secret_key;
    nl_secret token;    /* empty: none */
    int64_t expires_micros; /* INT64_MAX: never */
} nl_credentials;

/* Where they come from: the properties (s3.access-key-id …, client.credentials-provider, client.assume-role.* with the
 * factory AssumeRoleAwsClientFactory); else in the order of the SDKs' default chain the environment, web identity, the
 * profile (AWS_PROFILE; ~/.aws/config and credentials), the container, EC2's metadata service. */
typedef struct nl_credential_source nl_credential_source; /* counted; threads: any */
/* key_prefix "s3" reads s3.access-key-id, s3.secret-access-key, s3.session-token, and for want of them those of "client";
 * "rest", "glue", "client" alike. A credentials-provider is always client's. Properties are copied. Fails:
 * NILAS_ILLEGAL_ARGUMENT for a provider that nilas does not have, with the list of those it has, and for half a key. */
NL_MUST_USE nl_status nl_credential_source_new(const nl_property *properties, uint32_t property_count, const char *key_prefix, nl_memory *memory, nl_credential_source **source);
nl_credential_source *nl_credential_source_retain(nl_credential_source *source);
void nl_credential_source_release(nl_credential_source *source); /* NULL is fine */
/* May block on the network (one thread renews, the others wait or go on with what is still good). Fails:
 * NILAS_ILLEGAL_ARGUMENT listing where was looked, when there are none and anonymous access was not asked for; a source
 * that is configured but fails is that failure. */
NL_MUST_USE nl_status nl_credential_source_get(nl_credential_source *source, nl_arena *arena, nl_credentials *credentials);

/* The AWS config files as far as they concern endpoints: of the profile in force (AWS_PROFILE, default "default"). */
typedef struct nl_aws_profile {
    nl_str name;
    nl_str region;           /* AWS_REGION, AWS_DEFAULT_REGION, profile; empty: none */
    nl_str endpoint_url;     /* AWS_ENDPOINT_URL, profile */
    bool is_path_style;      /* s3 = addressing_style = path */
} nl_aws_profile;
NL_MUST_USE nl_status nl_aws_profile_read(nl_arena *arena, nl_aws_profile *profile);
/* AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's `services` section, its endpoint_url; service "s3", "s3tables",
 * "glue" …; empty: AWS itself (nl_aws_service_url). AWS_IGNORE_CONFIGURED_ENDPOINT_URLS leaves them all out. */
NL_MUST_USE nl_status nl_aws_endpoint(nl_arena *arena, const char *service, nl_str *url);
/* "https://glue.eu-west-1.amazonaws.com", ".cn" for regions of China. In the arena. */
nl_str nl_aws_service_url(nl_arena *arena, const char *service, nl_str region);
