/* command/merge.c - MERGE INTO.
 *
 * Target and source are joined; each joined row gets an action, the first WHEN clause of its kind whose condition holds,
 * and from the action come its new values. Copy-on-write restricts the target to files with matching rows and keeps
 * rows no clause speaks of; merge-on-read gives only changed rows. A target row that two source rows match is an
 * error, noticed by a set of positions that every matched row is entered in.
 */
#include "command/cached.h"
#include "command/determinism.h"
#include "command/row_level.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/lock.h"
#include "iceberg/deletion_vector.h"

enum { ACTION_DROP = -2, ACTION_DELETE = -1, ACTION_KEEP = 0 }; /* from 1: clause number + 1 */

typedef struct merge {
    nl_row_level base;
    const nl_ast_merge *ast;
    bool has_matched, has_insert, has_by_source;
    bool is_merge_on_read;
    nl_ast_query *source_query;
} merge;

/* One evaluation of target and source: ids are fresh each time. */
typedef struct merge_plan {
    const nl_logical *target; /* the scan, then _is_target */
    const nl_logical *source; /* the source, then _is_source */
    const nl_logical *joined;
    const nl_column *columns; /* of joined, as clauses see them */
    const nl_expr *target_flag, *source_flag, *file, *position;
    const nl_expr **current;  /* the target's columns */
    uint32_t target_count;    /* table columns */
} merge_plan;

/* ---- one source row per target row ----------------------------------------------------------------------------- */

typedef struct seen_file {
    nl_str path;
    nl_deletion_vector *positions;
} seen_file;

typedef struct cardinality_state { /* the bound function's state: shared by all workers */
    nl_mutex mutex;
    nl_arena *arena;
    nl_list files;      /* seen_file * */
    uint32_t *buckets;  /* index + 1 by hash of the path; open addressing */
    uint32_t bucket_mask;
} cardinality_state;

static void free_cardinality(void *object)
{
    cardinality_state *state = object;
    for (uint32_t i = 0; i < state->files.count; i++)
        nl_deletion_vector_free(((seen_file *)state->files.items[i])->positions);
    nl_mutex_fini(&state->mutex);
    nl_arena_free(state->arena);
    free(state);
}

/* Rows come in the source's order, which goes back and forth between files. */
static uint32_t *bucket_of(const cardinality_state *state, nl_str path)
{
    uint32_t at = (uint32_t)nl_hash_bytes(path.data, path.length, 0) & state->bucket_mask;
    while (state->buckets[at] && !nl_str_equal(((const seen_file *)state->files.items[state->buckets[at] - 1])->path, path))
        at = (at + 1) & state->bucket_mask;
    return &state->buckets[at];
}

static void grow_buckets(cardinality_state *state)
{
    const uint32_t size = state->buckets ? (state->bucket_mask + 1) * 2 : 64;
    state->buckets = NL_NEW_ARRAY(state->arena, uint32_t, size);
    state->bucket_mask = size - 1;
    for (uint32_t i = 0; i < state->files.count; i++)
        *bucket_of(state, ((const seen_file *)state->files.items[i])->path) = i + 1;
}

static nl_status file_of(cardinality_state *state, nl_str path, seen_file **file)
{
    if (!state->buckets || state->files.count * 2 >= state->bucket_mask) grow_buckets(state);
    uint32_t *bucket = bucket_of(state, path);
    if (!*bucket) {
        seen_file *made = NL_NEW(state->arena, seen_file);
        *made = (seen_file){nl_arena_str(state->arena, path), nl_deletion_vector_new()};
        nl_list_add(state->arena, &state->files, made);
        *bucket = state->files.count;
        if (!made->positions) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 1), NL_P("receivedBytes", "0"));
    }
    *file = state->files.items[*bucket - 1];
    return nl_arena_check(state->arena);
}

static nl_status note_rows(cardinality_state *state, const nl_vector *paths, const nl_vector *positions, nl_selection selection)
{
    nl_reader path_reader, position_reader;
    nl_reader_init(&path_reader, paths);
    nl_reader_init(&position_reader, positions);
    const nl_string_view *path_values = path_reader.values;
    const int64_t *position_values = position_reader.values;
    seen_file *file = NULL;
    for (uint32_t i = 0; i < selection.count; i++) {
        const uint32_t row = nl_selection_row(selection, i);
        const nl_str path = nl_view_str(&path_values[nl_reader_index(&path_reader, row)]);
        const int64_t position = position_values[nl_reader_index(&position_reader, row)];
        if (!file || !nl_str_equal(file->path, path)) NL_TRY(file_of(state, path, &file));
        if (nl_deletion_vector_contains(file->positions, position)) return NL_RAISE(MERGE_CARDINALITY_VIOLATION);
        NL_TRY(nl_deletion_vector_add(file->positions, position));
    }
    return NULL;
}

