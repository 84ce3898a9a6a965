/* Every case is a file that Spark 4.0.1 was given (session time zone Europe/Berlin), with its schema and rows as
 * CAST(column AS STRING). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "column/value.h"
#include "format/csv/csv_reader.h"
#include "format/csv/csv_writer.h"
#include "format/text/test_schema.h"
#include "format/text/text_stream.h"

typedef struct file_case {
    const char *content;
    const char *schema;   /* given; NULL: inferred */
    const char *expected_schema;
    const char *expected; /* rows of values with bars between, ~ for null */
    nl_text_option options[3];
} file_case;

#define NONE {.key = {NULL, 0}}

static const file_case cases[] = {
    {"a,b,c\n1,2,3\n", NULL, "struct<_c0:string,_c1:string,_c2:string>", "a|b|c\n1|2|3\n", {NONE}},
    {"a,b\n", NULL, "struct<_c0:string,_c1:string>", "a|b\n", {NONE}},
    {"\n\na,b\n\n", NULL, "struct<_c0:string,_c1:string>", "a|b\n", {NONE}},
    {"", NULL, "struct<>", "", {NONE}},
    {"a,b\n1\n1,2,3\n", NULL, "struct<_c0:string,_c1:string>", "a|b\n1|~\n1|2\n", {NONE}},
    {"\"a\",\"b\"\n", NULL, "struct<_c0:string,_c1:string>", "a|b\n", {NONE}},
    {"\"a\"\"b\",c\n", NULL, "struct<_c0:string,_c1:string>", "\"a\"\"b\"|c\n", {NONE}},
    {"\"a\\\"b\",c\n", NULL, "struct<_c0:string,_c1:string>", "a\"b|c\n", {NONE}},
    {"\"a\\\\\",c\n", NULL, "struct<_c0:string,_c1:string>", "a\\|c\n", {NONE}},
    {"\"a\\\\b\",c\n", NULL, "struct<_c0:string,_c1:string>", "a\\b|c\n", {NONE}},
    {"\"a\\nb\",c\n", NULL, "struct<_c0:string,_c1:string>", "a\\nb|c\n", {NONE}},
    {"a\\\"b,c\n", NULL, "struct<_c0:string,_c1:string>", "a\\\"b|c\n", {NONE}},
    {"a\\,b\n", NULL, "struct<_c0:string,_c1:string>", "a\\|b\n", {NONE}},
    {"a\"b,c\n", NULL, "struct<_c0:string,_c1:string>", "a\"b|c\n", {NONE}},
    {"a\"b\"c,d\n", NULL, "struct<_c0:string,_c1:string>", "a\"b\"c|d\n", {NONE}},
    {"\"a\"b,c\n", NULL, "struct<_c0:string,_c1:string>", "\"a\"b|c\n", {NONE}},
    {"\"a\"b\",c\n", NULL, "struct<_c0:string,_c1:string>", "\"a\"b\"|c\n", {NONE}},
    {"\"a\" ,c\n", NULL, "struct<_c0:string,_c1:string>", "a|c\n", {NONE}},
    {" \"a\" ,c\n", NULL, "struct<_c0:string,_c1:string>", " \"a\" |c\n", {NONE}},
    {" \"a\",c\n", NULL, "struct<_c0:string,_c1:string>", "a|c\n", {{NL_STR_INIT("ignoreLeadingWhiteSpace"), NL_STR_INIT("true")}}},
    {"\"abc,d\nx,y\n", NULL, "struct<_c0:string>", "abc,d\nx\n", {NONE}},
    {"\"abc\n", NULL, "struct<_c0:string>", "abc\n", {NONE}},
    {"\"\n", NULL, "struct<_c0:string>", "\"\n", {NONE}},
    {"a,\"\n", NULL, "struct<_c0:string,_c1:string>", "a|\"\n", {NONE}},
    {"\"a,b\"c,d\n", NULL, "struct<_c0:string,_c1:string>", "\"a,b\"c|d\n", {NONE}},
    {"\"a\"b,c\"d,e\n", NULL, "struct<_c0:string,_c1:string,_c2:string>", "\"a\"b|c\"d|e\n", {NONE}},
    {"\"\",a\n", NULL, "struct<_c0:string,_c1:string>", "~|a\n", {NONE}},
    {",a\n", NULL, "struct<_c0:string,_c1:string>", "~|a\n", {NONE}},
    {",\n", NULL, "struct<_c0:string,_c1:string>", "~|~\n", {NONE}},
    {"\" \",a\n", NULL, "struct<_c0:string,_c1:string>", " |a\n", {NONE}},
    {" a , b \n", NULL, "struct<_c0:string,_c1:string>", " a | b \n", {NONE}},
    {" a , b \n", NULL, "struct<_c0:string,_c1:string>", "a|b\n", {{NL_STR_INIT("ignoreLeadingWhiteSpace"), NL_STR_INIT("true")}, {NL_STR_INIT("ignoreTrailingWhiteSpace"), NL_STR_INIT("true")}}},
    {"\" a \",\" b \"\n", NULL, "struct<_c0:string,_c1:string>", " a | b \n", {{NL_STR_INIT("ignoreLeadingWhiteSpace"), NL_STR_INIT("true")}, {NL_STR_INIT("ignoreTrailingWhiteSpace"), NL_STR_INIT("true")}}},
    {"\ta\t,\tb\t\n", NULL, "struct<_c0:string,_c1:string>", "a|b\n", {{NL_STR_INIT("ignoreLeadingWhiteSpace"), NL_STR_INIT("true")}, {NL_STR_INIT("ignoreTrailingWhiteSpace"), NL_STR_INIT("true")}}},
    {"#a,b\nc,d\n", NULL, "struct<_c0:string,_c1:string>", "c|d\n", {{NL_STR_INIT("comment"), NL_STR_INIT("#")}}},
    {" #a,b\nc,d#e\n", NULL, "struct<_c0:string,_c1:string>", " #a|b\nc|d#e\n", {{NL_STR_INIT("comment"), NL_STR_INIT("#")}}},
    {"\"#a\",b\n", NULL, "struct<_c0:string,_c1:string>", "#a|b\n", {{NL_STR_INIT("comment"), NL_STR_INIT("#")}}},
    {"a;b\n", NULL, "struct<_c0:string,_c1:string>", "a|b\n", {{NL_STR_INIT("sep"), NL_STR_INIT(";")}}},
    {"a||b||\"c||d\"\n", NULL, "struct<_c0:string,_c1:string,_c2:string>", "a|b|c||d\n", {{NL_STR_INIT("sep"), NL_STR_INIT("||")}}},
    {"a\tb\n", NULL, "struct<_c0:string,_c1:string>", "a|b\n", {{NL_STR_INIT("sep"), NL_STR_INIT("\\t")}}},
    {"a'b','c\n", NULL, "struct<_c0:string,_c1:string>", "a'b'|c\n", {{NL_STR_INIT("quote"), NL_STR_INIT("'")}}},
    {"'a,b',c\n", NULL, "struct<_c0:string,_c1:string>", "a,b|c\n", {{NL_STR_INIT("quote"), NL_STR_INIT("'")}}},
    {"\"a,b\",c\n", NULL, "struct<_c0:string,_c1:string,_c2:string>", "\"a|b\"|c\n", {{NL_STR_INIT("quote"), NL_STR_INIT("")}}},
    {"\"a$\"b\",c\n", NULL, "struct<_c0:string,_c1:string>", "a\"b|c\n", {{NL_STR_INIT("escape"), NL_STR_INIT("$")}}},
    {"\"a\"\"b\",c\n", NULL, "struct<_c0:string,_c1:string>", "a\"b|c\n", {{NL_STR_INIT("escape"), NL_STR_INIT("\"")}}},
    {"\"a\"b\",c\n", NULL, "struct<_c0:string,_c1:string>", "\"a\"b\"|c\n", {{NL_STR_INIT("escape"), NL_STR_INIT("\"")}}},
    {"null,NULL,a\n", NULL, "struct<_c0:string,_c1:string,_c2:string>", "~|NULL|a\n", {{NL_STR_INIT("nullValue"), NL_STR_INIT("null")}}},
    {"\"null\",a\n", NULL, "struct<_c0:string,_c1:string>", "~|a\n", {{NL_STR_INIT("nullValue"), NL_STR_INIT("null")}}},
    {"\"\",,a\n", NULL, "struct<_c0:string,_c1:string,_c2:string>", "|~|a\n", {{NL_STR_INIT("nullValue"), NL_STR_INIT("x")}}},
    {"\"\",,a\n", NULL, "struct<_c0:string,_c1:string,_c2:string>", "E|~|a\n", {{NL_STR_INIT("emptyValue"), NL_STR_INIT("E")}}},
    {"\"\",,a\n", NULL, "struct<_c0:string,_c1:string,_c2:string>", "E|~|a\n", {{NL_STR_INIT("emptyValue"), NL_STR_INIT("E")}, {NL_STR_INIT("nullValue"), NL_STR_INIT("x")}}},
    {"a,b\r\nc,d\r\n", NULL, "struct<_c0:string,_c1:string>", "a|b\nc|d\n", {NONE}},
    {"a,b\rc,d\r", NULL, "struct<_c0:string,_c1:string>", "a|b\nc|d\n", {NONE}},
    {"a,b|c,d|", NULL, "struct<_c0:string,_c1:string>", "a|b\nc|d\n", {{NL_STR_INIT("lineSep"), NL_STR_INIT("|")}}},
    {"a,b\nc,d|e,f", NULL, "struct<_c0:string,_c1:string,_c2:string>", "a|b\nc|d\ne|f|~\n", {{NL_STR_INIT("lineSep"), NL_STR_INIT("|")}}},
    {"\357\273\277a,b\n", NULL, "struct<_c0:string,_c1:string>", "a|b\n", {NONE}},
    {"a,b\n1,2\n", NULL, "struct<a:string,b:string>", "1|2\n", {{NL_STR_INIT("header"), NL_STR_INIT("true")}}},
    {"a,a\n1,2\n", NULL, "struct<a0:string,a1:string>", "1|2\n", {{NL_STR_INIT("header"), NL_STR_INIT("true")}}},
    {"a,A,b\n1,2,3\n", NULL, "struct<a0:string,A1:string,b:string>", "1|2|3\n", {{NL_STR_INIT("header"), NL_STR_INIT("true")}}},
    {",b,\n1,2,3\n", NULL, "struct<_c0:string,b:string,_c2:string>", "1|2|3\n", {{NL_STR_INIT("header"), NL_STR_INIT("true")}}},
    {" a,\"b c\"\n1,2\n", NULL, "struct< a:string,b c:string>", "1|2\n", {{NL_STR_INIT("header"), NL_STR_INIT("true")}}},
    {"a,b\n1,2\na,b\n", NULL, "struct<a:string,b:string>", "1|2\na|b\n", {{NL_STR_INIT("header"), NL_STR_INIT("true")}}},
    {"\n\na,b\n1,2\n", NULL, "struct<a:string,b:string>", "1|2\n", {{NL_STR_INIT("header"), NL_STR_INIT("true")}}},
    {"#x\na,b\n1,2\n", NULL, "struct<a:string,b:string>", "1|2\n", {{NL_STR_INIT("header"), NL_STR_INIT("true")}, {NL_STR_INIT("comment"), NL_STR_INIT("#")}}},
    {"\"a\nb\",c\nd,e\n", NULL, "struct<_c0:string,_c1:string>", "a\nb|c\nd|e\n", {{NL_STR_INIT("multiLine"), NL_STR_INIT("true")}}},
    {"\"a\r\nb\",c\r\nd,e\r\n", NULL, "struct<_c0:string,_c1:string>", "a\nb|c\nd|e\n", {{NL_STR_INIT("multiLine"), NL_STR_INIT("true")}}},
    {"a,b\n\n\nc,d\n", NULL, "struct<_c0:string,_c1:string>", "a|b\nc|d\n", {{NL_STR_INIT("multiLine"), NL_STR_INIT("true")}}},
    {"\"a\nb\",c\nd,e\n", NULL, "struct<_c0:string>", "a\nb\"\nd\n", {NONE}},
    {"\"abc,d\nx,y\n", NULL, "struct<_c0:string>", "abc,d\nx,y\n\n", {{NL_STR_INIT("multiLine"), NL_STR_INIT("true")}}},
    {"a\n\n \nb\n", NULL, "struct<_c0:string>", "a\nb\n", {NONE}},
    {"a\n\"\"\nb\n", NULL, "struct<_c0:string>", "a\n~\nb\n", {NONE}},
    {"a,\n,\n\n", NULL, "struct<_c0:string,_c1:string>", "a|~\n~|~\n", {NONE}},
    {"\"a\"b\n", "a string, b string, c string", "struct<a:string,b:string,c:string>", "\"a\"b|~|~\n", {NONE}},
    {"\"a\"b\"\n", "a string, b string, c string", "struct<a:string,b:string,c:string>", "\"a\"b\"|~|~\n", {NONE}},
    {"\"\"a\n", "a string, b string, c string", "struct<a:string,b:string,c:string>", "\"\"a|~|~\n", {NONE}},
    {"\"a\"b\\\"c,d\n", "a string, b string, c string", "struct<a:string,b:string,c:string>", "\"a\"b\\\"c|d|~\n", {NONE}},
    {"\"a\"b\\\\c,d\n", "a string, b string, c string", "struct<a:string,b:string,c:string>", "\"a\"b\\\\c|d|~\n", {NONE}},
    {"\"a\"\"\n", "a string, b string, c string", "struct<a:string,b:string,c:string>", "a\"|~|~\n", {NONE}},
    {"\"a\"b \"c\" ,d\n", "a string, b string, c string", "struct<a:string,b:string,c:string>", "\"a\"b \"c\" |d|~\n", {NONE}},
    {"\"a\\\"b\n", "a string, b string, c string", "struct<a:string,b:string,c:string>", "a\"b|~|~\n", {NONE}},
    {"x,\"\"\"\n", "a string, b string, c string", "struct<a:string,b:string,c:string>", "x|\"|~\n", {NONE}},
    {"x,\"\"\"\"\n", "a string, b string, c string", "struct<a:string,b:string,c:string>", "x|\"\"|~\n", {NONE}},
    {"\"a\",b\"\n", "a string, b string, c string", "struct<a:string,b:string,c:string>", "a|b\"|~\n", {NONE}},
    {"1\n 2\n3 \n+4\n-5\n1.0\nabc\n99999999999\n0x1\n1e2\n", "a int, _corrupt_record string", "struct<a:int,_corrupt_record:string>", "1|~\n~| 2\n~|3 \n4|~\n-5|~\n~|1.0\n~|abc\n~|99999999999\n~|0x1\n~|1e2\n", {NONE}},
    {"1\n128\n-129\n", "a tinyint, _corrupt_record string", "struct<a:tinyint,_corrupt_record:string>", "1|~\n~|128\n~|-129\n", {NONE}},
    {"1\n32768\n", "a smallint, _corrupt_record string", "struct<a:smallint,_corrupt_record:string>", "1|~\n~|32768\n", {NONE}},
    {"1\n9223372036854775808\n", "a bigint, _corrupt_record string", "struct<a:bigint,_corrupt_record:string>", "1|~\n~|9223372036854775808\n", {NONE}},
    {"1\n1.5\n 2 \n1e3\nNaN\nnan\nInf\n-Inf\nInfinity\n-Infinity\n+Infinity\n1d\n1f\n0x1p3\nabc\n1e400\n1_0\n", "a double, _corrupt_record string", "struct<a:double,_corrupt_record:string>", "1.0|~\n1.5|~\n2.0|~\n1000.0|~\nNaN|~\n~|nan\nInfinity|~\n-Infinity|~\nInfinity|~\n-Infinity|~\nInfinity|~\n1.0|~\n1.0|~\n8.0|~\n~|abc\nInfinity|~\n~|1_0\n", {NONE}},
    {"1\n1.5\n1e39\n", "a float, _corrupt_record string", "struct<a:float,_corrupt_record:string>", "1.0|~\n1.5|~\nInfinity|~\n", {NONE}},
    {"x\ny\n", "a double, _corrupt_record string", "struct<a:double,_corrupt_record:string>", "NaN|~\nInfinity|~\n", {{NL_STR_INIT("nanValue"), NL_STR_INIT("x")}, {NL_STR_INIT("positiveInf"), NL_STR_INIT("y")}}},
    {"true\nFALSE\nTrue\n1\nt\nyes\n true\n", "a boolean, _corrupt_record string", "struct<a:boolean,_corrupt_record:string>", "true|~\nfalse|~\ntrue|~\n~|1\n~|t\n~|yes\n~| true\n", {NONE}},
    {"1\n1.555\n1,234.5\n 1\n1e2\n123456.7\n99999.995\nabc\n-.5\n5.\n", "a decimal(7,2), _corrupt_record string", "struct<a:decimal(7,2),_corrupt_record:string>", "1.00|~\n1.56|~\n1234.50|~\n~| 1\n100.00|~\n~|123456.7\n~|99999.995\n~|abc\n-0.50|~\n5.00|~\n", {{NL_STR_INIT("sep"), NL_STR_INIT(";")}}},
    {"01/02/2020\n2020-01-02\n1/2/2020\n", "a date, _corrupt_record string", "struct<a:date,_corrupt_record:string>", "2020-02-01|~\n~|2020-01-02\n~|1/2/2020\n", {{NL_STR_INIT("dateFormat"), NL_STR_INIT("dd/MM/yyyy")}}},
    {"2020-01-01 10:00:00\n2020-01-01T10:00:00.5Z\n2020-01-01\n", "a timestamp, _corrupt_record string", "struct<a:timestamp,_corrupt_record:string>", "2020-01-01 10:00:00|~\n~|2020-01-01T10:00:00.5Z\n~|2020-01-01\n", {{NL_STR_INIT("timestampFormat"), NL_STR_INIT("yyyy-MM-dd HH:mm:ss")}}},
    {"2020-01-01 10:00:00\n2020-01-01T10:00:00.5Z\n2020-01-01\n2020-01-01T10:00:00.123456\n", "a timestamp_ntz, _corrupt_record string", "struct<a:timestamp_ntz,_corrupt_record:string>", "2020-01-01 10:00:00|~\n~|2020-01-01T10:00:00.5Z\n2020-01-01 00:00:00|~\n2020-01-01 10:00:00.123456|~\n", {NONE}},
    {"2020-01-01 10:00\n2020-01-01T10:00:00.5Z\n", "a timestamp_ntz, _corrupt_record string", "struct<a:timestamp_ntz,_corrupt_record:string>", "2020-01-01 10:00:00|~\n~|2020-01-01T10:00:00.5Z\n", {{NL_STR_INIT("timestampNTZFormat"), NL_STR_INIT("yyyy-MM-dd HH:mm")}}},
    {"INTERVAL '1' DAY\n1 day\n1\nINTERVAL '1 02:00:00' DAY TO SECOND\n", "a interval day to second, _corrupt_record string", "struct<a:interval day to second,_corrupt_record:string>", "~|INTERVAL '1' DAY\n~|1 day\n~|1\nINTERVAL '1 02:00:00' DAY TO SECOND|~\n", {NONE}},
    {"1-2\n1 year\n", "a interval year to month, _corrupt_record string", "struct<a:interval year to month,_corrupt_record:string>", "INTERVAL '1-2' YEAR TO MONTH|~\n~|1 year\n", {NONE}},
    {"abc\n", "a binary, _corrupt_record string", "struct<a:binary,_corrupt_record:string>", "abc|~\n", {NONE}},
    {"1,2\n1\n1,2,3\nx,2\n1,\n", "a int, b int, _corrupt_record string", "struct<a:int,b:int,_corrupt_record:string>", "1|2|~\n1|~|1\n1|2|1,2,3\n~|2|x,2\n1|~|~\n", {NONE}},
    {"1,2\n1\n1,2,3\nx,2\n1,\n", "a int, b int", "struct<a:int,b:int>", "1|2\n1|~\n1|2\n~|2\n1|~\n", {NONE}},
    {"1,2\n1\n1,2,3\nx,2\n1,\n", "a int, b int", "struct<a:int,b:int>", "1|2\n1|~\n", {{NL_STR_INIT("mode"), NL_STR_INIT("DROPMALFORMED")}}},
    {"1,2\nx,y\n", "a int, b int", "struct<a:int,b:int>", "1|2\n~|~\n", {{NL_STR_INIT("mode"), NL_STR_INIT("nonsense")}}},
    {"1,2\nx,2\n", "a int, bad string, b int", "struct<a:int,bad:string,b:int>", "1|~|2\n~|x,2|2\n", {{NL_STR_INIT("columnNameOfCorruptRecord"), NL_STR_INIT("bad")}}},
    {"x,2\n1,y\n", "a int not null, b int not null", "struct<a:int,b:int>", "~|2\n1|~\n", {NONE}},
    {"a,b\n1,2\n", "x int, y int", "struct<x:int,y:int>", "1|2\n", {{NL_STR_INIT("header"), NL_STR_INIT("true")}}},
    {"a,b\n1,2\n", "A int, B int", "struct<A:int,B:int>", "1|2\n", {{NL_STR_INIT("header"), NL_STR_INIT("true")}, {NL_STR_INIT("enforceSchema"), NL_STR_INIT("false")}}},
    {"1,1.5,a,true,2020-01-01,2020-01-01 10:00:00,\n2,2,b,FALSE,2020-01-02,2020-01-01T10:00:00Z,\n", NULL, "struct<_c0:int,_c1:double,_c2:string,_c3:boolean,_c4:date,_c5:timestamp,_c6:string>", "1|1.5|a|true|2020-01-01|2020-01-01 10:00:00|~\n2|2.0|b|false|2020-01-02|2020-01-01 11:00:00|~\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1\n3000000000\n", NULL, "struct<_c0:bigint>", "1\n3000000000\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1\n30000000000000000000\n", NULL, "struct<_c0:decimal(20,0)>", "1\n30000000000000000000\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1\n1.5\n30000000000000000000\n", NULL, "struct<_c0:double>", "1.0\n1.5\n3.0E19\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"99999999999999999999999999999999999999\n", NULL, "struct<_c0:decimal(38,0)>", "99999999999999999999999999999999999999\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"999999999999999999999999999999999999999\n", NULL, "struct<_c0:double>", "1.0E39\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1\nabc\n", NULL, "struct<_c0:string>", "1\nabc\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"true\n1\n", NULL, "struct<_c0:string>", "true\n1\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"true\n\n", NULL, "struct<_c0:boolean>", "true\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1,\n,2\n", NULL, "struct<_c0:int,_c1:int>", "1|~\n~|2\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"x\n1\n", NULL, "struct<_c0:string>", "x\n1\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"2020-01-01\n2020-01-01 10:00:00\n", NULL, "struct<_c0:timestamp>", "2020-01-01 00:00:00\n2020-01-01 10:00:00\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"2020-01-01 10:00:00\n2020-01-01\n", NULL, "struct<_c0:timestamp>", "2020-01-01 10:00:00\n2020-01-01 00:00:00\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"2020-1-1\n", NULL, "struct<_c0:timestamp>", "2020-01-01 00:00:00\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"2020\n", NULL, "struct<_c0:int>", "2020\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"2020-01\n", NULL, "struct<_c0:timestamp>", "2020-01-01 00:00:00\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"2020-01-01\nabc\n", NULL, "struct<_c0:string>", "2020-01-01\nabc\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"2020-01-01\n1\n", NULL, "struct<_c0:string>", "2020-01-01\n1\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1\n2020-01-01\n", NULL, "struct<_c0:string>", "1\n2020-01-01\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"2020-01-01 10:00:00\n", NULL, "struct<_c0:timestamp>", "2020-01-01 10:00:00\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}, {NL_STR_INIT("timestampFormat"), NL_STR_INIT("yyyy-MM-dd HH:mm:ss")}}},
    {"01/02/2020\n", NULL, "struct<_c0:date>", "2020-02-01\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}, {NL_STR_INIT("dateFormat"), NL_STR_INIT("dd/MM/yyyy")}}},
    {"01/02/2020\n2020-01-01 00:00:00\n", NULL, "struct<_c0:string>", "01/02/2020\n2020-01-01 00:00:00\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}, {NL_STR_INIT("dateFormat"), NL_STR_INIT("dd/MM/yyyy")}}},
    {"2020-01-01\n", NULL, "struct<_c0:timestamp>", "2020-01-01 00:00:00\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}, {NL_STR_INIT("dateFormat"), NL_STR_INIT("dd/MM/yyyy")}}},
    {"2020-01-01\n", NULL, "struct<_c0:timestamp>", "2020-01-01 00:00:00\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}, {NL_STR_INIT("preferDate"), NL_STR_INIT("false")}}},
    {"NaN\n", NULL, "struct<_c0:double>", "NaN\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"nan\n", NULL, "struct<_c0:string>", "nan\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"Infinity\n", NULL, "struct<_c0:double>", "Infinity\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"Inf\n1\n", NULL, "struct<_c0:double>", "Infinity\n1.0\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1e3\n", NULL, "struct<_c0:double>", "1000.0\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"0x1\n", NULL, "struct<_c0:string>", "0x1\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1d\n", NULL, "struct<_c0:double>", "1.0\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1f\n", NULL, "struct<_c0:double>", "1.0\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {" 1\n", NULL, "struct<_c0:double>", "1.0\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1 \n", NULL, "struct<_c0:double>", "1.0\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"+1\n", NULL, "struct<_c0:int>", "1\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"-1\n", NULL, "struct<_c0:int>", "-1\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1,000\n", NULL, "struct<_c0:string>", "1,000\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}, {NL_STR_INIT("sep"), NL_STR_INIT(";")}}},
    {"007\n", NULL, "struct<_c0:int>", "7\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1.\n", NULL, "struct<_c0:decimal(1,0)>", "1\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {".5\n", NULL, "struct<_c0:double>", "0.5\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1L\n", NULL, "struct<_c0:string>", "1L\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"t\n", NULL, "struct<_c0:string>", "t\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"True\n", NULL, "struct<_c0:boolean>", "true\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"null\n1\n", NULL, "struct<_c0:int>", "~\n1\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}, {NL_STR_INIT("nullValue"), NL_STR_INIT("null")}}},
    {"\"\"\n1\n", NULL, "struct<_c0:int>", "~\n1\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"\"1\"\n2\n", NULL, "struct<_c0:int>", "1\n2\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"a,b\n1,2\n3,x\n", NULL, "struct<a:int,b:string>", "1|2\n3|x\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}, {NL_STR_INIT("header"), NL_STR_INIT("true")}}},
    {"a,b\n1\n1,2,3\n", NULL, "struct<a:int,b:int>", "1|~\n1|2\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}, {NL_STR_INIT("header"), NL_STR_INIT("true")}}},
    {"2020-01-01 10:00:00\n", NULL, "struct<_c0:timestamp>", "2020-01-01 10:00:00\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}, {NL_STR_INIT("timestampNTZFormat"), NL_STR_INIT("yyyy-MM-dd HH:mm:ss")}}},
    {"2020-01-01T10:00:00\n2020-01-01T10:00:00+01:00\n", NULL, "struct<_c0:timestamp>", "2020-01-01 10:00:00\n2020-01-01 10:00:00\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1 day\n", NULL, "struct<_c0:string>", "1 day\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"2020-01-01 10:00:00.123456\n", NULL, "struct<_c0:timestamp>", "2020-01-01 10:00:00.123456\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1.5\n2020-01-01\n", NULL, "struct<_c0:string>", "1.5\n2020-01-01\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"true\n2020-01-01\n", NULL, "struct<_c0:string>", "true\n2020-01-01\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1\ntrue\n", NULL, "struct<_c0:string>", "1\ntrue\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1.50\n1\n", NULL, "struct<_c0:double>", "1.5\n1.0\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"12345678901\n1.5\n", NULL, "struct<_c0:double>", "1.2345678901E10\n1.5\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"30000000000000000000\n1.5\n", NULL, "struct<_c0:double>", "3.0E19\n1.5\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"30000000000000000000\nNaN\n", NULL, "struct<_c0:double>", "3.0E19\nNaN\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1e400\n", NULL, "struct<_c0:double>", "Infinity\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"30000000000000000000\n1E5\n", NULL, "struct<_c0:double>", "3.0E19\n100000.0\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1E5\n", NULL, "struct<_c0:double>", "100000.0\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"1E25\n", NULL, "struct<_c0:double>", "1.0E25\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
    {"9223372036854775808\n1\n", NULL, "struct<_c0:decimal(19,0)>", "9223372036854775808\n1\n", {{NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}}},
};

static nl_fs *fs;
static nl_arena *arena;

static int set_up(void **state)
{
    (void)state;
    fs = nl_fs_memory_new();
    arena = nl_arena_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nl_fs_release(fs);
    nl_arena_free(arena);
    return 0;
}

static void must(nl_status status)
{
    if (status) fail_msg("%s %s", nl_error_message(status), nl_error_notes(status));
}

static nl_file *make_file(nl_str content)
{
    nl_file *file;
    must(nl_fs_write_all(fs, NL_STR("memory:/f.csv"), (nl_bytes){(const uint8_t *)content.data, content.length}));
    must(nl_fs_open(fs, NL_STR("memory:/f.csv"), &file));
    return file;
}

static nl_csv_options options_of(const nl_text_option *items, uint32_t count_max, nl_text_use use)
{
    nl_csv_options parsed;
    nl_text_session session = {0};
    nl_text_option_list list = {.items = items};
    must(nl_timezone_find(NL_STR("Europe/Berlin"), &session.zone));
    while (list.count < count_max && items[list.count].key.length)
        list.count++;
    must(nl_csv_options_parse(list, &session, use, arena, &parsed));
    return parsed;
}

static void append_rows(const nl_batch *batch, const nl_csv_options *options, nl_builder *out)
{
    nl_text_options text = {.style = NL_TEXT_CAST, .zone = options->formats.zone};
    for (uint32_t row = 0; row < batch->row_count; row++) {
        for (uint32_t column = 0; column < batch->column_count; column++) {
            if (column) nl_append_char(out, '|');
            if (nl_vector_is_null(&batch->columns[column], row))
                nl_append_char(out, '~');
            else
                nl_vector_append_text(&batch->columns[column], row, &text, out);
        }
        nl_append_char(out, '\n');
    }
}

static nl_status read_part(nl_file *file, const nl_csv_options *options, const nl_type *type, uint64_t start, uint64_t stop,
                           nl_builder *out)
{
    uint32_t wanted[64];
    nl_csv_reader *reader;
    for (uint32_t i = 0; i < type->child_count; i++)
        wanted[i] = i;
    nl_csv_source source = {file, options, type, wanted, type->child_count, start, stop};
    NL_TRY(nl_csv_reader_open(&source, NULL, &reader));
    nl_status status = NULL;
    bool is_done = false;
    while (!status && !is_done) {
        nl_batch batch = {0};
        status = nl_csv_reader_next(reader, &batch, &is_done);
        if (!status && !is_done) append_rows(&batch, options, out);
        nl_batch_fini(&batch);
    }
    nl_csv_reader_close(reader);
    return status;
}

static const nl_type *type_from(const char *text)
{
    return test_parse_type(arena, &text);
}

static void check_case(const file_case *item)
{
    nl_csv_options options = options_of(item->options, 3, NL_TEXT_READ);
    nl_file *file = make_file(nl_str_from(item->content));
    const nl_type *type = type_from(item->expected_schema);
    nl_builder out;
    nl_builder_init(&out, 1 << 20);
    if (!item->schema) {
        nl_file *const files[] = {file};
        const nl_type *inferred;
        must(nl_csv_infer_schema(files, 1, &options, arena, NULL, &inferred));
        nl_str name = nl_type_name(arena, inferred);
        if (!nl_str_is(name, item->expected_schema))
            fail_msg("%s: %.*s, not %s", item->content, (int)name.length, name.data, item->expected_schema);
    }
    if (type->child_count) must(read_part(file, &options, type, 0, UINT64_MAX, &out));
    const char *got = out.length ? nl_builder_c(&out) : "";
    if (strcmp(got, item->expected) != 0) fail_msg("%s\n  gave %s\n  not %s", item->content, got, item->expected);
    if (nl_text_is_splittable(NL_STR("f.csv"), &options.formats) && type->child_count) {
        size_t length = strlen(item->content);
        nl_builder_clear(&out);
        for (uint64_t start = 0; start < length; start += 3)
            must(read_part(file, &options, type, start, start + 3, &out));
        /* A header is only known to be one where the file starts. */
        if (!options.has_header) assert_string_equal(out.length ? nl_builder_c(&out) : "", item->expected);
    }
    nl_builder_fini(&out);
    nl_file_close(file);
}

static void test_files_are_read_as_spark_reads_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(cases); i++)
        check_case(&cases[i]);
}

#define OPTION(k, v) {NL_STR_INIT(k), NL_STR_INIT(v)}

static void assert_fails(const char *content, const char *schema, const nl_text_option *option, nl_condition condition)
{
    nl_csv_options options = options_of(option, 2, NL_TEXT_READ);
    nl_file *file = make_file(nl_str_from(content));
    nl_builder out;
    nl_builder_init(&out, 1000);
    nl_status status = read_part(file, &options, type_from(schema), 0, UINT64_MAX, &out);
    assert_non_null(status);
    if (nl_error_condition(status) != condition) fail_msg("%s", nl_error_message(status));
    nl_error_free(status);
    nl_builder_fini(&out);
    nl_file_close(file);
}

static void test_a_malformed_record_is_the_cause(void **state)
{
    (void)state;
    const nl_text_option fail_fast[2] = {OPTION("mode", "FAILFAST")};
    nl_csv_options options = options_of(fail_fast, 2, NL_TEXT_READ);
    nl_file *file = make_file(NL_STR("1,2\nx,y\n"));
    nl_builder out;
    nl_builder_init(&out, 1000);
    nl_status status = read_part(file, &options, type_from("struct<a:int,b:int>"), 0, UINT64_MAX, &out);
    assert_int_equal(nl_error_condition(status), NL_COND_FAILED_READ_FILE__NO_HINT);
    nl_error *cause = nl_error_cause(status);
    assert_non_null(cause);
    assert_int_equal(nl_error_condition(cause), NL_COND_MALFORMED_RECORD_IN_PARSING__WITHOUT_SUGGESTION);
    assert_string_equal(nl_error_param(cause, "badRecord"), "x,y");
    nl_error_free(status);
    nl_builder_fini(&out);
    nl_file_close(file);
}

static void test_what_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    static const nl_text_option none[2] = {NONE};
    static const nl_text_option fail_fast[2] = {OPTION("mode", "FAILFAST")};
    static const nl_text_option bad[2] = {OPTION("columnNameOfCorruptRecord", "bad")};
    static const nl_text_option strict[2] = {OPTION("header", "true"), OPTION("enforceSchema", "false")};
    assert_fails("1,2\n1\n", "struct<a:int,b:int>", fail_fast, NL_COND_FAILED_READ_FILE__NO_HINT);
    assert_fails("1,2\nx,y\n", "struct<a:int,b:int>", fail_fast, NL_COND_FAILED_READ_FILE__NO_HINT);
    assert_fails("1\n", "struct<a:array<int>>", none, NL_COND_UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE);
    assert_fails("1\n", "struct<a:variant>", none, NL_COND_UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE);
    assert_fails("1,2\n", "struct<a:int,bad:int>", bad, NL_COND_INVALID_CORRUPT_RECORD_TYPE);
    assert_fails("a,b\n1,2\n", "struct<b:int,a:int>", strict, NL_COND_NILAS_ILLEGAL_ARGUMENT);
    assert_fails("a,b,c\n1,2,3\n", "struct<a:int,b:int>", strict, NL_COND_NILAS_ILLEGAL_ARGUMENT);
}

