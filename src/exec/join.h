/* exec/join.h - the inside of joins, shared by the join files.
 *
 * The right child is built, the left one probes; SEMI and ANTI may build their left child (builds_left), which makes them
 * a RIGHT join that marks build rows and puts out the marked, or the unmarked, ones at the end. Build rows lie in stores by the top bits of their hash (partitions);
 * a directory over the top bits points to chains of rows, with 16 bits that say which hashes a chain can hold. When
 * memory is refused, partitions move to disk; probe rows of such a partition follow, and the partition is joined alone
 * after all other rows. Without equal keys every build row is a candidate of every probe row: all are one partition.
 * What cannot be split further and does not fit is joined in passes: a part of the build rows with all probe rows.
 */
#pragma once

#include "exec/bloom.h"
#include "exec/engine.h"
#include "exec/key_bitmap.h"
#include "exec/row.h"
#include "exec/spill.h"

#define NL_JOIN_PARTS_BITS 4u
#define NL_JOIN_PARTS      (1u << NL_JOIN_PARTS_BITS)

typedef struct nl_join_header { /* before every build row's columns */
    uint64_t hash;
    uint8_t *next;   /* of the chain, in the order of arrival */
    uint8_t matched; /* RIGHT, FULL: set by any worker, atomically */
} nl_join_header;

static inline nl_join_header *nl_join_header_of(uint8_t *row)
{
    return (nl_join_header *)(void *)row;
}

typedef struct nl_join_table {
    nl_buffer *directory; /* uint64_t: 16 tag bits, 48 of the address */
    uint32_t shift;       /* slot = hash >> shift */
    uint64_t row_count;   /* all, chained or not */
    nl_heap *heap;        /* of all rows */
    nl_buffer *row_list;  /* of all_rows */
    uint8_t **all_rows;   /* nested loop, unmatched rows: every row */
    /* One dense integer key (join_direct.c); direct is NULL otherwise: */
    const nl_key_bitmap *direct; /* borrowed of the join */
    nl_buffer *rank_buffer;
    uint32_t *ranks;      /* per word of the bitmap: bits before it */
    uint8_t **heads;      /* in the directory: chain per key, by rank */
    bool is_unique;       /* no chain has a second row */
} nl_join_table;

typedef struct nl_join_worker {
    nl_row_store parts[NL_JOIN_PARTS];
    nl_spill *build_spills[NL_JOIN_PARTS], *probe_spills[NL_JOIN_PARTS];
    bool has_null_key;
    bool *has_range;       /* per key: of integers seen */
    int64_t *lower, *upper;
    /* Probing: */
    nl_buffer *scratch;
    uint32_t scratch_rows;
    uint64_t *hashes;      /* by batch row */
    uint8_t *matched;      /* by batch row */
    uint8_t **pointers;    /* by position in the selection: the candidate */
    uint32_t *batch_rows, *candidates, *failed;
    uint32_t *pair_rows;   /* pairs found and not yet output */
    uint8_t **pair_pointers;
    uint32_t *sorted_rows; /* scratch for putting pairs in order */
    uint8_t **sorted_pointers;
    uint32_t pair_count, pair_capacity;
    uint64_t peak_bytes;   /* of the build rows, for metrics */
} nl_join_worker;

typedef struct nl_join {
    nl_exec *exec;
    const nl_logical *node;
    nl_join_kind kind;
    bool is_null_aware;
    bool builds_left;          /* SEMI, ANTI: left and right below are the node's right and left children */
    bool wants_matched;        /* of the build rows put out at the end: SEMI that builds left */
    const nl_logical *probe_plan;
    const nl_column *left, *right;
    uint32_t left_count, right_count;
    uint32_t key_count;
    bool *is_null_safe;        /* per key: <=> */
    nl_programs build_values;  /* over right: keys, then carried columns */
    nl_programs probe_keys;    /* over left */
    uint32_t build_value_count;
    uint32_t *right_to_layout; /* layout column of each right column; UINT32_MAX: not carried */
    bool *is_wanted_left, *is_wanted_right; /* output columns that somebody reads; others are nulls */
    bool *is_residual_left, *is_residual_right; /* columns the residual looks at */
    bool has_residual;
    nl_programs residual;      /* over left and right */
    nl_row_layout layout, raw_layout;
    const nl_type **build_types, **left_types; /* of spill files */
    nl_join_worker *workers;
    nl_join_table table;
    atomic_bool is_spilled[NL_JOIN_PARTS];
    atomic_bool any_spilled;
    bool has_null_key;
    uint64_t build_rows;       /* all, on disk too */
    nl_metric *build_metric;
    nl_operator *probe;        /* whose next gets the output */
    nl_bloom bloom;
    nl_key_bitmap *bitmaps;    /* per key */
    const nl_expr **left_keys, **right_keys;
} nl_join;

