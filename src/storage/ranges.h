/* storage/ranges.h - reading many ranges with few requests; for implementations of file systems. */
#pragma once

#include "storage/filesystem.h"

/* Ranges that belong to one request, as it covers them. */
typedef struct nl_range_group {
    uint64_t offset;
    uint64_t length;
    uint32_t first; /* into the order: members are order[first] … order[first + count - 1] */
    uint32_t count;
} nl_range_group;

/* Puts ranges whose gaps are below NL_COALESCE_GAP_BYTES together, up to NL_COALESCE_BYTES_MAX. order and groups have
 * range_count entries and are filled in; returns the number of groups. */
uint32_t nl_ranges_group(const nl_range *ranges, uint32_t range_count, uint32_t *order, nl_range_group *groups);

/* Cuts a group's bytes (taken) into its ranges' buffers. On failure buffers[] of the group hold nothing. */
NL_MUST_USE nl_status nl_ranges_cut(nl_buffer *bytes, const nl_range_group *group, const nl_range *ranges,
                                    const uint32_t *order, nl_buffer **buffers);

/* The plain way: one read after another. Ranges lie within the file. */
NL_MUST_USE nl_status nl_file_read_coalesced(nl_file *file, const nl_range *ranges, uint32_t range_count,
                                             nl_memory *memory, nl_buffer **buffers);
