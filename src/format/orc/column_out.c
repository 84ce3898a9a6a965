/* format/orc/column_out.c - see column_out.h. Source: ORC specification v1, Column Encodings, Row Group Index.
 *
 * At the start of each row group all encoders are flushed, so that a run never goes over it and positions are simple. Texts
 * wait as numbers of a dictionary until it is known whether one pays: after the first row group, or at the stripe's end. */
#include "format/orc/column_out.h"

#include <stdlib.h>

#include "base/uuid.h"
#include "format/orc/rebase.h"
#include "format/orc/texts_out.h"

#define HYBRID_MICROS_MAX     4000000000000000000ll /* older times are left as they are */
#define ORC_EPOCH_SECONDS      1420070400ll
#define DICTIONARY_SHARE_MAX   0.8           /* different texts among all: more, and a dictionary does not pay. As Java's */
#define DICTIONARY_BYTES_MAX   (16u << 20)

static nl_status out_of_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

/* ---- types ---- */

static nl_status kind_of(const nl_orc_column_out *column, nl_orc_kind *kind)
{
    const bool is_iceberg = column->context->is_iceberg;
    switch (column->type->id) {
    case NL_TYPE_BOOLEAN: *kind = NL_ORC_BOOLEAN; return NULL;
    case NL_TYPE_TINYINT: *kind = is_iceberg ? NL_ORC_INT : NL_ORC_BYTE; return NULL;
    case NL_TYPE_SMALLINT: *kind = is_iceberg ? NL_ORC_INT : NL_ORC_SHORT; return NULL;
    case NL_TYPE_INT:
    case NL_TYPE_INTERVAL_YM: *kind = NL_ORC_INT; return NULL;
    case NL_TYPE_BIGINT:
    case NL_TYPE_INTERVAL_DT: *kind = NL_ORC_LONG; return NULL;
    case NL_TYPE_FLOAT: *kind = NL_ORC_FLOAT; return NULL;
    case NL_TYPE_DOUBLE: *kind = NL_ORC_DOUBLE; return NULL;
    case NL_TYPE_DECIMAL: *kind = NL_ORC_DECIMAL; return NULL;
    case NL_TYPE_STRING: *kind = column->stored && column->stored->stored == NL_DATA_STORED_UUID ? NL_ORC_BINARY : NL_ORC_STRING; return NULL;
    case NL_TYPE_BINARY: *kind = NL_ORC_BINARY; return NULL;
    case NL_TYPE_DATE: *kind = NL_ORC_DATE; return NULL;
    case NL_TYPE_TIMESTAMP: *kind = is_iceberg ? NL_ORC_TIMESTAMP_INSTANT : NL_ORC_TIMESTAMP; return NULL;
    case NL_TYPE_TIMESTAMP_NTZ: *kind = is_iceberg ? NL_ORC_TIMESTAMP : NL_ORC_LONG; return NULL;
    case NL_TYPE_ARRAY: *kind = NL_ORC_LIST; return NULL;
    case NL_TYPE_MAP: *kind = NL_ORC_MAP; return NULL;
    case NL_TYPE_STRUCT: *kind = NL_ORC_STRUCT; return NULL;
    case NL_TYPE_NULL:
    case NL_TYPE_INTERVAL:
    case NL_TYPE_VARIANT:
    case NL_TYPE_COUNT: break;
    }
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The column " NL_STR_FMT " of the type " NL_STR_FMT " cannot be written to ORC files.", NL_STR_ARG(column->path),
                                     NL_STR_ARG(nl_type_sql(arena, column->type)));
    nl_arena_free(arena);
    return status;
}

static nl_orc_statistics_kind tally_kind(nl_orc_kind kind)
{
    switch (kind) {
    case NL_ORC_BYTE:
    case NL_ORC_SHORT:
    case NL_ORC_INT:
    case NL_ORC_LONG: return NL_ORC_STATS_INT;
    case NL_ORC_FLOAT:
    case NL_ORC_DOUBLE: return NL_ORC_STATS_DOUBLE;
    case NL_ORC_STRING:
    case NL_ORC_VARCHAR:
    case NL_ORC_CHAR: return NL_ORC_STATS_STRING;
    case NL_ORC_BOOLEAN: return NL_ORC_STATS_BOOLEAN;
    case NL_ORC_DECIMAL: return NL_ORC_STATS_DECIMAL;
    case NL_ORC_DATE: return NL_ORC_STATS_DATE;
    case NL_ORC_TIMESTAMP:
    case NL_ORC_TIMESTAMP_INSTANT: return NL_ORC_STATS_TIMESTAMP;
    case NL_ORC_BINARY:
    case NL_ORC_LIST:
    case NL_ORC_MAP:
    case NL_ORC_STRUCT:
    case NL_ORC_UNION:
    case NL_ORC_KIND_COUNT: break;
    }
    return NL_ORC_STATS_NONE;
}

