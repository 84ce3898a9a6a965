/* Table functions and LATERAL VIEW: range(…), and every generator. */
#include "function/collation.h"
#include "function/java_class.h"
#include "plan/analyzer/analyzer.h"

static nl_status raise_not_foldable(uint32_t position)
{
    static const char *const names[] = {"`start`", "`end`", "`step`", "`numSlices`"};
    return NL_RAISE(NON_FOLDABLE_ARGUMENT, NL_P("funcName", "`range`"), NL_P("paramName", names[NL_MIN(position, 3u)]), NL_P("paramType", "\"BIGINT\""));
}

static nl_status range_argument(nl_scope *scope, const nl_ast_argument *argument, uint32_t position, int64_t *number)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *expr = NULL;
    const nl_value *value = NULL;
    if (argument->name.text.data) return raise_not_foldable(position); /* Spark's range knows its arguments by place only */
    NL_TRY(nl_resolve_expr(scope, argument->value, &expr));
    const nl_expr *cast = NULL;
    /* A variable alone is not foldable for Spark here; sums of them are. */
    if (!nl_expr_is_constant(expr) || argument->value->kind == NL_AST_EXPR_COLUMN) return raise_not_foldable(position);
    if (nl_can_cast(expr->type, nl_type_bigint(), true)) NL_TRY(nl_make_cast(scope, expr, nl_type_bigint(), NL_CAST_ANSI, &cast));
    if (cast) NL_TRY(nl_fold(scope, cast, &value));
    if (!value || value->is_null)
        return NL_RAISE(UNEXPECTED_INPUT_TYPE, NL_P("functionName", "`range`"), NL_P("paramIndex", nl_position_word(position)),
                        NL_P("requiredType", "\"BIGINT\""), NL_P_STR("inputSql", nl_quote_expr(arena, expr)),
                        NL_P_STR("inputType", nl_quote_type(arena, expr->type)));
    *number = value->integer;
    return NULL;
}

static nl_status analyze_range(nl_scope *scope, const nl_ast_arguments *args, const nl_logical **plan)
{
    nl_arena *arena = nl_scope_arena(scope);
    int64_t numbers[4] = {0, 0, 1, 0};
    if (args->count < 1 || args->count > 4)
        return NL_RAISE(WRONG_NUM_ARGS__WITHOUT_SUGGESTION, NL_P("functionName", "`range`"), NL_P("expectedNum", "[1, 2, 3, 4]"),
                        NL_P_INT("actualNum", args->count), NL_P("docroot", "https://spark.apache.org/docs/latest"));
    const uint32_t first = args->count == 1 ? 1 : 0;
    for (uint32_t i = 0; i < args->count && i + first < 3; i++) NL_TRY(range_argument(scope, &args->items[i], i + first, &numbers[i + first]));
    if (numbers[2] == 0) return NL_RAISE(FAILED_FUNCTION_CALL, NL_P("funcName", "`range`"));
    nl_logical *range = nl_logical_new(arena, NL_PLAN_RANGE, NULL, 0);
    nl_column *column = NL_NEW(arena, nl_column);
    *column = (nl_column){.id = nl_plan_new_id(scope->env->context), .name = NL_STR("id"), .type = nl_type_bigint()};
    range->columns = column;
    range->column_count = 1;
    range->range.start = numbers[0];
    range->range.stop = numbers[1];
    range->range.step = numbers[2];
    *plan = range;
    return NULL;
}

/* Argument `nested` is a generator, and `refused` says so of it alone: Spark shows the call around it. */
static nl_status raise_nested(nl_scope *scope, nl_str name, const nl_expr *const *exprs, uint32_t nested, nl_status refused)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_str inner = nl_str_from(nl_error_param(refused, "expression"));
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, nested + 1);
    for (uint32_t i = 0; i < nested; i++) parts[i] = nl_expr_pretty_str(arena, exprs[i]);
    parts[nested] = nl_arena_str(arena, nl_str_slice(inner, 1, inner.length - 1));
    const nl_str list = nl_join_texts(arena, parts, nested + 1, ", ");
    nl_error_free(refused);
    return NL_RAISE(UNSUPPORTED_GENERATOR__NESTED_IN_EXPRESSIONS, NL_P_STR("expression", nl_arena_f(arena, "\"" NL_STR_FMT "(" NL_STR_FMT ")\"", NL_STR_ARG(name), NL_STR_ARG(list))));
}

