/* shell/completion.h - what could stand where the cursor is: keywords, functions, catalogs, namespaces, tables, columns,
 * configuration keys. */
#pragma once

#include "session/session.h"

typedef struct nl_completions { /* in the arena given */
    const nl_str *items;        /* sorted, each once: what the word could become */
    uint32_t count;
    size_t word_length;         /* bytes before the cursor that an item replaces */
} nl_completions;

/* `before`: the statement up to the cursor, earlier lines included. Catalogs that do not answer give no candidates. */
void nl_complete(nl_session *session, nl_str before, nl_arena *arena, nl_completions *completions);
/* The part that all items share, longer than the word or not. Borrowed from the items. */
nl_str nl_completions_common(const nl_completions *completions);
