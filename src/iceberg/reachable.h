/* iceberg/reachable.h - the files that a table's snapshots name: what may not be deleted. */
#pragma once

#include "base/pool.h"
#include "iceberg/operation.h"

typedef struct nl_path_set nl_path_set; /* of paths, in an arena */
nl_path_set *nl_path_set_new(nl_arena *arena);
bool nl_path_set_add(nl_path_set *set, nl_str path, int32_t tag); /* copies; false when it was there */
bool nl_path_set_has(const nl_path_set *set, nl_str path);
void nl_path_set_remove(nl_path_set *set, nl_str path);
uint32_t nl_path_set_count(const nl_path_set *set);
/* Calls visit for each path that is still in the set. */
NL_MUST_USE nl_status nl_path_set_each(const nl_path_set *set, nl_status (*visit)(void *argument, nl_str path, int32_t tag), void *argument);

/* Manifests (tag: position in *files) of these snapshots, each once. */
NL_MUST_USE nl_status nl_reachable_manifests(nl_iceberg_table *table, const nl_snapshot *snapshots, uint32_t snapshot_count, nl_arena *arena,
                                             nl_path_set *paths, nl_list *files);
/* Calls visit for each live entry of the manifests. */
NL_MUST_USE nl_status nl_reachable_files(nl_iceberg_table *table, const nl_list *manifests,
                                         nl_status (*visit)(void *argument, const nl_data_file *file), void *argument);
