/* df.na: fill, drop, replace. */
#include "plan/analyzer/dataframe.h"

static bool is_kind(const nl_type *type, const nl_value *value)
{
    if (value->type->id == NL_TYPE_BOOLEAN) return type->id == NL_TYPE_BOOLEAN;
    if (value->type->id == NL_TYPE_STRING) return type->id == NL_TYPE_STRING;
    return nl_type_is_numeric(type);
}

static bool is_floating(const nl_type *type)
{
    return type->id == NL_TYPE_DOUBLE || type->id == NL_TYPE_FLOAT;
}

static const nl_value *value_at(const nl_ast_dataframe *dataframe, uint32_t i)
{
    return dataframe->values.items[i]->literal.value;
}

/* The projection with columns[i] made from exprs[i]; a changed column gets a new id. */
static const nl_logical *changed(nl_dataframe_step *step, const nl_expr *const *exprs)
{
    nl_column *columns = NL_NEW_ARRAY(step->arena, nl_column, step->input->column_count + 1);
    for (uint32_t i = 0; i < step->input->column_count; i++) {
        columns[i] = step->input->columns[i];
        if (exprs[i]->kind == NL_EXPR_COLUMN && exprs[i]->column == columns[i].id) continue;
        columns[i].id = nl_plan_new_id(step->env->context);
        columns[i].type = exprs[i]->type;
        columns[i].is_nullable = exprs[i]->is_nullable;
    }
    return nl_logical_project(step->arena, step->input, columns, exprs, step->input->column_count);
}

/* Are these the names' columns? No names: all of them. */
static nl_status named_columns(nl_dataframe_step *step, bool *is_named)
{
    const nl_logical *input = step->input;
    for (uint32_t c = 0; c < input->column_count; c++) is_named[c] = step->dataframe->name_count == 0 && !input->columns[c].is_hidden;
    for (uint32_t i = 0; i < step->dataframe->name_count; i++) {
        const nl_column *column = NULL;
        NL_TRY(nl_dataframe_need_column(step, step->dataframe->names[i], &column));
        is_named[column - input->columns] = true;
    }
    return NULL;
}

static nl_status filled(nl_dataframe_step *step, nl_scope *scope, const nl_column *column, const nl_value *value, const nl_expr **result)
{
    const nl_expr *args[2] = {nl_column_ref(step->arena, column), NULL};
    bool is_special = false;
    if (is_floating(column->type)) {
        const nl_value null = nl_value_null(column->type);
        const nl_expr *const both[] = {args[0], nl_expr_literal(step->arena, &null)};
        NL_TRY(nl_call_function(scope, NL_STR("nanvl"), both, 2, &args[0]));
    }
    NL_TRY(nl_make_cast(scope, nl_expr_literal(step->arena, value), column->type, nl_scope_cast_mode(scope), &args[1]));
    return nl_special_call(scope, NL_STR("coalesce"), args, 2, &is_special, result);
}

