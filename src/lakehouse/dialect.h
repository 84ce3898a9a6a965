/* lakehouse/dialect.h - statements in Trino's dialect (Athena, the Trino protocol) as text that the engine's parser reads.
 *
 * Works on tokens: literals, quoted names, metadata tables ("t$snapshots"), types, NULLS LAST, FETCH and OFFSET, UNNEST, table
 * definitions, and every function call, which is a row of a table or refused by name. What differs by type (decimals, casts,
 * array indices) is asked of the engine by a conf; what no function of the engine does is in function/trino.
 * Source: Trino's documentation, "SQL language" and "Functions and operators"; Athena's user guide; tests/trino.
 */
#pragma once

#include "base/arena.h"
#include "base/status.h"

/* What stands for a name like system.jdbc.tables or lake.information_schema.columns: parts in lower case, without quotes. Text of
 * a subquery in brackets, in the arena; *text untouched: the name stays. */
typedef struct nl_dialect_names {
    nl_status (*find)(void *argument, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_str *text);
    void *argument;
    nl_str catalog, schema; /* the current ones, for "t$files" alone; empty: none */
} nl_dialect_names;

/* The text for the engine, in the arena; *then what is to be run behind it (VACUUM), or empty. What cannot be read as tokens is left to
 * the parser's error. Fails: UNRESOLVED_ROUTINE, NILAS_UNSUPPORTED, NILAS_ILLEGAL_ARGUMENT, and as names->find does (NULL: never). */
NL_MUST_USE nl_status nl_dialect_to_engine(nl_arena *arena, nl_str sql, const nl_dialect_names *names, nl_str *text, nl_str *then);

/* The ?s outside of literals, names and comments become the parameters, each of them one expression. Fails: NILAS_ILLEGAL_ARGUMENT. */
NL_MUST_USE nl_status nl_dialect_put_parameters(nl_arena *arena, nl_str sql, const nl_str *items, uint32_t count, nl_str *text);
/* What stands behind USING: "1, f(2, 3)" is two. They stay slices of the text. */
uint32_t nl_dialect_split_parameters(nl_arena *arena, nl_str text, const nl_str **items);

/* The session's confs for such texts; beside them the defaults of Spark hold: backslashes are escapes. */
extern const nl_property nl_dialect_confs[];
extern const uint32_t nl_dialect_conf_count;
