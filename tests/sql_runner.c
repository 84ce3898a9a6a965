/* tests/sql_runner.c - runs .test files (sqllogictest's form) and the examples of the function registry.
 *
 *     sql_runner [--conf KEY=VALUE]… [--any-order] [--examples] FILE…
 *
 *     statement ok            query [rowsort]           error CONDITION         let NAME
 *     CREATE …                SELECT …                  SELECT …                SELECT …
 *                             ----
 *                             the box of show(truncate=False), as real Spark printed it
 *
 * `let` keeps the first cell of a query for ${NAME} in later ones; ${FOLDER} is a place for plain files. A cell `*` of a box may be anything. The condition `-`
 * stands for an error to which Spark gives no condition: then the words after it must be in the message.
 * Records are divided by empty lines; a line of `#` is a comment. Every file has a session and a warehouse of its own.
 */
#include "base/limits.h"
#include "base/number.h"
#include "column/value.h"
#include "command/command.h"
#include "function/function.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct runner {
    nl_session *session;
    const char *path;
    nl_text_style style;
    char folder[4096]; /* the file's warehouse */
    nl_arena *arena;   /* variables live as long as their file */
    nl_list variables; /* nl_property * */
    nl_property confs[16]; /* of --conf */
    uint32_t conf_count;
    bool is_any_order;     /* rows are compared sorted: a forced mode may give others where SQL leaves it open */
    uint32_t passed, failed;
} runner;

static void fail(runner *self, nl_str sql, const char *what, nl_str expected, nl_str actual)
{
    self->failed++;
    printf("FAILED %s: %s\n    " NL_STR_FMT "\n--- expected\n" NL_STR_FMT "\n--- actual\n" NL_STR_FMT "\n\n", self->path, what, NL_STR_ARG(sql),
           NL_STR_ARG(expected), NL_STR_ARG(actual));
}

/* ---- show(truncate=False) -------------------------------------------------------------------------------------- */

typedef struct shown_rows {
    nl_arena *arena;
    nl_list rows; /* nl_str *: column_count cells each; the header first */
    uint32_t column_count;
} shown_rows;

static nl_str escape_cell(nl_arena *arena, nl_str text)
{
    nl_builder out;
    nl_builder_init(&out, NL_VALUE_BYTES_MAX);
    for (size_t i = 0; i < text.length; i++) {
        static const char from[] = "\a\b\n\r\t\v\f", to[] = "abnrtvf";
        const char *found = text.data[i] ? strchr(from, text.data[i]) : NULL;
        if (found)
            nl_append_f(&out, "\\%c", to[found - from]);
        else
            nl_append_char(&out, text.data[i]);
    }
    const nl_str copy = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return copy;
}

static nl_status collect_rows(runner *self, nl_result *result, shown_rows *shown)
{
    const nl_type *schema = nl_result_schema(result);
    const nl_text_options options = {.style = self->style, .zone = nl_session_zone(self->session)};
    nl_builder cell;
    nl_builder_init(&cell, NL_VALUE_BYTES_MAX);
    shown->column_count = schema->child_count;
    nl_str *header = NL_NEW_ARRAY(shown->arena, nl_str, schema->child_count + 1);
    for (uint32_t i = 0; i < schema->child_count; i++)
        header[i] = escape_cell(shown->arena, schema->children[i].name);
    nl_list_add(shown->arena, &shown->rows, header);
    nl_status status = NULL;
    for (bool is_done = false; !status && !is_done;) {
        nl_batch batch = {0};
        status = nl_result_next(result, &batch, &is_done);
        for (uint32_t row = 0; !status && row < batch.row_count; row++) {
            nl_str *cells = NL_NEW_ARRAY(shown->arena, nl_str, schema->child_count + 1);
            for (uint32_t i = 0; i < schema->child_count; i++) {
                nl_builder_clear(&cell);
                nl_vector_append_text(&batch.columns[i], row, &options, &cell);
                cells[i] = escape_cell(shown->arena, nl_builder_str(&cell));
            }
            nl_list_add(shown->arena, &shown->rows, cells);
        }
        nl_batch_fini(&batch);
    }
    nl_builder_fini(&cell);
    return status;
}

