/* Queries and terms: WITH, set operations, TABLE t, parentheses. */
#include "plan/analyzer/analyzer.h"

#include "base/limits.h"
#include "function/coercion.h"

/* ---- set operations ---- */

static const char *operator_word(nl_ast_set_operator op, nl_ast_set_quantifier quantifier)
{
    const bool is_all = quantifier == NL_AST_SET_ALL;
    switch (op) {
    case NL_AST_SET_UNION:
        return "UNION";
    case NL_AST_SET_EXCEPT:
        return is_all ? "EXCEPT ALL" : "EXCEPT";
    case NL_AST_SET_INTERSECT:
        return is_all ? "INTERSECT ALL" : "INTERSECT";
    }
    return "";
}

static nl_set_kind set_kind(nl_ast_set_operator op, nl_ast_set_quantifier quantifier)
{
    const bool is_all = quantifier == NL_AST_SET_ALL;
    switch (op) {
    case NL_AST_SET_UNION:
        return is_all ? NL_SET_UNION_ALL : NL_SET_UNION;
    case NL_AST_SET_EXCEPT:
        return is_all ? NL_SET_EXCEPT_ALL : NL_SET_EXCEPT;
    case NL_AST_SET_INTERSECT:
        return is_all ? NL_SET_INTERSECT_ALL : NL_SET_INTERSECT;
    }
    return NL_SET_UNION_ALL;
}

static nl_status without_hidden(nl_env *env, const nl_logical *plan, const nl_logical **result)
{
    uint32_t visible = 0;
    for (uint32_t i = 0; i < plan->column_count; i++) visible += !plan->columns[i].is_hidden;
    *result = plan;
    if (visible == plan->column_count) return NULL;
    nl_column *columns = NL_NEW_ARRAY(env->context->arena, nl_column, visible + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (!plan->columns[i].is_hidden) columns[count++] = plan->columns[i];
    *result = nl_logical_keep(env->context->arena, plan, columns, count);
    return NULL;
}

nl_status nl_check_distinct_types(nl_plan_context *context, const nl_column *columns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const nl_column *column = &columns[i];
        if (column->is_hidden) continue;
        const nl_str name = nl_quote_name(context->arena, column->name);
        const nl_str type = nl_quote_type(context->arena, column->type);
        if (nl_type_has_map(column->type)) return NL_RAISE(UNSUPPORTED_FEATURE__SET_OPERATION_ON_MAP_TYPE, NL_P_STR("colName", name), NL_P_STR("dataType", type));
        if (column->type->id == NL_TYPE_VARIANT)
            return NL_RAISE(UNSUPPORTED_FEATURE__SET_OPERATION_ON_VARIANT_TYPE, NL_P_STR("colName", name), NL_P_STR("dataType", type));
    }
    return NULL;
}

/* Types that differ in the names of fields alone: the first one's names, and null where either may be. */
static const nl_type *by_place(nl_arena *arena, const nl_type *a, const nl_type *b)
{
    if (!nl_type_is_nested(a)) return a;
    if (a->id == NL_TYPE_ARRAY) return nl_type_array(arena, by_place(arena, a->children[0].type, b->children[0].type), a->contains_null || b->contains_null);
    if (a->id == NL_TYPE_MAP)
        return nl_type_map(arena, by_place(arena, a->children[0].type, b->children[0].type), by_place(arena, a->children[1].type, b->children[1].type),
                           a->contains_null || b->contains_null);
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, a->child_count + 1);
    for (uint32_t i = 0; i < a->child_count; i++) {
        fields[i] = a->children[i];
        fields[i].type = by_place(arena, a->children[i].type, b->children[i].type);
        fields[i].is_nullable = a->children[i].is_nullable || b->children[i].is_nullable;
    }
    return nl_type_struct(arena, fields, a->child_count);
}

static nl_status set_types(nl_env *env, const char *word, bool is_union, const nl_logical *left, const nl_logical *right, const nl_type ***types)
{
    nl_arena *arena = env->context->arena;
    *types = NL_NEW_ARRAY(arena, const nl_type *, left->column_count + 1);
    for (uint32_t i = 0; i < left->column_count; i++) {
        (*types)[i] = nl_common_type(arena, left->columns[i].type, right->columns[i].type, nl_confs_rules(nl_env_confs(env)));
        if (!(*types)[i] && is_union && nl_type_has_same_structure(left->columns[i].type, right->columns[i].type))
            (*types)[i] = by_place(arena, left->columns[i].type, right->columns[i].type);
        if ((*types)[i]) continue;
        return NL_RAISE(INCOMPATIBLE_COLUMN_TYPE, NL_P("operator", word), NL_P("columnOrdinalNumber", nl_position_word(i)),
                        NL_P("tableOrdinalNumber", "second"), NL_P_STR("dataType1", nl_quote_type(arena, right->columns[i].type)),
                        NL_P_STR("dataType2", nl_quote_type(arena, left->columns[i].type)), NL_P("hint", ""));
    }
    return NULL;
}

