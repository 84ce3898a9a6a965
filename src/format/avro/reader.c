/* format/avro/reader.c - see reader.h. Opening a reader lays the writer's schema over the wanted type and makes a tree of
 * steps; reading a row walks the tree once, appending to column builders. Columns of plain types take a shorter road
 * (direct.h), in runs of neighbours. */
#include "format/avro/reader.h"

#include "format/avro/direct.h"

#include "base/limits.h"
#include "base/number.h"

typedef enum action {
    SKIP,
    NOTHING,   /* an Avro null without union: always null */
    UNION,
    BOOLEAN,
    INTEGER,   /* multiplied or divided by `factor` */
    FLOAT,
    DOUBLE,
    TEXT,      /* STRING and BYTES */
    FIXED_BYTES,
    UUID_TEXT, /* 16 bytes as 36 characters */
    SYMBOL,    /* an enum's */
    DECIMAL,
    RECORD,
    LIST,
    MAP,       /* Avro's own, with text for keys */
    PAIRS,     /* an array of key-value records */
    VARIANT
} action;

typedef struct step step;
struct step {
    action action;
    const nl_avro_type *avro;
    int64_t factor;             /* INTEGER: > 1 multiplies, < -1 divides by its negative, else nothing */
    nl_column_builder *builder; /* borrowed from the tree of builders; NULL: SKIP */
    const nl_type *type;
    step *children;             /* UNION: branches. RECORD: writer's fields. LIST 1, MAP and PAIRS 2 (key, value), VARIANT 2 */
    uint32_t child_count;
    struct missing {            /* RECORD: wanted fields that the file lacks */
        nl_column_builder *builder;
        const nl_value *value;  /* NULL: null */
    } *missing;
    uint32_t missing_count;
};

typedef struct column {
    nl_column_builder *builder; /* owned; NULL: the file lacks the column, or direct has it */
    nl_avro_direct *direct;     /* in the arena; or NULL */
    const nl_value *value;      /* of a missing one; NULL: null */
    const nl_type *type;
} column;

struct nl_avro_reader {
    nl_arena *arena;
    nl_avro_file *file;  /* borrowed */
    nl_memory *memory;   /* counted */
    const nl_type *wanted;
    nl_avro_read_options options;
    bool asks_for_ids;
    step *steps;         /* one per field of the file's record */
    nl_avro_direct *directs; /* the same; kind NOT_DIRECT: steps has it */
    uint32_t step_count;
    column *columns;
    nl_avro_block block;
    nl_cursor cursor;
    uint64_t rows_left;  /* of the block */
    uint64_t next_row;   /* of the file */
};

/* ---- Planning ---- */

typedef struct name_path { /* a field and what it lies in */
    const struct name_path *parent; /* NULL: at the top */
    nl_str name;
    uint32_t depth; /* names down to it, its own among them */
} name_path;

static const nl_str *path_names(nl_arena *arena, const name_path *path)
{
    nl_str *names = NL_NEW_ARRAY(arena, nl_str, path->depth);
    for (const name_path *at = path; at; at = at->parent)
        names[at->depth - 1] = at->name;
    return names;
}

static nl_str dotted(nl_arena *arena, const name_path *path)
{
    if (!path->parent) return path->name;
    const nl_str parent = dotted(arena, path->parent); /* as deep as types are, which is limited */
    return nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(parent), NL_STR_ARG(path->name));
}

static name_path path_below(const name_path *parent, nl_str name)
{
    return (name_path){parent, name, parent ? parent->depth + 1 : 1};
}

static nl_status mismatch(const nl_avro_reader *in, const name_path *path, const nl_avro_type *avro, const nl_type *type)
{
    static const char *const kinds[] = {"null", "boolean", "int", "long", "float", "double", "bytes", "string", "record", "enum", "array", "map", "union", "fixed"};
    const nl_str name = nl_type_name(in->arena, type), column_name = dotted(in->arena, path);
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The column " NL_STR_FMT " of " NL_STR_FMT " is Avro's %s and cannot be read as " NL_STR_FMT,
                         NL_STR_ARG(column_name), NL_STR_ARG(nl_avro_file_path(in->file)), kinds[avro->kind], NL_STR_ARG(name));
}

