/* sql/ast_expression.h - names, data types, literals and expressions as written. */
#pragma once

#include "base/arena.h"
#include "base/decimal.h"
#include "column/type.h"

struct nl_python_function; /* function/python.h */

/* A piece of the statement's text. Offsets are bytes; line starts at 1; position is the column in characters, from 0.
 * Parentheses around an expression do not belong to its range. */
typedef struct nl_ast_range {
    uint32_t start;
    uint32_t stop; /* one past the last byte */
    uint32_t line;
    uint32_t position;
} nl_ast_range;

typedef struct nl_ast_expr nl_ast_expr;
typedef struct nl_ast_query nl_ast_query;
typedef struct nl_ast_type nl_ast_type;

typedef struct nl_ast_exprs {
    nl_ast_expr **items;
    uint32_t count;
} nl_ast_exprs;

/* An identifier. Quotes are gone, doubled back-quotes resolved, case kept. */
typedef struct nl_ast_ident {
    nl_str text; /* data NULL: absent */
    nl_ast_range range;
    bool is_quoted;
} nl_ast_ident;

typedef struct nl_ast_idents {
    nl_ast_ident *items;
    uint32_t count;
} nl_ast_idents;

/* A name of one or more parts (a.b.c), or IDENTIFIER(expression): then `expression` is set and count is 0. */
typedef struct nl_ast_name {
    nl_ast_ident *parts;
    uint32_t count;
    nl_ast_expr *expression;
    nl_ast_range range;
} nl_ast_name;

typedef struct nl_ast_names {
    nl_ast_name *items;
    uint32_t count;
} nl_ast_names;

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
    nl_ast_ident name;
    nl_ast_type *type;
    bool is_not_null;
    bool has_comment;
    nl_str comment;
    nl_ast_range range;
} nl_ast_field;

typedef struct nl_ast_fields {
    nl_ast_field *items;
    uint32_t count;
} nl_ast_fields;

struct nl_ast_type {
    nl_ast_type_kind kind;
    nl_ast_range range;
    nl_str name;          /* SIMPLE: as written                                    */
    bool is_quoted;       /* SIMPLE: in back-quotes: then it is no type Spark knows */
    nl_str *numbers;      /* SIMPLE: digits in parentheses, as written             */
    uint32_t number_count;
    nl_ast_name collation;    /* SIMPLE string: COLLATE; count 0: none                 */
    nl_ast_type *children[2];
    nl_ast_fields fields; /* STRUCT                                                */
    nl_interval_field start_field; /* INTERVAL */
    nl_interval_field end_field;   /* INTERVAL; equal to start_field without TO */
    bool has_to;                   /* INTERVAL: TO was written */
    const nl_type *made;           /* of a DataFrame: the type itself; the rest is empty */
};

/* ---- literals -------------------------------------------------------------------------------------------------- */

typedef enum nl_ast_literal_kind {
    NL_AST_LITERAL_NULL,
    NL_AST_LITERAL_BOOLEAN,
    NL_AST_LITERAL_TINYINT,
    NL_AST_LITERAL_SMALLINT,
    NL_AST_LITERAL_INT,
    NL_AST_LITERAL_BIGINT,
    NL_AST_LITERAL_FLOAT,
    NL_AST_LITERAL_DOUBLE,
    NL_AST_LITERAL_DECIMAL,
    NL_AST_LITERAL_STRING,
    NL_AST_LITERAL_BINARY,        /* X'1F': text holds the bytes                                              */
    NL_AST_LITERAL_DATE,          /* DATE 'text', TIMESTAMP 'text' …: the analyzer parses text, since special  */
    NL_AST_LITERAL_TIMESTAMP,     /* words and zones depend on the session; failure is INVALID_TYPED_LITERAL   */
    NL_AST_LITERAL_TIMESTAMP_NTZ,
    NL_AST_LITERAL_TIMESTAMP_LTZ,
    NL_AST_LITERAL_INTERVAL_TEXT, /* INTERVAL '3 days 2 hours': text                                           */
    NL_AST_LITERAL_INTERVAL,      /* INTERVAL 1 YEAR 2 MONTHS, INTERVAL '1-2' YEAR TO MONTH: units             */
    NL_AST_LITERAL_VALUE          /* of a DataFrame: value                                                     */
} nl_ast_literal_kind;

typedef enum nl_ast_interval_unit {
    NL_AST_UNIT_NANOSECOND,
    NL_AST_UNIT_MICROSECOND,
    NL_AST_UNIT_MILLISECOND,
    NL_AST_UNIT_SECOND,
    NL_AST_UNIT_MINUTE,
    NL_AST_UNIT_HOUR,
    NL_AST_UNIT_DAY,
    NL_AST_UNIT_WEEK,
    NL_AST_UNIT_MONTH,
    NL_AST_UNIT_YEAR,
} nl_ast_interval_unit;

