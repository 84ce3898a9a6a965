/* Resolving names: lambda variables, columns with qualifiers and struct fields, lateral aliases, functions that are
 * written without parentheses, columns of the enclosing query, session variables; in this order. */
#include <stdlib.h>

#include "plan/analyzer/analyzer.h"

bool nl_names_equal(const nl_scope *scope, nl_str a, nl_str b)
{
    return scope->env->context->is_case_sensitive ? nl_str_equal(a, b) : nl_str_equal_nocase(a, b);
}

/* Does the column have the name parts[0 … k], k of them qualifying it? */
static bool column_matches(const nl_scope *scope, const nl_column *column, const nl_str *parts, uint32_t k)
{
    if (k > column->qualifier_count || (k == 0 && column->is_qualified_only)) return false;
    if (!nl_names_equal(scope, column->name, parts[k])) return false;
    for (uint32_t i = 0; i < k; i++)
        if (!nl_names_equal(scope, column->qualifier[column->qualifier_count - k + i], parts[i])) return false;
    return true;
}

static int by_text(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

static nl_status raise_ambiguous(const nl_scope *scope, const nl_str *parts, uint32_t part_count, const nl_list *matches)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_str *names = NL_NEW_ARRAY(arena, nl_str, matches->count);
    for (uint32_t i = 0; i < matches->count; i++) names[i] = nl_column_full_name(arena, matches->items[i]);
    qsort(names, matches->count, sizeof *names, by_text);
    const nl_str list = nl_join_texts(arena, names, matches->count, ", ");
    return NL_RAISE(AMBIGUOUS_REFERENCE, NL_P_STR("name", nl_quote_names(arena, parts, part_count)),
                    NL_P_STR("referenceNames", nl_arena_f(arena, "[" NL_STR_FMT "]", NL_STR_ARG(list))));
}

static void add_match(nl_arena *arena, nl_list *matches, const nl_column *column)
{
    for (uint32_t i = 0; i < matches->count; i++)
        if (((const nl_column *)matches->items[i])->id == column->id) return;
    nl_list_add(arena, matches, NL_UNCONST(column));
}

/* Hidden columns give way to visible ones of the same name. */
static void drop_hidden(nl_list *matches)
{
    uint32_t visible = 0;
    for (uint32_t i = 0; i < matches->count; i++)
        if (!((const nl_column *)matches->items[i])->is_hidden) matches->items[visible++] = matches->items[i];
    if (visible) matches->count = visible;
}

nl_status nl_find_column(const nl_scope *scope, nl_column_set set, const nl_str *parts, uint32_t part_count,
                         const nl_column **found, uint32_t *matched_parts)
{
    *found = NULL;
    for (uint32_t k = part_count; k-- > 0;) {
        nl_list matches = {0};
        for (uint32_t i = 0; i < set.count; i++)
            if (column_matches(scope, &set.columns[i], parts, k)) add_match(nl_scope_arena(scope), &matches, &set.columns[i]);
        if (matches.count > 1) drop_hidden(&matches);
        if (matches.count > 1) return raise_ambiguous(scope, parts, part_count, &matches);
        if (matches.count == 1) {
            *found = matches.items[0];
            *matched_parts = k + 1;
            return NULL;
        }
    }
    return NULL;
}

/* ---- fields ---- */

static nl_status find_field(nl_scope *scope, const nl_type *type, nl_str name, uint32_t *ordinal)
{
    nl_arena *arena = nl_scope_arena(scope);
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->child_count; i++) {
        if (!nl_names_equal(scope, type->children[i].name, name)) continue;
        *ordinal = i;
        count++;
    }
    if (count == 1) return NULL;
    if (count > 1)
        return NL_RAISE(AMBIGUOUS_REFERENCE_TO_FIELDS, NL_P_STR("field", nl_quote_name(arena, name)), NL_P_INT("count", count));
    nl_str *names = NL_NEW_ARRAY(arena, nl_str, type->child_count + 1);
    for (uint32_t i = 0; i < type->child_count; i++) names[i] = nl_quote_name(arena, type->children[i].name);
    return NL_RAISE(FIELD_NOT_FOUND, NL_P_STR("fieldName", nl_quote_name(arena, name)),
                    NL_P_STR("fields", nl_join_texts(arena, names, type->child_count, ", ")));
}