static nl_status make_set(nl_env *env, nl_ast_set_operator op, nl_ast_set_quantifier quantifier, const nl_logical *left,
                          const nl_logical *right, const nl_logical **plan)
{
    nl_arena *arena = env->context->arena;
    const char *word = operator_word(op, quantifier);
    NL_TRY(without_hidden(env, left, &left));
    NL_TRY(without_hidden(env, right, &right));
    if (left->column_count != right->column_count)
        return NL_RAISE(NUM_COLUMNS_MISMATCH, NL_P("operator", word), NL_P_INT("firstNumColumns", left->column_count),
                        NL_P("invalidOrdinalNum", "second"), NL_P_INT("invalidNumColumns", right->column_count));
    const nl_type **types = NULL;
    NL_TRY(set_types(env, word, op == NL_AST_SET_UNION, left, right, &types));
    NL_TRY(nl_cast_columns(env, left, types, &left));
    NL_TRY(nl_cast_columns(env, right, types, &right));
    if (set_kind(op, quantifier) != NL_SET_UNION_ALL) NL_TRY(nl_check_distinct_types(env->context, left->columns, left->column_count));
    const nl_logical *const children[] = {left, right};
    nl_logical *set = nl_logical_new(arena, NL_PLAN_SET, children, 2);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, left->column_count + 1);
    for (uint32_t i = 0; i < left->column_count; i++) {
        columns[i] = left->columns[i];
        columns[i].id = nl_plan_new_id(env->context);
        const bool is_right_too = op != NL_AST_SET_EXCEPT;
        columns[i].is_nullable = left->columns[i].is_nullable || (is_right_too && right->columns[i].is_nullable);
    }
    set->columns = columns;
    set->column_count = left->column_count;
    set->set.kind = set_kind(op, quantifier);
    *plan = set;
    return NULL;
}

nl_status nl_make_set(nl_env *env, nl_ast_range range, nl_ast_set_operator op, nl_ast_set_quantifier quantifier,
                      const nl_logical *left, const nl_logical *right, const nl_logical **plan)
{
    return nl_sql_at(make_set(env, op, quantifier, left, right, plan), env->text, range, false);
}

/* ---- chains ---- */

static bool have_same_types(const nl_logical *a, const nl_logical *b)
{
    if (a->column_count != b->column_count) return false;
    for (uint32_t i = 0; i < a->column_count; i++)
        if (!nl_type_equal(a->columns[i].type, b->columns[i].type)) return false;
    return true;
}

/* One node for a run of unions whose sides have one type each. */
static nl_status make_union(nl_env *env, const nl_ast_term *node, const nl_list *sides, const nl_logical **plan)
{
    nl_arena *arena = env->context->arena;
    const nl_logical *first = sides->items[0];
    nl_logical *set = nl_logical_new(arena, NL_PLAN_SET, (const nl_logical *const *)(void *)sides->items, sides->count);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, first->column_count + 1);
    for (uint32_t i = 0; i < first->column_count; i++) {
        columns[i] = first->columns[i];
        columns[i].id = nl_plan_new_id(env->context);
        for (uint32_t k = 1; k < sides->count; k++)
            columns[i].is_nullable = columns[i].is_nullable || ((const nl_logical *)sides->items[k])->columns[i].is_nullable;
    }
    set->columns = columns;
    set->column_count = first->column_count;
    set->set.kind = set_kind(node->set.op, node->set.quantifier);
    *plan = set;
    if (set->set.kind == NL_SET_UNION_ALL) return NULL;
    return nl_sql_at(nl_check_distinct_types(env->context, columns, set->column_count), env->text, node->range, false);
}

typedef struct set_chain {
    nl_env *env;
    nl_scope *outer;
    nl_list nodes; /* const nl_ast_term *, the outermost first */
    uint32_t left; /* nodes not joined yet */
} set_chain;

static nl_status next_side(set_chain *chain, const nl_ast_term **node, const nl_logical **side)
{
    *node = chain->nodes.items[--chain->left];
    NL_TRY(nl_analyze_term(chain->env, chain->outer, (*node)->set.right, NULL, side));
    return without_hidden(chain->env, *side, side);
}

/* Unions of one kind that follow each other, as long as the types stay: the first side that breaks the run comes back. */
static nl_status take_run(set_chain *chain, const nl_ast_term **node, const nl_logical **left, const nl_logical **right)
{
    nl_arena *arena = chain->env->context->arena;
    const nl_ast_term *first = *node;
    nl_list sides = {0};
    nl_list_add(arena, &sides, NL_UNCONST(*left));
    while (*right && (*node)->set.op == first->set.op && (*node)->set.quantifier == first->set.quantifier && have_same_types(*left, *right)) {
        nl_list_add(arena, &sides, NL_UNCONST(*right));
        *right = NULL;
        if (chain->left > 0) NL_TRY(next_side(chain, node, right));
    }
    return make_union(chain->env, first, &sides, left);
}

