/* The makers of typed expressions, and the facts about them that plans ask for. */
#include "plan/expr.h"

#include "function/coercion.h"

static nl_span span_of(const nl_expr *const *children, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (children[i]->span.stop) return children[i]->span;
    return (nl_span){0};
}

static bool any_nullable(const nl_expr *const *children, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (children[i]->is_nullable) return true;
    return false;
}

nl_expr *nl_expr_new(nl_arena *arena, nl_expr_kind kind, const nl_type *type, const nl_expr *const *children,
                     uint32_t child_count)
{
    nl_expr *expr = NL_NEW(arena, nl_expr);
    expr->kind = kind;
    expr->type = type;
    expr->span = span_of(children, child_count);
    expr->is_nullable = any_nullable(children, child_count);
    expr->child_count = child_count;
    if (child_count) {
        const nl_expr **copy = NL_NEW_ARRAY(arena, const nl_expr *, child_count);
        memcpy(copy, children, child_count * sizeof *copy);
        expr->children = copy;
    }
    return expr;
}

const nl_expr *nl_expr_literal(nl_arena *arena, const nl_value *value)
{
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_LITERAL, value->type, NULL, 0);
    expr->value = nl_value_copy(arena, value);
    expr->is_nullable = value->is_null;
    return expr;
}

const nl_expr *nl_expr_boolean(nl_arena *arena, bool value)
{
    const nl_value boolean = nl_value_boolean(value);
    return nl_expr_literal(arena, &boolean);
}

const nl_expr *nl_expr_column(nl_arena *arena, nl_column_id column, nl_str name, const nl_type *type, bool is_nullable)
{
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_COLUMN, type, NULL, 0);
    expr->column = column;
    expr->name = name;
    expr->is_nullable = is_nullable;
    return expr;
}

const nl_expr *nl_expr_outer(nl_arena *arena, const nl_expr *column)
{
    NL_ASSERT(column->kind == NL_EXPR_COLUMN);
    nl_expr *expr = NL_NEW(arena, nl_expr);
    *expr = *column;
    expr->kind = NL_EXPR_OUTER;
    return expr;
}

const nl_expr *nl_expr_call(nl_arena *arena, const nl_bound_function *function, const nl_expr *const *arguments,
                            uint32_t count)
{
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_CALL, function->result_type, arguments, count);
    expr->function = function;
    expr->is_nullable = function->is_nullable;
    if (function->row && function->row->kind == NL_FUNCTION_SCALAR && function->row->nulls == NL_NULL_IN_NULL_OUT)
        for (uint32_t i = 0; i < count; i++) /* a cast argument may be null where the written one is not */
            if (arguments[i]->kind == NL_EXPR_CAST && arguments[i]->is_nullable) expr->is_nullable = true;
    return expr;
}

/* The digits before and behind the point that a number of the type needs; false: reals need any. */
static bool digits_of(const nl_type *type, int *whole, int *scale)
{
    *scale = type->id == NL_TYPE_DECIMAL ? type->scale : 0;
    switch ((int)type->id) {
    case NL_TYPE_BOOLEAN: *whole = 1; return true;
    case NL_TYPE_TINYINT: *whole = 3; return true;
    case NL_TYPE_SMALLINT: *whole = 5; return true;
    case NL_TYPE_INT: *whole = 10; return true;
    case NL_TYPE_BIGINT: *whole = 20; return true;
    case NL_TYPE_DECIMAL: *whole = type->precision - type->scale; return true;
    default: return false;
    }
}

/* Casts whose result Spark declares nullable, also where it rather fails. */
static bool may_lose(const nl_type *from, const nl_type *to)
{
    const bool from_real = from->id == NL_TYPE_FLOAT || from->id == NL_TYPE_DOUBLE;
    int whole, scale, to_whole, to_scale;
    if (from->id == NL_TYPE_NULL || to->id == NL_TYPE_STRING) return false;
    if (from->id == NL_TYPE_VARIANT) return true;
    if (from->id == NL_TYPE_STRING) return to->id != NL_TYPE_BINARY;
    if (to->id == NL_TYPE_DATE) return from->id != NL_TYPE_TIMESTAMP;
    if (from->id == NL_TYPE_DATE) return to->id != NL_TYPE_TIMESTAMP;
    if (from->id == NL_TYPE_TIMESTAMP) return to->id == NL_TYPE_TINYINT || to->id == NL_TYPE_SMALLINT || to->id == NL_TYPE_INT;
    if (from_real && to->id == NL_TYPE_TIMESTAMP) return true;
    if (to->id == NL_TYPE_DECIMAL) {
        if (!digits_of(from, &whole, &scale) || !digits_of(to, &to_whole, &to_scale)) return true;
        return from->id == NL_TYPE_DECIMAL ? to_whole <= whole && (to_whole < whole || to_scale < scale) : to_whole < whole;
    }
    return (from_real || from->id == NL_TYPE_DECIMAL) && nl_type_is_integral(to);
}

