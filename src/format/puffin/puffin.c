/* format/puffin/puffin.c - see puffin.h.
 *
 *     Magic Blob₁ … Blobₙ Footer       Footer = Magic Payload PayloadSize(4, LE) Flags(4) Magic
 */
#include "format/puffin/puffin.h"

#include "base/cursor.h"
#include "base/json.h"

#define TAIL_BYTES        12u           /* payload size, flags, magic */
#define FIRST_READ_BYTES  (32u << 10)   /* most footers are much smaller */
#define FLAG_COMPRESSED   1u            /* bit 0 of the first flag byte: the payload is an LZ4 frame */

static const uint8_t magic[4] = {'P', 'F', 'A', '1'};

static nl_status corrupt(const nl_file *file, uint64_t offset, const char *problem)
{
    return NL_RAISE(NILAS_CORRUPT_FILE, NL_P_STR("path", nl_file_path(file)), NL_P_INT("offset", (int64_t)offset), NL_P("column", ""),
                    NL_P("problem", problem));
}

/* ---- The footer's JSON ---- */

static nl_status read_properties(nl_arena *arena, const json_t *json, nl_str path, const nl_puffin_property **properties, uint32_t *count)
{
    const json_t *object = json_object_get(json, "properties");
    if (!object || json_is_null(object)) return NULL;
    NL_TRY(nl_json_object(object, path, "properties"));
    nl_puffin_property *items = NL_NEW_ARRAY(arena, nl_puffin_property, json_object_size(object) + 1);
    NL_TRY(nl_arena_check(arena));
    uint32_t used = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (!json_is_string(value)) return nl_json_corrupt(path, "the property %s is no string", key);
        items[used].key = nl_arena_str(arena, nl_str_from(key));
        items[used++].value = nl_arena_str(arena, (nl_str){json_string_value(value), json_string_length(value)});
    }
    *properties = items;
    *count = used;
    return NULL;
}

static nl_status find_codec(nl_str name, nl_str path, nl_codec *codec)
{
    if (!name.length) *codec = NL_CODEC_NONE;
    else if (nl_str_is_nocase(name, "lz4")) *codec = NL_CODEC_LZ4_FRAME;
    else if (nl_str_is_nocase(name, "zstd")) *codec = NL_CODEC_ZSTD;
    else return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The Puffin codec " NL_STR_FMT " of " NL_STR_FMT " is not supported", NL_STR_ARG(name), NL_STR_ARG(path));
    return NULL;
}

static nl_status read_blob_metadata(nl_arena *arena, const json_t *json, nl_str path, uint64_t footer_start, nl_puffin_blob *blob)
{
    int64_t offset = 0;
    int64_t length = 0;
    nl_str codec = {0};
    const json_t *fields;
    NL_TRY(nl_json_object(json, path, "a blob's metadata"));
    NL_TRY(nl_json_text(json, "type", path, &blob->type));
    NL_TRY(nl_json_array(json, "fields", path, &fields));
    NL_TRY(nl_json_int32_list(arena, fields, "fields", path, &blob->fields, &blob->field_count));
    NL_TRY(nl_json_int64(json, "snapshot-id", path, &blob->snapshot_id));
    NL_TRY(nl_json_int64(json, "sequence-number", path, &blob->sequence_number));
    NL_TRY(nl_json_int64(json, "offset", path, &offset));
    NL_TRY(nl_json_int64(json, "length", path, &length));
    NL_TRY(nl_json_optional_text(json, "compression-codec", path, &codec));
    if (offset < (int64_t)sizeof(magic) || length < 0 || (uint64_t)offset > footer_start || (uint64_t)length > footer_start - (uint64_t)offset)
        return nl_json_corrupt(path, "a blob of %lld bytes at %lld lies outside of the file's body", (long long)length, (long long)offset);
    blob->offset = (uint64_t)offset;
    blob->length = (uint64_t)length;
    blob->type = nl_arena_str(arena, blob->type);
    NL_TRY(find_codec(codec, path, &blob->codec));
    return read_properties(arena, json, path, &blob->properties, &blob->property_count);
}

