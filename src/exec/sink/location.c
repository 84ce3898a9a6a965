/* exec/sink/location.c - see location.h. */
#include "exec/sink/location.h"

#include "base/hash.h"
#include "storage/filesystem.h"

static nl_str data_folder(nl_arena *arena, const nl_table_metadata *metadata, bool is_object_storage)
{
    static const char *const keys[] = {"write.data.path", "write.object-storage.path", "write.folder-storage.path"};
    for (uint32_t i = 0; i < NL_COUNT(keys); i++) {
        if (i == 1 && !is_object_storage) continue;
        nl_str path = nl_table_property(metadata, keys[i], NULL);
        while (path.length > 1 && path.data[path.length - 1] == '/')
            path.length--;
        if (path.length) return path;
    }
    return nl_path_join(arena, metadata->location, NL_STR("data"));
}

/* 20 bits of the name's hash as bbbb/bbbb/bbbb/bbbbbbbb: spreads objects over a store's partitions. */
static nl_str entropy(nl_arena *arena, nl_str text)
{
    char digits[33];
    const uint32_t hash = nl_murmur3_32(text.data, text.length, 0) | 0x80000000u; /* the first bit is forced, as Java's binary text needs it */
    for (uint32_t i = 0; i < 32; i++)
        digits[i] = (hash >> (31 - i)) & 1 ? '1' : '0';
    const char *last = digits + 12; /* the 20 low bits */
    return nl_arena_f(arena, "%.4s/%.4s/%.4s/%.8s", last, last + 4, last + 8, last + 12);
}

nl_str nl_data_location(nl_arena *arena, const nl_table_metadata *metadata, const nl_partition_spec *spec, const nl_value *partition, nl_str name)
{
    const bool is_object_storage = nl_table_property_bool(metadata, "write.object-storage.enabled", false);
    const nl_str folder = data_folder(arena, metadata, is_object_storage);
    nl_str relative = nl_arena_str(arena, name);
    const bool has_partition = partition && !nl_partition_spec_is_unpartitioned(spec);
    if (has_partition && (!is_object_storage || nl_table_property_bool(metadata, "write.object-storage.partitioned-paths", true))) {
        nl_builder path;
        nl_builder_init(&path, 1 << 20);
        nl_partition_append_path(spec, nl_table_schema(metadata), partition, &path);
        nl_append_char(&path, '/');
        nl_append(&path, name);
        relative = nl_arena_str(arena, nl_builder_str(&path));
        nl_builder_fini(&path);
    }
    if (!is_object_storage) return nl_path_join(arena, folder, relative);
    const nl_str hash = entropy(arena, relative);
    if (!nl_table_property_bool(metadata, "write.object-storage.partitioned-paths", true))
        return nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT "-" NL_STR_FMT, NL_STR_ARG(folder), NL_STR_ARG(hash), NL_STR_ARG(relative));
    if (nl_str_starts(folder, metadata->location))
        return nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(folder), NL_STR_ARG(hash), NL_STR_ARG(relative));
    /* Outside of the table's folder the table's own name keeps files of different tables apart. */
    const nl_str table = nl_path_name(metadata->location), database = nl_path_name(nl_path_parent(metadata->location));
    return nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT "/" NL_STR_FMT "/" NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(folder), NL_STR_ARG(hash), NL_STR_ARG(database),
                      NL_STR_ARG(table), NL_STR_ARG(relative));
}
