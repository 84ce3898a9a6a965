/* sql/parse_table_parts.c - the parts of CREATE TABLE: column definitions, partitioning, buckets, row and file formats,
 * and the clauses that may come in any order. */
#include "sql/parse.h"

#include "base/number.h"

/* ---- column definitions --------------------------------------------------------------------------------------------------- */

static nl_status refuse_duplicate_option(nl_parser *p, uint32_t first, const nl_ast_column_definition *column, const char *option)
{
    return NL_REFUSE(p, nl_parser_range(p, first), CREATE_TABLE_COLUMN_DESCRIPTOR_DUPLICATE,
                     NL_P_STR("columnName", column->name.text), NL_P("optionName", option));
}

/* START WITH n and INCREMENT BY n inside AS IDENTITY (…), each at most once. */
static nl_status parse_sequence_option(nl_parser *p, uint32_t first, nl_ast_column_definition *column)
{
    bool is_start = nl_parser_take(p, NL_T_START);
    if (!is_start && !nl_parser_take(p, NL_T_INCREMENT)) return nl_parser_syntax_error(p);
    NL_TRY(nl_parser_expect(p, is_start ? NL_T_WITH : NL_T_BY));
    bool is_negative = nl_parser_take(p, NL_T_MINUS_SIGN);
    nl_token_kind kind = nl_parser_kind(p);
    if (kind != NL_T_INTEGER_VALUE && kind != NL_T_BIGINT_LITERAL) return nl_parser_syntax_error(p);
    nl_str digits = nl_parser_token_text(p, p->at++);
    if (kind == NL_T_BIGINT_LITERAL) digits.length--;
    int64_t value = 0;
    nl_str text = is_negative ? nl_arena_f(p->arena, "-" NL_STR_FMT, NL_STR_ARG(digits)) : digits;
    if (!nl_parse_int64(text, &value))
        return nl_parser_refuse(
            p, NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "For input string: \"" NL_STR_FMT "\"", NL_STR_ARG(text)), NL_NO_PLACE);
    bool *is_there = is_start ? &column->has_start : &column->has_step;
    bool is_again = *is_there;
    *is_there = true;
    if (is_start)
        column->start = value;
    else
        column->step = value;
    nl_ast_range range = nl_parser_range(p, first);
    if (nl_parser_ahead(p, 0) == NL_T_RIGHT_PAREN) range.stop = p->tokens[p->at].stop;
    if (is_again)
        return NL_REFUSE(p, range, IDENTITY_COLUMNS_DUPLICATED_SEQUENCE_GENERATOR_OPTION,
                         NL_P("sequenceGeneratorOption", is_start ? "START" : "STEP"));
    if (!is_start && value == 0) return NL_REFUSE(p, range, IDENTITY_COLUMNS_ILLEGAL_STEP);
    return NULL;
}

/* The class Spark names a type by in this one message. */
static const char *scala_type_name(nl_type_id id)
{
    switch ((int)id) {
    case NL_TYPE_BOOLEAN: return "BooleanType";
    case NL_TYPE_TINYINT: return "ByteType";
    case NL_TYPE_SMALLINT: return "ShortType";
    case NL_TYPE_FLOAT: return "FloatType";
    case NL_TYPE_DOUBLE: return "DoubleType";
    case NL_TYPE_DECIMAL: return "DecimalType";
    case NL_TYPE_STRING: return "StringType";
    case NL_TYPE_BINARY: return "BinaryType";
    case NL_TYPE_DATE: return "DateType";
    case NL_TYPE_TIMESTAMP: return "TimestampType";
    case NL_TYPE_TIMESTAMP_NTZ: return "TimestampNTZType";
    default: return "DataType";
    }
}

static nl_status check_identity_type(nl_parser *p, uint32_t first, const nl_ast_column_definition *column)
{
    const nl_type *type = NULL;
    nl_status status = nl_ast_type_to_type(p->arena, column->type, &type);
    nl_error_free(status);
    bool is_allowed = status || type->id == NL_TYPE_INT || type->id == NL_TYPE_BIGINT;
    if (is_allowed) return NULL;
    return NL_REFUSE(p, nl_parser_range(p, first), IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE,
                     NL_P("dataType", scala_type_name(type->id)));
}

