/* connect/translate_literal.c - literals as values of the engine. */
#include "connect/translate.h"

nl_ast_expr *nl_value_expr(nl_arena *arena, const nl_value *value)
{
    nl_ast_expr *expr = nl_new_expr(arena, NL_AST_EXPR_LITERAL);
    nl_value *copy = NL_NEW(arena, nl_value);
    *copy = *value;
    expr->literal = (nl_ast_literal){.kind = NL_AST_LITERAL_VALUE, .value = copy};
    return expr;
}

static nl_value binary_value(nl_arena *arena, const nl_type *type, const ProtobufCBinaryData *data)
{
    nl_value value = {.type = type};
    value.text = nl_arena_str(arena, (nl_str){(const char *)data->data, data->len});
    return value;
}

static nl_status decimal_value(const Spark__Connect__Expression__Literal__Decimal *message, nl_value *value)
{
    int scale = 0;
    bool is_overflow = false;
    nl_int128 number = 0;
    if (!nl_decimal_parse(nl_str_from(message->value), &number, &scale, &is_overflow) || is_overflow) return nl_connect_invalid("a decimal literal is no number");
    if (scale < 0) { /* 1E+3 */
        if (!nl_decimal_rescale(number, scale, 0, NL_ROUND_HALF_UP, &number)) return nl_connect_invalid("a decimal literal is out of range");
        scale = 0;
    }
    int precision = NL_MAX(nl_decimal_digits(number), NL_MAX(scale, 1));
    if (message->has_scale && message->scale >= scale && message->scale <= 38) {
        if (!nl_decimal_rescale(number, scale, message->scale, NL_ROUND_HALF_UP, &number)) return nl_connect_invalid("a decimal literal is out of range");
        scale = message->scale;
        precision = NL_MAX(nl_decimal_digits(number), NL_MAX(scale, 1));
    }
    if (message->has_precision && message->precision >= precision && message->precision <= 38) precision = message->precision;
    if (precision > 38 || scale > 38) return nl_connect_invalid("a decimal literal is out of range");
    *value = (nl_value){.type = nl_type_decimal(precision, scale), .decimal = number};
    return NULL;
}

/* ---- nested ones ---- */

static nl_status items(nl_translator *t, Spark__Connect__Expression__Literal *const *messages, size_t count, const nl_type *expected, nl_value **values)
{
    *values = NL_NEW_ARRAY(t->arena, nl_value, count + 1);
    for (size_t i = 0; i < count; i++) {
        NL_TRY(nl_translate_value(t, messages[i], &(*values)[i]));
        if ((*values)[i].is_null && expected) (*values)[i].type = expected;
    }
    return NULL;
}

static nl_status element_type(nl_translator *t, const Spark__Connect__DataType *message, const nl_value *values, size_t count, const nl_type **type)
{
    *type = nl_type_of(NL_TYPE_NULL);
    if (message) return nl_connect_type_from_proto(t->arena, message, type);
    for (size_t i = 0; i < count; i++)
        if (!values[i].is_null) *type = values[i].type;
    return NULL;
}

static bool has_null(const nl_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i].is_null) return true;
    return false;
}

static nl_status check_types(const nl_value *values, size_t count, const nl_type *type)
{
    for (size_t i = 0; i < count; i++)
        if (!values[i].is_null && !nl_type_has_same_structure(values[i].type, type)) return nl_connect_invalid("the elements of a literal have other types than it says");
    return NULL;
}

static nl_status array_value(nl_translator *t, const Spark__Connect__Expression__Literal__Array *message, nl_value *value)
{
    nl_value *values = NULL;
    const nl_type *element = NULL;
    NL_TRY(items(t, message->elements, message->n_elements, NULL, &values));
    NL_TRY(element_type(t, message->element_type, values, message->n_elements, &element));
    NL_TRY(check_types(values, message->n_elements, element));
    for (size_t i = 0; i < message->n_elements; i++) values[i].type = element;
    *value = (nl_value){.type = nl_type_array(t->arena, element, has_null(values, message->n_elements))};
    value->list.items = values;
    value->list.count = (uint32_t)message->n_elements;
    return NULL;
}

