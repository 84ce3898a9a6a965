/* df.stat, describe, summary, transpose. Most are a SELECT that is written as text over the input; the ones whose columns
 * depend on the rows look at these first. */
#include "plan/analyzer/dataframe.h"

#include <math.h>

typedef struct text {
    nl_dataframe_step *step;
    nl_builder out;
} text;

static void text_start(text *t, nl_dataframe_step *step)
{
    t->step = step;
    nl_builder_init(&t->out, NL_TEXT_BYTES_MAX);
}

static nl_status text_select(text *t, const nl_logical **plan)
{
    const nl_str whole = nl_arena_str(t->step->arena, nl_builder_str(&t->out));
    nl_builder_fini(&t->out);
    return nl_dataframe_select_text(t->step, whole, plan);
}

static void append_name(text *t, nl_str name)
{
    nl_append(&t->out, nl_quote_name(t->step->arena, name));
}

static void append_string(text *t, nl_str value)
{
    nl_append_char(&t->out, '\'');
    for (size_t i = 0; i < value.length; i++) {
        if (value.data[i] == '\'' || value.data[i] == '\\') nl_append_char(&t->out, '\\');
        nl_append_char(&t->out, value.data[i]);
    }
    nl_append_char(&t->out, '\'');
}

/* ---- describe and summary ---- */

static bool is_summarized(const nl_type *type)
{
    return nl_type_is_numeric(type) || type->id == NL_TYPE_STRING;
}

static nl_status columns_to_summarize(nl_dataframe_step *step, nl_list *columns)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    const bool is_named = dataframe->kind == NL_AST_DATAFRAME_DESCRIBE && dataframe->name_count > 0;
    for (uint32_t i = 0; is_named && i < dataframe->name_count; i++) {
        const nl_column *column = NULL;
        NL_TRY(nl_dataframe_need_column(step, dataframe->names[i], &column));
        if (is_summarized(column->type)) nl_list_add(step->arena, columns, NL_UNCONST(column));
    }
    for (uint32_t i = 0; !is_named && i < step->input->column_count; i++)
        if (!step->input->columns[i].is_hidden && is_summarized(step->input->columns[i].type))
            nl_list_add(step->arena, columns, NL_UNCONST(&step->input->columns[i]));
    return NULL;
}

static bool is_percentile(nl_str statistic)
{
    if (statistic.length < 2 || statistic.data[statistic.length - 1] != '%') return false;
    for (size_t i = 0; i + 1 < statistic.length; i++)
        if ((statistic.data[i] < '0' || statistic.data[i] > '9') && statistic.data[i] != '.') return false;
    return true;
}

/* The statistic of one column, as a string. */
static nl_status append_statistic(text *t, nl_str statistic, const nl_column *column)
{
    static const struct {
        const char *name, *before, *behind;
        bool is_numeric; /* of a string only where it is a number */
    } known[] = {{"count", "count(", ")", false},
                 {"count_distinct", "count(DISTINCT ", ")", false},
                 {"approx_count_distinct", "approx_count_distinct(", ")", false},
                 {"min", "min(", ")", false},
                 {"max", "max(", ")", false},
                 {"mean", "avg(", ")", true},
                 {"stddev", "stddev(", ")", true}};
    const nl_str name = nl_quote_name(t->step->arena, column->name);
    const bool is_number = nl_type_is_numeric(column->type);
    if (is_percentile(statistic)) {
        const nl_str number = nl_str_slice(statistic, 0, statistic.length - 1);
        if (is_number)
            nl_append_f(&t->out, ", CAST(percentile_approx(" NL_STR_FMT ", CAST('" NL_STR_FMT "' AS DOUBLE) / 100, 10000) AS STRING)", NL_STR_ARG(name), NL_STR_ARG(number));
        else
            nl_append_c(&t->out, ", CAST(NULL AS STRING)");
        return NULL;
    }
    for (size_t i = 0; i < NL_COUNT(known); i++) {
        if (!nl_str_is_nocase(statistic, known[i].name)) continue;
        const bool is_cast = known[i].is_numeric && !is_number;
        nl_append_f(&t->out, ", CAST(%s%s" NL_STR_FMT "%s%s AS STRING)", known[i].before, is_cast ? "try_cast(" : "", NL_STR_ARG(name), is_cast ? " AS DOUBLE)" : "",
                    known[i].behind);
        return NULL;
    }
    return NL_RAISE(UNRECOGNIZED_STATISTIC, NL_P_STR("stats", nl_arena_f(t->step->arena, "'" NL_STR_FMT "'", NL_STR_ARG(statistic))));
}

