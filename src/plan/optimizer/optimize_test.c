/* What the optimizer makes of queries: the shape of the plan as EXPLAIN prints it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/analyzer/test_plan.h"

static test_session session;

static int set_up(void **state)
{
    (void)state;
    test_session_init(&session);
    test_add_table(&session, "big", "id bigint, k int, v double, s string", 1000000);
    test_add_table(&session, "mid", "id bigint, k int, w int", 10000);
    test_add_table(&session, "tiny", "k int, name string", 10);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_session_fini(&session);
    return 0;
}

static const char *optimized(const char *sql)
{
    nl_error *error = NULL;
    session.context.next_column_id = 1;
    const nl_logical *plan = test_plan(&session, sql, &error);
    if (!error) error = nl_optimize(&session.context, plan, &plan);
    if (error) print_error("%s\n%s\n", sql, nl_error_message(error));
    assert_null(error);
    nl_builder out;
    nl_builder_init(&out, 1u << 20);
    nl_logical_append_text(plan, &out);
    const char *text = nl_str_c(session.arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

static void expect_part(const char *sql, const char *part)
{
    const char *text = optimized(sql);
    if (!strstr(text, part)) print_error("%s\n%s\nlacks: %s\n", sql, text, part);
    assert_non_null(strstr(text, part));
}

static void expect_no_part(const char *sql, const char *part)
{
    const char *text = optimized(sql);
    if (strstr(text, part)) print_error("%s\n%s\nhas: %s\n", sql, text, part);
    assert_null(strstr(text, part));
}

static void test_filters_reach_scans(void **state)
{
    (void)state;
    expect_part("SELECT s FROM big WHERE k > 5", "Relation big[k#2, s#4] filter: (k#2 > 5)");
    expect_part("SELECT * FROM (SELECT id + 1 AS n, k FROM big) WHERE k = 3", "filter: (k#2 = 3)");
    expect_part("SELECT k, count(*) FROM big GROUP BY k HAVING k = 3", "filter: (k#2 = 3)");
    expect_part("SELECT * FROM (SELECT k FROM big UNION ALL SELECT w FROM mid) WHERE k = 3", "filter: (w#7 = 3)");
    expect_part("SELECT k FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY id) r FROM big) WHERE k = 3", "filter: (k#2 = 3)");
    expect_no_part("SELECT k FROM (SELECT k, row_number() OVER (ORDER BY id) r FROM big) WHERE k = 3", "filter:");
}

static void test_a_condition_on_one_join_key_holds_for_the_other(void **state)
{
    (void)state;
    const char *text = optimized("SELECT * FROM big b JOIN mid m ON b.k = m.k WHERE b.k = 7");
    assert_non_null(strstr(text, "filter: (k#2 = 7)"));
    assert_non_null(strstr(text, "filter: (k#6 = 7)"));
}

static void test_outer_joins_that_a_filter_makes_pointless_become_inner(void **state)
{
    (void)state;
    expect_part("SELECT * FROM big b LEFT JOIN mid m ON b.id = m.id WHERE m.w > 1", "Join Inner");
    expect_part("SELECT * FROM big b LEFT JOIN mid m ON b.id = m.id WHERE m.w IS NULL", "Join LeftOuter");
    expect_part("SELECT * FROM big b FULL JOIN mid m ON b.id = m.id WHERE m.w > 1", "Outer");
}

static void test_implicit_joins_find_their_conditions(void **state)
{
    (void)state;
    expect_no_part("SELECT * FROM big b, tiny t, mid m WHERE b.id = m.id AND m.k = t.k", "Cross");
    expect_part("SELECT * FROM big b, mid m WHERE (b.id = m.id AND b.k = 1) OR (b.id = m.id AND b.k = 2)", "Join Inner, (id#1L = id#5L)");
}

static void test_equalities_that_follow_from_others_order_joins(void **state)
{
    (void)state;
    /* mid and tiny are joined first, by an equality that is not written; two of the three conditions are asked. */
    const char *text = optimized("SELECT count(*) FROM mid m, big b, tiny t WHERE m.k = b.k AND b.k = t.k AND t.name = 'x'");
    const char *first = strstr(text, "Join Inner, (k#");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "Join Inner, (k#2 = k#8)"));
    assert_null(strstr(text, " AND (k#"));
    /* Both columns of one relation have to equal the other's. */
    text = optimized("SELECT count(*) FROM mid m, big b WHERE m.k = b.k AND m.w = b.k");
    assert_non_null(strstr(text, " AND "));
}

