/* command/explain.c - EXPLAIN in Spark's forms; the plans shown are nilas's own. */
#include "command/cached.h"
#include "command/write.h"
#include "exec/metrics.h"

#include <time.h>

#define PLAN_TEXT_MAX (64u << 20)

static void append_section(nl_builder *out, const char *title, const nl_logical *plan)
{
    nl_append_f(out, "== %s ==\n", title);
    nl_logical_append_text(plan, out);
    if (out->length && out->data[out->length - 1] != '\n') nl_append_char(out, '\n');
}

typedef struct costing {
    nl_plan_context *context;
} costing;

static void append_statistics(void *context, const nl_logical *node, nl_builder *out)
{
    const costing *self = context;
    const double rows = nl_estimated_rows(self->context, node);
    double width = 8; /* of a row's own, as Spark counts */
    for (uint32_t i = 0; i < node->column_count; i++) width += node->columns[i].type->physical == NL_PHYS_STRING ? 20 : 8;
    nl_append_f(out, ", Statistics(sizeInBytes=%.1f B, rowCount=%.0f)", rows * width, rows);
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
    NL_TRY(nl_cached_analyze(command, query, &analyzed));
    NL_TRY(nl_command_optimize(command, analyzed, &optimized));
    if (explain->mode == NL_AST_EXPLAIN_EXTENDED || explain->mode == NL_AST_EXPLAIN_LOGICAL) {
        if (command->text.length == 0 || command->text.data[0] == '\001') { /* a DataFrame: nobody has written its query */
            nl_append_c(out, "== Parsed Logical Plan ==\n");
            nl_logical_append_text(analyzed, out);
            nl_append_char(out, '\n');
        }
        nl_append_c(out, "== Analyzed Logical Plan ==\n");
        append_columns(command->arena, out, analyzed);
        nl_logical_append_text(analyzed, out);
        nl_append_char(out, '\n');
    }
    if (explain->mode == NL_AST_EXPLAIN_EXTENDED || explain->mode == NL_AST_EXPLAIN_COST) {
        nl_append_c(out, "== Optimized Logical Plan ==\n");
        nl_logical_append_annotated(optimized, explain->mode == NL_AST_EXPLAIN_COST ? append_statistics : NULL, &(costing){&command->context}, out);
        if (out->length && out->data[out->length - 1] != '\n') nl_append_char(out, '\n');
        nl_append_char(out, '\n');
    }
    append_section(out, "Physical Plan", optimized);
    return NULL;
}

typedef struct counting_consumer { /* of EXPLAIN ANALYZE: rows are counted and dropped */
    nl_consumer base;
    uint64_t rows;
} counting_consumer;

static nl_status count_rows(nl_consumer *self, nl_batch *batch)
{
    NL_CONTAINER(self, counting_consumer, base)->rows += nl_batch_live_rows(batch);
    return NULL;
}

static double now_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static nl_status explain_analyze(nl_command *command, const nl_ast_statement *statement, nl_builder *out)
{
    if (statement->kind != NL_AST_STATEMENT_QUERY)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "EXPLAIN ANALYZE runs queries only; this statement would change something.");
    const nl_logical *analyzed = NULL, *optimized = NULL;
    counting_consumer consumer = {.base = {.consume = count_rows}};
    const double start = now_milliseconds();
    NL_TRY(nl_cached_analyze(command, statement->query, &analyzed));
    NL_TRY(nl_command_optimize(command, analyzed, &optimized));
    const double planned = now_milliseconds();
    command->query.metrics = nl_metrics_new(command->arena);
    NL_TRY(nl_query_run(&command->query, optimized, &consumer.base));
    nl_append_c(out, "== Analyzed Plan ==\n");
    nl_metrics_append_text(command->query.metrics, optimized, out);
    if (out->length && out->data[out->length - 1] != '\n') nl_append_char(out, '\n');
    nl_append_f(out, "Total: rows %llu, planning %.1f ms, running %.1f ms, memory %.1f MiB at most\n", (unsigned long long)consumer.rows,
                planned - start, now_milliseconds() - planned, (double)nl_memory_peak(command->memory) / (1u << 20));
    return NULL;
}

static nl_status explain_command(nl_command *command, const nl_ast_statement *statement, nl_builder *out)
{
    bool is_shown = false;
    nl_append_c(out, "== Physical Plan ==\n");
    NL_TRY(nl_explain_insert(command, statement, out, &is_shown));
    if (!is_shown) nl_append_c(out, "Execute command\n");
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
    if (explain->mode == NL_AST_EXPLAIN_ANALYZE)
        status = explain_analyze(command, explain->statement, &text);
    else if (explain->statement->kind == NL_AST_STATEMENT_QUERY)
        status = explain_query(command, explain, explain->statement->query, &text);
    else
        status = explain_command(command, explain->statement, &text);
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
