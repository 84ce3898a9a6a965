/* column/arrow_schema.c - types to and from Arrow's C schema (Arrow specification, "Data type description").
 *
 * Types Spark maps in its own way keep Spark's form: year-month intervals are month intervals, day-time intervals are
 * durations in microseconds, a variant is a struct {value, metadata} whose metadata field says variant=true.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/decimal.h"

#include "base/number.h"
#include "base/limits.h"
#include "column/arrow.h"
#include "column/arrow_internal.h"

/* {"variant": "true"} in the form of the C interface: count, then length and bytes of each key and value. */
static const char variant_metadata[] = "\1\0\0\0\7\0\0\0variant\4\0\0\0true";

/* All that an exported schema owns. */
typedef struct schema_owner {
    char format[32];
    char *name;
    struct ArrowSchema **children;
    uint32_t child_count;
} schema_owner;

static void release_schema(struct ArrowSchema *schema)
{
    schema_owner *owner = schema->private_data;
    for (uint32_t i = 0; i < owner->child_count; i++) {
        struct ArrowSchema *child = owner->children[i];
        if (child && child->release) child->release(child);
        free(child);
    }
    free(owner->children);
    free(owner->name);
    free(owner);
    schema->release = NULL;
}

static nl_status out_of_memory(void)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof(schema_owner)),
                    NL_P_INT("receivedBytes", 0));
}

static void write_format(const nl_type *type, char *format, size_t size)
{
    static const char *const formats[NL_TYPE_COUNT] = {
        [NL_TYPE_NULL] = "n",
        [NL_TYPE_BOOLEAN] = "b",
        [NL_TYPE_TINYINT] = "c",
        [NL_TYPE_SMALLINT] = "s",
        [NL_TYPE_INT] = "i",
        [NL_TYPE_BIGINT] = "l",
        [NL_TYPE_FLOAT] = "f",
        [NL_TYPE_DOUBLE] = "g",
        [NL_TYPE_STRING] = "u",
        [NL_TYPE_BINARY] = "z",
        [NL_TYPE_DATE] = "tdD",
        [NL_TYPE_TIMESTAMP] = "tsu:UTC",
        [NL_TYPE_TIMESTAMP_NTZ] = "tsu:",
        [NL_TYPE_INTERVAL_YM] = "tiM",
        [NL_TYPE_INTERVAL_DT] = "tDu",
        [NL_TYPE_INTERVAL] = "tin",
        [NL_TYPE_ARRAY] = "+l",
        [NL_TYPE_MAP] = "+m",
        [NL_TYPE_STRUCT] = "+s",
        [NL_TYPE_VARIANT] = "+s",
    };
    if (type->id == NL_TYPE_DECIMAL)
        snprintf(format, size, "d:%u,%u", type->precision, type->scale);
    else
        snprintf(format, size, "%s", formats[type->id]);
}

static nl_status start_schema(nl_str name, bool is_nullable, uint32_t child_count, struct ArrowSchema *schema)
{
    schema_owner *owner = calloc(1, sizeof *owner);
    if (!owner) return out_of_memory();
    *schema = (struct ArrowSchema){.format = owner->format,
                                   .flags = is_nullable ? ARROW_FLAG_NULLABLE : 0,
                                   .n_children = child_count,
                                   .release = release_schema,
                                   .private_data = owner};
    owner->name = malloc(name.length + 1);
    owner->children = calloc(NL_MAX(child_count, 1), sizeof(struct ArrowSchema *));
    schema->name = owner->name;
    schema->children = owner->children;
    if (!owner->name || !owner->children) return out_of_memory();
    if (name.length) memcpy(owner->name, name.data, name.length);
    owner->name[name.length] = '\0';
    for (; owner->child_count < child_count; owner->child_count++) {
        struct ArrowSchema *child = calloc(1, sizeof *child);
        if (!child) return out_of_memory();
        owner->children[owner->child_count] = child;
    }
    return NULL;
}

static nl_status export_field(nl_str name, const nl_type *type, bool is_nullable, struct ArrowSchema *schema);

static nl_status export_children(const nl_type *type, struct ArrowSchema *schema)
{
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_field *field = &type->children[i];
        NL_TRY(export_field(field->name, field->type, field->is_nullable, schema->children[i]));
    }
    return NULL;
}

/* A map is a list of a struct {key, value} called entries. */
static nl_status export_map(const nl_type *type, struct ArrowSchema *schema)
{
    struct ArrowSchema *entries = schema->children[0];
    NL_TRY(start_schema(NL_STR("entries"), false, 2, entries));
    snprintf(((schema_owner *)entries->private_data)->format, 4, "+s");
    return export_children(type, entries);
}

