/* connect/type_proto.c - types on the wire, both ways. */
#include "connect/translate.h"

#include "base/limits.h"

#define MESSAGE(arena, type, init)                                  \
    ({                                                              \
        type *message_ = NL_NEW(arena, type);                       \
        init(message_);                                             \
        message_;                                                   \
    })

/* ---- to the client ---- */

/* {"comment":"x"} beside the metadata that the column has. */
static nl_str metadata_of(nl_arena *arena, const nl_field *field)
{
    if (field->comment.length == 0) return field->metadata;
    nl_builder out;
    nl_builder_init(&out, SIZE_MAX);
    nl_append_c(&out, "{\"comment\":");
    nl_json_append_quoted(&out, field->comment);
    if (field->metadata.length > 2) {
        nl_append_char(&out, ',');
        nl_append(&out, nl_str_slice(field->metadata, 1, field->metadata.length));
    } else {
        nl_append_char(&out, '}');
    }
    const nl_str text = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

static nl_status to_proto(nl_arena *arena, const nl_type *type, uint32_t depth, Spark__Connect__DataType **message);

static nl_status struct_to_proto(nl_arena *arena, const nl_type *type, uint32_t depth, Spark__Connect__DataType *message)
{
    Spark__Connect__DataType__Struct *made = MESSAGE(arena, Spark__Connect__DataType__Struct, spark__connect__data_type__struct__init);
    made->fields = NL_NEW_ARRAY(arena, Spark__Connect__DataType__StructField *, type->child_count + 1);
    made->n_fields = type->child_count;
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_field *field = &type->children[i];
        Spark__Connect__DataType__StructField *to = MESSAGE(arena, Spark__Connect__DataType__StructField, spark__connect__data_type__struct_field__init);
        to->name = NL_UNCONST(nl_str_c(arena, field->name));
        to->has_nullable = true;
        to->nullable = field->is_nullable;
        const nl_str metadata = metadata_of(arena, field);
        to->metadata = metadata.length ? NL_UNCONST(nl_str_c(arena, metadata)) : NULL;
        NL_TRY(to_proto(arena, field->type, depth + 1, &to->data_type));
        made->fields[i] = to;
    }
    message->kind_case = SPARK__CONNECT__DATA_TYPE__KIND_STRUCT;
    message->struct_ = made;
    return NULL;
}

static nl_status list_to_proto(nl_arena *arena, const nl_type *type, uint32_t depth, Spark__Connect__DataType *message)
{
    if (type->id == NL_TYPE_ARRAY) {
        Spark__Connect__DataType__Array *made = MESSAGE(arena, Spark__Connect__DataType__Array, spark__connect__data_type__array__init);
        made->has_contains_null = true;
        made->contains_null = type->contains_null;
        NL_TRY(to_proto(arena, type->children[0].type, depth + 1, &made->element_type));
        message->kind_case = SPARK__CONNECT__DATA_TYPE__KIND_ARRAY;
        message->array = made;
        return NULL;
    }
    Spark__Connect__DataType__Map *made = MESSAGE(arena, Spark__Connect__DataType__Map, spark__connect__data_type__map__init);
    made->has_value_contains_null = true;
    made->value_contains_null = type->contains_null;
    NL_TRY(to_proto(arena, type->children[0].type, depth + 1, &made->key_type));
    NL_TRY(to_proto(arena, type->children[1].type, depth + 1, &made->value_type));
    message->kind_case = SPARK__CONNECT__DATA_TYPE__KIND_MAP;
    message->map = made;
    return NULL;
}

