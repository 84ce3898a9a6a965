/* catalog/hive/wire.c - see wire.h. */
#include "catalog/hive/wire.h"

#include <string.h>

#define VERSION_1     0x80010000u
#define VERSION_MASK  0xffff0000u
#define NAME_BYTES_MAX 1024u
#define DEPTH_MAX     64u
#define FIRST_ITEMS   16u /* allocated before any of them has arrived */

/* ---- building --------------------------------------------------------------------------------------------------- */

nl_wire_value nl_wire_struct(void)
{
    return (nl_wire_value){.type = NL_WIRE_STRUCT};
}

nl_wire_value nl_wire_list(nl_wire_type item_type)
{
    return (nl_wire_value){.type = NL_WIRE_LIST, .item_type = (uint8_t)item_type};
}

nl_wire_value nl_wire_text_map(void)
{
    return (nl_wire_value){.type = NL_WIRE_MAP, .key_type = NL_WIRE_STRING, .item_type = NL_WIRE_STRING};
}

/* Room for `count` values in all. */
static void make_room(nl_arena *arena, nl_wire_value *value, uint32_t count)
{
    if (count <= value->capacity) return;
    const uint32_t capacity = NL_MAX(count, NL_MAX(value->capacity * 2, 8u));
    nl_wire_value *items = NL_NEW_ARRAY(arena, nl_wire_value, capacity);
    if (value->capacity > 0) memcpy(items, value->items, value->capacity * sizeof(*items));
    value->items = items;
    value->capacity = capacity;
}

static nl_wire_value text_value(nl_str text)
{
    return (nl_wire_value){.type = NL_WIRE_STRING, .text = text};
}

static nl_wire_value *find_field(const nl_wire_value *object, int16_t field_id)
{
    for (uint32_t i = 0; object && object->type == NL_WIRE_STRUCT && i < object->count; i++)
        if (object->items[i].field_id == field_id) return &object->items[i];
    return NULL;
}

nl_wire_value *nl_wire_set(nl_arena *arena, nl_wire_value *object, int16_t field_id, nl_wire_value value)
{
    NL_ASSERT(object->type == NL_WIRE_STRUCT);
    nl_wire_value *field = find_field(object, field_id);
    if (!field) {
        make_room(arena, object, object->count + 1);
        field = &object->items[object->count++];
    }
    *field = value;
    field->field_id = field_id;
    return field;
}

void nl_wire_set_text(nl_arena *arena, nl_wire_value *object, int16_t field_id, nl_str text)
{
    nl_wire_set(arena, object, field_id, text_value(text));
}

void nl_wire_set_number(nl_arena *arena, nl_wire_value *object, int16_t field_id, nl_wire_type type, int64_t number)
{
    nl_wire_set(arena, object, field_id, (nl_wire_value){.type = (uint8_t)type, .number = number});
}

void nl_wire_unset(nl_wire_value *object, int16_t field_id)
{
    nl_wire_value *field = find_field(object, field_id);
    if (field) *field = object->items[--object->count];
}

void nl_wire_add(nl_arena *arena, nl_wire_value *list, nl_wire_value item)
{
    NL_ASSERT(list->type == NL_WIRE_LIST && item.type == list->item_type);
    make_room(arena, list, list->count + 1);
    list->items[list->count++] = item;
}

void nl_wire_add_text(nl_arena *arena, nl_wire_value *list, nl_str text)
{
    nl_wire_add(arena, list, text_value(text));
}

static nl_wire_value *find_pair(const nl_wire_value *map, nl_str key)
{
    if (!map || map->type != NL_WIRE_MAP || map->key_type != NL_WIRE_STRING || map->item_type != NL_WIRE_STRING) return NULL;
    for (uint32_t i = 0; i < map->count; i++)
        if (nl_str_equal(map->items[2 * i].text, key)) return &map->items[2 * i];
    return NULL;
}

void nl_wire_put(nl_arena *arena, nl_wire_value *map, nl_str key, nl_str value)
{
    NL_ASSERT(map->type == NL_WIRE_MAP);
    nl_wire_value *pair = find_pair(map, key);
    if (!pair) {
        make_room(arena, map, 2 * (map->count + 1));
        pair = &map->items[2 * map->count++];
        pair[0] = text_value(key);
    }
    pair[1] = text_value(value);
}

void nl_wire_remove(nl_wire_value *map, nl_str key)
{
    nl_wire_value *pair = find_pair(map, key);
    if (!pair) return;
    const nl_wire_value *last = &map->items[2 * --map->count];
    pair[0] = last[0];
    pair[1] = last[1];
}

