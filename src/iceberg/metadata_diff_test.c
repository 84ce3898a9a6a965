/* iceberg/metadata_diff_test.c - updates found between two metadata lead from one to the other, over histories that real
 * Spark wrote and over random walks; and which requirements go with them. */
#include "base/test_support.h"

#include "base/json.h"
#include "iceberg/metadata_diff.h"

/* Through the wire's form and back: what a server would get. */
static nl_table_update sent(nl_arena *arena, const nl_table_update *update)
{
    nl_builder text;
    nl_table_update read;
    const json_t *json;
    nl_builder_init(&text, 1 << 22);
    nl_table_update_append_json(update, &text);
    assert_ok(nl_json_parse(arena, nl_arena_str(arena, nl_builder_str(&text)), NL_STR("update"), &json));
    assert_ok(nl_table_update_from_json(arena, json, &read));
    nl_builder_fini(&text);
    return read;
}

static const json_t *content(nl_arena *arena, const nl_table_metadata *metadata)
{
    static const char *const moving[] = {"last-updated-ms", "snapshot-log", "metadata-log"};
    nl_builder text;
    const json_t *json;
    nl_builder_init(&text, 1 << 24);
    nl_table_metadata_append_json(metadata, &text);
    assert_ok(nl_json_parse(arena, nl_arena_str(arena, nl_builder_str(&text)), NL_STR("metadata"), &json));
    nl_builder_fini(&text);
    for (uint32_t i = 0; i < NL_COUNT(moving); i++)
        json_object_del(NL_UNCONST(json), moving[i]);
    return json;
}

static void assert_leads_there(const nl_table_metadata *base, const nl_table_metadata *updated)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_metadata_diff diff;
    const nl_table_metadata *again;
    assert_ok(nl_metadata_diff_make(arena, base, updated, &diff));
    nl_table_update *updates = NL_NEW_ARRAY(arena, nl_table_update, (size_t)diff.update_count + 1);
    for (uint32_t i = 0; i < diff.update_count; i++)
        updates[i] = sent(arena, &diff.updates[i]);
    for (uint32_t i = 0; i < diff.requirement_count; i++)
        assert_ok(nl_table_requirement_check(&diff.requirements[i], base));
    assert_ok(nl_table_metadata_update(base, updates, diff.update_count, NULL, &again));
    const json_t *made = content(arena, again), *wanted = content(arena, updated);
    if (!json_equal(NL_UNCONST(made), NL_UNCONST(wanted))) {
        fprintf(stderr, "made:   %s\nwanted: %s\n", json_dumps(made, 0), json_dumps(wanted, 0));
        fail();
    }
    nl_table_metadata_release(again);
    nl_arena_free(arena);
}

static const nl_table_metadata *fixture(nl_arena *arena, const char *name)
{
    const nl_table_metadata *metadata;
    assert_ok(nl_table_metadata_parse(read_fixture(arena, name), nl_str_from(name), NULL, &metadata));
    return metadata;
}

/* The versions of one table by Spark 4.0.1: appends, branches, tags, a replace, evolutions, statistics, expiry. */
static void test_each_step_of_a_real_history_is_found(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_table_metadata *previous = NULL;
    uint32_t version_count = 0;
    for (uint32_t version = 1;; version++) {
        const nl_str path = nl_arena_f(arena, "tests/fixtures/iceberg/history/v%u.gz.metadata.json", version);
        FILE *probe = fopen(nl_str_c(arena, path), "rb");
        if (!probe) break;
        fclose(probe);
        const nl_table_metadata *next = fixture(arena, nl_str_c(arena, nl_str_slice(path, strlen("tests/fixtures/"), path.length)));
        assert_leads_there(previous, next);
        nl_table_metadata_release(previous);
        previous = next;
        version_count++;
    }
    assert_true(version_count >= 20);
    nl_table_metadata_release(previous);
    nl_arena_free(arena);
}

