/* exec/program_choose.c - CASE, COALESCE and struct fields: results put together from several vectors. */
#include "exec/program.h"

/* Which part gives each row its value; part 255 and above do not fit a byte, so they are 32 bits. */
typedef struct chooser {
    const nl_vector **parts;
    uint32_t part_count;
    uint32_t *choice; /* length entries: part + 1, or 0 for null */
    uint32_t length;
} chooser;

/* Flat parts and constants are read for every row and kept or not, which vectorises; a dictionary's rows only where they
 * are wanted, for the others may not have been computed. */
#define COPY_CHOSEN(T)                                                                                 \
    do {                                                                                               \
        T *restrict to = nl_vector_values(out);                                                        \
        const T *restrict from = reader.values;                                                        \
        const uint32_t *restrict choice = c->choice;                                                   \
        if (reader.indices) {                                                                          \
            for (uint32_t row = 0; row < c->length; row++)                                             \
                if (choice[row] == part + 1) to[row] = from[reader.indices[row]];                      \
        } else if (reader.row_mask) {                                                                  \
            for (uint32_t row = 0; row < c->length; row++) to[row] = choice[row] == part + 1 ? from[row] : to[row]; \
        } else {                                                                                       \
            const T constant = from[0];                                                                \
            for (uint32_t row = 0; row < c->length; row++) to[row] = choice[row] == part + 1 ? constant : to[row]; \
        }                                                                                              \
    } while (0)

typedef struct bytes16 {
    uint64_t low, high;
} bytes16;

/* Which of the eight rows from `from` on take their value from the part; UINT32_MAX: from none. */
static inline uint8_t chosen_bits(const chooser *c, uint32_t part, uint32_t from)
{
    uint32_t bits = 0;
    const uint32_t count = NL_MIN(8u, c->length - from);
    for (uint32_t i = 0; i < count; i++)
        bits |= (uint32_t)(c->choice[from + i] == part + 1) << i;
    return (uint8_t)bits;
}

static nl_status copy_nulls(const chooser *c, uint32_t part, const uint8_t *validity, nl_memory *memory, nl_vector *out)
{
    uint8_t *bits = NULL;
    NL_TRY(nl_vector_make_validity(out, memory, &bits));
    for (uint32_t row = 0; row < c->length; row += 8)
        if (validity[row / 8] != UINT8_MAX) bits[row / 8] &= (uint8_t)~(chosen_bits(c, part, row) & ~validity[row / 8]);
    out->null_count = UINT32_MAX;
    return NULL;
}

/* Is it null in every row? */
static bool is_null_part(const nl_vector *part)
{
    return part->type->id == NL_TYPE_NULL || (part->encoding == NL_CONSTANT && nl_vector_is_null(part, 0));
}

static nl_status copy_part(const chooser *c, uint32_t part, nl_memory *memory, nl_vector *out)
{
    const nl_vector *source = c->parts[part];
    if (is_null_part(source)) return NULL;
    nl_reader reader;
    nl_reader_init(&reader, source);
    switch (nl_physical_size(out->type->physical)) {
    case 1: COPY_CHOSEN(uint8_t); break;
    case 2: COPY_CHOSEN(uint16_t); break;
    case 4: COPY_CHOSEN(uint32_t); break;
    case 8: COPY_CHOSEN(uint64_t); break;
    case 16: COPY_CHOSEN(bytes16); break;
    default: return NL_RAISE(INTERNAL_ERROR, NL_P("message", "unknown width in CASE"));
    }
    const nl_vector *strings = source->encoding == NL_DICTIONARY ? &source->dictionary->vector : source;
    if (out->type->physical == NL_PHYS_STRING && strings->heap) {
        nl_heap *heap = NULL;
        NL_TRY(nl_vector_make_heap(out, memory, &heap));
        NL_TRY(nl_heap_keep(heap, strings->heap));
    } else if (out->type->physical == NL_PHYS_STRING && strings->values_buffer) {
        nl_heap *heap = NULL;
        NL_TRY(nl_vector_make_heap(out, memory, &heap));
        NL_TRY(nl_heap_keep_buffer(heap, strings->values_buffer));
    }
    return reader.validity && source->encoding != NL_CONSTANT ? copy_nulls(c, part, reader.validity, memory, out) : NULL;
}

