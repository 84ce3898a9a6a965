/* CHAR and VARCHAR in queries: columns of these types are strings there, as in Spark, and say in their metadata what they
 * are in the table. Comparisons with CHAR pay no regard to the blanks at its end: the shorter side is filled up.
 */
#include "plan/analyzer/analyzer.h"

#include "base/number.h"
#include "plan/char_type.h"

#define KEY "\"__CHAR_VARCHAR_TYPE_STRING\":\""

static bool has_length(const nl_type *type)
{
    if (type->id == NL_TYPE_STRING) return type->string_kind != NL_STRING_PLAIN;
    for (uint32_t i = 0; i < type->child_count; i++)
        if (has_length(type->children[i].type)) return true;
    return false;
}

const nl_type *nl_without_lengths(nl_arena *arena, const nl_type *type)
{
    if (!has_length(type)) return type;
    if (type->id == NL_TYPE_STRING) return nl_type_string();
    if (type->id == NL_TYPE_ARRAY) return nl_type_array(arena, nl_without_lengths(arena, type->children[0].type), type->children[0].is_nullable);
    if (type->id == NL_TYPE_MAP)
        return nl_type_map(arena, nl_without_lengths(arena, type->children[0].type), nl_without_lengths(arena, type->children[1].type), type->children[1].is_nullable);
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, type->child_count + 1);
    for (uint32_t i = 0; i < type->child_count; i++) {
        fields[i] = type->children[i];
        fields[i].type = nl_without_lengths(arena, fields[i].type);
    }
    return nl_type_struct(arena, fields, type->child_count);
}

/* The metadata with what the type is: {"__CHAR_VARCHAR_TYPE_STRING":"char(5)"}. */
static nl_str add_type(nl_arena *arena, nl_str metadata, const nl_type *type)
{
    const nl_str name = nl_type_name(arena, type);
    if (metadata.length < 3) return nl_arena_f(arena, "{" KEY NL_STR_FMT "\"}", NL_STR_ARG(name));
    return nl_arena_f(arena, NL_STR_FMT "," KEY NL_STR_FMT "\"}", NL_STR_ARG(nl_str_slice(metadata, 0, metadata.length - 1)), NL_STR_ARG(name));
}

void nl_hide_length(nl_arena *arena, const nl_type *type, nl_column *column)
{
    if (!has_length(type)) return;
    column->type = nl_without_lengths(arena, type);
    if (nl_str_find(column->metadata, NL_STR(KEY), 0) == NL_NOT_FOUND) column->metadata = add_type(arena, column->metadata, type);
}

nl_status nl_hide_lengths(nl_env *env, const nl_logical *scan, const nl_logical **plan)
{
    nl_arena *arena = env->context->arena;
    bool has_any = false;
    *plan = scan;
    for (uint32_t i = 0; i < scan->column_count; i++) has_any = has_any || has_length(scan->columns[i].type);
    if (!has_any) return NULL;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, scan->column_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, scan->column_count + 1);
    for (uint32_t i = 0; i < scan->column_count; i++) {
        columns[i] = scan->columns[i];
        exprs[i] = nl_column_ref(arena, &scan->columns[i]);
        if (!has_length(columns[i].type)) continue;
        columns[i].id = nl_plan_new_id(env->context);
        nl_hide_length(arena, scan->columns[i].type, &columns[i]);
        exprs[i] = nl_expr_cast(arena, exprs[i], columns[i].type, NL_CAST_ANSI);
    }
    *plan = nl_logical_project(arena, scan, columns, exprs, scan->column_count);
    return NULL;
}

/* "char(5)" of the metadata; data NULL: none. */
static nl_str type_text(nl_str metadata)
{
    const size_t at = nl_str_find(metadata, NL_STR(KEY), 0);
    if (at == NL_NOT_FOUND) return (nl_str){0};
    const size_t start = at + strlen(KEY);
    return nl_str_slice(metadata, start, NL_MIN(nl_str_find_char(metadata, '"', start), metadata.length));
}

nl_status nl_raw_type(nl_arena *arena, const nl_column *column, const nl_type **type)
{
    const nl_str text = type_text(column->metadata);
    nl_ast_type *parsed = NULL;
    *type = column->type;
    if (!text.data) return NULL;
    NL_TRY(nl_sql_parse_type(arena, text, NULL, &parsed));
    return nl_ast_type_to_type(arena, parsed, type);
}

/* ---- comparisons ---- */

static int64_t char_length(const nl_scope *scope, const nl_expr *expr)
{
    int64_t length = 0;
    if (expr->kind != NL_EXPR_COLUMN && expr->kind != NL_EXPR_OUTER) return 0;
    for (const nl_scope *s = scope; s; s = s->outer)
        for (uint32_t i = 0; i < s->set_count; i++)
            for (uint32_t c = 0; c < s->sets[i].count; c++) {
                if (s->sets[i].columns[c].id != expr->column) continue;
                const nl_str text = type_text(s->sets[i].columns[c].metadata);
                const bool is_char = nl_str_starts(text, NL_STR("char(")) && text.length > 6;
                return is_char && nl_parse_int64(nl_str_slice(text, 5, text.length - 1), &length) ? length : 0;
            }
    return 0;
}

static nl_status pad(nl_scope *scope, const nl_expr **expr, int64_t length)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_value count = nl_value_int(nl_type_int(), length), blank = nl_value_string(NL_STR(" "));
    const nl_pretty *pretty = nl_expr_pretty(arena, *expr);
    const nl_expr *const args[] = {*expr, nl_expr_literal(arena, &count), nl_expr_literal(arena, &blank)};
    NL_TRY(nl_call_bound(scope, NL_STR("rpad"), args, NL_COUNT(args), expr));
    *expr = nl_expr_with_pretty(arena, *expr, pretty);
    return NULL;
}

nl_status nl_pad_operands(nl_scope *scope, const nl_expr **operands, uint32_t count)
{
    int64_t most = 0;
    int64_t *lengths = NL_NEW_ARRAY(nl_scope_arena(scope), int64_t, count + 1);
    bool has_char = false;
    for (uint32_t i = 0; i < count; i++) {
        const nl_expr *operand = operands[i];
        if (operand->type->id != NL_TYPE_STRING) return NULL;
        lengths[i] = char_length(scope, operand);
        has_char = has_char || lengths[i] > 0;
        if (operand->kind == NL_EXPR_LITERAL && !operand->value.is_null) lengths[i] = (int64_t)nl_utf8_length(operand->value.text);
        else if (lengths[i] == 0) return NULL; /* a string that may be of any length is compared as it is */
        most = NL_MAX(most, lengths[i]);
    }
    for (uint32_t i = 0; i < count && has_char; i++)
        if (lengths[i] < most) NL_TRY(pad(scope, &operands[i], most));
    return NULL;
}
