/* connect/translate_expression.c - expressions of the protocol as AST expressions. */
#include "connect/translate.h"

nl_ast_expr *nl_new_expr(nl_arena *arena, nl_ast_expr_kind kind)
{
    nl_ast_expr *expr = NL_NEW(arena, nl_ast_expr);
    expr->kind = kind;
    return expr;
}

nl_str nl_copy_text(nl_arena *arena, const char *text)
{
    return nl_arena_str(arena, nl_str_from(text));
}

/* ---- names ---- */

static nl_status name_syntax(nl_str text)
{
    return NL_RAISE(INVALID_ATTRIBUTE_NAME_SYNTAX, NL_P_STR("name", text));
}

/* One part: up to a dot, or a name in back-quotes (doubled ones stand for one). */
static nl_status name_part(nl_translator *t, nl_str text, size_t *at, nl_ast_ident *part)
{
    char *out = NL_NEW_ARRAY(t->arena, char, text.length + 1);
    size_t length = 0;
    if (text.data[*at] != '`') {
        for (; *at < text.length && text.data[*at] != '.'; (*at)++) {
            if (text.data[*at] == '`') return name_syntax(text);
            out[length++] = text.data[*at];
        }
        *part = nl_ident_of((nl_str){out, length});
        return NULL;
    }
    for ((*at)++;; (*at)++) {
        if (*at >= text.length) return name_syntax(text);
        if (text.data[*at] == '`' && (*at + 1 >= text.length || text.data[*at + 1] != '`')) break;
        if (text.data[*at] == '`') (*at)++;
        out[length++] = text.data[*at];
    }
    (*at)++;
    if (*at < text.length && text.data[*at] != '.') return name_syntax(text);
    *part = nl_ident_of((nl_str){out, length});
    return NULL;
}

nl_status nl_translate_name(nl_translator *t, nl_str text, nl_ast_name *name)
{
    size_t dots = 0;
    for (size_t i = 0; i < text.length; i++) dots += text.data[i] == '.';
    *name = (nl_ast_name){.parts = NL_NEW_ARRAY(t->arena, nl_ast_ident, dots + 1)};
    for (size_t at = 0;;) {
        if (at >= text.length && name->count > 0) return name_syntax(text); /* ends with a dot */
        if (at < text.length)
            NL_TRY(name_part(t, text, &at, &name->parts[name->count]));
        else
            name->parts[name->count] = nl_ident_of(NL_STR(""));
        name->count++;
        if (at >= text.length) return nl_arena_check(t->arena);
        at++; /* the dot */
    }
}

static nl_status attribute(nl_translator *t, const Spark__Connect__Expression__UnresolvedAttribute *message, nl_ast_expr **expr)
{
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_COLUMN);
    (*expr)->has_plan_id = message->has_plan_id;
    (*expr)->plan_id = message->plan_id;
    return nl_translate_name(t, nl_str_from(message->unparsed_identifier), &(*expr)->column);
}

static nl_status star(nl_translator *t, const Spark__Connect__Expression__UnresolvedStar *message, nl_ast_expr **expr)
{
    nl_str target = nl_str_from(message->unparsed_target);
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_STAR);
    (*expr)->has_plan_id = message->has_plan_id;
    (*expr)->plan_id = message->plan_id;
    if (target.length == 0) return NULL;
    if (!nl_str_ends(target, NL_STR(".*")))
        return nl_connect_invalid("UnresolvedStar requires a unparsed target ending with '.*'");
    return nl_translate_name(t, nl_str_slice(target, 0, target.length - 2), &(*expr)->star.qualifier);
}

