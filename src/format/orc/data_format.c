/* format/orc/data_format.c - see data_format.h. A part is a stripe. */
#include "format/orc/data_format.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/machine_zone.h"
#include "base/number.h"
#include "format/orc/orc.h"

/* ---- Reading ---- */

typedef struct orc_data_reader {
    nl_data_reader base;
    nl_arena *arena;
    nl_data_read read;
    nl_orc_tail *tail;     /* counted */
    nl_orc_reader *reader; /* counted */
} orc_data_reader;

typedef struct orc_data_scan {
    nl_data_scan base;
    nl_orc_scan *scan;
} orc_data_scan;

static void close_reader(nl_data_reader *base)
{
    orc_data_reader *self = NL_CONTAINER(base, orc_data_reader, base);
    nl_orc_reader_release(self->reader);
    nl_orc_tail_release(self->tail);
    nl_arena_free(self->arena);
}

/* The names down to a column, out of its dotted path's types. */
static int32_t field_id_of(void *argument, const nl_orc_type *type)
{
    const orc_data_reader *self = argument;
    nl_str path[NL_TYPE_DEPTH_MAX];
    uint32_t depth = 0;
    for (const nl_orc_type *at = type; at->parent && depth < NL_COUNT(path); at = at->parent) depth++;
    uint32_t left = depth;
    for (const nl_orc_type *at = type; at->parent && left > 0; at = at->parent) path[--left] = at->name;
    return self->read.field_id_of(self->read.argument, path, depth);
}

static bool missing_value_of(void *argument, const nl_field *field, const nl_value **value)
{
    const orc_data_reader *self = argument;
    return self->read.missing_value_of && self->read.missing_value_of(self->read.argument, field, value);
}

static uint32_t place_of(void *argument, const nl_field *field)
{
    (void)argument;
    return field->field_id > 0 ? (uint32_t)field->field_id - 1 : UINT32_MAX;
}

static nl_status prepare(orc_data_reader *self, nl_file *file, nl_memory *memory, bool is_plain)
{
    const nl_orc_read_options options = {
        .match = is_plain ? NL_ORC_MATCH_NAME_NOCASE : NL_ORC_MATCH_FIELD_ID,
        .field_id_of = self->read.field_id_of ? field_id_of : NULL,
        .place_of = place_of,
        .missing_value_of = missing_value_of,
        .argument = self,
        .is_hybrid = is_plain,
        .zone = is_plain ? nl_timezone_machine() : NULL,
    };
    NL_TRY(nl_orc_tail_read(file, memory, &self->tail));
    nl_data_part *parts = NL_NEW_ARRAY(self->arena, nl_data_part, self->tail->stripe_count + 1);
    for (uint32_t i = 0; i < self->tail->stripe_count; i++) parts[i].row_count = self->tail->stripes[i].row_count;
    self->base.parts = parts;
    self->base.part_count = self->tail->stripe_count;
    NL_TRY(nl_arena_check(self->arena));
    return nl_orc_reader_open(file, self->tail, self->read.wanted, &options, memory, &self->reader);
}

static nl_status open_any(nl_file *file, const nl_data_read *read, nl_memory *memory, const nl_data_format *format, nl_data_reader **reader)
{
    nl_arena *arena = nl_arena_new(memory);
    orc_data_reader *self = NL_NEW(arena, orc_data_reader);
    *self = (orc_data_reader){.base = {.format = format}, .arena = arena, .read = *read};
    nl_status status = prepare(self, file, memory, format == &nl_orc_plain_format);
    if (status) close_reader(&self->base);
    else *reader = &self->base;
    return status;
}

static nl_status open_reader(nl_file *file, const nl_data_read *read, nl_memory *memory, nl_data_reader **reader)
{
    return open_any(file, read, memory, &nl_orc_data_format, reader);
}

static nl_status open_plain(nl_file *file, const nl_data_read *read, nl_memory *memory, nl_data_reader **reader)
{
    return open_any(file, read, memory, &nl_orc_plain_format, reader);
}

