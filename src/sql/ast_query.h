/* sql/ast_query.h - queries: WITH, terms (SELECT, set operations, VALUES, pipes), relations. */
#pragma once

#include "sql/ast_expression.h"

typedef struct nl_relation nl_relation;
typedef struct nl_term nl_term;

typedef struct nl_cte {
    nl_ident name;
    nl_idents columns;
    nl_query *query;
    nl_range range;
} nl_cte;

typedef struct nl_ctes {
    nl_cte *items;
    uint32_t count;
    bool is_recursive;
} nl_ctes;

/* WINDOW name AS (…) */
typedef struct nl_named_window {
    nl_ident name;
    nl_window *window;
} nl_named_window;

typedef struct nl_named_windows {
    nl_named_window *items;
    uint32_t count;
} nl_named_windows;

/* ORDER BY, CLUSTER BY, DISTRIBUTE BY, SORT BY, WINDOW, LIMIT, OFFSET after a term, in this order. */
typedef struct nl_organization {
    nl_sort_items order_by;
    nl_exprs cluster_by;
    nl_exprs distribute_by;
    nl_sort_items sort_by;
    nl_named_windows windows;
    bool is_limit_all;
    nl_expr *limit;
    nl_expr *offset;
} nl_organization;

struct nl_query {
    nl_ctes ctes;
    nl_term *body;
    nl_organization organization;
    nl_range range;
};

/* ---- terms ----------------------------------------------------------------------------------------------------- */

typedef enum nl_term_kind {
    NL_TERM_SELECT,
    NL_TERM_SET_OPERATION,
    NL_TERM_VALUES,
    NL_TERM_TABLE,    /* TABLE t            */
    NL_TERM_SUBQUERY, /* (query)            */
    NL_TERM_PIPE      /* left |> operator   */
} nl_term_kind;

typedef enum nl_set_operator { NL_SET_UNION, NL_SET_EXCEPT, NL_SET_INTERSECT } nl_set_operator; /* MINUS is EXCEPT */

typedef enum nl_set_quantifier { NL_SET_UNSAID, NL_SET_ALL, NL_SET_DISTINCT } nl_set_quantifier;

typedef struct nl_hint { /* one of BROADCAST(t), COALESCE(3) … inside the hint comment */
    nl_ident name;
    nl_exprs args;
    bool has_parentheses;
    nl_range range;
} nl_hint;

typedef struct nl_hints { /* one hint comment */
    nl_hint *items;
    uint32_t count;
} nl_hints;

typedef enum nl_grouping_kind {
    NL_GROUP_EXPRESSION,
    NL_GROUP_ROLLUP, /* ROLLUP (sets)        */
    NL_GROUP_CUBE,   /* CUBE (sets)          */
    NL_GROUP_SETS,   /* GROUPING SETS (elements): elements are sets, ROLLUPs, CUBEs or GROUPING SETS */
    NL_GROUP_SET     /* one set: (a, b), () or a bare expression */
} nl_grouping_kind;

typedef struct nl_grouping nl_grouping;
typedef struct nl_groupings {
    nl_grouping **items;
    uint32_t count;
} nl_groupings;
struct nl_grouping {
    nl_grouping_kind kind;
    nl_expr *expr;         /* EXPRESSION                                                     */
    nl_exprs exprs;        /* SET                                                            */
    bool has_parentheses;  /* SET: (a), against a                                            */
    nl_groupings elements; /* ROLLUP, CUBE: of kind SET; SETS: any but EXPRESSION            */
    nl_range range;
};

/* GROUP BY items [WITH ROLLUP | WITH CUBE | GROUPING SETS (…)]; GROUP BY ALL is one column named ALL. */
typedef enum nl_group_suffix { NL_GROUP_PLAIN, NL_GROUP_WITH_ROLLUP, NL_GROUP_WITH_CUBE, NL_GROUP_WITH_SETS } nl_group_suffix;
typedef struct nl_group_by {
    nl_groupings items; /* all of kind EXPRESSION when there is a suffix (may be NL_EXPR_ALIAS then) */
    nl_group_suffix suffix;
    nl_groupings sets;  /* WITH_SETS: of kind SET */
    nl_range range;
} nl_group_by;