static void string_to_proto(nl_arena *arena, const nl_type *type, Spark__Connect__DataType *message)
{
    if (type->string_kind == NL_STRING_CHAR) {
        message->char_ = MESSAGE(arena, Spark__Connect__DataType__Char, spark__connect__data_type__char__init);
        message->char_->has_length = true;
        message->char_->length = (int32_t)type->length;
        message->kind_case = SPARK__CONNECT__DATA_TYPE__KIND_CHAR;
    } else if (type->string_kind == NL_STRING_VARCHAR) {
        message->var_char = MESSAGE(arena, Spark__Connect__DataType__VarChar, spark__connect__data_type__var_char__init);
        message->var_char->has_length = true;
        message->var_char->length = (int32_t)type->length;
        message->kind_case = SPARK__CONNECT__DATA_TYPE__KIND_VAR_CHAR;
    } else {
        message->string = MESSAGE(arena, Spark__Connect__DataType__String, spark__connect__data_type__string__init);
        message->string->collation = NL_UNCONST(type->collation.length ? nl_str_c(arena, type->collation) : "UTF8_BINARY");
        message->kind_case = SPARK__CONNECT__DATA_TYPE__KIND_STRING;
    }
}

static void interval_to_proto(nl_arena *arena, const nl_type *type, Spark__Connect__DataType *message)
{
    if (type->id == NL_TYPE_INTERVAL_YM) {
        message->year_month_interval = MESSAGE(arena, Spark__Connect__DataType__YearMonthInterval, spark__connect__data_type__year_month_interval__init);
        message->year_month_interval->has_start_field = message->year_month_interval->has_end_field = true;
        message->year_month_interval->start_field = type->start_field;
        message->year_month_interval->end_field = type->end_field;
        message->kind_case = SPARK__CONNECT__DATA_TYPE__KIND_YEAR_MONTH_INTERVAL;
        return;
    }
    message->day_time_interval = MESSAGE(arena, Spark__Connect__DataType__DayTimeInterval, spark__connect__data_type__day_time_interval__init);
    message->day_time_interval->has_start_field = message->day_time_interval->has_end_field = true;
    message->day_time_interval->start_field = type->start_field - NL_FIELD_DAY;
    message->day_time_interval->end_field = type->end_field - NL_FIELD_DAY;
    message->kind_case = SPARK__CONNECT__DATA_TYPE__KIND_DAY_TIME_INTERVAL;
}