static nl_status check_cardinality(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_lambda *const *lambdas,
                                   nl_selection selection, uint32_t length, nl_vector *out)
{
    cardinality_state *state = (cardinality_state *)(uintptr_t)function->state;
    const nl_value truth = nl_value_boolean(true);
    (void)lambdas;
    nl_mutex_lock(&state->mutex);
    nl_status status = note_rows(state, &args[0], &args[1], selection);
    nl_mutex_unlock(&state->mutex);
    return status ? status : nl_vector_new_constant(out, &truth, length, eval->memory);
}

static const nl_function_row cardinality_row = {
    .name = "merge_cardinality_check",
    .kind = NL_FUNCTION_SCALAR,
    .group = "misc",
    .since = "4.0.0",
    .doc = "True, and an error when a row is seen twice.",
    .signature = "(string, bigint) -> boolean",
    .nulls = NL_NULL_SEEN,
    .is_nondeterministic = true,
    .can_fail = true,
    .is_internal = true,
    .kernel = check_cardinality,
};

static nl_status cardinality_expr(merge *self, const merge_plan *plan, const nl_expr **result)
{
    nl_arena *arena = self->base.command->arena;
    cardinality_state *state = calloc(1, sizeof(*state));
    if (!state) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*state)), NL_P("receivedBytes", "0"));
    nl_mutex_init(&state->mutex);
    state->arena = nl_arena_new(self->base.command->memory);
    nl_arena_on_free(arena, free_cardinality, state);
    nl_bound_function *bound = NL_NEW(arena, nl_bound_function);
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, 2);
    types[0] = nl_type_string();
    types[1] = nl_type_bigint();
    *bound = (nl_bound_function){.row = &cardinality_row, .result_type = nl_type_boolean(), .argument_count = 2, .argument_types = types,
                                 .kernel = check_cardinality, .state = state, .can_fail = true};
    const nl_expr *arguments[] = {plan->file, plan->position};
    *result = nl_expr_call(arena, bound, arguments, NL_COUNT(arguments));
    return NULL;
}

/* Spark does not look when nothing is done to matched rows, or when all of them are just deleted. */
static bool needs_check(const merge *self)
{
    const nl_ast_merge_clause *only = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->ast->clause_count; i++)
        if (self->ast->clauses[i].when == NL_AST_WHEN_MATCHED) {
            only = &self->ast->clauses[i];
            count++;
        }
    return count > 0 && !(count == 1 && only->action == NL_AST_MERGE_DELETE && !only->condition);
}

/* Without clauses for target rows nothing is rewritten or deleted in either mode: an append, as in Spark. The whole
 * target still decides which source rows are new. */
static bool has_only_inserts(const merge *self)
{
    return !self->has_matched && !self->has_by_source;
}

/* ---- target and source ----------------------------------------------------------------------------------------- */

/* The columns of a plan and one more, a constant true that tells joined rows from padded ones. */
static const nl_logical *with_flag(nl_command *command, const nl_logical *plan, const char *name)
{
    const uint32_t count = plan->column_count;
    const nl_expr **exprs = NL_NEW_ARRAY(command->arena, const nl_expr *, count + 1);
    nl_str *names = NL_NEW_ARRAY(command->arena, nl_str, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        exprs[i] = nl_column_expr(command->arena, &plan->columns[i]);
        names[i] = plan->columns[i].name;
    }
    exprs[count] = nl_expr_boolean(command->arena, true);
    names[count] = nl_str_from(name);
    const nl_logical *project = nl_plan_project(command, plan, exprs, names, count + 1);
    nl_column *columns = (nl_column *)(uintptr_t)project->columns;
    for (uint32_t i = 0; i < count; i++) {
        columns[i].qualifier = plan->columns[i].qualifier;
        columns[i].qualifier_count = plan->columns[i].qualifier_count;
        columns[i].is_hidden = plan->columns[i].is_hidden;
    }
    columns[count].is_hidden = true;
    return project;
}

