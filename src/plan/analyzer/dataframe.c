/* Steps of DataFrames: each takes the rows that come from its left. Those that are a SELECT over them become one. */
#include "plan/analyzer/dataframe.h"

/* ---- SELECT ---- */

static nl_status select_over(nl_dataframe_step *step, nl_ast_select *select, const nl_ast_organization *organization, const nl_logical **plan)
{
    nl_ast_relation input = {.kind = NL_AST_RELATION_PIPE};
    const nl_ast_term term = {.kind = NL_AST_TERM_SELECT};
    select->from = &input;
    return nl_analyze_select(step->env, step->outer, &term, select, organization, plan);
}

nl_status nl_dataframe_select_text(nl_dataframe_step *step, nl_str text, const nl_logical **plan)
{
    const nl_sql_options options = {.is_unplaced = true};
    nl_ast_statement *statement = NULL;
    NL_TRY(nl_sql_parse(step->arena, text, &options, &statement));
    NL_CHECK(statement->kind == NL_AST_STATEMENT_QUERY && statement->query->body->kind == NL_AST_TERM_SELECT);
    nl_ast_select select = *statement->query->body->select;
    return select_over(step, &select, NULL, plan);
}

static nl_status apply_select(nl_dataframe_step *step, const nl_logical **plan)
{
    nl_ast_select select = {.items = step->dataframe->exprs};
    if (select.items.count == 0) { /* df.select(): rows of no columns */
        *plan = nl_logical_keep(step->arena, step->input, NULL, 0);
        return NULL;
    }
    return select_over(step, &select, NULL, plan);
}

static nl_status apply_with_columns(nl_dataframe_step *step, const nl_logical **plan)
{
    nl_ast_select select = {.items = step->dataframe->exprs, .is_with_columns = true};
    return select_over(step, &select, NULL, plan);
}

/* Groups first, then the aggregates. */
static nl_status apply_aggregate(nl_dataframe_step *step, const nl_ast_organization *organization, const nl_logical **plan)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    const uint32_t count = dataframe->group.count + dataframe->exprs.count;
    nl_ast_expr **items = NL_NEW_ARRAY(step->arena, nl_ast_expr *, count + 1);
    if (dataframe->group.count) memcpy(items, dataframe->group.items, dataframe->group.count * sizeof *items);
    if (dataframe->exprs.count) memcpy(items + dataframe->group.count, dataframe->exprs.items, dataframe->exprs.count * sizeof *items);
    nl_ast_select select = {.items = {items, count}, .group_by = dataframe->group_by};
    return select_over(step, &select, organization, plan);
}

static nl_str shown(nl_dataframe_step *step, const nl_expr *expr)
{
    return nl_arena_f(step->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_expr_pretty_str(step->arena, expr)));
}

/* The metric that is the call, with its name. */
static nl_str shown_metric(nl_dataframe_step *step, const nl_logical *metrics, nl_column_id id, const nl_expr *call)
{
    for (uint32_t i = 0; i < metrics->column_count; i++) {
        const nl_expr *expr = metrics->project.exprs[i];
        if (expr->kind != NL_EXPR_COLUMN || expr->column != id) continue;
        return nl_arena_f(step->arena, "\"" NL_STR_FMT " AS `" NL_STR_FMT "`\"", NL_STR_ARG(nl_expr_pretty_str(step->arena, call)), NL_STR_ARG(metrics->columns[i].name));
    }
    return shown(step, call);
}