static nl_status open_scan(nl_data_reader *base, uint32_t part, nl_memory *memory, nl_data_scan **scan)
{
    orc_data_reader *reader = NL_CONTAINER(base, orc_data_reader, base);
    orc_data_scan *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P_INT("receivedBytes", 0));
    self->base.format = base->format;
    nl_status status = nl_orc_scan_open(reader->reader, part, memory, &self->scan);
    if (status) free(self);
    else *scan = &self->base;
    return status;
}

static nl_status next_batch(nl_data_scan *base, nl_batch *batch, uint64_t *first_row)
{
    orc_data_scan *self = NL_CONTAINER(base, orc_data_scan, base);
    nl_orc_window window;
    NL_TRY(nl_orc_scan_next(self->scan, batch, &window));
    *first_row = window.file_row;
    return NULL;
}

static void close_scan(nl_data_scan *base)
{
    orc_data_scan *self = NL_CONTAINER(base, orc_data_scan, base);
    nl_orc_scan_close(self->scan);
    free(self);
}

static void translate_bounds(const nl_orc_bounds *found, uint64_t row_count, nl_data_bounds *bounds)
{
    bounds->has_bounds = found->has_min && found->has_max;
    bounds->min = found->min;
    bounds->max = found->max;
    bounds->may_have_nan = found->min.type && (found->min.type->id == NL_TYPE_FLOAT || found->min.type->id == NL_TYPE_DOUBLE);
    bounds->has_null_count = !found->may_have_null || found->is_all_null; /* how many nulls otherwise, nothing says */
    bounds->null_count = found->is_all_null ? row_count : 0;
    bounds->value_count = row_count;
}

static nl_status part_bounds(nl_data_reader *base, uint32_t part, int32_t field_id, nl_arena *arena, nl_data_bounds *bounds)
{
    const orc_data_reader *self = NL_CONTAINER(base, orc_data_reader, base);
    nl_orc_bounds found;
    bool is_known;
    *bounds = (nl_data_bounds){.may_have_nan = true};
    NL_TRY(nl_orc_stripe_bounds(self->reader, part, field_id, arena, &found, &is_known));
    if (is_known) translate_bounds(&found, self->tail->stripes[part].row_count, bounds);
    return NULL;
}

static nl_status group_bounds(nl_data_reader *base, uint32_t part, int32_t field_id, nl_arena *arena, nl_data_bounds **groups, uint32_t *group_count, uint64_t *group_rows)
{
    const orc_data_reader *self = NL_CONTAINER(base, orc_data_reader, base);
    const uint64_t row_count = self->tail->stripes[part].row_count;
    nl_orc_bounds *found = NULL;
    NL_TRY(nl_orc_group_bounds(self->reader, part, field_id, arena, &found, group_count, group_rows));
    *groups = NL_NEW_ARRAY(arena, nl_data_bounds, (size_t)*group_count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < *group_count; i++)
        translate_bounds(&found[i], NL_MIN(*group_rows, row_count - i * *group_rows), &(*groups)[i]);
    return NULL;
}

static nl_status restrict_scan(nl_data_scan *base, const nl_data_rows *ranges, uint32_t range_count)
{
    orc_data_scan *self = NL_CONTAINER(base, orc_data_scan, base);
    return nl_orc_scan_restrict(self->scan, ranges, range_count);
}

/* ---- Files that are brought in as they are ---- */

/* Counts and bounds of one field over all stripes, counted as Java's OrcMetrics does; none when a stripe keeps them to itself. */
static nl_status describe_field(const orc_data_reader *self, const nl_field *field, nl_arena *arena, nl_written_leaf *leaf, bool *is_complete)
{
    bool is_bounded = field->type->child_count == 0;
    *leaf = (nl_written_leaf){.field_id = field->field_id, .path = field->name, .type = field->type};
    for (uint32_t i = 0; i < self->tail->stripe_count && *is_complete; i++) {
        nl_orc_bounds bounds;
        NL_TRY(nl_orc_stripe_bounds(self->reader, i, field->field_id, arena, &bounds, is_complete));
        *is_complete = *is_complete && bounds.has_count;
        if (!*is_complete) return NULL;
        const uint64_t nulls = bounds.has_null ? self->tail->stripes[i].row_count - NL_MIN(bounds.value_count, self->tail->stripes[i].row_count) : 0;
        leaf->value_count += bounds.value_count + nulls;
        leaf->null_count += nulls;
        if (bounds.value_count == 0) continue;
        is_bounded = is_bounded && bounds.has_min && bounds.has_max;
        if (!is_bounded) continue;
        if (!leaf->has_bounds || nl_value_compare(&bounds.min, &leaf->lower) < 0) leaf->lower = bounds.min;
        if (!leaf->has_bounds || nl_value_compare(&bounds.max, &leaf->upper) > 0) leaf->upper = bounds.max;
        leaf->has_bounds = true;
    }
    leaf->has_bounds = leaf->has_bounds && is_bounded;
    return NULL;
}

