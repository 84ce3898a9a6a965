/* Expressions as EXPLAIN prints them: "(a#1 > 5)", "sum(b#2L)", "cast(a#1 as bigint)". */
#include "plan/expr.h"

static void append_column(const nl_expr *expr, nl_builder *out)
{
    nl_append(out, expr->name);
    nl_append_f(out, "#%u%s", expr->column, expr->type->id == NL_TYPE_BIGINT ? "L" : "");
}

static bool is_operator(const char *name)
{
    static const char *const operators[] = {"=",  "<=>", "<", "<=", ">",  ">=", "+", "-", "*", "/",
                                            "%",  "div", "&", "|",  "^",  "<<", ">>", ">>>", "||"};
    for (size_t i = 0; i < NL_COUNT(operators); i++)
        if (strcmp(name, operators[i]) == 0) return true;
    return false;
}

static void append_children(const nl_expr *expr, const char *separator, nl_builder *out)
{
    for (uint32_t i = 0; i < expr->child_count; i++) {
        if (i) nl_append_c(out, separator);
        nl_expr_append_text(expr->children[i], out);
    }
}

static void append_list(const nl_expr *const *exprs, uint32_t count, nl_builder *out)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i) nl_append_c(out, ", ");
        nl_expr_append_text(exprs[i], out);
    }
}

static void append_keys(const nl_sort_key *keys, uint32_t count, nl_builder *out)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i) nl_append_c(out, ", ");
        nl_expr_append_text(keys[i].expr, out);
        nl_append_f(out, " %s NULLS %s", keys[i].is_descending ? "DESC" : "ASC", keys[i].nulls_first ? "FIRST" : "LAST");
    }
}

static void append_bound(nl_bound_kind kind, const nl_expr *offset, nl_builder *out)
{
    switch (kind) {
    case NL_BOUND_UNBOUNDED_PRECEDING:
        nl_append_c(out, "unboundedpreceding$()");
        return;
    case NL_BOUND_UNBOUNDED_FOLLOWING:
        nl_append_c(out, "unboundedfollowing$()");
        return;
    case NL_BOUND_CURRENT_ROW:
        nl_append_c(out, "currentrow$()");
        return;
    case NL_BOUND_PRECEDING:
        nl_append_char(out, '-');
        break;
    case NL_BOUND_FOLLOWING:
        break;
    }
    if (offset) nl_expr_append_text(offset, out);
}

static void append_window(const nl_window_spec *spec, nl_builder *out)
{
    nl_append_c(out, " windowspecdefinition(");
    append_list(spec->partition_by, spec->partition_count, out);
    if (spec->partition_count) nl_append_c(out, ", ");
    append_keys(spec->order_by, spec->order_count, out);
    if (spec->order_count) nl_append_c(out, ", ");
    nl_append_f(out, "specifiedwindowframe(%s, ", spec->unit == NL_FRAME_ROWS ? "RowFrame" : "RangeFrame");
    append_bound(spec->start_kind, spec->start_offset, out);
    nl_append_c(out, ", ");
    append_bound(spec->stop_kind, spec->stop_offset, out);
    nl_append_c(out, "))");
}

static void append_call(const char *name, const nl_expr *expr, nl_builder *out)
{
    if (expr->child_count == 2 && is_operator(name)) {
        nl_append_char(out, '(');
        nl_expr_append_text(expr->children[0], out);
        nl_append_f(out, " %s ", name);
        nl_expr_append_text(expr->children[1], out);
        nl_append_char(out, ')');
        return;
    }
    nl_append_c(out, name);
    nl_append_char(out, '(');
    append_children(expr, ", ", out);
    nl_append_char(out, ')');
}

static void append_aggregate(const nl_expr *expr, nl_builder *out)
{
    nl_append_f(out, "%s(%s", expr->call->row->name, expr->is_distinct ? "distinct " : "");
    append_children(expr, ", ", out);
    nl_append_char(out, ')');
    if (expr->filter) {
        nl_append_c(out, " FILTER (WHERE ");
        nl_expr_append_text(expr->filter, out);
        nl_append_char(out, ')');
    }
    if (expr->window) append_window(expr->window, out);
}

static void append_case(const nl_expr *expr, nl_builder *out)
{
    nl_append_c(out, "CASE");
    for (uint32_t i = 0; i + 1 < expr->child_count; i += 2) {
        nl_append_c(out, " WHEN ");
        nl_expr_append_text(expr->children[i], out);
        nl_append_c(out, " THEN ");
        nl_expr_append_text(expr->children[i + 1], out);
    }
    if (expr->child_count % 2) {
        nl_append_c(out, " ELSE ");
        nl_expr_append_text(expr->children[expr->child_count - 1], out);
    }
    nl_append_c(out, " END");
}

