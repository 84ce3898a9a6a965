/* iceberg/partition.c - partition specs: comparing, types, paths, JSON. Transforms are in transform.c, making and
 * evolving specs in partition_update.c. */
#include "iceberg/partition.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>

bool nl_partition_spec_is_unpartitioned(const nl_partition_spec *spec)
{
    for (uint32_t i = 0; i < spec->field_count; i++)
        if (spec->fields[i].transform.kind != NL_TRANSFORM_VOID) return false;
    return true;
}

bool nl_partition_spec_compatible(const nl_partition_spec *a, const nl_partition_spec *b)
{
    if (a->field_count != b->field_count) return false;
    for (uint32_t i = 0; i < a->field_count; i++) {
        const nl_partition_field *left = &a->fields[i];
        const nl_partition_field *right = &b->fields[i];
        if (left->source_id != right->source_id || !nl_transform_equal(&left->transform, &right->transform) ||
            !nl_str_equal(left->name, right->name))
            return false;
    }
    return true;
}

bool nl_partition_spec_same_fields(const nl_partition_spec *a, const nl_partition_spec *b)
{
    if (!nl_partition_spec_compatible(a, b)) return false;
    for (uint32_t i = 0; i < a->field_count; i++)
        if (a->fields[i].field_id != b->fields[i].field_id) return false;
    return true;
}

const nl_partition_spec *nl_partition_spec_copy(nl_arena *arena, const nl_partition_spec *spec)
{
    nl_partition_spec *copy = NL_NEW(arena, nl_partition_spec);
    nl_partition_field *fields = NL_NEW_ARRAY(arena, nl_partition_field, (size_t)spec->field_count + 1);
    for (uint32_t i = 0; i < spec->field_count; i++) {
        fields[i] = spec->fields[i];
        fields[i].name = nl_arena_str(arena, spec->fields[i].name);
        if (fields[i].transform.text.length) fields[i].transform.text = nl_arena_str(arena, fields[i].transform.text);
        int32_t *ids = NL_NEW_ARRAY(arena, int32_t, (size_t)fields[i].source_count + 1);
        for (uint32_t k = 0; k < fields[i].source_count; k++)
            ids[k] = spec->fields[i].source_ids[k];
        fields[i].source_ids = ids;
    }
    *copy = (nl_partition_spec){.spec_id = spec->spec_id, .field_count = spec->field_count, .fields = fields};
    return copy;
}

/* The first schema that knows the source decides. */
const nl_ice_type *nl_partition_source_type(const nl_partition_field *field, const nl_schema *const *schemas, uint32_t schema_count)
{
    const nl_schema_column *source = NULL;
    for (uint32_t i = 0; i < schema_count && !source; i++)
        source = nl_schema_find_id(schemas[i], field->source_id);
    /* When the source is gone only some transforms still tell their type; the text type reads any of the others back. */
    return source ? source->field->type : nl_ice_type_of(NL_ICE_STRING);
}

static const nl_ice_type *type_by_schemas(const nl_partition_field *field, const nl_schema *const *schemas, uint32_t schema_count)
{
    return nl_transform_result_type(&field->transform, nl_partition_source_type(field, schemas, schema_count));
}

static const nl_ice_type *field_type(const nl_partition_field *field, const nl_schema *schema)
{
    return type_by_schemas(field, &schema, schema ? 1 : 0);
}

const nl_ice_type *nl_partition_type_by_schemas(nl_arena *arena, const nl_partition_spec *spec, const nl_schema *const *schemas,
                                                uint32_t schema_count)
{
    nl_ice_field *fields = NL_NEW_ARRAY(arena, nl_ice_field, (size_t)spec->field_count + 1);
    for (uint32_t i = 0; i < spec->field_count; i++)
        fields[i] = (nl_ice_field){
            .id = spec->fields[i].field_id, .name = spec->fields[i].name, .type = type_by_schemas(&spec->fields[i], schemas, schema_count)};
    return nl_ice_type_struct(arena, fields, spec->field_count);
}

