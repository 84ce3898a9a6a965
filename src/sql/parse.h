/* sql/parse.h - the parser inside this folder: its state, its small steps, and the rules that call each other across
 * files. Every rule reads from the cursor, leaves it behind what it took, and fails with a placed error. */
#pragma once

#include "base/limits.h"
#include "sql/parser.h"
#include "sql/token.h"

#define NL_SET_CHAIN_MAX 20000u /* set operations in a row: the tree leans to the left */
#define NL_CONCAT_CHAIN_MAX 20000u /* the same of || */

/* A label that is in force: of a loop, of BEGIN … END, or the variable of a FOR. */
typedef struct nl_label_scope {
    struct nl_label_scope *outer;
    nl_str label; /* data NULL: a block without one */
    enum { NL_LABEL_LOOP, NL_LABEL_BLOCK, NL_LABEL_FOR_VARIABLE } kind;
    nl_list conditions; /* nl_str *: names in capitals that the block declares */
} nl_label_scope;

typedef struct nl_parser {
    nl_arena *arena;
    nl_str text; /* in the arena */
    const nl_token *tokens;
    uint32_t count; /* the last one is NL_T_EOF; NL_LEX_PADDING more follow it */
    uint32_t at;
    uint32_t depth;
    uint32_t parameter_count;      /* of ?                */
    uint32_t parameter_mark_count; /* of ? and :name      */
    uint32_t pivot_depth;    /* above 0: FOR ends an expression's alias          */
    uint32_t column_count;   /* columns named so far, outside of subqueries and lambda functions           */
    uint32_t open_count;     /* parentheses of expressions and calls around the cursor, within this query  */
    uint32_t named_depth;    /* elements of SELECT lists and their like around the cursor                  */
    bool may_have_alias;     /* the expression at the cursor may be followed by an alias                   */
    bool is_in_cast;         /* a type inside CAST(… AS type)                                              */
    bool has_semicolon;      /* `;` was taken behind the statement                                         */
    nl_label_scope *labels;  /* innermost first; NULL outside of scripts         */
    bool is_in_for_query;    /* FOR v AS query DO: DO ends the query             */
    bool is_fragment_hidden; /* a type, schema or name alone: errors show (line 1, pos 0) instead of a fragment */
    uint32_t statement_first; /* first token of the innermost statement            */
    nl_status refusal;       /* the first error that does not stop the parsing, see nl_parser_refuse; owned */
    nl_ast_range refusal_range;
    nl_sql_options options;
} nl_parser;

static inline bool nl_token_is_set_operator(nl_token_kind kind)
{
    return kind == NL_T_UNION || kind == NL_T_EXCEPT || kind == NL_T_MINUS || kind == NL_T_INTERSECT;
}

/* ---- looking ---------------------------------------------------------------------------------------------------- */

static inline nl_token_kind nl_parser_kind(const nl_parser *p)
{
    return (nl_token_kind)p->tokens[p->at].kind;
}
static inline nl_token_kind nl_parser_kind_at(const nl_parser *p, uint32_t at) /* any index: EOF past the end */
{
    return at < p->count ? (nl_token_kind)p->tokens[at].kind : NL_T_EOF;
}
static inline nl_token_kind nl_parser_ahead(const nl_parser *p, uint32_t steps)
{
    return nl_parser_kind_at(p, p->at + steps);
}
static inline bool nl_parser_is(const nl_parser *p, nl_token_kind kind)
{
    return nl_parser_kind(p) == kind;
}
static inline bool nl_parser_are(const nl_parser *p, nl_token_kind first, nl_token_kind second)
{
    return nl_parser_kind(p) == first && nl_parser_ahead(p, 1) == second;
}
static inline nl_str nl_parser_token_text(const nl_parser *p, uint32_t at)
{
    return nl_str_slice(p->text, p->tokens[at].start, p->tokens[at].stop);
}
bool nl_parser_is_identifier_at(const nl_parser *p, uint32_t at);        /* identifier                         */
bool nl_parser_is_strict_identifier_at(const nl_parser *p, uint32_t at); /* one that may alias a table         */
bool nl_parser_is_word_at(const nl_parser *p, uint32_t at, const char *word); /* an unquoted word by its text  */
bool nl_parser_is_string_at(const nl_parser *p, uint32_t at);
bool nl_parser_starts_expression_at(const nl_parser *p, uint32_t at);    /* some expression may begin here     */
bool nl_parser_starts_query_at(const nl_parser *p, uint32_t at);         /* SELECT, WITH, VALUES … as keywords */
bool nl_parser_starts_join_at(const nl_parser *p, uint32_t at);
/* Whether the words at `at` begin a clause after a select list, a relation or a whole query, so that they are no alias.
 * `is_table`: the alias would be a relation's, which may carry a column list. */
