/* stream/state_join.c - joins of two streams. State: the rows of each side that may still find a partner, numbered, with a flag for
 * those that have found one. A batch: new left rows against all right ones, left ones of before against new right ones. A side's
 * rows are forgotten when the watermark says that no partner can come: by a key that is an event time, or by conditions between
 * the two event times. An outer join gives out then what has found none. */
#include "stream/state_plan.h"

#define NUMBERS 2u /* _batch, _row: the first columns of a kept row */

typedef struct join_side {
    const char *part;
    const nl_logical *child;
    nl_event_time event;
    nl_stream_rows *before, *fresh; /* fresh: numbers, then the child's columns; counted */
    nl_stream_rows *all;            /* of before and fresh, with flags; counted */
    nl_stream_rows *kept, *removed; /* counted */
    bool may_evict;
    int64_t evict_micros;           /* rows with an event time up to this leave */
    nl_column_id evict_column;      /* … in this column */
    bool evicts_window;
    bool keeps_unmatched;           /* outer on this side */
} join_side;

typedef struct stream_join {
    nl_state_batch *batch;
    nl_arena *arena;
    const nl_logical *node;
    join_side sides[2];
    nl_stream_rows *pairs; /* numbers of both, then the columns of both; counted */
    nl_stream_rows *given; /* counted */
    nl_state_counts counts;
} stream_join;

/* ---- kept rows ----------------------------------------------------------------------------------------------------- */

static uint32_t kept_width(const join_side *side)
{
    return NUMBERS + side->child->column_count + 1;
}

static const nl_type *kept_type(stream_join *self, const join_side *side)
{
    nl_column *columns = NL_NEW_ARRAY(self->arena, nl_column, kept_width(side));
    columns[0] = (nl_column){.name = NL_STR("_batch"), .type = nl_type_bigint()};
    columns[1] = (nl_column){.name = NL_STR("_row"), .type = nl_type_bigint()};
    for (uint32_t i = 0; i < side->child->column_count; i++) columns[NUMBERS + i] = side->child->columns[i];
    columns[kept_width(side) - 1] = (nl_column){.name = NL_STR("_matched"), .type = nl_type_boolean()};
    return nl_state_row_type(self->batch, columns, kept_width(side));
}

/* A scan of kept or fresh rows in which the child's columns have the ids that the condition speaks of. */
static const nl_logical *scan_side(stream_join *self, const join_side *side, nl_stream_rows *rows)
{
    nl_logical *scan = nl_logical_copy(self->arena, nl_state_scan_new(self->batch, rows));
    nl_column *columns = NL_NEW_ARRAY(self->arena, nl_column, scan->column_count + 1);
    for (uint32_t i = 0; i < scan->column_count; i++) {
        const bool is_child = i >= NUMBERS && i - NUMBERS < side->child->column_count;
        columns[i] = is_child ? side->child->columns[i - NUMBERS] : scan->columns[i];
        columns[i].is_nullable = true;
    }
    scan->columns = columns;
    return scan;
}

