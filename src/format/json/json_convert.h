/* format/json/json_convert.h - JSON text to values of a type, as Spark's JSON files and from_json do it.
 *
 * A value that does not fit its type becomes null; what fits around it is kept ("partial results"). Names match exactly,
 * the last of two equal ones wins, names that the type lacks are skipped.
 */
#pragma once

#include "column/value.h"
#include "format/json/json_options.h"

typedef enum nl_json_fit {
    NL_JSON_FITS,
    NL_JSON_PARTIAL, /* something inside became null */
    NL_JSON_MISFIT,  /* another kind of value: nothing was added */
    NL_JSON_BROKEN   /* not JSON: nothing was added */
} nl_json_fit;

typedef struct nl_json_converter nl_json_converter;

/* options: borrowed. Fails: NILAS_UNSUPPORTED for maps whose keys are no strings. */
NL_MUST_USE nl_status nl_json_converter_new(const nl_type *type, const nl_json_file_options *options, nl_memory *memory,
                                            nl_json_converter **converter);
void nl_json_converter_free(nl_json_converter *converter); /* NULL is fine */

/* The first JSON value of `text`, whatever follows it, as rows of `builder` (of the converter's type). A STRUCT takes an
 * object (one row) or an array of objects (a row each); an ARRAY an array, or an object as its only element; a MAP an
 * object; VARIANT anything. *row_count: rows added. Blank text: MISFIT. Fails only for memory and limits. */
NL_MUST_USE nl_status nl_json_convert(nl_json_converter *converter, nl_str text, nl_column_builder *builder,
                                      uint32_t *row_count, nl_json_fit *fit);
/* After BROKEN: what and where; static. */
const char *nl_json_convert_problem(const nl_json_converter *converter, size_t *offset);

/* The parser's present value into a variant under construction. False: not JSON. */
struct nl_variant_builder;
NL_MUST_USE nl_status nl_json_to_variant(nl_json_parser *in, struct nl_variant_builder *out, bool *is_json);
