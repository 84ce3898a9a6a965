/* stream/state_join.c - joins of two streams. State: the rows of each side that may still find a partner, found by the keys of
 * the condition's equations, with a flag for those that have found one. A batch: new left rows against the right ones of their
 * keys, left ones of before against new right ones. A side's rows are forgotten when the watermark says that no partner can come:
 * by a key that is an event time, or by conditions between the two event times. An outer join gives out then what has found
 * none; a semi join forgets a left row with its first partner. */
#include "stream/state_plan.h"

typedef struct join_side {
    const char *part_name;
    const nl_logical *child;
    nl_event_time event;
    const nl_expr **keys;           /* of the condition's equations */
    uint32_t *key_columns;          /* where they are among a row's columns: the child's, those that are computed, _matched */
    uint32_t width;                 /* of such a row */
    nl_state_part *part;
    nl_kept_rows *fresh;          /* of the batch; counted */
    nl_kept_rows *added, *before; /* the same with numbers; those of the state that have the other side's keys; counted */
    nl_kept_rows *past;           /* what leaves; counted */
    bool may_evict;
    int64_t evict_micros;           /* rows with an event time up to this leave */
    nl_column_id evict_column;      /* … in this column */
    bool keeps_unmatched;           /* outer on this side */
} join_side;

typedef struct stream_join {
    nl_state_batch *batch;
    nl_arena *arena;
    const nl_logical *node;
    join_side sides[2];
    uint32_t key_count;
    nl_kept_rows *pairs; /* number and columns of the left, then of the right; counted */
    nl_kept_rows *given; /* counted */
    nl_state_counts counts;
} stream_join;

/* ---- keys ---------------------------------------------------------------------------------------------------------- */

typedef struct side_search {
    const nl_logical *plan;
    bool all, any;
} side_search;

static bool look_at_column(void *context, const nl_expr *expr)
{
    side_search *search = context;
    if (expr->kind != NL_EXPR_COLUMN) return true;
    search->any = true;
    search->all = search->all && nl_logical_find_column(search->plan, expr->column) != NULL;
    return search->all;
}

static bool is_of(const nl_expr *expr, const nl_logical *plan)
{
    side_search search = {.plan = plan, .all = true};
    (void)nl_expr_walk(expr, look_at_column, &search);
    return search.all && search.any;
}

bool nl_state_join_key(const nl_expr *conjunct, const nl_logical *left, const nl_logical *right, const nl_expr *keys[2])
{
    const char *name = conjunct->kind == NL_EXPR_CALL && conjunct->child_count == 2 ? conjunct->function->row->name : "";
    if (!nl_str_is(nl_str_from(name), "=") && !nl_str_is(nl_str_from(name), "<=>")) return false;
    for (uint32_t i = 0; i < 2; i++) {
        keys[0] = conjunct->children[i];
        keys[1] = conjunct->children[1 - i];
        if (is_of(keys[0], left) && is_of(keys[1], right)) return true;
    }
    return false;
}

static uint32_t column_place(const nl_logical *plan, nl_column_id id)
{
    uint32_t at = 0;
    while (at < plan->column_count && plan->columns[at].id != id) at++;
    return at;
}

static void find_keys(stream_join *self)
{
    nl_list conjuncts = {0};
    nl_expr_conjuncts(self->arena, self->node->join.condition, &conjuncts);
    for (uint32_t at = 0; at < 2; at++) {
        join_side *side = &self->sides[at];
        side->keys = NL_NEW_ARRAY(self->arena, const nl_expr *, conjuncts.count + 1);
        side->key_columns = NL_NEW_ARRAY(self->arena, uint32_t, conjuncts.count + 1);
        side->width = side->child->column_count;
    }
    for (uint32_t i = 0; i < conjuncts.count; i++) {
        const nl_expr *keys[2];
        if (!nl_state_join_key(conjuncts.items[i], self->sides[0].child, self->sides[1].child, keys)) continue;
        for (uint32_t at = 0; at < 2; at++) {
            join_side *side = &self->sides[at];
            const bool is_column = keys[at]->kind == NL_EXPR_COLUMN;
            side->keys[self->key_count] = keys[at];
            side->key_columns[self->key_count] = is_column ? column_place(side->child, keys[at]->column) : side->width++;
        }
        self->key_count++;
    }
    for (uint32_t at = 0; at < 2; at++) self->sides[at].width++; /* _matched */
}

/* ---- rows of a side ------------------------------------------------------------------------------------------------ */