const nl_ice_type *nl_partition_type(nl_arena *arena, const nl_partition_spec *spec, const nl_schema *schema)
{
    return nl_partition_type_by_schemas(arena, spec, &schema, schema ? 1 : 0);
}

static int newest_first(const void *a, const void *b)
{
    const int32_t left = (*(const nl_partition_spec *const *)a)->spec_id;
    const int32_t right = (*(const nl_partition_spec *const *)b)->spec_id;
    return (left < right) - (left > right);
}

static int by_field_id(const void *a, const void *b)
{
    const int32_t left = ((const nl_ice_field *)a)->id;
    const int32_t right = ((const nl_ice_field *)b)->id;
    return (left > right) - (left < right);
}

typedef struct union_state {
    const nl_schema *const *schemas;
    uint32_t schema_count;
    nl_ice_field *fields;
    const nl_partition_field **sources; /* the spec field each of `fields` came from */
    uint32_t count;
} union_state;

static nl_status union_field(union_state *state, const nl_partition_field *field)
{
    if (field->transform.kind == NL_TRANSFORM_UNKNOWN)
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot build table partition type, unknown transforms: [" NL_STR_FMT "]",
                             NL_STR_ARG(field->transform.text));
    for (uint32_t i = 0; i < state->count; i++) {
        const nl_partition_field *known = state->sources[i];
        if (known->field_id != field->field_id) continue;
        const bool is_void = known->transform.kind == NL_TRANSFORM_VOID;
        if (known->source_id != field->source_id ||
            !(is_void || field->transform.kind == NL_TRANSFORM_VOID || nl_transform_equal(&known->transform, &field->transform)))
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Conflicting partition fields: ['" NL_STR_FMT "', '" NL_STR_FMT "']",
                                 NL_STR_ARG(field->name), NL_STR_ARG(known->name));
        if (is_void && field->transform.kind != NL_TRANSFORM_VOID) { /* v1: the type before the field was dropped */
            state->sources[i] = field;
            state->fields[i].type = type_by_schemas(field, state->schemas, state->schema_count);
        }
        return NULL;
    }
    state->sources[state->count] = field;
    state->fields[state->count++] = (nl_ice_field){.id = field->field_id, .name = field->name, .type = type_by_schemas(field, state->schemas, state->schema_count)};
    return NULL;
}

nl_status nl_partition_type_union(nl_arena *arena, const nl_partition_spec *const *specs, uint32_t spec_count, const nl_schema *const *schemas,
                                  uint32_t schema_count, const nl_ice_type **type)
{
    size_t field_count = 0;
    const nl_partition_spec **sorted = NL_NEW_ARRAY(arena, const nl_partition_spec *, (size_t)spec_count + 1);
    for (uint32_t i = 0; i < spec_count; i++) {
        sorted[i] = specs[i];
        field_count += specs[i]->field_count;
    }
    qsort((void *)sorted, spec_count, sizeof(*sorted), newest_first); /* newer names win */
    union_state state = {.schemas = schemas,
                         .schema_count = schema_count,
                         .fields = NL_NEW_ARRAY(arena, nl_ice_field, field_count + 1),
                         .sources = NL_NEW_ARRAY(arena, const nl_partition_field *, field_count + 1)};
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < spec_count; i++)
        for (uint32_t k = 0; k < sorted[i]->field_count; k++)
            NL_TRY(union_field(&state, &sorted[i]->fields[k]));
    qsort(state.fields, state.count, sizeof(*state.fields), by_field_id);
    *type = nl_ice_type_struct(arena, state.fields, state.count);
    return NULL;
}

/* ---- Values and paths ---- */