static nl_status map_value(nl_translator *t, const Spark__Connect__Expression__Literal__Map *message, nl_value *value)
{
    nl_value *keys = NULL, *values = NULL;
    const nl_type *key = NULL, *of = NULL;
    if (message->n_keys != message->n_values) return nl_connect_invalid("a map literal has other numbers of keys and values");
    NL_TRY(items(t, message->keys, message->n_keys, NULL, &keys));
    NL_TRY(items(t, message->values, message->n_values, NULL, &values));
    NL_TRY(element_type(t, message->key_type, keys, message->n_keys, &key));
    NL_TRY(element_type(t, message->value_type, values, message->n_values, &of));
    NL_TRY(check_types(keys, message->n_keys, key));
    NL_TRY(check_types(values, message->n_values, of));
    nl_value *both = NL_NEW_ARRAY(t->arena, nl_value, 2 * message->n_keys + 1);
    for (size_t i = 0; i < message->n_keys; i++) {
        both[2 * i] = keys[i];
        both[2 * i + 1] = values[i];
        both[2 * i].type = key;
        both[2 * i + 1].type = of;
    }
    *value = (nl_value){.type = nl_type_map(t->arena, key, of, has_null(values, message->n_values))};
    value->list.items = both;
    value->list.count = (uint32_t)(2 * message->n_keys);
    return NULL;
}

static nl_status struct_value(nl_translator *t, const Spark__Connect__Expression__Literal__Struct *message, nl_value *value)
{
    nl_value *values = NULL;
    const nl_type *type = NULL;
    NL_TRY(items(t, message->elements, message->n_elements, NULL, &values));
    NL_TRY(nl_connect_type_from_proto(t->arena, message->struct_type, &type));
    if (type->id != NL_TYPE_STRUCT || type->child_count != message->n_elements) return nl_connect_invalid("a struct literal has another number of fields than its type");
    for (size_t i = 0; i < message->n_elements; i++) {
        NL_TRY(check_types(&values[i], 1, type->children[i].type));
        values[i].type = type->children[i].type;
    }
    *value = (nl_value){.type = type};
    value->list.items = values;
    value->list.count = (uint32_t)message->n_elements;
    return NULL;
}

/* ---- any ---- */

static nl_status plain_value(nl_translator *t, const Spark__Connect__Expression__Literal *message, nl_value *value)
{
    switch (message->literal_type_case) {
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_NULL: {
        const nl_type *type = NULL;
        NL_TRY(nl_connect_type_from_proto(t->arena, message->null, &type));
        *value = nl_value_null(type);
        return NULL;
    }
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_BINARY: *value = binary_value(t->arena, nl_type_binary(), &message->binary); return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_BOOLEAN: *value = nl_value_boolean(message->boolean); return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_BYTE: *value = nl_value_int(nl_type_of(NL_TYPE_TINYINT), (int8_t)message->byte); return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_SHORT: *value = nl_value_int(nl_type_of(NL_TYPE_SMALLINT), (int16_t)message->short_); return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_INTEGER: *value = nl_value_int(nl_type_int(), message->integer); return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_LONG: *value = nl_value_int(nl_type_bigint(), message->long_); return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_FLOAT:
        *value = (nl_value){.type = nl_type_of(NL_TYPE_FLOAT), .real = (double)message->float_};
        return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_DOUBLE: *value = (nl_value){.type = nl_type_double(), .real = message->double_}; return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_DECIMAL: return decimal_value(message->decimal, value);
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_STRING: *value = binary_value(t->arena, nl_type_string(), &message->string); return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_DATE: *value = nl_value_int(nl_type_of(NL_TYPE_DATE), message->date); return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_TIMESTAMP: *value = nl_value_int(nl_type_of(NL_TYPE_TIMESTAMP), message->timestamp); return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_TIMESTAMP_NTZ: *value = nl_value_int(nl_type_of(NL_TYPE_TIMESTAMP_NTZ), message->timestamp_ntz); return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_CALENDAR_INTERVAL:
        *value = (nl_value){.type = nl_type_of(NL_TYPE_INTERVAL)};
        value->interval = (nl_interval){message->calendar_interval->months, message->calendar_interval->days, message->calendar_interval->microseconds};
        return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_YEAR_MONTH_INTERVAL:
        *value = nl_value_int(nl_type_interval_ym(NL_FIELD_YEAR, NL_FIELD_MONTH), message->year_month_interval);
        return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_DAY_TIME_INTERVAL:
        *value = nl_value_int(nl_type_interval_dt(NL_FIELD_DAY, NL_FIELD_SECOND), message->day_time_interval);
        return NULL;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_ARRAY: return array_value(t, message->array, value);
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_MAP: return map_value(t, message->map, value);
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_STRUCT: return struct_value(t, message->struct_, value);
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_SPECIALIZED_ARRAY:
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE__NOT_SET:
    default: break;
    }
    return nl_connect_invalid("Unsupported Literal Type");
}

