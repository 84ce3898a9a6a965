/* connect/message.c - see message.h.
 *
 * protobuf-c recurses as deep as a message nests and allocates what repeated fields ask for. So the nesting is measured
 * first, with a walk over the same fields, and the memory comes from an arena that belongs to a budget.
 */
#include "connect/message.h"

#include "connect/rpc.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static bool read_varint(nl_bytes *in, uint64_t *value)
{
    *value = 0;
    for (uint32_t shift = 0; shift < 64 && in->length > 0; shift += 7) {
        const uint8_t byte = *in->data++;
        in->length--;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80)) return true;
    }
    return false;
}

static bool skip(nl_bytes *in, uint64_t length)
{
    if (length > in->length) return false;
    in->data += length;
    in->length -= (size_t)length;
    return true;
}

static nl_status malformed(const ProtobufCMessageDescriptor *descriptor)
{
    return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "The message %s is malformed.", descriptor->short_name);
}

static nl_status check_depth(const ProtobufCMessageDescriptor *descriptor, nl_bytes in, uint32_t depth)
{
    if (depth > NL_MESSAGE_DEPTH_MAX)
        return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "The plan nests deeper than %u messages. Divide it with a temporary view, a table or checkpoint().", NL_MESSAGE_DEPTH_MAX);
    while (in.length > 0) {
        uint64_t key, length = 0;
        if (!read_varint(&in, &key)) return malformed(descriptor);
        bool is_ok;
        switch (key & 7) {
        case WIRE_VARINT:
            is_ok = read_varint(&in, &length);
            break;
        case WIRE_64:
            is_ok = skip(&in, 8);
            break;
        case WIRE_32:
            is_ok = skip(&in, 4);
            break;
        case WIRE_BYTES: {
            is_ok = read_varint(&in, &length) && length <= in.length;
            if (!is_ok) break;
            const ProtobufCFieldDescriptor *field = key >> 3 <= UINT32_MAX ? protobuf_c_message_descriptor_get_field(descriptor, (unsigned)(key >> 3)) : NULL;
            if (field && field->type == PROTOBUF_C_TYPE_MESSAGE) NL_TRY(check_depth(field->descriptor, (nl_bytes){in.data, (size_t)length}, depth + 1));
            is_ok = skip(&in, length);
            break;
        }
        default:
            is_ok = false;
        }
        if (!is_ok) return malformed(descriptor);
    }
    return NULL;
}

static void *allocate(void *arena, size_t size)
{
    void *made = NULL;
    nl_error_free(nl_arena_alloc_sized(arena, size, &made));
    return made;
}

static void keep(void *arena, void *pointer)
{
    (void)arena, (void)pointer; /* goes with the arena */
}

nl_status nl_message_unpack(nl_arena *arena, const ProtobufCMessageDescriptor *descriptor, nl_bytes packed, ProtobufCMessage **message)
{
    ProtobufCAllocator allocator = {.alloc = allocate, .free = keep, .allocator_data = arena};
    NL_TRY(check_depth(descriptor, packed, 1));
    ProtobufCMessage *made = protobuf_c_message_unpack(descriptor, &allocator, packed.length, packed.data);
    NL_TRY(nl_arena_check(arena));
    if (!made) return malformed(descriptor);
    *message = made;
    return NULL;
}

nl_status nl_message_frame(const ProtobufCMessage *message, nl_memory *memory, nl_buffer **framed)
{
    const size_t size = protobuf_c_message_get_packed_size(message);
    if (size > NL_RPC_MESSAGE_BYTES_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "An answer of %zu bytes is larger than a message may be (128 MiB).", size);
    NL_TRY(nl_buffer_new(memory, NL_RPC_PREFIX_BYTES + size, false, framed));
    (void)protobuf_c_message_pack(message, (*framed)->data + NL_RPC_PREFIX_BYTES);
    nl_rpc_frame(*framed);
    return NULL;
}
