/* connect/translate_python.c - functions in Python of the protocol: calls, steps of DataFrames, registration. */
#include "connect/translate.h"

#include "function/python.h"

nl_status nl_translate_python(nl_arena *arena, const Spark__Connect__CommonInlineUserDefinedFunction *message, const nl_python_function **function)
{
    if (!message || message->function_case != SPARK__CONNECT__COMMON_INLINE_USER_DEFINED_FUNCTION__FUNCTION_PYTHON_UDF)
        return nl_connect_unsupported("functions written in Scala or Java");
    const Spark__Connect__PythonUDF *python = message->python_udf;
    nl_python_function *made = NL_NEW(arena, nl_python_function);
    *made = (nl_python_function){
        .name = nl_copy_text(arena, message->function_name),
        .eval = python->eval_type,
        .command = nl_arena_str(arena, (nl_str){(const char *)python->command.data, python->command.len}),
        .version = nl_copy_text(arena, python->python_ver),
        .is_deterministic = !message->has_deterministic || message->deterministic,
    };
    if (!python->output_type) return nl_connect_invalid("a Python function without its result's type");
    NL_TRY(nl_connect_type_from_proto(arena, python->output_type, &made->type));
    *function = made;
    return nl_arena_check(arena);
}

static nl_status table_function(nl_arena *arena, const Spark__Connect__CommonInlineUserDefinedTableFunction *message, const nl_python_function **function)
{
    const Spark__Connect__PythonUDTF *python = message->python_udtf;
    if (message->function_case != SPARK__CONNECT__COMMON_INLINE_USER_DEFINED_TABLE_FUNCTION__FUNCTION_PYTHON_UDTF || !python)
        return nl_connect_unsupported("table functions that are not written in Python");
    nl_python_function *made = NL_NEW(arena, nl_python_function);
    *made = (nl_python_function){
        .name = nl_copy_text(arena, message->function_name),
        .eval = python->eval_type,
        .command = nl_arena_str(arena, (nl_str){(const char *)python->command.data, python->command.len}),
        .version = nl_copy_text(arena, python->python_ver),
        .is_deterministic = message->has_deterministic && message->deterministic,
    };
    if (python->return_type) NL_TRY(nl_connect_type_from_proto(arena, python->return_type, &made->type));
    *function = made;
    return nl_arena_check(arena);
}

nl_status nl_translate_python_table(nl_translator *t, const Spark__Connect__CommonInlineUserDefinedTableFunction *message, nl_ast_term **term)
{
    nl_ast_relation *relation = NL_NEW(t->arena, nl_ast_relation);
    relation->kind = NL_AST_RELATION_FUNCTION;
    NL_TRY(table_function(t->arena, message, &relation->function.python));
    relation->function.name = (nl_ast_name){.parts = NL_NEW(t->arena, nl_ast_ident), .count = 1};
    *relation->function.name.parts = nl_ident_of(relation->function.python->name);
    NL_TRY(nl_translate_call(t, relation->function.python->name, message->arguments, message->n_arguments, &relation->function.args));
    *term = nl_relation_term(t->arena, relation);
    return NULL;
}

nl_status nl_translate_python_call(nl_translator *t, const Spark__Connect__CommonInlineUserDefinedFunction *message, nl_ast_expr **expr)
{
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_CALL);
    nl_ast_call *call = &(*expr)->call;
    NL_TRY(nl_translate_python(t->arena, message, &call->python));
    call->name = (nl_ast_name){.parts = NL_NEW(t->arena, nl_ast_ident), .count = 1};
    *call->name.parts = nl_ident_of(call->python->name);
    call->is_distinct = message->has_is_distinct && message->is_distinct;
    return nl_translate_call(t, call->python->name, message->arguments, message->n_arguments, &call->args);
}

static nl_status group_map(nl_translator *t, const Spark__Connect__GroupMap *message, nl_ast_dataframe *dataframe)
{
    if (message->initial_input || message->state_schema || (message->has_is_map_groups_with_state && message->is_map_groups_with_state))
        return nl_connect_unsupported("grouped functions with a state");
    NL_TRY(nl_translate_python(t->arena, message->func, &dataframe->python));
    return nl_translate_exprs(t, message->grouping_expressions, message->n_grouping_expressions, &dataframe->group);
}

static nl_status co_group_map(nl_translator *t, const Spark__Connect__CoGroupMap *message, nl_ast_dataframe *dataframe)
{
    NL_TRY(nl_translate_python(t->arena, message->func, &dataframe->python));
    NL_TRY(nl_translate_exprs(t, message->input_grouping_expressions, message->n_input_grouping_expressions, &dataframe->group));
    NL_TRY(nl_translate_exprs(t, message->other_grouping_expressions, message->n_other_grouping_expressions, &dataframe->values));
    return nl_translate_relation(t, message->other, &dataframe->right);
}

nl_status nl_translate_python_step(nl_translator *t, const Spark__Connect__Relation *relation, nl_ast_dataframe *dataframe)
{
    if (relation->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_GROUP_MAP) {
        dataframe->kind = NL_AST_DATAFRAME_GROUP_PYTHON;
        return group_map(t, relation->group_map, dataframe);
    }
    if (relation->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_CO_GROUP_MAP) {
        dataframe->kind = NL_AST_DATAFRAME_COGROUP_PYTHON;
        return co_group_map(t, relation->co_group_map, dataframe);
    }
    dataframe->kind = NL_AST_DATAFRAME_MAP_PYTHON;
    return nl_translate_python(t->arena, relation->map_partitions->func, &dataframe->python);
}

static nl_status register_function(nl_connect_host *host, const nl_python_function *function)
{
    const nl_session_function held = {.name = function->name, .is_temporary = true, .python = function};
    return nl_session_put_function(host->session, &held);
}

nl_status nl_connect_register_python(nl_connect_host *host, const Spark__Connect__CommonInlineUserDefinedFunction *message)
{
    nl_arena *scratch = nl_arena_new(NULL);
    const nl_python_function *function = NULL;
    nl_status status = nl_translate_python(scratch, message, &function);
    if (!status) status = register_function(host, function);
    nl_arena_free(scratch);
    return status;
}

nl_status nl_connect_register_python_table(nl_connect_host *host, const Spark__Connect__CommonInlineUserDefinedTableFunction *message)
{
    nl_arena *scratch = nl_arena_new(NULL);
    const nl_python_function *function = NULL;
    nl_status status = table_function(scratch, message, &function);
    if (!status) status = register_function(host, function);
    nl_arena_free(scratch);
    return status;
}
