/* plan/expr.h - typed expressions: what the analyzer makes of AST expressions and exec compiles.
 *
 * Nodes live in the plan's arena and are immutable once made (rewrites make new nodes and share the rest). Columns are
 * referred to by identity (nl_column_id), not by position, so plan rewrites need no renumbering; exec maps ids to
 * positions when it compiles.
 */
#pragma once

#include "function/cast.h"
#include "function/function.h"
#include "function/python.h"

typedef uint32_t nl_column_id; /* unique within one plan; 0 is none */

typedef enum nl_expr_kind {
    NL_EXPR_LITERAL,     /* value                                                                */
    NL_EXPR_COLUMN,      /* column: an output of a child plan                                    */
    NL_EXPR_OUTER,       /* column of an enclosing query (correlation); gone after decorrelation */
    NL_EXPR_CALL,        /* function(children…)                                                  */
    NL_EXPR_CAST,        /* children[0] to type, cast_mode                                       */
    NL_EXPR_AND,         /* n-ary; evaluated left to right, later ones only where needed         */
    NL_EXPR_OR,
    NL_EXPR_NOT,
    NL_EXPR_IS_NULL,
    NL_EXPR_IS_NOT_NULL,
    NL_EXPR_CASE,        /* when, then, when, then … [, else]; branches are guarded              */
    NL_EXPR_COALESCE,    /* later ones only where the earlier are null                           */
    NL_EXPR_IN,          /* children[0] IN (children[1…]), SQL null semantics                    */
    NL_EXPR_FIELD,       /* children[0].field `ordinal` of a STRUCT                              */
    NL_EXPR_LAMBDA,      /* children[0] is the body; parameters                                  */
    NL_EXPR_PARAMETER,   /* a lambda's variable, by column id                                    */
    NL_EXPR_AGGREGATE,   /* call(children…) [FILTER filter]; only inside AGGREGATE nodes         */
    NL_EXPR_WINDOW,      /* call(children…) OVER window; only inside WINDOW nodes                */
    NL_EXPR_PYTHON,      /* python(children…), a value per row; gone after the optimizer (PYTHON nodes compute it)  */
    NL_EXPR_GROUPING,    /* bits of the grouping id; gone after analysis (becomes a call on the id column) */
    NL_EXPR_SUBQUERY     /* scalar, EXISTS, IN; after the optimizer only uncorrelated scalar ones, which exec runs first */
} nl_expr_kind;

typedef struct nl_expr nl_expr;
typedef struct nl_logical nl_logical;

/* Where in the statement's text an expression stands, for the query context of its errors. stop 0: nowhere. */
typedef struct nl_span {
    uint32_t start;
    uint32_t stop;
} nl_span;

typedef struct nl_sort_key {
    const nl_expr *expr;
    bool is_descending;
    bool nulls_first;
} nl_sort_key;

/* How the workers behind a sort share its rows: any of them any range; each one contiguous part; each those that it has
 * brought itself, sorted for themselves. */
typedef enum nl_sort_parts { NL_SORT_RANGES, NL_SORT_PART_PER_WORKER, NL_SORT_OWN_ROWS } nl_sort_parts;

typedef enum nl_frame_unit { NL_FRAME_ROWS, NL_FRAME_RANGE } nl_frame_unit;
typedef enum nl_bound_kind {
    NL_BOUND_UNBOUNDED_PRECEDING,
    NL_BOUND_PRECEDING,
    NL_BOUND_CURRENT_ROW,
    NL_BOUND_FOLLOWING,
    NL_BOUND_UNBOUNDED_FOLLOWING
} nl_bound_kind;
typedef struct nl_window_spec {
    const nl_expr *const *partition_by;
    uint32_t partition_count;
    const nl_sort_key *order_by;
    uint32_t order_count;
    nl_frame_unit unit;
    nl_bound_kind start_kind, stop_kind;
    const nl_expr *start_offset, *stop_offset; /* PRECEDING/FOLLOWING amounts, constant and not negative */
} nl_window_spec;

/* How Spark prints an expression: the names of unnamed columns and the "sqlExpr" of errors. A rope, rendered only when
 * it is asked for: each byte NL_PRETTY_PART of format stands for the next part. Implicit casts print as what they cast. */