/* GENERATED ALWAYS AS (e), or GENERATED {ALWAYS | BY DEFAULT} AS IDENTITY [(…)]; at GENERATED. */
static nl_status parse_generated(nl_parser *p, uint32_t first, nl_ast_column_definition *column)
{
    p->at++;
    column->is_identity_always = nl_parser_take(p, NL_T_ALWAYS);
    if (!column->is_identity_always && !nl_parser_take_both(p, NL_T_BY, NL_T_DEFAULT)) return nl_parser_syntax_error(p);
    NL_TRY(nl_parser_expect(p, NL_T_AS));
    if (nl_parser_is(p, NL_T_LEFT_PAREN) && column->is_identity_always) {
        uint32_t expr_first = ++p->at;
        NL_TRY(nl_parse_expression(p, &column->generated));
        column->generated_text = nl_parser_text_between(p, expr_first, p->at);
        return nl_parser_expect(p, NL_T_RIGHT_PAREN);
    }
    NL_TRY(nl_parser_expect(p, NL_T_IDENTITY));
    column->is_identity = true;
    if (nl_parser_take(p, NL_T_LEFT_PAREN)) {
        while (!nl_parser_is(p, NL_T_RIGHT_PAREN)) NL_TRY(parse_sequence_option(p, first, column));
        p->at++;
    }
    return check_identity_type(p, first, column);
}

static nl_status parse_column_option(nl_parser *p, uint32_t first, nl_ast_column_definition *column, bool *is_there)
{
    nl_token_kind kind = nl_parser_kind(p);
    *is_there = true;
    if (kind == NL_T_NOT || kind == NL_T_BANG) {
        bool is_again = column->is_not_null;
        NL_TRY(nl_parse_not(p));
        NL_TRY(nl_parser_expect(p, NL_T_NULL));
        column->is_not_null = true;
        return is_again ? refuse_duplicate_option(p, first, column, "NOT NULL") : NULL;
    }
    if (kind == NL_T_DEFAULT) {
        bool is_again = column->default_value != NULL;
        uint32_t expr_first = ++p->at;
        NL_TRY(nl_parse_expression(p, &column->default_value));
        column->default_text = nl_parser_text_between(p, expr_first, p->at);
        return is_again ? refuse_duplicate_option(p, first, column, "DEFAULT") : NULL;
    }
    if (kind == NL_T_GENERATED) {
        bool is_again = column->generated || column->is_identity;
        NL_TRY(parse_generated(p, first, column));
        return is_again ? refuse_duplicate_option(p, first, column, "GENERATED ALWAYS AS") : NULL;
    }
    if (kind == NL_T_COMMENT) {
        bool is_again = column->has_comment;
        NL_TRY(nl_parse_comment_clause(p, &column->has_comment, &column->comment));
        return is_again ? refuse_duplicate_option(p, first, column, "COMMENT") : NULL;
    }
    *is_there = false;
    return NULL;
}

static nl_status parse_column_definition(nl_parser *p, nl_ast_column_definition *column)
{
    uint32_t first = p->at;
    NL_TRY(nl_parse_name_part(p, &column->name));
    NL_TRY(nl_parse_type(p, &column->type));
    column->start = 1;
    column->step = 1;
    bool is_there = true;
    while (is_there) NL_TRY(parse_column_option(p, first, column, &is_there));
    column->range = nl_parser_range(p, first);
    return NULL;
}

nl_status nl_parse_column_definitions(nl_parser *p, nl_ast_column_definitions *columns)
{
    nl_list list = {0};
    do {
        nl_ast_column_definition *column = NL_NEW(p->arena, nl_ast_column_definition);
        NL_TRY(parse_column_definition(p, column));
        nl_list_add(p->arena, &list, column);
    } while (nl_parser_take(p, NL_T_COMMA));
    *columns = (nl_ast_column_definitions){NL_FLATTEN(p, &list, nl_ast_column_definition), list.count};
    return NULL;
}

/* ---- partitioning ----------------------------------------------------------------------------------------------------------- */

static nl_status parse_transform_argument(nl_parser *p, nl_ast_transform_argument *argument)
{
    if (nl_parser_starts_constant(p)) return nl_parse_constant(p, &argument->constant);
    return nl_parse_qualified_name(p, &argument->column);
}

