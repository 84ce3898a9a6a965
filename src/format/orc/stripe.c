/* format/orc/stripe.c - see stripe.h. Source: ORC specification v1, Stripes and Row Group Index. Streams lie one after the
 * other in the order of the stripe's footer, indexes first. */
#include "format/orc/stripe.h"

#include "format/orc/proto.h"

static nl_status parse_stream(nl_cursor *in, const nl_orc_stripe *stripe, uint64_t *offset, nl_orc_stream_place *place)
{
    nl_proto_field field;
    uint64_t length = 0;
    while (nl_proto_next(in, &field)) {
        if (field.number == 1) place->kind = (uint32_t)field.value;
        if (field.number == 2) place->column = (uint32_t)field.value;
        if (field.number == 3) length = field.value;
    }
    NL_TRY(nl_cursor_status(in));
    const uint64_t end = stripe->offset + stripe->index_length + stripe->data_length;
    if (length > end - *offset) return nl_orc_corrupt(in->path, *offset, (nl_str){0}, "a stream of %llu bytes goes beyond its stripe's end", (unsigned long long)length);
    place->offset = *offset;
    place->length = length;
    *offset += length;
    return NULL;
}

static nl_status parse_encoding(nl_cursor *in, nl_orc_encoding *encoding, uint32_t *dictionary_size)
{
    nl_proto_field field;
    while (nl_proto_next(in, &field)) {
        if (field.number == 1 && field.value > NL_ORC_DICTIONARY_V2) return nl_cursor_corrupt(in, "an encoding that is not known: %llu", (unsigned long long)field.value);
        if (field.number == 1) *encoding = (nl_orc_encoding)field.value;
        if (field.number == 2) *dictionary_size = (uint32_t)NL_MIN(field.value, (uint64_t)UINT32_MAX);
    }
    return nl_cursor_status(in);
}

static nl_status parse(nl_cursor in, const nl_orc_tail *tail, nl_arena *arena, nl_orc_stripe_footer *footer)
{
    nl_cursor counting = in;
    nl_proto_field field;
    uint32_t stream_count = 0, column = 0;
    uint64_t offset = footer->stripe->offset;
    nl_str zone = {0};
    while (nl_proto_next(&counting, &field)) stream_count += field.number == 1;
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(stream_count + 1u, sizeof(*footer->streams)), (void **)&footer->streams));
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(tail->type_count, sizeof(*footer->encodings)), (void **)&footer->encodings));
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(tail->type_count, sizeof(uint32_t)), (void **)&footer->dictionary_sizes));
    while (nl_proto_next(&in, &field)) {
        if (field.number == 1) NL_TRY(parse_stream(&field.bytes, footer->stripe, &offset, &footer->streams[footer->stream_count++]));
        if (field.number == 2 && column < tail->type_count) {
            NL_TRY(parse_encoding(&field.bytes, &footer->encodings[column], &footer->dictionary_sizes[column]));
            column++;
        }
        if (field.number == 3) zone = nl_proto_str(&field);
    }
    NL_TRY(nl_cursor_status(&in));
    if (column < tail->type_count) return nl_cursor_corrupt(&in, "the stripe has encodings of %u columns, the file %u", column, tail->type_count);
    footer->writer_zone = nl_timezone_utc();
    return zone.length ? nl_timezone_find(zone, &footer->writer_zone) : NULL;
}

nl_status nl_orc_stripe_footer_read(const nl_orc_tail *tail, uint32_t stripe, nl_orc_store *store, nl_arena *arena, nl_orc_stripe_footer *footer)
{
    const nl_orc_stripe *of = &tail->stripes[stripe];
    const uint64_t offset = of->offset + of->index_length + of->data_length;
    nl_buffer *plain = NULL;
    *footer = (nl_orc_stripe_footer){.stripe = of};
    NL_TRY(nl_orc_section_read(store, offset, of->footer_length, &plain));
    nl_cursor in = nl_cursor_over(plain->data, plain->size_bytes, tail->path);
    in.file_offset = offset;
    nl_status status = parse(in, tail, arena, footer);
    nl_buffer_release(plain);
    return status;
}

nl_orc_stream_place nl_orc_stripe_stream(const nl_orc_stripe_footer *footer, uint32_t column, nl_orc_stream_kind kind)
{
    for (uint32_t i = 0; i < footer->stream_count; i++)
        if (footer->streams[i].column == column && footer->streams[i].kind == (uint32_t)kind) return footer->streams[i];
    return (nl_orc_stream_place){0};
}

static nl_status parse_entry(nl_cursor *in, nl_arena *arena, nl_list *positions, nl_orc_statistics *stats)
{
    nl_proto_field field;
    while (nl_proto_next(in, &field)) {
        bool is_started = false;
        uint64_t number;
        while (field.number == 1 && nl_proto_next_number(&field, &is_started, &number)) nl_list_add(arena, positions, (void *)(uintptr_t)number);
        if (field.number == 2) NL_TRY(nl_orc_statistics_parse(&field.bytes, stats));
    }
    stats->text_min = nl_arena_str(arena, stats->text_min);
    stats->text_max = nl_arena_str(arena, stats->text_max);
    NL_TRY(nl_arena_check(arena));
    return nl_cursor_status(in);
}

static nl_status parse_index(nl_cursor in, uint64_t group_count, nl_arena *arena, nl_orc_row_index *index)
{
    nl_proto_field field;
    nl_list positions = {0};
    uint32_t *starts = NULL;
    nl_orc_statistics *stats = NULL;
    uint32_t at = 0;
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(group_count + 1, sizeof(*starts)), (void **)&starts));
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(group_count, sizeof(*stats)), (void **)&stats));
    while (nl_proto_next(&in, &field)) {
        if (field.number != 1) continue;
        if (at == group_count) return NULL; /* more than there are rows for: better none */
        stats[at] = (nl_orc_statistics){.may_have_null = true};
        NL_TRY(parse_entry(&field.bytes, arena, &positions, &stats[at]));
        starts[++at] = positions.count;
    }
    NL_TRY(nl_cursor_status(&in));
    if (at < group_count) return NULL;
    _Static_assert(sizeof(uintptr_t) == sizeof(uint64_t), "positions are kept in pointers");
    *index = (nl_orc_row_index){.group_count = at, .starts = starts, .positions = (const uint64_t *)(void *)positions.items, .statistics = stats};
    return NULL;
}

nl_status nl_orc_row_index_read(const nl_orc_tail *tail, const nl_orc_stripe_footer *footer, uint32_t column, nl_orc_store *store, nl_arena *arena, nl_orc_row_index *index)
{
    const nl_orc_stream_place place = nl_orc_stripe_stream(footer, column, NL_ORC_ROW_INDEX);
    nl_buffer *plain = NULL;
    *index = (nl_orc_row_index){0};
    if (place.length == 0 || tail->row_index_stride == 0) return NULL;
    const uint64_t group_count = footer->stripe->row_count / tail->row_index_stride + (footer->stripe->row_count % tail->row_index_stride > 0);
    NL_TRY(nl_orc_section_read(store, place.offset, place.length, &plain));
    nl_status status = NULL;
    if (group_count <= plain->size_bytes) { /* an entry has two bytes at least */
        nl_cursor in = nl_cursor_over(plain->data, plain->size_bytes, tail->path);
        in.file_offset = place.offset;
        status = parse_index(in, group_count, arena, index);
    }
    nl_buffer_release(plain);
    return status;
}
