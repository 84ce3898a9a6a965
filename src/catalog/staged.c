/* catalog/staged.c - a table that exists in memory only, until the first commit through its store makes it (CTAS) or
 * puts it in the place of another (RTAS). One statement uses it, one thread at a time. */
#include "catalog/catalog_private.h"

#include <stdlib.h>

typedef struct staged_store {
    nl_table_store base;
    nl_table_store *inner;             /* owned */
    const nl_table_metadata *replaced; /* counted; NULL: the table is new */
    const nl_table_metadata *staged;   /* counted; NULL once committed */
    nl_table_creation creation;        /* in the arena */
    nl_arena *arena;                   /* owned */
    bool is_in_doubt;                  /* the answer to a commit was lost: it may be there, or come yet */
    int64_t doubted_snapshot_id;       /* what it would be recognised by; NL_NONE: nothing */
} staged_store;

static nl_status stage(staged_store *self, nl_memory *memory, const nl_table_metadata **staged)
{
    if (self->replaced) return nl_table_metadata_replace(self->replaced, &self->creation, memory, staged);
    return nl_table_metadata_create(&self->creation, memory, staged);
}

/* Another writer moved the table on while it was being replaced: what is replaced is its newest state. */
static nl_status restage(staged_store *self, nl_memory *memory)
{
    const nl_table_metadata *newest = NULL, *staged = NULL;
    if (self->replaced) {
        NL_TRY(self->inner->ops->load(self->inner, memory, &newest));
        if (nl_str_equal(newest->metadata_file, self->replaced->metadata_file)) {
            nl_table_metadata_release(newest);
            return NULL;
        }
        nl_table_metadata_release(self->replaced);
        self->replaced = newest;
    }
    if (self->replaced) {
        NL_TRY(stage(self, memory, &staged));
        nl_table_metadata_release(self->staged);
        self->staged = staged;
    }
    return NULL;
}

/* Has the commit whose answer was lost arrived? Then the table is what the catalog says. A catalog that cannot be asked is a
 * failure: what is staged would look as if nothing had come. */
static nl_status settle(staged_store *self, nl_memory *memory, const nl_table_metadata **arrived)
{
    const nl_table_metadata *there = NULL;
    *arrived = NULL;
    nl_error *error = self->inner->ops->load(self->inner, memory, &there);
    if (error && nl_error_condition(error) != NL_COND_TABLE_OR_VIEW_NOT_FOUND) return error;
    nl_error_free(error);
    if (!there || self->doubted_snapshot_id == NL_NONE || !nl_table_snapshot(there, self->doubted_snapshot_id)) {
        nl_table_metadata_release(there);
        return NULL;
    }
    nl_table_metadata_release(self->staged);
    self->staged = NULL;
    *arrived = there;
    return NULL;
}

static nl_status staged_load(nl_table_store *base, nl_memory *memory, const nl_table_metadata **metadata)
{
    staged_store *self = NL_CONTAINER(base, staged_store, base);
    const nl_table_metadata *arrived = NULL;
    if (!self->staged) return self->inner->ops->load(self->inner, memory, metadata);
    if (self->is_in_doubt) NL_TRY(settle(self, memory, &arrived));
    if (arrived) {
        *metadata = arrived;
        return NULL;
    }
    NL_TRY(restage(self, memory));
    *metadata = nl_table_metadata_retain(self->staged);
    return NULL;
}

static nl_status staged_swap(nl_table_store *base, const nl_table_metadata *expected, const nl_table_metadata *updated, nl_memory *memory,
                             const nl_table_metadata **committed)
{
    staged_store *self = NL_CONTAINER(base, staged_store, base);
    if (!self->staged) return self->inner->ops->swap(self->inner, expected, updated, memory, committed);
    nl_status status = self->inner->ops->swap(self->inner, self->replaced, updated, memory, committed);
    if (status && nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE) {
        self->is_in_doubt = true;
        self->doubted_snapshot_id = updated->current_snapshot_id;
    }
    if (status) return status;
    nl_table_metadata_release(self->staged);
    self->staged = NULL;
    return NULL;
}

static void staged_free(nl_table_store *base)
{
    staged_store *self = NL_CONTAINER(base, staged_store, base);
    self->inner->ops->free(self->inner);
    nl_table_metadata_release(self->replaced);
    nl_table_metadata_release(self->staged);
    nl_arena_free(self->arena);
    free(self);
}

static const nl_table_store_ops staged_ops = {.load = staged_load, .swap = staged_swap, .free = staged_free};

static nl_table_creation copy_creation(nl_arena *arena, const nl_table_creation *creation)
{
    nl_property *properties = NL_NEW_ARRAY(arena, nl_property, creation->property_count);
    for (uint32_t i = 0; i < creation->property_count; i++)
        properties[i] = (nl_property){nl_arena_str(arena, creation->properties[i].key), nl_arena_str(arena, creation->properties[i].value)};
    return (nl_table_creation){
        .schema = nl_schema_copy(arena, creation->schema),
        .spec = creation->spec ? nl_partition_spec_copy(arena, creation->spec) : NULL,
        .sort_order = creation->sort_order ? nl_sort_order_copy(arena, creation->sort_order) : NULL,
        .location = nl_arena_str(arena, creation->location),
        .properties = properties,
        .property_count = creation->property_count,
    };
}

nl_status nl_staged_store_new(nl_table_store *inner, const nl_table_metadata *base, const nl_table_creation *creation, nl_memory *memory,
                              nl_table_store **store, const nl_table_metadata **staged)
{
    staged_store *self = calloc(1, sizeof(*self));
    if (!self) {
        inner->ops->free(inner);
        nl_table_metadata_release(base);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P("receivedBytes", "0"));
    }
    self->base.ops = &staged_ops;
    self->inner = inner;
    self->replaced = base;
    self->arena = nl_arena_new(memory);
    self->creation = copy_creation(self->arena, creation);
    nl_status status = stage(self, memory, &self->staged);
    if (status) {
        staged_free(&self->base);
        return status;
    }
    *store = &self->base;
    *staged = nl_table_metadata_retain(self->staged);
    return NULL;
}
