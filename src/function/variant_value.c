/* function/variant_value.c - see variant_value.h. Recursion is as deep as a type (NL_TYPE_DEPTH_MAX) or, when a variant is
 * copied, as its own nesting, which NL_JSON_DEPTH_MAX bounds.
 */
#include "function/variant_value.h"

#include "base/number.h"
#include "function/cast.h"

bool nl_variant_holds(const nl_type *type, bool is_object_allowed)
{
    switch (type->id) {
    case NL_TYPE_BOOLEAN:
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
    case NL_TYPE_BIGINT:
    case NL_TYPE_FLOAT:
    case NL_TYPE_DOUBLE:
    case NL_TYPE_DECIMAL:
    case NL_TYPE_STRING:
    case NL_TYPE_BINARY:
    case NL_TYPE_DATE:
    case NL_TYPE_TIMESTAMP:
    case NL_TYPE_TIMESTAMP_NTZ:
    case NL_TYPE_VARIANT:
        return true;
    case NL_TYPE_ARRAY:
        return nl_variant_holds(type->children[0].type, is_object_allowed);
    case NL_TYPE_MAP:
        return is_object_allowed && type->children[0].type->id == NL_TYPE_STRING && nl_variant_holds(type->children[1].type, true);
    case NL_TYPE_STRUCT:
        for (uint32_t i = 0; i < type->child_count; i++)
            if (!nl_variant_holds(type->children[i].type, true)) return false;
        return is_object_allowed;
    case NL_TYPE_NULL:
    case NL_TYPE_INTERVAL_YM:
    case NL_TYPE_INTERVAL_DT:
    case NL_TYPE_INTERVAL:
    case NL_TYPE_COUNT:
        break;
    }
    return false;
}

/* --- reading --- */

nl_status nl_variant_reader_open(nl_variant_reader *reader, const nl_vector *vector, nl_memory *memory)
{
    *reader = (nl_variant_reader){0};
    NL_TRY(nl_vector_flatten(vector, false, memory, &reader->flat));
    nl_reader_init(&reader->metadata, &reader->flat.children[0]);
    nl_reader_init(&reader->value, &reader->flat.children[1]);
    return NULL;
}

void nl_variant_reader_close(nl_variant_reader *reader)
{
    nl_vector_fini(&reader->flat);
}

nl_status nl_variant_reader_at(const nl_variant_reader *reader, uint32_t row, nl_variant *variant)
{
    return nl_variant_open(nl_reader_str(&reader->metadata, row), nl_reader_str(&reader->value, row), variant);
}

/* --- values to variants --- */

static nl_status append_value(nl_variant_builder *out, const nl_value *value);

static nl_status append_parts(nl_variant_builder *out, const nl_value *value)
{
    const nl_type_id id = value->type->id;
    nl_variant_begin(out, id != NL_TYPE_ARRAY);
    for (uint32_t i = 0; i < value->list.count; i++) {
        if (id == NL_TYPE_MAP) nl_variant_name(out, value->list.items[i++].text);
        if (id == NL_TYPE_STRUCT) nl_variant_name(out, value->type->children[i].name);
        NL_TRY(append_value(out, &value->list.items[i]));
    }
    return nl_variant_end(out);
}

static nl_status append_value(nl_variant_builder *out, const nl_value *value)
{
    if (value->is_null) {
        nl_variant_null_value(out);
        return NULL;
    }
    switch (value->type->id) {
    case NL_TYPE_BOOLEAN:
        nl_variant_boolean_value(out, value->boolean);
        return NULL;
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
    case NL_TYPE_BIGINT:
        nl_variant_integer_value(out, value->integer);
        return NULL;
    case NL_TYPE_FLOAT:
        nl_variant_float_value(out, (float)value->real);
        return NULL;
    case NL_TYPE_DOUBLE:
        nl_variant_double_value(out, value->real);
        return NULL;
    case NL_TYPE_DECIMAL:
        nl_variant_decimal_value(out, value->decimal, value->type->scale);
        return NULL;
    case NL_TYPE_STRING:
        nl_variant_string_value(out, value->text);
        return NULL;
    case NL_TYPE_BINARY:
        nl_variant_binary_value(out, value->text);
        return NULL;
    case NL_TYPE_DATE:
        nl_variant_date_value(out, (int32_t)value->integer);
        return NULL;
    case NL_TYPE_TIMESTAMP:
    case NL_TYPE_TIMESTAMP_NTZ:
        nl_variant_timestamp_value(out, value->integer, value->type->id == NL_TYPE_TIMESTAMP_NTZ);
        return NULL;
    case NL_TYPE_VARIANT: {
        nl_variant variant;
        NL_TRY(nl_variant_open(value->list.items[0].text, value->list.items[1].text, &variant));
        return nl_variant_append_copy(out, &variant);
    }
    case NL_TYPE_ARRAY:
    case NL_TYPE_MAP:
    case NL_TYPE_STRUCT:
        return append_parts(out, value);
    case NL_TYPE_NULL:
    case NL_TYPE_INTERVAL_YM:
    case NL_TYPE_INTERVAL_DT:
    case NL_TYPE_INTERVAL:
    case NL_TYPE_COUNT:
        break;
    }
    return NL_RAISE(INTERNAL_ERROR, NL_P("message", "a type that no variant holds"));
}

