/* exec/source/jdbc_source.c - a table or query of a PostgreSQL or SQLite database: spark.read.jdbc. Rows are fetched as texts, a
 * bounded number at a time, and read as casts read them. Partitions (partitionColumn, predicates) are read side by side, each over a
 * connection of its own; filters are applied here. */
#include "exec/sources.h"

#include <stdlib.h>

#include "base/number.h"
#include "catalog/jdbc/database.h"
#include "exec/expression.h"
#include "format/text/text_value.h"

#define FETCH_ROWS      2000
#define PARTITIONS_MAX  1000
#define TYPES_TABLE     "nilas_columns"

typedef struct jdbc_source {
    nl_table base;
    nl_arena *arena; /* owned */
    nl_str url;
    nl_property *properties; /* "jdbc.user" … */
    uint32_t property_count;
    nl_str relation;         /* "table" or "(SELECT …) AS spark_gen" */
    bool is_postgres;
    const bool *has_zone;    /* per column: timestamps of a time zone */
    nl_str *conditions;      /* of the partitions; empty: all rows */
    uint32_t partition_count;
    int64_t fetch_rows;
    nl_text_formats formats, utc;
} jdbc_source;

typedef struct jdbc_scan {
    nl_scan base;
    const jdbc_source *source; /* counted */
    nl_query *query;
    const nl_logical *node;
    nl_program *filter;        /* or NULL */
    atomic_uint next_partition;
} jdbc_scan;

typedef struct jdbc_reader {
    nl_scan_reader base;
    nl_program_state *filter;
    nl_jdbc_database *database; /* of the partition being read; or NULL */
    uint32_t partition;
    int64_t row_offset;
} jdbc_reader;

static const jdbc_source *source_of(const nl_table *table)
{
    return (const jdbc_source *)(const void *)table;
}

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P("receivedBytes", "0"));
}

static nl_status run(nl_jdbc_database *database, nl_str sql, nl_arena *arena, nl_jdbc_result *result)
{
    if (nl_str_find_char(sql, '?', 0) != NL_NOT_FOUND)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A question mark in a query for a database is not supported: " NL_STR_FMT, NL_STR_ARG(sql));
    return nl_jdbc_run(database, nl_str_c(arena, sql), NULL, 0, arena, result);
}

static nl_str quoted(nl_arena *arena, nl_str name)
{
    nl_builder out;
    nl_builder_init(&out, 1 << 16);
    nl_append_char(&out, '"');
    for (size_t i = 0; i < name.length; i++) {
        if (name.data[i] == '"') nl_append_char(&out, '"');
        nl_append_char(&out, name.data[i]);
    }
    nl_append_char(&out, '"');
    const nl_str made = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return made;
}

/* ---- types ---- */

/* "numeric(10,2)" → 10, 2. */
static const nl_type *decimal_of(nl_str type)
{
    const size_t open = nl_str_find_char(type, '(', 0), comma = nl_str_find_char(type, ',', 0), close = nl_str_find_char(type, ')', 0);
    int64_t precision = 38, scale = 18;
    if (open == NL_NOT_FOUND || close == NL_NOT_FOUND || !nl_parse_int64(nl_str_slice(type, open + 1, NL_MIN(comma, close)), &precision)) return nl_type_decimal(38, 18);
    scale = 0;
    if (comma != NL_NOT_FOUND && !nl_parse_int64(nl_str_slice(type, comma + 1, close), &scale)) scale = 0;
    if (precision > 38) { /* as Spark bounds them */
        scale = NL_MAX(0, scale - (precision - 38));
        precision = 38;
    }
    return precision < 1 || scale < 0 || scale > precision ? nl_type_decimal(38, 18) : nl_type_decimal((int)precision, (int)scale);
}

typedef struct type_row {
    const char *start; /* of the database's name for it */
    nl_type_id id;
} type_row;

