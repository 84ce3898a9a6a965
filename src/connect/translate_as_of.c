/* connect/translate_as_of.c - as-of joins of the pandas API on Spark: a join, and of the rows that each row of the left meets the nearest. */
#include "connect/translate_step.h"

static nl_status called(nl_step *s, const char *name, nl_ast_expr *a, nl_ast_expr *b, nl_ast_expr *c, nl_ast_expr **made)
{
    nl_ast_expr **args = NL_NEW_ARRAY(s->arena, nl_ast_expr *, 3);
    const uint32_t count = c ? 3 : b ? 2 : a ? 1 : 0;
    args[0] = a;
    args[1] = b;
    args[2] = c;
    NL_TRY(nl_translate_function(s->t, nl_str_from(name), args, count, false, made));
    if (*made) return NULL;
    nl_ast_expr *call = nl_new_expr(s->arena, NL_AST_EXPR_CALL);
    nl_ast_argument *arguments = NL_NEW_ARRAY(s->arena, nl_ast_argument, 3);
    for (uint32_t i = 0; i < count; i++) arguments[i].value = args[i];
    call->call.name = (nl_ast_name){.parts = NL_NEW(s->arena, nl_ast_ident), .count = 1};
    *call->call.name.parts = nl_ident_of(nl_str_from(name));
    call->call.args = (nl_ast_arguments){arguments, count};
    *made = call;
    return NULL;
}

static nl_ast_expr *named_column(nl_step *s, const char *name)
{
    nl_ast_expr *expr = nl_new_expr(s->arena, NL_AST_EXPR_COLUMN);
    expr->column = (nl_ast_name){.parts = NL_NEW(s->arena, nl_ast_ident), .count = 1};
    *expr->column.parts = nl_ident_of(nl_str_from(name));
    return expr;
}

static nl_ast_expr *aliased(nl_step *s, nl_ast_expr *input, const char *name)
{
    nl_ast_expr *expr = nl_new_expr(s->arena, NL_AST_EXPR_ALIAS);
    nl_ast_ident *ident = NL_NEW(s->arena, nl_ast_ident);
    *ident = nl_ident_of(nl_str_from(name));
    expr->alias.input = input;
    expr->alias.names = (nl_ast_idents){ident, 1};
    return expr;
}

/* struct(*) of a side: its columns under their plan_id. */
static nl_status packed_side(nl_step *s, const Spark__Connect__Relation *side, nl_ast_expr **made)
{
    nl_ast_expr *star = nl_new_expr(s->arena, NL_AST_EXPR_STAR);
    if (!side->common || !side->common->has_plan_id) return nl_connect_invalid("a side of an as-of join has no plan id");
    star->has_plan_id = true;
    star->plan_id = side->common->plan_id;
    return called(s, "struct", star, NULL, NULL, made);
}

static nl_ast_expr *side_column(nl_step *s, const Spark__Connect__Relation *side, const char *name)
{
    nl_ast_expr *column = named_column(s, "");
    column->column.parts->text = nl_copy_text(s->arena, name);
    column->has_plan_id = true;
    column->plan_id = side->common && side->common->has_plan_id ? side->common->plan_id : 0;
    return column;
}

typedef struct as_of {
    nl_ast_expr *left, *right, *tolerance;
    bool is_exact; /* equal ones count */
    nl_ast_expr *condition, *distance;
} as_of;

static nl_status both(nl_step *s, nl_ast_expr **condition, nl_ast_expr *more)
{
    if (*condition) return called(s, "and", *condition, more, NULL, condition);
    *condition = more;
    return NULL;
}

static nl_status within(nl_step *s, as_of *a, bool is_before)
{
    nl_ast_expr *edge, *inside;
    NL_TRY(called(s, is_before ? "-" : "+", a->left, a->tolerance, NULL, &edge));
    NL_TRY(called(s, is_before ? ">=" : "<=", a->right, edge, NULL, &inside));
    return both(s, &a->condition, inside);
}

