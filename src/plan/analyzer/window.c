/* OVER: window specifications, their default frames, how they print, and the WINDOW nodes they become. */
#include "plan/analyzer/analyzer.h"

#include "function/coercion.h"

static nl_str names_joined(nl_arena *arena, nl_str *formats, uint32_t count)
{
    return nl_join_texts(arena, formats, count, ", ");
}

nl_status nl_resolve_sort_items(nl_scope *scope, const nl_ast_sort_items *items, const nl_sort_key **keys)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_sort_key *list = NL_NEW_ARRAY(arena, nl_sort_key, items->count + 1);
    for (uint32_t i = 0; i < items->count; i++) {
        const nl_ast_sort_item *item = &items->items[i];
        NL_TRY(nl_resolve_expr(scope, item->expr, &list[i].expr));
        list[i].is_descending = item->is_descending;
        list[i].nulls_first = item->is_nulls_first;
        if (nl_type_is_orderable(list[i].expr->type)) continue;
        const nl_str text = nl_expr_pretty_str(arena, list[i].expr);
        const nl_str shown = nl_arena_f(arena, "\"" NL_STR_FMT " %s NULLS %s\"", NL_STR_ARG(text), item->is_descending ? "DESC" : "ASC",
                                        item->is_nulls_first ? "FIRST" : "LAST");
        return nl_sql_at(NL_RAISE(DATATYPE_MISMATCH__INVALID_ORDERING_TYPE, NL_P_STR("sqlExpr", shown), NL_P("functionName", "`sortorder`"),
                                  NL_P_STR("dataType", nl_quote_type(arena, list[i].expr->type))),
                         scope->env->text, item->range, false);
    }
    *keys = list;
    return NULL;
}

static const nl_ast_window *find_named(const nl_scope *scope, nl_str name)
{
    const nl_ast_named_windows *const lists[] = {scope->windows, scope->more_windows};
    for (size_t l = 0; l < NL_COUNT(lists); l++)
        for (uint32_t i = 0; lists[l] && i < lists[l]->count; i++)
            if (nl_names_equal(scope, lists[l]->items[i].name.text, name)) return lists[l]->items[i].window;
    return NULL;
}

static nl_status written_window(nl_scope *scope, const nl_ast_window *window, const nl_ast_window **found)
{
    *found = window;
    for (uint32_t hops = 0; (*found)->reference.text.data; hops++) {
        const nl_str name = (*found)->reference.text;
        *found = find_named(scope, name);
        if (!*found || hops > 100)
            return NL_RAISE(MISSING_WINDOW_SPECIFICATION, NL_P_STR("windowName", name), NL_P("docroot", "https://spark.apache.org/docs/latest"));
    }
    return NULL;
}

static nl_bound_kind bound_kind(nl_ast_frame_bound_kind kind)
{
    switch (kind) {
    case NL_AST_BOUND_UNBOUNDED_PRECEDING:
        return NL_BOUND_UNBOUNDED_PRECEDING;
    case NL_AST_BOUND_PRECEDING:
        return NL_BOUND_PRECEDING;
    case NL_AST_BOUND_CURRENT_ROW:
        return NL_BOUND_CURRENT_ROW;
    case NL_AST_BOUND_FOLLOWING:
        return NL_BOUND_FOLLOWING;
    case NL_AST_BOUND_UNBOUNDED_FOLLOWING:
        return NL_BOUND_UNBOUNDED_FOLLOWING;
    }
    return NL_BOUND_CURRENT_ROW;
}

static nl_status resolve_offset(nl_scope *scope, const nl_ast_frame_bound *bound, const nl_expr **offset)
{
    *offset = NULL;
    if (!bound->offset) return NULL;
    NL_TRY(nl_resolve_expr(scope, bound->offset, offset));
    if (nl_expr_is_constant(*offset)) return NULL;
    return NL_RAISE(DATATYPE_MISMATCH__SPECIFIED_WINDOW_FRAME_WITHOUT_FOLDABLE, NL_P_STR("sqlExpr", nl_quote_expr(nl_scope_arena(scope), *offset)),
                    NL_P("location", "boundary"), NL_P_STR("expression", nl_quote_expr(nl_scope_arena(scope), *offset)));
}

/* Whole partition without ORDER BY; up to the current row's peers with it. Ranking functions take rows. */
static void default_frame(nl_window_spec *spec, const nl_expr *call)
{
    static const char *const range_functions[] = {"cume_dist", "nth_value"};
    bool is_ranking = call->call->row->kind == NL_FUNCTION_WINDOW;
    for (size_t i = 0; i < NL_COUNT(range_functions); i++)
        is_ranking = is_ranking && strcmp(call->call->row->name, range_functions[i]) != 0;
    spec->start_kind = NL_BOUND_UNBOUNDED_PRECEDING;
    spec->stop_kind = spec->order_count ? NL_BOUND_CURRENT_ROW : NL_BOUND_UNBOUNDED_FOLLOWING;
    spec->unit = spec->order_count && !is_ranking ? NL_FRAME_RANGE : NL_FRAME_ROWS;
}

