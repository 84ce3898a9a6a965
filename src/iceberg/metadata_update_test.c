/* iceberg/metadata_update_test.c - new metadata from old: ids, logs, what is refused, and the forms of the REST catalog. */
#include "base/test_support.h"

#include "base/json.h"
#include "iceberg/metadata_update.h"

static const nl_schema *schema_of(nl_arena *arena, const char *second)
{
    const nl_ice_field fields[] = {{.id = 11, .name = NL_STR("id"), .is_required = true, .type = nl_ice_type_of(NL_ICE_LONG)},
                                   {.id = 12, .name = nl_str_from(second), .type = nl_ice_type_of(NL_ICE_TIMESTAMPTZ)}};
    const int32_t identifier = 11;
    const nl_schema *schema;
    assert_ok(nl_schema_new(arena, 7, nl_ice_type_struct(arena, fields, 2), &identifier, 1, &schema));
    return schema;
}

static nl_partition_spec day_spec(nl_partition_field *field)
{
    static const int32_t source = 12;
    *field = (nl_partition_field){.source_id = 12, .field_id = 1234, .name = NL_STR("ts_day"), .transform = {.kind = NL_TRANSFORM_DAY},
                                  .source_count = 1, .source_ids = &source};
    return (nl_partition_spec){.spec_id = 9, .field_count = 1, .fields = field};
}

static const nl_table_metadata *create(nl_arena *arena, const char *version)
{
    nl_partition_field field;
    const nl_partition_spec spec = day_spec(&field);
    const nl_sort_field sort_field = {.source_id = 11, .is_descending = true, .nulls_last = true};
    const nl_sort_order order = {.order_id = 5, .field_count = 1, .fields = &sort_field};
    const nl_property properties[] = {{NL_STR("format-version"), nl_str_from(version)}, {NL_STR("owner"), NL_STR("me")}};
    const nl_table_creation creation = {.schema = schema_of(arena, "ts"), .spec = &spec, .sort_order = &order, .location = NL_STR("/w/t"),
                                        .properties = properties, .property_count = 2};
    const nl_table_metadata *metadata;
    assert_ok(nl_table_metadata_create(&creation, NULL, &metadata));
    return metadata;
}

static void test_a_new_table_has_fresh_ids(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_table_metadata *metadata = create(arena, "2");
    assert_int_equal(metadata->format_version, 2);
    assert_int_equal(metadata->uuid.length, 36);
    assert_int_equal(metadata->last_column_id, 2);
    assert_int_equal(nl_table_schema(metadata)->schema_id, 0);
    assert_int_equal(nl_table_schema(metadata)->root->fields[1].id, 2);
    assert_int_equal(nl_table_schema(metadata)->identifier_ids[0], 1);
    assert_int_equal(nl_table_spec(metadata)->spec_id, 0);
    assert_int_equal(nl_table_spec(metadata)->fields[0].source_id, 2);
    assert_int_equal(nl_table_spec(metadata)->fields[0].field_id, 1000);
    assert_int_equal(metadata->last_partition_id, 1000);
    assert_int_equal(metadata->default_sort_order_id, 1);
    assert_int_equal(nl_table_sort_order(metadata)->fields[0].source_id, 1);
    assert_non_null(nl_table_sort_order_by_id(metadata, 0)); /* the unsorted order is always listed */
    assert_null(nl_table_property(metadata, "format-version", NULL).data); /* used, not stored */
    assert_text(nl_table_property(metadata, "owner", NULL), "me");
    assert_text(nl_table_property(metadata, "write.parquet.compression-codec", NULL), "zstd");
    assert_int_equal(metadata->current_snapshot_id, NL_NONE);
    assert_int_equal(metadata->metadata_log_count, 0);
    nl_table_metadata_release(metadata);
    nl_arena_free(arena);
}

