/* iceberg/expression.c - making predicates, negating and printing them. */
#include "iceberg/expression.h"

static const nl_predicate always_true = {.kind = NL_PREDICATE_TRUE};
static const nl_predicate always_false = {.kind = NL_PREDICATE_FALSE};

const nl_predicate *nl_predicate_true(void)
{
    return &always_true;
}

const nl_predicate *nl_predicate_false(void)
{
    return &always_false;
}

static void add_children(nl_arena *arena, nl_list *list, nl_predicate_kind kind, const nl_predicate *predicate)
{
    if (predicate->kind != kind) {
        nl_list_add(arena, list, (void *)(uintptr_t)predicate);
        return;
    }
    for (uint32_t i = 0; i < predicate->child_count; i++)
        nl_list_add(arena, list, (void *)(uintptr_t)predicate->children[i]);
}

static const nl_predicate *combine(nl_arena *arena, nl_predicate_kind kind, const nl_predicate *a, const nl_predicate *b)
{
    nl_list children = {0};
    add_children(arena, &children, kind, a);
    add_children(arena, &children, kind, b);
    nl_predicate *made = NL_NEW(arena, nl_predicate);
    made->kind = kind;
    made->children = (const nl_predicate *const *)(const void *)children.items;
    made->child_count = children.count;
    return made;
}

const nl_predicate *nl_predicate_and(nl_arena *arena, const nl_predicate *a, const nl_predicate *b)
{
    if (!a || a->kind == NL_PREDICATE_TRUE) return b ? b : &always_true;
    if (!b || b->kind == NL_PREDICATE_TRUE) return a;
    if (a->kind == NL_PREDICATE_FALSE || b->kind == NL_PREDICATE_FALSE) return &always_false;
    return combine(arena, NL_PREDICATE_AND, a, b);
}

const nl_predicate *nl_predicate_or(nl_arena *arena, const nl_predicate *a, const nl_predicate *b)
{
    if (!a || !b || a->kind == NL_PREDICATE_TRUE || b->kind == NL_PREDICATE_TRUE) return &always_true;
    if (a->kind == NL_PREDICATE_FALSE) return b;
    if (b->kind == NL_PREDICATE_FALSE) return a;
    return combine(arena, NL_PREDICATE_OR, a, b);
}

static nl_predicate_kind opposite(nl_predicate_kind kind)
{
    switch (kind) {
    case NL_PREDICATE_TRUE: return NL_PREDICATE_FALSE;
    case NL_PREDICATE_FALSE: return NL_PREDICATE_TRUE;
    case NL_PREDICATE_AND: return NL_PREDICATE_OR;
    case NL_PREDICATE_OR: return NL_PREDICATE_AND;
    case NL_PREDICATE_NOT: break;
    case NL_PREDICATE_IS_NULL: return NL_PREDICATE_NOT_NULL;
    case NL_PREDICATE_NOT_NULL: return NL_PREDICATE_IS_NULL;
    case NL_PREDICATE_IS_NAN: return NL_PREDICATE_NOT_NAN;
    case NL_PREDICATE_NOT_NAN: return NL_PREDICATE_IS_NAN;
    case NL_PREDICATE_LT: return NL_PREDICATE_GTE;
    case NL_PREDICATE_LTE: return NL_PREDICATE_GT;
    case NL_PREDICATE_GT: return NL_PREDICATE_LTE;
    case NL_PREDICATE_GTE: return NL_PREDICATE_LT;
    case NL_PREDICATE_EQ: return NL_PREDICATE_NEQ;
    case NL_PREDICATE_NEQ: return NL_PREDICATE_EQ;
    case NL_PREDICATE_IN: return NL_PREDICATE_NOT_IN;
    case NL_PREDICATE_NOT_IN: return NL_PREDICATE_IN;
    case NL_PREDICATE_STARTS_WITH: return NL_PREDICATE_NOT_STARTS_WITH;
    case NL_PREDICATE_NOT_STARTS_WITH: return NL_PREDICATE_STARTS_WITH;
    }
    return NL_PREDICATE_NOT;
}

const nl_predicate *nl_predicate_not(nl_arena *arena, const nl_predicate *a)
{
    if (a->kind == NL_PREDICATE_NOT) return a->children[0];
    nl_predicate *made = NL_NEW(arena, nl_predicate);
    *made = *a;
    made->kind = opposite(a->kind);
    if (a->child_count == 0) return made;
    const nl_predicate **children = NL_NEW_ARRAY(arena, const nl_predicate *, a->child_count);
    for (uint32_t i = 0; i < a->child_count; i++)
        children[i] = nl_predicate_not(arena, a->children[i]);
    made->children = children;
    return made;
}

