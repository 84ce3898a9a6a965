/* format/json/json_infer.c - the schema that JSON records seem to have, by Spark's rules.
 *
 * One tree grows with every record: a value's kind is joined with what its place has held so far, at worst to a string.
 * At the end places that never held anything become strings (or are dropped) and fields are ordered by name.
 */
#include <ctype.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/number.h"
#include "format/json/json_reader.h"
#include "format/json/json_records.h"
#include "format/text/text_value.h"

typedef enum kind { KIND_NULL, KIND_BOOLEAN, KIND_LONG, KIND_DECIMAL, KIND_DOUBLE, KIND_NTZ, KIND_TIMESTAMP, KIND_STRING, KIND_ARRAY, KIND_STRUCT } kind;

typedef struct place place;

/* A place in the tree: what was found there. */
struct place {
    kind kind;
    int whole_digits, scale; /* KIND_DECIMAL */
    place *element;          /* KIND_ARRAY; NULL: none seen */
    nl_str name;             /* as a field */
    uint64_t record;         /* the object that had it last: twice in one is a duplicate */
    bool is_duplicate;
    nl_list fields;          /* KIND_STRUCT: places */
    uint32_t *slots;         /* open addressing over fields by name: index + 1 */
    uint32_t slot_count;
};

typedef struct inference {
    const nl_json_file_options *options;
    nl_arena *arena;
    place root;
    uint64_t object_count;
    bool has_corrupt;
    nl_json_parser in;
} inference;

static uint32_t *find_slot(const place *at, uint32_t *slots, uint32_t slot_count, nl_str name)
{
    uint32_t i = (uint32_t)nl_hash_bytes(name.data, name.length, 0) & (slot_count - 1);
    while (slots[i] && !nl_str_equal(((const place *)at->fields.items[slots[i] - 1])->name, name))
        i = (i + 1) & (slot_count - 1);
    return &slots[i];
}

static void grow_slots(inference *in, place *at)
{
    if (at->fields.count * 2 < at->slot_count) return;
    uint32_t slot_count = at->slot_count ? at->slot_count * 2 : 8;
    uint32_t *slots = NL_NEW_ARRAY(in->arena, uint32_t, slot_count);
    for (uint32_t i = 0; i < at->fields.count; i++)
        *find_slot(at, slots, slot_count, ((const place *)at->fields.items[i])->name) = i + 1;
    at->slots = slots;
    at->slot_count = slot_count;
}

static place *find_or_add_field(inference *in, place *at, nl_str name)
{
    grow_slots(in, at);
    uint32_t *slot = find_slot(at, at->slots, at->slot_count, name);
    if (*slot) return at->fields.items[*slot - 1];
    place *made = NL_NEW(in->arena, place);
    made->name = nl_arena_str(in->arena, name);
    nl_list_add(in->arena, &at->fields, made);
    *slot = at->fields.count;
    return made;
}

static void join_decimal(place *at, int whole_digits, int scale)
{
    at->whole_digits = at->kind == KIND_DECIMAL ? NL_MAX(at->whole_digits, whole_digits) : whole_digits;
    at->scale = at->kind == KIND_DECIMAL ? NL_MAX(at->scale, scale) : scale;
    at->kind = at->whole_digits + at->scale > NL_DECIMAL_PRECISION_MAX ? KIND_DOUBLE : KIND_DECIMAL;
}

/* Joins a scalar kind with what the place has. A long that meets a decimal counts as 20 digits. */
static void join(place *at, kind found, int whole_digits, int scale)
{
    kind before = at->kind;
    if (found == KIND_NULL || before == KIND_STRING || (before == found && found != KIND_DECIMAL)) return;
    if (before == KIND_NULL) {
        *at = (place){.kind = found, .whole_digits = whole_digits, .scale = scale, .name = at->name, .record = at->record,
                      .is_duplicate = at->is_duplicate};
    } else if (before >= KIND_LONG && before <= KIND_DOUBLE && found >= KIND_LONG && found <= KIND_DOUBLE) {
        if (before == KIND_DOUBLE || found == KIND_DOUBLE) {
            at->kind = KIND_DOUBLE;
        } else {
            if (before == KIND_LONG) at->whole_digits = 20;
            if (before == KIND_LONG) at->scale = 0;
            at->kind = KIND_DECIMAL;
            join_decimal(at, found == KIND_LONG ? 20 : whole_digits, found == KIND_LONG ? 0 : scale);
        }
    } else if ((before == KIND_NTZ && found == KIND_TIMESTAMP) || (before == KIND_TIMESTAMP && found == KIND_NTZ)) {
        at->kind = KIND_TIMESTAMP;
    } else {
        at->kind = KIND_STRING;
    }
}