static void test_a_table_that_has_everything_can_be_made_at_once(void **state)
{
    (void)state;
    static const char *const names[] = {"iceberg/types/v3.metadata.json", "iceberg/v2/v1.metadata.json", "iceberg/v1/v5.metadata.json", "iceberg/trans/v2.metadata.json"};
    nl_arena *arena = nl_arena_new(NULL);
    for (uint32_t i = 0; i < NL_COUNT(names); i++) {
        nl_metadata_diff diff;
        const nl_table_metadata *metadata = fixture(arena, names[i]);
        nl_error *error = nl_metadata_diff_make(arena, NULL, metadata, &diff);
        if (!error) {
            assert_int_equal(diff.requirement_count, 1);
            assert_int_equal(diff.requirements[0].kind, NL_REQUIRE_CREATE);
        } else { /* history that a list of updates cannot tell is refused, not told wrongly */
            assert_true(metadata->snapshot_count > 0);
            nl_error_free(error);
        }
        nl_table_metadata_release(metadata);
    }
    nl_arena_free(arena);
}

/* ---- Random walks ---- */

typedef struct walk {
    nl_arena *arena;
    uint64_t random;
    int64_t next_snapshot_id;
    uint32_t column_count;
} walk;

static uint32_t roll(walk *w, uint32_t below)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(w->random >> 33) % below;
}

static const nl_schema *wider_schema(walk *w, const nl_table_metadata *metadata)
{
    const nl_schema *old = nl_table_schema(metadata), *schema;
    nl_ice_field *fields = NL_NEW_ARRAY(w->arena, nl_ice_field, old->root->field_count + 1);
    uint32_t count = 0;
    const uint32_t dropped = roll(w, 3) == 0 && old->root->field_count > 3 ? 2 + roll(w, old->root->field_count - 2) : UINT32_MAX;
    for (uint32_t i = 0; i < old->root->field_count; i++)
        if (i != dropped) fields[count++] = old->root->fields[i];
    fields[count] = (nl_ice_field){.id = metadata->last_column_id + 1, .name = nl_arena_f(w->arena, "c%u", w->column_count++), .type = nl_ice_type_of(NL_ICE_STRING)};
    assert_ok(nl_schema_new(w->arena, 0, nl_ice_type_struct(w->arena, fields, count + 1), NULL, 0, &schema));
    return schema;
}

