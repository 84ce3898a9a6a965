/* Window frames: the default ones, the bounds that were written, and what Spark refuses of them. */
#include "plan/analyzer/analyzer.h"

#include "function/coercion.h"

typedef struct framing {
    nl_scope *scope;
    const nl_ast_window *window;
    nl_arena *arena;
    const nl_expr *call;
    nl_window_spec *spec;
    nl_ast_range range;
} framing;

static nl_bound_kind bound_kind(nl_ast_frame_bound_kind kind)
{
    switch (kind) {
    case NL_AST_BOUND_UNBOUNDED_PRECEDING:
        return NL_BOUND_UNBOUNDED_PRECEDING;
    case NL_AST_BOUND_PRECEDING:
        return NL_BOUND_PRECEDING;
    case NL_AST_BOUND_CURRENT_ROW:
        return NL_BOUND_CURRENT_ROW;
    case NL_AST_BOUND_FOLLOWING:
        return NL_BOUND_FOLLOWING;
    case NL_AST_BOUND_UNBOUNDED_FOLLOWING:
        return NL_BOUND_UNBOUNDED_FOLLOWING;
    }
    return NL_BOUND_CURRENT_ROW;
}

static nl_status resolve_offset(nl_scope *scope, const nl_ast_frame_bound *bound, const nl_expr **offset)
{
    *offset = NULL;
    if (!bound->offset) return NULL;
    NL_TRY(nl_resolve_expr(scope, bound->offset, offset));
    if (nl_expr_is_constant(*offset)) return NULL;
    return NL_RAISE(DATATYPE_MISMATCH__SPECIFIED_WINDOW_FRAME_WITHOUT_FOLDABLE, NL_P_STR("sqlExpr", nl_quote_expr(nl_scope_arena(scope), *offset)),
                    NL_P("location", "boundary"), NL_P_STR("expression", nl_quote_expr(nl_scope_arena(scope), *offset)));
}

/* Whole partition without ORDER BY; up to the current row's peers with it. Ranking functions take rows. */
static void default_frame(nl_window_spec *spec, const nl_expr *call)
{
    static const char *const range_functions[] = {"cume_dist", "nth_value"};
    bool is_ranking = call->call->row->kind == NL_FUNCTION_WINDOW;
    for (size_t i = 0; i < NL_COUNT(range_functions); i++)
        is_ranking = is_ranking && strcmp(call->call->row->name, range_functions[i]) != 0;
    spec->start_kind = NL_BOUND_UNBOUNDED_PRECEDING;
    spec->stop_kind = spec->order_count ? NL_BOUND_CURRENT_ROW : NL_BOUND_UNBOUNDED_FOLLOWING;
    spec->unit = spec->order_count && !is_ranking ? NL_FRAME_RANGE : NL_FRAME_ROWS;
}

/* ---- texts for errors ---- */

static nl_str bound_text(const framing *f, nl_bound_kind kind, const nl_expr *offset)
{
    switch (kind) {
    case NL_BOUND_UNBOUNDED_PRECEDING:
        return NL_STR("UNBOUNDED PRECEDING");
    case NL_BOUND_UNBOUNDED_FOLLOWING:
        return NL_STR("UNBOUNDED FOLLOWING");
    case NL_BOUND_CURRENT_ROW:
        return NL_STR("CURRENT ROW");
    case NL_BOUND_PRECEDING:
    case NL_BOUND_FOLLOWING:
        break;
    }
    return nl_arena_f(f->arena, NL_STR_FMT " %s", NL_STR_ARG(nl_expr_pretty_str(f->arena, offset)), kind == NL_BOUND_PRECEDING ? "PRECEDING" : "FOLLOWING");
}

static nl_str frame_text(const framing *f)
{
    const nl_window_spec *spec = f->spec;
    return nl_arena_f(f->arena, "%s BETWEEN " NL_STR_FMT " AND " NL_STR_FMT, spec->unit == NL_FRAME_ROWS ? "ROWS" : "RANGE",
                      NL_STR_ARG(bound_text(f, spec->start_kind, spec->start_offset)), NL_STR_ARG(bound_text(f, spec->stop_kind, spec->stop_offset)));
}

