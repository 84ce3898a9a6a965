/* storage/sigv4_private.h - what the two halves of SigV4 share. */
#pragma once

#include "storage/sigv4.h"

bool nl_sigv4_is_s3(nl_str service); /* its paths are encoded once and stay as they are */
/* Percent-encoded as RFC 3986 says: all but unreserved characters (and slashes). */
void nl_sigv4_append_encoded(nl_builder *out, nl_str text, bool keep_slash);