static nl_status analyze_generator(nl_scope *scope, nl_str name, const nl_ast_arguments *args, const nl_logical **plan)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_ast_arguments given;
    NL_TRY(nl_positional_arguments(scope, name, args, &given));
    scope->clause = NL_CLAUSE_SELECT; /* a generator inside is nested in an expression */
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, given.count + 1);
    for (uint32_t i = 0; i < given.count; i++) {
        nl_status status = nl_resolve_expr(scope, given.items[i].value, &exprs[i]);
        if (status && nl_error_condition(status) == NL_COND_UNSUPPORTED_GENERATOR__NESTED_IN_EXPRESSIONS) return raise_nested(scope, name, exprs, i, status);
        NL_TRY(status);
    }
    nl_select_generator generator = {0};
    NL_TRY(nl_make_generator(scope, name, exprs, given.count, &generator));
    *plan = nl_generator_plan(arena, &generator, nl_logical_one_row(arena));
    return NULL;
}

/* Every keyword, and whether it is reserved: none is unless ANSI's are enforced. */
static nl_status analyze_keywords(nl_scope *scope, const nl_ast_arguments *args, const nl_logical **plan)
{
    static const char *const words[] = {
#define X(token, text, place, ansi) text,
#define ALIAS(token, text, place, ansi)
#include "sql/keywords.def"
#undef X
#undef ALIAS
    };
    enum { FREE, JOIN, RESERVED };
    static const int ansi_kinds[] = {
#define X(token, text, place, ansi) ansi,
#define ALIAS(token, text, place, ansi)
#include "sql/keywords.def"
#undef X
#undef ALIAS
    };
    const bool is_enforced = nl_scope_confs(scope)->is_ansi && nl_env_is_set(scope->env, "spark.sql.ansi.enforceReservedKeywords", "true");
    nl_arena *arena = nl_scope_arena(scope);
    if (args->count)
        return NL_RAISE(WRONG_NUM_ARGS__WITHOUT_SUGGESTION, NL_P("functionName", "`sql_keywords`"), NL_P("expectedNum", "0"),
                        NL_P_INT("actualNum", args->count), NL_P("docroot", "https://spark.apache.org/docs/latest"));
    const nl_field fields[] = {{.name = NL_STR("keyword"), .type = nl_type_string()}, {.name = NL_STR("reserved"), .type = nl_type_boolean()}};
    const nl_type *row_type = nl_type_struct(arena, fields, 2);
    nl_value all = {.type = nl_type_array(arena, row_type, false)};
    nl_value *rows = NL_NEW_ARRAY(arena, nl_value, NL_COUNT(words));
    for (size_t i = 0; i < NL_COUNT(words); i++) {
        if (strcmp(words[i], "RLIKE") == 0 || strcmp(words[i], "TEMPORARY") == 0) continue; /* Spark forgets those with a synonym */
        nl_value *cells = NL_NEW_ARRAY(arena, nl_value, 2);
        cells[0] = nl_value_string(nl_str_from(words[i]));
        cells[1] = nl_value_boolean(is_enforced && ansi_kinds[i] == RESERVED);
        rows[all.list.count] = (nl_value){.type = row_type};
        rows[all.list.count].list.items = cells;
        rows[all.list.count++].list.count = 2;
    }
    all.list.items = rows;
    const nl_expr *const literal = nl_expr_literal(arena, &all);
    nl_select_generator generator = {0};
    NL_TRY(nl_make_generator(scope, NL_STR("inline"), &literal, 1, &generator));
    *plan = nl_generator_plan(arena, &generator, nl_logical_one_row(arena));
    return NULL;
}

static nl_value text_or_null(const char *text)
{
    return text ? nl_value_string(nl_str_from(text)) : nl_value_null(nl_type_string());
}

