/* Functions in Python leave their expressions: a PYTHON node below computes them as columns (Spark's ExtractPythonUDFs
 * and ExtractPythonUDFFromAggregate). f(g(x)) of one kind is one call; equal calls are made once when the function
 * promises to be deterministic. Aggregates become nodes over rows sorted by their keys. */
#include "plan/optimizer/rules.h"

typedef struct extraction {
    nl_plan_context *context;
    nl_arena *arena;
    nl_list ready;     /* const nl_expr *: of one kind, their arguments free of Python but for chains */
    nl_list columns;   /* nl_column *: of each */
} extraction;

/* ---- which calls ---- */

static bool has_python(const nl_expr *expr)
{
    return nl_expr_has(expr, NL_EXPR_PYTHON);
}

static bool find_python(void *context, const nl_expr *expr)
{
    bool *has = context;
    *has = *has || has_python(expr);
    return !*has;
}

static bool node_has_python(const nl_logical *plan)
{
    bool has = false;
    nl_logical_walk_exprs(plan, find_python, &has);
    return has;
}

/* The one argument of f is itself a call of f's kind: the worker makes both in one go. Iterators do not chain. */
static const nl_expr *chained(const nl_expr *expr)
{
    if (expr->child_count != 1 || expr->python->names) return NULL;
    const nl_expr *inner = expr->children[0];
    if (inner->kind != NL_EXPR_PYTHON || inner->python->function->eval != expr->python->function->eval) return NULL;
    return expr->python->function->eval == NL_PYTHON_SCALAR_PANDAS_ITER ? NULL : inner;
}

static const nl_expr *innermost(const nl_expr *expr)
{
    while (chained(expr)) expr = chained(expr);
    return expr;
}

static bool is_ready(const nl_expr *expr)
{
    const nl_expr *inner = innermost(expr);
    for (uint32_t i = 0; i < inner->child_count; i++)
        if (has_python(inner->children[i])) return false;
    return true;
}

static bool find_call(void *context, const nl_expr *expr)
{
    if (expr->kind == NL_EXPR_PYTHON) *(const nl_expr **)context = expr;
    return !*(const nl_expr **)context;
}

/* Lambdas run inside one row's value: no process can be asked from there. *context: a call inside one. */
static bool find_lambda_call(void *context, const nl_expr *expr)
{
    return expr->kind != NL_EXPR_LAMBDA || nl_expr_walk(expr, find_call, context);
}

static bool find_in_lambda(void *context, const nl_expr *expr)
{
    return nl_expr_walk(expr, find_lambda_call, context);
}

static bool collect(void *context, const nl_expr *expr)
{
    extraction *x = context;
    if (expr->kind != NL_EXPR_PYTHON || !is_ready(expr)) return true;
    const nl_expr *first = x->ready.count ? x->ready.items[0] : NULL;
    if (first && first->python->function->eval != expr->python->function->eval) return false;
    if (first && expr->python->function->eval == NL_PYTHON_SCALAR_PANDAS_ITER) return nl_expr_equal(first, expr);
    for (uint32_t i = 0; i < x->ready.count; i++)
        if (x->ready.items[i] == expr || nl_expr_equal(x->ready.items[i], expr)) return false;
    nl_list_add(x->arena, &x->ready, NL_UNCONST(expr));
    return false;
}

/* Walks on past what it has collected: nl_expr_walk stops at the first false. */
static void collect_in(extraction *x, const nl_expr *expr)
{
    if (!expr || !collect(x, expr)) return;
    for (uint32_t i = 0; i < expr->child_count; i++) collect_in(x, expr->children[i]);
    if (expr->kind == NL_EXPR_AGGREGATE || expr->kind == NL_EXPR_WINDOW) {
        collect_in(x, expr->filter);
        for (uint32_t i = 0; expr->window && i < expr->window->partition_count; i++) collect_in(x, expr->window->partition_by[i]);
        for (uint32_t i = 0; expr->window && i < expr->window->order_count; i++) collect_in(x, expr->window->order_by[i].expr);
    }
}

static bool collect_of_node(void *context, const nl_expr *expr)
{
    collect_in(context, expr);
    return true;
}

/* ---- the node below ---- */

static uint32_t add_argument(nl_arena *arena, nl_list *arguments, const nl_expr *expr)
{
    for (uint32_t i = 0; i < arguments->count; i++)
        if (nl_expr_is_deterministic(expr) && nl_expr_equal(arguments->items[i], expr)) return i;
    nl_list_add(arena, arguments, NL_UNCONST(expr));
    return arguments->count - 1;
}

