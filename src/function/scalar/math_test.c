/* scalar/math_test.c - math, rounding, bits and hashes; values as Spark 4.0.1 gave them. */
#include "function/test_function.h"

static void test_doubles(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"sqrt", "int", {"-1"}, "NaN"},
        {"ln", "int", {"0"}, "NULL"},
        {"log", "int;int", {"10", "-1"}, "NULL"},
        {"log", "int;int", {"2", "8"}, "3.0"},
        {"log", "int;int", {"1", "5"}, "Infinity"},
        {"log1p", "int", {"-1"}, "NULL"},
        {"exp", "int", {"1"}, "2.7182818284590455"},
        {"pow", "int;string", {"2", "3"}, "8.0"},
        {"cbrt", "int", {"27"}, "3.0"},
        {"rint", "double", {"-1.5"}, "-2.0"},
        {"sign", "day", {"-1"}, "-1.0"},
        {"signum", "int", {"0"}, "0.0"},
        {"degrees", "double", {"3.141592653589793"}, "180.0"},
        {"factorial", "int", {"21"}, "NULL"},
        {"cot", "int", {"1"}, "0.6420926159343306"},
        {"acosh", "int", {"2"}, "1.3169578969248166"},
        {"asinh", "int", {"1"}, "0.8813735870195429"},
        {"atanh", "double", {"0.5"}, "0.5493061443340548"},
        {"acos", "int", {"2"}, "NaN"},
        {"width_bucket", "double;double;double;int", {"5.3", "0.2", "10.6", "5"}, "3"},
        {"width_bucket", "double;double;double;int", {"-0.9", "5.2", "0.5", "2"}, "3"},
        {"width_bucket", "int;int;int;int", {"1", "1", "1", "1"}, "NULL"},
        {"greatest", "int;bigint;decimal(2,1)", {"1", "2", "2.5"}, "2.5"},
        {"greatest", "int;int", {NULL, "1"}, "1"},
        {"greatest", "double;double", {"1.5", "NaN"}, "NaN"},
        {"least", "string;string", {"b", "a"}, "a"},
        {"greatest", "int;string", {"1", "2"}, "!DATATYPE_MISMATCH.DATA_DIFF_TYPES"},
        {"greatest", "int", {"1"}, "!WRONG_NUM_ARGS.WITHOUT_SUGGESTION"},
        {"nanvl", "double;double", {"NaN", "5"}, "5.0"},
        {"isnan", "double", {NULL}, "false"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_rounding(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"round", "decimal(2,1)", {"2.5"}, "3"},
        {"round", "decimal(4,3);int", {"2.567", "2"}, "2.57"},
        {"round", "double", {"-2.5"}, "-3.0"},
        {"round", "double;int", {"-0.0", "1"}, "0.0"},
        {"bround", "double", {"2.5"}, "2.0"},
        {"bround", "decimal(2,1)", {"2.5"}, "2"},
        {"round", "double;int", {"1.005", "2"}, "1.01"},
        {"round", "int;int", {"12345", "-2"}, "12300"},
        {"bround", "int;int", {"25", "-1"}, "20"},
        {"round", "double;int", {"1e300", "2"}, "1.0E300"},
        {"round", "double;int", {"123.456", "-1"}, "120.0"},
        {"round", "float", {"1.5"}, "2.0"},
        {"round", "double", {"NaN"}, "NaN"},
        {"round", "tinyint;int", {"127", "-1"}, "!ARITHMETIC_OVERFLOW"},
        {"round", "int;int", {"2147483647", "-1"}, "!ARITHMETIC_OVERFLOW"},
        {"round", "decimal(6,3);int", {"123.456", "-1"}, "120"},
        {"round", "string", {"1.5"}, "2.0"},
        {"ceil", "decimal(2,1)", {"-0.1"}, "0"},
        {"floor", "decimal(2,1)", {"-0.1"}, "-1"},
        {"ceil", "double", {"1e30"}, "9223372036854775807"},
        {"floor", "double", {"NaN"}, "0"},
        {"ceil", "decimal(5,4);int", {"3.1411", "3"}, "3.142"},
        {"ceil", "decimal(5,4);int", {"3.1411", "-3"}, "1000"},
        {"floor", "decimal(5,4);int", {"-3.1411", "1"}, "-3.2"},
        {"ceil", "int;int", {"5", "-1"}, "10"},
        {"ceil", "bigint;int", {"-12345", "-2"}, "-12300"},
        {"ceil", "string", {"1.5"}, "2"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_bits(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"&", "int;bigint", {"1", "3"}, "1"},
        {"&", "int;string", {"3", "2"}, "2"},
        {"^", "int;int", {"3", "5"}, "6"},
        {"~", "int", {"1"}, "-2"},
        {"<<", "int;int", {"1", "33"}, "2"},
        {"shiftright", "bigint;int", {"-8", "65"}, "-4"},
        {"shiftrightunsigned", "int;int", {"-8", "1"}, "2147483644"},
        {"bit_count", "int", {"-1"}, "64"},
        {"bit_count", "boolean", {"true"}, "1"},
        {"bit_get", "int;int", {"11", "2"}, "0"},
        {"bit_get", "int;int", {"11", "64"}, "!INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_hashes(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"hash", "int", {"1"}, "-559580957"},
        {"hash", "string", {"a"}, "1485273170"},
        {"hash", "bigint", {"1"}, "-1712319331"},
        {"hash", "double", {"1.5"}, "1290763749"},
        {"hash", "float", {"1.5"}, "-221251528"},
        {"hash", "boolean", {"true"}, "-559580957"},
        {"hash", "int", {NULL}, "42"},
        {"hash", "int;string", {"1", "a"}, "-936062819"},
        {"hash", "decimal(10,2)", {"1.5"}, "-2056712946"},
        {"hash", "decimal(30,2)", {"1.5"}, "-339019914"},
        {"hash", "date", {"2020-01-01"}, "-725858435"},
        {"hash", "timestamp", {"2020-01-01"}, "-1486022740"},
        {"hash", "double", {"-0.0"}, "-1670924195"},
        {"hash", "double", {"NaN"}, "-1281358385"},
        {"hash", "day", {"1"}, "892267096"},
        {"hash", "interval", {"1 year 2 months 3 days"}, "-1203597239"},
        {"hash", "string", {"abcdefgh ijk"}, "-932239705"},
        {"xxhash64", "int", {"1"}, "-6698625589789238999"},
        {"xxhash64", "string", {"a"}, "-8582455328737087284"},
        {"xxhash64", "bigint", {"1"}, "-7001672635703045582"},
        {"xxhash64", "double", {"1.5"}, "7738255526519901366"},
        {"xxhash64", "decimal(30,2)", {"1.5"}, "-194698251525976593"},
        {"xxhash64", "string", {"abcdefgh ijk abcdefgh ijk abcdefgh ijk"}, "1743534664797469516"},
        {"xxhash64", "interval", {"1 year 2 months 3 days"}, "-9135508709367131849"},
        {"md5", "string", {"abc"}, "900150983cd24fb0d6963f7d28e17f72"},
        {"sha1", "string", {"abc"}, "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {"sha2", "string;int", {"abc", "0"}, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"sha2", "string;int", {"abc", "1"}, "NULL"},
        {"crc32", "string", {"abc"}, "891568578"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_hashes),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
