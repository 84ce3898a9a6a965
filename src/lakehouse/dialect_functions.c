/* lakehouse/dialect_functions.c - every function of Trino's that may be called, one row each: its name, how many arguments it takes, and
 * what the engine is given for it. A call of anything else is refused by name, so that no function of Spark's that happens to
 * have a name of Trino's answers for it. Source: Trino's documentation, "Functions and operators"; tests/trino.
 */
#include "lakehouse/dialect_private.h"

#include "base/number.h"

#define solid      nl_dialect_solid
#define before(self, at) nl_dialect_before(self, at)
#define is_word    nl_dialect_is_word
#define is_sign    nl_dialect_is_sign
#define closing    nl_dialect_closing

#define ANY 127

/* engine: NULL is the same name; a name replaces the name; $1 … $9 are the arguments, $* all of them with their commas. */
typedef struct function_row {
    const char *name;
    int8_t least, most;
    const char *engine;
} function_row;

static const function_row rows[] = {
    /* conditions and comparisons */
    {"coalesce", 1, ANY, NULL}, {"nullif", 2, 2, NULL}, {"if", 3, 3, NULL}, {"if", 2, 2, "if($1, $2, NULL)"}, {"greatest", 1, ANY, "trino_greatest"}, {"least", 1, ANY, "trino_least"},
    {"grouping", 1, 1, "CAST(grouping($1) AS INT)"}, {"grouping", 2, 2, "CAST(grouping($1) * 2 + grouping($2) AS INT)"},
    {"grouping", 3, 3, "CAST(grouping($1) * 4 + grouping($2) * 2 + grouping($3) AS INT)"},
    /* numbers */
    {"abs", 1, 1, NULL}, {"sign", 1, 1, "trino_sign"}, {"mod", 2, 2, "(($1) % ($2))"}, {"ceil", 1, 1, "trino_ceil"}, {"ceiling", 1, 1, "trino_ceil"}, {"floor", 1, 1, "trino_floor"},
    {"round", 1, 2, "trino_round"}, {"truncate", 1, 2, "trino_truncate"},
    {"power", 2, 2, NULL}, {"pow", 2, 2, NULL}, {"sqrt", 1, 1, NULL}, {"cbrt", 1, 1, NULL}, {"exp", 1, 1, NULL}, {"ln", 1, 1, "trino_ln"}, {"log2", 1, 1, "trino_log2"}, {"log10", 1, 1, "trino_log10"},
    {"log", 2, 2, "(trino_ln($2) / trino_ln($1))"}, {"e", 0, 0, NULL}, {"pi", 0, 0, NULL}, {"sin", 1, 1, NULL}, {"cos", 1, 1, NULL}, {"tan", 1, 1, NULL}, {"asin", 1, 1, NULL}, {"acos", 1, 1, NULL},
    {"atan", 1, 1, NULL}, {"atan2", 2, 2, NULL}, {"sinh", 1, 1, NULL}, {"cosh", 1, 1, NULL}, {"tanh", 1, 1, NULL}, {"degrees", 1, 1, NULL}, {"radians", 1, 1, NULL}, {"width_bucket", 4, 4, NULL},
    {"is_nan", 1, 1, "trino_is_nan"}, {"is_finite", 1, 1, "trino_is_finite"}, {"is_infinite", 1, 1, "trino_is_infinite"}, {"nan", 0, 0, "CAST('NaN' AS DOUBLE)"},
    {"infinity", 0, 0, "CAST('Infinity' AS DOUBLE)"}, {"random", 0, 0, "rand()"}, {"rand", 0, 0, NULL},
    {"bitwise_and", 2, 2, "(CAST($1 AS BIGINT) & CAST($2 AS BIGINT))"}, {"bitwise_or", 2, 2, "(CAST($1 AS BIGINT) | CAST($2 AS BIGINT))"},
    {"bitwise_xor", 2, 2, "(CAST($1 AS BIGINT) ^ CAST($2 AS BIGINT))"}, {"bitwise_not", 1, 1, "(~CAST($1 AS BIGINT))"},
    /* texts */
    {"length", 1, 1, "CAST(length($1) AS BIGINT)"}, {"upper", 1, 1, "trino_upper"}, {"lower", 1, 1, NULL}, {"reverse", 1, 1, NULL}, {"trim", 1, 2, "trino_trim"}, {"ltrim", 1, 2, "trino_ltrim"},
    {"rtrim", 1, 2, "trino_rtrim"}, {"concat", 1, ANY, NULL}, {"concat_ws", 2, ANY, NULL}, {"substr", 2, 3, "trino_substr"}, {"substring", 2, 3, "trino_substr"},
    {"strpos", 2, 3, "trino_strpos"}, {"position", 2, 2, "trino_strpos($2, $1)"}, {"split", 2, 3, "trino_split"}, {"split_part", 3, 3, "trino_split_part"}, {"replace", 2, 3, "trino_replace"},
    {"lpad", 3, 3, "lpad($1, CAST($2 AS INT), $3)"}, {"rpad", 3, 3, "rpad($1, CAST($2 AS INT), $3)"}, {"starts_with", 2, 2, "startswith"}, {"chr", 1, 1, "trino_chr"}, {"codepoint", 1, 1, "trino_codepoint"},
    {"translate", 3, 3, NULL}, {"levenshtein_distance", 2, 2, "CAST(levenshtein($1, $2) AS BIGINT)"}, {"soundex", 1, 1, NULL}, {"luhn_check", 1, 1, NULL},
    {"regexp_like", 2, 2, "rlike($1, $2)"}, {"regexp_extract", 2, 3, "trino_regexp_extract"}, {"regexp_extract_all", 2, 2, "regexp_extract_all($1, $2, 0)"},
    {"regexp_extract_all", 3, 3, "regexp_extract_all($1, $2, CAST($3 AS INT))"}, {"regexp_replace", 2, 2, "regexp_replace($1, $2, '')"}, {"regexp_replace", 3, 3, NULL},
    {"regexp_split", 2, 2, "split($1, $2, -1)"}, {"regexp_count", 2, 2, "CAST(regexp_count($1, $2) AS BIGINT)"}, {"regexp_position", 2, 2, "trino_regexp_position"},
    {"to_hex", 1, 1, "hex"}, {"from_hex", 1, 1, "trino_from_hex"}, {"to_base64", 1, 1, "base64"}, {"from_base64", 1, 1, "unbase64"}, {"to_utf8", 1, 1, "encode($1, 'UTF-8')"},
    {"md5", 1, 1, "unhex(md5($1))"}, {"sha1", 1, 1, "unhex(sha1($1))"}, {"sha256", 1, 1, "unhex(sha2($1, 256))"}, {"sha512", 1, 1, "unhex(sha2($1, 512))"}, {"crc32", 1, 1, NULL},
    {"url_extract_host", 1, 1, "try_parse_url($1, 'HOST')"}, {"url_extract_path", 1, 1, "try_parse_url($1, 'PATH')"}, {"url_extract_query", 1, 1, "try_parse_url($1, 'QUERY')"},
    {"url_extract_protocol", 1, 1, "try_parse_url($1, 'PROTOCOL')"}, {"url_extract_fragment", 1, 1, "try_parse_url($1, 'REF')"}, {"url_extract_parameter", 2, 2, "try_parse_url($1, 'QUERY', $2)"},
    {"url_encode", 1, 1, NULL}, {"url_decode", 1, 1, NULL}, {"format", 1, ANY, "format_string"}, {"from_utf8", 1, 1, "decode($1, 'UTF-8')"}, {"uuid", 0, 0, NULL},
    /* dates and times */
    {"date", 1, 1, "CAST($1 AS DATE)"}, {"date_trunc", 2, 2, "trino_date_trunc"}, {"date_add", 3, 3, "trino_date_add"}, {"date_diff", 3, 3, "trino_date_diff"}, {"date_format", 2, 2, "trino_date_format"},
    {"date_parse", 2, 2, "trino_date_parse"}, {"format_datetime", 2, 2, "trino_format_datetime"}, {"parse_datetime", 2, 2, "trino_parse_datetime"}, {"from_unixtime", 1, 1, "trino_from_unixtime"},
    {"to_unixtime", 1, 1, "trino_to_unixtime"}, {"to_iso8601", 1, 1, "trino_to_iso8601"}, {"from_iso8601_timestamp", 1, 1, "trino_from_iso8601_timestamp"},
    {"from_iso8601_date", 1, 1, "trino_from_iso8601_date"}, {"year", 1, 1, "CAST(year($1) AS BIGINT)"}, {"quarter", 1, 1, "CAST(quarter($1) AS BIGINT)"}, {"month", 1, 1, "CAST(month($1) AS BIGINT)"},
    {"week", 1, 1, "CAST(weekofyear($1) AS BIGINT)"}, {"week_of_year", 1, 1, "CAST(weekofyear($1) AS BIGINT)"}, {"day", 1, 1, "CAST(day($1) AS BIGINT)"}, {"day_of_month", 1, 1, "CAST(day($1) AS BIGINT)"},
    {"day_of_week", 1, 1, "CAST(weekday($1) + 1 AS BIGINT)"}, {"dow", 1, 1, "CAST(weekday($1) + 1 AS BIGINT)"}, {"day_of_year", 1, 1, "CAST(dayofyear($1) AS BIGINT)"},
    {"doy", 1, 1, "CAST(dayofyear($1) AS BIGINT)"}, {"hour", 1, 1, "CAST(hour($1) AS BIGINT)"}, {"minute", 1, 1, "CAST(minute($1) AS BIGINT)"}, {"second", 1, 1, "CAST(second($1) AS BIGINT)"},
    {"millisecond", 1, 1, "CAST(trino_format_datetime($1, 'SSS') AS BIGINT)"}, {"year_of_week", 1, 1, "CAST(extract(YEAROFWEEK FROM $1) AS BIGINT)"},
    {"yow", 1, 1, "CAST(extract(YEAROFWEEK FROM $1) AS BIGINT)"}, {"last_day_of_month", 1, 1, "last_day($1)"}, {"now", 0, 0, "trino_round_time(current_timestamp(), 3)"},
    {"current_timezone", 0, 0, NULL},
    /* arrays */
    {"cardinality", 1, 1, "CAST(size($1) AS BIGINT)"}, {"element_at", 2, 2, "trino_element_at"}, {"array_distinct", 1, 1, NULL}, {"array_union", 2, 2, NULL}, {"array_intersect", 2, 2, NULL},
    {"array_except", 2, 2, NULL}, {"array_join", 2, 2, "array_join(transform($1, _item -> CAST(_item AS STRING)), $2)"}, {"array_join", 3, 3, "array_join(transform($1, _item -> CAST(_item AS STRING)), $2, $3)"}, {"array_max", 1, 1, "trino_array_max"}, {"array_min", 1, 1, "trino_array_min"}, {"array_position", 2, 2, NULL},
    {"array_remove", 2, 2, NULL}, {"contains", 2, 2, "array_contains"}, {"array_sort", 1, 2, NULL}, {"arrays_overlap", 2, 2, NULL}, {"filter", 2, 2, NULL}, {"transform", 2, 2, NULL},
    {"reduce", 4, 4, "aggregate"}, {"any_match", 2, 2, "exists"}, {"all_match", 2, 2, "forall"}, {"none_match", 2, 2, "(NOT exists($1, $2))"}, {"flatten", 1, 1, "trino_flatten"},
    {"slice", 3, 3, "slice($1, CAST($2 AS INT), CAST($3 AS INT))"}, {"repeat", 2, 2, "array_repeat($1, CAST($2 AS INT))"}, {"shuffle", 1, 1, NULL}, {"zip_with", 3, 3, NULL},
    {"sequence", 2, 3, NULL}, {"trim_array", 2, 2, "slice($1, 1, CAST(size($1) - ($2) AS INT))"},
    /* maps */
    {"map_from_entries", 1, 1, NULL}, {"map_entries", 1, 1, NULL}, {"map_keys", 1, 1, NULL}, {"map_values", 1, 1, NULL}, {"map_concat", 2, ANY, NULL}, {"map_filter", 2, 2, NULL},
    {"transform_values", 2, 2, NULL}, {"transform_keys", 2, 2, NULL}, {"map_zip_with", 3, 3, NULL},
    /* JSON as text */
    {"json_extract_scalar", 2, 2, "trino_json_extract_scalar"}, {"json_array_length", 1, 1, "CAST(json_array_length($1) AS BIGINT)"},
    /* aggregates: only their names change, since FILTER and OVER may follow */
    {"count", 0, 1, NULL}, {"sum", 1, 1, NULL}, {"avg", 1, 1, NULL}, {"min", 1, 1, NULL}, {"max", 1, 1, NULL}, {"count_if", 1, 1, NULL}, {"bool_and", 1, 1, NULL}, {"bool_or", 1, 1, NULL},
    {"every", 1, 1, "bool_and"}, {"any_value", 1, 1, "any_value($1, true)"}, {"arbitrary", 1, 1, "any_value($1, true)"}, {"array_agg", 1, 1, "trino_array_agg"}, {"max_by", 2, 2, NULL}, {"min_by", 2, 2, NULL},
    {"listagg", 1, 2, NULL}, {"approx_distinct", 1, 1, "approx_count_distinct"}, {"approx_percentile", 2, 2, NULL}, {"stddev", 1, 1, NULL}, {"stddev_pop", 1, 1, NULL}, {"stddev_samp", 1, 1, NULL},
    {"variance", 1, 1, NULL}, {"var_pop", 1, 1, NULL}, {"var_samp", 1, 1, NULL}, {"corr", 2, 2, NULL}, {"covar_pop", 2, 2, NULL}, {"covar_samp", 2, 2, NULL}, {"regr_slope", 2, 2, NULL},
    {"regr_intercept", 2, 2, NULL}, {"skewness", 1, 1, NULL}, {"bitwise_and_agg", 1, 1, "bit_and(CAST($1 AS BIGINT))"}, {"bitwise_or_agg", 1, 1, "bit_or(CAST($1 AS BIGINT))"}, {"bitwise_xor_agg", 1, 1, "bit_xor(CAST($1 AS BIGINT))"},
    /* windows */
    {"row_number", 0, 0, "trino_big:row_number"}, {"rank", 0, 0, "trino_big:rank"}, {"dense_rank", 0, 0, "trino_big:dense_rank"}, {"ntile", 1, 1, "trino_big:ntile"}, {"percent_rank", 0, 0, NULL}, {"cume_dist", 0, 0, NULL}, {"lag", 1, 3, NULL},
    {"lead", 1, 3, NULL}, {"first_value", 1, 1, NULL}, {"last_value", 1, 1, NULL}, {"nth_value", 2, 2, NULL},
};

