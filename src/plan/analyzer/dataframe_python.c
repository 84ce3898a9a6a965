/* mapInPandas, applyInPandas and their kin: PYTHON nodes, over rows sorted by the keys where there are keys. A cogroup is a
 * union of both sides, sorted by keys and side. */
#include "plan/analyzer/dataframe.h"

static nl_column_set visible(nl_dataframe_step *step, const nl_logical *plan)
{
    nl_column *columns = NL_NEW_ARRAY(step->arena, nl_column, plan->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (!plan->columns[i].is_hidden && !plan->columns[i].is_qualified_only) columns[count++] = plan->columns[i];
    return (nl_column_set){columns, count};
}

/* A node with the function's own columns; the caller says what it is fed with. */
static nl_status own_rows(nl_dataframe_step *step, const nl_logical *child, nl_python_shape shape, nl_logical **node)
{
    nl_arena *arena = step->arena;
    const nl_python_function *function = step->dataframe->python;
    if (!function->type || function->type->id != NL_TYPE_STRUCT)
        return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "The result of a function in Python over rows or groups must be a struct.");
    const nl_type *type = function->type;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, type->child_count + 1);
    for (uint32_t i = 0; i < type->child_count; i++)
        columns[i] = (nl_column){.id = nl_plan_new_id(step->env->context), .name = type->children[i].name, .type = type->children[i].type,
                                 .is_nullable = type->children[i].is_nullable, .metadata = type->children[i].metadata};
    const nl_python_function **chain = NL_NEW_ARRAY(arena, const nl_python_function *, 1);
    nl_python_call *call = NL_NEW(arena, nl_python_call);
    chain[0] = function;
    *call = (nl_python_call){.chain = chain, .chain_count = 1};
    nl_logical *made = nl_logical_new(arena, NL_PLAN_PYTHON, &child, 1);
    made->columns = columns;
    made->column_count = type->child_count;
    made->python.shape = shape;
    made->python.eval = function->eval;
    made->python.calls = call;
    made->python.call_count = 1;
    *node = made;
    return NULL;
}

/* Keys, then the columns, with the columns' names. */
static void feed(nl_arena *arena, nl_logical *node, const nl_expr *const *keys, uint32_t key_count, nl_column_set columns)
{
    const nl_expr **arguments = NL_NEW_ARRAY(arena, const nl_expr *, key_count + columns.count + 1);
    nl_str *names = NL_NEW_ARRAY(arena, nl_str, key_count + columns.count + 1);
    for (uint32_t i = 0; i < key_count; i++) {
        arguments[i] = keys[i];
        names[i] = nl_expr_pretty_str(arena, keys[i]);
    }
    for (uint32_t i = 0; i < columns.count; i++) {
        arguments[key_count + i] = nl_column_ref(arena, &columns.columns[i]);
        names[key_count + i] = columns.columns[i].name;
    }
    node->python.arguments = arguments;
    node->python.argument_names = names;
    node->python.argument_count = key_count + columns.count;
    node->python.key_count = key_count;
}

static nl_status resolve_keys(nl_dataframe_step *step, const nl_logical *input, const nl_ast_exprs *written, const nl_expr ***keys)
{
    nl_scope scope;
    nl_scope_over(&scope, step->env, step->outer, input, NL_CLAUSE_GROUP_BY);
    *keys = NL_NEW_ARRAY(step->arena, const nl_expr *, written->count + 1);
    for (uint32_t i = 0; i < written->count; i++) {
        const nl_ast_expr *ast = written->items[i];
        if (ast->kind == NL_AST_EXPR_ALIAS) ast = ast->alias.input;
        NL_TRY(nl_resolve_expr(&scope, ast, &(*keys)[i]));
        if (!nl_type_is_orderable((*keys)[i]->type))
            return NL_RAISE(GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE, NL_P_STR("sqlExpr", nl_quote_expr(step->arena, (*keys)[i])),
                            NL_P_STR("dataType", nl_quote_type(step->arena, (*keys)[i]->type)));
    }
    return NULL;
}

static const nl_logical *sorted(nl_arena *arena, const nl_logical *child, const nl_expr *const *keys, uint32_t count)
{
    nl_sort_key *sort = NL_NEW_ARRAY(arena, nl_sort_key, count + 1);
    for (uint32_t i = 0; i < count; i++) sort[i] = (nl_sort_key){.expr = keys[i], .nulls_first = true};
    return count ? nl_logical_sort(arena, child, sort, count, true) : child;
}

static nl_status map(nl_dataframe_step *step, const nl_logical **plan)
{
    nl_logical *node = NULL;
    NL_TRY(own_rows(step, step->input, NL_PYTHON_MAP, &node));
    feed(step->arena, node, NULL, 0, visible(step, step->input));
    *plan = node;
    return NULL;
}

