/* format/orc/tally.c - see tally.h. Source: ORC specification v1, Column Statistics. */
#include "format/orc/tally.h"

#include "format/orc/proto.h"

#define TEXT_BOUND_BYTES_MAX 1024u /* longer ones are cut, as Java's writer does */

void nl_orc_tally_init(nl_orc_tally *tally, nl_orc_statistics_kind kind, nl_memory *memory)
{
    *tally = (nl_orc_tally){.kind = kind, .has_sum = true};
    nl_bytes_out_init(&tally->text_min.bytes, memory);
    nl_bytes_out_init(&tally->text_max.bytes, memory);
}

void nl_orc_tally_fini(nl_orc_tally *tally)
{
    nl_bytes_out_fini(&tally->text_min.bytes);
    nl_bytes_out_fini(&tally->text_max.bytes);
}

void nl_orc_tally_clear(nl_orc_tally *tally)
{
    const nl_orc_tally old = *tally;
    *tally = (nl_orc_tally){.kind = old.kind, .is_binary = old.is_binary, .is_list = old.is_list, .scale = old.scale, .has_sum = true};
    tally->text_min.bytes = old.text_min.bytes;
    tally->text_max.bytes = old.text_max.bytes;
}

void nl_orc_tally_decimal(nl_orc_tally *tally, nl_int128 value)
{
    if (!tally->has_bounds || value < tally->wide_min) tally->wide_min = value;
    if (!tally->has_bounds || value > tally->wide_max) tally->wide_max = value;
    tally->has_bounds = true;
    tally->has_sum &= !__builtin_add_overflow(tally->sum, value, &tally->sum);
}

static nl_status set_bound(nl_orc_text_bound *bound, nl_str text)
{
    bound->bytes.length = 0;
    bound->is_set = true;
    return nl_bytes_out_add(&bound->bytes, text.data, text.length);
}

static nl_str bound_text(const nl_orc_text_bound *bound)
{
    return (nl_str){(const char *)bound->bytes.data, bound->bytes.length};
}

nl_status nl_orc_tally_text(nl_orc_tally *tally, nl_str text)
{
    tally->sum += (nl_int128)text.length;
    if (tally->is_binary) return NULL;
    if (!tally->text_min.is_set || nl_str_compare(text, bound_text(&tally->text_min)) < 0) NL_TRY(set_bound(&tally->text_min, text));
    if (!tally->text_max.is_set || nl_str_compare(text, bound_text(&tally->text_max)) > 0) NL_TRY(set_bound(&tally->text_max, text));
    tally->has_bounds = true;
    return NULL;
}

void nl_orc_tally_length(nl_orc_tally *tally, uint64_t length)
{
    if (!tally->has_bounds || length < tally->length_min) tally->length_min = length;
    if (!tally->has_bounds || length > tally->length_max) tally->length_max = length;
    tally->has_bounds = true;
    tally->sum += (nl_int128)length;
}

nl_status nl_orc_tally_add(nl_orc_tally *tally, const nl_orc_tally *more)
{
    const bool is_first = !tally->has_bounds;
    tally->value_count += more->value_count;
    tally->null_count += more->null_count;
    tally->nan_count += more->nan_count;
    tally->true_count += more->true_count;
    tally->real_sum += more->real_sum;
    tally->has_sum &= more->has_sum && !__builtin_add_overflow(tally->sum, more->sum, &tally->sum);
    if (!more->has_bounds) return NULL;
    if (is_first || more->int_min < tally->int_min) tally->int_min = more->int_min;
    if (is_first || more->int_max > tally->int_max) tally->int_max = more->int_max;
    if (is_first || more->real_min < tally->real_min) tally->real_min = more->real_min;
    if (is_first || more->real_max > tally->real_max) tally->real_max = more->real_max;
    if (is_first || more->wide_min < tally->wide_min) tally->wide_min = more->wide_min;
    if (is_first || more->wide_max > tally->wide_max) tally->wide_max = more->wide_max;
    if (is_first || more->length_min < tally->length_min) tally->length_min = more->length_min;
    if (is_first || more->length_max > tally->length_max) tally->length_max = more->length_max;
    tally->has_bounds = true;
    if (!more->text_min.is_set) return NULL;
    if (!tally->text_min.is_set || nl_str_compare(bound_text(&more->text_min), bound_text(&tally->text_min)) < 0) NL_TRY(set_bound(&tally->text_min, bound_text(&more->text_min)));
    if (!tally->text_max.is_set || nl_str_compare(bound_text(&more->text_max), bound_text(&tally->text_max)) > 0) NL_TRY(set_bound(&tally->text_max, bound_text(&more->text_max)));
    return NULL;
}

