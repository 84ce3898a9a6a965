/* storage/http_curl.c - libcurl as a table of pointers (base/library.h). */
#include "base/library.h"
#include "storage/http_private.h"

static nl_curl lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static nl_error *load_error; /* kept: each later call gets a copy of its words */

static void load(void)
{
    const nl_library_symbol symbols[] = {
        {"curl_global_init", &lib.global_init},
        {"curl_easy_init", &lib.easy_init},
        {"curl_easy_reset", &lib.easy_reset},
        {"curl_easy_cleanup", &lib.easy_cleanup},
        {"curl_easy_setopt", &lib.easy_setopt},
        {"curl_easy_getinfo", &lib.easy_getinfo},
        {"curl_easy_strerror", &lib.easy_strerror},
        {"curl_slist_append", &lib.slist_append},
        {"curl_slist_free_all", &lib.slist_free_all},
        {"curl_multi_init", &lib.multi_init},
        {"curl_multi_cleanup", &lib.multi_cleanup},
        {"curl_multi_setopt", &lib.multi_setopt},
        {"curl_multi_add_handle", &lib.multi_add_handle},
        {"curl_multi_remove_handle", &lib.multi_remove_handle},
        {"curl_multi_perform", &lib.multi_perform},
        {"curl_multi_poll", &lib.multi_poll},
        {"curl_multi_wakeup", &lib.multi_wakeup},
        {"curl_multi_info_read", &lib.multi_info_read},
        {"curl_url", &lib.url},
        {"curl_url_set", &lib.url_set},
        {"curl_url_get", &lib.url_get},
        {"curl_url_cleanup", &lib.url_cleanup},
        {"curl_free", &lib.free},
    };
    load_error = nl_library_open("libcurl.so.4", "libcurl4", symbols, NL_COUNT(symbols));
    if (!load_error && lib.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        load_error = NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The library libcurl.so.4 cannot be initialised.");
}

nl_status nl_curl_open(const nl_curl **curl)
{
    pthread_once(&once, load);
    if (load_error) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s", nl_error_param(load_error, "message"));
    *curl = &lib;
    return NULL;
}
