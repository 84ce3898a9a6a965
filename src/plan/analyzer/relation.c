/* FROM: tables, views, CTE references, subqueries, VALUES, and what may be written around them. */
#include "plan/analyzer/analyzer.h"

#include "base/limits.h"
#include "base/number.h"

/* ---- tables, views ---- */

static void release_table(void *table)
{
    nl_table_release(table);
}

const nl_logical *nl_plan_scan(nl_plan_context *context, const nl_table *table, const nl_str *name, uint32_t name_count)
{
    nl_arena *arena = context->arena;
    nl_logical *scan = nl_logical_new(arena, NL_PLAN_SCAN, NULL, 0);
    const uint32_t visible = table->row_type->child_count;
    const uint32_t count = visible + (table->metadata_type ? table->metadata_type->child_count : 0);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count + 1);
    uint32_t *places = NL_NEW_ARRAY(arena, uint32_t, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const nl_field *field = i < visible ? &table->row_type->children[i] : &table->metadata_type->children[i - visible];
        columns[i] = (nl_column){.id = nl_plan_new_id(context),
                                 .name = field->name,
                                 .type = field->type,
                                 .is_nullable = field->is_nullable,
                                 .is_hidden = i >= visible,
                                 .qualifier = name,
                                 .qualifier_count = name_count,
                                 .comment = field->comment,
                                 .metadata = field->metadata};
        places[i] = i;
    }
    nl_arena_on_free(arena, release_table, nl_table_retain(table));
    scan->columns = columns;
    scan->column_count = count;
    scan->scan.table = table;
    scan->scan.table_columns = places;
    scan->scan.limit = -1;
    return scan;
}

static nl_status analyze_view(nl_env *env, const nl_resolved_relation *found, nl_ast_range range, const nl_logical **plan)
{
    if (env->view_depth >= NL_VIEW_DEPTH_MAX)
        return NL_RAISE(VIEW_EXCEED_MAX_NESTED_DEPTH, NL_P_STR("viewName", nl_quote_names(env->context->arena, found->name, found->name_count)),
                        NL_P_INT("maxNestedDepth", NL_VIEW_DEPTH_MAX));
    nl_env inner = {
        .context = env->context,
        .text = found->view_text,
        .namespace_parts = found->view_namespace,
        .namespace_count = found->view_namespace_count,
        .collation = found->view_collation,
        .view_depth = env->view_depth + 1,
        .functions = env->functions,
    };
    const nl_logical *body = NULL;
    NL_TRY(nl_analyze_query_in(&inner, NULL, found->view, &body));
    return nl_shape_view(env, found, body, range, plan);
}

static const nl_an_cte *find_cte(const nl_env *env, nl_str name)
{
    const nl_an_cte *found = env->outer_ctes ? find_cte(env->outer_ctes, name) : NULL;
    for (const nl_an_cte *cte = env->ctes; cte && !found; cte = cte->next)
        if (nl_str_equal_nocase(cte->name, name)) found = cte;
    return found;
}

static const nl_logical *refer_to_cte(nl_env *env, nl_an_cte *cte)
{
    nl_arena *arena = env->context->arena;
    nl_logical *ref = nl_logical_new(arena, NL_PLAN_CTE_REF, NULL, 0);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, cte->definition->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < cte->definition->column_count; i++) {
        columns[count] = cte->definition->columns[i];
        columns[count++].id = nl_plan_new_id(env->context);
    }
    ref->columns = columns;
    ref->column_count = count;
    ref->cte.id = cte->id;
    ref->cte.definition = cte->definition;
    cte->use_count++;
    return ref;
}

