/* format/orc/data_format.c - see data_format.h. A part is a stripe. */
#include "format/orc/data_format.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/machine_zone.h"
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

#define READING(open_it)                                                                                                                \
    .open = open_it, .close = close_reader, .scan_open = open_scan, .scan_next = next_batch, .scan_close = close_scan,                   \
    .part_bounds = part_bounds, .group_bounds = group_bounds, .scan_restrict = restrict_scan

const nl_data_format nl_orc_data_format = {.name = "orc", READING(open_reader)};
const nl_data_format nl_orc_plain_format = {.name = "orc", READING(open_plain)};
