/* scalar/string_test.c - string functions, LIKE and regular expressions; values as Spark 4.0.1 gave them. */
#include "function/test_function.h"

static void test_parts_and_padding(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"substring", "string;int", {"Spark SQL", "5"}, "k SQL"},
        {"substring", "string;int", {"Spark SQL", "-3"}, "SQL"},
        {"substring", "string;int;int", {"hello", "0", "2"}, "he"},
        {"substring", "string;int;int", {"hello", "-10", "7"}, "he"},
        {"substring", "string;int;int", {"hello", "2", "-1"}, ""},
        {"substring", "string;int;int", {"h\xC3\xA9llo", "2", "2"}, "\xC3\xA9l"},
        {"substring", "string;int;int", {"hello", "-2", "10"}, "lo"},
        {"substring", "string;bigint", {"a text of more than twelve", "3"}, "text of more than twelve"},
        {"substring", "binary;int;int", {"abc", "0", "2"}, "ab"},
        {"left", "string;int", {"h\xC3\xA9\xC3\xA9", "2"}, "h\xC3\xA9"},
        {"left", "string;int", {"a", "-1"}, ""},
        {"right", "string;int", {"abc", "10"}, "abc"},
        {"right", "string;int", {"abc", "0"}, ""},
        {"overlay", "string;string;int;int", {"Spark SQL", "tructured", "2", "4"}, "Structured SQL"},
        {"overlay", "string;string;int", {"abc", "X", "-1"}, "Xabc"},
        {"overlay", "string;string;int", {"abc", "X", "10"}, "abcX"},
        {"trim", "string", {"  x "}, "x"},
        {"trim", "string;string", {"xy", "yxaxy"}, "a"},
        {"ltrim", "string;string", {"x", "xxaxx"}, "axx"},
        {"btrim", "string;string", {"yxaxy", "xy"}, "a"},
        {"lpad", "string;int;string", {"hi", "5", "ab"}, "abahi"},
        {"lpad", "string;int;string", {"hi", "1", "ab"}, "h"},
        {"lpad", "string;int", {"hi", "5"}, "   hi"},
        {"lpad", "string;int;string", {"hi", "5", ""}, "hi"},
        {"rpad", "string;int;string", {"\xC3\xA9", "3", "\xC3\xBC"}, "\xC3\xA9\xC3\xBC\xC3\xBC"},
        {"lpad", "string;int;string", {"hi", "-1", "x"}, ""},
        {"length", "string", {"\xC3\xA9"}, "1"},
        {"octet_length", "string", {"\xC3\xA9"}, "2"},
        {"length", "int", {"12"}, "2"},
        {"upper", "string", {"stra\xC3\x9F""e"}, "STRASSE"},
        {"lower", "string", {"\xCE\x91\xCE\xA3"}, "\xCE\xB1\xCF\x82"},
        {"initcap", "string", {"sPark sql a-b c_d"}, "Spark Sql A-b C_d"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_searching_and_replacing(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"instr", "string;string", {"SparkSQL", "SQL"}, "6"},
        {"instr", "string;string", {"abc", ""}, "1"},
        {"locate", "string;string;int", {"bar", "foobarbar", "5"}, "7"},
        {"locate", "string;string;int", {"", "abc", "2"}, "1"},
        {"locate", "string;string;int", {"b", "abc", "0"}, "0"},
        {"locate", "string;string", {"\xC3\xA9", "a\xC3\xA9""a"}, "2"},
        {"replace", "string;string;string", {"ABCabc", "abc", "DEF"}, "ABCDEF"},
        {"replace", "string;string;string", {"abc", "", "x"}, "abc"},
        {"translate", "string;string;string", {"AaBbCc", "abc", "123"}, "A1B2C3"},
        {"translate", "string;string;string", {"abc", "ab", "x"}, "xc"},
        {"reverse", "string", {"a\xC3\xA9"}, "\xC3\xA9""a"},
        {"repeat", "string;int", {"ab", "-1"}, ""},
        {"ascii", "string", {"\xF0\x9F\x98\x80"}, "128512"},
        {"char", "int", {"233"}, "\xC3\xA9"},
        {"chr", "int", {"321"}, "A"},
        {"char", "int", {"-1"}, ""},
        {"split_part", "string;string;int", {"11.12.13", ".", "-1"}, "13"},
        {"split_part", "string;string;int", {"a", ".", "5"}, ""},
        {"split_part", "string;string;int", {"a", ".", "0"}, "!INVALID_INDEX_OF_ZERO"},
        {"substring_index", "string;string;int", {"www.apache.org", ".", "2"}, "www.apache"},
        {"substring_index", "string;string;int", {"www.apache.org", ".", "-2"}, "apache.org"},
        {"find_in_set", "string;string", {"ab", "abc,b,ab,c,def"}, "3"},
        {"find_in_set", "string;string", {"a,b", "a,b"}, "0"},
        {"concat_ws", "string;string;string;int", {"-", "a", NULL, "1"}, "a-1"},
        {"concat_ws", "string;string", {NULL, "a"}, "NULL"},
        {"concat_ws", "string", {"-"}, ""},
        {"elt", "int;string;string", {"2", "a", "b"}, "b"},
        {"elt", "int;string;string", {"3", "a", "b"}, "!INVALID_ARRAY_INDEX"},
        {"levenshtein", "string;string", {"kitten", "sitting"}, "3"},
        {"levenshtein", "string;string;int", {"kitten", "sitting", "2"}, "-1"},
        {"soundex", "string", {"Ashcraft"}, "A261"},
        {"soundex", "string", {"Tymczak"}, "T522"},
        {"soundex", "string", {"123"}, "123"},
        {"luhn_check", "string", {"79927398713"}, "true"},
        {"mask", "string", {"abcd-EFGH-8765-4321"}, "xxxx-XXXX-nnnn-nnnn"},
        {"mask", "string;string;string;string;string", {"AbCD123-@$#", NULL, "q", "d", "o"}, "AqCDdddoooo"},
        {"contains", "string;string", {"Spark SQL", "Spark"}, "true"},
        {"startswith", "string;string", {"a", ""}, "true"},
        {"endswith", "string;string", {"a", "ab"}, "false"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_like(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"like", "string;string", {"abc", "a%"}, "true"},
        {"like", "string;string", {"abc", "_b_"}, "true"},
        {"like", "string;string", {"a%c", "a\\%c"}, "true"},
        {"like", "string;string", {"abc", "%b%"}, "true"},
        {"like", "string;string", {"abc", "ABC"}, "false"},
        {"ilike", "string;string", {"abc", "ABC"}, "true"},
        {"like", "string;string;string", {"a/c", "a//c", "/"}, "true"},
        {"like", "string;string", {"", "%"}, "true"},
        {"like", "string;string", {"a\nb", "a%b"}, "true"},
        {"like", "string;string", {"\xC3\xA9", "_"}, "true"},
        {"like", "string;string", {"abc", "abc%%"}, "true"},
        {"like", "string;string", {"aXbXc", "a%b%c"}, "true"},
        {"like", "string;string", {"aXbX", "a%b%c"}, "false"},
        {"like", "string;string", {"aab", "%ab"}, "true"},
        {"like", "string;string", {"", "_"}, "false"},
        {"like", "string;string", {"a", "a\\"}, "!INVALID_FORMAT.ESC_AT_THE_END"},
        {"like", "string;string", {"a", "a\\b"}, "!INVALID_FORMAT.ESC_IN_THE_MIDDLE"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_regular_expressions(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"rlike", "string;string", {"abc", "b"}, "true"},
        {"rlike", "string;string", {"abc", "^b"}, "false"},
        {"rlike", "string;string", {"a", "("}, "!INVALID_PARAMETER_VALUE.PATTERN"},
        {"regexp_extract", "string;string;int", {"100-200", "(\\d+)-(\\d+)", "2"}, "200"},
        {"regexp_extract", "string;string;int", {"100-200", "(\\d+)-(\\d+)", "3"}, "!INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX"},
        {"regexp_extract", "string;string", {"abc", "(\\d+)"}, ""},
        {"regexp_extract_all", "string;string;int", {"100-200, 300-400", "(\\d+)-(\\d+)", "1"}, "[100, 300]"},
        {"regexp_replace", "string;string;string", {"100-200", "(\\d+)-(\\d+)", "$2-$1"}, "200-100"},
        {"regexp_replace", "string;string;string", {"abc", "b", "\\$"}, "a$c"},
        {"regexp_replace", "string;string;string;int", {"aaa", "a", "b", "2"}, "abb"},
        {"regexp_replace", "string;string;string", {"hello", "", "-"}, "-h-e-l-l-o-"},
        {"regexp_replace", "string;string;string", {"a", "a", "$5"}, "!INVALID_REGEXP_REPLACE"},
        {"regexp_replace", "string;string;string;int", {"a", "a", "b", "0"}, "!DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE"},
        {"regexp_count", "string;string", {"Steven Jones and Stephen Smith", "Ste(v|ph)en"}, "2"},
        {"regexp_substr", "string;string", {"a", "x"}, "NULL"},
        {"regexp_instr", "string;string", {"user@spark.apache.org", "@[^.]*"}, "5"},
        {"split", "string;string", {"oneAtwoBthreeC", "[ABC]"}, "[one, two, three, ]"},
        {"split", "string;string;int", {"oneAtwoBthreeC", "[ABC]", "2"}, "[one, twoBthreeC]"},
        {"split", "string;string", {"abc", ""}, "[a, b, c]"},
        {"split", "string;string;int", {"a,b,,", ",", "0"}, "[a, b, , ]"},
        {"rlike", "string;string", {"x", "\\p{Alpha}"}, "true"},
        {"rlike", "string;string", {"x", "[a-z&&[^x]]"}, "false"},
        {"rlike", "string;string", {"y", "[a-z&&[^x]]"}, "true"},
        {"rlike", "string;string", {"\xC3\xA9", "\\w"}, "false"},
        {"rlike", "string;string", {"\xC3\xA9", "\\p{IsLatin}"}, "true"},
        {"rlike", "string;string", {"a\nb", "a.b"}, "false"},
        {"rlike", "string;string", {"a.c", "\\Qa.c\\E"}, "true"},
        {"rlike", "string;string", {"x", "\\p{javaLowerCase}"}, "true"},
        {"rlike", "string;string", {"A", "(?i)\\u0061"}, "true"},
        {"rlike", "string;string", {"\xF0\x9F\x98\x80", "^.$"}, "true"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_and_padding),
        cmocka_unit_test(test_searching_and_replacing),
        cmocka_unit_test(test_like),
        cmocka_unit_test(test_regular_expressions),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