typedef struct nl_row_format {
    bool is_serde; /* ROW FORMAT SERDE serde [WITH SERDEPROPERTIES …]; else DELIMITED */
    nl_str serde;
    struct nl_properties *properties;
    /* DELIMITED; data NULL: absent */
    nl_str fields_terminated;
    nl_str fields_escaped;
    nl_str items_terminated;
    nl_str keys_terminated;
    nl_str lines_terminated;
    nl_str null_defined;
    nl_range range;
} nl_row_format;

/* SELECT TRANSFORM(…) USING 'script', MAP …, REDUCE … */
typedef struct nl_transform {
    enum { NL_TRANSFORM_SELECT, NL_TRANSFORM_MAP, NL_TRANSFORM_REDUCE } kind;
    nl_set_quantifier quantifier;
    nl_exprs inputs;
    nl_row_format *in_format;
    nl_str record_writer;
    nl_str script;
    bool has_as;
    bool has_as_parentheses;
    nl_idents names;        /* AS a, b           */
    nl_ast_fields columns;  /* AS (a int, b …)   */
    nl_row_format *out_format;
    nl_str record_reader;
} nl_transform;

typedef struct nl_select {
    nl_hints *hints; /* one per hint comment */
    uint32_t hint_count;
    nl_set_quantifier quantifier;
    nl_exprs items;          /* empty: FROM alone, every column (`FROM t`), or a transform                 */
    nl_transform *transform;
    nl_relation *from;       /* NULL: no FROM. `FROM t SELECT a` comes out like `SELECT a FROM t`          */
    nl_expr *where;
    nl_group_by *group_by;
    nl_expr *having;
    nl_named_windows windows;
} nl_select;

typedef enum nl_pipe_kind {
    NL_PIPE_SELECT,    /* select (items, hints, quantifier, windows)    */
    NL_PIPE_EXTEND,    /* exprs                                         */
    NL_PIPE_SET,       /* assignments                                   */
    NL_PIPE_DROP,      /* names                                         */
    NL_PIPE_AS,        /* alias                                         */
    NL_PIPE_WHERE,     /* condition (windows: WINDOW clause behind it)  */
    NL_PIPE_RELATION,  /* PIVOT, UNPIVOT, TABLESAMPLE, JOIN: relation, whose innermost left input is NL_RELATION_PIPE */
    NL_PIPE_SET_OPERATION, /* set_operator, quantifier, right           */
    NL_PIPE_ORGANIZE,  /* ORDER BY … LIMIT, OFFSET: organization        */
    NL_PIPE_AGGREGATE  /* exprs, group_by                               */
} nl_pipe_kind;

typedef struct nl_assignment {
    nl_name target;
    nl_expr *value;
    nl_range range;
} nl_assignment;

typedef struct nl_assignments {
    nl_assignment *items;
    uint32_t count;
} nl_assignments;

typedef struct nl_pipe {
    nl_pipe_kind kind;
    nl_term *left;
    nl_select *select;
    nl_exprs exprs;
    nl_assignments assignments;
    nl_idents names;
    nl_ident alias;
    nl_expr *condition;
    nl_named_windows windows;
    nl_relation *relation;
    nl_set_operator set_operator;
    nl_set_quantifier quantifier;
    nl_term *right;
    nl_organization organization;
    nl_group_by *group_by;
    nl_range operator_range;
} nl_pipe;

struct nl_term {
    nl_term_kind kind;
    nl_range range;
    union {
        nl_select *select;
        struct {
            nl_set_operator op;
            nl_set_quantifier quantifier;
            nl_term *left, *right;
        } set;
        nl_relation *values; /* of kind NL_RELATION_VALUES: VALUES may carry an alias */
        nl_name table;
        nl_query *query;
        nl_pipe *pipe;
    };
};

/* ---- relations ------------------------------------------------------------------------------------------------- */

