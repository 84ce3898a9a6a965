/* function/list.c - the loop over list rows, and sets of elements. */
#include "function/list.h"

#include <math.h>

typedef struct set_slot {
    const nl_vector *vector; /* NULL: free */
    uint32_t row;
    uint64_t hash;
} set_slot;

struct nl_element_set {
    nl_memory *memory;
    nl_buffer *buffer;
    set_slot *slots;
    uint32_t slot_count; /* in use for the present row */
};

nl_status nl_element_set_new(nl_memory *memory, nl_element_set **set)
{
    nl_buffer *self = NULL; /* the struct lies in a buffer, so that it is paid for as well */
    NL_TRY(nl_buffer_new(memory, sizeof(nl_element_set) + sizeof(nl_buffer *), true, &self));
    *set = (nl_element_set *)(void *)(self->data + sizeof(nl_buffer *));
    memcpy(self->data, &self, sizeof self);
    (*set)->memory = memory;
    return NULL;
}

void nl_element_set_free(nl_element_set *set)
{
    if (set == NULL) return;
    nl_buffer *self;
    memcpy(&self, (uint8_t *)set - sizeof self, sizeof self);
    nl_buffer_release(set->buffer);
    nl_buffer_release(self);
}

nl_status nl_element_set_begin(nl_element_set *set, uint32_t value_count_max)
{
    uint32_t slot_count = 16;
    while (slot_count < value_count_max * 2ull) slot_count *= 2;
    size_t bytes = nl_size_mul(slot_count, sizeof(set_slot));
    if (set->buffer == NULL || set->buffer->size_bytes < bytes) {
        nl_buffer_release(set->buffer);
        set->buffer = NULL;
        NL_TRY(nl_buffer_new(set->memory, bytes, false, &set->buffer));
        set->slots = (set_slot *)(void *)set->buffer->data;
    }
    set->slot_count = slot_count;
    memset(set->slots, 0, bytes);
    return NULL;
}

/* One element's hash: nl_vector_hash over a slice of one row. */
static nl_status hash_element(nl_element_set *set, const nl_vector *vector, uint32_t row, uint64_t *hash)
{
    nl_vector one = {0};
    NL_TRY(nl_vector_slice(vector, row, 1, set->memory, &one));
    nl_status status = nl_vector_hash(&one, 1, false, hash);
    nl_vector_fini(&one);
    return status;
}

/* Spark's sets of numbers tell -0.0 from 0.0, unlike its comparisons. */
static bool is_negative(const nl_vector *vector, uint32_t row)
{
    nl_reader reader;
    if (vector->type->id != NL_TYPE_DOUBLE && vector->type->id != NL_TYPE_FLOAT) return false;
    nl_reader_init(&reader, vector);
    const uint32_t i = nl_reader_index(&reader, row);
    const double number = vector->type->id == NL_TYPE_DOUBLE ? ((const double *)reader.values)[i] : (double)((const float *)reader.values)[i];
    return number == 0 && signbit(number);
}

static bool same_element(const nl_vector *a, uint32_t a_row, const nl_vector *b, uint32_t b_row)
{
    bool a_null = nl_vector_is_null(a, a_row);
    bool b_null = nl_vector_is_null(b, b_row);
    if (a_null || b_null) return a_null && b_null;
    return nl_vector_row_equal(a, a_row, b, b_row) && is_negative(a, a_row) == is_negative(b, b_row);
}

static nl_status find_slot(nl_element_set *set, const nl_vector *vector, uint32_t row, set_slot **slot, uint64_t *hash)
{
    *hash = 0;
    if (!nl_vector_is_null(vector, row)) NL_TRY(hash_element(set, vector, row, hash));
    uint32_t at = (uint32_t)*hash & (set->slot_count - 1);
    while (set->slots[at].vector != NULL) {
        if (set->slots[at].hash == *hash && same_element(set->slots[at].vector, set->slots[at].row, vector, row)) break;
        at = (at + 1) & (set->slot_count - 1);
    }
    *slot = &set->slots[at];
    return NULL;
}

nl_status nl_element_set_add(nl_element_set *set, const nl_vector *vector, uint32_t row, bool *is_new)
{
    set_slot *slot = NULL;
    uint64_t hash;
    NL_TRY(find_slot(set, vector, row, &slot, &hash));
    *is_new = slot->vector == NULL;
    if (*is_new) *slot = (set_slot){.vector = vector, .row = row, .hash = hash};
    return NULL;
}

nl_status nl_element_set_has(nl_element_set *set, const nl_vector *vector, uint32_t row, bool *has)
{
    set_slot *slot = NULL;
    uint64_t hash;
    NL_TRY(find_slot(set, vector, row, &slot, &hash));
    *has = slot->vector != NULL;
    return NULL;
}

nl_status nl_list_reserve(nl_list_call *call, uint64_t count)
{
    return nl_column_builder_reserve(nl_column_builder_child(call->builder, 0), (uint32_t)NL_MIN(count, (uint64_t)UINT32_MAX));
}

nl_status nl_list_call_set(nl_list_call *call, uint32_t value_count_max, nl_element_set **set)
{
    if (call->set == NULL) NL_TRY(nl_element_set_new(call->eval->memory, &call->set));
    *set = call->set;
    return nl_element_set_begin(call->set, value_count_max);
}