nl_status nl_translate_value(nl_translator *t, const Spark__Connect__Expression__Literal *message, nl_value *value)
{
    if (!message) return nl_connect_invalid("a literal is missing");
    if (++t->depth > NL_CONNECT_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    nl_status status = plain_value(t, message, value);
    t->depth--;
    return status;
}

/* ---- to the client ---- */

static ProtobufCBinaryData bytes_of(nl_arena *arena, nl_str text)
{
    const nl_str copy = nl_arena_str(arena, text);
    return (ProtobufCBinaryData){copy.length, NL_UNCONST(copy.data)};
}

static nl_str text_of(nl_arena *arena, const nl_value *value)
{
    nl_builder out;
    nl_builder_init(&out, SIZE_MAX);
    const nl_text_options options = {.style = NL_TEXT_CAST};
    nl_value_append_text(value, &options, &out);
    const nl_str text = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

#define SET(NAME, member, content)                                                                \
    made->literal_type_case = SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_##NAME;             \
    made->member = content;                                                                        \
    return NULL

static nl_status decimal_to_proto(nl_arena *arena, const nl_value *value, Spark__Connect__Expression__Literal *made)
{
    Spark__Connect__Expression__Literal__Decimal *decimal = NL_NEW(arena, Spark__Connect__Expression__Literal__Decimal);
    spark__connect__expression__literal__decimal__init(decimal);
    decimal->value = NL_UNCONST(nl_str_c(arena, text_of(arena, value)));
    decimal->has_precision = decimal->has_scale = true;
    decimal->precision = value->type->precision;
    decimal->scale = value->type->scale;
    SET(DECIMAL, decimal, decimal);
}

nl_status nl_connect_value_to_proto(nl_arena *arena, const nl_value *value, Spark__Connect__Expression__Literal **message)
{
    Spark__Connect__Expression__Literal *made = NL_NEW(arena, Spark__Connect__Expression__Literal);
    spark__connect__expression__literal__init(made);
    *message = made;
    if (value->is_null) {
        made->literal_type_case = SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_NULL;
        return nl_connect_type_to_proto(arena, value->type, &made->null);
    }
    switch ((int)value->type->id) {
    case NL_TYPE_BOOLEAN: SET(BOOLEAN, boolean, value->boolean);
    case NL_TYPE_TINYINT: SET(BYTE, byte, (int32_t)value->integer);
    case NL_TYPE_SMALLINT: SET(SHORT, short_, (int32_t)value->integer);
    case NL_TYPE_INT: SET(INTEGER, integer, (int32_t)value->integer);
    case NL_TYPE_BIGINT: SET(LONG, long_, value->integer);
    case NL_TYPE_FLOAT: SET(FLOAT, float_, (float)value->real);
    case NL_TYPE_DOUBLE: SET(DOUBLE, double_, value->real);
    case NL_TYPE_DATE: SET(DATE, date, (int32_t)value->integer);
    case NL_TYPE_TIMESTAMP: SET(TIMESTAMP, timestamp, value->integer);
    case NL_TYPE_TIMESTAMP_NTZ: SET(TIMESTAMP_NTZ, timestamp_ntz, value->integer);
    case NL_TYPE_BINARY: SET(BINARY, binary, bytes_of(arena, value->text));
    case NL_TYPE_STRING: SET(STRING, string, bytes_of(arena, value->text));
    case NL_TYPE_DECIMAL: return decimal_to_proto(arena, value, made);
    default: SET(STRING, string, bytes_of(arena, text_of(arena, value)));
    }
}
