/* command/jdbc_write.c - df.write.jdbc: rows into a table of a PostgreSQL or SQLite database. The table is made, emptied or replaced and
 * its rows are written in one transaction: after a failure everything is as before. Rows go as INSERT statements of `batchsize` rows.
 */
#include "command/command_private.h"

#include "base/number.h"
#include "catalog/jdbc/database.h"
#include "column/value.h"
#include "exec/exec.h"
#include "exec/sources.h"

#define STATEMENT_BYTES_MAX (256u << 20)
#define FLUSH_BYTES         (1u << 20)
#define BATCH_ROWS          1000

typedef struct jdbc_writer {
    nl_consumer base;
    nl_command *command;
    nl_jdbc_session *session;
    bool is_postgres;
    nl_str table;
    const nl_column *columns; /* of the query */
    uint32_t column_count;
    nl_str head;              /* "INSERT INTO t (…) VALUES " */
    nl_builder statement;
    uint32_t row_count;       /* in the statement */
    int64_t row_max;
} jdbc_writer;

static nl_str option(const nl_property *options, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is_nocase(options[i].key, key)) return options[i].value;
    return (nl_str){0};
}

static nl_status run(jdbc_writer *self, nl_str sql)
{
    nl_jdbc_result done;
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = nl_jdbc_session_run(self->session, sql, arena, &done);
    nl_arena_free(arena);
    return status;
}

static void append_quoted(nl_builder *out, nl_str text, char quote)
{
    nl_append_char(out, quote);
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == quote) nl_append_char(out, quote);
        nl_append_char(out, text.data[i]);
    }
    nl_append_char(out, quote);
}

/* ---- types ---- */

static nl_status no_type(const jdbc_writer *self, const nl_type *type)
{
    return NL_RAISE(_LEGACY_ERROR_TEMP_2082, NL_P_STR("catalogString", nl_type_name(self->command->arena, type)));
}

/* As PostgresDialect and the common rows of JdbcUtils have it. */
static nl_status database_type(const jdbc_writer *self, const nl_type *type, nl_str *name)
{
    static const struct {
        nl_type_id id;
        const char *postgres, *other;
    } rows[] = {{NL_TYPE_STRING, "TEXT", "TEXT"},       {NL_TYPE_BINARY, "BYTEA", "BLOB"},      {NL_TYPE_BOOLEAN, "BOOLEAN", "BIT(1)"},
                {NL_TYPE_FLOAT, "FLOAT4", "REAL"},      {NL_TYPE_DOUBLE, "FLOAT8", "DOUBLE PRECISION"}, {NL_TYPE_TINYINT, "SMALLINT", "BYTE"},
                {NL_TYPE_SMALLINT, "SMALLINT", "INTEGER"}, {NL_TYPE_INT, "INTEGER", "INTEGER"}, {NL_TYPE_BIGINT, "BIGINT", "BIGINT"},
                {NL_TYPE_DATE, "DATE", NULL},           {NL_TYPE_TIMESTAMP, "TIMESTAMP WITH TIME ZONE", NULL}, {NL_TYPE_TIMESTAMP_NTZ, "TIMESTAMP", NULL}};
    if (type->id == NL_TYPE_DECIMAL) {
        *name = nl_arena_f(self->command->arena, "%s(%d,%d)", self->is_postgres ? "NUMERIC" : "DECIMAL", type->precision, type->scale);
        return NULL;
    }
    if (type->id == NL_TYPE_ARRAY && self->is_postgres && type->children[0].type->id != NL_TYPE_ARRAY) {
        nl_str element;
        NL_TRY(database_type(self, type->children[0].type, &element));
        *name = nl_arena_f(self->command->arena, NL_STR_FMT "[]", NL_STR_ARG(element));
        return NULL;
    }
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const char *found = self->is_postgres ? rows[i].postgres : rows[i].other;
        if (rows[i].id != type->id) continue;
        if (!found) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas writes no dates and times to SQLite, which has no type for them: cast them to strings.");
        *name = nl_str_from(found);
        return NULL;
    }
    return no_type(self, type);
}

