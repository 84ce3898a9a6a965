/* column/arrow_ipc_read.c - reads Arrow IPC streams: messages become the structs of the C data interface, which
 * arrow_import.c turns into batches. That interface does not tell how long buffers are, so everything that a row count
 * or an offset could lead out of is checked here. */
#include <stdlib.h>

#include "base/limits.h"
#include "base/number.h"
#include "column/arrow.h"
#include "column/arrow_internal.h"
#include "column/arrow_ipc.h"
#include "column/flatbuffer.h"

#define METADATA_MARGIN 64u

typedef struct dictionary {
    int64_t id;
    const struct ArrowSchema *field; /* whose `dictionary` describes the values; its private_data is this */
    struct ArrowArray *values;       /* in the reader's arena; NULL: not come yet     */
} dictionary;

struct nl_ipc_reader {
    nl_arena *arena; /* schema and dictionaries */
    nl_memory *memory;
    nl_buffer *owner; /* counted: of the bytes; or NULL */
    const uint8_t *data;
    size_t size, at;
    struct ArrowSchema schema;
    const nl_type *type;
    nl_list dictionaries; /* dictionary * */
};

static nl_status malformed(const nl_ipc_reader *self, const char *what)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The Arrow stream is malformed near byte %zu of %zu: %s.", self->at, self->size, what);
}

static nl_status unsupported(const char *what)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The Arrow stream holds %s, which nilas does not read.", what);
}

/* ---- messages */

typedef struct message {
    nl_fb fb;
    int64_t kind; /* 0: the end of the stream */
    nl_fb_at header;
    const uint8_t *body;
    size_t body_bytes;
} message;

static nl_status next_message(nl_ipc_reader *self, message *found)
{
    *found = (message){0};
    uint32_t length;
    if (self->size - self->at < sizeof(length)) return self->at == self->size ? NULL : malformed(self, "it ends inside a message");
    memcpy(&length, self->data + self->at, sizeof(length));
    self->at += sizeof(length);
    if (length == UINT32_MAX) { /* since format 0.15 the length stands behind this marker */
        if (self->size - self->at < sizeof(length)) return malformed(self, "it ends inside a message");
        memcpy(&length, self->data + self->at, sizeof(length));
        self->at += sizeof(length);
    }
    if (length == 0) return NULL;
    if (length > self->size - self->at) return malformed(self, "a message is longer than the stream");
    found->fb = (nl_fb){self->data + self->at, length, false};
    self->at += length;
    nl_fb *fb = &found->fb;
    const nl_fb_at root = nl_fb_root(fb);
    const int64_t version = nl_fb_integer(fb, root, 0, 2, 0), body_bytes = nl_fb_integer(fb, root, 3, 8, 0);
    found->kind = nl_fb_integer(fb, root, 1, 1, 0);
    found->header = nl_fb_table(fb, root, 2);
    if (fb->is_bad || !found->header || found->kind < 1) return malformed(self, "a message that is none");
    if (version != NL_IPC_VERSION_4 && version != NL_IPC_VERSION_5) return unsupported("metadata of another version than 4 or 5");
    if (body_bytes < 0 || (uint64_t)body_bytes > self->size - self->at) return malformed(self, "a body is longer than the stream");
    if (self->at % 8) return malformed(self, "a body that is not aligned");
    found->body = self->data + self->at;
    found->body_bytes = (size_t)body_bytes;
    self->at += (size_t)body_bytes;
    return NULL;
}

/* ---- the schema */

