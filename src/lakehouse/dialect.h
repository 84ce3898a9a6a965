/* lakehouse/dialect.h - statements in Trino's dialect (Athena, the Trino protocol) as text that the engine's parser reads.
 *
 * Works on tokens: literals, quoted names, metadata tables ("t$snapshots"), NULLS LAST, FETCH and OFFSET, type names,
 * UNNEST, ARRAY[…], and functions whose name, arguments or patterns differ. What differs by type (integer division, array
 * indices from 1) is asked of the engine by a conf. What has no counterpart is left, so that the engine refuses it by name.
 * Source: Trino's documentation, "SQL language" and "Functions and operators"; Athena's user guide.
 */
#pragma once

#include "base/arena.h"

/* The text for the engine, in the arena. Never fails: what cannot be read as tokens is left to the parser's error. */
nl_str nl_dialect_to_engine(nl_arena *arena, nl_str sql);

/* The session's confs for such texts; beside them the defaults of Spark hold: backslashes are escapes. */
extern const nl_property nl_dialect_confs[];
extern const uint32_t nl_dialect_conf_count;
