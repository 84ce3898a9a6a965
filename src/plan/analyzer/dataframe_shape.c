/* Steps of DataFrames that change which columns there are: drop, rename, toDF, to(schema), dropDuplicates, unionByName. */
#include "plan/analyzer/dataframe.h"

#include "base/limits.h"
#include "function/coercion.h"

static bool same_name(const nl_dataframe_step *step, nl_str a, nl_str b)
{
    return step->env->context->is_case_sensitive ? nl_str_equal(a, b) : nl_str_equal_nocase(a, b);
}

const nl_column *nl_dataframe_column(const nl_dataframe_step *step, const nl_logical *plan, nl_str name)
{
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (!plan->columns[i].is_hidden && same_name(step, plan->columns[i].name, name)) return &plan->columns[i];
    return NULL;
}

nl_status nl_dataframe_need_column(nl_dataframe_step *step, nl_str name, const nl_column **column)
{
    nl_scope scope;
    nl_scope_over(&scope, step->env, step->outer, step->input, NL_CLAUSE_OTHER);
    *column = nl_dataframe_column(step, step->input, name);
    if (*column) return NULL;
    nl_ast_name parsed;
    const nl_sql_options options = {.is_unplaced = true};
    nl_status status = nl_sql_parse_name(step->arena, name, &options, &parsed);
    if (status) nl_error_free(status);
    if (!status && parsed.count == 1) *column = nl_dataframe_column(step, step->input, parsed.parts[0].text);
    return *column ? NULL : nl_raise_unresolved(&scope, &name, 1);
}

static uint32_t visible_count(const nl_logical *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++) count += !plan->columns[i].is_hidden;
    return count;
}

/* ---- drop ---- */

/* A column that is not there is none to be dropped. */
static nl_status find_dropped(nl_dataframe_step *step, const nl_ast_expr *ast, nl_column_id *id)
{
    nl_scope scope;
    const nl_expr *expr = NULL;
    nl_scope_over(&scope, step->env, step->outer, step->input, NL_CLAUSE_OTHER);
    nl_status status = nl_resolve_expr(&scope, ast, &expr);
    if (!status) {
        *id = expr->kind == NL_EXPR_COLUMN ? expr->column : 0;
        return NULL;
    }
    const nl_condition condition = nl_error_condition(status);
    const bool is_unknown = condition == NL_COND_UNRESOLVED_COLUMN__WITH_SUGGESTION || condition == NL_COND_UNRESOLVED_COLUMN__WITHOUT_SUGGESTION ||
                            condition == NL_COND_CANNOT_RESOLVE_DATAFRAME_COLUMN;
    if (!is_unknown) return status;
    nl_error_free(status);
    *id = 0;
    return NULL;
}

nl_status nl_dataframe_drop(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    nl_column_id *ids = NL_NEW_ARRAY(step->arena, nl_column_id, dataframe->exprs.count + 1);
    nl_column *kept = NL_NEW_ARRAY(step->arena, nl_column, step->input->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < dataframe->exprs.count; i++) NL_TRY(find_dropped(step, dataframe->exprs.items[i], &ids[i]));
    for (uint32_t c = 0; c < step->input->column_count; c++) {
        const nl_column *column = &step->input->columns[c];
        bool is_dropped = false;
        for (uint32_t i = 0; i < dataframe->exprs.count; i++) is_dropped = is_dropped || ids[i] == column->id;
        for (uint32_t i = 0; i < dataframe->name_count && !column->is_hidden; i++) is_dropped = is_dropped || same_name(step, column->name, dataframe->names[i]);
        if (!is_dropped) kept[count++] = *column;
    }
    *plan = nl_logical_keep(step->arena, step->input, kept, count);
    return NULL;
}

/* ---- names ---- */

