/* function/icu.c - see icu.h. ICU's functions carry its version in their names; their C interface has not changed for
 * decades, so it is declared here: a header would tie nilas to one version.
 */
#include "function/icu.h"

#include <pthread.h>
#include <stdio.h>

#include "base/library.h"

enum { VERSION_MIN = 50, VERSION_MAX = 99 };
enum { STRENGTH = 5, CASE_LEVEL = 3, PRIMARY = 0, SECONDARY = 1, ON = 17 }; /* UColAttribute, UColAttributeValue */

static struct {
    void *(*open)(const char *locale, int *error);
    void (*close)(void *collator);
    void (*set_attribute)(void *collator, int attribute, int value, int *error);
    int32_t (*sort_key)(const void *collator, const uint16_t *text, int32_t length, uint8_t *key, int32_t capacity);
} lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_loaded;

static bool load_version(int version)
{
    char file[32], names[4][32];
    static const char *const plain[] = {"ucol_open", "ucol_close", "ucol_setAttribute", "ucol_getSortKey"};
    snprintf(file, sizeof file, "libicui18n.so.%d", version);
    for (size_t i = 0; i < NL_COUNT(plain); i++) snprintf(names[i], sizeof names[i], "%s_%d", plain[i], version);
    const nl_library_symbol symbols[] = {{names[0], &lib.open}, {names[1], &lib.close}, {names[2], &lib.set_attribute}, {names[3], &lib.sort_key}};
    nl_status status = nl_library_open(file, "libicu72", symbols, NL_COUNT(symbols));
    nl_error_free(status);
    return status == NULL;
}

static void load(void)
{
    for (int version = VERSION_MAX; version >= VERSION_MIN && !is_loaded; version--) is_loaded = load_version(version);
}

struct nl_collator {
    void *handle;
};

static void close_collator(void *object)
{
    lib.close(((nl_collator *)object)->handle);
}

nl_status nl_collator_open(nl_arena *arena, const nl_collation *collation, const nl_collator **collator)
{
    int error = 0;
    nl_collator *made = NL_NEW(arena, nl_collator);
    pthread_once(&once, load);
    if (!is_loaded)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The collation " NL_STR_FMT " needs ICU (libicui18n). On Debian: apt-get install libicu72.",
                             NL_STR_ARG(collation->name));
    made->handle = lib.open(collation->icu, &error);
    if (error > 0 || !made->handle)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "This ICU does not know the collation " NL_STR_FMT ".", NL_STR_ARG(collation->name));
    nl_arena_on_free(arena, close_collator, made);
    if (collation->is_accent_insensitive) {
        lib.set_attribute(made->handle, STRENGTH, PRIMARY, &error);
        if (!collation->is_case_insensitive) lib.set_attribute(made->handle, CASE_LEVEL, ON, &error);
    } else if (collation->is_case_insensitive) {
        lib.set_attribute(made->handle, STRENGTH, SECONDARY, &error);
    }
    *collator = made;
    return error > 0 ? NL_RAISE_TEXT(NILAS_UNSUPPORTED, "This ICU does not take the strength of " NL_STR_FMT ".", NL_STR_ARG(collation->name)) : NULL;
}

static void append_unit(nl_builder *out, uint32_t unit)
{
    const uint16_t value = (uint16_t)unit;
    nl_append(out, (nl_str){(const char *)&value, sizeof value});
}

static void to_utf16(nl_str text, nl_builder *out)
{
    nl_builder_clear(out);
    for (size_t i = 0; i < text.length;) {
        const uint32_t c = nl_utf8_decode(text, &i);
        if (c >= 0x10000) append_unit(out, 0xd800 + ((c - 0x10000) >> 10));
        append_unit(out, c >= 0x10000 ? 0xdc00 + ((c - 0x10000) & 0x3ff) : c);
    }
}

nl_status nl_collator_append_key(const nl_collator *collator, nl_collator_scratch *scratch, nl_str text, nl_builder *out)
{
    if (scratch->utf16.limit == 0) nl_builder_init(&scratch->utf16, 2 * (size_t)NL_VALUE_BYTES_MAX);
    to_utf16(text, &scratch->utf16);
    const uint16_t *units = (const uint16_t *)(const void *)scratch->utf16.data;
    const int32_t count = (int32_t)(scratch->utf16.length / 2);
    static const uint16_t nothing[1];
    const int32_t size = lib.sort_key(collator->handle, count ? units : nothing, count, NULL, 0);
    const size_t start = out->length;
    nl_append_fill(out, '\0', (size_t)NL_MAX(size, 0));
    if (nl_builder_failed(out) || nl_builder_failed(&scratch->utf16))
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", size), NL_P_INT("receivedBytes", 0));
    lib.sort_key(collator->handle, count ? units : nothing, count, (uint8_t *)out->data + start, size);
    return NULL;
}
