/* exec/source/parts_scan.h - a scan of rows that are there already, in parts: batches in memory, chunks of a spill file. Each part is
 * one piece of work, cut to the engine's size; the scan's filter is applied here. */
#pragma once

#include "exec/scan.h"

typedef struct nl_parts {
    uint32_t count;
    /* The part, shared or read; its columns are those of the table. Any worker. */
    nl_status (*read)(void *owner, uint32_t part, nl_memory *memory, nl_batch *batch);
    void *owner; /* taken by the scan, also on failure */
    void (*release)(void *owner);
} nl_parts;
NL_MUST_USE nl_status nl_parts_scan_new(const nl_parts *parts, nl_query *query, const nl_logical *node, nl_scan **scan);