static void fill_call(nl_arena *arena, const nl_expr *expr, nl_list *arguments, nl_python_call *call)
{
    uint32_t count = 1;
    for (const nl_expr *at = expr; chained(at); at = chained(at)) count++;
    const nl_python_function **chain = NL_NEW_ARRAY(arena, const nl_python_function *, count);
    const nl_expr *at = expr;
    for (uint32_t i = count; i-- > 0; at = chained(at)) {
        chain[i] = at->python->function;
        if (i == 0) break;
    }
    uint32_t *offsets = NL_NEW_ARRAY(arena, uint32_t, at->child_count + 1);
    for (uint32_t i = 0; i < at->child_count; i++) offsets[i] = add_argument(arena, arguments, at->children[i]);
    *call = (nl_python_call){.chain = chain, .chain_count = count, .offsets = offsets, .names = at->python->names, .offset_count = at->child_count};
}

static const nl_logical *add_node(extraction *x, const nl_logical *child)
{
    nl_arena *arena = x->arena;
    nl_logical *node = nl_logical_new(arena, NL_PLAN_PYTHON, &child, 1);
    nl_list arguments = {0};
    nl_python_call *calls = NL_NEW_ARRAY(arena, nl_python_call, x->ready.count);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, child->column_count + x->ready.count);
    nl_copy_items(columns, child->columns, child->column_count * sizeof *columns);
    x->columns = (nl_list){0};
    for (uint32_t i = 0; i < x->ready.count; i++) {
        const nl_expr *expr = x->ready.items[i];
        fill_call(arena, expr, &arguments, &calls[i]);
        columns[child->column_count + i] = nl_column_for(x->context, expr, nl_arena_f(arena, "pythonUDF%u", i));
        nl_list_add(arena, &x->columns, &columns[child->column_count + i]);
    }
    node->columns = columns;
    node->column_count = child->column_count + x->ready.count;
    node->python.shape = NL_PYTHON_ADD;
    node->python.eval = ((const nl_expr *)x->ready.items[0])->python->function->eval;
    node->python.arguments = (const nl_expr *const *)(void *)arguments.items;
    node->python.argument_count = arguments.count;
    node->python.calls = calls;
    node->python.call_count = x->ready.count;
    return node;
}

static nl_status replace(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    const extraction *x = context;
    for (uint32_t i = 0; expr->kind == NL_EXPR_PYTHON && i < x->ready.count; i++) {
        if (x->ready.items[i] != expr && !nl_expr_equal(x->ready.items[i], expr)) continue;
        *result = nl_expr_with_span(arena, nl_column_ref(arena, x->columns.items[i]), expr->span);
        return NULL;
    }
    return nl_expr_map_parts(arena, expr, replace, context, result);
}

/* ---- nodes with one child ---- */

/* The node over a child that has more columns; its own output stays. */
static const nl_logical *over(nl_arena *arena, const nl_logical *plan, const nl_logical *child)
{
    const uint32_t had = plan->children[0]->column_count;
    nl_logical *copy = nl_logical_copy(arena, nl_logical_with_children(arena, plan, &child));
    const bool passes = plan->kind == NL_PLAN_FILTER || plan->kind == NL_PLAN_SORT || plan->kind == NL_PLAN_WINDOW || plan->kind == NL_PLAN_GENERATE ||
                        (plan->kind == NL_PLAN_PYTHON && (plan->python.shape == NL_PYTHON_ADD || plan->python.shape == NL_PYTHON_WINDOW));
    if (!passes) return copy;
    const uint32_t made = plan->column_count - had;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, child->column_count + made);
    nl_copy_items(columns, child->columns, child->column_count * sizeof *columns);
    nl_copy_items(columns + child->column_count, plan->columns + had, made * sizeof *columns);
    copy->columns = columns;
    copy->column_count = child->column_count + made;
    return copy;
}

/* Conditions without Python come first: fewer rows go to the workers. */
static const nl_logical *split_filter(nl_arena *arena, const nl_logical *plan)
{
    nl_list all = {0}, plain = {0}, rest = {0};
    nl_expr_conjuncts(arena, plan->filter.condition, &all);
    for (uint32_t i = 0; i < all.count; i++) nl_list_add(arena, nl_expr_is_deterministic(all.items[i]) ? &plain : &rest, all.items[i]);
    if (!plain.count || !rest.count) return plan;
    const nl_logical *below = nl_logical_filter(arena, plan->children[0], nl_conjunction(arena, &plain));
    return nl_logical_filter(arena, below, nl_conjunction(arena, &rest));
}

