/* exec/aggregate.h - the inside of hash aggregation, shared by its files.
 *
 * Every worker groups what it sees in a table of its own (rows: keys, then aggregate states). When memory is refused, a
 * worker writes its rows as partial results to one file per partition (top bits of the hash) and starts anew. The
 * output source takes one partition at a time: it merges the workers' rows and files of that partition. With few rows
 * from one worker nothing is merged.
 *
 * DISTINCT aggregates: (keys, arguments) go through tables of their own first; what is left there is fed to the main
 * table by later pipelines. Grouping sets: each batch is taken once per set, absent keys null, the set's number as one
 * more key; or by all keys only, and the sets are made of each other (aggregate_sets.c).
 */
#pragma once

#include "exec/group_table.h"
#include "exec/spill.h"

typedef struct nl_agg_call {
    const nl_bound_function *function;
    uint32_t argument_first, argument_count; /* among the program's outputs */
    int32_t filter;                          /* output position of the FILTER condition; -1: none */
    int32_t distinct_set;                    /* -1: none */
    uint32_t state_offset;                   /* in the row */
    nl_span span;
} nl_agg_call;

/* What goes through one DISTINCT: arguments and filter. */
typedef struct nl_agg_distinct {
    uint32_t argument_first, argument_count;
    int32_t filter;
    struct nl_aggregate *dedupe; /* keys: the group's and the arguments; no calls */
} nl_agg_distinct;

typedef struct nl_agg_finest nl_agg_finest; /* aggregate_sets.c */

#define NL_AGG_CODED_KEYS 4u /* as many dictionary-coded keys are taken together */

typedef struct nl_agg_worker {
    bool has_rows;
    uint64_t arrived_rows;   /* of the input */
    uint64_t groups_max;     /* how many the table keeps in view */
    uint64_t seen_rows, recurring_rows; /* since it was half full: all, and those of groups that earlier batches had */
    nl_group_table table;
    nl_eval eval;
    nl_spill *spills[NL_GROUP_PARTS];
    bool has_spilled, has_duplicates;
    void **states;           /* scratch */
    uint32_t state_capacity;
    uint8_t *global;         /* without keys: the one row's states */
    uint64_t dictionary_identities[NL_AGG_CODED_KEYS], dictionary_epoch; /* the last dictionary-coded keys: addresses by code */
    uint8_t **by_code;
    uint32_t code_count;
    uint64_t peak_bytes;     /* for metrics */
    nl_agg_finest *finest;   /* only the set of all keys is fed, for now; or NULL */
} nl_agg_worker;

typedef struct nl_aggregate {
    nl_exec *exec;
    const nl_logical *node;
    const nl_logical *metric_node; /* NULL: of an inner step */
    nl_metric *metric;
    nl_programs programs;    /* keys, arguments, filters */
    uint32_t output_count;   /* of the programs */
    uint32_t key_count;      /* group keys of the query */
    uint32_t table_keys;     /* key_count, plus 1 with grouping sets */
    bool has_sets;
    const uint32_t *set_order;   /* sets by number, those with more keys first; NULL: each of them is fed with every row */
    const uint32_t *set_parents; /* by place in that order: the place of the set that it is made of */
    nl_agg_call *calls;
    uint32_t call_count;
    nl_agg_distinct *distincts;
    uint32_t distinct_count;
    nl_row_layout layout;
    const nl_type **spill_types; /* keys, partials */
    nl_agg_worker *workers;
} nl_aggregate;

/* aggregate.c: rows whose keys (table_keys owned vectors, encoded here) are given; updates the calls of distinct_set. */
NL_MUST_USE nl_status nl_aggregate_add(nl_aggregate *aggregate, uint32_t worker, nl_vector *keys, const nl_vector *outputs,
                                       uint32_t row_count, nl_selection selection, int32_t distinct_set);
void nl_aggregate_init_states(const nl_aggregate *aggregate, nl_group_table *table);
NL_MUST_USE nl_status nl_aggregate_scratch(nl_agg_worker *worker, uint32_t count);
bool nl_aggregate_has_large_states(const nl_aggregate *aggregate); /* states own memory: collect_list, percentile … */
/* How many of a table's row_count rows (their states included) may be copied at once: at most `most`. */
uint32_t nl_aggregate_rows_at_once(const nl_aggregate *aggregate, uint64_t row_count, uint32_t most);
void nl_aggregate_destroy_rows(const nl_aggregate *aggregate, nl_eval *eval, nl_group_table *table);
/* aggregate_sets.c: decides, once the calls are planned. */
void nl_aggregate_plan_sets(nl_aggregate *aggregate);
/* Is the worker to feed only the first set of set_order with a batch of row_count rows? */
NL_MUST_USE nl_status nl_aggregate_begin_finest(nl_aggregate *aggregate, nl_agg_worker *worker, uint32_t row_count, bool *is_finest);
/* The other sets, of what the first one got; to_files: as partial results on disk. When something was written, has_spilled
 * is set: the table is to follow, and to be empty before more rows come. */
NL_MUST_USE nl_status nl_aggregate_make_sets(nl_aggregate *aggregate, nl_agg_worker *worker, bool to_files);
/* aggregate_spill.c */
NL_MUST_USE nl_status nl_aggregate_spill(nl_aggregate *aggregate, nl_agg_worker *worker, nl_group_table *table, nl_spill **spills, uint32_t level);
nl_source *nl_aggregate_source(nl_aggregate *aggregate);
