/* connect/translate_relation.c - relations of the protocol as terms: a leaf, and a pipe operator for every step over it. */
#include "connect/translate_step.h"

nl_status nl_connect_invalid(const char *message)
{
    return NL_RAISE(NILAS_INVALID_PLAN_INPUT, NL_P("message", message));
}

nl_status nl_connect_unsupported(const char *what)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not support %s in Spark Connect.", what);
}

/* ---- making terms ---- */

static nl_ast_pipe *piped(nl_step *s, nl_ast_pipe_kind kind)
{
    nl_ast_pipe *pipe = NL_NEW(s->arena, nl_ast_pipe);
    nl_ast_term *term = NL_NEW(s->arena, nl_ast_term);
    *pipe = (nl_ast_pipe){.kind = kind, .left = s->left};
    *term = (nl_ast_term){.kind = NL_AST_TERM_PIPE, .pipe = pipe};
    s->made = term;
    return pipe;
}

nl_ast_dataframe *nl_step_dataframe(nl_step *s, nl_ast_dataframe_kind kind)
{
    nl_ast_dataframe *dataframe = NL_NEW(s->arena, nl_ast_dataframe);
    dataframe->kind = kind;
    piped(s, NL_AST_PIPE_DATAFRAME)->dataframe = dataframe;
    return dataframe;
}

static const nl_str *copied_names(nl_step *s, char *const *names, size_t count)
{
    nl_str *made = NL_NEW_ARRAY(s->arena, nl_str, count + 1);
    for (size_t i = 0; i < count; i++) made[i] = nl_copy_text(s->arena, names[i]);
    return made;
}

static void named(nl_step *s, nl_ast_dataframe *dataframe, char *const *names, size_t count)
{
    dataframe->names = copied_names(s, names, count);
    dataframe->name_count = (uint32_t)count;
}

static void two_named(nl_step *s, nl_ast_dataframe *dataframe, const char *first, const char *second)
{
    nl_str *names = NL_NEW_ARRAY(s->arena, nl_str, 2);
    names[0] = nl_copy_text(s->arena, first);
    names[1] = nl_copy_text(s->arena, second);
    dataframe->names = names;
    dataframe->name_count = 2;
}

static nl_ast_expr *integer(nl_step *s, int32_t number)
{
    const nl_value value = nl_value_int(nl_type_int(), number);
    return nl_value_expr(s->arena, &value);
}

static nl_ast_relation *as_relation(nl_arena *arena, nl_ast_term *term)
{
    nl_ast_relation *relation = NL_NEW(arena, nl_ast_relation);
    *relation = (nl_ast_relation){.kind = NL_AST_RELATION_TERM, .term = term};
    return relation;
}

/* ---- joins and set operations ---- */

static nl_status join_kind(Spark__Connect__Join__JoinType type, nl_ast_join_kind *kind)
{
    switch (type) {
    case SPARK__CONNECT__JOIN__JOIN_TYPE__JOIN_TYPE_INNER: *kind = NL_AST_JOIN_INNER; return NULL;
    case SPARK__CONNECT__JOIN__JOIN_TYPE__JOIN_TYPE_FULL_OUTER: *kind = NL_AST_JOIN_FULL; return NULL;
    case SPARK__CONNECT__JOIN__JOIN_TYPE__JOIN_TYPE_LEFT_OUTER: *kind = NL_AST_JOIN_LEFT; return NULL;
    case SPARK__CONNECT__JOIN__JOIN_TYPE__JOIN_TYPE_RIGHT_OUTER: *kind = NL_AST_JOIN_RIGHT; return NULL;
    case SPARK__CONNECT__JOIN__JOIN_TYPE__JOIN_TYPE_LEFT_ANTI: *kind = NL_AST_JOIN_LEFT_ANTI; return NULL;
    case SPARK__CONNECT__JOIN__JOIN_TYPE__JOIN_TYPE_LEFT_SEMI: *kind = NL_AST_JOIN_LEFT_SEMI; return NULL;
    case SPARK__CONNECT__JOIN__JOIN_TYPE__JOIN_TYPE_CROSS: *kind = NL_AST_JOIN_CROSS; return NULL;
    case SPARK__CONNECT__JOIN__JOIN_TYPE__JOIN_TYPE_UNSPECIFIED:
    default: return nl_connect_invalid("Join type is not supported");
    }
}

nl_ast_relation *nl_step_join(nl_step *s, nl_ast_term *right)
{
    nl_ast_relation *input = NL_NEW(s->arena, nl_ast_relation);
    nl_ast_relation *join = NL_NEW(s->arena, nl_ast_relation);
    input->kind = NL_AST_RELATION_PIPE;
    *join = (nl_ast_relation){.kind = NL_AST_RELATION_JOIN};
    join->join.left = input;
    join->join.right = as_relation(s->arena, right);
    piped(s, NL_AST_PIPE_RELATION)->relation = join;
    return join;
}