static int64_t micros_factor(nl_avro_logical logical)
{
    switch ((int)logical) {
    case NL_AVRO_TIME_MILLIS:
    case NL_AVRO_TIMESTAMP_MILLIS: return 1000;
    case NL_AVRO_TIMESTAMP_NANOS: return -1000;
    case NL_AVRO_DATE: return NL_MICROS_PER_DAY;
    default: return 1;
    }
}

/* Whether an INT or LONG can become the type; *factor is set. */
static bool plan_integer(const nl_avro_type *avro, const nl_type *type, int64_t *factor)
{
    *factor = 1;
    const bool is_instant = avro->logical >= NL_AVRO_TIMESTAMP_MILLIS && avro->logical <= NL_AVRO_TIMESTAMP_NANOS;
    switch ((int)type->id) {
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT: return avro->kind == NL_AVRO_INT && avro->logical != NL_AVRO_DATE;
    case NL_TYPE_BIGINT: return avro->logical != NL_AVRO_DATE; /* times and nanoseconds have no other home */
    case NL_TYPE_DATE: return avro->kind == NL_AVRO_INT && (avro->logical == NL_AVRO_DATE || avro->logical == NL_AVRO_PLAIN);
    case NL_TYPE_TIMESTAMP:
        *factor = micros_factor(avro->logical);
        return avro->kind == NL_AVRO_LONG && (is_instant || avro->logical == NL_AVRO_PLAIN);
    case NL_TYPE_TIMESTAMP_NTZ:
        *factor = micros_factor(avro->logical);
        return is_instant || avro->logical == NL_AVRO_DATE || (avro->kind == NL_AVRO_LONG && avro->logical == NL_AVRO_PLAIN);
    default: return false;
    }
}

static bool plan_leaf(const nl_avro_type *avro, const nl_type *type, step *out)
{
    const bool is_text = type->physical == NL_PHYS_STRING;
    switch ((int)avro->kind) {
    case NL_AVRO_NULL: out->action = NOTHING; return true;
    case NL_AVRO_BOOLEAN: out->action = BOOLEAN; return type->id == NL_TYPE_BOOLEAN;
    case NL_AVRO_INT:
    case NL_AVRO_LONG: out->action = INTEGER; return plan_integer(avro, type, &out->factor);
    case NL_AVRO_FLOAT: out->action = FLOAT; return type->id == NL_TYPE_FLOAT || type->id == NL_TYPE_DOUBLE;
    case NL_AVRO_DOUBLE: out->action = DOUBLE; return type->id == NL_TYPE_DOUBLE;
    case NL_AVRO_STRING: out->action = TEXT; return is_text;
    case NL_AVRO_ENUM: out->action = SYMBOL; return type->id == NL_TYPE_STRING;
    case NL_AVRO_BYTES:
    case NL_AVRO_FIXED:
        if (type->id == NL_TYPE_DECIMAL) {
            out->action = DECIMAL;
            return avro->logical == NL_AVRO_DECIMAL && avro->scale <= type->scale && avro->precision - avro->scale <= type->precision - type->scale;
        }
        out->action = avro->kind == NL_AVRO_BYTES ? TEXT : FIXED_BYTES;
        if (avro->logical == NL_AVRO_UUID && type->id == NL_TYPE_STRING) out->action = UUID_TEXT;
        return is_text && (out->action == UUID_TEXT || type->id == NL_TYPE_BINARY || avro->kind == NL_AVRO_BYTES);
    default: return false;
    }
}

/* Where a file's field belongs among the wanted ones; -1: nowhere. */
static int32_t find_wanted(const nl_avro_reader *in, const nl_type *wanted, const nl_avro_field *field, const name_path *path)
{
    nl_avro_match match = in->options.match;
    int32_t field_id = field->field_id;
    if (match == NL_AVRO_MATCH_FIELD_ID && in->asks_for_ids) {
        if (in->options.field_id_of) field_id = in->options.field_id_of(in->options.argument, path_names(in->arena, path), path->depth);
        else match = NL_AVRO_MATCH_NAME; /* Iceberg falls back to the names of the expected schema */
    }
    for (uint32_t i = 0; i < wanted->child_count; i++) {
        const nl_field *candidate = &wanted->children[i];
        const bool is_it = match == NL_AVRO_MATCH_FIELD_ID ? field_id != 0 && candidate->field_id == field_id
                           : match == NL_AVRO_MATCH_NAME   ? nl_str_equal(candidate->name, field->name)
                                                           : nl_str_equal_nocase(candidate->name, field->name);
        if (is_it) return (int32_t)i;
    }
    return -1;
}

