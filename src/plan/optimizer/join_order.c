/* The order of inner joins: by dynamic programming over connected subsets for up to ten relations (Selinger et al.,
 * 1979; bushy trees), greedily beyond. Cost is the sum of the rows that intermediate joins make and build from.
 *
 * Relations that nothing ties are multiplied only when each is small for certain, or when the whole
 * query leaves no other way: an estimate of one row that is wrong would cost a quadratic join. */
#include <math.h>

#include "plan/optimizer/rules.h"

#define DYNAMIC_RELATIONS_MAX 10u
#define RELATIONS_MAX         64u
#define CROSS_ROWS_MAX        10000 /* of a product that is made although nothing asks for it */
#define BUILD_COST            1.5   /* of a row in a hash table, against one that only passes */

typedef struct join_graph {
    nl_plan_context *context;
    nl_arena *arena;
    const nl_logical *relations[RELATIONS_MAX];
    nl_id_set ids[RELATIONS_MAX];
    double rows[RELATIONS_MAX];
    uint32_t count;
    const nl_expr **conjuncts;
    uint64_t *touches; /* relations that a conjunct reads */
    uint32_t conjunct_count;
    double *selectivity;
    double *floor; /* see nl_estimate_join_floor */
    uint8_t *class_of; /* see nl_derive_equalities */
    double certain[RELATIONS_MAX]; /* rows that a relation cannot exceed; infinite when that is not known */
    uint32_t *by_keys; /* conjuncts, those first whose two relations share most equalities; before others those of no class */
} join_graph;

typedef struct partial {
    uint64_t relations;
    double rows, cost;
    uint64_t left, right; /* subsets; 0: a base relation */
    bool is_made;
} partial;

/* ---- collecting ---- */

static bool is_inner(const nl_logical *plan)
{
    return plan->kind == NL_PLAN_JOIN && !plan->join.is_lateral && (plan->join.kind == NL_JOIN_INNER || plan->join.kind == NL_JOIN_CROSS);
}

/* Projections that only pass columns on (of USING, of subqueries) do not stand between joins. */
static bool only_passes(const nl_logical *plan)
{
    if (plan->kind != NL_PLAN_PROJECT) return false;
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (plan->project.exprs[i]->kind != NL_EXPR_COLUMN || plan->project.exprs[i]->column != plan->columns[i].id) return false;
    return true;
}

static void collect(nl_arena *arena, const nl_logical *plan, nl_list *relations, nl_list *conjuncts)
{
    while (only_passes(plan) && is_inner(plan->children[0])) plan = plan->children[0];
    if (plan->kind == NL_PLAN_FILTER && is_inner(plan->children[0]) && nl_expr_is_deterministic(plan->filter.condition)) {
        nl_expr_conjuncts(arena, plan->filter.condition, conjuncts);
        plan = plan->children[0];
    }
    if (!is_inner(plan)) {
        nl_list_add(arena, relations, NL_UNCONST(plan));
        return;
    }
    collect(arena, plan->children[0], relations, conjuncts);
    collect(arena, plan->children[1], relations, conjuncts);
    nl_expr_conjuncts(arena, plan->join.condition, conjuncts);
}

/* ---- sizes ---- */

static double conjunct_selectivity(join_graph *g, const nl_expr *conjunct, uint64_t touched, double *floor)
{
    /* the estimate of a join of the two relations with just this condition, against their product */
    uint32_t sides[2] = {0, 0};
    uint32_t found = 0;
    for (uint32_t i = 0; i < g->count && found < 2; i++)
        if (touched >> i & 1) sides[found++] = i;
    *floor = 0;
    if (found < 2) return 1;
    if (__builtin_popcountll(touched) == 2)
        *floor = nl_estimate_join_floor(g->context, g->relations[sides[0]], g->relations[sides[1]], conjunct);
    const nl_logical *join = nl_logical_join(g->arena, NL_JOIN_INNER, g->relations[sides[0]], g->relations[sides[1]], conjunct);
    const double product = NL_MAX(g->rows[sides[0]] * g->rows[sides[1]], 1);
    return NL_MIN(nl_estimate_rows(g->context, join) / product, 1);
}

/* Equalities between the same two relations. */
static uint32_t key_count(const join_graph *g, uint32_t conjunct)
{
    uint32_t count = 0;
    for (uint32_t c = 0; g->floor[conjunct] > 0 && c < g->conjunct_count; c++)
        count += g->floor[c] > 0 && g->touches[c] == g->touches[conjunct];
    return count;
}

