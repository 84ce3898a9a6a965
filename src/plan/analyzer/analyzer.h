/* plan/analyzer/analyzer.h - what the analyzer's files share. Private to src/plan.
 *
 * One pass: a query is resolved from its FROM upwards. A scope says which names an expression can see; an environment
 * says which text it stands in, which CTEs are known and which namespace a view gives to unqualified tables.
 */
#pragma once

#include "plan/plan.h"
#include "sql/ast.h"
#include "sql/parser.h"

#define NL_VIEW_DEPTH_MAX 100u /* spark.sql.view.maxNestedViewDepth */
#define NL_TEXT_BYTES_MAX (16u << 20)

/* A WITH entry: analyzed once; each use is a CTE_REF until the query that declares it is complete. */
typedef struct nl_an_cte {
    struct nl_an_cte *next; /* the one declared before, then those of enclosing queries */
    nl_str name;
    uint32_t id;
    const nl_logical *definition; /* NULL while a recursive one is being declared */
    uint32_t use_count;
} nl_an_cte;

/* The functions written in SQL whose bodies enclose this place: none may call itself. */
typedef struct nl_active_function {
    const struct nl_active_function *outer;
    nl_str full_name;
} nl_active_function;

typedef struct nl_env {
    nl_plan_context *context;
    nl_str text;                   /* of the statement, or of the view being expanded */
    const nl_str *namespace_parts; /* a view's namespace; NULL: the session's         */
    uint32_t namespace_count;
    nl_str collation;              /* a view's DEFAULT COLLATION; or empty            */
    nl_an_cte *ctes;
    const struct nl_env *outer_ctes; /* spark.sql.legacy.ctePrecedencePolicy=LEGACY: whose definitions win over ctes; or NULL */
    bool is_definition;             /* a WITH entry's query or a subquery in an expression begins here */
    bool is_foreign;                /* LEGACY: inside one: what an own WITH defines gives way to ctes  */
    uint32_t view_depth;
    const nl_eval_confs *confs;     /* of a function that was made under others; NULL: the statement's */
    const nl_active_function *functions;
    const nl_logical *pipe_input;  /* what NL_AST_RELATION_PIPE stands for */
} nl_env;

typedef struct nl_column_set {
    const nl_column *columns;
    uint32_t count;
} nl_column_set;

/* One element of a SELECT list, after stars are expanded. */
typedef struct nl_item {
    const nl_ast_expr *ast; /* NULL: came from a star */
    const nl_expr *expr;    /* NULL: output `generated` of the list's generator */
    nl_str name;
    nl_column_id id;        /* of its output column */
    nl_str comment;
    nl_str metadata;
    const nl_str *qualifier;
    uint32_t qualifier_count;
    bool has_alias;
    bool is_plain;          /* just a column of the input, whose id it keeps */
    bool is_generated;
    uint32_t level;         /* lateral aliases: 1 + the highest level of the items it names; else 0 */
} nl_item;

typedef struct nl_items {
    nl_item *list;
    uint32_t count, capacity;
} nl_items;

/* A generator of the SELECT list: becomes a GENERATE node below the projection. */
typedef struct nl_select_generator {
    const nl_bound_function *function;
    const nl_expr *const *arguments;
    uint32_t argument_count;
    bool is_outer;
    const nl_column *columns;
    uint32_t column_count;
} nl_select_generator;

/* The window() or session_window() of a SELECT: a column beside those of its input. */
typedef struct nl_time_window {
    bool is_set;
    bool is_session;
    const nl_expr *written_time;
    const nl_expr *time;            /* TIMESTAMP or TIMESTAMP_NTZ */
    int64_t length, slide, start;   /* microseconds */
    const nl_expr *gap;             /* session_window: INTERVAL */
    nl_column column;
} nl_time_window;

typedef struct nl_lambda_frame {
    const struct nl_lambda_frame *outer;
    const nl_ast_idents *names;
    const nl_column_id *ids;
    const nl_type *const *types;
    const bool *nullable;
} nl_lambda_frame;