/* Functions that Trino has and this does not. */
static const char *const absent[] = {
    "all_keys_match", "any_keys_match", "any_values_match", "approx_most_frequent", "approx_set", "array_first", "array_histogram", "array_last", "at_timezone", "bar", "beta_cdf", "bing_tile", "bit_count",
    "bitwise_left_shift", "bitwise_right_shift", "bitwise_right_shift_arithmetic", "cast_json", "char2hexint", "checksum", "classify", "color", "combinations", "concat_json", "contains_sequence",
    "convex_hull_agg", "cosine_distance", "cosine_similarity", "current_groups", "date_sub", "dot_product", "empty_approx_set", "entropy", "euclidean_distance", "evaluate_classifier_predictions",
    "features", "format_number", "from_base", "from_base32", "from_base64url", "from_big_endian_32", "from_big_endian_64", "from_encoded_polyline", "from_ieee754_32", "from_ieee754_64", "from_iso8601_timestamp_nanos",
    "from_unixtime_nanos", "geometric_mean", "hamming_distance", "hash_counts", "histogram", "hmac_md5", "hmac_sha1", "hmac_sha256", "hmac_sha512", "human_readable_seconds",
    "index", "intersection_cardinality", "inverse_beta_cdf", "inverse_normal_cdf", "is_json_scalar", "jaccard_index", "json_array", "json_array_contains", "json_array_get", "json_exists", "json_extract",
    "json_format", "json_object", "json_parse", "json_query", "json_size", "json_table", "json_value", "kurtosis", "learn_classifier", "make_set_digest", "map_agg", "map_union",
    "merge", "merge_set_digest", "multimap_agg", "multimap_from_entries", "murmur3", "ngrams", "normal_cdf", "normalize", "numeric_histogram", "objectid", "parse_data_size", "parse_duration",
    "parse_presto_data_size", "qdigest_agg", "quantile_at_value", "reduce_agg", "regr_avgx", "regr_avgy", "regr_count", "regr_r2", "regr_sxx", "regr_sxy", "regr_syy", "render", "rgb",
    "set_agg", "set_union", "split_to_map", "split_to_multimap", "spooky_hash_v2_32", "spooky_hash_v2_64", "st_area", "st_contains", "st_distance", "st_geometryfromtext", "st_point", "tdigest_agg", "typeof", "timestamp_objectid", "timezone_hour", "timezone_minute",
    "to_base", "to_base32", "to_base64url", "to_big_endian_32", "to_big_endian_64", "to_char", "to_date", "to_ieee754_32", "to_ieee754_64", "to_milliseconds", "to_timestamp", "url_extract_port",
    "value_at_quantile", "values_at_quantiles", "wilson_interval_lower", "wilson_interval_upper", "with_timezone", "word_stem", "xxhash64", "zip",
};

