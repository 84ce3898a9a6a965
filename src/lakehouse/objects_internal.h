/* lakehouse/objects_internal.h - what the files of the object store share: its state, its rows, its files. */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "lakehouse/object_store.h"
#include "storage/filesystem_ops.h"

#define NL_FILE_NAME_LENGTH 32u /* hexadecimal digits of 16 random bytes */

/* A file that no part names any more. */
typedef struct nl_garbage {
    struct nl_garbage *next;
    uint64_t epoch; /* readers that began before it may still read the file */
    char name[NL_FILE_NAME_LENGTH + 1];
} nl_garbage;

/* A reader of files: keeps garbage of its time. Lives in whoever reads. */
typedef struct nl_reading {
    struct nl_reading *before, *behind;
    uint64_t epoch;
} nl_reading;

struct nl_objects {
    nl_fs fs;               /* what nl_objects_fs gives; the store lives as long as it is open */
    nl_state *state;        /* borrowed */
    nl_memory *memory;      /* borrowed */
    int folder, incoming;   /* descriptors of objects/ and objects/incoming/ */
    atomic_int_fast64_t sequence; /* the next number of a version or of data */

    nl_mutex mutex;
    uint64_t epoch;               /* guarded by mutex, as all below */
    nl_reading readings;          /* head of the ring, oldest first */
    nl_garbage *first, *last;     /* waiting for readers */
    nl_garbage *removed;          /* gone from disk, still in s3_garbage */
    uint32_t removed_count;
};

int64_t nl_objects_next(nl_objects *objects); /* larger than every one before, also before a restart */

/* Files. */
void nl_file_name_new(char name[NL_FILE_NAME_LENGTH + 1]);
NL_MUST_USE nl_status nl_objects_open_file(nl_objects *objects, nl_str name, int *file); /* PATH_NOT_FOUND */
void nl_objects_settle_file(nl_objects *objects, nl_str name);                           /* from incoming/ to its place: a row names it now */
NL_MUST_USE nl_status nl_objects_sweep(nl_objects *objects);                             /* at start: what a killed process left */
void nl_objects_begin_reading(nl_objects *objects, nl_reading *reading);
void nl_objects_end_reading(nl_objects *objects, nl_reading *reading);
void nl_objects_collect(nl_objects *objects, nl_garbage *garbage); /* takes the list; after its rows are committed */
void nl_objects_flush_garbage(nl_objects *objects);
nl_str nl_incoming_file(const nl_incoming *incoming); /* empty: its bytes are inline */
nl_bytes nl_incoming_inline(const nl_incoming *incoming);
void nl_incoming_taken(nl_incoming *incoming);

/* Rows. Inside nl_state_read and nl_state_write. */
NL_MUST_USE nl_status nl_row_bucket(nl_sqlite *database, nl_str name, nl_arena *arena, nl_bucket *bucket);
NL_MUST_USE nl_status nl_row_find(nl_sqlite *database, const nl_bucket *bucket, nl_str key, nl_str version, nl_arena *arena, nl_object *object, bool *exists);
#define NL_OBJECT_COLUMNS "key,sequence,version,is_marker,size,modified,etag,headers,tags,checksum,storage_class,part_count,data"
void nl_row_object(nl_sqlite_statement *row, nl_arena *arena, nl_object *object);
/* Removes parts and puts files that nothing names any more into s3_garbage and before *garbage. number 0: all of data. */
NL_MUST_USE nl_status nl_row_remove_parts(nl_sqlite *database, int64_t data, uint32_t number, nl_garbage **garbage);
NL_MUST_USE nl_status nl_row_remove_version(nl_sqlite *database, int64_t bucket, const nl_object *object, nl_garbage **garbage);
void nl_garbage_free(nl_garbage *garbage);
bool nl_etag_matches(nl_str wanted, nl_str etag); /* "*" or quoted or not */
NL_MUST_USE nl_status nl_row_check_conditions(nl_sqlite *database, const nl_bucket *bucket, nl_str key, const nl_write_conditions *conditions, nl_arena *arena);
/* Inserts the object row of a put whose `made` has data, size and etag; removes what it replaces. */
NL_MUST_USE nl_status nl_row_insert(nl_objects *objects, nl_sqlite *database, const nl_bucket *bucket, nl_store_put *put, bool is_marker, nl_garbage **garbage);
NL_MUST_USE nl_status nl_row_insert_part(nl_sqlite *database, int64_t data, const nl_part *part, const nl_incoming *bytes);
/* The smallest text above every one that begins with prefix; false: there is none. */
bool nl_text_above(nl_arena *arena, nl_str prefix, nl_str *above);

extern const nl_fs_ops nl_objects_fs_ops;
