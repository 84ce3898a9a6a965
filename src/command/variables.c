/* command/variables.c - DECLARE VARIABLE, SET VARIABLE and SET of a variable by mistake. */
#include "command/variables.h"

#include "command/script.h"

#include "function/cast.h"
#include "function/coercion.h"

nl_status nl_variable_unresolved(nl_command *command, const nl_str *parts, uint32_t count)
{
    return NL_RAISE(UNRESOLVED_VARIABLE, NL_P_STR("variableName", nl_command_quoted(command, parts, count)),
                    NL_P("searchPath", command->scope ? "`SYSTEM`.`SESSION`" : "`system`.`session`"));
}

/* v, session.v, system.session.v: the last part, or data NULL. */
static nl_str variable_name(const nl_str *parts, uint32_t count)
{
    const bool is_session = count == 1 || (count == 2 && nl_str_is_nocase(parts[0], "session")) ||
                            (count == 3 && nl_str_is_nocase(parts[0], "system") && nl_str_is_nocase(parts[1], "session"));
    return is_session ? parts[count - 1] : (nl_str){0};
}

nl_status nl_variable_find(nl_command *command, const nl_ast_name *written, nl_str *name)
{
    const nl_str *parts;
    uint32_t count;
    NL_TRY(nl_command_name(command, written, &parts, &count));
    const nl_script_scope *owner = NULL;
    *name = nl_script_find(command, parts, count, &owner);
    if (name->data) return NULL;
    *name = variable_name(parts, count);
    if (name->data && nl_session_find_variable(command->session, *name)) return NULL;
    nl_status status = nl_variable_unresolved(command, parts, count);
    return command->scope ? status : nl_command_at(command, status, written->range);
}

nl_status nl_variable_cast(nl_command *command, const nl_value *value, const nl_type *type, nl_value *cast)
{
    *cast = *value;
    if (nl_type_equal(value->type, type)) return NULL;
    if (value->type->id != NL_TYPE_NULL && !nl_can_cast(value->type, type, true))
        return NL_RAISE(DATATYPE_MISMATCH__CAST_WITHOUT_SUGGESTION, NL_P("sqlExpr", "\"variable\""),
                        NL_P_STR("srcType", nl_arena_f(command->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(command->arena, value->type)))),
                        NL_P_STR("targetType", nl_arena_f(command->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(command->arena, type)))));
    return nl_cast_value(command->arena, &command->confs, NL_CAST_ANSI, value, type, cast);
}

/* ---- DECLARE ----------------------------------------------------------------------------------------------------- */

/* A default is a constant: subqueries are refused by the name of the variable. */
static nl_status default_of(nl_command *command, const nl_ast_declare_variable *declare, nl_str quoted, nl_value *value)
{
    const nl_expr *expr = NULL;
    const nl_ast_expr *written = declare->default_value;
    NL_TRY(nl_analyze_expr(&command->context, written, NULL, 0, &expr));
    const nl_str sql = nl_str_slice(command->text, written->range.start, written->range.stop);
    if (nl_expr_has(expr, NL_EXPR_SUBQUERY))
        return NL_RAISE(INVALID_DEFAULT_VALUE__SUBQUERY_EXPRESSION, NL_P("statement", "DECLARE VARIABLE"), NL_P_STR("colName", quoted),
                        NL_P_STR("defaultValue", sql));
    if (!nl_expr_is_constant(expr) && nl_expr_is_deterministic(expr))
        return NL_RAISE(INVALID_DEFAULT_VALUE__NOT_CONSTANT, NL_P("statement", "DECLARE VARIABLE"), NL_P_STR("colName", quoted),
                        NL_P_STR("defaultValue", sql));
    return nl_expr_evaluate(command->arena, expr, &command->confs, command->text, value);
}

static nl_status check_local(nl_command *command, const nl_ast_declare_variable *declare, const nl_str *parts, uint32_t count)
{
    const nl_str shown = nl_command_quoted(command, parts, count);
    if (declare->is_replace) return NL_RAISE(INVALID_VARIABLE_DECLARATION__REPLACE_LOCAL_VARIABLE, NL_P_STR("varName", shown));
    return count == 1 ? NULL : NL_RAISE(INVALID_VARIABLE_DECLARATION__QUALIFIED_LOCAL_VARIABLE, NL_P_STR("varName", shown));
}

