/* OVER: window specifications, their default frames, how they print, and the WINDOW nodes they become. */
#include "plan/analyzer/analyzer.h"

static nl_str names_joined(nl_arena *arena, nl_str *formats, uint32_t count)
{
    return nl_join_texts(arena, formats, count, ", ");
}

nl_status nl_check_orderable(nl_scope *scope, const nl_ast_sort_item *item, const nl_expr *expr)
{
    nl_arena *arena = nl_scope_arena(scope);
    if (nl_type_is_orderable(expr->type)) return NULL;
    const nl_str text = nl_expr_pretty_str(arena, expr);
    const nl_str shown = nl_arena_f(arena, "\"" NL_STR_FMT " %s NULLS %s\"", NL_STR_ARG(text), item->is_descending ? "DESC" : "ASC",
                                    item->is_nulls_first ? "FIRST" : "LAST");
    return nl_sql_at(NL_RAISE(DATATYPE_MISMATCH__INVALID_ORDERING_TYPE, NL_P_STR("sqlExpr", shown), NL_P("functionName", "`sortorder`"),
                              NL_P_STR("dataType", nl_quote_type(arena, expr->type))),
                     scope->env->text, item->range, false);
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
        NL_TRY(nl_check_orderable(scope, item, list[i].expr));
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

/* ---- printing ---- */

/* An offset of another type than the order key's is cast, and a cast one prints as what Spark makes of PRECEDING. */
static bool is_cast_offset(const nl_window_spec *spec, const nl_expr *offset)
{
    if (spec->unit != NL_FRAME_RANGE || spec->order_count != 1) return false;
    const nl_type *key = spec->order_by[0].expr->type;
    const bool is_date_time = key->id == NL_TYPE_DATE || key->id == NL_TYPE_TIMESTAMP || key->id == NL_TYPE_TIMESTAMP_NTZ;
    return !is_date_time && !nl_type_equal(key, offset->type);
}

static nl_str bound_text(nl_arena *arena, const nl_window_spec *spec, nl_bound_kind kind, const nl_expr *offset, const nl_pretty **parts, uint32_t *part_count)
{
    switch (kind) {
    case NL_BOUND_UNBOUNDED_PRECEDING:
        return NL_STR("UNBOUNDED PRECEDING");
    case NL_BOUND_UNBOUNDED_FOLLOWING:
        return NL_STR("UNBOUNDED FOLLOWING");
    case NL_BOUND_CURRENT_ROW:
        return NL_STR("CURRENT ROW");
    case NL_BOUND_PRECEDING:
        parts[(*part_count)++] = nl_expr_pretty(arena, offset);
        return is_cast_offset(spec, offset) ? NL_STR("(- \1) FOLLOWING") : NL_STR("\1 PRECEDING");
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
        const nl_str start = bound_text(arena, spec, spec->start_kind, spec->start_offset, parts, &part_count);
        const nl_str stop = bound_text(arena, spec, spec->stop_kind, spec->stop_offset, parts, &part_count);
        sections[section_count++] = nl_arena_f(arena, "%s BETWEEN " NL_STR_FMT " AND " NL_STR_FMT,
                                               spec->unit == NL_FRAME_ROWS ? "ROWS" : "RANGE", NL_STR_ARG(start), NL_STR_ARG(stop));
    }
    const nl_str inside = nl_join_texts(arena, sections, section_count, " ");
    return nl_pretty_parts(arena, nl_arena_f(arena, "\1 OVER (" NL_STR_FMT ")", NL_STR_ARG(inside)), parts, part_count);
}

static nl_status check_window(nl_scope *scope, const nl_expr *call, const nl_expr *over)
{
    nl_arena *arena = nl_scope_arena(scope);
    const bool is_ranking = call->call->row->kind == NL_FUNCTION_WINDOW;
    if (is_ranking && over->window->order_count == 0)
        return NL_RAISE(_LEGACY_ERROR_TEMP_1037, NL_P_STR("wf", nl_expr_pretty_str(arena, call)));
    if (call->is_distinct)
        return NL_RAISE(DISTINCT_WINDOW_FUNCTION_UNSUPPORTED, NL_P_STR("windowExpr", nl_quote_expr(arena, over)));
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
    for (uint32_t i = 0; i < spec->partition_count; i++) {
        const nl_expr *key = spec->partition_by[i];
        if (nl_type_is_orderable(key->type)) continue;
        return nl_sql_at(NL_RAISE(EXPRESSION_TYPE_IS_NOT_ORDERABLE, NL_P_STR("expr", nl_quote_expr(arena, key)), NL_P_STR("exprType", nl_quote_type(arena, key->type))),
                         scope->env->text, window->partition_by.items[i]->range, false);
    }
    NL_TRY(nl_resolve_sort_items(scope, &window->order_by, &spec->order_by));
    spec->order_count = window->order_by.count;
    NL_TRY(nl_resolve_frame(scope, window, call, spec));
    nl_expr *expr = NL_NEW(arena, nl_expr);
    *expr = *call;
    expr->window = spec;
    expr->pretty = window_pretty(arena, call, spec);
    NL_TRY(check_window(scope, call, expr));
    NL_TRY(nl_normalize_frame(scope, spec));
    expr->span = nl_span_of(ast->range);
    *result = expr;
    return NULL;
}

/* ---- plans ---- */

typedef struct level_finder {
    const nl_windows *windows;
    uint32_t level;
} level_finder;

static bool find_level(void *context, const nl_expr *expr)
{
    level_finder *finder = context;
    if (expr->kind != NL_EXPR_COLUMN) return true;
    for (uint32_t i = 0; i < finder->windows->columns.count; i++) {
        const uint32_t level = (uint32_t)(uintptr_t)finder->windows->levels.items[i];
        const bool is_below = ((const nl_column *)finder->windows->columns.items[i])->id == expr->column;
        if (is_below) finder->level = NL_MAX(finder->level, level + 1);
    }
    return true;
}

/* A window function over another one's values stands one level above it. */
static uint32_t window_level(const nl_windows *windows, const nl_expr *expr)
{
    level_finder finder = {.windows = windows};
    for (uint32_t i = 0; i < expr->child_count; i++) nl_expr_walk(expr->children[i], find_level, &finder);
    for (uint32_t i = 0; i < expr->window->partition_count; i++) nl_expr_walk(expr->window->partition_by[i], find_level, &finder);
    for (uint32_t i = 0; i < expr->window->order_count; i++) nl_expr_walk(expr->window->order_by[i].expr, find_level, &finder);
    return finder.level;
}

static nl_status take_window(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    nl_windows *windows = context;
    if (expr->kind != NL_EXPR_WINDOW) return nl_expr_map_parts(arena, expr, take_window, context, result);
    NL_TRY(nl_expr_map_parts(arena, expr, take_window, context, &expr)); /* those inside first */
    const uint32_t expr_level = window_level(windows, expr);
    const uint32_t known = nl_expr_set_find(&windows->set, expr);
    if (known != NL_EXPR_SET_NONE) {
        const nl_expr *same = nl_column_ref(arena, windows->columns.items[known]);
        *result = nl_expr_with_pretty(arena, same, nl_expr_pretty(arena, expr));
        return NULL;
    }
    nl_column *column = NL_NEW(arena, nl_column);
    column->id = nl_plan_new_id(windows->context);
    column->name = NL_STR("_we");
    column->type = expr->type;
    column->is_nullable = expr->is_nullable;
    windows->set.is_exact = true;
    nl_expr_set_add(arena, &windows->set, expr);
    nl_list_add(arena, &windows->columns, column);
    nl_list_add(arena, &windows->levels, (void *)(uintptr_t)expr_level);
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

/* One WINDOW node for each partitioning and order of a level, over the lower level's. */
static const nl_logical *plan_level(const nl_windows *windows, uint32_t level, const nl_logical *child)
{
    nl_arena *arena = windows->context->arena;
    bool *is_done = NL_NEW_ARRAY(arena, bool, windows->set.exprs.count + 1);
    for (uint32_t i = 0; i < windows->set.exprs.count; i++) is_done[i] = (uint32_t)(uintptr_t)windows->levels.items[i] != level;
    for (uint32_t first = 0; first < windows->set.exprs.count; first++) {
        if (is_done[first]) continue;
        nl_logical *plan = nl_logical_new(arena, NL_PLAN_WINDOW, &child, 1);
        const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, windows->set.exprs.count);
        nl_column *columns = NL_NEW_ARRAY(arena, nl_column, child->column_count + windows->set.exprs.count);
        memcpy(columns, child->columns, child->column_count * sizeof *columns);
        uint32_t count = 0;
        for (uint32_t i = first; i < windows->set.exprs.count; i++) {
            if (is_done[i] || !same_spec(windows->set.exprs.items[first], windows->set.exprs.items[i])) continue;
            is_done[i] = true;
            exprs[count] = windows->set.exprs.items[i];
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

const nl_logical *nl_windows_plan(nl_windows *windows, const nl_logical *child)
{
    uint32_t level_max = 0;
    for (uint32_t i = 0; i < windows->levels.count; i++) level_max = NL_MAX(level_max, (uint32_t)(uintptr_t)windows->levels.items[i]);
    for (uint32_t level = 0; windows->levels.count && level <= level_max; level++) child = plan_level(windows, level, child);
    return child;
}
