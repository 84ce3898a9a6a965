/* shell/up.c - see up.h. */
#include "shell/up.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/calendar.h"
#include "base/limits.h"
#include "base/log.h"
#include "lakehouse/state.h"
#include "shell/script.h"
#include "shell/up_profile.h"
#include "storage/io_error.h"

#define STOP_MS_MAX 20000 /* the server itself waits 10 s for running requests */

extern char **environ;

/* ---- What is printed. */

static void append_address(nl_builder *out, uint32_t service, uint16_t port, nl_str listen_address)
{
    const nl_up_service *row = &nl_up_services[service];
    const nl_str host = listen_address.length && !nl_str_is(listen_address, "0.0.0.0") && !nl_str_is(listen_address, "::") ? listen_address : NL_STR("localhost");
    nl_append_f(out, "  %-10s http://" NL_STR_FMT ":%-6u%s%s\n", row->name, NL_STR_ARG(host), port, row->note ? "  " : "", row->note ? row->note : "");
}

static void append_ready(nl_builder *out, const nl_up_options *options, const nl_up_report *facts)
{
    nl_append_f(out, "nilas %s is ready (%lld ms), data in " NL_STR_FMT "\n\n", NILAS_VERSION, (long long)(facts->ready_micros / 1000), NL_STR_ARG(options->data));
    for (uint32_t i = 0; i < nl_up_service_count; i++)
        if (facts->ports[i]) append_address(out, i, facts->ports[i], options->listen);
    if (facts->config_path.length)
        nl_append_f(out, "\nThe AWS profile is in " NL_STR_FMT ". For boto3, PyIceberg, the AWS command line and others:\n\n  export AWS_PROFILE=" NL_STR_FMT "\n\n",
                    NL_STR_ARG(facts->config_path), NL_STR_ARG(options->profile));
    else if (facts->problem.length)
        nl_append_f(out, "\nThe AWS profile was not written: " NL_STR_FMT "\n", NL_STR_ARG(facts->problem));
    nl_append_c(out, options->is_detached ? "Stop it with `nilas down`; `nilas logs` shows what it says.\n" : "Ctrl-C stops it.\n");
}

/* ---- up. */

static void report_here(void *argument, const nl_up_report *facts)
{
    const nl_up_options *options = argument;
    nl_builder text;
    nl_builder_init(&text, 1 << 20);
    if (facts->error) {
        fprintf(stderr, "%s\n", nl_error_message(facts->error));
    } else {
        append_ready(&text, options, facts);
        fputs(nl_builder_c(&text), stdout);
        fflush(stdout);
    }
    nl_builder_fini(&text);
}

typedef struct detached {
    const nl_up_options *options;
    int pipe; /* to the process that the person waits for: '+' or '-', and the text */
} detached;

static void report_to_parent(void *argument, const nl_up_report *facts)
{
    detached *self = argument;
    nl_builder text;
    nl_builder_init(&text, 1 << 20);
    nl_append_char(&text, facts->error ? '-' : '+');
    if (facts->error) nl_append_f(&text, "%s\n", nl_error_message(facts->error));
    else append_ready(&text, self->options, facts);
    const ssize_t written = write(self->pipe, text.data, text.length);
    if (written != (ssize_t)text.length) nl_log(NL_LOG_WARN, "nobody waits for this process to be ready");
    if (!facts->error) fputs(nl_builder_c(&text) + 1, stderr); /* the log */
    close(self->pipe);
    nl_builder_fini(&text);
}

/* Standard output and error go to the log of the data folder, which is kept from growing without end at each start. */
static nl_status open_log(const nl_up_options *options, int *log)
{
    char path[NL_PATH_BYTES_MAX], old[NL_PATH_BYTES_MAX];
    if (options->data.length + 16 > sizeof(path)) return nl_raise_io("Opening", options->data, "the name is too long");
    snprintf(path, sizeof(path), NL_STR_FMT "/nilas.log", NL_STR_ARG(options->data));
    snprintf(old, sizeof(old), NL_STR_FMT "/nilas.log.1", NL_STR_ARG(options->data));
    struct stat found;
    if (stat(path, &found) == 0 && found.st_size > (64 << 20)) rename(path, old);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, strchr(slash + 1, '/') ? 0755 : 0700); /* what fails here fails at opening */
        *slash = '/';
    }
    *log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    return *log >= 0 ? NULL : nl_raise_errno(errno, "Opening the log", nl_str_from(path));
}

/* In the second child: nothing of the terminal is left. */
static _Noreturn void run_detached(const nl_up_options *options, int log, int ready)
{
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    detached self = {.options = options, .pipe = ready};
    exit(nl_up_serve(options, report_to_parent, &self));
}

