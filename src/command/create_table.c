/* command/create_table.c - CREATE TABLE, REPLACE TABLE, with and without AS query. */
#include "command/cached.h"
#include "command/write.h"

#include "base/limits.h"
#include "base/number.h"
#include "command/plain_tables.h"
#include "command/transforms.h"
#include "command/views.h"

typedef struct creation {
    nl_command *command;
    const nl_ast_create_table *ast;
    nl_session_name name;
    const nl_schema *schema;
    nl_table_request request;
} creation;

/* USING iceberg, or a file format that becomes the table's own (write.format.default). */
static nl_status check_provider(creation *self, nl_str *format)
{
    static const char *const formats[] = {"parquet", "avro", "orc"};
    *format = (nl_str){0};
    if (self->ast->provider.count == 0) return NULL;
    const nl_str provider = self->ast->provider.parts[self->ast->provider.count - 1].text;
    if (nl_str_is_nocase(provider, "iceberg")) return NULL;
    for (uint32_t i = 0; i < NL_COUNT(formats); i++)
        if (nl_str_is_nocase(provider, formats[i])) {
            *format = nl_str_from(formats[i]);
            return NULL;
        }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Unsupported format in USING: " NL_STR_FMT, NL_STR_ARG(provider));
}

static nl_status unsupported_column(creation *self, const char *what)
{
    return NL_RAISE(UNSUPPORTED_FEATURE__TABLE_OPERATION, NL_P_STR("tableName", nl_command_quoted_name(self->command, &self->name)),
                    NL_P("operation", what));
}

static nl_status column_field(creation *self, const nl_ast_column_definition *column, nl_field *field)
{
    if (column->default_value) return unsupported_column(self, "column default value");
    if (column->generated) return unsupported_column(self, "generated columns");
    if (column->is_identity) return unsupported_column(self, "identity column");
    *field = (nl_field){.name = column->name.text, .is_nullable = !column->is_not_null, .comment = column->comment};
    return nl_ast_type_to_type(self->command->arena, column->type, &field->type);
}

