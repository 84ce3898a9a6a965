/* exec/sort_entry.h - what is moved around when rows are sorted. */
#pragma once

#include <string.h>

#include "base/pool.h"

/* Before every row's columns. Keys of at most 8 bytes are only in the entry's prefix. */
typedef struct nl_sort_header {
    uint64_t sequence;
    const uint8_t *key; /* all of it; NULL when it is short */
    uint32_t key_length;
    uint32_t partition_length;
} nl_sort_header;

typedef struct nl_sort_entry {
    uint64_t prefix; /* the key's first 8 bytes as a big-endian number, zeros behind a shorter one */
    uint8_t *row;
} nl_sort_entry;

static inline const nl_sort_header *nl_sort_header_of(const nl_sort_entry *entry)
{
    return (const nl_sort_header *)(const void *)entry->row;
}

static inline uint64_t nl_sort_prefix(const uint8_t *key, uint32_t length)
{
    uint64_t prefix = 0;
    memcpy(&prefix, key, length < 8 ? length : 8);
    return __builtin_bswap64(prefix);
}

/* By the key only. Encoded keys are prefix-free, so comparing up to the shorter length is enough. */
static inline int nl_sort_compare_keys(const nl_sort_entry *a, const nl_sort_entry *b)
{
    if (a->prefix != b->prefix) return a->prefix < b->prefix ? -1 : 1;
    const nl_sort_header *x = nl_sort_header_of(a), *y = nl_sort_header_of(b);
    uint32_t length = x->key_length < y->key_length ? x->key_length : y->key_length;
    return length <= 8 ? 0 : memcmp(x->key + 8, y->key + 8, length - 8);
}

/* By key, then by arrival. */
static inline int nl_sort_compare(const nl_sort_entry *a, const nl_sort_entry *b)
{
    int order = nl_sort_compare_keys(a, b);
    if (order) return order;
    uint64_t x = nl_sort_header_of(a)->sequence, y = nl_sort_header_of(b)->sequence;
    return x < y ? -1 : x > y;
}

/* By the partition's part of the key only. */
static inline int nl_sort_compare_partitions(const nl_sort_entry *a, const nl_sort_entry *b)
{
    const nl_sort_header *x = nl_sort_header_of(a), *y = nl_sort_header_of(b);
    uint32_t length = x->partition_length < y->partition_length ? x->partition_length : y->partition_length;
    if (length == 0) return 0;
    uint32_t shift = length >= 8 ? 0 : 64 - 8 * length;
    uint64_t p = a->prefix >> shift, q = b->prefix >> shift;
    if (p != q) return p < q ? -1 : 1;
    return length <= 8 ? 0 : memcmp(x->key + 8, y->key + 8, length - 8);
}

/* Stable: entries that are equal must already be in the wanted order. Fails only for memory. */
/* cancel: or NULL; a sort that it ended leaves the entries in any order. */
NL_MUST_USE nl_status nl_sort_entries(nl_sort_entry *entries, uint64_t count, const nl_cancel *cancel);
