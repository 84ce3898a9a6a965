/* Every case is a file that Spark 4.0.1 was given (session time zone Europe/Berlin), with its schema and rows as
 * CAST(column AS STRING). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "column/value.h"
#include "format/json/json_reader.h"
#include "format/json/json_writer.h"
#include "format/text/test_schema.h"
#include "format/text/text_stream.h"

typedef struct file_case {
    const char *content;
    const char *schema; /* given; NULL: inferred */
    const char *expected_schema;
    const char *expected; /* rows of values with bars between, ~ for null */
    nl_text_option options[3];
} file_case;

#define NONE {.key = {NULL, 0}}

static const file_case cases[] = {
    {"{\"b\":1,\"a\":\"x\"}\n{\"c\":true}\n", NULL, "struct<a:string,b:bigint,c:boolean>", "x|1|~\n~|~|true\n", {NONE}},
    {"{\"a\":1}\n{\"a\":1.5}\n", NULL, "struct<a:double>", "1.0\n1.5\n", {NONE}},
    {"{\"a\":1}\n{\"a\":\"x\"}\n", NULL, "struct<a:string>", "1\nx\n", {NONE}},
    {"{\"a\":30000000000}\n", NULL, "struct<a:bigint>", "30000000000\n", {NONE}},
    {"{\"a\":9223372036854775808}\n", NULL, "struct<a:decimal(19,0)>", "9223372036854775808\n", {NONE}},
    {"{\"a\":1}\n{\"a\":9223372036854775808}\n", NULL, "struct<a:decimal(20,0)>", "1\n9223372036854775808\n", {NONE}},
    {"{\"a\":123456789012345678901234567890123456789}\n", NULL, "struct<a:double>", "1.2345678901234568E38\n", {NONE}},
    {"{\"a\":1.5}\n", NULL, "struct<a:decimal(2,1)>", "1.5\n", {{NL_STR_INIT("prefersDecimal"), NL_STR_INIT("true")}}},
    {"{\"a\":1.5}\n{\"a\":12}\n", NULL, "struct<a:decimal(21,1)>", "1.5\n12.0\n", {{NL_STR_INIT("prefersDecimal"), NL_STR_INIT("true")}}},
    {"{\"a\":1e5}\n", NULL, "struct<a:double>", "100000.0\n", {NONE}},
    {"{\"a\":null}\n", NULL, "struct<a:string>", "~\n", {NONE}},
    {"{\"a\":null}\n", NULL, "struct<>", "", {{NL_STR_INIT("dropFieldIfAllNull"), NL_STR_INIT("true")}}},
    {"{\"a\":[],\"b\":1}\n", NULL, "struct<b:bigint>", "1\n", {{NL_STR_INIT("dropFieldIfAllNull"), NL_STR_INIT("true")}}},
    {"{\"a\":[]}\n", NULL, "struct<a:array<string>>", "[]\n", {NONE}},
    {"{\"a\":{}}\n", NULL, "struct<>", "", {NONE}},
    {"{}\n", NULL, "struct<>", "", {NONE}},
    {"[{\"a\":1},{\"a\":2}]\n", NULL, "struct<a:bigint>", "1\n2\n", {NONE}},
    {"{\"a\":1\n{\"a\":2}\n", NULL, "struct<_corrupt_record:string,a:bigint>", "{\"a\":1|~\n~|2\n", {NONE}},
    {"not json\n{\"a\":2}\n", NULL, "struct<_corrupt_record:string,a:bigint>", "not json|~\n~|2\n", {NONE}},
    {"", NULL, "struct<>", "", {NONE}},
    {"\n\n{\"a\":1}\n\n", NULL, "struct<a:bigint>", "1\n", {NONE}},
    {"{\"a\":{\"y\":1,\"x\":[1,2.5,\"q\"]}}\n{\"a\":{\"z\":null}}\n", NULL, "struct<a:struct<x:array<string>,y:bigint,z:string>>", "{[1, 2.5, q], 1, null}\n{null, null, null}\n", {NONE}},
    {"{\"a\":[1,null,\"x\"]}\n", NULL, "struct<a:array<string>>", "[1, null, x]\n", {NONE}},
    {"{\"a\":[{\"x\":1},{\"y\":2}]}\n", NULL, "struct<a:array<struct<x:bigint,y:bigint>>>", "[{1, null}, {null, 2}]\n", {NONE}},
    {"{\"a\":[1]}\n{\"a\":{\"x\":1}}\n", NULL, "struct<a:string>", "[1]\n{\"x\":1}\n", {NONE}},
    {"{\"a\":true}\n{\"a\":1}\n", NULL, "struct<a:string>", "true\n1\n", {NONE}},
    {"{\"a\":1,\"b\":1.5,\"c\":true,\"d\":[1],\"e\":{\"x\":1},\"f\":null}\n", NULL, "struct<a:string,b:string,c:string,d:array<string>,e:struct<x:string>,f:string>", "1|1.5|true|[1]|{1}|~\n", {{NL_STR_INIT("primitivesAsString"), NL_STR_INIT("true")}}},
    {"{\"a\":\"2020-01-01\",\"b\":\"2020-01-01T00:00:00Z\"}\n", NULL, "struct<a:string,b:string>", "2020-01-01|2020-01-01T00:00:00Z\n", {NONE}},
    {"{\"a\":\"2020-01-01\",\"b\":\"2020-01-01T00:00:00Z\"}\n", NULL, "struct<a:timestamp,b:timestamp>", "2020-01-01 00:00:00|2020-01-01 01:00:00\n", {{NL_STR_INIT("inferTimestamp"), NL_STR_INIT("true")}}},
    {"{\"a\":\"2020-01-01 10:00:00\"}\n", NULL, "struct<a:timestamp>", "2020-01-01 10:00:00\n", {{NL_STR_INIT("inferTimestamp"), NL_STR_INIT("true")}, {NL_STR_INIT("timestampFormat"), NL_STR_INIT("yyyy-MM-dd HH:mm:ss")}}},
    {"{\"a\":NaN}\n", NULL, "struct<a:double>", "NaN\n", {NONE}},
    {"{\"a\":Infinity,\"b\":-Infinity,\"c\":+INF}\n", NULL, "struct<a:double,b:double,c:double>", "Infinity|-Infinity|Infinity\n", {NONE}},
    {"{'a':'x'}\n", NULL, "struct<a:string>", "x\n", {NONE}},
    {"{a:1}\n", NULL, "struct<a:bigint>", "1\n", {{NL_STR_INIT("allowUnquotedFieldNames"), NL_STR_INIT("true")}}},
    {"{\"a\":007}\n", NULL, "struct<a:bigint>", "7\n", {{NL_STR_INIT("allowNumericLeadingZeros"), NL_STR_INIT("true")}}},
    {"/*x*/{\"a\":1}\n", NULL, "struct<a:bigint>", "1\n", {{NL_STR_INIT("allowComments"), NL_STR_INIT("true")}}},
    {"{\"a\":\"\\x\"}\n", NULL, "struct<a:string>", "x\n", {{NL_STR_INIT("allowBackslashEscapingAnyCharacter"), NL_STR_INIT("true")}}},
    {"{\"a\":\"x\ty\"}\n", NULL, "struct<a:string>", "x\ty\n", {{NL_STR_INIT("allowUnquotedControlChars"), NL_STR_INIT("true")}}},
    {"{\"a b\":1,\"\":2}\n", NULL, "struct<a b:bigint>", "1\n", {NONE}},
    {"{\"a\":1} {\"a\":2}\n", NULL, "struct<a:bigint>", "1\n", {NONE}},
    {"{\"a\":1}garbage\n", NULL, "struct<a:bigint>", "1\n", {NONE}},
    {"{\n\"a\":\n1}\n", NULL, "struct<a:bigint>", "1\n", {{NL_STR_INIT("multiLine"), NL_STR_INIT("true")}}},
    {"[{\"a\":1},\n{\"a\":2}]", NULL, "struct<a:bigint>", "1\n2\n", {{NL_STR_INIT("multiLine"), NL_STR_INIT("true")}}},
    {"{\"a\":1}\n{\"a\":2}\n", NULL, "struct<a:bigint>", "1\n", {{NL_STR_INIT("multiLine"), NL_STR_INIT("true")}}},
    {"{\"a\":1}|{\"a\":2}|", NULL, "struct<a:bigint>", "1\n2\n", {{NL_STR_INIT("lineSep"), NL_STR_INIT("|")}}},
    {"{\"a\":1}\r\n{\"a\":2}\r{\"a\":3}\n", NULL, "struct<a:bigint>", "1\n2\n3\n", {NONE}},
    {"\357\273\277{\"a\":1}\n", NULL, "struct<a:bigint>", "1\n", {NONE}},
    {"{\"a\":\"1 day\"}\n", NULL, "struct<a:string>", "1 day\n", {NONE}},
    {"{\"a\":0.1}\n{\"a\":0.12345678901234567890123}\n", NULL, "struct<a:double>", "0.1\n0.12345678901234568\n", {NONE}},
    {"{\"a\":[[1],[\"x\"]]}\n", NULL, "struct<a:array<array<string>>>", "[[1], [x]]\n", {NONE}},
    {"{\"a\":1}\n[]\n", NULL, "struct<a:bigint>", "1\n", {NONE}},
    {"{\"a\":1}\n[{\"a\":2},{\"a\":3}]\n", NULL, "struct<a:bigint>", "1\n2\n3\n", {NONE}},
    {"{\"a\":1}\nnull\n", NULL, "struct<a:bigint>", "1\n~\n", {NONE}},
    {"{\"a\":1}\n5\n", NULL, "struct<_corrupt_record:string,a:bigint>", "~|1\n5|~\n", {NONE}},
    {"{\"a\":1,\"z\":1}\n{\"a\":1.0,\"z\":1}\n{\"a\":1.5,\"z\":1}\n{\"a\":\"1\",\"z\":1}\n{\"a\":\"\",\"z\":1}\n{\"a\":true,\"z\":1}\n{\"a\":null,\"z\":1}\n{\"a\":99999999999,\"z\":1}\n{\"a\":[1],\"z\":1}\n{\"a\":{},\"z\":1}\n{\"a\":1e2,\"z\":1}\n{\"a\":-0,\"z\":1}\n", "a int, z int, _corrupt_record string", "struct<a:int,z:int,_corrupt_record:string>", "1|1|~\n~|1|{\"a\":1.0,\"z\":1}\n~|1|{\"a\":1.5,\"z\":1}\n~|1|{\"a\":\"1\",\"z\":1}\n~|1|{\"a\":\"\",\"z\":1}\n~|1|{\"a\":true,\"z\":1}\n~|1|~\n~|1|{\"a\":99999999999,\"z\":1}\n~|1|{\"a\":[1],\"z\":1}\n~|1|{\"a\":{},\"z\":1}\n~|1|{\"a\":1e2,\"z\":1}\n0|1|~\n", {NONE}},
    {"{\"a\":1,\"z\":1}\n{\"a\":128,\"z\":1}\n", "a tinyint, z int, _corrupt_record string", "struct<a:tinyint,z:int,_corrupt_record:string>", "1|1|~\n-128|1|~\n", {NONE}},
    {"{\"a\":9223372036854775807,\"z\":1}\n{\"a\":9223372036854775808,\"z\":1}\n", "a bigint, z int, _corrupt_record string", "struct<a:bigint,z:int,_corrupt_record:string>", "9223372036854775807|1|~\n~|1|{\"a\":9223372036854775808,\"z\":1}\n", {NONE}},
    {"{\"a\":1,\"z\":1}\n{\"a\":1.5,\"z\":1}\n{\"a\":\"NaN\",\"z\":1}\n{\"a\":\"Infinity\",\"z\":1}\n{\"a\":\"-INF\",\"z\":1}\n{\"a\":\"1.5\",\"z\":1}\n{\"a\":\"\",\"z\":1}\n{\"a\":NaN,\"z\":1}\n{\"a\":+INF,\"z\":1}\n{\"a\":1e400,\"z\":1}\n{\"a\":true,\"z\":1}\n", "a double, z int, _corrupt_record string", "struct<a:double,z:int,_corrupt_record:string>", "1.0|1|~\n1.5|1|~\nNaN|1|~\nInfinity|1|~\n-Infinity|1|~\n~|1|{\"a\":\"1.5\",\"z\":1}\n~|1|{\"a\":\"\",\"z\":1}\nNaN|1|~\nInfinity|1|~\nInfinity|1|~\n~|1|{\"a\":true,\"z\":1}\n", {NONE}},
    {"{\"a\":1,\"z\":1}\n{\"a\":1e39,\"z\":1}\n{\"a\":\"inf\",\"z\":1}\n{\"a\":0.1,\"z\":1}\n", "a float, z int, _corrupt_record string", "struct<a:float,z:int,_corrupt_record:string>", "1.0|1|~\nInfinity|1|~\n~|1|{\"a\":\"inf\",\"z\":1}\n0.1|1|~\n", {NONE}},
    {"{\"a\":1,\"z\":1}\n{\"a\":1.50,\"z\":1}\n{\"a\":true,\"z\":1}\n{\"a\":[1, 2],\"z\":1}\n{\"a\":{\"x\" : 1.10},\"z\":1}\n{\"a\":1e5,\"z\":1}\n{\"a\":null,\"z\":1}\n{\"a\":\"\",\"z\":1}\n{\"a\":NaN,\"z\":1}\n{\"a\":\"a\\nb\",\"z\":1}\n", "a string, z int, _corrupt_record string", "struct<a:string,z:int,_corrupt_record:string>", "1|1|~\n1.50|1|~\ntrue|1|~\n[1, 2]|1|~\n{\"x\" : 1.10}|1|~\n1e5|1|~\n~|1|~\n|1|~\nNaN|1|~\na\nb|1|~\n", {NONE}},
    {"{\"a\":true,\"z\":1}\n{\"a\":\"true\",\"z\":1}\n{\"a\":1,\"z\":1}\n{\"a\":null,\"z\":1}\n", "a boolean, z int, _corrupt_record string", "struct<a:boolean,z:int,_corrupt_record:string>", "true|1|~\n~|1|{\"a\":\"true\",\"z\":1}\n~|1|{\"a\":1,\"z\":1}\n~|1|~\n", {NONE}},
    {"{\"a\":1,\"z\":1}\n{\"a\":1.555,\"z\":1}\n{\"a\":\"1.5\",\"z\":1}\n{\"a\":\"1,234\",\"z\":1}\n{\"a\":12345,\"z\":1}\n{\"a\":1e2,\"z\":1}\n{\"a\":\"x\",\"z\":1}\n{\"a\":\"\",\"z\":1}\n{\"a\":NaN,\"z\":1}\n", "a decimal(5,2), z int, _corrupt_record string", "struct<a:decimal(5,2),z:int,_corrupt_record:string>", "1.00|1|~\n1.56|1|~\n1.50|1|~\n~|1|{\"a\":\"1,234\",\"z\":1}\n~|1|{\"a\":12345,\"z\":1}\n100.00|1|~\n~|1|{\"a\":\"x\",\"z\":1}\n~|1|{\"a\":\"\",\"z\":1}\n~|1|{\"a\":NaN,\"z\":1}\n", {NONE}},
    {"{\"a\":\"2020-01-01\",\"z\":1}\n{\"a\":\"2020-1-1\",\"z\":1}\n{\"a\":18262,\"z\":1}\n{\"a\":\"18262\",\"z\":1}\n{\"a\":\"x\",\"z\":1}\n{\"a\":\"\",\"z\":1}\n{\"a\":\"2020-01-01T10:00:00Z\",\"z\":1}\n", "a date, z int, _corrupt_record string", "struct<a:date,z:int,_corrupt_record:string>", "2020-01-01|1|~\n2020-01-01|1|~\n~|1|{\"a\":18262,\"z\":1}\n+18262-01-01|1|~\n~|1|{\"a\":\"x\",\"z\":1}\n~|1|{\"a\":\"\",\"z\":1}\n2020-01-01|1|~\n", {NONE}},
    {"{\"a\":\"01/02/2020\",\"z\":1}\n{\"a\":\"2020-01-01\",\"z\":1}\n", "a date, z int, _corrupt_record string", "struct<a:date,z:int,_corrupt_record:string>", "2020-02-01|1|~\n~|1|{\"a\":\"2020-01-01\",\"z\":1}\n", {{NL_STR_INIT("dateFormat"), NL_STR_INIT("dd/MM/yyyy")}}},
    {"{\"a\":\"2020-01-01 10:00:00\",\"z\":1}\n{\"a\":\"2020-01-01T10:00:00.123456Z\",\"z\":1}\n{\"a\":1577836800,\"z\":1}\n{\"a\":1577836800.5,\"z\":1}\n{\"a\":\"1577836800\",\"z\":1}\n{\"a\":\"x\",\"z\":1}\n{\"a\":\"\",\"z\":1}\n", "a timestamp, z int, _corrupt_record string", "struct<a:timestamp,z:int,_corrupt_record:string>", "2020-01-01 10:00:00|1|~\n2020-01-01 11:00:00.123456|1|~\n2020-01-01 01:00:00|1|~\n~|1|{\"a\":1577836800.5,\"z\":1}\n~|1|{\"a\":\"1577836800\",\"z\":1}\n~|1|{\"a\":\"x\",\"z\":1}\n~|1|{\"a\":\"\",\"z\":1}\n", {NONE}},
    {"{\"a\":\"2020-01-01 10:00:00\",\"z\":1}\n{\"a\":\"2020-01-01\",\"z\":1}\n", "a timestamp, z int, _corrupt_record string", "struct<a:timestamp,z:int,_corrupt_record:string>", "2020-01-01 10:00:00|1|~\n~|1|{\"a\":\"2020-01-01\",\"z\":1}\n", {{NL_STR_INIT("timestampFormat"), NL_STR_INIT("yyyy-MM-dd HH:mm:ss")}}},
    {"{\"a\":\"2020-01-01 10:00:00\",\"z\":1}\n{\"a\":\"2020-01-01T10:00:00Z\",\"z\":1}\n{\"a\":1,\"z\":1}\n", "a timestamp_ntz, z int, _corrupt_record string", "struct<a:timestamp_ntz,z:int,_corrupt_record:string>", "2020-01-01 10:00:00|1|~\n~|1|{\"a\":\"2020-01-01T10:00:00Z\",\"z\":1}\n~|1|{\"a\":1,\"z\":1}\n", {NONE}},
    {"{\"a\":\"AQI=\",\"z\":1}\n{\"a\":\"?\",\"z\":1}\n{\"a\":1,\"z\":1}\n", "a binary, z int, _corrupt_record string", "struct<a:binary,z:int,_corrupt_record:string>", "\001\002|1|~\n~|1|{\"a\":\"?\",\"z\":1}\n~|1|{\"a\":1,\"z\":1}\n", {NONE}},
    {"{\"a\":[1,2,null],\"z\":1}\n{\"a\":[1,\"x\"],\"z\":1}\n{\"a\":1,\"z\":1}\n{\"a\":{},\"z\":1}\n{\"a\":null,\"z\":1}\n{\"a\":[],\"z\":1}\n{\"a\":\"[1]\",\"z\":1}\n", "a array<int>, z int, _corrupt_record string", "struct<a:array<int>,z:int,_corrupt_record:string>", "[1, 2, null]|1|~\n~|1|{\"a\":[1,\"x\"],\"z\":1}\n~|1|{\"a\":1,\"z\":1}\n~|1|{\"a\":{},\"z\":1}\n~|1|~\n[]|1|~\n~|1|{\"a\":\"[1]\",\"z\":1}\n", {NONE}},
    {"{\"a\":{\"x\":1},\"z\":1}\n{\"a\":{\"x\":\"q\",\"y\":2},\"z\":1}\n{\"a\":{\"q\":1},\"z\":1}\n{\"a\":[1],\"z\":1}\n{\"a\":[{\"x\":5}],\"z\":1}\n{\"a\":1,\"z\":1}\n{\"a\":null,\"z\":1}\n{\"a\":{},\"z\":1}\n", "a struct<x:int,y:string>, z int, _corrupt_record string", "struct<a:struct<x:int,y:string>,z:int,_corrupt_record:string>", "{1, null}|1|~\n{null, 2}|1|{\"a\":{\"x\":\"q\",\"y\":2},\"z\":1}\n{null, null}|1|~\n~|1|{\"a\":[1],\"z\":1}\n~|1|{\"a\":[{\"x\":5}],\"z\":1}\n~|1|{\"a\":1,\"z\":1}\n~|1|~\n{null, null}|1|~\n", {NONE}},
    {"{\"a\":{\"k\":1,\"l\":null},\"z\":1}\n{\"a\":{\"k\":\"x\"},\"z\":1}\n{\"a\":{},\"z\":1}\n{\"a\":[1],\"z\":1}\n", "a map<string,int>, z int, _corrupt_record string", "struct<a:map<string,int>,z:int,_corrupt_record:string>", "{k -> 1, l -> null}|1|~\n~|1|{\"a\":{\"k\":\"x\"},\"z\":1}\n{}|1|~\n~|1|{\"a\":[1],\"z\":1}\n", {NONE}},
    {"{\"a\":\"INTERVAL '1 02:03:04' DAY TO SECOND\",\"z\":1}\n{\"a\":\"1 day\",\"z\":1}\n{\"a\":1,\"z\":1}\n", "a interval day to second, z int, _corrupt_record string", "struct<a:interval day to second,z:int,_corrupt_record:string>", "INTERVAL '1 02:03:04' DAY TO SECOND|1|~\n~|1|{\"a\":\"1 day\",\"z\":1}\n~|1|{\"a\":1,\"z\":1}\n", {NONE}},
    {"{\"a\":{\"q\":1.5},\"z\":1}\n{\"a\":\"s\",\"z\":1}\n{\"a\":null,\"z\":1}\n{\"a\":[1,2],\"z\":1}\n", "a variant, z int, _corrupt_record string", "struct<a:variant,z:int,_corrupt_record:string>", "{\"q\":1.5}|1|~\ns|1|~\nnull|1|~\n[1,2]|1|~\n", {NONE}},
    {"{\"a\":null,\"z\":1}\n{\"a\":1,\"z\":1}\n", "a void, z int, _corrupt_record string", "struct<a:void,z:int,_corrupt_record:string>", "~|1|~\n~|1|~\n", {NONE}},
    {"{\"a\":[{\"x\":1},{\"x\":\"q\"},5],\"z\":1}\n", "a array<struct<x:int>>, z int, _corrupt_record string", "struct<a:array<struct<x:int>>,z:int,_corrupt_record:string>", "~|1|{\"a\":[{\"x\":1},{\"x\":\"q\"},5],\"z\":1}\n", {NONE}},
    {"{\"a\":{\"x\":[1,\"q\"],\"y\":2},\"z\":1}\n", "a struct<x:array<int>,y:int>, z int, _corrupt_record string", "struct<a:struct<x:array<int>,y:int>,z:int,_corrupt_record:string>", "{null, 2}|1|{\"a\":{\"x\":[1,\"q\"],\"y\":2},\"z\":1}\n", {NONE}},
    {"{\"a\":{\"k\":{\"x\":\"q\"},\"l\":{\"x\":2}},\"z\":1}\n", "a map<string,struct<x:int>>, z int, _corrupt_record string", "struct<a:map<string,struct<x:int>>,z:int,_corrupt_record:string>", "{k -> {null}, l -> {2}}|1|{\"a\":{\"k\":{\"x\":\"q\"},\"l\":{\"x\":2}},\"z\":1}\n", {NONE}},
    {"{\"a\":123456789012345678901234567890.10,\"z\":1}\n", "a string, z int, _corrupt_record string", "struct<a:string,z:int,_corrupt_record:string>", "123456789012345678901234567890.10|1|~\n", {NONE}},
    {"{\"a\":1}\n{x\n{\"a\":\"q\"}\n", "a int", "struct<a:int>", "1\n", {{NL_STR_INIT("mode"), NL_STR_INIT("DROPMALFORMED")}}},
    {"{\"a\":1}\n{x\n{\"a\":\"q\",\"b\":2}\n", "a int, b int", "struct<a:int,b:int>", "1|~\n~|~\n~|2\n", {NONE}},
    {"{\"a\":1}\n{x\n", "a int, bad string", "struct<a:int,bad:string>", "1|~\n~|{x\n", {{NL_STR_INIT("columnNameOfCorruptRecord"), NL_STR_INIT("bad")}}},
    {"{\"A\":1}\n", "a int", "struct<a:int>", "~\n", {NONE}},
    {"{\"a\":1,\"a\":2}\n", "a int", "struct<a:int>", "2\n", {NONE}},
    {"{\"a\":1}{\"a\":2}\n", "a int", "struct<a:int>", "1\n", {NONE}},
    {"[{\"a\":1},{\"a\":\"q\"},{\"a\":3}]\n", "a int, _corrupt_record string", "struct<a:int,_corrupt_record:string>", "1|[{\"a\":1},{\"a\":\"q\"},{\"a\":3}]\n~|[{\"a\":1},{\"a\":\"q\"},{\"a\":3}]\n3|[{\"a\":1},{\"a\":\"q\"},{\"a\":3}]\n", {NONE}},
    {"[{\"a\":1},5]\n", "a int, _corrupt_record string", "struct<a:int,_corrupt_record:string>", "~|[{\"a\":1},5]\n", {NONE}},
    {"[]\n", "a int, _corrupt_record string", "struct<a:int,_corrupt_record:string>", "", {NONE}},
    {"null\n", "a int, _corrupt_record string", "struct<a:int,_corrupt_record:string>", "~|null\n", {NONE}},
    {"5\n", "a int, _corrupt_record string", "struct<a:int,_corrupt_record:string>", "~|5\n", {NONE}},
    {"\"\"\n", "a int, _corrupt_record string", "struct<a:int,_corrupt_record:string>", "~|\"\"\n", {NONE}},
    {"   \n{\"a\":1}\n", "a int, _corrupt_record string", "struct<a:int,_corrupt_record:string>", "1|~\n", {NONE}},
    {"{\"a\":1", "a int, _corrupt_record string", "struct<a:int,_corrupt_record:string>", "~|{\"a\":1\n", {NONE}},
    {"{\"a\":1,", "a int, b int, _corrupt_record string", "struct<a:int,b:int,_corrupt_record:string>", "~|~|{\"a\":1,\n", {NONE}},
    {"{\"a\":{\"b\":1}}\n", "a struct<b:int not null> not null", "struct<a:struct<b:int>>", "{1}\n", {NONE}},
    {"{}\n", "a int not null, b int", "struct<a:int,b:int>", "~|~\n", {NONE}},
    {"{\"a\":1}\n{\"b\":x}\n{\"a\":2}", "a int, _corrupt_record string", "struct<a:int,_corrupt_record:string>", "1|~\n", {{NL_STR_INIT("multiLine"), NL_STR_INIT("true")}}},
    {"[{\"a\":1},\n{\"a\":\"x\"},{\"a\":3}]", "a int, _corrupt_record string", "struct<a:int,_corrupt_record:string>", "1|[{\"a\":1},\n{\"a\":\"x\"},{\"a\":3}]\n~|[{\"a\":1},\n{\"a\":\"x\"},{\"a\":3}]\n3|[{\"a\":1},\n{\"a\":\"x\"},{\"a\":3}]\n", {{NL_STR_INIT("multiLine"), NL_STR_INIT("true")}}},
    {"[{\"a\":1},\n{\"a\":x},{\"a\":3}]", "a int, _corrupt_record string", "struct<a:int,_corrupt_record:string>", "~|[{\"a\":1},\n{\"a\":x},{\"a\":3}]\n", {{NL_STR_INIT("multiLine"), NL_STR_INIT("true")}}},
    {"", "a int, _corrupt_record string", "struct<a:int,_corrupt_record:string>", "", {{NL_STR_INIT("multiLine"), NL_STR_INIT("true")}}},
    {"{\"a\":\"x\\u0000y\"}\n", "a string", "struct<a:string>", "x\000y\n", {NONE}},
    {"{\"a\":\"\\ud83d\"}\n", "a string", "struct<a:string>", "?\n", {NONE}},
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
    must(nl_fs_write_all(fs, NL_STR("memory:/f.json"), (nl_bytes){(const uint8_t *)content.data, content.length}));
    must(nl_fs_open(fs, NL_STR("memory:/f.json"), &file));
    return file;
}

