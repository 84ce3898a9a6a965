/* lakehouse/state.h - the data folder: one SQLite database for every index and catalog, folders for bytes.
 *
 *   lakehouse.db          WAL, synchronous=FULL; tables of each service are made by its own migration
 *   objects/ab/cdef…      bytes of objects too large for the database
 *   uploads/              bytes on their way; emptied at start
 *   lock                  held by the process that serves the folder
 *   reserve               4 MiB of nothing: given up when the disk is full, so that what frees space can still be done
 * Writes go through one thread that puts all that wait into one transaction, each in a savepoint: an fsync serves many
 * commits, and every writer learns of its own failure only. Reads have connections of their own. Folder 0700, files 0600.
 */
#pragma once

#include "base/sqlite.h"

typedef struct nl_state nl_state; /* owned; threads: any */

/* Makes the folder when it is absent. Fails: NILAS_IO_ERROR, also when another process serves it (its pid is named). */
NL_MUST_USE nl_status nl_state_open(nl_str folder, nl_state **state);
void nl_state_close(nl_state *state);
/* The process that serves a folder; 0: none does. */
int64_t nl_state_server(nl_str folder);
nl_str nl_state_folder(const nl_state *state);
bool nl_state_is_gone(const nl_state *state); /* the folder was removed since: every write fails */

/* Tables of a part ("s3", "tables"): versions[i] is the SQL that leads from version i to i+1; run once, recorded. */
NL_MUST_USE nl_status nl_state_migrate(nl_state *state, const char *part, const char *const *versions, uint32_t version_count);

typedef nl_status (*nl_state_work)(void *argument, nl_sqlite *database);
/* Durable when it returns NULL. work runs in the writer's thread and may run again when its batch had to be repeated: it
 * must only read its argument and the database, and write its results whole. Its failure undoes its own writes only. */
NL_MUST_USE nl_status nl_state_write(nl_state *state, nl_state_work work, void *argument);
/* The same for what makes room (deletions) and for what a start cannot do without: on a full disk the reserve goes for it. */
NL_MUST_USE nl_status nl_state_write_freeing(nl_state *state, nl_state_work work, void *argument);
/* On a connection of the calling thread's own, with a snapshot that holds as long as work runs. */
NL_MUST_USE nl_status nl_state_read(nl_state *state, nl_state_work work, void *argument);
