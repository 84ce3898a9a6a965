/* lakehouse/athena/results.c - pages of a result, read from its file: the token is the byte where the next one begins. */
#include "lakehouse/athena/athena_private.h"

#include <stdlib.h>

#include "base/number.h"

#define ROWS_MAX   1000
#define CHUNK_BYTES (256u << 10)

typedef struct reader {
    nl_file *file;     /* owned */
    uint8_t *bytes;    /* owned */
    uint64_t offset;   /* of bytes[0] in the file */
    size_t length, at; /* bytes there; the next one */
} reader;

/* -1: the end of the file. */
static nl_status next_byte(reader *self, int *byte)
{
    if (self->at == self->length) {
        const uint64_t from = self->offset + self->length, size = nl_file_size(self->file);
        const size_t wanted = (size_t)NL_MIN((uint64_t)CHUNK_BYTES, size - from);
        *byte = -1;
        if (wanted == 0) return NULL;
        NL_TRY(nl_file_read(self->file, from, wanted, self->bytes));
        self->offset = from;
        self->length = wanted;
        self->at = 0;
    }
    *byte = self->bytes[self->at++];
    return NULL;
}

static uint64_t position(const reader *self)
{
    return self->offset + self->at;
}

/* One cell of the form that run.c writes; *end: ',' or '\t', '\n', or -1 at the end of the file. */
static nl_status read_cell(reader *self, bool is_csv, nl_builder *cell, bool *is_null, int *end)
{
    int byte;
    nl_builder_clear(cell);
    NL_TRY(next_byte(self, &byte));
    *is_null = is_csv && byte != '"';
    if (is_csv && byte == '"') {
        for (;;) {
            NL_TRY(next_byte(self, &byte));
            if (byte == '"') {
                NL_TRY(next_byte(self, &byte));
                if (byte != '"') break;
            }
            if (byte < 0) break;
            nl_append_char(cell, (char)byte);
        }
    } else {
        while (byte >= 0 && byte != '\n' && byte != (is_csv ? ',' : '\t')) {
            nl_append_char(cell, (char)byte);
            NL_TRY(next_byte(self, &byte));
        }
    }
    *end = byte;
    return NULL;
}

/* A line as {"Data":[{"VarCharValue":…},{}]}. A text result is one column, whatever it had. */
static nl_status write_row(reader *self, bool is_csv, nl_builder *cell, nl_json_writer *json)
{
    nl_json_begin(json, '{');
    nl_json_key(json, "Data");
    nl_json_begin(json, '[');
    for (int end = ','; end == ',' || end == '\t';) {
        bool is_null;
        NL_TRY(read_cell(self, is_csv, cell, &is_null, &end));
        nl_json_begin(json, '{');
        if (!is_null) nl_athena_write_text(json, "VarCharValue", nl_builder_str(cell));
        nl_json_end(json, '}');
    }
    nl_json_end(json, ']');
    nl_json_end(json, '}');
    return NULL;
}

static nl_status write_page(nl_athena_call *call, reader *self, const json_t *execution, bool is_csv, int64_t row_count)
{
    nl_builder cell;
    nl_json_writer json = nl_athena_begin(call);
    nl_builder_init(&cell, NL_VALUE_BYTES_MAX);
    nl_status status = NULL;
    const int64_t updates = (int64_t)json_integer_value(json_object_get(execution, "_UpdateCount"));
    if (updates >= 0) {
        nl_json_key(&json, "UpdateCount");
        nl_json_write_int(&json, updates);
    }
    nl_json_key(&json, "ResultSet");
    nl_json_begin(&json, '{');
    nl_json_key(&json, "Rows");
    nl_json_begin(&json, '[');
    for (int64_t i = 0; !status && i < row_count && position(self) < nl_file_size(self->file); i++) status = write_row(self, is_csv, &cell, &json);
    nl_json_end(&json, ']');
    nl_json_key(&json, "ResultSetMetadata");
    nl_json_begin(&json, '{');
    nl_json_key(&json, "ColumnInfo");
    nl_json_write_json(&json, json_object_get(execution, "_Columns"));
    nl_json_end(&json, '}');
    nl_json_end(&json, '}');
    if (position(self) < nl_file_size(self->file))
        nl_athena_write_text(&json, "NextToken", nl_arena_f(call->arena, "%llu", (unsigned long long)position(self)));
    nl_athena_end(call, &json);
    nl_builder_fini(&cell);
    return status;
}

nl_status nl_athena_get_results(nl_athena_call *call)
{
    nl_str id;
    const json_t *execution;
    int64_t size, offset = 0;
    nl_fs *fs;
    NL_TRY(nl_athena_need(call, "QueryExecutionId", &id));
    NL_TRY(nl_athena_page_size(call, "MaxResults", ROWS_MAX, &size));
    NL_TRY(nl_athena_find_execution(call, id, &execution));
    const nl_str state = nl_athena_text(call, json_object_get(execution, "Status"), "State");
    if (nl_str_is(state, "FAILED")) {
        const nl_str reason = nl_athena_text(call, json_object_get(execution, "Status"), "StateChangeReason");
        return nl_athena_invalid(call, "Query did not finish successfully. Final query state: FAILED (" NL_STR_FMT ")", NL_STR_ARG(reason));
    }
    if (nl_str_is(state, "CANCELLED")) return nl_athena_invalid(call, "Query did not finish successfully. Final query state: CANCELLED");
    if (!nl_str_is(state, "SUCCEEDED")) return nl_athena_invalid(call, "Query has not yet finished. Current state: " NL_STR_FMT, NL_STR_ARG(state));
    const nl_str path = nl_athena_text(call, json_object_get(execution, "ResultConfiguration"), "OutputLocation"), token = nl_athena_text(call, call->body, "NextToken");
    reader self = {0};
    NL_TRY(nl_tables_fs(call->athena->tables, path, &fs));
    nl_error *error = nl_fs_open(fs, path, &self.file);
    if (error) {
        nl_error_free(error);
        return nl_athena_invalid(call, "Could not find results at " NL_STR_FMT, NL_STR_ARG(path));
    }
    nl_status status = NULL;
    if (token.length && (!nl_parse_int64(token, &offset) || offset < 0 || (uint64_t)offset > nl_file_size(self.file))) status = nl_athena_invalid(call, "NextToken is not valid");
    self.offset = (uint64_t)offset;
    self.bytes = malloc(CHUNK_BYTES);
    if (!status && !self.bytes) status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", CHUNK_BYTES), NL_P("receivedBytes", "0"));
    if (!status) status = write_page(call, &self, execution, nl_str_ends(path, NL_STR(".csv")), size);
    free(self.bytes);
    nl_file_close(self.file);
    return status;
}
