/* format/orc/tail.c - see tail.h. Source: ORC specification v1, File Tail; orc_proto.proto for field numbers. The file ends
 * with the postscript and its length in one byte; before it lie the footer and, before that, the stripes' statistics. */
#include "format/orc/tail.h"

#include "base/limits.h"
#include "base/number.h"
#include "format/orc/proto.h"

#define FIRST_READ_BYTES (64u << 10)
#define TAIL_BYTES_MAX   (512ull << 20)
#define CHUNK_BYTES_MAX  (8u << 20) /* a chunk's stored length has 23 bits */

typedef struct tail_object {
    nl_orc_tail tail; /* first */
    nl_arena *arena;  /* of everything */
    nl_buffer *footer, *metadata;
    nl_cursor *stripe_messages; /* StripeStatistics, by stripe; as many as there are */
    uint32_t stripe_message_count;
    atomic_uint references;
} tail_object;

typedef struct postscript {
    uint64_t footer_length, metadata_length, chunk_max, compression;
    bool has_magic;
} postscript;

const char *nl_orc_kind_name(nl_orc_kind kind)
{
    static const char *const names[] = {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "timestamp", "array", "map", "struct",
                                        "uniontype", "decimal", "date", "varchar", "char", "timestamp with local time zone"};
    return names[kind];
}

static nl_status corrupt(nl_file *file, uint64_t offset, const char *problem)
{
    return nl_orc_corrupt(nl_file_path(file), offset, (nl_str){0}, "%s", problem);
}

/* ---- postscript ---- */

static nl_status parse_postscript(nl_cursor *in, postscript *out)
{
    nl_proto_field field;
    while (nl_proto_next(in, &field)) {
        switch (field.number) {
        case 1: out->footer_length = field.value; break;
        case 2: out->compression = field.value; break;
        case 3: out->chunk_max = field.value; break;
        case 5: out->metadata_length = field.value; break;
        case 8000: out->has_magic = nl_str_is(nl_proto_str(&field), "ORC"); break;
        default: break;
        }
    }
    return nl_cursor_status(in);
}

static nl_status choose_codec(nl_orc_tail *tail, const postscript *script)
{
    static const nl_codec codecs[] = {NL_CODEC_NONE, NL_CODEC_DEFLATE, NL_CODEC_SNAPPY, NL_CODEC_COUNT, NL_CODEC_LZ4_RAW, NL_CODEC_ZSTD, NL_CODEC_BROTLI};
    if (script->compression >= NL_COUNT(codecs) || codecs[script->compression] == NL_CODEC_COUNT)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The ORC file " NL_STR_FMT " is compressed with %s, which nilas does not read.", NL_STR_ARG(tail->path), script->compression == 3 ? "LZO" : "a codec unknown to it");
    tail->codec = codecs[script->compression];
    if (script->chunk_max > CHUNK_BYTES_MAX && tail->codec != NL_CODEC_NONE) return nl_orc_corrupt(tail->path, tail->file_size, (nl_str){0}, "chunks of %llu bytes", (unsigned long long)script->chunk_max);
    tail->chunk_max = script->chunk_max ? (uint32_t)script->chunk_max : 256u << 10;
    return NULL;
}

/* ---- types ---- */

static void parse_attribute(nl_cursor *in, nl_orc_type *type)
{
    nl_proto_field field;
    nl_str key = {0}, value = {0};
    int64_t number;
    while (nl_proto_next(in, &field)) {
        if (field.number == 1) key = nl_proto_str(&field);
        if (field.number == 2) value = nl_proto_str(&field);
    }
    if (nl_str_is(key, "spark.sql.catalyst.type")) type->catalyst_type = value;
    if (nl_str_is(key, "iceberg.id") && nl_parse_int64(value, &number) && number > 0 && number <= INT32_MAX) type->field_id = (int32_t)number;
    if (nl_str_is(key, "iceberg.required")) type->is_required = nl_str_is(value, "true");
    if (nl_str_is(key, "iceberg.binary-type")) type->binary_type = value;
    if (nl_str_is(key, "iceberg.long-type")) type->long_type = value;
}

