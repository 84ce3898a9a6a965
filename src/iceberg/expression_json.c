/* iceberg/expression_json.c - predicates in the REST catalog's JSON form (Java's ExpressionParser), for scan reports and
 * for planning by a server. */
#include "base/json.h"
#include "iceberg/expression.h"

#define CHILDREN_MAX 500 /* a longer chain would nest too deep for readers: it is told as "true" */

static const char *const names[] = {
    [NL_PREDICATE_AND] = "and",           [NL_PREDICATE_OR] = "or",           [NL_PREDICATE_NOT] = "not",
    [NL_PREDICATE_IS_NULL] = "is-null",   [NL_PREDICATE_NOT_NULL] = "not-null", [NL_PREDICATE_IS_NAN] = "is-nan",
    [NL_PREDICATE_NOT_NAN] = "not-nan",   [NL_PREDICATE_LT] = "lt",           [NL_PREDICATE_LTE] = "lt-eq",
    [NL_PREDICATE_GT] = "gt",             [NL_PREDICATE_GTE] = "gt-eq",       [NL_PREDICATE_EQ] = "eq",
    [NL_PREDICATE_NEQ] = "not-eq",        [NL_PREDICATE_IN] = "in",           [NL_PREDICATE_NOT_IN] = "not-in",
    [NL_PREDICATE_STARTS_WITH] = "starts-with", [NL_PREDICATE_NOT_STARTS_WITH] = "not-starts-with"};

static void append_term(nl_json_writer *out, const nl_predicate *leaf, const nl_schema_column *column)
{
    nl_json_key(out, "term");
    if (leaf->transform.kind == NL_TRANSFORM_IDENTITY) {
        nl_json_write_text(out, column->full_name);
        return;
    }
    nl_arena *arena = nl_arena_new(NULL);
    nl_json_begin(out, '{');
    nl_json_key(out, "type");
    nl_json_write_text(out, NL_STR("transform"));
    nl_json_key(out, "transform");
    nl_json_write_text(out, nl_transform_name(arena, &leaf->transform));
    nl_json_key(out, "term");
    nl_json_write_text(out, column->full_name);
    nl_json_end(out, '}');
    nl_arena_free(arena);
}

static void append_values(nl_json_writer *out, const nl_predicate *leaf, const nl_ice_type *type)
{
    const bool is_set = leaf->kind == NL_PREDICATE_IN || leaf->kind == NL_PREDICATE_NOT_IN;
    if (!leaf->value_count) return;
    nl_json_key(out, is_set ? "values" : "value");
    if (is_set) nl_json_begin(out, '[');
    for (uint32_t i = 0; i < (is_set ? leaf->value_count : 1); i++) {
        nl_json_before_value(out);
        nl_single_value_append_json(type, &leaf->values[i], out->out);
        nl_json_after_value(out);
    }
    if (is_set) nl_json_end(out, ']');
}

static void append_leaf(nl_json_writer *out, const nl_predicate *leaf, const nl_schema *schema)
{
    const nl_schema_column *column = nl_schema_find_id(schema, leaf->field_id);
    if (!column || nl_ice_type_is_nested(column->field->type)) { /* a column that is gone: nothing is known of it */
        nl_json_write_bool(out, true);
        return;
    }
    const nl_ice_type *type = leaf->transform.kind == NL_TRANSFORM_IDENTITY ? column->field->type : nl_transform_result_type(&leaf->transform, column->field->type);
    nl_json_begin(out, '{');
    nl_json_key(out, "type");
    nl_json_write_text(out, nl_str_from(names[leaf->kind]));
    append_term(out, leaf, column);
    append_values(out, leaf, type);
    nl_json_end(out, '}');
}

/* Lists of children become a chain of pairs, as Java has them. The depth is that of SQL's own limit on expressions. */
static void append(nl_json_writer *out, const nl_predicate *predicate, const nl_schema *schema, uint32_t from)
{
    if (predicate->kind == NL_PREDICATE_TRUE || predicate->kind == NL_PREDICATE_FALSE || predicate->child_count > CHILDREN_MAX) {
        nl_json_write_bool(out, predicate->kind != NL_PREDICATE_FALSE);
    } else if (predicate->child_count == 0) {
        append_leaf(out, predicate, schema);
    } else if (predicate->kind == NL_PREDICATE_NOT) {
        nl_json_begin(out, '{');
        nl_json_key(out, "type");
        nl_json_write_text(out, NL_STR("not"));
        nl_json_key(out, "child");
        append(out, predicate->children[0], schema, 0);
        nl_json_end(out, '}');
    } else if (from + 1 == predicate->child_count) {
        append(out, predicate->children[from], schema, 0);
    } else {
        nl_json_begin(out, '{');
        nl_json_key(out, "type");
        nl_json_write_text(out, nl_str_from(names[predicate->kind]));
        nl_json_key(out, "left");
        append(out, predicate->children[from], schema, 0);
        nl_json_key(out, "right");
        append(out, predicate, schema, from + 1);
        nl_json_end(out, '}');
    }
}

void nl_predicate_append_json(const nl_predicate *predicate, const nl_schema *schema, nl_builder *out)
{
    nl_json_writer writer = {.out = out};
    append(&writer, predicate ? predicate : nl_predicate_true(), schema, 0);
}
