/* Steps of DataFrames: each takes the rows that come from its left. */
#include "plan/analyzer/analyzer.h"

nl_status nl_apply_dataframe(nl_env *env, nl_scope *outer, const nl_ast_dataframe *dataframe, const nl_logical **plan)
{
    (void)env, (void)outer, (void)dataframe, (void)plan;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "This DataFrame operator is not supported yet.");
}

nl_status nl_analyze_text_query(nl_env *env, nl_scope *outer, const nl_ast_text_query *query, const nl_logical **plan)
{
    (void)env, (void)outer, (void)query, (void)plan;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "This DataFrame operator is not supported yet.");
}
