/* scalar/collection_bind.c - type rules of array and map functions. */
#include "function/scalar/collection_bind.h"

#include "function/coercion.h"

static bool is_datetime(const nl_type *type)
{
    return type->id == NL_TYPE_DATE || type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ;
}

static bool is_wider(const nl_type *decimal, const nl_type *whole)
{
    const nl_type *other = nl_decimal_of_integer(whole);
    return decimal->scale >= other->scale && decimal->precision - decimal->scale >= other->precision - other->scale;
}

typedef const nl_type *(*joiner)(nl_arena *arena, const nl_type *a, const nl_type *b, nl_type_rules rules);

/* Two types of one shape, part by part. Depth is bounded by NL_TYPE_DEPTH_MAX. */
static const nl_type *join_parts(nl_arena *arena, const nl_type *a, const nl_type *b, nl_type_rules rules, joiner join)
{
    if (a->id != b->id || a->child_count != b->child_count) return NULL;
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, a->child_count + 1);
    for (uint32_t i = 0; i < a->child_count; i++) {
        if (a->id == NL_TYPE_STRUCT && !nl_str_equal_nocase(a->children[i].name, b->children[i].name)) return NULL;
        fields[i] = a->children[i];
        fields[i].is_nullable = a->children[i].is_nullable || b->children[i].is_nullable;
        fields[i].type = join(arena, a->children[i].type, b->children[i].type, rules);
        if (fields[i].type == NULL) return NULL;
    }
    bool contains_null = a->contains_null || b->contains_null;
    if (a->id == NL_TYPE_ARRAY) return nl_type_array(arena, fields[0].type, contains_null);
    if (a->id == NL_TYPE_MAP) return nl_type_map(arena, fields[0].type, fields[1].type, contains_null);
    return a->id == NL_TYPE_STRUCT ? nl_type_struct(arena, fields, a->child_count) : NULL;
}

const nl_type *nl_tightest_type(nl_arena *arena, const nl_type *a, const nl_type *b, nl_type_rules rules)
{
    if (a->id == NL_TYPE_NULL) return b;
    if (b->id == NL_TYPE_NULL || nl_type_equal(a, b)) return a;
    if (nl_type_is_nested(a) || nl_type_is_nested(b)) return join_parts(arena, a, b, rules, nl_tightest_type);
    if (a->id == NL_TYPE_DECIMAL || b->id == NL_TYPE_DECIMAL) {
        const nl_type *decimal = a->id == NL_TYPE_DECIMAL ? a : b;
        const nl_type *other = decimal == a ? b : a;
        return nl_type_is_integral(other) && is_wider(decimal, other) ? decimal : NULL;
    }
    bool same_kind = (nl_type_is_numeric(a) && nl_type_is_numeric(b)) || (is_datetime(a) && is_datetime(b)) ||
                     (a->id == b->id && a->id != NL_TYPE_STRING);
    return same_kind ? nl_common_type(arena, a, b, rules) : NULL;
}

const nl_type *nl_common_type_but_text(nl_arena *arena, const nl_type *a, const nl_type *b, nl_type_rules rules)
{
    if (a->id == NL_TYPE_NULL) return b;
    if (b->id == NL_TYPE_NULL || nl_type_equal(a, b)) return a;
    if (nl_type_is_nested(a) || nl_type_is_nested(b)) return join_parts(arena, a, b, rules, nl_common_type_but_text);
    if ((a->id == NL_TYPE_STRING) != (b->id == NL_TYPE_STRING)) return NULL;
    return nl_common_type(arena, a, b, rules);
}

nl_status nl_bind_null_type(const nl_bind *bind)
{
    return NL_RAISE(DATATYPE_MISMATCH__NULL_TYPE, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                    NL_P_STR("functionName", nl_quoted_name(bind)));
}

nl_status nl_bind_array_diff_types(const nl_bind *bind, uint32_t element)
{
    nl_arena *arena = bind->arena;
    return NL_RAISE(DATATYPE_MISMATCH__ARRAY_FUNCTION_DIFF_TYPES, NL_P_STR("sqlExpr", nl_quoted(arena, nl_bind_call_sql(bind))),
                    NL_P_STR("functionName", nl_quoted_name(bind)), NL_P("dataType", "\"ARRAY\""),
                    NL_P_STR("leftType", nl_quoted_type(arena, bind->argument_types[0])),
                    NL_P_STR("rightType", nl_quoted_type(arena, bind->argument_types[element])));
}