/* Every collation that Spark 4.0 knows. */
static nl_status analyze_collations(nl_scope *scope, const nl_ast_arguments *args, const nl_logical **plan)
{
    enum { COLUMNS = 9, ROWS_MAX = 2048 };
    static const char *const names[COLUMNS] = {"CATALOG", "SCHEMA", "NAME", "LANGUAGE", "COUNTRY", "ACCENT_SENSITIVITY", "CASE_SENSITIVITY", "PAD_ATTRIBUTE", "ICU_VERSION"};
    nl_arena *arena = nl_scope_arena(scope);
    if (args->count)
        return NL_RAISE(WRONG_NUM_ARGS__WITHOUT_SUGGESTION, NL_P("functionName", "`collations`"), NL_P("expectedNum", "0"),
                        NL_P_INT("actualNum", args->count), NL_P("docroot", "https://spark.apache.org/docs/latest"));
    nl_field fields[COLUMNS] = {{{0}}};
    for (uint32_t i = 0; i < COLUMNS; i++)
        fields[i] = (nl_field){.name = nl_str_from(names[i]), .type = nl_type_string(), .is_nullable = i == 3 || i == 4 || i == 8};
    const nl_type *row_type = nl_type_struct(arena, fields, COLUMNS);
    nl_value all = {.type = nl_type_array(arena, row_type, false)};
    nl_value *rows = NL_NEW_ARRAY(arena, nl_value, ROWS_MAX);
    nl_collation_row row;
    for (; all.list.count < ROWS_MAX && nl_collation_at(arena, all.list.count, &row); all.list.count++) {
        nl_value *cells = NL_NEW_ARRAY(arena, nl_value, COLUMNS);
        cells[0] = text_or_null("SYSTEM");
        cells[1] = text_or_null("BUILTIN");
        cells[2] = nl_value_string(row.name);
        cells[3] = text_or_null(row.language);
        cells[4] = text_or_null(row.country);
        cells[5] = text_or_null(row.is_accent_insensitive ? "ACCENT_INSENSITIVE" : "ACCENT_SENSITIVE");
        cells[6] = text_or_null(row.is_case_insensitive ? "CASE_INSENSITIVE" : "CASE_SENSITIVE");
        cells[7] = text_or_null(row.is_trimming ? "RTRIM" : "NO_PAD");
        cells[8] = text_or_null(row.is_icu ? "76.1.0.0" : NULL);
        rows[all.list.count] = (nl_value){.type = row_type};
        rows[all.list.count].list.items = cells;
        rows[all.list.count].list.count = COLUMNS;
    }
    all.list.items = rows;
    const nl_expr *const literal = nl_expr_literal(arena, &all);
    nl_select_generator generator = {0};
    NL_TRY(nl_make_generator(scope, NL_STR("inline"), &literal, 1, &generator));
    *plan = nl_generator_plan(arena, &generator, nl_logical_one_row(arena));
    return NULL;
}

static nl_status analyze_function(nl_scope *scope, const nl_ast_relation *relation, const nl_logical **plan)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_str *parts = NULL;
    uint32_t count = 0;
    if (relation->function.python) return nl_analyze_python_table(scope, &relation->function.args, relation->function.python, plan);
    NL_TRY(nl_name_parts(scope, &relation->function.name, &parts, &count));
    const nl_str name = parts[count - 1];
    if (nl_str_is_nocase(name, "range")) return analyze_range(scope, &relation->function.args, plan);
    if (nl_str_is_nocase(name, "collations")) return analyze_collations(scope, &relation->function.args, plan);
    if (nl_str_is_nocase(name, "sql_keywords")) return analyze_keywords(scope, &relation->function.args, plan);
    const nl_function_row *const *rows = NULL;
    const uint32_t row_count = nl_function_find(name, &rows);
    if (row_count && rows[0]->kind == NL_FUNCTION_GENERATOR) {
        NL_TRY(analyze_generator(scope, name, &relation->function.args, plan));
        const uint32_t alias_count = relation->alias.columns.count;
        if (alias_count == 0 || alias_count == (*plan)->column_count) return NULL;
        return NL_RAISE(NUM_TABLE_VALUE_ALIASES_MISMATCH, NL_P_STR("funcName", nl_quote_name(arena, name)), NL_P_INT("aliasesNum", alias_count),
                        NL_P_INT("outColsNum", (*plan)->column_count));
    }
    nl_sql_function found = {0};
    if (!row_count) NL_TRY(nl_find_sql_function(scope, parts, count, &found));
    if (found.python) return nl_analyze_python_table(scope, &relation->function.args, found.python, plan);
    if (found.function) return nl_analyze_sql_table_function(scope, relation, &found, parts, count, plan);
    return NL_RAISE(UNRESOLVABLE_TABLE_VALUED_FUNCTION, NL_P_STR("name", nl_quote_names(arena, parts, count)));
}