nl_status nl_dataframe_summary(nl_dataframe_step *step, const nl_logical **plan)
{
    static const nl_str described[] = {NL_STR_INIT("count"), NL_STR_INIT("mean"), NL_STR_INIT("stddev"), NL_STR_INIT("min"), NL_STR_INIT("max")};
    static const nl_str summarized[] = {NL_STR_INIT("count"), NL_STR_INIT("mean"), NL_STR_INIT("stddev"), NL_STR_INIT("min"),
                                        NL_STR_INIT("25%"), NL_STR_INIT("50%"), NL_STR_INIT("75%"), NL_STR_INIT("max")};
    const nl_ast_dataframe *dataframe = step->dataframe;
    const bool is_summary = dataframe->kind == NL_AST_DATAFRAME_SUMMARY;
    const nl_str *statistics = is_summary ? summarized : described;
    uint32_t count = is_summary ? NL_COUNT(summarized) : NL_COUNT(described);
    if (is_summary && dataframe->name_count) {
        statistics = dataframe->names;
        count = dataframe->name_count;
    }
    nl_list columns = {0};
    text t;
    NL_TRY(columns_to_summarize(step, &columns));
    text_start(&t, step);
    nl_append_f(&t.out, "SELECT stack(%u", count);
    nl_status status = NULL;
    for (uint32_t s = 0; !status && s < count; s++) {
        nl_append_c(&t.out, ", ");
        append_string(&t, statistics[s]);
        for (uint32_t c = 0; !status && c < columns.count; c++) status = append_statistic(&t, statistics[s], columns.items[c]);
    }
    nl_append_c(&t.out, ") AS (summary");
    for (uint32_t c = 0; c < columns.count; c++) {
        nl_append_c(&t.out, ", ");
        append_name(&t, ((const nl_column *)columns.items[c])->name);
    }
    nl_append_c(&t.out, ")");
    if (status) {
        nl_builder_fini(&t.out);
        return status;
    }
    return text_select(&t, plan);
}

/* ---- two columns ---- */

static nl_status two_columns(nl_dataframe_step *step, const nl_column *columns[2])
{
    for (uint32_t i = 0; i < 2; i++) NL_TRY(nl_dataframe_need_column(step, step->dataframe->names[i], &columns[i]));
    return NULL;
}

nl_status nl_dataframe_correlation(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_column *columns[2];
    const bool is_corr = step->dataframe->kind == NL_AST_DATAFRAME_CORR;
    NL_TRY(two_columns(step, columns));
    for (uint32_t i = 0; i < 2; i++)
        if (!nl_type_is_numeric(columns[i]->type))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Currently %s calculation for columns with dataType " NL_STR_FMT " not supported.",
                                 is_corr ? "correlation" : "covariance", NL_STR_ARG(nl_type_name(step->arena, columns[i]->type)));
    text t;
    text_start(&t, step);
    nl_append_f(&t.out, "SELECT %s(coalesce(CAST(", is_corr ? "corr" : "covar_samp"); /* Spark counts a null as 0 here */
    append_name(&t, columns[0]->name);
    nl_append_c(&t.out, " AS DOUBLE), CAST(0 AS DOUBLE)), coalesce(CAST(");
    append_name(&t, columns[1]->name);
    nl_append_f(&t.out, " AS DOUBLE), CAST(0 AS DOUBLE))) AS %s", is_corr ? "corr" : "cov");
    return text_select(&t, plan);
}

static void append_key(text *t, nl_str name)
{
    nl_append_c(&t->out, "coalesce(CAST(");
    append_name(t, name);
    nl_append_c(&t->out, " AS STRING), 'null')");
}