static void test_the_smaller_side_is_built_from(void **state)
{
    (void)state;
    const char *text = optimized("SELECT * FROM tiny t JOIN big b ON t.k = b.k");
    assert_non_null(strstr(text, ":- Relation big"));
    assert_non_null(strstr(text, "+- Relation tiny"));
    expect_part("SELECT b.s, t.name FROM tiny t LEFT JOIN big b ON t.k = b.k", "Join RightOuter");
}

static void test_unread_columns_are_not_scanned(void **state)
{
    (void)state;
    expect_part("SELECT count(*) FROM big", "Relation big[]");
    expect_part("SELECT k FROM (SELECT *, v * 2 AS x FROM big)", "Relation big[k#2]");
    expect_part("SELECT a.k FROM big a JOIN mid b ON a.id = b.id", "Relation mid[id#5L]");
}

static void test_correlated_subqueries_become_joins(void **state)
{
    (void)state;
    expect_part("SELECT s FROM big b WHERE EXISTS (SELECT 1 FROM mid m WHERE m.id = b.id)", "Join LeftSemi, (id#5L = id#1L)");
    expect_part("SELECT s FROM big b WHERE NOT EXISTS (SELECT 1 FROM mid m WHERE m.id = b.id)", "Join LeftAnti");
    expect_part("SELECT s FROM big b WHERE id IN (SELECT id FROM mid)", "Join LeftSemi");
    expect_part("SELECT s FROM big b WHERE id NOT IN (SELECT id FROM mid)", "NullAwareLeftAnti");
    expect_part("SELECT s, EXISTS (SELECT 1 FROM mid m WHERE m.id = b.id) FROM big b", "ExistenceJoin");
    expect_part("SELECT s, (SELECT max(w) FROM mid m WHERE m.id = b.id) FROM big b", "Join LeftOuter");
    expect_part("SELECT s FROM big b WHERE v > (SELECT avg(w) FROM mid m WHERE m.id = b.id)", "Join Inner");
    expect_no_part("SELECT s, (SELECT count(*) FROM mid m WHERE m.w > b.k) FROM big b", "outer(");
    expect_no_part("SELECT * FROM big b, LATERAL (SELECT w FROM mid m WHERE m.id = b.id ORDER BY w LIMIT 2)", "Lateral");
}

static void test_uncorrelated_scalar_subqueries_stay(void **state)
{
    (void)state;
    expect_part("SELECT s FROM big WHERE v > (SELECT max(w) FROM mid)", "scalar-subquery");
}

static void test_set_operations_are_joins_and_aggregations(void **state)
{
    (void)state;
    expect_part("SELECT k FROM big INTERSECT SELECT k FROM mid", "Join LeftSemi, (k#2 <=> k#6)");
    expect_part("SELECT k FROM big EXCEPT SELECT k FROM mid", "Join LeftAnti");
    expect_part("SELECT k FROM big UNION SELECT k FROM mid", "Aggregate");
    expect_part("SELECT DISTINCT k FROM big", "Aggregate [k#2], []");
}

static void test_limits_move_down(void **state)
{
    (void)state;
    expect_part("SELECT k FROM big LIMIT 5", "limit: 5");
    expect_part("SELECT k FROM (SELECT k FROM big ORDER BY k LIMIT 10) LIMIT 5", "Limit 5");
    expect_part("SELECT k FROM big LIMIT 0", "LocalRelation <empty>");
}