nl_status nl_run_declare_variable(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_declare_variable *declare = statement->declare_variable;
    const nl_str *parts;
    uint32_t count;
    const nl_type *type = NULL;
    NL_TRY(nl_command_name(command, &declare->name, &parts, &count));
    const nl_str name = command->scope ? parts[count - 1] : variable_name(parts, count);
    if (!name.data) return nl_variable_unresolved(command, parts, count);
    if (command->scope) NL_TRY(check_local(command, declare, parts, count));
    const nl_str system[] = {NL_STR("system"), NL_STR("session"), name};
    const nl_str local[] = {NL_STR("local"), command->scope ? command->scope->label : NL_STR(""), name};
    const nl_str quoted = nl_command_quoted(command, command->scope ? local : system, 3);
    if (declare->type) NL_TRY(nl_ast_type_to_type(command->arena, declare->type, &type));
    nl_value value = nl_value_null(type ? type : nl_type_of(NL_TYPE_NULL));
    if (declare->default_value) NL_TRY(default_of(command, declare, quoted, &value));
    if (declare->default_value && type) NL_TRY(nl_variable_cast(command, &value, type, &value));
    if (command->scope) return nl_script_declare(command, name, &value);
    return nl_session_put_variable(command->session, name, &value, &value, declare->is_replace);
}

/* ---- SET VARIABLE ------------------------------------------------------------------------------------------------ */

static bool is_default(const nl_ast_expr *value)
{
    return value->kind == NL_AST_EXPR_COLUMN && value->column.count == 1 && !value->column.parts[0].is_quoted &&
           nl_str_is_nocase(value->column.parts[0].text, "default");
}

nl_status nl_variables_find(nl_command *command, const nl_ast_name *written, uint32_t count, nl_str *names)
{
    for (uint32_t i = 0; i < count; i++) {
        NL_TRY(nl_variable_find(command, &written[i], &names[i]));
        for (uint32_t j = 0; j < i; j++)
            if (nl_str_equal_nocase(names[i], names[j]))
                return NL_RAISE(DUPLICATE_ASSIGNMENTS, NL_P_STR("nameList", nl_command_quoted(command, &written[j].parts[written[j].count - 1].text, 1)));
    }
    return NULL;
}

nl_status nl_variables_assign(nl_command *command, const nl_str *names, uint32_t count, const nl_logical *plan)
{
    if (plan->column_count != count)
        return NL_RAISE(ASSIGNMENT_ARITY_MISMATCH, NL_P_INT("numTarget", count), NL_P_INT("numExpr", plan->column_count));
    nl_value *values = NL_NEW_ARRAY(command->arena, nl_value, count + 1);
    uint32_t row_count = 0;
    NL_TRY(nl_command_first_row(command, plan, values, &row_count));
    if (row_count > 1) return NL_RAISE(ROW_SUBQUERY_TOO_MANY_ROWS);
    for (uint32_t i = 0; i < count; i++) {
        const nl_type *type = nl_session_find_variable(command->session, names[i])->type;
        if (row_count == 0) values[i] = nl_value_null(type);
        NL_TRY(nl_variable_cast(command, &values[i], type, &values[i]));
    }
    for (uint32_t i = 0; i < count; i++) NL_TRY(nl_session_put_variable(command->session, names[i], &values[i], NULL, true));
    return NULL;
}

/* DEFAULT inside an expression is no column. */
static bool names_default(const nl_error *status)
{
    if (!status) return false;
    const nl_condition condition = nl_error_condition(status);
    if (condition != NL_COND_UNRESOLVED_COLUMN__WITHOUT_SUGGESTION && condition != NL_COND_UNRESOLVED_COLUMN__WITH_SUGGESTION) return false;
    const char *name = nl_error_param(status, "objectName");
    return name && nl_str_is_nocase(nl_str_from(name), "`default`");
}

static nl_status check_placement(nl_status status)
{
    if (!names_default(status)) return status;
    nl_error_free(status);
    return NL_RAISE(DEFAULT_PLACEMENT_INVALID);
}

