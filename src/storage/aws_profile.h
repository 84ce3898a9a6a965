/* storage/aws_profile.h - the AWS SDKs' config and credentials files, read into sections; used by credentials.c and tests.
 *
 * Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files"; where that leaves open what a line
 * is, as Python's configparser (botocore) and Java's ProfileFileReader agree.
 */
#pragma once

#include "storage/credentials.h"

typedef struct nl_aws_key { /* "region = eu-west-1", or a key with an indented block below it */
    nl_str name;            /* lower case */
    nl_str value;           /* of several lines: joined by line feeds; empty when there is a block */
    nl_property *nested;    /* names in lower case */
    uint32_t nested_count;
} nl_aws_key;

typedef struct nl_aws_section {
    nl_str kind; /* "profile", "services"; others are left out */
    nl_str name;
    nl_list keys; /* nl_aws_key */
    bool is_bare; /* "[default]" of a config file, which a "[profile default]" replaces */
} nl_aws_section;

typedef struct nl_aws_files { /* in an arena */
    nl_list sections; /* nl_aws_section */
    nl_str config_path, credentials_path;
} nl_aws_files;

/* Adds what `text` says; later texts win key by key. is_credentials: sections are named without "profile". path is for
 * messages. Fails: NILAS_ILLEGAL_ARGUMENT with path and line for what is neither section, key nor comment. */
NL_MUST_USE nl_status nl_aws_files_parse(nl_arena *arena, nl_str text, nl_str path, bool is_credentials, nl_aws_files *files);
/* AWS_CONFIG_FILE (~/.aws/config), then AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials). Absent files are empty. */
NL_MUST_USE nl_status nl_aws_files_read(nl_arena *arena, nl_aws_files *files);
const nl_aws_section *nl_aws_find_section(const nl_aws_files *files, const char *kind, nl_str name); /* or NULL */
const nl_aws_key *nl_aws_find_key(const nl_aws_section *section, const char *name);                 /* or NULL; section may be NULL */
nl_str nl_aws_find_value(const nl_aws_section *section, const char *name);                          /* data NULL: absent */
nl_str nl_aws_find_nested(const nl_aws_section *section, const char *name, const char *inner);      /* data NULL: absent */

/* The value of an environment variable; data NULL when it is not set or empty. Borrowed from the environment. */
nl_str nl_environment(const char *name);
/* AWS_PROFILE, AWS_DEFAULT_PROFILE, "default". *is_named: one of them was set. */
nl_str nl_aws_profile_name(bool *is_named);
bool nl_aws_is_true(nl_str text); /* "true" in any case */
/* A small text file of the operator's (configuration, a token). *is_there false when there is none. At most 1 MiB.
 * Fails: NILAS_IO_ERROR. */
NL_MUST_USE nl_status nl_read_operator_file(nl_arena *arena, nl_str path, nl_str *text, bool *is_there);