static void test_only_wanted_columns_are_looked_at(void **state)
{
    (void)state;
    static const nl_text_option none[2] = {NONE};
    nl_csv_options options = options_of(none, 2, NL_TEXT_READ);
    nl_file *file = make_file(NL_STR("x,2,3\n4,5\n"));
    const uint32_t wanted[] = {1};
    nl_csv_source source = {file, &options, type_from("struct<a:int,b:int,c:int>"), wanted, 1, 0, UINT64_MAX};
    nl_csv_reader *reader;
    nl_batch batch;
    bool is_done;
    must(nl_csv_reader_open(&source, NULL, &reader));
    must(nl_csv_reader_next(reader, &batch, &is_done));
    assert_int_equal(batch.row_count, 2);
    assert_int_equal(((const int32_t *)batch.columns[0].values)[1], 5);
    nl_batch_fini(&batch);
    nl_csv_reader_close(reader);
    source.wanted_count = 0;
    must(nl_csv_reader_open(&source, NULL, &reader));
    must(nl_csv_reader_next(reader, &batch, &is_done));
    assert_int_equal(batch.row_count, 2);
    nl_batch_fini(&batch);
    nl_csv_reader_close(reader);
    nl_file_close(file);
}

typedef struct write_case {
    const char *rows; /* values with bars between, ~ for null; one row a line */
    uint32_t column_count;
    const char *expected;
    nl_text_option options[2];
} write_case;

