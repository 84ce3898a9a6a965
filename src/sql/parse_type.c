/* sql/parse_type.c - data types and column lists as written. A type is checked when it is parsed, as Spark does. */
#include "sql/parse.h"

static nl_ast_type *new_type(nl_parser *p, nl_ast_type_kind kind)
{
    nl_ast_type *type = NL_NEW(p->arena, nl_ast_type);
    type->kind = kind;
    return type;
}

static nl_status parse_children(nl_parser *p, nl_ast_type *type, uint32_t count)
{
    NL_TRY(nl_parser_expect(p, NL_T_LT));
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) NL_TRY(nl_parser_expect(p, NL_T_COMMA));
        NL_TRY(nl_parse_type(p, &type->children[i]));
    }
    return nl_parser_expect(p, NL_T_GT);
}

/* name[:] type [NOT NULL] [COMMENT 's']; the colon only inside STRUCT<…>. */
static nl_status parse_one_field(nl_parser *p, bool may_have_colon, nl_ast_field *field)
{
    uint32_t first = p->at;
    NL_TRY(nl_parse_name_part(p, &field->name));
    if (may_have_colon) nl_parser_take(p, NL_T_COLON);
    NL_TRY(nl_parse_type(p, &field->type));
    if (nl_parser_is(p, NL_T_NOT) || nl_parser_is(p, NL_T_BANG)) {
        NL_TRY(nl_parse_not(p));
        NL_TRY(nl_parser_expect(p, NL_T_NULL));
        field->is_not_null = true;
    }
    if (nl_parser_is(p, NL_T_COMMENT)) NL_TRY(nl_parse_comment_clause(p, &field->has_comment, &field->comment));
    field->range = nl_parser_range(p, first);
    return NULL;
}

nl_status nl_parse_field(nl_parser *p, nl_ast_field *field)
{
    return parse_one_field(p, false, field);
}

static nl_status parse_field_list(nl_parser *p, bool may_have_colon, nl_ast_fields *fields)
{
    nl_list list = {0};
    do {
        nl_ast_field *field = NL_NEW(p->arena, nl_ast_field);
        NL_TRY(parse_one_field(p, may_have_colon, field));
        nl_list_add(p->arena, &list, field);
    } while (nl_parser_take(p, NL_T_COMMA));
    *fields = (nl_ast_fields){NL_FLATTEN(p, &list, nl_ast_field), list.count};
    return NULL;
}

nl_status nl_parse_fields(nl_parser *p, nl_ast_fields *fields)
{
    return parse_field_list(p, false, fields);
}

static nl_status parse_struct(nl_parser *p, nl_ast_type *type)
{
    if (nl_parser_take(p, NL_T_NEQ)) return NULL; /* STRUCT<>, which the lexer reads as one sign */
    NL_TRY(nl_parser_expect(p, NL_T_LT));
    if (!nl_parser_is(p, NL_T_GT)) NL_TRY(parse_field_list(p, true, &type->fields));
    return nl_parser_expect(p, NL_T_GT);
}

static bool interval_field(nl_token_kind kind, nl_interval_field *field)
{
    switch ((int)kind) {
    case NL_T_YEAR: *field = NL_FIELD_YEAR; return true;
    case NL_T_MONTH: *field = NL_FIELD_MONTH; return true;
    case NL_T_DAY: *field = NL_FIELD_DAY; return true;
    case NL_T_HOUR: *field = NL_FIELD_HOUR; return true;
    case NL_T_MINUTE: *field = NL_FIELD_MINUTE; return true;
    case NL_T_SECOND: *field = NL_FIELD_SECOND; return true;
    default: return false;
    }
}

/* INTERVAL a TO b: b is MONTH after YEAR or MONTH, else HOUR, MINUTE or SECOND. */
static nl_status parse_interval_type(nl_parser *p, nl_ast_type *type)
{
    (void)interval_field(nl_parser_kind(p), &type->start_field);
    type->end_field = type->start_field;
    p->at++;
    nl_interval_field end;
    if (!nl_parser_is(p, NL_T_TO) || !interval_field(nl_parser_ahead(p, 1), &end)) return NULL;
    bool is_year_month = type->start_field <= NL_FIELD_MONTH;
    bool is_allowed = is_year_month ? end == NL_FIELD_MONTH : end >= NL_FIELD_HOUR;
    if (!is_allowed) return NULL; /* the TO is then what does not belong here */
    p->at += 2;
    type->end_field = end;
    type->has_to = true;
    return NULL;
}