/* The source as the query `FROM source`: the analyzer resolves it like any other. */
static void make_source_query(merge *self)
{
    nl_arena *arena = self->base.command->arena;
    nl_ast_relation *relation = NL_NEW(arena, nl_ast_relation);
    nl_ast_select *select = NL_NEW(arena, nl_ast_select);
    nl_ast_term *term = NL_NEW(arena, nl_ast_term);
    nl_ast_query *query = NL_NEW(arena, nl_ast_query);
    relation->alias = self->ast->source_alias;
    if (self->ast->source_query) {
        relation->kind = NL_AST_RELATION_SUBQUERY;
        relation->query = self->ast->source_query;
    } else {
        relation->kind = NL_AST_RELATION_TABLE;
        relation->table.name = self->ast->source_table;
        relation->range = self->ast->source_table.range;
    }
    select->from = relation;
    term->kind = NL_AST_TERM_SELECT;
    term->select = select;
    query->body = term;
    query->ctes = self->ast->ctes;
    self->source_query = query;
}

static void set_source_qualifier(merge *self, nl_logical *plan)
{
    nl_arena *arena = self->base.command->arena;
    if (self->ast->source_query && !self->ast->source_alias.name.text.data) return; /* a DataFrame's columns bear its own alias */
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, plan->column_count);
    const nl_ast_ident *alias = &self->ast->source_alias.name;
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, self->ast->source_table.count + 1);
    uint32_t part_count = 0;
    if (alias->text.data)
        parts[part_count++] = alias->text;
    else
        for (uint32_t i = 0; i < self->ast->source_table.count; i++)
            parts[part_count++] = self->ast->source_table.parts[i].text;
    for (uint32_t i = 0; i < plan->column_count; i++) {
        columns[i] = plan->columns[i];
        columns[i].qualifier = parts;
        columns[i].qualifier_count = part_count;
    }
    plan->columns = columns;
}

static nl_status plan_source(merge *self, const nl_logical **source)
{
    nl_command *command = self->base.command;
    const nl_logical *query = NULL;
    NL_TRY(nl_cached_analyze(command, self->source_query, &query));
    nl_logical *named = nl_logical_new(command->arena, NL_PLAN_ALIAS, &query, 1);
    named->columns = query->columns;
    named->column_count = query->column_count;
    set_source_qualifier(self, named);
    *source = with_flag(command, named, "_is_source");
    return NULL;
}

static void make_joined_columns(nl_command *command, const nl_logical *target, const nl_logical *source, nl_logical *join)
{
    const uint32_t count = target->column_count + source->column_count;
    nl_column *columns = NL_NEW_ARRAY(command->arena, nl_column, count);
    memcpy(columns, target->columns, target->column_count * sizeof(*columns));
    memcpy(columns + target->column_count, source->columns, source->column_count * sizeof(*columns));
    for (uint32_t i = 0; i < count; i++)
        if (join->join.kind != NL_JOIN_INNER) columns[i].is_nullable = true;
    join->columns = columns;
    join->column_count = count;
}

static nl_status check_condition(merge *self, const char *name, const nl_expr *condition)
{
    const nl_str cond = nl_arena_f(self->base.command->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_expr_pretty_str(self->base.command->arena, condition)));
    if (!nl_is_deterministic(condition)) return NL_RAISE(UNSUPPORTED_MERGE_CONDITION__NON_DETERMINISTIC, NL_P("condName", name), NL_P_STR("cond", cond));
    if (nl_expr_has(condition, NL_EXPR_SUBQUERY)) return NL_RAISE(UNSUPPORTED_MERGE_CONDITION__SUBQUERY, NL_P("condName", name), NL_P_STR("cond", cond));
    if (nl_expr_has(condition, NL_EXPR_AGGREGATE)) return NL_RAISE(UNSUPPORTED_MERGE_CONDITION__AGGREGATE, NL_P("condName", name), NL_P_STR("cond", cond));
    return NULL;
}

