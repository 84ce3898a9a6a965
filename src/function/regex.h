/* function/regex.h - Java's regular expressions on PCRE2. For function/, and patterns that services are given. */
#pragma once

#include "function/kernel.h"

typedef struct nl_regex nl_regex; /* a compiled pattern; shared by workers; match data is made per call */

/* NULL in *regex when PCRE2 refuses the pattern (the caller raises INVALID_PARAMETER_VALUE.PATTERN). Owned. */
nl_regex *nl_regex_compile(nl_str java_pattern);
void nl_regex_free(nl_regex *regex);
uint32_t nl_regex_groups(const nl_regex *regex); /* capturing groups */
int32_t nl_regex_group_number(const nl_regex *regex, nl_str name); /* -1: none */

typedef struct nl_regex_match nl_regex_match;
nl_regex_match *nl_regex_match_new(const nl_regex *regex); /* NULL: no memory */
void nl_regex_match_free(nl_regex_match *match);
/* The first match at or after byte `start`. False: none, or the limits were reached (*status then). */
bool nl_regex_find(const nl_regex *regex, nl_regex_match *match, nl_str text, size_t start, nl_status *status);
/* Bytes of group i (0: all); {NULL,0} with *is_set false when it took no part. */
nl_str nl_regex_group(const nl_regex_match *match, nl_str text, uint32_t i, bool *is_set);
size_t nl_regex_start(const nl_regex_match *match);
size_t nl_regex_stop(const nl_regex_match *match);
/* Java's quirks translated: \Q…\E in classes, && in classes, \p{Alpha}, \p{IsLatin}, \uXXXX, \Z … */
void nl_regex_translate(nl_str java_pattern, nl_builder *out);
