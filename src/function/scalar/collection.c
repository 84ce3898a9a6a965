/* scalar/collection.c - making arrays, maps and structs, and taking values out of them. */
#include "function/groups.h"
#include "function/list.h"
#include "function/scalar/collection_bind.h"

/* --- array --- */

static nl_status array_row(nl_list_call *call)
{
    for (uint32_t i = 0; i < call->function->argument_count; i++)
        NL_TRY(nl_column_builder_row(nl_column_builder_child(call->builder, 0), &call->args[i], call->row));
    return nl_column_builder_end_list(call->builder, call->function->argument_count);
}
NL_LIST_KERNEL(array_kernel, array_row)

/* The common type of arguments first, first + step …; NULL when there is none. */
static const nl_type *common_of(nl_bind *bind, uint32_t first, uint32_t step, bool *is_nullable)
{
    const nl_type *type = nl_type_of(NL_TYPE_NULL);
    *is_nullable = false;
    for (uint32_t i = first; i < bind->argument_count && type != NULL; i += step) {
        type = nl_common_type(bind->arena, type, bind->argument_types[i], nl_confs_rules(bind->confs));
        *is_nullable |= bind->argument_nullable == NULL || bind->argument_nullable[i];
    }
    for (uint32_t i = first; i < bind->argument_count && type != NULL; i += step) bind->argument_types[i] = type;
    return type;
}

static nl_status bind_array(nl_bind *bind, nl_bound_function *bound)
{
    bool is_nullable;
    const nl_type *element = common_of(bind, 0, 1, &is_nullable);
    if (element == NULL) return nl_bind_data_diff_types(bind, 0);
    bound->result_type = nl_type_array(bind->arena, element, is_nullable);
    return NULL;
}

/* --- map --- */

static nl_status map_row(nl_list_call *call)
{
    uint32_t count = call->function->argument_count / 2;
    const bool is_last_win = call->eval->confs->is_last_win;
    for (uint32_t i = 0; i < count; i++) {
        const nl_vector *key = &call->args[2 * i];
        if (nl_vector_is_null(key, call->row)) return NL_RAISE(NULL_MAP_KEY);
        for (uint32_t j = 0; j < i; j++)
            if (!is_last_win && nl_vector_row_equal(key, call->row, &call->args[2 * j], call->row)) return nl_map_raise_duplicate(call, key, call->row);
        NL_TRY(nl_column_builder_row(nl_column_builder_child(call->builder, 0), key, call->row));
        NL_TRY(nl_column_builder_row(nl_column_builder_child(call->builder, 1), &call->args[2 * i + 1], call->row));
    }
    return nl_column_builder_end_list(call->builder, count);
}
NL_LIST_KERNEL(map_kernel, map_row)

static nl_status bind_map(nl_bind *bind, nl_bound_function *bound)
{
    bool is_nullable;
    if (bind->argument_count % 2 != 0) return nl_bind_wrong_count(bind, NL_STR("2n (n > 0)"));
    const nl_type *key = common_of(bind, 0, 2, &is_nullable);
    const nl_type *value = common_of(bind, 1, 2, &is_nullable);
    if (key == NULL || value == NULL) return nl_bind_data_diff_types(bind, 0);
    bound->result_type = nl_type_map(bind->arena, key, value, is_nullable);
    return NULL;
}

/* --- named_struct: the children are the arguments themselves --- */

static nl_status struct_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    bool is_named = function->row->name[0] == 'n';
    NL_TRY(nl_vector_new_flat(out, function->result_type, length, eval->memory));
    for (uint32_t i = 0; i < function->result_type->child_count; i++) {
        nl_vector flat = {0};
        NL_TRY(nl_vector_flatten(&args[is_named ? 2 * i + 1 : i], false, eval->memory, &flat));
        nl_vector_set_child(out, i, &flat);
    }
    return NULL;
}

