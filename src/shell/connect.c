/* shell/connect.c - the command line of `nilas connect`, and the wait for a signal. */
#include "shell/connect.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/number.h"
#include "connect/service.h"
#include "shell/script.h"
#include "shell/spark_options.h"

#define PORT_DEFAULT 15002 /* Spark Connect's */

typedef enum flag_kind { FLAG_PORT, FLAG_HOST, FLAG_TOKEN, FLAG_CERTIFICATE, FLAG_KEY, FLAG_IDLE, FLAG_DETACHED } flag_kind;

static const struct {
    const char *name;
    flag_kind kind;
    const char *value_name;
    const char *help;
} flags[] = {
    {"--port", FLAG_PORT, "PORT", "port to listen on (15002; 0: any free one)"},
    {"--host", FLAG_HOST, "HOST", "address to listen on (127.0.0.1: this machine only)"},
    {"--token", FLAG_TOKEN, "TOKEN", "clients must bring it: sc://host:port/;token=TOKEN; also $SPARK_CONNECT_AUTHENTICATE_TOKEN"},
    {"--tls-cert", FLAG_CERTIFICATE, "FILE", "certificate chain (PEM): clients connect with use_ssl=true"},
    {"--tls-key", FLAG_KEY, "FILE", "its private key (PEM)"},
    {"--idle-timeout", FLAG_IDLE, "SECONDS", "end sessions that ask nothing for so long (3600)"},
    {"--detached-timeout", FLAG_DETACHED, "SECONDS", "end operations that nobody listens to for so long (300; 90 when the client has hung up)"},
};

void nl_connect_print_help(void)
{
    printf("Usage: nilas connect [options]\n\nServes Spark Connect: PySpark's SparkSession.builder.remote(\"sc://localhost:15002\") works against it.\nStops at Ctrl-C.\n\nOptions:\n");
    for (size_t i = 0; i < NL_COUNT(flags); i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", flags[i].name, flags[i].value_name);
        printf("  %-28s %s\n", left, flags[i].help);
    }
    printf("\nOptions for all sessions:\n");
    nl_spark_flags_print_help(NL_SPARK_SHELL);
}

static nl_status take_number(const char *flag, const char *text, int64_t max, int64_t *number)
{
    if (nl_parse_int64(nl_str_from(text), number) && *number >= 0 && *number <= max) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s wants a number from 0 to %lld, not %s", flag, (long long)max, text);
}

static nl_status take_flag(flag_kind kind, const char *name, char *value, nl_connect_options *options)
{
    int64_t number;
    switch (kind) {
    case FLAG_PORT:
        NL_TRY(take_number(name, value, UINT16_MAX, &number));
        options->port = (uint16_t)number;
        break;
    case FLAG_IDLE:
        NL_TRY(take_number(name, value, INT32_MAX, &number));
        options->idle_seconds = number;
        break;
    case FLAG_DETACHED:
        NL_TRY(take_number(name, value, INT32_MAX, &number));
        options->detached_seconds = number;
        break;
    case FLAG_HOST:
        options->host = nl_str_from(value);
        break;
    case FLAG_TOKEN:
        options->token = nl_str_from(value);
        break;
    case FLAG_CERTIFICATE:
        options->tls_certificate = nl_str_from(value);
        break;
    case FLAG_KEY:
        options->tls_key = nl_str_from(value);
        break;
    }
    return NULL;
}

/* Takes the server's own flags; those that are left go to Spark's. */
static nl_status take_flags(int argument_count, char **arguments, nl_connect_options *options, char **left, int *left_count)
{
    for (int i = 0; i < argument_count; i++) {
        char *equals = strchr(arguments[i], '=');
        const nl_str name = {arguments[i], equals ? (size_t)(equals - arguments[i]) : strlen(arguments[i])};
        size_t row = 0;
        while (row < NL_COUNT(flags) && !nl_str_is(name, flags[row].name)) row++;
        if (row == NL_COUNT(flags)) {
            left[(*left_count)++] = arguments[i];
            continue;
        }
        if (!equals && ++i == argument_count) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s wants a value", flags[row].name);
        NL_TRY(take_flag(flags[row].kind, flags[row].name, equals ? equals + 1 : arguments[i], options));
    }
    if ((options->tls_certificate.length == 0) != (options->tls_key.length == 0)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "TLS takes both --tls-cert and --tls-key");
    return NULL;
}

/* Blocked in every thread, so that only the wait below gets them. */
static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, set, NULL);
}

/* A second signal ends the process at once. */
static void wait_for_signal(const sigset_t *set)
{
    int which = 0;
    sigwait(set, &which);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, set, NULL);
}

static void say_ready(const nl_connect_options *options, uint16_t port)
{
    const nl_str host = options->host.length > 0 ? options->host : NL_STR("localhost");
    printf("Spark Connect at sc://" NL_STR_FMT ":%u%s%s\n", NL_STR_ARG(host), port, options->tls_certificate.length > 0 ? "/;use_ssl=true" : "",
           options->token.length > 0 ? " (clients bring the token)" : "");
    fflush(stdout);
    const bool is_local = options->host.length == 0 || nl_str_starts(host, NL_STR("127.")) || nl_str_is(host, "localhost") || nl_str_is(host, "::1");
    if (!is_local && options->token.length == 0) nl_log(NL_LOG_WARN, "whoever reaches " NL_STR_FMT " may run statements; --token asks for a token", NL_STR_ARG(host));
}

static nl_status run(nl_arena *arena, int argument_count, char **arguments)
{
    nl_connect_options options = {.port = PORT_DEFAULT, .token = nl_str_from(getenv("SPARK_CONNECT_AUTHENTICATE_TOKEN"))};
    char **left = NL_NEW_ARRAY(arena, char *, (size_t)argument_count + 1);
    int left_count = 0;
    nl_spark_flags spark = {0};
    NL_TRY(take_flags(argument_count, arguments, &options, left, &left_count));
    NL_TRY(nl_spark_flags_parse(arena, NL_SPARK_SHELL, left_count, left, &spark));
    if (spark.wants_help) {
        nl_connect_print_help();
        return NULL;
    }
    nl_property *confs = NL_NEW_ARRAY(arena, nl_property, spark.confs.count + 1);
    for (uint32_t i = 0; i < spark.confs.count; i++) confs[i] = *(const nl_property *)spark.confs.items[i];
    options.confs = confs;
    options.conf_count = spark.confs.count;
    sigset_t set;
    nl_connect *connect = NULL;
    block_signals(&set);
    NL_TRY(nl_connect_start(&options, &connect));
    say_ready(&options, nl_connect_port(connect));
    wait_for_signal(&set);
    nl_connect_stop(connect);
    return NULL;
}

/* Many threads serve many sessions: a few heaps are enough, and what a large result needed goes back to the system. */
static void keep_memory_small(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, 4);
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}

int nl_connect_main(int argument_count, char **arguments)
{
    keep_memory_small();
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = run(arena, argument_count, arguments);
    const int exit_status = !status ? EXIT_SUCCESS : nl_error_condition(status) == NL_COND_NILAS_ILLEGAL_ARGUMENT ? NL_EXIT_WRONG_USAGE : EXIT_FAILURE;
    if (status) nl_shell_print_error(status);
    nl_arena_free(arena);
    return exit_status;
}