bool nl_parser_starts_clause_at(const nl_parser *p, uint32_t at, bool is_table);
bool nl_parser_follows_relation_at(const nl_parser *p, uint32_t at); /* what may stand behind `t` or `t alias` */
/* The token after the `)` of `( a, b, c )` that starts at `at`, or 0 when there is no list of plain identifiers. */
uint32_t nl_parser_skip_identifier_list(const nl_parser *p, uint32_t at);
uint32_t nl_parser_skip_parentheses(const nl_parser *p, uint32_t at); /* after the matching `)`, or 0 */

static inline nl_ast_range nl_parser_range(const nl_parser *p, uint32_t first_token) /* up to the cursor */
{
    if (p->options.is_unplaced) return (nl_ast_range){0};
    const nl_token *first = &p->tokens[first_token];
    const nl_token *last = p->at > first_token ? &p->tokens[p->at - 1] : first;
    const uint32_t base = p->options.range_base;
    return (nl_ast_range){base + first->start, base + last->stop, first->line, first->position};
}

/* ---- taking ------------------------------------------------------------------------------------------------------ */

static inline bool nl_parser_take(nl_parser *p, nl_token_kind kind)
{
    if (nl_parser_kind(p) != kind) return false;
    p->at++;
    return true;
}
static inline bool nl_parser_take_both(nl_parser *p, nl_token_kind first, nl_token_kind second)
{
    if (!nl_parser_are(p, first, second)) return false;
    p->at += 2;
    return true;
}
NL_MUST_USE nl_status nl_parser_expect(nl_parser *p, nl_token_kind kind);
/* The same behind something optional: what stands there could be that, so nothing counts as missing. */
NL_MUST_USE nl_status nl_parser_need(nl_parser *p, nl_token_kind kind);
/* The `)` of a list that can end nowhere else: what stands there instead makes it the missing token. */
NL_MUST_USE nl_status nl_parser_close(nl_parser *p);
NL_MUST_USE nl_status nl_parser_expect_word(nl_parser *p, const char *word);
NL_MUST_USE nl_status nl_parser_enter(nl_parser *p); /* one level deeper; pair with nl_parser_leave on success */
static inline void nl_parser_leave(nl_parser *p)
{
    p->depth--;
}

/* ---- failing ------------------------------------------------------------------------------------------------------ */

NL_MUST_USE nl_status nl_parser_syntax_error(nl_parser *p); /* at the cursor, without a hint */
NL_MUST_USE nl_status nl_parser_extra_input(nl_parser *p);  /* at the cursor: one token too many */
NL_MUST_USE nl_status nl_parser_missing(nl_parser *p, const char *what); /* at the cursor: `what` is missing before it */
bool nl_parser_is_syntax_error(nl_status status);
/* Where Spark's parser gives up a construct as a whole, it blames the token the construct began with, not the one
 * inside that did not fit. Moves a syntax error to `token` (the cursor goes there too); passes on everything else. */
NL_MUST_USE nl_status nl_parser_blame(nl_parser *p, nl_status status, uint32_t token);
/* What Spark refuses only after the whole text has parsed. The first refusal is kept and returned by the entry points
 * unless a syntax error comes later in the text; parsing goes on, so outputs must be set before. Always NULL.
 * The range is shown as a fragment of the text. */