static nl_json_file_options options_of(const nl_text_option *items, uint32_t count_max, nl_text_use use)
{
    nl_json_file_options parsed;
    nl_text_session session = {0};
    nl_text_option_list list = {.items = items};
    must(nl_timezone_find(NL_STR("Europe/Berlin"), &session.zone));
    while (list.count < count_max && items[list.count].key.length)
        list.count++;
    must(nl_json_options_parse(list, &session, use, arena, &parsed));
    return parsed;
}

static void append_rows(const nl_batch *batch, const nl_json_file_options *options, nl_builder *out)
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

static nl_status read_part(nl_file *file, const nl_json_file_options *options, const nl_type *type, uint64_t start,
                           uint64_t stop, nl_builder *out)
{
    nl_json_reader *reader;
    nl_json_source source = {file, options, type, start, stop};
    NL_TRY(nl_json_reader_open(&source, NULL, &reader));
    nl_status status = NULL;
    bool is_done = false;
    while (!status && !is_done) {
        nl_batch batch = {0};
        status = nl_json_reader_next(reader, &batch, &is_done);
        if (!status && !is_done) append_rows(&batch, options, out);
        nl_batch_fini(&batch);
    }
    nl_json_reader_close(reader);
    return status;
}

static const nl_type *type_from(const char *text)
{
    return test_parse_type(arena, &text);
}

