/* command/explain.c - EXPLAIN in Spark's forms; the plans shown are nilas's own. */
#include "command/command_private.h"

#define PLAN_TEXT_MAX (64u << 20)

static void append_section(nl_builder *out, const char *title, const nl_logical *plan)
{
    nl_append_f(out, "== %s ==\n", title);
    nl_logical_append_text(plan, out);
    if (out->length && out->data[out->length - 1] != '\n') nl_append_char(out, '\n');
}

/* "a: int, b: string" above the analyzed plan. */
static void append_columns(nl_arena *arena, nl_builder *out, const nl_logical *plan)
{
    for (uint32_t i = 0; i < plan->column_count; i++) {
        if (i) nl_append_c(out, ", ");
        nl_append(out, plan->columns[i].name);
        nl_append_c(out, ": ");
        nl_append(out, nl_type_name(arena, plan->columns[i].type));
    }
    nl_append_char(out, '\n');
}

static nl_status explain_query(nl_command *command, const nl_ast_explain *explain, const nl_ast_query *query, nl_builder *out)
{
    const nl_logical *analyzed = NULL, *optimized = NULL;
    NL_TRY(nl_analyze_query(&command->context, query, &analyzed));
    NL_TRY(nl_command_optimize(command, analyzed, &optimized));
    if (explain->mode == NL_AST_EXPLAIN_EXTENDED || explain->mode == NL_AST_EXPLAIN_LOGICAL) {
        nl_append_c(out, "== Analyzed Logical Plan ==\n");
        append_columns(command->arena, out, analyzed);
        nl_logical_append_text(analyzed, out);
        nl_append_char(out, '\n');
    }
    if (explain->mode == NL_AST_EXPLAIN_EXTENDED || explain->mode == NL_AST_EXPLAIN_COST) {
        append_section(out, "Optimized Logical Plan", optimized);
        nl_append_char(out, '\n');
    }
    append_section(out, "Physical Plan", optimized);
    return NULL;
}

nl_status nl_run_explain(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_explain *explain = statement->explain;
    const nl_field field = {.name = NL_STR("plan"), .type = nl_type_string()};
    nl_rows *rows = NULL;
    nl_builder text;
    nl_builder_init(&text, PLAN_TEXT_MAX);
    nl_status status = NULL;
    if (explain->statement->kind == NL_AST_STATEMENT_QUERY)
        status = explain_query(command, explain, explain->statement->query, &text);
    else
        nl_append_c(&text, "== Physical Plan ==\nExecute command\n");
    if (status && nl_error_kind_of(status) == NL_KIND_USER) { /* the reason is the plan's text */
        nl_builder_clear(&text);
        nl_append_c(&text, "Error occurred during query planning: \n");
        nl_append_c(&text, nl_error_message(status));
        nl_error_free(status);
        status = NULL;
    }
    if (!status) status = nl_command_rows(command, &field, 1, &rows);
    const nl_str shown = nl_builder_str(&text);
    if (!status) status = nl_rows_add_text(rows, &shown);
    nl_builder_fini(&text);
    return status;
}
