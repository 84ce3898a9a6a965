/* exec/source/delete_filter.h - Iceberg's deletes of one data file, loaded: positions, and sets of deleted keys.
 *
 * Delete files that concern many data files are read once per scan and shared. Source: Iceberg spec, "Delete Formats",
 * "Scan Planning".
 */
#pragma once

#include "column/batch.h"
#include "iceberg/deletion_vector.h"
#include "iceberg/scan_planning.h"

/* Deleted keys of one equality delete file. */
typedef struct nl_equality_set nl_equality_set;
const int32_t *nl_equality_set_fields(const nl_equality_set *set, uint32_t *field_count); /* ids of its columns */
/* Clears alive[row] for every row whose columns (in the order of the fields) are in the set. */
NL_MUST_USE nl_status nl_equality_set_apply(const nl_equality_set *set, const nl_vector *const *columns, uint32_t row_count, nl_memory *memory, uint8_t *alive);

/* What the delete files of a scan hold, by path. Threads: shared by all workers. */
typedef struct nl_delete_cache nl_delete_cache;
nl_delete_cache *nl_delete_cache_new(nl_fs *fs, const nl_schema *schema, nl_memory *memory); /* all retained or borrowed for its life */
void nl_delete_cache_free(nl_delete_cache *cache);                                          /* NULL is fine */

/* Calls visit for every batch of a delete file read as `wanted` (a STRUCT with field ids). */
typedef nl_status (*nl_delete_visit)(void *argument, const nl_batch *batch);
NL_MUST_USE nl_status nl_delete_file_read(nl_fs *fs, const nl_data_file *file, const nl_type *wanted, nl_memory *memory, nl_delete_visit visit, void *argument);
/* The vector of a manifest entry with content_offset and content_size; owned. */
NL_MUST_USE nl_status nl_delete_vector_read(nl_fs *fs, const nl_data_file *file, nl_memory *memory, nl_deletion_vector **vector);

typedef struct nl_delete_filter { /* in place; borrows the cache's sets */
    nl_deletion_vector *positions;   /* owned; NULL: none */
    const nl_equality_set **sets;    /* owned array */
    uint32_t set_count;
} nl_delete_filter;
/* Loads all deletes of a task. Blocks on storage. */
NL_MUST_USE nl_status nl_delete_filter_load(nl_delete_cache *cache, const nl_file_task *task, nl_delete_filter *filter);
void nl_delete_filter_fini(nl_delete_filter *filter);
