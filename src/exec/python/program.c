/* exec/python/program.c - which Python, and starting it with python/nilas/worker.py. */
#include "exec/python/worker.h"
#include "exec/python/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "storage/io_error.h"

extern char **environ;

#define SOCKET_FILE  3 /* in the worker */
#define PROGRAM_FILE 4
#define FREE_FILE    10 /* ours are moved above those two, so that none is overwritten before it is copied */

/* python/nilas/worker.py, put in by the assembler: the program is one file. */
__asm__(".pushsection .rodata\n"
        "nl_python_worker_begin:\n"
        ".incbin \"" NL_PYTHON_WORKER "\"\n"
        "nl_python_worker_end:\n"
        ".byte 0\n"
        ".popsection\n");
extern const char nl_python_worker_begin[] __attribute__((visibility("hidden")));
extern const char nl_python_worker_end[] __attribute__((visibility("hidden")));

static bool is_program(nl_str path)
{
    return path.length > 0 && access(path.data, X_OK) == 0;
}

nl_str nl_python_on_path(nl_arena *arena, nl_str name)
{
    if (nl_str_find_char(name, '/', 0) != NL_NOT_FOUND) return is_program(name) ? name : (nl_str){0};
    nl_str rest = nl_str_from(getenv("PATH") ? getenv("PATH") : "/usr/local/bin:/usr/bin:/bin"), folder;
    while (nl_str_next_part(&rest, ':', &folder)) {
        const nl_str path = nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(folder.length ? folder : NL_STR(".")), NL_STR_ARG(name));
        if (is_program(path)) return path;
    }
    return (nl_str){0};
}

nl_str nl_python_of_environment(nl_arena *arena)
{
    static const char *const environments[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    for (size_t i = 0; i < NL_COUNT(environments); i++) {
        const char *folder = getenv(environments[i]);
        if (!folder || !*folder) continue;
        const nl_str path = nl_arena_f(arena, "%s/bin/python", folder);
        if (is_program(path)) return path;
    }
    return (nl_str){0};
}

static nl_status named(nl_arena *arena, const char *where, nl_str name, nl_str *interpreter)
{
    *interpreter = nl_python_on_path(arena, nl_arena_str(arena, name));
    if (interpreter->length) return NULL;
    return NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "%s names the Python " NL_STR_FMT ", which is not there or cannot be run", where, NL_STR_ARG(name));
}

nl_status nl_python_interpreter(const nl_session *session, nl_arena *arena, nl_str *interpreter)
{
    const nl_str conf = nl_session_get(session, NL_STR("spark.pyspark.python"));
    if (conf.length) return named(arena, "spark.pyspark.python", conf, interpreter);
    const char *variable = getenv("PYSPARK_PYTHON");
    if (variable && *variable) return named(arena, "PYSPARK_PYTHON", nl_str_from(variable), interpreter);
    *interpreter = nl_python_of_environment(arena);
    if (!interpreter->length) *interpreter = nl_python_on_path(arena, NL_STR("python3"));
    if (!interpreter->length) *interpreter = nl_python_on_path(arena, NL_STR("python"));
    if (interpreter->length) return NULL;
    return NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "functions in Python need a Python: set spark.pyspark.python or PYSPARK_PYTHON, or put python3 on PATH");
}

static nl_status moved_up(int *file)
{
    const int moved = fcntl(*file, F_DUPFD_CLOEXEC, FREE_FILE);
    if (moved < 0) return nl_raise_errno(errno, "Copying", NL_STR("a file's number"));
    close(*file);
    *file = moved;
    return NULL;
}

nl_status nl_python_source_file(const char *text, const char *end, int *file)
{
    *file = memfd_create("nilas-python", MFD_CLOEXEC);
    if (*file < 0) return nl_raise_errno(errno, "Making", NL_STR("a file in memory"));
    while (text < end) {
        const ssize_t written = write(*file, text, (size_t)(end - text));
        if (written < 0 && errno != EINTR) {
            nl_status status = nl_raise_errno(errno, "Writing", NL_STR("a file in memory"));
            close(*file);
            *file = -1;
            return status;
        }
        if (written > 0) text += written;
    }
    lseek(*file, 0, SEEK_SET);
    return NULL;
}

typedef struct starting {
    nl_str interpreter;
    const char *starter;      /* the program of -c */
    int socket_file;
    int program_file;         /* -1: none */
    char *const *environment;
    bool keeps_output;        /* what it prints is for whoever started us */
} starting;

static nl_status spawn(const starting *with, pid_t *process)
{
    const nl_str interpreter = with->interpreter;
    char *command_line[] = {NL_UNCONST(interpreter.data), NL_UNCONST("-c"), NL_UNCONST(with->starter), NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, with->socket_file, SOCKET_FILE);
    if (with->program_file >= 0) posix_spawn_file_actions_adddup2(&actions, with->program_file, PROGRAM_FILE);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!with->keeps_output) posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO); /* what functions print is no answer of ours */
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    const int problem = posix_spawn(process, interpreter.data, &actions, &attributes, command_line, with->environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return problem ? nl_raise_errno(problem, "Starting", interpreter) : NULL;
}

/* with->program_file is taken. */
static nl_status start(starting *with, pid_t *process, int *socket_file)
{
    int ends[2] = {-1, -1};
    nl_status status = NULL;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) NL_GO(nl_raise_errno(errno, "Making", NL_STR("a socket for a Python worker")));
    if (with->program_file >= 0) NL_GO(moved_up(&with->program_file));
    NL_GO(moved_up(&ends[1]));
    fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_NONBLOCK);
    with->socket_file = ends[1];
    NL_GO(spawn(with, process));
    *socket_file = ends[0];
    ends[0] = -1;
done:
    for (size_t i = 0; i < NL_COUNT(ends); i++)
        if (ends[i] >= 0) close(ends[i]);
    if (with->program_file >= 0) close(with->program_file);
    return status;
}

nl_status nl_python_start(nl_str interpreter, pid_t *process, int *socket_file)
{
    static const char starter[] = "import sys,types;m=sys.modules['nilas.worker']=types.ModuleType('nilas.worker');"
                                  "f=open(4);exec(compile(f.read(),'<nilas>','exec'),m.__dict__);f.close();m.serve(3)";
    starting with = {.interpreter = interpreter, .starter = starter, .program_file = -1, .environment = environ};
    NL_TRY(nl_python_source_file(nl_python_worker_begin, nl_python_worker_end, &with.program_file));
    return start(&with, process, socket_file);
}

nl_status nl_python_start_program(nl_str interpreter, const char *program, const nl_str *variables, uint32_t variable_count, pid_t *process, int *socket_file)
{
    uint32_t count = 0;
    while (environ[count]) count++;
    char **environment = calloc((size_t)count + variable_count + 1, sizeof *environment);
    if (!environment) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)count * 8), NL_P_INT("receivedBytes", 0));
    for (uint32_t i = 0; i < variable_count; i++) environment[i] = NL_UNCONST(variables[i].data); /* the first of a name counts */
    memcpy(environment + variable_count, environ, count * sizeof *environment);
    starting with = {.interpreter = interpreter, .starter = program, .program_file = -1, .environment = environment, .keeps_output = true};
    nl_status status = start(&with, process, socket_file);
    free(environment);
    return status;
}