static nl_table_update random_update(walk *w, const nl_table_metadata *metadata)
{
    static const char *const names[] = {"main", "b1", "b2", "t1"};
    nl_snapshot_ref *ref = NL_NEW(w->arena, nl_snapshot_ref);
    switch (roll(w, 13)) {
    case 0: return (nl_table_update){.kind = NL_UPDATE_ADD_SCHEMA, .add_schema = {wider_schema(w, metadata), NL_NONE}};
    case 1: return (nl_table_update){.kind = NL_UPDATE_SET_CURRENT_SCHEMA, .id = metadata->schemas[roll(w, metadata->schema_count)]->schema_id};
    case 2: {
        nl_property *property = NL_NEW(w->arena, nl_property);
        *property = (nl_property){nl_arena_f(w->arena, "p%u", roll(w, 6)), nl_arena_f(w->arena, "%u", roll(w, 3))};
        return (nl_table_update){.kind = roll(w, 3) ? NL_UPDATE_SET_PROPERTIES : NL_UPDATE_REMOVE_PROPERTIES, .properties = {property, 1}};
    }
    case 3: {
        nl_sort_field *field = NL_NEW(w->arena, nl_sort_field);
        nl_sort_order *order = NL_NEW(w->arena, nl_sort_order);
        *field = (nl_sort_field){.source_id = 1 + (int32_t)roll(w, 2), .is_descending = roll(w, 2)};
        *order = (nl_sort_order){.field_count = roll(w, 2), .fields = field};
        return (nl_table_update){.kind = NL_UPDATE_ADD_SORT_ORDER, .sort_order = order};
    }
    case 4: return (nl_table_update){.kind = NL_UPDATE_SET_DEFAULT_SORT_ORDER, .id = metadata->sort_orders[roll(w, metadata->sort_order_count)]->order_id};
    case 5: {
        nl_partition_field *field = NL_NEW(w->arena, nl_partition_field);
        nl_partition_spec *spec = NL_NEW(w->arena, nl_partition_spec);
        int32_t *source = NL_NEW(w->arena, int32_t);
        *source = 1 + (int32_t)roll(w, 2);
        *field = (nl_partition_field){.source_id = *source, .source_count = 1, .source_ids = source, .field_id = metadata->last_partition_id + 1,
                                      .name = nl_arena_f(w->arena, "f%d", metadata->last_partition_id + 1)};
        *spec = (nl_partition_spec){.field_count = roll(w, 2), .fields = field};
        return (nl_table_update){.kind = NL_UPDATE_ADD_SPEC, .spec = spec};
    }
    case 6: return (nl_table_update){.kind = NL_UPDATE_SET_DEFAULT_SPEC, .id = metadata->specs[roll(w, metadata->spec_count)]->spec_id};
    case 7:
    case 8: {
        nl_snapshot *snapshot = NL_NEW(w->arena, nl_snapshot);
        *snapshot = (nl_snapshot){.snapshot_id = w->next_snapshot_id++, .parent_id = metadata->current_snapshot_id, .sequence_number = metadata->last_sequence_number + 1,
                                  .timestamp_ms = metadata->last_updated_ms + 1, .operation = NL_STR("append"), .manifest_list = NL_STR("/l"), .schema_id = 0,
                                  .first_row_id = metadata->format_version > 2 ? metadata->next_row_id : NL_NONE, .added_rows = metadata->format_version > 2 ? 3 : NL_NONE};
        return (nl_table_update){.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = snapshot};
    }
    case 9:
        *ref = (nl_snapshot_ref){.name = nl_str_from(names[roll(w, 4)]), .min_snapshots_to_keep = NL_NONE, .max_snapshot_age_ms = NL_NONE, .max_ref_age_ms = NL_NONE,
                                 .snapshot_id = metadata->snapshot_count ? metadata->snapshots[roll(w, metadata->snapshot_count)].snapshot_id : 1};
        ref->is_tag = ref->name.data[0] == 't';
        return (nl_table_update){.kind = NL_UPDATE_SET_SNAPSHOT_REF, .ref = ref};
    case 10: return (nl_table_update){.kind = NL_UPDATE_REMOVE_SNAPSHOT_REF, .text = nl_str_from(names[roll(w, 4)])};
    case 11: {
        int64_t *id = NL_NEW(w->arena, int64_t);
        *id = metadata->snapshot_count ? metadata->snapshots[roll(w, metadata->snapshot_count)].snapshot_id : 1;
        return (nl_table_update){.kind = NL_UPDATE_REMOVE_SNAPSHOTS, .snapshots = {id, 1}};
    }
    default: {
        nl_statistics_file *file = NL_NEW(w->arena, nl_statistics_file);
        *file = (nl_statistics_file){.snapshot_id = metadata->snapshot_count ? metadata->snapshots[roll(w, metadata->snapshot_count)].snapshot_id : 1,
                                     .path = nl_arena_f(w->arena, "/s%u", roll(w, 3)), .file_size_bytes = 10, .footer_size_bytes = 5};
        if (roll(w, 2)) return (nl_table_update){.kind = NL_UPDATE_SET_STATISTICS, .statistics = file};
        return (nl_table_update){.kind = NL_UPDATE_REMOVE_STATISTICS, .snapshot_id = file->snapshot_id};
    }
    }
}

/* A commit of one to four random updates; those that are refused are left out. NULL when nothing came of it. */
static const nl_table_metadata *random_commit(walk *w, const nl_table_metadata *base)
{
    const nl_table_metadata *metadata = nl_table_metadata_retain(base);
    for (uint32_t count = 1 + roll(w, 4); count > 0; count--) {
        const nl_table_update update = random_update(w, metadata);
        const nl_table_metadata *next;
        nl_error *error = nl_table_metadata_update(metadata, &update, 1, NULL, &next);
        if (error) {
            nl_error_free(error);
            continue;
        }
        nl_table_metadata_release(metadata);
        metadata = next;
    }
    return metadata;
}

