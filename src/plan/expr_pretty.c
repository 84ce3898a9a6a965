/* Ropes of pretty text, and how a node that the analyzer gave none prints. Spark's rules: usePrettyExpression. */
#include "plan/expr.h"

#define PRETTY_BYTES_MAX (16u << 20)

const nl_pretty *nl_pretty_parts(nl_arena *arena, nl_str format, const nl_pretty *const *parts, uint32_t part_count)
{
    nl_pretty *pretty = NL_NEW(arena, nl_pretty);
    pretty->format = format;
    pretty->part_count = part_count;
    if (part_count) {
        const nl_pretty **copy = NL_NEW_ARRAY(arena, const nl_pretty *, part_count);
        memcpy(copy, parts, part_count * sizeof *copy);
        pretty->parts = copy;
    }
    return pretty;
}

const nl_pretty *nl_pretty_text(nl_arena *arena, nl_str text)
{
    return nl_pretty_parts(arena, text, NULL, 0);
}

static void render(const nl_pretty *pretty, nl_builder *out)
{
    if (pretty->part_count == 0) {
        nl_append(out, pretty->format);
        return;
    }
    uint32_t next = 0;
    size_t from = 0;
    for (size_t i = 0; i < pretty->format.length; i++) {
        if (pretty->format.data[i] != NL_PRETTY_PART || next >= pretty->part_count) continue;
        nl_append(out, nl_str_slice(pretty->format, from, i));
        render(pretty->parts[next++], out);
        from = i + 1;
    }
    nl_append(out, nl_str_slice(pretty->format, from, pretty->format.length));
}

nl_str nl_call_format(nl_arena *arena, nl_str name, uint32_t count)
{
    nl_builder out;
    nl_builder_init(&out, PRETTY_BYTES_MAX);
    nl_append(&out, name);
    nl_append_char(&out, '(');
    for (uint32_t i = 0; i < count; i++) {
        if (i) nl_append_c(&out, ", ");
        nl_append_char(&out, NL_PRETTY_PART);
    }
    nl_append_char(&out, ')');
    const nl_str format = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return format;
}

static const nl_pretty *literal_pretty(nl_arena *arena, const nl_value *value)
{
    if (value->is_null) return nl_pretty_text(arena, NL_STR("NULL"));
    nl_builder out;
    nl_builder_init(&out, PRETTY_BYTES_MAX);
    const nl_text_options options = {.style = NL_TEXT_CAST, .zone = nl_timezone_utc()};
    const char *prefix = NULL;
    if (value->type->id == NL_TYPE_DATE) prefix = "DATE '";
    if (value->type->id == NL_TYPE_TIMESTAMP) prefix = "TIMESTAMP '";
    if (value->type->id == NL_TYPE_TIMESTAMP_NTZ) prefix = "TIMESTAMP_NTZ '";
    if (prefix) nl_append_c(&out, prefix);
    if (value->type->id == NL_TYPE_BINARY) {
        nl_append_c(&out, "X'");
        for (size_t i = 0; i < value->text.length; i++) nl_append_f(&out, "%02X", (unsigned char)value->text.data[i]);
        nl_append_char(&out, '\'');
    } else {
        nl_value_append_text(value, &options, &out);
    }
    if (prefix) nl_append_char(&out, '\'');
    const nl_pretty *pretty = nl_pretty_text(arena, nl_arena_str(arena, nl_builder_str(&out)));
    nl_builder_fini(&out);
    return pretty;
}

static const nl_pretty *children_pretty(nl_arena *arena, nl_str format, const nl_expr *expr)
{
    const nl_pretty **parts = NL_NEW_ARRAY(arena, const nl_pretty *, expr->child_count + 1);
    for (uint32_t i = 0; i < expr->child_count; i++) parts[i] = nl_expr_pretty(arena, expr->children[i]);
    return nl_pretty_parts(arena, format, parts, expr->child_count);
}

static const nl_pretty *connected_pretty(nl_arena *arena, const char *word, const nl_expr *expr)
{
    const nl_pretty *pretty = nl_expr_pretty(arena, expr->children[0]);
    for (uint32_t i = 1; i < expr->child_count; i++) {
        const nl_pretty *const parts[] = {pretty, nl_expr_pretty(arena, expr->children[i])};
        pretty = nl_pretty_parts(arena, nl_arena_f(arena, "(\1 %s \1)", word), parts, 2);
    }
    return pretty;
}