/* Nested values: all parts one after the other (a null row last), then the chosen rows of that. */
static nl_status choose_nested(const chooser *c, const bool *is_used, const nl_type *type, nl_memory *memory, nl_vector *out)
{
    nl_vector joined = {0};
    nl_vector nulls = {0};
    nl_buffer *rows_buffer = NULL;
    nl_list parts = {0};
    nl_arena *arena = nl_arena_new(memory);
    nl_status status = NULL;
    NL_GO(nl_vector_new_null(&nulls, type, 1, memory));
    uint32_t *starts = NL_NEW_ARRAY(arena, uint32_t, c->part_count + 1u);
    uint32_t total = 0;
    for (uint32_t i = 0; i < c->part_count; i++) {
        starts[i] = total;
        if (!is_used[i] || c->parts[i]->type->id == NL_TYPE_NULL) continue; /* conditions are parts, too */
        nl_list_add(arena, &parts, NL_UNCONST(c->parts[i]));
        total += c->parts[i]->length;
    }
    nl_list_add(arena, &parts, &nulls);
    NL_GO(nl_vector_concat((const nl_vector *const *)(void *)parts.items, parts.count, memory, &joined));
    NL_GO(nl_buffer_new(memory, sizeof(uint32_t) * ((size_t)c->length + 1), false, &rows_buffer));
    uint32_t *rows = (uint32_t *)(void *)rows_buffer->data;
    for (uint32_t row = 0; row < c->length; row++) {
        uint32_t part = c->choice[row];
        bool is_null = part == 0 || c->parts[part - 1]->type->id == NL_TYPE_NULL;
        rows[row] = is_null ? total : starts[part - 1] + row;
    }
    NL_GO(nl_vector_take(&joined, rows, c->length, memory, out));
done:
    nl_vector_fini(&joined);
    nl_vector_fini(&nulls);
    nl_buffer_release(rows_buffer);
    nl_arena_free(arena);
    return status;
}

/* Rows that no part gives a value, and those of parts that are null throughout. */
static nl_status choose_nulls(const chooser *c, const bool *is_used, nl_memory *memory, nl_vector *out)
{
    uint32_t without = 0;
    bool has_null_part = false;
    for (uint32_t row = 0; row < c->length; row++)
        without |= c->choice[row] == 0;
    for (uint32_t part = 0; part < c->part_count; part++)
        has_null_part = has_null_part || (is_used[part] && is_null_part(c->parts[part]));
    if (!without && !has_null_part) return NULL;
    uint8_t *bits = NULL;
    NL_TRY(nl_vector_make_validity(out, memory, &bits));
    for (uint32_t row = 0; row < c->length; row += 8)
        bits[row / 8] &= (uint8_t)~chosen_bits(c, UINT32_MAX, row);
    for (uint32_t part = 0; part < c->part_count; part++)
        for (uint32_t row = 0; row < c->length && is_used[part] && is_null_part(c->parts[part]); row += 8)
            bits[row / 8] &= (uint8_t)~chosen_bits(c, part, row);
    out->null_count = UINT32_MAX;
    return NULL;
}

static nl_status choose(const chooser *c, const bool *is_used, const nl_type *type, nl_memory *memory, nl_vector *out)
{
    if (type->id == NL_TYPE_NULL) return nl_vector_new_null(out, type, c->length, memory);
    if (type->physical == NL_PHYS_LIST || type->physical == NL_PHYS_STRUCT) return choose_nested(c, is_used, type, memory, out);
    NL_TRY(nl_vector_new_flat(out, type, c->length, memory));
    NL_TRY(choose_nulls(c, is_used, memory, out));
    for (uint32_t part = 0; part < c->part_count; part++)
        if (is_used[part]) NL_TRY(copy_part(c, part, memory, out));
    return NULL;
}

typedef struct branch_run {
    nl_program_state *state;
    const nl_instruction *instruction;
    chooser chooser;
    bool *is_used;
    uint32_t *open; /* rows without a value yet */
    uint32_t open_count;
    uint32_t *hits;
    nl_arena *arena;
} branch_run;

static void begin_branches(branch_run *run, nl_program_state *state, const nl_instruction *instruction, nl_selection selection)
{
    *run = (branch_run){.state = state, .instruction = instruction, .arena = nl_arena_new(state->eval.memory)};
    uint32_t count = instruction->operand_count;
    run->chooser = (chooser){.parts = NL_NEW_ARRAY(run->arena, const nl_vector *, count), .part_count = count,
                             .choice = NL_NEW_ARRAY(run->arena, uint32_t, state->length + 1u), .length = state->length};
    for (uint32_t i = 0; i < count; i++)
        run->chooser.parts[i] = nl_operand(state, instruction, i);
    run->is_used = NL_NEW_ARRAY(run->arena, bool, count);
    run->open = NL_NEW_ARRAY(run->arena, uint32_t, selection.count + 1u);
    run->hits = NL_NEW_ARRAY(run->arena, uint32_t, selection.count + 1u);
    run->open_count = selection.count;
    for (uint32_t i = 0; i < selection.count; i++)
        run->open[i] = nl_selection_row(selection, i);
}

static nl_status run_guard(branch_run *run, uint32_t operand, const uint32_t *rows, uint32_t count)
{
    nl_block *const *guards = run->instruction->guards;
    if (!guards || !guards[operand]) return NULL;
    return nl_block_run(run->state, guards[operand], (nl_selection){rows, count});
}

