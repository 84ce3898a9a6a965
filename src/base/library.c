/* base/library.c - dlopen with errors that say what to install. */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

nl_status nl_library_open(const char *file_name, const char *debian_package, const nl_library_symbol *symbols, uint32_t symbol_count)
{
    void *library = dlopen(file_name, RTLD_NOW | RTLD_LOCAL); /* stays open as long as the process */
    if (!library)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The library %s cannot be opened (%s). On Debian: apt-get install %s.", file_name, dlerror(), debian_package);
    for (uint32_t i = 0; i < symbol_count; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address)
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The library %s is too old for nilas: it has no %s. On Debian: apt-get install %s.", file_name, symbols[i].name,
                                 debian_package);
        memcpy(symbols[i].place, &address, sizeof(address));
    }
    return NULL;
}
