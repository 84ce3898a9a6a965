/* Store assignment (spark.sql.storeAssignmentPolicy: ANSI, or STRICT, which casts to wider types only): a query's output shaped for a table's columns, by position or
 * by name, nested fields included. Null checks of required columns are the writer's: they need the rows. */
#include "plan/analyzer/analyzer.h"

#include "function/coercion.h"

typedef struct storing {
    nl_scope scope;
    nl_arena *arena;
    nl_str table_name;
    bool is_by_name;
    bool is_strict;
} storing;

static nl_status store_value(storing *s, const nl_expr *value, const nl_type *target, nl_str path, const nl_expr **result);

static bool can_store(const storing *s, const nl_type *from, const nl_type *to)
{
    return s->is_strict ? nl_is_upcast(from, to) : nl_can_store(from, to);
}

static nl_str field_path(storing *s, nl_str path, nl_str name)
{
    const nl_str quoted = nl_quote_name(s->arena, name);
    if (path.length == 0) return quoted;
    return nl_arena_f(s->arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(path), NL_STR_ARG(quoted));
}

static nl_str upper_name(nl_arena *arena, const nl_type *type)
{
    const nl_str name = nl_type_name(arena, type);
    char *upper = NL_NEW_ARRAY(arena, char, name.length + 1);
    for (size_t i = 0; i < name.length; i++) upper[i] = name.data[i] >= 'a' && name.data[i] <= 'z' ? (char)(name.data[i] - 32) : name.data[i];
    return nl_arena_f(arena, "\"%.*s\"", (int)name.length, upper);
}

static nl_status raise_cast(storing *s, nl_str path, const nl_type *from, const nl_type *to)
{
    return NL_RAISE(INCOMPATIBLE_DATA_FOR_TABLE__CANNOT_SAFELY_CAST, NL_P_STR("tableName", s->table_name), NL_P_STR("colName", path),
                    NL_P_STR("srcType", upper_name(s->arena, from)), NL_P_STR("targetType", upper_name(s->arena, to)));
}

static nl_str field_names(storing *s, const nl_type *type, uint32_t from)
{
    nl_str *names = NL_NEW_ARRAY(s->arena, nl_str, type->child_count + 1);
    for (uint32_t i = from; i < type->child_count; i++) names[i - from] = nl_quote_name(s->arena, type->children[i].name);
    return nl_join_texts(s->arena, names, type->child_count - from, ", ");
}

/* ---- structs ---- */

static nl_status find_field(storing *s, const nl_type *type, nl_str name, uint32_t position, nl_str path, uint32_t *found)
{
    *found = position;
    if (!s->is_by_name) return NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->child_count; i++) {
        if (!nl_names_equal(&s->scope, type->children[i].name, name)) continue;
        *found = i;
        count++;
    }
    if (count == 1) return NULL;
    if (count > 1)
        return NL_RAISE(INCOMPATIBLE_DATA_FOR_TABLE__AMBIGUOUS_COLUMN_NAME, NL_P_STR("tableName", s->table_name), NL_P_STR("colName", path));
    return NL_RAISE(INCOMPATIBLE_DATA_FOR_TABLE__CANNOT_FIND_DATA, NL_P_STR("tableName", s->table_name), NL_P_STR("colName", path));
}

static nl_status store_struct(storing *s, const nl_expr *value, const nl_type *target, nl_str path, const nl_expr **result)
{
    const nl_type *source = value->type;
    if (source->child_count < target->child_count && !s->is_by_name)
        return NL_RAISE(INCOMPATIBLE_DATA_FOR_TABLE__STRUCT_MISSING_FIELDS, NL_P_STR("tableName", s->table_name), NL_P_STR("colName", path),
                        NL_P_STR("missingFields", field_names(s, target, source->child_count)));
    if (source->child_count > target->child_count && !s->is_by_name)
        return NL_RAISE(INCOMPATIBLE_DATA_FOR_TABLE__EXTRA_STRUCT_FIELDS, NL_P_STR("tableName", s->table_name), NL_P_STR("colName", path),
                        NL_P_STR("extraFields", field_names(s, source, target->child_count)));
    const nl_expr **args = NL_NEW_ARRAY(s->arena, const nl_expr *, 2 * target->child_count + 1);
    bool is_same = source->child_count == target->child_count;
    for (uint32_t i = 0; i < target->child_count; i++) {
        const nl_field *field = &target->children[i];
        const nl_str field_name = field_path(s, path, field->name);
        const nl_value name = nl_value_string(field->name);
        uint32_t place = i;
        NL_TRY(find_field(s, source, field->name, i, field_name, &place));
        const nl_expr *part = nl_expr_field(s->arena, value, place);
        args[2 * i] = nl_expr_literal(s->arena, &name);
        NL_TRY(store_value(s, part, field->type, field_name, &args[2 * i + 1]));
        is_same = is_same && place == i && args[2 * i + 1] == part && nl_str_equal(field->name, source->children[i].name);
    }
    *result = value;
    if (is_same) return NULL;
    if (source->child_count > target->child_count)
        return NL_RAISE(INCOMPATIBLE_DATA_FOR_TABLE__EXTRA_STRUCT_FIELDS, NL_P_STR("tableName", s->table_name), NL_P_STR("colName", path),
                        NL_P_STR("extraFields", field_names(s, source, target->child_count)));
    const nl_expr *made = NULL;
    NL_TRY(nl_call_function(&s->scope, NL_STR("named_struct"), args, 2 * target->child_count, &made));
    const nl_value null = nl_value_null(made->type);
    *result = value->is_nullable ? nl_expr_if(s->arena, nl_expr_is_null(s->arena, value, false), nl_expr_literal(s->arena, &null), made) : made;
    return NULL;
}