/* A Type message whose children are numbers still. */
typedef struct raw_type {
    uint32_t *children;
    uint32_t child_count, child_room;
    nl_list names; /* nl_str * */
} raw_type;

static nl_status parse_type(nl_cursor *in, nl_arena *arena, nl_orc_type *type, raw_type *raw)
{
    nl_proto_field field;
    uint64_t number;
    while (nl_proto_next(in, &field)) {
        bool is_started = false;
        switch (field.number) {
        case 1:
            if (field.value >= NL_ORC_KIND_COUNT) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The ORC file " NL_STR_FMT " has a column of a type that nilas does not know: number %llu.", NL_STR_ARG(in->path), (unsigned long long)field.value);
            type->kind = (nl_orc_kind)field.value;
            break;
        case 2:
            while (nl_proto_next_number(&field, &is_started, &number)) {
                if (raw->child_count == raw->child_room) {
                    uint32_t *larger = NL_NEW_ARRAY(arena, uint32_t, 2 * raw->child_room + 4);
                    if (raw->child_count) memcpy(larger, raw->children, raw->child_count * sizeof(*larger));
                    raw->children = larger;
                    raw->child_room = 2 * raw->child_room + 4;
                }
                raw->children[raw->child_count++] = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
            }
            break;
        case 3: {
            nl_str *name = NL_NEW(arena, nl_str);
            *name = nl_proto_str(&field);
            nl_list_add(arena, &raw->names, name);
            break;
        }
        case 4: type->length_max = (uint32_t)field.value; break;
        case 5: type->precision = (uint32_t)field.value; break;
        case 6: type->scale = (uint32_t)field.value; break;
        case 7: parse_attribute(&field.bytes, type); break;
        default: break;
        }
    }
    NL_TRY(nl_arena_check(arena));
    return nl_cursor_status(in);
}

static nl_status bad_type(const nl_orc_tail *tail, uint32_t id, const char *problem)
{
    return nl_orc_corrupt(tail->path, tail->file_size, (nl_str){0}, "the type of column number %u %s", id, problem);
}

static nl_status check_shape(const nl_orc_tail *tail, const nl_orc_type *type, const raw_type *raw)
{
    const uint32_t count = raw->child_count;
    if (type->kind == NL_ORC_LIST && count != 1) return bad_type(tail, type->id, "is a list without one element type");
    if (type->kind == NL_ORC_MAP && count != 2) return bad_type(tail, type->id, "is a map without two types");
    if (type->kind == NL_ORC_STRUCT && count != raw->names.count) return bad_type(tail, type->id, "is a struct whose fields have not one name each");
    const bool is_nested = type->kind == NL_ORC_LIST || type->kind == NL_ORC_MAP || type->kind == NL_ORC_STRUCT || type->kind == NL_ORC_UNION;
    if (!is_nested && count > 0) return bad_type(tail, type->id, "has types below it");
    if (type->kind == NL_ORC_DECIMAL && (type->precision > 38 || (type->precision > 0 && type->scale > type->precision))) return bad_type(tail, type->id, "is a decimal that cannot be");
    return NULL;
}

