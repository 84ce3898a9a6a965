/* shell/interactive.h - the terminal: line editing, history, completion, Ctrl-C. */
#pragma once

#include "shell/script.h"

/* Reads statements until end of input or `quit`. Returns the exit status. */
int nl_shell_interactive(nl_shell *shell);
/* Ctrl-C cancels the running statement instead of ending the program at once. In a script a second one ends it.
 * SIGTERM and SIGHUP cancel it, too, so that it takes its files away; then the program ends. A second one ends it at once.
 * shell is borrowed until the next call; NULL: signals end the program again. */
void nl_shell_catch_interrupts(nl_shell *shell);
/* SIGTERM or SIGHUP when one has come, else 0: no other statement is to start. */
int nl_shell_ending_signal(void);