static nl_status join(nl_step *s, const Spark__Connect__Join *message)
{
    nl_ast_term *right = NULL;
    NL_TRY(nl_translate_relation(s->t, message->right, &right));
    if (message->join_condition && message->n_using_columns) return nl_connect_invalid("Using columns or join conditions cannot be set at the same time in Join");
    if (message->join_data_type) return nl_connect_unsupported("joinWith");
    nl_ast_relation *made = nl_step_join(s, right);
    NL_TRY(join_kind(message->join_type, &made->join.kind));
    if (message->join_condition) NL_TRY(nl_translate_expr(s->t, message->join_condition, &made->join.on));
    nl_ast_ident *names = NL_NEW_ARRAY(s->arena, nl_ast_ident, message->n_using_columns + 1);
    for (size_t i = 0; i < message->n_using_columns; i++) names[i] = nl_ident_of(nl_copy_text(s->arena, message->using_columns[i]));
    made->join.using_columns = (nl_ast_idents){names, (uint32_t)message->n_using_columns};
    return NULL;
}

static nl_status lateral_join(nl_step *s, const Spark__Connect__LateralJoin *message)
{
    nl_ast_term *right = NULL;
    NL_TRY(nl_translate_relation(s->t, message->right, &right));
    nl_ast_relation *made = nl_step_join(s, right);
    if (right->kind == NL_AST_TERM_RELATION) made->join.right = right->values;
    made->join.right->is_lateral = true;
    NL_TRY(join_kind(message->join_type, &made->join.kind));
    return message->join_condition ? nl_translate_expr(s->t, message->join_condition, &made->join.on) : NULL;
}

static nl_status set_operation(nl_step *s, const Spark__Connect__SetOperation *message)
{
    nl_ast_term *right = NULL;
    nl_ast_set_operator op = NL_AST_SET_UNION;
    NL_TRY(nl_translate_relation(s->t, message->right_input, &right));
    if (message->set_op_type == SPARK__CONNECT__SET_OPERATION__SET_OP_TYPE__SET_OP_TYPE_INTERSECT)
        op = NL_AST_SET_INTERSECT;
    else if (message->set_op_type == SPARK__CONNECT__SET_OPERATION__SET_OP_TYPE__SET_OP_TYPE_EXCEPT)
        op = NL_AST_SET_EXCEPT;
    else if (message->set_op_type != SPARK__CONNECT__SET_OPERATION__SET_OP_TYPE__SET_OP_TYPE_UNION)
        return nl_connect_invalid("Unsupported set operation");
    const bool is_all = message->has_is_all && message->is_all;
    if (message->has_by_name && message->by_name) {
        nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_SET_BY_NAME);
        dataframe->set_operator = op;
        dataframe->is_all = is_all;
        dataframe->allow_missing = message->has_allow_missing_columns && message->allow_missing_columns;
        dataframe->right = right;
        return NULL;
    }
    nl_ast_term *term = NL_NEW(s->arena, nl_ast_term);
    term->kind = NL_AST_TERM_SET_OPERATION;
    term->set.op = op;
    term->set.quantifier = is_all ? NL_AST_SET_ALL : NL_AST_SET_DISTINCT;
    term->set.left = s->left;
    term->set.right = right;
    s->made = term;
    return NULL;
}

/* ---- groups ---- */

nl_ast_grouping *nl_step_grouping(nl_step *s, nl_ast_expr *expr)
{
    nl_ast_grouping *grouping = NL_NEW(s->arena, nl_ast_grouping);
    grouping->kind = NL_AST_GROUP_EXPRESSION;
    grouping->expr = expr->kind == NL_AST_EXPR_ALIAS ? expr->alias.input : expr;
    return grouping;
}

static nl_status grouping_sets(nl_step *s, const Spark__Connect__Aggregate *message, nl_ast_groupings *sets)
{
    *sets = (nl_ast_groupings){NL_NEW_ARRAY(s->arena, nl_ast_grouping *, message->n_grouping_sets + 1), (uint32_t)message->n_grouping_sets};
    for (size_t i = 0; i < message->n_grouping_sets; i++) {
        nl_ast_grouping *set = NL_NEW(s->arena, nl_ast_grouping);
        set->kind = NL_AST_GROUP_SET;
        set->has_parentheses = true;
        NL_TRY(nl_translate_exprs(s->t, message->grouping_sets[i]->grouping_set, message->grouping_sets[i]->n_grouping_set, &set->exprs));
        sets->items[i] = set;
    }
    return NULL;
}

static nl_status pivot(nl_step *s, const Spark__Connect__Aggregate *message)
{
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_PIVOT);
    if (!message->pivot) return nl_connect_invalid("a pivot is missing");
    NL_TRY(nl_translate_exprs(s->t, message->grouping_expressions, message->n_grouping_expressions, &dataframe->group));
    NL_TRY(nl_translate_exprs(s->t, message->aggregate_expressions, message->n_aggregate_expressions, &dataframe->exprs));
    NL_TRY(nl_translate_expr(s->t, message->pivot->col, &dataframe->condition));
    dataframe->has_values = message->pivot->n_values > 0;
    dataframe->values = (nl_ast_exprs){NL_NEW_ARRAY(s->arena, nl_ast_expr *, message->pivot->n_values + 1), (uint32_t)message->pivot->n_values};
    for (size_t i = 0; i < message->pivot->n_values; i++) {
        nl_value value = {0};
        NL_TRY(nl_translate_value(s->t, message->pivot->values[i], &value));
        dataframe->values.items[i] = nl_value_expr(s->arena, &value);
    }
    return NULL;
}

