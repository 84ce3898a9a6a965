/* exec/sink/layout_test.c - distribution and order of writes, by the rules of Iceberg's Spark writers. */
#include "base/test_support.h"

#include "exec/sink/layout.h"

#define BY_P       "{\"name\":\"p\",\"transform\":\"identity\",\"source-id\":2,\"field-id\":1000}"
#define BY_DAY     "{\"name\":\"ts_day\",\"transform\":\"day\",\"source-id\":3,\"field-id\":1001}"
#define BY_NOTHING "{\"name\":\"p\",\"transform\":\"void\",\"source-id\":2,\"field-id\":1000}"
#define ASC(transform, id)  "{\"transform\":\"" transform "\",\"source-id\":" id ",\"direction\":\"asc\",\"null-order\":\"nulls-first\"}"
#define DESC(transform, id) "{\"transform\":\"" transform "\",\"source-id\":" id ",\"direction\":\"desc\",\"null-order\":\"nulls-last\"}"

static const nl_table_metadata *table(nl_arena *arena, const char *spec, const char *order, const char *properties)
{
    const nl_str text = nl_arena_f(
        arena,
        "{\"format-version\":2,\"table-uuid\":\"a8b0f6a0-0000-4000-8000-000000000000\",\"location\":\"/t\",\"last-sequence-number\":0,"
        "\"last-updated-ms\":1,\"last-column-id\":3,\"current-schema-id\":0,\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":["
        "{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"},{\"id\":2,\"name\":\"p\",\"required\":false,\"type\":\"int\"},"
        "{\"id\":3,\"name\":\"ts\",\"required\":false,\"type\":\"timestamp\"}]}],\"default-spec-id\":0,"
        "\"partition-specs\":[{\"spec-id\":0,\"fields\":[%s]}],\"last-partition-id\":1001,\"default-sort-order-id\":%d,"
        "\"sort-orders\":[{\"order-id\":0,\"fields\":[]}%s%s%s],\"properties\":{%s},\"current-snapshot-id\":-1,\"refs\":{},\"snapshots\":[],"
        "\"snapshot-log\":[],\"metadata-log\":[]}",
        spec, *order ? 1 : 0, *order ? ",{\"order-id\":1,\"fields\":[" : "", order, *order ? "]}" : "", properties);
    const nl_table_metadata *metadata = NULL;
    assert_ok(nl_table_metadata_parse((nl_bytes){(const uint8_t *)text.data, text.length}, NL_STR("m"), NULL, &metadata));
    return metadata;
}

typedef struct choice {
    const char *spec, *order, *properties;
    nl_write_options options;
    bool is_delta;
    nl_distribution_mode mode;
    const char *keys; /* of the order, as text */
    uint32_t partition_key_count;
} choice;

static const choice choices[] = {
    /* nothing is said */
    {"", "", "", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_NONE, "", 0},
    {BY_P, "", "", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_HASH, "", 0},
    {"", ASC("identity", "1"), "", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_RANGE, "id ASC NULLS FIRST", 0},
    {BY_P, DESC("identity", "1"), "", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_RANGE, "p ASC NULLS FIRST, id DESC NULLS LAST", 1},
    /* a mode that the table gives no reason for */
    {"", "", "\"write.distribution-mode\":\"hash\"", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_NONE, "", 0},
    {"", "", "\"write.distribution-mode\":\"range\"", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_NONE, "", 0},
    {"", ASC("identity", "1"), "\"write.distribution-mode\":\"hash\"", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_NONE, "id ASC NULLS FIRST", 0},
    {BY_NOTHING, "", "\"write.distribution-mode\":\"hash\"", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_NONE, "", 0},
    /* options and the session come before the property */
    {BY_P, "", "\"write.distribution-mode\":\"hash\"", {.distribution_mode = {"NONE", 4}}, false, NL_DISTRIBUTE_NONE, "", 0},
    {BY_P, "", "\"write.distribution-mode\":\"hash\"", {.ignores_order = true}, false, NL_DISTRIBUTE_NONE, "", 0},
    /* row-level statements have properties of their own, and hash without them */
    {"", "", "\"write.distribution-mode\":\"none\"", {.verb = NL_WRITE_DELETE}, false, NL_DISTRIBUTE_HASH, "", 0},
    {"", "", "\"write.delete.distribution-mode\":\"range\"", {.verb = NL_WRITE_DELETE}, false, NL_DISTRIBUTE_RANGE, "", 0},
    {BY_P, "", "\"write.update.distribution-mode\":\"none\"", {.verb = NL_WRITE_UPDATE}, true, NL_DISTRIBUTE_NONE, "", 0},
    {BY_P, "", "\"write.distribution-mode\":\"none\"", {.verb = NL_WRITE_MERGE}, false, NL_DISTRIBUTE_HASH, "", 0},
    {"", ASC("identity", "1"), "", {.verb = NL_WRITE_MERGE}, false, NL_DISTRIBUTE_RANGE, "id ASC NULLS FIRST", 0},
    {"", ASC("identity", "1"), "", {.verb = NL_WRITE_MERGE}, true, NL_DISTRIBUTE_HASH, "id ASC NULLS FIRST", 0},
    {"", "", "\"write.merge.distribution-mode\":\"hash\"", {.verb = NL_WRITE_MERGE}, false, NL_DISTRIBUTE_NONE, "", 0},
    /* positions are sorted when they are written: a delta of deletes needs no order */
    {BY_P, ASC("identity", "1"), "", {.verb = NL_WRITE_DELETE}, true, NL_DISTRIBUTE_HASH, "", 0},
    /* without fanout the partitions come one after the other */
    {BY_P, "", "\"write.spark.fanout.enabled\":\"false\"", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_HASH, "p ASC NULLS FIRST", 1},
    {BY_P, "", "\"write.spark.fanout.enabled\":\"false\"", {.fanout = {"true", 4}}, false, NL_DISTRIBUTE_HASH, "", 0},
    {BY_P, "", "", {.fanout = {"perhaps", 7}}, false, NL_DISTRIBUTE_HASH, "p ASC NULLS FIRST", 1},
    /* which fields of the partition an order implies */
    {BY_DAY, ASC("identity", "3"), "", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_RANGE, "ts ASC NULLS FIRST", 0},
    {BY_DAY, ASC("hour", "3"), "", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_RANGE, "hours(ts) ASC NULLS FIRST", 0},
    {BY_DAY, ASC("month", "3"), "", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_RANGE, "days(ts) ASC NULLS FIRST, months(ts) ASC NULLS FIRST", 1},
    {BY_DAY, ASC("identity", "1") "," ASC("identity", "3"), "", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_RANGE,
     "days(ts) ASC NULLS FIRST, id ASC NULLS FIRST, ts ASC NULLS FIRST", 1},
    {BY_P "," BY_DAY, DESC("identity", "2") "," ASC("identity", "3"), "", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_RANGE, "p DESC NULLS LAST, ts ASC NULLS FIRST", 0},
    {BY_P "," BY_DAY, ASC("identity", "3") "," ASC("identity", "2"), "", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_RANGE,
     "p ASC NULLS FIRST, ts ASC NULLS FIRST, p ASC NULLS FIRST", 0},
    {BY_NOTHING, ASC("identity", "1"), "", {.verb = NL_WRITE_INSERT}, false, NL_DISTRIBUTE_RANGE, "id ASC NULLS FIRST", 0},
};

static void test_modes_and_orders_are_chosen_as_iceberg_does(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(choices); i++) {
        const choice *c = &choices[i];
        const nl_table_metadata *metadata = table(arena, c->spec, c->order, c->properties);
        nl_write_layout layout;
        assert_ok(nl_write_layout_choose(arena, metadata, nl_table_spec(metadata), &c->options, c->is_delta, &layout));
        const nl_str keys = layout.order->field_count ? nl_sort_order_describe(arena, layout.order, nl_table_schema(metadata)) : NL_STR("");
        if (layout.mode != c->mode || !nl_str_is(keys, c->keys)) print_error("choice %zu\n", i);
        assert_int_equal(layout.mode, c->mode);
        assert_text(keys, c->keys);
        assert_int_equal(layout.partition_key_count, c->partition_key_count);
        assert_false(layout.checks_clusters);
        nl_table_metadata_release(metadata);
    }
    nl_arena_free(arena);
}