static void release_nothing(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static char unit_letter(int64_t unit)
{
    return unit >= 0 && unit < 4 ? "smun"[unit] : '?';
}

static nl_str integer_format(nl_fb *fb, nl_fb_at type)
{
    const int64_t bits = nl_fb_integer(fb, type, 0, 4, 0);
    const bool is_signed = nl_fb_integer(fb, type, 1, 1, 0) != 0;
    switch (bits) {
    case 8: return is_signed ? NL_STR("c") : NL_STR("C");
    case 16: return is_signed ? NL_STR("s") : NL_STR("S");
    case 32: return is_signed ? NL_STR("i") : NL_STR("I");
    case 64: return is_signed ? NL_STR("l") : NL_STR("L");
    default: return (nl_str){0};
    }
}

/* As the C interface writes the type; empty: there is none such. */
static nl_str format_of(nl_ipc_reader *self, nl_fb *fb, int64_t kind, nl_fb_at type)
{
    nl_arena *arena = self->arena;
    const int64_t unit = nl_fb_integer(fb, type, 0, 2, kind == NL_IPC_DATE || kind == NL_IPC_DURATION || kind == NL_IPC_TIME);
    switch (kind) {
    case NL_IPC_NULL: return NL_STR("n");
    case NL_IPC_INT: return integer_format(fb, type);
    case NL_IPC_FLOATING_POINT: return unit == 0 ? NL_STR("e") : unit == 1 ? NL_STR("f") : unit == 2 ? NL_STR("g") : (nl_str){0};
    case NL_IPC_BINARY: return NL_STR("z");
    case NL_IPC_UTF8: return NL_STR("u");
    case NL_IPC_BOOL: return NL_STR("b");
    case NL_IPC_DECIMAL:
        return nl_arena_f(arena, "d:%lld,%lld,%lld", (long long)nl_fb_integer(fb, type, 0, 4, 0), (long long)nl_fb_integer(fb, type, 1, 4, 0),
                          (long long)nl_fb_integer(fb, type, 2, 4, 128));
    case NL_IPC_DATE: return unit == 0 ? NL_STR("tdD") : NL_STR("tdm");
    case NL_IPC_TIMESTAMP: return nl_arena_f(arena, "ts%c:" NL_STR_FMT, unit_letter(unit), NL_STR_ARG(nl_fb_string(fb, type, 1)));
    case NL_IPC_INTERVAL: return unit == 0 ? NL_STR("tiM") : unit == 1 ? NL_STR("tiD") : NL_STR("tin");
    case NL_IPC_DURATION: return nl_arena_f(arena, "tD%c", unit_letter(unit));
    case NL_IPC_LIST: return NL_STR("+l");
    case NL_IPC_STRUCT: return NL_STR("+s");
    case NL_IPC_FIXED_SIZE_BINARY: return nl_arena_f(arena, "w:%lld", (long long)nl_fb_integer(fb, type, 0, 4, 0));
    case NL_IPC_FIXED_SIZE_LIST: return nl_arena_f(arena, "+w:%lld", (long long)nl_fb_integer(fb, type, 0, 4, 0));
    case NL_IPC_MAP: return NL_STR("+m");
    case NL_IPC_LARGE_BINARY: return NL_STR("Z");
    case NL_IPC_LARGE_UTF8: return NL_STR("U");
    case NL_IPC_LARGE_LIST: return NL_STR("+L");
    case NL_IPC_RUN_END_ENCODED: return NL_STR("+r");
    case NL_IPC_BINARY_VIEW: return NL_STR("vz");
    case NL_IPC_UTF8_VIEW: return NL_STR("vu");
    case NL_IPC_LIST_VIEW: return NL_STR("+vl");
    case NL_IPC_LARGE_LIST_VIEW: return NL_STR("+vL");
    default: return (nl_str){0};
    }
}

/* KeyValue pairs in the form of the C interface, and zeros behind, since that form does not tell its length. NULL: none. */
static const char *read_metadata(nl_ipc_reader *self, nl_fb *fb, nl_fb_at field)
{
    uint32_t count;
    const nl_fb_at pairs = nl_fb_vector(fb, field, 6, 4, &count);
    if (!count) return NULL;
    nl_builder made;
    nl_builder_init(&made, INT32_MAX);
    nl_append(&made, (nl_str){(const char *)&count, sizeof(count)});
    for (uint32_t i = 0; i < count && !fb->is_bad; i++) {
        const nl_fb_at pair = nl_fb_table_at(fb, pairs, i);
        for (uint32_t k = 0; k < 2; k++) {
            const nl_str text = nl_fb_string(fb, pair, k);
            const uint32_t length = (uint32_t)text.length;
            nl_append(&made, (nl_str){(const char *)&length, sizeof(length)});
            nl_append(&made, text);
        }
    }
    nl_append_fill(&made, 0, METADATA_MARGIN);
    const char *result = nl_arena_str(self->arena, nl_builder_str(&made)).data;
    nl_builder_fini(&made);
    return result;
}

static nl_status read_fields(nl_ipc_reader *self, nl_fb *fb, nl_fb_at parent, uint32_t id, uint32_t depth, struct ArrowSchema *schema);

/* Field `encoding` says that rows are indices; `schema` describes the values so far. */
static nl_status read_encoding(nl_ipc_reader *self, nl_fb *fb, nl_fb_at encoding, struct ArrowSchema *schema)
{
    struct ArrowSchema *values = NL_NEW(self->arena, struct ArrowSchema);
    *values = *schema;
    const nl_fb_at index_type = nl_fb_table(fb, encoding, 1);
    const nl_str format = index_type ? integer_format(fb, index_type) : NL_STR("i");
    if (!format.length) return malformed(self, "the indices of a dictionary");
    *schema = (struct ArrowSchema){.format = format.data, .name = values->name, .flags = values->flags, .dictionary = values, .release = release_nothing};
    dictionary *entry = NL_NEW(self->arena, dictionary);
    schema->private_data = entry;
    *entry = (dictionary){.id = nl_fb_integer(fb, encoding, 0, 8, 0), .field = schema};
    nl_list_add(self->arena, &self->dictionaries, entry);
    return NULL;
}

static nl_status read_field(nl_ipc_reader *self, nl_fb *fb, nl_fb_at field, uint32_t depth, struct ArrowSchema *schema)
{
    const int64_t kind = nl_fb_integer(fb, field, 2, 1, 0);
    const nl_str name = nl_arena_str(self->arena, nl_fb_string(fb, field, 0)), format = format_of(self, fb, kind, nl_fb_table(fb, field, 3));
    if (fb->is_bad) return malformed(self, "a field of the schema");
    if (!format.length) return unsupported(kind == NL_IPC_UNION ? "a union" : kind == NL_IPC_TIME ? "times of the day" : "a type of Arrow");
    *schema = (struct ArrowSchema){.format = format.data, .name = name.data ? name.data : "", .release = release_nothing};
    schema->flags = nl_fb_integer(fb, field, 1, 1, 0) ? ARROW_FLAG_NULLABLE : 0;
    schema->metadata = read_metadata(self, fb, field);
    NL_TRY(read_fields(self, fb, field, 5, depth + 1, schema));
    const nl_fb_at encoding = nl_fb_table(fb, field, 4);
    return encoding ? read_encoding(self, fb, encoding, schema) : NULL;
}

static nl_status read_fields(nl_ipc_reader *self, nl_fb *fb, nl_fb_at parent, uint32_t id, uint32_t depth, struct ArrowSchema *schema)
{
    uint32_t count;
    const nl_fb_at fields = nl_fb_vector(fb, parent, id, 4, &count);
    if (fb->is_bad || depth > NL_TYPE_DEPTH_MAX) return malformed(self, "the fields of the schema");
    schema->n_children = count;
    schema->children = NL_NEW_ARRAY(self->arena, struct ArrowSchema *, count);
    for (uint32_t i = 0; i < count; i++) {
        schema->children[i] = NL_NEW(self->arena, struct ArrowSchema);
        NL_TRY(nl_arena_check(self->arena));
        NL_TRY(read_field(self, fb, nl_fb_table_at(fb, fields, i), depth, schema->children[i]));
    }
    return NULL;
}

static nl_status read_schema(nl_ipc_reader *self)
{
    message first;
    NL_TRY(next_message(self, &first));
    if (first.kind != NL_IPC_HEADER_SCHEMA) return malformed(self, "it does not begin with a schema");
    if (nl_fb_integer(&first.fb, first.header, 0, 2, 0) != 0) return unsupported("big-endian numbers");
    self->schema = (struct ArrowSchema){.format = "+s", .name = "", .release = release_nothing};
    NL_TRY(read_fields(self, &first.fb, first.header, 1, 0, &self->schema));
    return nl_arrow_import_schema(&self->schema, self->arena, &self->type);
}

/* ---- bodies */

typedef struct body_reader {
    nl_ipc_reader *reader;
    message *from;
    nl_arena *arena;
    nl_fb_at nodes, buffers, variadic;
    uint32_t node_count, buffer_count, variadic_count;
    uint32_t next_node, next_buffer, next_variadic;
} body_reader;

/* Rows of some types take no bytes of the body: a few bytes must not claim memory for billions of them. */
static bool holds_rows(const message *from, int64_t count)
{
    enum { WITHOUT_BYTES = 1 << 24 };
    return count <= UINT32_MAX && (uint64_t)count <= 8 * (uint64_t)from->body_bytes + WITHOUT_BYTES;
}

static nl_status next_buffer(body_reader *self, const void **data, size_t *size)
{
    if (self->next_buffer >= self->buffer_count) return malformed(self->reader, "a buffer is missing");
    const nl_fb_at at = self->buffers + 16 * (size_t)self->next_buffer++;
    const int64_t offset = nl_fb_long_at(&self->from->fb, at), length = nl_fb_long_at(&self->from->fb, at + 8);
    if (offset < 0 || length < 0 || (uint64_t)offset > self->from->body_bytes || (uint64_t)length > self->from->body_bytes - (uint64_t)offset)
        return malformed(self->reader, "a buffer lies outside its body");
    if (length && offset % 8) return malformed(self->reader, "a buffer is not aligned");
    *data = length ? self->from->body + offset : NULL;
    *size = (size_t)length;
    return NULL;
}

/* Bytes of one value of a fixed width; 0: not such a type. */
static nl_status value_width(const body_reader *self, const char *format, int64_t *width)
{
    int precision, scale, bits;
    *width = 0;
    if (nl_arrow_decimal_format(format, &precision, &scale, &bits)) {
        *width = bits / 8;
        return NULL;
    }
    if (format[0] == 'w') {
        if (!nl_parse_int64(nl_str_from(format + 2), width) || *width < 0) return malformed(self->reader, "the width of binary values");
        return NULL;
    }
    static const char letters[] = "cCsSeiIfldLg";
    static const uint8_t widths[] = {1, 1, 2, 2, 2, 4, 4, 4, 8, 8, 8, 8};
    const char *letter = format[1] ? NULL : strchr(letters, format[0]);
    if (letter) *width = widths[letter - letters];
    if (format[0] == 't') *width = strcmp(format, "tdD") == 0 || strcmp(format, "tiM") == 0 ? 4 : strcmp(format, "tin") == 0 ? 16 : 8;
    return NULL;
}

static nl_status check_offsets(const body_reader *self, const struct ArrowArray *array, bool is_large, size_t offsets_bytes, uint64_t end)
{
    const size_t size = is_large ? 8 : 4;
    if (array->length == 0) return NULL;
    if (offsets_bytes / size < (uint64_t)array->length + 1) return malformed(self->reader, "offsets are missing");
    int64_t before = 0;
    for (int64_t i = 0; i <= array->length; i++) {
        const int64_t offset = is_large ? ((const int64_t *)array->buffers[1])[i] : ((const int32_t *)array->buffers[1])[i];
        if (offset < before) return malformed(self->reader, "offsets do not ascend");
        before = offset;
    }
    return (uint64_t)before > end ? malformed(self->reader, "an offset leads out of its buffer") : NULL;
}

static nl_status read_validity(body_reader *self, struct ArrowArray *array)
{
    size_t size;
    NL_TRY(next_buffer(self, &array->buffers[0], &size));
    if (array->null_count == 0) array->buffers[0] = NULL; /* may be left out, and may be there */
    if (array->null_count != 0 && size < ((uint64_t)array->length + 7) / 8) return malformed(self->reader, "a validity bitmap is too short");
    return NULL;
}

static nl_status read_values(body_reader *self, const char *format, struct ArrowArray *array)
{
    size_t size, bytes;
    int64_t width;
    array->n_buffers = 2;
    NL_TRY(next_buffer(self, &array->buffers[1], &size));
    if (strcmp(format, "b") == 0) return size < ((uint64_t)array->length + 7) / 8 ? malformed(self->reader, "values are missing") : NULL;
    if (strchr("uUzZ", format[0]) && !format[1]) {
        const bool is_large = format[0] == 'U' || format[0] == 'Z';
        array->n_buffers = 3;
        NL_TRY(next_buffer(self, &array->buffers[2], &bytes));
        return check_offsets(self, array, is_large, size, bytes);
    }
    NL_TRY(value_width(self, format, &width));
    if (!width && format[0] != 'w') return malformed(self->reader, "a type");
    return width && size / (uint64_t)width < (uint64_t)array->length ? malformed(self->reader, "values are missing") : NULL;
}

/* Views point into any number of buffers; the C interface adds one that tells their sizes. */
static nl_status read_views(body_reader *self, struct ArrowArray *array)
{
    size_t size;
    NL_TRY(next_buffer(self, &array->buffers[1], &size));
    if (size / 16 < (uint64_t)array->length) return malformed(self->reader, "values are missing");
    const int64_t count = self->next_variadic < self->variadic_count ? nl_fb_long_at(&self->from->fb, self->variadic + 8 * (size_t)self->next_variadic++) : -1;
    if (count < 0 || count > self->buffer_count) return malformed(self->reader, "the number of a view's buffers");
    const void **buffers = NL_NEW_ARRAY(self->arena, const void *, (size_t)count + 3);
    int64_t *sizes = NL_NEW_ARRAY(self->arena, int64_t, (size_t)count + 1);
    NL_TRY(nl_arena_check(self->arena));
    memcpy(buffers, array->buffers, 2 * sizeof(*buffers));
    for (int64_t i = 0; i < count; i++) {
        NL_TRY(next_buffer(self, &buffers[2 + i], &size));
        sizes[i] = (int64_t)size;
    }
    buffers[2 + count] = sizes;
    array->buffers = buffers;
    array->n_buffers = count + 3;
    return NULL;
}

static nl_status read_lists(body_reader *self, const char *format, struct ArrowArray *array)
{
    size_t size, lengths;
    const bool is_view = format[1] == 'v', is_large = format[is_view ? 2 : 1] == 'L';
    if (format[1] == 'w') return NULL;
    NL_TRY(next_buffer(self, &array->buffers[1], &size));
    array->n_buffers = 2;
    if (!is_view) return check_offsets(self, array, is_large, size, INT64_MAX); /* the child's rows: arrow_import.c checks */
    NL_TRY(next_buffer(self, &array->buffers[2], &lengths));
    array->n_buffers = 3;
    return NL_MIN(size, lengths) / (is_large ? 8 : 4) < (uint64_t)array->length ? malformed(self->reader, "offsets are missing") : NULL;
}

static nl_status read_array(body_reader *self, const struct ArrowSchema *schema, struct ArrowArray *array);

static nl_status read_children(body_reader *self, const struct ArrowSchema *schema, struct ArrowArray *array)
{
    array->n_children = schema->n_children;
    array->children = NL_NEW_ARRAY(self->arena, struct ArrowArray *, (size_t)schema->n_children);
    for (int64_t i = 0; i < schema->n_children; i++) {
        array->children[i] = NL_NEW(self->arena, struct ArrowArray);
        NL_TRY(nl_arena_check(self->arena));
        NL_TRY(read_array(self, schema->children[i], array->children[i]));
    }
    return NULL;
}

static void release_array(struct ArrowArray *array)
{
    array->release = NULL;
}

static nl_status read_array(body_reader *self, const struct ArrowSchema *schema, struct ArrowArray *array)
{
    if (self->next_node >= self->node_count) return malformed(self->reader, "a field node is missing");
    const nl_fb_at node = self->nodes + 16 * (size_t)self->next_node++;
    const char *format = schema->format;
    *array = (struct ArrowArray){.length = nl_fb_long_at(&self->from->fb, node), .null_count = nl_fb_long_at(&self->from->fb, node + 8), .release = release_array};
    if (array->length < 0 || !holds_rows(self->from, array->length) || array->null_count < 0 || array->null_count > array->length)
        return malformed(self->reader, "a field node");
    array->buffers = NL_NEW_ARRAY(self->arena, const void *, 3);
    NL_TRY(nl_arena_check(self->arena));
    memset(array->buffers, 0, 3 * sizeof(*array->buffers));
    if (strcmp(format, "n") == 0) return NULL;
    const bool is_run_end = strcmp(format, "+r") == 0;
    if (!is_run_end) {
        array->n_buffers = 1;
        NL_TRY(read_validity(self, array));
    }
    if (schema->dictionary) {
        array->dictionary = ((const dictionary *)schema->private_data)->values;
        if (!array->dictionary) return malformed(self->reader, "rows come before their dictionary");
        return read_values(self, format, array);
    }
    if (format[0] == 'v') return read_views(self, array);
    if (format[0] != '+') return read_values(self, format, array);
    if (format[1] == 'l' || format[1] == 'L' || format[1] == 'm' || format[1] == 'v') NL_TRY(read_lists(self, format, array));
    NL_TRY(read_children(self, schema, array));
    if (is_run_end && (array->n_children != 2 || array->children[0]->n_buffers != 2 || !strchr("sil", schema->children[0]->format[0])))
        return malformed(self->reader, "run ends");
    return NULL;
}

static nl_status start_body(nl_ipc_reader *self, message *from, nl_fb_at batch, nl_arena *arena, body_reader *made, int64_t *row_count)
{
    nl_fb *fb = &from->fb;
    *made = (body_reader){.reader = self, .from = from, .arena = arena};
    *row_count = nl_fb_integer(fb, batch, 0, 8, 0);
    made->nodes = nl_fb_vector(fb, batch, 1, 16, &made->node_count);
    made->buffers = nl_fb_vector(fb, batch, 2, 16, &made->buffer_count);
    made->variadic = nl_fb_vector(fb, batch, 4, 8, &made->variadic_count);
    const nl_fb_at compression = nl_fb_table(fb, batch, 3);
    if (fb->is_bad || *row_count < 0 || !holds_rows(from, *row_count)) return malformed(self, "a record batch");
    return compression ? unsupported("compressed buffers") : NULL;
}

/* The values of a dictionary: a record batch of one column. A later one of the same id takes its place. */
static nl_status read_dictionary(nl_ipc_reader *self, message *from)
{
    const int64_t id = nl_fb_integer(&from->fb, from->header, 0, 8, 0);
    const nl_fb_at batch = nl_fb_table(&from->fb, from->header, 1);
    if (from->fb.is_bad || !batch) return malformed(self, "a dictionary");
    if (nl_fb_integer(&from->fb, from->header, 2, 1, 0)) return unsupported("a dictionary that grows");
    for (uint32_t i = 0; i < self->dictionaries.count; i++) {
        dictionary *entry = self->dictionaries.items[i];
        if (entry->id != id) continue;
        body_reader body;
        int64_t row_count;
        NL_TRY(start_body(self, from, batch, self->arena, &body, &row_count));
        struct ArrowArray *values = NL_NEW(self->arena, struct ArrowArray);
        NL_TRY(nl_arena_check(self->arena));
        NL_TRY(read_array(&body, entry->field->dictionary, values));
        entry->values = values;
    }
    return NULL;
}

/* The arrays and the stream live as long as the batch's strings. */
typedef struct batch_owner {
    nl_arena *arena;
    nl_buffer *stream; /* counted; or NULL */
} batch_owner;

static void release_batch(struct ArrowArray *array)
{
    const batch_owner owner = *(const batch_owner *)array->private_data;
    array->release = NULL;
    nl_buffer_release(owner.stream);
    nl_arena_free(owner.arena);
}

static nl_status read_batch(nl_ipc_reader *self, message *from, nl_batch *batch)
{
    nl_arena *arena = nl_arena_new(NULL);
    batch_owner *owner = NL_NEW(arena, batch_owner);
    *owner = (batch_owner){arena, nl_buffer_retain(self->owner)};
    struct ArrowArray root = {.release = release_batch, .private_data = owner};
    body_reader body;
    nl_status status = start_body(self, from, from->header, arena, &body, &root.length);
    if (!status) status = read_children(&body, &self->schema, &root);
    if (!status) return nl_arrow_import_batch(&root, &self->schema, self->type, self->memory, batch);
    root.release(&root);
    return status;
}

/* ---- the reader */

nl_status nl_ipc_reader_new(nl_str stream, nl_buffer *owner, nl_memory *memory, nl_ipc_reader **reader)
{
    nl_ipc_reader *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof(*self)), NL_P_INT("receivedBytes", 0));
    *self = (nl_ipc_reader){.arena = nl_arena_new(NULL), .memory = memory, .data = (const uint8_t *)stream.data, .size = stream.length};
    nl_status status = NULL;
    if ((uintptr_t)stream.data % 8) {
        status = nl_buffer_new(memory, stream.length, false, &self->owner);
        if (!status) memcpy(self->owner->data, stream.data, stream.length);
        if (!status) self->data = self->owner->data;
    } else {
        self->owner = nl_buffer_retain(owner);
    }
    if (!status) status = read_schema(self);
    if (status)
        nl_ipc_reader_free(self);
    else
        *reader = self;
    return status;
}

const nl_type *nl_ipc_reader_schema(const nl_ipc_reader *reader)
{
    return reader->type;
}

nl_status nl_ipc_reader_next(nl_ipc_reader *reader, nl_batch *batch, bool *is_done)
{
    for (;;) {
        message next;
        NL_TRY(next_message(reader, &next));
        *is_done = next.kind == 0;
        if (*is_done) return NULL;
        if (next.kind == NL_IPC_HEADER_RECORD_BATCH) return read_batch(reader, &next, batch);
        if (next.kind != NL_IPC_HEADER_DICTIONARY_BATCH) return malformed(reader, "a message of another kind");
        NL_TRY(read_dictionary(reader, &next));
    }
}

void nl_ipc_reader_free(nl_ipc_reader *reader)
{
    if (!reader) return;
    nl_arena_free(reader->arena);
    nl_buffer_release(reader->owner);
    free(reader);
}
