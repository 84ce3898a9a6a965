/* format/parquet/encoder.h - what encoding a column needs for the moment: compressor and scratch. Inside the folder only,
 * except for nl_parquet_encoders, which writers can share (writer.h).
 *
 * An encoder belongs to one thread at a time; there are as many as columns are encoded at once, whatever the number of
 * open files: a statement that writes hundreds of partitions keeps no scratch per file.
 */
#pragma once

#include "format/codec/codec.h"
#include "format/parquet/shred.h"
#include "format/parquet/writer.h"

typedef struct nl_parquet_encoder {
    nl_codec_context *codec;
    nl_shredder shredder;
    nl_bytes_out form;   /* values in their form, and other small things of one call */
    nl_bytes_out body;   /* a page before compression */
    nl_bytes_out packed; /* levels as words, then the compressed page */
} nl_parquet_encoder;

NL_MUST_USE nl_status nl_parquet_encoder_borrow(nl_parquet_encoders *encoders, nl_parquet_encoder **encoder);
void nl_parquet_encoder_return(nl_parquet_encoders *encoders, nl_parquet_encoder *encoder); /* NULL is fine */
