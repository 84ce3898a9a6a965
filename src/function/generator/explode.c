/* generator/explode.c - explode, posexplode, inline, stack and their _outer forms (the outer side is the caller's). */
#include "function/generator/generated.h"
#include "function/groups.h"
#include "function/list.h"

#define COLUMNS_MAX 64u

/* [pos,] then the element, or key and value. */
static nl_status explode_row(const nl_bound_function *function, const nl_vector *arg, uint32_t row, bool is_null_row,
                             nl_column_builder **builders)
{
    uint32_t columns = function->result_type->child_count;
    if (is_null_row) {
        for (uint32_t c = 0; c < columns; c++) NL_TRY(nl_column_builder_null(builders[c]));
        return NULL;
    }
    if (nl_vector_is_null(arg, row)) return NULL;
    bool has_position = function->row->name[0] == 'p';
    nl_list_view list = nl_list_of(arg, row);
    for (uint32_t e = 0; e < list.length; e++) {
        if (has_position) NL_TRY(nl_column_builder_i64(builders[0], e));
        for (uint32_t c = has_position; c < columns; c++)
            NL_TRY(nl_column_builder_row(builders[c], nl_list_child(arg, c - has_position), list.offset + e));
    }
    return NULL;
}

static nl_status explode_generate(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection,
                                  bool is_outer, nl_buffer **parent_rows, uint32_t *row_count, nl_vector *columns)
{
    nl_column_builder *builders[3] = {NULL};
    nl_generated g = {.eval = eval};
    nl_status status = NULL;
    uint32_t column_count = function->result_type->child_count;
    NL_GO(nl_generated_open_columns(function->result_type, eval->memory, builders));
    NL_EACH_SELECTED(row)
    {
        bool is_null_row = false;
        uint32_t count = nl_vector_is_null(&args[0], row) ? 0 : nl_list_of(&args[0], row).length;
        NL_GO(nl_generated_add(&g, row, count, is_outer, &is_null_row));
        NL_GO(explode_row(function, &args[0], row, is_null_row, builders));
    }
    status = nl_generated_finish(&g, builders, column_count, parent_rows, row_count, columns);
done:
    nl_generated_free_columns(builders, 3);
    nl_buffer_release(g.parents);
    return status;
}
static const nl_generator_ops explode_ops = {.generate = explode_generate};

static nl_status bind_explode(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_types[0];
    nl_field fields[3] = {{.name = NL_STR("pos"), .type = nl_type_int()}};
    uint32_t count = bind->row->name[0] == 'p';
    if (type->id != NL_TYPE_ARRAY && type->id != NL_TYPE_MAP) return nl_bind_unexpected_type(bind, 0, "(\"ARRAY\" or \"MAP\")");
    if (type->id == NL_TYPE_ARRAY) {
        fields[count++] = (nl_field){.name = NL_STR("col"), .type = type->children[0].type, .is_nullable = type->contains_null};
    } else {
        fields[count++] = (nl_field){.name = NL_STR("key"), .type = type->children[0].type};
        fields[count++] = (nl_field){.name = NL_STR("value"), .type = type->children[1].type, .is_nullable = type->contains_null};
    }
    bound->result_type = nl_type_struct(bind->arena, fields, count);
    return NULL;
}

/* --- inline: an array of structs as rows; a null struct is a row of nulls --- */

static nl_status inline_generate(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection,
                                 bool is_outer, nl_buffer **parent_rows, uint32_t *row_count, nl_vector *columns)
{
    nl_column_builder *builders[COLUMNS_MAX] = {NULL};
    nl_generated g = {.eval = eval};
    nl_status status = NULL;
    nl_vector structs = {0};
    uint32_t column_count = function->result_type->child_count;
    NL_GO(nl_generated_open_columns(function->result_type, eval->memory, builders));
    NL_GO(nl_vector_flatten(nl_list_child(&args[0], 0), false, eval->memory, &structs));
    NL_EACH_SELECTED(row)
    {
        bool is_null_row = false;
        nl_list_view list = nl_vector_is_null(&args[0], row) ? (nl_list_view){0, 0} : nl_list_of(&args[0], row);
        NL_GO(nl_generated_add(&g, row, list.length, is_outer, &is_null_row));
        for (uint32_t c = 0; is_null_row && c < column_count; c++) NL_GO(nl_column_builder_null(builders[c]));
        for (uint32_t e = list.offset; e < list.offset + list.length; e++)
            for (uint32_t c = 0; c < column_count; c++)
                NL_GO(nl_vector_is_null(&structs, e) ? nl_column_builder_null(builders[c]) : nl_column_builder_row(builders[c], &structs.children[c], e));
    }
    status = nl_generated_finish(&g, builders, column_count, parent_rows, row_count, columns);
done:
    nl_generated_free_columns(builders, COLUMNS_MAX);
    nl_vector_fini(&structs);
    nl_buffer_release(g.parents);
    return status;
}
static const nl_generator_ops inline_ops = {.generate = inline_generate};

static nl_status too_many_columns(const nl_bind *bind)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, NL_STR_FMT " with more than %u columns is not supported.", NL_STR_ARG(bind->name), COLUMNS_MAX);
}

static nl_status bind_inline(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_types[0];
    if (type->id == NL_TYPE_ARRAY) type = type->children[0].type;
    if (bind->argument_types[0]->id != NL_TYPE_ARRAY || type->id != NL_TYPE_STRUCT) return nl_bind_unexpected_type(bind, 0, "\"ARRAY<STRUCT>\"");
    if (type->child_count > COLUMNS_MAX) return too_many_columns(bind);
    nl_field *fields = NL_NEW_ARRAY(bind->arena, nl_field, NL_MAX(type->child_count, 1u));
    for (uint32_t i = 0; i < type->child_count; i++) {
        fields[i] = type->children[i];
        fields[i].is_nullable |= bind->argument_types[0]->contains_null;
    }
    bound->result_type = nl_type_struct(bind->arena, fields, type->child_count);
    return NULL;
}

