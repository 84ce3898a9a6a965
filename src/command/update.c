/* command/update.c - UPDATE. */
#include "command/determinism.h"
#include "command/file_clusters.h"

#include "exec/source/predicate.h"

typedef struct update_row { /* one row's columns, before and after */
    const nl_expr **current;
    const nl_expr **stored;
    nl_str *names;
    uint32_t count;
} update_row;

static nl_status make_row(nl_row_level *self, const nl_ast_update *update, const nl_logical *scan, update_row *row)
{
    nl_arena *arena = self->command->arena;
    row->count = self->target.row_type->child_count;
    row->current = NL_NEW_ARRAY(arena, const nl_expr *, row->count);
    row->stored = NL_NEW_ARRAY(arena, const nl_expr *, row->count + 3);
    row->names = NL_NEW_ARRAY(arena, nl_str, row->count + 7);
    const nl_expr **values = NL_NEW_ARRAY(arena, const nl_expr *, row->count);
    for (uint32_t i = 0; i < row->count; i++) {
        row->current[i] = nl_column_expr(arena, &scan->columns[i]);
        row->names[i] = scan->columns[i].name;
    }
    NL_TRY(nl_row_level_assign(self, &update->assignments, scan->columns, scan->column_count, row->current, values));
    return nl_row_level_store(self, scan, values, row->current, row->stored);
}

static nl_status analyze_where(nl_row_level *self, const nl_ast_update *update, const nl_logical *scan, const nl_expr **condition)
{
    *condition = nl_expr_boolean(self->command->arena, true);
    return update->where ? nl_analyze_condition(&self->command->context, update->where, scan->columns, scan->column_count, condition) : NULL;
}

static nl_status update_by_copy(nl_row_level *self, const nl_ast_update *update, const nl_predicate *conflict_filter)
{
    nl_command *command = self->command;
    const nl_logical *scan = NULL;
    const nl_expr *condition = NULL, *is_updated = NULL;
    const nl_str *files;
    uint32_t file_count;
    update_row row;
    NL_TRY(nl_row_level_scan(self, false, NULL, 0, &scan));
    NL_TRY(analyze_where(self, update, scan, &condition));
    NL_TRY(nl_row_level_affected(self, nl_plan_filter(command, scan, condition), nl_row_level_column(self, scan, "_file"), &files, &file_count));
    NL_TRY(nl_row_level_scan(self, true, files, file_count, &scan));
    NL_TRY(analyze_where(self, update, scan, &condition));
    NL_TRY(nl_plan_is_true(command, condition, &is_updated));
    /* The condition is computed once per row, below the choice between old and new values. */
    const nl_expr **below = NL_NEW_ARRAY(command->arena, const nl_expr *, scan->column_count + 1);
    nl_str *names = NL_NEW_ARRAY(command->arena, nl_str, scan->column_count + 1);
    for (uint32_t i = 0; i < scan->column_count; i++) {
        below[i] = nl_column_expr(command->arena, &scan->columns[i]);
        names[i] = scan->columns[i].name;
    }
    below[scan->column_count] = is_updated;
    names[scan->column_count] = NL_STR("_is_updated");
    nl_logical *marked = (nl_logical *)(uintptr_t)nl_plan_project(command, scan, below, names, scan->column_count + 1);
    nl_column *columns = (nl_column *)(uintptr_t)marked->columns;
    for (uint32_t i = 0; i < scan->column_count; i++) {
        columns[i].qualifier = scan->columns[i].qualifier;
        columns[i].qualifier_count = scan->columns[i].qualifier_count;
        columns[i].is_hidden = scan->columns[i].is_hidden;
    }
    columns[scan->column_count].is_hidden = true;
    NL_TRY(make_row(self, update, marked, &row));
    const nl_expr *flag = nl_column_expr(command->arena, &marked->columns[scan->column_count]);
    for (uint32_t i = 0; i < row.count; i++) {
        const nl_expr *choice[] = {flag, row.stored[i], row.current[i]};
        if (row.stored[i] != row.current[i]) row.stored[i] = nl_plan_case(command, choice, NL_COUNT(choice), row.stored[i]->type);
    }
    nl_row_level_add_lineage(self, marked, flag, row.stored + row.count, row.names + row.count);
    const uint32_t count = row.count + nl_row_level_lineage(self);
    NL_TRY(nl_row_level_cluster(self, marked, files, file_count, &row.stored[count]));
    row.names[count] = NL_STR("_cluster");
    return nl_row_level_replace(self, nl_plan_project(command, marked, row.stored, row.names, count + self->has_clusters), files, file_count, conflict_filter);
}

static nl_status update_by_position(nl_row_level *self, const nl_ast_update *update, const nl_logical *scan, const nl_expr *condition,
                                    const nl_predicate *conflict_filter)
{
    nl_command *command = self->command;
    static const char *const hidden[] = {"_file", "_pos", "_spec_id", "_partition"};
    update_row row;
    NL_TRY(make_row(self, update, scan, &row));
    const uint32_t count = row.count + nl_row_level_lineage(self);
    const nl_expr **exprs = NL_NEW_ARRAY(command->arena, const nl_expr *, count + 5);
    memcpy(exprs, row.stored, row.count * sizeof(*exprs));
    nl_row_level_add_lineage(self, scan, nl_expr_boolean(command->arena, true), exprs + row.count, row.names + row.count);
    exprs[count] = nl_plan_int(command, 3);
    row.names[count] = NL_STR("_operation");
    for (uint32_t i = 0; i < NL_COUNT(hidden); i++) {
        exprs[count + 1 + i] = nl_row_level_column(self, scan, hidden[i]);
        row.names[count + 1 + i] = nl_str_from(hidden[i]);
    }
    const nl_logical *updated = nl_plan_filter(command, scan, condition);
    return nl_row_level_delta(self, nl_plan_project(command, updated, exprs, row.names, count + 5), conflict_filter, false);
}

static nl_status update_rows(nl_row_level *self, const nl_ast_update *update)
{
    const nl_logical *scan = NULL;
    const nl_expr *condition = NULL;
    const nl_predicate *predicate = nl_predicate_true();
    bool is_merge_on_read = false;
    NL_TRY(nl_row_level_scan(self, false, NULL, 0, &scan));
    NL_TRY(analyze_where(self, update, scan, &condition));
    NL_TRY(nl_row_level_is_merge_on_read(self, &is_merge_on_read));
    NL_TRY(nl_check_deterministic(self->command, condition, is_merge_on_read ? 1 : 2));
    if (condition) NL_TRY(nl_simplify_expr(&self->command->context, condition, &condition));
    NL_TRY(nl_predicate_of_expr(self->command->arena, condition, scan, &predicate, NULL));
    return is_merge_on_read ? update_by_position(self, update, scan, condition, predicate) : update_by_copy(self, update, predicate);
}

nl_status nl_run_update(nl_command *command, const nl_ast_statement *statement)
{
    nl_row_level self;
    command->context.ctes = &statement->update->ctes;
    NL_TRY(nl_row_level_open(command, "update", &statement->update->table, &statement->update->alias, &self));
    nl_status status = update_rows(&self, statement->update);
    nl_row_level_close(&self);
    return status;
}
