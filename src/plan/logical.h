/* plan/logical.h - the logical plan: what analyzer and Spark Connect make, the optimizer rewrites and exec runs.
 *
 * Nodes live in the plan's arena, immutable once made. Every node lists its output columns; ids are unique within the
 * plan, so two uses of one table have different ids.
 */
#pragma once

#include "plan/expr.h"
#include "plan/table.h"

typedef enum nl_logical_kind {
    NL_PLAN_SCAN,       /* a table or files                                                          */
    NL_PLAN_VALUES,     /* rows of expressions; one row of no columns: SELECT without FROM           */
    NL_PLAN_RANGE,      /* range(start, end, step)                                                   */
    NL_PLAN_PROJECT,    /* columns[i] = exprs[i]; an expr that is just a column may keep that column's id */
    NL_PLAN_FILTER,
    NL_PLAN_AGGREGATE,  /* columns: keys, aggregates, then the grouping id when grouping_sets is set */
    NL_PLAN_JOIN,       /* columns: left's then right's (SEMI/ANTI: left's; MARK: left's and a boolean). After the
                         * optimizer the right side is the smaller one where the kind leaves a choice: build from it  */
    NL_PLAN_SORT,
    NL_PLAN_LIMIT,      /* and OFFSET; directly over SORT: top-N                                     */
    NL_PLAN_SET,        /* after the optimizer only UNION ALL; children's columns match by position  */
    NL_PLAN_DISTINCT,   /* all columns                                                               */
    NL_PLAN_WINDOW,     /* child's columns, then one per window expression; all of one partition/order */
    NL_PLAN_GENERATE,   /* child's columns, then the generator's                                     */
    NL_PLAN_SAMPLE,
    NL_PLAN_ALIAS,      /* qualifies names; removed by the optimizer                                 */
    NL_PLAN_CTE,        /* children[0] is the query, definition the subplan it uses more than once   */
    NL_PLAN_CTE_REF,    /* one use                                                                   */
    NL_PLAN_EMPTY,      /* no rows                                                                   */
    NL_PLAN_PYTHON,     /* functions in Python over the child's rows, in worker processes: see nl_python_shape */
    NL_PLAN_OBSERVE,    /* passes its rows; aggregates over them are told beside the result (observe()): nothing is moved past it */
    NL_PLAN_SINGLE_ROW  /* SCALAR_SUBQUERY_TOO_MANY_ROWS when a second row comes; one row of nulls when none does */
} nl_logical_kind;

typedef enum nl_join_kind {
    NL_JOIN_INNER,
    NL_JOIN_LEFT,
    NL_JOIN_RIGHT,
    NL_JOIN_FULL,
    NL_JOIN_CROSS,
    NL_JOIN_SEMI,            /* left rows with a match    */
    NL_JOIN_ANTI,            /* left rows without a match */
    NL_JOIN_NULL_AWARE_ANTI, /* NOT IN: no left row when the right has a null key; null left keys pass only if right is empty */
    NL_JOIN_MARK             /* left rows plus a boolean: EXISTS (true/false) or, with is_null_aware, IN (null possible) */
} nl_join_kind;

typedef enum nl_set_kind { NL_SET_UNION_ALL, NL_SET_UNION, NL_SET_INTERSECT, NL_SET_INTERSECT_ALL, NL_SET_EXCEPT, NL_SET_EXCEPT_ALL } nl_set_kind;

typedef enum nl_python_shape {
    NL_PYTHON_ADD,      /* columns: the child's, then one per call                                                         */
    NL_PYTHON_MAP,      /* one call with rows of its own, fed with all the arguments                                       */
    NL_PYTHON_GROUP,    /* one call with rows of its own per group; the child is sorted by the first key_count arguments   */
    NL_PYTHON_COGROUP,  /* the same; after the keys: which side (0, 1), the left's arguments, the right's                  */
    NL_PYTHON_AGGREGATE, /* columns: the keys, then one per call; sorted as GROUP's child is                               */
    NL_PYTHON_WINDOW,   /* columns: the child's, then one per call; sorted by keys, then by the order                      */
    NL_PYTHON_EXPLODE   /* columns: the child's, then those of the rows that one row gives                                 */
} nl_python_shape;

/* chain[0](…) on the arguments at `offsets`, chain[1] on its result … */
typedef struct nl_python_call {
    const nl_python_function *const *chain;
    uint32_t chain_count;
    const uint32_t *offsets;
    const nl_str *names; /* as in nl_python_use */
    uint32_t offset_count;
    bool is_bounded;     /* WINDOW: the first two arguments say where the frame begins and ends in the partition */
} nl_python_call;