/* Copy-on-write evaluates the source twice, to find the files and to rewrite them: it must be the same rows. */
static nl_status check_source(merge *self, const merge_plan *plan)
{
    nl_arena *arena = self->base.command->arena;
    const nl_expr *condition = plan->joined->join.condition;
    const bool is_read_twice = !self->is_merge_on_read && self->has_matched && !self->has_by_source;
    if (!is_read_twice || nl_is_deterministic_plan(plan->source)) return NULL;
    nl_list ids = {0};
    nl_str columns = {0};
    nl_expr_columns(arena, condition, &ids);
    for (uint32_t i = 0; i < ids.count; i++)
        for (uint32_t k = 0; k < plan->target->column_count; k++)
            if (plan->target->columns[k].id == (nl_column_id)(uintptr_t)ids.items[i])
                columns = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(columns), columns.length ? ", " : "", NL_STR_ARG(plan->target->columns[k].name));
    return NL_RAISE(INVALID_NON_DETERMINISTIC_EXPRESSIONS,
                    NL_P_STR("sqlExprs", nl_arena_f(arena, "\"" NL_STR_FMT "\", \"exists(" NL_STR_FMT ")\"", NL_STR_ARG(nl_expr_pretty_str(arena, condition)),
                                                    NL_STR_ARG(columns))));
}

static nl_status join_sides(merge *self, bool is_restricted, const nl_str *files, uint32_t file_count, nl_join_kind kind, merge_plan *plan)
{
    nl_command *command = self->base.command;
    const nl_logical *scan = NULL;
    NL_TRY(nl_row_level_scan(&self->base, is_restricted, files, file_count, &scan));
    plan->target = with_flag(command, scan, "_is_target");
    NL_TRY(plan_source(self, &plan->source));
    const nl_logical *sides[] = {plan->target, plan->source};
    nl_logical *join = nl_logical_new(command->arena, NL_PLAN_JOIN, sides, 2);
    join->join.kind = kind;
    make_joined_columns(command, plan->target, plan->source, join);
    NL_TRY(nl_analyze_condition(&command->context, self->ast->condition, join->columns, join->column_count, &join->join.condition));
    NL_TRY(check_condition(self, "SEARCH", join->join.condition));
    plan->joined = join;
    NL_TRY(check_source(self, plan));
    plan->columns = join->columns;
    plan->target_flag = nl_column_expr(command->arena, &join->columns[plan->target->column_count - 1]);
    plan->source_flag = nl_column_expr(command->arena, &join->columns[join->column_count - 1]);
    plan->file = nl_row_level_column(&self->base, join, "_file");
    plan->position = nl_row_level_column(&self->base, join, "_pos");
    plan->target_count = self->base.target.row_type->child_count;
    plan->current = NL_NEW_ARRAY(command->arena, const nl_expr *, plan->target_count);
    for (uint32_t i = 0; i < plan->target_count; i++)
        plan->current[i] = nl_column_expr(command->arena, &join->columns[i]);
    return NULL;
}

/* ---- actions --------------------------------------------------------------------------------------------------- */

typedef struct case_list {
    const nl_expr **items;
    uint32_t count;
} case_list;

static const char *action_name(nl_ast_merge_action action)
{
    switch (action) {
    case NL_AST_MERGE_DELETE: return "DELETE";
    case NL_AST_MERGE_UPDATE:
    case NL_AST_MERGE_UPDATE_STAR: return "UPDATE";
    case NL_AST_MERGE_INSERT:
    case NL_AST_MERGE_INSERT_STAR: return "INSERT";
    }
    return "";
}

static nl_status clause_condition(merge *self, const merge_plan *plan, const nl_ast_merge_clause *clause, const nl_expr *applies, const nl_expr **condition)
{
    nl_command *command = self->base.command;
    *condition = applies;
    if (!clause->condition) return NULL;
    const nl_expr *own = NULL;
    NL_TRY(nl_analyze_condition(&command->context, clause->condition, plan->columns, plan->joined->column_count, &own));
    NL_TRY(check_condition(self, action_name(clause->action), own));
    *condition = nl_expr_and(command->arena, applies, own);
    return NULL;
}