static nl_status group(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_expr **keys = NULL;
    const uint32_t count = step->dataframe->group.count;
    nl_logical *node = NULL;
    NL_TRY(resolve_keys(step, step->input, &step->dataframe->group, &keys));
    NL_TRY(own_rows(step, sorted(step->arena, step->input, keys, count), NL_PYTHON_GROUP, &node));
    feed(step->arena, node, keys, count, visible(step, step->input));
    *plan = node;
    return NULL;
}

/* ---- cogroups ---- */

typedef struct side {
    const nl_logical *plan;
    const nl_expr **keys;
    nl_column_set columns;
} side;

static void add_column(nl_dataframe_step *step, const nl_expr *expr, nl_str name, nl_column *columns, const nl_expr **exprs, uint32_t *count)
{
    columns[*count] = (nl_column){.id = nl_plan_new_id(step->env->context), .name = name, .type = expr->type, .is_nullable = true};
    exprs[(*count)++] = expr;
}

static const nl_expr *null_of(nl_arena *arena, const nl_type *type)
{
    const nl_value null = nl_value_null(type);
    return nl_expr_literal(arena, &null);
}

/* Keys, the number of the side, the left's columns, the right's; those of the other side are null. */
static const nl_logical *tagged(nl_dataframe_step *step, const side *sides, uint32_t which, uint32_t key_count)
{
    nl_arena *arena = step->arena;
    const uint32_t total = key_count + 1 + sides[0].columns.count + sides[1].columns.count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, total);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, total);
    const nl_value number = nl_value_int(nl_type_int(), which);
    uint32_t count = 0;
    for (uint32_t i = 0; i < key_count; i++) add_column(step, sides[which].keys[i], nl_expr_pretty_str(arena, sides[0].keys[i]), columns, exprs, &count);
    add_column(step, nl_expr_literal(arena, &number), NL_STR("side"), columns, exprs, &count);
    for (uint32_t s = 0; s < 2; s++)
        for (uint32_t i = 0; i < sides[s].columns.count; i++) {
            const nl_column *column = &sides[s].columns.columns[i];
            add_column(step, s == which ? nl_column_ref(arena, column) : null_of(arena, column->type), column->name, columns, exprs, &count);
        }
    return nl_logical_project(arena, sides[which].plan, columns, exprs, count);
}

static nl_status cogroup(nl_dataframe_step *step, const nl_logical **plan)
{
    nl_arena *arena = step->arena;
    const nl_ast_dataframe *dataframe = step->dataframe;
    const uint32_t key_count = dataframe->group.count;
    nl_env env = *step->env;
    side sides[2] = {{.plan = step->input}};
    if (key_count != dataframe->values.count)
        return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "Cogroup keys must have same size: %u != %u", key_count, dataframe->values.count);
    env.pipe_input = NULL;
    NL_TRY(nl_analyze_term(&env, step->outer, dataframe->right, NULL, &sides[1].plan));
    NL_TRY(resolve_keys(step, sides[0].plan, &dataframe->group, &sides[0].keys));
    NL_TRY(resolve_keys(step, sides[1].plan, &dataframe->values, &sides[1].keys));
    for (uint32_t s = 0; s < 2; s++) sides[s].columns = visible(step, sides[s].plan);
    for (uint32_t i = 0; i < key_count; i++) sides[1].keys[i] = nl_expr_cast(arena, sides[1].keys[i], sides[0].keys[i]->type, NL_CAST_ANSI);
    const nl_logical *both = NULL;
    NL_TRY(nl_make_set(step->env, (nl_ast_range){0}, NL_AST_SET_UNION, NL_AST_SET_ALL, tagged(step, sides, 0, key_count), tagged(step, sides, 1, key_count), &both));
    const nl_expr **order = NL_NEW_ARRAY(arena, const nl_expr *, key_count + 1);
    for (uint32_t i = 0; i <= key_count; i++) order[i] = nl_column_ref(arena, &both->columns[i]);
    nl_logical *node = NULL;
    NL_TRY(own_rows(step, sorted(arena, both, order, key_count + 1), NL_PYTHON_COGROUP, &node));
    feed(arena, node, order, key_count, (nl_column_set){both->columns + key_count, both->column_count - key_count});
    node->python.left_count = sides[0].columns.count;
    *plan = node;
    return NULL;
}

nl_status nl_dataframe_python(nl_dataframe_step *step, const nl_logical **plan)
{
    if (step->dataframe->kind == NL_AST_DATAFRAME_GROUP_PYTHON) return group(step, plan);
    if (step->dataframe->kind == NL_AST_DATAFRAME_COGROUP_PYTHON) return cogroup(step, plan);
    return map(step, plan);
}
