/* exec/sink/layout.c - see layout.h. */
#include "exec/sink/layout.h"

typedef struct table_shape {
    const nl_table_metadata *metadata;
    const nl_write_options *options;
    bool is_partitioned, is_sorted;
} table_shape;

static nl_status mode_of_name(nl_str name, nl_distribution_mode *mode)
{
    static const char *const names[] = {"none", "hash", "range"};
    for (uint32_t i = 0; i < NL_COUNT(names); i++) {
        if (!nl_str_is_nocase(name, names[i])) continue;
        *mode = (nl_distribution_mode)i;
        return NULL;
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid distribution mode: " NL_STR_FMT, NL_STR_ARG(name));
}

/* What the statement, the session or the table's property says; empty: nothing. */
static nl_str given_name(const table_shape *shape, const char *property)
{
    return shape->options->distribution_mode.length ? shape->options->distribution_mode : nl_table_property(shape->metadata, property, NULL);
}

/* There is nothing to cluster by without partitions, and nothing to range over without an order. */
static nl_distribution_mode adjusted(const table_shape *shape, nl_distribution_mode mode)
{
    if (shape->is_partitioned || (mode == NL_DISTRIBUTE_RANGE && shape->is_sorted)) return mode;
    return NL_DISTRIBUTE_NONE;
}

static nl_status insert_mode(const table_shape *shape, nl_distribution_mode *mode)
{
    const nl_str name = given_name(shape, "write.distribution-mode");
    *mode = shape->is_sorted ? NL_DISTRIBUTE_RANGE : shape->is_partitioned ? NL_DISTRIBUTE_HASH : NL_DISTRIBUTE_NONE;
    if (!name.length) return NULL;
    NL_TRY(mode_of_name(name, mode));
    *mode = adjusted(shape, *mode);
    return NULL;
}

static nl_status row_level_mode(const table_shape *shape, const char *property, nl_distribution_mode *mode)
{
    const nl_str name = given_name(shape, property);
    *mode = NL_DISTRIBUTE_HASH;
    return name.length ? mode_of_name(name, mode) : NULL;
}

static nl_status merge_by_copy_mode(const table_shape *shape, nl_distribution_mode *mode)
{
    const nl_str name = given_name(shape, "write.merge.distribution-mode");
    if (!name.length && !shape->is_partitioned) return insert_mode(shape, mode);
    *mode = NL_DISTRIBUTE_HASH;
    if (!name.length) return NULL;
    NL_TRY(mode_of_name(name, mode));
    *mode = adjusted(shape, *mode);
    return NULL;
}

static nl_status choose_mode(const table_shape *shape, bool is_delta, nl_distribution_mode *mode)
{
    switch (shape->options->verb) {
    case NL_WRITE_INSERT: return insert_mode(shape, mode);
    case NL_WRITE_DELETE: return row_level_mode(shape, "write.delete.distribution-mode", mode);
    case NL_WRITE_UPDATE: return row_level_mode(shape, "write.update.distribution-mode", mode);
    case NL_WRITE_MERGE: return is_delta ? row_level_mode(shape, "write.merge.distribution-mode", mode) : merge_by_copy_mode(shape, mode);
    }
    return NULL;
}

static bool is_void(const nl_partition_field *field)
{
    return field->transform.kind == NL_TRANSFORM_VOID;
}

/* Marks the partition's fields that the first fields of the order imply: equal ones, and at the end of them one that is
 * finer than a partition's (an order by ts is one by days(ts)). */
static void mark_implied(const nl_partition_spec *spec, const nl_sort_order *order, bool *is_implied)
{
    for (uint32_t i = 0; i < order->field_count; i++) {
        const nl_sort_field *sorted = &order->fields[i];
        bool is_partition_field = false;
        for (uint32_t k = 0; k < spec->field_count; k++) {
            const nl_partition_field *field = &spec->fields[k];
            const bool is_same = field->source_id == sorted->source_id && nl_transform_equal(&field->transform, &sorted->transform);
            is_partition_field = is_partition_field || is_same;
            if (is_same || (field->source_id == sorted->source_id && nl_transform_satisfies_order_of(&sorted->transform, &field->transform)))
                is_implied[k] = true;
        }
        if (!is_partition_field) return;
    }
}

/* The table's order behind those partition fields that it does not imply. */
static const nl_sort_order *order_of(nl_arena *arena, const nl_partition_spec *spec, const nl_sort_order *table_order, uint32_t *partition_key_count)
{
    static const nl_sort_order unsorted = {0};
    const nl_sort_order *own = table_order ? table_order : &unsorted;
    bool *is_implied = NL_NEW_ARRAY(arena, bool, spec->field_count + 1);
    nl_sort_field *fields = NL_NEW_ARRAY(arena, nl_sort_field, spec->field_count + own->field_count + 1);
    nl_sort_order *order = NL_NEW(arena, nl_sort_order);
    uint32_t part_count = 0;
    order->fields = fields;
    mark_implied(spec, own, is_implied);
    for (uint32_t k = 0; k < spec->field_count; k++) {
        const nl_partition_field *field = &spec->fields[k];
        part_count += !is_void(field);
        if (is_void(field) || is_implied[k]) continue;
        fields[order->field_count++] = (nl_sort_field){.transform = field->transform, .source_id = field->source_id};
    }
    *partition_key_count = order->field_count == part_count ? part_count : 0;
    for (uint32_t i = 0; i < own->field_count; i++)
        fields[order->field_count++] = own->fields[i];
    return order;
}

static table_shape shape_of(const nl_table_metadata *metadata, const nl_partition_spec *spec, const nl_write_options *options)
{
    const nl_sort_order *order = nl_table_sort_order(metadata);
    return (table_shape){
        .metadata = metadata,
        .options = options,
        .is_partitioned = !nl_partition_spec_is_unpartitioned(spec),
        .is_sorted = order && order->field_count > 0,
    };
}

nl_status nl_write_clusters_by_file(const nl_table_metadata *metadata, const nl_write_options *options, bool *is_wanted)
{
    nl_distribution_mode mode;
    const table_shape shape = shape_of(metadata, nl_table_spec(metadata), options);
    const bool is_change = options->verb == NL_WRITE_DELETE || options->verb == NL_WRITE_UPDATE;
    *is_wanted = false;
    if (!is_change || shape.is_partitioned) return NULL;
    NL_TRY(choose_mode(&shape, false, &mode));
    *is_wanted = mode == NL_DISTRIBUTE_HASH || (mode == NL_DISTRIBUTE_RANGE && !shape.is_sorted);
    return NULL;
}

nl_status nl_write_layout_choose(nl_arena *arena, const nl_table_metadata *metadata, const nl_partition_spec *spec, const nl_write_options *options,
                                 bool is_delta, nl_write_layout *layout)
{
    static const nl_sort_order as_they_come = {0};
    const table_shape shape = shape_of(metadata, spec, options);
    const nl_str fanout = options->fanout.length ? options->fanout : nl_table_property(metadata, "write.spark.fanout.enabled", NULL);
    const bool refuses_fanout = fanout.length && !nl_str_is_nocase(fanout, "true");
    *layout = (nl_write_layout){.order = &as_they_come};
    if (options->ignores_order) {
        layout->mode = options->shares_writers ? NL_DISTRIBUTE_HASH : NL_DISTRIBUTE_NONE;
        layout->checks_clusters = refuses_fanout && shape.is_partitioned && !options->shares_writers;
        return NULL;
    }
    NL_TRY(choose_mode(&shape, is_delta, &layout->mode));
    /* Deletes alone need no order: positions are sorted when they are written. */
    if ((is_delta && options->verb == NL_WRITE_DELETE) || (!refuses_fanout && !shape.is_sorted)) return NULL;
    layout->order = order_of(arena, spec, nl_table_sort_order(metadata), &layout->partition_key_count);
    return NULL;
}