/* Words before a bracket that call nothing. */
static bool is_keyword(const nl_dialect *self, uint32_t at)
{
    static const char *const words[] = {
        "in", "values", "as", "on", "using", "over", "and", "or", "not", "then", "else", "when", "where", "select", "from", "by", "having", "exists", "cast", "try_cast", "union", "except", "intersect", "all", "any",
        "some", "case", "group", "sets", "cube", "rollup", "with", "within", "lateral", "unnest", "table", "join", "limit", "offset", "interval", "between", "like", "escape", "is", "distinct", "extract",
        "insert", "into", "set", "only", "partition", "recursive", "returning", "end", "return", "do", "explain", "array", "bernoulli", "system", "row", "fetch", "first", "next", "merge", "analyze", "tablesample", "window", "filter_", "call", "of",
    };
    for (size_t i = 0; i < NL_COUNT(words); i++)
        if (is_word(self, at, words[i])) return true;
    return false;
}

/* After a name or a value stands an alias with columns, a table with columns, a type: no call. */
static bool is_behind_operand(const nl_dialect *self, uint32_t at)
{
    static const char *const openers[] = {"select", "distinct", "all", "where", "and", "or", "not", "on", "having", "by", "when", "then", "else", "case", "between", "in", "like", "escape", "is", "from", "join", "values", "set",
                                          "limit", "offset", "using", "return", "of", "any", "some", "with", "interval", "cross", "lateral", "explain", "analyze", "first", "rows", "range", "groups"};
    if (at >= self->count) return false;
    const nl_token *one = &self->tokens[at];
    if (one->kind == NL_TOKEN_NAME || one->kind == NL_TOKEN_NUMBER || one->kind == NL_TOKEN_TEXT || is_sign(self, at, ')') || is_sign(self, at, ']')) return true;
    if (one->kind != NL_TOKEN_WORD) return false;
    for (size_t i = 0; i < NL_COUNT(openers); i++)
        if (is_word(self, at, openers[i])) return false;
    return true;
}