static nl_status aggregate(nl_step *s, const Spark__Connect__Aggregate *message)
{
    if (message->group_type == SPARK__CONNECT__AGGREGATE__GROUP_TYPE__GROUP_TYPE_PIVOT) return pivot(s, message);
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_AGGREGATE);
    NL_TRY(nl_translate_exprs(s->t, message->grouping_expressions, message->n_grouping_expressions, &dataframe->group));
    NL_TRY(nl_translate_exprs(s->t, message->aggregate_expressions, message->n_aggregate_expressions, &dataframe->exprs));
    nl_ast_group_by *group_by = NL_NEW(s->arena, nl_ast_group_by);
    group_by->items.items = NL_NEW_ARRAY(s->arena, nl_ast_grouping *, dataframe->group.count + 1);
    group_by->items.count = dataframe->group.count;
    for (uint32_t i = 0; i < dataframe->group.count; i++) group_by->items.items[i] = nl_step_grouping(s, dataframe->group.items[i]);
    switch (message->group_type) {
    case SPARK__CONNECT__AGGREGATE__GROUP_TYPE__GROUP_TYPE_GROUPBY: group_by->suffix = NL_AST_GROUP_PLAIN; break;
    case SPARK__CONNECT__AGGREGATE__GROUP_TYPE__GROUP_TYPE_ROLLUP: group_by->suffix = NL_AST_GROUP_WITH_ROLLUP; break;
    case SPARK__CONNECT__AGGREGATE__GROUP_TYPE__GROUP_TYPE_CUBE: group_by->suffix = NL_AST_GROUP_WITH_CUBE; break;
    case SPARK__CONNECT__AGGREGATE__GROUP_TYPE__GROUP_TYPE_GROUPING_SETS:
        group_by->suffix = NL_AST_GROUP_WITH_SETS;
        NL_TRY(grouping_sets(s, message, &group_by->sets));
        break;
    case SPARK__CONNECT__AGGREGATE__GROUP_TYPE__GROUP_TYPE_PIVOT:
    case SPARK__CONNECT__AGGREGATE__GROUP_TYPE__GROUP_TYPE_UNSPECIFIED:
    default: return nl_connect_invalid("Unknown group type");
    }
    if (dataframe->group.count || group_by->suffix == NL_AST_GROUP_WITH_SETS) dataframe->group_by = group_by;
    return NULL;
}

/* ---- steps ---- */

static nl_status with_columns(nl_step *s, const Spark__Connect__WithColumns *message)
{
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_WITH_COLUMNS);
    dataframe->exprs = (nl_ast_exprs){NL_NEW_ARRAY(s->arena, nl_ast_expr *, message->n_aliases + 1), (uint32_t)message->n_aliases};
    for (size_t i = 0; i < message->n_aliases; i++) {
        if (message->aliases[i]->n_name != 1) return nl_connect_invalid("WithColumns require column name only contains one name part.");
        NL_TRY(nl_translate_alias(s->t, message->aliases[i], &dataframe->exprs.items[i]));
    }
    return NULL;
}

static nl_status drop(nl_step *s, const Spark__Connect__Drop *message)
{
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_DROP);
    named(s, dataframe, message->column_names, message->n_column_names);
    return nl_translate_exprs(s->t, message->columns, message->n_columns, &dataframe->exprs);
}

static nl_status rename_columns(nl_step *s, const Spark__Connect__WithColumnsRenamed *message)
{
    const size_t count = message->n_rename_columns_map + message->n_renames;
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_RENAME);
    nl_str *names = NL_NEW_ARRAY(s->arena, nl_str, count + 1);
    nl_str *new_names = NL_NEW_ARRAY(s->arena, nl_str, count + 1);
    size_t at = 0;
    for (size_t i = 0; i < message->n_rename_columns_map; i++, at++) {
        names[at] = nl_copy_text(s->arena, message->rename_columns_map[i]->key);
        new_names[at] = nl_copy_text(s->arena, message->rename_columns_map[i]->value);
    }
    for (size_t i = 0; i < message->n_renames; i++, at++) {
        names[at] = nl_copy_text(s->arena, message->renames[i]->col_name);
        new_names[at] = nl_copy_text(s->arena, message->renames[i]->new_col_name);
    }
    dataframe->names = names;
    dataframe->new_names = new_names;
    dataframe->name_count = (uint32_t)count;
    return NULL;
}

static nl_status to_schema(nl_step *s, const Spark__Connect__ToSchema *message)
{
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_TO_SCHEMA);
    NL_TRY(nl_connect_type_from_proto(s->arena, message->schema, &dataframe->schema));
    return dataframe->schema->id == NL_TYPE_STRUCT ? NULL : nl_connect_invalid("The schema of to(schema) is no struct");
}

