/* shell/progress.h - a line on the terminal while a statement runs for more than a second. */
#pragma once

#include "session/session.h"

/* Draws what the session has read so far, four times a second, until nl_progress_stop. Nothing happens unless standard
 * error is a terminal. */
void nl_progress_start(nl_session *session);
void nl_progress_stop(void); /* and wipes the line; may be called again */

/* The text of the line, at most `columns` wide, without control characters; length returned. Async-signal-safe. */
size_t nl_progress_line(const nl_progress *progress, uint32_t ticks, uint32_t columns, char *line, size_t size);
#define NL_PROGRESS_TICKS 4 /* a second */