/* A type's word, numbers in parentheses, COLLATE after STRING. */
static nl_status parse_simple(nl_parser *p, nl_ast_type *type)
{
    bool is_string = nl_parser_is(p, NL_T_STRING);
    nl_ast_ident name;
    NL_TRY(nl_parse_identifier(p, &name));
    type->name = name.text;
    type->is_quoted = name.is_quoted;
    if (p->options.is_timestamp_ntz && nl_str_is_nocase(name.text, "timestamp")) type->name = NL_STR("timestamp_ntz");
    if (is_string && nl_parser_is(p, NL_T_COLLATE) && nl_parser_is_identifier_at(p, p->at + 1)) {
        p->at++;
        NL_TRY(nl_parse_name(p, &type->collation));
    }
    bool is_cut = nl_parser_are(p, NL_T_LEFT_PAREN, NL_T_EOF);
    if (!is_cut && !nl_parser_are(p, NL_T_LEFT_PAREN, NL_T_INTEGER_VALUE)) return NULL;
    nl_list numbers = {0};
    do {
        p->at++;
        if (nl_parser_is(p, NL_T_RIGHT_PAREN)) return nl_parser_missing(p, "INTEGER_VALUE");
        if (!nl_parser_is(p, NL_T_INTEGER_VALUE)) return nl_parser_syntax_error(p);
        nl_str *number = NL_NEW(p->arena, nl_str);
        *number = nl_parser_token_text(p, p->at++);
        nl_list_add(p->arena, &numbers, number);
    } while (nl_parser_is(p, NL_T_COMMA));
    type->numbers = NL_FLATTEN(p, &numbers, nl_str);
    type->number_count = numbers.count;
    return nl_parser_need(p, NL_T_RIGHT_PAREN);
}

static nl_status parse_type_body(nl_parser *p, nl_ast_type **type)
{
    nl_token_kind kind = nl_parser_kind(p);
    nl_token_kind next = nl_parser_ahead(p, 1);
    nl_interval_field field;
    if ((kind == NL_T_ARRAY || kind == NL_T_MAP) && next == NL_T_LT) {
        *type = new_type(p, kind == NL_T_ARRAY ? NL_AST_TYPE_ARRAY : NL_AST_TYPE_MAP);
        p->at++;
        return parse_children(p, *type, kind == NL_T_ARRAY ? 1 : 2);
    }
    if (kind == NL_T_STRUCT && (next == NL_T_LT || next == NL_T_NEQ)) {
        *type = new_type(p, NL_AST_TYPE_STRUCT);
        p->at++;
        return parse_struct(p, *type);
    }
    if (kind == NL_T_INTERVAL && interval_field(next, &field)) {
        *type = new_type(p, NL_AST_TYPE_INTERVAL);
        p->at++;
        return parse_interval_type(p, *type);
    }
    *type = new_type(p, NL_AST_TYPE_SIMPLE);
    return parse_simple(p, *type);
}

/* ARRAY<…> that does not fit is read as the word ARRAY, so that the bracket is what is wrong. */
static nl_status blame_bracket(nl_parser *p, nl_status status, uint32_t bracket)
{
    if (!nl_parser_is_syntax_error(status)) return status;
    nl_error_free(status);
    p->at = bracket;
    return p->is_in_cast ? nl_parser_missing(p, "')'") : nl_parser_syntax_error(p);
}

nl_status nl_parse_type(nl_parser *p, nl_ast_type **type)
{
    uint32_t first = p->at;
    NL_TRY(nl_parser_enter(p));
    nl_ast_type *node = NULL;
    nl_status status = parse_type_body(p, &node);
    bool is_nested = node && node->kind != NL_AST_TYPE_SIMPLE && node->kind != NL_AST_TYPE_INTERVAL;
    if (status && is_nested) return blame_bracket(p, status, first + 1);
    NL_TRY(status);
    nl_parser_leave(p);
    node->range = nl_parser_range(p, first);
    *type = node;
    bool has_place = false;
    nl_status failure = nl_ast_type_check(p->arena, node, &has_place);
    if (failure) return nl_parser_refuse(p, failure, has_place ? node->range : NL_NO_PLACE);
    return nl_arena_check(p->arena);
}
