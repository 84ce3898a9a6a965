/* plan/plan.h - from AST to an optimized logical plan. */
#pragma once

#include "plan/logical.h"
#include "sql/ast.h"

struct nl_ast_query; /* sql/ast.h */
struct nl_ast_expr;
struct nl_ast_files;

typedef struct nl_time_travel {
    bool is_version, is_timestamp;
    nl_value version;         /* STRING or BIGINT */
    int64_t timestamp_micros;
    const nl_property *options; /* of the reader, keys of any case: snapshot-id, branch, start-snapshot-id … */
    uint32_t option_count;
} nl_time_travel;

/* What find_relation answers: a table, a view's query, or a ready plan. */
typedef struct nl_resolved_relation {
    const nl_table *table;            /* counted reference for the plan                                     */
    const struct nl_ast_query *view;  /* a view's parsed query, to be analyzed in the view's own scope       */
    nl_str view_text;                 /* its text, for contexts                                              */
    const nl_str *view_namespace;     /* catalog and namespace that unqualified names in it belong to        */
    uint32_t view_namespace_count;
    const nl_field *view_columns;     /* names (and types to cast to) of a stored view; or NULL              */
    uint32_t view_column_count;
    const nl_str *view_query_columns; /* what the view's query called them when it was made; NULL: they are taken in order */
    nl_str view_collation;            /* of its literals and casts (DEFAULT COLLATION); empty: UTF8_BINARY      */
    nl_ast_schema_binding view_binding; /* what becomes of columns that have changed below */
    const nl_logical *plan;           /* a temp view made from a DataFrame plan                              */
    const nl_str *name;               /* the full name: qualifier of its columns                             */
    uint32_t name_count;
} nl_resolved_relation;

/* What find_function answers: a function written in SQL. */
typedef struct nl_sql_function {
    const struct nl_ast_create_function *function; /* NULL: there is none of that name, or `python` is it */
    const nl_python_function *python;              /* or one of spark.udf.register */
    nl_str text;                                   /* its statement, for contexts      */
    nl_str full_name;
    bool is_temporary;
    bool is_ansi;                                  /* how its body runs                */
    const nl_str *namespace_parts;                 /* catalog and namespace of unqualified names in it */
    uint32_t namespace_count;
} nl_sql_function;

/* What the analyzer asks of the outside (session, catalogs, files); command fills it in. */
typedef struct nl_resolver nl_resolver;
struct nl_resolver {
    /* TABLE_OR_VIEW_NOT_FOUND when there is none. Also answers format.`path`. in_namespace: a view's scope, or NULL for
     * the session's current one. */
    nl_status (*find_relation)(nl_resolver *self, const nl_str *parts, uint32_t part_count, const nl_time_travel *travel,
                               const nl_str *in_namespace, uint32_t in_namespace_count, nl_arena *arena, nl_resolved_relation *found);
    /* Session variables (DECLARE); *is_found false when there is none. */
    /* shown: its whole name, of a script's one too. */
    nl_status (*find_variable)(nl_resolver *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_value *value, nl_str *shown, bool *is_found);
    /* Functions of CREATE FUNCTION; may be NULL. in_namespace as in find_relation. */
    nl_status (*find_function)(nl_resolver *self, const nl_str *parts, uint32_t part_count, const nl_str *in_namespace, uint32_t in_namespace_count,
                               nl_arena *arena, nl_sql_function *found);
    /* A view whose schema evolves was found to have these columns; query_columns: what its query calls them. May be NULL. */
    nl_status (*note_view)(nl_resolver *self, const nl_resolved_relation *view, const nl_field *columns, const nl_str *query_columns, uint32_t count);
    /* Files that a DataFrame reads; may be NULL. */
    nl_status (*find_files)(nl_resolver *self, const struct nl_ast_files *files, nl_arena *arena, nl_resolved_relation *found);
    /* The first rows of a plan, run now: for DataFrame operators whose columns depend on the data. values: of row 0, row 1 …;
     * at most row_max. May be NULL. */
    nl_status (*run)(nl_resolver *self, const nl_logical *plan, uint32_t row_max, nl_arena *arena, const nl_value **values, uint32_t *row_count);
};

