/* format/xml/xml_format.h - rows to XML text, as Spark's to_xml writes them. */
#pragma once

#include "column/vector.h"
#include "format/xml/xml_options.h"

/* Row `row` (not null) of a STRUCT that is FLAT, as is all inside it; depth: elements around it, for indentation. Fails: NILAS_UNSUPPORTED for types or names that XML cannot hold. */
NL_MUST_USE nl_status nl_xml_append_row(const nl_xml_options *options, const nl_vector *structs, uint32_t row, uint32_t depth, nl_builder *out);
