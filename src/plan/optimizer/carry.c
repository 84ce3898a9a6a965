/* plan/optimizer/carry.c - see carry.h. */
#include "plan/optimizer/carry.h"

const nl_column *nl_carry_add_column(nl_arena *arena, nl_logical *node, uint32_t at, const nl_column *column)
{
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, node->column_count + 1);
    nl_copy_items(columns, node->columns, at * sizeof *columns);
    columns[at] = *column;
    nl_copy_items(columns + at + 1, node->columns + at, (node->column_count - at) * sizeof *columns);
    node->columns = columns;
    node->column_count++;
    return &columns[at];
}

/* A projection gives the column on, under an id of its own where it is not among its own already. */
static const nl_column *carry_through_project(nl_carrier *self, const nl_logical *plan, const nl_logical **carrying)
{
    nl_arena *arena = self->context->arena;
    const nl_logical *child = plan->children[0];
    const nl_column *column = nl_carry(self, child, &child);
    if (!column) return NULL;
    nl_logical *copy = nl_logical_copy(arena, nl_logical_with_children(arena, plan, &child));
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, plan->column_count + 1);
    nl_copy_items(exprs, plan->project.exprs, plan->column_count * sizeof *exprs);
    exprs[plan->column_count] = nl_column_ref(arena, column);
    nl_column made = *column;
    if (nl_logical_find_column(plan, column->id)) made.id = nl_plan_new_id(self->context);
    copy->project.exprs = exprs;
    *carrying = copy;
    return nl_carry_add_column(arena, copy, plan->column_count, &made);
}

/* A node whose columns begin with its child's. */
static const nl_column *carry_through(nl_carrier *self, const nl_logical *plan, const nl_logical **carrying)
{
    nl_arena *arena = self->context->arena;
    const nl_logical *child = plan->children[0];
    const uint32_t count = child->column_count;
    const nl_column *column = nl_carry(self, child, &child);
    if (!column || child == plan->children[0]) return column;
    nl_logical *copy = nl_logical_copy(arena, nl_logical_with_children(arena, plan, &child));
    *carrying = copy;
    return nl_carry_add_column(arena, copy, NL_MIN(count, plan->column_count), column);
}

static const nl_column *carry_through_join(nl_carrier *self, const nl_logical *plan, const nl_logical **carrying)
{
    nl_arena *arena = self->context->arena;
    const bool is_left_only = plan->join.kind == NL_JOIN_SEMI || plan->join.kind == NL_JOIN_ANTI || plan->join.kind == NL_JOIN_NULL_AWARE_ANTI || plan->join.kind == NL_JOIN_MARK;
    const nl_logical *sides[2] = {plan->children[0], plan->children[1]};
    const uint32_t side = self->has(sides[0]) ? 0 : 1;
    if (side == 1 && is_left_only) return NULL;
    const uint32_t at = side == 0 ? sides[0]->column_count : sides[0]->column_count + sides[1]->column_count;
    const nl_column *column = nl_carry(self, sides[side], &sides[side]);
    if (!column || sides[side] == plan->children[side]) return column;
    nl_logical *copy = nl_logical_copy(arena, nl_logical_with_children(arena, plan, sides));
    nl_column made = *column;
    made.is_nullable = true; /* of the side that an outer join fills up */
    *carrying = copy;
    return nl_carry_add_column(arena, copy, NL_MIN(at, plan->column_count), &made);
}

/* Each branch brings its own; one that reads nothing brings a null. */
static const nl_column *carry_through_union(nl_carrier *self, const nl_logical *plan, const nl_logical **carrying)
{
    nl_arena *arena = self->context->arena;
    const nl_logical **branches = NL_NEW_ARRAY(arena, const nl_logical *, plan->child_count + 1);
    const nl_column *first = NULL;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, plan->column_count + 1);
    for (uint32_t i = 0; i < plan->child_count; i++) {
        branches[i] = plan->children[i];
        const nl_column *column = nl_carry(self, branches[i], &branches[i]);
        if (!column || (first && !nl_type_equal(first->type, column->type))) return NULL;
        first = first ? first : column;
        nl_copy_items(columns, plan->children[i]->columns, plan->column_count * sizeof *columns);
        columns[plan->column_count] = *column;
        branches[i] = nl_logical_keep(arena, branches[i], columns, plan->column_count + 1);
        columns = NL_NEW_ARRAY(arena, nl_column, plan->column_count + 1);
    }
    if (!first) return NULL;
    nl_logical *copy = nl_logical_copy(arena, nl_logical_with_children(arena, plan, branches));
    nl_column made = *first;
    made.id = nl_plan_new_id(self->context);
    *carrying = copy;
    return nl_carry_add_column(arena, copy, plan->column_count, &made);
}

/* The plan with the hidden column among its outputs; NULL: there is none below, and the plan stays. Recursion is as deep as the plan. */
const nl_column *nl_carry(nl_carrier *self, const nl_logical *plan, const nl_logical **carrying)
{
    *carrying = plan;
    const nl_column *found = self->find(self, plan, carrying);
    if (found) return found;
    switch ((int)plan->kind) {
    case NL_PLAN_PROJECT: return carry_through_project(self, plan, carrying);
    case NL_PLAN_JOIN: return carry_through_join(self, plan, carrying);
    case NL_PLAN_SET: return plan->set.kind == NL_SET_UNION_ALL ? carry_through_union(self, plan, carrying) : NULL;
    case NL_PLAN_ALIAS:
    case NL_PLAN_FILTER:
    case NL_PLAN_WINDOW:
    case NL_PLAN_GENERATE:
    case NL_PLAN_SAMPLE:
    case NL_PLAN_OBSERVE: return carry_through(self, plan, carrying);
    default: return NULL;
    }
}

nl_status nl_carry_rewrite(const nl_logical *plan, const nl_logical *child, const nl_column *column, nl_arena *arena, nl_expr_rewrite_fn visit, void *context,
                           const nl_logical **result)
{
    nl_logical *copy = nl_logical_copy(arena, nl_logical_with_children(arena, plan, &child));
    const bool begins_with_child = plan->kind == NL_PLAN_FILTER || plan->kind == NL_PLAN_SORT || plan->kind == NL_PLAN_WINDOW || plan->kind == NL_PLAN_GENERATE || plan->kind == NL_PLAN_OBSERVE;
    if (begins_with_child && child != plan->children[0]) (void)nl_carry_add_column(arena, copy, NL_MIN(plan->children[0]->column_count, plan->column_count), column);
    NL_TRY(nl_logical_rewrite_exprs(arena, copy, visit, context, result));
    if (begins_with_child) *result = nl_logical_keep(arena, *result, plan->columns, plan->column_count);
    return nl_arena_check(arena);
}
