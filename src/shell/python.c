/* shell/python.c - see python.h. */
#include "shell/python.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exec/python/program.h"
#include "iceberg/snapshot.h"
#include "shell/spark_options.h"
#include "storage/io_error.h"

extern char **environ;

/* python/nilas/driver.py, put in by the assembler: the program is one file. */
__asm__(".pushsection .rodata\n"
        "nl_python_driver_begin:\n"
        ".incbin \"" NL_PYTHON_DRIVER "\"\n"
        "nl_python_driver_end:\n"
        ".byte 0\n"
        ".popsection\n");
extern const char nl_python_driver_begin[] __attribute__((visibility("hidden")));
extern const char nl_python_driver_end[] __attribute__((visibility("hidden")));

/* ---- finding */

static bool is_program(nl_str path)
{
    return path.length > 0 && access(path.data, X_OK) == 0;
}

static bool file_contains(const char *path, const char *word)
{
    FILE *file = fopen(path, "r");
    char line[1024];
    bool is_found = false;
    while (file && !is_found && fgets(line, sizeof(line), file)) is_found = strstr(line, word) != NULL;
    if (file) fclose(file);
    return is_found;
}

/* What poetry says of the project in `folder`; it keeps its environments elsewhere. */
static nl_str poetry_python(nl_arena *arena, const char *folder)
{
    const nl_str poetry = nl_python_on_path(arena, NL_STR("poetry"));
    int ends[2];
    if (!poetry.length || pipe2(ends, O_CLOEXEC) != 0) return (nl_str){0};
    char *command_line[] = {NL_UNCONST(poetry.data), NL_UNCONST("-C"), NL_UNCONST(folder), NL_UNCONST("env"), NL_UNCONST("info"), NL_UNCONST("--executable"), NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const bool has_started = posix_spawn(&child, poetry.data, &actions, NULL, command_line, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    char line[PATH_MAX] = "";
    if (has_started && output && !fgets(line, sizeof(line), output)) line[0] = 0;
    if (output) fclose(output);
    if (has_started) waitpid(child, NULL, 0);
    const nl_str path = nl_arena_str(arena, nl_str_trim(nl_str_from(line)));
    return is_program(path) ? path : (nl_str){0};
}

/* The environment of the project that `start` lies in: this folder's, or that of the nearest one above. */
static nl_str project_python(nl_arena *arena, const char *start)
{
    char folder[PATH_MAX];
    if (!realpath(start, folder)) return (nl_str){0};
    while (folder[0] == '/' && folder[1]) {
        const nl_str path = nl_arena_f(arena, "%s/.venv/bin/python", folder);
        if (is_program(path)) return path;
        if (file_contains(nl_arena_f(arena, "%s/pyproject.toml", folder).data, "[tool.poetry")) return poetry_python(arena, folder);
        char *slash = strrchr(folder, '/');
        *slash = 0;
    }
    return (nl_str){0};
}

/* A program in an environment's bin (dbt, pytest) runs by that environment's Python, as its first line says. */
static nl_str script_python(nl_arena *arena, nl_str folder)
{
    const nl_str python = nl_arena_f(arena, NL_STR_FMT "/python", NL_STR_ARG(folder));
    const nl_str mark = nl_arena_f(arena, NL_STR_FMT "/../pyvenv.cfg", NL_STR_ARG(folder));
    return access(mark.data, R_OK) == 0 && is_program(python) ? python : (nl_str){0};
}

/* One that the user named must be there; nothing else takes its place. */
static nl_status named_python(nl_arena *arena, const char *where, nl_str name, nl_str *interpreter)
{
    *interpreter = nl_python_on_path(arena, name);
    if (interpreter->length) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s names the Python " NL_STR_FMT ", which is not there or cannot be run", where, NL_STR_ARG(name));
}

nl_status nl_python_find(nl_arena *arena, const nl_list *confs, nl_str program, nl_str *interpreter)
{
    static const char *const keys[] = {"spark.pyspark.driver.python", "spark.pyspark.python"};
    static const char *const variables[] = {"PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON"};
    for (size_t i = 0; i < NL_COUNT(keys); i++) {
        const nl_str value = nl_spark_conf_value(confs, keys[i]);
        if (value.length) return named_python(arena, keys[i], nl_arena_str(arena, value), interpreter);
    }
    for (size_t i = 0; i < NL_COUNT(variables); i++)
        if (getenv(variables[i]) && *getenv(variables[i])) return named_python(arena, variables[i], nl_str_from(getenv(variables[i])), interpreter);
    const size_t slash = nl_str_find_last_char(program, '/');
    const nl_str folder = slash == NL_NOT_FOUND ? NL_STR(".") : nl_arena_str(arena, nl_str_slice(program, 0, slash + 1));
    *interpreter = script_python(arena, folder);
    if (!interpreter->length) *interpreter = nl_python_of_environment(arena);
    if (!interpreter->length) *interpreter = project_python(arena, folder.data);
    if (!interpreter->length) *interpreter = project_python(arena, ".");
    if (!interpreter->length) *interpreter = nl_python_on_path(arena, NL_STR("python3"));
    if (!interpreter->length) *interpreter = nl_python_on_path(arena, NL_STR("python"));
    if (interpreter->length) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "there is no Python: neither $PYSPARK_PYTHON nor an activated environment, a .venv beside the program or python3 on $PATH");
}

/* ---- running */

static char *variable(nl_arena *arena, const char *name, nl_str value)
{
    return NL_UNCONST(nl_arena_f(arena, "%s=" NL_STR_FMT, name, NL_STR_ARG(value)).data);
}

/* What --py-files puts before Python's path: archives themselves, the folders of single files. */
static nl_str python_path(nl_arena *arena, const char *python_files)
{
    nl_builder path;
    nl_builder_init(&path, 1 << 20);
    nl_str rest = nl_str_from(python_files ? python_files : ""), file;
    while (rest.length && nl_str_next_part(&rest, ',', &file)) {
        file = nl_str_trim(file);
        const bool is_source = nl_str_ends(file, NL_STR(".py"));
        const size_t slash = nl_str_find_last_char(file, '/');
        if (is_source) file = slash == NL_NOT_FOUND ? NL_STR(".") : nl_str_slice(file, 0, slash);
        nl_append_f(&path, "%s" NL_STR_FMT, path.length ? ":" : "", NL_STR_ARG(file));
    }
    const char *before = getenv("PYTHONPATH");
    if (before && *before) nl_append_f(&path, "%s%s", path.length ? ":" : "", before);
    const nl_str result = nl_arena_str(arena, nl_builder_str(&path));
    nl_builder_fini(&path);
    return result;
}

static char **environment_of(nl_arena *arena, const nl_python_run *run)
{
    static const char *const replaced[] = {"SPARK_REMOTE=", "PYTHONPATH=", "no_grpc_proxy=", "NILAS_START_TIME=", "NILAS_PY_FILES=", "NILAS_FILES=", "NILAS_ARCHIVES=", "SPARK_HOME="};
    size_t count = 0;
    while (environ[count]) count++;
    char **result = NL_NEW_ARRAY(arena, char *, count + NL_COUNT(replaced) + 2);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_replaced = false;
        for (size_t k = 0; k < NL_COUNT(replaced); k++) is_replaced = is_replaced || strncmp(environ[i], replaced[k], strlen(replaced[k])) == 0;
        if (!is_replaced) result[kept++] = environ[i];
    }
    const nl_str path = python_path(arena, run->python_files);
    const char *no_proxy = getenv("no_grpc_proxy") ? getenv("no_grpc_proxy") : getenv("no_proxy");
    result[kept++] = variable(arena, "SPARK_REMOTE", run->remote);
    if (path.length) result[kept++] = variable(arena, "PYTHONPATH", path);
    /* gRPC would ask a proxy of the environment for localhost. */
    result[kept++] = variable(arena, "no_grpc_proxy", nl_arena_f(arena, "localhost,127.0.0.1%s%s", no_proxy ? "," : "", no_proxy ? no_proxy : ""));
    if (run->python_files) result[kept++] = variable(arena, "NILAS_PY_FILES", nl_str_from(run->python_files));
    if (run->files.length) result[kept++] = variable(arena, "NILAS_FILES", run->files);
    if (run->archives.length) result[kept++] = variable(arena, "NILAS_ARCHIVES", run->archives);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    result[kept++] = variable(arena, "NILAS_START_TIME", nl_arena_f(arena, "%lld", (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000));
    result[kept] = NULL;
    return result;
}

static char **command_line_of(nl_arena *arena, const nl_python_run *run, int driver)
{
    size_t count = 0;
    while (run->arguments && run->arguments[count]) count++;
    char **result = NL_NEW_ARRAY(arena, char *, count + 8);
    size_t n = 0;
    result[n++] = NL_UNCONST(run->interpreter.data);
    if (!run->program.length) result[n++] = NL_UNCONST("-i");
    result[n++] = NL_UNCONST("-c");
    result[n++] = NL_UNCONST(nl_arena_f(arena, "import sys,types;m=sys.modules['nilas.driver']=types.ModuleType('nilas.driver');"
                                               "f=open(%d);exec(compile(f.read(),'<nilas>','exec'),m.__dict__);f.close();del f,types;m.start(sys.argv[1:])", driver).data);
    result[n++] = NL_UNCONST(run->program.length ? "submit" : "shell");
    if (run->program.length) result[n++] = NL_UNCONST(run->program.data);
    for (size_t i = 0; i < count; i++) result[n++] = run->arguments[i];
    result[n] = NULL;
    return result;
}

static _Atomic pid_t running_child;

static void pass_on(int signal_number)
{
    const pid_t child = running_child;
    if (child > 0) kill(child, signal_number);
}

/* In the child, between fork and exec: nothing but system calls. */
static _Noreturn void become(const char *path, char **command_line, char **environment, int driver, pid_t parent)
{
    fcntl(driver, F_SETFD, 0); /* the one file that goes along */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* a killed nilas leaves no program without its engine */
    if (getppid() == parent) execve(path, command_line, environment);
    _exit(127);
}

nl_status nl_python_run_program(nl_arena *arena, const nl_python_run *run, int *exit_status)
{
    int driver = -1;
    NL_TRY(nl_python_source_file(nl_python_driver_begin, nl_python_driver_end, &driver));
    char **command_line = command_line_of(arena, run, driver), **environment = environment_of(arena, run);
    struct sigaction passing = {.sa_handler = pass_on, .sa_flags = SA_RESTART}, ignoring = {.sa_handler = SIG_IGN};
    sigaction(SIGTERM, &passing, NULL);
    sigaction(SIGHUP, &passing, NULL);
    sigaction(SIGINT, &ignoring, NULL); /* Ctrl-C goes to the whole group of the terminal: the program decides */
    sigaction(SIGQUIT, &ignoring, NULL);
    const pid_t parent = getpid(), child = fork();
    if (child == 0) become(run->interpreter.data, command_line, environment, driver, parent);
    nl_status status = child < 0 ? nl_raise_errno(errno, "Starting", run->interpreter) : NULL;
    running_child = child;
    close(driver);
    int state = 0;
    while (!status && waitpid(child, &state, 0) < 0 && errno == EINTR) {}
    running_child = 0;
    *exit_status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
    return status;
}
