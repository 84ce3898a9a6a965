/* lakehouse/trino/show.c - statements that are Trino's own: USE, SHOW, DESCRIBE, PREPARE and EXECUTE, SET SESSION. The names of
 * their columns and rows are Trino's, which clients rely on.
 */
#include "lakehouse/trino/trino_private.h"

#include "lakehouse/dialect.h"
#include "sql/parser.h"
#include "storage/http.h"

typedef struct show {
    nl_trino_statement *statement;
    nl_session *session;
    nl_arena *arena;
    nl_builder rows;
    nl_str like; /* empty: all */
} show;

/* ---- Words. */

static nl_str next_word(nl_str *text)
{
    *text = nl_str_trim(*text);
    size_t end = 0;
    while (end < text->length && !strchr(" \t\r\n;", text->data[end])) end++;
    const nl_str word = nl_str_slice(*text, 0, end);
    *text = nl_str_trim(nl_str_slice(*text, end, text->length));
    return word;
}

static nl_str without_end(nl_str text)
{
    text = nl_str_trim(text);
    while (text.length && text.data[text.length - 1] == ';') text = nl_str_trim(nl_str_slice(text, 0, text.length - 1));
    return text;
}

/* 'a''b' without its quotes; other text as it is. */
static nl_str unquote(nl_arena *arena, nl_str text)
{
    if (text.length < 2 || text.data[0] != '\'' || text.data[text.length - 1] != '\'') return text;
    char *out = nl_arena_alloc(arena, text.length);
    size_t length = 0;
    for (size_t i = 1; i + 1 < text.length; i++) {
        out[length++] = text.data[i];
        if (text.data[i] == '\'' && text.data[i + 1] == '\'') i++;
    }
    return (nl_str){out, length};
}

static bool is_like(nl_str text, nl_str pattern)
{
    size_t at = 0, star = NL_NOT_FOUND, mark = 0, p = 0;
    while (at < text.length) {
        if (p < pattern.length && pattern.data[p] == '%') {
            star = p++;
            mark = at;
        } else if (p < pattern.length && (pattern.data[p] == '_' || pattern.data[p] == text.data[at])) {
            p++;
            at++;
        } else if (star != NL_NOT_FOUND) {
            p = star + 1;
            at = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.length && pattern.data[p] == '%') p++;
    return p == pattern.length;
}

/* [FROM name] [LIKE 'pattern']; anything else is not ours. */
static bool read_clauses(show *self, nl_str rest, nl_str *from)
{
    *from = (nl_str){0};
    while (rest.length) {
        const nl_str word = next_word(&rest);
        if (nl_str_is_nocase(word, "FROM") || nl_str_is_nocase(word, "IN")) *from = next_word(&rest);
        else if (nl_str_is_nocase(word, "LIKE")) self->like = unquote(self->arena, next_word(&rest));
        else return false;
    }
    return true;
}

static nl_status parse_name(show *self, nl_str text, const nl_str **parts, uint32_t *count)
{
    static const nl_sql_options options = {.is_double_quote_identifier = true, .is_escape_off = true};
    nl_ast_name name;
    NL_TRY(nl_sql_parse_name(self->arena, text, &options, &name));
    nl_str *found = NL_NEW_ARRAY(self->arena, nl_str, name.count + 1);
    for (uint32_t i = 0; i < name.count; i++) found[i] = name.parts[i].text;
    *parts = found;
    *count = name.count;
    return NULL;
}

/* ---- Rows of texts. */

static void tell_columns(show *self, const char *const *names, uint32_t count)
{
    nl_builder out;
    nl_builder_init(&out, 1 << 16);
    nl_json_writer json = {.out = &out};
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < count; i++) nl_trino_write_column(&json, self->arena, nl_str_from(names[i]), nl_type_string());
    nl_json_end(&json, ']');
    nl_trino_set_columns(self->statement, nl_builder_str(&out));
    nl_builder_fini(&out);
}

static void add_row(show *self, const nl_str *cells, uint32_t count)
{
    if (self->like.length && !is_like(cells[0], self->like)) return;
    nl_append_c(&self->rows, self->rows.length ? ",[" : "[");
    for (uint32_t i = 0; i < count; i++) {
        if (i) nl_append_char(&self->rows, ',');
        nl_json_append_quoted(&self->rows, cells[i]);
    }
    nl_append_char(&self->rows, ']');
}

/* ---- SHOW. */

static nl_status show_catalogs(show *self)
{
    static const nl_warehouse_kind kinds[] = {NL_WAREHOUSE_PLAIN, NL_WAREHOUSE_TABLE_BUCKET, NL_WAREHOUSE_GLUE};
    static const char *const columns[] = {"Catalog"};
    tell_columns(self, columns, 1);
    for (size_t k = 0; k < NL_COUNT(kinds); k++) {
        const nl_warehouse *list = NULL;
        uint32_t count = 0;
        NL_TRY(nl_tables_list_warehouses(self->statement->trino->tables, kinds[k], self->arena, &list, &count));
        for (uint32_t i = 0; i < count; i++) add_row(self, kinds[k] == NL_WAREHOUSE_GLUE ? &NL_STR("awsdatacatalog") : &list[i].name, 1);
    }
    return NULL;
}

