/* column/arrow.h - the Arrow C data and stream interfaces (Arrow specification, "The Arrow C data interface"). */
#pragma once

#include "column/batch.h"
#include "nilas/arrow.h"

/* Exports use utf8/binary with 32-bit offsets (large_* above 2 GiB), decimal128, timestamps in "UTC" or none, lists,
 * maps and structs: what pyarrow and Spark read everywhere. */
NL_MUST_USE nl_status nl_arrow_export_schema(const nl_type *struct_type, struct ArrowSchema *schema);
NL_MUST_USE nl_status nl_arrow_export_batch(const nl_type *struct_type, const nl_batch *batch, nl_memory *memory, struct ArrowArray *array);
NL_MUST_USE nl_status nl_arrow_import_schema(const struct ArrowSchema *schema, nl_arena *arena, const nl_type **struct_type);
/* Takes *array (released by the batch's last buffer, or here when copied). Any Arrow layout, views and dictionaries included. */
NL_MUST_USE nl_status nl_arrow_import_batch(struct ArrowArray *array, const struct ArrowSchema *schema, const nl_type *struct_type, nl_memory *memory, nl_batch *batch);