static nl_status time_travel(nl_env *env, nl_scope *outer, const nl_ast_time_travel *written, nl_time_travel *travel)
{
    nl_scope scope = {.env = env, .outer = outer, .clause = NL_CLAUSE_OTHER};
    if (!written->is_timestamp) {
        travel->is_version = true;
        int64_t number = 0;
        const bool is_number = !written->is_string && nl_parse_int64(written->version, &number);
        travel->version = is_number ? nl_value_int(nl_type_bigint(), number) : nl_value_string(written->version);
        return NULL;
    }
    const nl_expr *expr = NULL;
    NL_TRY(nl_resolve_expr(&scope, written->timestamp, &expr));
    const nl_str shown = nl_quote_expr(env->context->arena, expr);
    if (!nl_expr_is_constant(expr) && !nl_expr_has(expr, NL_EXPR_SUBQUERY))
        return NL_RAISE(INVALID_TIME_TRAVEL_TIMESTAMP_EXPR__NON_DETERMINISTIC, NL_P_STR("expr", shown));
    const nl_expr *cast = NULL;
    NL_TRY(nl_make_cast(&scope, expr, nl_type_of(NL_TYPE_TIMESTAMP), NL_CAST_TRY, &cast));
    const nl_value *value = NULL;
    NL_TRY(nl_fold(&scope, cast, &value));
    if (!value || value->is_null) return NL_RAISE(INVALID_TIME_TRAVEL_TIMESTAMP_EXPR__INPUT, NL_P_STR("expr", shown));
    travel->is_timestamp = true;
    travel->timestamp_micros = value->integer;
    return NULL;
}

static nl_status use_relation(nl_env *env, const nl_resolved_relation *found, nl_ast_range range, const nl_logical **plan)
{
    const nl_logical *body = NULL;
    if (found->table) {
        *plan = nl_plan_scan(env->context, found->table, found->name, found->name_count);
        nl_table_release(found->table); /* the plan holds its own reference */
        return nl_hide_lengths(env, *plan, plan);
    }
    if (found->view)
        NL_TRY(analyze_view(env, found, range, &body));
    else
        NL_TRY(nl_plan_fresh(env->context, found->plan, &body));
    return nl_alias_plan(env, body, found->name, found->name_count, NULL, range, plan);
}

/* WITH (…) of a table, and the options of a DataFrame's reader. */
static void read_options(nl_env *env, const nl_ast_properties *options, nl_time_travel *travel)
{
    nl_property *list = NL_NEW_ARRAY(env->context->arena, nl_property, options->count + 1);
    for (uint32_t i = 0; i < options->count; i++) list[i] = (nl_property){options->items[i].key, options->items[i].value};
    travel->options = list;
    travel->option_count = options->count;
}

static nl_status analyze_table(nl_env *env, nl_scope *outer, const nl_ast_name *name, const nl_ast_time_travel *travel, const nl_ast_properties *options,
                               nl_ast_range range, const nl_logical **plan)
{
    nl_plan_context *context = env->context;
    nl_scope scope = {.env = env, .outer = outer, .clause = NL_CLAUSE_OTHER};
    const nl_str *parts = NULL;
    uint32_t count = 0;
    NL_TRY(nl_name_parts(&scope, name, &parts, &count));
    nl_an_cte *cte = count == 1 && !travel ? NL_UNCONST(find_cte(env, parts[0])) : NULL;
    if (cte && !cte->definition) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "WITH RECURSIVE whose query refers to itself is not supported yet.");
    if (cte) {
        *plan = refer_to_cte(env, cte);
        return NULL;
    }
    nl_time_travel when = {0};
    if (travel) NL_TRY(nl_sql_at(time_travel(env, outer, travel, &when), env->text, range, false));
    if (options) read_options(env, options, &when);
    nl_resolved_relation found = {0};
    nl_status status = context->resolver
                           ? context->resolver->find_relation(context->resolver, parts, count, travel || options ? &when : NULL, env->namespace_parts,
                                                              env->namespace_count, context->arena, &found)
                           : NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_quote_names(context->arena, parts, count)));
    if (!status) status = use_relation(env, &found, range, plan);
    return nl_sql_at(status, env->text, name->range, false);
}

nl_status nl_analyze_table(nl_env *env, nl_scope *outer, const nl_ast_name *name, const nl_ast_time_travel *travel, nl_ast_range range,
                           const nl_logical **plan)
{
    return analyze_table(env, outer, name, travel, NULL, range, plan);
}

/* ---- samples ---- */

