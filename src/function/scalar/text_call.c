/* scalar/text_call.c - options and rows of the functions that read JSON and CSV. */
#include "function/scalar/text_call.h"

nl_status nl_text_call_options(const nl_bind *bind, uint32_t i, nl_text_option_list *options)
{
    *options = (nl_text_option_list){0};
    if (i >= bind->argument_count) return NULL;
    const nl_type *type = bind->argument_types[i];
    if (type->id != NL_TYPE_MAP || bind->constants[i] == NULL) return NL_RAISE(INVALID_OPTIONS__NON_MAP_FUNCTION);
    bool is_text = type->children[0].type->id == NL_TYPE_STRING && type->children[1].type->id == NL_TYPE_STRING;
    const nl_value *given = bind->constants[i];
    if (!is_text && given->list.count > 0)
        return NL_RAISE(INVALID_OPTIONS__NON_STRING_TYPE, NL_P_STR("mapType", nl_quoted_type(bind->arena, type)));
    uint32_t count = given->is_null ? 0 : given->list.count / 2; /* keys and values alternate */
    nl_text_option *items = NL_NEW_ARRAY(bind->arena, nl_text_option, NL_MAX(count, 1u));
    for (uint32_t k = 0; k < count; k++) {
        const nl_value *pair = &given->list.items[2 * k];
        items[k] = (nl_text_option){.key = pair[0].text, .value = pair[1].is_null ? NL_STR("") : pair[1].text};
    }
    *options = (nl_text_option_list){.items = items, .count = count};
    return nl_arena_check(bind->arena);
}

nl_text_session nl_text_call_session(const nl_bind *bind)
{
    return (nl_text_session){.zone = bind->confs->zone, .prefers_ntz = bind->confs->is_timestamp_ntz, .binary = bind->confs->binary_style, .corrupt_record_name = NL_STR("_corrupt_record")};
}

nl_status nl_text_call_sample(nl_bind *bind, const char *name)
{
    const nl_value *text = bind->constants[0];
    nl_str sql = nl_quoted(bind->arena, nl_bind_call_sql(bind));
    if (text == NULL || (!text->is_null && text->type->id != NL_TYPE_STRING))
        return NL_RAISE(DATATYPE_MISMATCH__NON_FOLDABLE_INPUT, NL_P_STR("sqlExpr", sql),
                        NL_P_STR("inputName", nl_arena_f(bind->arena, "`%s`", name)), NL_P("inputType", "\"STRING\""),
                        NL_P_STR("inputExpr", nl_quoted(bind->arena, nl_bind_argument_sql(bind, 0))));
    if (text->is_null) return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_NULL, NL_P_STR("sqlExpr", sql), NL_P("exprName", name));
    return NULL;
}

/* As Spark's asNullable: whatever is read may be missing. */
static const nl_type *nullable_type(nl_arena *arena, const nl_type *type)
{
    if (type->id == NL_TYPE_ARRAY) return nl_type_array(arena, nullable_type(arena, type->children[0].type), true);
    if (type->id == NL_TYPE_MAP)
        return nl_type_map(arena, nullable_type(arena, type->children[0].type), nullable_type(arena, type->children[1].type), true);
    if (type->id != NL_TYPE_STRUCT) return type;
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, NL_MAX(type->child_count, 1u));
    for (uint32_t i = 0; i < type->child_count; i++) {
        fields[i] = type->children[i];
        fields[i].type = nullable_type(arena, type->children[i].type);
        fields[i].is_nullable = true;
    }
    return nl_type_struct(arena, fields, type->child_count);
}

nl_status nl_text_target_init(nl_text_target *target, nl_arena *arena, const nl_type *type, const nl_text_formats *formats,
                              const char *function_name)
{
    const nl_type *result = nullable_type(arena, type);
    NL_TRY(nl_text_formats_check(formats, type, arena));
    *target = (nl_text_target){.result_type = result, .data_type = result, .corrupt = UINT32_MAX, .mode = formats->mode, .function_name = function_name};
    if (type->id != NL_TYPE_STRUCT) return NULL;
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, NL_MAX(result->child_count, 1u));
    uint32_t count = 0;
    for (uint32_t i = 0; i < result->child_count; i++) {
        const nl_field *field = &result->children[i];
        if (!nl_str_equal(field->name, formats->corrupt_record_name)) {
            fields[count++] = *field;
            continue;
        }
        if (field->type->id != NL_TYPE_STRING)
            return NL_RAISE(INVALID_CORRUPT_RECORD_TYPE, NL_P_STR("columnName", nl_arena_f(arena, "`" NL_STR_FMT "`", NL_STR_ARG(field->name))),
                            NL_P_STR("actualType", nl_quoted_type(arena, field->type)));
        target->corrupt = i;
    }
    if (target->corrupt != UINT32_MAX) target->data_type = nl_type_struct(arena, fields, count);
    return nl_arena_check(arena);
}

