/* plan/optimizer/unnest.h - how correlated subqueries become joins. Private to the optimizer.
 *
 * Two ways. Pulling (unnest_pull.c): predicates that mention the enclosing query move up out of the subquery into the
 * join's condition; enough for nearly all queries and cheap. The domain way (unnest_domain.c; Neumann and Kemper,
 * "Unnesting Arbitrary Queries", 2015): the subquery is computed once for every distinct binding of its outer columns.
 */
#pragma once

#include "plan/optimizer/rules.h"

typedef struct nl_pulled {
    const nl_logical *plan;   /* without outer references; the original columns keep their ids                    */
    nl_list conditions;       /* const nl_expr *, mentioning outer references and columns of plan                  */
    bool is_scalar_aggregate; /* an aggregation without keys became one with keys: no row where there was one row */
} nl_pulled;

/* False when this way cannot do it; then nothing is said about *pulled. */
NL_MUST_USE nl_status nl_unnest_pull(nl_plan_context *context, const nl_logical *plan, nl_pulled *pulled, bool *is_done);

typedef struct nl_domain_result {
    const nl_logical *plan;     /* the subquery's columns (same ids) and the domain's */
    const nl_expr *condition;   /* over outer references and the domain's columns     */
} nl_domain_result;
/* outer: the plan whose columns the subquery mentions. */
NL_MUST_USE nl_status nl_unnest_domain(nl_plan_context *context, const nl_logical *outer, const nl_logical *plan, nl_domain_result *result);

/* The columns of the enclosing query that the plan mentions. */
void nl_collect_outer(nl_arena *arena, const nl_logical *plan, nl_list *found);
/* The aggregation's outputs when its input has no rows, each as a scalar subquery over no rows. */
NL_MUST_USE nl_status nl_empty_aggregate_value(nl_plan_context *context, const nl_logical *aggregate, uint32_t column, const nl_expr **value);
/* Do all aggregates give null for no rows? */
bool nl_aggregates_are_null_on_empty(const nl_logical *aggregate);