/* Columns of the statement, then those that Hive's PARTITIONED BY (c int) adds. */
static nl_status declared_type(creation *self, const nl_type **row_type)
{
    const nl_ast_column_definitions *columns = &self->ast->columns;
    const nl_ast_partition_fields *partitions = &self->ast->clauses.partitioned_by;
    nl_field *fields = NL_NEW_ARRAY(self->command->arena, nl_field, columns->count + partitions->count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < columns->count; i++)
        NL_TRY(column_field(self, &columns->items[i], &fields[count++]));
    for (uint32_t i = 0; i < partitions->count; i++) {
        const nl_ast_field *column = partitions->items[i].new_column;
        if (!column) continue;
        fields[count] = (nl_field){.name = column->name.text, .is_nullable = !column->is_not_null, .comment = column->comment};
        NL_TRY(nl_ast_type_to_type(self->command->arena, column->type, &fields[count++].type));
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (nl_str_equal_nocase(fields[i].name, fields[j].name))
                return NL_RAISE(COLUMN_ALREADY_EXISTS, NL_P_STR("columnName", nl_arena_f(self->command->arena, "`" NL_STR_FMT "`", NL_STR_ARG(fields[i].name))));
    *row_type = nl_type_struct(self->command->arena, fields, count);
    return NULL;
}

static nl_status make_schema(creation *self, const nl_type *row_type)
{
    const nl_ice_type *root = NULL, *fresh = NULL;
    int32_t last_id = 0;
    NL_TRY(nl_ice_type_from_sql(self->command->arena, row_type, &root));
    NL_TRY(nl_schema_assign_fresh_ids(self->command->arena, root, NULL, &last_id, &fresh));
    NL_TRY(nl_schema_new(self->command->arena, 0, fresh, NULL, 0, &self->schema));
    self->request.schema = self->schema;
    return NULL;
}

static void append_tree(creation *self, nl_builder *out, const nl_type *type, uint32_t depth)
{
    static const struct {
        nl_type_id id;
        const char *word;
    } words[] = {{NL_TYPE_TINYINT, "byte"}, {NL_TYPE_SMALLINT, "short"}, {NL_TYPE_INT, "integer"}, {NL_TYPE_BIGINT, "long"},
                 {NL_TYPE_ARRAY, "array"},  {NL_TYPE_MAP, "map"},        {NL_TYPE_STRUCT, "struct"}};
    static const char *const inner[] = {"element", "key", "value"};
    for (uint32_t i = 0; i < type->child_count && depth < NL_TYPE_DEPTH_MAX; i++) {
        const nl_field *field = &type->children[i];
        nl_str word = nl_type_name(self->command->arena, field->type);
        for (size_t w = 0; w < NL_COUNT(words); w++)
            if (words[w].id == field->type->id) word = nl_str_from(words[w].word);
        const nl_str name = type->id == NL_TYPE_STRUCT ? field->name : nl_str_from(inner[type->id == NL_TYPE_ARRAY ? 0 : 1 + i]);
        for (uint32_t d = 0; d < depth; d++) nl_append_c(out, " |   ");
        nl_append_f(out, " |-- " NL_STR_FMT ": " NL_STR_FMT " (nullable = %s)\n", NL_STR_ARG(name), NL_STR_ARG(word), field->is_nullable ? "true" : "false");
        append_tree(self, out, field->type, depth + 1);
    }
}

/* A partition's column must be there: Spark shows the schema in which it was looked for. */
static nl_status check_sources(creation *self, const nl_type *row_type)
{
    for (uint32_t i = 0; i < self->request.partition_count; i++) {
        const nl_str source = self->request.partitions[i].source;
        if (nl_schema_find_name(self->schema, source, false)) continue;
        nl_builder tree;
        nl_builder_init(&tree, 1 << 20);
        nl_append_c(&tree, "root\n");
        append_tree(self, &tree, row_type, 0);
        nl_status status = NL_RAISE(_LEGACY_ERROR_TEMP_3060, NL_P_STR("i", source), NL_P("schema", nl_builder_c(&tree)));
        nl_builder_fini(&tree);
        return status;
    }
    return NULL;
}

static nl_status make_partitions(creation *self)
{
    const nl_ast_table_clauses *clauses = &self->ast->clauses;
    const nl_ast_partition_fields *fields = &clauses->partitioned_by;
    const uint32_t bucket_count = clauses->bucket ? clauses->bucket->columns.count : 0;
    nl_partition_addition *additions = NL_NEW_ARRAY(self->command->arena, nl_partition_addition, fields->count + bucket_count);
    uint32_t count = 0;
    if (clauses->has_cluster_by) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "CLUSTER BY is not supported by Iceberg tables");
    for (uint32_t i = 0; i < fields->count; i++)
        NL_TRY(nl_partition_addition_of(self->command, &fields->items[i], &additions[count++]));
    for (uint32_t i = 0; i < bucket_count; i++) /* CLUSTERED BY (c) INTO n BUCKETS is bucket(n, c) */
        additions[count++] = (nl_partition_addition){.source = clauses->bucket->columns.items[i].text,
                                                     .transform = {.kind = NL_TRANSFORM_BUCKET, .width = clauses->bucket->count}};
    self->request.partitions = additions;
    self->request.partition_count = count;
    return NULL;
}

static nl_status make_properties(creation *self)
{
    const nl_ast_table_clauses *clauses = &self->ast->clauses;
    const nl_property *given;
    uint32_t given_count;
    nl_str format;
    NL_TRY(check_provider(self, &format));
    nl_command_properties(self->command, clauses->properties, &given, &given_count);
    const uint32_t spark_options = clauses->options ? clauses->options->count : 0;
    nl_property *properties = NL_NEW_ARRAY(self->command->arena, nl_property, given_count + spark_options + 3);
    uint32_t count = 0;
    for (uint32_t i = 0; i < given_count; i++)
        properties[count++] = given[i];
    for (uint32_t i = 0; i < spark_options; i++) {
        nl_value value;
        const nl_ast_property *option = &clauses->options->items[i];
        if (option->expr)
            NL_TRY(nl_analyze_constant(&self->command->context, option->expr, &value));
        else
            value = nl_value_string(option->value);
        nl_builder text;
        const nl_text_options style = {.style = NL_TEXT_CAST, .zone = self->command->confs.zone};
        nl_builder_init(&text, 1 << 20);
        nl_value_append_text(&value, &style, &text);
        properties[count++] = (nl_property){option->key, nl_arena_str(self->command->arena, nl_builder_str(&text))};
        nl_builder_fini(&text);
    }
    if (format.length) properties[count++] = (nl_property){NL_STR("write.format.default"), format};
    if (clauses->has_comment) properties[count++] = (nl_property){NL_STR("comment"), clauses->comment};
    properties[count++] = (nl_property){NL_STR("owner"), nl_session_user(self->command->session)};
    self->request.properties = properties;
    self->request.property_count = count;
    self->request.location = clauses->location;
    return NULL;
}