static nl_status plan(nl_avro_reader *in, const nl_avro_type *avro, const nl_type *type, nl_column_builder *builder, const name_path *path, step *out);

static const nl_value *missing_value(const nl_avro_reader *in, const nl_field *field)
{
    const nl_value *value = NULL;
    if (!in->options.missing_value_of || !in->options.missing_value_of(in->options.argument, field, &value)) return NULL;
    return value;
}

static nl_status plan_record(nl_avro_reader *in, const nl_avro_type *avro, const nl_type *type, nl_column_builder *builder, const name_path *path, step *out)
{
    bool *is_found = NL_NEW_ARRAY(in->arena, bool, (size_t)type->child_count + 1);
    out->action = RECORD;
    out->child_count = avro->field_count;
    out->children = NL_NEW_ARRAY(in->arena, step, (size_t)avro->field_count + 1);
    out->missing = NL_NEW_ARRAY(in->arena, struct missing, (size_t)type->child_count + 1);
    NL_TRY(nl_arena_check(in->arena));
    for (uint32_t i = 0; i < avro->field_count; i++) {
        const nl_avro_field *field = &avro->fields[i];
        const name_path below = path_below(path, field->name);
        const int32_t place = find_wanted(in, type, field, &below);
        if (place < 0 || is_found[place]) {
            out->children[i] = (step){.action = SKIP, .avro = field->type};
            continue;
        }
        is_found[place] = true;
        NL_TRY(plan(in, field->type, type->children[place].type, nl_column_builder_child(builder, (uint32_t)place), &below, &out->children[i]));
    }
    for (uint32_t i = 0; i < type->child_count; i++) {
        if (is_found[i]) continue;
        out->missing[out->missing_count].builder = nl_column_builder_child(builder, i);
        out->missing[out->missing_count++].value = missing_value(in, &type->children[i]);
    }
    return NULL;
}

static nl_status plan_children(nl_avro_reader *in, const nl_avro_type *const *avro, const nl_type *const *types, uint32_t count,
                               nl_column_builder *builder, const char *const *names, const name_path *path, step *out)
{
    out->child_count = count;
    out->children = NL_NEW_ARRAY(in->arena, step, count);
    NL_TRY(nl_arena_check(in->arena));
    for (uint32_t i = 0; i < count; i++) {
        nl_column_builder *child = nl_column_builder_child(builder, i);
        if (!avro[i]) { /* the key of a plain map */
            out->children[i] = (step){.action = TEXT, .builder = child, .type = types[i]};
            continue;
        }
        const name_path below = path_below(path, nl_str_from(names[i]));
        NL_TRY(plan(in, avro[i], types[i], child, &below, &out->children[i]));
    }
    return NULL;
}