/* The child's columns, computed keys, _matched; with the expressions that make them when `exprs` is not NULL. */
static nl_column *side_columns(stream_join *self, const join_side *side, const nl_expr **exprs)
{
    nl_column *columns = NL_NEW_ARRAY(self->arena, nl_column, side->width + 1);
    const uint32_t count = side->child->column_count;
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = side->child->columns[i];
        if (exprs) exprs[i] = nl_column_ref(self->arena, &side->child->columns[i]);
    }
    for (uint32_t i = 0; i < self->key_count; i++) {
        const uint32_t place = side->key_columns[i];
        if (place < count) continue;
        columns[place] = (nl_column){.name = nl_arena_f(self->arena, "_key%u", i), .type = side->keys[i]->type, .is_nullable = true};
        if (exprs) exprs[place] = side->keys[i];
    }
    columns[side->width - 1] = (nl_column){.name = NL_STR("_matched"), .type = nl_type_boolean()};
    if (exprs) exprs[side->width - 1] = nl_expr_boolean(self->arena, false);
    for (uint32_t i = 0; i < side->width; i++) columns[i].id = nl_plan_new_id(self->batch->planning);
    return columns;
}

static nl_status open_part(stream_join *self, nl_state_store *store, join_side *side)
{
    const nl_state_layout layout = {.row_type = nl_state_row_type(self->batch, side_columns(self, side, NULL), side->width),
                                    .keys = side->key_columns,
                                    .key_count = self->key_count,
                                    .time_column = side->may_evict ? column_place(side->child, side->evict_column) : NL_STATE_NO_TIME};
    return nl_state_part_open(self->batch, store, side->part_name, &layout, &side->part);
}

/* The batch's rows of a side; those that come too late are dropped. */
static nl_status take_fresh(stream_join *self, join_side *side)
{
    const nl_logical *input = side->child;
    const nl_expr *late = NULL;
    const nl_expr **exprs = NL_NEW_ARRAY(self->arena, const nl_expr *, side->width + 1);
    if (side->event.column) {
        NL_TRY(nl_event_time_is_past(self->batch, input, &side->event, self->batch->late_micros, &late));
        input = nl_state_where(self->batch, input, late, false);
    }
    const nl_column *columns = side_columns(self, side, exprs);
    NL_TRY(nl_state_run(self->batch, nl_logical_project(self->arena, input, columns, exprs, side->width), &side->fresh));
    self->counts.updated += (int64_t)nl_kept_rows_count(side->fresh);
    return NULL;
}

/* ---- pairs --------------------------------------------------------------------------------------------------------- */

/* A scan of numbered rows: the number, then the child's columns under the ids that the condition speaks of. */
static const nl_logical *numbered(stream_join *self, const join_side *side, nl_kept_rows *rows)
{
    nl_logical *scan = nl_logical_copy(self->arena, nl_state_scan_new(self->batch, rows));
    nl_column *columns = NL_NEW_ARRAY(self->arena, nl_column, scan->column_count + 1);
    for (uint32_t i = 0; i < scan->column_count; i++) {
        columns[i] = i > 0 && i <= side->child->column_count ? side->child->columns[i - 1] : scan->columns[i];
        columns[i].is_nullable = true;
    }
    scan->columns = columns;
    return nl_logical_keep(self->arena, scan, columns, 1 + side->child->column_count);
}

static nl_status add_pairs(stream_join *self, nl_kept_rows *left_rows, nl_kept_rows *right_rows)
{
    const nl_logical *left = numbered(self, &self->sides[0], left_rows), *right = numbered(self, &self->sides[1], right_rows), *optimized = NULL;
    const nl_logical *plan = nl_logical_join(self->arena, NL_JOIN_INNER, left, right, self->node->join.condition);
    NL_TRY(nl_optimize(self->batch->planning, plan, &optimized));
    if (!self->pairs)
        NL_TRY(nl_kept_rows_new(nl_state_row_type(self->batch, plan->columns, plan->column_count), self->batch->memory, self->batch->query->spill_directory, &self->pairs));
    return nl_kept_rows_run(self->pairs, self->batch->query, optimized);
}

/* Looks for the other side's keys before the batch's own rows join the state. */
static nl_status find_pairs(stream_join *self)
{
    join_side *left = &self->sides[0], *right = &self->sides[1];
    NL_TRY(nl_state_find(self->batch, left->part, right->fresh, right->key_columns, &left->before));
    NL_TRY(nl_state_find(self->batch, right->part, left->fresh, left->key_columns, &right->before));
    NL_TRY(nl_state_add(self->batch, left->part, left->fresh, &left->added));
    NL_TRY(nl_state_add(self->batch, right->part, right->fresh, &right->added));
    NL_TRY(add_pairs(self, left->added, right->added));
    NL_TRY(add_pairs(self, left->added, right->before));
    return add_pairs(self, left->before, right->added);
}