static const type_row postgres_types[] = {
    {"boolean", NL_TYPE_BOOLEAN}, {"smallint", NL_TYPE_SMALLINT}, {"integer", NL_TYPE_INT}, {"bigint", NL_TYPE_BIGINT}, {"oid", NL_TYPE_BIGINT}, {"real", NL_TYPE_FLOAT},
    {"double precision", NL_TYPE_DOUBLE}, {"date", NL_TYPE_DATE}, {"timestamp", NL_TYPE_TIMESTAMP}, {"bytea", NL_TYPE_BINARY}, {"text", NL_TYPE_STRING},
    {"character", NL_TYPE_STRING}, {"uuid", NL_TYPE_STRING}, {"json", NL_TYPE_STRING}, {"name", NL_TYPE_STRING}, {"inet", NL_TYPE_STRING}, {"cidr", NL_TYPE_STRING},
    {"xml", NL_TYPE_STRING}, {"\"char\"", NL_TYPE_STRING}, {"interval", NL_TYPE_STRING}, {"citext", NL_TYPE_STRING},
};
static const type_row sqlite_types[] = {
    {"bool", NL_TYPE_BOOLEAN}, {"tinyint", NL_TYPE_SMALLINT}, {"smallint", NL_TYPE_SMALLINT}, {"bigint", NL_TYPE_BIGINT}, {"int8", NL_TYPE_BIGINT}, {"int", NL_TYPE_INT},
    {"real", NL_TYPE_DOUBLE}, {"float", NL_TYPE_DOUBLE}, {"double", NL_TYPE_DOUBLE}, {"date", NL_TYPE_STRING}, {"timestamp", NL_TYPE_STRING}, {"blob", NL_TYPE_BINARY},
    {"", NL_TYPE_STRING},
};

static nl_status column_type(const jdbc_source *self, nl_str column, nl_str name, const nl_type **type)
{
    const type_row *rows = self->is_postgres ? postgres_types : sqlite_types;
    const size_t count = self->is_postgres ? NL_COUNT(postgres_types) : NL_COUNT(sqlite_types);
    nl_builder lower;
    nl_builder_init(&lower, 1 << 12);
    for (size_t i = 0; i < name.length; i++) nl_append_char(&lower, name.data[i] >= 'A' && name.data[i] <= 'Z' ? (char)(name.data[i] | 0x20) : name.data[i]);
    const nl_str text = nl_arena_str(self->arena, nl_builder_str(&lower));
    nl_builder_fini(&lower);
    const bool is_decimal = nl_str_starts(text, NL_STR("numeric")) || nl_str_starts(text, NL_STR("decimal"));
    const bool is_array = nl_str_ends(text, NL_STR("[]"));
    for (size_t i = 0; !is_decimal && !is_array && i < count; i++) {
        if (!nl_str_starts(text, nl_str_from(rows[i].start))) continue;
        *type = nl_type_of(rows[i].id);
        return NULL;
    }
    if (!is_decimal || is_array)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The column " NL_STR_FMT " has the type " NL_STR_FMT ", which nilas does not read: cast it to text in a query.", NL_STR_ARG(column),
                             NL_STR_ARG(name));
    *type = decimal_of(text);
    return NULL;
}

static nl_status describe(jdbc_source *self, nl_jdbc_database *database, nl_arena *arena, nl_jdbc_result *columns)
{
    nl_jdbc_result done;
    if (!self->is_postgres) {
        NL_TRY(run(database, nl_arena_f(arena, "CREATE TEMP VIEW " TYPES_TABLE " AS SELECT * FROM " NL_STR_FMT, NL_STR_ARG(self->relation)), arena, &done));
        return run(database, NL_STR("SELECT name, type FROM pragma_table_info('" TYPES_TABLE "')"), arena, columns);
    }
    NL_TRY(run(database, nl_arena_f(arena, "CREATE TEMP TABLE " TYPES_TABLE " AS SELECT * FROM " NL_STR_FMT " WITH NO DATA", NL_STR_ARG(self->relation)), arena, &done));
    return run(database,
               NL_STR("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'pg_temp." TYPES_TABLE "'::regclass AND attnum > 0 ORDER BY attnum"), arena,
               columns);
}

