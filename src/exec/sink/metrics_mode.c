/* exec/sink/metrics_mode.c - see metrics_mode.h. */
#include "exec/sink/metrics_mode.h"

#include "base/number.h"

#define INFERRED_COLUMNS_DEFAULT 100
#define TRUNCATE_DEFAULT         16

static nl_status parse_mode(nl_str text, const char *key, nl_metrics_mode *mode)
{
    int64_t length;
    if (nl_str_is_nocase(text, "none")) {
        *mode = (nl_metrics_mode){.kind = NL_METRICS_NONE};
    } else if (nl_str_is_nocase(text, "counts")) {
        *mode = (nl_metrics_mode){.kind = NL_METRICS_COUNTS};
    } else if (nl_str_is_nocase(text, "full")) {
        *mode = (nl_metrics_mode){.kind = NL_METRICS_FULL};
    } else if (nl_str_starts_nocase(text, NL_STR("truncate(")) && nl_str_ends(text, NL_STR(")")) &&
               nl_parse_int64(nl_str_slice(text, 9, text.length - 1), &length) && length > 0 && length <= UINT32_MAX) {
        *mode = (nl_metrics_mode){.kind = NL_METRICS_TRUNCATE, .length = (uint32_t)length};
    } else {
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Table property %s is no metrics mode: '" NL_STR_FMT "'; it is none, counts, truncate(N) or full", key,
                             NL_STR_ARG(text));
    }
    return NULL;
}

/* Columns of a wide table beyond the first N (breadth first) keep no metrics unless asked for. */
static bool is_inferred(const nl_table_metadata *metadata, const nl_schema *schema, int32_t field_id)
{
    int64_t most = INFERRED_COLUMNS_DEFAULT;
    nl_error_free(nl_table_property_int(metadata, "write.metadata.metrics.max-inferred-column-defaults", INFERRED_COLUMNS_DEFAULT, &most));
    if (schema->column_count <= most) return true;
    int64_t before = 0;
    for (uint32_t i = 0; i < schema->column_count; i++) { /* fresh ids are given breadth first */
        if (nl_ice_type_is_nested(schema->columns[i].field->type)) continue;
        if (schema->columns[i].field->id == field_id) return before < most;
        before++;
    }
    return false;
}

static bool is_sorted_by(const nl_table_metadata *metadata, int32_t field_id)
{
    const nl_sort_order *order = nl_table_sort_order(metadata);
    for (uint32_t i = 0; order && i < order->field_count; i++)
        if (order->fields[i].source_id == field_id) return true;
    return false;
}

nl_status nl_metrics_mode_of(const nl_table_metadata *metadata, int32_t field_id, nl_metrics_mode *mode)
{
    const nl_schema *schema = nl_table_schema(metadata);
    const nl_schema_column *column = nl_schema_find_id(schema, field_id);
    const nl_str by_default = nl_table_property(metadata, "write.metadata.metrics.default", NULL);
    *mode = (nl_metrics_mode){.kind = NL_METRICS_TRUNCATE, .length = TRUNCATE_DEFAULT};
    if (by_default.data)
        NL_TRY(parse_mode(by_default, "write.metadata.metrics.default", mode));
    else if (!is_inferred(metadata, schema, field_id))
        mode->kind = NL_METRICS_NONE;
    if (is_sorted_by(metadata, field_id) && mode->kind < NL_METRICS_TRUNCATE) *mode = (nl_metrics_mode){.kind = NL_METRICS_TRUNCATE, .length = TRUNCATE_DEFAULT};
    if (!column) return NULL;
    nl_builder key;
    nl_builder_init(&key, 1 << 16);
    nl_append_c(&key, "write.metadata.metrics.column.");
    nl_append(&key, column->full_name);
    const nl_str own = nl_table_property(metadata, nl_builder_c(&key), NULL);
    nl_status status = own.data ? parse_mode(own, nl_builder_c(&key), mode) : NULL;
    nl_builder_fini(&key);
    return status;
}

/* The next code point after c that may stand in a text, or 0. */
static uint32_t next_code_point(uint32_t c)
{
    if (c >= 0x10FFFF) return 0;
    c++;
    return c >= 0xD800 && c <= 0xDFFF ? 0xE000 : c;
}

static bool round_text_up(nl_arena *arena, nl_str text, nl_str *out)
{
    size_t starts[256];
    size_t count = 0;
    for (size_t at = 0; at < text.length && count < NL_COUNT(starts); at = nl_utf8_next(text, at))
        starts[count++] = at;
    while (count-- > 0) {
        size_t at = starts[count];
        char encoded[4];
        const uint32_t next = next_code_point(nl_utf8_decode(text, &at));
        if (next == 0) continue;
        const uint32_t length = nl_utf8_encode(next, encoded);
        *out = nl_arena_f(arena, NL_STR_FMT "%.*s", NL_STR_ARG(nl_str_slice(text, 0, starts[count])), (int)length, encoded);
        return true;
    }
    return false;
}

static bool round_bytes_up(nl_arena *arena, nl_str bytes, nl_str *out)
{
    for (size_t at = bytes.length; at-- > 0;) {
        if ((uint8_t)bytes.data[at] == 0xff) continue;
        char *copy = nl_arena_alloc(arena, at + 1);
        memcpy(copy, bytes.data, at + 1);
        copy[at] = (char)(copy[at] + 1);
        *out = (nl_str){copy, at + 1};
        return true;
    }
    return false;
}

bool nl_truncate_bound(nl_arena *arena, const nl_value *value, bool is_upper, uint32_t length, nl_value *out)
{
    *out = *value;
    if (value->type->physical != NL_PHYS_STRING) return true;
    const bool is_text = value->type->id == NL_TYPE_STRING;
    size_t end = 0;
    if (is_text) {
        for (uint32_t i = 0; i < length && end < value->text.length; i++)
            end = nl_utf8_next(value->text, end);
    } else {
        end = NL_MIN((size_t)length, value->text.length);
    }
    if (end >= value->text.length) return true;
    out->text = nl_str_slice(value->text, 0, end);
    if (!is_upper) return true;
    return is_text ? round_text_up(arena, out->text, &out->text) : round_bytes_up(arena, out->text, &out->text);
}
