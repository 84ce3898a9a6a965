/* scalar/concat.c - concat and ||: strings, binaries, or arrays one after the other. */
#include "function/groups.h"

static nl_status concat_strings(NL_KERNEL_PARAMETERS)
{
    uint32_t count = function->argument_count;
    nl_output output;
    nl_buffer *space = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    NL_TRY(nl_buffer_new(eval->memory, nl_size_mul(NL_MAX(count, 1u), sizeof(nl_reader)), false, &space));
    nl_reader *readers = (nl_reader *)(void *)space->data;
    for (uint32_t i = 0; i < count; i++) nl_reader_init(&readers[i], &args[i]);
    nl_status status = NULL;
    NL_EACH_SELECTED(row)
    {
        size_t total = 0;
        for (uint32_t i = 0; i < count; i++) total += nl_reader_str(&readers[i], row).length;
        if (total > NL_VALUE_BYTES_MAX) {
            status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)total), NL_P_INT("receivedBytes", 0));
            break;
        }
        char small[NL_STRING_INLINE_MAX];
        char *bytes = small;
        if (total > NL_STRING_INLINE_MAX) {
            status = nl_heap_alloc(output.heap, total, &bytes);
            if (status != NULL) break;
        }
        size_t at = 0;
        for (uint32_t i = 0; i < count; i++) {
            nl_str part = nl_reader_str(&readers[i], row);
            if (part.length > 0) memcpy(bytes + at, part.data, part.length);
            at += part.length;
        }
        nl_output_slice(&output, row, (nl_str){bytes, total});
    }
    nl_buffer_release(space);
    return status;
}

static nl_status concat_arrays(NL_KERNEL_PARAMETERS)
{
    nl_column_builder *builder = NULL;
    nl_status status = NULL;
    NL_TRY(nl_column_builder_new(function->result_type, eval->memory, &builder));
    nl_column_builder *elements = nl_column_builder_child(builder, 0);
    uint32_t next = 0;
    for (uint32_t row = 0; row < length; row++) {
        bool is_selected = next < selection.count && nl_selection_row(selection, next) == row;
        uint32_t total = 0;
        next += is_selected;
        for (uint32_t i = 0; is_selected && i < function->argument_count; i++) {
            const nl_vector *base = nl_vector_base(&args[i]);
            nl_reader reader;
            nl_reader_init(&reader, &args[i]);
            nl_list_view list = ((const nl_list_view *)reader.values)[nl_reader_index(&reader, row)];
            for (uint32_t e = 0; e < list.length; e++)
                NL_GO(nl_column_builder_row(elements, &base->children[0], list.offset + e));
            total += list.length;
        }
        NL_GO(nl_column_builder_end_list(builder, total));
    }
    status = nl_column_builder_finish(builder, out);
done:
    nl_column_builder_free(builder);
    return status;
}

/* All arrays: their common type; all binaries: binary; else everything as strings. */
static nl_status bind_concat(nl_bind *bind, nl_bound_function *bound)
{
    bool has_array = false;
    bool all_binary = bind->argument_count > 0;
    for (uint32_t i = 0; i < bind->argument_count; i++) {
        has_array |= bind->argument_types[i]->id == NL_TYPE_ARRAY;
        all_binary &= bind->argument_types[i]->id == NL_TYPE_BINARY;
    }
    /* Spark casts NULL to STRING before it finds that the others are arrays, and then refuses it. */
    for (uint32_t i = 0; has_array && i < bind->argument_count; i++)
        if (bind->argument_types[i]->id == NL_TYPE_NULL) bind->argument_types[i] = nl_type_string();
    const nl_type *type = all_binary && !bind->confs->is_concat_string ? nl_type_binary() : nl_type_string();
    if (has_array) {
        type = bind->argument_types[0];
        for (uint32_t i = 1; i < bind->argument_count && type != NULL; i++)
            type = nl_common_type(bind->arena, type, bind->argument_types[i], nl_confs_rules(bind->confs));
        if (type == NULL || type->id != NL_TYPE_ARRAY) return nl_bind_data_diff_types(bind, 0);
    }
    for (uint32_t i = 0; i < bind->argument_count; i++) {
        if (!has_array && nl_type_is_nested(bind->argument_types[i]))
            return nl_bind_unexpected_type(bind, i, "(\"STRING\" or \"BINARY\" or \"ARRAY\")");
        if (bind->confs->is_trino && !nl_can_cast_implicitly(bind->argument_types[i], type, NL_RULES_TRINO)) return nl_bind_data_diff_types(bind, 0);
        bind->argument_types[i] = type;
    }
    bound->result_type = type;
    bound->kernel = has_array ? concat_arrays : concat_strings;
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "concat", .aliases = "||", .kind = NL_FUNCTION_SCALAR, .group = "collection", .since = "1.5.0",
     .doc = "All arguments one after the other: strings, binaries, or arrays.", .signature = "([any...]) -> ?",
     .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .bind = bind_concat,
     .examples = {{"concat('Spark', 'SQL')", "SparkSQL"}, {"concat(array(1, 2), array(3))", "[1,2,3]"}, {"'a' || 1", "a1"}}},
};

NL_DEFINE_FUNCTION_GROUP(concat, rows);
