/* sql/parse_show.c - SHOW, DESCRIBE, COMMENT ON, REFRESH, CACHE, ANALYZE and the other statements about tables. */
#include "sql/parse.h"

/* ---- SHOW --------------------------------------------------------------------------------------------------------------------- */

static nl_status parse_in_namespace(nl_parser *p, nl_ast_name *name)
{
    if (!nl_parser_take(p, NL_T_FROM) && !nl_parser_take(p, NL_T_IN)) return NULL;
    return nl_parse_name_reference(p, name);
}

/* [LIKE] 'pattern' */
static nl_status parse_pattern(nl_parser *p, nl_str *pattern)
{
    if (nl_parser_take(p, NL_T_LIKE)) return nl_parse_string(p, pattern);
    return nl_parser_is_string_at(p, p->at) ? nl_parse_string(p, pattern) : NULL;
}

/* SHOW x [IN name] [LIKE 'p'] */
static nl_status parse_show_list(nl_parser *p, nl_ast_show *show, nl_ast_show_kind kind)
{
    show->kind = kind;
    p->at++;
    if (kind != NL_AST_SHOW_CATALOGS) NL_TRY(parse_in_namespace(p, &show->name));
    return parse_pattern(p, &show->pattern);
}

static nl_status parse_show_table_extended(nl_parser *p, nl_ast_show *show)
{
    show->kind = NL_AST_SHOW_TABLE_EXTENDED;
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_EXTENDED));
    NL_TRY(parse_in_namespace(p, &show->name));
    NL_TRY(nl_parser_expect(p, NL_T_LIKE));
    NL_TRY(nl_parse_string(p, &show->pattern));
    return nl_parse_full_partition_spec(p, false, &show->partition);
}

static nl_status parse_show_properties(nl_parser *p, nl_ast_show *show)
{
    show->kind = NL_AST_SHOW_TBLPROPERTIES;
    p->at++;
    NL_TRY(nl_parse_name_reference(p, &show->name));
    if (!nl_parser_take(p, NL_T_LEFT_PAREN)) return NULL;
    NL_TRY(nl_parse_property_key(p, &show->key));
    return nl_parser_expect(p, NL_T_RIGHT_PAREN);
}

static nl_status parse_show_columns(nl_parser *p, nl_ast_show *show)
{
    show->kind = NL_AST_SHOW_COLUMNS;
    p->at++;
    if (!nl_parser_take(p, NL_T_FROM) && !nl_parser_take(p, NL_T_IN)) return nl_parser_syntax_error(p);
    NL_TRY(nl_parse_name_reference(p, &show->name));
    if (!nl_parser_take(p, NL_T_FROM) && !nl_parser_take(p, NL_T_IN)) return NULL;
    return nl_parse_name(p, &show->namespace_name);
}

/* SHOW [USER | SYSTEM | ALL] FUNCTIONS [IN name] [[LIKE] {name | 'pattern'}] */
static nl_status parse_show_functions(nl_parser *p, nl_ast_show *show)
{
    show->kind = NL_AST_SHOW_FUNCTIONS;
    bool has_scope = !(nl_parser_is(p, NL_T_FUNCTIONS) && nl_parser_ahead(p, 1) != NL_T_FUNCTIONS);
    if (has_scope) NL_TRY(nl_parse_identifier(p, &show->scope));
    NL_TRY(nl_parser_expect(p, NL_T_FUNCTIONS));
    NL_TRY(parse_in_namespace(p, &show->name));
    bool has_like = nl_parser_ahead(p, 1) != NL_T_EOF && nl_parser_take(p, NL_T_LIKE);
    if (nl_parser_is_string_at(p, p->at))
        NL_TRY(nl_parse_string(p, &show->pattern));
    else if (has_like || nl_parser_is_identifier_at(p, p->at))
        NL_TRY(nl_parse_name(p, &show->legacy_pattern));
    if (show->name.count > 0 && show->legacy_pattern.count > 0)
        return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_SQL_SYNTAX__SHOW_FUNCTIONS_INVALID_PATTERN,
                         NL_P_STR("pattern", nl_parser_quote_name(p, &show->legacy_pattern)));
    nl_str scope = show->scope.text;
    bool is_known = !has_scope || nl_str_is_nocase(scope, "user") || nl_str_is_nocase(scope, "system") ||
                    nl_str_is_nocase(scope, "all");
    if (is_known) return NULL;
    nl_str shown = nl_arena_f(p->arena, "`" NL_STR_FMT "`", NL_STR_ARG(nl_parser_lower(p, scope)));
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_SQL_SYNTAX__SHOW_FUNCTIONS_INVALID_SCOPE, NL_P_STR("scope", shown));
}

