/* fuzz/datetime_pattern.c - a pattern, a line end, a text: compiled for each use, the text parsed, a moment formatted. */
#include "base/datetime_pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nl_str text = {(const char *)data, size};
    nl_str pattern;
    if (!nl_str_next_part(&text, '\n', &pattern)) return 0;
    nl_arena *arena = nl_arena_new(NULL);
    nl_builder out;
    nl_builder_init(&out, 1 << 20);
    for (nl_datetime_use use = NL_DATETIME_FORMAT; use <= NL_DATETIME_PARSE_TIMESTAMP; use++) {
        const nl_datetime_pattern *compiled;
        nl_status status = nl_datetime_compile(pattern, use, arena, &compiled);
        if (!status) {
            int64_t micros = 0;
            int32_t days = 0;
            nl_datetime_parse_timestamp(compiled, text, nl_timezone_utc(), &micros);
            nl_datetime_parse_ntz(compiled, text, false, &micros);
            nl_datetime_parse_date(compiled, text, &days);
            nl_error_free(nl_datetime_format_timestamp(compiled, micros, nl_timezone_utc(), &out));
            nl_error_free(nl_datetime_format(compiled, micros, NULL, 0, &out));
            nl_error_free(nl_datetime_format_date(compiled, days, &out));
        }
        nl_error_free(status);
    }
    nl_builder_fini(&out);
    nl_arena_free(arena);
    return 0;
}
