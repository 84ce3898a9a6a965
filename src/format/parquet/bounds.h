/* format/parquet/bounds.h - smallest and greatest value of pages, chunks and files while they are written. Inside the
 * folder only. NaN is never a bound; -0.0 is below 0.0.
 */
#pragma once

#include "base/arena.h"
#include "format/parquet/bytes_out.h"
#include "format/parquet/write_schema.h"

typedef struct nl_bounds_out {
    const nl_write_leaf *leaf;
    bool has_values;
    int64_t min_integer, max_integer;
    double min_real, max_real;
    nl_bytes_out min_bytes, max_bytes; /* NL_ORDER_BYTES and _WIDE */
    uint64_t nan_count;
} nl_bounds_out;

void nl_bounds_init(nl_bounds_out *bounds, const nl_write_leaf *leaf, nl_memory *memory);
void nl_bounds_fini(nl_bounds_out *bounds);
void nl_bounds_clear(nl_bounds_out *bounds);
/* Takes `count` values in their form into account. */
NL_MUST_USE nl_status nl_bounds_add(nl_bounds_out *bounds, const void *values, uint32_t count);
/* One value by its PLAIN bytes (strings without their length). NaN is not counted here. */
NL_MUST_USE nl_status nl_bounds_add_plain(nl_bounds_out *bounds, nl_bytes value);
NL_MUST_USE nl_status nl_bounds_merge(nl_bounds_out *into, const nl_bounds_out *from);

/* PLAIN bytes of a bound for statistics, cut to bytes_max (0: never). room: 16 bytes for numbers. *is_exact: not cut.
 * False: the greatest value cannot be cut to so few bytes. */
bool nl_bounds_min(const nl_bounds_out *bounds, size_t bytes_max, uint8_t room[16], nl_bytes *value, bool *is_exact);
NL_MUST_USE nl_status nl_bounds_max(const nl_bounds_out *bounds, size_t bytes_max, nl_bytes_out *room, nl_bytes *value, bool *is_exact, bool *is_usable);
/* As values of the leaf's type, at full precision. */
nl_value nl_bounds_value(const nl_bounds_out *bounds, bool is_max, nl_arena *arena);