static nl_status one_way(nl_step *s, as_of *a, bool is_backward)
{
    nl_ast_expr *order;
    NL_TRY(called(s, is_backward ? (a->is_exact ? ">=" : ">") : (a->is_exact ? "<=" : "<"), a->left, a->right, NULL, &order));
    NL_TRY(both(s, &a->condition, order));
    if (a->tolerance) NL_TRY(within(s, a, is_backward));
    return called(s, "-", is_backward ? a->left : a->right, is_backward ? a->right : a->left, NULL, &a->distance);
}

static nl_status nearest(nl_step *s, as_of *a)
{
    nl_ast_expr *is_after, *before, *after, *other;
    if (!a->is_exact) {
        NL_TRY(called(s, "=", a->left, a->right, NULL, &other));
        NL_TRY(called(s, "not", other, NULL, NULL, &other));
        NL_TRY(both(s, &a->condition, other));
    }
    if (a->tolerance) NL_TRY(within(s, a, true));
    if (a->tolerance) NL_TRY(within(s, a, false));
    NL_TRY(called(s, ">", a->left, a->right, NULL, &is_after));
    NL_TRY(called(s, "-", a->left, a->right, NULL, &before));
    NL_TRY(called(s, "-", a->right, a->left, NULL, &after));
    return called(s, "if", is_after, before, after, &a->distance);
}

static bool is_negative(const Spark__Connect__Expression *message)
{
    if (!message || message->expr_type_case != SPARK__CONNECT__EXPRESSION__EXPR_TYPE_LITERAL) return false;
    const Spark__Connect__Expression__Literal *literal = message->literal;
    switch ((int)literal->literal_type_case) {
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_INTEGER: return literal->integer < 0;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_LONG: return literal->long_ < 0;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_DOUBLE: return literal->double_ < 0;
    case SPARK__CONNECT__EXPRESSION__LITERAL__LITERAL_TYPE_DAY_TIME_INTERVAL: return literal->day_time_interval < 0;
    default: return false;
    }
}

static nl_status as_of_condition(nl_step *s, const Spark__Connect__AsOfJoin *message, as_of *a)
{
    const nl_str direction = nl_str_from(message->direction ? message->direction : "backward");
    NL_TRY(nl_translate_expr(s->t, message->left_as_of, &a->left));
    NL_TRY(nl_translate_expr(s->t, message->right_as_of, &a->right));
    a->is_exact = message->allow_exact_matches; /* absent: the default of proto3 */
    if (message->join_expr) NL_TRY(nl_translate_expr(s->t, message->join_expr, &a->condition));
    for (size_t i = 0; i < message->n_using_columns; i++) {
        nl_ast_expr *equal;
        NL_TRY(called(s, "=", side_column(s, message->left, message->using_columns[i]), side_column(s, message->right, message->using_columns[i]), NULL, &equal));
        NL_TRY(both(s, &a->condition, equal));
    }
    if (message->tolerance) NL_TRY(nl_translate_expr(s->t, message->tolerance, &a->tolerance));
    if (is_negative(message->tolerance)) return NL_RAISE(AS_OF_JOIN__TOLERANCE_IS_NON_NEGATIVE);
    if (nl_str_is_nocase(direction, "nearest")) return nearest(s, a);
    if (nl_str_is_nocase(direction, "backward")) return one_way(s, a, true);
    if (nl_str_is_nocase(direction, "forward")) return one_way(s, a, false);
    return NL_RAISE(AS_OF_JOIN__UNSUPPORTED_DIRECTION, NL_P_STR("direction", nl_arena_str(s->arena, direction)), NL_P("supported", "'forward', 'backward', 'nearest'"));
}