/* WITH a(x) AS (…), b(y) AS (…) */
static bool is_common_table(const nl_dialect *self, uint32_t open)
{
    const uint32_t as = solid(self, closing(self, open) + 1);
    return is_word(self, as, "as") && is_sign(self, solid(self, as + 1), '(');
}

static nl_str argument(const nl_dialect *self, uint32_t open, const uint32_t *comma, uint32_t count, uint32_t i)
{
    if (i >= count) return (nl_str){0};
    const nl_str text = nl_dialect_text(self, i ? comma[i - 1] + 1 : open + 1, i + 1 < count ? comma[i] : closing(self, open));
    return nl_str_trim(text);
}

static void apply(nl_dialect *self, uint32_t at, uint32_t open, const char *engine, uint32_t count)
{
    uint32_t comma[9] = {0};
    const uint32_t end = closing(self, open);
    if (!strchr(engine, '$') && !strchr(engine, '(')) {
        nl_dialect_put(self, at, engine);
        return;
    }
    (void)nl_dialect_commas(self, open, comma, 9);
    nl_builder out;
    nl_builder_init(&out, 64u << 20);
    for (const char *c = engine; *c; c++) {
        if (*c != '$') nl_append_char(&out, *c);
        else if (*++c == '*') nl_dialect_append(self, open + 1, end, &out);
        else nl_append(&out, argument(self, open, comma, count, (uint32_t)(*c - '1')));
    }
    const nl_str text = nl_arena_str(self->arena, nl_builder_str(&out)), around[2] = {self->tokens[at].before, self->tokens[end].after};
    nl_builder_fini(&out);
    nl_dialect_drop(self, at, end + 1);
    nl_dialect_put_str(self, at, text);
    self->tokens[at].before = around[0];
    self->tokens[at].after = around[1];
}