nl_status nl_text_rows_open(const nl_text_target *target, nl_memory *memory, nl_text_rows *rows)
{
    *rows = (nl_text_rows){.target = target, .memory = memory};
    if (target->mode == NL_TEXT_DROP_MALFORMED) {
        nl_builder name;
        nl_builder_init(&name, 64);
        nl_append_f(&name, "`%s`", target->function_name);
        nl_status status = NL_RAISE(PARSE_MODE_UNSUPPORTED, NL_P_STR("funcName", nl_builder_str(&name)), NL_P("mode", "DROPMALFORMED"));
        nl_builder_fini(&name);
        return status;
    }
    NL_TRY(nl_column_builder_new(target->data_type, memory, &rows->builder));
    nl_status status = target->corrupt == UINT32_MAX ? NULL : nl_column_builder_new(nl_type_string(), memory, &rows->corrupt);
    if (status != NULL) nl_text_rows_close(rows);
    return status;
}

void nl_text_rows_close(nl_text_rows *rows)
{
    nl_column_builder_free(rows->builder);
    nl_column_builder_free(rows->corrupt);
    *rows = (nl_text_rows){0};
}

nl_status nl_text_rows_null(nl_text_rows *rows)
{
    NL_TRY(nl_column_builder_null(rows->builder));
    return rows->corrupt != NULL ? nl_column_builder_null(rows->corrupt) : NULL;
}

static nl_status raise_malformed(nl_text_rows *rows)
{
    nl_vector read = {0};
    nl_builder text;
    nl_builder_init(&text, NL_ERROR_MESSAGE_BYTES_MAX);
    NL_TRY(nl_column_builder_finish(rows->builder, &read));
    nl_text_options options = {.style = NL_TEXT_CAST, .zone = nl_timezone_utc()};
    nl_append_char(&text, '[');
    for (uint32_t i = 0; i < read.child_count && rows->target->data_type->id == NL_TYPE_STRUCT; i++) {
        if (i > 0) nl_append_char(&text, ',');
        if (nl_vector_is_null(&read.children[i], read.length - 1))
            nl_append_c(&text, "null");
        else
            nl_vector_append_text(&read.children[i], read.length - 1, &options, &text);
    }
    nl_append_char(&text, ']');
    nl_status status = NL_RAISE(MALFORMED_RECORD_IN_PARSING__WITHOUT_SUGGESTION, NL_P_STR("badRecord", nl_builder_str(&text)),
                                NL_P("failFastMode", "FAILFAST"));
    nl_builder_fini(&text);
    nl_vector_fini(&read);
    return status;
}

nl_status nl_text_rows_end(nl_text_rows *rows, nl_str record, bool is_bad)
{
    if (is_bad && rows->target->mode == NL_TEXT_FAIL_FAST) return raise_malformed(rows);
    if (rows->corrupt == NULL) return NULL;
    return is_bad ? nl_column_builder_str(rows->corrupt, record) : nl_column_builder_null(rows->corrupt);
}

nl_status nl_text_rows_bad(nl_text_rows *rows, nl_str record)
{
    const nl_type *type = rows->target->data_type;
    if (type->id != NL_TYPE_STRUCT) {
        NL_TRY(nl_column_builder_null(rows->builder));
    } else {
        for (uint32_t i = 0; i < type->child_count; i++) NL_TRY(nl_column_builder_null(nl_column_builder_child(rows->builder, i)));
        NL_TRY(nl_column_builder_end_struct(rows->builder));
    }
    return nl_text_rows_end(rows, record, true);
}

nl_status nl_text_rows_finish(nl_text_rows *rows, uint32_t length, nl_vector *out)
{
    if (rows->corrupt == NULL) return nl_column_builder_finish(rows->builder, out);
    nl_vector data = {0};
    nl_vector corrupt = {0};
    uint8_t *validity = NULL;
    nl_status status = NULL;
    NL_GO(nl_column_builder_finish(rows->builder, &data));
    NL_GO(nl_column_builder_finish(rows->corrupt, &corrupt));
    NL_GO(nl_vector_new_flat(out, rows->target->result_type, length, rows->memory));
    for (uint32_t i = 0, from = 0; i < out->child_count; i++) {
        bool is_corrupt = i == rows->target->corrupt;
        nl_vector_set_child(out, i, is_corrupt ? &corrupt : &data.children[from]);
        from += !is_corrupt;
    }
    if (data.validity != NULL) {
        NL_GO(nl_vector_make_validity(out, rows->memory, &validity));
        memcpy(validity, data.validity, (length + 7u) / 8u);
        out->null_count = UINT32_MAX;
    }
done:
    nl_vector_fini(&data);
    nl_vector_fini(&corrupt);
    return status;
}

void nl_text_call_answer_schema(nl_bind *bind, const nl_type *type, nl_bound_function *bound)
{
    nl_str *sql = NL_NEW(bind->arena, nl_str);
    *sql = nl_type_sql(bind->arena, type);
    bound->state = sql;
    bound->is_nullable = false;
}

nl_status nl_text_schema_kernel(NL_KERNEL_PARAMETERS)
{
    (void)args;
    (void)selection;
    nl_value constant = nl_value_string(*(const nl_str *)function->state);
    return nl_vector_new_constant(out, &constant, length, eval->memory);
}