static nl_status read_payload(nl_arena *arena, nl_str text, nl_str path, uint64_t footer_start, nl_puffin *puffin)
{
    nl_arena *scratch = nl_arena_new(NULL);
    const json_t *json;
    const json_t *blobs;
    nl_status status;
    NL_GO(nl_json_parse(scratch, text, path, &json));
    NL_GO(nl_json_object(json, path, "a Puffin footer"));
    NL_GO(nl_json_array(json, "blobs", path, &blobs));
    const uint32_t count = (uint32_t)json_array_size(blobs);
    nl_puffin_blob *made = NL_NEW_ARRAY(arena, nl_puffin_blob, (size_t)count + 1);
    NL_GO(nl_arena_check(arena));
    for (uint32_t i = 0; i < count; i++)
        NL_GO(read_blob_metadata(arena, json_array_get(blobs, i), path, footer_start, &made[i]));
    puffin->blobs = made;
    puffin->blob_count = count;
    status = read_properties(arena, json, path, &puffin->properties, &puffin->property_count);
done:
    nl_arena_free(scratch);
    return status;
}

/* ---- Reading ---- */

/* The last `length` bytes of the file. */
static nl_status read_tail(nl_file *file, size_t length, nl_memory *memory, nl_buffer **tail)
{
    NL_TRY(nl_buffer_new(memory, length, false, tail));
    nl_status status = nl_file_read(file, nl_file_size(file) - length, length, (*tail)->data);
    if (status) {
        nl_buffer_release(*tail);
        *tail = NULL;
    }
    return status;
}

/* The footer's payload as it is stored, with its flags. */
typedef struct footer {
    nl_buffer *tail; /* owned */
    nl_bytes payload;
    uint32_t flags;
    uint64_t start;  /* of the footer's first magic, in the file */
} footer;

static nl_status find_footer(nl_file *file, nl_memory *memory, footer *found)
{
    const uint64_t size = nl_file_size(file);
    if (size < sizeof(magic) + sizeof(magic) + TAIL_BYTES) return corrupt(file, size, "it is too short for a Puffin file");
    size_t length = (size_t)NL_MIN(size, FIRST_READ_BYTES);
    for (;;) {
        NL_TRY(read_tail(file, length, memory, &found->tail));
        nl_cursor end = nl_cursor_over(found->tail->data + length - TAIL_BYTES, TAIL_BYTES, nl_file_path(file));
        const uint32_t payload_bytes = nl_cursor_u32(&end);
        found->flags = nl_cursor_u32(&end);
        const nl_bytes last = nl_cursor_bytes(&end, sizeof(magic));
        const uint64_t footer_bytes = sizeof(magic) + (uint64_t)payload_bytes + TAIL_BYTES;
        if (memcmp(last.data, magic, sizeof(magic)) != 0) return corrupt(file, size - sizeof(magic), "it does not end as a Puffin file");
        if (payload_bytes > NL_PUFFIN_FOOTER_BYTES_MAX || footer_bytes > size - sizeof(magic))
            return corrupt(file, size - TAIL_BYTES, "its footer claims more bytes than there are");
        if (footer_bytes <= length) {
            const uint8_t *start = found->tail->data + (length - footer_bytes);
            found->start = size - footer_bytes;
            found->payload = (nl_bytes){start + sizeof(magic), payload_bytes};
            return memcmp(start, magic, sizeof(magic)) == 0 ? NULL : corrupt(file, found->start, "its footer does not start with the magic");
        }
        length = (size_t)footer_bytes;
        nl_buffer_release(found->tail);
        found->tail = NULL;
    }
}

static nl_status check_start(nl_file *file)
{
    uint8_t first[sizeof(magic)];
    NL_TRY(nl_file_read(file, 0, sizeof(first), first));
    return memcmp(first, magic, sizeof(magic)) == 0 ? NULL : corrupt(file, 0, "it does not start as a Puffin file");
}

static nl_status unpack(nl_file *file, nl_codec codec, nl_bytes stored, uint64_t offset, size_t limit, nl_memory *memory, nl_buffer **plain)
{
    nl_codec_context *codecs = nl_codec_context_new(memory);
    const char *problem = NULL;
    nl_status status = nl_codec_decompress_grow(codecs, codec, stored, limit, memory, plain, &problem);
    if (!status && problem) status = corrupt(file, offset, problem);
    nl_codec_context_free(codecs);
    return status;
}