typedef enum nl_clause {
    NL_CLAUSE_SELECT,
    NL_CLAUSE_WHERE,
    NL_CLAUSE_JOIN,
    NL_CLAUSE_GROUP_BY,
    NL_CLAUSE_HAVING,
    NL_CLAUSE_ORDER_BY,
    NL_CLAUSE_VALUES,
    NL_CLAUSE_LIMIT,
    NL_CLAUSE_GENERATOR, /* of a LATERAL VIEW */
    NL_CLAUSE_OTHER
} nl_clause;

/* The parameters of a function written in SQL, with what a call gives them. */
typedef struct nl_parameters {
    nl_str function;
    const nl_str *names;
    const nl_expr *const *values;
    uint32_t count;
    bool is_relation; /* a table function: its body is a query beside the caller's FROM, not inside an expression */
} nl_parameters;

#define NL_SCOPE_SETS 3

/* What an expression can see. Sets are tried in order, then lateral aliases, then the enclosing scope. */
typedef struct nl_scope nl_scope;
struct nl_scope {
    nl_env *env;
    nl_scope *outer;                  /* the enclosing query's; NULL at the top */
    nl_column_set sets[NL_SCOPE_SETS];
    uint32_t set_count;
    bool has_left_out;                /* the last set: columns below a DataFrame's projection, found by name alone */
    nl_clause clause;
    nl_items *aliases;                /* items that may be referred to by name: lateral aliases, GROUP BY aliases */
    nl_list *outer_aggregates;        /* HAVING: const nl_expr * OUTER with the aggregates of subqueries over this SELECT's columns; or NULL */
    bool are_aliases_inlined;         /* GROUP BY: a reference becomes the item's expression */
    nl_str misplaced_alias;           /* out: a lateral alias inside an aggregate or window function */
    uint32_t level;                   /* out: highest level of the lateral aliases met, plus one; 0: none */
    const nl_lambda_frame *lambda;
    const nl_parameters *parameters; /* of the SQL function whose body this is; or NULL */
    const nl_ast_named_windows *windows;
    const nl_ast_named_windows *more_windows; /* of the query's organization */
    uint32_t aggregate_depth;         /* inside an aggregate function's arguments */
    uint32_t window_depth;
    nl_time_window *time_window;      /* of the SELECT; NULL: window() has no place here */
    nl_select_generator *generators;  /* where a top-level generator of a SELECT list goes */
    uint32_t depth;
};

static inline nl_arena *nl_scope_arena(const nl_scope *scope)
{
    return scope->env->context->arena;
}
static inline const nl_eval_confs *nl_env_confs(const nl_env *env)
{
    return env->confs ? env->confs : env->context->confs;
}
static inline const nl_eval_confs *nl_scope_confs(const nl_scope *scope)
{
    return nl_env_confs(scope->env);
}
static inline nl_cast_mode nl_scope_cast_mode(const nl_scope *scope)
{
    return nl_env_confs(scope->env)->is_ansi ? NL_CAST_ANSI : NL_CAST_LEGACY;
}
static inline nl_span nl_span_of(nl_ast_range range)
{
    return (nl_span){range.start, range.stop};
}

/* Has the session's setting this value? Without a session the default counts (setting.c). */
bool nl_env_is_set(const nl_env *env, const char *key, const char *value);

/* ---- texts (text.c) ---- */
/* A span as a place: its line from 1 and its position in the line from 0, in characters, counted in the text. */
nl_ast_range nl_place_of(nl_str text, nl_span span);
nl_str nl_quote_name(nl_arena *arena, nl_str name);                                /* `a`           */
nl_str nl_quote_names(nl_arena *arena, const nl_str *parts, uint32_t part_count);  /* `a`.`b`       */
nl_str nl_quote_expr(nl_arena *arena, const nl_expr *expr);                        /* "(a + 1)"     */
nl_str nl_quote_type(nl_arena *arena, const nl_type *type);                        /* "INT"         */
nl_str nl_join_texts(nl_arena *arena, const nl_str *texts, uint32_t count, const char *separator);
nl_str nl_column_full_name(nl_arena *arena, const nl_column *column);              /* `t`.`a`       */
nl_str nl_attribute_text(nl_arena *arena, const nl_expr *expr, const nl_scope *scope); /* "sum(t.a)": not pretty */
const char *nl_position_word(uint32_t i);                                          /* "first" …     */