/* Children come after their parents, each with one parent: the tree has no circles. */
static nl_status link_types(nl_orc_tail *tail, nl_arena *arena, nl_orc_type *types, raw_type *raws)
{
    uint8_t *depths = NULL;
    NL_TRY(nl_arena_alloc_sized(arena, tail->type_count, (void **)&depths));
    for (uint32_t id = 0; id < tail->type_count; id++) {
        nl_orc_type *type = &types[id];
        raw_type *raw = &raws[id];
        NL_TRY(check_shape(tail, type, raw));
        if (id > 0 && depths[id] == 0) return bad_type(tail, id, "belongs to no column");
        type->children = NL_NEW_ARRAY(arena, const nl_orc_type *, raw->child_count + 1);
        type->child_count = raw->child_count;
        for (uint32_t i = 0; i < raw->child_count; i++) {
            const uint32_t child = raw->children[i];
            if (child <= id || child >= tail->type_count || depths[child] > 0) return bad_type(tail, id, "has types below it that cannot be");
            if (depths[id] + 1u > NL_TYPE_DEPTH_MAX) return bad_type(tail, id, "is nested too deeply");
            depths[child] = (uint8_t)(depths[id] + 1);
            type->children[i] = &types[child];
            types[child].parent = type;
            types[child].name = type->kind == NL_ORC_STRUCT ? *(nl_str *)raw->names.items[i] : type->kind == NL_ORC_LIST ? NL_STR("element") : i == 0 ? NL_STR("key") : NL_STR("value");
            types[child].path = id == 0 ? types[child].name : nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(type->path), NL_STR_ARG(types[child].name));
            tail->has_field_ids |= types[child].field_id > 0;
        }
        NL_TRY(nl_arena_check(arena));
    }
    return NULL;
}

/* ---- footer ---- */

static nl_status parse_stripe(nl_cursor *in, nl_orc_tail *tail, nl_orc_stripe *stripe)
{
    nl_proto_field field;
    while (nl_proto_next(in, &field)) {
        switch (field.number) {
        case 1: stripe->offset = field.value; break;
        case 2: stripe->index_length = field.value; break;
        case 3: stripe->data_length = field.value; break;
        case 4: stripe->footer_length = field.value; break;
        case 5: stripe->row_count = field.value; break;
        default: break;
        }
    }
    NL_TRY(nl_cursor_status(in));
    const uint64_t size = tail->file_size;
    if (stripe->offset > size || stripe->index_length > size || stripe->data_length > size || stripe->footer_length > size ||
        stripe->offset + stripe->index_length + stripe->data_length + stripe->footer_length > size)
        return nl_orc_corrupt(tail->path, stripe->offset, (nl_str){0}, "a stripe goes beyond the file's end");
    if (stripe->row_count > INT64_MAX / 2 - stripe->first_row) return nl_orc_corrupt(tail->path, stripe->offset, (nl_str){0}, "more rows than can be");
    return NULL;
}

static nl_property parse_item(nl_cursor *in)
{
    nl_proto_field field;
    nl_property item = {0};
    while (nl_proto_next(in, &field)) {
        if (field.number == 1) item.key = nl_proto_str(&field);
        if (field.number == 2) item.value = nl_proto_str(&field);
    }
    return item;
}

typedef struct footer_counts {
    uint32_t stripes, types, items;
} footer_counts;

static nl_status count_parts(nl_cursor in, footer_counts *counts)
{
    nl_proto_field field;
    while (nl_proto_next(&in, &field)) {
        counts->stripes += field.number == 3;
        counts->types += field.number == 4;
        counts->items += field.number == 5;
        if (field.number == 10) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The ORC file " NL_STR_FMT " has encrypted columns, which nilas does not read.", NL_STR_ARG(in.path));
    }
    return nl_cursor_status(&in);
}