/* The array's elements and the value as one type. False when there is none. */
static bool unify(nl_bind *bind, uint32_t element, joiner join)
{
    const nl_type **types = bind->argument_types;
    const nl_type *joined = join(bind->arena, types[0]->children[0].type, types[element], nl_confs_rules(bind->confs));
    if (joined == NULL) return false;
    types[0] = nl_type_array(bind->arena, joined, types[0]->contains_null);
    types[element] = joined;
    return true;
}

nl_status nl_bind_array_contains(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    const nl_type **types = bind->argument_types;
    if (types[0]->id == NL_TYPE_NULL || types[1]->id == NL_TYPE_NULL) return nl_bind_null_type(bind);
    if (types[0]->id != NL_TYPE_ARRAY) return nl_bind_unexpected_type(bind, 0, "\"ARRAY\"");
    if (!unify(bind, 1, nl_common_type_but_text)) return nl_bind_array_diff_types(bind, 1);
    return nl_type_is_orderable(types[1]) ? NULL : nl_bind_not_orderable(bind, types[1]);
}

nl_status nl_bind_array_position(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    const nl_type **types = bind->argument_types;
    if (types[0]->id == NL_TYPE_NULL) return nl_bind_null_type(bind);
    if (types[0]->id != NL_TYPE_ARRAY) return nl_bind_unexpected_type(bind, 0, "\"ARRAY\"");
    if (!unify(bind, 1, nl_tightest_type)) return nl_bind_array_diff_types(bind, 1);
    return nl_type_is_orderable(types[1]) ? NULL : nl_bind_not_orderable(bind, types[1]);
}

nl_status nl_bind_array_change(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type **types = bind->argument_types;
    const char *name = bind->row->name;
    uint32_t element = bind->argument_count - 1;
    bool adds = strcmp(name, "array_remove") != 0;
    bool is_insert = strcmp(name, "array_insert") == 0;
    if (types[0]->id != NL_TYPE_ARRAY && adds && !is_insert) return nl_bind_unexpected_type(bind, 0, "\"ARRAY\"");
    if (types[0]->id != NL_TYPE_ARRAY) return types[0]->id == NL_TYPE_NULL ? nl_bind_null_type(bind) : nl_bind_array_diff_types(bind, element);
    if (!unify(bind, element, nl_tightest_type)) return nl_bind_array_diff_types(bind, element);
    bound->result_type = adds ? nl_type_array(bind->arena, types[element], true) : types[0];
    return NULL;
}

nl_status nl_bind_two_arrays(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type **types = bind->argument_types;
    nl_arena *arena = bind->arena;
    const nl_type *joined = NULL;
    bool are_arrays = types[0]->id == NL_TYPE_ARRAY && types[1]->id == NL_TYPE_ARRAY;
    if (are_arrays) joined = nl_tightest_type(arena, types[0], types[1], nl_confs_rules(bind->confs));
    if (joined == NULL)
        return NL_RAISE(DATATYPE_MISMATCH__BINARY_ARRAY_DIFF_TYPES, NL_P_STR("sqlExpr", nl_quoted(arena, nl_bind_call_sql(bind))),
                        NL_P_STR("functionName", nl_quoted_name(bind)), NL_P("arrayType", "\"ARRAY\""),
                        NL_P_STR("leftType", nl_quoted_type(arena, types[0])), NL_P_STR("rightType", nl_quoted_type(arena, types[1])));
    if (!nl_type_is_orderable(joined->children[0].type)) return nl_bind_not_orderable(bind, joined->children[0].type);
    types[0] = types[1] = joined;
    if (bound->result_type == NULL) bound->result_type = joined;
    return NULL;
}

nl_status nl_bind_map_key(nl_bind *bind, uint32_t key)
{
    const nl_type **types = bind->argument_types;
    nl_arena *arena = bind->arena;
    const nl_type *map = types[0];
    const bool is_wide = strcmp(bind->row->name, "map_contains_key") == 0; /* which is array_contains of the keys in Spark */
    const nl_type *joined = (is_wide ? nl_common_type_but_text : nl_tightest_type)(arena, map->children[0].type, types[key], nl_confs_rules(bind->confs));
    if (joined == NULL)
        return NL_RAISE(DATATYPE_MISMATCH__MAP_FUNCTION_DIFF_TYPES, NL_P_STR("sqlExpr", nl_quoted(arena, nl_bind_call_sql(bind))),
                        NL_P_STR("functionName", nl_quoted_name(bind)), NL_P("dataType", "\"MAP\""),
                        NL_P_STR("leftType", nl_quoted_type(arena, map)), NL_P_STR("rightType", nl_quoted_type(arena, types[key])));
    if (!nl_type_equal(joined, map->children[0].type)) types[0] = nl_type_map(arena, joined, map->children[1].type, map->contains_null);
    types[key] = joined;
    return NULL;
}