static nl_status plan_nested(nl_avro_reader *in, const nl_avro_type *avro, const nl_type *type, nl_column_builder *builder, const name_path *path, step *out)
{
    static const char *const list_names[] = {"element"};
    static const char *const map_names[] = {"key", "value"};
    static const char *const variant_names[] = {"metadata", "value"};
    if (avro->kind == NL_AVRO_RECORD && type->id == NL_TYPE_STRUCT) return plan_record(in, avro, type, builder, path, out);
    if (avro->kind == NL_AVRO_RECORD && type->id == NL_TYPE_VARIANT && avro->field_count == 2) {
        out->action = VARIANT;
        return plan_children(in, (const nl_avro_type *const[]){avro->fields[0].type, avro->fields[1].type},
                             (const nl_type *const[]){nl_type_binary(), nl_type_binary()}, 2, builder, variant_names, path, out);
    }
    if (avro->kind == NL_AVRO_ARRAY && type->id == NL_TYPE_ARRAY) {
        out->action = LIST;
        return plan_children(in, &avro->fields[0].type, (const nl_type *const[]){type->children[0].type}, 1, builder, list_names, path, out);
    }
    if (type->id != NL_TYPE_MAP) return mismatch(in, path, avro, type);
    const nl_type *const types[] = {type->children[0].type, type->children[1].type};
    if (avro->kind == NL_AVRO_MAP && types[0]->physical == NL_PHYS_STRING) {
        out->action = MAP;
        return plan_children(in, (const nl_avro_type *const[]){NULL, avro->fields[0].type}, types, 2, builder, map_names, path, out);
    }
    const nl_avro_type *pair = avro->kind == NL_AVRO_ARRAY ? avro->fields[0].type : NULL;
    if (!pair || pair->kind != NL_AVRO_RECORD || pair->field_count != 2) return mismatch(in, path, avro, type);
    out->action = PAIRS;
    return plan_children(in, (const nl_avro_type *const[]){pair->fields[0].type, pair->fields[1].type}, types, 2, builder, map_names, path, out);
}

static nl_status plan(nl_avro_reader *in, const nl_avro_type *avro, const nl_type *type, nl_column_builder *builder, const name_path *path, step *out)
{
    *out = (step){.avro = avro, .type = type, .builder = builder, .factor = 1};
    if (type->id == NL_TYPE_NULL) { /* every value is null, whatever the file holds */
        out->action = NOTHING;
        return NULL;
    }
    if (avro->kind == NL_AVRO_UNION) {
        out->action = UNION;
        out->child_count = avro->field_count;
        out->children = NL_NEW_ARRAY(in->arena, step, avro->field_count);
        NL_TRY(nl_arena_check(in->arena));
        for (uint32_t i = 0; i < avro->field_count; i++)
            NL_TRY(plan(in, avro->fields[i].type, type, builder, path, &out->children[i]));
        return NULL;
    }
    if (avro->kind == NL_AVRO_RECORD || avro->kind == NL_AVRO_ARRAY || avro->kind == NL_AVRO_MAP) return plan_nested(in, avro, type, builder, path, out);
    return plan_leaf(avro, type, out) ? NULL : mismatch(in, path, avro, type);
}

static nl_status plan_columns(nl_avro_reader *in)
{
    const nl_avro_type *record = nl_avro_file_schema(in->file);
    if (record->kind != NL_AVRO_RECORD)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The Avro file " NL_STR_FMT " holds no records", NL_STR_ARG(nl_avro_file_path(in->file)));
    in->asks_for_ids = !nl_avro_has_field_ids(record);
    in->step_count = record->field_count;
    in->steps = NL_NEW_ARRAY(in->arena, step, (size_t)record->field_count + 1);
    in->directs = NL_NEW_ARRAY(in->arena, nl_avro_direct, (size_t)record->field_count + 1);
    in->columns = NL_NEW_ARRAY(in->arena, column, (size_t)in->wanted->child_count + 1);
    NL_TRY(nl_arena_check(in->arena));
    for (uint32_t i = 0; i < in->wanted->child_count; i++)
        in->columns[i].type = in->wanted->children[i].type;
    for (uint32_t i = 0; i < record->field_count; i++) {
        const nl_avro_field *field = &record->fields[i];
        const name_path path = path_below(NULL, field->name);
        const int32_t place = find_wanted(in, in->wanted, field, &path);
        if (place < 0 || in->columns[place].builder || in->columns[place].direct) {
            in->steps[i] = (step){.action = SKIP, .avro = field->type};
            nl_avro_direct_plan(field->type, NULL, &in->directs[i]);
            continue;
        }
        column *found = &in->columns[place];
        nl_avro_direct_plan(field->type, found->type, &in->directs[i]);
        if (in->directs[i].kind != NL_AVRO_NOT_DIRECT) {
            found->direct = &in->directs[i];
            continue;
        }
        NL_TRY(nl_column_builder_new(found->type, in->memory, &found->builder));
        NL_TRY(plan(in, field->type, found->type, found->builder, &path, &in->steps[i]));
    }
    for (uint32_t i = 0; i < in->wanted->child_count; i++)
        if (!in->columns[i].builder && !in->columns[i].direct) in->columns[i].value = missing_value(in, &in->wanted->children[i]);
    return NULL;
}