/* Scalars are read where they lie; nested values by way of nl_value. */
static bool append_plain_row(nl_variant_builder *out, const nl_vector *vector, uint32_t row)
{
    nl_reader reader;
    nl_reader_init(&reader, vector);
    const uint32_t index = nl_reader_index(&reader, row);
    if (nl_type_is_integral(vector->type))
        nl_variant_integer_value(out, nl_physical_i64(vector->type->physical, reader.values, index));
    else if (vector->type->id == NL_TYPE_DOUBLE)
        nl_variant_double_value(out, ((const double *)reader.values)[index]);
    else if (vector->type->id == NL_TYPE_STRING)
        nl_variant_string_value(out, nl_reader_str(&reader, row));
    else
        return false;
    return true;
}

nl_status nl_variant_append_row(nl_variant_builder *builder, const nl_vector *vector, uint32_t row)
{
    if (nl_vector_is_null(vector, row)) {
        nl_variant_null_value(builder);
        return NULL;
    }
    if (append_plain_row(builder, vector, row)) return NULL;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_value value = nl_vector_value(vector, row, arena);
    nl_status status = append_value(builder, &value);
    nl_arena_free(arena);
    return status;
}

static nl_status append_copy(nl_variant_builder *out, const nl_variant *variant, uint32_t depth);

static nl_status copy_parts(nl_variant_builder *out, const nl_variant *variant, uint32_t depth)
{
    const bool is_object = variant->kind == NL_VARIANT_OBJECT;
    if (depth >= NL_JSON_DEPTH_MAX) return NL_RAISE(MALFORMED_VARIANT);
    nl_variant_begin(out, is_object);
    for (uint32_t i = 0; i < variant->count && !nl_builder_failed(&out->value); i++) {
        nl_variant part;
        nl_str name;
        if (is_object) {
            NL_TRY(nl_variant_field(variant, i, &name, &part));
            nl_variant_name(out, name);
        } else {
            NL_TRY(nl_variant_element(variant, i, &part));
        }
        NL_TRY(append_copy(out, &part, depth + 1));
    }
    return nl_variant_end(out);
}

static nl_status append_copy(nl_variant_builder *out, const nl_variant *variant, uint32_t depth)
{
    switch (variant->kind) {
    case NL_VARIANT_NULL:
        nl_variant_null_value(out);
        return NULL;
    case NL_VARIANT_BOOLEAN:
        nl_variant_boolean_value(out, variant->boolean);
        return NULL;
    case NL_VARIANT_INTEGER:
        nl_variant_integer_value(out, variant->integer);
        return NULL;
    case NL_VARIANT_FLOAT:
        nl_variant_float_value(out, (float)variant->real);
        return NULL;
    case NL_VARIANT_DOUBLE:
        nl_variant_double_value(out, variant->real);
        return NULL;
    case NL_VARIANT_DECIMAL:
        nl_variant_decimal_value(out, variant->decimal, variant->scale);
        return NULL;
    case NL_VARIANT_DATE:
        nl_variant_date_value(out, (int32_t)variant->integer);
        return NULL;
    case NL_VARIANT_TIMESTAMP:
    case NL_VARIANT_TIMESTAMP_NTZ:
        nl_variant_timestamp_value(out, variant->integer, variant->kind == NL_VARIANT_TIMESTAMP_NTZ);
        return NULL;
    case NL_VARIANT_BINARY:
        nl_variant_binary_value(out, variant->text);
        return NULL;
    case NL_VARIANT_STRING:
        nl_variant_string_value(out, variant->text);
        return NULL;
    case NL_VARIANT_OBJECT:
    case NL_VARIANT_ARRAY:
        return copy_parts(out, variant, depth);
    case NL_VARIANT_TIMESTAMP_NANOS:
    case NL_VARIANT_TIMESTAMP_NTZ_NANOS:
    case NL_VARIANT_TIME:
    case NL_VARIANT_UUID:
        break;
    }
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A variant holds a time, a nanosecond timestamp or a UUID, which Spark 4.0 does not know.");
}

nl_status nl_variant_append_copy(nl_variant_builder *builder, const nl_variant *variant)
{
    return append_copy(builder, variant, 0);
}