nl_status nl_dataframe_rename(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    const uint32_t count = step->input->column_count;
    nl_column *columns = NL_NEW_ARRAY(step->arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(step->arena, const nl_expr *, count + 1);
    for (uint32_t c = 0; c < count; c++) {
        columns[c] = step->input->columns[c];
        exprs[c] = nl_column_ref(step->arena, &step->input->columns[c]);
        for (uint32_t i = 0; i < dataframe->name_count && !columns[c].is_hidden; i++) {
            if (!same_name(step, columns[c].name, dataframe->names[i])) continue;
            columns[c].id = nl_plan_new_id(step->env->context);
            columns[c].name = dataframe->new_names[i];
            columns[c].qualifier_count = 0;
        }
    }
    *plan = nl_logical_project(step->arena, step->input, columns, exprs, count);
    return NULL;
}

nl_status nl_dataframe_to_df(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    nl_ast_ident *names = NL_NEW_ARRAY(step->arena, nl_ast_ident, dataframe->name_count + 1);
    for (uint32_t i = 0; i < dataframe->name_count; i++) names[i].text = dataframe->names[i];
    const nl_ast_idents idents = {names, dataframe->name_count};
    const uint32_t visible = visible_count(step->input);
    if (dataframe->name_count == 0 && visible)
        return NL_RAISE(ASSIGNMENT_ARITY_MISMATCH, NL_P("numExpr", "0"), NL_P_INT("numTarget", visible));
    return nl_alias_plan(step->env, step->input, NULL, 0, &idents, (nl_ast_range){0}, plan);
}

/* ---- to(schema) ---- */

typedef struct matching {
    nl_dataframe_step *step;
    nl_scope scope;
} matching;

static nl_status match_type(matching *m, const nl_expr *expr, nl_str path, const nl_field *target, uint32_t depth, const nl_expr **result);

static const nl_expr *null_of(nl_arena *arena, const nl_type *type)
{
    const nl_value null = nl_value_null(type);
    return nl_expr_literal(arena, &null);
}

static nl_status match_struct(matching *m, const nl_expr *expr, nl_str path, const nl_type *type, uint32_t depth, const nl_expr **result)
{
    nl_arena *arena = m->step->arena;
    const nl_expr **args = NL_NEW_ARRAY(arena, const nl_expr *, 2 * type->child_count + 1);
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_field *field = &type->children[i];
        const nl_value name = nl_value_string(field->name);
        uint32_t found = UINT32_MAX;
        for (uint32_t c = 0; c < expr->type->child_count; c++)
            if (same_name(m->step, expr->type->children[c].name, field->name)) found = c;
        args[2 * i] = nl_expr_literal(arena, &name);
        args[2 * i + 1] = null_of(arena, field->type);
        const nl_str inner = nl_arena_f(arena, NL_STR_FMT ".`" NL_STR_FMT "`", NL_STR_ARG(path), NL_STR_ARG(field->name));
        if (found == UINT32_MAX && !field->is_nullable)
            return NL_RAISE(UNRESOLVED_FIELD__WITHOUT_SUGGESTION, NL_P_STR("fieldName", nl_quote_name(arena, field->name)), NL_P_STR("columnPath", path));
        if (found != UINT32_MAX) NL_TRY(match_type(m, nl_expr_field(arena, expr, found), inner, field, depth + 1, &args[2 * i + 1]));
    }
    NL_TRY(nl_call_function(&m->scope, NL_STR("named_struct"), args, 2 * type->child_count, result));
    if (expr->is_nullable) *result = nl_expr_if(arena, nl_expr_is_null(arena, expr, false), null_of(arena, (*result)->type), *result);
    return NULL;
}