static nl_str quoted(const framing *f, nl_str text)
{
    return nl_arena_f(f->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(text));
}

/* "d ASC NULLS FIRST, …", of a plan with the columns' numbers */
static nl_str order_text(const framing *f, bool is_of_plan)
{
    nl_builder keys;
    nl_builder_init(&keys, 65536);
    for (uint32_t i = 0; i < f->spec->order_count; i++) {
        const nl_sort_key *key = &f->spec->order_by[i];
        if (i) nl_append_c(&keys, is_of_plan ? "," : ", ");
        if (is_of_plan)
            nl_expr_append_text(key->expr, &keys);
        else
            nl_append(&keys, nl_expr_pretty_str(f->arena, key->expr));
        nl_append_f(&keys, " %s NULLS %s", key->is_descending ? "DESC" : "ASC", key->nulls_first ? "FIRST" : "LAST");
    }
    const nl_str text = nl_arena_str(f->arena, nl_builder_str(&keys));
    nl_builder_fini(&keys);
    return text;
}

/* "(PARTITION BY a ORDER BY d ASC NULLS FIRST RANGE BETWEEN …)" */
static nl_str spec_text(const framing *f)
{
    nl_builder text;
    nl_builder_init(&text, 65536);
    for (uint32_t i = 0; i < f->spec->partition_count; i++)
        nl_append_f(&text, "%s" NL_STR_FMT, i ? ", " : "PARTITION BY ", NL_STR_ARG(nl_expr_pretty_str(f->arena, f->spec->partition_by[i])));
    if (f->spec->partition_count > 0) nl_append_char(&text, ' ');
    if (f->spec->order_count > 0) nl_append_f(&text, "ORDER BY " NL_STR_FMT " ", NL_STR_ARG(order_text(f, false)));
    const nl_str made = nl_arena_f(f->arena, "\"(" NL_STR_FMT NL_STR_FMT ")\"", NL_STR_ARG(nl_builder_str(&text)), NL_STR_ARG(frame_text(f)));
    nl_builder_fini(&text);
    return made;
}

/* ---- checks ---- */

static bool is_date_time(const nl_type *type)
{
    return type->id == NL_TYPE_DATE || type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ;
}

/* The type Spark gives to an offset: a RANGE offset becomes the order key's type, unless that is a date or a time; a
 * text or a NULL before PRECEDING is negated, which makes it a double. */
static const nl_type *offset_type(const framing *f, nl_bound_kind kind, const nl_expr *offset)
{
    const bool is_negated = kind == NL_BOUND_PRECEDING && (offset->type->id == NL_TYPE_STRING || offset->type->id == NL_TYPE_NULL);
    const nl_type *type = is_negated ? nl_type_double() : offset->type;
    if (f->spec->unit == NL_FRAME_ROWS || f->spec->order_count != 1) return type;
    const nl_type *key = f->spec->order_by[0].expr->type;
    return !is_date_time(key) && nl_can_cast(type, key, true) ? key : type;
}

static bool is_numeric_or_interval(const nl_type *type)
{
    return nl_type_is_numeric(type) || type->id == NL_TYPE_INTERVAL || type->id == NL_TYPE_INTERVAL_YM || type->id == NL_TYPE_INTERVAL_DT;
}

static nl_status check_bound(const framing *f, const char *location, nl_bound_kind kind, const nl_expr *offset)
{
    if (!offset) return NULL;
    const bool is_rows = f->spec->unit == NL_FRAME_ROWS;
    const nl_type *type = offset_type(f, kind, offset);
    if (is_rows ? type->id == NL_TYPE_INT : is_numeric_or_interval(type)) return NULL;
    const char *expected =
        is_rows ? "\"INT\"" : "(\"NUMERIC\" or \"INTERVAL DAY TO SECOND\" or \"INTERVAL YEAR TO MONTH\" or \"INTERVAL\")";
    return NL_RAISE(DATATYPE_MISMATCH__SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE, NL_P_STR("sqlExpr", quoted(f, frame_text(f))),
                    NL_P("location", location), NL_P_STR("exprType", nl_quote_type(f->arena, type)), NL_P("expectedType", expected));
}

