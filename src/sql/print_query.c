/* sql/print_query.c - queries and relations as text. */
#include "sql/print.h"

#include <stdlib.h>

/* ---- small parts ------------------------------------------------------------------------------------------------------------- */

void nl_print_table_alias(nl_builder *out, const nl_ast_table_alias *alias)
{
    if (!alias->name.text.data) return;
    nl_append_c(out, " AS ");
    nl_print_ident(out, &alias->name);
    if (alias->columns.count > 0) nl_print_ident_list(out, &alias->columns);
}

void nl_print_ctes(nl_builder *out, const nl_ast_ctes *ctes)
{
    if (ctes->count == 0) return;
    nl_append_c(out, ctes->is_recursive ? "WITH RECURSIVE " : "WITH ");
    for (uint32_t i = 0; i < ctes->count; i++) {
        const nl_ast_cte *cte = &ctes->items[i];
        if (i > 0) nl_append_c(out, ", ");
        nl_print_ident(out, &cte->name);
        if (cte->columns.count > 0) nl_print_ident_list(out, &cte->columns);
        nl_append_c(out, " AS (");
        nl_sql_print_query(out, cte->query);
        nl_append_char(out, ')');
    }
    nl_append_char(out, ' ');
}

void nl_print_assignments(nl_builder *out, const nl_ast_assignments *assignments)
{
    for (uint32_t i = 0; i < assignments->count; i++) {
        if (i > 0) nl_append_c(out, ", ");
        nl_sql_print_name(out, &assignments->items[i].target);
        nl_append_c(out, " = ");
        nl_sql_print_expr(out, assignments->items[i].value);
    }
}

static void print_windows(nl_builder *out, const nl_ast_named_windows *windows)
{
    for (uint32_t i = 0; i < windows->count; i++) {
        nl_append_c(out, i == 0 ? " WINDOW " : ", ");
        nl_print_ident(out, &windows->items[i].name);
        nl_append_c(out, " AS ");
        nl_print_window(out, windows->items[i].window);
    }
}

static void print_quantifier(nl_builder *out, nl_ast_set_quantifier quantifier)
{
    if (quantifier != NL_AST_SET_UNSAID) nl_append_c(out, quantifier == NL_AST_SET_ALL ? " ALL" : " DISTINCT");
}

static void print_optional_string(nl_builder *out, const char *words, nl_str text)
{
    if (!text.data) return;
    nl_append_c(out, words);
    nl_print_string(out, text);
}

void nl_print_row_format(nl_builder *out, const nl_ast_row_format *format)
{
    if (!format) return;
    if (format->is_serde) {
        nl_append_c(out, " ROW FORMAT SERDE ");
        nl_print_string(out, format->serde);
        if (!format->properties) return;
        nl_append_c(out, " WITH SERDEPROPERTIES ");
        nl_print_properties(out, format->properties);
        return;
    }
    nl_append_c(out, " ROW FORMAT DELIMITED");
    print_optional_string(out, " FIELDS TERMINATED BY ", format->fields_terminated);
    print_optional_string(out, " ESCAPED BY ", format->fields_escaped);
    print_optional_string(out, " COLLECTION ITEMS TERMINATED BY ", format->items_terminated);
    print_optional_string(out, " MAP KEYS TERMINATED BY ", format->keys_terminated);
    print_optional_string(out, " LINES TERMINATED BY ", format->lines_terminated);
    print_optional_string(out, " NULL DEFINED AS ", format->null_defined);
}

static void print_exprs_after(nl_builder *out, const char *words, const nl_ast_exprs *exprs)
{
    if (exprs->count == 0) return;
    nl_append_c(out, words);
    nl_print_exprs(out, exprs);
}

static void print_sort_after(nl_builder *out, const char *words, const nl_ast_sort_items *items)
{
    if (items->count == 0) return;
    nl_append_c(out, words);
    nl_print_sort_items(out, items);
}

