/* sql/ast_query.h - queries: WITH, terms (SELECT, set operations, VALUES, pipes), relations. */
#pragma once

#include "sql/ast_expression.h"

typedef struct nl_ast_relation nl_ast_relation;
typedef struct nl_ast_term nl_ast_term;

typedef struct nl_ast_cte {
    nl_ast_ident name;
    nl_ast_idents columns;
    nl_ast_query *query;
    nl_ast_range range;
} nl_ast_cte;

typedef struct nl_ast_ctes {
    nl_ast_cte *items;
    uint32_t count;
    bool is_recursive;
} nl_ast_ctes;

/* WINDOW name AS (…) */
typedef struct nl_ast_named_window {
    nl_ast_ident name;
    nl_ast_window *window;
} nl_ast_named_window;

typedef struct nl_ast_named_windows {
    nl_ast_named_window *items;
    uint32_t count;
} nl_ast_named_windows;

/* ORDER BY, CLUSTER BY, DISTRIBUTE BY, SORT BY, WINDOW, LIMIT, OFFSET after a term, in this order. */
typedef struct nl_ast_organization {
    nl_ast_sort_items order_by;
    nl_ast_exprs cluster_by;
    nl_ast_exprs distribute_by;
    nl_ast_sort_items sort_by;
    nl_ast_named_windows windows;
    bool is_limit_all;
    nl_ast_expr *limit;
    nl_ast_expr *offset;
} nl_ast_organization;

struct nl_ast_query {
    nl_ast_ctes ctes;
    nl_ast_term *body;
    nl_ast_organization organization;
    nl_ast_range range;
};

/* ---- terms ----------------------------------------------------------------------------------------------------- */

typedef enum nl_ast_term_kind {
    NL_AST_TERM_SELECT,
    NL_AST_TERM_SET_OPERATION,
    NL_AST_TERM_VALUES,
    NL_AST_TERM_TABLE,    /* TABLE t            */
    NL_AST_TERM_SUBQUERY, /* (query)            */
    NL_AST_TERM_PIPE,     /* left |> operator   */
    NL_AST_TERM_RELATION, /* of a DataFrame: the rows of `values`, hidden columns kept */
    NL_AST_TERM_TEXT      /* of a DataFrame: a query with a text of its own            */
} nl_ast_term_kind;

typedef enum nl_ast_set_operator { NL_AST_SET_UNION, NL_AST_SET_EXCEPT, NL_AST_SET_INTERSECT } nl_ast_set_operator; /* MINUS is EXCEPT */

typedef enum nl_ast_set_quantifier { NL_AST_SET_UNSAID, NL_AST_SET_ALL, NL_AST_SET_DISTINCT } nl_ast_set_quantifier;

typedef struct nl_ast_hint { /* one of BROADCAST(t), COALESCE(3) … inside the hint comment */
    nl_ast_ident name;
    nl_ast_exprs args;
    bool has_parentheses;
    nl_ast_range range;
} nl_ast_hint;

typedef struct nl_ast_hints { /* one hint comment */
    nl_ast_hint *items;
    uint32_t count;
} nl_ast_hints;

typedef enum nl_ast_grouping_kind {
    NL_AST_GROUP_EXPRESSION,
    NL_AST_GROUP_ROLLUP, /* ROLLUP (sets)        */
    NL_AST_GROUP_CUBE,   /* CUBE (sets)          */
    NL_AST_GROUP_SETS,   /* GROUPING SETS (elements): elements are sets, ROLLUPs, CUBEs or GROUPING SETS */
    NL_AST_GROUP_SET     /* one set: (a, b), () or a bare expression */
} nl_ast_grouping_kind;

