/* shell/progress.c - drawn from a timer signal: the statement's own thread need not wake for it. The handler touches
 * only atomics and what was written before the timer started, and calls nothing but write and ioctl. */
#include "shell/progress.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#define TICK_MICROS (1000000 / NL_PROGRESS_TICKS)
#define BAR_WIDTH   20u
#define LINE_BYTES  160u

static const nl_progress *drawn_progress;
static atomic_uint ticks;
static atomic_bool is_drawn;

typedef struct line_text { /* appends what fits */
    char *data;
    size_t length;
    size_t size;
} line_text;

static void add(line_text *line, const char *text)
{
    for (; *text && line->length < line->size; text++)
        line->data[line->length++] = *text;
}

static void add_number(line_text *line, uint64_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = 0;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    add(line, digits + at);
}

/* 999, 1.2 k, 34.5 M: one digit behind the point, by thousands or by 1024. */
static void add_scaled(line_text *line, uint64_t number, uint64_t base, const char *const *units)
{
    uint64_t rest = 0;
    uint32_t unit = 0;
    while (number >= base && units[unit + 1]) {
        rest = number % base;
        number /= base;
        unit++;
    }
    add_number(line, number);
    if (unit > 0) {
        add(line, ".");
        add_number(line, rest * 10 / base);
    }
    add(line, units[unit]);
}

/* Rows tell best how far it is; files do when numbers of rows are not known. -1: nobody knows. */
static int percent_done(const nl_progress *progress)
{
    const uint64_t rows = atomic_load(&progress->rows), rows_total = atomic_load(&progress->rows_total);
    const uint64_t files = atomic_load(&progress->files), files_total = atomic_load(&progress->files_total);
    if (rows_total > 0) return rows >= rows_total ? 100 : (int)((double)rows / (double)rows_total * 100);
    if (files_total > 0) return (int)(files * 100 / files_total > 100 ? 100 : files * 100 / files_total);
    return -1;
}

size_t nl_progress_line(const nl_progress *progress, uint32_t tick, uint32_t columns, char *data, size_t size)
{
    static const char *const counts[] = {"", " k", " M", " G", " T", NULL}, *const sizes[] = {" B", " KiB", " MiB", " GiB", " TiB", NULL};
    line_text line = {.data = data, .size = columns < size ? columns : size};
    const int percent = percent_done(progress);
    if (percent >= 0) {
        add(&line, "[");
        for (uint32_t i = 0; i < BAR_WIDTH; i++)
            add(&line, i < BAR_WIDTH * (uint32_t)percent / 100 ? "=" : " ");
        add(&line, "] ");
        add_number(&line, (uint64_t)percent);
        add(&line, " %  ");
    } else {
        static const char *const frames[] = {"| ", "/ ", "- ", "\\ "};
        add(&line, frames[tick % 4]);
    }
    const uint64_t rows = atomic_load(&progress->rows), files_total = atomic_load(&progress->files_total);
    if (rows > 0) {
        add_scaled(&line, rows, 1000, counts);
        add(&line, " rows  ");
    }
    if (files_total > 0) {
        add_number(&line, atomic_load(&progress->files));
        add(&line, "/");
        add_number(&line, files_total);
        add(&line, " files  ");
        add_scaled(&line, atomic_load(&progress->bytes), 1024, sizes);
        add(&line, "  ");
    }
    add_number(&line, tick / NL_PROGRESS_TICKS);
    add(&line, " s");
    return line.length;
}

static uint32_t terminal_columns(void)
{
    struct winsize window;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col < 2) return 79;
    return window.ws_col - 1u; /* the last column would wrap */
}

static void draw(int signal_number)
{
    (void)signal_number;
    const int saved = errno;
    const uint32_t tick = atomic_fetch_add(&ticks, 1) + 1;
    if (tick >= NL_PROGRESS_TICKS) {
        char text[LINE_BYTES + 8] = "\r";
        size_t length = 1 + nl_progress_line(drawn_progress, tick, terminal_columns(), text + 1, LINE_BYTES);
        memcpy(text + length, "\033[K", 3);
        length += 3;
        atomic_store(&is_drawn, true);
        if (write(STDERR_FILENO, text, length) < 0) atomic_store(&is_drawn, false);
    }
    errno = saved;
}

void nl_progress_start(nl_session *session)
{
    if (!isatty(STDERR_FILENO) || !nl_session_get_bool(session, "spark.ui.showConsoleProgress")) return;
    drawn_progress = nl_session_progress(session);
    atomic_store(&ticks, 0);
    atomic_store(&is_drawn, false);
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
    if (atomic_exchange(&is_drawn, false) && write(STDERR_FILENO, wipe, sizeof wipe - 1) < 0) return;
}