const nl_expr *nl_expr_cast(nl_arena *arena, const nl_expr *child, const nl_type *type, nl_cast_mode mode)
{
    nl_expr *expr;
    if (nl_type_equal(child->type, type)) {
        if (child->type->precision == type->precision) return child;
        expr = NL_NEW(arena, nl_expr); /* a timestamp that shows other digits: Trino's dialect */
        *expr = *child;
        expr->type = type;
        return expr;
    }
    if (child->kind == NL_EXPR_LITERAL && child->value.is_null) {
        expr = NL_NEW(arena, nl_expr);
        *expr = *child;
        expr->type = type;
        expr->value = nl_value_null(type);
        if (!expr->pretty) expr->pretty = nl_pretty_text(arena, NL_STR("NULL"));
        return expr;
    }
    expr = nl_expr_new(arena, NL_EXPR_CAST, type, &child, 1);
    expr->cast_mode = mode;
    expr->pretty = nl_expr_pretty(arena, child);
    bool is_ansi = mode == NL_CAST_ANSI || mode == NL_CAST_STORE;
    if (!is_ansi && nl_cast_can_fail(child->type, type, false)) expr->is_nullable = true;
    if (mode != NL_CAST_STORE && may_lose(child->type, type)) expr->is_nullable = true;
    return expr;
}

static const nl_expr *connect(nl_arena *arena, nl_expr_kind kind, const nl_expr *a, const nl_expr *b)
{
    if (!a) return b;
    if (!b) return a;
    nl_list children = {0};
    const nl_expr *const sides[] = {a, b};
    for (int side = 0; side < 2; side++) {
        if (sides[side]->kind == kind) {
            for (uint32_t i = 0; i < sides[side]->child_count; i++)
                nl_list_add(arena, &children, NL_UNCONST(sides[side]->children[i]));
        } else {
            nl_list_add(arena, &children, NL_UNCONST(sides[side]));
        }
    }
    return nl_expr_new(arena, kind, nl_type_boolean(), (const nl_expr *const *)(void *)children.items, children.count);
}

const nl_expr *nl_expr_and(nl_arena *arena, const nl_expr *a, const nl_expr *b)
{
    return connect(arena, NL_EXPR_AND, a, b);
}

const nl_expr *nl_expr_or(nl_arena *arena, const nl_expr *a, const nl_expr *b)
{
    return connect(arena, NL_EXPR_OR, a, b);
}

const nl_expr *nl_expr_not(nl_arena *arena, const nl_expr *a)
{
    return nl_expr_new(arena, NL_EXPR_NOT, nl_type_boolean(), &a, 1);
}

const nl_expr *nl_expr_is_null(nl_arena *arena, const nl_expr *a, bool is_negated)
{
    nl_expr *expr = nl_expr_new(arena, is_negated ? NL_EXPR_IS_NOT_NULL : NL_EXPR_IS_NULL, nl_type_boolean(), &a, 1);
    expr->is_nullable = false;
    return expr;
}

const nl_expr *nl_expr_field(nl_arena *arena, const nl_expr *child, uint32_t ordinal)
{
    NL_ASSERT(child->type->id == NL_TYPE_STRUCT && ordinal < child->type->child_count);
    const nl_field *field = &child->type->children[ordinal];
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_FIELD, field->type, &child, 1);
    expr->ordinal = ordinal;
    expr->is_nullable = child->is_nullable || field->is_nullable;
    return expr;
}

const nl_expr *nl_expr_if(nl_arena *arena, const nl_expr *condition, const nl_expr *then, const nl_expr *otherwise)
{
    const nl_expr *const children[] = {condition, then, otherwise};
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_CASE, then->type, children, 3);
    expr->is_nullable = then->is_nullable || otherwise->is_nullable;
    return expr;
}

const nl_expr *nl_expr_coalesce(nl_arena *arena, const nl_expr *const *children, uint32_t count)
{
    NL_ASSERT(count > 0);
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_COALESCE, children[0]->type, children, count);
    for (uint32_t i = 0; i < count; i++)
        if (!children[i]->is_nullable) expr->is_nullable = false;
    return expr;
}

const nl_expr *nl_expr_with_span(nl_arena *arena, const nl_expr *expr, nl_span span)
{
    nl_expr *copy = NL_NEW(arena, nl_expr);
    *copy = *expr;
    copy->span = span;
    return copy;
}

const nl_expr *nl_expr_with_pretty(nl_arena *arena, const nl_expr *expr, const nl_pretty *pretty)
{
    nl_expr *copy = NL_NEW(arena, nl_expr);
    *copy = *expr;
    copy->pretty = pretty;
    return copy;
}

