/* catalog/hive/wire.h - Thrift's binary protocol, as much of it as the Hive metastore speaks.
 *
 * A message is a tree of values: what is asked is built as a tree, what is answered becomes one, and a struct read and
 * sent again keeps the fields that nilas does not know. Source: "Thrift Binary protocol encoding" of Apache Thrift (strict
 * form). Threads: a value belongs to one.
 */
#pragma once

#include "base/arena.h"

typedef enum nl_wire_type { /* as on the wire */
    NL_WIRE_STOP = 0,
    NL_WIRE_BOOL = 2,
    NL_WIRE_BYTE = 3,
    NL_WIRE_DOUBLE = 4,
    NL_WIRE_I16 = 6,
    NL_WIRE_I32 = 8,
    NL_WIRE_I64 = 10,
    NL_WIRE_STRING = 11,
    NL_WIRE_STRUCT = 12,
    NL_WIRE_MAP = 13,
    NL_WIRE_SET = 14,
    NL_WIRE_LIST = 15
} nl_wire_type;

typedef struct nl_wire_value {
    uint8_t type;      /* nl_wire_type */
    uint8_t item_type; /* of a list, a set, a map's values */
    uint8_t key_type;  /* of a map's keys */
    int16_t field_id;  /* within a struct */
    uint32_t count;    /* fields of a struct, items of a list or set, pairs of a map */
    uint32_t capacity; /* of items, in values */
    union {
        int64_t number; /* also a double's bits */
        nl_str text;
        struct nl_wire_value *items; /* of a map: key, value by turns */
    };
} nl_wire_value;

/* ---- building: values lie in the arena, texts are borrowed ---- */

/* The parts that are added stay where they are until the next is added to the same value. */
nl_wire_value nl_wire_struct(void);
nl_wire_value nl_wire_list(nl_wire_type item_type);
nl_wire_value nl_wire_text_map(void); /* of texts to texts */
/* Adds or replaces the field. */
nl_wire_value *nl_wire_set(nl_arena *arena, nl_wire_value *object, int16_t field_id, nl_wire_value value);
void nl_wire_set_text(nl_arena *arena, nl_wire_value *object, int16_t field_id, nl_str text);
void nl_wire_set_number(nl_arena *arena, nl_wire_value *object, int16_t field_id, nl_wire_type type, int64_t number);
void nl_wire_unset(nl_wire_value *object, int16_t field_id);
void nl_wire_add(nl_arena *arena, nl_wire_value *list, nl_wire_value item);
void nl_wire_add_text(nl_arena *arena, nl_wire_value *list, nl_str text);
void nl_wire_put(nl_arena *arena, nl_wire_value *map, nl_str key, nl_str value); /* replaces what is there */
void nl_wire_remove(nl_wire_value *map, nl_str key);

/* ---- reading a tree: NULL and empty stand for what is not there or of another type ---- */

nl_wire_value *nl_wire_field(const nl_wire_value *object, int16_t field_id, nl_wire_type type);
nl_str nl_wire_text(const nl_wire_value *object, int16_t field_id); /* data NULL: absent */
int64_t nl_wire_number(const nl_wire_value *object, int16_t field_id, int64_t fallback);
nl_str nl_wire_get(const nl_wire_value *map, nl_str key); /* of a map of texts; data NULL: absent */

/* ---- messages ---- */

typedef enum nl_wire_message_kind { NL_WIRE_CALL = 1, NL_WIRE_REPLY = 2, NL_WIRE_EXCEPTION = 3 } nl_wire_message_kind;

/* The bytes of a message; `out` fails when its limit is reached. */
void nl_wire_append_message(nl_builder *out, nl_wire_message_kind kind, nl_str name, int32_t sequence, const nl_wire_value *body);

/* Where the bytes of an answer come from. read: exactly `length` bytes, or an error. */
typedef struct nl_wire_source {
    nl_status (*read)(struct nl_wire_source *self, uint8_t *into, size_t length);
    size_t bytes_left; /* what an answer may still have: the limit that the caller sets for each */
} nl_wire_source;

typedef struct nl_wire_message {
    nl_wire_message_kind kind;
    nl_str name;
    int32_t sequence;
    nl_wire_value body;
} nl_wire_message;

/* The next message, in the arena. What breaks the protocol (a length beyond the limit, a type that does not exist, structs in
 * structs without end) is NILAS_VALIDATION_FAILED of kind DATA. */
NL_MUST_USE nl_status nl_wire_read_message(nl_wire_source *source, nl_arena *arena, nl_wire_message *message);