static void check_case(const file_case *item)
{
    nl_json_file_options options = options_of(item->options, 3, NL_TEXT_READ);
    nl_file *file = make_file(nl_str_from(item->content));
    const nl_type *type = type_from(item->expected_schema);
    nl_builder out;
    nl_builder_init(&out, 1 << 20);
    if (!item->schema) {
        nl_file *const files[] = {file};
        const nl_type *inferred;
        must(nl_json_infer_schema(files, 1, &options, arena, NULL, &inferred));
        nl_str name = nl_type_name(arena, inferred);
        if (!nl_str_is(name, item->expected_schema))
            fail_msg("%s: %.*s, not %s", item->content, (int)name.length, name.data, item->expected_schema);
    }
    if (type->child_count) must(read_part(file, &options, type, 0, UINT64_MAX, &out));
    const char *got = out.length ? nl_builder_c(&out) : "";
    if (strcmp(got, item->expected) != 0) fail_msg("%s\n  gave %s\n  not %s", item->content, got, item->expected);
    if (nl_text_is_splittable(NL_STR("f.json"), &options.formats) && type->child_count) {
        size_t length = strlen(item->content);
        nl_builder_clear(&out);
        for (uint64_t start = 0; start < length; start += 5)
            must(read_part(file, &options, type, start, start + 5, &out));
        assert_string_equal(out.length ? nl_builder_c(&out) : "", item->expected);
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
    nl_json_file_options options = options_of(option, 2, NL_TEXT_READ);
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

static void test_what_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    static const nl_text_option none[2] = {NONE};
    static const nl_text_option fail_fast[2] = {OPTION("mode", "FAILFAST")};
    static const nl_text_option bad[2] = {OPTION("columnNameOfCorruptRecord", "bad")};
    assert_fails("{\"a\":1}\n{x\n", "struct<a:int>", fail_fast, NL_COND_FAILED_READ_FILE__NO_HINT);
    assert_fails("{\"a\":1}\n{\"a\":\"q\"}\n", "struct<a:int>", fail_fast, NL_COND_FAILED_READ_FILE__NO_HINT);
    assert_fails("{}\n", "struct<bad:int>", bad, NL_COND_INVALID_CORRUPT_RECORD_TYPE);
    assert_fails("{}\n", "struct<a:map<int,int>>", none, NL_COND_NILAS_UNSUPPORTED);
}

static void test_columns_that_differ_by_case_are_refused(void **state)
{
    (void)state;
    static const nl_text_option none[2] = {NONE};
    nl_json_file_options options = options_of(none, 2, NL_TEXT_READ);
    const char *const contents[] = {"{\"a\":1,\"a\":2}\n", "{\"A\":1,\"a\":2}\n"};
    for (size_t i = 0; i < NL_COUNT(contents); i++) {
        nl_file *file = make_file(nl_str_from(contents[i]));
        nl_file *const files[] = {file};
        const nl_type *type;
        nl_status status = nl_json_infer_schema(files, 1, &options, arena, NULL, &type);
        assert_non_null(status);
        assert_int_equal(nl_error_condition(status), NL_COND_COLUMN_ALREADY_EXISTS);
        assert_string_equal(nl_error_param(status, "columnName"), "`a`");
        nl_error_free(status);
        nl_file_close(file);
    }
}

static void test_a_long_array_comes_in_batches(void **state)
{
    (void)state;
    static const nl_text_option multi[2] = {OPTION("multiLine", "true")};
    nl_json_file_options options = options_of(multi, 2, NL_TEXT_READ);
    nl_builder content, out, expected;
    nl_builder_init(&content, 1 << 20);
    nl_builder_init(&out, 1 << 20);
    nl_builder_init(&expected, 1 << 20);
    for (int i = 0; i < 5000; i++) {
        nl_append_f(&content, "%s{\"a\":%d,\n\"b\":[%d,\"text of some length %d\"]}", i ? "," : "[", i, i, i);
        nl_append_f(&expected, "%d|[%d, text of some length %d]\n", i, i, i);
    }
    nl_append_c(&content, "]\n");
    nl_file *file = make_file(nl_builder_str(&content));
    must(read_part(file, &options, type_from("struct<a:int,b:array<string>>"), 0, UINT64_MAX, &out));
    assert_string_equal(nl_builder_c(&out), nl_builder_c(&expected));
    nl_builder_fini(&content);
    nl_builder_fini(&out);
    nl_builder_fini(&expected);
    nl_file_close(file);
}

/* Rows are given as JSON, read with a schema and written again; expected texts are Spark's. */
typedef struct write_case {
    const char *content;
    const char *schema;
    const char *expected;
    nl_text_option options[2];
} write_case;

#define NESTED_SCHEMA                                                                                                   \
    "struct<a:array<int>,b:struct<x:int,y:int,z:string>,c:map<string,int>,d:int,f:array<struct<q:int>>,g:string,i:array<int>," \
    "j:struct<n:int>,k:string,v:variant>"
#define NESTED_CONTENT                                                                                                  \
    "{\"a\":[1,null],\"b\":{\"x\":1,\"z\":\"s\"},\"c\":{\"k\":1,\"l\":null},\"f\":[{}],\"g\":\"a\\\"\\n\\\\/\xc3\xa9\\u0001\"," \
    "\"i\":[],\"j\":{},\"k\":\"\",\"v\":{\"a\":[1,1.50,null]}}"

static const write_case write_cases[] = {
    {NESTED_CONTENT, NESTED_SCHEMA,
     "{\"a\":[1,null],\"b\":{\"x\":1,\"z\":\"s\"},\"c\":{\"k\":1,\"l\":null},\"f\":[{}],\"g\":\"a\\\"\\n\\\\/\xc3\xa9\\u0001\","
     "\"i\":[],\"j\":{},\"k\":\"\",\"v\":{\"a\":[1,1.5,null]}}\n",
     {NONE}},
    {NESTED_CONTENT, NESTED_SCHEMA,
     "{\"a\":[1,null],\"b\":{\"x\":1,\"y\":null,\"z\":\"s\"},\"c\":{\"k\":1,\"l\":null},\"d\":null,\"f\":[{\"q\":null}],"
     "\"g\":\"a\\\"\\n\\\\/\xc3\xa9\\u0001\",\"i\":[],\"j\":{\"n\":null},\"k\":\"\",\"v\":{\"a\":[1,1.5,null]}}\n",
     {OPTION("ignoreNullFields", "false")}},
    {NESTED_CONTENT, NESTED_SCHEMA,
     "{\n  \"a\" : [ 1, null ],\n  \"b\" : {\n    \"x\" : 1,\n    \"z\" : \"s\"\n  },\n  \"c\" : {\n    \"k\" : 1,\n    \"l\" : null\n"
     "  },\n  \"f\" : [ { } ],\n  \"g\" : \"a\\\"\\n\\\\/\xc3\xa9\\u0001\",\n  \"i\" : [ ],\n  \"j\" : { },\n  \"k\" : \"\",\n"
     "  \"v\" : {\"a\":[1,1.5,null]}\n}\n",
     {OPTION("pretty", "true")}},
    {"{\"g\":\"\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80\"}", "struct<g:string>", "{\"g\":\"\\u00E9\\u2028\\uD83D\\uDE00\"}\n",
     {OPTION("writeNonAsciiCharacterAsCodePoint", "true")}},
    {"{\"a\":1}\n{\"a\":2}", "struct<a:int>", "{\"a\":1}|{\"a\":2}|", {OPTION("lineSep", "|")}},
    {"{\"d\":1.5,\"e\":\"NaN\",\"f\":\"-Infinity\",\"m\":1e10,\"p\":-0.0}", "struct<d:double,e:double,f:float,m:double,p:double>",
     "{\"d\":1.5,\"e\":\"NaN\",\"f\":\"-Infinity\",\"m\":1.0E10,\"p\":-0.0}\n", {NONE}},
    {"{\"a\":1,\"b\":100000000000000000000,\"c\":0.00000001,\"d\":-0.000000123}",
     "struct<a:decimal(38,10),b:decimal(38,0),c:decimal(20,18),d:decimal(12,9)>",
     "{\"a\":1.0000000000,\"b\":100000000000000000000,\"c\":1.0000000000E-8,\"d\":-1.23E-7}\n", {NONE}},
    {"{\"g\":\"QUI=\",\"h\":\"2020-01-02\",\"i\":\"2020-07-01 10:00:00.123456\",\"k\":\"1 02:03:04\",\"l\":\"1-2\"}",
     "struct<g:binary,h:date,i:timestamp,k:interval day to second,l:interval year to month>",
     "{\"g\":\"QUI=\",\"h\":\"2020-01-02\",\"i\":\"2020-07-01T10:00:00.123+02:00\",\"k\":\"INTERVAL '1 02:03:04' DAY TO "
     "SECOND\",\"l\":\"INTERVAL '1-2' YEAR TO MONTH\"}\n",
     {NONE}},
    {"{\"h\":\"2020-01-02\"}", "struct<h:date>", "{\"h\":\"02/01/2020\"}\n", {OPTION("dateFormat", "dd/MM/yyyy")}},
};

static void check_write(const write_case *item)
{
    static const nl_text_option none[2] = {NONE};
    nl_json_file_options reading = options_of(none, 2, NL_TEXT_READ);
    nl_json_file_options writing = options_of(item->options, 2, NL_TEXT_WRITE);
    nl_file *file = make_file(nl_str_from(item->content));
    const nl_type *type = type_from(item->schema);
    nl_json_source source = {file, &reading, type, 0, UINT64_MAX};
    nl_json_reader *reader;
    nl_json_writer *writer;
    nl_batch batch;
    nl_buffer *written;
    bool is_done;
    must(nl_json_reader_open(&source, NULL, &reader));
    must(nl_json_reader_next(reader, &batch, &is_done));
    must(nl_json_writer_open(fs, NL_STR("memory:/out.json"), type, &writing, NULL, &writer));
    must(nl_json_writer_write(writer, &batch));
    must(nl_json_writer_close(writer));
    must(nl_fs_read_all(fs, NL_STR("memory:/out.json"), 1 << 20, &written));
    nl_str got = {(const char *)written->data, written->size_bytes};
    if (!nl_str_is(got, item->expected)) fail_msg("%.*s\n  not %s", (int)got.length, got.data, item->expected);
    nl_buffer_release(written);
    nl_batch_fini(&batch);
    nl_json_reader_close(reader);
    nl_file_close(file);
}

static void test_files_are_written_as_spark_writes_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(write_cases); i++)
        check_write(&write_cases[i]);
}

static void test_one_text_has_a_schema(void **state)
{
    (void)state;
    static const nl_text_option none[2] = {NONE};
    nl_json_file_options options = options_of(none, 2, NL_TEXT_READ);
    const struct {
        const char *text;
        const char *type; /* NULL: no JSON */
    } texts[] = {{"{\"c\":{}, \"a\":[1,2.5]}", "struct<a:array<double>,c:struct<>>"}, {"[{\"x\":1},{\"y\":\"q\"}]", "array<struct<x:bigint,y:string>>"},
                 {"1", "bigint"}, {"null", "string"}, {"{x", NULL}, {"", NULL}};
    for (size_t i = 0; i < NL_COUNT(texts); i++) {
        const nl_type *type;
        bool is_json;
        must(nl_json_infer_text(nl_str_from(texts[i].text), &options, arena, &type, &is_json));
        assert_int_equal(is_json, texts[i].type != NULL);
        if (is_json) assert_string_equal(nl_type_name(arena, type).data, texts[i].type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files_are_read_as_spark_reads_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_read_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_columns_that_differ_by_case_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_long_array_comes_in_batches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_are_written_as_spark_writes_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_text_has_a_schema, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
