/* shell/up_options.h - the flags of `nilas up`, `down`, `status`, `configure`, `logs` and `dashboard`, with the environment
 * and the defaults filled in. */
#pragma once

#include "shell/up_services.h"

typedef enum nl_up_command { NL_UP = 1, NL_DOWN = 2, NL_STATUS = 4, NL_CONFIGURE = 8, NL_LOGS = 16, NL_DASHBOARD = 32 } nl_up_command;

typedef struct nl_up_options { /* texts borrow from argv, the environment and the arena */
    nl_up_command command;
    bool wanted[NL_UP_SERVICES_MAX];
    uint16_t ports[NL_UP_SERVICES_MAX];
    nl_str data;              /* the data folder */
    nl_str listen;            /* empty: loopback */
    nl_list hosts;            /* nl_str *: further names in Host headers */
    nl_list warehouses;       /* nl_property *: name and location of plain warehouses to be made when absent */
    nl_str access_key, secret_key;
    nl_str profile;
    bool is_strict;
    bool is_detached;
    bool is_verbose;
    bool is_following;        /* logs -f */
    bool has_no_configure;
    bool has_no_maintenance;
    int64_t maintenance_seconds; /* between two rounds */
    bool wants_help, wants_version;
} nl_up_options;

/* Fails: NILAS_ILLEGAL_ARGUMENT naming the flag, variable or service. */
NL_MUST_USE nl_status nl_up_options_parse(nl_arena *arena, nl_up_command command, int argument_count, char **arguments, nl_up_options *options);
void nl_up_options_print_help(nl_up_command command);
