/* command/call/sort_text.c - see sort_text.h. The text is parsed as the ORDER BY of a query, so that every form of it
 * that SQL knows is known here. Z-order: numbers as order-preserving bytes, text by its first eight. */
#include "command/call/sort_text.h"

#include <stdlib.h>

typedef struct zorder_state {
    uint32_t column_count;
} zorder_state;

#define ZORDER_BYTES 8u

static void image_of(const nl_vector *column, const nl_reader *reader, uint32_t row, uint8_t *image)
{
    memset(image, 0, ZORDER_BYTES);
    if (nl_reader_is_null(reader, row)) return;
    const uint32_t at = nl_reader_index(reader, row);
    uint64_t bits = 0;
    switch (column->type->physical) {
    case NL_PHYS_BOOL: bits = (uint64_t)((const uint8_t *)reader->values)[at] << 63; break;
    case NL_PHYS_I8: bits = (uint64_t)((const int8_t *)reader->values)[at] ^ 1ull << 63; break;
    case NL_PHYS_I16: bits = (uint64_t)((const int16_t *)reader->values)[at] ^ 1ull << 63; break;
    case NL_PHYS_I32: bits = (uint64_t)((const int32_t *)reader->values)[at] ^ 1ull << 63; break;
    case NL_PHYS_I64: bits = (uint64_t)((const int64_t *)reader->values)[at] ^ 1ull << 63; break;
    case NL_PHYS_I128: bits = (uint64_t)(int64_t)(((const nl_int128 *)reader->values)[at] >> 64) ^ 1ull << 63; break;
    case NL_PHYS_F32:
    case NL_PHYS_F64: { /* IEEE order: flip the sign of positives, all bits of negatives */
        const double value = column->type->physical == NL_PHYS_F32 ? (double)((const float *)reader->values)[at] : ((const double *)reader->values)[at];
        memcpy(&bits, &value, sizeof bits);
        bits = bits >> 63 ? ~bits : bits | 1ull << 63;
        break;
    }
    case NL_PHYS_STRING: {
        const nl_str text = nl_view_str(&((const nl_string_view *)reader->values)[at]);
        if (text.length) memcpy(image, text.data, NL_MIN(text.length, (size_t)ZORDER_BYTES));
        return;
    }
    case NL_PHYS_NONE:
    case NL_PHYS_INTERVAL:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT: return;
    }
    for (uint32_t i = 0; i < ZORDER_BYTES; i++)
        image[i] = (uint8_t)(bits >> (56 - 8 * i));
}

/* Bit by bit, most significant first, one column after the other. */
static void interleave(const uint8_t *images, uint32_t column_count, uint8_t *out)
{
    uint32_t position = 0;
    memset(out, 0, (size_t)column_count * ZORDER_BYTES);
    for (uint32_t bit = 0; bit < ZORDER_BYTES * 8; bit++)
        for (uint32_t c = 0; c < column_count; c++, position++) {
            const uint8_t set = (uint8_t)(images[c * ZORDER_BYTES + bit / 8] >> (7 - bit % 8) & 1);
            out[position / 8] = (uint8_t)(out[position / 8] | set << (7 - position % 8));
        }
}

static nl_status run_zorder(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_lambda *const *lambdas, nl_selection selection,
                            uint32_t length, nl_vector *out)
{
    enum { COLUMNS_MAX = 32 };
    const uint32_t count = ((const zorder_state *)function->state)->column_count;
    uint8_t images[COLUMNS_MAX * ZORDER_BYTES], key[COLUMNS_MAX * ZORDER_BYTES];
    nl_reader readers[COLUMNS_MAX];
    nl_heap *heap = NULL;
    (void)lambdas;
    NL_CHECK(count <= COLUMNS_MAX);
    NL_TRY(nl_vector_new_flat(out, nl_type_binary(), length, eval->memory));
    NL_TRY(nl_vector_make_heap(out, eval->memory, &heap));
    nl_string_view *views = nl_vector_values(out);
    for (uint32_t c = 0; c < count; c++)
        nl_reader_init(&readers[c], &args[c]);
    for (uint32_t i = 0; i < selection.count; i++) {
        const uint32_t row = nl_selection_row(selection, i);
        for (uint32_t c = 0; c < count; c++)
            image_of(&args[c], &readers[c], row, images + c * ZORDER_BYTES);
        interleave(images, count, key);
        NL_TRY(nl_heap_add(heap, (nl_str){(const char *)key, (size_t)count * ZORDER_BYTES}, &views[row]));
    }
    return NULL;
}

static const nl_function_row zorder_row = {
    .name = "iceberg_zorder",
    .kind = NL_FUNCTION_SCALAR,
    .group = "misc",
    .since = "4.0.0",
    .doc = "The interleaved bits of its arguments.",
    .signature = "(any...) -> binary",
    .nulls = NL_NULL_SEEN,
    .is_internal = true,
    .kernel = run_zorder,
};