/* CASE over the clauses of all three kinds: the number of the clause that applies, or what happens without one. */
static nl_status action_expr(merge *self, const merge_plan *plan, const nl_expr *matched, const nl_expr **action)
{
    nl_command *command = self->base.command;
    nl_arena *arena = command->arena;
    const nl_expr *no_source = nl_expr_is_null(arena, plan->source_flag, false), *no_target = nl_expr_is_null(arena, plan->target_flag, false);
    case_list cases = {.items = NL_NEW_ARRAY(arena, const nl_expr *, self->ast->clause_count * 2 + 4)};
    for (uint32_t i = 0; i < self->ast->clause_count; i++) {
        const nl_ast_merge_clause *clause = &self->ast->clauses[i];
        const nl_expr *applies = clause->when == NL_AST_WHEN_MATCHED ? matched : clause->when == NL_AST_WHEN_NOT_MATCHED ? no_target : no_source;
        NL_TRY(clause_condition(self, plan, clause, applies, &cases.items[cases.count++]));
        cases.items[cases.count++] = nl_plan_int(command, clause->action == NL_AST_MERGE_DELETE ? ACTION_DELETE : (int32_t)i + 1);
    }
    cases.items[cases.count++] = no_target; /* a source row that nobody inserts */
    cases.items[cases.count++] = nl_plan_int(command, ACTION_DROP);
    cases.items[cases.count++] = nl_plan_int(command, ACTION_KEEP);
    *action = nl_plan_case(command, cases.items, cases.count, nl_type_int());
    return NULL;
}

static nl_status source_column(merge *self, const merge_plan *plan, nl_str name, const nl_expr **result)
{
    nl_command *command = self->base.command;
    for (uint32_t i = plan->target->column_count; i < plan->joined->column_count; i++) {
        const nl_column *column = &plan->columns[i];
        if (column->is_hidden || !nl_str_equal_nocase(column->name, name)) continue;
        *result = nl_column_expr(command->arena, column);
        return NULL;
    }
    nl_builder proposal;
    nl_builder_init(&proposal, 1 << 20);
    for (uint32_t i = plan->target->column_count; i < plan->joined->column_count; i++)
        if (!plan->columns[i].is_hidden) nl_append_f(&proposal, "%s`" NL_STR_FMT "`", proposal.length ? ", " : "", NL_STR_ARG(plan->columns[i].name));
    nl_status status = NL_RAISE(UNRESOLVED_COLUMN__WITH_SUGGESTION, NL_P_STR("objectName", nl_command_quoted(command, &name, 1)), NL_P("proposal", nl_builder_c(&proposal)));
    nl_builder_fini(&proposal);
    return status;
}

static nl_status insert_values(merge *self, const merge_plan *plan, const nl_ast_merge_clause *clause, const nl_expr **values)
{
    nl_command *command = self->base.command;
    const nl_type *row_type = self->base.target.row_type;
    for (uint32_t i = 0; i < plan->target_count; i++) {
        const nl_value null_value = nl_value_null(row_type->children[i].type);
        values[i] = nl_expr_literal(command->arena, &null_value); /* columns that the list leaves out */
        if (clause->action == NL_AST_MERGE_INSERT_STAR) NL_TRY(source_column(self, plan, row_type->children[i].name, &values[i]));
    }
    if (clause->action == NL_AST_MERGE_INSERT_STAR) return NULL;
    nl_ast_assignments assignments = {.items = NL_NEW_ARRAY(command->arena, nl_ast_assignment, clause->values.count), .count = clause->values.count};
    if (clause->columns.count > 0 && clause->columns.count != clause->values.count)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The number of inserted values cannot match the fields");
    for (uint32_t i = 0; i < clause->values.count; i++) {
        if (clause->columns.count == 0 && i >= plan->target_count) break;
        nl_ast_ident *part = NL_NEW(command->arena, nl_ast_ident);
        if (clause->columns.count == 0) part->text = row_type->children[i].name;
        assignments.items[i] = (nl_ast_assignment){.value = clause->values.items[i]};
        assignments.items[i].target = clause->columns.count > 0 ? clause->columns.items[i] : (nl_ast_name){.parts = part, .count = 1};
    }
    return nl_row_level_assign(&self->base, &assignments, plan->columns, plan->joined->column_count, plan->current, values);
}

