/* Plans as EXPLAIN prints them: a node a line, children indented by "+- " and ":- ". */
#include "plan/logical.h"

#define INDENT_BYTES_MAX 4096

static void append_exprs(const nl_expr *const *exprs, uint32_t count, nl_builder *out)
{
    nl_append_char(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i) nl_append_c(out, ", ");
        nl_expr_append_text(exprs[i], out);
    }
    nl_append_char(out, ']');
}

static void append_column(const nl_column *column, nl_builder *out)
{
    nl_append(out, column->name);
    nl_append_f(out, "#%u%s", column->id, column->type->id == NL_TYPE_BIGINT ? "L" : "");
}

static void append_columns(const nl_column *columns, uint32_t count, nl_builder *out)
{
    nl_append_char(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i) nl_append_c(out, ", ");
        append_column(&columns[i], out);
    }
    nl_append_char(out, ']');
}

/* "expr AS name#id", or just the column where nothing is renamed. */
static void append_named(const nl_expr *const *exprs, const nl_column *columns, uint32_t count, nl_builder *out)
{
    nl_append_char(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i) nl_append_c(out, ", ");
        nl_expr_append_text(exprs[i], out);
        if (exprs[i]->kind == NL_EXPR_COLUMN && exprs[i]->column == columns[i].id) continue;
        nl_append_c(out, " AS ");
        append_column(&columns[i], out);
    }
    nl_append_char(out, ']');
}

static void append_scan(const nl_logical *plan, nl_builder *out)
{
    nl_append_c(out, strcmp(plan->scan.table->ops->kind, "cache") == 0 ? "InMemoryTableScan " : "Relation ");
    if (plan->scan.table->ops->append_text)
        plan->scan.table->ops->append_text(plan->scan.table, out);
    else
        nl_append_c(out, plan->scan.table->ops->kind);
    append_columns(plan->columns, plan->column_count, out);
    if (plan->scan.filter) {
        nl_append_c(out, " filter: ");
        nl_expr_append_text(plan->scan.filter, out);
    }
    if (plan->scan.limit >= 0 && plan->scan.limit < INT64_MAX) nl_append_f(out, " limit: %lld", (long long)plan->scan.limit);
}

static void append_join(const nl_logical *plan, nl_builder *out)
{
    static const char *const names[] = {
        [NL_JOIN_INNER] = "Inner",   [NL_JOIN_LEFT] = "LeftOuter", [NL_JOIN_RIGHT] = "RightOuter",
        [NL_JOIN_FULL] = "FullOuter", [NL_JOIN_CROSS] = "Cross",    [NL_JOIN_SEMI] = "LeftSemi",
        [NL_JOIN_ANTI] = "LeftAnti", [NL_JOIN_NULL_AWARE_ANTI] = "NullAwareLeftAnti", [NL_JOIN_MARK] = "ExistenceJoin"};
    nl_append_f(out, "%sJoin %s", plan->join.is_lateral ? "Lateral" : "", names[plan->join.kind]);
    if (plan->join.kind == NL_JOIN_MARK) {
        nl_append_char(out, '(');
        append_column(&plan->columns[plan->column_count - 1], out);
        nl_append_char(out, ')');
    }
    if (plan->join.condition) {
        nl_append_c(out, ", ");
        nl_expr_append_text(plan->join.condition, out);
    }
}

static void append_sort(const nl_logical *plan, nl_builder *out)
{
    nl_append_c(out, "Sort [");
    for (uint32_t i = 0; i < plan->sort.key_count; i++) {
        const nl_sort_key *key = &plan->sort.keys[i];
        if (i) nl_append_c(out, ", ");
        nl_expr_append_text(key->expr, out);
        nl_append_f(out, " %s NULLS %s", key->is_descending ? "DESC" : "ASC", key->nulls_first ? "FIRST" : "LAST");
    }
    nl_append_f(out, "], %s", plan->sort.is_global ? "true" : "false");
}

static void append_aggregate(const nl_logical *plan, nl_builder *out)
{
    nl_append_c(out, "Aggregate ");
    append_exprs(plan->aggregate.keys, plan->aggregate.key_count, out);
    if (plan->aggregate.grouping_sets) {
        nl_append_c(out, ", sets {");
        for (uint32_t i = 0; i < plan->aggregate.grouping_set_count; i++)
            nl_append_f(out, "%s%llx", i ? ", " : "", (unsigned long long)plan->aggregate.grouping_sets[i]);
        nl_append_char(out, '}');
    }
    nl_append_c(out, ", ");
    append_exprs(plan->aggregate.aggregates, plan->aggregate.aggregate_count, out);
    nl_append_c(out, ", ");
    append_columns(plan->columns, plan->column_count, out);
}