/* row_number() OVER (…) is a bigint: CAST(row_number() OVER (…) AS BIGINT). */
static void widen(nl_dialect *self, uint32_t at, uint32_t open, const char *engine)
{
    uint32_t end = closing(self, open);
    const uint32_t over = solid(self, end + 1), window = solid(self, over + 1);
    nl_dialect_put(self, at, engine);
    if (!is_word(self, over, "over")) return;
    end = is_sign(self, window, '(') ? closing(self, window) : window;
    if (end >= self->count) return;
    self->tokens[at].before = nl_arena_f(self->arena, NL_STR_FMT "CAST(", NL_STR_ARG(self->tokens[at].before));
    self->tokens[end].after = nl_arena_f(self->arena, " AS BIGINT)" NL_STR_FMT, NL_STR_ARG(self->tokens[end].after));
}

static nl_status wrong_count(nl_str name, uint32_t count)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Unexpected parameters for function " NL_STR_FMT ": %u are not supported", NL_STR_ARG(name), count);
}

static nl_status translate_call(nl_dialect *self, uint32_t at, uint32_t open)
{
    const nl_str name = self->tokens[at].text;
    uint32_t comma[1];
    const bool is_empty = solid(self, open + 1) == closing(self, open);
    uint32_t count = is_empty ? 0 : nl_dialect_commas(self, open, comma, 0) + 1;
    bool is_known = false;
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        if (!nl_str_is_nocase(name, rows[i].name)) continue;
        is_known = true;
        if (count < (uint32_t)rows[i].least || count > (uint32_t)rows[i].most) continue;
        if (rows[i].engine && nl_str_starts(nl_str_from(rows[i].engine), NL_STR("trino_big:"))) widen(self, at, open, rows[i].engine + strlen("trino_big:"));
        else if (rows[i].engine) apply(self, at, open, rows[i].engine, count);
        return NULL;
    }
    if (is_known) return wrong_count(name, count);
    for (size_t i = 0; i < NL_COUNT(absent); i++)
        if (nl_str_is_nocase(name, absent[i])) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Trino's function " NL_STR_FMT " is not supported", NL_STR_ARG(name));
    return NL_RAISE(UNRESOLVED_ROUTINE, NL_P_STR("routineName", nl_arena_f(self->arena, "`" NL_STR_FMT "`", NL_STR_ARG(name))), NL_P("searchPath", "[]"));
}