static void append_box(const shown_rows *shown, nl_builder *out)
{
    for (uint32_t r = 0; r < shown->rows.count; r++) {
        const nl_str *cells = shown->rows.items[r];
        for (uint32_t i = 0; i < shown->column_count; i++) {
            nl_append_char(out, '|');
            nl_append(out, cells[i]);
        }
        nl_append_c(out, "|\n");
    }
}

static nl_status run(runner *self, nl_str sql, nl_builder *out)
{
    nl_result *result = NULL;
    nl_session_begin(self->session);
    NL_TRY(nl_command_run(self->session, sql, &result));
    shown_rows shown = {.arena = nl_arena_new(NULL)};
    nl_status status = collect_rows(self, result, &shown);
    if (!status && shown.column_count > 0) append_box(&shown, out);
    nl_arena_free(shown.arena);
    nl_result_close(result);
    return status;
}

/* ---- comparing ------------------------------------------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

static nl_str sorted_lines(nl_arena *arena, nl_str text)
{
    nl_list lines = {0};
    nl_str line;
    while (nl_str_next_part(&text, '\n', &line)) {
        nl_str *copy = NL_NEW(arena, nl_str);
        *copy = line;
        if (line.length) nl_list_add(arena, &lines, copy);
    }
    nl_str *list = NL_NEW_ARRAY(arena, nl_str, lines.count);
    for (uint32_t i = 0; i < lines.count; i++)
        list[i] = *(const nl_str *)lines.items[i];
    if (lines.count > 2) qsort(list + 1, lines.count - 1, sizeof(*list), compare_lines); /* the header stays */
    nl_builder out;
    nl_builder_init(&out, (size_t)NL_VALUE_BYTES_MAX * 2);
    for (uint32_t i = 0; i < lines.count; i++)
        nl_append_f(&out, NL_STR_FMT "\n", NL_STR_ARG(list[i]));
    const nl_str sorted = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return sorted;
}

/* A line of a box against a recorded one, in which a cell of `*` stands for any. */
static bool matches_line(nl_str expected, nl_str actual)
{
    nl_str left, right;
    if (nl_str_find(expected, NL_STR("|*|"), 0) == NL_NOT_FOUND) return nl_str_equal(expected, actual);
    while (nl_str_next_part(&expected, '|', &left)) {
        if (!nl_str_next_part(&actual, '|', &right)) return false;
        if (!nl_str_is(left, "*") && !nl_str_equal(left, right)) return false;
    }
    return !nl_str_next_part(&actual, '|', &right);
}

static bool matches_box(nl_str expected, nl_str actual)
{
    nl_str left, right;
    while (nl_str_next_part(&expected, '\n', &left))
        if (!nl_str_next_part(&actual, '\n', &right) || !matches_line(left, right)) return false;
    return !nl_str_next_part(&actual, '\n', &right);
}

static void check_query(runner *self, nl_str sql, nl_str expected, bool is_sorted)
{
    nl_builder out;
    nl_arena *arena = nl_arena_new(NULL);
    nl_builder_init(&out, (size_t)NL_VALUE_BYTES_MAX * 2);
    nl_error *error = run(self, sql, &out);
    if (error) {
        fail(self, sql, "the query failed", expected, nl_str_from(nl_error_message(error)));
        nl_error_free(error);
    } else {
        const nl_str left = is_sorted ? sorted_lines(arena, expected) : expected;
        const nl_str right = is_sorted ? sorted_lines(arena, nl_builder_str(&out)) : nl_builder_str(&out);
        if (matches_box(nl_str_trim(left), nl_str_trim(right)))
            self->passed++;
        else
            fail(self, sql, "other rows", left, right);
    }
    nl_builder_fini(&out);
    nl_arena_free(arena);
}