static nl_status parse_transform(nl_parser *p, nl_ast_partition_field *field)
{
    NL_TRY(nl_parse_identifier(p, &field->transform));
    p->at++;
    nl_list list = {0};
    do {
        nl_ast_transform_argument *argument = NL_NEW(p->arena, nl_ast_transform_argument);
        NL_TRY(parse_transform_argument(p, argument));
        nl_list_add(p->arena, &list, argument);
    } while (nl_parser_take(p, NL_T_COMMA));
    field->arguments = NL_FLATTEN(p, &list, nl_ast_transform_argument);
    field->argument_count = list.count;
    return nl_parser_expect(p, NL_T_RIGHT_PAREN);
}

/* What a transform's argument is called in messages: a name with the quotes it needs, a constant as written. */
static nl_str describe_argument(nl_parser *p, const nl_ast_transform_argument *argument)
{
    if (argument->constant) return nl_str_slice(p->text, argument->constant->range.start, argument->constant->range.stop);
    nl_builder text;
    nl_builder_init(&text, NL_SQL_TEXT_BYTES_MAX);
    for (uint32_t i = 0; i < argument->column.count; i++) {
        nl_str part = argument->column.parts[i].text;
        bool is_plain = part.length > 0;
        bool are_digits = true;
        for (size_t j = 0; j < part.length; j++) {
            char c = part.data[j];
            bool is_digit = c >= '0' && c <= '9';
            is_plain &= is_digit || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
            are_digits &= is_digit;
        }
        const char *quote = is_plain && !are_digits ? "" : "`";
        nl_append_f(&text, "%s%s" NL_STR_FMT "%s", i ? "." : "", quote, NL_STR_ARG(part), quote);
    }
    nl_str copy = nl_arena_str(p->arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return copy;
}

static bool is_integer(const nl_ast_expr *constant)
{
    if (!constant || constant->kind != NL_AST_EXPR_LITERAL) return false;
    nl_ast_literal_kind kind = constant->literal.kind;
    return kind == NL_AST_LITERAL_SMALLINT || kind == NL_AST_LITERAL_INT || kind == NL_AST_LITERAL_BIGINT;
}

/* bucket(number, columns), years(column) and its kin; what other transforms take is not known here. */
static nl_status check_transform(nl_parser *p, const nl_ast_partition_field *field)
{
    static const char *const of_one_column[] = {"years", "months", "days", "hours"};
    nl_str name = field->transform.text;
    bool is_bucket = nl_str_is(name, "bucket");
    bool is_of_one_column = false;
    for (size_t i = 0; i < NL_COUNT(of_one_column); i++) is_of_one_column |= nl_str_is(name, of_one_column[i]);
    if (!is_bucket && !is_of_one_column) return NULL;
    const nl_ast_transform_argument *arguments = field->arguments;
    nl_str shown = nl_arena_f(p->arena, "`" NL_STR_FMT "`", NL_STR_ARG(name));
    if (is_bucket && !is_integer(arguments[0].constant))
        return NL_REFUSE(p, field->range, _LEGACY_ERROR_TEMP_0031, NL_P_STR("describe", describe_argument(p, &arguments[0])));
    if (is_of_one_column && field->argument_count > 1)
        return NL_REFUSE(p, field->range, INVALID_SQL_SYNTAX__TRANSFORM_WRONG_NUM_ARGS, NL_P_STR("transform", shown),
                         NL_P("expectedNum", "1"),
                         NL_P_STR("actualNum", nl_arena_f(p->arena, "%u", field->argument_count)));
    for (uint32_t i = is_bucket; i < field->argument_count; i++) {
        if (!arguments[i].constant) continue;
        return NL_REFUSE(p, field->range, INVALID_SQL_SYNTAX__INVALID_COLUMN_REFERENCE, NL_P_STR("transform", shown),
                         NL_P_STR("expr", describe_argument(p, &arguments[i])));
    }
    return NULL;
}

/* A column, a transform of one, or (where a table is created) a new column with its type. */
nl_status nl_parse_partition_field(nl_parser *p, bool may_be_column, nl_ast_partition_field *field)
{
    uint32_t first = p->at;
    nl_token_kind next = nl_parser_ahead(p, 1);
    if (nl_parser_is_identifier_at(p, p->at) && next == NL_T_LEFT_PAREN) {
        NL_TRY(parse_transform(p, field));
    } else if (may_be_column && next != NL_T_DOT && nl_parser_is_identifier_at(p, p->at + 1)) {
        field->new_column = NL_NEW(p->arena, nl_ast_field);
        NL_TRY(nl_parse_field(p, field->new_column));
    } else {
        NL_TRY(nl_parse_qualified_name(p, &field->column));
    }
    field->range = nl_parser_range(p, first);
    return NULL;
}

static nl_status parse_partition_fields(nl_parser *p, nl_ast_partition_fields *fields)
{
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    nl_list list = {0};
    do {
        nl_ast_partition_field *field = NL_NEW(p->arena, nl_ast_partition_field);
        NL_TRY(nl_parse_partition_field(p, true, field));
        NL_TRY(check_transform(p, field));
        nl_list_add(p->arena, &list, field);
    } while (nl_parser_take(p, NL_T_COMMA));
    *fields = (nl_ast_partition_fields){NL_FLATTEN(p, &list, nl_ast_partition_field), list.count};
    return nl_parser_expect(p, NL_T_RIGHT_PAREN);
}

/* ---- buckets and formats ------------------------------------------------------------------------------------------------------ */

static nl_status parse_bucket_order(nl_parser *p, nl_ast_sort_item *item, nl_str *descending)
{
    nl_ast_ident name;
    uint32_t name_first = p->at;
    NL_TRY(nl_parse_name_part(p, &name));
    item->expr = nl_parser_new_expr(p, NL_AST_EXPR_COLUMN, name_first);
    nl_ast_ident *part = NL_NEW(p->arena, nl_ast_ident);
    *part = name;
    item->expr->column = (nl_ast_name){.parts = part, .count = 1, .range = name.range};
    item->is_nulls_first = true;
    if (nl_parser_take(p, NL_T_ASC)) item->has_direction = true;
    if (!nl_parser_is(p, NL_T_DESC)) return NULL;
    nl_str word = nl_parser_token_text(p, p->at++);
    item->is_descending = true;
    item->has_direction = true;
    *descending = word;
    return NULL;
}

nl_status nl_parse_bucket_spec(nl_parser *p, nl_ast_bucket_spec **bucket)
{
    uint32_t first = p->at++;
    nl_ast_bucket_spec *node = NL_NEW(p->arena, nl_ast_bucket_spec);
    nl_str descending = {0};
    *bucket = node;
    NL_TRY(nl_parser_expect(p, NL_T_BY));
    NL_TRY(nl_parse_identifier_list(p, &node->columns));
    if (nl_parser_take_both(p, NL_T_SORTED, NL_T_BY)) {
        NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
        nl_list list = {0};
        do {
            nl_ast_sort_item *item = NL_NEW(p->arena, nl_ast_sort_item);
            NL_TRY(parse_bucket_order(p, item, &descending));
            nl_list_add(p->arena, &list, item);
        } while (nl_parser_take(p, NL_T_COMMA));
        node->sorted_by = (nl_ast_sort_items){NL_FLATTEN(p, &list, nl_ast_sort_item), list.count};
        NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    }
    NL_TRY(nl_parser_expect(p, NL_T_INTO));
    if (!nl_parser_is(p, NL_T_INTEGER_VALUE)) return nl_parser_syntax_error(p);
    nl_str digits = nl_parser_token_text(p, p->at++);
    NL_TRY(nl_parser_expect(p, NL_T_BUCKETS));
    node->range = nl_parser_range(p, first);
    if (descending.data) {
        nl_str message = nl_arena_f(p->arena, "Column ordering must be ASC, was '" NL_STR_FMT "'", NL_STR_ARG(descending));
        NL_TRY(nl_parser_not_allowed(p, node->range, nl_str_c(p->arena, message)));
    }
    int64_t count = 0;
    if (!nl_parse_int64(digits, &count) || count > INT32_MAX)
        return nl_parser_refuse(
            p, NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "For input string: \"" NL_STR_FMT "\"", NL_STR_ARG(digits)),
            NL_NO_PLACE);
    node->count = (int32_t)count;
    if (count > 0 && count <= 100000) return NULL;
    return NL_REFUSE(p, NL_TEXT_ONLY, _LEGACY_ERROR_TEMP_1083, NL_P("bucketingMaxBuckets", "100000"),
                     NL_P_INT("numBuckets", count));
}

