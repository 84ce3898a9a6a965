/* format/text/text_options.c - the options that CSV and JSON share. */
#include <stdlib.h>

#include "base/number.h"
#include "format/text/text_options.h"

const nl_str *nl_text_option_find(nl_text_option_list options, const char *key)
{
    const nl_str *found = NULL;
    for (uint32_t i = 0; i < options.count; i++) {
        if (nl_str_is_nocase(options.items[i].key, key)) found = &options.items[i].value;
    }
    return found;
}

nl_status nl_text_option_bool(nl_text_option_list options, const char *key, bool *value)
{
    const nl_str *text = nl_text_option_find(options, key);
    if (!text) return NULL;
    if (nl_str_is_nocase(*text, "true"))
        *value = true;
    else if (nl_str_is_nocase(*text, "false"))
        *value = false;
    else
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s flag can be true or false.", key);
    return NULL;
}

nl_status nl_text_option_int(nl_text_option_list options, const char *key, int64_t *value)
{
    const nl_str *text = nl_text_option_find(options, key);
    int64_t parsed;
    if (!text) return NULL;
    if (!nl_parse_int64(*text, &parsed) || parsed < INT32_MIN || parsed > INT32_MAX)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s should be an integer. Found " NL_STR_FMT ".", key,
                             NL_STR_ARG(*text));
    *value = parsed;
    return NULL;
}

static nl_status parse_encoding(nl_text_option_list options, const char *reader_name, nl_text_encoding *encoding)
{
    static const struct {
        const char *name;
        nl_text_encoding encoding;
    } encodings[] = {{"utf-8", NL_ENCODING_UTF8},       {"utf8", NL_ENCODING_UTF8},        {"us-ascii", NL_ENCODING_LATIN1},
                     {"iso-8859-1", NL_ENCODING_LATIN1}, {"latin1", NL_ENCODING_LATIN1},    {"utf-16", NL_ENCODING_UTF16},
                     {"utf-16be", NL_ENCODING_UTF16BE},  {"utf-16le", NL_ENCODING_UTF16LE}, {"utf-32", NL_ENCODING_UTF32}};
    const nl_str *name = nl_text_option_find(options, "charset");
    const nl_str *preferred = nl_text_option_find(options, "encoding");
    if (preferred) name = preferred;
    if (!name) return NULL;
    for (size_t i = 0; i < NL_COUNT(encodings); i++) {
        if (!nl_str_is_nocase(*name, encodings[i].name)) continue;
        *encoding = encodings[i].encoding;
        return NULL;
    }
    return NL_RAISE(INVALID_PARAMETER_VALUE__CHARSET, NL_P("parameter", "`charset`"), NL_P("functionName", reader_name),
                    NL_P("charsets", "iso-8859-1, us-ascii, utf-16, utf-16be, utf-16le, utf-32, utf-8"),
                    NL_P_STR("charset", *name));
}

static nl_status parse_compression(nl_text_option_list options, nl_text_compression *compression)
{
    static const struct {
        const char *name;
        nl_text_compression compression;
    } codecs[] = {{"none", NL_TEXT_PLAIN},    {"uncompressed", NL_TEXT_PLAIN}, {"gzip", NL_TEXT_GZIP},
                  {"deflate", NL_TEXT_ZLIB},  {"bzip2", NL_TEXT_BZIP2},        {"zstd", NL_TEXT_ZSTD},
                  {"org.apache.hadoop.io.compress.GzipCodec", NL_TEXT_GZIP},
                  {"org.apache.hadoop.io.compress.DeflateCodec", NL_TEXT_ZLIB},
                  {"org.apache.hadoop.io.compress.BZip2Codec", NL_TEXT_BZIP2},
                  {"org.apache.hadoop.io.compress.ZStandardCodec", NL_TEXT_ZSTD}};
    const nl_str *name = nl_text_option_find(options, "codec");
    const nl_str *preferred = nl_text_option_find(options, "compression");
    if (preferred) name = preferred;
    if (!name) return NULL;
    for (size_t i = 0; i < NL_COUNT(codecs); i++) {
        if (!nl_str_is_nocase(*name, codecs[i].name)) continue;
        *compression = codecs[i].compression;
        return NULL;
    }
    if (nl_str_is_nocase(*name, "snappy") || nl_str_is_nocase(*name, "lz4"))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Text files are not written with the codec " NL_STR_FMT
                             "; gzip, zstd, bzip2, deflate and none are.", NL_STR_ARG(*name));
    return NL_RAISE(CODEC_NOT_AVAILABLE__WITH_AVAILABLE_CODECS_SUGGESTION, NL_P_STR("codecName", *name),
                    NL_P("availableCodecs", "bzip2, deflate, uncompressed, none, zstd, gzip"));
}

