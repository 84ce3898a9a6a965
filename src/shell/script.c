/* shell/script.c - statements from texts and files, and the shell's own commands. What spark-sql does with each (exit
 * status, what stops, what is echoed) is recorded in tests/shell. */
#include "shell/script.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/calendar.h"
#include "base/limits.h"
#include "command/substitution.h"
#include "connect/remote.h"
#include "shell/interactive.h"
#include "shell/progress.h"
#include "sql/split.h"
#include "storage/io_error.h"

#define SOURCE_DEPTH_MAX 64 /* files that source each other end here, not at the end of the stack */

void nl_shell_print_error(nl_error *error)
{
    fflush(stdout);
    fprintf(stderr, "%s\n", nl_error_message(error));
    for (nl_error *cause = nl_error_cause(error); cause; cause = nl_error_cause(cause))
        fprintf(stderr, "Caused by: %s\n", nl_error_message(cause));
    nl_error_free(error);
}

static bool stop(nl_shell *shell, int exit_status)
{
    shell->exit_status = exit_status;
    return false;
}

/* ---- statements ------------------------------------------------------------------------------------------------ */

static uint32_t terminal_columns(void)
{
    struct winsize window;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

static nl_output_options output_options(const nl_shell *shell)
{
    const nl_session *session = shell->session;
    const bool has_header = nl_session_get_bool(session, "spark.sql.cli.print.header") || nl_session_get_bool(session, "hive.cli.print.header");
    return (nl_output_options){
        .binary = nl_binary_style_of(nl_session_get(shell->session, NL_STR("spark.sql.binaryOutputStyle"))),
        .format = shell->flags->has_format ? shell->flags->format : shell->is_terminal ? NL_OUTPUT_TABLE : NL_OUTPUT_HIVE,
        .has_header = has_header,
        .is_terminal = shell->is_terminal,
        .columns_max = shell->is_terminal ? terminal_columns() : 0,
        .zone = nl_session_zone(session),
        .before_output = shell->is_terminal ? nl_progress_stop : NULL,
    };
}

static nl_status run_and_print(nl_shell *shell, nl_str statement, nl_output_facts *facts)
{
    nl_result *result = NULL;
    NL_TRY(shell->remote ? nl_remote_run(shell->remote, statement, &result) : nl_command_run(shell->session, statement, &result));
    const nl_output_options options = output_options(shell);
    nl_status status = nl_output_print(stdout, result, &options, facts);
    nl_result_close(result);
    return status;
}

static bool is_quiet(const nl_shell *shell)
{
    return shell->flags->is_silent || shell->is_quiet;
}

static void tell_time(const nl_shell *shell, int64_t start, uint64_t row_count)
{
    if (is_quiet(shell)) return;
    fflush(stdout);
    fprintf(stderr, "Time taken: %.3f seconds", (double)(nl_now_micros() - start) / 1e6);
    if (row_count > 0) fprintf(stderr, ", Fetched %llu row(s)", (unsigned long long)row_count);
    fputc('\n', stderr);
}

static int status_after_failure(const nl_shell *shell)
{
    if (nl_shell_ending_signal()) return NL_EXIT_SIGNALLED + nl_shell_ending_signal();
    return nl_cancel_is_set(nl_session_cancel_token(shell->session)) ? NL_EXIT_INTERRUPTED : NL_EXIT_FAILED;
}

static bool run_sql(nl_shell *shell, nl_str statement)
{
    if (nl_shell_ending_signal()) return stop(shell, status_after_failure(shell));
    if (shell->flags->is_verbose) printf(NL_STR_FMT "\n", NL_STR_ARG(statement));
    const int64_t start = nl_now_micros();
    nl_output_facts facts = {0};
    nl_session_begin(shell->session);
    nl_progress_start(shell->session);
    nl_status status = run_and_print(shell, statement, &facts);
    nl_progress_stop();
    if (status) {
        nl_shell_print_error(status);
        return stop(shell, status_after_failure(shell));
    }
    if (facts.has_shortened && !is_quiet(shell)) fprintf(stderr, "Long cells are cut to fit the window; --format vertical shows them whole.\n");
    tell_time(shell, start, facts.row_count);
    return true;
}

/* ---- the shell's own commands ---------------------------------------------------------------------------------- */

/* "! ls": the system's shell runs it; its output is the output. */
static bool run_system_command(nl_shell *shell, nl_str command)
{
    static char name[] = "sh", option[] = "-c";
    nl_arena *arena = nl_arena_new(NULL);
    char *const arguments[] = {name, option, (char *)(uintptr_t)nl_str_c(arena, command), NULL};
    pid_t child;
    int state = 0;
    fflush(stdout);
    const int problem = posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);
    nl_arena_free(arena);
    if (problem) {
        nl_shell_print_error(nl_raise_errno(problem, "starting", NL_STR("/bin/sh")));
        return stop(shell, NL_EXIT_FAILED);
    }
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    const int code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    if (code == 0) return true;
    fprintf(stderr, "Command failed with exit code = %d\n", code);
    return stop(shell, code);
}

static bool run_source(nl_shell *shell, nl_str name)
{
    nl_arena *arena = nl_arena_new(NULL);
    const char *path = nl_str_c(arena, name);
    struct stat info;
    bool is_ok = false;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
        fprintf(stderr, "File: %s is not a file.\n", path);
        stop(shell, NL_EXIT_FAILED);
    } else if (shell->source_depth >= SOURCE_DEPTH_MAX) {
        fprintf(stderr, "File: %s: more than %d files source each other.\n", path, SOURCE_DEPTH_MAX);
        stop(shell, NL_EXIT_FAILED);
    } else {
        shell->source_depth++;
        is_ok = nl_shell_run_file(shell, path);
        shell->source_depth--;
    }
    nl_arena_free(arena);
    return is_ok;
}