typedef struct nl_ast_grouping nl_ast_grouping;
typedef struct nl_ast_groupings {
    nl_ast_grouping **items;
    uint32_t count;
} nl_ast_groupings;
struct nl_ast_grouping {
    nl_ast_grouping_kind kind;
    nl_ast_expr *expr;         /* EXPRESSION                                                     */
    nl_ast_exprs exprs;        /* SET                                                            */
    bool has_parentheses;  /* SET: (a), against a                                            */
    nl_ast_groupings elements; /* ROLLUP, CUBE: of kind SET; SETS: any but EXPRESSION            */
    nl_ast_range range;
};

/* GROUP BY items [WITH ROLLUP | WITH CUBE | GROUPING SETS (…)]; GROUP BY ALL is one column named ALL. */
typedef enum nl_ast_group_suffix { NL_AST_GROUP_PLAIN, NL_AST_GROUP_WITH_ROLLUP, NL_AST_GROUP_WITH_CUBE, NL_AST_GROUP_WITH_SETS } nl_ast_group_suffix;
typedef struct nl_ast_group_by {
    nl_ast_groupings items; /* all of kind EXPRESSION when there is a suffix (may be NL_AST_EXPR_ALIAS then) */
    nl_ast_group_suffix suffix;
    nl_ast_groupings sets;  /* WITH_SETS: of kind SET */
    nl_ast_range range;
} nl_ast_group_by;

typedef struct nl_ast_row_format {
    bool is_serde; /* ROW FORMAT SERDE serde [WITH SERDEPROPERTIES …]; else DELIMITED */
    nl_str serde;
    struct nl_ast_properties *properties;
    /* DELIMITED; data NULL: absent */
    nl_str fields_terminated;
    nl_str fields_escaped;
    nl_str items_terminated;
    nl_str keys_terminated;
    nl_str lines_terminated;
    nl_str null_defined;
    nl_ast_range range;
} nl_ast_row_format;

/* SELECT TRANSFORM(…) USING 'script', MAP …, REDUCE … */
typedef struct nl_ast_transform {
    enum { NL_AST_TRANSFORM_SELECT, NL_AST_TRANSFORM_MAP, NL_AST_TRANSFORM_REDUCE } kind;
    nl_ast_set_quantifier quantifier;
    nl_ast_exprs inputs;
    nl_ast_row_format *in_format;
    nl_str record_writer;
    nl_str script;
    bool has_as;
    bool has_as_parentheses;
    nl_ast_idents names;        /* AS a, b           */
    nl_ast_fields columns;  /* AS (a int, b …)   */
    nl_ast_row_format *out_format;
    nl_str record_reader;
} nl_ast_transform;

typedef struct nl_ast_select {
    nl_ast_hints *hints; /* one per hint comment */
    uint32_t hint_count;
    nl_ast_set_quantifier quantifier;
    nl_ast_exprs items;          /* empty: FROM alone, every column (`FROM t`), or a transform                 */
    bool is_with_columns;        /* of a DataFrame: items stand beside all columns, or in the place of those of their names */
    nl_ast_transform *transform;
    nl_ast_relation *from;       /* NULL: no FROM. `FROM t SELECT a` comes out like `SELECT a FROM t`          */
    nl_ast_expr *where;
    nl_ast_group_by *group_by;
    nl_ast_expr *having;
    nl_ast_named_windows windows;
} nl_ast_select;

typedef enum nl_ast_pipe_kind {
    NL_AST_PIPE_SELECT,    /* select (items, hints, quantifier, windows)    */
    NL_AST_PIPE_EXTEND,    /* exprs                                         */
    NL_AST_PIPE_SET,       /* assignments                                   */
    NL_AST_PIPE_DROP,      /* names                                         */
    NL_AST_PIPE_AS,        /* alias                                         */
    NL_AST_PIPE_WHERE,     /* condition (windows: WINDOW clause behind it)  */
    NL_AST_PIPE_RELATION,  /* PIVOT, UNPIVOT, TABLESAMPLE, JOIN: relation, whose innermost left input is NL_AST_RELATION_PIPE */
    NL_AST_PIPE_SET_OPERATION, /* set_operator, quantifier, right           */
    NL_AST_PIPE_ORGANIZE,  /* ORDER BY … LIMIT, OFFSET: organization        */
    NL_AST_PIPE_AGGREGATE, /* exprs, group_by                               */
    NL_AST_PIPE_DATAFRAME  /* dataframe: an operator that SQL does not have */
} nl_ast_pipe_kind;