static nl_snapshot snapshot_of(int64_t id, int64_t parent, int64_t sequence, int64_t time)
{
    return (nl_snapshot){.snapshot_id = id, .parent_id = parent, .sequence_number = sequence, .timestamp_ms = time, .operation = NL_STR("append"),
                         .manifest_list = NL_STR("/w/t/l"), .schema_id = 0, .first_row_id = NL_NONE, .added_rows = NL_NONE};
}

static nl_snapshot_ref main_ref(int64_t snapshot_id)
{
    return (nl_snapshot_ref){.name = NL_STR("main"), .snapshot_id = snapshot_id, .min_snapshots_to_keep = NL_NONE, .max_snapshot_age_ms = NL_NONE,
                             .max_ref_age_ms = NL_NONE};
}

/* base with its file name set, plus the snapshots given, each set as main; base is released. */
static const nl_table_metadata *commit(const nl_table_metadata *base, const char *file, const nl_snapshot *snapshots, uint32_t count)
{
    const nl_table_metadata *named;
    const nl_table_metadata *next;
    nl_table_update updates[16];
    nl_snapshot_ref refs[8];
    assert_ok(nl_table_metadata_with_file(base, nl_str_from(file), &named));
    for (uint32_t i = 0; i < count; i++) {
        refs[i] = main_ref(snapshots[i].snapshot_id);
        updates[2 * i] = (nl_table_update){.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = &snapshots[i]};
        updates[2 * i + 1] = (nl_table_update){.kind = NL_UPDATE_SET_SNAPSHOT_REF, .ref = &refs[i]};
    }
    assert_ok(nl_table_metadata_update(named, updates, 2 * count, NULL, &next));
    nl_table_metadata_release(named);
    nl_table_metadata_release(base);
    return next;
}

static void test_commits_extend_both_logs(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_table_metadata *metadata = create(arena, "2");
    const int64_t created_ms = metadata->last_updated_ms;
    const nl_snapshot first = snapshot_of(101, NL_NONE, 1, created_ms + 10);
    const nl_snapshot others[] = {snapshot_of(102, 101, 2, created_ms + 20), snapshot_of(103, 102, 3, created_ms + 30)};
    metadata = commit(metadata, "/w/t/v1", &first, 1);
    assert_int_equal(metadata->last_updated_ms, created_ms + 10);
    assert_int_equal(metadata->last_sequence_number, 1);
    assert_int_equal(metadata->metadata_log_count, 1);
    assert_text(metadata->metadata_log[0].metadata_file, "/w/t/v1");
    assert_int_equal(metadata->metadata_log[0].timestamp_ms, created_ms);
    metadata = commit(metadata, "/w/t/v2", others, 2); /* one transaction: 102 was current for nobody */
    assert_int_equal(metadata->current_snapshot_id, 103);
    assert_int_equal(metadata->snapshot_count, 3);
    assert_int_equal(metadata->snapshot_log_count, 2);
    assert_int_equal(metadata->snapshot_log[1].snapshot_id, 103);
    assert_int_equal(metadata->metadata_log_count, 2);
    assert_int_equal(metadata->metadata_log[1].timestamp_ms, created_ms + 10);
    nl_table_metadata_release(metadata);
    nl_arena_free(arena);
}

static void test_the_metadata_log_is_cut(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_table_metadata *metadata = create(arena, "2");
    const int64_t created_ms = metadata->last_updated_ms;
    const nl_property limit = {NL_STR("write.metadata.previous-versions-max"), NL_STR("3")};
    const nl_table_update update = {.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&limit, 1}};
    const nl_table_metadata *next;
    assert_ok(nl_table_metadata_update(metadata, &update, 1, NULL, &next));
    nl_table_metadata_release(metadata);
    for (int i = 0; i < 6; i++) {
        const nl_snapshot snapshot = snapshot_of(100 + i, i ? 99 + i : NL_NONE, 1 + i, created_ms + 1 + i);
        char file[32];
        snprintf(file, sizeof(file), "/w/t/v%d", i);
        next = commit(next, file, &snapshot, 1);
    }
    assert_int_equal(next->metadata_log_count, 3);
    assert_text(next->metadata_log[0].metadata_file, "/w/t/v3");
    assert_text(next->metadata_log[2].metadata_file, "/w/t/v5");
    nl_table_metadata_release(next);
    nl_arena_free(arena);
}