typedef struct nl_column {
    nl_column_id id;
    nl_str name;
    const nl_type *type;
    bool is_nullable;
    bool is_hidden;          /* metadata columns (_file, _pos …): found by name, not by * */
    bool is_qualified_only;  /* the other side's key of a USING join: found as t.k and by t.*, else hidden */
    const nl_str *qualifier; /* parts: catalog, namespace…, table or alias; for name resolution */
    uint32_t qualifier_count;
    nl_str comment;
    nl_str metadata;         /* of a DataFrame: JSON; empty: none */
} nl_column;

struct nl_logical {
    nl_logical_kind kind;
    const nl_column *columns; /* outputs */
    uint32_t column_count;
    const nl_logical *const *children;
    uint32_t child_count;
    nl_span span;
    union {
        struct {                             /* SCAN */
            const nl_table *table;
            const uint32_t *table_columns;   /* columns[i] is field table_columns[i] of row_type, or of metadata_type from row_type->child_count on */
            const nl_expr *filter;           /* conjunction over columns; the scan applies it wholly; or NULL */
            int64_t limit;                   /* -1: none; a hint: more rows than this are not needed */
        } scan;
        struct {                             /* VALUES */
            const nl_expr *const *const *rows;
            uint32_t row_count;
        } values;
        struct {                             /* RANGE */
            int64_t start, stop, step;
        } range;
        struct {                             /* PROJECT */
            const nl_expr *const *exprs;
        } project;
        struct {                             /* FILTER */
            const nl_expr *condition;
        } filter;
        struct {                             /* AGGREGATE */
            const nl_expr *const *keys;
            uint32_t key_count;
            const nl_expr *const *aggregates; /* NL_EXPR_AGGREGATE nodes */
            uint32_t aggregate_count;
            const uint64_t *grouping_sets;   /* bit i (LSB): key i is in the set; NULL: one set of all keys */
            bool is_deduplication;           /* dropDuplicates: over streams only the first row of its keys ever comes out */
            bool is_within_watermark;        /* … and keys are forgotten when the watermark has passed them               */
            uint32_t grouping_set_count;     /* the grouping id output is BIGINT in Spark's bit order: first key most significant, 1 = absent */
        } aggregate;
        struct {                             /* JOIN: children[0] left, children[1] right */
            nl_join_kind kind;
            const nl_expr *condition;        /* or NULL: true */
            bool is_lateral;                 /* the right side has OUTER references to the left; gone after decorrelation */
            bool is_null_aware;              /* MARK */
            bool builds_left;                /* SEMI, ANTI: the left side is the smaller one; exec builds from it */
            bool is_single;                  /* LEFT: a second match of a left row is SCALAR_SUBQUERY_TOO_MANY_ROWS */
        } join;
        struct {                             /* SORT */
            const nl_sort_key *keys;
            uint32_t key_count;
            bool is_global;                  /* false: SORT BY */
            nl_sort_parts parts;             /* of a write */
            uint32_t partition_count;        /* PART_PER_WORKER: rows that are equal in so many first keys stay together */
        } sort;
        struct {                             /* LIMIT */
            int64_t limit;                   /* -1: none */
            int64_t offset;
        } limit;
        struct {                             /* SET */
            nl_set_kind kind;
        } set;
        struct {                             /* WINDOW */
            const nl_expr *const *exprs;     /* NL_EXPR_WINDOW, same partition and order */
            uint32_t expr_count;
        } window;
        struct {                             /* GENERATE */
            const nl_bound_function *generator;
            const nl_expr *const *arguments;
            uint32_t argument_count;
            bool is_outer;
        } generate;
        struct {                             /* SAMPLE */
            double lower, upper;             /* rows whose random number lies in [lower, upper) */
            int64_t seed;
            bool with_replacement;           /* each row as often as a Poisson number of mean upper - lower says */
        } sample;
        struct {                             /* OBSERVE */
            nl_str name;
            int64_t plan_id;                 /* the client's */
            const nl_expr *const *calls;     /* NL_EXPR_AGGREGATE nodes over the child's columns: those of `grouped` */
            uint32_t call_count;
            const nl_logical *metrics;       /* PROJECT over grouped: names and expressions of the metrics; never run */
            const nl_logical *grouped;       /* AGGREGATE without keys */
        } observe;
        struct {                             /* PYTHON */
            nl_python_shape shape;
            int32_t eval;                    /* nl_python_eval */
            const nl_expr *const *arguments; /* over the child's columns */
            uint32_t argument_count;
            const nl_str *argument_names;    /* what MAP and GROUP show to the function; NULL: nothing */
            uint32_t key_count;
            uint32_t left_count;             /* COGROUP: arguments of the left side */
            const nl_python_call *calls;
            uint32_t call_count;
        } python;
        struct {                             /* CTE, CTE_REF */
            uint32_t id;
            const nl_logical *definition;    /* CTE_REF's columns match its columns by position */
        } cte;
    };
};