static void order_conjuncts(join_graph *g)
{
    uint32_t *counts = NL_NEW_ARRAY(g->arena, uint32_t, g->conjunct_count + 1);
    g->by_keys = NL_NEW_ARRAY(g->arena, uint32_t, g->conjunct_count + 1);
    for (uint32_t c = 0; c < g->conjunct_count; c++) {
        uint32_t at = c;
        counts[c] = 2 * key_count(g, c) + !g->class_of[c];
        for (; at > 0 && counts[g->by_keys[at - 1]] < counts[c]; at--) g->by_keys[at] = g->by_keys[at - 1];
        g->by_keys[at] = c;
    }
}

/* What a table without its filters holds is certain, what passes them is a guess. */
static double certain_rows(nl_plan_context *context, const nl_logical *plan)
{
    while (plan->kind == NL_PLAN_FILTER || plan->kind == NL_PLAN_PROJECT) plan = plan->children[0];
    if (plan->kind == NL_PLAN_AGGREGATE && plan->aggregate.key_count == 0) return 1;
    if (plan->kind == NL_PLAN_LIMIT && plan->limit.limit >= 0) return (double)plan->limit.limit;
    if (plan->kind == NL_PLAN_VALUES || plan->kind == NL_PLAN_SINGLE_ROW) return NL_MAX(nl_estimate_rows(context, plan), 1);
    if (plan->kind != NL_PLAN_SCAN) return HUGE_VAL;
    nl_logical whole = *plan;
    whole.scan.filter = NULL;
    return NL_MAX(nl_estimate_rows(context, &whole), 1);
}

static nl_status build_graph(join_graph *g, const nl_list *relations, nl_list *conjuncts)
{
    g->count = relations->count;
    for (uint32_t i = 0; i < g->count; i++) {
        g->relations[i] = relations->items[i];
        g->ids[i] = nl_plan_ids(g->arena, g->relations[i]);
        g->rows[i] = NL_MAX(nl_estimate_rows(g->context, g->relations[i]), 1);
        g->certain[i] = certain_rows(g->context, g->relations[i]);
    }
    NL_TRY(nl_derive_equalities(g->context, g->ids, g->count, conjuncts, &g->class_of));
    g->conjunct_count = conjuncts->count;
    g->conjuncts = (const nl_expr **)(void *)conjuncts->items;
    g->touches = NL_NEW_ARRAY(g->arena, uint64_t, conjuncts->count + 1);
    g->selectivity = NL_NEW_ARRAY(g->arena, double, conjuncts->count + 1);
    g->floor = NL_NEW_ARRAY(g->arena, double, conjuncts->count + 1);
    for (uint32_t c = 0; c < conjuncts->count; c++) {
        for (uint32_t i = 0; i < g->count; i++)
            if (nl_expr_touches(g->conjuncts[c], &g->ids[i])) g->touches[c] |= 1ull << i;
        g->selectivity[c] = conjunct_selectivity(g, g->conjuncts[c], g->touches[c], &g->floor[c]);
    }
    order_conjuncts(g);
    return NULL;
}

static bool is_across(const join_graph *g, uint32_t conjunct, uint64_t left, uint64_t right)
{
    const uint64_t touched = g->touches[conjunct];
    return !(touched & ~(left | right)) && (touched & left) && (touched & right);
}

static bool is_implied(const join_graph *g, uint32_t conjunct, uint64_t classes)
{
    return classes >> g->class_of[conjunct] & 1;
}

/* Equalities between the same two relations count together: columns of one key. */
static double together(const join_graph *g, uint32_t place, uint64_t *classes)
{
    const uint64_t touched = g->touches[g->by_keys[place]];
    double product = 1;
    double least = 1;
    for (uint32_t k = place; k < g->conjunct_count; k++) {
        const uint32_t c = g->by_keys[k];
        if (g->floor[c] <= 0 || g->touches[c] != touched || is_implied(g, c, *classes)) continue;
        product *= g->selectivity[c];
        least = NL_MIN(least, g->floor[c]);
        if (g->class_of[c]) *classes |= 1ull << g->class_of[c];
    }
    return NL_MAX(product, least);
}

/* Only equalities of no class: those of one are implied by then. */
static bool is_taken_with_another(const join_graph *g, uint32_t place)
{
    const uint32_t conjunct = g->by_keys[place];
    if (g->floor[conjunct] <= 0 || g->class_of[conjunct]) return false;
    for (uint32_t k = 0; k < place; k++) {
        const uint32_t c = g->by_keys[k];
        if (g->floor[c] > 0 && !g->class_of[c] && g->touches[c] == g->touches[conjunct]) return true;
    }
    return false;
}

