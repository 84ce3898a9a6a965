/* format/parquet/assemble.c - the inverse of Dremel's record shredding, a column at a time.
 *
 * Every node has slots: the entries of a leaf below it that begin a value of the node's parent. A slot is null below the
 * node's own definition level; a list's elements are the slots of its child. All leaves below a list must agree on how
 * many elements there are, which is checked since files can lie. Source: Melnik et al., Dremel, 2010.
 */
#include "format/parquet/assemble.h"

#include <stdlib.h>

#include "format/parquet/gather.h"

typedef struct assembly {
    nl_leaf_part *parts;
    uint32_t first_leaf;
    nl_memory *memory;
} assembly;

typedef struct levels {
    const uint8_t *repetition; /* NULL: all 0 */
    const uint8_t *definition; /* NULL: every value is there */
    uint64_t count;
} levels;

static nl_leaf_part *part_of(const assembly *a, const nl_map_node *node)
{
    return &a->parts[node->leaf - a->first_leaf];
}

static levels levels_of(const nl_leaf_part *part)
{
    if (part->cursor->leaf->node->max_repetition == 0)
        return (levels){.definition = part->sink.definitions ? part->sink.definitions->data : NULL, .count = part->sink.row_count};
    if (part->window.entry_count == 0) return (levels){0};
    return (levels){part->window.repetition->data, part->window.definition->data, part->window.entry_count};
}

static nl_status leaves_disagree(const nl_leaf_part *part)
{
    return nl_parquet_corrupt(&part->cursor->source.place, "the levels of this column disagree with those of its siblings");
}

static nl_status impossible_levels(const nl_leaf_part *part)
{
    return nl_parquet_corrupt(&part->cursor->source.place, "repetition levels that add to a list that is not there");
}

nl_status nl_assemble_missing(const nl_map_node *node, uint32_t row_count, nl_memory *memory, nl_vector *vector)
{
    if (node->missing_value == NULL) return nl_vector_new_null(vector, node->type, row_count, memory);
    return nl_vector_new_constant(vector, node->missing_value, row_count, memory);
}

static void start_vector(const nl_map_node *node, uint32_t length, nl_vector *vector)
{
    *vector = (nl_vector){.type = node->type, .encoding = NL_FLAT, .length = length};
}

static nl_status add_validity(nl_vector *vector, nl_memory *memory)
{
    NL_TRY(nl_buffer_new(memory, vector->length / 8 + 16, true, &vector->validity_buffer));
    vector->validity = vector->validity_buffer->data;
    return NULL;
}

static void drop_validity_if_full(nl_vector *vector)
{
    if (vector->null_count > 0) return;
    nl_buffer_release(vector->validity_buffer);
    vector->validity_buffer = NULL;
    vector->validity = NULL;
}

/* ---- Leaves ---- */

static nl_status assemble_window(const nl_map_node *node, nl_leaf_part *part, uint32_t slot_count, nl_memory *memory, nl_vector *vector)
{
    const nl_leaf_window *window = &part->window;
    const levels all = levels_of(part);
    const uint8_t max = (uint8_t)part->cursor->leaf->node->max_definition;
    const uint32_t width = part->cursor->leaf->conversion.out_bytes;
    start_vector(node, slot_count, vector);
    NL_TRY(add_validity(vector, memory));
    uint8_t *bits = vector->validity_buffer->data;
    uint64_t slots = 0;
    for (uint64_t i = 0; i < all.count; i++) {
        if (all.definition[i] < node->slot_definition) continue;
        if (slots == slot_count) return leaves_disagree(part);
        if (all.definition[i] == max) nl_bit_set(bits, (uint32_t)slots);
        slots++;
    }
    if (slots != slot_count) return leaves_disagree(part);
    vector->null_count = slot_count - (uint32_t)window->value_count;
    if (vector->null_count == 0 && window->values != NULL) {
        vector->values_buffer = nl_buffer_retain(window->values);
    } else {
        NL_TRY(nl_buffer_new(memory, (size_t)slot_count * width, true, &vector->values_buffer));
        if (window->value_count > 0) nl_spread_values(window->values->data, width, bits, 0, slot_count, vector->values_buffer->data);
    }
    vector->values = vector->values_buffer->data;
    vector->heap = nl_heap_retain(window->heap);
    drop_validity_if_full(vector);
    return NULL;
}

