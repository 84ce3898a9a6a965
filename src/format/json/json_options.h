/* format/json/json_options.h - Spark's options of JSON files and of from_json, to_json, schema_of_json. */
#pragma once

#include "format/json/json_text.h"
#include "format/text/text_options.h"

typedef struct nl_json_file_options {
    nl_text_formats formats;
    nl_json_options text; /* leniencies */
    bool primitives_as_string;
    bool prefers_decimal;
    bool drops_fields_if_all_null;
    bool infers_timestamp;
    bool ignores_null_fields; /* writing: leave them out; default true */
    bool is_pretty;
    bool escapes_non_ascii; /* writeNonAsciiCharacterAsCodePoint */
    nl_str variant_column;  /* singleVariantColumn; empty: none */
} nl_json_file_options;

NL_MUST_USE nl_status nl_json_options_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use,
                                            nl_arena *arena, nl_json_file_options *parsed);
/* Fails for a column that JSON cannot hold: UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE. */
NL_MUST_USE nl_status nl_json_check_type(const nl_type *struct_type);
