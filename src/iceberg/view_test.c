/* iceberg/view_test.c - view metadata: reading, writing, updating. The JSON is what Iceberg 1.10 wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/test_support.h"
#include "iceberg/view.h"

static const char written[] =
    "{\"view-uuid\":\"7efabee6-1a76-4c40-b09f-86ab5b7efa66\",\"format-version\":1,\"location\":\"s3://bucket/db/v\",\"properties\":{\"create_engine_version\":"
    "\"Spark 4.0.1\",\"spark.query-column-names\":\"id\"},\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":0,\"name\":\"id\",\"required\":false,"
    "\"type\":\"int\"}]}],\"current-version-id\":1,\"versions\":[{\"version-id\":1,\"timestamp-ms\":1796040502221,\"schema-id\":0,\"summary\":{\"engine-name\":\"spark\"},"
    "\"default-catalog\":\"spark_catalog\",\"default-namespace\":[\"default\"],\"representations\":[{\"type\":\"sql\",\"sql\":\"SELECT id FROM t\",\"dialect\":\"spark\"}]}],"
    "\"version-log\":[{\"timestamp-ms\":1796040502221,\"version-id\":1}]}";

static const nl_view_metadata *parsed(const char *text)
{
    const nl_view_metadata *view = NULL;
    assert_ok(nl_view_metadata_parse((nl_bytes){(const uint8_t *)text, strlen(text)}, NL_STR("v.json"), NULL, &view));
    return view;
}

static void what_is_read_is_written_again(void **state)
{
    (void)state;
    const nl_view_metadata *view = parsed(written);
    nl_builder text;
    nl_builder_init(&text, 1 << 20);
    nl_view_metadata_append_json(view, &text);
    assert_string_equal(nl_builder_c(&text), written);
    assert_true(nl_str_is(nl_view_representation_of(view, NL_STR("SPARK"))->sql, "SELECT id FROM t"));
    assert_null(nl_view_representation_of(view, NL_STR("trino")));
    nl_builder_fini(&text);
    nl_view_metadata_release(view);
}

static void broken_metadata_names_the_file(void **state)
{
    (void)state;
    static const char *const texts[] = {"{}", "[]", "{\"view-uuid\":1}", "{\"view-uuid\":\"u\",\"format-version\":1,\"location\":\"x\",\"schemas\":[],\"current-version-id\":1,\"versions\":[],\"version-log\":[]}"};
    for (size_t i = 0; i < NL_COUNT(texts); i++) {
        const nl_view_metadata *view = NULL;
        assert_fails(nl_view_metadata_parse((nl_bytes){(const uint8_t *)texts[i], strlen(texts[i])}, NL_STR("v.json"), NULL, &view), NILAS_CORRUPT_FILE, "v.json");
    }
    const nl_view_metadata *view = NULL;
    const char *future = "{\"view-uuid\":\"u\",\"format-version\":2}";
    assert_fails(nl_view_metadata_parse((nl_bytes){(const uint8_t *)future, strlen(future)}, NL_STR("v.json"), NULL, &view), NILAS_UNSUPPORTED, "format version 2");
}

static nl_view_version version_with(const nl_view_representation *text)
{
    static const nl_str scope[] = {NL_STR_INIT("default")};
    return (nl_view_version){.version_id = 1, .timestamp_ms = 5, .schema_id = 0, .default_namespace = scope, .default_namespace_count = 1, .representations = text,
                             .representation_count = 1};
}

static const nl_view_metadata *with_text(const nl_view_metadata *base, const char *sql, const char *dialect, nl_status *status)
{
    const nl_view_representation text = {NL_STR("sql"), nl_str_from(sql), nl_str_from(dialect)};
    const nl_view_version version = version_with(&text);
    const nl_view_update updates[] = {{.kind = NL_VIEW_ADD_VERSION, .version = &version}, {.kind = NL_VIEW_SET_CURRENT_VERSION, .number = -1}};
    const nl_view_metadata *updated = NULL;
    *status = nl_view_metadata_update(base, updates, NL_COUNT(updates), NULL, &updated);
    return updated;
}

/* Java's ViewMetadata keeps the newest ten versions and the log from there on. */
static void history_is_cut_to_ten_versions(void **state)
{
    (void)state;
    const nl_view_metadata *view = parsed(written);
    for (int i = 0; i < 15; i++) {
        char sql[32];
        nl_status status;
        snprintf(sql, sizeof(sql), "SELECT %d", i);
        const nl_view_metadata *next = with_text(view, sql, "spark", &status);
        assert_ok(status);
        nl_view_metadata_release(view);
        view = next;
    }
    assert_int_equal(view->current_version_id, 16);
    assert_int_equal(view->version_count, 10);
    assert_int_equal(view->log_count, 10);
    assert_int_equal(view->log[0].version_id, 7);
    nl_view_metadata_release(view);
}