static nl_status raise_names(const nl_bind *bind)
{
    nl_builder names;
    nl_builder_init(&names, NL_ERROR_MESSAGE_BYTES_MAX);
    nl_append_char(&names, '[');
    for (uint32_t i = 0; i < bind->argument_count; i += 2)
        nl_append_f(&names, "%s\"" NL_STR_FMT "\"", i > 0 ? ", " : "", NL_STR_ARG(nl_bind_argument_sql(bind, i)));
    nl_append_char(&names, ']');
    nl_status status = NL_RAISE(DATATYPE_MISMATCH__CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING,
                                NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))), NL_P_STR("inputExprs", nl_builder_str(&names)));
    nl_builder_fini(&names);
    return status;
}

static nl_status bind_struct(nl_bind *bind, nl_bound_function *bound)
{
    bool is_named = bind->row->name[0] == 'n';
    if (is_named && bind->argument_count % 2 != 0) return nl_bind_wrong_count(bind, NL_STR("2n (n > 0)"));
    uint32_t count = is_named ? bind->argument_count / 2 : bind->argument_count;
    nl_field *fields = NL_NEW_ARRAY(bind->arena, nl_field, NL_MAX(count, 1u));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = is_named ? 2 * i + 1 : i;
        fields[i].name = nl_arena_f(bind->arena, "col%u", i + 1);
        fields[i].type = bind->argument_types[at];
        fields[i].is_nullable = bind->argument_nullable == NULL || bind->argument_nullable[at];
        if (!is_named) continue;
        const nl_value *name = bind->constants[2 * i];
        if (name == NULL || name->type->id != NL_TYPE_STRING || name->is_null) return raise_names(bind);
        fields[i].name = name->text;
    }
    bound->result_type = nl_type_struct(bind->arena, fields, count);
    return NULL;
}

/* --- taking out --- */

typedef enum access { ACCESS_SUBSCRIPT, ACCESS_GET, ACCESS_ELEMENT_AT, ACCESS_TRY } access;

static access access_of(const char *name)
{
    if (strcmp(name, "[]") == 0) return ACCESS_SUBSCRIPT;
    if (strcmp(name, "get") == 0) return ACCESS_GET;
    return name[0] == 't' ? ACCESS_TRY : ACCESS_ELEMENT_AT;
}

static nl_status array_access_row(nl_list_call *call)
{
    access how = access_of(call->function->row->name);
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    int64_t index = nl_list_integer(call, 1);
    bool raises = call->eval->confs->is_ansi;
    int64_t place = index;
    if (how == ACCESS_ELEMENT_AT || how == ACCESS_TRY) {
        if (index == 0) return NL_RAISE(INVALID_INDEX_OF_ZERO);
        place = index > 0 ? index - 1 : index + list.length;
    }
    if (place >= 0 && place < list.length)
        return nl_column_builder_row(call->builder, nl_list_child(&call->args[0], 0), list.offset + (uint32_t)place);
    if (!raises || how == ACCESS_GET || how == ACCESS_TRY) return nl_column_builder_null(call->builder);
    if (how == ACCESS_SUBSCRIPT)
        return NL_RAISE(INVALID_ARRAY_INDEX, NL_P_INT("indexValue", index), NL_P_INT("arraySize", list.length));
    return NL_RAISE(INVALID_ARRAY_INDEX_IN_ELEMENT_AT, NL_P_INT("indexValue", index), NL_P_INT("arraySize", list.length));
}
NL_LIST_KERNEL(array_access_kernel, array_access_row)

static nl_status map_access_row(nl_list_call *call)
{
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    const nl_vector *keys = nl_list_child(&call->args[0], 0);
    for (uint32_t e = list.offset; e < list.offset + list.length; e++)
        if (nl_vector_row_equal(keys, e, &call->args[1], call->row))
            return nl_column_builder_row(call->builder, nl_list_child(&call->args[0], 1), e);
    return nl_column_builder_null(call->builder);
}
NL_LIST_KERNEL(map_access_kernel, map_access_row)