static nl_status export_field(nl_str name, const nl_type *type, bool is_nullable, struct ArrowSchema *schema)
{
    uint32_t child_count = type->child_count;
    if (type->id == NL_TYPE_MAP) child_count = 1;
    if (type->id == NL_TYPE_VARIANT) child_count = 2;
    NL_TRY(start_schema(name, is_nullable, child_count, schema));
    schema_owner *owner = schema->private_data;
    write_format(type, owner->format, sizeof owner->format);
    if (type->id == NL_TYPE_MAP) return export_map(type, schema);
    if (type->id == NL_TYPE_VARIANT) {
        NL_TRY(export_field(NL_STR("value"), nl_type_binary(), false, schema->children[0]));
        NL_TRY(export_field(NL_STR("metadata"), nl_type_binary(), false, schema->children[1]));
        schema->children[1]->metadata = variant_metadata;
        return NULL;
    }
    return export_children(type, schema);
}

nl_status nl_arrow_export_schema(const nl_type *struct_type, struct ArrowSchema *schema)
{
    NL_ASSERT(struct_type->id == NL_TYPE_STRUCT);
    struct ArrowSchema made = {0};
    nl_status status = export_field((nl_str){NULL, 0}, struct_type, false, &made);
    if (!status)
        *schema = made;
    else if (made.release)
        made.release(&made);
    return status;
}

static nl_status unsupported(const struct ArrowSchema *schema)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The Arrow type \"%s\" of column \"%s\" has no counterpart in Spark.",
                         schema->format, schema->name ? schema->name : "");
}

static nl_status import_field(const struct ArrowSchema *schema, nl_arena *arena, uint32_t depth, nl_field *field);

/* Formats of one letter. */
static const nl_type *letter_type(char letter)
{
    switch (letter) {
    case 'n':
        return nl_type_of(NL_TYPE_NULL);
    case 'b':
        return nl_type_boolean();
    case 'c':
        return nl_type_of(NL_TYPE_TINYINT);
    case 's':
    case 'C':
        return nl_type_of(NL_TYPE_SMALLINT);
    case 'i':
    case 'S':
        return nl_type_int();
    case 'l':
    case 'I':
        return nl_type_bigint();
    case 'L':
        return nl_type_decimal(20, 0);
    case 'e':
    case 'f':
        return nl_type_of(NL_TYPE_FLOAT);
    case 'g':
        return nl_type_double();
    case 'u':
    case 'U':
        return nl_type_string();
    case 'z':
    case 'Z':
        return nl_type_binary();
    default:
        return NULL;
    }
}

bool nl_arrow_decimal_format(const char *format, int *precision, int *scale, int *bits)
{
    enum { PARTS_MAX = 3 };
    int64_t numbers[PARTS_MAX] = {0, 0, 128}; /* precision, scale, bits unless given */
    uint32_t count = 0;
    nl_str text = nl_str_from(format), part;
    if (!nl_str_starts(text, NL_STR("d:"))) return false;
    text = nl_str_slice(text, 2, text.length);
    while (nl_str_next_part(&text, ',', &part)) {
        if (count == PARTS_MAX || !nl_parse_int64(part, &numbers[count])) return false;
        if (numbers[count] < 0 || numbers[count] > INT16_MAX) return false;
        count++;
    }
    *precision = (int)numbers[0];
    *scale = (int)numbers[1];
    *bits = (int)numbers[2];
    return count >= 2 && *precision >= 1 && *precision <= NL_DECIMAL_PRECISION_MAX && *scale >= 0 &&
           *scale <= *precision && (*bits == 32 || *bits == 64 || *bits == 128 || *bits == 256);
}

static const nl_type *longer_type(const char *format)
{
    nl_str text = nl_str_from(format);
    int precision, scale, bits;
    if (nl_str_is(text, "vu")) return nl_type_string();
    if (nl_str_is(text, "vz") || nl_str_starts(text, NL_STR("w:"))) return nl_type_binary();
    if (nl_str_is(text, "tdD") || nl_str_is(text, "tdm")) return nl_type_of(NL_TYPE_DATE);
    if (nl_str_starts(text, NL_STR("ts")) && text.length >= 4 && text.data[3] == ':')
        return nl_type_of(text.length > 4 ? NL_TYPE_TIMESTAMP : NL_TYPE_TIMESTAMP_NTZ);
    if (nl_str_starts(text, NL_STR("tD"))) return nl_type_of(NL_TYPE_INTERVAL_DT);
    if (nl_str_is(text, "tiM")) return nl_type_of(NL_TYPE_INTERVAL_YM);
    if (nl_str_is(text, "tiD") || nl_str_is(text, "tin")) return nl_type_of(NL_TYPE_INTERVAL);
    if (nl_arrow_decimal_format(format, &precision, &scale, &bits)) return nl_type_decimal(precision, scale);
    return NULL;
}