nl_status nl_dataframe_crosstab(nl_dataframe_step *step, const nl_logical **plan)
{
    enum { VALUES_MAX = 10000 };
    const nl_column *columns[2];
    const nl_value *values = NULL;
    const nl_logical *keys = NULL;
    uint32_t count = 0;
    text t;
    NL_TRY(two_columns(step, columns));
    text_start(&t, step);
    nl_append_c(&t.out, "SELECT array_sort(collect_set(");
    append_key(&t, columns[1]->name);
    nl_append_c(&t.out, "))");
    NL_TRY(text_select(&t, &keys));
    NL_TRY(nl_dataframe_run_row(step, keys, &values));
    count = values[0].list.count;
    if (count > VALUES_MAX) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The number of distinct values of the second column is more than %d.", (int)VALUES_MAX);
    text_start(&t, step);
    nl_append_c(&t.out, "SELECT ");
    append_key(&t, columns[0]->name);
    nl_append_c(&t.out, " AS ");
    append_name(&t, nl_arena_f(step->arena, NL_STR_FMT "_" NL_STR_FMT, NL_STR_ARG(step->dataframe->names[0]), NL_STR_ARG(step->dataframe->names[1])));
    for (uint32_t i = 0; i < count; i++) {
        nl_append_c(&t.out, ", count(CASE WHEN ");
        append_key(&t, columns[1]->name);
        nl_append_c(&t.out, " = ");
        append_string(&t, values[0].list.items[i].text);
        nl_append_c(&t.out, " THEN 1 END) AS ");
        append_name(&t, values[0].list.items[i].text);
    }
    nl_append_c(&t.out, " GROUP BY ");
    append_key(&t, columns[0]->name);
    return text_select(&t, plan);
}

/* ---- approxQuantile, freqItems ---- */

nl_status nl_dataframe_quantiles(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    const double error = dataframe->upper;
    const int64_t accuracy = error <= 1.0 / INT32_MAX ? INT32_MAX : (int64_t)(1 / error + 0.5);
    text t;
    for (uint32_t i = 0; i < dataframe->name_count; i++) {
        const nl_column *ignored = NULL;
        NL_TRY(nl_dataframe_need_column(step, dataframe->names[i], &ignored));
    }
    text_start(&t, step);
    nl_append_c(&t.out, "SELECT array(");
    for (uint32_t i = 0; i < dataframe->name_count; i++) {
        nl_append_f(&t.out, "%scoalesce(percentile_approx(nullif(CAST(", i ? ", " : "");
        append_name(&t, dataframe->names[i]);
        nl_append_c(&t.out, " AS DOUBLE), CAST('NaN' AS DOUBLE)), array(");
        for (uint32_t k = 0; k < dataframe->number_count; k++) nl_append_f(&t.out, isfinite(dataframe->numbers[k]) ? "%s%.17gD" : "%sCAST('%.17g' AS DOUBLE)", k ? ", " : "", dataframe->numbers[k]);
        nl_append_f(&t.out, "), %lld), array())", (long long)NL_MAX(accuracy, 1));
    }
    nl_append_c(&t.out, ") AS approx_quantile");
    return text_select(&t, plan);
}

/* Values that are at least `support` of all rows; all of them where they are few, as Spark's counters keep them. */
static nl_status frequent(nl_dataframe_step *step, nl_str name, const nl_logical **plan)
{
    const nl_logical *counted = NULL;
    text t;
    text_start(&t, step);
    nl_append_c(&t.out, "SELECT ");
    append_name(&t, name);
    nl_append_c(&t.out, " AS v, count(1) AS c, sum(count(1)) OVER () AS n, count(1) OVER () AS k GROUP BY ");
    append_name(&t, name);
    NL_TRY(text_select(&t, &counted));
    nl_env env = *step->env;
    env.pipe_input = counted;
    nl_dataframe_step over = {.env = &env, .arena = step->arena, .outer = step->outer, .dataframe = step->dataframe, .input = counted};
    text_start(&t, &over);
    nl_append_f(&t.out, "SELECT collect_list(v) FILTER (WHERE k <= CAST('%.17g' AS DOUBLE) OR c >= n * CAST('%.17g' AS DOUBLE)) AS ", 1 / step->dataframe->upper,
                step->dataframe->upper);
    append_name(&t, nl_arena_f(step->arena, NL_STR_FMT "_freqItems", NL_STR_ARG(name)));
    return text_select(&t, plan);
}

