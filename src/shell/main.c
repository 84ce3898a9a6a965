/* shell/main.c - the `nilas` command. */
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/distance.h"
#include "connect/remote.h"
#include "shell/connect.h"
#include "shell/health.h"
#include "shell/interactive.h"
#include "shell/script.h"
#include "shell/spark_options.h"
#include "shell/submit.h"
#include "shell/up.h"

static void print_help(void)
{
    printf("Usage: nilas COMMAND [options]\n\nSpark SQL on Apache Iceberg, without a JVM.\n\nCommands:\n"
           "  sql        run SQL from the terminal, a file or the command line (drop-in for spark-sql)\n"
           "  connect    serve Spark Connect, for PySpark (sc://localhost:15002)\n"
           "  submit     run a PySpark program (drop-in for spark-submit)\n"
           "  pyspark    an interactive Python with a session\n"
           "  up         serve a lakehouse on this machine: S3, S3 Tables, Iceberg REST and more\n"
           "  down       stop what `nilas up` serves\n"
           "  status     show what is served\n"
           "  configure  write the AWS profile that leads clients to the services\n"
           "  logs       show what a detached `nilas up` has written\n"
           "  dashboard  show the address of the dashboard\n"
           "  health     show how a table is laid out, and which maintenance it needs\n"
           "  version    show the version\n"
           "  help       show this text\n\n`nilas COMMAND --help` tells more.\n");
}

static void print_sql_help(void)
{
    printf("Usage: nilas sql [options]\n\nRuns Spark SQL on Iceberg tables and files. Takes spark-sql's options; without -e and -f it\n"
           "reads statements from the terminal or from standard input.\n\nOptions:\n");
    nl_spark_flags_print_help(NL_SPARK_SQL);
    printf("\nConfiguration comes from $SPARK_CONF_DIR/spark-defaults.conf (or $SPARK_HOME/conf), then from options. With\n"
           "no catalog configured, `local` keeps Iceberg tables in ./warehouse.\n\n"
           "The shell's own commands: quit; exit; source FILE; !COMMAND;\n"
           "Exit status: 0 when every statement succeeded, 1 when one failed, 2 when the command line is wrong, 3 when the\n"
           "file of -f is not there, 130 after Ctrl-C.\n");
}

/* A key that nobody knows is most often a slip of the finger; one of Spark that nilas does not have changes nothing. */
static void warn_of_unknown_confs(nl_arena *arena, const nl_spark_flags *flags)
{
    for (uint32_t i = 0; i < flags->confs.count; i++) {
        const nl_property *conf = flags->confs.items[i];
        if (nl_conf_is_known(conf->key)) continue;
        const nl_str nearest = nl_conf_nearest(arena, conf->key);
        if (nearest.length)
            fprintf(stderr, "Warning: unknown configuration key " NL_STR_FMT "; did you mean " NL_STR_FMT "?\n", NL_STR_ARG(conf->key), NL_STR_ARG(nearest));
        else if (nl_str_starts(conf->key, NL_STR("spark.sql.")))
            fprintf(stderr, "Warning: nilas does not know the configuration key " NL_STR_FMT "; it changes nothing\n", NL_STR_ARG(conf->key));
    }
}

/* A file that is not there ends the program with 1, not 3: so does spark-sql. */
static bool run_init_files(nl_shell *shell)
{
    bool is_ok = true;
    shell->is_quiet = true;
    for (uint32_t i = 0; is_ok && i < shell->flags->init_files.count; i++)
        is_ok = nl_shell_run_file(shell, shell->flags->init_files.items[i]);
    shell->is_quiet = false;
    if (shell->exit_status == NL_EXIT_NO_FILE) shell->exit_status = NL_EXIT_FAILED;
    return is_ok;
}

static bool use_database(nl_shell *shell)
{
    if (!shell->flags->database) return true;
    nl_result *result = NULL;
    nl_builder statement;
    nl_builder_init(&statement, 4096);
    nl_append_f(&statement, "USE %s", shell->flags->database);
    const nl_str text = nl_builder_str(&statement);
    nl_status status = shell->remote ? nl_remote_run(shell->remote, text, &result) : nl_command_run(shell->session, text, &result);
    nl_builder_fini(&statement);
    nl_result_close(result);
    if (status) nl_shell_print_error(status);
    return !status;
}

static int run_shell(nl_shell *shell)
{
    if (!use_database(shell)) return NL_EXIT_FAILED;
    if (!run_init_files(shell)) return shell->exit_status;
    for (uint32_t i = 0; i < shell->flags->scripts.count; i++) {
        const nl_script_source *source = shell->flags->scripts.items[i];
        const bool is_ok = source->is_file ? nl_shell_run_file(shell, source->text) : nl_shell_run_text(shell, nl_str_from(source->text));
        if (!is_ok) return shell->exit_status;
    }
    if (shell->flags->scripts.count > 0) return EXIT_SUCCESS;
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) return nl_shell_interactive(shell);
    return nl_shell_run_file(shell, "-") ? EXIT_SUCCESS : shell->exit_status;
}