static void print_expr_after(nl_builder *out, const char *words, const nl_ast_expr *expr)
{
    if (!expr) return;
    nl_append_c(out, words);
    nl_sql_print_expr(out, expr);
}

static void print_organization(nl_builder *out, const nl_ast_organization *o)
{
    print_sort_after(out, " ORDER BY ", &o->order_by);
    print_exprs_after(out, " CLUSTER BY ", &o->cluster_by);
    print_exprs_after(out, " DISTRIBUTE BY ", &o->distribute_by);
    print_sort_after(out, " SORT BY ", &o->sort_by);
    print_windows(out, &o->windows);
    if (o->is_limit_all) nl_append_c(out, " LIMIT ALL");
    print_expr_after(out, " LIMIT ", o->limit);
    print_expr_after(out, " OFFSET ", o->offset);
}

/* ---- relations ----------------------------------------------------------------------------------------------------------------- */

static void print_sample(nl_builder *out, const nl_ast_sample *sample)
{
    if (!sample) return;
    nl_append_c(out, " TABLESAMPLE (");
    switch (sample->kind) {
    case NL_AST_SAMPLE_EMPTY: break;
    case NL_AST_SAMPLE_PERCENT: nl_append_f(out, NL_STR_FMT " PERCENT", NL_STR_ARG(sample->numbers[0])); break;
    case NL_AST_SAMPLE_ROWS:
        nl_sql_print_expr(out, sample->expr);
        nl_append_c(out, " ROWS");
        break;
    case NL_AST_SAMPLE_BUCKET:
        nl_append_f(out, "BUCKET " NL_STR_FMT " OUT OF " NL_STR_FMT, NL_STR_ARG(sample->numbers[0]),
                    NL_STR_ARG(sample->numbers[1]));
        break;
    }
    nl_append_char(out, ')');
    if (sample->has_seed) nl_append_f(out, " REPEATABLE (" NL_STR_FMT ")", NL_STR_ARG(sample->seed));
}

static void print_table(nl_builder *out, const nl_ast_relation *relation)
{
    nl_sql_print_name(out, &relation->table.name);
    const nl_ast_time_travel *travel = relation->table.time_travel;
    if (travel && travel->is_timestamp) {
        nl_append_c(out, " TIMESTAMP AS OF ");
        /* A value: weaker operators were in parentheses, which the tree does not keep. */
        nl_ast_expr_kind kind = travel->timestamp->kind;
        bool is_simple = kind == NL_AST_EXPR_LITERAL || kind == NL_AST_EXPR_CALL || kind == NL_AST_EXPR_SUBQUERY;
        if (!is_simple) nl_append_char(out, '(');
        nl_sql_print_expr(out, travel->timestamp);
        if (!is_simple) nl_append_char(out, ')');
    } else if (travel) {
        nl_append_c(out, " VERSION AS OF ");
        if (travel->is_string)
            nl_print_string(out, travel->version);
        else
            nl_append(out, travel->version);
    }
    if (relation->table.options) {
        nl_append_c(out, " WITH ");
        nl_print_properties(out, relation->table.options);
    }
}

static void print_join(nl_builder *out, const nl_ast_relation *relation)
{
    static const char *const words[] = {" JOIN ",           " CROSS JOIN ",    " LEFT JOIN ",     " RIGHT JOIN ",
                                        " FULL JOIN ",      " LEFT SEMI JOIN ", " LEFT ANTI JOIN "};
    nl_print_relation(out, relation->join.left);
    if (relation->join.is_comma) {
        nl_append_c(out, ", ");
    } else {
        if (relation->join.is_natural) nl_append_c(out, " NATURAL");
        nl_append_c(out, words[relation->join.kind]);
    }
    nl_print_relation(out, relation->join.right);
    print_expr_after(out, " ON ", relation->join.on);
    if (relation->join.using_columns.count > 0) {
        nl_append_c(out, " USING ");
        nl_print_ident_list(out, &relation->join.using_columns);
    }
}