static nl_status find_warehouse(show *self, nl_str name, nl_warehouse *warehouse)
{
    bool exists = false;
    if (!name.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Catalog must be specified when session catalog is not set");
    NL_TRY(nl_trino_find_catalog(self->statement->trino, name, self->arena, warehouse, &exists));
    return exists ? NULL : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Catalog '" NL_STR_FMT "' not found", NL_STR_ARG(name));
}

static nl_status show_schemas(show *self, nl_str from)
{
    static const char *const columns[] = {"Schema"};
    nl_str catalog = self->statement->catalog;
    nl_warehouse warehouse;
    const nl_namespace_entry *entries = NULL;
    uint32_t count = 0;
    if (from.length) {
        const nl_str *parts = NULL;
        NL_TRY(parse_name(self, from, &parts, &count));
        catalog = count ? parts[0] : from;
    }
    NL_TRY(find_warehouse(self, catalog, &warehouse));
    NL_TRY(nl_tables_list_namespaces(self->statement->trino->tables, warehouse.id, NULL, 0, (nl_str){0}, (nl_str){0}, UINT32_MAX, self->arena, &entries, &count));
    tell_columns(self, columns, 1);
    for (uint32_t i = 0; i < count; i++) add_row(self, &entries[i].parts[0], 1);
    return NULL;
}

static nl_status show_tables(show *self, nl_str from)
{
    static const char *const columns[] = {"Table"};
    const nl_trino_statement *statement = self->statement;
    const nl_str *parts = &statement->schema;
    uint32_t count = statement->schema.length > 0;
    nl_str catalog = statement->catalog;
    nl_warehouse warehouse;
    if (from.length) NL_TRY(parse_name(self, from, &parts, &count));
    if (from.length && count > 1) {
        catalog = parts[0];
        parts++;
        count--;
    }
    if (!count) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Schema must be specified when session schema is not set");
    NL_TRY(find_warehouse(self, catalog, &warehouse));
    tell_columns(self, columns, 1);
    for (int views = 0; views < 2; views++) {
        const nl_table_entry *entries = NULL;
        uint32_t entry_count = 0;
        NL_TRY(nl_tables_list(statement->trino->tables, warehouse.id, parts, count, views, (nl_str){0}, (nl_str){0}, UINT32_MAX, self->arena, &entries, &entry_count));
        for (uint32_t i = 0; i < entry_count; i++) add_row(self, &entries[i].name, 1);
    }
    return NULL;
}

static nl_status write_table_columns(show *self, nl_iceberg_table *table)
{
    static const char *const columns[] = {"Column", "Type", "Extra", "Comment"};
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(table);
    const nl_schema *schema = nl_table_schema(metadata);
    nl_status status = NULL;
    tell_columns(self, columns, 4);
    for (uint32_t i = 0; !status && i < schema->root->field_count; i++) {
        const nl_ice_field *field = &schema->root->fields[i];
        const nl_type *type = NULL;
        status = nl_ice_type_to_sql(self->arena, field->type, &type);
        const nl_str cells[] = {field->name, status ? NL_STR("") : nl_trino_type_name(self->arena, type), NL_STR(""), field->doc};
        if (!status) add_row(self, cells, 4);
    }
    nl_table_metadata_release(metadata);
    return status;
}

static nl_status show_columns(show *self, nl_str from)
{
    const nl_str *parts = NULL;
    uint32_t count = 0;
    nl_session_name name;
    nl_iceberg_table *table = NULL;
    NL_TRY(parse_name(self, from, &parts, &count));
    NL_TRY(nl_session_resolve(self->session, parts, count, self->arena, &name));
    NL_TRY(nl_catalog_load_table(name.catalog, &name.identifier, &table));
    nl_status status = write_table_columns(self, table);
    nl_iceberg_table_release(table);
    return status;
}

/* ---- USE. */

static nl_status use(show *self, nl_str target)
{
    nl_trino_statement *statement = self->statement;
    const nl_str *parts = NULL;
    uint32_t count = 0;
    nl_warehouse warehouse;
    nl_namespace_entry entry;
    bool exists = false;
    NL_TRY(parse_name(self, target, &parts, &count));
    const nl_str catalog = count > 1 ? parts[0] : statement->catalog;
    const nl_str *schema = count > 1 ? parts + 1 : parts;
    NL_TRY(find_warehouse(self, catalog, &warehouse));
    NL_TRY(nl_tables_find_namespace(statement->trino->tables, warehouse.id, schema, 1, self->arena, &entry, &exists));
    if (!exists) return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_arena_f(self->arena, "`" NL_STR_FMT "`.`" NL_STR_FMT "`", NL_STR_ARG(catalog), NL_STR_ARG(*schema))));
    if (count > 1) nl_trino_add_header(statement, "X-Trino-Set-Catalog", catalog);
    nl_trino_add_header(statement, "X-Trino-Set-Schema", *schema);
    statement->update_type = NL_STR("USE");
    return NULL;
}

