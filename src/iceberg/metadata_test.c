/* iceberg/metadata_test.c - reading and writing table metadata. Fixtures are metadata files as real Spark wrote them. */
#include "base/test_support.h"

#include "format/codec/codec.h"
#include "iceberg/metadata.h"

static nl_str gunzip(nl_arena *arena, nl_bytes content)
{
    nl_codec_context *codecs = nl_codec_context_new(NULL);
    nl_buffer *plain = NULL;
    const char *problem = NULL;
    assert_ok(nl_codec_decompress_grow(codecs, NL_CODEC_GZIP, content, 1u << 20, NULL, &plain, &problem));
    assert_null(problem);
    const nl_str text = nl_arena_str(arena, (nl_str){(const char *)plain->data, plain->size_bytes});
    nl_buffer_release(plain);
    nl_codec_context_free(codecs);
    return text;
}

static void test_what_java_wrote_is_written_again_byte_for_byte(void **state)
{
    (void)state;
    static const char *const names[] = {"v1/v5.metadata.json", "v2/v1.metadata.json",    "v2/v10.metadata.json",
                                        "v3/v6.gz.metadata.json", "types/v3.metadata.json", "trans/v2.metadata.json"};
    for (size_t i = 0; i < NL_COUNT(names); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        const nl_bytes content = read_fixture(arena, nl_str_c(arena, nl_arena_f(arena, "iceberg/%s", names[i])));
        const bool is_gzip = content.data[0] == 0x1f;
        const nl_str expected = is_gzip ? gunzip(arena, content) : (nl_str){(const char *)content.data, content.length};
        const nl_table_metadata *metadata;
        assert_ok(nl_table_metadata_parse(content, nl_str_from(names[i]), NULL, &metadata));
        nl_builder text;
        nl_builder_init(&text, 1u << 24);
        nl_table_metadata_append_json(metadata, &text);
        assert_text(nl_builder_str(&text), expected.data);
        nl_builder_fini(&text);
        nl_table_metadata_release(metadata);
        nl_arena_free(arena);
    }
}

static void test_lookups_of_a_real_table(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_table_metadata *metadata;
    assert_ok(nl_table_metadata_parse(read_fixture(arena, "iceberg/v2/v10.metadata.json"), NL_STR("m"), NULL, &metadata));
    assert_int_equal(metadata->format_version, 2);
    assert_int_equal(nl_table_schema(metadata)->schema_id, 1);
    assert_int_equal(nl_table_schema(metadata)->root->field_count, 9);
    assert_int_equal(nl_table_spec(metadata)->field_count, 3);
    assert_text(nl_table_spec(metadata)->fields[2].name, "id_bucket_8");
    assert_int_equal(nl_table_sort_order(metadata)->order_id, 1);
    assert_text(nl_sort_order_describe(arena, nl_table_sort_order(metadata), nl_table_schema(metadata)),
                "id DESC NULLS LAST, bucket(4, s) ASC NULLS FIRST");
    assert_non_null(nl_table_current_snapshot(metadata));
    assert_text(nl_table_current_snapshot(metadata)->operation, "append");
    assert_text(nl_snapshot_summary(nl_table_current_snapshot(metadata), "added-records"), "4");
    assert_null(nl_table_snapshot(metadata, 1));
    assert_true(nl_table_ref(metadata, NL_STR("t1"))->is_tag);
    assert_int_equal(nl_table_ref(metadata, NL_STR("t1"))->max_ref_age_ms, 864000000);
    assert_text(nl_table_property(metadata, "write.delete.mode", NULL), "merge-on-read");
    assert_null(nl_table_property(metadata, "nothing", NULL).data);
    assert_int_equal(nl_table_snapshot_schema(metadata, &metadata->snapshots[0])->schema_id, 0);
    const nl_schema_column *column = nl_schema_find_name(nl_table_schema(metadata), NL_STR("ST.B.C"), false);
    assert_non_null(column);
    assert_text(column->full_name, "st.b.element.c");
    nl_table_metadata_release(metadata);
    nl_arena_free(arena);
}

static void test_keys_from_the_future_survive(void **state)
{
    (void)state;
    static const char json[] =
        "{\"format-version\":2,\"table-uuid\":\"u\",\"location\":\"/t\",\"last-sequence-number\":1,\"last-updated-ms\":5,\"last-column-id\":1,"
        "\"current-schema-id\":0,\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":[],\"new-schema-key\":[1]}],"
        "\"default-spec-id\":0,\"partition-specs\":[{\"spec-id\":0,\"fields\":[]}],\"last-partition-id\":999,\"default-sort-order-id\":0,"
        "\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],\"properties\":{},\"current-snapshot-id\":9007199254740993,"
        "\"refs\":{\"main\":{\"snapshot-id\":9007199254740993,\"type\":\"branch\"}},"
        "\"snapshots\":[{\"sequence-number\":1,\"snapshot-id\":9007199254740993,\"timestamp-ms\":5,"
        "\"summary\":{\"operation\":\"append\"},\"manifest-list\":\"/l\",\"new-snapshot-key\":{\"a\":null}}],"
        "\"statistics\":[],\"partition-statistics\":[],\"snapshot-log\":[],\"metadata-log\":[],\"new-key\":9223372036854775807}";
    const nl_table_metadata *metadata;
    assert_ok(nl_table_metadata_parse((nl_bytes){(const uint8_t *)json, sizeof(json) - 1}, NL_STR("m"), NULL, &metadata));
    assert_true(metadata->current_snapshot_id == 9007199254740993ll);
    nl_builder text;
    nl_builder_init(&text, 1u << 20);
    nl_table_metadata_append_json(metadata, &text);
    assert_text(nl_builder_str(&text), json);
    nl_builder_fini(&text);
    nl_table_metadata_release(metadata);
}