static void init_tally(nl_orc_column_out *column, nl_orc_tally *tally)
{
    nl_orc_tally_init(tally, tally_kind(column->kind), column->context->packer.memory);
    tally->is_binary = column->kind == NL_ORC_BINARY;
    tally->is_list = column->kind == NL_ORC_LIST || column->kind == NL_ORC_MAP;
    tally->scale = column->type->scale;
}

static nl_status new_numbers(nl_orc_out *out, bool is_signed, nl_orc_int_writer **writer)
{
    *writer = calloc(1, sizeof(**writer));
    if (!*writer) return out_of_memory(sizeof(**writer));
    (*writer)->out = out;
    (*writer)->is_signed = is_signed;
    return NULL;
}

static nl_status new_bits(nl_orc_out *out, nl_orc_bit_writer **writer)
{
    *writer = calloc(1, sizeof(**writer));
    if (!*writer) return out_of_memory(sizeof(**writer));
    (*writer)->bytes.out = out;
    return NULL;
}

static nl_status new_encoders(nl_orc_column_out *column)
{
    NL_TRY(new_bits(&column->present, &column->bits));
    switch (column->kind) {
    case NL_ORC_BOOLEAN: return new_bits(&column->data, &column->booleans);
    case NL_ORC_BYTE:
        column->bytes = calloc(1, sizeof(*column->bytes));
        if (!column->bytes) return out_of_memory(sizeof(*column->bytes));
        column->bytes->out = &column->data;
        return NULL;
    case NL_ORC_SHORT:
    case NL_ORC_INT:
    case NL_ORC_LONG:
    case NL_ORC_DATE: return new_numbers(&column->data, true, &column->numbers);
    case NL_ORC_TIMESTAMP:
    case NL_ORC_TIMESTAMP_INSTANT:
        NL_TRY(new_numbers(&column->data, true, &column->numbers));
        return new_numbers(&column->second, false, &column->seconds);
    case NL_ORC_DECIMAL: return new_numbers(&column->second, true, &column->seconds);
    case NL_ORC_STRING:
        NL_TRY(nl_orc_texts_new(column->context->packer.memory, &column->texts));
        NL_TRY(new_numbers(&column->data, false, &column->numbers));
        return new_numbers(&column->second, false, &column->seconds);
    case NL_ORC_BINARY:
    case NL_ORC_LIST:
    case NL_ORC_MAP: return new_numbers(&column->second, false, &column->seconds);
    case NL_ORC_FLOAT:
    case NL_ORC_DOUBLE:
    case NL_ORC_STRUCT:
    case NL_ORC_VARCHAR:
    case NL_ORC_CHAR:
    case NL_ORC_UNION:
    case NL_ORC_KIND_COUNT: break;
    }
    return NULL;
}

static nl_status init_children(nl_orc_column_out *column, nl_arena *arena, uint32_t *next_id)
{
    const nl_type *type = column->type;
    const bool is_list = column->kind == NL_ORC_LIST || column->kind == NL_ORC_MAP;
    column->children = calloc((size_t)type->child_count + 1, sizeof(*column->children));
    if (!column->children) return out_of_memory(type->child_count * sizeof(*column->children));
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_str name = type->children[i].name;
        const nl_str path = column->path.length ? nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(column->path), NL_STR_ARG(name)) : name;
        column->child_count++;
        NL_TRY(nl_orc_column_out_init(&column->children[i], column->context, &type->children[i], path, column->is_repeated || is_list, arena, next_id));
    }
    return NULL;
}