static void walk_from(const char *name, uint64_t seed)
{
    nl_arena *arena = nl_arena_new(NULL);
    walk w = {.arena = arena, .random = seed, .next_snapshot_id = 1000};
    const nl_table_metadata *metadata = fixture(arena, name);
    uint32_t told = 0;
    for (uint32_t step = 0; step < 60; step++) {
        nl_metadata_diff diff;
        const nl_table_metadata *next = random_commit(&w, metadata);
        /* What no engine does in one commit (a schema that came and went again) may be refused: never told wrongly. */
        nl_error *error = nl_metadata_diff_make(arena, metadata, next, &diff);
        if (!error) assert_leads_there(metadata, next);
        told += error == NULL;
        nl_error_free(error);
        nl_table_metadata_release(metadata);
        metadata = next;
    }
    if (told < 50) fail_msg("only %u of 60 commits could be told", told);
    nl_table_metadata_release(metadata);
    nl_arena_free(arena);
}

static void test_random_commits_are_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        walk_from("iceberg/v2/v1.metadata.json", seed);
        walk_from("iceberg/types/v3.metadata.json", seed);
    }
}

/* ---- Requirements ---- */

static void assert_requires(const nl_table_metadata *base, const nl_table_update *updates, uint32_t update_count, const char *expected)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_builder text;
    nl_metadata_diff diff;
    const nl_table_metadata *updated;
    nl_builder_init(&text, 1 << 16);
    assert_ok(nl_table_metadata_update(base, updates, update_count, NULL, &updated));
    assert_ok(nl_metadata_diff_make(arena, base, updated, &diff));
    for (uint32_t i = 0; i < diff.requirement_count; i++)
        nl_table_requirement_append_json(&diff.requirements[i], &text);
    assert_text(nl_builder_str(&text), nl_str_c(arena, nl_arena_f(arena, "{\"type\":\"assert-table-uuid\",\"uuid\":\"" NL_STR_FMT "\"}%s", NL_STR_ARG(base->uuid), expected)));
    nl_table_metadata_release(updated);
    nl_builder_fini(&text);
    nl_arena_free(arena);
}

static void test_requirements_are_those_of_java(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    walk w = {.arena = arena};
    const nl_table_metadata *base = fixture(arena, "iceberg/v2/v1.metadata.json");
    const nl_property property = {NL_STR("a"), NL_STR("b")};
    assert_requires(base, &(nl_table_update){.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&property, 1}}, 1, "");
    const nl_table_update schema[] = {{.kind = NL_UPDATE_ADD_SCHEMA, .add_schema = {wider_schema(&w, base), NL_NONE}},
                                      {.kind = NL_UPDATE_SET_CURRENT_SCHEMA, .id = NL_LAST_ADDED}};
    assert_requires(base, schema, 2, nl_str_c(arena, nl_arena_f(arena, "{\"type\":\"assert-last-assigned-field-id\",\"last-assigned-field-id\":%d}"
                                                                       "{\"type\":\"assert-current-schema-id\",\"current-schema-id\":0}", base->last_column_id)));
    const nl_snapshot snapshot = {.snapshot_id = 7, .parent_id = NL_NONE, .sequence_number = 1, .timestamp_ms = base->last_updated_ms + 1, .manifest_list = NL_STR("/l"),
                                  .operation = NL_STR("append"), .schema_id = 0, .first_row_id = NL_NONE, .added_rows = NL_NONE};
    const nl_snapshot_ref ref = {.name = NL_STR("main"), .snapshot_id = 7, .min_snapshots_to_keep = NL_NONE, .max_snapshot_age_ms = NL_NONE, .max_ref_age_ms = NL_NONE};
    const nl_table_update append[] = {{.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = &snapshot}, {.kind = NL_UPDATE_SET_SNAPSHOT_REF, .ref = &ref}};
    assert_requires(base, append, 2, "{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\",\"snapshot-id\":null}");
    nl_table_metadata_release(base);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_step_of_a_real_history_is_found),
        cmocka_unit_test(test_a_table_that_has_everything_can_be_made_at_once),
        cmocka_unit_test(test_random_commits_are_found),
        cmocka_unit_test(test_requirements_are_those_of_java),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
