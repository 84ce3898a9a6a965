/* sql/parse_pipe.c - the operators behind |>, and SELECT TRANSFORM, MAP and REDUCE with their scripts. */
#include "sql/parse.h"

/* ---- pipe operators --------------------------------------------------------------------------------------------------- */

static bool is_set_word(nl_token_kind kind)
{
    return kind == NL_T_UNION || kind == NL_T_EXCEPT || kind == NL_T_MINUS || kind == NL_T_INTERSECT;
}

static nl_status parse_pipe_select(nl_parser *p, nl_ast_pipe *pipe)
{
    pipe->kind = NL_AST_PIPE_SELECT;
    pipe->select = NL_NEW(p->arena, nl_ast_select);
    NL_TRY(nl_parse_select_clause(p, pipe->select));
    return nl_parse_windows(p, &pipe->select->windows);
}

static nl_status parse_pipe_set(nl_parser *p, nl_ast_pipe *pipe)
{
    p->at++;
    pipe->kind = NL_AST_PIPE_SET;
    NL_TRY(nl_parse_assignments(p, &pipe->assignments));
    const nl_ast_assignments *list = &pipe->assignments;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].target.count == 1) continue;
        nl_ast_range range = list->items[0].range;
        range.stop = list->items[list->count - 1].range.stop;
        return nl_parser_not_allowed(p, range,
                                     "SQL pipe syntax |> SET operator with multi-part assignment key "
                                     "(only single-part keys are allowed)");
    }
    return NULL;
}

static nl_status parse_pipe_where(nl_parser *p, nl_ast_pipe *pipe)
{
    p->at++;
    pipe->kind = NL_AST_PIPE_WHERE;
    NL_TRY(nl_parse_expression(p, &pipe->condition));
    NL_TRY(nl_parse_windows(p, &pipe->windows));
    if (pipe->windows.count == 0) return NULL;
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, NOT_ALLOWED_IN_PIPE_OPERATOR_WHERE__WINDOW_CLAUSE);
}

/* PIVOT, UNPIVOT, TABLESAMPLE and JOIN work on the table from the left, which stands in as its own kind of relation. */
static nl_status parse_pipe_relation(nl_parser *p, nl_ast_pipe *pipe)
{
    uint32_t first = p->at;
    pipe->kind = NL_AST_PIPE_RELATION;
    nl_ast_relation *input = nl_parser_new_relation(p, NL_AST_RELATION_PIPE, first);
    pipe->relation = input;
    if (nl_parser_is(p, NL_T_TABLESAMPLE)) return nl_parse_sample(p, &input->sample);
    if (nl_parser_starts_join_at(p, p->at)) return nl_parse_join(p, first, input, &pipe->relation);
    bool is_pivot = nl_parser_starts_pivot(p);
    if (is_pivot) NL_TRY(nl_parse_pivot(p, first, pipe->relation, &pipe->relation));
    if (nl_parser_starts_unpivot(p)) {
        NL_TRY(nl_parse_unpivot(p, first, pipe->relation, &pipe->relation));
        if (!is_pivot && nl_parser_starts_pivot(p)) {
            is_pivot = true;
            NL_TRY(nl_parse_pivot(p, first, pipe->relation, &pipe->relation));
        }
        if (is_pivot) return NL_REFUSE(p, NL_WHOLE_STATEMENT, NOT_ALLOWED_IN_FROM__UNPIVOT_WITH_PIVOT);
    }
    return NULL;
}

static nl_status parse_pipe_set_operation(nl_parser *p, nl_ast_pipe *pipe)
{
    nl_token_kind word = nl_parser_kind(p);
    p->at++;
    pipe->kind = NL_AST_PIPE_SET_OPERATION;
    pipe->set_operator = word == NL_T_UNION ? NL_AST_SET_UNION : word == NL_T_INTERSECT ? NL_AST_SET_INTERSECT : NL_AST_SET_EXCEPT;
    NL_TRY(nl_parse_set_quantifier(p, &pipe->quantifier));
    return nl_parse_query_primary(p, &pipe->right);
}

