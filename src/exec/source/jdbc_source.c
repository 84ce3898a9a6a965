/* exec/source/jdbc_source.c - a table or query of a PostgreSQL or SQLite database: spark.read.jdbc. Rows are fetched as texts, a
 * bounded number at a time, and read as casts read them. Partitions (partitionColumn, predicates) are read side by side, each over a
 * connection of its own. What a filter says of plain columns goes to the database too, where it means the same there; the filter is
 * still applied here. */
#include "exec/sources.h"

#include <stdlib.h>

#include "base/number.h"
#include "catalog/jdbc/database.h"
#include "exec/engine.h"
#include "exec/expression.h"
#include "exec/source/predicate.h"
#include "format/json/json_convert.h"

#define FETCH_ROWS      2000
#define PARTITIONS_MAX  1000
#define FILTER_BYTES_MAX (1u << 20)

typedef struct jdbc_source {
    nl_table base;
    nl_arena *arena; /* owned */
    nl_str url;
    nl_property *properties; /* "jdbc.user" … */
    uint32_t property_count;
    nl_str relation;         /* "table" or "(SELECT …) AS spark_gen" */
    bool is_postgres;
    const bool *has_zone;    /* per column: timestamps of a time zone */
    const bool *is_text;     /* per column: texts that are compared as they are; no char(n), uuid … */
    bool prefers_ntz;        /* preferTimestampNTZ */
    bool pushes_filters, pushes_limits;
    const nl_type *custom;   /* customSchema: a STRUCT, or NULL */
    nl_str *conditions;      /* of the partitions; empty: all rows */
    uint32_t partition_count;
    int64_t fetch_rows;
    const nl_timezone *zone;
    nl_json_file_options json; /* of arrays */
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
    nl_jdbc_session *session; /* of the partition being read; or NULL */
    uint32_t partition;
} jdbc_reader;

static const jdbc_source *source_of(const nl_table *table)
{
    return (const jdbc_source *)(const void *)table;
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

/* As Spark's PostgresDialect takes them; what is not here is read as text. */
static const type_row postgres_types[] = {
    {"boolean", NL_TYPE_BOOLEAN}, {"bit(1)", NL_TYPE_BOOLEAN}, {"smallint", NL_TYPE_SMALLINT}, {"integer", NL_TYPE_INT}, {"bigint", NL_TYPE_BIGINT}, {"oid", NL_TYPE_DECIMAL},
    {"real", NL_TYPE_FLOAT}, {"double precision", NL_TYPE_DOUBLE}, {"money", NL_TYPE_STRING}, {"date", NL_TYPE_DATE}, {"timestamp", NL_TYPE_TIMESTAMP}, {"bytea", NL_TYPE_BINARY},
    {"", NL_TYPE_STRING},
};
static const type_row sqlite_types[] = {
    {"bool", NL_TYPE_BOOLEAN}, {"tinyint", NL_TYPE_INT}, {"smallint", NL_TYPE_INT}, {"bigint", NL_TYPE_DECIMAL}, {"int8", NL_TYPE_DECIMAL}, {"int", NL_TYPE_INT},
    {"real", NL_TYPE_DOUBLE}, {"float", NL_TYPE_DOUBLE}, {"double", NL_TYPE_DOUBLE}, {"blob", NL_TYPE_BINARY}, {"", NL_TYPE_STRING},
};

static nl_status refuse_type(nl_str column, nl_str type)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The column " NL_STR_FMT " has the type " NL_STR_FMT ", which nilas does not read: cast it to text in a query.", NL_STR_ARG(column),
                         NL_STR_ARG(type));
}

static nl_str lower_of(nl_arena *arena, nl_str name)
{
    char *made = NL_NEW_ARRAY(arena, char, name.length + 1);
    for (size_t i = 0; i < name.length; i++) made[i] = name.data[i] >= 'A' && name.data[i] <= 'Z' ? (char)(name.data[i] | 0x20) : name.data[i];
    return (nl_str){made, name.length};
}