nl_status nl_variant_end_row(nl_variant_builder *builder, const char *function_name, nl_column_builder *column)
{
    nl_str metadata, value;
    NL_TRY(nl_variant_finish(builder, function_name, &metadata, &value));
    NL_TRY(nl_column_builder_str(nl_column_builder_child(column, 0), metadata));
    NL_TRY(nl_column_builder_str(nl_column_builder_child(column, 1), value));
    nl_variant_builder_reset(builder);
    return nl_column_builder_end_struct(column);
}

/* --- variants to values --- */

void nl_variant_cast_init(nl_variant_cast *cast, const nl_eval_confs *confs, bool is_failing)
{
    *cast = (nl_variant_cast){.confs = confs, .is_failing = is_failing};
    nl_variant_builder_init(&cast->scratch);
    nl_builder_init(&cast->text, NL_VALUE_BYTES_MAX);
}

void nl_variant_cast_fini(nl_variant_cast *cast)
{
    nl_variant_builder_fini(&cast->scratch);
    nl_builder_fini(&cast->text);
}

static nl_status misfit(nl_variant_cast *cast, const nl_variant *variant, const nl_type *type, nl_column_builder *column)
{
    if (!cast->is_failing) return nl_column_builder_null(column);
    nl_builder_clear(&cast->text);
    NL_TRY(nl_variant_append_json(variant, cast->confs->zone, &cast->text));
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = NL_RAISE(INVALID_VARIANT_CAST, NL_P_STR("value", nl_builder_str(&cast->text)),
                                NL_P_STR("dataType", nl_quoted_type(arena, type)));
    nl_arena_free(arena);
    return status;
}

/* The scalar as a value of the type Spark gives it; text is borrowed from the variant. */
static bool scalar_of(const nl_variant *variant, nl_value *value)
{
    switch (variant->kind) {
    case NL_VARIANT_BOOLEAN:
        *value = nl_value_boolean(variant->boolean);
        return true;
    case NL_VARIANT_INTEGER:
        *value = nl_value_int(nl_type_bigint(), variant->integer);
        return true;
    case NL_VARIANT_FLOAT:
    case NL_VARIANT_DOUBLE:
        *value = (nl_value){.type = nl_type_of(variant->kind == NL_VARIANT_FLOAT ? NL_TYPE_FLOAT : NL_TYPE_DOUBLE), .real = variant->real};
        return true;
    case NL_VARIANT_DECIMAL: {
        const int digits = nl_decimal_digits(variant->decimal);
        *value = (nl_value){.type = nl_type_decimal(NL_MAX(digits, NL_MAX((int)variant->scale, 1)), variant->scale), .decimal = variant->decimal};
        return true;
    }
    case NL_VARIANT_DATE:
        *value = nl_value_int(nl_type_of(NL_TYPE_DATE), variant->integer);
        return true;
    case NL_VARIANT_TIMESTAMP:
    case NL_VARIANT_TIMESTAMP_NTZ:
        *value = nl_value_int(nl_type_of(variant->kind == NL_VARIANT_TIMESTAMP ? NL_TYPE_TIMESTAMP : NL_TYPE_TIMESTAMP_NTZ), variant->integer);
        return true;
    case NL_VARIANT_BINARY:
        *value = nl_value_string(variant->text);
        value->type = nl_type_binary();
        return true;
    case NL_VARIANT_STRING:
        *value = nl_value_string(variant->text);
        return true;
    case NL_VARIANT_NULL:
    case NL_VARIANT_TIMESTAMP_NANOS:
    case NL_VARIANT_TIMESTAMP_NTZ_NANOS:
    case NL_VARIANT_TIME:
    case NL_VARIANT_UUID:
    case NL_VARIANT_OBJECT:
    case NL_VARIANT_ARRAY:
        break;
    }
    return false;
}

/* The usual pairs, without a vector of one row. *is_done: the row was added. */
static nl_status append_usual(const nl_variant *variant, const nl_type *type, nl_column_builder *column, bool *is_done)
{
    *is_done = true;
    if (variant->kind == NL_VARIANT_STRING && type->id == NL_TYPE_STRING) return nl_column_builder_str(column, variant->text);
    if (variant->kind == NL_VARIANT_BOOLEAN && type->id == NL_TYPE_BOOLEAN) return nl_column_builder_i64(column, variant->boolean);
    if (variant->kind == NL_VARIANT_DOUBLE && type->id == NL_TYPE_DOUBLE) return nl_column_builder_f64(column, variant->real);
    if (variant->kind == NL_VARIANT_INTEGER) {
        if (type->id == NL_TYPE_DOUBLE) return nl_column_builder_f64(column, (double)variant->integer);
        if (type->id == NL_TYPE_STRING) {
            char text[NL_NUMBER_TEXT_MAX];
            return nl_column_builder_str(column, (nl_str){text, nl_format_int64(variant->integer, text)});
        }
        const uint32_t bits = nl_physical_size(type->physical) * 8;
        if (nl_type_is_integral(type) && variant->integer >> (bits - 1) == (variant->integer < 0 ? -1 : 0))
            return nl_column_builder_i64(column, variant->integer);
    }
    *is_done = false;
    return NULL;
}