static nl_status parse_show_create(nl_parser *p, nl_ast_show *show)
{
    show->kind = NL_AST_SHOW_CREATE_TABLE;
    p->at++;
    NL_TRY(nl_parser_need(p, NL_T_TABLE));
    NL_TRY(nl_parse_name_reference(p, &show->name));
    if (!nl_parser_take(p, NL_T_AS)) return NULL;
    show->is_serde = true;
    return nl_parser_expect(p, NL_T_SERDE);
}

static nl_status parse_show_current(nl_parser *p, nl_ast_show *show)
{
    show->kind = NL_AST_SHOW_CURRENT_NAMESPACE;
    p->at++;
    if (!nl_parser_is_namespace_word(nl_parser_kind(p))) return nl_parser_syntax_error(p);
    p->at++;
    return NULL;
}

static nl_status parse_show_partitions(nl_parser *p, nl_ast_show *show)
{
    show->kind = NL_AST_SHOW_PARTITIONS;
    p->at++;
    NL_TRY(nl_parse_name_reference(p, &show->name));
    return nl_parse_full_partition_spec(p, false, &show->partition);
}

static nl_status parse_show_body(nl_parser *p, nl_ast_show *show)
{
    if (nl_parser_ahead(p, 1) == NL_T_FUNCTIONS) return parse_show_functions(p, show);
    switch ((int)nl_parser_kind(p)) {
    case NL_T_DATABASES:
    case NL_T_SCHEMAS:
    case NL_T_NAMESPACES: return parse_show_list(p, show, NL_AST_SHOW_NAMESPACES);
    case NL_T_TABLES: return parse_show_list(p, show, NL_AST_SHOW_TABLES);
    case NL_T_VIEWS: return parse_show_list(p, show, NL_AST_SHOW_VIEWS);
    case NL_T_CATALOGS: return parse_show_list(p, show, NL_AST_SHOW_CATALOGS);
    case NL_T_TABLE: return parse_show_table_extended(p, show);
    case NL_T_TBLPROPERTIES: return parse_show_properties(p, show);
    case NL_T_COLUMNS: return parse_show_columns(p, show);
    case NL_T_PARTITIONS: return parse_show_partitions(p, show);
    case NL_T_CREATE: return parse_show_create(p, show);
    case NL_T_CURRENT: return parse_show_current(p, show);
    default: return parse_show_functions(p, show);
    }
}

nl_status nl_parse_show(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_show *show = NL_NEW(p->arena, nl_ast_show);
    p->at++;
    NL_TRY(parse_show_body(p, show));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_SHOW);
    (*statement)->show = show;
    return NULL;
}

/* ---- DESCRIBE ------------------------------------------------------------------------------------------------------------------ */

/* A function may be named by an operator, a word like IN, or a string. */
static nl_status parse_function_reference(nl_parser *p, nl_ast_name *name)
{
    nl_token_kind kind = nl_parser_kind(p);
    bool is_sign = (kind >= NL_T_EQ && kind <= NL_T_HAT && kind != NL_T_OPERATOR_PIPE) || kind == NL_T_BANG;
    bool is_reserved = kind == NL_T_AND || kind == NL_T_OR || kind == NL_T_NOT || kind == NL_T_IN;
    bool is_string = nl_parser_is_string_at(p, p->at);
    if (!is_sign && !is_string && !(is_reserved && !nl_parser_is_identifier_at(p, p->at)))
        return nl_parse_name_reference(p, name);
    nl_ast_ident *part = NL_NEW(p->arena, nl_ast_ident);
    part->text = is_string ? nl_parser_unescape(p, p->at) : nl_parser_token_text(p, p->at);
    part->is_quoted = true;
    p->at++;
    part->range = nl_parser_range(p, p->at - 1);
    *name = (nl_ast_name){.parts = part, .count = 1, .range = part->range};
    return NULL;
}

