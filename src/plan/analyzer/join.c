/* Joins: ON, USING, NATURAL, commas, LATERAL. */
#include "plan/analyzer/analyzer.h"

#include "function/coercion.h"

typedef struct joining {
    nl_env *env;
    nl_scope *outer;
    const nl_ast_relation *relation;
    const nl_logical *left, *right;
    nl_join_kind kind;
} joining;

static nl_join_kind join_kind(nl_ast_join_kind kind)
{
    switch (kind) {
    case NL_AST_JOIN_INNER:
        return NL_JOIN_INNER;
    case NL_AST_JOIN_CROSS:
        return NL_JOIN_CROSS;
    case NL_AST_JOIN_LEFT:
        return NL_JOIN_LEFT;
    case NL_AST_JOIN_RIGHT:
        return NL_JOIN_RIGHT;
    case NL_AST_JOIN_FULL:
        return NL_JOIN_FULL;
    case NL_AST_JOIN_LEFT_SEMI:
        return NL_JOIN_SEMI;
    case NL_AST_JOIN_LEFT_ANTI:
        return NL_JOIN_ANTI;
    }
    return NL_JOIN_INNER;
}

/* A scope over both sides' columns, whatever the join puts out. */
static void over_both(const joining *j, nl_scope *scope)
{
    nl_arena *arena = j->env->context->arena;
    const uint32_t count = j->left->column_count + j->right->column_count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count + 1);
    if (j->left->column_count) memcpy(columns, j->left->columns, j->left->column_count * sizeof *columns);
    if (j->right->column_count) memcpy(columns + j->left->column_count, j->right->columns, j->right->column_count * sizeof *columns);
    *scope = (nl_scope){.env = j->env, .outer = j->outer, .clause = NL_CLAUSE_JOIN, .set_count = 1};
    scope->sets[0] = (nl_column_set){columns, count};
}

/* spark.sql.crossJoin.enabled=false: CROSS JOIN gets a condition between its sides that is always true, which the check for
 * joins without one looks for. */
static nl_status mark_as_crossed(const joining *j, const nl_expr **condition)
{
    nl_arena *arena = j->env->context->arena;
    if (!nl_env_is_set(j->env, "spark.sql.crossJoin.enabled", "false") || !j->left->column_count || !j->right->column_count) return NULL;
    nl_scope scope;
    over_both(j, &scope);
    const nl_expr *const sides[] = {nl_column_ref(arena, &j->left->columns[0]), nl_column_ref(arena, &j->right->columns[0])};
    if (nl_type_has_map(sides[0]->type) || nl_type_has_map(sides[1]->type)) return NULL;
    const nl_value greatest = nl_value_int(nl_type_bigint(), INT64_MAX);
    const nl_expr *bounds[] = {NULL, nl_expr_literal(arena, &greatest)};
    NL_TRY(nl_call_bound(&scope, NL_STR("xxhash64"), sides, 2, &bounds[0]));
    return nl_call_bound(&scope, NL_STR("<="), bounds, 2, condition);
}

static nl_status plain_join(joining *j, const nl_logical **plan)
{
    nl_arena *arena = j->env->context->arena;
    const nl_expr *condition = NULL;
    if (j->relation->join.on) {
        nl_scope scope;
        over_both(j, &scope);
        NL_TRY(nl_resolve_condition(&scope, j->relation->join.on, &condition));
        NL_TRY(nl_check_join_subqueries(j->env, j->left, j->right, condition));
        if (!nl_is_declared_deterministic(condition) && !j->relation->join.right->is_lateral)
            return NL_RAISE(INVALID_NON_DETERMINISTIC_EXPRESSIONS, NL_P_STR("sqlExprs", nl_quote_expr(arena, condition)));
        if (j->kind == NL_JOIN_CROSS) j->kind = NL_JOIN_INNER;
    }
    if (j->relation->join.kind == NL_AST_JOIN_CROSS && !condition) NL_TRY(mark_as_crossed(j, &condition));
    if (j->kind == NL_JOIN_CROSS && condition) j->kind = NL_JOIN_INNER;
    *plan = nl_logical_join(arena, j->kind, j->left, j->right, condition);
    return NULL;
}

/* ---- USING and NATURAL ---- */

static const nl_column *visible_column(const nl_scope *scope, const nl_logical *plan, nl_str name)
{
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (!plan->columns[i].is_hidden && nl_names_equal(scope, plan->columns[i].name, name)) return &plan->columns[i];
    return NULL;
}

static nl_status raise_using(const joining *j, nl_str name, const char *side, const nl_logical *plan)
{
    nl_arena *arena = j->env->context->arena;
    nl_column *names = NL_NEW_ARRAY(arena, nl_column, plan->column_count + 1); /* without their qualifiers */
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (!plan->columns[i].is_hidden) names[count++] = (nl_column){.name = plan->columns[i].name};
    return NL_RAISE(UNRESOLVED_USING_COLUMN_FOR_JOIN, NL_P_STR("colName", nl_quote_name(arena, name)), NL_P("side", side),
                    NL_P_STR("suggestion", nl_suggest_names(arena, &name, 1, names, count)));
}

