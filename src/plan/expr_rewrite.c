/* Walking, rewriting and comparing typed expressions, whatever parts a node has. */
#include "plan/expr.h"

typedef struct rewrite {
    nl_arena *arena;
    nl_expr_rewrite_fn visit;
    void *context;
    bool is_deep; /* visit the parts' own parts first */
} rewrite;

static nl_status rewrite_one(const rewrite *r, const nl_expr *expr, const nl_expr **result);

/* *result is `exprs` itself when nothing changed. */
static nl_status rewrite_all(const rewrite *r, const nl_expr *const *exprs, uint32_t count,
                             const nl_expr *const **result)
{
    const nl_expr **copy = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const nl_expr *changed = NULL;
        NL_TRY(rewrite_one(r, exprs[i], &changed));
        if (changed == exprs[i]) continue;
        if (!copy) {
            copy = NL_NEW_ARRAY(r->arena, const nl_expr *, count);
            memcpy(copy, exprs, count * sizeof *copy);
        }
        copy[i] = changed;
    }
    *result = copy ? copy : exprs;
    return NULL;
}

static nl_status rewrite_keys(const rewrite *r, const nl_sort_key *keys, uint32_t count, const nl_sort_key **result)
{
    nl_sort_key *copy = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const nl_expr *changed = NULL;
        NL_TRY(rewrite_one(r, keys[i].expr, &changed));
        if (changed == keys[i].expr) continue;
        if (!copy) {
            copy = NL_NEW_ARRAY(r->arena, nl_sort_key, count);
            memcpy(copy, keys, count * sizeof *copy);
        }
        copy[i].expr = changed;
    }
    *result = copy ? copy : keys;
    return NULL;
}

static nl_status rewrite_optional(const rewrite *r, const nl_expr *expr, const nl_expr **result)
{
    *result = NULL;
    return expr ? rewrite_one(r, expr, result) : NULL;
}

static nl_status rewrite_window(const rewrite *r, const nl_window_spec *spec, const nl_window_spec **result)
{
    nl_window_spec copy = *spec;
    NL_TRY(rewrite_all(r, spec->partition_by, spec->partition_count, &copy.partition_by));
    NL_TRY(rewrite_keys(r, spec->order_by, spec->order_count, &copy.order_by));
    NL_TRY(rewrite_optional(r, spec->start_offset, &copy.start_offset));
    NL_TRY(rewrite_optional(r, spec->stop_offset, &copy.stop_offset));
    *result = spec;
    if (copy.partition_by == spec->partition_by && copy.order_by == spec->order_by &&
        copy.start_offset == spec->start_offset && copy.stop_offset == spec->stop_offset)
        return NULL;
    nl_window_spec *changed = NL_NEW(r->arena, nl_window_spec);
    *changed = copy;
    *result = changed;
    return NULL;
}

static bool has_call_parts(const nl_expr *expr)
{
    return expr->kind == NL_EXPR_AGGREGATE || expr->kind == NL_EXPR_WINDOW;
}

static nl_status map_parts(const rewrite *r, const nl_expr *expr, const nl_expr **result)
{
    nl_expr changed = *expr;
    NL_TRY(rewrite_all(r, expr->children, expr->child_count, &changed.children));
    bool is_changed = changed.children != expr->children;
    if (has_call_parts(expr)) {
        NL_TRY(rewrite_optional(r, expr->filter, &changed.filter));
        if (expr->window) NL_TRY(rewrite_window(r, expr->window, &changed.window));
        is_changed = is_changed || changed.filter != expr->filter || changed.window != expr->window;
    }
    *result = expr;
    if (!is_changed) return NULL;
    nl_expr *copy = NL_NEW(r->arena, nl_expr);
    *copy = changed;
    *result = copy;
    return NULL;
}

static nl_status rewrite_one(const rewrite *r, const nl_expr *expr, const nl_expr **result)
{
    if (!r->is_deep) return r->visit(r->context, r->arena, expr, result);
    const nl_expr *current = NULL;
    NL_TRY(map_parts(r, expr, &current));
    return r->visit(r->context, r->arena, current, result);
}

nl_status nl_expr_rewrite(nl_arena *arena, const nl_expr *expr, nl_expr_rewrite_fn visit, void *context,
                          const nl_expr **result)
{
    const rewrite r = {.arena = arena, .visit = visit, .context = context, .is_deep = true};
    return rewrite_one(&r, expr, result);
}

nl_status nl_expr_map_parts(nl_arena *arena, const nl_expr *expr, nl_expr_rewrite_fn visit, void *context,
                            const nl_expr **result)
{
    const rewrite r = {.arena = arena, .visit = visit, .context = context};
    return map_parts(&r, expr, result);
}

bool nl_expr_walk(const nl_expr *expr, bool (*visit)(void *context, const nl_expr *expr), void *context)
{
    if (!visit(context, expr)) return false;
    for (uint32_t i = 0; i < expr->child_count; i++)
        if (!nl_expr_walk(expr->children[i], visit, context)) return false;
    if (!has_call_parts(expr)) return true;
    if (expr->filter && !nl_expr_walk(expr->filter, visit, context)) return false;
    const nl_window_spec *spec = expr->window;
    if (!spec) return true;
    for (uint32_t i = 0; i < spec->partition_count; i++)
        if (!nl_expr_walk(spec->partition_by[i], visit, context)) return false;
    for (uint32_t i = 0; i < spec->order_count; i++)
        if (!nl_expr_walk(spec->order_by[i].expr, visit, context)) return false;
    if (spec->start_offset && !nl_expr_walk(spec->start_offset, visit, context)) return false;
    return !spec->stop_offset || nl_expr_walk(spec->stop_offset, visit, context);
}

typedef struct id_collector {
    nl_arena *arena;
    nl_list *ids;
} id_collector;

static bool collect_id(void *context, const nl_expr *expr)
{
    const id_collector *collector = context;
    if (expr->kind != NL_EXPR_COLUMN) return true;
    void *id = (void *)(uintptr_t)expr->column;
    for (uint32_t i = 0; i < collector->ids->count; i++)
        if (collector->ids->items[i] == id) return true;
    nl_list_add(collector->arena, collector->ids, id);
    return true;
}

void nl_expr_columns(nl_arena *arena, const nl_expr *expr, nl_list *ids)
{
    id_collector collector = {.arena = arena, .ids = ids};
    nl_expr_walk(expr, collect_id, &collector);
}
