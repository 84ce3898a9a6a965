/* exec/join_direct.c - build rows found by the key itself: for one integer key whose values are dense.
 *
 * The bitmap that scans are asked with tells which keys exist; the number of bits before a key's own (counted up to each
 * word, and within it) is the key's place in an array of chains. Nothing is hashed and no key is compared: all rows of
 * a chain have the key. The three arrays take 12 bytes per 64 values and 8 per key, less than a hash directory. */
#include "exec/join.h"

#define PREFETCH_WORDS 24u /* ahead of the row being chained */
#define PREFETCH_HEADS 8u

static int64_t key_of(const nl_row_column *column, const uint8_t *row)
{
    const void *value = row + column->offset;
    return column->physical == NL_PHYS_I32 ? *(const int32_t *)value : *(const int64_t *)value;
}

static inline uint64_t place_of(const nl_join_table *table, int64_t key)
{
    return (uint64_t)key - (uint64_t)table->direct->lower;
}

static inline uint32_t rank_of(const nl_join_table *table, uint64_t place)
{
    const uint64_t below = table->direct->words[place >> 6] & ((1ull << (place & 63)) - 1);
    return table->ranks[place >> 6] + (uint32_t)__builtin_popcountll(below);
}

static nl_status make_ranks(const nl_join *join, nl_join_table *table)
{
    const uint64_t word_count = (table->direct->span - 1) / 64 + 1;
    NL_TRY(nl_buffer_new(join->exec->query->memory, word_count * sizeof(uint32_t), false, &table->rank_buffer));
    table->ranks = (uint32_t *)(void *)table->rank_buffer->data;
    uint32_t rank = 0;
    for (uint64_t i = 0; i < word_count; i++) {
        table->ranks[i] = rank;
        rank += (uint32_t)__builtin_popcountll(table->direct->words[i]);
    }
    NL_TRY(nl_buffer_new(join->exec->query->memory, ((size_t)rank + 1) * sizeof(uint8_t *), true, &table->directory));
    table->heads = (uint8_t **)(void *)table->directory->data;
    table->is_unique = rank == table->row_count;
    return NULL;
}

nl_status nl_join_direct_make(nl_join *join, nl_join_table *table, bool *is_made)
{
    int64_t lower = 0;
    int64_t upper = 0;
    *is_made = false;
    if (join->key_count != 1 || join->is_null_safe[0] || table->row_count > UINT32_MAX || !nl_join_key_range(join, 0, &lower, &upper)) return NULL;
    NL_TRY(nl_join_make_bitmap(join, 0, lower, upper));
    if (!join->bitmaps[0].words) return NULL;
    table->direct = &join->bitmaps[0];
    *is_made = true;
    return make_ranks(join, table);
}

void nl_join_direct_chain(const nl_join *join, nl_join_table *table, const nl_row_block *block, uint32_t row_bytes)
{
    const nl_row_column *column = &join->layout.columns[0];
    for (uint32_t i = block->row_count; i > 0; i--) {
        uint8_t *row = block->data + (size_t)(i - 1) * row_bytes;
        /* What a null key's slot holds may lie anywhere: prefetching does not mind, but ranks are looked up in bounds only. */
        if (i > PREFETCH_WORDS) {
            const uint64_t ahead = place_of(table, key_of(column, row - (size_t)PREFETCH_WORDS * row_bytes));
            if (ahead < table->direct->span) __builtin_prefetch(&table->direct->words[ahead >> 6]);
        }
        if (i > PREFETCH_HEADS) {
            const uint64_t ahead = place_of(table, key_of(column, row - (size_t)PREFETCH_HEADS * row_bytes));
            if (ahead < table->direct->span) __builtin_prefetch(&table->heads[rank_of(table, ahead)], 1);
        }
        if (row[column->null_offset]) continue;
        uint8_t **head = &table->heads[rank_of(table, place_of(table, key_of(column, row)))];
        nl_join_header_of(row)->next = *head;
        *head = row;
    }
}

/* The rows whose key exists, and its rank. Written past what is kept, so both have room for every selected row. */
#define FIND(name, T)                                                                                                \
    static uint32_t name(const nl_join_table *table, const nl_reader *reader, nl_selection selection, uint32_t *rows, uint32_t *ranks) \
    {                                                                                                                \
        const T *values = reader->values;                                                                            \
        const uint64_t *words = table->direct->words;                                                                \
        const uint64_t span = table->direct->span;                                                                   \
        uint32_t count = 0;                                                                                          \
        for (uint32_t i = 0; i < selection.count; i++) {                                                             \
            const uint32_t row = nl_selection_row(selection, i);                                                     \
            const uint64_t place = place_of(table, values[nl_reader_index(reader, row)]);                            \
            const uint64_t inside = place < span ? place : 0;                                                        \
            rows[count] = row;                                                                                       \
            ranks[count] = rank_of(table, inside);                                                                   \
            count += (words[inside >> 6] >> (inside & 63) & (place < span)) && !nl_reader_is_null(reader, row);      \
        }                                                                                                            \
        return count;                                                                                                \
    }
FIND(find_i32, int32_t)
FIND(find_i64, int64_t)

uint32_t nl_join_direct_find(const nl_join *join, const nl_join_table *table, const nl_vector *key, nl_selection selection, uint32_t *rows, uint32_t *ranks)
{
    if (key->type->id == NL_TYPE_NULL || (key->encoding == NL_DICTIONARY && key->dictionary->vector.length == 0)) return 0;
    nl_reader reader;
    nl_reader_init(&reader, key);
    if (join->layout.columns[0].physical == NL_PHYS_I32) return find_i32(table, &reader, selection, rows, ranks);
    return find_i64(table, &reader, selection, rows, ranks);
}