/* "`(a|b)`" is a pattern; a name without quotes is a column. */
static nl_status regex(nl_translator *t, const Spark__Connect__Expression__UnresolvedRegex *message, nl_ast_expr **expr)
{
    const nl_str text = nl_copy_text(t->arena, message->col_name);
    const size_t last = nl_str_find_last_char(text, '`');
    const size_t first = nl_str_find_char(text, '`', 0);
    const bool is_quoted = first != NL_NOT_FOUND && last > first && last == text.length - 1;
    if (!is_quoted) {
        *expr = nl_new_expr(t->arena, NL_AST_EXPR_COLUMN);
        (*expr)->has_plan_id = message->has_plan_id;
        (*expr)->plan_id = message->plan_id;
        return nl_translate_name(t, text, &(*expr)->column);
    }
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_STAR);
    (*expr)->has_plan_id = message->has_plan_id;
    (*expr)->plan_id = message->plan_id;
    (*expr)->star.pattern = nl_str_slice(text, first + 1, last);
    return NULL;
}

/* ---- calls ---- */

nl_status nl_translate_call(nl_translator *t, nl_str name, Spark__Connect__Expression *const *arguments, size_t count, nl_ast_arguments *args)
{
    (void)name;
    *args = (nl_ast_arguments){NL_NEW_ARRAY(t->arena, nl_ast_argument, count + 1), (uint32_t)count};
    for (size_t i = 0; i < count; i++) {
        const Spark__Connect__Expression *message = arguments[i];
        if (message && message->expr_type_case == SPARK__CONNECT__EXPRESSION__EXPR_TYPE_NAMED_ARGUMENT_EXPRESSION) {
            args->items[i].name = nl_ident_of(nl_copy_text(t->arena, message->named_argument_expression->key));
            message = message->named_argument_expression->value;
        }
        NL_TRY(nl_translate_expr(t, message, &args->items[i].value));
    }
    return NULL;
}

static nl_status call(nl_translator *t, const nl_ast_name *name, Spark__Connect__Expression *const *arguments, size_t count, bool is_distinct, nl_ast_expr **expr)
{
    nl_ast_arguments args = {0};
    const nl_str last = name->parts[name->count - 1].text;
    NL_TRY(nl_translate_call(t, last, arguments, count, &args));
    bool is_plain = name->count == 1;
    nl_ast_expr **values = NL_NEW_ARRAY(t->arena, nl_ast_expr *, count + 1);
    for (size_t i = 0; i < count; i++) {
        values[i] = args.items[i].value;
        is_plain = is_plain && !args.items[i].name.text.data;
    }
    *expr = NULL;
    if (is_plain) NL_TRY(nl_translate_function(t, last, values, (uint32_t)count, is_distinct, expr));
    if (*expr) return NULL;
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_CALL);
    (*expr)->call.name = *name;
    (*expr)->call.args = args;
    (*expr)->call.is_distinct = is_distinct;
    return NULL;
}

static nl_status function(nl_translator *t, const Spark__Connect__Expression__UnresolvedFunction *message, nl_ast_expr **expr)
{
    nl_ast_name name;
    const nl_str text = nl_copy_text(t->arena, message->function_name);
    if (message->has_is_user_defined_function && message->is_user_defined_function) {
        NL_TRY(nl_translate_name(t, text, &name));
    } else {
        name = (nl_ast_name){.parts = NL_NEW(t->arena, nl_ast_ident), .count = 1};
        *name.parts = nl_ident_of(text);
    }
    return call(t, &name, message->arguments, message->n_arguments, message->has_is_distinct && message->is_distinct, expr);
}

static nl_status call_function(nl_translator *t, const Spark__Connect__CallFunction *message, nl_ast_expr **expr)
{
    nl_ast_name name;
    NL_TRY(nl_sql_parse_name(t->arena, nl_str_from(message->function_name), &(nl_sql_options){.is_unplaced = true}, &name));
    return call(t, &name, message->arguments, message->n_arguments, false, expr);
}

static nl_status lambda(nl_translator *t, const Spark__Connect__Expression__LambdaFunction *message, nl_ast_expr **expr)
{
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_LAMBDA);
    nl_ast_ident *names = NL_NEW_ARRAY(t->arena, nl_ast_ident, message->n_arguments + 1);
    for (size_t i = 0; i < message->n_arguments; i++) {
        if (message->arguments[i]->n_name_parts != 1) return nl_connect_invalid("a variable of a lambda function has a name of several parts");
        names[i] = nl_ident_of(nl_copy_text(t->arena, message->arguments[i]->name_parts[0]));
    }
    (*expr)->lambda.parameters = (nl_ast_idents){names, (uint32_t)message->n_arguments};
    return nl_translate_expr(t, message->function, &(*expr)->lambda.body);
}

