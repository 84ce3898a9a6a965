/* fuzz/json_document.c - any bytes as JSON text, strict and lenient. What is JSON is copied, and the copy is its own copy. */
#include <stdlib.h>

#include "format/json/json_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool copy_all(nl_str text, const nl_json_options *options, nl_builder *out)
{
    nl_json_parser in;
    bool is_json = true;
    nl_json_init(&in, text, options);
    while (is_json && nl_json_next(&in) != NL_JSON_END) {
        is_json = in.event != NL_JSON_ERROR && nl_json_copy_value(&in, out);
        nl_append_char(out, '\n');
    }
    if (!is_json && (!nl_json_problem(&in) || nl_json_offset(&in) > text.length)) abort();
    nl_json_fini(&in);
    return is_json;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const nl_json_options lenient = {true, true, true, true, true, true, true};
    for (int round = 0; round < 2; round++) {
        const nl_json_options *options = round ? &lenient : NULL;
        nl_builder first, second;
        nl_builder_init(&first, 16 << 20);
        nl_builder_init(&second, 16 << 20);
        if (copy_all((nl_str){(const char *)data, size}, options, &first)) {
            if (!copy_all(nl_builder_str(&first), options, &second)) abort();
            if (!nl_str_equal(nl_builder_str(&first), nl_builder_str(&second))) abort();
        }
        nl_builder_fini(&first);
        nl_builder_fini(&second);
    }
    return 0;
}