const nl_predicate *nl_predicate_leaf(nl_arena *arena, nl_predicate_kind kind, int32_t field_id, const nl_value *values, uint32_t value_count)
{
    nl_predicate *made = NL_NEW(arena, nl_predicate);
    nl_value *copies = NL_NEW_ARRAY(arena, nl_value, value_count);
    for (uint32_t i = 0; i < value_count; i++)
        copies[i] = nl_value_copy(arena, &values[i]);
    made->kind = kind;
    made->field_id = field_id;
    made->transform.kind = NL_TRANSFORM_IDENTITY;
    made->values = copies;
    made->value_count = value_count;
    return made;
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

static void append_reference(const nl_predicate *predicate, const nl_schema *schema, nl_builder *out)
{
    const nl_schema_column *column = nl_schema_find_id(schema, predicate->field_id);
    nl_append_c(out, "ref(name=\"");
    if (column)
        nl_append(out, column->full_name);
    else
        nl_append_int(out, predicate->field_id);
    nl_append_c(out, "\")");
}

static void append_values(const nl_predicate *predicate, nl_builder *out)
{
    const nl_text_options options = {.style = NL_TEXT_CAST, .zone = nl_timezone_utc()};
    for (uint32_t i = 0; i < predicate->value_count; i++) {
        const bool is_text = predicate->values[i].type->id == NL_TYPE_STRING;
        if (i) nl_append_c(out, ", ");
        if (is_text) nl_append_char(out, '"');
        nl_value_append_text(&predicate->values[i], &options, out);
        if (is_text) nl_append_char(out, '"');
    }
}

static const char *operator_text(nl_predicate_kind kind)
{
    switch (kind) {
    case NL_PREDICATE_LT: return " < ";
    case NL_PREDICATE_LTE: return " <= ";
    case NL_PREDICATE_GT: return " > ";
    case NL_PREDICATE_GTE: return " >= ";
    case NL_PREDICATE_EQ: return " == ";
    case NL_PREDICATE_NEQ: return " != ";
    case NL_PREDICATE_STARTS_WITH: return " startsWith ";
    case NL_PREDICATE_NOT_STARTS_WITH: return " notStartsWith ";
    case NL_PREDICATE_IN: return " in (";
    case NL_PREDICATE_NOT_IN: return " not in (";
    case NL_PREDICATE_IS_NULL: return "is_null(";
    case NL_PREDICATE_NOT_NULL: return "not_null(";
    case NL_PREDICATE_IS_NAN: return "is_nan(";
    case NL_PREDICATE_NOT_NAN: return "not_nan(";
    case NL_PREDICATE_AND: return " and ";
    case NL_PREDICATE_OR: return " or ";
    case NL_PREDICATE_TRUE: return "true";
    case NL_PREDICATE_FALSE: return "false";
    case NL_PREDICATE_NOT: return "not";
    }
    return "";
}

void nl_predicate_append_text(const nl_predicate *predicate, const nl_schema *schema, nl_builder *out)
{
    const char *text = operator_text(predicate->kind);
    switch (predicate->kind) {
    case NL_PREDICATE_TRUE:
    case NL_PREDICATE_FALSE: nl_append_c(out, text); break;
    case NL_PREDICATE_NOT:
        nl_append_c(out, "not(");
        nl_predicate_append_text(predicate->children[0], schema, out);
        nl_append_char(out, ')');
        break;
    case NL_PREDICATE_AND:
    case NL_PREDICATE_OR: /* Java's are binary: (((a and b) and c) */
        nl_append_fill(out, '(', predicate->child_count - 1);
        for (uint32_t i = 0; i < predicate->child_count; i++) {
            if (i) nl_append_c(out, text);
            nl_predicate_append_text(predicate->children[i], schema, out);
            if (i) nl_append_char(out, ')');
        }
        break;
    case NL_PREDICATE_IS_NULL:
    case NL_PREDICATE_NOT_NULL:
    case NL_PREDICATE_IS_NAN:
    case NL_PREDICATE_NOT_NAN:
        nl_append_c(out, text);
        append_reference(predicate, schema, out);
        nl_append_char(out, ')');
        break;
    case NL_PREDICATE_LT:
    case NL_PREDICATE_LTE:
    case NL_PREDICATE_GT:
    case NL_PREDICATE_GTE:
    case NL_PREDICATE_EQ:
    case NL_PREDICATE_NEQ:
    case NL_PREDICATE_IN:
    case NL_PREDICATE_NOT_IN:
    case NL_PREDICATE_STARTS_WITH:
    case NL_PREDICATE_NOT_STARTS_WITH:
        append_reference(predicate, schema, out);
        nl_append_c(out, text);
        append_values(predicate, out);
        if (predicate->kind == NL_PREDICATE_IN || predicate->kind == NL_PREDICATE_NOT_IN) nl_append_char(out, ')');
        break;
    }
}