static nl_status variable(nl_translator *t, const Spark__Connect__Expression__UnresolvedNamedLambdaVariable *message, nl_ast_expr **expr)
{
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_COLUMN);
    (*expr)->column.parts = NL_NEW_ARRAY(t->arena, nl_ast_ident, message->n_name_parts + 1);
    (*expr)->column.count = (uint32_t)message->n_name_parts;
    for (size_t i = 0; i < message->n_name_parts; i++) (*expr)->column.parts[i] = nl_ident_of(nl_copy_text(t->arena, message->name_parts[i]));
    return message->n_name_parts ? NULL : nl_connect_invalid("a variable of a lambda function has no name");
}

/* ---- casts, aliases, fields ---- */

/* Pieces of text in a plan are read as the session reads SQL; their nodes get no places. */
static nl_sql_options piece_options(const nl_translator *t)
{
    nl_sql_options options = nl_session_sql_options(t->host->session);
    options.is_unplaced = true;
    return options;
}

static nl_status cast(nl_translator *t, const Spark__Connect__Expression__Cast *message, nl_ast_expr **expr)
{
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_CAST);
    nl_ast_type *type = NL_NEW(t->arena, nl_ast_type);
    const nl_sql_options options = piece_options(t);
    NL_TRY(nl_translate_expr(t, message->expr, &(*expr)->cast.input));
    if (message->cast_to_type_case == SPARK__CONNECT__EXPRESSION__CAST__CAST_TO_TYPE_TYPE_STR)
        NL_TRY(nl_sql_parse_type(t->arena, nl_str_from(message->type_str), &options, &type));
    else
        NL_TRY(nl_connect_type_from_proto(t->arena, message->cast_to_type_case == SPARK__CONNECT__EXPRESSION__CAST__CAST_TO_TYPE_TYPE ? message->type : NULL, &type->made));
    (*expr)->cast.type = type;
    (*expr)->cast.form = message->has_eval_mode && message->eval_mode == SPARK__CONNECT__EXPRESSION__CAST__EVAL_MODE__EVAL_MODE_TRY ? NL_AST_CAST_TRY : NL_AST_CAST_FUNCTION;
    return NULL;
}

nl_status nl_translate_alias(nl_translator *t, const Spark__Connect__Expression__Alias *message, nl_ast_expr **expr)
{
    if (message->n_name == 0) return nl_connect_invalid("an alias has no name");
    if (message->n_name > 1 && message->metadata) return nl_connect_invalid("Alias expressions with more than 1 identifier must not use optional metadata.");
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_ALIAS);
    nl_ast_ident *names = NL_NEW_ARRAY(t->arena, nl_ast_ident, message->n_name);
    for (size_t i = 0; i < message->n_name; i++) names[i] = nl_ident_of(nl_copy_text(t->arena, message->name[i]));
    (*expr)->alias.names = (nl_ast_idents){names, (uint32_t)message->n_name};
    (*expr)->alias.metadata = nl_copy_text(t->arena, message->metadata);
    return nl_translate_expr(t, message->expr, &(*expr)->alias.input);
}

static nl_status extract_value(nl_translator *t, const Spark__Connect__Expression__UnresolvedExtractValue *message, nl_ast_expr **expr)
{
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_SUBSCRIPT);
    NL_TRY(nl_translate_expr(t, message->child, &(*expr)->subscript.input));
    return nl_translate_expr(t, message->extraction, &(*expr)->subscript.index);
}

