/* function/cast_text.c - casts from and to strings and binaries. */
#include "function/cast_internal.h"
#include "function/interval.h"

#define EACH_ROW(cast, row) \
    for (uint32_t i_ = 0, row; i_ < (cast)->selection.count && (row = nl_selection_row((cast)->selection, i_), true); i_++)

static nl_status text_to_integral(nl_cast *cast)
{
    uint32_t bits = nl_physical_size(cast->to->physical) * 8;
    int64_t max = (int64_t)(UINT64_MAX >> 1 >> (64 - bits));
    EACH_ROW(cast, row)
    {
        nl_str text = nl_reader_str(&cast->in, row);
        int64_t value = 0;
        bool is_good = cast->mode == NL_CAST_LEGACY ? nl_cast_int64_legacy(text, &value) : nl_cast_int64(text, &value);
        if (!is_good || value > max || value < -max - 1)
            NL_TRY(nl_cast_malformed(cast, row));
        else
            nl_physical_set_i128(cast->to->physical, cast->out.values, row, value);
    }
    return NULL;
}

static nl_status text_to_real(nl_cast *cast)
{
    EACH_ROW(cast, row)
    {
        nl_str text = nl_reader_str(&cast->in, row);
        bool is_good = cast->to->physical == NL_PHYS_F32 ? nl_parse_float(text, (float *)cast->out.values + row)
                                                         : nl_parse_double(text, (double *)cast->out.values + row);
        if (!is_good) NL_TRY(nl_cast_malformed(cast, row));
    }
    return NULL;
}

/* Too large for the target, or for any decimal. */
static nl_status text_decimal_overflow(nl_cast *cast, uint32_t row, nl_str text)
{
    nl_int128 value = 0;
    int scale = 0;
    char plain[48];
    if (nl_decimal_parse(text, &value, &scale, NULL))
        return nl_cast_decimal_overflow(cast, row, (nl_str){plain, nl_decimal_format(value, scale, plain)});
    if (!nl_cast_raises(cast)) return nl_output_null(&cast->out, row);
    return NL_RAISE(NUMERIC_OUT_OF_SUPPORTED_RANGE, NL_P_STR("value", nl_trim_blanks(text)));
}

static nl_status text_to_decimal(nl_cast *cast)
{
    EACH_ROW(cast, row)
    {
        nl_str text = nl_reader_str(&cast->in, row);
        nl_int128 value = 0;
        bool is_overflow = false;
        if (nl_cast_decimal(text, cast->to->precision, cast->to->scale, &value, &is_overflow))
            nl_physical_set_i128(cast->to->physical, cast->out.values, row, value);
        else
            NL_TRY(is_overflow ? text_decimal_overflow(cast, row, text) : nl_cast_malformed(cast, row));
    }
    return NULL;
}

static nl_status text_to_bool(nl_cast *cast)
{
    EACH_ROW(cast, row)
    {
        bool value = false;
        if (nl_cast_bool(nl_reader_str(&cast->in, row), &value))
            ((uint8_t *)cast->out.values)[row] = value;
        else
            NL_TRY(nl_cast_malformed(cast, row));
    }
    return NULL;
}

static nl_status text_to_date(nl_cast *cast)
{
    EACH_ROW(cast, row)
    if (!nl_cast_date(nl_reader_str(&cast->in, row), (int32_t *)cast->out.values + row)) NL_TRY(nl_cast_malformed(cast, row));
    return NULL;
}

static nl_status text_to_timestamp(nl_cast *cast)
{
    EACH_ROW(cast, row)
    if (!nl_cast_timestamp(nl_reader_str(&cast->in, row), cast->eval->confs->zone, (int64_t *)cast->out.values + row))
        NL_TRY(nl_cast_malformed(cast, row));
    return NULL;
}

static nl_status text_to_ntz(nl_cast *cast)
{
    EACH_ROW(cast, row)
    if (!nl_cast_timestamp_ntz(nl_reader_str(&cast->in, row), true, (int64_t *)cast->out.values + row))
        NL_TRY(nl_cast_malformed(cast, row));
    return NULL;
}

/* Malformed ANSI intervals raise in every mode but TRY, as in Spark; calendar intervals become null. */
static nl_status text_to_interval(nl_cast *cast)
{
    EACH_ROW(cast, row)
    {
        nl_str text = nl_reader_str(&cast->in, row);
        bool is_good = false;
        if (cast->to->id == NL_TYPE_INTERVAL_YM)
            is_good = nl_interval_parse_ym(text, cast->to, (int32_t *)cast->out.values + row);
        else if (cast->to->id == NL_TYPE_INTERVAL_DT)
            is_good = nl_interval_parse_dt(text, cast->to, (int64_t *)cast->out.values + row);
        else
            is_good = nl_interval_parse(text, (nl_interval *)cast->out.values + row);
        if (is_good) continue;
        if (cast->to->id != NL_TYPE_INTERVAL && cast->mode != NL_CAST_TRY) return nl_interval_raise_format(text, cast->to);
        NL_TRY(nl_output_null(&cast->out, row));
    }
    return NULL;
}