/* ---- values ---- */

static void append_bytes(const jdbc_writer *self, nl_str bytes, nl_builder *out)
{
    nl_append_c(out, self->is_postgres ? "'\\x" : "X'");
    for (size_t i = 0; i < bytes.length; i++) nl_append_f(out, "%02x", (uint8_t)bytes.data[i]);
    nl_append_c(out, self->is_postgres ? "'::bytea" : "'");
}

static void append_real(const jdbc_writer *self, double value, nl_str text, nl_builder *out)
{
    const bool is_finite = value - value == 0;
    if (is_finite) nl_append(out, text);
    else if (self->is_postgres) nl_append_f(out, "'%s'::float8", value != value ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    else nl_append_c(out, value != value ? "NULL" : value > 0 ? "9e999" : "-9e999"); /* as SQLite stores them */
}

/* A value that is not null. Times are told in the session's zone, and PostgreSQL is told which that is. */
static nl_status append_value(const jdbc_writer *self, const nl_value *value, nl_builder *out)
{
    const nl_timezone *zone = self->command->confs.zone ? self->command->confs.zone : nl_timezone_utc();
    char text[64];
    switch ((int)value->type->id) {
    case NL_TYPE_STRING: append_quoted(out, value->text, '\''); return NULL;
    case NL_TYPE_BINARY: append_bytes(self, value->text, out); return NULL;
    case NL_TYPE_BOOLEAN: nl_append_c(out, self->is_postgres ? (value->boolean ? "true" : "false") : (value->boolean ? "1" : "0")); return NULL;
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
    case NL_TYPE_BIGINT: nl_append_f(out, "%lld", (long long)value->integer); return NULL;
    case NL_TYPE_DATE: nl_append_f(out, "'%.*s'", (int)nl_format_date((int32_t)value->integer, text), text); return NULL;
    case NL_TYPE_TIMESTAMP: nl_append_f(out, "'%.*s", (int)nl_format_timestamp(nl_timezone_to_local(zone, value->integer), text), text); break;
    case NL_TYPE_TIMESTAMP_NTZ: nl_append_f(out, "'%.*s'", (int)nl_format_timestamp(value->integer, text), text); return NULL;
    default: return no_type(self, value->type);
    }
    const int32_t offset = nl_timezone_offset_at(zone, value->integer);
    const int32_t width = offset < 0 ? -offset : offset;
    nl_append_f(out, "%c%02d:%02d:%02d'", offset < 0 ? '-' : '+', width / 3600, width / 60 % 60, width % 60);
    return NULL;
}

static nl_status append_cell(const jdbc_writer *self, const nl_vector *vector, uint32_t row, nl_arena *arena)
{
    nl_builder *out = (nl_builder *)(uintptr_t)&self->statement;
    const nl_type *type = vector->type;
    nl_str name = {0};
    if (nl_vector_is_null(vector, row)) {
        nl_append_c(out, "NULL");
        return NULL;
    }
    if (type->id == NL_TYPE_DECIMAL) {
        nl_vector_append_text(vector, row, &(nl_text_options){.style = NL_TEXT_CAST}, out);
        return NULL;
    }
    const nl_value value = nl_vector_value(vector, row, arena);
    if (type->id == NL_TYPE_FLOAT || type->id == NL_TYPE_DOUBLE) {
        nl_builder shown;
        nl_builder_init(&shown, 64);
        nl_vector_append_text(vector, row, &(nl_text_options){.style = NL_TEXT_CAST}, &shown);
        append_real(self, value.real, nl_builder_str(&shown), out);
        nl_builder_fini(&shown);
        return NULL;
    }
    if (type->id != NL_TYPE_ARRAY) return append_value(self, &value, out);
    NL_TRY(database_type(self, type, &name));
    nl_append_c(out, "ARRAY[");
    for (uint32_t i = 0; i < value.list.count; i++) {
        const nl_value *item = &value.list.items[i];
        if (i) nl_append_char(out, ',');
        if (item->is_null) nl_append_c(out, "NULL");
        else if (item->type->id == NL_TYPE_DECIMAL || item->type->id == NL_TYPE_FLOAT || item->type->id == NL_TYPE_DOUBLE)
            nl_value_append_text(item, &(nl_text_options){.style = NL_TEXT_CAST}, out);
        else NL_TRY(append_value(self, item, out));
    }
    nl_append_f(out, "]::" NL_STR_FMT, NL_STR_ARG(name));
    return NULL;
}

static nl_status flush(jdbc_writer *self)
{
    if (self->row_count == 0) return NULL;
    if (nl_builder_failed(&self->statement)) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A statement for a database is longer than %u bytes.", STATEMENT_BYTES_MAX);
    NL_TRY(run(self, nl_builder_str(&self->statement)));
    nl_builder_clear(&self->statement);
    self->row_count = 0;
    return NULL;
}

static nl_status consume(nl_consumer *base, nl_batch *batch)
{
    jdbc_writer *self = NL_CONTAINER(base, jdbc_writer, base);
    const nl_selection live = nl_batch_selection(batch);
    nl_arena *arena = nl_arena_new(self->command->memory);
    nl_status status = NULL;
    for (uint32_t i = 0; i < live.count && !status; i++) {
        if (self->row_count == 0) nl_append(&self->statement, self->head);
        nl_append_c(&self->statement, self->row_count ? ", (" : "(");
        for (uint32_t c = 0; c < self->column_count && !status; c++) {
            if (c) nl_append_char(&self->statement, ',');
            status = append_cell(self, &batch->columns[c], nl_selection_row(live, i), arena);
        }
        nl_append_char(&self->statement, ')');
        self->row_count++;
        if (!status && (self->row_count >= self->row_max || self->statement.length >= FLUSH_BYTES)) status = flush(self);
    }
    if (!status) status = nl_arena_check(arena);
    nl_arena_free(arena);
    return status;
}

/* ---- the table ---- */

static nl_status find_table(jdbc_writer *self, nl_jdbc_result *columns, bool *exists)
{
    nl_arena *arena = self->command->arena;
    nl_error *error = nl_jdbc_session_describe(self->session, nl_arena_f(arena, "SELECT * FROM " NL_STR_FMT " WHERE 1=0", NL_STR_ARG(self->table)), arena, columns);
    *exists = !error;
    nl_error_free(error); /* as Spark: what cannot be asked is not there */
    return nl_arena_check(arena);
}

/* "a VARCHAR(10), `b` INT": what the option says of a column; data NULL: nothing. */
static nl_str declared_type(nl_str declarations, nl_str column)
{
    size_t start = 0;
    uint32_t depth = 0;
    for (size_t at = 0; at <= declarations.length; at++) {
        const char c = at < declarations.length ? declarations.data[at] : ',';
        depth += c == '(';
        if (c == ')' && depth) depth--;
        if (c != ',' || (depth && at < declarations.length)) continue;
        const nl_str part = nl_str_trim(nl_str_slice(declarations, start, at));
        const size_t space = nl_str_find_char(part, ' ', 0);
        start = at + 1;
        if (space == NL_NOT_FOUND) continue;
        nl_str name = nl_str_slice(part, 0, space);
        if (name.length > 2 && name.data[0] == '`') name = nl_str_slice(name, 1, name.length - 1);
        if (nl_str_equal_nocase(name, column)) return nl_str_trim(nl_str_slice(part, space, part.length));
    }
    return (nl_str){0};
}

static nl_status create_table(jdbc_writer *self, const nl_property *options, uint32_t option_count)
{
    nl_builder sql;
    nl_builder_init(&sql, 1 << 22);
    nl_append_f(&sql, "CREATE TABLE " NL_STR_FMT " (", NL_STR_ARG(self->table));
    nl_status status = NULL;
    for (uint32_t i = 0; i < self->column_count && !status; i++) {
        nl_str type = declared_type(option(options, option_count, "createTableColumnTypes"), self->columns[i].name);
        if (!type.data) status = database_type(self, self->columns[i].type, &type);
        if (i) nl_append_c(&sql, ", ");
        append_quoted(&sql, self->columns[i].name, '"');
        nl_append_f(&sql, " " NL_STR_FMT "%s", NL_STR_ARG(type), self->columns[i].is_nullable ? "" : " NOT NULL");
    }
    nl_append_f(&sql, ") " NL_STR_FMT, NL_STR_ARG(option(options, option_count, "createTableOptions")));
    if (!status) status = run(self, nl_builder_str(&sql));
    nl_builder_fini(&sql);
    return status;
}

/* Each column of the query must be one of the table's. */
static nl_status check_columns(const jdbc_writer *self, const nl_jdbc_result *table)
{
    nl_arena *arena = self->command->arena;
    for (uint32_t i = 0; i < self->column_count; i++) {
        bool is_there = false;
        for (uint32_t k = 0; k < table->row_count && !is_there; k++) is_there = nl_str_equal_nocase(self->columns[i].name, table->values[(size_t)k * 2]);
        if (is_there) continue;
        nl_builder known;
        nl_builder_init(&known, 1 << 16);
        for (uint32_t k = 0; k < self->column_count; k++) nl_append_f(&known, "%s`" NL_STR_FMT "`", k ? ", " : "", NL_STR_ARG(self->columns[k].name));
        nl_status status = NL_RAISE(COLUMN_NOT_DEFINED_IN_TABLE, NL_P_STR("colType", nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(arena, self->columns[i].type)))),
                                    NL_P_STR("colName", nl_arena_f(arena, "`" NL_STR_FMT "`", NL_STR_ARG(self->columns[i].name))),
                                    NL_P_STR("tableName", nl_arena_f(arena, "`" NL_STR_FMT "`", NL_STR_ARG(self->table))), NL_P_STR("tableCols", nl_builder_str(&known)));
        nl_builder_fini(&known);
        return status;
    }
    return NULL;
}