static nl_status update_fields(nl_translator *t, const Spark__Connect__Expression__UpdateFields *message, nl_ast_expr **expr)
{
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_UPDATE_FIELD);
    NL_TRY(nl_translate_expr(t, message->struct_expression, &(*expr)->update.input));
    NL_TRY(nl_translate_name(t, nl_str_from(message->field_name), &(*expr)->update.name));
    if (message->value_expression) NL_TRY(nl_translate_expr(t, message->value_expression, &(*expr)->update.value));
    return NULL;
}

/* ---- windows and orders ---- */

nl_status nl_translate_sort(nl_translator *t, Spark__Connect__Expression__SortOrder *const *messages, size_t count, nl_ast_sort_items *items)
{
    *items = (nl_ast_sort_items){NL_NEW_ARRAY(t->arena, nl_ast_sort_item, count + 1), (uint32_t)count};
    for (size_t i = 0; i < count; i++) {
        const Spark__Connect__Expression__SortOrder *message = messages[i];
        nl_ast_sort_item *item = &items->items[i];
        item->is_descending = message->direction == SPARK__CONNECT__EXPRESSION__SORT_ORDER__SORT_DIRECTION__SORT_DIRECTION_DESCENDING;
        item->is_nulls_first = !item->is_descending;
        if (message->null_ordering == SPARK__CONNECT__EXPRESSION__SORT_ORDER__NULL_ORDERING__SORT_NULLS_FIRST) item->is_nulls_first = true;
        if (message->null_ordering == SPARK__CONNECT__EXPRESSION__SORT_ORDER__NULL_ORDERING__SORT_NULLS_LAST) item->is_nulls_first = false;
        item->has_direction = item->has_nulls = true;
        NL_TRY(nl_translate_expr(t, message->child, &item->expr));
    }
    return NULL;
}

static bool is_negative(const nl_ast_expr *expr)
{
    if (expr->kind != NL_AST_EXPR_LITERAL || expr->literal.kind != NL_AST_LITERAL_VALUE || expr->literal.value->is_null) return false;
    const nl_value *value = expr->literal.value;
    if (value->type->id == NL_TYPE_DOUBLE || value->type->id == NL_TYPE_FLOAT) return value->real < 0;
    if (value->type->id == NL_TYPE_DECIMAL) return value->decimal < 0;
    return (nl_type_is_integral(value->type) || value->type->id == NL_TYPE_INTERVAL_DT || value->type->id == NL_TYPE_INTERVAL_YM) && value->integer < 0;
}

/* A bound is an offset: negative ones precede. Others than numbers are taken as they are. */
static nl_status bound(nl_translator *t, const Spark__Connect__Expression__Window__WindowFrame__FrameBoundary *message, bool is_lower, nl_ast_frame_bound *made)
{
    if (!message) return nl_connect_invalid("a window's frame has no bound");
    switch (message->boundary_case) {
    case SPARK__CONNECT__EXPRESSION__WINDOW__WINDOW_FRAME__FRAME_BOUNDARY__BOUNDARY_CURRENT_ROW: made->kind = NL_AST_BOUND_CURRENT_ROW; return NULL;
    case SPARK__CONNECT__EXPRESSION__WINDOW__WINDOW_FRAME__FRAME_BOUNDARY__BOUNDARY_UNBOUNDED:
        made->kind = is_lower ? NL_AST_BOUND_UNBOUNDED_PRECEDING : NL_AST_BOUND_UNBOUNDED_FOLLOWING;
        return NULL;
    case SPARK__CONNECT__EXPRESSION__WINDOW__WINDOW_FRAME__FRAME_BOUNDARY__BOUNDARY_VALUE: break;
    case SPARK__CONNECT__EXPRESSION__WINDOW__WINDOW_FRAME__FRAME_BOUNDARY__BOUNDARY__NOT_SET:
    default: return nl_connect_invalid("Unknown FrameBoundary");
    }
    nl_ast_expr *offset = NULL;
    NL_TRY(nl_translate_expr(t, message->value, &offset));
    made->kind = NL_AST_BOUND_FOLLOWING;
    if (is_negative(offset)) {
        nl_value value = *offset->literal.value;
        made->kind = NL_AST_BOUND_PRECEDING;
        if (value.type->id == NL_TYPE_DOUBLE || value.type->id == NL_TYPE_FLOAT)
            value.real = -value.real;
        else if (value.type->id == NL_TYPE_DECIMAL)
            value.decimal = -value.decimal;
        else
            value.integer = -value.integer;
        offset = nl_value_expr(t->arena, &value);
    }
    made->offset = offset;
    return NULL;
}

