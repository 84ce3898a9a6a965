/* exec/sink/sort_plan.c - see sort_plan.h. */
#include "exec/sink/sort_plan.h"

typedef struct transform_state {
    nl_transform transform;
    const nl_ice_type *source;
} transform_state;

static nl_status run_transform(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_lambda *const *lambdas, nl_selection selection,
                               uint32_t length, nl_vector *out)
{
    const transform_state *state = function->state;
    (void)lambdas, (void)selection, (void)length;
    return nl_transform_vector(&state->transform, state->source, &args[0], eval->memory, out);
}

static const nl_function_row transform_row = {
    .name = "iceberg_transform",
    .kind = NL_FUNCTION_SCALAR,
    .group = "misc",
    .since = "4.0.0",
    .doc = "An Iceberg partition transform of a column.",
    .signature = "(any) -> ?",
    .nulls = NL_NULL_SEEN,
    .is_internal = true,
    .kernel = run_transform,
};

const nl_expr *nl_transform_expr(nl_arena *arena, const nl_transform *transform, const nl_ice_type *source, const nl_expr *column)
{
    if (transform->kind == NL_TRANSFORM_IDENTITY) return column;
    transform_state *state = NL_NEW(arena, transform_state);
    nl_bound_function *bound = NL_NEW(arena, nl_bound_function);
    const nl_type **types = NL_NEW(arena, const nl_type *);
    *state = (transform_state){*transform, source};
    types[0] = column->type;
    *bound = (nl_bound_function){
        .row = &transform_row,
        .result_type = nl_ice_type_storage(arena, nl_transform_result_type(transform, source)),
        .is_nullable = true,
        .argument_count = 1,
        .argument_types = types,
        .kernel = run_transform,
        .state = state,
        .is_deterministic = true,
    };
    return nl_expr_call(arena, bound, &column, 1);
}

/* A column of the input by field id, through structs. */
static const nl_expr *column_expr(nl_arena *arena, const nl_schema *schema, int32_t field_id, const nl_logical *input)
{
    const nl_schema_column *column = nl_schema_find_id(schema, field_id);
    if (!column) return NULL;
    if (column->parent_id == 0) {
        const nl_column *output = &input->columns[column->position];
        return nl_expr_column(arena, output->id, output->name, output->type, output->is_nullable);
    }
    const nl_expr *parent = column_expr(arena, schema, column->parent_id, input);
    if (!parent || parent->type->id != NL_TYPE_STRUCT) return NULL;
    nl_expr *field = NL_NEW(arena, nl_expr);
    const nl_expr **children = NL_NEW(arena, const nl_expr *);
    children[0] = parent;
    *field = (nl_expr){.kind = NL_EXPR_FIELD, .type = parent->type->children[column->position].type, .is_nullable = true, .child_count = 1, .children = children};
    field->ordinal = column->position;
    return field;
}

nl_status nl_sort_by_order(nl_arena *arena, const nl_schema *schema, const nl_sort_order *order, const nl_logical *input, const nl_logical **plan)
{
    nl_sort_key *keys = NL_NEW_ARRAY(arena, nl_sort_key, order->field_count);
    for (uint32_t i = 0; i < order->field_count; i++) {
        const nl_sort_field *field = &order->fields[i];
        const nl_schema_column *source = nl_schema_find_id(schema, field->source_id);
        const nl_expr *column = column_expr(arena, schema, field->source_id, input);
        if (!column) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find source column for sort field: %d", field->source_id);
        keys[i] = (nl_sort_key){
            .expr = nl_transform_expr(arena, &field->transform, source->field->type, column),
            .is_descending = field->is_descending,
            .nulls_first = !field->nulls_last,
        };
    }
    nl_logical *sort = nl_logical_new(arena, NL_PLAN_SORT, &input, 1);
    sort->columns = input->columns;
    sort->column_count = input->column_count;
    sort->sort.keys = keys;
    sort->sort.key_count = order->field_count;
    sort->sort.is_global = true;
    *plan = sort;
    return NULL;
}
