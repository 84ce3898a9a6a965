/* sql/print_statement.c - SHOW, DESCRIBE, SET and the other small statements as text, and the way to the rest. */
#include "sql/print.h"

/* ---- small parts --------------------------------------------------------------------------------------------------------------- */

static bool is_there(const nl_ast_name *name)
{
    return name->count > 0 || name->expression;
}

static void print_name_after(nl_builder *out, const char *words, const nl_ast_name *name)
{
    if (!is_there(name)) return;
    nl_append_c(out, words);
    nl_sql_print_name(out, name);
}

static void print_string_after(nl_builder *out, const char *words, nl_str text)
{
    if (!text.data) return;
    nl_append_c(out, words);
    nl_print_string(out, text);
}

static void print_query_after(nl_builder *out, const char *words, const nl_ast_query *query)
{
    if (!query) return;
    nl_append_c(out, words);
    nl_sql_print_query(out, query);
}

/* A configuration's key or value in back-quotes, which keep every character. */
static void print_conf_text(nl_builder *out, nl_str text)
{
    nl_ast_ident ident = {.text = text, .is_quoted = true};
    nl_print_ident(out, &ident);
}

/* ---- SHOW and DESCRIBE ----------------------------------------------------------------------------------------------------------- */

static void print_show(nl_builder *out, const nl_ast_show *show)
{
    static const char *const words[] = {
        [NL_AST_SHOW_NAMESPACES] = "NAMESPACES",       [NL_AST_SHOW_TABLES] = "TABLES",
        [NL_AST_SHOW_TABLE_EXTENDED] = "TABLE EXTENDED", [NL_AST_SHOW_TBLPROPERTIES] = "TBLPROPERTIES",
        [NL_AST_SHOW_COLUMNS] = "COLUMNS",             [NL_AST_SHOW_VIEWS] = "VIEWS",
        [NL_AST_SHOW_PARTITIONS] = "PARTITIONS",       [NL_AST_SHOW_FUNCTIONS] = "FUNCTIONS",
        [NL_AST_SHOW_CREATE_TABLE] = "CREATE TABLE",   [NL_AST_SHOW_CURRENT_NAMESPACE] = "CURRENT NAMESPACE",
        [NL_AST_SHOW_CATALOGS] = "CATALOGS",
    };
    nl_append_c(out, "SHOW ");
    if (show->scope.text.data) {
        nl_print_ident(out, &show->scope);
        nl_append_char(out, ' ');
    }
    nl_append_c(out, words[show->kind]);
    bool is_object = show->kind == NL_AST_SHOW_TBLPROPERTIES || show->kind == NL_AST_SHOW_PARTITIONS ||
                     show->kind == NL_AST_SHOW_CREATE_TABLE;
    print_name_after(out, is_object ? " " : " IN ", &show->name);
    print_name_after(out, " IN ", &show->namespace_name);
    print_string_after(out, " LIKE ", show->pattern);
    print_name_after(out, " LIKE ", &show->legacy_pattern);
    print_string_after(out, " (", show->key);
    if (show->key.data) nl_append_char(out, ')');
    nl_print_partition_spec(out, show->partition);
    if (show->is_serde) nl_append_c(out, " AS SERDE");
}

/* A name of one part may be an operator: a string holds any of them. */
static void print_described_function(nl_builder *out, const nl_ast_name *name)
{
    if (name->count == 1)
        nl_print_string(out, name->parts[0].text);
    else
        nl_sql_print_name(out, name);
}