/* ---- names (name.c, suggest.c) ---- */
bool nl_names_equal(const nl_scope *scope, nl_str a, nl_str b);
NL_MUST_USE nl_status nl_resolve_name(nl_scope *scope, const nl_str *parts, uint32_t part_count, nl_ast_range range, const nl_expr **result);
/* *found NULL when there is no such column; ambiguity is an error. matched_parts: how many parts name the column. */
NL_MUST_USE nl_status nl_find_column(const nl_scope *scope, nl_column_set set, const nl_str *parts, uint32_t part_count,
                                     const nl_column **found, uint32_t *matched_parts);
NL_MUST_USE nl_status nl_extract_field(nl_scope *scope, const nl_expr *base, nl_str field, const nl_expr **result);
NL_MUST_USE nl_status nl_raise_unresolved(const nl_scope *scope, const nl_str *parts, uint32_t part_count);
NL_MUST_USE nl_status nl_raise_alias_in_group_by(void);
/* A name's parts, IDENTIFIER(…) evaluated. */
NL_MUST_USE nl_status nl_name_parts(nl_scope *scope, const nl_ast_name *name, const nl_str **parts, uint32_t *part_count);

/* ---- expressions (expression.c and friends) ---- */
NL_MUST_USE nl_status nl_resolve_expr(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result);
NL_MUST_USE nl_status nl_resolve_exprs(nl_scope *scope, const nl_ast_exprs *list, const nl_expr *const **result);
NL_MUST_USE nl_status nl_resolve_literal(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result);
NL_MUST_USE nl_status nl_make_literal(nl_scope *scope, const nl_value *value, nl_span span, const nl_expr **result);
nl_str nl_literal_sql(nl_scope *scope, const nl_value *value); /* as Spark writes it in SQL: strings quoted */
NL_MUST_USE nl_status nl_resolve_struct(nl_scope *scope, const nl_ast_expr *const *fields, uint32_t count, bool is_row,
                                        const nl_expr **result);
/* The values of (a, b) in front of IN, not made into a struct. */
NL_MUST_USE nl_status nl_resolve_row(nl_scope *scope, const nl_ast_exprs *row, const nl_expr *const **cells, const nl_pretty **pretty);
NL_MUST_USE nl_status nl_resolve_call(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result);
/* What Spark's checks ask: a function in Python is deterministic unless it was declared not to be. */
bool nl_is_declared_deterministic(const nl_expr *expr);
NL_MUST_USE nl_status nl_analyze_python_table(nl_scope *scope, const nl_ast_arguments *written, const nl_python_function *function, const nl_logical **plan);
NL_MUST_USE nl_status nl_resolve_python_call(nl_scope *scope, const nl_ast_expr *ast, const nl_python_function *function, const nl_expr **result);
/* The plan of a view's query as the columns that the view has (view_columns.c). */
NL_MUST_USE nl_status nl_shape_view(nl_env *env, const nl_resolved_relation *found, const nl_logical *body, nl_ast_range range, const nl_logical **plan);
/* INTERVAL '…', INTERVAL 1 DAY 2 HOURS, INTERVAL '1-2' YEAR TO MONTH (interval_literal.c). */
NL_MUST_USE nl_status nl_interval_literal_value(nl_scope *scope, const nl_ast_expr *ast, nl_value *value);
/* A format with the texts of two expressions in it. */
const nl_pretty *nl_pretty_two(nl_arena *arena, nl_str format, const nl_expr *a, const nl_expr *b);
/* + and - with dates, timestamps and intervals (date_arithmetic.c); *result NULL: they are as those of any other types. */
NL_MUST_USE nl_status nl_resolve_date_arithmetic(nl_scope *scope, nl_ast_binary_op op, const nl_expr *left, const nl_expr *right, const nl_expr **result);
bool nl_is_date_time(const nl_type *type);
bool nl_is_interval(const nl_type *type);
bool nl_is_small_integer(const nl_type *type); /* INT and narrower */
NL_MUST_USE nl_status nl_resolve_cast(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result);
NL_MUST_USE nl_status nl_make_cast(nl_scope *scope, const nl_expr *input, const nl_type *type, nl_cast_mode mode, const nl_expr **result);
/* The same by a function of the type's name: INT(x). Titles and errors show what is cast, only. */
NL_MUST_USE nl_status nl_make_cast_call(nl_scope *scope, const nl_expr *input, const nl_type *type, const nl_expr **result);
/* Conditional forms. exprs have different types still; *is_special false: not one of these names. */
NL_MUST_USE nl_status nl_special_call(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, bool *is_special,
                                      const nl_expr **result);
