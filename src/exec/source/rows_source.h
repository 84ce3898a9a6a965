/* exec/source/rows_source.h - relations whose rows are made on the spot, part by part: metadata tables. */
#pragma once

#include "exec/scan.h"
#include "exec/sources.h"

/* Makes the rows of one part: appends to builders[i] for every wanted column, and one null to each other. Called once
 * per part, from any worker. */
typedef nl_status (*nl_rows_producer)(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders);

typedef struct nl_rows_definition {
    const char *kind;            /* for EXPLAIN */
    nl_str name;                 /* the same; lives as long as the owner */
    const nl_type *row_type;     /* lives as long as the owner */
    uint32_t part_count;
    nl_rows_producer produce;
    void *owner;                 /* taken */
    void (*free_owner)(void *owner);
} nl_rows_definition;
NL_MUST_USE nl_status nl_rows_source_new(const nl_rows_definition *definition, const nl_table **source);
