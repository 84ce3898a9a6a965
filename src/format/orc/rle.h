/* format/orc/rle.h - reading ORC's run-length encodings: bytes, bits, and integers of version 1 and 2.
 *
 * Readers take their bytes from a stream, which remembers the first failure; values after it are zeros. Threads: one at a time.
 */
#pragma once

#include "format/orc/stream.h"

typedef struct nl_orc_byte_reader {
    nl_orc_stream *stream; /* borrowed */
    uint32_t left;         /* of the present group */
    bool is_run;
    uint8_t value;         /* of a run */
} nl_orc_byte_reader;

void nl_orc_byte_reader_init(nl_orc_byte_reader *reader, nl_orc_stream *stream);
void nl_orc_byte_reader_read(nl_orc_byte_reader *reader, uint8_t *into, size_t count);
void nl_orc_byte_reader_skip(nl_orc_byte_reader *reader, uint64_t count);

typedef struct nl_orc_bit_reader { /* most significant bit first */
    nl_orc_byte_reader bytes;
    uint8_t byte;
    uint32_t left; /* bits of byte */
} nl_orc_bit_reader;

void nl_orc_bit_reader_init(nl_orc_bit_reader *reader, nl_orc_stream *stream);
/* Bits as validity has them, LSB first, from bit 0 of `into` on; bits behind count are zero. Returns how many are set. */
uint64_t nl_orc_bit_reader_read(nl_orc_bit_reader *reader, uint8_t *into, size_t count);
void nl_orc_bit_reader_read_bytes(nl_orc_bit_reader *reader, uint8_t *into, size_t count); /* one byte a bit: 0 or 1 */
uint64_t nl_orc_bit_reader_skip(nl_orc_bit_reader *reader, uint64_t count); /* how many of them were set */

#define NL_ORC_RUN_MAX 512u
typedef struct nl_orc_int_reader {
    nl_orc_stream *stream; /* borrowed */
    bool is_v2, is_signed;
    uint32_t at, count;             /* of values */
    int64_t values[NL_ORC_RUN_MAX]; /* the present run's, when it did not fit where it was wanted */
} nl_orc_int_reader;

void nl_orc_int_reader_init(nl_orc_int_reader *reader, nl_orc_stream *stream, bool is_v2, bool is_signed);
void nl_orc_int_reader_reset(nl_orc_int_reader *reader); /* the stream stands elsewhere */
void nl_orc_int_reader_read(nl_orc_int_reader *reader, int64_t *into, size_t count);
void nl_orc_int_reader_skip(nl_orc_int_reader *reader, uint64_t count);
/* Skips and adds up: for lengths. Fails the stream when the sum leaves `most`. */
uint64_t nl_orc_int_reader_sum(nl_orc_int_reader *reader, uint64_t count, uint64_t most);