/* ---- messages ---- */

static nl_status write_ints(const nl_orc_tally *tally, nl_bytes_out *out)
{
    if (!tally->has_bounds) return NULL;
    NL_TRY(nl_proto_put_signed(out, 1, tally->int_min));
    NL_TRY(nl_proto_put_signed(out, 2, tally->int_max));
    const bool fits = tally->has_sum && tally->sum >= INT64_MIN && tally->sum <= INT64_MAX;
    return tally->kind == NL_ORC_STATS_INT && fits ? nl_proto_put_signed(out, 3, (int64_t)tally->sum) : NULL;
}

static nl_status write_reals(const nl_orc_tally *tally, nl_bytes_out *out)
{
    if (tally->has_bounds) {
        NL_TRY(nl_proto_put_double(out, 1, tally->real_min));
        NL_TRY(nl_proto_put_double(out, 2, tally->real_max));
    }
    return nl_proto_put_double(out, 3, tally->real_sum);
}

/* The largest part of a text that ends between characters. */
static nl_str cut_text(nl_str text)
{
    size_t length = TEXT_BOUND_BYTES_MAX;
    if (text.length <= length) return text;
    while (length > 0 && ((uint8_t)text.data[length] & 0xc0) == 0x80) length--;
    return nl_str_slice(text, 0, length);
}

/* A text above all that begin as this one: its last character that has a next one is moved on. Empty: there is none. */
static nl_str raised_text(nl_str text, char *room)
{
    for (size_t end = text.length; end > 0;) {
        size_t start = end - 1;
        while (start > 0 && ((uint8_t)text.data[start] & 0xc0) == 0x80) start--;
        size_t at = start;
        uint32_t code = nl_utf8_decode(text, &at) + 1;
        if (code == 0xd800) code = 0xe000;
        if (code <= 0x10ffff && start + 4 <= TEXT_BOUND_BYTES_MAX + 8) {
            memcpy(room, text.data, start);
            return (nl_str){room, start + nl_utf8_encode(code, room + start)};
        }
        end = start;
    }
    return (nl_str){0};
}

static nl_status write_texts(const nl_orc_tally *tally, nl_bytes_out *out)
{
    char room[TEXT_BOUND_BYTES_MAX + 16];
    const nl_str low = bound_text(&tally->text_min), high = bound_text(&tally->text_max);
    if (tally->text_min.is_set) {
        const nl_str low_cut = cut_text(low), high_cut = cut_text(high);
        if (low_cut.length == low.length) NL_TRY(nl_proto_put_str(out, 1, low));
        if (high_cut.length == high.length) NL_TRY(nl_proto_put_str(out, 2, high));
        const nl_str raised = high_cut.length < high.length ? raised_text(high_cut, room) : (nl_str){0};
        NL_TRY(nl_proto_put_signed(out, 3, (int64_t)tally->sum));
        if (low_cut.length < low.length) NL_TRY(nl_proto_put_str(out, 4, low_cut));
        return raised.length ? nl_proto_put_str(out, 5, raised) : NULL;
    }
    return nl_proto_put_signed(out, 3, (int64_t)tally->sum);
}

static nl_status put_decimal(nl_bytes_out *out, uint32_t number, nl_int128 value, uint8_t scale)
{
    char text[64];
    const uint32_t length = nl_decimal_format(value, scale, text);
    return nl_proto_put_bytes(out, number, text, length);
}