NL_MUST_USE nl_status nl_make_case(nl_scope *scope, const nl_expr *const *parts, uint32_t count, const nl_pretty *pretty,
                                   const nl_expr **result);
/* A call of a scalar function by name, arguments cast; pretty set as Spark prints the call. */
NL_MUST_USE nl_status nl_call_function(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const nl_expr **result);
/* The same, collations left as they are. */
NL_MUST_USE nl_status nl_call_bound(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const nl_expr **result);
/* Calls over strings with a collation (collation.c). *is_done false: none has one. */
NL_MUST_USE nl_status nl_collate_call(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, bool *is_done, const nl_expr **result);
/* Functions of Spark's that belong to packages which are not there: from_avro, to_protobuf … */
bool nl_is_missing_function(nl_str name);
nl_status nl_raise_missing_function(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count);
/* The same of functions over arrays of such strings (collation_array.c). */
NL_MUST_USE nl_status nl_collate_array_call(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, bool *is_done, const nl_expr **result);
/* CHAR and VARCHAR (char_type.c): strings in queries. A column of such a type made a string that says in its metadata what
 * it is; a scan's columns all; what it is in the table. */
const nl_type *nl_without_lengths(nl_arena *arena, const nl_type *type);
void nl_hide_length(nl_arena *arena, const nl_type *type, nl_column *column);
NL_MUST_USE nl_status nl_hide_lengths(nl_env *env, const nl_logical *scan, const nl_logical **plan);
/* Operands of a comparison: CHAR columns and literals beside them are filled up with blanks to one length. */
NL_MUST_USE nl_status nl_pad_operands(nl_scope *scope, const nl_expr **operands, uint32_t count);
/* Strings brought to one collation. */
NL_MUST_USE nl_status nl_collate_same(nl_scope *scope, nl_str name, const nl_expr **args, uint32_t count);
/* Values of which one is the result: the collations of columns may differ, the result's is then indeterminate. */
NL_MUST_USE nl_status nl_collate_values(nl_scope *scope, nl_str name, const nl_expr **values, uint32_t count);
/* Operands of IN and the like, brought to one collation and replaced by their keys. */
NL_MUST_USE nl_status nl_collate_operands(nl_scope *scope, nl_str name, const nl_expr **args, uint32_t count);
NL_MUST_USE nl_status nl_collate_aggregate(nl_scope *scope, nl_str *name, const nl_expr ***args, uint32_t *count, bool is_distinct);
typedef struct nl_bind_flags {
    bool is_distinct, ignore_nulls;
} nl_bind_flags;
/* from_json, from_csv with their schemas as text; checks the options of to_json and its kin. */
NL_MUST_USE nl_status nl_special_text_call(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count,
                                           bool *is_special, const nl_expr **result);
/* window, session_window (time_window.c). */
bool nl_is_time_window(nl_str name);
NL_MUST_USE nl_status nl_resolve_time_window(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const nl_expr **result);
/* Arguments by name in the order of the parameters, defaults filled in; others as they are (named_arguments.c). */
NL_MUST_USE nl_status nl_positional_arguments(nl_scope *scope, nl_str function, const nl_ast_arguments *given, nl_ast_arguments *ordered);
/* UNRESOLVED_ROUTINE */
NL_MUST_USE nl_status nl_raise_unknown_function(nl_scope *scope, nl_str name);
NL_MUST_USE nl_status nl_raise_unknown_name(nl_scope *scope, nl_str quoted); /* the same of a name of several parts: "`a`.`b`" */
/* The same for any kind of function: binds, casts the arguments, does not make a node. cast: count entries, out. */
NL_MUST_USE nl_status nl_bind_function(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, nl_bind_flags flags,
                                       const nl_bound_function **bound, const nl_expr **cast);
