/* lakehouse/trino/information.c - information_schema and system.jdbc, which tools and the JDBC driver ask: written out as the rows
 * of a subquery. Source: Trino's documentation; java.sql.DatabaseMetaData for the columns of system.jdbc.
 */
#include "lakehouse/trino/trino_private.h"

typedef struct information {
    nl_trino_statement *statement;
    nl_arena *arena;
    nl_builder rows;
    nl_str catalog; /* only this one; empty: all */
    void (*add_table)(struct information *self, nl_str catalog, nl_str schema, const nl_table_entry *entry, bool is_view);
} information;

/* ---- Cells: texts as literals of the engine, numbers as they are. */

static void begin_row(information *self)
{
    nl_append_c(&self->rows, self->rows.length ? ", (" : "(");
}

static void end_row(information *self)
{
    self->rows.length--; /* the last comma */
    nl_append_char(&self->rows, ')');
}

static void add_text(information *self, nl_str text)
{
    nl_append_char(&self->rows, '\'');
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '\'' || text.data[i] == '\\') nl_append_char(&self->rows, '\\');
        nl_append_char(&self->rows, text.data[i]);
    }
    nl_append_c(&self->rows, "',");
}

static void add_number(information *self, int64_t number)
{
    nl_append_f(&self->rows, "%lld,", (long long)number);
}

static void add_long(information *self, int64_t number)
{
    nl_append_f(&self->rows, "%lldL,", (long long)number);
}

static void add_nulls(information *self, uint32_t count)
{
    while (count--) nl_append_c(&self->rows, "NULL,");
}

/* ---- What there is. */

static nl_status each_catalog(information *self, nl_status (*visit)(information *self, const nl_warehouse *warehouse, nl_str name))
{
    static const nl_warehouse_kind kinds[] = {NL_WAREHOUSE_PLAIN, NL_WAREHOUSE_TABLE_BUCKET, NL_WAREHOUSE_GLUE};
    for (size_t k = 0; k < NL_COUNT(kinds); k++) {
        const nl_warehouse *list = NULL;
        uint32_t count = 0;
        NL_TRY(nl_tables_list_warehouses(self->statement->trino->tables, kinds[k], self->arena, &list, &count));
        for (uint32_t i = 0; i < count; i++) {
            const nl_str name = kinds[k] == NL_WAREHOUSE_GLUE ? NL_STR("awsdatacatalog") : list[i].name;
            if (!self->catalog.length || nl_str_equal_nocase(name, self->catalog)) NL_TRY(visit(self, &list[i], name));
        }
    }
    return NULL;
}

static nl_status add_catalog(information *self, const nl_warehouse *warehouse, nl_str name)
{
    (void)warehouse;
    begin_row(self);
    add_text(self, name);
    end_row(self);
    return NULL;
}

static nl_status add_schemas(information *self, const nl_warehouse *warehouse, nl_str name)
{
    const nl_namespace_entry *entries = NULL;
    uint32_t count = 0;
    NL_TRY(nl_tables_list_namespaces(self->statement->trino->tables, warehouse->id, NULL, 0, (nl_str){0}, (nl_str){0}, UINT32_MAX, self->arena, &entries, &count));
    for (uint32_t i = 0; i < count; i++) {
        begin_row(self);
        add_text(self, name);
        add_text(self, entries[i].parts[0]);
        end_row(self);
    }
    return NULL;
}

static nl_status visit_tables(information *self, const nl_warehouse *warehouse, nl_str name)
{
    const nl_namespace_entry *spaces = NULL;
    uint32_t space_count = 0;
    nl_tables *tables = self->statement->trino->tables;
    NL_TRY(nl_tables_list_namespaces(tables, warehouse->id, NULL, 0, (nl_str){0}, (nl_str){0}, UINT32_MAX, self->arena, &spaces, &space_count));
    for (uint32_t i = 0; i < space_count; i++)
        for (int views = 0; views < 2; views++) {
            const nl_table_entry *entries = NULL;
            uint32_t count = 0;
            NL_TRY(nl_tables_list(tables, warehouse->id, spaces[i].parts, spaces[i].part_count, views, (nl_str){0}, (nl_str){0}, UINT32_MAX, self->arena, &entries, &count));
            for (uint32_t k = 0; k < count; k++) self->add_table(self, name, spaces[i].parts[0], &entries[k], views);
        }
    return NULL;
}