static void print_lateral_view(nl_builder *out, const nl_ast_relation *relation)
{
    nl_append_c(out, relation->lateral_view.is_outer ? " LATERAL VIEW OUTER " : " LATERAL VIEW ");
    nl_sql_print_name(out, &relation->lateral_view.function);
    nl_append_char(out, '(');
    nl_print_exprs(out, &relation->lateral_view.args);
    nl_append_c(out, ") ");
    nl_print_ident(out, &relation->lateral_view.table);
    if (relation->lateral_view.columns.count == 0) return;
    nl_append_c(out, " AS ");
    nl_print_idents(out, &relation->lateral_view.columns);
}

static void print_pivot(nl_builder *out, const nl_ast_relation *relation)
{
    nl_append_c(out, " PIVOT (");
    nl_print_exprs(out, &relation->pivot.aggregates);
    nl_append_c(out, " FOR ");
    if (relation->pivot.has_column_parentheses)
        nl_print_ident_list(out, &relation->pivot.columns);
    else
        nl_print_idents(out, &relation->pivot.columns);
    nl_append_c(out, " IN (");
    for (uint32_t i = 0; i < relation->pivot.value_count; i++) {
        const nl_ast_pivot_value *value = &relation->pivot.values[i];
        if (i > 0) nl_append_c(out, ", ");
        nl_sql_print_expr(out, value->value);
        if (!value->name.text.data) continue;
        nl_append_c(out, " AS ");
        nl_print_ident(out, &value->name);
    }
    nl_append_c(out, "))");
}

static void print_unpivot(nl_builder *out, const nl_ast_relation *relation)
{
    nl_append_c(out, " UNPIVOT ");
    if (relation->unpivot.has_nulls)
        nl_append_c(out, relation->unpivot.is_including_nulls ? "INCLUDE NULLS " : "EXCLUDE NULLS ");
    nl_append_char(out, '(');
    if (relation->unpivot.is_multi_value)
        nl_print_ident_list(out, &relation->unpivot.values);
    else
        nl_print_idents(out, &relation->unpivot.values);
    nl_append_c(out, " FOR ");
    nl_print_ident(out, &relation->unpivot.name);
    nl_append_c(out, " IN (");
    for (uint32_t i = 0; i < relation->unpivot.column_count; i++) {
        const nl_ast_unpivot_column *column = &relation->unpivot.columns[i];
        if (i > 0) nl_append_c(out, ", ");
        if (column->has_parentheses) nl_append_char(out, '(');
        nl_print_names(out, &column->columns);
        if (column->has_parentheses) nl_append_char(out, ')');
        if (!column->name.text.data) continue;
        nl_append_c(out, " AS ");
        nl_print_ident(out, &column->name);
    }
    nl_append_c(out, "))");
}

/* What stands behind the input of a lateral view, pivot or unpivot. */
static void print_extension(nl_builder *out, const nl_ast_relation *relation)
{
    if (relation->kind == NL_AST_RELATION_LATERAL_VIEW)
        print_lateral_view(out, relation);
    else if (relation->kind == NL_AST_RELATION_PIVOT)
        print_pivot(out, relation);
    else if (relation->kind == NL_AST_RELATION_UNPIVOT)
        print_unpivot(out, relation);
}

static const nl_ast_relation *extension_input(const nl_ast_relation *relation)
{
    if (relation->kind == NL_AST_RELATION_LATERAL_VIEW) return relation->lateral_view.input;
    if (relation->kind == NL_AST_RELATION_PIVOT) return relation->pivot.input;
    return relation->unpivot.input;
}

