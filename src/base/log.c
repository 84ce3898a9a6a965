/* base/log.c - one line per message on standard error, in one write so that lines of several threads do not mix. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/calendar.h"
#include "base/process.h"

void nl_log_set_level(nl_log_level level)
{
    atomic_store_explicit(&nl_process_state.log_level, (int)level, memory_order_relaxed);
}

void nl_log(nl_log_level level, const char *format, ...)
{
    static const char *const words[] = {"", "ERROR", "WARN", "INFO", "DEBUG"};
    int wanted = atomic_load_explicit(&nl_process_state.log_level, memory_order_relaxed);
    if (level == NL_LOG_OFF || (int)level > wanted) return;
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    nl_civil now;
    nl_civil_from_micros(nl_now_micros(), &now);
    char *line = NULL;
    length = asprintf(&line, "%02d/%02d/%02d %02d:%02d:%02d %s %s\n", now.year % 100, now.month, now.day, now.hour,
                      now.minute, now.second, words[level], text);
    /* When standard error is closed or full there is nobody left to tell. */
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0) length = 0;
    if (length >= 0) free(line);
    free(text);
}