NL_MUST_USE nl_status nl_parser_refuse(nl_parser *p, nl_status failure, nl_ast_range range);
#define NL_REFUSE(p, range, condition, ...) nl_parser_refuse((p), NL_RAISE(condition, __VA_ARGS__), (range))
#define NL_WHOLE_STATEMENT ((nl_ast_range){.stop = UINT32_MAX}) /* the innermost statement, when it has ended */
#define NL_NO_PLACE        ((nl_ast_range){0})                  /* an error that shows no fragment            */
#define NL_TEXT_ONLY       ((nl_ast_range){.stop = UINT32_MAX - 1}) /* one that shows the text without a place */
/* INVALID_STATEMENT_OR_CLAUSE and "Operation not allowed", both over a range. */
NL_MUST_USE nl_status nl_parser_not_allowed(nl_parser *p, nl_ast_range range, const char *message);
NL_MUST_USE nl_status nl_parser_invalid_clause(nl_parser *p, nl_ast_range range, const char *operation);
NL_MUST_USE nl_status nl_parser_duplicate_clause(nl_parser *p, const char *clause);

/* ---- collecting: an nl_list of pointers as an array of the structs they point to ---------------------------------- */

void *nl_parser_flatten(nl_arena *arena, const nl_list *list, size_t item_size);
#define NL_FLATTEN(p, list, type) ((type *)nl_parser_flatten((p)->arena, (list), sizeof(type)))

/* ---- names and small parts (parse_name.c) -------------------------------------------------------------------------- */

NL_MUST_USE nl_status nl_parse_identifier(nl_parser *p, nl_ast_ident *ident);        /* without the check for hyphens */
NL_MUST_USE nl_status nl_parse_strict_identifier(nl_parser *p, nl_ast_ident *ident);
NL_MUST_USE nl_status nl_parse_name_part(nl_parser *p, nl_ast_ident *ident);         /* INVALID_IDENTIFIER for a-b */
NL_MUST_USE nl_status nl_parse_name(nl_parser *p, nl_ast_name *name);                /* a.b.c                         */
NL_MUST_USE nl_status nl_parse_qualified_name(nl_parser *p, nl_ast_name *name);      /* the same, hyphens unchecked   */
NL_MUST_USE nl_status nl_parse_name_reference(nl_parser *p, nl_ast_name *name);      /* a.b.c or IDENTIFIER(…)        */
NL_MUST_USE nl_status nl_parse_table_name(nl_parser *p, nl_ast_name *name);          /* [a.]b                         */
NL_MUST_USE nl_status nl_parse_names(nl_parser *p, nl_ast_names *names);             /* a.b, c                        */
NL_MUST_USE nl_status nl_parse_name_parts(nl_parser *p, nl_ast_idents *idents);      /* a, b                          */
NL_MUST_USE nl_status nl_parse_identifier_list(nl_parser *p, nl_ast_idents *idents); /* (a, b)                        */
nl_str nl_parser_lower(nl_parser *p, nl_str text);
nl_str nl_parser_upper(nl_parser *p, nl_str text);
nl_str nl_parser_quote_name(nl_parser *p, const nl_ast_name *name);                   /* `a`.`b`                       */
NL_MUST_USE nl_status nl_parse_string(nl_parser *p, nl_str *text);               /* one string literal            */
NL_MUST_USE nl_status nl_parse_not(nl_parser *p); /* NOT, or ! which Spark no longer takes for it */
nl_str nl_parser_unescape(nl_parser *p, uint32_t at);                            /* of the string token at `at`   */
NL_MUST_USE nl_status nl_parse_comment_clause(nl_parser *p, bool *has_comment, nl_str *comment); /* COMMENT 's'   */
NL_MUST_USE nl_status nl_parse_properties(nl_parser *p, bool are_expressions, nl_ast_properties **properties);
NL_MUST_USE nl_status nl_parse_property_key(nl_parser *p, nl_str *key);
/* Every value given, or none. */
NL_MUST_USE nl_status nl_parser_need_values(nl_parser *p, const nl_ast_properties *properties);
NL_MUST_USE nl_status nl_parser_need_values_at(nl_parser *p, nl_ast_range range, const nl_ast_properties *properties);
NL_MUST_USE nl_status nl_parser_need_keys_only(nl_parser *p, const nl_ast_properties *properties);
/* The text between two tokens as written. */
nl_str nl_parser_text_between(const nl_parser *p, uint32_t first_token, uint32_t end_token);

