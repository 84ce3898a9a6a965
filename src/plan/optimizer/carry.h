/* plan/optimizer/carry.h - a hidden column of a node far below, given on by all that lies between: which file a row is of, which
 * partition. Only nodes that pass rows one by one give it on; above others nothing is known of it.
 */
#pragma once

#include "plan/optimizer/rules.h"

typedef struct nl_carrier nl_carrier;
struct nl_carrier {
    nl_plan_context *context;
    /* The node's own column, or NULL; *carrying is the node, changed where the column was to be added. */
    const nl_column *(*find)(nl_carrier *self, const nl_logical *plan, const nl_logical **carrying);
    bool (*has)(const nl_logical *plan); /* may there be one in the plan? Of a join's sides the first one that has counts */
};

/* The plan with the column among its outputs (at the end of those that it takes from its child); NULL: there is none, and *carrying
 * is the plan. Recursion is as deep as the plan. */
const nl_column *nl_carry(nl_carrier *self, const nl_logical *plan, const nl_logical **carrying);
/* The node, not seen by anyone else yet, with one more column at a place. */
const nl_column *nl_carry_add_column(nl_arena *arena, nl_logical *node, uint32_t at, const nl_column *column);
/* Replaces child and column lists of a node over one that now carries `column`; keeps its outputs. rewritten: its expressions replaced by visit. */
NL_MUST_USE nl_status nl_carry_rewrite(const nl_logical *plan, const nl_logical *child, const nl_column *column, nl_arena *arena, nl_expr_rewrite_fn visit, void *context,
                                       const nl_logical **result);
