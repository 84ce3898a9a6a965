/* session/plain_tables.h - tables over plain files (USING parquet, csv, json) of the session catalog. All sessions of a program
 * see them, and they live as long as it does, as in Spark without Hive; their files stay.
 *
 * An entry never changes: a change puts another in its place.
 */
#pragma once

#include "session/session.h"

typedef struct nl_plain_statistics { /* what ANALYZE TABLE found */
    nl_str folder;      /* a partition's; empty: the whole table */
    int64_t size_bytes;
    int64_t row_count;  /* -1: not counted */
} nl_plain_statistics;

typedef struct nl_plain_table {
    const nl_str *namespace_parts; /* without the catalog */
    uint32_t namespace_count;
    nl_str name;
    nl_str provider;        /* lower case: "parquet" */
    nl_str location;
    bool is_external;       /* made with LOCATION: DROP leaves the files */
    bool is_kept;           /* by a Hive metastore, and not by the session: it is read only */
    nl_str comment, owner;  /* data NULL: none */
    const nl_type *row_type;  /* STRUCT: what the files hold, then the partition columns */
    uint32_t partition_count; /* the last columns */
    const nl_str *defaults;   /* of the columns: SQL texts, data NULL: none; or NULL: there are none at all */
    nl_str collation;         /* DEFAULT COLLATION; or empty */
    uint32_t bucket_count;    /* CLUSTERED BY: what was declared. 0: nothing. Files are not divided by it */
    const nl_str *bucket_columns;
    uint32_t bucket_column_count;
    const nl_str *sort_columns;
    uint32_t sort_column_count;
    const nl_property *options; /* for readers and writers of the format */
    uint32_t option_count;
    const nl_property *properties;
    uint32_t property_count;
    const nl_str *folders; /* the partitions, sorted: "b=x/c=1" */
    uint32_t folder_count;
    const nl_plain_statistics *statistics;
    uint32_t statistics_count;
    int64_t created_micros;
} nl_plain_table;

/* Copies everything; takes the place of one of that name. */
NL_MUST_USE nl_status nl_session_put_plain_table(nl_session *session, const nl_plain_table *table);
/* The same, only when `expected` (that was found) is still the one that is there: for what must not undo what others did meanwhile. */
NL_MUST_USE nl_status nl_session_swap_plain_table(nl_session *session, const nl_plain_table *expected, const nl_plain_table *table, bool *is_swapped);
/* In any case; or NULL. Lives as long as the arena, also when another takes its place. */
const nl_plain_table *nl_session_find_plain_table(const nl_session *session, const nl_identifier *identifier, nl_arena *arena);
bool nl_session_drop_plain_table(nl_session *session, const nl_identifier *identifier);
nl_list nl_session_plain_tables(const nl_session *session, nl_arena *arena); /* of const nl_plain_table *, which live as long as the arena */