typedef struct nl_ast_assignment {
    nl_ast_name target;
    nl_ast_expr *value;
    nl_ast_range range;
} nl_ast_assignment;

typedef struct nl_ast_assignments {
    nl_ast_assignment *items;
    uint32_t count;
} nl_ast_assignments;

typedef struct nl_ast_pipe {
    nl_ast_pipe_kind kind;
    nl_ast_term *left;
    nl_ast_select *select;
    nl_ast_exprs exprs;
    nl_ast_assignments assignments;
    nl_ast_idents names;
    nl_ast_ident alias;
    nl_ast_expr *condition;
    nl_ast_named_windows windows;
    nl_ast_relation *relation;
    nl_ast_set_operator set_operator;
    nl_ast_set_quantifier quantifier;
    nl_ast_term *right;
    nl_ast_organization organization;
    nl_ast_group_by *group_by;
    nl_ast_range operator_range;
    const struct nl_ast_dataframe *dataframe; /* sql/ast_dataframe.h */
    bool has_plan_id; /* of a DataFrame */
    int64_t plan_id;
} nl_ast_pipe;

struct nl_ast_term {
    nl_ast_term_kind kind;
    nl_ast_range range;
    bool has_plan_id; /* of a DataFrame; of PIPE it stands in the pipe */
    int64_t plan_id;
    union {
        nl_ast_select *select;
        struct {
            nl_ast_set_operator op;
            nl_ast_set_quantifier quantifier;
            nl_ast_term *left, *right;
        } set;
        nl_ast_relation *values; /* of kind NL_AST_RELATION_VALUES: VALUES may carry an alias; RELATION: of any kind */
        const struct nl_ast_text_query *text_query;
        nl_ast_name table;
        nl_ast_query *query;
        nl_ast_pipe *pipe;
    };
};

/* ---- relations ------------------------------------------------------------------------------------------------- */

typedef enum nl_ast_relation_kind {
    NL_AST_RELATION_TABLE,
    NL_AST_RELATION_SUBQUERY,     /* (query)                                                         */
    NL_AST_RELATION_PARENTHESES,  /* (relation), for its sample and alias                            */
    NL_AST_RELATION_VALUES,
    NL_AST_RELATION_FUNCTION,     /* table-valued function                                           */
    NL_AST_RELATION_JOIN,         /* with ON, USING, NATURAL, LATERAL, or a comma                    */
    NL_AST_RELATION_LATERAL_VIEW,
    NL_AST_RELATION_PIVOT,
    NL_AST_RELATION_UNPIVOT,
    NL_AST_RELATION_PIPE,         /* the table that comes in from the left of |>; only inside pipe operators */
    NL_AST_RELATION_TERM,         /* of a DataFrame: term                                            */
    NL_AST_RELATION_SOURCE,       /* of a DataFrame: source, its columns unqualified                 */
    NL_AST_RELATION_FILES         /* of a DataFrame: files                                           */
} nl_ast_relation_kind;

typedef enum nl_ast_join_kind {
    NL_AST_JOIN_INNER,
    NL_AST_JOIN_CROSS,
    NL_AST_JOIN_LEFT,
    NL_AST_JOIN_RIGHT,
    NL_AST_JOIN_FULL,
    NL_AST_JOIN_LEFT_SEMI,
    NL_AST_JOIN_LEFT_ANTI
} nl_ast_join_kind;

