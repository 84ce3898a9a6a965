#include "base/test_support.h"
#include "session/session_private.h"

static nl_session *open_session(const nl_property *confs, uint32_t count)
{
    nl_session *session = NULL;
    assert_ok(nl_session_new(confs, count, &session));
    return session;
}

static void test_rows_are_sorted_and_complete(void **state)
{
    (void)state;
    static const char *const types[] = {"boolean", "int", "string", "time", "bytes", "enum"};
    const nl_conf_row *row, *before = NULL;
    for (uint32_t i = 0; (row = nl_conf_at(i)) != NULL; before = row, i++) {
        bool has_type = false;
        for (size_t j = 0; j < NL_COUNT(types); j++)
            has_type = has_type || strcmp(row->type, types[j]) == 0;
        assert_true(has_type);
        assert_true(strlen(row->doc) > 0 && strlen(row->since) > 0);
        if (before) assert_true(strcmp(before->key, row->key) < 0);
        assert_ptr_equal(nl_conf_find(nl_str_from(row->key)), row);
    }
}

static void test_values_come_from_the_session_then_from_the_start_then_from_the_default(void **state)
{
    (void)state;
    const nl_property confs[] = {{NL_STR("spark.sql.shuffle.partitions"), NL_STR("7")}, {NL_STR("my.key"), NL_STR("x")}};
    nl_session *session = open_session(confs, 2);
    assert_text(nl_session_get(session, NL_STR("spark.sql.shuffle.partitions")), "7");
    assert_ok(nl_session_set(session, NL_STR("spark.sql.shuffle.partitions"), NL_STR("9")));
    assert_int_equal(nl_session_get_int(session, "spark.sql.shuffle.partitions"), 9);
    assert_ok(nl_session_unset(session, NL_STR("spark.sql.shuffle.partitions")));
    assert_text(nl_session_get(session, NL_STR("spark.sql.shuffle.partitions")), "7");
    assert_text(nl_session_get(session, NL_STR("my.key")), "x");
    assert_null(nl_session_get(session, NL_STR("no.such.key")).data);
    assert_true(nl_session_get_bool(session, "spark.sql.ansi.enabled"));
    assert_ok(nl_session_set(session, NL_STR("spark.sql.ansi.enabled"), NL_STR("FALSE")));
    assert_false(nl_session_get_bool(session, "spark.sql.ansi.enabled"));
    nl_session_free(session);
}

static void test_wrong_values_and_static_keys_are_refused(void **state)
{
    (void)state;
    nl_session *session = open_session(NULL, 0);
    assert_fails(nl_session_set(session, NL_STR("spark.sql.ansi.enabled"), NL_STR("maybe")), NILAS_ILLEGAL_ARGUMENT, "spark.sql.ansi.enabled should be boolean, but was maybe");
    assert_fails(nl_session_set(session, NL_STR("spark.sql.shuffle.partitions"), NL_STR("many")), NILAS_ILLEGAL_ARGUMENT, "should be int");
    assert_fails(nl_session_set(session, NL_STR("spark.sql.session.timeZone"), NL_STR("Mars/Olympus")), INVALID_CONF_VALUE__TIME_ZONE, "Mars/Olympus");
    assert_fails(nl_session_set(session, NL_STR("spark.sql.legacy.timeParserPolicy"), NL_STR("EXCEPTION")), NILAS_UNSUPPORTED, "has CORRECTED and LEGACY, not EXCEPTION");
    assert_ok(nl_session_set(session, NL_STR("spark.sql.timestampType"), NL_STR("TIMESTAMP_NTZ")));
    assert_ok(nl_session_set(session, NL_STR("spark.sql.timestampType"), NL_STR("timestamp_ltz")));
    assert_fails(nl_session_set(session, NL_STR("spark.sql.warehouse.dir"), NL_STR("/x")), CANNOT_MODIFY_CONFIG, "spark.sql.warehouse.dir");
    nl_session_free(session);
    const nl_property wrong = {NL_STR("spark.sql.ansi.enabled"), NL_STR("maybe")};
    assert_fails(nl_session_new(&wrong, 1, &session), NILAS_ILLEGAL_ARGUMENT, "maybe");
}

static void test_the_time_zone_follows_its_key(void **state)
{
    (void)state;
    const nl_property conf = {NL_STR("spark.sql.session.timeZone"), NL_STR("Europe/Berlin")};
    nl_session *session = open_session(&conf, 1);
    assert_text(nl_timezone_name(nl_session_zone(session)), "Europe/Berlin");
    assert_ok(nl_session_set(session, conf.key, NL_STR("America/New_York")));
    assert_text(nl_timezone_name(nl_session_zone(session)), "America/New_York");
    assert_ok(nl_session_unset(session, conf.key));
    assert_text(nl_timezone_name(nl_session_zone(session)), "Europe/Berlin");
    nl_session_free(session);
}

