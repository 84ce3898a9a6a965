/* exec/source/predicate.c - see predicate.h. */
#include "exec/source/predicate.h"

typedef struct translation {
    nl_arena *arena;
    const nl_logical *scan;
    bool is_exact;
} translation;

/* The Iceberg column an expression stands for: a column of the table, or a field of a struct column. */
static bool find_field(const translation *self, const nl_expr *expr, const nl_field **field)
{
    if (expr->kind == NL_EXPR_FIELD) {
        const nl_field *parent;
        if (!find_field(self, expr->children[0], &parent) || parent->type->id != NL_TYPE_STRUCT) return false;
        *field = &parent->type->children[expr->ordinal];
        return (*field)->field_id != 0;
    }
    if (expr->kind != NL_EXPR_COLUMN) return false;
    const nl_type *row_type = self->scan->scan.table->row_type;
    for (uint32_t i = 0; i < self->scan->column_count; i++) {
        if (self->scan->columns[i].id != expr->column) continue;
        const uint32_t at = self->scan->scan.table_columns[i];
        if (at >= row_type->child_count) return false; /* metadata columns are not in the statistics */
        *field = &row_type->children[at];
        return (*field)->field_id != 0;
    }
    return false;
}

static bool is_prunable(const nl_type *type)
{
    return !nl_type_is_nested(type) && type->id != NL_TYPE_VARIANT && type->id != NL_TYPE_NULL && type->id != NL_TYPE_INTERVAL;
}

static const nl_predicate *unknown(translation *self)
{
    self->is_exact = false;
    return nl_predicate_true();
}

static bool is_nan(const nl_value *value)
{
    return (value->type->id == NL_TYPE_FLOAT || value->type->id == NL_TYPE_DOUBLE) && value->real != value->real;
}

static const nl_predicate *leaf(translation *self, nl_predicate_kind kind, const nl_field *field, const nl_value *value)
{
    nl_value copy = *value;
    copy.type = field->type;
    return nl_predicate_leaf(self->arena, kind, field->field_id, &copy, 1);
}

static const nl_predicate *not_null(translation *self, const nl_field *field)
{
    return nl_predicate_leaf(self->arena, NL_PREDICATE_NOT_NULL, field->field_id, NULL, 0);
}

/* An integer column widened for the comparison: CAST(c AS BIGINT) < 5 says the same as c < 5 while 5 fits c's type. */
static const nl_expr *strip_widening(const nl_expr *expr)
{
    if (expr->kind != NL_EXPR_CAST) return expr;
    const nl_type *from = expr->children[0]->type;
    return nl_type_is_integral(from) && nl_type_is_integral(expr->type) && from->id < expr->type->id ? expr->children[0] : expr;
}

static bool fits(const nl_type *type, const nl_value *value)
{
    if (type->physical == NL_PHYS_I32) return value->integer >= INT32_MIN && value->integer <= INT32_MAX;
    return type->physical == NL_PHYS_I64;
}

static nl_predicate_kind swapped(nl_predicate_kind kind) /* equality is symmetric */
{
    if (kind == NL_PREDICATE_LT) return NL_PREDICATE_GT;
    if (kind == NL_PREDICATE_LTE) return NL_PREDICATE_GTE;
    if (kind == NL_PREDICATE_GT) return NL_PREDICATE_LT;
    return kind == NL_PREDICATE_GTE ? NL_PREDICATE_LTE : kind;
}

static const nl_predicate *compare(translation *self, nl_predicate_kind kind, const nl_expr *left, const nl_expr *right, bool is_null_safe)
{
    if (left->kind == NL_EXPR_LITERAL) {
        const nl_expr *other = left;
        left = right;
        right = other;
        kind = swapped(kind);
    }
    const nl_field *field;
    const nl_expr *column = strip_widening(left);
    if (right->kind != NL_EXPR_LITERAL || !find_field(self, column, &field) || !is_prunable(field->type)) return unknown(self);
    const nl_value *value = &right->value;
    if (value->is_null) return is_null_safe ? nl_predicate_leaf(self->arena, NL_PREDICATE_IS_NULL, field->field_id, NULL, 0) : nl_predicate_false();
    if (is_nan(value)) return unknown(self);
    if (column != left ? !fits(field->type, value) : !nl_type_equal(field->type, value->type)) return unknown(self);
    const nl_predicate *comparison = leaf(self, kind, field, value);
    /* In SQL null is unequal to nothing: c <> 5 leaves null rows out. */
    return kind == NL_PREDICATE_NEQ ? nl_predicate_and(self->arena, not_null(self, field), comparison) : comparison;
}