static void check_statement(runner *self, nl_str sql)
{
    nl_builder out;
    nl_builder_init(&out, NL_VALUE_BYTES_MAX);
    nl_error *error = run(self, sql, &out);
    if (error)
        fail(self, sql, "the statement failed", NL_STR("success"), nl_str_from(nl_error_message(error)));
    else
        self->passed++;
    nl_error_free(error);
    nl_builder_fini(&out);
}

/* Conditions of nilas's own stand where Spark has none; then the text has to be Spark's. */
static bool is_wanted(nl_error *error, nl_str condition)
{
    const nl_str name = nl_str_from(nl_condition_name(nl_error_condition(error)));
    if (!nl_str_starts(condition, NL_STR("-"))) return nl_str_equal(condition, name);
    const nl_str words = nl_str_trim(nl_str_slice(condition, 1, condition.length));
    return nl_str_starts(name, NL_STR("NILAS_")) && nl_str_find(nl_str_from(nl_error_message(error)), words, 0) != NL_NOT_FOUND;
}

static void check_error(runner *self, nl_str sql, nl_str condition)
{
    nl_builder out;
    nl_builder_init(&out, NL_VALUE_BYTES_MAX);
    nl_error *error = run(self, sql, &out);
    if (!error)
        fail(self, sql, "an error is wanted", condition, NL_STR("success"));
    else if (!is_wanted(error, condition))
        fail(self, sql, "another error", condition, nl_str_from(nl_error_message(error)));
    else
        self->passed++;
    nl_error_free(error);
    nl_builder_fini(&out);
}

static void set_variable(runner *self, nl_str name, nl_str sql)
{
    nl_builder out;
    nl_builder_init(&out, NL_VALUE_BYTES_MAX);
    nl_error *error = run(self, sql, &out);
    nl_str box = nl_builder_str(&out), line, cell = {0};
    (void)nl_str_next_part(&box, '\n', &line);
    if (!error && nl_str_next_part(&box, '\n', &line)) {
        (void)nl_str_next_part(&line, '|', &cell);
        (void)nl_str_next_part(&line, '|', &cell);
        nl_property *variable = NL_NEW(self->arena, nl_property);
        variable->key = nl_arena_str(self->arena, name);
        variable->value = nl_arena_str(self->arena, cell);
        nl_list_add(self->arena, &self->variables, variable);
        self->passed++;
    } else {
        fail(self, sql, "no value for a variable", name, error ? nl_str_from(nl_error_message(error)) : (nl_str){0});
    }
    nl_error_free(error);
    nl_builder_fini(&out);
}

