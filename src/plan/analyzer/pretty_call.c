/* How Spark prints a function call: upper-case names of the old math functions, default arguments that its
 * constructors add, the forms that are not "name(a, b)". Seen on Spark 4.0.1. */
#include "plan/analyzer/analyzer.h"

typedef struct printed_call {
    const char *name;
    int8_t argument_count;  /* -1: any */
    const char *format;     /* \1: the arguments in order; NULL: just another name */
    const char *other_name;
} printed_call;

#define V "namedlambdavariable()"
#define DEFAULT_COMPARATOR                                                                                                \
    "lambdafunction((IF(((" V " IS NULL) AND (" V " IS NULL)), 0, (IF((" V " IS NULL), 1, (IF((" V " IS NULL), -1, (IF((" \
    V " < " V "), -1, (IF((" V " > " V "), 1, 0)))))))))), " V ", " V ")"

static const printed_call printed_calls[] = {
    {"ceil", 1, NULL, "CEIL"},
    {"floor", 1, NULL, "FLOOR"},
    {"sqrt", -1, NULL, "SQRT"},
    {"exp", -1, NULL, "EXP"},
    {"expm1", -1, NULL, "EXPM1"},
    {"log10", -1, NULL, "LOG10"},
    {"log2", -1, NULL, "LOG2"},
    {"log1p", -1, NULL, "LOG1P"},
    {"log", 1, "LOG(E(), \1)", NULL},
    {"log", 2, NULL, "LOG"},
    {"power", -1, NULL, "POWER"},
    {"signum", -1, NULL, "SIGNUM"},
    {"sin", -1, NULL, "SIN"},
    {"cos", -1, NULL, "COS"},
    {"tan", -1, NULL, "TAN"},
    {"cot", -1, NULL, "COT"},
    {"csc", -1, NULL, "CSC"},
    {"sec", -1, NULL, "SEC"},
    {"asin", -1, NULL, "ASIN"},
    {"acos", -1, NULL, "ACOS"},
    {"atan", -1, NULL, "ATAN"},
    {"atan2", -1, NULL, "ATAN2"},
    {"sinh", -1, NULL, "SINH"},
    {"cosh", -1, NULL, "COSH"},
    {"tanh", -1, NULL, "TANH"},
    {"asinh", -1, NULL, "ASINH"},
    {"acosh", -1, NULL, "ACOSH"},
    {"atanh", -1, NULL, "ATANH"},
    {"cbrt", -1, NULL, "CBRT"},
    {"degrees", -1, NULL, "DEGREES"},
    {"radians", -1, NULL, "RADIANS"},
    {"hypot", -1, NULL, "HYPOT"},
    {"pi", -1, NULL, "PI"},
    {"e", -1, NULL, "E"},
    {"random", -1, NULL, "rand"},
    {"spark_partition_id", -1, NULL, "SPARK_PARTITION_ID"},
    {"rank", 0, NULL, "RANK"},
    {"dense_rank", 0, NULL, "DENSE_RANK"},
    {"percent_rank", 0, NULL, "PERCENT_RANK"},
    {"dateadd", 2, NULL, "date_add"},
    {"curdate", 0, NULL, "current_date"},
    {"and", 2, "(\1 AND \1)", NULL},
    {"or", 2, "(\1 OR \1)", NULL},
    {"array_agg", -1, NULL, "collect_list"},
    {"to_varchar", -1, NULL, "to_char"},
    {"positive", 1, "(+ \1)", NULL},
    {"div", 2, "(\1 div \1)", NULL},
    {"!", 1, "(NOT \1)", NULL},
    {"like", 2, "\1 LIKE \1", NULL},
    {"like", 3, "\1 LIKE \1 ESCAPE '\1'", NULL},
    {"rlike", -1, NULL, "RLIKE"},
    {"regexp", -1, NULL, "REGEXP"},
    {"regexp_like", -1, NULL, "REGEXP_LIKE"},
    {"round", 1, "round(\1, 0)", NULL},
    {"bround", 1, "bround(\1, 0)", NULL},
    {"substring", 2, "substring(\1, \1, 2147483647)", NULL},
    {"substr", 2, "substr(\1, \1, 2147483647)", NULL},
    {"overlay", 3, "overlay(\1, \1, \1, -1)", NULL},
    {"locate", 2, "locate(\1, \1, 1)", NULL},
    {"position", 2, "position(\1, \1, 1)", NULL},
    {"split", 2, "split(\1, \1, -1)", NULL},
    {"regexp_replace", 3, "regexp_replace(\1, \1, \1, 1)", NULL},
    {"regexp_extract", 2, "regexp_extract(\1, \1, 1)", NULL},
    {"regexp_extract_all", 2, "regexp_extract_all(\1, \1, 1)", NULL},
    {"regexp_instr", 2, "regexp_instr(\1, \1, 0)", NULL},
    {"replace", 2, "replace(\1, \1, )", NULL},
    {"lpad", 2, "lpad(\1, \1,  )", NULL},
    {"rpad", 2, "rpad(\1, \1,  )", NULL},
    {"mask", 1, "mask(\1, X, x, n, NULL)", NULL},
    {"mask", 2, "mask(\1, \1, x, n, NULL)", NULL},
    {"mask", 3, "mask(\1, \1, \1, n, NULL)", NULL},
    {"mask", 4, "mask(\1, \1, \1, \1, NULL)", NULL},
    {"sentences", 1, "sentences(\1, , )", NULL},
    {"sentences", 2, "sentences(\1, \1, )", NULL},
    {"ltrim", 2, "TRIM(LEADING \1 FROM \1)", NULL},
    {"rtrim", 2, "TRIM(TRAILING \1 FROM \1)", NULL},
    {"trim", 2, "TRIM(BOTH \1 FROM \1)", NULL},
    {"unix_timestamp", 0, "unix_timestamp(current_timestamp(), yyyy-MM-dd HH:mm:ss)", NULL},
    {"unix_timestamp", 1, "unix_timestamp(\1, yyyy-MM-dd HH:mm:ss)", NULL},
    {"to_unix_timestamp", 1, "to_unix_timestamp(\1, yyyy-MM-dd HH:mm:ss)", NULL},
    {"from_unixtime", 1, "from_unixtime(\1, yyyy-MM-dd HH:mm:ss)", NULL},
    {"try_make_timestamp", 7, "try_make_timestamp(\1, \1, \1, \1, \1, \1)", NULL},
    {"aes_encrypt", 2, "aes_encrypt(\1, \1, GCM, DEFAULT, , )", NULL},
    {"aes_encrypt", 3, "aes_encrypt(\1, \1, \1, DEFAULT, , )", NULL},
    {"aes_encrypt", 4, "aes_encrypt(\1, \1, \1, \1, , )", NULL},
    {"aes_encrypt", 5, "aes_encrypt(\1, \1, \1, \1, \1, )", NULL},
    {"aes_decrypt", 2, "aes_decrypt(\1, \1, GCM, DEFAULT, )", NULL},
    {"aes_decrypt", 3, "aes_decrypt(\1, \1, \1, DEFAULT, )", NULL},
    {"aes_decrypt", 4, "aes_decrypt(\1, \1, \1, \1, )", NULL},
    {"try_aes_decrypt", 2, "try_aes_decrypt(\1, \1, GCM, DEFAULT, )", NULL},
    {"try_aes_decrypt", 3, "try_aes_decrypt(\1, \1, \1, DEFAULT, )", NULL},
    {"try_aes_decrypt", 4, "try_aes_decrypt(\1, \1, \1, \1, )", NULL},
    {"shuffle", 2, "shuffle(\1)", NULL},
    {"months_between", 2, "months_between(\1, \1, true)", NULL},
    {"try_make_interval", 0, "try_make_interval(0, 0, 0, 0, 0, 0, 0.000000)", NULL},
    {"try_make_interval", 1, "try_make_interval(\1, 0, 0, 0, 0, 0, 0.000000)", NULL},
    {"try_make_interval", 2, "try_make_interval(\1, \1, 0, 0, 0, 0, 0.000000)", NULL},
    {"try_make_interval", 3, "try_make_interval(\1, \1, \1, 0, 0, 0, 0.000000)", NULL},
    {"try_make_interval", 4, "try_make_interval(\1, \1, \1, \1, 0, 0, 0.000000)", NULL},
    {"try_make_interval", 5, "try_make_interval(\1, \1, \1, \1, \1, 0, 0.000000)", NULL},
    {"try_make_interval", 6, "try_make_interval(\1, \1, \1, \1, \1, \1, 0.000000)", NULL},
    {"make_interval", 0, "make_interval(0, 0, 0, 0, 0, 0, 0.000000)", NULL},
    {"make_interval", 1, "make_interval(\1, 0, 0, 0, 0, 0, 0.000000)", NULL},
    {"make_interval", 2, "make_interval(\1, \1, 0, 0, 0, 0, 0.000000)", NULL},
    {"make_interval", 3, "make_interval(\1, \1, \1, 0, 0, 0, 0.000000)", NULL},
    {"make_interval", 4, "make_interval(\1, \1, \1, \1, 0, 0, 0.000000)", NULL},
    {"make_interval", 5, "make_interval(\1, \1, \1, \1, \1, 0, 0.000000)", NULL},
    {"make_interval", 6, "make_interval(\1, \1, \1, \1, \1, \1, 0.000000)", NULL},
    {"make_dt_interval", 0, "make_dt_interval(0, 0, 0, 0.000000)", NULL},
    {"make_dt_interval", 1, "make_dt_interval(\1, 0, 0, 0.000000)", NULL},
    {"make_dt_interval", 2, "make_dt_interval(\1, \1, 0, 0.000000)", NULL},
    {"make_dt_interval", 3, "make_dt_interval(\1, \1, \1, 0.000000)", NULL},
    {"make_ym_interval", 0, "make_ym_interval(0, 0)", NULL},
    {"make_ym_interval", 1, "make_ym_interval(\1, 0)", NULL},
    {"convert_timezone", 2, "convert_timezone(current_timezone(), \1, \1)", NULL},
    {"aggregate", 3, "aggregate(\1, \1, \1, lambdafunction(namedlambdavariable(), namedlambdavariable()))", NULL},
    {"reduce", 3, "reduce(\1, \1, \1, lambdafunction(namedlambdavariable(), namedlambdavariable()))", NULL},
    {"array_sort", 1, "array_sort(\1, " DEFAULT_COMPARATOR ")", NULL},
    {"sort_array", 1, "sort_array(\1, true)", NULL},
    {"str_to_map", 1, "str_to_map(\1, ,, :)", NULL},
    {"str_to_map", 2, "str_to_map(\1, \1, :)", NULL},
    {"percentile", 2, "percentile(\1, \1, 1)", NULL},
    {"percentile_cont", 3, "percentile_cont(\1, \1)", NULL},
    {"percentile_disc", 3, "percentile_disc(\1, \1)", NULL},
    {"percentile_approx", 2, "percentile_approx(\1, \1, 10000)", NULL},
    {"approx_percentile", 2, "approx_percentile(\1, \1, 10000)", NULL},
    {"approx_count_distinct", 2, "approx_count_distinct(\1)", NULL},
    {"listagg", 1, "listagg(\1, NULL)", NULL},
    {"string_agg", 1, "string_agg(\1, NULL)", NULL},
    {"hll_sketch_agg", 1, "hll_sketch_agg(\1, 12)", NULL},
    {"hll_union", 2, "hll_union(\1, \1, false)", NULL},
    {"hll_union_agg", 1, "hll_union_agg(\1, false)", NULL},
    {"current_database", 0, NULL, "current_schema"},
    {"assert_true", 1, "assert_true(\1, '\1' is not true!)", NULL},
    {"raise_error", 1, "raise_error(USER_RAISED_EXCEPTION, map(errorMessage, \1))", NULL},
    {"to_json", 2, "to_json(\1)", NULL},
    {"to_csv", 2, "to_csv(\1)", NULL},
    {"schema_of_json", 2, "schema_of_json(\1)", NULL},
    {"schema_of_csv", 2, "schema_of_csv(\1)", NULL},
    {"from_json", -1, "from_json(\1)", NULL},
    {"from_csv", -1, "from_csv(\1)", NULL},
    {"to_xml", 2, "to_xml(\1)", NULL},
    {"schema_of_xml", 2, "schema_of_xml(\1)", NULL},
    {"from_xml", -1, "from_xml(\1)", NULL},
    {"variant_get", -1, "variant_get(\1, \1)", NULL},
    {"try_variant_get", -1, "try_variant_get(\1, \1)", NULL},
    {"extract", 2, "extract(\1 FROM \1)", NULL},
    {"datepart", 2, "datepart(\1 FROM \1)", NULL},
    {"lag", 1, "lag(\1, 1, NULL)", NULL},
    {"lag", 2, "lag(\1, \1, NULL)", NULL},
    {"lead", 1, "lead(\1, 1, NULL)", NULL},
    {"lead", 2, "lead(\1, \1, NULL)", NULL},
    {"ntile", 0, "ntile(1)", NULL},
    {"isnull", 1, "(\1 IS NULL)", NULL},
    {"isnotnull", 1, "(\1 IS NOT NULL)", NULL},
    {"if", 3, "(IF(\1, \1, \1))", NULL},
};

