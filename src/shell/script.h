/* shell/script.h - running statements one after the other and telling people how it went. */
#pragma once

#include "shell/sql_options.h"

typedef struct nl_shell { /* one run of `nilas sql` */
    nl_session *session;
    const nl_sql_flags *flags;
    bool is_terminal; /* results go to a terminal */
} nl_shell;

/* Runs one statement: prints rows to standard output, timing and errors to standard error. False when it failed. */
bool nl_shell_run_statement(nl_shell *shell, nl_str statement);
/* All statements of a text; stops at the first failure. */
bool nl_shell_run_text(nl_shell *shell, nl_str text);
/* A file, or standard input for "-". A file that cannot be read is a failure. */
bool nl_shell_run_file(nl_shell *shell, const char *path);
void nl_shell_print_error(nl_error *error); /* takes error */
