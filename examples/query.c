/* examples/query.c - runs one statement with libnilas and prints its rows as CSV.
 *
 *     cc query.c $(pkg-config --cflags --libs nilas) -o query
 *     ./query "SELECT id, id * 2 AS twice FROM range(3)"
 *
 * Results come as an Arrow C stream: a schema, then arrays of rows, each released by whoever took it. This program reads
 * 64-bit integers and texts by hand; an Arrow library would read all types.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <nilas/arrow.h>
#include <nilas/nilas.h>

static int is_null(const struct ArrowArray *column, int64_t row)
{
    const uint8_t *validity = column->buffers[0]; /* one bit a row, least significant first; NULL: no nulls */
    row += column->offset;
    return validity && !(validity[row / 8] >> (row % 8) & 1);
}

static void print_cell(const char *format, const struct ArrowArray *column, int64_t row)
{
    if (is_null(column, row)) return;
    row += column->offset;
    if (strcmp(format, "l") == 0) {
        const int64_t *values = column->buffers[1];
        printf("%" PRId64, values[row]);
    } else if (strcmp(format, "i") == 0) {
        const int32_t *values = column->buffers[1];
        printf("%" PRId32, values[row]);
    } else if (strcmp(format, "u") == 0) {
        const int32_t *offsets = column->buffers[1];
        const char *bytes = column->buffers[2];
        printf("%.*s", offsets[row + 1] - offsets[row], bytes + offsets[row]);
    } else {
        printf("(type %s)", format);
    }
}

static void print_rows(const struct ArrowSchema *schema, const struct ArrowArray *rows)
{
    for (int64_t row = 0; row < rows->length; row++)
        for (int64_t i = 0; i < rows->n_children; i++) {
            print_cell(schema->children[i]->format, rows->children[i], row + rows->offset);
            putchar(i + 1 < rows->n_children ? ',' : '\n');
        }
}

/* Returns 0, or 1 after telling what went wrong. */
static int print_stream(struct ArrowArrayStream *stream)
{
    struct ArrowSchema schema;
    struct ArrowArray rows;
    int failed = stream->get_schema(stream, &schema);
    if (failed) return fprintf(stderr, "%s\n", stream->get_last_error(stream)), 1;
    for (int64_t i = 0; i < schema.n_children; i++)
        printf("%s%c", schema.children[i]->name, i + 1 < schema.n_children ? ',' : '\n');
    while (!(failed = stream->get_next(stream, &rows)) && rows.release) { /* a released array ends the stream */
        print_rows(&schema, &rows);
        rows.release(&rows);
    }
    if (failed) fprintf(stderr, "%s\n", stream->get_last_error(stream));
    schema.release(&schema);
    return failed != 0;
}

static int report(nilas_error *error)
{
    fprintf(stderr, "%s (condition %s, SQLSTATE %s)\n", nilas_error_message(error), nilas_error_condition(error), nilas_error_sqlstate(error));
    nilas_error_free(error);
    return 1;
}

int main(int argc, char **argv)
{
    const char *sql = argc > 1 ? argv[1] : "SELECT 1 AS one";
    const char *const keys[] = {"spark.sql.session.timeZone"};
    const char *const values[] = {"UTC"};
    nilas_session *session = NULL;
    struct ArrowArrayStream stream;
    nilas_error *error = nilas_session_open(keys, values, 1, &session);
    if (error) return report(error);
    error = nilas_session_run(session, sql, strlen(sql), &stream);
    if (error) {
        nilas_session_close(session);
        return report(error);
    }
    const int failed = print_stream(&stream);
    stream.release(&stream);
    nilas_session_close(session);
    return failed;
}