static const nl_pretty *case_pretty(nl_arena *arena, const nl_expr *expr)
{
    nl_builder out;
    nl_builder_init(&out, PRETTY_BYTES_MAX);
    nl_append_c(&out, "CASE");
    for (uint32_t i = 0; i + 1 < expr->child_count; i += 2) nl_append_c(&out, " WHEN \1 THEN \1");
    if (expr->child_count % 2) nl_append_c(&out, " ELSE \1");
    nl_append_c(&out, " END");
    const nl_str format = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return children_pretty(arena, format, expr);
}

static const nl_pretty *derived(nl_arena *arena, const nl_expr *expr)
{
    switch (expr->kind) {
    case NL_EXPR_LITERAL:
        return literal_pretty(arena, &expr->value);
    case NL_EXPR_COLUMN:
    case NL_EXPR_PARAMETER:
    case NL_EXPR_OUTER:
        return nl_pretty_text(arena, expr->name);
    case NL_EXPR_CALL:
        return children_pretty(arena, nl_call_format(arena, nl_str_from(expr->function->row->name), expr->child_count), expr);
    case NL_EXPR_AGGREGATE:
    case NL_EXPR_WINDOW:
        return children_pretty(arena, nl_call_format(arena, nl_str_from(expr->call->row->name), expr->child_count), expr);
    case NL_EXPR_CAST:
        return nl_expr_pretty(arena, expr->children[0]);
    case NL_EXPR_AND:
        return connected_pretty(arena, "AND", expr);
    case NL_EXPR_OR:
        return connected_pretty(arena, "OR", expr);
    case NL_EXPR_NOT:
        return children_pretty(arena, NL_STR("(NOT \1)"), expr);
    case NL_EXPR_IS_NULL:
        return children_pretty(arena, NL_STR("(\1 IS NULL)"), expr);
    case NL_EXPR_IS_NOT_NULL:
        return children_pretty(arena, NL_STR("(\1 IS NOT NULL)"), expr);
    case NL_EXPR_CASE:
        return case_pretty(arena, expr);
    case NL_EXPR_COALESCE:
        return children_pretty(arena, nl_call_format(arena, NL_STR("coalesce"), expr->child_count), expr);
    case NL_EXPR_IN: {
        const nl_str list = nl_call_format(arena, NL_STR(" IN "), expr->child_count - 1);
        return children_pretty(arena, nl_arena_f(arena, "(\1" NL_STR_FMT ")", NL_STR_ARG(list)), expr);
    }
    case NL_EXPR_FIELD: {
        const nl_str field = expr->children[0]->type->children[expr->ordinal].name;
        return children_pretty(arena, nl_arena_f(arena, "\1." NL_STR_FMT, NL_STR_ARG(field)), expr);
    }
    case NL_EXPR_LAMBDA:
        return children_pretty(arena, NL_STR("lambdafunction(\1)"), expr);
    case NL_EXPR_PYTHON:
        return children_pretty(arena, nl_call_format(arena, expr->python->function->name, expr->child_count), expr);
    case NL_EXPR_GROUPING:
        return nl_pretty_text(arena, NL_STR("grouping_id()"));
    case NL_EXPR_SUBQUERY:
        if (expr->subquery_kind == NL_SUBQUERY_EXISTS) return nl_pretty_text(arena, NL_STR("exists()"));
        return nl_pretty_text(arena, NL_STR("scalarsubquery()"));
    }
    return nl_pretty_text(arena, NL_STR("?"));
}

const nl_pretty *nl_expr_pretty(nl_arena *arena, const nl_expr *expr)
{
    return expr->pretty ? expr->pretty : derived(arena, expr);
}

nl_str nl_expr_pretty_str(nl_arena *arena, const nl_expr *expr)
{
    nl_builder out;
    nl_builder_init(&out, PRETTY_BYTES_MAX);
    render(nl_expr_pretty(arena, expr), &out);
    const nl_str text = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}