/* The batch's rows of a side, numbered; those that come too late are dropped. */
static nl_status take_fresh(stream_join *self, join_side *side)
{
    const nl_logical *input = side->child;
    const uint32_t count = input->column_count;
    const nl_expr *late = NULL;
    nl_column *columns = NL_NEW_ARRAY(self->arena, nl_column, NUMBERS + count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(self->arena, const nl_expr *, NUMBERS + count + 1);
    const nl_value version = nl_value_int(nl_type_bigint(), self->batch->version);
    if (side->event.column) {
        NL_TRY(nl_event_time_is_past(self->batch, input, &side->event, self->batch->late_micros, &late));
        input = nl_state_where(self->batch, input, late, false);
    }
    exprs[0] = nl_expr_literal(self->arena, &version);
    NL_TRY(nl_expr_call_named(self->arena, self->batch->planning->confs, "monotonically_increasing_id", NULL, 0, &exprs[1]));
    columns[0] = (nl_column){.id = nl_plan_new_id(self->batch->planning), .name = NL_STR("_batch"), .type = nl_type_bigint()};
    columns[1] = (nl_column){.id = nl_plan_new_id(self->batch->planning), .name = NL_STR("_row"), .type = nl_type_bigint()};
    for (uint32_t i = 0; i < count; i++) {
        columns[NUMBERS + i] = input->columns[i];
        columns[NUMBERS + i].id = nl_plan_new_id(self->batch->planning);
        exprs[NUMBERS + i] = nl_column_ref(self->arena, &input->columns[i]);
    }
    return nl_state_run(self->batch, nl_logical_project(self->arena, input, columns, exprs, NUMBERS + count), &side->fresh);
}

/* ---- pairs --------------------------------------------------------------------------------------------------------- */

static const nl_logical *numbered(stream_join *self, const join_side *side, nl_stream_rows *rows)
{
    const nl_logical *scan = scan_side(self, side, rows);
    return nl_logical_keep(self->arena, scan, scan->columns, NUMBERS + side->child->column_count);
}

static nl_status add_pairs(stream_join *self, nl_stream_rows *left_rows, nl_stream_rows *right_rows)
{
    const nl_logical *left = numbered(self, &self->sides[0], left_rows), *right = numbered(self, &self->sides[1], right_rows), *optimized = NULL;
    const nl_logical *plan = nl_logical_join(self->arena, NL_JOIN_INNER, left, right, self->node->join.condition);
    NL_TRY(nl_optimize(self->batch->planning, plan, &optimized));
    if (!self->pairs)
        NL_TRY(nl_stream_rows_new(nl_state_row_type(self->batch, plan->columns, plan->column_count), self->batch->memory, self->batch->query->spill_directory, &self->pairs));
    return nl_stream_rows_run(self->pairs, self->batch->query, optimized);
}

static nl_status find_pairs(stream_join *self)
{
    NL_TRY(add_pairs(self, self->sides[0].fresh, self->sides[1].fresh));
    NL_TRY(add_pairs(self, self->sides[0].fresh, self->sides[1].before));
    return add_pairs(self, self->sides[0].before, self->sides[1].fresh);
}

/* The numbers of one side's rows in the pairs. */
static const nl_logical *paired_numbers(stream_join *self, uint32_t at)
{
    const nl_logical *pairs = nl_state_scan_new(self->batch, self->pairs);
    const uint32_t first = at == 0 ? 0 : NUMBERS + self->sides[0].child->column_count;
    return nl_logical_keep(self->arena, pairs, pairs->columns + first, NUMBERS);
}

/* ---- the next state ------------------------------------------------------------------------------------------------ */

static nl_status semi_join(stream_join *self, const nl_logical *left, const nl_logical *right, const nl_logical **plan)
{
    const nl_expr *condition = NULL;
    NL_TRY(nl_state_same_keys(self->batch, left, right, NUMBERS, &condition));
    *plan = nl_logical_join(self->arena, NL_JOIN_SEMI, left, right, condition);
    return NULL;
}

/* The flag of those that have found a partner in this batch becomes true. */
static const nl_logical *flagged(stream_join *self, const nl_logical *rows, uint32_t width)
{
    return nl_state_with_flag(self->batch, nl_logical_keep(self->arena, rows, rows->columns, width - 1), "_matched", true);
}

static nl_status collect(stream_join *self, uint32_t at)
{
    join_side *side = &self->sides[at];
    const nl_logical *both = NULL, *found = NULL, *others = NULL;
    nl_stream_rows *rows = NULL;
    NL_TRY(nl_state_union(self->batch, nl_state_scan_new(self->batch, side->before), nl_state_with_flag(self->batch, nl_state_scan_new(self->batch, side->fresh), "_matched", false), &both));
    if (!side->keeps_unmatched && self->node->join.kind != NL_JOIN_SEMI) return nl_state_run(self->batch, both, &side->all);
    NL_TRY(nl_state_run(self->batch, both, &rows));
    nl_status status = semi_join(self, nl_state_scan_new(self->batch, rows), paired_numbers(self, at), &found);
    if (!status) status = nl_state_anti_join(self->batch, nl_state_scan_new(self->batch, rows), paired_numbers(self, at), NUMBERS, &others);
    if (!status) status = nl_state_union(self->batch, flagged(self, found, kept_width(side)), others, &both);
    if (!status) status = nl_state_run(self->batch, both, &side->all);
    nl_stream_rows_release(rows);
    return status;
}

static nl_status is_past(stream_join *self, const join_side *side, const nl_logical *rows, const nl_expr **past)
{
    const nl_event_time event = {.column = side->evict_column, .is_window = side->evicts_window};
    return nl_event_time_is_past(self->batch, rows, &event, side->evict_micros, past);
}

static nl_status evict(stream_join *self, join_side *side)
{
    const nl_expr *past = NULL;
    if (!side->may_evict) {
        side->kept = nl_stream_rows_retain(side->all);
        return NULL;
    }
    const nl_logical *scan = scan_side(self, side, side->all);
    NL_TRY(is_past(self, side, scan, &past));
    NL_TRY(nl_state_run(self->batch, nl_state_where(self->batch, scan, past, false), &side->kept));
    return nl_state_run(self->batch, nl_state_where(self->batch, scan, past, true), &side->removed);
}

/* What the delta holds: rows that are new or have another flag. For simplicity all that stay of the batch and of the pairs. */
static nl_status changed_rows(stream_join *self, uint32_t at, nl_stream_rows **changed)
{
    join_side *side = &self->sides[at];
    const nl_logical *fresh = nl_state_scan_new(self->batch, side->fresh), *numbers = nl_logical_keep(self->arena, fresh, fresh->columns, NUMBERS), *plan = NULL;
    if (side->keeps_unmatched || self->node->join.kind == NL_JOIN_SEMI) NL_TRY(nl_state_union(self->batch, numbers, paired_numbers(self, at), &numbers));
    NL_TRY(semi_join(self, nl_state_scan_new(self->batch, side->kept), numbers, &plan));
    return nl_state_run(self->batch, plan, changed);
}

static nl_status store_side(stream_join *self, nl_state_store *store, uint32_t at)
{
    join_side *side = &self->sides[at];
    nl_stream_rows *changed = NULL, *kept = NULL;
    NL_TRY(changed_rows(self, at, &changed));
    kept = nl_stream_rows_retain(side->kept);
    nl_status status = nl_state_put(self->batch, store, side->part, kept, changed, side->removed);
    nl_stream_rows_release(changed);
    self->counts.total += (int64_t)nl_stream_rows_count(side->kept);
    self->counts.updated += (int64_t)nl_stream_rows_count(side->fresh);
    self->counts.removed += side->removed ? (int64_t)nl_stream_rows_count(side->removed) : 0;
    self->counts.memory_bytes += nl_stream_rows_bytes(side->kept);
    return status;
}

/* ---- what is given out --------------------------------------------------------------------------------------------- */

static nl_status give(stream_join *self, const nl_logical *plan)
{
    const nl_logical *optimized = NULL;
    NL_TRY(nl_optimize(self->batch->planning, plan, &optimized));
    return nl_stream_rows_run(self->given, self->batch->query, optimized);
}

static nl_status give_pairs(stream_join *self)
{
    const nl_logical *pairs = nl_state_scan_new(self->batch, self->pairs);
    const uint32_t left = self->sides[0].child->column_count, right = self->sides[1].child->column_count;
    nl_column *columns = NL_NEW_ARRAY(self->arena, nl_column, left + right + 1);
    for (uint32_t i = 0; i < left; i++) columns[i] = pairs->columns[NUMBERS + i];
    for (uint32_t i = 0; i < right; i++) columns[left + i] = pairs->columns[2 * NUMBERS + left + i];
    return give(self, nl_logical_keep(self->arena, pairs, columns, left + right));
}

/* Rows that leave without a partner, with nulls on the other side. */
static nl_status give_unmatched(stream_join *self, uint32_t at)
{
    const join_side *side = &self->sides[at];
    if (!side->keeps_unmatched || !side->removed) return NULL;
    const nl_logical *rows = nl_state_scan_new(self->batch, side->removed);
    const uint32_t left = self->sides[0].child->column_count, count = self->node->column_count;
    rows = nl_state_where(self->batch, rows, nl_column_ref(self->arena, &rows->columns[kept_width(side) - 1]), false);
    nl_column *columns = NL_NEW_ARRAY(self->arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(self->arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const bool is_own = (i < left) == (at == 0);
        const nl_value null = nl_value_null(self->node->columns[i].type);
        columns[i] = self->node->columns[i];
        columns[i].id = nl_plan_new_id(self->batch->planning);
        columns[i].is_nullable = true;
        exprs[i] = is_own ? nl_column_ref(self->arena, &rows->columns[NUMBERS + (at == 0 ? i : i - left)]) : nl_expr_literal(self->arena, &null);
    }
    return give(self, nl_logical_project(self->arena, rows, columns, exprs, count));
}

/* SEMI: left rows that have found their first partner in this batch. */
static nl_status give_first_matches(stream_join *self)
{
    const join_side *left = &self->sides[0];
    const nl_logical *before = nl_state_scan_new(self->batch, left->before), *found = NULL;
    before = nl_state_where(self->batch, before, nl_column_ref(self->arena, &before->columns[kept_width(left) - 1]), false);
    const nl_logical *both = NULL;
    const nl_logical *fresh = nl_state_with_flag(self->batch, nl_state_scan_new(self->batch, left->fresh), "_matched", false);
    NL_TRY(nl_state_union(self->batch, before, fresh, &both));
    NL_TRY(semi_join(self, both, paired_numbers(self, 0), &found));
    return give(self, nl_logical_keep(self->arena, found, found->columns + NUMBERS, left->child->column_count));
}

static nl_status give_all(stream_join *self)
{
    NL_TRY(nl_stream_rows_new(nl_state_row_type(self->batch, self->node->columns, self->node->column_count), self->batch->memory, self->batch->query->spill_directory, &self->given));
    if (self->node->join.kind == NL_JOIN_SEMI) return give_first_matches(self);
    NL_TRY(give_pairs(self));
    NL_TRY(give_unmatched(self, 0));
    return give_unmatched(self, 1);
}

/* ---- when rows can be forgotten ------------------------------------------------------------------------------------ */

typedef struct linear { /* column + offset */
    nl_column_id column;
    int64_t offset_micros;
} linear;

static bool is_call(const nl_expr *expr, const char *name)
{
    return expr->kind == NL_EXPR_CALL && nl_str_is(nl_str_from(expr->function->row->name), name);
}

static bool interval_micros(const nl_expr *expr, int64_t *micros)
{
    if (expr->kind != NL_EXPR_LITERAL || expr->value.is_null) return false;
    if (expr->type->id == NL_TYPE_INTERVAL) {
        *micros = expr->value.interval.days * INT64_C(86400000000) + expr->value.interval.micros;
        return expr->value.interval.months == 0;
    }
    *micros = expr->value.integer;
    return expr->type->id == NL_TYPE_INTERVAL_DT;
}

static bool read_linear(const nl_expr *expr, linear *found)
{
    int64_t micros;
    *found = (linear){0};
    for (; expr->kind == NL_EXPR_CALL && expr->child_count == 2 && (is_call(expr, "+") || is_call(expr, "-")); expr = expr->children[0]) {
        if (!interval_micros(expr->children[1], &micros)) return false;
        found->offset_micros += is_call(expr, "+") ? micros : -micros;
    }
    if (expr->kind != NL_EXPR_COLUMN) return false;
    found->column = expr->column;
    return true;
}

/* "other <= own + c": then own rows up to watermark - c have no partners any more. */
static void take_bound(stream_join *self, join_side *own, const join_side *other, const linear *smaller, const linear *larger, bool is_inclusive)
{
    if (!other->event.column || other->event.is_window || smaller->column != other->event.column) return;
    if (!nl_logical_find_column(own->child, larger->column)) return;
    const int64_t limit = self->batch->evict_micros - (larger->offset_micros - smaller->offset_micros) - (is_inclusive ? 1000 : 0); /* as Spark: a millisecond later */
    if (own->may_evict && own->evict_micros >= limit) return;
    own->may_evict = true;
    own->evict_micros = limit;
    own->evict_column = larger->column;
    own->evicts_window = false;
}

static void read_conjunct(stream_join *self, const nl_expr *expr)
{
    linear a, b;
    if (expr->kind != NL_EXPR_CALL || expr->child_count != 2) return;
    const bool is_below = is_call(expr, "<") || is_call(expr, "<="), is_above = is_call(expr, ">") || is_call(expr, ">=");
    if (is_call(expr, "=") || is_call(expr, "<=>")) {
        for (int i = 0; i < 2; i++) {
            const nl_expr *left = expr->children[i], *right = expr->children[1 - i];
            if (left->kind != NL_EXPR_COLUMN || right->kind != NL_EXPR_COLUMN || !nl_logical_find_column(self->sides[0].child, left->column)) continue;
            const bool is_event = left->column == self->sides[0].event.column || right->column == self->sides[1].event.column;
            if (!is_event) continue;
            const nl_column_id keys[] = {left->column, right->column};
            for (int s = 0; s < 2; s++) {
                self->sides[s].may_evict = true;
                self->sides[s].evict_micros = self->batch->evict_micros;
                self->sides[s].evict_column = keys[s];
                self->sides[s].evicts_window = left->type->id == NL_TYPE_STRUCT;
            }
        }
        return;
    }
    if ((!is_below && !is_above) || !read_linear(expr->children[0], &a) || !read_linear(expr->children[1], &b)) return;
    const linear *smaller = is_below ? &a : &b, *larger = is_below ? &b : &a;
    const bool is_inclusive = is_call(expr, "<=") || is_call(expr, ">=");
    take_bound(self, &self->sides[0], &self->sides[1], smaller, larger, is_inclusive);
    take_bound(self, &self->sides[1], &self->sides[0], smaller, larger, is_inclusive);
}

static void find_bounds(stream_join *self)
{
    nl_list conjuncts = {0};
    if (!self->batch->has_watermark || !self->node->join.condition) return;
    nl_expr_conjuncts(self->arena, self->node->join.condition, &conjuncts);
    for (uint32_t i = 0; i < conjuncts.count; i++) read_conjunct(self, conjuncts.items[i]);
}

/* ---- a batch ------------------------------------------------------------------------------------------------------- */

static nl_status run(stream_join *self, const nl_logical **result)
{
    nl_state_store *store = NULL;
    NL_TRY(nl_state_store_open(self->batch, "symmetricHashJoin", &store));
    for (uint32_t at = 0; at < 2; at++) {
        join_side *side = &self->sides[at];
        nl_stream_rows *before = NULL;
        NL_TRY(nl_state_part(self->batch, store, side->part, kept_type(self, side), NUMBERS, &before));
        side->before = nl_stream_rows_retain(before);
        NL_TRY(take_fresh(self, side));
    }
    NL_TRY(find_pairs(self));
    for (uint32_t at = 0; at < 2; at++) {
        NL_TRY(collect(self, at));
        NL_TRY(evict(self, &self->sides[at]));
    }
    NL_TRY(give_all(self));
    for (uint32_t at = 0; at < 2; at++) NL_TRY(store_side(self, store, at));
    nl_state_count(self->batch, &self->counts);
    *result = nl_state_give(self->batch, self->given, self->node);
    return NULL;
}

nl_status nl_state_join(nl_state_batch *batch, const nl_logical *node, const nl_logical **result)
{
    const nl_join_kind kind = node->join.kind;
    stream_join self = {.batch = batch, .arena = batch->planning->arena, .node = node, .counts.name = "symmetricHashJoin"};
    if (kind != NL_JOIN_INNER && kind != NL_JOIN_CROSS && kind != NL_JOIN_LEFT && kind != NL_JOIN_RIGHT && kind != NL_JOIN_FULL && kind != NL_JOIN_SEMI)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not run this kind of join over two streams.");
    for (uint32_t at = 0; at < 2; at++) self.sides[at] = (join_side){.part = at ? "right" : "left", .child = node->children[at], .event = nl_event_time_of(node->children[at])};
    self.sides[0].keeps_unmatched = kind == NL_JOIN_LEFT || kind == NL_JOIN_FULL;
    self.sides[1].keeps_unmatched = kind == NL_JOIN_RIGHT || kind == NL_JOIN_FULL;
    find_bounds(&self);
    nl_status status = run(&self, result);
    for (uint32_t at = 0; at < 2; at++) {
        join_side *side = &self.sides[at];
        nl_stream_rows *const rows[] = {side->before, side->fresh, side->all, side->kept, side->removed};
        for (size_t i = 0; i < NL_COUNT(rows); i++) nl_stream_rows_release(rows[i]);
    }
    nl_stream_rows_release(self.pairs);
    nl_stream_rows_release(self.given);
    return status;
}
