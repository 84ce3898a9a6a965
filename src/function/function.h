/* function/function.h - what a function is: a row of a table, bound to argument types, called on vectors.
 *
 * The way: nl_function_find(name) -> rows; the analyzer calls nl_function_bind with argument types and constant
 * arguments; the answer (nl_bound_function) says which types the arguments must be cast to, the result type and the
 * kernel. exec calls the kernel through nl_function_call. Bound functions are immutable and shared by all workers.
 *
 * Rows live beside their kernels in scalar/ aggregate/ window/ generator/; each file exports one array that
 * registry.c lists. From the row come analysis, SHOW/DESCRIBE FUNCTION, docs/reference, completion and a test that
 * runs every example.
 */
#pragma once

#include "base/calendar.h"
#include "column/batch.h"
#include "column/value.h"

typedef struct nl_function_row nl_function_row;
typedef struct nl_bound_function nl_bound_function;

typedef enum nl_function_kind {
    NL_FUNCTION_SCALAR,
    NL_FUNCTION_AGGREGATE, /* also usable as a window function */
    NL_FUNCTION_WINDOW,    /* only with OVER                   */
    NL_FUNCTION_GENERATOR, /* explode, stack, json_tuple …     */
    NL_FUNCTION_SPECIAL,   /* the analyzer makes its own expression of it (coalesce, if, grouping_id …); documented here */
    NL_FUNCTION_TABLE      /* range, sql_keywords …: the analyzer makes a relation of it */
} nl_function_kind;

/* Session facts that results may depend on; constant during one statement. */
typedef struct nl_eval_confs {
    bool is_ansi;                 /* spark.sql.ansi.enabled                                     */
    bool is_trino;                /* spark.nilas.sql.trino: types and operators follow Trino    */
    bool is_timestamp_ntz;        /* spark.sql.timestampType is TIMESTAMP_NTZ                   */
    bool is_legacy_time_parser;   /* spark.sql.legacy.timeParserPolicy is LEGACY: patterns are SimpleDateFormat's */
    bool is_last_win;             /* spark.sql.mapKeyDedupPolicy: the later of two equal keys counts, not an error */
    bool keeps_scale;             /* spark.sql.decimalOperations.allowPrecisionLoss=false: no digits behind the point are given up */
    bool is_legacy_array_insert;  /* spark.sql.legacy.negativeIndexInArrayInsert                */
    bool is_concat_string;        /* spark.sql.function.concatBinaryAsString                    */
    bool is_elt_string;           /* spark.sql.function.eltOutputAsString                       */
    bool is_plain_error;          /* spark.sql.legacy.raiseErrorWithoutErrorClass               */
    bool is_legacy_percentile;    /* spark.sql.legacy.percentileDiscCalculation                 */
    bool is_legacy_interval;      /* spark.sql.legacy.interval.enabled                          */
    bool is_java_charsets;        /* spark.sql.legacy.javaCharsets: encode and decode know what Java knows */
    bool replaces_codes;          /* spark.sql.legacy.codingErrorAction: what a charset lacks is replaced  */
    bool counts_star;             /* spark.sql.legacy.allowStarWithSingleTableIdentifierInCount */
    nl_binary_style binary_style; /* spark.sql.binaryOutputStyle                                */
    const nl_timezone *zone;      /* spark.sql.session.timeZone                                 */
    int64_t now_micros;           /* current_timestamp(): one instant for the whole statement   */
    nl_str current_catalog;
    nl_str current_namespace;     /* "a.b" */
    nl_str user;
    nl_str version;               /* text of version()                                          */
    const struct nl_cancel *cancel; /* asked by kernels that make large values; NULL: never cancelled */
    const void *session;          /* opaque: for the few functions that ask more                */
} nl_eval_confs;

/* What a kernel is called with. One per worker and expression program. */
typedef struct nl_eval {
    const nl_eval_confs *confs;
    nl_memory *memory;            /* pays for outputs and scratch                               */
    uint32_t worker;              /* 0 …: partition number of rand(), spark_partition_id()      */
    void *worker_state;           /* of this call on this worker: see make_worker_state; may be NULL */
} nl_eval;

/* A lambda argument, evaluated by exec. `parameters` (length rows each) are the lambda's variables in order;
 * parent_rows[i] (length entries) is the row of the batch that element i belongs to, for captured columns. */
typedef struct nl_lambda nl_lambda;
struct nl_lambda {
    nl_status (*evaluate)(const nl_lambda *self, nl_eval *eval, const nl_vector *parameters, uint32_t parameter_count,
                          const uint32_t *parent_rows, uint32_t length, nl_vector *out);
    const nl_type *result_type;
    bool is_nullable;
    uint32_t parameter_count;
};