static void append_values(const nl_logical *plan, nl_builder *out)
{
    if (plan->column_count == 0) {
        nl_append_c(out, "OneRowRelation");
        return;
    }
    nl_append_c(out, "LocalRelation ");
    append_columns(plan->columns, plan->column_count, out);
    nl_append_f(out, " rows: %u", plan->values.row_count);
}

static void append_set(const nl_logical *plan, nl_builder *out)
{
    static const char *const names[] = {[NL_SET_UNION_ALL] = "Union",
                                        [NL_SET_UNION] = "Union distinct",
                                        [NL_SET_INTERSECT] = "Intersect",
                                        [NL_SET_INTERSECT_ALL] = "Intersect All",
                                        [NL_SET_EXCEPT] = "Except",
                                        [NL_SET_EXCEPT_ALL] = "Except All"};
    nl_append_c(out, names[plan->set.kind]);
    nl_append_char(out, ' ');
    append_columns(plan->columns, plan->column_count, out);
}

static void append_limit(const nl_logical *plan, nl_builder *out)
{
    nl_append_c(out, "Limit ");
    if (plan->limit.limit >= 0)
        nl_append_int(out, plan->limit.limit);
    else
        nl_append_c(out, "ALL");
    if (plan->limit.offset) nl_append_f(out, " offset %lld", (long long)plan->limit.offset);
}

static void append_python(const nl_logical *plan, nl_builder *out)
{
    static const char *const names[] = {[NL_PYTHON_ADD] = "EvalPython",         [NL_PYTHON_MAP] = "MapInPython",
                                        [NL_PYTHON_GROUP] = "FlatMapGroupsInPython", [NL_PYTHON_COGROUP] = "FlatMapCoGroupsInPython",
                                        [NL_PYTHON_AGGREGATE] = "AggregateInPython", [NL_PYTHON_WINDOW] = "WindowInPython",
                                        [NL_PYTHON_EXPLODE] = "EvalPythonUDTF"};
    nl_append_f(out, "%s ", names[plan->python.shape]);
    for (uint32_t i = 0; i < plan->python.call_count; i++) {
        const nl_python_call *call = &plan->python.calls[i];
        for (uint32_t k = call->chain_count; k-- > 0;) nl_append_f(out, NL_STR_FMT "(", NL_STR_ARG(call->chain[k]->name));
        for (uint32_t k = 0; k < call->offset_count; k++) {
            if (k) nl_append_c(out, ", ");
            nl_expr_append_text(plan->python.arguments[call->offsets[k]], out);
        }
        for (uint32_t k = 0; k < call->chain_count; k++) nl_append_char(out, ')');
        nl_append_c(out, ", ");
    }
    append_columns(plan->columns, plan->column_count, out);
}