static nl_status bind_access(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_types[0];
    if (bind->given_types[0]->id == NL_TYPE_NULL && strcmp(bind->row->name, "element_at") == 0) {
        bind->argument_types[0] = bind->given_types[0];
        return nl_bind_unexpected_type(bind, 0, "(\"ARRAY\" or \"MAP\")");
    }
    if (type->id == NL_TYPE_ARRAY) {
        access how = access_of(bind->row->name);
        bool takes_int = how == ACCESS_ELEMENT_AT || how == ACCESS_TRY;
        if (takes_int && (!nl_type_is_integral(bind->argument_types[1]) || bind->argument_types[1]->id == NL_TYPE_BIGINT))
            return nl_bind_unexpected_type(bind, 1, "\"INT\"");
        if (!nl_type_is_integral(bind->argument_types[1]) && bind->argument_types[1]->id != NL_TYPE_NULL)
            return nl_bind_unexpected_type(bind, 1, "\"INTEGRAL\"");
        if (bind->argument_types[1]->id == NL_TYPE_NULL) bind->argument_types[1] = nl_type_int();
        bound->result_type = type->children[0].type;
        bound->kernel = array_access_kernel;
        bound->can_fail = how == ACCESS_ELEMENT_AT || how == ACCESS_TRY || (how == ACCESS_SUBSCRIPT && bind->confs->is_ansi);
        return NULL;
    }
    if (access_of(bind->row->name) == ACCESS_SUBSCRIPT)
        bind->argument_types[1] = type->children[0].type;
    else
        NL_TRY(nl_bind_map_key(bind, 1));
    bound->result_type = type->children[1].type;
    bound->kernel = map_access_kernel;
    bound->can_fail = false;
    return NULL;
}

/* --- size and parts of maps --- */

static nl_status size_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader in;
    nl_reader_init(&in, &args[0]);
    NL_EACH_SELECTED(row)
    ((int32_t *)output.values)[row] = (int32_t)((const nl_list_view *)in.values)[nl_reader_index(&in, row)].length;
    return NULL;
}

/* Of NULL the size is NULL under ANSI, and -1 otherwise. */
static nl_status size_or_null_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader in;
    nl_reader_init(&in, &args[0]);
    NL_EACH_SELECTED(row)
    {
        if (!nl_reader_is_null(&in, row))
            ((int32_t *)output.values)[row] = (int32_t)((const nl_list_view *)in.values)[nl_reader_index(&in, row)].length;
        else if (function->is_nullable)
            NL_TRY(nl_output_null(&output, row));
        else
            ((int32_t *)output.values)[row] = -1;
    }
    return NULL;
}

static nl_status bind_size(nl_bind *bind, nl_bound_function *bound)
{
    bound->is_nullable = (bind->confs->is_ansi || bind->confs->is_trino) && (bind->argument_nullable == NULL || bind->argument_nullable[0]);
    return NULL;
}

static nl_status map_part_row(nl_list_call *call)
{
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    bool is_values = strcmp(call->function->row->name, "map_values") == 0;
    const nl_vector *source = nl_list_child(&call->args[0], is_values);
    for (uint32_t e = list.offset; e < list.offset + list.length; e++)
        NL_TRY(nl_column_builder_row(nl_column_builder_child(call->builder, 0), source, e));
    return nl_column_builder_end_list(call->builder, list.length);
}
NL_LIST_KERNEL(map_part_kernel, map_part_row)

static nl_status map_entries_row(nl_list_call *call)
{
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    nl_column_builder *entries = nl_column_builder_child(call->builder, 0);
    for (uint32_t e = list.offset; e < list.offset + list.length; e++) {
        NL_TRY(nl_column_builder_row(nl_column_builder_child(entries, 0), nl_list_child(&call->args[0], 0), e));
        NL_TRY(nl_column_builder_row(nl_column_builder_child(entries, 1), nl_list_child(&call->args[0], 1), e));
        NL_TRY(nl_column_builder_end_struct(entries));
    }
    return nl_column_builder_end_list(call->builder, list.length);
}
NL_LIST_KERNEL(map_entries_kernel, map_entries_row)

static nl_status bind_map_part(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *map = bind->argument_types[0];
    const char *name = bind->row->name;
    if (strcmp(name, "map_keys") == 0)
        bound->result_type = nl_type_array(bind->arena, map->children[0].type, false);
    else if (strcmp(name, "map_values") == 0)
        bound->result_type = nl_type_array(bind->arena, map->children[1].type, map->contains_null);
    else
        bound->result_type = nl_type_array(bind->arena, nl_type_struct(bind->arena, map->children, 2), false);
    return NULL;
}