static void test_empty_relations_take_their_surroundings(void **state)
{
    (void)state;
    expect_no_part("SELECT * FROM big b JOIN (SELECT * FROM mid WHERE false) m ON b.id = m.id", "Join");
    expect_no_part("SELECT * FROM big b LEFT JOIN (SELECT * FROM mid WHERE false) m ON b.id = m.id", "Join");
    expect_part("SELECT count(*) FROM big WHERE false", "Aggregate");
}

static void test_definitions_used_twice_are_computed_once(void **state)
{
    (void)state;
    expect_part("WITH c AS (SELECT k, sum(v) s FROM big GROUP BY k) SELECT * FROM c a JOIN c b ON a.k = b.k", "WithCTE");
    expect_no_part("WITH c AS (SELECT k, sum(v) s FROM big GROUP BY k) SELECT * FROM c", "CTE");
    expect_no_part("WITH c AS (SELECT k FROM big WHERE v > 0) SELECT * FROM c a JOIN c b ON a.k = b.k", "CTE");
}

static void test_columns_equal_by_others_join_their_relations(void **state)
{
    (void)state;
    /* no row of b is paired with every row of c although only a names both */
    expect_no_part("WITH y AS (SELECT k, w, sum(id) s FROM mid GROUP BY k, w) SELECT a.s FROM y a, y b, y c "
                   "WHERE a.k = b.k AND a.k = c.k AND a.w = 1 AND b.w = 2 AND c.w = 3 AND b.s / a.s > c.s / a.s",
                   "Cross");
    expect_no_part("SELECT t1.name FROM big a JOIN tiny t1 ON a.k = t1.k JOIN mid m ON m.k = t1.k JOIN mid n ON n.k = m.k AND n.id = a.id", "Cross");
    /* one equality is enough where two say the same */
    expect_no_part("SELECT 1 FROM tiny a JOIN tiny b ON a.k = b.k JOIN tiny c ON a.k = c.k AND b.k = c.k", " AND ");
}

static void test_nothing_is_multiplied_without_need(void **state)
{
    (void)state;
    expect_no_part("SELECT 1 FROM big a, mid b, mid c WHERE a.id = b.id AND a.k = c.k AND b.w = 1 AND c.w = 2", "Cross");
    expect_part("SELECT 1 FROM mid a, mid b", "Cross");
    expect_part("SELECT 1 FROM mid a, mid b, mid c WHERE a.id = b.id + c.id", "Cross");
}

static void test_definitions_hold_what_some_use_asks_for(void **state)
{
    (void)state;
    expect_part("WITH c AS (SELECT k, sum(v) s FROM big GROUP BY k) SELECT * FROM c a JOIN c b ON a.s = b.s WHERE a.k = 1 AND b.k = 2",
                "filter: ((k#2 = 1) OR (k#2 = 2))");
    /* a part of an alternative goes below the aggregation, the whole stays */
    const char *parts = "WITH c AS (SELECT k, sum(v) s FROM big GROUP BY k) SELECT * FROM c a, c b WHERE a.k = 1 AND a.s > 0D AND b.k = 2";
    expect_part(parts, "filter: ((k#2 = 1) OR (k#2 = 2))");
    expect_part(parts, "Filter (((k#2 = 1) AND (");
    /* what could fail stays above, the rest of its alternative need not */
    expect_part("WITH c AS (SELECT k, sum(v) s FROM big GROUP BY k) SELECT * FROM c a, c b WHERE a.k = 1 AND cast(a.s AS int) > 0 AND b.k = 2",
                "filter: ((k#2 = 1) OR (k#2 = 2))");
    /* constants tell the branches of a union apart */
    expect_part("WITH c AS (SELECT 'a' t, k, sum(v) s FROM big GROUP BY k UNION ALL SELECT 'b', k, sum(w) FROM mid GROUP BY k) "
                "SELECT * FROM c a JOIN c b ON a.s = b.s WHERE a.t = 'a' AND a.k = 1 AND b.t = 'b' AND b.k = 2",
                "filter: (((a = a) AND (k#2 = 1)) OR ((a = b) AND (k#2 = 2)))");
    expect_no_part("WITH c AS (SELECT k, sum(v) s FROM big GROUP BY k) SELECT * FROM c a JOIN c b ON a.s = b.s WHERE a.k = 1", "OR");
    expect_no_part("WITH c AS (SELECT k, sum(v) s FROM big GROUP BY k) SELECT * FROM c a, c b WHERE a.k = 1 AND b.k = 2 "
                   "AND (SELECT max(s) FROM c) > 1", "OR");
}

