/* column/arrow_ipc.c - writes Arrow IPC streams.
 *
 * A message's metadata is small and made in a builder; the buffers of a batch are copied once, to their places behind it.
 * Ids of fields and numbers of types are those of Arrow's Message.fbs and Schema.fbs.
 */
#include "column/arrow_ipc.h"

#include "column/arrow.h"
#include "column/arrow_internal.h"
#include "column/flatbuffer.h"

#define ALIGNMENT 8u /* of buffers in a body: the least that Arrow asks for */

static size_t padded(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- the schema */

typedef struct type_row {
    const char *format; /* of the C interface; as a prefix when it ends in ':' */
    uint8_t type;       /* of the union Type */
    uint8_t slot_count;
    struct {
        uint8_t id, size;
        int32_t value;
    } slots[2];
} type_row;

static const type_row type_rows[] = {
    {"n", NL_IPC_NULL, 0, {{0}}},
    {"b", NL_IPC_BOOL, 0, {{0}}},
    {"c", NL_IPC_INT, 2, {{0, 4, 8}, {1, 1, 1}}},
    {"s", NL_IPC_INT, 2, {{0, 4, 16}, {1, 1, 1}}},
    {"i", NL_IPC_INT, 2, {{0, 4, 32}, {1, 1, 1}}},
    {"l", NL_IPC_INT, 2, {{0, 4, 64}, {1, 1, 1}}},
    {"f", NL_IPC_FLOATING_POINT, 1, {{0, 2, 1}}},
    {"g", NL_IPC_FLOATING_POINT, 1, {{0, 2, 2}}},
    {"u", NL_IPC_UTF8, 0, {{0}}},
    {"z", NL_IPC_BINARY, 0, {{0}}},
    {"tdD", NL_IPC_DATE, 1, {{0, 2, 0}}},
    {"tsu:", NL_IPC_TIMESTAMP, 1, {{0, 2, 2}}},
    {"tDu", NL_IPC_DURATION, 1, {{0, 2, 2}}},
    {"tiM", NL_IPC_INTERVAL, 1, {{0, 2, 0}}},
    {"tin", NL_IPC_INTERVAL, 1, {{0, 2, 2}}},
    {"+l", NL_IPC_LIST, 0, {{0}}},
    {"+s", NL_IPC_STRUCT, 0, {{0}}},
    {"+m", NL_IPC_MAP, 0, {{0}}},
};

static const type_row *find_type(const char *format)
{
    const nl_str text = nl_str_from(format);
    for (size_t i = 0; i < NL_COUNT(type_rows); i++) {
        const nl_str name = nl_str_from(type_rows[i].format);
        const bool is_prefix = name.data[name.length - 1] == ':';
        if (is_prefix ? nl_str_starts(text, name) : nl_str_equal(text, name)) return &type_rows[i];
    }
    return NULL;
}

/* The table of the type itself; *kind its number in the union. */
static size_t write_type(nl_builder *out, const char *format, const nl_ipc_options *options, uint8_t *kind)
{
    int precision, scale, bits;
    if (nl_arrow_decimal_format(format, &precision, &scale, &bits)) {
        nl_fb_slot slots[] = {{.id = 0, .size = 4, .value = precision}, {.id = 1, .size = 4, .value = scale}, {.id = 2, .size = 4, .value = bits}};
        *kind = NL_IPC_DECIMAL;
        return nl_fb_write_table(out, slots, NL_COUNT(slots));
    }
    const type_row *row = find_type(format);
    NL_ASSERT(row); /* arrow_schema.c writes no other */
    *kind = row->type;
    nl_fb_slot slots[3];
    uint32_t count = 0;
    const bool has_zone = row->type == NL_IPC_TIMESTAMP && format[4];
    if (has_zone) slots[count++] = (nl_fb_slot){.id = 1, .size = 4, .is_offset = true};
    for (uint32_t i = 0; i < row->slot_count; i++)
        slots[count++] = (nl_fb_slot){.id = row->slots[i].id, .size = row->slots[i].size, .value = row->slots[i].value};
    const size_t table = nl_fb_write_table(out, slots, count);
    if (has_zone) nl_fb_link(out, slots[0].place, nl_fb_write_string(out, options->time_zone.length ? options->time_zone : NL_STR("UTC")));
    return table;
}

/* Metadata of the C interface: the number of pairs, then length and bytes of each key and value. */
static size_t write_metadata(nl_builder *out, const char *metadata)
{
    int32_t count, length;
    memcpy(&count, metadata, sizeof(count));
    metadata += sizeof(count);
    size_t place;
    const size_t vector = nl_fb_write_offsets(out, (uint32_t)count, &place);
    for (int32_t i = 0; i < count; i++, place += 4) {
        nl_fb_slot slots[] = {{.id = 0, .size = 4, .is_offset = true}, {.id = 1, .size = 4, .is_offset = true}};
        nl_fb_link(out, place, nl_fb_write_table(out, slots, NL_COUNT(slots)));
        for (uint32_t k = 0; k < NL_COUNT(slots); k++) {
            memcpy(&length, metadata, sizeof(length));
            nl_fb_link(out, slots[k].place, nl_fb_write_string(out, (nl_str){metadata + sizeof(length), (size_t)length}));
            metadata += sizeof(length) + (size_t)length;
        }
    }
    return vector;
}

static size_t write_fields(nl_builder *out, const struct ArrowSchema *parent, const nl_ipc_options *options);

static size_t write_field(nl_builder *out, const struct ArrowSchema *schema, const nl_ipc_options *options)
{
    enum { NAME, TYPE, CHILDREN, METADATA, TYPE_KIND, NULLABLE };
    nl_fb_slot slots[] = {
        [NAME] = {.id = 0, .size = 4, .is_offset = true},     [TYPE] = {.id = 3, .size = 4, .is_offset = true},
        [CHILDREN] = {.id = 5, .size = 4, .is_offset = true}, [METADATA] = {.id = 6, .size = 4, .is_offset = true},
        [TYPE_KIND] = {.id = 2, .size = 1},                   [NULLABLE] = {.id = 1, .size = 1, .value = (schema->flags & ARROW_FLAG_NULLABLE) != 0},
    };
    if (!schema->metadata) { /* leave the slot out: its place would point to nothing */
        slots[METADATA] = slots[TYPE_KIND];
        slots[TYPE_KIND] = slots[NULLABLE];
    }
    const uint32_t kind_at = schema->metadata ? TYPE_KIND : METADATA;
    const size_t table = nl_fb_write_table(out, slots, NL_COUNT(slots) - !schema->metadata);
    nl_fb_link(out, slots[NAME].place, nl_fb_write_string(out, nl_str_from(schema->name)));
    uint8_t kind;
    nl_fb_link(out, slots[TYPE].place, write_type(out, schema->format, options, &kind));
    if (!out->has_failed) out->data[slots[kind_at].place] = (char)kind;
    nl_fb_link(out, slots[CHILDREN].place, write_fields(out, schema, options));
    if (schema->metadata) nl_fb_link(out, slots[METADATA].place, write_metadata(out, schema->metadata));
    return table;
}

static size_t write_fields(nl_builder *out, const struct ArrowSchema *parent, const nl_ipc_options *options)
{
    size_t first;
    const size_t vector = nl_fb_write_offsets(out, (uint32_t)parent->n_children, &first);
    for (int64_t i = 0; i < parent->n_children; i++) nl_fb_link(out, first + 4 * (size_t)i, write_field(out, parent->children[i], options));
    return vector;
}

/* ---- messages */

/* The table Message; returns where its header's offset goes. */
static size_t start_message(nl_builder *out, uint8_t header_kind, size_t body_bytes)
{
    nl_fb_slot slots[] = {
        {.id = 3, .size = 8, .value = (int64_t)body_bytes},
        {.id = 2, .size = 4, .is_offset = true},
        {.id = 0, .size = 2, .value = NL_IPC_VERSION_5},
        {.id = 1, .size = 1, .value = header_kind},
    };
    nl_append_fill(out, 0, 4);
    nl_fb_link(out, 0, nl_fb_write_table(out, slots, NL_COUNT(slots)));
    return slots[1].place;
}

static void write_schema_message(nl_builder *out, const struct ArrowSchema *schema, const nl_ipc_options *options)
{
    const size_t header = start_message(out, NL_IPC_HEADER_SCHEMA, 0);
    nl_fb_slot slots[] = {{.id = 1, .size = 4, .is_offset = true}};
    nl_fb_link(out, header, nl_fb_write_table(out, slots, NL_COUNT(slots)));
    nl_fb_link(out, slots[0].place, write_fields(out, schema, options));
}

/* One batch on its way: its nodes and buffers in Arrow's order, parents before children. */
typedef struct body {
    nl_list buffers; /* const void * */
    int64_t *nodes;  /* pairs: rows, nulls                */
    int64_t *places; /* pairs: offset in the body, length */
    uint32_t node_count, buffer_count;
    size_t size_bytes;
} body;

static void count_parts(const struct ArrowArray *array, uint32_t *node_count, uint32_t *buffer_count)
{
    *node_count += 1;
    *buffer_count += (uint32_t)array->n_buffers;
    for (int64_t i = 0; i < array->n_children; i++) count_parts(array->children[i], node_count, buffer_count);
}

/* Sizes of what arrow_export.c makes. */
static size_t buffer_size(const struct ArrowArray *array, const char *format, int64_t i)
{
    const size_t rows = (size_t)array->length;
    int precision, scale, bits;
    if (!array->buffers[i]) return 0;
    if (i == 0) return (rows + 7) / 8;
    if (i == 2) return (size_t)((const int32_t *)array->buffers[1])[rows];
    if (nl_arrow_decimal_format(format, &precision, &scale, &bits)) return rows * (size_t)bits / 8;
    switch (format[0]) {
    case 'b': return (rows + 7) / 8;
    case 'c': return rows;
    case 's': return rows * 2;
    case 'i':
    case 'f': return rows * 4;
    case 'u':
    case 'z':
    case '+': return (rows + 1) * 4; /* offsets */
    case 't': return rows * (format[1] == 'd' ? 4 : format[1] != 'i' ? 8 : format[2] == 'M' ? 4 : 16);
    default: return rows * 8;
    }
}

static void add_parts(nl_arena *arena, body *self, const struct ArrowArray *array, const struct ArrowSchema *schema)
{
    int64_t *node = self->nodes + 2 * (size_t)self->node_count++;
    node[0] = array->length;
    node[1] = array->null_count;
    for (int64_t i = 0; i < array->n_buffers; i++) {
        int64_t *place = self->places + 2 * (size_t)self->buffer_count++;
        place[0] = (int64_t)self->size_bytes;
        place[1] = (int64_t)buffer_size(array, schema->format, i);
        self->size_bytes += padded((size_t)place[1]);
        nl_list_add(arena, &self->buffers, NL_UNCONST(array->buffers[i]));
    }
    for (int64_t i = 0; i < array->n_children; i++) add_parts(arena, self, array->children[i], schema->children[i]);
}

static void write_batch_message(nl_builder *out, const body *self, int64_t row_count)
{
    const size_t header = start_message(out, NL_IPC_HEADER_RECORD_BATCH, self->size_bytes);
    nl_fb_slot slots[] = {{.id = 0, .size = 8, .value = row_count}, {.id = 1, .size = 4, .is_offset = true}, {.id = 2, .size = 4, .is_offset = true}};
    nl_fb_link(out, header, nl_fb_write_table(out, slots, NL_COUNT(slots)));
    nl_fb_link(out, slots[1].place, nl_fb_write_longs(out, self->nodes, self->node_count, 2 * self->node_count));
    nl_fb_link(out, slots[2].place, nl_fb_write_longs(out, self->places, self->buffer_count, 2 * self->buffer_count));
}

/* ---- the stream */

typedef struct part { /* one message */
    nl_builder metadata;
    body content;
    struct ArrowArray array;
} part;

static size_t part_size(const part *self)
{
    return 8 + padded(self->metadata.length) + self->content.size_bytes;
}

static uint8_t *put_part(uint8_t *at, const part *self)
{
    const uint32_t prefix[2] = {UINT32_MAX, (uint32_t)padded(self->metadata.length)};
    memcpy(at, prefix, sizeof(prefix));
    memcpy(at + 8, self->metadata.data, self->metadata.length);
    memset(at + 8 + self->metadata.length, 0, prefix[1] - self->metadata.length);
    at += 8 + prefix[1];
    for (uint32_t i = 0; i < self->content.buffer_count; i++) {
        const size_t size = (size_t)self->content.places[2 * (size_t)i + 1];
        if (size) memcpy(at, self->content.buffers.items[i], size);
        memset(at + size, 0, padded(size) - size);
        at += padded(size);
    }
    return at;
}

static nl_status make_batch_part(nl_arena *arena, const nl_type *struct_type, const struct ArrowSchema *schema, const nl_batch *batch, nl_memory *memory, part *made)
{
    NL_TRY(nl_arrow_export_batch(struct_type, batch, memory, &made->array));
    uint32_t node_count = 0, buffer_count = 0;
    count_parts(&made->array, &node_count, &buffer_count);
    made->content.nodes = NL_NEW_ARRAY(arena, int64_t, 2 * (size_t)node_count);
    made->content.places = NL_NEW_ARRAY(arena, int64_t, 2 * (size_t)buffer_count);
    /* The batch itself is neither node nor buffer of its message. */
    for (int64_t i = 0; i < made->array.n_children; i++) add_parts(arena, &made->content, made->array.children[i], schema->children[i]);
    write_batch_message(&made->metadata, &made->content, made->array.length);
    return nl_arena_check(arena);
}

static nl_status assemble(const part *parts, uint32_t count, nl_memory *memory, nl_buffer **stream)
{
    static const uint32_t end[2] = {UINT32_MAX, 0};
    size_t size = sizeof(end);
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].metadata.has_failed)
            return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)parts[i].metadata.length), NL_P_INT("receivedBytes", 0));
        size += part_size(&parts[i]);
    }
    NL_TRY(nl_buffer_new(memory, size, false, stream));
    uint8_t *at = (*stream)->data;
    for (uint32_t i = 0; i < count; i++) at = put_part(at, &parts[i]);
    memcpy(at, end, sizeof(end));
    return NULL;
}

nl_status nl_ipc_encode(const nl_type *struct_type, const nl_batch *batches, uint32_t batch_count, const nl_ipc_options *options, nl_memory *memory, nl_buffer **stream)
{
    struct ArrowSchema schema = {0};
    NL_TRY(nl_arrow_export_schema(struct_type, &schema));
    nl_arena *arena = nl_arena_new(NULL);
    const uint32_t count = batch_count + 1;
    part *parts = NL_NEW_ARRAY(arena, part, count);
    memset(parts, 0, count * sizeof(*parts));
    for (uint32_t i = 0; i < count; i++) nl_builder_init(&parts[i].metadata, INT32_MAX);
    write_schema_message(&parts[0].metadata, &schema, options);
    nl_status status = nl_arena_check(arena);
    for (uint32_t i = 0; !status && i < batch_count; i++) status = make_batch_part(arena, struct_type, &schema, &batches[i], memory, &parts[i + 1]);
    if (!status) status = assemble(parts, count, memory, stream);
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].array.release) parts[i].array.release(&parts[i].array);
        nl_builder_fini(&parts[i].metadata);
    }
    nl_arena_free(arena);
    schema.release(&schema);
    return status;
}