static const write_case write_cases[] = {
    {"a\n\n~\n a \na,b\na\"b\n\"\na\rb\na\\b\na\\\"b\n#a\n\ta\na;b\na'b\n\"\"\na\\\n\"a\"\nnull", 1,
     "a\n\"\"\na\n\"a,b\"\n\"a\\\"b\"\n\"\\\"\"\n\"a\rb\"\na\\b\n\"a\\\\\\\"b\"\n\"#a\"\na\na;b\na'b\n\"\\\"\\\"\"\na\\\n\"\\\"a\\\"\"\nnull\n",
     {NONE}},
    {"a\n\n~\na\\b\na\\", 1, "\"a\"\n\"\"\n\"\"\n\"a\\\\b\"\n\"a\\\\\"\n", {OPTION("quoteAll", "true")}},
    {"a\"b\n\"\n\"a\"", 1, "a\"b\n\"\\\"\"\n\"\\\"a\\\"\"\n", {OPTION("escapeQuotes", "false")}},
    {"a,b\na;b", 1, "a,b\n\"a;b\"\n", {OPTION("sep", ";")}},
    {"~\n", 1, "null\n\"\"\n", {OPTION("nullValue", "null")}},
    {"a\n", 1, "a\nE\n", {OPTION("emptyValue", "E")}},
    {"~\n", 1, "null\nnull\n", {OPTION("nullValue", "null"), OPTION("emptyValue", "")}},
    {" a ", 1, " a \n", {OPTION("ignoreLeadingWhiteSpace", "false"), OPTION("ignoreTrailingWhiteSpace", "false")}},
    {"a\"b\na\\\"b", 1, "\"a\"\"b\"\n\"a\\\"\"b\"\n", {OPTION("escape", "\"")}},
    {"a,b\na'b", 1, "'a,b'\n'a\\'b'\n", {OPTION("quote", "'")}},
    {"a|b", 2, "a,b|", {OPTION("lineSep", "|")}},
    {"a\\\"b", 1, "\"a#\\\\\"b\"\n", {OPTION("charToEscapeQuoteEscaping", "#")}},
    {"a\\\"b", 1, "\"a\\\\\"b\"\n", {OPTION("charToEscapeQuoteEscaping", "\\u0000")}},
    {"x|#a\n#a|x\n~|~\n|\n~|a\na|~", 2, "x,#a\n\"#a\",x\n,\n\"\",\"\"\n,a\na,\n", {NONE}},
    {"~|~\n|", 2, "\"a,b\",\"a,b\"\n\"\",\"\"\n", {OPTION("nullValue", "a,b")}},
    {"~|a\n|~", 2, "\"\",\"a\"\n\"E,\",\"\"\n", {OPTION("quoteAll", "true"), OPTION("emptyValue", "E,")}},
    {"x|y", 2, "c0,c1\nx,y\n", {OPTION("header", "true")}},
    {"", 0, "", {NONE}},
};

