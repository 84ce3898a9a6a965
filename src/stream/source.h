/* stream/source.h - streams as leaves of a plan, and what runs behind each of them in a query.
 *
 * spark.readStream makes a table that knows its schema and has no rows (nl_stream_table_new). A query makes a source of it
 * (nl_stream_source_open), which says in offsets how far the stream goes and gives tables of what lies between two of them.
 * Offsets are JSON texts as Spark writes them into its offset log.
 */
#pragma once

#include "catalog/catalog.h"
#include "plan/plan.h"
#include "session/session.h"
#include "stream/checkpoint.h"

typedef struct nl_stream_definition {
    nl_str format;             /* as given; "iceberg", "parquet" …, "rate" */
    nl_str name;               /* of a table; empty: none */
    const nl_str *paths;
    uint32_t path_count;
    const nl_property *options; /* keys of any case */
    uint32_t option_count;
    const nl_type *schema;     /* given by the user; NULL: none */
} nl_stream_definition;

/* A leaf; counted. The definition is copied. Fails as Spark: no schema, unknown format, no such table … Runs in the session. */
NL_MUST_USE nl_status nl_stream_table_new(nl_session *session, const nl_stream_definition *definition, const nl_table **table);
bool nl_table_is_stream(const nl_table *table);
/* Does the plan read a stream? Definitions of CTEs are looked at, too. */
bool nl_plan_is_streaming(const struct nl_logical *plan);
const nl_stream_definition *nl_stream_table_definition(const nl_table *table);
/* "iceberg", "rate", "FileSource[file:/a]": what messages call it; borrowed. */
nl_str nl_stream_table_label(const nl_table *table);

typedef struct nl_stream_source nl_stream_source; /* owned: nl_stream_source_free */

typedef struct nl_stream_source_environment {
    nl_session *session;            /* borrowed: only while it is opened */
    const nl_stream_checkpoint *checkpoint; /* borrowed: outlives the source */
    uint32_t ordinal;               /* sources/N belongs to it */
    nl_memory *memory;
    nl_pool *pool;
    const nl_timezone *zone;
    nl_fs *files;                   /* of plain files; retained */
} nl_stream_source_environment;

typedef struct nl_stream_range { /* start empty: from the beginning */
    nl_str start, end;
} nl_stream_range;

typedef struct nl_stream_source_ops {
    /* How far the next batch may go from `start` (the limits per batch count when is_limited); empty: nothing is there.
     * In the arena. Blocks. */
    nl_status (*latest)(nl_stream_source *self, nl_arena *arena, nl_str start, bool is_limited, nl_str *end);
    /* What lies in the range, of the leaf's row type; counted. *row_count: how many rows, -1 unknown before they are read. */
    nl_status (*table)(nl_stream_source *self, const nl_stream_range *range, const nl_table **table, int64_t *row_count);
    /* What comes from now on is not seen any more: availableNow. */
    nl_status (*freeze)(nl_stream_source *self);
    /* What lies before has been committed; or NULL. */
    nl_status (*commit)(nl_stream_source *self, nl_str end);
    void (*append_description)(const nl_stream_source *self, nl_builder *out); /* of progress */
    void (*free)(nl_stream_source *self);
} nl_stream_source_ops;
struct nl_stream_source { /* first member of every kind */
    const nl_stream_source_ops *ops;
};
/* In the session: the leaf's tables are looked up now. */
NL_MUST_USE nl_status nl_stream_source_open(const nl_table *leaf, const nl_stream_source_environment *environment, nl_stream_source **source);
void nl_stream_source_free(nl_stream_source *source); /* NULL is fine */

/* The kinds (source_rate.c, source_files.c, source_iceberg.c). */
typedef struct nl_stream_kind {
    const char *name;
    /* The leaf's row type in the arena, and its label; checks the options. */
    nl_status (*describe)(nl_session *session, nl_stream_definition *definition, nl_arena *arena, const nl_type **row_type, nl_str *label);
    nl_status (*open)(const nl_stream_definition *definition, const nl_type *row_type, const nl_stream_source_environment *environment, nl_stream_source **source);
} nl_stream_kind;
extern const nl_stream_kind nl_stream_kind_rate, nl_stream_kind_rate_micro, nl_stream_kind_files, nl_stream_kind_iceberg;

nl_stream_definition nl_stream_definition_copy(nl_arena *arena, const nl_stream_definition *definition);
/* An option's value, keys of any case; data NULL: it is not given. */
nl_str nl_stream_option(const nl_stream_definition *definition, const char *key);
/* A table that counts the rows that are read of `table` (retained) into *count, which outlives it. */
NL_MUST_USE nl_status nl_stream_counted_table(const nl_table *table, atomic_int_fast64_t *count, const nl_table **counted);

/* Tables of one row type, one after the other, as one table; owned until nl_stream_chain_table. */
typedef struct nl_stream_chain nl_stream_chain;
NL_MUST_USE nl_status nl_stream_chain_new(const nl_type *row_type, nl_stream_chain **chain); /* the type is copied */
nl_arena *nl_stream_chain_arena(nl_stream_chain *chain);                                     /* lives as long as the table */
/* Columns are found by their field ids where both have some: a table may have got others since. Fails: NILAS_STREAM_STATE when one
 * has gone or has another type. */
NL_MUST_USE nl_status nl_stream_chain_add(nl_stream_chain *chain, const nl_table *table);    /* counted: taken, also on failure */
const nl_table *nl_stream_chain_table(nl_stream_chain *chain);                               /* takes the chain; counted */
void nl_stream_chain_free(nl_stream_chain *chain);                                           /* NULL is fine */