/* `TERMINATED BY 's'` and the like behind two words. */
static nl_status parse_delimiter(nl_parser *p, nl_token_kind first, nl_token_kind second, nl_token_kind third, nl_str *text)
{
    if (!nl_parser_take(p, first)) return NULL;
    NL_TRY(nl_parser_expect(p, second));
    if (third != NL_T_EOF) NL_TRY(nl_parser_expect(p, third));
    if (third != NL_T_AS && third != NL_T_BY) NL_TRY(nl_parser_expect(p, NL_T_BY));
    return nl_parse_string(p, text);
}

static nl_status parse_delimited(nl_parser *p, nl_ast_row_format *format)
{
    NL_TRY(parse_delimiter(p, NL_T_FIELDS, NL_T_TERMINATED, NL_T_BY, &format->fields_terminated));
    if (format->fields_terminated.data && nl_parser_take_both(p, NL_T_ESCAPED, NL_T_BY))
        NL_TRY(nl_parse_string(p, &format->fields_escaped));
    NL_TRY(parse_delimiter(p, NL_T_COLLECTION, NL_T_ITEMS, NL_T_TERMINATED, &format->items_terminated));
    NL_TRY(parse_delimiter(p, NL_T_MAP, NL_T_KEYS, NL_T_TERMINATED, &format->keys_terminated));
    NL_TRY(parse_delimiter(p, NL_T_LINES, NL_T_TERMINATED, NL_T_BY, &format->lines_terminated));
    return parse_delimiter(p, NL_T_NULL, NL_T_DEFINED, NL_T_AS, &format->null_defined);
}