static nl_status write_decimals(const nl_orc_tally *tally, nl_bytes_out *out)
{
    if (!tally->has_bounds) return NULL;
    NL_TRY(put_decimal(out, 1, tally->wide_min, tally->scale));
    NL_TRY(put_decimal(out, 2, tally->wide_max, tally->scale));
    return tally->has_sum && nl_decimal_fits(tally->sum, NL_DECIMAL_PRECISION_MAX) ? put_decimal(out, 3, tally->sum, tally->scale) : NULL;
}

/* Milliseconds, and the nanoseconds below them plus one unless they are what readers take when nothing is said. */
static nl_status write_times(const nl_orc_tally *tally, nl_bytes_out *out)
{
    if (!tally->has_bounds) return NULL;
    const int64_t low_nanos = nl_floor_mod(tally->int_min, 1000) * 1000, high_nanos = nl_floor_mod(tally->int_max, 1000) * 1000;
    NL_TRY(nl_proto_put_signed(out, 3, nl_floor_div(tally->int_min, 1000)));
    NL_TRY(nl_proto_put_signed(out, 4, nl_floor_div(tally->int_max, 1000)));
    if (low_nanos != 0) NL_TRY(nl_proto_put_number(out, 5, (uint64_t)low_nanos + 1));
    return nl_proto_put_number(out, 6, (uint64_t)high_nanos + 1);
}

static nl_status write_kind(const nl_orc_tally *tally, nl_bytes_out *out)
{
    switch (tally->kind) {
    case NL_ORC_STATS_INT:
    case NL_ORC_STATS_DATE: return write_ints(tally, out);
    case NL_ORC_STATS_DOUBLE: return write_reals(tally, out);
    case NL_ORC_STATS_STRING: return write_texts(tally, out);
    case NL_ORC_STATS_DECIMAL: return write_decimals(tally, out);
    case NL_ORC_STATS_TIMESTAMP: return write_times(tally, out);
    case NL_ORC_STATS_BOOLEAN: {
        nl_bytes_out packed;
        nl_bytes_out_init(&packed, out->memory);
        nl_status status = nl_proto_put_varint(&packed, tally->true_count);
        if (!status) status = nl_proto_put_bytes(out, 1, packed.data, packed.length);
        nl_bytes_out_fini(&packed);
        return status;
    }
    case NL_ORC_STATS_NONE: break;
    }
    if (tally->is_binary) return nl_proto_put_signed(out, 1, (int64_t)tally->sum);
    NL_TRY(nl_proto_put_number(out, 1, tally->length_min));
    NL_TRY(nl_proto_put_number(out, 2, tally->length_max));
    return nl_proto_put_number(out, 3, (uint64_t)tally->sum);
}

nl_status nl_orc_tally_write(const nl_orc_tally *tally, uint64_t disk_bytes, nl_bytes_out *out)
{
    static const uint32_t numbers[] = {[NL_ORC_STATS_INT] = 2, [NL_ORC_STATS_DOUBLE] = 3, [NL_ORC_STATS_STRING] = 4, [NL_ORC_STATS_BOOLEAN] = 5, [NL_ORC_STATS_DECIMAL] = 6, [NL_ORC_STATS_DATE] = 7,
                                       [NL_ORC_STATS_TIMESTAMP] = 9};
    const uint32_t number = tally->is_binary ? 8 : tally->is_list ? 12 : numbers[tally->kind];
    NL_TRY(nl_proto_put_number(out, 1, tally->value_count));
    if (number > 0 && (tally->value_count > 0 || !tally->is_list)) {
        nl_bytes_out part;
        nl_bytes_out_init(&part, out->memory);
        nl_status status = write_kind(tally, &part);
        if (!status) status = nl_proto_put_bytes(out, number, part.data, part.length);
        nl_bytes_out_fini(&part);
        NL_TRY(status);
    }
    NL_TRY(nl_proto_put_number(out, 10, tally->null_count > 0));
    return disk_bytes > 0 ? nl_proto_put_number(out, 11, disk_bytes) : NULL;
}