typedef enum nl_ast_sample_kind {
    NL_AST_SAMPLE_EMPTY,   /* TABLESAMPLE (): always an error in Spark, raised by the parser */
    NL_AST_SAMPLE_PERCENT, /* numbers[0], signed                                             */
    NL_AST_SAMPLE_ROWS,    /* expr ROWS                                                      */
    NL_AST_SAMPLE_BUCKET   /* BUCKET numbers[0] OUT OF numbers[1]                            */
} nl_ast_sample_kind;

typedef struct nl_ast_sample {
    nl_ast_sample_kind kind;
    nl_str numbers[2]; /* as written */
    nl_ast_expr *expr;
    bool has_seed;
    nl_str seed; /* REPEATABLE (digits) */
    nl_ast_range range;
} nl_ast_sample;

typedef struct nl_ast_table_alias {
    nl_ast_ident name; /* data NULL: none */
    nl_ast_idents columns;
} nl_ast_table_alias;

/* VERSION AS OF 3 | 'branch', TIMESTAMP AS OF expression, with FOR, SYSTEM_VERSION, SYSTEM_TIME as synonyms. */
typedef struct nl_ast_time_travel {
    bool is_timestamp;
    nl_str version;      /* digits, or the string's content */
    bool is_string;
    nl_ast_expr *timestamp;
    nl_ast_range range;
} nl_ast_time_travel;

typedef struct nl_ast_pivot_value {
    nl_ast_expr *value; /* one, or NL_AST_EXPR_ROW for several columns */
    nl_ast_ident name;
} nl_ast_pivot_value;

typedef struct nl_ast_unpivot_column { /* one element of IN (…): one column, or several for multi-value UNPIVOT */
    nl_ast_names columns;
    nl_ast_ident name;
    bool has_parentheses;
} nl_ast_unpivot_column;

struct nl_ast_relation {
    nl_ast_relation_kind kind;
    bool is_lateral; /* LATERAL in front of the first relation, or of the right side of a comma or join */
    nl_ast_range range;
    nl_ast_sample *sample;     /* TABLE, SUBQUERY, PARENTHESES; of PIPE: |> TABLESAMPLE */
    nl_ast_table_alias alias;  /* TABLE, SUBQUERY, PARENTHESES, VALUES, FUNCTION        */
    union {
        struct {
            nl_ast_name name;
            nl_ast_time_travel *time_travel;
            struct nl_ast_properties *options; /* WITH (k = v) */
        } table;
        nl_ast_query *query;
        nl_ast_term *term;
        const struct nl_ast_files *files;
        const struct nl_table *source; /* counted by whoever made the tree, for as long as the tree lives */
        nl_ast_relation *inner; /* PARENTHESES */
        nl_ast_exprs rows;      /* VALUES: each NL_AST_EXPR_ROW, or a single expression (one column, or a struct to expand) */
        struct {
            nl_ast_name name;
            nl_ast_arguments args;
            const struct nl_python_function *python; /* of a DataFrame: the function itself; or NULL */
        } function;
        struct {
            nl_ast_join_kind kind;
            bool is_comma;
            bool is_natural;
            nl_ast_relation *left, *right;
            nl_ast_expr *on;
            nl_ast_idents using_columns;
        } join;
        struct {
            nl_ast_relation *input; /* NULL: no FROM */
            bool is_outer;
            nl_ast_name function;
            nl_ast_exprs args;
            nl_ast_ident table;
            nl_ast_idents columns;
        } lateral_view;
        struct {
            nl_ast_relation *input;
            nl_ast_exprs aggregates; /* may be NL_AST_EXPR_ALIAS */
            nl_ast_idents columns;
            bool has_column_parentheses;
            nl_ast_pivot_value *values;
            uint32_t value_count;
        } pivot;
        struct {
            nl_ast_relation *input;
            bool has_nulls; /* INCLUDE or EXCLUDE NULLS was written */
            bool is_including_nulls;
            bool is_multi_value;
            nl_ast_idents values; /* value columns */
            nl_ast_ident name;
            nl_ast_unpivot_column *columns;
            uint32_t column_count;
        } unpivot; /* its alias is relation.alias (name only) */
    };
};