/* `INTERVAL -1 DAY 2 HOURS` has two of these. With TO (`'1-2' YEAR TO MONTH`) there is exactly one. */
typedef struct nl_ast_interval_part {
    nl_str value;          /* number or string content, with the sign in front when one was written before it */
    bool is_string;
    bool has_to;
    nl_ast_interval_unit unit;
    nl_ast_interval_unit to;   /* with has_to */
} nl_ast_interval_part;

typedef struct nl_ast_literal {
    nl_ast_literal_kind kind;
    nl_str text;           /* STRING, BINARY, DATE…: content; numbers: digits as written, without suffix */
    bool boolean;
    int64_t integer;       /* TINYINT … BIGINT */
    double real;           /* FLOAT, DOUBLE    */
    nl_int128 decimal;     /* DECIMAL: unscaled */
    int precision;
    int scale;
    nl_ast_interval_part *parts; /* INTERVAL */
    uint32_t part_count;
    const struct nl_value *value; /* VALUE */
} nl_ast_literal;

/* ---- expressions ----------------------------------------------------------------------------------------------- */

typedef enum nl_ast_expr_kind {
    NL_AST_EXPR_LITERAL,
    NL_AST_EXPR_COLUMN,        /* a.b.c: column, with fields folded in; also CURRENT_DATE and friends without parentheses
                            * (Spark tries them as columns first) and DEFAULT; IDENTIFIER('a') has name.expression   */
    NL_AST_EXPR_STAR,          /* *, t.*, * EXCEPT (…)                                                                   */
    NL_AST_EXPR_CALL,          /* functions and everything written in a special form, see nl_ast_call_form                   */
    NL_AST_EXPR_CAST,          /* CAST, TRY_CAST, ::                                                                     */
    NL_AST_EXPR_CASE,
    NL_AST_EXPR_BETWEEN,
    NL_AST_EXPR_IN_LIST,
    NL_AST_EXPR_IN_QUERY,
    NL_AST_EXPR_LIKE,          /* LIKE, ILIKE, RLIKE                                                                     */
    NL_AST_EXPR_LIKE_QUANTIFIED, /* LIKE ANY|SOME|ALL (…)                                                                */
    NL_AST_EXPR_IS,            /* IS [NOT] NULL, TRUE, FALSE, UNKNOWN                                                    */
    NL_AST_EXPR_IS_DISTINCT,   /* IS [NOT] DISTINCT FROM                                                                 */
    NL_AST_EXPR_UNARY,
    NL_AST_EXPR_BINARY,
    NL_AST_EXPR_SUBSCRIPT,     /* a[i]                                                                                   */
    NL_AST_EXPR_FIELD,         /* (expression).field                                                                     */
    NL_AST_EXPR_LAMBDA,        /* x -> …, (x, y) -> …                                                                    */
    NL_AST_EXPR_ROW,           /* (a, b AS c): a struct                                                                  */
    NL_AST_EXPR_EXISTS,
    NL_AST_EXPR_SUBQUERY,      /* (SELECT …) as a value                                                                  */
    NL_AST_EXPR_PARAMETER,     /* ? or :name                                                                             */
    NL_AST_EXPR_COLLATE,
    NL_AST_EXPR_ALIAS,         /* e AS a, e AS (a, b); only where names are allowed                                      */
    NL_AST_EXPR_TABLE_ARGUMENT, /* TABLE(t) PARTITION BY …: only as argument of a table function                         */
    NL_AST_EXPR_UPDATE_FIELD   /* of a DataFrame: a struct with a field put in or taken out (withField, dropFields)      */
} nl_ast_expr_kind;

typedef enum nl_ast_unary_op { NL_AST_UNARY_NOT, NL_AST_UNARY_MINUS, NL_AST_UNARY_PLUS, NL_AST_UNARY_TILDE } nl_ast_unary_op;

typedef enum nl_ast_binary_op {
    NL_AST_BINARY_OR,
    NL_AST_BINARY_AND,
    NL_AST_BINARY_EQ,
    NL_AST_BINARY_NULL_SAFE_EQ, /* <=> */
    NL_AST_BINARY_NEQ,          /* <> and != */
    NL_AST_BINARY_LT,
    NL_AST_BINARY_LTE,
    NL_AST_BINARY_GT,
    NL_AST_BINARY_GTE,
    NL_AST_BINARY_BIT_OR,
    NL_AST_BINARY_BIT_XOR,
    NL_AST_BINARY_BIT_AND,
    NL_AST_BINARY_SHIFT_LEFT,
    NL_AST_BINARY_SHIFT_RIGHT,
    NL_AST_BINARY_SHIFT_RIGHT_UNSIGNED,
    NL_AST_BINARY_ADD,
    NL_AST_BINARY_SUBTRACT,
    NL_AST_BINARY_CONCAT, /* || */
    NL_AST_BINARY_MULTIPLY,
    NL_AST_BINARY_DIVIDE,
    NL_AST_BINARY_REMAINDER,
    NL_AST_BINARY_DIV
} nl_ast_binary_op;

