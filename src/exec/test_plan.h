/* exec/test_plan.h - plans made by hand and run in every mode; for unit tests only.
 *
 * A result is text: a line per row, columns separated by '|'. Every plan runs with one worker and with four, with
 * batches of 2,048, 3 and 1 rows, and with everything that can spill spilling; all must agree with the expectation.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "exec/exec.h"
#include "exec/expression.h"
#include "exec/metrics.h"

static nl_arena *arena;
static nl_memory *memory;
static nl_eval_confs confs;
static nl_column_id next_id;

static inline int set_up(void **state)
{
    (void)state;
    memory = nl_memory_new(NULL, "test", (size_t)1 << 30);
    arena = nl_arena_new(NULL);
    confs = (nl_eval_confs){.is_ansi = true, .zone = nl_timezone_utc()};
    next_id = 1;
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    nl_arena_free(arena);
    assert_int_equal(nl_memory_used(memory), 0); /* everything was given back */
    nl_memory_release(memory);
    return 0;
}

static inline void expect_success(nl_status status)
{
    if (status) print_error("%s\n%s\n", nl_error_message(status), nl_error_notes(status));
    assert_null(status);
}

static inline const nl_expr *integer(int64_t value)
{
    nl_value literal = nl_value_int(nl_type_bigint(), value);
    return nl_expr_literal(arena, &literal);
}
static inline const nl_expr *text_value(const char *text)
{
    nl_value literal = nl_value_string(nl_str_from(text));
    return nl_expr_literal(arena, &literal);
}
static inline const nl_expr *null_of(const nl_type *type)
{
    nl_value literal = nl_value_null(type);
    return nl_expr_literal(arena, &literal);
}
static inline const nl_expr *column_of(const nl_logical *plan, uint32_t i)
{
    const nl_column *column = &plan->columns[i];
    return nl_expr_column(arena, column->id, column->name, column->type, column->is_nullable);
}
static inline const nl_expr *call(const char *name, const nl_expr *a, const nl_expr *b)
{
    const nl_expr *arguments[] = {a, b};
    const nl_expr *result = NULL;
    expect_success(nl_expr_call_named(arena, &confs, name, arguments, b ? 2 : a ? 1 : 0, &result));
    return result;
}
static inline nl_expr *new_expr(nl_expr_kind kind, const nl_type *type, const nl_expr *const *children, uint32_t count)
{
    nl_expr *expr = NL_NEW(arena, nl_expr);
    const nl_expr **copies = NL_NEW_ARRAY(arena, const nl_expr *, count);
    for (uint32_t i = 0; i < count; i++)
        copies[i] = children[i];
    expr->kind = kind;
    expr->type = type;
    expr->is_nullable = true;
    expr->children = copies;
    expr->child_count = count;
    return expr;
}
static inline nl_expr *aggregate_call(const char *name, const nl_expr *argument)
{
    const nl_expr *bound = call(name, argument, NULL);
    nl_expr *expr = new_expr(NL_EXPR_AGGREGATE, bound->type, bound->children, bound->child_count);
    expr->call = bound->function;
    return expr;
}

static inline nl_logical *new_node(nl_logical_kind kind, const nl_logical *left, const nl_logical *right)
{
    const nl_logical *children[] = {left, right};
    return nl_logical_new(arena, kind, children, right ? 2 : left ? 1 : 0);
}
static inline void set_columns(nl_logical *node, const nl_column *columns, uint32_t count)
{
    nl_column *copies = NL_NEW_ARRAY(arena, nl_column, count);
    for (uint32_t i = 0; i < count; i++)
        copies[i] = columns[i];
    node->columns = copies;
    node->column_count = count;
}
static inline nl_column new_column(const nl_type *type)
{
    return (nl_column){.id = next_id++, .name = NL_STR("c"), .type = type, .is_nullable = true};
}

static inline const nl_logical *range(int64_t start, int64_t stop, int64_t step)
{
    nl_logical *node = new_node(NL_PLAN_RANGE, NULL, NULL);
    node->range.start = start;
    node->range.stop = stop;
    node->range.step = step;
    nl_column column = new_column(nl_type_bigint());
    column.is_nullable = false;
    set_columns(node, &column, 1);
    return node;
}