static nl_status signed_offset(const framing *f, nl_bound_kind kind, const nl_expr *offset, bool *is_known, int64_t *number)
{
    const nl_value *value = NULL;
    *is_known = false;
    if (!offset) return NULL;
    NL_TRY(nl_fold(f->scope, offset, &value));
    const bool is_integer = value && !value->is_null &&
                            (nl_type_is_integral(value->type) || value->type->id == NL_TYPE_INTERVAL_YM || value->type->id == NL_TYPE_INTERVAL_DT);
    if (!is_integer || value->integer == INT64_MIN) return NULL;
    *is_known = true;
    *number = kind == NL_BOUND_PRECEDING ? -value->integer : value->integer;
    return NULL;
}

static nl_status check_order_of_bounds(const framing *f)
{
    const nl_window_spec *spec = f->spec;
    const bool is_backwards = spec->start_kind == NL_BOUND_UNBOUNDED_FOLLOWING || spec->stop_kind == NL_BOUND_UNBOUNDED_PRECEDING;
    if (is_backwards)
        return NL_RAISE(DATATYPE_MISMATCH__SPECIFIED_WINDOW_FRAME_INVALID_BOUND, NL_P_STR("sqlExpr", quoted(f, frame_text(f))),
                        NL_P_STR("upper", quoted(f, bound_text(f, spec->stop_kind, spec->stop_offset))),
                        NL_P_STR("lower", quoted(f, bound_text(f, spec->start_kind, spec->start_offset))));
    bool is_start_known, is_stop_known;
    int64_t start = 0, stop = 0;
    NL_TRY(signed_offset(f, spec->start_kind, spec->start_offset, &is_start_known, &start));
    NL_TRY(signed_offset(f, spec->stop_kind, spec->stop_offset, &is_stop_known, &stop));
    if (!is_start_known || !is_stop_known || start <= stop) return NULL;
    return NL_RAISE(DATATYPE_MISMATCH__SPECIFIED_WINDOW_FRAME_WRONG_COMPARISON, NL_P_STR("sqlExpr", quoted(f, frame_text(f))),
                    NL_P("comparison", "less than or equal"));
}

/* Which offsets an order key takes: dates take days and intervals, times intervals, everything else its own type. */
static bool fits_key(const nl_type *key, const nl_type *offset)
{
    const bool is_interval = offset->id == NL_TYPE_INTERVAL || offset->id == NL_TYPE_INTERVAL_YM || offset->id == NL_TYPE_INTERVAL_DT;
    if (key->id == NL_TYPE_DATE)
        return offset->id == NL_TYPE_INT || offset->id == NL_TYPE_INTERVAL_YM ||
               (offset->id == NL_TYPE_INTERVAL_DT && offset->start_field == NL_FIELD_DAY && offset->end_field == NL_FIELD_DAY);
    if (is_date_time(key)) return is_interval;
    return nl_type_equal(key, offset);
}