typedef struct nl_plan_context {
    nl_arena *arena;
    const nl_eval_confs *confs;
    nl_resolver *resolver;
    nl_str text;                     /* the statement */
    nl_column_id next_column_id;     /* starts at 1 */
    nl_str collation;               /* of literals and casts of the view that is being made; else empty */
    bool is_case_sensitive;          /* spark.sql.caseSensitive */
    const nl_value *parameters;      /* `?` and `:name`; or NULL */
    const nl_str *parameter_names;   /* data NULL: a positional one; NULL: all are */
    uint32_t parameter_count;
    const struct nl_ast_ctes *ctes;  /* WITH of a DELETE, UPDATE, MERGE: for its conditions and assignments; or NULL */
    uint32_t depth;
    /* Constant evaluation: exec's nl_expr_evaluate (plan cannot include exec). */
    nl_status (*evaluate)(nl_arena *arena, const nl_expr *expr, const nl_eval_confs *confs, nl_str text, nl_value *value);
    struct nl_terms *terms;          /* outputs of DataFrames by their plan_id (analyzer/dataframe_column.c); starts as NULL */
    struct nl_estimates *estimates;  /* of joins, once computed (optimizer/estimate.c); starts as NULL */
    nl_list definitions;             /* of CTEs as the rules left them (optimizer/ctes.c); starts empty */
    uint64_t disabled_rules;         /* optimizer rules turned off, for tests; bits in optimizer order */
} nl_plan_context;

static inline nl_column_id nl_plan_new_id(nl_plan_context *context)
{
    return context->next_column_id++;
}

/* A query: resolved, typed, with Spark's column names. Errors are Spark's analysis errors with their query context. */
NL_MUST_USE nl_status nl_analyze_query(nl_plan_context *context, const struct nl_ast_query *query, const nl_logical **plan);
/* One expression over given columns (DELETE/UPDATE/MERGE conditions and assignments, procedure arguments). */
NL_MUST_USE nl_status nl_analyze_expr(nl_plan_context *context, const struct nl_ast_expr *expr, const nl_column *columns,
                                      uint32_t column_count, const nl_expr **result);
/* A function being made: its defaults and its body analyzed over its parameters. *body: of a scalar function with an expression
 * as body; else NULL. */
NL_MUST_USE nl_status nl_analyze_sql_function(nl_plan_context *context, const nl_sql_function *function, const nl_column *parameters, const nl_expr **body);
/* The analyzed expression with constants folded and conditions in their shortest form, for what decides by its form. */
NL_MUST_USE nl_status nl_simplify_expr(nl_plan_context *context, const nl_expr *expr, const nl_expr **result);
/* The same for a condition: BOOLEAN, or DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN. */
NL_MUST_USE nl_status nl_analyze_condition(nl_plan_context *context, const struct nl_ast_expr *expr, const nl_column *columns,
                                           uint32_t column_count, const nl_expr **result);
/* A constant: analyzed and evaluated; non-foldable ones fail as in Spark. */
NL_MUST_USE nl_status nl_analyze_constant(nl_plan_context *context, const struct nl_ast_expr *expr, nl_value *value);
/* A scan of the table with all its columns (metadata columns hidden), names qualified. */
const nl_logical *nl_plan_scan(nl_plan_context *context, const nl_table *table, const nl_str *name, uint32_t name_count);
/* A query's output cast and reordered for storing as row_type: store assignment by position or by name, Spark's errors. */
/* Of writes into a table that is there: spark.sql.storeAssignmentPolicy=LEGACY is none of tables in catalogs of Iceberg, and not built for
 * those over plain files. */
NL_MUST_USE nl_status nl_plan_check_store(nl_plan_context *context, bool is_plain);
NL_MUST_USE nl_status nl_plan_store(nl_plan_context *context, const nl_logical *query, const nl_type *row_type, nl_str table_name,
                                    bool is_by_name, const nl_logical **plan);
/* The hidden column by which DataFrames tell a row's partition (repartition, coalesce, spark.range with a number): this name and the
 * number of partitions, 0 where the program gave none. */
#define NL_PARTITION_COLUMN "__partition_of_"
#define NL_PLACE_COLUMN     "__place_in_partition" /* beside it, where it is known */
/* The analyzed plan with that column behind its own ones; false: it has none, or rows come together in between. */
bool nl_plan_carry_partition(nl_plan_context *context, const nl_logical *plan, const nl_logical **carrying, uint32_t *part_count);
double nl_estimated_rows(nl_plan_context *context, const nl_logical *plan); /* of an optimized plan; a guess */
/* All rewrites in their fixed order; the result is what exec runs. */
NL_MUST_USE nl_status nl_optimize(nl_plan_context *context, const nl_logical *plan, const nl_logical **optimized);
/* Names like `parts` among the columns, best first, at most five: "`a`, `b`"; empty when there are none. */
nl_str nl_suggest_names(nl_arena *arena, const nl_str *parts, uint32_t part_count, const nl_column *columns, uint32_t count);