static nl_status key_names(joining *j, const nl_scope *scope, nl_list *names)
{
    nl_arena *arena = j->env->context->arena;
    if (!j->relation->join.is_natural) {
        for (uint32_t i = 0; i < j->relation->join.using_columns.count; i++)
            nl_list_add(arena, names, &j->relation->join.using_columns.items[i].text);
        return NULL;
    }
    for (uint32_t i = 0; i < j->left->column_count; i++) {
        const nl_column *column = &j->left->columns[i];
        if (!column->is_hidden && visible_column(scope, j->right, column->name)) nl_list_add(arena, names, NL_UNCONST(&column->name));
    }
    return NULL;
}

typedef struct key_pair {
    const nl_column *left, *right;
    nl_str name;
} key_pair;

static nl_status find_pairs(joining *j, nl_scope *scope, const nl_list *names, key_pair *pairs, const nl_expr **condition)
{
    nl_arena *arena = j->env->context->arena;
    for (uint32_t i = 0; i < names->count; i++) {
        key_pair *pair = &pairs[i];
        pair->name = *(const nl_str *)names->items[i];
        pair->left = visible_column(scope, j->left, pair->name);
        if (!pair->left) return raise_using(j, pair->name, "left", j->left);
        pair->right = visible_column(scope, j->right, pair->name);
        if (!pair->right) return raise_using(j, pair->name, "right", j->right);
        const nl_expr *const sides[] = {nl_column_ref(arena, pair->left), nl_column_ref(arena, pair->right)};
        const nl_expr *equal = NULL;
        NL_TRY(nl_call_function(scope, NL_STR("="), sides, 2, &equal));
        *condition = nl_expr_and(arena, *condition, equal);
    }
    return NULL;
}

static bool is_key(const key_pair *pairs, uint32_t count, nl_column_id id)
{
    for (uint32_t i = 0; i < count; i++)
        if (pairs[i].left->id == id || pairs[i].right->id == id) return true;
    return false;
}

/* Keys first and once, then the others (of the left side alone behind a semi or anti join); the keys of the other side stay
 * reachable by their qualifier. */
static nl_status shape_using(joining *j, nl_scope *scope, const key_pair *pairs, uint32_t pair_count, const nl_logical *join,
                             const nl_logical **plan)
{
    nl_arena *arena = j->env->context->arena;
    const uint32_t count_max = join->column_count + pair_count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count_max + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count_max + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < pair_count; i++) {
        const nl_column *left = nl_logical_find_column(join, pairs[i].left->id);
        const nl_column *right = nl_logical_find_column(join, pairs[i].right->id);
        const nl_column *shown = j->kind == NL_JOIN_RIGHT ? right : left;
        columns[count] = *shown;
        exprs[count] = nl_column_ref(arena, shown);
        if (j->kind == NL_JOIN_FULL) {
            const nl_expr *const sides[] = {nl_column_ref(arena, left), nl_column_ref(arena, right)};
            bool is_special = false;
            NL_TRY(nl_special_call(scope, NL_STR("coalesce"), sides, 2, &is_special, &exprs[count]));
            columns[count] = (nl_column){.id = nl_plan_new_id(j->env->context), .name = left->name, .type = exprs[count]->type,
                                         .is_nullable = exprs[count]->is_nullable};
        }
        count++;
    }
    for (uint32_t i = 0; i < join->column_count; i++) {
        const nl_column *column = &join->columns[i];
        const bool is_a_key = is_key(pairs, pair_count, column->id);
        bool is_shown = false;
        for (uint32_t k = 0; k < pair_count; k++) is_shown = is_shown || columns[k].id == column->id;
        if (is_shown) continue;
        columns[count] = *column;
        if (is_a_key) {
            columns[count].is_hidden = true;
            columns[count].is_qualified_only = true;
        }
        exprs[count++] = nl_column_ref(arena, column);
    }
    *plan = nl_logical_project(arena, join, columns, exprs, count);
    return NULL;
}

static nl_status using_join(joining *j, const nl_logical **plan)
{
    nl_arena *arena = j->env->context->arena;
    nl_scope scope;
    over_both(j, &scope);
    nl_list names = {0};
    NL_TRY(key_names(j, &scope, &names));
    key_pair *pairs = NL_NEW_ARRAY(arena, key_pair, names.count + 1);
    const nl_expr *condition = NULL;
    NL_TRY(find_pairs(j, &scope, &names, pairs, &condition));
    if (j->kind == NL_JOIN_CROSS) j->kind = NL_JOIN_INNER;
    const nl_logical *join = nl_logical_join(arena, j->kind, j->left, j->right, condition);
    if (names.count == 0) {
        *plan = join;
        return NULL;
    }
    return shape_using(j, &scope, pairs, names.count, join, plan);
}

/* ---- LATERAL ---- */