static void the_same_version_is_not_added_again(void **state)
{
    (void)state;
    nl_status status;
    const nl_view_metadata *first = parsed(written), *second = with_text(first, "SELECT 1", "spark", &status);
    assert_ok(status);
    const nl_view_metadata *third = with_text(second, "SELECT 1", "spark", &status);
    assert_ok(status);
    assert_int_equal(third->version_count, 2);
    assert_int_equal(third->current_version_id, 2);
    nl_view_metadata_release(first);
    nl_view_metadata_release(second);
    nl_view_metadata_release(third);
}

static void another_engines_text_is_not_lost_unasked(void **state)
{
    (void)state;
    nl_status status;
    const nl_view_metadata *view = parsed(written);
    (void)with_text(view, "SELECT 1", "trino", &status);
    assert_fails(status, NILAS_ILLEGAL_ARGUMENT, "loss of view dialects");
    const nl_property allowed = {NL_STR("replace.drop-dialect.allowed"), NL_STR("true")};
    const nl_view_update update = {.kind = NL_VIEW_SET_PROPERTIES, .properties = &allowed, .property_count = 1};
    const nl_view_metadata *open = NULL;
    assert_ok(nl_view_metadata_update(view, &update, 1, NULL, &open));
    const nl_view_metadata *replaced = with_text(open, "SELECT 1", "trino", &status);
    assert_ok(status);
    nl_view_metadata_release(view);
    nl_view_metadata_release(open);
    nl_view_metadata_release(replaced);
}

static void updates_survive_their_json(void **state)
{
    (void)state;
    static const char *const updates[] = {
        "{\"action\":\"assign-uuid\",\"uuid\":\"u\"}",
        "{\"action\":\"upgrade-format-version\",\"format-version\":1}",
        "{\"action\":\"set-location\",\"location\":\"s3://x\"}",
        "{\"action\":\"set-properties\",\"updates\":{\"a\":\"b\"}}",
        "{\"action\":\"remove-properties\",\"removals\":[\"a\"]}",
        "{\"action\":\"set-current-view-version\",\"view-version-id\":-1}",
    };
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(updates); i++) {
        const json_t *json;
        nl_view_update update;
        nl_builder text;
        nl_builder_init(&text, 1 << 16);
        assert_ok(nl_json_parse(arena, nl_str_from(updates[i]), NL_STR("u"), &json));
        assert_ok(nl_view_update_from_json(arena, json, &update));
        nl_view_update_append_json(&update, &text);
        assert_string_equal(nl_builder_c(&text), updates[i]);
        nl_builder_fini(&text);
    }
    const json_t *json;
    nl_view_update update;
    assert_ok(nl_json_parse(arena, NL_STR("{\"action\":\"set-statistics\"}"), NL_STR("u"), &json));
    assert_fails(nl_view_update_from_json(arena, json, &update), NILAS_ILLEGAL_ARGUMENT, "Unknown action: set-statistics");
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_written_again),
        cmocka_unit_test(broken_metadata_names_the_file),
        cmocka_unit_test(history_is_cut_to_ten_versions),
        cmocka_unit_test(the_same_version_is_not_added_again),
        cmocka_unit_test(another_engines_text_is_not_lost_unasked),
        cmocka_unit_test(updates_survive_their_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
