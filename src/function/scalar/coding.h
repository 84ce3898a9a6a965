/* scalar/coding.h - hexadecimal text, shared by unhex and to_binary. Private to function/scalar. */
#pragma once

#include "base/str.h"

/* Appends the bytes; an odd number of digits is read as if a zero stood before them. False: not hexadecimal. */
bool nl_append_unhex(nl_str text, nl_builder *out);
void nl_append_base64(nl_str bytes, nl_builder *out);