static nl_status extract_below(extraction *x, const nl_logical *plan, const nl_logical **result)
{
    const nl_logical *original = plan;
    if (plan->kind == NL_PLAN_FILTER) plan = split_filter(x->arena, plan);
    while (node_has_python(plan)) {
        x->ready = (nl_list){0};
        nl_logical_walk_exprs(plan, collect_of_node, x);
        NL_CHECK(x->ready.count > 0);
        const nl_logical *below = add_node(x, plan->children[0]);
        const nl_logical *wide = over(x->arena, plan, below);
        NL_TRY(nl_logical_rewrite_exprs(x->arena, wide, replace, x, &plan));
    }
    const bool is_wider = plan->column_count != original->column_count;
    *result = is_wider ? nl_logical_keep(x->arena, plan, original->columns, original->column_count) : plan;
    return NULL;
}

/* ---- joins ---- */

static const char *join_name(nl_join_kind kind)
{
    static const char *const names[] = {
        [NL_JOIN_INNER] = "INNER", [NL_JOIN_LEFT] = "LEFT OUTER",  [NL_JOIN_RIGHT] = "RIGHT OUTER",     [NL_JOIN_FULL] = "FULL OUTER",
        [NL_JOIN_CROSS] = "CROSS", [NL_JOIN_SEMI] = "LEFT SEMI",   [NL_JOIN_ANTI] = "LEFT ANTI",        [NL_JOIN_NULL_AWARE_ANTI] = "LEFT ANTI",
        [NL_JOIN_MARK] = "MARK"};
    return names[kind];
}

/* Calls that read one side are computed on that side; conditions with others are asked above an inner join. */
static nl_status extract_from_join(extraction *x, const nl_logical *plan, const nl_logical **result)
{
    const nl_logical *original = plan;
    for (uint32_t side = 0; side < 2; side++) {
        const nl_id_set ids = nl_plan_ids(x->arena, plan->children[side]);
        for (bool is_more = true; is_more;) {
            extraction all = *x;
            all.ready = (nl_list){0};
            collect_in(&all, plan->join.condition);
            x->ready = (nl_list){0};
            for (uint32_t i = 0; i < all.ready.count; i++)
                if (nl_expr_within(all.ready.items[i], &ids)) nl_list_add(x->arena, &x->ready, all.ready.items[i]);
            is_more = x->ready.count > 0;
            if (!is_more) break;
            const nl_logical *children[2] = {plan->children[0], plan->children[1]};
            children[side] = add_node(x, children[side]);
            const nl_expr *condition = NULL;
            NL_TRY(replace(x, x->arena, plan->join.condition, &condition));
            nl_logical *join = NL_UNCONST(nl_logical_join(x->arena, plan->join.kind, children[0], children[1], condition));
            join->join.is_single = plan->join.is_single;
            join->span = plan->span;
            plan = join;
        }
    }
    if (plan->join.condition && has_python(plan->join.condition)) {
        if (plan->join.kind != NL_JOIN_INNER) return NL_RAISE(UNSUPPORTED_FEATURE__PYTHON_UDF_IN_ON_CLAUSE, NL_P("joinType", join_name(plan->join.kind)));
        nl_list all = {0}, plain = {0}, rest = {0};
        nl_expr_conjuncts(x->arena, plan->join.condition, &all);
        for (uint32_t i = 0; i < all.count; i++) nl_list_add(x->arena, has_python(all.items[i]) ? &rest : &plain, all.items[i]);
        const nl_logical *join = nl_logical_join(x->arena, NL_JOIN_INNER, plan->children[0], plan->children[1], nl_conjunction(x->arena, &plain));
        NL_TRY(extract_below(x, nl_logical_filter(x->arena, join, nl_conjunction(x->arena, &rest)), &plan));
    }
    const bool is_wider = plan->column_count != original->column_count;
    *result = is_wider ? nl_logical_keep(x->arena, plan, original->columns, original->column_count) : plan;
    return NULL;
}

/* ---- aggregates and windows ---- */

static nl_status raise_mixed(extraction *x, const nl_logical *plan)
{
    nl_builder names;
    nl_builder_init(&names, 1 << 20);
    for (uint32_t i = 0; i < plan->aggregate.aggregate_count; i++) {
        const nl_python_use *use = nl_python_aggregate(plan->aggregate.aggregates[i]->call);
        if (use) nl_append_f(&names, "%s`" NL_STR_FMT "`", names.length ? ", " : "", NL_STR_ARG(use->function->name));
    }
    const nl_str list = nl_arena_str(x->arena, nl_builder_str(&names));
    nl_builder_fini(&names);
    return NL_RAISE(INVALID_PANDAS_UDF_PLACEMENT, NL_P_STR("functionList", list));
}