/* How a call was written, where Spark builds something else than a plain function call of that name (and so names
 * the column differently). `name` always holds a usable function name of one part. */
typedef enum nl_ast_call_form {
    NL_AST_CALL_PLAIN,
    NL_AST_CALL_EXTRACT,        /* extract:      args field name (string literal), source                               */
    NL_AST_CALL_TIMESTAMPADD,   /* timestampadd, dateadd, date_add: args unit (string literal), amount, time.            */
    NL_AST_CALL_TIMESTAMPDIFF,  /* timestampdiff, datediff, date_diff, timediff: args unit, start, end                   */
    NL_AST_CALL_STRUCT,         /* STRUCT(a, b AS c): args may be NL_AST_EXPR_ALIAS                                          */
    NL_AST_CALL_FIRST,          /* FIRST/LAST/ANY_VALUE(x [IGNORE NULLS]) with the words inside the parentheses          */
    NL_AST_CALL_POSITION,       /* position(a IN b): args a, b                                                           */
    NL_AST_CALL_SUBSTRING,      /* substring(s FROM a [FOR b]) and substr/substring(s, a[, b]): args s, a, b             */
    NL_AST_CALL_TRIM_BOTH,      /* TRIM([BOTH] [x] FROM y): args y, x (x absent: one argument); name "trim"              */
    NL_AST_CALL_TRIM_LEADING,   /* name "ltrim" */
    NL_AST_CALL_TRIM_TRAILING,  /* name "rtrim" */
    NL_AST_CALL_DATAFRAME,      /* a function that only DataFrames can call: product                                     */
    NL_AST_CALL_OVERLAY,        /* OVERLAY(a PLACING b FROM c [FOR d]): args a, b, c, d                                  */
} nl_ast_call_form;

typedef struct nl_ast_sort_item {
    nl_ast_expr *expr;
    bool is_descending;
    bool has_direction;   /* ASC or DESC was written                */
    bool has_nulls;       /* NULLS FIRST or NULLS LAST was written  */
    bool is_nulls_first;  /* resolved: ASC first, DESC last         */
    nl_ast_range range;
} nl_ast_sort_item;

typedef struct nl_ast_sort_items {
    nl_ast_sort_item *items;
    uint32_t count;
} nl_ast_sort_items;

typedef enum nl_ast_frame_bound_kind {
    NL_AST_BOUND_UNBOUNDED_PRECEDING,
    NL_AST_BOUND_PRECEDING, /* expr PRECEDING */
    NL_AST_BOUND_CURRENT_ROW,
    NL_AST_BOUND_FOLLOWING, /* expr FOLLOWING */
    NL_AST_BOUND_UNBOUNDED_FOLLOWING
} nl_ast_frame_bound_kind;

typedef struct nl_ast_frame_bound {
    nl_ast_frame_bound_kind kind;
    nl_ast_expr *offset;
    nl_ast_range range;
} nl_ast_frame_bound;

/* OVER name, OVER (name) or OVER (PARTITION BY … ORDER BY … frame). */
typedef struct nl_ast_window {
    nl_ast_ident reference; /* then the rest is empty */
    nl_ast_exprs partition_by;
    nl_ast_sort_items order_by;
    bool is_cluster_by; /* CLUSTER BY e: partition_by holds e; the order is the same, ascending */
    bool has_frame;
    bool is_rows; /* else RANGE */
    bool has_end; /* BETWEEN start AND end; without it end is CURRENT ROW */
    nl_ast_frame_bound start;
    nl_ast_frame_bound end;
    nl_ast_range range;
} nl_ast_window;

typedef enum nl_ast_null_treatment { NL_AST_NULLS_UNSAID, NL_AST_NULLS_IGNORE, NL_AST_NULLS_RESPECT } nl_ast_null_treatment;

typedef struct nl_ast_argument {
    nl_ast_ident name; /* f(name => value); absent for positional ones */
    nl_ast_expr *value;
} nl_ast_argument;

typedef struct nl_ast_arguments {
    nl_ast_argument *items;
    uint32_t count;
} nl_ast_arguments;

