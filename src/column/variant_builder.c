/* column/variant_builder.c - writing variants; see variant_builder.h.
 *
 * Values are appended one after the other; when an object or array ends, its header (whose size depends on what is
 * inside) is put before its parts. A level's parts are bytes already written, so each byte moves once per level.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "column/variant_builder.h"

struct nl_variant_level {
    bool is_object;
    uint32_t first_part;
    size_t start; /* of its first part in value */
    uint32_t name_id; /* of the value that comes next */
};

struct nl_variant_part {
    uint32_t name_id;
    uint32_t offset; /* from the level's start */
};

void nl_variant_builder_init(nl_variant_builder *builder)
{
    *builder = (nl_variant_builder){0};
    /* Twice the limit: headers of large objects are written before the size is judged. */
    nl_builder_init(&builder->value, 2 * (size_t)NL_VARIANT_BYTES_MAX);
    nl_builder_init(&builder->metadata, 2 * (size_t)NL_VARIANT_BYTES_MAX);
    nl_builder_init(&builder->name_bytes, NL_VARIANT_BYTES_MAX);
    nl_builder_init(&builder->name_ends, NL_VARIANT_BYTES_MAX);
}

void nl_variant_builder_fini(nl_variant_builder *builder)
{
    nl_builder_fini(&builder->value);
    nl_builder_fini(&builder->metadata);
    nl_builder_fini(&builder->name_bytes);
    nl_builder_fini(&builder->name_ends);
    free(builder->name_slots);
    free(builder->levels);
    free(builder->parts);
}

void nl_variant_builder_reset(nl_variant_builder *builder)
{
    nl_builder_clear(&builder->value);
    nl_builder_clear(&builder->metadata);
    nl_builder_clear(&builder->name_bytes);
    nl_builder_clear(&builder->name_ends);
    if (builder->name_count) memset(builder->name_slots, 0, builder->slot_count * sizeof *builder->name_slots);
    builder->name_count = builder->depth = builder->part_count = 0;
    builder->has_failed = false;
}

static void append_number(nl_builder *out, uint64_t value, uint32_t size)
{
    char bytes[8];
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (char)(value >> (8 * i));
    nl_append(out, (nl_str){bytes, size});
}

static bool grow(void **array, uint32_t *capacity, uint32_t count, size_t size)
{
    if (count < *capacity) return true;
    uint32_t larger = *capacity ? *capacity * 2 : 16;
    void *made = realloc(*array, larger * size);
    if (!made) return false;
    *array = made;
    *capacity = larger;
    return true;
}

/* A value starts here: it is the next part of the innermost level. */
static void start_value(nl_variant_builder *builder)
{
    if (builder->depth == 0) return;
    if (!grow((void **)&builder->parts, &builder->part_capacity, builder->part_count, sizeof *builder->parts)) {
        builder->has_failed = true;
        return;
    }
    const nl_variant_level *level = &builder->levels[builder->depth - 1];
    builder->parts[builder->part_count++] = (nl_variant_part){
        .name_id = level->name_id, .offset = (uint32_t)(builder->value.length - level->start)};
}

static void append_primitive(nl_variant_builder *builder, uint32_t type, uint64_t value, uint32_t size)
{
    start_value(builder);
    nl_append_char(&builder->value, (char)(type << 2));
    append_number(&builder->value, value, size);
}

void nl_variant_null_value(nl_variant_builder *builder)
{
    append_primitive(builder, 0, 0, 0);
}

void nl_variant_boolean_value(nl_variant_builder *builder, bool value)
{
    append_primitive(builder, value ? 1 : 2, 0, 0);
}

void nl_variant_integer_value(nl_variant_builder *builder, int64_t value)
{
    if (value == (int8_t)value)
        append_primitive(builder, 3, (uint64_t)value, 1);
    else if (value == (int16_t)value)
        append_primitive(builder, 4, (uint64_t)value, 2);
    else if (value == (int32_t)value)
        append_primitive(builder, 5, (uint64_t)value, 4);
    else
        append_primitive(builder, 6, (uint64_t)value, 8);
}

void nl_variant_double_value(nl_variant_builder *builder, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    append_primitive(builder, 7, bits, 8);
}

void nl_variant_float_value(nl_variant_builder *builder, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    append_primitive(builder, 14, bits, 4);
}