static nl_status parse_footer(tail_object *object, nl_cursor in)
{
    nl_orc_tail *tail = &object->tail;
    nl_arena *arena = object->arena;
    footer_counts counts = {0};
    nl_orc_stripe *stripes = NULL;
    nl_orc_type *types = NULL;
    nl_property *items = NULL;
    raw_type *raws = NULL;
    nl_proto_field field;
    NL_TRY(count_parts(in, &counts));
    if (counts.types == 0) return nl_orc_corrupt(tail->path, in.file_offset, (nl_str){0}, "the footer has no types");
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(counts.stripes + 1u, sizeof(*stripes)), (void **)&stripes));
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(counts.types, sizeof(*types)), (void **)&types));
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(counts.types, sizeof(*raws)), (void **)&raws));
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(counts.items + 1u, sizeof(*items)), (void **)&items));
    uint64_t rows = 0;
    while (nl_proto_next(&in, &field)) {
        if (field.number == 3) {
            stripes[tail->stripe_count].first_row = rows;
            NL_TRY(parse_stripe(&field.bytes, tail, &stripes[tail->stripe_count]));
            rows += stripes[tail->stripe_count++].row_count;
        } else if (field.number == 4) {
            types[tail->type_count].id = tail->type_count;
            NL_TRY(parse_type(&field.bytes, arena, &types[tail->type_count], &raws[tail->type_count]));
            tail->type_count++;
        } else if (field.number == 5) {
            items[tail->metadata_count++] = parse_item(&field.bytes);
        } else if (field.number == 6) {
            tail->row_count = field.value;
        } else if (field.number == 8) {
            tail->row_index_stride = (uint32_t)NL_MIN(field.value, (uint64_t)INT32_MAX);
        } else if (field.number == 11) {
            tail->is_proleptic = field.value == 2;
        }
    }
    NL_TRY(nl_cursor_status(&in));
    if (tail->row_count != rows) return nl_orc_corrupt(tail->path, in.file_offset, (nl_str){0}, "the footer tells of %llu rows, its stripes of %llu", (unsigned long long)tail->row_count, (unsigned long long)rows);
    NL_TRY(link_types(tail, arena, types, raws));
    if (types[0].kind != NL_ORC_STRUCT) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The rows of the ORC file " NL_STR_FMT " are no structs but of the type %s.", NL_STR_ARG(tail->path), nl_orc_kind_name(types[0].kind));
    tail->stripes = stripes;
    tail->types = types;
    tail->root = &types[0];
    tail->metadata = items;
    return NULL;
}

static nl_status index_statistics(tail_object *object, nl_cursor in)
{
    nl_proto_field field;
    NL_TRY(nl_arena_alloc_sized(object->arena, nl_size_mul(object->tail.stripe_count + 1u, sizeof(nl_cursor)), (void **)&object->stripe_messages));
    while (object->stripe_message_count < object->tail.stripe_count && nl_proto_next(&in, &field))
        if (field.number == 1) object->stripe_messages[object->stripe_message_count++] = field.bytes;
    return nl_cursor_status(&in);
}

/* ---- reading ---- */

static nl_status read_end(nl_file *file, nl_memory *memory, uint64_t length, nl_buffer **end)
{
    nl_buffer *buffer = NULL;
    NL_TRY(nl_buffer_new(memory, (size_t)length, false, &buffer));
    nl_status status = nl_file_read(file, nl_file_size(file) - length, (size_t)length, buffer->data);
    if (status) nl_buffer_release(buffer);
    else *end = buffer;
    return status;
}

static nl_cursor over(const tail_object *object, const nl_buffer *buffer, uint64_t file_offset)
{
    nl_cursor in = nl_cursor_over(buffer->data, buffer->size_bytes, object->tail.path);
    in.file_offset = file_offset;
    return in;
}

