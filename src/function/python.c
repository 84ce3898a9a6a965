/* function/python.c - see python.h. */
#include "function/python.h"

const nl_function_row nl_python_aggregate_row = {
    .name = "pythonUDAF",
    .kind = NL_FUNCTION_AGGREGATE,
    .group = "misc",
    .since = "2.3.0",
    .doc = "An aggregate function of a session, written in Python.",
    .signature = "(any...) -> ?",
    .nulls = NL_NULL_SEEN,
    .is_nondeterministic = true,
    .can_fail = true,
    .is_internal = true,
};

const nl_python_function *nl_python_function_copy(nl_arena *arena, const nl_python_function *function)
{
    nl_python_function *copy = NL_NEW(arena, nl_python_function);
    *copy = *function;
    copy->name = nl_arena_str(arena, function->name);
    copy->command = nl_arena_str(arena, function->command);
    copy->version = nl_arena_str(arena, function->version);
    if (function->type) copy->type = nl_type_copy(arena, function->type);
    return copy;
}