static nl_status map_contains_row(nl_list_call *call)
{
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    bool has = false;
    for (uint32_t e = list.offset; e < list.offset + list.length && !has; e++)
        has = nl_vector_row_equal(nl_list_child(&call->args[0], 0), e, &call->args[1], call->row);
    return nl_column_builder_i64(call->builder, has);
}
NL_LIST_KERNEL(map_contains_kernel, map_contains_row)

static nl_status bind_map_contains(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    if (bind->argument_types[1]->id == NL_TYPE_NULL) return nl_bind_null_type(bind);
    return nl_bind_map_key(bind, 1);
}

static nl_status map_from_arrays_row(nl_list_call *call)
{
    nl_list_view keys = nl_list_of(&call->args[0], call->row);
    nl_list_view values = nl_list_of(&call->args[1], call->row);
    const nl_vector *source = nl_list_child(&call->args[0], 0);
    if (keys.length != values.length)
        return NL_RAISE(_LEGACY_ERROR_TEMP_2128);
    NL_TRY(nl_map_check_keys(call, source, keys.offset, keys.length));
    for (uint32_t e = 0; e < keys.length; e++) {
        if (nl_vector_is_null(source, keys.offset + e)) return NL_RAISE(NULL_MAP_KEY);
        NL_TRY(nl_column_builder_row(nl_column_builder_child(call->builder, 0), source, keys.offset + e));
        NL_TRY(nl_column_builder_row(nl_column_builder_child(call->builder, 1), nl_list_child(&call->args[1], 0), values.offset + e));
    }
    return nl_column_builder_end_list(call->builder, keys.length);
}
NL_LIST_KERNEL(map_from_arrays_kernel, map_from_arrays_row)

static nl_status map_from_entries_row(nl_list_call *call)
{
    nl_list_view list = nl_list_of(&call->args[0], call->row);
    const nl_vector *entries = nl_list_child(&call->args[0], 0);
    nl_vector flat = {0};
    nl_status status = NULL;
    for (uint32_t e = list.offset; e < list.offset + list.length; e++)
        if (nl_vector_is_null(entries, e)) return nl_column_builder_null(call->builder);
    NL_TRY(nl_vector_flatten(entries, false, call->eval->memory, &flat));
    NL_GO(nl_map_check_keys(call, &flat.children[0], list.offset, list.length));
    for (uint32_t e = list.offset; e < list.offset + list.length; e++) {
        if (nl_vector_is_null(&flat.children[0], e)) NL_GO(NL_RAISE(NULL_MAP_KEY));
        NL_GO(nl_column_builder_row(nl_column_builder_child(call->builder, 0), &flat.children[0], e));
        NL_GO(nl_column_builder_row(nl_column_builder_child(call->builder, 1), &flat.children[1], e));
    }
    status = nl_column_builder_end_list(call->builder, list.length);
done:
    nl_vector_fini(&flat);
    return status;
}
NL_LIST_KERNEL(map_from_entries_kernel, map_from_entries_row)

static nl_status bind_map_from_entries(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *element = bind->argument_types[0]->children[0].type;
    if (element->id != NL_TYPE_STRUCT || element->child_count != 2)
        return nl_bind_unexpected_type(bind, 0, "\"ARRAY\" of pair \"STRUCT\"");
    bound->result_type = nl_type_map(bind->arena, element->children[0].type, element->children[1].type, element->children[1].is_nullable);
    return NULL;
}

static nl_status map_concat_row(nl_list_call *call)
{
    uint32_t total = 0;
    nl_element_set *set = NULL;
    for (uint32_t i = 0; i < call->function->argument_count; i++) total += nl_list_of(&call->args[i], call->row).length;
    NL_TRY(nl_list_call_set(call, total, &set));
    for (uint32_t i = 0; i < call->function->argument_count; i++) {
        nl_list_view list = nl_list_of(&call->args[i], call->row);
        for (uint32_t e = list.offset; e < list.offset + list.length; e++) {
            bool is_new = false;
            const nl_vector *keys = nl_list_child(&call->args[i], 0);
            NL_TRY(nl_element_set_add(set, keys, e, &is_new));
            if (!is_new && !call->eval->confs->is_last_win) return nl_map_raise_duplicate(call, keys, e);
            NL_TRY(nl_column_builder_row(nl_column_builder_child(call->builder, 0), keys, e));
            NL_TRY(nl_column_builder_row(nl_column_builder_child(call->builder, 1), nl_list_child(&call->args[i], 1), e));
        }
    }
    return nl_column_builder_end_list(call->builder, total);
}
NL_LIST_KERNEL(map_concat_kernel, map_concat_row)

