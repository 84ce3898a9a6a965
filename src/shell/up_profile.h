/* shell/up_profile.h - the AWS profile that leads clients to the services, in ~/.aws/config and ~/.aws/credentials.
 *
 * Format: AWS SDKs and Tools Reference Guide, "Shared config and credentials files". Only the sections of that profile are
 * changed, and in them only the keys that nilas sets; every other byte of the files stays.
 */
#pragma once

#include "shell/up_options.h"

/* The text of such a file in which the section has these settings. A value that begins with a line feed is a nested
 * block. The section is added at the end when it is absent. header: "profile nilas", "services nilas", "nilas". */
nl_str nl_ini_set(nl_arena *arena, nl_str text, nl_str header, const nl_property *settings, uint32_t setting_count);
/* The value of a key of a section; data NULL: absent. */
nl_str nl_ini_get(nl_str text, nl_str header, nl_str key);

/* Writes both files, whole or not at all; what is already so stays untouched. *config_path: in the arena. Fails:
 * NILAS_ILLEGAL_ARGUMENT when the profile has other credentials that nilas did not write. */
NL_MUST_USE nl_status nl_up_configure(const nl_up_options *options, nl_arena *arena, nl_str *config_path);
