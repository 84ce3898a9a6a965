/* Common types where Spark does not let strings become other types: VALUES, UNPIVOT, comparisons of nested values. */
#include "plan/analyzer/analyzer.h"

#include "base/limits.h"
#include "function/coercion.h"

static bool mixes(const nl_type *a, const nl_type *b, uint32_t depth)
{
    if (a->id == NL_TYPE_NULL || b->id == NL_TYPE_NULL || depth > NL_EXPRESSION_DEPTH_MAX) return false;
    if (a->id != b->id) return a->id == NL_TYPE_STRING || b->id == NL_TYPE_STRING;
    if (a->child_count != b->child_count) return false;
    for (uint32_t i = 0; i < a->child_count; i++)
        if (mixes(a->children[i].type, b->children[i].type, depth + 1)) return true;
    return false;
}

bool nl_types_mix_strings(const nl_type *a, const nl_type *b)
{
    return mixes(a, b, 0);
}

const nl_type *nl_common_type_plain(nl_scope *scope, const nl_type *a, const nl_type *b)
{
    if (mixes(a, b, 0)) return NULL;
    return nl_common_type(nl_scope_arena(scope), a, b, nl_scope_confs(scope)->is_ansi);
}
