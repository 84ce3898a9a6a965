/* shell/interactive.c - reads lines with libedit until a statement is complete, then runs it. */
#include "shell/interactive.h"

#include <histedit.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "shell/completion.h"
#include "sql/split.h"

#define HISTORY_LINES 10000

/* Signal handlers take no argument: the one place where the running shell is known to the process. */
static const nl_shell *volatile interrupted_shell;
static volatile sig_atomic_t is_at_prompt, was_interrupted_at_prompt, ending_signal;

static void interrupt(int signal_number)
{
    const nl_shell *shell = interrupted_shell;
    const bool is_second_end = ending_signal != 0;
    if (signal_number != SIGINT) ending_signal = signal_number;
    if (is_second_end) _exit(NL_EXIT_SIGNALLED + signal_number);
    if (is_at_prompt) {
        was_interrupted_at_prompt = 1;
        return;
    }
    const bool is_second = nl_cancel_is_set(nl_session_cancel_token(shell->session));
    if (is_second && !shell->is_interactive) _exit(NL_EXIT_INTERRUPTED);
    nl_session_cancel(shell->session);
}

void nl_shell_catch_interrupts(nl_shell *shell)
{
    struct sigaction action = {.sa_handler = shell ? interrupt : SIG_DFL};
    if (shell) interrupted_shell = shell; /* before the handler can run; when it no longer can, nobody reads it */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

int nl_shell_ending_signal(void)
{
    return ending_signal;
}

/* ---- the line editor ------------------------------------------------------------------------------------------- */

typedef struct terminal {
    nl_shell *shell;
    EditLine *editor;
    History *history;
    nl_builder pending;  /* lines of an unfinished statement */
    char prompt[256];
    const char *history_file; /* or NULL */
} terminal;

static terminal *terminal_of(EditLine *editor)
{
    void *self = NULL;
    el_get(editor, EL_CLIENTDATA, &self);
    return self;
}

static char *show_prompt(EditLine *editor)
{
    return terminal_of(editor)->prompt;
}

/* "nilas (local.db)> ", or as many blanks up to "> " for the lines that follow. */
static void make_prompt(terminal *self)
{
    const nl_str *parts;
    uint32_t part_count;
    nl_builder text;
    nl_builder_init(&text, 4096);
    nl_session_current_namespace(self->shell->session, &parts, &part_count);
    const nl_str catalog = nl_session_current_catalog(self->shell->session);
    nl_append_f(&text, "nilas (" NL_STR_FMT, NL_STR_ARG(self->shell->remote ? NL_STR("remote") : catalog));
    for (uint32_t i = 0; !self->shell->remote && i < part_count; i++)
        nl_append_f(&text, "." NL_STR_FMT, NL_STR_ARG(parts[i]));
    nl_append_c(&text, ")> ");
    const bool is_continued = self->pending.length > 0;
    snprintf(self->prompt, sizeof self->prompt, "%s", text.length < 60 ? nl_builder_c(&text) : "nilas> ");
    if (is_continued)
        for (size_t i = 0; self->prompt[i] && self->prompt[i] != '>'; i++)
            self->prompt[i] = ' ';
    nl_builder_fini(&text);
}

static unsigned char give_up_line(EditLine *editor, int key)
{
    (void)editor;
    (void)key;
    was_interrupted_at_prompt = 1;
    return CC_EOF;
}

static unsigned char suspend(EditLine *editor, int key)
{
    (void)editor;
    (void)key;
    raise(SIGTSTP);
    return CC_REDISPLAY;
}

static void list_candidates(const nl_completions *found)
{
    enum { SHOWN_MAX = 100 };
    fputc('\n', stdout);
    for (uint32_t i = 0; i < found->count && i < SHOWN_MAX; i++)
        printf(NL_STR_FMT "%s", NL_STR_ARG(found->items[i]), i + 1 < found->count ? "  " : "");
    if (found->count > SHOWN_MAX) printf("… %u more", found->count - SHOWN_MAX);
    fputc('\n', stdout);
    fflush(stdout);
}

static unsigned char complete_word(EditLine *editor, int key)
{
    (void)key;
    terminal *self = terminal_of(editor);
    const LineInfo *line = el_line(editor);
    nl_arena *arena = nl_arena_new(NULL);
    const nl_str typed = {line->buffer, (size_t)(line->cursor - line->buffer)};
    const nl_str before = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(nl_builder_str(&self->pending)), self->pending.length ? "\n" : "", NL_STR_ARG(typed));
    nl_completions found;
    nl_complete(self->shell->session, before, arena, &found);
    const nl_str common = nl_completions_common(&found);
    unsigned char answer = CC_REFRESH;
    if (found.count == 0) {
        answer = CC_REFRESH_BEEP;
    } else if (found.count == 1 || common.length > found.word_length) {
        el_deletestr(editor, (int)nl_utf8_length(nl_str_slice(before, before.length - found.word_length, before.length)));
        el_insertstr(editor, nl_str_c(arena, common));
        if (found.count == 1) el_insertstr(editor, " ");
    } else {
        list_candidates(&found);
        answer = CC_REDISPLAY;
    }
    nl_arena_free(arena);
    return answer;
}

