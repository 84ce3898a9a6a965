/* exec/sink/position_deletes.h - deleted positions gathered per data file and written as position delete files. */
#pragma once

#include "exec/sink/data_writer.h"

typedef struct nl_position_set nl_position_set; /* one per worker; merged at the end */

NL_MUST_USE nl_status nl_position_set_new(nl_position_set **set);
void nl_position_set_free(nl_position_set *set); /* NULL is fine */
/* paths STRING, positions BIGINT; the selected rows are deleted rows. Both without nulls there. */
NL_MUST_USE nl_status nl_position_set_add(nl_position_set *set, const nl_vector *paths, const nl_vector *positions, nl_selection selection);
NL_MUST_USE nl_status nl_position_set_merge(nl_position_set *into, const nl_position_set *from);
uint32_t nl_position_set_count(const nl_position_set *set); /* data files */

/* A file of position deletes: its rows (file_path, pos) and its writer. output: taken, also on failure. */
const nl_type *nl_position_delete_type(nl_arena *arena);
NL_MUST_USE nl_status nl_position_delete_open(nl_output *output, const nl_type *type, const nl_file_output_options *options, nl_memory *memory,
                                              nl_file_output *out);

/* Writes one delete file per data file (Spark's granularity "file"), or one per partition. File-scoped deletes that the
 * data files already had are taken into the new ones and named in files->rewritten_delete_files. Adds to
 * files->delete_files; everything in `arena`. */
/* With is_rewrite (rewrite_position_delete_files) nothing is taken over, and positions in files that the snapshot does not
 * have any more are dropped. */
NL_MUST_USE nl_status nl_position_set_write(nl_position_set *set, nl_write_target *target, nl_iceberg_table *table, const nl_snapshot *snapshot,
                                            bool is_by_partition, bool is_rewrite, nl_arena *arena, nl_written_files *files);