/* Keys first, then what the functions read. */
static nl_logical *grouped(extraction *x, const nl_logical *child, nl_python_shape shape, const nl_expr *const *keys, uint32_t key_count,
                                 const nl_sort_key *order, uint32_t order_count, const nl_expr *const *calls, uint32_t call_count,
                                 const nl_expr *const *bounds)
{
    nl_arena *arena = x->arena;
    nl_list arguments = {0};
    nl_sort_key *sort = NL_NEW_ARRAY(arena, nl_sort_key, key_count + order_count + 1);
    for (uint32_t i = 0; i < key_count; i++) {
        nl_list_add(arena, &arguments, NL_UNCONST(keys[i]));
        sort[i] = (nl_sort_key){.expr = keys[i], .nulls_first = true};
    }
    nl_copy_items(sort + key_count, order, order_count * sizeof *sort);
    nl_python_call *made = NL_NEW_ARRAY(arena, nl_python_call, call_count);
    for (uint32_t i = 0; i < call_count; i++) {
        const nl_python_use *use = nl_python_aggregate(calls[i]->call);
        const nl_python_function **chain = NL_NEW_ARRAY(arena, const nl_python_function *, 1);
        uint32_t *offsets = NL_NEW_ARRAY(arena, uint32_t, calls[i]->child_count + 2);
        nl_str *names = NL_NEW_ARRAY(arena, nl_str, calls[i]->child_count + 2);
        const bool is_bounded = bounds && bounds[2 * i];
        uint32_t count = 0;
        chain[0] = use->function;
        for (uint32_t k = 0; is_bounded && k < 2; k++) {
            nl_list_add(arena, &arguments, NL_UNCONST(bounds[2 * i + k]));
            offsets[count++] = arguments.count - 1;
        }
        for (uint32_t k = 0; k < calls[i]->child_count; k++) {
            nl_list_add(arena, &arguments, NL_UNCONST(calls[i]->children[k]));
            if (use->names) names[count] = use->names[k];
            offsets[count++] = arguments.count - 1;
        }
        made[i] = (nl_python_call){.chain = chain, .chain_count = 1, .offsets = offsets, .names = use->names ? names : NULL, .offset_count = count,
                                   .is_bounded = is_bounded};
    }
    if (key_count + order_count) child = nl_logical_sort(arena, child, sort, key_count + order_count, true);
    nl_logical *node = nl_logical_new(arena, NL_PLAN_PYTHON, &child, 1);
    node->python.shape = shape;
    node->python.eval = NL_PYTHON_GROUPED_AGG_PANDAS;
    node->python.arguments = (const nl_expr *const *)(void *)arguments.items;
    node->python.argument_count = arguments.count;
    node->python.key_count = key_count;
    node->python.calls = made;
    node->python.call_count = call_count;
    return node;
}

static nl_status replace_aggregate(extraction *x, const nl_logical *plan, const nl_logical **result)
{
    uint32_t python_count = 0;
    for (uint32_t i = 0; i < plan->aggregate.aggregate_count; i++) python_count += nl_python_aggregate(plan->aggregate.aggregates[i]->call) != NULL;
    *result = plan;
    if (!python_count) return NULL;
    if (python_count < plan->aggregate.aggregate_count) return raise_mixed(x, plan);
    if (plan->aggregate.grouping_sets) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Aggregate functions written in Python over grouping sets are not supported.");
    nl_logical *node = grouped(x, plan->children[0], NL_PYTHON_AGGREGATE, plan->aggregate.keys, plan->aggregate.key_count, NULL, 0, plan->aggregate.aggregates,
                               plan->aggregate.aggregate_count, NULL);
    node->columns = plan->columns;
    node->column_count = plan->column_count;
    *result = node;
    return NULL;
}

static nl_status count_over(extraction *x, const nl_window_spec *spec, const nl_expr **count)
{
    const nl_value one = nl_value_int(nl_type_int(), 1);
    NL_TRY(nl_aggregate_rule(x->context, "count", nl_expr_literal(x->arena, &one), count));
    nl_expr *copy = NL_NEW(x->arena, nl_expr);
    *copy = **count;
    copy->kind = NL_EXPR_WINDOW;
    copy->window = spec;
    *count = copy;
    return NULL;
}

/* Where the frame of each row begins and ends in its partition, for frames that are not the whole of it: the rows up to its
 * end are counted by a WINDOW below, and so are its own. bounds: two for each call, NULL where the frame is the partition. */
