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
        {"SELECT U&'\\0041#2603' , U&'#0041' UESCAPE '#'", "SELECT 'A#2603' , 'A'"},
        {"SELECT \"a$b\", 1.5E-3, .5", "SELECT `a$b`, 1.5E-3, .5"},
        /* metadata tables */
        {"SELECT * FROM \"sales\".\"orders$refs\" r", "SELECT * FROM (SELECT * FROM `lake`.`sales`.`orders`.refs) r"},
        {"SELECT * FROM \"orders$refs\"", "SELECT * FROM (SELECT * FROM `lake`.`now`.`orders`.refs)"},
        /* types and casts */
        {"CAST(x AS varchar)", "CAST(x AS STRING)"},
        {"CAST(x AS VARCHAR(10))", "CAST(x AS VARCHAR(10))"},
        {"CAST(x AS timestamp(6) with time zone)", "CAST(x AS TIMESTAMP)"},
        {"CAST(x AS timestamp)", "trino_round_time(CAST(x AS TIMESTAMP_NTZ), 3)"},
        {"TRY_CAST(x AS date)", "trino_try(0, _try -> CAST(x AS DATE))"},
        {"CAST(x AS row(a bigint, b array(map(varchar, real))))", "CAST(x AS STRUCT<a: BIGINT, b: array<map<STRING, FLOAT>>>)"},
        {"(SELECT a AS timestamp)", "(SELECT a AS timestamp)"},
        {"TIMESTAMP '2026-10-01 00:00:00.5 UTC'", "trino_timestamp_tz('2026-10-01 00:00:00.5 UTC', 1)"},
        {"BIGINT '1' + DECIMAL '-1.50' + DECIMAL 'x' || VARCHAR 'y'", "CAST('1' AS BIGINT) + (-1.50BD) + DECIMAL 'x' || CAST('y' AS STRING)"},
        {"date(x AT TIME ZONE 'Asia/Tokyo')", "CAST(trino_local(x , 'Asia/Tokyo') AS DATE)"},
        /* sorting */
        {"SELECT a FROM t ORDER BY a, max(b) DESC, d NULLS FIRST LIMIT 3", "SELECT a FROM t ORDER BY a NULLS LAST, max(b) DESC NULLS LAST, d NULLS FIRST LIMIT 3"},
        {"(SELECT 1 ORDER BY 1) UNION SELECT 2 ORDER BY rows", "(SELECT 1 ORDER BY 1 NULLS LAST) UNION SELECT 2 ORDER BY rows NULLS LAST"},
        {"rank() OVER (PARTITION BY a ORDER BY b)", "CAST(rank() OVER (PARTITION BY a ORDER BY b NULLS LAST) AS BIGINT)"},
        {"SELECT 1 GROUP BY a, ()", "SELECT 1 GROUP BY a"},
        {"SELECT 1 GROUP BY ()", "SELECT 1 GROUP BY GROUPING SETS (())"},
        /* limits */
        {"SELECT 1 OFFSET 5 LIMIT 2", "SELECT 1 LIMIT 2 OFFSET 5"},
        {"SELECT 1 OFFSET 5 ROWS FETCH FIRST 2 ROWS ONLY", "SELECT 1 LIMIT 2 OFFSET 5"},
        {"SELECT 1 FETCH NEXT ROW ONLY", "SELECT 1 LIMIT 1"},
        /* arrays, UNNEST, TRY */
        {"ARRAY[1, ARRAY[2][1]]", "ARRAY(1, ARRAY(2)[1])"},
        {"MAP(ARRAY['a'], ARRAY[1])", "map_from_arrays(ARRAY('a'), ARRAY(1))"},
        {"FROM t CROSS JOIN UNNEST(t.a, b) WITH ORDINALITY AS u(x, y, n) WHERE x > 1", "FROM t CROSS JOIN LATERAL trino_unnest(true, t.a, b) AS u(x, y, n) WHERE x > 1"},
        {"FROM UNNEST(ARRAY[1]) AS u(x)", "FROM trino_unnest(false, ARRAY(1)) AS u(x)"},
        {"TRY(1 / x)", "trino_try(0, _try -> 1 / x)"},
        {"FROM TABLE(sequence(1, 3))", "FROM (SELECT id AS sequential_number FROM range(1, (3) + sign(1), 1))"},
        /* functions */
        {"strpos(a, 'x') + t.strpos(b)", "trino_strpos(a, 'x') + t.strpos(b)"},
        {"date_diff('day', a, b)", "trino_date_diff('day', a, b)"},
        {"year(greatest(a, length(b)))", "CAST(year(trino_greatest(a, CAST(length(b) AS BIGINT))) AS BIGINT)"},
        {"trim(LEADING 'x' FROM a) || trim(b)", "trino_ltrim(a, 'x') || trino_trim(b)"},
        {"substring(a FROM 2 FOR 3), position('x' IN a), extract(DOW FROM d)", "trino_substr(a , 2 , 3), trino_strpos(a, 'x'), CAST(weekday(d) + 1 AS BIGINT)"},
        {"now() = current_timestamp(6)", "trino_round_time(current_timestamp(), 3) = trino_round_time(current_timestamp(), 6)"},
        {"array_agg(DISTINCT x) FILTER (WHERE x > 1)", "trino_array_agg(DISTINCT x) FILTER (WHERE x > 1)"},
        {"WITH a(x) AS (SELECT 1), b(y) AS (SELECT 2) SELECT c FROM d e(c)", "WITH a(x) AS (SELECT 1), b(y) AS (SELECT 2) SELECT c FROM d e(c)"},
        /* statements */
        {"CREATE TABLE t (a varchar, b timestamp(6) NOT NULL) WITH (format = 'PARQUET', partitioning = ARRAY['day(b)', 'bucket(a, 4)'], location = 's3://x/y')",
         "CREATE TABLE t (a STRING, b TIMESTAMP_NTZ NOT NULL) USING iceberg PARTITIONED BY (days(`b`), bucket(4, `a`)) LOCATION 's3://x/y' TBLPROPERTIES ('write.format.default' = 'parquet')"},
        {"CREATE TABLE t (a, b) AS SELECT 1, 2 WITH NO DATA", "CREATE TABLE t AS SELECT * FROM (SELECT 1, 2) AS ctas_(a, b) LIMIT 0"},
        {"CREATE TABLE t (a string) PARTITIONED BY (bucket(4, a)) LOCATION 's3://x/' TBLPROPERTIES ('table_type' = 'ICEBERG')",
         "CREATE TABLE t (a string) PARTITIONED BY (bucket(4, a)) LOCATION 's3://x/' TBLPROPERTIES ('table_type' = 'ICEBERG')"},
        {"CREATE TABLE t (a string) LOCATION 's3://x/' TBLPROPERTIES ('a' = 'it''s')", "CREATE TABLE t (a string) LOCATION 's3://x/' TBLPROPERTIES ('a' = 'it\\'s')"},
        {"ALTER TABLE a.t ALTER COLUMN c SET DATA TYPE real", "ALTER TABLE a.t ALTER COLUMN c TYPE FLOAT"},
        {"ALTER TABLE a.t SET TBLPROPERTIES ('x' = 'it''s')", "ALTER TABLE a.t SET TBLPROPERTIES ('x' = 'it\\'s')"},
        {"ALTER TABLE a.t UNSET TBLPROPERTIES ('x')", "ALTER TABLE a.t UNSET TBLPROPERTIES ('x')"},
        {"ALTER TABLE l.s.t EXECUTE optimize(file_size_threshold => '10MB') WHERE length(a) > 1",
         "CALL `l`.system.rewrite_data_files(table => '`s`.`t`', where => 'CAST(length(a) AS BIGINT) > 1', options => map('min-input-files', '2', 'min-file-size-bytes', '10485760'))"},
        {"OPTIMIZE t REWRITE DATA USING BIN_PACK", "CALL system.rewrite_data_files(table => '`t`', options => map('min-input-files', '2'))"},
        {"VACUUM s.t", "CALL system.expire_snapshots(table => '`s`.`t`') THEN CALL system.remove_orphan_files(table => '`s`.`t`')"},
        {"COMMENT ON COLUMN s.t.c IS 'it''s'", "ALTER TABLE `s`.`t` ALTER COLUMN `c` COMMENT 'it\\'s'"},
        {"MERGE INTO t USING (VALUES 1) AS s(a) ON t.a = s.a WHEN MATCHED THEN DELETE", "MERGE INTO t USING (SELECT * FROM (VALUES 1) AS s(a)) AS `s` ON t.a = s.a WHEN MATCHED THEN DELETE"},
        {"SELECT * FROM t FOR VERSION AS OF BIGINT '7'", "SELECT * FROM t FOR VERSION AS OF 7"},
    };
    const nl_dialect_names names = {.catalog = NL_STR("lake"), .schema = NL_STR("now")};
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_str made, then;
        assert_ok(nl_dialect_to_engine(arena, nl_str_from(rows[i].trino), &names, &made, &then));
        if (then.length) made = nl_arena_f(arena, NL_STR_FMT " THEN " NL_STR_FMT, NL_STR_ARG(made), NL_STR_ARG(then));
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