/* Does a conjunct tie the two disjoint sets? Its selectivity is multiplied in; of a class only the first one's. */
static bool connects(const join_graph *g, uint64_t left, uint64_t right, double *selectivity)
{
    bool is_connected = false;
    uint64_t classes = 0;
    *selectivity = 1;
    for (uint32_t k = 0; k < g->conjunct_count; k++) {
        const uint32_t c = g->by_keys[k];
        if (!is_across(g, c, left, right)) continue;
        is_connected = true;
        if (is_implied(g, c, classes) || is_taken_with_another(g, k)) continue;
        *selectivity *= g->floor[c] > 0 ? together(g, k, &classes) : g->selectivity[c];
        if (g->class_of[c]) classes |= 1ull << g->class_of[c];
    }
    return is_connected;
}

/* ---- dynamic programming ---- */

typedef enum crossing { CROSS_NEVER, CROSS_SMALL, CROSS_ALWAYS } crossing;

static double certain_product(const join_graph *g, uint64_t set)
{
    double product = 1;
    for (uint32_t i = 0; i < g->count; i++)
        if (set >> i & 1) product *= g->certain[i];
    return product;
}

/* Nothing ties the relations of the set to others. */
static bool is_closed(const join_graph *g, uint64_t set)
{
    for (uint32_t c = 0; c < g->conjunct_count; c++)
        if ((g->touches[c] & set) && (g->touches[c] & ~set)) return false;
    return true;
}

static bool may_cross(const join_graph *g, uint64_t left, uint64_t right, crossing allowed)
{
    if (allowed == CROSS_NEVER) return false;
    if (allowed == CROSS_ALWAYS || (is_closed(g, left) && is_closed(g, right))) return true;
    const double a = certain_product(g, left);
    const double b = certain_product(g, right);
    return NL_MIN(a, b) <= 1 || a * b <= CROSS_ROWS_MAX;
}

static void try_pair(const join_graph *g, partial *best, uint64_t left, uint64_t right, crossing allowed)
{
    double selectivity = 1;
    const partial *a = &best[left];
    const partial *b = &best[right];
    if (!a->is_made || !b->is_made) return;
    if (!connects(g, left, right, &selectivity) && !may_cross(g, left, right, allowed)) return;
    const double rows = NL_MAX(a->rows * b->rows * selectivity, 1);
    const double cost = a->cost + b->cost + rows + BUILD_COST * NL_MIN(a->rows, b->rows);
    partial *target = &best[left | right];
    if (target->is_made && target->cost <= cost) return;
    *target = (partial){.relations = left | right, .rows = rows, .cost = cost, .left = left, .right = right, .is_made = true};
}

static void try_all(const join_graph *g, partial *best, uint64_t set, crossing allowed)
{
    for (uint64_t left = (set - 1) & set; left; left = (left - 1) & set)
        if (left > (set & ~left)) try_pair(g, best, left, set & ~left, allowed); /* each pair once */
}

static void dynamic(const join_graph *g, partial *best, crossing allowed)
{
    const uint64_t all = (1ull << g->count) - 1;
    for (uint32_t i = 0; i < g->count; i++) best[1ull << i] = (partial){.relations = 1ull << i, .rows = g->rows[i], .is_made = true};
    for (uint64_t set = 1; set <= all; set++) {
        if ((set & (set - 1)) == 0) continue;
        try_all(g, best, set, CROSS_NEVER);
        if (!best[set].is_made) try_all(g, best, set, allowed);
    }
}

/* ---- building ---- */

typedef struct builder {
    join_graph *g;
    bool *is_used; /* conjuncts that stand in a join already */
} builder;

/* The conjuncts that can be asked now and could not before; of a class of equal columns one. */
static const nl_logical *make_join(builder *b, const nl_logical *left, uint64_t left_set, const nl_logical *right, uint64_t right_set)
{
    join_graph *g = b->g;
    nl_list conditions = {0};
    uint64_t classes = 0;
    for (uint32_t k = 0; k < g->conjunct_count; k++) {
        const uint32_t c = g->by_keys[k];
        if (b->is_used[c] || (g->touches[c] & ~(left_set | right_set))) continue;
        b->is_used[c] = true;
        if (g->class_of[c] && (!is_across(g, c, left_set, right_set) || is_implied(g, c, classes))) continue;
        if (g->class_of[c]) classes |= 1ull << g->class_of[c];
        nl_list_add(g->arena, &conditions, NL_UNCONST(g->conjuncts[c]));
    }
    const nl_expr *condition = nl_conjunction(g->arena, &conditions);
    return nl_logical_join(g->arena, condition ? NL_JOIN_INNER : NL_JOIN_CROSS, left, right, condition);
}

static uint32_t only_relation(uint64_t set)
{
    return (uint32_t)__builtin_ctzll(set);
}

static const nl_logical *build_dynamic(builder *b, const partial *best, uint64_t set)
{
    const partial *p = &best[set];
    if (!p->left) return b->g->relations[only_relation(set)];
    const nl_logical *left = build_dynamic(b, best, p->left);
    const nl_logical *right = build_dynamic(b, best, p->right);
    if (best[p->left].rows < best[p->right].rows) return make_join(b, right, p->right, left, p->left);
    return make_join(b, left, p->left, right, p->right);
}

