/* shell/progress.h - a line on the terminal while a statement runs for more than a second. */
#pragma once

#include "session/session.h"

void nl_progress_start(nl_session *session); /* nothing happens unless standard error is a terminal */
void nl_progress_stop(void);                 /* and wipes the line */