static nl_status check_range(const framing *f)
{
    const nl_window_spec *spec = f->spec;
    const nl_expr *offset = spec->start_offset ? spec->start_offset : spec->stop_offset;
    const bool is_unbounded = spec->start_kind == NL_BOUND_UNBOUNDED_PRECEDING && spec->stop_kind == NL_BOUND_UNBOUNDED_FOLLOWING;
    if (spec->unit != NL_FRAME_RANGE || is_unbounded) return NULL;
    if (spec->order_count == 0) return NL_RAISE(DATATYPE_MISMATCH__RANGE_FRAME_WITHOUT_ORDER, NL_P_STR("sqlExpr", spec_text(f)));
    if (!offset) return NULL;
    if (spec->order_count > 1)
        return NL_RAISE(DATATYPE_MISMATCH__RANGE_FRAME_MULTI_ORDER, NL_P_STR("sqlExpr", spec_text(f)), NL_P_STR("orderSpec", order_text(f, true)));
    const nl_type *key = spec->order_by[0].expr->type;
    const nl_type *type = offset_type(f, spec->start_offset ? spec->start_kind : spec->stop_kind, offset);
    if (fits_key(key, type)) return NULL;
    return NL_RAISE(DATATYPE_MISMATCH__RANGE_FRAME_INVALID_TYPE, NL_P_STR("sqlExpr", spec_text(f)),
                    NL_P_STR("orderSpecType", nl_quote_type(f->arena, key)), NL_P_STR("valueBoundaryType", nl_quote_type(f->arena, type)));
}

/* `1 PRECEDING` in a text is -(1), which Spark does not take for the -1 of lag's own frame; a DataFrame's -1 is one. */
static bool is_of_text(const nl_ast_frame_bound *bound)
{
    return bound->kind == NL_AST_BOUND_PRECEDING && !(bound->offset->kind == NL_AST_EXPR_LITERAL && bound->offset->literal.kind == NL_AST_LITERAL_VALUE);
}

/* A bound as rows after the current one. false: it is no such number. */
static nl_status rows_after(const framing *f, nl_bound_kind kind, const nl_expr *offset, int64_t *rows, bool *is_number)
{
    const nl_value *value = NULL;
    *rows = 0;
    *is_number = kind == NL_BOUND_CURRENT_ROW;
    if (*is_number || !offset || (kind != NL_BOUND_PRECEDING && kind != NL_BOUND_FOLLOWING)) return NULL;
    NL_TRY(nl_fold(f->scope, offset, &value));
    *is_number = value && !value->is_null && nl_type_is_integral(value->type) && value->integer > INT32_MIN && value->integer <= INT32_MAX;
    if (*is_number) *rows = kind == NL_BOUND_PRECEDING ? -value->integer : value->integer;
    return NULL;
}

/* lag(x, -2) may say the frame that it has anyhow: ROWS BETWEEN 2 FOLLOWING AND 2 FOLLOWING. DataFrames of pandas do. */
static nl_status check_offset_function(const framing *f, bool is_lag)
{
    int64_t wanted = 1, start = 0, stop = 0;
    bool has_wanted = true, has_start = false, has_stop = false;
    if (f->call->child_count > 1) NL_TRY(rows_after(f, NL_BOUND_FOLLOWING, f->call->children[1], &wanted, &has_wanted));
    NL_TRY(rows_after(f, f->spec->start_kind, f->spec->start_offset, &start, &has_start));
    NL_TRY(rows_after(f, f->spec->stop_kind, f->spec->stop_offset, &stop, &has_stop));
    if (is_lag) wanted = -wanted;
    const bool is_text = is_of_text(&f->window->start) || (f->window->has_end && is_of_text(&f->window->end));
    if (f->spec->unit == NL_FRAME_ROWS && !is_text && has_wanted && has_start && has_stop && start == wanted && stop == wanted) return NULL;
    return NL_RAISE(_LEGACY_ERROR_TEMP_1035, NL_P("prettyName", is_lag ? "lag" : "lead"));
}

/* Ranking functions have one frame, lag and lead that of their offset. */
static nl_status check_function(const framing *f)
{
    const char *name = f->call->call->row->name;
    const nl_window_spec *spec = f->spec;
    const bool is_window = f->call->call->row->kind == NL_FUNCTION_WINDOW;
    if (!is_window || strcmp(name, "nth_value") == 0) return NULL;
    if (strcmp(name, "lag") == 0 || strcmp(name, "lead") == 0) return check_offset_function(f, name[1] == 'a');
    const bool is_range = strcmp(name, "cume_dist") == 0;
    const bool is_own = spec->unit == (is_range ? NL_FRAME_RANGE : NL_FRAME_ROWS) && spec->start_kind == NL_BOUND_UNBOUNDED_PRECEDING &&
                        spec->stop_kind == NL_BOUND_CURRENT_ROW;
    if (is_own) return NULL;
    return NL_RAISE(_LEGACY_ERROR_TEMP_1036, NL_P_STR("wf", frame_text(f)),
                    NL_P("required", is_range ? "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW" : "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"));
}