static nl_status make_request(creation *self, const nl_type *row_type)
{
    NL_TRY(make_schema(self, row_type));
    NL_TRY(make_partitions(self));
    NL_TRY(check_sources(self, row_type));
    return make_properties(self);
}

static nl_status create_empty(creation *self)
{
    const nl_type *row_type = NULL;
    nl_iceberg_table *table = NULL;
    NL_TRY(declared_type(self, &row_type));
    NL_TRY(make_request(self, row_type));
    if (!self->ast->is_replace) {
        NL_TRY(nl_catalog_create_table(self->name.catalog, &self->name.identifier, &self->request, &table));
    } else {
        NL_TRY(nl_catalog_stage_table(self->name.catalog, &self->name.identifier, &self->request, true, !self->ast->is_create, &table));
        nl_status status = nl_commit_staged(table);
        if (status) {
            nl_iceberg_table_release(table);
            return status;
        }
    }
    nl_iceberg_table_release(table);
    return NULL;
}

/* The query's columns become the table's, with their comments: all nullable unless spark.sql.catalog.X.use-nullable-query-schema is false. */
static const nl_type *query_type(creation *self, const nl_logical *query)
{
    nl_field *fields = NL_NEW_ARRAY(self->command->arena, nl_field, query->column_count);
    for (uint32_t i = 0; i < query->column_count; i++) {
        const nl_type *type = query->columns[i].type;
        fields[i] = (nl_field){.name = query->columns[i].name, .type = nl_all_nullable(self->command->arena, type), .is_nullable = true, .comment = query->columns[i].comment};
    }
    return nl_type_struct(self->command->arena, fields, query->column_count);
}

static nl_status fill_staged(creation *self, const nl_logical *query, nl_iceberg_table *table)
{
    nl_command *command = self->command;
    nl_write_table target;
    nl_iceberg_sink *sink = NULL;
    nl_written_files files;
    const nl_logical *input = NULL;
    const nl_str name = nl_command_quoted_name(command, &self->name);
    nl_operation operation = {.kind = NL_OPERATION_APPEND, .data_sequence_number = NL_NONE};
    const nl_write_options options = nl_write_options_of(command, NULL);
    if (self->ast->is_replace) { /* Spark overwrites the new, empty table, also when it replaces none */
        operation.kind = NL_OPERATION_OVERWRITE;
        operation.row_filter = nl_predicate_true();
    }
    NL_TRY(nl_write_table_of(command, nl_iceberg_table_retain(table), name, &target));
    nl_status status = nl_plan_store(&command->context, query, target.row_type, name, false, &input);
    if (!status) status = nl_write_rows(command, &target, &options, input, &sink, &files);
    if (!status) status = nl_commit_files(command, &target, &operation, sink, &files);
    nl_write_table_fini(&target);
    return status;
}

static nl_status create_from_query(creation *self)
{
    nl_command *command = self->command;
    const nl_logical *query = NULL;
    nl_iceberg_table *table = NULL;
    NL_TRY(nl_cached_analyze(command, self->ast->query, &query));
    NL_TRY(nl_view_check_columns(command, query, NULL, 0));
    NL_TRY(make_request(self, query_type(self, query)));
    NL_TRY(nl_catalog_stage_table(self->name.catalog, &self->name.identifier, &self->request, self->ast->is_replace,
                                  self->ast->is_replace && !self->ast->is_create, &table));
    nl_status status = fill_staged(self, query, table);
    nl_iceberg_table_release(table);
    return status;
}

nl_status nl_run_create_table(nl_command *command, const nl_ast_statement *statement)
{
    creation self = {.command = command, .ast = statement->create_table};
    bool exists = false;
    NL_TRY(nl_command_table_name(command, &self.ast->name, &self.name));
    if (self.ast->is_external) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Operation not allowed: CREATE EXTERNAL TABLE");
    if (!self.ast->is_replace) {
        const nl_plain_table *plain;
        NL_TRY(nl_plain_find(command, &self.name, &plain));
        exists = plain != NULL;
        if (!exists) NL_TRY(nl_catalog_table_exists(self.name.catalog, &self.name.identifier, &exists));
        if (exists && self.ast->is_if_not_exists) return NULL;
        if (exists) return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", nl_command_quoted_name(command, &self.name)));
    }
    if (nl_plain_is_wanted(command, &self.name, &self.ast->provider)) return nl_plain_create(command, self.ast, &self.name);
    return self.ast->query ? create_from_query(&self) : create_empty(&self);
}