/* 0.0 and -0.0 are two partitions, for readers take the value of an identity column from its partition. */
static bool is_other_zero(const nl_value *a, const nl_value *b)
{
    if (a->type->physical != NL_PHYS_F32 && a->type->physical != NL_PHYS_F64) return false;
    return a->real == 0 && b->real == 0 && signbit(a->real) != signbit(b->real);
}

bool nl_partition_equal(const nl_value *a, const nl_value *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (a[i].is_null != b[i].is_null) return false;
        if (a[i].is_null) continue;
        if (!nl_value_equal(&a[i], &b[i]) || is_other_zero(&a[i], &b[i])) return false;
    }
    return true;
}

static uint64_t value_hash(const nl_value *value)
{
    if (value->is_null) return 0;
    switch ((int)value->type->physical) {
    case NL_PHYS_BOOL: return nl_hash_u64(value->boolean ? 2 : 1);
    case NL_PHYS_STRING: return nl_hash_bytes(value->text.data, value->text.length, 1);
    case NL_PHYS_F32:
    case NL_PHYS_F64: {
        /* Equal values must have one hash: both zeros, and every NaN. */
        const double real = value->real == 0 ? 0 : value->real != value->real ? (double)__builtin_nanf("") : value->real;
        return nl_hash_bytes(&real, sizeof(real), 2);
    }
    default: break;
    }
    if (value->type->id == NL_TYPE_DECIMAL) return nl_hash_mix((uint64_t)value->decimal, (uint64_t)(value->decimal >> 64));
    return nl_hash_u64((uint64_t)value->integer);
}

uint64_t nl_partition_hash(const nl_value *values, uint32_t count)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < count; i++)
        hash = nl_hash_mix(hash, value_hash(&values[i]));
    return hash;
}

void nl_form_encode(nl_str text, nl_builder *out)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '*' || c == '_';
        if (is_plain) {
            nl_append_char(out, (char)c);
        } else if (c == ' ') {
            nl_append_char(out, '+');
        } else {
            nl_append_char(out, '%');
            nl_append_char(out, digits[c >> 4]);
            nl_append_char(out, digits[c & 15]);
        }
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static nl_status decode_percent(nl_str text, bool plus_is_space, nl_builder *out)
{
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        if (c == '+' && plus_is_space) {
            nl_append_char(out, ' ');
        } else if (c == '%') {
            const int high = i + 2 < text.length ? hex_digit(text.data[i + 1]) : -1;
            const int low = i + 2 < text.length ? hex_digit(text.data[i + 2]) : -1;
            if (high < 0 || low < 0)
                return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Illegal percent escape in: " NL_STR_FMT, NL_STR_ARG(text));
            nl_append_char(out, (char)(high * 16 + low));
            i += 2;
        } else {
            nl_append_char(out, c);
        }
    }
    return NULL;
}

nl_status nl_form_decode(nl_str text, nl_builder *out)
{
    return decode_percent(text, true, out);
}

void nl_partition_append_path(const nl_partition_spec *spec, const nl_schema *schema, const nl_value *values, nl_builder *out)
{
    nl_builder text;
    nl_builder_init(&text, SIZE_MAX);
    for (uint32_t i = 0; i < spec->field_count; i++) {
        const nl_partition_field *field = &spec->fields[i];
        const nl_schema_column *source = nl_schema_find_id(schema, field->source_id);
        nl_builder_clear(&text);
        if (source) nl_transform_append_human(&field->transform, source->field->type, &values[i], &text);
        else nl_append_c(&text, "null");
        if (i) nl_append_char(out, '/');
        nl_form_encode(field->name, out);
        nl_append_char(out, '=');
        nl_form_encode(nl_builder_str(&text), out);
    }
    nl_builder_fini(&text);
}