static nl_status window(nl_translator *t, const Spark__Connect__Expression__Window *message, nl_ast_expr **expr)
{
    nl_ast_window *over = NL_NEW(t->arena, nl_ast_window);
    NL_TRY(nl_translate_expr(t, message->window_function, expr));
    if ((*expr)->kind != NL_AST_EXPR_CALL) return NL_RAISE(UNSUPPORTED_EXPR_FOR_WINDOW, NL_P("sqlExpr", "\"expression\""));
    NL_TRY(nl_translate_exprs(t, message->partition_spec, message->n_partition_spec, &over->partition_by));
    NL_TRY(nl_translate_sort(t, message->order_spec, message->n_order_spec, &over->order_by));
    if (message->frame_spec) {
        over->has_frame = over->has_end = true;
        over->is_rows = message->frame_spec->frame_type == SPARK__CONNECT__EXPRESSION__WINDOW__WINDOW_FRAME__FRAME_TYPE__FRAME_TYPE_ROW;
        NL_TRY(bound(t, message->frame_spec->lower, true, &over->start));
        NL_TRY(bound(t, message->frame_spec->upper, false, &over->end));
    }
    (*expr)->call.over = over;
    return NULL;
}

/* ---- subqueries ---- */

static const Spark__Connect__Relation *find_reference(const nl_translator *t, int64_t plan_id)
{
    for (const nl_references *list = t->references; list; list = list->outer)
        for (size_t i = 0; i < list->count; i++) {
            const Spark__Connect__Relation *relation = list->relations[i];
            if (relation->common && relation->common->has_plan_id && relation->common->plan_id == plan_id) return relation;
        }
    return NULL;
}

/* A DataFrame as an argument of a table function. */
static nl_status table_argument(nl_translator *t, const Spark__Connect__SubqueryExpression__TableArgOptions *options, nl_ast_query *query, nl_ast_expr **expr)
{
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_TABLE_ARGUMENT);
    nl_ast_table_argument *argument = &(*expr)->table_argument;
    argument->query = query;
    if (!options) return NULL;
    argument->is_single_partition = options->has_with_single_partition && options->with_single_partition;
    NL_TRY(nl_translate_exprs(t, options->partition_spec, options->n_partition_spec, &argument->partition_by));
    return nl_translate_sort(t, options->order_spec, options->n_order_spec, &argument->order_by);
}

/* values IN (query): several values are a row. */
static nl_status in_subquery(nl_translator *t, const Spark__Connect__SubqueryExpression *message, nl_ast_query *query, nl_ast_expr **expr)
{
    nl_ast_expr *row = nl_new_expr(t->arena, NL_AST_EXPR_ROW);
    if (message->n_in_subquery_values == 0) return nl_connect_invalid("IN needs a value");
    NL_TRY(nl_translate_exprs(t, message->in_subquery_values, message->n_in_subquery_values, &row->row));
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_IN_QUERY);
    (*expr)->in.input = row->row.count == 1 ? row->row.items[0] : row;
    (*expr)->in.query = query;
    return NULL;
}