static nl_status read_schema(jdbc_source *self, nl_memory *memory)
{
    nl_jdbc_database *database = NULL;
    nl_jdbc_result columns = {0};
    nl_arena *arena = nl_arena_new(memory);
    nl_status status = nl_jdbc_open(self->url, self->properties, self->property_count, 1, &database);
    if (!status) status = describe(self, database, arena, &columns);
    nl_field *fields = NL_NEW_ARRAY(self->arena, nl_field, columns.row_count + 1);
    bool *has_zone = NL_NEW_ARRAY(self->arena, bool, columns.row_count + 1);
    for (uint32_t i = 0; !status && i < columns.row_count; i++) {
        const nl_str name = nl_arena_str(self->arena, columns.values[(size_t)i * 2]), type = columns.values[(size_t)i * 2 + 1];
        fields[i] = (nl_field){.name = name, .is_nullable = true};
        has_zone[i] = nl_str_ends(type, NL_STR("with time zone"));
        status = column_type(self, name, type, &fields[i].type);
    }
    nl_jdbc_close(database);
    nl_arena_free(arena);
    self->has_zone = has_zone;
    if (!status) self->base.row_type = nl_type_struct(self->arena, fields, columns.row_count);
    return nl_note_if(status, NL_HERE, "asking a database for its columns");
}

/* ---- options ---- */

static nl_str option(const nl_property *options, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is_nocase(options[i].key, key)) return options[i].value;
    return (nl_str){0};
}

static nl_status number(const nl_property *options, uint32_t count, const char *key, int64_t *value)
{
    const nl_str text = option(options, count, key);
    if (!text.data || nl_parse_int64(text, value)) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The option %s must be a number, not " NL_STR_FMT, key, NL_STR_ARG(text));
}

/* Ranges of a column, as Spark cuts them. */
static nl_status cut_column(jdbc_source *self, nl_str column, const nl_property *options, uint32_t count)
{
    int64_t lower = 0, upper = 0, parts = 0;
    if (!option(options, count, "lowerBound").data || !option(options, count, "upperBound").data || !option(options, count, "numPartitions").data)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: When reading JDBC data sources, users need to specify all or none for the following options: "
                                                     "'partitionColumn', 'lowerBound', 'upperBound', and 'numPartitions'");
    NL_TRY(number(options, count, "lowerBound", &lower));
    NL_TRY(number(options, count, "upperBound", &upper));
    NL_TRY(number(options, count, "numPartitions", &parts));
    if (lower > upper)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Operation not allowed: the lower bound of partitioning column is larger than the upper bound. Lower bound: %lld; Upper bound: %lld",
                             (long long)lower, (long long)upper);
    parts = NL_MAX(1, NL_MIN(NL_MIN(parts, upper - lower), PARTITIONS_MAX));
    self->conditions = NL_NEW_ARRAY(self->arena, nl_str, (size_t)parts);
    self->partition_count = (uint32_t)parts;
    const int64_t stride = upper / parts - lower / parts;
    const nl_str name = quoted(self->arena, column);
    for (int64_t i = 0, at = lower; i < parts && parts > 1; i++, at += stride) {
        const int64_t next = at + stride;
        if (i == 0)
            self->conditions[i] = nl_arena_f(self->arena, NL_STR_FMT " < %lld OR " NL_STR_FMT " IS NULL", NL_STR_ARG(name), (long long)next, NL_STR_ARG(name));
        else if (i == parts - 1)
            self->conditions[i] = nl_arena_f(self->arena, NL_STR_FMT " >= %lld", NL_STR_ARG(name), (long long)at);
        else
            self->conditions[i] = nl_arena_f(self->arena, NL_STR_FMT " >= %lld AND " NL_STR_FMT " < %lld", NL_STR_ARG(name), (long long)at, NL_STR_ARG(name), (long long)next);
    }
    return NULL;
}

