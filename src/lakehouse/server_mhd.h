/* lakehouse/server_mhd.h - libmicrohttpd's functions, opened when the first server is made (base/library.h). */
#pragma once

#include <microhttpd.h>

#include "base/status.h"

typedef struct nl_mhd {
    __typeof__(MHD_start_daemon) *start_daemon;
    __typeof__(MHD_stop_daemon) *stop_daemon;
    __typeof__(MHD_add_connection) *add_connection;
    __typeof__(MHD_get_connection_info) *get_connection_info;
    __typeof__(MHD_get_connection_values_n) *get_connection_values_n;
    __typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
    __typeof__(MHD_create_response_from_fd_at_offset64) *create_response_from_fd_at_offset64;
    __typeof__(MHD_create_response_from_callback) *create_response_from_callback;
    __typeof__(MHD_add_response_header) *add_response_header;
    __typeof__(MHD_queue_response) *queue_response;
    __typeof__(MHD_destroy_response) *destroy_response;
    __typeof__(MHD_get_version) *get_version;
} nl_mhd;
/* Up to 0.9.76 the library cuts names and values at a NUL, glues folded lines together and drops nameless headers, without a
 * word. Those versions read the head in place, each separator overwritten by a NUL, which lets the server look for what was
 * hidden: the head's length in the buffer. Later ones refuse all that themselves: 0. */
size_t nl_mhd_raw_head_bytes(const nl_mhd *mhd, struct MHD_Connection *handle);
NL_MUST_USE nl_status nl_mhd_open(const nl_mhd **mhd);
