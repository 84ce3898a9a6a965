/* iceberg/table.c - the counted handle of a table and its exchange of metadata. */
#include "iceberg/table.h"

#include <stdlib.h>

static nl_str copy_text(nl_str text)
{
    char *copy = malloc(text.length + 1);
    if (!copy) return (nl_str){0};
    if (text.length) memcpy(copy, text.data, text.length);
    copy[text.length] = 0;
    return (nl_str){copy, text.length};
}

nl_status nl_iceberg_table_new(nl_str name, nl_fs *fs, nl_table_store *store, const nl_table_metadata *metadata, nl_memory *memory,
                               nl_iceberg_table **table)
{
    nl_iceberg_table *made = calloc(1, sizeof(*made));
    if (!made) {
        store->ops->free(store);
        nl_table_metadata_release(metadata);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    }
    made->name = copy_text(name);
    made->fs = nl_fs_retain(fs);
    made->store = store;
    made->memory = nl_memory_retain(memory);
    made->metadata = metadata;
    nl_mutex_init(&made->mutex);
    atomic_init(&made->references, 1);
    nl_status status = metadata ? NULL : nl_iceberg_table_refresh(made);
    if (status)
        nl_iceberg_table_release(made);
    else
        *table = made;
    return status;
}

nl_iceberg_table *nl_iceberg_table_retain(nl_iceberg_table *table)
{
    atomic_fetch_add_explicit(&table->references, 1, memory_order_relaxed);
    return table;
}

void nl_iceberg_table_release(nl_iceberg_table *table)
{
    if (!table || atomic_fetch_sub_explicit(&table->references, 1, memory_order_acq_rel) != 1) return;
    table->store->ops->free(table->store);
    nl_table_metadata_release(table->metadata);
    nl_fs_release(table->fs);
    nl_memory_release(table->memory);
    nl_mutex_fini(&table->mutex);
    free((void *)(uintptr_t)table->name.data);
    free(table);
}

const nl_table_metadata *nl_iceberg_table_metadata(nl_iceberg_table *table)
{
    nl_mutex_lock(&table->mutex);
    const nl_table_metadata *metadata = nl_table_metadata_retain(table->metadata);
    nl_mutex_unlock(&table->mutex);
    return metadata;
}

nl_status nl_iceberg_table_refresh(nl_iceberg_table *table)
{
    const nl_table_metadata *loaded = NULL; /* no lock is held while storage is asked */
    NL_TRY_NOTE(table->store->ops->load(table->store, table->memory, &loaded), "loading table " NL_STR_FMT, NL_STR_ARG(table->name));
    nl_mutex_lock(&table->mutex);
    const nl_table_metadata *previous = table->metadata;
    table->metadata = loaded;
    nl_mutex_unlock(&table->mutex);
    nl_table_metadata_release(previous);
    return NULL;
}

nl_status nl_table_explain_moved(const nl_table_metadata *metadata, nl_status status)
{
    if (!status || nl_error_condition(status) != NL_COND_PATH_NOT_FOUND || !metadata->metadata_file.length) return status;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_str found = nl_path_local(arena, nl_path_parent(nl_path_parent(metadata->metadata_file)));
    const nl_str named = nl_path_local(arena, metadata->location);
    const bool is_elsewhere = nl_table_property(metadata, "write.metadata.path", NULL).data != NULL;
    if (is_elsewhere || nl_str_equal(found, named) || nl_str_starts(nl_path_local(arena, metadata->metadata_file), nl_arena_f(arena, NL_STR_FMT "/", NL_STR_ARG(named)))) {
        nl_arena_free(arena);
        return status;
    }
    nl_status moved = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                                    "The table's metadata was found in " NL_STR_FMT ", but says that the table lies in " NL_STR_FMT ", where files of it are missing. "
                                    "Iceberg names files by their full paths, so a table does not move with its folder: move it back, or make the old path lead to the new "
                                    "one (on a disk: ln -s " NL_STR_FMT " " NL_STR_FMT ").",
                                    NL_STR_ARG(found), NL_STR_ARG(named), NL_STR_ARG(found), NL_STR_ARG(named));
    nl_arena_free(arena);
    nl_error_set_kind(moved, NL_KIND_DATA);
    return nl_error_because(moved, status);
}