/* The table's own spelling of a column's name. */
static nl_str own_name(const nl_jdbc_result *table, nl_str name)
{
    for (uint32_t k = 0; k < table->row_count; k++)
        if (nl_str_equal_nocase(name, table->values[(size_t)k * 2])) return table->values[(size_t)k * 2];
    return name;
}

static void make_head(jdbc_writer *self, const nl_jdbc_result *table)
{
    nl_builder head;
    nl_builder_init(&head, 1 << 20);
    nl_append_f(&head, "INSERT INTO " NL_STR_FMT " (", NL_STR_ARG(self->table));
    for (uint32_t i = 0; i < self->column_count; i++) {
        if (i) nl_append_char(&head, ',');
        append_quoted(&head, own_name(table, self->columns[i].name), '"');
    }
    nl_append_c(&head, ") VALUES ");
    self->head = nl_arena_str(self->command->arena, nl_builder_str(&head));
    nl_builder_fini(&head);
}

static nl_status prepare_table(jdbc_writer *self, nl_ast_directory_mode mode, const nl_property *options, uint32_t option_count, bool *is_needed)
{
    nl_jdbc_result table = {0};
    bool exists = false;
    const bool truncates = nl_str_is_nocase(option(options, option_count, "truncate"), "true") && self->is_postgres;
    NL_TRY(find_table(self, &table, &exists));
    *is_needed = !exists || mode != NL_AST_DIRECTORY_IGNORE;
    if (!*is_needed) return NULL;
    if (exists && mode == NL_AST_DIRECTORY_ERROR) return NL_RAISE(_LEGACY_ERROR_TEMP_1288, NL_P_STR("name", self->table));
    const bool is_replaced = exists && mode == NL_AST_DIRECTORY_OVERWRITE && !truncates;
    NL_TRY(run(self, NL_STR("BEGIN")));
    if (self->is_postgres) NL_TRY(run(self, NL_STR("SET LOCAL standard_conforming_strings = on"))); /* a backslash in a text means itself */
    if (is_replaced) NL_TRY(run(self, nl_arena_f(self->command->arena, "DROP TABLE " NL_STR_FMT, NL_STR_ARG(self->table))));
    if (exists && !is_replaced) NL_TRY(check_columns(self, &table));
    if (exists && mode == NL_AST_DIRECTORY_OVERWRITE && truncates) NL_TRY(run(self, nl_arena_f(self->command->arena, "TRUNCATE TABLE ONLY " NL_STR_FMT, NL_STR_ARG(self->table))));
    if (!exists || is_replaced) {
        NL_TRY(create_table(self, options, option_count));
        table.row_count = 0;
    }
    make_head(self, &table);
    return NULL;
}