static nl_status assemble_leaf(const assembly *a, const nl_map_node *node, uint32_t slot_count, nl_vector *vector)
{
    nl_leaf_part *part = part_of(a, node);
    if (part->cursor->leaf->node->max_repetition > 0) return assemble_window(node, part, slot_count, a->memory, vector);
    if (part->sink.row_count != slot_count) return leaves_disagree(part);
    return nl_leaf_sink_finish(part->cursor, &part->sink, vector);
}

/* ---- Structs and lists ---- */

/* True recursion over the mapping, whose depth is bounded by NL_TYPE_DEPTH_MAX. */
static nl_status assemble_node(const assembly *a, const nl_map_node *node, uint32_t slot_count, nl_vector *vector);

static nl_status assemble_children(const assembly *a, const nl_map_node *node, uint32_t slot_count, nl_vector *vector)
{
    if (node->child_count == 0) return NULL;
    vector->children = calloc(node->child_count, sizeof(*vector->children));
    if (vector->children == NULL)
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)(node->child_count * sizeof(nl_vector))),
                        NL_P_INT("receivedBytes", 0));
    vector->child_count = node->child_count;
    for (uint32_t i = 0; i < node->child_count; i++) NL_TRY(assemble_node(a, &node->children[i], slot_count, &vector->children[i]));
    return NULL;
}

static nl_status struct_validity(const assembly *a, const nl_map_node *node, nl_vector *vector)
{
    const nl_leaf_part *part = part_of(a, node);
    const levels all = levels_of(part);
    if (node->definition <= node->slot_definition || all.definition == NULL) return NULL;
    NL_TRY(add_validity(vector, a->memory));
    uint8_t *bits = vector->validity_buffer->data;
    uint32_t slots = 0;
    uint32_t valid = 0;
    for (uint64_t i = 0; i < all.count; i++) {
        if (all.definition[i] < node->slot_definition) continue;
        if (all.repetition != NULL && all.repetition[i] > node->slot_repetition) continue;
        if (slots == vector->length) return leaves_disagree(part);
        const uint32_t is_valid = all.definition[i] >= node->definition;
        bits[slots >> 3] = (uint8_t)(bits[slots >> 3] | (is_valid << (slots & 7)));
        valid += is_valid;
        slots++;
    }
    if (slots != vector->length) return leaves_disagree(part);
    vector->null_count = slots - valid;
    drop_validity_if_full(vector);
    return NULL;
}

/* What an entry means for the lists of a node. */
typedef enum list_step {
    STEP_NONE,        /* nothing: it belongs to a deeper list, or the parent is not there */
    STEP_BEGIN,       /* a list with a first element */
    STEP_BEGIN_EMPTY, /* a list that is null or empty */
    STEP_CONTINUE,    /* one element more */
    STEP_IMPOSSIBLE   /* one more of a list that is not there */
} list_step;

/* *is_open: the list begun last has elements; kept by the caller from entry to entry. */
static inline list_step step_of(const nl_map_node *node, uint8_t repetition, uint8_t definition, bool *is_open)
{
    const bool has_element = definition >= node->element_definition;
    if (repetition > node->element_repetition) return STEP_NONE;
    if (repetition > node->slot_repetition) return *is_open && has_element ? STEP_CONTINUE : STEP_IMPOSSIBLE;
    *is_open = has_element;
    if (definition < node->slot_definition) return STEP_NONE;
    return has_element ? STEP_BEGIN : STEP_BEGIN_EMPTY;
}

