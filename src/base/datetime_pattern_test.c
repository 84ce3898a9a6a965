/* Every row was asked of Spark 4.0.1: date_format in America/Los_Angeles; to_timestamp and to_timestamp_ntz in
 * Europe/Berlin (NULL: CANNOT_PARSE_TIMESTAMP). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/datetime_pattern.h"
#include "base/number.h"

typedef struct format_row {
    const char *timestamp;
    const char *pattern;
    const char *expected;
} format_row;

static const format_row format_rows[] = {
    {"2020-07-01 03:04:05.123456", "yyyy-MM-dd HH:mm:ss", "2020-07-01 03:04:05"},
    {"2020-07-01 03:04:05.123456", "y", "2020"},
    {"2020-07-01 03:04:05.123456", "yy", "20"},
    {"2020-07-01 03:04:05.123456", "yyy", "2020"},
    {"2020-07-01 03:04:05.123456", "yyyy", "2020"},
    {"2020-07-01 03:04:05.123456", "yyyyy", "02020"},
    {"2020-07-01 03:04:05.123456", "yyyyyy", "002020"},
    {"2020-07-01 03:04:05.123456", "M", "7"},
    {"2020-07-01 03:04:05.123456", "MM", "07"},
    {"2020-07-01 03:04:05.123456", "MMM", "Jul"},
    {"2020-07-01 03:04:05.123456", "MMMM", "July"},
    {"2020-07-01 03:04:05.123456", "L", "7"},
    {"2020-07-01 03:04:05.123456", "LL", "07"},
    {"2020-07-01 03:04:05.123456", "LLL", "Jul"},
    {"2020-07-01 03:04:05.123456", "LLLL", "July"},
    {"2020-07-01 03:04:05.123456", "d", "1"},
    {"2020-07-01 03:04:05.123456", "dd", "01"},
    {"2020-07-01 03:04:05.123456", "D", "183"},
    {"2020-07-01 03:04:05.123456", "DD", "183"},
    {"2020-07-01 03:04:05.123456", "DDD", "183"},
    {"2020-07-01 03:04:05.123456", "Q", "3"},
    {"2020-07-01 03:04:05.123456", "QQ", "03"},
    {"2020-07-01 03:04:05.123456", "QQQ", "Q3"},
    {"2020-07-01 03:04:05.123456", "QQQQ", "3rd quarter"},
    {"2020-07-01 03:04:05.123456", "q", "3"},
    {"2020-07-01 03:04:05.123456", "qq", "03"},
    {"2020-07-01 03:04:05.123456", "qqq", "Q3"},
    {"2020-07-01 03:04:05.123456", "qqqq", "3rd quarter"},
    {"2020-07-01 03:04:05.123456", "E", "Wed"},
    {"2020-07-01 03:04:05.123456", "EE", "Wed"},
    {"2020-07-01 03:04:05.123456", "EEE", "Wed"},
    {"2020-07-01 03:04:05.123456", "EEEE", "Wednesday"},
    {"2020-07-01 03:04:05.123456", "F", "1"},
    {"2020-07-01 03:04:05.123456", "a", "AM"},
    {"2020-07-01 03:04:05.123456", "h", "3"},
    {"2020-07-01 03:04:05.123456", "hh", "03"},
    {"2020-07-01 03:04:05.123456", "H", "3"},
    {"2020-07-01 03:04:05.123456", "HH", "03"},
    {"2020-07-01 03:04:05.123456", "K", "3"},
    {"2020-07-01 03:04:05.123456", "KK", "03"},
    {"2020-07-01 03:04:05.123456", "k", "3"},
    {"2020-07-01 03:04:05.123456", "kk", "03"},
    {"2020-07-01 03:04:05.123456", "m", "4"},
    {"2020-07-01 03:04:05.123456", "s", "5"},
    {"2020-07-01 03:04:05.123456", "S", "1"},
    {"2020-07-01 03:04:05.123456", "SS", "12"},
    {"2020-07-01 03:04:05.123456", "SSS", "123"},
    {"2020-07-01 03:04:05.123456", "SSSSSS", "123456"},
    {"2020-07-01 03:04:05.123456", "SSSSSSSSS", "123456000"},
    {"2020-07-01 03:04:05.123456", "VV", "America/Los_Angeles"},
    {"2020-07-01 03:04:05.123456", "z", "PDT"},
    {"2020-07-01 03:04:05.123456", "zz", "PDT"},
    {"2020-07-01 03:04:05.123456", "zzz", "PDT"},
    {"2020-07-01 03:04:05.123456", "zzzz", "Pacific Daylight Time"},
    {"2020-07-01 03:04:05.123456", "O", "GMT-7"},
    {"2020-07-01 03:04:05.123456", "OOOO", "GMT-07:00"},
    {"2020-07-01 03:04:05.123456", "X", "-07"},
    {"2020-07-01 03:04:05.123456", "XX", "-0700"},
    {"2020-07-01 03:04:05.123456", "XXX", "-07:00"},
    {"2020-07-01 03:04:05.123456", "XXXX", "-0700"},
    {"2020-07-01 03:04:05.123456", "XXXXX", "-07:00"},
    {"2020-07-01 03:04:05.123456", "x", "-07"},
    {"2020-07-01 03:04:05.123456", "xx", "-0700"},
    {"2020-07-01 03:04:05.123456", "xxx", "-07:00"},
    {"2020-07-01 03:04:05.123456", "xxxx", "-0700"},
    {"2020-07-01 03:04:05.123456", "xxxxx", "-07:00"},
    {"2020-07-01 03:04:05.123456", "Z", "-0700"},
    {"2020-07-01 03:04:05.123456", "ZZ", "-0700"},
    {"2020-07-01 03:04:05.123456", "ZZZ", "-0700"},
    {"2020-07-01 03:04:05.123456", "ZZZZ", "GMT-07:00"},
    {"2020-07-01 03:04:05.123456", "ZZZZZ", "-07:00"},
    {"2020-07-01 03:04:05.123456", "G", "AD"},
    {"2020-07-01 03:04:05.123456", "GG", "AD"},
    {"2020-07-01 03:04:05.123456", "GGGG", "Anno Domini"},
    {"2020-07-01 03:04:05.123456", "G y", "AD 2020"},
    {"2020-07-01 03:04:05.123456", "''", "'"},
    {"2020-07-01 03:04:05.123456", "'it''s'", "it's"},
    {"2020-07-01 03:04:05.123456", "[yyyy]", "2020"},
    {"2020-07-01 03:04:05.123456", "[yyyy", "2020"},
    {"2020-07-01 03:04:05.123456", "é/./:", "é/./:"},
    {"2020-07-01 03:04:05.123456", "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]", "2020-07-01T03:04:05.123-07:00"},
    {"2020-07-01 03:04:05.123456", " ", " "},
    {"-0044-03-15 13:00:00", "y", "-44"},
    {"-0044-03-15 13:00:00", "yy", "44"},
    {"-0044-03-15 13:00:00", "yyy", "-044"},
    {"-0044-03-15 13:00:00", "yyyy", "-0044"},
    {"-0044-03-15 13:00:00", "yyyyy", "-00044"},
    {"-0044-03-15 13:00:00", "G y yyyy", "BC 45 0045"},
    {"-0044-03-15 13:00:00", "D h K k a", "75 1 1 13 PM"},
    {"-0044-03-15 13:00:00", "SSS", "000"},
    {"-0044-03-15 13:00:00", "F E Q", "1 Thu 1"},
    {"-0044-03-15 13:00:00", "yyyy-MM-dd HH:mm:ss.SSSSSS", "-0044-03-15 13:00:00.000000"},
    {"+12345-12-31 00:00:00.5", "y", "12345"},
    {"+12345-12-31 00:00:00.5", "yy", "45"},
    {"+12345-12-31 00:00:00.5", "yyy", "12345"},
    {"+12345-12-31 00:00:00.5", "yyyy", "+12345"},
    {"+12345-12-31 00:00:00.5", "yyyyy", "12345"},
    {"+12345-12-31 00:00:00.5", "G y yyyy", "AD 12345 +12345"},
    {"+12345-12-31 00:00:00.5", "D h K k a", "365 12 0 24 AM"},
    {"+12345-12-31 00:00:00.5", "SSS", "500"},
    {"+12345-12-31 00:00:00.5", "F E Q", "3 Mon 4"},
    {"+12345-12-31 00:00:00.5", "yyyy-MM-dd HH:mm:ss.SSSSSS", "+12345-12-31 00:00:00.500000"},
    {"0000-01-01 12:30:00", "y", "0"},
    {"0000-01-01 12:30:00", "yy", "00"},
    {"0000-01-01 12:30:00", "yyy", "000"},
    {"0000-01-01 12:30:00", "yyyy", "0000"},
    {"0000-01-01 12:30:00", "yyyyy", "00000"},
    {"0000-01-01 12:30:00", "G y yyyy", "BC 1 0001"},
    {"0000-01-01 12:30:00", "D h K k a", "1 12 0 12 PM"},
    {"0000-01-01 12:30:00", "SSS", "000"},
    {"0000-01-01 12:30:00", "F E Q", "1 Sat 1"},
    {"0000-01-01 12:30:00", "yyyy-MM-dd HH:mm:ss.SSSSSS", "0000-01-01 12:30:00.000000"},
    {"1969-12-31 23:59:59.999999", "y", "1969"},
    {"1969-12-31 23:59:59.999999", "yy", "69"},
    {"1969-12-31 23:59:59.999999", "yyy", "1969"},
    {"1969-12-31 23:59:59.999999", "yyyy", "1969"},
    {"1969-12-31 23:59:59.999999", "yyyyy", "01969"},
    {"1969-12-31 23:59:59.999999", "G y yyyy", "AD 1969 1969"},
    {"1969-12-31 23:59:59.999999", "D h K k a", "365 11 11 23 PM"},
    {"1969-12-31 23:59:59.999999", "SSS", "999"},
    {"1969-12-31 23:59:59.999999", "F E Q", "3 Wed 4"},
    {"1969-12-31 23:59:59.999999", "yyyy-MM-dd HH:mm:ss.SSSSSS", "1969-12-31 23:59:59.999999"},
};

typedef struct refused_row {
    const char *pattern;
    nl_condition condition;
} refused_row;

static const refused_row refused_rows[] = {
    {"FF", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"aa", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"SSSSSSSSSS", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"V", NL_COND_NILAS_ILLEGAL_ARGUMENT},
    {"OO", NL_COND_NILAS_ILLEGAL_ARGUMENT},
    {"'abc", NL_COND_NILAS_ILLEGAL_ARGUMENT},
    {"yyyy]", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"Y", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"w", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"W", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"u", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"uuuu", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"e", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_WEEK_BASED_PATTERN},
    {"c", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_WEEK_BASED_PATTERN},
    {"A", NL_COND_INVALID_DATETIME_PATTERN__ILLEGAL_CHARACTER},
    {"n", NL_COND_INVALID_DATETIME_PATTERN__ILLEGAL_CHARACTER},
    {"N", NL_COND_INVALID_DATETIME_PATTERN__ILLEGAL_CHARACTER},
    {"B", NL_COND_INVALID_DATETIME_PATTERN__ILLEGAL_CHARACTER},
    {"p", NL_COND_INVALID_DATETIME_PATTERN__ILLEGAL_CHARACTER},
    {"b", NL_COND_NILAS_ILLEGAL_ARGUMENT},
    {"#", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"{", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"GGGGG", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"MMMMM", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"EEEEE", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"yyyyyyy", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"DDDD", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"ddd", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"HHH", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"QQQQQ", NL_COND_INVALID_DATETIME_PATTERN__LENGTH},
    {"T", NL_COND_NILAS_ILLEGAL_ARGUMENT},
    {"I", NL_COND_NILAS_ILLEGAL_ARGUMENT},
    {"zzzzz", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"VVV", NL_COND_NILAS_ILLEGAL_ARGUMENT},
    {"LLLLL", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
    {"EEEEEE", NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION},
};

typedef struct parse_row {
    const char *text;
    const char *pattern;
    const char *timestamp;
    const char *ntz;
} parse_row;

static const parse_row parse_rows[] = {
    {"2020-07-01", "yyyy-MM-dd", "2020-07-01 00:00:00", "2020-07-01 00:00:00"},
    {"2020-7-1", "yyyy-MM-dd", NULL, NULL},
    {"2020-7-1", "yyyy-M-d", "2020-07-01 00:00:00", "2020-07-01 00:00:00"},
    {"2020-07-01", "yyyy-M-d", "2020-07-01 00:00:00", "2020-07-01 00:00:00"},
    {"12345-01-01", "yyyy-MM-dd", NULL, NULL},
    {"+12345-01-01", "yyyy-MM-dd", "+12345-01-01 00:00:00", "+12345-01-01 00:00:00"},
    {"+2020-01-01", "yyyy-MM-dd", NULL, NULL},
    {"-0044-03-15", "yyyy-MM-dd", "-0044-03-15 00:00:00", "-0044-03-15 00:00:00"},
    {"-0000-03-15", "yyyy-MM-dd", NULL, NULL},
    {"0000-03-15", "yyyy-MM-dd", "0000-03-15 00:00:00", "0000-03-15 00:00:00"},
    {"20200701", "yyyyMMdd", "2020-07-01 00:00:00", "2020-07-01 00:00:00"},
    {"120200701", "yyyyMMdd", NULL, NULL},
    {"2020071", "yyyyMMd", NULL, NULL},
    {"200701", "yyMMdd", "2020-07-01 00:00:00", "2020-07-01 00:00:00"},
    {"2020071", "yMMdd", NULL, NULL},
    {"99", "yy", "2099-01-01 00:00:00", "2099-01-01 00:00:00"},
    {"2020", "y", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"+2020", "y", NULL, NULL},
    {"-5", "y", "-0005-01-01 00:00:00", "-0005-01-01 00:00:00"},
    {"02020", "yyyyy", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"2020", "yyy", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"7", "M", "1970-07-01 00:00:00", "1970-07-01 00:00:00"},
    {"07", "M", "1970-07-01 00:00:00", "1970-07-01 00:00:00"},
    {"123", "M", NULL, NULL},
    {"13", "MM", NULL, NULL},
    {"Jul 2020", "MMM yyyy", "2020-07-01 00:00:00", "2020-07-01 00:00:00"},
    {"jUL 2020", "MMM yyyy", "2020-07-01 00:00:00", "2020-07-01 00:00:00"},
    {"July 2020", "MMM yyyy", NULL, NULL},
    {"July 2020", "MMMM yyyy", "2020-07-01 00:00:00", "2020-07-01 00:00:00"},
    {"Jul 2020", "MMMM yyyy", NULL, NULL},
    {"May 2020", "MMMM yyyy", "2020-05-01 00:00:00", "2020-05-01 00:00:00"},
    {"Sept 2020", "MMM yyyy", NULL, NULL},
    {"Jul", "LLL", "1970-07-01 00:00:00", "1970-07-01 00:00:00"},
    {"2020-183", "yyyy-D", "2020-07-01 00:00:00", "2020-07-01 00:00:00"},
    {"2020-183", "yyyy-DDD", "2020-07-01 00:00:00", "2020-07-01 00:00:00"},
    {"2020-83", "yyyy-DDD", NULL, NULL},
    {"2020-083", "yyyy-DDD", "2020-03-23 00:00:00", "2020-03-23 00:00:00"},
    {"2020-83", "yyyy-DD", "2020-03-23 00:00:00", "2020-03-23 00:00:00"},
    {"2020-183", "yyyy-DD", "2020-07-01 00:00:00", "2020-07-01 00:00:00"},
    {"2020-366", "yyyy-D", "2020-12-31 00:00:00", "2020-12-31 00:00:00"},
    {"2021-366", "yyyy-D", NULL, NULL},
    {"2021-02-29", "yyyy-MM-dd", NULL, NULL},
    {"2021-02-30", "yyyy-MM-dd", NULL, NULL},
    {"2020-02-29", "yyyy-MM-dd", "2020-02-29 00:00:00", "2020-02-29 00:00:00"},
    {"02-29", "MM-dd", NULL, NULL},
    {"02-28", "MM-dd", "1970-02-28 00:00:00", "1970-02-28 00:00:00"},
    {"31", "dd", "1970-01-31 00:00:00", "1970-01-31 00:00:00"},
    {"32", "dd", NULL, NULL},
    {"0", "d", NULL, NULL},
    {"2020-01-01 10:20:30", "yyyy-MM-dd HH:mm:ss", "2020-01-01 10:20:30", "2020-01-01 10:20:30"},
    {"2020-01-01 24:20:30", "yyyy-MM-dd HH:mm:ss", NULL, NULL},
    {"2020-01-01 24:00:00", "yyyy-MM-dd HH:mm:ss", NULL, NULL},
    {"2020-01-01 24", "yyyy-MM-dd kk", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 0", "yyyy-MM-dd k", NULL, NULL},
    {"10 PM", "h a", "1970-01-01 22:00:00", "1970-01-01 22:00:00"},
    {"12 AM", "h a", "1970-01-01 00:00:00", "1970-01-01 00:00:00"},
    {"12 PM", "h a", "1970-01-01 12:00:00", "1970-01-01 12:00:00"},
    {"12", "h", "1970-01-01 00:00:00", "1970-01-01 00:00:00"},
    {"12", "hh", "1970-01-01 00:00:00", "1970-01-01 00:00:00"},
    {"13", "hh", NULL, NULL},
    {"0", "K", "1970-01-01 00:00:00", "1970-01-01 00:00:00"},
    {"11 pm", "K a", "1970-01-01 23:00:00", "1970-01-01 23:00:00"},
    {"12", "K", NULL, NULL},
    {"PM", "a", "1970-01-01 12:00:00", "1970-01-01 12:00:00"},
    {"AM", "a", "1970-01-01 00:00:00", "1970-01-01 00:00:00"},
    {"pm", "a", "1970-01-01 12:00:00", "1970-01-01 12:00:00"},
    {"p.m.", "a", NULL, NULL},
    {"20", "mm", "1970-01-01 00:20:00", "1970-01-01 00:20:00"},
    {"20", "ss", "1970-01-01 00:00:20", "1970-01-01 00:00:20"},
    {"61", "ss", NULL, NULL},
    {"10 22", "hh HH", "1970-01-01 22:00:00", "1970-01-01 22:00:00"},
    {"10 10", "hh HH", "1970-01-01 10:00:00", "1970-01-01 10:00:00"},
    {"10 PM 22", "hh a HH", "1970-01-01 22:00:00", "1970-01-01 22:00:00"},
    {"10 PM 23", "hh a HH", NULL, NULL},
    {"12:34:56.1", "HH:mm:ss.SSS", "1970-01-01 12:34:56.1", "1970-01-01 12:34:56.1"},
    {"12:34:56.123", "HH:mm:ss.SSS", "1970-01-01 12:34:56.123", "1970-01-01 12:34:56.123"},
    {"12:34:56.1234", "HH:mm:ss.SSS", NULL, NULL},
    {"12:34:56.", "HH:mm:ss.SSS", NULL, NULL},
    {"12:34:56.123456789", "HH:mm:ss.SSSSSSSSS", "1970-01-01 12:34:56.123456", "1970-01-01 12:34:56.123456"},
    {"12:34:56.12", "HH:mm:ss.S", NULL, NULL},
    {"123456123", "HHmmssSSS", "1970-01-01 12:34:56.123", "1970-01-01 12:34:56.123"},
    {"12345612", "HHmmssSSS", "1970-01-01 12:34:56.12", "1970-01-01 12:34:56.12"},
    {"2020-01-01T10:20:30", "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]", "2020-01-01 10:20:30", "2020-01-01 10:20:30"},
    {"2020-01-01T10:20:30.5+01:00", "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]", "2020-01-01 10:20:30.5", "2020-01-01 10:20:30.5"},
    {"2020-01-01T10:20:30Z", "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]", "2020-01-01 11:20:30", "2020-01-01 10:20:30"},
    {"2020-01-01T10:20:30.", "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]", NULL, NULL},
    {"2020-01-01t10:20:30", "yyyy-MM-dd'T'HH:mm:ss", "2020-01-01 10:20:30", "2020-01-01 10:20:30"},
    {"2020-01-01 Europe/Berlin", "yyyy-MM-dd VV", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 europe/berlin", "yyyy-MM-dd VV", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 +01:00", "yyyy-MM-dd VV", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 UTC+1", "yyyy-MM-dd VV", NULL, NULL},
    {"2020-01-01 GMT+01:00", "yyyy-MM-dd VV", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 Z", "yyyy-MM-dd VV", "2020-01-01 01:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 UTC", "yyyy-MM-dd VV", "2020-01-01 01:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 EST", "yyyy-MM-dd VV", NULL, NULL},
    {"2020-01-01 CET", "yyyy-MM-dd z", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 PST", "yyyy-MM-dd z", "2020-01-01 09:00:00", "2020-01-01 00:00:00"},
    {"2020-07-01 PDT", "yyyy-MM-dd z", "2020-07-01 09:00:00", "2020-07-01 00:00:00"},
    {"2020-07-01 PST", "yyyy-MM-dd z", "2020-07-01 09:00:00", "2020-07-01 00:00:00"},
    {"2020-01-01 UTC", "yyyy-MM-dd z", "2020-01-01 01:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 GMT", "yyyy-MM-dd z", "2020-01-01 01:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 Z", "yyyy-MM-dd z", "2020-01-01 01:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 +01:00", "yyyy-MM-dd z", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 Europe/Berlin", "yyyy-MM-dd z", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 Pacific Standard Time", "yyyy-MM-dd zzzz", "2020-01-01 09:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 JST", "yyyy-MM-dd z", "2019-12-31 16:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 EST", "yyyy-MM-dd z", "2020-01-01 06:00:00", "2020-01-01 00:00:00"},
    {"2020-01-01 IST", "yyyy-MM-dd z", "2020-01-01 01:00:00", "2020-01-01 00:00:00"},
    {"+01", "X", "1970-01-01 00:00:00", "1970-01-01 00:00:00"},
    {"+0130", "X", "1969-12-31 23:30:00", "1970-01-01 00:00:00"},
    {"+01:30", "X", NULL, NULL},
    {"Z", "X", "1970-01-01 01:00:00", "1970-01-01 00:00:00"},
    {"z", "X", "1970-01-01 01:00:00", "1970-01-01 00:00:00"},
    {"+0130", "XX", "1969-12-31 23:30:00", "1970-01-01 00:00:00"},
    {"+01", "XX", NULL, NULL},
    {"+01:30", "XXX", "1969-12-31 23:30:00", "1970-01-01 00:00:00"},
    {"+0130", "XXX", NULL, NULL},
    {"+01:30:15", "XXXXX", "1969-12-31 23:29:45", "1970-01-01 00:00:00"},
    {"+01:30", "XXXXX", "1969-12-31 23:30:00", "1970-01-01 00:00:00"},
    {"+013015", "XXXX", "1969-12-31 23:29:45", "1970-01-01 00:00:00"},
    {"+00", "x", "1970-01-01 01:00:00", "1970-01-01 00:00:00"},
    {"Z", "x", NULL, NULL},
    {"-0000", "xx", "1970-01-01 01:00:00", "1970-01-01 00:00:00"},
    {"+0100", "Z", "1970-01-01 00:00:00", "1970-01-01 00:00:00"},
    {"+01:00", "Z", NULL, NULL},
    {"Z", "Z", NULL, NULL},
    {"+01:00", "ZZZZZ", "1970-01-01 00:00:00", "1970-01-01 00:00:00"},
    {"Z", "ZZZZZ", "1970-01-01 01:00:00", "1970-01-01 00:00:00"},
    {"GMT+01:00", "ZZZZ", "1970-01-01 00:00:00", "1970-01-01 00:00:00"},
    {"GMT", "ZZZZ", "1970-01-01 01:00:00", "1970-01-01 00:00:00"},
    {"GMT+1", "O", "1970-01-01 00:00:00", "1970-01-01 00:00:00"},
    {"GMT+01:00", "O", "1970-01-01 00:00:00", "1970-01-01 00:00:00"},
    {"GMT", "O", "1970-01-01 01:00:00", "1970-01-01 00:00:00"},
    {"UTC+1", "O", NULL, NULL},
    {"GMT+01:00", "OOOO", "1970-01-01 00:00:00", "1970-01-01 00:00:00"},
    {"GMT+1", "OOOO", NULL, NULL},
    {"AD 2020", "G yyyy", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"BC 0045", "G yyyy", "-0044-01-01 00:00:00", "-0044-01-01 00:00:00"},
    {"BC 45", "G y", "-0044-01-01 00:00:00", "-0044-01-01 00:00:00"},
    {"Anno Domini 2020", "GGGG yyyy", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"BC", "G", "1970-01-01 00:00:00", "1970-01-01 00:00:00"},
    {"2020", "yyyy[-MM][-dd]", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"2020-05", "yyyy[-MM][-dd]", "2020-05-01 00:00:00", "2020-05-01 00:00:00"},
    {"2020-05-06", "yyyy[-MM][-dd]", "2020-05-06 00:00:00", "2020-05-06 00:00:00"},
    {"2020-05-06x", "yyyy-MM-dd", NULL, NULL},
    {" 2020-05-06", "yyyy-MM-dd", NULL, NULL},
    {"2020-05-06 ", "yyyy-MM-dd", NULL, NULL},
    {"it's 2020", "'it''s' yyyy", "2020-01-01 00:00:00", "2020-01-01 00:00:00"},
    {"", "yyyy", NULL, NULL},
    {"2020-10-25 02:30:00", "yyyy-MM-dd HH:mm:ss", "2020-10-25 02:30:00", "2020-10-25 02:30:00"},
    {"2020-03-29 02:30:00", "yyyy-MM-dd HH:mm:ss", "2020-03-29 03:30:00", "2020-03-29 02:30:00"},
    {"2020-07-01 5", "yyyy-MM-dd H", "2020-07-01 05:00:00", "2020-07-01 05:00:00"},
    {"07/01/20", "MM/dd/yy", "2020-07-01 00:00:00", "2020-07-01 00:00:00"},
    {"1/2/2020 3:4:5 PM", "M/d/yyyy h:mm:ss a", NULL, NULL},
    {"1/2/2020 3:04:05 PM", "M/d/yyyy h:mm:ss a", "2020-01-02 15:04:05", "2020-01-02 15:04:05"},
    {"2020-01-01 10:20:30.123", "yyyy-MM-dd HH:mm:ss", NULL, NULL},
    {"20200101102030", "yyyyMMddHHmmss", "2020-01-01 10:20:30", "2020-01-01 10:20:30"},
    {"20200101102030123", "yyyyMMddHHmmssSSS", NULL, NULL},
    {"202001011020305", "yyyyMMddHHmmssS", "2020-01-01 10:20:30.5", "2020-01-01 10:20:30.5"},
    {"2020-1", "yyyy-DDD", NULL, NULL},
    {"60 60", "m s", NULL, NULL},
};

static nl_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = nl_arena_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nl_arena_free(arena);
    return 0;
}

static const nl_timezone *zone_named(const char *name)
{
    const nl_timezone *zone;
    assert_null(nl_timezone_find(nl_str_from(name), &zone));
    return zone;
}

static const nl_datetime_pattern *compile(const char *pattern, nl_datetime_use use)
{
    const nl_datetime_pattern *compiled;
    nl_status status = nl_datetime_compile(nl_str_from(pattern), use, arena, &compiled);
    if (status) fail_msg("%s: %s", pattern, nl_error_message(status));
    return compiled;
}

static void test_timestamps_are_formatted_as_spark_does(void **state)
{
    (void)state;
    const nl_timezone *zone = zone_named("America/Los_Angeles");
    for (size_t i = 0; i < NL_COUNT(format_rows); i++) {
        const format_row *row = &format_rows[i];
        int64_t micros;
        nl_builder out;
        assert_true(nl_cast_timestamp(nl_str_from(row->timestamp), zone, &micros));
        nl_builder_init(&out, 1000);
        assert_null(nl_datetime_format_timestamp(compile(row->pattern, NL_DATETIME_FORMAT), micros, zone, &out));
        if (strcmp(nl_builder_c(&out), row->expected) != 0)
            fail_msg("%s %s: %s, not %s", row->timestamp, row->pattern, nl_builder_c(&out), row->expected);
        nl_builder_fini(&out);
    }
}

static void test_patterns_spark_refuses_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(refused_rows); i++) {
        const nl_datetime_pattern *compiled;
        nl_status status =
            nl_datetime_compile(nl_str_from(refused_rows[i].pattern), NL_DATETIME_FORMAT, arena, &compiled);
        if (!status) fail_msg("%s was taken", refused_rows[i].pattern);
        if (nl_error_condition(status) != refused_rows[i].condition)
            fail_msg("%s: %s", refused_rows[i].pattern, nl_error_message(status));
        nl_error_free(status);
    }
}

static void test_letters_without_a_way_to_read_them_are_refused(void **state)
{
    (void)state;
    const nl_datetime_pattern *compiled;
    nl_status status = nl_datetime_compile(NL_STR("Q"), NL_DATETIME_PARSE_DATE, arena, &compiled);
    assert_int_equal(nl_error_condition(status), NL_COND_INVALID_DATETIME_PATTERN__ILLEGAL_CHARACTER);
    assert_string_equal(nl_error_param(status, "c"), "Q");
    nl_error_free(status);
    status = nl_datetime_compile(NL_STR("yyyy E"), NL_DATETIME_PARSE_DATE, arena, &compiled);
    assert_int_equal(nl_error_condition(status),
                     NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION);
    assert_string_equal(nl_error_param(status, "pattern"), "'yyyy E'");
    nl_error_free(status);
}

static void assert_parsed(const parse_row *row, bool is_parsed, int64_t micros, const char *expected)
{
    char text[NL_NUMBER_TEXT_MAX];
    if (!expected && !is_parsed) return;
    if (!expected || !is_parsed) fail_msg("\"%s\" as %s: %s", row->text, row->pattern, is_parsed ? "parsed" : "refused");
    uint32_t length = nl_format_timestamp(micros, text);
    text[length] = '\0';
    if (strcmp(text, expected) != 0) fail_msg("\"%s\" as %s: %s, not %s", row->text, row->pattern, text, expected);
}

static void test_timestamps_are_parsed_as_spark_does(void **state)
{
    (void)state;
    const nl_timezone *zone = zone_named("Europe/Berlin");
    for (size_t i = 0; i < NL_COUNT(parse_rows); i++) {
        const parse_row *row = &parse_rows[i];
        const nl_datetime_pattern *pattern = compile(row->pattern, NL_DATETIME_PARSE_TIMESTAMP);
        int64_t micros = 0;
        bool is_parsed = nl_datetime_parse_timestamp(pattern, nl_str_from(row->text), zone, &micros);
        assert_parsed(row, is_parsed, is_parsed ? nl_timezone_to_local(zone, micros) : 0, row->timestamp);
        is_parsed = nl_datetime_parse_ntz(pattern, nl_str_from(row->text), true, &micros);
        assert_parsed(row, is_parsed, micros, row->ntz);
    }
}

static void test_dates_have_no_time_and_no_zone(void **state)
{
    (void)state;
    nl_builder out;
    nl_builder_init(&out, 100);
    assert_null(nl_datetime_format_date(compile("dd.MM.yyyy[ HH][XXX]", NL_DATETIME_FORMAT), 0, &out));
    assert_string_equal(nl_builder_c(&out), "01.01.1970");
    nl_status status = nl_datetime_format_date(compile("HH", NL_DATETIME_FORMAT), 0, &out);
    assert_string_equal(nl_error_param(status, "message"), "Unsupported field: HourOfDay");
    nl_error_free(status);
    nl_builder_fini(&out);
    int32_t days;
    assert_true(nl_datetime_parse_date(compile("dd/MM/yyyy", NL_DATETIME_PARSE_DATE), NL_STR("02/01/1970"), &days));
    assert_int_equal(days, 1);
    assert_false(nl_datetime_parse_date(compile("y", NL_DATETIME_PARSE_DATE), NL_STR("99999999"), &days));
}

static void test_a_zone_makes_an_ntz_invalid_unless_allowed(void **state)
{
    (void)state;
    const nl_datetime_pattern *pattern = compile("yyyy[XXX]", NL_DATETIME_PARSE_TIMESTAMP);
    int64_t micros;
    assert_true(nl_datetime_has_zone(pattern));
    assert_true(nl_datetime_parse_ntz(pattern, NL_STR("1970"), false, &micros));
    assert_true(nl_datetime_parse_ntz(pattern, NL_STR("1970Z"), true, &micros));
    assert_false(nl_datetime_parse_ntz(pattern, NL_STR("1970Z"), false, &micros));
}

static void test_any_pattern_and_text_end_in_an_answer(void **state)
{
    (void)state;
    uint64_t seed = 7;
    const char letters[] = "yMdHhKkmsSazOXxZVGEDFQ[]'-: 0123456789+";
    for (int round = 0; round < 20000; round++) {
        char pattern[12], text[12];
        for (size_t i = 0; i < sizeof pattern; i++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            pattern[i] = letters[(seed >> 33) % (sizeof letters - 1)];
            text[i] = letters[(seed >> 45) % (sizeof letters - 1)];
        }
        const nl_datetime_pattern *compiled;
        nl_datetime_use use = (nl_datetime_use)(round % 3);
        nl_status status = nl_datetime_compile((nl_str){pattern, (seed >> 20) % 13}, use, arena, &compiled);
        if (status) {
            nl_error_free(status);
            continue;
        }
        nl_builder out;
        int64_t micros;
        nl_builder_init(&out, 1000);
        nl_error_free(nl_datetime_format_timestamp(compiled, (int64_t)seed / 100, nl_timezone_utc(), &out));
        nl_datetime_parse_timestamp(compiled, (nl_str){text, (seed >> 24) % 13}, nl_timezone_utc(), &micros);
        nl_builder_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_timestamps_are_formatted_as_spark_does, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_patterns_spark_refuses_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_letters_without_a_way_to_read_them_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_timestamps_are_parsed_as_spark_does, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dates_have_no_time_and_no_zone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_zone_makes_an_ntz_invalid_unless_allowed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_any_pattern_and_text_end_in_an_answer, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
