#include "exec/engine.h"

nl_status nl_build_window(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline)
{
    (void)exec;
    (void)node;
    (void)pipeline;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Window functions are not supported yet.");
}