/* ---- expressions --------------------------------------------------------------------------------------------------- */

NL_MUST_USE nl_status nl_parse_expression(nl_parser *p, nl_ast_expr **expr);
/* An expression whose first operand is there already: `primary` began at token `first`. */
NL_MUST_USE nl_status nl_parse_expression_after(nl_parser *p, uint32_t first, nl_ast_expr *primary, nl_ast_expr **expr);
NL_MUST_USE nl_status nl_parse_value(nl_parser *p, nl_ast_expr **expr);   /* no AND, OR, NOT, predicates */
NL_MUST_USE nl_status nl_parse_value_after(nl_parser *p, uint32_t first, nl_ast_expr *primary, nl_ast_expr **expr);
NL_MUST_USE nl_status nl_parse_primary(nl_parser *p, nl_ast_expr **expr); /* with ., [], ::, COLLATE behind it */
NL_MUST_USE nl_status nl_parse_primary_suffix(nl_parser *p, uint32_t first, nl_ast_expr *primary, nl_ast_expr **expr);
NL_MUST_USE nl_status nl_parse_expressions(nl_parser *p, nl_ast_exprs *exprs);      /* a, b, c */
NL_MUST_USE nl_status nl_parse_named_expression(nl_parser *p, nl_ast_expr **expr);  /* with an optional alias */
NL_MUST_USE nl_status nl_parse_alias(nl_parser *p, uint32_t first, nl_ast_expr *input, nl_ast_expr **expr);
NL_MUST_USE nl_status nl_parse_named_expressions(nl_parser *p, nl_ast_exprs *exprs);
NL_MUST_USE nl_status nl_parse_constant(nl_parser *p, nl_ast_expr **expr);          /* literals only */
bool nl_parser_starts_constant(const nl_parser *p);
NL_MUST_USE nl_status nl_parse_interval(nl_parser *p, nl_ast_expr **expr);          /* at INTERVAL */
bool nl_parser_starts_interval(const nl_parser *p);
NL_MUST_USE nl_status nl_parse_call(nl_parser *p, nl_ast_expr **expr);              /* at a function's name */
NL_MUST_USE nl_status nl_parse_arguments(nl_parser *p, bool is_table_function, nl_ast_arguments *args); /* after ( to ) */
/* The rest of a call: after its arguments' `)`. */
NL_MUST_USE nl_status nl_parse_call_suffix(nl_parser *p, nl_ast_call *call);
/* Special forms like EXTRACT(…); *expr stays NULL when it is a plain call after all. */
NL_MUST_USE nl_status nl_parse_special_call(nl_parser *p, nl_ast_expr **expr);
NL_MUST_USE nl_status nl_parse_sort_items(nl_parser *p, nl_ast_sort_items *items);
NL_MUST_USE nl_status nl_parse_window(nl_parser *p, nl_ast_window **window);
nl_ast_expr *nl_parser_new_expr(nl_parser *p, nl_ast_expr_kind kind, uint32_t first_token); /* range up to the cursor */

/* ---- types ----------------------------------------------------------------------------------------------------------- */

NL_MUST_USE nl_status nl_parse_type(nl_parser *p, nl_ast_type **type);
NL_MUST_USE nl_status nl_parse_fields(nl_parser *p, nl_ast_fields *fields); /* a INT NOT NULL COMMENT 'x', … */
NL_MUST_USE nl_status nl_parse_field(nl_parser *p, nl_ast_field *field);
/* What Spark refuses while it parses a type (children were checked before): unknown names, wrong numbers. */
NL_MUST_USE nl_status nl_ast_type_check(nl_arena *arena, const nl_ast_type *type, bool *has_place);

/* ---- queries --------------------------------------------------------------------------------------------------------- */