static void print_describe(nl_builder *out, const nl_ast_describe *describe)
{
    static const char *const words[] = {[NL_AST_DESCRIBE_FUNCTION] = "DESCRIBE FUNCTION ",
                                        [NL_AST_DESCRIBE_NAMESPACE] = "DESCRIBE NAMESPACE ",
                                        [NL_AST_DESCRIBE_TABLE] = "DESCRIBE TABLE ",
                                        [NL_AST_DESCRIBE_QUERY] = "DESCRIBE QUERY "};
    nl_append_c(out, words[describe->kind]);
    if (describe->is_extended) nl_append_c(out, "EXTENDED ");
    if (describe->kind == NL_AST_DESCRIBE_QUERY) {
        nl_sql_print_query(out, describe->query);
        return;
    }
    if (describe->kind == NL_AST_DESCRIBE_FUNCTION)
        print_described_function(out, &describe->name);
    else
        nl_sql_print_name(out, &describe->name);
    nl_print_partition_spec(out, describe->partition);
    print_name_after(out, " ", &describe->column);
    if (describe->is_json) nl_append_c(out, " AS JSON");
}

static void print_explain(nl_builder *out, const nl_ast_explain *explain)
{
    static const char *const words[] = {"EXPLAIN ",         "EXPLAIN EXTENDED ", "EXPLAIN FORMATTED ",
                                        "EXPLAIN CODEGEN ", "EXPLAIN COST ",     "EXPLAIN LOGICAL "};
    nl_append_c(out, words[explain->mode]);
    nl_sql_print(out, explain->statement);
}

/* ---- tables ----------------------------------------------------------------------------------------------------------------------- */

static void print_comment_on(nl_builder *out, const nl_ast_comment_on *node)
{
    nl_append_c(out, node->is_namespace ? "COMMENT ON NAMESPACE " : "COMMENT ON TABLE ");
    nl_sql_print_name(out, &node->name);
    nl_append_c(out, " IS ");
    if (node->is_null)
        nl_append_c(out, "NULL");
    else
        nl_print_string(out, node->comment);
}

static void print_refresh(nl_builder *out, const nl_ast_refresh *refresh)
{
    if (refresh->kind == NL_AST_REFRESH_RESOURCE) {
        print_string_after(out, "REFRESH ", refresh->path);
        return;
    }
    nl_append_c(out, refresh->kind == NL_AST_REFRESH_TABLE ? "REFRESH TABLE " : "REFRESH FUNCTION ");
    nl_sql_print_name(out, &refresh->name);
}

static void print_cache(nl_builder *out, const nl_ast_cache *cache)
{
    nl_append_c(out, cache->is_lazy ? "CACHE LAZY TABLE " : "CACHE TABLE ");
    nl_sql_print_name(out, &cache->name);
    if (cache->options) {
        nl_append_c(out, " OPTIONS ");
        nl_print_properties(out, cache->options);
    }
    print_query_after(out, " AS ", cache->query);
}

static void print_uncache(nl_builder *out, const nl_ast_cache *cache)
{
    nl_append_c(out, cache->is_if_exists ? "UNCACHE TABLE IF EXISTS " : "UNCACHE TABLE ");
    nl_sql_print_name(out, &cache->name);
}

static void print_analyze(nl_builder *out, const nl_ast_analyze *analyze)
{
    nl_append_c(out, analyze->is_tables ? "ANALYZE TABLES" : "ANALYZE TABLE");
    print_name_after(out, analyze->is_tables ? " IN " : " ", &analyze->name);
    nl_print_partition_spec(out, analyze->partition);
    nl_append_c(out, " COMPUTE STATISTICS");
    if (analyze->is_noscan) nl_append_c(out, " NOSCAN");
    if (analyze->is_all_columns) nl_append_c(out, " FOR ALL COLUMNS");
    if (analyze->columns.count == 0) return;
    nl_append_c(out, " FOR COLUMNS ");
    nl_print_idents(out, &analyze->columns);
}

static void print_load(nl_builder *out, const nl_ast_load_data *load)
{
    nl_append_c(out, load->is_local ? "LOAD DATA LOCAL INPATH " : "LOAD DATA INPATH ");
    nl_print_string(out, load->path);
    nl_append_c(out, load->is_overwrite ? " OVERWRITE INTO TABLE " : " INTO TABLE ");
    nl_sql_print_name(out, &load->table);
    nl_print_partition_spec(out, load->partition);
}