/* Bounds of floating point may leave NaN out, and those of uuids are texts: what manifests say must hold. */
static bool is_told(const nl_type *type)
{
    return type->id != NL_TYPE_FLOAT && type->id != NL_TYPE_DOUBLE && type->id != NL_TYPE_VARIANT;
}

static uint32_t count_fields(const nl_type *type)
{
    uint32_t count = 0;
    for (uint32_t i = 0; type->id == NL_TYPE_STRUCT && i < type->child_count; i++) count += 1 + count_fields(type->children[i].type);
    return count;
}

/* True recursion: types have a limited depth. */
static nl_status describe_fields(const orc_data_reader *self, const nl_type *type, nl_arena *arena, nl_written_file *written)
{
    for (uint32_t i = 0; type->id == NL_TYPE_STRUCT && i < type->child_count; i++) {
        const nl_field *field = &type->children[i];
        bool is_complete = is_told(field->type);
        if (is_complete) NL_TRY(describe_field(self, field, arena, &written->leaves[written->leaf_count], &is_complete));
        written->leaf_count += is_complete;
        NL_TRY(describe_fields(self, field->type, arena, written));
    }
    return NULL;
}

static nl_status describe_open(const orc_data_reader *self, nl_arena *arena, nl_written_file *written)
{
    written->row_count = self->tail->row_count;
    written->file_bytes = self->tail->file_size;
    written->leaves = NL_NEW_ARRAY(arena, nl_written_leaf, (size_t)count_fields(self->read.wanted) + 1);
    written->split_offsets = NL_NEW_ARRAY(arena, uint64_t, (size_t)self->tail->stripe_count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < self->tail->stripe_count; i++) written->split_offsets[written->split_offset_count++] = self->tail->stripes[i].offset;
    return describe_fields(self, self->read.wanted, arena, written);
}

/* A file whose types are not the table's still comes in: a query will tell, as Spark's does. */
static nl_status describe_file(nl_file *file, const nl_data_read *read, nl_memory *memory, nl_arena *arena, nl_written_file *written)
{
    nl_data_reader *reader = NULL;
    nl_orc_tail *tail = NULL;
    *written = (nl_written_file){0};
    nl_error *error = open_reader(file, read, memory, &reader);
    if (!error) {
        nl_status status = describe_open(NL_CONTAINER(reader, orc_data_reader, base), arena, written);
        close_reader(reader);
        return status;
    }
    nl_error_free(error);
    NL_TRY(nl_orc_tail_read(file, memory, &tail));
    written->row_count = tail->row_count;
    written->file_bytes = tail->file_size;
    nl_orc_tail_release(tail);
    return NULL;
}

/* ---- Writing ---- */

typedef struct orc_output {
    nl_data_output base;
    nl_arena *arena;
    nl_orc_writer *writer;
} orc_output;

static nl_status find_level(nl_codec codec, nl_str text, int32_t *level)
{
    int64_t number;
    *level = NL_CODEC_LEVEL_DEFAULT;
    if (text.length == 0) return NULL;
    const bool is_number = nl_parse_int64(text, &number);
    if (!is_number || number < -100 || number > 100) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid compression level: " NL_STR_FMT, NL_STR_ARG(text));
    if (codec == NL_CODEC_ZSTD || codec == NL_CODEC_DEFLATE) *level = (int32_t)number;
    return NULL;
}