typedef enum nl_relation_kind {
    NL_RELATION_TABLE,
    NL_RELATION_SUBQUERY,     /* (query)                                                         */
    NL_RELATION_PARENTHESES,  /* (relation), for its sample and alias                            */
    NL_RELATION_VALUES,
    NL_RELATION_FUNCTION,     /* table-valued function                                           */
    NL_RELATION_JOIN,         /* with ON, USING, NATURAL, LATERAL, or a comma                    */
    NL_RELATION_LATERAL_VIEW,
    NL_RELATION_PIVOT,
    NL_RELATION_UNPIVOT,
    NL_RELATION_PIPE          /* the table that comes in from the left of |>; only inside pipe operators */
} nl_relation_kind;

typedef enum nl_join_kind {
    NL_JOIN_INNER,
    NL_JOIN_CROSS,
    NL_JOIN_LEFT,
    NL_JOIN_RIGHT,
    NL_JOIN_FULL,
    NL_JOIN_LEFT_SEMI,
    NL_JOIN_LEFT_ANTI
} nl_join_kind;

typedef enum nl_sample_kind {
    NL_SAMPLE_EMPTY,   /* TABLESAMPLE (): always an error in Spark, raised by the parser */
    NL_SAMPLE_PERCENT, /* numbers[0], signed                                             */
    NL_SAMPLE_ROWS,    /* expr ROWS                                                      */
    NL_SAMPLE_BUCKET   /* BUCKET numbers[0] OUT OF numbers[1]                            */
} nl_sample_kind;

typedef struct nl_sample {
    nl_sample_kind kind;
    nl_str numbers[2]; /* as written */
    nl_expr *expr;
    bool has_seed;
    nl_str seed; /* REPEATABLE (digits) */
    nl_range range;
} nl_sample;

typedef struct nl_table_alias {
    nl_ident name; /* data NULL: none */
    nl_idents columns;
} nl_table_alias;

/* VERSION AS OF 3 | 'branch', TIMESTAMP AS OF expression, with FOR, SYSTEM_VERSION, SYSTEM_TIME as synonyms. */
typedef struct nl_time_travel {
    bool is_timestamp;
    nl_str version;      /* digits, or the string's content */
    bool is_string;
    nl_expr *timestamp;
    nl_range range;
} nl_time_travel;

typedef struct nl_pivot_value {
    nl_expr *value; /* one, or NL_EXPR_ROW for several columns */
    nl_ident name;
} nl_pivot_value;

typedef struct nl_unpivot_column { /* one element of IN (…): one column, or several for multi-value UNPIVOT */
    nl_names columns;
    nl_ident name;
    bool has_parentheses;
} nl_unpivot_column;

struct nl_relation {
    nl_relation_kind kind;
    bool is_lateral; /* LATERAL in front of the first relation, or of the right side of a comma or join */
    nl_range range;
    nl_sample *sample;     /* TABLE, SUBQUERY, PARENTHESES; of PIPE: |> TABLESAMPLE */
    nl_table_alias alias;  /* TABLE, SUBQUERY, PARENTHESES, VALUES, FUNCTION        */
    union {
        struct {
            nl_name name;
            nl_time_travel *time_travel;
            struct nl_properties *options; /* WITH (k = v) */
        } table;
        nl_query *query;
        nl_relation *inner; /* PARENTHESES */
        nl_exprs rows;      /* VALUES: each NL_EXPR_ROW, or a single expression (one column, or a struct to expand) */
        struct {
            nl_name name;
            nl_arguments args;
        } function;
        struct {
            nl_join_kind kind;
            bool is_comma;
            bool is_natural;
            nl_relation *left, *right;
            nl_expr *on;
            nl_idents using_columns;
        } join;
        struct {
            nl_relation *input; /* NULL: no FROM */
            bool is_outer;
            nl_name function;
            nl_exprs args;
            nl_ident table;
            nl_idents columns;
        } lateral_view;
        struct {
            nl_relation *input;
            nl_exprs aggregates; /* may be NL_EXPR_ALIAS */
            nl_idents columns;
            bool has_column_parentheses;
            nl_pivot_value *values;
            uint32_t value_count;
        } pivot;
        struct {
            nl_relation *input;
            bool has_nulls; /* INCLUDE or EXCLUDE NULLS was written */
            bool is_including_nulls;
            bool is_multi_value;
            nl_idents values; /* value columns */
            nl_ident name;
            nl_unpivot_column *columns;
            uint32_t column_count;
        } unpivot; /* its alias is relation.alias (name only) */
    };
};
