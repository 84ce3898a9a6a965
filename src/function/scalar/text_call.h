/* scalar/text_call.h - what from_json, to_json, from_csv, to_csv and schema_of_… have in common: options, the column of
 * corrupt records, and rows that are bad. Private to function/scalar.
 */
#pragma once

#include "format/text/text_options.h"
#include "function/groups.h"
#include "function/kernel.h"

/* Argument i, map<string, string>, as options; none when there is no such argument. In the bind's arena. */
NL_MUST_USE nl_status nl_text_call_options(const nl_bind *bind, uint32_t i, nl_text_option_list *options);
nl_text_session nl_text_call_session(const nl_bind *bind);
/* Argument 0 must be a constant string that is not null: the text whose schema is asked for. */
NL_MUST_USE nl_status nl_text_call_sample(nl_bind *bind, const char *name);

/* What a text is made into. A STRUCT's column of corrupt records is no part of the data. */
typedef struct nl_text_target {
    const nl_type *result_type; /* every field nullable */
    const nl_type *data_type;   /* without the corrupt column */
    uint32_t corrupt;           /* UINT32_MAX: none */
    nl_text_mode mode;
    const char *function_name;
} nl_text_target;
/* Fails: INVALID_CORRUPT_RECORD_TYPE. PARSE_MODE_UNSUPPORTED comes with the first row. */
NL_MUST_USE nl_status nl_text_target_init(nl_text_target *target, nl_arena *arena, const nl_type *type, const nl_text_formats *formats,
                                          const char *function_name);

/* The rows of one call. The caller appends a row to `builder` (of data_type), then ends it. */
typedef struct nl_text_rows {
    const nl_text_target *target;
    nl_memory *memory;
    nl_column_builder *builder;
    nl_column_builder *corrupt; /* or NULL */
} nl_text_rows;
NL_MUST_USE nl_status nl_text_rows_open(const nl_text_target *target, nl_memory *memory, nl_text_rows *rows);
void nl_text_rows_close(nl_text_rows *rows);
NL_MUST_USE nl_status nl_text_rows_null(nl_text_rows *rows);
/* After a row was appended; is_bad: something in it did not fit. Fails with FAILFAST. */
NL_MUST_USE nl_status nl_text_rows_end(nl_text_rows *rows, nl_str record, bool is_bad);
NL_MUST_USE nl_status nl_text_rows_bad(nl_text_rows *rows, nl_str record); /* nothing of the record could be read */
NL_MUST_USE nl_status nl_text_rows_finish(nl_text_rows *rows, uint32_t length, nl_vector *out);

/* schema_of_csv, schema_of_json: the answer is known when the call is bound. */
void nl_text_call_answer_schema(nl_bind *bind, const nl_type *type, nl_bound_function *bound);
nl_status nl_text_schema_kernel(NL_KERNEL_PARAMETERS);