/* Arrays and maps keep their order: a cast does it, when every part may be stored. */
static nl_status check_parts(storing *s, const nl_type *source, const nl_type *target, nl_str path)
{
    static const char *const words[] = {"element", "key", "value"};
    for (uint32_t i = 0; i < target->child_count; i++) {
        const char *word = target->id == NL_TYPE_ARRAY ? words[0] : words[1 + i];
        const nl_type *from = source->children[i].type;
        const nl_type *to = target->children[i].type;
        const nl_str part = field_path(s, path, nl_str_from(word));
        if (from->id == NL_TYPE_NULL || can_store(s, from, to)) continue;
        if (from->id == to->id && (to->id == NL_TYPE_ARRAY || to->id == NL_TYPE_MAP)) {
            NL_TRY(check_parts(s, from, to, part));
            continue;
        }
        return raise_cast(s, part, from, to);
    }
    return NULL;
}

/* ---- arrays and maps by name: their structs are made anew by a lambda ---- */

static bool has_struct(const nl_type *type)
{
    if (type->id == NL_TYPE_STRUCT) return true;
    for (uint32_t i = 0; i < type->child_count; i++)
        if (has_struct(type->children[i].type)) return true;
    return false;
}

static const nl_expr *new_variable(storing *s, const nl_field *part)
{
    nl_expr *variable = NL_NEW(s->arena, nl_expr);
    *variable = *nl_expr_column(s->arena, nl_plan_new_id(s->scope.env->context), NL_STR("x"), part->type, part->is_nullable);
    variable->kind = NL_EXPR_PARAMETER;
    return variable;
}

/* function(collection, (variables) -> body); the body stores the variable `place` as the target's part. */
static nl_status store_each(storing *s, const char *function, uint32_t place, const nl_type *target, nl_str path, const nl_expr **collection)
{
    static const char *const map_words[] = {"key", "value"};
    const nl_type *source = (*collection)->type;
    const uint32_t count = source->child_count;
    nl_column_id *ids = NL_NEW_ARRAY(s->arena, nl_column_id, count);
    const nl_type **types = NL_NEW_ARRAY(s->arena, const nl_type *, count);
    const nl_expr *variables[2] = {NULL, NULL}, *body = NULL;
    for (uint32_t i = 0; i < count; i++) {
        variables[i] = new_variable(s, &source->children[i]);
        ids[i] = variables[i]->column;
        types[i] = source->children[i].type;
    }
    const nl_str part = field_path(s, path, nl_str_from(count == 1 ? "element" : map_words[place]));
    NL_TRY(store_value(s, variables[place], target->children[place].type, part, &body));
    if (body == variables[place]) return NULL;
    nl_expr *lambda = nl_expr_new(s->arena, NL_EXPR_LAMBDA, body->type, &body, 1);
    lambda->parameters = ids;
    lambda->parameter_types = types;
    lambda->parameter_count = count;
    const nl_expr *const args[] = {*collection, lambda};
    return nl_call_function(&s->scope, nl_str_from(function), args, NL_COUNT(args), collection);
}

static nl_status store_collection(storing *s, const nl_expr *value, const nl_type *target, nl_str path, const nl_expr **result)
{
    const bool is_map = target->id == NL_TYPE_MAP;
    if (!s->is_by_name || !has_struct(value->type)) {
        NL_TRY(check_parts(s, value->type, target, path));
    } else if (is_map) {
        if (has_struct(value->type->children[0].type)) NL_TRY(store_each(s, "transform_keys", 0, target, path, &value));
        NL_TRY(store_each(s, "transform_values", 1, target, path, &value));
    } else {
        NL_TRY(store_each(s, "transform", 0, target, path, &value));
    }
    *result = nl_expr_cast(s->arena, value, target, NL_CAST_STORE);
    return NULL;
}

