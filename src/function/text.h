/* function/text.h - characters of strings: positions, case, trimming. Private to function/. */
#pragma once

#include "base/str.h"

/* Byte offset of the character at `index` (from 0), or the length when the text is shorter. */
size_t nl_text_offset(nl_str text, int64_t index);
/* Spark's substringSQL: position from 1, 0 like 1, negative from the end; length in characters. */
nl_str nl_text_substring(nl_str text, int64_t position, int64_t length);
nl_str nl_bytes_substring(nl_str bytes, int64_t position, int64_t length); /* the same for binary */
/* Full Unicode mappings as Java's toUpperCase and toLowerCase in the root locale ("ß" becomes "SS"). */
void nl_text_append_upper(nl_str text, nl_builder *out);
void nl_text_append_lower(nl_str text, nl_builder *out);
/* The first letter of each word (parted by spaces) in title case, the others lower. */
void nl_text_append_title(nl_str text, nl_builder *out);
bool nl_text_is_ascii(nl_str text);
typedef enum nl_trim_sides { NL_TRIM_LEFT = 1, NL_TRIM_RIGHT = 2, NL_TRIM_BOTH = 3 } nl_trim_sides;
nl_str nl_text_trim(nl_str text, nl_str characters, nl_trim_sides sides);