static nl_status compile(const nl_str *format, const char *fallback, nl_datetime_use use, nl_arena *arena,
                         const nl_datetime_pattern **pattern)
{
    *pattern = NULL;
    if (!format && !fallback) return NULL;
    return nl_datetime_compile(format ? *format : nl_str_from(fallback), use, arena, pattern);
}

/* Spark compiles a pattern when the first value needs it. */
static nl_status compile_later(bool is_lazy, const nl_str *format, nl_datetime_use use, nl_arena *arena, const nl_datetime_pattern **pattern, nl_str *broken)
{
    nl_status status = compile(format, NULL, use, arena, pattern);
    if (!status || !is_lazy || nl_error_kind_of(status) != NL_KIND_USER) return status;
    nl_error_free(status);
    *broken = nl_arena_str(arena, *format);
    return NULL;
}

nl_status nl_text_formats_check(const nl_text_formats *formats, const nl_type *type, nl_arena *arena)
{
    const nl_datetime_pattern *pattern = NULL;
    for (uint32_t i = 0; i < type->child_count; i++) NL_TRY(nl_text_formats_check(formats, type->children[i].type, arena));
    if (type->id == NL_TYPE_DATE && formats->broken_date.data) return nl_datetime_compile(formats->broken_date, NL_DATETIME_PARSE_DATE, arena, &pattern);
    if (type->id == NL_TYPE_TIMESTAMP && formats->broken_timestamp.data)
        return nl_datetime_compile(formats->broken_timestamp, NL_DATETIME_PARSE_TIMESTAMP, arena, &pattern);
    if (type->id == NL_TYPE_TIMESTAMP_NTZ && formats->broken_timestamp_ntz.data)
        return nl_datetime_compile(formats->broken_timestamp_ntz, NL_DATETIME_PARSE_TIMESTAMP, arena, &pattern);
    return NULL;
}

static nl_status parse_patterns(nl_text_option_list options, const nl_text_session *session, nl_text_use use, nl_arena *arena, nl_text_formats *formats)
{
    const nl_str *date = nl_text_option_find(options, "dateFormat");
    const nl_str *timestamp = nl_text_option_find(options, "timestampFormat");
    const nl_str *ntz = nl_text_option_find(options, "timestampNTZFormat");
    if (date) formats->date_format = nl_arena_str(arena, *date);
    if (timestamp) formats->timestamp_format = nl_arena_str(arena, *timestamp);
    if (use == NL_TEXT_WRITE) {
        NL_TRY(compile(date, "yyyy-MM-dd", NL_DATETIME_FORMAT, arena, &formats->date));
        NL_TRY(compile(timestamp, "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]", NL_DATETIME_FORMAT, arena, &formats->timestamp));
        return compile(ntz, "yyyy-MM-dd'T'HH:mm:ss[.SSS]", NL_DATETIME_FORMAT, arena, &formats->timestamp_ntz);
    }
    const bool is_lazy = session->is_lazy;
    NL_TRY(compile_later(is_lazy, date, NL_DATETIME_PARSE_DATE, arena, &formats->date, &formats->broken_date));
    NL_TRY(compile_later(is_lazy, timestamp, NL_DATETIME_PARSE_TIMESTAMP, arena, &formats->timestamp, &formats->broken_timestamp));
    return compile_later(is_lazy, ntz, NL_DATETIME_PARSE_TIMESTAMP, arena, &formats->timestamp_ntz, &formats->broken_timestamp_ntz);
}

static nl_status check_locale(nl_text_option_list options)
{
    const nl_str *locale = nl_text_option_find(options, "locale");
    if (!locale || nl_str_starts_nocase(*locale, NL_STR("en"))) return NULL;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The locale " NL_STR_FMT " is not supported; en-US is.", NL_STR_ARG(*locale));
}