void nl_print_relation(nl_builder *out, const nl_ast_relation *relation)
{
    if (relation->is_lateral) nl_append_c(out, "LATERAL ");
    switch (relation->kind) {
    case NL_AST_RELATION_FILES:
    case NL_AST_RELATION_TERM: /* never printed: trees of DataFrames have no text */
    case NL_AST_RELATION_SOURCE: break;
    case NL_AST_RELATION_TABLE: print_table(out, relation); break;
    case NL_AST_RELATION_SUBQUERY:
        nl_append_char(out, '(');
        nl_sql_print_query(out, relation->query);
        nl_append_char(out, ')');
        break;
    case NL_AST_RELATION_PARENTHESES:
        nl_append_char(out, '(');
        nl_print_relation(out, relation->inner);
        nl_append_char(out, ')');
        break;
    case NL_AST_RELATION_VALUES:
        nl_append_c(out, "VALUES ");
        nl_print_exprs(out, &relation->rows);
        break;
    case NL_AST_RELATION_FUNCTION:
        nl_sql_print_name(out, &relation->function.name);
        nl_append_char(out, '(');
        nl_print_arguments(out, &relation->function.args);
        nl_append_char(out, ')');
        break;
    case NL_AST_RELATION_JOIN: print_join(out, relation); break;
    case NL_AST_RELATION_LATERAL_VIEW:
    case NL_AST_RELATION_PIVOT:
    case NL_AST_RELATION_UNPIVOT:
        if (extension_input(relation)) nl_print_relation(out, extension_input(relation));
        print_extension(out, relation);
        break;
    case NL_AST_RELATION_PIPE: break;
    }
    print_sample(out, relation->sample);
    nl_print_table_alias(out, &relation->alias);
}

/* ---- SELECT ---------------------------------------------------------------------------------------------------------------------- */

static void print_hints(nl_builder *out, const nl_ast_select *select)
{
    for (uint32_t i = 0; i < select->hint_count; i++) {
        nl_append_c(out, " /*+");
        for (uint32_t j = 0; j < select->hints[i].count; j++) {
            const nl_ast_hint *hint = &select->hints[i].items[j];
            nl_append_c(out, j > 0 ? ", " : " ");
            nl_print_ident(out, &hint->name);
            if (!hint->has_parentheses) continue;
            nl_append_char(out, '(');
            nl_print_operands(out, &hint->args);
            nl_append_char(out, ')');
        }
        nl_append_c(out, " */");
    }
}

static void print_transform(nl_builder *out, const nl_ast_transform *transform)
{
    bool has_parentheses = transform->kind == NL_AST_TRANSFORM_SELECT;
    nl_append_c(out, has_parentheses                              ? "SELECT TRANSFORM("
                     : transform->kind == NL_AST_TRANSFORM_MAP ? "MAP "
                                                                  : "REDUCE ");
    if (transform->quantifier != NL_AST_SET_UNSAID)
        nl_append_c(out, transform->quantifier == NL_AST_SET_ALL ? "ALL " : "DISTINCT ");
    nl_print_exprs(out, &transform->inputs);
    if (has_parentheses) nl_append_char(out, ')');
    nl_print_row_format(out, transform->in_format);
    print_optional_string(out, " RECORDWRITER ", transform->record_writer);
    print_optional_string(out, " USING ", transform->script);
    if (transform->has_as) {
        nl_append_c(out, " AS (");
        nl_print_idents(out, &transform->names);
        nl_print_fields(out, &transform->columns);
        nl_append_char(out, ')');
    }
    nl_print_row_format(out, transform->out_format);
    print_optional_string(out, " RECORDREADER ", transform->record_reader);
}

static void print_groupings(nl_builder *out, const nl_ast_groupings *groupings);

static void print_grouping(nl_builder *out, const nl_ast_grouping *grouping)
{
    switch (grouping->kind) {
    case NL_AST_GROUP_EXPRESSION: nl_sql_print_expr(out, grouping->expr); return;
    case NL_AST_GROUP_SET:
        if (grouping->has_parentheses) nl_append_char(out, '(');
        nl_print_exprs(out, &grouping->exprs);
        if (grouping->has_parentheses) nl_append_char(out, ')');
        return;
    case NL_AST_GROUP_ROLLUP: nl_append_c(out, "ROLLUP("); break;
    case NL_AST_GROUP_CUBE: nl_append_c(out, "CUBE("); break;
    case NL_AST_GROUP_SETS: nl_append_c(out, "GROUPING SETS ("); break;
    }
    print_groupings(out, &grouping->elements);
    nl_append_char(out, ')');
}