/* ---- greedy ---- */

typedef struct cluster {
    const nl_logical *plan;
    uint64_t set;
    double rows;
} cluster;

/* The pair whose join is smallest, connected pairs first. */
static bool best_pair(const join_graph *g, const cluster *clusters, uint32_t count, uint32_t *first, uint32_t *second, double *rows)
{
    bool is_found = false;
    bool found_connected = false;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = i + 1; j < count; j++) {
            double selectivity = 1;
            const bool is_connected = connects(g, clusters[i].set, clusters[j].set, &selectivity);
            const double size = NL_MAX(clusters[i].rows * clusters[j].rows * selectivity, 1);
            if (found_connected && !is_connected) continue;
            if (is_found && found_connected == is_connected && size >= *rows) continue;
            is_found = true;
            found_connected = is_connected;
            *first = i;
            *second = j;
            *rows = size;
        }
    }
    return is_found;
}

static const nl_logical *greedy(builder *b)
{
    join_graph *g = b->g;
    cluster clusters[RELATIONS_MAX];
    uint32_t count = g->count;
    for (uint32_t i = 0; i < count; i++) clusters[i] = (cluster){.plan = g->relations[i], .set = 1ull << i, .rows = g->rows[i]};
    while (count > 1) {
        uint32_t i = 0;
        uint32_t j = 1;
        double rows = 1;
        best_pair(g, clusters, count, &i, &j, &rows);
        const cluster *left = clusters[i].rows >= clusters[j].rows ? &clusters[i] : &clusters[j];
        const cluster *right = left == &clusters[i] ? &clusters[j] : &clusters[i];
        const nl_logical *join = make_join(b, left->plan, left->set, right->plan, right->set);
        clusters[i] = (cluster){.plan = join, .set = clusters[i].set | clusters[j].set, .rows = rows};
        clusters[j] = clusters[--count];
    }
    return clusters[0].plan;
}

/* ---- the rule ---- */

static nl_status order(nl_plan_context *context, const nl_logical *plan, const nl_logical **result);

static nl_status order_relations(nl_plan_context *context, nl_list *relations)
{
    for (uint32_t i = 0; i < relations->count; i++) {
        const nl_logical *ordered = NULL;
        NL_TRY(order(context, relations->items[i], &ordered));
        relations->items[i] = NL_UNCONST(ordered);
    }
    return NULL;
}

static nl_status order_tree(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    nl_arena *arena = context->arena;
    nl_list relations = {0};
    nl_list conjuncts = {0};
    collect(arena, plan, &relations, &conjuncts);
    NL_TRY(order_relations(context, &relations));
    join_graph *g = NL_NEW(arena, join_graph);
    g->context = context;
    g->arena = arena;
    if (relations.count > RELATIONS_MAX) {
        *result = plan;
        return NULL;
    }
    NL_TRY(build_graph(g, &relations, &conjuncts));
    builder b = {.g = g, .is_used = NL_NEW_ARRAY(arena, bool, conjuncts.count + 1)};
    const nl_logical *tree;
    if (g->count <= DYNAMIC_RELATIONS_MAX) {
        partial *best = NL_NEW_ARRAY(arena, partial, 1ull << g->count);
        dynamic(g, best, CROSS_SMALL);
        if (!best[(1ull << g->count) - 1].is_made) dynamic(g, best, CROSS_ALWAYS); /* conditions on three relations and more */
        tree = build_dynamic(&b, best, (1ull << g->count) - 1);
    } else {
        tree = greedy(&b);
    }
    *result = nl_logical_keep(arena, tree, plan->columns, plan->column_count);
    return nl_arena_check(arena);
}

static nl_status order(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    const nl_logical *definition = NULL;
    if (is_inner(plan)) return order_tree(context, plan, result);
    if (plan->kind == NL_PLAN_CTE) { /* first, for its size to be known where it is used */
        NL_TRY(order(context, plan->cte.definition, &definition));
        nl_note_definition(context, plan->cte.id, definition);
    }
    const nl_logical **children = NL_NEW_ARRAY(context->arena, const nl_logical *, plan->child_count + 1);
    for (uint32_t i = 0; i < plan->child_count; i++) NL_TRY(order(context, plan->children[i], &children[i]));
    *result = nl_logical_with_children(context->arena, plan, children);
    if (plan->kind != NL_PLAN_CTE) return NULL;
    nl_logical *copy = nl_logical_copy(context->arena, *result);
    copy->cte.definition = definition;
    *result = copy;
    return NULL;
}

nl_status nl_rule_order_joins(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return order(context, plan, result);
}