nl_status nl_dataframe_freq_items(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    if (!(dataframe->upper >= 1e-4 && dataframe->upper <= 1.0))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Support must be in [1e-4, 1], but got %g.", dataframe->upper);
    const nl_logical *all = NULL;
    for (uint32_t i = 0; i < dataframe->name_count; i++) {
        const nl_column *column = NULL;
        const nl_logical *one = NULL;
        NL_TRY(nl_dataframe_need_column(step, dataframe->names[i], &column));
        if (all) {
            const nl_logical *fresh = NULL; /* the input is read once more: its columns need new ids */
            NL_TRY(nl_plan_fresh(step->env->context, step->input, &fresh));
            nl_env env = *step->env;
            env.pipe_input = fresh;
            nl_dataframe_step again = {.env = &env, .arena = step->arena, .outer = step->outer, .dataframe = dataframe, .input = fresh};
            NL_TRY(frequent(&again, column->name, &one));
            all = nl_logical_join(step->arena, NL_JOIN_CROSS, all, one, NULL);
        } else {
            NL_TRY(frequent(step, column->name, &all));
        }
    }
    *plan = all ? all : nl_logical_one_row(step->arena);
    return NULL;
}

/* ---- sampleBy ---- */

/* rand(seed) < CASE column WHEN stratum THEN fraction … ELSE 0 END */
nl_status nl_dataframe_sample_by(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    nl_arena *arena = step->arena;
    nl_scope scope;
    const nl_expr *column = NULL, *fraction = NULL, *random = NULL, *condition = NULL;
    nl_scope_over(&scope, step->env, step->outer, step->input, NL_CLAUSE_WHERE);
    NL_TRY(nl_resolve_expr(&scope, dataframe->condition, &column));
    const nl_expr **parts = NL_NEW_ARRAY(arena, const nl_expr *, 2 * dataframe->values.count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < dataframe->values.count; i++) {
        const nl_expr *sides[2] = {column, NULL};
        const nl_value share = {.type = nl_type_double(), .real = dataframe->numbers[i]};
        if (!(share.real >= 0 && share.real <= 1))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Fractions must be in [0, 1], but got fraction %g.", share.real);
        NL_TRY(nl_resolve_expr(&scope, dataframe->values.items[i], &sides[1]));
        NL_TRY(nl_call_function(&scope, NL_STR("<=>"), sides, 2, &parts[count++]));
        parts[count++] = nl_expr_literal(arena, &share);
    }
    const nl_value none = {.type = nl_type_double()};
    parts[count++] = nl_expr_literal(arena, &none);
    fraction = parts[0];
    if (count > 1) NL_TRY(nl_make_case(&scope, parts, count, NULL, &fraction));
    const nl_value seed = nl_value_int(nl_type_bigint(), dataframe->seed);
    const nl_expr *argument = nl_expr_literal(arena, &seed);
    NL_TRY(nl_call_function(&scope, NL_STR("rand"), &argument, 1, &random));
    const nl_expr *const sides[] = {random, fraction};
    NL_TRY(nl_call_function(&scope, NL_STR("<"), sides, 2, &condition));
    *plan = nl_logical_filter(arena, step->input, condition);
    return NULL;
}

/* ---- transpose ---- */

typedef struct transposing {
    nl_dataframe_step *step;
    nl_scope scope;
    const nl_column *index;
    nl_column *cells; /* the other columns */
    uint32_t cell_count;
    const nl_type *type; /* of all cells */
    const nl_value *values; /* row after row: the index as a string, then the cells */
    uint32_t row_count;
} transposing;

static nl_status find_cells(transposing *t)
{
    const nl_logical *input = t->step->input;
    t->cells = NL_NEW_ARRAY(t->step->arena, nl_column, input->column_count + 1);
    t->type = nl_type_of(NL_TYPE_NULL);
    for (uint32_t i = 0; i < input->column_count; i++) {
        const nl_column *column = &input->columns[i];
        if (column->is_hidden || column->id == t->index->id) continue;
        const nl_type *common = nl_common_type_plain(&t->scope, t->type, column->type);
        if (!common)
            return NL_RAISE(TRANSPOSE_NO_LEAST_COMMON_TYPE, NL_P_STR("dt1", nl_quote_type(t->step->arena, t->type)),
                            NL_P_STR("dt2", nl_quote_type(t->step->arena, column->type)));
        t->type = common;
        t->cells[t->cell_count++] = *column;
    }
    return NULL;
}

