/* column/flatbuffer.c - see flatbuffer.h. */
#include "column/flatbuffer.h"

#include <string.h>

static uint64_t load(nl_fb *fb, size_t at, uint32_t size)
{
    uint64_t value = 0;
    if (at > fb->size || fb->size - at < size)
        fb->is_bad = true;
    else
        memcpy(&value, fb->data + at, size);
    return value;
}

static int64_t load_signed(nl_fb *fb, size_t at, uint32_t size)
{
    const uint32_t shift = 64 - 8 * size;
    return (int64_t)(load(fb, at, size) << shift) >> shift;
}

/* Follows an unsigned offset; it must lead forward, so that no chain of them can go round. */
static nl_fb_at follow(nl_fb *fb, size_t at)
{
    const uint64_t offset = load(fb, at, 4);
    if (fb->is_bad || offset == 0 || offset >= fb->size - at) {
        fb->is_bad = true;
        return 0;
    }
    return at + offset;
}

nl_fb_at nl_fb_root(nl_fb *fb)
{
    return follow(fb, 0);
}

/* Where the field lies; 0: it has its default. */
static nl_fb_at field(nl_fb *fb, nl_fb_at table, uint32_t id)
{
    if (!table) return 0;
    const int64_t vtable = (int64_t)table - load_signed(fb, table, 4);
    if (fb->is_bad || vtable < 0 || (uint64_t)vtable > fb->size) {
        fb->is_bad = true;
        return 0;
    }
    const uint64_t vtable_size = load(fb, (size_t)vtable, 2);
    if (4 + 2 * (uint64_t)id + 2 > vtable_size) return 0;
    const uint64_t offset = load(fb, (size_t)vtable + 4 + 2 * (size_t)id, 2);
    return offset && !fb->is_bad ? table + offset : 0;
}

int64_t nl_fb_integer(nl_fb *fb, nl_fb_at table, uint32_t id, uint32_t size, int64_t otherwise)
{
    const nl_fb_at at = field(fb, table, id);
    return at ? load_signed(fb, at, size) : otherwise;
}

nl_fb_at nl_fb_table(nl_fb *fb, nl_fb_at table, uint32_t id)
{
    const nl_fb_at at = field(fb, table, id);
    return at ? follow(fb, at) : 0;
}

nl_fb_at nl_fb_vector(nl_fb *fb, nl_fb_at table, uint32_t id, uint32_t element_size, uint32_t *count)
{
    *count = 0;
    const nl_fb_at at = nl_fb_table(fb, table, id);
    if (!at) return 0;
    const uint64_t found = load(fb, at, 4);
    if (fb->is_bad || found > (fb->size - at - 4) / element_size) {
        fb->is_bad = true;
        return 0;
    }
    *count = (uint32_t)found;
    return at + 4;
}

nl_str nl_fb_string(nl_fb *fb, nl_fb_at table, uint32_t id)
{
    uint32_t length;
    const nl_fb_at at = nl_fb_vector(fb, table, id, 1, &length);
    return at ? (nl_str){(const char *)fb->data + at, length} : (nl_str){0};
}

nl_fb_at nl_fb_table_at(nl_fb *fb, nl_fb_at elements, uint32_t i)
{
    return follow(fb, elements + 4 * (size_t)i);
}

int64_t nl_fb_long_at(nl_fb *fb, nl_fb_at at)
{
    return load_signed(fb, at, 8);
}

/* ---- writing */

static void store(nl_builder *out, int64_t value, uint32_t size)
{
    nl_append(out, (nl_str){(const char *)&value, size});
}

static void align(nl_builder *out, size_t step, size_t ahead)
{
    nl_append_fill(out, 0, (step - (out->length + ahead) % step) % step);
}

size_t nl_fb_write_table(nl_builder *out, nl_fb_slot *slots, uint32_t count)
{
    enum { ID_MAX = 8 };
    uint16_t offsets[ID_MAX] = {0};
    uint16_t size = 4, id_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        size = (uint16_t)((size + slots[i].size - 1) / slots[i].size * slots[i].size);
        offsets[slots[i].id] = size;
        size = (uint16_t)(size + slots[i].size);
        if (slots[i].id >= id_count) id_count = (uint16_t)(slots[i].id + 1);
    }
    const uint16_t vtable_size = (uint16_t)(4 + 2 * id_count);
    align(out, 8, vtable_size);
    const size_t vtable = out->length;
    store(out, vtable_size, 2);
    store(out, size, 2);
    for (uint32_t i = 0; i < id_count; i++) store(out, offsets[i], 2);
    const size_t table = out->length;
    store(out, (int64_t)(table - vtable), 4);
    for (uint32_t i = 0; i < count; i++) {
        nl_append_fill(out, 0, table + offsets[slots[i].id] - out->length);
        slots[i].place = out->length;
        store(out, slots[i].is_offset ? 0 : slots[i].value, slots[i].size);
    }
    return table;
}

void nl_fb_link(nl_builder *out, size_t place, size_t target)
{
    const uint32_t offset = (uint32_t)(target - place);
    if (!out->has_failed) memcpy(out->data + place, &offset, sizeof(offset));
}

size_t nl_fb_write_string(nl_builder *out, nl_str text)
{
    align(out, 4, 0);
    const size_t at = out->length;
    store(out, (int64_t)text.length, 4);
    nl_append(out, text);
    nl_append_char(out, 0);
    return at;
}

size_t nl_fb_write_offsets(nl_builder *out, uint32_t count, size_t *first)
{
    align(out, 4, 0);
    const size_t at = out->length;
    store(out, count, 4);
    *first = out->length;
    nl_append_fill(out, 0, 4 * (size_t)count);
    return at;
}

size_t nl_fb_write_longs(nl_builder *out, const int64_t *longs, uint32_t count, uint32_t long_count)
{
    align(out, 8, 4);
    const size_t at = out->length;
    store(out, count, 4);
    nl_append(out, (nl_str){(const char *)longs, (size_t)long_count * sizeof(*longs)});
    return at;
}