#define NL_PRETTY_PART '\1'
typedef struct nl_pretty nl_pretty;
struct nl_pretty {
    nl_str format;
    const nl_pretty *const *parts;
    uint32_t part_count;
};

typedef enum nl_subquery_kind { NL_SUBQUERY_SCALAR, NL_SUBQUERY_EXISTS, NL_SUBQUERY_IN } nl_subquery_kind;

struct nl_expr {
    nl_expr_kind kind;
    const nl_type *type;
    bool is_nullable;
    nl_span span;
    const nl_pretty *pretty; /* set by the analyzer; NULL: derived from the node */
    uint32_t child_count;
    const nl_expr *const *children;
    union {
        nl_value value;                        /* LITERAL */
        struct {                               /* COLUMN, OUTER, PARAMETER */
            nl_column_id column;
            nl_str name;                       /* for display */
        };
        const nl_bound_function *function;     /* CALL */
        nl_cast_mode cast_mode;                /* CAST */
        uint32_t ordinal;                      /* FIELD */
        struct {                               /* LAMBDA */
            const nl_column_id *parameters;
            const nl_type *const *parameter_types;
            uint32_t parameter_count;
        };
        struct {                               /* AGGREGATE, WINDOW */
            const nl_bound_function *call;
            bool is_distinct;
            const nl_expr *filter;             /* or NULL */
            const nl_window_spec *window;      /* WINDOW */
        };
        const nl_python_use *python;           /* PYTHON; of an AGGREGATE or WINDOW: nl_python_aggregate() */
        struct {                               /* SUBQUERY */
            nl_subquery_kind subquery_kind;
            const nl_logical *plan;            /* children[]: the left side(s) of IN */
            bool is_negated;                   /* NOT IN, NOT EXISTS, kept together for null-aware anti joins */
        };
    };
};

static inline bool nl_span_equal(nl_span a, nl_span b)
{
    return a.start == b.start && a.stop == b.stop;
}

/* Makers; all allocate in the arena. Spans are inherited from the first argument that has one. */
nl_expr *nl_expr_new(nl_arena *arena, nl_expr_kind kind, const nl_type *type, const nl_expr *const *children, uint32_t child_count);
const nl_expr *nl_expr_literal(nl_arena *arena, const nl_value *value);
const nl_expr *nl_expr_boolean(nl_arena *arena, bool value);
const nl_expr *nl_expr_column(nl_arena *arena, nl_column_id column, nl_str name, const nl_type *type, bool is_nullable);
const nl_expr *nl_expr_call(nl_arena *arena, const nl_bound_function *function, const nl_expr *const *arguments, uint32_t count);
const nl_expr *nl_expr_cast(nl_arena *arena, const nl_expr *child, const nl_type *type, nl_cast_mode mode); /* child itself when equal */
const nl_expr *nl_expr_and(nl_arena *arena, const nl_expr *a, const nl_expr *b); /* flattens; NULL is "true" */
const nl_expr *nl_expr_or(nl_arena *arena, const nl_expr *a, const nl_expr *b);
const nl_expr *nl_expr_not(nl_arena *arena, const nl_expr *a);
const nl_expr *nl_expr_is_null(nl_arena *arena, const nl_expr *a, bool is_negated);
const nl_expr *nl_expr_outer(nl_arena *arena, const nl_expr *column);
const nl_expr *nl_expr_field(nl_arena *arena, const nl_expr *child, uint32_t ordinal);
const nl_expr *nl_expr_if(nl_arena *arena, const nl_expr *condition, const nl_expr *then, const nl_expr *otherwise); /* one type */
const nl_expr *nl_expr_coalesce(nl_arena *arena, const nl_expr *const *children, uint32_t count);                    /* one type */
/* A copy with another span, pretty text, nullability. */
const nl_expr *nl_expr_with_span(nl_arena *arena, const nl_expr *expr, nl_span span);
const nl_expr *nl_expr_with_pretty(nl_arena *arena, const nl_expr *expr, const nl_pretty *pretty);
/* Pretty texts: a plain one, and one with parts. */
const nl_pretty *nl_pretty_text(nl_arena *arena, nl_str text);
/* "name(\1, \1)" with count parts. */
nl_str nl_call_format(nl_arena *arena, nl_str name, uint32_t count);
const nl_pretty *nl_pretty_parts(nl_arena *arena, nl_str format, const nl_pretty *const *parts, uint32_t part_count);
const nl_pretty *nl_expr_pretty(nl_arena *arena, const nl_expr *expr);
nl_str nl_expr_pretty_str(nl_arena *arena, const nl_expr *expr);
/* A call by name with implicit casts; for rules that build expressions ("=", "<=>", "+" are functions of the registry too). */
NL_MUST_USE nl_status nl_expr_call_named(nl_arena *arena, const nl_eval_confs *confs, const char *name,
                                         const nl_expr *const *arguments, uint32_t count, const nl_expr **call);

