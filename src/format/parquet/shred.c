/* format/parquet/shred.c - a column's rows are entries (repetition, definition, position in the present vector); each
 * step down the type changes levels and positions. An entry that met a null or an empty list is dead: it keeps its
 * levels and has no position.
 */
#include "format/parquet/shred.h"

#include "format/written.h"

#define DEAD UINT32_MAX

/* Entries on their way down. */
typedef struct entries {
    uint32_t count;
    bool has_dead; /* some may be */
    uint8_t *repetition;
    uint8_t *definition;
    uint32_t *position;
} entries;

typedef struct shred {
    nl_shredder *shredder;
    const nl_write_schema *schema;
    nl_memory *memory;
    uint32_t row_count;
    nl_shred_take take;
    void *argument;
} shred;

void nl_shredder_init(nl_shredder *shredder, nl_memory *memory)
{
    nl_bytes_out_init(&shredder->levels, memory);
    nl_bytes_out_init(&shredder->position, memory);
    nl_bytes_out_init(&shredder->index, memory);
}

void nl_shredder_fini(nl_shredder *shredder)
{
    nl_bytes_out_fini(&shredder->levels);
    nl_bytes_out_fini(&shredder->position);
    nl_bytes_out_fini(&shredder->index);
}

/* Entries in buffers of their own, for a subtree: siblings need the parent's unchanged. */
static nl_status copy_entries(nl_memory *memory, const entries *from, uint32_t capacity, nl_buffer **buffer, entries *to)
{
    const size_t room = ((size_t)capacity + 15) / 16 * 16;
    NL_TRY(nl_buffer_new(memory, room * 6, false, buffer));
    *to = (entries){.count = from->count, .has_dead = from->has_dead};
    to->position = (uint32_t *)(void *)(*buffer)->data;
    to->repetition = (*buffer)->data + room * 4;
    to->definition = (*buffer)->data + room * 5;
    memcpy(to->position, from->position, (size_t)from->count * sizeof(uint32_t));
    memcpy(to->repetition, from->repetition, from->count);
    memcpy(to->definition, from->definition, from->count);
    return NULL;
}

/* Nulls die; the others move to where the vector keeps their value. */
static nl_status step_into(const nl_write_node *node, const nl_vector *vector, entries *e)
{
    nl_reader reader;
    nl_reader_init(&reader, vector);
    uint32_t null_count = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        const uint32_t row = e->position[i];
        if (row == DEAD) continue;
        if (nl_reader_is_null(&reader, row)) {
            e->position[i] = DEAD;
            null_count++;
            continue;
        }
        e->definition[i] = (uint8_t)(e->definition[i] + node->is_nullable);
        e->position[i] = nl_reader_index(&reader, row);
    }
    e->has_dead = e->has_dead || null_count > 0;
    return null_count > 0 && !node->is_nullable ? nl_required_is_null(node->name) : NULL;
}

/* The same where no entry is dead and none of the vector's rows null: levels are then not asked for. */
static void follow(const nl_vector *vector, entries *e)
{
    if (vector->encoding == NL_CONSTANT) memset(e->position, 0, (size_t)e->count * sizeof(*e->position));
    if (vector->encoding != NL_DICTIONARY) return;
    for (uint32_t i = 0; i < e->count; i++) e->position[i] = vector->indices[e->position[i]];
}

static nl_status give_leaf(const shred *s, uint32_t leaf, const nl_vector *vector, const entries *e, const uint32_t *index, uint32_t count)
{
    const nl_shredded shredded = {
        .entry_count = e->count,
        .row_count = s->row_count,
        .repetition = s->schema->leaves[leaf].max_repetition > 0 ? e->repetition : NULL,
        .definition = count < e->count ? e->definition : NULL,
        .value_count = count,
        .index = index,
        .values = vector->encoding == NL_DICTIONARY ? &vector->dictionary->vector : vector,
        .dictionary = vector->encoding == NL_DICTIONARY ? vector->dictionary : NULL,
    };
    return s->take(s->argument, leaf, &shredded);
}

static nl_status shred_leaf(const shred *s, const nl_write_node *node, const nl_vector *vector, entries *e)
{
    if (!e->has_dead && vector->validity == NULL) {
        follow(vector, e);
        return give_leaf(s, node->leaf, vector, e, e->position, e->count);
    }
    NL_TRY(step_into(node, vector, e));
    nl_bytes_out *index = &s->shredder->index;
    index->length = 0;
    NL_TRY(nl_bytes_out_reserve(index, (size_t)e->count * sizeof(uint32_t)));
    uint32_t *out = (uint32_t *)(void *)index->data;
    uint32_t count = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        out[count] = e->position[i];
        count += e->position[i] != DEAD;
    }
    return give_leaf(s, node->leaf, vector, e, out, count);
}