/* arr.q: the field of every element. */
static nl_status field_of_elements(nl_scope *scope, const nl_expr *base, uint32_t ordinal, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_field *element = &base->type->children[0];
    nl_column_id *id = NL_NEW(arena, nl_column_id);
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, 1);
    *id = nl_plan_new_id(scope->env->context);
    types[0] = element->type;
    nl_expr *variable = NL_NEW(arena, nl_expr);
    *variable = *nl_expr_column(arena, *id, NL_STR("x"), element->type, element->is_nullable);
    variable->kind = NL_EXPR_PARAMETER;
    const nl_expr *body = nl_expr_field(arena, variable, ordinal);
    nl_expr *lambda = nl_expr_new(arena, NL_EXPR_LAMBDA, body->type, &body, 1);
    lambda->parameters = id;
    lambda->parameter_types = types;
    lambda->parameter_count = 1;
    const nl_expr *const args[] = {base, lambda};
    return nl_call_function(scope, NL_STR("transform"), args, 2, result);
}

nl_status nl_extract_field(nl_scope *scope, const nl_expr *base, nl_str field, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_type *type = base->type;
    const nl_pretty *const parts[] = {nl_expr_pretty(arena, base)};
    const nl_pretty *pretty = nl_pretty_parts(arena, nl_arena_f(arena, "\1." NL_STR_FMT, NL_STR_ARG(field)), parts, 1);
    uint32_t ordinal = 0;
    if (type->id == NL_TYPE_STRUCT) {
        NL_TRY(find_field(scope, type, field, &ordinal));
        *result = nl_expr_with_pretty(arena, nl_expr_field(arena, base, ordinal), pretty);
        return NULL;
    }
    if (type->id == NL_TYPE_ARRAY && type->children[0].type->id == NL_TYPE_STRUCT) {
        NL_TRY(find_field(scope, type->children[0].type, field, &ordinal));
        NL_TRY(field_of_elements(scope, base, ordinal, result));
        *result = nl_expr_with_pretty(arena, *result, pretty);
        return NULL;
    }
    if (type->id == NL_TYPE_MAP) {
        const nl_value key = nl_value_string(field);
        const nl_expr *const args[] = {base, nl_expr_literal(arena, &key)};
        NL_TRY(nl_call_function(scope, NL_STR("[]"), args, 2, result));
        pretty = nl_pretty_parts(arena, nl_arena_f(arena, "\1[" NL_STR_FMT "]", NL_STR_ARG(field)), parts, 1);
        *result = nl_expr_with_pretty(arena, *result, pretty);
        return NULL;
    }
    return NL_RAISE(INVALID_EXTRACT_BASE_FIELD_TYPE, NL_P_STR("base", nl_quote_expr(arena, base)),
                    NL_P_STR("other", nl_quote_type(arena, type)));
}

static nl_status extract_fields(nl_scope *scope, const nl_expr *base, const nl_str *fields, uint32_t count,
                                const nl_expr **result)
{
    for (uint32_t i = 0; i < count; i++) NL_TRY(nl_extract_field(scope, base, fields[i], &base));
    *result = base;
    return NULL;
}

/* ---- the places where a name may be found ---- */

static nl_status find_lambda_variable(nl_scope *scope, const nl_str *parts, uint32_t part_count, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    for (const nl_lambda_frame *frame = scope->lambda; frame; frame = frame->outer) {
        for (uint32_t i = 0; i < frame->names->count; i++) {
            if (!nl_names_equal(scope, frame->names->items[i].text, parts[0])) continue;
            nl_expr *variable = NL_NEW(arena, nl_expr);
            *variable = *nl_expr_column(arena, frame->ids[i], frame->names->items[i].text, frame->types[i], frame->nullable[i]);
            variable->kind = NL_EXPR_PARAMETER;
            variable->pretty = nl_pretty_text(arena, NL_STR("namedlambdavariable()"));
            return extract_fields(scope, variable, parts + 1, part_count - 1, result);
        }
    }
    return NULL;
}

static const nl_pretty *outer_pretty(nl_arena *arena, const nl_column *column)
{
    const nl_str qualifier = nl_join_texts(arena, column->qualifier, column->qualifier_count, ".");
    return nl_pretty_text(arena, nl_arena_f(arena, "outer(" NL_STR_FMT "%s" NL_STR_FMT ")", NL_STR_ARG(qualifier), qualifier.length ? "." : "", NL_STR_ARG(column->name)));
}

static nl_status find_in_sets(nl_scope *scope, const nl_str *parts, uint32_t part_count, bool is_outer,
                              const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const bool is_backwards = scope->clause == NL_CLAUSE_HAVING && scope->aggregate_depth; /* what is aggregated comes from the FROM clause */
    for (uint32_t i = 0; i < scope->set_count; i++) {
        const nl_column *column = NULL;
        uint32_t matched = 0;
        const uint32_t s = is_backwards ? scope->set_count - 1 - i : i;
        NL_TRY(nl_find_column(scope, scope->sets[s], parts, part_count, &column, &matched));
        if (!column) continue;
        const nl_expr *base =
            nl_expr_column(arena, column->id, parts[matched - 1], column->type, column->is_nullable);
        if (is_outer) base = nl_expr_with_pretty(arena, nl_expr_outer(arena, base), outer_pretty(arena, column));
        return extract_fields(scope, base, parts + matched, part_count - matched, result);
    }
    return NULL;
}