/* Calls on a batch. args: argument_count vectors of `length` rows each, any encoding (nested children too).
 * selection: the rows to compute; other rows of *out are left zero. lambdas: one per argument, NULL for plain ones.
 * *out: zeroed on entry; a vector of `length` rows on success (any encoding). With NL_NULL_IN_NULL_OUT the caller has
 * taken null rows out of `selection` (unless the row says is_dense) and sets the validity afterwards. */
typedef nl_status (*nl_scalar_kernel)(const nl_bound_function *function, nl_eval *eval, const nl_vector *args,
                                      const nl_lambda *const *lambdas, nl_selection selection, uint32_t length, nl_vector *out);

typedef enum nl_null_handling {
    NL_NULL_IN_NULL_OUT, /* any null argument gives null; the kernel never sees one (see is_dense) */
    NL_NULL_SEEN         /* the kernel looks at nulls and makes its own validity                    */
} nl_null_handling;

typedef struct nl_bind {                   /* what nl_function_bind hands to a row's bind()                 */
    const nl_function_row *row;
    nl_arena *arena;                       /* of the plan: types, state                                     */
    const nl_eval_confs *confs;
    nl_str name;                           /* as written in the query                                       */
    uint32_t argument_count;
    /* For the caller: the types as given; a lambda's is its body's type (NULL while unknown). For a row's bind(): after
     * signature coercion; it may change them further. They end up in the bound function: cast the arguments to those. */
    const nl_type **argument_types;
    const nl_type *const *given_types;     /* for a row's bind(): as given, before the signature's casts */
    const bool *argument_nullable;         /* NULL: all are */
    /* constants[i]: the foldable argument's value, or NULL. The caller gives them as they are; a row's bind() sees them
     * cast to the signature's types. constants itself may be NULL: nothing is constant. */
    const nl_value *const *constants;
    const nl_value *const *given_constants; /* for a row's bind(): before they were cast */
    const bool *is_literal;                /* written as a literal (decimals with literal integers are narrower); NULL: constants are */
    const nl_lambda *const *lambdas;       /* or NULL entries                                               */
    nl_str (*argument_sql)(const struct nl_bind *bind, uint32_t i); /* pretty text of an argument, for error parameters */
    nl_str (*call_sql)(const struct nl_bind *bind); /* pretty text of the call, default arguments included; or NULL */
    const void *argument_sql_context;               /* of both */
    bool is_distinct, ignore_nulls;        /* aggregates, window functions                                  */
} nl_bind;

struct nl_bound_function {
    const nl_function_row *row;
    const nl_type *result_type;
    bool is_nullable;
    uint32_t argument_count;
    const nl_type *const *argument_types; /* arguments are cast to these before the call */
    nl_scalar_kernel kernel;              /* SCALAR; row->kernel unless bind chose another */
    nl_str name;                          /* as written: some errors say it */
    const void *state;                    /* immutable: compiled pattern, unit, …; in the plan's arena */
    bool is_deterministic;
    bool can_fail;                        /* may raise on some rows: not to be evaluated for rows a guard excludes */
    bool ignore_nulls;
    const nl_type *partial_type;          /* AGGREGATE: what to_partial makes */
    const struct nl_aggregate_ops *aggregate; /* AGGREGATE */
    const struct nl_window_ops *window;       /* WINDOW */
    const struct nl_generator_ops *generator; /* GENERATOR */
};

typedef struct nl_function_example {
    const char *sql;    /* a SELECT list, e.g. "substring('Spark SQL', 5)" */
    const char *result; /* as real Spark shows it; several columns tab-separated */
} nl_function_example;

struct nl_function_row {
    const char *name;
    const char *aliases;   /* "substr,sub" or NULL: same row under other names */
    nl_function_kind kind;
    const char *group;     /* string math datetime array map … as in SHOW FUNCTIONS' registry */
    const char *since;
    const char *doc;       /* one line of our own words */
    /* Alternatives tried in order, exact match before implicit casts: "(string, int [, int]) -> string | (binary, int
     * [, int]) -> binary". Words: type names; decimal (any); numeric, integral, string, any; T, U, K, V variables
     * (array<T>, map<K,V>); `a/b` either; `T...` repeats; `lambda(T) -> U`, `lambda(T, int) -> U`. Result `?` is set by bind. */
    const char *signature;
    nl_null_handling nulls;
    bool is_dense;         /* NULL_IN_NULL_OUT kernel that may be run on null rows' zero slots too; it looks at the
                              arguments' validity itself before it raises anything */
    bool keeps_non_null;   /* non-null arguments never give null: the result is nullable only when an argument is */
    bool is_nondeterministic;
    bool can_fail;
    bool is_internal;      /* helpers of the analyzer are not shown */
    nl_status (*bind)(nl_bind *bind, nl_bound_function *bound); /* or NULL */
    nl_scalar_kernel kernel;
    nl_status (*make_worker_state)(const nl_bound_function *function, uint32_t worker, void **state); /* or NULL; plain malloc */
    void (*free_worker_state)(void *state);
    const struct nl_aggregate_ops *aggregate;
    const struct nl_window_ops *window;
    const struct nl_generator_ops *generator;
    nl_function_example examples[4];
};