nl_status nl_sort_by_zorder(nl_command *command, const nl_schema *schema, const nl_list *field_ids, const nl_logical *input, const nl_logical **plan)
{
    nl_arena *arena = command->arena;
    zorder_state *state = NL_NEW(arena, zorder_state);
    nl_bound_function *bound = NL_NEW(arena, nl_bound_function);
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, field_ids->count);
    const nl_expr **arguments = NL_NEW_ARRAY(arena, const nl_expr *, field_ids->count);
    for (uint32_t i = 0; i < field_ids->count; i++) {
        const nl_schema_column *column = nl_schema_find_id(schema, (int32_t)(uintptr_t)field_ids->items[i]);
        if (!column || column->parent_id != 0) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "zorder takes top-level columns only");
        const nl_column *source = &input->columns[column->position];
        arguments[i] = nl_expr_column(arena, source->id, source->name, source->type, source->is_nullable);
        types[i] = source->type;
    }
    state->column_count = field_ids->count;
    *bound = (nl_bound_function){.row = &zorder_row, .result_type = nl_type_binary(), .argument_count = field_ids->count, .argument_types = types,
                                 .kernel = run_zorder, .state = state, .is_deterministic = true};
    nl_sort_key *key = NL_NEW(arena, nl_sort_key);
    *key = (nl_sort_key){.expr = nl_expr_call(arena, bound, arguments, field_ids->count), .nulls_first = true};
    nl_logical *sort = nl_logical_new(arena, NL_PLAN_SORT, &input, 1);
    sort->columns = input->columns;
    sort->column_count = input->column_count;
    sort->sort.keys = key;
    sort->sort.key_count = 1;
    sort->sort.is_global = true;
    *plan = sort;
    return NULL;
}

/* ---- the text -------------------------------------------------------------------------------------------------- */

static nl_status find_column(const nl_schema *schema, nl_command *command, const nl_ast_expr *expr, int32_t *field_id)
{
    nl_str name = {"", 0};
    if (expr->kind != NL_AST_EXPR_COLUMN) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot parse the sort order: a column or a transform of one is wanted");
    for (uint32_t i = 0; i < expr->column.count; i++)
        name = i ? nl_arena_f(command->arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(expr->column.parts[i].text)) : expr->column.parts[i].text;
    const nl_schema_column *column = nl_schema_find_name(schema, name, false);
    if (!column) {
        const nl_str type = nl_ice_type_name(command->arena, schema->root);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find field '" NL_STR_FMT "' in struct: " NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(type));
    }
    *field_id = column->field->id;
    return NULL;
}

static nl_status sort_field(nl_command *command, const nl_schema *schema, const nl_ast_sort_item *item, nl_sort_field *field)
{
    const nl_ast_expr *expr = item->expr;
    *field = (nl_sort_field){.transform.kind = NL_TRANSFORM_IDENTITY, .is_descending = item->is_descending, .nulls_last = !item->is_nulls_first};
    if (expr->kind != NL_AST_EXPR_CALL) return find_column(schema, command, expr, &field->source_id);
    nl_builder text; /* bucket(16, id) as "bucket[16]" */
    nl_builder_init(&text, 4096);
    nl_append(&text, expr->call.name.parts[0].text);
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < expr->call.args.count; i++) {
        const nl_ast_expr *argument = expr->call.args.items[i].value;
        if (argument->kind == NL_AST_EXPR_LITERAL)
            nl_append_f(&text, "[" NL_STR_FMT "]", NL_STR_ARG(argument->literal.text));
        else
            status = find_column(schema, command, argument, &field->source_id);
    }
    nl_str name = nl_builder_str(&text);
    if (name.length > 1 && name.data[name.length - 1] == 's') name.length--; /* days → day */
    if (!status) status = nl_transform_parse(command->arena, name, &field->transform);
    nl_builder_fini(&text);
    return status;
}

nl_status nl_parse_sort_text(nl_command *command, const nl_schema *schema, nl_str text, const nl_sort_order **order, const nl_list **zorder)
{
    nl_ast_statement *statement = NULL;
    const nl_str query = nl_arena_f(command->arena, "SELECT 1 ORDER BY " NL_STR_FMT, NL_STR_ARG(text));
    NL_TRY_NOTE(nl_sql_parse(command->arena, query, NULL, &statement), "parsing the sort order " NL_STR_FMT, NL_STR_ARG(text));
    const nl_ast_sort_items *items = &statement->query->organization.order_by;
    nl_sort_field *fields = NL_NEW_ARRAY(command->arena, nl_sort_field, items->count);
    nl_list *ids = NL_NEW(command->arena, nl_list);
    for (uint32_t i = 0; i < items->count; i++) {
        const nl_ast_expr *expr = items->items[i].expr;
        const bool is_zorder = expr->kind == NL_AST_EXPR_CALL && expr->call.name.count == 1 && nl_str_is_nocase(expr->call.name.parts[0].text, "zorder");
        if (is_zorder && items->count > 1)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot mix identity sort columns and a Zorder sort expression: " NL_STR_FMT, NL_STR_ARG(text));
        for (uint32_t j = 0; is_zorder && j < expr->call.args.count; j++) {
            int32_t field_id = 0;
            NL_TRY(find_column(schema, command, expr->call.args.items[j].value, &field_id));
            nl_list_add(command->arena, ids, (void *)(uintptr_t)field_id);
        }
        if (!is_zorder) NL_TRY(sort_field(command, schema, &items->items[i], &fields[i]));
    }
    nl_sort_order *made = NL_NEW(command->arena, nl_sort_order);
    *made = (nl_sort_order){.order_id = 1, .field_count = items->count, .fields = fields};
    *order = ids->count ? NULL : made;
    *zorder = ids->count ? ids : NULL;
    return NULL;
}
