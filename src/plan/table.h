/* plan/table.h - what the plan knows of a table: columns, statistics, and how exec opens it.
 *
 * exec's scans (Iceberg, Parquet, CSV, JSON files) and command's virtual tables (metadata tables) fill in
 * nl_table_ops. Tables are counted; a plan's arena keeps a reference to each.
 */
#pragma once

#include "column/value.h"

typedef struct nl_table nl_table;
struct nl_logical;
struct nl_expr;
struct nl_query; /* exec/exec.h */
struct nl_scan;  /* exec/scan.h */

typedef struct nl_table_column_statistics {
    bool has_bounds;
    nl_value lower, upper;     /* not necessarily tight */
    int64_t null_count;        /* -1: unknown */
    int64_t distinct_count;    /* -1: unknown */
} nl_table_column_statistics;

typedef struct nl_table_ops {
    const char *kind; /* "iceberg", "parquet", "csv", "values" …; shown by EXPLAIN */
    /* Rows and bytes after pruning with scan's filter; -1: unknown. Cheap: metadata only. */
    nl_status (*estimate)(const nl_table *table, const struct nl_logical *scan, int64_t *row_count, int64_t *bytes);
    nl_status (*column_statistics)(const nl_table *table, uint32_t column, nl_arena *arena, nl_table_column_statistics *statistics); /* or NULL */
    /* Exact count/min/max from metadata (no row deletes); *is_known false otherwise. kinds[i]: '*' count(*), 'n'
     * count(column), '<' min, '>' max over table column columns[i]. Or NULL. */
    nl_status (*aggregate_from_metadata)(const nl_table *table, const struct nl_logical *scan, const char *kinds, const uint32_t *columns,
                                         uint32_t count, nl_arena *arena, nl_value *values, bool *is_known);
    /* The same rows, if the data has not changed (ops are equal already); NULL: only the table itself. */
    bool (*is_same)(const nl_table *a, const nl_table *b);
    /* Another number when the data may have changed; NULL: it never does. */
    uint64_t (*state)(const nl_table *table);
    nl_status (*prepare)(const nl_table *table, struct nl_query *query); /* while the pipelines are built, before any of them runs; or NULL */
    nl_status (*open_scan)(const nl_table *table, struct nl_query *query, const struct nl_logical *scan, struct nl_scan **out);
    void (*append_text)(const nl_table *table, nl_builder *out); /* EXPLAIN: name and snapshot */
    void (*free)(nl_table *table);
} nl_table_ops;

struct nl_table { /* first member of every kind */
    const nl_table_ops *ops;
    const nl_type *row_type;      /* STRUCT of the visible columns */
    const nl_type *metadata_type; /* STRUCT of hidden columns (_file, _pos, _spec_id, _partition …), or NULL */
    atomic_int references;
};
nl_table *nl_table_retain(const nl_table *table);
void nl_table_release(const nl_table *table);