static void test_lists_are_sorted_by_key(void **state)
{
    (void)state;
    const nl_property confs[] = {{NL_STR("c"), NL_STR("1")}, {NL_STR("a"), NL_STR("2")}, {NL_STR("b"), NL_STR("")}, {NL_STR("a"), NL_STR("3")}};
    nl_session *session = open_session(confs, 4);
    nl_arena *arena = nl_arena_new(NULL);
    const nl_property *list;
    uint32_t count;
    nl_session_list(session, arena, &list, &count);
    assert_int_equal(count, 3);
    assert_text(list[0].key, "a");
    assert_text(list[0].value, "3");
    assert_text(list[1].key, "b");
    assert_text(list[1].value, "");
    assert_text(list[2].key, "c");
    nl_arena_free(arena);
    nl_session_free(session);
}

static void test_sizes_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes; /* -1: refused */
    } sizes[] = {{"1", 1}, {"1b", 1}, {"2k", 2048}, {"2KB", 2048}, {" 3m ", 3 << 20}, {"4g", 4ll << 30}, {"1t", 1ll << 40},
                 {"", -1}, {"g", -1}, {"1x", -1}, {"-1", -1}, {"1.5g", -1}, {"99999999999t", -1}, {"99999999999999999999", -1}};
    for (size_t i = 0; i < NL_COUNT(sizes); i++) {
        int64_t bytes = -1;
        const bool is_right = nl_conf_parse_bytes(nl_str_from(sizes[i].text), &bytes);
        assert_int_equal(is_right, sizes[i].bytes >= 0);
        assert_int_equal(bytes, sizes[i].bytes);
    }
}

static void test_slips_of_the_finger_are_known(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    assert_true(nl_conf_is_known(NL_STR("spark.sql.ansi.enabled")));
    assert_true(nl_conf_is_known(NL_STR("spark.sql.catalog.lake")));
    assert_true(nl_conf_is_known(NL_STR("spark.sql.catalog.lake.warehouse")));
    assert_true(nl_conf_is_known(NL_STR("spark.sql.catalog.lake.table-default.write.format.default")));
    assert_false(nl_conf_is_known(NL_STR("spark.sql.catalog.lake.warehous")));
    assert_false(nl_conf_is_known(NL_STR("spark.my.key")));
    assert_true(nl_conf_is_known(NL_STR("spark.sql.adaptive.coalescePartitions.enabled")));
    assert_false(nl_conf_is_known(NL_STR("spark.sql.legacy.allowHashOnMapType")));
    assert_text(nl_conf_nearest(arena, NL_STR("spark.sql.ansi.enable")), "spark.sql.ansi.enabled");
    assert_text(nl_conf_nearest(arena, NL_STR("spark.sql.catalog.lake.warehous")), "spark.sql.catalog.lake.warehouse");
    assert_text(nl_conf_nearest(arena, NL_STR("spark.sql.catalog.lake.tpye")), "spark.sql.catalog.lake.type");
    assert_int_equal(nl_conf_nearest(arena, NL_STR("spark.my.own.setting")).length, 0);
    nl_arena_free(arena);
}

static void test_sizes_and_times_have_units(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes, millis;
    } rows[] = {{"5", 5, 5}, {"2m", 2 << 20, 120000}, {"100ms", 0, 100}, {"1g", 1 << 30, 0}, {"3s", 0, 3000}, {"", 0, 0}, {"x", 0, 0}};
    (void)state;
    nl_session *session = NULL;
    assert_null(nl_session_new(NULL, 0, &session));
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        assert_null(nl_session_set(session, NL_STR("my.value"), nl_str_from(rows[i].text)));
        assert_int_equal(nl_session_get_bytes(session, "my.value"), rows[i].bytes);
        assert_int_equal(nl_session_get_millis(session, "my.value"), rows[i].millis);
    }
    assert_int_equal(nl_session_get_bytes(session, "spark.connect.execute.reattachable.senderMaxStreamSize"), 1 << 30);
    nl_session_free(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_sorted_and_complete),
        cmocka_unit_test(test_values_come_from_the_session_then_from_the_start_then_from_the_default),
        cmocka_unit_test(test_wrong_values_and_static_keys_are_refused),
        cmocka_unit_test(test_the_time_zone_follows_its_key),
        cmocka_unit_test(test_lists_are_sorted_by_key),
        cmocka_unit_test(test_sizes_have_units),
        cmocka_unit_test(test_sizes_and_times_have_units),
        cmocka_unit_test(test_slips_of_the_finger_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