static void test_removing_a_snapshot_cuts_the_history_before_it(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_table_metadata *metadata = create(arena, "2");
    const int64_t t = metadata->last_updated_ms;
    for (int i = 0; i < 4; i++) {
        const nl_snapshot snapshot = snapshot_of(100 + i, i ? 99 + i : NL_NONE, 1 + i, t + 1 + i);
        metadata = commit(metadata, "/w/t/v", &snapshot, 1);
    }
    const nl_snapshot_ref tag = {.name = NL_STR("old"), .snapshot_id = 101, .is_tag = true, .min_snapshots_to_keep = NL_NONE,
                                 .max_snapshot_age_ms = NL_NONE, .max_ref_age_ms = NL_NONE};
    const nl_statistics_file statistics = {.snapshot_id = 101, .path = NL_STR("/s")};
    const int64_t gone[] = {101};
    const nl_table_update updates[] = {{.kind = NL_UPDATE_SET_SNAPSHOT_REF, .ref = &tag},
                                       {.kind = NL_UPDATE_SET_STATISTICS, .statistics = &statistics},
                                       {.kind = NL_UPDATE_REMOVE_SNAPSHOTS, .snapshots = {gone, 1}}};
    const nl_table_metadata *next;
    assert_ok(nl_table_metadata_update(metadata, updates, 3, NULL, &next));
    assert_int_equal(next->snapshot_count, 3);
    assert_null(nl_table_ref(next, NL_STR("old"))); /* a reference to nothing goes too */
    assert_int_equal(next->statistics_count, 0);
    assert_int_equal(next->snapshot_log_count, 2); /* 102 and 103: before them there would be a gap */
    assert_int_equal(next->snapshot_log[0].snapshot_id, 102);
    assert_int_equal(next->current_snapshot_id, 103);
    nl_table_metadata_release(metadata);
    nl_table_metadata_release(next);
    nl_arena_free(arena);
}

static void test_equal_schemas_specs_and_orders_are_reused(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_table_metadata *metadata = create(arena, "2");
    nl_ice_field fields[] = {metadata->schemas[0]->root->fields[0], metadata->schemas[0]->root->fields[1]};
    const int32_t identifier = 1;
    const nl_schema *changed;
    fields[1].name = NL_STR("renamed");
    assert_ok(nl_schema_new(arena, 0, nl_ice_type_struct(arena, fields, 2), &identifier, 1, &changed));
    const nl_partition_spec unpartitioned = {.spec_id = 55};
    const nl_table_update there[] = {{.kind = NL_UPDATE_ADD_SCHEMA, .add_schema = {changed, NL_NONE}},
                                     {.kind = NL_UPDATE_SET_CURRENT_SCHEMA, .id = NL_LAST_ADDED},
                                     {.kind = NL_UPDATE_ADD_SPEC, .spec = &unpartitioned},
                                     {.kind = NL_UPDATE_SET_DEFAULT_SPEC, .id = NL_LAST_ADDED}};
    const nl_table_metadata *next;
    const nl_table_metadata *back;
    assert_ok(nl_table_metadata_update(metadata, there, 4, NULL, &next));
    assert_int_equal(next->current_schema_id, 1);
    assert_int_equal(next->default_spec_id, 1);
    const nl_table_update home[] = {{.kind = NL_UPDATE_ADD_SCHEMA, .add_schema = {metadata->schemas[0], NL_NONE}},
                                    {.kind = NL_UPDATE_SET_CURRENT_SCHEMA, .id = NL_LAST_ADDED},
                                    {.kind = NL_UPDATE_ADD_SPEC, .spec = metadata->specs[0]},
                                    {.kind = NL_UPDATE_SET_DEFAULT_SPEC, .id = NL_LAST_ADDED},
                                    {.kind = NL_UPDATE_ADD_SORT_ORDER, .sort_order = nl_table_sort_order(metadata)},
                                    {.kind = NL_UPDATE_SET_DEFAULT_SORT_ORDER, .id = NL_LAST_ADDED}};
    assert_ok(nl_table_metadata_update(next, home, 6, NULL, &back));
    assert_int_equal(back->current_schema_id, 0);
    assert_int_equal(back->schema_count, 2);
    assert_int_equal(back->default_spec_id, 0);
    assert_int_equal(back->spec_count, 2);
    assert_int_equal(back->default_sort_order_id, 1);
    const nl_table_metadata *same; /* nothing changed: the very object */
    assert_ok(nl_table_metadata_update(back, home, 6, NULL, &same));
    assert_ptr_equal(same, back);
    nl_table_metadata_release(same);
    nl_table_metadata_release(back);
    nl_table_metadata_release(next);
    nl_table_metadata_release(metadata);
    nl_arena_free(arena);
}