/* ---- the whole ---- */

static nl_status write_rows(jdbc_writer *self, const nl_ast_insert_target *target, const nl_logical *plan, const nl_property *options, uint32_t option_count)
{
    const nl_logical *optimized = NULL;
    bool is_needed = true;
    nl_str ignored;
    for (uint32_t i = 0; i < self->column_count; i++) NL_TRY(database_type(self, self->columns[i].type, &ignored));
    NL_TRY(prepare_table(self, target->directory_mode, options, option_count, &is_needed));
    if (!is_needed) return NULL;
    NL_TRY(nl_command_optimize(self->command, plan, &optimized));
    NL_TRY(nl_query_run(&self->command->query, optimized, &self->base));
    NL_TRY(flush(self));
    return run(self, NL_STR("COMMIT")); /* what failed before is rolled back when the connection is closed */
}

/* "user", "password" and whatever else the driver may know, as a catalog would have them. */
static nl_property *driver_properties(nl_command *command, const nl_property *options, uint32_t count)
{
    nl_property *properties = NL_NEW_ARRAY(command->arena, nl_property, count + 1);
    for (uint32_t i = 0; i < count; i++) properties[i] = (nl_property){nl_arena_f(command->arena, "jdbc." NL_STR_FMT, NL_STR_ARG(options[i].key)), options[i].value};
    return properties;
}

