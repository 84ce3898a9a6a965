/* lakehouse/dialect.h - statements in Trino's dialect (Athena, the Trino protocol) as text that the engine's parser reads.
 *
 * Works on tokens: literals, quoted names, metadata tables ("t$snapshots"), NULLS LAST, FETCH and OFFSET, type names,
 * UNNEST, ARRAY[…], and functions whose name, arguments or patterns differ. What differs by type (integer division, array
 * indices from 1) is asked of the engine by a conf. What has no counterpart is left, so that the engine refuses it by name.
 * Source: Trino's documentation, "SQL language" and "Functions and operators"; Athena's user guide.
 */
#pragma once

#include "base/arena.h"
#include "base/status.h"

/* What stands for a name like system.jdbc.tables or lake.information_schema.columns: parts in lower case, without quotes. Text of
 * a subquery in brackets, in the arena; *text untouched: the name stays. */
typedef struct nl_dialect_names {
    nl_status (*find)(void *argument, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_str *text);
    void *argument;
} nl_dialect_names;

/* The text for the engine, in the arena. What cannot be read as tokens is left to the parser's error; fails as names->find
 * does (names NULL: never). */
NL_MUST_USE nl_status nl_dialect_to_engine(nl_arena *arena, nl_str sql, const nl_dialect_names *names, nl_str *text);

/* The session's confs for such texts; beside them the defaults of Spark hold: backslashes are escapes. */
extern const nl_property nl_dialect_confs[];
extern const uint32_t nl_dialect_conf_count;