/* The statement with the values of `let` in place of ${name}; the latest of a name counts. */
static nl_str with_variables(runner *self, nl_str sql)
{
    for (uint32_t i = self->variables.count; i > 0; i--) {
        const nl_property *variable = self->variables.items[i - 1];
        const nl_str mark = nl_arena_f(self->arena, "${" NL_STR_FMT "}", NL_STR_ARG(variable->key));
        for (size_t at; (at = nl_str_find(sql, mark, 0)) != NL_NOT_FOUND;) {
            const nl_str head = nl_str_slice(sql, 0, at), tail = nl_str_slice(sql, at + mark.length, sql.length);
            sql = nl_arena_f(self->arena, NL_STR_FMT NL_STR_FMT NL_STR_FMT, NL_STR_ARG(head), NL_STR_ARG(variable->value), NL_STR_ARG(tail));
        }
    }
    return sql;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

/* Lines up to the next empty one. */
static nl_str take_record(nl_str *rest)
{
    const char *start = NULL;
    size_t length = 0;
    for (;;) {
        nl_str line, before = *rest;
        if (!nl_str_next_part(rest, '\n', &line)) break;
        const bool is_blank = nl_str_trim(line).length == 0;
        if (is_blank && start) break;
        if (is_blank || (!start && line.data[0] == '#')) continue;
        if (!start) start = before.data;
        length = (size_t)(line.data + line.length - start);
    }
    return (nl_str){start, length};
}

static void run_record(runner *self, nl_str record)
{
    nl_str head, rest = record;
    (void)nl_str_next_part(&rest, '\n', &head);
    head = nl_str_trim(head);
    if (nl_str_is(head, "statement ok")) {
        check_statement(self, with_variables(self, rest));
    } else if (nl_str_starts(head, NL_STR("let "))) {
        set_variable(self, nl_str_trim(nl_str_slice(head, 4, head.length)), with_variables(self, rest));
    } else if (nl_str_starts(head, NL_STR("error "))) {
        check_error(self, with_variables(self, rest), nl_str_trim(nl_str_slice(head, 6, head.length)));
    } else if (nl_str_starts(head, NL_STR("query"))) {
        const size_t divider = nl_str_find(rest, NL_STR("\n----\n"), 0);
        const size_t end = divider == NL_NOT_FOUND ? rest.length : divider;
        check_query(self, with_variables(self, nl_str_slice(rest, 0, end)), nl_str_slice(rest, NL_MIN(end + 6, rest.length), rest.length), self->is_any_order || nl_str_ends(head, NL_STR("rowsort")));
    } else {
        fail(self, record, "a record begins with statement ok, query, let or error", head, head);
    }
}

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    *length = text ? fread(text, 1, (size_t)size, file) : 0;
    fclose(file);
    return text;
}

static bool open_session(runner *self)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(self->folder, sizeof(self->folder), "%s/nilas-test-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(self->folder)) return false;
    enum { OWN_CONFS = 8 };
    nl_property confs[OWN_CONFS + NL_COUNT(self->confs)] = {
        {NL_STR("spark.sql.session.timeZone"), NL_STR("UTC")},
        {NL_STR("spark.sql.catalog.lake"), NL_STR("org.apache.iceberg.spark.SparkCatalog")},
        {NL_STR("spark.sql.catalog.lake.type"), NL_STR("hadoop")},
        {NL_STR("spark.sql.catalog.lake.warehouse"), nl_str_from(self->folder)},
        {NL_STR("spark.sql.catalog.local"), NL_STR("org.apache.iceberg.spark.SparkCatalog")},
        {NL_STR("spark.sql.catalog.local.type"), NL_STR("hadoop")},
        {NL_STR("spark.sql.catalog.local.warehouse"), nl_str_from(self->folder)},
        {NL_STR("spark.sql.warehouse.dir"), nl_str_from(self->folder)},
    };
    for (uint32_t i = 0; i < self->conf_count; i++)
        confs[OWN_CONFS + i] = self->confs[i];
    nl_error *error = nl_session_new(confs, OWN_CONFS + self->conf_count, &self->session);
    if (error) printf("no session: %s\n", nl_error_message(error));
    nl_error_free(error);
    return self->session != NULL;
}

static int remove_entry(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts, (void)kind, (void)where;
    return remove(path);
}