/* True recursion: types have a limited depth. */
nl_status nl_orc_column_out_init(nl_orc_column_out *column, nl_orc_out_context *context, const nl_field *field, nl_str path, bool is_repeated, nl_arena *arena, uint32_t *next_id)
{
    *column = (nl_orc_column_out){.context = context, .type = field->type, .id = (*next_id)++, .is_repeated = is_repeated, .path = path, .field_id = field->field_id, .is_nullable = field->is_nullable};
    nl_orc_out_init(&column->present, &context->packer);
    nl_orc_out_init(&column->data, &context->packer);
    nl_orc_out_init(&column->second, &context->packer);
    nl_orc_out_init(&column->dictionary, &context->packer);
    for (uint32_t i = 0; i < context->stored_count && column->field_id > 0; i++)
        if (context->stored[i].field_id == column->field_id) column->stored = &context->stored[i];
    NL_TRY(kind_of(column, &column->kind));
    init_tally(column, &column->group_tally);
    init_tally(column, &column->stripe_tally);
    init_tally(column, &column->file_tally);
    column->has_texts = column->kind == NL_ORC_STRING;
    NL_TRY(new_encoders(column));
    return column->type->child_count > 0 ? init_children(column, arena, next_id) : NULL;
}

static void clear_groups(nl_orc_column_out *column)
{
    for (uint32_t i = 0; i < column->group_count; i++) nl_bytes_out_fini(&column->groups[i].statistics);
    column->group_count = 0;
}

void nl_orc_column_out_fini(nl_orc_column_out *column)
{
    if (!column->context) return;
    for (uint32_t i = 0; i < column->child_count; i++) nl_orc_column_out_fini(&column->children[i]);
    free(column->children);
    clear_groups(column);
    free(column->groups);
    free(column->bits);
    free(column->booleans);
    free(column->bytes);
    free(column->numbers);
    free(column->seconds);
    nl_orc_texts_free(column->texts);
    nl_orc_out_fini(&column->present);
    nl_orc_out_fini(&column->data);
    nl_orc_out_fini(&column->second);
    nl_orc_out_fini(&column->dictionary);
    nl_orc_tally_fini(&column->group_tally);
    nl_orc_tally_fini(&column->stripe_tally);
    nl_orc_tally_fini(&column->file_tally);
    *column = (nl_orc_column_out){0};
}

/* ---- values ---- */

static int64_t integer_at(const nl_vector *vector, uint32_t row)
{
    switch ((int)vector->type->physical) {
    case NL_PHYS_I8: return ((const int8_t *)vector->values)[row];
    case NL_PHYS_I16: return ((const int16_t *)vector->values)[row];
    case NL_PHYS_I32: return ((const int32_t *)vector->values)[row];
    default: return ((const int64_t *)vector->values)[row];
    }
}

static nl_status write_integers(nl_orc_column_out *column, const nl_vector *vector, const uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const int64_t value = integer_at(vector, rows[i]);
        nl_orc_tally_int(&column->group_tally, value);
        NL_TRY(column->bytes ? nl_orc_byte_writer_put(column->bytes, (uint8_t)value) : nl_orc_int_writer_put(column->numbers, value));
    }
    return NULL;
}

static nl_status write_days(nl_orc_column_out *column, const nl_vector *vector, const uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t days = integer_at(vector, rows[i]);
        if (!column->context->is_iceberg) days = nl_orc_days_to_hybrid(days);
        nl_orc_tally_int(&column->group_tally, days);
        NL_TRY(nl_orc_int_writer_put(column->numbers, days));
    }
    return NULL;
}

static int64_t hybrid_instant(const nl_timezone *zone, int64_t micros)
{
    if (micros >= (int64_t)NL_ORC_GREGORIAN_START * NL_MICROS_PER_DAY + NL_MICROS_PER_DAY || micros < -HYBRID_MICROS_MAX) return micros;
    const int64_t local = nl_timezone_to_local(zone, micros);
    const int64_t days = nl_floor_div(local, NL_MICROS_PER_DAY);
    const int64_t moved = nl_orc_days_to_hybrid(days);
    return moved == days ? micros : nl_timezone_from_local(zone, local + (moved - days) * NL_MICROS_PER_DAY);
}

/* Nanoseconds without their trailing zeros, whose number goes into the last three bits when there are two or more. */
static int64_t packed_nanos(int64_t nanos)
{
    int64_t zeros = 1;
    if (nanos == 0) return 0;
    if (nanos % 100 != 0) return nanos << 3;
    for (nanos /= 100; nanos % 10 == 0 && zeros < 7; zeros++) nanos /= 10;
    return nanos << 3 | zeros;
}