static nl_status count_frames(extraction *x, const nl_logical *plan, const nl_expr ***bounds, const nl_logical **child)
{
    nl_arena *arena = x->arena;
    const nl_logical *below = plan->children[0];
    const uint32_t count = plan->window.expr_count;
    const nl_expr **counts = NL_NEW_ARRAY(arena, const nl_expr *, 2 * count);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, below->column_count + 2 * count);
    uint32_t made = 0;
    nl_copy_items(columns, below->columns, below->column_count * sizeof *columns);
    *bounds = NL_NEW_ARRAY(arena, const nl_expr *, 2 * count);
    for (uint32_t i = 0; i < count; i++) {
        const nl_window_spec *frame = plan->window.exprs[i]->window;
        if (frame->start_kind == NL_BOUND_UNBOUNDED_PRECEDING && frame->stop_kind == NL_BOUND_UNBOUNDED_FOLLOWING) continue;
        nl_window_spec *before = NL_NEW(arena, nl_window_spec);
        *before = *frame;
        before->start_kind = NL_BOUND_UNBOUNDED_PRECEDING;
        before->start_offset = NULL;
        NL_TRY(count_over(x, before, &counts[made]));
        NL_TRY(count_over(x, frame, &counts[made + 1]));
        const nl_expr *sides[2];
        for (uint32_t k = 0; k < 2; k++, made++) {
            columns[below->column_count + made] = nl_column_for(x->context, counts[made], k ? NL_STR("frame") : NL_STR("end"));
            sides[k] = nl_column_ref(arena, &columns[below->column_count + made]);
        }
        NL_TRY(nl_call_rule(x->context, "-", sides[0], sides[1], &(*bounds)[2 * i]));
        (*bounds)[2 * i + 1] = sides[0];
    }
    *child = below;
    if (!made) return NULL;
    nl_logical *window = nl_logical_new(arena, NL_PLAN_WINDOW, &below, 1);
    window->columns = columns;
    window->column_count = below->column_count + made;
    window->window.exprs = counts;
    window->window.expr_count = made;
    *child = window;
    return NULL;
}

static nl_status replace_window(extraction *x, const nl_logical *plan, const nl_logical **result)
{
    uint32_t python_count = 0;
    for (uint32_t i = 0; i < plan->window.expr_count; i++) python_count += nl_python_aggregate(plan->window.exprs[i]->call) != NULL;
    *result = plan;
    if (!python_count) return NULL;
    if (python_count < plan->window.expr_count)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Window functions written in Python beside others over the same window are not supported: compute them in two steps.");
    const nl_window_spec *spec = plan->window.exprs[0]->window;
    const nl_expr **bounds = NULL;
    const nl_logical *child = NULL;
    NL_TRY(count_frames(x, plan, &bounds, &child));
    nl_logical *node = grouped(x, child, NL_PYTHON_WINDOW, spec->partition_by, spec->partition_count, spec->order_by, spec->order_count, plan->window.exprs,
                               plan->window.expr_count, bounds);
    nl_column *columns = NL_NEW_ARRAY(x->arena, nl_column, child->column_count + plan->window.expr_count);
    nl_copy_items(columns, child->columns, child->column_count * sizeof *columns);
    nl_copy_items(columns + child->column_count, plan->columns + (plan->column_count - plan->window.expr_count), plan->window.expr_count * sizeof *columns);
    node->columns = columns;
    node->column_count = child->column_count + plan->window.expr_count;
    *result = node->column_count == plan->column_count ? node : nl_logical_keep(x->arena, node, plan->columns, plan->column_count);
    return NULL;
}

/* ---- the rule ---- */

static nl_status extract(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    extraction x = {.context = context, .arena = arena};
    const nl_expr *lambda = NULL;
    *result = plan;
    if (node_has_python(plan)) {
        nl_logical_walk_exprs(plan, find_in_lambda, (void *)&lambda);
        if (lambda)
            return NL_RAISE(UNSUPPORTED_FEATURE__LAMBDA_FUNCTION_WITH_PYTHON_UDF,
                            NL_P_STR("funcName", nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_expr_pretty_str(arena, lambda)))));
        if (plan->kind == NL_PLAN_JOIN) return extract_from_join(&x, plan, result);
        if (plan->child_count != 1) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A function written in Python is not supported in this place.");
        NL_TRY(extract_below(&x, plan, result));
    }
    plan = *result;
    if (plan->kind == NL_PLAN_AGGREGATE) return replace_aggregate(&x, plan, result);
    if (plan->kind == NL_PLAN_WINDOW) return replace_window(&x, plan, result);
    return NULL;
}

nl_status nl_rule_extract_python(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(context->arena, plan, extract, context, result);
}
