/* tests/golden/golden_runner.c - one session that answers statements over pipes, for golden.py.
 *
 *     golden_runner [KEY=VALUE]…
 *
 * In: the count of bytes of a statement in a line, then the bytes. Out: a line `ok N` or `error N`, then N bytes: the schema
 * ("struct<a:int>"), a newline and the rows as spark-sql prints them; or the error as JSON in Spark's form.
 */
#include "base/json.h"
#include "base/limits.h"
#include "base/number.h"
#include "command/command.h"
#include "shell/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static nl_status print_result(nl_session *session, nl_result *result, FILE *out)
{
    const nl_output_options options = {.format = NL_OUTPUT_HIVE, .zone = nl_session_zone(session), .binary = nl_binary_style_of(nl_session_get(session, NL_STR("spark.sql.binaryOutputStyle")))};
    nl_output_facts facts;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_str schema = nl_type_name(arena, nl_result_schema(result));
    fprintf(out, NL_STR_FMT "\n", NL_STR_ARG(schema));
    nl_arena_free(arena);
    return nl_output_print(out, result, &options, &facts);
}

static nl_status run(nl_session *session, nl_str sql, FILE *out)
{
    nl_result *result = NULL;
    nl_session_begin(session);
    NL_TRY(nl_command_run(session, sql, &result));
    nl_status status = print_result(session, result, out);
    nl_result_close(result);
    return status;
}

static void write_text(nl_json_writer *json, const char *key, const char *text)
{
    nl_json_key(json, key);
    nl_json_write_text(json, nl_str_from(text));
}

static void print_error(nl_error *error, FILE *out)
{
    nl_builder text;
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    nl_json_writer json = {.out = &text};
    nl_json_begin(&json, '{');
    write_text(&json, "condition", nl_condition_name(nl_error_condition(error)));
    write_text(&json, "sqlState", nl_condition_sqlstate(nl_error_condition(error)));
    write_text(&json, "message", nl_error_message(error));
    nl_json_key(&json, "messageParameters");
    nl_json_begin(&json, '{');
    for (uint32_t i = 0; i < nl_error_param_count(error); i++) {
        const char *name, *value;
        nl_error_param_at(error, i, &name, &value);
        write_text(&json, name, value);
    }
    nl_json_end(&json, '}');
    nl_json_end(&json, '}');
    fwrite(text.data, 1, text.length, out);
    nl_builder_fini(&text);
}

static bool answer(nl_session *session, nl_str sql)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) return false;
    nl_error *error = run(session, sql, out);
    if (error) {
        rewind(out);
        print_error(error, out);
        fputc('\0', out); /* rows that came before the error may be longer */
    }
    fclose(out);
    if (error) length = strlen(text);
    printf("%s %zu\n", error ? "error" : "ok", length);
    fwrite(text, 1, length, stdout);
    fflush(stdout);
    nl_error_free(error);
    free(text);
    return !ferror(stdout);
}

static bool next_statement(char **sql, size_t *length)
{
    char line[32];
    int64_t count = 0;
    if (!fgets(line, sizeof(line), stdin) || !nl_parse_int64(nl_str_trim(nl_str_from(line)), &count) || count < 0) return false;
    *length = (size_t)count;
    *sql = malloc(*length + 1);
    if (*sql && fread(*sql, 1, *length, stdin) == *length) return true;
    free(*sql);
    return false;
}

/* A setting that nilas refuses is left out: the file's statements run without it. */
static bool drop_refused(nl_error *refused, nl_property *confs, uint32_t *count)
{
    if (nl_error_condition(refused) != NL_COND_NILAS_UNSUPPORTED) return false;
    for (uint32_t i = 0; i < *count; i++) {
        if (nl_str_find(nl_str_from(nl_error_message(refused)), confs[i].key, 0) == NL_NOT_FOUND) continue;
        memmove(&confs[i], &confs[i + 1], (--*count - i) * sizeof *confs);
        return true;
    }
    return false;
}

static nl_status open_session(int count, char **arguments, nl_session **session)
{
    nl_property *confs = calloc((size_t)count + 1, sizeof(*confs));
    if (!confs) return NL_RAISE_TEXT(INTERNAL_ERROR, "no memory");
    for (int i = 0; i < count; i++) {
        nl_str value = nl_str_from(arguments[i]);
        (void)nl_str_next_part(&value, '=', &confs[i].key);
        confs[i].value = value;
    }
    uint32_t kept = (uint32_t)count;
    nl_status status = nl_session_new(confs, kept, session);
    while (status && drop_refused(status, confs, &kept)) {
        nl_error_free(status);
        status = nl_session_new(confs, kept, session);
    }
    free(confs);
    return status;
}

int main(int argc, char **argv)
{
    nl_session *session = NULL;
    nl_error *error = open_session(argc - 1, argv + 1, &session);
    if (error) {
        fprintf(stderr, "golden_runner: %s\n", nl_error_message(error));
        nl_error_free(error);
        return 1;
    }
    char *sql = NULL;
    size_t length = 0;
    bool is_well = true;
    while (is_well && next_statement(&sql, &length)) {
        is_well = answer(session, (nl_str){sql, length});
        free(sql);
    }
    nl_session_free(session);
    return is_well ? 0 : 1;
}
