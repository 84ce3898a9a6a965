/* format/json/json_options.c - options of JSON, with Spark's defaults. */
#include "format/json/json_options.h"

static nl_status parse_flags(nl_text_option_list options, nl_json_file_options *made)
{
    const struct {
        const char *key;
        bool *value;
    } flags[] = {
        {"allowSingleQuotes", &made->text.allows_single_quotes},
        {"allowComments", &made->text.allows_comments},
        {"allowUnquotedFieldNames", &made->text.allows_unquoted_names},
        {"allowNumericLeadingZeros", &made->text.allows_leading_zeros},
        {"allowNonNumericNumbers", &made->text.allows_non_numeric_numbers},
        {"allowBackslashEscapingAnyCharacter", &made->text.allows_backslash_escaping_any},
        {"allowUnquotedControlChars", &made->text.allows_unquoted_controls},
        {"primitivesAsString", &made->primitives_as_string},
        {"prefersDecimal", &made->prefers_decimal},
        {"dropFieldIfAllNull", &made->drops_fields_if_all_null},
        {"inferTimestamp", &made->infers_timestamp},
        {"ignoreNullFields", &made->ignores_null_fields},
        {"pretty", &made->is_pretty},
        {"writeNonAsciiCharacterAsCodePoint", &made->escapes_non_ascii},
    };
    for (size_t i = 0; i < NL_COUNT(flags); i++)
        NL_TRY(nl_text_option_bool(options, flags[i].key, flags[i].value));
    return NULL;
}

/* An encoding other than UTF-8 needs a way to find line ends. */
static nl_status check_encoding(const nl_text_formats *formats, nl_text_use use, nl_text_option_list options)
{
    const nl_str *name = nl_text_option_find(options, "encoding");
    if (!name) name = nl_text_option_find(options, "charset");
    if (use == NL_TEXT_WRITE || formats->encoding == NL_ENCODING_UTF8 || formats->is_multi_line ||
        formats->line_separator.length)
        return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                         "requirement failed: The lineSep option must be specified for the " NL_STR_FMT " encoding",
                         NL_STR_ARG(*name));
}

nl_status nl_json_options_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use,
                                nl_arena *arena, nl_json_file_options *parsed)
{
    nl_json_file_options made = {.text = {.allows_single_quotes = true, .allows_non_numeric_numbers = true},
                                 .ignores_null_fields = true};
    NL_TRY(nl_text_formats_parse(options, session, use, "JSONOptions", arena, &made.formats));
    NL_TRY(check_encoding(&made.formats, use, options));
    NL_TRY(parse_flags(options, &made));
    const nl_str *variant = nl_text_option_find(options, "singleVariantColumn");
    if (variant) made.variant_column = nl_arena_str(arena, *variant);
    *parsed = made;
    return nl_arena_check(arena);
}

/* CalendarInterval has no JSON form; keys of maps are strings when reading, which the reader checks. */
static bool is_supported(const nl_type *type)
{
    if (type->id == NL_TYPE_INTERVAL) return false;
    for (uint32_t i = 0; i < type->child_count; i++) {
        if (!is_supported(type->children[i].type)) return false;
    }
    return true;
}

nl_status nl_json_check_type(const nl_type *struct_type)
{
    for (uint32_t i = 0; i < struct_type->child_count; i++) {
        const nl_field *field = &struct_type->children[i];
        if (is_supported(field->type)) continue;
        nl_arena *arena = nl_arena_new(NULL);
        nl_str name = nl_arena_f(arena, "`" NL_STR_FMT "`", NL_STR_ARG(field->name));
        nl_str sql = nl_type_sql(arena, field->type);
        nl_str type = nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(sql));
        nl_status status = NL_RAISE(UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE, NL_P("format", "JSON"),
                                    NL_P_STR("columnName", name), NL_P_STR("columnType", type));
        nl_arena_free(arena);
        return status;
    }
    return NULL;
}
