/* shell/script.h - running statements one after the other and telling people how it went. */
#pragma once

#include "shell/spark_options.h"

typedef struct nl_shell { /* one run of `nilas sql` */
    nl_session *session;
    struct nl_remote_session *remote; /* statements run there (--remote); or NULL   */
    const nl_spark_flags *flags;
    bool is_terminal;    /* results go to a terminal                            */
    bool is_interactive; /* a person types: errors do not end the shell         */
    bool is_quiet;       /* no timings: an -i file runs                         */
    bool has_quit;       /* `quit` or `exit` was met                            */
    int exit_status;     /* of what stopped; 0 so far                           */
    int source_depth;    /* files that `source` each other                      */
} nl_shell;

#define NL_EXIT_FAILED       1
#define NL_EXIT_WRONG_USAGE  2   /* the command line                             */
#define NL_EXIT_NO_FILE      3   /* -f names no file, as spark-sql has it        */
#define NL_EXIT_INTERRUPTED  130 /* Ctrl-C                                       */
#define NL_EXIT_SIGNALLED    128 /* and the number of SIGTERM or SIGHUP            */

/* Runs one statement, or a command of the shell (`quit`, `exit`, `source FILE`, `!COMMAND`): prints rows to standard
 * output, timing and errors to standard error. False: stop here; has_quit and exit_status tell why. */
bool nl_shell_run_statement(nl_shell *shell, nl_str statement);
/* All statements of a text; stops at the first failure, unless hive.cli.errors.ignore is true. */
bool nl_shell_run_text(nl_shell *shell, nl_str text);
/* A file, or standard input for "-". A file that cannot be read is a failure. */
bool nl_shell_run_file(nl_shell *shell, const char *path);
void nl_shell_print_error(nl_error *error); /* takes error */