nl_status nl_puffin_read_footer(nl_file *file, nl_memory *memory, nl_arena *arena, nl_puffin *puffin)
{
    footer found = {0};
    nl_buffer *plain = NULL;
    nl_puffin made = {0};
    nl_status status;
    NL_GO(find_footer(file, memory, &found)); /* which looks at the size first */
    NL_GO(check_start(file));
    if (found.flags & ~FLAG_COMPRESSED)
        NL_GO(NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The Puffin file " NL_STR_FMT " has unknown flags (%08x)", NL_STR_ARG(nl_file_path(file)), found.flags));
    nl_bytes payload = found.payload;
    if (found.flags & FLAG_COMPRESSED) {
        NL_GO(unpack(file, NL_CODEC_LZ4_FRAME, payload, found.start + sizeof(magic), NL_PUFFIN_FOOTER_BYTES_MAX, memory, &plain));
        payload = (nl_bytes){plain->data, plain->size_bytes};
    }
    NL_GO(read_payload(arena, (nl_str){(const char *)payload.data, payload.length}, nl_file_path(file), found.start, &made));
    made.footer_bytes = nl_file_size(file) - found.start;
    *puffin = made;
done:
    nl_buffer_release(plain);
    nl_buffer_release(found.tail);
    return nl_note_if(status, NL_HERE, "reading the footer of " NL_STR_FMT, NL_STR_ARG(nl_file_path(file)));
}

nl_status nl_puffin_read_blob(nl_file *file, const nl_puffin_blob *blob, nl_memory *memory, nl_buffer **content)
{
    const uint64_t size = nl_file_size(file);
    if (blob->offset > size || blob->length > size - blob->offset || blob->length > NL_PUFFIN_BLOB_BYTES_MAX)
        return corrupt(file, blob->offset, "a blob lies outside of the file, or is too large");
    nl_buffer *stored = NULL;
    NL_TRY(nl_buffer_new(memory, (size_t)blob->length, false, &stored));
    nl_status status = nl_file_read(file, blob->offset, (size_t)blob->length, stored->data);
    if (!status && blob->codec != NL_CODEC_NONE) {
        nl_buffer *plain = NULL;
        status = unpack(file, blob->codec, (nl_bytes){stored->data, stored->size_bytes}, blob->offset, NL_PUFFIN_BLOB_BYTES_MAX, memory, &plain);
        nl_buffer_release(stored);
        stored = plain;
    }
    if (status) nl_buffer_release(stored);
    else *content = stored;
    return status;
}

nl_str nl_puffin_property_of(const nl_puffin_blob *blob, const char *key)
{
    for (uint32_t i = 0; i < blob->property_count; i++)
        if (nl_str_is(blob->properties[i].key, key)) return blob->properties[i].value;
    return (nl_str){0};
}

/* ---- Writing ---- */

struct nl_puffin_writer {
    nl_output *output; /* owned */
    nl_memory *memory; /* counted; may be NULL */
    nl_arena *arena;
    nl_codec_context *codecs;
    nl_list blobs; /* of nl_puffin_blob */
};

static void free_writer(nl_puffin_writer *writer)
{
    nl_memory *memory = writer->memory;
    nl_codec_context_free(writer->codecs);
    nl_arena_free(writer->arena);
    if (memory) nl_memory_release(memory);
}

void nl_puffin_writer_abort(nl_puffin_writer *writer)
{
    if (!writer) return;
    nl_output_abort(writer->output);
    free_writer(writer);
}

nl_status nl_puffin_writer_create(nl_output *output, nl_memory *memory, nl_puffin_writer **writer)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_puffin_writer *made = NL_NEW(arena, nl_puffin_writer);
    made->arena = arena;
    made->output = output;
    made->memory = memory ? nl_memory_retain(memory) : NULL;
    made->codecs = nl_codec_context_new(memory);
    nl_status status = nl_output_write(output, magic, sizeof(magic));
    if (status) nl_puffin_writer_abort(made);
    else *writer = made;
    return status;
}

static nl_puffin_blob *keep_blob(nl_puffin_writer *writer, const nl_puffin_blob *blob)
{
    nl_puffin_blob *kept = NL_NEW(writer->arena, nl_puffin_blob);
    int32_t *fields = NL_NEW_ARRAY(writer->arena, int32_t, (size_t)blob->field_count + 1);
    nl_puffin_property *properties = NL_NEW_ARRAY(writer->arena, nl_puffin_property, (size_t)blob->property_count + 1);
    *kept = *blob;
    kept->type = nl_arena_str(writer->arena, blob->type);
    for (uint32_t i = 0; i < blob->field_count; i++)
        fields[i] = blob->fields[i];
    for (uint32_t i = 0; i < blob->property_count; i++)
        properties[i] = (nl_puffin_property){nl_arena_str(writer->arena, blob->properties[i].key), nl_arena_str(writer->arena, blob->properties[i].value)};
    kept->fields = fields;
    kept->properties = properties;
    nl_list_add(writer->arena, &writer->blobs, kept);
    return kept;
}