/* end: the file's last bytes. */
static nl_status parse_sections(tail_object *object, nl_file *file, nl_memory *memory, nl_codec_context *codecs, nl_buffer **end)
{
    nl_orc_tail *tail = &object->tail;
    const uint64_t size = tail->file_size;
    const uint32_t script_length = (*end)->data[(*end)->size_bytes - 1];
    postscript script = {0};
    if (script_length + 1u > (*end)->size_bytes) return corrupt(file, size - 1, "the postscript is announced larger than the file");
    nl_cursor in = nl_cursor_over((*end)->data + (*end)->size_bytes - 1 - script_length, script_length, tail->path);
    in.file_offset = size - 1 - script_length;
    nl_status parsed = parse_postscript(&in, &script);
    if (parsed || !script.has_magic) {
        nl_error_free(parsed);
        return corrupt(file, in.file_offset, "it does not end as an ORC file does");
    }
    NL_TRY(choose_codec(tail, &script));
    const uint64_t before = size - 1 - script_length;
    if (script.footer_length > before || script.metadata_length > before - script.footer_length) return corrupt(file, in.file_offset, "the footer is announced larger than the file");
    const uint64_t needed = script.footer_length + script.metadata_length + script_length + 1;
    if (needed > TAIL_BYTES_MAX) return corrupt(file, in.file_offset, "the footer is larger than the limit");
    if (needed > (*end)->size_bytes) {
        nl_buffer_release(*end);
        *end = NULL;
        NL_TRY(read_end(file, memory, needed, end));
    }
    nl_orc_store store = nl_orc_tail_store(tail, file, memory, codecs);
    const uint8_t *metadata = (*end)->data + (*end)->size_bytes - needed;
    NL_TRY(nl_orc_section_unpack(&store, (nl_bytes){metadata + script.metadata_length, (size_t)script.footer_length}, size - needed + script.metadata_length, &object->footer));
    NL_TRY(nl_orc_section_unpack(&store, (nl_bytes){metadata, (size_t)script.metadata_length}, size - needed, &object->metadata));
    NL_TRY(parse_footer(object, over(object, object->footer, size - needed + script.metadata_length)));
    return index_statistics(object, over(object, object->metadata, size - needed));
}

nl_status nl_orc_tail_read(nl_file *file, nl_memory *memory, nl_orc_tail **tail)
{
    const uint64_t size = nl_file_size(file);
    nl_buffer *end = NULL;
    if (size < 4) return corrupt(file, 0, "it is too short for an ORC file");
    nl_arena *arena = nl_arena_new(memory);
    tail_object *object = NL_NEW(arena, tail_object);
    object->arena = arena;
    atomic_init(&object->references, 1);
    object->tail.path = nl_arena_str(arena, nl_file_path(file));
    object->tail.file_size = size;
    nl_codec_context *codecs = nl_codec_context_new(memory);
    nl_status status = nl_arena_check(arena);
    if (!status) status = read_end(file, memory, NL_MIN(size, (uint64_t)FIRST_READ_BYTES), &end);
    if (!status) status = parse_sections(object, file, memory, codecs, &end);
    nl_codec_context_free(codecs);
    nl_buffer_release(end);
    if (status) nl_orc_tail_release(&object->tail);
    else *tail = &object->tail;
    return status;
}

nl_orc_tail *nl_orc_tail_retain(nl_orc_tail *tail)
{
    atomic_fetch_add_explicit(&((tail_object *)(void *)tail)->references, 1, memory_order_relaxed);
    return tail;
}

void nl_orc_tail_release(nl_orc_tail *tail)
{
    if (!tail) return;
    tail_object *object = (tail_object *)(void *)tail;
    if (atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) != 1) return;
    nl_buffer_release(object->footer);
    nl_buffer_release(object->metadata);
    nl_arena_free(object->arena);
}

size_t nl_orc_tail_bytes(const nl_orc_tail *tail)
{
    const tail_object *object = (const tail_object *)(const void *)tail;
    return nl_arena_used(object->arena) + object->footer->size_bytes + object->metadata->size_bytes;
}

nl_orc_store nl_orc_tail_store(const nl_orc_tail *tail, nl_file *file, nl_memory *memory, nl_codec_context *codecs)
{
    const uint64_t fetch_bytes = nl_path_is_remote(nl_file_path(file)) ? 2u << 20 : 512u << 10;
    return (nl_orc_store){.file = file, .memory = memory, .codecs = codecs, .codec = tail->codec, .chunk_max = tail->chunk_max, .fetch_bytes = fetch_bytes};
}

/* ---- statistics ---- */

