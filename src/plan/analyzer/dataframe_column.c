/* Columns of DataFrames: df.a stands for an output of df, wherever below the present step df is. A column that is no longer
 * there is looked for by its name, as Spark does; a DataFrame that is nowhere below is an error. */
#include "plan/analyzer/analyzer.h"

typedef struct term_output {
    int64_t plan_id;
    uint32_t first; /* terms complete when its analysis began: those from there on up to itself are inside it */
    nl_column_set columns;
} term_output;

struct nl_terms {
    nl_list outputs; /* term_output * */
};

uint32_t nl_terms_count(const nl_env *env)
{
    return env->context->terms ? env->context->terms->outputs.count : 0;
}

void nl_terms_add(nl_env *env, int64_t plan_id, uint32_t first, const nl_logical *plan)
{
    nl_arena *arena = env->context->arena;
    if (!env->context->terms) env->context->terms = NL_NEW(arena, struct nl_terms);
    term_output *output = NL_NEW(arena, term_output);
    *output = (term_output){.plan_id = plan_id, .first = first, .columns = {plan->columns, plan->column_count}};
    nl_list_add(arena, &env->context->terms->outputs, output);
}

/* How many terms lie between the one at `index` and the present step. */
static uint32_t depth_of(const struct nl_terms *terms, uint32_t index)
{
    uint32_t depth = 0;
    for (uint32_t i = index + 1; i < terms->outputs.count; i++) depth += ((const term_output *)terms->outputs.items[i])->first <= index;
    return depth;
}

static const nl_column *visible_column(const nl_scope *scope, nl_column_id id)
{
    for (uint32_t s = 0; s < scope->set_count - scope->has_left_out; s++)
        for (uint32_t i = 0; i < scope->sets[s].count; i++)
            if (scope->sets[s].columns[i].id == id) return &scope->sets[s].columns[i];
    return NULL;
}

typedef struct candidate {
    const nl_column *column;
    uint32_t matched; /* parts of the name that it takes */
    uint32_t index;   /* of its term */
    bool is_outer;
} candidate;

static nl_status raise_ambiguous_term(const nl_scope *scope, nl_str name)
{
    return NL_RAISE(AMBIGUOUS_COLUMN_REFERENCE, NL_P_STR("name", nl_arena_f(nl_scope_arena(scope), "\"" NL_STR_FMT "\"", NL_STR_ARG(name))));
}

/* The nearest of two; one as far as the other is ambiguous. */
static nl_status choose_nearer(const nl_scope *scope, nl_str name, candidate *best, const candidate *other)
{
    const struct nl_terms *terms = scope->env->context->terms;
    if (!best->column) {
        *best = *other;
        return NULL;
    }
    if (best->column->id == other->column->id) return NULL;
    const uint32_t best_depth = depth_of(terms, best->index);
    const uint32_t other_depth = depth_of(terms, other->index);
    if (best_depth == other_depth) return raise_ambiguous_term(scope, name);
    if (other_depth < best_depth) *best = *other;
    return NULL;
}

static nl_status find_candidate(nl_scope *scope, int64_t plan_id, const nl_str *parts, uint32_t part_count, bool *is_known, candidate *best)
{
    const struct nl_terms *terms = scope->env->context->terms;
    for (uint32_t i = terms ? terms->outputs.count : 0; i-- > 0;) {
        const term_output *output = terms->outputs.items[i];
        if (output->plan_id != plan_id) continue;
        *is_known = true;
        candidate found = {.index = i};
        const nl_column *column = NULL;
        NL_TRY(nl_find_column(scope, output->columns, parts, part_count, &column, &found.matched));
        if (!column) continue;
        found.column = visible_column(scope, column->id);
        if (!found.column && scope->outer) {
            found.column = visible_column(scope->outer, column->id);
            found.is_outer = found.column != NULL;
        }
        if (found.column) NL_TRY(choose_nearer(scope, parts[part_count - 1], best, &found));
    }
    return NULL;
}

nl_status nl_resolve_term_column(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_str *parts = NULL;
    uint32_t count = 0;
    bool is_known = false;
    candidate best = {0};
    NL_TRY(nl_name_parts(scope, &ast->column, &parts, &count));
    NL_TRY(find_candidate(scope, ast->plan_id, parts, count, &is_known, &best));
    if (!is_known) {
        const nl_str name = nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_join_texts(arena, parts, count, ".")));
        return NL_RAISE(CANNOT_RESOLVE_DATAFRAME_COLUMN, NL_P_STR("name", name));
    }
    if (!best.column) return nl_resolve_name(scope, parts, count, ast->range, result);
    const nl_expr *base = nl_expr_column(arena, best.column->id, parts[best.matched - 1], best.column->type, best.column->is_nullable);
    if (best.is_outer) base = nl_expr_outer(arena, base);
    for (uint32_t i = best.matched; i < count; i++) NL_TRY(nl_extract_field(scope, base, parts[i], &base));
    *result = base;
    return NULL;
}

bool nl_term_has_column(const nl_scope *scope, int64_t plan_id, nl_column_id id)
{
    const struct nl_terms *terms = scope->env->context->terms;
    for (uint32_t i = terms ? terms->outputs.count : 0; i-- > 0;) {
        const term_output *output = terms->outputs.items[i];
        if (output->plan_id != plan_id) continue;
        for (uint32_t c = 0; c < output->columns.count; c++)
            if (output->columns.columns[c].id == id) return true;
    }
    return false;
}

nl_status nl_column_pattern(nl_scope *scope, nl_str pattern, nl_column_set set, bool *is_match)
{
    nl_arena *arena = nl_scope_arena(scope);
    const char *fold = scope->env->context->is_case_sensitive ? "" : "(?i)";
    const nl_value whole = nl_value_string(nl_arena_f(arena, "^%s(?:" NL_STR_FMT ")$", fold, NL_STR_ARG(pattern)));
    for (uint32_t i = 0; i < set.count; i++) {
        const nl_value name = nl_value_string(set.columns[i].name);
        const nl_expr *const args[] = {nl_expr_literal(arena, &name), nl_expr_literal(arena, &whole)};
        const nl_expr *matches = NULL;
        const nl_value *value = NULL;
        NL_TRY(nl_call_function(scope, NL_STR("rlike"), args, 2, &matches));
        NL_TRY(nl_fold(scope, matches, &value));
        is_match[i] = value && !value->is_null && value->boolean;
    }
    return NULL;
}
