/* shell/progress.c - drawn from a timer signal: the statement's own thread need not wake for it, and everything the
 * handler touches is atomic or written before the timer starts. */
#include "shell/progress.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;
static volatile sig_atomic_t is_drawn;

#define TICK_MICROS 250000
#define FIRST_TICK  4 /* one second */

static void draw(int signal_number)
{
    (void)signal_number;
    static const char *const frames[] = {"|", "/", "-", "\\"};
    ticks = ticks + 1;
    if (ticks < FIRST_TICK) return;
    char line[64];
    unsigned seconds = (unsigned)ticks / 4;
    char digits[12];
    size_t digit_count = 0;
    do {
        digits[digit_count++] = (char)('0' + seconds % 10);
        seconds /= 10;
    } while (seconds);
    size_t length = 0;
    line[length++] = '\r';
    line[length++] = frames[ticks & 3][0];
    line[length++] = ' ';
    while (digit_count)
        line[length++] = digits[--digit_count];
    memcpy(line + length, " s, Ctrl-C cancels ", 19);
    length += 19;
    is_drawn = 1;
    if (write(STDERR_FILENO, line, length) < 0) is_drawn = 0;
}

void nl_progress_start(nl_session *session)
{
    (void)session;
    if (!isatty(STDERR_FILENO)) return;
    ticks = 0;
    is_drawn = 0;
    struct sigaction action = {.sa_handler = draw, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval interval = {{0, TICK_MICROS}, {0, TICK_MICROS}};
    setitimer(ITIMER_REAL, &interval, NULL);
}

void nl_progress_stop(void)
{
    const struct itimerval off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &off, NULL);
    static const char wipe[] = "\r\033[K";
    if (is_drawn && write(STDERR_FILENO, wipe, sizeof wipe - 1) < 0) return;
    is_drawn = 0;
}