static void parse_bounds(nl_cursor *in, nl_orc_statistics *stats)
{
    nl_proto_field field;
    bool has_exact_min = false, has_exact_max = false;
    while (nl_proto_next(in, &field)) {
        const bool is_utc = stats->kind == NL_ORC_STATS_TIMESTAMP; /* fields 3 and 4; 1 and 2 depend on the writer's zone */
        const bool is_min = field.number == (is_utc ? 3u : 1u), is_max = field.number == (is_utc ? 4u : 2u);
        if (stats->kind == NL_ORC_STATS_STRING && field.number == 4 && !has_exact_min) {
            stats->has_min = true;
            stats->text_min = nl_proto_str(&field);
        }
        if (stats->kind == NL_ORC_STATS_STRING && field.number == 5 && !has_exact_max) {
            stats->has_max = true;
            stats->text_max = nl_proto_str(&field);
        }
        if (is_min) {
            stats->has_min = has_exact_min = true;
            stats->int_min = nl_proto_signed(field.value);
            stats->real_min = nl_proto_double(&field);
            stats->text_min = nl_proto_str(&field);
        } else if (is_max) {
            stats->has_max = has_exact_max = true;
            stats->int_max = nl_proto_signed(field.value);
            stats->real_max = nl_proto_double(&field);
            stats->text_max = nl_proto_str(&field);
        }
    }
}

nl_status nl_orc_statistics_parse(nl_cursor *in, nl_orc_statistics *stats)
{
    static const nl_orc_statistics_kind kinds[] = {[2] = NL_ORC_STATS_INT, [3] = NL_ORC_STATS_DOUBLE, [4] = NL_ORC_STATS_STRING, [6] = NL_ORC_STATS_DECIMAL,
                                                   [7] = NL_ORC_STATS_DATE, [9] = NL_ORC_STATS_TIMESTAMP};
    nl_proto_field field;
    *stats = (nl_orc_statistics){.may_have_null = true};
    while (nl_proto_next(in, &field)) {
        if (field.number == 1) {
            stats->has_count = true;
            stats->value_count = field.value;
        } else if (field.number == 10) {
            stats->may_have_null = field.value != 0;
        } else if (field.number == 5) {
            nl_proto_field bucket;
            stats->kind = NL_ORC_STATS_BOOLEAN;
            while (nl_proto_next(&field.bytes, &bucket)) {
                bool is_started = false;
                if (bucket.number == 1 && nl_proto_next_number(&bucket, &is_started, &stats->true_count)) stats->has_min = stats->has_max = true;
            }
        } else if (field.number < NL_COUNT(kinds) && kinds[field.number] != NL_ORC_STATS_NONE) {
            stats->kind = kinds[field.number];
            parse_bounds(&field.bytes, stats);
            if (field.bytes.has_failed) return nl_cursor_status(&field.bytes);
        }
    }
    return nl_cursor_status(in);
}

nl_status nl_orc_tail_statistics(const nl_orc_tail *tail, uint32_t stripe, uint32_t column, nl_orc_statistics *stats)
{
    const tail_object *object = (const tail_object *)(const void *)tail;
    nl_proto_field field;
    uint32_t at = 0;
    *stats = (nl_orc_statistics){.may_have_null = true};
    if (stripe >= object->stripe_message_count) return NULL;
    nl_cursor in = object->stripe_messages[stripe];
    while (nl_proto_next(&in, &field)) {
        if (field.number != 1 || at++ != column) continue;
        return nl_orc_statistics_parse(&field.bytes, stats);
    }
    return nl_cursor_status(&in);
}

/* ---- Spark's types ---- */

static nl_status type_of(const nl_orc_tail *tail, const nl_orc_type *from, nl_arena *arena, const nl_type **type);

