/* Which queries a cache may answer with the rows of another one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/analyzer/test_plan.h"

static const struct {
    const char *a, *b;
    bool is_same;
} pairs[] = {
    {"SELECT x FROM t", "SELECT x FROM t", true},
    {"SELECT x FROM t", "SELECT x AS other FROM t", true}, /* names do not count */
    {"SELECT x FROM t", "SELECT s.x FROM (SELECT * FROM t) s", false},
    {"SELECT x FROM t", "SELECT y FROM t", false},
    {"SELECT x FROM t", "SELECT x FROM u", false},
    {"SELECT x, y FROM t", "SELECT y, x FROM t", false},
    {"SELECT x + y FROM t", "SELECT y + x FROM t", true},
    {"SELECT x FROM t WHERE x > 1", "SELECT x FROM t WHERE 1 < x", true},
    {"SELECT x FROM t WHERE x > 1", "SELECT x FROM t WHERE x > 2", false},
    {"SELECT x FROM t WHERE x > 1", "SELECT x FROM t WHERE y > 1", false},
    {"SELECT x, sum(y) FROM t GROUP BY x", "SELECT x, sum(y) FROM t GROUP BY x", true},
    {"SELECT x, sum(y) FROM t GROUP BY x", "SELECT x, max(y) FROM t GROUP BY x", false},
    {"SELECT x, count(DISTINCT y) FROM t GROUP BY x", "SELECT x, count(y) FROM t GROUP BY x", false},
    {"SELECT a.x FROM t a JOIN u b ON a.x = b.x", "SELECT c.x FROM t c JOIN u d ON c.x = d.x", true},
    {"SELECT a.x FROM t a JOIN t b ON a.x = b.y", "SELECT b.x FROM t a JOIN t b ON a.x = b.y", false},
    {"SELECT a.x FROM t a JOIN u b ON a.x = b.x", "SELECT a.x FROM t a LEFT JOIN u b ON a.x = b.x", false},
    {"SELECT x FROM t ORDER BY x", "SELECT x FROM t ORDER BY x DESC", false},
    {"SELECT x FROM t LIMIT 3", "SELECT x FROM t LIMIT 4", false},
    {"SELECT x FROM t UNION ALL SELECT x FROM u", "SELECT x FROM t UNION ALL SELECT x FROM u", true},
    {"SELECT x FROM t UNION ALL SELECT x FROM u", "SELECT x FROM t UNION SELECT x FROM u", false},
    {"SELECT x, rank() OVER (PARTITION BY y ORDER BY x) FROM t", "SELECT x, rank() OVER (PARTITION BY y ORDER BY x) FROM t", true},
    {"SELECT x, rank() OVER (PARTITION BY y ORDER BY x) FROM t", "SELECT x, rank() OVER (ORDER BY x) FROM t", false},
    {"SELECT x FROM t WHERE x IN (SELECT x FROM u)", "SELECT x FROM t WHERE x IN (SELECT x FROM u)", true},
    {"SELECT x FROM t WHERE x IN (SELECT x FROM u)", "SELECT x FROM t WHERE x IN (SELECT x FROM u WHERE x > 1)", false},
    {"SELECT x, (SELECT max(y) FROM u WHERE u.x = t.x) FROM t", "SELECT x, (SELECT max(y) FROM u WHERE u.x = t.x) FROM t", true},
    {"SELECT transform(array(x), e -> e + 1) FROM t", "SELECT transform(array(x), f -> f + 1) FROM t", true},
    {"SELECT transform(array(x), e -> e + 1) FROM t", "SELECT transform(array(x), e -> e + 2) FROM t", false},
    {"WITH c AS (SELECT x FROM t) SELECT * FROM c a, c b", "WITH d AS (SELECT x FROM t) SELECT * FROM d a, d b", true},
    {"SELECT rand(3) FROM t", "SELECT rand(3) FROM t", true},
    {"SELECT rand(3) FROM t", "SELECT rand(4) FROM t", false},
    {"VALUES (1), (2)", "VALUES (1), (2)", true},
    {"VALUES (1), (2)", "VALUES (1), (3)", false},
    {"SELECT explode(array(x)) FROM t", "SELECT explode(array(y)) FROM t", false},
    {"SELECT DISTINCT x FROM t", "SELECT x FROM t", false},
};

static const nl_logical *plan_of(test_session *session, const char *sql)
{
    nl_error *error = NULL;
    const nl_logical *plan = test_plan(session, sql, &error);
    if (error) print_error("%s: %s\n", sql, nl_error_message(error));
    assert_null(error);
    return plan;
}

/* Two statements' plans have ids of their own: here they go on counting. */
static void test_plans_are_the_same_when_they_give_the_same_rows(void **state)
{
    test_session session;
    (void)state;
    test_session_init(&session);
    test_add_table(&session, "t", "x INT, y INT", 10);
    test_add_table(&session, "u", "x INT, y INT", 10);
    for (uint32_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const nl_logical *a = plan_of(&session, pairs[i].a), *b = plan_of(&session, pairs[i].b);
        const bool is_same = nl_logical_same(a, b);
        if (is_same != pairs[i].is_same) print_error("%s | %s: %s\n", pairs[i].a, pairs[i].b, is_same ? "the same" : "not the same");
        assert_int_equal(is_same, pairs[i].is_same);
        assert_int_equal(nl_logical_same(b, a), pairs[i].is_same);
        if (is_same) assert_true(nl_logical_same_hash(a) == nl_logical_same_hash(b));
    }
    test_session_fini(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans_are_the_same_when_they_give_the_same_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