static nl_status as_of_kind(nl_step *s, const char *text, nl_ast_join_kind *kind)
{
    nl_builder plain;
    nl_builder_init(&plain, 256);
    for (const char *c = text ? text : ""; *c; c++)
        if (*c != '_') nl_append_char(&plain, *c);
    const nl_str type = nl_arena_str(s->arena, nl_builder_str(&plain));
    nl_builder_fini(&plain);
    *kind = NL_AST_JOIN_LEFT;
    if (nl_str_is_nocase(type, "left") || nl_str_is_nocase(type, "leftouter")) return NULL;
    *kind = NL_AST_JOIN_INNER;
    if (type.length == 0 || nl_str_is_nocase(type, "inner")) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Unsupported as-of join type " NL_STR_FMT, NL_STR_ARG(type));
}

/* Every left row gets a number; of the right rows that it meets, the nearest stays: of those equally near the last, as Spark's min_by. */
nl_status nl_step_as_of_join(nl_step *s, const Spark__Connect__AsOfJoin *message)
{
    static const char id[] = "__as_of_id__", left_side[] = "__as_of_left__", right_side[] = "__as_of_right__";
    as_of a = {0};
    nl_ast_term *right = NULL;
    nl_ast_join_kind kind;
    nl_ast_expr *number, *first, *near, *packed;
    nl_step at = *s;
    if (!message->left || !message->right || !message->left_as_of || !message->right_as_of) return nl_connect_invalid("an as-of join lacks a side");
    NL_TRY(as_of_kind(s, message->join_type, &kind));
    NL_TRY(nl_translate_relation(s->t, message->right, &right));
    NL_TRY(as_of_condition(s, message, &a));
    NL_TRY(called(s, "monotonically_increasing_id", NULL, NULL, NULL, &number));
    nl_ast_dataframe *numbered = nl_step_dataframe(&at, NL_AST_DATAFRAME_WITH_COLUMNS);
    nl_ast_expr **added = NL_NEW_ARRAY(s->arena, nl_ast_expr *, 1);
    added[0] = aliased(s, number, id);
    numbered->exprs = (nl_ast_exprs){added, 1};
    at.left = at.made;
    nl_ast_relation *join = nl_step_join(&at, right);
    join->join.kind = kind;
    join->join.on = a.condition;
    at.left = at.made;
    NL_TRY(packed_side(s, message->left, &packed));
    NL_TRY(called(s, "first", packed, NULL, NULL, &first));
    NL_TRY(packed_side(s, message->right, &packed));
    NL_TRY(called(s, "min_by", packed, a.distance, NULL, &near));
    nl_ast_dataframe *grouped = nl_step_dataframe(&at, NL_AST_DATAFRAME_AGGREGATE);
    nl_ast_expr **keys = NL_NEW_ARRAY(s->arena, nl_ast_expr *, 1), **sides = NL_NEW_ARRAY(s->arena, nl_ast_expr *, 2), **stars = NL_NEW_ARRAY(s->arena, nl_ast_expr *, 2);
    keys[0] = named_column(s, id);
    sides[0] = aliased(s, first, left_side);
    sides[1] = aliased(s, near, right_side);
    grouped->group = (nl_ast_exprs){keys, 1};
    grouped->exprs = (nl_ast_exprs){sides, 2};
    grouped->group_by = NL_NEW(s->arena, nl_ast_group_by);
    grouped->group_by->suffix = NL_AST_GROUP_PLAIN;
    grouped->group_by->items.items = NL_NEW_ARRAY(s->arena, nl_ast_grouping *, 1);
    grouped->group_by->items.items[0] = nl_step_grouping(s, keys[0]);
    grouped->group_by->items.count = 1;
    at.left = at.made;
    for (int i = 0; i < 2; i++) {
        stars[i] = nl_new_expr(s->arena, NL_AST_EXPR_STAR);
        stars[i]->star.qualifier = named_column(s, i ? right_side : left_side)->column;
    }
    nl_step_dataframe(&at, NL_AST_DATAFRAME_SELECT)->exprs = (nl_ast_exprs){stars, 2};
    s->made = at.made;
    return NULL;
}
