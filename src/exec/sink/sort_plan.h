/* exec/sink/sort_plan.h - the order a table wants its rows written in, as a plan. */
#pragma once

#include "iceberg/metadata.h"
#include "plan/logical.h"

/* *plan: input sorted by a table's order. The first columns of input are the schema's. */
NL_MUST_USE nl_status nl_sort_by_order(nl_arena *arena, const nl_schema *schema, const nl_sort_order *order, const nl_logical *input, const nl_logical **plan);
/* A transform of a column as an expression. */
const nl_expr *nl_transform_expr(nl_arena *arena, const nl_transform *transform, const nl_ice_type *source, const nl_expr *column);