static void close_session(runner *self)
{
    enum { OPEN_FOLDERS = 16 };
    nl_session_free(self->session);
    self->session = NULL;
    (void)nftw(self->folder, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

static void run_file(runner *self, const char *path)
{
    size_t length = 0;
    char *text = read_file(path, &length);
    self->path = path;
    if (!text || !open_session(self)) {
        fail(self, nl_str_from(path), "cannot be read", (nl_str){0}, (nl_str){0});
        free(text);
        return;
    }
    nl_str rest = {text, length};
    self->arena = nl_arena_new(NULL);
    self->variables = (nl_list){0};
    nl_property *folder = NL_NEW(self->arena, nl_property);
    *folder = (nl_property){NL_STR("FOLDER"), nl_arena_f(self->arena, "%s/files", self->folder)};
    nl_list_add(self->arena, &self->variables, folder);
    for (nl_str record = take_record(&rest); record.length; record = take_record(&rest))
        run_record(self, record);
    close_session(self);
    nl_arena_free(self->arena);
    free(text);
}

/* Equal, or two numbers that differ in their last digits only: Spark merges partial sums of several partitions. */
static bool same_cells(nl_str expected, nl_str actual)
{
    const double tolerance = 1e-12;
    double wanted = 0, got = 0;
    if (nl_str_equal(expected, actual)) return true;
    if (nl_str_find(expected, NL_STR("."), 0) == NL_NOT_FOUND) return false;
    if (!nl_parse_double(expected, &wanted) || !nl_parse_double(actual, &got)) return false;
    return fabs(wanted - got) <= tolerance * fabs(wanted);
}

/* The rows' own examples: "SELECT <sql>" gives cells divided by tabs, rows by newlines. */
static void run_examples(runner *self)
{
    const nl_function_row *row;
    self->path = "examples";
    self->style = NL_TEXT_HIVE; /* as spark-sql printed them */
    if (!open_session(self)) return;
    for (uint32_t i = 0; (row = nl_function_at(i)) != NULL; i++)
        for (uint32_t j = 0; j < NL_COUNT(row->examples) && row->examples[j].sql; j++) {
            nl_arena *arena = nl_arena_new(NULL);
            nl_builder out;
            nl_builder_init(&out, NL_VALUE_BYTES_MAX);
            const nl_str sql = nl_arena_f(arena, "SELECT %s", row->examples[j].sql);
            nl_error *error = run(self, sql, &out);
            nl_str box = nl_builder_str(&out), line;
            nl_builder cells;
            nl_builder_init(&cells, NL_VALUE_BYTES_MAX);
            (void)nl_str_next_part(&box, '\n', &line);
            while (!error && nl_str_next_part(&box, '\n', &line) && line.length > 1) {
                if (cells.length) nl_append_char(&cells, '\n');
                nl_append(&cells, nl_str_slice(line, 1, line.length - 1));
            }
            nl_builder wanted;
            nl_builder_init(&wanted, NL_VALUE_BYTES_MAX);
            for (const char *c = row->examples[j].result; *c; c++)
                nl_append_char(&wanted, *c == '\t' ? '|' : *c);
            if (error)
                fail(self, sql, row->name, nl_builder_str(&wanted), nl_str_from(nl_error_message(error)));
            else if (!same_cells(nl_builder_str(&wanted), nl_builder_str(&cells)))
                fail(self, sql, row->name, nl_builder_str(&wanted), nl_builder_str(&cells));
            else
                self->passed++;
            nl_error_free(error);
            nl_builder_fini(&wanted);
            nl_builder_fini(&cells);
            nl_builder_fini(&out);
            nl_arena_free(arena);
        }
    close_session(self);
}

int main(int argc, char **argv)
{
    runner self = {.style = NL_TEXT_SHOW};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--examples") == 0) {
            run_examples(&self);
        } else if (strcmp(argv[i], "--any-order") == 0) {
            self.is_any_order = true;
        } else if (strcmp(argv[i], "--conf") == 0 && i + 1 < argc && self.conf_count < NL_COUNT(self.confs)) {
            const nl_str conf = nl_str_from(argv[++i]);
            const size_t at = NL_MIN(nl_str_find(conf, NL_STR("="), 0), conf.length);
            self.confs[self.conf_count++] = (nl_property){nl_str_slice(conf, 0, at), nl_str_slice(conf, NL_MIN(at + 1, conf.length), conf.length)};
        } else {
            run_file(&self, argv[i]);
        }
    }
    printf("%u passed, %u failed\n", self.passed, self.failed);
    return self.failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