static nl_status cut(jdbc_source *self, const nl_property *options, uint32_t count)
{
    const nl_str column = option(options, count, "partitionColumn");
    uint32_t predicate_count = 0;
    for (uint32_t i = 0; i < count; i++) predicate_count += nl_str_is(options[i].key, NL_JDBC_PREDICATE);
    if (predicate_count == 0 && column.data) return cut_column(self, column, options, count);
    self->conditions = NL_NEW_ARRAY(self->arena, nl_str, predicate_count + 1);
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is(options[i].key, NL_JDBC_PREDICATE)) self->conditions[self->partition_count++] = nl_arena_str(self->arena, options[i].value);
    self->partition_count = NL_MAX(1u, self->partition_count);
    return NULL;
}

/* Spark's own options; others are the driver's. */
static bool is_spark_option(nl_str key)
{
    static const char *const keys[] = {"url", "dbtable", "query", "driver", "partitionColumn", "lowerBound", "upperBound", "numPartitions", "fetchsize", "batchsize", "queryTimeout",
                                       "pushDownPredicate", "pushDownAggregate", "pushDownLimit", "pushDownOffset", "pushDownTableSample", "preferTimestampNTZ", "isolationLevel",
                                       "truncate", "cascadeTruncate", "keytab", "principal", "refreshKrb5Config", "connectionProvider", "hint", NL_JDBC_PREDICATE};
    for (size_t i = 0; i < NL_COUNT(keys); i++)
        if (nl_str_is_nocase(key, keys[i])) return true;
    return false;
}

static nl_status read_options(jdbc_source *self, const nl_property *options, uint32_t count)
{
    const nl_str url = option(options, count, "url"), table = option(options, count, "dbtable"), query = option(options, count, "query");
    if (!url.data) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Option 'url' is required.");
    if (!table.data == !query.data)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, table.data ? "Both 'dbtable' and 'query' can not be specified at the same time." : "Option 'dbtable' or 'query' is required.");
    if (option(options, count, "customSchema").data || option(options, count, "sessionInitStatement").data || option(options, count, "prepareQuery").data)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "customSchema, sessionInitStatement and prepareQuery of JDBC sources are not supported.");
    self->url = nl_arena_str(self->arena, url);
    self->is_postgres = nl_str_starts(self->url, NL_STR("jdbc:postgresql:"));
    self->relation = table.data ? nl_arena_str(self->arena, table) : nl_arena_f(self->arena, "(" NL_STR_FMT ") AS spark_gen_alias", NL_STR_ARG(query));
    self->properties = NL_NEW_ARRAY(self->arena, nl_property, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (is_spark_option(options[i].key)) continue;
        self->properties[self->property_count++] =
            (nl_property){nl_arena_f(self->arena, "jdbc." NL_STR_FMT, NL_STR_ARG(options[i].key)), nl_arena_str(self->arena, options[i].value)};
    }
    self->fetch_rows = 0;
    NL_TRY(number(options, count, "fetchsize", &self->fetch_rows));
    self->fetch_rows = self->fetch_rows < 1 ? FETCH_ROWS : NL_MIN(self->fetch_rows, NL_BATCH_ROWS);
    return cut(self, options, count);
}

/* ---- reading ---- */