#define PLAIN(id, Name, NAME, member, snake)                                                                        \
    case id:                                                                                                        \
        made->member = MESSAGE(arena, Spark__Connect__DataType__##Name, spark__connect__data_type__##snake##__init); \
        made->kind_case = SPARK__CONNECT__DATA_TYPE__KIND_##NAME;                                                   \
        return NULL;

static nl_status to_proto(nl_arena *arena, const nl_type *type, uint32_t depth, Spark__Connect__DataType **message)
{
    if (depth > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    Spark__Connect__DataType *made = MESSAGE(arena, Spark__Connect__DataType, spark__connect__data_type__init);
    *message = made;
    switch (type->id) {
        PLAIN(NL_TYPE_NULL, NULL, NULL, null, null)
        PLAIN(NL_TYPE_BOOLEAN, Boolean, BOOLEAN, boolean, boolean)
        PLAIN(NL_TYPE_TINYINT, Byte, BYTE, byte, byte)
        PLAIN(NL_TYPE_SMALLINT, Short, SHORT, short_, short)
        PLAIN(NL_TYPE_INT, Integer, INTEGER, integer, integer)
        PLAIN(NL_TYPE_BIGINT, Long, LONG, long_, long)
        PLAIN(NL_TYPE_FLOAT, Float, FLOAT, float_, float)
        PLAIN(NL_TYPE_DOUBLE, Double, DOUBLE, double_, double)
        PLAIN(NL_TYPE_BINARY, Binary, BINARY, binary, binary)
        PLAIN(NL_TYPE_DATE, Date, DATE, date, date)
        PLAIN(NL_TYPE_TIMESTAMP, Timestamp, TIMESTAMP, timestamp, timestamp)
        PLAIN(NL_TYPE_TIMESTAMP_NTZ, TimestampNTZ, TIMESTAMP_NTZ, timestamp_ntz, timestamp_ntz)
        PLAIN(NL_TYPE_INTERVAL, CalendarInterval, CALENDAR_INTERVAL, calendar_interval, calendar_interval)
        PLAIN(NL_TYPE_VARIANT, Variant, VARIANT, variant, variant)
    case NL_TYPE_DECIMAL:
        made->decimal = MESSAGE(arena, Spark__Connect__DataType__Decimal, spark__connect__data_type__decimal__init);
        made->decimal->has_precision = made->decimal->has_scale = true;
        made->decimal->precision = type->precision;
        made->decimal->scale = type->scale;
        made->kind_case = SPARK__CONNECT__DATA_TYPE__KIND_DECIMAL;
        return NULL;
    case NL_TYPE_STRING: string_to_proto(arena, type, made); return NULL;
    case NL_TYPE_INTERVAL_YM:
    case NL_TYPE_INTERVAL_DT: interval_to_proto(arena, type, made); return NULL;
    case NL_TYPE_ARRAY:
    case NL_TYPE_MAP: return list_to_proto(arena, type, depth, made);
    case NL_TYPE_STRUCT: return struct_to_proto(arena, type, depth, made);
    case NL_TYPE_COUNT: break;
    }
    return NL_RAISE(INTERNAL_ERROR, NL_P("message", "an unknown type"));
}

nl_status nl_connect_type_to_proto(nl_arena *arena, const nl_type *type, Spark__Connect__DataType **message)
{
    NL_TRY(to_proto(arena, type, 0, message));
    return nl_arena_check(arena);
}

/* ---- from the client: what is absent has the default of proto3, false ---- */

static nl_status from_proto(nl_arena *arena, const Spark__Connect__DataType *message, uint32_t depth, const nl_type **type);

static nl_status struct_from_proto(nl_arena *arena, const Spark__Connect__DataType__Struct *message, uint32_t depth, const nl_type **type)
{
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, message->n_fields + 1);
    for (size_t i = 0; i < message->n_fields; i++) {
        const Spark__Connect__DataType__StructField *field = message->fields[i];
        fields[i] = (nl_field){.name = nl_str_from(field->name), .is_nullable = field->nullable, .metadata = nl_str_from(field->metadata)};
        if (nl_str_is(fields[i].metadata, "{}")) fields[i].metadata = (nl_str){0};
        NL_TRY(from_proto(arena, field->data_type, depth + 1, &fields[i].type));
    }
    *type = nl_type_struct(arena, fields, (uint32_t)message->n_fields);
    return NULL;
}

static nl_status parsed_type(nl_arena *arena, nl_str text, const nl_type **type)
{
    if (text.length && (text.data[0] == '{' || text.data[0] == '"')) return nl_sql_parse_json_type(arena, text, type);
    return nl_connect_parse_ddl(arena, text, type);
}

static bool is_field_range(int32_t start, int32_t end, int32_t last)
{
    return start >= 0 && end >= start && end <= last;
}

static nl_status from_proto(nl_arena *arena, const Spark__Connect__DataType *message, uint32_t depth, const nl_type **type)
{
    const nl_type *parts[2] = {NULL, NULL};
    if (depth > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    if (!message) return nl_connect_invalid("a data type is missing");
    switch (message->kind_case) {
    case SPARK__CONNECT__DATA_TYPE__KIND_NULL: *type = nl_type_of(NL_TYPE_NULL); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_BINARY: *type = nl_type_binary(); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_BOOLEAN: *type = nl_type_boolean(); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_BYTE: *type = nl_type_of(NL_TYPE_TINYINT); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_SHORT: *type = nl_type_of(NL_TYPE_SMALLINT); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_INTEGER: *type = nl_type_int(); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_LONG: *type = nl_type_bigint(); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_FLOAT: *type = nl_type_of(NL_TYPE_FLOAT); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_DOUBLE: *type = nl_type_double(); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_DATE: *type = nl_type_of(NL_TYPE_DATE); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_TIMESTAMP: *type = nl_type_of(NL_TYPE_TIMESTAMP); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_TIMESTAMP_NTZ: *type = nl_type_of(NL_TYPE_TIMESTAMP_NTZ); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_CALENDAR_INTERVAL: *type = nl_type_of(NL_TYPE_INTERVAL); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_VARIANT: *type = nl_type_of(NL_TYPE_VARIANT); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_DECIMAL: {
        const int precision = message->decimal->has_precision ? message->decimal->precision : 10;
        const int scale = message->decimal->has_scale ? message->decimal->scale : 0;
        if (precision < 1 || precision > 38 || scale < 0 || scale > precision) return nl_connect_invalid("a decimal type is out of range");
        *type = nl_type_decimal(precision, scale);
        return NULL;
    }
    case SPARK__CONNECT__DATA_TYPE__KIND_STRING: {
        const nl_str collation = nl_str_from(message->string->collation);
        *type = collation.length == 0 || nl_str_is(collation, "UTF8_BINARY") ? nl_type_string() : nl_type_collated(arena, collation);
        return NULL;
    }
    case SPARK__CONNECT__DATA_TYPE__KIND_CHAR: *type = nl_type_char(arena, NL_STRING_CHAR, (uint32_t)NL_MAX(message->char_->length, 1)); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_VAR_CHAR: *type = nl_type_char(arena, NL_STRING_VARCHAR, (uint32_t)NL_MAX(message->var_char->length, 1)); return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_YEAR_MONTH_INTERVAL: {
        const int32_t start = message->year_month_interval->has_start_field ? message->year_month_interval->start_field : 0;
        const int32_t end = message->year_month_interval->has_end_field ? message->year_month_interval->end_field : 1;
        if (!is_field_range(start, end, 1)) return nl_connect_invalid("an interval type is out of range");
        *type = nl_type_interval_ym((nl_interval_field)start, (nl_interval_field)end);
        return NULL;
    }
    case SPARK__CONNECT__DATA_TYPE__KIND_DAY_TIME_INTERVAL: {
        const int32_t start = message->day_time_interval->has_start_field ? message->day_time_interval->start_field : 0;
        const int32_t end = message->day_time_interval->has_end_field ? message->day_time_interval->end_field : 3;
        if (!is_field_range(start, end, 3)) return nl_connect_invalid("an interval type is out of range");
        *type = nl_type_interval_dt((nl_interval_field)(start + NL_FIELD_DAY), (nl_interval_field)(end + NL_FIELD_DAY));
        return NULL;
    }
    case SPARK__CONNECT__DATA_TYPE__KIND_ARRAY:
        NL_TRY(from_proto(arena, message->array->element_type, depth + 1, &parts[0]));
        *type = nl_type_array(arena, parts[0], message->array->contains_null);
        return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_MAP:
        NL_TRY(from_proto(arena, message->map->key_type, depth + 1, &parts[0]));
        NL_TRY(from_proto(arena, message->map->value_type, depth + 1, &parts[1]));
        *type = nl_type_map(arena, parts[0], parts[1], message->map->value_contains_null);
        return NULL;
    case SPARK__CONNECT__DATA_TYPE__KIND_STRUCT: return struct_from_proto(arena, message->struct_, depth, type);
    case SPARK__CONNECT__DATA_TYPE__KIND_UDT: return from_proto(arena, message->udt->sql_type, depth + 1, type);
    case SPARK__CONNECT__DATA_TYPE__KIND_UNPARSED: return parsed_type(arena, nl_str_from(message->unparsed->data_type_string), type);
    case SPARK__CONNECT__DATA_TYPE__KIND__NOT_SET:
    default: break;
    }
    return nl_connect_invalid("Does not support convert NOT_SET to catalyst types.");
}

nl_status nl_connect_type_from_proto(nl_arena *arena, const Spark__Connect__DataType *message, const nl_type **type)
{
    NL_TRY(from_proto(arena, message, 0, type));
    return nl_arena_check(arena);
}

nl_status nl_connect_parse_ddl(nl_arena *arena, nl_str text, const nl_type **type)
{
    nl_status status = nl_sql_parse_schema(arena, text, type);
    if (!status) return NULL;
    nl_status other = nl_sql_parse_schema(arena, nl_arena_f(arena, "struct<" NL_STR_FMT ">", NL_STR_ARG(nl_str_trim(text))), type);
    nl_error_free(other ? other : status);
    return other ? status : NULL;
}