/* A batch of strings from a case's rows. */
static void make_batch(const write_case *item, nl_batch *batch)
{
    nl_column_builder *builders[2];
    uint32_t row_count = 0;
    for (uint32_t i = 0; i < item->column_count; i++)
        must(nl_column_builder_new(nl_type_string(), NULL, &builders[i]));
    nl_str rest = nl_str_from(item->rows);
    nl_str row;
    bool has_more = item->column_count > 0;
    while (has_more) {
        size_t end = nl_str_find_char(rest, '\n', 0);
        has_more = end != NL_NOT_FOUND;
        row = nl_str_slice(rest, 0, end);
        rest = has_more ? nl_str_slice(rest, end + 1, rest.length) : rest;
        for (uint32_t i = 0; i < item->column_count; i++) {
            size_t bar = i + 1 < item->column_count ? nl_str_find_char(row, '|', 0) : row.length;
            nl_str value = nl_str_slice(row, 0, bar);
            row = nl_str_slice(row, bar + 1, row.length);
            must(nl_str_is(value, "~") ? nl_column_builder_null(builders[i]) : nl_column_builder_str(builders[i], value));
        }
        row_count++;
    }
    must(nl_batch_init(batch, item->column_count, row_count));
    for (uint32_t i = 0; i < item->column_count; i++) {
        must(nl_column_builder_finish(builders[i], &batch->columns[i]));
        nl_column_builder_free(builders[i]);
    }
}