void nl_variant_decimal_value(nl_variant_builder *builder, nl_int128 unscaled, uint8_t scale)
{
    int digits = NL_MAX(nl_decimal_digits(unscaled), (int)scale);
    start_value(builder);
    nl_append_char(&builder->value, (char)((digits <= 9 ? 8 : digits <= 18 ? 9 : 10) << 2));
    nl_append_char(&builder->value, (char)scale);
    append_number(&builder->value, (uint64_t)unscaled, digits <= 9 ? 4 : 8);
    if (digits > 18) append_number(&builder->value, (uint64_t)(unscaled >> 64), 8);
}

void nl_variant_date_value(nl_variant_builder *builder, int32_t days)
{
    append_primitive(builder, 11, (uint32_t)days, 4);
}

void nl_variant_timestamp_value(nl_variant_builder *builder, int64_t micros, bool is_ntz)
{
    append_primitive(builder, is_ntz ? 13 : 12, (uint64_t)micros, 8);
}

void nl_variant_binary_value(nl_variant_builder *builder, nl_str bytes)
{
    append_primitive(builder, 15, bytes.length, 4);
    nl_append(&builder->value, bytes);
}

void nl_variant_string_value(nl_variant_builder *builder, nl_str text)
{
    if (text.length < 64) {
        start_value(builder);
        nl_append_char(&builder->value, (char)(1 | text.length << 2));
    } else {
        append_primitive(builder, 16, text.length, 4);
    }
    nl_append(&builder->value, text);
}

static uint32_t name_end(const nl_variant_builder *builder, uint32_t id)
{
    uint32_t end;
    memcpy(&end, builder->name_ends.data + (size_t)id * sizeof end, sizeof end);
    return end;
}

static nl_str name_of(const nl_variant_builder *builder, uint32_t id)
{
    uint32_t start = id ? name_end(builder, id - 1) : 0;
    return nl_str_slice(nl_builder_str(&builder->name_bytes), start, name_end(builder, id));
}

static uint32_t *find_slot(const nl_variant_builder *builder, uint32_t *slots, uint32_t slot_count, nl_str name)
{
    uint32_t i = (uint32_t)nl_hash_bytes(name.data, name.length, 0) & (slot_count - 1);
    while (slots[i] && !nl_str_equal(name_of(builder, slots[i] - 1), name))
        i = (i + 1) & (slot_count - 1);
    return &slots[i];
}

static bool make_room_for_name(nl_variant_builder *builder)
{
    if (builder->name_count * 2 < builder->slot_count) return true;
    uint32_t slot_count = builder->slot_count ? builder->slot_count * 2 : 32;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots) return false;
    for (uint32_t id = 0; id < builder->name_count; id++)
        *find_slot(builder, slots, slot_count, name_of(builder, id)) = id + 1;
    free(builder->name_slots);
    builder->name_slots = slots;
    builder->slot_count = slot_count;
    return true;
}

void nl_variant_name(nl_variant_builder *builder, nl_str name)
{
    NL_ASSERT(builder->depth > 0 && builder->levels[builder->depth - 1].is_object);
    if (!make_room_for_name(builder)) {
        builder->has_failed = true;
        return;
    }
    uint32_t *slot = find_slot(builder, builder->name_slots, builder->slot_count, name);
    if (*slot == 0) {
        nl_append(&builder->name_bytes, name);
        uint32_t end = (uint32_t)builder->name_bytes.length;
        nl_append(&builder->name_ends, (nl_str){(const char *)&end, sizeof end});
        if (nl_builder_failed(&builder->name_bytes) || nl_builder_failed(&builder->name_ends)) return;
        *slot = ++builder->name_count;
    }
    builder->levels[builder->depth - 1].name_id = *slot - 1;
}

void nl_variant_begin(nl_variant_builder *builder, bool is_object)
{
    start_value(builder);
    if (!grow((void **)&builder->levels, &builder->depth_capacity, builder->depth, sizeof *builder->levels)) {
        builder->has_failed = true;
        return;
    }
    builder->levels[builder->depth++] = (nl_variant_level){
        .is_object = is_object, .first_part = builder->part_count, .start = builder->value.length};
}

static uint32_t size_of_number(uint64_t value)
{
    return value < 1u << 8 ? 1 : value < 1u << 16 ? 2 : value < 1u << 24 ? 3 : 4;
}


