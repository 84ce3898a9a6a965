/* session/object_list.h - views, functions and tables over plain files: those of one session, and those that the sessions of a
 * program share. Private to src/session.
 *
 * Objects never change: a change puts another in its place. Whoever found one keeps it until its arena ends, whatever other
 * sessions do meanwhile. Threads: any.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "session/plain_tables.h"
#include "session/session.h"

typedef enum nl_object_kind { NL_OBJECT_VIEW, NL_OBJECT_FUNCTION, NL_OBJECT_PLAIN_TABLE } nl_object_kind;

typedef struct nl_object_key { /* names in any case */
    nl_object_kind kind;
    bool is_global; /* of a view */
    nl_str name;
    const nl_str *namespace_parts; /* of a table */
    uint32_t namespace_count;
} nl_object_key;

typedef struct nl_object {
    atomic_uint references;
    nl_arena *arena; /* owned: everything below but the handle of a view */
    nl_object_key key;
    union {
        nl_temp_view view;
        nl_session_function function;
        nl_plain_table table;
    };
} nl_object;

struct nl_shared_objects { /* the list of a session, too */
    atomic_uint references;
    atomic_uint_fast64_t session_count; /* that ever were */
    atomic_uint_fast64_t change_count;  /* nl_session_change_count */
    pthread_mutex_t lock;
    nl_object **items; /* oldest first */
    uint32_t count, capacity;
};

nl_object *nl_object_new(const nl_object_key *key); /* owned; the caller fills it from its arena */
void nl_object_release(void *object);               /* of nl_object * */

/* The object, kept until the arena ends; or NULL. */
const nl_object *nl_objects_find(nl_shared_objects *list, const nl_object_key *key, nl_arena *arena);
/* All of one kind, kept until the arena ends: *found has their nl_object pointers added. */
void nl_objects_list(nl_shared_objects *list, nl_object_kind kind, nl_arena *arena, nl_list *found);

typedef enum nl_object_put { NL_PUT_NEW, NL_PUT_ANY, NL_PUT_INSTEAD } nl_object_put;
/* Takes the object in any case. NEW: only when there is none of that name; INSTEAD: only when `instead` is still the one that
 * is there. *is_put says whether it was. */
NL_MUST_USE nl_status nl_objects_put(nl_shared_objects *list, nl_object *object, nl_object_put how, const nl_object *instead, bool *is_put);
uint64_t nl_shared_objects_number(nl_shared_objects *list); /* for a new session */
bool nl_objects_drop(nl_shared_objects *list, const nl_object_key *key);
