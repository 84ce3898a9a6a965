/* command/call/text.h - SQL that procedures write for themselves. */
#pragma once

#include "base/str.h"

void nl_append_quoted_name(nl_builder *out, nl_str name);                                /* `a``b` */
void nl_append_quoted_parts(nl_builder *out, const nl_str *parts, uint32_t part_count);  /* `a`.`b` */
void nl_append_quoted_text(nl_builder *out, nl_str text);                                /* 'it\'s' */