/* The aggregates are those of df.agg(…), analyzed so; only their calls are computed, as the rows pass. */
static nl_status apply_observe(nl_dataframe_step *step, const nl_logical **plan)
{
    nl_ast_select select = {.items = step->dataframe->exprs};
    const nl_logical *metrics = NULL;
    NL_TRY(select_over(step, &select, NULL, &metrics));
    while (metrics->kind == NL_PLAN_ALIAS) metrics = metrics->children[0];
    const nl_logical *grouped = metrics->kind == NL_PLAN_PROJECT ? metrics->children[0] : metrics;
    const bool is_plain = metrics->kind == NL_PLAN_PROJECT && grouped->kind == NL_PLAN_AGGREGATE && grouped->aggregate.key_count == 0 && grouped->children[0] == step->input;
    for (uint32_t i = 0; metrics->kind == NL_PLAN_PROJECT && grouped == step->input && i < metrics->column_count; i++)
        if (nl_expr_has(metrics->project.exprs[i], NL_EXPR_COLUMN))
            return NL_RAISE(INVALID_OBSERVED_METRICS__NON_AGGREGATE_FUNC_ARG_IS_ATTRIBUTE, NL_P_STR("expr", shown(step, metrics->project.exprs[i])));
    if (!is_plain) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] observe() takes aggregates of the DataFrame's columns, as in df.agg(); one of these metrics is none.");
    for (uint32_t i = 0; i < grouped->aggregate.aggregate_count; i++) {
        const nl_expr *call = grouped->aggregate.aggregates[i];
        if (call->is_distinct) return NL_RAISE(INVALID_OBSERVED_METRICS__AGGREGATE_EXPRESSION_WITH_DISTINCT_UNSUPPORTED, NL_P_STR("expr", shown_metric(step, metrics, grouped->columns[i].id, call)));
        if (call->filter) return NL_RAISE(INVALID_OBSERVED_METRICS__AGGREGATE_EXPRESSION_WITH_FILTER_UNSUPPORTED, NL_P_STR("expr", shown_metric(step, metrics, grouped->columns[i].id, call)));
    }
    nl_logical *node = NL_UNCONST(nl_logical_over(step->arena, NL_PLAN_OBSERVE, step->input));
    node->observe.name = step->dataframe->names[0];
    node->observe.plan_id = step->dataframe->count;
    node->observe.calls = grouped->aggregate.aggregates;
    node->observe.call_count = grouped->aggregate.aggregate_count;
    node->observe.metrics = metrics;
    node->observe.grouped = grouped;
    *plan = node;
    return NULL;
}

/* ---- conditions and orders, which may mention columns that the projection below has left out ---- */

static bool passes_columns(const nl_logical *plan)
{
    return plan->kind == NL_PLAN_FILTER || plan->kind == NL_PLAN_SORT || plan->kind == NL_PLAN_LIMIT || plan->kind == NL_PLAN_SAMPLE;
}

/* The columns that a projection at the bottom of the plan's own steps has left out. */
static nl_column_set left_out(nl_dataframe_step *step)
{
    const nl_logical *plan = step->input;
    while (passes_columns(plan)) plan = plan->children[0];
    if (plan->kind != NL_PLAN_PROJECT) return (nl_column_set){0};
    const nl_logical *below = plan->children[0];
    nl_column *columns = NL_NEW_ARRAY(step->arena, nl_column, below->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < below->column_count; i++)
        if (!nl_logical_find_column(plan, below->columns[i].id)) columns[count++] = below->columns[i];
    return (nl_column_set){columns, count};
}

/* The plan with `more` among its outputs. */
static const nl_logical *widened(nl_arena *arena, const nl_logical *plan, nl_column_set more)
{
    nl_list path = {0};
    for (; passes_columns(plan); plan = plan->children[0]) nl_list_add(arena, &path, NL_UNCONST(plan));
    const uint32_t count = plan->column_count + more.count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    if (plan->column_count) {
        memcpy(columns, plan->columns, plan->column_count * sizeof *columns);
        memcpy(exprs, plan->project.exprs, plan->column_count * sizeof *exprs);
    }
    for (uint32_t i = 0; i < more.count; i++) {
        columns[plan->column_count + i] = more.columns[i];
        exprs[plan->column_count + i] = nl_column_ref(arena, &more.columns[i]);
    }
    const nl_logical *wide = nl_logical_project(arena, plan->children[0], columns, exprs, count);
    for (uint32_t i = path.count; i-- > 0;) {
        nl_logical *copy = NL_UNCONST(nl_logical_with_children(arena, path.items[i], &wide));
        copy->columns = columns;
        copy->column_count = count;
        wide = copy;
    }
    return wide;
}

typedef struct used_columns {
    nl_arena *arena;
    nl_column_set among;
    nl_column *found;
    uint32_t count;
} used_columns;

static bool note_use(void *context, const nl_expr *expr)
{
    used_columns *used = context;
    for (uint32_t i = 0; expr->kind == NL_EXPR_COLUMN && i < used->among.count; i++) {
        if (used->among.columns[i].id != expr->column) continue;
        bool is_known = false;
        for (uint32_t k = 0; k < used->count; k++) is_known = is_known || used->found[k].id == expr->column;
        if (!is_known) used->found[used->count++] = used->among.columns[i];
    }
    return true;
}