/* The row that a clause makes, cast to the table's types. */
static nl_status clause_row(merge *self, const merge_plan *plan, const nl_ast_merge_clause *clause, const nl_expr **stored)
{
    nl_command *command = self->base.command;
    const nl_expr **values = NL_NEW_ARRAY(command->arena, const nl_expr *, plan->target_count);
    switch (clause->action) {
    case NL_AST_MERGE_DELETE: return NULL;
    case NL_AST_MERGE_UPDATE:
        NL_TRY(nl_row_level_assign(&self->base, &clause->assignments, plan->columns, plan->joined->column_count, plan->current, values));
        break;
    case NL_AST_MERGE_UPDATE_STAR:
        for (uint32_t i = 0; i < plan->target_count; i++)
            NL_TRY(source_column(self, plan, self->base.target.row_type->children[i].name, &values[i]));
        break;
    case NL_AST_MERGE_INSERT:
    case NL_AST_MERGE_INSERT_STAR: NL_TRY(insert_values(self, plan, clause, values)); break;
    }
    for (uint32_t i = 0; i < plan->target_count && !has_only_inserts(self); i++)
        NL_TRY(nl_check_deterministic(command, values[i], 1));
    return nl_row_level_store(&self->base, plan->joined, values, plan->current, stored);
}

typedef struct merge_rows { /* the joined rows with their action, as a plan */
    const nl_logical *plan;  /* joined columns (fresh ids), then _action */
    const nl_expr *action;
} merge_rows;

/* The joined row and its action; the cardinality check is made on the way. */
static nl_status choose_actions(merge *self, merge_plan *plan, merge_rows *rows)
{
    nl_command *command = self->base.command;
    nl_arena *arena = command->arena;
    const nl_expr *matched = nl_expr_and(arena, nl_expr_is_null(arena, plan->target_flag, true), nl_expr_is_null(arena, plan->source_flag, true));
    const uint32_t count = plan->joined->column_count;
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    nl_str *names = NL_NEW_ARRAY(arena, nl_str, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        exprs[i] = nl_column_expr(arena, &plan->columns[i]);
        names[i] = plan->columns[i].name;
    }
    if (needs_check(self)) {
        const nl_expr *check = NULL;
        NL_TRY(cardinality_expr(self, plan, &check));
        matched = nl_expr_and(arena, matched, check); /* looked at for matched rows only */
    }
    exprs[count] = matched;
    names[count] = NL_STR("_is_matched");
    const nl_logical *checked = nl_plan_project(command, plan->joined, exprs, names, count + 1);
    nl_column *columns = (nl_column *)(uintptr_t)checked->columns;
    for (uint32_t i = 0; i < count; i++) { /* clauses go on naming columns as before */
        columns[i].qualifier = plan->columns[i].qualifier;
        columns[i].qualifier_count = plan->columns[i].qualifier_count;
        columns[i].is_hidden = plan->columns[i].is_hidden;
    }
    columns[count].is_hidden = true;
    plan->joined = checked;
    plan->columns = columns;
    plan->target_flag = nl_column_expr(arena, &columns[plan->target->column_count - 1]);
    plan->source_flag = nl_column_expr(arena, &columns[count - 1]);
    for (uint32_t i = 0; i < plan->target_count; i++)
        plan->current[i] = nl_column_expr(arena, &columns[i]);
    const nl_expr *action = NULL;
    NL_TRY(action_expr(self, plan, nl_column_expr(arena, &columns[count]), &action));
    const nl_expr **acted = NL_NEW_ARRAY(arena, const nl_expr *, count + 2);
    nl_str *acted_names = NL_NEW_ARRAY(arena, nl_str, count + 2);
    for (uint32_t i = 0; i <= count; i++) {
        acted[i] = nl_column_expr(arena, &columns[i]);
        acted_names[i] = columns[i].name;
    }
    acted[count + 1] = action;
    acted_names[count + 1] = NL_STR("_action");
    const nl_logical *with_action = nl_plan_project(command, checked, acted, acted_names, count + 2);
    nl_column *last = (nl_column *)(uintptr_t)with_action->columns;
    for (uint32_t i = 0; i <= count; i++) {
        last[i].qualifier = columns[i].qualifier;
        last[i].qualifier_count = columns[i].qualifier_count;
        last[i].is_hidden = columns[i].is_hidden;
    }
    last[count + 1].is_hidden = true;
    plan->joined = with_action;
    plan->columns = last;
    for (uint32_t i = 0; i < plan->target_count; i++)
        plan->current[i] = nl_column_expr(arena, &last[i]);
    rows->plan = with_action;
    rows->action = nl_column_expr(arena, &last[count + 1]);
    return NULL;
}