static nl_status unpivot(nl_step *s, const Spark__Connect__Unpivot *message)
{
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_UNPIVOT);
    two_named(s, dataframe, message->variable_column_name, message->value_column_name);
    dataframe->has_values = message->values != NULL;
    if (message->values) NL_TRY(nl_translate_exprs(s->t, message->values->values, message->values->n_values, &dataframe->values));
    return nl_translate_exprs(s->t, message->ids, message->n_ids, &dataframe->group);
}

static nl_status values_of(nl_step *s, Spark__Connect__Expression__Literal *const *messages, size_t count, nl_ast_exprs *values)
{
    *values = (nl_ast_exprs){NL_NEW_ARRAY(s->arena, nl_ast_expr *, count + 1), (uint32_t)count};
    for (size_t i = 0; i < count; i++) {
        nl_value value = {0};
        NL_TRY(nl_translate_value(s->t, messages[i], &value));
        values->items[i] = nl_value_expr(s->arena, &value);
    }
    return NULL;
}

static nl_status fill_na(nl_step *s, const Spark__Connect__NAFill *message)
{
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_FILL_NA);
    named(s, dataframe, message->cols, message->n_cols);
    if (message->n_values == 0) return nl_connect_invalid("values must contains at least 1 item!");
    if (message->n_values > 1 && message->n_values != message->n_cols) return nl_connect_invalid("When values contains more than 1 items, values and cols should have the same length!");
    return values_of(s, message->values, message->n_values, &dataframe->values);
}

static nl_status replace(nl_step *s, const Spark__Connect__NAReplace *message)
{
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_REPLACE);
    Spark__Connect__Expression__Literal **pairs = NL_NEW_ARRAY(s->arena, Spark__Connect__Expression__Literal *, 2 * message->n_replacements + 1);
    named(s, dataframe, message->cols, message->n_cols);
    for (size_t i = 0; i < message->n_replacements; i++) {
        pairs[2 * i] = message->replacements[i]->old_value;
        pairs[2 * i + 1] = message->replacements[i]->new_value;
    }
    return values_of(s, pairs, 2 * message->n_replacements, &dataframe->values);
}

static nl_status sample(nl_step *s, const Spark__Connect__Sample *message)
{
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_SAMPLE);
    dataframe->lower = message->lower_bound;
    dataframe->upper = message->upper_bound;
    dataframe->is_with_replacement = message->has_with_replacement && message->with_replacement;
    dataframe->seed = message->has_seed ? message->seed : nl_now_micros();
    return NULL;
}

static nl_status sample_by(nl_step *s, const Spark__Connect__StatSampleBy *message)
{
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_SAMPLE_BY);
    double *numbers = NL_NEW_ARRAY(s->arena, double, message->n_fractions + 1);
    Spark__Connect__Expression__Literal **strata = NL_NEW_ARRAY(s->arena, Spark__Connect__Expression__Literal *, message->n_fractions + 1);
    for (size_t i = 0; i < message->n_fractions; i++) {
        strata[i] = message->fractions[i]->stratum;
        numbers[i] = message->fractions[i]->fraction;
    }
    dataframe->numbers = numbers;
    dataframe->number_count = (uint32_t)message->n_fractions;
    dataframe->seed = message->has_seed ? message->seed : nl_now_micros();
    NL_TRY(values_of(s, strata, message->n_fractions, &dataframe->values));
    return nl_translate_expr(s->t, message->col, &dataframe->condition);
}

static nl_status quantiles(nl_step *s, const Spark__Connect__StatApproxQuantile *message)
{
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_APPROX_QUANTILE);
    double *numbers = NL_NEW_ARRAY(s->arena, double, message->n_probabilities + 1);
    for (size_t i = 0; i < message->n_probabilities; i++) numbers[i] = message->probabilities[i];
    named(s, dataframe, message->cols, message->n_cols);
    dataframe->numbers = numbers;
    dataframe->number_count = (uint32_t)message->n_probabilities;
    dataframe->upper = message->relative_error;
    return NULL;
}

/* Rows by partitions: count 0 when the program gives none. Orders of repartitionByRange are only looked at. */
static nl_status repartition(nl_step *s, nl_ast_partitioning partitioning, int64_t partition_count, Spark__Connect__Expression *const *exprs, size_t count)
{
    bool is_range = false;
    for (size_t i = 0; i < count; i++) is_range |= exprs[i]->expr_type_case == SPARK__CONNECT__EXPRESSION__EXPR_TYPE_SORT_ORDER;
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_REPARTITION);
    dataframe->partitioning = is_range ? NL_AST_PARTITION_NONE : partitioning;
    dataframe->count = partition_count;
    dataframe->exprs = (nl_ast_exprs){NL_NEW_ARRAY(s->arena, nl_ast_expr *, count + 1), (uint32_t)count};
    for (size_t i = 0; i < count; i++) NL_TRY(nl_translate_expr(s->t, exprs[i], &dataframe->exprs.items[i]));
    return NULL;
}

