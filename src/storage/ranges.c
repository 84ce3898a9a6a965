/* storage/ranges.c - coalescing. Ranges are sorted by offset; a group grows while the next range begins within the gap
 * limit and the whole stays below the size limit. Slices of a group's buffer keep that buffer alive.
 */
#include "storage/ranges.h"

#include <stdlib.h>

#include "base/limits.h"

static int compare_ranges(const void *a, const void *b, void *ranges)
{
    const nl_range *x = &((const nl_range *)ranges)[*(const uint32_t *)a];
    const nl_range *y = &((const nl_range *)ranges)[*(const uint32_t *)b];
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->length < y->length ? -1 : x->length > y->length;
}

uint32_t nl_ranges_group(const nl_range *ranges, uint32_t range_count, uint32_t *order, nl_range_group *groups)
{
    for (uint32_t i = 0; i < range_count; i++) order[i] = i;
    qsort_r(order, range_count, sizeof *order, compare_ranges, NL_UNCONST(ranges));
    uint32_t group_count = 0;
    for (uint32_t i = 0; i < range_count; i++) {
        const nl_range *range = &ranges[order[i]];
        uint64_t end = range->offset + range->length;
        nl_range_group *last = group_count > 0 ? &groups[group_count - 1] : NULL;
        uint64_t last_end = last != NULL ? last->offset + last->length : 0;
        bool is_inside = last != NULL && end <= last_end;
        bool is_near = last != NULL && (range->offset <= last_end || range->offset - last_end < NL_COALESCE_GAP_BYTES);
        if (is_inside || (is_near && end - last->offset <= NL_COALESCE_BYTES_MAX)) {
            last->length = NL_MAX(last_end, end) - last->offset;
            last->count++;
        } else {
            groups[group_count++] = (nl_range_group){range->offset, range->length, i, 1};
        }
    }
    return group_count;
}

static void release_slice(nl_buffer *slice)
{
    nl_buffer_release(slice->owner);
}

nl_status nl_ranges_cut(nl_buffer *bytes, const nl_range_group *group, const nl_range *ranges, const uint32_t *order,
                        nl_buffer **buffers)
{
    if (group->count == 1) {
        buffers[order[group->first]] = bytes;
        return NULL;
    }
    nl_status status = NULL;
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t index = order[group->first + i];
        const nl_range *range = &ranges[index];
        nl_buffer *slice = nl_buffer_wrap(bytes->data + (range->offset - group->offset), (size_t)range->length,
                                          release_slice, bytes);
        if (slice == NULL) {
            status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *slice),
                              NL_P_INT("receivedBytes", 0));
            for (uint32_t j = 0; j < i; j++) {
                nl_buffer_release(buffers[order[group->first + j]]);
                buffers[order[group->first + j]] = NULL;
            }
            break;
        }
        nl_buffer_retain(bytes);
        buffers[index] = slice;
    }
    nl_buffer_release(bytes);
    return status;
}

static nl_status read_group(nl_file *file, const nl_range_group *group, nl_memory *memory, nl_buffer **bytes)
{
    nl_buffer *buffer = NULL;
    NL_TRY(nl_buffer_new(memory, (size_t)group->length, false, &buffer));
    nl_status status = nl_file_read(file, group->offset, (size_t)group->length, buffer->data);
    if (status != NULL)
        nl_buffer_release(buffer);
    else
        *bytes = buffer;
    return status;
}

nl_status nl_file_read_coalesced(nl_file *file, const nl_range *ranges, uint32_t range_count, nl_memory *memory,
                                 nl_buffer **buffers)
{
    if (range_count == 0) return NULL;
    nl_status status = NULL;
    uint32_t *order = calloc(range_count, sizeof *order);
    nl_range_group *groups = calloc(range_count, sizeof *groups);
    if (order == NULL || groups == NULL) {
        status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)range_count * 32),
                          NL_P_INT("receivedBytes", 0));
        goto done;
    }
    memset(buffers, 0, range_count * sizeof *buffers);
    uint32_t group_count = nl_ranges_group(ranges, range_count, order, groups);
    for (uint32_t i = 0; i < group_count && status == NULL; i++) {
        nl_buffer *bytes = NULL;
        status = read_group(file, &groups[i], memory, &bytes);
        if (status == NULL) status = nl_ranges_cut(bytes, &groups[i], ranges, order, buffers);
    }
    for (uint32_t i = 0; status != NULL && i < range_count; i++) {
        nl_buffer_release(buffers[i]);
        buffers[i] = NULL;
    }
done:
    free(groups);
    free(order);
    return status;
}
