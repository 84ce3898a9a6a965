/* exec/join.c - planning a join: keys, residual condition, which columns are carried. */
#include "exec/join.h"

static bool has_id(const nl_column *columns, uint32_t count, nl_column_id id)
{
    for (uint32_t i = 0; i < count; i++)
        if (columns[i].id == id) return true;
    return false;
}

typedef struct sides {
    const nl_join *join;
    bool uses_left, uses_right;
} sides;

static bool find_sides(void *context, const nl_expr *expr)
{
    sides *found = context;
    if (expr->kind == NL_EXPR_COLUMN) {
        found->uses_left = found->uses_left || has_id(found->join->left, found->join->left_count, expr->column);
        found->uses_right = found->uses_right || has_id(found->join->right, found->join->right_count, expr->column);
    }
    return true;
}

static sides sides_of(const nl_join *join, const nl_expr *expr)
{
    sides found = {.join = join};
    nl_expr_walk(expr, find_sides, &found);
    return found;
}

static bool is_named(const nl_expr *expr, const char *a, const char *b)
{
    const char *name = expr->function->row->name;
    return strcmp(name, a) == 0 || strcmp(name, b) == 0;
}

/* CHAR, VARCHAR and STRING compare alike; equal under a collation is not equal bytes. */
static bool can_hash_together(const nl_type *a, const nl_type *b)
{
    if (a->id == NL_TYPE_STRING && b->id == NL_TYPE_STRING) return a->collation.length == 0 && b->collation.length == 0;
    return nl_type_equal(a, b);
}

/* An equality between the sides becomes a key. */
static bool take_key(nl_join *join, const nl_expr *expr)
{
    if (expr->kind != NL_EXPR_CALL || expr->child_count != 2) return false;
    bool is_null_safe = is_named(expr, "<=>", "equal_null");
    if (!is_null_safe && !is_named(expr, "=", "==")) return false;
    const nl_expr *a = expr->children[0], *b = expr->children[1];
    sides of_a = sides_of(join, a), of_b = sides_of(join, b);
    if (!nl_expr_is_deterministic(a) || !nl_expr_is_deterministic(b) || !can_hash_together(a->type, b->type)) return false;
    bool is_straight = of_a.uses_left && !of_a.uses_right && of_b.uses_right && !of_b.uses_left;
    bool is_crossed = of_a.uses_right && !of_a.uses_left && of_b.uses_left && !of_b.uses_right;
    if (!is_straight && !is_crossed) return false;
    join->left_keys[join->key_count] = is_straight ? a : b;
    join->right_keys[join->key_count] = is_straight ? b : a;
    join->is_null_safe[join->key_count++] = is_null_safe;
    return true;
}

/* a = b, made to hold when it is null: for NOT IN that hashing cannot answer. */
static const nl_expr *or_null(nl_arena *arena, const nl_expr *expr)
{
    return nl_expr_or(arena, expr, nl_expr_is_null(arena, expr, false));
}

static nl_status plan_condition(nl_join *join, const nl_expr *condition, const nl_expr **residual)
{
    nl_arena *arena = join->exec->arena;
    nl_list conjuncts = {0};
    if (condition) nl_expr_conjuncts(arena, condition, &conjuncts);
    join->left_keys = NL_NEW_ARRAY(arena, const nl_expr *, conjuncts.count);
    join->right_keys = NL_NEW_ARRAY(arena, const nl_expr *, conjuncts.count);
    join->is_null_safe = NL_NEW_ARRAY(arena, bool, conjuncts.count);
    *residual = NULL;
    for (uint32_t i = 0; i < conjuncts.count; i++)
        if (!take_key(join, conjuncts.items[i])) *residual = nl_expr_and(arena, *residual, conjuncts.items[i]);
    bool is_simple = join->key_count == 1 && !*residual;
    if (join->kind == NL_JOIN_NULL_AWARE_ANTI && !is_simple) {
        /* Several columns, or a correlated condition: compared row by row, nulls counting as a match. */
        join->kind = NL_JOIN_ANTI;
        join->is_null_aware = false;
        join->key_count = 0;
        *residual = NULL;
        for (uint32_t i = 0; i < conjuncts.count; i++)
            *residual = nl_expr_and(arena, *residual, or_null(arena, conjuncts.items[i]));
    }
    if (join->kind == NL_JOIN_MARK && join->is_null_aware && !is_simple)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "IN (subquery) over several columns, or with a correlated condition, as a value is not supported.");
    return NULL;
}

static bool note_residual(void *context, const nl_expr *expr)
{
    nl_join *join = context;
    if (expr->kind != NL_EXPR_COLUMN) return true;
    for (uint32_t i = 0; i < join->left_count; i++)
        if (join->left[i].id == expr->column) join->is_residual_left[i] = true;
    for (uint32_t i = 0; i < join->right_count; i++)
        if (join->right[i].id == expr->column) join->is_residual_right[i] = true;
    return true;
}

static nl_status plan_residual(nl_join *join, const nl_expr *residual)
{
    nl_arena *arena = join->exec->arena;
    join->is_residual_left = NL_NEW_ARRAY(arena, bool, join->left_count);
    join->is_residual_right = NL_NEW_ARRAY(arena, bool, join->right_count);
    if (!residual) return NULL;
    join->has_residual = true;
    nl_expr_walk(residual, note_residual, join);
    nl_column *both = NL_NEW_ARRAY(arena, nl_column, join->left_count + join->right_count);
    for (uint32_t i = 0; i < join->left_count; i++)
        both[i] = join->left[i];
    for (uint32_t i = 0; i < join->right_count; i++)
        both[join->left_count + i] = join->right[i];
    return nl_programs_init_filter(&join->residual, join->exec, residual, both, join->left_count + join->right_count);
}