/* Spark says by an attribute what the stored type alone does not: timestamp_ntz and intervals. */
static const nl_type *catalyst_type(nl_str name)
{
    static const char *const fields[] = {"year", "month", "day", "hour", "minute", "second"};
    nl_str first = {0}, last = {0}, rest = nl_str_slice(name, 9, name.length);
    uint32_t from = NL_COUNT(fields), to = NL_COUNT(fields);
    if (nl_str_is(name, "timestamp_ntz")) return nl_type_of(NL_TYPE_TIMESTAMP_NTZ);
    if (!nl_str_starts(name, NL_STR("interval "))) return NULL;
    first = rest;
    const size_t space = nl_str_find(rest, NL_STR(" to "), 0);
    if (space != NL_NOT_FOUND) first = nl_str_slice(rest, 0, space);
    last = space != NL_NOT_FOUND ? nl_str_slice(rest, space + 4, rest.length) : first;
    for (uint32_t i = 0; i < NL_COUNT(fields); i++) {
        if (nl_str_is(first, fields[i])) from = i;
        if (nl_str_is(last, fields[i])) to = i;
    }
    if (from > to || to == NL_COUNT(fields)) return NULL;
    if (to <= NL_FIELD_MONTH) return nl_type_interval_ym((nl_interval_field)from, (nl_interval_field)to);
    return from >= NL_FIELD_DAY ? nl_type_interval_dt((nl_interval_field)from, (nl_interval_field)to) : NULL;
}

static nl_status struct_type(const nl_orc_tail *tail, const nl_orc_type *from, nl_arena *arena, const nl_type **type)
{
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, from->child_count + 1);
    for (uint32_t i = 0; i < from->child_count; i++) {
        fields[i] = (nl_field){.name = from->children[i]->name, .is_nullable = true, .field_id = from->children[i]->field_id};
        NL_TRY(type_of(tail, from->children[i], arena, &fields[i].type));
    }
    *type = nl_type_struct(arena, fields, from->child_count);
    return nl_arena_check(arena);
}

/* True recursion: types have a limited depth. */
static nl_status type_of(const nl_orc_tail *tail, const nl_orc_type *from, nl_arena *arena, const nl_type **type)
{
    static const nl_type_id ids[] = {[NL_ORC_BOOLEAN] = NL_TYPE_BOOLEAN, [NL_ORC_BYTE] = NL_TYPE_TINYINT, [NL_ORC_SHORT] = NL_TYPE_SMALLINT, [NL_ORC_INT] = NL_TYPE_INT,
                                     [NL_ORC_LONG] = NL_TYPE_BIGINT, [NL_ORC_FLOAT] = NL_TYPE_FLOAT, [NL_ORC_DOUBLE] = NL_TYPE_DOUBLE, [NL_ORC_STRING] = NL_TYPE_STRING,
                                     [NL_ORC_BINARY] = NL_TYPE_BINARY, [NL_ORC_TIMESTAMP] = NL_TYPE_TIMESTAMP, [NL_ORC_DATE] = NL_TYPE_DATE, [NL_ORC_VARCHAR] = NL_TYPE_STRING,
                                     [NL_ORC_CHAR] = NL_TYPE_STRING, [NL_ORC_TIMESTAMP_INSTANT] = NL_TYPE_TIMESTAMP};
    const nl_type *first = NULL, *second = NULL;
    switch ((int)from->kind) {
    case NL_ORC_STRUCT: return struct_type(tail, from, arena, type);
    case NL_ORC_LIST:
        NL_TRY(type_of(tail, from->children[0], arena, &first));
        *type = nl_type_array(arena, first, true);
        return NULL;
    case NL_ORC_MAP:
        NL_TRY(type_of(tail, from->children[0], arena, &first));
        NL_TRY(type_of(tail, from->children[1], arena, &second));
        *type = nl_type_map(arena, first, second, true);
        return NULL;
    case NL_ORC_UNION:
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The column " NL_STR_FMT " of the ORC file " NL_STR_FMT " is a union, which has no type in Spark.", NL_STR_ARG(from->path), NL_STR_ARG(tail->path));
    case NL_ORC_DECIMAL:
        *type = nl_type_decimal(from->precision ? (int)from->precision : 38, from->precision ? (int)from->scale : 18); /* Hive 0.11 had no precision */
        return NULL;
    default: break;
    }
    *type = from->catalyst_type.length ? catalyst_type(from->catalyst_type) : NULL;
    if (!*type) *type = nl_type_of(ids[from->kind]);
    return NULL;
}

nl_status nl_orc_tail_type(const nl_orc_tail *tail, nl_arena *arena, const nl_type **type)
{
    return struct_type(tail, tail->root, arena, type);
}