/* The numbers of one side's rows in the pairs. */
static const nl_logical *paired_numbers(stream_join *self, uint32_t at)
{
    const nl_logical *pairs = nl_state_scan_new(self->batch, self->pairs);
    return nl_logical_keep(self->arena, pairs, pairs->columns + (at == 0 ? 0 : 1 + self->sides[0].child->column_count), 1);
}

static nl_status give(stream_join *self, const nl_logical *plan)
{
    const nl_logical *optimized = NULL;
    NL_TRY(nl_optimize(self->batch->planning, plan, &optimized));
    return nl_kept_rows_run(self->given, self->batch->query, optimized);
}

/* The rows of a side that have found their first partner in this batch, numbered. */
static nl_status first_matches(stream_join *self, uint32_t at, nl_kept_rows **found)
{
    const join_side *side = &self->sides[at];
    const nl_logical *both = NULL;
    const nl_expr *condition = NULL;
    NL_TRY(nl_state_union(self->batch, nl_state_scan_new(self->batch, side->before), nl_state_scan_new(self->batch, side->added), &both));
    both = nl_state_where(self->batch, both, nl_column_ref(self->arena, &both->columns[side->width]), false);
    const nl_logical *numbers = paired_numbers(self, at);
    NL_TRY(nl_state_same_keys(self->batch, both, numbers, 1, &condition));
    return nl_state_run(self->batch, nl_logical_join(self->arena, NL_JOIN_SEMI, both, numbers, condition), found);
}

/* They come again with the flag, or, of a semi join, are given out and leave. */
static nl_status note_matches(stream_join *self, uint32_t at)
{
    join_side *side = &self->sides[at];
    const bool is_semi = self->node->join.kind == NL_JOIN_SEMI && at == 0;
    nl_kept_rows *found = NULL, *flagged = NULL;
    if (!side->keeps_unmatched && !is_semi) return NULL;
    NL_TRY(first_matches(self, at, &found));
    nl_status status = nl_state_remove(self->batch, side->part, found);
    const nl_logical *rows = nl_state_scan_rows(self->batch, found);
    if (!status && is_semi) status = give(self, nl_logical_keep(self->arena, rows, rows->columns, side->child->column_count));
    if (!status && !is_semi) status = nl_state_run(self->batch, nl_state_with_flag(self->batch, nl_logical_keep(self->arena, rows, rows->columns, side->width - 1), "_matched", true), &flagged);
    if (flagged) status = nl_state_add(self->batch, side->part, flagged, NULL);
    nl_kept_rows_release(found);
    nl_kept_rows_release(flagged);
    return status;
}

/* ---- what is given out --------------------------------------------------------------------------------------------- */

static nl_status give_pairs(stream_join *self)
{
    const nl_logical *pairs = nl_state_scan_new(self->batch, self->pairs);
    const uint32_t left = self->sides[0].child->column_count, right = self->sides[1].child->column_count;
    nl_column *columns = NL_NEW_ARRAY(self->arena, nl_column, left + right + 1);
    for (uint32_t i = 0; i < left; i++) columns[i] = pairs->columns[1 + i];
    for (uint32_t i = 0; i < right; i++) columns[left + i] = pairs->columns[2 + left + i];
    return give(self, nl_logical_keep(self->arena, pairs, columns, left + right));
}