static nl_status resolve_frame(nl_scope *scope, const nl_ast_window *window, const nl_expr *call, nl_window_spec *spec)
{
    if (!window->has_frame) {
        default_frame(spec, call);
        return NULL;
    }
    spec->unit = window->is_rows ? NL_FRAME_ROWS : NL_FRAME_RANGE;
    spec->start_kind = bound_kind(window->start.kind);
    spec->stop_kind = window->has_end ? bound_kind(window->end.kind) : NL_BOUND_CURRENT_ROW;
    NL_TRY(resolve_offset(scope, &window->start, &spec->start_offset));
    if (window->has_end) NL_TRY(resolve_offset(scope, &window->end, &spec->stop_offset));
    return NULL;
}

/* ---- printing ---- */

static nl_str bound_text(nl_arena *arena, nl_bound_kind kind, const nl_expr *offset, const nl_pretty **parts, uint32_t *part_count)
{
    (void)arena;
    switch (kind) {
    case NL_BOUND_UNBOUNDED_PRECEDING:
        return NL_STR("UNBOUNDED PRECEDING");
    case NL_BOUND_UNBOUNDED_FOLLOWING:
        return NL_STR("UNBOUNDED FOLLOWING");
    case NL_BOUND_CURRENT_ROW:
        return NL_STR("CURRENT ROW");
    case NL_BOUND_PRECEDING:
        parts[(*part_count)++] = nl_expr_pretty(arena, offset);
        return NL_STR("\1 PRECEDING");
    case NL_BOUND_FOLLOWING:
        parts[(*part_count)++] = nl_expr_pretty(arena, offset);
        return NL_STR("\1 FOLLOWING");
    }
    return NL_STR("");
}

/* lag(a, n) prints as a frame of the one row n before. */
static nl_str offset_frame_text(nl_arena *arena, const nl_expr *call)
{
    const bool is_lag = strcmp(call->call->row->name, "lag") == 0;
    nl_str amount = NL_STR("1");
    if (call->child_count > 1) amount = nl_expr_pretty_str(arena, call->children[1]);
    const bool is_negative = amount.length && amount.data[0] == '-';
    const nl_str shown = !is_lag ? amount
                         : is_negative ? nl_str_slice(amount, 1, amount.length)
                                       : nl_arena_f(arena, "-" NL_STR_FMT, NL_STR_ARG(amount));
    return nl_arena_f(arena, "ROWS BETWEEN " NL_STR_FMT " FOLLOWING AND " NL_STR_FMT " FOLLOWING", NL_STR_ARG(shown), NL_STR_ARG(shown));
}

static bool is_offset_function(const nl_expr *call)
{
    return strcmp(call->call->row->name, "lag") == 0 || strcmp(call->call->row->name, "lead") == 0;
}

static const nl_pretty *window_pretty(nl_arena *arena, const nl_expr *call, const nl_window_spec *spec)
{
    const uint32_t key_count = spec->partition_count + spec->order_count;
    const nl_pretty **parts = NL_NEW_ARRAY(arena, const nl_pretty *, key_count + 4);
    nl_str *formats = NL_NEW_ARRAY(arena, nl_str, key_count + 4);
    uint32_t part_count = 0;
    nl_str sections[3];
    uint32_t section_count = 0;
    parts[part_count++] = nl_expr_pretty(arena, call);
    for (uint32_t i = 0; i < spec->partition_count; i++) {
        parts[part_count++] = nl_expr_pretty(arena, spec->partition_by[i]);
        formats[i] = NL_STR("\1");
    }
    if (spec->partition_count) {
        const nl_str list = names_joined(arena, formats, spec->partition_count);
        sections[section_count++] = nl_arena_f(arena, "PARTITION BY " NL_STR_FMT, NL_STR_ARG(list));
    }
    for (uint32_t i = 0; i < spec->order_count; i++) {
        const nl_sort_key *key = &spec->order_by[i];
        parts[part_count++] = nl_expr_pretty(arena, key->expr);
        formats[i] = nl_arena_f(arena, "\1 %s NULLS %s", key->is_descending ? "DESC" : "ASC", key->nulls_first ? "FIRST" : "LAST");
    }
    if (spec->order_count) {
        const nl_str list = names_joined(arena, formats, spec->order_count);
        sections[section_count++] = nl_arena_f(arena, "ORDER BY " NL_STR_FMT, NL_STR_ARG(list));
    }
    if (is_offset_function(call)) {
        sections[section_count++] = offset_frame_text(arena, call);
    } else {
        const nl_str start = bound_text(arena, spec->start_kind, spec->start_offset, parts, &part_count);
        const nl_str stop = bound_text(arena, spec->stop_kind, spec->stop_offset, parts, &part_count);
        sections[section_count++] = nl_arena_f(arena, "%s BETWEEN " NL_STR_FMT " AND " NL_STR_FMT,
                                               spec->unit == NL_FRAME_ROWS ? "ROWS" : "RANGE", NL_STR_ARG(start), NL_STR_ARG(stop));
    }
    const nl_str inside = nl_join_texts(arena, sections, section_count, " ");
    return nl_pretty_parts(arena, nl_arena_f(arena, "\1 OVER (" NL_STR_FMT ")", NL_STR_ARG(inside)), parts, part_count);
}