/* position('l' IN s), trim(BOTH 'x' FROM s), substring(s FROM 2 FOR 3), extract(DAY FROM d): their words become commas. */
static nl_status translate_words(nl_dialect *self, uint32_t at, uint32_t open)
{
    const uint32_t end = closing(self, open), first = solid(self, open + 1);
    if (is_word(self, at, "extract")) {
        static const struct {
            const char *field, *function;
        } fields[] = {{"year", "year"}, {"quarter", "quarter"}, {"month", "month"}, {"week", "week"}, {"day", "day"}, {"day_of_month", "day"}, {"day_of_week", "day_of_week"}, {"dow", "day_of_week"},
                      {"day_of_year", "day_of_year"}, {"doy", "day_of_year"}, {"year_of_week", "year_of_week"}, {"yow", "year_of_week"}, {"hour", "hour"}, {"minute", "minute"}, {"second", "second"}};
        const uint32_t from = solid(self, first + 1);
        for (size_t i = 0; is_word(self, from, "from") && i < NL_COUNT(fields); i++) {
            if (!is_word(self, first, fields[i].field)) continue;
            self->tokens[at].text = nl_str_from(fields[i].function);
            nl_dialect_drop(self, first, from + 1);
            return NULL;
        }
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "This field of EXTRACT is not supported");
    }
    const bool is_trim = is_word(self, at, "trim");
    for (uint32_t i = open + 1; i < end; i++) {
        if (is_sign(self, i, '(') || is_sign(self, i, '[')) i = closing(self, i);
        else if (is_word(self, at, "position") && is_word(self, i, "in")) nl_dialect_put(self, i, ",");
        else if (is_word(self, at, "substring") && (is_word(self, i, "from") || is_word(self, i, "for"))) nl_dialect_put(self, i, ",");
        else continue;
        if (self->tokens[i].text.length == 1 && self->tokens[i].text.data[0] == ',') self->tokens[i].kind = NL_TOKEN_SIGN;
    }
    if (!is_trim) return NULL;
    const bool is_leading = is_word(self, first, "leading"), is_trailing = is_word(self, first, "trailing"), has_word = is_leading || is_trailing || is_word(self, first, "both");
    uint32_t from = self->count;
    for (uint32_t i = open + 1; i < end && from == self->count; i++) {
        if (is_sign(self, i, '(') || is_sign(self, i, '[')) i = closing(self, i);
        else if (is_word(self, i, "from")) from = i;
    }
    if (has_word) nl_dialect_drop(self, first, first + 1);
    if (is_leading) self->tokens[at].text = NL_STR("ltrim");
    if (is_trailing) self->tokens[at].text = NL_STR("rtrim");
    if (from >= self->count) return NULL;
    const nl_str characters = nl_str_trim(nl_dialect_text(self, open + 1, from)), text = nl_str_trim(nl_dialect_text(self, from + 1, end));
    nl_dialect_drop(self, open + 1, end);
    if (open + 2 >= end) return NULL;
    nl_dialect_put_str(self, open + 1, text);
    self->tokens[open + 1].after = NL_STR("");
    if (characters.length) {
        nl_dialect_put_str(self, open + 2, characters);
        self->tokens[open + 1].after = NL_STR(" ");
        self->tokens[open + 2].kind = NL_TOKEN_NUMBER;
        self->tokens[open + 2].before = NL_STR(", ");
        self->tokens[at].is_engines = true; /* written whole: the comma is no token */
        self->tokens[at].text = is_leading ? NL_STR("trino_ltrim") : is_trailing ? NL_STR("trino_rtrim") : NL_STR("trino_trim");
    }
    return NULL;
}