/* The build row: keys, then the right columns that are needed and are not keys themselves. */
static nl_status plan_rows(nl_join *join)
{
    nl_exec *exec = join->exec;
    const nl_expr **values = NL_NEW_ARRAY(exec->arena, const nl_expr *, join->key_count + join->right_count);
    const nl_type **types = NL_NEW_ARRAY(exec->arena, const nl_type *, join->key_count + join->right_count);
    join->right_to_layout = NL_NEW_ARRAY(exec->arena, uint32_t, join->right_count);
    uint32_t count = 0;
    for (uint32_t k = 0; k < join->key_count; k++)
        values[count++] = join->right_keys[k];
    for (uint32_t i = 0; i < join->right_count; i++) {
        const nl_column *column = &join->right[i];
        join->right_to_layout[i] = UINT32_MAX;
        if (!(nl_join_gives_right(join) && join->is_wanted_right[i]) && !join->is_residual_right[i]) continue;
        for (uint32_t k = 0; k < join->key_count; k++)
            if (values[k]->kind == NL_EXPR_COLUMN && values[k]->column == column->id) join->right_to_layout[i] = k;
        if (join->right_to_layout[i] != UINT32_MAX) continue;
        join->right_to_layout[i] = count;
        values[count++] = nl_expr_column(exec->arena, column->id, column->name, column->type, column->is_nullable);
    }
    for (uint32_t i = 0; i < count; i++)
        types[i] = values[i]->type;
    join->build_value_count = count;
    join->build_types = types;
    join->left_types = nl_column_types(exec->arena, join->left, join->left_count);
    nl_row_layout_init(&join->layout, exec->arena, types, count, sizeof(nl_join_header));
    NL_TRY(nl_programs_init(&join->build_values, exec, values, count, join->right, join->right_count));
    return nl_programs_init(&join->probe_keys, exec, join->left_keys, join->key_count, join->left, join->left_count);
}

static void new_workers(nl_join *join)
{
    nl_exec *exec = join->exec;
    join->workers = NL_NEW_ARRAY(exec->arena, nl_join_worker, exec->worker_count);
    for (uint32_t w = 0; w < exec->worker_count; w++) {
        nl_join_worker *own = &join->workers[w];
        for (uint32_t part = 0; part < NL_JOIN_PARTS; part++)
            nl_row_store_init(&own->parts[part], exec->query->memory, join->layout.row_bytes);
        own->has_range = NL_NEW_ARRAY(exec->arena, bool, join->key_count);
        own->lower = NL_NEW_ARRAY(exec->arena, int64_t, join->key_count);
        own->upper = NL_NEW_ARRAY(exec->arena, int64_t, join->key_count);
    }
}

static void note_wanted(nl_join *join, const nl_wanted *wanted)
{
    join->is_wanted_left = NL_NEW_ARRAY(join->exec->arena, bool, join->left_count + 1);
    join->is_wanted_right = NL_NEW_ARRAY(join->exec->arena, bool, join->right_count + 1);
    for (uint32_t i = 0; i < join->left_count; i++)
        join->is_wanted_left[i] = nl_is_wanted(wanted, join->left[i].id);
    for (uint32_t i = 0; i < join->right_count; i++)
        join->is_wanted_right[i] = nl_is_wanted(wanted, join->right[i].id);
}

nl_status nl_build_join(nl_exec *exec, const nl_logical *node, const nl_wanted *wanted, nl_pipeline **out)
{
    const nl_wanted *below = nl_wanted_below(exec, node, wanted);
    const bool builds_left = node->join.builds_left;
    const nl_logical *left = node->children[builds_left], *right = node->children[!builds_left];
    nl_join *join = NL_NEW(exec->arena, nl_join);
    *join = (nl_join){.exec = exec, .node = node, .kind = node->join.kind, .is_null_aware = node->join.kind == NL_JOIN_NULL_AWARE_ANTI ||
                      (node->join.kind == NL_JOIN_MARK && node->join.is_null_aware), .left = left->columns, .left_count = left->column_count,
                      .right = right->columns, .right_count = right->column_count, .builds_left = builds_left, .probe_plan = left};
    if (builds_left) {
        NL_ASSERT(join->kind == NL_JOIN_SEMI || join->kind == NL_JOIN_ANTI);
        join->wants_matched = join->kind == NL_JOIN_SEMI;
        join->kind = NL_JOIN_RIGHT;
    }
    const nl_expr *condition = node->join.condition;
    const nl_expr *residual = NULL;
    if (condition) NL_TRY(nl_resolve_subqueries(exec, condition, &condition));
    NL_TRY(plan_condition(join, condition, &residual));
    NL_TRY(plan_residual(join, residual));
    note_wanted(join, wanted);
    NL_TRY(plan_rows(join));
    join->bitmaps = NL_NEW_ARRAY(exec->arena, nl_key_bitmap, join->key_count);
    new_workers(join);
    nl_pipeline *build = NULL;
    NL_TRY(nl_build_wanted(exec, right, below, &build));
    nl_pipeline_append(build, nl_join_build_operator(join));
    nl_exec_add_pipeline(exec, build);
    NL_TRY(nl_build_wanted(exec, left, below, out));
    nl_pipeline_append(*out, nl_join_probe_operator(join));
    /* Heads of late inputs stay open: the operator that follows the probe. */
    if (nl_join_keeps_right(join)) nl_pipeline_add_late(*out, nl_join_unmatched_source(join), NULL);
    nl_pipeline_add_late(*out, nl_join_spilled_source(join), NULL); /* last: it takes the others' memory */
    return NULL;
}