static used_columns start_uses(nl_dataframe_step *step)
{
    used_columns used = {.arena = step->arena, .among = left_out(step)};
    used.found = NL_NEW_ARRAY(step->arena, nl_column, used.among.count + 1);
    return used;
}

static void see_left_out(nl_scope *scope, nl_column_set set)
{
    if (set.count) scope->sets[scope->set_count++] = set;
    scope->has_left_out = set.count > 0;
}

/* The step over the widened input, without what was added for it. */
static const nl_logical *over_uses(nl_dataframe_step *step, const used_columns *used)
{
    return used->count ? widened(step->arena, step->input, (nl_column_set){used->found, used->count}) : step->input;
}

static const nl_logical *without_uses(nl_dataframe_step *step, const used_columns *used, const nl_logical *plan)
{
    return used->count ? nl_logical_keep(step->arena, plan, step->input->columns, step->input->column_count) : plan;
}

static nl_status apply_filter(nl_dataframe_step *step, const nl_logical **plan)
{
    nl_scope scope;
    const nl_expr *condition = NULL;
    used_columns used = start_uses(step);
    nl_scope_over(&scope, step->env, step->outer, step->input, NL_CLAUSE_WHERE);
    see_left_out(&scope, used.among);
    NL_TRY(nl_resolve_expr(&scope, step->dataframe->condition, &condition));
    if (condition->type->id != NL_TYPE_BOOLEAN) { /* the step's fault: it stands nowhere, though its condition may */
        nl_ast_expr unplaced = *step->dataframe->condition;
        unplaced.range = (nl_ast_range){0};
        NL_TRY(nl_resolve_condition(&scope, &unplaced, &condition));
    }
    if (nl_expr_has(condition, NL_EXPR_AGGREGATE)) return nl_check_where(&scope, condition);
    nl_expr_walk(condition, note_use, &used);
    *plan = without_uses(step, &used, nl_logical_filter(step->arena, over_uses(step, &used), condition));
    return NULL;
}

static nl_status apply_sort(nl_dataframe_step *step, const nl_logical **plan)
{
    nl_scope scope;
    nl_sort_key *keys = NULL;
    uint32_t key_count = 0;
    used_columns used = start_uses(step);
    nl_scope_over(&scope, step->env, step->outer, step->input, NL_CLAUSE_ORDER_BY);
    see_left_out(&scope, used.among);
    NL_TRY(nl_resolve_order_by(&scope, &step->dataframe->sort, scope.sets[0], &keys, &key_count));
    for (uint32_t i = 0; i < key_count; i++) {
        if (nl_expr_has(keys[i].expr, NL_EXPR_AGGREGATE) || nl_expr_has(keys[i].expr, NL_EXPR_WINDOW))
            return NL_RAISE(UNSUPPORTED_EXPR_FOR_OPERATOR, NL_P_STR("invalidExprSqls", nl_quote_expr(step->arena, keys[i].expr)));
        nl_expr_walk(keys[i].expr, note_use, &used);
    }
    *plan = without_uses(step, &used, nl_logical_sort(step->arena, over_uses(step, &used), keys, key_count, !step->dataframe->is_local));
    return NULL;
}

/* ---- the rest ---- */

#define DEFAULT_PARTITIONS 64 /* of repartition(columns): rows of equal columns stay together */

static const nl_expr *bigint(nl_dataframe_step *step, int64_t value)
{
    const nl_value literal = nl_value_int(nl_type_bigint(), value);
    return nl_expr_literal(step->arena, &literal);
}

static nl_status binary(nl_scope *scope, const char *name, const nl_expr *a, const nl_expr *b, const nl_expr **result)
{
    const nl_expr *args[] = {a, b};
    return nl_call_function(scope, nl_str_from(name), args, 2, result);
}

