/* Columns of DataFrames: df.a stands for an output of df, wherever in the plan df is. */
#include "plan/analyzer/analyzer.h"

typedef struct term_output {
    int64_t plan_id;
    uint32_t first; /* terms complete when its analysis began: those from there on up to itself are inside it */
    nl_column_set columns;
} term_output;

typedef struct renamed_column {
    nl_column_id from, to;
} renamed_column;

struct nl_terms {
    nl_list outputs; /* term_output *    */
    nl_list renamed; /* renamed_column * */
};

static struct nl_terms *terms_of(nl_env *env)
{
    if (!env->context->terms) env->context->terms = NL_NEW(env->context->arena, struct nl_terms);
    return env->context->terms;
}

uint32_t nl_terms_count(const nl_env *env)
{
    return env->context->terms ? env->context->terms->outputs.count : 0;
}

void nl_terms_add(nl_env *env, int64_t plan_id, uint32_t first, const nl_logical *plan)
{
    term_output *output = NL_NEW(env->context->arena, term_output);
    *output = (term_output){.plan_id = plan_id, .first = first, .columns = {plan->columns, plan->column_count}};
    nl_list_add(env->context->arena, &terms_of(env)->outputs, output);
}

void nl_terms_rename(nl_env *env, const nl_logical *from, const nl_logical *to)
{
    if (!env->context->terms) return; /* no DataFrame anywhere below */
    for (uint32_t i = 0; i < from->column_count && i < to->column_count; i++) {
        if (from->columns[i].id == to->columns[i].id) continue;
        renamed_column *renamed = NL_NEW(env->context->arena, renamed_column);
        *renamed = (renamed_column){from->columns[i].id, to->columns[i].id};
        nl_list_add(env->context->arena, &env->context->terms->renamed, renamed);
    }
}
