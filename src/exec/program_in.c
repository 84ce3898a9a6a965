/* exec/program_in.c - IN: a constant list is a hash set; a dictionary is looked up once per value. */
#include "exec/program.h"

const nl_in_set *nl_in_set_new(nl_arena *arena, const nl_expr *const *literals, uint32_t count)
{
    nl_in_set *set = NL_NEW(arena, nl_in_set);
    nl_value *values = NL_NEW_ARRAY(arena, nl_value, count);
    uint32_t slot_count = 8;
    while (slot_count < 2u * count)
        slot_count *= 2;
    set->slot_mask = slot_count - 1;
    set->slots = NL_NEW_ARRAY(arena, uint32_t, slot_count);
    set->hashes = NL_NEW_ARRAY(arena, uint64_t, count);
    set->values = values;
    for (uint32_t i = 0; i < count; i++) {
        const nl_value *value = &literals[i]->value;
        if (value->is_null || value->type->id == NL_TYPE_NULL) {
            set->has_null = true;
            continue;
        }
        uint64_t hash = nl_value_hash(value);
        uint32_t slot = (uint32_t)hash & set->slot_mask;
        bool is_known = false;
        for (; set->slots[slot] && !is_known; slot = (slot + 1) & set->slot_mask)
            is_known = set->hashes[set->slots[slot] - 1] == hash && nl_value_equal(&values[set->slots[slot] - 1], value);
        if (is_known) continue;
        values[set->count] = *value;
        set->hashes[set->count++] = hash;
        set->slots[slot] = set->count;
    }
    return set;
}

/* The value at an index of a flat vector's values, borrowed. */
static nl_value value_at(const nl_type *type, const void *values, uint32_t index)
{
    nl_value value = {.type = type};
    switch (type->physical) {
    case NL_PHYS_BOOL: value.boolean = ((const uint8_t *)values)[index]; break;
    case NL_PHYS_I8: value.integer = ((const int8_t *)values)[index]; break;
    case NL_PHYS_I16: value.integer = ((const int16_t *)values)[index]; break;
    case NL_PHYS_I32: value.integer = ((const int32_t *)values)[index]; break;
    case NL_PHYS_I64:
        if (type->id == NL_TYPE_DECIMAL)
            value.decimal = ((const int64_t *)values)[index];
        else
            value.integer = ((const int64_t *)values)[index];
        break;
    case NL_PHYS_I128: value.decimal = ((const nl_int128 *)values)[index]; break;
    case NL_PHYS_F32: value.real = (double)((const float *)values)[index]; break;
    case NL_PHYS_F64: value.real = ((const double *)values)[index]; break;
    case NL_PHYS_STRING: value.text = nl_view_str(&((const nl_string_view *)values)[index]); break;
    case NL_PHYS_INTERVAL: value.interval = ((const nl_interval *)values)[index]; break;
    case NL_PHYS_NONE:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT: break; /* the compiler makes no set of these */
    }
    return value;
}

static bool contains(const nl_in_set *set, const nl_type *type, const void *values, uint32_t index)
{
    nl_value value = value_at(type, values, index);
    uint64_t hash = nl_value_hash(&value);
    for (uint32_t slot = (uint32_t)hash & set->slot_mask; set->slots[slot]; slot = (slot + 1) & set->slot_mask) {
        uint32_t at = set->slots[slot] - 1;
        if (set->hashes[at] == hash && nl_value_equal(&set->values[at], &value)) return true;
    }
    return false;
}

/* Short lists of integers are compared one by one without branches, which vectorises. */
#define COMPARE_ALL(T)                                                       \
    do {                                                                     \
        const T *from = reader->values;                                      \
        for (uint32_t i = 0; i < set->count; i++) {                          \
            T wanted = (T)set->values[i].integer;                            \
            for (uint32_t row = 0; row < length; row++)                      \
                found[row] |= from[row] == wanted;                           \
        }                                                                    \
    } while (0)

