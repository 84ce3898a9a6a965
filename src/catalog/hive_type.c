/* catalog/hive_type.c - see hive_type.h. */
#include "catalog/hive_type.h"

/* Java writes the types that Glue does not know by their own names. */
static const char *type_word(nl_ice_type_id id)
{
    switch (id) {
    case NL_ICE_BOOLEAN:
        return "boolean";
    case NL_ICE_INT:
        return "int";
    case NL_ICE_LONG:
        return "bigint";
    case NL_ICE_FLOAT:
        return "float";
    case NL_ICE_DOUBLE:
        return "double";
    case NL_ICE_DATE:
        return "date";
    case NL_ICE_TIME:
    case NL_ICE_STRING:
    case NL_ICE_UUID:
        return "string";
    case NL_ICE_TIMESTAMP:
    case NL_ICE_TIMESTAMPTZ:
        return "timestamp";
    case NL_ICE_TIMESTAMP_NS:
    case NL_ICE_TIMESTAMPTZ_NS:
        return "timestamp_nano";
    case NL_ICE_FIXED:
    case NL_ICE_BINARY:
        return "binary";
    case NL_ICE_VARIANT:
        return "variant";
    case NL_ICE_GEOMETRY:
        return "geometry";
    case NL_ICE_GEOGRAPHY:
        return "geography";
    case NL_ICE_UNKNOWN:
    case NL_ICE_DECIMAL:
    case NL_ICE_STRUCT:
    case NL_ICE_LIST:
    case NL_ICE_MAP:
        return "unknown";
    }
    return "unknown";
}

void nl_append_hive_type(const nl_ice_type *type, nl_builder *out)
{
    if (type->id == NL_ICE_DECIMAL) {
        nl_append_f(out, "decimal(%u,%u)", type->precision, type->scale);
        return;
    }
    if (!nl_ice_type_is_nested(type)) {
        nl_append_c(out, type_word(type->id));
        return;
    }
    nl_append_c(out, type->id == NL_ICE_STRUCT ? "struct<" : type->id == NL_ICE_LIST ? "array<" : "map<");
    for (uint32_t i = 0; i < type->field_count; i++) { /* schemas nest at most as deep as the parser let them */
        if (i > 0) nl_append_char(out, ',');
        if (type->id == NL_ICE_STRUCT) {
            nl_append(out, type->fields[i].name);
            nl_append_char(out, ':');
        }
        nl_append_hive_type(type->fields[i].type, out);
    }
    nl_append_char(out, '>');
}
