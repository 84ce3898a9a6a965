/* sql/ast_expression.h - names, data types, literals and expressions as written. */
#pragma once

#include "base/arena.h"
#include "base/decimal.h"
#include "column/type.h"

/* A piece of the statement's text. Offsets are bytes; line starts at 1; position is the column in characters, from 0.
 * Parentheses around an expression do not belong to its range. */
typedef struct nl_range {
    uint32_t start;
    uint32_t stop; /* one past the last byte */
    uint32_t line;
    uint32_t position;
} nl_range;

typedef struct nl_expr nl_expr;
typedef struct nl_query nl_query;
typedef struct nl_ast_type nl_ast_type;

typedef struct nl_exprs {
    nl_expr **items;
    uint32_t count;
} nl_exprs;

/* An identifier. Quotes are gone, doubled back-quotes resolved, case kept. */
typedef struct nl_ident {
    nl_str text; /* data NULL: absent */
    nl_range range;
    bool is_quoted;
} nl_ident;

typedef struct nl_idents {
    nl_ident *items;
    uint32_t count;
} nl_idents;

/* A name of one or more parts (a.b.c), or IDENTIFIER(expression): then `expression` is set and count is 0. */
typedef struct nl_name {
    nl_ident *parts;
    uint32_t count;
    nl_expr *expression;
    nl_range range;
} nl_name;

typedef struct nl_names {
    nl_name *items;
    uint32_t count;
} nl_names;

/* ---- data types ------------------------------------------------------------------------------------------------ */

typedef enum nl_ast_type_kind {
    NL_AST_TYPE_SIMPLE,   /* a name with optional numbers: int, decimal(10,2), char(3), string COLLATE c */
    NL_AST_TYPE_ARRAY,    /* children[0]                                                                 */
    NL_AST_TYPE_MAP,      /* children[0] key, children[1] value                                          */
    NL_AST_TYPE_STRUCT,   /* fields                                                                      */
    NL_AST_TYPE_INTERVAL, /* INTERVAL start [TO end]; plain INTERVAL is SIMPLE                           */
} nl_ast_type_kind;

/* A column or struct field as far as every place allows it: name, type, NOT NULL, COMMENT. */
typedef struct nl_ast_field {
    nl_ident name;
    nl_ast_type *type;
    bool is_not_null;
    bool has_comment;
    nl_str comment;
    nl_range range;
} nl_ast_field;

typedef struct nl_ast_fields {
    nl_ast_field *items;
    uint32_t count;
} nl_ast_fields;

struct nl_ast_type {
    nl_ast_type_kind kind;
    nl_range range;
    nl_str name;          /* SIMPLE: as written                                    */
    nl_str *numbers;      /* SIMPLE: digits in parentheses, as written             */
    uint32_t number_count;
    nl_name collation;    /* SIMPLE string: COLLATE; count 0: none                 */
    nl_ast_type *children[2];
    nl_ast_fields fields; /* STRUCT                                                */
    nl_interval_field start_field; /* INTERVAL */
    nl_interval_field end_field;   /* INTERVAL; equal to start_field without TO */
};

/* ---- literals -------------------------------------------------------------------------------------------------- */

typedef enum nl_literal_kind {
    NL_LITERAL_NULL,
    NL_LITERAL_BOOLEAN,
    NL_LITERAL_TINYINT,
    NL_LITERAL_SMALLINT,
    NL_LITERAL_INT,
    NL_LITERAL_BIGINT,
    NL_LITERAL_FLOAT,
    NL_LITERAL_DOUBLE,
    NL_LITERAL_DECIMAL,
    NL_LITERAL_STRING,
    NL_LITERAL_BINARY,        /* X'1F': text holds the bytes                                              */
    NL_LITERAL_DATE,          /* DATE 'text', TIMESTAMP 'text' …: the analyzer parses text, since special  */
    NL_LITERAL_TIMESTAMP,     /* words and zones depend on the session; failure is INVALID_TYPED_LITERAL   */
    NL_LITERAL_TIMESTAMP_NTZ,
    NL_LITERAL_TIMESTAMP_LTZ,
    NL_LITERAL_INTERVAL_TEXT, /* INTERVAL '3 days 2 hours': text                                           */
    NL_LITERAL_INTERVAL,      /* INTERVAL 1 YEAR 2 MONTHS, INTERVAL '1-2' YEAR TO MONTH: units             */
} nl_literal_kind;