/* Cells: a text per column and row, "NULL" for null, cast to the columns' types. */
static inline const nl_logical *values(const nl_type *const *types, uint32_t column_count, const char *const *cells, uint32_t row_count)
{
    nl_logical *node = new_node(NL_PLAN_VALUES, NULL, NULL);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, column_count);
    const nl_expr *const **rows = NL_NEW_ARRAY(arena, const nl_expr *const *, row_count);
    for (uint32_t i = 0; i < column_count; i++)
        columns[i] = new_column(types[i]);
    for (uint32_t row = 0; row < row_count; row++) {
        const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, column_count);
        for (uint32_t i = 0; i < column_count; i++) {
            const char *cell = cells[row * column_count + i];
            nl_value value = nl_value_string(nl_str_from(cell));
            if (strcmp(cell, "NULL") == 0)
                value = nl_value_null(types[i]);
            else if (types[i]->id != NL_TYPE_STRING)
                expect_success(nl_cast_value(arena, &confs, NL_CAST_ANSI, &value, types[i], &value));
            exprs[i] = nl_expr_literal(arena, &value);
        }
        rows[row] = exprs;
    }
    node->values.rows = rows;
    node->values.row_count = row_count;
    set_columns(node, columns, column_count);
    return node;
}

static inline const nl_logical *project(const nl_logical *child, const nl_expr *const *exprs, uint32_t count)
{
    nl_logical *node = new_node(NL_PLAN_PROJECT, child, NULL);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count);
    const nl_expr **copies = NL_NEW_ARRAY(arena, const nl_expr *, count);
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = new_column(exprs[i]->type);
        copies[i] = exprs[i];
    }
    node->project.exprs = copies;
    set_columns(node, columns, count);
    return node;
}
static inline const nl_logical *filter(const nl_logical *child, const nl_expr *condition)
{
    nl_logical *node = new_node(NL_PLAN_FILTER, child, NULL);
    node->filter.condition = condition;
    set_columns(node, child->columns, child->column_count);
    return node;
}
static inline const nl_logical *limit(const nl_logical *child, int64_t offset, int64_t count)
{
    nl_logical *node = new_node(NL_PLAN_LIMIT, child, NULL);
    node->limit.limit = count;
    node->limit.offset = offset;
    set_columns(node, child->columns, child->column_count);
    return node;
}
static inline const nl_logical *sort(const nl_logical *child, const nl_sort_key *keys, uint32_t count)
{
    nl_logical *node = new_node(NL_PLAN_SORT, child, NULL);
    nl_sort_key *copies = NL_NEW_ARRAY(arena, nl_sort_key, count);
    for (uint32_t i = 0; i < count; i++)
        copies[i] = keys[i];
    node->sort.keys = copies;
    node->sort.key_count = count;
    node->sort.is_global = true;
    set_columns(node, child->columns, child->column_count);
    return node;
}
static inline nl_logical *aggregate(const nl_logical *child, const nl_expr *const *keys, uint32_t key_count, const nl_expr *const *calls, uint32_t call_count)
{
    nl_logical *node = new_node(NL_PLAN_AGGREGATE, child, NULL);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, key_count + call_count + 1);
    const nl_expr **key_copies = NL_NEW_ARRAY(arena, const nl_expr *, key_count);
    const nl_expr **call_copies = NL_NEW_ARRAY(arena, const nl_expr *, call_count);
    for (uint32_t i = 0; i < key_count; i++) {
        columns[i] = new_column(keys[i]->type);
        key_copies[i] = keys[i];
    }
    for (uint32_t i = 0; i < call_count; i++) {
        columns[key_count + i] = new_column(calls[i]->type);
        call_copies[i] = calls[i];
    }
    node->aggregate.keys = key_copies;
    node->aggregate.key_count = key_count;
    node->aggregate.aggregates = call_copies;
    node->aggregate.aggregate_count = call_count;
    set_columns(node, columns, key_count + call_count);
    return node;
}
static inline nl_logical *join(const nl_logical *left, const nl_logical *right, nl_join_kind kind, const nl_expr *condition)
{
    nl_logical *node = new_node(NL_PLAN_JOIN, left, right);
    bool gives_right = kind <= NL_JOIN_CROSS;
    uint32_t count = left->column_count + (gives_right ? right->column_count : kind == NL_JOIN_MARK);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count);
    for (uint32_t i = 0; i < count; i++)
        columns[i] = i < left->column_count ? left->columns[i] : gives_right ? right->columns[i - left->column_count] : new_column(nl_type_boolean());
    node->join.kind = kind;
    node->join.condition = condition;
    set_columns(node, columns, count);
    return node;
}