/* ---- reading a tree ---------------------------------------------------------------------------------------------- */

nl_wire_value *nl_wire_field(const nl_wire_value *object, int16_t field_id, nl_wire_type type)
{
    nl_wire_value *field = find_field(object, field_id);
    return field && field->type == type ? field : NULL;
}

nl_str nl_wire_text(const nl_wire_value *object, int16_t field_id)
{
    const nl_wire_value *field = nl_wire_field(object, field_id, NL_WIRE_STRING);
    return field ? field->text : (nl_str){0};
}

int64_t nl_wire_number(const nl_wire_value *object, int16_t field_id, int64_t fallback)
{
    const nl_wire_value *field = find_field(object, field_id);
    const bool is_number = field && (field->type == NL_WIRE_BOOL || field->type == NL_WIRE_BYTE || field->type == NL_WIRE_I16 || field->type == NL_WIRE_I32 ||
                                     field->type == NL_WIRE_I64);
    return is_number ? field->number : fallback;
}

nl_str nl_wire_get(const nl_wire_value *map, nl_str key)
{
    const nl_wire_value *pair = find_pair(map, key);
    return pair ? pair[1].text : (nl_str){0};
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void append_number(nl_builder *out, uint64_t number, unsigned byte_count)
{
    char bytes[8];
    for (unsigned i = 0; i < byte_count; i++) bytes[i] = (char)(number >> (8 * (byte_count - 1 - i)));
    nl_append(out, (nl_str){bytes, byte_count});
}

static void append_text(nl_builder *out, nl_str text)
{
    append_number(out, text.length, 4);
    nl_append(out, text);
}

/* The bytes of a number, or 0 for what is none. */
static unsigned number_width(uint8_t type)
{
    switch (type) {
    case NL_WIRE_BOOL:
    case NL_WIRE_BYTE:
        return 1;
    case NL_WIRE_I16:
        return 2;
    case NL_WIRE_I32:
        return 4;
    case NL_WIRE_I64:
    case NL_WIRE_DOUBLE:
        return 8;
    default:
        return 0;
    }
}

static void append_value(nl_builder *out, const nl_wire_value *value) /* as deep as it was built or read: DEPTH_MAX */
{
    const unsigned width = number_width(value->type);
    if (width > 0) {
        append_number(out, (uint64_t)value->number, width);
        return;
    }
    if (value->type == NL_WIRE_STRING) {
        append_text(out, value->text);
        return;
    }
    if (value->type == NL_WIRE_MAP) append_number(out, value->key_type, 1);
    if (value->type != NL_WIRE_STRUCT) {
        append_number(out, value->item_type, 1);
        append_number(out, value->count, 4);
    }
    const uint32_t item_count = value->type == NL_WIRE_MAP ? 2 * value->count : value->count;
    for (uint32_t i = 0; i < item_count; i++) {
        if (value->type == NL_WIRE_STRUCT) {
            append_number(out, value->items[i].type, 1);
            append_number(out, (uint16_t)value->items[i].field_id, 2);
        }
        append_value(out, &value->items[i]);
    }
    if (value->type == NL_WIRE_STRUCT) append_number(out, NL_WIRE_STOP, 1);
}

void nl_wire_append_message(nl_builder *out, nl_wire_message_kind kind, nl_str name, int32_t sequence, const nl_wire_value *body)
{
    append_number(out, VERSION_1 | (uint32_t)kind, 4);
    append_text(out, name);
    append_number(out, (uint32_t)sequence, 4);
    append_value(out, body);
}

/* ---- reading bytes ----------------------------------------------------------------------------------------------- */

static nl_status broken(const char *what)
{
    nl_status status = NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "The Hive metastore's answer breaks the Thrift protocol: %s", what);
    nl_error_set_kind(status, NL_KIND_DATA);
    return status;
}

static nl_status read_bytes(nl_wire_source *source, uint8_t *into, size_t length)
{
    if (length > source->bytes_left) return broken("it is longer than the limit (hive.thrift.client.max.message.size)");
    source->bytes_left -= length;
    return source->read(source, into, length);
}

static nl_status read_number(nl_wire_source *source, unsigned byte_count, int64_t *number)
{
    uint8_t bytes[8];
    NL_TRY(read_bytes(source, bytes, byte_count));
    uint64_t value = bytes[0] & 0x80 ? UINT64_MAX : 0; /* the sign */
    for (unsigned i = 0; i < byte_count; i++) value = value << 8 | bytes[i];
    *number = (int64_t)value;
    return NULL;
}

