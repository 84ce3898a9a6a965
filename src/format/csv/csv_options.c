/* format/csv/csv_options.c - options of CSV files, with Spark's defaults and complaints. */
#include "format/csv/csv_options.h"

static nl_status parse_char(nl_text_option_list options, const char *key, char *value)
{
    const nl_str *text = nl_text_option_find(options, key);
    if (!text) return NULL;
    if (text->length == 0 || nl_str_is(*text, "\\u0000")) {
        *value = '\0';
        return NULL;
    }
    if (nl_utf8_length(*text) > 1)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s cannot be more than one character.", key);
    if (text->length > 1)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s is an ASCII character here, not " NL_STR_FMT ".", key,
                             NL_STR_ARG(*text));
    *value = text->data[0];
    return NULL;
}

/* \t, \\ and the like, anywhere in the delimiter. */
static nl_status unescape_delimiter(nl_str text, nl_arena *arena, nl_str *delimiter)
{
    static const char from[] = "trbf\"'\\";
    static const char to[] = "\t\r\b\f\"'\\";
    char *out = nl_arena_alloc(arena, text.length + 1);
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] != '\\') {
            out[length++] = text.data[i];
            continue;
        }
        if (i + 1 == text.length) return NL_RAISE(INVALID_DELIMITER_VALUE__SINGLE_BACKSLASH);
        char c = text.data[++i];
        const char *place = c ? strchr(from, c) : NULL;
        if (nl_str_is(text, "\\u0000")) {
            out[length++] = '\0';
            break;
        }
        if (!place)
            return NL_RAISE(INVALID_DELIMITER_VALUE__UNSUPPORTED_SPECIAL_CHARACTER,
                            NL_P_STR("str", nl_str_slice(text, i - 1, i + 1)));
        out[length++] = to[place - from];
    }
    *delimiter = (nl_str){out, length};
    return NULL;
}

static nl_status parse_delimiter(nl_text_option_list options, nl_arena *arena, nl_str *delimiter)
{
    const nl_str *text = nl_text_option_find(options, "sep");
    if (!text) text = nl_text_option_find(options, "delimiter");
    if (!text) return NULL;
    if (text->length == 0) return NL_RAISE(INVALID_DELIMITER_VALUE__EMPTY_STRING);
    return unescape_delimiter(*text, arena, delimiter);
}

static nl_status parse_unescaped_quote(nl_text_option_list options, nl_csv_unescaped_quote *handling)
{
    static const char *const names[] = {"STOP_AT_DELIMITER", "STOP_AT_CLOSING_QUOTE", "SKIP_VALUE", "RAISE_ERROR"};
    const nl_str *text = nl_text_option_find(options, "unescapedQuoteHandling");
    if (!text) return NULL;
    for (size_t i = 0; i < NL_COUNT(names); i++) {
        if (!nl_str_is_nocase(*text, names[i])) continue;
        *handling = (nl_csv_unescaped_quote)i;
        return NULL;
    }
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "unescapedQuoteHandling is one of STOP_AT_DELIMITER, "
                         "STOP_AT_CLOSING_QUOTE, SKIP_VALUE, RAISE_ERROR, not " NL_STR_FMT ".", NL_STR_ARG(*text));
}

static void parse_text(nl_text_option_list options, const char *key, nl_arena *arena, nl_str *value)
{
    const nl_str *text = nl_text_option_find(options, key);
    if (text) *value = nl_arena_str(arena, *text);
}

static nl_status parse_limits(nl_text_option_list options, nl_csv_options *made)
{
    int64_t columns = 20480;
    int64_t length = -1;
    NL_TRY(nl_text_option_int(options, "maxColumns", &columns));
    NL_TRY(nl_text_option_int(options, "maxCharsPerColumn", &length));
    made->column_count_max = (uint32_t)NL_MAX(columns, 1);
    made->value_length_max = length < 0 ? UINT32_MAX : (uint32_t)length;
    return NULL;
}

