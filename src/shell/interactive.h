/* shell/interactive.h - the terminal: line editing, history, completion, Ctrl-C. */
#pragma once

#include "shell/script.h"

/* Reads statements until end of input or `quit`. Returns the exit status. */
int nl_shell_interactive(nl_shell *shell);
/* Ctrl-C cancels the running statement instead of ending the program at once. In a script a second one ends it.
 * shell is borrowed until the next call; NULL: Ctrl-C ends the program again. */
void nl_shell_catch_interrupts(nl_shell *shell);