typedef enum nl_interval_unit {
    NL_UNIT_NANOSECOND,
    NL_UNIT_MICROSECOND,
    NL_UNIT_MILLISECOND,
    NL_UNIT_SECOND,
    NL_UNIT_MINUTE,
    NL_UNIT_HOUR,
    NL_UNIT_DAY,
    NL_UNIT_WEEK,
    NL_UNIT_MONTH,
    NL_UNIT_YEAR,
} nl_interval_unit;

/* `INTERVAL -1 DAY 2 HOURS` has two of these. With TO (`'1-2' YEAR TO MONTH`) there is exactly one. */
typedef struct nl_interval_part {
    nl_str value;          /* number or string content, with the sign in front when one was written before it */
    bool is_string;
    bool has_to;
    nl_interval_unit unit;
    nl_interval_unit to;   /* with has_to */
} nl_interval_part;

typedef struct nl_literal {
    nl_literal_kind kind;
    nl_str text;           /* STRING, BINARY, DATE…: content; numbers: digits as written, without suffix */
    bool boolean;
    int64_t integer;       /* TINYINT … BIGINT */
    double real;           /* FLOAT, DOUBLE    */
    nl_int128 decimal;     /* DECIMAL: unscaled */
    int precision;
    int scale;
    nl_interval_part *parts; /* INTERVAL */
    uint32_t part_count;
} nl_literal;

/* ---- expressions ----------------------------------------------------------------------------------------------- */

typedef enum nl_expr_kind {
    NL_EXPR_LITERAL,
    NL_EXPR_COLUMN,        /* a.b.c: column, with fields folded in; also CURRENT_DATE and friends without parentheses
                            * (Spark tries them as columns first) and DEFAULT; IDENTIFIER('a') has name.expression   */
    NL_EXPR_STAR,          /* *, t.*, * EXCEPT (…)                                                                   */
    NL_EXPR_CALL,          /* functions and everything written in a special form, see nl_call_form                   */
    NL_EXPR_CAST,          /* CAST, TRY_CAST, ::                                                                     */
    NL_EXPR_CASE,
    NL_EXPR_BETWEEN,
    NL_EXPR_IN_LIST,
    NL_EXPR_IN_QUERY,
    NL_EXPR_LIKE,          /* LIKE, ILIKE, RLIKE                                                                     */
    NL_EXPR_LIKE_QUANTIFIED, /* LIKE ANY|SOME|ALL (…)                                                                */
    NL_EXPR_IS,            /* IS [NOT] NULL, TRUE, FALSE, UNKNOWN                                                    */
    NL_EXPR_IS_DISTINCT,   /* IS [NOT] DISTINCT FROM                                                                 */
    NL_EXPR_UNARY,
    NL_EXPR_BINARY,
    NL_EXPR_SUBSCRIPT,     /* a[i]                                                                                   */
    NL_EXPR_FIELD,         /* (expression).field                                                                     */
    NL_EXPR_LAMBDA,        /* x -> …, (x, y) -> …                                                                    */
    NL_EXPR_ROW,           /* (a, b AS c): a struct                                                                  */
    NL_EXPR_EXISTS,
    NL_EXPR_SUBQUERY,      /* (SELECT …) as a value                                                                  */
    NL_EXPR_PARAMETER,     /* ? or :name                                                                             */
    NL_EXPR_COLLATE,
    NL_EXPR_ALIAS,         /* e AS a, e AS (a, b); only where names are allowed                                      */
    NL_EXPR_TABLE_ARGUMENT /* TABLE(t) PARTITION BY …: only as argument of a table function                          */
} nl_expr_kind;

typedef enum nl_unary_op { NL_UNARY_NOT, NL_UNARY_MINUS, NL_UNARY_PLUS, NL_UNARY_TILDE } nl_unary_op;