static nl_status observe(nl_step *s, const Spark__Connect__CollectMetrics *message, const Spark__Connect__RelationCommon *common)
{
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_OBSERVE);
    dataframe->count = common && common->has_plan_id ? common->plan_id : 0;
    named(s, dataframe, &(char *){message->name}, 1);
    return nl_translate_exprs(s->t, message->metrics, message->n_metrics, &dataframe->exprs);
}

static void alias(nl_step *s, const Spark__Connect__SubqueryAlias *message)
{
    piped(s, NL_AST_PIPE_AS)->alias = nl_ident_of(nl_copy_text(s->arena, message->alias));
}

static void limit(nl_step *s, bool is_offset, int32_t number)
{
    nl_ast_pipe *pipe = piped(s, NL_AST_PIPE_ORGANIZE);
    if (is_offset)
        pipe->organization.offset = integer(s, number);
    else
        pipe->organization.limit = integer(s, number);
}

static nl_status deduplicate(nl_step *s, const Spark__Connect__Deduplicate *message)
{
    nl_ast_dataframe *dataframe = nl_step_dataframe(s, NL_AST_DATAFRAME_DEDUPLICATE);
    dataframe->is_within_watermark = message->has_within_watermark && message->within_watermark;
    const bool is_all = message->has_all_columns_as_keys && message->all_columns_as_keys;
    if (is_all == (message->n_column_names > 0)) return nl_connect_invalid("Deduplicate requires to either deduplicate on all columns or a subset of columns");
    named(s, dataframe, message->column_names, message->n_column_names);
    return NULL;
}

/* ---- which step it is ---- */

bool nl_translate_input(const Spark__Connect__Relation *relation, const Spark__Connect__Relation **input)
{
#define INPUT(NAME, member, field)                       \
    case SPARK__CONNECT__RELATION__REL_TYPE_##NAME:      \
        *input = relation->member->field;                \
        return true;
    switch ((int)relation->rel_type_case) {
        INPUT(PROJECT, project, input)
        INPUT(FILTER, filter, input)
        INPUT(JOIN, join, left)
        INPUT(SET_OP, set_op, left_input)
        INPUT(SORT, sort, input)
        INPUT(LIMIT, limit, input)
        INPUT(AGGREGATE, aggregate, input)
        INPUT(SAMPLE, sample, input)
        INPUT(OFFSET, offset, input)
        INPUT(DEDUPLICATE, deduplicate, input)
        INPUT(SUBQUERY_ALIAS, subquery_alias, input)
        INPUT(REPARTITION, repartition, input)
        INPUT(TO_DF, to_df, input)
        INPUT(WITH_COLUMNS_RENAMED, with_columns_renamed, input)
        INPUT(DROP, drop, input)
        INPUT(TAIL, tail, input)
        INPUT(WITH_COLUMNS, with_columns, input)
        INPUT(HINT, hint, input)
        INPUT(UNPIVOT, unpivot, input)
        INPUT(TO_SCHEMA, to_schema, input)
        INPUT(REPARTITION_BY_EXPRESSION, repartition_by_expression, input)
        INPUT(COLLECT_METRICS, collect_metrics, input)
        INPUT(TRANSPOSE, transpose, input)
        INPUT(LATERAL_JOIN, lateral_join, left)
        INPUT(AS_OF_JOIN, as_of_join, left)
        INPUT(FILL_NA, fill_na, input)
        INPUT(DROP_NA, drop_na, input)
        INPUT(REPLACE, replace, input)
        INPUT(SUMMARY, summary, input)
        INPUT(DESCRIBE, describe, input)
        INPUT(CROSSTAB, crosstab, input)
        INPUT(COV, cov, input)
        INPUT(CORR, corr, input)
        INPUT(APPROX_QUANTILE, approx_quantile, input)
        INPUT(FREQ_ITEMS, freq_items, input)
        INPUT(SAMPLE_BY, sample_by, input)
        INPUT(WITH_WATERMARK, with_watermark, input)
        INPUT(MAP_PARTITIONS, map_partitions, input)
        INPUT(GROUP_MAP, group_map, input)
        INPUT(CO_GROUP_MAP, co_group_map, input)
    default: return false;
    }
#undef INPUT
}