static nl_status check_described_table(nl_parser *p, const nl_ast_describe *describe)
{
    bool is_column = describe->column.count > 0;
    if (describe->is_json && !describe->is_extended) {
        nl_builder name;
        nl_builder_init(&name, NL_SQL_TEXT_BYTES_MAX);
        for (uint32_t i = 0; i < describe->name.count; i++)
            nl_append_f(&name, "%s" NL_STR_FMT, i ? "." : "", NL_STR_ARG(describe->name.parts[i].text));
        nl_status status = NL_REFUSE(p, NL_TEXT_ONLY, DESCRIBE_JSON_NOT_EXTENDED, NL_P_STR("tableName", nl_builder_str(&name)));
        nl_builder_fini(&name);
        return status;
    }
    if (is_column && describe->partition)
        return NL_REFUSE(p, NL_WHOLE_STATEMENT, UNSUPPORTED_FEATURE__DESC_TABLE_COLUMN_PARTITION);
    if (is_column && describe->is_json) return NL_REFUSE(p, NL_TEXT_ONLY, UNSUPPORTED_FEATURE__DESC_TABLE_COLUMN_JSON);
    return NULL;
}

/* [TABLE] [EXTENDED | FORMATTED] t [PARTITION (…)] [column] [AS JSON] */
static nl_status parse_describe_table(nl_parser *p, nl_ast_describe *describe)
{
    describe->kind = NL_AST_DESCRIBE_TABLE;
    if (nl_parser_is(p, NL_T_TABLE) && nl_parser_is_identifier_at(p, p->at + 1)) p->at++;
    bool is_mode = nl_parser_is(p, NL_T_EXTENDED) || nl_parser_is(p, NL_T_FORMATTED);
    bool is_as_json = nl_parser_ahead(p, 1) == NL_T_AS && nl_parser_ahead(p, 2) == NL_T_JSON;
    describe->is_extended = is_mode && nl_parser_is_identifier_at(p, p->at + 1) && !is_as_json;
    if (describe->is_extended) p->at++;
    NL_TRY(nl_parse_name_reference(p, &describe->name));
    NL_TRY(nl_parse_full_partition_spec(p, true, &describe->partition));
    if (nl_parser_is_identifier_at(p, p->at) && !nl_parser_are(p, NL_T_AS, NL_T_JSON))
        NL_TRY(nl_parse_name(p, &describe->column));
    describe->is_json = nl_parser_take_both(p, NL_T_AS, NL_T_JSON);
    return check_described_table(p, describe);
}

static nl_status parse_describe_query(nl_parser *p, nl_ast_describe *describe)
{
    describe->kind = NL_AST_DESCRIBE_QUERY;
    uint32_t first = p->at;
    NL_TRY(nl_parse_query(p, &describe->query));
    describe->query_text = nl_parser_text_between(p, first, p->at);
    return NULL;
}

static nl_status parse_describe_body(nl_parser *p, nl_ast_describe *describe)
{
    nl_token_kind kind = nl_parser_kind(p);
    bool has_name = nl_parser_is_identifier_at(p, p->at + 1);
    bool is_function = kind == NL_T_FUNCTION && nl_parser_ahead(p, 1) != NL_T_EOF && nl_parser_ahead(p, 1) != NL_T_DOT;
    if (is_function) {
        describe->kind = NL_AST_DESCRIBE_FUNCTION;
        p->at++;
        nl_token_kind after = nl_parser_ahead(p, 1);
        bool is_extended = nl_parser_is(p, NL_T_EXTENDED) && after != NL_T_EOF && after != NL_T_DOT;
        describe->is_extended = is_extended;
        if (is_extended) p->at++;
        return parse_function_reference(p, &describe->name);
    }
    if (nl_parser_is_namespace_word(kind) && has_name) {
        describe->kind = NL_AST_DESCRIBE_NAMESPACE;
        p->at++;
        describe->is_extended = nl_parser_is(p, NL_T_EXTENDED) && nl_parser_is_identifier_at(p, p->at + 1);
        if (describe->is_extended) p->at++;
        return nl_parse_name_reference(p, &describe->name);
    }
    bool is_query_word = kind == NL_T_QUERY && (nl_parser_starts_query_at(p, p->at + 1) ||
                                                nl_parser_ahead(p, 1) == NL_T_LEFT_PAREN);
    if (is_query_word) p->at++;
    bool is_query = is_query_word || nl_parser_is(p, NL_T_LEFT_PAREN) ||
                    (kind != NL_T_TABLE && nl_parser_starts_query_at(p, p->at));
    return is_query ? parse_describe_query(p, describe) : parse_describe_table(p, describe);
}

