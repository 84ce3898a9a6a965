/* column/flatbuffer.h - as much of FlatBuffers ("FlatBuffers internals") as Arrow's messages need, written front to back and
 * read with every offset checked. Inside the folder. */
#pragma once

#include "base/str.h"

/* ---- reading: a table at a position; nothing outside the bytes is touched, is_bad tells that something lay there ---- */
typedef struct nl_fb {
    const uint8_t *data;
    size_t size;
    bool is_bad;
} nl_fb;

typedef size_t nl_fb_at; /* a position; 0: absent (the root offset lies there) */

nl_fb_at nl_fb_root(nl_fb *fb);
int64_t nl_fb_integer(nl_fb *fb, nl_fb_at table, uint32_t id, uint32_t size, int64_t otherwise); /* size: 1, 2, 4, 8 bytes, signed */
nl_fb_at nl_fb_table(nl_fb *fb, nl_fb_at table, uint32_t id);
nl_str nl_fb_string(nl_fb *fb, nl_fb_at table, uint32_t id); /* data NULL: absent */
/* A vector's first element and count; elements are element_size bytes. */
nl_fb_at nl_fb_vector(nl_fb *fb, nl_fb_at table, uint32_t id, uint32_t element_size, uint32_t *count);
nl_fb_at nl_fb_table_at(nl_fb *fb, nl_fb_at elements, uint32_t i); /* of a vector of tables */
int64_t nl_fb_long_at(nl_fb *fb, nl_fb_at at);                     /* 8 bytes anywhere */

/* ---- writing into a builder whose length was a multiple of 8 at `start` -------------------------------------------- */
typedef struct nl_fb_slot {
    uint8_t id;
    uint8_t size;     /* 1, 2, 4, 8; 4 with is_offset */
    bool is_offset;   /* value is set later by nl_fb_link */
    int64_t value;
    size_t place;     /* out: where it was written */
} nl_fb_slot;

/* A table with these slots, the wide ones first in `slots`; returns its position. */
size_t nl_fb_write_table(nl_builder *out, nl_fb_slot *slots, uint32_t count);
/* The offset at `place` points to `target`, which lies behind it. */
void nl_fb_link(nl_builder *out, size_t place, size_t target);
size_t nl_fb_write_string(nl_builder *out, nl_str text);
/* A vector of `count` offsets, each linked later at the place returned in `first` + 4 * i. */
size_t nl_fb_write_offsets(nl_builder *out, uint32_t count, size_t *first);
/* A vector of structs of longs: `count` elements, `long_count` longs in all. */
size_t nl_fb_write_longs(nl_builder *out, const int64_t *longs, uint32_t count, uint32_t long_count);