static bool compare_few_integers(const nl_in_set *set, const nl_type *type, const nl_reader *reader, uint32_t length, uint8_t *found)
{
    bool is_flat = !reader->indices && reader->row_mask;
    if (set->count > 8 || !is_flat || type->id == NL_TYPE_DECIMAL) return false;
    if (type->physical == NL_PHYS_I32)
        COMPARE_ALL(int32_t);
    else if (type->physical == NL_PHYS_I64)
        COMPARE_ALL(int64_t);
    else
        return false;
    return true;
}

static void look_up(const nl_in_set *set, const nl_vector *operand, const nl_reader *reader, nl_selection selection, uint8_t *found)
{
    const nl_type *type = operand->type;
    if (compare_few_integers(set, type, reader, operand->length, found)) return;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        if (!nl_reader_is_null(reader, row)) found[row] = contains(set, type, reader->values, nl_reader_index(reader, row));
    }
}

static nl_status look_up_dictionary(const nl_in_set *set, const nl_vector *operand, nl_memory *memory, nl_selection selection, uint8_t *found)
{
    const nl_vector *dictionary = &operand->dictionary->vector;
    nl_buffer *hits = NULL;
    NL_TRY(nl_buffer_new(memory, (size_t)dictionary->length + 1, true, &hits));
    for (uint32_t i = 0; i < dictionary->length; i++)
        hits->data[i] = contains(set, operand->type, dictionary->values, i);
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        found[row] = !nl_vector_is_null(operand, row) && hits->data[operand->indices[row]];
    }
    nl_buffer_release(hits);
    return NULL;
}

nl_status nl_run_in_set(nl_program_state *state, const nl_instruction *instruction, nl_selection selection, nl_vector *out)
{
    const nl_vector *operand = nl_operand(state, instruction, 0);
    const nl_in_set *set = instruction->set;
    if (operand->type->id == NL_TYPE_NULL) return nl_vector_new_null(out, nl_type_boolean(), state->length, state->eval.memory);
    NL_TRY(nl_vector_new_flat(out, nl_type_boolean(), state->length, state->eval.memory));
    uint8_t *found = nl_vector_values(out);
    nl_reader reader;
    nl_reader_init(&reader, operand);
    if (operand->encoding == NL_DICTIONARY && operand->dictionary->vector.length < selection.count)
        NL_TRY(look_up_dictionary(set, operand, state->eval.memory, selection, found));
    else
        look_up(set, operand, &reader, selection, found);
    if (!reader.validity && !set->has_null) return NULL;
    uint8_t *bits = NULL;
    NL_TRY(nl_vector_make_validity(out, state->eval.memory, &bits));
    for (uint32_t row = 0; row < state->length; row++) {
        bool is_null = nl_reader_is_null(&reader, row);
        if (is_null) found[row] = 0;
        if (is_null || (set->has_null && !found[row])) nl_bit_clear(bits, row);
    }
    out->null_count = UINT32_MAX;
    return NULL;
}

nl_status nl_run_in(nl_program_state *state, const nl_instruction *instruction, nl_selection selection, nl_vector *out)
{
    const nl_vector *operand = nl_operand(state, instruction, 0);
    NL_TRY(nl_vector_new_flat(out, nl_type_boolean(), state->length, state->eval.memory));
    uint8_t *found = nl_vector_values(out);
    uint8_t *bits = NULL;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        bool is_unknown = nl_vector_is_null(operand, row);
        for (uint32_t k = 1; k < instruction->operand_count && !found[row] && !nl_vector_is_null(operand, row); k++) {
            const nl_vector *item = nl_operand(state, instruction, k);
            if (nl_vector_is_null(item, row))
                is_unknown = true;
            else
                found[row] = nl_vector_row_equal(operand, row, item, row);
        }
        if (found[row] || !is_unknown) continue;
        if (!bits) NL_TRY(nl_vector_make_validity(out, state->eval.memory, &bits));
        nl_bit_clear(bits, row);
    }
    if (bits) out->null_count = UINT32_MAX;
    return NULL;
}
