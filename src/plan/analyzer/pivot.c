/* PIVOT: one conditional aggregate for each value; null where a group has no row of the value. */
#include "function/coercion.h"
#include "plan/analyzer/dataframe.h"

typedef struct pivoting {
    nl_env *env;
    nl_arena *arena;
    nl_scope scope;
    const nl_ast_exprs *list; /* aggregates */
    const nl_ast_pivot_value *values;
    uint32_t value_count;
    const nl_logical *input;
    const nl_expr **columns; /* FOR (a, b) */
    uint32_t column_count;
    const nl_expr **aggregates;
    nl_str *aggregate_names;
    uint32_t aggregate_count;
} pivoting;

static nl_status resolve_aggregates(pivoting *p)
{
    const nl_ast_exprs *list = p->list;
    p->aggregate_count = list->count;
    p->aggregates = NL_NEW_ARRAY(p->arena, const nl_expr *, list->count + 1);
    p->aggregate_names = NL_NEW_ARRAY(p->arena, nl_str, list->count + 1);
    for (uint32_t i = 0; i < list->count; i++) {
        const nl_ast_expr *ast = list->items[i];
        const bool has_alias = ast->kind == NL_AST_EXPR_ALIAS;
        NL_TRY(nl_resolve_expr(&p->scope, has_alias ? ast->alias.input : ast, &p->aggregates[i]));
        p->aggregate_names[i] = has_alias ? ast->alias.names.items[0].text : nl_expr_pretty_str(p->arena, p->aggregates[i]);
        if (nl_expr_has(p->aggregates[i], NL_EXPR_AGGREGATE)) continue;
        return nl_sql_at(NL_RAISE(_LEGACY_ERROR_TEMP_1006, NL_P_STR("sql", nl_expr_pretty_str(p->arena, p->aggregates[i]))), p->env->text,
                         ast->range, false);
    }
    return NULL;
}

static nl_status resolve_columns(pivoting *p, const nl_ast_idents *names)
{
    p->column_count = names->count;
    p->columns = NL_NEW_ARRAY(p->arena, const nl_expr *, names->count + 1);
    for (uint32_t i = 0; i < names->count; i++)
        NL_TRY(nl_sql_at(nl_resolve_name(&p->scope, &names->items[i].text, 1, names->items[i].range, &p->columns[i]), p->env->text,
                         names->items[i].range, false));
    return NULL;
}

/* The columns that neither the aggregates nor FOR mention are the groups. */
static bool is_mentioned(const pivoting *p, nl_column_id id)
{
    nl_list ids = {0};
    for (uint32_t i = 0; i < p->aggregate_count; i++) nl_expr_columns(p->arena, p->aggregates[i], &ids);
    for (uint32_t i = 0; i < p->column_count; i++) nl_expr_columns(p->arena, p->columns[i], &ids);
    for (uint32_t i = 0; i < ids.count; i++)
        if ((uintptr_t)ids.items[i] == id) return true;
    return false;
}