/* The input with hidden columns: the partition, and perhaps the place in it. */
static const nl_logical *with_partition(nl_dataframe_step *step, const nl_expr *partition, const nl_expr *place)
{
    const nl_logical *input = step->input;
    nl_column *columns = NL_NEW_ARRAY(step->arena, nl_column, input->column_count + 2);
    const nl_expr **exprs = NL_NEW_ARRAY(step->arena, const nl_expr *, input->column_count + 2);
    uint32_t count = 0;
    for (uint32_t i = 0; i < input->column_count; i++) {
        const nl_str name = input->columns[i].name;
        if (input->columns[i].is_hidden && (nl_str_starts(name, NL_STR(NL_PARTITION_COLUMN)) || nl_str_starts(name, NL_STR(NL_PLACE_COLUMN)))) continue;
        columns[count] = input->columns[i];
        exprs[count++] = nl_column_ref(step->arena, &input->columns[i]);
    }
    const nl_str name = nl_arena_f(step->arena, NL_PARTITION_COLUMN "%lld", (long long)step->dataframe->count);
    columns[count] = (nl_column){.id = nl_plan_new_id(step->env->context), .name = name, .type = nl_type_int(), .is_hidden = true};
    exprs[count++] = nl_expr_cast(step->arena, partition, nl_type_int(), NL_CAST_ANSI);
    if (place) columns[count] = (nl_column){.id = nl_plan_new_id(step->env->context), .name = NL_STR(NL_PLACE_COLUMN), .type = nl_type_bigint(), .is_hidden = true};
    if (place) exprs[count++] = place;
    return nl_logical_project(step->arena, input, columns, exprs, count);
}

/* A range of so many partitions: partition i has the numbers from the i-th part of the count on. */
static nl_status split_range(nl_dataframe_step *step, nl_scope *scope, const nl_logical **plan)
{
    const nl_logical *range = step->input;
    while (range->kind == NL_PLAN_ALIAS) range = range->children[0];
    *plan = step->input;
    if (range->kind != NL_PLAN_RANGE || range->range.step == 0) return NULL;
    const __int128 width = (__int128)range->range.stop - range->range.start, step_width = range->range.step;
    const __int128 count = (width + step_width - (step_width > 0 ? 1 : -1)) / step_width;
    if (count <= 0 || count > INT64_MAX / (step->dataframe->count + 1) || width > INT64_MAX || width < -INT64_MAX) return NULL;
    const nl_expr *place, *partition, *first;
    NL_TRY(binary(scope, "-", nl_column_ref(step->arena, &step->input->columns[0]), bigint(step, range->range.start), &place));
    NL_TRY(binary(scope, "div", place, bigint(step, range->range.step), &place));
    NL_TRY(binary(scope, "+", place, bigint(step, 1), &partition));
    NL_TRY(binary(scope, "*", partition, bigint(step, step->dataframe->count), &partition));
    NL_TRY(binary(scope, "-", partition, bigint(step, 1), &partition));
    NL_TRY(binary(scope, "div", partition, bigint(step, (int64_t)count), &partition));
    NL_TRY(binary(scope, "*", partition, bigint(step, (int64_t)count), &first));
    NL_TRY(binary(scope, "div", first, bigint(step, step->dataframe->count), &first));
    NL_TRY(binary(scope, "-", place, first, &place));
    *plan = with_partition(step, partition, place);
    return NULL;
}

/* By the hash of the columns, as Spark's shuffle does; without columns each row goes to the next partition. */
static nl_status apply_repartition(nl_dataframe_step *step, const nl_logical **plan)
{
    nl_scope scope;
    const uint32_t expr_count = step->dataframe->exprs.count;
    const nl_expr **exprs = NL_NEW_ARRAY(step->arena, const nl_expr *, expr_count + 1), *source = NULL;
    const int64_t count = step->dataframe->count;
    nl_scope_over(&scope, step->env, step->outer, step->input, NL_CLAUSE_OTHER);
    for (uint32_t i = 0; i < expr_count; i++) NL_TRY(nl_resolve_expr(&scope, step->dataframe->exprs.items[i], &exprs[i]));
    *plan = step->input;
    if (step->dataframe->partitioning == NL_AST_PARTITION_NONE || count < 0 || count > INT32_MAX || step->input->column_count == 0) return NULL;
    if (step->dataframe->partitioning == NL_AST_PARTITION_SPLIT) return count ? split_range(step, &scope, plan) : NULL;
    if (step->dataframe->partitioning == NL_AST_PARTITION_COALESCE && count == 0) return NULL;
    if (count == 1) {
        *plan = with_partition(step, bigint(step, 0), NULL);
        return NULL;
    }
    if (expr_count) NL_TRY(nl_call_function(&scope, NL_STR("hash"), exprs, expr_count, &source));
    else if (step->dataframe->partitioning == NL_AST_PARTITION_COALESCE) NL_TRY(nl_call_function(&scope, NL_STR("spark_partition_id"), NULL, 0, &source));
    else NL_TRY(nl_call_function(&scope, NL_STR("monotonically_increasing_id"), NULL, 0, &source));
    NL_TRY(binary(&scope, "pmod", source, bigint(step, count ? count : DEFAULT_PARTITIONS), &source));
    *plan = with_partition(step, source, NULL);
    return NULL;
}