static nl_status compare_action(merge *self, const merge_rows *rows, const char *operator_name, int32_t value, const nl_expr **result)
{
    nl_command *command = self->base.command;
    const nl_expr *arguments[] = {rows->action, nl_plan_int(command, value)};
    return nl_expr_call_named(command->arena, &command->confs, operator_name, arguments, NL_COUNT(arguments), result);
}

/* values[column]: CASE action WHEN clause THEN its value … ELSE the present one END. */
static nl_status row_values(merge *self, const merge_plan *plan, const merge_rows *rows, const nl_expr **values)
{
    nl_command *command = self->base.command;
    const uint32_t clause_count = self->ast->clause_count;
    const nl_expr ***stored = NL_NEW_ARRAY(command->arena, const nl_expr **, clause_count);
    const nl_expr **is_clause = NL_NEW_ARRAY(command->arena, const nl_expr *, clause_count);
    for (uint32_t k = 0; k < clause_count; k++) {
        if (self->ast->clauses[k].action == NL_AST_MERGE_DELETE) continue;
        stored[k] = NL_NEW_ARRAY(command->arena, const nl_expr *, plan->target_count);
        NL_TRY(clause_row(self, plan, &self->ast->clauses[k], stored[k]));
        NL_TRY(compare_action(self, rows, "=", (int32_t)k + 1, &is_clause[k]));
    }
    const nl_expr **cases = NL_NEW_ARRAY(command->arena, const nl_expr *, clause_count * 2 + 1);
    for (uint32_t i = 0; i < plan->target_count; i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < clause_count; k++) {
            if (!stored[k] || stored[k][i] == plan->current[i]) continue;
            cases[count++] = is_clause[k];
            cases[count++] = stored[k][i];
        }
        cases[count++] = plan->current[i];
        values[i] = count == 1 ? plan->current[i] : nl_plan_case(command, cases, count, self->base.target.row_type->children[i].type);
    }
    return NULL;
}

/* ---- the two ways ---------------------------------------------------------------------------------------------- */

static nl_status affected_files(merge *self, const nl_str **files, uint32_t *file_count)
{
    merge_plan plan = {0};
    if (self->has_by_source) return nl_row_level_all_files(&self->base, files, file_count);
    *files = NULL;
    *file_count = 0;
    if (!self->has_matched) return NULL;
    NL_TRY(join_sides(self, false, NULL, 0, NL_JOIN_INNER, &plan));
    return nl_row_level_affected(&self->base, plan.joined, plan.file, files, file_count);
}

static nl_status merge_by_copy(merge *self)
{
    nl_command *command = self->base.command;
    const nl_str *files;
    uint32_t file_count;
    merge_plan plan = {0};
    merge_rows rows;
    const nl_expr *is_kept = NULL;
    const nl_type *row_type = self->base.target.row_type;
    NL_TRY(affected_files(self, &files, &file_count));
    const bool only_inserts = has_only_inserts(self);
    NL_TRY(join_sides(self, !only_inserts, files, file_count, only_inserts ? NL_JOIN_RIGHT : self->has_insert ? NL_JOIN_FULL : NL_JOIN_LEFT, &plan));
    NL_TRY(choose_actions(self, &plan, &rows));
    NL_TRY(compare_action(self, &rows, only_inserts ? ">" : ">=", ACTION_KEEP, &is_kept));
    const uint32_t lineage = only_inserts ? 0 : nl_row_level_lineage(&self->base);
    const nl_expr **values = NL_NEW_ARRAY(command->arena, const nl_expr *, plan.target_count + 2);
    nl_str *names = NL_NEW_ARRAY(command->arena, nl_str, plan.target_count + 2);
    const nl_expr *is_changed = NULL;
    NL_TRY(row_values(self, &plan, &rows, values));
    NL_TRY(compare_action(self, &rows, ">", ACTION_KEEP, &is_changed));
    for (uint32_t i = 0; i < plan.target_count; i++)
        names[i] = row_type->children[i].name;
    if (lineage) nl_row_level_add_lineage(&self->base, rows.plan, is_changed, values + plan.target_count, names + plan.target_count);
    const nl_logical *output = nl_plan_project(command, nl_plan_filter(command, rows.plan, is_kept), values, names, plan.target_count + lineage);
    return only_inserts ? nl_row_level_append(&self->base, output) : nl_row_level_replace(&self->base, output, files, file_count, NULL);
}