static int compare_parts(const void *a, const void *b, void *context)
{
    const nl_variant_builder *builder = context;
    return nl_str_compare(name_of(builder, ((const nl_variant_part *)a)->name_id),
                          name_of(builder, ((const nl_variant_part *)b)->name_id));
}

static nl_status order_fields(nl_variant_builder *builder, nl_variant_part *parts, uint32_t count)
{
    if (count > 1) qsort_r(parts, count, sizeof *parts, compare_parts, builder);
    for (uint32_t i = 1; i < count; i++) {
        if (parts[i].name_id == parts[i - 1].name_id)
            return NL_RAISE(VARIANT_DUPLICATE_KEY, NL_P_STR("key", name_of(builder, parts[i].name_id)));
    }
    return NULL;
}

static void write_header(const nl_variant_level *level, const nl_variant_part *parts,
                         uint32_t count, uint32_t data_size, nl_builder *header)
{
    bool is_large = count > UINT8_MAX;
    uint32_t offset_size = size_of_number(data_size);
    uint32_t id_max = 0;
    for (uint32_t i = 0; i < count; i++)
        id_max = NL_MAX(id_max, parts[i].name_id);
    uint32_t id_size = size_of_number(id_max);
    uint32_t bits = level->is_object ? (uint32_t)is_large << 4 | (id_size - 1) << 2 | (offset_size - 1)
                                     : (uint32_t)is_large << 2 | (offset_size - 1);
    nl_append_char(header, (char)(bits << 2 | (level->is_object ? 2 : 3)));
    append_number(header, count, is_large ? 4 : 1);
    for (uint32_t i = 0; level->is_object && i < count; i++)
        append_number(header, parts[i].name_id, id_size);
    for (uint32_t i = 0; i < count; i++)
        append_number(header, parts[i].offset, offset_size);
    append_number(header, data_size, offset_size);
}

nl_status nl_variant_end(nl_variant_builder *builder)
{
    if (builder->has_failed) return NULL; /* told by finish */
    NL_ASSERT(builder->depth > 0);
    nl_variant_level level = builder->levels[--builder->depth];
    nl_variant_part *parts = builder->parts ? builder->parts + level.first_part : NULL;
    uint32_t count = builder->part_count - level.first_part;
    size_t data_size = builder->value.length - level.start;
    if (level.is_object) NL_TRY(order_fields(builder, parts, count));
    nl_builder header;
    nl_builder_init(&header, NL_VARIANT_BYTES_MAX);
    write_header(&level, parts, count, (uint32_t)data_size, &header);
    builder->part_count = level.first_part;
    nl_append_fill(&builder->value, '\0', header.length);
    if (nl_builder_failed(&header) || nl_builder_failed(&builder->value)) {
        builder->value.has_failed = true;
    } else {
        char *at = builder->value.data + level.start;
        memmove(at + header.length, at, data_size);
        memcpy(at, header.data, header.length);
    }
    nl_builder_fini(&header);
    return NULL;
}

static void write_metadata(nl_variant_builder *builder)
{
    uint32_t size = size_of_number(NL_MAX(builder->name_bytes.length, (size_t)builder->name_count));
    nl_append_char(&builder->metadata, (char)(1 | (size - 1) << 6));
    append_number(&builder->metadata, builder->name_count, size);
    append_number(&builder->metadata, 0, size);
    for (uint32_t id = 0; id < builder->name_count; id++)
        append_number(&builder->metadata, name_end(builder, id), size);
    nl_append(&builder->metadata, nl_builder_str(&builder->name_bytes));
}

nl_status nl_variant_finish(nl_variant_builder *builder, const char *function_name, nl_str *metadata, nl_str *value)
{
    if (builder->has_failed)
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof *builder),
                        NL_P_INT("receivedBytes", 0));
    NL_ASSERT(builder->depth == 0);
    write_metadata(builder);
    bool is_too_large = nl_builder_failed(&builder->value) || nl_builder_failed(&builder->metadata) ||
                        nl_builder_failed(&builder->name_bytes) || builder->value.length > NL_VARIANT_BYTES_MAX ||
                        builder->metadata.length > NL_VARIANT_BYTES_MAX;
    if (is_too_large)
        return NL_RAISE(VARIANT_SIZE_LIMIT, NL_P("sizeLimit", "16.0 MiB"), NL_P("functionName", function_name));
    *metadata = nl_builder_str(&builder->metadata);
    *value = nl_builder_str(&builder->value);
    return NULL;
}