static void bind_keys(EditLine *editor)
{
    static const char *const keys[][2] = {
        {"\t", "nilas-complete"},       {"^C", "nilas-give-up-line"},     {"^Z", "nilas-suspend"},         {"^R", "em-inc-search-prev"},
        {"\\e[3~", "ed-delete-next-char"}, {"\\e[H", "ed-move-to-beg"},     {"\\e[F", "ed-move-to-end"},     {"\\e[1~", "ed-move-to-beg"},
        {"\\e[4~", "ed-move-to-end"},   {"\\e[1;5C", "em-next-word"},     {"\\e[1;5D", "ed-prev-word"},
        {"^@", "em-delete-or-list"}, /* what a Ctrl-D that was typed while a statement ran has become */
    };
    el_set(editor, EL_ADDFN, "nilas-complete", "complete the word", complete_word);
    el_set(editor, EL_ADDFN, "nilas-give-up-line", "forget the statement", give_up_line);
    el_set(editor, EL_ADDFN, "nilas-suspend", "stop until the shell continues the program", suspend);
    for (size_t i = 0; i < NL_COUNT(keys); i++)
        el_set(editor, EL_BIND, keys[i][0], keys[i][1], NULL);
    /* While a line is edited ^C and ^Z are keys: as signals they would not end the reading. */
    el_set(editor, EL_SETTY, "-d", "-isig", NULL);
}

static bool open_editor(terminal *self, nl_arena *arena)
{
    HistEvent event;
    const char *home = getenv("HOME");
    self->editor = el_init("nilas", stdin, stdout, stderr);
    if (!self->editor) return false;
    self->history = history_init();
    el_set(self->editor, EL_CLIENTDATA, self);
    el_set(self->editor, EL_PROMPT, show_prompt);
    el_set(self->editor, EL_EDITOR, "emacs");
    el_set(self->editor, EL_SIGNAL, 1);
    bind_keys(self->editor);
    el_source(self->editor, NULL); /* ~/.editrc, as every program with this editor */
    if (!self->history) return true;
    history(self->history, &event, H_SETSIZE, HISTORY_LINES);
    history(self->history, &event, H_SETUNIQUE, 1);
    el_set(self->editor, EL_HIST, history, self->history);
    const char *named = getenv("NILAS_HISTORY");
    if (named)
        self->history_file = *named ? named : NULL;
    else if (home)
        self->history_file = nl_arena_f(arena, "%s/.nilas_history", home).data;
    if (self->history_file) history(self->history, &event, H_LOAD, self->history_file);
    return true;
}

static void close_editor(terminal *self)
{
    if (self->history) history_end(self->history);
    if (self->editor) el_end(self->editor);
}

/* ---- statements ------------------------------------------------------------------------------------------------ */

/* One entry for a statement, on one line, so that the arrow keys bring it back whole. A comment to the line's end would
 * swallow what follows it: such a statement keeps its lines. Saved at once, since a terminal may be closed any time. */
