/* lakehouse/queries.c - see queries.h. */
#include "lakehouse/queries.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "base/lock.h"

struct nl_running_query {
    nl_queries *queries;
    nl_running_query *next, *previous; /* guarded by the list's mutex */
    nl_arena *arena;                   /* owned: the texts */
    nl_query_facts facts;
    nl_session *session; /* borrowed; guarded by the list's mutex */
};

struct nl_queries {
    nl_mutex mutex;
    nl_running_query *first, *last; /* guarded by mutex */
};

nl_queries *nl_queries_new(void)
{
    nl_queries *made = calloc(1, sizeof(*made));
    if (!made) nl_assert_failed("the system has no memory for a list", NL_HERE);
    nl_mutex_init(&made->mutex);
    return made;
}

void nl_queries_free(nl_queries *queries)
{
    if (!queries) return;
    NL_ASSERT(!queries->first);
    nl_mutex_fini(&queries->mutex);
    free(queries);
}

nl_status nl_query_begin(nl_queries *queries, const char *source, nl_str id, nl_str text, nl_session *session, nl_running_query **query)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_running_query *made = NL_NEW(arena, nl_running_query);
    *made = (nl_running_query){.queries = queries, .arena = arena, .session = session};
    made->facts = (nl_query_facts){.source = source, .id = nl_arena_str(arena, id), .text = nl_arena_str(arena, text), .started_micros = nl_now_micros()};
    nl_status status = nl_arena_check(arena);
    if (status) {
        nl_arena_free(arena);
        return status;
    }
    nl_mutex_lock(&queries->mutex);
    made->previous = queries->last;
    *(queries->last ? &queries->last->next : &queries->first) = made;
    queries->last = made;
    nl_mutex_unlock(&queries->mutex);
    *query = made;
    return NULL;
}

void nl_query_end(nl_running_query *query)
{
    if (!query) return;
    nl_queries *queries = query->queries;
    nl_mutex_lock(&queries->mutex);
    *(query->previous ? &query->previous->next : &queries->first) = query->next;
    *(query->next ? &query->next->previous : &queries->last) = query->previous;
    nl_mutex_unlock(&queries->mutex);
    nl_arena_free(query->arena);
}

static void read_progress(nl_session *session, nl_query_facts *facts)
{
    if (!session) return;
    nl_progress *progress = nl_session_progress(session);
    facts->rows = atomic_load(&progress->rows);
    facts->rows_total = atomic_load(&progress->rows_total);
    facts->bytes = atomic_load(&progress->bytes);
    facts->files = atomic_load(&progress->files);
    facts->files_total = atomic_load(&progress->files_total);
}

void nl_queries_list(nl_queries *queries, nl_arena *arena, const nl_query_facts **list, uint32_t *count)
{
    uint32_t found = 0;
    nl_mutex_lock(&queries->mutex);
    for (nl_running_query *query = queries->first; query; query = query->next) found++;
    nl_query_facts *copies = NL_NEW_ARRAY(arena, nl_query_facts, found + 1);
    found = 0;
    for (nl_running_query *query = queries->first; query; query = query->next) {
        copies[found] = query->facts;
        copies[found].id = nl_arena_str(arena, query->facts.id);
        copies[found].text = nl_arena_str(arena, query->facts.text);
        read_progress(query->session, &copies[found++]);
    }
    nl_mutex_unlock(&queries->mutex);
    *list = copies;
    *count = found;
}

bool nl_queries_cancel(nl_queries *queries, nl_str id)
{
    bool is_found = false;
    nl_mutex_lock(&queries->mutex);
    for (nl_running_query *query = queries->first; query && !is_found; query = query->next) {
        is_found = nl_str_equal(query->facts.id, id);
        if (is_found && query->session) nl_session_cancel(query->session);
    }
    nl_mutex_unlock(&queries->mutex);
    return is_found;
}
