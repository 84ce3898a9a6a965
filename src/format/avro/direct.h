/* format/avro/direct.h - the fast road of reader.c: columns of plain types, with or without a union with null, are decoded
 * straight into the vectors of the batch, and unwanted ones are stepped over. Text is not copied: vectors keep the block.
 */
#pragma once

#include "column/batch.h"
#include "format/avro/schema.h"

typedef enum nl_avro_direct_kind {
    NL_AVRO_NOT_DIRECT,
    NL_AVRO_DIRECT_INT,     /* into 1, 2, 4 or 8 bytes */
    NL_AVRO_DIRECT_FLOAT,
    NL_AVRO_DIRECT_WIDENED, /* a float as DOUBLE */
    NL_AVRO_DIRECT_DOUBLE,
    NL_AVRO_DIRECT_BOOLEAN,
    NL_AVRO_DIRECT_TEXT,    /* STRING and BYTES */
    NL_AVRO_DIRECT_BYTES,   /* FIXED */
    NL_AVRO_DIRECT_DECIMAL  /* of a FIXED, at its own scale */
} nl_avro_direct_kind;

typedef struct nl_avro_direct { /* one field of the file's record */
    nl_avro_direct_kind kind;
    int32_t null_branch;        /* -1: no union */
    bool is_skipped;
    uint8_t precision;          /* DECIMAL */
    uint32_t size_bytes;        /* FIXED, DECIMAL: of the value stored */
    nl_physical physical;       /* of the vector */
    int64_t min, max;           /* INT, and DECIMAL into 8 bytes */
    const nl_type *type;
    /* While a batch is made: */
    nl_vector vector;           /* NL_BATCH_ROWS rows */
    uint8_t *validity;          /* NULL before the first null */
    void *values;
} nl_avro_direct;

/* How a field is read as `type` (NULL: skipped). kind stays NL_AVRO_NOT_DIRECT for what needs the long road. */
void nl_avro_direct_plan(const nl_avro_type *avro, const nl_type *type, nl_avro_direct *direct);
/* For a batch: makes the vector; for each block: keeps its bytes alive. */
NL_MUST_USE nl_status nl_avro_direct_begin(nl_avro_direct *direct, nl_memory *memory);
NL_MUST_USE nl_status nl_avro_direct_keep(nl_avro_direct *direct, nl_memory *memory, nl_buffer *block);
/* Decodes `count` neighbouring fields of one record into row `row`. */
NL_MUST_USE nl_status nl_avro_direct_row(nl_avro_direct *fields, uint32_t count, uint32_t row, nl_memory *memory, nl_cursor *in);