static nl_status statistics_step(nl_step *s, const Spark__Connect__Relation *relation)
{
    nl_ast_dataframe *made;
    switch ((int)relation->rel_type_case) {
    case SPARK__CONNECT__RELATION__REL_TYPE_SUMMARY:
        made = nl_step_dataframe(s, NL_AST_DATAFRAME_SUMMARY);
        named(s, made, relation->summary->statistics, relation->summary->n_statistics);
        return NULL;
    case SPARK__CONNECT__RELATION__REL_TYPE_DESCRIBE:
        made = nl_step_dataframe(s, NL_AST_DATAFRAME_DESCRIBE);
        named(s, made, relation->describe->cols, relation->describe->n_cols);
        return NULL;
    case SPARK__CONNECT__RELATION__REL_TYPE_CROSSTAB:
        two_named(s, nl_step_dataframe(s, NL_AST_DATAFRAME_CROSSTAB), relation->crosstab->col1, relation->crosstab->col2);
        return NULL;
    case SPARK__CONNECT__RELATION__REL_TYPE_COV:
        two_named(s, nl_step_dataframe(s, NL_AST_DATAFRAME_COV), relation->cov->col1, relation->cov->col2);
        return NULL;
    case SPARK__CONNECT__RELATION__REL_TYPE_CORR:
        two_named(s, nl_step_dataframe(s, NL_AST_DATAFRAME_CORR), relation->corr->col1, relation->corr->col2);
        return NULL;
    case SPARK__CONNECT__RELATION__REL_TYPE_APPROX_QUANTILE: return quantiles(s, relation->approx_quantile);
    case SPARK__CONNECT__RELATION__REL_TYPE_FREQ_ITEMS:
        made = nl_step_dataframe(s, NL_AST_DATAFRAME_FREQ_ITEMS);
        named(s, made, relation->freq_items->cols, relation->freq_items->n_cols);
        made->upper = relation->freq_items->has_support ? relation->freq_items->support : 0.01;
        return NULL;
    case SPARK__CONNECT__RELATION__REL_TYPE_SAMPLE_BY: return sample_by(s, relation->sample_by);
    case SPARK__CONNECT__RELATION__REL_TYPE_TRANSPOSE:
        made = nl_step_dataframe(s, NL_AST_DATAFRAME_TRANSPOSE);
        return nl_translate_exprs(s->t, relation->transpose->index_columns, relation->transpose->n_index_columns, &made->exprs);
    case SPARK__CONNECT__RELATION__REL_TYPE_FILL_NA: return fill_na(s, relation->fill_na);
    case SPARK__CONNECT__RELATION__REL_TYPE_DROP_NA:
        made = nl_step_dataframe(s, NL_AST_DATAFRAME_DROP_NA);
        named(s, made, relation->drop_na->cols, relation->drop_na->n_cols);
        made->count = relation->drop_na->has_min_non_nulls ? relation->drop_na->min_non_nulls : -1;
        return NULL;
    case SPARK__CONNECT__RELATION__REL_TYPE_REPLACE: return replace(s, relation->replace);
    case SPARK__CONNECT__RELATION__REL_TYPE_COLLECT_METRICS: return observe(s, relation->collect_metrics, relation->common);
    case SPARK__CONNECT__RELATION__REL_TYPE_MAP_PARTITIONS:
    case SPARK__CONNECT__RELATION__REL_TYPE_GROUP_MAP:
    case SPARK__CONNECT__RELATION__REL_TYPE_CO_GROUP_MAP: return nl_translate_python_step(s->t, relation, nl_step_dataframe(s, NL_AST_DATAFRAME_MAP_PYTHON));
    default: return nl_connect_unsupported("this relation");
    }
}

static nl_status step_of(nl_step *s, const Spark__Connect__Relation *relation)
{
    nl_ast_dataframe *made;
    switch ((int)relation->rel_type_case) {
    case SPARK__CONNECT__RELATION__REL_TYPE_PROJECT:
        made = nl_step_dataframe(s, NL_AST_DATAFRAME_SELECT);
        return nl_translate_exprs(s->t, relation->project->expressions, relation->project->n_expressions, &made->exprs);
    case SPARK__CONNECT__RELATION__REL_TYPE_FILTER:
        made = nl_step_dataframe(s, NL_AST_DATAFRAME_FILTER);
        return nl_translate_expr(s->t, relation->filter->condition, &made->condition);
    case SPARK__CONNECT__RELATION__REL_TYPE_SORT:
        made = nl_step_dataframe(s, NL_AST_DATAFRAME_SORT);
        made->is_local = !relation->sort->is_global; /* absent: the default of proto3 */
        return nl_translate_sort(s->t, relation->sort->order, relation->sort->n_order, &made->sort);
    case SPARK__CONNECT__RELATION__REL_TYPE_TAIL:
        made = nl_step_dataframe(s, NL_AST_DATAFRAME_TAIL);
        made->count = relation->tail->limit;
        return NULL;
    case SPARK__CONNECT__RELATION__REL_TYPE_TO_DF:
        made = nl_step_dataframe(s, NL_AST_DATAFRAME_TO_DF);
        named(s, made, relation->to_df->column_names, relation->to_df->n_column_names);
        return NULL;
    case SPARK__CONNECT__RELATION__REL_TYPE_JOIN: return join(s, relation->join);
    case SPARK__CONNECT__RELATION__REL_TYPE_LATERAL_JOIN: return lateral_join(s, relation->lateral_join);
    case SPARK__CONNECT__RELATION__REL_TYPE_AS_OF_JOIN: return nl_step_as_of_join(s, relation->as_of_join);
    case SPARK__CONNECT__RELATION__REL_TYPE_SET_OP: return set_operation(s, relation->set_op);
    case SPARK__CONNECT__RELATION__REL_TYPE_AGGREGATE: return aggregate(s, relation->aggregate);
    case SPARK__CONNECT__RELATION__REL_TYPE_SAMPLE: return sample(s, relation->sample);
    case SPARK__CONNECT__RELATION__REL_TYPE_DEDUPLICATE: return deduplicate(s, relation->deduplicate);
    case SPARK__CONNECT__RELATION__REL_TYPE_DROP: return drop(s, relation->drop);
    case SPARK__CONNECT__RELATION__REL_TYPE_WITH_COLUMNS: return with_columns(s, relation->with_columns);
    case SPARK__CONNECT__RELATION__REL_TYPE_WITH_COLUMNS_RENAMED: return rename_columns(s, relation->with_columns_renamed);
    case SPARK__CONNECT__RELATION__REL_TYPE_TO_SCHEMA: return to_schema(s, relation->to_schema);
    case SPARK__CONNECT__RELATION__REL_TYPE_UNPIVOT: return unpivot(s, relation->unpivot);
    case SPARK__CONNECT__RELATION__REL_TYPE_LIMIT: limit(s, false, relation->limit->limit); return NULL;
    case SPARK__CONNECT__RELATION__REL_TYPE_OFFSET: limit(s, true, relation->offset->offset); return NULL;
    case SPARK__CONNECT__RELATION__REL_TYPE_SUBQUERY_ALIAS: alias(s, relation->subquery_alias); return NULL;
    case SPARK__CONNECT__RELATION__REL_TYPE_REPARTITION_BY_EXPRESSION:
        return repartition(s, NL_AST_PARTITION_SHUFFLE, relation->repartition_by_expression->has_num_partitions ? relation->repartition_by_expression->num_partitions : 0,
                           relation->repartition_by_expression->partition_exprs, relation->repartition_by_expression->n_partition_exprs);
    case SPARK__CONNECT__RELATION__REL_TYPE_REPARTITION: {
        const bool is_shuffle = relation->repartition->has_shuffle && relation->repartition->shuffle;
        return repartition(s, is_shuffle ? NL_AST_PARTITION_SHUFFLE : NL_AST_PARTITION_COALESCE, relation->repartition->num_partitions, NULL, 0);
    }
    case SPARK__CONNECT__RELATION__REL_TYPE_HINT: return repartition(s, NL_AST_PARTITION_NONE, 0, NULL, 0); /* hints are of no use here */
    case SPARK__CONNECT__RELATION__REL_TYPE_WITH_WATERMARK:
        two_named(s, nl_step_dataframe(s, NL_AST_DATAFRAME_WATERMARK), relation->with_watermark->event_time, relation->with_watermark->delay_threshold);
        return NULL;
    default: return statistics_step(s, relation);
    }
}

