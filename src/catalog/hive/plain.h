/* catalog/hive/plain.h - tables of the metastore over plain files, as Spark with Hive keeps them: provider and schema are
 * parameters of the entry (spark.sql.sources.…), a partition is one of the metastore's.
 */
#pragma once

#include "catalog/catalog.h"

typedef struct nl_hive_plain { /* in the arena given */
    nl_str provider;    /* "parquet": Spark's word, or that of Hive's input format; empty: neither says what nilas reads */
    nl_str location;
    nl_str schema_json; /* Spark's, partition columns last; empty: Hive's own columns: */
    nl_str schema_text; /* "`a` int, `p` string" */
    uint32_t partition_count;
    nl_str comment, owner; /* data NULL: none */
    bool is_external;
    int64_t created_micros;
    const nl_property *options;
    uint32_t option_count;
    const nl_property *properties; /* those that are neither Spark's nor Hive's own */
    uint32_t property_count;
    const nl_str *folders; /* "p=x%2Fy", sorted */
    uint32_t folder_count;
} nl_hive_plain;

bool nl_hive_is_catalog(const nl_catalog *catalog);
/* *plain NULL: there is no such entry, or it is a table of Iceberg's or a view. Fails: NILAS_UNSUPPORTED for partitions that lie
 * elsewhere than below the table. */
NL_MUST_USE nl_status nl_hive_plain_load(nl_catalog *catalog, const nl_identifier *identifier, nl_arena *arena, const nl_hive_plain **plain);
/* The entry under another name; the files of a table that Hive manages in its own place may move with it. Fails:
 * NILAS_VALIDATION_FAILED when it is gone or the name is taken. */
NL_MUST_USE nl_status nl_hive_plain_rename(nl_catalog *catalog, const nl_identifier *from, const nl_identifier *to);
/* The entry goes, its files stay. */
NL_MUST_USE nl_status nl_hive_plain_forget(nl_catalog *catalog, const nl_identifier *identifier);
