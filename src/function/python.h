/* function/python.h - a user's function in Python, as a client hands it over.
 *
 * In a tree (sql/ast_expression.h) it is a call with `python` set; session functions by that name come from
 * nl_session (spark.udf.register). The plan keeps such calls apart (plan/python.h) and exec/python/ runs them in worker
 * processes of the user's own Python.
 */
#pragma once

#include "function/function.h"

/* PySpark's numbers of what the bytes are (pyspark.util.PythonEvalType). */
typedef enum nl_python_eval {
    NL_PYTHON_BATCHED = 100,             /* row by row                                       */
    NL_PYTHON_ARROW_BATCHED = 101,       /* row by row, useArrow                             */
    NL_PYTHON_SCALAR_PANDAS = 200,
    NL_PYTHON_GROUPED_MAP_PANDAS = 201,  /* groupBy().applyInPandas                          */
    NL_PYTHON_GROUPED_AGG_PANDAS = 202,  /* an aggregate function                            */
    NL_PYTHON_WINDOW_AGG_PANDAS = 203,   /* never sent by clients: 202 with OVER             */
    NL_PYTHON_SCALAR_PANDAS_ITER = 204,
    NL_PYTHON_MAP_PANDAS_ITER = 205,     /* mapInPandas                                      */
    NL_PYTHON_COGROUPED_MAP_PANDAS = 206,
    NL_PYTHON_MAP_ARROW_ITER = 207,      /* mapInArrow                                       */
    NL_PYTHON_GROUPED_MAP_ARROW = 209,
    NL_PYTHON_COGROUPED_MAP_ARROW = 210,
    NL_PYTHON_TABLE = 300,               /* UDTF                                             */
    NL_PYTHON_ARROW_TABLE = 301
} nl_python_eval;

typedef struct nl_python_function {
    nl_str name;               /* shown; empty: "pythonUDF"                                  */
    int32_t eval;              /* nl_python_eval, or what the client sent: checked later     */
    nl_str command;            /* the pickled function (and return type)                     */
    nl_str version;            /* of the client's Python: "3.11"                             */
    const nl_type *type;       /* of the result; a STRUCT for maps; NULL: a UDTF's own       */
    bool is_deterministic;
} nl_python_function;

/* A copy with everything it mentions in the arena. */
const nl_python_function *nl_python_function_copy(nl_arena *arena, const nl_python_function *function);

/* A call of a function in Python. An AGGREGATE or WINDOW is one when nl_python_aggregate says so. */
typedef struct nl_python_use {
    const nl_python_function *function;
    const nl_str *names; /* of the arguments given by name; data NULL: by position; NULL: all are */
} nl_python_use;
extern const nl_function_row nl_python_aggregate_row;
static inline const nl_python_use *nl_python_aggregate(const nl_bound_function *call)
{
    return call->row == &nl_python_aggregate_row ? call->state : NULL;
}
