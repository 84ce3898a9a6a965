/* shell/main.c - the `nilas` command. */
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "shell/interactive.h"
#include "shell/script.h"
#include "shell/sql_options.h"

#define EXIT_WRONG_USAGE 2

static void print_help(void)
{
    printf("Usage: nilas COMMAND [options]\n\nSpark SQL on Apache Iceberg, without a JVM.\n\nCommands:\n"
           "  sql        run SQL from the terminal, a file or the command line (drop-in for spark-sql)\n"
           "  version    show the version\n"
           "  help       show this text\n\n`nilas COMMAND --help` tells more.\n");
}

/* A key that nobody knows is most often a slip of the finger. */
static void warn_of_unknown_confs(const nl_sql_flags *flags)
{
    for (uint32_t i = 0; i < flags->confs.count; i++) {
        const nl_property *conf = flags->confs.items[i];
        if (nl_conf_find(conf->key)) continue;
        const nl_str nearest = nl_conf_nearest(conf->key);
        if (nearest.length)
            fprintf(stderr, "Warning: unknown configuration key " NL_STR_FMT "; did you mean " NL_STR_FMT "?\n", NL_STR_ARG(conf->key), NL_STR_ARG(nearest));
    }
}

static nl_status open_session(const nl_sql_flags *flags, nl_session **session)
{
    const uint32_t count = flags->confs.count + flags->variables.count;
    nl_property *confs = calloc(count ? count : 1, sizeof(*confs));
    if (!confs) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", count), NL_P("receivedBytes", "0"));
    for (uint32_t i = 0; i < flags->confs.count; i++)
        confs[i] = *(const nl_property *)flags->confs.items[i];
    for (uint32_t i = 0; i < flags->variables.count; i++)
        confs[flags->confs.count + i] = *(const nl_property *)flags->variables.items[i];
    nl_status status = nl_session_new(confs, count, session);
    free(confs);
    return status;
}

static bool run_init_files(nl_shell *shell)
{
    for (uint32_t i = 0; i < shell->flags->init_files.count; i++)
        if (!nl_shell_run_file(shell, shell->flags->init_files.items[i])) return false;
    return true;
}

static bool use_database(nl_shell *shell)
{
    if (!shell->flags->database) return true;
    nl_result *result = NULL;
    nl_builder statement;
    nl_builder_init(&statement, 4096);
    nl_append_f(&statement, "USE %s", shell->flags->database);
    nl_status status = nl_command_run(shell->session, nl_builder_str(&statement), &result);
    nl_builder_fini(&statement);
    nl_result_close(result);
    if (status) nl_shell_print_error(status);
    return !status;
}

static int run_shell(nl_shell *shell)
{
    if (!use_database(shell) || !run_init_files(shell)) return EXIT_FAILURE;
    for (uint32_t i = 0; i < shell->flags->scripts.count; i++) {
        const nl_script_source *source = shell->flags->scripts.items[i];
        const bool is_ok = source->is_file ? nl_shell_run_file(shell, source->text) : nl_shell_run_text(shell, nl_str_from(source->text));
        if (!is_ok) return EXIT_FAILURE;
    }
    if (shell->flags->scripts.count > 0) return EXIT_SUCCESS;
    if (isatty(STDIN_FILENO)) return nl_shell_interactive(shell);
    return nl_shell_run_file(shell, "-") ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_sql(int argument_count, char **arguments)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_sql_flags flags = {0};
    int exit_status = EXIT_SUCCESS;
    nl_session *session = NULL;
    nl_status status = nl_sql_flags_parse(arena, argument_count, arguments, &flags);
    if (status) {
        nl_shell_print_error(status);
        exit_status = EXIT_WRONG_USAGE;
    } else if (flags.wants_help) {
        nl_sql_flags_print_help();
    } else if (flags.wants_version) {
        printf("nilas %s\n", NILAS_VERSION);
    } else if ((status = open_session(&flags, &session)) != NULL) {
        nl_shell_print_error(status);
        exit_status = EXIT_FAILURE;
    } else {
        nl_shell shell = {.session = session, .flags = &flags, .is_terminal = isatty(STDOUT_FILENO)};
        if (!flags.is_silent) warn_of_unknown_confs(&flags);
        nl_shell_catch_interrupts(session);
        exit_status = run_shell(&shell);
    }
    nl_session_free(session);
    nl_arena_free(arena);
    return exit_status;
}

/* Memory that one query frees the next one takes again: giving its pages back in between costs more than the query. */
static void keep_freed_pages(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 64 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

int main(int argc, char **argv)
{
    keep_freed_pages();
    signal(SIGPIPE, SIG_IGN);
    const char *command = argc > 1 ? argv[1] : "help";
    if (strcmp(command, "sql") == 0) return run_sql(argc - 2, argv + 2);
    if (strcmp(command, "version") == 0 || strcmp(command, "--version") == 0) {
        printf("nilas %s\n", NILAS_VERSION);
        return EXIT_SUCCESS;
    }
    if (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) {
        print_help();
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "nilas: unknown command %s; `nilas help` lists the commands\n", command);
    return EXIT_WRONG_USAGE;
}
