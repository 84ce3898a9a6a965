/* shell/interactive.c - reads lines with libedit until a statement is complete, then runs it. */
#include "shell/interactive.h"

#include <editline/readline.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "shell/completion.h"
#include "sql/split.h"

#define HISTORY_LINES 10000

/* Signal handlers take no argument: the one place where the running session is known to the process. */
static nl_session *volatile interrupted_session;

static void interrupt(int signal_number)
{
    (void)signal_number;
    if (interrupted_session) nl_session_cancel(interrupted_session);
}

void nl_shell_catch_interrupts(nl_session *session)
{
    interrupted_session = session;
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGINT, &action, NULL);
}

static nl_str history_file(nl_arena *arena)
{
    const char *home = getenv("HOME");
    return home ? nl_arena_f(arena, "%s/.nilas_history", home) : (nl_str){0};
}

static bool is_quit(nl_str line)
{
    line = nl_str_trim(line);
    while (line.length > 0 && line.data[line.length - 1] == ';')
        line = nl_str_trim(nl_str_slice(line, 0, line.length - 1));
    return nl_str_is_nocase(line, "quit") || nl_str_is_nocase(line, "exit");
}

static const char *prompt(nl_arena *arena, const nl_shell *shell, bool is_continued)
{
    const nl_str *parts;
    uint32_t part_count;
    nl_session_current_namespace(shell->session, &parts, &part_count);
    const nl_str catalog = nl_session_current_catalog(shell->session);
    if (is_continued) return "     > ";
    nl_str text = nl_arena_f(arena, "nilas (" NL_STR_FMT, NL_STR_ARG(catalog));
    for (uint32_t i = 0; i < part_count; i++)
        text = nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(text), NL_STR_ARG(parts[i]));
    return nl_arena_f(arena, NL_STR_FMT ")> ", NL_STR_ARG(text)).data;
}

/* Runs the statements that are complete in *pending; an unfinished one stays. */
static void run_complete(nl_shell *shell, nl_builder *pending)
{
    nl_str rest = nl_builder_str(pending), statement;
    nl_split split;
    while ((split = nl_sql_split(&rest, &statement)) == NL_SPLIT_STATEMENT)
        if (!nl_shell_run_statement(shell, statement)) break;
    nl_builder unfinished;
    nl_builder_init(&unfinished, NL_SQL_TEXT_BYTES_MAX);
    if (split == NL_SPLIT_REST) nl_append(&unfinished, statement);
    nl_builder_fini(pending);
    *pending = unfinished;
}

int nl_shell_interactive(nl_shell *shell)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_str history = history_file(arena);
    using_history();
    stifle_history(HISTORY_LINES);
    if (history.length) read_history(history.data);
    nl_completion_install(shell->session);
    nl_builder pending;
    nl_builder_init(&pending, NL_SQL_TEXT_BYTES_MAX);
    for (;;) {
        nl_arena *line_arena = nl_arena_new(NULL);
        char *line = readline(prompt(line_arena, shell, pending.length > 0));
        nl_arena_free(line_arena);
        if (!line) break;
        if (pending.length == 0 && is_quit(nl_str_from(line))) {
            free(line);
            break;
        }
        if (*line) add_history(line);
        if (pending.length) nl_append_char(&pending, '\n');
        nl_append_c(&pending, line);
        free(line);
        run_complete(shell, &pending);
    }
    if (history.length) write_history(history.data);
    nl_builder_fini(&pending);
    nl_arena_free(arena);
    fputc('\n', stderr);
    return 0;
}