nl_status nl_dataframe_fill_na(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    const nl_logical *input = step->input;
    const bool is_one = dataframe->values.count == 1;
    nl_scope scope;
    nl_scope_over(&scope, step->env, step->outer, input, NL_CLAUSE_OTHER);
    bool *is_named = NL_NEW_ARRAY(step->arena, bool, input->column_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(step->arena, const nl_expr *, input->column_count + 1);
    NL_TRY(named_columns(step, is_named));
    for (uint32_t c = 0; c < input->column_count; c++) {
        const nl_column *column = &input->columns[c];
        exprs[c] = nl_column_ref(step->arena, column);
        uint32_t at = 0;
        for (uint32_t i = 0; !is_one && i < dataframe->name_count; i++) {
            const nl_column *named = NULL;
            NL_TRY(nl_dataframe_need_column(step, dataframe->names[i], &named));
            if (named == column) at = i;
        }
        if (!is_named[c] || at >= dataframe->values.count) continue;
        if (is_one && !is_kind(column->type, value_at(dataframe, at))) continue;
        NL_TRY(filled(step, &scope, column, value_at(dataframe, at), &exprs[c]));
    }
    *plan = changed(step, exprs);
    return NULL;
}

static nl_status is_there(nl_dataframe_step *step, nl_scope *scope, const nl_column *column, const nl_expr **result)
{
    const nl_expr *ref = nl_column_ref(step->arena, column);
    *result = nl_expr_is_null(step->arena, ref, true);
    if (!is_floating(column->type)) return NULL;
    const nl_expr *is_nan = NULL;
    NL_TRY(nl_call_function(scope, NL_STR("isnan"), &ref, 1, &is_nan));
    *result = nl_expr_and(step->arena, *result, nl_expr_not(step->arena, is_nan));
    return NULL;
}

/* At least `count` of the columns are there: all of them and one of them are plain conditions, the rest a sum. */
nl_status nl_dataframe_drop_na(nl_dataframe_step *step, const nl_logical **plan)
{
    nl_arena *arena = step->arena;
    const nl_logical *input = step->input;
    nl_scope scope;
    nl_scope_over(&scope, step->env, step->outer, input, NL_CLAUSE_WHERE);
    bool *is_named = NL_NEW_ARRAY(arena, bool, input->column_count + 1);
    NL_TRY(named_columns(step, is_named));
    uint32_t named_count = 0;
    for (uint32_t c = 0; c < input->column_count; c++) named_count += is_named[c];
    const int64_t least = step->dataframe->count < 0 ? named_count : step->dataframe->count;
    const nl_value zero = nl_value_int(nl_type_int(), 0), one = nl_value_int(nl_type_int(), 1);
    const nl_expr *all = NULL, *any = NULL, *sum = nl_expr_literal(arena, &zero);
    for (uint32_t c = 0; c < input->column_count; c++) {
        const nl_expr *there = NULL;
        if (!is_named[c]) continue;
        NL_TRY(is_there(step, &scope, &input->columns[c], &there));
        all = nl_expr_and(arena, all, there);
        any = nl_expr_or(arena, any, there);
        const nl_expr *const both[] = {sum, nl_expr_if(arena, there, nl_expr_literal(arena, &one), nl_expr_literal(arena, &zero))};
        NL_TRY(nl_call_function(&scope, NL_STR("+"), both, 2, &sum));
    }
    const nl_expr *condition = least == (int64_t)named_count ? all : any;
    if (least <= 0) condition = NULL;
    if (least > 1 && least != (int64_t)named_count) {
        const nl_value wanted = nl_value_int(nl_type_int(), NL_MIN(least, INT32_MAX));
        const nl_expr *const both[] = {sum, nl_expr_literal(arena, &wanted)};
        NL_TRY(nl_call_function(&scope, NL_STR(">="), both, 2, &condition));
    }
    *plan = nl_logical_filter(arena, input, condition);
    return NULL;
}

/* CASE WHEN c = old THEN new … ELSE c END. The pair's type says which columns it is for. */
static nl_status replaced(nl_dataframe_step *step, nl_scope *scope, const nl_column *column, const nl_expr **result)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    const nl_expr *ref = nl_column_ref(step->arena, column);
    const nl_expr **parts = NL_NEW_ARRAY(step->arena, const nl_expr *, dataframe->values.count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i + 1 < dataframe->values.count; i += 2) {
        const nl_value *old = value_at(dataframe, i), *new = value_at(dataframe, i + 1);
        const nl_expr *sides[2] = {ref, NULL};
        const nl_value *kind = old->type->id == NL_TYPE_NULL ? new : old;
        if (!is_kind(column->type, kind)) continue;
        if (old->is_null) {
            parts[count++] = nl_expr_is_null(step->arena, ref, false);
        } else {
            const nl_expr *literal = nl_expr_literal(step->arena, old);
            if (old->type->id == NL_TYPE_STRING || old->type->id == NL_TYPE_BOOLEAN) {
                sides[1] = literal;
            } else {
                NL_TRY(nl_make_cast(scope, ref, nl_type_double(), nl_scope_cast_mode(scope), &sides[0]));
                NL_TRY(nl_make_cast(scope, literal, nl_type_double(), nl_scope_cast_mode(scope), &sides[1]));
            }
            NL_TRY(nl_call_function(scope, NL_STR("="), sides, 2, &parts[count]));
            count++;
        }
        NL_TRY(nl_make_cast(scope, nl_expr_literal(step->arena, new), column->type, nl_scope_cast_mode(scope), &parts[count]));
        count++;
    }
    *result = ref;
    if (count == 0) return NULL;
    parts[count++] = ref;
    return nl_make_case(scope, parts, count, NULL, result);
}

nl_status nl_dataframe_replace(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_logical *input = step->input;
    nl_scope scope;
    nl_scope_over(&scope, step->env, step->outer, input, NL_CLAUSE_OTHER);
    bool *is_named = NL_NEW_ARRAY(step->arena, bool, input->column_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(step->arena, const nl_expr *, input->column_count + 1);
    NL_TRY(named_columns(step, is_named));
    for (uint32_t c = 0; c < input->column_count; c++) {
        exprs[c] = nl_column_ref(step->arena, &input->columns[c]);
        if (is_named[c]) NL_TRY(replaced(step, &scope, &input->columns[c], &exprs[c]));
    }
    *plan = changed(step, exprs);
    return NULL;
}