typedef enum nl_binary_op {
    NL_BINARY_OR,
    NL_BINARY_AND,
    NL_BINARY_EQ,
    NL_BINARY_NULL_SAFE_EQ, /* <=> */
    NL_BINARY_NEQ,          /* <> and != */
    NL_BINARY_LT,
    NL_BINARY_LTE,
    NL_BINARY_GT,
    NL_BINARY_GTE,
    NL_BINARY_BIT_OR,
    NL_BINARY_BIT_XOR,
    NL_BINARY_BIT_AND,
    NL_BINARY_SHIFT_LEFT,
    NL_BINARY_SHIFT_RIGHT,
    NL_BINARY_SHIFT_RIGHT_UNSIGNED,
    NL_BINARY_ADD,
    NL_BINARY_SUBTRACT,
    NL_BINARY_CONCAT, /* || */
    NL_BINARY_MULTIPLY,
    NL_BINARY_DIVIDE,
    NL_BINARY_REMAINDER,
    NL_BINARY_DIV
} nl_binary_op;

/* How a call was written, where Spark builds something else than a plain function call of that name (and so names
 * the column differently). `name` always holds a usable function name of one part. */
typedef enum nl_call_form {
    NL_CALL_PLAIN,
    NL_CALL_EXTRACT,        /* extract:      args field name (string literal), source                               */
    NL_CALL_TIMESTAMPADD,   /* timestampadd, dateadd, date_add: args unit (string literal), amount, time.            */
    NL_CALL_TIMESTAMPDIFF,  /* timestampdiff, datediff, date_diff, timediff: args unit, start, end                   */
    NL_CALL_STRUCT,         /* STRUCT(a, b AS c): args may be NL_EXPR_ALIAS                                          */
    NL_CALL_FIRST,          /* FIRST/LAST/ANY_VALUE(x [IGNORE NULLS]) with the words inside the parentheses          */
    NL_CALL_POSITION,       /* position(a IN b): args a, b                                                           */
    NL_CALL_SUBSTRING,      /* substring(s FROM a [FOR b]) and substr/substring(s, a[, b]): args s, a, b             */
    NL_CALL_TRIM_BOTH,      /* TRIM([BOTH] [x] FROM y): args y, x (x absent: one argument); name "trim"              */
    NL_CALL_TRIM_LEADING,   /* name "ltrim" */
    NL_CALL_TRIM_TRAILING,  /* name "rtrim" */
    NL_CALL_OVERLAY,        /* OVERLAY(a PLACING b FROM c [FOR d]): args a, b, c, d                                  */
} nl_call_form;

typedef struct nl_sort_item {
    nl_expr *expr;
    bool is_descending;
    bool has_direction;   /* ASC or DESC was written                */
    bool has_nulls;       /* NULLS FIRST or NULLS LAST was written  */
    bool is_nulls_first;  /* resolved: ASC first, DESC last         */
    nl_range range;
} nl_sort_item;

typedef struct nl_sort_items {
    nl_sort_item *items;
    uint32_t count;
} nl_sort_items;

typedef enum nl_frame_bound_kind {
    NL_BOUND_UNBOUNDED_PRECEDING,
    NL_BOUND_PRECEDING, /* expr PRECEDING */
    NL_BOUND_CURRENT_ROW,
    NL_BOUND_FOLLOWING, /* expr FOLLOWING */
    NL_BOUND_UNBOUNDED_FOLLOWING
} nl_frame_bound_kind;

typedef struct nl_frame_bound {
    nl_frame_bound_kind kind;
    nl_expr *offset;
    nl_range range;
} nl_frame_bound;

/* OVER name, OVER (name) or OVER (PARTITION BY … ORDER BY … frame). */
typedef struct nl_window {
    nl_ident reference; /* then the rest is empty */
    nl_exprs partition_by;
    nl_sort_items order_by;
    bool is_cluster_by; /* CLUSTER BY e: partition_by holds e; the order is the same, ascending */
    bool has_frame;
    bool is_rows; /* else RANGE */
    bool has_end; /* BETWEEN start AND end; without it end is CURRENT ROW */
    nl_frame_bound start;
    nl_frame_bound end;
    nl_range range;
} nl_window;

