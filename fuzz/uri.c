/* fuzz/uri.c - any text as a URL, as percent-encoding, and as a path of some file system. Encoding and decoding undo each other. */
#include <stdlib.h>

#include "storage/filesystem.h"
#include "storage/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_url(nl_str text)
{
    nl_url url = {0};
    nl_status status = nl_url_parse(text, &url);
    if (!status) {
        const bool is_inside = url.host.data >= text.data && url.host.data + url.host.length <= text.data + text.length;
        if (!is_inside || url.host.length == 0 || url.scheme.length == 0 || url.path.length == 0 || url.path.data[0] != '/') abort();
    }
    nl_error_free(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const nl_str text = {(const char *)data, size};
    nl_arena *arena = nl_arena_new(NULL);
    nl_str decoded = {0};
    check_url(text);
    const nl_str encoded = nl_url_encode(arena, text, false);
    nl_status status = nl_url_decode(arena, encoded, false, &decoded);
    if (status || !nl_str_equal(decoded, text)) abort();
    nl_error_free(nl_url_decode(arena, text, true, &decoded));
    const nl_str parent = nl_path_parent(text);
    if (parent.length > text.length || nl_path_name(text).length > text.length) abort();
    (void)nl_path_local(arena, text);
    (void)nl_path_is_remote(text);
    nl_arena_free(arena);
    return 0;
}
