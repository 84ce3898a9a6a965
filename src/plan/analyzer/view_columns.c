/* plan/analyzer/view_columns.c - what a view's columns are when the tables below it have changed: WITH SCHEMA BINDING casts
 * up, COMPENSATION casts, TYPE EVOLUTION takes the new types, EVOLUTION the new columns.
 */
#include "plan/analyzer/analyzer.h"

#include "function/coercion.h"

typedef struct shaping {
    nl_env *env;
    const nl_resolved_relation *found;
    const nl_logical *body;
    nl_ast_range range;
    const nl_column **visible; /* the body's columns that are no metadata */
    uint32_t visible_count;
} shaping;

static nl_status incompatible(const shaping *self, nl_str column, uint32_t wanted, uint32_t found)
{
    nl_arena *arena = self->env->context->arena;
    const nl_resolved_relation *view = self->found;
    bool has_names = false;
    nl_str name = {0}, columns = {0}, actual = NL_STR("[");
    for (uint32_t i = 0; i < view->name_count; i++) name = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(name), i ? "." : "", NL_STR_ARG(view->name[i]));
    for (uint32_t i = 0; i < view->view_column_count; i++) {
        has_names |= view->view_query_columns && !nl_str_equal(view->view_query_columns[i], view->view_columns[i].name);
        columns = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(columns), i ? ", " : "", NL_STR_ARG(view->view_columns[i].name));
    }
    for (uint32_t i = 0; i < found; i++) actual = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(actual), i ? "," : "", NL_STR_ARG(column));
    const nl_str list = has_names ? nl_arena_f(arena, " (" NL_STR_FMT ")", NL_STR_ARG(columns)) : NL_STR("");
    const nl_str again = nl_arena_f(arena, "CREATE OR REPLACE VIEW " NL_STR_FMT NL_STR_FMT " AS " NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(list), NL_STR_ARG(view->view_text));
    return nl_sql_at(NL_RAISE(INCOMPATIBLE_VIEW_SCHEMA_CHANGE, NL_P_STR("viewName", nl_quote_names(arena, view->name, view->name_count)), NL_P_STR("colName", column),
                              NL_P_INT("expectedNum", wanted), NL_P_STR("actualCols", nl_arena_f(arena, NL_STR_FMT "]", NL_STR_ARG(actual))), NL_P_STR("suggestion", again)),
                     self->env->text, self->range, false);
}

/* Column i of the view among those of its query: of the same name, the same one of several. */
static nl_status find_column(const shaping *self, uint32_t i, const nl_column **column)
{
    const nl_str *names = self->found->view_query_columns;
    uint32_t wanted = 0, place = 0, there = 0;
    for (uint32_t j = 0; j < self->found->view_column_count; j++) {
        if (!nl_str_equal_nocase(names[j], names[i])) continue;
        if (j < i) place++;
        wanted++;
    }
    for (uint32_t j = 0; j < self->visible_count; j++) {
        if (!nl_str_equal_nocase(self->visible[j]->name, names[i])) continue;
        if (there++ == place) *column = self->visible[j];
    }
    return there == wanted ? NULL : incompatible(self, names[i], wanted, there);
}

/* Spark's up-cast: what loses nothing, numbers to floating-point ones even when they are rounded, anything plain to text. */
static bool is_up_cast(const nl_type *from, const nl_type *to)
{
    if (nl_type_is_nested(from) && to->id == from->id) {
        bool is_up = from->child_count == to->child_count;
        for (uint32_t i = 0; is_up && i < from->child_count; i++)
            is_up = is_up_cast(from->children[i].type, to->children[i].type) && (to->children[i].is_nullable || !from->children[i].is_nullable);
        return is_up;
    }
    if (nl_is_upcast(from, to)) return true;
    if (to->id == NL_TYPE_STRING) return !nl_type_is_nested(from) && from->id != NL_TYPE_BINARY;
    const bool is_rounded = to->id == NL_TYPE_FLOAT || to->id == NL_TYPE_DOUBLE;
    return is_rounded && nl_type_is_integral(from);
}

static nl_status raise_up_cast(const shaping *self, const nl_column *column, const nl_type *type)
{
    nl_arena *arena = self->env->context->arena;
    nl_str name = {0};
    for (uint32_t i = 0; i < column->qualifier_count; i++) name = nl_arena_f(arena, NL_STR_FMT NL_STR_FMT ".", NL_STR_ARG(name), NL_STR_ARG(column->qualifier[i]));
    return NL_RAISE(CANNOT_UP_CAST_DATATYPE, NL_P_STR("expression", nl_arena_f(arena, NL_STR_FMT NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(column->name))),
                    NL_P_STR("sourceType", nl_quote_type(arena, column->type)), NL_P_STR("targetType", nl_quote_type(arena, type)),
                    NL_P("details", "The type path of the target object is:\n\nYou can either add an explicit cast to the input data or choose a higher precision type of the field in "
                                    "the target object"));
}

static bool follows(nl_ast_schema_binding binding)
{
    return binding == NL_AST_BINDING_EVOLUTION || binding == NL_AST_BINDING_TYPE_EVOLUTION;
}

