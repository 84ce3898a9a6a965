/* shell/up.h - the commands around the local lakehouse: `nilas up`, `down`, `status`, `configure`, `logs`, `dashboard`. */
#pragma once

#include "shell/up_options.h"

#define NL_EXIT_IS_DOWN 3 /* of `status`, as service managers expect */

/* Each takes the arguments behind the command's name and gives the exit status. */
int nl_up_main(int argument_count, char **arguments);
int nl_down_main(int argument_count, char **arguments);
int nl_status_main(int argument_count, char **arguments);
int nl_configure_main(int argument_count, char **arguments);
int nl_logs_main(int argument_count, char **arguments);
int nl_dashboard_main(int argument_count, char **arguments);

/* Serves until SIGINT or SIGTERM. report: is called once, with what was started when everything answers, or with the
 * failure (borrowed). Signals must be blocked before. */
typedef struct nl_up_report {
    nl_error *error;                      /* NULL: ready */
    uint16_t ports[NL_UP_SERVICES_MAX];   /* 0: not started */
    nl_str config_path;                   /* the AWS configuration that was written; empty: none */
    nl_str problem;                       /* why it was not written; empty: fine */
    int64_t ready_micros;                 /* how long it took */
} nl_up_report;
int nl_up_serve(const nl_up_options *options, void (*report)(void *argument, const nl_up_report *facts), void *argument);

/* What a running `nilas up` tells others, in the file "services" of its folder. */
typedef struct nl_up_record {
    int64_t pid;
    int64_t started_micros;
    uint16_t ports[NL_UP_SERVICES_MAX];
} nl_up_record;
NL_MUST_USE nl_status nl_up_record_write(nl_str folder, const nl_up_record *record);
/* *is_up false: nothing serves the folder. */
NL_MUST_USE nl_status nl_up_record_read(nl_str folder, nl_up_record *record, bool *is_up);
