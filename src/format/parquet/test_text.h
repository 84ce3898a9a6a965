/* format/parquet/test_text.h - vectors as canonical text, for tests that compare with what other programs read.
 *
 * A row is a JSON array of its columns: numbers, dates (days) and timestamps (microseconds) as integers, decimals as
 * unscaled integers, floats with %.9g and %.17g, strings as JSON strings, binary as "x'0AFF'", lists and structs as
 * arrays, maps as arrays of pairs. tests/make_fixtures_parquet.py writes the same.
 */
#pragma once

#include <math.h>

#include "base/decimal.h"
#include "column/batch.h"

static inline void text_of_string(nl_str text, nl_builder *out)
{
    nl_append_char(out, '"');
    for (size_t i = 0; i < text.length; i++) {
        const uint8_t c = (uint8_t)text.data[i];
        if (c == '"' || c == '\\')
            nl_append_f(out, "\\%c", c);
        else if (c < 0x20)
            nl_append_f(out, "\\u%04x", c);
        else
            nl_append_char(out, (char)c);
    }
    nl_append_char(out, '"');
}

static inline void text_of_binary(nl_str bytes, nl_builder *out)
{
    nl_append_c(out, "\"x'");
    for (size_t i = 0; i < bytes.length; i++) nl_append_f(out, "%02X", (uint8_t)bytes.data[i]);
    nl_append_c(out, "'\"");
}

static inline void text_of_double(double value, bool is_float, nl_builder *out)
{
    if (isnan(value))
        nl_append_c(out, "\"nan\"");
    else if (isinf(value))
        nl_append_c(out, value < 0 ? "\"-inf\"" : "\"inf\"");
    else
        nl_append_f(out, is_float ? "%.9g" : "%.17g", value);
}

static inline void text_of_decimal(nl_int128 value, nl_builder *out)
{
    char digits[48];
    const uint32_t length = nl_decimal_format(value, 0, digits);
    nl_append(out, (nl_str){digits, length});
}

static inline void text_of_row(const nl_vector *vector, uint32_t row, nl_builder *out);

static inline void text_of_list(const nl_vector *vector, uint32_t index, nl_builder *out)
{
    const nl_list_view view = ((const nl_list_view *)vector->values)[index];
    nl_append_char(out, '[');
    for (uint32_t i = 0; i < view.length; i++) {
        if (i > 0) nl_append_c(out, ", ");
        if (vector->type->id == NL_TYPE_MAP) {
            nl_append_char(out, '[');
            text_of_row(&vector->children[0], view.offset + i, out);
            nl_append_c(out, ", ");
            text_of_row(&vector->children[1], view.offset + i, out);
            nl_append_char(out, ']');
        } else {
            text_of_row(&vector->children[0], view.offset + i, out);
        }
    }
    nl_append_char(out, ']');
}

static inline void text_of_value(const nl_vector *vector, const void *values, uint32_t index, nl_builder *out)
{
    switch (vector->type->physical) {
    case NL_PHYS_BOOL: nl_append_c(out, ((const uint8_t *)values)[index] ? "true" : "false"); return;
    case NL_PHYS_I8: nl_append_int(out, ((const int8_t *)values)[index]); return;
    case NL_PHYS_I16: nl_append_int(out, ((const int16_t *)values)[index]); return;
    case NL_PHYS_I32: nl_append_int(out, ((const int32_t *)values)[index]); return;
    case NL_PHYS_I64: nl_append_int(out, ((const int64_t *)values)[index]); return;
    case NL_PHYS_I128: text_of_decimal(((const nl_int128 *)values)[index], out); return;
    case NL_PHYS_F32: text_of_double((double)((const float *)values)[index], true, out); return;
    case NL_PHYS_F64: text_of_double(((const double *)values)[index], false, out); return;
    case NL_PHYS_STRING: {
        const nl_str text = nl_view_str(&((const nl_string_view *)values)[index]);
        if (vector->type->id == NL_TYPE_BINARY)
            text_of_binary(text, out);
        else
            text_of_string(text, out);
        return;
    }
    case NL_PHYS_LIST: text_of_list(vector, index, out); return;
    case NL_PHYS_STRUCT:
        nl_append_char(out, '[');
        for (uint32_t i = 0; i < vector->child_count; i++) {
            if (i > 0) nl_append_c(out, ", ");
            text_of_row(&vector->children[i], index, out);
        }
        nl_append_char(out, ']');
        return;
    case NL_PHYS_NONE:
    case NL_PHYS_INTERVAL: nl_append_c(out, "?"); return;
    }
}

static inline void text_of_row(const nl_vector *vector, uint32_t row, nl_builder *out)
{
    if (nl_vector_is_null(vector, row)) {
        nl_append_c(out, "null");
        return;
    }
    nl_reader reader;
    nl_reader_init(&reader, vector);
    text_of_value(vector, reader.values, nl_reader_index(&reader, row), out);
}

static inline void text_of_batch_row(const nl_batch *batch, uint32_t row, nl_builder *out)
{
    nl_append_char(out, '[');
    for (uint32_t i = 0; i < batch->column_count; i++) {
        if (i > 0) nl_append_c(out, ", ");
        text_of_row(&batch->columns[i], row, out);
    }
    nl_append_c(out, "]\n");
}