static inline bool nl_join_keeps_right(const nl_join *join) /* unmatched build rows are output */
{
    return join->kind == NL_JOIN_RIGHT || join->kind == NL_JOIN_FULL;
}
static inline bool nl_join_gives_right(const nl_join *join) /* right columns are output */
{
    return join->kind <= NL_JOIN_CROSS;
}
static inline bool nl_join_gives_pairs(const nl_join *join) /* pairs of rows are output */
{
    return nl_join_gives_right(join) && !join->builds_left;
}

/* join_build.c */
nl_operator *nl_join_build_operator(nl_join *join);
/* Chains `count` stores' rows (all of one table); takes nothing. is_whole: they are all that the workers hold, and chained in parallel. */
NL_MUST_USE nl_status nl_join_table_make(nl_join *join, nl_row_store *const *stores, uint32_t store_count, bool is_whole, nl_join_table *table);
void nl_join_table_fini(nl_join_table *table);
/* All rows have been probed and output: the memory is for partitions on disk. */
void nl_join_release_built(nl_join *join);
#define NL_JOIN_TABLE_ROW_BYTES (4 * sizeof(uint64_t)) /* of a table per row, at most: directory and list */
NL_MUST_USE nl_status nl_join_store_rows(nl_join *join, const nl_vector *values, const uint64_t *hashes, nl_selection selection, nl_row_store *store);
/* join_probe.c */
nl_operator *nl_join_probe_operator(nl_join *join);
/* One pass of several over the probe side, each with other build rows. */
typedef struct nl_join_pass {
    uint8_t *matched; /* per row of the batch, kept between passes: has it found a match? NULL: nobody asks */
    bool is_last;     /* rows without a match are known now */
} nl_join_pass;
/* pass: of a partition from disk (its rows belong to `table`); NULL: of the probe input. */
NL_MUST_USE nl_status nl_join_probe_batch(nl_join *join, nl_worker *worker, const nl_join_table *table, nl_batch *batch, const nl_join_pass *pass);
NL_MUST_USE nl_status nl_join_output_unmatched(nl_join *join, uint8_t *const *rows, uint32_t count, const nl_join_table *table, nl_batch *out);
NL_MUST_USE nl_status nl_join_scratch(nl_join_worker *own, nl_memory *memory, uint32_t rows, uint32_t pair_rows);
/* join_direct.c: *is_made false where the keys are no dense integers. */
NL_MUST_USE nl_status nl_join_direct_make(nl_join *join, nl_join_table *table, bool *is_made);
/* Chains a block's rows, the last first. Blocks without common keys can be chained side by side. */
void nl_join_direct_chain(const nl_join *join, nl_join_table *table, const nl_row_block *block, uint32_t row_bytes);
/* The selected rows whose key exists, and where its chain is among the heads. rows, ranks: room for one more than are selected. */
uint32_t nl_join_direct_find(const nl_join *join, const nl_join_table *table, const nl_vector *key, nl_selection selection, uint32_t *rows, uint32_t *ranks);
/* join_late.c */
nl_source *nl_join_spilled_source(nl_join *join);
nl_source *nl_join_unmatched_source(nl_join *join);
/* join_filter.c: min, max and Bloom filter of the build keys for the scans that feed the probe. */
NL_MUST_USE nl_status nl_join_note_filters(nl_join *join);
/* Least and greatest of an integer key's build values; false: there are none. */
bool nl_join_key_range(const nl_join *join, uint32_t key, int64_t *lower, int64_t *upper);
/* Fills join->bitmaps[key] where the keys are dense and memory allows it; keeps what is there. */
NL_MUST_USE nl_status nl_join_make_bitmap(nl_join *join, uint32_t key, int64_t lower, int64_t upper);
