/* lakehouse/dialect_test.c - Trino's texts and what the engine is given for them. */
#include "lakehouse/dialect.h"

#include "base/test_support.h"

static void texts_become_the_engines(void **state)
{
    (void)state;
    static const struct {
        const char *trino, *engine;
    } rows[] = {
        /* literals, names, comments */
        {"SELECT 'it''s a \\ b', \"a \"\"b`\" -- 'x'' \"y\"", "SELECT 'it\\'s a \\\\ b', `a \"b``` -- 'x'' \"y\""},
        {"SELECT '' /* it's */ FROM t", "SELECT '' /* it's */ FROM t"},
        {"SELECT 'open", "SELECT 'open"},
        {"SELECT * FROM \"sales\".\"orders$snapshots\"", "SELECT * FROM `sales`.`orders`.`snapshots`"},
        {"SELECT \"a$b\"", "SELECT `a$b`"},
        /* types */
        {"CAST(x AS varchar)", "CAST(x AS STRING)"},
        {"CAST(x AS VARCHAR(10))", "CAST(x AS VARCHAR(10))"},
        {"CAST(x AS timestamp(6) with time zone)", "CAST(x AS TIMESTAMP)"},
        {"TRY_CAST(x AS timestamp)", "TRY_CAST(x AS TIMESTAMP_NTZ)"},
        {"(SELECT a AS timestamp)", "(SELECT a AS timestamp)"},
        {"TIMESTAMP '2026-10-01 00:00:00'", "TIMESTAMP '2026-10-01 00:00:00'"},
        {"BIGINT '1' + DECIMAL '-1.50' + DECIMAL 'x' || VARCHAR 'y'", "CAST('1' AS BIGINT) + -1.50BD + DECIMAL 'x' || 'y'"},
        /* sorting */
        {"SELECT a FROM t ORDER BY a, f(b, c) DESC, d NULLS FIRST LIMIT 3", "SELECT a FROM t ORDER BY a NULLS LAST, f(b, c) DESC NULLS LAST, d NULLS FIRST LIMIT 3"},
        {"row_number() OVER (PARTITION BY a ORDER BY b)", "row_number() OVER (PARTITION BY a ORDER BY b NULLS LAST)"},
        {"(SELECT 1 ORDER BY 1) UNION SELECT 2 ORDER BY rows", "(SELECT 1 ORDER BY 1 NULLS LAST) UNION SELECT 2 ORDER BY rows NULLS LAST"},
        /* limits */
        {"SELECT 1 OFFSET 5 LIMIT 2", "SELECT 1 LIMIT 2 OFFSET 5"},
        {"SELECT 1 OFFSET 5 ROWS FETCH FIRST 2 ROWS ONLY", "SELECT 1 LIMIT 2 OFFSET 5"},
        /* arrays and UNNEST */
        {"ARRAY[1, ARRAY[2][1]]", "ARRAY(1, ARRAY(2)[1])"},
        {"MAP(ARRAY['a'], ARRAY[1])", "map_from_arrays(ARRAY('a'), ARRAY(1))"},
        {"FROM t CROSS JOIN UNNEST(t.a) AS u(x) WHERE x > 1", "FROM t  LATERAL VIEW explode(t.a)  u AS x  WHERE x > 1"},
        {"FROM UNNEST(ARRAY[1]) AS u(x)", "FROM explode(ARRAY(1)) AS u(x)"},
        /* functions */
        {"strpos(a, 'x') + t.strpos(b)", "instr(a, 'x') + t.strpos(b)"},
        {"date_diff('day', a, b)", "timestampdiff(day, a, b)"},
        {"date_add('week', 1 + 1, date_add('month', -1, d))", "(( ((d) + ( -1) * INTERVAL '1' month)) + CAST(( 1 + 1) * INTERVAL '7' day AS INTERVAL DAY))"},
        {"date_format(t, '%Y-%m-%dT%H:%i')", "date_format(t, 'yyyy-MM-dd\\'T\\'HH:mm')"},
        {"regexp_extract(a, 'b')", "regexp_extract(a, 'b', 0)"},
        {"regexp_extract(a, 'b', 1)", "regexp_extract(a, 'b', 1)"},
        {"split(a, '|')", "split(a, '\\\\Q' ||  '|' || '\\\\E')"},
    };
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_str made;
        assert_ok(nl_dialect_to_engine(arena, nl_str_from(rows[i].trino), NULL, &made));
        char *packed = nl_arena_alloc(arena, made.length + 1); /* runs of spaces say nothing */
        nl_builder expected;
        nl_builder_init(&expected, 4096);
        size_t length = 0;
        for (size_t k = 0; k < made.length; k++)
            if (made.data[k] != ' ') packed[length++] = made.data[k];
        for (const char *c = rows[i].engine; *c; c++)
            if (*c != ' ') nl_append_char(&expected, *c);
        assert_text(((nl_str){packed, length}), nl_builder_c(&expected));
        nl_builder_fini(&expected);
    }
    nl_arena_free(arena);
}

static void brackets_that_do_not_close_are_left_to_the_parser(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "(", ")", "[", "ARRAY[", "date_add('day', 1", "ORDER BY", "ORDER BY (", "UNNEST(", "OFFSET", "FETCH FIRST", "CROSS JOIN UNNEST(a) AS", "split(", "'", "\"", "\"$files",
                                         "timestamp(", "timestamp(6", "cast(x as timestamp", "date_format(a,", "/*", "--", "x'", "a.b.c(", "\"\"", "''"};
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(texts); i++) {
        nl_str made;
        assert_ok(nl_dialect_to_engine(arena, nl_str_from(texts[i]), NULL, &made));
    }
    nl_arena_free(arena);
}

static nl_status find_name(void *argument, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_str *text)
{
    (void)argument;
    if (nl_str_is(parts[part_count - 1], "none")) return NULL;
    *text = nl_arena_f(arena, "(%u " NL_STR_FMT ")", part_count, NL_STR_ARG(parts[part_count - 1]));
    return NULL;
}

static void tables_of_the_service_are_put_in(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_str made;
    const nl_dialect_names names = {.find = find_name};
    assert_ok(nl_dialect_to_engine(arena, NL_STR("FROM \"Lake\".information_schema . TABLES t, system.jdbc.columns, information_schema.none, a.b.jdbc, jdbc"), &names, &made));
    assert_text(made, "FROM (3 tables) t, (3 columns), information_schema.none, a.b.jdbc, jdbc");
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_the_engines),
        cmocka_unit_test(tables_of_the_service_are_put_in),
        cmocka_unit_test(brackets_that_do_not_close_are_left_to_the_parser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