static void print_truncate(nl_builder *out, const nl_ast_truncate *truncate)
{
    nl_append_c(out, "TRUNCATE TABLE ");
    nl_sql_print_name(out, &truncate->table);
    nl_print_partition_spec(out, truncate->partition);
}

static void print_repair(nl_builder *out, const nl_ast_repair *repair)
{
    static const char *const words[] = {"", " ADD PARTITIONS", " DROP PARTITIONS", " SYNC PARTITIONS"};
    nl_append_c(out, "MSCK REPAIR TABLE ");
    nl_sql_print_name(out, &repair->table);
    nl_append_c(out, words[repair->option]);
}

static void print_resource(nl_builder *out, const nl_ast_manage_resource *node)
{
    nl_append_c(out, node->is_list ? "LIST " : "ADD ");
    nl_append(out, node->kind.text);
    for (uint32_t i = 0; i < node->path_count; i++) {
        char quote = nl_str_find_char(node->paths[i], '\'', 0) == NL_NOT_FOUND ? '\'' : '"';
        nl_append_char(out, ' ');
        nl_append_char(out, quote);
        nl_append(out, node->paths[i]);
        nl_append_char(out, quote);
    }
}

static void print_call(nl_builder *out, const nl_ast_call_procedure *call)
{
    nl_append_c(out, "CALL ");
    nl_sql_print_name(out, &call->name);
    nl_append_char(out, '(');
    nl_print_arguments(out, &call->args);
    nl_append_char(out, ')');
}

/* ---- session ---------------------------------------------------------------------------------------------------------------------- */

static void print_set_catalog(nl_builder *out, const nl_ast_set_catalog *node)
{
    nl_append_c(out, "SET CATALOG ");
    if (node->is_string)
        nl_print_string(out, node->name.parts[0].text);
    else
        nl_sql_print_name(out, &node->name);
}

static void print_set_conf(nl_builder *out, const nl_ast_set_conf *conf)
{
    nl_append_c(out, conf->is_verbose ? "SET -v" : "SET");
    if (!conf->key.data) return;
    nl_append_char(out, ' ');
    print_conf_text(out, conf->key);
    if (!conf->value.data) return;
    nl_append_char(out, '=');
    print_conf_text(out, conf->value);
}

static void print_set_time_zone(nl_builder *out, const nl_ast_set_time_zone *node)
{
    nl_append_c(out, "SET TIME ZONE ");
    if (node->is_local)
        nl_append_c(out, "LOCAL");
    else if (node->interval)
        nl_sql_print_expr(out, node->interval);
    else
        nl_print_string(out, node->zone);
}

/* Inside a script the word VAR does not stand there. */
static void print_set_variable(nl_builder *out, const nl_ast_set_variable *node, bool is_in_script)
{
    nl_append_c(out, is_in_script ? "SET " : "SET VAR ");
    if (!node->query) {
        nl_print_assignments(out, &node->assignments);
        return;
    }
    nl_append_char(out, '(');
    nl_print_names(out, &node->targets);
    nl_append_c(out, ") = (");
    nl_sql_print_query(out, node->query);
    nl_append_char(out, ')');
}

static void print_reset(nl_builder *out, const nl_ast_reset *reset)
{
    nl_append_c(out, "RESET");
    if (!reset->key.data) return;
    nl_append_char(out, ' ');
    print_conf_text(out, reset->key);
}

static void print_execute(nl_builder *out, const nl_ast_execute_immediate *node)
{
    nl_append_c(out, "EXECUTE IMMEDIATE ");
    if (node->is_string)
        nl_print_string(out, node->text);
    else
        nl_sql_print_name(out, &node->variable);
    if (node->into.count > 0) {
        nl_append_c(out, " INTO ");
        nl_print_names(out, &node->into);
    }
    if (!node->has_using) return;
    nl_append_c(out, " USING ");
    nl_print_exprs(out, &node->arguments);
}

/* ---- all --------------------------------------------------------------------------------------------------------------------------- */