static void test_definitions_keep_the_columns_that_are_read(void **state)
{
    (void)state;
    const char *narrow = "WITH c AS (SELECT k, sum(v) s, max(s) m, min(id) i FROM big GROUP BY k) SELECT a.s, b.k FROM c a JOIN c b ON a.k = b.k";
    expect_part(narrow, "[sum(v#3)]");
    expect_part(narrow, "[k#2, v#3]"); /* the scan reads no others */
    expect_part("WITH c AS (SELECT k, sum(v) s, max(s) m, min(id) i FROM big GROUP BY k) SELECT a.s, b.i FROM c a JOIN c b ON a.k = b.k", "[sum(v#3), min(id#1L)]");
    /* subqueries in expressions are optimized by themselves: what they read stays as it was */
    expect_part("WITH c AS (SELECT k, sum(v) s, max(s) m FROM big GROUP BY k) SELECT s, (SELECT max(m) FROM c) FROM c", "max(s#4)");
    /* definitions of which one uses the other */
    expect_no_part("WITH c AS (SELECT k, sum(v) s, max(s) m, min(id) i FROM big GROUP BY k), d AS (SELECT a.k x, b.s y, a.i z FROM c a JOIN c b ON a.k = b.k) "
                   "SELECT p.x, q.y FROM d p JOIN d q ON p.x = q.x",
                   "max(s#4)");
}

static void test_every_rule_may_be_off(void **state)
{
    (void)state;
    for (uint32_t bit = 0; bit < 64; bit++) {
        session.context.disabled_rules = 1ull << bit;
        expect_no_part("SELECT b.s, count(*) FROM big b, mid m WHERE b.id = m.id AND b.k IN (SELECT k FROM tiny) GROUP BY b.s", "in-subquery");
    }
    session.context.disabled_rules = ~0ull;
    expect_no_part("SELECT s FROM big b WHERE EXISTS (SELECT 1 FROM mid m WHERE m.id = b.id)", "exists(");
    session.context.disabled_rules = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters_reach_scans),
        cmocka_unit_test(test_a_condition_on_one_join_key_holds_for_the_other),
        cmocka_unit_test(test_outer_joins_that_a_filter_makes_pointless_become_inner),
        cmocka_unit_test(test_implicit_joins_find_their_conditions),
        cmocka_unit_test(test_equalities_that_follow_from_others_order_joins),
        cmocka_unit_test(test_the_smaller_side_is_built_from),
        cmocka_unit_test(test_unread_columns_are_not_scanned),
        cmocka_unit_test(test_correlated_subqueries_become_joins),
        cmocka_unit_test(test_uncorrelated_scalar_subqueries_stay),
        cmocka_unit_test(test_set_operations_are_joins_and_aggregations),
        cmocka_unit_test(test_limits_move_down),
        cmocka_unit_test(test_empty_relations_take_their_surroundings),
        cmocka_unit_test(test_definitions_used_twice_are_computed_once),
        cmocka_unit_test(test_columns_equal_by_others_join_their_relations),
        cmocka_unit_test(test_nothing_is_multiplied_without_need),
        cmocka_unit_test(test_definitions_hold_what_some_use_asks_for),
        cmocka_unit_test(test_definitions_keep_the_columns_that_are_read),
        cmocka_unit_test(test_every_rule_may_be_off),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