/* CHAR(n) and VARCHAR(n) columns: spaces over the length are cut, other characters are an error; CHAR is padded. */
static nl_status store_sized_text(nl_cast *cast)
{
    uint32_t limit = cast->to->length;
    nl_builder padded;
    nl_builder_init(&padded, NL_VALUE_BYTES_MAX);
    nl_status status = NULL;
    EACH_ROW(cast, row)
    {
        nl_str text = nl_reader_str(&cast->in, row);
        size_t count = nl_utf8_length(text);
        while (count > limit && text.length > 0 && text.data[text.length - 1] == ' ') {
            text.length--;
            count--;
        }
        if (count > limit) {
            status = NL_RAISE(EXCEED_LIMIT_LENGTH, NL_P_INT("limit", limit));
            break;
        }
        nl_builder_clear(&padded);
        nl_append(&padded, text);
        if (cast->to->string_kind == NL_STRING_CHAR) nl_append_fill(&padded, ' ', limit - count);
        status = nl_output_builder(&cast->out, row, &padded);
        if (status != NULL) break;
    }
    nl_builder_fini(&padded);
    return status;
}

static nl_status any_to_text(nl_cast *cast)
{
    nl_text_options options = {.style = NL_TEXT_CAST, .zone = cast->eval->confs->zone};
    nl_builder text;
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    nl_status status = NULL;
    EACH_ROW(cast, row)
    {
        nl_builder_clear(&text);
        nl_vector_append_text(cast->source, row, &options, &text);
        status = nl_output_builder(&cast->out, row, &text);
        if (status != NULL) break;
    }
    nl_builder_fini(&text);
    return status;
}

static nl_status integral_to_text(nl_cast *cast)
{
    EACH_ROW(cast, row)
    {
        char text[NL_NUMBER_TEXT_MAX];
        int64_t value = nl_physical_i64(cast->from->physical, cast->in.values, nl_reader_index(&cast->in, row));
        NL_TRY(nl_output_str(&cast->out, row, (nl_str){text, nl_format_int64(value, text)}));
    }
    return NULL;
}

/* Big-endian bytes; only in legacy mode. */
static nl_status integral_to_binary(nl_cast *cast)
{
    uint32_t size = nl_physical_size(cast->from->physical);
    EACH_ROW(cast, row)
    {
        char bytes[8];
        int64_t value = nl_physical_i64(cast->from->physical, cast->in.values, nl_reader_index(&cast->in, row));
        for (uint32_t b = 0; b < size; b++) bytes[b] = (char)(value >> (8 * (size - 1 - b)));
        NL_TRY(nl_output_str(&cast->out, row, (nl_str){bytes, size}));
    }
    return NULL;
}

static nl_cast_loop from_text(const nl_type *to)
{
    switch (to->id) {
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
    case NL_TYPE_BIGINT:
        return text_to_integral;
    case NL_TYPE_FLOAT:
    case NL_TYPE_DOUBLE:
        return text_to_real;
    case NL_TYPE_DECIMAL:
        return text_to_decimal;
    case NL_TYPE_BOOLEAN:
        return text_to_bool;
    case NL_TYPE_DATE:
        return text_to_date;
    case NL_TYPE_TIMESTAMP:
        return text_to_timestamp;
    case NL_TYPE_TIMESTAMP_NTZ:
        return text_to_ntz;
    case NL_TYPE_INTERVAL_YM:
    case NL_TYPE_INTERVAL_DT:
    case NL_TYPE_INTERVAL:
        return text_to_interval;
    case NL_TYPE_STRING:
        return store_sized_text;
    case NL_TYPE_NULL:
    case NL_TYPE_BINARY:
    case NL_TYPE_ARRAY:
    case NL_TYPE_MAP:
    case NL_TYPE_STRUCT:
    case NL_TYPE_VARIANT:
    case NL_TYPE_COUNT:
        break;
    }
    return NULL;
}

nl_cast_loop nl_cast_text_loop(const nl_type *from, const nl_type *to)
{
    if (from->id == NL_TYPE_STRING) return from_text(to);
    if (from->id == NL_TYPE_BINARY) return to->id == NL_TYPE_STRING ? store_sized_text : NULL;
    if (to->id == NL_TYPE_BINARY) return nl_type_is_integral(from) ? integral_to_binary : NULL;
    return nl_type_is_integral(from) ? integral_to_text : any_to_text;
}
