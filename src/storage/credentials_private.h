/* storage/credentials_private.h - one look-up of credentials, and the places where it looks. */
#pragma once

#include "storage/aws_profile.h"
#include "storage/http.h"

/* One look-up. Everything found lies in its arena. */
typedef struct nl_lookup {
    nl_arena *arena;
    nl_memory *memory;
    nl_http_client *client;         /* made when first needed; released by who made the look-up */
    const nl_property *properties;  /* of the source */
    uint32_t property_count;
    const char *prefix;
    bool has_files;
    nl_aws_files files;             /* when has_files */
    nl_builder *problems;           /* where was looked in vain: "the environment (AWS_ACCESS_KEY_ID is not set)" */
} nl_lookup;

/* Looks in one place. *found false: nothing is configured there, and `problems` says so. */
typedef nl_status (*nl_credential_place)(nl_lookup *look, nl_credentials *credentials, bool *found);
nl_status nl_look_in_environment(nl_lookup *look, nl_credentials *credentials, bool *found);
nl_status nl_look_in_web_identity(nl_lookup *look, nl_credentials *credentials, bool *found);
nl_status nl_look_in_profile(nl_lookup *look, nl_credentials *credentials, bool *found);
nl_status nl_look_in_container(nl_lookup *look, nl_credentials *credentials, bool *found);
nl_status nl_look_in_instance(nl_lookup *look, nl_credentials *credentials, bool *found);

nl_str nl_lookup_property(const nl_lookup *look, const char *key); /* data NULL: absent */
NL_MUST_USE nl_status nl_lookup_files(nl_lookup *look, const nl_aws_files **files);
void nl_lookup_missed(nl_lookup *look, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What is assumed at STS: with `base`'s keys, or with a web token (base NULL). */
typedef struct nl_role {
    nl_str arn, session_name, external_id, web_token;
    nl_str region;         /* empty: the environment's, the profile's, us-east-1 */
    int64_t duration_seconds; /* 0: an hour */
    const nl_property *tags;
    uint32_t tag_count;
} nl_role;
NL_MUST_USE nl_status nl_assume_role(nl_lookup *look, const nl_role *role, const nl_credentials *base, nl_credentials *credentials);
/* The keys in a JSON object: SessionToken or Token, Expiration; `where` is for messages. */
NL_MUST_USE nl_status nl_credentials_from_json(nl_arena *arena, nl_str text, const char *where, nl_credentials *credentials);
/* The output of `command` (by sh -c), at most 64 KiB within a minute. Fails: NILAS_IO_ERROR with its last words. */
NL_MUST_USE nl_status nl_command_output(nl_arena *arena, nl_str command, nl_str *output);
/* A copy in another arena. */
nl_credentials nl_credentials_copy(nl_arena *arena, const nl_credentials *credentials);