typedef struct nl_ast_call {
    nl_ast_name name;
    nl_ast_call_form form;
    nl_ast_arguments args;
    bool is_distinct;
    bool is_all;
    nl_ast_sort_items within_group;
    nl_ast_expr *filter;
    nl_ast_null_treatment nulls;
    nl_ast_window *over;
    const struct nl_python_function *python; /* of a DataFrame: the function itself; `name` is not looked at; or NULL */
} nl_ast_call;

typedef struct nl_ast_when {
    nl_ast_expr *condition;
    nl_ast_expr *result;
} nl_ast_when;

typedef enum nl_ast_like_kind { NL_AST_LIKE, NL_AST_ILIKE, NL_AST_RLIKE } nl_ast_like_kind;
typedef enum nl_ast_quantifier { NL_AST_QUANTIFIER_ANY, NL_AST_QUANTIFIER_SOME, NL_AST_QUANTIFIER_ALL } nl_ast_quantifier;
typedef enum nl_ast_is_kind { NL_AST_IS_NULL, NL_AST_IS_TRUE, NL_AST_IS_FALSE, NL_AST_IS_UNKNOWN } nl_ast_is_kind;
typedef enum nl_ast_cast_form { NL_AST_CAST_FUNCTION, NL_AST_CAST_TRY, NL_AST_CAST_COLONS } nl_ast_cast_form;

/* TABLE t, TABLE(t), TABLE(query) [PARTITION BY … | WITH SINGLE PARTITION] [ORDER BY …]. */
typedef struct nl_ast_table_argument {
    nl_ast_name table;   /* or */
    nl_ast_query *query;
    bool is_single_partition;
    nl_ast_exprs partition_by;
    nl_ast_sort_items order_by;
} nl_ast_table_argument;

struct nl_ast_expr {
    nl_ast_expr_kind kind;
    bool is_negated; /* BETWEEN, IN, LIKE, IS, IS_DISTINCT: NOT was written inside */
    bool has_plan_id;
    int64_t plan_id; /* COLUMN, STAR of a DataFrame: it belongs to the output of the term with that id */
    nl_ast_range range;
    union {
        nl_ast_literal literal;
        nl_ast_name column;
        struct {
            nl_ast_name qualifier; /* count 0: plain * */
            nl_ast_names except;
            bool has_except;
            nl_str pattern; /* of a DataFrame: columns whose whole name matches; data NULL: all */
        } star;
        nl_ast_call call;
        struct {
            nl_ast_expr *input;
            nl_ast_type *type;
            nl_ast_cast_form form;
        } cast;
        struct {
            nl_ast_expr *operand; /* NULL: searched CASE */
            nl_ast_when *whens;
            uint32_t when_count;
            nl_ast_expr *otherwise;
        } choice; /* CASE */
        struct {
            nl_ast_expr *input, *low, *high;
        } between;
        struct {
            nl_ast_expr *input;
            nl_ast_exprs list;   /* IN_LIST  */
            nl_ast_query *query; /* IN_QUERY */
        } in;
        struct {
            nl_ast_expr *input, *pattern;
            nl_ast_like_kind kind;
            bool has_escape;
            nl_str escape; /* exactly one character */
        } like;
        struct {
            nl_ast_expr *input;
            nl_ast_exprs patterns;
            nl_ast_like_kind kind; /* LIKE or ILIKE */
            nl_ast_quantifier quantifier;
        } like_quantified;
        struct {
            nl_ast_expr *input;
            nl_ast_is_kind kind;
        } is;
        struct {
            nl_ast_expr *left, *right;
        } distinct; /* IS [NOT] DISTINCT FROM */
        struct {
            nl_ast_unary_op op;
            nl_ast_expr *input;
        } unary;
        struct {
            nl_ast_binary_op op;
            nl_ast_expr *left, *right;
        } binary;
        struct {
            nl_ast_expr *input, *index;
        } subscript;
        struct {
            nl_ast_expr *input;
            nl_ast_ident name;
        } field;
        struct {
            nl_ast_idents parameters;
            nl_ast_expr *body;
        } lambda;
        nl_ast_exprs row;
        nl_ast_query *query; /* EXISTS, SUBQUERY */
        struct {
            nl_ast_ident name;  /* absent: ?                         */
            uint32_t index; /* of the ?s in the statement, from 0 */
        } parameter;
        struct {
            nl_ast_expr *input;
            nl_ast_name collation;
        } collate;
        struct {
            nl_ast_expr *input;
            nl_ast_idents names; /* one, or several for AS (a, b) */
            bool has_parentheses;
            nl_str metadata; /* of a DataFrame: JSON; data NULL: none */
        } alias;
        struct {
            nl_ast_expr *input;
            nl_ast_name name;
            nl_ast_expr *value; /* NULL: the field is dropped */
        } update;
        nl_ast_table_argument table_argument;
    };
};
