/* format/parquet/write_form.h - values of vectors in the form Parquet stores: fixed-width side by side, strings as views.
 * Inside the folder only. */
#pragma once

#include "format/parquet/write_schema.h"

/* Rows index[0…count) of a FLAT or CONSTANT vector as leaf->stride bytes each. Fails: NILAS_ILLEGAL_ARGUMENT for values
 * that are no UUID, not of the fixed length, or beyond their decimal's precision. */
NL_MUST_USE nl_status nl_write_form(const nl_write_leaf *leaf, const nl_vector *values, const uint32_t *index, uint32_t count, void *out);
