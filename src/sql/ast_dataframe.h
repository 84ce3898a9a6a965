/* sql/ast_dataframe.h - what DataFrames can say and SQL cannot: operators over the rows that come in from the left, as pipe
 * operators are, and statements' texts that are queries of their own.
 *
 * A DataFrame is a term; each of its steps is a pipe operator of kind NL_AST_PIPE_DATAFRAME (or of another kind), so that
 * long chains are walked with a loop. Terms carry their plan_id: columns and stars with one are looked for among the
 * outputs of that term.
 */
#pragma once

#include "sql/ast_query.h"

struct nl_table;

typedef enum nl_ast_dataframe_kind {
    NL_AST_DATAFRAME_SELECT,        /* exprs                                                                       */
    NL_AST_DATAFRAME_FILTER,        /* condition                                                                   */
    NL_AST_DATAFRAME_SORT,          /* sort; is_local: sortWithinPartitions                                        */
    NL_AST_DATAFRAME_AGGREGATE,     /* group, exprs: groups come first in the output                               */
    NL_AST_DATAFRAME_PIVOT,         /* group, condition (the pivot column), values (has_values), exprs             */
    NL_AST_DATAFRAME_WITH_COLUMNS,  /* exprs, all with an alias: a column of that name is replaced                 */
    NL_AST_DATAFRAME_DROP,          /* exprs; names: unknown ones are ignored                                      */
    NL_AST_DATAFRAME_RENAME,        /* names, new_names: unknown ones are ignored                                  */
    NL_AST_DATAFRAME_TO_DF,         /* names, by position                                                          */
    NL_AST_DATAFRAME_TO_SCHEMA,     /* schema: by name, with casts                                                 */
    NL_AST_DATAFRAME_DEDUPLICATE,   /* names; none: all columns                                                    */
    NL_AST_DATAFRAME_WATERMARK,     /* names[0] the event time's column, names[1] the delay: an interval           */
    NL_AST_DATAFRAME_TAIL,          /* count                                                                       */
    NL_AST_DATAFRAME_SAMPLE,        /* lower, upper, seed, is_with_replacement                                     */
    NL_AST_DATAFRAME_UNPIVOT,       /* group: ids; values (has_values) else all others; names[0] variable, names[1] value */
    NL_AST_DATAFRAME_REPARTITION,   /* exprs: by their hash, else in turn; count: partitions, 0: not given; partitioning  */
    NL_AST_DATAFRAME_SET_BY_NAME,   /* set_operator, is_all, right; allow_missing                                  */
    NL_AST_DATAFRAME_FILL_NA,       /* names, values: one value for all of its kind, or one per name               */
    NL_AST_DATAFRAME_DROP_NA,       /* names; count: so many must be there                                         */
    NL_AST_DATAFRAME_REPLACE,       /* names; values: old, new, old, new …                                         */
    NL_AST_DATAFRAME_SUMMARY,       /* names: statistics                                                           */
    NL_AST_DATAFRAME_DESCRIBE,      /* names: columns                                                              */
    NL_AST_DATAFRAME_CROSSTAB,      /* names: two                                                                  */
    NL_AST_DATAFRAME_COV,           /* the same                                                                    */
    NL_AST_DATAFRAME_CORR,          /* the same                                                                    */
    NL_AST_DATAFRAME_APPROX_QUANTILE, /* names, numbers, upper: relative error                                     */
    NL_AST_DATAFRAME_FREQ_ITEMS,    /* names, upper: support                                                       */
    NL_AST_DATAFRAME_SAMPLE_BY,     /* condition (column), values, numbers (fractions), seed                       */
    NL_AST_DATAFRAME_TRANSPOSE,     /* exprs: the index column, or none                                            */
    NL_AST_DATAFRAME_OBSERVE,       /* names[0], exprs                                                             */
    NL_AST_DATAFRAME_PARSE,         /* names[0]: csv or json; schema or NULL; options                              */
    NL_AST_DATAFRAME_MAP_PYTHON,    /* python: mapInPandas, mapInArrow                                             */
    NL_AST_DATAFRAME_GROUP_PYTHON,  /* python; group: the keys (applyInPandas, applyInArrow)                       */
    NL_AST_DATAFRAME_COGROUP_PYTHON /* python; group, right, values: the right side's keys                         */
} nl_ast_dataframe_kind;

/* What becomes of the rows; NONE: they stay where they are. SPLIT: of a range, which has so many partitions. */
typedef enum nl_ast_partitioning { NL_AST_PARTITION_NONE, NL_AST_PARTITION_SHUFFLE, NL_AST_PARTITION_COALESCE, NL_AST_PARTITION_SPLIT } nl_ast_partitioning;

typedef struct nl_ast_dataframe {
    nl_ast_dataframe_kind kind;
    nl_ast_exprs exprs;
    nl_ast_exprs group;           /* PIVOT, UNPIVOT                          */
    nl_ast_group_by *group_by;    /* AGGREGATE; NULL: none                   */
    nl_ast_exprs values;
    bool has_values;
    nl_ast_expr *condition;
    nl_ast_sort_items sort;
    bool is_local;
    const nl_str *names, *new_names;
    uint32_t name_count;
    const double *numbers;
    uint32_t number_count;
    const nl_type *schema;
    int64_t count;
    double lower, upper;
    int64_t seed;
    bool is_with_replacement;
    bool is_within_watermark; /* DEDUPLICATE */
    nl_ast_partitioning partitioning; /* REPARTITION */
    nl_ast_term *right;
    nl_ast_set_operator set_operator;
    bool is_all, allow_missing;
    struct nl_ast_properties *options;
    const struct nl_python_function *python;
} nl_ast_dataframe;

/* spark.read.format(…).schema(…).options(…).load(…) */
typedef struct nl_ast_files {
    nl_str format;
    const nl_str *paths;
    uint32_t path_count;
    const nl_property *options;
    uint32_t option_count;
    const nl_type *schema; /* NULL: as the files say */
} nl_ast_files;

/* A query with a text of its own, which its ranges mean, and its parameters (constants of the text around it). */
typedef struct nl_ast_text_query {
    nl_str text;
    nl_ast_query *query;
    nl_ast_expr *const *parameters;
    const nl_str *parameter_names; /* data NULL: positional */
    uint32_t parameter_count;
    const nl_ast_ctes *views;      /* DataFrames that the text may name */
} nl_ast_text_query;