nl_status nl_map_raise_duplicate(const nl_list_call *call, const nl_vector *keys, uint32_t row)
{
    nl_text_options options = {.style = NL_TEXT_CAST, .zone = call->eval->confs->zone};
    nl_builder text;
    nl_builder_init(&text, NL_ERROR_MESSAGE_BYTES_MAX);
    nl_vector_append_text(keys, row, &options, &text);
    nl_status status = NL_RAISE(DUPLICATED_MAP_KEY, NL_P_STR("key", nl_builder_str(&text)),
                                NL_P("mapKeyDedupPolicy", "\"spark.sql.mapKeyDedupPolicy\""));
    nl_builder_fini(&text);
    return status;
}

nl_status nl_map_check_keys(nl_list_call *call, const nl_vector *keys, uint32_t start, uint32_t count)
{
    nl_element_set *set = NULL;
    if (call->eval->confs->is_last_win) return NULL; /* nl_map_last_wins sees to it */
    if (count <= 8) { /* few: comparing all is quicker than hashing */
        for (uint32_t i = start; i < start + count; i++)
            for (uint32_t j = start; j < i; j++)
                if (nl_vector_row_equal(keys, i, keys, j)) return nl_map_raise_duplicate(call, keys, i);
        return NULL;
    }
    NL_TRY(nl_list_call_set(call, count, &set));
    for (uint32_t i = start; i < start + count; i++) {
        bool is_new = false;
        NL_TRY(nl_element_set_add(set, keys, i, &is_new));
        if (!is_new) return nl_map_raise_duplicate(call, keys, i);
    }
    return NULL;
}

nl_list_view nl_list_of(const nl_vector *vector, uint32_t row)
{
    nl_reader reader;
    nl_reader_init(&reader, vector);
    return ((const nl_list_view *)reader.values)[nl_reader_index(&reader, row)];
}

/* kept[i], latest[i]: where the i-th entry of the smaller maps has its key and its value. */
static nl_status keep_last(nl_element_set *set, const nl_vector *keys, nl_list_view *list, uint32_t *kept, uint32_t *latest, uint32_t *count)
{
    const uint32_t first = *count;
    NL_TRY(nl_element_set_begin(set, list->length));
    for (uint32_t e = list->offset; e < list->offset + list->length; e++) {
        bool is_new = false;
        uint32_t i = *count;
        NL_TRY(nl_element_set_add(set, keys, e, &is_new));
        if (is_new)
            kept[(*count)++] = e;
        else /* rare, and maps are small */
            for (i = first; !nl_vector_row_equal(keys, kept[i], keys, e);) i++;
        latest[i] = e;
    }
    *list = (nl_list_view){.offset = first, .length = *count - first};
    return NULL;
}

nl_status nl_map_last_wins(nl_eval *eval, nl_selection selection, nl_vector *maps)
{
    if (maps->type->id != NL_TYPE_MAP || !eval->confs->is_last_win) return NULL;
    NL_ASSERT(maps->encoding == NL_FLAT);
    const uint32_t entries = maps->children[0].length;
    nl_list_view *lists = nl_vector_values(maps);
    nl_vector children[2] = {{0}, {0}};
    nl_element_set *set = NULL;
    nl_buffer *places = NULL;
    nl_status status = NULL;
    uint32_t count = 0;
    NL_GO(nl_element_set_new(eval->memory, &set));
    NL_GO(nl_buffer_new(eval->memory, nl_size_mul(NL_MAX(entries, 1u), 2 * sizeof(uint32_t)), false, &places));
    uint32_t *const kept = (uint32_t *)(void *)places->data;
    uint32_t *const latest = kept + NL_MAX(entries, 1u);
    for (uint32_t i = 0; i < selection.count; i++) {
        const uint32_t row = nl_selection_row(selection, i);
        if (!nl_vector_is_null(maps, row)) NL_GO(keep_last(set, &maps->children[0], &lists[row], kept, latest, &count));
    }
    if (count == entries) goto done; /* then the lists are where they were */
    NL_GO(nl_vector_take(&maps->children[0], kept, count, eval->memory, &children[0]));
    NL_GO(nl_vector_take(&maps->children[1], latest, count, eval->memory, &children[1]));
    for (uint32_t c = 0; c < 2; c++) nl_vector_set_child(maps, c, &children[c]);
done:
    nl_element_set_free(set);
    nl_buffer_release(places);
    for (uint32_t c = 0; c < 2; c++) nl_vector_fini(&children[c]);
    return status;
}

nl_status nl_list_kernel(NL_KERNEL_PARAMETERS, nl_list_row make_row)
{
    nl_list_call call = {.function = function, .eval = eval, .args = args};
    nl_status status = NULL;
    NL_TRY(nl_column_builder_new(function->result_type, eval->memory, &call.builder));
    uint32_t next = 0;
    for (call.row = 0; call.row < length; call.row++) {
        if (next < selection.count && nl_selection_row(selection, next) == call.row) {
            next++;
            NL_GO(make_row(&call));
        } else {
            NL_GO(nl_column_builder_null(call.builder));
        }
    }
    NL_GO(nl_column_builder_finish(call.builder, out));
    status = nl_map_last_wins(eval, selection, out);
done:
    nl_element_set_free(call.set);
    nl_column_builder_free(call.builder);
    return status;
}
