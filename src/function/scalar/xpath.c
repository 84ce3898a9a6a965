/* scalar/xpath.c - xpath and its typed forms: what an XPath expression finds in an XML text. */
#include <math.h>

#include "function/groups.h"
#include "function/xpath.h"

static nl_status bind_xpath(nl_bind *bind, nl_bound_function *bound)
{
    for (uint32_t i = 0; i < 2; i++) NL_TRY(nl_bind_only_string(bind, i));
    const nl_value *path = bind->constants ? bind->constants[1] : NULL;
    if (path == NULL) return nl_bind_not_foldable(bind, 1, "`path`");
    bound->is_nullable = true;
    if (path->is_null || path->text.length == 0) return NULL;
    const nl_xpath *expression = nl_xpath_compile(bind->arena, path->text);
    if (expression == NULL) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid XPath '" NL_STR_FMT "'", NL_STR_ARG(path->text));
    bound->state = expression;
    return NULL;
}

typedef struct xpath_call {
    const nl_bound_function *function;
    nl_arena *arena; /* of one row */
    nl_reader texts;
} xpath_call;

/* *is_found false: the row is null. */
static nl_status find(xpath_call *call, nl_memory *memory, uint32_t row, nl_xpath_value *value, bool *is_found)
{
    const nl_str text = nl_reader_str(&call->texts, row);
    *is_found = call->function->state != NULL && text.length > 0;
    if (!*is_found) return NULL;
    nl_arena_free(call->arena);
    call->arena = nl_arena_new(memory);
    const nl_xml_node *document = nl_xml_read(call->arena, text, false);
    NL_TRY(nl_arena_check(call->arena));
    if (document == NULL) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid XML document: " NL_STR_FMT, NL_STR_ARG(text));
    *value = nl_xpath_evaluate(call->arena, call->function->state, document);
    return nl_arena_check(call->arena);
}

static nl_status append_nodes(const xpath_call *call, const nl_xpath_value *value, nl_column_builder *builder)
{
    nl_column_builder *texts = nl_column_builder_child(builder, 0);
    if (value->kind != NL_XPATH_NODES)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The XPath expression of xpath() must find nodes; xpath_string() and its kin take others.");
    (void)call;
    for (uint32_t i = 0; i < value->nodes.count; i++) {
        const nl_xml_node *node = value->nodes.items[i];
        const bool has_text = node->kind != NL_XML_ELEMENT && node->kind != NL_XML_DOCUMENT;
        NL_TRY(has_text ? nl_column_builder_str(texts, node->text) : nl_column_builder_null(texts));
    }
    return nl_column_builder_end_list(builder, value->nodes.count);
}

/* Java's narrowing of a double. */
static int64_t to_long(double number, int64_t min, int64_t max)
{
    if (isnan(number)) return 0;
    if (number <= (double)min) return min;
    return number >= (double)max ? max : (int64_t)number;
}

static nl_status append_value(xpath_call *call, const nl_xpath_value *value, nl_column_builder *builder)
{
    const nl_type_id id = call->function->result_type->id;
    if (id == NL_TYPE_ARRAY) return append_nodes(call, value, builder);
    if (id == NL_TYPE_STRING) return nl_column_builder_str(builder, nl_xpath_text(call->arena, value));
    if (id == NL_TYPE_BOOLEAN) return nl_column_builder_i64(builder, nl_xpath_boolean(value));
    const double number = nl_xpath_number(call->arena, value);
    if (id == NL_TYPE_DOUBLE) return nl_column_builder_f64(builder, number);
    if (id == NL_TYPE_FLOAT) return nl_column_builder_f64(builder, (double)(float)number);
    if (id == NL_TYPE_BIGINT) return nl_column_builder_i64(builder, to_long(number, INT64_MIN, INT64_MAX));
    const int64_t integer = to_long(number, INT32_MIN, INT32_MAX);
    return nl_column_builder_i64(builder, id == NL_TYPE_SMALLINT ? (int16_t)integer : integer);
}

static nl_status xpath_kernel(NL_KERNEL_PARAMETERS)
{
    xpath_call call = {.function = function};
    nl_column_builder *builder = NULL;
    nl_status status = NULL;
    NL_TRY(nl_column_builder_new(function->result_type, eval->memory, &builder));
    nl_reader_init(&call.texts, &args[0]);
    for (uint32_t row = 0, next = 0; row < length; row++) {
        nl_xpath_value value = {0};
        bool is_found = false;
        const bool is_selected = next < selection.count && nl_selection_row(selection, next) == row;
        next += is_selected;
        if (is_selected) NL_GO(find(&call, eval->memory, row, &value, &is_found));
        NL_GO(is_found ? append_value(&call, &value, builder) : nl_column_builder_null(builder));
    }
    status = nl_column_builder_finish(builder, out);
done:
    nl_arena_free(call.arena);
    nl_column_builder_free(builder);
    return status;
}

#define ROW .kind = NL_FUNCTION_SCALAR, .group = "xml", .nulls = NL_NULL_IN_NULL_OUT, .can_fail = true, .bind = bind_xpath, .kernel = xpath_kernel, .since = "2.0.0"

static const nl_function_row rows[] = {
    {.name = "xpath", ROW, .signature = "(any, any) -> array<string>", .doc = "The texts of the nodes that an XPath expression finds.",
     .examples = {{"xpath('<a><b>b1</b><b>b2</b><b>b3</b><c>c1</c><c>c2</c></a>', 'a/b/text()')", "[\"b1\",\"b2\",\"b3\"]"}}},
    {.name = "xpath_boolean", ROW, .signature = "(any, any) -> boolean", .doc = "Whether an XPath expression is true, or finds a node.",
     .examples = {{"xpath_boolean('<a><b>1</b></a>', 'a/b')", "true"}}},
    {.name = "xpath_double", .aliases = "xpath_number", ROW, .signature = "(any, any) -> double", .doc = "The number an XPath expression gives; NaN when it is none.",
     .examples = {{"xpath_double('<a><b>1</b><b>2</b></a>', 'sum(a/b)')", "3.0"}}},
    {.name = "xpath_float", ROW, .signature = "(any, any) -> float", .doc = "The number an XPath expression gives, as FLOAT.",
     .examples = {{"xpath_float('<a><b>1</b><b>2</b></a>', 'sum(a/b)')", "3.0"}}},
    {.name = "xpath_int", ROW, .signature = "(any, any) -> int", .doc = "The whole number an XPath expression gives; 0 when it is none.",
     .examples = {{"xpath_int('<a><b>1</b><b>2</b></a>', 'sum(a/b)')", "3"}}},
    {.name = "xpath_long", ROW, .signature = "(any, any) -> bigint", .doc = "The whole number an XPath expression gives, as BIGINT.",
     .examples = {{"xpath_long('<a><b>1</b><b>2</b></a>', 'sum(a/b)')", "3"}}},
    {.name = "xpath_short", ROW, .signature = "(any, any) -> smallint", .doc = "The whole number an XPath expression gives, as SMALLINT.",
     .examples = {{"xpath_short('<a><b>1</b><b>2</b></a>', 'sum(a/b)')", "3"}}},
    {.name = "xpath_string", ROW, .signature = "(any, any) -> string", .doc = "The text an XPath expression gives: of the first node it finds.",
     .examples = {{"xpath_string('<a><b>b</b><c>cc</c></a>', 'a/c')", "cc"}}},
};

NL_DEFINE_FUNCTION_GROUP(xpath, rows);