static nl_status parse_pipe_aggregate(nl_parser *p, nl_ast_pipe *pipe)
{
    p->at++;
    pipe->kind = NL_AST_PIPE_AGGREGATE;
    if (!nl_parser_are(p, NL_T_GROUP, NL_T_BY) && nl_parser_starts_expression_at(p, p->at))
        NL_TRY(nl_parse_named_expressions(p, &pipe->exprs));
    if (nl_parser_are(p, NL_T_GROUP, NL_T_BY)) NL_TRY(nl_parse_group_by(p, true, &pipe->group_by));
    if (pipe->exprs.count > 0 || pipe->group_by) return NULL;
    return nl_parser_not_allowed(p, NL_WHOLE_STATEMENT,
                                 "The AGGREGATE clause requires a list of aggregate expressions or a list of "
                                 "grouping expressions, or both");
}

/* An order, or LIMIT and OFFSET, but not both. Nothing at all passes the table through. */
static nl_status parse_pipe_organization(nl_parser *p, nl_ast_pipe *pipe)
{
    uint32_t first = p->at;
    pipe->kind = NL_AST_PIPE_ORGANIZE;
    NL_TRY(nl_parse_organization(p, &pipe->organization));
    const nl_ast_organization *o = &pipe->organization;
    nl_ast_range range = nl_parser_range(p, first);
    if (o->windows.count > 0)
        return NL_REFUSE(p, range, UNSUPPORTED_FEATURE__CLAUSE_WITH_PIPE_OPERATORS, NL_P("clauses", "the WINDOW clause"));
    const char *order = o->order_by.count > 0                              ? "ORDER BY"
                        : o->cluster_by.count > 0                          ? "CLUSTER BY"
                        : o->sort_by.count > 0 && o->distribute_by.count > 0 ? "SORT BY ... DISTRIBUTE BY ..."
                        : o->sort_by.count > 0                             ? "SORT BY"
                        : o->distribute_by.count > 0                       ? "DISTRIBUTE BY"
                                                                           : NULL;
    const char *limit = o->offset ? "OFFSET" : o->limit || o->is_limit_all ? "LIMIT" : NULL;
    if (!order || !limit) return NULL;
    return NL_REFUSE(p, range, MULTIPLE_QUERY_RESULT_CLAUSES_WITH_PIPE_OPERATORS, NL_P("clause1", order),
                     NL_P("clause2", limit));
}

static nl_status parse_operator(nl_parser *p, nl_ast_pipe *pipe)
{
    nl_token_kind kind = nl_parser_kind(p);
    if (is_set_word(kind)) return parse_pipe_set_operation(p, pipe);
    if (nl_parser_starts_join_at(p, p->at)) return parse_pipe_relation(p, pipe);
    switch ((int)kind) {
    case NL_T_SELECT: return parse_pipe_select(p, pipe);
    case NL_T_SET: return parse_pipe_set(p, pipe);
    case NL_T_WHERE: return parse_pipe_where(p, pipe);
    case NL_T_AGGREGATE: return parse_pipe_aggregate(p, pipe);
    case NL_T_PIVOT:
    case NL_T_UNPIVOT:
    case NL_T_TABLESAMPLE: return parse_pipe_relation(p, pipe);
    case NL_T_EXTEND:
        p->at++;
        pipe->kind = NL_AST_PIPE_EXTEND;
        return nl_parse_named_expressions(p, &pipe->exprs);
    case NL_T_DROP:
        p->at++;
        pipe->kind = NL_AST_PIPE_DROP;
        return nl_parse_name_parts(p, &pipe->names);
    case NL_T_AS:
        p->at++;
        pipe->kind = NL_AST_PIPE_AS;
        return nl_parse_name_part(p, &pipe->alias);
    default: return parse_pipe_organization(p, pipe);
    }
}

nl_status nl_parse_pipe(nl_parser *p, uint32_t first, nl_ast_term *left, nl_ast_term **term)
{
    p->at++;
    uint32_t operator_first = p->at;
    nl_ast_pipe *pipe = NL_NEW(p->arena, nl_ast_pipe);
    pipe->left = left;
    NL_TRY(parse_operator(p, pipe));
    pipe->operator_range = nl_parser_range(p, operator_first);
    *term = nl_parser_new_term(p, NL_AST_TERM_PIPE, first);
    (*term)->pipe = pipe;
    return NULL;
}

