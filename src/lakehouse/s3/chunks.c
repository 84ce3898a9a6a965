/* lakehouse/s3/chunks.c - the aws-chunked framing:
 *
 *     hex-size[;chunk-signature=64 hex digits] CR LF  bytes CR LF  …  0[;chunk-signature=…] CR LF  [name:value CR LF …]  CR LF
 *
 * Bytes go to the sink as they come; whoever sinks them makes nothing visible before the end. A line may end with LF alone.
 */
#include "lakehouse/object_store.h"
#include "lakehouse/s3/payload.h"

static nl_status broken(const char *what)
{
    return NL_STORE_RAISE("InvalidRequest", "The aws-chunked body is malformed: %s.", what);
}

/* Constant time, so that nobody finds a signature byte by byte. */
static bool is_same_signature(const char a[65], const char b[65])
{
    uint8_t difference = 0;
    for (size_t i = 0; i < 64; i++) difference |= (uint8_t)(a[i] ^ b[i]);
    return difference == 0;
}

static nl_status wrong_signature(void)
{
    return NL_STORE_RAISE("SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your key and signing method.");
}

static nl_status read_size(nl_str text, uint64_t *size)
{
    uint64_t value = 0;
    if (text.length == 0 || text.length > 15) return broken("a chunk's size is not hexadecimal");
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const char lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9') value = value * 16 + (uint64_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f') value = value * 16 + (uint64_t)(lower - 'a' + 10);
        else return broken("a chunk's size is not hexadecimal");
    }
    *size = value;
    return NULL;
}

static nl_status begin_chunk(nl_s3_chunks *self, nl_str line)
{
    const size_t semicolon = nl_str_find_char(line, ';', 0);
    NL_TRY(read_size(nl_str_trim(nl_str_slice(line, 0, semicolon)), &self->left));
    if (self->is_signed) {
        nl_str extension = semicolon == NL_NOT_FOUND ? (nl_str){0} : nl_str_trim(nl_str_slice(line, semicolon + 1, line.length));
        const nl_str name = NL_STR("chunk-signature=");
        if (!nl_str_starts(extension, name) || extension.length != name.length + 64) return broken("a chunk has no signature");
        memcpy(self->signature, extension.data + name.length, 64);
    }
    if (self->chain) NL_TRY(nl_digest_begin(NL_DIGEST_SHA256, &self->hash));
    self->state = NL_S3_CHUNK_BYTES;
    return NULL;
}

/* The chunk's bytes are all there. */
static nl_status end_bytes(nl_s3_chunks *self, bool is_last)
{
    if (self->chain) {
        uint8_t hash[NL_DIGEST_BYTES_MAX];
        nl_digest_end(&self->hash, hash);
        nl_sigv4_chain_next(self->chain, hash);
        if (!is_same_signature(self->chain->previous, self->signature)) return wrong_signature();
    }
    self->state = is_last ? NL_S3_CHUNK_TRAILER : NL_S3_CHUNK_END;
    return NULL;
}

static nl_status end_trailers(nl_s3_chunks *self)
{
    self->state = NL_S3_CHUNK_DONE;
    if (!self->chain || !self->trailer_count) return NULL;
    nl_builder canonical;
    nl_builder_init(&canonical, NL_S3_TRAILERS_MAX * (NL_S3_CHUNK_LINE_MAX + 2));
    nl_str claimed = {0};
    for (uint32_t i = 0; i < self->trailer_count; i++) {
        const nl_property *one = &self->trailers[i];
        if (nl_str_is_nocase(one->key, "x-amz-trailer-signature")) claimed = one->value;
        else nl_append_f(&canonical, NL_STR_FMT ":" NL_STR_FMT "\n", NL_STR_ARG(one->key), NL_STR_ARG(one->value));
    }
    nl_sigv4_chain_trailer(self->chain, nl_builder_str(&canonical));
    nl_builder_fini(&canonical);
    char text[65] = "";
    if (claimed.length == 64) memcpy(text, claimed.data, 64);
    return is_same_signature(self->chain->previous, text) ? NULL : wrong_signature();
}

