/* exec/sort_entry.c - radix sort of the 8-byte prefixes, then merge sort of what is still equal.
 *
 * Large inputs are split by their highest differing byte until a part fits the cache; there the remaining differing
 * bytes are sorted from the lowest. Both are stable.
 */
#include "exec/sort_entry.h"

#include <stdlib.h>

#define CACHE_ENTRIES     32768u /* 512 KiB of entries and as much scratch */
#define INSERTION_ENTRIES 24u

static void insertion_sort(nl_sort_entry *entries, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        nl_sort_entry entry = entries[i];
        uint64_t k = i;
        for (; k > 0 && nl_sort_compare_keys(&entries[k - 1], &entry) > 0; k--)
            entries[k] = entries[k - 1];
        entries[k] = entry;
    }
}

static void merge_sort(nl_sort_entry *entries, nl_sort_entry *scratch, uint64_t count, const nl_cancel *cancel)
{
    if (count > CACHE_ENTRIES && nl_cancel_is_set(cancel)) return;
    if (count <= INSERTION_ENTRIES) {
        insertion_sort(entries, count);
        return;
    }
    uint64_t half = count / 2;
    merge_sort(entries, scratch, half, cancel); /* depth: log2(count) */
    merge_sort(entries + half, scratch, count - half, cancel);
    if (nl_sort_compare_keys(&entries[half - 1], &entries[half]) <= 0) return;
    memcpy(scratch, entries, half * sizeof *entries);
    uint64_t left = 0, right = half, to = 0;
    while (left < half && right < count) {
        bool takes_right = nl_sort_compare_keys(&entries[right], &scratch[left]) < 0;
        entries[to++] = takes_right ? entries[right++] : scratch[left++];
    }
    memcpy(entries + to, scratch + left, (half - left) * sizeof *entries);
}

/* Stretches of equal prefixes whose keys go on. */
static void sort_ties(nl_sort_entry *entries, nl_sort_entry *scratch, uint64_t count, const nl_cancel *cancel)
{
    for (uint64_t start = 0, stop; start < count; start = stop) {
        stop = start + 1;
        while (stop < count && entries[stop].prefix == entries[start].prefix)
            stop++;
        if (stop - start > 1 && nl_sort_header_of(&entries[start])->key_length > 8)
            merge_sort(entries + start, scratch, stop - start, cancel);
    }
}

static uint64_t differing_bits(const nl_sort_entry *entries, uint64_t count)
{
    uint64_t bits = 0;
    for (uint64_t i = 1; i < count; i++)
        bits |= entries[i].prefix ^ entries[0].prefix;
    return bits;
}

static void scatter_by_byte(const nl_sort_entry *from, nl_sort_entry *to, uint64_t count, uint32_t shift, uint64_t *starts)
{
    uint64_t counts[256] = {0};
    for (uint64_t i = 0; i < count; i++)
        counts[from[i].prefix >> shift & 255]++;
    uint64_t at = 0;
    for (uint32_t byte = 0; byte < 256; byte++) {
        starts[byte] = at;
        at += counts[byte];
        counts[byte] = starts[byte];
    }
    starts[256] = at;
    for (uint64_t i = 0; i < count; i++)
        to[counts[from[i].prefix >> shift & 255]++] = from[i];
}

static void sort_in_cache(nl_sort_entry *entries, nl_sort_entry *scratch, uint64_t count, uint64_t bits)
{
    nl_sort_entry *from = entries, *to = scratch;
    uint64_t starts[257];
    for (uint32_t shift = 0; shift < 64; shift += 8) {
        if (!(bits >> shift & 255)) continue;
        scatter_by_byte(from, to, count, shift, starts);
        nl_sort_entry *swap = from;
        from = to;
        to = swap;
    }
    if (from != entries) memcpy(entries, from, count * sizeof *entries);
}

static void sort_part(nl_sort_entry *entries, nl_sort_entry *scratch, uint64_t count, const nl_cancel *cancel)
{
    if (count > CACHE_ENTRIES && nl_cancel_is_set(cancel)) return;
    if (count <= INSERTION_ENTRIES * 4) {
        merge_sort(entries, scratch, count, cancel);
        return;
    }
    uint64_t bits = differing_bits(entries, count);
    if (bits && count <= CACHE_ENTRIES) {
        sort_in_cache(entries, scratch, count, bits);
    } else if (bits) {
        uint32_t shift = (63 - (uint32_t)__builtin_clzll(bits)) / 8 * 8;
        uint64_t starts[257];
        scatter_by_byte(entries, scratch, count, shift, starts);
        memcpy(entries, scratch, count * sizeof *entries);
        for (uint32_t byte = 0; byte < 256; byte++) /* at most eight levels deep */
            if (starts[byte + 1] > starts[byte]) sort_part(entries + starts[byte], scratch, starts[byte + 1] - starts[byte], cancel);
        return; /* the parts have looked at their ties */
    }
    sort_ties(entries, scratch, count, cancel);
}

nl_status nl_sort_entries(nl_sort_entry *entries, uint64_t count, const nl_cancel *cancel)
{
    if (count < 2) return NULL;
    nl_sort_entry *scratch = malloc(count * sizeof *scratch);
    if (!scratch) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)(count * sizeof *scratch)), NL_P_INT("receivedBytes", 0));
    sort_part(entries, scratch, count, cancel);
    free(scratch);
    return nl_cancel_check(cancel);
}