static void print_groupings(nl_builder *out, const nl_ast_groupings *groupings)
{
    for (uint32_t i = 0; i < groupings->count; i++) {
        if (i > 0) nl_append_c(out, ", ");
        print_grouping(out, groupings->items[i]);
    }
}

static void print_group_by(nl_builder *out, const nl_ast_group_by *group_by)
{
    if (!group_by) return;
    nl_append_c(out, " GROUP BY ");
    print_groupings(out, &group_by->items);
    switch (group_by->suffix) {
    case NL_AST_GROUP_PLAIN: break;
    case NL_AST_GROUP_WITH_ROLLUP: nl_append_c(out, " WITH ROLLUP"); break;
    case NL_AST_GROUP_WITH_CUBE: nl_append_c(out, " WITH CUBE"); break;
    case NL_AST_GROUP_WITH_SETS:
        nl_append_c(out, " GROUPING SETS (");
        print_groupings(out, &group_by->sets);
        nl_append_char(out, ')');
        break;
    }
}

/* The lateral views between a select and a FROM that is printed elsewhere, innermost first. */
static void print_views_above(nl_builder *out, const nl_ast_relation *relation, const nl_ast_relation *hidden)
{
    if (!relation || relation == hidden || relation->kind != NL_AST_RELATION_LATERAL_VIEW) return;
    print_views_above(out, relation->lateral_view.input, hidden);
    print_lateral_view(out, relation);
}

static bool has_from_word(const nl_ast_relation *from)
{
    while (from && from->kind == NL_AST_RELATION_LATERAL_VIEW) from = from->lateral_view.input;
    return from != NULL;
}

static void print_select_list(nl_builder *out, const nl_ast_select *select)
{
    if (select->transform) {
        print_transform(out, select->transform);
        return;
    }
    nl_append_c(out, "SELECT");
    print_hints(out, select);
    print_quantifier(out, select->quantifier);
    nl_append_char(out, ' ');
    nl_print_exprs(out, &select->items);
}

static void print_select(nl_builder *out, const nl_ast_select *select, const nl_ast_relation *hidden)
{
    bool is_bare_from = select->items.count == 0 && !select->transform;
    if (!is_bare_from) print_select_list(out, select);
    if (hidden) {
        print_views_above(out, select->from, hidden);
    } else if (select->from) {
        if (has_from_word(select->from)) nl_append_c(out, is_bare_from ? "FROM " : " FROM ");
        nl_print_relation(out, select->from);
    }
    print_expr_after(out, " WHERE ", select->where);
    print_group_by(out, select->group_by);
    print_expr_after(out, " HAVING ", select->having);
    print_windows(out, &select->windows);
}

/* ---- terms ------------------------------------------------------------------------------------------------------------------------ */

static void print_term(nl_builder *out, const nl_ast_term *term);