static nl_str lower_case(nl_arena *arena, nl_str name)
{
    char *lower = NL_NEW_ARRAY(arena, char, name.length + 1);
    for (size_t i = 0; i < name.length; i++)
        lower[i] = name.data[i] >= 'A' && name.data[i] <= 'Z' ? (char)(name.data[i] + 32) : name.data[i];
    return (nl_str){lower, name.length};
}

static const printed_call *find_printed(nl_str name, uint32_t count)
{
    for (size_t i = 0; i < NL_COUNT(printed_calls); i++) {
        const printed_call *row = &printed_calls[i];
        if (!nl_str_is(name, row->name)) continue;
        if (row->argument_count < 0 || (uint32_t)row->argument_count == count) return row;
    }
    return NULL;
}

static bool is_infix(nl_str name)
{
    static const char *const names[] = {"+", "-", "*", "/", "%",  "&",  "|",   "^", "=",
                                        "==", "<", ">", "<=", ">=", "<=>", "<<", ">>", ">>>"};
    for (size_t i = 0; i < NL_COUNT(names); i++)
        if (nl_str_is(name, names[i])) return true;
    return false;
}

const nl_pretty *nl_pretty_call(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count)
{
    nl_arena *arena = nl_scope_arena(scope);
    name = lower_case(arena, name);
    const nl_pretty **parts = NL_NEW_ARRAY(arena, const nl_pretty *, count + 1);
    for (uint32_t i = 0; i < count; i++) parts[i] = nl_expr_pretty(arena, args[i]);
    const bool is_pad = count == 2 && (nl_str_is(name, "lpad") || nl_str_is(name, "rpad"));
    if (is_pad && args[0]->type->id == NL_TYPE_BINARY) /* bytes are padded with zeros */
        return nl_pretty_parts(arena, nl_arena_f(arena, NL_STR_FMT "(\1, \1, X'00')", NL_STR_ARG(name)), parts, 2);
    const printed_call *row = find_printed(name, count);
    if (row && row->format) {
        if (nl_str_is(name, "assert_true") && count == 1) {
            const nl_pretty *const twice[] = {parts[0], parts[0]};
            return nl_pretty_parts(arena, nl_str_from(row->format), twice, 2);
        }
        return nl_pretty_parts(arena, nl_str_from(row->format), parts, count);
    }
    if (row) return nl_pretty_parts(arena, nl_call_format(arena, nl_str_from(row->other_name), count), parts, count);
    if (count == 2 && is_infix(name))
        return nl_pretty_parts(arena, nl_arena_f(arena, "(\1 " NL_STR_FMT " \1)", NL_STR_ARG(name)), parts, 2);
    return nl_pretty_parts(arena, nl_call_format(arena, name, count), parts, count);
}