static nl_str value_text(pivoting *p, const nl_value *value)
{
    if (value->is_null) return NL_STR("null");
    nl_builder out;
    nl_builder_init(&out, NL_TEXT_BYTES_MAX);
    const nl_text_options options = {.style = NL_TEXT_CAST, .zone = nl_scope_confs(&p->scope)->zone};
    nl_value_append_text(value, &options, &out);
    const nl_str text = nl_arena_str(p->arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

/* What a value is compared with: the column's type, or the struct of all. */
static const nl_type *pivot_type(pivoting *p)
{
    if (p->column_count == 1) return p->columns[0]->type;
    nl_field *fields = NL_NEW_ARRAY(p->arena, nl_field, p->column_count);
    for (uint32_t i = 0; i < p->column_count; i++)
        fields[i] = (nl_field){.name = nl_expr_pretty_str(p->arena, p->columns[i]), .type = p->columns[i]->type, .is_nullable = true};
    return nl_type_struct(p->arena, fields, p->column_count);
}

static nl_status refuse_type(pivoting *p, const nl_ast_pivot_value *written)
{
    const nl_expr *value = NULL;
    NL_TRY(nl_resolve_expr(&p->scope, written->value, &value));
    return NL_RAISE(PIVOT_VALUE_DATA_TYPE_MISMATCH, NL_P_STR("value", nl_expr_pretty_str(p->arena, value)),
                              NL_P_STR("valueType", nl_type_name(p->arena, value->type)), NL_P_STR("pivotType", nl_type_name(p->arena, pivot_type(p))));
}

static nl_status refuse_uncomparable(pivoting *p)
{
    bool is_comparable = true;
    for (uint32_t i = 0; i < p->column_count; i++) is_comparable = is_comparable && nl_type_is_orderable(p->columns[i]->type);
    if (is_comparable) return NULL;
    nl_str text = p->column_count > 1 ? NL_STR("named_struct(") : nl_expr_pretty_str(p->arena, p->columns[0]);
    for (uint32_t i = 0; i < p->column_count && p->column_count > 1; i++) {
        const nl_str name = nl_expr_pretty_str(p->arena, p->columns[i]);
        text = nl_arena_f(p->arena, NL_STR_FMT "%s'" NL_STR_FMT "', " NL_STR_FMT "%s", NL_STR_ARG(text), i ? ", " : "", NL_STR_ARG(name), NL_STR_ARG(name),
                          i + 1 == p->column_count ? ")" : "");
    }
    return NL_RAISE(INCOMPARABLE_PIVOT_COLUMN, NL_P_STR("columnName", nl_quote_name(p->arena, text)));
}

/* The value as one of its column's type. Spark asks the table of the casts that are not ANSI's and casts by ANSI's: what only
 * the first allows is null. */
static nl_status as_column(pivoting *p, const nl_expr *value, const nl_expr *column, bool is_field, bool *is_refused, const nl_expr **result)
{
    const nl_eval_confs *confs = nl_scope_confs(&p->scope);
    const bool may_be_null = value->type->id == NL_TYPE_STRING && column->type->id != NL_TYPE_STRING; /* texts that are no value of the type */
    *is_refused = !nl_can_cast(value->type, column->type, false) || (is_field && may_be_null && !column->is_nullable);
    if (*is_refused) return NULL;
    const nl_value null = nl_value_null(column->type);
    if (!nl_can_cast(value->type, column->type, confs->is_ansi)) return nl_make_literal(&p->scope, &null, (nl_span){0}, result);
    return nl_make_cast(&p->scope, value, column->type, confs->is_ansi ? NL_CAST_ANSI : NL_CAST_LEGACY, result);
}

/* The condition for one value, and the name its columns begin with. */
static nl_status value_condition(pivoting *p, const nl_ast_pivot_value *written, const nl_expr **condition, nl_str *name)
{
    const bool is_row = written->value->kind == NL_AST_EXPR_ROW && p->column_count > 1;
    nl_str *texts = NL_NEW_ARRAY(p->arena, nl_str, p->column_count + 1);
    if (p->column_count > 1 && (!is_row || written->value->row.count != p->column_count)) return refuse_type(p, written);
    *condition = NULL;
    for (uint32_t i = 0; i < p->column_count; i++) {
        const nl_expr *sides[2] = {p->columns[i], NULL};
        const nl_value *value = NULL;
        const nl_expr *equal = NULL;
        bool is_refused = false;
        NL_TRY(nl_resolve_expr(&p->scope, is_row ? written->value->row.items[i] : written->value, &sides[1]));
        NL_TRY(nl_fold(&p->scope, sides[1], &value));
        if (!value)
            return nl_sql_at(NL_RAISE(NON_LITERAL_PIVOT_VALUES, NL_P_STR("expression", nl_quote_expr(p->arena, sides[1]))), p->env->text,
                             written->value->range, false);
        texts[i] = value_text(p, value);
        NL_TRY(as_column(p, sides[1], p->columns[i], is_row, &is_refused, &sides[1]));
        if (is_refused) return refuse_type(p, written);
        NL_TRY(nl_call_function(&p->scope, NL_STR("<=>"), sides, 2, &equal));
        *condition = nl_expr_and(p->arena, *condition, equal);
    }
    const nl_str list = nl_join_texts(p->arena, texts, p->column_count, is_row ? ", " : "");
    *name = written->name.text.data ? written->name.text : is_row ? nl_arena_f(p->arena, "{" NL_STR_FMT "}", NL_STR_ARG(list)) : list;
    return NULL;
}

static nl_status add_filter(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    *result = expr;
    if (expr->kind != NL_EXPR_AGGREGATE) return NULL;
    nl_expr *copy = NL_NEW(arena, nl_expr);
    *copy = *expr;
    copy->filter = nl_expr_and(arena, expr->filter, context);
    *result = copy;
    return NULL;
}

/* CASE WHEN count(1) FILTER (condition) > 0 THEN aggregate FILTER (condition) END */
static nl_status conditional(pivoting *p, const nl_expr *aggregate, const nl_expr *condition, const nl_expr **result)
{
    const nl_value one = nl_value_int(nl_type_int(), 1);
    const nl_value zero = nl_value_int(nl_type_bigint(), 0);
    const nl_expr *arg = nl_expr_literal(p->arena, &one);
    const nl_bound_function *bound = NULL;
    const nl_expr **cast = NL_NEW_ARRAY(p->arena, const nl_expr *, 1);
    NL_TRY(nl_bind_function(&p->scope, NL_STR("count"), &arg, 1, (nl_bind_flags){0}, &bound, cast));
    nl_expr *count = nl_expr_new(p->arena, NL_EXPR_AGGREGATE, bound->result_type, cast, 1);
    count->call = bound;
    count->filter = condition;
    const nl_expr *const sides[] = {count, nl_expr_literal(p->arena, &zero)};
    const nl_expr *has_rows = NULL;
    NL_TRY(nl_call_function(&p->scope, NL_STR(">"), sides, 2, &has_rows));
    const nl_expr *filtered = NULL;
    NL_TRY(nl_expr_rewrite(p->arena, aggregate, add_filter, NL_UNCONST(condition), &filtered));
    const nl_value null = nl_value_null(filtered->type);
    *result = nl_expr_if(p->arena, has_rows, filtered, nl_expr_literal(p->arena, &null));
    return NULL;
}

static nl_status pivot_values(pivoting *p, nl_aggregation *aggregation, nl_items *items)
{
    NL_TRY(refuse_uncomparable(p));
    for (uint32_t v = 0; v < p->value_count; v++) {
        const nl_expr *condition = NULL;
        nl_str name = {0};
        NL_TRY(value_condition(p, &p->values[v], &condition, &name));
        for (uint32_t a = 0; a < p->aggregate_count; a++) {
            nl_item item = {.id = nl_plan_new_id(p->env->context), .name = name};
            if (p->aggregate_count > 1)
                item.name = nl_arena_f(p->arena, NL_STR_FMT "_" NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(p->aggregate_names[a]));
            NL_TRY(conditional(p, p->aggregates[a], condition, &item.expr));
            NL_TRY(nl_aggregation_rewrite(aggregation, item.expr, &item.expr));
            nl_items_add(p->arena, items, item);
        }
    }
    return NULL;
}

/* keys: of the groups; items: the columns for them, to which those of the values are added. */
static nl_status pivot_groups(pivoting *p, const nl_expr *const *keys, uint32_t key_count, nl_items *items, const nl_logical **plan)
{
    const nl_grouping grouping = {.keys = keys, .key_count = key_count, .is_grouped = true};
    nl_aggregation aggregation;
    nl_aggregation_start(&aggregation, &p->scope, &grouping, p->scope.sets[0]);
    for (uint32_t i = 0; i < items->count; i++) NL_TRY(nl_aggregation_rewrite(&aggregation, items->list[i].expr, &items->list[i].expr));
    NL_TRY(pivot_values(p, &aggregation, items));
    const nl_expr **exprs = NL_NEW_ARRAY(p->arena, const nl_expr *, items->count + 1);
    for (uint32_t i = 0; i < items->count; i++) exprs[i] = items->list[i].expr;
    const nl_logical *grouped = nl_aggregation_plan(&aggregation, p->input);
    *plan = nl_logical_project(p->arena, grouped, nl_items_columns(p->arena, items), exprs, items->count);
    return NULL;
}

static nl_status pivot(pivoting *p, const nl_ast_idents *names, const nl_logical **plan)
{
    NL_TRY(resolve_aggregates(p));
    NL_TRY(resolve_columns(p, names));
    const nl_expr **keys = NL_NEW_ARRAY(p->arena, const nl_expr *, p->input->column_count + 1);
    nl_items items = {0};
    uint32_t key_count = 0;
    for (uint32_t i = 0; i < p->input->column_count; i++) {
        const nl_column *column = &p->input->columns[i];
        if (column->is_hidden || is_mentioned(p, column->id)) continue;
        keys[key_count] = nl_column_ref(p->arena, column);
        nl_items_add(p->arena, &items, (nl_item){.expr = keys[key_count++], .name = column->name, .id = column->id, .is_plain = true});
    }
    return pivot_groups(p, keys, key_count, &items, plan);
}

nl_status nl_analyze_pivot(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan)
{
    pivoting p = {.env = env,
                  .arena = env->context->arena,
                  .list = &relation->pivot.aggregates,
                  .values = relation->pivot.values,
                  .value_count = relation->pivot.value_count};
    NL_TRY(nl_analyze_relation(env, outer, relation->pivot.input, &p.input));
    nl_scope_over(&p.scope, env, outer, p.input, NL_CLAUSE_OTHER);
    return nl_sql_at(pivot(&p, &relation->pivot.columns, plan), env->text, relation->range, false);
}

/* ---- groupBy(…).pivot(…).agg(…) ---- */

/* Without values: those that there are, in order. */
static nl_status distinct_values(nl_dataframe_step *step, pivoting *p)
{
    enum { VALUES_MAX = 10000 }; /* spark.sql.pivotMaxValues */
    nl_column *column = NL_NEW(p->arena, nl_column);
    *column = (nl_column){.id = nl_plan_new_id(p->env->context), .name = NL_STR("value"), .type = p->columns[0]->type, .is_nullable = true};
    nl_sort_key *key = NL_NEW(p->arena, nl_sort_key);
    *key = (nl_sort_key){.expr = nl_column_ref(p->arena, column), .nulls_first = true};
    const nl_logical *plan = nl_logical_project(p->arena, p->input, column, p->columns, 1);
    plan = nl_logical_sort(p->arena, nl_logical_over(p->arena, NL_PLAN_DISTINCT, plan), key, 1, true);
    const nl_value *values = NULL;
    NL_TRY(nl_dataframe_run(step, plan, VALUES_MAX + 1, &values, &p->value_count));
    if (p->value_count > VALUES_MAX)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The pivot column " NL_STR_FMT " has more than %d distinct values, this could indicate an error. If this was intended, set spark.sql.pivotMaxValues to at least the number of distinct values of the pivot column.",
                             NL_STR_ARG(nl_expr_pretty_str(p->arena, p->columns[0])), (int)VALUES_MAX);
    nl_ast_pivot_value *made = NL_NEW_ARRAY(p->arena, nl_ast_pivot_value, p->value_count + 1);
    for (uint32_t i = 0; i < p->value_count; i++) {
        made[i].value = NL_NEW(p->arena, nl_ast_expr);
        made[i].value->kind = NL_AST_EXPR_LITERAL;
        made[i].value->literal = (nl_ast_literal){.kind = NL_AST_LITERAL_VALUE, .value = &values[i]};
    }
    p->values = made;
    return NULL;
}

static void given_values(const nl_ast_dataframe *dataframe, pivoting *p)
{
    nl_ast_pivot_value *made = NL_NEW_ARRAY(p->arena, nl_ast_pivot_value, dataframe->values.count + 1);
    for (uint32_t i = 0; i < dataframe->values.count; i++) made[i].value = dataframe->values.items[i];
    p->values = made;
    p->value_count = dataframe->values.count;
}

nl_status nl_dataframe_pivot(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    pivoting p = {.env = step->env, .arena = step->arena, .list = &dataframe->exprs, .input = step->input};
    nl_items items = {0};
    nl_list generators = {0};
    nl_scope_over(&p.scope, step->env, step->outer, p.input, NL_CLAUSE_SELECT);
    NL_TRY(resolve_aggregates(&p));
    p.columns = NL_NEW_ARRAY(p.arena, const nl_expr *, 1);
    p.column_count = 1;
    NL_TRY(nl_resolve_expr(&p.scope, dataframe->condition, &p.columns[0]));
    if (dataframe->has_values)
        given_values(dataframe, &p);
    else
        NL_TRY(distinct_values(step, &p));
    NL_TRY(nl_resolve_items(&p.scope, &dataframe->group, &items, &generators));
    const nl_expr **keys = NL_NEW_ARRAY(p.arena, const nl_expr *, items.count + 1);
    for (uint32_t i = 0; i < items.count; i++) keys[i] = items.list[i].expr;
    return pivot_groups(&p, keys, items.count, &items, plan);
}