/* current_timestamp [(n)], localtimestamp: as many digits as Trino shows. */
static nl_status translate_clock(nl_dialect *self, uint32_t i)
{
    static const struct {
        const char *name, *engine;
        bool takes_digits;
    } clocks[] = {{"current_timestamp", "trino_round_time(current_timestamp(), %d)", true}, {"localtimestamp", "trino_round_time(localtimestamp(), %d)", true}};
    const uint32_t open = solid(self, i + 1), number = solid(self, open + 1);
    int64_t digits = 3;
    for (size_t k = 0; k < NL_COUNT(clocks); k++) {
        if (!is_word(self, i, clocks[k].name) || is_sign(self, before(self, i), '.') || is_word(self, before(self, i), "as")) continue;
        if (is_sign(self, open, '(')) {
            if (number >= self->count || !nl_parse_int64(self->tokens[number].text, &digits) || digits < 0 || digits > 6) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Timestamps have at most six digits behind the second here");
            nl_dialect_drop(self, open, closing(self, open) + 1);
        }
        nl_dialect_put_str(self, i, nl_arena_f(self->arena, k ? "trino_round_time(localtimestamp(), %d)" : "trino_round_time(current_timestamp(), %d)", (int)digits));
        return NULL;
    }
    if (is_word(self, i, "current_time") || is_word(self, i, "localtime")) {
        if (!is_behind_operand(self, before(self, i)) && !is_sign(self, before(self, i), '.')) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The type TIME is not supported");
    }
    return NULL;
}