static void test_an_unordered_clustered_write_checks_its_rows(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_write_options options = {.ignores_order = true, .fanout = NL_STR("false")};
    nl_write_layout layout;
    const nl_table_metadata *partitioned = table(arena, BY_P, "", ""), *plain = table(arena, "", "", "");
    assert_ok(nl_write_layout_choose(arena, partitioned, nl_table_spec(partitioned), &options, false, &layout));
    assert_true(layout.checks_clusters);
    assert_ok(nl_write_layout_choose(arena, plain, nl_table_spec(plain), &options, false, &layout));
    assert_false(layout.checks_clusters);
    nl_table_metadata_release(partitioned);
    nl_table_metadata_release(plain);
    nl_arena_free(arena);
}

static void test_an_unknown_mode_is_refused_where_it_counts(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_table_metadata *metadata = table(arena, BY_P, "", "\"write.delete.distribution-mode\":\"sideways\"");
    nl_write_options options = {.verb = NL_WRITE_UPDATE};
    nl_write_layout layout;
    assert_ok(nl_write_layout_choose(arena, metadata, nl_table_spec(metadata), &options, false, &layout));
    options.verb = NL_WRITE_DELETE;
    nl_status status = nl_write_layout_choose(arena, metadata, nl_table_spec(metadata), &options, false, &layout);
    assert_non_null(status);
    assert_non_null(strstr(nl_error_message(status), "Invalid distribution mode: sideways"));
    nl_error_free(status);
    nl_table_metadata_release(metadata);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes_and_orders_are_chosen_as_iceberg_does),
        cmocka_unit_test(test_an_unordered_clustered_write_checks_its_rows),
        cmocka_unit_test(test_an_unknown_mode_is_refused_where_it_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
