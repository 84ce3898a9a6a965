/* lakehouse/server_mhd.c - see server_mhd.h. */
#include "lakehouse/server_mhd.h"

#include <pthread.h>

#include "base/library.h"
#include "base/number.h"

static nl_mhd mhd_functions;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static nl_error *load_error; /* kept: each later call gets a copy of its words */

static void load(void)
{
    const nl_library_symbol symbols[] = {
        {"MHD_start_daemon", &mhd_functions.start_daemon},
        {"MHD_stop_daemon", &mhd_functions.stop_daemon},
        {"MHD_add_connection", &mhd_functions.add_connection},
        {"MHD_get_connection_info", &mhd_functions.get_connection_info},
        {"MHD_get_connection_values_n", &mhd_functions.get_connection_values_n},
        {"MHD_create_response_from_buffer", &mhd_functions.create_response_from_buffer},
        {"MHD_create_response_from_fd_at_offset64", &mhd_functions.create_response_from_fd_at_offset64},
        {"MHD_create_response_from_callback", &mhd_functions.create_response_from_callback},
        {"MHD_add_response_header", &mhd_functions.add_response_header},
        {"MHD_queue_response", &mhd_functions.queue_response},
        {"MHD_destroy_response", &mhd_functions.destroy_response},
        {"MHD_get_version", &mhd_functions.get_version},
    };
    load_error = nl_library_open("libmicrohttpd.so.12", "libmicrohttpd12", symbols, NL_COUNT(symbols));
}

nl_status nl_mhd_open(const nl_mhd **mhd)
{
    pthread_once(&once, load);
    if (load_error) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s", nl_error_message(load_error));
    *mhd = &mhd_functions;
    return NULL;
}

size_t nl_mhd_raw_head_bytes(const nl_mhd *mhd, struct MHD_Connection *handle)
{
    nl_str rest = nl_str_from(mhd->get_version()), part;
    int64_t parts[3] = {0};
    for (uint32_t i = 0; i < NL_COUNT(parts) && nl_str_next_part(&rest, '.', &part); i++)
        if (!nl_parse_int64(part, &parts[i])) return 0;
    if (parts[0] != 0 || parts[1] != 9 || parts[2] > 76) return 0;
    const union MHD_ConnectionInfo *info = mhd->get_connection_info(handle, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}
