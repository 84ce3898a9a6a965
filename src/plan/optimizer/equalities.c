/* Equalities that follow from others: a = b and b = c make a = c, so that joins may be taken in orders that no condition
 * names (TPC-H 5: customers of the region's nations first, although only the supplier's nation is named).
 *
 * Columns that equalities between relations tie together are a class; it has one column of a relation at most. Whatever
 * is joined has all of its columns of a class equal, so that one equality of each class is enough at every join. */
#include "plan/optimizer/rules.h"

#define CLASSES_MAX      63u /* numbers are bits of a word; 0 is no class */
#define MEMBERS_MAX      8u  /* all pairs of them are added */

typedef struct equality_class {
    const nl_expr *members[MEMBERS_MAX]; /* columns */
    uint32_t count;
    uint64_t relations;
    bool is_merged; /* into another one */
} equality_class;

typedef struct classes {
    const nl_id_set *ids;
    uint32_t relation_count;
    equality_class items[CLASSES_MAX];
    uint32_t count;
} classes;

static uint64_t relation_of(const classes *c, const nl_expr *column)
{
    for (uint32_t i = 0; i < c->relation_count; i++)
        if (nl_id_set_has(&c->ids[i], column->column)) return 1ull << i;
    return 0;
}

static uint32_t class_of(const classes *c, const nl_expr *column)
{
    for (uint32_t i = 0; i < c->count; i++)
        for (uint32_t m = 0; !c->items[i].is_merged && m < c->items[i].count; m++)
            if (c->items[i].members[m]->column == column->column) return i;
    return CLASSES_MAX;
}

static bool is_between_columns(const nl_expr *conjunct, const nl_expr **a, const nl_expr **b)
{
    if (!nl_as_equality(conjunct, a, b)) return false;
    return (*a)->kind == NL_EXPR_COLUMN && (*b)->kind == NL_EXPR_COLUMN && nl_type_equal((*a)->type, (*b)->type);
}

/* Index of the column's class, a new one if it has none; CLASSES_MAX: there are too many. */
static uint32_t class_for(classes *c, const nl_expr *column)
{
    const uint32_t found = class_of(c, column);
    const uint64_t relation = relation_of(c, column);
    if (found != CLASSES_MAX || c->count == CLASSES_MAX || !relation) return found;
    c->items[c->count] = (equality_class){.members = {column}, .count = 1, .relations = relation};
    return c->count++;
}

/* False: the two columns stay apart, and their equality is a condition like any other. */
static bool unite(classes *c, const nl_expr *a, const nl_expr *b)
{
    const uint32_t into = class_for(c, a);
    const uint32_t from = class_for(c, b);
    if (into == CLASSES_MAX || from == CLASSES_MAX) return false;
    if (into == from) return true;
    equality_class *target = &c->items[into];
    equality_class *source = &c->items[from];
    if ((target->relations & source->relations) || target->count + source->count > MEMBERS_MAX) return false;
    for (uint32_t m = 0; m < source->count; m++)
        target->members[target->count++] = source->members[m];
    target->relations |= source->relations;
    source->is_merged = true;
    return true;
}

static bool has_equality(const nl_list *conjuncts, const nl_expr *x, const nl_expr *y)
{
    const nl_expr *a = NULL;
    const nl_expr *b = NULL;
    for (uint32_t i = 0; i < conjuncts->count; i++) {
        if (!is_between_columns(conjuncts->items[i], &a, &b)) continue;
        if ((a->column == x->column && b->column == y->column) || (a->column == y->column && b->column == x->column)) return true;
    }
    return false;
}

static nl_status add_pairs(nl_plan_context *context, const equality_class *class, nl_list *conjuncts)
{
    for (uint32_t i = 0; i < class->count; i++) {
        for (uint32_t k = i + 1; k < class->count; k++) {
            const nl_expr *equal = NULL;
            if (has_equality(conjuncts, class->members[i], class->members[k])) continue;
            NL_TRY(nl_call_rule(context, "=", class->members[i], class->members[k], &equal));
            nl_list_add(context->arena, conjuncts, NL_UNCONST(equal));
        }
    }
    return NULL;
}

nl_status nl_derive_equalities(nl_plan_context *context, const nl_id_set *ids, uint32_t relation_count, nl_list *conjuncts, uint8_t **class_of_conjunct)
{
    classes *c = NL_NEW(context->arena, classes);
    *c = (classes){.ids = ids, .relation_count = relation_count};
    const nl_expr *a = NULL;
    const nl_expr *b = NULL;
    const uint32_t given = conjuncts->count;
    bool *is_apart = NL_NEW_ARRAY(context->arena, bool, given + 1);
    for (uint32_t i = 0; i < given; i++)
        is_apart[i] = !is_between_columns(conjuncts->items[i], &a, &b) || !unite(c, a, b);
    for (uint32_t i = 0; i < c->count; i++)
        if (!c->items[i].is_merged) NL_TRY(add_pairs(context, &c->items[i], conjuncts));
    *class_of_conjunct = NL_NEW_ARRAY(context->arena, uint8_t, conjuncts->count + 1);
    for (uint32_t i = 0; i < conjuncts->count; i++)
        if ((i >= given || !is_apart[i]) && is_between_columns(conjuncts->items[i], &a, &b)) (*class_of_conjunct)[i] = (uint8_t)(class_of(c, a) + 1);
    return nl_arena_check(context->arena);
}
