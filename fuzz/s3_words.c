/* fuzz/s3_words.c - what headers of S3 requests say: ranges stay within the object, times that can be read are written as
 * they were, tags are judged the same twice, stored checksums split into known parts.
 */
#include <stdlib.h>

#include "lakehouse/s3/s3.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_range(nl_str text, uint64_t size)
{
    nl_s3_range range = {0};
    nl_status status = nl_s3_parse_range(text, size, &range);
    if (!status && (range.start > size || range.length > size - range.start)) abort();
    if (!status && range.is_given && range.length == 0) abort();
    if (status && !nl_store_failed_with(status, "InvalidRange")) abort();
    nl_error_free(status);
}

static void check_time(nl_arena *arena, nl_str text)
{
    int64_t micros = 0, again = 0;
    if (!nl_s3_parse_http_time(text, &micros)) return;
    nl_str written = nl_s3_http_time(arena, micros);
    if (!nl_s3_parse_http_time(written, &again) || again != micros) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    nl_arena *arena = nl_arena_new(NULL);
    nl_str text = {(const char *)data + 1, size - 1};
    const uint64_t sizes[] = {0, 1, 1000, UINT64_MAX >> 1};
    check_range(text, sizes[data[0] % 4]);
    check_time(arena, text);
    const char *problem = NULL, *again = NULL;
    if (nl_s3_tags_are_valid(arena, text, 10, &problem) != nl_s3_tags_are_valid(arena, text, 10, &again) || problem != again) abort();
    const nl_s3_checksum_kind *kind = NULL;
    nl_str type, value;
    if (nl_s3_split_checksum(text, &kind, &type, &value) && !kind) abort();
    (void)nl_bucket_name_is_valid(text);
    (void)nl_s3_stored(text, "content-type");
    (void)nl_s3_unquoted(text);
    nl_arena_free(arena);
    return 0;
}
