/* base/json.h - reading JSON of files and requests with checks that name file and key, and writing it as Jackson does.
 *
 * Reading goes through jansson (integers are exact to 64 bits). Writing goes straight into a builder.
 */
#pragma once

#include <jansson.h>

#include "base/arena.h"

/* A file's or response's text as JSON. `*json` is owned by the arena. Fails: NILAS_CORRUPT_FILE with path and offset. */
NL_MUST_USE nl_status nl_json_parse(nl_arena *arena, nl_str text, nl_str path, const json_t **json);
/* The corruption "<key>: <problem>" of a file. */
NL_MUST_USE nl_status nl_json_corrupt(nl_str path, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Members of an object. Required ones fail when absent; optional ones leave *out as it was when absent or null. Text
 * is borrowed from the JSON, which nl_json_parse keeps as long as the arena. */
NL_MUST_USE nl_status nl_json_object(const json_t *json, nl_str path, const char *what);
NL_MUST_USE nl_status nl_json_text(const json_t *object, const char *key, nl_str path, nl_str *out);
NL_MUST_USE nl_status nl_json_int32(const json_t *object, const char *key, nl_str path, int32_t *out);
NL_MUST_USE nl_status nl_json_int64(const json_t *object, const char *key, nl_str path, int64_t *out);
NL_MUST_USE nl_status nl_json_bool(const json_t *object, const char *key, nl_str path, bool *out);
NL_MUST_USE nl_status nl_json_array(const json_t *object, const char *key, nl_str path, const json_t **out);
NL_MUST_USE nl_status nl_json_optional_text(const json_t *object, const char *key, nl_str path, nl_str *out);
NL_MUST_USE nl_status nl_json_optional_int32(const json_t *object, const char *key, nl_str path, int32_t *out);
NL_MUST_USE nl_status nl_json_optional_int64(const json_t *object, const char *key, nl_str path, int64_t *out);
NL_MUST_USE nl_status nl_json_optional_bool(const json_t *object, const char *key, nl_str path, bool *out);
NL_MUST_USE nl_status nl_json_optional_array(const json_t *object, const char *key, nl_str path, const json_t **out); /* NULL when absent */
NL_MUST_USE nl_status nl_json_int32_list(nl_arena *arena, const json_t *array, const char *key, nl_str path, const int32_t **out,
                                         uint32_t *count);
/* The members whose keys are not among `known` (ends with NULL), as a new object of the arena; NULL when there are none. */
const json_t *nl_json_unknown(nl_arena *arena, const json_t *object, const char *const *known);
/* Another reference to the same JSON, for another arena. NULL gives NULL. */
const json_t *nl_json_keep(nl_arena *arena, const json_t *json);

/* Writing. A writer remembers only whether a comma is due; nesting is the caller's. */
typedef struct nl_json_writer {
    nl_builder *out; /* borrowed */
    bool needs_comma;
} nl_json_writer;
void nl_json_begin(nl_json_writer *writer, char bracket); /* '{' or '[' */
void nl_json_end(nl_json_writer *writer, char bracket);   /* '}' or ']' */
void nl_json_key(nl_json_writer *writer, const char *key);
void nl_json_key_str(nl_json_writer *writer, nl_str key);
void nl_json_write_text(nl_json_writer *writer, nl_str text);
void nl_json_write_int(nl_json_writer *writer, int64_t value);
void nl_json_write_bool(nl_json_writer *writer, bool value);
void nl_json_write_null(nl_json_writer *writer);
/* Before and after a value that is appended to `out` by other means. */
void nl_json_before_value(nl_json_writer *writer);
void nl_json_after_value(nl_json_writer *writer);
void nl_json_write_json(nl_json_writer *writer, const json_t *json);        /* any value, compact */
void nl_json_write_members(nl_json_writer *writer, const json_t *object);   /* NULL: none */
void nl_json_append_quoted(nl_builder *out, nl_str text);