static void add_table(information *self, nl_str catalog, nl_str schema, const nl_table_entry *entry, bool is_view)
{
    begin_row(self);
    add_text(self, catalog);
    add_text(self, schema);
    add_text(self, entry->name);
    add_text(self, is_view ? NL_STR("VIEW") : NL_STR("BASE TABLE"));
    end_row(self);
}

static void add_jdbc_table(information *self, nl_str catalog, nl_str schema, const nl_table_entry *entry, bool is_view)
{
    begin_row(self);
    add_text(self, catalog);
    add_text(self, schema);
    add_text(self, entry->name);
    add_text(self, is_view ? NL_STR("VIEW") : NL_STR("TABLE"));
    add_nulls(self, 6);
    end_row(self);
}

/* ---- Columns. */

static int32_t jdbc_type(const nl_type *type)
{
    static const struct {
        nl_type_id id;
        int32_t number; /* java.sql.Types */
    } numbers[] = {{NL_TYPE_BOOLEAN, 16}, {NL_TYPE_TINYINT, -6}, {NL_TYPE_SMALLINT, 5}, {NL_TYPE_INT, 4}, {NL_TYPE_BIGINT, -5}, {NL_TYPE_FLOAT, 7}, {NL_TYPE_DOUBLE, 8}, {NL_TYPE_DECIMAL, 3},
                   {NL_TYPE_STRING, 12}, {NL_TYPE_BINARY, -3}, {NL_TYPE_DATE, 91}, {NL_TYPE_TIMESTAMP_NTZ, 93}, {NL_TYPE_TIMESTAMP, 2014}, {NL_TYPE_ARRAY, 2003}};
    for (size_t i = 0; i < NL_COUNT(numbers); i++)
        if (numbers[i].id == type->id) return numbers[i].number;
    return 2000;
}

static void write_column(information *self, const nl_ice_field *field, const nl_type *type, uint32_t position, bool is_jdbc)
{
    const nl_str type_name = nl_trino_type_name(self->arena, type), nullable = field->is_required ? NL_STR("NO") : NL_STR("YES");
    add_text(self, field->name);
    if (!is_jdbc) {
        add_long(self, position + 1);
        add_nulls(self, 1);
        add_text(self, nullable);
        add_text(self, type_name);
        return;
    }
    add_number(self, jdbc_type(type));
    add_text(self, type_name);
    add_number(self, type->id == NL_TYPE_DECIMAL ? type->precision : 0);
    add_nulls(self, 1);
    add_number(self, type->id == NL_TYPE_DECIMAL ? type->scale : 0);
    add_number(self, 10);
    add_number(self, !field->is_required);
    add_text(self, field->doc);
    add_nulls(self, 3);
    add_nulls(self, 1);
    add_number(self, position + 1);
    add_text(self, nullable);
    add_nulls(self, 6);
}

static void add_columns_of(information *self, nl_str catalog, nl_str schema, const nl_table_entry *entry, const nl_schema *columns, bool is_jdbc)
{
    for (uint32_t i = 0; i < columns->root->field_count; i++) {
        const nl_type *type = NULL;
        nl_error *error = nl_ice_type_to_sql(self->arena, columns->root->fields[i].type, &type);
        if (error) { /* a type that the engine does not have is left out */
            nl_error_free(error);
            continue;
        }
        begin_row(self);
        add_text(self, catalog);
        add_text(self, schema);
        add_text(self, entry->name);
        write_column(self, &columns->root->fields[i], type, i, is_jdbc);
        end_row(self);
    }
}

static void add_columns(information *self, nl_str catalog, nl_str schema, const nl_table_entry *entry, bool is_view, bool is_jdbc)
{
    nl_kept_metadata kept = {0};
    if (is_view || !entry->metadata_location.length) return;
    nl_error *error = nl_tables_read_metadata(self->statement->trino->tables, entry->metadata_location, &kept);
    if (error) {
        nl_error_free(error); /* one damaged table does not hide the others */
        return;
    }
    add_columns_of(self, catalog, schema, entry, nl_table_schema(kept.metadata), is_jdbc);
    nl_kept_metadata_release(&kept);
}

static void add_information_columns(information *self, nl_str catalog, nl_str schema, const nl_table_entry *entry, bool is_view)
{
    add_columns(self, catalog, schema, entry, is_view, false);
}

