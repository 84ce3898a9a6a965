/* UNPIVOT: every input row meets the numbers 1 … n; CASE picks the n-th column's name and values. */
#include "plan/analyzer/dataframe.h"

typedef struct unpivoting {
    nl_env *env;
    nl_arena *arena;
    nl_scope scope;
    const nl_logical *input;
    nl_str name;              /* of the column of names */
    const nl_str *value_names;
    bool is_including_nulls;
    const nl_expr **cells; /* column_count rows of value_count cells */
    nl_str *names;
    uint32_t row_count, value_count;
} unpivoting;

static nl_status resolve_cells(unpivoting *u, const nl_ast_relation *relation)
{
    u->row_count = relation->unpivot.column_count;
    u->value_count = relation->unpivot.values.count;
    u->cells = NL_NEW_ARRAY(u->arena, const nl_expr *, (size_t)u->row_count * u->value_count + 1);
    u->names = NL_NEW_ARRAY(u->arena, nl_str, u->row_count + 1);
    for (uint32_t r = 0; r < u->row_count; r++) {
        const nl_ast_unpivot_column *written = &relation->unpivot.columns[r];
        if (written->columns.count != u->value_count)
            return NL_RAISE(UNPIVOT_VALUE_SIZE_MISMATCH, NL_P_INT("names", u->value_count));
        nl_str *texts = NL_NEW_ARRAY(u->arena, nl_str, u->value_count + 1);
        for (uint32_t v = 0; v < u->value_count; v++) {
            const nl_str *parts = NULL;
            uint32_t count = 0;
            NL_TRY(nl_name_parts(&u->scope, &written->columns.items[v], &parts, &count));
            NL_TRY(nl_sql_at(nl_resolve_name(&u->scope, parts, count, written->columns.items[v].range, &u->cells[r * u->value_count + v]),
                             u->env->text, written->columns.items[v].range, false));
            texts[v] = parts[count - 1];
        }
        u->names[r] = written->name.text.data ? written->name.text : nl_join_texts(u->arena, texts, u->value_count, "_");
    }
    return NULL;
}