static void infer_number(inference *in, place *at)
{
    const nl_json_parser *text = &in->in;
    int64_t integer;
    nl_int128 unscaled;
    int scale;
    if (in->options->primitives_as_string) {
        join(at, KIND_STRING, 0, 0);
    } else if (text->is_integer && nl_parse_int64(text->text, &integer)) {
        join(at, KIND_LONG, 0, 0);
    } else if ((text->is_integer || in->options->prefers_decimal) &&
               nl_decimal_parse(text->text, &unscaled, &scale, NULL) && scale >= 0 && scale <= NL_DECIMAL_PRECISION_MAX) {
        int precision = NL_MAX(nl_decimal_digits(unscaled), scale);
        join(at, KIND_DECIMAL, precision - scale, scale);
    } else {
        join(at, KIND_DOUBLE, 0, 0);
    }
}

/* An empty string says nothing of its type. */
static void infer_string(inference *in, place *at)
{
    nl_str text = in->in.text;
    const nl_text_formats *formats = &in->options->formats;
    nl_value ignored;
    nl_int128 unscaled;
    int scale;
    if (text.length == 0) return;
    if (in->options->prefers_decimal && nl_decimal_parse(text, &unscaled, &scale, NULL) && scale >= 0 &&
        scale <= NL_DECIMAL_PRECISION_MAX && (uint8_t)text.data[0] > ' ') {
        int precision = NL_MAX(nl_decimal_digits(unscaled), scale);
        join(at, KIND_DECIMAL, precision - scale, scale);
        return;
    }
    kind found = KIND_STRING;
    if (in->options->infers_timestamp) {
        if (formats->prefers_ntz && nl_text_parse_value(formats, nl_type_of(NL_TYPE_TIMESTAMP_NTZ), text, &ignored))
            found = KIND_NTZ;
        else if (nl_text_parse_value(formats, nl_type_of(NL_TYPE_TIMESTAMP), text, &ignored))
            found = KIND_TIMESTAMP;
    }
    join(at, found, 0, 0);
}

static bool infer_value(inference *in, place *at);

/* What a container's place becomes; false: it is a string already, or becomes one. */
static bool become(place *at, kind container)
{
    if (at->kind == KIND_NULL) at->kind = container;
    if (at->kind != container) at->kind = KIND_STRING;
    return at->kind == container;
}

/* After OBJECT_START. */
static bool infer_object(inference *in, place *at)
{
    if (!become(at, KIND_STRUCT)) return nl_json_skip(&in->in);
    uint64_t record = ++in->object_count;
    while (nl_json_next(&in->in) == NL_JSON_NAME) {
        place *field = find_or_add_field(in, at, in->in.text);
        field->is_duplicate |= field->record == record;
        field->record = record;
        if (nl_json_next(&in->in) == NL_JSON_ERROR || !infer_value(in, field)) return false;
    }
    return in->in.event == NL_JSON_OBJECT_END;
}

/* After ARRAY_START. */
static bool infer_array(inference *in, place *at)
{
    if (!become(at, KIND_ARRAY)) return nl_json_skip(&in->in);
    if (!at->element) at->element = NL_NEW(in->arena, place);
    while (nl_json_next(&in->in) != NL_JSON_ARRAY_END) {
        if (in->in.event == NL_JSON_ERROR || !infer_value(in, at->element)) return false;
    }
    return true;
}

