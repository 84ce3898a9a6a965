/* command/delete.c - DELETE FROM and TRUNCATE TABLE. */
#include "command/determinism.h"
#include "command/plain_tables.h"
#include "command/file_clusters.h"

#include "exec/source/predicate.h"

static bool is_subquery(void *context, const nl_expr *expr)
{
    bool *found = context;
    *found = *found || expr->kind == NL_EXPR_SUBQUERY;
    return !*found;
}

static bool has_subquery(const nl_expr *expr)
{
    bool found = false;
    nl_expr_walk(expr, is_subquery, &found);
    return found;
}

/* Whole files go: nothing is read or written but metadata. */
static nl_status delete_files(nl_row_level *self, const nl_predicate *predicate)
{
    nl_operation operation = {.kind = NL_OPERATION_DELETE, .row_filter = predicate, .data_sequence_number = NL_NONE};
    const nl_written_files none = {0};
    return nl_commit_files(self->command, &self->target, &operation, NULL, &none);
}

static nl_status delete_by_copy(nl_row_level *self, const nl_ast_expr *where, const nl_predicate *conflict_filter)
{
    nl_command *command = self->command;
    const nl_logical *scan = NULL;
    const nl_expr *condition = NULL, *is_deleted = NULL;
    const nl_str *files;
    uint32_t file_count;
    NL_TRY(nl_row_level_scan(self, false, NULL, 0, &scan));
    NL_TRY(nl_analyze_condition(&command->context, where, scan->columns, scan->column_count, &condition));
    NL_TRY(nl_row_level_affected(self, nl_plan_filter(command, scan, condition), nl_row_level_column(self, scan, "_file"), &files, &file_count));
    NL_TRY(nl_row_level_scan(self, true, files, file_count, &scan));
    NL_TRY(nl_analyze_condition(&command->context, where, scan->columns, scan->column_count, &condition));
    NL_TRY(nl_plan_is_true(command, condition, &is_deleted));
    const nl_logical *kept = nl_plan_filter(command, scan, nl_expr_not(command->arena, is_deleted));
    const uint32_t count = self->target.row_type->child_count;
    const uint32_t lineage = nl_row_level_lineage(self);
    const nl_expr **exprs = NL_NEW_ARRAY(command->arena, const nl_expr *, count + lineage + 1);
    nl_str *names = NL_NEW_ARRAY(command->arena, nl_str, count + lineage + 1);
    for (uint32_t i = 0; i < count; i++) {
        exprs[i] = nl_column_expr(command->arena, &scan->columns[i]);
        names[i] = scan->columns[i].name;
    }
    nl_row_level_add_lineage(self, scan, NULL, exprs + count, names + count);
    NL_TRY(nl_row_level_cluster(self, scan, files, file_count, &exprs[count + lineage]));
    names[count + lineage] = NL_STR("_cluster");
    return nl_row_level_replace(self, nl_plan_project(command, kept, exprs, names, count + lineage + self->has_clusters), files, file_count, conflict_filter);
}

static nl_status delete_by_position(nl_row_level *self, const nl_logical *scan, const nl_expr *condition, const nl_predicate *conflict_filter)
{
    nl_command *command = self->command;
    const uint32_t column_count = self->target.row_type->child_count, count = column_count + nl_row_level_lineage(self);
    const nl_expr **exprs = NL_NEW_ARRAY(command->arena, const nl_expr *, count + 5);
    nl_str *names = NL_NEW_ARRAY(command->arena, nl_str, count + 5);
    static const char *const hidden[] = {"_file", "_pos", "_spec_id", "_partition"};
    for (uint32_t i = 0; i < count; i++) {
        const nl_value null_value = nl_value_null(i < column_count ? self->target.row_type->children[i].type : nl_type_bigint());
        exprs[i] = nl_expr_literal(command->arena, &null_value);
        names[i] = i < column_count ? self->target.row_type->children[i].name : NL_STR("_lineage");
    }
    exprs[count] = nl_plan_int(command, 1);
    names[count] = NL_STR("_operation");
    for (uint32_t i = 0; i < NL_COUNT(hidden); i++) {
        exprs[count + 1 + i] = nl_row_level_column(self, scan, hidden[i]);
        names[count + 1 + i] = nl_str_from(hidden[i]);
    }
    const nl_logical *deleted = nl_plan_filter(command, scan, condition);
    return nl_row_level_delta(self, nl_plan_project(command, deleted, exprs, names, count + 5), conflict_filter, true);
}

static nl_status delete_rows(nl_row_level *self, const nl_ast_expr *where)
{
    nl_command *command = self->command;
    const nl_logical *scan = NULL;
    const nl_expr *condition = NULL;
    const nl_predicate *predicate = nl_predicate_true();
    bool is_exact = true, is_metadata_only = false, is_merge_on_read = false;
    NL_TRY(nl_row_level_scan(self, false, NULL, 0, &scan));
    if (where) {
        NL_TRY(nl_analyze_condition(&command->context, where, scan->columns, scan->column_count, &condition));
        NL_TRY(nl_row_level_is_merge_on_read(self, &is_merge_on_read));
        NL_TRY(nl_check_deterministic(command, condition, is_merge_on_read ? 1 : 2));
        is_exact = !has_subquery(condition);
        if (is_exact) NL_TRY(nl_simplify_expr(&command->context, condition, &condition));
        if (is_exact) NL_TRY(nl_predicate_of_expr(command->arena, condition, scan, &predicate, &is_exact));
    }
    if (predicate->kind == NL_PREDICATE_FALSE) return NULL;
    if (is_exact)
        NL_TRY(nl_delete_is_metadata_only(self->target.table, self->target.metadata, self->target.snapshot, predicate, command->query.pool, &is_metadata_only));
    if (is_metadata_only) return delete_files(self, predicate);
    NL_TRY(nl_row_level_is_merge_on_read(self, &is_merge_on_read));
    return is_merge_on_read ? delete_by_position(self, scan, condition, predicate) : delete_by_copy(self, where, predicate);
}

nl_status nl_run_delete(nl_command *command, const nl_ast_statement *statement)
{
    nl_row_level self;
    command->context.ctes = &statement->delete->ctes;
    NL_TRY(nl_row_level_open(command, "delete", &statement->delete->table, &statement->delete->alias, &self));
    nl_status status = delete_rows(&self, statement->delete->where);
    nl_row_level_close(&self);
    return status;
}

nl_status nl_run_truncate(nl_command *command, const nl_ast_statement *statement)
{
    nl_row_level self;
    const nl_plain_table *plain;
    NL_TRY(nl_plain_find_name(command, &statement->truncate->table, &plain));
    if (plain) return nl_plain_truncate(command, plain, statement->truncate->partition);
    if (statement->truncate->partition)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "TRUNCATE TABLE … PARTITION is not supported for Iceberg tables; use DELETE FROM … WHERE");
    NL_TRY(nl_row_level_open(command, "delete", &statement->truncate->table, NULL, &self));
    nl_status status = delete_files(&self, nl_predicate_true());
    nl_row_level_close(&self);
    return status;
}