nl_status nl_parse_describe(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_describe *describe = NL_NEW(p->arena, nl_ast_describe);
    p->at++;
    NL_TRY(parse_describe_body(p, describe));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_DESCRIBE);
    (*statement)->describe = describe;
    return NULL;
}

/* ---- COMMENT, REFRESH, CACHE ----------------------------------------------------------------------------------------------------- */

nl_status nl_parse_comment(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_comment_on *node = NL_NEW(p->arena, nl_ast_comment_on);
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_ON));
    node->is_namespace = nl_parser_is_namespace_word(nl_parser_kind(p));
    if (!node->is_namespace && !nl_parser_is(p, NL_T_TABLE)) return nl_parser_syntax_error(p);
    p->at++;
    NL_TRY(nl_parse_name_reference(p, &node->name));
    NL_TRY(nl_parser_expect(p, NL_T_IS));
    node->is_null = nl_parser_take(p, NL_T_NULL);
    if (!node->is_null) NL_TRY(nl_parse_string(p, &node->comment));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_COMMENT_ON);
    (*statement)->comment_on = node;
    return NULL;
}

static void skip_statement(nl_parser *p)
{
    while (!nl_parser_is(p, NL_T_EOF) && !nl_parser_is(p, NL_T_SEMICOLON)) p->at++;
}

/* The rest of the statement as a path: everything as written, without blanks inside. */
static nl_status parse_refresh_path(nl_parser *p, nl_ast_refresh *refresh)
{
    uint32_t first = p->at;
    skip_statement(p);
    refresh->path = nl_parser_text_between(p, first, p->at);
    if (refresh->path.length == 0)
        return NL_REFUSE(p, NL_WHOLE_STATEMENT, _LEGACY_ERROR_TEMP_0064,
                         NL_P("msg", "Resource paths cannot be empty in REFRESH statements. Use / to match everything"));
    for (size_t i = 0; i < refresh->path.length; i++)
        if (strchr(" \n\r\t", refresh->path.data[i]))
            return NL_REFUSE(p, NL_WHOLE_STATEMENT, _LEGACY_ERROR_TEMP_0064,
                             NL_P("msg", "REFRESH statements cannot contain ' ', '\\n', '\\r', '\\t' inside unquoted "
                                         "resource paths"));
    return NULL;
}

nl_status nl_parse_refresh(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_refresh *refresh = NL_NEW(p->arena, nl_ast_refresh);
    p->at++;
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_REFRESH);
    (*statement)->refresh = refresh;
    nl_token_kind kind = nl_parser_kind(p);
    if ((kind == NL_T_TABLE || kind == NL_T_FUNCTION) && nl_parser_is_identifier_at(p, p->at + 1)) {
        refresh->kind = kind == NL_T_TABLE ? NL_AST_REFRESH_TABLE : NL_AST_REFRESH_FUNCTION;
        uint32_t first = p->at++;
        NL_TRY(nl_parse_name_reference(p, &refresh->name));
        if (nl_parser_is(p, NL_T_EOF) || nl_parser_is(p, NL_T_SEMICOLON)) return NULL;
        p->at = first;
    }
    refresh->kind = NL_AST_REFRESH_RESOURCE;
    nl_token_kind next = nl_parser_ahead(p, 1);
    if (nl_parser_is_string_at(p, p->at) && (next == NL_T_EOF || next == NL_T_SEMICOLON))
        return nl_parse_string(p, &refresh->path);
    return parse_refresh_path(p, refresh);
}

