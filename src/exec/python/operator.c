/* exec/python/operator.c - runs PYTHON nodes. */
#include "exec/engine.h"

nl_status nl_build_python(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline)
{
    (void)exec, (void)node, (void)pipeline;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Functions written in Python are not run yet.");
}
