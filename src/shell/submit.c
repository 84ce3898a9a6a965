/* shell/submit.c - see submit.h. */
#include "shell/submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "connect/service.h"
#include "shell/python.h"
#include "shell/script.h"
#include "shell/spark_options.h"

static void print_options(nl_spark_program program)
{
    printf("Options:\n");
    nl_spark_flags_print_help(program);
    printf("\nThe Python is, in this order: the one that spark.pyspark.driver.python, spark.pyspark.python, $PYSPARK_DRIVER_PYTHON or\n"
           "$PYSPARK_PYTHON names; that of the environment in whose bin the program lies; that of an activated environment; .venv\n"
           "in the folder of the program or of the terminal or above it; poetry's; python3 on $PATH. It must have pyspark with its Connect client: pip install 'pyspark[connect]'.\n");
}

void nl_submit_print_help(void)
{
    printf("Usage: nilas submit [options] PROGRAM.py [arguments of the program]\n\n"
           "Runs a PySpark program as spark-submit does, without a JVM: its sessions are those of a private server in this process.\n\n");
    print_options(NL_SPARK_SUBMIT);
    printf("\nExit status: the program's own; 2 when the command line is wrong; 128 and the number of a signal that ended it.\n");
}

void nl_pyspark_print_help(void)
{
    printf("Usage: nilas pyspark [options]\n\nAn interactive Python with a session in `spark`, as pyspark has it, without a JVM.\n\n");
    print_options(NL_SPARK_SHELL);
}

/* Known to this process and its child only: other users of the machine cannot run code through the server. */
static nl_status make_token(char token[33])
{
    uint8_t bytes[16];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "the system gives no random numbers");
    for (size_t i = 0; i < sizeof(bytes); i++) snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return NULL;
}

static void add_conf(nl_arena *arena, nl_list *confs, const char *key, nl_str value)
{
    nl_property *conf = NL_NEW(arena, nl_property);
    *conf = (nl_property){nl_str_from(key), value};
    nl_list_add(arena, confs, conf);
}

static bool has_conf(const nl_list *confs, const char *key)
{
    return nl_spark_conf_value(confs, key).data != NULL;
}

/* Python workers of the server run the same Python as the program; the application's name is the file's, as Spark has it. */
static void complete_confs(nl_arena *arena, const nl_python_run *run, nl_list *confs)
{
    const size_t slash = nl_str_find_last_char(run->program, '/');
    const nl_str file = slash == NL_NOT_FOUND ? run->program : nl_str_slice(run->program, slash + 1, run->program.length);
    if (!has_conf(confs, "spark.app.name")) add_conf(arena, confs, "spark.app.name", file.length ? file : NL_STR("PySparkShell"));
    if (!has_conf(confs, "spark.pyspark.python")) add_conf(arena, confs, "spark.pyspark.python", run->interpreter);
}

static nl_status run_with_server(nl_arena *arena, nl_spark_flags *flags, nl_python_run *run, int *exit_status)
{
    char token[33];
    NL_TRY(make_token(token));
    NL_TRY(nl_python_find(arena, &flags->confs, run->program, &run->interpreter));
    complete_confs(arena, run, &flags->confs);
    if (flags->is_verbose) {
        fprintf(stderr, "Python: " NL_STR_FMT "\n", NL_STR_ARG(run->interpreter));
        for (uint32_t i = 0; i < flags->confs.count; i++) {
            const nl_property *conf = flags->confs.items[i];
            fprintf(stderr, NL_STR_FMT "=" NL_STR_FMT "\n", NL_STR_ARG(conf->key), NL_STR_ARG(conf->value));
        }
    }
    nl_property *confs = NL_NEW_ARRAY(arena, nl_property, flags->confs.count + 1);
    for (uint32_t i = 0; i < flags->confs.count; i++) confs[i] = *(const nl_property *)flags->confs.items[i];
    const nl_connect_options options = {.token = nl_str_from(token), .confs = confs, .conf_count = flags->confs.count, .is_private = true};
    nl_connect *server = NULL;
    NL_TRY(nl_connect_start(&options, &server));
    run->remote = nl_arena_f(arena, "sc://localhost:%u/;token=%s", (unsigned)nl_connect_port(server), token);
    const nl_str python_files = nl_spark_conf_value(&flags->confs, "spark.submit.pyFiles");
    run->python_files = flags->python_files || !python_files.length ? flags->python_files : nl_str_c(arena, python_files);
    run->files = nl_spark_conf_value(&flags->confs, "spark.files");
    run->archives = nl_spark_conf_value(&flags->confs, "spark.archives");
    nl_status status = nl_python_run_program(arena, run, exit_status);
    nl_connect_stop(server);
    return status;
}

static nl_status check_program(const char *path)
{
    const nl_str name = nl_str_from(path);
    if (nl_str_ends(name, NL_STR(".jar")) || nl_str_ends(name, NL_STR(".R")) || nl_str_ends(name, NL_STR(".r")))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s: nilas submit runs Python programs; those of the JVM and of R need Spark itself", path);
    if (access(path, R_OK) != 0) return NL_RAISE(PATH_NOT_FOUND, NL_P("path", path));
    return NULL;
}

static int run_spark_program(nl_spark_program program, int argument_count, char **arguments)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_spark_flags flags = {0};
    int exit_status = EXIT_SUCCESS;
    nl_status status = nl_spark_flags_parse(arena, program, argument_count, arguments, &flags);
    const bool is_submit = program == NL_SPARK_SUBMIT;
    nl_python_run run = {0};
    if (!status && flags.wants_help) {
        (is_submit ? nl_submit_print_help : nl_pyspark_print_help)();
        goto done;
    }
    if (!status && flags.wants_version) {
        printf("nilas %s\n", NILAS_VERSION);
        goto done;
    }
    if (!status && is_submit && flags.program_at == argument_count)
        status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "which program? nilas submit [options] PROGRAM.py [arguments]; `nilas submit --help` tells more");
    if (!status && is_submit) status = check_program(arguments[flags.program_at]);
    if (status) {
        nl_shell_print_error(status);
        exit_status = NL_EXIT_WRONG_USAGE;
        goto done;
    }
    if (is_submit) {
        run.program = nl_str_from(arguments[flags.program_at]);
        run.arguments = arguments + flags.program_at + 1;
    }
    status = run_with_server(arena, &flags, &run, &exit_status);
    if (status) {
        nl_shell_print_error(status);
        exit_status = EXIT_FAILURE;
    }
done:
    nl_arena_free(arena);
    return exit_status;
}

int nl_submit_main(int argument_count, char **arguments)
{
    return run_spark_program(NL_SPARK_SUBMIT, argument_count, arguments);
}

int nl_pyspark_main(int argument_count, char **arguments)
{
    return run_spark_program(NL_SPARK_SHELL, argument_count, arguments);
}