/* Rows that leave without a partner, with nulls on the other side. */
static nl_status give_unmatched(stream_join *self, uint32_t at)
{
    const join_side *side = &self->sides[at];
    if (!side->keeps_unmatched || !side->past) return NULL;
    const nl_logical *rows = nl_state_scan_rows(self->batch, side->past);
    const uint32_t left = self->sides[0].child->column_count, count = self->node->column_count;
    rows = nl_state_where(self->batch, rows, nl_column_ref(self->arena, &rows->columns[side->width - 1]), false);
    nl_column *columns = NL_NEW_ARRAY(self->arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(self->arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const bool is_own = (i < left) == (at == 0);
        const nl_value null = nl_value_null(self->node->columns[i].type);
        columns[i] = self->node->columns[i];
        columns[i].id = nl_plan_new_id(self->batch->planning);
        columns[i].is_nullable = true;
        exprs[i] = is_own ? nl_column_ref(self->arena, &rows->columns[at == 0 ? i : i - left]) : nl_expr_literal(self->arena, &null);
    }
    return give(self, nl_logical_project(self->arena, rows, columns, exprs, count));
}

static nl_status evict(stream_join *self, join_side *side)
{
    if (side->may_evict) {
        NL_TRY(nl_state_past(self->batch, side->part, side->evict_micros, &side->past));
        NL_TRY(nl_state_remove(self->batch, side->part, side->past));
        self->counts.removed += (int64_t)nl_kept_rows_count(side->past);
    }
    NL_TRY(nl_state_commit(self->batch, side->part));
    self->counts.total += (int64_t)nl_state_part_count(side->part);
    self->counts.memory_bytes += nl_state_part_bytes(side->part);
    return NULL;
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
    if (!self->node->join.condition) return;
    nl_expr_conjuncts(self->arena, self->node->join.condition, &conjuncts);
    for (uint32_t i = 0; i < conjuncts.count; i++) read_conjunct(self, conjuncts.items[i]);
}

/* ---- a batch ------------------------------------------------------------------------------------------------------- */

static nl_status run(stream_join *self, const nl_logical **result)
{
    nl_state_store *store = NULL;
    NL_TRY(nl_state_store_open(self->batch, "symmetricHashJoin", &store));
    for (uint32_t at = 0; at < 2; at++) {
        NL_TRY(open_part(self, store, &self->sides[at]));
        NL_TRY(take_fresh(self, &self->sides[at]));
    }
    NL_TRY(nl_kept_rows_new(nl_state_row_type(self->batch, self->node->columns, self->node->column_count), self->batch->memory, self->batch->query->spill_directory, &self->given));
    NL_TRY(find_pairs(self));
    if (self->node->join.kind != NL_JOIN_SEMI) NL_TRY(give_pairs(self));
    for (uint32_t at = 0; at < 2; at++) NL_TRY(note_matches(self, at));
    for (uint32_t at = 0; at < 2; at++) NL_TRY(evict(self, &self->sides[at]));
    for (uint32_t at = 0; at < 2; at++) NL_TRY(give_unmatched(self, at));
    nl_state_count(self->batch, &self->counts);
    *result = nl_state_give(self->batch, self->given, self->node);
    return NULL;
}

static void init_sides(stream_join *self)
{
    for (uint32_t at = 0; at < 2; at++)
        self->sides[at] = (join_side){.part_name = at ? "right" : "left", .child = self->node->children[at], .event = nl_event_time_of(self->node->children[at])};
}

bool nl_state_join_forgets(nl_arena *arena, const nl_logical *join, uint32_t side)
{
    nl_state_batch batch = {.evict_micros = 1000000};
    stream_join self = {.batch = &batch, .arena = arena, .node = join};
    init_sides(&self);
    find_bounds(&self);
    return self.sides[side].may_evict;
}

nl_status nl_state_join(nl_state_batch *batch, const nl_logical *node, const nl_logical **result)
{
    const nl_join_kind kind = node->join.kind;
    stream_join self = {.batch = batch, .arena = batch->planning->arena, .node = node, .counts.name = "symmetricHashJoin"};
    if (kind != NL_JOIN_INNER && kind != NL_JOIN_CROSS && kind != NL_JOIN_LEFT && kind != NL_JOIN_RIGHT && kind != NL_JOIN_FULL && kind != NL_JOIN_SEMI)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not run this kind of join over two streams.");
    NL_CHECK(node->join.condition != NULL);
    init_sides(&self);
    self.sides[0].keeps_unmatched = kind == NL_JOIN_LEFT || kind == NL_JOIN_FULL;
    self.sides[1].keeps_unmatched = kind == NL_JOIN_RIGHT || kind == NL_JOIN_FULL;
    find_keys(&self);
    if (self.key_count == 0) return NL_RAISE(_LEGACY_ERROR_TEMP_1181);
    find_bounds(&self);
    nl_status status = run(&self, result);
    for (uint32_t at = 0; at < 2; at++) {
        join_side *side = &self.sides[at];
        nl_kept_rows *const rows[] = {side->fresh, side->added, side->before, side->past};
        for (size_t i = 0; i < NL_COUNT(rows); i++) nl_kept_rows_release(rows[i]);
    }
    nl_kept_rows_release(self.pairs);
    nl_kept_rows_release(self.given);
    return status;
}