/* The last of --remote and spark.remote; data NULL: statements run here. */
static nl_str remote_url(const nl_spark_flags *flags)
{
    nl_str url = {0};
    for (uint32_t i = 0; i < flags->confs.count; i++) {
        const nl_property *conf = flags->confs.items[i];
        if (nl_str_is(conf->key, "spark.remote")) url = conf->value;
    }
    return url;
}

/* The confs of the flags, and variables, which the server replaces in statements as it does its own. */
static nl_status open_remote(nl_arena *arena, nl_session *session, const nl_spark_flags *flags, nl_str url, nl_remote_session **remote)
{
    const nl_list *lists[] = {&flags->confs, &flags->variables};
    nl_property *confs = NL_NEW_ARRAY(arena, nl_property, flags->confs.count + flags->variables.count + 1);
    uint32_t count = 0;
    for (size_t i = 0; i < NL_COUNT(lists); i++)
        for (uint32_t k = 0; k < lists[i]->count; k++) confs[count++] = *(const nl_property *)lists[i]->items[k];
    NL_TRY(nl_arena_check(arena));
    return nl_remote_open(session, url, confs, count, remote);
}

static int run_sql(int argument_count, char **arguments)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_spark_flags flags = {0};
    int exit_status = EXIT_SUCCESS;
    nl_session *session = NULL;
    nl_remote_session *remote = NULL;
    nl_status status = nl_spark_flags_parse(arena, NL_SPARK_SQL, argument_count, arguments, &flags);
    if (status) {
        nl_shell_print_error(status);
        exit_status = NL_EXIT_WRONG_USAGE;
    } else if (flags.wants_help) {
        print_sql_help();
    } else if (flags.wants_version) {
        printf("nilas %s\n", NILAS_VERSION);
    } else if ((status = nl_spark_flags_open_session(&flags, &session)) != NULL ||
               (remote_url(&flags).length && (status = open_remote(arena, session, &flags, remote_url(&flags), &remote)) != NULL)) {
        nl_shell_print_error(status);
        exit_status = EXIT_FAILURE;
    } else {
        nl_shell shell = {.session = session, .remote = remote, .flags = &flags, .is_terminal = isatty(STDOUT_FILENO)};
        if (!flags.is_silent && !remote) warn_of_unknown_confs(arena, &flags);
        nl_shell_catch_interrupts(&shell);
        exit_status = run_shell(&shell);
        nl_shell_catch_interrupts(NULL);
    }
    nl_remote_close(remote);
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

static int run_version(int argument_count, char **arguments)
{
    if (argument_count > 0) {
        fprintf(stderr, "nilas version takes no argument, not %s\n", arguments[0]);
        return NL_EXIT_WRONG_USAGE;
    }
    printf("nilas %s\n", NILAS_VERSION);
    return EXIT_SUCCESS;
}

static int run_help(int argument_count, char **arguments)
{
    static const struct {
        const char *name;
        nl_up_command command;
    } served[] = {{"up", NL_UP}, {"down", NL_DOWN}, {"status", NL_STATUS}, {"configure", NL_CONFIGURE}, {"logs", NL_LOGS}, {"dashboard", NL_DASHBOARD}};
    const char *about = argument_count > 0 ? arguments[0] : "";
    for (size_t i = 0; i < NL_COUNT(served); i++) {
        if (strcmp(about, served[i].name) != 0) continue;
        nl_up_options_print_help(served[i].command);
        return EXIT_SUCCESS;
    }
    if (strcmp(about, "sql") == 0) print_sql_help();
    else if (strcmp(about, "submit") == 0) nl_submit_print_help();
    else if (strcmp(about, "pyspark") == 0) nl_pyspark_print_help();
    else if (strcmp(about, "health") == 0) nl_health_print_help();
    else if (strcmp(about, "connect") == 0) nl_connect_print_help();
    else print_help();
    return EXIT_SUCCESS;
}

static const struct {
    const char *name;
    int (*run)(int argument_count, char **arguments);
} commands[] = {
    {"sql", run_sql}, {"submit", nl_submit_main}, {"pyspark", nl_pyspark_main}, {"connect", nl_connect_main}, {"up", nl_up_main}, {"down", nl_down_main}, {"status", nl_status_main}, {"configure", nl_configure_main},
    {"logs", nl_logs_main}, {"dashboard", nl_dashboard_main}, {"health", nl_health_main}, {"version", run_version}, {"--version", run_version}, {"help", run_help}, {"--help", run_help}, {"-h", run_help},
};

int main(int argc, char **argv)
{
    keep_freed_pages();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is met by an error, as a full disk is */
    const char *command = argc > 1 ? argv[1] : "help";
    nl_nearest nearest = {.word = nl_str_from(command)};
    for (size_t i = 0; i < NL_COUNT(commands); i++) {
        if (strcmp(command, commands[i].name) == 0) return commands[i].run(NL_MAX(argc - 2, 0), argv + NL_MIN(argc, 2));
        nl_nearest_offer(&nearest, nl_str_from(commands[i].name));
    }
    fprintf(stderr, "nilas: unknown command %s", command);
    if (nearest.found.length > 0) fprintf(stderr, "; did you mean " NL_STR_FMT "?", NL_STR_ARG(nearest.found));
    fprintf(stderr, "\n`nilas help` lists the commands\n");
    return NL_EXIT_WRONG_USAGE;
}
