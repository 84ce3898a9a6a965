/* format/parquet/dictionary_out.c - a hash table over the dictionary page's own bytes: no value is kept twice. */
#include "format/parquet/dictionary_out.h"

#include "base/hash.h"

typedef struct dictionary_slot {
    uint32_t code_plus_one; /* 0: free */
    uint32_t hash;
} dictionary_slot;

#define SLOTS_MIN 1024u

void nl_dictionary_out_init(nl_dictionary_out *dictionary, uint32_t stride, nl_memory *memory)
{
    *dictionary = (nl_dictionary_out){.stride = stride};
    nl_bytes_out_init(&dictionary->plain, memory);
    nl_bytes_out_init(&dictionary->offsets, memory);
    nl_bytes_out_init(&dictionary->slots, memory);
}

void nl_dictionary_out_fini(nl_dictionary_out *dictionary)
{
    nl_bytes_out_fini(&dictionary->plain);
    nl_bytes_out_fini(&dictionary->offsets);
    nl_bytes_out_fini(&dictionary->slots);
    dictionary->count = 0;
    dictionary->mask = 0;
}

static dictionary_slot *slots_of(const nl_dictionary_out *dictionary)
{
    return (dictionary_slot *)(void *)dictionary->slots.data;
}

/* Twice the slots, at most half of which are used. */
static nl_status grow_slots(nl_dictionary_out *dictionary)
{
    const uint32_t old_count = dictionary->mask == 0 ? 0 : dictionary->mask + 1;
    const uint32_t new_count = old_count == 0 ? SLOTS_MIN : old_count * 2;
    nl_bytes_out larger;
    nl_bytes_out_init(&larger, dictionary->slots.memory);
    NL_TRY(nl_bytes_out_reserve(&larger, (size_t)new_count * sizeof(dictionary_slot)));
    memset(larger.data, 0, (size_t)new_count * sizeof(dictionary_slot));
    dictionary_slot *target = (dictionary_slot *)(void *)larger.data;
    const dictionary_slot *source = slots_of(dictionary);
    for (uint32_t i = 0; i < old_count; i++) {
        if (source[i].code_plus_one == 0) continue;
        uint32_t at = source[i].hash & (new_count - 1);
        while (target[at].code_plus_one != 0) at = (at + 1) & (new_count - 1);
        target[at] = source[i];
    }
    nl_bytes_out_fini(&dictionary->slots);
    dictionary->slots = larger;
    dictionary->mask = new_count - 1;
    return NULL;
}

static nl_status add_value(nl_dictionary_out *dictionary, dictionary_slot *slot, uint32_t hash, const void *bytes, uint32_t length)
{
    if (dictionary->stride == 0) {
        NL_TRY(nl_bytes_out_add(&dictionary->plain, &length, sizeof(length)));
        const uint32_t offset = (uint32_t)dictionary->plain.length;
        NL_TRY(nl_bytes_out_add(&dictionary->offsets, &offset, sizeof(offset)));
    }
    NL_TRY(nl_bytes_out_add(&dictionary->plain, bytes, length));
    *slot = (dictionary_slot){.code_plus_one = ++dictionary->count, .hash = hash};
    return NULL;
}

static nl_status code_of(nl_dictionary_out *dictionary, uint32_t hash, const void *bytes, uint32_t length, uint32_t *code)
{
    dictionary_slot *slots = slots_of(dictionary);
    uint32_t at = hash & dictionary->mask;
    while (slots[at].code_plus_one != 0) {
        if (slots[at].hash == hash) {
            const nl_bytes value = nl_dictionary_out_value(dictionary, slots[at].code_plus_one - 1);
            if (value.length == length && (length == 0 || memcmp(value.data, bytes, length) == 0)) {
                *code = slots[at].code_plus_one - 1;
                return NULL;
            }
        }
        at = (at + 1) & dictionary->mask;
    }
    *code = dictionary->count;
    return add_value(dictionary, &slots[at], hash, bytes, length);
}

/* Numbers: the hash is cheap and equal bits are equal values. */
#define NUMBER_CODES(name, type)                                                                                    \
    static nl_status name(nl_dictionary_out *dictionary, const type *values, uint32_t count, uint32_t *codes)       \
    {                                                                                                               \
        for (uint32_t i = 0; i < count; i++) {                                                                      \
            const type value = values[i];                                                                           \
            const uint32_t hash = (uint32_t)nl_hash_u64(value);                                                     \
            const dictionary_slot *slots = slots_of(dictionary);                                                    \
            const type *known = (const type *)(const void *)dictionary->plain.data;                                 \
            const dictionary_slot *slot = &slots[hash & dictionary->mask];                                          \
            if (NL_LIKELY(slot->code_plus_one != 0 && known[slot->code_plus_one - 1] == value)) {                   \
                codes[i] = slot->code_plus_one - 1;                                                                 \
                continue;                                                                                           \
            }                                                                                                       \
            if (dictionary->count * 2u >= dictionary->mask) NL_TRY(grow_slots(dictionary));                         \
            NL_TRY(code_of(dictionary, hash, &value, sizeof(value), &codes[i]));                                    \
        }                                                                                                           \
        return NULL;                                                                                                \
    }
NUMBER_CODES(codes_of_32, uint32_t)
NUMBER_CODES(codes_of_64, uint64_t)

nl_status nl_dictionary_out_codes(nl_dictionary_out *dictionary, const void *values, uint32_t count, uint32_t *codes)
{
    if (dictionary->mask == 0) NL_TRY(grow_slots(dictionary));
    if (dictionary->stride == 4) return codes_of_32(dictionary, values, count, codes);
    if (dictionary->stride == 8) return codes_of_64(dictionary, values, count, codes);
    const nl_string_view *views = values;
    const uint8_t *fixed = values;
    for (uint32_t i = 0; i < count; i++) {
        const void *bytes = dictionary->stride == 0 ? (const void *)nl_view_data(&views[i]) : fixed + (size_t)i * dictionary->stride;
        const uint32_t length = dictionary->stride == 0 ? views[i].length : dictionary->stride;
        if (dictionary->count * 2u >= dictionary->mask) NL_TRY(grow_slots(dictionary));
        NL_TRY(code_of(dictionary, (uint32_t)nl_hash_bytes(bytes, length, 0), bytes, length, &codes[i]));
    }
    return NULL;
}