/* Prints what the child says; its end without a word is told too. */
static int wait_until_ready(int ready)
{
    nl_builder heard;
    nl_builder_init(&heard, 1 << 20);
    char bytes[4096];
    for (ssize_t got; (got = read(ready, bytes, sizeof(bytes))) > 0;) nl_append(&heard, (nl_str){bytes, (size_t)got});
    const bool is_ready = heard.length && heard.data[0] == '+';
    if (is_ready) fputs(heard.data + 1, stdout);
    else fputs(heard.length ? heard.data + 1 : "nilas up ended before it was ready; `nilas logs` may tell why\n", stderr);
    nl_builder_fini(&heard);
    return is_ready ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int detach(const nl_up_options *options)
{
    int ends[2], log = -1;
    nl_status status = open_log(options, &log);
    if (!status && pipe2(ends, O_CLOEXEC) != 0) status = nl_raise_errno(errno, "Making", NL_STR("a pipe"));
    const pid_t child = status ? -1 : fork();
    if (!status && child < 0) status = nl_raise_errno(errno, "Starting", NL_STR("a process"));
    if (status) {
        nl_shell_print_error(status);
        return EXIT_FAILURE;
    }
    if (child == 0) {
        close(ends[0]);
        setsid();
        if (fork() == 0) run_detached(options, log, ends[1]);
        _exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    waitpid(child, NULL, 0);
    return wait_until_ready(ends[0]);
}

static void set_log_level(const nl_up_options *options)
{
    static const char *const names[] = {"off", "error", "warn", "info", "debug"}; /* in the order of nl_log_level */
    const char *wanted = getenv("NILAS_LOG");
    for (uint32_t i = 0; wanted && i < NL_COUNT(names); i++)
        if (nl_str_is_nocase(nl_str_from(wanted), names[i])) nl_log_set_level((nl_log_level)i);
    if (options->is_verbose) nl_log_set_level(NL_LOG_INFO);
}

static int run_up(const nl_up_options *options, nl_arena *arena)
{
    (void)arena;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* every thread inherits it: the main one waits for them */
    set_log_level(options);
    return options->is_detached ? detach(options) : nl_up_serve(options, report_here, NL_UNCONST(options));
}

/* ---- down, status. */

static bool read_record(const nl_up_options *options, nl_up_record *record)
{
    bool is_up = false;
    nl_status status = nl_up_record_read(options->data, record, &is_up);
    if (status) nl_shell_print_error(status);
    return !status && is_up;
}

static int run_down(const nl_up_options *options, nl_arena *arena)
{
    (void)arena;
    nl_up_record record;
    if (!read_record(options, &record)) {
        printf("Nothing is served from " NL_STR_FMT "\n", NL_STR_ARG(options->data));
        return EXIT_SUCCESS;
    }
    if (kill((pid_t)record.pid, SIGTERM) != 0) {
        nl_shell_print_error(nl_raise_errno(errno, "Stopping", nl_str_from("the process")));
        return EXIT_FAILURE;
    }
    for (int waited_ms = 0; waited_ms < STOP_MS_MAX; waited_ms += 5) {
        if (nl_state_server(options->data) != record.pid) {
            printf("Stopped process %lld\n", (long long)record.pid);
            return EXIT_SUCCESS;
        }
        poll(NULL, 0, 5);
    }
    fprintf(stderr, "Process %lld has not stopped after %d s\n", (long long)record.pid, STOP_MS_MAX / 1000);
    return EXIT_FAILURE;
}

static _Thread_local uint64_t walked_bytes; /* nftw has no argument of one's own */

static int add_size(const char *path, const struct stat *found, int kind, struct FTW *place)
{
    (void)path, (void)place;
    if (kind == FTW_F) walked_bytes += (uint64_t)found->st_blocks * 512;
    return 0;
}

static void print_duration(int64_t micros)
{
    const long long seconds = micros / 1000000;
    if (seconds >= 86400) printf("%lld d %lld h", seconds / 86400, seconds / 3600 % 24);
    else if (seconds >= 3600) printf("%lld h %lld min", seconds / 3600, seconds / 60 % 60);
    else if (seconds >= 60) printf("%lld min %lld s", seconds / 60, seconds % 60);
    else printf("%lld s", seconds);
}

static void print_size(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    uint32_t unit = 0;
    double value = (double)bytes;
    for (; value >= 1024 && unit + 1 < NL_COUNT(units); unit++) value /= 1024;
    printf("%.*f %s", unit ? 1 : 0, value, units[unit]);
}

static int run_status(const nl_up_options *options, nl_arena *arena)
{
    nl_up_record record;
    if (!read_record(options, &record)) {
        printf("down: nothing is served from " NL_STR_FMT "\n", NL_STR_ARG(options->data));
        return NL_EXIT_IS_DOWN;
    }
    printf("up: process %lld", (long long)record.pid);
    if (record.started_micros) {
        printf(", for ");
        print_duration(nl_now_micros() - record.started_micros);
    }
    printf(", data in " NL_STR_FMT " (", NL_STR_ARG(options->data));
    walked_bytes = 0;
    nftw(nl_str_c(arena, options->data), add_size, 16, FTW_PHYS);
    print_size(walked_bytes);
    printf(")\n\n");
    nl_builder text;
    nl_builder_init(&text, 1 << 16);
    for (uint32_t i = 0; i < nl_up_service_count; i++)
        if (record.ports[i]) append_address(&text, i, record.ports[i], (nl_str){0});
    fputs(text.length ? nl_builder_c(&text) : "It is starting.\n", stdout);
    nl_builder_fini(&text);
    return EXIT_SUCCESS;
}

/* ---- configure, logs, dashboard. */

static int run_configure(const nl_up_options *options, nl_arena *arena)
{
    nl_str path;
    nl_status status = nl_up_configure(options, arena, &path);
    if (status) {
        nl_shell_print_error(status);
        return EXIT_FAILURE;
    }
    printf("The AWS profile is in " NL_STR_FMT ":\n\n  export AWS_PROFILE=" NL_STR_FMT "\n", NL_STR_ARG(path), NL_STR_ARG(options->profile));
    return EXIT_SUCCESS;
}

static int run_logs(const nl_up_options *options, nl_arena *arena)
{
    const nl_str path = nl_arena_f(arena, NL_STR_FMT "/nilas.log", NL_STR_ARG(options->data));
    const int file = open(path.data, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        fprintf(stderr, "There is no log in " NL_STR_FMT ": `nilas up --detach` writes one, and without --detach messages go to the terminal\n", NL_STR_ARG(options->data));
        return EXIT_FAILURE;
    }
    char bytes[65536];
    for (ssize_t got;;) {
        while ((got = read(file, bytes, sizeof(bytes))) > 0) fwrite(bytes, 1, (size_t)got, stdout);
        if (fflush(stdout) != 0 || !options->is_following) break;
        poll(NULL, 0, 200);
    }
    close(file);
    return EXIT_SUCCESS;
}

static void open_browser(const char *url)
{
    static char name[] = "xdg-open";
    char *const arguments[] = {name, NL_UNCONST(url), NULL};
    pid_t child;
    int state = 0;
    if (!isatty(STDOUT_FILENO) || !(getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"))) return;
    if (posix_spawnp(&child, name, NULL, NULL, arguments, environ) == 0) waitpid(child, &state, 0);
}

static int run_dashboard(const nl_up_options *options, nl_arena *arena)
{
    nl_up_record record;
    const uint32_t service = nl_up_service_find(NL_STR("dashboard"));
    if (!read_record(options, &record) || service == nl_up_service_count || !record.ports[service]) {
        fprintf(stderr, "The dashboard is not served; start it with `nilas up` (without names, or with dashboard among them)\n");
        return NL_EXIT_IS_DOWN;
    }
    const nl_str url = nl_arena_f(arena, "http://localhost:%u/", record.ports[service]);
    printf(NL_STR_FMT "\n", NL_STR_ARG(url));
    fflush(stdout);
    open_browser(url.data);
    return EXIT_SUCCESS;
}

/* ---- */

static int run(nl_up_command command, int argument_count, char **arguments, int (*act)(const nl_up_options *options, nl_arena *arena))
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_up_options options;
    int exit_status = EXIT_SUCCESS;
    nl_status status = nl_up_options_parse(arena, command, argument_count, arguments, &options);
    if (status) {
        nl_shell_print_error(status);
        exit_status = NL_EXIT_WRONG_USAGE;
    } else if (options.wants_help) {
        nl_up_options_print_help(command);
    } else if (options.wants_version) {
        printf("nilas %s\n", NILAS_VERSION);
    } else {
        exit_status = act(&options, arena);
    }
    nl_arena_free(arena);
    return exit_status;
}

int nl_up_main(int argument_count, char **arguments)
{
    return run(NL_UP, argument_count, arguments, run_up);
}

int nl_down_main(int argument_count, char **arguments)
{
    return run(NL_DOWN, argument_count, arguments, run_down);
}

int nl_status_main(int argument_count, char **arguments)
{
    return run(NL_STATUS, argument_count, arguments, run_status);
}

int nl_configure_main(int argument_count, char **arguments)
{
    return run(NL_CONFIGURE, argument_count, arguments, run_configure);
}

int nl_logs_main(int argument_count, char **arguments)
{
    return run(NL_LOGS, argument_count, arguments, run_logs);
}

int nl_dashboard_main(int argument_count, char **arguments)
{
    return run(NL_DASHBOARD, argument_count, arguments, run_dashboard);
}