static void what_is_not_trinos_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *condition, *word;
    } refused[] = {
        {"SELECT nvl(a, b)", "UNRESOLVED_ROUTINE", "nvl"},
        {"SELECT trino_substr(a, 1)", "UNRESOLVED_ROUTINE", "trino_substr"},
        {"SELECT histogram(a)", "NILAS_UNSUPPORTED", "histogram"},
        {"SELECT date_add(a, 1)", "NILAS_ILLEGAL_ARGUMENT", "date_add"},
        {"SELECT * FROM range(3)", "NILAS_UNSUPPORTED", "range"},
        {"SELECT a FROM t LATERAL VIEW explode(b) c AS d", "NILAS_UNSUPPORTED", "lateral view"},
        {"SELECT a FROM t QUALIFY b = 1", "NILAS_UNSUPPORTED", "QUALIFY"},
        {"SELECT 1 & 2", "NILAS_UNSUPPORTED", "bits"},
        {"SELECT a <=> b", "NILAS_UNSUPPORTED", "<=>"},
        {"SELECT `a`", "NILAS_ILLEGAL_ARGUMENT", "Backquoted"},
        {"SELECT 1L", "NILAS_ILLEGAL_ARGUMENT", "1L"},
        {"SELECT CAST(a AS json)", "NILAS_UNSUPPORTED", "json"},
        {"SELECT TIME '01:00:00'", "NILAS_UNSUPPORTED", "TIME"},
        {"SELECT a AT TIME ZONE 'Asia/Tokyo'", "NILAS_UNSUPPORTED", "AT TIME ZONE"},
        {"SELECT 1 FETCH FIRST 2 ROWS WITH TIES", "NILAS_UNSUPPORTED", "WITH TIES"},
        {"CREATE TABLE t (a int) WITH (nothing = 1)", "NILAS_ILLEGAL_ARGUMENT", "nothing"},
        {"CREATE TABLE t (a int) WITH (partitioning = ARRAY['bucket(a)'])", "NILAS_ILLEGAL_ARGUMENT", "bucket(a)"},
        {"ALTER TABLE t EXECUTE nothing", "NILAS_UNSUPPORTED", "nothing"},
        {"SET a = 1", "NILAS_UNSUPPORTED", "SET"},
        {"SELECT * FROM \"t$properties\"", "NILAS_UNSUPPORTED", "properties"},
    };
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(refused); i++) {
        nl_str made, then;
        nl_error *error = nl_dialect_to_engine(arena, nl_str_from(refused[i].text), NULL, &made, &then);
        if (!error) fail_msg("%s is taken", refused[i].text);
        assert_string_equal(nl_condition_name(nl_error_condition(error)), refused[i].condition);
        if (!strstr(nl_error_message(error), refused[i].word)) fail_msg("%s: %s", refused[i].text, nl_error_message(error));
        nl_error_free(error);
    }
    nl_arena_free(arena);
}

