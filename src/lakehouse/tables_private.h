/* lakehouse/tables_private.h - what the sources of the table store share. */
#pragma once

#include "base/lock.h"
#include "lakehouse/tables.h"

#define NL_KEPT_COUNT 64u

typedef struct nl_kept_entry {
    nl_kept_metadata kept; /* metadata NULL: free */
    uint64_t used_at;
} nl_kept_entry;

struct nl_tables {
    nl_state *state;     /* borrowed */
    nl_objects *objects; /* borrowed; NULL in tests that use local files only */
    nl_fs *object_fs;    /* counted; NULL with objects */
    nl_fs *local_fs;     /* counted */
    nl_memory *memory;   /* counted */
    _Atomic uint16_t s3_port;
    nl_mutex mutex;
    nl_kept_entry kept[NL_KEPT_COUNT]; /* guarded by mutex, as what follows */
    uint64_t clock, kept_bytes;
};

/* A namespace as one text: its parts with 0x1F between them, as in the paths of the REST specification. */
NL_MUST_USE nl_status nl_namespace_join(nl_arena *arena, const nl_str *parts, uint32_t part_count, nl_str *joined);
const nl_str *nl_namespace_split(nl_arena *arena, nl_str joined, uint32_t *part_count);
/* "`a`.`b`.`name`" (name empty: the namespace alone), for the parameters of Spark's conditions. */
nl_str nl_relation_name(nl_arena *arena, nl_str joined, nl_str name);

/* Inside a transaction. */
NL_MUST_USE nl_status nl_namespace_is_there(nl_sqlite *database, int64_t warehouse_id, nl_str joined, bool *exists);
NL_MUST_USE nl_status nl_namespace_must_exist(nl_sqlite *database, int64_t warehouse_id, nl_str joined, nl_arena *arena);

/* The work of nl_tables_commit, for a transaction that does more: prepared in the arena, for one change. */
typedef struct nl_pointer_work nl_pointer_work;
NL_MUST_USE nl_status nl_pointer_work_new(nl_arena *arena, int64_t warehouse_id, const nl_pointer_change *change, nl_pointer_work **work);
NL_MUST_USE nl_status nl_pointer_work_run(void *work, nl_sqlite *database);

/* answer NULL: nothing. Fails: NILAS_ALREADY_EXISTS, which undoes the transaction's work: the change was made before. */
NL_MUST_USE nl_status nl_tables_remember_in(nl_sqlite *database, const nl_remembered *answer, nl_str metadata_location);

/* Buckets without a table: rows of a table of their own, so that none is forgotten when the process dies. */
NL_MUST_USE nl_status nl_tables_note_loose(nl_sqlite *database, nl_str bucket, int64_t since_micros); /* since 0: to go at the next start at the latest */
NL_MUST_USE nl_status nl_tables_delete_loose(nl_tables *tables, nl_str bucket);