static nl_status check_window(nl_scope *scope, const nl_expr *call, const nl_window_spec *spec)
{
    nl_arena *arena = nl_scope_arena(scope);
    const bool is_ranking = call->call->row->kind == NL_FUNCTION_WINDOW;
    if (is_ranking && spec->order_count == 0)
        return NL_RAISE(_LEGACY_ERROR_TEMP_1037, NL_P_STR("wf", nl_expr_pretty_str(arena, call)));
    if (call->is_distinct)
        return NL_RAISE(DISTINCT_WINDOW_FUNCTION_UNSUPPORTED, NL_P_STR("windowExpr", nl_quote_expr(arena, call)));
    return NULL;
}

nl_status nl_resolve_window(nl_scope *scope, const nl_ast_expr *ast, const nl_expr *call, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_ast_window *window = NULL;
    NL_TRY(written_window(scope, ast->call.over, &window));
    nl_window_spec *spec = NL_NEW(arena, nl_window_spec);
    NL_TRY(nl_resolve_exprs(scope, &window->partition_by, &spec->partition_by));
    spec->partition_count = window->partition_by.count;
    NL_TRY(nl_resolve_sort_items(scope, &window->order_by, &spec->order_by));
    spec->order_count = window->order_by.count;
    NL_TRY(resolve_frame(scope, window, call, spec));
    NL_TRY(check_window(scope, call, spec));
    nl_expr *expr = NL_NEW(arena, nl_expr);
    *expr = *call;
    expr->window = spec;
    expr->pretty = window_pretty(arena, call, spec);
    expr->span = nl_span_of(ast->range);
    *result = expr;
    return NULL;
}

/* ---- plans ---- */

static nl_status take_window(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    nl_windows *windows = context;
    if (expr->kind != NL_EXPR_WINDOW) return nl_expr_map_parts(arena, expr, take_window, context, result);
    for (uint32_t i = 0; i < windows->exprs.count; i++) {
        if (!nl_expr_equal(windows->exprs.items[i], expr)) continue;
        const nl_expr *same = nl_column_ref(arena, windows->columns.items[i]);
        *result = nl_expr_with_pretty(arena, same, nl_expr_pretty(arena, expr));
        return NULL;
    }
    nl_column *column = NL_NEW(arena, nl_column);
    column->id = nl_plan_new_id(windows->context);
    column->name = NL_STR("_we");
    column->type = expr->type;
    column->is_nullable = expr->is_nullable;
    nl_list_add(arena, &windows->exprs, NL_UNCONST(expr));
    nl_list_add(arena, &windows->columns, column);
    *result = nl_expr_with_pretty(arena, nl_column_ref(arena, column), nl_expr_pretty(arena, expr));
    return NULL;
}

nl_status nl_windows_extract(nl_windows *windows, const nl_expr *expr, const nl_expr **result)
{
    return take_window(windows, windows->context->arena, expr, result);
}

static bool same_spec(const nl_expr *a, const nl_expr *b)
{
    const nl_window_spec *x = a->window;
    const nl_window_spec *y = b->window;
    if (x->partition_count != y->partition_count || x->order_count != y->order_count) return false;
    for (uint32_t i = 0; i < x->partition_count; i++)
        if (!nl_expr_equal(x->partition_by[i], y->partition_by[i])) return false;
    for (uint32_t i = 0; i < x->order_count; i++) {
        const nl_sort_key *p = &x->order_by[i];
        const nl_sort_key *q = &y->order_by[i];
        if (p->is_descending != q->is_descending || p->nulls_first != q->nulls_first || !nl_expr_equal(p->expr, q->expr)) return false;
    }
    return true;
}

/* A window function that is not row by row nor a reference: its own WINDOW node for each partitioning and order. */
const nl_logical *nl_windows_plan(nl_windows *windows, const nl_logical *child)
{
    nl_arena *arena = windows->context->arena;
    bool *is_done = NL_NEW_ARRAY(arena, bool, windows->exprs.count + 1);
    for (uint32_t first = 0; first < windows->exprs.count; first++) {
        if (is_done[first]) continue;
        nl_logical *plan = nl_logical_new(arena, NL_PLAN_WINDOW, &child, 1);
        const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, windows->exprs.count);
        nl_column *columns = NL_NEW_ARRAY(arena, nl_column, child->column_count + windows->exprs.count);
        memcpy(columns, child->columns, child->column_count * sizeof *columns);
        uint32_t count = 0;
        for (uint32_t i = first; i < windows->exprs.count; i++) {
            if (is_done[i] || !same_spec(windows->exprs.items[first], windows->exprs.items[i])) continue;
            is_done[i] = true;
            exprs[count] = windows->exprs.items[i];
            columns[child->column_count + count++] = *(const nl_column *)windows->columns.items[i];
        }
        plan->columns = columns;
        plan->column_count = child->column_count + count;
        plan->window.exprs = exprs;
        plan->window.expr_count = count;
        child = plan;
    }
    return child;
}