static nl_status find_index(transposing *t)
{
    nl_dataframe_step *step = t->step;
    const nl_expr *expr = NULL;
    for (uint32_t i = 0; i < step->input->column_count && !t->index; i++)
        if (!step->input->columns[i].is_hidden) t->index = &step->input->columns[i];
    if (step->dataframe->exprs.count > 0) {
        NL_TRY(nl_resolve_expr(&t->scope, step->dataframe->exprs.items[0], &expr));
        t->index = expr->kind == NL_EXPR_COLUMN ? nl_logical_find_column(step->input, expr->column) : NULL;
    }
    if (!t->index) return NL_RAISE(TRANSPOSE_INVALID_INDEX_COLUMN, NL_P("reason", "Index column must be an atomic attribute"));
    if (nl_type_is_nested(t->index->type) || t->index->type->id == NL_TYPE_VARIANT)
        return NL_RAISE(TRANSPOSE_INVALID_INDEX_COLUMN, NL_P_STR("reason", nl_arena_f(step->arena, "Index column must be of atomic type, but found: " NL_STR_FMT,
                                                                                      NL_STR_ARG(nl_type_name(step->arena, t->index->type)))));
    return NULL;
}

/* The rows in the order of the index, nulls of it left out. */
static nl_status collect(transposing *t)
{
    enum { ROWS_MAX = 500 }; /* spark.sql.transposeMaxValues */
    nl_arena *arena = t->step->arena;
    const uint32_t count = t->cell_count + 1;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count);
    nl_sort_key *key = NL_NEW(arena, nl_sort_key);
    const nl_expr *index = nl_column_ref(arena, t->index);
    *key = (nl_sort_key){.expr = index, .nulls_first = true};
    exprs[0] = nl_expr_cast(arena, index, nl_type_string(), nl_scope_cast_mode(&t->scope));
    for (uint32_t i = 0; i < t->cell_count; i++) exprs[i + 1] = nl_expr_cast(arena, nl_column_ref(arena, &t->cells[i]), t->type, nl_scope_cast_mode(&t->scope));
    for (uint32_t i = 0; i < count; i++)
        columns[i] = (nl_column){.id = nl_plan_new_id(t->step->env->context), .name = NL_STR("c"), .type = exprs[i]->type, .is_nullable = true};
    const nl_logical *plan = nl_logical_filter(arena, t->step->input, nl_expr_is_null(arena, index, true));
    plan = nl_logical_project(arena, nl_logical_sort(arena, plan, key, 1, true), columns, exprs, count);
    NL_TRY(nl_dataframe_run(t->step, plan, ROWS_MAX + 1, &t->values, &t->row_count));
    if (t->row_count > ROWS_MAX) return NL_RAISE(TRANSPOSE_EXCEED_ROW_LIMIT, NL_P_INT("maxValues", ROWS_MAX), NL_P("config", "spark.sql.transposeMaxValues"));
    return NULL;
}

nl_status nl_dataframe_transpose(nl_dataframe_step *step, const nl_logical **plan)
{
    nl_arena *arena = step->arena;
    transposing t = {.step = step};
    nl_scope_over(&t.scope, step->env, step->outer, step->input, NL_CLAUSE_OTHER);
    NL_TRY(find_index(&t));
    NL_TRY(find_cells(&t));
    NL_TRY(collect(&t));
    const uint32_t width = t.cell_count + 1;
    nl_logical *made = nl_logical_new(arena, NL_PLAN_VALUES, NULL, 0);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, t.row_count + 1);
    const nl_expr *const **rows = NL_NEW_ARRAY(arena, const nl_expr *const *, t.cell_count + 1);
    columns[0] = (nl_column){.id = nl_plan_new_id(step->env->context), .name = NL_STR("key"), .type = nl_type_string()};
    for (uint32_t r = 0; r < t.row_count; r++)
        columns[r + 1] = (nl_column){.id = nl_plan_new_id(step->env->context), .name = t.values[r * width].text, .type = t.type, .is_nullable = true};
    for (uint32_t c = 0; c < t.cell_count; c++) {
        const nl_expr **row = NL_NEW_ARRAY(arena, const nl_expr *, t.row_count + 1);
        const nl_value name = nl_value_string(t.cells[c].name);
        row[0] = nl_expr_literal(arena, &name);
        for (uint32_t r = 0; r < t.row_count; r++) row[r + 1] = nl_expr_literal(arena, &t.values[r * width + c + 1]);
        rows[c] = row;
    }
    made->columns = columns;
    made->column_count = t.row_count + 1;
    made->values.rows = rows;
    made->values.row_count = t.cell_count;
    *plan = made;
    return NULL;
}