/* The rows of a name (aliases included, any case), or 0. Operators are found by their symbols: "+", "<=>", "div", "||";
 * unary ones are "negative" (-), "positive" (+), "~". */
uint32_t nl_function_find(nl_str name, const nl_function_row *const **rows);
const nl_function_row *nl_function_at(uint32_t i); /* all rows, by name; NULL past the end */

/* Resolves overloads and implicit casts. Fails: WRONG_NUM_ARGS, DATATYPE_MISMATCH.*, as Spark words them. */
NL_MUST_USE nl_status nl_function_bind(nl_bind *bind, const nl_function_row *const *rows, uint32_t row_count,
                                       const nl_bound_function **bound);
/* For lambda arguments, before their bodies can be resolved: the parameter types of argument i, given the types of the
 * plain arguments. types[0…parameter_count). */
NL_MUST_USE nl_status nl_function_lambda_types(nl_bind *bind, const nl_function_row *const *rows, uint32_t row_count,
                                               uint32_t i, uint32_t parameter_count, const nl_type **types);
/* Calls a scalar function: nulls, constants (computed once), dictionaries (computed on the dictionary's values when
 * only one argument varies and the function is deterministic and cannot fail). */
NL_MUST_USE nl_status nl_function_call(const nl_bound_function *function, nl_eval *eval, const nl_vector *args,
                                       const nl_lambda *const *lambdas, nl_selection selection, uint32_t length, nl_vector *out);

/* Aggregates. A state is state_size bytes, 16-byte aligned, zeroed by the caller and then init-ed; what it points to is
 * paid from eval->memory and freed by destroy. states[i] belongs to the i-th selected row. */
typedef struct nl_aggregate_ops {
    uint32_t (*state_size)(const nl_bound_function *function);
    void (*init)(const nl_bound_function *function, void *state); /* or NULL: zeroes are the empty state */
    nl_status (*update)(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, void *const *states);
    /* The same into one state (no grouping, window frames). */
    nl_status (*update_one)(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, void *state);
    /* Partial results as a vector of function->partial_type: two-phase aggregation and spilling. */
    nl_status (*to_partial)(const nl_bound_function *function, nl_eval *eval, void *const *states, uint32_t count, nl_vector *out);
    nl_status (*merge_partial)(const nl_bound_function *function, nl_eval *eval, const nl_vector *partial, nl_selection selection, void *const *states);
    nl_status (*finish)(const nl_bound_function *function, nl_eval *eval, void *const *states, uint32_t count, nl_vector *out);
    void (*destroy)(const nl_bound_function *function, nl_eval *eval, void *state); /* or NULL */
    /* Takes rows out again (sliding frames); or NULL. */
    nl_status (*retract)(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, void *state);
    bool retracts_reals; /* exactly, too: values are kept, not summed up */
} nl_aggregate_ops;

/* Window partitions, sorted, one after the other: many are small. Arrays have row_count entries; peers and frames are
 * half-open row ranges within the row's partition. */
typedef struct nl_window_partitions {
    const nl_vector *args;       /* argument columns over all rows, any encoding */
    uint32_t row_count;
    uint32_t partition_count;
    const uint32_t *starts;      /* partition_count + 1: the first row of each, then row_count */
    const uint32_t *peer_start;  /* first row equal under ORDER BY */
    const uint32_t *peer_stop;
    const uint32_t *frame_start; /* NULL when the function ignores frames */
    const uint32_t *frame_stop;
} nl_window_partitions;
typedef struct nl_window_ops {
    bool needs_frame;
    nl_status (*evaluate)(const nl_bound_function *function, nl_eval *eval, const nl_window_partitions *all, nl_vector *out);
} nl_window_ops;

/* Generators: each selected input row gives zero or more output rows. parent_rows (an owned buffer of uint32_t) names
 * the input row of each output row, ascending; columns: one vector per field of result_type (a STRUCT). is_outer: a row
 * that gives nothing gives one row of nulls (LATERAL VIEW OUTER, explode_outer). */
typedef struct nl_generator_ops {
    nl_status (*generate)(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, bool is_outer,
                          nl_buffer **parent_rows, uint32_t *row_count, nl_vector *columns);
} nl_generator_ops;