static nl_str select_of(const jdbc_scan *scan, uint32_t partition, nl_arena *arena)
{
    const jdbc_source *source = scan->source;
    nl_builder sql;
    nl_builder_init(&sql, 1 << 20);
    nl_append_c(&sql, "SELECT ");
    for (uint32_t i = 0; i < scan->node->column_count; i++) {
        const uint32_t at = scan->node->scan.table_columns[i];
        const nl_str name = quoted(arena, source->base.row_type->children[at].name);
        if (source->is_postgres)
            nl_append_f(&sql, "%sCAST(" NL_STR_FMT "%s AS text)", i ? ", " : "", NL_STR_ARG(name), source->has_zone[at] ? " AT TIME ZONE 'UTC'" : "");
        else
            nl_append_f(&sql, "%s" NL_STR_FMT, i ? ", " : "", NL_STR_ARG(name));
    }
    if (scan->node->column_count == 0) nl_append_c(&sql, "1");
    nl_append_f(&sql, " FROM " NL_STR_FMT, NL_STR_ARG(source->relation));
    const nl_str condition = source->conditions[partition];
    if (condition.length) nl_append_f(&sql, " WHERE " NL_STR_FMT, NL_STR_ARG(condition));
    const nl_str made = nl_arena_str(arena, nl_builder_str(&sql));
    nl_builder_fini(&sql);
    return made;
}

static nl_status open_partition(jdbc_reader *self)
{
    const jdbc_scan *scan = NL_CONTAINER(self->base.scan, jdbc_scan, base);
    nl_jdbc_result done;
    NL_TRY(nl_jdbc_open(scan->source->url, scan->source->properties, scan->source->property_count, 1, &self->database));
    self->row_offset = 0;
    if (!scan->source->is_postgres) return NULL;
    nl_arena *arena = nl_arena_new(scan->query->memory);
    nl_status status =
        run(self->database, nl_arena_f(arena, "DECLARE nilas_rows CURSOR WITH HOLD FOR " NL_STR_FMT, NL_STR_ARG(select_of(scan, self->partition, arena))), arena, &done);
    nl_arena_free(arena);
    return status;
}

static nl_status fetch(jdbc_reader *self, nl_arena *arena, nl_jdbc_result *rows)
{
    const jdbc_scan *scan = NL_CONTAINER(self->base.scan, jdbc_scan, base);
    const long long count = (long long)scan->source->fetch_rows;
    const nl_str sql = scan->source->is_postgres
                           ? nl_arena_f(arena, "FETCH FORWARD %lld FROM nilas_rows", count)
                           : nl_arena_f(arena, NL_STR_FMT " LIMIT %lld OFFSET %lld", NL_STR_ARG(select_of(scan, self->partition, arena)), count, (long long)self->row_offset);
    NL_TRY(run(self->database, sql, arena, rows));
    self->row_offset += rows->row_count;
    return NULL;
}

static bool hex_bytes(nl_arena *arena, nl_str text, nl_str *bytes)
{
    char *made = NL_NEW_ARRAY(arena, char, text.length / 2 + 1);
    for (size_t i = 2; i + 1 < text.length; i += 2) {
        int pair = 0;
        for (size_t k = i; k < i + 2; k++) {
            const char c = text.data[k];
            pair = pair * 16 + (c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 0);
        }
        made[i / 2 - 1] = (char)pair;
    }
    *bytes = (nl_str){made, text.length >= 2 ? text.length / 2 - 1 : 0};
    return nl_str_starts(text, NL_STR("\\x"));
}

static bool whole_number(const nl_type *type, nl_str text, nl_value *value)
{
    static const int64_t most[] = {[NL_TYPE_SMALLINT] = INT16_MAX, [NL_TYPE_INT] = INT32_MAX, [NL_TYPE_BIGINT] = INT64_MAX};
    int64_t number;
    if (!nl_parse_int64(text, &number) || number > most[type->id] || number < -most[type->id] - 1) return false;
    *value = nl_value_int(type, number);
    return true;
}

static bool truth(nl_str text, nl_value *value)
{
    bool is_true;
    if (!nl_cast_bool(text, &is_true)) return false;
    *value = nl_value_int(nl_type_boolean(), is_true);
    return true;
}