static void add_jdbc_columns(information *self, nl_str catalog, nl_str schema, const nl_table_entry *entry, bool is_view)
{
    add_columns(self, catalog, schema, entry, is_view, true);
}

/* ---- The tables. */

static const struct table_row {
    bool is_jdbc;
    const char *name, *columns; /* with the type that an empty one has */
    nl_status (*visit)(information *self, const nl_warehouse *warehouse, nl_str name);
    void (*add_table)(information *self, nl_str catalog, nl_str schema, const nl_table_entry *entry, bool is_view);
} table_rows[] = {
    {false, "schemata", "catalog_name, schema_name", add_schemas, NULL},
    {false, "tables", "table_catalog, table_schema, table_name, table_type", visit_tables, add_table},
    {false, "columns", "table_catalog, table_schema, table_name, column_name, ordinal_position, column_default, is_nullable, data_type", visit_tables, add_information_columns},
    {true, "catalogs", "TABLE_CAT", add_catalog, NULL},
    {true, "schemas", "TABLE_CATALOG, TABLE_SCHEM", add_schemas, NULL},
    {true, "tables", "TABLE_CAT, TABLE_SCHEM, TABLE_NAME, TABLE_TYPE, REMARKS, TYPE_CAT, TYPE_SCHEM, TYPE_NAME, SELF_REFERENCING_COL_NAME, REF_GENERATION", visit_tables, add_jdbc_table},
    {true, "columns",
     "TABLE_CAT, TABLE_SCHEM, TABLE_NAME, COLUMN_NAME, DATA_TYPE, TYPE_NAME, COLUMN_SIZE, BUFFER_LENGTH, DECIMAL_DIGITS, NUM_PREC_RADIX, NULLABLE, REMARKS, COLUMN_DEF, SQL_DATA_TYPE, "
     "SQL_DATETIME_SUB, CHAR_OCTET_LENGTH, ORDINAL_POSITION, IS_NULLABLE, SCOPE_CATALOG, SCOPE_SCHEMA, SCOPE_TABLE, SOURCE_DATA_TYPE, IS_AUTOINCREMENT, IS_GENERATEDCOLUMN",
     visit_tables, add_jdbc_columns},
};

static const struct table_row *find_row(bool is_jdbc, nl_str name)
{
    for (size_t i = 0; i < NL_COUNT(table_rows); i++)
        if (table_rows[i].is_jdbc == is_jdbc && nl_str_is(name, table_rows[i].name)) return &table_rows[i];
    return NULL;
}

/* "(SELECT * FROM VALUES (…), (…) AS t(a, b))"; without rows one of NULLs that is filtered out. */
static nl_str subquery(information *self, const struct table_row *row)
{
    nl_builder out;
    nl_builder_init(&out, 64u << 20);
    const bool is_empty = self->rows.length == 0;
    if (is_empty) {
        begin_row(self);
        for (const char *c = row->columns; c; c = strchr(c + 1, ',')) nl_append_c(&self->rows, "CAST(NULL AS STRING),");
        end_row(self);
    }
    nl_append_f(&out, "(SELECT * FROM VALUES " NL_STR_FMT " AS t(%s)%s)", NL_STR_ARG(nl_builder_str(&self->rows)), row->columns, is_empty ? " WHERE false" : "");
    const nl_str text = nl_arena_str(self->arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

nl_status nl_trino_find_table(void *argument, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_str *text)
{
    nl_trino_statement *statement = argument;
    const bool is_jdbc = nl_str_is(parts[part_count - 2], "jdbc");
    const struct table_row *row = find_row(is_jdbc, parts[part_count - 1]);
    if (!row || (is_jdbc && (part_count != 3 || !nl_str_is(parts[0], "system")))) return NULL;
    information self = {.statement = statement, .arena = arena, .add_table = row->add_table};
    if (!is_jdbc) self.catalog = part_count == 3 ? parts[0] : statement->catalog;
    if (!is_jdbc && !self.catalog.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Catalog must be specified when session catalog is not set");
    nl_builder_init(&self.rows, 32u << 20);
    nl_status status = each_catalog(&self, row->visit);
    if (!status && nl_builder_failed(&self.rows)) status = NL_RAISE_TEXT(NILAS_UNSUPPORTED, "There are too many tables to list at once");
    if (!status) *text = subquery(&self, row);
    nl_builder_fini(&self.rows);
    return status;
}
