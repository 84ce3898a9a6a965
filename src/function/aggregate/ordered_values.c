/* aggregate/ordered_values.c - see ordered_values.h. A treap (Aragon and Seidel, "Randomized Search Trees", 1989) whose nodes
 * know how many values lie below them. Priorities are a hash of the node's number, so that no order of values is a bad one.
 * A value that has left stays as a node that counts nothing; when these are the most, the tree is made anew without them.
 */
#include "function/aggregate/ordered_values.h"

#include <stdlib.h>

#include "base/hash.h"

#define DEPTH_MAX  256u /* some 3 log2(n) is to be expected */
#define NODES_MAX  UINT32_MAX
#define EMPTY_MIN  64u  /* fewer are not worth making the tree anew */

typedef struct node {
    nl_int128 value;
    int64_t count;
    int64_t total;       /* of the node and all below it */
    uint32_t left, right; /* numbers of nodes from 1; 0: none */
} node;

struct nl_ordered_values {
    const nl_type *type;
    nl_value_order is_before;
    nl_agg_bytes nodes; /* node 0 is nobody's: its total is always zero */
    uint32_t node_count, empty_count, root;
};

static node *node_at(const nl_ordered_values *values, uint32_t number)
{
    return (node *)(void *)values->nodes.data + number;
}

static uint64_t priority_of(uint32_t number)
{
    return nl_hash_u64(number);
}

nl_status nl_ordered_values_new(const nl_type *type, nl_value_order is_before, nl_ordered_values **values)
{
    nl_ordered_values *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof(*made)), NL_P_INT("receivedBytes", 0));
    made->type = type;
    made->is_before = is_before;
    *values = made;
    return NULL;
}

void nl_ordered_values_free(nl_ordered_values *values, nl_memory *memory)
{
    if (!values) return;
    nl_agg_bytes_free(&values->nodes, memory);
    free(values);
}

static nl_status new_node(nl_ordered_values *values, nl_memory *memory, nl_int128 value, int64_t count, uint32_t *number)
{
    const node made = {.value = value, .count = count, .total = count};
    const node nobody = {0};
    if (values->node_count == NODES_MAX) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof(node)), NL_P_INT("receivedBytes", 0));
    if (values->node_count == 0) NL_TRY(nl_agg_bytes_append(&values->nodes, memory, &nobody, sizeof(nobody)));
    NL_TRY(nl_agg_bytes_append(&values->nodes, memory, &made, sizeof(made)));
    *number = ++values->node_count;
    return NULL;
}

static void add_up(const nl_ordered_values *values, node *one)
{
    one->total = one->count + node_at(values, one->left)->total + node_at(values, one->right)->total;
}

/* The last of the path is a new leaf: it climbs as far as its priority takes it. */
static void climb(nl_ordered_values *values, const uint32_t *path, uint32_t depth)
{
    const uint32_t number = path[depth - 1];
    node *climber = node_at(values, number);
    for (uint32_t at = depth - 1; at > 0 && priority_of(number) > priority_of(path[at - 1]); at--) {
        node *parent = node_at(values, path[at - 1]);
        if (parent->left == number) {
            parent->left = climber->right;
            climber->right = path[at - 1];
        } else {
            parent->right = climber->left;
            climber->left = path[at - 1];
        }
        add_up(values, parent);
        add_up(values, climber);
        if (at == 1) {
            values->root = number;
        } else {
            node *above = node_at(values, path[at - 2]);
            *(above->left == path[at - 1] ? &above->left : &above->right) = number;
        }
    }
}

static nl_status add(nl_ordered_values *values, nl_memory *memory, nl_int128 value, int64_t count)
{
    uint32_t path[DEPTH_MAX];
    uint32_t depth = 0;
    uint32_t number = values->root;
    while (number != 0) {
        const node *one = node_at(values, number);
        if (depth == DEPTH_MAX - 1) return NL_RAISE(INTERNAL_ERROR, NL_P("message", "a search tree that is far too deep"));
        path[depth++] = number;
        if (one->value == value) break;
        number = values->is_before(values->type, value, one->value) ? one->left : one->right;
    }
    if (number != 0) {
        node *found = node_at(values, number);
        NL_ASSERT(found->count + count >= 0);
        values->empty_count += (found->count != 0 && found->count + count == 0);
        values->empty_count -= (found->count == 0 && count != 0);
        found->count += count;
        for (uint32_t i = 0; i < depth; i++) node_at(values, path[i])->total += count;
        return NULL;
    }
    NL_TRY(new_node(values, memory, value, count, &number));
    for (uint32_t i = 0; i < depth; i++) node_at(values, path[i])->total += count;
    if (depth == 0) {
        values->root = number;
        return NULL;
    }
    node *parent = node_at(values, path[depth - 1]);
    *(values->is_before(values->type, value, parent->value) ? &parent->left : &parent->right) = number;
    path[depth++] = number;
    climb(values, path, depth);
    return NULL;
}

static nl_status make_anew(nl_ordered_values *values, nl_memory *memory)
{
    nl_ordered_values fresh = {.type = values->type, .is_before = values->is_before};
    nl_status status = NULL;
    for (uint32_t i = 1; i <= values->node_count && !status; i++) {
        const node *one = node_at(values, i);
        if (one->count != 0) status = add(&fresh, memory, one->value, one->count);
    }
    nl_agg_bytes_free(status ? &fresh.nodes : &values->nodes, memory);
    if (!status) *values = fresh;
    return status;
}

nl_status nl_ordered_values_add(nl_ordered_values *values, nl_memory *memory, nl_int128 value, int64_t count)
{
    if (count == 0) return NULL;
    NL_TRY(add(values, memory, value, count));
    return values->empty_count > EMPTY_MIN && values->empty_count > values->node_count / 2 ? make_anew(values, memory) : NULL;
}

int64_t nl_ordered_values_total(const nl_ordered_values *values)
{
    return values->root ? node_at(values, values->root)->total : 0;
}

nl_int128 nl_ordered_values_at(const nl_ordered_values *values, int64_t place)
{
    NL_ASSERT(place >= 1 && place <= nl_ordered_values_total(values));
    const node *one = node_at(values, values->root);
    for (;;) {
        const int64_t before = node_at(values, one->left)->total;
        if (place <= before) {
            one = node_at(values, one->left);
        } else if (place <= before + one->count) {
            return one->value;
        } else {
            place -= before + one->count;
            one = node_at(values, one->right);
        }
    }
}

nl_status nl_ordered_values_each(const nl_ordered_values *values, nl_status (*visit)(void *argument, nl_int128 value, int64_t count), void *argument)
{
    for (uint32_t i = 1; i <= values->node_count; i++) {
        const node *one = node_at(values, i);
        if (one->count != 0) NL_TRY(visit(argument, one->value, one->count));
    }
    return NULL;
}