nl_status nl_avro_reader_open(nl_avro_file *file, const nl_type *wanted, const nl_avro_read_options *options, nl_memory *memory,
                              nl_avro_reader **reader)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_avro_reader *made = NL_NEW(arena, nl_avro_reader);
    made->arena = arena;
    made->file = file;
    made->memory = memory ? nl_memory_retain(memory) : NULL;
    made->wanted = wanted;
    made->options = *options;
    nl_status status = plan_columns(made);
    if (status) nl_avro_reader_close(made);
    else *reader = made;
    return status;
}

void nl_avro_reader_close(nl_avro_reader *reader)
{
    if (!reader) return;
    for (uint32_t i = 0; reader->columns && i < reader->wanted->child_count; i++)
        nl_column_builder_free(reader->columns[i].builder);
    for (uint32_t i = 0; reader->directs && i < reader->step_count; i++)
        nl_vector_fini(&reader->directs[i].vector);
    nl_buffer_release(reader->block.data);
    nl_memory *memory = reader->memory;
    nl_arena_free(reader->arena);
    if (memory) nl_memory_release(memory);
}

/* ---- Decoding ---- */

static nl_status decode(const step *at, nl_cursor *in);

static nl_status decode_integer(const step *at, nl_cursor *in)
{
    int64_t value = nl_cursor_zigzag(in);
    if (in->has_failed) return nl_cursor_status(in);
    if (at->factor > 1) {
        if (__builtin_mul_overflow(value, at->factor, &value)) return nl_cursor_corrupt(in, "a time beyond the range of microseconds");
    } else if (at->factor < -1) {
        value = nl_floor_div(value, -at->factor);
    }
    const bool is_out = at->type->physical == NL_PHYS_I32   ? value < INT32_MIN || value > INT32_MAX
                        : at->type->physical == NL_PHYS_I16 ? value < INT16_MIN || value > INT16_MAX
                                                            : at->type->physical == NL_PHYS_I8 && (value < INT8_MIN || value > INT8_MAX);
    if (is_out) return nl_cursor_corrupt(in, "the number %lld does not fit its type", (long long)value);
    return nl_column_builder_i64(at->builder, value);
}

static nl_status decode_decimal(const step *at, nl_cursor *in)
{
    nl_bytes bytes = {0};
    if (at->avro->kind == NL_AVRO_BYTES) NL_TRY(nl_avro_bytes(in, &bytes));
    else bytes = nl_cursor_bytes(in, at->avro->size_bytes);
    NL_TRY(nl_cursor_status(in));
    /* Longer forms are fine as long as the bytes in front only extend the sign. */
    while (bytes.length > 16 && (bytes.data[0] == 0 || bytes.data[0] == 0xff) && (bytes.data[0] & 0x80) == (bytes.data[1] & 0x80)) {
        bytes.data++;
        bytes.length--;
    }
    if (bytes.length == 0 || bytes.length > 16) return nl_cursor_corrupt(in, "a decimal of %zu bytes", bytes.length);
    nl_uint128 bits = bytes.data[0] & 0x80 ? ~(nl_uint128)0 : 0;
    for (size_t i = 0; i < bytes.length; i++)
        bits = (bits << 8) | bytes.data[i];
    nl_int128 value = (nl_int128)bits;
    if (!nl_decimal_fits(value, at->avro->precision)) return nl_cursor_corrupt(in, "a decimal of more than %u digits", at->avro->precision);
    if (at->avro->scale != at->type->scale && !nl_decimal_rescale(value, at->avro->scale, at->type->scale, NL_ROUND_HALF_UP, &value))
        return nl_cursor_corrupt(in, "a decimal that cannot be rescaled");
    return nl_column_builder_i128(at->builder, value);
}