static nl_status append_json_text(nl_variant_cast *cast, const nl_variant *variant, nl_column_builder *column)
{
    nl_builder_clear(&cast->text);
    NL_TRY(nl_variant_append_json(variant, cast->confs->zone, &cast->text));
    return nl_column_builder_str(column, nl_builder_str(&cast->text));
}

static nl_status append_scalar(nl_variant_cast *cast, const nl_variant *variant, const nl_type *type, nl_column_builder *column)
{
    bool is_done = false;
    nl_value value;
    NL_TRY(append_usual(variant, type, column, &is_done));
    if (is_done) return NULL;
    if (variant->kind == NL_VARIANT_OBJECT || variant->kind == NL_VARIANT_ARRAY || variant->kind == NL_VARIANT_UUID)
        return type->id == NL_TYPE_STRING ? append_json_text(cast, variant, column) : misfit(cast, variant, type, column);
    if (!scalar_of(variant, &value) || !nl_can_cast(value.type, type, true)) return misfit(cast, variant, type, column);
    nl_arena *arena = nl_arena_new(NULL);
    nl_value made;
    nl_status status = nl_cast_value(arena, cast->confs, NL_CAST_TRY, &value, type, &made);
    if (status == NULL) status = made.is_null ? misfit(cast, variant, type, column) : nl_column_builder_value(column, &made);
    nl_arena_free(arena);
    return status;
}

static nl_status append_array(nl_variant_cast *cast, const nl_variant *variant, const nl_type *type, nl_column_builder *column)
{
    for (uint32_t i = 0; i < variant->count; i++) {
        nl_variant part;
        NL_TRY(nl_variant_element(variant, i, &part));
        NL_TRY(nl_variant_cast_append(cast, &part, type->children[0].type, nl_column_builder_child(column, 0)));
    }
    return nl_column_builder_end_list(column, variant->count);
}

static nl_status append_map(nl_variant_cast *cast, const nl_variant *variant, const nl_type *type, nl_column_builder *column)
{
    for (uint32_t i = 0; i < variant->count; i++) {
        nl_variant part;
        nl_str name;
        NL_TRY(nl_variant_field(variant, i, &name, &part));
        NL_TRY(nl_column_builder_str(nl_column_builder_child(column, 0), name));
        NL_TRY(nl_variant_cast_append(cast, &part, type->children[1].type, nl_column_builder_child(column, 1)));
    }
    return nl_column_builder_end_list(column, variant->count);
}

static nl_status append_struct(nl_variant_cast *cast, const nl_variant *variant, const nl_type *type, nl_column_builder *column)
{
    for (uint32_t i = 0; i < type->child_count; i++) {
        nl_column_builder *child = nl_column_builder_child(column, i);
        nl_variant part;
        bool is_found = false;
        NL_TRY(nl_variant_find(variant, type->children[i].name, &is_found, &part));
        NL_TRY(is_found ? nl_variant_cast_append(cast, &part, type->children[i].type, child) : nl_column_builder_null(child));
    }
    return nl_column_builder_end_struct(column);
}

nl_status nl_variant_cast_append(nl_variant_cast *cast, const nl_variant *variant, const nl_type *type, nl_column_builder *column)
{
    if (type->id == NL_TYPE_VARIANT) {
        nl_variant_builder_reset(&cast->scratch);
        NL_TRY(nl_variant_append_copy(&cast->scratch, variant));
        return nl_variant_end_row(&cast->scratch, "variant_get", column);
    }
    if (variant->kind == NL_VARIANT_NULL) return nl_column_builder_null(column);
    if (type->id == NL_TYPE_ARRAY)
        return variant->kind == NL_VARIANT_ARRAY ? append_array(cast, variant, type, column) : misfit(cast, variant, type, column);
    if (type->id == NL_TYPE_MAP)
        return variant->kind == NL_VARIANT_OBJECT ? append_map(cast, variant, type, column) : misfit(cast, variant, type, column);
    if (type->id == NL_TYPE_STRUCT)
        return variant->kind == NL_VARIANT_OBJECT ? append_struct(cast, variant, type, column) : misfit(cast, variant, type, column);
    return append_scalar(cast, variant, type, column);
}