static nl_status raise_no_maps(const nl_bind *bind)
{
    nl_builder types;
    nl_builder_init(&types, NL_ERROR_MESSAGE_BYTES_MAX);
    nl_append_char(&types, '[');
    for (uint32_t i = 0; i < bind->argument_count; i++)
        nl_append_f(&types, "%s\"" NL_STR_FMT "\"", i > 0 ? ", " : "", NL_STR_ARG(nl_type_sql(bind->arena, bind->argument_types[i])));
    nl_append_char(&types, ']');
    nl_status status = NL_RAISE(DATATYPE_MISMATCH__MAP_CONCAT_DIFF_TYPES, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                                NL_P_STR("functionName", nl_quoted_name(bind)), NL_P_STR("dataType", nl_builder_str(&types)));
    nl_builder_fini(&types);
    return status;
}

static nl_status bind_map_concat(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_count > 0 ? bind->argument_types[0] : nl_type_map(bind->arena, nl_type_string(), nl_type_string(), true);
    for (uint32_t i = 0; i < bind->argument_count; i++)
        if (bind->argument_types[i]->id != NL_TYPE_MAP) return raise_no_maps(bind);
    for (uint32_t i = 1; i < bind->argument_count && type != NULL; i++)
        type = nl_common_type_but_text(bind->arena, type, bind->argument_types[i], nl_confs_rules(bind->confs));
    if (type == NULL) return nl_bind_data_diff_types(bind, 0);
    for (uint32_t i = 0; i < bind->argument_count; i++) bind->argument_types[i] = type;
    bound->result_type = type;
    return NULL;
}

#define ROW(row_group) .kind = NL_FUNCTION_SCALAR, .group = row_group
#define SEEN  .nulls = NL_NULL_SEEN, .keeps_non_null = true
#define PLAIN .nulls = NL_NULL_IN_NULL_OUT
#define TOTAL .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true