static nl_status decode_text(const step *at, nl_cursor *in)
{
    nl_bytes bytes = {0};
    char uuid[36];
    if (at->action == TEXT) NL_TRY(nl_avro_bytes(in, &bytes));
    else bytes = nl_cursor_bytes(in, at->avro->size_bytes);
    NL_TRY(nl_cursor_status(in));
    nl_str text = {(const char *)bytes.data, bytes.length};
    if (at->action == UUID_TEXT) {
        char hex[32];
        static const uint8_t starts[] = {0, 8, 12, 16, 20, 32};
        nl_format_hex(bytes.data, 16, false, hex);
        uint32_t out = 0;
        for (uint32_t part = 0; part < 5; part++) {
            if (part) uuid[out++] = '-';
            for (uint32_t i = starts[part]; i < starts[part + 1]; i++)
                uuid[out++] = hex[i];
        }
        text = (nl_str){uuid, 36};
    }
    return nl_column_builder_str(at->builder, text);
}

static nl_status decode_record(const step *at, nl_cursor *in)
{
    for (uint32_t i = 0; i < at->child_count; i++)
        NL_TRY(decode(&at->children[i], in));
    for (uint32_t i = 0; i < at->missing_count; i++) {
        const struct missing *missing = &at->missing[i];
        NL_TRY(missing->value ? nl_column_builder_value(missing->builder, missing->value) : nl_column_builder_null(missing->builder));
    }
    return nl_column_builder_end_struct(at->builder);
}

static nl_status decode_items(const step *at, nl_cursor *in)
{
    uint64_t total = 0;
    const uint32_t item_bytes_min = at->avro->fields[0].type->bytes_min + (at->action == MAP);
    for (;;) {
        uint64_t count;
        int64_t block_bytes;
        NL_TRY(nl_avro_block_count(in, item_bytes_min, &count, &block_bytes));
        if (count == 0) break;
        total += count;
        if (total > UINT32_MAX || (item_bytes_min == 0 && total > (1u << 20))) return nl_cursor_corrupt(in, "a list of too many items");
        for (uint64_t i = 0; i < count; i++)
            for (uint32_t k = 0; k < at->child_count; k++)
                NL_TRY(decode(&at->children[k], in));
    }
    return nl_column_builder_end_list(at->builder, (uint32_t)total);
}

static nl_status decode_symbol(const step *at, nl_cursor *in)
{
    const int64_t index = nl_cursor_zigzag(in);
    NL_TRY(nl_cursor_status(in));
    if (index < 0 || index >= at->avro->symbol_count)
        return nl_cursor_corrupt(in, "symbol %lld of an enum of %u", (long long)index, at->avro->symbol_count);
    return nl_column_builder_str(at->builder, at->avro->symbols[index]);
}

static nl_status decode_real(const step *at, nl_cursor *in)
{
    const double value = at->action == FLOAT ? (double)nl_cursor_f32(in) : nl_cursor_f64(in);
    NL_TRY(nl_cursor_status(in));
    return nl_column_builder_f64(at->builder, value);
}

static nl_status decode_boolean(const step *at, nl_cursor *in)
{
    const uint8_t byte = nl_cursor_u8(in);
    NL_TRY(nl_cursor_status(in));
    return nl_column_builder_i64(at->builder, byte != 0);
}

static nl_status decode(const step *at, nl_cursor *in)
{
    uint32_t branch;
    switch (at->action) {
    case SKIP: return nl_avro_skip(at->avro, in);
    case NOTHING:
        NL_TRY(nl_avro_skip(at->avro, in));
        return nl_column_builder_null(at->builder);
    case UNION:
        NL_TRY(nl_avro_branch(at->avro, in, &branch));
        return decode(&at->children[branch], in);
    case BOOLEAN: return decode_boolean(at, in);
    case INTEGER: return decode_integer(at, in);
    case FLOAT:
    case DOUBLE: return decode_real(at, in);
    case TEXT:
    case FIXED_BYTES:
    case UUID_TEXT: return decode_text(at, in);
    case SYMBOL: return decode_symbol(at, in);
    case DECIMAL: return decode_decimal(at, in);
    case RECORD: return decode_record(at, in);
    case LIST:
    case MAP:
    case PAIRS: return decode_items(at, in);
    case VARIANT:
        NL_TRY(decode(&at->children[0], in));
        NL_TRY(decode(&at->children[1], in));
        return nl_column_builder_end_struct(at->builder);
    }
    return NULL;
}

