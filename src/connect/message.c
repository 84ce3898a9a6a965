/* connect/message.c - see message.h.
 *
 * protobuf-c recurses as deep as a message nests and allocates what repeated fields ask for. So the nesting is measured
 * first, with a walk over the same fields, and the memory comes from an arena that belongs to a budget. The same walk finds
 * what newer clients ask for and this server does not know.
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

/* What a field is for that only other servers or newer clients know. */
typedef struct unknown_row {
    const char *message;
    uint32_t number;
    const char *meaning; /* NULL: leaving it out changes no result */
} unknown_row;

static const unknown_row unknown_rows[] = {
    {"Relation", 300, "pyspark.ml"},
    {"Relation", 998, "a server's plugin"},
    {"Expression", 999, "a server's plugin"},
    {"Command", 999, "a server's plugin"},
    {"Command", 17, "pyspark.ml"},
    {"Command", 19, "declarative pipelines"},
    {"Plan", 3, "compressed plans"},
    {"Relation", 46, "the changes of a table"},
    {"Relation", 47, "a join of nearest rows"},
    {"Expression", 22, "repartitioning by number"},
    {"DataType", 26, "the type geometry"},
    {"DataType", 27, "the type geography"},
    {"DataType", 28, "the type time"},
    {"Literal", 26, "the type time"},
    {"Literal", 100, NULL}, /* the type beside the value */
    {"DataSource", 6, NULL}, /* a name for progress reports */
    {"GroupMap", 11, "transformWithState"},
    {"WriteOperation", 11, "withSchemaEvolution"},
    {"WriteOperationV2", 10, "withSchemaEvolution"},
    {"WriteStreamOperationStart", 100, "real-time triggers"},
    {"Catalog", 27, "catalog.dropTable"},
    {"Catalog", 28, "catalog.dropView"},
    {"Catalog", 29, "catalog.createDatabase"},
    {"Catalog", 30, "catalog.dropDatabase"},
    {"Catalog", 31, "catalog.listPartitions"},
    {"Catalog", 32, "catalog.listViews"},
    {"Catalog", 33, "catalog.getTableProperties"},
    {"Catalog", 34, "catalog.getCreateTableString"},
    {"Catalog", 35, "catalog.truncateTable"},
    {"Catalog", 36, "catalog.analyzeTable"},
};

/* A part of a plan that is not understood would be left out: the answer would be another plan's. */
static nl_status unknown_field(const ProtobufCMessageDescriptor *descriptor, uint64_t number)
{
    for (size_t i = 0; i < NL_COUNT(unknown_rows); i++) {
        const unknown_row *row = &unknown_rows[i];
        if (number != row->number || strcmp(descriptor->short_name, row->message) != 0) continue;
        return row->meaning ? NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas does not support %s through Spark Connect", row->meaning) : NULL;
    }
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The client sent field %llu of %s, which nilas does not know: the client is newer", (unsigned long long)number, descriptor->short_name);
}

static bool is_plan(const ProtobufCMessageDescriptor *descriptor)
{
    return strcmp(descriptor->name, "spark.connect.Plan") == 0 || strcmp(descriptor->name, "spark.connect.Relation") == 0;
}

/* Fields of requests that are not known ask for something that clients can do without; those inside a plan are refused. */
static nl_status check_fields(const ProtobufCMessageDescriptor *descriptor, nl_bytes in, uint32_t depth, bool is_inside)
{
    is_inside = is_inside || is_plan(descriptor);
    if (depth > NL_MESSAGE_DEPTH_MAX)
        return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "The plan nests deeper than %u messages. Divide it with a temporary view, a table or checkpoint().", NL_MESSAGE_DEPTH_MAX);
    while (in.length > 0) {
        uint64_t key, length = 0;
        if (!read_varint(&in, &key)) return malformed(descriptor);
        const ProtobufCFieldDescriptor *field = key >> 3 <= UINT32_MAX ? protobuf_c_message_descriptor_get_field(descriptor, (unsigned)(key >> 3)) : NULL;
        if (!field && is_inside) NL_TRY(unknown_field(descriptor, key >> 3));
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
            if (field && field->type == PROTOBUF_C_TYPE_MESSAGE) NL_TRY(check_fields(field->descriptor, (nl_bytes){in.data, (size_t)length}, depth + 1, is_inside));
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
    NL_TRY(check_fields(descriptor, packed, 1, false));
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