static nl_status find_stripe_bytes(const nl_data_write *write, uint64_t *bytes)
{
    const nl_str text = write->property_of ? write->property_of(write->argument, "write.orc.stripe-size-bytes") : (nl_str){0};
    int64_t number;
    if (!text.data) return NULL;
    if (!nl_parse_int64(text, &number) || number <= 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Stripe size must be > 0");
    *bytes = (uint64_t)number;
    return NULL;
}

/* Java's writer leaves the schema out of the file: ids are attributes of the types. */
static void copy_metadata(nl_arena *arena, const nl_data_write *write, nl_orc_write_options *options)
{
    nl_data_pair *pairs = NL_NEW_ARRAY(arena, nl_data_pair, (size_t)write->metadata_count + 1);
    for (uint32_t i = 0; i < write->metadata_count; i++)
        if (!nl_str_is(write->metadata[i].key, "iceberg.schema"))
            pairs[options->metadata_count++] = (nl_data_pair){nl_arena_str(arena, write->metadata[i].key), nl_arena_str(arena, write->metadata[i].value)};
    options->metadata = pairs;
}

static nl_status write_options(nl_arena *arena, const nl_data_write *write, bool is_plain, nl_orc_write_options *options)
{
    *options = (nl_orc_write_options){
        .codec = is_plain ? NL_CODEC_ZSTD : NL_CODEC_DEFLATE,
        .is_iceberg = !is_plain,
        .zone = nl_timezone_machine(),
        .columns = write->columns,
        .column_count = write->column_count,
    };
    copy_metadata(arena, write, options);
    if (write->codec.length) NL_TRY(nl_orc_codec_find(write->codec, &options->codec));
    NL_TRY(find_stripe_bytes(write, &options->stripe_bytes));
    NL_TRY(find_level(options->codec, write->codec_level, &options->level));
    return nl_arena_check(arena);
}

static nl_status create_any(nl_output *output, const nl_data_write *write, nl_memory *memory, const nl_data_format *format, nl_data_output **out)
{
    nl_arena *arena = nl_arena_new(memory);
    orc_output *self = NL_NEW(arena, orc_output);
    nl_orc_write_options options;
    *self = (orc_output){.base = {.format = format}, .arena = arena};
    nl_status status = write_options(arena, write, format == &nl_orc_plain_format, &options);
    if (status) nl_output_abort(output);
    else status = nl_orc_writer_create(output, write->type, &options, memory, &self->writer);
    if (status) nl_arena_free(arena);
    else *out = &self->base;
    return status;
}

static nl_status create_output(nl_output *output, const nl_data_write *write, nl_memory *memory, nl_data_output **out)
{
    return create_any(output, write, memory, &nl_orc_data_format, out);
}

static nl_status create_plain(nl_output *output, const nl_data_write *write, nl_memory *memory, nl_data_output **out)
{
    return create_any(output, write, memory, &nl_orc_plain_format, out);
}

static nl_status append_batch(nl_data_output *base, const nl_batch *batch)
{
    return nl_orc_writer_append(NL_CONTAINER(base, orc_output, base)->writer, batch);
}

static uint64_t output_bytes(const nl_data_output *base)
{
    return nl_orc_writer_bytes(((const orc_output *)(const void *)base)->writer);
}

static size_t output_memory(const nl_data_output *base)
{
    return nl_orc_writer_memory(((const orc_output *)(const void *)base)->writer);
}

static nl_status finish_output(nl_data_output *base, nl_arena *arena, nl_written_file *written)
{
    orc_output *self = NL_CONTAINER(base, orc_output, base);
    nl_status status = nl_orc_writer_close(self->writer, arena, written);
    nl_arena_free(self->arena);
    return status;
}

static void abort_output(nl_data_output *base)
{
    orc_output *self = NL_CONTAINER(base, orc_output, base);
    nl_orc_writer_abort(self->writer);
    nl_arena_free(self->arena);
}

#define ORC_FORMAT(open_it, create_it)                                                                                                     \
    {.name = "orc", .open = open_it, .close = close_reader, .scan_open = open_scan, .scan_next = next_batch, .scan_close = close_scan,      \
     .part_bounds = part_bounds, .group_bounds = group_bounds, .scan_restrict = restrict_scan, .describe = describe_file, .create = create_it, .append = append_batch, \
     .bytes = output_bytes, .memory = output_memory, .finish = finish_output, .abort = abort_output}

const nl_data_format nl_orc_data_format = ORC_FORMAT(open_reader, create_output);
const nl_data_format nl_orc_plain_format = ORC_FORMAT(open_plain, create_plain);