/* Java's writer rounds milliseconds towards zero to seconds, and readers expect it: a fraction of the last second before 1970
 * is read as one of the first second after it. There is no other way to store it. */
static nl_status write_times(nl_orc_column_out *column, const nl_vector *vector, const uint32_t *rows, uint32_t count)
{
    const bool is_wall = column->kind == NL_ORC_TIMESTAMP && !column->context->is_iceberg;
    const nl_timezone *zone = is_wall ? column->context->zone : nl_timezone_utc();
    const int64_t base = nl_timezone_from_local(zone, ORC_EPOCH_SECONDS * NL_MICROS_PER_SECOND) / NL_MICROS_PER_SECOND;
    for (uint32_t i = 0; i < count; i++) {
        int64_t micros = integer_at(vector, rows[i]);
        if (is_wall) micros = hybrid_instant(zone, micros);
        const int64_t millis = nl_floor_div(micros, 1000);
        const int64_t as_read = millis > -1000 && millis < 0 ? micros + NL_MICROS_PER_SECOND : micros;
        nl_orc_tally_int(&column->group_tally, is_wall ? nl_timezone_to_local(zone, as_read) : as_read);
        NL_TRY(nl_orc_int_writer_put(column->numbers, millis / 1000 - base));
        NL_TRY(nl_orc_int_writer_put(column->seconds, packed_nanos(nl_floor_mod(micros, NL_MICROS_PER_SECOND) * 1000)));
    }
    return NULL;
}

static nl_status write_booleans(nl_orc_column_out *column, const nl_vector *vector, const uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const bool value = ((const uint8_t *)vector->values)[rows[i]] != 0;
        column->group_tally.true_count += value;
        column->group_tally.has_bounds = true;
        NL_TRY(nl_orc_bit_writer_put(column->booleans, value));
    }
    return NULL;
}

static nl_status write_reals(nl_orc_column_out *column, const nl_vector *vector, const uint32_t *rows, uint32_t count)
{
    const bool is_double = column->kind == NL_ORC_DOUBLE;
    for (uint32_t i = 0; i < count; i++) {
        const double *number = &((const double *)vector->values)[is_double ? rows[i] : 0];
        const float *small = &((const float *)vector->values)[is_double ? 0 : rows[i]];
        nl_orc_tally_real(&column->group_tally, is_double ? *number : (double)*small);
        NL_TRY(nl_orc_out_put(&column->data, is_double ? (const void *)number : (const void *)small, is_double ? sizeof(*number) : sizeof(*small)));
    }
    return NULL;
}

static nl_status write_decimals(nl_orc_column_out *column, const nl_vector *vector, const uint32_t *rows, uint32_t count)
{
    const bool is_wide = vector->type->physical == NL_PHYS_I128;
    for (uint32_t i = 0; i < count; i++) {
        const nl_int128 value = is_wide ? ((const nl_int128 *)vector->values)[rows[i]] : ((const int64_t *)vector->values)[rows[i]];
        nl_uint128 bits = (nl_uint128)value << 1 ^ (nl_uint128)(value >> 127);
        uint8_t bytes[19];
        size_t length = 0;
        for (; bits >= 0x80; bits >>= 7) bytes[length++] = (uint8_t)((uint8_t)bits | 0x80);
        bytes[length++] = (uint8_t)bits;
        nl_orc_tally_decimal(&column->group_tally, value);
        NL_TRY(nl_orc_out_put(&column->data, bytes, length));
        NL_TRY(nl_orc_int_writer_put(column->seconds, column->type->scale));
    }
    return NULL;
}

static nl_status put_direct(nl_orc_column_out *column, nl_str text)
{
    NL_TRY(nl_orc_out_put(&column->data, text.data, text.length));
    return nl_orc_int_writer_put(column->seconds, (int64_t)text.length);
}

