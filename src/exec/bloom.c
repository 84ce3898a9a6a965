/* exec/bloom.c - sizing of Bloom filters. */
#include "exec/bloom.h"

nl_status nl_bloom_init(nl_bloom *bloom, uint64_t key_count, nl_memory *memory)
{
    uint32_t bits = 4;
    while (64ull << bits < key_count * 12)
        bits++;
    NL_TRY(nl_buffer_new(memory, sizeof(uint64_t) << bits, true, &bloom->buffer));
    bloom->words = (uint64_t *)(void *)bloom->buffer->data;
    bloom->shift = 64 - bits;
    return NULL;
}

void nl_bloom_fini(nl_bloom *bloom)
{
    nl_buffer_release(bloom->buffer);
    *bloom = (nl_bloom){0};
}