static nl_status subquery(nl_translator *t, const Spark__Connect__SubqueryExpression *message, nl_ast_expr **expr)
{
    const Spark__Connect__Relation *relation = find_reference(t, message->plan_id);
    if (!relation) return nl_connect_invalid("Missing relation for subquery expression");
    nl_ast_query *query = NULL;
    NL_TRY(nl_translate_query(t, relation, &query));
    switch (message->subquery_type) {
    case SPARK__CONNECT__SUBQUERY_EXPRESSION__SUBQUERY_TYPE__SUBQUERY_TYPE_SCALAR: *expr = nl_new_expr(t->arena, NL_AST_EXPR_SUBQUERY); break;
    case SPARK__CONNECT__SUBQUERY_EXPRESSION__SUBQUERY_TYPE__SUBQUERY_TYPE_EXISTS: *expr = nl_new_expr(t->arena, NL_AST_EXPR_EXISTS); break;
    case SPARK__CONNECT__SUBQUERY_EXPRESSION__SUBQUERY_TYPE__SUBQUERY_TYPE_IN: return in_subquery(t, message, query, expr);
    case SPARK__CONNECT__SUBQUERY_EXPRESSION__SUBQUERY_TYPE__SUBQUERY_TYPE_TABLE_ARG: return table_argument(t, message->table_arg_options, query, expr);
    case SPARK__CONNECT__SUBQUERY_EXPRESSION__SUBQUERY_TYPE__SUBQUERY_TYPE_UNKNOWN:
    default: return nl_connect_unsupported("this kind of a subquery");
    }
    (*expr)->query = query;
    return NULL;
}

/* ---- any ---- */

static nl_status expression_string(nl_translator *t, const Spark__Connect__Expression__ExpressionString *message, nl_ast_expr **expr)
{
    nl_sql_options options = nl_session_sql_options(t->host->session);
    nl_translate_piece(t, nl_str_from(message->expression), &options);
    return nl_sql_parse_expression(t->arena, nl_str_from(message->expression), &options, expr);
}

static nl_status literal(nl_translator *t, const Spark__Connect__Expression__Literal *message, nl_ast_expr **expr)
{
    nl_value value = {0};
    NL_TRY(nl_translate_value(t, message, &value));
    *expr = nl_value_expr(t->arena, &value);
    return NULL;
}

