/* iceberg/summary.c - what a snapshot says of itself: counts of this commit, totals, who made it. */
#include "iceberg/operation_private.h"

#include "base/hash.h"
#include "base/number.h"

#define BUCKETS_MIN 64u

void nl_summary_init(nl_summary *summary, nl_arena *arena)
{
    *summary = (nl_summary){.arena = arena, .buckets = NL_NEW_ARRAY(arena, uint32_t, BUCKETS_MIN), .bucket_mask = BUCKETS_MIN - 1};
}

static uint32_t *bucket_of(nl_summary *summary, int32_t spec_id, const nl_value *values, uint32_t value_count)
{
    return &summary->buckets[nl_hash_mix(nl_partition_hash(values, value_count), (uint64_t)spec_id) & summary->bucket_mask];
}

static void grow_buckets(nl_summary *summary)
{
    const uint32_t size = (summary->bucket_mask + 1) * 4;
    summary->buckets = NL_NEW_ARRAY(summary->arena, uint32_t, size);
    summary->bucket_mask = size - 1;
    for (uint32_t i = 0; i < summary->partitions.count; i++) {
        nl_changed_partition *partition = summary->partitions.items[i];
        uint32_t *bucket = bucket_of(summary, partition->spec_id, partition->values, partition->value_count);
        partition->next = *bucket;
        *bucket = i + 1;
    }
}

static nl_summary_counts *partition_counts(nl_summary *summary, const nl_data_file *file, uint32_t value_count)
{
    if (!file->partition) value_count = 0;
    for (uint32_t at = *bucket_of(summary, file->spec_id, file->partition, value_count); at;) {
        nl_changed_partition *partition = summary->partitions.items[at - 1];
        if (partition->spec_id == file->spec_id && partition->value_count == value_count &&
            nl_partition_equal(partition->values, file->partition, value_count))
            return &partition->counts;
        at = partition->next;
    }
    if (summary->partitions.count > summary->bucket_mask) grow_buckets(summary);
    uint32_t *bucket = bucket_of(summary, file->spec_id, file->partition, value_count);
    nl_changed_partition *made = NL_NEW(summary->arena, nl_changed_partition);
    *made = (nl_changed_partition){.spec_id = file->spec_id, .value_count = value_count, .values = file->partition, .next = *bucket};
    nl_list_add(summary->arena, &summary->partitions, made);
    *bucket = summary->partitions.count;
    return &made->counts;
}

/* A deletion vector shares its Puffin file with others: its own blob is what it adds. */
static int64_t bytes_of(const nl_data_file *file)
{
    return nl_data_file_is_deletion_vector(file) ? file->content_size_bytes : file->file_size_bytes;
}

static void count_added(nl_summary_counts *counts, const nl_data_file *file)
{
    counts->added_bytes += bytes_of(file);
    switch (file->content) {
    case NL_CONTENT_DATA:
        counts->added_data_files++;
        counts->added_records += file->record_count;
        break;
    case NL_CONTENT_POSITION_DELETES:
        counts->added_delete_files++;
        if (nl_data_file_is_deletion_vector(file))
            counts->added_vectors++;
        else
            counts->added_position_files++;
        counts->added_position_deletes += file->record_count;
        break;
    case NL_CONTENT_EQUALITY_DELETES:
        counts->added_delete_files++;
        counts->added_equality_files++;
        counts->added_equality_deletes += file->record_count;
        break;
    }
}

static void count_removed(nl_summary_counts *counts, const nl_data_file *file)
{
    counts->removed_bytes += bytes_of(file);
    switch (file->content) {
    case NL_CONTENT_DATA:
        counts->removed_data_files++;
        counts->deleted_records += file->record_count;
        break;
    case NL_CONTENT_POSITION_DELETES:
        counts->removed_delete_files++;
        if (nl_data_file_is_deletion_vector(file))
            counts->removed_vectors++;
        else
            counts->removed_position_files++;
        counts->removed_position_deletes += file->record_count;
        break;
    case NL_CONTENT_EQUALITY_DELETES:
        counts->removed_delete_files++;
        counts->removed_equality_files++;
        counts->removed_equality_deletes += file->record_count;
        break;
    }
}

void nl_summary_add(nl_summary *summary, const nl_data_file *file, uint32_t value_count)
{
    count_added(&summary->counts, file);
    count_added(partition_counts(summary, file, value_count), file);
}

void nl_summary_remove(nl_summary *summary, const nl_data_file *file, uint32_t value_count)
{
    count_removed(&summary->counts, file);
    count_removed(partition_counts(summary, file, value_count), file);
}

/* ---- properties ------------------------------------------------------------------------------------------------ */

typedef struct property_list {
    nl_arena *arena;
    nl_property *items;
    uint32_t count;
    uint32_t capacity;
} property_list;

