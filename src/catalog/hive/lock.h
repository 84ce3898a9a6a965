/* catalog/hive/lock.h - the metastore's own lock on a table, which every writer of Iceberg tables in it takes before it
 * moves the table's pointer: locks of Hive and of Java's HiveCatalog are respected, and ours by them.
 *
 * The metastore drops a lock that is silent for hive.txn.timeout (5 minutes): nl_hive_lock_is_held tells it that we live.
 * Source: Java's MetastoreLock. Threads: a lock belongs to one.
 */
#pragma once

#include "catalog/hive/metastore.h"

typedef struct nl_hive_lock {
    nl_hive_client *client;
    const nl_hive_options *options;
    int64_t id;
    int64_t heard_ms; /* when the metastore last knew that we live */
} nl_hive_lock;

/* Waits for it as iceberg.hive.lock-timeout-ms says. Fails: NILAS_COMMIT_FAILED when others hold it for that long (the commit
 * may be tried again); NILAS_SERVICE_UNAVAILABLE of kind RETRY. */
NL_MUST_USE nl_status nl_hive_lock_take(nl_hive_client *client, const nl_hive_options *options, nl_str database, nl_str table, nl_memory *memory, nl_hive_lock *lock);
/* NILAS_COMMIT_FAILED when the metastore gave it up. Asks no more often than the heartbeat's interval. */
NL_MUST_USE nl_status nl_hive_lock_is_held(nl_hive_lock *lock, nl_arena *arena);
void nl_hive_lock_release(nl_hive_lock *lock, nl_memory *memory); /* what fails is logged: the metastore forgets it by itself */
