/* format/json/json_format.h - values as JSON text, as Spark's JSON files and to_json write them. */
#pragma once

#include "column/value.h"
#include "format/json/json_options.h"

/* Appends row `row` as JSON. options parsed for NL_TEXT_WRITE. Fields that are null are left out of structs unless
 * ignoreNullFields is false; NaN and infinities are strings; binary is base64.
 * Fails: NILAS_UNSUPPORTED for CalendarInterval as a file's column is checked before; MALFORMED_VARIANT; a date pattern's errors. */
NL_MUST_USE nl_status nl_json_append_value(const nl_json_file_options *options, const nl_vector *vector, uint32_t row,
                                           nl_builder *out);
/* One row of some columns as an object. */
NL_MUST_USE nl_status nl_json_append_row(const nl_json_file_options *options, const nl_type *struct_type,
                                         const nl_vector *columns, uint32_t row, nl_builder *out);