static void put(property_list *list, nl_str key, nl_str value)
{
    if (list->count == list->capacity) {
        const uint32_t capacity = list->capacity ? list->capacity * 2 : 64;
        nl_property *items = NL_NEW_ARRAY(list->arena, nl_property, capacity);
        if (list->count) memcpy(items, list->items, list->count * sizeof(*items));
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = (nl_property){key, value};
}

static void put_number(property_list *list, const char *key, int64_t value)
{
    put(list, nl_str_from(key), nl_arena_f(list->arena, "%lld", (long long)value));
}

typedef struct count_row {
    const char *key;
    size_t offset; /* of the count in nl_summary_counts */
} count_row;
#define COUNT(key, member) {key, offsetof(nl_summary_counts, member)}
static const count_row count_rows[] = { /* in Java's order */
    COUNT("added-data-files", added_data_files),
    COUNT("deleted-data-files", removed_data_files),
    COUNT("added-equality-delete-files", added_equality_files),
    COUNT("removed-equality-delete-files", removed_equality_files),
    COUNT("added-position-delete-files", added_position_files),
    COUNT("removed-position-delete-files", removed_position_files),
    COUNT("added-delete-files", added_delete_files),
    COUNT("removed-delete-files", removed_delete_files),
    COUNT("added-dvs", added_vectors),
    COUNT("removed-dvs", removed_vectors),
    COUNT("added-records", added_records),
    COUNT("deleted-records", deleted_records),
    COUNT("added-files-size", added_bytes),
    COUNT("removed-files-size", removed_bytes),
    COUNT("added-position-deletes", added_position_deletes),
    COUNT("removed-position-deletes", removed_position_deletes),
    COUNT("added-equality-deletes", added_equality_deletes),
    COUNT("removed-equality-deletes", removed_equality_deletes),
};

static int64_t count_at(const nl_summary_counts *counts, const count_row *row)
{
    int64_t value;
    memcpy(&value, (const char *)counts + row->offset, sizeof value);
    return value;
}

static void put_counts(property_list *list, const nl_summary_counts *counts)
{
    for (uint32_t i = 0; i < NL_COUNT(count_rows); i++)
        if (count_at(counts, &count_rows[i]) > 0) put_number(list, count_rows[i].key, count_at(counts, &count_rows[i]));
}

static void put_partition(property_list *list, const nl_table_metadata *base, const nl_changed_partition *partition)
{
    const nl_partition_spec *spec = nl_table_spec_by_id(base, partition->spec_id);
    if (!spec || spec->field_count == 0) return; /* without partitions the totals say it all */
    nl_builder text;
    nl_builder_init(&text, 1 << 20);
    nl_append_c(&text, "partitions.");
    if (partition->values) nl_partition_append_path(spec, nl_table_schema(base), partition->values, &text);
    const nl_str key = nl_arena_str(list->arena, nl_builder_str(&text));
    nl_builder_clear(&text);
    for (uint32_t i = 0; i < NL_COUNT(count_rows); i++) {
        const int64_t count = count_at(&partition->counts, &count_rows[i]);
        if (count > 0) nl_append_f(&text, "%s%s=%lld", text.length ? "," : "", count_rows[i].key, (long long)count);
    }
    put(list, key, nl_arena_str(list->arena, nl_builder_str(&text)));
    nl_builder_fini(&text);
}

static void put_partitions(property_list *list, const nl_summary *summary, const nl_table_metadata *base)
{
    int64_t limit = 0;
    nl_error_free(nl_table_property_int(base, "write.summary.partition-limit", 0, &limit));
    put_number(list, "changed-partition-count", summary->partitions.count);
    if (summary->partitions.count == 0 || summary->partitions.count > limit) return;
    put(list, NL_STR("partition-summaries-included"), NL_STR("true"));
    for (uint32_t i = 0; i < summary->partitions.count; i++)
        put_partition(list, base, summary->partitions.items[i]);
}

/* previous total + added - removed; left out when the previous one is not known, as Java does. */
static void put_total(property_list *list, const nl_snapshot *parent, const char *key, int64_t added, int64_t removed)
{
    int64_t previous = 0;
    if (parent) {
        const nl_str text = nl_snapshot_summary(parent, key);
        if (!text.data || !nl_parse_int64(text, &previous)) return;
    }
    const int64_t total = previous + added - removed;
    if (total >= 0) put_number(list, key, total);
}

static void put_totals(property_list *list, const nl_snapshot *parent, const nl_summary_counts *c)
{
    put_total(list, parent, "total-records", c->added_records, c->deleted_records);
    put_total(list, parent, "total-files-size", c->added_bytes, c->removed_bytes);
    put_total(list, parent, "total-data-files", c->added_data_files, c->removed_data_files);
    put_total(list, parent, "total-delete-files", c->added_delete_files, c->removed_delete_files);
    put_total(list, parent, "total-position-deletes", c->added_position_deletes, c->removed_position_deletes);
    put_total(list, parent, "total-equality-deletes", c->added_equality_deletes, c->removed_equality_deletes);
}

void nl_summary_properties(const nl_summary *summary, const nl_table_metadata *base, const nl_snapshot *parent, const nl_operation *operation,
                           const nl_commit_environment *environment, const nl_property **properties, uint32_t *count)
{
    property_list list = {.arena = summary->arena};
    for (uint32_t i = 0; i < operation->property_count; i++)
        put(&list, operation->properties[i].key, operation->properties[i].value);
    if (operation->staged_wap_id.length) put(&list, NL_STR("wap.id"), operation->staged_wap_id);
    if (operation->kind == NL_OPERATION_REPLACE_PARTITIONS) put(&list, NL_STR("replace-partitions"), NL_STR("true"));
    if (operation->manifest_rewrite) {
        put_number(&list, "manifests-created", operation->manifest_rewrite->created);
        put_number(&list, "manifests-kept", operation->manifest_rewrite->kept);
        put_number(&list, "manifests-replaced", operation->manifest_rewrite->rewritten);
        put_number(&list, "entries-processed", 0);
    }
    nl_summary_counts counts = summary->counts;
    if (operation->adds_whole_manifests) counts.added_bytes = 0;
    put_counts(&list, &counts);
    if (!operation->adds_whole_manifests) put_partitions(&list, summary, base);
    put_totals(&list, parent, &counts);
    for (uint32_t i = 0; i < environment->property_count; i++)
        put(&list, environment->properties[i].key, environment->properties[i].value);
    *properties = list.items;
    *count = list.count;
}