static void remember(terminal *self, nl_str text)
{
    HistEvent event;
    if (!self->history || nl_str_trim(text).length == 0) return;
    nl_builder line;
    nl_builder_init(&line, NL_SQL_TEXT_BYTES_MAX);
    const bool has_line_comment = nl_str_find(text, NL_STR("--"), 0) != NL_NOT_FOUND;
    nl_str rest = nl_str_trim(text), part;
    while (nl_str_next_part(&rest, '\n', &part)) {
        if (line.length > 0) nl_append_char(&line, ' ');
        nl_append(&line, part);
        if (!has_line_comment) continue;
        history(self->history, &event, H_ENTER, nl_builder_c(&line));
        nl_builder_clear(&line);
    }
    if (line.length > 0) history(self->history, &event, H_ENTER, nl_builder_c(&line));
    nl_builder_fini(&line);
    if (self->history_file) history(self->history, &event, H_SAVE, self->history_file);
}

/* Runs the statements that are complete; an unfinished one stays pending. */
static void run_complete(terminal *self)
{
    nl_shell *shell = self->shell;
    nl_str rest = nl_builder_str(&self->pending), statement;
    nl_split split;
    bool has_run = false;
    while ((split = nl_sql_split(&rest, &statement)) == NL_SPLIT_STATEMENT) {
        if (!has_run) remember(self, nl_builder_str(&self->pending));
        has_run = true;
        if (!nl_shell_run_statement(shell, statement)) break;
    }
    nl_builder unfinished;
    nl_builder_init(&unfinished, NL_SQL_TEXT_BYTES_MAX);
    if (split == NL_SPLIT_REST) nl_append(&unfinished, nl_str_trim(statement));
    nl_builder_fini(&self->pending);
    self->pending = unfinished;
}

/* `quit`, `exit` and `!command` need no `;`. */
static bool is_own_command(nl_str line)
{
    line = nl_str_trim(line);
    return nl_str_is_nocase(line, "quit") || nl_str_is_nocase(line, "exit") || (line.length > 0 && line.data[0] == '!');
}

static void take_line(terminal *self, nl_str line)
{
    while (line.length > 0 && (line.data[line.length - 1] == '\n' || line.data[line.length - 1] == '\r'))
        line.length--;
    if (self->pending.length == 0 && is_own_command(line)) {
        remember(self, line);
        nl_shell_run_statement(self->shell, line);
        return;
    }
    if (self->pending.length == 0 && nl_str_trim(line).length == 0) return;
    if (self->pending.length > 0) nl_append_char(&self->pending, '\n');
    nl_append(&self->pending, line);
    run_complete(self);
}

/* The next line; NULL at the end of input. *is_given_up: Ctrl-C, there is no line. */
static const char *read_line(terminal *self, int *length, bool *is_given_up)
{
    was_interrupted_at_prompt = 0;
    is_at_prompt = 1;
    make_prompt(self);
    /* Before the prompt shows: a Ctrl-D that comes while the terminal still edits lines itself would be lost. */
    el_set(self->editor, EL_PREP_TERM, 1);
    const char *line = el_gets(self->editor, length);
    is_at_prompt = 0;
    *is_given_up = was_interrupted_at_prompt;
    return line;
}

int nl_shell_interactive(nl_shell *shell)
{
    nl_arena *arena = nl_arena_new(NULL);
    terminal self = {.shell = shell};
    setlocale(LC_CTYPE, "C.UTF-8"); /* the editor asks the locale how long characters are */
    if (!open_editor(&self, arena)) {
        nl_arena_free(arena);
        return nl_shell_run_file(shell, "-") ? EXIT_SUCCESS : shell->exit_status;
    }
    shell->is_interactive = true;
    nl_builder_init(&self.pending, NL_SQL_TEXT_BYTES_MAX);
    if (!shell->flags->is_silent) fprintf(stderr, "nilas %s. Statements end with ; and quit or Ctrl-D leaves.\n", NILAS_VERSION);
    while (!shell->has_quit && !ending_signal) {
        int length = 0;
        bool is_given_up = false;
        const char *line = read_line(&self, &length, &is_given_up);
        if (is_given_up && !ending_signal) {
            fputs("^C\n", stdout);
            nl_builder_clear(&self.pending);
            continue;
        }
        if (!line || length <= 0) break;
        take_line(&self, (nl_str){line, (size_t)length});
    }
    if (!shell->has_quit) fputc('\n', stdout);
    nl_builder_fini(&self.pending);
    close_editor(&self);
    nl_arena_free(arena);
    return ending_signal ? NL_EXIT_SIGNALLED + ending_signal : EXIT_SUCCESS;
}