static void brackets_that_do_not_close_are_left_to_the_parser(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "(", ")", "[", "ARRAY[", "date_add('day', 1", "ORDER BY", "ORDER BY (", "UNNEST(", "OFFSET", "FETCH FIRST", "CROSS JOIN UNNEST(a) AS", "split(", "'", "\"", "\"$files",
                                         "timestamp(", "timestamp(6", "cast(x as timestamp", "date_format(a,", "/*", "--", "x'", "a.b.c(", "\"\"", "''", "U&'\\00", "U&", "CREATE TABLE", "CREATE TABLE t (", "CREATE TABLE t (a) WITH (", "CREATE TABLE t WITH ()", "ALTER TABLE t EXECUTE", "ALTER TABLE t EXECUTE optimize(",
                                         "OPTIMIZE", "VACUUM", "COMMENT ON COLUMN", "MERGE USING (", "FOR VERSION AS OF BIGINT", "trim(", "trim()", "trim(FROM)", "extract()", "x AT TIME ZONE", "AT TIME ZONE 'a'", "TABLE()", "TABLE(sequence())",
                                         "CAST()", "CAST(AS)", "CAST(x AS)", "CAST(x AS row()", "CAST(x AS array(", "cast(x as map(a))", "\"$files\"", "GROUP BY ()", "GROUP BY , ()", "current_timestamp(", "date_add(,,)", "TRY()"};
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(texts); i++) {
        nl_str made, then;
        nl_error_free(nl_dialect_to_engine(arena, nl_str_from(texts[i]), NULL, &made, &then));
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
    nl_str made, then;
    const nl_dialect_names names = {.find = find_name};
    assert_ok(nl_dialect_to_engine(arena, NL_STR("FROM \"Lake\".information_schema . TABLES t, system.jdbc.columns, information_schema.none, a.b.jdbc, jdbc"), &names, &made, &then));
    assert_text(made, "FROM (3 tables) t, (3 columns), information_schema.none, a.b.jdbc, jdbc");
    nl_arena_free(arena);
}