static void print_pipe_operator(nl_builder *out, const nl_ast_pipe *pipe)
{
    static const char *const set_words[] = {"UNION", "EXCEPT", "INTERSECT"};
    switch (pipe->kind) {
    case NL_AST_PIPE_SELECT:
        nl_append_char(out, ' ');
        print_select(out, pipe->select, NULL);
        break;
    case NL_AST_PIPE_EXTEND: print_exprs_after(out, " EXTEND ", &pipe->exprs); break;
    case NL_AST_PIPE_SET:
        nl_append_c(out, " SET ");
        nl_print_assignments(out, &pipe->assignments);
        break;
    case NL_AST_PIPE_DROP:
        nl_append_c(out, " DROP ");
        nl_print_idents(out, &pipe->names);
        break;
    case NL_AST_PIPE_AS:
        nl_append_c(out, " AS ");
        nl_print_ident(out, &pipe->alias);
        break;
    case NL_AST_PIPE_WHERE:
        print_expr_after(out, " WHERE ", pipe->condition);
        print_windows(out, &pipe->windows);
        break;
    case NL_AST_PIPE_RELATION: nl_print_relation(out, pipe->relation); break;
    case NL_AST_PIPE_SET_OPERATION:
        nl_append_f(out, " %s", set_words[pipe->set_operator]);
        print_quantifier(out, pipe->quantifier);
        nl_append_char(out, ' ');
        print_term(out, pipe->right);
        break;
    case NL_AST_PIPE_ORGANIZE: print_organization(out, &pipe->organization); break;
    case NL_AST_PIPE_AGGREGATE:
        nl_append_c(out, " AGGREGATE");
        print_exprs_after(out, " ", &pipe->exprs);
        print_group_by(out, pipe->group_by);
        break;
    case NL_AST_PIPE_DATAFRAME: break; /* never printed: trees of DataFrames have no text */
    }
}

/* INTERSECT binds tighter; a left side that the default precedence would read otherwise gets parentheses. */
static bool has_parentheses(const nl_ast_term *term)
{
    const nl_ast_term *left = term->set.left;
    return left->kind == NL_AST_TERM_SET_OPERATION && term->set.op == NL_AST_SET_INTERSECT && left->set.op != NL_AST_SET_INTERSECT;
}

/* A chain leans to the left and may be long: its spine is followed with loops, down by depth and up again. */
static void print_set_operation(nl_builder *out, const nl_ast_term *term)
{
    static const char *const words[] = {" UNION", " EXCEPT", " INTERSECT"};
    uint32_t count = 0;
    const nl_ast_term *leftmost = term;
    for (; leftmost->kind == NL_AST_TERM_SET_OPERATION; leftmost = leftmost->set.left, count++)
        if (has_parentheses(leftmost)) nl_append_char(out, '(');
    const nl_ast_term **spine = calloc(count, sizeof(*spine));
    if (!spine) {
        nl_append_c(out, "…");
        return;
    }
    uint32_t at = count;
    for (const nl_ast_term *node = term; at > 0; node = node->set.left) spine[--at] = node;
    print_term(out, leftmost);
    for (uint32_t i = 0; i < count; i++) {
        if (has_parentheses(spine[i])) nl_append_char(out, ')');
        nl_append_c(out, words[spine[i]->set.op]);
        print_quantifier(out, spine[i]->set.quantifier);
        nl_append_char(out, ' ');
        print_term(out, spine[i]->set.right);
    }
    free(spine);
}

static void print_term(nl_builder *out, const nl_ast_term *term)
{
    switch (term->kind) {
    case NL_AST_TERM_SELECT: print_select(out, term->select, NULL); break;
    case NL_AST_TERM_SET_OPERATION: print_set_operation(out, term); break;
    case NL_AST_TERM_VALUES: nl_print_relation(out, term->values); break;
    case NL_AST_TERM_TABLE:
        nl_append_c(out, "TABLE ");
        nl_sql_print_name(out, &term->table);
        break;
    case NL_AST_TERM_SUBQUERY:
        nl_append_char(out, '(');
        nl_sql_print_query(out, term->query);
        nl_append_char(out, ')');
        break;
    case NL_AST_TERM_PIPE:
        print_term(out, term->pipe->left);
        nl_append_c(out, " |>");
        print_pipe_operator(out, term->pipe);
        break;
    case NL_AST_TERM_RELATION: /* never printed: trees of DataFrames have no text */
    case NL_AST_TERM_TEXT: break;
    }
}

void nl_sql_print_query(nl_builder *out, const nl_ast_query *query)
{
    nl_print_ctes(out, &query->ctes);
    print_term(out, query->body);
    print_organization(out, &query->organization);
}

void nl_print_query_without_from(nl_builder *out, const nl_ast_query *query, const nl_ast_relation *from)
{
    print_select(out, query->body->select, from);
    print_organization(out, &query->organization);
}
