/* generator/variant.c - variant_explode and variant_explode_outer: a row for each field of an object or element of an array. */
#include "function/generator/generated.h"
#include "function/groups.h"
#include "function/variant_value.h"

enum { POSITION, KEY, VALUE, COLUMNS };

static nl_status explode_part(const nl_variant *variant, uint32_t i, nl_variant_builder *made, nl_column_builder **builders)
{
    nl_variant part;
    nl_str name = {NULL, 0};
    if (variant->kind == NL_VARIANT_OBJECT)
        NL_TRY(nl_variant_field(variant, i, &name, &part));
    else
        NL_TRY(nl_variant_element(variant, i, &part));
    NL_TRY(nl_column_builder_i64(builders[POSITION], i));
    NL_TRY(variant->kind == NL_VARIANT_OBJECT ? nl_column_builder_str(builders[KEY], name) : nl_column_builder_null(builders[KEY]));
    NL_TRY(nl_variant_append_copy(made, &part));
    return nl_variant_end_row(made, "variant_explode", builders[VALUE]);
}

static nl_status variant_generate(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection,
                                  bool is_outer, nl_buffer **parent_rows, uint32_t *row_count, nl_vector *columns)
{
    nl_column_builder *builders[COLUMNS] = {NULL};
    nl_generated g = {.eval = eval};
    nl_variant_reader reader = {0};
    nl_variant_builder made;
    nl_status status = NULL;
    nl_variant_builder_init(&made);
    NL_GO(nl_generated_open_columns(function->result_type, eval->memory, builders));
    NL_GO(nl_variant_reader_open(&reader, &args[0], eval->memory));
    NL_EACH_SELECTED(row)
    {
        bool is_null_row = false;
        nl_variant variant = {0};
        if (!nl_vector_is_null(&args[0], row)) NL_GO(nl_variant_reader_at(&reader, row, &variant));
        const bool has_parts = variant.kind == NL_VARIANT_OBJECT || variant.kind == NL_VARIANT_ARRAY;
        NL_GO(nl_generated_add(&g, row, has_parts ? variant.count : 0, is_outer, &is_null_row));
        for (uint32_t c = 0; is_null_row && c < COLUMNS; c++) NL_GO(nl_column_builder_null(builders[c]));
        for (uint32_t i = 0; has_parts && i < variant.count; i++) NL_GO(explode_part(&variant, i, &made, builders));
    }
    status = nl_generated_finish(&g, builders, COLUMNS, parent_rows, row_count, columns);
done:
    nl_variant_builder_fini(&made);
    nl_variant_reader_close(&reader);
    nl_generated_free_columns(builders, COLUMNS);
    nl_buffer_release(g.parents);
    return status;
}
static const nl_generator_ops variant_ops = {.generate = variant_generate};

static nl_status bind_variant(nl_bind *bind, nl_bound_function *bound)
{
    const nl_field fields[COLUMNS] = {{.name = NL_STR("pos"), .type = nl_type_int()},
                                      {.name = NL_STR("key"), .type = nl_type_string(), .is_nullable = true},
                                      {.name = NL_STR("value"), .type = nl_type_of(NL_TYPE_VARIANT)}};
    if (bind->argument_types[0]->id == NL_TYPE_NULL) bind->argument_types[0] = nl_type_of(NL_TYPE_VARIANT);
    if (bind->argument_types[0]->id != NL_TYPE_VARIANT) return nl_bind_unexpected_type(bind, 0, "\"VARIANT\"");
    bound->result_type = nl_type_struct(bind->arena, fields, COLUMNS);
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "variant_explode", .aliases = "variant_explode_outer", .kind = NL_FUNCTION_GENERATOR, .group = "variant", .nulls = NL_NULL_SEEN, .can_fail = true,
     .signature = "(any) -> ?", .bind = bind_variant, .generator = &variant_ops, .since = "4.0.0",
     .doc = "A row for each field of an object or element of an array in a variant; only in FROM.",
     .examples = {{"* FROM variant_explode(parse_json('[\"hello\"]'))", "0\tNULL\t\"hello\""}}},
};

NL_DEFINE_FUNCTION_GROUP(variant_generators, rows);