static nl_status column_type(const jdbc_source *self, nl_str column, nl_str name, const nl_type **type)
{
    const type_row *rows = self->is_postgres ? postgres_types : sqlite_types;
    const size_t count = self->is_postgres ? NL_COUNT(postgres_types) : NL_COUNT(sqlite_types);
    const nl_str text = lower_of(self->arena, name);
    const bool is_postgres = self->is_postgres;
    if (is_postgres && nl_str_ends(text, NL_STR("[]"))) {
        const nl_type *element = NULL;
        NL_TRY(column_type(self, column, nl_str_slice(text, 0, text.length - 2), &element));
        if (element->id == NL_TYPE_BINARY || element->id == NL_TYPE_TIMESTAMP) return refuse_type(column, name);
        *type = nl_type_array(self->arena, element, true);
        return NULL;
    }
    if (is_postgres && (nl_str_starts(text, NL_STR("time without")) || nl_str_starts(text, NL_STR("time with")) || (nl_str_starts(text, NL_STR("bit(")) && !nl_str_is(text, "bit(1)"))))
        return refuse_type(column, name);
    *type = decimal_of(text);
    if (nl_str_starts(text, NL_STR("numeric")) || nl_str_starts(text, NL_STR("decimal"))) return NULL;
    for (size_t i = 0; i < count; i++) {
        if (!nl_str_starts(text, nl_str_from(rows[i].start))) continue;
        if (rows[i].id == NL_TYPE_DECIMAL) { /* whole numbers that Spark takes for ones without a sign */
            *type = nl_type_decimal(20, 0);
            return NULL;
        }
        const bool is_ntz = rows[i].id == NL_TYPE_TIMESTAMP && self->prefers_ntz && !nl_str_ends(text, NL_STR("with time zone"));
        *type = nl_type_of(is_ntz ? NL_TYPE_TIMESTAMP_NTZ : rows[i].id);
        return NULL;
    }
    return refuse_type(column, name);
}

/* customSchema names some columns, and what is to be made of them. */
static const nl_type *custom_type(const jdbc_source *self, nl_str name)
{
    for (uint32_t i = 0; self->custom && i < self->custom->child_count; i++)
        if (nl_str_equal_nocase(self->custom->children[i].name, name)) return self->custom->children[i].type;
    return NULL;
}

