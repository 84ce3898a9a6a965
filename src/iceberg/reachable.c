/* iceberg/reachable.c - see reachable.h. Paths are compared as written. */
#include "iceberg/reachable.h"

#include "base/hash.h"

typedef struct path_slot {
    nl_str path; /* data NULL: free; length SIZE_MAX never occurs */
    int32_t tag;
    bool is_removed;
} path_slot;

struct nl_path_set {
    nl_arena *arena;
    path_slot *slots;
    uint32_t mask;
    uint32_t used; /* slots taken, removed ones too */
    uint32_t count;
};

nl_path_set *nl_path_set_new(nl_arena *arena)
{
    enum { SLOTS = 256 };
    nl_path_set *set = NL_NEW(arena, nl_path_set);
    *set = (nl_path_set){.arena = arena, .slots = NL_NEW_ARRAY(arena, path_slot, SLOTS), .mask = SLOTS - 1};
    return set;
}

static path_slot *find_slot(const nl_path_set *set, nl_str path)
{
    uint32_t at = (uint32_t)nl_hash_bytes(path.data, path.length, 0) & set->mask;
    while (set->slots[at].path.data && !nl_str_equal(set->slots[at].path, path))
        at = (at + 1) & set->mask;
    return &set->slots[at];
}

static void grow(nl_path_set *set)
{
    const path_slot *old = set->slots;
    const uint32_t old_size = set->mask + 1;
    set->slots = NL_NEW_ARRAY(set->arena, path_slot, old_size * 2);
    set->mask = old_size * 2 - 1;
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i].path.data) *find_slot(set, old[i].path) = old[i];
}

bool nl_path_set_add(nl_path_set *set, nl_str path, int32_t tag)
{
    if (set->used * 2 > set->mask) grow(set);
    path_slot *slot = find_slot(set, path);
    if (slot->path.data && !slot->is_removed) return false;
    if (!slot->path.data) {
        slot->path = nl_arena_str(set->arena, path);
        set->used++;
    }
    slot->is_removed = false;
    slot->tag = tag;
    set->count++;
    return true;
}

bool nl_path_set_has(const nl_path_set *set, nl_str path)
{
    const path_slot *slot = find_slot(set, path);
    return slot->path.data && !slot->is_removed;
}

void nl_path_set_remove(nl_path_set *set, nl_str path)
{
    path_slot *slot = find_slot(set, path);
    if (!slot->path.data || slot->is_removed) return;
    slot->is_removed = true;
    set->count--;
}

uint32_t nl_path_set_count(const nl_path_set *set)
{
    return set->count;
}

nl_status nl_path_set_each(const nl_path_set *set, nl_status (*visit)(void *argument, nl_str path, int32_t tag), void *argument)
{
    for (uint32_t i = 0; i <= set->mask; i++)
        if (set->slots[i].path.data && !set->slots[i].is_removed) NL_TRY(visit(argument, set->slots[i].path, set->slots[i].tag));
    return NULL;
}

nl_status nl_reachable_manifests(nl_iceberg_table *table, const nl_snapshot *snapshots, uint32_t snapshot_count, nl_arena *arena, nl_path_set *paths,
                                 nl_list *files)
{
    for (uint32_t i = 0; i < snapshot_count; i++) {
        const nl_manifest_file *listed = NULL;
        uint32_t listed_count = 0;
        NL_TRY_NOTE(nl_snapshot_manifests(table->fs, &snapshots[i], table->memory, arena, &listed, &listed_count), "reading the manifest list of snapshot %lld",
                    (long long)snapshots[i].snapshot_id);
        for (uint32_t j = 0; j < listed_count; j++)
            if (nl_path_set_add(paths, listed[j].path, (int32_t)files->count)) nl_list_add(arena, files, (void *)(uintptr_t)&listed[j]);
    }
    return nl_arena_check(arena);
}

nl_status nl_reachable_files(nl_iceberg_table *table, const nl_list *manifests, nl_status (*visit)(void *argument, const nl_data_file *file), void *argument)
{
    for (uint32_t i = 0; i < manifests->count; i++) {
        const nl_manifest *manifest = NULL;
        const nl_manifest_file *listed = manifests->items[i];
        NL_TRY_NOTE(nl_manifest_cache_read(table->manifest_cache, table->fs, listed, table->memory, &manifest), "reading manifest " NL_STR_FMT,
                    NL_STR_ARG(listed->path));
        nl_status status = NULL;
        for (uint32_t j = 0; !status && j < manifest->entry_count; j++)
            if (nl_manifest_entry_is_live(&manifest->entries[j])) status = visit(argument, &manifest->entries[j].file);
        nl_manifest_release(manifest);
        if (status) return status;
    }
    return NULL;
}
