/* iceberg/theta_sketch.h - how many different values there are: theta sketches as Apache DataSketches writes them, for
 * Puffin blobs of type apache-datasketches-theta-v1 (Iceberg's Puffin specification).
 *
 * Up to NL_THETA_ENTRIES different values are counted exactly; then the smallest hashes are kept and the count is an
 * estimate. Threads: a sketch belongs to one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define NL_THETA_ENTRIES   4096u /* DataSketches' default */
#define NL_THETA_BYTES_MAX (24u + 8u * NL_THETA_ENTRIES)

typedef struct nl_theta_sketch nl_theta_sketch;

NL_MUST_USE nl_status nl_theta_sketch_new(nl_theta_sketch **sketch); /* owned */
void nl_theta_sketch_free(nl_theta_sketch *sketch);                  /* NULL is fine */
void nl_theta_sketch_add(nl_theta_sketch *sketch, nl_bytes value);   /* no bytes: not counted, as DataSketches does */
/* Compact and ordered; in the arena. */
nl_bytes nl_theta_sketch_encode(nl_theta_sketch *sketch, nl_arena *arena);
int64_t nl_theta_sketch_estimate(nl_theta_sketch *sketch); /* rounded down, as Iceberg's property ndv */
