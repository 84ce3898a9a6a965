/* base/json.c - see json.h. Escapes are Jackson's: the two-letter ones, \u00XX for other control characters, and
 * everything else as UTF-8. */
#include "base/json.h"

#include "base/limits.h"

#include <stdarg.h>
#include <stdio.h>

nl_status nl_json_corrupt(nl_str path, const char *format, ...)
{
    char problem[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, sizeof(problem), format, arguments);
    va_end(arguments);
    return NL_RAISE(NILAS_CORRUPT_FILE, NL_P_STR("path", path), NL_P_INT("offset", 0), NL_P("column", ""), NL_P("problem", problem));
}

static void release_json(void *json)
{
    json_decref((json_t *)json);
}

/* jansson recurses per level; nesting is counted first so that a hostile file cannot exhaust the stack. */
static bool is_too_deep(nl_str text)
{
    uint32_t depth = 0;
    bool in_text = false;
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        if (in_text) {
            if (c == '\\') i++;
            else if (c == '"') in_text = false;
        } else if (c == '"') {
            in_text = true;
        } else if (c == '{' || c == '[') {
            if (++depth > NL_JSON_DEPTH_MAX) return true;
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
    }
    return false;
}

nl_status nl_json_parse(nl_arena *arena, nl_str text, nl_str path, const json_t **json)
{
    if (text.length > NL_JSON_BYTES_MAX) return nl_json_corrupt(path, "JSON of %zu bytes is over the limit", text.length);
    if (is_too_deep(text)) return nl_json_corrupt(path, "JSON is nested more than %u levels deep", NL_JSON_DEPTH_MAX);
    json_error_t error;
    json_t *parsed = json_loadb(text.data ? text.data : "", text.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!parsed) {
        return NL_RAISE(NILAS_CORRUPT_FILE, NL_P_STR("path", path), NL_P_INT("offset", error.position > 0 ? error.position : 0),
                        NL_P("column", ""), NL_P("problem", error.text));
    }
    nl_arena_on_free(arena, release_json, parsed);
    *json = parsed;
    return NULL;
}

nl_status nl_json_object(const json_t *json, nl_str path, const char *what)
{
    if (!json_is_object(json)) return nl_json_corrupt(path, "%s is not a JSON object", what);
    return NULL;
}

static const json_t *member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

nl_status nl_json_optional_text(const json_t *object, const char *key, nl_str path, nl_str *out)
{
    const json_t *value = member(object, key);
    if (!value) return NULL;
    if (!json_is_string(value)) return nl_json_corrupt(path, "%s is not a string", key);
    *out = (nl_str){json_string_value(value), json_string_length(value)};
    return NULL;
}

nl_status nl_json_optional_int64(const json_t *object, const char *key, nl_str path, int64_t *out)
{
    const json_t *value = member(object, key);
    if (!value) return NULL;
    if (!json_is_integer(value)) return nl_json_corrupt(path, "%s is not an integer", key);
    *out = (int64_t)json_integer_value(value);
    return NULL;
}

nl_status nl_json_optional_int32(const json_t *object, const char *key, nl_str path, int32_t *out)
{
    int64_t wide = *out;
    NL_TRY(nl_json_optional_int64(object, key, path, &wide));
    if (wide < INT32_MIN || wide > INT32_MAX) return nl_json_corrupt(path, "%s does not fit 32 bits", key);
    *out = (int32_t)wide;
    return NULL;
}

nl_status nl_json_optional_bool(const json_t *object, const char *key, nl_str path, bool *out)
{
    const json_t *value = member(object, key);
    if (!value) return NULL;
    if (!json_is_boolean(value)) return nl_json_corrupt(path, "%s is not a boolean", key);
    *out = json_is_true(value);
    return NULL;
}

nl_status nl_json_optional_array(const json_t *object, const char *key, nl_str path, const json_t **out)
{
    const json_t *value = member(object, key);
    if (value && !json_is_array(value)) return nl_json_corrupt(path, "%s is not an array", key);
    *out = value;
    return NULL;
}

static nl_status require(const json_t *object, const char *key, nl_str path)
{
    if (!member(object, key)) return nl_json_corrupt(path, "the required key %s is missing", key);
    return NULL;
}

nl_status nl_json_text(const json_t *object, const char *key, nl_str path, nl_str *out)
{
    NL_TRY(require(object, key, path));
    return nl_json_optional_text(object, key, path, out);
}

nl_status nl_json_int32(const json_t *object, const char *key, nl_str path, int32_t *out)
{
    NL_TRY(require(object, key, path));
    return nl_json_optional_int32(object, key, path, out);
}

nl_status nl_json_int64(const json_t *object, const char *key, nl_str path, int64_t *out)
{
    NL_TRY(require(object, key, path));
    return nl_json_optional_int64(object, key, path, out);
}

nl_status nl_json_bool(const json_t *object, const char *key, nl_str path, bool *out)
{
    NL_TRY(require(object, key, path));
    return nl_json_optional_bool(object, key, path, out);
}