static nl_status parse_chars(nl_text_option_list options, nl_csv_options *made)
{
    NL_TRY(parse_char(options, "quote", &made->quote));
    NL_TRY(parse_char(options, "escape", &made->escape));
    NL_TRY(parse_char(options, "comment", &made->comment));
    made->char_to_escape = made->escape == made->quote ? '\0' : made->escape;
    return parse_char(options, "charToEscapeQuoteEscaping", &made->char_to_escape);
}

static nl_status parse_flags(nl_text_option_list options, nl_csv_options *made)
{
    const struct {
        const char *key;
        bool *value;
    } flags[] = {
        {"header", &made->has_header},
        {"inferSchema", &made->infers_schema},
        {"preferDate", &made->prefers_date},
        {"enforceSchema", &made->enforces_schema},
        {"ignoreLeadingWhiteSpace", &made->ignores_leading_blanks},
        {"ignoreTrailingWhiteSpace", &made->ignores_trailing_blanks},
        {"quoteAll", &made->quotes_all},
        {"escapeQuotes", &made->escapes_quotes},
    };
    for (size_t i = 0; i < NL_COUNT(flags); i++)
        NL_TRY(nl_text_option_bool(options, flags[i].key, flags[i].value));
    return NULL;
}

nl_status nl_csv_options_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use,
                               nl_arena *arena, nl_csv_options *parsed)
{
    bool is_writing = use == NL_TEXT_WRITE;
    nl_csv_options made = {.delimiter = NL_STR(","),
                           .quote = '"',
                           .escape = '\\',
                           .prefers_date = true,
                           .enforces_schema = true,
                           .ignores_leading_blanks = is_writing,
                           .ignores_trailing_blanks = is_writing,
                           .escapes_quotes = true,
                           .null_value = NL_STR(""),
                           .empty_value = is_writing ? NL_STR("\"\"") : NL_STR(""),
                           .nan_value = NL_STR("NaN"),
                           .positive_inf = NL_STR("Inf"),
                           .negative_inf = NL_STR("-Inf")};
    NL_TRY(nl_text_formats_parse(options, session, use, "CSVOptions", arena, &made.formats));
    NL_TRY(parse_delimiter(options, arena, &made.delimiter));
    NL_TRY(parse_chars(options, &made));
    NL_TRY(parse_flags(options, &made));
    NL_TRY(parse_limits(options, &made));
    NL_TRY(parse_unescaped_quote(options, &made.unescaped_quote));
    parse_text(options, "nullValue", arena, &made.null_value);
    parse_text(options, "emptyValue", arena, &made.empty_value);
    parse_text(options, "nanValue", arena, &made.nan_value);
    parse_text(options, "positiveInf", arena, &made.positive_inf);
    parse_text(options, "negativeInf", arena, &made.negative_inf);
    *parsed = made;
    return nl_arena_check(arena);
}

static nl_status unsupported_column(const nl_field *field)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_str name = nl_arena_f(arena, "`" NL_STR_FMT "`", NL_STR_ARG(field->name));
    nl_str sql = nl_type_sql(arena, field->type);
    nl_str type = nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(sql));
    nl_status status = NL_RAISE(UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE, NL_P("format", "CSV"),
                                NL_P_STR("columnName", name), NL_P_STR("columnType", type));
    nl_arena_free(arena);
    return status;
}

nl_status nl_csv_check_type(const nl_type *struct_type)
{
    for (uint32_t i = 0; i < struct_type->child_count; i++) {
        nl_type_id id = struct_type->children[i].type->id;
        bool is_unsupported = nl_type_is_nested(struct_type->children[i].type) || id == NL_TYPE_VARIANT ||
                              id == NL_TYPE_NULL || id == NL_TYPE_INTERVAL;
        if (is_unsupported) return unsupported_column(&struct_type->children[i]);
    }
    return NULL;
}