/* An aggregate call with its WITHIN GROUP order (within_group.c). */
typedef struct nl_ordered_call {
    nl_str name;
    const nl_expr **args;
    uint32_t arg_count;
    const nl_sort_key *keys;
    uint32_t key_count;
    bool is_distinct;
} nl_ordered_call;
/* Clauses after the call that the function does not take: DISTINCT, WITHIN GROUP, FILTER, IGNORE NULLS. */
NL_MUST_USE nl_status nl_check_call_syntax(const nl_scope *scope, nl_str name, const nl_ast_call *call, bool takes_filter, bool takes_distinct);
NL_MUST_USE nl_status nl_check_within_group(const nl_scope *scope, const nl_ordered_call *call);
NL_MUST_USE nl_status nl_check_window_order(nl_scope *scope, const nl_ordered_call *call, const nl_window_spec *spec);
const nl_pretty *nl_ordered_call_pretty(nl_scope *scope, const nl_ordered_call *call); /* DISTINCT and the order included */
/* The order becomes arguments; args and arg_count are replaced. */
NL_MUST_USE nl_status nl_order_to_arguments(nl_scope *scope, nl_ordered_call *call);
const nl_pretty *nl_pretty_call(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count);
NL_MUST_USE nl_status nl_resolve_window(nl_scope *scope, const nl_ast_expr *ast, const nl_expr *call, const nl_expr **result);
/* The frame of OVER (…), checked (frame.c); spec has its keys already. */
NL_MUST_USE nl_status nl_resolve_frame(nl_scope *scope, const nl_ast_window *window, const nl_expr *call, nl_window_spec *spec);
/* Fails where a column of this type cannot be sorted by. */
NL_MUST_USE nl_status nl_check_orderable(nl_scope *scope, const nl_ast_sort_item *item, const nl_expr *expr);
NL_MUST_USE nl_status nl_normalize_frame(nl_scope *scope, nl_window_spec *spec);
NL_MUST_USE nl_status nl_resolve_sort_items(nl_scope *scope, const nl_ast_sort_items *items, const nl_sort_key **keys);
NL_MUST_USE nl_status nl_resolve_lambda_call(nl_scope *scope, const nl_ast_expr *ast, nl_str name, const nl_expr **result);
NL_MUST_USE nl_status nl_resolve_subquery(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result);
/* A boolean condition: FILTER_NOT_BOOLEAN otherwise; aggregates, windows and generators refused. */
NL_MUST_USE nl_status nl_resolve_condition(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result);
NL_MUST_USE nl_status nl_check_where(const nl_scope *scope, const nl_expr *condition); /* INVALID_WHERE_CONDITION: it aggregates */
/* A foldable expression's value; *value NULL when it is not foldable. */
NL_MUST_USE nl_status nl_fold(nl_scope *scope, const nl_expr *expr, const nl_value **value);
NL_MUST_USE nl_status nl_parameter_value(nl_scope *scope, const nl_ast_expr *ast, const nl_value **value);
bool nl_is_table_generator(nl_str name); /* variant_explode: only in FROM */
NL_MUST_USE nl_status nl_make_generator(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count,
                                        nl_select_generator *generator);
const nl_logical *nl_generator_plan(nl_arena *arena, const nl_select_generator *generator, const nl_logical *child);
/* The columns of enclosing queries that the plan mentions (const nl_expr *, one per column). */
void nl_plan_outer_columns(nl_arena *arena, const nl_logical *plan, nl_list *found);

/* Does one of them hold a string where the other holds something else? */
bool nl_types_mix_strings(const nl_type *a, const nl_type *b);
/* A cast; of a literal that fits, a literal of the type: long IN lists and VALUES are not folded one by one later. */
const nl_expr *nl_cast_constant(nl_scope *scope, const nl_expr *expr, const nl_type *type);
/* The common type without making strings into other types, as VALUES and UNPIVOT want it; NULL: there is none. */
const nl_type *nl_common_type_plain(nl_scope *scope, const nl_type *a, const nl_type *b);