nl_status nl_raise_alias_in_group_by(void)
{
    return NL_RAISE(UNSUPPORTED_FEATURE__LATERAL_COLUMN_ALIAS_IN_GROUP_BY);
}

static nl_status find_alias(nl_scope *scope, const nl_str *parts, uint32_t part_count, const nl_expr **result)
{
    if (!scope->aliases) return NULL;
    nl_arena *arena = nl_scope_arena(scope);
    nl_item *found = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < scope->aliases->count; i++) {
        nl_item *item = &scope->aliases->list[i];
        if (!item->expr || !nl_names_equal(scope, item->name, parts[0])) continue;
        if (!item->has_alias && !scope->are_aliases_inlined) continue;
        found = item;
        count++;
    }
    if (!found) return NULL;
    if (scope->are_aliases_inlined && found->level) return nl_raise_alias_in_group_by();
    if (scope->are_aliases_inlined) return extract_fields(scope, found->expr, parts + 1, part_count - 1, result);
    const nl_str quoted = nl_quote_name(arena, parts[0]);
    if (count > 1) return NL_RAISE(AMBIGUOUS_LATERAL_COLUMN_ALIAS, NL_P_STR("name", quoted), NL_P_INT("n", count));
    if (scope->level < found->level + 1) scope->level = found->level + 1;
    const nl_expr *ref = nl_expr_column(arena, found->id, parts[0], found->expr->type, found->expr->is_nullable);
    const nl_str text = nl_arena_f(arena, "lateralAliasReference(" NL_STR_FMT ")", NL_STR_ARG(parts[0]));
    ref = nl_expr_with_pretty(arena, ref, nl_pretty_text(arena, text));
    if (scope->aggregate_depth || scope->window_depth) scope->misplaced_alias = quoted; /* the function raises it, whole */
    return extract_fields(scope, ref, parts + 1, part_count - 1, result);
}

static nl_status find_keyword_function(nl_scope *scope, const nl_str *parts, uint32_t part_count, const nl_expr **result)
{
    static const struct {
        const char *keyword, *function;
    } keywords[] = {{"current_date", "current_date"},         {"current_timestamp", "current_timestamp"},
                    {"current_user", "current_user"},         {"user", "user"},
                    {"session_user", "session_user"},         {"current_catalog", "current_catalog"},
                    {"current_database", "current_database"}, {"current_schema", "current_schema"}};
    if (part_count != 1) return NULL;
    if (nl_str_is_nocase(parts[0], "grouping__id")) { /* Hive's name of grouping_id() */
        nl_expr *id = nl_expr_new(nl_scope_arena(scope), NL_EXPR_GROUPING, nl_type_bigint(), NULL, 0);
        id->is_nullable = false;
        id->pretty = nl_pretty_text(nl_scope_arena(scope), NL_STR("grouping__id"));
        *result = id;
        return NULL;
    }
    for (size_t i = 0; i < NL_COUNT(keywords); i++)
        if (nl_str_is_nocase(parts[0], keywords[i].keyword))
            return nl_call_function(scope, nl_str_from(keywords[i].function), NULL, 0, result);
    return NULL;
}

static nl_str variable_sql(nl_scope *scope, const nl_value *value)
{
    nl_arena *arena = nl_scope_arena(scope);
    if (!value->is_null || value->type->id == NL_TYPE_NULL) return nl_literal_sql(scope, value);
    return nl_arena_f(arena, "CAST(NULL AS " NL_STR_FMT ")", NL_STR_ARG(nl_type_sql(arena, value->type)));
}

static nl_status find_variable(nl_scope *scope, const nl_str *parts, uint32_t part_count, const nl_expr **result)
{
    nl_plan_context *context = scope->env->context;
    if (!context->resolver || !context->resolver->find_variable) return NULL;
    for (uint32_t count = part_count; count > 0; count--) {
        nl_value value = {0};
        nl_str shown = {0};
        bool is_found = false;
        NL_TRY(context->resolver->find_variable(context->resolver, parts, count, context->arena, &value, &shown, &is_found));
        if (!is_found) continue;
        const nl_expr *literal = nl_expr_literal(context->arena, &value);
        const nl_str text = nl_arena_f(context->arena, "variablereference(" NL_STR_FMT "=" NL_STR_FMT ")", NL_STR_ARG(shown), NL_STR_ARG(variable_sql(scope, &value)));
        literal = nl_expr_with_pretty(context->arena, literal, nl_pretty_text(context->arena, text));
        return extract_fields(scope, literal, parts + count, part_count - count, result);
    }
    return NULL;
}

