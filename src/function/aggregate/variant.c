/* aggregate/variant.c - schema_of_variant_agg: one type that all variants of a group have. */
#include "function/aggregate/state.h"
#include "function/groups.h"
#include "function/variant_schema.h"
#include "function/variant_value.h"

typedef struct schema_state {
    nl_arena *arena; /* of type; NULL: nothing seen */
    const nl_type *type;
} schema_state;
NL_AGGREGATE_SIZE(schema, schema_state)

enum { SCRATCH_BYTES_MAX = 1 << 16 }; /* then the arena of inferred types starts anew */

/* A type of the scratch arena joins the state, which takes a copy only when it changes. */
static void add_type(schema_state *s, nl_memory *memory, nl_arena *scratch, const nl_type *type)
{
    const nl_type *merged = s->type ? nl_variant_schema_merge(scratch, s->type, type) : type;
    if (s->type && nl_type_equal(s->type, merged)) return;
    nl_arena *arena = nl_arena_new(memory);
    s->type = nl_type_copy(arena, merged);
    nl_arena_free(s->arena);
    s->arena = arena;
}

/* states: one per selected row, or NULL: all go to `one`. */
static nl_status add_rows(nl_eval *eval, const nl_vector *variants, nl_selection selection, void *const *states, void *one)
{
    nl_variant_reader reader = {0};
    nl_arena *scratch = NULL;
    nl_status status = NULL;
    NL_GO(nl_variant_reader_open(&reader, variants, eval->memory));
    for (uint32_t i = 0; i < selection.count; i++) {
        const uint32_t row = nl_selection_row(selection, i);
        schema_state *s = states ? states[i] : one;
        nl_variant variant;
        const nl_type *type = NULL;
        if (nl_vector_is_null(variants, row)) continue;
        if (!scratch || nl_arena_used(scratch) > SCRATCH_BYTES_MAX) {
            nl_arena_free(scratch);
            scratch = nl_arena_new(eval->memory);
        }
        NL_GO(nl_variant_reader_at(&reader, row, &variant));
        NL_GO(nl_variant_schema(scratch, &variant, &type));
        add_type(s, eval->memory, scratch, type);
        NL_GO(nl_arena_check(s->arena));
    }
done:
    nl_arena_free(scratch);
    nl_variant_reader_close(&reader);
    return status;
}

static nl_status schema_update(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection,
                               void *const *states)
{
    (void)function;
    return add_rows(eval, &args[0], selection, states, NULL);
}

static nl_status schema_update_one(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection,
                                   void *state)
{
    (void)function;
    return add_rows(eval, &args[0], selection, NULL, state);
}

static nl_status schema_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    (void)function;
    const schema_state *s = state;
    nl_builder text;
    if (s->type == NULL) return NULL;
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    nl_variant_schema_encode(s->type, &text);
    nl_status status = nl_agg_bytes_append(bytes, eval->memory, text.data, text.length);
    nl_builder_fini(&text);
    return status;
}

static nl_status schema_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    (void)function;
    if (partial.length == 0) return NULL;
    nl_arena *scratch = nl_arena_new(eval->memory);
    const nl_type *type = nl_variant_schema_decode(scratch, &partial);
    if (type) add_type(state, eval->memory, scratch, type);
    nl_arena_free(scratch);
    return type ? NULL : NL_RAISE(INTERNAL_ERROR, NL_P("message", "a partial schema of wrong bytes"));
}
NL_ENCODED_PARTIALS(schema, schema_encode, schema_merge_one)

static nl_status schema_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)function;
    (void)eval;
    const schema_state *s = state;
    nl_builder text;
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    nl_variant_schema_append_sql(s->type ? s->type : nl_type_of(NL_TYPE_NULL), &text);
    nl_status status = nl_column_builder_str(builder, nl_builder_str(&text));
    nl_builder_fini(&text);
    return status;
}
NL_BUILT_RESULT(schema, schema_result)

static void schema_destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    (void)function;
    (void)eval;
    nl_arena_free(((schema_state *)state)->arena);
}
NL_ENCODED_OPS(schema);

static nl_status bind_schema(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    if (bind->argument_types[0]->id == NL_TYPE_NULL) bind->argument_types[0] = nl_type_of(NL_TYPE_VARIANT);
    return bind->argument_types[0]->id == NL_TYPE_VARIANT ? NULL : nl_bind_unexpected_type(bind, 0, "\"VARIANT\"");
}

static const nl_function_row rows[] = {
    {.name = "schema_of_variant_agg", NL_AGGREGATE_ROW, .signature = "(any) -> string", .keeps_non_null = true, .can_fail = true, .bind = bind_schema,
     .aggregate = &schema_ops, .since = "4.0.0", .doc = "One type for what all the variants hold.",
     .examples = {{"schema_of_variant_agg(parse_json(j)) FROM VALUES ('{\"a\": 1}'), ('{\"b\": true}'), ('{\"c\": 1.23}') AS tab(j)",
                   "OBJECT<a: BIGINT, b: BOOLEAN, c: DECIMAL(3,2)>"}}},
};

NL_DEFINE_FUNCTION_GROUP(variant_schema, rows);