static void parameters_are_one_expression_each(void **unused)
{
    (void)unused;
    static const struct {
        const char *sql, *parameters, *text; /* NULL: refused */
    } rows[] = {
        {"SELECT ? + ?", "1, 2", "SELECT 1 + 2"},
        {"SELECT * FROM t WHERE a = ?", "1 OR true", "SELECT * FROM t WHERE a = (1 OR true)"},
        {"SELECT * FROM t WHERE a = ?", "1) OR (true", NULL},
        {"SELECT * FROM t WHERE a = ?", "1; DROP TABLE t", NULL},
        {"SELECT * FROM t WHERE a = ? AND b", "1 -- ", "SELECT * FROM t WHERE a = 1 AND b"},
        {"SELECT * FROM t WHERE a = ?", "1 /* x", NULL},
        {"SELECT * FROM t WHERE a = ?", "1 /* x */ + /*/ y */ 1", "SELECT * FROM t WHERE a = (1   +   1)"},
        {"SELECT * FROM t WHERE a = ?", "'it''s, (fine)'", "SELECT * FROM t WHERE a = 'it''s, (fine)'"},
        {"SELECT * FROM t WHERE a = ?", "'open", NULL},
        {"SELECT * FROM t WHERE a = ?", "'open''", NULL},
        {"SELECT * FROM t WHERE a = ?", "\"open", NULL},
        {"SELECT 5-?", "-1", "SELECT 5-(-1)"},
        {"SELECT ?", "f(1, 2)", "SELECT (f(1, 2))"},
        {"SELECT ?", "ARRAY[1, 2]", "SELECT (ARRAY[1, 2])"},
        {"SELECT ?", "(1", NULL},
        {"SELECT ?", "1]", NULL},
        {"SELECT ?", "", NULL},
        {"SELECT ?", "1, 2", NULL},
        {"SELECT ?, ?", "1", NULL},
        {"SELECT '?', \"?\", ? -- ?\n /* ? */", "DATE '2026-01-01'", "SELECT '?', \"?\", (DATE '2026-01-01') -- ?\n /* ? */"},
    };
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_str *items;
        nl_str text;
        const uint32_t count = nl_dialect_split_parameters(arena, nl_str_from(rows[i].parameters), &items);
        nl_status status = nl_dialect_put_parameters(arena, nl_str_from(rows[i].sql), items, count, &text);
        if (!rows[i].text) {
            assert_int_equal(nl_error_condition(status), NL_COND_NILAS_ILLEGAL_ARGUMENT);
            nl_error_free(status);
        } else {
            assert_null(status);
            assert_string_equal(nl_str_c(arena, text), rows[i].text);
        }
    }
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_the_engines),
        cmocka_unit_test(what_is_not_trinos_is_refused_by_name),
        cmocka_unit_test(tables_of_the_service_are_put_in),
        cmocka_unit_test(parameters_are_one_expression_each),
        cmocka_unit_test(brackets_that_do_not_close_are_left_to_the_parser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
