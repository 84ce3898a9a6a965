/* format/avro/encode.h - rows of batches as Avro records; used by writer.c. */
#pragma once

#include "format/avro/writer.h"

typedef struct nl_avro_encoder nl_avro_encoder;

/* Matches the columns of `type` with the record's fields by position. Fails when a type cannot be stored as the schema
 * says. In the arena. */
NL_MUST_USE nl_status nl_avro_encoder_new(nl_arena *arena, const nl_avro_type *record, const nl_type *type, nl_avro_encoder **encoder);
/* Between begin and end the batch is borrowed; nested columns are flattened for the time. */
NL_MUST_USE nl_status nl_avro_encoder_begin(nl_avro_encoder *encoder, const nl_batch *batch, nl_memory *memory);
NL_MUST_USE nl_status nl_avro_encoder_row(nl_avro_encoder *encoder, uint32_t row, nl_avro_sink *sink);
void nl_avro_encoder_end(nl_avro_encoder *encoder);