nl_status nl_parse_row_format(nl_parser *p, nl_ast_row_format **format)
{
    uint32_t first = p->at;
    nl_ast_row_format *node = NL_NEW(p->arena, nl_ast_row_format);
    *format = node;
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_FORMAT));
    if (nl_parser_take(p, NL_T_SERDE)) {
        node->is_serde = true;
        NL_TRY(nl_parse_string(p, &node->serde));
        if (nl_parser_take_both(p, NL_T_WITH, NL_T_SERDEPROPERTIES))
            NL_TRY(nl_parse_properties(p, false, &node->properties));
        node->range = nl_parser_range(p, first);
        return NULL;
    }
    NL_TRY(nl_parser_expect(p, NL_T_DELIMITED));
    NL_TRY(parse_delimited(p, node));
    node->range = nl_parser_range(p, first);
    bool is_newline = !node->lines_terminated.data || nl_str_is(node->lines_terminated, "\n");
    if (is_newline) return NULL;
    nl_str message = nl_arena_f(p->arena, "LINES TERMINATED BY only supports newline '\\n' right now: " NL_STR_FMT,
                                NL_STR_ARG(node->lines_terminated));
    return NL_REFUSE(p, node->range, _LEGACY_ERROR_TEMP_0064, NL_P_STR("msg", message));
}

nl_status nl_parse_file_format(nl_parser *p, nl_ast_file_format **format)
{
    uint32_t first = p->at++;
    nl_ast_file_format *node = NL_NEW(p->arena, nl_ast_file_format);
    *format = node;
    if (nl_parser_take(p, NL_T_BY)) {
        NL_TRY(nl_parse_string(p, &node->handler));
        if (nl_parser_take_both(p, NL_T_WITH, NL_T_SERDEPROPERTIES))
            NL_TRY(nl_parse_properties(p, false, &node->handler_properties));
        node->range = nl_parser_range(p, first);
        return nl_parser_invalid_clause(p, node->range, "STORED BY");
    }
    NL_TRY(nl_parser_expect(p, NL_T_AS));
    if (nl_parser_is(p, NL_T_INPUTFORMAT) && nl_parser_is_string_at(p, p->at + 1)) {
        p->at++;
        NL_TRY(nl_parse_string(p, &node->input_format));
        NL_TRY(nl_parser_expect(p, NL_T_OUTPUTFORMAT));
        NL_TRY(nl_parse_string(p, &node->output_format));
    } else {
        NL_TRY(nl_parse_identifier(p, &node->name));
    }
    node->range = nl_parser_range(p, first);
    return NULL;
}

/* ---- clauses in any order -------------------------------------------------------------------------------------------------------- */

static nl_status parse_cluster_by(nl_parser *p, nl_ast_table_clauses *clauses)
{
    bool is_again = clauses->has_cluster_by;
    clauses->has_cluster_by = true;
    p->at += 2;
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    NL_TRY(nl_parse_names(p, &clauses->cluster_by));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    return is_again ? nl_parser_duplicate_clause(p, "CLUSTER BY") : NULL;
}