static const nl_function_row rows[] = {
    {.name = "array", ROW("array"), SEEN, .signature = "([any...]) -> ?", .bind = bind_array, .kernel = array_kernel, .since = "1.1.0",
     .doc = "An array of the arguments.", .examples = {{"array(1, 2, 3)", "[1,2,3]"}}},
    {.name = "map", ROW("map"), SEEN, .can_fail = true, .signature = "([any...]) -> ?", .bind = bind_map, .kernel = map_kernel, .since = "2.0.0",
     .doc = "A map of keys and values in turn.", .examples = {{"map(1.0, '2', 3.0, '4')", "{1.0:\"2\",3.0:\"4\"}"}}},
    {.name = "struct", ROW("struct"), SEEN, .signature = "([any...]) -> ?", .bind = bind_struct, .kernel = struct_kernel, .since = "1.4.0",
     .doc = "A struct of the arguments.", .examples = {{"struct(1, 2, 3)", "{\"col1\":1,\"col2\":2,\"col3\":3}"}}},
    {.name = "named_struct", ROW("struct"), SEEN, .signature = "([any...]) -> ?", .bind = bind_struct, .kernel = struct_kernel, .since = "1.5.0",
     .doc = "A struct of names and values in turn.", .examples = {{"named_struct('a', 1, 'b', 2)", "{\"a\":1,\"b\":2}"}}},
    {.name = "[]", ROW("array"), PLAIN, .is_internal = true, .can_fail = true, .signature = "(array, any) -> ? | (map, any) -> ?", .bind = bind_access, .since = "1.0.0",
     .doc = "array[index from 0], map[key]."},
    {.name = "get", ROW("array"), PLAIN, .signature = "(array, int) -> ?", .bind = bind_access, .since = "3.4.0",
     .doc = "The element at an index from 0, or NULL outside.", .examples = {{"get(array(1, 2, 3), 0)", "1"}}},
    {.name = "element_at", ROW("collection"), PLAIN, .can_fail = true, .signature = "(array, any) -> ? | (map, any) -> ?", .bind = bind_access, .since = "2.4.0",
     .doc = "The element at a place from 1 (negative from the end), or the value of a key.", .examples = {{"element_at(array(1, 2, 3), 2)", "2"}, {"element_at(map(1, 'a', 2, 'b'), 2)", "b"}}},
    {.name = "try_element_at", ROW("collection"), PLAIN, .can_fail = true, .signature = "(array, any) -> ? | (map, any) -> ?", .bind = bind_access, .since = "3.5.0",
     .doc = "As element_at, but NULL outside.", .examples = {{"try_element_at(array(1, 2, 3), 2)", "2"}}},
    {.name = "size", .aliases = "cardinality", ROW("collection"), SEEN, .signature = "(array) -> int | (map) -> int", .bind = bind_size, .kernel = size_or_null_kernel, .since = "1.5.0",
     .doc = "The number of elements; of NULL it is NULL, and -1 without ANSI.", .examples = {{"size(array('b', 'd', 'c', 'a'))", "4"}}},
    {.name = "array_size", ROW("array"), TOTAL, .signature = "(array) -> int", .kernel = size_kernel, .since = "3.3.0",
     .doc = "The number of elements.", .examples = {{"array_size(array('b', 'd', 'c', 'a'))", "4"}}},
    {.name = "map_keys", ROW("map"), TOTAL, .signature = "(map) -> ?", .bind = bind_map_part, .kernel = map_part_kernel, .since = "2.0.0",
     .doc = "The keys.", .examples = {{"map_keys(map(1, 'a', 2, 'b'))", "[1,2]"}}},
    {.name = "map_values", ROW("map"), TOTAL, .signature = "(map) -> ?", .bind = bind_map_part, .kernel = map_part_kernel, .since = "2.0.0",
     .doc = "The values.", .examples = {{"map_values(map(1, 'a', 2, 'b'))", "[\"a\",\"b\"]"}}},
    {.name = "map_entries", ROW("map"), TOTAL, .signature = "(map) -> ?", .bind = bind_map_part, .kernel = map_entries_kernel, .since = "3.0.0",
     .doc = "Keys and values as an array of structs.", .examples = {{"map_entries(map(1, 'a'))", "[{\"key\":1,\"value\":\"a\"}]"}}},
    {.name = "map_contains_key", ROW("map"), PLAIN, .signature = "(map, any) -> boolean", .bind = bind_map_contains, .kernel = map_contains_kernel, .since = "3.3.0",
     .doc = "Whether the map has the key.", .examples = {{"map_contains_key(map(1, 'a', 2, 'b'), 1)", "true"}}},
    {.name = "map_from_arrays", ROW("map"), TOTAL, .can_fail = true, .signature = "(array<K>, array<V>) -> map<K, V>", .kernel = map_from_arrays_kernel, .since = "2.4.0",
     .doc = "A map of two arrays.", .examples = {{"map_from_arrays(array(1, 2), array('a', 'b'))", "{1:\"a\",2:\"b\"}"}}},
    {.name = "map_from_entries", ROW("map"), PLAIN, .can_fail = true, .signature = "(array) -> ?", .bind = bind_map_from_entries, .kernel = map_from_entries_kernel, .since = "2.4.0",
     .doc = "A map of an array of pairs.", .examples = {{"map_from_entries(array(struct(1, 'a'), struct(2, 'b')))", "{1:\"a\",2:\"b\"}"}}},
    {.name = "map_concat", ROW("map"), TOTAL, .can_fail = true, .signature = "([any...]) -> ?", .bind = bind_map_concat, .kernel = map_concat_kernel, .since = "2.4.0",
     .doc = "All maps in one.", .examples = {{"map_concat(map(1, 'a'), map(2, 'b'))", "{1:\"a\",2:\"b\"}"}}},
};

NL_DEFINE_FUNCTION_GROUP(collection, rows);