static nl_status apply_sample(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    const double mean = dataframe->upper - dataframe->lower;
    if (dataframe->is_with_replacement && mean < 0)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Sampling fraction (%g) must be nonnegative with replacement", mean);
    if (dataframe->is_with_replacement && mean >= 40)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Samples with replacement take each row less than 40 times on average.");
    if (!dataframe->is_with_replacement && (dataframe->lower < 0 || dataframe->upper > 1 + 1e-6 || dataframe->lower > dataframe->upper))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Sampling fraction (%g) must be on interval [0, 1] without replacement",
                             dataframe->upper - dataframe->lower);
    nl_logical *node = NL_UNCONST(nl_logical_over(step->arena, NL_PLAN_SAMPLE, step->input));
    node->sample.lower = dataframe->lower;
    node->sample.upper = dataframe->upper;
    node->sample.seed = dataframe->seed;
    node->sample.with_replacement = dataframe->is_with_replacement;
    *plan = node;
    return NULL;
}

static nl_status apply_tail(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    const nl_logical *counted = NULL;
    const nl_value *count = NULL;
    NL_TRY(nl_dataframe_select_text(step, NL_STR("SELECT count(1)"), &counted));
    NL_TRY(nl_dataframe_run_row(step, counted, &count));
    const int64_t wanted = NL_MAX(dataframe->count, 0);
    *plan = nl_logical_limit(step->arena, step->input, wanted, NL_MAX(count[0].integer - wanted, 0));
    return NULL;
}

static nl_status apply(nl_dataframe_step *step, const nl_logical **plan)
{
    switch (step->dataframe->kind) {
    case NL_AST_DATAFRAME_SELECT: return apply_select(step, plan);
    case NL_AST_DATAFRAME_FILTER: return apply_filter(step, plan);
    case NL_AST_DATAFRAME_SORT: return apply_sort(step, plan);
    case NL_AST_DATAFRAME_AGGREGATE: return apply_aggregate(step, NULL, plan);
    case NL_AST_DATAFRAME_PIVOT: return nl_dataframe_pivot(step, plan);
    case NL_AST_DATAFRAME_WITH_COLUMNS: return apply_with_columns(step, plan);
    case NL_AST_DATAFRAME_DROP: return nl_dataframe_drop(step, plan);
    case NL_AST_DATAFRAME_RENAME: return nl_dataframe_rename(step, plan);
    case NL_AST_DATAFRAME_TO_DF: return nl_dataframe_to_df(step, plan);
    case NL_AST_DATAFRAME_TO_SCHEMA: return nl_dataframe_to_schema(step, plan);
    case NL_AST_DATAFRAME_DEDUPLICATE: return nl_dataframe_deduplicate(step, plan);
    case NL_AST_DATAFRAME_WATERMARK: return nl_dataframe_watermark(step, plan);
    case NL_AST_DATAFRAME_TAIL: return apply_tail(step, plan);
    case NL_AST_DATAFRAME_SAMPLE: return apply_sample(step, plan);
    case NL_AST_DATAFRAME_UNPIVOT: return nl_dataframe_unpivot(step, plan);
    case NL_AST_DATAFRAME_REPARTITION: return apply_repartition(step, plan);
    case NL_AST_DATAFRAME_SET_BY_NAME: return nl_dataframe_set_by_name(step, plan);
    case NL_AST_DATAFRAME_FILL_NA: return nl_dataframe_fill_na(step, plan);
    case NL_AST_DATAFRAME_DROP_NA: return nl_dataframe_drop_na(step, plan);
    case NL_AST_DATAFRAME_REPLACE: return nl_dataframe_replace(step, plan);
    case NL_AST_DATAFRAME_SUMMARY:
    case NL_AST_DATAFRAME_DESCRIBE: return nl_dataframe_summary(step, plan);
    case NL_AST_DATAFRAME_CROSSTAB: return nl_dataframe_crosstab(step, plan);
    case NL_AST_DATAFRAME_COV:
    case NL_AST_DATAFRAME_CORR: return nl_dataframe_correlation(step, plan);
    case NL_AST_DATAFRAME_APPROX_QUANTILE: return nl_dataframe_quantiles(step, plan);
    case NL_AST_DATAFRAME_FREQ_ITEMS: return nl_dataframe_freq_items(step, plan);
    case NL_AST_DATAFRAME_SAMPLE_BY: return nl_dataframe_sample_by(step, plan);
    case NL_AST_DATAFRAME_TRANSPOSE: return nl_dataframe_transpose(step, plan);
    case NL_AST_DATAFRAME_OBSERVE: return apply_observe(step, plan);
    case NL_AST_DATAFRAME_MAP_PYTHON:
    case NL_AST_DATAFRAME_GROUP_PYTHON:
    case NL_AST_DATAFRAME_COGROUP_PYTHON: return nl_dataframe_python(step, plan);
    case NL_AST_DATAFRAME_PARSE: break;
    }
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not run this DataFrame operator yet.");
}