static void append_cast(const nl_expr *expr, nl_builder *out)
{
    nl_append_c(out, expr->cast_mode == NL_CAST_TRY ? "try_cast(" : "cast(");
    nl_expr_append_text(expr->children[0], out);
    nl_arena *scratch = nl_arena_new(NULL);
    const nl_str name = nl_type_name(scratch, expr->type);
    nl_append_f(out, " as " NL_STR_FMT ")", NL_STR_ARG(name));
    nl_arena_free(scratch);
}

static void append_lambda(const nl_expr *expr, nl_builder *out)
{
    nl_append_c(out, "lambdafunction(");
    nl_expr_append_text(expr->children[0], out);
    for (uint32_t i = 0; i < expr->parameter_count; i++) nl_append_f(out, ", x#%u", expr->parameters[i]);
    nl_append_char(out, ')');
}

static void append_subquery(const nl_expr *expr, nl_builder *out)
{
    static const char *const names[] = {
        [NL_SUBQUERY_SCALAR] = "scalar-subquery", [NL_SUBQUERY_EXISTS] = "exists", [NL_SUBQUERY_IN] = "in-subquery"};
    if (expr->is_negated) nl_append_c(out, "NOT ");
    nl_append_f(out, "%s(", names[expr->subquery_kind]);
    append_children(expr, ", ", out);
    nl_append_char(out, ')');
}

void nl_expr_append_text(const nl_expr *expr, nl_builder *out)
{
    switch (expr->kind) {
    case NL_EXPR_LITERAL: {
        const nl_text_options options = {.style = NL_TEXT_CAST, .zone = nl_timezone_utc()};
        if (expr->value.is_null)
            nl_append_c(out, "null");
        else
            nl_value_append_text(&expr->value, &options, out);
        return;
    }
    case NL_EXPR_COLUMN:
    case NL_EXPR_PARAMETER:
        append_column(expr, out);
        return;
    case NL_EXPR_OUTER:
        nl_append_c(out, "outer(");
        append_column(expr, out);
        nl_append_char(out, ')');
        return;
    case NL_EXPR_CALL:
        append_call(expr->function->row->name, expr, out);
        return;
    case NL_EXPR_CAST:
        append_cast(expr, out);
        return;
    case NL_EXPR_AND:
    case NL_EXPR_OR:
        nl_append_char(out, '(');
        append_children(expr, expr->kind == NL_EXPR_AND ? " AND " : " OR ", out);
        nl_append_char(out, ')');
        return;
    case NL_EXPR_NOT:
        nl_append_c(out, "NOT ");
        nl_expr_append_text(expr->children[0], out);
        return;
    case NL_EXPR_IS_NULL:
    case NL_EXPR_IS_NOT_NULL:
        nl_append_c(out, expr->kind == NL_EXPR_IS_NULL ? "isnull(" : "isnotnull(");
        nl_expr_append_text(expr->children[0], out);
        nl_append_char(out, ')');
        return;
    case NL_EXPR_CASE:
        append_case(expr, out);
        return;
    case NL_EXPR_COALESCE:
        nl_append_c(out, "coalesce(");
        append_children(expr, ", ", out);
        nl_append_char(out, ')');
        return;
    case NL_EXPR_IN:
        nl_expr_append_text(expr->children[0], out);
        nl_append_c(out, " IN (");
        append_list(expr->children + 1, expr->child_count - 1, out);
        nl_append_char(out, ')');
        return;
    case NL_EXPR_FIELD:
        nl_expr_append_text(expr->children[0], out);
        nl_append_char(out, '.');
        nl_append(out, expr->children[0]->type->children[expr->ordinal].name);
        return;
    case NL_EXPR_LAMBDA:
        append_lambda(expr, out);
        return;
    case NL_EXPR_AGGREGATE:
    case NL_EXPR_WINDOW:
        append_aggregate(expr, out);
        return;
    case NL_EXPR_PYTHON:
        nl_append(out, expr->python->function->name);
        nl_append_char(out, '(');
        append_children(expr, ", ", out);
        nl_append_char(out, ')');
        return;
    case NL_EXPR_GROUPING:
        nl_append_c(out, "grouping_id()");
        return;
    case NL_EXPR_SUBQUERY:
        append_subquery(expr, out);
        return;
    }
}