NL_MUST_USE nl_status nl_parse_query(nl_parser *p, nl_ast_query **query);
NL_MUST_USE nl_status nl_parse_ctes(nl_parser *p, nl_ast_ctes *ctes); /* at WITH; their names are unchecked yet */
NL_MUST_USE nl_status nl_parser_check_ctes(nl_parser *p, nl_ast_range range, const nl_ast_ctes *ctes); /* when all has parsed */
/* The rest of a query whose WITH, or whose first term, is there already. */
NL_MUST_USE nl_status nl_parse_query_after(nl_parser *p, uint32_t first, const nl_ast_ctes *ctes, nl_ast_term *term, nl_ast_query **query);
NL_MUST_USE nl_status nl_parse_organization(nl_parser *p, nl_ast_organization *organization);
/* After FROM relations (taken): the bodies of a query that begins with FROM. */
NL_MUST_USE nl_status nl_parse_from_bodies(nl_parser *p, uint32_t first, nl_ast_relation *from, nl_ast_term **term);
NL_MUST_USE nl_status nl_parse_from_body(nl_parser *p, nl_ast_relation *from, nl_ast_query **query);
/* What stands in parentheses: a query, or else expressions. At the `(`; takes the `)`. */
NL_MUST_USE nl_status nl_parse_parentheses(nl_parser *p, bool may_have_aliases, nl_ast_query **query, nl_list *exprs);
/* A query where one stands, else an expression; exactly one is set. */
NL_MUST_USE nl_status nl_parse_query_or_expression(nl_parser *p, nl_ast_query **query, nl_ast_expr **expr);
bool nl_query_is_only_parentheses(const nl_ast_query *query); /* (query) and nothing around it */
/* Whether the words at the cursor go on with a query after its first term: UNION, ORDER BY, LIMIT, |> … */
bool nl_parser_continues_query(const nl_parser *p);
NL_MUST_USE nl_status nl_parse_windows(nl_parser *p, nl_ast_named_windows *windows); /* at WINDOW, or nothing */
NL_MUST_USE nl_status nl_parse_group_by(nl_parser *p, bool may_have_aliases, nl_ast_group_by **group_by);   /* at GROUP */
NL_MUST_USE nl_status nl_parse_select_clause(nl_parser *p, nl_ast_select *select);   /* at SELECT */
NL_MUST_USE nl_status nl_parse_transform_clause(nl_parser *p, nl_ast_select *select);
bool nl_parser_starts_transform(const nl_parser *p);
NL_MUST_USE nl_status nl_parse_set_quantifier(nl_parser *p, nl_ast_set_quantifier *quantifier);
bool nl_parser_has_quantifier(const nl_parser *p); /* ALL or DISTINCT at the cursor, as a keyword */
NL_MUST_USE nl_status nl_parse_pipe(nl_parser *p, uint32_t first, nl_ast_term *left, nl_ast_term **term);
NL_MUST_USE nl_status nl_parse_query_primary(nl_parser *p, nl_ast_term **term);
nl_ast_term *nl_parser_new_term(nl_parser *p, nl_ast_term_kind kind, uint32_t first_token);

NL_MUST_USE nl_status nl_parse_from(nl_parser *p, nl_ast_relation **from); /* after FROM: relations, views, pivots */
NL_MUST_USE nl_status nl_parse_lateral_views(nl_parser *p, nl_ast_relation **input);
NL_MUST_USE nl_status nl_parse_relation_after(nl_parser *p, uint32_t first, nl_ast_relation *left, nl_ast_relation **relation);
NL_MUST_USE nl_status nl_parse_join(nl_parser *p, uint32_t first, nl_ast_relation *left, nl_ast_relation **relation);
NL_MUST_USE nl_status nl_parse_pivot(nl_parser *p, uint32_t first, nl_ast_relation *input, nl_ast_relation **relation);
NL_MUST_USE nl_status nl_parse_unpivot(nl_parser *p, uint32_t first, nl_ast_relation *input, nl_ast_relation **relation);
bool nl_parser_starts_pivot(const nl_parser *p);
bool nl_parser_starts_unpivot(const nl_parser *p);
NL_MUST_USE nl_status nl_parse_sample(nl_parser *p, nl_ast_sample **sample);
NL_MUST_USE nl_status nl_parse_values(nl_parser *p, nl_ast_relation **relation); /* at VALUES */
NL_MUST_USE nl_status nl_parse_table_alias(nl_parser *p, nl_ast_table_alias *alias);
nl_ast_relation *nl_parser_new_relation(nl_parser *p, nl_ast_relation_kind kind, uint32_t first_token);