static nl_status any(nl_translator *t, const Spark__Connect__Expression *message, nl_ast_expr **expr)
{
    switch (message->expr_type_case) {
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_LITERAL: return literal(t, message->literal, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_UNRESOLVED_ATTRIBUTE: return attribute(t, message->unresolved_attribute, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_UNRESOLVED_FUNCTION: return function(t, message->unresolved_function, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_EXPRESSION_STRING: return expression_string(t, message->expression_string, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_UNRESOLVED_STAR: return star(t, message->unresolved_star, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_ALIAS: return nl_translate_alias(t, message->alias, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_CAST: return cast(t, message->cast, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_UNRESOLVED_REGEX: return regex(t, message->unresolved_regex, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_SORT_ORDER: return nl_translate_expr(t, message->sort_order->child, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_LAMBDA_FUNCTION: return lambda(t, message->lambda_function, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_WINDOW: return window(t, message->window, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_UNRESOLVED_EXTRACT_VALUE: return extract_value(t, message->unresolved_extract_value, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_UPDATE_FIELDS: return update_fields(t, message->update_fields, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_UNRESOLVED_NAMED_LAMBDA_VARIABLE: return variable(t, message->unresolved_named_lambda_variable, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_CALL_FUNCTION: return call_function(t, message->call_function, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_SUBQUERY_EXPRESSION: return subquery(t, message->subquery_expression, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_COMMON_INLINE_USER_DEFINED_FUNCTION:
        return nl_translate_python_call(t, message->common_inline_user_defined_function, expr);
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_TYPED_AGGREGATE_EXPRESSION: return nl_connect_unsupported("an aggregate written in Scala");
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_NAMED_ARGUMENT_EXPRESSION:
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE_MERGE_ACTION:
    case SPARK__CONNECT__EXPRESSION__EXPR_TYPE__NOT_SET:
    default: break;
    }
    return nl_connect_invalid("This expression has no meaning here.");
}

/* ---- where the client's program has made it ---- */

#define ORIGINS_BYTES_MAX (1u << 20)

void nl_translate_piece(nl_translator *t, nl_str sql, nl_sql_options *options)
{
    options->is_unplaced = !t->has_origins;
    for (size_t i = 0; i < sql.length; i++) options->is_unplaced |= (uint8_t)sql.data[i] <= '\004'; /* it would be taken for marks */
    if (options->is_unplaced) return;
    nl_append_c(&t->origins, t->origins.length == 0 ? "\001\004" : "\004");
    options->range_base = (uint32_t)t->origins.length;
    nl_append(&t->origins, sql);
    nl_append_char(&t->origins, '\003');
}

/* What Spark tells no place of, whatever happens. */
static bool can_fail(const nl_ast_expr *expr)
{
    if (expr->kind == NL_AST_EXPR_CALL) return expr->call.name.count != 1 || !nl_str_is_nocase(expr->call.name.parts[0].text, "negative");
    return expr->kind == NL_AST_EXPR_BINARY || expr->kind == NL_AST_EXPR_CAST || expr->kind == NL_AST_EXPR_COLUMN || expr->kind == NL_AST_EXPR_SUBSCRIPT;
}

/* True when the origin is the one that was written last: a line of a program makes many columns. */
static bool is_last_origin(const nl_translator *t, nl_str origin)
{
    const nl_ast_range last = t->last_origin;
    return last.stop && nl_str_equal(origin, nl_str_slice(nl_builder_str(&t->origins), last.start, last.stop));
}

static void place(nl_translator *t, const Spark__Connect__ExpressionCommon *common, nl_ast_expr *expr)
{
    const Spark__Connect__PythonOrigin *python =
        common && common->origin && common->origin->function_case == SPARK__CONNECT__ORIGIN__FUNCTION_PYTHON_ORIGIN ? common->origin->python_origin : NULL;
    if (!t->has_origins || !python || !python->fragment || !python->call_site || expr->range.stop != 0 || t->origin_bytes > ORIGINS_BYTES_MAX || !can_fail(expr)) return;
    const nl_str origin = nl_arena_f(t->arena, "%s\002%s", python->fragment, python->call_site);
    if (!is_last_origin(t, origin)) {
        if (t->origins.length == 0) nl_append_char(&t->origins, '\001');
        t->last_origin = (nl_ast_range){.start = (uint32_t)t->origins.length, .stop = (uint32_t)(t->origins.length + origin.length)};
        nl_append(&t->origins, origin);
        nl_append_char(&t->origins, '\003');
        t->origin_bytes += origin.length;
    }
    expr->range = t->last_origin;
    nl_list_add(t->arena, &t->placed, expr);
}

nl_str nl_translate_text(nl_translator *t)
{
    const bool is_shown = t->has_origins && !nl_builder_failed(&t->origins);
    const nl_str text = is_shown ? nl_arena_str(t->arena, nl_builder_str(&t->origins)) : (nl_str){0};
    for (uint32_t i = 0; !is_shown && i < t->placed.count; i++) ((nl_ast_expr *)t->placed.items[i])->range = (nl_ast_range){0};
    for (uint32_t i = 0; i < t->texts.count; i++) ((nl_ast_text_query *)t->texts.items[i])->text = text;
    if (t->has_origins) nl_builder_fini(&t->origins);
    t->has_origins = false;
    return text;
}

nl_status nl_translate_expr(nl_translator *t, const Spark__Connect__Expression *message, nl_ast_expr **expr)
{
    if (!message) return nl_connect_invalid("an expression is missing");
    if (++t->depth > NL_CONNECT_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    nl_status status = any(t, message, expr);
    if (!status) place(t, message->common, *expr);
    t->depth--;
    return status;
}

nl_status nl_translate_exprs(nl_translator *t, Spark__Connect__Expression *const *messages, size_t count, nl_ast_exprs *exprs)
{
    *exprs = (nl_ast_exprs){NL_NEW_ARRAY(t->arena, nl_ast_expr *, count + 1), (uint32_t)count};
    for (size_t i = 0; i < count; i++) NL_TRY(nl_translate_expr(t, messages[i], &exprs->items[i]));
    return nl_arena_check(t->arena);
}