static nl_status match_type(matching *m, const nl_expr *expr, nl_str path, const nl_field *target, uint32_t depth, const nl_expr **result)
{
    nl_arena *arena = m->step->arena;
    if (depth > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    if (expr->is_nullable && !target->is_nullable) return NL_RAISE(NULLABLE_COLUMN_OR_FIELD, NL_P_STR("name", path));
    if (expr->type->id == NL_TYPE_STRUCT && target->type->id == NL_TYPE_STRUCT) return match_struct(m, expr, path, target->type, depth, result);
    *result = expr;
    if (nl_type_equal(expr->type, target->type)) return NULL;
    if (!nl_can_store(expr->type, target->type))
        return NL_RAISE(INVALID_COLUMN_OR_FIELD_DATA_TYPE, NL_P_STR("name", path), NL_P_STR("type", nl_quote_type(arena, expr->type)),
                        NL_P_STR("expectedType", nl_quote_type(arena, target->type)));
    *result = nl_expr_cast(arena, expr, target->type, NL_CAST_ANSI);
    return NULL;
}

nl_status nl_dataframe_to_schema(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_type *schema = step->dataframe->schema;
    matching m = {.step = step};
    nl_scope_over(&m.scope, step->env, step->outer, step->input, NL_CLAUSE_OTHER);
    nl_column *columns = NL_NEW_ARRAY(step->arena, nl_column, schema->child_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(step->arena, const nl_expr *, schema->child_count + 1);
    for (uint32_t i = 0; i < schema->child_count; i++) {
        const nl_field *field = &schema->children[i];
        const nl_column *column = nl_dataframe_column(step, step->input, field->name);
        exprs[i] = null_of(step->arena, field->type);
        if (!column && !field->is_nullable) return nl_raise_unresolved(&m.scope, &field->name, 1);
        if (column) NL_TRY(match_type(&m, nl_column_ref(step->arena, column), nl_quote_name(step->arena, field->name), field, 0, &exprs[i]));
        const bool is_same = column && exprs[i]->kind == NL_EXPR_COLUMN && nl_str_equal(column->name, field->name);
        columns[i] = (nl_column){.id = is_same ? column->id : nl_plan_new_id(step->env->context),
                                 .name = field->name,
                                 .type = exprs[i]->type,
                                 .is_nullable = exprs[i]->is_nullable,
                                 .comment = field->comment,
                                 .metadata = field->metadata};
    }
    *plan = nl_logical_project(step->arena, step->input, columns, exprs, schema->child_count);
    return NULL;
}

/* ---- dropDuplicates ---- */

static nl_status is_key(nl_dataframe_step *step, bool *keys)
{
    for (uint32_t c = 0; c < step->input->column_count; c++) keys[c] = step->dataframe->name_count == 0;
    for (uint32_t i = 0; i < step->dataframe->name_count; i++) {
        const nl_column *named = nl_dataframe_column(step, step->input, step->dataframe->names[i]);
        if (!named) return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "Invalid deduplicate column " NL_STR_FMT, NL_STR_ARG(step->dataframe->names[i]));
        for (uint32_t c = 0; c < step->input->column_count; c++)
            keys[c] = keys[c] || (!step->input->columns[c].is_hidden && same_name(step, step->input->columns[c].name, named->name));
    }
    return NULL;
}

static nl_status first_of(nl_dataframe_step *step, nl_scope *scope, const nl_column *column, const nl_expr **result)
{
    const nl_expr *arg = nl_column_ref(step->arena, column);
    const nl_bound_function *bound = NULL;
    const nl_expr **cast = NL_NEW_ARRAY(step->arena, const nl_expr *, 1);
    NL_TRY(nl_bind_function(scope, NL_STR("first"), &arg, 1, (nl_bind_flags){0}, &bound, cast));
    nl_expr *expr = nl_expr_new(step->arena, NL_EXPR_AGGREGATE, bound->result_type, cast, 1);
    expr->call = bound;
    expr->is_nullable = true;
    *result = expr;
    return NULL;
}

static const nl_logical *visible_only(nl_dataframe_step *step, const nl_logical *plan)
{
    nl_column *columns = NL_NEW_ARRAY(step->arena, nl_column, plan->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (!plan->columns[i].is_hidden) columns[count++] = plan->columns[i];
    return count == plan->column_count ? plan : nl_logical_keep(step->arena, plan, columns, count);
}

/* Groups by the keys, and the first of each other column. */
nl_status nl_dataframe_deduplicate(nl_dataframe_step *step, const nl_logical **plan)
{
    nl_arena *arena = step->arena;
    step->input = visible_only(step, step->input);
    const nl_logical *input = step->input;
    if (step->dataframe->name_count == 0 && !step->dataframe->is_within_watermark) {
        NL_TRY(nl_check_distinct_types(step->env->context, input->columns, input->column_count));
        *plan = nl_logical_over(arena, NL_PLAN_DISTINCT, input);
        return NULL;
    }
    nl_scope scope;
    nl_scope_over(&scope, step->env, step->outer, input, NL_CLAUSE_SELECT);
    bool *keys = NL_NEW_ARRAY(arena, bool, input->column_count + 1);
    const nl_expr **groups = NL_NEW_ARRAY(arena, const nl_expr *, input->column_count + 1);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, input->column_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, input->column_count + 1);
    uint32_t group_count = 0;
    NL_TRY(is_key(step, keys));
    for (uint32_t i = 0; i < input->column_count; i++)
        if (keys[i]) groups[group_count++] = nl_column_ref(arena, &input->columns[i]);
    const nl_grouping grouping = {.keys = groups, .key_count = group_count, .is_grouped = true};
    nl_aggregation aggregation;
    nl_aggregation_start(&aggregation, &scope, &grouping, scope.sets[0]);
    for (uint32_t i = 0; i < input->column_count; i++) {
        columns[i] = input->columns[i];
        exprs[i] = nl_column_ref(arena, &input->columns[i]);
        if (!keys[i]) NL_TRY(first_of(step, &scope, &input->columns[i], &exprs[i]));
        if (!keys[i]) columns[i].id = nl_plan_new_id(step->env->context);
        NL_TRY(nl_aggregation_rewrite(&aggregation, exprs[i], &exprs[i]));
    }
    nl_logical *grouped = nl_logical_copy(arena, nl_aggregation_plan(&aggregation, input));
    grouped->aggregate.is_deduplication = true;
    grouped->aggregate.is_within_watermark = step->dataframe->is_within_watermark;
    *plan = nl_logical_project(arena, grouped, columns, exprs, input->column_count);
    return NULL;
}

/* ---- unionByName ---- */

/* The other side's columns in this side's order; missing ones are nulls where that is allowed. */
static nl_status arrange(nl_dataframe_step *step, const nl_logical *from, const nl_logical *like, bool adds_rest, const nl_logical **plan)
{
    nl_arena *arena = step->arena;
    const uint32_t count_max = from->column_count + like->column_count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count_max + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count_max + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < like->column_count; i++) {
        const nl_column *column = nl_dataframe_column(step, from, like->columns[i].name);
        if (!column && !step->dataframe->allow_missing) {
            nl_str *names = NL_NEW_ARRAY(arena, nl_str, from->column_count + 1);
            for (uint32_t k = 0; k < from->column_count; k++) names[k] = from->columns[k].name;
            return NL_RAISE(_LEGACY_ERROR_TEMP_1201, NL_P_STR("colName", like->columns[i].name),
                            NL_P_STR("fieldNames", nl_join_texts(arena, names, from->column_count, ", ")));
        }
        columns[count] = column ? *column : like->columns[i];
        exprs[count] = column ? nl_column_ref(arena, column) : null_of(arena, like->columns[i].type);
        if (!column) columns[count].id = nl_plan_new_id(step->env->context);
        if (!column) columns[count].is_nullable = true;
        count++;
    }
    for (uint32_t i = 0; adds_rest && i < from->column_count; i++) {
        if (nl_dataframe_column(step, like, from->columns[i].name)) continue;
        columns[count] = from->columns[i];
        exprs[count++] = nl_column_ref(arena, &from->columns[i]);
    }
    *plan = nl_logical_project(arena, from, columns, exprs, count);
    return NULL;
}

static nl_status check_no_duplicates(nl_dataframe_step *step, const nl_logical *plan)
{
    for (uint32_t i = 0; i < plan->column_count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (same_name(step, plan->columns[i].name, plan->columns[k].name))
                return NL_RAISE(COLUMN_ALREADY_EXISTS, NL_P_STR("columnName", nl_quote_name(step->arena, plan->columns[i].name)));
    return NULL;
}

nl_status nl_dataframe_set_by_name(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    nl_env env = *step->env;
    const nl_logical *left = visible_only(step, step->input);
    const nl_logical *right = NULL;
    env.pipe_input = NULL;
    NL_TRY(nl_analyze_term(&env, step->outer, dataframe->right, NULL, &right));
    right = visible_only(step, right);
    NL_TRY(check_no_duplicates(step, left));
    NL_TRY(check_no_duplicates(step, right));
    NL_TRY(arrange(step, right, left, true, &right)); /* left's columns first, then what only the right has */
    if (dataframe->allow_missing) NL_TRY(arrange(step, left, right, false, &left));
    return nl_make_set(step->env, (nl_ast_range){0}, dataframe->set_operator, dataframe->is_all ? NL_AST_SET_ALL : NL_AST_SET_DISTINCT, left, right, plan);
}