static nl_status take_trailer(nl_s3_chunks *self, nl_str line)
{
    if (!line.length) return end_trailers(self);
    const size_t colon = nl_str_find_char(line, ':', 0);
    if (colon == NL_NOT_FOUND || colon == 0) return broken("a trailer has no name");
    if (self->trailer_count == NL_S3_TRAILERS_MAX) return broken("too many trailers");
    nl_str key = nl_arena_str(self->arena, nl_str_trim(nl_str_slice(line, 0, colon)));
    for (size_t i = 0; i < key.length; i++)
        if (key.data[i] >= 'A' && key.data[i] <= 'Z') ((char *)NL_UNCONST(key.data))[i] = (char)(key.data[i] | 0x20);
    self->trailers[self->trailer_count++] = (nl_property){key, nl_arena_str(self->arena, nl_str_trim(nl_str_slice(line, colon + 1, line.length)))};
    return NULL;
}

static nl_status take_line(nl_s3_chunks *self)
{
    nl_str line = {self->line, self->line_length};
    self->line_length = 0;
    if (line.length && line.data[line.length - 1] == '\r') line.length--;
    if (self->state == NL_S3_CHUNK_TRAILER) return take_trailer(self, line);
    if (self->state == NL_S3_CHUNK_LINE) {
        NL_TRY(begin_chunk(self, line));
        return self->left == 0 ? end_bytes(self, true) : NULL;
    }
    if (line.length) return broken("a chunk is longer than its size says");
    self->state = NL_S3_CHUNK_LINE;
    return NULL;
}

/* Up to and with the next LF; *taken: how many bytes that were. */
static nl_status take_line_bytes(nl_s3_chunks *self, nl_bytes bytes, size_t *taken)
{
    const uint8_t *end = memchr(bytes.data, '\n', bytes.length);
    const size_t length = end ? (size_t)(end - bytes.data) : bytes.length;
    if (length > sizeof(self->line) - self->line_length) return broken("a line is too long");
    memcpy(self->line + self->line_length, bytes.data, length);
    self->line_length += length;
    *taken = length + (end != NULL);
    if (self->state == NL_S3_CHUNK_END && self->line_length && self->line[0] != '\r') return broken("a chunk is longer than its size says");
    return end ? take_line(self) : NULL;
}

static nl_status take_chunk_bytes(nl_s3_chunks *self, nl_bytes bytes, size_t *taken)
{
    const nl_bytes here = {bytes.data, (size_t)NL_MIN((uint64_t)bytes.length, self->left)};
    if (self->chain) nl_digest_update(&self->hash, here);
    NL_TRY(self->sink(self->argument, here));
    self->left -= here.length;
    *taken = here.length;
    return self->left == 0 ? end_bytes(self, false) : NULL;
}

nl_status nl_s3_chunks_take(nl_s3_chunks *self, nl_bytes bytes)
{
    while (bytes.length) {
        size_t taken = 0;
        if (self->state == NL_S3_CHUNK_DONE) return broken("bytes follow its end");
        if (self->state == NL_S3_CHUNK_BYTES) NL_TRY(take_chunk_bytes(self, bytes, &taken));
        else NL_TRY(take_line_bytes(self, bytes, &taken));
        bytes.data += taken;
        bytes.length -= taken;
    }
    return NULL;
}

nl_status nl_s3_chunks_end(nl_s3_chunks *self)
{
    if (self->state == NL_S3_CHUNK_DONE) return NULL;
    /* Some clients leave the last empty line out. */
    if (self->state == NL_S3_CHUNK_TRAILER && !self->line_length) return end_trailers(self);
    return NL_STORE_RAISE("IncompleteBody", "The request body terminated unexpectedly");
}

void nl_s3_chunks_fini(nl_s3_chunks *self)
{
    nl_digest_fini(&self->hash);
}
