"""Command lines for which `nilas sql` must behave as real spark-sql does: standard output byte for byte, exit status,
and what a person sees on standard error. record_spark_sql.py asks the real one; spark_sql_test.py compares.

A case: name, args, and optionally files (name -> text, written into the empty working folder first), stdin, env.
In files, args and env `@DIR@` becomes the working folder. `differs`: what nilas does otherwise, on purpose; `why` says why
and docs/differences.md tells people.
"""

ONE = "Time taken: N seconds, Fetched 1 row(s)"
NONE = "Time taken: N seconds"
WRONG_USAGE = dict(exit=2, stdout="", stderr=[])

# Both programs get these: nilas has them built in, so a drop-in must take them and change nothing.
COMMON = [
    "--conf", "spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "--conf", "spark.sql.catalog.local=org.apache.iceberg.spark.SparkCatalog",
    "--conf", "spark.sql.catalog.local.type=hadoop",
    "--conf", "spark.sql.catalog.local.warehouse=@DIR@/warehouse",
    "--conf", "spark.sql.defaultCatalog=local",
    "--conf", "spark.sql.session.timeZone=UTC",
]

CASES = [
    # ---- -e: how a text is cut into statements
    dict(name="execute_one", args=["-e", "SELECT 1"]),
    dict(name="execute_several", args=["-e", "SELECT 1; SELECT 'two', NULL;; SELECT 3;"]),
    dict(name="execute_comments", args=["-e", """-- first; comment
SELECT 1 -- trailing ; comment
, 2; /* block ; comment */ SELECT /* inside ; */ 3; /* outer /* nested ; */ still */ SELECT 4;
-- nothing after this"""]),
    dict(name="execute_strings", args=["-e", """SELECT 'a;b', "c;d"; SELECT 'it''s; fine', "say ""hi;"" ", 'back\\'slash;'"""]),
    dict(name="execute_quoted_name", args=["-e", "SELECT `x;y` FROM VALUES (1) AS t(`x;y`)"],
         differs=dict(exit=0, stdout="1\n", stderr=[ONE]), why="spark-sql cuts inside of backquotes"),
    dict(name="execute_only_comment", args=["-e", "-- nothing"]),
    dict(name="execute_empty", args=["-e", ""]),
    dict(name="execute_blank_statements", args=["-e", " ; ;; "]),
    dict(name="execute_unclosed_comment", args=["-e", "SELECT 1; /* never closed ; SELECT 2;"]),
    dict(name="execute_unclosed_quote", args=["-e", "SELECT 1; SELECT 'open ; SELECT 2;"]),
    dict(name="execute_multi_line", args=["-e", "SELECT 1\n,\n2;\nSELECT\n3"]),
    dict(name="execute_hint", args=["-e", "SELECT /*+ BROADCAST(t) */ * FROM VALUES (1) AS t(a);"]),
    dict(name="execute_error_stops", args=["-e", "SELECT 1; SELECT no_such; SELECT 3"]),
    dict(name="execute_parse_error", args=["-e", "SELECT 1; SELEC 2; SELECT 3"]),
    dict(name="execute_runtime_error", args=["-e", "SELECT 1; SELECT 1/0; SELECT 3"]),
    dict(name="execute_twice", args=["-e", "SELECT 1", "-e", "SELECT 2"],
         differs=dict(stdout="1\n2\n", stderr=[ONE, ONE]), why="spark-sql forgets all but the first"),
    dict(name="execute_long_option", args=["--execute", "SELECT 1"],
         differs=dict(exit=0, stdout="1\n", stderr=[ONE]), why="spark-sql has no long form of -e"),
    dict(name="execute_equals", args=["--database=default", "-e", "SELECT 1"],
         differs=dict(exit=0, stdout="1\n", stderr=[ONE]), why="spark-sql wants a blank after its own long options"),
    # ---- -f, -i, standard input
    dict(name="file_statements", args=["-f", "a.sql"], files={"a.sql": "SELECT 1;\n-- comment\nSELECT 2\n;\nSELECT 'é', '漢字';\n"}),
    dict(name="file_without_last_semicolon", args=["-f", "a.sql"], files={"a.sql": "SELECT 1;\nSELECT 2"}),
    dict(name="file_error_stops", args=["-f", "a.sql"], files={"a.sql": "SELECT 1;\nSELECT * FROM no_such_table;\nSELECT 3;\n"}),
    dict(name="file_missing", args=["-f", "missing.sql"], differs=dict(stderr=["[PATH_NOT_FOUND]"]), why="nilas names a condition"),
    dict(name="file_crlf", args=["-f", "a.sql"], files={"a.sql": "SELECT 1;\r\nSELECT\r\n 2;\r\n"}),
    dict(name="file_and_execute", args=["-f", "a.sql", "-e", "SELECT 1"], files={"a.sql": "SELECT 2;\n"},
         differs=dict(exit=0, stdout="2\n1\n", stderr=[ONE, ONE]), why="spark-sql refuses both together"),
    dict(name="init_file", args=["-i", "init.sql", "-e", "SELECT * FROM v"],
         files={"init.sql": "CREATE TEMPORARY VIEW v AS SELECT 7 AS seven;\nSELECT 'from init';\n"}),
    dict(name="init_file_error", args=["-i", "init.sql", "-e", "SELECT 1"], files={"init.sql": "SELECT nope;\nSELECT 2;\n"}),
    dict(name="init_file_missing", args=["-i", "missing.sql", "-e", "SELECT 1"],
         differs=dict(stderr=["[PATH_NOT_FOUND]"]), why="nilas names a condition"),
    dict(name="input_statements", args=["-S"], stdin="SELECT 1;\nSELECT\n2;\nSELECT 3",
         differs=dict(exit=0, stdout="1\n2\n3\n", stderr=[]), why="spark-sql prints its prompts and what it reads among the results, and ends with 0 after errors"),
    dict(name="input_error", args=["-S"], stdin="SELECT 1;\nSELECT nope;\nSELECT 3;\n",
         differs=dict(exit=1, stdout="1\n", stderr=["[UNRESOLVED_COLUMN.WITHOUT_SUGGESTION]"]), why="spark-sql prints its prompts and what it reads among the results, and ends with 0 after errors"),
    dict(name="input_quit", args=["-S"], stdin="SELECT 1;\nquit;\nSELECT 3;\n", differs=dict(stdout="1\n"), why="spark-sql prints its prompts and what it reads among the results, and ends with 0 after errors"),
    dict(name="input_not_silent", args=[], stdin="SELECT 1;\nSELECT\n2;\n", differs=dict(stdout="1\n2\n"), why="spark-sql prints its prompts and what it reads among the results, and ends with 0 after errors"),
    # ---- silence, verbosity, headers
    dict(name="silent", args=["-S", "-e", "SELECT 1; SELECT nope"]),
    dict(name="verbose", args=["-v", "-e", "SELECT 1;\nSELECT 2"]),
    dict(name="header", args=["--conf", "spark.sql.cli.print.header=true", "-e", "SELECT 1 AS a, 'x' AS `b c`; SELECT 1 AS none WHERE false; CREATE NAMESPACE n; DESCRIBE NAMESPACE n"]),
    dict(name="hive_header", args=["--hiveconf", "hive.cli.print.header=true", "-e", "SELECT 1 AS a, 2 AS b"]),
    dict(name="set_header", args=["-e", "SET spark.sql.cli.print.header=true; SELECT 1 AS a"]),
    # ---- variables
    dict(name="define", args=["-d", "x=1", "--hivevar", "y='two'", "--define", "z=3", "-e",
                              "SELECT ${x}, ${hivevar:y}, ${z}, '${hivevar:x}'; SET x; SELECT ${hiveconf:nothing}"]),
    dict(name="define_unset", args=["-d", "x=1", "-e", "SELECT '${nope}', '${hivevar:nope}'"]),
    dict(name="hiveconf", args=["--hiveconf", "my.key=abc", "-e", "SELECT '${hiveconf:my.key}'; SET my.key; SELECT '${my.key}'"]),
    dict(name="env_and_system", args=["-e", "SELECT '${env:MY_WORD}', '${system:user.dir}' = '@DIR@'"], env={"MY_WORD": "hello"}),
    dict(name="spark_variable", args=["--conf", "spark.my.key=v1", "-e", "SELECT '${spark.my.key}', '${spark:spark.my.key}', '${sparkconf:spark.my.key}'"]),
    # ---- SET
    dict(name="set_one", args=["-e", "SET spark.sql.ansi.enabled; SET spark.sql.shuffle.partitions=7; SET spark.sql.shuffle.partitions; SET no.such.key; SET a.b=c d; SET a.b; RESET a.b; SET a.b"]),
    dict(name="set_time_zone", args=["-e", "SET TIME ZONE 'Europe/Berlin'; SELECT TIMESTAMP '2024-07-01 12:00:00 UTC'; SET spark.sql.session.timeZone"]),
    dict(name="set_static", args=["-e", "SET spark.sql.warehouse.dir=/x; SELECT 1"]),
    dict(name="set_core", args=["-e", "SET spark.executor.memory=1g; SELECT 1"]),
    # ---- the shell's own commands
    dict(name="shell_command", args=["-e", "!echo hello; SELECT 1; ! echo again"]),
    dict(name="shell_command_quotes", args=["-e", "! echo 'a;b'"], differs=dict(stdout="a;b\n"), why="a shell runs it: quotes, globs and pipes work"),
    dict(name="shell_command_fails", args=["-e", "!false; SELECT 2"], differs=dict(exit=1, stdout="", stderr=[]), why="a failure never ends with status 0"),
    dict(name="source_file", args=["-e", "source a.sql; SELECT 2;"], files={"a.sql": "SELECT 'sourced';\n"}),
    dict(name="source_missing", args=["-e", "source missing.sql; SELECT 2;"],
         differs=dict(exit=1, stdout="", stderr=[]), why="a failure never ends with status 0"),
    dict(name="source_error", args=["-e", "source a.sql; SELECT 2;"], files={"a.sql": "SELECT nope;\nSELECT 'after';\n"},
         differs=dict(exit=1, stdout="", stderr=["[UNRESOLVED_COLUMN.WITHOUT_SUGGESTION]"]), why="a failure never ends with status 0"),
    dict(name="quit_in_text", args=["-e", "SELECT 1; quit; SELECT 2"]),
    dict(name="exit_in_file", args=["-f", "a.sql"], files={"a.sql": "SELECT 1;\nEXIT;\nSELECT 2;\n"}),
    dict(name="clear_and_help_words", args=["-e", "SELECT 1; help; SELECT 2"]),
    # ---- where to begin and configuration
    dict(name="database_missing", args=["--database", "db", "-e", "SELECT 1"], differs=dict(stderr=["[SCHEMA_NOT_FOUND]"]), why="spark-sql prints a stack trace"),
    dict(name="database_default", args=["--database", "default", "-e", "SELECT current_database()"],
         differs=dict(exit=0, stdout="default\n", stderr=[ONE]), why="the namespace in which sessions begin can be named"),
    dict(name="accepted_flags", args=["--name", "my app", "--master", "local[1]", "--driver-memory", "1g", "--verbose", "-e", "SELECT 1; SET spark.app.name; SET spark.master"]),
    dict(name="properties_file", args=["--properties-file", "p.conf", "-e", "SET spark.my.a; SET spark.my.b; SET spark.my.c; SET spark.my.d; SET spark.my.e"],
         files={"p.conf": "# comment\nspark.my.a  one two \nspark.my.b=three\nspark.my.c: four\n\nother.key x\nspark.my.d\nspark.my.e = a=b\n"}),
    dict(name="defaults_conf", args=["-e", "SET spark.my.a; SET spark.my.b"], env={"SPARK_CONF_DIR": "@DIR@/conf"},
         args_after=["--conf", "spark.my.b=flag"], files={"conf/spark-defaults.conf": "spark.my.a 1\nspark.my.b 2\n"}),
    dict(name="unknown_option", args=["--no-such-option", "-e", "SELECT 1"], differs=WRONG_USAGE, why="2 tells a wrong command line from failed SQL"),
    dict(name="option_without_value", args=["-e"], differs=WRONG_USAGE, why="2 tells a wrong command line from failed SQL"),
    dict(name="conf_without_equals", args=["--conf", "spark.x", "-e", "SELECT 1"], differs=WRONG_USAGE, why="2 tells a wrong command line from failed SQL"),
    dict(name="stray_argument", args=["-e", "SELECT 1", "stray"], differs=WRONG_USAGE, why="spark-sql ignores it; most often a quote is missing"),
    # ---- how values print
    dict(name="values_scalars", args=["-S", "-e", """SELECT NULL, true, false, 1Y, 2S, 3, 4L, 1.5F, 2.5D, 1e20, 1e-7D, 100.0D, cast('NaN' AS double), cast('Infinity' AS double), cast('-Infinity' AS float), 1.10, 123456789012345678901234567890.12BD, 0.0000001BD;
SELECT '', 'a	b', 'line\\nbreak', 'quo"te', 'é漢😀', X'616263', X'', DATE '2024-02-29', TIMESTAMP '2024-01-02 03:04:05.6', TIMESTAMP_NTZ '2024-01-02 03:04:05.123456', TIMESTAMP '0001-01-01 00:00:00', DATE '9999-12-31';
SELECT INTERVAL 1 DAY, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1 02:03:04.5' DAY TO SECOND, INTERVAL -3 MONTH, INTERVAL 5 MINUTE, make_interval(1,2,3,4,5,6,7.5);"""]),
    dict(name="values_nested", args=["-S", "-e", """SELECT array(1, NULL), array('a', NULL, 'b"c'), array(), map('k', 1, 'n', NULL), map(1, 'x'), struct(1, 'y', NULL), named_struct('a', 1.50, 'b', array(DATE '2024-01-01'));
SELECT array(array(1), NULL), map('m', map('n', true)), array(named_struct('x', X'4142', 'y', 1.0D)), struct(TIMESTAMP '2024-01-02 03:04:05', TIMESTAMP_NTZ '2024-01-02 03:04:05.5'), array(INTERVAL 1 DAY), array(1.5F, cast('NaN' AS float)), struct(true, 'é', '');
SELECT array(cast(NULL AS string)), named_struct('a', '', 'b', 'tab\\there')"""]),
    dict(name="values_empty", args=["-e", "SELECT 1 WHERE false; SELECT * FROM VALUES (1, 2) AS t(a, b) WHERE a > 1"]),
    dict(name="values_no_columns", args=["-e", "CREATE NAMESPACE IF NOT EXISTS d; USE d; SELECT current_database()"]),
    # ---- DDL and its friends
    dict(name="ddl", args=["-e", """CREATE NAMESPACE db;
CREATE TABLE db.t (id bigint NOT NULL COMMENT 'the key', name string, price decimal(10,2)) USING iceberg PARTITIONED BY (bucket(4, id));
INSERT INTO db.t VALUES (1, 'a', 1.5), (2, NULL, NULL);
SELECT * FROM db.t ORDER BY id;
UPDATE db.t SET name = 'b' WHERE id = 2;
DELETE FROM db.t WHERE id = 1;
SELECT count(*) FROM db.t;
DESCRIBE db.t;
DESC db.t id;
SHOW TABLES IN db;
SHOW NAMESPACES;
SHOW CREATE TABLE db.t;
SHOW COLUMNS IN db.t;
SHOW TBLPROPERTIES db.t ('format-version');
ALTER TABLE db.t ADD COLUMN extra map<string, int>;
DESCRIBE TABLE db.t;
TRUNCATE TABLE db.t;
SELECT count(*) FROM db.t;
DROP TABLE db.t;
SHOW TABLES IN db;
DROP NAMESPACE db;"""]),
    dict(name="ctas_and_views", args=["-e", """CREATE NAMESPACE db; CREATE TABLE db.c AS SELECT id, id * 2 AS d FROM range(3);
SELECT * FROM db.c ORDER BY id; CREATE TEMPORARY VIEW v AS SELECT max(d) AS m FROM db.c; SELECT * FROM v; SHOW VIEWS; DESCRIBE v; DROP VIEW v;
DESCRIBE QUERY SELECT 1 AS a, 'x' AS b; SHOW FUNCTIONS LIKE 'upp*'"""]),
    dict(name="call", args=["-e", """CREATE NAMESPACE db; CREATE TABLE db.t (a int); INSERT INTO db.t VALUES (1); INSERT INTO db.t VALUES (2);
CALL local.system.rewrite_data_files(table => 'db.t', options => map('min-input-files', '2')); SELECT operation FROM db.t.snapshots ORDER BY committed_at"""]),
    dict(name="explain_error", args=["-S", "-e", "EXPLAIN SELECT nope"],
         differs=dict(stdout="Error occurred during query planning: \n[UNRESOLVED_COLUMN.WITHOUT_SUGGESTION] A column, variable, or function parameter "
                             "with name `nope` cannot be resolved.  SQLSTATE: 42703; line 1 pos 15\n"), why="errors do not print plans"),
    dict(name="table_exists", args=["-e", "CREATE NAMESPACE db; CREATE TABLE db.t (a int); CREATE TABLE IF NOT EXISTS db.t (a int); CREATE TABLE db.t (a int); SELECT 1"]),
    dict(name="many_rows", args=["-e", "SELECT id FROM range(0, 5000, 1, 1)"]),
    dict(name="one_row_text", args=["-e", "SELECT 1 UNION ALL SELECT 2 ORDER BY 1"]),
    # ---- more of each
    dict(name="quotes_hide_comments", args=["-e", "SELECT '--not', \"/*no*/\", 'a -- b; c' -- yes; here\n; SELECT /* a; b */ 1 /* c */; -- end; x\nSELECT 2 -- tail"]),
    dict(name="escaped_semicolon", args=["-e", "SELECT 'a\\;b'; SELECT 2"]),
    dict(name="unicode_escapes", args=["-S", "-e", "SELECT '\\u00e9', 'tab\\tx', 'new\\nline', '\\\\', r'\\n', 'a' 'b', '%', '\\%'"]),
    dict(name="with_values_table", args=["-e", "WITH a AS (SELECT 1 AS x) SELECT * FROM a; VALUES (1, 'a'), (2, 'b'); CREATE TEMPORARY VIEW v AS SELECT 3; TABLE v; FROM v SELECT *; (SELECT 4)"]),
    dict(name="describe_extended", args=["-e", """CREATE NAMESPACE db; CREATE TABLE db.t (id bigint COMMENT 'the key', d date) USING iceberg PARTITIONED BY (months(d), bucket(8, id)) COMMENT 'about t' TBLPROPERTIES ('k'='v');
DESCRIBE EXTENDED db.t; DESCRIBE EXTENDED db.t id; SHOW PARTITIONS db.t"""]),
    dict(name="show_various", args=["-e", """CREATE NAMESPACE db; CREATE TABLE db.t1 (a int); CREATE TABLE db.u (a int); USE db; SHOW CURRENT NAMESPACE; SHOW TABLES; SHOW TABLES LIKE 't*'; SHOW TABLES IN db LIKE 'x*';
SHOW NAMESPACES IN local; SHOW FUNCTIONS LIKE 'abs'; SHOW TBLPROPERTIES t1 ('nope'); SHOW DATABASES LIKE 'd*'"""]),
    dict(name="row_changes", args=["-e", """CREATE NAMESPACE db; CREATE TABLE db.t (id int, s string); INSERT INTO db.t VALUES (1, 'a'), (2, 'b'), (3, NULL);
MERGE INTO db.t USING (SELECT 2 AS id, 'z' AS s UNION ALL SELECT 9, 'n') n ON t.id = n.id WHEN MATCHED THEN UPDATE SET s = n.s WHEN NOT MATCHED THEN INSERT *;
SELECT * FROM db.t ORDER BY id; INSERT OVERWRITE db.t SELECT 5, 'only'; SELECT * FROM db.t; ALTER TABLE db.t CREATE TAG x; ALTER TABLE db.t RENAME COLUMN s TO r; SELECT r FROM db.t VERSION AS OF 'x'; DESCRIBE db.t"""]),
    dict(name="error_while_rows_come", args=["-e", "SELECT 10 / (id - 5) FROM range(0, 10, 1, 1); SELECT 2"]),
    dict(name="raise_error", args=["-e", "SELECT raise_error('my words'); SELECT 2"]),
    dict(name="assert_true", args=["-S", "-e", "SELECT assert_true(1 = 1); SELECT assert_true(1 = 2)"]),
    dict(name="session_variables", args=["-e", "DECLARE VARIABLE x INT DEFAULT 5; SELECT x; SET VAR x = x + 1; SELECT x; DROP TEMPORARY VARIABLE x; SELECT x"]),
    dict(name="cached_tables", args=["-e", "CREATE TEMPORARY VIEW v AS SELECT 1 AS a; CACHE TABLE v; SELECT * FROM v; UNCACHE TABLE v; CLEAR CACHE; CACHE LAZY TABLE w AS SELECT 2; SELECT * FROM w"]),
    dict(name="odd_headers", args=["--conf", "spark.sql.cli.print.header=true", "-e", "SELECT 1, 1 + 1, 'a', count(*), sum(2) AS `a.b`, array(1)[0], struct(1).col1 FROM range(1); SELECT 1 AS a, 2 AS a; SHOW TABLES; SET x=1"]),
    dict(name="spaces_in_cells", args=["-S", "-e", "SELECT '', ' ', '  a  ', NULL, ''; SELECT concat('a', char(0), 'b'), '\r', 'x\r\ny'"]),
    dict(name="more_numbers", args=["-S", "-e", """SELECT -0.0D, 1e300, 1.0E-300D, 0.1F, 16777217F, 1e7, 1e-3, 123456789.0D, 0.001D, 1234567.0F, 12345678.0F, cast('-0.0' AS float), 0.00BD, -1.50, cast(0 AS decimal(38,18)), 9223372036854775807, -128Y"""]),
    dict(name="more_times", args=["-S", "-e", """SELECT DATE '1582-10-15', DATE '0001-01-01', TIMESTAMP '1883-11-18 12:00:00', TIMESTAMP '2024-03-31 01:30:00.000001', TIMESTAMP '2024-01-01 00:00:00.100', TIMESTAMP_NTZ '1969-12-31 23:59:59.999999';
SELECT INTERVAL '0' DAY, INTERVAL '-1 02' DAY TO HOUR, INTERVAL '0-0' YEAR TO MONTH, INTERVAL '10' SECOND, INTERVAL '1.000001' SECOND, -INTERVAL '3' YEAR, make_interval(0), make_interval(1, 2, 0, 0, 0, 0, 0.5), array(make_interval(0,0,0,1)), map('a', INTERVAL '1' MONTH)"""]),
    dict(name="more_nested", args=["-S", "-e", """SELECT array(), map(), array(NULL), array(array()), named_struct('a', NULL), array(named_struct('x', 1, 'y', array('p', 'q'))), map('k', NULL, 'l', named_struct('z', DATE '2024-01-01'));
SELECT array(X'00FF'), map(X'41', 1), named_struct('b', X'4243'), array(1.10, NULL, 2), array(true, false), map(1.5, 'x'), map(DATE '2024-01-01', TIMESTAMP '2024-01-01 00:00:00'), struct('a"b', 'c\\d', 'e\nf', '/')"""]),
    dict(name="use_and_qualified", args=["-e", "CREATE NAMESPACE a; CREATE NAMESPACE a.b; USE a.b; SELECT current_database(), current_catalog(), current_schema(); USE local; SELECT current_database(); USE nope.nope"]),
]