static void append_node(const nl_logical *plan, nl_builder *out)
{
    switch (plan->kind) {
    case NL_PLAN_SCAN:
        append_scan(plan, out);
        return;
    case NL_PLAN_VALUES:
        append_values(plan, out);
        return;
    case NL_PLAN_RANGE:
        nl_append_f(out, "Range (%lld, %lld, step=%lld)", (long long)plan->range.start, (long long)plan->range.stop,
                    (long long)plan->range.step);
        append_columns(plan->columns, plan->column_count, out);
        return;
    case NL_PLAN_PROJECT:
        nl_append_c(out, "Project ");
        append_named(plan->project.exprs, plan->columns, plan->column_count, out);
        return;
    case NL_PLAN_FILTER:
        nl_append_c(out, "Filter ");
        nl_expr_append_text(plan->filter.condition, out);
        return;
    case NL_PLAN_AGGREGATE:
        append_aggregate(plan, out);
        return;
    case NL_PLAN_JOIN:
        append_join(plan, out);
        return;
    case NL_PLAN_SORT:
        append_sort(plan, out);
        return;
    case NL_PLAN_LIMIT:
        append_limit(plan, out);
        return;
    case NL_PLAN_SET:
        append_set(plan, out);
        return;
    case NL_PLAN_DISTINCT:
        nl_append_c(out, "Distinct");
        return;
    case NL_PLAN_WINDOW:
        nl_append_c(out, "Window ");
        append_named(plan->window.exprs, plan->columns + (plan->column_count - plan->window.expr_count),
                     plan->window.expr_count, out);
        return;
    case NL_PLAN_GENERATE: {
        const uint32_t made = plan->column_count - plan->children[0]->column_count;
        nl_append_f(out, "Generate %s", plan->generate.generator->row->name);
        append_exprs(plan->generate.arguments, plan->generate.argument_count, out);
        nl_append_c(out, plan->generate.is_outer ? ", true, " : ", false, ");
        append_columns(plan->columns + (plan->column_count - made), made, out);
        return;
    }
    case NL_PLAN_SAMPLE:
        nl_append_f(out, "Sample %g, %g, %s, %lld", plan->sample.lower, plan->sample.upper, plan->sample.with_replacement ? "true" : "false", (long long)plan->sample.seed);
        return;
    case NL_PLAN_ALIAS:
        nl_append_c(out, "SubqueryAlias ");
        if (plan->column_count && plan->columns[0].qualifier_count)
            nl_append(out, plan->columns[0].qualifier[plan->columns[0].qualifier_count - 1]);
        return;
    case NL_PLAN_CTE:
        nl_append_f(out, "WithCTE %u", plan->cte.id);
        return;
    case NL_PLAN_CTE_REF:
        nl_append_f(out, "CTERelationRef %u ", plan->cte.id);
        append_columns(plan->columns, plan->column_count, out);
        return;
    case NL_PLAN_EMPTY:
        nl_append_c(out, "LocalRelation <empty>, ");
        append_columns(plan->columns, plan->column_count, out);
        return;
    case NL_PLAN_OBSERVE:
        nl_append_c(out, "CollectMetrics ");
        nl_append(out, plan->observe.name);
        append_exprs(plan->observe.calls, plan->observe.call_count, out);
        return;
    case NL_PLAN_PYTHON:
        append_python(plan, out);
        return;
    case NL_PLAN_SINGLE_ROW:
        nl_append_c(out, "SingleRow");
        return;
    }
}

typedef struct printer {
    nl_builder *out;
    nl_plan_annotate_fn annotate; /* or NULL */
    void *context;
    char indent[INDENT_BYTES_MAX];
    size_t indent_length;
} printer;

static void print_tree(printer *p, const nl_logical *plan, bool is_root, bool is_last);

static void print_child(printer *p, const nl_logical *child, bool is_last)
{
    print_tree(p, child, false, is_last);
}

typedef struct subquery_printer {
    printer *p;
    uint32_t count;
} subquery_printer;

static bool print_subquery(void *context, const nl_expr *expr)
{
    subquery_printer *s = context;
    if (expr->kind == NL_EXPR_SUBQUERY) print_child(s->p, expr->plan, false);
    return true;
}

static bool print_subqueries(void *context, const nl_expr *expr)
{
    return nl_expr_walk(expr, print_subquery, context);
}

static void print_tree(printer *p, const nl_logical *plan, bool is_root, bool is_last)
{
    nl_append(p->out, (nl_str){p->indent, p->indent_length});
    if (!is_root) nl_append_c(p->out, is_last ? "+- " : ":- ");
    append_node(plan, p->out);
    if (p->annotate) p->annotate(p->context, plan, p->out);
    nl_append_char(p->out, '\n');
    const size_t before = p->indent_length;
    if (!is_root) {
        if (p->indent_length + 3 > sizeof p->indent) return;
        memcpy(p->indent + p->indent_length, is_last ? "   " : ":  ", 3);
        p->indent_length += 3;
    }
    subquery_printer s = {.p = p};
    nl_logical_walk_exprs(plan, print_subqueries, &s);
    if (plan->kind == NL_PLAN_CTE) print_child(p, plan->cte.definition, false);
    for (uint32_t i = 0; i < plan->child_count; i++) print_child(p, plan->children[i], i + 1 == plan->child_count);
    p->indent_length = before;
}

void nl_logical_append_annotated(const nl_logical *plan, nl_plan_annotate_fn annotate, void *context, nl_builder *out)
{
    printer p = {.out = out, .annotate = annotate, .context = context};
    print_tree(&p, plan, true, true);
}

void nl_logical_append_text(const nl_logical *plan, nl_builder *out)
{
    nl_logical_append_annotated(plan, NULL, NULL, out);
}