/* ---- leaves ---- */

static nl_status range(nl_translator *t, const Spark__Connect__Range *message, nl_ast_term **term)
{
    nl_ast_relation *relation = NL_NEW(t->arena, nl_ast_relation);
    const int64_t numbers[] = {message->has_start ? message->start : 0, message->end, message->step};
    nl_ast_argument *args = NL_NEW_ARRAY(t->arena, nl_ast_argument, 3);
    for (int i = 0; i < 3; i++) {
        const nl_value value = nl_value_int(nl_type_bigint(), numbers[i]);
        args[i].value = nl_value_expr(t->arena, &value);
    }
    relation->kind = NL_AST_RELATION_FUNCTION;
    relation->function.name = (nl_ast_name){.parts = NL_NEW(t->arena, nl_ast_ident), .count = 1};
    *relation->function.name.parts = nl_ident_of(NL_STR("range"));
    relation->function.args = (nl_ast_arguments){args, 3};
    *term = nl_relation_term(t->arena, relation);
    if (!message->has_num_partitions || message->num_partitions < 1) return NULL;
    nl_step s = {.t = t, .arena = t->arena, .left = *term};
    NL_TRY(repartition(&s, NL_AST_PARTITION_SPLIT, message->num_partitions, NULL, 0));
    *term = s.made;
    return NULL;
}

static nl_status table_function(nl_translator *t, const Spark__Connect__UnresolvedTableValuedFunction *message, nl_ast_term **term)
{
    nl_ast_relation *relation = NL_NEW(t->arena, nl_ast_relation);
    relation->kind = NL_AST_RELATION_FUNCTION;
    NL_TRY(nl_translate_name(t, nl_copy_text(t->arena, message->function_name), &relation->function.name));
    NL_TRY(nl_translate_call(t, nl_str_from(message->function_name), message->arguments, message->n_arguments, &relation->function.args));
    *term = nl_relation_term(t->arena, relation);
    return NULL;
}

static nl_status with_relations(nl_translator *t, const Spark__Connect__WithRelations *message, nl_ast_term **term)
{
    const nl_references references = {.outer = t->references, .relations = message->references, .count = message->n_references};
    t->references = &references;
    nl_status status = nl_translate_relation(t, message->root, term);
    t->references = references.outer;
    return status;
}

static nl_status cached_remote(nl_translator *t, const Spark__Connect__CachedRemoteRelation *message, nl_ast_term **term)
{
    const Spark__Connect__Relation *relation = NULL;
    const nl_table *table = NULL;
    if (t->host->find_table) NL_TRY(t->host->find_table(t->host, nl_str_from(message->relation_id), &table));
    if (table) {
        *term = nl_translate_table(t, table);
        return NULL;
    }
    if (t->host->find_remote) NL_TRY(t->host->find_remote(t->host, nl_str_from(message->relation_id), &relation));
    if (!relation) return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "No DataFrame with id %s is found in the session", message->relation_id ? message->relation_id : "");
    return nl_translate_relation(t, relation, term);
}