static nl_status find_parameter(nl_scope *scope, const nl_str *parts, uint32_t part_count, const nl_expr **result)
{
    uint32_t used = 0;
    const nl_expr *value = NULL;
    NL_TRY(nl_find_parameter(scope, parts, part_count, &used, &value));
    return value ? extract_fields(scope, value, parts + used, part_count - used, result) : NULL;
}

nl_status nl_raise_unresolved(const nl_scope *scope, const nl_str *parts, uint32_t part_count)
{
    nl_arena *arena = nl_scope_arena(scope);
    const bool is_having = scope->clause == NL_CLAUSE_HAVING && scope->set_count == NL_SCOPE_SETS; /* sets[0] repeats what is grouped by */
    const nl_column_set set = scope->set_count ? scope->sets[is_having] : (nl_column_set){0};
    const nl_str name = nl_quote_names(arena, parts, part_count);
    const nl_str proposal = nl_suggest_names(arena, parts, part_count, set.columns, set.count);
    if (proposal.length == 0) return NL_RAISE(UNRESOLVED_COLUMN__WITHOUT_SUGGESTION, NL_P_STR("objectName", name));
    return NL_RAISE(UNRESOLVED_COLUMN__WITH_SUGGESTION, NL_P_STR("objectName", name), NL_P_STR("proposal", proposal));
}

nl_status nl_resolve_name(nl_scope *scope, const nl_str *parts, uint32_t part_count, nl_ast_range range,
                          const nl_expr **result)
{
    const nl_expr *found = NULL;
    NL_TRY(find_lambda_variable(scope, parts, part_count, &found));
    if (!found) NL_TRY(find_in_sets(scope, parts, part_count, false, &found));
    if (!found) NL_TRY(find_alias(scope, parts, part_count, &found));
    if (!found) NL_TRY(find_keyword_function(scope, parts, part_count, &found));
    if (!found && scope->outer) NL_TRY(find_in_sets(scope->outer, parts, part_count, true, &found));
    if (!found) NL_TRY(find_parameter(scope, parts, part_count, &found));
    if (!found) NL_TRY(find_variable(scope, parts, part_count, &found));
    if (!found) return nl_raise_unresolved(scope, parts, part_count);
    *result = nl_expr_with_span(nl_scope_arena(scope), found, nl_span_of(range));
    return NULL;
}

nl_status nl_name_parts(nl_scope *scope, const nl_ast_name *name, const nl_str **parts, uint32_t *part_count)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_ast_name written = *name;
    if (name->expression) {
        const nl_expr *expr = NULL;
        const nl_value *value = NULL;
        NL_TRY(nl_resolve_expr(scope, name->expression, &expr));
        NL_TRY(nl_fold(scope, expr, &value));
        if (!value)
            return NL_RAISE(NOT_A_CONSTANT_STRING__NOT_CONSTANT, NL_P_STR("name", NL_STR("IDENTIFIER")),
                            NL_P_STR("expr", nl_quote_expr(arena, expr)));
        if (value->type->id != NL_TYPE_STRING)
            return NL_RAISE(NOT_A_CONSTANT_STRING__WRONG_TYPE, NL_P_STR("name", NL_STR("IDENTIFIER")),
                            NL_P_STR("expr", nl_quote_expr(arena, expr)), NL_P_STR("dataType", nl_quote_type(arena, value->type)));
        if (value->is_null)
            return NL_RAISE(NOT_A_CONSTANT_STRING__NULL, NL_P_STR("name", NL_STR("IDENTIFIER")),
                            NL_P_STR("expr", nl_quote_expr(arena, expr)));
        NL_TRY(nl_sql_parse_name(arena, value->text, NULL, &written));
        if (name->count) { /* IDENTIFIER('a').b keeps what follows */
            nl_ast_ident *all = NL_NEW_ARRAY(arena, nl_ast_ident, written.count + name->count);
            memcpy(all, written.parts, written.count * sizeof *all);
            memcpy(all + written.count, name->parts, name->count * sizeof *all);
            written.parts = all;
            written.count += name->count;
        }
    }
    nl_str *texts = NL_NEW_ARRAY(arena, nl_str, written.count + 1);
    for (uint32_t i = 0; i < written.count; i++) texts[i] = written.parts[i].text;
    *parts = texts;
    *part_count = written.count;
    return NULL;
}
