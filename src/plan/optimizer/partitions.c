/* Partitions of rows, as far as one process has them: repartition(), coalesce() and ranges of a given number of partitions bring a
 * hidden column that tells each row's partition. spark_partition_id() is that column, where rows reach it one by one; writers of
 * plain files make a file for each partition.
 */
#include "plan/optimizer/carry.h"

#include "base/number.h"

typedef struct numbering {
    nl_carrier partitions, places;
    const nl_column *partition, *place; /* of the node being rewritten; place NULL: not known */
} numbering;

static const nl_column *find_hidden(const nl_logical *plan, nl_str start)
{
    for (uint32_t i = plan->column_count; i-- > 0 && plan->kind == NL_PLAN_PROJECT;)
        if (plan->columns[i].is_hidden && nl_str_starts(plan->columns[i].name, start)) return &plan->columns[i];
    return NULL;
}

static const nl_column *find_partition(nl_carrier *self, const nl_logical *plan, const nl_logical **carrying)
{
    (void)self;
    (void)carrying;
    return find_hidden(plan, NL_STR(NL_PARTITION_COLUMN));
}

static const nl_column *find_place(nl_carrier *self, const nl_logical *plan, const nl_logical **carrying)
{
    (void)self;
    (void)carrying;
    return find_hidden(plan, NL_STR(NL_PLACE_COLUMN));
}

static bool has_partition(const nl_logical *plan)
{
    const nl_logical *ignored = plan;
    bool has = find_partition(NULL, plan, &ignored) != NULL;
    for (uint32_t i = 0; i < plan->child_count && !has; i++) has = has_partition(plan->children[i]);
    return has;
}

static bool is_other(void *context, const nl_expr *expr)
{
    (void)context;
    return !nl_is_call(expr, "spark_partition_id") && !nl_is_call(expr, "monotonically_increasing_id");
}

static bool walk(void *context, const nl_expr *expr)
{
    return nl_expr_walk(expr, is_other, context);
}

static nl_status call(const numbering *self, const char *name, const nl_expr *a, const nl_expr *b, const nl_expr **result)
{
    const nl_expr *arguments[] = {a, b};
    return nl_expr_call_named(self->partitions.context->arena, self->partitions.context->confs, name, arguments, 2, result);
}

/* The id's upper bits are the partition, the rest is the row's place in it. Where that is not known the function counts by itself. */
static nl_status replace(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    const numbering *self = context;
    const nl_value scale = nl_value_int(nl_type_bigint(), INT64_C(1) << 33);
    const nl_expr *partition = nl_column_ref(arena, self->partition), *high;
    *result = expr;
    if (nl_is_call(expr, "spark_partition_id")) *result = nl_expr_with_span(arena, partition, expr->span);
    if (!self->place || !nl_is_call(expr, "monotonically_increasing_id")) return NULL;
    NL_TRY(call(self, "*", nl_expr_cast(arena, partition, nl_type_bigint(), NL_CAST_ANSI), nl_expr_literal(arena, &scale), &high));
    return call(self, "+", high, nl_column_ref(arena, self->place), result);
}

static nl_status replace_in(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, replace, context, result);
}

static nl_status visit(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    numbering *self = context;
    const nl_logical *child = NULL;
    *result = plan;
    if (plan->child_count != 1 || nl_logical_walk_exprs(plan, walk, NULL) || !has_partition(plan->children[0])) return NULL;
    if (plan->kind != NL_PLAN_PROJECT) return NULL; /* elsewhere the function speaks for itself */
    self->partition = nl_carry(&self->partitions, plan->children[0], &child);
    if (!self->partition) return NULL;
    self->place = nl_carry(&self->places, child, &child);
    return nl_carry_rewrite(plan, child, self->partition, arena, replace_in, self, result);
}

nl_status nl_rule_number_partitions(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    numbering self = {.partitions = {.context = context, .find = find_partition, .has = has_partition},
                      .places = {.context = context, .find = find_place, .has = has_partition}};
    return nl_logical_rewrite(context->arena, plan, visit, &self, result);
}

bool nl_plan_carry_partition(nl_plan_context *context, const nl_logical *plan, const nl_logical **carrying, uint32_t *part_count)
{
    nl_carrier self = {.context = context, .find = find_partition, .has = has_partition};
    int64_t count = 0;
    *carrying = plan;
    if (!has_partition(plan)) return false;
    const nl_logical *made = NULL;
    const nl_column *column = nl_carry(&self, plan, &made);
    if (!column) return false;
    nl_column *columns = NL_NEW_ARRAY(context->arena, nl_column, plan->column_count + 1);
    nl_copy_items(columns, plan->columns, plan->column_count * sizeof *columns);
    columns[plan->column_count] = *column;
    *carrying = nl_logical_keep(context->arena, made, columns, plan->column_count + 1);
    if (!nl_parse_int64(nl_str_slice(column->name, sizeof(NL_PARTITION_COLUMN) - 1, column->name.length), &count)) count = 0;
    *part_count = (uint32_t)NL_MIN(NL_MAX(count, 0), INT32_MAX);
    return true;
}