nl_status nl_json_array(const json_t *object, const char *key, nl_str path, const json_t **out)
{
    NL_TRY(require(object, key, path));
    return nl_json_optional_array(object, key, path, out);
}

nl_status nl_json_int32_list(nl_arena *arena, const json_t *array, const char *key, nl_str path, const int32_t **out, uint32_t *count)
{
    const size_t size = json_array_size(array);
    int32_t *items = NL_NEW_ARRAY(arena, int32_t, size + 1);
    NL_TRY(nl_arena_check(arena));
    for (size_t i = 0; i < size; i++) {
        const json_t *item = json_array_get(array, i);
        const json_int_t value = json_integer_value(item);
        if (!json_is_integer(item) || value < INT32_MIN || value > INT32_MAX)
            return nl_json_corrupt(path, "%s holds something that is no 32-bit integer", key);
        items[i] = (int32_t)value;
    }
    *out = items;
    *count = (uint32_t)size;
    return NULL;
}

const json_t *nl_json_unknown(nl_arena *arena, const json_t *object, const char *const *known)
{
    json_t *unknown = NULL;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        bool is_known = false;
        for (const char *const *name = known; *name && !is_known; name++)
            is_known = strcmp(key, *name) == 0;
        if (is_known) continue;
        if (!unknown) unknown = json_object();
        if (!unknown || json_object_set(unknown, key, value) != 0) break;
    }
    if (unknown) nl_arena_on_free(arena, release_json, unknown);
    return unknown;
}

const json_t *nl_json_keep(nl_arena *arena, const json_t *json)
{
    if (!json) return NULL;
    json_t *kept = json_incref((json_t *)(uintptr_t)json);
    nl_arena_on_free(arena, release_json, kept);
    return kept;
}

void nl_json_append_quoted(nl_builder *out, nl_str text)
{
    nl_append_char(out, '"');
    size_t start = 0;
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        nl_append(out, nl_str_slice(text, start, i));
        start = i + 1;
        switch (c) {
        case '"': nl_append_c(out, "\\\""); break;
        case '\\': nl_append_c(out, "\\\\"); break;
        case '\b': nl_append_c(out, "\\b"); break;
        case '\f': nl_append_c(out, "\\f"); break;
        case '\n': nl_append_c(out, "\\n"); break;
        case '\r': nl_append_c(out, "\\r"); break;
        case '\t': nl_append_c(out, "\\t"); break;
        default: nl_append_f(out, "\\u%04X", c); break;
        }
    }
    if (start < text.length) nl_append(out, nl_str_slice(text, start, text.length));
    nl_append_char(out, '"');
}

void nl_json_before_value(nl_json_writer *writer)
{
    if (writer->needs_comma) nl_append_char(writer->out, ',');
    writer->needs_comma = false;
}

void nl_json_after_value(nl_json_writer *writer)
{
    writer->needs_comma = true;
}

void nl_json_begin(nl_json_writer *writer, char bracket)
{
    nl_json_before_value(writer);
    nl_append_char(writer->out, bracket);
}

void nl_json_end(nl_json_writer *writer, char bracket)
{
    nl_append_char(writer->out, bracket);
    writer->needs_comma = true;
}

void nl_json_key_str(nl_json_writer *writer, nl_str key)
{
    nl_json_before_value(writer);
    nl_json_append_quoted(writer->out, key);
    nl_append_char(writer->out, ':');
}

void nl_json_key(nl_json_writer *writer, const char *key)
{
    nl_json_key_str(writer, nl_str_from(key));
}

void nl_json_write_text(nl_json_writer *writer, nl_str text)
{
    nl_json_before_value(writer);
    nl_json_append_quoted(writer->out, text);
    nl_json_after_value(writer);
}

void nl_json_write_int(nl_json_writer *writer, int64_t value)
{
    nl_json_before_value(writer);
    nl_append_int(writer->out, value);
    nl_json_after_value(writer);
}

void nl_json_write_bool(nl_json_writer *writer, bool value)
{
    nl_json_before_value(writer);
    nl_append_c(writer->out, value ? "true" : "false");
    nl_json_after_value(writer);
}

void nl_json_write_null(nl_json_writer *writer)
{
    nl_json_before_value(writer);
    nl_append_c(writer->out, "null");
    nl_json_after_value(writer);
}

static int append_chunk(const char *buffer, size_t size, void *data)
{
    nl_append((nl_builder *)data, (nl_str){buffer, size});
    return 0;
}

void nl_json_write_json(nl_json_writer *writer, const json_t *json)
{
    nl_json_before_value(writer);
    if (json_dump_callback(json, append_chunk, writer->out, JSON_COMPACT | JSON_ENCODE_ANY) != 0) writer->out->has_failed = true;
    nl_json_after_value(writer);
}

void nl_json_write_members(nl_json_writer *writer, const json_t *object)
{
    if (!object) return;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        nl_json_key(writer, key);
        nl_json_write_json(writer, value);
    }
}
