/* format/orc/tally.h - statistics of a column while it is written: of a row group, a stripe, the file. */
#pragma once

#include "column/value.h"
#include "format/orc/tail.h"
#include "format/parquet/bytes_out.h"

typedef struct nl_orc_text_bound {
    nl_bytes_out bytes;
    bool is_set;
} nl_orc_text_bound;

typedef struct nl_orc_tally {
    nl_orc_statistics_kind kind;
    bool is_binary, is_list;     /* which have sums of lengths only */
    uint64_t value_count, null_count, nan_count;
    bool has_bounds;
    int64_t int_min, int_max;    /* INT, DATE; TIMESTAMP: microseconds, as they are read */
    nl_int128 sum;               /* INT, DECIMAL; STRING, binary: bytes; lists: elements */
    bool has_sum;                /* false: it left its range */
    double real_min, real_max, real_sum;
    nl_int128 wide_min, wide_max; /* DECIMAL */
    uint8_t scale;
    uint64_t true_count;
    uint64_t length_min, length_max; /* lists */
    nl_orc_text_bound text_min, text_max;
} nl_orc_tally;

void nl_orc_tally_init(nl_orc_tally *tally, nl_orc_statistics_kind kind, nl_memory *memory);
void nl_orc_tally_fini(nl_orc_tally *tally);
void nl_orc_tally_clear(nl_orc_tally *tally);
static inline void nl_orc_tally_int(nl_orc_tally *tally, int64_t value)
{
    if (!tally->has_bounds || value < tally->int_min) tally->int_min = value;
    if (!tally->has_bounds || value > tally->int_max) tally->int_max = value;
    tally->has_bounds = true;
    tally->sum += value;
}
static inline void nl_orc_tally_real(nl_orc_tally *tally, double value) /* NaN bounds nothing, but a sum of NaN tells of it */
{
    tally->real_sum += value;
    if (value != value) {
        tally->nan_count++;
        return;
    }
    if (!tally->has_bounds || value < tally->real_min) tally->real_min = value;
    if (!tally->has_bounds || value > tally->real_max) tally->real_max = value;
    tally->has_bounds = true;
}
void nl_orc_tally_decimal(nl_orc_tally *tally, nl_int128 value);
NL_MUST_USE nl_status nl_orc_tally_text(nl_orc_tally *tally, nl_str text);
void nl_orc_tally_length(nl_orc_tally *tally, uint64_t length);
NL_MUST_USE nl_status nl_orc_tally_add(nl_orc_tally *tally, const nl_orc_tally *more);
/* Appends a ColumnStatistics message without its head. zone: of wall-clock times, or NULL. disk_bytes 0: not said. */
NL_MUST_USE nl_status nl_orc_tally_write(const nl_orc_tally *tally, uint64_t disk_bytes, nl_bytes_out *out);