nl_status nl_analyze_sample(nl_env *env, const nl_ast_sample *sample, const nl_logical *child, const nl_logical **plan)
{
    nl_arena *arena = env->context->arena;
    int64_t seed = 0;
    if (!sample->has_seed || !nl_parse_int64(sample->seed, &seed)) seed = (int64_t)env->context->confs->now_micros;
    if (sample->kind == NL_AST_SAMPLE_ROWS) {
        nl_scope scope = {.env = env, .clause = NL_CLAUSE_OTHER};
        const nl_ast_organization limit = {.limit = sample->expr};
        return nl_apply_limit(&scope, &limit, child, plan);
    }
    double numbers[2] = {0};
    for (int i = 0; i < 2; i++)
        if (sample->numbers[i].length) nl_parse_double(sample->numbers[i], &numbers[i]);
    nl_logical *node = NL_UNCONST(nl_logical_over(arena, NL_PLAN_SAMPLE, child));
    node->sample.upper = sample->kind == NL_AST_SAMPLE_PERCENT ? numbers[0] / 100 : numbers[1] > 0 ? numbers[0] / numbers[1] : 0;
    node->sample.seed = seed;
    if (node->sample.upper < 0 || node->sample.upper > 1 + 1e-6)
        return nl_sql_at(NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Sampling fraction (%g) must be on interval [0, 1]", node->sample.upper),
                         env->text, sample->range, false);
    *plan = node;
    return NULL;
}

/* ---- the relation ---- */

static nl_status analyze_files(nl_env *env, const nl_ast_files *files, const nl_logical **plan)
{
    nl_plan_context *context = env->context;
    nl_resolved_relation found = {0};
    if (!context->resolver || !context->resolver->find_files) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Files cannot be read here.");
    NL_TRY(context->resolver->find_files(context->resolver, files, context->arena, &found));
    return use_relation(env, &found, (nl_ast_range){0}, plan);
}

static nl_status bare_relation(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan)
{
    switch (relation->kind) {
    case NL_AST_RELATION_TABLE:
        return analyze_table(env, outer, &relation->table.name, relation->table.time_travel, relation->table.options, relation->range, plan);
    case NL_AST_RELATION_SUBQUERY:
        return nl_analyze_query_in(env, outer, relation->query, plan);
    case NL_AST_RELATION_PARENTHESES:
        return nl_analyze_relation(env, outer, relation->inner, plan);
    case NL_AST_RELATION_VALUES:
        return nl_analyze_values(env, outer, relation, plan);
    case NL_AST_RELATION_FUNCTION:
        return nl_analyze_table_function(env, outer, relation, plan);
    case NL_AST_RELATION_JOIN:
        return nl_analyze_join(env, outer, relation, plan);
    case NL_AST_RELATION_LATERAL_VIEW:
        return nl_analyze_lateral_view(env, outer, relation, plan);
    case NL_AST_RELATION_PIVOT:
        return nl_analyze_pivot(env, outer, relation, plan);
    case NL_AST_RELATION_UNPIVOT:
        return nl_analyze_unpivot(env, outer, relation, plan);
    case NL_AST_RELATION_TERM:
        return nl_analyze_term(env, outer, relation->term, NULL, plan);
    case NL_AST_RELATION_FILES:
        return analyze_files(env, relation->files, plan);
    case NL_AST_RELATION_SOURCE:
        *plan = nl_plan_scan(env->context, relation->source, NULL, 0);
        return NULL;
    case NL_AST_RELATION_PIPE:
        *plan = env->pipe_input;
        return env->pipe_input ? NULL : NL_RAISE(INTERNAL_ERROR, NL_P("message", "a pipe without an input"));
    }
    return NL_RAISE(INTERNAL_ERROR, NL_P("message", "an unknown kind of relation"));
}

nl_status nl_analyze_relation(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan)
{
    nl_plan_context *context = env->context;
    if (context->depth >= NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    context->depth++;
    nl_status status = bare_relation(env, outer, relation, plan);
    context->depth--;
    NL_TRY(status);
    if (relation->sample) NL_TRY(nl_analyze_sample(env, relation->sample, *plan, plan));
    const nl_ast_table_alias *alias = &relation->alias;
    if (alias->name.text.data)
        return nl_alias_plan(env, *plan, &alias->name.text, 1, &alias->columns, relation->range, plan);
    if (alias->columns.count) return nl_alias_plan(env, *plan, NULL, 0, &alias->columns, relation->range, plan);
    return NULL;
}