/* ---- Batches ---- */

static nl_status next_block(nl_avro_reader *reader)
{
    if (reader->block.data && nl_cursor_remaining(&reader->cursor))
        return nl_cursor_corrupt(&reader->cursor, "%zu bytes are left behind the last row of a block", nl_cursor_remaining(&reader->cursor));
    nl_buffer_release(reader->block.data);
    reader->block = (nl_avro_block){0};
    NL_TRY(nl_avro_file_next(reader->file, &reader->block));
    reader->rows_left = reader->block.data ? reader->block.row_count : 0;
    if (reader->block.data) reader->cursor = nl_avro_block_cursor(reader->file, &reader->block);
    return NULL;
}

static nl_status begin_directs(nl_avro_reader *reader)
{
    for (uint32_t i = 0; i < reader->wanted->child_count; i++)
        if (reader->columns[i].direct) NL_TRY(nl_avro_direct_begin(reader->columns[i].direct, reader->memory));
    return NULL;
}

static nl_status keep_block(nl_avro_reader *reader)
{
    for (uint32_t i = 0; i < reader->wanted->child_count; i++)
        if (reader->columns[i].direct) NL_TRY(nl_avro_direct_keep(reader->columns[i].direct, reader->memory, reader->block.data));
    return NULL;
}

/* One record: runs of direct fields, and in between what needs its step. */
static nl_status decode_row(nl_avro_reader *reader, uint32_t row)
{
    for (uint32_t i = 0; i < reader->step_count;) {
        if (reader->directs[i].kind == NL_AVRO_NOT_DIRECT) {
            NL_TRY(decode(&reader->steps[i++], &reader->cursor));
            NL_TRY(nl_cursor_status(&reader->cursor));
            continue;
        }
        uint32_t end = i + 1;
        while (end < reader->step_count && reader->directs[end].kind != NL_AVRO_NOT_DIRECT)
            end++;
        NL_TRY(nl_avro_direct_row(&reader->directs[i], end - i, row, reader->memory, &reader->cursor));
        i = end;
    }
    return NULL;
}

static nl_status decode_rows(nl_avro_reader *reader, uint32_t *row_count)
{
    uint32_t rows = 0;
    NL_TRY(begin_directs(reader));
    if (reader->rows_left > 0) NL_TRY(keep_block(reader));
    while (rows < NL_BATCH_ROWS) {
        if (reader->rows_left == 0) {
            NL_TRY(next_block(reader));
            if (!reader->block.data) break;
            NL_TRY(keep_block(reader));
        }
        NL_TRY(decode_row(reader, rows));
        reader->rows_left--;
        rows++;
    }
    *row_count = rows;
    return NULL;
}

static nl_status make_column(const nl_avro_reader *reader, const column *from, uint32_t row_count, nl_vector *vector)
{
    if (from->builder) return nl_column_builder_finish(from->builder, vector);
    if (from->direct) {
        nl_vector_move(&from->direct->vector, vector);
        vector->length = row_count;
        return NULL;
    }
    if (from->value) return nl_vector_new_constant(vector, from->value, row_count, reader->memory);
    return nl_vector_new_null(vector, from->type, row_count, reader->memory);
}

nl_status nl_avro_reader_next(nl_avro_reader *reader, nl_batch *batch, uint64_t *first_row)
{
    uint32_t row_count = 0;
    nl_batch made = {0};
    NL_TRY(decode_rows(reader, &row_count));
    NL_TRY(nl_batch_init(&made, reader->wanted->child_count, row_count));
    for (uint32_t i = 0; i < reader->wanted->child_count; i++) {
        nl_status status = make_column(reader, &reader->columns[i], row_count, &made.columns[i]);
        if (status) {
            nl_batch_fini(&made);
            return status;
        }
    }
    if (first_row) *first_row = reader->next_row;
    reader->next_row += row_count;
    nl_batch_move(&made, batch);
    return NULL;
}