nl_status nl_parse_cache(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_cache *cache = NL_NEW(p->arena, nl_ast_cache);
    p->at++;
    cache->is_lazy = nl_parser_take(p, NL_T_LAZY);
    NL_TRY(nl_parser_expect(p, NL_T_TABLE));
    NL_TRY(nl_parse_name_reference(p, &cache->name));
    if (nl_parser_take(p, NL_T_OPTIONS)) {
        NL_TRY(nl_parse_properties(p, false, &cache->options));
        NL_TRY(nl_parser_need_values(p, cache->options));
    }
    bool has_query = nl_parser_is(p, NL_T_AS) || nl_parser_is(p, NL_T_LEFT_PAREN) || nl_parser_starts_query_at(p, p->at);
    if (has_query) {
        nl_parser_take(p, NL_T_AS);
        uint32_t first = p->at;
        NL_TRY(nl_parse_query(p, &cache->query));
        cache->query_text = nl_parser_text_between(p, first, p->at);
    }
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CACHE);
    (*statement)->cache = cache;
    if (!has_query || cache->name.count < 2) return NULL;
    nl_builder prefix;
    nl_builder_init(&prefix, NL_SQL_TEXT_BYTES_MAX);
    for (uint32_t i = 0; i + 1 < cache->name.count; i++)
        nl_append_f(&prefix, "%s" NL_STR_FMT, i ? "." : "", NL_STR_ARG(cache->name.parts[i].text));
    nl_status status =
        NL_REFUSE(p, NL_WHOLE_STATEMENT, _LEGACY_ERROR_TEMP_0037, NL_P_STR("quoted", nl_builder_str(&prefix)));
    nl_builder_fini(&prefix);
    return status;
}

nl_status nl_parse_uncache(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_cache *cache = NL_NEW(p->arena, nl_ast_cache);
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_TABLE));
    NL_TRY(nl_parse_if_exists(p, &cache->is_if_exists));
    NL_TRY(nl_parse_name_reference(p, &cache->name));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_UNCACHE);
    (*statement)->cache = cache;
    return NULL;
}

nl_status nl_parse_clear(nl_parser *p, nl_ast_statement **statement)
{
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_CACHE));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CLEAR_CACHE);
    return NULL;
}

/* ---- ANALYZE, LOAD, REPAIR, resources, CALL ---------------------------------------------------------------------------------------- */

/* NOSCAN, FOR COLUMNS a, b, FOR ALL COLUMNS */
static nl_status parse_analyze_scope(nl_parser *p, nl_ast_analyze *analyze)
{
    bool is_for = nl_parser_is(p, NL_T_FOR) && nl_parser_ahead(p, 1) != NL_T_EOF;
    if (!analyze->is_tables && is_for) {
        p->at++;
        if (nl_parser_take(p, NL_T_ALL)) {
            analyze->is_all_columns = true;
            return nl_parser_expect(p, NL_T_COLUMNS);
        }
        NL_TRY(nl_parser_expect(p, NL_T_COLUMNS));
        return nl_parse_name_parts(p, &analyze->columns);
    }
    if (!nl_parser_is_identifier_at(p, p->at)) return NULL;
    nl_ast_ident word;
    NL_TRY(nl_parse_identifier(p, &word));
    analyze->is_noscan = true;
    if (nl_str_is_nocase(word.text, "noscan")) return NULL;
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_SQL_SYNTAX__ANALYZE_TABLE_UNEXPECTED_NOSCAN, NL_P_STR("ctx", word.text));
}

nl_status nl_parse_analyze(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_analyze *analyze = NL_NEW(p->arena, nl_ast_analyze);
    p->at++;
    analyze->is_tables = nl_parser_is(p, NL_T_TABLES);
    if (!nl_parser_take(p, NL_T_TABLE) && !nl_parser_take(p, NL_T_TABLES)) return nl_parser_syntax_error(p);
    if (analyze->is_tables) {
        NL_TRY(parse_in_namespace(p, &analyze->name));
    } else {
        NL_TRY(nl_parse_name_reference(p, &analyze->name));
        NL_TRY(nl_parse_partition_spec(p, &analyze->partition));
    }
    NL_TRY(nl_parser_expect(p, NL_T_COMPUTE));
    NL_TRY(nl_parser_expect(p, NL_T_STATISTICS));
    NL_TRY(parse_analyze_scope(p, analyze));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_ANALYZE);
    (*statement)->analyze = analyze;
    return NULL;
}