/* 1 delete, 2 insert, 3 update, as the delta sink wants it. */
static nl_status delta_operation(merge *self, const merge_rows *rows, const nl_expr **operation)
{
    nl_command *command = self->base.command;
    const nl_expr **cases = NL_NEW_ARRAY(command->arena, const nl_expr *, self->ast->clause_count * 2 + 1);
    uint32_t count = 0;
    for (uint32_t k = 0; k < self->ast->clause_count; k++) {
        if (self->ast->clauses[k].when != NL_AST_WHEN_NOT_MATCHED) continue;
        NL_TRY(compare_action(self, rows, "=", (int32_t)k + 1, &cases[count]));
        cases[count + 1] = nl_plan_int(command, 2);
        count += 2;
    }
    NL_TRY(compare_action(self, rows, "=", ACTION_DELETE, &cases[count]));
    cases[count + 1] = nl_plan_int(command, 1);
    cases[count + 2] = nl_plan_int(command, 3);
    *operation = nl_plan_case(command, cases, count + 3, nl_type_int());
    return NULL;
}

static nl_status merge_by_position(merge *self)
{
    nl_command *command = self->base.command;
    static const char *const hidden[] = {"_file", "_pos", "_spec_id", "_partition"};
    merge_plan plan = {0};
    merge_rows rows;
    const nl_expr *is_changed = NULL, *is_deleted = NULL;
    const nl_join_kind kind = self->has_by_source ? (self->has_insert ? NL_JOIN_FULL : NL_JOIN_LEFT) : (self->has_insert ? NL_JOIN_RIGHT : NL_JOIN_INNER);
    NL_TRY(join_sides(self, false, NULL, 0, kind, &plan));
    NL_TRY(choose_actions(self, &plan, &rows));
    NL_TRY(compare_action(self, &rows, ">", ACTION_KEEP, &is_changed));
    NL_TRY(compare_action(self, &rows, "=", ACTION_DELETE, &is_deleted));
    const uint32_t count = plan.target_count + nl_row_level_lineage(&self->base);
    const nl_expr **values = NL_NEW_ARRAY(command->arena, const nl_expr *, count + 5);
    nl_str *names = NL_NEW_ARRAY(command->arena, nl_str, count + 5);
    NL_TRY(row_values(self, &plan, &rows, values));
    for (uint32_t i = 0; i < plan.target_count; i++)
        names[i] = self->base.target.row_type->children[i].name;
    nl_row_level_add_lineage(&self->base, rows.plan, nl_expr_boolean(command->arena, true), values + plan.target_count, names + plan.target_count);
    NL_TRY(delta_operation(self, &rows, &values[count]));
    names[count] = NL_STR("_operation");
    for (uint32_t i = 0; i < NL_COUNT(hidden); i++) {
        values[count + 1 + i] = nl_row_level_column(&self->base, rows.plan, hidden[i]);
        names[count + 1 + i] = nl_str_from(hidden[i]);
    }
    const nl_logical *changed = nl_plan_filter(command, rows.plan, nl_expr_or(command->arena, is_changed, is_deleted));
    return nl_row_level_delta(&self->base, nl_plan_project(command, changed, values, names, count + 5), NULL, false);
}

static nl_status run_merge(merge *self)
{
    for (uint32_t i = 0; i < self->ast->clause_count; i++) {
        self->has_matched = self->has_matched || self->ast->clauses[i].when == NL_AST_WHEN_MATCHED;
        self->has_insert = self->has_insert || self->ast->clauses[i].when == NL_AST_WHEN_NOT_MATCHED;
        self->has_by_source = self->has_by_source || self->ast->clauses[i].when == NL_AST_WHEN_NOT_MATCHED_BY_SOURCE;
    }
    make_source_query(self);
    NL_TRY(nl_row_level_is_merge_on_read(&self->base, &self->is_merge_on_read));
    return self->is_merge_on_read && !has_only_inserts(self) ? merge_by_position(self) : merge_by_copy(self);
}

nl_status nl_run_merge(nl_command *command, const nl_ast_statement *statement)
{
    merge self = {.ast = statement->merge};
    command->context.ctes = &self.ast->ctes;
    NL_TRY(nl_row_level_open(command, "merge", &self.ast->table, &self.ast->alias, &self.base));
    nl_status status = run_merge(&self);
    nl_row_level_close(&self.base);
    return status;
}
