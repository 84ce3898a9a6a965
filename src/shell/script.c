/* shell/script.c - statements from texts and files. */
#include "shell/script.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/calendar.h"
#include "base/limits.h"
#include "shell/progress.h"
#include "sql/split.h"

void nl_shell_print_error(nl_error *error)
{
    fflush(stdout);
    fprintf(stderr, "%s\n", nl_error_message(error));
    nl_error_free(error);
}

static nl_output_options output_options(const nl_shell *shell)
{
    const nl_output_format natural = shell->is_terminal ? NL_OUTPUT_TABLE : NL_OUTPUT_HIVE;
    return (nl_output_options){
        .format = shell->flags->has_format ? shell->flags->format : natural,
        .has_header = nl_session_get_bool(shell->session, "spark.sql.cli.print.header"),
        .zone = nl_session_zone(shell->session),
    };
}

static nl_status run_and_print(nl_shell *shell, nl_str statement, uint64_t *row_count)
{
    nl_result *result = NULL;
    NL_TRY(nl_command_run(shell->session, statement, &result));
    const nl_output_options options = output_options(shell);
    nl_status status = nl_output_print(stdout, result, &options, row_count);
    nl_result_close(result);
    return status;
}

bool nl_shell_run_statement(nl_shell *shell, nl_str statement)
{
    if (shell->flags->is_verbose) fprintf(stderr, NL_STR_FMT "\n", NL_STR_ARG(statement));
    const int64_t start = nl_now_micros();
    uint64_t row_count = 0;
    nl_session_begin(shell->session);
    nl_progress_start(shell->session);
    nl_status status = run_and_print(shell, statement, &row_count);
    nl_progress_stop();
    if (status) {
        nl_shell_print_error(status);
        return false;
    }
    if (!shell->flags->is_silent) {
        fflush(stdout);
        fprintf(stderr, "Time taken: %.3f seconds", (double)(nl_now_micros() - start) / 1e6);
        if (row_count > 0) fprintf(stderr, ", Fetched %llu row(s)", (unsigned long long)row_count);
        fputc('\n', stderr);
    }
    return true;
}

bool nl_shell_run_text(nl_shell *shell, nl_str text)
{
    nl_str rest = text, statement;
    while (nl_sql_split(&rest, &statement) != NL_SPLIT_END)
        if (nl_str_trim(statement).length > 0 && !nl_shell_run_statement(shell, statement)) return false;
    return true;
}

/* Standard input and pipes have no size: read until the end, within the limit of an SQL text. */
static bool read_stream(FILE *file, nl_builder *text)
{
    char block[1 << 16];
    size_t length;
    while ((length = fread(block, 1, sizeof block, file)) > 0)
        nl_append(text, (nl_str){block, length});
    return !ferror(file) && !nl_builder_failed(text);
}

bool nl_shell_run_file(nl_shell *shell, const char *path)
{
    const bool is_standard_input = strcmp(path, "-") == 0;
    FILE *file = is_standard_input ? stdin : fopen(path, "rb");
    if (!file) {
        nl_shell_print_error(NL_RAISE(PATH_NOT_FOUND, NL_P("path", path)));
        return false;
    }
    nl_builder text;
    nl_builder_init(&text, (size_t)NL_SQL_TEXT_BYTES_MAX * 4);
    bool is_ok = read_stream(file, &text);
    if (!is_standard_input) fclose(file);
    if (is_ok)
        is_ok = nl_shell_run_text(shell, nl_builder_str(&text));
    else
        nl_shell_print_error(NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "reading"), NL_P("path", path), NL_P("problem", "it cannot be read, or is too long")));
    nl_builder_fini(&text);
    return is_ok;
}