static nl_status give(branch_run *run, uint32_t operand, const uint32_t *rows, uint32_t count)
{
    if (count == 0) return NULL;
    NL_TRY(run_guard(run, operand, rows, count));
    run->is_used[operand] = true;
    for (uint32_t i = 0; i < count; i++)
        run->chooser.choice[rows[i]] = operand + 1;
    return NULL;
}

static nl_status run_case(branch_run *run)
{
    uint32_t count = run->instruction->operand_count;
    uint32_t i = 0;
    for (; i + 1 < count && run->open_count > 0; i += 2) {
        NL_TRY(run_guard(run, i, run->open, run->open_count));
        uint32_t hit_count = nl_select_true(run->chooser.parts[i], (nl_selection){run->open, run->open_count}, run->hits);
        NL_TRY(give(run, i + 1, run->hits, hit_count));
        uint32_t left = 0;
        for (uint32_t k = 0; k < run->open_count; k++) {
            uint32_t row = run->open[k];
            run->open[left] = row;
            left += run->chooser.choice[row] == 0;
        }
        run->open_count = left;
    }
    return i + 1 == count ? give(run, i, run->open, run->open_count) : NULL;
}

static nl_status run_coalesce(branch_run *run)
{
    for (uint32_t i = 0; i < run->instruction->operand_count && run->open_count > 0; i++) {
        NL_TRY(run_guard(run, i, run->open, run->open_count));
        const nl_vector *part = run->chooser.parts[i];
        uint32_t left = 0;
        for (uint32_t k = 0; k < run->open_count; k++) {
            uint32_t row = run->open[k];
            bool is_null = nl_vector_is_null(part, row);
            if (!is_null) run->chooser.choice[row] = i + 1;
            run->is_used[i] = run->is_used[i] || !is_null;
            run->open[left] = row;
            left += is_null;
        }
        run->open_count = left;
    }
    return NULL;
}

static nl_status run_branches(nl_program_state *state, const nl_instruction *instruction, nl_selection selection,
                              nl_status (*decide)(branch_run *run), nl_vector *out)
{
    branch_run run;
    begin_branches(&run, state, instruction, selection);
    nl_status status = nl_arena_check(run.arena);
    if (!status) status = decide(&run);
    if (!status) status = choose(&run.chooser, run.is_used, instruction->type, state->eval.memory, out);
    nl_arena_free(run.arena);
    return status;
}

nl_status nl_run_case(nl_program_state *state, const nl_instruction *instruction, nl_selection selection, nl_vector *out)
{
    return run_branches(state, instruction, selection, run_case, out);
}

nl_status nl_run_coalesce(nl_program_state *state, const nl_instruction *instruction, nl_selection selection, nl_vector *out)
{
    return run_branches(state, instruction, selection, run_coalesce, out);
}

static nl_status and_validity(nl_vector *out, const nl_vector *parent, nl_memory *memory)
{
    nl_vector flat = {0};
    if (out->encoding == NL_CONSTANT) {
        NL_TRY(nl_vector_flatten(out, false, memory, &flat));
        nl_vector_fini(out);
        nl_vector_move(&flat, out);
    }
    nl_buffer *buffer = NULL;
    size_t size = ((size_t)out->length + 7) / 8;
    NL_TRY(nl_buffer_new(memory, size, false, &buffer));
    for (size_t i = 0; i < size; i++)
        buffer->data[i] = out->validity ? (uint8_t)(parent->validity[i] & out->validity[i]) : parent->validity[i];
    nl_buffer_release(out->validity_buffer);
    out->validity_buffer = buffer;
    out->validity = buffer->data;
    out->null_count = UINT32_MAX;
    return NULL;
}

nl_status nl_run_field(nl_program_state *state, const nl_instruction *instruction, nl_vector *out)
{
    const nl_vector *source = nl_operand(state, instruction, 0);
    if (source->type->id == NL_TYPE_NULL) return nl_vector_new_null(out, instruction->type, state->length, state->eval.memory);
    if (source->encoding == NL_CONSTANT) {
        if (nl_vector_is_null(source, 0)) return nl_vector_new_null(out, instruction->type, state->length, state->eval.memory);
        nl_arena *arena = nl_arena_new(state->eval.memory);
        nl_value value = nl_vector_value(&source->children[instruction->slot], 0, arena);
        value.type = instruction->type;
        nl_status status = nl_arena_check(arena);
        if (!status) status = nl_vector_new_constant(out, &value, state->length, state->eval.memory);
        nl_arena_free(arena);
        return status;
    }
    nl_vector flat = {0};
    if (source->encoding == NL_DICTIONARY) {
        NL_TRY(nl_vector_flatten(source, false, state->eval.memory, &flat));
        source = &flat;
    }
    NL_ASSERT(instruction->slot < source->child_count);
    nl_vector_ref(&source->children[instruction->slot], out);
    nl_status status = source->validity ? and_validity(out, source, state->eval.memory) : NULL;
    nl_vector_fini(&flat);
    return status;
}