/* The view keeps the columns that it was found to have: what is told of it later is this. */
static nl_status note_columns(const shaping *self, const nl_column *columns, uint32_t count)
{
    nl_plan_context *context = self->env->context;
    const nl_resolved_relation *found = self->found;
    const bool evolves = found->view_binding == NL_AST_BINDING_EVOLUTION;
    nl_field *fields = NL_NEW_ARRAY(context->arena, nl_field, count + 1);
    nl_str *names = NL_NEW_ARRAY(context->arena, nl_str, count + 1);
    bool is_changed = count != found->view_column_count;
    for (uint32_t i = 0; i < count; i++) {
        fields[i] = (nl_field){.name = columns[i].name, .type = columns[i].type, .is_nullable = columns[i].is_nullable, .comment = columns[i].comment};
        names[i] = evolves ? self->visible[i]->name : found->view_query_columns[i];
        is_changed = is_changed || !nl_str_equal(names[i], found->view_query_columns[i]) || !nl_type_equal(fields[i].type, found->view_columns[i].type) ||
                     !nl_str_equal(fields[i].comment, found->view_columns[i].comment);
        for (uint32_t j = 0; j < i && evolves; j++)
            if (nl_str_equal_nocase(fields[i].name, fields[j].name)) return NL_RAISE(COLUMN_ALREADY_EXISTS, NL_P_STR("columnName", nl_quote_name(context->arena, fields[i].name)));
    }
    if (!is_changed || !context->resolver || !context->resolver->note_view) return NULL;
    return context->resolver->note_view(context->resolver, found, fields, names, count);
}

static nl_status shape_column(const shaping *self, const nl_column *from, const nl_field *field, nl_column *column, const nl_expr **expr)
{
    const nl_ast_schema_binding binding = self->found->view_binding;
    nl_arena *arena = self->env->context->arena;
    nl_scope scope = {.env = self->env, .clause = NL_CLAUSE_OTHER};
    const nl_type *type = field->type && !follows(binding) ? nl_without_lengths(arena, field->type) : from->type;
    const bool is_bound = self->found->view_query_columns && binding == NL_AST_BINDING_BINDING;
    if (is_bound && !is_up_cast(from->type, type)) return raise_up_cast(self, from, type);
    const nl_expr *input = nl_column_ref(arena, from);
    if (nl_type_equal(from->type, type)) *expr = nl_expr_cast(arena, input, type, NL_CAST_ANSI);
    else NL_TRY(nl_make_cast(&scope, input, type, NL_CAST_ANSI, expr));
    *column = *from;
    column->id = nl_plan_new_id(self->env->context);
    column->name = field->name;
    column->type = type;
    if (field->type && !follows(binding)) nl_hide_length(arena, field->type, column);
    column->comment = field->comment;
    column->is_nullable = (*expr)->is_nullable;
    return NULL;
}

/* The columns that the query has now, under the names that the view's user gave to them. */
static nl_status evolve(const shaping *self, nl_column *columns, const nl_expr **exprs)
{
    const nl_resolved_relation *found = self->found;
    bool has_names = false;
    for (uint32_t i = 0; i < found->view_column_count; i++) has_names |= !nl_str_equal_nocase(found->view_query_columns[i], found->view_columns[i].name);
    if (has_names && self->visible_count != found->view_column_count) return incompatible(self, found->view_columns[0].name, found->view_column_count, self->visible_count);
    for (uint32_t i = 0; i < self->visible_count; i++) {
        const nl_field own = {.name = self->visible[i]->name, .comment = self->visible[i]->comment};
        NL_TRY(shape_column(self, self->visible[i], has_names ? &found->view_columns[i] : &own, &columns[i], &exprs[i]));
    }
    return NULL;
}

nl_status nl_shape_view(nl_env *env, const nl_resolved_relation *found, const nl_logical *body, nl_ast_range range, const nl_logical **plan)
{
    nl_arena *arena = env->context->arena;
    shaping self = {.env = env, .found = found, .body = body, .range = range};
    *plan = body;
    if (!found->view_columns) return NULL;
    self.visible = NL_NEW_ARRAY(arena, const nl_column *, body->column_count + 1);
    for (uint32_t i = 0; i < body->column_count; i++)
        if (!body->columns[i].is_hidden) self.visible[self.visible_count++] = &body->columns[i];
    const bool by_name = found->view_query_columns != NULL, evolves = by_name && found->view_binding == NL_AST_BINDING_EVOLUTION;
    if (!by_name && self.visible_count != found->view_column_count) return incompatible(&self, NL_STR(""), found->view_column_count, 0);
    const uint32_t count = evolves ? self.visible_count : found->view_column_count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    if (evolves) NL_TRY(evolve(&self, columns, exprs));
    for (uint32_t i = 0; !evolves && i < count; i++) {
        const nl_column *from = by_name ? NULL : self.visible[i];
        if (by_name) NL_TRY(find_column(&self, i, &from));
        NL_TRY(shape_column(&self, from, &found->view_columns[i], &columns[i], &exprs[i]));
    }
    if (follows(found->view_binding) && by_name) NL_TRY(note_columns(&self, columns, count));
    *plan = nl_logical_project(arena, body, columns, exprs, count);
    return NULL;
}