/* An unknown mode is PERMISSIVE, as in Spark. */
static nl_text_mode parse_mode(nl_text_option_list options)
{
    const nl_str *mode = nl_text_option_find(options, "mode");
    if (mode && nl_str_is_nocase(*mode, "DROPMALFORMED")) return NL_TEXT_DROP_MALFORMED;
    if (mode && nl_str_is_nocase(*mode, "FAILFAST")) return NL_TEXT_FAIL_FAST;
    return NL_TEXT_PERMISSIVE;
}

static nl_status parse_ratio(nl_text_option_list options, double *ratio)
{
    const nl_str *text = nl_text_option_find(options, "samplingRatio");
    *ratio = 1;
    if (!text) return NULL;
    if (!nl_parse_double(*text, ratio) || !(*ratio > 0))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "samplingRatio (" NL_STR_FMT ") should be greater than 0",
                             NL_STR_ARG(*text));
    return NULL;
}

nl_status nl_text_formats_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use,
                                const char *reader_name, nl_arena *arena, nl_text_formats *formats)
{
    nl_text_formats made = {.zone = session->zone ? session->zone : nl_timezone_utc(),
                            .mode = parse_mode(options),
                            .is_case_sensitive = session->is_case_sensitive,
                            .prefers_ntz = session->prefers_ntz,
                            .binary = session->binary};
    const nl_str *zone = nl_text_option_find(options, "timeZone");
    const nl_str *corrupt = nl_text_option_find(options, "columnNameOfCorruptRecord");
    const nl_str *separator = nl_text_option_find(options, "lineSep");
    if (zone) NL_TRY(nl_timezone_find(*zone, &made.zone));
    if (!corrupt && session->corrupt_record_name.length) corrupt = &session->corrupt_record_name;
    made.corrupt_record_name = corrupt ? nl_arena_str(arena, *corrupt) : NL_STR("_corrupt_record");
    if (separator) {
        if (separator->length == 0)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: 'lineSep' cannot be an empty string.");
        made.line_separator = nl_arena_str(arena, *separator);
    }
    NL_TRY(check_locale(options));
    NL_TRY(parse_encoding(options, reader_name, &made.encoding));
    NL_TRY(nl_text_option_bool(options, "multiLine", &made.is_multi_line));
    NL_TRY(parse_ratio(options, &made.sampling_ratio));
    if (use == NL_TEXT_WRITE) NL_TRY(parse_compression(options, &made.compression));
    NL_TRY(parse_patterns(options, session, use, arena, &made));
    *formats = made;
    return nl_arena_check(arena);
}

const char *nl_text_compression_suffix(nl_text_compression compression)
{
    static const char *const suffixes[NL_TEXT_COMPRESSION_COUNT] = {"", ".gz", ".deflate", ".bz2", ".zst"};
    return suffixes[compression];
}

nl_status nl_text_compression_of(nl_str path, nl_text_compression *compression)
{
    static const char *const unsupported[] = {".snappy", ".lz4", ".xz", ".lzo", ".br"};
    for (nl_text_compression i = NL_TEXT_GZIP; i < NL_TEXT_COMPRESSION_COUNT; i++) {
        if (!nl_str_ends(path, nl_str_from(nl_text_compression_suffix(i)))) continue;
        *compression = i;
        return NULL;
    }
    for (size_t i = 0; i < NL_COUNT(unsupported); i++) {
        if (nl_str_ends(path, nl_str_from(unsupported[i])))
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Text files compressed as %s are not read: " NL_STR_FMT,
                                 unsupported[i], NL_STR_ARG(path));
    }
    *compression = NL_TEXT_PLAIN;
    return NULL;
}

nl_status nl_text_malformed_record(nl_str path, nl_str record, const char *problem)
{
    const nl_str shown = nl_str_slice(record, 0, 1000);
    nl_status cause = NL_RAISE(MALFORMED_RECORD_IN_PARSING__WITHOUT_SUGGESTION, NL_P_STR("badRecord", shown), NL_P("failFastMode", "FAILFAST"));
    cause = nl_note_if(cause, NL_HERE, "%s", problem);
    return nl_error_because(NL_RAISE(FAILED_READ_FILE__NO_HINT, NL_P_STR("path", path)), cause);
}
