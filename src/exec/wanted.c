/* exec/wanted.c - which columns of a node's rows somebody reads: joins neither copy nor keep the others. */
#include "exec/engine.h"

static void add_id(nl_exec *exec, nl_wanted *wanted, nl_column_id id)
{
    const uint32_t word = id / 64;
    if (word >= wanted->word_count) {
        uint64_t *grown = NL_NEW_ARRAY(exec->arena, uint64_t, 2 * word + 8);
        if (wanted->word_count) memcpy(grown, wanted->words, sizeof(uint64_t) * wanted->word_count);
        wanted->words = grown;
        wanted->word_count = 2 * word + 8;
    }
    wanted->words[word] |= 1ull << (id % 64);
}

typedef struct adding {
    nl_exec *exec;
    nl_wanted *wanted;
} adding;

static bool add_column(void *context, const nl_expr *expr)
{
    const adding *into = context;
    if (expr->kind == NL_EXPR_COLUMN) add_id(into->exec, into->wanted, expr->column);
    return true;
}

static void add_expr(nl_exec *exec, nl_wanted *wanted, const nl_expr *expr)
{
    adding into = {.exec = exec, .wanted = wanted};
    nl_expr_walk(expr, add_column, &into);
}

static nl_wanted *copy_of(nl_exec *exec, const nl_wanted *wanted)
{
    nl_wanted *copy = NL_NEW(exec->arena, nl_wanted);
    copy->word_count = wanted->word_count;
    copy->words = NL_NEW_ARRAY(exec->arena, uint64_t, wanted->word_count + 1);
    if (wanted->word_count) memcpy(copy->words, wanted->words, sizeof(uint64_t) * wanted->word_count);
    return copy;
}

/* Whatever a projection computes it reads, wanted or not: only columns it passes on may be left out. */
static const nl_wanted *of_project(nl_exec *exec, const nl_logical *node, const nl_wanted *wanted)
{
    nl_wanted *below = NL_NEW(exec->arena, nl_wanted);
    for (uint32_t i = 0; i < node->column_count; i++)
        if (node->project.exprs[i]->kind != NL_EXPR_COLUMN || nl_is_wanted(wanted, node->columns[i].id)) add_expr(exec, below, node->project.exprs[i]);
    return below;
}

static const nl_wanted *of_aggregate(nl_exec *exec, const nl_logical *node)
{
    nl_wanted *below = NL_NEW(exec->arena, nl_wanted);
    for (uint32_t i = 0; i < node->aggregate.key_count; i++)
        add_expr(exec, below, node->aggregate.keys[i]);
    for (uint32_t i = 0; i < node->aggregate.aggregate_count; i++)
        add_expr(exec, below, node->aggregate.aggregates[i]);
    return below;
}

const nl_wanted *nl_wanted_below(nl_exec *exec, const nl_logical *node, const nl_wanted *wanted)
{
    if (node->kind == NL_PLAN_PROJECT) return of_project(exec, node, wanted);
    if (node->kind == NL_PLAN_AGGREGATE) return of_aggregate(exec, node);
    if (!wanted || (node->kind != NL_PLAN_FILTER && node->kind != NL_PLAN_JOIN)) return NULL;
    const nl_expr *condition = node->kind == NL_PLAN_FILTER ? node->filter.condition : node->join.condition;
    nl_wanted *below = copy_of(exec, wanted);
    if (condition) add_expr(exec, below, condition);
    return below;
}
