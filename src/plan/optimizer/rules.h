/* plan/optimizer/rules.h - the optimizer's rules and what they share. Private to src/plan.
 *
 * A rule takes a whole plan and returns it or a better one with the same rows and the same output columns (ids; other
 * columns may be added or reordered below the root only). optimize.c applies them in one fixed order.
 */
#pragma once

#include "plan/plan.h"

/* memcpy that may be asked to copy nothing from nowhere. */
static inline void nl_copy_items(void *to, const void *from, size_t size_bytes)
{
    if (size_bytes) memcpy(to, from, size_bytes);
}

typedef nl_status (*nl_rule_apply)(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
typedef struct nl_rule {
    const char *name;
    nl_rule_apply apply;
    bool is_required; /* exec cannot run plans without it: never disabled */
} nl_rule;
extern const nl_rule nl_rules[];
extern const uint32_t nl_rule_count;

NL_MUST_USE nl_status nl_rule_remove_aliases(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_number_partitions(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_name_input_files(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_inline_ctes(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_rewrite_sets(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_sort_map_keys(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_key_collations(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_simplify(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_unnest_subqueries(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_push_filters(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_check_cross_joins(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_order_joins(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_push_semi_joins(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_prune_columns(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_merge_projects(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_push_limits(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_use_metadata(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_remove_empty(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_extract_python(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);
NL_MUST_USE nl_status nl_rule_choose_build_sides(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);

/* ---- sets of column ids (idset.c) ---- */
typedef struct nl_id_set {
    nl_arena *arena;
    uint64_t *words;
    uint32_t word_count;
} nl_id_set;
void nl_id_set_add(nl_id_set *set, nl_column_id id);
bool nl_id_set_has(const nl_id_set *set, nl_column_id id);
void nl_id_set_add_columns(nl_id_set *set, const nl_column *columns, uint32_t count);
void nl_id_set_add_expr(nl_id_set *set, const nl_expr *expr); /* the columns it reads, outer ones included */
/* Does the expression read only columns of the set? */
bool nl_expr_within(const nl_expr *expr, const nl_id_set *set);
bool nl_expr_touches(const nl_expr *expr, const nl_id_set *set);
nl_id_set nl_plan_ids(nl_arena *arena, const nl_logical *plan); /* its output columns */

/* ---- substitution (substitute.c) ---- */
/* Columns replaced by expressions: from[i] by to[i]. */
typedef struct nl_substitution {
    const nl_column *columns;
    const nl_expr *const *exprs;
    uint32_t count;
} nl_substitution;
NL_MUST_USE nl_status nl_substitute(nl_arena *arena, const nl_expr *expr, const nl_substitution *substitution, const nl_expr **result);
/* Every OUTER reference becomes a plain column. */
NL_MUST_USE nl_status nl_outer_to_column(nl_arena *arena, const nl_expr *expr, const nl_expr **result);

bool nl_expr_is_true(const nl_expr *expr);
bool nl_expr_is_false_or_null(const nl_expr *expr);
bool nl_plan_has_outer(const nl_logical *plan);
bool nl_plan_is_deterministic(const nl_logical *plan);
/* Can the condition not be true when all the columns of the set are null? */
bool nl_expr_rejects_nulls(const nl_expr *expr, const nl_id_set *set);

/* ---- estimates (estimate.c) ---- */
double nl_estimate_rows(nl_plan_context *context, const nl_logical *plan);
/* Distinct values of a column of the plan; *is_known false: a guess. */
double nl_estimate_distinct(nl_plan_context *context, const nl_logical *plan, nl_column_id id, bool *is_known);
/* The least that equalities of columns of two tables keep of their product; 0 for other conjuncts. */
double nl_estimate_join_floor(nl_plan_context *context, const nl_logical *left, const nl_logical *right, const nl_expr *conjunct);
double nl_estimate_base_rows(nl_plan_context *context, const nl_logical *plan, nl_column_id id);

/* Adds the equalities that follow from a list's between disjoint relations (equalities.c). class_of_conjunct: by place in
 * the list, 0 or the number (at most 63) of the class of equal columns that it is of; of each class one equality is enough
 * where two sets of relations are joined. */
NL_MUST_USE nl_status nl_derive_equalities(nl_plan_context *context, const nl_id_set *ids, uint32_t relation_count, nl_list *conjuncts,
                                           uint8_t **class_of_conjunct);

/* ---- common table expressions (ctes.c) ---- */
/* References keep the definition that the analyzer gave them; rules work on that of the CTE node and note what they made. */
void nl_note_definition(nl_plan_context *context, uint32_t id, const nl_logical *definition);
/* Of a CTE or a reference to one. */
const nl_logical *nl_current_definition(const nl_plan_context *context, const nl_logical *plan);
/* What every row of the CTE must satisfy to be of use to one of its references in the plan; NULL: all rows may be. */
NL_MUST_USE nl_status nl_cte_condition(nl_plan_context *context, const nl_logical *cte, const nl_logical *plan, const nl_expr **condition);

/* A fixed conjunction of a list of const nl_expr *, or NULL. */
const nl_expr *nl_conjunction(nl_arena *arena, const nl_list *conjuncts);
/* The conjunct a = b as its sides; false for anything else. */
bool nl_as_equality(const nl_expr *expr, const nl_expr **left, const nl_expr **right);
bool nl_is_call(const nl_expr *expr, const char *name);
/* A new column like the expression. */
nl_column nl_column_for(nl_plan_context *context, const nl_expr *expr, nl_str name);
NL_MUST_USE nl_status nl_call_rule(nl_plan_context *context, const char *name, const nl_expr *a, const nl_expr *b, const nl_expr **result);
/* An aggregate call by name; arguments have the right types already (count(1), max(x) …). */
NL_MUST_USE nl_status nl_aggregate_rule(nl_plan_context *context, const char *name, const nl_expr *argument, const nl_expr **result);
/* Splits a condition's conjuncts over the join's sides: touching only left, only right, both (or neither). */
void nl_split_conjuncts(nl_arena *arena, const nl_list *conjuncts, const nl_id_set *left, const nl_id_set *right, nl_list *left_only,
                        nl_list *right_only, nl_list *both);
