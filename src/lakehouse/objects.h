/* lakehouse/objects.h - buckets and objects below the S3 service: what other services of the process use without HTTP.
 *
 * An object is a row of the database and its bytes: up to NL_OBJECT_INLINE_BYTES_MAX in the row itself, else a file
 * whose name is a random number, written and synced before the row is. A key never becomes a path. Readers hold the
 * version that they opened, whatever is put in its place.
 */
#pragma once

#include "lakehouse/state.h"
#include "storage/filesystem.h"

typedef struct nl_objects nl_objects; /* owned; threads: any */

NL_MUST_USE nl_status nl_objects_open(nl_state *state, nl_memory *memory, nl_objects **objects); /* borrows state */
void nl_objects_close(nl_objects *objects);

/* s3://bucket/key over this store, in the process; the same contracts as storage/s3.h. Counted. */
nl_fs *nl_objects_fs(nl_objects *objects);

NL_MUST_USE nl_status nl_objects_create_bucket(nl_objects *objects, nl_str bucket, bool is_hidden); /* hidden: of a table bucket; not in ListBuckets */
NL_MUST_USE nl_status nl_objects_delete_bucket(nl_objects *objects, nl_str bucket, bool with_contents); /* absent is success; NILAS_NOT_EMPTY as the service words it */

/* A new object at s3://bucket/key (NILAS_ALREADY_EXISTS) and `also` in one transaction: both or neither, one fsync. */
NL_MUST_USE nl_status nl_objects_create_with(nl_objects *objects, nl_str path, nl_bytes content, nl_state_work also, void *argument);

/* The service on :9000. strict: unknown keys and anonymous requests are refused. Borrows objects. */
typedef struct nl_lakehouse_keys { /* the one default key pair of `nilas up`; others are accepted unverified unless strict */
    nl_str access_key, secret_key;
    bool is_strict;
} nl_lakehouse_keys;
struct nl_service;
NL_MUST_USE nl_status nl_s3_service_new(nl_objects *objects, const nl_lakehouse_keys *keys, struct nl_service **service);