static bool is_generator_call(const nl_ast_relation *relation)
{
    if (relation->kind != NL_AST_RELATION_FUNCTION || relation->function.name.count != 1) return false;
    const nl_function_row *const *rows = NULL;
    return nl_function_find(relation->function.name.parts[0].text, &rows) && rows[0]->kind == NL_FUNCTION_GENERATOR;
}

/* LATERAL explode(t.a) is a GENERATE over the left side. */
static nl_status lateral_generator(joining *j, const nl_logical **plan)
{
    nl_arena *arena = j->env->context->arena;
    const nl_ast_relation *right = j->relation->join.right;
    nl_scope scope;
    nl_scope_over(&scope, j->env, j->outer, j->left, NL_CLAUSE_OTHER);
    const uint32_t count = right->function.args.count;
    const nl_expr **args = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) NL_TRY(nl_resolve_expr(&scope, right->function.args.items[i].value, &args[i]));
    nl_select_generator generator = {0};
    NL_TRY(nl_make_generator(&scope, right->function.name.parts[0].text, args, count, &generator));
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, generator.column_count + 1);
    if (right->alias.columns.count && right->alias.columns.count != generator.column_count)
        return nl_sql_at(NL_RAISE(ASSIGNMENT_ARITY_MISMATCH, NL_P_INT("numExpr", right->alias.columns.count),
                                  NL_P_INT("numTarget", generator.column_count)),
                         j->env->text, right->range, false);
    for (uint32_t i = 0; i < generator.column_count; i++) {
        columns[i] = generator.columns[i];
        if (right->alias.columns.count) columns[i].name = right->alias.columns.items[i].text;
        columns[i].qualifier = right->alias.name.text.data ? &right->alias.name.text : NULL;
        columns[i].qualifier_count = right->alias.name.text.data != NULL;
    }
    generator.columns = columns;
    generator.is_outer = generator.is_outer || j->kind == NL_JOIN_LEFT;
    *plan = nl_generator_plan(arena, &generator, j->left);
    if (!j->relation->join.on) return NULL;
    const nl_expr *condition = NULL;
    nl_scope_over(&scope, j->env, j->outer, *plan, NL_CLAUSE_JOIN);
    NL_TRY(nl_resolve_condition(&scope, j->relation->join.on, &condition));
    *plan = nl_logical_filter(arena, *plan, condition);
    return NULL;
}

static nl_status lateral_join(joining *j, const nl_logical **plan)
{
    /* With a condition an outer join keeps rows whose every output fails it: that is no mere GENERATE. */
    const bool is_conditional = j->kind == NL_JOIN_LEFT && j->relation->join.on;
    if (j->relation->join.is_natural) return NL_RAISE(INCOMPATIBLE_JOIN_TYPES, NL_P("joinType1", "LATERAL"), NL_P("joinType2", "NATURAL"));
    if (!is_conditional && is_generator_call(j->relation->join.right)) return lateral_generator(j, plan);
    nl_scope left;
    nl_scope_over(&left, j->env, j->outer, j->left, NL_CLAUSE_OTHER);
    NL_TRY(nl_analyze_relation(j->env, &left, j->relation->join.right, &j->right));
    const nl_logical *join = NULL;
    if (j->kind == NL_JOIN_CROSS) j->kind = NL_JOIN_INNER;
    NL_TRY(plain_join(j, &join));
    NL_TRY(nl_check_lateral(j->env, j->left, j->right, join->join.condition));
    nl_logical *marked = nl_logical_copy(j->env->context->arena, join);
    marked->join.is_lateral = true;
    *plan = marked;
    return NULL;
}

/* A chain of joins leans to the left: walked with a loop, however long. */
nl_status nl_analyze_join(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan)
{
    nl_arena *arena = env->context->arena;
    nl_list chain = {0};
    const nl_ast_relation *leftmost = relation;
    while (leftmost->kind == NL_AST_RELATION_JOIN && (leftmost == relation || (!leftmost->sample && !leftmost->alias.name.text.data))) {
        nl_list_add(arena, &chain, NL_UNCONST(leftmost));
        leftmost = leftmost->join.left;
    }
    const nl_logical *left = NULL;
    NL_TRY(nl_analyze_relation(env, outer, leftmost, &left));
    for (uint32_t i = chain.count; i-- > 0;) {
        joining j = {.env = env, .outer = outer, .relation = chain.items[i], .left = left};
        j.kind = join_kind(j.relation->join.kind);
        nl_status status;
        if (j.relation->join.right->is_lateral) {
            status = lateral_join(&j, &left);
        } else {
            NL_TRY(nl_analyze_relation(env, outer, j.relation->join.right, &j.right));
            const bool has_keys = j.relation->join.is_natural || j.relation->join.using_columns.count;
            status = has_keys ? using_join(&j, &left) : plain_join(&j, &left);
        }
        NL_TRY(nl_sql_at(status, env->text, j.relation->range, false));
    }
    *plan = left;
    return NULL;
}