/* -1 PRECEDING is 1 FOLLOWING: what runs has offsets that are not negative. After the frame has been printed. */
static nl_status turn_negative(nl_scope *scope, nl_bound_kind *kind, const nl_expr **offset)
{
    const nl_value *value = NULL;
    if (!*offset) return NULL;
    NL_TRY(nl_fold(scope, *offset, &value));
    const bool is_real = value && !value->is_null && (value->type->id == NL_TYPE_DOUBLE || value->type->id == NL_TYPE_FLOAT);
    if (is_real && value->real < 0) {
        nl_value positive = *value;
        positive.real = -value->real;
        *offset = nl_expr_literal(nl_scope_arena(scope), &positive);
        *kind = *kind == NL_BOUND_PRECEDING ? NL_BOUND_FOLLOWING : NL_BOUND_PRECEDING;
        return NULL;
    }
    const bool is_integer = value && !value->is_null &&
                            (nl_type_is_integral(value->type) || value->type->id == NL_TYPE_INTERVAL_YM || value->type->id == NL_TYPE_INTERVAL_DT);
    if (!is_integer || value->integer >= 0 || value->integer == INT64_MIN) return NULL;
    const nl_value positive = nl_value_int(value->type, -value->integer);
    *offset = nl_expr_literal(nl_scope_arena(scope), &positive);
    *kind = *kind == NL_BOUND_PRECEDING ? NL_BOUND_FOLLOWING : NL_BOUND_PRECEDING;
    return NULL;
}

/* An offset of RANGE is of the order key's type: 1.1 beside integers is 1. */
static void cast_offset(nl_scope *scope, const nl_window_spec *spec, const nl_expr **offset)
{
    if (!*offset || spec->unit != NL_FRAME_RANGE || spec->order_count != 1) return;
    const nl_type *key = spec->order_by[0].expr->type;
    if (nl_type_is_numeric(key) && nl_can_cast((*offset)->type, key, true)) *offset = nl_expr_cast(nl_scope_arena(scope), *offset, key, nl_scope_cast_mode(scope));
}

nl_status nl_normalize_frame(nl_scope *scope, nl_window_spec *spec)
{
    cast_offset(scope, spec, &spec->start_offset);
    cast_offset(scope, spec, &spec->stop_offset);
    NL_TRY(turn_negative(scope, &spec->start_kind, &spec->start_offset));
    return turn_negative(scope, &spec->stop_kind, &spec->stop_offset);
}

nl_status nl_resolve_frame(nl_scope *scope, const nl_ast_window *window, const nl_expr *call, nl_window_spec *spec)
{
    if (!window->has_frame) {
        default_frame(spec, call);
        return NULL;
    }
    const framing f = {.scope = scope, .window = window, .arena = nl_scope_arena(scope), .call = call, .spec = spec};
    spec->unit = window->is_rows ? NL_FRAME_ROWS : NL_FRAME_RANGE;
    spec->start_kind = bound_kind(window->start.kind);
    spec->stop_kind = window->has_end ? bound_kind(window->end.kind) : NL_BOUND_CURRENT_ROW;
    NL_TRY(resolve_offset(scope, &window->start, &spec->start_offset));
    if (window->has_end) NL_TRY(resolve_offset(scope, &window->end, &spec->stop_offset));
    NL_TRY(check_function(&f));
    NL_TRY(check_bound(&f, "lower", spec->start_kind, spec->start_offset));
    NL_TRY(check_bound(&f, "upper", spec->stop_kind, spec->stop_offset));
    NL_TRY(check_order_of_bounds(&f));
    return check_range(&f);
}
