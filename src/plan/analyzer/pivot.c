/* PIVOT and UNPIVOT. */
#include "plan/analyzer/analyzer.h"

nl_status nl_analyze_pivot(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan)
{
    (void)env, (void)outer, (void)relation, (void)plan;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "PIVOT is not supported yet.");
}
nl_status nl_analyze_unpivot(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan)
{
    (void)env, (void)outer, (void)relation, (void)plan;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "UNPIVOT is not supported yet.");
}
nl_status nl_analyze_pipe(nl_env *env, nl_scope *outer, const nl_ast_pipe *pipe, const nl_logical **plan)
{
    (void)env, (void)outer, (void)pipe, (void)plan;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "|> is not supported yet.");
}