nl_status nl_analyze_table_function(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan)
{
    nl_scope scope = {.env = env, .outer = outer, .clause = NL_CLAUSE_OTHER};
    return nl_sql_at(analyze_function(&scope, relation, plan), env->text, relation->range, false);
}

static nl_status view_names(nl_scope *scope, const nl_ast_relation *relation, nl_select_generator *generator)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_ast_idents *names = &relation->lateral_view.columns;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, generator->column_count + 1);
    if (names->count && names->count != generator->column_count) {
        nl_str *texts = NL_NEW_ARRAY(arena, nl_str, names->count + 1);
        for (uint32_t i = 0; i < names->count; i++) texts[i] = names->items[i].text;
        return NL_RAISE(UDTF_ALIAS_NUMBER_MISMATCH, NL_P_INT("aliasesSize", generator->column_count),
                        NL_P_STR("aliasesNames", nl_join_texts(arena, texts, names->count, ",")));
    }
    for (uint32_t i = 0; i < generator->column_count; i++) {
        columns[i] = generator->columns[i];
        if (names->count) columns[i].name = names->items[i].text;
        columns[i].qualifier = relation->lateral_view.table.text.data ? &relation->lateral_view.table.text : NULL;
        columns[i].qualifier_count = relation->lateral_view.table.text.data != NULL;
        if (relation->lateral_view.is_outer) columns[i].is_nullable = true;
    }
    generator->columns = columns;
    return NULL;
}

static nl_status lateral_view(nl_scope *scope, const nl_ast_relation *relation, const nl_logical *input, const nl_logical **plan)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_str *parts = NULL;
    uint32_t count = 0;
    const nl_expr *const *args = NULL;
    NL_TRY(nl_name_parts(scope, &relation->lateral_view.function, &parts, &count));
    NL_TRY(nl_resolve_exprs(scope, &relation->lateral_view.args, &args));
    nl_select_generator generator = {0};
    const nl_str name = parts[count - 1];
    const nl_function_row *const *rows = NULL;
    if (nl_is_table_generator(name) || !nl_function_find(name, &rows)) return nl_raise_unknown_function(scope, name);
    if (rows[0]->kind != NL_FUNCTION_GENERATOR)
        return NL_RAISE(UNSUPPORTED_GENERATOR__NOT_GENERATOR, NL_P_STR("functionName", nl_quote_names(arena, &name, 1)),
                        NL_P_STR("classCanonicalName", nl_java_class(arena, name)));
    NL_TRY(nl_make_generator(scope, name, args, relation->lateral_view.args.count, &generator));
    generator.is_outer = generator.is_outer || relation->lateral_view.is_outer;
    NL_TRY(view_names(scope, relation, &generator));
    *plan = nl_generator_plan(arena, &generator, input);
    return NULL;
}

nl_status nl_analyze_lateral_view(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan)
{
    const nl_logical *input = NULL;
    if (relation->lateral_view.input)
        NL_TRY(nl_analyze_relation(env, outer, relation->lateral_view.input, &input));
    else
        input = nl_logical_one_row(env->context->arena);
    nl_scope scope;
    nl_scope_over(&scope, env, outer, input, NL_CLAUSE_GENERATOR);
    return nl_sql_at(lateral_view(&scope, relation, input, plan), env->text, relation->range, false);
}