static bool is_variant(const struct ArrowSchema *schema)
{
    if (schema->n_children != 2) return false;
    for (int64_t i = 0; i < 2; i++) {
        const struct ArrowSchema *child = schema->children[i];
        if (!nl_str_is(nl_str_from(child->name), i == 0 ? "value" : "metadata")) return false;
    }
    const char *metadata = schema->children[1]->metadata;
    return metadata && memcmp(metadata, variant_metadata, sizeof variant_metadata - 1) == 0;
}

static nl_status import_struct(const struct ArrowSchema *schema, nl_arena *arena, uint32_t depth, const nl_type **type)
{
    if (depth > 0 && is_variant(schema)) {
        *type = nl_type_of(NL_TYPE_VARIANT);
        return NULL;
    }
    if (schema->n_children < 0 || schema->n_children > INT32_MAX) return unsupported(schema);
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, (size_t)schema->n_children);
    for (int64_t i = 0; i < schema->n_children; i++)
        NL_TRY(import_field(schema->children[i], arena, depth + 1, &fields[i]));
    *type = nl_type_struct(arena, fields, (uint32_t)schema->n_children);
    return NULL;
}

static nl_status import_map(const struct ArrowSchema *schema, nl_arena *arena, uint32_t depth, const nl_type **type)
{
    const struct ArrowSchema *entries = schema->n_children == 1 ? schema->children[0] : NULL;
    nl_field key = {0};
    nl_field value = {0};
    if (!entries || entries->n_children != 2) return unsupported(schema);
    NL_TRY(import_field(entries->children[0], arena, depth + 1, &key));
    NL_TRY(import_field(entries->children[1], arena, depth + 1, &value));
    *type = nl_type_map(arena, key.type, value.type, value.is_nullable);
    return NULL;
}

static nl_status import_list(const struct ArrowSchema *schema, nl_arena *arena, uint32_t depth, const nl_type **type)
{
    nl_field element = {0};
    if (schema->n_children != 1) return unsupported(schema);
    NL_TRY(import_field(schema->children[0], arena, depth + 1, &element));
    *type = nl_type_array(arena, element.type, element.is_nullable);
    return NULL;
}

static nl_status import_nested(const struct ArrowSchema *schema, nl_arena *arena, uint32_t depth, const nl_type **type)
{
    nl_str format = nl_str_from(schema->format);
    if (nl_str_is(format, "+s")) return import_struct(schema, arena, depth, type);
    if (nl_str_is(format, "+m")) return import_map(schema, arena, depth, type);
    if (nl_str_is(format, "+l") || nl_str_is(format, "+L") || nl_str_is(format, "+vl") || nl_str_is(format, "+vL") ||
        nl_str_starts(format, NL_STR("+w:")))
        return import_list(schema, arena, depth, type);
    if (nl_str_is(format, "+r") && schema->n_children == 2) { /* run-end encoded: ends, values */
        nl_field values = {0};
        NL_TRY(import_field(schema->children[1], arena, depth + 1, &values));
        *type = values.type;
        return NULL;
    }
    return unsupported(schema);
}

static nl_status import_field(const struct ArrowSchema *schema, nl_arena *arena, uint32_t depth, nl_field *field)
{
    if (depth > NL_TYPE_DEPTH_MAX) return unsupported(schema);
    const char *format = schema->format ? schema->format : "";
    const nl_type *type = NULL;
    if (schema->dictionary) {
        nl_field values = {0};
        NL_TRY(import_field(schema->dictionary, arena, depth + 1, &values));
        type = values.type;
    } else if (format[0] == '+') {
        NL_TRY(import_nested(schema, arena, depth, &type));
    } else {
        type = format[0] && !format[1] ? letter_type(format[0]) : longer_type(format);
    }
    if (!type) return unsupported(schema);
    *field = (nl_field){.name = nl_str_from(schema->name),
                        .type = type,
                        .is_nullable = (schema->flags & ARROW_FLAG_NULLABLE) != 0};
    return NULL;
}

nl_status nl_arrow_import_schema(const struct ArrowSchema *schema, nl_arena *arena, const nl_type **struct_type)
{
    nl_field root = {0};
    NL_TRY(import_field(schema, arena, 0, &root));
    if (root.type->id != NL_TYPE_STRUCT) return unsupported(schema);
    *struct_type = root.type;
    return nl_arena_check(arena);
}