static nl_status leaf(nl_translator *t, const Spark__Connect__Relation *relation, nl_ast_term **term)
{
    switch ((int)relation->rel_type_case) {
    case SPARK__CONNECT__RELATION__REL_TYPE_READ: return nl_translate_read(t, relation->read, term);
    case SPARK__CONNECT__RELATION__REL_TYPE_SQL: return nl_translate_sql(t, relation->sql, term);
    case SPARK__CONNECT__RELATION__REL_TYPE_LOCAL_RELATION: return nl_translate_local(t, relation->local_relation, term);
    case SPARK__CONNECT__RELATION__REL_TYPE_RANGE: return range(t, relation->range, term);
    case SPARK__CONNECT__RELATION__REL_TYPE_WITH_RELATIONS: return with_relations(t, relation->with_relations, term);
    case SPARK__CONNECT__RELATION__REL_TYPE_CACHED_LOCAL_RELATION: return nl_translate_cached_local(t, relation->cached_local_relation->hash, term);
    case SPARK__CONNECT__RELATION__REL_TYPE_CHUNKED_CACHED_LOCAL_RELATION: return nl_translate_chunked_local(t, relation->chunked_cached_local_relation, term);
    case SPARK__CONNECT__RELATION__REL_TYPE_CACHED_REMOTE_RELATION: return cached_remote(t, relation->cached_remote_relation, term);
    case SPARK__CONNECT__RELATION__REL_TYPE_UNRESOLVED_TABLE_VALUED_FUNCTION: return table_function(t, relation->unresolved_table_valued_function, term);
    case SPARK__CONNECT__RELATION__REL_TYPE_APPLY_IN_PANDAS_WITH_STATE: return nl_connect_unsupported("functions with a state, written in Python,");
    case SPARK__CONNECT__RELATION__REL_TYPE_COMMON_INLINE_USER_DEFINED_TABLE_FUNCTION:
        return nl_translate_python_table(t, relation->common_inline_user_defined_table_function, term);
    case SPARK__CONNECT__RELATION__REL_TYPE_PARSE: return nl_connect_unsupported("reading CSV or JSON out of a DataFrame");
    case SPARK__CONNECT__RELATION__REL_TYPE__NOT_SET: return nl_connect_invalid("Expected Relation to be set, but is empty.");
    default: return nl_connect_invalid("Does not support this relation inside of another one.");
    }
}

/* ---- the chain ---- */

static void give_plan_id(nl_ast_term *term, const Spark__Connect__Relation *relation)
{
    if (!relation->common || !relation->common->has_plan_id) return;
    if (term->kind == NL_AST_TERM_PIPE) {
        term->pipe->has_plan_id = true;
        term->pipe->plan_id = relation->common->plan_id;
    } else {
        term->has_plan_id = true;
        term->plan_id = relation->common->plan_id;
    }
}

static bool has_plan_id(const nl_ast_term *term)
{
    return term->kind == NL_AST_TERM_PIPE ? term->pipe->has_plan_id : term->has_plan_id;
}

static nl_status chain(nl_translator *t, const Spark__Connect__Relation *relation, nl_ast_term **term)
{
    nl_list steps = {0};
    const Spark__Connect__Relation *input = NULL;
    for (; nl_translate_input(relation, &input); relation = input) {
        if (steps.count >= NL_CONNECT_CHAIN_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
        nl_list_add(t->arena, &steps, NL_UNCONST(relation));
        if (!input) return nl_connect_invalid("Expected Relation to be set, but is empty.");
    }
    NL_TRY(leaf(t, relation, term));
    if (has_plan_id(*term)) { /* a relation inside of this one has given its own */
        nl_step s = {.t = t, .arena = t->arena, .left = *term};
        (void)nl_step_dataframe(&s, NL_AST_DATAFRAME_REPARTITION);
        *term = s.made;
    }
    give_plan_id(*term, relation);
    for (uint32_t i = steps.count; i-- > 0;) {
        nl_step s = {.t = t, .arena = t->arena, .left = *term};
        NL_TRY(step_of(&s, steps.items[i]));
        give_plan_id(s.made, steps.items[i]);
        *term = s.made;
    }
    return nl_arena_check(t->arena);
}

nl_status nl_translate_relation(nl_translator *t, const Spark__Connect__Relation *relation, nl_ast_term **term)
{
    if (!relation) return nl_connect_invalid("Expected Relation to be set, but is empty.");
    if (++t->depth > NL_CONNECT_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    nl_status status = chain(t, relation, term);
    t->depth--;
    return status;
}

nl_status nl_translate_query(nl_translator *t, const Spark__Connect__Relation *relation, nl_ast_query **query)
{
    nl_ast_query *made = NL_NEW(t->arena, nl_ast_query);
    NL_TRY(nl_translate_relation(t, relation, &made->body));
    *query = made;
    return NULL;
}