/* catalog.system.bucket(n, x) and the like; *result NULL: not one of them. */
NL_MUST_USE nl_status nl_resolve_iceberg_call(nl_scope *scope, const nl_ast_expr *ast, const nl_str *parts, uint32_t part_count,
                                              const nl_expr **result);

/* ---- columns of enclosing queries (correlation.c) ---- */
/* An aggregate of a subquery of HAVING over columns of HAVING's own SELECT: computed there, known to the subquery as column `id`. */
typedef struct nl_outer_aggregate {
    nl_column_id id;
    const nl_expr *expr;
    const nl_column *column; /* of the aggregation, once it is known */
} nl_outer_aggregate;
/* Aggregates over outer columns alone become outer columns where the scope around takes them; ones over both are refused. */
NL_MUST_USE nl_status nl_settle_outer_aggregate(nl_scope *scope, const nl_expr **aggregate);
/* Notes expr, an output named alias (data NULL: none), when it mentions an outer column; nl_misplaced_raise refuses what was noted. */
void nl_misplaced_add(nl_arena *arena, nl_list *misplaced, const nl_expr *expr, nl_str alias);
bool nl_window_has_outer(const nl_expr *expr); /* a window function in it has a bare outer column */
NL_MUST_USE nl_status nl_misplaced_raise(nl_arena *arena, const nl_list *misplaced);
NL_MUST_USE nl_status nl_check_lateral(nl_env *env, const nl_logical *left, const nl_logical *right, const nl_expr *condition);
NL_MUST_USE nl_status nl_check_join_subqueries(nl_env *env, const nl_logical *left, const nl_logical *right, const nl_expr *condition);
/* The subquery with the outer columns from[i] replaced by to[i]. */
NL_MUST_USE nl_status nl_map_outer_columns(nl_arena *arena, const nl_expr *subquery, const nl_column_id *from, const nl_column *const *to, uint32_t count,
                                           const nl_expr **result);

/* ---- functions written in SQL (sql_function.c) ---- */
NL_MUST_USE nl_status nl_find_sql_function(nl_scope *scope, const nl_str *parts, uint32_t part_count, nl_sql_function *found);
NL_MUST_USE nl_status nl_resolve_sql_call(nl_scope *scope, const nl_ast_expr *ast, const nl_sql_function *found, const nl_str *parts,
                                          uint32_t part_count, const nl_expr **result);
NL_MUST_USE nl_status nl_analyze_sql_table_function(nl_scope *scope, const nl_ast_relation *relation, const nl_sql_function *found,
                                                    const nl_str *parts, uint32_t part_count, const nl_logical **plan);
/* A parameter by name, or f.name; *result NULL: there is none. *used: how many parts of the name it took. */
NL_MUST_USE nl_status nl_find_parameter(nl_scope *scope, const nl_str *parts, uint32_t part_count, uint32_t *used, const nl_expr **result);

/* ---- SELECT (items.c, group.c, select.c, order.c) ---- */
void nl_items_add(nl_arena *arena, nl_items *items, nl_item item);
NL_MUST_USE nl_status nl_resolve_items(nl_scope *scope, const nl_ast_exprs *list, nl_items *items, nl_list *generators);
/* Columns that a star stands for, as expressions with names, added to items. */
NL_MUST_USE nl_status nl_expand_star(nl_scope *scope, const nl_ast_expr *star, nl_items *items);
nl_str nl_item_name(nl_scope *scope, const nl_ast_expr *ast, const nl_expr *expr);
const nl_column *nl_items_columns(nl_arena *arena, const nl_items *items);

typedef struct nl_grouping {
    const nl_expr *const *keys;
    uint32_t key_count;
    const uint64_t *sets; /* NULL: plain GROUP BY */
    uint32_t set_count;
    bool is_grouped;      /* a GROUP BY was written */
} nl_grouping;
/* has_star: the list has a star, so that ordinals have no meaning. */
NL_MUST_USE nl_status nl_resolve_group_by(nl_scope *scope, const nl_ast_group_by *group_by, nl_items *items, bool has_star, nl_grouping *grouping);

