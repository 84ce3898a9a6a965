/* exec/source/predicate.h - filters of a scan as predicates that prune files, row groups and pages.
 *
 * The predicate is implied by the filter (it may keep more rows, never fewer); *is_exact says that it is equivalent, so
 * that a file all of whose rows match it needs no filter, and a DELETE by it may drop whole files.
 */
#pragma once

#include "iceberg/expression.h"
#include "plan/logical.h"

/* Field ids are those of the scan's row type (nl_field.field_id; nested fields of structs included). */
NL_MUST_USE nl_status nl_predicate_of_expr(nl_arena *arena, const nl_expr *filter, const nl_logical *scan, const nl_predicate **predicate, bool *is_exact);