static bool value_from_text(const nl_ice_type *type, nl_str text, nl_arena *arena, nl_value *value)
{
    int32_t days;
    int scale;
    switch ((int)type->id) {
    case NL_ICE_BOOLEAN: value->boolean = nl_str_is_nocase(text, "true"); return true;
    case NL_ICE_INT: return nl_parse_int64(text, &value->integer) && value->integer >= INT32_MIN && value->integer <= INT32_MAX;
    case NL_ICE_LONG: return nl_parse_int64(text, &value->integer);
    case NL_ICE_FLOAT:
        if (!nl_parse_double(text, &value->real)) return false;
        value->real = (float)value->real;
        return true;
    case NL_ICE_DOUBLE: return nl_parse_double(text, &value->real);
    case NL_ICE_STRING: value->text = nl_arena_str(arena, text); return true;
    case NL_ICE_DATE:
        if (!nl_cast_date(text, &days)) return false;
        value->integer = days;
        return true;
    case NL_ICE_TIMESTAMP: return nl_cast_timestamp_ntz(text, false, &value->integer);
    case NL_ICE_TIMESTAMPTZ: return nl_cast_timestamp(text, nl_timezone_utc(), &value->integer);
    case NL_ICE_DECIMAL:
        return nl_decimal_parse(text, &value->decimal, &scale, NULL) &&
               nl_decimal_rescale(value->decimal, scale, type->scale, NL_ROUND_HALF_UP, &value->decimal) &&
               nl_decimal_fits(value->decimal, type->precision);
    default: return false;
    }
}

static nl_status path_field(const nl_partition_spec *spec, uint32_t i, const nl_schema *schema, nl_str part, nl_arena *arena, nl_value *value)
{
    const nl_partition_field *field = &spec->fields[i];
    const nl_ice_type *type = field_type(field, schema);
    const size_t split = nl_str_find_char(part, '=', 0);
    if (split == NL_NOT_FOUND || !nl_str_equal(nl_str_slice(part, 0, split), field->name))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid partition: " NL_STR_FMT, NL_STR_ARG(part));
    nl_builder text;
    nl_builder_init(&text, 1u << 20);
    nl_status status = decode_percent(nl_str_slice(part, split + 1, part.length), false, &text);
    nl_value made = nl_value_null(nl_ice_type_storage(arena, type));
    if (!status && !nl_str_is(nl_builder_str(&text), "__HIVE_DEFAULT_PARTITION__")) {
        made.is_null = false;
        if (!value_from_text(type, nl_builder_str(&text), arena, &made))
            status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot read the partition value of: " NL_STR_FMT, NL_STR_ARG(part));
    }
    nl_builder_fini(&text);
    if (!status) *value = made;
    return status;
}

nl_status nl_partition_from_path(const nl_partition_spec *spec, const nl_schema *schema, nl_str path, nl_arena *arena, nl_value *values)
{
    nl_str rest = path;
    nl_str part;
    uint32_t i = 0;
    for (; nl_str_next_part(&rest, '/', &part); i++) {
        if (i == spec->field_count)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid partition data, too many fields (expecting %u): " NL_STR_FMT, spec->field_count,
                                 NL_STR_ARG(path));
        NL_TRY(path_field(spec, i, schema, part, arena, &values[i]));
    }
    if (i < spec->field_count)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid partition data, not enough fields (expecting %u): " NL_STR_FMT, spec->field_count,
                             NL_STR_ARG(path));
    return NULL;
}

/* ---- JSON ---- */