/* The FROM of IS DISTINCT FROM, extract(… FROM …), trim and substring. */
static bool is_word_of_call(const nl_dialect *self, uint32_t from)
{
    if (is_word(self, before(self, from), "distinct")) return true;
    for (uint32_t i = from; i-- > 0;) {
        if (is_sign(self, i, ')') && self->partner[i] < i) {
            i = self->partner[i];
            continue;
        }
        if (is_word(self, i, "select")) return false;
        if (!is_sign(self, i, '(')) continue;
        const uint32_t word = before(self, i);
        return is_word(self, word, "extract") || is_word(self, word, "trim") || is_word(self, word, "substring");
    }
    return false;
}

nl_status nl_dialect_functions(nl_dialect *self)
{
    /* From the end: what stands inside of an argument is done before the call around it moves its text. */
    for (uint32_t i = self->count; i-- > 0;) {
        const uint32_t open = solid(self, i + 1);
        if (self->tokens[i].kind != NL_TOKEN_WORD || self->tokens[i].is_engines) continue;
        NL_TRY(translate_clock(self, i));
        if (self->tokens[i].kind != NL_TOKEN_WORD || !is_sign(self, open, '(') || closing(self, open) >= self->count) continue;
        const uint32_t behind = before(self, i);
        const bool is_method = is_sign(self, behind, '.');
        if (is_word(self, i, "extract")) NL_TRY(translate_words(self, i, open));
        const bool is_filter = is_word(self, i, "filter") && is_sign(self, behind, ')'); /* the clause behind an aggregate */
        const uint32_t inside = solid(self, open + 1);
        const bool is_lambda = is_word(self, i, "exists") && !(is_word(self, inside, "select") || is_word(self, inside, "with") || is_word(self, inside, "values") || is_sign(self, inside, '('));
        if ((is_keyword(self, i) && !is_lambda) || is_filter || is_method || is_behind_operand(self, behind) || is_common_table(self, open)) continue;
        if ((is_word(self, behind, "from") && !is_word_of_call(self, behind)) || is_word(self, behind, "join")) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A table function is called by TABLE(…): " NL_STR_FMT, NL_STR_ARG(self->tokens[i].text));
        if (is_word(self, i, "trim") || is_word(self, i, "substring") || is_word(self, i, "position")) NL_TRY(translate_words(self, i, open));
        if (!self->tokens[i].is_engines) NL_TRY(translate_call(self, i, open));
    }
    return NULL;
}