/* The list views, and how many elements there are. */
static nl_status list_views(const assembly *a, const nl_map_node *node, nl_vector *vector, uint32_t *element_count)
{
    const nl_leaf_part *part = part_of(a, node);
    const levels all = levels_of(part);
    NL_TRY(nl_buffer_new(a->memory, (size_t)vector->length * sizeof(nl_list_view), true, &vector->values_buffer));
    vector->values = vector->values_buffer->data;
    NL_TRY(add_validity(vector, a->memory));
    nl_list_view *views = (nl_list_view *)(void *)vector->values_buffer->data;
    uint8_t *bits = vector->validity_buffer->data;
    uint32_t slots = 0;
    uint32_t elements = 0;
    uint32_t valid = 0;
    bool is_open = false;
    if (all.count > UINT32_MAX) return nl_parquet_corrupt(&part->cursor->source.place, "lists with more than 2^32 elements in a few rows");
    for (uint64_t i = 0; i < all.count; i++) {
        const list_step step = step_of(node, all.repetition[i], all.definition[i], &is_open);
        if (step == STEP_IMPOSSIBLE) return impossible_levels(part);
        if (step == STEP_NONE) continue;
        if (step != STEP_CONTINUE) {
            if (slots == vector->length) return leaves_disagree(part);
            if (all.definition[i] >= node->definition) {
                nl_bit_set(bits, slots);
                views[slots].offset = elements;
                valid++;
            }
            slots++;
        }
        if (step == STEP_BEGIN_EMPTY) continue;
        views[slots - 1].length++;
        elements++;
    }
    if (slots != vector->length) return leaves_disagree(part);
    vector->null_count = slots - valid;
    drop_validity_if_full(vector);
    *element_count = elements;
    return NULL;
}

/* The other leaves below a list must begin the same lists with the same numbers of elements: a damaged level would
 * otherwise move values from one row to another unnoticed. */
static nl_status check_sibling(const nl_leaf_part *part, const nl_map_node *node, const nl_vector *vector)
{
    const levels all = levels_of(part);
    const nl_list_view *views = vector->values;
    uint32_t slots = 0;
    uint32_t length = 0;
    bool is_same = true;
    bool is_open = false;
    for (uint64_t i = 0; i < all.count; i++) {
        const list_step step = step_of(node, all.repetition[i], all.definition[i], &is_open);
        if (step == STEP_IMPOSSIBLE) return impossible_levels(part);
        if (step == STEP_NONE) continue;
        if (step != STEP_CONTINUE) {
            if (slots == vector->length) return leaves_disagree(part);
            is_same &= slots == 0 || views[slots - 1].length == length;
            is_same &= (all.definition[i] >= node->definition) == !nl_vector_is_null(vector, slots);
            slots++;
            length = 0;
        }
        length += step != STEP_BEGIN_EMPTY;
    }
    is_same &= slots == vector->length && (slots == 0 || views[slots - 1].length == length);
    return is_same ? NULL : leaves_disagree(part);
}

static nl_status check_siblings(const assembly *a, const nl_map_node *node, const nl_vector *vector)
{
    for (uint32_t leaf = node->first_leaf; leaf < node->first_leaf + node->leaf_count; leaf++) {
        if (leaf != node->leaf) NL_TRY(check_sibling(&a->parts[leaf - a->first_leaf], node, vector));
    }
    return NULL;
}

static nl_status assemble_node(const assembly *a, const nl_map_node *node, uint32_t slot_count, nl_vector *vector)
{
    switch (node->kind) {
    case NL_MAP_MISSING:
        return nl_assemble_missing(node, slot_count, a->memory, vector);
    case NL_MAP_LEAF:
        return assemble_leaf(a, node, slot_count, vector);
    case NL_MAP_STRUCT:
        start_vector(node, slot_count, vector);
        NL_TRY(struct_validity(a, node, vector));
        return assemble_children(a, node, slot_count, vector);
    case NL_MAP_LIST: {
        uint32_t element_count = 0;
        start_vector(node, slot_count, vector);
        NL_TRY(list_views(a, node, vector, &element_count));
        NL_TRY(check_siblings(a, node, vector));
        return assemble_children(a, node, element_count, vector);
    }
    }
    return NULL;
}

nl_status nl_assemble(const nl_map_node *node, nl_leaf_part *parts, uint32_t first_leaf, uint32_t slot_count, nl_memory *memory, nl_vector *vector)
{
    const assembly a = {.parts = parts, .first_leaf = first_leaf, .memory = memory};
    *vector = (nl_vector){0};
    nl_status status = assemble_node(&a, node, slot_count, vector);
    if (status != NULL) nl_vector_fini(vector);
    return status;
}