/* A zeroed node with its children copied into the arena; the caller fills the rest before anyone else sees it. */
nl_logical *nl_logical_new(nl_arena *arena, nl_logical_kind kind, const nl_logical *const *children, uint32_t child_count);
nl_logical *nl_logical_copy(nl_arena *arena, const nl_logical *plan); /* of this node only; children are shared */
/* plan itself when the children are the ones it has. */
const nl_logical *nl_logical_with_children(nl_arena *arena, const nl_logical *plan, const nl_logical *const *children);

/* Makers. Arrays are taken as they are: they must lie in the arena. */
const nl_logical *nl_logical_filter(nl_arena *arena, const nl_logical *child, const nl_expr *condition); /* NULL: child */
const nl_logical *nl_logical_project(nl_arena *arena, const nl_logical *child, const nl_column *columns,
                                     const nl_expr *const *exprs, uint32_t count);
/* A projection to some of the child's columns. */
const nl_logical *nl_logical_keep(nl_arena *arena, const nl_logical *child, const nl_column *columns, uint32_t count);
/* Every kind but MARK; columns that the kind makes nullable are marked so. */
const nl_logical *nl_logical_join(nl_arena *arena, nl_join_kind kind, const nl_logical *left, const nl_logical *right,
                                  const nl_expr *condition);
const nl_logical *nl_logical_sort(nl_arena *arena, const nl_logical *child, const nl_sort_key *keys, uint32_t count,
                                  bool is_global);
const nl_logical *nl_logical_limit(nl_arena *arena, const nl_logical *child, int64_t limit, int64_t offset);
/* A node of a kind without parts of its own (DISTINCT, ALIAS, SINGLE_ROW), with the child's columns. */
const nl_logical *nl_logical_over(nl_arena *arena, nl_logical_kind kind, const nl_logical *child);
const nl_logical *nl_logical_empty(nl_arena *arena, const nl_logical *like); /* the columns of `like`, no rows */
const nl_logical *nl_logical_one_row(nl_arena *arena);                       /* one row of no columns         */
const nl_expr *nl_column_ref(nl_arena *arena, const nl_column *column);
const nl_column *nl_logical_find_column(const nl_logical *plan, nl_column_id id); /* NULL when there is none */

/* A rewrite, bottom up: visit sees a node whose children are rewritten already and returns it or a replacement. Plans
 * of subquery expressions are not entered. */
typedef nl_status (*nl_logical_rewrite_fn)(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_logical_rewrite(nl_arena *arena, const nl_logical *plan, nl_logical_rewrite_fn visit, void *context,
                                         const nl_logical **result);
/* The node with each of its own expressions (not its children's) replaced by visit's answer. */
NL_MUST_USE nl_status nl_logical_rewrite_exprs(nl_arena *arena, const nl_logical *plan, nl_expr_rewrite_fn visit, void *context,
                                               const nl_logical **result);
/* Calls visit for each expression of the node itself; stops when it returns false. */
bool nl_logical_walk_exprs(const nl_logical *plan, bool (*visit)(void *context, const nl_expr *expr), void *context);
/* Do two plans of different statements give the same rows in the same columns, whatever these are called? Names that qualify count
 * for nothing, expressions are compared as by nl_expr_same, tables by their ops. */
bool nl_logical_same(const nl_logical *a, const nl_logical *b);
bool nl_logical_same_subquery(const nl_logical *a, const nl_logical *b); /* of one query: outer columns are what they are */
uint64_t nl_logical_same_hash(const nl_logical *plan); /* equal for plans that are the same */
/* Indented text, one node a line, as EXPLAIN prints: "+- Filter (id#0L > 5)". */
void nl_logical_append_text(const nl_logical *plan, nl_builder *out);
/* The same; annotate adds to the end of each node's line (EXPLAIN ANALYZE). */
typedef void (*nl_plan_annotate_fn)(void *context, const nl_logical *node, nl_builder *out);
void nl_logical_append_annotated(const nl_logical *plan, nl_plan_annotate_fn annotate, void *context, nl_builder *out);
