/* sql/script_test.c - BEGIN … END as Spark 4.0.1 takes and refuses it (spark.sql.scripting.enabled). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/limits.h"
#include "sql/parser.h"
#include "sql/printer.h"

static const nl_sql_options scripting = {.is_scripting = true};

static void print_parsed(nl_str text, nl_builder *out)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_ast_statement *statement = NULL;
    nl_status status = nl_sql_parse(arena, text, &scripting, &statement);
    if (status) fail_msg("%.*s\n%s", (int)text.length, text.data, nl_error_message(status));
    nl_builder_init(out, NL_SQL_TEXT_BYTES_MAX);
    nl_sql_print(out, statement);
    nl_arena_free(arena);
}

static nl_status parse_wrong(const char *text, const nl_sql_options *options)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_ast_statement *statement = NULL;
    nl_status status = nl_sql_parse(arena, nl_str_from(text), options, &statement);
    nl_arena_free(arena);
    if (!status) fail_msg("was accepted: %s", text);
    return status;
}

static void test_scripts_are_read_and_printed(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"BEGIN END", NULL},
        {"BEGIN SELECT 1; END", NULL},
        {"BEGIN SELECT 1; END;",
         "BEGIN SELECT 1; END"},
        {"BEGIN NOT ATOMIC SELECT 1; END", NULL},
        {"BEGIN l: BEGIN SELECT 1; END l; END", NULL},
        {"BEGIN DECLARE x INT DEFAULT 1; SET x = 2; SET (x) = (SELECT 3); SELECT x; END",
         "BEGIN DECLARE VARIABLE `x` INT DEFAULT 1; SET `x` = 2; SET (`x`) = (SELECT 3); SELECT `x`; END"},
        {"BEGIN IF 1 = 1 THEN SELECT 1; ELSEIF 2 = 2 THEN SELECT 2; ELSE SELECT 3; END IF; END", NULL},
        {"BEGIN CASE WHEN 1 = 1 THEN SELECT 1; ELSE SELECT 2; END CASE; END", NULL},
        {"BEGIN CASE 1 WHEN 1 THEN SELECT 1; WHEN 2 THEN SELECT 2; END CASE; END", NULL},
        {"BEGIN l: WHILE 1 = 1 DO SELECT 1; LEAVE l; END WHILE l; END", NULL},
        {"BEGIN l: REPEAT SELECT 1; ITERATE l; UNTIL 1 = 1 END REPEAT; END",
         "BEGIN l: REPEAT SELECT 1; ITERATE l; UNTIL 1 = 1 END REPEAT l; END"},
        {"BEGIN LOOP SELECT 1; END LOOP; END", NULL},
        {"BEGIN FOR x AS SELECT 1 DO SELECT x.a; END FOR; END",
         "BEGIN FOR `x` AS SELECT 1 DO SELECT `x`.a; END FOR; END"},
        {"BEGIN FOR SELECT 1 AS a FROM t DO SELECT a; END FOR; END", NULL},
        {"BEGIN DECLARE c CONDITION FOR SQLSTATE '45000'; DECLARE d CONDITION; SELECT 1; END", NULL},
        {"BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 1; END; SELECT 2; END", NULL},
        {"BEGIN SET spark.x = 1; END",
         "BEGIN SET spark.`x` = 1; END"},
        {"BEGIN DECLARE a.b INT; END",
         "BEGIN DECLARE VARIABLE a.b INT; END"},
        {"BEGIN DECLARE OR REPLACE a INT; END",
         "BEGIN DECLARE OR REPLACE VARIABLE a INT; END"},
        {"BEGIN CREATE TABLE t (a int); INSERT INTO t VALUES (1); END",
         "BEGIN CREATE TABLE t (a int); INSERT INTO t VALUES 1; END"},
        {"BEGIN BEGIN END; END", NULL},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_builder first;
        nl_builder second;
        print_parsed(nl_str_from(rows[i][0]), &first);
        print_parsed(nl_builder_str(&first), &second);
        assert_string_equal(nl_builder_c(&first), rows[i][1] ? rows[i][1] : rows[i][0]);
        assert_string_equal(nl_builder_c(&second), nl_builder_c(&first));
        nl_builder_fini(&first);
        nl_builder_fini(&second);
    }
}

static void test_wrong_scripts_are_placed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *error;
        const char *hint;
        uint32_t line;
        uint32_t position;
    } rows[] = {
        {"BEGIN SELECT 1 END", "end of input", "", 1, 18},
        {"l: BEGIN SELECT 1; END", "'l'", "", 1, 0},
        {"BEGIN SET VAR x = 1; END", "'x'", ": extra input 'x'", 1, 14},
        {"BEGIN ; END", "';'", "", 1, 6},
        {"BEGIN IF 1=1 THEN END IF; END", "'IF'", "", 1, 22},
        {"BEGIN SELECT 1; END SELECT 2", "'SELECT'", "", 1, 20},
        {"BEGIN", "end of input", "", 1, 5},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_status status = parse_wrong(rows[i].text, &scripting);
        assert_int_equal(nl_error_condition(status), NL_COND_PARSE_SYNTAX_ERROR);
        assert_string_equal(nl_error_param(status, "error"), rows[i].error);
        assert_string_equal(nl_error_param(status, "hint"), rows[i].hint);
        assert_int_equal(nl_error_context(status)->line, rows[i].line);
        assert_int_equal(nl_error_context(status)->position, rows[i].position);
        nl_error_free(status);
    }
}

static void test_labels_variables_and_handlers_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        nl_condition condition;
        const char *message;
    } rows[] = {
        {"BEGIN l: BEGIN SELECT 1; END m; END", NL_COND_LABELS_MISMATCH,
         "Begin label `l` does not match the end label `m`."},
        {"BEGIN BEGIN SELECT 1; END m; END", NL_COND_END_LABEL_WITHOUT_BEGIN_LABEL,
         "End label `m` can not exist without begin label."},
        {"BEGIN DECLARE x INT; SELECT 1; DECLARE y INT; END", NL_COND_INVALID_VARIABLE_DECLARATION__ONLY_AT_BEGINNING,
         "Invalid variable declaration. Variable `y` can only be declared at the beginning of the compound."},
        {"BEGIN WHILE 1 = 1 DO SELECT 1; ITERATE l; END WHILE; END", NL_COND_INVALID_LABEL_USAGE__DOES_NOT_EXIST,
         "The usage of the label L is invalid. Label was used in the ITERATE statement, but the label does not "
         "belong to any surrounding block."},
        {"BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 1; SELECT 2; END", NL_COND_UNSUPPORTED_FEATURE__CONTINUE_EXCEPTION_HANDLER,
         "The feature is not supported: CONTINUE exception handler is not supported. Use EXIT handler."},
        {"BEGIN DECLARE EXIT HANDLER FOR SQLSTATE '22012', NOT FOUND, DIVIDE_BY_ZERO SET x = 1; SELECT 2; END", NL_COND_INVALID_HANDLER_DECLARATION__INVALID_CONDITION_COMBINATION,
         "Invalid handler declaration. Invalid combination of conditions in the handler declaration. "
         "SQLEXCEPTION and NOT FOUND cannot be used together with other condition/sqlstate values."},
        {"BEGIN DECLARE c CONDITION FOR SQLSTATE 'x'; END", NL_COND_INVALID_SQLSTATE,
         "Invalid"},
        {"BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 1; DECLARE x INT; END", NL_COND_INVALID_VARIABLE_DECLARATION__ONLY_AT_BEGINNING,
         "Invalid variable declaration. Variable `x` can only be declared at the beginning of the compound."},
        {"BEGIN l: BEGIN l: BEGIN SELECT 1; END; END; END", NL_COND_LABEL_OR_FOR_VARIABLE_ALREADY_EXISTS,
         "The label or FOR variable `l` already exists. Choose another name or rename the existing one."},
        {"BEGIN l: WHILE 1=1 DO l: LOOP SELECT 1; END LOOP; END WHILE; END", NL_COND_LABEL_OR_FOR_VARIABLE_ALREADY_EXISTS,
         "The label or FOR variable `l` already exists. Choose another name or rename the existing one."},
        {"BEGIN LEAVE x; END", NL_COND_INVALID_LABEL_USAGE__DOES_NOT_EXIST,
         "The usage of the label X is invalid. Label was used in the LEAVE statement, but the label does not "
         "belong to any surrounding block."},
        {"BEGIN a.b: LOOP SELECT 1; END LOOP; END", NL_COND_INVALID_LABEL_USAGE__QUALIFIED_LABEL_NAME,
         "The usage of the label A.B is invalid. Label cannot be qualified."},
        {"BEGIN l: BEGIN LEAVE l; END; l: BEGIN ITERATE l; END; END", NL_COND_INVALID_LABEL_USAGE__ITERATE_IN_COMPOUND,
         "The usage of the label L is invalid. ITERATE statement cannot be used with a label that belongs to a "
         "compound (BEGIN...END) body."},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_status status = parse_wrong(rows[i].text, &scripting);
        if (nl_error_condition(status) != rows[i].condition || !strstr(nl_error_message(status), rows[i].message))
            fail_msg("%s\n%s", rows[i].text, nl_error_message(status));
        nl_error_free(status);
    }
}

static void test_scripts_are_off_by_default(void **state)
{
    (void)state;
    nl_error_free(parse_wrong("BEGIN SELECT 1; END", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripts_are_read_and_printed),
        cmocka_unit_test(test_wrong_scripts_are_placed),
        cmocka_unit_test(test_labels_variables_and_handlers_are_checked),
        cmocka_unit_test(test_scripts_are_off_by_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