nl_status nl_parse_load(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_load_data *load = NL_NEW(p->arena, nl_ast_load_data);
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_DATA));
    load->is_local = nl_parser_take(p, NL_T_LOCAL);
    NL_TRY(nl_parser_expect(p, NL_T_INPATH));
    NL_TRY(nl_parse_string(p, &load->path));
    load->is_overwrite = nl_parser_take(p, NL_T_OVERWRITE);
    NL_TRY(nl_parser_expect(p, NL_T_INTO));
    NL_TRY(nl_parser_expect(p, NL_T_TABLE));
    NL_TRY(nl_parse_name_reference(p, &load->table));
    NL_TRY(nl_parse_full_partition_spec(p, false, &load->partition));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_LOAD_DATA);
    (*statement)->load_data = load;
    return NULL;
}

nl_status nl_parse_repair(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_repair *repair = NL_NEW(p->arena, nl_ast_repair);
    nl_parser_take(p, NL_T_MSCK);
    NL_TRY(nl_parser_expect(p, NL_T_REPAIR));
    NL_TRY(nl_parser_expect(p, NL_T_TABLE));
    NL_TRY(nl_parse_name_reference(p, &repair->table));
    nl_token_kind kind = nl_parser_kind(p);
    repair->option = kind == NL_T_ADD    ? NL_AST_REPAIR_ADD
                     : kind == NL_T_DROP ? NL_AST_REPAIR_DROP
                     : kind == NL_T_SYNC ? NL_AST_REPAIR_SYNC
                                         : NL_AST_REPAIR_UNSAID;
    if (repair->option != NL_AST_REPAIR_UNSAID) {
        p->at++;
        NL_TRY(nl_parser_expect(p, NL_T_PARTITIONS));
    }
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_REPAIR);
    (*statement)->repair = repair;
    return NULL;
}

/* Paths are parted by blanks; one in quotes may hold blanks. Tokens that touch are one path. */
static nl_status parse_resource_paths(nl_parser *p, nl_ast_manage_resource *node)
{
    nl_list list = {0};
    while (!nl_parser_is(p, NL_T_EOF) && !nl_parser_is(p, NL_T_SEMICOLON)) {
        nl_str *path = NL_NEW(p->arena, nl_str);
        uint32_t first = p->at++;
        bool is_string = nl_parser_is_string_at(p, first);
        while (!is_string && p->tokens[p->at].start == p->tokens[p->at - 1].stop && !nl_parser_is(p, NL_T_EOF) &&
               !nl_parser_is(p, NL_T_SEMICOLON))
            p->at++;
        nl_str text = nl_parser_text_between(p, first, p->at);
        *path = is_string ? nl_str_slice(text, 1, text.length - 1) : text;
        nl_list_add(p->arena, &list, path);
    }
    node->paths = NL_FLATTEN(p, &list, nl_str);
    node->path_count = list.count;
    return NULL;
}

/* ADD JAR x, LIST FILES x y */
nl_status nl_parse_resource(nl_parser *p, nl_ast_statement **statement)
{
    static const char *const kinds[] = {"jar", "jars", "file", "files", "archive", "archives"};
    nl_ast_manage_resource *node = NL_NEW(p->arena, nl_ast_manage_resource);
    node->is_list = nl_parser_is(p, NL_T_LIST);
    p->at++;
    NL_TRY(nl_parse_identifier(p, &node->kind));
    NL_TRY(parse_resource_paths(p, node));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_MANAGE_RESOURCE);
    (*statement)->manage_resource = node;
    for (size_t i = 0; i < NL_COUNT(kinds); i++)
        if (nl_str_is_nocase(node->kind.text, kinds[i])) return NULL;
    nl_str message = nl_arena_f(p->arena, "%s with resource type '" NL_STR_FMT "'", node->is_list ? "LIST" : "ADD",
                                NL_STR_ARG(nl_parser_lower(p, node->kind.text)));
    return nl_parser_not_allowed(p, NL_WHOLE_STATEMENT, nl_str_c(p->arena, message));
}

nl_status nl_parse_call_procedure(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_call_procedure *call = NL_NEW(p->arena, nl_ast_call_procedure);
    p->at++;
    NL_TRY(nl_parse_name_reference(p, &call->name));
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    NL_TRY(nl_parse_arguments(p, false, &call->args));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CALL);
    (*statement)->call = call;
    return NULL;
}