typedef enum nl_null_treatment { NL_NULLS_UNSAID, NL_NULLS_IGNORE, NL_NULLS_RESPECT } nl_null_treatment;

typedef struct nl_argument {
    nl_ident name; /* f(name => value); absent for positional ones */
    nl_expr *value;
} nl_argument;

typedef struct nl_arguments {
    nl_argument *items;
    uint32_t count;
} nl_arguments;

typedef struct nl_call {
    nl_name name;
    nl_call_form form;
    nl_arguments args;
    bool is_distinct;
    bool is_all;
    nl_sort_items within_group;
    nl_expr *filter;
    nl_null_treatment nulls;
    nl_window *over;
} nl_call;

typedef struct nl_when {
    nl_expr *condition;
    nl_expr *result;
} nl_when;

typedef enum nl_like_kind { NL_LIKE, NL_ILIKE, NL_RLIKE } nl_like_kind;
typedef enum nl_quantifier { NL_QUANTIFIER_ANY, NL_QUANTIFIER_SOME, NL_QUANTIFIER_ALL } nl_quantifier;
typedef enum nl_is_kind { NL_IS_NULL, NL_IS_TRUE, NL_IS_FALSE, NL_IS_UNKNOWN } nl_is_kind;
typedef enum nl_cast_form { NL_CAST_FUNCTION, NL_CAST_TRY, NL_CAST_COLONS } nl_cast_form;

/* TABLE t, TABLE(t), TABLE(query) [PARTITION BY … | WITH SINGLE PARTITION] [ORDER BY …]. */
typedef struct nl_table_argument {
    nl_name table;   /* or */
    nl_query *query;
    bool is_single_partition;
    nl_exprs partition_by;
    nl_sort_items order_by;
} nl_table_argument;

struct nl_expr {
    nl_expr_kind kind;
    bool is_negated; /* BETWEEN, IN, LIKE, IS, IS_DISTINCT: NOT was written inside */
    nl_range range;
    union {
        nl_literal literal;
        nl_name column;
        struct {
            nl_name qualifier; /* count 0: plain * */
            nl_names except;
            bool has_except;
        } star;
        nl_call call;
        struct {
            nl_expr *input;
            nl_ast_type *type;
            nl_cast_form form;
        } cast;
        struct {
            nl_expr *operand; /* NULL: searched CASE */
            nl_when *whens;
            uint32_t when_count;
            nl_expr *otherwise;
        } choice; /* CASE */
        struct {
            nl_expr *input, *low, *high;
        } between;
        struct {
            nl_expr *input;
            nl_exprs list;   /* IN_LIST  */
            nl_query *query; /* IN_QUERY */
        } in;
        struct {
            nl_expr *input, *pattern;
            nl_like_kind kind;
            bool has_escape;
            nl_str escape; /* exactly one character */
        } like;
        struct {
            nl_expr *input;
            nl_exprs patterns;
            nl_like_kind kind; /* LIKE or ILIKE */
            nl_quantifier quantifier;
        } like_quantified;
        struct {
            nl_expr *input;
            nl_is_kind kind;
        } is;
        struct {
            nl_expr *left, *right;
        } distinct; /* IS [NOT] DISTINCT FROM */
        struct {
            nl_unary_op op;
            nl_expr *input;
        } unary;
        struct {
            nl_binary_op op;
            nl_expr *left, *right;
        } binary;
        struct {
            nl_expr *input, *index;
        } subscript;
        struct {
            nl_expr *input;
            nl_ident name;
        } field;
        struct {
            nl_idents parameters;
            nl_expr *body;
        } lambda;
        nl_exprs row;
        nl_query *query; /* EXISTS, SUBQUERY */
        struct {
            nl_ident name;  /* absent: ?                         */
            uint32_t index; /* of the ?s in the statement, from 0 */
        } parameter;
        struct {
            nl_expr *input;
            nl_name collation;
        } collate;
        struct {
            nl_expr *input;
            nl_idents names; /* one, or several for AS (a, b) */
            bool has_parentheses;
        } alias;
        nl_table_argument table_argument;
    };
};