/* ---- PREPARE and EXECUTE: the client keeps what it has prepared and sends it along. */

static nl_status prepare(show *self, nl_str rest)
{
    const nl_str name = next_word(&rest);
    if (!nl_str_is_nocase(next_word(&rest), "FROM") || !rest.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "PREPARE wants a name, FROM, and a statement");
    nl_trino_add_header(self->statement, "X-Trino-Added-Prepare", nl_arena_f(self->arena, NL_STR_FMT "=" NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(nl_url_encode(self->arena, rest, false))));
    self->statement->update_type = NL_STR("PREPARE");
    return NULL;
}

static nl_status deallocate(show *self, nl_str rest)
{
    nl_str name = next_word(&rest);
    if (nl_str_is_nocase(name, "PREPARE")) name = next_word(&rest);
    nl_trino_add_header(self->statement, "X-Trino-Deallocated-Prepare", name);
    self->statement->update_type = NL_STR("DEALLOCATE");
    return NULL;
}

/* EXECUTE name [USING …], EXECUTE IMMEDIATE 'text' [USING …]: the statement takes the place of this one. */
static nl_status execute(show *self, nl_str rest)
{
    nl_trino_statement *statement = self->statement;
    nl_str sql = {0};
    nl_str name = next_word(&rest);
    if (nl_str_is_nocase(name, "IMMEDIATE")) {
        size_t end = 1;
        while (end < rest.length && (rest.data[end] != '\'' || (end + 1 < rest.length && rest.data[end + 1] == '\''))) end += rest.data[end] == '\'' ? 2 : 1;
        sql = unquote(self->arena, nl_str_slice(rest, 0, end + 1));
        rest = nl_str_trim(nl_str_slice(rest, end + 1, rest.length));
    } else {
        for (uint32_t i = 0; i < statement->prepared_count; i++)
            if (nl_str_equal(statement->prepared[i].key, name)) sql = statement->prepared[i].value;
        if (!sql.data) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Prepared statement not found: " NL_STR_FMT, NL_STR_ARG(name));
    }
    const nl_str *parameters = NULL;
    uint32_t count = 0;
    if (rest.length && nl_str_is_nocase(next_word(&rest), "USING")) count = nl_dialect_split_parameters(self->arena, rest, &parameters);
    return nl_dialect_put_parameters(self->arena, without_end(sql), parameters, count, &statement->sql);
}

/* ---- */

static nl_status run(show *self, nl_str verb, nl_str rest, bool *is_own)
{
    nl_str from = {0}, after = rest;
    *is_own = true;
    if (nl_str_is_nocase(verb, "USE")) return use(self, rest);
    if (nl_str_is_nocase(verb, "PREPARE")) return prepare(self, rest);
    if (nl_str_is_nocase(verb, "DEALLOCATE")) return deallocate(self, rest);
    if (nl_str_is_nocase(verb, "START") || nl_str_is_nocase(verb, "COMMIT") || nl_str_is_nocase(verb, "ROLLBACK"))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Each statement is a transaction of its own here: use the client's autocommit mode");
    const nl_str what = next_word(&after);
    if (nl_str_is_nocase(verb, "SET") && nl_str_is_nocase(what, "SESSION")) {
        self->statement->update_type = NL_STR("SET SESSION"); /* there is nothing to set; clients send some by themselves */
        return NULL;
    }
    if (nl_str_is_nocase(verb, "SHOW") && read_clauses(self, after, &from)) {
        if (nl_str_is_nocase(what, "CATALOGS")) return show_catalogs(self);
        if (nl_str_is_nocase(what, "SCHEMAS")) return show_schemas(self, from);
        if (nl_str_is_nocase(what, "TABLES")) return show_tables(self, from);
        if (nl_str_is_nocase(what, "COLUMNS") && from.length) return show_columns(self, from);
    }
    if ((nl_str_is_nocase(verb, "DESCRIBE") || nl_str_is_nocase(verb, "DESC")) && what.length && !after.length) return show_columns(self, what);
    *is_own = false;
    return NULL;
}

nl_status nl_trino_show(nl_trino_statement *statement, nl_session *session, nl_str sql, bool *is_own)
{
    show self = {.statement = statement, .session = session, .arena = statement->arena};
    nl_str rest = without_end(sql);
    const nl_str whole = rest, verb = next_word(&rest);
    statement->sql = whole;
    if (nl_str_is_nocase(verb, "EXECUTE")) {
        NL_TRY(execute(&self, rest));
        rest = statement->sql;
        if (nl_str_is_nocase(next_word(&rest), "EXECUTE")) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A prepared statement may not be EXECUTE");
        return nl_trino_show(statement, session, statement->sql, is_own);
    }
    nl_builder_init(&self.rows, NL_VALUE_BYTES_MAX);
    nl_status status = run(&self, verb, rest, is_own);
    if (!status) status = nl_trino_hand_over(statement, &self.rows);
    nl_builder_fini(&self.rows);
    return status;
}