/* A uuid's 36 characters as 16 bytes. */
static nl_status uuid_bytes(const nl_orc_column_out *column, nl_str text, uint8_t bytes[16], nl_str *out)
{
    *out = text;
    if (!column->stored || column->stored->stored != NL_DATA_STORED_UUID || column->type->id != NL_TYPE_STRING) return NULL;
    if (!nl_uuid_parse(text, bytes)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid UUID string: " NL_STR_FMT, NL_STR_ARG(text));
    *out = (nl_str){(const char *)bytes, 16};
    return NULL;
}

static nl_status write_texts(nl_orc_column_out *column, const nl_vector *vector, const uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t room[16];
        nl_str text;
        NL_TRY(uuid_bytes(column, nl_view_str(&((const nl_string_view *)vector->values)[rows[i]]), room, &text));
        if (column->stored && column->stored->stored == NL_DATA_STORED_FIXED && text.length != column->stored->length)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The column " NL_STR_FMT " holds values of %u bytes, this one has %zu.", NL_STR_ARG(column->path), column->stored->length, text.length);
        NL_TRY(nl_orc_tally_text(&column->group_tally, text));
        NL_TRY(column->has_texts ? nl_orc_texts_add(column->texts, text) : put_direct(column, text));
    }
    return NULL;
}

static nl_status write_list(nl_orc_column_out *column, const nl_vector *vector, const uint32_t *rows, uint32_t count)
{
    const nl_list_view *views = vector->values;
    nl_buffer *elements = NULL;
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        total += views[rows[i]].length;
        nl_orc_tally_length(&column->group_tally, views[rows[i]].length);
        NL_TRY(nl_orc_int_writer_put(column->seconds, views[rows[i]].length));
    }
    NL_TRY(nl_buffer_new(column->context->packer.memory, nl_size_mul((size_t)total, sizeof(uint32_t)), false, &elements));
    uint32_t *places = (uint32_t *)(void *)elements->data;
    for (uint32_t i = 0, at = 0; i < count; i++)
        for (uint32_t k = 0; k < views[rows[i]].length; k++) places[at++] = views[rows[i]].offset + k;
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < column->child_count; i++) status = nl_orc_column_out_write(&column->children[i], &vector->children[i], places, (uint32_t)total);
    nl_buffer_release(elements);
    return status;
}

static nl_status write_values(nl_orc_column_out *column, const nl_vector *vector, const uint32_t *rows, uint32_t count)
{
    switch (column->kind) {
    case NL_ORC_BOOLEAN: return write_booleans(column, vector, rows, count);
    case NL_ORC_BYTE:
    case NL_ORC_SHORT:
    case NL_ORC_INT:
    case NL_ORC_LONG: return write_integers(column, vector, rows, count);
    case NL_ORC_DATE: return write_days(column, vector, rows, count);
    case NL_ORC_TIMESTAMP:
    case NL_ORC_TIMESTAMP_INSTANT: return write_times(column, vector, rows, count);
    case NL_ORC_FLOAT:
    case NL_ORC_DOUBLE: return write_reals(column, vector, rows, count);
    case NL_ORC_DECIMAL: return write_decimals(column, vector, rows, count);
    case NL_ORC_STRING:
    case NL_ORC_BINARY: return write_texts(column, vector, rows, count);
    case NL_ORC_LIST:
    case NL_ORC_MAP: return write_list(column, vector, rows, count);
    case NL_ORC_STRUCT:
        for (uint32_t i = 0; i < column->child_count; i++) NL_TRY(nl_orc_column_out_write(&column->children[i], &vector->children[i], rows, count));
        return NULL;
    case NL_ORC_VARCHAR:
    case NL_ORC_CHAR:
    case NL_ORC_UNION:
    case NL_ORC_KIND_COUNT: break;
    }
    return NULL;
}

/* True recursion: types have a limited depth. */
nl_status nl_orc_column_out_write(nl_orc_column_out *column, const nl_vector *vector, const uint32_t *rows, uint32_t count)
{
    nl_buffer *kept = NULL;
    uint32_t value_count = 0;
    NL_TRY(nl_buffer_new(column->context->packer.memory, nl_size_mul(count, sizeof(uint32_t)), false, &kept));
    uint32_t *values = (uint32_t *)(void *)kept->data;
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < count; i++) {
        const bool is_there = !nl_vector_is_null(vector, rows[i]);
        if (is_there) values[value_count++] = rows[i];
        status = nl_orc_bit_writer_put(column->bits, is_there);
    }
    column->group_tally.value_count += value_count;
    column->group_tally.null_count += count - value_count;
    if (!status && value_count < count) {
        column->has_null = true;
        if (!column->is_nullable && column->context->is_iceberg) status = NL_RAISE(NOT_NULL_ASSERT_VIOLATION, NL_P_STR("walkedTypePath", column->path));
    }
    if (!status) status = write_values(column, vector, values, value_count);
    nl_buffer_release(kept);
    return status;
}