/* The present value at its place; false: not JSON. Depth: NL_JSON_DEPTH_MAX. */
static bool infer_value(inference *in, place *at)
{
    switch (in->in.event) {
    case NL_JSON_OBJECT_START:
        return infer_object(in, at);
    case NL_JSON_ARRAY_START:
        return infer_array(in, at);
    case NL_JSON_STRING:
        infer_string(in, at);
        return true;
    case NL_JSON_NUMBER:
        infer_number(in, at);
        return true;
    case NL_JSON_TRUE:
    case NL_JSON_FALSE:
        join(at, in->options->primitives_as_string ? KIND_STRING : KIND_BOOLEAN, 0, 0);
        return true;
    case NL_JSON_NULL:
        return true;
    case NL_JSON_END:
    case NL_JSON_ERROR:
    case NL_JSON_OBJECT_END:
    case NL_JSON_ARRAY_END:
    case NL_JSON_NAME:
        break;
    }
    return false;
}

static int compare_places(const void *a, const void *b)
{
    return nl_str_compare((*(place *const *)a)->name, (*(place *const *)b)->name);
}

/* The type of a place; NULL: it is dropped. keeps_all: schema_of_json keeps even empty structs. */
static const nl_type *finish(inference *in, place *at, bool keeps_all, uint32_t depth)
{
    if (depth > NL_TYPE_DEPTH_MAX) return nl_type_string(); /* deeper than types go: as text */
    switch (at->kind) {
    case KIND_NULL:
        return in->options->drops_fields_if_all_null && !keeps_all ? NULL : nl_type_string();
    case KIND_BOOLEAN:
        return nl_type_boolean();
    case KIND_LONG:
        return nl_type_bigint();
    case KIND_DECIMAL:
        return nl_type_decimal(NL_MAX(at->whole_digits + at->scale, 1), at->scale);
    case KIND_DOUBLE:
        return nl_type_double();
    case KIND_NTZ:
        return nl_type_of(NL_TYPE_TIMESTAMP_NTZ);
    case KIND_TIMESTAMP:
        return nl_type_of(NL_TYPE_TIMESTAMP);
    case KIND_STRING:
        return nl_type_string();
    case KIND_ARRAY: {
        const nl_type *element = finish(in, at->element, keeps_all, depth + 1);
        return element ? nl_type_array(in->arena, element, true) : NULL;
    }
    case KIND_STRUCT:
        break;
    }
    nl_field *fields = NL_NEW_ARRAY(in->arena, nl_field, at->fields.count);
    uint32_t count = 0;
    if (at->fields.count) qsort(at->fields.items, at->fields.count, sizeof *at->fields.items, compare_places);
    at->slot_count = 0; /* the order of fields changed */
    for (uint32_t i = 0; i < at->fields.count; i++) {
        place *field = at->fields.items[i];
        const nl_type *type = field->name.length || keeps_all ? finish(in, field, keeps_all, depth + 1) : NULL;
        if (type) fields[count++] = (nl_field){.name = field->name, .type = type, .is_nullable = true};
    }
    return count || depth == 0 || keeps_all ? nl_type_struct(in->arena, fields, count) : NULL;
}

/* An object, or an array of objects; anything else makes the corrupt record's column. */
static bool infer_record(inference *in, nl_str record)
{
    nl_json_reset(&in->in, record);
    nl_json_event event = nl_json_next(&in->in);
    if (event == NL_JSON_OBJECT_START) return infer_object(in, &in->root);
    if (event == NL_JSON_NULL) return true;
    if (event != NL_JSON_ARRAY_START) return false;
    while (nl_json_next(&in->in) != NL_JSON_ARRAY_END) {
        if (in->in.event == NL_JSON_NULL) continue;
        if (in->in.event != NL_JSON_OBJECT_START || !infer_object(in, &in->root)) return false;
    }
    return true;
}

static bool is_sampled(const inference *in, uint64_t record)
{
    double ratio = in->options->formats.sampling_ratio;
    return ratio >= 1 || (double)(nl_hash_u64(record + 1) >> 11) * 0x1p-53 < ratio;
}

