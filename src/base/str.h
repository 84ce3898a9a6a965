/* base/str.h - borrowed UTF-8 slices and bounded builders. NUL-terminated strings exist only at library borders. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct nl_str { /* borrowed UTF-8, not NUL-terminated; {NULL, 0} is the empty string */
    const char *data;
    size_t length;
} nl_str;

typedef struct nl_bytes { /* borrowed bytes */
    const uint8_t *data;
    size_t length;
} nl_bytes;
/* A key with its value: confs, table properties, HTTP headers. */
typedef struct nl_property {
    nl_str key;
    nl_str value;
} nl_property;

#define NL_STR(literal)   ((nl_str){"" literal, sizeof(literal) - 1})
#define NL_STR_INIT(literal) {"" literal, sizeof(literal) - 1}
#define NL_STR_FMT        "%.*s"
#define NL_STR_ARG(value) (int)(value).length, ((value).data ? (value).data : "")

static inline nl_str nl_str_from(const char *text) /* borrowed NUL-terminated text; NULL gives the empty string */
{
    return (nl_str){text, text ? strlen(text) : 0};
}
static inline bool nl_str_equal(nl_str a, nl_str b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}
static inline bool nl_str_is(nl_str a, const char *text)
{
    return nl_str_equal(a, nl_str_from(text));
}
/* The part from `start` to before `stop`; both are clamped to the length. */
static inline nl_str nl_str_slice(nl_str a, size_t start, size_t stop)
{
    if (stop > a.length) stop = a.length;
    if (start > stop) start = stop;
    return (nl_str){start > 0 ? a.data + start : a.data, stop - start}; /* nothing is added to NULL */
}

int nl_str_compare(nl_str a, nl_str b);            /* by bytes: <0, 0, >0                               */
bool nl_str_equal_nocase(nl_str a, nl_str b);      /* ASCII case folded, as SQL identifiers compare      */
bool nl_str_is_nocase(nl_str a, const char *text);
bool nl_str_starts(nl_str a, nl_str prefix);
bool nl_str_starts_nocase(nl_str a, nl_str prefix);
bool nl_str_ends(nl_str a, nl_str suffix);
#define NL_NOT_FOUND SIZE_MAX
size_t nl_str_find(nl_str haystack, nl_str needle, size_t from); /* byte offset, or NL_NOT_FOUND           */
size_t nl_str_find_char(nl_str haystack, char c, size_t from);
size_t nl_str_find_last_char(nl_str haystack, char c);           /* or NL_NOT_FOUND */
nl_str nl_str_trim(nl_str a);                      /* ASCII white space off both ends                    */

/* Cuts the next part before `separator` off *rest. False when nothing is left. "a,,b" gives "a", "", "b";
 * a separator at the end only ends the last part: "a," gives "a". */
bool nl_str_next_part(nl_str *rest, char separator, nl_str *part);

/* UTF-8. Invalid bytes count as one character each. */
size_t nl_utf8_length(nl_str a);                   /* characters                                         */
size_t nl_utf8_next(nl_str a, size_t offset);      /* byte offset after the character at `offset`        */
uint32_t nl_utf8_decode(nl_str a, size_t *offset); /* the character at *offset, which is moved behind it; U+FFFD if bad */
uint32_t nl_utf8_encode(uint32_t code_point, char out[4]); /* bytes written, 1 to 4                      */
bool nl_utf8_is_valid(nl_str a);

/* A growing text with a limit set at birth. After a failure (limit or memory) appends do nothing and
 * nl_builder_failed is true; the text so far stays readable. In place: nl_builder_init, nl_builder_fini. */
typedef struct nl_builder {
    char *data; /* owned; NUL-terminated while length > 0 */
    size_t length;
    size_t capacity;
    size_t limit;
    bool has_failed;
} nl_builder;

void nl_builder_init(nl_builder *builder, size_t limit);
void nl_builder_fini(nl_builder *builder);
void nl_builder_clear(nl_builder *builder); /* length 0; keeps memory and limit */
void nl_append(nl_builder *builder, nl_str text);
void nl_append_c(nl_builder *builder, const char *text);
void nl_append_char(nl_builder *builder, char c);
void nl_append_fill(nl_builder *builder, char c, size_t count);
void nl_append_repeated(nl_builder *builder, nl_str text, size_t count); /* refused before anything is copied */
void nl_append_f(nl_builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nl_append_int(nl_builder *builder, int64_t value);
void nl_append_code_point(nl_builder *builder, uint32_t code_point);
static inline bool nl_builder_failed(const nl_builder *builder)
{
    return builder->has_failed;
}
static inline nl_str nl_builder_str(const nl_builder *builder) /* borrowed until the next append */
{
    return (nl_str){builder->data, builder->length};
}
const char *nl_builder_c(nl_builder *builder); /* NUL-terminated; borrowed until the next append */