/* True recursion over the type, whose depth the schema bounds. Changes `e`. */
static nl_status shred_node(const shred *s, const nl_write_node *node, const nl_vector *vector, entries *e);

static nl_status shred_children(const shred *s, const nl_write_node *node, const nl_vector *vector, entries *e)
{
    uint32_t last = node->child_count;
    while (last > 0 && node->children[last - 1].kind == NL_WRITE_NOTHING) last--;
    for (uint32_t i = 0; i < last; i++) {
        const nl_write_node *child = &node->children[i];
        if (child->kind == NL_WRITE_NOTHING) continue;
        if (i + 1 == last) return shred_node(s, child, &vector->children[i], e); /* the last may use the entries up */
        nl_buffer *buffer = NULL;
        entries own;
        NL_TRY(copy_entries(s->memory, e, e->count, &buffer, &own));
        nl_status status = shred_node(s, child, &vector->children[i], &own);
        nl_buffer_release(buffer);
        NL_TRY(status);
    }
    return NULL;
}

static nl_status count_elements(const nl_list_view *views, const entries *e, uint32_t *total)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        const uint32_t length = e->position[i] == DEAD ? 0 : views[e->position[i]].length;
        sum += length == 0 ? 1 : length;
    }
    if (sum >= UINT32_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "One batch holds more than 2^32 list elements.");
    *total = (uint32_t)sum;
    return NULL;
}

static nl_status shred_list(const shred *s, const nl_write_node *node, const nl_vector *vector, const entries *e)
{
    const nl_list_view *views = vector->values;
    uint32_t total = 0;
    nl_buffer *buffer = NULL;
    entries out;
    NL_TRY(count_elements(views, e, &total));
    const entries none = {.has_dead = true, .position = e->position, .repetition = e->repetition, .definition = e->definition};
    NL_TRY(copy_entries(s->memory, &none, total, &buffer, &out));
    uint32_t at = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        const nl_list_view view = e->position[i] == DEAD ? (nl_list_view){0} : views[e->position[i]];
        out.repetition[at] = e->repetition[i];
        out.definition[at] = e->definition[i];
        out.position[at] = DEAD;
        for (uint32_t k = 0; k < view.length; k++) {
            out.repetition[at + k] = k == 0 ? e->repetition[i] : node->repetition;
            out.definition[at + k] = (uint8_t)(e->definition[i] + 1);
            out.position[at + k] = view.offset + k;
        }
        at += view.length == 0 ? 1 : view.length;
    }
    out.count = total;
    nl_status status = shred_children(s, node, vector, &out);
    nl_buffer_release(buffer);
    return status;
}

static nl_status shred_node(const shred *s, const nl_write_node *node, const nl_vector *vector, entries *e)
{
    if (node->kind == NL_WRITE_LEAF) return shred_leaf(s, node, vector, e);
    NL_TRY(step_into(node, vector, e));
    const nl_vector *values = vector->encoding == NL_DICTIONARY ? &vector->dictionary->vector : vector;
    return node->kind == NL_WRITE_LIST ? shred_list(s, node, values, e) : shred_children(s, node, values, e);
}

nl_status nl_shred(nl_shredder *shredder, const nl_write_schema *schema, const nl_write_node *node, const nl_vector *vector, nl_selection selection,
                   nl_memory *memory, nl_shred_take take, void *argument)
{
    const uint32_t count = selection.count;
    entries e = {.count = count};
    nl_bytes_out *position = &shredder->position;
    nl_bytes_out *levels = &shredder->levels;
    position->length = levels->length = 0;
    NL_TRY(nl_bytes_out_reserve(position, (size_t)count * sizeof(uint32_t)));
    NL_TRY(nl_bytes_out_reserve(levels, (size_t)count * 2));
    e.position = (uint32_t *)(void *)position->data;
    e.repetition = levels->data;
    e.definition = levels->data + count;
    memset(levels->data, 0, (size_t)count * 2);
    for (uint32_t i = 0; i < count; i++) e.position[i] = nl_selection_row(selection, i);
    const shred s = {.shredder = shredder, .schema = schema, .memory = memory, .row_count = count, .take = take, .argument = argument};
    return shred_node(&s, node, vector, &e);
}