static void print_small(nl_builder *out, const nl_ast_statement *statement)
{
    switch ((int)statement->kind) {
    case NL_AST_STATEMENT_SHOW: print_show(out, statement->show); break;
    case NL_AST_STATEMENT_DESCRIBE: print_describe(out, statement->describe); break;
    case NL_AST_STATEMENT_EXPLAIN: print_explain(out, statement->explain); break;
    case NL_AST_STATEMENT_COMMENT_ON: print_comment_on(out, statement->comment_on); break;
    case NL_AST_STATEMENT_REFRESH: print_refresh(out, statement->refresh); break;
    case NL_AST_STATEMENT_CACHE: print_cache(out, statement->cache); break;
    case NL_AST_STATEMENT_UNCACHE: print_uncache(out, statement->cache); break;
    case NL_AST_STATEMENT_CLEAR_CACHE: nl_append_c(out, "CLEAR CACHE"); break;
    case NL_AST_STATEMENT_ANALYZE: print_analyze(out, statement->analyze); break;
    case NL_AST_STATEMENT_LOAD_DATA: print_load(out, statement->load_data); break;
    case NL_AST_STATEMENT_TRUNCATE: print_truncate(out, statement->truncate); break;
    case NL_AST_STATEMENT_REPAIR: print_repair(out, statement->repair); break;
    case NL_AST_STATEMENT_MANAGE_RESOURCE: print_resource(out, statement->manage_resource); break;
    case NL_AST_STATEMENT_CALL: print_call(out, statement->call); break;
    case NL_AST_STATEMENT_USE:
        print_name_after(out, statement->use->is_namespace ? "USE NAMESPACE " : "USE ", &statement->use->name);
        break;
    case NL_AST_STATEMENT_SET_CATALOG: print_set_catalog(out, statement->set_catalog); break;
    case NL_AST_STATEMENT_SET_CONF: print_set_conf(out, statement->set_conf); break;
    case NL_AST_STATEMENT_SET_TIME_ZONE: print_set_time_zone(out, statement->set_time_zone); break;
    case NL_AST_STATEMENT_SET_VARIABLE: print_set_variable(out, statement->set_variable, statement->is_in_script); break;
    case NL_AST_STATEMENT_RESET: print_reset(out, statement->reset); break;
    case NL_AST_STATEMENT_EXECUTE_IMMEDIATE: print_execute(out, statement->execute_immediate); break;
    default: break;
    }
}

void nl_sql_print(nl_builder *out, const nl_ast_statement *statement)
{
    switch ((int)statement->kind) {
    case NL_AST_STATEMENT_QUERY: nl_sql_print_query(out, statement->query); break;
    case NL_AST_STATEMENT_INSERT:
    case NL_AST_STATEMENT_MULTI_INSERT:
    case NL_AST_STATEMENT_DELETE:
    case NL_AST_STATEMENT_UPDATE:
    case NL_AST_STATEMENT_MERGE: nl_print_write(out, statement); break;
    case NL_AST_STATEMENT_CREATE_TABLE:
    case NL_AST_STATEMENT_CREATE_TABLE_LIKE:
    case NL_AST_STATEMENT_CREATE_VIEW:
    case NL_AST_STATEMENT_CREATE_TEMP_VIEW_USING:
    case NL_AST_STATEMENT_CREATE_NAMESPACE:
    case NL_AST_STATEMENT_CREATE_FUNCTION:
    case NL_AST_STATEMENT_CREATE_INDEX:
    case NL_AST_STATEMENT_ALTER_TABLE:
    case NL_AST_STATEMENT_ALTER_VIEW:
    case NL_AST_STATEMENT_ALTER_NAMESPACE:
    case NL_AST_STATEMENT_DROP:
    case NL_AST_STATEMENT_DECLARE_VARIABLE: nl_print_ddl(out, statement); break;
    default:
        if (statement->kind >= NL_AST_STATEMENT_BLOCK)
            nl_print_script(out, statement);
        else
            print_small(out, statement);
        break;
    }
}
