/* Array functions over strings with a collation, written as others over collation keys: elements are compared by their keys,
 * and the answer is made of the elements as they are. Sets of elements are looked through one element at a time.
 */
#include "plan/analyzer/analyzer.h"

typedef struct rewriting {
    nl_scope *scope;
    nl_arena *arena;
} rewriting;

static bool is_collated_array(const nl_expr *expr)
{
    return expr->type->id == NL_TYPE_ARRAY && expr->type->children[0].type->id == NL_TYPE_STRING && expr->type->children[0].type->collation.length > 0;
}

static const nl_expr *new_variable(const rewriting *r, const nl_type *type, bool is_nullable)
{
    nl_expr *variable = NL_NEW(r->arena, nl_expr);
    *variable = *nl_expr_column(r->arena, nl_plan_new_id(r->scope->env->context), NL_STR("x"), type, is_nullable);
    variable->kind = NL_EXPR_PARAMETER;
    return variable;
}

/* function(array, (variables) -> body) */
static nl_status call_lambda(const rewriting *r, const char *function, const nl_expr *array, const nl_expr *const *variables, uint32_t count, const nl_expr *body, const nl_expr **result)
{
    nl_column_id *ids = NL_NEW_ARRAY(r->arena, nl_column_id, count);
    const nl_type **types = NL_NEW_ARRAY(r->arena, const nl_type *, count);
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = variables[i]->column;
        types[i] = variables[i]->type;
    }
    nl_expr *lambda = nl_expr_new(r->arena, NL_EXPR_LAMBDA, body->type, &body, 1);
    lambda->parameters = ids;
    lambda->parameter_types = types;
    lambda->parameter_count = count;
    const nl_expr *const args[] = {array, lambda};
    return nl_call_bound(r->scope, nl_str_from(function), args, NL_COUNT(args), result);
}

static nl_status key_of(const rewriting *r, const nl_expr *text, const nl_expr **key)
{
    return nl_call_function(r->scope, NL_STR("collation_key"), &text, 1, key);
}

static nl_status keys_of(const rewriting *r, const nl_expr *array, const nl_expr **keys)
{
    const nl_field *element = &array->type->children[0];
    const nl_expr *x = new_variable(r, element->type, element->is_nullable), *key = NULL;
    NL_TRY(key_of(r, x, &key));
    return call_lambda(r, "transform", array, &x, 1, key, keys);
}

/* exists(array, y -> key(y) <=> key(x)) */
static nl_status holds_element(const rewriting *r, const nl_expr *array, const nl_expr *x, const nl_expr **found)
{
    const nl_field *element = &array->type->children[0];
    const nl_expr *y = new_variable(r, element->type, element->is_nullable), *pair[2] = {NULL, NULL}, *same = NULL;
    NL_TRY(key_of(r, y, &pair[0]));
    NL_TRY(key_of(r, x, &pair[1]));
    NL_TRY(nl_call_function(r->scope, NL_STR("<=>"), pair, 2, &same));
    return call_lambda(r, "exists", array, &y, 1, same, found);
}

/* filter(array, (x, i) -> NOT exists(slice(array, 1, i), …)): the first of equal ones stays. */
static nl_status distinct(const rewriting *r, const nl_expr *array, const nl_expr **result)
{
    const nl_field *element = &array->type->children[0];
    const nl_expr *const variables[] = {new_variable(r, element->type, element->is_nullable), new_variable(r, nl_type_int(), false)};
    const nl_value one = nl_value_int(nl_type_int(), 1);
    const nl_expr *const slice[] = {array, nl_expr_literal(r->arena, &one), variables[1]};
    const nl_expr *before = NULL, *found = NULL;
    NL_TRY(nl_call_bound(r->scope, NL_STR("slice"), slice, NL_COUNT(slice), &before));
    NL_TRY(holds_element(r, before, variables[0], &found));
    return call_lambda(r, "filter", array, variables, 2, nl_expr_not(r->arena, found), result);
}

/* The distinct elements of one array that the other has, or has not. */
static nl_status common(const rewriting *r, const nl_expr *array, const nl_expr *other, bool is_wanted, const nl_expr **result)
{
    const nl_field *element = &array->type->children[0];
    const nl_expr *x = new_variable(r, element->type, element->is_nullable), *once = NULL, *found = NULL;
    NL_TRY(distinct(r, array, &once));
    NL_TRY(holds_element(r, other, x, &found));
    return call_lambda(r, "filter", once, &x, 1, is_wanted ? found : nl_expr_not(r->arena, found), result);
}

