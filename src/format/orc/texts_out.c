/* format/orc/texts_out.c - see texts_out.h. An open-addressing table of numbers, at most half full. */
#include "format/orc/texts_out.h"

#include <stdlib.h>

#include "base/hash.h"

typedef struct entry {
    uint64_t start;
    uint32_t length;
    uint32_t hash;
} entry;

struct nl_orc_texts {
    nl_memory *memory;     /* borrowed */
    nl_bytes_out bytes;    /* the texts, one after the other */
    nl_bytes_out entries;  /* entry */
    nl_bytes_out values;   /* uint32_t */
    nl_buffer *slots;      /* uint32_t: number + 1; 0: free */
    uint32_t slot_count;
};

static const entry *entries_of(const nl_orc_texts *texts)
{
    return (const entry *)(const void *)texts->entries.data;
}

nl_status nl_orc_texts_new(nl_memory *memory, nl_orc_texts **texts)
{
    nl_orc_texts *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P_INT("receivedBytes", 0));
    made->memory = memory;
    nl_bytes_out_init(&made->bytes, memory);
    nl_bytes_out_init(&made->entries, memory);
    nl_bytes_out_init(&made->values, memory);
    *texts = made;
    return NULL;
}

void nl_orc_texts_clear(nl_orc_texts *texts)
{
    nl_bytes_out_fini(&texts->bytes);
    nl_bytes_out_fini(&texts->entries);
    nl_bytes_out_fini(&texts->values);
    nl_buffer_release(texts->slots);
    texts->slots = NULL;
    texts->slot_count = 0;
}

void nl_orc_texts_free(nl_orc_texts *texts)
{
    if (!texts) return;
    nl_orc_texts_clear(texts);
    free(texts);
}

static nl_status make_room(nl_orc_texts *texts)
{
    const uint32_t count = nl_orc_texts_count(texts);
    nl_buffer *slots = NULL;
    if (texts->slot_count > 0 && count < texts->slot_count / 2) return NULL;
    const uint32_t slot_count = texts->slot_count ? texts->slot_count * 2 : 256;
    NL_TRY(nl_buffer_new(texts->memory, slot_count * sizeof(uint32_t), true, &slots));
    uint32_t *table = (uint32_t *)(void *)slots->data;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = entries_of(texts)[i].hash & (slot_count - 1);
        while (table[at]) at = (at + 1) & (slot_count - 1);
        table[at] = i + 1;
    }
    nl_buffer_release(texts->slots);
    texts->slots = slots;
    texts->slot_count = slot_count;
    return NULL;
}

nl_status nl_orc_texts_add(nl_orc_texts *texts, nl_str text)
{
    const uint32_t hash = (uint32_t)nl_hash_bytes(text.data, text.length, 0);
    NL_TRY(make_room(texts));
    uint32_t *table = (uint32_t *)(void *)texts->slots->data;
    uint32_t at = hash & (texts->slot_count - 1), number;
    for (;; at = (at + 1) & (texts->slot_count - 1)) {
        if (table[at] == 0) break;
        if (entries_of(texts)[table[at] - 1].hash == hash && nl_str_equal(nl_orc_texts_at(texts, table[at] - 1), text)) break;
    }
    number = table[at] ? table[at] - 1 : nl_orc_texts_count(texts);
    if (table[at] == 0) {
        const entry made = {texts->bytes.length, (uint32_t)text.length, hash};
        NL_TRY(nl_bytes_out_add(&texts->bytes, text.data, text.length));
        NL_TRY(nl_bytes_out_add(&texts->entries, &made, sizeof(made)));
        table[at] = number + 1;
    }
    return nl_bytes_out_add(&texts->values, &number, sizeof(number));
}

uint64_t nl_orc_texts_value_count(const nl_orc_texts *texts)
{
    return texts->values.length / sizeof(uint32_t);
}

uint32_t nl_orc_texts_count(const nl_orc_texts *texts)
{
    return (uint32_t)(texts->entries.length / sizeof(entry));
}

size_t nl_orc_texts_bytes(const nl_orc_texts *texts)
{
    return texts->bytes.length + texts->values.length;
}

nl_str nl_orc_texts_at(const nl_orc_texts *texts, uint32_t number)
{
    const entry *at = &entries_of(texts)[number];
    return (nl_str){(const char *)texts->bytes.data + at->start, at->length};
}

uint32_t nl_orc_texts_value(const nl_orc_texts *texts, uint64_t value)
{
    return ((const uint32_t *)(const void *)texts->values.data)[value];
}

static int compare_numbers(const void *a, const void *b, void *texts)
{
    return nl_str_compare(nl_orc_texts_at(texts, *(const uint32_t *)a), nl_orc_texts_at(texts, *(const uint32_t *)b));
}

nl_status nl_orc_texts_sort(const nl_orc_texts *texts, nl_buffer **order, nl_buffer **places)
{
    const uint32_t count = nl_orc_texts_count(texts);
    nl_buffer *sorted = NULL, *inverse = NULL;
    NL_TRY(nl_buffer_new(texts->memory, count * sizeof(uint32_t), false, &sorted));
    nl_status status = nl_buffer_new(texts->memory, count * sizeof(uint32_t), false, &inverse);
    if (status) {
        nl_buffer_release(sorted);
        return status;
    }
    uint32_t *numbers = (uint32_t *)(void *)sorted->data;
    for (uint32_t i = 0; i < count; i++) numbers[i] = i;
    if (count > 1) qsort_r(numbers, count, sizeof(*numbers), compare_numbers, (void *)(uintptr_t)texts);
    for (uint32_t i = 0; i < count; i++) ((uint32_t *)(void *)inverse->data)[numbers[i]] = i;
    *order = sorted;
    *places = inverse;
    return NULL;
}