/* ---- row groups ---- */

/* Where the values of what comes next begin; in the order that the specification gives streams. */
static nl_status place_values(nl_orc_column_out *column, nl_orc_places *places)
{
    places->count = 0;
    switch (column->kind) {
    case NL_ORC_BOOLEAN: return nl_orc_bit_writer_place(column->booleans, places);
    case NL_ORC_BYTE: return nl_orc_byte_writer_place(column->bytes, places);
    case NL_ORC_SHORT:
    case NL_ORC_INT:
    case NL_ORC_LONG:
    case NL_ORC_DATE: return nl_orc_int_writer_place(column->numbers, places);
    case NL_ORC_TIMESTAMP:
    case NL_ORC_TIMESTAMP_INSTANT:
        NL_TRY(nl_orc_int_writer_place(column->numbers, places));
        return nl_orc_int_writer_place(column->seconds, places);
    case NL_ORC_FLOAT:
    case NL_ORC_DOUBLE: nl_orc_out_place(&column->data, places); return NULL;
    case NL_ORC_DECIMAL:
    case NL_ORC_STRING: /* direct */
    case NL_ORC_BINARY:
        nl_orc_out_place(&column->data, places);
        return nl_orc_int_writer_place(column->seconds, places);
    case NL_ORC_LIST:
    case NL_ORC_MAP: return nl_orc_int_writer_place(column->seconds, places);
    case NL_ORC_STRUCT:
    case NL_ORC_VARCHAR:
    case NL_ORC_CHAR:
    case NL_ORC_UNION:
    case NL_ORC_KIND_COUNT: break;
    }
    return NULL;
}

nl_status nl_orc_column_out_begin_group(nl_orc_column_out *column)
{
    if (column->group_count == column->group_room) {
        const uint32_t room = column->group_room * 2 + 8;
        nl_orc_group *larger = realloc(column->groups, room * sizeof(*larger));
        if (!larger) return out_of_memory(room * sizeof(*larger));
        column->groups = larger;
        column->group_room = room;
    }
    nl_orc_group *group = &column->groups[column->group_count++];
    *group = (nl_orc_group){0};
    nl_bytes_out_init(&group->statistics, column->context->packer.memory);
    NL_TRY(nl_orc_bit_writer_place(column->bits, &group->present));
    if (column->has_texts) group->first_value = nl_orc_texts_value_count(column->texts);
    else NL_TRY(place_values(column, &group->values));
    for (uint32_t i = 0; i < column->child_count; i++) NL_TRY(nl_orc_column_out_begin_group(&column->children[i]));
    return NULL;
}

/* Texts that waited become plain ones. */
static nl_status write_direct(nl_orc_column_out *column)
{
    const uint64_t value_count = nl_orc_texts_value_count(column->texts);
    column->has_texts = false;
    for (uint32_t g = 0; g < column->group_count; g++) {
        const uint64_t end = g + 1 < column->group_count ? column->groups[g + 1].first_value : value_count;
        NL_TRY(place_values(column, &column->groups[g].values));
        for (uint64_t i = column->groups[g].first_value; i < end; i++) NL_TRY(put_direct(column, nl_orc_texts_at(column->texts, nl_orc_texts_value(column->texts, i))));
    }
    nl_orc_texts_clear(column->texts);
    return NULL;
}

static bool pays(const nl_orc_column_out *column)
{
    const uint64_t values = nl_orc_texts_value_count(column->texts);
    return values > 0 && (double)nl_orc_texts_count(column->texts) <= DICTIONARY_SHARE_MAX * (double)values;
}

nl_status nl_orc_column_out_end_group(nl_orc_column_out *column)
{
    nl_orc_group *group = &column->groups[column->group_count - 1];
    NL_TRY(nl_orc_tally_write(&column->group_tally, 0, &group->statistics));
    NL_TRY(nl_orc_tally_add(&column->stripe_tally, &column->group_tally));
    nl_orc_tally_clear(&column->group_tally);
    if (column->has_texts && nl_orc_texts_value_count(column->texts) > 0 &&
        ((column->group_count == 1 && !pays(column)) || column->prefers_direct || nl_orc_texts_bytes(column->texts) > DICTIONARY_BYTES_MAX * 4u)) {
        column->prefers_direct = true;
        NL_TRY(write_direct(column));
    }
    for (uint32_t i = 0; i < column->child_count; i++) NL_TRY(nl_orc_column_out_end_group(&column->children[i]));
    return NULL;
}