nl_status nl_expr_call_named(nl_arena *arena, const nl_eval_confs *confs, const char *name,
                             const nl_expr *const *arguments, uint32_t count, const nl_expr **call)
{
    const nl_function_row *const *rows;
    uint32_t row_count = nl_function_find(nl_str_from(name), &rows);
    if (row_count == 0) return NL_RAISE(INTERNAL_ERROR, NL_P("message", "a rule calls a function that is not there"));
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, count + 1);
    bool *nullable = NL_NEW_ARRAY(arena, bool, count + 1);
    const nl_value **constants = NL_NEW_ARRAY(arena, const nl_value *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        types[i] = arguments[i]->type;
        nullable[i] = arguments[i]->is_nullable;
        constants[i] = arguments[i]->kind == NL_EXPR_LITERAL ? &arguments[i]->value : NULL;
    }
    nl_bind bind = {
        .row = rows[0],
        .arena = arena,
        .confs = confs,
        .name = nl_str_from(name),
        .argument_count = count,
        .argument_types = types,
        .argument_nullable = nullable,
        .constants = constants,
    };
    const nl_bound_function *bound = NULL;
    NL_TRY(nl_function_bind(&bind, rows, row_count, &bound));
    const nl_expr **cast = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    nl_cast_mode mode = confs->is_ansi ? NL_CAST_ANSI : NL_CAST_LEGACY;
    for (uint32_t i = 0; i < count; i++)
        cast[i] = nl_expr_cast(arena, arguments[i], bound->argument_types[i], mode);
    *call = nl_expr_call(arena, bound, cast, count);
    return NULL;
}

static bool is_not_constant_node(const nl_expr *expr)
{
    static const bool varies[] = {[NL_EXPR_COLUMN] = true,    [NL_EXPR_OUTER] = true,    [NL_EXPR_AGGREGATE] = true,
                                  [NL_EXPR_WINDOW] = true,    [NL_EXPR_PYTHON] = true,   [NL_EXPR_GROUPING] = true, [NL_EXPR_SUBQUERY] = true};
    _Static_assert(NL_COUNT(varies) == NL_EXPR_SUBQUERY + 1, "a row for the last kind");
    return expr->kind == NL_EXPR_CALL ? !expr->function->is_deterministic : varies[expr->kind];
}

/* A parameter inside its lambda is fine: the lambda as a whole is constant. */
static bool visit_constant(void *context, const nl_expr *expr)
{
    (void)context;
    return !is_not_constant_node(expr);
}

bool nl_expr_is_constant(const nl_expr *expr)
{
    return expr->kind != NL_EXPR_PARAMETER && nl_expr_walk(expr, visit_constant, NULL);
}

static bool visit_deterministic(void *context, const nl_expr *expr)
{
    (void)context;
    if (expr->kind == NL_EXPR_CALL) return expr->function->is_deterministic;
    return expr->kind != NL_EXPR_PYTHON; /* whatever it promises: rules must not move, share or repeat it */
}

bool nl_expr_is_deterministic(const nl_expr *expr)
{
    return nl_expr_walk(expr, visit_deterministic, NULL);
}

static bool visit_safe(void *context, const nl_expr *expr)
{
    (void)context;
    if (expr->kind == NL_EXPR_CALL) return !expr->function->can_fail;
    if (expr->kind == NL_EXPR_PYTHON) return false;
    if (expr->kind == NL_EXPR_AGGREGATE || expr->kind == NL_EXPR_WINDOW) return !expr->call->can_fail;
    if (expr->kind == NL_EXPR_SUBQUERY) return expr->subquery_kind != NL_SUBQUERY_SCALAR;
    if (expr->kind != NL_EXPR_CAST || expr->cast_mode == NL_CAST_TRY || expr->cast_mode == NL_CAST_LEGACY) return true;
    return !nl_cast_can_fail(expr->children[0]->type, expr->type, true);
}

bool nl_expr_can_fail(const nl_expr *expr)
{
    return !nl_expr_walk(expr, visit_safe, NULL);
}

static bool visit_not_kind(void *context, const nl_expr *expr)
{
    return expr->kind != *(const nl_expr_kind *)context;
}

bool nl_expr_has(const nl_expr *expr, nl_expr_kind kind)
{
    return !nl_expr_walk(expr, visit_not_kind, &kind);
}

void nl_expr_conjuncts(nl_arena *arena, const nl_expr *expr, nl_list *conjuncts)
{
    if (!expr) return;
    if (expr->kind != NL_EXPR_AND) {
        nl_list_add(arena, conjuncts, NL_UNCONST(expr));
        return;
    }
    for (uint32_t i = 0; i < expr->child_count; i++)
        nl_expr_conjuncts(arena, expr->children[i], conjuncts);
}
