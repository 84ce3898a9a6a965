/* fuzz/aws_chunked.c - any bytes as an aws-chunked body: fed at once and byte by byte, which must give the same bytes, the
 * same trailers and the same verdict. The first byte says whether chunks are signed and verified.
 */
#include <stdlib.h>

#include "lakehouse/s3/payload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static nl_status gather(void *argument, nl_bytes bytes)
{
    nl_append(argument, (nl_str){(const char *)bytes.data, bytes.length});
    return NULL;
}

static bool decode(nl_bytes body, size_t step, uint8_t choice, nl_builder *out)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_sigv4_scope scope = {.access_key = NL_STR("key"), .region = NL_STR("us-east-1"), .service = NL_STR("s3"), .date = NL_STR("20261130")};
    nl_sigv4_chain chain;
    nl_sigv4_chain_begin(&chain, &scope, NL_STR("secret"), NL_STR("20261130T000000Z"), NL_STR("0000000000000000000000000000000000000000000000000000000000000000"), arena);
    nl_s3_chunks chunks = {.arena = arena, .sink = gather, .argument = out, .is_signed = choice & 1, .chain = choice & 2 ? &chain : NULL};
    nl_status status = NULL;
    for (size_t at = 0; !status && at < body.length; at += step) status = nl_s3_chunks_take(&chunks, (nl_bytes){body.data + at, NL_MIN(step, body.length - at)});
    if (!status) status = nl_s3_chunks_end(&chunks);
    for (uint32_t i = 0; i < chunks.trailer_count; i++) nl_append_f(out, "\n" NL_STR_FMT "=" NL_STR_FMT, NL_STR_ARG(chunks.trailers[i].key), NL_STR_ARG(chunks.trailers[i].value));
    nl_s3_chunks_fini(&chunks);
    nl_arena_free(arena);
    const bool is_good = status == NULL;
    nl_error_free(status);
    return is_good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    const nl_bytes body = {data + 1, size - 1};
    nl_builder whole, pieces;
    nl_builder_init(&whole, size + 4096);
    nl_builder_init(&pieces, size + 4096);
    const bool is_good = decode(body, size, data[0], &whole);
    const bool is_good_again = decode(body, 1, data[0], &pieces);
    if (is_good != is_good_again || (is_good && !nl_str_equal(nl_builder_str(&whole), nl_builder_str(&pieces)))) abort();
    if (whole.length > size) abort(); /* framing only takes away */
    nl_builder_fini(&whole);
    nl_builder_fini(&pieces);
    return 0;
}