nl_status nl_apply_dataframe(nl_env *env, nl_scope *outer, const nl_ast_dataframe *dataframe, const nl_logical **plan)
{
    nl_dataframe_step step = {.env = env, .arena = env->context->arena, .outer = outer, .dataframe = dataframe, .input = env->pipe_input};
    NL_TRY(apply(&step, plan));
    return nl_arena_check(env->context->arena);
}

nl_status nl_apply_sorted_aggregate(nl_env *env, nl_scope *outer, const nl_ast_dataframe *dataframe, const nl_ast_dataframe *sort, const nl_logical **plan)
{
    nl_dataframe_step step = {.env = env, .arena = env->context->arena, .outer = outer, .dataframe = dataframe, .input = env->pipe_input};
    const nl_ast_organization organization = {.order_by = sort->sort};
    return apply_aggregate(&step, &organization, plan);
}

nl_status nl_dataframe_run_row(nl_dataframe_step *step, const nl_logical *plan, const nl_value **values)
{
    uint32_t count = 0;
    NL_TRY(nl_dataframe_run(step, plan, 1, values, &count));
    NL_CHECK(count == 1);
    return NULL;
}

nl_status nl_dataframe_run(nl_dataframe_step *step, const nl_logical *plan, uint32_t row_max, const nl_value **values, uint32_t *count)
{
    nl_resolver *resolver = step->env->context->resolver;
    if (!resolver || !resolver->run) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "This DataFrame operator looks at its rows, which is not possible here.");
    return resolver->run(resolver, plan, row_max, step->arena, values, count);
}

/* ---- a query with a text of its own ---- */

static nl_status text_parameters(nl_env *env, const nl_ast_text_query *query, const nl_value **values)
{
    nl_arena *arena = env->context->arena;
    nl_value *made = NL_NEW_ARRAY(arena, nl_value, query->parameter_count + 1);
    nl_scope scope = {.env = env, .clause = NL_CLAUSE_OTHER};
    for (uint32_t i = 0; i < query->parameter_count; i++) {
        const nl_expr *expr = NULL;
        const nl_value *value = NULL;
        NL_TRY(nl_resolve_expr(&scope, query->parameters[i], &expr));
        NL_TRY(nl_fold(&scope, expr, &value));
        if (!value)
            return NL_RAISE(INVALID_SQL_ARG, NL_P_STR("name", query->parameter_names[i].data ? query->parameter_names[i] : nl_arena_f(arena, "_%u", i + 1)));
        made[i] = *value;
    }
    *values = made;
    return NULL;
}

nl_status nl_analyze_text_query(nl_env *env, nl_scope *outer, const nl_ast_text_query *query, const nl_logical **plan)
{
    nl_plan_context *context = env->context;
    const nl_plan_context before = *context;
    const nl_value *parameters = NULL;
    nl_env around = *env;
    if (query->views) NL_TRY(nl_declare_ctes(env, outer, query->views, &around));
    NL_TRY(text_parameters(env, query, &parameters));
    nl_env inner = around;
    inner.text = query->text;
    context->parameters = parameters;
    context->parameter_names = query->parameter_names;
    context->parameter_count = query->parameter_count;
    const nl_logical *body = NULL;
    nl_status status = nl_analyze_query_in(&inner, outer, query->query, &body);
    context->parameters = before.parameters;
    context->parameter_names = before.parameter_names;
    context->parameter_count = before.parameter_count;
    NL_TRY(status);
    return nl_finish_ctes(env, &around, body, plan);
}