/* An aggregation being built: expressions over the input are rewritten to ones over its outputs. */
typedef struct nl_aggregation {
    nl_scope *scope;
    nl_grouping grouping;
    nl_column *key_columns;
    nl_expr_set keys;          /* those of grouping */
    nl_expr_set aggregates;
    nl_list aggregate_columns; /* nl_column *     */
    const nl_list *outer_aggregates; /* nl_outer_aggregate *: those of HAVING's subqueries; or NULL */
    nl_column_id grouping_id;
    nl_column_set input;
} nl_aggregation;
void nl_aggregation_start(nl_aggregation *aggregation, nl_scope *scope, const nl_grouping *grouping, nl_column_set input);
NL_MUST_USE nl_status nl_aggregation_rewrite(nl_aggregation *aggregation, const nl_expr *expr, const nl_expr **result);
const nl_logical *nl_aggregation_plan(nl_aggregation *aggregation, const nl_logical *child);

/* Windows: takes WINDOW expressions out of expr and puts columns in their place. */
typedef struct nl_windows {
    nl_plan_context *context;
    nl_expr_set set; /* exact            */
    nl_list columns; /* nl_column *      */
    nl_list levels;  /* uint32_t as pointers: 0, or one more than the highest level inside */
} nl_windows;
NL_MUST_USE nl_status nl_windows_extract(nl_windows *windows, const nl_expr *expr, const nl_expr **result);
const nl_logical *nl_windows_plan(nl_windows *windows, const nl_logical *child);
/* The column of the SELECT's window() or session_window(), if any, beside those of *plan (time_window.c). */
NL_MUST_USE nl_status nl_time_window_plan(nl_scope *scope, const nl_grouping *grouping, const nl_logical **plan);

NL_MUST_USE nl_status nl_analyze_select(nl_env *env, nl_scope *outer, const nl_ast_term *term, const nl_ast_select *select,
                                        const nl_ast_organization *organization, const nl_logical **plan);
/* ORDER BY, LIMIT … over a finished plan (set operations, VALUES, subqueries). */
NL_MUST_USE nl_status nl_apply_organization(nl_scope *scope, const nl_ast_organization *organization, const nl_logical *child,
                                            const nl_logical **plan);
/* Keys of ORDER BY: ordinals, ALL; output: what ordinals count. */
NL_MUST_USE nl_status nl_resolve_order_by(nl_scope *scope, const nl_ast_sort_items *items, nl_column_set output, nl_sort_key **keys,
                                          uint32_t *key_count);
NL_MUST_USE nl_status nl_apply_limit(nl_scope *scope, const nl_ast_organization *organization, const nl_logical *child,
                                     const nl_logical **plan);
bool nl_organization_sorts(const nl_ast_organization *organization);

/* ---- queries and relations ---- */
NL_MUST_USE nl_status nl_analyze_query_in(nl_env *env, nl_scope *outer, const nl_ast_query *query, const nl_logical **plan);
NL_MUST_USE nl_status nl_analyze_term(nl_env *env, nl_scope *outer, const nl_ast_term *term, const nl_ast_organization *organization,
                                      const nl_logical **plan);
NL_MUST_USE nl_status nl_analyze_relation(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan);
NL_MUST_USE nl_status nl_analyze_join(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan);
NL_MUST_USE nl_status nl_analyze_table(nl_env *env, nl_scope *outer, const nl_ast_name *name, const nl_ast_time_travel *travel,
                                       nl_ast_range range, const nl_logical **plan);