static nl_status store_value(storing *s, const nl_expr *value, const nl_type *target, nl_str path, const nl_expr **result)
{
    const nl_type *source = value->type;
    if (source->id == NL_TYPE_STRUCT && target->id == NL_TYPE_STRUCT) return store_struct(s, value, target, path, result);
    const bool is_collection = source->id == target->id && (target->id == NL_TYPE_ARRAY || target->id == NL_TYPE_MAP);
    if (is_collection) return store_collection(s, value, target, path, result);
    if (source->id != NL_TYPE_NULL && !can_store(s, source, target))
        return raise_cast(s, path, source, target);
    *result = nl_expr_cast(s->arena, value, target, NL_CAST_STORE);
    return NULL;
}

/* ---- columns ---- */

static nl_str column_names(storing *s, const nl_logical *query)
{
    nl_str *names = NL_NEW_ARRAY(s->arena, nl_str, query->column_count + 1);
    for (uint32_t i = 0; i < query->column_count; i++) names[i] = nl_quote_name(s->arena, query->columns[i].name);
    return nl_join_texts(s->arena, names, query->column_count, ", ");
}

static nl_status check_count(storing *s, const nl_logical *query, const nl_type *row_type)
{
    const nl_str table_columns = field_names(s, row_type, 0);
    if (query->column_count > row_type->child_count)
        return NL_RAISE(INSERT_COLUMN_ARITY_MISMATCH__TOO_MANY_DATA_COLUMNS, NL_P_STR("tableName", s->table_name),
                        NL_P_STR("tableColumns", table_columns), NL_P_STR("dataColumns", column_names(s, query)));
    if (query->column_count < row_type->child_count && !s->is_by_name)
        return NL_RAISE(INSERT_COLUMN_ARITY_MISMATCH__NOT_ENOUGH_DATA_COLUMNS, NL_P_STR("tableName", s->table_name),
                        NL_P_STR("tableColumns", table_columns), NL_P_STR("dataColumns", column_names(s, query)));
    return NULL;
}

static nl_status find_column(storing *s, const nl_logical *query, nl_str name, uint32_t position, uint32_t *found)
{
    *found = position;
    if (!s->is_by_name) return NULL;
    const nl_str quoted = nl_quote_name(s->arena, name);
    uint32_t count = 0;
    for (uint32_t i = 0; i < query->column_count; i++) {
        if (!nl_names_equal(&s->scope, query->columns[i].name, name)) continue;
        *found = i;
        count++;
    }
    if (count == 1) return NULL;
    if (count == 0 && s->scope.env->context->confs->is_trino) { /* what an INSERT leaves out is NULL there */
        *found = UINT32_MAX;
        return NULL;
    }
    if (count > 1)
        return NL_RAISE(INCOMPATIBLE_DATA_FOR_TABLE__AMBIGUOUS_COLUMN_NAME, NL_P_STR("tableName", s->table_name), NL_P_STR("colName", quoted));
    return NL_RAISE(INCOMPATIBLE_DATA_FOR_TABLE__CANNOT_FIND_DATA, NL_P_STR("tableName", s->table_name), NL_P_STR("colName", quoted));
}

nl_status nl_plan_check_store(nl_plan_context *context, bool is_plain)
{
    const nl_env env = {.context = context, .text = context->text};
    if (!nl_env_is_set(&env, "spark.sql.storeAssignmentPolicy", "LEGACY")) return NULL;
    if (is_plain) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "spark.sql.storeAssignmentPolicy=LEGACY is not supported for tables over plain files; ANSI and STRICT are.");
    return NL_RAISE(_LEGACY_ERROR_TEMP_1000, NL_P("configKey", "spark.sql.storeAssignmentPolicy"));
}

nl_status nl_plan_store(nl_plan_context *context, const nl_logical *query, const nl_type *row_type, nl_str table_name, bool is_by_name,
                        const nl_logical **plan)
{
    nl_arena *arena = context->arena;
    nl_env env = {.context = context, .text = context->text};
    storing s = {.arena = arena, .table_name = table_name, .is_by_name = is_by_name};
    s.is_strict = nl_env_is_set(&env, "spark.sql.storeAssignmentPolicy", "STRICT");
    s.scope = (nl_scope){.env = &env, .clause = NL_CLAUSE_OTHER};
    NL_TRY(check_count(&s, query, row_type));
    const uint32_t count = row_type->child_count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const nl_field *field = &row_type->children[i];
        uint32_t place = i;
        NL_TRY(find_column(&s, query, field->name, i, &place));
        const nl_value none = nl_value_null(field->type);
        const nl_expr *value = place == UINT32_MAX ? nl_expr_literal(arena, &none) : nl_column_ref(arena, &query->columns[place]);
        NL_TRY(store_value(&s, value, field->type, nl_quote_name(arena, field->name), &exprs[i]));
        const bool is_same = exprs[i] == value && place != UINT32_MAX;
        columns[i] = (nl_column){.id = is_same ? value->column : nl_plan_new_id(context),
                                 .name = field->name,
                                 .type = exprs[i]->type,
                                 .is_nullable = exprs[i]->is_nullable,
                                 .comment = field->comment};
    }
    *plan = nl_logical_project(arena, query, columns, exprs, count);
    return nl_arena_check(arena);
}