/* SKEWED BY (…) ON (…) [STORED AS DIRECTORIES], which no table can have. */
static nl_status parse_skewed(nl_parser *p)
{
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_BY));
    nl_ast_idents ignored;
    NL_TRY(nl_parse_identifier_list(p, &ignored));
    NL_TRY(nl_parser_expect(p, NL_T_ON));
    uint32_t end = nl_parser_is(p, NL_T_LEFT_PAREN) ? nl_parser_skip_parentheses(p, p->at) : 0;
    if (end == 0) return nl_parser_syntax_error(p);
    p->at = end;
    if (nl_parser_take_both(p, NL_T_STORED, NL_T_AS)) NL_TRY(nl_parser_expect(p, NL_T_DIRECTORIES));
    return nl_parser_invalid_clause(p, NL_WHOLE_STATEMENT, "CREATE TABLE ... SKEWED BY");
}

static nl_status check_options(nl_parser *p, const nl_ast_properties *options)
{
    for (uint32_t i = 0; i < options->count; i++) {
        if (options->items[i].has_value) continue;
        nl_str message = nl_arena_f(p->arena, "A value must be specified for the key: " NL_STR_FMT ".",
                                    NL_STR_ARG(options->items[i].key));
        return nl_parser_not_allowed(p, NL_WHOLE_STATEMENT, nl_str_c(p->arena, message));
    }
    return NULL;
}

/* OPTIONS, TBLPROPERTIES, PARTITIONED BY, formats: the clauses that begin with one word and have parts of their own. */
static nl_status parse_structured_clause(nl_parser *p, nl_ast_table_clauses *clauses, bool *is_there)
{
    bool is_again;
    switch ((int)nl_parser_kind(p)) {
    case NL_T_OPTIONS:
        is_again = clauses->options != NULL;
        p->at++;
        NL_TRY(nl_parse_properties(p, true, &clauses->options));
        NL_TRY(check_options(p, clauses->options));
        return is_again ? nl_parser_duplicate_clause(p, "OPTIONS") : NULL;
    case NL_T_TBLPROPERTIES:
        is_again = clauses->properties != NULL;
        p->at++;
        NL_TRY(nl_parse_properties(p, false, &clauses->properties));
        NL_TRY(nl_parser_need_values(p, clauses->properties));
        return is_again ? nl_parser_duplicate_clause(p, "TBLPROPERTIES") : NULL;
    case NL_T_PARTITIONED:
        is_again = clauses->partitioned_by.count > 0;
        p->at++;
        NL_TRY(nl_parser_need(p, NL_T_BY));
        NL_TRY(parse_partition_fields(p, &clauses->partitioned_by));
        return is_again ? nl_parser_duplicate_clause(p, "PARTITIONED BY") : NULL;
    case NL_T_CLUSTERED:
        is_again = clauses->bucket != NULL;
        NL_TRY(nl_parse_bucket_spec(p, &clauses->bucket));
        return is_again ? nl_parser_duplicate_clause(p, "CLUSTERED BY") : NULL;
    case NL_T_ROW:
        is_again = clauses->row_format != NULL;
        NL_TRY(nl_parse_row_format(p, &clauses->row_format));
        return is_again ? nl_parser_duplicate_clause(p, "ROW FORMAT") : NULL;
    case NL_T_STORED:
        is_again = clauses->file_format != NULL;
        NL_TRY(nl_parse_file_format(p, &clauses->file_format));
        return is_again ? nl_parser_duplicate_clause(p, "STORED AS/BY") : NULL;
    case NL_T_SKEWED: return parse_skewed(p);
    default: *is_there = false; return NULL;
    }
}

static nl_status parse_clause(nl_parser *p, nl_ast_table_clauses *clauses, bool *is_there)
{
    *is_there = true;
    if (nl_parser_are(p, NL_T_CLUSTER, NL_T_BY)) return parse_cluster_by(p, clauses);
    if (nl_parser_is(p, NL_T_LOCATION)) {
        bool is_again = clauses->location.data != NULL;
        p->at++;
        NL_TRY(nl_parse_string(p, &clauses->location));
        return is_again ? nl_parser_duplicate_clause(p, "LOCATION") : NULL;
    }
    if (nl_parser_is(p, NL_T_COMMENT)) {
        bool is_again = clauses->has_comment;
        NL_TRY(nl_parse_comment_clause(p, &clauses->has_comment, &clauses->comment));
        return is_again ? nl_parser_duplicate_clause(p, "COMMENT") : NULL;
    }
    if (nl_parser_are(p, NL_T_DEFAULT, NL_T_COLLATION)) {
        p->at += 2;
        return nl_parse_identifier(p, &clauses->collation);
    }
    return parse_structured_clause(p, clauses, is_there);
}

