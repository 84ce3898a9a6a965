/* iceberg/delete_index.h - which delete files apply to a data file (spec: "Scan Planning", delete file matching). */
#pragma once

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"

typedef struct nl_delete_index nl_delete_index;

/* In the arena; entries are borrowed: their manifests must live as long as the index is asked. */
nl_delete_index *nl_delete_index_new(nl_arena *arena, const nl_table_metadata *metadata);
void nl_delete_index_add(nl_delete_index *index, const nl_manifest_entry *entry, const nl_partition_spec *spec);
/* Sorts what was added; afterwards the index is immutable and may be asked from many threads. */
void nl_delete_index_finish(nl_delete_index *index);
bool nl_delete_index_is_empty(const nl_delete_index *index);
uint32_t nl_delete_index_count(const nl_delete_index *index);
/* The deletes of a data file, in the arena: a deletion vector alone, or position deletes (sequence number at or after the
 * data's), and equality deletes (after the data's). */
void nl_delete_index_find(const nl_delete_index *index, const nl_data_file *file, int64_t data_sequence_number, nl_arena *arena,
                          const nl_data_file *const **deletes, const int64_t **sequence_numbers, uint32_t *count);