static nl_status value_of(const jdbc_source *source, uint32_t column, nl_str text, nl_arena *arena, nl_value *value)
{
    const nl_field *field = &source->base.row_type->children[column];
    *value = nl_value_null(field->type);
    if (!text.data) return NULL;
    bool is_read = true;
    if (field->type->id == NL_TYPE_STRING) {
        *value = nl_value_string(text);
    } else if (field->type->id == NL_TYPE_BINARY) {
        nl_str bytes = text;
        is_read = !source->is_postgres || hex_bytes(arena, text, &bytes);
        *value = nl_value_string(bytes);
        value->type = field->type;
    } else if (field->type->id == NL_TYPE_BOOLEAN) {
        is_read = truth(text, value);
    } else if (field->type->id == NL_TYPE_SMALLINT || field->type->id == NL_TYPE_INT || field->type->id == NL_TYPE_BIGINT) {
        is_read = whole_number(field->type, text, value);
    } else {
        is_read = nl_text_parse_value(source->has_zone[column] ? &source->utc : &source->formats, field->type, text, value);
    }
    if (is_read) return NULL;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The value " NL_STR_FMT " of the column " NL_STR_FMT " is no " NL_STR_FMT ".", NL_STR_ARG(text), NL_STR_ARG(field->name),
                         NL_STR_ARG(nl_type_sql(arena, field->type)));
}

static nl_status make_batch(const jdbc_scan *scan, const nl_jdbc_result *rows, nl_arena *arena, nl_batch *batch)
{
    const nl_logical *node = scan->node;
    nl_status status = nl_batch_init(batch, node->column_count, rows->row_count);
    for (uint32_t c = 0; !status && c < node->column_count; c++) {
        nl_column_builder *builder = NULL;
        status = nl_column_builder_new(node->columns[c].type, scan->query->memory, &builder);
        for (uint32_t row = 0; !status && row < rows->row_count; row++) {
            nl_value value;
            status = value_of(scan->source, node->scan.table_columns[c], rows->values[(size_t)row * rows->column_count + c], arena, &value);
            if (!status) status = value.is_null ? nl_column_builder_null(builder) : nl_column_builder_value(builder, &value);
        }
        if (!status) status = nl_column_builder_finish(builder, &batch->columns[c]);
        nl_column_builder_free(builder);
    }
    if (status) nl_batch_fini(batch);
    return status;
}

static nl_status next_rows(jdbc_reader *self, nl_batch *batch, bool *is_over)
{
    const jdbc_scan *scan = NL_CONTAINER(self->base.scan, jdbc_scan, base);
    nl_jdbc_result rows = {0};
    nl_arena *arena = nl_arena_new(scan->query->memory);
    nl_status status = fetch(self, arena, &rows);
    *is_over = !status && rows.row_count == 0;
    if (!status && rows.row_count > 0) status = make_batch(scan, &rows, arena, batch);
    nl_arena_free(arena);
    if (!status && rows.row_count > 0 && self->filter) {
        status = nl_program_filter(self->filter, batch);
        if (status) nl_batch_fini(batch);
    }
    return status;
}

static nl_status jdbc_next(nl_scan_reader *base, nl_batch *batch, bool *is_done)
{
    jdbc_reader *self = NL_CONTAINER(base, jdbc_reader, base);
    jdbc_scan *scan = NL_CONTAINER(base->scan, jdbc_scan, base);
    *is_done = false;
    for (;;) {
        bool is_over = false;
        NL_TRY(nl_cancel_check(scan->query->cancel));
        if (!self->database) {
            self->partition = atomic_fetch_add(&scan->next_partition, 1);
            *is_done = self->partition >= scan->source->partition_count;
            if (*is_done) return NULL;
            base->morsel = self->partition;
            NL_TRY(open_partition(self));
        }
        NL_TRY(next_rows(self, batch, &is_over));
        if (is_over) {
            nl_jdbc_close(self->database);
            self->database = NULL;
            continue;
        }
        if (nl_batch_live_rows(batch) > 0) return NULL;
        nl_batch_fini(batch);
    }
}