static void test_what_would_break_a_table_is_refused(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_table_metadata *metadata = create(arena, "2");
    const nl_table_metadata *next;
    const nl_snapshot_ref unknown = main_ref(77);
    const nl_snapshot first = snapshot_of(1, NL_NONE, 1, metadata->last_updated_ms + 1);
    const nl_snapshot late = snapshot_of(2, 1, 1, metadata->last_updated_ms + 1);
    nl_ice_field one = metadata->schemas[0]->root->fields[0];
    const nl_schema *without_source;
    assert_ok(nl_schema_new(arena, 0, nl_ice_type_struct(arena, &one, 1), NULL, 0, &without_source));
    const struct {
        nl_table_update updates[3];
        uint32_t count;
        nl_condition condition;
        const char *message;
    } rows[] = {
        {{{.kind = NL_UPDATE_UPGRADE_FORMAT_VERSION, .id = 1}}, 1, NL_COND_NILAS_ILLEGAL_ARGUMENT, "Cannot downgrade v2 table to v1"},
        {{{.kind = NL_UPDATE_UPGRADE_FORMAT_VERSION, .id = 4}}, 1, NL_COND_NILAS_ILLEGAL_ARGUMENT, "unsupported format version: v4"},
        {{{.kind = NL_UPDATE_SET_CURRENT_SCHEMA, .id = 9}}, 1, NL_COND_NILAS_ILLEGAL_ARGUMENT, "Cannot set current schema to unknown schema: 9"},
        {{{.kind = NL_UPDATE_SET_CURRENT_SCHEMA, .id = NL_LAST_ADDED}}, 1, NL_COND_NILAS_VALIDATION_FAILED, "no schema has been added"},
        {{{.kind = NL_UPDATE_SET_DEFAULT_SPEC, .id = 9}}, 1, NL_COND_NILAS_ILLEGAL_ARGUMENT, "unknown spec: 9"},
        {{{.kind = NL_UPDATE_SET_SNAPSHOT_REF, .ref = &unknown}}, 1, NL_COND_NILAS_VALIDATION_FAILED, "Cannot set main to unknown snapshot: 77"},
        {{{.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = &first}, {.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = &first}}, 2,
         NL_COND_NILAS_VALIDATION_FAILED, "Snapshot already exists for id: 1"},
        {{{.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = &first}, {.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = &late}}, 2,
         NL_COND_NILAS_VALIDATION_FAILED, "sequence number 1 older than last sequence number 1"},
        {{{.kind = NL_UPDATE_ADD_SCHEMA, .add_schema = {without_source, NL_NONE}}, {.kind = NL_UPDATE_SET_CURRENT_SCHEMA, .id = NL_LAST_ADDED}}, 2,
         NL_COND_NILAS_VALIDATION_FAILED, "Cannot find source column for partition field: 1000: ts_day: day(2)"},
        {{{.kind = NL_UPDATE_ADD_SCHEMA, .add_schema = {without_source, 1}}}, 1, NL_COND_NILAS_ILLEGAL_ARGUMENT, "Invalid last column ID: 1 < 2"},
        {{{.kind = NL_UPDATE_REMOVE_SCHEMAS, .ids = {(const int32_t[]){0}, 1}}}, 1, NL_COND_NILAS_ILLEGAL_ARGUMENT, "Cannot remove the current schema"},
        {{{.kind = NL_UPDATE_REMOVE_PARTITION_SPECS, .ids = {(const int32_t[]){0}, 1}}}, 1, NL_COND_NILAS_ILLEGAL_ARGUMENT,
         "Cannot remove the default partition spec"},
        {{{.kind = NL_UPDATE_UPGRADE_FORMAT_VERSION, .id = 3}, {.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = &first}}, 2,
         NL_COND_NILAS_VALIDATION_FAILED, "first-row-id is null"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++)
        assert_fails_at(nl_table_metadata_update(metadata, rows[i].updates, rows[i].count, NULL, &next), rows[i].condition, rows[i].message,
                        __FILE__, __LINE__);
    nl_table_metadata_release(metadata);
    nl_arena_free(arena);
}

static void test_row_ids_advance_in_v3(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_table_metadata *metadata = create(arena, "3");
    nl_snapshot snapshot = snapshot_of(1, NL_NONE, 1, metadata->last_updated_ms + 1);
    snapshot.first_row_id = 0;
    snapshot.added_rows = 30;
    metadata = commit(metadata, "/w/t/v1", &snapshot, 1);
    assert_int_equal(metadata->next_row_id, 30);
    snapshot.snapshot_id = 2;
    snapshot.parent_id = 1;
    snapshot.sequence_number = 2;
    snapshot.first_row_id = 29;
    const nl_table_update behind = {.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = &snapshot};
    const nl_table_metadata *next;
    assert_fails(nl_table_metadata_update(metadata, &behind, 1, NULL, &next), NILAS_VALIDATION_FAILED,
                 "first-row-id is behind table next-row-id: 29 < 30");
    nl_table_metadata_release(metadata);
    nl_arena_free(arena);
}

static void test_replacing_a_table_keeps_uuid_history_and_ids(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_table_metadata *metadata = create(arena, "2");
    const nl_snapshot snapshot = snapshot_of(1, NL_NONE, 1, metadata->last_updated_ms + 1);
    metadata = commit(metadata, "/w/t/v1", &snapshot, 1);
    const nl_ice_field fields[] = {{.id = 1, .name = NL_STR("fresh"), .type = nl_ice_type_of(NL_ICE_STRING)},
                                   {.id = 2, .name = NL_STR("ts"), .type = nl_ice_type_of(NL_ICE_TIMESTAMPTZ)}};
    const nl_schema *schema;
    assert_ok(nl_schema_new(arena, 0, nl_ice_type_struct(arena, fields, 2), NULL, 0, &schema));
    const int32_t source = 2;
    const nl_partition_field field = {.source_id = 2, .field_id = 1000, .name = NL_STR("ts_day"), .transform = {.kind = NL_TRANSFORM_DAY},
                                      .source_count = 1, .source_ids = &source};
    const nl_partition_spec spec = {.field_count = 1, .fields = &field};
    const nl_table_creation creation = {.schema = schema, .spec = &spec, .location = metadata->location};
    const nl_table_metadata *next;
    assert_ok(nl_table_metadata_replace(metadata, &creation, NULL, &next));
    assert_true(nl_str_equal(next->uuid, metadata->uuid));
    assert_int_equal(next->current_snapshot_id, NL_NONE);
    assert_int_equal(next->snapshot_count, 1);
    assert_int_equal(next->snapshot_log_count, 1);
    assert_int_equal(next->current_schema_id, 1);
    assert_int_equal(nl_table_schema(next)->root->fields[0].id, 3); /* a new name: a new id */
    assert_int_equal(nl_table_schema(next)->root->fields[1].id, 2); /* a known one keeps its own */
    assert_int_equal(next->default_spec_id, 0);                     /* the same field: the same spec */
    assert_int_equal(next->default_sort_order_id, 0);
    assert_text(nl_table_property(next, "owner", NULL), "me");
    nl_table_metadata_release(metadata);
    nl_table_metadata_release(next);
    nl_arena_free(arena);
}

static void test_updates_survive_their_json(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{\"action\":\"assign-uuid\",\"uuid\":\"9510c060-6be2-4ba7-8b78-b4ce4d6bf6b3\"}",
        "{\"action\":\"upgrade-format-version\",\"format-version\":2}",
        "{\"action\":\"add-schema\",\"schema\":{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"int\"}]},"
        "\"last-column-id\":1}",
        "{\"action\":\"set-current-schema\",\"schema-id\":-1}",
        "{\"action\":\"add-spec\",\"spec\":{\"spec-id\":0,\"fields\":[{\"name\":\"a\",\"transform\":\"identity\",\"source-id\":1,\"field-id\":1000}]}}",
        "{\"action\":\"set-default-spec\",\"spec-id\":-1}",
        "{\"action\":\"add-sort-order\",\"sort-order\":{\"order-id\":1,\"fields\":[{\"transform\":\"identity\",\"source-id\":1,\"direction\":\"asc\","
        "\"null-order\":\"nulls-first\"}]}}",
        "{\"action\":\"set-default-sort-order\",\"sort-order-id\":-1}",
        "{\"action\":\"add-snapshot\",\"snapshot\":{\"sequence-number\":1,\"snapshot-id\":9007199254740993,\"timestamp-ms\":5,\"summary\":{\"operation\":"
        "\"append\",\"k\":\"v\"},\"manifest-list\":\"/l\",\"schema-id\":0}}",
        "{\"action\":\"set-snapshot-ref\",\"ref-name\":\"main\",\"snapshot-id\":5,\"type\":\"branch\",\"min-snapshots-to-keep\":3}",
        "{\"action\":\"remove-snapshots\",\"snapshot-ids\":[1,2]}",
        "{\"action\":\"remove-snapshot-ref\",\"ref-name\":\"b\"}",
        "{\"action\":\"set-location\",\"location\":\"/x\"}",
        "{\"action\":\"set-properties\",\"updates\":{\"a\":\"b\"}}",
        "{\"action\":\"remove-properties\",\"removals\":[\"a\"]}",
        "{\"action\":\"set-statistics\",\"snapshot-id\":1,\"statistics\":{\"snapshot-id\":1,\"statistics-path\":\"/s\",\"file-size-in-bytes\":5,"
        "\"file-footer-size-in-bytes\":2,\"blob-metadata\":[{\"type\":\"t\",\"snapshot-id\":1,\"sequence-number\":1,\"fields\":[1],"
        "\"properties\":{\"ndv\":\"3\"}}]}}",
        "{\"action\":\"remove-statistics\",\"snapshot-id\":1}",
        "{\"action\":\"set-partition-statistics\",\"partition-statistics\":{\"snapshot-id\":1,\"statistics-path\":\"/s\",\"file-size-in-bytes\":5}}",
        "{\"action\":\"remove-partition-statistics\",\"snapshot-id\":1}",
        "{\"action\":\"remove-partition-specs\",\"spec-ids\":[1]}",
        "{\"action\":\"remove-schemas\",\"schema-ids\":[1]}",
        "{\"action\":\"add-encryption-key\",\"encryption-key\":{\"key-id\":\"k\"}}",
        "{\"action\":\"remove-encryption-key\",\"key-id\":\"k\"}",
    };
    nl_arena *arena = nl_arena_new(NULL);
    nl_builder text;
    nl_builder_init(&text, 1u << 16);
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const json_t *json;
        nl_table_update update;
        assert_ok(nl_json_parse(arena, nl_str_from(rows[i]), NL_STR("test"), &json));
        assert_ok(nl_table_update_from_json(arena, json, &update));
        nl_builder_clear(&text);
        nl_table_update_append_json(&update, &text);
        assert_text(nl_builder_str(&text), rows[i]);
    }
    const json_t *json;
    nl_table_update update;
    assert_ok(nl_json_parse(arena, NL_STR("{\"action\":\"explode\"}"), NL_STR("test"), &json));
    assert_fails(nl_table_update_from_json(arena, json, &update), NILAS_ILLEGAL_ARGUMENT, "explode");
    nl_builder_fini(&text);
    nl_arena_free(arena);
}

