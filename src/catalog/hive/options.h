/* catalog/hive/options.h - what a Hive catalog is told: its properties, and Hive's and Iceberg's settings, which come as
 * spark.hadoop.K for all catalogs and as spark.sql.catalog.NAME.hadoop.K for one.
 */
#pragma once

#include "catalog/catalog_private.h"

typedef struct nl_hive_address {
    nl_str host, port; /* borrowed from the properties */
} nl_hive_address;

typedef struct nl_hive_options {
    const nl_hive_address *addresses; /* those of `uri`, or of hive.metastore.uris */
    uint32_t address_count;
    nl_str uri;                /* as it was given, for messages */
    uint32_t idle_max;         /* `clients`: connections kept */
    uint32_t connect_tries;    /* hive.metastore.connect.retries */
    int64_t connect_delay_ms;  /* hive.metastore.client.connect.retry.delay */
    int64_t timeout_ms;        /* hive.metastore.client.socket.timeout */
    size_t answer_bytes_max;   /* hive.thrift.client.max.message.size */
    bool is_framed;            /* hive.metastore.thrift.framed.transport.enabled */
    bool tells_user;           /* hive.metastore.execute.setugi */
    nl_str user;               /* HADOOP_USER_NAME, or the process's */
    nl_str warehouse;          /* without a slash at its end; may be empty */
    bool lists_all_tables;     /* list-all-tables; the session catalog always lists all that the metastore has */
    bool locks;                /* iceberg.engine.hive.lock-enabled */
    bool is_for_hive;          /* iceberg.engine.hive.enabled */
    bool keeps_statistics;     /* iceberg.hive.keep.stats */
    int64_t property_size_max; /* iceberg.hive.table-property-max-size, in UTF-16 units; 0: nothing of Iceberg's is shown */
    int64_t lock_timeout_ms, lock_check_min_ms, lock_check_max_ms;
    int64_t lock_creation_timeout_ms, lock_creation_min_ms, lock_creation_max_ms;
    int64_t heartbeat_ms;
} nl_hive_options;

/* In the arena. Fails: NILAS_ILLEGAL_ARGUMENT naming the key; NILAS_UNSUPPORTED for Kerberos, TLS and HTTP. */
NL_MUST_USE nl_status nl_hive_options_read(const nl_catalog *catalog, nl_arena *arena, nl_hive_options *options);
