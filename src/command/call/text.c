/* command/call/text.c - see text.h. */
#include "command/call/text.h"

void nl_append_quoted_name(nl_builder *out, nl_str name)
{
    nl_append_char(out, '`');
    for (size_t i = 0; i < name.length; i++) {
        if (name.data[i] == '`') nl_append_char(out, '`');
        nl_append_char(out, name.data[i]);
    }
    nl_append_char(out, '`');
}

void nl_append_quoted_parts(nl_builder *out, const nl_str *parts, uint32_t part_count)
{
    for (uint32_t i = 0; i < part_count; i++) {
        if (i) nl_append_char(out, '.');
        nl_append_quoted_name(out, parts[i]);
    }
}

void nl_append_quoted_text(nl_builder *out, nl_str text)
{
    nl_append_char(out, '\'');
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '\'' || text.data[i] == '\\') nl_append_char(out, '\\');
        nl_append_char(out, text.data[i]);
    }
    nl_append_char(out, '\'');
}