static void free_reader(nl_scan_reader *base)
{
    jdbc_reader *self = NL_CONTAINER(base, jdbc_reader, base);
    if (self->filter) nl_program_state_free(self->filter);
    nl_jdbc_close(self->database);
    free(self);
}

static nl_status new_reader(nl_scan *base, uint32_t worker, nl_scan_reader **reader)
{
    jdbc_scan *scan = NL_CONTAINER(base, jdbc_scan, base);
    jdbc_reader *self = calloc(1, sizeof *self);
    if (!self) return no_memory(sizeof *self);
    self->base.scan = base;
    nl_status status = NULL;
    if (scan->filter) status = nl_program_state_new(scan->filter, scan->query->confs, scan->query->memory, scan->query->text, worker, &self->filter);
    if (status)
        free_reader(&self->base);
    else
        *reader = &self->base;
    return status;
}

static void free_scan(nl_scan *base)
{
    jdbc_scan *self = NL_CONTAINER(base, jdbc_scan, base);
    nl_table_release(&self->source->base);
    free(self);
}

static const nl_scan_ops scan_ops = {.new_reader = new_reader, .next = jdbc_next, .free_reader = free_reader, .free = free_scan};

static nl_status open_scan(const nl_table *table, nl_query *query, const nl_logical *node, nl_scan **out)
{
    jdbc_scan *self = calloc(1, sizeof *self);
    if (!self) return no_memory(sizeof *self);
    self->base.ops = &scan_ops;
    self->source = source_of(table);
    (void)nl_table_retain(table);
    self->query = query;
    self->node = node;
    nl_status status = NULL;
    if (node->scan.filter) status = nl_program_compile_filter(query->arena, node->scan.filter, node->columns, node->column_count, &self->filter);
    if (status)
        free_scan(&self->base);
    else
        *out = &self->base;
    return status;
}

/* ---- the table ---- */

static nl_status estimate(const nl_table *table, const nl_logical *scan, int64_t *row_count, int64_t *bytes)
{
    (void)table, (void)scan;
    *row_count = *bytes = -1;
    return NULL;
}

static void append_text(const nl_table *table, nl_builder *out)
{
    const jdbc_source *self = source_of(table);
    nl_append_f(out, "JDBCRelation(" NL_STR_FMT ") [numPartitions=%u]", NL_STR_ARG(self->relation), self->partition_count);
}

static bool is_same(const nl_table *a, const nl_table *b)
{
    const jdbc_source *x = source_of(a), *y = source_of(b);
    if (!nl_str_equal(x->url, y->url) || !nl_str_equal(x->relation, y->relation) || x->partition_count != y->partition_count) return false;
    for (uint32_t i = 0; i < x->partition_count; i++)
        if (!nl_str_equal(x->conditions[i], y->conditions[i])) return false;
    return nl_type_equal(a->row_type, b->row_type);
}

static void free_source(nl_table *table)
{
    jdbc_source *self = NL_UNCONST(source_of(table));
    nl_arena_free(self->arena);
    free(self);
}

static const nl_table_ops table_ops = {.kind = "jdbc", .estimate = estimate, .is_same = is_same, .open_scan = open_scan, .append_text = append_text, .free = free_source};

nl_status nl_jdbc_source_new(const nl_property *options, uint32_t option_count, const nl_eval_confs *confs, nl_memory *memory, const nl_table **source)
{
    jdbc_source *self = calloc(1, sizeof *self);
    if (!self) return no_memory(sizeof *self);
    self->base.ops = &table_ops;
    self->arena = nl_arena_new(memory);
    self->formats = (nl_text_formats){.zone = confs->zone};
    self->utc = (nl_text_formats){.zone = nl_timezone_utc()};
    atomic_init(&self->base.references, 1);
    nl_status status = read_options(self, options, option_count);
    if (!status) status = read_schema(self, memory);
    if (!status) status = nl_arena_check(self->arena);
    if (status)
        free_source(&self->base);
    else
        *source = &self->base;
    return status;
}