static nl_status call_over_keys(const rewriting *r, nl_str name, const nl_expr *const *args, uint32_t count, const nl_expr **result)
{
    const nl_expr *keys[2] = {NULL, NULL};
    NL_CHECK(count == 2);
    NL_TRY(keys_of(r, args[0], &keys[0]));
    NL_TRY(args[1]->type->id == NL_TYPE_ARRAY ? keys_of(r, args[1], &keys[1]) : key_of(r, args[1], &keys[1]));
    return nl_call_bound(r->scope, name, keys, 2, result);
}

/* A second argument that is a string literal, or an array of such, takes the first's collation. */
static const nl_expr *second(const rewriting *r, const nl_expr *first, const nl_expr *other)
{
    const nl_type *element = first->type->children[0].type;
    const bool is_string = other->type->id == NL_TYPE_STRING;
    if (is_string && other->type->collation.length == 0) {
        const nl_pretty *pretty = nl_expr_pretty(r->arena, other);
        if (other->kind == NL_EXPR_LITERAL)
            pretty = nl_pretty_text(r->arena, nl_arena_f(r->arena, "'" NL_STR_FMT "' collate " NL_STR_FMT, NL_STR_ARG(nl_expr_pretty_str(r->arena, other)), NL_STR_ARG(element->collation)));
        return nl_expr_with_pretty(r->arena, nl_expr_cast(r->arena, other, element, NL_CAST_ANSI), pretty);
    }
    if (other->type->id == NL_TYPE_ARRAY && !is_collated_array(other) && other->type->children[0].type->id == NL_TYPE_STRING)
        return nl_expr_with_pretty(r->arena, nl_expr_cast(r->arena, other, first->type, NL_CAST_ANSI), nl_expr_pretty(r->arena, other));
    return other;
}

static nl_status rewrite(const rewriting *r, nl_str name, const nl_expr *const *args, uint32_t count, const nl_expr **result)
{
    static const char *const over_keys[] = {"array_contains", "array_position", "arrays_overlap"};
    *result = NULL;
    for (size_t i = 0; i < NL_COUNT(over_keys); i++)
        if (count == 2 && nl_str_is_nocase(name, over_keys[i])) return call_over_keys(r, name, args, count, result);
    if (count == 1 && nl_str_is_nocase(name, "array_distinct")) return distinct(r, args[0], result);
    if (count == 2 && nl_str_is_nocase(name, "array_intersect")) return common(r, args[0], args[1], true, result);
    if (count == 2 && nl_str_is_nocase(name, "array_except")) return common(r, args[0], args[1], false, result);
    if (count == 2 && nl_str_is_nocase(name, "array_union")) {
        const nl_expr *all = NULL;
        NL_TRY(nl_call_bound(r->scope, NL_STR("concat"), args, 2, &all));
        return distinct(r, all, result);
    }
    return NULL;
}

nl_status nl_collate_array_call(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, bool *is_done, const nl_expr **result)
{
    /* These do not look into the elements. */
    static const char *const keeping[] = {"element_at", "try_element_at", "get", "slice", "reverse", "array_append", "array_prepend", "array_insert", "array_repeat", "flatten", "shuffle",
                                          "array_compact", "arrays_zip", "transform", "filter", "exists", "forall", "aggregate", "reduce", "zip_with", "array_size"};
    const rewriting r = {.scope = scope, .arena = nl_scope_arena(scope)};
    const nl_expr *both[2] = {NULL, NULL}, *made = NULL;
    *is_done = false;
    if (count == 0 || !is_collated_array(args[0])) return NULL;
    for (size_t i = 0; i < NL_COUNT(keeping); i++)
        if (nl_str_is_nocase(name, keeping[i])) {
            *is_done = true;
            return nl_call_bound(scope, name, args, count, result);
        }
    for (uint32_t i = 0; i < count && i < 2; i++) both[i] = i ? second(&r, args[0], args[i]) : args[0];
    if (count > 2) return NULL;
    NL_TRY(rewrite(&r, name, both, count, &made));
    if (!made) return NULL;
    *is_done = true;
    *result = nl_expr_with_pretty(r.arena, made, nl_pretty_call(scope, name, both, count));
    return NULL;
}