static nl_status read_field(nl_arena *arena, const json_t *json, nl_str path, nl_partition_field *field)
{
    nl_str transform = {0};
    const json_t *sources;
    NL_TRY(nl_json_object(json, path, "a partition field"));
    NL_TRY(nl_json_text(json, "name", path, &field->name));
    NL_TRY(nl_json_text(json, "transform", path, &transform));
    NL_TRY(nl_json_optional_int32(json, "field-id", path, &field->field_id));
    NL_TRY(nl_json_optional_array(json, "source-ids", path, &sources));
    field->name = nl_arena_str(arena, field->name);
    NL_TRY(nl_transform_parse(arena, transform, &field->transform));
    if (!sources) {
        int32_t *id = NL_NEW(arena, int32_t);
        NL_TRY(nl_json_int32(json, "source-id", path, id));
        field->source_ids = id;
        field->source_count = 1;
    } else {
        NL_TRY(nl_json_int32_list(arena, sources, "source-ids", path, &field->source_ids, &field->source_count));
        if (field->source_count == 0) return nl_json_corrupt(path, "source-ids is empty");
        if (field->source_count > 1) /* nobody knows such a transform yet: filters on it never prune */
            field->transform = (nl_transform){.kind = NL_TRANSFORM_UNKNOWN, .text = nl_arena_str(arena, transform)};
    }
    field->source_id = field->source_ids[0];
    return NULL;
}

nl_status nl_partition_fields_from_json(nl_arena *arena, const json_t *array, int32_t spec_id, nl_str path, const nl_partition_spec **spec)
{
    if (!json_is_array(array)) return nl_json_corrupt(path, "the fields of a partition spec are not an array");
    const uint32_t count = (uint32_t)json_array_size(array);
    nl_partition_field *fields = NL_NEW_ARRAY(arena, nl_partition_field, (size_t)count + 1);
    NL_TRY(nl_arena_check(arena));
    uint32_t missing = 0;
    for (uint32_t i = 0; i < count; i++) {
        NL_TRY(read_field(arena, json_array_get(array, i), path, &fields[i]));
        missing += fields[i].field_id == 0;
    }
    if (missing && missing != count)
        return nl_json_corrupt(path, "Cannot parse spec with missing field IDs: %u missing of %u fields.", missing, count);
    for (uint32_t i = 0; i < missing; i++) /* v1 numbered them by position */
        fields[i].field_id = NL_PARTITION_FIELD_ID_START + (int32_t)i;
    nl_partition_spec *made = NL_NEW(arena, nl_partition_spec);
    *made = (nl_partition_spec){.spec_id = spec_id, .field_count = count, .fields = fields};
    *spec = made;
    return NULL;
}

nl_status nl_partition_spec_from_json(nl_arena *arena, const json_t *json, nl_str path, const nl_partition_spec **spec)
{
    int32_t spec_id = 0;
    const json_t *fields;
    NL_TRY(nl_json_object(json, path, "partition spec"));
    NL_TRY(nl_json_optional_int32(json, "spec-id", path, &spec_id));
    NL_TRY(nl_json_array(json, "fields", path, &fields));
    return nl_partition_fields_from_json(arena, fields, spec_id, path, spec);
}

static void write_fields(nl_json_writer *json, const nl_partition_spec *spec)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < spec->field_count; i++) {
        const nl_partition_field *field = &spec->fields[i];
        nl_json_begin(json, '{');
        nl_json_key(json, "name");
        nl_json_write_text(json, field->name);
        nl_json_key(json, "transform");
        nl_json_write_text(json, nl_transform_name(arena, &field->transform));
        if (field->source_count > 1) {
            nl_json_key(json, "source-ids");
            nl_json_begin(json, '[');
            for (uint32_t k = 0; k < field->source_count; k++)
                nl_json_write_int(json, field->source_ids[k]);
            nl_json_end(json, ']');
        } else {
            nl_json_key(json, "source-id");
            nl_json_write_int(json, field->source_id);
        }
        nl_json_key(json, "field-id");
        nl_json_write_int(json, field->field_id);
        nl_json_end(json, '}');
    }
    nl_json_end(json, ']');
    nl_arena_free(arena);
}

void nl_partition_fields_append_json(const nl_partition_spec *spec, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    write_fields(&json, spec);
}

void nl_partition_spec_append_json(const nl_partition_spec *spec, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "spec-id");
    nl_json_write_int(&json, spec->spec_id);
    nl_json_key(&json, "fields");
    write_fields(&json, spec);
    nl_json_end(&json, '}');
}