/* --- stack(n, values…): n rows of the values in order, nulls at the end --- */

static nl_status stack_generate(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection,
                                bool is_outer, nl_buffer **parent_rows, uint32_t *row_count, nl_vector *columns)
{
    (void)is_outer;
    const uint32_t *rows_per_input = function->state;
    nl_column_builder *builders[COLUMNS_MAX] = {NULL};
    nl_generated g = {.eval = eval};
    nl_status status = NULL;
    uint32_t column_count = function->result_type->child_count;
    NL_GO(nl_generated_open_columns(function->result_type, eval->memory, builders));
    NL_EACH_SELECTED(row)
    {
        bool is_null_row = false;
        NL_GO(nl_generated_add(&g, row, *rows_per_input, false, &is_null_row));
        for (uint32_t r = 0; r < *rows_per_input; r++)
            for (uint32_t c = 0; c < column_count; c++) {
                uint32_t i = 1 + r * column_count + c;
                NL_GO(i < function->argument_count ? nl_column_builder_row(builders[c], &args[i], row) : nl_column_builder_null(builders[c]));
            }
    }
    status = nl_generated_finish(&g, builders, column_count, parent_rows, row_count, columns);
done:
    nl_generated_free_columns(builders, COLUMNS_MAX);
    nl_buffer_release(g.parents);
    return status;
}
static const nl_generator_ops stack_ops = {.generate = stack_generate};

static nl_status bind_stack(nl_bind *bind, nl_bound_function *bound)
{
    const nl_value *count = bind->constants[0];
    if (bind->given_types[0]->id == NL_TYPE_NULL) {
        bind->argument_types[0] = bind->given_types[0];
        return nl_bind_unexpected_type(bind, 0, "\"INT\"");
    }
    if (count == NULL) return nl_bind_not_foldable(bind, 0, "`n`");
    if (count->is_null || count->integer < 1)
        return NL_RAISE(DATATYPE_MISMATCH__VALUE_OUT_OF_RANGE, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                        NL_P("exprName", "n"), NL_P("valueRange", "(0, 2147483647]"), NL_P_STR("currentValue", nl_bind_argument_sql(bind, 0)));
    uint32_t *rows = NL_NEW(bind->arena, uint32_t);
    *rows = (uint32_t)count->integer;
    uint32_t columns = (bind->argument_count - 1 + *rows - 1) / *rows;
    if (columns > COLUMNS_MAX) return too_many_columns(bind);
    nl_field fields[COLUMNS_MAX] = {{{0}}};
    for (uint32_t c = 0; c < columns; c++) {
        fields[c] = (nl_field){.name = nl_arena_f(bind->arena, "col%u", c), .type = nl_type_of(NL_TYPE_NULL), .is_nullable = true};
        uint32_t first = 0;
        for (uint32_t i = 1 + c; i < bind->argument_count; i += columns) {
            const nl_type *type = bind->argument_types[i];
            if (type->id == NL_TYPE_NULL) continue;
            if (fields[c].type->id == NL_TYPE_NULL) {
                fields[c].type = type;
                first = i;
            } else if (!nl_type_equal(fields[c].type, type)) {
                return NL_RAISE(DATATYPE_MISMATCH__STACK_COLUMN_DIFF_TYPES, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                                NL_P_INT("columnIndex", c), NL_P_STR("leftType", nl_quoted_type(bind->arena, fields[c].type)),
                                NL_P_INT("leftParamIndex", first), NL_P_STR("rightType", nl_quoted_type(bind->arena, type)), NL_P_INT("rightParamIndex", i));
            }
        }
        for (uint32_t i = 1 + c; i < bind->argument_count; i += columns) bind->argument_types[i] = fields[c].type;
    }
    bound->state = rows;
    bound->result_type = nl_type_struct(bind->arena, fields, columns);
    return NULL;
}

#define GENERATOR .kind = NL_FUNCTION_GENERATOR, .group = "generator", .nulls = NL_NULL_SEEN

static const nl_function_row rows[] = {
    {.name = "explode", .aliases = "explode_outer", GENERATOR, .signature = "(any) -> ?", .bind = bind_explode, .generator = &explode_ops, .since = "1.0.0",
     .doc = "A row for each element of an array or entry of a map.", .examples = {{"explode(array(10, 20)) LIMIT 1", "10"}}},
    {.name = "posexplode", .aliases = "posexplode_outer", GENERATOR, .signature = "(any) -> ?", .bind = bind_explode, .generator = &explode_ops, .since = "2.0.0",
     .doc = "As explode, with the place from 0.", .examples = {{"posexplode(array(10, 20)) LIMIT 1", "0\t10"}}},
    {.name = "inline", .aliases = "inline_outer", GENERATOR, .signature = "(any) -> ?", .bind = bind_inline, .generator = &inline_ops, .since = "2.0.0",
     .doc = "A row for each struct of an array.", .examples = {{"inline(array(struct(1, 'a'))) LIMIT 1", "1\ta"}}},
    {.name = "stack", GENERATOR, .signature = "(int, any...) -> ?", .bind = bind_stack, .generator = &stack_ops, .since = "2.0.0",
     .doc = "The values as n rows.", .examples = {{"stack(2, 1, 2, 3) LIMIT 1", "1\t2"}}},
};

NL_DEFINE_FUNCTION_GROUP(generators, rows);