/* The rest behind a word and white space; data NULL when the statement does not begin with the word. */
static nl_str after_word(nl_str statement, const char *word)
{
    const size_t length = strlen(word);
    if (!nl_str_starts_nocase(statement, nl_str_from(word)) || statement.length <= length) return (nl_str){0};
    if (!strchr(" \t\r\n", statement.data[length])) return (nl_str){0};
    return nl_str_trim(nl_str_slice(statement, length, statement.length));
}

typedef bool run_text(nl_shell *shell, nl_str text);

static bool run_substituted(nl_shell *shell, nl_str text, run_text *run)
{
    nl_arena *arena = nl_arena_new(NULL);
    const int64_t start = nl_now_micros();
    nl_str substituted;
    nl_status status = nl_substitute_variables(shell->session, arena, nl_str_trim(text), &substituted);
    bool is_ok = false;
    if (status) {
        nl_shell_print_error(status);
        stop(shell, NL_EXIT_FAILED);
    } else {
        is_ok = run(shell, substituted);
        if (is_ok) tell_time(shell, start, 0);
    }
    nl_arena_free(arena);
    return is_ok;
}

bool nl_shell_run_statement(nl_shell *shell, nl_str statement)
{
    const nl_str trimmed = nl_str_trim(statement);
    if (trimmed.length == 0) return true;
    if (nl_str_is_nocase(trimmed, "quit") || nl_str_is_nocase(trimmed, "exit")) {
        shell->has_quit = true;
        return stop(shell, EXIT_SUCCESS);
    }
    if (trimmed.data[0] == '!') return run_substituted(shell, nl_str_slice(trimmed, 1, trimmed.length), run_system_command);
    const nl_str file = after_word(trimmed, "source");
    if (file.data) return run_substituted(shell, file, run_source);
    return run_sql(shell, statement);
}

static bool run_or_pass_over(nl_shell *shell, nl_str statement)
{
    if (nl_shell_run_statement(shell, statement)) return true;
    return !shell->has_quit && shell->exit_status != NL_EXIT_INTERRUPTED && nl_session_get_bool(shell->session, "hive.cli.errors.ignore");
}

bool nl_shell_run_text(nl_shell *shell, nl_str text)
{
    nl_str rest = text, statement;
    while (nl_sql_split(&rest, &statement) != NL_SPLIT_END)
        if (!run_or_pass_over(shell, statement)) return false;
    return true;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

/* Pipes have no size: read until the end, within the limit of an SQL text. */
static bool read_stream(FILE *file, nl_builder *text)
{
    char block[1 << 16];
    size_t length;
    while ((length = fread(block, 1, sizeof block, file)) > 0)
        nl_append(text, (nl_str){block, length});
    return !ferror(file) && !nl_builder_failed(text);
}

static bool cannot_read(nl_shell *shell, const char *path)
{
    nl_shell_print_error(NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "reading"), NL_P("path", path), NL_P("problem", "it cannot be read, or is too long")));
    return stop(shell, NL_EXIT_FAILED);
}

/* Runs the statements that are complete in *text and takes them off it. */
static bool run_complete(nl_shell *shell, nl_builder *text)
{
    nl_str rest = nl_builder_str(text), statement;
    for (;;) {
        const nl_str before = rest;
        if (nl_sql_split(&rest, &statement) != NL_SPLIT_STATEMENT) {
            memmove(text->data, before.data, before.length); /* what is unfinished moves to the front */
            text->length = before.length;
            return true;
        }
        if (!run_or_pass_over(shell, statement)) return false;
    }
}

/* Statements run as they arrive: whoever writes them may wait for an answer before it writes more. */
static bool run_standard_input(nl_shell *shell)
{
    char block[1 << 16];
    ssize_t length = 0;
    bool is_ok = true;
    nl_builder text;
    nl_builder_init(&text, (size_t)NL_SQL_TEXT_BYTES_MAX * 4);
    while (is_ok && !nl_builder_failed(&text) && ((length = read(STDIN_FILENO, block, sizeof block)) > 0 || (length < 0 && errno == EINTR))) {
        if (length < 0) continue;
        nl_append(&text, (nl_str){block, (size_t)length});
        if (memchr(block, ';', (size_t)length)) is_ok = run_complete(shell, &text);
    }
    if (is_ok) is_ok = length < 0 || nl_builder_failed(&text) ? cannot_read(shell, "standard input") : nl_shell_run_text(shell, nl_builder_str(&text));
    nl_builder_fini(&text);
    return is_ok;
}

bool nl_shell_run_file(nl_shell *shell, const char *path)
{
    struct stat facts;
    if (strcmp(path, "-") == 0) return run_standard_input(shell);
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        nl_shell_print_error(NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s is a folder; -f wants a file of SQL statements, and may be given once for each", path));
        return stop(shell, NL_EXIT_FAILED);
    }
    FILE *file = fopen(path, "rb");
    if (!file) {
        nl_shell_print_error(NL_RAISE(PATH_NOT_FOUND, NL_P("path", path)));
        return stop(shell, NL_EXIT_NO_FILE);
    }
    nl_builder text;
    nl_builder_init(&text, (size_t)NL_SQL_TEXT_BYTES_MAX * 4);
    bool is_ok = read_stream(file, &text);
    fclose(file);
    is_ok = is_ok ? nl_shell_run_text(shell, nl_builder_str(&text)) : cannot_read(shell, path);
    nl_builder_fini(&text);
    return is_ok;
}