typedef struct text_consumer {
    nl_consumer base;
    nl_builder text;
} text_consumer;

static inline nl_status consume_text(nl_consumer *self, nl_batch *batch)
{
    text_consumer *consumer = NL_CONTAINER(self, text_consumer, base);
    nl_text_options options = {.style = NL_TEXT_CAST, .zone = confs.zone};
    assert_false(batch->is_selective);
    for (uint32_t row = 0; row < batch->row_count; row++) {
        for (uint32_t i = 0; i < batch->column_count; i++) {
            if (i) nl_append_char(&consumer->text, '|');
            nl_vector_append_text(&batch->columns[i], row, &options, &consumer->text);
        }
        nl_append_char(&consumer->text, '\n');
    }
    return NULL;
}

static inline int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines in byte order; owned. */
static inline char *sorted_lines(const char *text)
{
    char *copy = strdup(text);
    size_t count = 0, capacity = 64;
    char **lines = malloc(capacity * sizeof *lines);
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
        if (count == capacity) lines = realloc(lines, (capacity *= 2) * sizeof *lines);
        lines[count++] = line;
    }
    if (count) qsort(lines, count, sizeof *lines, compare_lines);
    char *sorted = malloc(strlen(text) + count + 2);
    char *at = sorted;
    for (size_t i = 0; i < count; i++)
        at += sprintf(at, "%s\n", lines[i]);
    *at = 0;
    free(lines);
    free(copy);
    return sorted;
}

typedef struct run_mode {
    uint32_t workers, batch_rows;
    bool force_spill;
} run_mode;

/* *text is owned. */
static inline nl_status run_in_mode(const nl_logical *plan, const char *statement, const run_mode *mode, char **text)
{
    nl_pool *pool = nl_pool_new(mode->workers, "test");
    nl_query query = {.arena = arena, .memory = memory, .pool = pool, .confs = &confs, .text = nl_str_from(statement),
                      .batch_rows = mode->batch_rows, .force_spill = mode->force_spill};
    text_consumer consumer = {.base = {.consume = consume_text}};
    nl_builder_init(&consumer.text, (size_t)1 << 30);
    nl_status status = nl_query_run(&query, plan, &consumer.base);
    *text = strdup(nl_builder_c(&consumer.text));
    nl_builder_fini(&consumer.text);
    nl_pool_free(pool);
    return status;
}

static const run_mode run_modes[] = {{1, NL_BATCH_ROWS, false}, {4, NL_BATCH_ROWS, false}, {1, 3, false},  {4, 3, false},
                                     {2, 1, false},             {1, NL_BATCH_ROWS, true},  {4, 3, true}, {1, 1, true}, {4, NL_BATCH_ROWS, true}};

static inline void expect_rows(const nl_logical *plan, bool is_ordered, const char *expected)
{
    char *wanted = is_ordered ? strdup(expected) : sorted_lines(expected);
    for (size_t i = 0; i < NL_COUNT(run_modes); i++) {
        char *text = NULL;
        expect_success(run_in_mode(plan, "", &run_modes[i], &text));
        char *got = is_ordered ? strdup(text) : sorted_lines(text);
        if (strcmp(got, wanted) != 0)
            print_error("workers %u, batches of %u%s\n", run_modes[i].workers, run_modes[i].batch_rows, run_modes[i].force_spill ? ", spilling" : "");
        assert_string_equal(got, wanted);
        free(got);
        free(text);
    }
    free(wanted);
}

static inline void expect_failure(const nl_logical *plan, const char *condition)
{
    for (size_t i = 0; i < NL_COUNT(run_modes); i++) {
        char *text = NULL;
        nl_status status = run_in_mode(plan, "", &run_modes[i], &text);
        free(text);
        assert_non_null(status);
        assert_string_equal(nl_condition_name(nl_error_condition(status)), condition);
        nl_error_free(status);
    }
}

/* Expected texts that loops make. */
static inline char *rows_text(uint64_t count, void (*append)(nl_builder *out, uint64_t i))
{
    nl_builder out;
    nl_builder_init(&out, (size_t)1 << 30);
    for (uint64_t i = 0; i < count; i++)
        append(&out, i);
    char *text = strdup(nl_builder_c(&out));
    nl_builder_fini(&out);
    return text;
}