/* ---- TRANSFORM --------------------------------------------------------------------------------------------------------- */

/* SELECT TRANSFORM(…) is the script form when USING or a format follows; else transform() is a function. */
bool nl_parser_starts_transform(const nl_parser *p)
{
    if (nl_parser_is(p, NL_T_MAP) || nl_parser_is(p, NL_T_REDUCE)) return true;
    if (!nl_parser_are(p, NL_T_SELECT, NL_T_TRANSFORM) || nl_parser_ahead(p, 2) != NL_T_LEFT_PAREN) return false;
    uint32_t end = nl_parser_skip_parentheses(p, p->at + 2);
    nl_token_kind next = nl_parser_kind_at(p, end);
    if (end == 0) return false;
    return next == NL_T_RECORDWRITER || (next == NL_T_USING && nl_parser_is_string_at(p, end + 1)) ||
           (next == NL_T_ROW && nl_parser_kind_at(p, end + 1) == NL_T_FORMAT);
}

static nl_status parse_transform_inputs(nl_parser *p, nl_ast_transform *transform)
{
    bool has_parentheses = nl_parser_is(p, NL_T_SELECT);
    transform->kind = has_parentheses               ? NL_AST_TRANSFORM_SELECT
                      : nl_parser_is(p, NL_T_MAP)   ? NL_AST_TRANSFORM_MAP
                                                    : NL_AST_TRANSFORM_REDUCE;
    p->at += has_parentheses ? 3 : 1;
    if (nl_parser_has_quantifier(p)) NL_TRY(nl_parse_set_quantifier(p, &transform->quantifier));
    NL_TRY(nl_parse_expressions(p, &transform->inputs));
    return has_parentheses ? nl_parser_expect(p, NL_T_RIGHT_PAREN) : NULL;
}

/* Whether a column of the script's output has no type behind its name. */
static bool is_bare_column(const nl_parser *p)
{
    switch ((int)nl_parser_ahead(p, 1)) {
    case NL_T_COMMA:
    case NL_T_RIGHT_PAREN:
    case NL_T_EOF:
    case NL_T_SEMICOLON:
    case NL_T_ROW:
    case NL_T_MINUS_SIGN:
    case NL_T_RECORDREADER: return true;
    default: return nl_parser_starts_clause_at(p, p->at + 1, false);
    }
}

static nl_status parse_transform_output(nl_parser *p, nl_ast_transform *transform)
{
    transform->has_as = true;
    transform->has_as_parentheses = nl_parser_take(p, NL_T_LEFT_PAREN);
    if (is_bare_column(p))
        NL_TRY(nl_parse_name_parts(p, &transform->names));
    else
        NL_TRY(nl_parse_fields(p, &transform->columns));
    return transform->has_as_parentheses ? nl_parser_expect(p, NL_T_RIGHT_PAREN) : NULL;
}

static nl_status parse_script_format(nl_parser *p, nl_ast_row_format **format)
{
    return nl_parser_are(p, NL_T_ROW, NL_T_FORMAT) ? nl_parse_row_format(p, format) : NULL;
}

nl_status nl_parse_transform_clause(nl_parser *p, nl_ast_select *select)
{
    nl_ast_transform *transform = NL_NEW(p->arena, nl_ast_transform);
    select->transform = transform;
    NL_TRY(parse_transform_inputs(p, transform));
    NL_TRY(parse_script_format(p, &transform->in_format));
    if (nl_parser_take(p, NL_T_RECORDWRITER)) NL_TRY(nl_parse_string(p, &transform->record_writer));
    NL_TRY(nl_parser_expect(p, NL_T_USING));
    NL_TRY(nl_parse_string(p, &transform->script));
    if (nl_parser_take(p, NL_T_AS)) NL_TRY(parse_transform_output(p, transform));
    NL_TRY(parse_script_format(p, &transform->out_format));
    if (nl_parser_take(p, NL_T_RECORDREADER)) NL_TRY(nl_parse_string(p, &transform->record_reader));
    return NULL;
}
