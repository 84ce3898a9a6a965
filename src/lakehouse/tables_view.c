/* lakehouse/tables_view.c - views of the table store: the file that the pointer names, read, written and swapped in by the
 * functions that all catalogs with pointers share. See tables.h. */
#include "lakehouse/tables_private.h"

#include "catalog/pointer.h"

typedef struct view_pointer {
    nl_pointer base;
    nl_tables *tables;
    int64_t warehouse_id;
    const nl_identifier *identifier;
    const nl_remembered *remembered;
} view_pointer;

static nl_status not_found(nl_arena *arena, const nl_identifier *identifier)
{
    nl_str joined;
    NL_TRY(nl_namespace_join(arena, identifier->namespace_parts, identifier->namespace_count, &joined));
    return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_relation_name(arena, joined, identifier->name)));
}

static nl_status read_pointer(nl_pointer *base, nl_arena *arena, nl_str *metadata_file)
{
    const view_pointer *self = NL_CONTAINER(base, view_pointer, base);
    nl_table_entry entry;
    bool exists;
    NL_TRY(nl_tables_find(self->tables, self->warehouse_id, self->identifier, arena, &entry, &exists));
    if (!exists || !entry.is_view) return not_found(arena, self->identifier);
    *metadata_file = entry.metadata_location;
    return NULL;
}

static nl_status swap_pointer(nl_pointer *base, nl_str expected, nl_str next, const nl_table_metadata *updated)
{
    (void)updated;
    const view_pointer *self = NL_CONTAINER(base, view_pointer, base);
    const nl_pointer_change change = {.identifier = *self->identifier, .is_view = true, .expected = expected, .next = next, .remembered = self->remembered};
    return nl_tables_commit(self->tables, self->warehouse_id, &change, 1);
}

static void free_pointer(nl_pointer *base)
{
    (void)base; /* lives on the caller's stack */
}

static const nl_pointer_ops pointer_ops = {.read = read_pointer, .swap = swap_pointer, .free = free_pointer};

nl_status nl_tables_load_view(nl_tables *tables, int64_t warehouse_id, const nl_identifier *identifier, nl_memory *memory, const nl_view_metadata **view)
{
    nl_arena *arena = nl_arena_new(memory);
    view_pointer pointer = {.base = {&pointer_ops}, .tables = tables, .warehouse_id = warehouse_id, .identifier = identifier};
    nl_str file;
    nl_fs *fs;
    nl_status status = read_pointer(&pointer.base, arena, &file);
    if (!status) status = nl_tables_fs(tables, file, &fs);
    if (!status) status = nl_view_metadata_read(fs, file, memory, view);
    nl_arena_free(arena);
    return status;
}

nl_status nl_tables_commit_view(nl_tables *tables, int64_t warehouse_id, const nl_identifier *identifier, const nl_view_metadata *base,
                                const nl_view_metadata *updated, const nl_remembered *remembered, nl_memory *memory, const nl_view_metadata **committed)
{
    view_pointer pointer = {{&pointer_ops}, tables, warehouse_id, identifier, remembered};
    nl_fs *fs;
    NL_TRY(nl_tables_fs(tables, updated->location, &fs));
    return nl_pointer_commit_view(fs, &pointer.base, base, updated, memory, committed);
}