static void test_gzip_metadata_is_read_back(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_table_metadata *metadata;
    const nl_table_metadata *again;
    nl_buffer *content;
    assert_ok(nl_table_metadata_parse(read_fixture(arena, "iceberg/v3/v6.gz.metadata.json"), NL_STR("m"), NULL, &metadata));
    assert_true(nl_table_metadata_wants_gzip(metadata));
    assert_ok(nl_table_metadata_encode(metadata, true, NULL, &content));
    assert_int_equal(content->data[0], 0x1f);
    assert_ok(nl_table_metadata_parse((nl_bytes){content->data, content->size_bytes}, NL_STR("n"), NULL, &again));
    assert_int_equal(again->next_row_id, metadata->next_row_id);
    assert_true(again->next_row_id > 0);
    nl_buffer_release(content);
    nl_table_metadata_release(metadata);
    nl_table_metadata_release(again);
    nl_arena_free(arena);
}

static void test_an_empty_table_may_say_so_in_three_ways(void **state)
{
    (void)state;
    static const char *const forms[] = {"", "\"current-snapshot-id\":null,", "\"current-snapshot-id\":-1,"};
    for (size_t i = 0; i < NL_COUNT(forms); i++) {
        char json[1024];
        const int length = snprintf(json, sizeof(json),
                                    "{\"format-version\":1,\"location\":\"/t\",%s\"last-updated-ms\":5,\"last-column-id\":1,"
                                    "\"schema\":{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"int\"}]},"
                                    "\"partition-spec\":[{\"source-id\":1,\"name\":\"a\",\"transform\":\"identity\"}]}",
                                    forms[i]);
        const nl_table_metadata *metadata;
        assert_ok(nl_table_metadata_parse((nl_bytes){(const uint8_t *)json, (size_t)length}, NL_STR("m"), NULL, &metadata));
        assert_int_equal(metadata->current_snapshot_id, NL_NONE);
        assert_int_equal(nl_table_spec(metadata)->fields[0].field_id, 1000);
        assert_int_equal(metadata->last_partition_id, 1000);
        assert_int_equal(nl_table_sort_order(metadata)->field_count, 0);
        nl_table_metadata_release(metadata);
    }
}

static void test_damaged_metadata_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *from;
        const char *to;
        const char *message;
    } rows[] = {
        {"\"format-version\":2", "\"format-version\":\"2\"", "format-version is not an integer"},
        {"\"format-version\":2", "\"format-version\":0", "format-version is 0"},
        {"\"current-schema-id\":1", "\"current-schema-id\":7", "Cannot find schema with current-schema-id=7"},
        {"\"default-spec-id\":1", "\"default-spec-id\":9", "default-spec-id=9"},
        {"\"last-column-id\"", "\"lost-column-id\"", "the required key last-column-id is missing"},
        {"\"transform\":\"bucket[8]\"", "\"transform\":\"bucket[0]\"", "Invalid number of buckets"},
        {"decimal(20, 2)", "decimal(99, 2)", "Cannot parse type string"},
        {"{\"format-version\"", "{{\"format-version\"", "damaged at byte"},
    };
    nl_arena *arena = nl_arena_new(NULL);
    const nl_bytes content = read_fixture(arena, "iceberg/v2/v10.metadata.json");
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_str text = {(const char *)content.data, content.length};
        const size_t at = nl_str_find(text, nl_str_from(rows[i].from), 0);
        assert_true(at != NL_NOT_FOUND);
        const nl_str changed = nl_arena_f(arena, "%.*s%s%s", (int)at, text.data, rows[i].to, text.data + at + strlen(rows[i].from));
        const nl_table_metadata *metadata;
        nl_status status =
            nl_table_metadata_parse((nl_bytes){(const uint8_t *)changed.data, changed.length}, NL_STR("/w/m.json"), NULL, &metadata);
        assert_non_null(status);
        if (!strstr(nl_error_message(status), rows[i].message)) fail_msg("row %zu: %s", i, nl_error_message(status));
        nl_error_free(status);
    }
    nl_arena_free(arena);
}

static void test_a_version_from_the_future_is_refused(void **state)
{
    (void)state;
    static const char json[] = "{\"format-version\":4}";
    const nl_table_metadata *metadata;
    assert_fails(nl_table_metadata_parse((nl_bytes){(const uint8_t *)json, sizeof(json) - 1}, NL_STR("m"), NULL, &metadata), NILAS_UNSUPPORTED,
                 "Cannot read unsupported version 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_java_wrote_is_written_again_byte_for_byte),
        cmocka_unit_test(test_lookups_of_a_real_table),
        cmocka_unit_test(test_keys_from_the_future_survive),
        cmocka_unit_test(test_gzip_metadata_is_read_back),
        cmocka_unit_test(test_an_empty_table_may_say_so_in_three_ways),
        cmocka_unit_test(test_damaged_metadata_is_refused_by_name),
        cmocka_unit_test(test_a_version_from_the_future_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