/* A rewrite, bottom up: visit returns its argument or a replacement. */
typedef nl_status (*nl_expr_rewrite_fn)(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result);
NL_MUST_USE nl_status nl_expr_rewrite(nl_arena *arena, const nl_expr *expr, nl_expr_rewrite_fn visit, void *context, const nl_expr **result);
/* The node with its direct parts (children, filter, keys, window) replaced by visit's answers; for rewrites from the top. */
NL_MUST_USE nl_status nl_expr_map_parts(nl_arena *arena, const nl_expr *expr, nl_expr_rewrite_fn visit, void *context, const nl_expr **result);
/* Calls visit for every node, parents first; stops when visit returns false. Subquery plans are not entered. */
bool nl_expr_walk(const nl_expr *expr, bool (*visit)(void *context, const nl_expr *expr), void *context);
bool nl_expr_equal(const nl_expr *a, const nl_expr *b); /* structural; spans ignored */
bool nl_expr_same(const nl_expr *a, const nl_expr *b);  /* also when operands are in another order: b + a, b > a, IN (2, 1) */
/* The same in another plan, whose columns have ids of their own: what is meant by a column and by a subquery is asked. Functions
 * that are not deterministic count as the same when their arguments do. */
typedef struct nl_expr_matcher {
    bool (*columns)(void *context, nl_column_id a, nl_column_id b);
    bool (*plans)(void *context, const nl_logical *a, const nl_logical *b);
    void *context;
} nl_expr_matcher;
bool nl_expr_matches(const nl_expr *a, const nl_expr *b, const nl_expr_matcher *matcher);
bool nl_python_function_equal(const nl_python_function *a, const nl_python_function *b); /* each mention of a function has a copy of its own */
uint64_t nl_expr_same_hash(const nl_expr *expr);        /* equal for expressions that nl_expr_same takes for one */
bool nl_expr_is_constant(const nl_expr *expr);          /* no columns, parameters, subqueries, aggregates; deterministic */
bool nl_expr_is_deterministic(const nl_expr *expr);
bool nl_expr_can_fail(const nl_expr *expr);
bool nl_expr_has(const nl_expr *expr, nl_expr_kind kind); /* itself included; subquery plans are not entered */
void nl_expr_columns(nl_arena *arena, const nl_expr *expr, nl_list *ids); /* distinct ids, each as (void *)(uintptr_t)id */
/* Expressions to be found again in constant time, in the sense of nl_expr_same. Zeroed is empty. */
#define NL_EXPR_SET_NONE UINT32_MAX
typedef struct nl_expr_set {
    nl_list exprs;    /* const nl_expr *, in the order in which they were added     */
    uint64_t *hashes; /* of exprs; room for slot_count                              */
    uint32_t *slots;  /* open addressing: index in exprs + 1; slot_count a power of 2 */
    uint32_t slot_count;
    bool is_exact;    /* found in the sense of nl_expr_equal; set before the first is added */
} nl_expr_set;
uint32_t nl_expr_set_find(const nl_expr_set *set, const nl_expr *expr); /* the index, or NL_EXPR_SET_NONE */
void nl_expr_set_add(nl_arena *arena, nl_expr_set *set, const nl_expr *expr);
/* Splits a conjunction; adds each conjunct (const nl_expr *) to the list. */
void nl_expr_conjuncts(nl_arena *arena, const nl_expr *expr, nl_list *conjuncts);
/* Text as Spark's EXPLAIN prints it ("(a#1 > 5)"). */
void nl_expr_append_text(const nl_expr *expr, nl_builder *out);