static nl_status read_schema(jdbc_source *self, nl_memory *memory)
{
    nl_jdbc_session *session = NULL;
    nl_jdbc_result columns = {0};
    nl_arena *arena = nl_arena_new(memory);
    nl_status status = nl_jdbc_session_open(self->url, self->properties, self->property_count, &session);
    if (!status) status = nl_jdbc_session_describe(session, nl_arena_f(arena, "SELECT * FROM " NL_STR_FMT, NL_STR_ARG(self->relation)), arena, &columns);
    nl_field *fields = NL_NEW_ARRAY(self->arena, nl_field, columns.row_count + 1);
    bool *has_zone = NL_NEW_ARRAY(self->arena, bool, columns.row_count + 1);
    bool *is_text = NL_NEW_ARRAY(self->arena, bool, columns.row_count + 1);
    for (uint32_t i = 0; !status && i < columns.row_count; i++) {
        const nl_str name = nl_arena_str(self->arena, columns.values[(size_t)i * 2]), type = lower_of(arena, columns.values[(size_t)i * 2 + 1]);
        fields[i] = (nl_field){.name = name, .is_nullable = true, .field_id = (int32_t)i + 1};
        has_zone[i] = nl_str_ends(type, NL_STR("with time zone"));
        is_text[i] = nl_str_starts(type, NL_STR("text")) || nl_str_starts(type, NL_STR("character varying")) || nl_str_starts(type, NL_STR("varchar"));
        fields[i].type = custom_type(self, name);
        if (!fields[i].type) status = column_type(self, name, type, &fields[i].type);
    }
    nl_jdbc_session_close(session);
    nl_arena_free(arena);
    self->has_zone = has_zone;
    self->is_text = is_text;
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

/* A column's number, day or time as the number its ranges are cut by. */
static nl_status bound(const jdbc_source *self, const nl_field *field, const nl_property *options, uint32_t count, const char *key, int64_t *value)
{
    const nl_str text = option(options, count, key);
    int32_t days;
    if (field->type->id == NL_TYPE_DATE) {
        if (!nl_cast_date(text, &days)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot parse the bound value " NL_STR_FMT " as date", NL_STR_ARG(text));
        *value = days;
        return NULL;
    }
    if (field->type->id != NL_TYPE_TIMESTAMP && field->type->id != NL_TYPE_TIMESTAMP_NTZ) return number(options, count, key, value);
    const bool is_time = field->type->id == NL_TYPE_TIMESTAMP ? nl_cast_timestamp(text, self->zone, value) : nl_cast_timestamp_ntz(text, true, value);
    return is_time ? NULL : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot parse the bound value " NL_STR_FMT " as timestamp", NL_STR_ARG(text));
}

static nl_str bound_text(const jdbc_source *self, const nl_field *field, int64_t value)
{
    char text[64];
    if (self->has_zone[field->field_id - 1]) return nl_arena_f(self->arena, "'%.*s+00'", (int)nl_format_timestamp(value, text), text);
    if (field->type->id == NL_TYPE_DATE) return nl_arena_f(self->arena, "'%.*s'", (int)nl_format_date((int32_t)value, text), text);
    if (field->type->id == NL_TYPE_TIMESTAMP) value = nl_timezone_to_local(self->zone, value);
    if (field->type->id == NL_TYPE_TIMESTAMP || field->type->id == NL_TYPE_TIMESTAMP_NTZ) return nl_arena_f(self->arena, "'%.*s'", (int)nl_format_timestamp(value, text), text);
    return nl_arena_f(self->arena, "%lld", (long long)value);
}

static nl_status find_partition_column(const jdbc_source *self, nl_str name, const nl_field **field)
{
    *field = NULL;
    for (uint32_t i = 0; i < self->base.row_type->child_count; i++)
        if (nl_str_equal_nocase(self->base.row_type->children[i].name, name)) *field = &self->base.row_type->children[i];
    if (!*field) return NL_RAISE(_LEGACY_ERROR_TEMP_1286, NL_P_STR("columnName", name), NL_P_STR("schema", nl_type_name(self->arena, self->base.row_type)));
    const nl_type *type = (*field)->type;
    if (nl_type_is_numeric(type) || type->id == NL_TYPE_DATE || type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ) return NULL;
    return NL_RAISE(_LEGACY_ERROR_TEMP_1287, NL_P("numericType", "numeric"), NL_P("dateType", "date"), NL_P("timestampType", "timestamp"), NL_P_STR("dataType", nl_type_name(self->arena, type)));
}

/* Ranges of a column, as Spark cuts them. */
static nl_status cut_column(jdbc_source *self, nl_str column, const nl_property *options, uint32_t count)
{
    int64_t lower = 0, upper = 0, parts = 0;
    const nl_field *field = NULL;
    NL_TRY(find_partition_column(self, column, &field));
    NL_TRY(bound(self, field, options, count, "lowerBound", &lower));
    NL_TRY(bound(self, field, options, count, "upperBound", &upper));
    NL_TRY(number(options, count, "numPartitions", &parts));
    if (lower > upper)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Operation not allowed: the lower bound of partitioning column is larger than the upper bound. Lower bound: " NL_STR_FMT "; Upper bound: " NL_STR_FMT,
                             NL_STR_ARG(bound_text(self, field, lower)), NL_STR_ARG(bound_text(self, field, upper)));
    const uint64_t width = (uint64_t)upper - (uint64_t)lower;
    parts = width < PARTITIONS_MAX ? NL_MIN(parts, (int64_t)width) : NL_MIN(parts, PARTITIONS_MAX);
    parts = NL_MAX(1, parts);
    self->conditions = NL_NEW_ARRAY(self->arena, nl_str, (size_t)parts);
    self->partition_count = (uint32_t)parts;
    const int64_t stride = upper / parts - lower / parts;
    const nl_str name = quoted(self->arena, field->name);
    for (int64_t i = 0, at = lower; i < parts && parts > 1; i++, at += stride) {
        const nl_str from = bound_text(self, field, at), to = bound_text(self, field, at + stride);
        if (i == 0)
            self->conditions[i] = nl_arena_f(self->arena, NL_STR_FMT " < " NL_STR_FMT " OR " NL_STR_FMT " IS NULL", NL_STR_ARG(name), NL_STR_ARG(to), NL_STR_ARG(name));
        else if (i == parts - 1)
            self->conditions[i] = nl_arena_f(self->arena, NL_STR_FMT " >= " NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(from));
        else
            self->conditions[i] = nl_arena_f(self->arena, NL_STR_FMT " >= " NL_STR_FMT " AND " NL_STR_FMT " < " NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(from), NL_STR_ARG(name), NL_STR_ARG(to));
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
bool nl_jdbc_is_own_option(nl_str key)
{
    static const char *const keys[] = {"url", "dbtable", "query", "driver", "partitionColumn", "lowerBound", "upperBound", "numPartitions", "fetchsize", "batchsize", "queryTimeout",
                                       "pushDownPredicate", "pushDownAggregate", "pushDownLimit", "pushDownOffset", "pushDownTableSample", "preferTimestampNTZ", "isolationLevel",
                                       "truncate", "cascadeTruncate", "createTableOptions", "createTableColumnTypes", "customSchema", "sessionInitStatement", "keytab", "principal", "refreshKrb5Config", "connectionProvider", "hint", NL_JDBC_PREDICATE};
    for (size_t i = 0; i < NL_COUNT(keys); i++)
        if (nl_str_is_nocase(key, keys[i])) return true;
    return false;
}

static nl_status read_options(jdbc_source *self, const nl_property *options, uint32_t count)
{
    const nl_str url = option(options, count, "url"), table = option(options, count, "dbtable"), query = option(options, count, "query");
    if (!url.data) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Option 'url' is required.");
    if (table.data && query.data) return NL_RAISE(_LEGACY_ERROR_TEMP_2078, NL_P("jdbcTableName", "dbtable"), NL_P("jdbcQueryString", "query"));
    if (!table.data && !query.data) return NL_RAISE(_LEGACY_ERROR_TEMP_2079, NL_P("jdbcTableName", "dbtable"), NL_P("jdbcQueryString", "query"));
    if (option(options, count, "sessionInitStatement").data || option(options, count, "prepareQuery").data)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not take the options sessionInitStatement and prepareQuery of JDBC sources.");
    const bool has_column = option(options, count, "partitionColumn").data != NULL, has_lower = option(options, count, "lowerBound").data != NULL;
    const bool has_upper = option(options, count, "upperBound").data != NULL, has_number = option(options, count, "numPartitions").data != NULL;
    if (!has_column && (has_lower || has_upper))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: When reading JDBC data sources, users need to specify all or none for the following options: "
                                                     "'partitionColumn', 'lowerBound', 'upperBound', and 'numPartitions'");
    if (has_column && !(has_lower && has_upper && has_number))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: When reading JDBC data sources, users need to specify all or none for the following options: "
                                                     "'partitionColumn', 'lowerBound', 'upperBound', and 'numPartitions'");
    if (has_column && query.data)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Options 'query' and 'partitionColumn' can not be specified together. Give the query as 'dbtable', in parentheses and with an alias.");
    self->url = nl_arena_str(self->arena, url);
    self->is_postgres = nl_str_starts(self->url, NL_STR("jdbc:postgresql:"));
    self->relation = table.data ? nl_arena_str(self->arena, table) : nl_arena_f(self->arena, "(" NL_STR_FMT ") AS spark_gen_alias", NL_STR_ARG(query));
    self->properties = NL_NEW_ARRAY(self->arena, nl_property, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (nl_jdbc_is_own_option(options[i].key)) continue;
        self->properties[self->property_count++] = /* the driver's own, as a catalog would have them */
            (nl_property){nl_arena_f(self->arena, "jdbc." NL_STR_FMT, NL_STR_ARG(options[i].key)), nl_arena_str(self->arena, options[i].value)};
    }
    self->fetch_rows = 0;
    NL_TRY(number(options, count, "fetchsize", &self->fetch_rows));
    self->fetch_rows = self->fetch_rows < 1 ? FETCH_ROWS : NL_MIN(self->fetch_rows, NL_BATCH_ROWS);
    self->prefers_ntz = nl_str_is_nocase(option(options, count, "preferTimestampNTZ"), "true");
    self->pushes_filters = !nl_str_is_nocase(option(options, count, "pushDownPredicate"), "false");
    self->pushes_limits = !nl_str_is_nocase(option(options, count, "pushDownLimit"), "false");
    return NULL;
}

/* ---- reading ---- */

/* ---- filters for the database ---- */

static void cut_back(nl_builder *out, size_t length)
{
    out->length = length;
}

static bool append_literal(const jdbc_source *source, const nl_field *field, const nl_value *value, bool is_order, nl_builder *out)
{
    char text[64];
    switch ((int)field->type->id) {
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
    case NL_TYPE_BIGINT: nl_append_f(out, "%lld", (long long)value->integer); return true;
    case NL_TYPE_DATE:
        if (!source->is_postgres || value->integer < -719162) return false; /* years of one era only */
        nl_append_f(out, "DATE '%.*s'", (int)nl_format_date((int32_t)value->integer, text), text);
        return true;
    case NL_TYPE_BOOLEAN:
        if (!source->is_postgres) return false;
        nl_append_c(out, value->boolean ? "true" : "false");
        return true;
    case NL_TYPE_STRING: break;
    default: return false;
    }
    if (is_order || !source->is_text[field->field_id - 1] || memchr(value->text.data, 0, value->text.length)) return false; /* a database may order texts otherwise */
    nl_append_char(out, '\'');
    for (size_t i = 0; i < value->text.length; i++) {
        if (value->text.data[i] == '\\') return false;
        if (value->text.data[i] == '\'') nl_append_char(out, '\'');
        nl_append_char(out, value->text.data[i]);
    }
    nl_append_char(out, '\'');
    return true;
}

static bool append_leaf(const jdbc_source *source, const nl_predicate *predicate, nl_arena *arena, nl_builder *out)
{
    static const char *const signs[] = {[NL_PREDICATE_LT] = "<", [NL_PREDICATE_LTE] = "<=", [NL_PREDICATE_GT] = ">", [NL_PREDICATE_GTE] = ">=", [NL_PREDICATE_EQ] = "=", [NL_PREDICATE_NEQ] = "<>"};
    const bool is_known = predicate->field_id >= 1 && (uint32_t)predicate->field_id <= source->base.row_type->child_count;
    if (!is_known) return false;
    const nl_field *field = &source->base.row_type->children[predicate->field_id - 1];
    if (custom_type(source, field->name)) return false;
    const nl_str name = quoted(arena, field->name);
    switch ((int)predicate->kind) {
    case NL_PREDICATE_IS_NULL: nl_append_f(out, NL_STR_FMT " IS NULL", NL_STR_ARG(name)); return true;
    case NL_PREDICATE_NOT_NULL: nl_append_f(out, NL_STR_FMT " IS NOT NULL", NL_STR_ARG(name)); return true;
    case NL_PREDICATE_LT:
    case NL_PREDICATE_LTE:
    case NL_PREDICATE_GT:
    case NL_PREDICATE_GTE:
    case NL_PREDICATE_EQ:
    case NL_PREDICATE_NEQ:
        nl_append_f(out, NL_STR_FMT " %s ", NL_STR_ARG(name), signs[predicate->kind]);
        return append_literal(source, field, predicate->values, predicate->kind < NL_PREDICATE_EQ, out);
    case NL_PREDICATE_IN: break;
    default: return false;
    }
    nl_append_f(out, NL_STR_FMT " IN (", NL_STR_ARG(name));
    for (uint32_t i = 0; i < predicate->value_count; i++) {
        if (i) nl_append_c(out, ", ");
        if (!append_literal(source, field, &predicate->values[i], false, out)) return false;
    }
    nl_append_char(out, ')');
    return predicate->value_count > 0;
}

/* The predicate as a condition, or one that more rows meet; false: it cannot be said, and `out` is as it was. Recursion is as
 * deep as the filter. */
static bool append_condition(const jdbc_source *source, const nl_predicate *predicate, nl_arena *arena, nl_builder *out)
{
    const size_t before = out->length;
    uint32_t said = 0;
    if (predicate->kind != NL_PREDICATE_AND && predicate->kind != NL_PREDICATE_OR) {
        const bool is_said = append_leaf(source, predicate, arena, out);
        if (!is_said) cut_back(out, before);
        return is_said;
    }
    const bool is_and = predicate->kind == NL_PREDICATE_AND;
    nl_append_char(out, '(');
    for (uint32_t i = 0; i < predicate->child_count; i++) {
        const size_t start = out->length;
        if (said) nl_append_c(out, is_and ? " AND " : " OR ");
        const bool is_said = append_condition(source, predicate->children[i], arena, out);
        if (!is_said) cut_back(out, start);
        said += is_said;
    }
    nl_append_char(out, ')');
    const bool is_good = said > 0 && (is_and || said == predicate->child_count);
    if (!is_good) cut_back(out, before);
    return is_good;
}

static nl_status append_filter(const jdbc_scan *scan, nl_arena *arena, nl_builder *sql)
{
    const nl_predicate *predicate = NULL;
    nl_builder text;
    if (!scan->node->scan.filter || !scan->source->pushes_filters) return NULL;
    NL_TRY(nl_predicate_of_expr(arena, scan->node->scan.filter, scan->node, &predicate, NULL));
    nl_builder_init(&text, FILTER_BYTES_MAX);
    if (append_condition(scan->source, predicate, arena, &text) && !nl_builder_failed(&text))
        nl_append(sql, nl_builder_str(&text));
    nl_builder_fini(&text);
    return NULL;
}

/* ---- the query ---- */

static void append_columns(const jdbc_scan *scan, nl_arena *arena, nl_builder *sql)
{
    const jdbc_source *source = scan->source;
    nl_append_c(sql, "SELECT ");
    for (uint32_t i = 0; i < scan->node->column_count; i++) {
        const uint32_t at = scan->node->scan.table_columns[i];
        const nl_field *field = &source->base.row_type->children[at];
        const nl_str name = quoted(arena, field->name);
        if (i) nl_append_c(sql, ", ");
        if (field->type->id == NL_TYPE_ARRAY)
            nl_append_f(sql, "array_to_json(" NL_STR_FMT ")", NL_STR_ARG(name));
        else
            nl_append(sql, name);
    }
    if (scan->node->column_count == 0) nl_append_c(sql, "1");
}

static nl_status select_of(const jdbc_scan *scan, uint32_t partition, nl_arena *arena, nl_str *query)
{
    const jdbc_source *source = scan->source;
    const nl_str condition = source->conditions[partition];
    const int64_t limit = scan->node->scan.limit;
    nl_builder sql, filter;
    nl_builder_init(&sql, 2 * FILTER_BYTES_MAX);
    nl_builder_init(&filter, FILTER_BYTES_MAX);
    append_columns(scan, arena, &sql);
    nl_append_f(&sql, " FROM " NL_STR_FMT, NL_STR_ARG(source->relation));
    nl_status status = append_filter(scan, arena, &filter);
    if (condition.length || filter.length) nl_append_c(&sql, " WHERE ");
    if (condition.length) nl_append_f(&sql, "(" NL_STR_FMT ")", NL_STR_ARG(condition));
    if (condition.length && filter.length) nl_append_c(&sql, " AND ");
    nl_append(&sql, nl_builder_str(&filter));
    if (limit >= 0 && !scan->node->scan.filter && source->pushes_limits) nl_append_f(&sql, " LIMIT %lld", (long long)limit);
    *query = nl_arena_str(arena, nl_builder_str(&sql));
    nl_builder_fini(&filter);
    nl_builder_fini(&sql);
    return status;
}

static nl_status open_partition(jdbc_reader *self)
{
    const jdbc_scan *scan = NL_CONTAINER(self->base.scan, jdbc_scan, base);
    nl_str query = {0};
    NL_TRY(nl_jdbc_session_open(scan->source->url, scan->source->properties, scan->source->property_count, &self->session));
    nl_arena *arena = nl_arena_new(scan->query->memory);
    nl_status status = select_of(scan, self->partition, arena, &query);
    if (!status) status = nl_jdbc_session_query(self->session, query);
    nl_arena_free(arena);
    return status;
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

/* Arrays come as JSON. */
static nl_status add_array(nl_json_converter *converter, const nl_field *field, nl_str text, nl_column_builder *builder)
{
    uint32_t row_count = 0;
    nl_json_fit fit = NL_JSON_BROKEN;
    NL_TRY(nl_json_convert(converter, text, builder, &row_count, &fit));
    return fit == NL_JSON_FITS && row_count == 1 ? NULL : NL_RAISE_TEXT(NILAS_UNSUPPORTED, "An array of the column " NL_STR_FMT " cannot be read.", NL_STR_ARG(field->name));
}

typedef struct column_rows { /* one column of what was fetched */
    const jdbc_scan *scan;
    const nl_jdbc_result *rows;
    nl_arena *arena;
    uint32_t place; /* in a row */
    uint32_t column; /* of the table */
} column_rows;

static nl_status add_text(const column_rows *from, const nl_field *field, nl_json_converter *converter, nl_str text, nl_column_builder *builder)
{
    if (!text.data) return nl_column_builder_null(builder);
    if (field->type->id == NL_TYPE_ARRAY) return add_array(converter, field, text, builder);
    if (field->type->id == NL_TYPE_BINARY && from->scan->source->is_postgres && !hex_bytes(from->arena, text, &text))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Bytes of the column " NL_STR_FMT " cannot be read.", NL_STR_ARG(field->name));
    return nl_column_builder_str(builder, text);
}

/* Texts, then what a cast makes of them. Times of a time zone come as those of UTC. */
static nl_status read_column(const column_rows *from, nl_json_converter *converter, nl_vector *out)
{
    const jdbc_source *source = from->scan->source;
    const nl_field *field = &source->base.row_type->children[from->column];
    const bool is_cast = field->type->id != NL_TYPE_STRING && field->type->id != NL_TYPE_BINARY && field->type->id != NL_TYPE_ARRAY;
    nl_eval_confs confs = *from->scan->query->confs;
    nl_eval eval = {.confs = &confs, .memory = from->scan->query->memory};
    nl_column_builder *builder = NULL;
    nl_vector texts = {0};
    confs.is_ansi = true;
    if (source->has_zone[from->column]) confs.zone = nl_timezone_utc();
    NL_TRY(nl_column_builder_new(is_cast ? nl_type_string() : field->type, from->scan->query->memory, &builder));
    nl_status status = NULL;
    for (uint32_t row = 0; !status && row < from->rows->row_count; row++)
        status = add_text(from, field, converter, from->rows->values[(size_t)row * from->rows->column_count + from->place], builder);
    if (!status) status = nl_column_builder_finish(builder, is_cast ? &texts : out);
    nl_column_builder_free(builder);
    if (!status && is_cast) status = nl_cast_vector(&eval, NL_CAST_ANSI, &texts, field->type, NL_ALL_ROWS(from->rows->row_count), out);
    nl_vector_fini(&texts);
    return nl_note_if(status, NL_HERE, "reading the column " NL_STR_FMT " of a database", NL_STR_ARG(field->name));
}

static nl_status make_batch(const jdbc_scan *scan, const nl_jdbc_result *rows, nl_arena *arena, nl_batch *batch)
{
    const nl_logical *node = scan->node;
    nl_batch made;
    NL_TRY(nl_batch_init(&made, node->column_count, rows->row_count));
    nl_status status = NULL;
    for (uint32_t c = 0; !status && c < node->column_count; c++) {
        const column_rows from = {.scan = scan, .rows = rows, .arena = arena, .place = c, .column = node->scan.table_columns[c]};
        const nl_type *type = scan->source->base.row_type->children[from.column].type;
        nl_json_converter *converter = NULL;
        if (type->id == NL_TYPE_ARRAY) status = nl_json_converter_new(type, &scan->source->json, scan->query->memory, &converter);
        if (!status) status = read_column(&from, converter, &made.columns[c]);
        nl_json_converter_free(converter);
    }
    if (status)
        nl_batch_fini(&made);
    else
        *batch = made;
    return status;
}

static nl_status next_rows(jdbc_reader *self, nl_batch *batch, bool *is_over)
{
    const jdbc_scan *scan = NL_CONTAINER(self->base.scan, jdbc_scan, base);
    nl_jdbc_result rows = {0};
    nl_arena *arena = nl_arena_new(scan->query->memory);
    nl_status status = nl_jdbc_session_next(self->session, (uint32_t)scan->source->fetch_rows, arena, &rows);
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
        if (!self->session) {
            self->partition = atomic_fetch_add(&scan->next_partition, 1);
            *is_done = self->partition >= scan->source->partition_count;
            if (*is_done) return NULL;
            base->morsel = self->partition;
            NL_TRY(open_partition(self));
        }
        NL_TRY(next_rows(self, batch, &is_over));
        if (is_over) {
            nl_jdbc_session_close(self->session);
            self->session = NULL;
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
    nl_jdbc_session_close(self->session);
    free(self);
}

static nl_status new_reader(nl_scan *base, uint32_t worker, nl_scan_reader **reader)
{
    jdbc_scan *scan = NL_CONTAINER(base, jdbc_scan, base);
    jdbc_reader *self = calloc(1, sizeof *self);
    if (!self) return nl_out_of_memory(sizeof *self);
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
    if (!self) return nl_out_of_memory(sizeof *self);
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

nl_status nl_jdbc_source_new(const nl_property *options, uint32_t option_count, const nl_type *custom, const nl_eval_confs *confs, nl_memory *memory, const nl_table **source)
{
    jdbc_source *self = calloc(1, sizeof *self);
    if (!self) return nl_out_of_memory(sizeof *self);
    self->base.ops = &table_ops;
    self->arena = nl_arena_new(memory);
    self->zone = confs->zone ? confs->zone : nl_timezone_utc();
    atomic_init(&self->base.references, 1);
    nl_status status = read_options(self, options, option_count);
    const nl_text_option_list no_options = {0};
    const nl_text_session session = {.zone = self->zone};
    if (!status) status = nl_json_options_parse(no_options, &session, NL_TEXT_READ, self->arena, &self->json);
    if (custom) self->custom = nl_type_copy(self->arena, custom);
    if (!status) status = read_schema(self, memory);
    if (!status) status = cut(self, options, option_count);
    if (!status) status = nl_arena_check(self->arena);
    if (status)
        free_source(&self->base);
    else
        *source = &self->base;
    return status;
}