static const nl_predicate *translate(translation *self, const nl_expr *expr);

static const nl_predicate *translate_in(translation *self, const nl_expr *expr, bool is_negated)
{
    const nl_field *field;
    const nl_expr *column = strip_widening(expr->children[0]);
    if (!find_field(self, column, &field) || !is_prunable(field->type)) return unknown(self);
    nl_value *values = NL_NEW_ARRAY(self->arena, nl_value, expr->child_count);
    uint32_t count = 0;
    for (uint32_t i = 1; i < expr->child_count; i++) {
        const nl_expr *item = expr->children[i];
        if (item->kind != NL_EXPR_LITERAL || is_nan(&item->value)) return unknown(self);
        if (item->value.is_null) {
            if (is_negated) return nl_predicate_false(); /* c NOT IN (…, NULL) is never true */
            continue;
        }
        if (column != expr->children[0] ? !fits(field->type, &item->value) : !nl_type_equal(field->type, item->value.type)) return unknown(self);
        values[count] = item->value;
        values[count++].type = field->type;
    }
    if (count == 0) return is_negated ? not_null(self, field) : nl_predicate_false();
    const nl_predicate_kind kind = is_negated ? NL_PREDICATE_NOT_IN : NL_PREDICATE_IN;
    const nl_predicate *among = nl_predicate_leaf(self->arena, kind, field->field_id, values, count);
    return is_negated ? nl_predicate_and(self->arena, not_null(self, field), among) : among;
}

static const nl_predicate *translate_null_test(translation *self, const nl_expr *expr)
{
    const nl_field *field;
    if (!find_field(self, expr->children[0], &field)) return unknown(self);
    if (nl_type_is_nested(field->type)) return unknown(self); /* structs have no counts of their own */
    const nl_predicate_kind kind = expr->kind == NL_EXPR_IS_NULL ? NL_PREDICATE_IS_NULL : NL_PREDICATE_NOT_NULL;
    return nl_predicate_leaf(self->arena, kind, field->field_id, NULL, 0);
}

/* A prefix is what stands before the first wildcard; 'abc%' alone is exactly that. */
static const nl_predicate *translate_like(translation *self, const nl_expr *expr)
{
    const nl_field *field;
    const nl_expr *pattern = expr->children[1];
    if (pattern->kind != NL_EXPR_LITERAL || pattern->value.is_null || !find_field(self, expr->children[0], &field)) return unknown(self);
    if (field->type->id != NL_TYPE_STRING || field->type->collation.length) return unknown(self);
    const nl_str text = pattern->value.text;
    size_t length = 0;
    while (length < text.length && !strchr("%_\\", text.data[length]))
        length++;
    if (length == 0) return unknown(self);
    if (!(length + 1 == text.length && text.data[length] == '%')) self->is_exact = false;
    const nl_value prefix = nl_value_string(nl_str_slice(text, 0, length));
    return leaf(self, NL_PREDICATE_STARTS_WITH, field, &prefix);
}

static const nl_predicate *translate_prefix(translation *self, const nl_expr *expr)
{
    const nl_field *field;
    const nl_expr *prefix = expr->children[1];
    if (prefix->kind != NL_EXPR_LITERAL || prefix->value.is_null || !find_field(self, expr->children[0], &field)) return unknown(self);
    if (field->type->id != NL_TYPE_STRING || field->type->collation.length || prefix->value.text.length == 0) return unknown(self);
    return leaf(self, NL_PREDICATE_STARTS_WITH, field, &prefix->value);
}