/* "BIGINT" (`a`, `b`), "STRING" (`c`): each type once, with the columns that have it. */
static nl_str types_text(unpivoting *u, uint32_t v)
{
    nl_builder out;
    nl_builder_init(&out, NL_TEXT_BYTES_MAX);
    for (uint32_t r = 0; r < u->row_count; r++) {
        const nl_type *type = u->cells[r * u->value_count + v]->type;
        bool is_told = false;
        for (uint32_t i = 0; i < r; i++) is_told = is_told || nl_type_equal(u->cells[i * u->value_count + v]->type, type);
        if (is_told) continue;
        nl_append_f(&out, "%s" NL_STR_FMT " (", r ? ", " : "", NL_STR_ARG(nl_quote_type(u->arena, type)));
        for (uint32_t i = r; i < u->row_count; i++) {
            const nl_expr *cell = u->cells[i * u->value_count + v];
            if (!nl_type_equal(cell->type, type)) continue;
            nl_append_f(&out, "%s" NL_STR_FMT, i > r ? ", " : "", NL_STR_ARG(nl_quote_name(u->arena, nl_expr_pretty_str(u->arena, cell))));
        }
        nl_append_char(&out, ')');
    }
    const nl_str text = nl_arena_str(u->arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

static nl_status value_type(unpivoting *u, uint32_t v, const nl_type **type)
{
    *type = u->cells[v]->type;
    for (uint32_t r = 1; r < u->row_count; r++) {
        *type = nl_common_type_plain(&u->scope, *type, u->cells[r * u->value_count + v]->type);
        if (!*type) return NL_RAISE(UNPIVOT_VALUE_DATA_TYPE_MISMATCH, NL_P_STR("types", types_text(u, v)));
    }
    return NULL;
}

static bool is_cell(const unpivoting *u, nl_column_id id)
{
    for (uint32_t i = 0; i < u->row_count * u->value_count; i++)
        if (u->cells[i]->kind == NL_EXPR_COLUMN && u->cells[i]->column == id) return true;
    return false;
}

/* Every row of the input with each of the numbers 0 … n - 1 behind it, in that order. */
static nl_status with_numbers(unpivoting *u, const nl_logical **plan, const nl_expr **number)
{
    nl_value *items = NL_NEW_ARRAY(u->arena, nl_value, u->row_count + 1);
    for (uint32_t r = 0; r < u->row_count; r++) items[r] = nl_value_int(nl_type_bigint(), r);
    nl_value list = {.type = nl_type_array(u->arena, nl_type_bigint(), false)};
    list.list.items = items;
    list.list.count = u->row_count;
    const nl_expr *argument = nl_expr_literal(u->arena, &list);
    nl_select_generator *generator = NL_NEW(u->arena, nl_select_generator);
    NL_TRY(nl_make_generator(&u->scope, NL_STR("explode"), &argument, 1, generator));
    *plan = nl_generator_plan(u->arena, generator, u->input);
    *number = nl_column_ref(u->arena, &generator->columns[0]);
    return NULL;
}

/* CASE n WHEN 0 THEN choices[0] WHEN 1 … END */
static nl_status choose(unpivoting *u, const nl_expr *number, const nl_expr *const *choices, const nl_expr **result)
{
    const nl_expr **parts = NL_NEW_ARRAY(u->arena, const nl_expr *, 2 * u->row_count + 1);
    bool is_nullable = false;
    for (uint32_t r = 0; r < u->row_count; r++) {
        const nl_value place = nl_value_int(nl_type_bigint(), r);
        const nl_expr *const sides[] = {number, nl_expr_literal(u->arena, &place)};
        NL_TRY(nl_call_function(&u->scope, NL_STR("="), sides, 2, &parts[2 * r]));
        parts[2 * r + 1] = choices[r];
        is_nullable = is_nullable || choices[r]->is_nullable;
    }
    nl_expr *expr = nl_expr_new(u->arena, NL_EXPR_CASE, choices[0]->type, parts, 2 * u->row_count);
    expr->is_nullable = is_nullable;
    *result = expr;
    return NULL;
}

static nl_status add_chosen(unpivoting *u, nl_items *items, nl_str name, const nl_expr *number, const nl_expr *const *choices)
{
    nl_item item = {.name = name, .id = nl_plan_new_id(u->env->context)};
    NL_TRY(choose(u, number, choices, &item.expr));
    nl_items_add(u->arena, items, item);
    return NULL;
}

/* items: the columns that stay. */
static nl_status unpivot_beside(unpivoting *u, nl_items *items, const nl_logical **plan)
{
    const nl_logical *joined = NULL;
    const nl_expr *number = NULL;
    NL_TRY(with_numbers(u, &joined, &number));
    const nl_expr **choices = NL_NEW_ARRAY(u->arena, const nl_expr *, u->row_count + 1);
    for (uint32_t r = 0; r < u->row_count; r++) {
        const nl_value name = nl_value_string(u->names[r]);
        choices[r] = nl_expr_literal(u->arena, &name);
    }
    NL_TRY(add_chosen(u, items, u->name, number, choices));
    nl_list not_null = {0};
    for (uint32_t v = 0; v < u->value_count; v++) {
        const nl_type *type = NULL;
        NL_TRY(value_type(u, v, &type));
        for (uint32_t r = 0; r < u->row_count; r++)
            choices[r] = nl_expr_cast(u->arena, u->cells[r * u->value_count + v], type, nl_scope_cast_mode(&u->scope));
        NL_TRY(add_chosen(u, items, u->value_names[v], number, choices));
        nl_list_add(u->arena, &not_null, NL_UNCONST(items->list[items->count - 1].expr));
    }
    const nl_column *columns = nl_items_columns(u->arena, items);
    const nl_expr **exprs = NL_NEW_ARRAY(u->arena, const nl_expr *, items->count + 1);
    for (uint32_t i = 0; i < items->count; i++) exprs[i] = items->list[i].expr;
    *plan = nl_logical_project(u->arena, joined, columns, exprs, items->count);
    if (u->is_including_nulls) return NULL;
    const nl_expr *keeps = NULL;
    for (uint32_t v = 0; v < u->value_count; v++)
        keeps = nl_expr_or(u->arena, keeps, nl_expr_is_null(u->arena, nl_column_ref(u->arena, &columns[items->count - u->value_count + v]), true));
    *plan = nl_logical_filter(u->arena, *plan, keeps);
    return NULL;
}

static nl_status unpivot(unpivoting *u, const nl_ast_relation *relation, const nl_logical **plan)
{
    nl_items items = {0};
    nl_str *value_names = NL_NEW_ARRAY(u->arena, nl_str, relation->unpivot.values.count + 1);
    NL_TRY(resolve_cells(u, relation));
    for (uint32_t v = 0; v < u->value_count; v++) value_names[v] = relation->unpivot.values.items[v].text;
    u->value_names = value_names;
    u->name = relation->unpivot.name.text;
    u->is_including_nulls = relation->unpivot.is_including_nulls;
    for (uint32_t i = 0; i < u->input->column_count; i++) {
        const nl_column *column = &u->input->columns[i];
        if (column->is_hidden || is_cell(u, column->id)) continue;
        nl_items_add(u->arena, &items, (nl_item){.expr = nl_column_ref(u->arena, column), .name = column->name, .id = column->id, .is_plain = true,
                                                 .qualifier = column->qualifier, .qualifier_count = column->qualifier_count});
    }
    return unpivot_beside(u, &items, plan);
}

nl_status nl_analyze_unpivot(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan)
{
    unpivoting u = {.env = env, .arena = env->context->arena};
    NL_TRY(nl_analyze_relation(env, outer, relation->unpivot.input, &u.input));
    nl_scope_over(&u.scope, env, outer, u.input, NL_CLAUSE_OTHER);
    return nl_sql_at(unpivot(&u, relation, plan), env->text, relation->range, false);
}

/* ---- df.unpivot(ids, values, …): all columns that are no ids where no values are given; nulls stay ---- */

static nl_status dataframe_cells(nl_dataframe_step *step, unpivoting *u, const nl_items *ids)
{
    const nl_ast_dataframe *dataframe = step->dataframe;
    nl_items values = {0};
    nl_list generators = {0};
    if (dataframe->has_values) NL_TRY(nl_resolve_items(&u->scope, &dataframe->values, &values, &generators));
    for (uint32_t i = 0; !dataframe->has_values && i < u->input->column_count; i++) {
        const nl_column *column = &u->input->columns[i];
        bool is_id = column->is_hidden;
        for (uint32_t k = 0; k < ids->count; k++) is_id = is_id || ids->list[k].id == column->id;
        if (!is_id) nl_items_add(u->arena, &values, (nl_item){.expr = nl_column_ref(u->arena, column), .name = column->name, .id = column->id});
    }
    if (values.count == 0) return NL_RAISE(UNPIVOT_REQUIRES_VALUE_COLUMNS);
    u->row_count = values.count;
    u->value_count = 1;
    u->cells = NL_NEW_ARRAY(u->arena, const nl_expr *, values.count + 1);
    u->names = NL_NEW_ARRAY(u->arena, nl_str, values.count + 1);
    for (uint32_t i = 0; i < values.count; i++) {
        u->cells[i] = values.list[i].expr;
        u->names[i] = values.list[i].name;
    }
    return NULL;
}

nl_status nl_dataframe_unpivot(nl_dataframe_step *step, const nl_logical **plan)
{
    unpivoting u = {.env = step->env, .arena = step->arena, .input = step->input, .is_including_nulls = true};
    nl_items ids = {0};
    nl_list generators = {0};
    nl_scope_over(&u.scope, step->env, step->outer, u.input, NL_CLAUSE_OTHER);
    NL_TRY(nl_resolve_items(&u.scope, &step->dataframe->group, &ids, &generators));
    NL_TRY(dataframe_cells(step, &u, &ids));
    u.name = step->dataframe->names[0];
    u.value_names = &step->dataframe->names[1];
    return unpivot_beside(&u, &ids, plan);
}