static void assert_written(const nl_type *type, const nl_csv_options *options, const nl_batch *batch, const char *expected)
{
    nl_csv_writer *writer;
    nl_buffer *content;
    must(nl_csv_writer_open(fs, NL_STR("memory:/out.csv"), type, options, NULL, &writer));
    must(nl_csv_writer_write(writer, batch));
    must(nl_csv_writer_close(writer));
    must(nl_fs_read_all(fs, NL_STR("memory:/out.csv"), 1 << 20, &content));
    nl_str got = {(const char *)content->data, content->size_bytes};
    if (!nl_str_is(got, expected)) fail_msg("%.*s\n  not %s", (int)got.length, got.data, expected);
    nl_buffer_release(content);
}

static void test_files_are_written_as_spark_writes_them(void **state)
{
    (void)state;
    const nl_field fields[] = {{.name = NL_STR("c0"), .type = nl_type_string()}, {.name = NL_STR("c1"), .type = nl_type_string()}};
    for (size_t i = 0; i < NL_COUNT(write_cases); i++) {
        const write_case *item = &write_cases[i];
        nl_csv_options options = options_of(item->options, 2, NL_TEXT_WRITE);
        nl_batch batch;
        make_batch(item, &batch);
        assert_written(nl_type_struct(arena, fields, item->column_count), &options, &batch, item->expected);
        nl_batch_fini(&batch);
    }
}

