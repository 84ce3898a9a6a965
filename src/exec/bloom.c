/* exec/bloom.c - sizing of Bloom filters. */
#include "exec/bloom.h"

nl_status nl_bloom_init(nl_bloom *bloom, uint64_t key_count, nl_memory *memory)
{
    uint64_t word_count = 8;
    while (word_count * 64 < key_count * 12)
        word_count *= 2;
    NL_TRY(nl_buffer_new(memory, word_count * sizeof(uint64_t), true, &bloom->buffer));
    bloom->words = (uint64_t *)(void *)bloom->buffer->data;
    bloom->mask = word_count - 1;
    return NULL;
}

void nl_bloom_fini(nl_bloom *bloom)
{
    nl_buffer_release(bloom->buffer);
    *bloom = (nl_bloom){0};
}