/* ---- statements -------------------------------------------------------------------------------------------------------- */

NL_MUST_USE nl_status nl_parse_statement(nl_parser *p, nl_ast_statement **statement);
NL_MUST_USE nl_status nl_parse_script(nl_parser *p, nl_ast_statement **statement); /* at BEGIN, or a label before it */
bool nl_parser_starts_script(const nl_parser *p);
nl_ast_statement *nl_parser_new_statement(nl_parser *p, nl_ast_statement_kind kind);

typedef nl_status nl_statement_rule(nl_parser *p, nl_ast_statement **statement); /* at the statement's first word */
nl_statement_rule nl_parse_insert, nl_parse_delete, nl_parse_update, nl_parse_merge, nl_parse_from_statement;
nl_statement_rule nl_parse_create, nl_parse_replace, nl_parse_alter, nl_parse_drop, nl_parse_show, nl_parse_describe;
nl_statement_rule nl_parse_explain, nl_parse_comment, nl_parse_refresh, nl_parse_cache, nl_parse_uncache;
nl_statement_rule nl_parse_clear, nl_parse_analyze, nl_parse_load, nl_parse_truncate, nl_parse_repair;
nl_statement_rule nl_parse_resource, nl_parse_call_procedure, nl_parse_use, nl_parse_set, nl_parse_reset;
nl_statement_rule nl_parse_execute, nl_parse_declare, nl_parse_create_index;
NL_MUST_USE nl_status nl_parse_create_function(nl_parser *p, bool is_replace, nl_ast_statement **statement);
NL_MUST_USE nl_status nl_parse_with_statement(nl_parser *p, nl_ast_statement **statement); /* WITH … query or write */
NL_MUST_USE nl_status nl_parse_assignments(nl_parser *p, nl_ast_assignments *assignments);
NL_MUST_USE nl_status nl_parse_set_variable(nl_parser *p, nl_ast_statement **statement); /* after SET [VAR] */
NL_MUST_USE nl_status nl_parse_insert_target(nl_parser *p, nl_ast_insert_target *target); /* at INSERT */
NL_MUST_USE nl_status nl_parse_partition_spec(nl_parser *p, nl_ast_partition_spec **spec); /* at PARTITION, else NULL */
NL_MUST_USE nl_status nl_parse_full_partition_spec(nl_parser *p, bool is_whole_statement, nl_ast_partition_spec **spec);
NL_MUST_USE nl_status nl_parse_partition_field(nl_parser *p, bool may_be_column, nl_ast_partition_field *field);
NL_MUST_USE nl_status nl_parse_table_clauses(nl_parser *p, nl_ast_table_clauses *clauses);
NL_MUST_USE nl_status nl_parser_check_table_properties(nl_parser *p, const nl_ast_properties *properties);
NL_MUST_USE nl_status nl_parser_check_namespace_properties(nl_parser *p, const nl_ast_properties *properties);
NL_MUST_USE nl_status nl_parser_check_formats(nl_parser *p, const nl_ast_row_format *row, const nl_ast_file_format *file);
NL_MUST_USE nl_status nl_parse_column_definitions(nl_parser *p, nl_ast_column_definitions *columns);
NL_MUST_USE nl_status nl_parse_row_format(nl_parser *p, nl_ast_row_format **format);   /* at ROW    */
NL_MUST_USE nl_status nl_parse_file_format(nl_parser *p, nl_ast_file_format **format); /* at STORED */
NL_MUST_USE nl_status nl_parse_bucket_spec(nl_parser *p, nl_ast_bucket_spec **bucket); /* at CLUSTERED */
NL_MUST_USE nl_status nl_parse_schema_binding(nl_parser *p, nl_ast_schema_binding *binding);
NL_MUST_USE nl_status nl_parse_if_not_exists(nl_parser *p, bool *is_there);
NL_MUST_USE nl_status nl_parse_if_exists(nl_parser *p, bool *is_there);
NL_MUST_USE nl_status nl_parse_iceberg_alter(nl_parser *p, nl_ast_alter_table *alter, bool *is_there);
bool nl_parser_is_namespace_word(nl_token_kind kind); /* DATABASE, SCHEMA, NAMESPACE */