/* ---- stripes ---- */

static nl_status write_dictionary(nl_orc_column_out *column)
{
    const uint64_t value_count = nl_orc_texts_value_count(column->texts);
    nl_buffer *order = NULL, *places = NULL;
    NL_TRY(nl_orc_texts_sort(column->texts, &order, &places));
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < nl_orc_texts_count(column->texts); i++) {
        const nl_str text = nl_orc_texts_at(column->texts, ((const uint32_t *)(const void *)order->data)[i]);
        status = nl_orc_out_put(&column->dictionary, text.data, text.length);
        if (!status) status = nl_orc_int_writer_put(column->seconds, (int64_t)text.length);
    }
    for (uint32_t g = 0; !status && g < column->group_count; g++) {
        const uint64_t end = g + 1 < column->group_count ? column->groups[g + 1].first_value : value_count;
        column->groups[g].values.count = 0;
        status = nl_orc_int_writer_place(column->numbers, &column->groups[g].values);
        for (uint64_t i = column->groups[g].first_value; !status && i < end; i++)
            status = nl_orc_int_writer_put(column->numbers, ((const uint32_t *)(const void *)places->data)[nl_orc_texts_value(column->texts, i)]);
    }
    nl_buffer_release(order);
    nl_buffer_release(places);
    return status;
}

nl_status nl_orc_column_out_end_stripe(nl_orc_column_out *column)
{
    if (column->has_texts) NL_TRY(pays(column) ? write_dictionary(column) : write_direct(column));
    NL_TRY(nl_orc_bit_writer_flush(column->bits));
    if (column->booleans) NL_TRY(nl_orc_bit_writer_flush(column->booleans));
    if (column->bytes) NL_TRY(nl_orc_byte_writer_flush(column->bytes));
    if (column->numbers) NL_TRY(nl_orc_int_writer_flush(column->numbers));
    if (column->seconds) NL_TRY(nl_orc_int_writer_flush(column->seconds));
    NL_TRY(nl_orc_out_finish(&column->present));
    NL_TRY(nl_orc_out_finish(&column->data));
    NL_TRY(nl_orc_out_finish(&column->second));
    NL_TRY(nl_orc_out_finish(&column->dictionary));
    for (uint32_t i = 0; i < column->child_count; i++) NL_TRY(nl_orc_column_out_end_stripe(&column->children[i]));
    return NULL;
}

nl_status nl_orc_column_out_clear(nl_orc_column_out *column)
{
    NL_TRY(nl_orc_tally_add(&column->file_tally, &column->stripe_tally));
    nl_orc_tally_clear(&column->stripe_tally);
    nl_orc_out_clear(&column->present);
    nl_orc_out_clear(&column->data);
    nl_orc_out_clear(&column->second);
    nl_orc_out_clear(&column->dictionary);
    if (column->texts) nl_orc_texts_clear(column->texts);
    clear_groups(column);
    column->has_null = false;
    column->has_texts = column->kind == NL_ORC_STRING && !column->prefers_direct;
    for (uint32_t i = 0; i < column->child_count; i++) NL_TRY(nl_orc_column_out_clear(&column->children[i]));
    return NULL;
}

size_t nl_orc_column_out_size(const nl_orc_column_out *column)
{
    size_t size = nl_orc_out_size(&column->present) + nl_orc_out_size(&column->data) + nl_orc_out_size(&column->second) + nl_orc_out_size(&column->dictionary);
    if (column->has_texts) size += nl_orc_texts_bytes(column->texts);
    for (uint32_t i = 0; i < column->child_count; i++) size += nl_orc_column_out_size(&column->children[i]);
    return size;
}

bool nl_orc_column_out_has_dictionary(const nl_orc_column_out *column)
{
    return column->has_texts;
}

uint32_t nl_orc_column_out_dictionary_size(const nl_orc_column_out *column)
{
    return column->has_texts ? nl_orc_texts_count(column->texts) : 0;
}