NL_MUST_USE nl_status nl_analyze_values(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan);
NL_MUST_USE nl_status nl_analyze_table_function(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan);
NL_MUST_USE nl_status nl_analyze_lateral_view(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan);
NL_MUST_USE nl_status nl_analyze_pivot(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan);
NL_MUST_USE nl_status nl_analyze_unpivot(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan);
NL_MUST_USE nl_status nl_analyze_pipe(nl_env *env, nl_scope *outer, const nl_ast_pipe *pipe, const nl_logical **plan);
NL_MUST_USE nl_status nl_analyze_set(nl_env *env, nl_scope *outer, const nl_ast_term *term, const nl_logical **plan);
NL_MUST_USE nl_status nl_make_set(nl_env *env, nl_ast_range range, nl_ast_set_operator op, nl_ast_set_quantifier quantifier,
                                  const nl_logical *left, const nl_logical *right, const nl_logical **plan);
/* Rows with maps or variants cannot be compared: DISTINCT and set operations refuse them. */
NL_MUST_USE nl_status nl_check_distinct_types(nl_plan_context *context, const nl_column *columns, uint32_t count);
NL_MUST_USE nl_status nl_analyze_sample(nl_env *env, const nl_ast_sample *sample, const nl_logical *child, const nl_logical **plan);
/* WITH: *inner is env with the definitions; afterwards nl_finish_ctes inlines the ones used once. */
NL_MUST_USE nl_status nl_declare_ctes(nl_env *env, nl_scope *outer, const nl_ast_ctes *ctes, nl_env *inner);
/* The same for an expression: every use in its subqueries gets the definition. */
NL_MUST_USE nl_status nl_place_ctes(nl_env *env, const nl_env *inner, const nl_expr *expr, const nl_expr **result);
NL_MUST_USE nl_status nl_finish_ctes(nl_env *env, const nl_env *inner, const nl_logical *body, const nl_logical **plan);
/* The plan under another qualifier, perhaps with its columns renamed. name.data NULL: renames only. */
NL_MUST_USE nl_status nl_alias_plan(nl_env *env, const nl_logical *child, const nl_str *qualifier, uint32_t qualifier_count,
                                    const nl_ast_idents *columns, nl_ast_range range, const nl_logical **plan);
/* Casts the plan's columns to types; a projection only where something changes. */
NL_MUST_USE nl_status nl_cast_columns(nl_env *env, const nl_logical *child, const nl_type *const *types, const nl_logical **plan);
/* A copy of the plan in which every column it makes has a new id; outer references stay. new_columns: as plan->columns. */
NL_MUST_USE nl_status nl_plan_fresh(nl_plan_context *context, const nl_logical *plan, const nl_logical **fresh);

/* ---- DataFrames (dataframe*.c) ---- */
/* The outputs of terms that have a plan_id, for columns that name one. Terms are numbered in the order in which they are
 * complete; `first`: how many there were when this one's analysis began, so that the ones inside it are known. */
uint32_t nl_terms_count(const nl_env *env);
void nl_terms_add(nl_env *env, int64_t plan_id, uint32_t first, const nl_logical *plan);
/* A column with a plan_id; by its name alone where that term's column is no longer there. CANNOT_RESOLVE_DATAFRAME_COLUMN. */
NL_MUST_USE nl_status nl_resolve_term_column(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result);
bool nl_term_has_column(const nl_scope *scope, int64_t plan_id, nl_column_id id);
/* Which columns' whole names match a regular expression; is_match: one per column. */
NL_MUST_USE nl_status nl_column_pattern(nl_scope *scope, nl_str pattern, nl_column_set set, bool *is_match);
NL_MUST_USE nl_status nl_apply_dataframe(nl_env *env, nl_scope *outer, const nl_ast_dataframe *dataframe, const nl_logical **plan);
/* groupBy(…).agg(…).sort(…): the order may have aggregates of its own. */
NL_MUST_USE nl_status nl_apply_sorted_aggregate(nl_env *env, nl_scope *outer, const nl_ast_dataframe *dataframe, const nl_ast_dataframe *sort,
                                                const nl_logical **plan);
/* A struct with a field put in or taken out. */
NL_MUST_USE nl_status nl_resolve_update_field(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result);
NL_MUST_USE nl_status nl_analyze_text_query(nl_env *env, nl_scope *outer, const nl_ast_text_query *query, const nl_logical **plan);

void nl_scope_over(nl_scope *scope, nl_env *env, nl_scope *outer, const nl_logical *plan, nl_clause clause);