static nl_status read_length(nl_wire_source *source, size_t limit, size_t *length)
{
    int64_t number;
    NL_TRY(read_number(source, 4, &number));
    if (number < 0 || (uint64_t)number > NL_MIN(limit, source->bytes_left)) return broken("a length is negative or beyond the end");
    *length = (size_t)number;
    return NULL;
}

static nl_status read_text(nl_wire_source *source, nl_arena *arena, size_t limit, nl_str *text)
{
    size_t length = 0;
    void *bytes;
    NL_TRY(read_length(source, limit, &length));
    NL_TRY(nl_arena_alloc_sized(arena, length + 1, &bytes));
    NL_TRY(read_bytes(source, bytes, length));
    ((char *)bytes)[length] = '\0';
    *text = (nl_str){bytes, length};
    return NULL;
}

static nl_status read_value(nl_wire_source *source, nl_arena *arena, uint8_t type, unsigned depth, nl_wire_value *value);

/* Room for one more, asked for as the values arrive: a count alone allocates nothing. */
static nl_status next_place(nl_arena *arena, nl_wire_value *value, uint32_t used, nl_wire_value **place)
{
    if (used == value->capacity) {
        const uint32_t capacity = used ? used * 2 : FIRST_ITEMS;
        void *items;
        NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(capacity, sizeof(*value)), &items));
        if (used > 0) memcpy(items, value->items, used * sizeof(*value));
        value->items = items;
        value->capacity = capacity;
    }
    *place = &value->items[used];
    **place = (nl_wire_value){0};
    return NULL;
}

static nl_status read_struct(nl_wire_source *source, nl_arena *arena, unsigned depth, nl_wire_value *value)
{
    for (;;) {
        int64_t type, field_id;
        nl_wire_value *field;
        NL_TRY(read_number(source, 1, &type));
        if (type == NL_WIRE_STOP) return NULL;
        NL_TRY(read_number(source, 2, &field_id));
        NL_TRY(next_place(arena, value, value->count, &field));
        NL_TRY(read_value(source, arena, (uint8_t)type, depth, field));
        field->field_id = (int16_t)field_id;
        value->count++;
    }
}

static nl_status read_items(nl_wire_source *source, nl_arena *arena, unsigned depth, nl_wire_value *value)
{
    const bool is_map = value->type == NL_WIRE_MAP;
    int64_t type;
    size_t count = 0;
    if (is_map) {
        NL_TRY(read_number(source, 1, &type));
        value->key_type = (uint8_t)type;
    }
    NL_TRY(read_number(source, 1, &type));
    value->item_type = (uint8_t)type;
    NL_TRY(read_length(source, INT32_MAX / 2, &count)); /* each has a byte at least */
    for (size_t i = 0; i < (is_map ? 2 * count : count); i++) {
        nl_wire_value *item;
        NL_TRY(next_place(arena, value, (uint32_t)i, &item));
        NL_TRY(read_value(source, arena, is_map && i % 2 == 0 ? value->key_type : value->item_type, depth, item));
    }
    value->count = (uint32_t)count;
    return NULL;
}

static nl_status read_value(nl_wire_source *source, nl_arena *arena, uint8_t type, unsigned depth, nl_wire_value *value)
{
    const unsigned width = number_width(type);
    *value = (nl_wire_value){.type = type};
    if (width > 0) return read_number(source, width, &value->number);
    if (type == NL_WIRE_STRING) return read_text(source, arena, SIZE_MAX, &value->text);
    if (depth == DEPTH_MAX) return broken("its values nest too deeply");
    if (type == NL_WIRE_STRUCT) return read_struct(source, arena, depth + 1, value);
    if (type == NL_WIRE_MAP || type == NL_WIRE_LIST || type == NL_WIRE_SET) return read_items(source, arena, depth + 1, value);
    return broken("a type does not exist");
}

nl_status nl_wire_read_message(nl_wire_source *source, nl_arena *arena, nl_wire_message *message)
{
    int64_t head, sequence;
    NL_TRY(read_number(source, 4, &head));
    if (((uint32_t)head & VERSION_MASK) != VERSION_1) return broken("it does not begin as a message of the binary protocol");
    message->kind = (nl_wire_message_kind)(head & 0xff);
    NL_TRY(read_text(source, arena, NAME_BYTES_MAX, &message->name));
    NL_TRY(read_number(source, 4, &sequence));
    message->sequence = (int32_t)sequence;
    NL_TRY(read_value(source, arena, NL_WIRE_STRUCT, 0, &message->body));
    return nl_arena_check(arena);
}