static void test_requirements_say_what_changed(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *message; /* NULL: it holds */
    } rows[] = {
        {"{\"type\":\"assert-create\"}", "Requirement failed: table already exists"},
        {"{\"type\":\"assert-table-uuid\",\"uuid\":\"x\"}", "Requirement failed: UUID does not match"},
        {"{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\",\"snapshot-id\":1}", NULL},
        {"{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\",\"snapshot-id\":2}", "Requirement failed: branch main has changed: expected id 2 != 1"},
        {"{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\",\"snapshot-id\":null}", "Requirement failed: branch main was created concurrently"},
        {"{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"b\",\"snapshot-id\":null}", NULL},
        {"{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"b\",\"snapshot-id\":5}", "Requirement failed: branch or tag b is missing, expected 5"},
        {"{\"type\":\"assert-last-assigned-field-id\",\"last-assigned-field-id\":2}", NULL},
        {"{\"type\":\"assert-last-assigned-field-id\",\"last-assigned-field-id\":3}", "last assigned field id changed: expected id 3 != 2"},
        {"{\"type\":\"assert-current-schema-id\",\"current-schema-id\":1}", "Requirement failed: current schema changed: expected id 1 != 0"},
        {"{\"type\":\"assert-last-assigned-partition-id\",\"last-assigned-partition-id\":1000}", NULL},
        {"{\"type\":\"assert-default-spec-id\",\"default-spec-id\":0}", NULL},
        {"{\"type\":\"assert-default-sort-order-id\",\"default-sort-order-id\":0}", "default sort order changed: expected id 0 != 1"},
    };
    nl_arena *arena = nl_arena_new(NULL);
    const nl_table_metadata *metadata = create(arena, "2");
    const nl_snapshot snapshot = snapshot_of(1, NL_NONE, 1, metadata->last_updated_ms + 1);
    metadata = commit(metadata, "/w/t/v1", &snapshot, 1);
    nl_builder text;
    nl_builder_init(&text, 1000);
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const json_t *json;
        nl_table_requirement requirement;
        assert_ok(nl_json_parse(arena, nl_str_from(rows[i].json), NL_STR("test"), &json));
        assert_ok(nl_table_requirement_from_json(arena, json, &requirement));
        nl_builder_clear(&text);
        nl_table_requirement_append_json(&requirement, &text);
        assert_text(nl_builder_str(&text), rows[i].json);
        nl_status status = nl_table_requirement_check(&requirement, metadata);
        if (!rows[i].message) assert_ok(status);
        else assert_fails(status, NILAS_COMMIT_FAILED, rows[i].message);
    }
    nl_builder_fini(&text);
    nl_table_metadata_release(metadata);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_table_has_fresh_ids),
        cmocka_unit_test(test_commits_extend_both_logs),
        cmocka_unit_test(test_the_metadata_log_is_cut),
        cmocka_unit_test(test_removing_a_snapshot_cuts_the_history_before_it),
        cmocka_unit_test(test_equal_schemas_specs_and_orders_are_reused),
        cmocka_unit_test(test_what_would_break_a_table_is_refused),
        cmocka_unit_test(test_row_ids_advance_in_v3),
        cmocka_unit_test(test_replacing_a_table_keeps_uuid_history_and_ids),
        cmocka_unit_test(test_updates_survive_their_json),
        cmocka_unit_test(test_requirements_say_what_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