/* SET VAR a = b, b = a: one row of all the values, made before any is stored. */
static nl_status set_each(nl_command *command, const nl_ast_assignments *assignments)
{
    const uint32_t count = assignments->count;
    nl_ast_name *written = NL_NEW_ARRAY(command->arena, nl_ast_name, count + 1);
    nl_str *names = NL_NEW_ARRAY(command->arena, nl_str, count + 1);
    nl_ast_select select = {.items.items = NL_NEW_ARRAY(command->arena, nl_ast_expr *, count + 1)};
    nl_str *selected = NL_NEW_ARRAY(command->arena, nl_str, count + 1);
    for (uint32_t i = 0; i < count; i++) written[i] = assignments->items[i].target;
    NL_TRY(nl_variables_find(command, written, count, names));
    for (uint32_t i = 0; i < count; i++) {
        if (is_default(assignments->items[i].value)) continue;
        select.items.items[select.items.count] = assignments->items[i].value;
        selected[select.items.count++] = names[i];
    }
    if (select.items.count > 0) {
        const nl_ast_term term = {.kind = NL_AST_TERM_SELECT, .select = &select};
        const nl_ast_query query = {.body = NL_UNCONST(&term)};
        const nl_logical *plan = NULL;
        NL_TRY(check_placement(nl_analyze_query(&command->context, &query, &plan)));
        NL_TRY(nl_variables_assign(command, selected, select.items.count, plan));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_default(assignments->items[i].value)) continue;
        const nl_value value = nl_value_copy(command->arena, nl_session_variable_default(command->session, names[i]));
        NL_TRY(nl_session_put_variable(command->session, names[i], &value, NULL, true));
    }
    return NULL;
}

/* DEFAULT as an output of the query, or as the value that it is: the variable's default, handed over as a parameter. */
static void put_default(nl_command *command, nl_ast_expr **place, nl_str name)
{
    if (!is_default(*place)) return;
    nl_plan_context *context = &command->context;
    const uint32_t count = context->parameter_count;
    nl_value *values = NL_NEW_ARRAY(command->arena, nl_value, count + 1);
    nl_str *names = NL_NEW_ARRAY(command->arena, nl_str, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = context->parameters[i];
        names[i] = context->parameter_names ? context->parameter_names[i] : (nl_str){0};
    }
    values[count] = nl_value_copy(command->arena, nl_session_variable_default(command->session, name));
    names[count] = nl_arena_f(command->arena, "default of " NL_STR_FMT, NL_STR_ARG(name));
    context->parameters = values;
    context->parameter_names = names;
    context->parameter_count = count + 1;
    nl_ast_expr *marker = NL_NEW(command->arena, nl_ast_expr);
    *marker = (nl_ast_expr){.kind = NL_AST_EXPR_PARAMETER, .range = (*place)->range};
    marker->parameter.name.text = names[count];
    *place = marker;
}

static void put_defaults(nl_command *command, const nl_ast_query *query, const nl_str *names, uint32_t count)
{
    const nl_ast_term *term = query->body;
    while (term->kind == NL_AST_TERM_SUBQUERY) term = term->query->body;
    if (term->kind == NL_AST_TERM_SELECT)
        for (uint32_t i = 0; i < term->select->items.count && i < count; i++) put_default(command, &term->select->items.items[i], names[i]);
    if (term->kind != NL_AST_TERM_VALUES || term->values->kind != NL_AST_RELATION_VALUES) return;
    for (uint32_t r = 0; r < term->values->rows.count; r++) {
        nl_ast_expr **row = &term->values->rows.items[r];
        if ((*row)->kind != NL_AST_EXPR_ROW) put_default(command, row, names[0]);
        for (uint32_t i = 0; (*row)->kind == NL_AST_EXPR_ROW && i < (*row)->row.count && i < count; i++) put_default(command, &(*row)->row.items[i], names[i]);
    }
}

nl_status nl_run_set_variable(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_set_variable *set = statement->set_variable;
    if (!set->query) return set_each(command, &set->assignments);
    const nl_logical *plan = NULL;
    nl_str *names = NL_NEW_ARRAY(command->arena, nl_str, set->targets.count + 1);
    NL_TRY(nl_variables_find(command, set->targets.items, set->targets.count, names));
    nl_status status = nl_analyze_query(&command->context, set->query, &plan);
    if (names_default(status)) { /* there is no column of that name */
        nl_error_free(status);
        put_defaults(command, set->query, names, set->targets.count);
        status = check_placement(nl_analyze_query(&command->context, set->query, &plan));
    }
    NL_TRY(status);
    return nl_variables_assign(command, names, set->targets.count, plan);
}