nl_status nl_puffin_writer_add(nl_puffin_writer *writer, nl_bytes content, nl_puffin_blob *blob)
{
    nl_buffer *packed = NULL;
    nl_bytes stored = content;
    nl_status status = NULL;
    NL_CHECK(content.length <= NL_PUFFIN_BLOB_BYTES_MAX);
    if (blob->codec != NL_CODEC_NONE) {
        const size_t capacity = nl_codec_bound(blob->codec, content.length);
        size_t length = 0;
        NL_TRY(nl_buffer_new(writer->memory, capacity, false, &packed));
        NL_GO(nl_codec_compress(writer->codecs, blob->codec, NL_CODEC_LEVEL_DEFAULT, content, packed->data, capacity, &length));
        stored = (nl_bytes){packed->data, length};
    }
    blob->offset = nl_output_position(writer->output);
    blob->length = stored.length;
    NL_GO(nl_output_write(writer->output, stored.data, stored.length));
    keep_blob(writer, blob);
    status = nl_arena_check(writer->arena);
done:
    nl_buffer_release(packed);
    return status;
}

uint64_t nl_puffin_writer_bytes(const nl_puffin_writer *writer)
{
    return nl_output_position(writer->output);
}

static void write_properties(nl_json_writer *json, const nl_puffin_property *properties, uint32_t count)
{
    nl_json_key(json, "properties");
    nl_json_begin(json, '{');
    for (uint32_t i = 0; i < count; i++) {
        nl_json_key_str(json, properties[i].key);
        nl_json_write_text(json, properties[i].value);
    }
    nl_json_end(json, '}');
}

/* Keys in the order of Java's FileMetadataParser. */
static void write_blob(nl_json_writer *json, const nl_puffin_blob *blob)
{
    nl_json_begin(json, '{');
    nl_json_key(json, "type");
    nl_json_write_text(json, blob->type);
    nl_json_key(json, "fields");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < blob->field_count; i++)
        nl_json_write_int(json, blob->fields[i]);
    nl_json_end(json, ']');
    nl_json_key(json, "snapshot-id");
    nl_json_write_int(json, blob->snapshot_id);
    nl_json_key(json, "sequence-number");
    nl_json_write_int(json, blob->sequence_number);
    nl_json_key(json, "offset");
    nl_json_write_int(json, (int64_t)blob->offset);
    nl_json_key(json, "length");
    nl_json_write_int(json, (int64_t)blob->length);
    if (blob->codec != NL_CODEC_NONE) {
        nl_json_key(json, "compression-codec");
        nl_json_write_text(json, blob->codec == NL_CODEC_ZSTD ? NL_STR("zstd") : NL_STR("lz4"));
    }
    if (blob->property_count) write_properties(json, blob->properties, blob->property_count);
    nl_json_end(json, '}');
}

static void write_payload(const nl_puffin_writer *writer, nl_str created_by, nl_builder *text)
{
    const nl_puffin_property creator = {NL_STR("created-by"), created_by.length ? created_by : NL_STR("nilas version " NILAS_VERSION)};
    nl_json_writer json = {.out = text};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "blobs");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < writer->blobs.count; i++)
        write_blob(&json, writer->blobs.items[i]);
    nl_json_end(&json, ']');
    write_properties(&json, &creator, 1);
    nl_json_end(&json, '}');
}

static nl_status write_footer(nl_puffin_writer *writer, nl_str created_by, uint64_t *footer_bytes)
{
    nl_builder payload;
    nl_builder_init(&payload, NL_PUFFIN_FOOTER_BYTES_MAX);
    write_payload(writer, created_by, &payload);
    uint8_t tail[TAIL_BYTES] = {0};
    for (int i = 0; i < 4; i++)
        tail[i] = (uint8_t)(payload.length >> (8 * i));
    memcpy(tail + 8, magic, sizeof(magic));
    nl_status status = nl_builder_failed(&payload) ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The footer of a Puffin file is too large") : NULL;
    if (!status) status = nl_output_write(writer->output, magic, sizeof(magic));
    if (!status) status = nl_output_write(writer->output, payload.data, payload.length);
    if (!status) status = nl_output_write(writer->output, tail, sizeof(tail));
    *footer_bytes = sizeof(magic) + payload.length + TAIL_BYTES;
    nl_builder_fini(&payload);
    return status;
}

nl_status nl_puffin_writer_close(nl_puffin_writer *writer, nl_str created_by, uint64_t *file_bytes, uint64_t *footer_bytes)
{
    uint64_t footer_length = 0;
    nl_status status = write_footer(writer, created_by, &footer_length);
    if (status) {
        nl_puffin_writer_abort(writer);
        return status;
    }
    const uint64_t position = nl_output_position(writer->output);
    status = nl_output_close(writer->output);
    free_writer(writer);
    if (!status && file_bytes) *file_bytes = position;
    if (!status && footer_bytes) *footer_bytes = footer_length;
    return status;
}