static const nl_predicate *translate_call(translation *self, const nl_expr *expr)
{
    static const struct {
        const char *name;
        nl_predicate_kind kind;
    } comparisons[] = {{"=", NL_PREDICATE_EQ},  {"==", NL_PREDICATE_EQ},   {"<", NL_PREDICATE_LT},    {"<=", NL_PREDICATE_LTE},
                       {">", NL_PREDICATE_GT},  {">=", NL_PREDICATE_GTE},  {"!=", NL_PREDICATE_NEQ},  {"<>", NL_PREDICATE_NEQ}};
    const nl_str name = nl_str_from(expr->function->row->name);
    if (expr->child_count != 2) return unknown(self);
    for (uint32_t i = 0; i < NL_COUNT(comparisons); i++)
        if (nl_str_is(name, comparisons[i].name)) return compare(self, comparisons[i].kind, expr->children[0], expr->children[1], false);
    if (nl_str_is(name, "<=>")) return compare(self, NL_PREDICATE_EQ, expr->children[0], expr->children[1], true);
    if (nl_str_is(name, "like")) return translate_like(self, expr);
    if (nl_str_is(name, "startswith")) return translate_prefix(self, expr);
    return unknown(self);
}

/* NOT of a comparison is the opposite comparison, for rows that are not null. */
static const nl_predicate *translate_not(translation *self, const nl_expr *expr)
{
    const nl_expr *child = expr->children[0];
    if (child->kind == NL_EXPR_IN) return translate_in(self, child, true);
    if (child->kind == NL_EXPR_NOT) return translate(self, child->children[0]);
    if (child->kind == NL_EXPR_CALL && child->child_count == 2) {
        static const char *const names[] = {"=", "==", "<", "<=", ">", ">="};
        static const nl_predicate_kind opposites[] = {NL_PREDICATE_NEQ, NL_PREDICATE_NEQ, NL_PREDICATE_GTE,
                                                      NL_PREDICATE_GT,  NL_PREDICATE_LTE, NL_PREDICATE_LT};
        for (uint32_t i = 0; i < NL_COUNT(names); i++)
            if (nl_str_is(nl_str_from(child->function->row->name), names[i]))
                return compare(self, opposites[i], child->children[0], child->children[1], false);
    }
    return unknown(self);
}

static const nl_predicate *translate(translation *self, const nl_expr *expr)
{
    switch (expr->kind) {
    case NL_EXPR_AND:
    case NL_EXPR_OR: {
        const nl_predicate *combined = translate(self, expr->children[0]);
        for (uint32_t i = 1; i < expr->child_count; i++) {
            const nl_predicate *next = translate(self, expr->children[i]);
            combined = expr->kind == NL_EXPR_AND ? nl_predicate_and(self->arena, combined, next) : nl_predicate_or(self->arena, combined, next);
        }
        return combined;
    }
    case NL_EXPR_NOT: return translate_not(self, expr);
    case NL_EXPR_IN: return translate_in(self, expr, false);
    case NL_EXPR_IS_NULL:
    case NL_EXPR_IS_NOT_NULL: return translate_null_test(self, expr);
    case NL_EXPR_CALL: return translate_call(self, expr);
    case NL_EXPR_LITERAL:
        if (expr->type->id == NL_TYPE_BOOLEAN) return !expr->value.is_null && expr->value.boolean ? nl_predicate_true() : nl_predicate_false();
        return unknown(self);
    case NL_EXPR_COLUMN: { /* a boolean column by itself */
        const nl_field *field;
        const nl_value truth = nl_value_boolean(true);
        if (expr->type->id != NL_TYPE_BOOLEAN || !find_field(self, expr, &field)) return unknown(self);
        return leaf(self, NL_PREDICATE_EQ, field, &truth);
    }
    case NL_EXPR_OUTER:
    case NL_EXPR_CAST:
    case NL_EXPR_CASE:
    case NL_EXPR_COALESCE:
    case NL_EXPR_FIELD:
    case NL_EXPR_LAMBDA:
    case NL_EXPR_PARAMETER:
    case NL_EXPR_AGGREGATE:
    case NL_EXPR_WINDOW:
    case NL_EXPR_GROUPING:
    case NL_EXPR_PYTHON:
    case NL_EXPR_SUBQUERY: break;
    }
    return unknown(self);
}

nl_status nl_predicate_of_expr(nl_arena *arena, const nl_expr *filter, const nl_logical *scan, const nl_predicate **predicate, bool *is_exact)
{
    translation self = {.arena = arena, .scan = scan, .is_exact = true};
    *predicate = filter ? translate(&self, filter) : nl_predicate_true();
    if (is_exact) *is_exact = self.is_exact;
    return nl_arena_check(arena);
}
