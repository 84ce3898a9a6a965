/* sql/split_test.c - scripts cut into statements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "sql/split.h"

/* All pieces of a text with | between them; ~ behind one that `;` did not end. */
static void check_pieces(const char *text, const char *expected)
{
    nl_str rest = nl_str_from(text);
    char actual[1024];
    size_t length = 0;
    for (uint32_t i = 0;; i++) {
        nl_str statement;
        nl_split split = nl_sql_split(&rest, &statement);
        if (split == NL_SPLIT_END) break;
        assert_in_range(length + statement.length + 3, 0, sizeof(actual));
        if (i > 0) actual[length++] = '|';
        memcpy(actual + length, statement.data, statement.length);
        length += statement.length;
        if (split == NL_SPLIT_REST) actual[length++] = '~';
        if (split == NL_SPLIT_REST) break;
    }
    actual[length] = '\0';
    assert_string_equal(actual, expected);
}

static void test_semicolons_end_statements(void **state)
{
    (void)state;
    check_pieces("a;b;c", "a|b|c~");
    check_pieces("a;b;", "a|b");
    check_pieces("a;\n", "a");
    check_pieces("", "");
    check_pieces(" \n ", "");
    check_pieces(";;a;;;b;", "a|b");
    check_pieces("a; -- x\n", "a");
}

static void test_quotes_hide_semicolons(void **state)
{
    (void)state;
    check_pieces("a ';' b; c", "a ';' b| c~");
    check_pieces("\";\" `;`; c", "\";\" `;`| c~");
    check_pieces("'a\\';b'; c", "'a\\';b'| c~");
    check_pieces("`a\\`; c", "`a\\`| c~");
    check_pieces("'a''; b'; c", "'a''; b'| c~");
    check_pieces("a 'b; c", "a 'b; c~");
}

static void test_comments_hide_semicolons(void **state)
{
    (void)state;
    check_pieces("a -- b; c\n; d", "a -- b; c\n| d~");
    check_pieces("a -- b \\\n; c\n; d", "a -- b \\\n; c\n| d~");
    check_pieces("a /* ; /* ; */ ; */ b; c", "a /* ; /* ; */ ; */ b| c~");
    check_pieces("a /* ; b; c", "a /* ; b; c~");
    check_pieces("/* a */", "");
    check_pieces("-- a;b", "");
    check_pieces("/* a ; */ -- b\n;c;", "c");
    check_pieces("'--'; '/*'; a", "'--'| '/*'| a~");
    check_pieces("SELECT /*+ A */ 1; b", "SELECT /*+ A */ 1| b~");
    check_pieces("a /* b", "a /* b~");
}

static void test_blocks_are_one_statement(void **state)
{
    (void)state;
    check_pieces("BEGIN a; b; END; c", "BEGIN a; b; END| c~");
    check_pieces("begin a; begin b; end; end; c", "begin a; begin b; end; end| c~");
    check_pieces("BEGIN IF a THEN b; ELSE c; END IF; END; d", "BEGIN IF a THEN b; ELSE c; END IF; END| d~");
    check_pieces("BEGIN WHILE a DO b; END WHILE; LOOP c; END LOOP; REPEAT d; UNTIL e END REPEAT; END; f",
                 "BEGIN WHILE a DO b; END WHILE; LOOP c; END LOOP; REPEAT d; UNTIL e END REPEAT; END| f~");
    check_pieces("BEGIN FOR x AS SELECT 1 DO a; END FOR; END; b", "BEGIN FOR x AS SELECT 1 DO a; END FOR; END| b~");
    check_pieces("BEGIN CASE WHEN a THEN b; END CASE; SELECT CASE WHEN a THEN b ELSE c END; END; d",
                 "BEGIN CASE WHEN a THEN b; END CASE; SELECT CASE WHEN a THEN b ELSE c END; END| d~");
    check_pieces("BEGIN SELECT if(a, b, c); END; d", "BEGIN SELECT if(a, b, c); END| d~");
    check_pieces("BEGIN l: LOOP LEAVE l; END LOOP l; END; d", "BEGIN l: LOOP LEAVE l; END LOOP l; END| d~");
    check_pieces("SELECT CASE WHEN a THEN b END; c", "SELECT CASE WHEN a THEN b END| c~");
    check_pieces("BEGIN a; b", "BEGIN a; b~");
    check_pieces("CREATE TABLE begin (a INT); b", "CREATE TABLE begin (a INT)| b~");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_semicolons_end_statements),
        cmocka_unit_test(test_quotes_hide_semicolons),
        cmocka_unit_test(test_comments_hide_semicolons),
        cmocka_unit_test(test_blocks_are_one_statement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
