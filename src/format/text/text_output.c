/* format/text/text_output.c - streaming compressors in front of an nl_output. */
#include <bzlib.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "format/text/text_output.h"

#define BLOCK_BYTES (128u << 10)

struct nl_text_output {
    nl_output *file;
    nl_text_compression compression;
    nl_buffer *out;
    bool is_started;
    z_stream zlib;
    bz_stream bzip2;
    ZSTD_CCtx *zstd;
};

static nl_status out_of_memory(void)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 1 << 18), NL_P_INT("receivedBytes", 0));
}

static nl_status start_compressor(nl_text_output *output)
{
    if (output->compression == NL_TEXT_PLAIN) return NULL;
    bool has_started;
    if (output->compression == NL_TEXT_BZIP2) {
        has_started = BZ2_bzCompressInit(&output->bzip2, 9, 0, 0) == BZ_OK;
    } else if (output->compression == NL_TEXT_ZSTD) {
        output->zstd = ZSTD_createCCtx();
        has_started = output->zstd != NULL;
    } else {
        int window = output->compression == NL_TEXT_GZIP ? 15 + 16 : 15;
        has_started = deflateInit2(&output->zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    }
    if (!has_started) return out_of_memory();
    output->is_started = true;
    return NULL;
}

static void free_output(nl_text_output *output)
{
    if (output->is_started && output->compression == NL_TEXT_BZIP2) BZ2_bzCompressEnd(&output->bzip2);
    if (output->is_started && output->compression == NL_TEXT_ZSTD) ZSTD_freeCCtx(output->zstd);
    if (output->is_started && (output->compression == NL_TEXT_GZIP || output->compression == NL_TEXT_ZLIB))
        deflateEnd(&output->zlib);
    nl_buffer_release(output->out);
    free(output);
}

void nl_text_output_abort(nl_text_output *output)
{
    if (!output) return;
    nl_output_abort(output->file);
    free_output(output);
}

nl_status nl_text_output_open(nl_fs *fs, nl_str path, nl_text_compression compression, nl_memory *memory,
                              nl_text_output **output)
{
    nl_text_output *made = calloc(1, sizeof *made);
    if (!made) return out_of_memory();
    made->compression = compression;
    nl_status status = nl_buffer_new(memory, BLOCK_BYTES, false, &made->out);
    if (!status) status = start_compressor(made);
    if (!status) status = nl_fs_create(fs, path, &made->file);
    if (status)
        nl_text_output_abort(made);
    else
        *output = made;
    return status;
}

uint64_t nl_text_output_bytes(const nl_text_output *output)
{
    return nl_output_position(output->file);
}

/* One step of the compressor into out; *is_done: the input is taken and, when finishing, everything came out. */
static nl_status step(nl_text_output *output, nl_str *rest, bool is_finishing, size_t *produced, bool *is_done)
{
    if (output->compression == NL_TEXT_ZSTD) {
        ZSTD_inBuffer from = {rest->data, rest->length, 0};
        ZSTD_outBuffer to = {output->out->data, BLOCK_BYTES, 0};
        size_t left = ZSTD_compressStream2(output->zstd, &to, &from, is_finishing ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) return out_of_memory();
        *rest = nl_str_slice(*rest, from.pos, rest->length);
        *produced = to.pos;
        *is_done = is_finishing ? left == 0 : rest->length == 0;
        return NULL;
    }
    if (output->compression == NL_TEXT_BZIP2) {
        output->bzip2.next_in = (char *)(uintptr_t)rest->data;
        output->bzip2.avail_in = (unsigned)rest->length;
        output->bzip2.next_out = (char *)output->out->data;
        output->bzip2.avail_out = BLOCK_BYTES;
        int code = is_finishing || rest->length ? BZ2_bzCompress(&output->bzip2, is_finishing ? BZ_FINISH : BZ_RUN) : BZ_RUN_OK;
        if (code < 0) return out_of_memory();
        *produced = BLOCK_BYTES - output->bzip2.avail_out;
        *rest = nl_str_slice(*rest, rest->length - output->bzip2.avail_in, rest->length);
        *is_done = is_finishing ? code == BZ_STREAM_END : rest->length == 0;
        return NULL;
    }
    output->zlib.next_in = (uint8_t *)(uintptr_t)rest->data;
    output->zlib.avail_in = (uInt)rest->length;
    output->zlib.next_out = output->out->data;
    output->zlib.avail_out = BLOCK_BYTES;
    int code = deflate(&output->zlib, is_finishing ? Z_FINISH : Z_NO_FLUSH);
    if (code == Z_STREAM_ERROR) return out_of_memory();
    *produced = BLOCK_BYTES - output->zlib.avail_out;
    *rest = nl_str_slice(*rest, rest->length - output->zlib.avail_in, rest->length);
    *is_done = is_finishing ? code == Z_STREAM_END : rest->length == 0 && output->zlib.avail_out > 0;
    return NULL;
}

static nl_status push(nl_text_output *output, nl_str text, bool is_finishing)
{
    bool is_done = false;
    while (!is_done) {
        size_t produced = 0;
        NL_TRY(step(output, &text, is_finishing, &produced, &is_done));
        if (produced) NL_TRY(nl_output_write(output->file, output->out->data, produced));
    }
    return NULL;
}

nl_status nl_text_output_write(nl_text_output *output, nl_str text)
{
    if (output->compression == NL_TEXT_PLAIN) return nl_output_write(output->file, text.data, text.length);
    while (text.length) { /* the libraries count in 32 bits */
        nl_str part = nl_str_slice(text, 0, 1u << 30);
        NL_TRY(push(output, part, false));
        text = nl_str_slice(text, part.length, text.length);
    }
    return NULL;
}

nl_status nl_text_output_close(nl_text_output *output)
{
    nl_status status = output->compression == NL_TEXT_PLAIN ? NULL : push(output, (nl_str){"", 0}, true);
    if (status) {
        nl_text_output_abort(output);
        return status;
    }
    nl_output *file = output->file;
    output->file = NULL;
    free_output(output);
    return nl_output_close(file);
}

nl_status nl_text_output_end(nl_text_output *output, nl_status status)
{
    if (!status) return nl_text_output_close(output);
    nl_text_output_abort(output);
    return status;
}