static nl_status add_file(inference *in, nl_file *file, nl_memory *memory)
{
    nl_json_records records;
    bool is_done = false;
    nl_status status = nl_json_records_init(&records, file, in->options, 0, UINT64_MAX, memory);
    for (uint64_t number = 0; !status; number++) {
        nl_str record;
        status = nl_json_records_next(&records, &record, &is_done);
        if (status || is_done) break;
        if (!is_sampled(in, number)) continue;
        if (!nl_utf8_is_valid(record) || !infer_record(in, record)) {
            in->has_corrupt = true;
            if (in->options->formats.mode == NL_TEXT_FAIL_FAST)
                status = nl_text_malformed_record(nl_file_path(file), record, "it is no JSON object");
        }
        if (!status) status = nl_arena_check(in->arena);
    }
    nl_json_records_fini(&records);
    return nl_note_if(status, NL_HERE, "inferring the schema of " NL_STR_FMT, NL_STR_ARG(nl_file_path(file)));
}

static int compare_folded(const void *a, const void *b)
{
    nl_str x = (*(place *const *)a)->name;
    nl_str y = (*(place *const *)b)->name;
    for (size_t i = 0; i < x.length && i < y.length; i++) {
        int order = tolower((unsigned char)x.data[i]) - tolower((unsigned char)y.data[i]);
        if (order) return order;
    }
    return (x.length > y.length) - (x.length < y.length);
}

/* Columns are told apart as the session compares names. */
static nl_status check_duplicates(const inference *in)
{
    uint32_t count = in->root.fields.count;
    const place **fields = NL_NEW_ARRAY(in->arena, const place *, count);
    const place *bad = NULL;
    for (uint32_t i = 0; i < count; i++)
        fields[i] = in->root.fields.items[i];
    if (count && !in->options->formats.is_case_sensitive) qsort(fields, count, sizeof *fields, compare_folded);
    for (uint32_t i = 0; i < count && !bad; i++) {
        bool is_twin = i > 0 && !in->options->formats.is_case_sensitive && compare_folded(&fields[i - 1], &fields[i]) == 0;
        if (fields[i]->is_duplicate || is_twin) bad = fields[i];
    }
    if (!bad) return NULL;
    nl_str quoted = nl_arena_f(in->arena, "`" NL_STR_FMT "`", NL_STR_ARG(bad->name));
    return NL_RAISE(COLUMN_ALREADY_EXISTS, NL_P_STR("columnName", quoted));
}

static void start(inference *in, const nl_json_file_options *options, nl_arena *arena)
{
    *in = (inference){.options = options, .arena = arena};
    nl_json_init(&in->in, (nl_str){NULL, 0}, &options->text);
}

static const nl_type *variant_schema(const inference *in)
{
    nl_field field = {.name = in->options->variant_column, .type = nl_type_of(NL_TYPE_VARIANT), .is_nullable = true};
    return nl_type_struct(in->arena, &field, 1);
}

nl_status nl_json_infer_schema(nl_file *const *files, uint32_t file_count, const nl_json_file_options *options,
                               nl_arena *arena, nl_memory *memory, const nl_type **struct_type)
{
    inference in;
    start(&in, options, arena);
    if (options->variant_column.length) {
        *struct_type = variant_schema(&in);
        nl_json_fini(&in.in);
        return NULL;
    }
    in.root.kind = KIND_STRUCT;
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < file_count; i++)
        status = add_file(&in, files[i], memory);
    nl_json_fini(&in.in);
    NL_TRY(status);
    if (in.has_corrupt && options->formats.mode == NL_TEXT_PERMISSIVE) {
        place *corrupt = find_or_add_field(&in, &in.root, options->formats.corrupt_record_name);
        *corrupt = (place){.kind = KIND_STRING, .name = corrupt->name};
    }
    *struct_type = finish(&in, &in.root, false, 0);
    NL_TRY(check_duplicates(&in));
    return nl_arena_check(arena);
}

nl_status nl_json_infer_text(nl_str text, const nl_json_file_options *options, nl_arena *arena, const nl_type **type,
                             bool *is_json)
{
    inference in;
    start(&in, options, arena);
    nl_json_reset(&in.in, text);
    nl_json_event event = nl_json_next(&in.in);
    *is_json = event != NL_JSON_END && infer_value(&in, &in.root);
    nl_json_fini(&in.in);
    if (*is_json) *type = finish(&in, &in.root, true, 0);
    return nl_arena_check(arena);
}
