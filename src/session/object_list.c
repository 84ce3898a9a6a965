/* session/object_list.c - see object_list.h. */
#include "session/object_list.h"

#include <stdlib.h>

nl_object *nl_object_new(const nl_object_key *key)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_object *made = NL_NEW(arena, nl_object);
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, key->namespace_count + 1);
    for (uint32_t i = 0; i < key->namespace_count; i++) parts[i] = nl_arena_str(arena, key->namespace_parts[i]);
    made->arena = arena;
    made->key = *key;
    made->key.name = nl_arena_str(arena, key->name);
    made->key.namespace_parts = parts;
    atomic_init(&made->references, 1);
    return made;
}

void nl_object_release(void *argument)
{
    nl_object *object = argument;
    if (atomic_fetch_sub(&object->references, 1) != 1) return;
    if (object->key.kind == NL_OBJECT_VIEW && object->view.free) object->view.free(object->view.handle);
    nl_arena_free(object->arena); /* the object, too */
}

static nl_object *keep(nl_object *object, nl_arena *arena)
{
    atomic_fetch_add(&object->references, 1);
    nl_arena_on_free(arena, nl_object_release, object);
    return object;
}

static bool is_same(const nl_object_key *a, const nl_object_key *b)
{
    if (a->kind != b->kind || a->is_global != b->is_global || a->namespace_count != b->namespace_count || !nl_str_equal_nocase(a->name, b->name)) return false;
    for (uint32_t i = 0; i < a->namespace_count; i++)
        if (!nl_str_equal_nocase(a->namespace_parts[i], b->namespace_parts[i])) return false;
    return true;
}

static uint32_t position(const nl_shared_objects *list, const nl_object_key *key)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (is_same(&list->items[i]->key, key)) return i;
    return UINT32_MAX;
}

const nl_object *nl_objects_find(nl_shared_objects *list, const nl_object_key *key, nl_arena *arena)
{
    pthread_mutex_lock(&list->lock);
    const uint32_t at = position(list, key);
    const nl_object *found = at == UINT32_MAX ? NULL : keep(list->items[at], arena);
    pthread_mutex_unlock(&list->lock);
    return found;
}

void nl_objects_list(nl_shared_objects *list, nl_object_kind kind, nl_arena *arena, nl_list *found)
{
    pthread_mutex_lock(&list->lock);
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i]->key.kind == kind) nl_list_add(arena, found, keep(list->items[i], arena));
    pthread_mutex_unlock(&list->lock);
}

static bool make_room(nl_shared_objects *list)
{
    if (list->count < list->capacity) return true;
    const uint32_t capacity = NL_MAX(8u, list->capacity * 2);
    nl_object **items = realloc(list->items, capacity * sizeof(nl_object *));
    if (!items) return false;
    list->items = items;
    list->capacity = capacity;
    return true;
}

nl_status nl_objects_put(nl_shared_objects *list, nl_object *object, nl_object_put how, const nl_object *instead, bool *is_put)
{
    nl_status status = NULL;
    nl_object *gone = object;
    pthread_mutex_lock(&list->lock);
    const uint32_t at = position(list, &object->key);
    const bool is_there = at != UINT32_MAX;
    *is_put = how == NL_PUT_ANY || (how == NL_PUT_NEW ? !is_there : is_there && list->items[at] == instead);
    if (*is_put && is_there) {
        gone = list->items[at];
        list->items[at] = object;
    } else if (*is_put && make_room(list)) {
        gone = NULL;
        list->items[list->count++] = object;
    } else if (*is_put) {
        *is_put = false;
        status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", list->capacity * 2 * sizeof(nl_object *)), NL_P("receivedBytes", "0"));
    }
    pthread_mutex_unlock(&list->lock);
    if (gone) nl_object_release(gone); /* its handle may have much to end */
    return status;
}

bool nl_objects_drop(nl_shared_objects *list, const nl_object_key *key)
{
    nl_object *gone = NULL;
    pthread_mutex_lock(&list->lock);
    const uint32_t at = position(list, key);
    if (at != UINT32_MAX) {
        gone = list->items[at];
        list->count--;
        memmove(&list->items[at], &list->items[at + 1], (list->count - at) * sizeof(*list->items));
    }
    pthread_mutex_unlock(&list->lock);
    if (gone) nl_object_release(gone);
    return gone != NULL;
}

nl_shared_objects *nl_shared_objects_new(void)
{
    nl_shared_objects *made = calloc(1, sizeof(*made));
    if (!made) return NULL;
    atomic_init(&made->references, 1);
    pthread_mutex_init(&made->lock, NULL);
    return made;
}

uint64_t nl_shared_objects_number(nl_shared_objects *list)
{
    return atomic_fetch_add(&list->session_count, 1) + 1;
}

nl_shared_objects *nl_shared_objects_retain(nl_shared_objects *list)
{
    if (list) atomic_fetch_add(&list->references, 1);
    return list;
}

void nl_shared_objects_release(nl_shared_objects *list)
{
    if (!list || atomic_fetch_sub(&list->references, 1) != 1) return;
    for (uint32_t i = 0; i < list->count; i++) nl_object_release(list->items[i]);
    pthread_mutex_destroy(&list->lock);
    free(list->items);
    free(list);
}
