/* connect/translate.h - relations and expressions of the protocol as AST. Private to src/connect.
 *
 * Trees are made in one arena, together with the texts they mention: nothing of the messages is kept. Chains of relations
 * are walked with a loop; what nests otherwise counts towards a limit.
 */
#pragma once

#include "base/json.h"
#include "connect/plan.h"
#include "sql/parser.h"

#define NL_CONNECT_DEPTH_MAX 1000u /* relations beside relations, expressions in expressions */
#define NL_TRANSLATED_TEXT_MAX (256u << 20)
#define NL_CONNECT_CHAIN_MAX 2000u /* steps of one DataFrame                                 */

/* The streams of a relation that is translated again and again: they stay what the first translation has made of them. */
typedef struct nl_translated_streams {
    const struct nl_table **items; /* of malloc; counted; in the order of the translation */
    uint32_t count, next;
} nl_translated_streams;

typedef struct nl_translator {
    nl_connect_host *host;
    nl_arena *arena;
    nl_str text;          /* of the statement read last (nl_translate_statement) */
    uint32_t depth;
    const struct nl_references *references; /* of with_relations, innermost first */
    nl_builder origins;   /* what ranges mean, piece by piece: see nl_translate_text */
    size_t origin_bytes;  /* of call sites in it */
    nl_ast_range last_origin;
    nl_list placed;       /* nl_ast_expr *: those whose ranges are call sites */
    nl_list texts;        /* nl_ast_text_query *: those whose ranges are in origins */
    bool has_origins;     /* ranges are asked for */
    nl_translated_streams *streams; /* borrowed; NULL: streams are made anew */
} nl_translator;

typedef struct nl_references {
    const struct nl_references *outer;
    Spark__Connect__Relation *const *relations;
    size_t count;
} nl_references;

/* The text that the ranges of a tree mean: the pieces of SQL met and the call sites of a DataFrame's expressions, marked as such
 * (nl_query_context). In the arena; ends what the translator holds. */
nl_str nl_translate_text(nl_translator *t);
/* Makes SQL a piece of that text, and options say where it begins. */
void nl_translate_piece(nl_translator *t, nl_str sql, nl_sql_options *options);

/* InvalidPlanInput. */
nl_status nl_connect_invalid(const char *message);
nl_status nl_connect_unsupported(const char *what);

/* Any relation but those that only stand at the top (show_string, catalog …). */
NL_MUST_USE nl_status nl_translate_relation(nl_translator *t, const Spark__Connect__Relation *relation, nl_ast_term **term);
NL_MUST_USE nl_status nl_translate_query(nl_translator *t, const Spark__Connect__Relation *relation, nl_ast_query **query);
/* The relation that a step stands over (a join's left side); false: it is a leaf. */
bool nl_translate_input(const Spark__Connect__Relation *relation, const Spark__Connect__Relation **input);
/* translate_expression.c */
NL_MUST_USE nl_status nl_translate_expr(nl_translator *t, const Spark__Connect__Expression *message, nl_ast_expr **expr);
NL_MUST_USE nl_status nl_translate_exprs(nl_translator *t, Spark__Connect__Expression *const *messages, size_t count, nl_ast_exprs *exprs);
NL_MUST_USE nl_status nl_translate_sort(nl_translator *t, Spark__Connect__Expression__SortOrder *const *messages, size_t count, nl_ast_sort_items *items);
NL_MUST_USE nl_status nl_translate_alias(nl_translator *t, const Spark__Connect__Expression__Alias *message, nl_ast_expr **expr);
NL_MUST_USE nl_status nl_translate_function(nl_translator *t, nl_str name, nl_ast_expr **args, uint32_t count, bool is_distinct, nl_ast_expr **expr);
NL_MUST_USE nl_status nl_translate_call(nl_translator *t, nl_str name, Spark__Connect__Expression *const *arguments, size_t count, nl_ast_arguments *args);
/* "a.`b c`.d" as DataFrames read it: whatever is not a dot or a back-quote is part of a name. */
NL_MUST_USE nl_status nl_translate_name(nl_translator *t, nl_str text, nl_ast_name *name);
/* translate_python.c */
NL_MUST_USE nl_status nl_translate_python(nl_arena *arena, const Spark__Connect__CommonInlineUserDefinedFunction *message, const struct nl_python_function **function);
NL_MUST_USE nl_status nl_translate_python_call(nl_translator *t, const Spark__Connect__CommonInlineUserDefinedFunction *message, nl_ast_expr **expr);
NL_MUST_USE nl_status nl_translate_python_step(nl_translator *t, const Spark__Connect__Relation *relation, nl_ast_dataframe *dataframe);
NL_MUST_USE nl_status nl_translate_python_table(nl_translator *t, const Spark__Connect__CommonInlineUserDefinedTableFunction *message, nl_ast_term **term);
NL_MUST_USE nl_status nl_connect_register_python_table(nl_connect_host *host, const Spark__Connect__CommonInlineUserDefinedTableFunction *message);
NL_MUST_USE nl_status nl_connect_register_python(nl_connect_host *host, const Spark__Connect__CommonInlineUserDefinedFunction *message);
/* translate_literal.c */
NL_MUST_USE nl_status nl_translate_value(nl_translator *t, const Spark__Connect__Expression__Literal *message, nl_value *value);
nl_ast_expr *nl_value_expr(nl_arena *arena, const nl_value *value);
/* translate_source.c */
NL_MUST_USE nl_status nl_translate_local(nl_translator *t, const Spark__Connect__LocalRelation *message, nl_ast_term **term);
nl_ast_term *nl_translate_table(nl_translator *t, const nl_table *table); /* takes the reference */
NL_MUST_USE nl_status nl_translate_cached_local(nl_translator *t, const char *hash, nl_ast_term **term);
NL_MUST_USE nl_status nl_translate_chunked_local(nl_translator *t, const Spark__Connect__ChunkedCachedLocalRelation *message, nl_ast_term **term);
NL_MUST_USE nl_status nl_translate_read(nl_translator *t, const Spark__Connect__Read *message, nl_ast_term **term);
NL_MUST_USE nl_status nl_translate_sql(nl_translator *t, const Spark__Connect__SQL *message, nl_ast_term **term);
/* The DataFrames that an SQL command names become names of its WITH. */
NL_MUST_USE nl_status nl_translate_command_views(nl_translator *t, const Spark__Connect__WithRelations *message, nl_ast_statement *statement);
/* The arguments of an SQL text, for a statement that is no query. */
NL_MUST_USE nl_status nl_translate_parameters(nl_translator *t, const Spark__Connect__SQL *message, nl_command_made *made);
/* An SQL relation or command's text, parsed; statement->kind says whether it is a query. */
NL_MUST_USE nl_status nl_translate_statement(nl_translator *t, nl_str text, nl_ast_statement **statement);

nl_ast_expr *nl_new_expr(nl_arena *arena, nl_ast_expr_kind kind);
static inline nl_ast_ident nl_ident_of(nl_str text)
{
    return (nl_ast_ident){.text = text, .is_quoted = true};
}
nl_ast_term *nl_relation_term(nl_arena *arena, nl_ast_relation *relation);
nl_str nl_copy_text(nl_arena *arena, const char *text); /* NULL: empty */