static void test_values_of_every_type_are_written(void **state)
{
    (void)state;
    const int64_t noon = nl_days_from_civil(2020, 7, 1) * NL_MICROS_PER_DAY + 8 * 3600 * NL_MICROS_PER_SECOND + 123456;
    const nl_value values[] = {
        nl_value_int(nl_type_of(NL_TYPE_TINYINT), 1),
        nl_value_boolean(true),
        {.type = nl_type_decimal(3, 2), .decimal = 150},
        {.type = nl_type_double(), .real = __builtin_nan("")},
        {.type = nl_type_of(NL_TYPE_FLOAT), .real = -__builtin_inf()},
        {.type = nl_type_binary(), .text = NL_STR("AB")},
        nl_value_int(nl_type_of(NL_TYPE_DATE), nl_days_from_civil(2020, 1, 2)),
        nl_value_int(nl_type_of(NL_TYPE_TIMESTAMP), noon),
        nl_value_int(nl_type_of(NL_TYPE_TIMESTAMP_NTZ), noon),
        nl_value_int(nl_type_of(NL_TYPE_INTERVAL_DT), 93784000000),
        nl_value_int(nl_type_of(NL_TYPE_INTERVAL_YM), 14),
        nl_value_null(nl_type_int()),
    };
    static const nl_text_option none[2] = {NONE};
    nl_csv_options options = options_of(none, 2, NL_TEXT_WRITE);
    nl_field fields[NL_COUNT(values)];
    nl_batch batch;
    must(nl_batch_init(&batch, NL_COUNT(values), 1));
    for (uint32_t i = 0; i < NL_COUNT(values); i++) {
        fields[i] = (nl_field){.name = NL_STR("c"), .type = values[i].type, .is_nullable = true};
        must(nl_vector_new_constant(&batch.columns[i], &values[i], 1, NULL));
    }
    assert_written(nl_type_struct(arena, fields, NL_COUNT(values)), &options, &batch,
                   "1,true,1.50,NaN,-Infinity,[41 42],2020-01-02,2020-07-01T10:00:00.123+02:00,2020-07-01T08:00:00.123,"
                   "INTERVAL '1 02:03:04' DAY TO SECOND,INTERVAL '1-2' YEAR TO MONTH,\n");
    nl_batch_fini(&batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files_are_read_as_spark_reads_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_malformed_record_is_the_cause, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_read_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_wanted_columns_are_looked_at, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_are_written_as_spark_writes_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_of_every_type_are_written, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