/* a UNION ALL b UNION ALL c … is a chain to the left: walked with a loop, however long. */
nl_status nl_analyze_set(nl_env *env, nl_scope *outer, const nl_ast_term *term, const nl_logical **plan)
{
    set_chain chain = {.env = env, .outer = outer};
    const nl_ast_term *leftmost = term;
    while (leftmost->kind == NL_AST_TERM_SET_OPERATION) {
        nl_list_add(env->context->arena, &chain.nodes, NL_UNCONST(leftmost));
        leftmost = leftmost->set.left;
    }
    chain.left = chain.nodes.count;
    const nl_logical *left = NULL;
    const nl_logical *right = NULL;
    const nl_ast_term *node = NULL;
    uint32_t depth = 0; /* of the plan: a node for each side that changes the types */
    NL_TRY(nl_analyze_term(env, outer, leftmost, NULL, &left));
    NL_TRY(without_hidden(env, left, &left));
    while (right || chain.left > 0) {
        if (++depth > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
        if (!right) NL_TRY(next_side(&chain, &node, &right));
        if (node->set.op == NL_AST_SET_UNION && have_same_types(left, right)) {
            NL_TRY(take_run(&chain, &node, &left, &right));
            continue;
        }
        NL_TRY(nl_make_set(env, node->range, node->set.op, node->set.quantifier, left, right, &left));
        right = NULL;
    }
    *plan = left;
    return nl_arena_check(env->context->arena);
}

/* ---- terms ---- */

static nl_status analyze_plain_term(nl_env *env, nl_scope *outer, const nl_ast_term *term, const nl_logical **plan)
{
    switch (term->kind) {
    case NL_AST_TERM_SET_OPERATION:
        return nl_analyze_set(env, outer, term, plan);
    case NL_AST_TERM_VALUES:
        return nl_analyze_relation(env, outer, term->values, plan);
    case NL_AST_TERM_TABLE:
        NL_TRY(nl_analyze_table(env, outer, &term->table, NULL, term->range, plan));
        return without_hidden(env, *plan, plan);
    case NL_AST_TERM_SUBQUERY:
        return nl_analyze_query_in(env, outer, term->query, plan);
    case NL_AST_TERM_PIPE:
        return nl_analyze_pipe(env, outer, term->pipe, plan);
    case NL_AST_TERM_SELECT:
        return nl_analyze_select(env, outer, term, term->select, NULL, plan);
    case NL_AST_TERM_RELATION:
        return nl_analyze_relation(env, outer, term->values, plan);
    case NL_AST_TERM_TEXT:
        return nl_analyze_text_query(env, outer, term->text_query, plan);
    }
    return NL_RAISE(INTERNAL_ERROR, NL_P("message", "an unknown kind of query term"));
}

nl_status nl_analyze_term(nl_env *env, nl_scope *outer, const nl_ast_term *term, const nl_ast_organization *organization,
                          const nl_logical **plan)
{
    nl_plan_context *context = env->context;
    if (context->depth >= NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    context->depth++;
    const uint32_t first = nl_terms_count(env);
    nl_status status;
    if (term->kind == NL_AST_TERM_SELECT) {
        status = nl_analyze_select(env, outer, term, term->select, organization, plan);
    } else {
        status = analyze_plain_term(env, outer, term, plan);
        if (!status && organization) {
            nl_scope scope;
            nl_scope_over(&scope, env, outer, *plan, NL_CLAUSE_ORDER_BY);
            scope.windows = &organization->windows;
            status = nl_apply_organization(&scope, organization, *plan, plan);
        }
    }
    context->depth--;
    if (!status && term->has_plan_id) nl_terms_add(env, term->plan_id, first, *plan);
    return status;
}

nl_status nl_analyze_query_in(nl_env *env, nl_scope *outer, const nl_ast_query *query, const nl_logical **plan)
{
    nl_env inner = *env;
    inner.is_definition = false;
    if (query->ctes.count) NL_TRY(nl_declare_ctes(env, outer, &query->ctes, &inner));
    const nl_logical *body = NULL;
    NL_TRY(nl_analyze_term(&inner, outer, query->body, &query->organization, &body));
    return nl_finish_ctes(env, &inner, body, plan);
}

nl_status nl_analyze_query(nl_plan_context *context, const struct nl_ast_query *query, const nl_logical **plan)
{
    nl_env env = {.context = context, .text = context->text, .collation = context->collation};
    const nl_logical *made = NULL;
    NL_TRY(nl_analyze_query_in(&env, NULL, query, &made));
    NL_TRY(without_hidden(&env, made, plan));
    return nl_arena_check(context->arena);
}