nl_status nl_command_jdbc_write(nl_command *command, const nl_ast_insert_target *target, const nl_logical *plan, const nl_property *options, uint32_t option_count)
{
    nl_property *kept = NL_NEW_ARRAY(command->arena, nl_property, option_count + 1);
    uint32_t kept_count = 0;
    jdbc_writer self = {.base.consume = consume, .command = command, .table = option(options, option_count, "dbtable"), .columns = plan->columns, .column_count = plan->column_count, .row_max = BATCH_ROWS};
    const nl_str url = option(options, option_count, "url"), batch = option(options, option_count, "batchsize");
    if (nl_session_is_confined(command->session)) return NL_RAISE(DATA_SOURCE_NOT_FOUND, NL_P("provider", "jdbc"));
    if (target->folder_column_count) return NL_RAISE(_LEGACY_ERROR_TEMP_1197, NL_P("operation", "jdbc"));
    if (!url.data) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Option 'url' is required.");
    if (!self.table.data) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Option 'dbtable' is required. Option 'query' is not applicable while writing.");
    if (batch.data && (!nl_parse_int64(batch, &self.row_max) || self.row_max < 1))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Invalid value `" NL_STR_FMT "` for parameter `batchsize`. The minimum value is 1.", NL_STR_ARG(batch));
    self.is_postgres = nl_str_starts(url, NL_STR("jdbc:postgresql:"));
    for (uint32_t i = 0; i < option_count; i++)
        if (!nl_jdbc_is_own_option(options[i].key)) kept[kept_count++] = options[i];
    nl_builder_init(&self.statement, STATEMENT_BYTES_MAX);
    nl_status status = nl_jdbc_session_open(url, driver_properties(command, kept, kept_count), kept_count, &self.session);
    if (!status) status = write_rows(&self, target, plan, options, option_count);
    nl_jdbc_session_close(self.session);
    nl_builder_fini(&self.statement);
    return status;
}