/* Names that TBLPROPERTIES may not set, and what to do instead. */
static const struct {
    const char *name;
    const char *advice;
} reserved_properties[] = {
    {"provider", "please use the USING clause to specify it"},
    {"location", "please use the LOCATION clause to specify it"},
    {"owner", "it will be set to the current user"},
    {"external", "please use CREATE EXTERNAL TABLE"},
    {"is_managed_location", "please remove it from the TBLPROPERTIES list."},
};

nl_status nl_parser_check_table_properties(nl_parser *p, const nl_ast_properties *properties)
{
    for (uint32_t i = 0; properties && i < properties->count; i++)
        for (size_t j = 0; j < NL_COUNT(reserved_properties); j++)
            if (nl_str_is(properties->items[i].key, reserved_properties[j].name))
                return NL_REFUSE(p, NL_WHOLE_STATEMENT, UNSUPPORTED_FEATURE__SET_TABLE_PROPERTY,
                                 NL_P("property", reserved_properties[j].name),
                                 NL_P("msg", reserved_properties[j].advice));
    return NULL;
}

/* A path given twice: LOCATION and the option `path`. */
static nl_status check_two_paths(nl_parser *p, const nl_ast_table_clauses *clauses)
{
    if (!clauses->options || !clauses->location.data) return NULL;
    for (uint32_t i = 0; i < clauses->options->count; i++) {
        const nl_ast_property *option = &clauses->options->items[i];
        bool is_path = nl_str_is_nocase(option->key, "path") && option->expr && option->expr->kind == NL_AST_EXPR_LITERAL;
        if (is_path)
            return NL_REFUSE(p, NL_WHOLE_STATEMENT, _LEGACY_ERROR_TEMP_0032, NL_P_STR("pathOne", clauses->location),
                             NL_P_STR("pathTwo", option->expr->literal.text));
    }
    return NULL;
}

nl_status nl_parser_check_formats(nl_parser *p, const nl_ast_row_format *row, const nl_ast_file_format *file)
{
    if (!row || !file || !file->name.text.data) return NULL;
    nl_str format = file->name.text;
    bool is_text = nl_str_is_nocase(format, "textfile");
    bool takes_serde = is_text || nl_str_is_nocase(format, "sequencefile") || nl_str_is_nocase(format, "rcfile");
    if (row->is_serde ? takes_serde : is_text) return NULL;
    nl_str lower = nl_parser_lower(p, format);
    nl_str message =
        row->is_serde
            ? nl_arena_f(p->arena, "ROW FORMAT SERDE is incompatible with format '" NL_STR_FMT
                                   "', which also specifies a serde", NL_STR_ARG(lower))
            : nl_arena_f(p->arena, "ROW FORMAT DELIMITED is only compatible with 'textfile', not '" NL_STR_FMT "'",
                         NL_STR_ARG(lower));
    return nl_parser_not_allowed(p, NL_WHOLE_STATEMENT, nl_str_c(p->arena, message));
}

nl_status nl_parse_table_clauses(nl_parser *p, nl_ast_table_clauses *clauses)
{
    bool is_there = true;
    while (is_there) NL_TRY(parse_clause(p, clauses, &is_there));
    NL_TRY(nl_parser_check_table_properties(p, clauses->properties));
    NL_TRY(check_two_paths(p, clauses));
    NL_TRY(nl_parser_check_formats(p, clauses->row_format, clauses->file_format));
    bool has_both = clauses->has_cluster_by && clauses->partitioned_by.count > 0;
    if (has_both) return NL_REFUSE(p, NL_WHOLE_STATEMENT, SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED);
    if (clauses->has_cluster_by && clauses->bucket)
        return NL_REFUSE(p, NL_WHOLE_STATEMENT, SPECIFY_CLUSTER_BY_WITH_BUCKETING_IS_NOT_ALLOWED);
    return NULL;
}
